"""Tables that users write, such as ratings or the scores in a paper: CSV, Parquet or a frame, read as texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, Final, NamedTuple

import polars as pl

from dstbench.errors import DstbenchError, UsageError, check_known, first_repeated
from dstbench.io.files import File
from dstbench.io.tables import FileTable, read_table
from dstbench.metrics import Metric
from dstbench.metrics.registry import says_all, split

# The types of columns that are allowed in addition to numbers.
_SIMPLE: Final = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Null)
# What Polars adds to the name of a second column of the same name.
_SECOND: Final = "_duplicated_0"


class UserTable(NamedTuple):
    """The columns of a table that were asked for, as texts without spaces around them; empty: no value."""

    name: str  # what messages call the table
    rows: pl.DataFrame  # first `at`: what messages call the row, such as ``line 2``


def read_user_table(
    table: Any, what: str, needed: Sequence[str], others: Sequence[str] = (), numbers: Sequence[str] = ()
) -> UserTable:
    """Read a user's table; columns that are not asked for are left out."""
    is_path = isinstance(table, (str, PathLike))
    name = str(table) if is_path else what
    rows, place, first = (
        read_table(File(name), columns=(), numbers=numbers) if is_path else FileTable(_of_frame(table, what), "row", 1)
    )
    columns = [column.removesuffix(_SECOND).strip() for column in rows.columns]
    for column in (*needed, *others):
        if columns.count(column) > 1:
            raise DstbenchError(f"two columns {column}", file=name, hint="give each column a name of its own")
    rows = rows.rename({column: column.strip() for column in rows.columns if column.strip() in (*needed, *others)})
    if missing := [column for column in needed if column not in rows.columns]:
        may_have = f", and, if there are any, {' and '.join(others)}" if others else ""
        raise DstbenchError(
            f"no column {' and no column '.join(missing)} (its columns: {', '.join(rows.columns) or 'none'})",
            file=name,
            hint=f"{what} have the columns {', '.join(needed[:-1])} and {needed[-1]}{may_have}",
        )
    texts = []
    for column in [column for column in (*others, *needed) if column in rows.columns]:
        dtype, value = rows.schema[column], pl.col(column)
        if not (dtype.is_numeric() or isinstance(dtype, _SIMPLE)):
            raise DstbenchError(f"column {column} is {dtype}, neither texts nor numbers", file=name)
        value = value.cast(pl.Int8) if dtype == pl.Boolean else value.fill_nan(None) if dtype.is_float() else value
        texts.append(value.cast(pl.String).str.strip_chars().fill_null(""))
    at = pl.format(f"{place} {{}}", pl.int_range(first, pl.len() + first)).alias("at")
    return UserTable(name, rows.select(at, *texts))


def _of_frame(frame: Any, what: str) -> pl.DataFrame:
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if not hasattr(frame, "__arrow_c_stream__"):
        raise UsageError(f"{type(frame).__name__} holds no {what}", hint="give a path or a frame")
    return frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)


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
