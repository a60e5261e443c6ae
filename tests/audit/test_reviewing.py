"""Correcting a dataset in its own format, reviewing that by hand, and both on the command line."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dstbench
from dstbench import audit
from dstbench.conventions.slots import DATASET_SLOTS
from dstbench.readers.ontology import read_database, read_ontology
from dstbench.schema.audit import CANDIDATES
from dstbench.stats import wilson
from tests.audit.test_missing_annotations import hotels
from tests.corpora import FEW
from tests.planted import ONTOLOGY, States, consistent, take_out

# --- datasets in files ---------------------------------------------------------------------------------------------


def lines(states: States) -> str:
    return "".join(json.dumps({k: v for k, v in state.items() if v is not None}) + "\n" for state in states)


def star(states: States) -> str:
    slots = sorted(DATASET_SLOTS["multiwoz-30"])
    head = ["# Dialogue ID", "Turn Index", "Last Turn", "System Response", "User Utterance", *slots]
    rows = [
        [
            s["dialogue_id"],
            str(s["turn"]),
            "False",
            s["system"] or "",
            s["user"],
            *(s["gold"].get(x, "none") for x in slots),
        ]
        for s in states
    ]
    return "".join("\t".join(row) + "\n" for row in [head, *rows])


@pytest.fixture(scope="module")
def states() -> States:
    return take_out(consistent(150, 8), 0.2, 8)[0]


def gold_of(path: str) -> dict[tuple[str, int, str], str]:
    side = dstbench.read(path).gold
    assert side is not None
    cells = side.cells.join(side.turns.with_row_index("at"), on="at").cast({"slot": pl.String, "value": pl.String})
    return {(d, t, s): v for d, t, s, v in cells.select("dialogue", "turn", "slot", "value").iter_rows()}


@pytest.mark.again
def test_a_dataset_is_corrected_in_its_own_format_and_twice_is_once(states: States, here: Path) -> None:
    """(That edits are read back from every format: `tests/writers/test_rewrite.py`.)"""
    name = "data.tsv"
    Path(name).write_text(star(states))
    Path("ontology.json").write_text(json.dumps(ONTOLOGY))
    found = audit.inconsistency(name, ontology="ontology.json")
    assert found.summary["missing"].item() > 50
    audit.correct(name, f"better-{name}", found, log="log.csv")
    before, after = gold_of(name), gold_of(f"better-{name}")
    assert {key: after[key] for key in before} == before
    assert len(after) - len(before) == found.proposals["turns"].sum()
    assert dstbench.contexts(name).equals(dstbench.contexts(f"better-{name}"))
    log = pl.read_csv("log.csv", infer_schema=False)
    assert log.columns == list(CANDIDATES.columns)
    added = log.filter(decision="added").sort("dialogue", pl.col("turn").cast(pl.UInt16), "slot")
    assert added["said"].to_list() == found.proposals["said"].to_list()
    again = audit.inconsistency(f"better-{name}", ontology="ontology.json")
    assert again.proposals.is_empty()
    audit.correct(f"better-{name}", f"again-{name}", again)
    assert Path(f"again-{name}").read_bytes() == Path(f"better-{name}").read_bytes()


# --- reviews -------------------------------------------------------------------------------------------------------


def filled(rows: list[tuple[str, str, int, str, str, str]]) -> str:
    """A sheet: (row, group, of, dialogue, right, missed); all additions are of one slot."""
    table = io.StringIO()
    names = ("row", "group", "of", "dialogue", "right", "missed", "slot")
    csv.writer(table).writerows([names, *((*row, "hotel-area" if row[0] == "addition" else "") for row in rows)])
    return table.getvalue()


SHEET: list[tuple[str, str, int, str, str, str]] = [
    ("dialogue", "changed", 20, "A", "", "1"),
    ("addition", "changed", 20, "A", "yes", ""),
    ("addition", "changed", 20, "A", " No ", ""),
    ("dialogue", "changed", 20, "B", "", "0"),
    ("addition", "changed", 20, "B", "y", ""),
    ("dialogue", "unchanged", 90, "C", "", "1"),
    ("dialogue", "unchanged", 90, "D", "", "0"),
    ("dialogue", "unchanged", 90, "E", "", "0"),
]


def test_measures_by_hand(here: Path) -> None:
    """Each changed dialogue stands for 10, each unchanged one for 30: 20 right, 10 wrong, 10 + 30 missed."""
    Path("s.csv").write_text(filled(SHEET))
    found = audit.review("s.csv").measures.filter(unit="additions")
    assert found["measure"].to_list() == ["precision", "recall", "f1"]
    assert found["value"].to_list() == pytest.approx([20 / 30, 20 / 60, 20 / (20 + (10 + 40) / 2)])
    assert found.select("right", "wrong", "missed", "dialogues").unique().rows() == [(2, 1, 2, 5)]
    # Precision: residuals 10·(1 − 2/3·2)/30 and 10·(1 − 2/3)/30, so the variance is 2·(1/9)²·… = 4/81.
    variance = 2 * 2 * (1 / 9) ** 2
    assert variance == pytest.approx(4 / 81)
    effective = min(3.0, (2 / 9) / variance)
    assert found.select("low", "high").row(0) == pytest.approx(wilson(2 / 3, effective))
    assert all(low < value < high for value, low, high in found.select("value", "low", "high").iter_rows())
    assert found["in_sample"].to_list() == pytest.approx([2 / 3, 2 / 4, 2 / (2 + (1 + 2) / 2)])


Dialogues = list[tuple[list[tuple[str, bool]], int]]
_ADDITIONS = st.lists(st.tuples(st.sampled_from(["hotel-area", "hotel-name", "train-day"]), st.booleans()), max_size=4)


def sheet_rows(dialogues: Dialogues, of: tuple[int, int], *, missed: bool) -> list[dict[str, str]]:
    """A filled sheet of dialogues: the (slot, whether it is right) of their additions, and how many are missed."""
    rows: list[dict[str, str]] = []
    for number, (additions, n) in enumerate(dialogues):
        group = "changed" if additions else "unchanged"
        row = {"group": group, "of": str(of[not additions]), "dialogue": f"D{number}"}
        rows.append({**row, "row": "dialogue", "missed": str(n) if missed else ""})
        rows += [
            {**row, "row": "addition", "turn": str(turn), "slot": slot, "right": "yes" if is_right else "no"}
            for turn, (slot, is_right) in enumerate(additions)
        ]
    return rows


def reviewed(rows: list[dict[str, str]]) -> audit.Review:
    with open("filled.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["row", "dialogue", "turn", "slot", "right", "missed", "group", "of"], "")
        writer.writeheader()
        writer.writerows(rows)
    return audit.review("filled.csv")


@settings(FEW, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    dialogues=st.lists(st.tuples(_ADDITIONS, st.integers(0, 2)), min_size=1, max_size=20),
    of=st.tuples(st.integers(20, 99), st.integers(20, 99)),
    missed=st.booleans(),
    random=st.randoms(use_true_random=False),
)
def test_a_filled_sheet_gives_back_its_answers(
    dialogues: Dialogues, of: tuple[int, int], missed: bool, random: Random, here: Path
) -> None:
    """Counts of the sample are those of plain loops; no order of rows and, for precision, no `missed` matter."""
    rows = sheet_rows(dialogues, of, missed=missed)
    found = reviewed(rows)
    random.shuffle(rows)
    again = reviewed(rows)
    assert all(getattr(found, f.name).equals(getattr(again, f.name)) for f in fields(found))

    answers = [answer for additions, _ in dialogues for answer in additions]
    slots = [
        (None, answers),
        *((slot, [a for a in answers if a[0] == slot]) for slot in sorted({a[0] for a in answers})),
    ]
    expected = [(slot, len(of_slot), sum(a[1] for a in of_slot)) for slot, of_slot in slots if of_slot]
    by_slot = found.additions
    assert by_slot.select("slot", "additions", "right").rows() == expected
    assert (by_slot["right"] + by_slot["wrong"]).equals(by_slot["additions"], check_names=False)
    for share, low, high, n, right in by_slot.select("share", "low", "high", "additions", "right").iter_rows():
        assert share == pytest.approx(right / n)
        plain = wilson(share, n)
        assert low <= plain[0] + 1e-9  # additions of a dialogue are alike: never less wide than if they were not
        assert plain[1] - 1e-9 <= high

    groups = {"changed": [d for d in dialogues if d[0]], "unchanged": [d for d in dialogues if not d[0]]}
    for row in found.dialogues.iter_rows(named=True):
        of_group = groups[row["group"]]
        is_right = [all(a[1] for a in d[0]) and (row["group"] == "changed" or d[1] == 0) for d in of_group]
        is_complete = [right and d[1] == 0 for right, d in zip(is_right, of_group, strict=True)]
        says = missed or row["group"] == "changed"
        assert row["of"] == of[row["group"] == "unchanged"]
        assert row["dialogues"] == len(of_group)
        assert row["right"] == (sum(is_right) if says else None)
        assert row["wrong"] == (len(of_group) - sum(is_right) if says else None)
        assert row["complete"] == (sum(is_complete) if missed else None)
    assert found.dialogues["group"].to_list() == [group for group in groups if groups[group]]

    measures = {(row["unit"], row["measure"]): row for row in found.measures.iter_rows(named=True)}
    for unit in ("additions", "dialogues"):
        precision = measures[unit, "precision"]
        assert precision["value"] == pytest.approx(precision["in_sample"])
        for measure in ("recall", "f1"):
            if not missed:
                assert [measures[unit, measure][name] for name in ("value", "low", "high", "missed")] == [None] * 4
    if answers:
        of_all = by_slot.row(0, named=True)
        precision = measures["additions", "precision"]
        assert [precision[name] for name in ("value", "low", "high")] == pytest.approx(
            [of_all[name] for name in ("share", "low", "high")]
        )
    with_missed = reviewed(sheet_rows(dialogues, of, missed=True)).measures.filter(measure="precision")
    assert with_missed.drop("missed").equals(found.measures.filter(measure="precision").drop("missed"))


@pytest.mark.parametrize("of", [(100, 100), (715, 285)])
def test_the_table_of_the_paper(of: tuple[int, int], here: Path) -> None:
    """Of 100 changed dialogues 97 are right, of 100 unchanged ones 96 (Qian et al. 2021, Table 3)."""
    changed: Dialogues = [([("hotel-area", True), ("hotel-name", number >= 3)], 0) for number in range(100)]
    unchanged: Dialogues = [([], int(number < 4)) for number in range(100)]
    found = reviewed(sheet_rows(changed + unchanged, of, missed=True))
    of_dialogues = found.measures.filter(unit="dialogues")
    assert found.dialogues.select("right", "wrong").rows() == [(97, 3), (96, 4)]
    assert of_dialogues["in_sample"].round(3).to_list() == [0.970, 0.960, 0.965]
    assert of_dialogues.select("right", "wrong", "missed").unique().rows() == [(97, 3, 4)]
    right, wrong, lacking = 0.97 * of[0], 0.03 * of[0], 0.04 * of[1]
    assert of_dialogues["value"].to_list() == pytest.approx(
        [0.97, right / (right + lacking), right / (right + (wrong + lacking) / 2)]
    )


@pytest.mark.parametrize(
    ("row", "change", "message"),
    [
        (1, {4: ""}, r"`right` is not filled in in row 2 \(dialogue A\)"),
        (1, {4: "maybe"}, "`right` is neither yes nor no in row 2"),
        (3, {5: ""}, r"`missed` is not filled in in row 4 \(dialogue B\)"),
        (3, {5: "few"}, "`missed` is not a number in row 4"),
        (3, {0: "turn"}, "`row` is neither dialogue nor addition in row 4"),
        (3, {1: "new"}, "`group` is neither changed nor unchanged in row 4"),
        (3, {2: "many"}, "`of` is not a number in row 4"),
        (3, {3: "Z"}, r"without a row of its own .* in row 5 \(dialogue B\)"),
        (3, {2: 21}, "`of` is not the same as in the rows before in row 4"),
        (4, {1: "unchanged", 2: 90}, r"a dialogue that is in both groups in row 4, .*\(dialogue B\)"),
        (4, {3: "A"}, r"a changed dialogue without additions in row 4 \(dialogue B\)"),
        (5, {0: "addition", 3: "D", 4: "yes"}, r"an unchanged dialogue with additions in row 6, .*\(dialogue D\)"),
    ],
)
def test_a_sheet_with_a_fault_is_refused(row: int, change: dict[int, Any], message: str, here: Path) -> None:
    rows = [*SHEET]
    rows[row] = tuple(change.get(i, cell) for i, cell in enumerate(rows[row]))
    Path("s.csv").write_text(filled(rows))
    with pytest.raises(dstbench.DstbenchError, match=message):
        audit.review("s.csv")


# --- several readers -----------------------------------------------------------------------------------------------


def sheet(answers: str, name: str) -> None:
    """Write SHEET with other answers: a row's character each, - for an empty cell."""
    rows = []
    for (row, group, of, dialogue, *_), answer in zip(SHEET, answers, strict=True):
        given = answer.replace("-", "")
        rows.append((row, group, of, dialogue, *((given, "") if row == "addition" else ("", given))))
    Path(f"{name}.csv").write_text(filled(rows))


