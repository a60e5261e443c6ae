"""Summed statistics of a run, per group: the step from turn tables to what a score is made of.

Each partition is summed by itself. All sums are whole numbers, so that they add up to the whole run's exactly.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs

from dstbench.conventions.slots import SlotTotal, are_multiwoz, domain_of, slot_total
from dstbench.errors import UsageError
from dstbench.metrics.exact_sums import from_halves, from_parts, halves, in_parts, in_steps
from dstbench.metrics.goal_accuracy import ERRORS
from dstbench.runs.codes import PerCode, codes, distinct, to_strings
from dstbench.runs.gold import gold_slots
from dstbench.runs.layout import Layout, lay_out, over_distinct, row_changes
from dstbench.schema.core import BETWEEN, LENGTH, SEEN, TURNS
from dstbench.scoring.partitions import over_partitions
from dstbench.scoring.requirements import check_request, check_services
from dstbench.scoring.scored_turns import (
    EMPTY_TURN,
    TURN,
    columns_of_scored,
    scored_turns,
    turns_of_domains,
    turns_of_frames,
)
from dstbench.scoring.turn_table import counts_frames, to_turns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstbench.arrays import Floats, Integers
    from dstbench.conventions.convention import Convention
    from dstbench.metrics import Metric
    from dstbench.runs.run import Run
    from dstbench.typing import View

_NAMES: Final = ("slot", "domain", SEEN)
# Whether a value lists alternatives.
_LISTS: Final = PerCode(lambda values: values.str.contains(BETWEEN, literal=True).to_numpy(), absent=False)
# Until all are added up, a ratio's sum is in two columns, named by these and the ratio's name.
_HALVES: Final = ("higher:", "lower:")
# A statistic's sum in a dialogue is below this, so that the product of two of them is exact.
_LARGEST: Final = 2**31


class Spelling(NamedTuple):
    """How many turns are right, and how many are wrong only because gold and prediction are spelled differently."""

    right: int
    wrong: int


@dataclass(frozen=True)
class _Facts:
    """What is known of a run, or of a part of it, beside its statistics.

    Attributes:
        fingerprint: That of gold under the convention, over the turns that are scored.
        turns: How many turns are scored.
        dialogues: In how many dialogues.
        most_errors: The most errors of a turn, where slot accuracy is scored; else 0.
        spelling: What spelling costs; None: not counted.
        gold_slots: The slots that have a value in gold; empty if they are not asked for.
        is_multiwoz: Whether the dialogues are MultiWOZ's; False if that is not asked for.
        alternatives: A gold value with alternatives, where they are compared as written; else None.
    """

    fingerprint: int
    turns: int
    dialogues: int
    most_errors: int
    spelling: Spelling | None
    gold_slots: frozenset[str]
    is_multiwoz: bool
    alternatives: str | None


@dataclass(frozen=True)
class Sums(_Facts):
    """What a run sums up to.

    Attributes:
        table: One row per group: the `by` columns, ``stat:<name>`` for each statistic, `turns`, `dialogues`, and
            `moment_name` of each pair of statistics whose moment is asked for.
        exact: The same with exact matching, where the convention is fuzzy; else None.
    """

    table: pl.DataFrame
    exact: pl.DataFrame | None

    def resolve(self, metrics: Sequence[Metric], convention: Convention) -> list[Metric]:
        """Metrics with every parameter filled in that depends on the slots of the run's gold."""
        total = total_of(self.gold_slots, convention, is_multiwoz=self.is_multiwoz)
        return [metric.resolve(total) for metric in metrics]


def total_of(gold_slots: frozenset[str], convention: Convention, *, is_multiwoz: bool) -> SlotTotal:
    """T of slot accuracy under a convention.

    Args:
        gold_slots: The slots that have a value in gold.
        convention: If it does not score all slots, T is those that it scores, and gold's others where they are.
        is_multiwoz: Whether the dialogues are MultiWOZ's.
    """
    further = frozenset() if convention.scope is not None and convention.outside == "dropped" else gold_slots
    return slot_total(further, is_multiwoz=is_multiwoz, scope=convention.scope, name=convention.scope_name)


def moment_name(pair: tuple[str, str]) -> str:
    """The column of the summed products of two statistics."""
    return f"moment:{pair}"


