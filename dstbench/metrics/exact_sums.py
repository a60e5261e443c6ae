"""Sums of ratios that have the same bits in any order, and however a table is partitioned.

A ratio from 0 to 1 is added up as a whole number of parts of 2⁻⁶²: that is exact for every double of at least 2⁻⁹, and
rounds smaller ones to 2⁻⁶². A sum of whole numbers does not depend on its order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dstbench.arrays import Floats, Integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PARTS: Final = 2.0**62
_DIGITS: Final = 31  # bits of each half of a number of parts
#: A dialogue's sum of ratios is rounded to this before it is multiplied: no sum of products then overflows, and a
#: standard error keeps at least five digits.
STEP: Final = 2.0**-12
_DIGITS_OF_STEP: Final = 12


def in_parts(ratio: pl.Expr) -> pl.Expr:
    """Ratios (or whole numbers) as numbers of parts (Int128): sums up to 2⁶⁵ fit."""
    return (ratio * _PARTS).cast(pl.Int128)


def from_parts(parts: pl.Expr) -> pl.Expr:
    """The number (Float64) nearest to a number of parts."""
    return parts.cast(pl.Float64) / _PARTS


def exact_sum(numbers: pl.Expr) -> pl.Expr:
    """The sum (Float64) of ratios or of whole numbers, as an aggregation; null adds nothing.

    >>> table = pl.DataFrame({"ratio": [0.1, None, 0.2, 0.3]})
    >>> table.select(exact_sum(pl.col("ratio"))).item() == table.reverse().select(exact_sum(pl.col("ratio"))).item()
    True
    """
    return from_parts(in_parts(numbers).sum())


def halves(ratios: Floats) -> tuple[Integers, Integers]:
    """The higher and lower half of numbers of parts, each below 2³²: 2³¹ of them add up without overflow."""
    parts = (ratios * _PARTS).astype(np.int64)
    return parts >> _DIGITS, parts & (2**_DIGITS - 1)


def from_halves(higher: pl.Expr, lower: pl.Expr) -> pl.Expr:
    """The number of parts (Int128) from the sums of both halves."""
    return higher.cast(pl.Int128) * pl.lit(2**_DIGITS) + lower


def in_steps(higher: NDArray[Any], lower: NDArray[Any]) -> Integers:
    """The number of `STEP` from the sums of both halves, rounded half up.

    >>> in_steps(*halves(np.array([0.5, 1 / 4096, 1 / 8192]))).tolist()
    [2048, 1, 1]
    """
    shift = _DIGITS - _DIGITS_OF_STEP
    steps: Integers = (higher + (lower >> _DIGITS) + 2 ** (shift - 1)) >> shift
    return steps
