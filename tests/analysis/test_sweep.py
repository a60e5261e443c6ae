"""Sweeps over conventions, and sanity checks of runs."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from dstbench.conventions.profiles import PROFILES, suits
from dstbench.demo import synthetic
from dstbench.runs.open import open_runs
from tests.corpora import EXAMPLE, LARGE, States, corpora
from tests.schemas import schema

pytestmark = pytest.mark.filterwarnings("ignore:.*not tried.*trippy:dstbench.errors.DstbenchWarning")


@pytest.mark.again
@pytest.mark.filterwarnings(
    "ignore:.*(alternatives|fail on spelling|are not in dstc10|not scored under):dstbench.errors.DstbenchWarning"
)
@given(corpora(LARGE))
@settings(max_examples=3)  # each of them under every profile, twice
def test_a_sweep_is_every_profiles_own_score(states: States) -> None:
    rows = dstbench.sweep(states, metrics="jga,sa")
    listed = frozenset(slot for s in states for slot, value in s["gold"].items() if value not in ("none", ""))
    wanted = sorted(name for name, convention in PROFILES.items() if suits(convention, listed) is None)
    assert rows["profile"].unique().sort().to_list() == wanted
    opened = open_runs(states)
    for name, value, signature in rows.filter(metric="jga").select("profile", "value", "signature").iter_rows():
        alone = dstbench.score(opened, metrics="jga", profile=name)
        assert (alone["value"].item(), alone["signature"].item()) == (value, signature)
    leading = rows.filter(metric="jga")["value"].drop_nulls().to_list()
    assert leading == sorted(leading, reverse=True)


def test_what_changed_is_told_from_line_to_line() -> None:
    states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-stars": "4", "hotel-area": "dontcare"},
               "pred": {"hotel-stars": "4"}}]  # fmt: skip
    rows = dstbench.sweep(states, profiles=["verbatim", "simpletod-v0", "dstc10"])
    assert rows.select("profile", "value").rows() == [("simpletod-v0", 1.0), ("verbatim", 0.0), ("dstc10", 0.0)]
    assert rows["changed"][0] == ""
    assert "dontcare drop → keep" in rows["changed"][1]
    steps = "gold-steps +case +numbers, pred-steps +case +numbers"
    assert rows["changed"][2] == f"slots - → dstc10-19, none drop → keep, {steps}, multi literal → all"


TARGETS = ["target", "off", "agrees", "agrees_with_all", "by_chance"]


@given(
    corpora(),
    st.integers(0, 4),
    st.sampled_from(["{}", "{}%", " {} ", "{} %"]),
    st.sampled_from([".", ","]),
    st.integers(0, 9),
)
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_profiles_agree_with_the_scores_that_theirs_round_to(
    states: States, decimals: int, written: str, point: str, which: int
) -> None:
    words: dict[str, Any] = {"metrics": "jga,f1,missed", "profiles": ["verbatim", "star", "gca2024"]}
    rows = dstbench.sweep(states, **words)
    defined = rows.drop_nulls("value").filter(pl.col("unit") == "count", pl.col("value") >= 0)
    shares = rows.drop_nulls("value").filter(unit="share")
    chosen = shares.row(which % shares.height, named=True)
    number = f"{100 * chosen['value']:.{decimals}f}"
    if float(number) <= 1:
        written = "{}%"  # else it would be a fraction
    missed = round(defined["value"][which % defined.height])
    target = f"{chosen['metric']}={written.format(number.replace('.', point))},missed={missed}"
    with_target = dstbench.sweep(states, target=target, **words)
    assert with_target.drop(TARGETS).equals(rows)
    jsonschema.Draft202012Validator(schema("sweep_targets")).validate(with_target.to_dicts()[0])
    jsonschema.Draft202012Validator(schema("sweep")).validate(rows.to_dicts()[0])
    agrees: dict[str, list[bool]] = {}
    for row in with_target.iter_rows(named=True):
        if row["target"] is None or row["value"] is None:
            assert (row["off"], row["agrees"]) == (None, None)
            assert (row["target"] is None) == (row["metric"] not in (chosen["metric"], "missed"))
        elif row["unit"] == "count":
            assert row["agrees"] == (row["value"] == missed)
        else:
            distance = abs(Fraction(row["value"]) * 100 - Fraction(number))
            assert abs(row["off"]) == pytest.approx(float(distance) / 100, abs=1e-12)
            assert row["agrees"] or distance > Fraction(1, 2 * 10**decimals)
            assert not row["agrees"] or distance < Fraction(1, 2 * 10**decimals) + Fraction(1, 10**6)
        if row["target"] is not None:
            agrees.setdefault(row["profile"], []).append(bool(row["agrees"]))
    for profile, agrees_with_all in with_target.select("profile", "agrees_with_all").iter_rows():
        assert agrees_with_all == all(agrees[profile])


@pytest.mark.again
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_by_chance_is_the_mean_over_all_scores_that_may_be_published() -> None:
    """Every number of right turns from the lowest to the highest score, and every number of one decimal."""
    states = synthetic(6)["eager"]
    sweep = partial(dstbench.sweep, profiles=["convlab3-unified", "verbatim", "trade", "mwzeval@faithful"])
    scores = sweep(states)
    turns, percents = scores["turns"][0], [100 * value for value in scores["value"].to_list()]
    low, high = min(percents), max(percents)
    of_turns = [f"{100 * n / turns:.6f}" for n in range(turns + 1) if low <= 100 * n / turns + 1e-9 <= high + 2e-9]
    assert len(of_turns) > 2
    agree = [sweep(states, target=target)["agrees"].sum() for target in of_turns]
    by_chance = sweep(states, target=of_turns[0])["by_chance"]
    assert by_chance.unique().to_list() == pytest.approx([sum(agree) / len(of_turns)])
    units = [f"{n}" for n in range(101) if low - 0.5 <= n <= high + 0.5]
    unit = max(1, 100 / turns)
    by_chance = sweep(states, target=units[0])["by_chance"]
    assert by_chance[0] == pytest.approx(scores.height * unit / (high - low + unit))
    several = sweep(states, target=f"jga={units[0]},sa=90.00")
    alone = sweep(states, metrics="sa", target="90.00")["by_chance"][0]
    assert several["by_chance"].unique().to_list() == pytest.approx([min(by_chance[0], alone)])


@pytest.mark.parametrize(
    ("text", "share"),
    [("39.5", 0.395), ("39.5%", 0.395), ("0.395", 0.395), ("0.395%", 0.00395), (".395", 0.395), ("1", 0.01),
     ("1.0", 1.0), ("1.5", 0.015), ("100", 1.0), ("0", 0.0), ("39,5", 0.395)],
)  # fmt: skip
def test_a_score_is_read_as_what_it_says(text: str, share: float) -> None:
    row = dstbench.sweep(EXAMPLE, profiles=["star"], target=text).row(0, named=True)
    assert row["off"] == pytest.approx(row["value"] - share, abs=1e-12)


@pytest.mark.parametrize(
    "target",
    ["", ".", "x", "9 2", "92.1.5", "-5", "nan", "%", "240", "100.1", "39.5%%", "1e3", "24.0,91.2", "jga=", "jga=x",
     "jga=24.0,", "missed=3.5", "missed=3%", "9" * 99],
)  # fmt: skip
def test_a_target_that_is_no_score_is_refused(target: str) -> None:
    with pytest.raises(dstbench.UsageError, match="is not a score"):
        dstbench.sweep(EXAMPLE, target=target)


def test_profiles_that_do_not_suit_are_said() -> None:
    states = [{"dialogue_id": "1_0", "turn": 0, "gold": {"Hotels_1-city": "x"}, "pred": {}}]
    with pytest.warns(dstbench.DstbenchWarning, match="is MultiWOZ's"):
        table = dstbench.scan(states)
    with pytest.warns(dstbench.DstbenchWarning) as caught:
        rows = dstbench.sweep(table)
    told = "".join(str(warning.message) for warning in caught)
    assert "not tried: kim2022, " in told
    assert " (for MultiWOZ)" in told
    assert "sgd" in rows["profile"].to_list()
    with pytest.raises(dstbench.UsageError, match="no profile suits"), pytest.warns(dstbench.DstbenchWarning):
        dstbench.sweep(table, profiles=["kim2022"])
    with pytest.raises(dstbench.UsageError, match="no metric is named"):
        dstbench.sweep(table, metrics=[])


def statuses(data: Any, **options: Any) -> dict[str, str]:
    return dict(dstbench.check(data, **options).select("check", "status").iter_rows())


def test_a_sound_run_passes() -> None:
    found = statuses({"careful": synthetic(100)["careful"]})
    assert set(found.values()) <= {"ok", "note"}
    for name in ("gold against gold", "coverage", "cumulative states", "slots predicted that gold never has"):
        assert found[name] == "ok"


@pytest.mark.again
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


@pytest.mark.filterwarnings("ignore:.*gold never has:dstbench.errors.DstbenchWarning")
def test_names_values_and_spellings_are_compared() -> None:
    states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "centre", "hotel-type": "a|b", "hotel-stars": "4"},
               "pred": {"hotel-area": "Centre ", "hotel-book day": "monday", "hotel-type": "c"}}]  # fmt: skip
    rows = {name: (status, found) for _, name, status, found, *_ in dstbench.check(states).iter_rows()}
    assert rows["gold's first alternative"][0] == "fail"
    assert rows["gold's first alternative"][1].endswith("; --multi any gives jga 100.00")
    assert rows["slots predicted that gold never has"] == ("warn", "hotel-book day (1 turn)")
    assert rows["slots of gold that are never predicted"] == ("warn", "hotel-stars (1 turn)")
    assert rows["wrong by spelling only"] == ("warn", "hotel-area: 'centre' / 'Centre ' (1 turn)")
    assert rows["gold with alternatives"] == ("note", "hotel-type = 'a|b' (1 turn)")
    assert "hotel-type = 'c' (1 turn)" in rows["values outside gold's values"][1]


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
