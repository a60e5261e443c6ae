"""Pairs of turns alike in what is said: each is one, and none is better, by plain loops."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Any
from unittest.mock import patch

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from dstbench.audit import missing_tables
from dstbench.audit.mentions import CANONICAL
from dstbench.audit.rules import WORD
from dstbench.rendering.tables import render
from tests.audit.test_missing_annotations import hotels
from tests.planted import consistent, find, take_out

Mention = dict[str, Any]


def words(state: dict[str, Any]) -> set[str]:
    return {word.lower() for who in ("system", "user") for word in re.findall(WORD, state.get(who) or "")}


def alike(one: Mention, other: Mention) -> bool:
    same = all(one[name] == other[name] for name in ("slot", "speaker", "rule"))
    return same and one["dialogue"] != other["dialogue"]


def same_mention(one: Mention, other: Mention) -> bool:
    names = ("dialogue", "turn", "slot", "speaker", "rule")
    return all(one[name] == other[name] for name in names) and (
        CANONICAL(one["slot"], one["value"]) == CANONICAL(one["slot"], other["value"])
    )


def score(one: Mention, other: Mention, states: dict[Any, dict[str, Any]], often: Counter[Any]) -> tuple[Any, ...]:
    """What is more alike is larger."""
    first, second = (words(states[mention["dialogue"], mention["turn"]]) for mention in (one, other))
    is_same = CANONICAL(one["slot"], one["value"]) == CANONICAL(other["slot"], other["value"])
    place = tuple(one[name] for name in ("slot", "speaker", "rule"))
    return is_same, often[place], [-ord(c) for c in "".join(place)], len(first & second) / len(first | second)


@settings(max_examples=2)
@given(st.integers(0, 10**6), st.sampled_from([20, 60]), st.sampled_from([0.1, 0.4]))
def test_every_pair_is_one_and_the_most_similar_of_its_slot(seed: int, dialogues: int, gone: float) -> None:
    states, _ = take_out(consistent(dialogues, seed), gone, seed)
    with patch.object(missing_tables, "_COMPARED", 1000):  # all are compared, as below
        found = find(states, support=2)
    at = {(state["dialogue_id"], state["turn"]): state for state in states}
    candidates = found.candidates.filter(pl.col("rule").is_not_null()).to_dicts()
    by_user = {
        (c["dialogue"], c["turn"], c["slot"])
        for c in candidates
        if c["decision"] == "annotated" and c["speaker"] == "user"
    }
    missing: dict[str, list[Mention]] = defaultdict(list)
    annotated: dict[str, list[Mention]] = defaultdict(list)
    for c in candidates:
        if c["decision"] == "added":
            missing[c["slot"]].append(c)
        elif c["decision"] == "annotated" and (
            c["speaker"] == "user" or (c["dialogue"], c["turn"], c["slot"]) not in by_user
        ):
            annotated[c["slot"]].append(c)
    often = Counter((c["slot"], c["speaker"], c["rule"]) for listed in missing.values() for c in listed)
    best = {}
    for slot, listed in missing.items():
        scores = [score(one, o, at, often) for one in listed for o in annotated[slot] if alike(one, o)]
        if scores:
            best[slot] = max(scores)
    pairs = {pair["slot"]: pair for pair in found.pairs.iter_rows(named=True)}
    assert set(pairs) == set(best)
    for slot, pair in pairs.items():
        one, other = (
            {name: pair[name] for name in ("slot", "speaker", "rule")}
            | {name.removeprefix(f"{which}_"): pair[name] for name in pair if name.startswith(f"{which}_")}
            for which in ("missing", "annotated")
        )
        assert alike(one, other)
        assert score(one, other, at, often) == best[slot]
        assert pair["common"] == best[slot][-1]
        assert pair["missing"] == len(missing[slot])
        for mention in (one, other):
            state = at[mention["dialogue"], mention["turn"]]
            assert (state["system"], state["user"]) == (mention["system"], mention["user"])
            assert mention["gold"] == state["gold"].get(slot)
            said = {(c["start"], c["end"], c["said"]) for c in candidates if same_mention(c, mention)}
            place = mention["start"], mention["end"]
            assert (*place, mention[pair["speaker"]][slice(*place)]) in said
        added = found.proposals.filter(dialogue=one["dialogue"], turn=one["turn"], slot=slot)
        assert added.select("value", "speaker", "rule").row(0) == (one["value"], pair["speaker"], pair["rule"])
        assert one["gold"] is None
        assert CANONICAL(slot, other["gold"]) == CANONICAL(slot, other["value"])
        before = at.get((other["dialogue"], other["turn"] - 1))
        assert before is None or before["gold"].get(slot) != other["gold"]
    order = [(-pair["missing"], pair["slot"]) for pair in found.pairs.iter_rows(named=True)]
    assert order == sorted(order)


def test_a_pair_as_it_is_shown() -> None:
    states = hotels(name=False)
    for state in states:
        if "hotel-name" in state["gold"]:
            state["gold"]["hotel-name"] = "The Ashley Hotel"
    states[1]["gold"]["hotel-name"] = states[2]["gold"]["hotel-name"] = "The Ashley Hotel|acorn house"
    found = find(states)
    assert found.pairs.select("missing_value", "annotated_value").rows() == [("The Ashley Hotel", "The Ashley Hotel")]
    text = render(found, "text", pairs=3)
    table = [re.split("   +", line.strip()) for line in text.partition("Alike in what is said")[2].splitlines()[2:]]
    # A value without alternatives goes before one with some (D0).
    assert table[0] == ["D11, turn 1", "D1, turn 1"]
    assert table[2:5] == [
        ["system: The >>Ashley Hotel<< is in the north."] * 2,
        ["user: yes please, with 4 stars"] * 2,
        ["gold: nothing", "gold: hotel-name = The Ashley Hotel"],
    ]
    assert "Alike" not in render(found, "text", pairs=0)


def test_neither_the_same_dialogue_nor_another_speaker_is_a_pair() -> None:
    """The most similar turn is of the same dialogue, the next one is annotated for what the user says in it."""
    states = hotels(name=False)
    for state in states[4:-3:3]:
        state["user"] = "fine, but it must have 4 stars"
    states[1]["user"] = "yes please, Ashley Hotel with 4 stars"
    again = {**states[-2], "turn": 3, "gold": {**states[-2]["gold"], "hotel-name": "ashley hotel"}}
    pairs = find([*states, again]).pairs
    assert pairs.select("speaker", "missing_dialogue", "annotated_dialogue").rows() == [("system", "D11", "D1")]
