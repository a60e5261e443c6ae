"""What one error costs, on the command line: its text, the other formats, the figure, and what users get wrong."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import fields
from pathlib import Path

import jsonschema
import polars as pl
import pytest

import dstbench
from data_schemas.write import TABLES
from dstbench.analysis.sensitivity import Sensitivity
from dstbench.demo import synthetic
from dstbench.rendering.charts.draw import draw_figure
from dstbench.rendering.charts.sensitivity import sensitivity_charts
from tests.commands import ok, run
from tests.schemas import schema

SCHEMAS = {"costs": "error_costs", "bias": "position_bias", "errors": "error_kinds"}


@pytest.fixture
def gold(here: Path) -> Path:
    runs = synthetic(30)
    dstbench.write_long(dstbench.open_runs({"gold": runs["careful"]})[0], "gold.parquet")
    return here


def test_text_begins_with_what_matters_most_and_shows_each_kind(gold: Path) -> None:
    out = ok("sensitivity", "gold.parquet", "-m", "jga,tla", "--kinds", "late,missed")
    found = dstbench.sensitivity("gold.parquet", metrics="jga,tla", kinds=["missed", "late"])
    conclusion, *_ = out.partition("\n\n")
    first, last = (100 * found.costs.filter(kind="missed", metric="jga")["loss"].gather([0, -1])).round(1)
    assert conclusion.splitlines()[0] == (
        f"jga depends most on the position: one missed value costs {first} points at 0-20 %, {last} at 80-100 %"
    )
    assert "tla depends least" in conclusion.splitlines()[1]
    bias = found.bias.filter(kind="missed", metric="jga").row(0, named=True)
    shown = [f"{100 * bias[name]:.2f}" for name in ("bias", "low", "high")]
    assert [*shown[:2], "to", shown[2], f"{bias['relative']:.3f}"] == next(
        line.split()[-5:] for line in out.splitlines() if line.startswith(" jga")
    )
    assert out.index("missed: the slot") < out.index("late: the value")
    assert all(len(line) <= 100 for line in out.splitlines() if not line.startswith("signature"))


def test_json_has_the_frames_that_the_schemas_say_and_csv_their_rows(gold: Path) -> None:
    document = json.loads(ok("sensitivity", "gold.parquet", "--format", "json"))
    assert list(document) == [field.name for field in fields(Sensitivity)]
    rows = list(csv.DictReader(io.StringIO(ok("sensitivity", "gold.parquet", "--format", "csv"))))
    found = dstbench.sensitivity("gold.parquet")
    for name, table in SCHEMAS.items():
        frame: pl.DataFrame = getattr(found, name)
        assert frame.schema == TABLES[table].schema
        assert document[name] == frame.to_dicts()
        assert sum(row["table"] == name for row in rows) == frame.height
        for row in document[name]:
            jsonschema.validate(row, schema(table))


def test_latex_prints_one_table_and_markdown_one_of_each_kind(gold: Path) -> None:
    out = ok("sensitivity", "gold.parquet", "-m", "jga,gca", "--kinds", "missed,swap", "--format", "latex")
    assert out.count("\\begin{tabular}") == 1
    assert out.count("JGA &") == 2
    assert "\\label{tab:sensitivity}" in out
    out = ok("sensitivity", "gold.parquet", "-m", "jga,gca", "--kinds", "missed,swap", "--format", "md")
    assert out.count("| metric |") == 2


def test_the_figure_has_a_panel_per_kind_and_a_line_per_metric(gold: Path) -> None:
    code, _, err = run("sensitivity", "gold.parquet", "--figures", "figures")
    assert (code, err) == (0, f"wrote {Path('figures/sensitivity.svg')}\n")
    found = dstbench.sensitivity("gold.parquet", metrics="jga,fga", kinds="missed,late")
    (chart,) = sensitivity_charts(found).values()
    points = chart["data"]["values"]
    assert {(point["kind"], point["metric"]) for point in points} == {
        (kind, metric) for kind in ("missed", "late") for metric in ("JGA", "FGA")
    }
    assert [point["loss"] for point in points] == found.costs["loss"].to_list()
    assert all(name.encode() in draw_figure(chart, "svg") for name in (">missed<", ">late<", ">JGA<", ">FGA<"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kinds", "mised"], "there is no kind of error 'mised'"),
        (["-m", "missed"], "a count of errors"),
        (["-m", "jgaa"], "did you mean jga"),
    ],
)
def test_mistakes_of_users(gold: Path, words: list[str], message: str) -> None:
    code, out, err = run("sensitivity", "gold.parquet", *words)
    assert (code, out) == (2, "")
    assert message in err


def test_one_dialogue_says_what_it_cannot_tell(here: Path) -> None:
    turn = {"dialogue_id": "A", "gold": {"hotel-area": "north"}, "pred": {}}
    Path("gold.jsonl").write_text("".join(f"{json.dumps({**turn, 'turn': n})}\n" for n in range(2)))
    code, out, err = run("sensitivity", "gold.jsonl")
    assert code == 0
    assert out.startswith("whether one missed value costs more early or late in a dialogue cannot be said")
    assert "at the same position" in err
