"""What one error costs: by loops that build each copy, by exact laws of metrics, and as it was first measured."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings

import dstbench
from dstbench.analysis.error_injection import KINDS, inject
from dstbench.analysis.sensitivity import Sensitivity
from dstbench.arrays import Floats
from dstbench.conventions.profiles import as_convention
from dstbench.demo import synthetic
from dstbench.errors import DstbenchError, DstbenchWarning, UsageError
from dstbench.metrics import parse_all
from dstbench.runs.open import open_runs
from tests import oracle
from tests.corpora import States, corpora

pytestmark = pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")

T = 30
BINS = 5
State = dict[str, str]
NORTH, STARS = {"hotel-area": "north"}, {"hotel-stars": "4"}


# --- copies by plain loops --------------------------------------------------------------------------------------------


def present(state: State) -> State:
    return {slot: value for slot, value in state.items() if value not in oracle.ABSENT}


def most_frequent(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda text: (-counts[text], text))


def copies(gold: dict[str, list[State]]) -> Iterator[tuple[str, str, int, int, list[State]]]:
    """(kind, dialogue, turn, next, predictions) of every error that a change of gold can have."""
    values: dict[str, Counter[str]] = defaultdict(Counter)
    for states in gold.values():
        for state in states:
            for slot, value in present(state).items():
                values[slot][value] += 1
    slots = Counter({slot: sum(counts.values()) for slot, counts in values.items()})
    for dialogue, states in gold.items():
        n = len(states)
        ever = {slot for state in states for slot in present(state)}
        for t, state in enumerate(states):
            for slot, value in present(state).items():
                if t and present(states[t - 1]).get(slot) == value:
                    continue
                end = next((u for u in range(t, n) if present(states[u]).get(slot) != value), n)
                domain = slot.partition("-")[0]
                others = [s for s in most_frequent(slots) if s.partition("-")[0] == domain and s not in ever]
                other = others[0] if others else None
                given_to_slot = {s.get(slot) for s in states}
                wrong = [v for v in most_frequent(values[slot])[:10] if v not in given_to_slot]
                old = states[t - 1].get(slot) if t else None
                errors: dict[str, tuple[int, int, State | None]] = {
                    "missed": (t, end, {slot: ""}),
                    "wrong": (t, end, {slot: wrong[0]} if wrong else None),
                    "late": (t, t + 1, {slot: "" if old is None else old}),
                    "dropped": (t + 1, end, {slot: ""} if end > t + 1 else None),
                    "over": (t, n, {other: most_frequent(values[other])[0]} if other else None),
                    "swap": (t, end, {slot: "", other: value} if other else None),
                }
                for kind, (start, stop, cells) in errors.items():
                    if cells is not None:
                        predicted = [dict(s) for s in states]
                        for u in range(start, stop):
                            predicted[u].update(cells)
                            if cells.get(slot) == "" and not (kind == "late" and old == ""):
                                del predicted[u][slot]
                        yield kind, dialogue, t, end, predicted


def by_dialogue(states: States) -> dict[str, list[State]]:
    gold: dict[str, list[State]] = defaultdict(list)
    for state in states:
        gold[state["dialogue_id"]].append(state["gold"])
    return gold


def scores_of(dialogue: str, gold: list[State], pred: list[State]) -> dict[str, float | None]:
    states = [
        {"dialogue_id": dialogue, "turn": t, "gold": g, "pred": p}
        for t, (g, p) in enumerate(zip(gold, pred, strict=True))
    ]
    return {name.partition(":")[0]: value for name, value in oracle.default_metrics(oracle.turns(states), T).items()}


def losses_by_loops(states: States) -> list[tuple[str, str, str, float, int, float]]:
    """(kind, metric, dialogue, position, bin, loss) of every error in a dialogue of several turns."""
    gold = by_dialogue(states)
    rows = []
    for kind, dialogue, t, _, predicted in copies(gold):
        n = len(predicted)
        if n == 1:
            continue
        best, with_error = (scores_of(dialogue, gold[dialogue], side) for side in (gold[dialogue], predicted))
        at = next(b for b in range(BINS) if t * BINS <= (b + 1) * (n - 1))
        for metric, score in with_error.items():
            of_gold = best[metric]
            if score is not None and of_gold is not None:
                rows.append((kind, metric, dialogue, t / (n - 1), at, of_gold - score))
    return rows


def has_a_change(states: States) -> bool:
    gold = by_dialogue(states)
    return any(present(state) for side in gold.values() if len(side) > 1 for state in side)


def slope_within(dialogue: np.ndarray[Any, Any], x: Floats, y: Floats) -> float | None:
    """By least squares, with an intercept for each dialogue; None if no dialogue has two places."""
    names = np.unique(dialogue)
    if all(len(set(x[dialogue == name])) == 1 for name in names):
        return None
    columns = np.column_stack([x, *(dialogue == name for name in names)])
    return float(np.linalg.lstsq(columns, y, rcond=None)[0][0])


@pytest.mark.again
@settings(max_examples=5)
@given(corpora(max_dialogues=10, max_turns=5))
def test_it_is_what_loops_over_changes_find(states: States) -> None:
    assume(has_a_change(states))
    found = dstbench.sensitivity(states, bins=BINS)
    wanted = losses_by_loops(states)
    for kind, metric, at, loss, errors in found.costs.select("kind", "metric", "bin", "loss", "errors").iter_rows():
        of_bin = [row[5] for row in wanted if row[:2] == (kind, metric) and row[4] == at]
        assert errors == len(of_bin), (kind, metric, at)
        assert loss == (pytest.approx(np.mean(of_bin), abs=1e-9) if of_bin else None), (kind, metric, at)
    for kind, metric, loss, bias in found.bias.select("kind", "metric", "loss", "bias").iter_rows():
        of_kind = [(dialogue, x, y) for *pair, dialogue, x, _, y in wanted if pair == [kind, metric]]
        if not of_kind:
            assert (loss, bias) == (None, None)
            continue
        dialogue, x, y = (np.array(column) for column in zip(*of_kind, strict=True))
        assert loss == pytest.approx(y.mean(), abs=1e-9)
        assert bias == pytest.approx(slope_within(dialogue, x, y), abs=1e-7)


# --- laws -------------------------------------------------------------------------------------------------------------

METRICS = "jga,sa:T=30,rsa,aga,f1,fga,gca,tla"


def losses(states: Any, profile: str = "verbatim", kinds: str = ",".join(KINDS)) -> pl.DataFrame:
    """A row per error in gold: kind, number (of the dialogue), slot, place, next, turns, and each metric's loss."""
    convention, metrics = as_convention(profile), parse_all(METRICS)
    (run,) = open_runs(states)
    of_gold = replace(run, derive=lambda table: table.with_columns(pred="gold"))
    errors, _, _ = inject(of_gold, metrics, kinds.split(","), convention)
    return errors.rename({str(metric): metric.name for metric in metrics})


