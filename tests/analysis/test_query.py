"""SQL over runs: the tables are what the functions give, and what is wrong with a query is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given

import dstbench
from dstbench.conventions.convention import Convention
from dstbench.demo import synthetic
from dstbench.rendering.tables import render_answer
from dstbench.scoring.error_classes import CLASSES
from tests import formats
from tests.commands import ok
from tests.corpora import EXAMPLE, FEW, LARGE, States, corpora

RUNS = {**synthetic(20), "example": EXAMPLE}


def plain(table: pl.DataFrame) -> pl.DataFrame:
    """Dictionary columns as strings, integers signed, as in a query."""
    integers = pl.selectors.integer()
    return table.with_columns(integers.cast(pl.Int64), pl.selectors.categorical().cast(pl.String))


@pytest.mark.again
@pytest.mark.filterwarnings("ignore:.*not comparable between all runs:dstbench.errors.DstbenchWarning")
def test_tables_are_what_functions_give() -> None:
    assert dstbench.query("SELECT * FROM long", RUNS).equals(plain(dstbench.scan(RUNS).collect()))
    assert dstbench.query("SELECT * FROM turns", RUNS).equals(plain(dstbench.turns(RUNS)))
    assert dstbench.query("SELECT * FROM scores", RUNS).equals(plain(dstbench.score(RUNS)))
    dialogues = dstbench.traits(RUNS, metrics="jga,fga").dialogues
    assert dstbench.query("SELECT * FROM dialogues", RUNS, metrics="jga,fga").equals(plain(dialogues))


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_table_of_the_users_is_joined(ending: str, here: Path) -> None:
    Path("gold.tsv").write_text(formats.star_tsv())
    said = dstbench.contexts("gold.tsv").with_columns(pl.col("dialogue").str.to_lowercase() + ".json")
    said.write_parquet("said.parquet")
    said.write_csv("said.csv", separator=";")
    sql = (
        """SELECT c.turn, slot, s."user" FROM classes AS c JOIN said AS s USING (dialogue, turn) WHERE kind = 'wrong'"""
    )
    wanted = [(1, "train-leaveat", said["user"][1])]
    assert dstbench.query(sql, EXAMPLE, tables={"said": f"said.{ending}"}).rows() == wanted
    assert dstbench.query(sql, EXAMPLE, tables={"said": said}).rows() == wanted
    Path("model.json").write_text(formats.gtpr())
    words = ("query", sql, "model.json", "--table", f"said=said.{ending}", "--format", "json")
    assert [tuple(row.values()) for row in next(iter(json.loads(ok(*words)).values()))] == wanted


def test_columns_of_the_users_tables(here: Path) -> None:
    """Slots and dialogues are those of runs; numbers of CSV are numbers, but ids with leading zeros are none."""
    text = (
        "dialogue;slot;n;share;id;mixed\nmul7001.json;hotel-semi-book day;3;0,5;007;1\nMUL7001;hotel-bookday;;1;008;x\n"
    )
    Path("t.csv").write_text(text)
    rows = dstbench.query("SELECT * FROM t", EXAMPLE, tables={"t": "t.csv"})
    assert rows.rows() == [
        ("MUL7001", "hotel-book day", 3, 0.5, "007", "1"),
        ("MUL7001", "hotel-book day", None, 1.0, "008", "x"),
    ]


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("turns", "t.csv", "'turns' is the name of a table of runs"),
        ("a b", "t.csv", "'a b' cannot be the name of a table"),
        ("t", "none.csv", "none.csv: no such file"),
        ("t", "t.json", "t.json: a web page"),
        ("u", "t.csv", r"relation 't' was not found\nhint: .*\n?.*table u: dialogue"),
    ],
)
def test_a_users_table_that_cannot_be_queried(name: str, table: str, message: str, here: Path) -> None:
    Path("t.csv").write_text("dialogue,user\nMUL7001,x\n")
    Path("t.json").write_text("<html>")
    with pytest.raises(dstbench.DstbenchError, match=f"(?s){message}"):
        dstbench.query("SELECT * FROM t", EXAMPLE, tables={name: table})


@pytest.mark.filterwarnings("ignore:.*of slots that gold never has:dstbench.errors.DstbenchWarning")
@FEW
@given(states=corpora(LARGE))
def test_classes_are_counted_as_a_diagnosis_does(states: States) -> None:
    found = dstbench.query("SELECT slot, class, kind, COUNT(*) AS n FROM classes GROUP BY slot, class, kind", states)
    wanted = dstbench.diagnose(states).errors_by_slot.filter(pl.col("n") > 0).select("slot", "class", "kind", "n")
    assert sorted(found.rows(), key=str) == sorted(wanted.rows(), key=str)
    assert all(CLASSES[name][0] == kind for name, kind in found.select("class", "kind").iter_rows())


@pytest.mark.filterwarnings("ignore:.*of slots that gold never has:dstbench.errors.DstbenchWarning")
@FEW
@given(states=corpora(LARGE))
def test_what_is_carried_is_as_in_the_turn_before(states: States) -> None:
    found = dstbench.query("SELECT * FROM classes", states)
    before = {(s["dialogue_id"], s["turn"]): s for s in states}
    listed = [{s for side in ("gold", "pred") for s, v in t[side].items() if v not in ("none", "")} for t in states]
    assert found.height == sum(map(len, listed))
    for row in found.iter_rows(named=True):
        last = before.get((row["dialogue"], row["turn"] - 1), {"gold": {}, "pred": {}})
        known = [last[side].get(row["slot"]) for side in ("gold", "pred")]
        assert row["carried"] == (known == [row["gold"], row["pred"]]), row


def test_numbers_are_signed_and_strings_are_strings() -> None:
    wanted = dstbench.scan(EXAMPLE).filter(pl.col("slot").cast(pl.String).str.starts_with("hotel")).collect().height
    sql = "SELECT MIN(turn - 1) AS t, COUNT(*) AS n FROM long WHERE slot LIKE 'hotel%'"
    assert dstbench.query(sql, EXAMPLE).row(0) == (-1, wanted)


def test_a_convention_is_followed() -> None:
    states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "North"}, "pred": {"hotel-area": "north"}}]
    sql = "SELECT kind, gold FROM classes"
    assert dstbench.query(sql, states).rows() == [("wrong", "North")]
    assert dstbench.query(sql, states, profile=Convention(gold_steps=("case",))).rows() == [("correct", "North")]


FAULTS = {
    "SELECT slott FROM classes": 'column "slott"\nhint: did you mean slot\\?\ntable classes: run, dialogue, turn',
    "SELECT * FROM turn": "'turn' was not found\nhint: did you mean turns\\?\ntable long: run, dialogue, turn, slot",
    "SELEC": "found: SELEC",  # misspelt
    "SELECT gold + 1 FROM long": "arithmetic",
    "SELECT 1; SELECT 2": "only one",
    " -- nothing\n": "the query is empty",
    "/* x */ DROP TABLE long": "DROP changes tables",
    "(DELETE FROM long)": "DELETE changes tables",
    "SELECT * FROM read_csv('none.csv')": "read_csv reads files",
    "SELECT jga FROM dialogues WHERE CAST(run AS INT) > 0": "the query fails",
}


@pytest.mark.parametrize("sql", FAULTS)
def test_faults_are_told(sql: str) -> None:
    with pytest.raises(dstbench.UsageError, match=FAULTS[sql]):
        dstbench.query(sql, EXAMPLE)


def test_faults_are_told_before_files_are_read() -> None:
    with pytest.raises(dstbench.UsageError, match="slott"):
        dstbench.query("SELECT slott FROM classes", "none.json")
    with pytest.raises(dstbench.DstbenchError, match="no such file"):
        dstbench.query("SELECT slot FROM classes", "none.json")


@pytest.mark.parametrize("form", ["text", "json", "csv", "md", "latex"])
def test_any_type_can_be_printed(form: Any) -> None:
    sql = """SELECT CAST('NaN' AS DOUBLE) AS nan, LN(0) AS less, ARRAY_AGG(turn) AS turns, DATE '2024-01-02' AS day,
             NULL AS nothing, CAST(1.5 AS DECIMAL(5, 2)) AS tenths, CAST(1 AS DOUBLE) / 3 AS third, turn > 9 AS late
             FROM long GROUP BY turn > 9"""
    text = render_answer(dstbench.query(sql, EXAMPLE), form)
    assert "2024-01-02" in text
    if form == "json":
        (row,) = json.loads(text)["rows"]
        assert (row["nan"], row["less"], row["tenths"], row["third"]) == (None, None, 1.5, 1 / 3)
        assert isinstance(row["turns"], list)
