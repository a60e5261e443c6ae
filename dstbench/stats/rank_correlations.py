"""Rank correlations, Spearman's and Kendall's, with intervals that allow for ties and for rows in clusters.

Tied values share the mean of their ranks, and Kendall's coefficient is tau-b. The standard errors are linearised (each
row's influence on the coefficient, summed over the rows of a cluster). Intervals are symmetric in Fisher's z.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atanh, sqrt, tanh
from typing import TYPE_CHECKING, Final

import numpy as np

from dstbench.arrays import Floats, Integers
from dstbench.errors import UsageError
from dstbench.schema.record import Shown
from dstbench.stats.correlations import LEAST, Comparison, Outcome, limits_of_difference
from dstbench.stats.normal import critical, two_sided

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_CELLS: Final = 2**22  # about so many cells have the parts in which the table of distinct x by distinct y is made
_EXACT: Final = 1 - 1e-12  # coefficients above this are 1, apart from rounding errors
_NEGLIGIBLE: Final = 1e-12  # a variance that is a smaller part of those that it is computed from counts as 0


@dataclass(frozen=True, eq=False)
class RankCorrelation(Shown):
    """A rank correlation.

    Attributes:
        value: The coefficient; NaN if a column does not vary.
        low: Lower end of its interval; NaN if the value is undefined, or there are fewer than four clusters.
        high: Upper end.
        level: Confidence level of the interval.
        influence: For each cluster, how much its rows move the coefficient (linearised); empty if it is undefined.
    """

    value: float
    low: float
    high: float
    level: float
    influence: Floats


def spearman(x: ArrayLike, y: ArrayLike, clusters: ArrayLike | None = None, *, level: float = 0.95) -> RankCorrelation:
    """Spearman's rank correlation.

    Args:
        x: Numbers, none of them NaN.
        y: As many numbers.
        clusters: For each row, the number of the cluster that it is in, from 0; None: each row is its own.
        level: Confidence level of the interval.

    >>> round(spearman([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]).value, 9)
    0.8
    """
    a, b = _codes(x, y)
    # The share of the rows below each row, ties counted half; less a half, so that the mean is 0.
    ones = np.ones(len(a))
    u, v = (0.5 - _mean_above(codes, ones) for codes in (a, b))
    covariance, of_u, of_v = (_mean(product) for product in (u * v, u * u, v * v))
    # A row counts itself, and moves the ranks of the rows above it.
    parts = (
        u * v + _mean_above(a, v) + _mean_above(b, u) - 3 * covariance,
        u * u + 2 * _mean_above(a, u) - 3 * of_u,
        v * v + 2 * _mean_above(b, v) - 3 * of_v,
    )
    return _with_interval((covariance, of_u, of_v), parts, clusters, level)


def kendall(x: ArrayLike, y: ArrayLike, clusters: ArrayLike | None = None, *, level: float = 0.95) -> RankCorrelation:
    """Kendall's tau-b.

    Args:
        x: Numbers, none of them NaN.
        y: As many numbers.
        clusters: For each row, the number of the cluster that it is in, from 0; None: each row is its own.
        level: Confidence level of the interval.

    >>> round(kendall([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]).value, 9)
    0.6
    """
    a, b = _codes(x, y)
    n = len(a)
    each = (_concordance(a, b) / n, 1 - np.bincount(a)[a] / n, 1 - np.bincount(b)[b] / n) if n else (np.zeros(0),) * 3
    concordant, of_x, of_y = means = tuple(map(_mean, each))
    parts = tuple(2 * (of_row - mean) for of_row, mean in zip(each, means, strict=True))
    return _with_interval((concordant, of_x, of_y), parts, clusters, level)


def compare_rank_correlations(first: RankCorrelation, second: RankCorrelation) -> Comparison:
    """Compare two rank correlations over the same rows: the first minus the second.

    The interval is Zou's (2007), from both intervals and the correlation of the two estimates. The test is of the
    difference of Fisher's z, by Student's t; the degrees of freedom are the number of clusters less one.

    Args:
        first: One of `spearman` or `kendall`.
        second: Another one, by the same function, over the same rows, in the same clusters, at the same level.

    Raises:
        UsageError: A coefficient is undefined or ±1, there are fewer than four clusters, or the two coefficients move
            together whatever the rows, as those of columns that rank all rows alike do.

    >>> rating, one, other = [1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 6, 5], [2, 1, 5, 3, 6, 4]
    >>> comparison = compare_rank_correlations(kendall(one, rating), kendall(other, rating))
    >>> round(comparison.difference, 4), round(comparison.tests["linearised"].p, 2)
    (0.2667, 0.23)
    """
    one, other, size = first.influence, second.influence, len(first.influence)
    if first.level != second.level or len(other) != size or size < LEAST:
        raise UsageError(
            f"rank correlations over {size} and {len(other)} clusters cannot be compared",
            hint=f"both over the same rows of at least {LEAST} clusters, at one level",
        )
    r = first.value, second.value
    if max(map(abs, r)) > _EXACT:
        raise UsageError("a rank correlation of ±1 cannot be compared")
    variances = [float(np.sum(influence**2)) for influence in (one, other)]
    slopes = [1 / (1 - value**2) for value in r]
    of_z = float(np.sum((slopes[0] * one - slopes[1] * other) ** 2))
    if of_z <= _NEGLIGIBLE * sum(slope**2 * variance for slope, variance in zip(slopes, variances, strict=True)):
        raise UsageError("one of the two rank correlations follows from the other")
    correlation = float(np.sum(one * other)) / sqrt(variances[0] * variances[1]) if min(variances) else 0.0
    statistic = (atanh(r[0]) - atanh(r[1])) / sqrt(size / (size - 1) * of_z)
    limits = (first.low, first.high), (second.low, second.high)
    return Comparison(
        difference=r[0] - r[1],
        zou=limits_of_difference(r, limits, correlation),
        tests={"linearised": Outcome(statistic, size - 1, two_sided(statistic, size - 1))},
        level=first.level,
    )


def _codes(x: ArrayLike, y: ArrayLike) -> tuple[Integers, Integers]:
    """The place of each value among the distinct values of its column."""
    one, other = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if one.ndim != 1 or one.shape != other.shape or np.isnan(one).any() or np.isnan(other).any():
        raise UsageError(
            f"columns of shape {one.shape} and {other.shape} cannot be ranked", hint="as many numbers in both, no NaN"
        )
    a, b = (np.unique(column, return_inverse=True)[1].astype(np.int64) for column in (one, other))
    return a, b


def _mean_above(codes: Integers, weights: Floats) -> Floats:
    """For each row, the sum of `weights` over the rows above it, ties counted half, divided by the number of rows."""
    of_code = np.bincount(codes, weights)
    above: Floats = (of_code[::-1].cumsum()[::-1] - of_code / 2)[codes] / max(len(codes), 1)
    return above


def _concordance(a: Integers, b: Integers) -> Floats:
    """For each row, the number of rows concordant with it less the number of discordant ones."""
    of_b = np.bincount(b)
    order = np.argsort(a, kind="stable")
    starts = np.searchsorted(a[order], np.arange(a.max() + 2))  # of each distinct a
    below, step = np.zeros_like(of_b), max(1, _CELLS // len(of_b))
    result = np.empty(len(a))
    for first in range(0, len(starts) - 1, step):
        last = min(first + step, len(starts) - 1)
        rows = order[starts[first] : starts[last]]
        at = a[rows] - first, b[rows]
        n = np.bincount(at[0] * len(of_b) + at[1], minlength=(last - first) * len(of_b)).reshape(-1, len(of_b))
        up_to = below + n.cumsum(axis=0)
        excess = of_b - up_to - (up_to - n)  # rows of larger a less rows of smaller a, for each b
        sums = excess.cumsum(axis=1)
        result[rows] = (sums[:, -1:] - 2 * sums + excess)[at]
        below = up_to[-1]
    return result


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else 0.0


def _with_interval(
    means: tuple[float, float, float], parts: tuple[Floats, ...], clusters: ArrayLike | None, level: float
) -> RankCorrelation:
    """The coefficient c / √(a·b) of the means (c, a, b), and its interval, from what each row adds to each mean."""
    c, a, b = means
    if not (a and b):
        return RankCorrelation(np.nan, np.nan, np.nan, level, np.zeros(0))
    value = c / sqrt(a * b)
    influence: Floats = (parts[0] / sqrt(a * b) - value / 2 * (parts[1] / a + parts[2] / b)) / len(parts[0])
    if clusters is not None:
        influence = np.bincount(np.unique(np.asarray(clusters), return_inverse=True)[1], influence).astype(np.float64)
    size, low, high = len(influence), np.nan, np.nan
    if size >= LEAST and abs(value) > _EXACT:
        value = low = high = float(np.sign(value))
    elif size >= LEAST:
        se = sqrt(size / (size - 1) * float(np.sum(influence**2)))
        reach = critical(level) * se / (1 - value**2)
        low, high = tanh(atanh(value) - reach), tanh(atanh(value) + reach)
    return RankCorrelation(value, low, high, level, influence)
