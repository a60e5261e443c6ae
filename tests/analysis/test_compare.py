"""Comparing runs: against resamples drawn and scored by hand; laws of pairs, models, baselines; what is refused."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from scipy.optimize import brentq

import dstbench
from dstbench import stats
from dstbench.analysis.compare import Leaderboard
from dstbench.demo import synthetic
from dstbench.rendering.tables import render
from dstbench.stats.resampling import swaps
from dstbench.typing import Adjustment
from tests.corpora import EXAMPLE, States, corpora

# Most corpora here are so small that no difference can be significant, which is what few tests are about.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.* (p can (be below|reach)|another `seed` may) :dstbench.errors.DstbenchWarning"
)

METRICS = "jga,sa,rsa,f1,fga,gca,wrong"
#: Differences that change their sign when a pair is turned round.
SIGNED = ("difference", "low", "high")
ALIKE = ("se", "p", "p_adjusted", "m", "p_smallest", "resamples", "resamples_needed", "significant", "may_flip",
         "ties", "unscored", "discordant", "detectable")  # fmt: skip


@pytest.fixture(scope="module")
def three() -> dict[str, Any]:
    return synthetic(40)


@pytest.fixture(scope="module")
def found(three: dict[str, Any]) -> Leaderboard:
    return dstbench.compare(three, metrics=METRICS, resamples=400, seed=3)


def states_of(table: pl.DataFrame | pl.LazyFrame) -> dict[str, States]:
    """Per dialogue of a long table, its states; by loops."""
    dialogues: dict[str, dict[int, dict[str, Any]]] = {}
    for dialogue, turn, slot, gold, pred in table.lazy().collect().iter_rows():
        state = dialogues.setdefault(dialogue, {}).setdefault(turn, {"gold": {}, "pred": {}})
        for side, value in (("gold", gold), ("pred", pred)):
            if value is not None:
                state[side][slot] = value
    return {
        dialogue: [{"dialogue_id": dialogue, "turn": turn, **state} for turn, state in sorted(turns.items())]
        for dialogue, turns in dialogues.items()
    }


def score(dialogues: list[States]) -> dict[str, float]:
    """Scores of dialogues, each of which may stand there more than once, by `dstbench.score`."""
    states = [{**s, "dialogue_id": f"{i}"} for i, dialogue in enumerate(dialogues) for s in dialogue]
    rows = dstbench.score(states, metrics=METRICS.replace("sa,", "sa:T=30,", 1))
    return dict(rows.select(pl.col("metric").str.replace("sa:T=30", "sa", literal=True), "value").iter_rows())


def by_metric(frame: pl.DataFrame, **which: str) -> dict[str, dict[str, Any]]:
    return {row["metric"]: row for row in frame.filter(**which).iter_rows(named=True)}


# --- by hand -------------------------------------------------------------------------------------------------------


@pytest.mark.again
def test_resamples_drawn_and_scored_by_hand() -> None:
    """Every resample as a corpus of its own, in which predictions are swapped."""
    number, times, seed = 12, 39, 5
    runs = {name: frame for name, frame in synthetic(number).items() if name in ("careful", "forgetful")}
    one, other = (states_of(frame) for frame in runs.values())
    names = sorted(one)
    found = dstbench.compare(runs, metrics=METRICS, resamples=times, seed=seed)
    assert found.design["dialogues"].item() == number == len(names)

    swapped: list[tuple[dict[str, float], dict[str, float]]] = []
    for coins in np.concatenate(list(swaps(number, times, seed))):
        pairs = [(other[n], one[n]) if coin else (one[n], other[n]) for n, coin in zip(names, coins, strict=True)]
        swapped.append((score([a for a, _ in pairs]), score([b for _, b in pairs])))

    whole = score([one[name] for name in names]), score([other[name] for name in names])
    alone = [(score([one[n]]), score([other[n]])) for n in names]
    left_out = [[score([run[n] for n in names if n != out]) for out in names] for run in (one, other)]
    for metric, row in by_metric(found.differences).items():
        gap = whole[0][metric] - whole[1][metric]
        sizes = sorted(abs(a[metric] - b[metric]) for a, b in swapped)
        extreme = sum(size >= abs(gap) - 1e-9 for size in sizes)
        assert row["difference"] == pytest.approx(gap, abs=1e-9)
        if row["resamples"] == times:
            assert row["p"] == pytest.approx((1 + extreme) / (1 + times))
        else:  # more are drawn where p is close to the level
            assert row["resamples"] == 10 * times
        if metric not in ("wrong",):  # a count without a dialogue is another count
            gaps = [a[metric] - b[metric] for a, b in zip(*left_out, strict=True)]
            assert row["se"] == pytest.approx(stats.jackknife_se(gaps), rel=0.25)
        if row["low"] is not None and row["resamples"] == times:
            # The interval by its definition: of 39 resamples, the second largest is not significant at 5 %.
            largest = sizes[-2]
            t = largest / np.sqrt((gap**2 + (number - 1) * row["se"] ** 2 - largest**2) / (number - 1))
            assert (row["low"], row["high"]) == pytest.approx((gap - t * row["se"], gap + t * row["se"]), abs=1e-6)
        of_dialogues = [(a[metric], b[metric]) for a, b in alone]
        defined = [(a, b) for a, b in of_dialogues if a is not None and b is not None]
        assert row["wins"] == sum(a > b + 1e-9 for a, b in defined)
        assert row["losses"] == sum(b > a + 1e-9 for a, b in defined)
        assert row["unscored"] == number - len(defined)
        assert row["ties"] == len(defined) - row["wins"] - row["losses"]


# --- laws ----------------------------------------------------------------------------------------------------------


def test_a_run_against_itself(three: dict[str, Any]) -> None:
    runs = {"one": three["careful"], "again": three["careful"]}
    for row in dstbench.compare(runs, metrics=METRICS, resamples=99).differences.iter_rows(named=True):
        assert [row[name] for name in ("difference", "se", "low", "high", "detectable")] == [0, *[None] * 4]
        assert (row["p"], row["p_adjusted"], row["p_smallest"]) == (1, 1, 1)
        assert (row["resamples_needed"], row["significant"]) == (None, None)  # nothing that differs was tested
        assert (row["wins"], row["losses"], row["discordant"]) == (0, 0, 0)


def test_the_order_of_runs_turns_signs_and_nothing_else(found: Leaderboard, three: dict[str, Any]) -> None:
    back = dstbench.compare(dict(reversed(three.items())), metrics=METRICS, resamples=400, seed=3)
    assert back.scores.sort("run", "metric").equals(found.scores.sort("run", "metric"))
    turned = {(r["metric"], r["other"], r["run"]): r for r in back.differences.iter_rows(named=True)}
    for row in found.differences.iter_rows(named=True):
        other = turned[row["metric"], row["run"], row["other"]]
        assert [other[name] for name in ALIKE] == pytest.approx([row[name] for name in ALIKE], abs=1e-12)
        assert (other["wins"], other["losses"]) == (row["losses"], row["wins"])
        low, high = other["low"], other["high"]
        assert (row["difference"], row["low"], row["high"]) == pytest.approx((-other["difference"], -high, -low))


def test_a_baseline_is_a_part_of_the_pairs(found: Leaderboard, three: dict[str, Any]) -> None:
    last = list(three)[-1]
    based = dstbench.compare(three, metrics=METRICS, resamples=400, seed=3, baseline=last)
    assert set(based.differences["other"]) == {last}
    own = ["metric", "run", "other", *SIGNED, "se", "p", "wins", "losses", "discordant"]
    assert based.differences.select(own).equals(found.differences.filter(other=last).select(own))
    assert set(based.differences["m"]) == {len(three) - 1}
    first = dstbench.compare(three, resamples=400, seed=3, baseline=next(iter(three))).differences
    pairs = found.differences.filter(metric="jga", run=next(iter(three)))
    assert first["difference"].to_list() == [-value for value in pairs["difference"]]


@pytest.mark.again
def test_p_are_adjusted_within_a_metric(found: Leaderboard, three: dict[str, Any]) -> None:
    for method, function in (
        ("holm", stats.holm), ("hochberg", stats.hochberg), ("bh", stats.benjamini_hochberg),
        ("by", stats.benjamini_yekutieli), ("bonferroni", stats.bonferroni), ("none", np.asarray),
    ):  # fmt: skip
        rows = dstbench.compare(three, metrics="jga,gca", resamples=400, seed=3, adjust=method).differences  # type: ignore[arg-type]
        assert set(rows["adjustment"]) == {method}
        assert set(rows["m"]) == {3}
        for _, of_metric in rows.group_by("metric"):
            assert of_metric["p_adjusted"].to_list() == function(of_metric["p"].to_numpy()).tolist()
            assert of_metric["significant"].to_list() == [p <= 0.05 for p in of_metric["p_adjusted"]]
    plain = found.differences.filter(pl.col("metric").is_in(["jga", "gca"]))
    largest = dstbench.compare(three, metrics="jga,gca", resamples=400, seed=3, adjust="max-t").differences
    assert largest["p"].to_list() == pytest.approx(plain["p"].to_list(), abs=0.03)  # more resamples for all of them
    assert (largest["p_adjusted"] >= largest["p"]).all()
    assert (largest["p_adjusted"] <= stats.bonferroni(largest["p"].to_numpy()[:3]).max()).all()


def verdicts_of(rows: pl.DataFrame, level: float) -> list[tuple[Any, ...]]:
    """Of each tested pair: whether it has an interval, which excludes 0; p is at most the level; what else is said."""
    columns = ["low", "high", "p", "p_adjusted", "significant", "may_flip"]
    return [
        (
            low is not None,
            low is not None and not low <= 0 <= high,
            p <= 1 - level + 1e-12,
            adjusted,
            significant,
            flips,
        )
        for low, high, p, adjusted, significant, flips in rows.drop_nulls("p").select(columns).iter_rows()
    ]


@pytest.mark.again
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
@given(
    st.integers(0, 9), st.sampled_from([6, 12, 40]), st.sampled_from([0.5, 0.9, 0.95, 0.99]),
    st.sampled_from([19, 99, 400]), st.sampled_from(get_args(Adjustment)),
)  # fmt: skip
@settings(max_examples=7)
def test_an_interval_excludes_0_exactly_where_p_is_at_most_the_level(
    seed: int, dialogues: int, level: float, resamples: int, adjust: Adjustment
) -> None:
    found = dstbench.compare(
        synthetic(dialogues), metrics=METRICS, resamples=resamples, seed=seed, level=level, adjust=adjust
    )
    rows = found.differences
    for has_interval, excludes, at_most, adjusted, significant, _ in verdicts_of(rows, level):
        if has_interval:
            assert excludes == at_most
            assert significant is not None
        if significant is not None:
            assert significant == (adjusted <= 1 - level + 1e-12)
            assert at_most or not significant
    untested = rows.filter(pl.col("significant").is_null())
    assert untested.select(pl.col("low", "high", "detectable").is_null().all()).row(0) in [(True,) * 3, (None,) * 3]
    assert rows.filter(pl.col("low").is_null() != pl.col("detectable").is_null()).is_empty()
    assert rows.filter(pl.col("detectable") <= 0).is_empty()


def test_at_the_ceiling_intervals_do_not_collapse() -> None:
    """30 dialogues all right are no proof of 100 %: of as many units, Wilson's interval begins at 88 %."""
    perfect = [{**s, "pred": s["gold"]} for s in flat(synthetic(30)["careful"])]
    others = flat(synthetic(30)["eager"])
    found = dstbench.compare({"right": perfect, "same": perfect, "eager": others}, metrics="jga,sa,f1,fga,wrong")
    for row in found.scores.filter(run="right").iter_rows(named=True):
        assert row["se"] is None
        if row["unit"] == "share":
            assert (row["value"], row["high"]) == (1, 1)
            assert row["low"] == pytest.approx(stats.wilson(1, 30, df=29)[0])
        else:
            assert (row["value"], row["low"], row["high"]) == (0, None, None)
    same = found.differences.filter(run="right", other="same")
    assert same.select(pl.col("se", "low", "high", "detectable").is_null().all()).row(0) == (True,) * 4
    text = render(found, "text")
    assert "100.00 to 100.00" not in text
    assert "0.00 to 0.00" not in text


