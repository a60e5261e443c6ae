"""Intervals of shares, tails and quantiles: by scipy, and their bounds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

import dstbench
from dstbench.stats import smallest_detectable, wilson
from dstbench.stats.normal import critical, two_sided


@given(st.integers(1, 500), st.data(), st.floats(0.5, 0.999))
def test_wilson_is_scipys(n: int, data: st.DataObject, level: float) -> None:
    right = data.draw(st.integers(0, n))
    theirs = reference.binomtest(right, n).proportion_ci(level, method="wilson")
    found = wilson(right / n, n, level=level)
    assert found == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert 0 <= found[0] <= found[1] <= 1


def test_the_level_of_an_interval_is_95_percent_unless_another_is_asked_for() -> None:
    assert wilson(0.3, 20) == wilson(0.3, 20, level=0.95)
    assert critical(0.95) == pytest.approx(reference.norm.isf(0.025))


def test_an_effective_number_may_be_below_1() -> None:
    low, high = wilson(0.5, 0.5)
    assert 0 <= low < 0.5 < high <= 1


@pytest.mark.parametrize(("share", "n"), [(-0.1, 5), (1.1, 5), (math.nan, 5), (0.5, 0), (0.5, -1)])
def test_what_is_no_share_is_refused(share: float, n: float) -> None:
    with pytest.raises(dstbench.UsageError, match=f"a share of {share} among {n}"):
        wilson(share, n)


@given(st.floats(-30, 30), st.one_of(st.none(), st.integers(1, 200)))
def test_p_is_both_tails(z: float, df: int | None) -> None:
    law = reference.norm if df is None else reference.t(df)
    assert two_sided(z, df) == pytest.approx(2 * law.sf(abs(z)), rel=1e-9, abs=0)


def test_what_can_be_detected_grows_with_the_error_and_with_the_strictness_of_the_test() -> None:
    assert smallest_detectable(0.5) == smallest_detectable(1.0) / 2 == pytest.approx(1.4, abs=0.001)
    assert smallest_detectable(0.5) < smallest_detectable(0.5, alpha=0.05 / 3) < smallest_detectable(0.5, 0.05 / 3, 5)
