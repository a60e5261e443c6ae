"""Pearson correlations over rows in clusters, such as turns of dialogues, with each cluster left out in turn.

Conventions: a correlation and the difference of two have standard errors from the jackknife over clusters (Efron &
Stein 1981), so columns need not be normal, and the rows of a cluster may be alike. Intervals and p are those of
`influence`: they allow for few clusters that decide, and for their skewness.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import atanh, sqrt, tanh
from typing import TYPE_CHECKING, Final

import numpy as np

from dstbench.arrays import Floats
from dstbench.errors import UsageError
from dstbench.schema.record import Shown
from dstbench.stats.correlations import LEAST
from dstbench.stats.influence import Spread, spread

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# A variance below this part of the mean square is 0, apart from rounding errors.
_CONSTANT: Final = 1e-9
# Coefficients above this are 1, apart from rounding errors.
_EXACT: Final = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class Jackknifed(Shown):
    """A correlation, or a difference of two over the same rows, and what each cluster contributes to it.

    Attributes:
        value: The correlation; NaN if a column does not vary.
        influence: For each cluster, how much lower the correlation is without it than without the mean cluster, times
            √((n − 1)/n) of n clusters. NaN if a column does not vary without the cluster.
    """

    value: float
    influence: Floats

    def __sub__(self, other: Jackknifed) -> Jackknifed:
        return Jackknifed(self.value - other.value, self.influence - other.influence)

    @property
    def spread(self) -> Spread:
        """The standard error; NaN if a column does not vary, or not without some cluster."""
        return spread(self.influence, skewed=True)

    def limits(self, level: float = 0.95, *, fisher: bool = False) -> tuple[float, float] | None:
        """The interval of the value.

        Args:
            level: Confidence level.
            fisher: Whether it is made in Fisher's z, for a single correlation, or on the scale of r.

        Returns:
            Its lower and upper end; None if there are fewer than four clusters, or a column does not vary, or does not
            without one of them.
        """
        of = self.spread
        if len(self.influence) < LEAST or np.isnan(of.se):
            return None
        if not of.se or (fisher and abs(self.value) > _EXACT):
            return self.value, self.value
        if not fisher:
            return of.limits(self.value, level)
        low, high = replace(of, se=of.se / (1 - self.value**2)).limits(atanh(self.value), level) or (np.nan, np.nan)
        return tanh(low), tanh(high)

    def p(self) -> float:
        """Two-sided p of the hypothesis that the value is 0; NaN if it has no interval, or its standard error is 0."""
        return float("nan") if self.limits() is None else self.spread.p(self.value)


def jackknifed_correlation(x: ArrayLike, y: ArrayLike, clusters: ArrayLike | None = None) -> Jackknifed:
    """Pearson's r of two columns over the rows in which both are defined, and each cluster's influence on it.

    Args:
        x: Numbers; NaN where undefined.
        y: As many numbers.
        clusters: For each row, the number of its cluster; None: each row is its own.

    Returns:
        r; one less another has the interval and p of their difference, if both are over the same rows.

    Raises:
        UsageError: The columns have different lengths.

    >>> x, y, z = [1, 2, 3, 4, 5, 6, 7, 9], [2, 1, 4, 3, 6, 5, 8, 7], [1, 3, 2, 6, 4, 5, 9, 2]
    >>> one, other = (jackknifed_correlation(x, column, clusters=[0, 0, 1, 1, 2, 2, 3, 3]) for column in (y, z))
    >>> round((one - other).value, 4), round((one - other).p(), 2)
    (0.4761, 0.37)
    """
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    of_rows = np.arange(a.size) if clusters is None else np.asarray(clusters)
    if a.ndim != 1 or a.shape != b.shape or a.shape != of_rows.shape:
        raise UsageError(f"columns of shape {a.shape} and {b.shape} cannot be correlated over {of_rows.shape} clusters")
    both = ~(np.isnan(a) | np.isnan(b))
    a, b = _standard(a[both]), _standard(b[both])
    of_rows = np.unique(of_rows[both], return_inverse=True)[1]
    products = (np.ones_like(a), a, b, a * a, b * b, a * b)
    sums = np.stack([np.bincount(of_rows, product) for product in products], axis=1)
    whole = sums.sum(axis=0)
    value, without = float(_correlation(whole)), _correlation(whole - sums)
    n = len(without)
    return Jackknifed(value, (without.mean() - without) * sqrt((n - 1) / n) if n else without)


def _standard(column: Floats) -> Floats:
    """The column, centred and scaled to at most 1: this changes no correlation, and keeps differences precise."""
    if not len(column) or column.min() == column.max():
        return np.zeros_like(column)
    centred = column - column.mean()
    standard: Floats = centred / np.abs(centred).max()
    return standard


def _correlation(sums: Floats) -> Floats:
    """Pearson's r from the number of rows, and the sums of x, y, x², y² and x·y; NaN if a column does not vary."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    n = np.maximum(n, 1)
    spread_x, spread_y = xx - x * x / n, yy - y * y / n
    varies = (spread_x > _CONSTANT * xx) & (spread_y > _CONSTANT * yy)
    r = (xy - x * y / n) / np.sqrt(np.where(varies, spread_x * spread_y, np.nan))
    clipped: Floats = np.clip(r, -1, 1)
    return clipped
