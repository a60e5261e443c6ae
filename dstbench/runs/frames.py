"""The rows of frames in a long table (`readers.frames`), found by their slots' codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from dstbench.readers.frames import are_frames
from dstbench.runs.codes import ABSENT, PerCode, codes
from dstbench.schema.core import MAX_TURN

if TYPE_CHECKING:
    import polars as pl

    from dstbench.arrays import Codes, Flags, Numbers


_OF_CODES: Final = PerCode(are_frames, absent=False)


class Frames(NamedTuple):
    """Gold's frames: their rows, and the codes of what gold and prediction say of them (`ABSENT`: not predicted)."""

    row: Numbers
    gold: Codes
    pred: Codes


def rows_of_frames(slot: Codes) -> Flags | None:
    """Which rows with these codes of slots are frames'; None: none of them."""
    if not _OF_CODES.up_to(slot).any():  # in no table of this process
        return None
    flags = _OF_CODES.of(slot)
    return flags if flags.any() else None


def states_only(table: pl.DataFrame) -> pl.DataFrame:
    """A long table without the rows of frames."""
    flags = rows_of_frames(codes(table["slot"])) if "slot" in table.columns else None
    return table if flags is None else table.filter(~flags)


def turn_keys(number: Numbers, turn: Numbers) -> Numbers:
    """A number per turn of a dialogue of this number, in the order of both."""
    keys: Numbers = number.astype(np.int64) * (MAX_TURN + 1) + turn
    return keys


def set_apart(slot: Codes, gold: Codes, pred: Codes, keys: Numbers, marks: tuple[Numbers, Codes]) -> Frames:
    """Gold's frames, whose rows become rows without a slot, with the marks of turns that have no prediction.

    Args:
        slot: The rows' slots, of which those of frames are taken out; likewise `gold` and `pred`.
        gold: Their gold values.
        pred: Their predicted values.
        keys: The rows' turns, as `turn_keys` numbers them.
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
