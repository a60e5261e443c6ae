"""Agreement of metrics with people's ratings, and differences over turns: by scipy, by loops, by laws; bad tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats as reference

import dstbench
from dstbench.analysis.correlate import TESTS, Correlations
from dstbench.demo import synthetic
from dstbench.stats import (
    Jackknifed,
    compare_overlapping,
    compare_rank_correlations,
    holm,
    jackknifed_correlation,
    kendall,
    pearson,
    spearman,
)

RUNS = synthetic(60)
NAMES = "jga,rsa,gca"


def scores(data: Any, metrics: str, *by: str) -> pl.DataFrame:
    """A column per metric, a row per dialogue or turn of a run."""
    rows = dstbench.score(data, metrics=metrics, by=["run", *by])
    return rows.pivot(on="metric", index=["run", *by], values="value", maintain_order=True)


def invented(data: Any, *by: str, seed: int = 0) -> pl.DataFrame:
    """Ratings from 0 to 4 that follow JGA, loosely."""
    table = scores(data, "jga", *by)
    noise = np.random.default_rng(seed).random(table.height)
    return table.select("run", *by, rating=(2 * pl.col("jga") + 2 * pl.Series(noise)).round())


def test_coefficients_are_those_of_scipy() -> None:
    data = {"careful": RUNS["careful"]}
    ratings = invented(data, "dialogue")
    found = dstbench.correlate(data, metrics=NAMES, ratings=ratings, level=0.9)
    table = scores(data, NAMES, "dialogue").join(ratings, on=["run", "dialogue"])
    for row in found.rated.iter_rows(named=True):
        both = table.drop_nulls(row["metric"])
        x, y = both[row["metric"]].to_numpy().round(12), both["rating"].to_numpy()
        witness = {
            "pearson": reference.pearsonr, "spearman": reference.spearmanr, "kendall": reference.kendalltau
        }[row["coefficient"]](x, y)  # fmt: skip
        assert row["value"] == pytest.approx(witness.statistic, abs=1e-9)
        assert (row["n"], row["dialogues"], row["per"]) == (both.height, both.height, "dialogue")
        if row["coefficient"] == "pearson":
            limits = jackknifed_correlation(x, y).limits(0.9, fisher=True)
            assert (row["low"], row["high"]) == pytest.approx(limits, abs=1e-9)
        assert row["low"] < row["value"] < row["high"]
    assert found.rated.height == 9
    assert found.matrix.filter(second="rating")["first"].to_list() == NAMES.split(",")


def test_two_metrics_are_compared_over_dialogues_beside_zou_and_classical_tests() -> None:
    data = {"careful": RUNS["careful"]}
    ratings = invented(data, "dialogue")
    found = dstbench.correlate(data, metrics=f"{NAMES},missed,turns", ratings=ratings)
    assert found.differences.is_empty()
    pairs = [("jga", "rsa"), ("jga", "gca"), ("rsa", "gca")]  # not `missed`, of which fewer are better, nor a trait
    of_r = found.rated_differences.filter(coefficient="pearson")
    assert of_r.select("metric", "other").rows() == pairs
    table = scores(data, NAMES, "dialogue").join(ratings, on=["run", "dialogue"]).drop_nulls(["rsa", "gca"])
    rating, rsa, gca = (table[name].to_numpy() for name in ("rating", "rsa", "gca"))
    r = [pearson(rating, column)[0] for column in (rsa, gca)]
    wanted = compare_overlapping(r[0], r[1], pearson(rsa, gca)[0], table.height)
    row = of_r.row(2, named=True)
    assert (row["value"], row["other_value"], row["n"]) == (*map(pytest.approx, r), table.height)
    assert (row["difference"], row["zou_low"], row["zou_high"]) == pytest.approx((wanted.difference, *wanted.zou))
    difference = jackknifed_correlation(rating, rsa) - jackknifed_correlation(rating, gca)
    assert (row["low"], row["high"], row["p"]) == pytest.approx((*(difference.limits() or ()), difference.p()))
    assert of_r.select("interval", "test").unique().rows() == [("jackknife", "jackknife")]
    assert of_r["p_adjusted"].to_list() == pytest.approx(holm(of_r["p"].to_numpy()).tolist())
    every = dstbench.correlate(data, metrics=NAMES, ratings=ratings, test="all").rated_differences
    assert every.filter(test="meng1992").height == 3
    williams = every.filter(metric="rsa", test="williams1959").row(0, named=True)
    assert (williams["p"], williams["df"]) == (pytest.approx(wanted.tests["williams1959"].p), table.height - 3)
    for test in TESTS["overlapping"]:
        rows = every.filter(test=test)
        assert rows["p_adjusted"].to_list() == pytest.approx(holm(rows["p"].to_numpy()).tolist())


@pytest.mark.parametrize("by", [("dialogue",), ("dialogue", "turn")])
def test_rank_correlations_are_compared_where_both_are_defined(by: tuple[str, ...]) -> None:
    """Each with the other coefficient's dialogues as clusters; AGA is undefined in turns without gold slots."""
    data = {"careful": RUNS["careful"]}
    ratings = invented(data, *by)
    found = dstbench.correlate(data, metrics="jga,rsa,aga", ratings=ratings, level=0.9)
    table = scores(data, "jga,rsa,aga", *by).join(ratings, on=["run", *by])
    for name, coefficient in (("spearman", spearman), ("kendall", kendall)):
        rows = found.rated_differences.filter(coefficient=name)
        assert rows.select("metric", "other").rows() == [("jga", "rsa"), ("jga", "aga"), ("rsa", "aga")]
        for row in rows.iter_rows(named=True):
            both = table.drop_nulls([row["metric"], row["other"]])
            one, other = (
                coefficient(both[metric].to_numpy().round(12), both["rating"], both["dialogue"].to_numpy(), level=0.9)
                for metric in (row["metric"], row["other"])
            )
            wanted = compare_rank_correlations(one, other)
            assert (row["value"], row["other_value"]) == pytest.approx((one.value, other.value))
            assert (row["difference"], row["low"], row["high"]) == pytest.approx((wanted.difference, *wanted.zou))
            outcome = wanted.tests["linearised"]
            assert (row["statistic"], row["df"], row["p"]) == pytest.approx((outcome.statistic, outcome.df, outcome.p))
            assert (row["n"], row["dialogues"]) == (both.height, both["dialogue"].n_unique())
        assert rows["p_adjusted"].to_list() == pytest.approx(holm(rows["p"].to_numpy()).tolist())
    assert (found.rated_differences["n"].n_unique() > 1) == (len(by) > 1)


