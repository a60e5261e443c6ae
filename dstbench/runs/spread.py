"""Gold and prediction side by side: one row per slot and turn, from the slot's first turn to the dialogue's last.

For example, in a dialogue of three turns, gold lists `hotel-area` from turn 1 on, and the prediction lists two slots in
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

There are three groups of rows: one row without a slot (row 0), two of `hotel-area` from turn 1 on (rows 1 and 2), and
one of `hotel-stars` from turn 2 on (row 3). So gold's cell of turn 2 is in row 1 + (2 - 1) = 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from dstbench.arrays import Integers, Numbers
from dstbench.errors import DstbenchError
from dstbench.io.limits import FREE, SPREAD
from dstbench.readers.states import Side, same_turns
from dstbench.runs.codes import codes, distinct, to_column
from dstbench.runs.layout import row_changes
from dstbench.schema.core import LONG


def spread(source: str, spine: pl.DataFrame, gold: Side, pred: Side) -> pl.DataFrame:
    """The long table of both sides.

    Rows are laid out with integers only. The rows of one slot in one dialogue are a *group*; the row of each of its
    cells follows from the group's first row and first turn, so nothing is sorted or joined.

    Args:
        source: Name of the file, for messages.
        spine: The turns to score, sorted: (at: their row in gold's turns, dialogue, turn, predicted: whether there is
            a prediction).
        gold: The gold side; cells of turns that the spine lacks are left out.
        pred: The predicted side, likewise.

    Returns:
        Schema `LONG`, sorted; a turn without a prediction has a row without a slot that says so.

    Raises:
        DstbenchError: There would be far more rows than turns and listed slots (`limits.SPREAD`).
    """
    if spine.is_empty():
        return LONG.schema.to_frame()
    turns = np.arange(spine.height)
    is_new = row_changes(spine["dialogue"])
    dialogue, first_turn = np.cumsum(is_new) - 1, np.flatnonzero(is_new)  # numbered from 0
    listed_slots = [codes(side.cells["slot"]) for side in (gold, pred)]
    slots = to_column(distinct(np.concatenate(listed_slots))).sort()  # numbered from 1; 0: no slot
    code_of_slot = codes(slots)
    rank = np.zeros(int(code_of_slot.max(initial=0)) + 1, dtype=np.int64)  # from code to number
    rank[code_of_slot] = np.arange(1, len(slots) + 1)

    # A group's key is width * dialogue + slot, so the order of keys is that of the table's rows. Each dialogue has a
    # group of rows without a slot (`bare`), which may be empty.
    width = len(slots) + 1
    of_gold = np.full(gold.turns.height, -1, dtype=np.int64)
    of_gold[spine["at"].to_numpy()] = turns
    of_pred = of_gold if same_turns(gold, pred) else _turns_in_spine(pred, spine)
    golds = _place(gold, of_gold, rank[listed_slots[0]], dialogue * width)
    preds = _place(pred, of_pred, rank[listed_slots[1]], dialogue * width)
    keys = np.concatenate([golds.key, preds.key, dialogue[first_turn] * width])
    key, group = _distinct(keys, len(first_turn) * width)
    gold_group, pred_group, bare = np.split(group, np.cumsum([len(golds.key), len(preds.key)]))
    start = np.full(len(key), spine.height, dtype=np.int64)  # the first turn in which a side lists the slot
    np.minimum.at(start, gold_group, golds.turn)
    np.minimum.at(start, pred_group, preds.turn)

    # Rows without a slot are those of turns before the dialogue's first slot, and of turns without a prediction. Rows
    # with a slot last to the dialogue's end.
    predicted = spine["predicted"].to_numpy()
    first_slot = np.minimum.reduceat(start, bare)  # by dialogue, whose first group is the bare one
    without = np.flatnonzero(~predicted | (turns < first_slot[dialogue]))
    size = np.append(first_turn[1:], spine.height)[key // width] - start
    size[bare] = np.bincount(dialogue[without], minlength=len(first_turn))
    offset = np.cumsum(size) - size
    total = int(size.sum())
    listed = len(golds.cell) + len(preds.cell)
    if total > max(FREE, SPREAD.value * (listed + spine.height)):
        raise DstbenchError(
            f"{total:,} rows for {spine.height:,} turns that list {listed:,} slots is above the limit of "
            f"{SPREAD.value} rows each",
            file=source,
            hint=SPREAD.hint,
        )

    shift = offset - start  # what to add to a turn to get its row in the group
    turn = np.arange(total) - np.repeat(shift, size)
    # The n-th turn without a slot has the n-th row of all bare groups, counted over dialogues.
    count = size[bare]
    row_without = np.arange(len(without)) + (offset[bare] - np.cumsum(count) + count)[dialogue[without]]
    turn[row_without] = without
    unpredicted = ~predicted[without]
    marks = _marks(spine["turn"][without[unpredicted]])
    gold_cells = shift[gold_group] + golds.turn, golds.cell, gold.cells["value"]
    pred_cells = shift[pred_group] + preds.turn, preds.cell, pred.cells["value"]
    pred_marks = row_without[unpredicted], np.arange(len(marks)), marks
    turn_of_row = pl.Series(turn, dtype=pl.UInt32)
    return pl.DataFrame(
        {
            "dialogue": spine["dialogue"][turn_of_row],
            "turn": spine["turn"][turn_of_row],
            "slot": _or_null(slots, np.repeat(key % width, size).astype(np.uint32)),
            "gold": _column(total, gold_cells),
            "pred": _column(total, pred_cells, pred_marks),
        }
    )


def spread_frames(source: str, spine: pl.DataFrame, gold: Side, pred: Side) -> pl.DataFrame:
    """The rows of both sides' frames, laid out like those of slots, to be merged with the rows of `spread`."""
    nothing = gold.cells.clear()
    sides = (Side(side.turns, nothing if side.frames is None else side.frames) for side in (gold, pred))
    return spread(source, spine.with_columns(predicted=True), *sides).drop_nulls("slot")


