"""p of several hypotheses: by hand, by scipy, and laws."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

import dstbench
from dstbench.stats import benjamini_hochberg, benjamini_yekutieli, bonferroni, hochberg, holm, max_t

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
