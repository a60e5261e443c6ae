"""Counts of missing annotations by split, domain, slot and speaker: against plain loops, and as they are shown."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from dstbench import audit
from dstbench.audit.missing_annotations import annotated_mentions
from tests.audit.test_missing_annotations import hotels
from tests.audit.test_reviewing import lines
from tests.commands import run
from tests.planted import ONTOLOGY, States, consistent, find, memory, said, take_out

Row = tuple[str | None, str | None, str | None]  # split, domain, slot


def lacking(seed: int, dialogues: int = 40) -> States:
    return take_out(consistent(dialogues, seed), 0.3, seed)[0]


def divided(states: States, seed: int, parts: int) -> dict[str, States]:
    """The states in parts of any sizes, each dialogue in one of them, with names that are in no usual order."""
    random = Random(seed)  # noqa: S311 (no secrets)
    split_of: dict[str, str] = defaultdict(lambda: f"part {random.randrange(parts)}")
    found: dict[str, States] = defaultdict(list)
    for state in states:
        found[split_of[state["dialogue_id"]]].append(state)
    return dict(found)


def find_in(parts: dict[str, States], **options: Any) -> audit.Inconsistency:
    whole = [state for part in parts.values() for state in part]
    given = {name: memory(part) for name, part in parts.items()}
    return audit.inconsistency(given, said=said(whole), **{"ontology": ONTOLOGY, "support": 3, **options})


def counted(parts: dict[str | None, States], proposals: pl.DataFrame) -> dict[Row, tuple[int, int]]:
    """Dialogues in which an annotation is missing, and those of the domain, by plain loops."""
    slots = {slot for states in parts.values() for state in states for slot in state["gold"]}
    slots |= {*proposals["slot"]}
    rows: list[tuple[str | None, str | None]] = [(slot.split("-")[0], slot) for slot in slots]
    rows += [(domain, None) for domain, _ in rows] + [(None, None)]
    changed = set(proposals.select("dialogue", "slot").iter_rows())
    found = {}
    for split, states in parts.items():
        for domain, slot in rows:
            prefix = f"{domain}-" if domain else ""
            of = {s["dialogue_id"] for s in states if not domain or any(has.startswith(prefix) for has in s["gold"])}
            lack = {name for name, what in changed if (what == slot if slot else what.startswith(prefix))}
            found[split, domain, slot] = len(lack & {s["dialogue_id"] for s in states}), len(of)
    return found


@pytest.mark.again
@settings(max_examples=2)
@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from([None, "qian2021"]))
def test_modified_dialogues_by_plain_loops_and_splits_add_up(seed: int, parts: int, rules: str | None) -> None:
    """A dialogue with dontcare has the domain, also where rules take it for no value.

    (A corpus that is not divided has the rows of all splits together: see the next test.)
    """
    states = lacking(seed, 150)
    for state in states:
        if state["dialogue_id"].endswith("7"):
            state["gold"] = dict.fromkeys(state["gold"], "dontcare")
    by_split = divided(states, seed, parts)
    found = find_in(by_split, rules=rules)
    wanted = counted(dict([*by_split.items(), (None, states)]), found.proposals)
    mine = {tuple(row[:3]): tuple(row[3:5]) for row in found.modified.iter_rows()}
    assert mine == wanted
    assert [*dict.fromkeys(found.modified["split"])] == [*by_split, None]
    for n, of, rate in found.modified.select("dialogues", "of_dialogues", "share").iter_rows():
        assert rate == (n / of if of else None)
        assert n <= of
    sums = found.modified.drop_nulls("split").group_by("domain", "slot").agg(pl.col("dialogues", "of_dialogues").sum())
    for domain, slot, n, of in sums.iter_rows():
        assert (n, of) == wanted[None, domain, slot]
    assert wanted[None, None, None] == found.summary.select("dialogues_changed", "dialogues").row(0)


@pytest.mark.again
@settings(max_examples=2)
@given(st.integers(0, 10**6), st.integers(2, 4), st.booleans())
def test_what_is_missing_does_not_depend_on_how_a_corpus_is_divided(
    tmp_path_factory: pytest.TempPathFactory, seed: int, parts: int, separate: bool
) -> None:
    """Nor where other dialogues are its evidence."""
    states = lacking(seed, 150)
    options: dict[str, Any] = {"ontology": ONTOLOGY, "support": 3, "said": said(states)}
    if separate:
        options["evidence"] = tmp_path_factory.mktemp("evidence") / "others.jsonl"
        others = [{**state, "dialogue_id": f"E{state['dialogue_id']}"} for state in lacking(seed + 1)]
        options["evidence"].write_text(lines(others))
    whole = audit.inconsistency(memory(states), **options)
    found = audit.inconsistency({n: memory(part) for n, part in divided(states, seed, parts).items()}, **options)
    for name in ("summary", "rates", "shares", "pairs", "proposals", "candidates"):
        assert getattr(found, name).equals(getattr(whole, name)), name
    assert found.modified.filter(pl.col("split").is_null()).equals(whole.modified)
    assert whole.modified["split"].null_count() == whole.modified.height


def test_one_dialogue_in_two_files_is_refused(here: Path) -> None:
    states = hotels(name=False)
    Path("a.jsonl").write_text(lines(states))
    Path("b.jsonl").write_text(lines([{**state, "turn": state["turn"] + 9} for state in states[-3:]]))
    with pytest.raises(dstbench.DstbenchError, match=r"^b\.jsonl: this dialogue is also in a\.jsonl \(dialogue D11\)"):
        audit.inconsistency(["a.jsonl", "b.jsonl"])
    code, out, err = run("audit", "inconsistency", "a.jsonl", "b.jsonl")
    assert (code, out) == (1, "")
    error, hint, _ = err.split("\n")
    assert error == "error: b.jsonl: this dialogue is also in a.jsonl (dialogue D11)"
    assert hint.startswith("hint: all files are read as one corpus")
    Path("pred.jsonl").write_text('{"dialogue_id": "X", "turn": 0, "pred": {}, "user": "hm"}\n')
    assert "pred.jsonl: no gold inside" in run("audit", "inconsistency", "a.jsonl", "pred.jsonl")[2]


def test_of_a_value_that_both_say_in_one_turn_only_the_users_mention_counts() -> None:
    columns = ("dialogue", "turn", "slot", "value", "speaker", "start", "end", "decision", "rule")
    said_by = [(0, "system"), (1, "system"), (1, "user"), (2, "user")]
    rows = [("D", turn, "hotel-area", "north", speaker, 0, 5, "annotated", "said") for turn, speaker in said_by]
    kept = annotated_mentions(pl.DataFrame(rows, schema=columns, orient="row"))
    assert sorted(kept.select("turn", "speaker").rows()) == [(0, "system"), (1, "user"), (2, "user")]


# --- pairs ------------------------------------------------------------------------------------------------------------


def test_neither_the_same_dialogue_nor_another_speaker_is_a_pair() -> None:
    """The most similar turn is of the same dialogue, the next one is annotated for what the user says in it."""
    states = hotels(name=False)
    for state in states[4:-3:3]:
        state["user"] = "fine, but it must have 4 stars"
    states[1]["user"] = "yes please, Ashley Hotel with 4 stars"
    again = {**states[-2], "turn": 3, "gold": {**states[-2]["gold"], "hotel-name": "ashley hotel"}}
    pairs = find([*states, again]).pairs
    assert pairs.select("speaker", "missing_dialogue", "annotated_dialogue").rows() == [("system", "D11", "D1")]