def flat(table: pl.DataFrame) -> States:
    return [state for states in states_of(table).values() for state in states]


@pytest.mark.again
def test_what_can_be_detected_is_of_the_adjusted_test(three: dict[str, Any]) -> None:
    factors = {"none": 1, "holm": 3, "bonferroni": 3, "hochberg": 3, "bh": 3, "by": 3 * (1 + 1 / 2 + 1 / 3)}
    for adjust, factor in factors.items():
        rows = dstbench.compare(three, resamples=400, adjust=adjust).differences.drop_nulls("detectable")  # type: ignore[arg-type]
        assert rows.height
        for se, detectable in rows.select("se", "detectable").iter_rows():
            assert detectable == pytest.approx(stats.smallest_detectable(se, 0.05 / factor))
    by_largest = dstbench.compare(three, resamples=400, adjust="max-t").differences
    for se, detectable in by_largest.select("se", "detectable").iter_rows():
        assert stats.smallest_detectable(se) < detectable < stats.smallest_detectable(se, 0.05 / 4)


# --- models --------------------------------------------------------------------------------------------------------


def test_models_are_means_over_their_runs(three: dict[str, Any]) -> None:
    names = list(three)
    with pytest.warns(dstbench.DstbenchWarning, match="not tested: models with fewer than 3 seeds.*: pair, "):
        found = dstbench.compare(three, metrics="jga,gca", models={"pair": names[:2]})
    scores = found.scores.filter(metric="gca")["value"].to_list()
    pair, alone = found.models.filter(metric="gca").iter_rows(named=True)
    assert (pair["model"], pair["runs"], alone["model"], alone["runs"]) == ("pair", 2, names[2], 1)
    assert pair["value"] == pytest.approx(np.mean(scores[:2]))
    assert pair["sd"] == pytest.approx(np.std(scores[:2], ddof=1))
    assert pair["low"] < pair["value"] < pair["high"]
    assert alone["sd"] is None
    of_run = by_metric(found.scores, run=names[2])["gca"]
    assert [alone[name] for name in ("value", "se", "low", "high")] == pytest.approx(
        [of_run[name] for name in ("value", "se", "low", "high")]
    )
    (row,) = found.differences.filter(metric="gca").iter_rows(named=True)
    assert (row["run"], row["other"], row["wins"]) == ("pair", names[2], None)
    assert row["difference"] == pytest.approx(pair["value"] - alone["value"])
    assert [row[name] for name in ("se", "low", "p", "significant", "detectable")] == [None] * 5
    assert found.design["test"].item() == "Welch's t over seeds, with the variance of dialogues"
    assert "jga: no difference can be tested at 5 %" in render(found, "text")


