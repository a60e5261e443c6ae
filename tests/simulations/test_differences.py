"""Error rates and coverage of scores and differences where the truth is known; run by hand: pytest -m simulation -s.

Purpose: the tests on which a verdict rests reject a true null in 5 ± 2 %, and intervals cover in 95 ± 2.5 %, from 300
dialogues up. Each test prints the rows of the table in CONTRIBUTING (section "Simulations") that it checks.

Steps: many corpora are drawn at once. In invented dialogues, a tracker that was right so far makes an error with a
chance of the dialogue's own, and an error persists with a chance of 0.9. Two real runs exchange dialogues at random,
which makes a true null whatever they are.

Caveats: seeds are fixed; a rate of n cases has a Monte Carlo error of √(rate · (1 − rate) / n), which is printed beside
it, and for which nothing is allowed: so there are enough cases that it is 0.5 % at most (0.8 % of swapped real runs).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import dstbench
from dstbench.analysis.dialogue_sums import Paired, pair_up
from dstbench.metrics import parse_all
from dstbench.runs.align import over_common_turns
from dstbench.runs.open import open_runs
from dstbench.stats import Randomisation, influences, spread, spread_over_seeds
from dstbench.stats.resampling import Score

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

pytestmark = [pytest.mark.simulation, pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")]

RESAMPLES, LONGEST = 999, 12
METRICS = "jga,sa:T=30,rsa,aga,f1,f1:avg=micro,fga,gca,tla"


def jga(sums: Floats) -> Floats:
    shares: Floats = sums[:, 0] / sums[:, 1]
    return shares


def f1(sums: Floats) -> Floats:
    correct, wrong, missed, over = sums.T
    shares: Floats = 2 * correct / (2 * correct + 2 * wrong + missed + over)
    return shares


def gca(sums: Floats, alpha: float = 10 / 11) -> Floats:
    correct, wrong, missed, over = sums.T
    pred, gold = correct + wrong + over, correct + wrong + missed
    squares = pred**2 + gold**2
    scores: Floats = (pred + gold) / (alpha * squares / correct + (1 - alpha) * squares / (correct + wrong))
    return scores


def turns_right(rng: np.random.Generator, turns: NDArray[np.int64], hazard: Floats) -> Floats:
    """Right turns and turns per dialogue, where errors come with the dialogue's hazard and mostly stay."""
    drawn = rng.random((*hazard.shape, LONGEST), dtype=np.float32)
    state, right = np.ones(hazard.shape, np.bool_), np.zeros(hazard.shape)
    for turn in range(LONGEST):
        state = np.where(state, drawn[..., turn] >= hazard, drawn[..., turn] < 0.1)
        right += state & (turn < turns)
    return np.stack([right, turns], axis=-1)


def of_turns(rng: np.random.Generator, shape: tuple[int, ...], harder: float) -> tuple[Floats, Floats]:
    """Two trackers on dialogues that are hard for both; the second makes `harder` times as many errors."""
    turns, hazard = rng.integers(3, LONGEST + 1, size=shape), rng.beta(1.5, 6, size=shape)
    return turns_right(rng, turns, hazard), turns_right(rng, turns, np.minimum(hazard * harder, 1))


def of_changes(rng: np.random.Generator, shape: tuple[int, ...], harder: float) -> tuple[Floats, Floats]:
    """The same for changes that are correct, wrong, missed, over; the second also invents more if it is worse."""
    turns, skill = rng.integers(3, LONGEST + 1, size=shape), rng.beta(4, 2, size=shape)

    def tracker(worse: float) -> Floats:
        number, own = rng.poisson(2 * turns), skill**worse
        correct = rng.binomial(number, own)
        wrong = rng.binomial(number - correct, 0.4)
        return (
            np.stack([correct, wrong, number - correct - wrong, rng.poisson(worse * (1 - own) * turns / 5)], -1) + 0.0
        )

    return tracker(1.0), tracker(harder)


def said(what: str, hits: int, of: int) -> float:
    """A rate in percent, printed with its Monte Carlo error."""
    rate = hits / of
    print(f"| {what} | {100 * rate:.1f} ± {100 * np.sqrt(rate * (1 - rate) / of):.1f} |")
    return 100 * rate


