"""Checks that runs can be scored under a convention: errors if they cannot, warnings about what is left out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Final, Unpack

import polars as pl

from dstbench.conventions.convention import SLOT_KINDS, Convention, absent_literals
from dstbench.conventions.slots import domain_of
from dstbench.errors import DstbenchError, DstbenchWarning, UsageError, warn
from dstbench.metrics import parse_all
from dstbench.readers.frames import all_say
from dstbench.runs.as_written import as_written
from dstbench.runs.codes import ABSENT, distinct, to_strings
from dstbench.runs.layout import Layout
from dstbench.runs.open import Data, Reading, open_runs
from dstbench.runs.run import Run
from dstbench.schema.core import SEEN
from dstbench.scoring.partitions import over_partitions

_EXAMPLES: Final = 3  # slots that a warning names


def open_under(convention: Convention, data: Data, **reading: Unpack[Reading]) -> list[Run]:
    """Open runs with the convention's default for missing turns, and check that it scores some of gold's slots.

    In a long table, missing turns were dealt with when the table was written. `open_runs` warns that `missing` changes
    nothing there; users get this warning only if they have set `missing` themselves.

    Raises:
        DstbenchError: Data cannot be used, or the convention scores none of gold's slots.
        UsageError: The convention's own metrics cannot be computed.
    """
    check_metrics(convention)  # before files are read, so that a typo costs no time
    with warnings.catch_warnings():
        if reading.get("missing") is None:
            warnings.filterwarnings("ignore", ".*changes nothing; it is a long table", DstbenchWarning)
            reading["missing"] = convention.missing
        runs = open_runs(data, **reading)
    if convention.scope is not None:
        for run in runs:
            if not run.meta.get("only"):  # without states there are no slots, and scoring refuses a scope
                check_scope(run, convention)
    return [named_under(convention, run) for run in runs]


def named_under(convention: Convention, run: Run) -> Run:
    """The run with its booking slots as the convention names them (`Convention.booking`).

    Raises:
        DstbenchError: The convention takes the file's names, and the file has two for a slot.
    """
    return as_written(run) if convention.booking == "as-written" else run


def check_metrics(convention: Convention) -> None:
    """Raise a `UsageError` if the convention's own metrics, as a user's file names them, cannot be computed."""
    try:
        parse_all(convention.metrics or ())
    except UsageError as error:
        what = f"metrics of the profile {convention.name}: {error.what}"
        raise UsageError(what, hint=error.hint) from None


def check_scope(run: Run, convention: Convention) -> None:
    """Warn if gold has slots that the convention does not score, and refuse the run if it scores none of gold's slots.

    With SGD's evaluation of one kind of slots, no run is refused, because frames without such a slot count too.
    """
    if convention.scope is None:
        return
    slots = run.read(run.table.select(pl.col("slot").drop_nulls().unique().cast(pl.String)))["slot"]
    if convention.scope.issuperset(slots):  # the usual case, and read much faster than `gold_counts`
        return
    counts = gold_counts(run, convention)
    outside = counts.filter(~pl.col("slot").is_in(convention.scope))
    if outside.is_empty():
        return
    counts_frames = convention.slots in SLOT_KINDS and convention.domain_turns == "frames"
    if outside.height == counts.height and not counts_frames:
        raise DstbenchError(
            f"none of gold's {counts.height:,} slots, such as {counts['slot'][0]}, is in {convention.scope_name}, "
            f"the slots that {convention.name} scores",
            file=run.name,
            hint="--schema takes the schema.json of the scored split"
            if convention.slot_set is None
            else "--profile verbatim scores all slots; `dstbench ls profiles` says which slots others score",
        )
    examples = ", ".join(f"{slot} ({n:,} values)" for slot, n in outside.head(_EXAMPLES).iter_rows())
    more = f" and {outside.height - _EXAMPLES} more" if outside.height > _EXAMPLES else ""
    if convention.outside == "scored":
        outcome = "they are scored too, so that no turn is right by leaving them out (--outside dropped drops them)"
    else:
        drops = ", and turns whose gold has no other values are not scored" if convention.drops_turns else ""
        outcome = f"they are left out{drops}"
    warn(
        f"{outside.height:,} of gold's {counts.height:,} slots, and {outside['n'].sum():,} of its "
        f"{counts['n'].sum():,} values, are not in {convention.scope_name}: {examples}{more}; {outcome}",
        run=run.name,
        kind=f"slots of gold that are not in {convention.scope_name}; {outcome}",
        count=outside.height,
        when="before",
    )


def gold_counts(run: Run, convention: Convention) -> pl.DataFrame:
    """The number of turns in which gold has a value of each slot, the most frequent slot first.

    Values are as the file has them; literals that the convention drops from gold do not count as values.

    Returns:
        (slot: String, n: UInt32).
    """

    def count(table: pl.DataFrame) -> pl.DataFrame:
        return table.drop_nulls(["slot", "gold"]).group_by("slot", "gold").agg(n=pl.len())

    pairs = pl.concat(over_partitions(run, count)).with_columns(pl.col("slot", "gold").cast(pl.String))
    values = pairs.filter(~pl.col("gold").is_in(absent_literals(convention, "gold")))
    return values.group_by("slot").agg(pl.col("n").sum()).sort("n", "slot", descending=[True, False])


def check_request(run: Run, stats: Mapping[str, pl.Expr], by: Sequence[str], convention: Convention) -> None:
    """Refuse groups that cannot be combined, and requests that need frames or a schema if there are none."""
    if "slot" in by and (counts := [name for name in by if name.startswith("n_")]):
        raise UsageError(f"scores by slot cannot be grouped by {counts[0]} as well")
    if SEEN in by and convention.seen is None:
        raise UsageError(
            "which services are seen is not known", hint="--seen takes the schema.json of the training set"
        )
    if SEEN in by and convention.unit != "frame" and "slot" not in by:
        raise UsageError("scores by seen are over frames", hint="--profile sgd, or --unit frame")
    needed = {name for stat in stats.values() for name in stat.meta.root_names()}
    for column, key, words in (
        ("right_intent", "intent", "active intents"),
        ("requested_f1", "requested", "requested slots"),
    ):
        if column not in needed:
            continue
        scores_frames = convention.unit == "frame" and convention.domain_turns == "frames" and "slot" not in by
        if not scores_frames or convention.slots is not None:
            raise UsageError(f"{words} are scored over all frames of gold", hint="--profile sgd, not by slot")
        frames = run.meta.get("frames")
        if frames is None or not all_say(frames, key):
            gold_lacks = frames is None or frames["gold"] > frames[f"gold_{key}"]
            raise DstbenchError(
                f"gold does not say the {words} of every frame" if gold_lacks else f"the predictions lack {words}",
                file=run.name,
                hint="omit that metric; SGD's own files, and predictions in their layout, may have them",
            )


def check_services(rows: Layout, convention: Convention) -> None:
    """Refuse a schema that lacks a service of gold, whose frames would be left out in silence."""
    if convention.schema is None or convention.slot_set is not None:
        return
    slot, gold, _ = rows.cells
    services = {domain_of(name) for name in to_strings(distinct(slot[gold != ABSENT]))}
    if lacking := sorted(services - convention.schema.services):
        raise DstbenchError(
            f"the schema has no service {lacking[0]}, which gold has",
            hint="--schema takes the schema.json of the scored split",
        )
