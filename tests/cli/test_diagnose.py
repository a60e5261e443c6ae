"""Diagnoses and traits on the command line: what they print in each format, the figures, and mistakes of users."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dstbench
from dstbench.rendering.tables import render
from tests import formats
from tests.commands import ok, tables, whole
from tests.corpora import EXAMPLE


@pytest.fixture
def model(here: Path) -> Path:
    path = here / "model.json"
    path.write_text(formats.gtpr())
    return path


def test_a_diagnosis_shows_the_first_tables(model: Path) -> None:
    out = ok("diagnose", "model.json")
    conclusion, _, rest = out.partition("\n\n")
    assert ok("diagnose", "model.json", "--all").startswith(conclusion)
    found = tables(rest)
    (rates,) = found.values()
    whole_run = dstbench.diagnose("model.json")
    of = {kind: whole_run.errors.filter(kind=kind) for kind in ("missed", "wrong", "over")}
    shares = of["missed"]["of_gold"].sum(), of["wrong"]["of_gold"].sum(), of["over"]["of_predicted"].sum()
    assert rates[1] == ["model", "100.00", "0.00", *(f"{100 * share:.2f}" for share in shares)]
    assert "JGA by turn, in percent" not in found
    assert "--all: first failures, JGA by turn and length, errors by class, domain and slot, timing" in out
    assert ok("diagnose", "model.json", "--all", "--format", "md") == ok("diagnose", "model.json", "--format", "md")


@pytest.mark.parametrize("form", ["text", "md"])
def test_several_runs_stand_side_by_side(form: Any) -> None:
    runs = {"[red]": EXAMPLE, "right": [{**s, "pred": s["gold"]} for s in EXAMPLE[:1]]}
    text = whole(dstbench.diagnose(runs)) if form == "text" else render(dstbench.diagnose(runs), form)
    rows = [line.replace("|", " ").replace("\\", "").split() for line in text.splitlines()]
    assert ["turn", "[red]", "n", "of", "[red]", "right", "n", "of", "right"] in rows
    assert ["0", "100.00", "1", "100.00", "1"] in rows
    assert ["1", "0.00", "1", "-", "-"] in rows  # a turn that one run does not have
    assert "run" in render(dstbench.traits(runs), form)


def test_alternatives_in_gold_are_told() -> None:
    states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "north|south"}, "pred": {"hotel-area": "north"}}]
    for function in (dstbench.diagnose, dstbench.traits):
        with pytest.warns(dstbench.DstbenchWarning, match="gold lists alternatives"):
            function(states)
