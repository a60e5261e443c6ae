"""A mean and a slope over units that come in clusters, from sums per cluster that are added up part by part.

Both are ratios of two sums over clusters. The slope is that within clusters (by least squares, with an intercept for
each cluster), so it does not depend on how clusters differ from each other: if y is the same in all units of a cluster,
it is 0. Units of one cluster are not independent, so the standard error is that of the linearised ratio over clusters
(the sandwich estimate). Intervals are by Student's t; the degrees of freedom are the number of clusters less one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dstbench.arrays import Floats, Integers
from dstbench.stats.normal import check_level

# A variance that is a smaller part than this of the sums that it is computed from is a rounding error.
_NEGLIGIBLE = 1e-12


class Interval(NamedTuple):
    """A statistic and its confidence interval; NaN where undefined."""

    value: float
    low: float
    high: float


@dataclass
class ClusterRatio:
    """The sum of one number over clusters, divided by the sum of another that is at least 0.

    Attributes:
        clusters: Number of clusters whose denominator is above 0.
        denominator: The sum that is divided by.

    >>> cluster, x, y = np.array([0, 0, 1, 2]), np.array([0.0, 1.0, 0.5, 1.0]), np.array([3.0, 1.0, 2.0, 1.0])
    >>> mean, slope = ClusterRatio(), ClusterRatio()
    >>> mean.add(*sums_of_mean(cluster, y, np.ones(4)))
    >>> slope.add(*sums_of_slope(cluster, x, y, np.ones(4)))
    >>> (mean.clusters, mean.interval().value), (slope.clusters, slope.interval().value)
    ((3, 1.75), (1, -2.0))
    """

    clusters: int = 0
    denominator: float = 0.0
    _numerator: float = 0.0
    _products: Floats = field(default_factory=lambda: np.zeros(3))  # Σ numerator², Σ of both multiplied, Σ denominator²

    def add(self, numerators: Floats, denominators: Floats) -> None:
        """Add clusters.

        Args:
            numerators: One number per cluster; 0 where the denominator is 0.
            denominators: One number per cluster, at least 0.
        """
        self.clusters += int((denominators > 0).sum())
        self._numerator += float(numerators.sum())
        self.denominator += float(denominators.sum())
        pairs = ((numerators, numerators), (numerators, denominators), (denominators, denominators))
        self._products = self._products + [float((one * other).sum()) for one, other in pairs]

    def interval(self, level: float = 0.95) -> Interval:
        """The ratio and its interval, which fewer than two clusters do not have.

        Args:
            level: Confidence level of the interval.
        """
        from scipy import special

        check_level(level)
        if not self.clusters:
            return Interval(np.nan, np.nan, np.nan)
        value = self._numerator / self.denominator
        if self.clusters < 2:
            return Interval(value, np.nan, np.nan)
        terms = self._products * [1, -2 * value, value * value]
        variance = float(terms.sum())
        if variance < _NEGLIGIBLE * float(np.abs(terms).sum()):
            variance = 0.0
        se = np.sqrt(variance * self.clusters / (self.clusters - 1)) / self.denominator
        reach = float(special.stdtrit(self.clusters - 1, (1 + level) / 2) * se)
        return Interval(value, value - reach, value + reach)


def sums_of_mean(cluster: Integers, y: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """For each cluster: the weighted sum of y over its units, and that of 1; the mean of y is the ratio of both sums.

    Args:
        cluster: The number of each unit's cluster.
        y: One number per unit.
        weight: How often each unit counts.
    """
    _, of_unit = np.unique(cluster, return_inverse=True)
    return _sums(of_unit, weight * y), _sums(of_unit, weight)


def sums_of_slope(cluster: Integers, x: Floats, y: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """For each cluster: Σ (x - x̄)(y - ȳ) and Σ (x - x̄)²; the slope of y on x within clusters is the ratio of both sums.

    Args:
        cluster: The number of each unit's cluster.
        x: One number per unit.
        y: One number per unit.
        weight: How often each unit's cluster counts.
    """
    _, first, of_unit = np.unique(cluster, return_index=True, return_inverse=True)
    # After subtracting the value of the cluster's first unit, equal numbers are exactly 0.
    x, y = x - x[first][of_unit], y - y[first][of_unit]
    x = x - (_sums(of_unit, x) / np.bincount(of_unit))[of_unit]
    return weight[first] * _sums(of_unit, x * y), weight[first] * _sums(of_unit, x * x)


def _sums(of_unit: Integers, column: Floats) -> Floats:
    sums: Floats = np.bincount(of_unit, weights=column).astype(np.float64, copy=False)
    return sums
