"""Scores that exist only as a table, such as one that a paper prints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from dstbench.analysis.user_tables import read_user_table
from dstbench.errors import DstbenchError, check_known, first_repeated
from dstbench.metrics import Metric
from dstbench.metrics.registry import says_all, split


def read_score_table(table: Any, metrics: str | Iterable[str | Metric] | None = None) -> pl.DataFrame:
    """The scores of a table, as (run, metric, unit, value, se): every run with every metric; `se` is null."""
    name, rows = read_user_table(table, "scores", ("model", "metric", "value"), numbers=("value",))
    rows = rows.filter(pl.any_horizontal(pl.exclude("at") != ""))  # blank lines
    is_empty, value = pl.col("value") == "", pl.col("value").cast(pl.Float64, strict=False)
    faults = {
        "names no model or no metric": (pl.col("model") == "") | (pl.col("metric") == ""),
        "has a value that is not a number": ~is_empty & ~value.is_finite().fill_null(value=False),
        "has a value above 1: values are shares, so divide percents by 100": value > 1,
    }
    for fault, is_so in faults.items():
        if (of_fault := rows.filter(is_so)).height:
            place, *cells = of_fault.row(0)
            raise DstbenchError(f"{place} {fault} ({', '.join(cells)})", file=name)
    if rows.is_empty():
        raise DstbenchError("no score in it", file=name)
    if twice := first_repeated(f"{metric} of {model}" for model, metric in rows.select("model", "metric").iter_rows()):
        raise DstbenchError(f"two values for {twice}", file=name, hint="keep one")
    models, table_metrics = (rows.select(pl.col(column).unique(maintain_order=True)) for column in ("model", "metric"))
    if metrics is not None and not says_all(metrics):
        chosen = [str(metric) for metric in split(metrics)]
        check_known(chosen, table_metrics["metric"], "the table has no metric {!r}")
        table_metrics = pl.DataFrame({"metric": list(dict.fromkeys(chosen))})
    every = table_metrics.join(models, how="cross").join(
        rows, on=["model", "metric"], how="left", maintain_order="left"
    )
    return every.select(
        pl.col("model").alias("run"), "metric", value.alias("value"), unit=pl.lit("share"), se=pl.lit(None, pl.Float64)
    )
