"""From turn tables to the sums of a run, per group, from which scores are computed.

Each partition is summed by itself. All sums are whole numbers, so the sums of partitions add up exactly to the run's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs

from dstbench.arrays import Floats, Integers
from dstbench.conventions.convention import Convention
from dstbench.conventions.slots import slot_total
from dstbench.errors import UsageError
from dstbench.metrics import Metric
from dstbench.metrics.exact_sums import from_halves, from_parts, halves, in_parts, in_steps
from dstbench.metrics.goal_accuracy import ERRORS
from dstbench.runs.codes import PerCode, codes, distinct, to_strings
from dstbench.runs.layout import Layout, row_changes
from dstbench.runs.run import Run
from dstbench.schema.core import BETWEEN, SEEN, TURNS
from dstbench.scoring.partitions import Part, over_layouts
from dstbench.scoring.scope import check_request, check_services
from dstbench.scoring.scored_turns import EMPTY_TURN, TURN, group_turns, view_of
from dstbench.scoring.turn_table import counts_frames

# Groups that turns have only in a view; they are dictionary columns until turns are summed.
_NAMES: Final = ("slot", "domain", SEEN)
# For each value: whether it lists alternatives.
_LISTS_ALTERNATIVES: Final = PerCode(lambda values: values.str.contains(BETWEEN, literal=True).to_numpy(), absent=False)
# Prefixes of the two columns that hold a ratio's sum until all partitions are added up.
_HALVES: Final = ("higher:", "lower:")
# A statistic's sum in a dialogue must be below this, so that the product of two such sums is exact.
_SUM_LIMIT: Final = 2**31


class Spelling(NamedTuple):
    """How many turns are right, and how many are wrong only because gold and prediction are spelled differently."""

    right: int
    wrong: int


@dataclass(frozen=True)
class Sums:
    """The sums of a run.

    A table has one row per group, with the `by` columns, ``stat:<name>`` for each statistic, `turns`, `dialogues`, and
    a column `moment_name` for each requested pair of statistics.
    """

    table: pl.DataFrame
    exact: pl.DataFrame | None  # the same with exact matching; None: not requested, or the convention is not fuzzy
    fingerprint: int  # of gold under the convention, over the scored turns
    turns: int  # number of scored turns
    dialogues: int  # number of dialogues with a scored turn
    most_errors: int  # the most slot errors in one turn; 0 if slot accuracy is not scored
    spelling: Spelling | None  # None: not requested
    gold_slots: frozenset[str]  # the slots that have a value in gold; empty if not requested
    is_multiwoz: bool  # whether the dialogues are MultiWOZ's; False if not requested
    alternatives: str | None  # a gold value that lists alternatives but is compared as one string; None: there is none


# How the attributes of `Sums` other than its tables are combined from those of the partitions.
_COMBINE: Final[Mapping[str, Callable[[list[Any]], Any]]] = {
    "fingerprint": lambda parts: sum(parts) % 2**64,
    "turns": sum,
    "dialogues": sum,
    "most_errors": max,
    "spelling": lambda parts: None if None in parts else Spelling(*map(sum, zip(*parts, strict=True))),
    "gold_slots": lambda parts: frozenset().union(*parts),
    "is_multiwoz": all,
    "alternatives": lambda parts: next(filter(None, parts), None),
}


def resolve(metrics: Sequence[Metric], runs: Sequence[Sums], convention: Convention) -> list[Metric]:
    """The metrics with the parameter filled in that depends on the slots in these runs' gold: T of slot accuracy."""
    scores_all = convention.scope is None or convention.outside == "scored"
    total = slot_total(
        frozenset[str]().union(*(sums.gold_slots for sums in runs)) if scores_all else (),
        is_multiwoz=all(sums.is_multiwoz for sums in runs),
        scope=convention.scope,
        name=convention.scope_name,
    )
    return [metric.resolve(total) for metric in metrics]


def moment_name(pair: tuple[str, str]) -> str:
    """The name of the column that has the summed products of two statistics."""
    return f"moment:{pair}"


