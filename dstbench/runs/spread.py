"""Gold and prediction side by side: one row per slot and turn, from the slot's first turn to the dialogue's last."""

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
    from dstbench.arrays import Integers, Numbers


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
    new_dialogue = (spine["dialogue"] != spine["dialogue"].shift(1)).fill_null(True).to_numpy()
    dialogue = np.cumsum(new_dialogue) - 1
    first_turn = np.flatnonzero(new_dialogue)
    end_turn = np.append(first_turn[1:], spine.height)

    slots = pl.concat([gold.cells["slot"], pred.cells["slot"]]).unique().sort()
    codes = slots.to_physical().to_numpy()
    rank = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.int64)
    rank[codes] = np.arange(1, len(codes) + 1)
    width = len(slots) + 1  # in each dialogue, group 0 is of rows without a slot

    turn_of_gold = np.full(gold.turns.height, -1, dtype=np.int64)
    turn_of_gold[spine["at"].to_numpy()] = np.arange(spine.height)
    turns = (turn_of_gold, turn_of_gold if same_turns(gold, pred) else _turns_of(pred, spine))
    sides = [_Placed.of(side, of, dialogue * width, rank) for side, of in zip((gold, pred), turns, strict=True)]
    listed = np.concatenate([side.group for side in sides])
    groups, number = _numbered(np.concatenate([listed, dialogue[first_turn] * width]), len(first_turn) * width)
    start = np.full(len(groups), spine.height, dtype=np.int64)
    np.minimum.at(start, number[: len(listed)], np.concatenate([side.turn for side in sides]))

    # Turns before any slot, and the mark of turns that have no prediction (SPEC has no place for it but the value of a
    # row without a slot; a new value each turn, so that it is never an old error merely carried along).
    bare = number[len(listed) :]
    start_of_dialogue = np.minimum.reduceat(start, bare)  # group 0 has not begun: that of the first slot
    unpredicted = ~spine["predicted"].to_numpy()
    without = np.flatnonzero(unpredicted | (np.arange(spine.height) < start_of_dialogue[dialogue]))

    size = end_turn[groups // width] - start
    size[bare] = np.bincount(dialogue[without], minlength=len(bare))
    offset = np.cumsum(size) - size
    total = int(size.sum())
    if total > max(FREE, SPREAD.value * (len(listed) + spine.height)):
        raise DstbenchError(
            f"{total:,} rows for {spine.height:,} turns that list {len(listed):,} slots is above the limit of "
            f"{SPREAD.value} rows each",
            file=source,
            hint=SPREAD.hint,
        )
    turn = np.arange(total) + np.repeat(start - offset, size)
    numbered = np.arange(len(without)) - (np.cumsum(size[bare]) - size[bare])[dialogue[without]]
    at_without = offset[bare][dialogue[without]] + numbered
    turn[at_without] = without

    columns = {}
    of_sides = np.split(number[: len(listed)], [len(sides[0].group)])
    for name, side, of_side in zip(("gold", "pred"), sides, of_sides, strict=True):
        filled = np.zeros(total, dtype=np.uint32)  # 0: null, then the cells
        filled[offset[of_side] + side.turn - start[of_side]] = side.cell + 1
        values = side.values
        if name == "pred":
            marked = unpredicted[without]
            filled[at_without[marked]] = len(values) + 1 + np.arange(marked.sum())
            of_turns = spine["turn"].gather(without[marked])
            marks = pl.select(pl.format("no prediction for turn {}", of_turns)).to_series()
            values = pl.concat([values, marks.cast(pl.Categorical)])
        columns[name] = _or_null(values, filled)
    table = spine.select(pl.col("dialogue", "turn").gather(pl.Series(turn)))
    slot = _or_null(slots, np.repeat(groups % width, size).astype(np.uint32))
    return table.with_columns(slot=slot, **columns).select(LONG.schema.names())


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
