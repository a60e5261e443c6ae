"""What makes a frame a long table: its columns and types, and the rules that its rows keep."""

from __future__ import annotations

import polars as pl

from dstbench.errors import DstbenchError
from dstbench.readers.frames import IS_FRAME
from dstbench.schema.core import LONG, MAX_TURN


def conform_long(frame: pl.LazyFrame, *, source: str) -> pl.LazyFrame:
    """Give a frame the long table's columns, order and types.

    Args:
        frame: Any frame with the five columns (more are dropped); strings may be plain or dictionary, turns any
            integer type.
        source: Name of the file or object, for messages.

    Returns:
        The frame with the schema of `LONG`; values are untouched, and a turn that is no turn number is null, for
        `check_long` to find.

    Raises:
        DstbenchError: A column is missing or has a type that cannot be meant.
    """
    found = frame.collect_schema()
    missing = [name for name in LONG.columns if name not in found]
    if missing:
        raise DstbenchError(
            f"not a long table: no column {', '.join(missing)} (found: {', '.join(found) or 'none'})",
            file=source,
            hint="a long table has the columns dialogue, turn, slot, gold, pred; `dstbench convert` writes one",
        )
    for name, column in LONG.columns.items():
        dtype = found[name]
        fits = (
            dtype.is_integer() if name == "turn" else isinstance(dtype, (pl.String, pl.Categorical, pl.Enum, pl.Null))
        )
        if not fits:
            raise DstbenchError(
                f"not a long table: column {name} is {dtype}, not {column.dtype}",
                file=source,
                hint="see data_schemas/long_table.schema.json",
            )
    return frame.select(
        pl.col(name) if found[name] == column.dtype else _cast(name, found[name], column.dtype)
        for name, column in LONG.columns.items()
    )


def _cast(name: str, found: pl.DataType, wanted: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if isinstance(found, (pl.Categorical, pl.Enum)):  # of other categories: only as strings are they the same
        column = column.cast(pl.String)
    return column.cast(wanted, strict=False)


def check_long(frame: pl.LazyFrame) -> pl.DataFrame:
    """Rows that break a rule of the long table.

    Args:
        frame: A frame with the schema of `LONG`, sorted by (dialogue, slot, turn).

    Returns:
        One row per broken rule: `rule`, the number of `rows` that break it, and the first one's `dialogue`, `turn`
        and `slot`; empty if all hold.
    """
    row = pl.int_range(pl.len())
    same = (pl.col("dialogue") == pl.col("dialogue").shift(1)) & pl.col("slot").eq_missing(pl.col("slot").shift(1))
    rank = pl.col("turn").rank("dense").over("dialogue")
    last_of_slot = ~same.shift(-1, fill_value=False)
    rules = {
        "a dialogue without an id": pl.col("dialogue").is_null() | (pl.col("dialogue") == ""),
        f"a turn that is no number from 0 to {MAX_TURN}": pl.col("turn").is_null(),
        "the same slot twice in one turn": same & (pl.col("turn") == pl.col("turn").shift(1)),
        "a gold value without a slot": pl.col("slot").is_null() & pl.col("gold").is_not_null(),
        "a slot that ends before its dialogue does": (
            last_of_slot & pl.col("slot").is_not_null() & (pl.col("turn") != pl.col("turn").max().over("dialogue"))
        ),
        "a slot without a row in a turn between others": (
            same & pl.col("slot").is_not_null() & (rank > rank.shift(1) + 1)
        ),
        "a row without a slot in a turn that has slots": (
            pl.col("slot").is_null()
            & pl.col("pred").is_null()
            & (pl.col("turn") >= pl.when(pl.col("slot").is_not_null() & ~IS_FRAME).then("turn").min().over("dialogue"))
        ),
    }
    broken = pl.concat(
        [
            frame.with_columns(at=row)
            .filter(broken.fill_null(False))
            .select(
                rule=pl.lit(rule),
                rows=pl.len(),
                dialogue=pl.col("dialogue").first(),
                turn=pl.col("turn").first(),
                slot=pl.col("slot").first().cast(pl.String),
            )
            for rule, broken in rules.items()
        ]
    )
    return broken.filter(pl.col("rows") > 0).collect()


def unsorted(source: str | None = None) -> DstbenchError:
    """The error for a table whose metadata say that it is a long table, and whose rows are not."""
    return DstbenchError(
        "the long table is not sorted by dialogue, slot and turn, or a slot ends early",
        file=source,
        hint="convert the run again, or sort it and drop its metadata",
    )
