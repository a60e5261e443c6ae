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

from dstbench.analysis.orders import corrected_limits, signs, tau_b
from dstbench.analysis.paired import Paired
from dstbench.analysis.reliability import Judged, contests, of_pairs, split_halves, swap_share
from dstbench.metrics import parse_all, stats_of
from dstbench.stats import Bootstrap
from dstbench.stats.resampling import scores_of
from tests.simulations.test_differences import LONGEST, Floats, said, turns_right

pytestmark = pytest.mark.simulation

METRICS = parse_all("jga,tla")
CORPORA, TRUTHS, RESAMPLES, DIALOGUES = 600, 600, 300, 300
#: How many times as many errors trackers make: those that few dialogues tell apart, and those that most do.
FACTORS = {"close": (1.0, 1.04, 1.08, 1.12, 1.16), "apart": (1.0, 1.1, 1.2, 1.35, 1.5)}
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
    covered, rejected, taus = dict.fromkeys(SHARES, 0), dict.fromkeys(SHARES, 0), [0, 0]
    for seed in range(CORPORA):
        paired = corpus(rng, FACTORS[which])
        draws = Bootstrap.draw(paired.sums, RESAMPLES, seed)
        both = {str(metric): of_pairs(paired, metric, draws) for metric in METRICS}
        halves, _ = split_halves(paired, both, 200, seed, 0.95)
        for name, of in SHARES.items():
            judged: dict[str, Judged] = {
                metric: pairs.share(of, shrunk=name != "power") for metric, pairs in both.items()
            }
            low, high = judged["jga"].limits(0.95)
            if name == "swap_rate":
                low, high = halves.select("low", "high").row(0)
            covered[name] += low is not None and high is not None and low <= truth[name] <= high
            p = contests(name, judged, 0.95)["p"].item()
            rejected[name] += p is not None and p <= 0.05
        score, order = paired.score(METRICS[0]), signs(NUMBERS)
        observed = float(tau_b(signs(scores_of(score, draws.whole)), order))
        ends = corrected_limits(observed, tau_b(signs(scores_of(score, draws.resampled)), order), 0.95)
        if ends[0] is not None:
            taus[0] += ends[0] <= 0.6 + 1e-9 and ends[1] >= 0.6 - 1e-9
            taus[1] += 1
    found = {}
    for name in SHARES:
        about = f"{name} of trackers that are {which} ({truth[name]:.2f})"
        found[name] = (said(f"{about}: interval covers", covered[name], CORPORA),
                       said(f"{about}: equal metrics differ", rejected[name], CORPORA))  # fmt: skip
    if taus[1]:
        said(f"tau .6 of trackers that are {which}: interval covers, where there is one ({taus[1]})", *taus)
    assert all(covers > 85 and differ < 12 for covers, differ in found.values())
