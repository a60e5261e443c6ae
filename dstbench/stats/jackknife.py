"""Pearson correlations over rows in clusters, such as turns of dialogues, with each cluster left out in turn.

Conventions: a correlation and the difference of two have standard errors from the jackknife over clusters (Efron &
Stein 1981), so columns need not be normal, and the rows of a cluster may be alike. Intervals and p are by Student's t,
whose degrees of freedom are those of the variance (Satterthwaite 1946): few if few clusters decide it. So the interval
of a difference holds 0 if and only if p is above 1 − level.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atanh, sqrt, tanh
from typing import TYPE_CHECKING, Final

import numpy as np

from dstbench.arrays import Floats
from dstbench.errors import UsageError
from dstbench.schema.record import Shown
from dstbench.stats.correlations import LEAST
from dstbench.stats.normal import critical, two_sided

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
            √((n − 1)/n) of n clusters: their squares add up to the variance. NaN if a column does not vary without the
            cluster.
    """

    value: float
    influence: Floats

    def __sub__(self, other: Jackknifed) -> Jackknifed:
        return Jackknifed(self.value - other.value, self.influence - other.influence)

    @property
    def variance(self) -> float:
        """The squared standard error; NaN if a column does not vary, or not without some cluster."""
        return float(np.sum(self.influence**2)) if len(self.influence) else float("nan")

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance: 2n/(κ − 1), at most n − 1, with κ the kurtosis of the n influences."""
        n = len(self.influence)
        kurtosis = n * float(np.sum(self.influence**4)) / self.variance**2
        return min(n - 1, 2 * n / (kurtosis - 1)) if kurtosis > 1 else n - 1

    def limits(self, level: float = 0.95, *, fisher: bool = False) -> tuple[float, float] | None:
        """The interval of the value.

        Args:
            level: Confidence level.
            fisher: Whether it is symmetric in Fisher's z, for a single correlation, or on the scale of r.

        Returns:
            Its lower and upper end; None if there are fewer than four clusters, or a column does not vary, or does not
            without one of them.
        """
        if len(self.influence) < LEAST or np.isnan(self.variance):
            return None
        if not self.variance or (fisher and abs(self.value) > _EXACT):
            return self.value, self.value
        reach = critical(level, self.df) * sqrt(self.variance)
        if not fisher:
            return self.value - reach, self.value + reach
        z, reach = atanh(self.value), reach / (1 - self.value**2)
        return tanh(z - reach), tanh(z + reach)

    def p(self) -> float:
        """Two-sided p of the hypothesis that the value is 0; NaN if it has no interval, or its variance is 0."""
        if self.limits() is None or not self.variance:
            return float("nan")
        return two_sided(self.value / sqrt(self.variance), self.df)


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
    (0.4761, 0.33)
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
