"""Correlations of scores and traits, and their differences: by plain loops, by scipy, and by their own laws."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

import dstbench
from dstbench.analysis import findings as sentences
from dstbench.analysis.correlate import TESTS
from dstbench.demo import synthetic
from dstbench.rendering.tables import layout_of
from dstbench.stats import (
    Jackknifed,
    compare_independent,
    compare_nonoverlapping,
    compare_overlapping,
    jackknifed_correlation,
)
from dstbench.stats.adjust import holm
from dstbench.typing import Per
from tests import oracle
from tests.analysis.test_diagnose import by_dialogue
from tests.corpora import LARGE, States, corpora

Rows = list[dict[str, Any]]


def r_of(x: list[float | None], y: list[float | None]) -> tuple[float | None, int]:
    """Pearson's r of the pairs without a gap, by plain loops."""
    pairs = [(round(a, 12), round(b, 12)) for a, b in zip(x, y, strict=True) if a is not None and b is not None]
    n = len(pairs)
    if n < 2 or len({a for a, _ in pairs}) == 1 or len({b for _, b in pairs}) == 1:
        return None, n
    mean_x, mean_y = math.fsum(a for a, _ in pairs) / n, math.fsum(b for _, b in pairs) / n
    both = math.fsum((a - mean_x) * (b - mean_y) for a, b in pairs)
    squares = [math.fsum((p[i] - m) ** 2 for p in pairs) for i, m in enumerate((mean_x, mean_y))]
    return both / math.sqrt(squares[0] * squares[1]), n


def check_matrix(found: pl.DataFrame, columns: dict[str, list[float | None]]) -> None:
    """Every pair once, with r, n, an interval that holds r and, where rows are independent, Fisher's interval."""
    names = list(columns)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    assert found.select("first", "second").rows() == pairs
    for row in found.iter_rows(named=True):
        r, n = r_of(columns[row["first"]], columns[row["second"]])
        assert row["n"] == n
        assert row["r"] == (None if r is None else pytest.approx(r, abs=1e-9))
        if r is None or n < 4:
            assert row["low"] is row["high"] is row["fisher_low"] is row["fisher_high"] is None
            continue
        assert row["low"] is None or row["low"] - 1e-9 <= r <= row["high"] + 1e-9
        if row["fisher_low"] is not None and abs(r) < 1 - 1e-9:
            reach = statistics.NormalDist().inv_cdf((1 + row["level"]) / 2) / math.sqrt(n - 3)
            z = math.atanh(r)
            wanted = math.tanh(z - reach), math.tanh(z + reach)
            assert (row["fisher_low"], row["fisher_high"]) == pytest.approx(wanted, abs=1e-6)


def complete(*columns: pl.Series) -> list[np.ndarray[Any, Any]]:
    """The rows in which no column has a gap."""
    table = pl.DataFrame({str(i): column for i, column in enumerate(columns)}).drop_nulls()
    return [table[name].to_numpy() for name in table.columns]


def scored(data: Any, metrics: str) -> pl.DataFrame:
    return dstbench.traits(data, metrics=metrics).dialogues


# --- correlations --------------------------------------------------------------------------------------------------


@settings(max_examples=6)
@given(corpora(LARGE), st.sampled_from([0.9, 0.95]))
@pytest.mark.filterwarnings("ignore:.* has no interval:dstbench.errors.DstbenchWarning")
@pytest.mark.filterwarnings("ignore:.* is undefined in :dstbench.errors.DstbenchWarning")
def test_dialogues_by_plain_loops(states: States, level: float) -> None:
    found = dstbench.correlate(states, metrics="jga,turns,gca,to_mean", level=level)
    groups = [turns for _, turns in sorted(by_dialogue(states).items())]
    check_matrix(
        found.matrix,
        {
            "jga": [oracle.jga(ts) for ts in groups],
            "turns": [float(len(ts)) for ts in groups],
            "gca": [oracle.gca(ts) for ts in groups],
            "to_mean": [oracle.tail_orientation(ts, "mean") for ts in groups],
        },
    )
    assert set(found.matrix["level"]) == {level}
    assert found.differences.is_empty()
    assert found.tests.is_empty()


