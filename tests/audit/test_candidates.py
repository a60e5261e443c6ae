"""What is logged of the search for missing annotations, and evidence from another file."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dstbench import audit
from dstbench.audit.corpus import RARELY
from dstbench.audit.discussion import SUPPORT
from dstbench.audit.rules import read_rules
from dstbench.schema.audit import CANDIDATES
from tests.planted import HOTELS, ONTOLOGY, RESTAURANTS, States, consistent, memory, said, take_out

TURN = {"dialogue": pl.String, "turn": pl.UInt16}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The places that `tests.planted` speaks of; of their attributes, only some."""
    folder = tmp_path_factory.mktemp("db")
    for domain, names in (("hotel", HOTELS), ("restaurant", RESTAURANTS)):
        rows = [{"name": name, "area": "north", "pricerange": "cheap"} for name in names]
        (folder / f"{domain}_db.json").write_text(json.dumps(rows), encoding="utf-8")
    return str(folder)


RULES: Final[dict[Any, Any]] = {**read_rules().rules}
STATES, _ = take_out(consistent(300, 1), 0.2, 1)
Missing = Callable[[bool, str | None], audit.Inconsistency]


@pytest.fixture(scope="module")
def missing(database: str) -> Missing:
    """What is missing in one corpus (`STATES`), with a database or without one, by some rules."""

    @cache
    def of_states(with_database: bool, rules: str | None) -> audit.Inconsistency:
        return search(STATES, database=database if with_database else None, rules=rules)

    return of_states


def search(states: States, **options: Any) -> audit.Inconsistency:
    return audit.inconsistency(memory(states), said=said(states), **{"ontology": ONTOLOGY, **options})


@pytest.mark.again
@pytest.mark.parametrize(("with_database", "rules"), [(False, None), (True, "qian2021")])
def test_every_candidate_says_what_came_of_it(missing: Missing, with_database: bool, rules: str | None) -> None:
    found = missing(with_database, rules)
    candidates, proposals = found.candidates, found.proposals
    assert list(candidates.columns) == list(CANDIDATES.columns)
    shared = [name for name in proposals.columns if name in candidates.columns]
    assert candidates.filter(decision="added").select(shared).sort(shared).equals(proposals.select(shared).sort(shared))
    gold = {(s["dialogue_id"], s["turn"], slot): value for s in STATES for slot, value in s["gold"].items()}
    last = max(turn for _, turn, _ in gold)
    for row in proposals.iter_rows(named=True):
        later = (gold.get((row["dialogue"], turn, row["slot"])) for turn in range(row["turn"] + 1, last + 1))
        assert row["later"] == next(filter(None, later), None), "gold's next value, not one that is added"
    for row in candidates.iter_rows(named=True):
        value = gold.get((row["dialogue"], row["turn"], row["slot"]))
        assert (value is not None) == (row["decision"] in ("annotated", "other")), row
        assert row["utterance"][row["start"] : row["end"]] == row["said"]
        if row["rule"] != "similar":
            first = next((rule for rule in RULES if row[f"by_{rule}"]), None)
            nearest, _, conditions = (row["failed"] or "").partition(": ")
            assert bool(nearest) == bool(conditions)
            assert first is None or not nearest
            assert not nearest or any(set(conditions.split(", ")) <= {*way} for way in RULES[nearest])
            assert row["rule"] == first
            assert row["decision"] != "added" or row["annotated"] >= SUPPORT
            assert (row["decision"] == "no rule") == (first is None and value is None)
    assert {"added", "annotated", "no rule"} <= set(candidates["decision"])
    turns = pl.DataFrame([(s["dialogue_id"], s["turn"]) for s in STATES], schema=TURN, orient="row")
    covered = set(audit.additions(proposals, turns).select("dialogue", "turn", "slot").iter_rows())
    for *where, decision in candidates.select("dialogue", "turn", "slot", "decision").iter_rows():
        assert decision not in ("held", "left out") or (decision == "held") == (tuple(where) in covered)


@pytest.mark.again
@settings(max_examples=3)
@given(
    seed=st.integers(0, 10**6),
    dialogues=st.sampled_from([20, 100]),
    share=st.sampled_from([0.1, 0.2, 0.5]),
    with_database=st.booleans(),
    rules=st.sampled_from([None, "qian2021"]),
    support=st.sampled_from([1, 3, 5]),
    dontcare=st.sampled_from([0.0, 0.2]),
)
def test_correction_adds_and_never_overwrites_and_twice_is_once(
    database: str,
    seed: int,
    dialogues: int,
    share: float,
    with_database: bool,
    rules: str | None,
    support: int,
    dontcare: float,
) -> None:
    states, _ = take_out(consistent(dialogues, seed), share, seed)
    random = Random(seed)  # noqa: S311 (no secrets)
    for state in states:
        state["gold"] = {s: "dontcare" if random.random() < dontcare else value for s, value in state["gold"].items()}
    options = {"rules": rules, "support": support, "database": database if with_database else None}
    found = search(states, **options)
    by_turn = {(state["dialogue_id"], state["turn"]): state["gold"] for state in states}
    added = audit.additions(found.proposals, pl.DataFrame(list(by_turn), schema=TURN, orient="row"))
    assert added.height == found.proposals["turns"].sum()
    assert found.summary["turns_changed"].item() == added.n_unique(["dialogue", "turn"])
    for dialogue, turn, slot, value in added.iter_rows():
        old = by_turn[dialogue, turn].get(slot)
        assert old is None or (rules and old == "dontcare"), "nothing but dontcare is overwritten"
        by_turn[dialogue, turn][slot] = value
    assert search(states, **options).proposals.is_empty()


def test_a_name_that_is_no_common_word_any_more_is_judged_in_all_dialogues(tmp_path: Path) -> None:
    """In round 1 gold hardly ever means the place when it is said; what is added there makes it a name elsewhere."""
    garden, whole, short, others = "curry garden", "fish bar restaurant", "fish bar", int(2 / RARELY) - 2
    rows = [{"name": name, "area": "north", "pricerange": "cheap"} for name in (*RESTAURANTS, whole)]
    (tmp_path / "restaurant_db.json").write_text(json.dumps(rows), encoding="utf-8")
    # What the system offers, what the user asks for, and gold's name.
    menu: list[tuple[str, str, str | None]] = [(garden, "food", garden), ("it", garden, garden)] * (SUPPORT + 1)
    menu += [(short, "food", whole), (short, whole, None), *[(short, "food", None)] * others]
    states: States = []
    for number, (offer, wish, name) in enumerate(menu):
        for turn, (system, user) in enumerate([(None, f"i would like {wish}"), (f"{offer} is nice .", "good")]):
            named = {"restaurant-name": name} if name is not None and (turn or wish == name) else {}
            gold = {"restaurant-food": "indian", **named}
            states.append({"dialogue_id": f"D{number}", "turn": turn, "system": system, "user": user, "gold": gold})
    found = search(states, database=tmp_path).proposals
    assert found.group_by("round").len().sort("round").rows() == [(1, 1), (2, others)]
