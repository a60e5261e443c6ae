"""Where the rows of a long table stand: dialogues, slots, turns and places, as arrays.

The long table is sorted by (dialogue, slot, turn), so a slot's previous turn is the row before, and no window function
is needed. A turn's *place* is its number among all turns of all groups: what is added up by place needs no hashing.
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
from dstbench.runs.codes import ABSENT, all_codes, codes, distinct, to_codes, to_column, to_strings
from dstbench.runs.frames import rows_of_frames
from dstbench.runs.rules import unsorted
from dstbench.schema.core import MAX_TURN, NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dstbench.arrays import Codes, Flags, Hashes, Numbers
    from dstbench.typing import View


class Frames(NamedTuple):
    """Gold's frames: their rows, and the codes of what gold and prediction say of them (`ABSENT`: not predicted)."""

    row: Numbers
    gold: Codes
    pred: Codes


@dataclass(frozen=True)
class Layout:
    """Where the rows of a long table stand: groups (dialogues, or slots or domains in them), turns, places.

    States seldom change from one turn to the next, and most of what there is to know is known of the *changed* rows: a
    row that differs from the row before in its slot, with all rows up to the next such, which are of the turns that
    follow it.

    Attributes:
        slot: Codes of the rows' slots. In a view, there are only rows with a slot.
        gold: Codes of verbatim gold values.
        pred: Codes of verbatim predicted values.
        bare: Rows without a slot, or of frames: each stands for itself, and what is predicted there does not last.
        first: Whether a slot's rows begin with a row.
        changed: The rows that are changed in the file. Every slot and value of it stands in one of them.
        place: Of each changed row: the place of its turn.
        after: The place after those of the rows that are like it.
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
        kept: What was worked out on these rows and several calls need, by what it is.
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
    kept: dict[Any, Any] = field(default_factory=dict)

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
        """What is known of places, of those that are turns."""
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
    first_row, dialogue = _runs(long["dialogue"])
    bare, turn, part, of_gold = slot == ABSENT, long["turn"].to_numpy(), None, None
    lacks = long["dialogue"].null_count() or long["turn"].null_count() or (gold[np.flatnonzero(bare)] != ABSENT).any()
    if lacks or (dialogue[1:] <= dialogue[:-1]).any():
        raise unsorted()
    number = np.arange(1, len(first_row) + 1, dtype=np.uint32)
    if view:
        marked = bare & (pred != ABSENT)
        numbers = np.repeat(number, np.diff(first_row, append=len(bare)))
        marks = _turn_keys(numbers[marked], turn[marked]), pred[marked]
        slot, gold, pred, turn, numbers = (column[~bare] for column in (slot, gold, pred, turn, numbers))
        part = to_column(slot) if view == "slot" else over_distinct(to_column(slot), domain_of)
        of_gold = _set_apart(slot, gold, pred, _turn_keys(numbers, turn), marks) if frames else None
        bare = slot == ABSENT
        first_row = np.flatnonzero(row_changes(numbers) | row_changes(codes(part)))
        number = numbers[first_row]
    first = bare | row_changes(slot)
    first[first_row] = True
    differs = first | row_changes(gold) | row_changes(pred)
    differs[1:] |= turn[1:] - turn[:-1] != 1  # so that from one changed row to the next, no turn is left out
    changed = np.flatnonzero(differs)
    starts, last_row = np.searchsorted(changed, first_row), first_row + np.diff(first_row, append=len(turn)) - 1
    base = np.minimum.reduceat(turn[changed], starts).astype(np.int64) if len(turn) else first_row
    size = turn[last_row] - base + 1  # a group's last row is of its last turn
    if (total := int(size.sum())) > max(FREE, NUMBERS.value * len(turn)):
        raise DstbenchError(
            f"{total:,} turn numbers from dialogues' first to last turns, for {len(turn):,} rows, is above the limit "
            f"of {NUMBERS.value} each",
            hint=f"number user turns from 0, without gaps; {NUMBERS.hint}",
        )
    offset = np.cumsum(size) - size
    changes = np.diff(starts, append=len(changed))
    place = np.repeat(offset - base, changes) + turn[changed]
    after = place + np.diff(changed, append=len(turn))  # the place after those of the rows that are like it
    end = np.repeat(offset + size, changes)
    if (after > end).any():
        raise unsorted()
    begins = first[changed]
    falls = (turn[changed] <= turn[changed - 1]) & ~begins
    misses_end = (after < end) & np.append(begins[1:], True)[: len(begins)] & ~bare[changed]
    if (falls | misses_end).any():
        raise unsorted()
    is_turn = np.cumsum(np.bincount(place, minlength=total + 1) - np.bincount(after, minlength=total + 1))[:-1] > 0
    group = np.repeat(np.arange(len(size)), size)
    return Layout(
        slot=slot,
        gold=gold,
        pred=pred,
        bare=bare,
        first=first,
        changed=changed,
        place=place,
        after=after,
        part=part,
        turn=turn,
        first_row=first_row,
        dialogue=dialogue,
        number=number,
        base=base,
        offset=offset,
        size=size,
        total=total,
        is_turn=is_turn,
        group=group if is_turn.all() else group[is_turn],
        frames=of_gold,
    )


def _turn_keys(number: Numbers, turn: Numbers) -> Numbers:
    """A number per turn of a dialogue of this number, in the order of both."""
    keys: Numbers = number.astype(np.int64) * (MAX_TURN + 1) + turn
    return keys


def _set_apart(slot: Codes, gold: Codes, pred: Codes, keys: Numbers, marks: tuple[Numbers, Codes]) -> Frames:
    """Gold's frames, whose rows become rows without a slot, with the marks of turns that have no prediction.

    Args:
        slot: The rows' slots, of which those of frames are taken out; likewise `gold` and `pred`.
        gold: Their gold values.
        pred: Their predicted values.
        keys: The rows' turns, as `_turn_keys` numbers them.
        marks: The turns that have no prediction, in their order, and what marks them.
    """
    flags = rows_of_frames(slot)
    if flags is None:
        return Frames(np.zeros(0, np.int64), gold[:0], pred[:0])
    there = np.flatnonzero(flags & (gold != ABSENT))
    frames = Frames(there, gold[there], pred[there])
    for column in (slot, gold, pred):
        column[flags] = ABSENT
    marked, mark = marks
    at = np.searchsorted(marked, keys[there])
    is_marked = at < len(marked)
    is_marked[is_marked] = marked[at[is_marked]] == keys[there[is_marked]]
    pred[there[is_marked]] = mark[at[is_marked]]
    return frames


def gold_hashes(rows: Layout, place: Numbers, first: Flags, slot: Codes, gold: Codes) -> Hashes:
    """Of each turn: its part of the fingerprint that says what changed in gold.

    Args:
        rows: Where rows stand.
        place: The places of some rows, such that all others are like the last of these before them.
        first: Of these rows: whether a slot's rows begin with them.
        slot: Codes of their slots.
        gold: Codes of their gold values, `ABSENT` where gold has none.
    """
    new = np.flatnonzero(gold != before(gold, first))
    hashed = fingerprint.of_cells(
        rows.hash_of_place[place[new]], fingerprint.of_codes(slot[new]), fingerprint.of_codes(gold[new])
    )
    sums = np.zeros(rows.total, np.uint64)
    np.add.at(sums, place[new], hashed)
    return rows.of_turns(sums)


def gold_slots(rows: Layout) -> frozenset[str]:
    """The slots that have a value in gold: one that does not mean "not in the state" in most files."""
    slot, gold, _ = rows.cells
    there = gold != ABSENT
    for nothing in to_codes(list(NOTHING)):
        there &= gold != nothing
    return frozenset(to_strings(distinct(slot[there])))


def gold_fingerprint(long: pl.DataFrame) -> int:
    """The fingerprint of a long table's gold as written (`fingerprint`), over all turns."""
    rows = lay_out(long)
    slot, gold, _ = rows.cells
    for nothing in to_codes(list(NOTHING)):
        gold[gold == nothing] = ABSENT
    turns = rows.of_turns(rows.hash_of_place)
    changes = gold_hashes(rows, rows.place, rows.first[rows.changed], slot, gold)
    return sum(int(np.add.reduce(part, dtype=np.uint64)) for part in (turns, changes)) % 2**64


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
    rows = np.diff(first_row, append=len(turn))
    base = np.minimum.reduceat(turn, first_row).astype(np.int64) if len(turn) else first_row
    size = turn[first_row + rows - 1] - base + 1
    places: Numbers = np.repeat(np.cumsum(size) - size - base, rows) + turn
    return places