def sum_up(
    run: Run,
    stats: Mapping[str, pl.Expr],
    by: Sequence[str],
    convention: Convention,
    moments: Collection[tuple[str, str]] = (),
    *,
    named: bool = True,
    spelling: bool = False,
) -> Sums:
    """Sum statistics of the turn table over a run.

    Args:
        run: The run.
        stats: Expressions over the turn table, by name: whole numbers, or ratios from 0 to 1.
        by: Columns to group by: those of the turn table, ``domain``, ``slot``, ``length``.
        convention: What values mean and which turns count.
        moments: Pairs of statistics whose products, dialogue by dialogue, are summed too, for standard errors; ratios
            in units of `metrics.exact_sums.STEP`. There are none by slot, as turns are padded after they are summed,
            and by dialogue, as a single one has no spread.
        named: Whether `Sums.gold_slots` and `Sums.is_multiwoz` are asked for.
        spelling: Whether `Sums.spelling` is asked for; only whole turns with states have it.
    """
    check_request(run, stats, by, convention)
    view = _view(by, convention)
    moments = () if "slot" in by or "dialogue" in by else moments
    spelling = spelling and view is None and not run.meta.get("only")
    needed = {*TURN, *by, *(name for stat in stats.values() for name in stat.meta.root_names())}
    if spelling:
        needed |= {"n_union", "n_correct", "n_spelling"}
    known = convention.takes_gold_as_written and convention.turns == "all" and view is None and run.derive is None
    fingerprint = run.fingerprint if known else None
    frames = "frames" in run.meta and counts_frames(convention, view)
    outer = [name for name in by if name not in _NAMES]

    def sum_partition(table: pl.DataFrame) -> tuple[list[pl.DataFrame], _Facts]:
        rows = lay_out(table)
        in_view = rows if view is None else lay_out(table, view, frames=frames)
        check_services(rows, convention)
        scored, counted, hashes = _turns(rows, in_view, needed, by, convention, hashed=fingerprint is None)
        tables = [_sum(counted, stats, by, moments)]
        if convention.is_fuzzy:
            exact = _turns(rows, in_view, needed, by, convention.exact(), hashed=False)
            tables.append(_sum(exact.counted, stats, by))
        if view == "slot":
            tables.append(_sum(scored, {}, outer))
        facts = _Facts(
            fingerprint=hashes,
            turns=scored.height,
            dialogues=int(row_changes(scored["number"].to_numpy()).sum()),
            most_errors=counted.select(stats[ERRORS].max().fill_null(0)).item() if ERRORS in stats else 0,
            spelling=_count_spelling(counted) if spelling else None,
            gold_slots=gold_slots(rows) if named else frozenset(),
            is_multiwoz=named and are_multiwoz(rows.dialogue),
            alternatives=_alternatives(rows, convention),
        )
        return tables, facts

    parts = over_partitions(run, sum_partition, frames=frames)
    facts = [of_part for _, of_part in parts]
    tables = list(zip(*(of_part for of_part, _ in parts), strict=True))
    everywhere = _add_up(tables.pop(), outer) if view == "slot" else None
    sums = [_add_up(of_parts, by) for of_parts in tables]
    if everywhere is not None:
        sums = [_pad(table, everywhere, stats, by) for table in sums]
    sums = [table.with_columns(from_parts(cs.starts_with("stat:") & cs.by_dtype(pl.Int128))) for table in sums]
    spellings = [part.spelling for part in facts if part.spelling is not None]
    return Sums(
        fingerprint=sum(part.fingerprint for part in facts) % 2**64 if fingerprint is None else fingerprint,
        turns=sum(part.turns for part in facts),
        dialogues=sum(part.dialogues for part in facts),
        most_errors=max(part.most_errors for part in facts),
        spelling=Spelling(*np.sum(spellings, axis=0).tolist()) if spelling else None,
        gold_slots=frozenset[str]().union(*(part.gold_slots for part in facts)),
        is_multiwoz=all(part.is_multiwoz for part in facts),
        alternatives=next((part.alternatives for part in facts if part.alternatives), None),
        table=sums[0],
        exact=sums[1] if convention.is_fuzzy else None,
    )


def _view(by: Sequence[str], convention: Convention) -> View | None:
    if "slot" in by:
        return "slot"
    return "domain" if "domain" in by or convention.unit == "frame" else None


