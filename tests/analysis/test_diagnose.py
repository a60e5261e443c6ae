"""Where runs fail: dialogues, classes of errors and traits, against counts by hand and against plain loops."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
import dstbench.runs.run as runs
from dstbench.analysis.diagnose import Diagnosis
from dstbench.conventions.convention import Convention
from dstbench.demo import synthetic
from dstbench.runs.open import open_runs
from dstbench.scoring.error_classes import CLASSES, count_classes
from tests import oracle
from tests.corpora import FEW, LARGE, States, corpora


def by_dialogue(states: States) -> dict[str, list[oracle.Turn]]:
    found: dict[str, list[oracle.Turn]] = defaultdict(list)
    for turn in oracle.turns(states):
        found[turn.dialogue].append(turn)
    return found


def classes(data: Any, **options: Any) -> dict[tuple[str | None, str], int]:
    """(slot, class) to how often it occurs."""
    return classes_in(dstbench.diagnose(data, **options))


def classes_in(found: Diagnosis) -> dict[tuple[str | None, str], int]:
    rows = found.errors_by_slot.filter(pl.col("n") > 0)
    return {(slot, name): n for slot, name, n in rows.select("slot", "class", "n").iter_rows()}


# --- by hand -------------------------------------------------------------------------------------------------------

AREA, NAME, DAY, LEAVE = "hotel-area", "hotel-name", "hotel-book day", "train-leaveat"


def dialogue(name: str, *turns: tuple[dict[str, str], dict[str, str]]) -> States:
    return [{"dialogue_id": name, "turn": t, "gold": gold, "pred": pred} for t, (gold, pred) in enumerate(turns)]


def pattern(name: str, right: str) -> States:
    """A dialogue that is right where `right` says 1: its one slot is new in every turn, and wrong at 0."""
    return dialogue(name, *(({AREA: f"a{t}"}, {AREA: f"a{t}" if c == "1" else "x"}) for t, c in enumerate(right)))


def test_first_failures_counted_by_hand() -> None:
    states = [
        *pattern("A", "1111111110"),  # fails at 9 of 10, the last tenth
        *pattern("B", "0111111110"),  # at 0, and recovers
        *pattern("C", "0"),  # at 0
        *pattern("D", "110"),  # at 2 of 3: 0.67
        *pattern("E", "1001"),  # is right in the end
        *pattern("F", "11"),
        *pattern("G", "10110"),  # at 1 of 5: exactly 0.2, the third tenth; recovers
    ]
    found = dstbench.diagnose(states, few=1)
    row = found.runs.row(0, named=True)
    assert (row["turns"], row["dialogues"], row["failing"], row["recovered"]) == (35, 7, 5, 2)
    assert (row["few_slots"], row["with_few_slots"], row["share_with_few_slots"]) == (1, 0, 0.0)
    assert row["signature"] == dstbench.score(states, metrics="jga")["signature"].item()
    assert found.first_failures["dialogues"].to_list() == [2, 0, 1, 0, 0, 0, 1, 0, 0, 1]
    assert found.first_failures["recovered"].to_list() == [1, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    assert found.by_turn.select("turn", "value", "dialogues").rows()[:3] == [(0, 5 / 7, 7), (1, 4 / 6, 6), (2, 0.6, 5)]
    assert found.by_length.filter(length=10).select("value", "dialogues").rows() == [(17 / 20, 2)]
    assert found.gold_slots.rows() == [("states", 1, 7, 1.0)]


#: Gold and prediction of a slot in two turns, with what else gold has in the second; and its class there.
CASES: dict[str, tuple[str, str, str, str, dict[str, str]]] = {
    "correct": ("", "", "east", "east", {}),
    "missed-fresh": ("west", "west", "east", "", {}),
    "dropped": ("east", "east", "east", "", {}),
    "missed-stale": ("east", "west", "east", "", {}),  # wrong before, so nothing right is lost
    "not-updated": ("west", "", "east", "west", {NAME: "west"}),  # goes before the swap
    "wrong-swap-slot": ("", "", "east", "west", {NAME: "west", LEAVE: "west"}),
    "wrong-swap-domain": ("east", "west", "east", "west", {LEAVE: "west"}),
    "wrong-fresh": ("east", "east", "east", "west", {}),
    "wrong-stale": ("east", "west", "east", "west", {NAME: "east"}),  # gold's own value is no swap
    "not-deleted": ("west", "west", "", "west", {NAME: "west"}),
    "over-swap-slot": ("", "", "", "west", {NAME: "west", LEAVE: "west"}),
    "over-swap-domain": ("", "west", "", "west", {LEAVE: "west"}),
    "over-fresh": ("", "east", "", "west", {}),
    "over-stale": ("", "dontcare", "", "dontcare", {NAME: "dontcare"}),  # tells nothing of its slot
}


@pytest.mark.parametrize("name", CASES)
def test_each_class_by_hand(name: str) -> None:
    gold_before, pred_before, gold, pred, others = CASES[name]
    states = dialogue("D", ({AREA: gold_before}, {AREA: pred_before}), ({AREA: gold, **others}, {AREA: pred, **others}))
    before = dialogue("D", ({AREA: gold_before}, {AREA: pred_before}))
    found, known = classes(states), classes(before)
    here = {key[1]: n - known.get(key, 0) for key, n in found.items() if key[0] == AREA and n > known.get(key, 0)}
    assert here == {name: 1}
    assert oracle.error_class(oracle.turns(states)[-1], AREA) == name


def test_every_class_has_a_case_and_a_meaning() -> None:
    assert [*CASES, "no-prediction"] == [*(name for name in CLASSES if name != "no-prediction"), "no-prediction"]
    assert {kind for kind, _ in CLASSES.values()} == {"correct", "missed", "wrong", "over", "no-prediction"}


def test_rates_and_their_denominators_by_hand() -> None:
    """Four turns of two slots: area is in gold in 3 turns, name in 1; predicted are 3 and 2."""
    states = dialogue(
        "D",
        ({AREA: "east"}, {AREA: "east"}),
        ({AREA: "east"}, {AREA: "west"}),
        ({AREA: "east", NAME: "alpha"}, {NAME: "alpha"}),
        ({}, {AREA: "south", NAME: "alpha"}),
    )
    found = dstbench.diagnose(states)
    sizes = found.errors_by_slot.select("slot", "gold", "predicted", "inactive").unique(maintain_order=True)
    assert sizes.rows() == [(AREA, 3, 3, 1), (NAME, 1, 2, 3)]
    whole = {r["class"]: r for r in found.errors.iter_rows(named=True)}
    assert {r["gold"] for r in whole.values()} == {4}
    rates = {name: tuple(r[c] for c in ("n", "of_gold", "of_predicted", "of_inactive")) for name, r in whole.items()}
    assert rates["correct"] == (2, 0.5, 0.4, None)
    assert rates["wrong-fresh"] == (1, 0.25, 0.2, None)
    assert rates["missed-stale"] == (1, 0.25, None, None)
    assert rates["not-deleted"] == (2, None, 0.4, 0.5)
    assert rates["over-fresh"] == (0, None, 0.0, 0.0)
    assert list(whole) == list(CLASSES)
    assert found.errors_by_domain.drop("domain").equals(found.errors)
    assert found.errors_by_slot.columns == ["run", "slot", *found.errors.columns[1:]]


def test_a_turn_without_a_prediction_has_a_class_of_its_own() -> None:
    states = dialogue("D", ({AREA: "east"}, {AREA: "east"}), ({AREA: "east"}, {}), ({AREA: "east"}, {AREA: "east"}))
    gold = [{k: s[k] for k in ("dialogue_id", "turn", "gold")} for s in states]
    pred = [{k: s[k] for k in ("dialogue_id", "turn", "pred")} for s in (states[0], states[2])]
    with pytest.warns(dstbench.DstbenchWarning):
        found = classes(pred, gold=gold, missing="wrong")
    assert found == {(AREA, "correct"): 2, (AREA, "dropped"): 1, (None, "no-prediction"): 1}


def test_what_a_matcher_accepts_is_right_here_too() -> None:
    """A fuzzy match is correct, losing it is dropping, and keeping it when gold changes is not updating."""
    near, far = {NAME: "guest house"}, {NAME: "kettle"}
    guess = {NAME: "guest houses"}
    fuzzy = dstbench.profile("verbatim", match="levenshtein")
    assert classes(dialogue("D", (near, guess), (near, {})), profile=fuzzy) == {
        (NAME, "correct"): 1,
        (NAME, "dropped"): 1,
    }
    found = classes(dialogue("D", (near, guess), (far, guess)), profile=fuzzy)
    assert found == {(NAME, "correct"): 1, (NAME, "not-updated"): 1}


def timed(data: Any, **options: Any) -> dict[str | None, list[int]]:
    """Slot to how often it is missed, late, over-predicted, early."""
    return timing_in(dstbench.diagnose(data, **options))


def timing_in(found: Diagnosis) -> dict[str | None, list[int]]:
    rows = found.timing_by_slot.select("slot", "missed", "late", "over", "early")
    return {slot: n for slot, *n in rows.iter_rows() if n[0] or n[2]}


@pytest.mark.parametrize(
    ("gold", "pred", "wanted"),
    [
        ("111", "--1", [2, 2, 0, 0]),  # two turns late
        ("111", "-21", [1, 1, 0, 0]),  # wrong in between
        ("111", "---", [3, 0, 0, 0]),
        ("112", "--1", [2, 0, 0, 0]),  # gold has another value by then
        ("1-1", "--1", [1, 0, 0, 0]),  # gold had dropped it in between
        ("111", "1-1", [1, 1, 0, 0]),  # lost and found
        ("--1", "111", [0, 0, 2, 2]),
        ("--1", "1--", [1, 0, 1, 1]),  # not kept until then
        ("-21", "111", [0, 0, 1, 0]),  # gold's next value is another one
        ("1--", "111", [0, 0, 2, 0]),  # not deleted, which is no matter of timing
        ("1-1", "111", [0, 0, 1, 1]),
        ("1", "-", [1, 0, 0, 0]),
    ],
)
def test_timing_by_hand(gold: str, pred: str, wanted: list[int]) -> None:
    """A digit is the slot's value in a turn, a dash none. The same slot of the next dialogue changes nothing."""
    states = []
    for name, *sides in (("A", gold, pred), ("B", "111", "111")):
        values = zip(*([value.strip("-") for value in side] for side in sides), strict=True)
        states += dialogue(name, *(({AREA: g}, {AREA: p}) for g, p in values))
    assert timed(states) == {AREA: wanted}
    found = dstbench.diagnose(states).timing.row(0, named=True)
    assert [found[name] for name in ("missed", "late", "over", "early")] == wanted
    assert found["late_share"] == (wanted[1] / wanted[0] if wanted[0] else None)
    assert found["early_share"] == (wanted[3] / wanted[2] if wanted[2] else None)


