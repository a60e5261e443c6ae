"""Values that nobody has said: counted like a plain search through every dialogue, and beside the metrics."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.audit import memorisation
from dstbench.audit.search import find_values
from dstbench.conventions.files import Table
from dstbench.conventions.normalise import NUMBERS, TYPOS
from tests.corpora import FEW
from tests.writers.test_rewrite import read_states

VALUES = (
    *("ely", "bishops stortford", "stortford of bishop", "guesthouse", "ely centre", "3", "09:15"),
    *("yes", "dontcare", "none", "", "ely|rye", "rye"),
)
SMALL = frozenset(["the", "a", "an", "of", "and", "in", "at", "on", "to", "by", "s", "called", "named"])
WORDS = (
    *("ely", "Ely!", "rely", "bishops", "stortford", "three", "9:15 am"),
    *("yes", "rye", "3", "guest", "house", "center", "the"),
)

Spoken = list[tuple[str, int, str | None, str | None]]


def contexts(rows: Spoken) -> pl.DataFrame:
    schema = {"dialogue": pl.String, "turn": pl.UInt16, "system": pl.String, "user": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def runs_of(words: list[str]) -> Iterator[list[str]]:
    return (words[start:end] for start in range(len(words)) for end in range(start + 1, len(words) + 1))


def stem(word: str) -> str:
    for pattern, put in ((r"(\w\w+)ies", r"\1y"), (r"(\w*(?:ch|sh|ss|x))es", r"\1"), (r"(\w\w+[^s])s", r"\1")):
        word = re.sub(f"^{pattern}$", put, word)
    return word


def in_one_spelling(words: list[str]) -> list[str]:
    """The typo table's phrases, digits and stems, without small words: the longest phrase first, from left to right."""
    phrases = {tuple(map(stem, words_of(old))): words_of(new) for old, new in {**NUMBERS, **TYPOS}.items()}
    phrases |= {("ten",): ["10"], ("eleven",): ["11"], ("twelve",): ["12"], ("st",): ["saint"]}
    phrases |= dict.fromkeys(
        (("b", "and", "b"), ("b", "b"), ("bnb",), ("bed", "breakfast")), words_of("bed and breakfast")
    )
    phrases |= {("central",): ["centre"], ("centrally",): ["centre"], ("catherine",): ["catharine"]}
    phrases |= {("portugese",): ["portuguese"], ("moderatly",): ["moderate"]}
    stems = [stem(word) for word in words]
    found: list[str] = []
    while stems:
        size = next((n for n in range(len(stems), 0, -1) if tuple(stems[:n]) in phrases), 0)
        found += map(stem, phrases[tuple(stems[:size])]) if size else stems[:1]
        stems = stems[size or 1 :]
    return [word for word in found if word not in SMALL]


def heard(value: str, texts: list[str]) -> bool:
    """Whether one of the alternatives is in one of the texts, by loops; of times only what is written with a colon."""
    for part in (part for part in value.split("|") if part not in ("", "yes", "dontcare", "none")):
        for text in texts:
            if time := re.fullmatch(r"(\d\d):(\d\d)", part):
                for hour, minute, half in re.findall(r"\b(\d{1,2}):(\d\d)(?: ?([ap])m)?\b", text):
                    of_day = int(hour) % 12 + 12 * (half == "p") if half else int(hour)
                    halves = {of_day} | (
                        {(of_day + 12) % 24} if not half and hour[0] != "0" and of_day <= 12 else set()
                    )
                    if int(time[1]) in halves and minute == time[2]:
                        return True
                continue
            for said, asked in (
                (words_of(text), words_of(part)),
                (in_one_spelling(words_of(text)), in_one_spelling(words_of(part))),
            ):
                if asked and any("".join(run) == "".join(asked) for run in runs_of(said)):
                    return True
            if asked and any(sorted(run) == sorted(asked) for run in runs_of(said)):
                return True
    return False


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
@pytest.mark.filterwarnings("ignore:.*slots that gold never has:dstbench.errors.DstbenchWarning")
@FEW
@given(st.lists(st.lists(st.tuples(slots_of_a_turn, slots_of_a_turn, texts_of_a_turn, texts_of_a_turn), min_size=1,
                         max_size=4), min_size=1, max_size=12))  # fmt: skip
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