@pytest.mark.again
def test_a_run_and_its_copies_are_as_uncertain_as_the_run() -> None:
    """Rows of one dialogue are one piece of evidence, in several runs and over turns."""
    table = synthetic(40)["careful"]
    pers: tuple[Per, ...] = ("dialogue", "turn")
    for per in pers:
        found = dstbench.correlate(dict.fromkeys("abc", table), metrics="jga,rsa", differences=["jga,rsa,sa"], per=per)
        for frame, values in (("matrix", ["r", "low", "high"]), ("differences", ["difference", "low", "high", "p"])):
            rows = getattr(found, frame)
            pooled, alone = (rows.filter(run=run).select(values) for run in ("pooled", "a"))
            assert pooled.to_numpy() == pytest.approx(alone.to_numpy(), abs=1e-9)
            (classical,) = (name for name in rows.columns if name in ("fisher_low", "zou_low"))
            assert rows.filter(run="pooled")[classical].is_null().all()
            assert rows.filter(run="a")[classical].is_null().all() == (per == "turn")
    differences = dstbench.traits(dict.fromkeys("ab", table)).differences
    pooled, alone = (differences.filter(run=run).select("low", "high", "p").to_numpy() for run in ("pooled", "a"))
    assert pooled == pytest.approx(alone, abs=1e-9)


def test_a_metric_that_is_not_the_same_in_all_runs_is_told() -> None:
    few = [{"dialogue_id": "MUL1", "turn": t, "gold": {"hotel-area": "north"}, "pred": {}} for t in range(2)]
    more = [{"dialogue_id": "MUL2", "turn": 0, "gold": {"hospital-department": "eyes"}, "pred": {}}]
    with pytest.warns(dstbench.DstbenchWarning, match=r"sa has different parameters in the pooled runs: sa\(T=30"):
        dstbench.correlate({"few": few, "more": more}, metrics="sa,jga")
    dstbench.correlate({"few": few, "more": more}, metrics="sa:T=30,jga")


# --- differences ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "shared"),
    [("jga,fga,gca", "jga"), ("fga,jga,gca,jga", "jga"), ("gca,fga,jga,gca", "gca"), ("jga,fga,rsa,gca", None)],
)
def test_differences_are_over_the_same_dialogues(asked: str, shared: str | None) -> None:
    """Of the rows in which all are defined, whichever way the columns are named."""
    table = synthetic(120)["careful"]
    silent = [{"dialogue_id": f"Z{n}", "turn": 0, "gold": {}, "pred": {}} for n in range(9)]  # n/a GCA
    data = pl.concat([table, dstbench.scan(silent).drop("run").collect()])
    found = dstbench.correlate(data, metrics="jga,fga", differences=[asked], test="all")
    names = asked.split(",")
    names = names if len(names) == 4 else [*names[:2], names[0], names[2]]
    scores = scored(data, "jga,fga,gca,rsa")
    assert scores["gca"].null_count() == 9
    columns = complete(*(scores[name] for name in names))

    def r(i: int, j: int) -> float:
        return float(reference.pearsonr(columns[i], columns[j]).statistic)

    n = len(columns[0])
    if shared:
        i, j = names[:2].index(shared), 2 + names[2:].index(shared)
        wanted = compare_overlapping(r(0, 1), r(2, 3), r(1 - i, 5 - j), n)
    else:
        wanted = compare_nonoverlapping(r(0, 1), r(2, 3), r(0, 2), r(0, 3), r(1, 2), r(1, 3), n)
    row = found.differences.row(0, named=True)
    assert (row["first"], row["second"]) == (",".join(names[:2]), ",".join(names[2:]))
    assert row["run"] == row["other_run"]
    assert row["rows"] == "complete"
    assert row["kind"] == ("overlapping" if shared else "nonoverlapping")
    assert (row["n_first"], row["n_second"]) == (n, n) == (120, 120)
    assert (row["r_first"], row["r_second"]) == pytest.approx((r(0, 1), r(2, 3)))
    assert (row["difference"], row["zou_low"], row["zou_high"]) == pytest.approx((wanted.difference, *wanted.zou))
    jackknifed = [jackknifed_correlation(columns[i], columns[i + 1]) for i in (0, 2)]
    difference = jackknifed[0] - jackknifed[1]
    assert (row["low"], row["high"], row["p"]) == pytest.approx((*(difference.limits() or ()), difference.p()))
    assert set(found.tests["test"]) == set(wanted.tests) == set(TESTS[row["kind"]])
    for test in found.tests.iter_rows(named=True):
        outcome = wanted.tests[test["test"]]
        assert (test["statistic"], test["p"]) == pytest.approx((outcome.statistic, outcome.p), rel=1e-6)
        assert test["df"] == outcome.df
        assert (test["low"], test["high"]) == pytest.approx(outcome.interval or (None, None))


