"""The sheet for a review by hand: it has all that a reader needs to judge an addition."""

from __future__ import annotations

from itertools import cycle, product
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from dstbench import audit
from dstbench.audit.reviewing import evidence_in_words
from dstbench.io.escape import csv_text
from dstbench.schema.audit import PROPOSALS
from tests.planted import States, consistent, find, memory, said, take_out
from tests.schemas import schema


def sheet_of(states: States, **options: Any) -> tuple[audit.Inconsistency, pl.DataFrame]:
    """What is missing from states, and the sheet of it."""
    found = find(states)
    return found, audit.review_sheet(memory(states), found, said=said(states), **options)


def exchange(turn: dict[str, Any]) -> str:
    return "\n".join(f"{who}: {turn[who]}" for who in ("system", "user") if turn[who] is not None)


@pytest.mark.again
def test_the_sheet_is_a_sample_with_all_additions_to_it() -> None:
    states = take_out(consistent(150, 8), 0.2, 8)[0]
    found, sheet = sheet_of(states, sample=10, seed=3)
    again, other = (
        audit.review_sheet(memory(states), found, said=said(states), sample=10, seed=seed) for seed in (3, 4)
    )
    assert sheet.equals(again)
    assert not sheet.equals(other)
    heads = sheet.filter(row="dialogue")
    changed = found.summary["dialogues_changed"].item()
    assert heads.group_by("group", "of").len().sort("group").rows() == [
        ("changed", changed, 10), ("unchanged", 150 - changed, 10),
    ]  # fmt: skip
    added = sheet.filter(row="addition").select("dialogue", "turn", "slot", "value")
    wanted = found.proposals.join(heads.select("dialogue"), on="dialogue", how="semi")
    assert sorted(added.rows()) == sorted(wanted.select(added.columns).rows())
    for row in sheet.iter_rows(named=True):
        jsonschema.validate(row, schema("audit_review_sheet"))
    with pytest.raises(dstbench.UsageError, match="sample=0"):
        audit.review_sheet(memory(states), found, said=said(states), sample=0)


#: What may stand before and after what is said: each turn has a pair of its own.
AROUND = list(product(("", "=", "+ ", "- ", "@", ">> ", "« ", "é😀\u0301 ", "{} "), ("", " <<", "\n", "\\")))


@pytest.mark.again
@settings(max_examples=2)
@given(st.integers(0, 1000))
def test_an_addition_has_what_is_said_around_it_with_its_words_marked(seed: int) -> None:
    """The exchange without its marks is the turn's, and between the marks stands what says the value."""
    states = [
        {**state, **{who: state[who] and f"{before}{state[who]}{after}" for who in ("system", "user")}}
        for state, (before, after) in zip(take_out(consistent(250, seed), 0.2, seed)[0], cycle(AROUND), strict=False)
    ]
    found, sheet = sheet_of(states)
    turns = {(state["dialogue_id"], state["turn"]): state for state in states}
    proposals = {(p["dialogue"], p["turn"], p["slot"]): p for p in found.proposals.iter_rows(named=True)}
    additions = sheet.filter(row="addition")
    assert additions.height > 5
    for row in additions.iter_rows(named=True):
        dialogue, turn, slot = row["dialogue"], row["turn"], row["slot"]
        proposal, here = proposals[dialogue, turn, slot], turns[dialogue, turn]
        start = proposal["start"] + len(f"{proposal['speaker']}: ")
        if proposal["speaker"] == "user" and here["system"] is not None:
            start += len(f"system: {here['system']}\n")
        end = start + len(proposal["said"])
        text = row["exchange"]
        assert text[start : end + 4] == f">>{proposal['said']}<<"
        assert text[:start] + text[start + 2 : end + 2] + text[end + 4 :] == exchange(here)
        for name, other in (("before", turn - 1), ("after", turn + 1)):
            there = turns.get((dialogue, other))
            assert row[name] == (None if there is None else exchange(there))
        entries = [] if row["state"] == "(empty)" else row["state"].split("; ")
        assert dict(entry.split(" = ") for entry in entries) == here["gold"]
        of_domain = [entry.split("-")[0] == slot.split("-")[0] for entry in entries]
        assert of_domain == sorted(of_domain, reverse=True)
        assert row["transcript"] is row["missed"] is None