class _Turns(NamedTuple):
    scored: pl.DataFrame  # the turns that the convention scores
    counted: pl.DataFrame  # the rows to sum: these turns, or in a view those of their rows that count
    fingerprint: int


def _turns(
    rows: Layout, in_view: Layout, needed: set[str], by: Sequence[str], convention: Convention, *, hashed: bool
) -> _Turns:
    """The turns of a partition.

    Args:
        rows: The partition's rows.
        in_view: The same in the view that `by` takes.
        needed: The columns of the turn table that are summed or grouped by.
        by: What to group by.
        convention: What values mean and which turns count.
        hashed: Whether the fingerprint is asked for.
    """
    view = _view(by, convention)
    gold_hash = {"gold_hash"} if hashed else set()
    columns = needed | gold_hash if view is None else {*TURN, *{"dialogue"}.intersection(by)}
    columns = columns | columns_of_scored(convention) | ({"turn_hash"} if hashed else set())
    whole = to_turns(rows, convention, columns=columns)
    scored = gold = counted = scored_turns(whole, convention)
    if view is not None:
        columns = {*needed, *gold_hash, view, "n_gold", "n_pred", "is_frame"}
        listed = gold = counted = to_turns(in_view, convention, view=view, columns=columns)
        if scored.height < whole.height:
            gold = counted = listed.join(scored.select(TURN), on=TURN, how="semi", maintain_order="left")
        if view == "domain" and in_view.frames is not None:
            counted = turns_of_frames(counted, convention)
        elif view == "domain":
            counted = turns_of_domains(counted, listed, scored, convention)
        elif "domain" in by:
            counted = counted.with_columns(over_distinct(counted["slot"], domain_of).alias("domain"))
        if convention.seen is not None and SEEN in by:
            seen = convention.seen.services
            is_seen = over_distinct(counted[view], lambda name: "seen" if domain_of(name) in seen else "unseen")
            counted = counted.with_columns(is_seen.alias(SEEN))
    if LENGTH in by:
        lengths = np.bincount(rows.group).astype(np.uint32)
        scored, counted = (
            turns.with_columns(pl.Series(LENGTH, lengths[turns["number"].to_numpy() - 1]))
            for turns in (scored, counted)
        )
    hashes = [scored["turn_hash"], gold["gold_hash"]] if hashed else []
    return _Turns(scored, counted, sum(int(np.add.reduce(column.to_numpy(), dtype=np.uint64)) for column in hashes))


def _sum(
    turns: pl.DataFrame, stats: Mapping[str, pl.Expr], by: Sequence[str], moments: Collection[tuple[str, str]] = ()
) -> pl.DataFrame:
    """The columns of `Sums.table` over turns, ratios in halves."""
    values = turns.select_seq(**stats)  # one thread, as each has its own partition
    keys = turns.select_seq(*by, "number")
    # Most turns stand next to others of their dialogue and group: such runs are summed first, which leaves little to
    # group by hashing.
    changes = [row_changes(_comparable(column)) for column in keys if column.name != "dialogue"]
    starts = np.flatnonzero(np.logical_or.reduce(changes))
    sums = {"turns": np.diff(starts, append=turns.height)}
    for name, column in zip(stats, values, strict=True):
        if column.dtype.is_float():
            for half, part in zip(_HALVES, halves(_ratios(name, column)), strict=True):
                sums[half + name] = np.add.reduceat(part, starts)
        else:
            counts = np.add.reduceat(column.cast(pl.Int64).fill_null(0).to_numpy(), starts)
            if np.abs(counts).max(initial=0) >= _LARGEST:
                raise UsageError(
                    f"statistic {name!r} adds up to {np.abs(counts).max():,} in a dialogue, too much to sum exactly",
                    hint="divide it by the largest that it can be in a turn, and it is a ratio",
                )
            sums["stat:" + name] = counts
    table = keys[starts].with_columns(**sums)
    if by and moments:
        table = table.group_by(keys.columns).agg(pl.all().sum())  # a row per group and dialogue
    table = table.with_columns(_moments(table, moments))
    totals = pl.exclude(keys.columns).sum(), pl.col("number").n_unique().cast(pl.Int64).alias("dialogues")
    if not by:
        return table.select(totals)
    return table.group_by(by).agg(totals).with_columns(pl.col(name).cast(pl.String) for name in by if name in _NAMES)


