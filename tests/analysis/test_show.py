"""One dialogue turn by turn: what is shown, in each format, beside another run, and when it is not there."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import jsonschema
import polars as pl
import pytest

import dstbench
from data_schemas.write import TABLES
from dstbench.analysis.show import Walkthrough, walk_through, worst_dialogues
from dstbench.demo import worked
from dstbench.errors import DstbenchWarning
from dstbench.rendering.tables import render
from dstbench.rendering.terminal import Screen, laid_out_for
from tests import formats
from tests.commands import ok, run
from tests.corpora import EXAMPLE
from tests.schemas import FOLDER

#: Table A6 of Kim et al. 2022: PMUL4648, over-predicted from the first turn, swapped from the third.
A6 = next(item for item in worked() if item.name == "Table A6").states
SCHEMAS = {"said": "contexts", "slots": "slot_classes", "changes": "changes", "scores": "turn_scores"}


@pytest.fixture
def model(here: Path) -> Path:
    Path("model.jsonl").write_text("".join(f"{json.dumps(state)}\n" for state in A6))
    better = [{**state, "pred": state["gold"]} for state in A6]
    Path("better.jsonl").write_text("".join(f"{json.dumps(state)}\n" for state in better))
    return here


def test_scores_are_those_of_score_by_turn() -> None:
    found = walk_through(A6, "PMUL4648", metrics="jga,fga,gca,error-turns")
    for by, rows in (("turn", found.scores.drop_nulls("turn")), ("run", found.scores.filter(pl.col("turn").is_null()))):
        wanted = dstbench.score(A6, metrics="jga,fga,gca,error-turns", by=by)
        assert rows["value"].to_list() == wanted["value"].to_list()
        assert rows["metric"].to_list() == wanted["metric"].to_list()


def test_gold_of_two_runs_may_differ() -> None:
    other = [{**state, "gold": {**state["gold"], "attraction-name": "nushas"}} for state in A6]
    text = render(walk_through({"one": A6, "two": other}, "PMUL4648"), "text")
    assert "nusha / nushas" in text


def test_what_was_said(here: Path) -> None:
    Path("gold.tsv").write_text(formats.star_tsv())
    Path("model.json").write_text(formats.gtpr())
    said = dstbench.contexts("gold.tsv")
    user = said["user"][0]
    assert f"user: {user}" in ok("show", "model.json", "MUL7001", "--context", "gold.tsv")
    Path("bare.json").write_text(formats.mwzeval())
    assert f"user: {user}" in ok("show", "bare.json", "MUL7001", "--gold", "gold.tsv")  # gold's file has it
    assert run("contexts", "gold.tsv", "-o", "said.parquet")[0] == 0
    assert f"user: {user}" in ok("show", "model.json", "MUL7001", "--context", "said.parquet")
    assert dstbench.contexts("said.parquet").equals(said)
    said.drop("user").write_parquet("other.parquet")
    code, _, err = run("show", "model.json", "MUL7001", "--context", "other.parquet")
    assert code == 1
    assert err.startswith("error: other.parquet: not a table of contexts: ")
    with pytest.warns(DstbenchWarning, match=r"gold\.tsv has no utterances of PMUL4648"):
        walk_through(A6, "PMUL4648", context="gold.tsv")


@pytest.mark.again
def test_json_is_as_published(model: Path) -> None:
    document = json.loads(ok("show", "model.jsonl", "PMUL4648", "--format", "json"))
    for name, schema in SCHEMAS.items():
        valid = jsonschema.Draft202012Validator(json.loads((FOLDER / f"{schema}.schema.json").read_text()))
        for row in document[name]:
            valid.validate(row)
    found = walk_through(A6, "PMUL4648")
    assert all(getattr(found, name).schema == TABLES[schema].schema for name, schema in SCHEMAS.items())
    assert list(document) == [f.name for f in fields(Walkthrough)]
    valid = jsonschema.Draft202012Validator(json.loads((FOLDER / "dialogues.schema.json").read_text()))
    for row in json.loads(ok("show", "model.jsonl", "--format", "json"))["dialogues"]:
        valid.validate(row)


def test_a_dialogue_without_a_score_is_not_among_the_worst() -> None:
    states = [
        {"dialogue_id": name, "turn": 0, "gold": gold, "pred": {}}
        for name, gold in (("A", {}), ("B", {"hotel-area": "north"}), ("C", {}))
    ]
    assert worst_dialogues(states, metrics="aga").dialogues["dialogue"].to_list() == ["B", "A", "C"]
    assert " B " in render(worst_dialogues(states, metrics="aga", most=1), "text")


def test_colours_only_help() -> None:
    found = walk_through({"one": A6, "two": A6}, "PMUL4648")
    plain = render(found, "text")
    with laid_out_for(Screen(1000, coloured=True)):
        coloured = render(found, "text")
        assert "\x1b[31m" in render(walk_through(EXAMPLE, "MUL7001"), "text")  # wrong is red
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).split() == plain.split()


@pytest.mark.filterwarnings("ignore:.*not scored under:dstbench.DstbenchWarning")
def test_turns_without_prediction_or_score() -> None:
    gold = [{key: state[key] for key in ("dialogue_id", "turn", "gold")} for state in EXAMPLE]
    predicted = [{key: state[key] for key in ("dialogue_id", "turn", "pred")} for state in EXAMPLE[:1]]
    with pytest.warns(DstbenchWarning, match="1 gold turn without a prediction"):
        found = walk_through(predicted, "MUL7001", gold=gold, missing="wrong")
    assert "(no prediction)" in render(found, "text")
    last = render(walk_through(EXAMPLE, "MUL7001", profile=dstbench.profile("verbatim", turns="last")), "text")
    assert "turn 0\n  not scored under this convention\n\nturn 1\n" in last