def test_a_turn_without_a_prediction_is_not_early() -> None:
    gold = [{"dialogue_id": "D", "turn": t, "gold": {AREA: "east"}} for t in range(2)]
    pred = [{"dialogue_id": "D", "turn": 1, "pred": {AREA: "east"}}]
    with pytest.warns(dstbench.DstbenchWarning):
        assert timed(pred, gold=gold, missing="wrong") == {AREA: [1, 1, 0, 0]}


# --- by plain loops ------------------------------------------------------------------------------------------------


@FEW
@given(corpora(LARGE))
@pytest.mark.filterwarnings("ignore:.*gold never has:dstbench.errors.DstbenchWarning")
def test_classes_and_timing_by_plain_loops(states: States) -> None:
    """Also where a matcher decides: three letters of five suffice, so north matches south, and no other value."""
    runs, ts = dstbench.open_runs(states), oracle.turns(states)
    found = dstbench.diagnose(runs)
    assert classes_in(found) == oracle.error_classes(ts)
    assert timing_in(found) == oracle.timing(ts)
    fuzzy = dstbench.profile("verbatim", match="levenshtein:least=0.55", fuzzy="all")

    def similar(one: str, other: str) -> bool:
        return one == other or {one, other} == {"north", "south"}

    assert timed(runs, profile=fuzzy) == oracle.timing(ts, similar)


