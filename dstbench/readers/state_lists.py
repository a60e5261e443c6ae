"""States in lists, one per user turn, under their dialogues: references of MultiWOZ_Evaluation, SpokenWOZ and others.

Conventions: ``{dialogue: [state, …]}``, ``{dialogue: {turn: state}}``, or ``{"<dialogue>-<turn>": state}``; states are
cumulative, and written in any way that `state_cells` reads: a list of ``domain-slot-value`` is one state.
``{"gold": {dialogue: …}, "pred": {dialogue: …}}`` holds both sides. ``[[state, …], …]`` are predictions for gold's
dialogues, in its order. Otherwise nothing says whether states are gold or predicted, so both sides are read: a file
named as ``--gold`` is gold, any other predictions.
"""

from typing import Any, Final

from dstbench.conventions.slots import KNOWN_SLOTS, canonical_slot
from dstbench.readers.format import Format, Source, StatesBuilder
from dstbench.readers.key_names import meaning
from dstbench.readers.record_keys import FLAG, Fields, is_record, turn_number
from dstbench.readers.record_path import find_path
from dstbench.readers.record_reading import Records, is_multiwoz
from dstbench.readers.state_cells import could_be_state, lists_slots, states_in
from dstbench.readers.state_text import named
from dstbench.readers.states import noting_vanishing_slots
from dstbench.readers.walk import Broken, Id, Step, Turn, Walker

# Dialogues, of each the turns: objects or lists. Or ids that end in the turn, of each its state.
_PATH: Final = (Step("object", ids=(Id("dialogue"),), or_object=True), Step("list", ids=(Id("turn"),), or_object=True))
_OF_FLAGS: Final = (Step("object", ids=(Id("dialogue"),)),)
# Dialogues of a list that are looked at.
_SAMPLE: Final = 200


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


def _sides(document: Any) -> dict[str, Any]:
    """What is under the key of each side, if an object has both; else the whole, of either side."""
    meanings = {key: of_key for key in document if (of_key := meaning(key))} if isinstance(document, dict) else {}
    sides: dict[str, Any] = {
        of_key.side: document[key] for key, of_key in meanings.items()
        if of_key.rank < 2 and isinstance(document[key], dict)
    }  # fmt: skip
    return sides if len(meanings) == 2 and sides.keys() == {"gold", "pred"} else {"either": document}


def _are_states(document: Any) -> bool:
    """Whether there is one state under each key, instead of those of several turns."""
    if not isinstance(document, dict):
        return False
    for key, cell in document.items():
        has_turns = isinstance(cell, dict) and any(turn_number(inner) is not None for inner in cell)
        is_one = isinstance(cell, list) or (FLAG.fullmatch(key) is not None and not has_turns)
        if cell and not (is_one and could_be_state(cell)):
            return False
    return any(document.values())


def _sniff(source: Source) -> bool:
    """Whether all turns of the first dialogues look like states, and some of them have slots."""
    document: Any = source.sample if source.kind == "json" else {}
    sides = _sides(document)
    if (isinstance(document, list) and not are_lists(document)) or ("either" in sides and source.around):
        return False
    try:
        turns = [turn for of_side in sides.values() for turn in _turns(source, of_side)]
    except Broken:
        return False
    are_numbered = all(turn.number is None or turn_number(turn.number) is not None for turn in turns)
    are_states = all(could_be_state(turn.content) is not False for turn in turns)
    return are_numbered and are_states and any(_has_slots(turn.content) for turn in turns)


def _has_slots(state: Any) -> bool:
    """Whether a state is nested, or has slots that look like those of a domain."""
    if not isinstance(state, dict):
        return could_be_state(state) is True
    is_nested = any(isinstance(inner, dict) and inner for inner in state.values())
    slots = [slot for slot, value in state.items() if isinstance(value, (str, list))]
    return is_nested or any("-" in slot or canonical_slot(slot) in KNOWN_SLOTS for slot in slots)


def _read(source: Source, states: StatesBuilder) -> None:
    document: Any = source.json if source.kind in ("json", "jsonl") else None
    if document != {} and not (document and type(document) in (dict, list)):
        raise source.misshapen("no JSON object of dialogues")
    rows: dict[tuple[Any, Any], Turn] = {}
    for side, of_side in _sides(document).items():
        _check(source, of_side)
        for turn in _turns(source, of_side):
            row = rows.setdefault((turn.dialogue, turn.number), turn._replace(content={}))
            row.content[side] = turn.content
    states.are_in_order = isinstance(document, list)
    sides = [side for side in ("gold", "pred") if any(side in row.content for row in rows.values())]
    fields = Fields(gold="gold", pred="pred") if sides else Fields(gold="either", pred="either")
    records = Records(source, [*rows.values()], fields, are_named=False)
    if rows and records.turns and records.counted:
        what = "one state, where the states of a dialogue must be, as the key does not end in the turn"
        raise source.misshapen(what, dialogue=next(iter(rows.values())).dialogue)
    records.add(states)
    states.either = states.either and not states.are_in_order


def _turns(source: Source, document: Any) -> list[Turn]:
    """The turns of one side, whose contents are their states."""
    return [*Walker(source).walk(document, _OF_FLAGS if _are_states(document) else _PATH)]


def _check(source: Source, document: Any) -> None:
    """Raise an error for a dialogue of one side that has one state instead of those of its turns."""
    entries = document.items() if isinstance(document, dict) else enumerate(document)
    for key, of_dialogue in entries if not _are_states(document) else ():
        flag = FLAG.fullmatch(key) if isinstance(key, str) else None
        what = None
        if flag is not None and is_multiwoz(flag[1]):
            what = "the key ends in a turn, and has the states of several turns"
        elif lists_slots(of_dialogue):
            what = "a list of slots, which is one state, where the states of a dialogue must be"
        elif not isinstance(of_dialogue, (list, dict)):
            what = f"{named(of_dialogue)}, where the states of a dialogue must be"
        if what:
            raise source.misshapen(what, dialogue=str(key))


FORMAT: Final = Format(
    name="state-lists",
    title="lists of states per dialogue (gold_states.json); as predictions, they need --gold",
    example='{"mul9901": [{"hotel": {"area": "north"}}, {"hotel": {"area": "north", "stars": "4"}}]}',
    sniff=_sniff,
    reader=_read,
    finish=noting_vanishing_slots,
    loose=True,
)
