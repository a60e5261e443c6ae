"""Where the rows of a long table stand: dialogues, slots, turns and places, as arrays.

The long table is sorted by (dialogue, slot, turn), so a slot's previous turn is the row before, and no window function
is needed. A turn's *place* is its number among all turns of all groups: what is added up by place needs no hashing.

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

Row 2 says of turn 2 what row 1 says of turn 1; all other rows are changed rows. The run of row 1 has the places 1 and
2, so the first place after it is 3.

>>> rows.changed
array([0, 1, 3, 4, 5])
>>> rows.place, rows.after
(array([0, 1, 2, 3, 4]), array([1, 3, 3, 4, 5]))
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from dstbench.conventions.slots import domain_of
from dstbench.errors import DstbenchError
from dstbench.io.limits import FREE, NUMBERS
from dstbench.runs import fingerprint
from dstbench.runs.codes import ABSENT, all_codes, codes, to_codes, to_column, to_strings
from dstbench.runs.frames import rows_of_frames, set_apart, turn_keys
from dstbench.runs.rules import unsorted

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dstbench.arrays import Codes, Flags, Hashes, Numbers
    from dstbench.runs.frames import Frames
    from dstbench.typing import View


@dataclass(frozen=True)
class Layout:
    """Where the rows of a long table stand: groups (dialogues, or slots or domains in them), turns, places.

    States seldom change from one turn to the next, so most arrays have one element per *changed* row: a row that
    differs from the row before. The rows from there to the next changed row are its run of identical rows: the same
    slot with the same values, in the turns that follow.

    Attributes:
        slot: Codes of the rows' slots. In a view, there are only rows with a slot.
        gold: Codes of verbatim gold values.
        pred: Codes of verbatim predicted values.
        bare: Whether a row has no slot, or is a frame's: each is a run of its own, and what is predicted there does not
            last.
        first: Whether a row is its slot's first in the group.
        changed: Indices of the changed rows, as the file has them. Every slot and value of it is in one of them.
        place: Of each changed row: the place of its turn.
        after: Of each changed row: index of the first place after this row's run of identical rows.
        part: The column of the view; None without one.
        turn: Turn numbers.
        first_row: Of each group: its first row.
        dialogue: The dialogues' ids, also of those without a row in the view.
        number: Of each group: the number of its dialogue, from 1.
        base: Of each group: its first turn's number.
        offset: Of each group: its first place.
        size: Of each group: its number of places, for the turns first … last, also for those that are not there.
        total: The number of places.
        is_turn: Of each place: whether there is such a turn.
        group: Of each turn: its group.
        frames: Gold's frames, where turns are counted by domain and frames count; else None.
        cache: Cache of derived arrays, keyed by what they hold.
    """

    slot: Codes
    gold: Codes
    pred: Codes
    bare: Flags
    first: Flags
    changed: Numbers
    place: Numbers
    after: Numbers
    part: pl.Series | None
    turn: Numbers
    first_row: Numbers
    dialogue: pl.Series
    number: Numbers
    base: Numbers
    offset: Numbers
    size: Numbers
    total: int
    is_turn: Flags
    group: Numbers
    frames: Frames | None = None
    cache: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def differs(self) -> Flags:
        """Of each row: whether its slot, gold or prediction is another than in the row before, in the file."""
        differs: Flags = self.first | row_changes(self.gold) | row_changes(self.pred)
        return differs

    @cached_property
    def cells(self) -> tuple[Codes, Codes, Codes]:
        """Of each changed row: slot, gold and prediction."""
        return self.slot[self.changed], self.gold[self.changed], self.pred[self.changed]

    @cached_property
    def row_place(self) -> Numbers:
        """Of each row: the place of its turn."""
        return _places(self.first_row, self.turn)

    @cached_property
    def turn_place(self) -> Numbers:
        """Of each row: the place of its turn among those of all dialogues, whatever the view."""
        return _places(self.first_row[row_changes(self.number)], self.turn)

    @cached_property
    def domain_place(self) -> Numbers:
        """Of each row: a number that rows of one turn and domain share, whatever the view."""
        _, domain = np.unique(codes(over_distinct(to_column(self.slot), domain_of)), return_inverse=True)
        numbers: Numbers = self.turn_place * (int(domain.max(initial=0)) + 1) + domain
        return numbers

    @cached_property
    def number_of_place(self) -> Numbers:
        """Of each place: the number of its turn."""
        numbers: Numbers = np.arange(self.total) - np.repeat(self.offset - self.base, self.size)
        return numbers

    @cached_property
    def hash_of_place(self) -> Hashes:
        """Of each place: the number that stands for its turn in a fingerprint."""
        dialogues = fingerprint.of_strings(self.dialogue)[self.number - 1]
        return fingerprint.of_turns(np.repeat(dialogues, self.size), self.number_of_place)

    def of_turns(self, places: NDArray[Any]) -> NDArray[Any]:
        """A column of places as a column of turns: without the places that are no turns."""
        return places if len(self.group) == self.total else places[self.is_turn]


def lay_out(long: pl.DataFrame, view: View | None = None, *, frames: bool = False) -> Layout:
    """Where the rows of a long table stand, for `to_turns`.

    Rows of frames are left out, as if there were none: no slot of the state is in them.

    Args:
        long: A long table, sorted by (dialogue, slot, turn), of whole dialogues.
        view: The view in which turns will be counted.
        frames: Whether gold's frames count in the view ``domain``: then their rows are rows without a slot of their
            domain. A turn without a prediction is marked in each of its frames.

    Raises:
        DstbenchError: The table is not sorted, a slot ends before its dialogue does, a row has no dialogue or turn, or
            turn numbers leave out far more than there are (`limits.NUMBERS`).
    """
    slot, gold, pred = all_codes(long.select("slot", "gold", "pred"))
    if not frames and (of_frames := rows_of_frames(slot)) is not None:
        return lay_out(long.filter(~of_frames), view)
    dialogue, rows = _by_dialogue(long, slot, gold, pred)
    if view:
        rows = _by_view(rows, view, frames=frames)
    first = _first_of_slots(rows)
    changed = _changed_rows(rows, first)
    base, size = _turn_numbers(rows.first_row, rows.turn)
    total = int(size.sum())
    _check_total(total, len(rows.turn))
    offset = np.cumsum(size) - size
    in_group = np.diff(np.searchsorted(changed, rows.first_row), append=len(changed))  # of each: its changed rows
    place = np.repeat(offset - base, in_group) + rows.turn[changed]
    after = place + np.diff(changed, append=len(rows.turn))  # a row has one place, so a run has as many as rows
    _check_runs(rows, first, changed, after, end=np.repeat(offset + size, in_group))
    is_turn = _are_turns(place, after, total)
    group = np.repeat(np.arange(len(size)), size)
    return Layout(
        slot=rows.slot,
        gold=rows.gold,
        pred=rows.pred,
        bare=rows.bare,
        first=first,
        changed=changed,
        place=place,
        after=after,
        part=rows.part,
        turn=rows.turn,
        first_row=rows.first_row,
        dialogue=dialogue,
        number=rows.number,
        base=base,
        offset=offset,
        size=size,
        total=total,
        is_turn=is_turn,
        group=group if is_turn.all() else group[is_turn],
        frames=rows.frames,
    )


class _Rows(NamedTuple):
    """The rows to lay out and the groups that they are in; each field is that of `Layout`."""

    slot: Codes
    gold: Codes
    pred: Codes
    bare: Flags
    turn: Numbers
    first_row: Numbers
    number: Numbers
    part: pl.Series | None = None
    frames: Frames | None = None


def _by_dialogue(long: pl.DataFrame, slot: Codes, gold: Codes, pred: Codes) -> tuple[pl.Series, _Rows]:
    """The ids of a long table's dialogues, and its rows with the codes of its columns, where each dialogue is a group.

    Raises:
        DstbenchError: Dialogues are not in order, a row has no dialogue or turn, or a row without a slot has a value.
    """
    first_row, dialogue = _runs(long["dialogue"])
    bare = slot == ABSENT
    lacks = long["dialogue"].null_count() or long["turn"].null_count() or (gold[np.flatnonzero(bare)] != ABSENT).any()
    if lacks or (dialogue[1:] <= dialogue[:-1]).any():
        raise unsorted()
    number = np.arange(1, len(first_row) + 1, dtype=np.uint32)
    return dialogue, _Rows(slot, gold, pred, bare, long["turn"].to_numpy(), first_row, number)


def _by_view(rows: _Rows, view: View, *, frames: bool) -> _Rows:
    """The rows that have a slot, where each domain or slot of a dialogue is a group.

    Args:
        rows: All rows, by dialogue.
        view: What the groups are.
        frames: Whether rows of frames are among the rows, which become rows without a slot.
    """
    number = np.repeat(rows.number, np.diff(rows.first_row, append=len(rows.turn)))
    marked = rows.bare & (rows.pred != ABSENT)  # turns without a prediction
    marks = turn_keys(number[marked], rows.turn[marked]), rows.pred[marked]
    slot, gold, pred = (column[~rows.bare] for column in (rows.slot, rows.gold, rows.pred))
    turn, number = rows.turn[~rows.bare], number[~rows.bare]
    part = to_column(slot) if view == "slot" else over_distinct(to_column(slot), domain_of)
    of_gold = set_apart(slot, gold, pred, turn_keys(number, turn), marks) if frames else None
    first_row = np.flatnonzero(row_changes(number) | row_changes(codes(part)))
    return _Rows(slot, gold, pred, slot == ABSENT, turn, first_row, number[first_row], part, of_gold)


def _first_of_slots(rows: _Rows) -> Flags:
    """Whether each row is its slot's first in the group."""
    first: Flags = rows.bare | row_changes(rows.slot)
    first[rows.first_row] = True
    return first


