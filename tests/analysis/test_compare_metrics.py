"""Metrics side by side: Kim's Table 1; laws of spread and orders; resamples by hand; what is left of too little."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench import stats
from dstbench.analysis.compare_metrics import TRAITS, MetricComparison
from dstbench.analysis.rankings import compare_orders, spread_of
from dstbench.demo import synthetic
from dstbench.rendering.charts.runs import metric_charts
from dstbench.stats.resampling import weights

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* (p can (be below|reach)|another `seed` may) :dstbench.errors.DstbenchWarning"
)
NO_DIALOGUES = "ignore:a table of scores has no dialogues:dstbench.errors.DstbenchWarning"

#: Kim et al. 2022, Table 1: JGA, SA, F1 and RSA of each model.
KIM = {
    "Transformer-DST": (0.5446, 0.9748, 0.9229, 0.8759), "TripPy": (0.6131, 0.9707, 0.8573, 0.8432),
    "SOM-DST": (0.5242, 0.9735, 0.9179, 0.8695), "Simple-TOD": (0.5605, 0.9761, 0.9276, 0.8797),
    "SAVN": (0.5357, 0.9749, 0.9246, 0.8769), "TRADE": (0.4939, 0.9700, 0.9033, 0.8520),
    "COMER": (0.4879, 0.9652, 0.8800, 0.8250), "DST-STAR": (0.5483, 0.9754, 0.9253, 0.8780),
    "L4P4K2-DSGraph": (0.5178, 0.9690, 0.9189, 0.8570), "SUMBT": (0.4699, 0.9666, 0.8934, 0.8380),
}  # fmt: skip
KIM_METRICS = ("JGA", "SA", "F1", "RSA")


def kim() -> pl.DataFrame:
    rows = [(model, name, value) for model, row in KIM.items() for name, value in zip(KIM_METRICS, row, strict=True)]
    return pl.DataFrame(rows, ["model", "metric", "value"], orient="row")


def scores_of(values: Mapping[str, Sequence[float | None]]) -> pl.DataFrame:
    """Metric to the scores of runs, as rows of scores."""
    rows = [(f"run{n}", metric, "share", value, None) for metric, row in values.items() for n, value in enumerate(row)]
    schema = {"run": pl.String, "metric": pl.String, "unit": pl.String, "value": pl.Float64, "se": pl.Float64}
    return pl.DataFrame(rows, schema, orient="row")


@pytest.fixture(scope="module")
def three() -> dict[str, Any]:
    return synthetic(40)


@pytest.fixture(scope="module")
def found(three: dict[str, Any]) -> MetricComparison:
    return dstbench.compare_metrics(three, metrics="jga,sa,wrong,gca", resamples=300, seed=3)


# --- Kim et al. 2022, and tables --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings(NO_DIALOGUES)
def test_the_spread_of_kims_table() -> None:
    spread = dstbench.compare_metrics(table=kim()).spread
    rounded = spread.select("metric", "runs", pl.col("mean", "sd", "range").round(4))
    assert rounded.rows() == [
        ("JGA", 10, 0.5296, 0.0412, 0.1432),
        ("SA", 10, 0.9716, 0.0039, 0.0109),
        ("F1", 10, 0.9071, 0.0235, 0.0703),
        ("RSA", 10, 0.8595, 0.0194, 0.0547),
    ]


@pytest.mark.filterwarnings(NO_DIALOGUES)
def test_a_score_that_is_not_in_the_table_is_told() -> None:
    """Whether its value is empty or its row is not there: spread and orders are of the others."""
    table = kim()
    is_it = (pl.col("model") == "TripPy") & (pl.col("metric") == "RSA")
    empty = table.with_columns(value=pl.when(~is_it).then("value"))
    comparisons = []
    for lacking in (empty, table.filter(~is_it)):
        with pytest.warns(
            dstbench.DstbenchWarning, match="RSA is undefined for TripPy: its spread and orders are over the"
        ):
            comparisons.append(dstbench.compare_metrics(table=lacking))
    one, other = comparisons
    assert one.spread.equals(other.spread)
    assert one.agreement.equals(other.agreement)
    assert one.spread.select("metric", "runs").rows() == [("JGA", 10), ("SA", 10), ("F1", 10), ("RSA", 9)]


# --- laws -------------------------------------------------------------------------------------------------------------

values = st.lists(st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.7, 1.0]), min_size=2, max_size=7)


@given(values)
def test_an_order_agrees_with_itself_and_not_with_its_reverse(row: list[float]) -> None:
    up = [1 - value for value in row]
    agreement, reversals = compare_orders(scores_of({"a": row, "b": row, "c": up}))
    tied = all(value == row[0] for value in row)
    assert agreement["tau"].to_list() == ([None] * 3 if tied else [1, -1, -1])
    untied = sum(one != other for one, other in combinations(row, 2))
    assert agreement["reversed"].to_list() == [0, untied, untied]
    assert reversals.height == 2 * untied
    assert (reversals["difference_first"] > 0).all()
    assert (reversals["difference_second"] < 0).all()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=8))
def test_tau_b_of_ties_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    from scipy.stats import kendalltau

    first, second = ([value / 4 for value in column] for column in zip(*pairs, strict=True))
    tau = compare_orders(scores_of({"a": first, "b": second}))[0]["tau"].item()
    expected = kendalltau(first, second).statistic
    assert (tau is None) == bool(np.isnan(expected))
    assert tau is None or tau == pytest.approx(expected, abs=1e-12)


def test_scores_that_differ_by_rounding_tie() -> None:
    rows = compare_orders(scores_of({"a": [0.1 + 0.2, 0.3, 0.5], "b": [0.1, 0.2, 0.3]}))[0]
    assert rows["tau"].item() == pytest.approx(2 / np.sqrt(6))


def test_an_order_goes_from_the_best_run_to_the_worst() -> None:
    rows = compare_orders(scores_of({"jga": [0.1, 0.2, 0.3], "wrong": [30.0, 20.0, 10.0]}))[0]
    assert rows.select("tau", "reversed").row(0) == (1, 0)


def test_runs_without_a_score_are_in_no_order() -> None:
    agreement, reversals = compare_orders(scores_of({"a": [0.1, None, 0.3, 0.4], "b": [0.2, 0.9, 0.1, 0.4]}))
    assert agreement.select("runs", "reversed").row(0) == (3, 1)
    assert agreement["tau"].item() == pytest.approx(1 / 3)
    assert reversals.select("run", "other").rows() == [("run2", "run0")]


# --- pairs, and resamples by hand -------------------------------------------------------------------------------------


def test_the_pairs_told_apart_are_those_of_compare(three: dict[str, Any], found: MetricComparison) -> None:
    leaderboard = dstbench.compare(three, metrics="jga,sa,wrong,gca", resamples=300, seed=3)
    for metric, unit, pairs, apart, adjusted, untestable, power, *_ in found.power.iter_rows():
        rows = leaderboard.differences.filter(metric=metric)
        assert unit == rows["unit"][0]
        assert pairs == 3 == rows["p"].count()
        assert apart == sum(p <= 0.05 for p in rows["p"])
        assert adjusted == rows["significant"].sum()
        assert untestable == rows["significant"].null_count()
        assert power == apart / 3
        assert found.power.filter(metric=metric)["median_detectable"].item() == rows["detectable"].median()
    assert found.power["apart"].sum() > 0
    spread = found.spread.join(leaderboard.scores.group_by("metric").agg(of_runs=pl.col("se").mean()), on="metric")
    assert spread["se"].to_list() == pytest.approx(spread["of_runs"].to_list())
    paired = leaderboard.differences.group_by("metric", maintain_order=True).agg(pl.col("se").mean() / np.sqrt(2))
    noise = spread.join(paired.rename({"se": "paired"}), on="metric", maintain_order="left")
    assert noise["signal_to_noise"].to_list() == pytest.approx((noise["sd"] / noise["paired"]).to_list())


def slow_tau(one: list[float], other: list[float]) -> float:
    """Kendall's tau-b by its definition."""
    sign = [(np.sign(one[i] - one[j]), np.sign(other[i] - other[j])) for i, j in combinations(range(len(one)), 2)]
    untied = sum(a != 0 for a, _ in sign) * sum(b != 0 for _, b in sign)
    return sum(a * b for a, b in sign) / np.sqrt(untied) if untied else np.nan


