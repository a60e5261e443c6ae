"""Ratios that add up exactly: their sum has the same bits in any order, and however a table is cut.

A ratio (from 0 to 1) is added up as a whole number of parts of 2⁻⁶²: exact for every double of at least 2⁻⁹, and below
that to 2⁻⁶². A sum of whole numbers does not depend on its order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstbench.arrays import Floats, Integers

_PARTS: Final = 2.0**62
_DIGITS: Final = 31  # binary ones of the lower half of a number of parts; also of the higher
#: A dialogue's sum of ratios is rounded to this before it is multiplied: no sum of products is then too large, and a
#: standard error keeps at least five digits.
STEP: Final = 2.0**-12
_DIGITS_OF_STEP: Final = 12


def in_parts(ratio: pl.Expr) -> pl.Expr:
    """Ratios (or whole numbers) as numbers of parts (Int128), of which 2⁶⁵ can be added up."""
    return (ratio * _PARTS).cast(pl.Int128)


def from_parts(parts: pl.Expr) -> pl.Expr:
    """A number of parts as the number (Float64) that it is nearest to."""
    return parts.cast(pl.Float64) / _PARTS


def exact_sum(numbers: pl.Expr) -> pl.Expr:
    """The sum (Float64) of ratios or of whole numbers, as an aggregation; null adds nothing.

    >>> table = pl.DataFrame({"ratio": [0.1, None, 0.2, 0.3]})
    >>> table.select(exact_sum(pl.col("ratio"))).item() == table.reverse().select(exact_sum(pl.col("ratio"))).item()
    True
    """
    return from_parts(in_parts(numbers).sum())


def halves(ratios: Floats) -> tuple[Integers, Integers]:
    """Numbers of parts in a higher and a lower half, each below 2³²: of such, 2³¹ can be added up without overflow."""
    parts = (ratios * _PARTS).astype(np.int64)
    return parts >> _DIGITS, parts & (2**_DIGITS - 1)


def from_halves(higher: pl.Expr, lower: pl.Expr) -> pl.Expr:
    """The number of parts (Int128) that two sums of halves make."""
    return higher.cast(pl.Int128) * pl.lit(2**_DIGITS) + lower


def in_steps(higher: NDArray[Any], lower: NDArray[Any]) -> Integers:
    """Two sums of halves as a whole number of `STEP`, rounded half up.

    >>> in_steps(*halves(np.array([0.5, 1 / 4096, 1 / 8192]))).tolist()
    [2048, 1, 1]
    """
    shift = _DIGITS - _DIGITS_OF_STEP
    steps: Integers = (higher + (lower >> _DIGITS) + 2 ** (shift - 1)) >> shift
    return steps
