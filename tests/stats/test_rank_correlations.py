"""Spearman's and Kendall's coefficients against scipy, by their laws, and how often their intervals hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

import dstbench
from dstbench.stats import kendall, rank_correlations, spearman

columns = st.integers(2, 40).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 6).map(float), min_size=n, max_size=n)] * 2)
)
Columns = tuple[list[float], list[float]]


@given(columns, st.sampled_from([1, 7, 2**22]))
@pytest.mark.filterwarnings("ignore::scipy.stats.ConstantInputWarning")
def test_values_are_those_of_scipy(pair: Columns, cells: int) -> None:
    """Whatever the size of the blocks that the table of values is counted in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rank_correlations, "_CELLS", cells)
        assert kendall(*pair).value == pytest.approx(reference.kendalltau(*pair).statistic, abs=1e-12, nan_ok=True)
    assert spearman(*pair).value == pytest.approx(reference.spearmanr(*pair).statistic, abs=1e-12, nan_ok=True)


@given(columns, st.randoms(use_true_random=False))
def test_order_and_monotone_changes_do_not_matter(pair: Columns, random: object) -> None:
    order = list(range(len(pair[0])))
    random.shuffle(order)  # type: ignore[attr-defined]
    x, y = ([column[i] for i in order] for column in pair)
    for coefficient in (spearman, kendall):
        found = coefficient(*pair)
        assert tuple(coefficient(x, y)) == pytest.approx(tuple(found), abs=1e-9, nan_ok=True)
        assert tuple(coefficient([math.exp(v) for v in x], y)) == pytest.approx(tuple(found), abs=1e-9, nan_ok=True)
        falling = coefficient([-v for v in x], y)
        assert (falling.value, falling.low) == pytest.approx((-found.value, -found.high), abs=1e-9, nan_ok=True)
        assert math.isnan(found.low) or found.low - 1e-12 <= found.value <= found.high + 1e-12


@given(columns)
def test_a_column_agrees_with_itself(pair: Columns) -> None:
    x, _ = pair
    for coefficient in (spearman, kendall):
        found = coefficient(x, x)
        if len(set(x)) == 1:
            assert all(map(math.isnan, found))
        else:
            assert found.value == pytest.approx(1)
            assert math.isnan(found.low) if len(x) < 4 else (found.low, found.high) == (1, 1)


def test_a_cluster_counts_once() -> None:
    """Rows that are there k times, each time in the same cluster, say no more than once."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, 50)
    y = x + rng.integers(0, 6, 50)
    for coefficient in (spearman, kendall):
        once = coefficient(x, y)
        again = coefficient(np.repeat(x, 3), np.repeat(y, 3), np.repeat(np.arange(50), 3))
        assert tuple(again) == pytest.approx(tuple(once), abs=1e-12)
        alone = coefficient(np.repeat(x, 3), np.repeat(y, 3))
        assert alone.high - alone.low < 0.7 * (once.high - once.low)


def test_intervals_hold_the_truth() -> None:
    """In 95 % ± 1.5 of 1,000 samples of 100 ties-laden pairs, whose true coefficients a large sample gives."""
    rng = np.random.default_rng(5)

    def sample(n: int) -> tuple[object, object]:
        x = rng.standard_normal(n)
        return np.round(x), np.round(2 * (0.6 * x + rng.standard_normal(n)))

    large = sample(400_000)
    for coefficient in (spearman, kendall):
        truth = coefficient(*large).value  # type: ignore[arg-type]
        found = [coefficient(*sample(100)) for _ in range(1000)]  # type: ignore[arg-type]
        held = np.mean([each.low <= truth <= each.high for each in found])
        assert held == pytest.approx(0.95, abs=0.015)


def test_what_cannot_be_ranked_is_told() -> None:
    for x, y in (([1, 2], [1]), ([1, float("nan")], [1, 2])):
        with pytest.raises(dstbench.UsageError, match="cannot be ranked"):
            spearman(x, y)
    assert math.isnan(kendall([], []).value)
