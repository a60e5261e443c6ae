"""Sums per dialogue of several runs over one gold, side by side.

Conventions: runs are paired by dialogue, so all runs must have the same scored turns with the same gold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from dstbench.arrays import Floats
from dstbench.conventions.convention import Convention
from dstbench.errors import DstbenchError
from dstbench.metrics import Metric, score_of, stats_of
from dstbench.runs.run import Run
from dstbench.scoring.partitions import Part, over_parts
from dstbench.scoring.score import score_run, warn_of_differences, warn_of_frames
from dstbench.scoring.validation import warn_of_scores
from dstbench.stats import as_exact_floats

_SCORES: Final = ("run", "metric", "unit", "value", "turns", "dialogues", "signature")


@dataclass(frozen=True)
class Paired:
    """Runs over the same dialogues."""

    runs: list[str]
    metrics: list[Metric]  # parameters that depend on the slots have their values
    statistics: list[str]  # that the metrics need
    sums: Floats  # runs × dialogues × statistics, as doubles that add up without rounding
    scores: pl.DataFrame  # the runs' rows, `_SCORES`

    def score(self, metric: Metric) -> Callable[[Floats], Floats]:
        """A metric as a function from sums (B × statistics) to scores (B); NaN where undefined."""
        columns = {name: pl.col(name) for name in stats_of(metric)}
        value = score_of(metric, columns).fill_null(np.nan).alias("value")
        at = {name: self.statistics.index(name) for name in columns}

        def score(sums: Floats) -> Floats:
            return pl.DataFrame({name: sums[:, i] for name, i in at.items()}).select(value).to_series().to_numpy()

        return score


def pair_up(runs: Sequence[Run], metrics: Sequence[Metric], convention: Convention) -> Paired:
    """The sums per dialogue of runs over one gold."""
    warn_of_frames(runs, convention)
    scored, of_runs = [], []
    for run in runs:
        rows, sums = score_run(run, metrics, ["dialogue"], convention, spelling=True)
        scored.append((run, sums))
        first = scored[0][1]
        if (sums.fingerprint, sums.turns, sums.dialogues) != (first.fingerprint, first.turns, first.dialogues):
            raise _difference(runs[0], run, convention)
        if sums.dialogues < 2:
            what = "fewer than two dialogues are scored, and intervals and tests come from resampling dialogues"
            raise DstbenchError(what, file=run.name, hint="`dstbench score` works with any number")
        of_runs.append(rows)
    warn_of_scores(scored, convention)
    warn_of_differences(pl.concat(of_runs))
    # Gold that differs only in values that mean "not in the state" may have more slots.
    resolved = [*max((sums for _, sums in scored), key=lambda sums: len(sums.gold_slots)).metrics]
    statistics = list(dict.fromkeys(name for metric in resolved for name in stats_of(metric)))
    dialogues = pl.concat([sums.table.select("dialogue") for _, sums in scored]).unique().sort("dialogue")
    # 0 if a run has no scored frame in a dialogue, as this can depend on its predictions.
    columns = [pl.col(f"stat:{name}").cast(pl.Float64).fill_null(0) for name in statistics]
    sums_of_runs = [
        dialogues.join(sums.table, on="dialogue", how="left", maintain_order="left").select(columns).to_numpy()
        for _, sums in scored
    ]
    scores = [score_run(run, resolved, [], convention)[0].select(_SCORES) for run in runs]
    names = [run.name for run in runs]
    return Paired(names, resolved, statistics, as_exact_floats(np.stack(sums_of_runs)), pl.concat(scores))


def _difference(one: Run, other: Run, convention: Convention) -> DstbenchError:
    """The error for two runs whose scored turns or gold differ: the first place, and in how many turns."""

    def gold_of_part(part: Part) -> pl.DataFrame:
        """The scored turns, each with the values that gold has."""
        values = part.rows().judged(convention).drop_nulls("g").select("number", "turn", "slot", "g", "gold")
        turns = part.turns(convention).scored.select("number", "dialogue", "turn")
        return turns.join(values, on=["number", "turn"], how="left").drop("number").cast(pl.String).collect()

    turn, cell = ["dialogue", "turn"], ["dialogue", "turn", "slot"]
    of_one, of_other = (pl.concat(over_parts(run, gold_of_part)).cast({"turn": pl.Int64}) for run in (one, other))
    only = [of_one.join(of_other, on=turn, how="anti"), of_other.join(of_one, on=turn, how="anti")]
    if turns := sum(rows.select(turn).n_unique() for rows in only):
        has, lacks, rows = (one, other, only[0]) if only[0].height else (other, one, only[1])
        hint = (
            "all runs must have the same test set: --gold FILE gives it to all; --missing wrong counts turns that a "
            "run lacks as wrong, and --missing intersect leaves them out for all runs"
        )
        if convention.turns == "pred":
            hint = "which turns are scored depends on what is predicted; --turns all scores all of them"
        return DstbenchError(
            f"it lacks a turn that {has.name} has; turns scored in one of them only: {turns:,}",
            file=lacks.name,
            **rows.sort(turn).select(turn).row(0, named=True),
            hint=hint,
        )
    both = of_one.join(of_other, on=cell, how="full", coalesce=True, nulls_equal=True, suffix="_other")
    differing = both.filter(pl.col("g").ne_missing(pl.col("g_other"))).sort(cell)
    first = differing.row(0, named=True)
    wanted, value = ("no value" if first[name] is None else repr(first[name]) for name in ("gold", "gold_other"))
    turns = differing.select(turn).n_unique()
    return DstbenchError(
        f"its gold is not that of {one.name}: {value} instead of {wanted}; turns that differ: {turns:,}",
        file=other.name,
        **{name: first[name] for name in cell},
        hint="all runs must have the same version of a dataset; --gold FILE gives it to all",
    )
