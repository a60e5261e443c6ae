"""Means and slopes over clusters: by residuals, in parts, and how often their intervals hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstbench.arrays import Floats
from dstbench.errors import UsageError
from dstbench.stats import linearised_se
from dstbench.stats.clusters import ClusterSums

units = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(-8, 8)), min_size=1, max_size=30).map(
    lambda rows: np.array(sorted(rows), np.float64).T
)


def sums_of(rows: Floats) -> ClusterSums:
    sums = ClusterSums()
    sums.add(rows[0].astype(np.int64), rows[1] / 4, rows[2])
    return sums


def se_of(low: float, high: float, clusters: int, level: float) -> float:
    from scipy import stats

    return float((high - low) / 2 / stats.t.ppf((1 + level) / 2, clusters - 1))


@given(units)
def test_they_are_those_of_residuals_summed_by_cluster(rows: Floats) -> None:
    cluster, x, y = rows[0], rows[1] / 4, rows[2]
    sums, names = sums_of(rows), np.unique(cluster)
    assert (sums.units, sums.clusters) == (len(y), len(names))
    mean = sums.mean(0.9)
    assert mean.value == pytest.approx(y.mean())
    if len(names) > 1:
        of_cluster = [[y[cluster == name].sum(), (cluster == name).sum()] for name in names]
        wanted = linearised_se(*np.array(of_cluster).T)
        assert se_of(mean.low, mean.high, len(names), 0.9) == pytest.approx(wanted, abs=1e-6)
    slope = sums.slope(0.9)
    if len(set(x)) == 1:
        assert np.isnan(slope.value)
        return
    best, start = np.polyfit(x, y, 1)
    assert slope.value == pytest.approx(best, abs=1e-9)
    if len(names) > 1:
        influence = (x - x.mean()) * (y - start - best * x) / ((x - x.mean()) ** 2).sum()
        squares = sum(influence[cluster == name].sum() ** 2 for name in names)
        wanted = np.sqrt(squares * len(names) / (len(names) - 1))
        assert se_of(slope.low, slope.high, len(names), 0.9) == pytest.approx(wanted, abs=1e-6)
    else:
        assert np.isnan(slope.low)


@given(units, st.integers(0, 6))
def test_clusters_may_be_added_in_parts(rows: Floats, cut: int) -> None:
    whole, parts = sums_of(rows), ClusterSums()
    for part in (rows[:, rows[0] < cut], rows[:, rows[0] >= cut]):
        if part.shape[1]:
            parts.add(part[0].astype(np.int64), part[1] / 4, part[2])
    assert (whole.units, whole.clusters) == (parts.units, parts.clusters)
    for one, other in ((whole.mean(), parts.mean()), (whole.slope(), parts.slope())):
        assert one == pytest.approx(other, abs=1e-6, nan_ok=True)


def test_nothing_has_no_mean_and_a_level_is_a_share() -> None:
    assert np.isnan([*ClusterSums().mean(), *ClusterSums().slope()]).all()
    for of in (ClusterSums().mean, ClusterSums().slope):
        with pytest.raises(UsageError, match="level"):
            of(1.5)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Units of a cluster share a level and a slope of their own, so that intervals over units would be too narrow."""
    generator, rounds, clusters = np.random.default_rng(1), 600, 40
    held = np.zeros(2)
    for _ in range(rounds):
        size = generator.integers(1, 12, clusters)
        cluster = np.repeat(np.arange(clusters), size)
        x = generator.integers(0, 6, len(cluster)) / 5
        level, slope = generator.normal(3, 1, clusters), generator.normal(-2, 1, clusters)
        sums = ClusterSums()
        sums.add(cluster, x, level[cluster] + slope[cluster] * x + generator.normal(0, 0.5, len(cluster)))
        held += [low <= truth <= high for (_, low, high), truth in ((sums.mean(), 2.0), (sums.slope(), -2.0))]
    assert (held / rounds > 0.92).all()
    assert (held / rounds < 0.975).all()
