"""States in lists, one per user turn, under their dialogues: references of MultiWOZ_Evaluation, SpokenWOZ and others.

Conventions: ``{dialogue: [state, …]}``, ``{dialogue: {turn: state}}``, or ``{"<dialogue>-<turn>": state}``; states are
cumulative, and written in any way that `state_cells` reads: a list of ``domain-slot-value`` is one state.
``{"gold": {dialogue: …}, "pred": {dialogue: …}}`` holds both sides. ``[[state, …], …]`` are predictions for gold's
dialogues, in its order. Otherwise nothing says whether states are gold or
predicted, so both sides are read: a file named as ``--gold`` is gold, any other predictions.
"""

from collections.abc import Iterator
from typing import Any, Final

from dstbench.conventions.slots import KNOWN_SLOTS, canonical_slot
from dstbench.readers.format import Format, Source, StatesBuilder
from dstbench.readers.key_names import meaning
from dstbench.readers.record_keys import FLAG, is_record, turn_number
from dstbench.readers.record_reading import is_multiwoz_flag, turns_of_ids
from dstbench.readers.records import find_path
from dstbench.readers.state_cells import StateCells, could_be_state, lists_slots, no_state, states_in
from dstbench.readers.state_text import Misfit, named
from dstbench.readers.states import noting_vanishing_slots
from dstbench.readers.walk import Id, Step, Walker
from dstbench.readers.wrappers import values

# Dialogues, of each the turns: objects or lists.
_PATH: Final = (Step("object", ids=(Id("dialogue"),), or_object=True), Step("list", ids=(Id("turn"),), or_object=True))
# Dialogues of a list that are looked at.
_SAMPLE: Final = 200


def _sides(document: Any) -> dict[str, str]:
    """The key of each side, if an object has both."""
    if not isinstance(document, dict):
        return {}
    named = {key: said for key in document if (said := meaning(key)) is not None and said.span == "cumulative"}
    keys = {said.side: key for key, said in named.items() if said.rank < 2 and isinstance(document[key], dict)}
    return {"gold": keys["gold"], "pred": keys["pred"]} if len(named) == 2 and {*keys} == {"gold", "pred"} else {}


def _are_states(document: dict[str, Any]) -> bool:
    """Whether there is one state under each key, instead of those of several turns."""
    for key, cell in document.items():
        has_turns = isinstance(cell, dict) and any(turn_number(inner) is not None for inner in cell)
        is_one = isinstance(cell, list) or (FLAG.fullmatch(key) is not None and not has_turns)
        if cell and not (is_one and could_be_state(cell)):
            return False
    return any(document.values())


def _entries(source: Source, document: Any) -> Iterator[tuple[str, int, int | str, Any]]:
    """Dialogue, turn, the turn as written, and state of every turn."""
    if isinstance(document, dict) and _are_states(document):
        for (dialogue, number), state in zip(turns_of_ids(source, document), document.values(), strict=True):
            yield dialogue, number, number, state
        return
    for key, listed in document.items() if isinstance(document, dict) else enumerate(document):
        what = None
        if isinstance(key, str) and is_multiwoz_flag(key):
            what = "the key ends in a turn, and has the states of several turns"
        elif lists_slots(listed):
            what = "a list of slots, which is one state, where the states of a dialogue must be"
        elif not isinstance(listed, (list, dict)):
            what = f"{named(listed)}, where the states of a dialogue must be"
        if what:
            raise source.misshapen(what, dialogue=str(key))
    for dialogue, turn, state, *_ in Walker(source).walk(document, _PATH):
        if (counted := turn_number(turn)) is None:
            raise source.misshapen("the turn is not a number", dialogue=dialogue, turn=turn)
        yield dialogue, counted, turn, state


def are_lists(data: Any) -> bool:
    """Whether data are lists of states, one list per dialogue.

    >>> are_lists([[{"hotel-area": "north"}, {}], []]), are_lists([["hotel-area-north"]])
    (True, False)
    """
    return (
        isinstance(data, (list, tuple))
        and any(data)
        and all(isinstance(item, (list, tuple)) and could_be_state(item) is not True for item in data)
        and all(states_in(item, surely=False) is not None for item in data)
        and find_path([*data[:_SAMPLE]], is_record) is None
    )


def _sniff(source: Source) -> bool:
    """Whether all turns of the first dialogues look like states, and some of them have slots."""
    document: Any = source.sample if source.kind == "json" else {}
    if isinstance(document, list):
        return are_lists(document) and any(_has_slots(state) for turns in document for state in turns)
    of_sides = [document[key] for key in _sides(document).values()] or [document]
    if all(map(_are_states, of_sides)):
        return any(_has_slots(state) for of_side in of_sides for state in of_side.values())
    sample = [turns for key in _sides(document).values() for turns in values(document[key], 1)]
    sample = sample or source.values(1, dict)
    if not sample or not all(isinstance(turns, (list, dict)) for turns in sample):
        return False
    turns = [*Walker(source).walk(sample, _PATH)]
    if not all(turn_number(turn.number) is not None and could_be_state(turn.content) is not False for turn in turns):
        return False
    return any(_has_slots(turn.content) for turn in turns)


def _has_slots(state: Any) -> bool:
    """Whether a state is nested, or has slots that look like those of a domain."""
    if isinstance(state, dict):
        is_nested = any(isinstance(inner, dict) and inner for inner in state.values())
        values = {slot: value for slot, value in state.items() if isinstance(value, (str, list))}
        return is_nested or any("-" in slot or canonical_slot(slot) in KNOWN_SLOTS for slot in values)
    return could_be_state(state) is True


def _read(source: Source, states: StatesBuilder) -> None:
    document: Any = source.json if source.kind in ("json", "jsonl") else None
    if document != {} and not (document and type(document) in (dict, list)):
        raise source.misshapen("no JSON object of dialogues")
    cells, sides = StateCells(source.unreadable), _sides(document)
    states.are_in_order = isinstance(document, list)
    states.either = not sides and not states.are_in_order
    turns: dict[tuple[str, int], int] = {}
    for side, of_side in [(side, document[key]) for side, key in sides.items()] or [("", document)]:
        of = [getattr(states, side)] if side else [states.gold, states.pred]
        for dialogue, number, turn, cell in _entries(source, of_side):
            if not side or (dialogue, number) not in turns:
                turns[dialogue, number] = states.turn(dialogue, number)
            at = turns[dialogue, number]
            try:
                cells.add_from(of, at, cell, is_gold=side == "gold")
            except Misfit as error:
                raise no_state(source, error, is_gold=side == "gold", dialogue=dialogue, turn=turn) from None
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