@FEW
@given(corpora(LARGE))
@pytest.mark.filterwarnings("ignore:.*gold never has:dstbench.errors.DstbenchWarning")
def test_dialogues_by_plain_loops(states: States) -> None:
    found = dstbench.traits(states, metrics="jga,gca").dialogues
    groups = by_dialogue(states)
    assert found["dialogue"].to_list() == sorted(groups)
    for row in found.iter_rows(named=True):
        ts = groups[row["dialogue"]]
        failed = oracle.failure(ts)
        assert row["turns"] == len(ts)
        assert row["wrong_turns"] == sum(not t.right for t in ts)
        assert row["ends_wrong"] == (failed is not None)
        last = ts[-1]
        wrong_last = [slot for slot in last.gold | last.pred if last.gold.get(slot) != last.pred.get(slot)]
        assert row["wrong_slots_last"] == len(wrong_last)
        assert row["first_wrong"] == next((i for i, t in enumerate(ts) if not t.right), None)
        assert row["first_failure"] == (failed and failed[0] / len(ts))
        assert row["first_failure_bin"] == (failed and 10 * failed[0] // len(ts))
        assert row["recovered"] == (failed and failed[1])
        assert row["n_gold_max"] == max(len(t.gold) for t in ts)
        wanted = {f"to_{v}": oracle.tail_orientation(ts, v) for v in ("mean", "sum", "released")}
        wanted |= {f"nu_{v}": oracle.non_uniformity(ts, v) for v in ("paper", "released")}
        wanted |= {"jga": oracle.jga(ts), "gca": oracle.gca(ts)}
        for name, value in wanted.items():
            assert row[name] == (None if value is None else pytest.approx(value, rel=1e-12, abs=1e-12)), name


@pytest.mark.parametrize(
    ("right", "wanted"),
    [("0", (0.0, 0.0, -0.25, 0.0, 0.0)), ("1", (None, None, 0.0, 0.0, 0.0)), ("11", (None, None, 0.0, 0.0, 0.0))],
)
def test_traits_of_one_turn_and_of_no_mistake(right: str, wanted: tuple[float | None, ...]) -> None:
    """As released, -0.25 and 0 are what the authors' notebook computes."""
    found = dstbench.traits(pattern("A", right)).dialogues
    assert found.select("to_mean", "to_sum", "to_released", "nu_paper", "nu_released").row(0) == wanted


# --- traits --------------------------------------------------------------------------------------------------------


def test_bins_by_hand() -> None:
    """One mistake in turn 3 of 11 is at 0.3, in turn 10 at 1: the fourth and the last bin; no mistake is in none."""
    states = [*pattern("A", "11101111111"), *pattern("B", "11111111110"), *pattern("C", "11")]
    found = dstbench.traits(states, metrics="jga")
    bins = found.bins.filter(pl.col("trait") == "to_mean")
    # A wrong value is mended in the next turn, so A's mistake is one.
    assert found.dialogues["mistakes"].to_list() == [1, 1, 0]
    assert bins["dialogues"].to_list() == [0, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    assert bins["value"].to_list() == [None, None, None, 10 / 11, None, None, None, None, None, 10 / 11]
    assert bins["low"].to_list() == pytest.approx([n / 10 for n in range(10)])


@FEW
@given(corpora(LARGE), st.integers(1, 3), st.permutations(["one", "other"]))
@pytest.mark.filterwarnings("ignore:.*(gold never has|not comparable):dstbench.errors.DstbenchWarning")
def test_disagreements_of_all_runs_by_plain_loops(states: States, most: int, names: list[str]) -> None:
    runs = {
        names[0]: states,
        names[1]: [{**state, "pred": state["gold"] if n % 2 else {}} for n, state in enumerate(states)],
    }
    found = dstbench.traits(runs, metrics=[], disagree=["fga", "gca"], most=most)
    rows = [row for row in found.dialogues.to_dicts() if row["fga"] is not None and row["gca"] is not None]
    parts = [(found.pooled_disagreements, [*runs]), *((found.disagreements.filter(run=run), [run]) for run in runs)]
    for (high, low), (part, of) in product((("fga", "gca"), ("gca", "fga")), parts):
        further = [row for row in rows if row[high] > row[low] and row["run"] in of]
        wanted = sorted((row[low] - row[high], row["dialogue"], names.index(row["run"])) for row in further)[:most]
        shown = part.filter(higher=high, lower=low)
        listed = zip(shown["difference"], shown["dialogue"], shown["run"], strict=True)
        assert list(listed) == [(-d, dialogue, names[run]) for d, dialogue, run in wanted]
        assert shown["place"].to_list() == list(range(1, len(wanted) + 1))


@pytest.mark.parametrize(
    ("sample", "wanted"),
    [
        # n = 7; mistakes in turns 2, 4, 4. Aksu & Chen 2024, Table 3, prints TO 0.55.
        ("sample_1", {"to_mean": 0.5556, "to_sum": 1 / 7, "to_released": -1 / 48, "nu_paper": 26 / 7}),
        ("NU1", {"to_mean": 0.0, "to_sum": -1.0, "nu_paper": 6.0, "nu_released": 4.0}),  # three in turn 0 of 3
        ("NU2", {"to_mean": 0.5, "to_sum": 0.0, "nu_paper": 0.0, "nu_released": 0.0}),  # one in each
        ("RS1", {"to_mean": 2 / 9, "nu_paper": 2.75}),
        ("RS2", {"to_mean": 7 / 9, "nu_paper": 2.75}),  # RS1 the other way round
    ],
)
def test_the_worked_dialogues_of_the_gca_paper(data: Path, sample: str, wanted: dict[str, float]) -> None:
    found = dstbench.traits(data / "predictions" / "gca_samples" / f"{sample}.json").dialogues.row(0, named=True)
    assert {name: round(found[name], 4) for name in wanted} == {name: round(v, 4) for name, v in wanted.items()}


# --- real data, partitions, threads --------------------------------------------------------------------------------


def test_classes_of_trippy_on_multiwoz_21(data: Path) -> None:
    """Counted once by the oracle's plain loops (which take seconds): a regression test."""
    found = dstbench.diagnose(data / "predictions" / "trippy" / "trippy_result.json")
    counts = dict(found.errors.filter(pl.col("n") > 0).select("class", "n").iter_rows())
    assert counts == {
        "correct": 26868, "missed-fresh": 912, "dropped": 4, "missed-stale": 2332,
        "not-updated": 99, "wrong-swap-slot": 77, "wrong-swap-domain": 24, "wrong-fresh": 3269, "wrong-stale": 8994,
        "over-swap-slot": 50, "over-swap-domain": 88, "over-fresh": 493, "over-stale": 1007,
    }  # fmt: skip
    assert found.runs.select("dialogues", "failing", "recovered", "with_few_slots").row(0) == (1000, 932, 50, 820)


@pytest.mark.again
def test_partitions_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    table = synthetic(25)["careful"]
    whole, wide = dstbench.diagnose({"run": table}), dstbench.traits({"run": table}, disagree=["fga", "gca"])
    correlated = [dstbench.correlate({"run": table}, differences=["jga,fga,gca"])]
    monkeypatch.setattr(runs, "_ROW_GROUP", 50)
    (run,) = open_runs({"run": table})
    assert len(run.cuts) > 6
    counts, turns = count_classes(run, Convention())
    assert turns == whole.runs["turns"].item()
    assert counts["n"].sum() == whole.errors["n"].sum()
    parts, narrow = dstbench.diagnose({"run": table}), dstbench.traits({"run": table}, disagree=["fga", "gca"])
    for name in whole.__dataclass_fields__:
        assert getattr(parts, name).equals(getattr(whole, name)), name
    for name in wide.__dataclass_fields__:
        assert getattr(narrow, name).equals(getattr(wide, name)), name
    correlated.append(dstbench.correlate({"run": table}, differences=["jga,fga,gca"]))
    for one, other in zip(*(vars(each).values() for each in correlated), strict=True):
        assert one.equals(other)


CHOICES = st.fixed_dictionaries(
    {},
    optional={
        "none": st.sampled_from(["drop", "drop-gold", "drop-pred", "keep"]),
        "dontcare": st.sampled_from(["keep", "drop", "drop-gold", "drop-pred", "skip"]),
        "over": st.sampled_from(["count", "free", "gold-domains"]),
        "multi": st.sampled_from(["literal", "any", "all"]),
        "match": st.sampled_from(["exact", "levenshtein:least=0.5"]),
        "turns": st.sampled_from(["all", "gold", "pred", "last"]),
    },
)


def test_a_last_turn_without_a_prediction_is_one_more_wrong_slot() -> None:
    north = {"hotel-area": "north"}
    gold = [{"dialogue_id": d, "turn": t, "gold": north, "pred": {}} for d in ("D1", "D2") for t in (0, 1)]
    pred = [{"dialogue_id": d, "turn": t, "pred": north} for d, t in (("D1", 0), ("D1", 1), ("D2", 0))]
    with pytest.warns(dstbench.DstbenchWarning, match="1 gold turn without a prediction"):
        found = dstbench.traits(pred, gold=gold, missing="wrong", metrics="jga").dialogues
    assert found["wrong_slots_last"].to_list() == [0, 2]


@FEW
@given(corpora(LARGE), CHOICES, st.data())
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_classes_add_up_to_the_turn_table_under_any_convention(
    states: States, choices: dict[str, Any], data: st.DataObject
) -> None:
    convention = Convention(**choices)
    kept = [data.draw(st.booleans()) for _ in states]
    gold = [{k: s[k] for k in ("dialogue_id", "turn", "gold")} for s in states]
    pred = [{k: s[k] for k in ("dialogue_id", "turn", "pred")} for s, there in zip(states, kept, strict=True) if there]
    missing: dict[str, Any] = {"gold": gold, "missing": "wrong"} if pred and len(pred) < len(states) else {}
    runs = dstbench.open_runs(pred if missing else states, **missing)
    kinds = ["correct", "wrong", "missed", "over"]

    whole = dstbench.score(runs, metrics=kinds, profile=convention)
    found = dstbench.diagnose(runs, profile=convention)
    timing = found.timing.row(0, named=True)
    sums = dict(found.errors.group_by("kind").agg(pl.col("n").sum()).iter_rows())
    assert {kind: timing[kind] for kind in ("missed", "over")} == {kind: sums[kind] for kind in ("missed", "over")}
    assert found.timing_by_slot.select("missed", "late", "over", "early").sum().row(0) == tuple(
        timing[name] for name in ("missed", "late", "over", "early")
    )
    assert convention.turns != "last" or timing["late"] == timing["early"] == 0
    for slots, of in (("gold", ("correct", "missed", "wrong")), ("predicted", ("correct", "wrong", "over"))):
        assert found.errors[slots].unique().to_list() == [sum(sums[kind] for kind in of)]
    unpredicted = sums.pop("no-prediction")
    assert unpredicted == 0 or missing
    assert {**sums, "over": sums["over"] + unpredicted} == dict(whole.select("metric", "value").iter_rows())

    by_slot = dstbench.score(runs, metrics=kinds, by="slot", profile=convention)
    wanted = {(s, m): v for s, m, v in by_slot.select("slot", "metric", "value").iter_rows() if v}
    per_kind = found.errors_by_slot.drop_nulls("slot").group_by("slot", "kind").agg(pl.col("n").sum())
    assert {(s, k): n for s, k, n in per_kind.iter_rows() if n} == wanted
    of_domains = found.errors_by_domain.group_by("class").agg(pl.col("n").sum())
    assert {c: n for c, n in of_domains.iter_rows() if n} == {
        c: n for c, n in found.errors.select("class", "n").iter_rows() if n
    }


@FEW
@given(corpora(LARGE), st.sampled_from(["mean", "sum", "released"]), st.sampled_from(["paper", "released"]))
def test_bins_by_plain_loops(states: States, to: Any, nu: Any) -> None:
    found = dstbench.traits(states, metrics="fga,gca", to=to, nu=nu)
    rows = found.dialogues.to_dicts()
    for trait in (f"to_{to}", f"nu_{nu}"):
        bins = found.bins.filter(trait=trait)
        there = [row for row in rows if row[trait] is not None]
        if not there:
            assert trait == "to_mean" or bins.is_empty()
        else:
            assert bins["low"].min() <= min(row[trait] for row in there)
            assert bins["high"].max() >= max(row[trait] for row in there) - 1e-12
        for metric in ("fga", "gca"):
            part = bins.filter(metric=metric)
            scored = [row[metric] for row in there if row[metric] is not None]
            assert part["dialogues"].sum() == len(scored)
            if scored:
                total = part.select((pl.col("value") * pl.col("dialogues")).sum()).item()
                assert total == pytest.approx(sum(scored), rel=1e-12, abs=1e-12)


def test_bins_of_non_uniformity_are_equal_in_the_root() -> None:
    """Squares: most dialogues have small ones, and one may have a very large one."""
    found = dstbench.traits({"a": pattern("A", "0000"), "b": pattern("B", "1011")}, metrics="jga", nu="paper")
    bins = found.bins.filter(trait="nu_paper", run="a")
    low, high = found.dialogues["nu_paper"].min(), found.dialogues["nu_paper"].max()
    edges = [*bins["low"], bins["high"][-1]]
    assert (edges[0], edges[-1]) == (low, high)
    roots = [math.sqrt(edge - edges[0]) for edge in edges]
    assert roots == pytest.approx([n / 10 * roots[-1] for n in range(11)])
