"""Checks that runs can be scored under a convention: errors if they cannot, warnings about what is left out."""

from __future__ import annotations

import warnings
from typing import Final, Unpack

import polars as pl

from dstbench.conventions.convention import SLOT_KINDS, Convention, absent_literals
from dstbench.errors import DstbenchError, DstbenchWarning, UsageError, warn
from dstbench.metrics import parse_all
from dstbench.runs.as_written import named_under
from dstbench.runs.open import Data, Reading, open_runs
from dstbench.runs.run import Run
from dstbench.scoring.partitions import Part, count_rows
from dstbench.scoring.turns import TURN, counts_frames, view_of

_EXAMPLES: Final = 3  # slots that a warning names


def open_under(convention: Convention, data: Data, needs: str = "", **reading: Unpack[Reading]) -> list[Run]:
    """Open runs with the convention's default for missing turns, and check that it scores some of gold's slots.

    In a long table, missing turns were dealt with when the table was written. `open_runs` warns that `missing` changes
    nothing there; users get this warning only if they have set `missing` themselves. `needs` is what is computed from
    states, in the plural: runs without states are then refused.
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
            check_gold_scope(run, convention)
            warn_of_unscored(run, convention)
    for run in runs if needs else ():
        run.need_states(needs)
    return runs


def check_metrics(convention: Convention) -> None:
    """Raise a `UsageError` if the convention's own metrics, as a user's file names them, cannot be computed."""
    try:
        parse_all(convention.metrics or ())
    except UsageError as error:
        what = f"metrics of the profile {convention.name}: {error.what}"
        raise UsageError(what, hint=error.hint) from None


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
    if scores_every_slot(run, convention):  # read much faster than `gold_counts`
        return
    counts = gold_counts(run, convention)
    outside = counts.filter(~pl.col("slot").is_in(convention.scope or ()))
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
    """For each slot: the number of turns in which it is predicted, and how many of these predictions are in no score.

    Predictions that mean "not in the state" under the convention do not count. The table has slot (String), predicted
    and unscored (UInt32), the most frequently unscored slot first; it is empty if every prediction is scored.
    """
    may = _leaving_out(convention).keys()
    if may <= {"slots", "outside", "schema"} and scores_every_slot(run, convention):
        return pl.DataFrame(schema={"slot": pl.String, "predicted": pl.UInt32, "unscored": pl.UInt32})
    view = view_of((), convention)
    frames = "frames" in run.meta and counts_frames(convention, view)

    def rows_of(part: Part) -> pl.LazyFrame:
        _, _, counted = part.counted(convention, view, frames=frames)
        keys = [*TURN, *([view] if view else [])]
        return (
            part.rows(convention)
            .drop_nulls("slot")
            .join(counted.select(*keys, counts=pl.lit(value=True)), on=keys, how="left")
        )

    predicted = (pl.col("n_pred") | pl.col("n_ignored")).sum()
    scored = (pl.col("n_pred") & pl.col("counts").fill_null(value=False)).sum()
    counts = count_rows(run, rows_of, ["slot"], frames=frames, predicted=predicted, unscored=predicted - scored)
    return counts.sort("unscored", "slot", descending=[True, False])


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
    """For each slot (String), the number (n: UInt32) of turns in which gold has a value of it, the most frequent first.

    Values are as the file has them; literals that the convention drops from gold do not count as values.
    """
    pairs = count_rows(run, lambda part: part.table.lazy().drop_nulls(["slot", "gold"]), ["slot", "gold"], n=pl.len())
    values = pairs.filter(~pl.col("gold").is_in(absent_literals(convention, "gold")))
    return values.group_by("slot").agg(pl.col("n").sum()).sort("n", "slot", descending=[True, False])
