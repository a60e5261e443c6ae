"""Means and slopes over clusters: by residuals, and how often their intervals hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstbench.arrays import Floats
from dstbench.stats import linearised_se
from dstbench.stats.influence import ClusterRatio, mean_over_clusters, slope_within_clusters

units = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(-8, 8)), min_size=1, max_size=30).map(
    lambda rows: np.array(sorted(rows), np.float64).T
)


def mean_and_slope(rows: Floats, level: float = 0.95) -> tuple[ClusterRatio, ClusterRatio]:
    """Of units (cluster, x, y[, weight])."""
    cluster, x, y, weight = np.vstack([rows, np.ones_like(rows[:1])])[:4]
    number = cluster.astype(np.int64)
    mean = mean_over_clusters(number, y, weight, level)
    return mean, slope_within_clusters(number, x / 4, y, weight, level)


def se_of(low: float, high: float, clusters: int, level: float) -> float:
    from scipy import stats

    return float((high - low) / 2 / stats.t.ppf((1 + level) / 2, clusters - 1))


@given(units)
def test_they_are_those_of_residuals_summed_by_cluster(rows: Floats) -> None:
    cluster, x, y = rows[0], rows[1] / 4, rows[2]
    mean, slope = mean_and_slope(rows, 0.9)
    names = np.unique(cluster)
    value, low, high, clusters = mean
    assert clusters == len(names)
    assert value == pytest.approx(y.mean())
    if len(names) > 1:
        of_cluster = [[y[cluster == name].sum(), (cluster == name).sum()] for name in names]
        assert se_of(low, high, len(names), 0.9) == pytest.approx(linearised_se(*np.array(of_cluster).T), abs=1e-6)
    else:
        assert np.isnan(low)

    value, low, high, clusters = slope
    several = [name for name in names if len(set(x[cluster == name])) > 1]
    assert clusters == len(several)
    if not several:
        assert np.isnan(value)
        return
    columns = np.column_stack([x, *(cluster == name for name in names)])  # an intercept for each cluster
    best, *_ = np.linalg.lstsq(columns, y, rcond=None)
    assert value == pytest.approx(best[0], abs=1e-9)
    if len(several) == 1:
        assert np.isnan(low)
        return
    residual = y - columns @ best
    centred = x - np.array([x[cluster == name].mean() for name in cluster])
    squares = sum((centred * residual)[cluster == name].sum() ** 2 for name in several)
    wanted = np.sqrt(squares * len(several) / (len(several) - 1)) / (centred**2).sum()
    assert se_of(low, high, len(several), 0.9) == pytest.approx(wanted, abs=1e-6)
