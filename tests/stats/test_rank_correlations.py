"""Spearman's and Kendall's coefficients against scipy, by their laws, and how often their intervals hold the truth.

Their differences against a slow bootstrap of clusters, and how often a true null is rejected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

import dstbench
from dstbench.stats import RankCorrelation, compare_rank_correlations, kendall, rank_correlations, spearman

columns = st.integers(2, 40).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 6).map(float), min_size=n, max_size=n)] * 2)
)
Columns = tuple[list[float], list[float]]
COEFFICIENTS: list[Callable[..., RankCorrelation]] = [spearman, kendall]


def numbers(found: RankCorrelation) -> tuple[float, float, float]:
    return found.value, found.low, found.high


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
    for coefficient in COEFFICIENTS:
        found = coefficient(*pair)
        assert numbers(coefficient(x, y)) == pytest.approx(numbers(found), abs=1e-9, nan_ok=True)
        exponential = coefficient([math.exp(v) for v in x], y)
        assert numbers(exponential) == pytest.approx(numbers(found), abs=1e-9, nan_ok=True)
        falling = coefficient([-v for v in x], y)
        assert (falling.value, falling.low) == pytest.approx((-found.value, -found.high), abs=1e-9, nan_ok=True)
        assert math.isnan(found.low) or found.low - 1e-12 <= found.value <= found.high + 1e-12


# --- differences -----------------------------------------------------------------------------------------------------


@given(columns, st.randoms(use_true_random=False))
def test_a_difference_turns_with_its_columns(pair: Columns, random: Any) -> None:
    """The second less the first is the negative; falling columns too; rows that are there twice say no more."""
    x, y = pair
    z = [random.choice(range(5)) for _ in x]
    clusters = [random.randrange(9) for _ in x]
    for coefficient in COEFFICIENTS:
        one, other = (coefficient(column, x, clusters) for column in (y, z))
        try:
            found = compare_rank_correlations(one, other)
        except dstbench.UsageError:
            continue
        outcome = found.tests["linearised"]
        assert found.difference == pytest.approx(one.value - other.value)
        assert found.zou[0] <= found.difference <= found.zou[1]
        assert outcome.df == len(set(clusters)) - 1
        assert outcome.p == pytest.approx(2 * reference.t.sf(abs(outcome.statistic), outcome.df))
        turned = compare_rank_correlations(other, one)
        assert (turned.difference, *turned.zou) == pytest.approx((-found.difference, -found.zou[1], -found.zou[0]))
        assert turned.tests["linearised"].p == pytest.approx(outcome.p)
        falling = compare_rank_correlations(*(coefficient([-v for v in c], x, clusters) for c in (z, y)))
        assert falling.tests["linearised"].statistic == pytest.approx(outcome.statistic, abs=1e-9)
        twice = compare_rank_correlations(*(coefficient(c + c, x + x, clusters + clusters) for c in (y, z)))
        assert (*twice.zou, twice.tests["linearised"].p) == pytest.approx((*found.zou, outcome.p), abs=1e-7)
