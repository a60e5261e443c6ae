"""States in lists, one per user turn, under their dialogues: references of MultiWOZ_Evaluation, SpokenWOZ and others.

Conventions: ``{dialogue: [state, …]}``, ``{dialogue: {turn: state}}``, or ``{"<dialogue>-<turn>": state}``; states are
cumulative, and written in any way that `state_cells` reads: a list of ``domain-slot-value`` is one state.
``{"gold": {dialogue: …}, "pred": {dialogue: …}}`` holds both sides. Otherwise nothing says whether states are gold or
predicted, so both sides are read: a file named as ``--gold`` is gold, any other predictions.
"""

from collections.abc import Iterator
from typing import Any, Final

from dstbench.conventions.slots import KNOWN_SLOTS, canonical_slot
from dstbench.readers.format import Format, Source, StatesBuilder
from dstbench.readers.key_names import meaning
from dstbench.readers.record_keys import FLAG, turn_number
from dstbench.readers.record_turns import is_multiwoz_flag, turns_of_ids
from dstbench.readers.state_cells import StateCells, could_be_state, lists_slots
from dstbench.readers.state_text import named
from dstbench.readers.states import noting_vanishing_slots
from dstbench.readers.wrappers import values


def _sides(document: Any) -> dict[str, str]:
    """The key of each side, if an object has both."""
    named = {key: said for key in document if (said := meaning(key)) is not None and said.span == "cumulative"}
    keys = {said.side: key for key, said in named.items() if said.rank < 2 and isinstance(document[key], dict)}
    return {"gold": keys["gold"], "pred": keys["pred"]} if len(named) == 2 and {*keys} == {"gold", "pred"} else {}


def _turns(source: Source, dialogue: str, turns: Any) -> Iterator[tuple[int | str, Any]]:
    if isinstance(turns, list):
        yield from enumerate(turns)
    elif isinstance(turns, dict):
        yield from turns.items()
    else:
        raise source.misshapen(f"{named(turns)}, where the states of a dialogue must be", dialogue=dialogue)


def _are_states(document: dict[str, Any]) -> bool:
    """Whether there is one state under each key, instead of those of several turns."""
    looks = [
        (isinstance(cell, list) or FLAG.fullmatch(key)) and could_be_state(cell) and not _has_turns(cell)
        for key, cell in document.items() if cell
    ]  # fmt: skip
    return bool(looks) and all(looks)


def _has_turns(cell: Any) -> bool:
    return isinstance(cell, dict) and any(turn_number(key) is not None for key in cell)


def _entries(source: Source, document: dict[str, Any]) -> Iterator[tuple[str, int, int | str, Any]]:
    """Dialogue, turn, the turn as written, and state of every turn."""
    if _are_states(document):
        for (dialogue, number), state in zip(turns_of_ids(source, document), document.values(), strict=True):
            yield dialogue, number, number, state
        return
    for dialogue, listed in document.items():
        if is_multiwoz_flag(dialogue):
            raise source.misshapen("the key ends in a turn, and has the states of several turns", dialogue=dialogue)
        if lists_slots(listed):
            what = "a list of slots, which is one state, where the states of a dialogue must be"
            raise source.misshapen(what, dialogue=dialogue)
        for turn, state in _turns(source, dialogue, listed):
            if (counted := turn_number(turn)) is None:
                raise source.misshapen("the turn is not a number", dialogue=dialogue, turn=turn)
            yield dialogue, counted, turn, state


def _sniff(source: Source) -> bool:
    """Whether all turns of the first dialogues look like states, and some of them have slots."""
    document = source.sample if source.kind == "json" and isinstance(source.sample, dict) else {}
    of_sides = [document[key] for key in _sides(document).values()] or [document]
    if all(map(_are_states, of_sides)):
        return any(_has_slots(state) for of_side in of_sides for state in of_side.values())
    sample = [turns for key in _sides(document).values() for turns in values(document[key], 1)]
    sample = sample or source.values(1, dict)
    if not sample or not all(isinstance(turns, (list, dict)) for turns in sample):
        return False
    turns = [turn for of_dialogue in sample for turn in _turns(source, "", of_dialogue)]
    if not all(turn_number(turn) is not None and could_be_state(state) is not False for turn, state in turns):
        return False
    return any(_has_slots(state) for _, state in turns)


def _has_slots(state: Any) -> bool:
    """Whether a state is nested, or has slots that look like those of a domain."""
    if isinstance(state, dict):
        is_nested = any(isinstance(inner, dict) and inner for inner in state.values())
        values = {slot: value for slot, value in state.items() if isinstance(value, (str, list))}
        return is_nested or any("-" in slot or canonical_slot(slot) in KNOWN_SLOTS for slot in values)
    return could_be_state(state) is True


def _read(source: Source, states: StatesBuilder) -> None:
    document = source.json if source.kind in ("json", "jsonl") else None
    if not isinstance(document, dict):
        raise source.misshapen("no JSON object of dialogues")
    cells = StateCells()
    sides = _sides(document)
    states.either = not sides
    turns: dict[tuple[str, int], int] = {}
    for side, of_side in [(side, document[key]) for side, key in sides.items()] or [("", document)]:
        for dialogue, number, turn, cell in _entries(source, of_side):
            if not side or (dialogue, number) not in turns:
                turns[dialogue, number] = states.turn(dialogue, number)
            state = cells.checked(source, cell, dialogue=dialogue, turn=turn)
            for of in [getattr(states, side)] if side else [states.gold, states.pred]:
                of.state(turns[dialogue, number], state)
    if note := cells.note():
        states.note(note)


FORMAT: Final = Format(
    name="state-lists",
    title="lists of states per dialogue (gold_states.json); as predictions, they need --gold",
    example='{"mul9901": [{"hotel": {"area": "north"}}, {"hotel": {"area": "north", "stars": "4"}}]}',
    shape=dict[str, list[dict[str, Any]] | dict[str, dict[str, Any]]],
    sniff=_sniff,
    reader=_read,
    finish=noting_vanishing_slots,
    loose=True,
)