@settings(max_examples=5)
@given(corpora(max_dialogues=10, max_turns=5))
def test_jga_sa_and_tla_lose_exactly_what_their_definitions_say(states: States) -> None:
    assume(has_a_change(states))
    found = losses(states)
    kind, n, t = pl.col("kind"), pl.col("turns"), pl.col("place")
    kept = pl.col("next") - t
    wrong_turns = (
        pl.when(kind == "late").then(1).when(kind == "dropped").then(kept - 1).when(kind == "over").then(n - t)
    )
    expected = found.with_columns(
        wrong=wrong_turns.otherwise(kept) / n, slots=pl.when(kind == "swap").then(2).otherwise(1)
    )
    assert (abs(expected["jga"] - expected["wrong"]) < 1e-12).all()
    assert (abs(expected["sa"] - expected["wrong"] * expected["slots"] / T) < 1e-12).all()
    assert (abs(expected["tla"] - 1 / expected["turns"]) < 1e-12).all()


@pytest.mark.again
@settings(max_examples=5)
@given(corpora(max_dialogues=10, max_turns=6))
def test_metrics_to_which_the_position_does_not_matter_have_no_bias(states: States) -> None:
    """In each dialogue they cost 1/n at any time, so that n differs between early and late changes must not matter."""
    assume(has_a_change(states))
    bias = dstbench.sensitivity(states, metrics="tla,jga,fga", kinds="missed,late").bias.drop_nulls("bias")
    no_bias = bias.filter((pl.col("metric") == "tla") | (pl.col("kind") == "late"))
    assert (no_bias["bias"] == 0).all()
    assert no_bias.select(pl.col("low", "high").fill_null(0) == 0).to_numpy().all()


