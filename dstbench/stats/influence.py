"""Standard errors, intervals and p from what each dialogue (cluster) adds: its influence.

The influence of a dialogue on a score is g·s_d, less its mean over dialogues, times √(D/(D−1)), where s_d are the
dialogue's sums and g is the score's gradient at the sums of all D dialogues. That on a correlation is how much lower it
is without the dialogue (Efron & Stein 1981). The squares of influences add up to the variance (the sandwich estimate).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import atanh, sqrt, tanh
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from dstbench.arrays import Floats, Integers
from dstbench.errors import UsageError
from dstbench.schema.record import Shown
from dstbench.stats.correlations import LEAST
from dstbench.stats.differences import TIE, linearised_se
from dstbench.stats.normal import check_level, critical, two_sided, wilson
from dstbench.stats.resampling import Score, scores_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_STEP: Final = 2.0**-17  # of a central difference, relative to the sum that is moved
# Apart from rounding errors, these are 0: a sum of squares that is a smaller part than this of its terms', and the
# variance of a column that is a smaller part of the mean square; and larger coefficients than this are 1.
_NEGLIGIBLE: Final = 1e-16
_CONSTANT: Final = 1e-9
_EXACT: Final = 1 - 1e-9


@dataclass(frozen=True)
class Spread(Shown):
    """A standard error, and how well it is known.

    Interval and p are one inference: by Student's t, of which a skewed estimate has Hall's monotone transformation
    (1992). So an interval holds 0 if and only if p is above 1 − level.

    Attributes:
        se: The standard error; NaN: undefined; 0: no dialogue differs from the others, so nothing is known of it.
        df: Its degrees of freedom.
        skew: The skewness of the estimate; 0: intervals are symmetric.
    """

    se: float
    df: float
    skew: float = 0.0

    def p(self, difference: float) -> float:
        """Two-sided p of the hypothesis that a difference with this standard error is 0; NaN if that is 0 or undefined.

        Args:
            difference: The difference.
        """
        if not self.se > 0:
            return float("nan")
        t = difference / self.se
        return two_sided(t + self.skew * t**2 / 3 + self.skew**2 * t**3 / 27 + self.skew / 6, self.df)

    def limits(self, value: float, level: float) -> tuple[float, float] | None:
        """The interval of a value with this standard error.

        Args:
            value: The value.
            level: Confidence level of the interval.

        Returns:
            Its lower and upper end; None if the standard error is 0 or undefined.
        """
        check_level(level)
        if not self.se > 0:
            return None
        reach = critical(level, self.df)
        return value - self.se * self._unskewed(reach), value - self.se * self._unskewed(-reach)

    def _unskewed(self, t: float) -> float:
        """The number of standard errors that the transformation in `p` takes to t."""
        further = t - self.skew / 6
        root = float(np.cbrt(1 + self.skew * further))
        return 3 * further / (root**2 + root + 1)  # 3 (root − 1) / skew, without its rounding error near 0

    def limits_of_count(self, count: float, level: float) -> tuple[float, float] | None:
        """The interval of a count: as of a share of very many.

        Args:
            count: The count; if it is not above 0, its interval is `limits`.
            level: Confidence level of the interval.

        Returns:
            Its lower and upper end; None if the standard error is 0 or undefined.
        """
        if not count > 0:
            return self.limits(count, level)
        check_level(level)
        if not self.se > 0:
            return None
        shift = (critical(level, self.df) * self.se) ** 2 / (2 * count)
        reach = sqrt(shift**2 + 2 * shift * count)
        return count + shift - reach, count + shift + reach

    def limits_of_share(self, share: float, dialogues: int, level: float) -> tuple[float, float] | None:
        """The interval of a share, honest near 0 and 1: Wilson's, with the effective number of units.

        Args:
            share: The share; if it is below 0 or above 1, as slot accuracy can be, its interval is `limits`.
            dialogues: How many dialogues it is over. If all are alike, each counts as one unit.
            level: Confidence level of the interval.

        Returns:
            Its lower and upper end; None if it or its standard error is undefined.
        """
        if np.isnan(self.se) or np.isnan(share):
            return None
        if not self.se:
            return wilson(share, dialogues, level=level, df=dialogues - 1) if 0 <= share <= 1 else None
        if not 0 < share < 1:
            return self.limits(share, level)
        return wilson(share, share * (1 - share) / self.se**2, level=level, df=self.df)


def influences(score: Score, sums: Floats) -> Floats:
    """What each dialogue adds to the deviation of each run's score, linearised.

    Args:
        score: From sums (B × statistics) to scores (B); NaN where undefined.
        sums: Runs × dialogues × statistics.

    Returns:
        Runs × dialogues; those of a run add up to 0, and their squares to the variance of its score; NaN if undefined.

    >>> right_and_all = np.array([[[1.0, 2], [2, 2], [0, 3]]])
    >>> round(spread(influences(lambda sums: sums[:, 0] / sums[:, 1], right_and_all)[0]).se, 4)
    0.302
    """
    whole = sums.sum(axis=1)
    steps = np.maximum(np.abs(whole), 1) * _STEP
    moves = np.eye(sums.shape[2])[:, np.newaxis] * steps  # one statistic at a time × runs × statistics
    up, down = scores_of(score, whole + moves), scores_of(score, whole - moves)
    gradient = np.where(np.isfinite(up - down), (up - down) / (2 * steps.T), np.nan)
    parts = sums * gradient.T[:, np.newaxis]
    of_dialogues: Floats = parts.sum(axis=2)
    of_dialogues -= of_dialogues.mean(axis=1, keepdims=True)
    squares, terms, value = (of_dialogues**2).sum(axis=1), (parts**2).sum(axis=(1, 2)), scores_of(score, whole)
    of_dialogues[(squares <= _NEGLIGIBLE * terms) | (squares <= (TIE * value) ** 2)] = 0
    of_dialogues[np.isnan(value)] = np.nan
    of_dialogues *= sqrt(sums.shape[1] / max(1, sums.shape[1] - 1))
    return of_dialogues


def spread(of_dialogues: Floats, *, skewed: bool = False) -> Spread:
    """The standard error of a score, or of a difference of scores or correlations, from its influences.

    Its degrees of freedom are those of the normal distribution's variance with the same spread: 2D/(κ − 1), at most
    D − 1, with κ the influences' kurtosis (Satterthwaite 1946). A skewed estimate has (D − 1)/κ, about half as many, as
    the few dialogues that decide its variance decide its skewness too; that is shrunk by one part in df + 1.

    Args:
        of_dialogues: The influence of each dialogue; of a difference, those on one value less those on the other.
        skewed: Whether the interval allows for skewness. That of a share does not: Wilson's is right near 0 and 1.
    """
    size, squares = len(of_dialogues), of_dialogues**2
    total = float(squares.sum())
    if not total > 0:
        return Spread(total, size - 1)
    flatness = float((squares**2).sum()) / total**2  # κ/D; 1 over how many dialogues make the variance
    if skewed:
        df = (1 - 1 / size) / flatness
        return Spread(sqrt(total), df, float((of_dialogues**3).sum()) / total**1.5 * df / (df + 1))
    excess = flatness - 1 / size
    return Spread(sqrt(total), min(size - 1, 2 / excess) if excess > 0 else size - 1)


def spread_over_seeds(scores: Sequence[Floats], of_dialogues: Sequence[Floats]) -> Spread:
    """The standard error of a model's mean over its seeds, or of a difference of means, on dialogues as these.

    The variance between seeds is that of Welch's t test (1947). To it comes the part of the dialogues' variance that
    all seeds of a model share: that of their mean influence, less what differences between seeds add to it (0 if that
    is more). Both together are the variance over seeds and dialogues, each drawn anew. If both are 0 though dialogues
    differ, the standard error is unknown: NaN.

    Args:
        scores: For each model, the scores of its seeds; two or more.
        of_dialogues: For each model, their influences, seeds × dialogues; of a model that is subtracted, negative.

    Raises:
        UsageError: A model has fewer than two seeds.

    >>> seeds = np.array([[0.5, 0.6, 0.7], [0.4, 0.5, 0.6]])
    >>> both = spread_over_seeds(seeds, np.zeros((2, 3, 10)))  # no dialogue differs from the others: Welch's
    >>> round(both.se, 4), round(both.df, 4), round(both.p(0.1), 4)
    (0.0816, 4.0, 0.2879)
    """
    if min(map(len, scores)) < 2:
        raise UsageError("the spread of a single seed is unknown", hint="two seeds or more")
    of_seeds = [float(own.var(ddof=1)) / len(own) for own in scores]
    differing = sum(float(own.var(axis=0, ddof=1).sum()) / len(own) for own in of_dialogues)
    together = spread(np.sum([own.mean(axis=0) for own in of_dialogues], axis=0))
    shared = together.se**2 - differing
    shared = 0.0 if shared <= _CONSTANT * together.se**2 else shared  # nothing, or a rounding error
    variance = sum(of_seeds) + shared
    if not variance > 0:
        return Spread(float("nan") if differing > 0 else variance, 1)
    squares = [part**2 / (len(own) - 1) for part, own in zip(of_seeds, scores, strict=True)]
    return Spread(sqrt(variance), variance**2 / (sum(squares) + shared**2 / together.df))


class ClusterRatio(NamedTuple):
    """A ratio of sums, its interval, and the number of clusters whose denominator is above 0; NaN where undefined."""

    value: float
    low: float
    high: float
    clusters: int


def mean_over_clusters(cluster: Integers, y: Floats, weight: Floats, level: float = 0.95) -> ClusterRatio:
    """The mean of y over units, of which each has the number of its cluster, and counts as often as its weight."""
    _, of_unit = np.unique(cluster, return_inverse=True)
    return _ratio(_sums(of_unit, weight * y), _sums(of_unit, weight), level)


def slope_within_clusters(cluster: Integers, x: Floats, y: Floats, weight: Floats, level: float = 0.95) -> ClusterRatio:
    """The slope of y on x within clusters by least squares, with an intercept and a weight for each cluster."""
    _, first, of_unit = np.unique(cluster, return_index=True, return_inverse=True)
    # After subtracting the value of the cluster's first unit, equal numbers are exactly 0.
    x, y = x - x[first][of_unit], y - y[first][of_unit]
    x = x - (_sums(of_unit, x) / np.bincount(of_unit))[of_unit]
    return _ratio(weight[first] * _sums(of_unit, x * y), weight[first] * _sums(of_unit, x * x), level)


def _ratio(numerators: Floats, denominators: Floats, level: float) -> ClusterRatio:
    """The ratio of sums over clusters (0 / 0 counts nothing), with its interval by Student's t."""
    counts = denominators > 0
    clusters, numerators, denominators = int(counts.sum()), numerators[counts], denominators[counts]
    value = float(numerators.sum() / denominators.sum()) if clusters else np.nan
    if clusters < 2:
        return ClusterRatio(value, np.nan, np.nan, clusters)
    reach = critical(level, clusters - 1) * linearised_se(numerators, denominators)
    return ClusterRatio(value, value - reach, value + reach, clusters)


def _sums(of_unit: Integers, column: Floats) -> Floats:
    return np.bincount(of_unit, weights=column).astype(np.float64, copy=False)


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
            Its lower and upper end; None with fewer than four clusters, or if a column does not vary (without one).
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

    One less another has the interval and p of their difference, if both are over the same rows.

    Args:
        x: Numbers; NaN where undefined.
        y: As many numbers.
        clusters: For each row, the number of its cluster; None: each row is its own.

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
