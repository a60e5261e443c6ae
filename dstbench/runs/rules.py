"""What makes a frame a long table: columns, types, and the rules that its rows keep."""

from __future__ import annotations

import polars as pl

from dstbench.errors import DstbenchError
from dstbench.readers.frames import IS_FRAME
from dstbench.schema.core import LONG, MAX_TURN

_STRINGS = (pl.String, pl.Categorical, pl.Enum, pl.Null)


def conform_long(frame: pl.LazyFrame, *, source: str) -> pl.LazyFrame:
    """Give a frame the long table's columns, order and types.

    Args:
        frame: Any frame with the five columns (others are dropped); strings may be plain or dictionary, turns any
            integer type.
        source: Name of the file or object, for messages.

    Returns:
        The frame with the schema of `LONG`. Values are unchanged, but a turn out of range is null, for `check_long`
        to find.

    Raises:
        DstbenchError: A column is missing or has a type that cannot be cast.
    """
    schema = frame.collect_schema()
    missing = [name for name in LONG.columns if name not in schema]
    if missing:
        raise DstbenchError(
            f"not a long table: no column {', '.join(missing)} (found: {', '.join(schema) or 'none'})",
            file=source,
            hint="a long table has the columns dialogue, turn, slot, gold, pred; `dstbench convert` writes one",
        )
    columns = []
    for name, wanted in LONG.schema.items():
        dtype, column = schema[name], pl.col(name)
        if not (dtype.is_integer() if name == "turn" else isinstance(dtype, _STRINGS)):
            raise DstbenchError(
                f"not a long table: column {name} is {dtype}, not {wanted}",
                file=source,
                hint="see data_schemas/long_table.schema.json",
            )
        if dtype != wanted:
            if isinstance(dtype, (pl.Categorical, pl.Enum)):  # its codes may be of other categories
                column = column.cast(pl.String)
            column = column.cast(wanted, strict=False)
        columns.append(column)
    return frame.select(columns)


def check_long(frame: pl.LazyFrame) -> pl.DataFrame:
    """Rows that break a rule of the long table.

    Args:
        frame: A frame with the schema of `LONG`, sorted by (dialogue, slot, turn).

    Returns:
        One row per broken rule: `rule`, the number of `rows` that break it, and the first one's `dialogue`, `turn`
        and `slot`; empty if no rule is broken.
    """
    dialogue, turn, slot, gold, pred = map(pl.col, ("dialogue", "turn", "slot", "gold", "pred"))
    has_slot = slot.is_not_null()
    same_slot = (dialogue == dialogue.shift(1)) & slot.eq_missing(slot.shift(1))  # as in the row before
    last_of_slot = ~same_slot.shift(-1, fill_value=False)
    rank = turn.rank("dense").over("dialogue")
    first_with_slot = pl.when(has_slot & ~IS_FRAME).then("turn").min().over("dialogue")
    rules = {
        "a dialogue without an id": dialogue.is_null() | (dialogue == ""),
        f"a turn that is no number from 0 to {MAX_TURN}": turn.is_null(),
        "the same slot twice in one turn": same_slot & (turn == turn.shift(1)),
        "a gold value without a slot": ~has_slot & gold.is_not_null(),
        "a slot that ends before its dialogue does": last_of_slot & has_slot & (turn != turn.max().over("dialogue")),
        "a slot without a row in a turn between others": same_slot & has_slot & (rank > rank.shift(1) + 1),
        "a row without a slot in a turn that has slots": ~has_slot & pred.is_null() & (turn >= first_with_slot),
    }
    first = [dialogue.first(), turn.first(), slot.first().cast(pl.String)]
    broken = (
        frame.filter(is_broken.fill_null(False)).select(pl.lit(rule).alias("rule"), pl.len().alias("rows"), *first)
        for rule, is_broken in rules.items()
    )
    return pl.concat(broken).filter(pl.col("rows") > 0).collect()


def unsorted(source: str | None = None) -> DstbenchError:
    """The error for a table whose metadata are those of a long table, but whose rows break its rules."""
    return DstbenchError(
        "the long table is not sorted by dialogue, slot and turn, or a slot ends early",
        file=source,
        hint="convert the run again, or sort it and drop its metadata",
    )
