"""What is said beside a score: how much of it is spelling or alternatives alone, and which option accepts them.

Conventions: a wrong slot differs *by spelling* if gold and prediction are equal, or both mean "not in the state", once
both are brought to one spelling (`normalise.LOOSE`). A turn is wrong by spelling alone if all of its wrong slots are.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from dstbench.conventions.profiles import profile, suits
from dstbench.errors import DstbenchWarning
from dstbench.metrics import parse, stats_of
from dstbench.metrics.goal_accuracy import ERRORS, SA
from dstbench.runs.codes import to_column
from dstbench.runs.layout import lay_out
from dstbench.scoring.changes import find_changes, spelling_errors
from dstbench.scoring.partitions import over_partitions
from dstbench.scoring.scope import gold_counts
from dstbench.scoring.sums import sum_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dstbench.conventions.convention import Convention
    from dstbench.metrics import Metric
    from dstbench.runs.run import Run
    from dstbench.scoring.sums import Spelling, Sums

#: Of how much JGA spelling must cost to be worth a line.
_WORTH: Final = 0.01
# The profile that brings both sides to one spelling.
_CANONICAL: Final = "star"
_MOST: Final = 2  # examples that a line names


@dataclass(frozen=True)
class Remedy:
    """What another spelling of the same values would give.

    Attributes:
        option: What to add to the command line.
        jga: The joint goal accuracy that it gives.
    """

    option: str
    jga: float


def asks_for_spelling(run: Run, by: Sequence[str], convention: Convention) -> bool:
    """Whether turns that are wrong by spelling can be counted: whole turns, of states."""
    return convention.unit == "turn" and not {"domain", "slot"} & set(by) and not run.meta.get("only")


def jga_of(run: Run, convention: Convention) -> float | None:
    """A run's joint goal accuracy; None: undefined."""
    right, turns = (
        sum_up(run, stats_of(parse("jga")), [], convention, named=False).table.select("stat:right", "stat:turns").row(0)
    )
    return right / turns if turns else None


def spelling_remedy(run: Run, convention: Convention, jga: float) -> Remedy | None:
    """The option under which values that differ by spelling are equal, if JGA gains more than a point by it.

    Args:
        run: The run.
        convention: The convention under which it is scored.
        jga: What it scores.
    """
    loose = convention.loosened()
    steps = ",".join(loose.gold_steps), ",".join(loose.pred_steps)
    options = {f"--gold-steps {steps[0]} --pred-steps {steps[1]}": loose}
    canonical = profile(_CANONICAL)
    if convention == profile("verbatim") and not suits(canonical, frozenset(gold_counts(run)["slot"])):
        options = {f"--profile {_CANONICAL}": canonical, **options}
    for option, other in options.items():
        gives = jga_of(run, other)
        if gives is not None and gives - jga > _WORTH:
            return Remedy(option, gives)
    return None


def warn_of_spelling(runs: Sequence[tuple[Run, Spelling | None]], convention: Convention) -> None:
    """Say which runs lose more than a point of JGA to spelling alone, and what takes their values for equal.

    Args:
        runs: Runs, each with its `Sums.spelling`.
        convention: The convention under which they are scored.
    """
    clauses: dict[str, list[str]] = {}
    examples: list[str] = []
    for run, spelling in runs:
        if spelling is None or spelling.wrong <= _WORTH * spelling.turns:
            continue
        jga = spelling.right / spelling.turns
        remedy = spelling_remedy(run, convention, jga)
        if remedy is not None:
            turns_text = f"{spelling.wrong:,} turn{'s' if spelling.wrong > 1 else ''}"
            gain = f"{100 * jga:.2f} to {100 * remedy.jga:.2f} ({run.name}, {turns_text})"
            clauses.setdefault(remedy.option, []).append(gain)
            examples = examples or spelling_examples(run, convention)
    for option, gains in clauses.items():
        warnings.warn(
            f"turns are wrong by spelling alone, such as {', '.join(examples)}: {option} takes jga from "
            f"{', '.join(gains)}",
            DstbenchWarning,
            stacklevel=3,
        )


def warn_of_alternatives(run: Run, sums: Sums, convention: Convention) -> None:
    """Say it where gold lists alternatives and the convention takes them for one string, and what that costs.

    Args:
        run: The run.
        sums: What it sums up to.
        convention: The convention under which it is scored.
    """
    if sums.alternatives is None:
        return
    spelling = sums.spelling
    now = spelling.right / spelling.turns if spelling and spelling.turns else jga_of(run, convention)
    then = jga_of(run, replace(convention, multi="any"))
    gives = "" if now is None or then is None else f", which takes jga from {100 * now:.2f} to {100 * then:.2f}"
    warnings.warn(
        f"{run.name}: gold lists alternatives, such as {sums.alternatives!r}, and they are compared as "
        f"written; --multi any accepts each of them{gives}",
        DstbenchWarning,
        stacklevel=3,
    )


def warn_of_negative_turns(run: Run, metrics: Sequence[Metric], sums: Sums) -> None:
    """Say it where a turn has more errors than slot accuracy has slots.

    Args:
        run: The run.
        metrics: The metrics, with every parameter filled in.
        sums: What it sums up to.
    """
    for metric in metrics:
        if isinstance(metric, SA) and 0 < metric.T < sums.most.get(ERRORS, 0):
            warnings.warn(
                f"{run.name}: a turn has {sums.most[ERRORS]} wrong slots, more than the T = {metric.T} of {metric}; "
                "such turns score below 0",
                DstbenchWarning,
                stacklevel=3,
            )


def spelling_examples(run: Run, convention: Convention) -> list[str]:
    """The most frequent pairs of values that differ by spelling, in words."""

    def part(table: pl.DataFrame) -> pl.DataFrame:
        rows = lay_out(table)
        changes = find_changes(rows, convention)
        at = np.flatnonzero(spelling_errors(rows, changes))
        columns = {"slot": rows.slot, "gold": rows.gold, "pred": rows.pred}
        pairs = pl.DataFrame({name: to_column(column[changes.row[at]]) for name, column in columns.items()})
        pairs = pairs.with_columns(turns=(changes.after - changes.place)[at])
        return pairs.group_by("slot", "gold", "pred").agg(pl.col("turns").sum())

    pairs = pl.concat(over_partitions(run, part)).group_by("slot", "gold", "pred").agg(pl.col("turns").sum())
    texts = pairs.with_columns(pl.col("slot", "gold", "pred").cast(pl.String))
    ordered = texts.sort("turns", "slot", "gold", "pred", descending=[True, False, False, False], nulls_last=True)
    return [f"{slot} {gold!r} / {pred!r}" for slot, gold, pred, _ in ordered.head(_MOST).iter_rows()]
