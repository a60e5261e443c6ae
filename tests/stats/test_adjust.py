"""p of several hypotheses: by hand, by scipy, and laws."""

from __future__ import annotations

import math
import statistics
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

import dstbench
from dstbench.analysis.verdicts import judge
from dstbench.stats import (
    Null,
    benjamini_hochberg,
    benjamini_yekutieli,
    bonferroni,
    hochberg,
    holm,
    max_t,
    resamples_needed,
    smallest_p,
)
from dstbench.stats.attainable import at_most, smallest_p_of_swaps
from dstbench.typing import Adjustment

ALL = (bonferroni, holm, hochberg, benjamini_hochberg, benjamini_yekutieli)
several = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.05, 1.0])), max_size=12)


def test_by_hand() -> None:
    p = [0.04, 0.01, 0.02, 0.03]
    assert bonferroni(p).tolist() == pytest.approx([0.16, 0.04, 0.08, 0.12])
    assert holm(p).tolist() == pytest.approx([0.06, 0.04, 0.06, 0.06])  # 4·.01, 3·.02, 2·.03, 1·.04
    assert hochberg(p).tolist() == pytest.approx([0.04, 0.04, 0.04, 0.04])
    assert benjamini_hochberg(p).tolist() == pytest.approx([0.04] * 4)
    assert benjamini_yekutieli(p).tolist() == pytest.approx([0.04 * 25 / 12] * 4)
    p = [0.5, 0.001, 0.02]
    assert bonferroni(p).tolist() == pytest.approx([1, 0.003, 0.06])
    assert holm(p).tolist() == pytest.approx([0.5, 0.003, 0.04])
    assert benjamini_hochberg(p).tolist() == pytest.approx([0.5, 0.003, 0.03])


@given(several)
def test_benjaminis_are_scipys(p: list[float]) -> None:
    if p:
        assert benjamini_hochberg(p) == pytest.approx(reference.false_discovery_control(p))
        assert benjamini_yekutieli(p) == pytest.approx(reference.false_discovery_control(p, method="by"))


@given(several)
def test_who_is_stricter_than_whom(p: list[float]) -> None:
    by_hochberg, by_holm, by_bonferroni = hochberg(p), holm(p), bonferroni(p)
    room = 1e-12
    assert (np.array(p) <= benjamini_hochberg(p) + room).all()
    assert (benjamini_hochberg(p) <= by_hochberg + room).all()
    assert (by_hochberg <= by_holm + room).all()
    assert (by_holm <= by_bonferroni + room).all()
    assert (benjamini_hochberg(p) <= benjamini_yekutieli(p) + room).all()


@given(several.filter(bool), st.randoms(use_true_random=False))
def test_order_is_kept_and_does_not_matter(p: list[float], rng: object) -> None:
    order = list(range(len(p)))
    rng.shuffle(order)  # type: ignore[attr-defined]
    for adjust in ALL:
        assert adjust([p[i] for i in order]).tolist() == adjust(p)[order].tolist()
        assert (adjust(p)[np.argsort(p, kind="stable")][:-1] <= adjust(p)[np.argsort(p, kind="stable")][1:]).all()
        assert adjust(p[:1]).tolist() == p[:1]


@pytest.mark.parametrize("p", [[-0.1], [1.1], [float("nan")], [[0.5]], 0.5])
def test_what_is_no_p_is_refused(p: list[float]) -> None:
    for adjust in ALL:
        with pytest.raises(dstbench.UsageError, match="from 0 to 1"):
            adjust(p)


def test_numbers_of_any_type_are_taken_as_doubles() -> None:
    for adjust in ALL:
        assert adjust(np.array([0.01, 0.5], np.float32)).dtype == np.float64
    # −128 has no absolute value in a byte.
    assert max_t(np.array([-128], np.int8), np.array([[127], [-128]], np.int8)).tolist() == [2 / 3]


