"""Missing annotations: against plain loops, on a corpus from which some are taken out, by hand, and on real data."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from dstbench import audit
from dstbench.audit.evidence import PARTS, RARELY
from dstbench.audit.mentions import CANONICAL
from dstbench.audit.rules import WORD
from dstbench.conventions.normalise import alternatives, spellings, tells_slot
from tests.planted import ONTOLOGY, Planted, States, consistent, find, memory, said, take_out

# --- plain loops ---------------------------------------------------------------------------------------------------


def patterns(values: Mapping[str, Any]) -> dict[tuple[str, ...], set[tuple[str, str]]]:
    """Words of a spelling to the slots and values that they tell."""
    found = defaultdict(set)
    for slot, listed in values.items():
        for written in (part for value in listed for part in alternatives(value)):
            value = CANONICAL(slot, written)
            for text in (written, *spellings(slot, value)) if tells_slot(value) else ():
                found[tuple(re.findall(WORD, text.lower()))].add((slot, value))
    found.pop((), None)
    return found


def search(words: list[str], known: Mapping[tuple[str, ...], Any]) -> Iterator[tuple[int, int]]:
    """First word and number of words of each place; the longest that begins there."""
    at = 0
    while at < len(words):
        count = max((n for n in range(1, len(words) - at + 1) if tuple(words[at : at + n]) in known), default=0)
        if count:
            yield at, count
        at += count or 1


Where = tuple[str, int, str]  # dialogue, turn, slot


def mentions_of(states: States, known: Mapping[tuple[str, ...], Any]) -> list[dict[str, Any]]:
    """A row per place and slot, with what may be alike in such places."""
    found = []
    for state in states:
        said = {who: [w.lower() for w in re.findall(WORD, state.get(who) or "")] for who in ("user", "system")}
        for who, words in said.items():
            for at, count in search(words, known):
                for slot, value in sorted(known[tuple(words[at : at + count])]):
                    before = words[at - 1] if at else None
                    reply = said["user"][0] if said["user"] else None
                    place = (state["dialogue_id"], state["turn"], who, at)
                    row = {"place": place, "slot": slot, "value": value, "who": who, "at": at}
                    found.append(row | {"cue": before if who == "user" else reply})
    return found


def oracle(states: States, values: Mapping[str, Any], support: int, at_least: float) -> dict[Where, tuple[Any, ...]]:
    """(dialogue, turn, slot) → (value, speaker, annotated, mentions, turns, round) of all that is missing."""
    dialogues: dict[str, list[dict[str, str]]] = defaultdict(list)
    for state in states:
        dialogues[state["dialogue_id"]].append({s: CANONICAL(s, v) for s, v in state["gold"].items()})
    rows, found = mentions_of(states, patterns(values)), {}
    for number in range(1, 100):
        missing = one_round(rows, dialogues, support, at_least)
        held = extents(missing, dialogues)
        if not held:
            break
        for (name, turn, slot), (row, length) in held.items():
            for state in dialogues[name][turn : turn + length]:
                assert slot not in state
                state[slot] = row["value"]
            evidence = (row["value"], row["who"], *row["evidence"])
            found[name, turn, slot] = (*evidence, length, number)
    return found


def one_round(
    rows: list[dict[str, Any]], dialogues: dict[str, list[dict[str, str]]], support: int, at_least: float
) -> dict[Where, dict[str, Any]]:
    could = []
    for row in rows:
        name, turn, *_ = row["place"]
        domain, slot, states = row["slot"].split("-")[0], row["slot"], dialogues[name]
        now, was = states[turn], states[turn - 1] if turn else {}
        others = {s for s in now if s.startswith(f"{domain}-") and s != slot}
        moved = [changes(states, t, domain) for t in (turn - 1, turn, turn + 1)]
        focus = (
            "now" if moved[1] - {slot}
            else "between" if moved[0] and moved[2]
            else "before" if moved[0]
            else "next" if moved[2]
            else "earlier" if others
            else None
        )  # fmt: skip
        row["is_annotated"] = now.get(slot) == row["value"]
        row["is_set"] = row["is_annotated"] and was.get(slot) != now[slot]
        row["focus"], row["empty"], row["evidence"] = focus, slot not in now, None
        if focus and (slot not in was or (slot not in now and was[slot] != row["value"])):
            could.append(row)
    counts: Counter[Any] = Counter()
    hits: Counter[Any] = Counter()
    for row in could:
        for key in keys(row):
            for counted in (key, (key, row["place"][0])):
                counts[counted] += 1
                hits[counted] += row["is_annotated"]
    best: dict[Where, dict[str, Any]] = {}
    for row in could:
        for key in keys(row)[:-1]:
            own = (key, row["place"][0])
            if counts[key] - counts[own] >= support:
                row["evidence"] = hits[key] - hits[own], counts[key] - counts[own]
                break
    taken = set()
    for place, slot in {(row["place"][:2], row["slot"]) for row in rows if row["is_set"]}:
        said_here = [r for r in rows if r["is_set"] and (r["place"][:2], r["slot"]) == (place, slot)]
        most = max(share(row, -1) for row in said_here)
        taken |= {row["place"] for row in said_here if share(row, -1) == most}
    for place in {row["place"] for row in could} - taken:
        here = [row for row in rows if row["place"] == place]
        candidates = [
            row
            for row in here
            if row in could and row["empty"] and row["evidence"]
            and share(row, 0) >= at_least
            and not (counts[keys(row)[-1]] > support and hits[keys(row)[-1]] / counts[keys(row)[-1]] < RARELY)
        ]  # fmt: skip
        most = max((share(row, 0) for row in candidates), default=0)
        alike = [row for row in candidates if share(row, 0) == most]
        for row in alike if len(alike) == 1 else []:
            where = (place[0], place[1], row["slot"])
            if where not in best or rank(row) > rank(best[where]):
                best[where] = row
    return best


def keys(row: dict[str, Any]) -> list[Any]:
    """Such places, the most particular first; and last the words alone."""
    of = [(*(row[part] for part in parts), row["slot"], row["who"], parts) for parts in PARTS]
    return [*of, (row["value"], row["slot"], row["who"])]


def changes(states: list[dict[str, str]], turn: int, domain: str) -> set[str]:
    if not 0 <= turn < len(states):
        return set()
    was = states[turn - 1] if turn else {}
    return {s for s, v in states[turn].items() if s.startswith(f"{domain}-") and was.get(s) != v}


def share(row: dict[str, Any], unknown: float) -> float:
    return float(row["evidence"][0] / row["evidence"][1]) if row["evidence"] else unknown


def rank(row: dict[str, Any]) -> tuple[bool, float, int]:
    return row["who"] == "user", share(row, 0), row["at"]


def extents(
    missing: dict[Where, dict[str, Any]], dialogues: dict[str, list[dict[str, str]]]
) -> dict[Where, tuple[dict[str, Any], int]]:
    """In how many turns each holds: until gold has the slot, or another value is said; repetitions are left out."""
    held: dict[Where, tuple[dict[str, Any], int]] = {}
    for (name, turn, slot), row in sorted(missing.items()):
        states = dialogues[name]
        end = next((t for t in range(turn + 1, len(states)) if slot in states[t]), len(states))
        open_ones = [w for w, (_, n) in held.items() if w[0] == name and w[2] == slot and w[1] + n == end]
        if open_ones:
            last, _ = held[open_ones[-1]]
            if last["value"] == row["value"]:
                continue
            held[open_ones[-1]] = last, turn - open_ones[-1][1]
        held[name, turn, slot] = row, end - turn
    return held


WORDS = ("north", "pizza", "hut", "city", "centre", "4", "four", "the", "17:05", "St", "john", "'s", ",")


@pytest.fixture(scope="module")
def similar_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rules that judge no slot: all is judged by similar places."""
    rules = json.loads(Path(audit.__file__).with_name("rules.json").read_text(encoding="utf-8"))
    path = tmp_path_factory.mktemp("rules") / "rules.json"
    path.write_text(json.dumps({**rules, "names": "no slot", "cues": {}}), encoding="utf-8")
    return path


@settings(max_examples=3)
@given(
    st.integers(0, 10**6),
    st.sampled_from([20, 50, 80]),
    st.sampled_from([0.1, 0.3]),
    st.sampled_from([1, 3]),
    st.sampled_from([0.3, 0.5, 1.0]),
)
def test_all_that_is_found_by_plain_loops(
    similar_only: Path, seed: int, dialogues: int, gone: float, support: int, at_least: float
) -> None:
    states, _ = take_out(consistent(dialogues, seed), gone, seed)
    found = find(states, support=support, at_least=at_least, rules=similar_only).proposals
    columns = ["dialogue", "turn", "slot", "value", "speaker", "annotated", "mentions", "turns", "round"]
    mine = {
        (dialogue, turn, slot): (CANONICAL(slot, value), *rest)
        for dialogue, turn, slot, value, *rest in found.select(columns).iter_rows()
    }
    assert mine == oracle(states, ONTOLOGY, support, at_least)


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


# --- real data -----------------------------------------------------------------------------------------------------