@pytest.mark.again
def test_models_of_three_seeds_are_compared_by_welchs_test() -> None:
    """Where seeds of a model do not share what is hard for them, it is Welch's test of their scores."""
    rng, turns = np.random.default_rng(4), 6

    def run(share: float) -> States:
        return [
            {"dialogue_id": f"D{d}", "turn": t, "gold": {"hotel-area": "c"}, "pred": {"hotel-area": "cd"[not right]}}
            for d, of_dialogue in enumerate(rng.random((60, turns)) < share)
            for t, right in enumerate(of_dialogue)
        ]

    runs = {f"{model}{seed}": run(share + seed / 10) for model, share in (("x", 0.3), ("y", 0.5)) for seed in range(3)}
    found = dstbench.compare(runs, models={"x": "x*", "y": "y*"})
    scores = found.scores["value"].to_numpy()
    theirs = reference.ttest_ind(scores[:3], scores[3:], equal_var=False)
    row = found.differences.row(0, named=True)
    assert row["p"] == pytest.approx(theirs.pvalue, rel=0.1)
    assert (row["resamples"], row["p_smallest"], row["may_flip"]) == (None, None, False)
    assert ((row["low"] > 0) | (row["high"] < 0)) == (row["p"] <= 0.05) == row["significant"]
    size, reach = abs(row["difference"]) / row["se"], (row["high"] - row["low"]) / 2 / row["se"]
    df = brentq(lambda df: reference.t.ppf(0.975, df) - reach, 1, 100)
    assert row["p"] == pytest.approx(2 * reference.t.sf(size, df))
    assert row["detectable"] == pytest.approx((reach + reference.t.ppf(0.8, df)) * row["se"])
    with pytest.raises(dstbench.UsageError, match="max-t needs resamples"):
        dstbench.compare(runs, models={"x": "x*", "y": "y*"}, adjust="max-t")