@pytest.mark.again
@pytest.mark.parametrize("profile", ["star", "trade", "trippy", "qian2021", "kim2022", "sgd-mwz"])
def test_under_no_convention_is_an_error_equal_to_gold(profile: str) -> None:
    found = losses(synthetic(30)["careful"], profile)
    made = found.group_by("kind").agg(pl.col("jga").min(), errors=pl.len())
    assert set(made["kind"]) >= {"missed", "wrong", "late", "dropped"}
    assert (made["jga"] > 0).all(), made


def test_a_wrong_value_is_none_that_the_dialogue_has_in_another_spelling() -> None:
    """To predict `center` where gold has changed from `centre` to `north` would be to keep the old value."""
    golds = {"A": ["centre", "north"], "B": ["center", "center"]}
    states = [turn(name, t, {"hotel-area": v}) for name, values in golds.items() for t, v in enumerate(values)]
    wrong = {profile: losses(states, profile, "wrong")["number"].to_list() for profile in ("verbatim", "star")}
    assert wrong == {"verbatim": [0, 0, 1], "star": [1]}  # in A, nothing else can be predicted
    west = losses([*states, turn("C", 0, {"hotel-area": "west"})], "star", "wrong")
    assert west["number"].to_list() == [0, 0, 1]


# --- samples, partitions, formats -------------------------------------------------------------------------------------


def equal(one: Any, other: Any) -> bool:
    return all(getattr(one, name).equals(getattr(other, name)) for name in ("costs", "bias"))


@pytest.mark.again
def test_all_changes_and_samples_of_a_seed_are_exactly_repeatable() -> None:
    (gold,) = open_runs({"gold": synthetic(12)["careful"]})
    costs = partial(dstbench.sensitivity, gold, metrics="jga,fga,f1", kinds="missed,wrong,swap", gold_only=True)
    whole, some, others = (costs(sample=n, seed=s) for n, s in ((None, 0), (2, 0), (2, 1)))
    assert equal(whole, costs(seed=9))
    assert equal(whole, costs(sample=1000))
    assert equal(some, costs(sample=2))
    assert not some.costs.equals(others.costs)
    assert some.errors.filter(kind="missed")["errors"].item() == 24  # each of its dialogues has two changes
    assert some.errors["possible"].equals(whole.errors["possible"])


def sampled_and_not(states: Any, seeds: int, sample: int, **options: Any) -> pl.DataFrame:
    """Losses and biases of samples, a row per seed, kind, metric and bin (null: bias), and those of all errors."""

    def figures(found: Sensitivity) -> pl.DataFrame:
        of_bias = found.bias.drop("loss").rename({"bias": "loss"})
        rows = pl.concat([found.costs, of_bias], how="diagonal")
        return rows.select("kind", "metric", "bin", "loss", "low", "high").drop_nulls("low")

    truth = figures(dstbench.sensitivity(states, **options)).select("kind", "metric", "bin", truth="loss")
    samples = (figures(dstbench.sensitivity(states, sample=sample, seed=seed, **options)) for seed in range(seeds))
    return pl.concat(samples).join(truth, on=["kind", "metric", "bin"], nulls_equal=True)


def assert_unbiased(samples: pl.DataFrame, seeds: int) -> None:
    """Intervals hold the truth at least as often as they say, and the mean over seeds is the truth, but for chance."""
    figures = samples.group_by("kind", "metric", "bin").agg(
        held=pl.col("truth").is_between(pl.col("low") - 1e-12, pl.col("high") + 1e-12).mean(),
        off=(pl.col("loss") - pl.col("truth")).mean().abs(),
        se=pl.col("loss").std() / np.sqrt(seeds),
        seeds=pl.len(),
    )
    assert (figures["seeds"] == seeds).all()
    assert figures.select(pl.col("held").mean()).item() > 0.95
    assert (figures["off"] < 5 * figures["se"] + 1e-9).all(), figures.sort(pl.col("off") / pl.col("se"))[-3:]


