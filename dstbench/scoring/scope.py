"""Runs opened under a convention: seen to have gold that it scores, and what it leaves out said."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Final, Unpack

import polars as pl

from dstbench.conventions.convention import KINDS
from dstbench.errors import DstbenchError, DstbenchWarning
from dstbench.runs.open import Data, Reading, open_runs
from dstbench.schema.core import NOTHING
from dstbench.scoring.partitions import over_partitions

if TYPE_CHECKING:
    from dstbench.conventions.convention import Convention
    from dstbench.runs.run import Run

_MOST: Final = 3  # slots that a note names


def open_under(convention: Convention, data: Data, **reading: Unpack[Reading]) -> list[Run]:
    """`open_runs`, with the convention's default for missing turns, and with slots that the convention scores.

    A long table has settled what becomes of missing turns when it was made; that is said only to who has asked for
    something else.

    Raises:
        DstbenchError: Data cannot be used; or the convention scores none of gold's slots.
    """
    with warnings.catch_warnings():
        if reading.get("missing") is None:
            warnings.filterwarnings("ignore", ".*changes nothing; it is a long table", DstbenchWarning)
            reading["missing"] = convention.missing
        runs = open_runs(data, **reading)
    if convention.scope is not None:
        for run in runs:
            # Where there are no states there are no slots, and whoever scores it says so.
            if not run.meta.get("only") and not _slots_of(run) <= convention.scope:
                check_scope(run.name, gold_counts(run), convention)
    return runs


def check_scope(name: str, counts: pl.DataFrame, convention: Convention) -> None:
    """Warn of gold's slots that are not among those that the convention scores.

    Args:
        name: The run's.
        counts: What `gold_counts` gives of it.
        convention: The convention.

    Raises:
        DstbenchError: None of gold's slots is in it.
    """
    if convention.scope is None:
        return
    outside = counts.filter(~pl.col("slot").is_in(convention.scope))
    if outside.is_empty():
        return
    if outside.height == counts.height and not _counts_frames(convention):
        raise DstbenchError(
            f"none of gold's {counts.height:,} slots, such as {counts['slot'][0]}, is in {convention.scope_name}, "
            f"the slots that {convention.name} scores",
            file=name,
            hint="--schema takes that of the scored split"
            if convention.slot_set is None
            else "--profile verbatim scores all slots; `dstbench ls profiles` says which slots others score",
        )
    named = ", ".join(f"{slot} ({n:,} values)" for slot, n in outside.head(_MOST).iter_rows())
    more = f" and {outside.height - _MOST} more" if outside.height > _MOST else ""
    becomes = {
        "scored": "they are scored all the same, so that no turn is right by leaving them out (--outside dropped does)",
        "dropped": "they are left out"
        + (", and turns whose gold has no other values are not scored" if convention.drops_turns else ""),
    }
    warnings.warn(
        f"{name}: {outside.height:,} of gold's {counts.height:,} slots, and {outside['n'].sum():,} of its "
        f"{counts['n'].sum():,} values, are not in {convention.scope_name}: {named}{more}; "
        f"{becomes[convention.outside]}",
        DstbenchWarning,
        stacklevel=3,
    )


def _counts_frames(convention: Convention) -> bool:
    """Whether frames without a slot that is scored count all the same, as in SGD's evaluation of a kind of slots."""
    return convention.slots in KINDS and convention.domain_turns == "frames"


def _slots_of(run: Run) -> set[str]:
    """The slots that a run's rows name: far sooner read than in how many turns gold has each."""
    slots = run.read(run.table.select(pl.col("slot").drop_nulls().unique()))["slot"]
    return set(slots.cast(pl.String).to_list())


def gold_counts(run: Run) -> pl.DataFrame:
    """(slot: String, n: UInt32): in how many turns gold has a value of the slot, the most frequent first."""

    def part(table: pl.DataFrame) -> pl.DataFrame:
        return table.drop_nulls(["slot", "gold"]).group_by("slot", "gold").agg(n=pl.len())

    pairs = pl.concat(over_partitions(run, part)).with_columns(pl.col("slot", "gold").cast(pl.String))
    values = pairs.filter(~pl.col("gold").is_in(NOTHING))
    return values.group_by("slot").agg(pl.col("n").sum()).sort("n", "slot", descending=[True, False])
