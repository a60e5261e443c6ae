"""Resampling of dialogues: exact sums, the same bits anywhere, and what scipy and formulas say in simple cases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats as reference

import dstbench
from dstbench.stats import (
    Bootstrap,
    Null,
    Randomisation,
    Replicates,
    as_exact_floats,
    linearised_se,
)
from dstbench.stats import resampling as module
from dstbench.stats.resampling import swaps, weights

Floats = NDArray[np.float64]


def ratio(sums: Floats) -> Floats:
    shares: Floats = sums[:, 0] / sums[:, 1]
    return shares


def corpus(runs: int, dialogues: int, seed: int = 0) -> Floats:
    """Right turns and turns, of dialogues that are as long in every run."""
    rng = np.random.default_rng(seed)
    turns = np.broadcast_to(rng.integers(1, 12, size=dialogues), (runs, dialogues))
    return np.stack([rng.binomial(turns, 0.6), turns], axis=2).astype(np.float64)


# --- draws ---------------------------------------------------------------------------------------------------------


@given(st.integers(1, 200), st.integers(1, 40), st.integers(0, 9), st.integers(1, 20_000))
@example(dialogues=10, resamples=7, seed=0, size=240)  # blocks of 3, 3 and 1
def test_blocks_change_nothing(dialogues: int, resamples: int, seed: int, size: int) -> None:
    for draw in (weights, swaps):
        whole = np.concatenate(list(draw(dialogues, resamples, seed)))
        assert whole.shape == (resamples, dialogues)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_BLOCK", size)
            blocks = list(draw(dialogues, resamples, seed))
        assert all(block.nbytes <= max(size, 8 * dialogues) for block in blocks)
        assert (np.concatenate(blocks) == whole).all()
        assert (np.concatenate(list(draw(dialogues, resamples + 3, seed)))[:resamples] == whole).all()


def test_draws_are_those_of_their_distributions() -> None:
    counts = np.concatenate(list(weights(50, 4000)))
    assert (counts.sum(axis=1) == 50).all()
    seen = np.array([(counts == number).mean() for number in range(4)])
    assert seen == pytest.approx(reference.binom(50, 1 / 50).pmf(range(4)), abs=0.005)
    assert counts.mean(axis=0) == pytest.approx(np.ones(50), abs=0.08)
    coins = np.concatenate(list(swaps(130, 4000)))
    assert set(np.unique(coins)) == {0, 1}
    assert coins.mean(axis=0) == pytest.approx(np.full(130, 0.5), abs=0.04)
    assert np.corrcoef(coins.T)[np.triu_indices(130, 1)] == pytest.approx(np.zeros(130 * 129 // 2), abs=0.1)
    assert (counts != np.concatenate(list(weights(50, 4000, seed=1)))).any()
    assert (coins != np.concatenate(list(swaps(130, 4000, seed=1)))).any()


# --- exact sums ----------------------------------------------------------------------------------------------------


@given(st.integers(2, 60), st.integers(0, 99))
def test_totals_are_the_integers_themselves(dialogues: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    turns = rng.random((2, dialogues, 2)) * 30 * 2.0**62  # as metrics add up ratios
    exact = as_exact_floats(turns)
    assert np.abs(exact - turns).max() <= turns.max() * dialogues * 2.0**-51
    integers = [[[int(value) for value in dialogue] for dialogue in run] for run in exact]
    found = Bootstrap.draw(exact, resamples=5, seed=seed)
    for row, counts in enumerate(np.concatenate(list(weights(dialogues, 5, seed)))):
        for run, stat in itertools.product(range(2), range(2)):
            by_hand = sum(int(times) * one[stat] for times, one in zip(counts, integers[run], strict=True))
            assert int(found.resampled[row, run, stat]) == by_hand


# --- bootstrap -----------------------------------------------------------------------------------------------------


def test_percentiles_and_standard_errors_are_scipys() -> None:
    values = np.random.default_rng(3).gamma(1.5, size=40)
    rng = np.random.default_rng(1)  # as random_state, which SciPy before 1.15 has, too
    theirs = reference.bootstrap(
        (values,), np.mean, n_resamples=999, method="percentile", confidence_level=0.9, random_state=rng
    )
    ours = Replicates(float(values.mean()), theirs.bootstrap_distribution, float(values.mean())).estimate(0.9)
    assert ours.se == pytest.approx(theirs.standard_error)
    assert ours.percentile == pytest.approx(tuple(theirs.confidence_interval))


@given(st.integers(0, 50))
@settings(max_examples=10)  # each draws thousands of resamples
def test_a_difference_is_paired_and_the_negative_of_its_reverse(seed: int) -> None:
    sums = corpus(1, 40, seed)
    sums = np.concatenate([sums, sums, sums])
    sums[2, :, 0] = np.maximum(sums[2, :, 0] - (np.arange(40) < 5), 0)
    one, same, worse = Bootstrap.draw(sums, 500, seed).replicates(ratio)
    nothing = (one - same).estimate()
    assert (nothing.value, nothing.se, nothing.percentile) == (0, 0, (0, 0))
    assert (one - same).p() == 1
    there, back = (one - worse).estimate(), (worse - one).estimate()
    assert there.value == -back.value
    assert there.percentile == pytest.approx((-back.percentile[1], -back.percentile[0]))
    assert (one - worse).p() == (worse - one).p()
    assert there.se < one.estimate().se


def test_p_of_the_recentred_bootstrap_by_hand() -> None:
    # Their mean is 2, not their median, 1.5; as far from it as 1.5, or within the last bits of it, are all but 1.5.
    resampled = np.array([0, 0.5 + 1e-12, 1.5, 1.5, 1.5, 3.5 - 1e-12, 3.5, 4])
    assert Replicates(1.5, resampled, 10.0).p() == 6 / 9
    assert Replicates(-1.5, resampled, 10.0).p() == 6 / 9
    assert Replicates(2.5, resampled, 10.0).p() == 1 / 9
    assert Replicates(2.5, np.append(resampled, np.nan), 10.0).p() == 1 / 9
    assert Replicates(1.0, np.array([0.0, 2.0]), 0.0).p() == 1  # a scale of 0 has ties, too


# --- randomisation -------------------------------------------------------------------------------------------------


@given(st.integers(0, 50))
@settings(max_examples=10)  # each draws thousands of resamples
def test_randomisation_counts_swaps(seed: int) -> None:
    """Against all ways to swap eight dialogues, each by a loop."""
    sums = corpus(3, 8, seed)

    def difference(one: Floats, other: Floats) -> float:
        return float(one[:, 0].sum() / one[:, 1].sum() - other[:, 0].sum() / other[:, 1].sum())

    observed = difference(sums[0], sums[2])
    ways = []
    for coins in itertools.product([False, True], repeat=8):
        swap = np.array(coins)[:, np.newaxis]
        ways.append(difference(np.where(swap, sums[2], sums[0]), np.where(swap, sums[0], sums[2])))
    expected = np.mean([abs(way) >= abs(observed) - 1e-9 for way in ways])
    null = Randomisation.draw(sums, 5000, seed).null(ratio, 0, 2)
    assert null.observed == pytest.approx(observed)
    assert null.p() == pytest.approx(expected, abs=0.035)
    assert np.isclose(null.resampled[:, np.newaxis], np.array(ways)[np.newaxis]).any(axis=1).all()


def test_ties_count() -> None:
    sums = corpus(1, 30)
    better = sums.copy()
    better[0, 4, 0] -= 1  # one dialogue differs: every swap is as far from 0
    coins = Randomisation.draw(np.concatenate([sums, better, sums]), 999)
    assert coins.null(ratio, 0, 1).p() == 1
    assert coins.null(ratio, 0, 2).p() == 1
    # The same where scores are equal but for their last bits.
    assert Null(0.3, np.array([0.3 - 1e-16, 0.1 + 0.2, -0.3 + 1e-12, 0.2999]), 1e-9).p() == 4 / 5
    assert Null(1.0, np.array([1.0, 0.5]), 0.0).p() == 2 / 3
    first, second = corpus(2, 30)
    half = np.concatenate([[first, second], [second, first]], axis=1)  # as good as each other, by other dialogues
    null = Randomisation.draw(half, 99).null(lambda s: np.log(s[:, 0]) * 0.1 + s[:, 1] * 0.7, 0, 1)
    assert (null.observed, null.p()) == (0, 1)
    assert null.tolerance > 1e-9


# --- what needs no resampling --------------------------------------------------------------------------------------


def test_linearised_by_hand() -> None:
    # p = 3/7; s − p·n = 1/7, 8/7, −9/7; their squares are 146/49.
    assert linearised_se([1, 2, 0], [2, 2, 3]) == pytest.approx((3 / 2 * 146 / 49) ** 0.5 / 7)
    ones = np.ones(50)
    values = np.random.default_rng(1).normal(size=50)
    assert linearised_se(values, ones) == pytest.approx(reference.sem(values))
    assert linearised_se([1, 0], [1, 1]) == pytest.approx(0.5)
    assert np.isnan(linearised_se([0, 0], [0, 0]))
    assert np.isnan(linearised_se([1], [2]))
    with pytest.raises(dstbench.UsageError, match="make no ratio"):
        linearised_se([1, 2], [1, 2, 3])


def test_sums_that_would_be_rounded_are_refused() -> None:
    sums = corpus(1, 40)
    for wrong, message in (
        (sums + np.array([0, 1 / 3]), "without rounding"),
        (sums + 2.0**52, "without rounding"),
        (np.where(sums == sums.max(), np.nan, sums), "undefined sum"),
        (np.where(sums == sums.max(), np.inf, sums), "undefined sum"),
        (sums[:, :1], "at least two dialogues"),
        (sums[0], "runs by dialogues by statistics"),
        (np.array([[[None, 1], [1, 1]]], object), "undefined sum"),
    ):
        for kind in (Bootstrap, Randomisation):
            with pytest.raises(dstbench.UsageError, match=message):
                kind.draw(wrong, resamples=2)
    for kind in (Bootstrap, Randomisation):
        kind.draw(as_exact_floats(sums + np.array([0, 1 / 3])), resamples=2)
        kind.draw(as_exact_floats(sums + 2.0**52), resamples=2)


def test_draws_and_exact_sums_of_a_few_numbers() -> None:
    large = [[[3.0, 2.0**62 + 2**20], [5.0, 2.0**60]]]
    assert module.as_exact_floats(large).tolist() == large
    assert [block.sum(axis=1).tolist() for block in module.weights(5, 3)] == [[5.0, 5.0, 5.0]]
    assert {float(coin) for block in module.swaps(5, 30) for coin in block.ravel()} == {0.0, 1.0}
