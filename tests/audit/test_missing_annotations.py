"""Missing annotations: on a corpus from which some are taken out, and by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dstbench
from dstbench import audit
from tests.planted import Planted, States, consistent, find, memory, said, take_out


@pytest.fixture(scope="module")
def similar_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rules that judge no slot: all is judged by similar places."""
    rules = json.loads(Path(audit.__file__).with_name("rules.json").read_text(encoding="utf-8"))
    path = tmp_path_factory.mktemp("rules") / "rules.json"
    path.write_text(json.dumps({**rules, "names": "no slot", "cues": {}}), encoding="utf-8")
    return path


# --- a corpus from which annotations are taken out -------------------------------------------------------------------


def scores(found: pl.DataFrame, gone: Planted) -> tuple[float, float]:
    mine = set(found.select("dialogue", "turn", "slot", "value").rows())
    return len(mine & gone) / len(mine), len(mine & gone) / len(gone)


@pytest.mark.parametrize(("seed", "share"), [(3, 0.2)])
def test_what_was_taken_out_is_found(seed: int, share: float, similar_only: Path) -> None:
    states, gone = take_out(consistent(900, seed), share, seed)
    precision, recall = scores(find(states, support=10, rules=similar_only).proposals, gone)
    assert len(gone) > 300
    assert precision >= 0.98
    assert recall >= 0.98


def test_a_consistent_corpus_has_nothing_missing() -> None:
    found = find(consistent(300, 4))
    assert found.proposals.is_empty()
    assert found.summary.select("dialogues", "missing", "rounds").row(0) == (300, 0, 0)
    assert found.rates["missing"].sum() == 0
    assert found.shares["share"].null_count() == found.shares.height


def test_rates_add_up() -> None:
    states, _ = take_out(consistent(200, 6), 0.2, 6)
    found = find(states)
    assert found.proposals.height == found.summary["missing"].item() == found.rates["missing"].sum() > 50
    by_slot = found.shares.group_by("slot", maintain_order=True).agg(pl.col("annotated", "missing").sum())
    assert by_slot.equals(found.rates.select("slot", "annotated", "missing"))
    late = found.proposals.filter(pl.col("later") == pl.col("value"))
    assert found.rates["late"].sum() == late.height == found.summary["late"].item()
    whole = found.shares.filter(pl.col("share").is_not_null()).group_by("slot").agg(pl.col("share").sum())
    assert whole["share"].to_list() == pytest.approx([1.0] * whole.height)


@pytest.mark.again
def test_similar_places_judge_on_request_and_only_domains_without_names() -> None:
    states, _ = take_out(consistent(200, 6), 0.2, 6)
    assert set(find(states).proposals["rule"]) >= {"name"}
    assert "similar" not in find(states).proposals["rule"]
    similar = find(states, support=10).proposals.filter(rule="similar")
    assert {slot.split("-")[0] for slot in similar["slot"]} == {"train"}


def test_data_without_names_are_not_judged_in_silence() -> None:
    states, _ = take_out(consistent(60, 6), 0.2, 6)
    for state in states:
        state["gold"] = {slot: value for slot, value in state["gold"].items() if slot.startswith("train-b")}
    unjudged = r"no rule judges train-book people, because no slot names places .*; `support` 10 judges them"
    with pytest.warns(dstbench.DstbenchWarning, match=unjudged):
        assert find(states).proposals.is_empty()
    assert find(states, support=5).candidates["rule"].drop_nulls().unique().to_list() in ([], ["similar"])


# --- by hand -------------------------------------------------------------------------------------------------------


def hotels(*, name: bool) -> States:
    """Twelve dialogues in which a hotel is offered and taken; in the last one only if `name`."""
    found: States = []
    for number in range(12):
        area = {"hotel-area": "north"}
        booked = area | {"hotel-stars": "4"} | ({"hotel-name": "ashley hotel"} if name or number < 11 else {})
        turns = [
            (None, "a hotel in the north please", area),
            ("The Ashley Hotel is in the north.", "yes please, with 4 stars", booked),
            ("ok , ashley hotel it is .", "thanks", booked),
        ]
        found += [
            {"dialogue_id": f"D{number}", "turn": t, "system": system, "user": user, "gold": dict(gold)}
            for t, (system, user, gold) in enumerate(turns)
        ]
    return found