def test_classical_tests_are_shown_by_name_only() -> None:
    data = synthetic(60)["careful"]
    asked = ["jga,fga,gca", "jga,fga,rsa,gca"]
    assert dstbench.correlate(data, differences=asked).tests.is_empty()
    assert set(dstbench.correlate(data, differences=asked, test="dunn1969").tests["test"]) == {"dunn1969"}
    assert dstbench.correlate(data, differences=asked, test="all").tests.height == 9 + 5
    with pytest.warns(
        dstbench.DstbenchWarning, match="are nonoverlapping, and meng1992 does not test such correlations"
    ):
        assert dstbench.correlate(data, differences=asked, test="meng1992").tests.height == 1


def test_between_runs_over_the_same_dialogues() -> None:
    """The four columns are those of the joined runs; a column that is the same in both is shared."""
    (one, first), (other, second) = list(synthetic(90).items())[:2]
    found = dstbench.correlate({one: first, other: second}, metrics="jga,gca,turns", between_runs=True)
    assert found.differences.select("run", "other_run").unique().rows() == [(one, other)]
    pairs = found.differences.select("first", "kind", "n_first").rows()
    assert pairs == [
        ("jga,gca", "nonoverlapping", 90), ("jga,turns", "overlapping", 90), ("gca,turns", "overlapping", 90)
    ]  # fmt: skip
    a, b = scored({one: first}, "jga,gca"), scored({other: second}, "jga,gca")
    j, k, h, m = complete(a["jga"], a["gca"], b["jga"], b["gca"])
    r = np.corrcoef([j, k, h, m])
    wanted = compare_nonoverlapping(r[0, 1], r[2, 3], r[0, 2], r[0, 3], r[1, 2], r[1, 3], 90)
    row = found.differences.row(0, named=True)
    assert (row["difference"], row["zou_low"], row["zou_high"]) == pytest.approx((wanted.difference, *wanted.zou))
    r = np.corrcoef([a["turns"], a["jga"], b["jga"]])
    wanted = compare_overlapping(r[0, 1], r[0, 2], r[1, 2], 90)
    row = found.differences.row(1, named=True)
    assert (row["difference"], row["zou_low"], row["zou_high"]) == pytest.approx((wanted.difference, *wanted.zou))


def test_between_runs_over_other_dialogues() -> None:
    first, second = synthetic(50)["careful"], synthetic(70, seed=2)["careful"]
    second = second.with_columns(pl.format("other-{}", "dialogue").alias("dialogue"))
    found = dstbench.correlate({"a": first, "b": second}, metrics="jga,gca", between_runs=True, test="all")
    x, y = (scored(table, "jga,gca").drop_nulls("gca") for table in (first, second))
    sizes = x.height, y.height
    r = [float(reference.pearsonr(t["jga"], t["gca"]).statistic) for t in (x, y)]
    wanted = compare_independent(r[0], sizes[0], r[1], sizes[1])
    row = found.differences.row(0, named=True)
    assert (row["kind"], row["n_first"], row["n_second"]) == ("independent", *sizes)
    assert (row["difference"], row["zou_low"], row["zou_high"]) == pytest.approx((wanted.difference, *wanted.zou))
    one, other = (jackknifed_correlation(t["jga"], t["gca"]) for t in (x, y))
    both = Jackknifed(r[0] - r[1], np.array([*one.influence, *-other.influence]))
    assert both.spread.se**2 == pytest.approx(one.spread.se**2 + other.spread.se**2)
    assert (row["low"], row["high"], row["p"]) == pytest.approx((*(both.limits() or ()), both.p()))
    assert found.tests["test"].to_list() == ["fisher1925"]
    mixed = pl.concat([first, second])
    with pytest.raises(dstbench.DstbenchError, match="share 50 dialogues of 50 and 120: they are neither the same nor"):
        dstbench.correlate({"a": first, "b": mixed}, metrics="jga,gca", between_runs=True)