def over_dialogues(table: pl.DataFrame, *pairs: tuple[str, str]) -> Jackknifed:
    """A correlation, or the difference of two, over rows of a run's or all runs' dialogues or turns."""
    dialogues = table["dialogue"].to_numpy()
    columns = {name: table[name].cast(pl.Float64).fill_null(float("nan")).round(12) for pair in pairs for name in pair}
    one, *others = (jackknifed_correlation(columns[a], columns[b], dialogues) for a, b in pairs)
    return one - others[0] if others else one


def test_turns_over_their_dialogues() -> None:
    """AGA is undefined in turns whose gold is empty: the matrix leaves them out by pairs, a difference altogether."""
    data = {"careful": RUNS["careful"]}
    found = dstbench.correlate(data, metrics="jga,rsa,aga", per="turn", differences=["jga,rsa,aga"])
    table = scores(data, "jga,rsa,aga", "dialogue", "turn")
    complete = table.drop_nulls()
    assert 0 < complete.height < table.height
    pairwise = {("jga", "rsa"): table, ("jga", "aga"): complete, ("rsa", "aga"): complete}
    for row in found.matrix.iter_rows(named=True):
        pair = row["first"], row["second"]
        assert row["n"] == pairwise[pair].height
        wanted = over_dialogues(table, pair).limits(fisher=True)
        assert (row["low"], row["high"]) == pytest.approx(wanted)
    row = found.differences.row(0, named=True)
    assert (row["n_first"], row["n_second"], row["rows"], row["zou_low"]) == (*(complete.height,) * 2, "complete", None)
    r = [pearson(complete["jga"], complete[name])[0] for name in ("rsa", "aga")]
    assert (row["r_first"], row["r_second"], row["difference"]) == pytest.approx((*r, r[0] - r[1]))
    difference = over_dialogues(complete, ("jga", "rsa"), ("jga", "aga"))
    assert (row["low"], row["high"], row["p"]) == pytest.approx((*(difference.limits() or ()), difference.p()))
    assert found.tests.is_empty()


