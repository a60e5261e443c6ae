"""Every chart of every command that draws is drawn, through the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import typer

import dstbench
from dstbench.cli.app import app
from dstbench.demo import synthetic
from tests import planted
from tests.commands import run

pytestmark = pytest.mark.looks

_DIAGNOSIS = {"first_failures", "gold_slots", "by_turn", "by_length", "errors", "timing"}
_TRAITS = {"to_mean", "nu_paper", "traits"}
#: Of each command that draws: its arguments, and the charts that these make.
COMMANDS: Final = {
    "score": ("careful.parquet eager.parquet --by domain", {"scores"}),
    "compare": (
        "careful.parquet eager.parquet --model m=careful,eager --model n=forgetful forgetful.parquet --resamples 50",
        {"scores", "models", "differences", "spread"},
    ),
    "compare-metrics": ("careful.parquet eager.parquet forgetful.parquet --resamples 50", {"spread", "orders"}),
    "correlate": ("careful.parquet", {"correlations"}),
    "diagnose": ("careful.parquet", _DIAGNOSIS),
    "sensitivity": ("careful.parquet", {"sensitivity"}),
    "sweep": ("careful.parquet", {"conventions"}),
    "traits": ("careful.parquet", _TRAITS),
    "report": (
        "careful.parquet eager.parquet -m jga -o report.html",
        {
            *_DIAGNOSIS,
            *_TRAITS,
            "scores",
            "differences",
            "spread",
            "domains",
            "slots",
            "conventions",
            "sensitivity",
            "scores_by_turn",
            "correlations",
        },
    ),
    "audit bias": ("gold.jsonl", {"bias", "values"}),
    "audit diff": ("gold.jsonl less.jsonl", {"differences"}),
    "audit inconsistency": ("less.jsonl --ontology ontology.json", {"modified", "speakers", "pairs"}),
    "audit memorisation": ("predicted.jsonl --gold gold.jsonl --context gold.jsonl", {"memorised"}),
    "audit scores": ("predicted.jsonl --version 1=gold.jsonl --version 2=less.jsonl", {"error_turns"}),
}


def drawing_commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from drawing_commands(inner, (*path, name))
    elif any("--figures" in option.opts for option in command.params):
        yield " ".join(path)


def test_every_command_that_draws_is_here() -> None:
    assert sorted(drawing_commands(typer.main.get_command(app))) == sorted(COMMANDS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs, and a dataset with its utterances, complete, with annotations taken out, and predicted wrong."""
    path = tmp_path_factory.mktemp("figures")
    for name, states in synthetic(20).items():
        dstbench.write_long(dstbench.open_runs({name: states})[0], path / f"{name}.parquet")
    gold = planted.consistent(60, 1)
    wrong = [{**state, "gold": {slot: f"x {value}" for slot, value in state["gold"].items()}} for state in gold]
    predicted = [{"dialogue_id": s["dialogue_id"], "turn": s["turn"], "pred": s["gold"]} for s in wrong]
    less, _ = planted.take_out(gold, 0.1, 1)
    for name, rows in (("gold", gold), ("less", less), ("predicted", predicted)):
        (path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (path / "ontology.json").write_text(json.dumps(planted.ONTOLOGY))
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_chart_is_drawn(command: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    words, charts = COMMANDS[command]
    drawn = tmp_path / "figures"
    code, _, err = run(*command.split(), *words.split(), "--figures", str(drawn))
    assert code == 0, err
    assert {file.stem for file in drawn.iterdir()} == charts
    assert all(file.stat().st_size > 0 for file in drawn.iterdir())
