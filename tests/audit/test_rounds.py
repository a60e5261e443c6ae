"""The rounds of the search for missing annotations: what is judged again is all that can have changed."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from dstbench import audit
from dstbench.audit.corpus import Corpus
from dstbench.audit.discussion import SUPPORT
from dstbench.audit.evidence import RARELY
from dstbench.audit.rounds import Judged, Method
from tests.planted import HOTELS, RESTAURANTS, States, consistent, find, take_out


def judge_all(method: Method, corpus: Corpus, cells: pl.DataFrame, before: Judged, changed: pl.Series) -> Judged:
    """In place of `Method.judge_again`: without what was judged before."""
    return method.judge(corpus, cells)


def assert_as_if_all_were_judged(states: States, **options: Any) -> audit.Inconsistency:
    judge_again, rounds = Method.judge_again, list[int]()

    def counted(*args: Any) -> Judged:
        rounds.append(len(rounds))
        assert len(rounds) < 20, "what was added is not judged again, and is added without end"
        return judge_again(*args)

    with patch.object(Method, "judge_again", counted):
        found = find(states, **options)
    with patch.object(Method, "judge_again", judge_all):
        whole = find(states, **options)
    for field in fields(found):
        assert_frame_equal(getattr(found, field.name), getattr(whole, field.name))
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of the places that `tests.planted` speaks of, and dialogues that are evidence."""
    folder = tmp_path_factory.mktemp("files")
    for domain, names in (("hotel", HOTELS), ("restaurant", [*RESTAURANTS, "fish bar restaurant"])):
        rows = [{"name": name, "area": "north", "pricerange": "cheap"} for name in names]
        (folder / f"{domain}_db.json").write_text(json.dumps(rows), encoding="utf-8")
    lines = (json.dumps({key: part for key, part in state.items() if part is not None}) for state in consistent(30, 0))
    (folder / "evidence.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


@settings(max_examples=3)
@given(
    seed=st.integers(0, 10**6),
    share=st.sampled_from([0.1, 0.5]),
    rules=st.sampled_from([None, "qian2021"]),
    with_database=st.booleans(),
    with_evidence=st.booleans(),
)
def test_all_that_can_have_changed_is_judged_again(
    files: Path, seed: int, share: float, rules: str | None, with_database: bool, with_evidence: bool
) -> None:
    states, _ = take_out(consistent(80, seed), share, seed)
    states = [{**state, "dialogue_id": f"E{state['dialogue_id']}"} for state in states]
    evidence, database = files / "evidence.jsonl" if with_evidence else None, files if with_database else None
    options = {"rules": rules, "support": 2, "at_least": 0.3, "evidence": evidence, "database": database}
    found = assert_as_if_all_were_judged(states, **options)
    assert found.summary["rounds"].item() > 0


def test_a_name_that_is_no_common_word_any_more_is_judged_in_all_dialogues(files: Path) -> None:
    """In round 1 gold hardly ever means the place when it is said; what is added there makes it a name elsewhere."""
    garden, whole, short = "curry garden", "fish bar restaurant", "fish bar"
    others = int(2 / RARELY) - 2
    # What the system offers, what the user asks for, and gold's name.
    menu: list[tuple[str, str, str | None]] = [(garden, "food", garden), ("it", garden, garden)] * (SUPPORT + 1)
    menu += [(short, "food", whole), (short, whole, None), *[(short, "food", None)] * others]
    states: States = []
    for number, (offer, wish, name) in enumerate(menu):
        for turn, (system, user) in enumerate([(None, f"i would like {wish}"), (f"{offer} is nice .", "good")]):
            gold = {"restaurant-food": "indian"}
            if name is not None and (turn or wish == name):
                gold["restaurant-name"] = name
            states.append({"dialogue_id": f"D{number}", "turn": turn, "system": system, "user": user, "gold": gold})
    found = assert_as_if_all_were_judged(states, database=files).proposals
    assert found.group_by("round").len().sort("round").rows() == [(1, 1), (2, others)]
