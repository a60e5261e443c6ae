"""Checks that runs can be scored under a convention: errors if they cannot, warnings about what is left out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Final, Unpack

import polars as pl

from dstbench.conventions.convention import SLOT_KINDS, Convention, absent_literals
from dstbench.errors import DstbenchError, DstbenchWarning, UsageError, warn
from dstbench.metrics import parse_all
from dstbench.readers.frames import all_say
from dstbench.runs.as_written import as_written
from dstbench.runs.open import Data, Reading, open_runs
from dstbench.runs.run import Run
from dstbench.schema.core import SEEN
from dstbench.scoring.partitions import Part, over_partitions, over_parts
from dstbench.scoring.turns import OF_FRAMES, counted_turns, counts_frames, scored_turns, turn_table, view_of
from dstbench.tables import collect

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
    runs = [named_under(convention, run) for run in runs]
    for run in runs:
        if not run.meta.get("only"):  # without states there are no slots, and scoring refuses a scope
            check_scope(run, convention)
    return runs


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
    """Check gold (`check_gold_scope`), and warn of predicted values that are not scored."""
    check_gold_scope(run, convention)
    warn_of_unscored(run, convention)


def scores_every_slot(run: Run, convention: Convention) -> bool:
    """Whether the convention scores all slots of a run's long table."""
    if convention.scope is None:
        return True
    slots = run.read(run.table.select(pl.col("slot").drop_nulls().unique().cast(pl.String)))["slot"]
    return convention.scope.issuperset(slots)


def check_gold_scope(run: Run, convention: Convention) -> None:
    """Warn if gold has slots that the convention does not score, and refuse the run if it scores none of gold's slots.

    With SGD's evaluation of one kind of slots, no run is refused, because frames without such a slot count too.
    """
    if convention.scope is None or scores_every_slot(run, convention):  # read much faster than `gold_counts`
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


def warn_of_unscored(run: Run, convention: Convention) -> None:
    """Warn of predicted values that are in no score."""
    counts = unscored(run, convention)
    if counts.is_empty():
        return
    slots = counts.filter(pl.col("unscored") > 0).select("slot", "unscored")
    if slots.is_empty():
        return
    choices = ", ".join(f"{key} {text}" for key, text in _leaving_out(convention).items())
    examples = ", ".join(f"{slot} ({n:,})" for slot, n in slots.head(_EXAMPLES).iter_rows())
    more = f" and {slots.height - _EXAMPLES} more slots" if slots.height > _EXAMPLES else ""
    what = f"are not scored under {convention.name} ({choices})"
    warn(
        f"{slots['unscored'].sum():,} of {counts['predicted'].sum():,} predicted values {what}: {examples}{more}",
        run=run.name,
        kind=f"predicted values {what}",
        count=slots["unscored"].sum(),
        when="before",
    )


def unscored(run: Run, convention: Convention) -> pl.DataFrame:
    """The number of turns in which a slot is predicted, and how many of these predictions are in no score.

    Predictions that mean "not in the state" under the convention do not count.

    Returns:
        (slot: String, predicted: UInt32, unscored: UInt32), the most frequently unscored slot first; empty if the
        convention scores every prediction.
    """
    may = _leaving_out(convention).keys()
    if may <= {"slots", "outside", "schema"} and scores_every_slot(run, convention):
        return pl.DataFrame(schema={"slot": pl.String, "predicted": pl.UInt32, "unscored": pl.UInt32})
    view = view_of((), convention)
    frames = "frames" in run.meta and counts_frames(convention, view)

    def count(part: Part) -> pl.DataFrame:
        rows = part.rows(convention).drop_nulls("slot")
        predicted = pl.col("n_pred") | pl.col("n_ignored")
        whole = turn_table(part.rows(convention))
        if view is None:
            counted, keys = scored_turns(whole, convention), ["number", "turn"]
        else:
            in_view = turn_table(part.rows(convention, frames=frames), view, OF_FRAMES if frames else {})
            counted, keys = counted_turns(whole, in_view, view, convention, frames=frames), ["number", "turn", view]
        counted = counted.select(*keys, counts=pl.lit(value=True))
        both = (
            rows.join(counted, on=keys, how="left")
            .group_by("slot")
            .agg(predicted=predicted.sum(), scored=(pl.col("n_pred") & pl.col("counts").fill_null(value=False)).sum())
        )
        return collect(both)

    counts = (
        pl.concat(over_parts(run, count, frames=frames)).group_by("slot").agg(pl.col("predicted", "scored").sum())
    ).with_columns(pl.col("slot").cast(pl.String))
    return counts.select("slot", "predicted", unscored=pl.col("predicted") - pl.col("scored")).sort(
        "unscored", "slot", descending=[True, False]
    )


def _leaving_out(convention: Convention) -> dict[str, str]:
    """The choices by which predicted values may be in no score, as `Convention.settings` has them."""
    may = {
        **dict.fromkeys(("slots", "outside", "schema"), convention.scope is not None),
        "dontcare": convention.dontcare == "skip",
        "over": convention.over != "count",
        "turns": convention.turns in ("gold", "last"),
        "unit": convention.unit == "frame",
    }
    return {key: text for key, text in convention.settings().items() if may.get(key)}


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


def check_services(part: Part, convention: Convention) -> None:
    """Refuse a schema that lacks a service of gold, whose frames would be left out in silence."""
    if convention.schema is None or convention.slot_set is not None:
        return
    services = part.laid_out().cells.drop_nulls("gold")["domain"].unique().cast(pl.String)
    if lacking := sorted(set(services) - convention.schema.services):
        raise DstbenchError(
            f"the schema has no service {lacking[0]}, which gold has",
            hint="--schema takes the schema.json of the scored split",
        )
