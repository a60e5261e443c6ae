"""Error rates and coverage where the truth is known: corpora drawn from a process with errors that persist.

Purpose: tests over dialogues reject a true null at their level, intervals cover at theirs; a test over turns, which is
not offered, does neither, and is done here for comparison.

Steps: in each turn of a dialogue, a tracker that was right so far makes an error with a chance of the dialogue's own,
and an error persists with a chance of 0.9. Many corpora are drawn at once and share the resamples' draws.

Caveats: seeds are fixed, so that rates do not wander: 1,000 simulated corpora have a standard error of 0.7 points.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dstbench.stats import Bootstrap, Randomisation

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

DIALOGUES, RESAMPLES, CORPORA, LONGEST = 200, 999, 1000, 12


def jga(sums: Floats) -> Floats:
    shares: Floats = sums[:, 0] / sums[:, 1]
    return shares


def gca(sums: Floats, alpha: float = 10 / 11) -> Floats:
    correct, wrong, missed, over = sums.T
    pred, gold = correct + wrong + over, correct + wrong + missed
    squares = pred**2 + gold**2
    scores: Floats = (pred + gold) / (alpha * squares / correct + (1 - alpha) * squares / (correct + wrong))
    return scores


def lengths(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.int64]:
    return rng.integers(3, LONGEST + 1, size=shape)


def right(rng: np.random.Generator, hazard: Floats) -> Flags:
    """Whether each turn is right, where errors come with the dialogue's hazard and mostly stay."""
    drawn = rng.random((*hazard.shape, LONGEST), dtype=np.float32)
    found = np.empty(drawn.shape, np.bool_)
    state = np.ones(hazard.shape, np.bool_)
    for turn in range(LONGEST):
        state = np.where(state, drawn[..., turn] >= hazard, drawn[..., turn] < 0.1)
        found[..., turn] = state
    return found


@pytest.fixture(scope="module")
def twins() -> tuple[Flags, NDArray[np.int64]]:
    """Pairs of trackers (runs 2i and 2i + 1) that are equally good on dialogues which are hard for both."""
    rng = np.random.default_rng(20)
    hazard = np.repeat(rng.beta(1.5, 6, size=(CORPORA, DIALOGUES)), 2, axis=0)
    return right(rng, hazard), lengths(rng, (DIALOGUES,))


def per_dialogue(twins: tuple[Flags, NDArray[np.int64]]) -> Floats:
    correct, turns = twins
    inside = np.arange(LONGEST) < turns[:, np.newaxis]
    return np.stack([(correct & inside).sum(axis=2), np.broadcast_to(turns, correct.shape[:2])], axis=2).astype(float)


def rejections(sums: Floats) -> float:
    coins = Randomisation.draw(sums, RESAMPLES, seed=1)
    return float(np.mean([coins.null(jga, run, run + 1).p() <= 0.05 for run in range(0, len(sums), 2)]))


def test_a_true_null_is_rejected_at_the_level(twins: tuple[Flags, NDArray[np.int64]]) -> None:
    sums = per_dialogue(twins)
    assert rejections(sums) == pytest.approx(0.05, abs=0.015)
    runs = Bootstrap.draw(sums, RESAMPLES, seed=1).replicates(jga)
    pairs = zip(runs[::2], runs[1::2], strict=True)
    assert np.mean([(one - other).p() <= 0.05 for one, other in pairs]) == pytest.approx(0.05, abs=0.015)


def test_turns_as_units_would_reject_it_far_too_often(twins: tuple[Flags, NDArray[np.int64]]) -> None:
    correct, turns = twins
    inside = np.arange(LONGEST) < turns[:, np.newaxis]
    each = correct[:600, inside].astype(float)  # every turn as if it were a dialogue of its own
    assert rejections(np.stack([each, np.ones_like(each)], axis=2)) > 0.2