def judged(score: Score, pairs: Iterator[tuple[Floats, Floats]], truth: float, seed: int) -> tuple[int, int, int]:
    """Of pairs of runs (corpora × dialogues × statistics): how many are rejected, covered, and in all."""
    rejected = covered = of = 0
    for one, other in pairs:
        sums = np.concatenate([one, other])
        size, dialogues = len(one), one.shape[1]
        coins, of_dialogues = Randomisation.draw(sums, RESAMPLES, seed), influences(score, sums)
        for pair in range(size):
            null = coins.null(score, pair, size + pair)
            limits = null.limits(spread(of_dialogues[pair] - of_dialogues[size + pair]).se, dialogues)
            assert limits is not None
            low, high = limits
            assert (low <= 0 <= high) == (null.p() > 0.05)
            rejected += null.p() <= 0.05
            covered += low <= truth <= high
            of += 1
    return rejected, covered, of


@pytest.mark.parametrize("dialogues", [300, 1_000])
@pytest.mark.parametrize(
    ("draw", "score"), [(of_turns, jga), (of_changes, f1), (of_changes, gca)], ids=["jga", "f1 micro", "gca"]
)
def test_differences_of_invented_runs(draw: Callable[..., tuple[Floats, Floats]], score: Score, dialogues: int) -> None:
    rng = np.random.default_rng(dialogues)
    for harder in (1.0, 0.8):
        whole = np.stack([part.sum(axis=0) for part in draw(rng, (1_000_000,), harder)])
        truth = float(np.subtract(*score(whole))) if harder != 1 else 0.0
        pairs = (draw(rng, (50, dialogues), harder) for _ in range(40))
        rejected, covered, of = judged(score, pairs, truth, seed=1)
        name = f"{score.__name__}, {dialogues:,} invented dialogues, true difference {100 * truth:.1f}"
        assert said(f"{name}: interval covers", covered, of) == pytest.approx(95, abs=2.5)
        if harder == 1:
            assert said(f"{name}: rejected", rejected, of) == pytest.approx(5, abs=2)


def test_turns_as_units_would_reject_a_true_null_far_too_often() -> None:
    rng = np.random.default_rng(20)
    hazard = np.repeat(rng.beta(1.5, 6, size=(300, 1, 100)), 2, axis=1)
    drawn, state = rng.random((300, 2, 100, LONGEST)), np.ones((300, 2, 100), np.bool_)
    right = np.empty(drawn.shape)
    for turn in range(LONGEST):
        state = np.where(state, drawn[..., turn] >= hazard, drawn[..., turn] < 0.1)
        right[..., turn] = state
    each = right.reshape(600, -1)  # every turn as if it were a dialogue of its own
    coins = Randomisation.draw(np.stack([each, np.ones_like(each)], axis=2), RESAMPLES, seed=1)
    rejected = sum(coins.null(jga, run, run + 1).p() <= 0.05 for run in range(0, 600, 2))
    assert said("jga, 100 dialogues, turns as units (not offered): rejected", rejected, 300) > 15


def paired(files: list[Path], **reading: str) -> Paired:
    runs = open_runs([str(file) for file in files], **reading)  # type: ignore[arg-type]
    return pair_up(over_common_turns(runs), parse_all(METRICS), dstbench.profile("verbatim"))


@pytest.mark.parametrize("which", ["T5", "end-to-end"])
def test_swapped_real_runs_are_a_true_null(data: Path, which: str) -> None:
    """Each null: two of the runs, a random half of whose dialogues are exchanged, over dialogues drawn at random."""
    if which == "T5":
        runs = paired(sorted((data / "predictions/gca_t5_train").glob("ratio_*.json")))
    else:
        files, gold = sorted((data / "predictions/mwzeval").glob("*.json")), str(data / "multiwoz21/test.tsv")
        runs = paired(files, gold=gold, missing="intersect")
    rng, pairs = np.random.default_rng(3), list(itertools.combinations(range(len(runs.runs)), 2))
    all_dialogues = runs.sums.shape[1]
    size = min(300, all_dialogues)
    rejected = {str(metric): 0 for metric in runs.metrics}
    of = 1_000
    for case in range(of):
        one, other = pairs[case % len(pairs)]
        chosen = rng.choice(all_dialogues, size, replace=size > all_dialogues)
        both = runs.sums[[one, other]][:, chosen]
        swap = rng.random(size) < 0.5
        both[:, swap] = both[::-1, swap]
        coins = Randomisation.draw(both, RESAMPLES, seed=case)
        for metric in runs.metrics:
            rejected[str(metric)] += coins.null(runs.score(metric), 0, 1).p() <= 0.05
    for notation, hits in rejected.items():
        name = f"{notation}, {which} runs, {size} of {all_dialogues:,} dialogues exchanged"
        assert said(f"{name}: rejected", hits, of) == pytest.approx(5, abs=2)


