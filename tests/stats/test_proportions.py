"""Intervals of shares, tails and quantiles: by scipy, and their bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from dstbench.stats import smallest_detectable, wilson
from dstbench.stats.normal import two_sided


@given(st.integers(1, 500), st.data(), st.floats(0.5, 0.999))
def test_wilson_is_scipys(n: int, data: st.DataObject, level: float) -> None:
    right = data.draw(st.integers(0, n))
    theirs = reference.binomtest(right, n).proportion_ci(level, method="wilson")
    found = wilson(right / n, n, level=level)
    assert found == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert 0 <= found[0] <= found[1] <= 1


@given(st.floats(-30, 30), st.one_of(st.none(), st.integers(1, 200)))
def test_p_is_both_tails(z: float, df: int | None) -> None:
    law = reference.norm if df is None else reference.t(df)
    assert two_sided(z, df) == pytest.approx(2 * law.sf(abs(z)), rel=1e-9, abs=0)


def test_what_can_be_detected_grows_with_the_error_and_with_the_strictness_of_the_test() -> None:
    assert smallest_detectable(0.5) == smallest_detectable(1.0) / 2 == pytest.approx(1.4, abs=0.001)
    assert smallest_detectable(0.5) < smallest_detectable(0.5, alpha=0.05 / 3) < smallest_detectable(0.5, 0.05 / 3, 5)
