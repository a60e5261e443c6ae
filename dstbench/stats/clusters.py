"""A mean and a slope over units that come in clusters.

Both are ratios of two sums over clusters. The slope is that within clusters (by least squares, with an intercept for
each cluster), so it does not depend on how clusters differ from each other: if y is the same in all units of a cluster,
it is 0. Units of one cluster are not independent, so the standard error is that of the linearised ratio over clusters
(the sandwich estimate). Intervals are by Student's t; the degrees of freedom are the number of clusters less one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dstbench.arrays import Floats, Integers
from dstbench.stats.normal import critical

# A variance that is a smaller part than this of the sums that it is computed from is a rounding error.
_NEGLIGIBLE = 1e-12


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
    """The slope of y on x within clusters: Σ (x - x̄)(y - ȳ) over Σ (x - x̄)², where clusters count by their weights."""
    _, first, of_unit = np.unique(cluster, return_index=True, return_inverse=True)
    # After subtracting the value of the cluster's first unit, equal numbers are exactly 0.
    x, y = x - x[first][of_unit], y - y[first][of_unit]
    x = x - (_sums(of_unit, x) / np.bincount(of_unit))[of_unit]
    return _ratio(weight[first] * _sums(of_unit, x * y), weight[first] * _sums(of_unit, x * x), level)


def _ratio(numerators: Floats, denominators: Floats, level: float) -> ClusterRatio:
    """The ratio of sums over clusters; a numerator is 0 where the denominator, which is at least 0, is 0."""
    clusters, denominator = int((denominators > 0).sum()), float(denominators.sum())
    value = float(numerators.sum()) / denominator if clusters else np.nan
    if clusters < 2:
        return ClusterRatio(value, np.nan, np.nan, clusters)
    pairs = ((numerators, numerators), (numerators, denominators), (denominators, denominators))
    terms = np.array([float((one * other).sum()) for one, other in pairs]) * [1, -2 * value, value * value]
    variance = float(terms.sum())
    if variance < _NEGLIGIBLE * float(np.abs(terms).sum()):
        variance = 0.0
    se = np.sqrt(variance * clusters / (clusters - 1)) / denominator
    reach = float(critical(level, clusters - 1) * se)
    return ClusterRatio(value, value - reach, value + reach, clusters)


def _sums(of_unit: Integers, column: Floats) -> Floats:
    return np.bincount(of_unit, weights=column).astype(np.float64, copy=False)