@pytest.mark.parametrize(
    ("dialogues", "share", "alike", "least", "most"),
    [
        (30, 0.983, 0.3, 92.5, 100), (30, 0.9, 0.3, 92.5, 100), (100, 0.983, 0.3, 92.5, 100),
        (300, 0.99, 0.3, 92.5, 97.5), (300, 0.983, 0.5, 92.5, 97.5), (300, 0.5, 0.3, 92.5, 97.5),
        (1_000, 0.997, 0.3, 92.5, 97.5), (1_000, 0.8, 0.3, 92.5, 97.5), (300, 0.02, 0.3, 92.5, 97.5),
    ],
)  # fmt: skip
def test_the_interval_of_a_share_covers(dialogues: int, share: float, alike: float, least: float, most: float) -> None:
    """Near 0 and 1 too, and where all are right; turns of a dialogue correlate by `alike`."""
    rng, covered, of = np.random.default_rng(7), 0, 3_000
    for _ in range(of // 500):
        turns = rng.integers(3, LONGEST + 1, size=(500, dialogues))
        chance = rng.beta(share * (1 - alike) / alike, (1 - share) * (1 - alike) / alike, size=turns.shape)
        sums: Floats = np.stack([rng.binomial(turns, chance), turns], axis=2).astype(np.float64)
        for value, of_dialogues in zip(jga(sums.sum(axis=1)), influences(jga, sums), strict=True):
            low, high = spread(of_dialogues).limits_of_share(value, dialogues, 0.95) or (np.nan, np.nan)
            covered += low <= share <= high
    name = f"jga of {100 * share:g} %, {dialogues:,} dialogues whose turns correlate by {alike}"
    assert least <= said(f"{name}: interval covers", covered, of) <= most


def test_the_intervals_of_ratio_metrics_cover() -> None:
    rng = np.random.default_rng(8)
    for score in (f1, gca):
        whole, _ = of_changes(rng, (1_000_000,), 1.0)
        truth, covered, of = score(whole.sum(axis=0, keepdims=True))[0], 0, 3_000
        for _ in range(of // 500):
            sums, _ = of_changes(rng, (500, 300), 1.0)
            for value, of_dialogues in zip(score(sums.sum(axis=1)), influences(score, sums), strict=True):
                low, high = spread(of_dialogues).limits_of_share(value, 300, 0.95) or (np.nan, np.nan)
                covered += low <= truth <= high
        name = f"{score.__name__}, 300 invented dialogues"
        assert said(f"{name}: interval covers", covered, of) == pytest.approx(95, abs=2.5)


@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize(
    ("between", "shared"), [(3, 0), (8, 0), (0, 0), (3, 15), (1, 15), (0, 25)], ids=lambda points: f"{points}"
)
def test_models_of_several_seeds(seeds: int, between: float, shared: float) -> None:
    """Seeds spread by `between` points; what all seeds of a model have in common, by `shared` per dialogue."""
    rng, rejected, of = np.random.default_rng(60), 0, 10_000
    for _ in range(of // 100):
        turns, skill = rng.integers(3, LONGEST + 1, size=(100, 1, 1, 300)), rng.beta(3, 2.5, size=(100, 1, 1, 300))
        chance = (
            skill + rng.normal(0, shared / 100, (100, 2, 1, 300)) + rng.normal(0, between / 100, (100, 2, seeds, 1))
        )
        chance = np.clip(chance + rng.normal(0, 0.15, (100, 2, seeds, 300)), 0, 1)
        sums = np.stack([rng.binomial(turns, chance), np.broadcast_to(turns, chance.shape)], axis=-1) + 0.0
        sums = sums.reshape(-1, 300, 2)
        scores = jga(sums.sum(axis=1)).reshape(100, 2, seeds)
        for (one, other), (of_one, of_other) in zip(
            scores, influences(jga, sums).reshape(100, 2, seeds, 300), strict=True
        ):
            both = spread_over_seeds([one, other], [of_one, -of_other])
            rejected += both.p(float(one.mean() - other.mean())) <= 0.05
    name = f"models of {seeds} seeds that spread by {between} points, by {shared} per dialogue in common"
    assert said(f"{name}: rejected", rejected, of) == pytest.approx(5, abs=2)
