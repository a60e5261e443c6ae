"""Counts of missing annotations by split, domain, slot and speaker: against plain loops, and as they are shown."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from dstbench import audit
from dstbench.rendering.audit_words import render_inconsistency
from tests.audit.test_missing_annotations import hotels
from tests.audit.test_reviewing import lines, star
from tests.commands import ok, run, tables
from tests.once import once
from tests.planted import ONTOLOGY, States, consistent, find, memory, said, take_out
from tests.readers.test_datasets import multiwoz_with_splits

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


@settings(max_examples=3)
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


@settings(max_examples=3)
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


def test_evidence_in_several_files_is_as_in_one(here: Path) -> None:
    states = lacking(3, 90)
    for n, part in enumerate(divided(states, 3, 3).values()):
        Path(f"{n}.jsonl").write_text(lines(part))
    Path("12.jsonl").write_text(Path("1.jsonl").read_text() + Path("2.jsonl").read_text())
    one, two, alone = (
        audit.inconsistency("0.jsonl", ontology=ONTOLOGY, support=3, evidence=evidence)
        for evidence in ("12.jsonl", ["1.jsonl", "2.jsonl"], "1.jsonl")
    )
    assert one.proposals.equals(two.proposals)
    assert not one.proposals.equals(alone.proposals)
    words = ["audit", "inconsistency", "0.jsonl", "--support", "3", "--format", "json"]
    Path("ontology.json").write_text(json.dumps(ONTOLOGY))
    words += ["--ontology", "ontology.json", "--evidence", "1.jsonl", "--evidence", "2.jsonl"]
    assert json.loads(ok(*words))["proposals"] == one.proposals.to_dicts()


def test_a_domain_that_a_split_does_not_have_has_no_share() -> None:
    train = [
        {"dialogue_id": f"T{n}", "turn": 0, "user": "on monday", "gold": {"train-day": "monday"}} for n in range(2)
    ]
    modified = find_in({"hotels": hotels(name=False), "trains": train}).modified
    assert modified.filter(split="trains", slot="hotel-name").row(0)[3:] == (0, 0, None)
    assert modified.filter(split="trains", slot="train-day").row(0)[3:] == (0, 2, 0.0)


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


def test_a_dataset_that_knows_its_splits(here: Path) -> None:
    Path("MULTIWOZ").mkdir()
    for name, content in multiwoz_with_splits().items():
        Path(name).write_bytes(content)
    talk = said([{"dialogue_id": f"MUL{n}", "turn": 0, "user": "in the north"} for n in range(1, 5)])
    totals = audit.inconsistency("MULTIWOZ", said=talk).modified.filter(pl.col("domain").is_null())
    assert totals.select("split", "of_dialogues").rows() == [("train", 1), ("dev", 1), ("test", 2), (None, 4)]
    one = audit.inconsistency("MULTIWOZ", said=talk, split="dev").modified
    assert one.filter(pl.col("domain").is_null()).select("split", "of_dialogues").rows() == [(None, 1)]


# --- as it is shown --------------------------------------------------------------------------------------------------


Computed = Callable[..., audit.Inconsistency]


@pytest.fixture(scope="module")
def three_splits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, audit.Inconsistency, Computed]:
    """A folder with three splits, what is missing in them, and a search that takes place once in all tests."""
    parts = dict(zip(("train", "dev", "test"), divided(lacking(5, 120), 5, 3).values(), strict=True))
    folder = tmp_path_factory.mktemp("splits")
    for name, part in parts.items():
        (folder / f"{name}.tsv").write_text(star(part))
    (folder / "ontology.json").write_text(json.dumps(ONTOLOGY))
    return folder, find_in(parts), once(audit.inconsistency, {})


@pytest.fixture
def three_files(
    three_splits: tuple[Path, audit.Inconsistency, Computed], monkeypatch: pytest.MonkeyPatch
) -> audit.Inconsistency:
    """What is missing in three splits, which are the files of the working directory."""
    folder, found, compute = three_splits
    monkeypatch.chdir(folder)
    monkeypatch.setattr(audit, "inconsistency", compute)
    return found


WORDS = ["audit", "inconsistency", "train.tsv", "dev.tsv", "test.tsv", "--support", "3", "--ontology", "ontology.json"]


def test_splits_side_by_side(three_files: audit.Inconsistency) -> None:
    out = ok(*WORDS)
    shown = {title: table for title, table in tables(out).items() if title.startswith("Annotations are missing in")}
    ((title, (header, *rows)),) = shown.items()
    summary = three_files.summary.row(0, named=True)
    assert title.startswith(f"Annotations are missing in {summary['dialogues_changed']} of 120 dialogues")
    assert out.startswith(title)
    assert header == ["slot", "train", "(%)", "dev", "(%)", "test", "(%)", "all", "(%)"]
    wanted: dict[str, list[str]] = defaultdict(list)
    for _, domain, slot, n, _, rate in three_files.modified.iter_rows():
        # A slot of two words is split in the text.
        wanted[slot or domain or "total"] += [str(n), "-" if rate is None else f"({round(100 * rate, 1)})"]
    assert {" ".join(row[:-8]): row[-8:] for row in rows} == {
        name: cells for name, cells in wanted.items() if cells[-2] != "0"
    }
    names = [" ".join(row[:-8]) for row in rows]
    assert names == [*sorted(names[:-1], key=lambda name: (name.split("-")[0], "-" not in name, name)), "total"]


@pytest.mark.parametrize("pairs", ["0", "2", "99"])
def test_no_line_is_wider_than_a_page(pairs: str, three_files: audit.Inconsistency) -> None:
    out = ok(*WORDS, "--pairs", pairs)
    assert max(map(len, out.splitlines())) <= 100
    shown = re.findall("^Alike in what is said.*: (.*)$", out, re.MULTILINE)
    assert shown == three_files.pairs["slot"].head(int(pairs)).to_list()


def test_captions_have_no_marks_of_line_breaks(three_files: audit.Inconsistency) -> None:
    latex = ok(*WORDS, "--format", "latex")
    assert r"textbackslash" not in latex
    assert r"\begin{tabular}{lrrrr}" in latex
    markdown = ok(*WORDS, "--format", "md")
    assert "| slot | train (%) | dev (%) | test (%) | all (%) |\n| --- | ---: | ---: | ---: | ---: |" in markdown


def test_without_missing_annotations_one_line_says_so() -> None:
    found = find(consistent(60, 4))
    text = render_inconsistency(found, "text", pairs=3)
    assert text.endswith("no annotation is missing in 60 dialogues\n")
    assert "Alike" not in text
    assert found.pairs.is_empty()
    assert found.modified["dialogues"].sum() == 0
