"""Conventions at work: the engine's codes against plain loops over strings, and each rule by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dstbench
from dstbench.conventions.files import Table
from dstbench.conventions.matching import Matcher
from dstbench.conventions.normalise import STEPS, alternatives, is_dontcare, normaliser
from dstbench.conventions.profiles import PROFILES, profile
from dstbench.conventions.slots import SLOT_SETS, domain_of
from tests import oracle
from tests.corpora import FEW, SLOTS, States, dialogues, has_other_slots

VALUES = (
    "north", "North ", "north|south", "south|north", "center", "centre", "none", "", "dontcare", "do n't care",
    "guest house", "guesthouse", "9:15", "09:15", "2", "12", "two", "free", "yes", "dontcare|4", "the a-b", "c-b",
)  # fmt: skip
states_of_a_turn = st.dictionaries(st.sampled_from((*SLOTS, "x-y")), st.sampled_from(VALUES), max_size=4)
TABLES = [None, Table.of({"north": ["center", "2"], "12": ["two"]})]
conventions = st.builds(
    dstbench.Convention,
    slots=st.sampled_from([None, "multiwoz-30", "multiwoz-hotel"]),
    outside=st.sampled_from(["scored", "dropped"]),
    absent=st.sampled_from([("none", ""), ("",), ()]),
    none=st.sampled_from(["drop", "drop-gold", "drop-pred", "keep"]),
    dontcare=st.sampled_from(["keep", "drop", "drop-gold", "drop-pred", "skip"]),
    gold_steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=4).map(tuple),
    pred_steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=4).map(tuple),
    typos=st.sampled_from(TABLES),
    labels=st.sampled_from(TABLES),
    multi=st.sampled_from(["literal", "first", "any", "overlap", "all"]),
    match=st.sampled_from(["exact", "levenshtein:above=0.7", "partial", "token-sort", "contain"]),
    fuzzy=st.sampled_from(["text", "all"]),
    over=st.sampled_from(["count", "free", "gold-domains"]),
)


@st.composite
def corpora(draw: st.DrawFn, most: int = 3) -> States:
    """Dialogues whose values are spelled in many ways."""
    return dialogues(draw, states_of_a_turn, prefix="D", most=most, most_turns=5)


def compared(state: dict[str, Any], c: dstbench.Convention) -> dict[str, Any]:
    """A turn's states under a convention, by loops; a prediction that matches has gold's very value."""
    sides = {}
    for side, steps, other in (("gold", c.gold_steps, "drop-gold"), ("pred", c.pred_steps, "drop-pred")):
        normalise = normaliser(steps, c.typos)
        values = {slot: normalise(slot, value) for slot, value in state[side].items()}
        if c.none in ("drop", other):
            values = {slot: value for slot, value in values.items() if value not in c.absent}
        sides[side] = values
    gold, pred = sides["gold"], sides["pred"]

    def cares(value: str) -> bool:
        return not any(map(is_dontcare, alternatives(value)))

    if c.slots:
        scored = set(SLOT_SETS[c.slots])
        if c.outside == "scored":
            scored |= {slot for slot, value in gold.items() if c.dontcare not in ("drop", "drop-gold") or cares(value)}
        gold, pred = ({s: v for s, v in side.items() if s in scored} for side in (gold, pred))
    if c.dontcare == "skip":
        gold, pred = ({s: v for s, v in side.items() if s not in gold or cares(gold[s])} for side in (gold, pred))
    if c.dontcare in ("drop", "drop-gold"):
        gold = {slot: value for slot, value in gold.items() if cares(value)}
    if c.dontcare in ("drop", "drop-pred"):
        pred = {slot: value for slot, value in pred.items() if cares(value)}
    if c.over == "free":
        pred = {slot: value for slot, value in pred.items() if slot in gold}
    if c.over == "gold-domains":
        domains = {domain_of(slot) for slot in gold}
        pred = {slot: value for slot, value in pred.items() if domain_of(slot) in domains}
    matcher = c.matcher
    pred = {s: gold[s] if s in gold and matcher.compare(s, gold[s], v)[0] else f"*{v}" for s, v in pred.items()}
    return {**state, "gold": gold, "pred": pred}


def is_refused(states: States, c: dstbench.Convention) -> bool:
    """Whether gold has slots with values, as they are in the file, and none of them is in the convention's slot set."""
    absent = c.absent if c.none in ("drop", "drop-gold") else ()
    slots = {slot for state in states for slot, value in state["gold"].items() if value not in absent}
    return c.slots is not None and bool(slots) and not slots & SLOT_SETS[c.slots]