@pytest.mark.filterwarnings("ignore:not tested")
def test_runs_of_models_are_names_or_patterns(three: dict[str, Any]) -> None:
    frame = next(iter(three.values()))
    runs = dict.fromkeys(("t5_1", "t5_2", "t[5]", "som"), frame)
    found = dstbench.compare(runs, models={"t5": "t5_*, t[5]"}, resamples=5, baseline="som")
    assert found.models.select("model", "runs").rows() == [("t5", 3), ("som", 1)]
    assert found.differences.select("run", "other").rows() == [("t5", "som")]
    only = dstbench.compare(runs, models={"all": "*"}, resamples=5)
    assert (only.models.height, only.differences.height) == (1, 0)
    for models, baseline, message in (
        ({"t5": "t6_*"}, None, "model 't5': no run is called 't6_\\*'"),
        ({"t5": ["t5_1", "smo"]}, None, "did you mean som"),
        ({"t5": "t5_*", "first": "t5_1"}, None, "'t5_1' is given to two models, 't5' and 'first'"),
        ({"t5": []}, None, "model 't5' has no run"),
        ({"som": "t5_*"}, None, "'som' is the name of a model, and of a run that is in no model"),
        ({"t5": "t5_*"}, "t5_1", "name 't5' as the baseline"),
        ({"t5": "t5_*"}, "t6", "no model is called 't6'"),
    ):
        with pytest.raises(dstbench.UsageError, match=message):
            dstbench.compare(runs, models=models, baseline=baseline, resamples=5)


