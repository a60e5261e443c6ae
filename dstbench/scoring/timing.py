"""Errors of timing: values that a tracker predicts, only later or earlier than gold has them.

They are counted in addition to the classes of errors (`scoring.error_classes`), as an error may be both. A missed slot
is *late* if the prediction has gold's value in a later turn, while gold still has it; an over-predicted slot is *early*
if the next value that gold has for the slot is the predicted one (as in dialogue MUL2270 of the appendix of Kim et al.
2022). The later turn need not be one that the convention scores. A slot that is missed to the dialogue's end, or until
gold changes the value, is not late; a wrong value is neither.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from dstbench.arrays import Flags
from dstbench.conventions.convention import Convention
from dstbench.runs.codes import ABSENT
from dstbench.runs.layout import Layout, row_changes
from dstbench.scoring.changes import find_changes
from dstbench.scoring.compare_values import comparison

#: For each kind of error that can be an error of timing: the name of that error.
TIMING: Final = {"missed": "late", "over": "early"}


def find_timing(rows: Layout, convention: Convention) -> Flags:
    """For each row of a long table: whether it is late or early."""
    changes = find_changes(rows, convention)
    compared = changes.compared
    gold, pred, ok = (changes.of_rows(c, len(rows.turn)) for c in (compared.gold, compared.pred, compared.ok))
    row = np.arange(len(rows.turn))
    no_gold, no_pred = gold == ABSENT, pred == ABSENT

    starts = np.flatnonzero(rows.first | row_changes(gold))  # of stretches in which gold keeps a slot's value
    last_right = np.maximum.reduceat(np.where(ok, row, -1), starts) if len(row) else row
    timed: Flags = ~no_gold & no_pred & (row < np.repeat(last_right, np.diff(starts, append=len(row))))

    # For each row, the next one of its slot that has a gold value; behind the last row if there is none.
    following = np.minimum.accumulate(np.where(no_gold, len(row), row)[::-1])[::-1]
    number = np.append(np.cumsum(rows.first), 0)  # of the slot in its dialogue
    over = np.flatnonzero(no_gold & ~no_pred & (number[following] == number[:-1]))
    timed[over] = comparison(convention).match(rows.slot[over], gold[following[over]], pred[over])
    return timed


def rate_timing(counts: pl.DataFrame, by: str | None = None) -> pl.DataFrame:
    """How many missed slots are late and how many over-predicted ones are early, for the whole run or per ``slot``.

    Args:
        counts: Per slot and class, `n` and how many of them are `timed`, as `error_classes.count_classes` gives them;
            with the class's kind.
        by: ``slot`` or None.

    Returns:
        The columns of `schema.analysis.TIMING` but `run`, with `slot` in front if asked for.
    """
    sums = [
        pl.col(column).filter(pl.col("kind") == kind).sum().cast(pl.UInt64).alias(name)
        for kind, timed in TIMING.items()
        for column, name in (("n", kind), ("timed", timed))
    ]
    table = counts.drop_nulls(by).group_by(by).agg(sums).sort(by) if by else counts.select(sums)
    shares = {
        f"{timed}_share": pl.when(pl.col(kind) > 0).then(pl.col(timed) / pl.col(kind)) for kind, timed in TIMING.items()
    }
    return table.with_columns(**shares)