@pytest.mark.again
def test_a_sample_estimates_the_figures_of_all_errors() -> None:
    """Also where dialogues with many changes are longer, so that each of their errors costs less."""
    sample = synthetic(150)["careful"]
    assert_unbiased(sampled_and_not(sample, 25, 2, kinds="missed,dropped,swap"), 25)
    lengths = {f"D{n}": 2 + n % 8 for n in range(60)}
    slots = ("area", "stars", "name", "type", "parking", "internet", "day", "people", "stay", "ref")
    longer = [
        turn(name, t, {f"hotel-{slot}": "x" for slot in slots[: t + 1]})
        for name, n in lengths.items()
        for t in range(n)
    ]
    assert_unbiased(sampled_and_not(longer, 25, 2, kinds="missed,late", metrics="f1,jga,rsa"), 25)
    assert sampled_and_not(longer, 1, 1, kinds="missed", metrics="f1")["bin"].null_count() == 0  # a slope needs two


# --- a run's own predictions ------------------------------------------------------------------------------------------

OWN = (("own_costs", "costs"), ("own_bias", "bias"), ("own_errors", "errors"))


@pytest.mark.again
def test_in_predictions_that_equal_gold_errors_cost_what_they_cost_in_gold() -> None:
    states = synthetic(30)["careful"].with_columns(pred=pl.col("gold"))
    found = dstbench.sensitivity(states, metrics="all", bins=3)
    for own, of_gold in OWN:
        put_in = getattr(found, own).filter(way="put in").drop("way")
        assert put_in.equals(getattr(found, of_gold)), own
    assert found.own_errors.filter(way="mended")["errors"].sum() == 0
    only = dstbench.sensitivity(states, metrics="jga", gold_only=True)
    assert (only.own_costs.height, only.own_bias.height, only.own_errors.height) == (0, 0, 0)


@pytest.mark.again
def test_what_is_mended_gains_what_it_had_cost() -> None:
    """Each run has one error of gold's, of a kind that is made: mended, it gives back its loss."""
    states = [{"hotel-area": "north"}, {"hotel-area": "north", "hotel-stars": "4"}]
    gold: list[dict[str, Any]]
    gold = [{"dialogue_id": d, "turn": t, "gold": states[t > 1]} for d in "AB" for t in range(4)]
    lacks = {"hotel-area": "north"}
    predicted = {
        "missed": [*states[:1] * 2, lacks, lacks],
        "late": [*states[:1] * 2, lacks, states[1]],
        "dropped": [*states[:1] * 2, states[1], lacks],
        "wrong": [*states[:1] * 2, *[states[1] | {"hotel-stars": "2"}] * 2],
        "over": [*states[:1] * 2, *[states[1] | {"hotel-people": "2"}] * 2],
    }
    for kind, of_a in predicted.items():
        run = [row | {"pred": of_a[row["turn"]] if row["dialogue_id"] == "A" else row["gold"]} for row in gold]
        found = dstbench.sensitivity(run, metrics="jga,sa:T=30,fga,gca,tla")
        scores = dstbench.score(run, metrics="jga,sa:T=30,fga,gca,tla", by="dialogue").filter(dialogue="A")
        mended = found.own_bias.filter(way="mended")
        assert mended.filter(pl.col("errors") > 0)["kind"].unique().to_list() == [kind]
        gains = dict(mended.filter(kind=kind).select("metric", "loss").iter_rows())
        assert gains == pytest.approx({metric: 1 - value for metric, value in scores.select("metric", "value").rows()})


def test_only_right_values_are_replaced_and_some_errors_change_nothing() -> None:
    """In A the first turns are wrong for another slot: JGA does not see that a value goes missing as well."""
    both = {"hotel-area": "north", "hotel-stars": "4"}
    run = [
        {"dialogue_id": d, "turn": t, "gold": both, "pred": both if d == "B" else {"hotel-area": "north"}}
        for d in "AB" for t in range(2)
    ]  # fmt: skip
    found = dstbench.sensitivity(run, metrics="jga,sa:T=30", kinds="missed")
    row = found.own_errors.filter(way="put in").row(0, named=True)
    assert (row["changes"], row["possible"]) == (4, 3)  # A's stars are missed already
    rows = found.own_bias.filter(way="put in").select("metric", "loss", "blind").rows()
    assert rows == [("jga", pytest.approx(2 / 3), pytest.approx(1 / 3)), ("sa:T=30", pytest.approx(1 / 30), 0)]


