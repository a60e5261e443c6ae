"""The layout of a long table's rows: their dialogues, slots, turns and places, as arrays.

The long table is sorted by (dialogue, slot, turn), so the row before is the slot's previous turn, and no window
function is needed. A turn's *place* is its number among all turns of all groups, so sums by place need no hashing.

For example, two dialogues of three and two turns, in six rows:

>>> from dstbench.schema.core import LONG
>>> table = {
...     "dialogue": ["D1", "D1", "D1", "D1", "D2", "D2"],
...     "slot": [None, "hotel-area", "hotel-area", "hotel-stars", "hotel-area", "hotel-area"],
...     "turn": [0, 1, 2, 2, 0, 1],
...     "gold": [None, "north", "north", "4", "south", "south"],
...     "pred": [None, "north", "north", None, "south", "east"],
... }
>>> rows = lay_out(pl.DataFrame(table, schema=LONG.schema))

Without a view, a group is a dialogue: D1's rows begin at row 0 and its places are 0, 1 and 2; D2's begin at row 4 and
its places are 3 and 4.

>>> rows.first_row, rows.offset, rows.size
(array([0, 4]), array([0, 3]), array([3, 2]))
>>> rows.row_place
array([0, 1, 2, 2, 3, 4])

Row 2 repeats row 1 one turn later; all other rows are changed rows. The run of row 1 has the places 1 and 2, so the
first place after it is 3.

>>> rows.changed
array([0, 1, 3, 4, 5])
>>> rows.place, rows.after
(array([0, 1, 2, 3, 4]), array([1, 3, 3, 4, 5]))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dstbench.arrays import Codes, Flags, Hashes, Numbers
from dstbench.conventions.slots import domain_of
from dstbench.errors import DstbenchError
from dstbench.io.limits import FREE, NUMBERS
from dstbench.runs import fingerprint
from dstbench.runs.codes import ABSENT, all_codes, codes, distinct, to_codes, to_column, to_strings
from dstbench.runs.frames import Frames, rows_of_frames, set_apart, turn_keys
from dstbench.typing import View


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """The rows to lay out, and the groups that they are in."""

    slot: Codes  # in a view, there are only rows with a slot
    gold: Codes  # verbatim values
    pred: Codes
    bare: Flags  # rows without a slot, or of frames: each is a run of its own, and its prediction does not last
    turn: Numbers
    first_row: Numbers  # for each group: its first row
    number: Numbers  # for each group: the number of its dialogue, from 1
    part: pl.Series | None = None  # the column of the view
    frames: Frames | None = None  # gold's frames, where turns are counted by domain and frames count


@dataclass(frozen=True, kw_only=True)
class Layout(_Rows):
    """The layout of a long table's rows: groups (dialogues, or slots or domains in them), turns, places.

    States seldom change from one turn to the next, so most arrays have one element per *changed* row: a row that
    differs from the row before. It and the rows up to the next changed row are its run of identical rows: the same
    slot with the same values, in consecutive turns. A group has a place for every turn number from its first to its
    last turn, also for numbers that no turn has.
    """

    dialogue: pl.Series  # the dialogues' ids, including dialogues without a row in the view
    first: Flags  # whether a row is its slot's first in the group
    changed: Numbers  # indices of the changed rows, which have every slot and value of the file
    place: Numbers  # for each changed row: the place of its turn
    after: Numbers  # for each changed row: index of the first place after its run of identical rows
    base: Numbers  # for each group: its first turn's number
    offset: Numbers  # for each group: its first place
    size: Numbers  # for each group: its number of places
    total: int  # number of places
    is_turn: Flags  # for each place: whether a turn has that number
    group: Numbers  # for each turn: its group
    cache: dict[Any, Any] = field(default_factory=dict)  # derived arrays, keyed by what they hold

    def __post_init__(self) -> None:
        for array in vars(self).values():  # several functions may have the same layout
            if isinstance(array, np.ndarray):
                array.setflags(write=False)

    @cached_property
    def differs(self) -> Flags:
        """For each row: whether its slot, gold or predicted value, as in the file, differs from the row before."""
        differs: Flags = self.first | row_changes(self.gold) | row_changes(self.pred)
        return differs

    @cached_property
    def cells(self) -> tuple[Codes, Codes, Codes]:
        """For each changed row: slot, gold and prediction."""
        return self.slot[self.changed], self.gold[self.changed], self.pred[self.changed]

    @cached_property
    def row_place(self) -> Numbers:
        """For each row: the place of its turn."""
        return _places(self.first_row, self.turn)

    @cached_property
    def turn_place(self) -> Numbers:
        """For each row: the place that its turn has without a view."""
        return _places(self.first_row[row_changes(self.number)], self.turn)

    @cached_property
    def domain_place(self) -> Numbers:
        """For each row: a number per turn and domain, in any view."""
        slots = distinct(self.slot)
        domains, number = np.unique([domain_of(slot) for slot in to_strings(slots)], return_inverse=True)
        number_of_slot = np.zeros(int(slots.max(initial=0)) + 2, np.int64)  # by code; the last is for `ABSENT`
        number_of_slot[slots] = number + 1
        numbers: Numbers = self.turn_place * (len(domains) + 1) + number_of_slot.take(self.slot, mode="clip")
        return numbers

    @cached_property
    def number_of_place(self) -> Numbers:
        """For each place: the number of its turn."""
        numbers: Numbers = np.arange(self.total) - np.repeat(self.offset - self.base, self.size)
        return numbers

    @cached_property
    def hash_of_place(self) -> Hashes:
        """For each place: the hash of its turn, for fingerprints."""
        dialogues = fingerprint.of_strings(self.dialogue)[self.number - 1]
        return fingerprint.of_turns(np.repeat(dialogues, self.size), self.number_of_place)

    def of_turns(self, places: NDArray[Any]) -> NDArray[Any]:
        """Those elements of an array over places whose turns exist."""
        return places if len(self.group) == self.total else places[self.is_turn]


def lay_out(long: pl.DataFrame, view: View | None = None, *, frames: bool = False) -> Layout:
    """The layout of a long table's rows.

    Args:
        long: A long table, sorted by (dialogue, slot, turn), of whole dialogues.
        view: The view in which turns will be counted.
        frames: Whether gold's frames count in the view ``domain``: then a row of a frame becomes a row without a slot
            in the frame's domain, and a turn without a prediction is marked in each of its frames. Otherwise rows of
            frames are ignored.

    Raises:
        DstbenchError: The table is not sorted, a slot ends before its dialogue does, a row has no dialogue or turn, or
            there are far more turn numbers than rows (`limits.NUMBERS`).
    """
    slot, gold, pred = all_codes(long[["slot", "gold", "pred"]])
    if not frames and (of_frames := rows_of_frames(slot)) is not None:
        return lay_out(long.filter(~of_frames), view)
    dialogue, rows = _by_dialogue(long, slot, gold, pred)
    if view:
        rows = _by_view(rows, view, frames=frames)
    first: Flags = rows.bare | row_changes(rows.slot)
    first[rows.first_row] = True
    changes = first | row_changes(rows.gold) | row_changes(rows.pred)
    changes[1:] |= rows.turn[1:] - rows.turn[:-1] != 1  # a run of identical rows skips no turn
    changed = np.flatnonzero(changes)

    base, size = _turn_numbers(rows.first_row, rows.turn)
    total = int(size.sum())
    if total > max(FREE, NUMBERS.value * len(rows.turn)):
        raise DstbenchError(
            f"{total:,} turn numbers from dialogues' first to last turns, for {len(rows.turn):,} rows, is above the "
            f"limit of {NUMBERS.value} each",
            hint=f"number user turns from 0, without gaps; {NUMBERS.hint}",
        )
    offset = np.cumsum(size) - size
    changed_per_group = np.diff(np.searchsorted(changed, rows.first_row), append=len(changed))
    place = np.repeat(offset - base, changed_per_group) + rows.turn[changed]
    after = place + np.diff(changed, append=len(rows.turn))  # a run has one place per row
    _check_order(rows, first, changed, after, end=np.repeat(offset + size, changed_per_group))

    # The number of runs that cover each place: those that have begun, less those that have ended.
    covering = np.cumsum(np.bincount(place, minlength=total + 1) - np.bincount(after, minlength=total + 1))
    is_turn: Flags = covering[:-1] > 0
    group = np.repeat(np.arange(len(size)), size)
    return Layout(
        **vars(rows),
        dialogue=dialogue,
        first=first,
        changed=changed,
        place=place,
        after=after,
        base=base,
        offset=offset,
        size=size,
        total=total,
        is_turn=is_turn,
        group=group if is_turn.all() else group[is_turn],
    )


def unsorted(source: str | None = None) -> DstbenchError:
    """The error for a table that has the metadata of a long table, but whose rows break the rules."""
    return DstbenchError(
        "the long table is not sorted by dialogue, slot and turn, or a slot ends early",
        file=source,
        hint="convert the run again, or sort it and drop its metadata",
    )


def _by_dialogue(long: pl.DataFrame, slot: Codes, gold: Codes, pred: Codes) -> tuple[pl.Series, _Rows]:
    """The ids of the dialogues, and all rows, where each dialogue is a group."""
    first_row, dialogue = _runs(long["dialogue"])
    bare = slot == ABSENT
    lacks = long["dialogue"].null_count() or long["turn"].null_count() or (gold[np.flatnonzero(bare)] != ABSENT).any()
    if lacks or (dialogue[1:] <= dialogue[:-1]).any():
        raise unsorted()
    number = np.arange(1, len(first_row) + 1, dtype=np.uint32)
    turn = long["turn"].to_numpy()
    return dialogue, _Rows(slot=slot, gold=gold, pred=pred, bare=bare, turn=turn, first_row=first_row, number=number)


def _by_view(rows: _Rows, view: View, *, frames: bool) -> _Rows:
    """The rows that have a slot, where each domain or slot of a dialogue is a group."""
    number = np.repeat(rows.number, np.diff(rows.first_row, append=len(rows.turn)))
    unpredicted = rows.bare & (rows.pred != ABSENT)  # turns without a prediction
    marks = turn_keys(number[unpredicted], rows.turn[unpredicted]), rows.pred[unpredicted]
    slot, gold, pred = (column[~rows.bare] for column in (rows.slot, rows.gold, rows.pred))
    turn, number = rows.turn[~rows.bare], number[~rows.bare]
    part = to_column(slot) if view == "slot" else over_distinct(to_column(slot), domain_of)
    of_gold = set_apart(slot, gold, pred, turn_keys(number, turn), marks) if frames else None
    first_row = np.flatnonzero(row_changes(number) | row_changes(codes(part)))
    return _Rows(
        slot=slot,
        gold=gold,
        pred=pred,
        bare=slot == ABSENT,
        turn=turn,
        first_row=first_row,
        number=number[first_row],
        part=part,
        frames=of_gold,
    )


def _turn_numbers(first_row: Numbers, turn: Numbers) -> tuple[Numbers, Numbers]:
    """For each group: its first turn's number, and how many numbers there are from it to the last turn's."""
    base = np.minimum.reduceat(turn, first_row).astype(np.int64) if len(turn) else first_row
    last_row = (
        np.append(first_row[1:], len(turn))[: len(first_row)] - 1
    )  # is of the last turn, because all slots last to it
    return base, turn[last_row] - base + 1


def _check_order(rows: _Rows, first: Flags, changed: Numbers, after: Numbers, end: Numbers) -> None:
    """Refuse rows that are not sorted by turn, and slots that end before or after the `end` of their group."""
    begins, turn = first[changed], rows.turn[changed]
    falls = (turn <= rows.turn[changed - 1]) & ~begins
    is_last_of_slot = np.append(begins[1:], True)[: len(begins)]
    ends_early = (after < end) & is_last_of_slot & ~rows.bare[changed]
    if ((after > end) | falls | ends_early).any():
        raise unsorted()


def before(column: NDArray[Any], first: Flags) -> NDArray[Any]:
    """For each row: the same slot's element (code or flag) in the row before; `ABSENT` or False if there is none."""
    earlier = np.empty_like(column)
    earlier[:1] = ABSENT if column.dtype == np.uint32 else False
    if column.dtype == np.bool_:
        np.greater(column[:-1], first[1:], out=earlier[1:])  # true, and not a first row
    else:
        np.bitwise_or(column[:-1], first[1:] * np.uint32(ABSENT), out=earlier[1:])  # `ABSENT` has all bits set
    return earlier