@pytest.mark.filterwarnings("ignore:.* has no interval:dstbench.errors.DstbenchWarning")
def test_what_cannot_be_compared_is_null_and_told() -> None:
    area = {"hotel-area": "north"}
    right = [{"dialogue_id": f"D{n}", "turn": 0, "gold": area, "pred": area} for n in range(6)]
    half = [{**s, "pred": area if n % 2 else {}} for n, s in enumerate(right)]
    for data, why in (
        (right, "a column does not vary"),
        (half, "correlate perfectly"),
        (half[:3], "defined in 3 dialogues"),
    ):
        with pytest.warns(dstbench.DstbenchWarning, match=why):
            found = dstbench.correlate(data, metrics="jga,fga", differences=["jga,fga,rsa"])
        assert found.differences.select("difference", "low", "p", "zou_low").row(0) == (None, None, None, None)
        assert found.tests.is_empty()
    mixed = synthetic(30)["careful"]
    with pytest.warns(dstbench.DstbenchWarning, match="one of the columns follows from the others"):
        dstbench.correlate(mixed, differences=["gca,sa:T=30,sa:T=31"])


# --- traits --------------------------------------------------------------------------------------------------------


def as_released(rows: Rows) -> dict[str, list[float | None]]:
    """The GCA authors' protocol by plain loops."""
    names = ["to_released", "nu_released", "fga:lam=0.75", "gca"]
    shares = names[2:]
    kept = [[round(100 * (row[n] or 0), 2) if n in shares else row[n] or 0.0 for n in names] for row in rows]
    kept = [values for values in kept if values[2:] != [100, 100]]
    standard = []
    for column in zip(*kept, strict=True):
        mean, deviation = statistics.mean(column), statistics.stdev(column)
        standard.append([round((value - mean) / deviation, 2) for value in column])
    apart = [values for values in zip(*standard, strict=True) if abs(values[2] - values[3]) >= 0.1]
    return {name: [values[i] for values in apart] for i, name in enumerate(names)}


def test_what_no_rows_are_is_told() -> None:
    with pytest.raises(dstbench.UsageError, match="per='slot' is none of dialogue, turn"):
        dstbench.correlate(synthetic(4), per="slot")  # type: ignore[arg-type] # the point


def _with_mistakes(table: pl.DataFrame) -> pl.DataFrame:
    defined = dstbench.traits(table).dialogues.drop_nulls(["to_mean", "gca"]).select("dialogue")
    return table.join(defined, on="dialogue", how="semi", maintain_order="left")


@settings(max_examples=6)
@given(corpora(LARGE))
@pytest.mark.filterwarnings("ignore:.* has no interval:dstbench.errors.DstbenchWarning")
@pytest.mark.filterwarnings("ignore:.* is undefined in :dstbench.errors.DstbenchWarning")
@pytest.mark.filterwarnings("ignore:.*gold never has:dstbench.errors.DstbenchWarning")
def test_turns_by_plain_loops(states: States) -> None:
    found = dstbench.correlate(states, metrics="rsa,aga,turn,n_gold", per="turn")
    turns = [turn for _, ts in sorted(by_dialogue(states).items()) for turn in ts]
    check_matrix(
        found.matrix,
        {
            "rsa": [oracle.rsa([t]) for t in turns],
            "aga": [oracle.aga([t]) for t in turns],
            "turn": [float(i) for _, ts in sorted(by_dialogue(states).items()) for i in range(len(ts))],
            "n_gold": [float(len(t.gold)) for t in turns],
        },
    )


