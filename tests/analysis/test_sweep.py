"""Sweeps over conventions, and sanity checks of runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import dstbench
from dstbench.conventions.profiles import PROFILES, suits
from dstbench.demo import synthetic
from tests.corpora import EXAMPLE, States, corpora

pytestmark = pytest.mark.filterwarnings("ignore:.*left out .*trippy:dstbench.errors.DstbenchWarning")


@pytest.mark.filterwarnings(
    "ignore:.*(alternatives|wrong by spelling|are not in dstc10):dstbench.errors.DstbenchWarning"
)
@given(corpora())
@settings(max_examples=5)  # each of them under every profile, twice
def test_a_sweep_is_every_profiles_own_score(states: States) -> None:
    rows = dstbench.sweep(states, metrics="jga,sa")
    listed = frozenset(slot for s in states for slot, value in s["gold"].items() if value not in ("none", ""))
    wanted = sorted(name for name, convention in PROFILES.items() if suits(convention, listed) is None)
    assert rows["profile"].unique().sort().to_list() == wanted
    for name, value, signature in rows.filter(metric="jga").select("profile", "value", "signature").iter_rows():
        alone = dstbench.score(states, metrics="jga", profile=name, missing="error")
        assert (alone["value"].item(), alone["signature"].item()) == (value, signature)
    leading = rows.filter(metric="jga")["value"].drop_nulls().to_list()
    assert leading == sorted(leading, reverse=True)


def test_what_changed_is_told_from_line_to_line() -> None:
    states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-stars": "4", "hotel-area": "dontcare"},
               "pred": {"hotel-stars": "4"}}]  # fmt: skip
    rows = dstbench.sweep(states, profiles=["verbatim", "simpletod-v0", "kim2022"])
    assert rows.select("profile", "value").rows() == [("simpletod-v0", 1.0), ("verbatim", 0.0), ("kim2022", 0.0)]
    assert rows["changed"][0] == ""
    assert "dontcare drop → keep" in rows["changed"][1]
    assert rows["changed"][2] == "slots - → multiwoz-30"


def test_profiles_that_do_not_suit_are_said() -> None:
    states = [{"dialogue_id": "1_0", "turn": 0, "gold": {"Hotels_1-city": "x"}, "pred": {}}]
    with pytest.warns(dstbench.DstbenchWarning, match="is MultiWOZ's"):
        table = dstbench.scan(states)
    with pytest.warns(dstbench.DstbenchWarning) as caught:
        rows = dstbench.sweep(table)
    told = "".join(str(warning.message) for warning in caught)
    assert "left out kim2022, " in told
    assert " (it is for MultiWOZ)" in told
    assert "sgd" in rows["profile"].to_list()
    with pytest.raises(dstbench.UsageError, match="no profile suits"), pytest.warns(dstbench.DstbenchWarning):
        dstbench.sweep(table, profiles=["kim2022"])
    with pytest.raises(dstbench.UsageError, match="no metric to compute"):
        dstbench.sweep(table, metrics=[])


def statuses(data: Any, **options: Any) -> dict[str, str]:
    return dict(dstbench.check(data, **options).select("check", "status").iter_rows())


def test_a_sound_run_passes() -> None:
    found = statuses({"careful": synthetic(100)["careful"]})
    assert set(found.values()) <= {"ok", "note"}
    for name in ("gold against gold", "coverage", "cumulative states", "slots predicted that gold never has"):
        assert found[name] == "ok"


def test_gold_against_gold_fails_where_the_sides_are_treated_differently() -> None:
    states = [{**EXAMPLE[0], "pred": EXAMPLE[0]["gold"]}]  # hotel-stars is dontcare
    assert statuses(states)["gold against gold"] == "ok"
    rows = dstbench.check(states, profile="mwzeval")
    assert rows.row(0)[2] == "fail"
    assert "jga 0.00" in rows.row(0)[3]


def test_turn_level_states_are_found() -> None:
    gold: dict[str, str] = {}
    states = []
    for turn, slot in enumerate(("hotel-area", "hotel-name", "hotel-stars", "hotel-type")):
        gold = {**gold, slot: "x"}
        states.append({"dialogue_id": "D", "turn": turn, "gold": gold, "pred": {slot: "x"}})
    rows = dstbench.check(states).filter(check="cumulative states")
    assert rows["status"].item() == "fail"
    assert "100.00 % of predicted slots" in rows["found"].item()
    assert statuses([{**s, "pred": s["gold"]} for s in states])["cumulative states"] == "ok"


def test_names_values_and_spellings_are_compared() -> None:
    states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "centre", "hotel-type": "a|b", "hotel-stars": "4"},
               "pred": {"hotel-area": "Centre ", "hotel-book day": "monday", "hotel-type": "c"}}]  # fmt: skip
    rows = {name: (status, found) for _, name, status, found, *_ in dstbench.check(states).iter_rows()}
    assert rows["gold's first alternative"][0] == "fail"
    assert rows["gold's first alternative"][1].endswith("; --multi any gives jga 100.00")
    assert rows["slots predicted that gold never has"] == ("warn", "hotel-book day (1 turns)")
    assert rows["slots of gold that are never predicted"] == ("warn", "hotel-stars (1 turns)")
    assert rows["wrong by spelling only"] == ("warn", "hotel-area: 'centre' / 'Centre ' (1 turns)")
    assert rows["gold with alternatives"] == ("note", "hotel-type = 'a|b' (1 turns)")
    assert "hotel-type = 'c' (1 turns)" in rows["values outside gold's values"][1]


def test_an_ontology_says_which_values_there_are(here: Path) -> None:
    Path("ontology.json").write_text(json.dumps({"hotel-semi-area": ["north"]}))
    states = [
        {"dialogue_id": "D", "turn": t, "gold": {"hotel-area": "east"}, "pred": {"hotel-area": "east"}} for t in (0, 1)
    ]
    rows = dstbench.check(states, ontology="ontology.json").filter(check="values outside the ontology")
    assert rows.select("status", "found").row(0) == ("note", "hotel-area = 'east' (2 turns)")
    Path("ontology.json").write_text(json.dumps({"hotel-semi-area": 3}))
    with pytest.raises(dstbench.DstbenchError, match="no ontology"):
        dstbench.check(states, ontology="ontology.json")


def test_floors_are_those_of_the_baselines_themselves() -> None:
    states = [
        {"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {}},
        {"dialogue_id": "D", "turn": 1, "gold": {"hotel-area": "north"}, "pred": {}},
        {"dialogue_id": "E", "turn": 0, "gold": {}, "pred": {}},
    ]
    rows = {name: (status, found) for _, name, status, found, *_ in dstbench.check(states).iter_rows()}
    assert rows["floor: an empty prediction"][0] == "warn"
    assert rows["floor: an empty prediction"][1].startswith("jga 33.33 (this run 33.33)")
    assert rows["floor: gold of the turn before"][1].startswith("jga 66.67 (this run 33.33)")


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_coverage_is_told() -> None:
    gold = [{k: s[k] for k in ("dialogue_id", "turn", "gold")} for s in EXAMPLE]
    rows = dstbench.check([EXAMPLE[0]], gold=gold).filter(check="coverage")
    assert rows["status"].item() == "warn"
    assert "1 missing turns (--missing wrong)" in rows["found"].item()
