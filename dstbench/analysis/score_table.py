"""Scores that exist only as a table, such as one that a paper prints."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import polars as pl

from dstbench.errors import DstbenchError, check_known, first_repeated
from dstbench.io.files import File
from dstbench.io.tables import read_table
from dstbench.metrics import Metric
from dstbench.metrics.registry import says_all, split

_COLUMNS: Final = ("model", "metric", "value")


def read_score_table(
    table: str | Path | pl.DataFrame, metrics: str | Iterable[str | Metric] | None = None
) -> pl.DataFrame:
    """The scores of a table, as (run, metric, unit, value, se), in its order; `se` is null.

    Args:
        table: A CSV or Parquet file, or a frame, with the columns `model`, `metric` and `value`, a share from 0 to 1
            (slot accuracy may be below 0); empty or null: the model has no such score. Metrics may have any names.
        metrics: The metrics to take, by their names in the table; None: all.

    Raises:
        DstbenchError: The table cannot be read, lacks a column, has no row, names a score twice, or has a value that is
            not a share.
        UsageError: The table lacks one of the metrics.
    """
    name = "table" if isinstance(table, pl.DataFrame) else str(table)
    rows = (
        table if isinstance(table, pl.DataFrame) else read_table(File(table), columns=_COLUMNS, numbers=["value"]).rows
    )
    if absent := [column for column in _COLUMNS if column not in rows.columns]:
        raise DstbenchError(f"no column {', '.join(absent)}", file=name, hint="its columns are model, metric, value")
    texts = [pl.col(column).cast(pl.String).str.strip_chars().replace("", None) for column in _COLUMNS]
    rows = rows.select(texts).with_row_index("row", offset=1)
    value = pl.col("value").cast(pl.Float64, strict=False)
    faults = {
        "names no model or no metric": pl.col("model").is_null() | pl.col("metric").is_null(),
        "has a value that is not a number": pl.col("value").is_not_null() & ~value.is_finite().fill_null(value=False),
        "has a value above 1: values are shares, so divide percents by 100": value > 1,
    }
    for fault, is_so in faults.items():
        if (at := rows.filter(is_so)).height:
            raise DstbenchError(f"row {at['row'][0]} {fault} ({', '.join(map(str, at.row(0)[1:]))})", file=name)
    if rows.is_empty():
        raise DstbenchError("no score in it", file=name)
    if twice := first_repeated(f"{metric} of {model}" for model, metric in rows.select("model", "metric").iter_rows()):
        raise DstbenchError(f"two values for {twice}", file=name, hint="keep one")
    if metrics is not None and not says_all(metrics):
        chosen = [str(metric) for metric in split(metrics)]
        every = rows["metric"].unique(maintain_order=True).to_list()
        check_known(chosen, every, "the table has no metric {!r}")
        rows = pl.concat([rows.filter(metric=metric) for metric in dict.fromkeys(chosen)])
    return rows.select(
        pl.col("model").alias("run"), "metric", value.alias("value"), unit=pl.lit("share"), se=pl.lit(None, pl.Float64)
    )