def test_the_default_matrix_by_scipy() -> None:
    runs = synthetic(80)
    found = dstbench.correlate(runs)
    metrics = ["jga", "sa", "rsa", "aga", "f1", "fga", "gca"]
    assert found.matrix.height == 21 * (len(runs) + 1)
    for name, table in runs.items():
        scores = scored({name: table}, ",".join(metrics))
        for row in found.matrix.filter(run=name).iter_rows(named=True):
            witness = reference.pearsonr(*complete(scores[row["first"]], scores[row["second"]]))
            limits = witness.confidence_interval(0.95)
            shown = row["r"], row["fisher_low"], row["fisher_high"]
            assert shown == pytest.approx((witness.statistic, *limits), abs=1e-9)
    assert found.signatures["metric"].to_list() == metrics * len(runs)
    assert found.signatures["signature"].to_list() == dstbench.score(runs, metrics=metrics, by="dialogue")[
        "signature"
    ].unique(maintain_order=True).to_list() * len(runs)


def test_pooled_is_one_run_of_all_dialogues() -> None:
    tables = list(synthetic(40).values())[:2]
    renamed = [
        table.with_columns(pl.format("{}-{}", pl.lit(i), "dialogue").alias("dialogue"))
        for i, table in enumerate(tables)
    ]
    together = dstbench.correlate({"one": pl.concat(renamed)}, differences=["jga,fga,gca"])
    apart = dstbench.correlate({"a": renamed[0], "b": renamed[1]}, differences=["jga,fga,gca"])
    for frame in ("matrix", "differences"):
        pooled = getattr(apart, frame).filter(run="pooled").drop("run", "other_run", "p_adjusted", strict=False)
        alone = getattr(together, frame).drop("run", "other_run", "p_adjusted", strict=False)
        assert pooled.equals(alone), frame
    assert apart.differences["p_adjusted"].to_list() == pytest.approx(holm(apart.differences["p"]).tolist())


@pytest.mark.filterwarnings("ignore:.*MultiWOZ:dstbench.errors.DstbenchWarning")
def test_the_last_bits_of_scores_are_not_correlated() -> None:
    """GCA of 1 right and 1 wrong change is that of 7 and 7, but for a bit."""
    states = []
    for name, size, turns in (("A", 1, 1), ("B", 7, 2), ("C", 1, 1), ("D", 7, 3)):
        gold = {f"hotel-{i}": "a" for i in range(2 * size)}
        pred = {slot: "a" if i < size else "b" for i, slot in enumerate(gold)}
        states += [{"dialogue_id": name, "turn": t, "gold": gold, "pred": pred} for t in range(turns)]
    assert scored(states, "gca")["gca"].n_unique() == 2
    found = dstbench.correlate(states, metrics="gca,turns").matrix
    assert found.select("r", "low", "fisher_low", "n").row(0) == (None, None, None, 4)


@settings(max_examples=6)
@given(corpora(LARGE))
@pytest.mark.filterwarnings("ignore:.*gold never has:dstbench.errors.DstbenchWarning")
def test_traits_are_correlated_over_complete_dialogues(states: States) -> None:
    found = dstbench.traits(states, metrics="fga,gca,jga")
    names = ["to_mean", "nu_paper", "fga", "gca", "jga"]
    rows = found.dialogues.drop_nulls(names)
    check_matrix(found.correlations, {name: rows[name].to_list() for name in names})
    assert set(found.correlations["rows"]) == {"complete"}
    places = found.differences.select("first", "second", "n_first").rows()
    assert places == [(f"{t},fga", f"{t},gca", rows.height) for t in ("to_mean", "nu_paper")]