def sum_up(
    run: Run,
    stats: Mapping[str, pl.Expr],
    by: Sequence[str],
    convention: Convention,
    moments: Collection[tuple[str, str]] = (),
    *,
    with_slots: bool = True,
    spelling: bool = False,
    exact: bool = False,
) -> Sums:
    """Sum statistics of the turn table over a run.

    Args:
        run: The run.
        stats: Expressions over the turn table, by name: whole numbers, or ratios from 0 to 1.
        by: Columns to group by: those of the turn table, ``domain``, ``slot``, ``length``.
        convention: What values mean and which turns count.
        moments: Pairs of statistics. The products of their sums in each dialogue are summed too, for standard errors;
            ratios in units of `metrics.exact_sums.STEP`. Ignored by slot, because turns are padded after they are
            summed, and by dialogue, because a single dialogue has no spread.
        with_slots: Whether to find `Sums.gold_slots` and `Sums.is_multiwoz`.
        spelling: Whether to count `Sums.spelling`; ignored in views and for runs without states.
        exact: Whether to compute `Sums.exact`.
    """
    check_request(run, stats, by, convention)
    view = view_of(by, convention)
    moments = () if "slot" in by or "dialogue" in by else moments
    spelling = spelling and view is None and not run.meta.get("only")
    exact = exact and convention.is_fuzzy
    needed = {*TURN, *by, *(name for stat in stats.values() for name in stat.meta.root_names())}
    if spelling:
        needed |= {"n_union", "n_correct", "n_spelling"}
    takes_all_gold = convention.takes_gold_as_written and convention.turns == "all" and view is None
    fingerprint = run.fingerprint if takes_all_gold and run.derive is None else None
    frames = "frames" in run.meta and counts_frames(convention, view)
    turn_groups = [name for name in by if name not in _NAMES]

    def sum_partition(part: Part) -> tuple[list[pl.DataFrame], dict[str, Any]]:
        rows = part.layout()
        in_view = rows if view is None else part.layout(view, frames=frames)
        check_services(rows, convention)
        turns = group_turns(rows, in_view, needed, by, convention, hashed=fingerprint is None)
        values = _values(turns.counted, stats)
        tables = [_sum(turns.counted, values, by, moments)]
        if exact:
            exactly = group_turns(rows, in_view, needed, by, convention.exact(), hashed=False)
            tables.append(_sum(exactly.counted, _values(exactly.counted, stats), by))
        if view == "slot":
            tables.append(_sum(turns.scored, pl.DataFrame(), turn_groups))
        return tables, {
            "fingerprint": turns.fingerprint,
            "turns": turns.scored.height,
            "dialogues": int(row_changes(turns.scored["number"].to_numpy()).sum()),
            "most_errors": int(values[ERRORS].to_numpy().max(initial=0)) if ERRORS in stats else 0,
            "spelling": _count_spelling(turns.counted) if spelling else None,
            "gold_slots": part.gold_slots if with_slots else frozenset(),
            "is_multiwoz": with_slots and part.is_multiwoz,
            "alternatives": _alternatives(rows, convention),
        }

    results = over_layouts(run, sum_partition, frames=frames)
    facts = {name: combine([of_partition[name] for _, of_partition in results]) for name, combine in _COMBINE.items()}
    if fingerprint is not None:
        facts["fingerprint"] = fingerprint
    tables = list(zip(*(of_partition for of_partition, _ in results), strict=True))
    all_turns = _add_up(tables.pop(), turn_groups) if view == "slot" else None
    sums = [_add_up(of_partitions, by) for of_partitions in tables]
    if all_turns is not None:
        sums = [_pad(table, all_turns, stats, by) for table in sums]
    sums = [table.with_columns(from_parts(cs.starts_with("stat:") & cs.by_dtype(pl.Int128))) for table in sums]
    return Sums(sums[0], sums[1] if exact else None, **facts)