def test_a_transcript_has_all_turns_and_gives_gold_back() -> None:
    """Each turn's state follows from the changes in the transcript, removals too, and each addition is in its turn."""
    states = take_out(consistent(60, 8), 0.2, 8)[0]
    for state in states[::3]:
        state["gold"] = {slot: value for slot, value in state["gold"].items() if slot != "train-day"}
    found, sheet = sheet_of(states)
    additions = {(row[0], row[1], f"+ {row[2]} = {row[3]}") for row in found.proposals.iter_rows()}
    seen = set()
    removed = 0
    for dialogue, transcript in sheet.filter(row="dialogue").select("dialogue", "transcript").iter_rows():
        gold: dict[str, str] = {}
        turns = [state for state in states if state["dialogue_id"] == dialogue]
        parts = transcript.split("[turn ")[1:]
        assert len(parts) == len(turns)
        for part, turn in zip(parts, turns, strict=True):
            number, _, text = part.rstrip("\n").partition("]\n")
            spoken, _, changes = text.partition("\nstate: ")
            assert (int(number), spoken) == (turn["turn"], exchange(turn))
            for change in filter(None, changes.split("; ")):
                if change.startswith("+ "):
                    seen.add((dialogue, turn["turn"], change))
                elif change.endswith(" removed"):
                    del gold[change.removesuffix(" removed")]
                    removed += 1
                else:
                    slot, value = change.split(" = ")
                    gold[slot] = value
            assert gold == turn["gold"]
    assert removed
    drawn = set(sheet["dialogue"])
    assert seen == {addition for addition in additions if addition[0] in drawn}


def proposal(**columns: Any) -> pl.DataFrame:
    usual: dict[str, Any] = {
        "value": "north", "speaker": "system", "said": "north", "rule": "fact", "entity": None, "fact": None,
        "refused": None, "place": "rule=fact", "annotated": 5, "mentions": 103, "later": None,
    }  # fmt: skip
    return pl.DataFrame([{**usual, **columns}], schema_overrides=dict(PROPOSALS.schema))


def test_a_sheet_filled_in_with_what_was_taken_out_counts_it(here: Path) -> None:
    """Of the whole corpus, so that estimates are counts: right is what was taken out, missed what is still out."""
    states, gone = take_out(consistent(150, 8), 0.2, 8)
    gone = {cell for cell in gone if cell[2] != "hotel-area"}  # a reader to whom areas are wrong
    found, sheet = sheet_of(states, sample=150)
    added = {*found.proposals.select("dialogue", "turn", "slot", "value").iter_rows()}
    missed = [dialogue for dialogue, *_ in gone - added]
    is_right = pl.struct("dialogue", "turn", "slot", "value").map_elements(
        lambda cell: tuple(cell.values()) in gone, return_dtype=pl.Boolean
    )
    is_addition = pl.col("row") == "addition"
    filled = sheet.with_columns(
        right=pl.when(is_addition).then(pl.when(is_right).then(pl.lit("yes")).otherwise(pl.lit("no"))),
        missed=pl.when(~is_addition).then(pl.col("dialogue").map_elements(missed.count, return_dtype=pl.Int64)),
    )
    Path("sheet.csv").write_text(csv_text(filled), encoding="utf-8-sig")
    right, wrong, lacking = len(added & gone), len(added - gone), len(gone - added)
    assert min(right, wrong, lacking) > 0
    measures = audit.review("sheet.csv").measures.filter(unit="additions")
    assert measures.select("right", "wrong", "missed").unique().rows() == [(right, wrong, lacking)]
    expected = [right / (right + wrong), right / (right + lacking), right / (right + (wrong + lacking) / 2)]
    for name in ("value", "in_sample"):
        assert measures[name].to_list() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"rule": "name", "said": "acorn", "entity": "acorn lodge", "refused": True},
            'The system offers "acorn", which the user refuses. Elsewhere gold annotates 5 of 103 such mentions.',
        ),
        (
            {"rule": "wish", "speaker": "user", "entity": "acorn lodge", "later": "south"},
            'The user wishes for "north"; no database has it for acorn lodge. Elsewhere gold annotates 5 of '
            "103 such mentions. Later in the dialogue gold has south.",
        ),
        (
            {"rule": "similar", "place": "when=now reply=-", "later": "north"},
            'The system says "north". Elsewhere gold annotates 5 of 103 similar mentions. Later in the dialogue gold '
            "has north.",
        ),
    ],
)
def test_evidence_in_words(columns: dict[str, Any], words: str) -> None:
    assert proposal(**columns).select(evidence_in_words()).item() == words
