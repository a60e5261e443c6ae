"""A mean and a slope over units that come in clusters, from sums per cluster that are added up part by part.

Units of one cluster are alike, so clusters vary, not units: the standard error is that of the linearised statistic, a
sum over clusters (the sandwich estimate), and intervals are by Student's t with a degree of freedom less than there are
clusters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dstbench.arrays import Floats, Integers
from dstbench.stats.normal import check_level

# A variance that is a smaller part of the sums that it is computed from is rounding.
_NEGLIGIBLE = 1e-12


class Interval(NamedTuple):
    """A statistic and its confidence interval; NaN where undefined."""

    value: float
    low: float
    high: float


@dataclass
class ClusterSums:
    """Sums over units with a number y at a place x, and over products of the sums of each cluster.

    Attributes:
        units: Number of units.
        clusters: Number of clusters that have a unit.

    >>> sums = ClusterSums()
    >>> sums.add(np.array([0, 0, 1, 2]), x=np.array([0.0, 1.0, 0.5, 1.0]), y=np.array([3.0, 1.0, 2.0, 1.0]))
    >>> sums.units, sums.clusters, round(sums.mean().value, 2), round(sums.slope().value, 2)
    (4, 3, 1.75, -2.0)
    """

    units: int = 0
    clusters: int = 0
    _sums: Floats = field(default_factory=lambda: np.zeros(5))
    _products: Floats = field(default_factory=lambda: np.zeros((5, 5)))

    def add(self, cluster: Integers, x: Floats, y: Floats) -> None:
        """Add units of whole clusters.

        Args:
            cluster: Number of each unit's cluster, from 0.
            x: Where each unit is.
            y: Its number.
        """
        _, of_unit = np.unique(cluster, return_inverse=True)
        columns = (np.ones(len(y)), x, y, x * x, x * y)
        sums = np.stack([np.bincount(of_unit, weights=column) for column in columns], axis=1)
        self.units += len(y)
        self.clusters += len(sums)
        self._sums = self._sums + sums.sum(axis=0)
        self._products = self._products + np.einsum("ci,cj->ij", sums, sums)  # in a fixed order, as no BLAS adds

    def mean(self, level: float = 0.95) -> Interval:
        """The mean of y over units.

        Args:
            level: Confidence level of its interval.
        """
        check_level(level)
        if not self.units:
            return Interval(np.nan, np.nan, np.nan)
        n, _, y, *_ = self._sums
        return self._interval(y / n, np.array([-y / n, 0, 1, 0, 0]) / n, level)

    def slope(self, level: float = 0.95) -> Interval:
        """The slope of y on x by least squares over units; undefined where all x are equal.

        Args:
            level: Confidence level of its interval.
        """
        check_level(level)
        n, x, y, xx, xy = self._sums
        spread = xx - x * x / n if n else 0.0
        if spread <= _NEGLIGIBLE * xx:
            return Interval(np.nan, np.nan, np.nan)
        slope = (xy - x * y / n) / spread
        x, y = x / n, y / n
        # (x − x̄)(y − ȳ − slope·(x − x̄)), summed over the units of a cluster, as a function of the cluster's sums
        gradient = np.array([x * y - slope * x * x, 2 * slope * x - y, -x, -slope, 1]) / spread
        return self._interval(slope, gradient, level)

    def _interval(self, value: float, gradient: Floats, level: float) -> Interval:
        from scipy import special

        if self.clusters < 2:
            return Interval(float(value), np.nan, np.nan)
        terms = np.outer(gradient, gradient) * self._products
        variance = float(terms.sum())
        if variance < _NEGLIGIBLE * float(np.abs(terms).sum()):
            variance = 0.0
        reach = special.stdtrit(self.clusters - 1, (1 + level) / 2)
        reach *= np.sqrt(variance * self.clusters / (self.clusters - 1))
        return Interval(float(value), float(value - reach), float(value + reach))