def _changed_rows(rows: _Rows, first: Flags) -> Numbers:
    """Indices of the rows that are not as the row before, one turn later: no run of identical rows skips a turn."""
    differs = first | row_changes(rows.gold) | row_changes(rows.pred)
    differs[1:] |= rows.turn[1:] - rows.turn[:-1] != 1
    return np.flatnonzero(differs)


def _turn_numbers(first_row: Numbers, turn: Numbers) -> tuple[Numbers, Numbers]:
    """Of each group, which begins with this row: its first turn's number, and how many there are up to its last."""
    base = np.minimum.reduceat(turn, first_row).astype(np.int64) if len(turn) else first_row
    last_row = np.append(first_row[1:], len(turn))[: len(first_row)] - 1  # of the last turn, as slots last to the end
    return base, turn[last_row] - base + 1


def _check_total(total: int, rows: int) -> None:
    """Refuse so many places for so few rows: turn numbers that leave out far more than there are."""
    if total > max(FREE, NUMBERS.value * rows):
        raise DstbenchError(
            f"{total:,} turn numbers from dialogues' first to last turns, for {rows:,} rows, is above the limit "
            f"of {NUMBERS.value} each",
            hint=f"number user turns from 0, without gaps; {NUMBERS.hint}",
        )


def _check_runs(rows: _Rows, first: Flags, changed: Numbers, after: Numbers, end: Numbers) -> None:
    """Refuse rows that are not sorted by turn, and slots whose rows end before or after their group.

    Args:
        rows: The rows.
        first: Whether each row is its slot's first.
        changed: Indices of the changed rows.
        after: Of each changed row: the first place after its run.
        end: Of each changed row: the first place after its group.
    """
    begins, turn = first[changed], rows.turn[changed]
    falls = (turn <= rows.turn[changed - 1]) & ~begins
    misses_end = (after < end) & np.append(begins[1:], True)[: len(begins)] & ~rows.bare[changed]
    if ((after > end) | falls | misses_end).any():
        raise unsorted()