@pytest.mark.again
def test_intervals_are_those_of_resamples_by_hand() -> None:
    """Every resample as a corpus of its own; for traits, each dialogue left out with its scores in all runs."""
    times, seed, metrics = 40, 4, ("jga", "gca")
    runs = synthetic(60)
    found = dstbench.compare_metrics(runs, metrics=metrics, resamples=times, seed=seed)
    turns = dstbench.turns(runs).cast({"dialogue": pl.String})
    of_dialogue = {
        (run_name, dialogue): rows
        for (run_name, dialogue), rows in turns.group_by("run", "dialogue", maintain_order=True)
    }
    names = sorted(turns["dialogue"].unique())
    scored = {
        row[:3]: row[3]
        for row in dstbench.score(runs, metrics=metrics, by="dialogue")
        .select("run", "metric", pl.col("dialogue").cast(pl.String), "value")
        .iter_rows()
    }
    observed = [dstbench.score(runs, metrics=m)["value"].to_list() for m in metrics]
    taus, alike = [], []
    for counts in np.concatenate(list(weights(len(names), times, seed))).astype(int):
        drawn = [name for name, n in zip(names, counts, strict=True) for _ in range(n)]
        whole = [pl.concat([of_dialogue[run_name, name] for name in drawn]) for run_name in runs]
        orders = [[table.select(dstbench.parse(m).expr()).item() for table in whole] for m in metrics]
        taus.append(slow_tau(*orders))
        alike.append([slow_tau(*both) for both in zip(orders, observed, strict=True)])
    low, high = np.nanquantile(taus, [0.025, 0.975])
    stable = np.prod(np.nanmean(alike, axis=0))
    assert 0.6 < stable < 1
    expected = max(-1, min(low, low / stable)), min(1, max(high, high / stable))
    assert found.agreement.select("low", "high").row(0) == pytest.approx(expected)
    assert len(set(taus)) > 1
    assert found.agreement["undefined"].item() == np.isnan(taus).sum()
    row = found.dependence.filter(metric="gca", trait="turns")
    value, length, dialogue = zip(
        *((scored[run_name, "gca", name], rows.height, name) for (run_name, name), rows in of_dialogue.items()),
        strict=True,
    )
    limits = stats.jackknifed_correlation(np.array(value, float), length, dialogue).limits(fisher=True)
    assert row.select("low", "high").row(0) == pytest.approx(limits)


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_an_interval_is_not_of_few_resamples() -> None:
    """One of 6 dialogues differs between the runs, and is longer: a third of the resamples have no tau, and no r."""
    area = {"hotel-area": "north"}
    runs = {
        name: [
            {"dialogue_id": f"D{n}", "turn": t, "gold": area, "pred": pred if n == 0 else area}
            for n in range(6)
            for t in range(1 + (n == 0))
        ]
        for name, pred in {"a": {}, "b": area}.items()
    }
    found = dstbench.compare_metrics(runs, metrics="jga,rsa", resamples=200)
    assert found.agreement.select("tau", "low", "high").row(0) == (1, None, None)
    assert 40 < found.agreement["undefined"].item() < 100
    of_turns = found.dependence.filter(metric="jga", trait="turns")
    assert of_turns["r"].item() < 0
    assert of_turns["low"].item() is None


