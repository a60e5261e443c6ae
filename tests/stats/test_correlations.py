"""Correlations and their differences: printed values, identities of the formulas, and scipy where it has the test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as reference

import dstbench
from dstbench.stats import (
    Comparison,
    compare_independent,
    compare_nonoverlapping,
    compare_overlapping,
    interval,
    pearson,
)

sizes = st.integers(5, 5000)


@st.composite
def matrices(draw: st.DrawFn, variables: int) -> list[list[float]]:
    """Correlations that variables can have together: those of random loadings."""
    loadings = np.array([[draw(st.floats(-1, 1)) for _ in range(variables)] for _ in range(variables)]) + 0.5 * np.eye(
        variables
    )
    covariance = loadings @ loadings.T + 0.1 * np.eye(variables)
    scale = np.sqrt(np.diag(covariance))
    found: list[list[float]] = (covariance / np.outer(scale, scale)).tolist()
    return found


def overlapping(r: list[list[float]], n: int, level: float = 0.95) -> Comparison:
    return compare_overlapping(r[0][1], r[0][2], r[1][2], n, level=level)


def nonoverlapping(r: list[list[float]], n: int, level: float = 0.95) -> Comparison:
    return compare_nonoverlapping(r[0][1], r[2][3], r[0][2], r[0][3], r[1][2], r[1][3], n, level=level)


def test_what_a_comparison_holds() -> None:
    """Its statistics are among the values of `tests/test_published.py`."""
    found = compare_overlapping(0.59, 0.40, 0.69, 1344)
    assert len(found.tests) == 9
    assert found.difference == pytest.approx(0.19)
    with_df = {name: test.df for name, test in found.tests.items() if test.df is not None}
    assert with_df == dict.fromkeys(("hotelling1940", "williams1959", "hendrickson1970"), 1341)
    found = compare_nonoverlapping(0.3, 0.4, 0.5, 0.8, 0.6, 0.7, 100)
    assert found.level == 0.95
    assert compare_overlapping(0.59, 0.40, 0.69, 1344, level=0.9).level == 0.9
    assert compare_independent(0.4, 100, 0.5, 100, level=0.9).level == 0.9
    assert list(found.tests) == ["pearson1898", "dunn1969", "steiger1980", "raghunathan1996", "silver2004"]


@given(matrices(3), sizes)
def test_identities_of_overlapping_tests(r: list[list[float]], n: int) -> None:
    tests = overlapping(r, n).tests
    assert tests["olkin1967"].statistic == pytest.approx(tests["pearson1898"].statistic, rel=1e-6, abs=1e-9)
    lo, hi = tests["meng1992"].interval or (math.nan, math.nan)
    assert (lo + hi) / 2 == pytest.approx(math.atanh(r[0][1]) - math.atanh(r[0][2]), abs=1e-9)
    assert (not lo <= 0 <= hi) == (tests["meng1992"].p < 0.05)


@given(matrices(4), sizes, st.floats(0.5, 0.99), st.floats(0.5, 0.99))
def test_intervals_hold_the_difference_and_are_nested(r: list[list[float]], n: int, one: float, other: float) -> None:
    low, high = sorted((one, other))
    for compare in (overlapping, nonoverlapping):
        inner, outer = compare(r, n, low), compare(r, n, high)
        assert outer.zou[0] <= inner.zou[0] < inner.difference < inner.zou[1] <= outer.zou[1]


@pytest.mark.parametrize("r", [-1, 1, 1.5, math.nan, math.inf])
def test_correlations_that_cannot_be_compared_are_refused(r: float) -> None:
    for place in range(3):
        three = [0.1, 0.2, 0.3]
        three[place] = r
        with pytest.raises(dstbench.UsageError, match="not between -1 and 1"):
            compare_overlapping(three[0], three[1], three[2], 100)
    for place in range(6):
        six = [0.1, 0.2, 0.3, 0.1, 0.2, 0.3]
        six[place] = r
        with pytest.raises(dstbench.UsageError, match="not between -1 and 1"):
            compare_nonoverlapping(six[0], six[1], six[2], six[3], six[4], six[5], 100)
    with pytest.raises(dstbench.UsageError, match="r2 = "):
        compare_independent(0.1, 100, r, 100)
    with pytest.raises(dstbench.UsageError, match="r1 = "):
        compare_independent(r, 100, 0.1, 100)
    if abs(r) != 1:
        with pytest.raises(dstbench.UsageError, match="r = "):
            interval(r, 100)


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=4, max_size=40), st.floats(0.5, 0.99))
def test_pearson_is_scipys(pairs: list[tuple[int, int]], level: float) -> None:
    x, y = (np.array(column, float) for column in zip(*pairs, strict=True))
    r, n = pearson(x, y)
    assert n == len(pairs)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(r)
        return
    theirs = reference.pearsonr(x, y)
    assert r == pytest.approx(theirs.statistic, abs=1e-12)
    assume(abs(r) < 0.999999)
    limits = theirs.confidence_interval(level)
    assert interval(r, n, level) == pytest.approx((limits.low, limits.high), abs=1e-9)


_CELLS = st.one_of(st.integers(0, 5), st.just(math.nan))


@given(st.lists(st.tuples(_CELLS, _CELLS), min_size=1, max_size=8))
def test_a_correlation_is_over_the_complete_rows(rows: list[tuple[float, float]]) -> None:
    kept = [row for row in rows if not any(map(math.isnan, row))]
    r, n = pearson(*zip(*rows, strict=True))
    assert n == len(kept)
    assert r == pytest.approx(pearson([a for a, _ in kept], [b for _, b in kept])[0], nan_ok=True)


def test_columns_that_do_not_vary_have_no_correlation() -> None:
    assert math.isnan(pearson([0.1] * 7, range(7))[0])  # their mean is not 0.1
    r, n = pearson([1e300, 2e300, 4e300], [1e-300, 2e-300, 4e-300])
    assert r == pytest.approx(1)
    assert n == 3
    with pytest.raises(dstbench.UsageError, match="cannot be correlated"):
        pearson([1, 2], [1, 2, 3])


@pytest.mark.parametrize("n", [3, 0, -5, 10.5, math.nan, math.inf])
def test_too_few_units_are_refused(n: int) -> None:
    for compare in (
        lambda: compare_overlapping(0.1, 0.2, 0.3, n),
        lambda: compare_nonoverlapping(0.1, 0.2, 0.3, 0.1, 0.2, 0.3, n),
        lambda: compare_independent(0.1, 100, 0.2, n),
        lambda: interval(0.1, n),
        lambda: interval(1, n),
    ):
        with pytest.raises(dstbench.UsageError, match="at least 4"):
            compare()


def test_correlations_that_cannot_be_together_are_refused() -> None:
    with pytest.raises(dstbench.UsageError, match="no 3 variables"):
        compare_overlapping(0.9, -0.9, 0.9, 100)
    with pytest.raises(dstbench.UsageError, match="no 3 variables"):
        compare_overlapping(0.6, 0.8, 0.48 + math.sqrt(1 - 0.36) * math.sqrt(1 - 0.64), 100)  # exactly singular
    with pytest.raises(dstbench.UsageError, match="no 4 variables"):
        compare_nonoverlapping(0.9, 0.9, 0.9, -0.9, 0.9, 0.9, 100)
    for jh, jm, kh, km in ((0.8, 0, 0.2, 0), (0, 0.8, 0, 0.2)):  # of two that correlate by 0.2, none is as near to both
        with pytest.raises(dstbench.UsageError, match="no 4 variables"):
            compare_nonoverlapping(0.8, 0, jh, jm, kh, km, 100)
