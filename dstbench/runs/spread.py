"""Gold and prediction side by side: one row per slot and turn, from the slot's first turn to the dialogue's last.

For example, a dialogue of three turns, of which gold lists `hotel-area` from turn 1 on, and the prediction two slots in
turn 2:

>>> turns = pl.DataFrame({"dialogue": ["D1", "D1", "D1"], "turn": [0, 1, 2]}, schema_overrides={"turn": pl.UInt16})
>>> types = {"at": pl.UInt32, "slot": pl.Categorical, "value": pl.Categorical}
>>> gold = {"at": [1, 2], "slot": ["hotel-area", "hotel-area"], "value": ["north", "north"]}
>>> pred = {"at": [2, 2], "slot": ["hotel-area", "hotel-stars"], "value": ["north", "4"]}
>>> sides = [Side(turns, pl.DataFrame(cells, schema=types)) for cells in (gold, pred)]
>>> spine = turns.with_row_index("at").with_columns(predicted=True)
>>> for row in spread("example", spine, *sides).rows():
...     print(*row)
D1 0 None None None
D1 1 hotel-area north None
D1 2 hotel-area north north
D1 2 hotel-stars None 4

Three groups have 1, 2 and 1 rows, from rows 0, 1 and 3 on: rows without a slot, of `hotel-area` from turn 1 on, and of
`hotel-stars` from turn 2 on. So gold's cell of turn 2 is in row 1 + (2 - 1) = 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from dstbench.errors import DstbenchError
from dstbench.io.limits import FREE, SPREAD
from dstbench.readers.states import Side, same_turns
from dstbench.schema.core import LONG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dstbench.arrays import Flags, Integers, Numbers


def spread(source: str, spine: pl.DataFrame, gold: Side, pred: Side) -> pl.DataFrame:
    """The long table of both sides.

    Integers stand for everything while rows are laid out: a slot of a dialogue is a *group* of rows, and where a group
    begins and in which turn says where each of its cells goes, so that nothing is sorted or joined.

    Args:
        source: Name of the file, for messages.
        spine: The turns to score, sorted: (at: their row in gold's turns, dialogue, turn, predicted: whether there is
            a prediction).
        gold: The gold side; cells of turns that the spine lacks are left out.
        pred: The predicted side, likewise.

    Returns:
        Schema `LONG`, sorted; a turn without a prediction has a row without a slot that says so.

    Raises:
        DstbenchError: There would be far more rows than the sides list slots (`limits.SPREAD`).
    """
    if spine.is_empty():
        return LONG.schema.to_frame()
    dialogue, first_turn = _number_dialogues(spine)
    slots, rank = _rank_slots(gold, pred)
    width = len(slots) + 1  # in each dialogue, group 0 is of rows without a slot
    in_spine = _turns_in_spine(spine, gold, pred)
    sides = [_Placed.of(side, of, dialogue * width, rank) for side, of in zip((gold, pred), in_spine, strict=True)]
    groups = _find_groups(sides, dialogue, first_turn, width)

    predicted = spine["predicted"].to_numpy()
    without = _turns_without_slot(groups, dialogue, predicted)
    end_turn = np.append(first_turn[1:], spine.height)
    size = end_turn[groups.key // width] - groups.start
    size[groups.bare] = np.bincount(dialogue[without], minlength=len(first_turn))
    offset = np.cumsum(size) - size
    total = int(size.sum())
    _check_total(source, total, spine.height, sum(len(side.cell) for side in sides))

    shift = offset - groups.start  # of each group: what to add to a turn to get its row
    turn = np.arange(total) - np.repeat(shift, size)
    row_without = _rows_without_slot(offset[groups.bare], dialogue[without])
    turn[row_without] = without
    rows = [shift[of_side] + side.turn for side, of_side in zip(sides, groups.of_cells, strict=True)]
    unpredicted = ~predicted[without]
    marks = _marks(spine["turn"].gather(without[unpredicted]))
    return spine.select(pl.col("dialogue", "turn").gather(pl.Series(turn))).with_columns(
        slot=_or_null(slots, np.repeat(groups.key % width, size).astype(np.uint32)),
        gold=_column(total, [(rows[0], sides[0].cell, sides[0].values)]),
        pred=_column(
            total,
            [(rows[1], sides[1].cell, sides[1].values), (row_without[unpredicted], np.arange(len(marks)), marks)],
        ),
    )


def spread_frames(source: str, spine: pl.DataFrame, gold: Side, pred: Side) -> pl.DataFrame:
    """The rows of both sides' frames, as those of any slot, to be put among those of `spread`."""
    nothing = gold.cells.clear()
    sides = (Side(side.turns, nothing if side.frames is None else side.frames) for side in (gold, pred))
    return spread(source, spine.with_columns(predicted=True), *sides).drop_nulls("slot")


@dataclass(frozen=True)
class _Placed:
    """One side's cells that the spine has: which, in which of its turns, in which group; and all values."""

    cell: Integers
    turn: Integers
    group: Integers
    values: pl.Series

    @staticmethod
    def of(side: Side, turns: Integers, base: Integers, rank: Integers) -> _Placed:
        """Place them: `turns` of the side, `base` is each turn's first group, `rank` each slot's number, from 1."""
        turn = turns[side.cells["at"].to_numpy()]
        cell = np.flatnonzero(turn >= 0)
        turn = turn[cell]
        slot = side.cells["slot"].to_physical().to_numpy()[cell]
        return _Placed(cell, turn, base[turn] + rank[slot], side.cells["value"])