# --- what is refused, and what is told -----------------------------------------------------------------------------


def two(name: str = "D", **changed: Any) -> States:
    """Two dialogues of which the second is changed."""
    area = {"hotel-area": "north"}
    states: States = [{"dialogue_id": "A", "turn": t, "gold": area, "pred": area} for t in range(2)]
    return [*states, *({"dialogue_id": name, "turn": t, "gold": area, "pred": area, **changed} for t in range(2))]


def test_gold_is_the_same_if_the_convention_takes_it_for_the_same() -> None:
    runs = {"one": two(), "other": two(gold={"hotel-area": "North "}, pred={})}
    with pytest.raises(dstbench.DstbenchError, match="'North ' instead of 'north'"):
        dstbench.compare(runs, resamples=5)
    clean = dstbench.profile("verbatim", gold_steps="case,space")
    assert dstbench.compare(runs, profile=clean, resamples=5).differences["difference"].item() == 0.5


def test_runs_must_have_the_same_turns() -> None:
    for one, other, lacks in ((two(), two()[:3], "other"), (two()[:3], two(), "one")):
        with pytest.raises(dstbench.DstbenchError, match=r"(?s)one of them only: 1 .*`missing` wrong") as caught:
            dstbench.compare({"one": one, "other": other}, resamples=5)
        assert (caught.value.file, caught.value.dialogue, caught.value.turn) == (lacks, "D", 1)
    silent = two(pred={})
    with pytest.raises(dstbench.DstbenchError, match=r"`turns` all") as caught:
        dstbench.compare({"one": two(), "other": silent}, profile=dstbench.profile("verbatim", turns="pred"))
    assert (caught.value.file, caught.value.dialogue, caught.value.turn) == ("other", "D", 0)


def without_gold(states: States) -> States:
    return [{key: value for key, value in state.items() if key != "gold"} for state in states]


