"""Values that nobody has said: counted like a plain search through every dialogue, and beside the metrics."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.audit import memorisation
from dstbench.audit.word_tables import MEMORISED, MEMORISED_RUNS, UNGROUNDED
from dstbench.audit.wording import WHOLE, said_pattern
from tests import formats
from tests.test_cli import run
from tests.test_rewriting import read_states

VALUES = ("ely", "bishops stortford", "3", "09:15", "yes", "dontcare", "none", "", "ely|rye", "rye")
WORDS = ("ely", "Ely!", "rely", "bishops", "stortford", "three", "9:15 am", "yes", "rye", "3")

Spoken = list[tuple[str, int, str | None, str | None]]


def contexts(rows: Spoken) -> pl.DataFrame:
    schema = {"dialogue": pl.String, "turn": pl.UInt16, "system": pl.String, "user": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def heard(value: str, texts: list[str]) -> bool:
    """Whether one of the alternatives is in one of the texts, by a loop."""
    parts = [part for part in value.split("|") if part not in ("", "yes", "dontcare", "none")]
    return any(re.search(WHOLE.format(said_pattern(part)), text.replace(" -", "-")) for part in parts for text in texts)


def ungrounded(states: list[dict[str, Any]], said: Spoken) -> Counter[tuple[str, str, str]]:
    """How often (slot, kind, value) is wrong or over-predicted and has not been said, by loops."""
    found: Counter[tuple[str, str, str]] = Counter()
    absent = (None, "", "none")
    for state in states:
        texts = [
            text
            for dialogue, turn, *both in said
            if dialogue == state["dialogue_id"] and turn <= state["turn"]
            for text in both
            if text
        ]
        for slot, value in state["pred"].items():
            gold = state["gold"].get(slot)
            if value in (*absent, gold, "yes", "dontcare") or heard(value, texts):
                continue
            found[slot, "over" if gold in absent else "wrong", value] += 1
    return found


slots_of_a_turn = st.dictionaries(st.sampled_from(("train-day", "hotel-name")), st.sampled_from(VALUES))
texts_of_a_turn = st.one_of(st.none(), st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join))


@pytest.mark.filterwarnings("ignore:.*gold lists alternatives:dstbench.errors.DstbenchWarning")
@given(st.lists(st.lists(st.tuples(slots_of_a_turn, slots_of_a_turn, texts_of_a_turn, texts_of_a_turn), min_size=1,
                         max_size=4), min_size=1, max_size=4))  # fmt: skip
def test_it_finds_what_a_plain_search_finds(dialogues: list[list[tuple[Any, ...]]]) -> None:
    states, said = [], []
    for number, turns in enumerate(dialogues):
        for turn, (gold, pred, system, user) in enumerate(turns):
            states.append({"dialogue_id": f"D{number}", "turn": turn, "gold": gold, "pred": pred})
            said.append((f"D{number}", turn, system, user))
    found = memorisation(states, context=contexts(said), most=1000)
    wanted = ungrounded(states, said)
    assert {row[:3]: row[3] for row in found.examples.select("slot", "kind", "value", "turns").rows()} == wanted
    by_slot: Counter[tuple[str, str]] = Counter()
    for (slot, kind, _), n in wanted.items():
        by_slot[slot, kind] += n
    counted = found.slots.filter(pl.col("ungrounded") > 0).select("slot", "kind", "ungrounded").rows()
    assert {row[:2]: row[2] for row in counted} == by_slot
    metrics = dstbench.score(states, metrics="wrong,over")["value"].to_list()
    assert found.runs["n"].to_list() == metrics
    assert found.runs["ungrounded"].to_list() == [
        sum(n for (_, kind, _), n in wanted.items() if kind == asked) for asked in ("wrong", "over")
    ]
    for frame, shape in ((found.runs, MEMORISED_RUNS), (found.slots, MEMORISED), (found.examples, UNGROUNDED)):
        assert frame.schema == shape.schema


def test_what_training_has_and_has_most(here: Path) -> None:
    said = contexts([("D", 0, None, "a train please"), ("D", 1, "to ely ?", "yes")])
    states = [
        {"dialogue_id": "D", "turn": 0, "gold": {}, "pred": {"train-destination": "ely", "train-departure": "Rye"}},
        {"dialogue_id": "D", "turn": 1, "gold": {}, "pred": {"train-destination": "ely", "train-departure": "Rye"}},
    ]
    train = [
        {"dialogue_id": "T", "turn": turn, "gold": {"train-destination": value, "train-departure": "york|rye"}}
        for turn, value in enumerate(("ely", "Ely", "ely", "oslo", "dontcare", "dontcare", "dontcare", "dontcare"))
    ]
    Path("train.json").write_text(json.dumps([{**state, "pred": {}} for state in train]))
    found = memorisation(states, context=said, train="train.json")
    columns = ("slot", "n", "ungrounded", "in_train", "is_frequent", "share", "frequent")
    assert found.slots.select(columns).rows() == [
        ("train-departure", 2, 2, 2, 2, 1.0, "rye"),  # as often as york, and before it
        ("train-destination", 2, 1, 1, 1, 1.0, "ely"),
    ]
    assert found.examples.select("value", "turns", "dialogues", "in_train", "dialogue", "turn", "gold").rows() == [
        ("Rye", 2, 1, 8, "D", 0, None),
        ("ely", 1, 1, 3, "D", 0, None),
    ]
    without = memorisation(states, context=said)
    assert without.slots.select("in_train", "is_frequent", "share", "frequent").null_count().row(0) == (2,) * 4


def test_turns_without_words_are_not_looked_for() -> None:
    states = [
        {"dialogue_id": dialogue, "turn": 0, "gold": {}, "pred": {"train-destination": "ely"}} for dialogue in "DE"
    ]
    with pytest.warns(dstbench.DstbenchWarning, match="1 of 2 wrong values stand in turns that the contexts do not"):
        found = memorisation(states, context=contexts([("D", 0, None, "hi")]))
    assert found.slots.select("n", "searched", "ungrounded").rows() == [(2, 1, 1)]
    with pytest.raises(dstbench.DstbenchError, match=r"2 of 2 wrong values stand in turns.*\nhint: --context names"):
        memorisation(states, context=contexts([("F", 0, None, "hi")]))
    with pytest.raises(dstbench.UsageError, match="contexts without the column turn, system, user"):
        memorisation(states, context=pl.DataFrame({"dialogue": ["D"]}))
    with pytest.raises(dstbench.UsageError, match="most=-1 is no number of values"):
        memorisation(states, context=contexts([]), most=-1)


def test_a_convention_says_what_is_wrong() -> None:
    said = contexts([("D", 0, None, "hi")])
    states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-name": "the bell"}, "pred": {"hotel-name": "the bel"}}]
    assert memorisation(states, context=said).runs["ungrounded"].to_list() == [1, 0]
    fuzzy = memorisation(states, context=said, profile=dstbench.profile("verbatim", match="levenshtein:above=0.8"))
    assert fuzzy.runs["n"].to_list() == [0, 0]
    assert fuzzy.examples.is_empty()


def test_the_command(here: Path) -> None:
    Path("p.json").write_text(formats.gtpr())
    Path("gold.tsv").write_text(formats.star_tsv())
    words = ("audit", "memorisation", "p.json", "--context", "gold.tsv", "--train", "gold.tsv")
    code, out, err = run(*words, "--format", "json")
    assert (code, err) == (0, "")
    shown = json.loads(out)
    assert [row["slot"] for row in shown["slots"]] == ["train-leaveat"]
    assert shown["runs"][0]["ungrounded"] == 1
    assert shown["examples"][0]["value"] == "11:30"
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert "The most frequent of them" in out
    assert "signature: wrong+over|profile:verbatim.1" in out
    code, out, err = run("audit", "memorisation", "p.json", "--context", "p.json")
    assert (code, out) == (1, "")
    assert err.startswith("error: p.json: files of format gtpr hold no utterances\nhint: ")


def test_real_predictions_like_a_plain_search(data: Path) -> None:
    path = data / "predictions" / "gca_t5_train" / "ratio_0.01_seed_557_prediction.json"
    context, train = data / "multiwoz21" / "test.tsv", data / "multiwoz21" / "train.tsv.gz"
    found = memorisation(path, context=context, train=train, most=10_000)
    table = dstbench.scan(path).drop_nulls("slot").collect()
    turns: dict[tuple[str, int], dict[str, Any]] = {}
    for dialogue, turn, slot, gold, pred in table.drop("run").rows():
        state = turns.setdefault((dialogue, turn), {"dialogue_id": dialogue, "turn": turn, "gold": {}, "pred": {}})
        for side, value in (("gold", gold), ("pred", pred)):
            if value is not None:
                state[side][slot] = value
    wrong = [state for state in turns.values() if state["gold"] != state["pred"]]
    of_dialogue: dict[str, Spoken] = {}
    for row in dstbench.contexts(context).rows():
        of_dialogue.setdefault(row[0], []).append(row)
    wanted: Counter[tuple[str, str, str]] = Counter()
    for state in wrong:
        wanted += ungrounded([state], of_dialogue[state["dialogue_id"]])
    assert {row[:3]: row[3] for row in found.examples.select("slot", "kind", "value", "turns").rows()} == wanted
    counts = Counter(value for (_, _, slot), value in read_states(train).items() if slot == "train-destination")
    assert found.slots.filter(slot="train-destination")["frequent"].unique().to_list() == [counts.most_common(1)[0][0]]
    assert counts.most_common(1) == [("cambridge", 8006)]  # of 16,021 in STAR's file