@pytest.mark.again
def test_an_offer_that_is_taken_elsewhere(similar_only: Path) -> None:
    found = find(hotels(name=False), support=10, rules=similar_only)
    row = found.proposals.row(0, named=True)
    assert row == {
        "dialogue": "D11", "turn": 1, "slot": "hotel-name", "value": "ashley hotel", "turns": 2, "speaker": "system",
        "said": "Ashley Hotel", "start": 4, "end": 16, "utterance": "The Ashley Hotel is in the north.",
        "rule": "similar", "entity": None, "fact": None, "refused": None,
        "place": "when=now reply=yes", "annotated": 11, "mentions": 11, "share": 1.0,
        "later": None, "round": 1,
    }  # fmt: skip
    assert found.proposals.height == 1
    name = found.rates.filter(slot="hotel-name").row(0)
    assert name == ("hotel-name", 11, 1, 1 / 12, 0)
    assert found.modified.filter(slot="hotel-name").row(0) == (None, "hotel", "hotel-name", 1, 12, 1 / 12)
    assert found.shares.filter(slot="hotel-name")["share"].to_list() == [0.0, 1.0]
    assert find(hotels(name=True)).proposals.is_empty()
    assert find(hotels(name=False), support=12, rules=similar_only).proposals.is_empty()
    by_rule = find(hotels(name=False), support=12).proposals
    assert by_rule.select("dialogue", "turn", "slot", "rule", "annotated", "mentions").rows() == [
        ("D11", 1, "hotel-name", "name", 11, 11)
    ]


def test_a_kind_is_meant_if_the_user_does_not_care_later() -> None:
    """In no spelling does this say another kind; a guesthouse is one."""
    spelled = ("do not care", "dontcare", "don't care", "guesthouse")
    turns = {0: ("i want a hotel in the north", {"hotel-area": "north"}), 1: ("i do not mind the price", {})}
    states: States = [
        {"dialogue_id": f"D{n}", "turn": turn, "system": None, "user": user, "gold": {
            **gold, "hotel-area": "north", "hotel-name": "cityroomz",
            "hotel-type": "hotel" if n < 11 else spelled[n - 11],
        }}
        for n in range(15) for turn, (user, gold) in turns.items()
    ]  # fmt: skip
    for state in states[-8::2]:
        del state["gold"]["hotel-type"]
    found = find(states, support=1000)
    assert found.proposals.select("dialogue", "turn", "slot", "value", "later").rows() == [
        (f"D{11 + n}", 0, "hotel-type", "hotel", dontcare) for n, dontcare in enumerate(spelled[:3])
    ]


def test_values_are_written_as_gold_does() -> None:
    states = hotels(name=False)
    for state in states:
        if "hotel-name" in state["gold"]:
            state["gold"]["hotel-name"] = "The Ashley Hotel"
    assert find(states).proposals["value"].to_list() == ["The Ashley Hotel"]


def test_either_of_their_options_asks_for_similar_places() -> None:
    states = take_out(consistent(80, 1), 0.3, 1)[0]
    usual, often, mostly = (find(states, **options) for options in ({}, {"support": 10}, {"at_least": 0.5}))
    assert often.proposals.equals(mostly.proposals)
    assert often.proposals.height > usual.proposals.height


def test_what_cannot_be_meant_is_refused(here: Path) -> None:
    states = hotels(name=True)
    with pytest.raises(dstbench.UsageError, match=r"support=0, at_least=0\.5"):
        find(states, support=0)
    with pytest.raises(dstbench.UsageError, match=r"at_least=1\.5"):
        find(states, at_least=1.5)
    with pytest.raises(dstbench.DstbenchError, match="none of the dataset's slots"):
        find(states, ontology={"bus-day": ["monday"]})
    with pytest.raises(dstbench.UsageError, match="states in memory hold no utterances"):
        audit.inconsistency(memory(states))
    with pytest.raises(dstbench.DstbenchError, match="none of the turns has utterances"):
        audit.inconsistency(memory(states), said=said([{"dialogue_id": "X", "turn": 0, "user": "hm"}]))
    for signs in ("", " . "):
        silent = [{**state, "system": signs, "user": signs} for state in states]
        with pytest.raises(dstbench.DstbenchError, match="none of the turns has utterances"):
            audit.inconsistency(memory(states), said=said(silent))
    with pytest.warns(dstbench.DstbenchWarning, match=r"1 turns without utterances \(first: dialogue D11, turn 2\)"):
        audit.inconsistency(memory(states), said=said(states[:-1]))
    other = {"dialogue_id": "E", "turn": 0, "gold": {"bus-day": "monday"}, "user": "on monday"}
    Path("evidence.jsonl").write_text(json.dumps(other))
    choices: list[dict[str, Any]] = [{}, {"ontology": {"hotel-name": ["cityroomz"]}}, {"rules": "qian2021"}]
    for options in choices:
        with pytest.raises(dstbench.DstbenchError, match="evidence has none of the dataset's slots"):
            find(states, evidence="evidence.jsonl", **options)
    Path("empty.jsonl").write_text(json.dumps({**other, "gold": {}}))
    bare = [{**state, "gold": {}} for state in states]
    for options in choices:
        with pytest.raises(dstbench.DstbenchError, match="gold has no value in any turn"):
            find(bare, **options)
        with pytest.raises(dstbench.DstbenchError, match="gold has no value in any turn"):
            find(states, evidence="empty.jsonl", **options)
    Path("pred.jsonl").write_text(json.dumps({"dialogue_id": "D", "turn": 0, "pred": {}, "user": "hm"}))
    with pytest.raises(dstbench.DstbenchError, match="no gold inside"):
        audit.inconsistency("pred.jsonl")