def test_partial_correlations_are_those_of_residuals() -> None:
    """Of regressions on the dialogues' numbers of mistakes and turns, by least squares."""
    found = dstbench.traits(synthetic(60, trackers=["careful"]), metrics="fga,gca")
    names = ["to_mean", "nu_paper", "fga", "gca"]
    rows = found.dialogues.drop_nulls(names)
    controls = np.column_stack([np.ones(rows.height), rows["mistakes"], rows["turns"]])
    residual = {
        name: rows[name].to_numpy() - controls @ np.linalg.lstsq(controls, rows[name].to_numpy(), rcond=None)[0]
        for name in names
    }
    assert found.given.height == 4
    for first, second, r in found.given.select("first", "second", "r").iter_rows():
        assert r == pytest.approx(np.corrcoef(residual[first], residual[second])[0, 1], abs=1e-9)


@pytest.mark.again
def test_differences_of_traits_are_those_of_correlate() -> None:
    runs = synthetic(100)
    found = dstbench.traits(runs, level=0.9)
    asked = [f"{trait},fga,gca" for trait in ("to_mean", "nu_paper")]
    wanted = dstbench.correlate(
        {name: _with_mistakes(table) for name, table in runs.items()}, differences=asked, level=0.9
    )
    assert found.differences.equals(wanted.differences)
    assert set(found.differences["run"]) == {*runs, "pooled"}
    assert dstbench.traits(runs, metrics="jga").differences.is_empty()


def test_the_released_protocol_by_plain_loops_pools_and_names_one_run_as_it_is() -> None:
    runs = synthetic(80)
    pooled = dstbench.traits(runs, protocol="released")
    columns = as_released(pooled.dialogues.to_dicts())
    check_matrix(pooled.correlations, columns)
    for frame in (pooled.correlations, pooled.differences):
        assert frame.select("run", "rows").unique().rows() == [("pooled", "released")]
    pairs = [("nu_released", "fga:lam=0.75"), ("nu_released", "gca"), ("fga:lam=0.75", "gca")]
    first, second, across = (r_of(columns[a], columns[b])[0] or 0 for a, b in pairs)
    wanted = compare_overlapping(first, second, across, n := len(columns["gca"]))
    row = pooled.differences.row(1, named=True)
    assert (row["first"], row["n_first"]) == ("nu_released,fga:lam=0.75", n)
    assert (row["difference"], row["zou_low"], row["zou_high"]) == pytest.approx((wanted.difference, *wanted.zou))
    one = dstbench.traits({"careful": runs["careful"]}, protocol="released", metrics="fga,gca", to="sum")
    assert set(one.correlations["run"]) == {"careful"}
    assert one.correlations["first"].unique(maintain_order=True).to_list() == ["to_sum", "nu_released", "fga"]
    with pytest.raises(dstbench.UsageError, match="the released protocol needs two metrics"):
        dstbench.traits(runs, protocol="released", metrics="jga")
    with pytest.raises(dstbench.UsageError, match="protocol='paper' is none of plain, released"):
        dstbench.traits(runs, protocol="paper")  # type: ignore[arg-type] # the point


@pytest.mark.parametrize(
    ("p", "zou", "differs"),
    [
        (0.01, (0.1, 0.3), False),
        (0.2, (-0.1, 0.5), False),
        (0.2, (0.01, 0.4), True),
        (0.03, (-0.01, 0.4), True),
        (0.03, (-0.4, -0.01), False),
        (0.03, (None, None), False),
    ],
)
def test_a_line_says_where_zou_differs(p: float, zou: tuple[float | None, float | None], differs: bool) -> None:
    """The verdict is that of p over dialogues."""
    found = dstbench.correlate(synthetic(40)["careful"], differences=["jga,rsa,sa"])
    low, high = (pl.lit(end, pl.Float64) for end in zou)
    changed = found.differences.with_columns(p=pl.lit(p), p_adjusted=pl.lit(p), zou_low=low, zou_high=high)
    lines = sentences.differences(changed)
    assert ("could be chance" in lines[0]) == (p > 0.05)
    assert (lines[1:] == ["by Zou's interval, which assumes normal data, it is otherwise in table"]) == differs
    (_, table), *_ = layout_of(replace(found, differences=changed)).sections
    assert ("(differs)" in str(table.to_dicts())) == differs