def _comparable(column: pl.Series) -> NDArray[Any]:
    """A column as NumPy compares it: numbers as they are, dictionary columns as codes."""
    return codes(column) if column.dtype == pl.Categorical else column.to_numpy()


def _ratios(name: str, column: pl.Series) -> Floats:
    """The ratios of a statistic, 0 where it is undefined; only ratios from 0 to 1 can be summed exactly."""
    ratios = column.cast(pl.Float64).fill_null(0).fill_nan(0).to_numpy()
    outside = (ratios < 0) | (ratios > 1)
    if outside.any():
        raise UsageError(
            f"statistic {name!r} is {ratios[outside][0]:g} in a turn, and a float must be a ratio from 0 to 1",
            hint="make it a whole number (Int64), or divide it by the largest it can be",
        )
    return ratios


def _moments(dialogues: pl.DataFrame, pairs: Collection[tuple[str, str]]) -> list[pl.Series]:
    """The products of dialogues' sums, ratios rounded to steps.

    A partition of 2¹⁹ rows has sums below 2³¹ steps, and sums of products below 2⁶².
    """
    sums: dict[str, Integers] = {}
    for name in {name for pair in pairs for name in pair}:
        if "stat:" + name in dialogues.columns:
            sums[name] = dialogues["stat:" + name].to_numpy()
        else:
            sums[name] = in_steps(*(dialogues[half + name].to_numpy() for half in _HALVES))
    return [pl.Series(moment_name(pair), sums[pair[0]] * sums[pair[1]]) for pair in pairs]


def _count_spelling(turns: pl.DataFrame) -> Spelling:
    wrong = turns["n_union"] - turns["n_correct"]
    return Spelling(int((wrong == 0).sum()), int(((wrong > 0) & (wrong == turns["n_spelling"])).sum()))


def _alternatives(rows: Layout, convention: Convention) -> str | None:
    """A gold value that lists alternatives, where the convention takes it for one string."""
    if convention.multi != "literal":
        return None
    gold = rows.cells[1]
    return min(to_strings(distinct(gold[_LISTS.of(gold)])), default=None) if _LISTS.up_to(gold).any() else None


def _add_up(parts: Sequence[pl.DataFrame], by: Sequence[str]) -> pl.DataFrame:
    """The sums of partitions as the whole's; the halves of ratios become numbers of parts (Int128)."""
    rows = pl.concat(parts).with_columns(cs.starts_with("moment:").cast(pl.Int128))
    whole = rows.group_by(by).agg(pl.all().sum()) if by else rows.sum()
    ratios = [name.removeprefix(_HALVES[0]) for name in whole.columns if name.startswith(_HALVES[0])]
    joined = [from_halves(*(pl.col(half + name) for half in _HALVES)).alias("stat:" + name) for name in ratios]
    return whole.with_columns(joined).drop(cs.starts_with(*_HALVES))


def _pad(
    listed: pl.DataFrame, everywhere: pl.DataFrame, stats: Mapping[str, pl.Expr], by: Sequence[str]
) -> pl.DataFrame:
    """Sums per slot over all turns: a turn before the first that lists the slot adds what an empty turn adds.

    Args:
        listed: The sums over turns from the first that lists the slot.
        everywhere: `turns` and `dialogues`, all of them, by the other columns of `by`.
        stats: The statistics.
        by: What to group by.
    """
    listed = listed.drop("dialogues").rename({"turns": "listed"})
    empty = pl.DataFrame(
        {name: [EMPTY_TURN.get(name, 0)] for name in TURNS.columns}, schema_overrides={"error_age": pl.UInt16}
    )
    added = pl.col("turns") - pl.col("listed").fill_null(0)
    padded = []
    for name, stat in stats.items():
        of_empty = in_parts(stat) if listed.schema["stat:" + name] == pl.Int128 else stat
        sums = pl.col("stat:" + name).fill_null(0)
        padded.append((sums + added * empty.select(of_empty.sum()).to_series()).alias("stat:" + name))
    slots = listed.select(name for name in by if name in _NAMES).unique()
    return slots.join(everywhere, how="cross").join(listed, on=list(by), how="left").with_columns(padded)
