"""What notebooks show of records: the finding first, then all of the first table, and no markup of others."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

import dstbench
from data_schemas.write import TABLES
from dstbench import audit, stats
from dstbench.demo import synthetic
from dstbench.io.escape import csv_text
from dstbench.rendering.tables import LAYOUTS, layout_of, render
from dstbench.schema.record import Record
from tests.planted import consistent, find, memory, said, take_out
from tests.schemas import schema
from tests.test_public import PUBLIC

pytestmark = pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")

HOSTILE = "<img src=x onerror=alert(1)>"


class Text(HTMLParser):
    """The texts in the order in which they stand, and the names of elements."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.names: set[str] = set()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)

    def handle_data(self, data: str) -> None:
        if data.strip():  # between elements, white space is not seen
            self.texts.append(data)


def holds_frames(thing: Any) -> bool:
    if not dataclasses.is_dataclass(thing):
        return False
    return any("DataFrame" in str(field.type) or "Side" in str(field.type) for field in dataclasses.fields(thing))


def reviewed(states: Any, here: Path) -> dict[str, Any]:
    """A review of a correction by two readers, to whom different additions are right."""
    found = find(states)
    sheet = audit.review_sheet(memory(states), found, said=said(states), sample=20)
    is_addition = pl.col("row") == "addition"
    for reader, answer in (("ann", "yes"), ("bob", "no")):
        right = pl.when(is_addition).then(
            pl.when(pl.col("slot") == "hotel-area").then(pl.lit(answer)).otherwise(pl.lit("yes"))
        )
        filled = sheet.with_columns(right=right, missed=pl.when(~is_addition).then(0))
        (here / f"{reader}.csv").write_text(csv_text(filled), encoding="utf-8-sig")
    return {
        "Inconsistency": found,
        "Review": audit.review(here / "ann.csv"),
        "Agreement": audit.agreement([here / "ann.csv", here / "bob.csv"]),
    }


#: What only commands show.
OF_COMMANDS = {"Walkthrough", "Worst"}


def replaced(here: Path) -> audit.Replacement:
    """Hotels that training has, replaced in a dataset in T5DST's layout."""
    for number, name in enumerate(("train.json", "test.json")):
        turn = {"system": "none", "user": "the acorn lodge", "state": {"slot_values": {"hotel-name": "acorn lodge"}}}
        (here / name).write_text(json.dumps([{"dial_id": f"D{number}", "turns": [turn]}]))
    donors = {"hotel-name": ["gable inn"]}
    return audit.replace(here / "test.json", here / "new.json", train=here / "train.json", donors=donors)


@cache
def runs() -> dict[str, Any]:
    """Three runs, the first with a hostile name."""
    return {HOSTILE if run == "careful" else run: data for run, data in synthetic(25).items()}


