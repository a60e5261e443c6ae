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
from dstbench.errors import DstbenchError, warn
from dstbench.metrics import Metric, score_of, stats_of
from dstbench.readers.frames import IS_FRAME
from dstbench.runs.run import Run
from dstbench.scoring.partitions import Part, over_parts
from dstbench.scoring.scope import warn_of_scores
from dstbench.scoring.score import score_run, warn_of_frames
from dstbench.scoring.sums import Sums, resolve
from dstbench.scoring.turns import scored_turns
from dstbench.signature import differences, parse, sign
from dstbench.stats import as_exact_floats

_TURN: Final = ("dialogue", "turn")
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
    signatures: list[str] = []
    scored: list[tuple[Run, Sums]] = []
    corpora: set[tuple[int, ...]] = set()
    warn_of_frames(runs, convention)
    for run in runs:
        rows, sums = score_run(run, metrics, ["dialogue"], convention, spelling=True)
        corpora.add((sums.fingerprint, sums.turns, sums.dialogues))
        if len(corpora) > 1:
            raise _difference(runs[0], run, convention)
        if sums.dialogues < 2:
            raise DstbenchError(
                "fewer than two dialogues are scored, and intervals and tests come from resampling dialogues",
                file=run.name,
                hint="`dstbench score` works with any number",
            )
        signatures.append(sign("any metric", {**parse(rows["signature"][0]).settings, "by": "run"}))
        scored.append((run, sums))
    warn_of_scores(scored, metrics, convention)
    for run, signature in zip(runs, signatures, strict=True):
        for clause in differences(signatures[0], signature):
            what = f"are not scored in the same way: they differ in {clause}"
            warn(f"{runs[0].name} and {run.name} {what}", when="before")
    resolved = resolve(metrics, [sums for _, sums in scored], convention)
    statistics = list(dict.fromkeys(name for metric in resolved for name in stats_of(metric)))
    dialogues = pl.concat([sums.table.select("dialogue") for _, sums in scored]).unique().sort("dialogue")
    # 0 if a run has no scored frame in a dialogue, as this can depend on its predictions.
    columns = [pl.col(f"stat:{name}").cast(pl.Float64).fill_null(0) for name in statistics]
    of_runs = [
        dialogues.join(sums.table, on="dialogue", how="left", maintain_order="left").select(columns).to_numpy()
        for _, sums in scored
    ]
    scores = [score_run(run, resolved, [], convention)[0].select(_SCORES) for run in runs]
    return Paired(
        [run.name for run in runs], resolved, statistics, as_exact_floats(np.stack(of_runs)), pl.concat(scores)
    )


def _difference(one: Run, other: Run, convention: Convention) -> DstbenchError:
    """The error for two runs whose scored turns or gold differ: how many turns, and the first of them."""

    def of_part(part: Part) -> pl.DataFrame:
        """The scored turns, each with a hash of the changes in its gold."""
        changes = part.gold_changes(convention, part.turn_hashes)
        hashes = changes.group_by("number", "turn").agg(pl.all().sum())
        scored = scored_turns(part.turns(convention), convention).join(hashes, on=["number", "turn"], how="left")
        return scored.select(*_TURN, pl.col("gold_hash").fill_null(0)).collect()

    of_one, of_other = (pl.concat(over_parts(run, of_part)) for run in (one, other))
    both = of_one.join(of_other, on=_TURN, how="full", coalesce=True, suffix="_other")
    differing = both.filter(pl.col("gold_hash").ne_missing(pl.col("gold_hash_other"))).sort(_TURN)
    dialogue, turn, hash_of_one, hash_of_other = differing.row(0)
    place = {"dialogue": dialogue, "turn": turn}
    if hash_of_one is not None and hash_of_other is not None:
        values_of_turn = pl.col("slot", "gold").cast(pl.String)
        gold_of_one, gold_of_other = (
            run.read(run.table.filter(~IS_FRAME, **place).drop_nulls("slot").select(values_of_turn))
            for run in (one, other)
        )
        slots = gold_of_one.join(gold_of_other, on="slot", how="full", coalesce=True, suffix="_other").sort("slot")
        unequal = slots.filter(pl.col("gold").ne_missing(pl.col("gold_other"))).rows()
        slot, *values = unequal[0] if unequal else (None, None, None)
        wanted, value = ("no value" if text is None else repr(text) for text in values)
        return DstbenchError(
            f"its gold is not that of {one.name}: {value} instead of {wanted}; turns that differ: {differing.height:,}",
            file=other.name,
            **place,
            slot=slot,
            hint="all runs must have the same version of a dataset; --gold FILE gives it to all",
        )
    lacking = differing.filter(pl.col("gold_hash").is_null() | pl.col("gold_hash_other").is_null())
    has, lacks = (one, other) if hash_of_other is None else (other, one)
    hint = (
        "all runs must have the same test set: --gold FILE gives it to all; --missing wrong counts turns that a run "
        "lacks as wrong, and --missing intersect leaves them out for all runs"
    )
    if convention.turns == "pred":
        hint = "which turns are scored depends on what is predicted; --turns all scores all of them"
    return DstbenchError(
        f"it lacks a turn that {has.name} has; turns scored in one of them only: {lacking.height:,}",
        file=lacks.name,
        **place,
        hint=hint,
    )
