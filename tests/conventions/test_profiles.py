"""The profiles: worked examples on which conventions disagree, each with both outcomes, named after what they show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dstbench
from dstbench.conventions.files import Table
from dstbench.conventions.profiles import PROFILES, profile

State = dict[str, str]
AREA, NAME, STARS, FOOD, PRICE = "hotel-area", "hotel-name", "hotel-stars", "restaurant-food", "hotel-pricerange"
LABELS = Table.of({"moderate": ["reasonably"], "museum": ["gallery"], "gallery": ["museum"]})


def value(gold: State, pred: State, metric: str = "jga", name: str = "verbatim", **choices: Any) -> float | None:
    states = [{"dialogue_id": "D", "turn": 0, "gold": gold, "pred": pred}]
    score: float | None = dstbench.score(states, metrics=metric, profile=profile(name, **choices))["value"].item()
    return score


CASES: dict[str, tuple[State, State, list[tuple[str, str, dict[str, Any], float | None]]]] = {
    "a wrong value in slot accuracy": ({AREA: "north"}, {AREA: "south"}, [
        ("sa:T=30", "trade", {}, 29 / 30), ("sa:T=30", "qian2021-code", {}, 28 / 30),
    ]),
    "a hyphen in a value: several": ({NAME: "a-and-b"}, {NAME: "c-and-d"}, [
        ("sa:T=30", "trade@faithful", {}, 28 / 30), ("sa:T=30", "som-dst", {}, 28 / 30),
        ("sa:T=30", "trade@fixed", {}, 29 / 30),
    ]),
    "a hyphen in a value: one": ({NAME: "a-b"}, {NAME: "a-c"}, [("sa:T=30", "trade", {}, 29 / 30)]),
    "a wrong value as one error or two": ({AREA: "north", STARS: "4"}, {AREA: "south", STARS: "4"}, [
        ("f1", "trade", {}, 0.5), ("f1:wrong=missed", "trade", {}, 2 / 3),
    ]),
    "both states are empty": ({}, {}, [
        ("f1", "trade", {}, 1), ("jga", "trade", {}, 1), ("f1:empty=0", "verbatim", {}, 0),
        ("f1:avg=micro:empty=0", "mwzeval", {}, 0), ("jga", "verbatim", {"turns": "gold"}, None),
    ]),
    "both states are empty: relative and average": ({}, {}, [
        ("rsa", "kim2022", {}, 0), ("rsa:empty=skip", "kim2022", {}, None), ("aga", "kim2022", {}, None),
    ]),
    "both say dontcare": ({STARS: "4", AREA: "dontcare"}, {STARS: "4", AREA: "dontcare"}, [
        ("jga", "trade", {}, 1), ("jga", "mwzeval", {}, 0), ("f1:avg=micro", "mwzeval", {}, 2 / 3),
        ("jga", "verbatim", {"dontcare": "drop-pred"}, 0), ("jga", "mwzeval@fixed", {}, 1),
    ]),
    "dontcare that is missed": ({STARS: "4", AREA: "dontcare"}, {STARS: "4"}, [
        ("jga", "trade", {}, 0), ("jga", "mwzeval", {}, 1), ("jga", "simpletod-v0", {}, 1),
        ("jga", "simpletod-v1", {}, 0), ("jga", "verbatim", {"dontcare": "skip"}, 1),
    ]),
    "a slot too many": ({FOOD: "thai"}, {FOOD: "thai", AREA: "north"}, [
        ("jga", "trade", {}, 0), ("rsa", "kim2022", {}, 0.5), ("jga", "convlab3-unified", {}, 1),
        ("jga", "verbatim", {"over": "free"}, 1),
    ]),
    "a value within another": ({"hotel-book people": "12"}, {"hotel-book people": "2"}, [
        ("jga", "verbatim", {}, 0), ("jga", "mwzeval", {}, 1), ("jga", "mwzeval@fixed", {}, 0),
    ]),
    "no within north": ({AREA: "north"}, {AREA: "no"}, [("jga", "trade", {}, 0), ("jga", "mwzeval", {}, 1)]),
    "no within north, sides swapped": ({AREA: "no"}, {AREA: "north"}, [
        ("jga", "trade", {}, 1), ("jga", "verbatim", {}, 0),
    ]),
    "one of gold's alternatives": ({PRICE: "cheap|moderate"}, {PRICE: "cheap"}, [
        ("jga", "trade", {}, 0), ("jga", "icdst", {}, 1), ("jga", "convlab3-unified", {}, 1), ("jga", "sgd-mwz", {}, 1),
    ]),
    "alternatives on both sides": ({PRICE: "cheap|moderate"}, {PRICE: "moderate|expensive"}, [
        ("jga", "verbatim", {"multi": "any"}, 0), ("jga", "convlab3-unified", {}, 1),
    ]),
    "a part of a list": ({AREA: "north|south"}, {AREA: "north"}, [
        ("jga", "dstc10", {}, 0), ("soft-jga", "sgd", {}, 1),
    ]),
    "a list in another order": ({AREA: "north|south"}, {AREA: "south|north"}, [("jga", "dstc10", {}, 1)]),
    "British and American spelling": ({AREA: "centre"}, {AREA: "center"}, [
        ("jga", "trade", {}, 0), ("jga", "mwzeval", {"gold_steps": (), "pred_steps": ()}, 0),
        ("jga", "verbatim", {"pred_steps": ("typos",)}, 1),
    ]),
    "British and American spelling, sides swapped": ({AREA: "center"}, {AREA: "centre"}, [("jga", "trade", {}, 1)]),
    "free for yes": ({"hotel-internet": "yes"}, {"hotel-internet": "free"}, [
        ("jga", "trade", {}, 0), ("jga", "simpletod-v1", {}, 1), ("jga", "mwzeval", {}, 1),
    ]),
    "a name's spaces": ({NAME: "pizza hut fen ditton"}, {NAME: "pizza hut fenditton"}, [
        ("jga", "mwzeval", {}, 0), ("jga", "qian2021", {}, 1), ("jga", "qian2021-code", {}, 1),
        ("soft-jga", "sgd", {}, 0.82),
    ]),
    "words in another order": (
        {"train-destination": "london liverpool street"}, {"train-destination": "liverpool street london"}, [
        ("jga", "mwzeval", {}, 0), ("jga", "verbatim", {"match": "token-sort"}, 1), ("soft-jga", "sgd", {}, 1),
    ]),
    "a part of a name": ({NAME: "curry garden"}, {NAME: "garden"}, [
        ("jga", "trippy", {}, 0), ("jga", "trippy", {"match": "contain"}, 1),
    ]),
    "neither name within the other": ({NAME: "the alexander b&b"}, {NAME: "an alexander b&b"}, [
        ("jga", "trippy", {"match": "contain"}, 0),
    ]),
    "a label's variant": ({PRICE: "moderate"}, {PRICE: "reasonably"}, [
        ("jga", "trippy", {"labels": LABELS}, 1), ("jga", "trippy", {}, 0),
    ]),
    "a label's variant, sides swapped": ({PRICE: "reasonably"}, {PRICE: "moderate"}, [
        ("jga", "trippy", {"labels": LABELS}, 0),
    ]),
    "labels that name each other": ({"attraction-type": "museum"}, {"attraction-type": "gallery"}, [
        ("jga", "trippy", {"labels": LABELS}, 1), ("jga", "trade", {}, 0),
    ]),
    "labels that name each other, sides swapped": ({"attraction-type": "gallery"}, {"attraction-type": "museum"}, [
        ("jga", "trippy", {"labels": LABELS}, 1),
    ]),
    "a time without its leading zero": ({"train-leaveat": "08:30"}, {"train-leaveat": "8:30"}, [
        ("jga", "trippy", {}, 0), ("jga", "trade", {}, 0), ("jga", "mwzeval", {"match": "exact"}, 1),
    ]),
    "gold's hotel type": ({"hotel-type": "bed and breakfast"}, {}, [
        ("jga", "trade@faithful", {}, 0), ("jga", "trade@fixed", {}, 1), ("jga", "som-dst", {}, 1),
    ]),
    "gold's hotel type, whatever is predicted": ({"hotel-type": "none"}, {"hotel-type": "none"}, [
        ("jga", "trade", {}, 0),
    ]),
    "the number of slots T": ({FOOD: "thai"}, {}, [
        ("sa:T=7", "verbatim", {}, 6 / 7), ("sa:T=30", "verbatim", {}, 29 / 30), ("sa:T=35", "verbatim", {}, 34 / 35),
        ("sa", "dstc10", {}, 18 / 19), ("sa", "verbatim", {"slots": "multiwoz-restaurant"}, 6 / 7),
    ]),
    "an apostrophe apart": ({NAME: "saint john's college"}, {NAME: "saint john 's college"}, [
        ("jga", "trippy", {}, 1), ("jga", "verbatim", {}, 0),
    ]),
    "fga2022 keeps none": ({AREA: "none"}, {}, [("jga", "fga2022", {}, 0), ("jga", "gca2024", {}, 1)]),
    "star's booleans": ({"hotel-parking": "yes"}, {"hotel-parking": "true"}, [
        ("jga", "star", {}, 1), ("jga", "verbatim", {}, 0),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings(
    "ignore:.*(alternatives|categorical slots|fail on spelling|more than the T|which frames there are|"
    "not scored under|gold never has)"
    ":dstbench.errors.DstbenchWarning"
)
def test_where_conventions_disagree(case: str) -> None:
    gold, pred, outcomes = CASES[case]
    for metric, name, choices, wanted in outcomes:
        measured = value(gold, pred, metric, name, **choices)
        assert measured == (wanted if wanted is None else pytest.approx(wanted, abs=1e-12)), (metric, name, choices)


def test_every_profile_has_its_say_above() -> None:
    named = {name for _, _, outcomes in CASES.values() for _, name, _, _ in outcomes} | {"t5dst", "verbatim"}
    assert {name.partition("@")[0] for name in PROFILES} == {name.partition("@")[0] for name in named}


@pytest.mark.filterwarnings(
    "ignore:.*(is MultiWOZ's|categorical slots|which frames there are):dstbench.errors.DstbenchWarning"
)
def test_frames_and_turns() -> None:
    """One service right, one wrong: 1/2 over frames, 0 over turns."""
    states = [{"dialogue_id": "1_0", "turn": 0, "gold": {"A-x": "1", "B-y": "2"}, "pred": {"A-x": "1", "B-y": "3"}}]
    table = dstbench.scan(states)
    frames = dstbench.score(table, metrics="soft-jga,jga", profile="sgd")
    turns = dstbench.score(table, metrics="soft-jga,jga", profile="sgd-mwz")
    assert frames["value"].to_list() == [0.5, 0.5]
    assert frames["turns"].to_list() == [2, 2]
    assert turns["value"].to_list() == [0, 0]


def test_turns_of_a_domain() -> None:
    """Two turns before the domain comes up, right as they are empty; then a wrong one."""
    states = [
        {"dialogue_id": "D", "turn": turn, "gold": {FOOD: "thai"} if turn == 2 else {}, "pred": {}} for turn in range(3)
    ] + [{"dialogue_id": "E", "turn": 0, "gold": {AREA: "north"}, "pred": {FOOD: "thai"}}]
    for name, wanted in (("trade", {"restaurant": (2 / 3, 3, 1), "hotel": (0, 1, 1)}),
                         ("som-dst", {"restaurant": (0, 1, 1), "hotel": (0, 1, 1)})):  # fmt: skip
        rows = dstbench.score(states, metrics="jga", by="domain", profile=name)
        found = {d: tuple(r) for d, *r in rows.select("domain", "value", "turns", "dialogues").rows()}
        assert found == {domain: pytest.approx(row) for domain, row in wanted.items()}
    whole = dstbench.score(states, metrics="jga,sa:T=30,fga,gca,rsa", by="domain,dialogue", profile="trade")
    assert whole.filter(domain="restaurant")["dialogue"].unique().to_list() == ["D"]


def test_what_a_profile_does_with_missing_turns() -> None:
    """mwzeval leaves out a dialogue that is not predicted; the other profiles refuse it."""
    gold = [{"dialogue_id": d, "turn": 0, "gold": {AREA: "north"}} for d in "DE"]
    pred = [{"dialogue_id": "D", "turn": 0, "pred": {AREA: "north"}}]
    with pytest.raises(dstbench.DstbenchError, match="1 gold turn without a prediction"):
        dstbench.score(pred, gold=gold, profile="trade")
    with pytest.warns(dstbench.DstbenchWarning, match="left out"):
        assert dstbench.score(pred, gold=gold, metrics="jga", profile="mwzeval")["value"].item() == 1
    with pytest.warns(dstbench.DstbenchWarning, match="counted as wrong"):
        assert dstbench.score(pred, gold=gold, metrics="jga", profile="mwzeval", missing="wrong")["value"].item() == 0.5


def test_a_profiles_own_metrics_are_the_default() -> None:
    states = [{"dialogue_id": "D", "turn": 0, "gold": {AREA: "north"}, "pred": {}}]
    assert dstbench.score(states, profile="mwzeval")["metric"].to_list() == ["jga", "f1:avg=micro:empty=0"]
    assert dstbench.score(states, profile="mwzeval", metrics="rsa")["metric"].to_list() == ["rsa"]


def test_variants_and_overrides() -> None:
    assert profile("trade") is PROFILES["trade@faithful"]
    assert profile("trade@fixed", dontcare="keep") is PROFILES["trade@fixed"]  # as it is anyway
    assert profile("trade@fixed", dontcare="drop").name == "trade@fixed.1+"
    with pytest.raises(dstbench.UsageError, match="kim2022 has no variants"):
        profile("kim2022@fixed")
    with pytest.raises(dstbench.UsageError, match="a convention has no 'color'"):
        profile("trade", color="red")
    with pytest.raises(dstbench.UsageError, match="dontcare='no' is none of keep, drop"):
        profile("trade", dontcare="no")
    with pytest.raises(dstbench.UsageError, match=r"no normalising step 'cases'\nhint: did you mean case"):
        profile("trade", gold_steps=("cases",))
    with pytest.raises(dstbench.UsageError, match="no slot set 'multiwoz'\nhint: did you mean multiwoz"):
        profile("trade", slots="multiwoz")


SPELLINGS = ("day", "book day", "bookday")
MONDAY = {"dialogue_id": "D", "turn": 0}


def _jga(states: Any, name: str) -> float:
    return float(dstbench.score(states, profile=name, metrics="jga")["value"].item())


@pytest.mark.again
@pytest.mark.parametrize("gold", SPELLINGS[:2])
@pytest.mark.parametrize("pred", SPELLINGS)
def test_mwzeval_takes_booking_slots_as_files_spell_them(gold: str, pred: str, here: Path) -> None:
    """In every way that states come in: from memory, from a long table, with gold of its own, in an `Evaluator`."""
    sides = {"gold": {f"hotel-{gold}": "monday"}, "pred": {f"hotel-{pred}": "monday"}}
    wanted = float(("book" in gold) == ("book" in pred))
    (run,) = dstbench.open_runs([MONDAY | sides])
    dstbench.write_long(run, "run.parquet")
    golds = [MONDAY | {"gold": sides["gold"]}]
    evaluator = dstbench.Evaluator(golds, metrics="jga", profile="mwzeval")
    evaluator.add("D", 0, sides["pred"])
    assert evaluator.compute() == {"jga": wanted}
    for data in ([MONDAY | sides], run, "run.parquet"):
        assert _jga(data, "mwzeval") == wanted
        assert _jga(data, "mwzeval@mapped") == _jga(data, "verbatim") == 1
        swept = dstbench.sweep(data, metrics="jga", profiles=["verbatim", "mwzeval"])
        assert dict(swept.select("profile", "value").rows()) == {"verbatim": 1, "mwzeval": wanted}
    rows = dstbench.score("run.parquet", gold=golds, profile="mwzeval", metrics="jga")
    assert rows["value"].item() == wanted
    counts = dstbench.turns(run, profile="mwzeval").select("n_gold", "n_pred", "n_correct", "n_union").row(0)
    assert counts == ((1, 1, 1, 1) if wanted else (1, 1, 0, 2))


def test_mwzeval_refuses_a_file_that_spells_a_booking_slot_in_both_ways() -> None:
    states = [
        MONDAY | {"turn": turn, "gold": {"hotel-book day": "monday"}, "pred": {name: "monday"}}
        for turn, name in enumerate(("hotel-day", "hotel-book day"))
    ]
    assert _jga(states, "mwzeval@mapped") == 1
    with pytest.raises(dstbench.DstbenchError, match="hotel-book day is spelled both with `book` and without"):
        _jga(states, "mwzeval")
    with pytest.warns(dstbench.DstbenchWarning, match="not tried: mwzeval .hotel-book day is spelled both"):
        assert dstbench.sweep(states, metrics="jga", profiles=["verbatim", "mwzeval"])["profile"].item() == "verbatim"