def test_correlations_with_traits_are_those_of_correlate(three: dict[str, Any], found: MetricComparison) -> None:
    matrix = dstbench.correlate(three, metrics=["jga,sa,wrong,gca", *TRAITS]).matrix.filter(run="pooled")
    expected = {row["first"] + row["second"]: row for row in matrix.iter_rows(named=True)}
    assert found.dependence.height == 16
    for row in found.dependence.iter_rows(named=True):
        other = expected[row["metric"] + row["trait"]]
        assert (row["n"], row["r"]) == (other["n"], pytest.approx(other["r"]))
        assert row["low"] <= row["r"] <= row["high"]


# --- too little -------------------------------------------------------------------------------------------------------


def emptied(turns: int, *, predicted: bool) -> list[dict[str, Any]]:
    """Dialogues of so many turns whose gold is empty."""
    pred = {"hotel-area": "north"} if predicted else {}
    return [{"dialogue_id": f"D{n}", "turn": t, "gold": {}, "pred": pred} for n in range(5) for t in range(turns)]


def test_one_run_has_traits_alone(three: dict[str, Any]) -> None:
    with pytest.warns(dstbench.DstbenchWarning, match="one run has no spread, and no pair to tell apart or to order"):
        one = dstbench.compare_metrics({"eager": three["eager"]}, metrics="jga,gca", resamples=100)
    assert one.spread.select("runs", "sd", "range", "signal_to_noise").rows() == [(1, None, None, None)] * 2
    assert one.power.select("pairs", "power").rows() == [(0, None)] * 2
    assert (one.agreement.height, one.reversals.height, one.dependence.height) == (0, 0, 8)
    with pytest.raises(dstbench.UsageError, match="no figure of one run"):
        metric_charts(one)


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_what_is_undefined_or_constant_has_no_number() -> None:
    runs = {"a": emptied(2, predicted=False), "b": emptied(2, predicted=True), "c": emptied(2, predicted=True)}
    with pytest.warns(dstbench.DstbenchWarning) as warned:
        left = dstbench.compare_metrics(runs, metrics="jga,aga,gca", resamples=100)
    said = [str(each.message) for each in warned]
    assert "aga is undefined for a, b, c: it has no spread or order" in said
    assert "gca is undefined for a: its spread and orders are over the other 2" in said
    assert "gca gives all runs the same score, so they have no order by it, and there is no tau" in said
    assert "aga is undefined in 15 of 15 dialogues of all runs: nothing correlates with it" in said
    (constant,) = (line for line in said if line.startswith("the same in all dialogues"))
    assert constant.partition(": ")[2] == "gca, turns, n_gold_max, to_mean"
    assert left.spread["runs"].to_list() == [3, 0, 2]
    assert left.spread.filter(metric="aga").select("mean", "sd", "range").row(0) == (None,) * 3
    assert left.power["pairs"].to_list() == [3, 0, 1]
    assert left.agreement["tau"].null_count() == 3
    assert left.dependence.filter(trait="turns")["r"].null_count() == 3


