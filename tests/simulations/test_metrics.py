"""Coverage and error rates of the judgements of metrics where the truth is known; by hand: pytest -m simulation -s.

Purpose: what `compare-metrics` says of metrics (agreement with a known order, swap rate, pairs told apart) has
intervals that cover in 95 ± 2.5 %, and tests of two metrics that reject a true null in 5 ± 2 %, away from the ends of a
scale. Where they do not, CONTRIBUTING says so (section "Simulations").

Steps: trackers err with the dialogue's hazard, which is the same for all of them up to a factor, and errors persist
(`test_differences`). Two metrics are equally good by construction: each is the share of right turns of trackers that
are drawn anew on the same dialogues. The truth of a share of pairs is its mean over corpora that are drawn for this
purpose; that of tau is that of the trackers' factors.

Caveats: seeds are fixed; Monte Carlo errors are printed. Orders are discrete, so intervals of tau cover more.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dstbench.analysis.correlate import CONTROLS, Rows, given, limits_of
from dstbench.analysis.dialogue_sums import Paired
from dstbench.analysis.rankings import (
    Judged,
    contests,
    limits_of_order,
    of_pairs,
    reliability,
    signs,
    stability,
    swap_share,
    tau_b,
)
from dstbench.metrics import parse_all, stats_of
from dstbench.stats import Bootstrap
from dstbench.stats.influence import slope_within_clusters
from dstbench.stats.resampling import scores_of
from tests.simulations.test_differences import LONGEST, Floats, said, turns_right

pytestmark = pytest.mark.simulation

METRICS = parse_all("jga,tla")
CORPORA, TRUTHS, RESAMPLES, DIALOGUES = 600, 600, 300, 300
#: How many times as many errors trackers make: those that few dialogues tell apart, and those that most do.
FACTORS = {
    "close": (1.0, 1.04, 1.08, 1.12, 1.16),
    "less close": (1.0, 1.06, 1.12, 1.18, 1.25),
    "apart": (1.0, 1.1, 1.2, 1.35, 1.5),
    "far apart": (1.0, 1.25, 1.5, 1.8, 2.2),
}
#: A known order that disagrees with the trackers' in two of ten pairs: its tau is .6.
NUMBERS = np.array([5, 3, 4, 1, 2])


def corpus(rng: np.random.Generator, factors: tuple[float, ...]) -> Paired:
    """Trackers on the same dialogues, scored twice: JGA, and TLA in whose place is JGA of other draws."""
    turns, hazard = rng.integers(3, LONGEST + 1, size=DIALOGUES), rng.beta(1.5, 6, size=DIALOGUES)
    names = list(dict.fromkeys(name for metric in METRICS for name in stats_of(metric)))
    sums = np.zeros((len(factors), DIALOGUES, len(names)))
    for metric in METRICS:
        for run, factor in enumerate(factors):
            right, of = np.moveaxis(turns_right(rng, turns, np.minimum(hazard * factor, 1)), -1, 0)
            for name in stats_of(metric):
                value = of if name in set(stats_of(METRICS[0])) & set(stats_of(METRICS[1])) else right
                sums[run, :, names.index(name)] = value
    return Paired([str(run) for run in range(len(factors))], METRICS, names, sums, pl.DataFrame())


def order_share(z: Floats) -> Floats:
    """How surely pairs are ordered from the first tracker down."""
    from scipy.special import ndtr

    return np.asarray(ndtr(z))


def apart_share(z: Floats) -> Floats:
    return np.asarray(np.abs(z) > 1.96).astype(np.float64)


SHARES = {"swap_rate": swap_share, "soft_accuracy": order_share, "power": apart_share}


@pytest.mark.parametrize("which", FACTORS)
def test_intervals_and_tests_of_two_equally_good_metrics(which: str) -> None:
    rng = np.random.default_rng(len(which))
    few = {name: list[float]() for name in SHARES}
    for _ in range(TRUTHS):
        paired = corpus(rng, FACTORS[which])
        pairs = of_pairs(paired, METRICS[0], Bootstrap.draw(paired.sums, 1))
        for name, of in SHARES.items():
            few[name].append(pairs.share(of).value)
    truth = {name: float(np.mean(values)) for name, values in few.items()}
    covered, rejected = dict.fromkeys(SHARES, 0), dict.fromkeys(SHARES, 0)
    of_order, of_same, of_metrics = list[bool](), list[bool](), list[bool]()
    for seed in range(CORPORA):
        paired = corpus(rng, FACTORS[which])
        draws = Bootstrap.draw(paired.sums, RESAMPLES, seed)
        both = {str(metric): of_pairs(paired, metric, draws) for metric in METRICS}
        halves, *_ = reliability(paired, both, 200, seed, 0.95)
        for name, of in SHARES.items():
            judged: dict[str, Judged] = {
                metric: pairs.power(pairs.share(of).value, 0.95) if name == "power" else pairs.share(of)
                for metric, pairs in both.items()
            }
            low, high = judged["jga"].limits(0.95)
            if name == "swap_rate":
                low, high = halves.select("low", "high").row(0)
            covered[name] += low is not None and high is not None and low <= truth[name] <= high
            p = contests(name, judged, 0.95)["p"].item()
            rejected[name] += p is not None and p <= 0.05
        orders = [[signs(scores_of(paired.score(metric), sums)) for metric in METRICS]
                  for sums in (draws.whole, draws.resampled)]  # fmt: skip
        known = signs(NUMBERS)
        (first, second), (first_drawn, second_drawn) = orders
        stable, other = stability(first, first_drawn), stability(second, second_drawn)
        for taus, true, resampled, factor in (
            (of_order, 0.6, tau_b(first_drawn, known), stable),
            (of_same, 1, tau_b(first_drawn, signs(-np.arange(5.0))), stable),
            (of_metrics, 1, tau_b(first_drawn, second_drawn), stable * other),
        ):
            low, high = limits_of_order(resampled, factor, 0.95)
            if low is not None and high is not None:
                taus.append(low <= true + 1e-9 and high >= true - 1e-9)
    found = {}
    for name in SHARES:
        about = f"{name} of trackers that are {which} ({truth[name]:.2f})"
        found[name] = (said(f"{about}: interval covers", covered[name], CORPORA),
                       said(f"{about}: equal metrics differ", rejected[name], CORPORA))  # fmt: skip
    for about, taus in (
        ("tau .6 with a known order", of_order),
        ("tau 1 with a known order", of_same),
        ("tau 1 of two metrics", of_metrics),
    ):
        if taus:
            said(f"{about}, {which}: interval covers, where there is one ({len(taus)})", sum(taus), len(taus))
    assert all(covers > 85 and differ < 12 for covers, differ in found.values())


@pytest.mark.parametrize(("partial", "alike"), [(0.0, 0.0), (0.0, 0.7), (0.5, 0.5)])
def test_correlations_given_mistakes_and_turns(partial: float, alike: float) -> None:
    """A trait and a score follow from mistakes and turns, and beyond that correlate by `partial`, in all five runs."""
    rng, corpora, runs = np.random.default_rng(7), 2_000, 5
    covered = rejected = 0
    for _ in range(corpora):
        turns = np.tile(rng.integers(3, LONGEST + 1, size=DIALOGUES), runs).astype(np.float64)
        hazard = np.tile(rng.beta(1.5, 6, size=DIALOGUES), runs)
        mistakes = rng.binomial(turns.astype(int), hazard).astype(np.float64)
        of_dialogue = np.tile(rng.standard_normal((2, DIALOGUES)), runs)
        trait, other = alike**0.5 * of_dialogue + (1 - alike) ** 0.5 * rng.standard_normal((2, len(turns)))
        # The score varies more where there are more mistakes.
        columns = {
            "nu": 0.5 * mistakes + trait,
            "score": 0.8 - 0.1 * mistakes + 0.02 * turns + 0.1 * (partial * trait + (1 - partial**2) ** 0.5 * other),
            "mistakes": mistakes,
            "turns": turns,
        }
        rows = Rows("pooled", columns, np.tile(np.arange(DIALOGUES), runs))
        left = given(rows, ("nu", "score"), CONTROLS)
        low, high = limits_of(left, "nu", "score", 0.95)
        assert low is not None
        assert high is not None
        covered += low <= partial <= high
        rejected += not low <= 0 <= high
    about = f"r {partial} given mistakes and turns, {DIALOGUES} dialogues alike by {alike} in {runs} runs"
    covers = said(f"{about}: interval covers", covered, corpora)
    assert covers > 90
    if not partial:
        assert said(f"{about}: rejected", rejected, corpora) < 10


@pytest.mark.parametrize("hazard", [0.02, 0.2, 0.4])
def test_the_position_bias_of_jga_in_runs_that_err(hazard: float) -> None:
    """The cost of one error more in a run whose turns are right by its dialogues' own chances."""
    rng, corpora, units = np.random.default_rng(8), 2_000, 200_000
    truth = _slope(rng, units, hazard)[0]
    covered = 0
    for _ in range(corpora):
        _, low, high = _slope(rng, DIALOGUES, hazard)
        covered += low <= truth <= high
    about = f"position bias of jga in a run, hazard {hazard}, {DIALOGUES} dialogues ({100 * truth:.1f} points)"
    assert said(f"{about}: interval covers", covered, corpora) > 90


def _slope(rng: np.random.Generator, dialogues: int, hazard: float) -> tuple[float, float, float]:
    """The slope, in JGA, of the cost of an error that lasts from its turn on, over the turns of dialogues."""
    turns = rng.integers(3, LONGEST + 1, size=dialogues)
    hazards = np.minimum(rng.beta(1.5, 6, size=dialogues) * hazard * 5, 1)
    drawn, state = rng.random((dialogues, LONGEST)), np.ones(dialogues, np.bool_)
    right = np.zeros((dialogues, LONGEST))
    for turn in range(LONGEST):
        state = np.where(state, drawn[:, turn] >= hazards, drawn[:, turn] < 0.1)
        right[:, turn] = state & (turn < turns)
    loss = right[:, ::-1].cumsum(axis=1)[:, ::-1] / turns[:, None]
    dialogue, place = np.nonzero((np.arange(LONGEST) < turns[:, None]) & (rng.random(right.shape) < 0.6))
    position = place / (turns[dialogue] - 1)
    slope = slope_within_clusters(dialogue, position, loss[dialogue, place], np.ones(len(place)))
    return slope.value, slope.low, slope.high