#: Position bias over the mean loss of one right value removed from real predictions, and from gold (issue of metrics).
OF_RUNS = {
    "trippy": {"jga": -2.65, "f1": -2.08, "fga": -1.50, "gca": 0.07, "tla": -0.74},
    "pptod": {"jga": -1.90, "f1": -2.37, "fga": -0.96, "gca": 0.11, "tla": -0.36},
    "gold": {"jga": -1.26, "f1": -2.45, "fga": -0.38, "gca": 0.12, "tla": 0},
}


def test_errors_in_real_predictions_cost_what_was_measured(data: Path) -> None:
    runs = {"trippy": data / "predictions/trippy/trippy_result.json", "pptod": data / "predictions/mwzeval/pptod.json"}
    golds = {"trippy": None, "pptod": str(data / "multiwoz21/test.tsv")}
    for name, path in runs.items():
        found = dstbench.sensitivity(
            str(path), gold=golds[name], missing="wrong", metrics="jga,f1,fga,gca,tla", kinds="missed"
        )
        own = found.own_bias.filter(way="put in")
        assert dict(own.select("metric", "relative").iter_rows()) == pytest.approx(OF_RUNS[name], abs=0.006)
        if name == "trippy":
            relative = dict(found.bias.select("metric", "relative").iter_rows())
            assert relative == pytest.approx(OF_RUNS["gold"], abs=0.006)
            last = found.own_costs.filter(way="put in", metric="jga")["loss"].item(-1)
            assert 100 * last == pytest.approx(1.35, abs=0.01)
            bias, low, high = own.filter(metric="tla").select("bias", "low", "high").row(0)
            assert [100 * bias, 50 * (high - low)] == pytest.approx([-6.5, 0.9], abs=0.05)


# --- what cannot be computed ------------------------------------------------------------------------------------------


def turn(dialogue: str, number: int, gold: State) -> dict[str, Any]:
    return {"dialogue_id": dialogue, "turn": number, "gold": gold, "pred": {}}


def test_gold_in_which_no_error_can_be_made_is_refused() -> None:
    with pytest.raises(DstbenchError, match="gold sets no slot"):
        dstbench.sensitivity([turn("A", 0, {}), turn("A", 1, {"hotel-area": "none"})])
    with pytest.raises(DstbenchError, match="each dialogue has one turn"):
        dstbench.sensitivity([turn("A", 0, NORTH), turn("B", 0, NORTH)])
    with pytest.raises(DstbenchError, match="not from 2"):
        dstbench.sensitivity({"a": [turn("A", 0, NORTH)], "b": [turn("A", 0, NORTH)]})
    with pytest.raises(DstbenchError, match=r"can have the error over \(the domain has no slot"):
        dstbench.sensitivity([turn("A", 0, NORTH), turn("A", 1, NORTH)], kinds="over")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": "late,mised"}, "there is no kind of error 'mised'"),
        ({"metrics": "jga,missed"}, "missed: a count of errors"),
        ({"kinds": []}, "no kind of error"),
        ({"bins": 0}, "bins=0"),
        ({"bins": 101}, "bins=101"),
        ({"sample": 0}, "sample=0"),
        ({"level": 1.0}, "level"),
    ],
)
def test_wrong_usage_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        dstbench.sensitivity([turn("A", 0, NORTH), turn("A", 1, NORTH)], **options)


def warnings_of(states: Any, **options: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DstbenchWarning)
        found = dstbench.sensitivity(states, **options)
    return found, [str(each.message) for each in caught]


