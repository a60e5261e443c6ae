"""Where a tracker fails (Kim et al. 2022): first failures, gold slots, JGA by turn and length, errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import polars as pl

from dstbench.analysis.dialogue_traits import FAILURE_BINS, per_dialogue
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import UsageError
from dstbench.metrics import parse
from dstbench.runs.open import Data, Reading
from dstbench.runs.run import Run
from dstbench.schema import analysis as schema
from dstbench.schema.core import LENGTH
from dstbench.schema.record import Record
from dstbench.scoring.error_classes import count_classes, rate_classes, rate_timing
from dstbench.scoring.score import score_run
from dstbench.scoring.validation import open_under, warn_of_alternatives


@dataclass(frozen=True)
class Diagnosis(Record):
    """Where runs fail, as frames (schemas in `dstbench.schema.analysis`), each with a column `run`.

    Attributes:
        runs: Per run, the numbers of dialogues that fail (their last turn is wrong), of those of them that are right
            again in between, and of dialogues with few gold slots.
        first_failures: The number of dialogues that fail, by the tenth of the dialogue in which the first wrong turn
            is.
        gold_slots: The number of dialogues, by the largest number of gold slots in a turn.
        by_turn: JGA by the turn's number, as score rows.
        by_length: JGA by the dialogue's number of turns, as score rows.
        errors: The classes of errors, with their rates.
        errors_by_domain: The same per domain.
        errors_by_slot: The same per slot.
        timing: How many missed slots are late, and how many over-predicted ones are early.
        timing_by_slot: The same per slot.
    """

    runs: pl.DataFrame
    first_failures: pl.DataFrame
    gold_slots: pl.DataFrame
    by_turn: pl.DataFrame
    by_length: pl.DataFrame
    errors: pl.DataFrame
    errors_by_domain: pl.DataFrame
    errors_by_slot: pl.DataFrame
    timing: pl.DataFrame
    timing_by_slot: pl.DataFrame


def diagnose(
    data: Data, *, few: int = 12, profile: str | Convention = "verbatim", **reading: Unpack[Reading]
) -> Diagnosis:
    """Find out where runs fail.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        few: Count the dialogues with fewer gold slots than this number. Every turn must have fewer.
        profile: The convention, or its name.
        **reading: `gold`, `format`, `names`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Raises:
        DstbenchError: Data cannot be used, or the profile is unknown.

    >>> states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "south"}},
    ...           {"dialogue_id": "D", "turn": 1, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "south"}}]
    >>> diagnosis = diagnose(states)
    >>> diagnosis.runs.select("dialogues", "failing", "recovered").row(0)
    (1, 1, 0)
    >>> diagnosis.errors.filter(pl.col("n") > 0).select("class", "n", "of_gold").rows()
    [('wrong-fresh', 1, 0.5), ('wrong-stale', 1, 0.5)]
    """
    if few < 0:
        raise UsageError(f"few={few} is not a number of slots", hint="0 or more")
    convention = as_convention(profile)
    runs = open_under(convention, data, "classes of errors", **reading)
    tables = [_of_run(run, convention, few) for run in runs]
    return Diagnosis(*(pl.concat(table) for table in zip(*tables, strict=True)))


def _of_run(run: Run, convention: Convention, few: int) -> list[pl.DataFrame]:
    """The frames of one run, in the order of `Diagnosis`."""
    jga, named = [parse("jga")], pl.lit(run.name).alias("run")
    dialogues, _ = per_dialogue(run, [], convention)
    counts, turns = count_classes(run, convention)
    rows, sums = score_run(run, jga, [], convention)
    warn_of_alternatives(run, sums, convention)
    small = (pl.col("n_gold_max") < few).sum()
    summary = dialogues.select(
        named,
        turns=pl.col("turns").sum(),
        dialogues=pl.len(),
        failing=pl.col("ends_wrong").sum(),
        recovered=pl.col("recovered").sum(),
        few_slots=pl.lit(few),
        with_few_slots=small,
        share_with_few_slots=pl.when(pl.len() > 0).then(small / pl.len()),
        signature=pl.lit(rows["signature"].item()),
    )
    number = pl.int_range(FAILURE_BINS, dtype=pl.UInt32)
    bins = pl.select(bin=number, low=number / FAILURE_BINS, high=(number + 1) / FAILURE_BINS)
    of_bins = dialogues.group_by(bin="first_failure_bin").agg(dialogues=pl.len(), recovered=pl.col("recovered").sum())
    failures = bins.join(of_bins, on="bin", how="left", maintain_order="left")
    slots = dialogues.group_by("run", "n_gold_max").agg(dialogues=pl.len()).sort("n_gold_max")
    tables = [(schema.ERRORS, rate_classes(counts, turns, by)) for by in (None, "domain", "slot")]
    tables += [(schema.TIMING, rate_timing(counts, by)) for by in (None, "slot")]
    return [
        schema.FAILURES.conform(summary),
        schema.FIRST_FAILURES.conform(failures.select(named, pl.all().fill_null(0))),
        schema.GOLD_SLOTS.conform(slots.with_columns(share=pl.col("dialogues") / pl.col("dialogues").sum())),
        score_run(run, jga, ["turn"], convention)[0],
        score_run(run, jga, [LENGTH], convention)[0],
        *(table.select(named, pl.exclude(*schema.columns), *list(schema.columns)[1:]) for schema, table in tables),
    ]
