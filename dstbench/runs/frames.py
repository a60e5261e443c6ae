"""The rows of frames (see `readers.frames`) in a long table, found by the codes of their slots."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import polars as pl

from dstbench.arrays import Codes, Flags, Numbers
from dstbench.readers.frames import are_frames
from dstbench.runs.codes import ABSENT, PerCode, codes
from dstbench.schema.core import MAX_TURN

_IS_FRAME: Final = PerCode(are_frames, absent=False)


class Frames(NamedTuple):
    """Gold's frames: their rows, and the codes of their gold and predicted values (`ABSENT`: not predicted)."""

    row: Numbers
    gold: Codes
    pred: Codes


def rows_of_frames(slot: Codes) -> Flags | None:
    """Whether each row is of a frame, given the codes of all rows' slots; None: no row is."""
    if not _IS_FRAME.up_to(slot).any():  # no table in this process has frames
        return None
    flags = _IS_FRAME.of(slot)
    return flags if flags.any() else None


def states_only(table: pl.DataFrame) -> pl.DataFrame:
    """A long table without the rows of frames."""
    flags = rows_of_frames(codes(table["slot"])) if "slot" in table.columns else None
    return table if flags is None else table.filter(~flags)


def turn_keys(number: Numbers, turn: Numbers) -> Numbers:
    """A number per pair of dialogue number and turn, ascending in both."""
    keys: Numbers = number.astype(np.int64) * (MAX_TURN + 1) + turn
    return keys


def set_apart(slot: Codes, gold: Codes, pred: Codes, keys: Numbers, marks: tuple[Numbers, Codes]) -> Frames:
    """Gold's frames; the slots and values of all rows of frames become `ABSENT`.

    A frame in a turn without a prediction gets the turn's mark as its predicted value.

    Args:
        slot: Slots of all rows; changed in place, as are `gold` and `pred`.
        gold: Their gold values.
        pred: Their predicted values.
        keys: Their turns, as `turn_keys`.
        marks: The keys of the turns without a prediction, ascending, and their marks.
    """
    flags = rows_of_frames(slot)
    if flags is None:
        return Frames(np.zeros(0, np.int64), gold[:0], pred[:0])
    row = np.flatnonzero(flags & (gold != ABSENT))
    frames = Frames(row, gold[row], pred[row])
    for column in (slot, gold, pred):
        column[flags] = ABSENT
    marked, mark = marks
    at = np.searchsorted(marked, keys[row])
    is_marked = at < len(marked)
    is_marked[is_marked] = marked[at[is_marked]] == keys[row[is_marked]]
    pred[row[is_marked]] = mark[at[is_marked]]
    return frames
