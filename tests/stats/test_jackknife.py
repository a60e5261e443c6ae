"""Correlations with each cluster left out in turn: against leaving out rows, against their laws, and a true null."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats as reference

from dstbench.stats import Jackknifed, jackknifed_correlation, pearson

Floats = NDArray[np.float64]
Dialogues = NDArray[np.int64]


@st.composite
def rows_of_dialogues(draw: st.DrawFn) -> tuple[list[Floats], Dialogues]:
    """Three columns with ties and gaps, in dialogues of different lengths."""
    lengths = draw(st.lists(st.integers(1, 4), min_size=2, max_size=9))
    n = sum(lengths)
    value = st.sampled_from([float("nan"), 0.0, 0.25, 1.0, 3.0, -2.5])
    columns = [np.array(draw(st.lists(value, min_size=n, max_size=n))) for _ in range(3)]
    return columns, np.repeat(np.arange(len(lengths)), lengths)


def without_each(x: Floats, y: Floats, dialogues: Dialogues) -> list[float]:
    """r over the rows of the other dialogues, for each dialogue in which both are defined."""
    defined = ~(np.isnan(x) | np.isnan(y))
    return [pearson(x[dialogues != d], y[dialogues != d])[0] for d in np.unique(dialogues[defined])]


def check(found: Jackknifed, left_out: list[float], level: float) -> None:
    """Interval and p from the values without each dialogue, by the formulas."""
    n, value = len(left_out), found.value
    if n < 4 or np.isnan([value, *left_out]).any():
        assert found.limits(level) is None
        assert math.isnan(found.p())
        return
    mean = math.fsum(left_out) / n
    influences = [(mean - each) * math.sqrt((n - 1) / n) for each in left_out]
    moments = {power: math.fsum(each**power for each in influences) for power in (2, 3, 4)}
    se = math.sqrt(moments[2])
    assert found.spread.se == pytest.approx(se, abs=1e-6)
    assume(moments[2] > 1e-9)
    df = (n - 1) / n * moments[2] ** 2 / moments[4]
    skew = moments[3] / se**3 * df / (df + 1)
    assert (found.spread.df, found.spread.skew) == pytest.approx((df, skew), rel=1e-4, abs=1e-4)
    t = reference.t(df)

    def p_of(truth: float, estimate: float, error: float) -> float:
        off = (estimate - truth) / error
        return 2 * float(t.sf(abs(off + skew * off**2 / 3 + skew**2 * off**3 / 27 + skew / 6)))

    # The ends of the interval are the values that its test just does not reject.
    assert found.p() == pytest.approx(p_of(0, value, se), rel=1e-3, abs=1e-9)
    limits = found.limits(level) or (math.nan, math.nan)
    assert [p_of(end, value, se) for end in limits] == pytest.approx([1 - level] * 2, rel=1e-3)
    assert limits[0] < limits[1]
    limits = found.limits(level, fisher=True) or (math.nan, math.nan)
    if abs(value) < 0.999 and max(map(abs, limits)) < 1 - 1e-6:
        error = se / (1 - value**2)
        ends = [p_of(math.atanh(end), math.atanh(value), error) for end in limits]
        assert ends == pytest.approx([1 - level] * 2, rel=1e-3)


@given(rows_of_dialogues(), st.sampled_from([0.9, 0.95]))
def test_sums_per_dialogue_give_what_rows_give(rows: tuple[list[Floats], Dialogues], level: float) -> None:
    (x, y, z), dialogues = rows
    one = jackknifed_correlation(x, y, dialogues)
    assert one.value == pytest.approx(pearson(x, y)[0], abs=1e-9, nan_ok=True)
    check(one, without_each(x, y, dialogues), level)
    complete = ~np.isnan([x, y, z]).any(axis=0)
    dialogues = dialogues[complete]
    x, y, z = (column[complete] for column in (x, y, z))
    difference = jackknifed_correlation(x, y, dialogues) - jackknifed_correlation(x, z, dialogues)
    left_out = np.subtract(without_each(x, y, dialogues), without_each(x, z, dialogues)).tolist()
    check(difference, left_out, level)


def test_few_dialogues_that_decide_leave_few_degrees_of_freedom() -> None:
    """Two of a hundred dialogues are wrong, and a correlation with what is right says nearly nothing."""
    x, y = np.ones(100), np.random.default_rng(0).random(100)
    x[:2] = 0
    found = jackknifed_correlation(x, y)
    assert 1 <= found.spread.df < 3
    x[1] = 1  # without dialogue 0, x does not vary
    assert jackknifed_correlation(x, y).limits() is None
    assert jackknifed_correlation(x, x + 0.0).limits() is None
    same = jackknifed_correlation(y, 2 * y)
    assert same.limits(fisher=True) == pytest.approx((1, 1))