@settings(max_examples=15)
@given(corpora(), conventions, st.sampled_from(["domain", "slot"]))
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_states_and_views_under_any_convention(states: States, convention: dstbench.Convention, view: Any) -> None:
    """Turns are counted as loops count them, views add up to them, and gold without a slot of the set is refused."""
    assume(not has_other_slots(states))
    run = dstbench.open_runs(states)
    if is_refused(states, convention):
        with pytest.raises(dstbench.DstbenchError, match="none of gold's"):
            dstbench.turns(run, profile=convention)
        return
    whole, parts = (dstbench.turns(run, profile=convention, view=v) for v in (None, view))
    wanted = []
    for state in states:
        kept = compared(state, convention)
        turn = oracle.Turn("", 0, kept["gold"], kept["pred"], None)
        wanted.append((len(turn.gold), len(turn.pred), oracle.n_correct(turn), oracle.n_union(turn)))
    names = ["n_gold", "n_pred", "n_correct", "n_union", "n_charged_again"]
    assert whole.select(names[:4]).rows() == wanted
    parts = parts.group_by("dialogue", "turn").agg(pl.col(names).sum())
    joined = whole.join(parts, on=["dialogue", "turn"], how="left", suffix="_parts").fill_null(0)
    for name in names:
        assert joined[name].to_list() == joined[f"{name}_parts"].to_list()


@given(corpora(), st.sampled_from(sorted(PROFILES)))
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_fuzzy_scores_stand_beside_exact_ones(states: States, name: str) -> None:
    convention = PROFILES[name]
    assume(not is_refused(states, convention) and not has_other_slots(states))
    rows = dstbench.score(states, metrics="jga,sa:T=40,f1:avg=micro", profile=convention)
    assert ("exact" in rows.columns) == convention.is_fuzzy
    if convention.is_fuzzy:
        alone = dstbench.score(states, metrics="jga,sa:T=40,f1:avg=micro", profile=convention.exact())
        assert rows["exact"].to_list() == alone["value"].to_list()
        assert (rows["value"] >= rows["exact"]).all()


@FEW
@given(corpora(most=9))
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_the_pairs_are_what_fuzzy_has_over_exact(states: States) -> None:
    convention, run = profile("mwzeval"), dstbench.open_runs(states)
    pairs = dstbench.fuzzy_pairs(run, profile=convention)
    fuzzy, exact = (dstbench.turns(run, profile=c)["n_correct"].sum() for c in (convention, convention.exact()))
    assert pairs["turns"].sum() == int(fuzzy) - int(exact)
    assert (pairs["gold"] != pairs["pred"]).all()


# --- matchers ------------------------------------------------------------------------------------------------------

words = st.text(alphabet="ab c", max_size=8)


@given(words, words)
def test_levenshtein_is_the_edit_distance(one: str, other: str) -> None:
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        above, row[0] = row[0], i
        for j, right in enumerate(other, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (left != right))
    wanted = 1 - row[-1] / max(len(one), len(other), 1)
    assert Matcher.parse("levenshtein").similarity(one, other) == (wanted if one != other else 1)


@pytest.mark.parametrize(
    ("one", "other", "partial", "token_sort", "levenshtein"),
    [  # CONVENTIONS A.6
        ("pizza hut fen ditton", "pizza hut fenditton", 0.95, 0.82, 0.950),
        ("guest house", "guesthouse", 0.90, 0.95, 0.909),
        ("saint johns college", "saint john's college", 0.95, 0.97, 0.950),
        ("london liverpool street", "liverpool street london", 0.82, 1.00, 0.391),
        ("centre", "center", 0.83, 0.83, 0.667),
        ("north", "no", 1.00, 0.57, 0.400),
        ("2", "12", 1.00, 0.67, 0.500),
        ("13:00", "3:00", 1.00, 0.89, 0.800),
        ("monday", "sunday", 0.67, 0.67, 0.667),
    ],
)
def test_similarities_of_known_pairs(
    one: str, other: str, partial: float, token_sort: float, levenshtein: float
) -> None:
    assert Matcher.parse("token-sort").similarity(one, other) == token_sort
    assert Matcher.parse("levenshtein").similarity(one, other) == pytest.approx(levenshtein, abs=5e-4)
    assert Matcher.parse("partial").similarity(one, other) == partial


# --- files that users name -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("turns", "when"), [(1, "before"), (99, "before"), (101, "after")])
def test_alternatives_that_cost_more_than_a_point_are_said_before_the_scores(turns: int, when: str) -> None:
    states = [{"dialogue_id": "D", "turn": turn, "gold": {}, "pred": {}} for turn in range(turns)]
    states[0] |= {"gold": {"hotel-area": "north|south"}, "pred": {"hotel-area": "north"}}
    with pytest.warns(dstbench.DstbenchWarning, match="gold lists alternatives") as caught:
        dstbench.score(states, metrics="jga")
    assert [warning.message.when for warning in caught] == [when]  # type: ignore[union-attr] # a DstbenchWarning


def test_categorical_slots_of_a_schema_are_matched_exactly(here: Path) -> None:
    slots = [{"name": name, "is_categorical": name == "kind"} for name in ("name", "city", "kind")]
    Path("schema.json").write_text(json.dumps([{"service_name": "Hotels_1", "slots": slots}]))
    values = {f"Hotels_1-{slot['name']}": "guest house" for slot in slots}
    states = [{"dialogue_id": "D", "turn": 0, "gold": values, "pred": dict.fromkeys(values, "guesthouse")}]
    chosen = profile("verbatim", match="levenshtein", schema="schema.json")
    with pytest.warns(dstbench.DstbenchWarning, match="of 3 slots, none is MultiWOZ's|fail on spelling"):
        assert dstbench.score(states, metrics="correct", profile=chosen)["value"].item() == 2