# --- what is printed and drawn ----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings(NO_DIALOGUES)
def test_the_spelling_of_a_table_changes_nothing(here: Path) -> None:
    """Semicolons, tabs, spaces, a mark of byte order, blank lines; Parquet; columns that are not asked for."""
    table = kim()
    table.write_csv("kim.csv")
    text = Path("kim.csv").read_text()
    Path("semicolons.csv").write_text(text.replace(",", ";"))
    Path("tabs.csv").write_text(text.replace(",", " \t ") + "\n\n")
    Path("spaces.csv").write_text("\ufeff" + text.replace(",", ", "))
    Path("notes.csv").write_text(
        "\n".join(f"{line},note,1" for line in text.splitlines()).replace("note,1", "note,note", 1)
    )
    table.write_parquet("kim.parquet")
    wanted = dstbench.compare_metrics(table=table)
    for name in ("kim.csv", "semicolons.csv", "tabs.csv", "spaces.csv", "notes.csv", "kim.parquet", table.lazy()):
        found = dstbench.compare_metrics(table=name)
        assert found.spread.equals(wanted.spread), name
        assert found.agreement.equals(wanted.agreement), name


@given(values, st.randoms())
def test_the_spread_is_of_runs_in_any_order(row: list[float], random: Any) -> None:
    turned = [*row]
    random.shuffle(turned)
    one, other = (spread_of(scores_of({"a": each})) for each in (row, turned))
    assert one.equals(other)
    mean, sd, span = one.select("mean", "sd", "range").row(0)
    assert (mean, sd, span) == pytest.approx((np.mean(row), np.std(row, ddof=1), max(row) - min(row)))


@given(values, values, st.randoms())
def test_the_runs_may_stand_in_any_order(one: list[float], other: list[float], random: Any) -> None:
    rows = scores_of({"a": one, "b": other[: len(one)]})
    names = sorted(set(rows["run"]))
    random.shuffle(names)
    turned = pl.concat([rows.filter(metric=metric, run=name) for metric in ("a", "b") for name in names])
    (agreement, reversals), (again, also) = compare_orders(rows), compare_orders(turned)
    assert agreement.equals(again)
    assert sorted(reversals.rows()) == sorted(also.rows())


def test_a_reversal_is_significant_where_both_metrics_differ(three: dict[str, Any], found: MetricComparison) -> None:
    p = dstbench.compare(three, metrics="jga,sa,wrong,gca", resamples=300, seed=3).differences
    sure = {(row["metric"], frozenset((row["run"], row["other"]))) for row in p.filter("significant").to_dicts()}
    for row in found.reversals.to_dicts():
        both = frozenset((row["run"], row["other"]))
        assert row["significant"] == all((row[side], both) in sure for side in ("first", "second"))
    assert found.reversals.filter("significant").height == found.agreement["reversed_surely"].sum()


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_power_is_a_share_of_all_pairs_also_of_those_that_no_test_can_tell_apart() -> None:
    north = {"hotel-area": "north"}

    def run(right: int) -> list[dict[str, Any]]:
        preds = ({"pred": north if number < right else {}} for number in range(30))
        return [{"dialogue_id": f"D{n}", "turn": 0, "gold": north, **pred} for n, pred in enumerate(preds)]

    found = dstbench.compare_metrics({"a": run(30), "b": run(15), "c": run(13)}, metrics="jga,sa:T=5", resamples=200)
    for row in found.power.iter_rows(named=True):
        assert (row["pairs"], row["apart"], row["untestable"]) == (3, 2, 1)  # b and c differ in two dialogues
        assert row["power"] == pytest.approx(2 / 3)