def over_distinct(column: pl.Series, function: Callable[[str], str]) -> pl.Series:
    """Apply a function of strings to a dictionary column, once per distinct value."""
    of_rows = codes(column)
    values = distinct(of_rows)
    results = np.full(int(values.max(initial=0)) + 2, ABSENT, np.uint32)  # by code; the last is for null
    results[values] = to_codes([function(value) for value in to_strings(values)])
    return to_column(results.take(of_rows, mode="clip"))


def row_changes(column: pl.Series | NDArray[Any]) -> Flags:
    """Whether a row differs from the row before; true for the first row."""
    changed = np.ones(len(column), dtype=np.bool_)
    different = column[1:] != column[:-1]
    changed[1:] = different if isinstance(different, np.ndarray) else different.to_numpy()
    return changed


def _runs(column: pl.Series) -> tuple[Numbers, pl.Series]:
    """Where runs of equal values begin, and these values."""
    # Chunk by chunk, because comparing a column of many chunks with its shift is slow.
    changes = np.concatenate([row_changes(chunk) for chunk in column.get_chunks()])
    value = column.filter(changes)
    begins = row_changes(value)  # a run may continue in the next chunk
    return np.flatnonzero(changes)[begins], value.filter(begins)


def _places(first_row: Numbers, turn: Numbers) -> Numbers:
    """For each row: the place of its turn, if groups begin at these rows."""
    base, size = _turn_numbers(first_row, turn)
    places: Numbers = np.repeat(np.cumsum(size) - size - base, np.diff(first_row, append=len(turn))) + turn
    return places