@pytest.mark.again
def test_what_is_left_out_is_said() -> None:
    found, said = warnings_of([turn("A", 0, NORTH), turn("A", 1, NORTH), turn("B", 0, NORTH)])
    assert any("1 of 2 changes of gold is in dialogues of one turn" in text for text in said)
    assert any("can have the error wrong (gold has no other value of the slot), over (" in text for text in said)
    assert any("fewer than two dialogues have errors in two turns" in text for text in said)
    assert found.bias.filter(kind="wrong").select("loss", "bias", "low").unique().row(0) == (None, None, None)
    assert found.bias["bias"].null_count() == found.bias.height
    assert found.errors.filter(kind="missed").row(0) == ("missed", 2, 1, 1, None, None, 1)
    _, said = warnings_of([turn("A", 0, {}), turn("A", 1, NORTH)], kinds="missed,dropped")
    assert any("the error dropped (gold keeps no value for two turns)" in text for text in said)
    one_change = [turn(name, t, NORTH) for name in "AB" for t in (0, 1)]
    _, said = warnings_of(one_change, metrics="gca-vp", kinds="missed,late")
    assert any("gca-vp is undefined with 2 of 4 errors" in text for text in said)
    _, said = warnings_of(synthetic(5)["careful"])
    assert said == []


def test_no_bias_comes_from_long_dialogues_having_other_changes_late() -> None:
    of_dialogues = {"A": [NORTH, *[NORTH | STARS] * 7], "B": [NORTH, NORTH | STARS]}
    states = [turn(name, number, state) for name, golds in of_dialogues.items() for number, state in enumerate(golds)]
    found = dstbench.sensitivity(states, metrics="tla", kinds="missed", bins=2)
    assert found.costs["loss"].to_list() == pytest.approx([(1 / 8 + 1 / 8 + 1 / 2) / 3, 1 / 2])
    assert found.bias["bias"].to_list() == [0]


@pytest.mark.again
@settings(max_examples=5)
@given(corpora(max_dialogues=10, max_turns=5))
def test_an_earlier_error_never_costs_a_metric_of_states_less_if_gold_keeps_the_pair(states: States) -> None:
    assume(any(present(state["gold"]) for state in states))
    kept = losses(states).filter(pl.col("next") == pl.col("turns"), kind="missed").sort("number", "place")
    for name in ("jga", "sa", "rsa", "aga", "f1", "fga"):
        rises = pl.col(name).diff().over("number") > 1e-12
        assert not kept.select(rises.any()).item(), name


def test_gca_is_higher_with_a_swap_than_without_where_gold_later_lists_the_other_slot_as_none() -> None:
    """GCA's authors count a first listing as a change, and that the prediction gives up the slot as another."""
    north, name = {"hotel-area": "north"}, {"hotel-name": "north"}
    golds = [north, {}, north | name | {"hotel-book day": "none"}]
    states = [turn("MUL0", number, gold) for number, gold in enumerate(golds)]
    found = losses([*states, turn("MUL1", 0, {"hotel-book day": "north"})])
    assert found.filter(pl.col("gca") < 0)["kind"].to_list() == ["swap"]


@pytest.mark.again
def test_turns_and_slots_that_only_a_run_has_do_not_matter(here: Path) -> None:
    gold = [turn(name, t, NORTH | (STARS if t else {})) for name in "AB" for t in range(3)]
    for state in gold:
        del state["pred"]
    invented = [
        {"dialogue_id": "A", "turn": t, "pred": {"hotel-area": "x", "hotel-pool": "yes"}} for t in range(2)
    ]  # B is not predicted
    (run,) = open_runs({"run": invented}, gold=gold, missing="wrong")
    dstbench.write_long(run, "run.parquet")
    whole = dstbench.sensitivity({"gold": gold})
    for other in ({"gold": run}, {"gold": "run.parquet"}):
        found = dstbench.sensitivity(other)
        assert equal(found, whole)
        assert found.signatures.equals(whole.signatures)


def test_a_loss_of_one_dialogue_has_no_interval() -> None:
    gold = [turn("A", 0, NORTH), turn("A", 1, NORTH | {"hotel-stars": "4"})]
    bias = dstbench.sensitivity(gold, kinds="late", metrics="jga").bias
    assert bias.select("loss", "bias", "low", "high", "relative").row(0) == (0.5, 0.0, None, None, 0.0)