@pytest.fixture(scope="module")
def of_all(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A record of each kind, by its class's name; what can have a name has one that would be markup."""
    here, data = tmp_path_factory.mktemp("records"), runs()
    first, second, *_ = data.values()
    states, _ = take_out(consistent(25, 8), 0.2, 8)
    silence = dstbench.scan(first).select("dialogue", "turn").unique().collect()
    silence = silence.with_columns(system=pl.lit(None, pl.String), user=pl.lit("hello"))
    made = [
        dstbench.compare(data, metrics="jga,f1", resamples=100),
        dstbench.diagnose(data),
        dstbench.traits(data),
        dstbench.correlate(data, metrics="jga,sa,f1"),
        dstbench.compare_metrics(data, resamples=100),
        dstbench.sensitivity(first, sample=1),
        dstbench.reconcile("99.99", {HOSTILE: first}, most=1),
        dstbench.diff(first, second, resamples=100),
        audit.bias({"train": first, HOSTILE: second}),
        audit.diff(first, second, names=(HOSTILE, "new")),
        audit.memorisation(data, context=silence),
        audit.scores(data, {"old": first, HOSTILE: second}, profile="verbatim"),
        audit.contradictions(first, said=silence),
        replaced(here),
        *reviewed(states, here).values(),
        dstbench.open_runs(data)[0],
        dstbench.profile("trade"),
    ]
    return {type(record).__name__: record for record in made}


@pytest.fixture(scope="module")
def of_options(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Further records, whose tables are empty in those above, or have other columns."""
    data = runs()
    rated = dstbench.score(data, metrics="jga", by="dialogue").select(
        "run", "dialogue", rating=pl.int_range(pl.len()) % 5
    )
    path = tmp_path_factory.mktemp("ratings") / "ratings.csv"
    rated.write_csv(path)
    golds = dict(zip(("old", "new"), data.values(), strict=False))
    return [
        dstbench.compare(data, metrics="jga", models={"m": ["eager", "forgetful"]}, resamples=100),
        dstbench.traits(data, disagree=["fga", "gca"]),
        dstbench.compare_metrics(
            {f"run {n}": table for n, table in enumerate(synthetic(30).values())}, along="share", resamples=100
        ),
        dstbench.correlate(data, between_runs=True, test="all"),
        dstbench.correlate(data, ratings=path),
        audit.bias(data["eager"]),
        audit.diff(data["eager"], data["eager"].with_columns(pl.col("gold").replace("yes", "no"))),
        audit.scores(data, golds),
    ]


#: What no schema describes: signatures, of which a command's JSON has those of its rows.
UNDESCRIBED = {
    "signatures": ["run", "metric", "unit", "signature"],
    "MetricComparison.scores": ["run", "metric", "unit", "value", "se", "signature"],
}


@pytest.mark.again
def test_every_table_of_a_record_is_what_a_published_schema_says(of_all: dict[str, Any], of_options: list[Any]) -> None:
    """Its columns and their types; which of these may be undefined; and each row, as JSON."""
    filled, every = set(), set()
    for record in (*of_all.values(), *of_options):
        for key in (field.name for field in dataclasses.fields(record)):
            frame, place = getattr(record, key), f"{type(record).__name__}.{key}"
            if not isinstance(frame, pl.DataFrame):
                continue
            if columns := UNDESCRIBED.get(key) or UNDESCRIBED.get(place):
                assert frame.columns == columns, place
                continue
            every.add(place)
            fit = [name for name, table in TABLES.items() if frame.schema == table.schema] or [
                name for name, table in TABLES.items()
                if table.is_open and dict(table.schema).items() <= dict(frame.schema).items()
            ]  # fmt: skip
            assert fit, (place, frame.schema)
            filled |= {place} if frame.height else set()
            described = TABLES[fit[0]].columns.items()
            assert all(column.nullable or not frame[name].null_count() for name, column in described), place
            valid = jsonschema.Draft202012Validator(schema(fit[0]))
            for row in frame.head(20).iter_rows(named=True):
                valid.validate(row)
        if type(record).__name__ in LAYOUTS and not isinstance(record, audit.Inconsistency):  # whose logs are files
            keys = [field.name for field in dataclasses.fields(record)]
            assert [*json.loads(render(record, "json"))] == keys
    assert every - filled == {"Differences.splits", "Replacement.refused"}


def test_every_public_record_of_tables_is_shown_and_in_a_way_of_its_own() -> None:
    shown = {name: thing for name, thing in PUBLIC.items() if holds_frames(thing)}
    assert len(shown) > 15
    for name, thing in shown.items():
        assert hasattr(thing, "_repr_html_"), name
    as_they_are = {"Aligned", "Run", "States", "Convention"}
    assert {kind.__name__ for kind in Record.__subclasses__()} == as_they_are | {
        name for name in LAYOUTS if name[0].isupper() and name not in OF_COMMANDS
    }


def test_all_that_public_functions_return_is_shown() -> None:
    """Records of several fields, that is, of tables or of numbers, in all packages."""
    returned: dict[str, Any] = {}
    for thing in PUBLIC.values():
        methods = vars(thing).values() if inspect.isclass(thing) else [thing]
        for function in [getattr(method, "__func__", method) for method in methods]:
            if inspect.isfunction(function) and not function.__name__.startswith("_"):
                said = str(inspect.signature(function).return_annotation)
                module = inspect.unwrap(function).__globals__
                returned |= {word: module[word] for word in re.findall(r"\w+", said) if word in module}
    records = {
        name: thing for name, thing in returned.items()
        if dataclasses.is_dataclass(thing) or hasattr(thing, "_fields")
    }  # fmt: skip
    assert records.keys() >= {"Comparison", "Estimate", "Kappa", "Leaderboard", "RankCorrelation"}
    assert [name for name, thing in records.items() if not hasattr(thing, "_repr_html_")] == []


def test_numbers_are_shown_by_name() -> None:
    one = stats.kappa([[1, 1], [2, 2], [1, 2], [2, 2]], resamples=50)
    texts = Text(one._repr_html_()).texts
    for field in dataclasses.fields(one):
        assert texts[texts.index(field.name) + 1] == str(getattr(one, field.name))


@pytest.mark.again
def test_the_finding_comes_first_and_then_the_whole_first_table(of_all: dict[str, Any]) -> None:
    for name, record in of_all.items():
        text = Text(record._repr_html_()).texts[1:]  # after the styles
        if name not in LAYOUTS:
            assert text[0] == name
            continue
        page, finding = layout_of(record), [*layout_of(record).findings]
        (title, table), *folded = page.sections
        assert text[: len(finding)] == finding, name
        assert text[len(finding)].startswith(title), name
        rest = text[len(finding) + 1 :]
        cells = [cell for row in table.head(25).iter_rows() for cell in row if cell and " (" not in cell]
        assert cells, name
        for wanted in [*table.columns, *cells, *(title for title, _ in folded), *page.notes]:
            assert wanted in rest or wanted in finding or wanted == "", (name, wanted)


@pytest.mark.again
def test_no_name_becomes_markup(of_all: dict[str, Any]) -> None:
    shown = {name: Text(record._repr_html_()) for name, record in of_all.items()}
    assert not {name for name, text in shown.items() if "img" in text.names}
    assert sum(any(HOSTILE in text for text in page.texts) for page in shown.values()) >= 9


@pytest.mark.again
def test_long_tables_are_cut_and_say_so() -> None:
    many = dict.fromkeys([f"run {number:02}" for number in range(30)], synthetic(4, trackers=["eager"])["eager"])
    text = Text(dstbench.compare(many, metrics="jga", resamples=20)._repr_html_()).texts
    assert "Scores and 95 % intervals (the first 25 of 30)" in text
    assert "run 24" in text
    assert "run 29" not in text[: text.index("Differences in jga")]


def test_states_are_shown_as_they_are(tmp_path: Path) -> None:
    states = [{"dialogue_id": f"D{n}", "turn": 0, "gold": {"hotel-area": HOSTILE}, "pred": {}} for n in range(12)]
    (tmp_path / "states.jsonl").write_text("".join(json.dumps(state) + "\n" for state in states))
    read = dstbench.read(dstbench.readers.Source(tmp_path / "states.jsonl"))
    shown = Text(read._repr_html_())
    assert "img" not in shown.names
    assert shown.texts.count(HOSTILE) == 10
    assert {"gold.cells: 12 rows, the first of them", "pred.cells: 0 rows"} <= {*shown.texts}
