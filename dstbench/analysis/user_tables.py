"""Tables that users write, such as ratings or the scores in a paper: CSV, Parquet or a frame, read as texts."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Final, NamedTuple

import polars as pl

from dstbench.errors import DstbenchError, UsageError
from dstbench.io.files import File
from dstbench.io.tables import FileTable, read_table

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
    columns = [column for column in (*others, *needed) if column in rows.columns]
    for column in columns:
        dtype = rows.schema[column]
        if not (dtype.is_numeric() or isinstance(dtype, _SIMPLE)):
            raise DstbenchError(f"column {column} is {dtype}, neither texts nor numbers", file=name)
    at = pl.format(f"{place} {{}}", pl.int_range(first, pl.len() + first)).alias("at")
    return UserTable(name, rows.select(at, *(_as_text(column, rows.schema[column]) for column in columns)))


def _as_text(column: str, dtype: pl.DataType) -> pl.Expr:
    """A column of numbers, or of texts, as texts; empty where undefined."""
    value = pl.col(column).cast(pl.Int8) if dtype == pl.Boolean else pl.col(column)
    value = value.fill_nan(None) if dtype.is_float() else value
    return value.cast(pl.String).str.strip_chars().fill_null("")


def _of_frame(frame: Any, what: str) -> pl.DataFrame:
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if not hasattr(frame, "__arrow_c_stream__"):
        raise UsageError(f"{type(frame).__name__} holds no {what}", hint="give a path or a frame")
    return frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)