@pytest.mark.parametrize("by", [("dialogue",), ("dialogue", "turn")])
def test_a_rating_that_is_a_metric_correlates_perfectly(by: tuple[str, ...]) -> None:
    data = {"careful": RUNS["careful"]}
    ratings = scores(data, "rsa", *by).select(*by, rating=10 * pl.col("rsa"))
    whys = [f"no difference of {name}'s .*: a rank correlation of ±1" for name in ("Spearman", "Kendall")]
    with pytest.warns(dstbench.DstbenchWarning) as caught:
        found = dstbench.correlate(data, metrics="jga,rsa", ratings=ratings)
    assert len(caught) == len(whys)
    for warning, why in zip(caught, whys, strict=True):
        assert re.search(why, str(warning.message))
    rsa = found.rated.filter(metric="rsa")
    assert rsa["coefficient"].to_list() == ["pearson", "spearman", "kendall"]
    assert rsa.select("value", "low", "high").to_numpy() == pytest.approx(np.ones((3, 3)))
    assert found.rated.filter(metric="jga")["high"].max() < 1  # type: ignore[operator]


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_the_claim_of_kim_et_al_on_seven_systems(data: Path) -> None:
    """That JGA correlates less with RSA than with SA, over turns: what `dstbench help diagnosis` says of it."""
    runs = sorted((data / "predictions" / "mwzeval").glob("*.json"))
    found = dstbench.correlate(
        runs,
        gold=data / "multiwoz21" / "test.tsv",
        missing="wrong",
        metrics="jga,rsa",
        per="turn",
        differences=["jga,rsa,sa"],
    )
    of_runs = found.differences.filter(pl.col("run") != "pooled")
    is_less = [None if p > 0.05 else less < 0 for less, p in of_runs.select("difference", "p").iter_rows()]
    assert (is_less.count(True), is_less.count(False), is_less.count(None)) == (1, 3, 3)
    assert of_runs.filter(run="pptod")["difference"].item() == pytest.approx(-0.070, abs=0.0006)


# --- what is left, and why -------------------------------------------------------------------------------------------


def warned(ratings: Any, data: Any = RUNS, **more: Any) -> tuple[Correlations, list[str]]:
    with pytest.warns(dstbench.DstbenchWarning) as caught:
        found = dstbench.correlate(data, metrics="jga,rsa", ratings=ratings, **more)
    return found, [str(warning.message) for warning in caught]


def test_a_part_is_rated() -> None:
    data = {"careful": RUNS["careful"]}
    ratings = invented(data, "dialogue").drop("run")
    unknown = pl.DataFrame({"dialogue": ["NOWHERE"], "rating": [3.0]})
    some = pl.concat([ratings.head(40), unknown])
    found, told = warned(some, data)
    assert told == [
        "careful: 40 of 41 ratings used: the rest is of dialogues that it does not score",
        "careful: 40 of 60 dialogues rated; all correlations are over these",
    ]
    misspelt = some.with_columns(pl.col("dialogue").replace({"NOWHERE": "DEM0000007"}))
    assert "does not score (DEM0000007; did you mean DEMO0000007" in warned(misspelt, data)[1][0]
    assert set(found.matrix["n"]) == {40}
    whole = RUNS["careful"].filter(pl.col("dialogue").cast(pl.String).is_in(ratings["dialogue"].head(40).to_list()))
    assert found.matrix.equals(
        dstbench.correlate({"careful": whole}, metrics="jga,rsa", ratings=ratings.head(40)).matrix
    )
    empty = ratings.with_columns(pl.when(pl.int_range(pl.len()) < 40).then("rating"))
    assert warned(empty, data)[0].rated.equals(found.rated)
    nan = empty.fill_null(float("nan"))
    assert warned(nan, data)[0].rated.equals(found.rated)


def test_runs_that_are_rated() -> None:
    ratings = invented(RUNS, "dialogue")
    found, told = warned(ratings.filter(pl.col("run") != "eager"))
    assert told == ["eager: none of its dialogues is rated, so it is left out"]
    assert set(found.rated["run"]) == {"careful", "forgetful", "pooled"}
    found, told = warned(ratings, {"eager": RUNS["eager"]})
    assert told == ["ratings: 120 ratings of runs that are not here (careful, forgetful), left out"]
    found, told = warned(ratings.filter(run="eager").drop("run"))
    assert told == ["ratings: the ratings name no run, and are used for every run"]
    assert set(found.rated["run"]) == {*RUNS, "pooled"}
    with pytest.raises(
        dstbench.DstbenchError, match="it rates no dialogue of the runs\nhint: its first dialogue is X1"
    ):
        dstbench.correlate(RUNS["eager"], ratings=pl.DataFrame({"dialogue": ["X1"], "rating": [1]}))


