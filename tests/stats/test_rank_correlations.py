"""Spearman's and Kendall's coefficients against scipy, by their laws, and how often their intervals hold the truth.

Their differences against a slow bootstrap of clusters, and how often a true null is rejected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
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


@given(columns)
def test_a_column_agrees_with_itself(pair: Columns) -> None:
    x, _ = pair
    for coefficient in COEFFICIENTS:
        found = coefficient(x, x)
        if len(set(x)) == 1:
            assert all(map(math.isnan, numbers(found)))
        else:
            assert found.value == pytest.approx(1)
            assert math.isnan(found.low) if len(x) < 4 else (found.low, found.high) == (1, 1)


def test_a_cluster_counts_once() -> None:
    """Rows that are there k times, each time in the same cluster, say no more than once."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, 50)
    y = x + rng.integers(0, 6, 50)
    for coefficient in COEFFICIENTS:
        once = coefficient(x, y)
        again = coefficient(np.repeat(x, 3), np.repeat(y, 3), np.repeat(np.arange(50), 3))
        assert numbers(again) == pytest.approx(numbers(once), abs=1e-12)
        alone = coefficient(np.repeat(x, 3), np.repeat(y, 3))
        assert alone.high - alone.low < 0.7 * (once.high - once.low)


def test_intervals_hold_the_truth() -> None:
    """In 95 % ± 1.5 of 1,000 samples of 100 ties-laden pairs, whose true coefficients a large sample gives."""
    rng = np.random.default_rng(5)

    def sample(n: int) -> tuple[object, object]:
        x = rng.standard_normal(n)
        return np.round(x), np.round(2 * (0.6 * x + rng.standard_normal(n)))

    large = sample(400_000)
    for coefficient in COEFFICIENTS:
        truth = coefficient(*large).value
        found = [coefficient(*sample(100)) for _ in range(1000)]
        held = np.mean([each.low <= truth <= each.high for each in found])
        assert held == pytest.approx(0.95, abs=0.015)


def test_what_cannot_be_ranked_is_told() -> None:
    for x, y in (([1, 2], [1]), ([1, float("nan")], [1, 2])):
        with pytest.raises(dstbench.UsageError, match="cannot be ranked"):
            spearman(x, y)
    assert math.isnan(kendall([], []).value)


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
        turned = compare_rank_correlations(other, one)
        assert (turned.difference, *turned.zou) == pytest.approx((-found.difference, -found.zou[1], -found.zou[0]))
        assert turned.tests["linearised"].p == pytest.approx(outcome.p)
        falling = compare_rank_correlations(*(coefficient([-v for v in c], x, clusters) for c in (z, y)))
        assert falling.tests["linearised"].statistic == pytest.approx(outcome.statistic, abs=1e-9)
        twice = compare_rank_correlations(*(coefficient(c + c, x + x, clusters + clusters) for c in (y, z)))
        assert (*twice.zou, twice.tests["linearised"].p) == pytest.approx((*found.zou, outcome.p), abs=1e-7)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_a_difference_is_as_uncertain_as_resampled_dialogues_say(coefficient: Callable[..., RankCorrelation]) -> None:
    """Turns of 200 dialogues; each resample is a corpus of its own, in which a dialogue may be several times."""
    rng = np.random.default_rng(2)
    lengths = rng.integers(2, 9, 200)
    dialogues = np.repeat(np.arange(200), lengths)
    base = rng.standard_normal(200)[dialogues]
    columns = [np.round(base + rng.standard_normal(200)[dialogues] + rng.standard_normal(len(base)), d) for d in (0, 1)]
    rating = np.clip(np.round(3 + base + 0.5 * rng.standard_normal(len(base))), 1, 5)
    found = compare_rank_correlations(*(coefficient(column, rating, dialogues, level=0.9) for column in columns))
    drawn = []
    rows_of = [np.flatnonzero(dialogues == d) for d in range(200)]
    for _ in range(400):
        rows = np.concatenate([rows_of[d] for d in rng.integers(200, size=200)])
        one, other = (coefficient(column[rows], rating[rows]).value for column in columns)
        drawn.append(one - other)
    low, high = np.quantile(drawn, [0.05, 0.95])
    width = high - low
    assert found.zou == pytest.approx((low, high), abs=0.12 * width)
    assert found.zou[1] - found.zou[0] == pytest.approx(width, rel=0.12)
    far = np.mean(np.abs(np.subtract(drawn, np.mean(drawn))) >= abs(found.difference))
    assert found.tests["linearised"].p == pytest.approx(far, abs=0.06)


def corpus(rng: np.random.Generator, size: int, most: int, noise: tuple[float, float]) -> list[Any]:
    """Ratings from 1 to 5, two metrics that follow them, and the dialogues of their rows (turns, if several)."""
    dialogues = np.repeat(np.arange(size), rng.integers(1, most + 1, size))
    own, shared = rng.standard_normal((4, size))[:, dialogues], rng.standard_normal((4, len(dialogues)))
    base, both, one, other = own + 0.5 * shared
    rating = np.clip(np.round(3 + base), 1, 5)
    return [rating, *(np.round(base + 0.5 * both + s * own, 1) for s, own in zip(noise, (one, other), strict=True)),
            dialogues]  # fmt: skip


@pytest.mark.parametrize(("size", "most"), [(25, 1), (60, 8)])
@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_a_true_null_is_rejected_at_the_level(
    coefficient: Callable[..., RankCorrelation], size: int, most: int
) -> None:
    """Two equally noisy metrics, in 1,000 corpora of 25 dialogues, or of 60 with 1 to 8 turns each."""
    rng = np.random.default_rng(1)
    p = []
    for _ in range(1000):
        rating, one, other, dialogues = corpus(rng, size, most, (1, 1))
        found = compare_rank_correlations(*(coefficient(column, rating, dialogues) for column in (one, other)))
        p.append(found.tests["linearised"].p)
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_intervals_of_differences_hold_the_truth(coefficient: Callable[..., RankCorrelation]) -> None:
    """In 95 % ± 1.5 of 1,000 corpora, where one metric is noisier; a large corpus gives the truth."""
    rng = np.random.default_rng(4)
    rating, *two, _ = corpus(rng, 100_000, 4, (0.5, 1.5))
    truth = coefficient(two[0], rating).value - coefficient(two[1], rating).value
    assert truth > 0.1
    held = []
    for _ in range(1000):
        rating, *two, dialogues = corpus(rng, 60, 4, (0.5, 1.5))
        low, high = compare_rank_correlations(*(coefficient(c, rating, dialogues) for c in two)).zou
        held.append(low <= truth <= high)
    assert np.mean(held) == pytest.approx(0.95, abs=0.015)


def test_differences_that_cannot_be_computed_are_told() -> None:
    rating, one = [1, 2, 3, 4, 5, 5], [2, 1, 4, 3, 5, 6]
    for coefficient in COEFFICIENTS:
        usual = coefficient(one, rating)
        for other, why in (
            (coefficient([0] * 6, rating), "over 6 and 0 clusters"),
            (coefficient(one[:5], rating[:5]), "over 6 and 5 clusters"),
            (coefficient(one, rating, level=0.9), "at one level"),
            (coefficient(rating, rating), "of ±1 cannot be compared"),
            (coefficient([v**3 for v in one], rating), "follows from the other"),
        ):
            with pytest.raises(dstbench.UsageError, match=why):
                compare_rank_correlations(usual, other)
        few = coefficient(one[:3], rating[:3])
        with pytest.raises(dstbench.UsageError, match="at least 4 clusters"):
            compare_rank_correlations(few, few)