def test_max_t_by_hand() -> None:
    resampled = [[1, 2], [-1, 4], [1, 0], [-1, 0], [1, 0], [-1, 2], [1, 4], [-1, 0]]
    assert np.sqrt(np.mean(np.square(resampled), axis=0)) == pytest.approx([1, np.sqrt(5)])
    # In units of those, the first is 2, which none of the largest reaches (4/√5 = 1.79); the second is 3.8/√5, which
    # two of its own reach.
    assert max_t([2, 3.8], resampled).tolist() == pytest.approx([1 / 9, 3 / 9])
    # Tied but for the last bits.
    assert max_t([2, 4 + 1e-12], resampled).tolist() == pytest.approx([1 / 9, 1 / 9])
    assert max_t([2, 4 + 1e-12], resampled, [0, 1e-9]).tolist() == pytest.approx([1 / 9, 3 / 9])


@given(st.integers(0, 1000), st.integers(1, 6))
def test_max_t_is_its_definition_and_never_below_single_p(seed: int, hypotheses: int) -> None:
    rng = np.random.default_rng(seed)
    resampled = rng.standard_normal((199, hypotheses)) + rng.standard_normal((199, 1))
    resampled[rng.random(resampled.shape) < 0.01 * (seed % 3)] = np.nan  # counts as extreme
    observed = rng.standard_normal(hypotheses) * 3
    alone = (1 + (~(np.abs(resampled) < np.abs(observed))).sum(axis=0)) / 200
    found = max_t(observed, resampled)
    assert (found >= alone - 1e-12).all()
    scale = [statistics.fmean(float(t) ** 2 for t in column if not np.isnan(t)) ** 0.5 for column in resampled.T]
    sizes = {j: abs(float(observed[j])) / scale[j] for j in range(hypotheses)}
    reached = 0.0
    for j in sorted(sizes, key=lambda j: -sizes[j]):  # the largest is compared with all, the last with itself only
        left = [i for i in sizes if sizes[i] <= sizes[j]]
        extreme = [row for row in resampled if any(not abs(row[i]) / scale[i] < sizes[j] for i in left)]
        reached = max(reached, (1 + len(extreme)) / 200)
        assert found[j] == pytest.approx(reached)
    if hypotheses == 1:
        assert found == pytest.approx(alone)
    same = max_t(np.repeat(observed[:1], 5), np.repeat(resampled[:, :1], 5, axis=1))
    assert same == pytest.approx(alone[:1].repeat(5))  # one hypothesis said five times costs nothing
    scaled = max_t(observed * np.arange(1, hypotheses + 1), resampled * np.arange(1, hypotheses + 1))
    assert scaled == pytest.approx(found)


def test_max_t_of_nothing_and_of_undefined() -> None:
    assert max_t([0.0], [[0.0], [0.0]]).tolist() == [1.0]
    assert max_t([], np.empty((3, 0))).tolist() == []
    assert max_t([5.0], [[1.0], [np.nan], [1.0]]).tolist() == [0.5]
    # In units of the one resample that is defined, that resample is 1, which does not reach 1.2.
    assert max_t([0.5, 1.2], [[2.0, 1.0], [np.nan, 1.0]]).tolist() == [1, 2 / 3]
    # What no resample moves stands as it is: 3, which 2 does not reach.
    assert max_t([3.0, 1.9], [[0, 2], [0, 0], [0, 0], [0, 0]]).tolist() == [1 / 5, 2 / 5]
    with pytest.raises(dstbench.UsageError, match="undefined statistic"):
        max_t([np.nan], [[1.0]])
    with pytest.raises(dstbench.UsageError, match="no resamples of shape"):
        max_t([1.0, 2.0], [[1.0]])
    for observed, resampled in ((np.ones((1, 2)), np.ones((1, 1))), (np.ones(1), np.ones(1))):
        with pytest.raises(dstbench.UsageError, match="no resamples of shape"):
            max_t(observed, resampled)


# --- what can be significant at all ----------------------------------------------------------------------------------

ADJUSTMENTS = get_args(Adjustment)
levels = st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999])
#: How many dialogues of each pair of runs differ; None: the test has no such bound.
discordant = st.lists(st.one_of(st.none(), st.integers(0, 14)), min_size=1, max_size=8)