def test_two_readers_by_hand(here: Path) -> None:
    """Of three additions two are judged alike: pₒ = 2/3, pₑ = 2/3 · 1/3 + 1/3 · 2/3 = 4/9, κ = (2/9) / (5/9)."""
    sheet("1yn0y100", "ann")
    sheet("1nn0y100", "bob")
    found = audit.agreement(["ann.csv", "bob.csv"])
    right, missed = found.agreement.iter_rows(named=True)
    assert list(right.values())[:6] == ["right", "cohen", 2, 3, 0, pytest.approx(2 / 3)]
    assert right["kappa"] == pytest.approx(2 / 5)
    assert right["low"] <= right["kappa"] <= right["high"]
    assert list(missed.values())[1:] == ["cohen", 2, 5, 0, 1.0, 1.0, 1.0, 1.0]
    for name in ("ann", "bob"):
        of_reader = found.measures.filter(reader=name).drop("reader")
        of_additions = audit.review(f"{name}.csv").measures.filter(unit="additions")
        assert of_reader.equals(of_additions.select(of_reader.columns))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([*SHEET[:3], *SHEET[4:]], r"bob.csv: row 4 is not that of ann \(dialogue B\)\nhint: readers' sheets"),
        (SHEET[:6], r"bob.csv: row 7 of ann is missing \(dialogue D\)"),
        ([*SHEET, ("dialogue", "unchanged", 90, "F", "", "0")], r"bob.csv: row 9 is not that of ann \(dialogue F\)"),
        ([(*SHEET[0][:2], 21, *SHEET[0][3:]), *SHEET[1:]], r"bob.csv: row 1 is not that of ann \(dialogue A\)"),
        ([*SHEET[:1], (*SHEET[1][:4], "maybe", ""), *SHEET[2:]], "bob.csv: `right` is neither yes nor no in row 2"),
    ],
)
def test_sheets_of_other_rows_are_refused(rows: list[Any], message: str, here: Path) -> None:
    Path("ann.csv").write_text(filled(SHEET))
    Path("bob.csv").write_text(filled(rows))
    with pytest.raises(dstbench.DstbenchError, match=message):
        audit.agreement(["ann.csv", "bob.csv"])