class _Placed(NamedTuple):
    """One side's cells whose turns are in the spine: their indices, turns and groups' keys."""

    cell: Integers
    turn: Integers
    key: Integers


def _place(side: Side, in_spine: Integers, slot: Integers, base: Integers) -> _Placed:
    """Place a side's cells.

    Args:
        side: The side.
        in_spine: For each of its turns: where it is in the spine.
        slot: For each of its cells: the number of its slot.
        base: The first key of each turn in the spine.
    """
    turn = in_spine[side.cells["at"].to_numpy()]
    cell = np.flatnonzero(turn >= 0)
    turn = turn[cell]
    return _Placed(cell, turn, base[turn] + slot[cell])


def _turns_in_spine(side: Side, spine: pl.DataFrame) -> Integers:
    """For each of a side's turns: where it is in the spine; −1 if it is not."""
    key = ["dialogue", "turn"]
    place = side.turns.join(spine.select(key).with_row_index("row"), on=key, how="left", maintain_order="left")
    return place["row"].cast(pl.Int64).fill_null(-1).to_numpy()


def _distinct(keys: Integers, end: int) -> tuple[Integers, Integers]:
    """The distinct keys, ascending, and the index of each key among them; all keys are below `end`."""
    if end > 16 * len(keys):  # so many slots that a table of all possible keys would be large
        return np.unique(keys, return_inverse=True)
    occurs = np.zeros(end, dtype=np.bool_)
    occurs[keys] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[keys]


def _marks(turns: pl.Series) -> pl.Series:
    """The values that mark turns without a prediction: another in each turn, so that no error is carried over."""
    return pl.select(pl.format("no prediction for turn {}", turns)).to_series().cast(pl.Categorical)


def _column(total: int, *cells: tuple[Integers, Integers, pl.Series]) -> pl.Series:
    """A column of `total` rows, null except for cells: (their rows, the index of each one's value, values)."""
    number = np.zeros(total, dtype=np.uint32)  # 0: null; from 1 on: all values
    before = 1
    for rows, index, values in cells:
        number[rows] = index + before
        before += len(values)
    return _or_null(pl.concat([values for *_, values in cells]), number)


def _or_null(values: pl.Series, number: Numbers) -> pl.Series:
    """The values by number, counted from 1; null for 0."""
    return pl.concat([pl.Series([None], dtype=values.dtype), values])[number]
