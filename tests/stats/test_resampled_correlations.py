"""Correlations by resampling clusters: against a slow bootstrap of rows, and against a true null."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import dstbench
from dstbench.stats import interval, pearson, resampled_correlations, weights

Floats = NDArray[np.float64]


@st.composite
def rows_of_dialogues(draw: st.DrawFn) -> tuple[list[Floats], NDArray[np.int64]]:
    """Three columns with ties and gaps, in dialogues of different lengths."""
    lengths = draw(st.lists(st.integers(1, 4), min_size=2, max_size=7))
    n = sum(lengths)
    value = st.sampled_from([float("nan"), 0.0, 0.25, 1.0, 3.0, -2.5])
    columns = [np.array(draw(st.lists(value, min_size=n, max_size=n))) for _ in range(3)]
    return columns, np.repeat(np.arange(len(lengths)), lengths)


def slow(x: Floats, y: Floats, dialogues: NDArray[np.int64], resamples: int, seed: int) -> list[float]:
    """r over the rows of the drawn dialogues, each repeated as often as its dialogue is drawn."""
    found = []
    for block in weights(int(dialogues.max()) + 1, resamples, seed):
        for times in block.astype(int):
            rows = np.repeat(np.arange(len(x)), times[dialogues])
            found.append(pearson(x[rows], y[rows])[0])
    return found


@given(rows_of_dialogues(), st.integers(0, 5))
def test_sums_per_dialogue_give_what_rows_give(rows: tuple[list[Floats], NDArray[np.int64]], seed: int) -> None:
    (x, y, z), dialogues = rows
    pairs = [(x, y), (x, z)]
    for (a, b), fast in zip(pairs, resampled_correlations(pairs, dialogues, 30, seed), strict=True):
        assert fast.observed == pytest.approx(pearson(a, b)[0], abs=1e-9, nan_ok=True)
        assert fast.resampled.tolist() == pytest.approx(slow(a, b, dialogues, 30, seed), abs=1e-9, nan_ok=True)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(0, 9))
def test_units_change_nothing(shift: float, scale: float, seed: int) -> None:
    """Also where the mean is a million times the spread, which sums of squares as they are would not survive."""
    rng = np.random.default_rng(seed)
    dialogues = np.repeat(np.arange(20), 3)
    x, y = rng.random((2, 60))
    (one,) = resampled_correlations([(x, y)], dialogues, 20)
    (other,) = resampled_correlations([(np.round(x, 6) * scale + shift * scale, y)], dialogues, 20)
    assert other.resampled == pytest.approx(one.resampled, abs=1e-3)


def test_one_row_per_dialogue_gives_the_interval_of_independent_rows() -> None:
    """For normal columns, for which Fisher's interval holds."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal(2000)
    y = 0.5 * x + rng.standard_normal(2000)
    (drawn,) = resampled_correlations([(x, y)], np.arange(2000), 4000)
    assert drawn.estimate().percentile == pytest.approx(interval(*pearson(x, y)), abs=0.006)


def test_what_cannot_be_resampled_is_told() -> None:
    with pytest.raises(dstbench.UsageError, match="cannot be correlated over"):
        resampled_correlations([([1, 2], [1, 2])], [0])
    with pytest.raises(dstbench.UsageError, match="at least two dialogues"):
        resampled_correlations([([1, 2], [1, 2])], [0, 0])


def test_a_true_null_is_rejected_at_the_level() -> None:
    """r(x, y) = r(x, z), in 1,000 corpora of 100 dialogues of 3 to 12 turns, which share the draws of 999 resamples.

    y and z are equally noisy copies of x. Dialogues differ in all three, and turns are as their dialogue is. A test
    over turns, which is not offered, rejects far too often.
    """
    rng = np.random.default_rng(7)
    corpora, size = 1000, 100
    dialogues = np.repeat(np.arange(size), rng.integers(3, 13, size))
    pairs: list[tuple[Floats, Floats]] = []
    for _ in range(corpora):
        noise = rng.standard_normal((3, size))[:, dialogues] + 0.5 * rng.standard_normal((3, len(dialogues)))
        pairs += [(noise[0], noise[0] + noise[1]), (noise[0], noise[0] + noise[2])]

    def rejections(clusters: NDArray[np.int64], of_corpora: int) -> float:
        drawn = resampled_correlations(pairs[: 2 * of_corpora], clusters, 999, seed=1)
        return float(np.mean([(a - b).p() <= 0.05 for a, b in zip(drawn[::2], drawn[1::2], strict=True)]))

    assert rejections(dialogues, corpora) == pytest.approx(0.05, abs=0.015)
    assert rejections(np.arange(len(dialogues)), 100) > 0.2


def test_a_difference_is_that_of_the_slow_bootstrap() -> None:
    """Its interval and its p."""
    rng = np.random.default_rng(11)
    dialogues = np.repeat(np.arange(40), rng.integers(1, 6, 40))
    x = rng.random(len(dialogues))
    y, z = x + rng.random(len(x)), x + 1.5 * rng.random(len(x))
    one, other = resampled_correlations([(x, y), (x, z)], dialogues, 200, seed=2)
    drawn = np.subtract(slow(x, y, dialogues, 200, 2), slow(x, z, dialogues, 200, 2))
    difference: Any = one - other
    assert difference.estimate(0.9).percentile == pytest.approx(np.quantile(drawn, [0.05, 0.95]))
    far = np.abs(drawn - drawn.mean()) >= abs(pearson(x, y)[0] - pearson(x, z)[0])
    assert difference.p() == pytest.approx((1 + far.sum()) / 201)
