"""Comparing runs: against resamples drawn and scored by hand; laws of pairs, models, baselines; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

import dstbench
from dstbench import stats
from dstbench.analysis.compare import Leaderboard
from dstbench.demo import synthetic
from dstbench.schema.analysis import DESIGN, MODELS, RUN_DIFFERENCES, STANDINGS
from tests.corpora import EXAMPLE, States, corpora

# Most corpora here are so small that no difference can be significant, which is what few tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:.* p can (be below|reach) :dstbench.errors.DstbenchWarning")

METRICS = "jga,sa,rsa,f1,fga,gca,wrong"
#: Differences that change their sign when a pair is turned round.
SIGNED = ("difference", "low", "high", "bca_low", "bca_high")
ALIKE = (
    "se",
    "undefined",
    "p",
    "p_adjusted",
    "m",
    "p_smallest",
    "resamples_needed",
    "significant",
    "ties",
    "unscored",
    "discordant",
    "detectable",
)


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


def test_resamples_drawn_and_scored_by_hand() -> None:
    """Every resample as a corpus of its own, in which dialogues are repeated and predictions swapped."""
    number, times, seed = 12, 12, 5
    runs = {name: frame for name, frame in synthetic(number).items() if name in ("careful", "forgetful")}
    one, other = (states_of(frame) for frame in runs.values())
    names = sorted(one)
    found = dstbench.compare(runs, metrics=METRICS, resamples=times, seed=seed)
    assert found.design["dialogues"].item() == number == len(names)

    drawn: list[tuple[dict[str, float], dict[str, float]]] = []
    for counts in np.concatenate(list(stats.weights(number, times, seed))):
        chosen = [name for name, count in zip(names, counts, strict=True) for _ in range(int(count))]
        drawn.append((score([one[name] for name in chosen]), score([other[name] for name in chosen])))
    swapped: list[tuple[dict[str, float], dict[str, float]]] = []
    for coins in np.concatenate(list(stats.swaps(number, times, seed))):
        pairs = [(other[n], one[n]) if coin else (one[n], other[n]) for n, coin in zip(names, coins, strict=True)]
        swapped.append((score([a for a, _ in pairs]), score([b for _, b in pairs])))

    whole = score([one[name] for name in names]), score([other[name] for name in names])
    alone = [(score([one[n]]), score([other[n]])) for n in names]
    left_out = [[score([run[n] for n in names if n != out]) for out in names] for run in (one, other)]
    for metric, row in by_metric(found.differences).items():
        gap = whole[0][metric] - whole[1][metric]
        gaps = [a[metric] - b[metric] for a, b in drawn]
        extreme = sum(abs(a[metric] - b[metric]) >= abs(gap) - 1e-9 for a, b in swapped)
        assert row["difference"] == pytest.approx(gap, abs=1e-9)
        assert row["se"] == pytest.approx(np.std(gaps, ddof=1))
        assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(gaps, [0.025, 0.975])))
        assert row["p"] == pytest.approx((1 + extreme) / (1 + times))
        assert row["detectable"] == pytest.approx(2.8 * np.std(gaps, ddof=1))
        of_dialogues = [(a[metric], b[metric]) for a, b in alone]
        defined = [(a, b) for a, b in of_dialogues if a is not None and b is not None]
        assert row["wins"] == sum(a > b + 1e-9 for a, b in defined)
        assert row["losses"] == sum(b > a + 1e-9 for a, b in defined)
        assert row["unscored"] == number - len(defined)
        assert row["ties"] == len(defined) - row["wins"] - row["losses"]
    for metric, row in by_metric(found.scores, run="careful").items():
        scores = [a[metric] for a, _ in drawn]
        assert row["se"] == pytest.approx(np.std(scores, ddof=1))
        assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(scores, [0.025, 0.975])))
        replicates = stats.Replicates(
            whole[0][metric], np.array(scores), np.array([s[metric] for s in left_out[0]]), abs(whole[0][metric])
        )
        assert (row["bca_low"], row["bca_high"]) == pytest.approx(replicates.estimate().bca or (None, None))


def test_dialogues_that_a_swap_changes_are_counted() -> None:
    """A tie may be of equal scores for different turns: only what is counted must be the same."""
    right, wrong = {"hotel-area": "north"}, {"hotel-area": "south"}

    def run(*turns: tuple[str, list[bool]]) -> States:
        return [
            {"dialogue_id": name, "turn": t, "gold": right, "pred": right if ok else wrong}
            for name, oks in turns
            for t, ok in enumerate(oks)
        ]

    one = run(("D1", [True, False]), ("D2", [True, True]), ("D3", [False, False]))
    other = run(("D1", [False, True]), ("D2", [True, False]), ("D3", [False, False]))
    found = by_metric(dstbench.compare({"a": one, "b": other}, metrics="jga,fga", resamples=9).differences)
    assert [found["jga"][name] for name in ("wins", "ties", "losses", "discordant")] == [1, 2, 0, 1]
    assert [found["fga"][name] for name in ("wins", "ties", "losses", "discordant")] == [1, 2, 0, 1]


# --- laws ----------------------------------------------------------------------------------------------------------


def test_frames_are_what_their_schemas_say(found: Leaderboard, three: dict[str, Any]) -> None:
    models = dstbench.compare(three, models={"m": "careful,f*"}, resamples=10)
    for one in (found, models):
        for frame, table in (
            (one.scores, STANDINGS), (one.models, MODELS), (one.differences, RUN_DIFFERENCES), (one.design, DESIGN)
        ):  # fmt: skip
            assert frame.schema == table.schema
            for name, column in table.columns.items():
                assert column.nullable or not frame[name].null_count(), name
    assert found.models.is_empty()
    assert models.differences.height == 1


def test_values_and_signatures_are_those_of_score(found: Leaderboard, three: dict[str, Any]) -> None:
    scored = dstbench.score(three, metrics=METRICS)
    names = ["run", "metric", "value", "turns", "dialogues", "signature"]
    assert found.scores.select(names).equals(scored.select(names))


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


def test_a_run_against_itself(three: dict[str, Any]) -> None:
    runs = {"one": three["careful"], "again": three["careful"]}
    for row in dstbench.compare(runs, metrics=METRICS, resamples=99).differences.iter_rows(named=True):
        assert [row[name] for name in ("difference", "se", "low", "high", "detectable")] == [0] * 5
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
        assert (row["bca_low"], row["bca_high"]) == pytest.approx((-other["bca_high"], -other["bca_low"]))


def test_another_run_changes_no_pair(found: Leaderboard, three: dict[str, Any]) -> None:
    two = {name: three[name] for name in ("careful", "forgetful")}
    alone = dstbench.compare(two, metrics=METRICS, resamples=400, seed=3).differences
    among = found.differences.filter(run="careful", other="forgetful")
    same = ["metric", *SIGNED, "se", "p", "wins", "losses", "detectable"]
    for one, other in zip(alone.select(same).iter_rows(), among.select(same).iter_rows(), strict=True):
        assert one[1:] == pytest.approx(other[1:], abs=1e-12)


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
    assert (largest["p"] == plain["p"]).all()
    assert (largest["p_adjusted"] >= largest["p"]).all()
    assert (largest["p_adjusted"] <= stats.bonferroni(largest["p"].to_numpy()[:3]).max()).all()


def test_the_level_is_that_of_intervals_and_tests(three: dict[str, Any]) -> None:
    narrow, wide = (dstbench.compare(three, resamples=400, level=level) for level in (0.5, 0.99))
    assert (narrow.scores["low"] > wide.scores["low"]).all()
    assert (narrow.scores["high"] < wide.scores["high"]).all()
    assert wide.design["level"].item() == 0.99
    assert wide.differences["significant"].to_list() == [p <= 0.01 for p in wide.differences["p_adjusted"]]


# --- models --------------------------------------------------------------------------------------------------------


def test_models_are_means_over_their_runs(three: dict[str, Any]) -> None:
    names = list(three)
    found = dstbench.compare(three, metrics="jga,gca", models={"pair": names[:2]}, resamples=500, seed=2)
    scores = found.scores.filter(metric="gca")["value"].to_list()
    pair, alone = found.models.filter(metric="gca").iter_rows(named=True)
    assert (pair["model"], pair["runs"], alone["model"], alone["runs"]) == ("pair", 2, names[2], 1)
    assert pair["value"] == pytest.approx(np.mean(scores[:2]))
    assert pair["sd"] == pytest.approx(np.std(scores[:2], ddof=1))
    assert alone["sd"] is None
    of_run = by_metric(found.scores, run=names[2])["gca"]
    assert [alone[name] for name in ("value", "se", "low", "high")] == pytest.approx(
        [of_run[name] for name in ("value", "se", "low", "high")]
    )
    (row,) = found.differences.filter(metric="gca").iter_rows(named=True)
    assert (row["run"], row["other"], row["wins"], row["bca_low"]) == ("pair", names[2], None, None)
    assert row["difference"] == pytest.approx(pair["value"] - alone["value"])
    assert row["low"] <= row["difference"] <= row["high"]
    assert found.design["test"].item() == "bootstrap of seeds and dialogues"


def test_one_seed_each_is_the_bootstrap_of_runs(three: dict[str, Any]) -> None:
    """Where models have one run, intervals are those of runs, and only p comes from another test."""
    runs = dstbench.compare(three, metrics="jga,gca", resamples=500)
    models = dstbench.compare(three, metrics="jga,gca", models={}, resamples=500)
    same = ["metric", "run", "other", "difference", "se", "low", "high"]
    assert models.differences.select(same).equals(runs.differences.select(same))
    for row in models.differences.iter_rows(named=True):
        sums = by_metric(runs.differences, run=row["run"], other=row["other"])[row["metric"]]
        assert row["p"] == pytest.approx(sums["p"], abs=0.1)


def test_the_order_of_models_and_their_runs_does_not_matter(three: dict[str, Any]) -> None:
    a, b, c = three
    runs = {**three, "another": three[b]}
    one = dstbench.compare(runs, models={"x": [a, b], "y": [c, "another"]}, resamples=200)
    other = dstbench.compare(dict(reversed(runs.items())), models={"y": ["another", c], "x": f"{b},{a}"}, resamples=200)
    assert one.models.sort("model").equals(other.models.sort("model"))
    assert one.differences["low"].item() == pytest.approx(-other.differences["high"].item())
    assert one.differences["p"].item() == other.differences["p"].item()
    tested = dstbench.compare(runs, models={"x": [a, b], "y": [c, "another"]}, resamples=200, adjust="max-t")
    assert tested.differences["p_adjusted"].item() == one.differences["p"].item()


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


def test_runs_must_have_the_same_gold() -> None:
    other = two()
    other[3] = {**other[3], "gold": {"hotel-area": "south", "hotel-stars": "4"}}
    with pytest.raises(dstbench.DstbenchError) as caught:
        dstbench.compare({"one": two(), "other": other}, resamples=5)
    error = caught.value
    assert not isinstance(error, dstbench.UsageError)
    assert (error.file, error.dialogue, error.turn, error.slot) == ("other", "D", 1, "hotel-area")
    assert "not that of one: 'south' instead of 'north'; turns that differ: 1" in error.what
    other[3] = {**other[3], "gold": {"hotel-area": "north", "hotel-stars": "4"}}
    with pytest.raises(dstbench.DstbenchError, match=r"'4' instead of nothing.*slot hotel-stars"):
        dstbench.compare({"one": two(), "other": other}, resamples=5)


def test_gold_is_the_same_if_the_convention_takes_it_for_the_same() -> None:
    runs = {"one": two(), "other": two(gold={"hotel-area": "North "}, pred={})}
    with pytest.raises(dstbench.DstbenchError, match="'North ' instead of 'north'"):
        dstbench.compare(runs, resamples=5)
    clean = dstbench.profile("verbatim", gold_steps="case,space")
    assert dstbench.compare(runs, profile=clean, resamples=5).differences["difference"].item() == 0.5


def test_runs_must_have_the_same_turns() -> None:
    for one, other, lacks in ((two(), two()[:3], "other"), (two()[:3], two(), "one")):
        with pytest.raises(dstbench.DstbenchError, match=r"(?s)one of them only: 1 .*--missing wrong") as caught:
            dstbench.compare({"one": one, "other": other}, resamples=5)
        assert (caught.value.file, caught.value.dialogue, caught.value.turn) == (lacks, "D", 1)
    silent = two(pred={})
    with pytest.raises(dstbench.DstbenchError, match=r"--turns all") as caught:
        dstbench.compare({"one": two(), "other": silent}, profile=dstbench.profile("verbatim", turns="pred"))
    assert (caught.value.file, caught.value.dialogue, caught.value.turn) == ("other", "D", 0)


def without_gold(states: States) -> States:
    return [{key: value for key, value in state.items() if key != "gold"} for state in states]


def test_missing_predictions_count_as_wrong_in_all_runs() -> None:
    gold = [{k: s[k] for k in ("dialogue_id", "turn", "gold")} for s in two()]
    runs = {"one": without_gold(two()), "other": without_gold(two()[:3])}
    with pytest.warns(dstbench.DstbenchWarning, match="without a prediction"):
        found = dstbench.compare(runs, gold=gold, missing="wrong", resamples=50)
    assert found.scores["value"].to_list() == [1, 0.75]
    assert set(found.scores["turns"]) == {4}


def test_runs_that_were_treated_differently_are_named(three: dict[str, Any]) -> None:
    gold = [{k: s[k] for k in ("dialogue_id", "turn", "gold")} for s in two()]
    with pytest.warns(dstbench.DstbenchWarning, match="without a prediction"):
        marked = dstbench.scan({"other": without_gold(two()[:3])}, gold=gold, missing="wrong").drop("run").collect()
    with pytest.warns(dstbench.DstbenchWarning, match=r"one and other are not scored in the same way.*missing"):
        dstbench.compare({"one": two(), "other": marked}, resamples=5)


def test_slots_of_gold_make_t_of_slot_accuracy() -> None:
    runs = {"one": two(), "other": two(pred={"hotel-area": "north", "zoo-name": "x"})}
    with pytest.warns(dstbench.DstbenchWarning, match="1 slot that MultiWOZ does not have"):
        found = dstbench.compare(runs, metrics="sa", resamples=5).scores
    assert found["signature"].str.starts_with("sa(T=1,slots=gold)|").all()
    assert found["value"].to_list() == [1, 0.5]


def test_frames_that_one_run_has_only() -> None:
    """Where frames may come from the prediction, a dialogue may have some in one run, and none in another."""
    empty: States = [{"dialogue_id": "E", "turn": 0, "gold": {}, "pred": {}}]
    convention = dstbench.profile("verbatim", unit="frame", domain_turns="either")
    runs = {"one": [*two(), *empty], "other": [*two(), {**empty[0], "pred": {"hotel-area": "north"}}]}
    found = dstbench.compare(runs, profile=convention, resamples=50)
    assert found.scores.select("run", "value", "turns", "dialogues").rows() == [("one", 1, 4, 2), ("other", 0.8, 5, 3)]
    assert found.design["dialogues"].item() == 3
    assert found.differences["unscored"].item() == 1


def test_undefined_scores_are_null_and_not_tested() -> None:
    empty: States = [{"dialogue_id": f"E{i}", "turn": 0, "gold": {}, "pred": {}} for i in range(3)]
    found = dstbench.compare({"one": empty, "other": empty, "third": empty}, metrics="jga,gca", resamples=20)
    (row, *_) = found.differences.filter(metric="gca").iter_rows(named=True)
    assert all(
        row[name] is None for name in ("difference", "se", "low", "p", "p_adjusted", "significant", "detectable")
    )
    assert (row["m"], row["undefined"], row["unscored"]) == (0, 20, 3)
    models = dstbench.compare({"one": empty, "other": empty, "third": empty}, metrics="gca", models={"m": "o*"})
    assert models.models["value"].to_list() == models.models["sd"].to_list() == [None, None]
    assert models.differences["p"].to_list() == [None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": "jgaa"}, "did you mean jga"),
        ({"metrics": []}, "no metric to compare"),
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