def _are_turns(place: Numbers, after: Numbers, total: int) -> Flags:
    """Of each place: whether there is such a turn, which is so if a run covers the place."""
    covering = np.cumsum(np.bincount(place, minlength=total + 1) - np.bincount(after, minlength=total + 1))
    is_turn: Flags = covering[:-1] > 0
    return is_turn


def before(column: NDArray[Any], first: Flags) -> NDArray[Any]:
    """The same slot's value (code or flag) in the row before; where there is none, `ABSENT` or False."""
    earlier = np.empty_like(column)
    earlier[:1] = ABSENT if column.dtype == np.uint32 else False
    if column.dtype == np.bool_:
        np.greater(column[:-1], first[1:], out=earlier[1:])  # the one, and not the other
    else:
        np.bitwise_or(column[:-1], first[1:] * np.uint32(ABSENT), out=earlier[1:])  # `ABSENT` has all bits
    return earlier


def over_distinct(column: pl.Series, function: Callable[[str], str]) -> pl.Series:
    """Apply a function of strings to a dictionary column, once per distinct value."""
    distinct = codes(column.unique().drop_nulls())
    becomes = np.full(int(distinct.max(initial=0)) + 2, ABSENT, np.uint32)  # the last place is that of null
    becomes[distinct] = to_codes([function(value) for value in to_strings(distinct)])
    results = becomes[np.minimum(codes(column), len(becomes) - 1)]
    return to_column(results)


def row_changes(column: pl.Series | NDArray[Any]) -> Flags:
    """Whether a row differs from the row before; true at the first row."""
    changed = np.ones(len(column), dtype=np.bool_)
    different = column[1:] != column[:-1]
    changed[1:] = different if isinstance(different, np.ndarray) else different.to_numpy()
    return changed


def _runs(column: pl.Series) -> tuple[Numbers, pl.Series]:
    """Where runs of equal values begin, and these values."""
    # Chunk by chunk, as shifted columns of many chunks are slow to compare.
    changes = np.concatenate([row_changes(chunk) for chunk in column.get_chunks()])
    value = column.filter(changes)
    begins = row_changes(value)  # a run may go on in the next chunk
    return np.flatnonzero(changes)[begins], value.filter(begins)


def _places(first_row: Numbers, turn: Numbers) -> Numbers:
    """The place of each row's turn among the turns first … last of all groups, which begin with these rows."""
    base, size = _turn_numbers(first_row, turn)
    places: Numbers = np.repeat(np.cumsum(size) - size - base, np.diff(first_row, append=len(turn))) + turn
    return places
