"""Records of whole dialogues, which hold a list of states, one per turn: each becomes a record per turn.

Conventions: ``{"dialogue_id": …, "gold_states": [{…}, {…}], "states": {"0": {…}, "1": {…}}}``. The lists of a dialogue
have the same turns; other lists of that length, such as those of utterances, are divided, too. A record with a turn
number is a record of that turn, whatever lists of states it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from dstbench.readers import key_names
from dstbench.readers.key_names import folded, meaning
from dstbench.readers.options import Keys
from dstbench.readers.record_keys import KeysError, turn_number
from dstbench.readers.state_cells import could_be_state, lists_slots, states_in
from dstbench.readers.walk import Turn

# Records that are looked at.
_SAMPLE: Final = 200


def by_turn(rows: Sequence[Turn], given: Keys | None) -> Sequence[Turn]:
    """The records, with each that is a whole dialogue divided into records of its turns.

    Args:
        rows: The records.
        given: The keys that the user gives.

    Raises:
        KeysError: The lists of a dialogue are not of the same turns.
    """
    keys = _keys_of_lists(
        [row.content for row in islice(rows, _SAMPLE) if isinstance(row.content, dict)], given or Keys()
    )
    return [turn for row in rows for turn in _turns(row, keys)] if keys else rows


def _keys_of_lists(records: Sequence[dict[str, Any]], given: Keys) -> list[str]:
    """The keys under which some records have states of several turns, and no record has a single state."""
    turns = [key for record in records for key in record if key == given.turn or _is_turn(key)]
    if any(turn_number(record.get(key)) is not None for key in {*turns} for record in records):
        return []
    cells: dict[str, list[Any]] = {}
    for record in records:
        for key in record:
            if key in (given.gold, given.pred) or (isinstance(key, str) and meaning(key) is not None):
                cells.setdefault(key, []).append(record[key])
    surely = [
        key for key, values in cells.items()
        if any(map(states_in, values)) and all(_could_be_states(cell) or not could_be_state(cell) for cell in values)
    ]  # fmt: skip
    return surely and [key for key, values in cells.items() if key in surely or all(map(_could_be_states, values))]


def _could_be_states(cell: Any) -> bool:
    return cell is None or states_in(cell, surely=False) is not None


def _is_turn(key: Any) -> bool:
    return isinstance(key, str) and folded(key) in key_names.TURN


def _turns(row: Turn, keys: Sequence[str]) -> Sequence[Turn]:
    """A record per turn, if the record has states of several turns; else the record itself."""
    if not isinstance(row.content, dict):
        return [row]
    for key in keys:
        if lists_slots(row.content.get(key)):
            what = f"{row.place}{key} is a list of slots, which is one state, where others are lists of states"
            raise KeysError(what, "a list of turns is a list of such lists, or of objects")
    lists = {
        key: dict(enumerate(cell)) if isinstance(cell, (list, tuple)) else states_in(cell, surely=False)
        for key in keys if (cell := row.content.get(key)) is not None
    }  # fmt: skip
    (key, states), *others = lists.items() or [("", None)]
    if states is None:
        return [row]
    for other, further in others:
        if further is None or states.keys() != further.keys():
            sizes = f"{len(states)} and {len(further or ())} states"
            what = f"{row.place}{key} and {other} do not have the same turns ({sizes})"
            raise KeysError(what, "a dialogue needs as many gold states as predicted ones")
    rest = {name: cell for name, cell in row.content.items() if name not in lists and meaning(str(name)) is None}
    divided = {name: cell for name, cell in rest.items() if isinstance(cell, list) and len(cell) == len(states)}
    return [
        row._replace(
            place=f"{row.place}turn {turn}: ",
            content={**rest, **{name: cell[number] for name, cell in divided.items()}}
            | {name: of_turn[turn] for name, of_turn in lists.items() if of_turn is not None},
            number=turn,
        )
        for number, turn in enumerate(states)
    ]
