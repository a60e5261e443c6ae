"""Where the rows of a long table stand: dialogues, slots, turns and places, as arrays.

The long table is sorted by (dialogue, slot, turn), so a slot's previous turn is the row before, and no window function
is needed. A turn's *place* is its number among all turns of all groups: what is added up by place needs no hashing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from dstbench import fingerprint
from dstbench.comparison import ABSENT, codes, to_codes, to_column, to_strings
from dstbench.errors import DstbenchError
from dstbench.slots import domain_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dstbench.options import View

    Flags: TypeAlias = NDArray[np.bool_]
    Codes: TypeAlias = NDArray[np.uint32]
    Numbers: TypeAlias = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Layout:
    """Where the rows of a long table stand: groups (dialogues, or slots or domains in them), turns, places.

    Attributes:
        long: The long table; in a view, only its rows with a slot.
        number: Of each row: the number of its dialogue, from 1, also of those that have no row in the view.
        dialogue_starts: Whether a dialogue begins with a row.
        slot: Codes of the rows' slots.
        bare: Rows without a slot: each stands for itself, and what is predicted there does not last.
        first: Whether a slot's rows begin with a row.
        part: The column of the view; None without one.
        turn: Turn numbers.
        first_row: Of each group: its first row.
        place: Of each row: the place of its turn, among those of all groups' turns first … last, also of turns that
            are not there.
        base: Of each group: its first turn's number.
        offset: Of each group: its first place.
        size: Of each group: its number of places.
        total: The number of places.
        is_turn: Of each place: whether there is such a turn.
        group: Of each turn: its group.
        kept: What was worked out on these rows and several calls need, by what it is.
    """

    long: pl.DataFrame
    number: Codes
    dialogue_starts: Flags
    slot: Codes
    bare: Flags
    first: Flags
    part: pl.Series | None
    turn: Numbers
    first_row: Numbers
    place: Numbers
    base: Numbers
    offset: Numbers
    size: Numbers
    total: int
    is_turn: Flags
    group: Numbers
    kept: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def turn_place(self) -> Numbers:
        """Of each row: the place of its turn among those of all dialogues, whatever the view."""
        return _places(np.flatnonzero(self.dialogue_starts), self.turn)[0]

    @cached_property
    def domain_place(self) -> Numbers:
        """Of each row: a number that rows of one turn and domain share, whatever the view."""
        _, domain = np.unique(codes(over_distinct(self.long["slot"], domain_of)), return_inverse=True)
        numbers: Numbers = self.turn_place * (int(domain.max(initial=0)) + 1) + domain
        return numbers

    @cached_property
    def dialogue_hash(self) -> NDArray[np.uint64]:
        """Of each row: the number that stands for its dialogue in a fingerprint."""
        hashes = fingerprint.of_strings(self.long["dialogue"].gather(np.flatnonzero(self.dialogue_starts)))
        of_rows: NDArray[np.uint64] = hashes[np.cumsum(self.dialogue_starts) - 1]
        return of_rows

    @cached_property
    def gold(self) -> Codes:
        """Codes of verbatim gold values."""
        return codes(self.long["gold"])

    @cached_property
    def pred(self) -> Codes:
        """Codes of verbatim predicted values."""
        return codes(self.long["pred"])

    @cached_property
    def differs(self) -> Flags:
        """Whether a row differs from the row before in its slot, in the file."""
        differs: Flags = self.first | row_changes(self.gold) | row_changes(self.pred)
        return differs

    def turns(self) -> NDArray[np.uint16]:
        """The numbers of all turns."""
        at = np.flatnonzero(self.is_turn)
        return (at - self.offset[self.group] + self.base[self.group]).astype(np.uint16)

    def running(self, changes: Any) -> Any:
        """Running sums of changes that start anew in every group; exact, as they are sums of small integers."""
        running = np.cumsum(changes)
        return running - np.repeat(running[self.offset] - changes[self.offset], self.size)


def lay_out(long: pl.DataFrame, view: View | None = None) -> Layout:
    """Where the rows of a long table stand, for `to_turns`.

    Args:
        long: A long table, sorted by (dialogue, slot, turn), of whole dialogues.
        view: The view in which turns will be counted.

    Raises:
        DstbenchError: The table is not sorted, or a slot ends before its dialogue does.
    """
    slot = codes(long["slot"])
    bare, number = slot == ABSENT, np.cumsum(row_changes(long["dialogue"]), dtype=np.uint32)
    if view:
        long, slot, number, bare = long.filter(~bare), slot[~bare], number[~bare], bare[~bare]
    starts = dialogue_starts = row_changes(number)
    first = starts | bare | row_changes(slot)
    part = None if view is None else long["slot"] if view == "slot" else over_distinct(long["slot"], domain_of)
    if part is not None:
        starts = starts | row_changes(codes(part))
    turn, first_row = long["turn"].to_numpy(), np.flatnonzero(starts)
    place, base, offset, size = _places(first_row, turn)
    total = int(size.sum())
    if ((turn[1:] <= turn[:-1]) & ~first[1:]).any() or (len(place) and int(place.max()) >= total):
        raise DstbenchError(
            "the long table is not sorted by dialogue, slot and turn, or a slot ends early",
            hint="convert the run again, or sort it and drop its metadata",
        )
    is_turn = np.zeros(total, dtype=np.bool_)
    is_turn[place] = True
    group = np.repeat(np.arange(len(size)), size)[is_turn]
    return Layout(
        long,
        number,
        dialogue_starts,
        slot,
        bare,
        first,
        part,
        turn,
        first_row,
        place,
        base,
        offset,
        size,
        total,
        is_turn,
        group,
    )


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
    if isinstance(column, pl.Series):
        column = column.rechunk()
        changed[1:] = (column[1:] != column[:-1]).to_numpy()
    else:
        changed[1:] = column[1:] != column[:-1]
    return changed


def _places(first_row: Numbers, turn: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """A place for every turn of every group.

    A group has places for its turns first … last, also for those that are not there. Its last row is in its last turn,
    as a slot has a row up to the dialogue's last turn.

    Returns:
        The place of each row; and of each group the first turn, the first place, and the number of places.
    """
    rows = np.diff(first_row, append=len(turn))
    base = np.minimum.reduceat(turn, first_row).astype(np.int64) if len(turn) else first_row
    size = turn[first_row + rows - 1] - base + 1
    offset = np.cumsum(size) - size
    return np.repeat(offset - base, rows) + turn, base, offset, size
