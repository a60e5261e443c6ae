"""How surely metrics order runs: laws, halves by hand, and the figures of real runs."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

import dstbench
from dstbench.analysis.dialogue_sums import Paired, pair_up
from dstbench.analysis.rankings import Judged, contests, limits_of_order, of_pairs, reliability, swap_share
from dstbench.cli.commands import topics
from dstbench.conventions.profiles import as_convention
from dstbench.demo import synthetic
from dstbench.metrics import parse_all, stats_of
from dstbench.runs.align import over_common_turns
from dstbench.runs.open import open_runs
from dstbench.stats import Bootstrap
from dstbench.stats.resampling import shuffles

QUIET = pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")


def paired_runs(dialogues: int, metrics: str) -> Paired:
    runs = over_common_turns(open_runs(synthetic(dialogues)))
    return pair_up(runs, parse_all(metrics), as_convention("verbatim"))


@pytest.fixture(scope="module")
def paired() -> Paired:
    return paired_runs(60, "jga,gca")


@pytest.mark.again
def test_halves_and_samples_are_those_by_hand(paired: Paired) -> None:
    pairs = {str(metric): of_pairs(paired, metric, Bootstrap.draw(paired.sums, 50)) for metric in paired.metrics}
    found, sizes, _ = reliability(paired, pairs, 200, seed=1, level=0.95)
    places = np.concatenate(list(shuffles(60, 200, 1)))
    assert all(sorted(row) == list(range(60)) for row in places.tolist())
    for metric in paired.metrics:
        score, both, alike, taus = paired.score(metric), [], [], []
        whole = score(paired.sums.sum(axis=1))
        for row in places:
            one, other, few = (score(paired.sums[:, taken].sum(axis=1)) for taken in (row < 30, row >= 30, row < 25))
            both += [swapped(one[[a, b]], other[[a, b]]) for a, b in combinations(range(3), 2)]
            alike += [1 - swapped(few[[a, b]], whole[[a, b]]) for a, b in combinations(range(3), 2)]
            taus.append(scipy_stats.kendalltau(one, other).statistic)
        row = found.row(by_predicate=pl.col("metric") == str(metric), named=True)
        assert row["swap_rate"] == pytest.approx(np.mean(both))
        assert row["tau_halves"] == pytest.approx(np.nanmean(taus))
        assert row["tau_full"] == pytest.approx(2 * np.nanmean(taus) / (1 + np.nanmean(taus)))
        assert sizes.filter(metric=str(metric), dialogues=25)["alike"].item() == pytest.approx(np.mean(alike))
    assert (found["swap_rate"] > 0).all()


def swapped(one: Any, other: Any) -> float:
    product = np.sign(one[0] - one[1]).round() * np.sign(other[0] - other[1]).round()
    return float((1 - product) / 2)


def test_a_metric_plus_noise_is_less_reliable() -> None:
    """TLA is given the sums of JGA, and in each dialogue some turns more or less, which make none over all."""
    few = paired_runs(200, "jga,tla")
    (right,), (other,) = ([name for name in stats_of(metric) if name != "turns"] for metric in few.metrics)
    at, to = few.statistics.index(right), few.statistics.index(other)
    for seed in range(5):
        noise = np.random.default_rng(seed).permuted(np.tile([-3, 3], (len(few.runs), 100)), axis=1)
        sums = few.sums.copy()
        sums[:, :, to] = sums[:, :, at] + noise
        noisy = replace(few, sums=sums)
        draws = Bootstrap.draw(sums, 300)
        pairs = {str(metric): of_pairs(noisy, metric, draws) for metric in few.metrics}
        rates = reliability(noisy, pairs, 500, seed=0, level=0.95)[0]["swap_rate"].to_list()
        assert rates[0] < rates[1]


def test_a_metric_against_itself_differs_in_nothing(paired: Paired) -> None:
    mine = of_pairs(paired, paired.metrics[0], Bootstrap.draw(paired.sums, 200)).share(swap_share)
    row = contests("swap_rate", {"one": mine, "same": mine}, 0.95).row(0, named=True)
    assert (row["difference"], row["p"], row["p_adjusted"]) == (0, 1, 1)


def test_intervals_at_an_end_are_one_sided() -> None:
    draws = np.linspace(-1, 1, 101)
    assert Judged(0.5, draws / 10).limits(0.95) == pytest.approx(
        (0.5 - 1.96 * np.std(draws, ddof=1) / 10, 0.6149), abs=1e-3
    )
    low, high = Judged(0.02, draws / 10).limits(0.95)
    assert low == 0
    assert high == pytest.approx(0.02 + 1.645 * np.std(draws, ddof=1) / 10, abs=1e-3)
    assert Judged(0.98, draws / 10).limits(0.95)[1] == 1
    assert Judged(0.5, np.full(9, 0.5)).limits(0.95) == (None, None)
    # Of orders: the ends are moved from the middle by what noise makes of orders; there are none if that is too much.
    taus = np.repeat([0.6, 0.8, 0.9], [5, 45, 50])
    assert limits_of_order(taus, 1, 0.95) == pytest.approx((0.6, 0.9))
    assert limits_of_order(taus, 0.95, 0.95) == pytest.approx((0.6, 0.9 / 0.95))
    assert limits_of_order(-taus, 0.8, 0.95) == pytest.approx((-1, -0.6))
    assert limits_of_order(taus, 0.8, 0.95, least=0) == pytest.approx((0.6, 1))
    assert limits_of_order(taus, 0.59, 0.95) == (None, None)


@QUIET
def test_a_known_order_is_agreed_with_by_definition(here: Path) -> None:
    runs = synthetic(60)
    table = pl.DataFrame({"run": list(runs), "share": [1.0, 2.0, 2.0]})
    table.write_csv("shares.csv")
    found = dstbench.compare_metrics(runs, metrics="jga,missed", along="share=shares.csv", resamples=200)
    assert found.order["number"].to_list() == [1, 2, 2]
    p = dstbench.compare(runs, metrics="jga,missed", resamples=200).differences
    for metric, merit in (("jga", 1), ("missed", -1)):
        scores = merit * found.scores.filter(metric=metric)["value"].to_numpy()
        measures = dict(found.validity.filter(metric=metric).select("measure", "value").iter_rows())
        assert measures["tau"] == pytest.approx(scipy_stats.kendalltau(scores, table["share"]).statistic)
        assert measures["somers_d"] == pytest.approx(scipy_stats.somersd(table["share"], scores).statistic)
        right = [scores[other] > scores[0] for other in (1, 2)]
        assert measures["accuracy"] == np.mean(right)
        first, *others = runs
        two_sided = [p.filter(metric=metric, run=first, other=others[other - 1])["p"].item() for other in (1, 2)]
        soft = [1 - q / 2 if is_right else q / 2 for q, is_right in zip(two_sided, right, strict=True)]
        assert measures["soft_accuracy"] == pytest.approx(np.mean(soft))
    table.with_columns(share=pl.lit(1)).write_csv("same.csv")
    with pytest.raises(dstbench.UsageError, match="all runs have the same share"):
        dstbench.compare_metrics(runs, along="share=same.csv")


@QUIET
def test_the_figures_of_the_t5_runs(data: Path) -> None:
    files = sorted((data / "predictions/gca_t5_train").glob("ratio*.json"))
    found = dstbench.compare_metrics([str(path) for path in files], along="share", resamples=2000)
    taus = dict(found.validity.filter(measure="tau").select("metric", pl.col("value").round(2)).iter_rows())
    assert taus == {"jga": 0.93, "sa": 0.93, "rsa": 0.93, "aga": 1, "f1": 0.93, "fga": 0.71, "gca": 0.79, "tla": 0.57}
    published = {"rsa": 0.08, "aga": 0.11, "jga": 0.12, "sa": 0.12, "f1": 0.14, "fga": 0.16, "gca": 0.17, "tla": 0.19}
    assert dict(found.reliability.select("metric", "swap_rate").iter_rows()) == pytest.approx(published, abs=0.02)
    p = dstbench.compare([str(path) for path in files], metrics="jga,gca", resamples=2000).differences
    for metric, of_pairs_ in p.group_by("metric"):  # halves swap a pair about as often as its p
        rate = found.reliability.filter(metric=metric[0])["swap_rate"].item()
        assert rate == pytest.approx(of_pairs_["p"].mean(), abs=0.01)
    topic = {
        row[0].lower(): row
        for row in re.findall(r"^\| (\w+) \| (\d+) % \| .*? \| (\d+) of 28 ", topics()["metrics"], re.M)
    }
    accuracy = dict(found.validity.filter(measure="accuracy").select("metric", "value").iter_rows())
    assert topic.keys() == accuracy.keys()
    swaps = dict(found.reliability.select("metric", "swap_rate").iter_rows())
    for metric, (_, swap, right) in topic.items():
        assert int(swap) == pytest.approx(100 * swaps[metric], abs=0.6)
        assert int(right) == round(28 * accuracy[metric])
    assert found.sizes.filter(metric="jga", dialogues=250)["alike"][0] > 0.9
    assert (found.agreement["reversed"].sum(), found.agreement["reversed_surely"].sum()) == (63, 0)
    noise = found.spread.sort("signal_to_noise", descending=True)["metric"].to_list()
    assert noise[:2] == ["aga", "rsa"]
    apart = dict(found.power.select("metric", "apart_adjusted").iter_rows())
    assert apart["aga"] == max(apart.values()) >= 14


@QUIET
def test_intervals_of_tau_on_the_t5_runs_without_the_correction_for_noise(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Percentiles of resamples, whose ends lie between two values that tau can have: other seeds give the next one."""
    monkeypatch.setattr("dstbench.analysis.rankings.stability", lambda *_: 1.0)
    files = sorted(str(path) for path in (data / "predictions/gca_t5_train").glob("ratio*.json"))
    found = dstbench.compare_metrics(files, metrics="aga,tla", along="share", resamples=2000, seed=5)
    ends = {metric: of_ends for metric, *of_ends in found.validity.filter(measure="tau")
            .select("metric", "low", "high").iter_rows()}  # fmt: skip
    assert ends == {"aga": pytest.approx([0.64, 1], abs=0.02), "tla": pytest.approx([0.33, 0.79], abs=0.02)}