def test_runs_that_were_treated_differently_are_named(three: dict[str, Any]) -> None:
    gold = [{k: s[k] for k in ("dialogue_id", "turn", "gold")} for s in two()]
    with pytest.warns(dstbench.DstbenchWarning, match="without a prediction"):
        marked = dstbench.scan({"other": without_gold(two()[:3])}, gold=gold, missing="wrong").drop("run").collect()
    with pytest.warns(
        dstbench.DstbenchWarning, match=r"jga: not comparable .*without a prediction.* \(one\), .* \(other\)"
    ):
        dstbench.compare({"one": two(), "other": marked}, resamples=5)


def test_frames_that_one_run_has_only() -> None:
    """Where frames may come from the prediction, a dialogue may have some in one run, and none in another."""
    empty: States = [{"dialogue_id": "E", "turn": 0, "gold": {}, "pred": {}}]
    convention = dstbench.profile("verbatim", unit="frame", domain_turns="either")
    runs = {"one": [*two(), *empty], "other": [*two(), {**empty[0], "pred": {"hotel-area": "north"}}]}
    found = dstbench.compare(runs, profile=convention, resamples=50)
    assert found.scores.select("run", "value", "turns", "dialogues").rows() == [("one", 1, 4, 2), ("other", 0.8, 5, 3)]
    assert found.design["dialogues"].item() == 3
    assert found.differences["unscored"].item() == 1