def test_a_true_null_between_models_is_not_rejected_too_often() -> None:
    """Models of five seeds each that spread by 3 points, on dialogues that are hard for all of them."""
    rng, rejected = np.random.default_rng(60), []
    for _ in range(200):
        turns, skill = lengths(rng, (DIALOGUES,)), rng.beta(3, 2.5, size=DIALOGUES)
        seeds = np.clip(skill + rng.normal(0, 0.03, size=(10, 1)) + rng.normal(0, 0.15, size=(10, DIALOGUES)), 0, 1)
        sums = np.stack([rng.binomial(turns, seeds), np.broadcast_to(turns, seeds.shape)], axis=2).astype(float)
        one, other = Bootstrap.draw(sums, RESAMPLES, seed=4).over_seeds(jga, [range(5), range(5, 10)])
        rejected.append((one - other).p() <= 0.05)
    assert 0 < np.mean(rejected) <= 0.065


def covered(sums: Floats, score: object, truth: float) -> tuple[float, float]:
    """How often the percentile and the BCa interval hold the truth."""
    estimates = [run.estimate() for run in Bootstrap.draw(sums, RESAMPLES, seed=2).replicates(score)]  # type: ignore[arg-type]
    percentile = np.mean([e.percentile[0] <= truth <= e.percentile[1] for e in estimates])
    bca = np.mean([e.bca is not None and e.bca[0] <= truth <= e.bca[1] for e in estimates])
    return float(percentile), float(bca)


def joint(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Right turns and turns per dialogue."""
    turns = lengths(rng, shape)
    inside = np.arange(LONGEST) < turns[..., np.newaxis]
    correct = right(rng, rng.beta(1.5, 6, size=shape)) & inside
    return np.stack([correct.sum(axis=-1), turns], axis=-1).astype(float)


def changes(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Changes per dialogue that are correct, wrong, missed, over: more of them, and more errors, in some dialogues."""
    number, skill = rng.poisson(2 * lengths(rng, shape)), rng.beta(4, 2, size=shape)
    correct = rng.binomial(number, skill)
    wrong = rng.binomial(number - correct, 0.4)
    over = rng.poisson(3 * (1 - skill))
    return np.stack([correct, wrong, number - correct - wrong, over], axis=-1).astype(float)


def test_intervals_of_jga_cover() -> None:
    truth = jga(joint(np.random.default_rng(31), (1_000_000,)).sum(axis=0, keepdims=True))[0]
    for rate in covered(joint(np.random.default_rng(32), (CORPORA, DIALOGUES)), jga, truth):
        assert rate == pytest.approx(0.95, abs=0.02)


def test_intervals_of_gca_cover() -> None:
    truth = gca(changes(np.random.default_rng(41), (1_000_000,)).sum(axis=0, keepdims=True))[0]
    for rate in covered(changes(np.random.default_rng(42), (CORPORA, DIALOGUES)), gca, truth):
        assert rate == pytest.approx(0.95, abs=0.02)


def test_intervals_of_a_difference_cover() -> None:
    """Two trackers of different skill on the same dialogues."""
    rng = np.random.default_rng(50)

    def pair(shape: tuple[int, ...]) -> Floats:
        turns, hazard = lengths(rng, shape), rng.beta(1.5, 6, size=shape)
        inside = np.arange(LONGEST) < turns[..., np.newaxis]
        found = [(right(rng, harder) & inside).sum(axis=-1) for harder in (hazard, hazard * 0.8)]
        return np.stack([np.stack([one, turns], axis=-1) for one in found]).astype(float)

    one, other = jga(pair((500_000,)).sum(axis=1))
    runs = Bootstrap.draw(np.concatenate(pair((CORPORA, DIALOGUES))), RESAMPLES, seed=3).replicates(jga)
    estimates = [(a - b).estimate() for a, b in zip(runs[:CORPORA], runs[CORPORA:], strict=True)]
    covering = [e.percentile[0] <= one - other <= e.percentile[1] for e in estimates]
    assert np.mean(covering) == pytest.approx(0.95, abs=0.02)