# --- one value, two spellings ---------------------------------------------------------------------------------------

times = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59))


@pytest.mark.parametrize(
    ("value", "text", "is_said"),
    [
        ("christ college", "christ s college is nice", True),
        ("christ college", "the college of Christ", True),
        ("christ college", "christ the king and a college", False),
        ("restaurant one seven", "how about restaurant 17 ?", True),
        ("london liverpool street", "from liverpool street in london", True),
        ("museum of archaelogy and anthropology", "the museum of archaeology and anthropology", True),
        ("boats", "a boat", True),
        ("gallery", "galleries", True),
        ("ely", "likely", False),
        ("a and b guest house", "the a & b guesthouse", True),
        ("alexander b&b", "alexander bed and breakfast", True),
        ("guest house", "house guest", True),
        ("17:15", "at 5:15", True),
        ("05:15", "at 5:15", True),
        ("05:15", "at 17:15", False),
        ("05:15", "5:15:30 am", True),
        ("17:15", "at 05:15", False),
        ("17:15", "quarter past five", True),
        ("17:00", "by five o'clock", True),
        ("17:00", "by 5", True),
        ("17:00", "for 5 people", False),
        ("16:45", "at a quarter to 5", True),
        ("17:30", "half past 5 pm", True),
        ("12:00", "around noon", True),
        ("24:00", "00:00", True),
        ("17:15", "15:17", False),
        ("17:15", "17 15", True),
        ("7", "17:15", False),
        ("ten", "10 people", True),
    ],
)  # fmt: skip
def test_what_is_a_spelling_and_what_is_not(value: str, text: str, is_said: bool) -> None:
    assert find_values(pl.Series([text]), pl.Series([value])).height == is_said


def test_the_convention_normalises_and_the_users_typos_are_put_right() -> None:
    said = contexts([("D", 0, None, "somewhere reasonably priced , the hotel")])
    pred = {"hotel-pricerange": "moderate", "hotel-type": "true"}
    states = [{"dialogue_id": "D", "turn": 0, "gold": {}, "pred": pred}]
    assert memorisation(states, context=said).runs["ungrounded"].to_list() == [0, 1]
    typos = Table.of({"moderate": ["reasonably priced"]})
    convention = dstbench.profile("verbatim", typos=typos)
    assert memorisation(states, context=said, profile=convention).runs["ungrounded"].to_list() == [0, 0]
    states[0]["pred"] = {"hotel-name": "MODERATE"}
    assert memorisation(states, context=said, profile=convention).runs["ungrounded"].to_list() == [0, 0]


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
    timed = ("train-leaveat", "train-arriveby", "taxi-leaveat", "taxi-arriveby", "restaurant-book time")
    wrong = [state for state in turns.values() if state["gold"] != state["pred"]]
    of_dialogue: dict[str, Spoken] = {}
    for row in dstbench.contexts(context).rows():
        of_dialogue.setdefault(row[0], []).append(row)
    wanted: Counter[tuple[str, str, str]] = Counter()
    for state in wrong:
        untimed = {side: {s: v for s, v in state[side].items() if s not in timed} for side in ("gold", "pred")}
        wanted += ungrounded([{**state, **untimed}], of_dialogue[state["dialogue_id"]])
    of_words = found.examples.filter(~pl.col("slot").is_in(timed))
    assert {row[:3]: row[3] for row in of_words.select("slot", "kind", "value", "turns").rows()} == wanted
    counts = Counter(value for (_, _, slot), value in read_states(train).items() if slot == "train-destination")
    assert found.slots.filter(slot="train-destination")["frequent"].unique().to_list() == [counts.most_common(1)[0][0]]
    assert counts.most_common(1) == [("cambridge", 8006)]  # of 16,021 in STAR's file