@pytest.mark.filterwarnings("ignore:not tested")
def test_undefined_scores_are_null_and_not_tested() -> None:
    empty: States = [{"dialogue_id": f"E{i}", "turn": 0, "gold": {}, "pred": {}} for i in range(3)]
    found = dstbench.compare({"one": empty, "other": empty, "third": empty}, metrics="jga,gca", resamples=20)
    (row, *_) = found.differences.filter(metric="gca").iter_rows(named=True)
    assert all(
        row[name] is None for name in ("difference", "se", "low", "p", "p_adjusted", "significant", "detectable")
    )
    assert (row["m"], row["unscored"]) == (0, 3)
    models = dstbench.compare({"one": empty, "other": empty, "third": empty}, metrics="gca", models={"m": "o*"})
    assert models.models["value"].to_list() == models.models["sd"].to_list() == [None, None]
    assert models.differences["p"].to_list() == [None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": "jgaa"}, "did you mean jga"),
        ({"metrics": []}, "no metric is named"),
        ({"resamples": 0}, "0 resamples are too few"),
        ({"seed": -1}, "seed -1 is negative"),
        ({"level": 1.0}, "not between 0 and 1"),
        ({"adjust": "hulm"}, "did you mean holm"),
        ({"baseline": "careful2"}, "no run is called 'careful2'"),
        ({"profile": "trad"}, "did you mean trade"),
    ],
)
def test_wrong_usage_is_refused(three: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(dstbench.UsageError, match=message):
        dstbench.compare(three, **{"resamples": 5, **options})


def test_there_must_be_runs_and_dialogues() -> None:
    with pytest.raises(dstbench.UsageError, match="at least two runs"):
        dstbench.compare(two())
    with pytest.raises(dstbench.DstbenchError, match="fewer than two dialogues"):
        dstbench.compare({"one": EXAMPLE, "other": EXAMPLE})
    silent = [{"dialogue_id": f"E{i}", "turn": 0, "gold": {}, "pred": {}} for i in range(3)]
    convention = dstbench.profile("verbatim", turns="gold")
    with pytest.raises(dstbench.DstbenchError, match="fewer than two dialogues"):
        dstbench.compare({"one": silent, "other": silent}, profile=convention)


@pytest.mark.again
@given(corpora(max_dialogues=8), corpora(max_dialogues=8))
@settings(max_examples=7)
def test_values_are_those_of_score_for_any_states(first: States, second: States) -> None:
    """Of two runs that are those of one corpus and of gold itself; SA over the slots of both."""
    states = [{**s, "dialogue_id": f"{s['dialogue_id']}{part}"} for part, c in (("a", first), ("b", second)) for s in c]
    runs = {"model": states, "gold": [{**s, "pred": s["gold"]} for s in states]}
    found = dstbench.compare(runs, metrics="jga,aga,gca,f1,correct", resamples=20)
    scored = dstbench.score(runs, metrics="jga,aga,gca,f1,correct")
    assert found.scores["value"].to_list() == scored["value"].to_list()
    for row in found.differences.iter_rows(named=True):
        a, b = (scored.filter(run=row[side], metric=row["metric"])["value"].item() for side in ("run", "other"))
        assert row["difference"] == (None if a is None or b is None else pytest.approx(a - b, abs=1e-9))
        assert (row["p"] is None) == (row["difference"] is None) == (row["p_smallest"] is None)
        if row["p"] is not None:
            assert row["p_adjusted"] >= row["p_smallest"] >= min(1, 2 ** (1 - row["discordant"]))
            assert (row["significant"] is None) == (row["p_smallest"] > 0.05)
        assert row["wins"] + row["ties"] + row["losses"] + row["unscored"] == found.design["dialogues"].item()


def test_another_run_changes_no_pair(found: Leaderboard, three: dict[str, Any]) -> None:
    two = {name: three[name] for name in ("careful", "forgetful")}
    alone = dstbench.compare(two, metrics=METRICS, resamples=400, seed=3).differences
    among = found.differences.filter(run="careful", other="forgetful")
    same = ["metric", *SIGNED, "se", "wins", "losses"]
    alone, among = (
        rows.join(other, ["metric", "resamples"], "semi") for rows, other in ((alone, among), (among, alone))
    )
    assert alone.height > 3  # in the other metrics, more resamples are drawn for one of them
    for one, other in zip(alone.select(same).iter_rows(), among.select(same).iter_rows(), strict=True):
        assert one[1:] == pytest.approx(other[1:], abs=1e-12)


@pytest.mark.again
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_a_verdict_never_flips_in_silence() -> None:
    """Where seeds disagree, the results say so."""
    runs, flipped = synthetic(30), 0
    of_seeds = [
        verdicts_of(dstbench.compare(runs, metrics=METRICS, resamples=99, seed=seed).differences, 0.95)
        for seed in range(6)
    ]
    for of_pair in zip(*of_seeds, strict=True):
        for which in (2, 4):  # by p, and by the adjusted p
            if len({verdict[which] for verdict in of_pair}) > 1:
                flipped += 1
                assert any(verdict[5] for verdict in of_pair)
    assert flipped


def test_standard_errors_and_intervals_are_of_one_kind(three: dict[str, Any]) -> None:
    """Those of `score`, and Wilson's interval around them."""
    rows = dstbench.compare(three, metrics=METRICS, resamples=99).scores
    scored = dstbench.score(three, metrics=METRICS)
    assert "share" in rows["unit"].to_list()
    for row, se in zip(rows.iter_rows(named=True), scored["se"], strict=True):
        assert row["low"] < row["value"] < row["high"]
        if row["unit"] == "share":
            assert row["se"] == pytest.approx(se, rel=1e-4)
            low, high = stats.wilson(row["value"], row["value"] * (1 - row["value"]) / se**2)
            assert row["low"] <= low + 1e-6
            assert row["high"] >= high - 1e-6


@pytest.mark.filterwarnings("ignore:not tested")
def test_the_order_of_models_and_their_runs_does_not_matter(three: dict[str, Any]) -> None:
    a, b, c = three
    runs = {**three, "another": three[b], "third": three[a], "last": three[c]}
    x, y = [a, b, "third"], [c, "another", "last"]
    one = dstbench.compare(runs, models={"x": x, "y": y})
    other = dstbench.compare(dict(reversed(runs.items())), models={"y": y[::-1], "x": ",".join(x[::-1])})
    names = ["value", "sd", "se", "low", "high"]
    for row, same in zip(one.models.sort("model")[names].rows(), other.models.sort("model")[names].rows(), strict=True):
        assert row == pytest.approx(same, abs=1e-12)
    assert one.differences["low"].item() == pytest.approx(-other.differences["high"].item())
    assert one.differences["p"].item() == pytest.approx(other.differences["p"].item())