# --- the command line ----------------------------------------------------------------------------------------------


@pytest.fixture
def dataset(here: Path) -> Path:
    (here / "data.tsv").write_text(star(hotels(name=False)))
    (here / "ontology.json").write_text(json.dumps(ONTOLOGY))
    return here


def test_three_readers_and_rows_that_were_left_empty(here: Path) -> None:
    sheet("1yn0y100", "ann")
    sheet("1nn0y1-0", "bob")
    sheet("2-n0y000", "cy")
    found = audit.agreement(["ann.csv", "bob.csv", Path("cy.csv")])
    right, missed = found.agreement.iter_rows(named=True)
    assert [right[key] for key in ("statistic", "readers", "rows", "left_out", "kappa")] == ["fleiss", 3, 2, 1, 1.0]
    assert [missed[key] for key in ("rows", "left_out")] == [4, 1]
    # Of 4 · 3 pairs of answers 1 1 2, 0 0 0, 1 1 0 and 0 0 0, 8 agree; 0 is given seven times, 1 four times, 2 once.
    by_chance = (7**2 + 4**2 + 1) / 12**2
    assert missed["kappa"] == pytest.approx((8 / 12 - by_chance) / (1 - by_chance))
    ann = found.measures.row(0, named=True)
    assert [ann[key] for key in ("right", "wrong", "missed", "dialogues")] == [1, 1, 2, 4]


def test_values_come_from_ontologies_schemas_and_databases(here: Path) -> None:
    Path("o.json").write_text(json.dumps({"hotel-semi-area": ["north"], "hotel-area": ["south"]}))
    assert read_ontology("o.json") == {"hotel-area": {"north", "south"}}
    slots = [{"name": "hotel-bookday", "possible_values": ["monday"]}, {"name": "hotel-name"}]
    Path("s.json").write_text(json.dumps([{"service_name": "hotel", "slots": slots}]))
    assert read_ontology("s.json") == {"hotel-book day": {"monday"}, "hotel-name": frozenset()}
    Path("db").mkdir()
    Path("db/train_db.json").write_text(json.dumps([{"leaveAt": "05:00", "price": {"a": 1}}, {"leaveAt": "06:00"}]))
    assert read_database("db") == read_database("db/train_db.json") == {"train-leaveat": {"05:00", "06:00"}}