def extreme(counts: list[int | None], resamples: int) -> list[Null]:
    """Differences that no resample reaches: there are no smaller p."""
    return [
        Null(float(2 + number), np.zeros(resamples), 0.0, 0.0 if k is None else smallest_p_of_swaps(k))
        for number, k in enumerate(counts)
    ]


@given(st.integers(1, 8), st.integers(1, 2000))
def test_the_smallest_adjusted_p_by_formulas(m: int, resamples: int) -> None:
    factors = {"holm": m, "bonferroni": m, "by": sum(1 / i for i in range(1, m + 1))}
    for adjust in ADJUSTMENTS:
        wanted = min(1, factors.get(adjust, 1) / (resamples + 1))
        for row in judge(extreme([None] * m, resamples), adjust, 0.95):
            assert row["p_smallest"] == pytest.approx(wanted)
            assert row["p_adjusted"] == row["p_smallest"]
            assert row["resamples_needed"] == max(1, math.ceil(factors.get(adjust, 1) * 20 - 1e-9) - 1)
            assert row["significant"] == (True if resamples >= row["resamples_needed"] else None)


@given(discordant, st.integers(1, 300), st.sampled_from(ADJUSTMENTS), levels, st.integers(0, 999))
def test_no_adjusted_p_is_smaller_than_the_smallest(
    counts: list[int | None], resamples: int, adjust: Adjustment, level: float, seed: int
) -> None:
    best = judge(extreme(counts, resamples), adjust, level)
    assert [row["p_adjusted"] for row in best] == [row["p_smallest"] for row in best]
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((resamples, len(counts)))
    nulls = [
        Null(float(rng.standard_normal() * 3), drawn[:, i], 0.0, null.bound)
        for i, null in enumerate(extreme(counts, resamples))
    ]
    for row, least in zip(judge(nulls, adjust, level), best, strict=True):
        assert row["p_smallest"] == least["p_smallest"] <= row["p_adjusted"] * (1 + 1e-12)
        assert row["resamples_needed"] == least["resamples_needed"]
        assert (row["significant"] is None) == (least["p_smallest"] > (1 - level) * (1 + 1e-9))
        assert row["significant"] in (None, row["p_adjusted"] <= (1 - level) * (1 + 1e-9))


@given(discordant, st.sampled_from(ADJUSTMENTS), levels)
def test_the_resamples_that_are_named_suffice_and_one_less_does_not(
    counts: list[int | None], adjust: Adjustment, level: float
) -> None:
    named = [row["resamples_needed"] for row in judge(extreme(counts, 1), adjust, level)]
    for number, needed in enumerate(named):
        if needed is None:  # ten thousand are not enough either
            assert judge(extreme(counts, 10**4), adjust, level)[number]["significant"] is None
        else:
            assert judge(extreme(counts, needed), adjust, level)[number]["significant"]
            assert needed == 1 or judge(extreme(counts, needed - 1), adjust, level)[number]["significant"] is None


def test_a_level_is_reached_whatever_the_last_bits() -> None:
    for m in range(1, 200):
        for alpha in (0.1, 0.05, 0.01, 0.001):
            factor = round(m / alpha)  # all of these are whole numbers
            assert resamples_needed([0.0] * m, alpha, holm) == [max(1, factor - 1)] * m
            assert at_most(holm(smallest_p([0.0] * m, factor - 1)), alpha).all()
    assert not at_most(float("nan"), 0.05)


def test_undefined_differences_are_not_counted() -> None:
    nulls = extreme([None, None], 99)
    nulls.insert(1, Null(float("nan"), np.zeros(99), 0.0))
    rows = judge(nulls, "holm", 0.95)
    assert [row["m"] for row in rows] == [2, 2, 2]
    assert [row["resamples_needed"] for row in rows] == [39, None, 39]
    assert [row["significant"] for row in rows] == [True, None, True]
    assert np.isnan([rows[1][name] for name in ("p", "p_adjusted", "p_smallest")]).all()