@dataclass(frozen=True)
class _Groups:
    """The groups of rows: one for each slot that a side lists in a dialogue, and one per dialogue without a slot.

    Attributes:
        key: Of each group, ascending: ``width`` times its dialogue's number, plus its slot's number (0: no slot).
        start: Of each group: the first turn in which a side lists its slot; the number of all turns where it has none.
        bare: Of each dialogue: its group without a slot.
        of_cells: Of each side: its cells' groups.
    """

    key: Integers
    start: Integers
    bare: Integers
    of_cells: list[Integers]


def _number_dialogues(spine: pl.DataFrame) -> tuple[Integers, Integers]:
    """Of each turn, its dialogue's number, from 0; and of each dialogue, its first turn."""
    is_new = (spine["dialogue"] != spine["dialogue"].shift(1)).fill_null(True).to_numpy()
    return np.cumsum(is_new) - 1, np.flatnonzero(is_new)


def _rank_slots(gold: Side, pred: Side) -> tuple[pl.Series, Integers]:
    """The slots that a side lists, sorted; and of each slot's code its number among them, from 1."""
    slots = pl.concat([gold.cells["slot"], pred.cells["slot"]]).unique().sort()
    codes = slots.to_physical().to_numpy()
    rank = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.int64)
    rank[codes] = np.arange(1, len(codes) + 1)
    return slots, rank


def _turns_in_spine(spine: pl.DataFrame, gold: Side, pred: Side) -> tuple[Integers, Integers]:
    """Of each side: where in the spine each of its turns is; −1 if it is not."""
    of_gold = np.full(gold.turns.height, -1, dtype=np.int64)
    of_gold[spine["at"].to_numpy()] = np.arange(spine.height)
    return of_gold, of_gold if same_turns(gold, pred) else _turns_of(pred, spine)


def _find_groups(sides: Sequence[_Placed], dialogue: Integers, first_turn: Integers, width: int) -> _Groups:
    """The groups of the cells that the sides list, and of each dialogue's rows without a slot."""
    keys = np.concatenate([*(side.group for side in sides), dialogue[first_turn] * width])
    key, number = _numbered(keys, len(first_turn) * width)
    *of_cells, bare = np.split(number, np.cumsum([len(side.group) for side in sides]))
    start = np.full(len(key), len(dialogue), dtype=np.int64)
    for side, of_side in zip(sides, of_cells, strict=True):
        np.minimum.at(start, of_side, side.turn)
    return _Groups(key, start, bare, of_cells)


def _turns_without_slot(groups: _Groups, dialogue: Integers, predicted: Flags) -> Integers:
    """The turns that have a row without a slot: those before any slot, and those without a prediction."""
    start_of_dialogue = np.minimum.reduceat(groups.start, groups.bare)  # of its first slot, as that without has none
    return np.flatnonzero(~predicted | (np.arange(len(dialogue)) < start_of_dialogue[dialogue]))


def _rows_without_slot(begin: Integers, dialogue: Integers) -> Integers:
    """The rows of turns that have one without a slot.

    Args:
        begin: Of each dialogue: where its rows without a slot begin.
        dialogue: Of each such turn, ascending: its dialogue.
    """
    count = np.bincount(dialogue, minlength=len(begin))
    return np.arange(len(dialogue)) + (begin - np.cumsum(count) + count)[dialogue]


def _check_total(source: str, total: int, turns: int, listed: int) -> None:
    """Refuse so many rows for so few slots that are listed."""
    if total > max(FREE, SPREAD.value * (listed + turns)):
        raise DstbenchError(
            f"{total:,} rows for {turns:,} turns that list {listed:,} slots is above the limit of {SPREAD.value} rows "
            "each",
            file=source,
            hint=SPREAD.hint,
        )


def _marks(turns: pl.Series) -> pl.Series:
    """What marks turns without a prediction, in rows without a slot.

    It is a new value in each turn, so that it is never an old error merely carried along.
    """
    return pl.select(pl.format("no prediction for turn {}", turns)).to_series().cast(pl.Categorical)


def _column(total: int, parts: Sequence[tuple[Integers, Integers, pl.Series]]) -> pl.Series:
    """A column of so many rows, null but for parts: rows, and which of some values they have."""
    number = np.zeros(total, dtype=np.uint32)  # 0: null, then the values of all parts
    before = 1
    for rows, which, values in parts:
        number[rows] = which + before
        before += len(values)
    return _or_null(pl.concat([values for *_, values in parts]), number)


def _turns_of(side: Side, spine: pl.DataFrame) -> Integers:
    """Where in the spine each of a side's turns is; −1 if it is not."""
    place = side.turns.join(
        spine.select(["dialogue", "turn"]).with_row_index("row"),
        on=["dialogue", "turn"],
        how="left",
        maintain_order="left",
    )
    return place["row"].cast(pl.Int64).fill_null(-1).to_numpy()


def _numbered(groups: Integers, most: int) -> tuple[Integers, Integers]:
    """The distinct groups, ascending, and the place of each among them; all are less than `most`."""
    if most > 16 * len(groups):  # so many slots that a table of all groups that could be would be large
        return np.unique(groups, return_inverse=True)
    there = np.zeros(most, dtype=np.bool_)
    there[groups] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[groups]


def _or_null(values: pl.Series, number: Numbers) -> pl.Series:
    """The values of these numbers, from 1; null for 0."""
    return pl.concat([pl.Series([None], dtype=values.dtype), values]).gather(pl.Series(number))
