"""Errors of timing: values that a tracker predicts, only later or earlier than gold has them.

They are counted in addition to the classes of errors (`scoring.error_classes`), as an error may be both. A missed slot
is *late* if the prediction has gold's value in a later turn, while gold still has it; an over-predicted slot is *early*
if the next value that gold has for the slot is the predicted one (as in dialogue MUL2270 of the appendix of Kim et al.
2022). The later turn need not be one that the convention scores. A slot that is missed to the dialogue's end, or until
gold changes the value, is not late; a wrong value is neither.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.scoring.answers import C
from dstbench.scoring.values import with_matches

#: For each kind of error that can be an error of timing: the name of that error.
TIMING: Final = {"missed": "late", "over": "early"}


def with_timing(rows: pl.LazyFrame, convention: Convention) -> pl.LazyFrame:
    """Rows of a part (`partitions.Part.rows`) with a column `timed`: whether the row's error is one of timing."""
    missed, over = C("g").is_not_null() & C("p").is_null(), C("g").is_null() & C("p").is_not_null()
    row, slot = pl.int_range(pl.len()), C("first").cum_sum()
    # Gold keeps a slot's value in a stretch of rows; `next` is gold's next value of the same slot.
    rows = rows.with_columns(stretch=(C("first") | C("g_new")).cum_sum(), row=row, of_slot=slot)
    rows = rows.with_columns(
        last_right=pl.when("ok").then("row").max().over("stretch"),
        next=pl.when(over).then(C("g").backward_fill().over("of_slot")),
    )
    rows = with_matches(rows, convention, "next", "p", "early")
    timed = (missed & (C("row") < C("last_right"))).fill_null(value=False) | C("early")
    return rows.with_columns(timed=timed).drop("stretch", "row", "of_slot", "last_right", "next", "early")


def rate_timing(counts: pl.DataFrame, by: str | None = None) -> pl.DataFrame:
    """How many missed slots are late, and over-predicted ones early, for the whole run or per ``slot`` (`TIMING`).

    `counts` has, per slot and class (with its kind), `n` and how many of them are `timed` (`count_classes`).
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