@pytest.mark.parametrize(("changed", "why"), [
    (pl.col("turn") + 1, r"of \d+ ratings are of turns after a dialogue's last, none of turn 0"),
    (2 * pl.col("turn"), "none of an odd turn"),
    (2 * pl.col("turn") + 1, "none of turn 0"),
])  # fmt: skip
def test_turns_that_are_counted_otherwise_are_refused(changed: pl.Expr, why: str) -> None:
    """From 1, or with the system's: then most ratings would be taken for those of other turns."""
    data = {"careful": RUNS["careful"]}
    ratings = invented(data, "dialogue", "turn")
    with pytest.raises(dstbench.DstbenchError, match=why) as told:
        dstbench.correlate(data, ratings=ratings.with_columns(turn=changed))
    assert told.value.hint == "count the user's turns only, from 0"
    beyond = pl.concat([ratings, ratings.head(1).with_columns(turn=pl.lit(99, ratings.schema["turn"]))])
    _, said = warned(beyond, data)
    assert f"careful: {ratings.height} of {beyond.height} ratings used: the rest is of turns that it" in said[0]


def test_too_few_or_equal_ratings_leave_nothing_defined() -> None:
    data = {"careful": RUNS["careful"]}
    ratings = invented(data, "dialogue")
    found, told = warned(ratings.head(3), data)
    assert "careful: rating is defined in 3 rated dialogues only, and a correlation with the ratings needs 4" in told
    assert found.rated.select("value", "low", "high").null_count().row(0) == (6, 6, 6)
    assert found.rated_differences["p"].null_count() == 3
    found, told = warned(ratings.with_columns(rating=pl.lit(2.0)), data)
    assert "careful: rating is the same in all rated dialogues, so nothing correlates with it" in told
    assert found.rated.select("value", "low", "high").null_count().row(0) == (6, 6, 6)
    assert found.rated_differences["difference"].null_count() == 3
    turns = invented(data, "dialogue", "turn").filter(pl.col("dialogue") < "DEMO0000003")
    found, told = warned(turns, data)
    assert "careful: rating is defined in 3 rated dialogues only, and a correlation with the ratings needs 4" in told
    assert found.rated["value"].null_count() == found.rated.height == 6
    assert found.rated_differences.select("value", "low", "p").null_count().row(0) == (3, 3, 3)


def test_a_column_that_seldom_varies_has_no_interval() -> None:
    """One dialogue of ten is wrong, so the others say nothing of what goes with mistakes."""
    area = {"hotel-area": "north"}
    states = [
        {"dialogue_id": f"D{n}", "turn": t, "gold": area, "pred": area if n or t else {}}
        for n in range(10)
        for t in range(2)
    ]
    with pytest.warns(dstbench.DstbenchWarning) as caught:
        found = dstbench.correlate(states, metrics="jga,turn", per="turn", differences=["turn,jga,n_pred,turn"])
    told = " ".join(str(warning.message) for warning in caught)
    assert "r(jga, turn) has no interval: too few dialogues, or all but one have the same value" in told
    assert "cannot be compared: a column does not vary, or in one dialogue only" in told
    row = found.matrix.row(0, named=True)
    assert row["r"] is not None
    assert row["low"] is row["high"] is None
    assert found.differences["low"].item() is None


def test_turns_are_correlated_without_being_asked(here: Path) -> None:
    invented(RUNS, "dialogue", "turn").write_parquet("turns.parquet")
    found = dstbench.correlate(RUNS, metrics=NAMES, ratings="turns.parquet")
    assert found.rated.select("per", "dialogues").filter(pl.col("dialogues") == 60).rows()[0] == ("turn", 60)
    with pytest.raises(dstbench.UsageError, match=r"turns\.parquet rates turns, not dialogues"):
        dstbench.correlate(RUNS, metrics=NAMES, ratings="turns.parquet", per="dialogue")
