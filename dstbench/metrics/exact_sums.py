"""Sums of ratios that have the same bits in any order, however a table is partitioned.

A ratio from 0 to 1 is summed as a whole number of parts of 2⁻⁶². This is exact for every double from 2⁻⁹ up; smaller
ones are rounded to a multiple of 2⁻⁶². A sum of whole numbers does not depend on the order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dstbench.arrays import Floats, Integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PARTS: Final = 2.0**62
_HALF_BITS: Final = 31  # bits of the lower half of a number of parts
_STEP_BITS: Final = 12
#: A dialogue's sum of ratios is rounded to a multiple of this before it is multiplied, so that no sum of products
#: overflows; standard errors keep at least five digits.
STEP: Final = 2.0**-_STEP_BITS


def in_parts(ratio: pl.Expr) -> pl.Expr:
    """Ratios (or whole numbers) as numbers of parts (Int128), which hold sums up to 2⁶⁵."""
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
    """The higher and the lower half of numbers of parts; each is below 2³², so 2³¹ of them add up without overflow."""
    parts = (ratios * _PARTS).astype(np.int64)
    return parts >> _HALF_BITS, parts & (2**_HALF_BITS - 1)


def from_halves(higher: pl.Expr, lower: pl.Expr) -> pl.Expr:
    """The number of parts (Int128) whose halves sum up to these numbers."""
    return higher.cast(pl.Int128) * pl.lit(2**_HALF_BITS) + lower


def in_steps(higher: NDArray[Any], lower: NDArray[Any]) -> Integers:
    """The number of `STEP` that is nearest to the sums of both halves; ties are rounded up.

    >>> in_steps(*halves(np.array([0.5, 1 / 4096, 1 / 8192]))).tolist()
    [2048, 1, 1]
    """
    shift = _HALF_BITS - _STEP_BITS
    steps: Integers = (higher + (lower >> _HALF_BITS) + 2 ** (shift - 1)) >> shift
    return steps
