"""Sums of ratios that have the same bits in any order, however a table is divided.

A ratio from 0 to 1 is summed as a whole number of parts of 2⁻⁶². This is exact for every double from 2⁻⁹ up; smaller
ones are rounded to a multiple of 2⁻⁶². A sum of whole numbers does not depend on the order.
"""

from __future__ import annotations

from typing import Final

import polars as pl

_BITS: Final = 62
_STEP_BITS: Final = 12
#: A dialogue's sum of ratios is rounded to a multiple of this before it is multiplied, so that no sum of products
#: overflows; standard errors keep at least five digits.
STEP: Final = 2.0**-_STEP_BITS


def in_parts(ratio: pl.Expr) -> pl.Expr:
    """Ratios (or whole numbers) as numbers of parts (Int128), which hold sums up to 2⁶⁵."""
    return (ratio * 2.0**_BITS).cast(pl.Int128)


def from_parts(parts: pl.Expr) -> pl.Expr:
    """The number (Float64) nearest to a number of parts."""
    return parts.cast(pl.Float64) / 2.0**_BITS


def exact_sum(numbers: pl.Expr) -> pl.Expr:
    """The sum (Float64) of ratios or of whole numbers, as an aggregation; null adds nothing.

    >>> table = pl.DataFrame({"ratio": [0.1, None, 0.2, 0.3]})
    >>> table.select(exact_sum(pl.col("ratio"))).item() == table.reverse().select(exact_sum(pl.col("ratio"))).item()
    True
    """
    return from_parts(in_parts(numbers).sum())


def in_steps(parts: pl.Expr) -> pl.Expr:
    """The number (Int64) of `STEP` that is nearest to a number of parts; ties are rounded up.

    >>> ratios = pl.Series("ratio", [0.5, 1 / 4096, 1 / 8192])
    >>> ratios.to_frame().select(in_steps(in_parts(pl.col("ratio"))))["ratio"].to_list()
    [2048, 1, 1]
    """
    in_step = pl.lit(1 << (_BITS - _STEP_BITS), pl.Int128)
    return ((parts + in_step // 2) // in_step).cast(pl.Int64)
