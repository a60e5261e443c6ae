"""Formulas are what metrics compute: Python evaluates them over a turn table."""

from __future__ import annotations

from math import exp, floor
from typing import Any

import pytest

import dstbench
from dstbench.conventions.slots import slot_total
from dstbench.demo import synthetic
from dstbench.metrics import REGISTRY
from dstbench.metrics.formulas import formulas
from tests.commands import ok, run
from tests.corpora import OF_FRAMES


def evaluate(text: str, values: dict[str, Any]) -> Any:
    """The value of a formula, where names stand for these values."""
    names = {name: f"v{number}" for number, name in enumerate(sorted(values, key=len, reverse=True))}
    for name, short in names.items():  # the longest first, as names may be within names
        text = text.replace(name, short)
    text = text.replace("is not null", "is not None").replace("null", "None")
    return eval(text, {"exp": exp, "floor": floor, "min": min, **{names[name]: values[name] for name in values}})  # noqa: S307


@pytest.mark.again
@pytest.mark.parametrize("name", [name for name in REGISTRY if name not in OF_FRAMES])
def test_a_formula_gives_the_score(name: str) -> None:
    run_ = synthetic(20)["careful"]
    metric = REGISTRY[name]()
    metric = metric.resolve(slot_total((), is_multiwoz=True)) if metric.needs_total else metric
    parts = formulas(metric)
    stats = dict((one.split(" = ", 1) * 2)[:2] for one in parts["per_turn"].split("; "))
    turns = dstbench.turns(run_).to_dicts()
    sums = {stat: sum(evaluate(text, turn) or 0 for turn in turns) for stat, text in stats.items()}
    wanted = dstbench.score(run_, metrics=name)["value"].item()
    assert wanted is not None
    assert evaluate(parts["value"], sums) == pytest.approx(wanted, abs=1e-12)


def test_ls_shows_them_for_metrics_only() -> None:
    assert "right = n_correct == n_union" in " ".join(ok("ls", "metrics", "jga", "--expressions").split())
    assert run("ls", "steps", "--expressions")[0] == 2