def _values(turns: pl.DataFrame, stats: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """Each statistic of each turn, Int64 or Float64; 0 where it is undefined."""
    values = turns.select_seq(**stats)  # in one thread, as each thread works on a partition of its own
    return values.with_columns_seq(  # all at once, as a query takes longer to start than such a column
        cs.float().cast(pl.Float64).fill_null(0).fill_nan(0), (~cs.float()).cast(pl.Int64).fill_null(0)
    )


def _sum(
    turns: pl.DataFrame, values: pl.DataFrame, by: Sequence[str], moments: Collection[tuple[str, str]] = ()
) -> pl.DataFrame:
    """The columns of `Sums.table` over turns; `values` has the turns' statistics; sums of ratios are in halves."""
    keys = turns[[*by, "number"]]
    # Most turns stand next to others of their dialogue and group: such runs are summed first, which leaves little to
    # group by hashing. If four turns are of D1 hotel, D1 hotel, D1 train and D2 train, runs start at 0, 2 and 3.
    groups = [column for column in keys if column.name != "dialogue"]
    changes = [row_changes(codes(column) if column.name in _NAMES else column.to_numpy()) for column in groups]
    starts = np.flatnonzero(np.logical_or.reduce(changes))
    ends = np.append(starts[1:], turns.height)[: len(starts)] - 1
    sums = {"turns": np.diff(ends, prepend=-1)}
    for column in values:
        name = column.name
        if column.dtype.is_float():
            for half, part in zip(_HALVES, halves(_ratios(name, column)), strict=True):
                sums[half + name] = _sum_runs(part, ends)
        else:
            counts = _sum_runs(column.to_numpy(), ends)
            if np.abs(counts).max(initial=0) >= _SUM_LIMIT:
                raise UsageError(
                    f"statistic {name!r} adds up to {np.abs(counts).max():,} in a dialogue, too much to sum exactly",
                    hint="divide it by the largest value it can have in a turn, so that it is a ratio",
                )
            sums["stat:" + name] = counts
    if not by:  # in NumPy, because a Polars query over so many columns takes longer than their sums
        totals = {name: int(column.sum()) for name, column in (sums | _moments(sums, moments)).items()}
        return pl.DataFrame([totals | {"dialogues": len(ends)}])  # of a dictionary, which is the fastest way
    table = keys[starts].with_columns(**sums)
    if moments:
        table = table.group_by(keys.columns).agg(pl.all().sum())  # a row per group and dialogue
        products = _moments({name: table[name].to_numpy() for name in sums}, moments)
        table = table.with_columns(pl.Series(name, column) for name, column in products.items())
    dialogues = pl.col("number").n_unique().cast(pl.Int64).alias("dialogues")
    grouped = table.group_by(by).agg(pl.exclude(keys.columns).sum(), dialogues)
    return grouped.with_columns(pl.col(name).cast(pl.String) for name in by if name in _NAMES)


def _sum_runs(column: Integers, ends: Integers) -> Integers:
    """The sum of each run of rows, given the last row of each; much faster than `np.add.reduceat`."""
    return np.diff(np.cumsum(column)[ends], prepend=0)


def _ratios(name: str, column: pl.Series) -> Floats:
    """The ratios of a statistic; refuses any outside 0 to 1, as its sum would be inexact."""
    ratios = column.to_numpy()
    if ratios.min(initial=0) < 0 or ratios.max(initial=0) > 1:
        outside = (ratios < 0) | (ratios > 1)
        raise UsageError(
            f"statistic {name!r} is {ratios[outside][0]:g} in a turn, and a float must be a ratio from 0 to 1",
            hint="make it a whole number (Int64), or divide it by the largest value it can have",
        )
    return ratios


def _moments(sums: Mapping[str, Integers], pairs: Collection[tuple[str, str]]) -> dict[str, Integers]:
    """For each pair of statistics: the product of their sums in each dialogue, ratios rounded to steps.

    Nothing overflows: in a partition of 2¹⁹ rows, sums are below 2³¹ steps, and sums of products below 2⁶².
    """
    factors = {
        name: sums["stat:" + name] if "stat:" + name in sums else in_steps(*(sums[half + name] for half in _HALVES))
        for name in {name for pair in pairs for name in pair}
    }
    return {moment_name(pair): factors[pair[0]] * factors[pair[1]] for pair in pairs}


def _count_spelling(turns: pl.DataFrame) -> Spelling:
    wrong = turns["n_union"] - turns["n_correct"]
    return Spelling(int((wrong == 0).sum()), int(((wrong > 0) & (wrong == turns["n_spelling"])).sum()))


def _alternatives(rows: Layout, convention: Convention) -> str | None:
    """A gold value that lists alternatives, if the convention compares it as one string; else None."""
    _, gold, _ = rows.cells
    if convention.multi != "literal" or not _LISTS_ALTERNATIVES.up_to(gold).any():
        return None
    return min(to_strings(distinct(gold[_LISTS_ALTERNATIVES.of(gold)])), default=None)


def _add_up(parts: Sequence[pl.DataFrame], by: Sequence[str]) -> pl.DataFrame:
    """The sums of all partitions; the halves of a ratio's sum are joined into a number of parts (Int128)."""
    rows = pl.concat(parts)
    higher, lower = _HALVES
    ratios = [name.removeprefix(higher) for name in rows.columns if name.startswith(higher)]
    sums = [
        pl.col(name for name in rows.columns if not name.startswith((*_HALVES, "moment:")) and name not in by).sum(),
        cs.starts_with("moment:").cast(pl.Int128).sum(),
        *(from_halves(pl.sum(higher + name), pl.sum(lower + name)).alias("stat:" + name) for name in ratios),
    ]
    return rows.group_by(by).agg(sums) if by else rows.select_seq(sums)


def _pad(
    listed: pl.DataFrame, all_turns: pl.DataFrame, stats: Mapping[str, pl.Expr], by: Sequence[str]
) -> pl.DataFrame:
    """Sums per slot over all turns: turns before the first that lists the slot are added as empty turns.

    `listed` has the sums from that turn on, `all_turns` the number of all turns and dialogues.
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
    return slots.join(all_turns, how="cross").join(listed, on=list(by), how="left").with_columns(padded)
