"""From turn tables to the sums of a run, per group, from which scores are computed.

Each part of a run is summed by itself. All sums are whole numbers, so the sums of parts add up exactly to the run's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import polars as pl
import polars.selectors as cs

from dstbench.conventions.convention import Convention
from dstbench.conventions.slots import slot_total
from dstbench.errors import UsageError
from dstbench.metrics import Metric
from dstbench.metrics.exact_sums import from_parts, in_parts, in_steps
from dstbench.metrics.goal_accuracy import ERRORS
from dstbench.runs.run import Run
from dstbench.schema.core import LENGTH, SEEN, TURNS
from dstbench.scoring.answers import C
from dstbench.scoring.partitions import Part, over_parts
from dstbench.scoring.scope import check_request, check_services
from dstbench.scoring.turns import (
    EMPTY_TURN,
    OF_FRAMES,
    TURN,
    counted_turns,
    counts_frames,
    scored_turns,
    turn_table,
    view_of,
    with_lengths,
)  # fmt: skip
from dstbench.tables import collect, collect_all

# Groups that turns have only in a view; they are dictionary columns until turns are summed.
_NAMES: Final = ("slot", "domain", SEEN)
# A statistic's sum in a dialogue must be below this, so that the product of two such sums is exact.
_SUM_LIMIT: Final = 2**31
_STAT: Final = "stat:"
# Columns of extremes: of errors in a turn, of a ratio in a turn, and of a count's sum in a dialogue.
_ERRORS: Final = "errors"
_LEAST, _MOST = "least:", "most:"
# The tables that parts of a run have sums in; `all_turns` are the numbers of turns and dialogues, for `_pad`.
_TABLES: Final = ("table", "exact", "all_turns")
# What is counted over the scored turns of a part.
_SIZES: Final = {"turns": pl.len(), "dialogues": C("number").n_unique()}
_WRONG: Final = C("n_union") - C("n_correct")
_SPELLED: Final = {"right": (_WRONG == 0).sum(), "wrong": ((_WRONG > 0) & (C("n_spelling") == _WRONG)).sum()}


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
    counts: Mapping[str, pl.Expr] | None = None,
    signed: bool = True,
    with_slots: bool = True,
    spelling: bool = False,
    exact: bool = False,
) -> Sums:
    """Sum statistics of the turn table over a run.

    Args:
        run: The run.
        stats: Expressions over the turn table (and `counts`), by name: whole numbers, or ratios from 0 to 1.
        by: Columns to group by: those of the turn table, ``domain``, ``slot``, ``length``.
        convention: What values mean and which turns count.
        moments: Pairs of statistics. The products of their sums in each dialogue are summed too, for standard errors;
            ratios in units of `metrics.exact_sums.STEP`. Ignored by slot, because turns are padded after they are
            summed, and by dialogue, because a single dialogue has no spread.
        counts: Further columns of the turn table (see `turns.turn_table`): metrics' own counts.
        signed: Whether to compute `Sums.fingerprint`; otherwise it is 0.
        with_slots: Whether to find `Sums.gold_slots` and `Sums.is_multiwoz`.
        spelling: Whether to count `Sums.spelling`; ignored in views and for runs without states.
        exact: Whether to compute `Sums.exact`.
    """
    check_request(run, stats, by, convention)
    counts = counts or {}
    view = view_of(by, convention)
    moments = () if "slot" in by or "dialogue" in by else moments
    spelling = spelling and view is None and not run.meta.get("only")
    exact = exact and convention.is_fuzzy
    takes_all_gold = convention.takes_gold_as_written and convention.turns == "all" and view is None
    fingerprint = (run.fingerprint if takes_all_gold and run.derive is None else None) if signed else 0
    frames = "frames" in run.meta and counts_frames(convention, view)
    turn_groups = [name for name in by if name not in _NAMES]
    columns = list(dict.fromkeys([*TURN, *turn_groups, *(("n_union", "n_correct", "n_spelling") if spelling else ())]))

    def turns(part: Part, convention: Convention) -> tuple[pl.LazyFrame, pl.LazyFrame]:
        """The scored turns, and the rows to sum: the same, or in a view those of their rows that count."""
        whole = part.turns(convention, counts, spelling=spelling)
        scored = scored_turns(whole, convention)
        counted = scored
        if view is not None:
            further = {**OF_FRAMES, **_of_slots(counts)} if frames else counts
            in_view = turn_table(part.rows(convention, frames=frames), view, further)
            counted = counted_turns(whole, in_view, view, convention, frames=frames)
        if LENGTH in by:
            return with_lengths(scored, whole), with_lengths(counted, whole)
        return scored, counted

    def sum_part(part: Part) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
        check_services(part, convention)
        scored, counted = turns(part, convention)
        queries = {"table": _values(counted, stats, columns if view is None else by)}
        if view is not None:
            queries["scored"] = scored.select(columns)
        if exact:
            queries["exact"] = _values(turns(part, convention.exact())[1], stats, by)
        values = dict(zip(queries, collect_all(queries.values()), strict=True))
        scored_table = values.pop("scored", values["table"])
        queries = {"facts": scored_table.lazy().select(**_SIZES, **(_SPELLED if spelling else {}))}
        for name, of_turns in values.items():
            queries[name], queries[f"{name}_limits"] = _sum(of_turns, by, moments if name == "table" else ())
        if view == "slot":
            queries["all_turns"], _ = _sum(scored_table.select("number", *turn_groups), turn_groups)
        sums = dict(zip(queries, collect_all(queries.values()), strict=True))
        for name in values:
            _check(sums[f"{name}_limits"], sums[name])
        facts, limits = sums["facts"].row(0, named=True), sums["table_limits"]
        return {name: sums[name] for name in _TABLES if name in sums}, {
            "fingerprint": part.fingerprint(convention, scored_table) if fingerprint is None else 0,
            "turns": facts["turns"],
            "dialogues": facts["dialogues"],
            "most_errors": (limits[_ERRORS].item() or 0) if ERRORS in stats else 0,
            "spelling": Spelling(facts["right"], facts["wrong"]) if spelling else None,
            "gold_slots": part.gold_slots if with_slots else frozenset(),
            "is_multiwoz": with_slots and part.is_multiwoz,
            "alternatives": part.alternatives if convention.multi == "literal" else None,
        }

    results = over_parts(run, sum_part, frames=frames)
    facts = {name: combine([of_part[name] for _, of_part in results]) for name, combine in _COMBINE.items()}
    if fingerprint is not None:
        facts["fingerprint"] = fingerprint
    added = {
        name: _add_up([tables[name] for tables, _ in results], turn_groups if name == "all_turns" else by)
        for name in results[0][0]
    }
    all_turns = added.pop("all_turns", None)
    in_numbers = from_parts(cs.starts_with(_STAT) & cs.by_dtype(pl.Int128))
    padded = (
        added
        if all_turns is None
        else {name: _pad(table, all_turns, stats, by, counts) for name, table in added.items()}
    )
    sums = {
        name: collect(table.lazy().with_columns(in_numbers).select(~cs.starts_with(_MOST)))
        for name, table in padded.items()
    }
    return Sums(sums["table"], sums.get("exact"), **facts)


def _of_slots(counts: Mapping[str, pl.Expr]) -> dict[str, pl.Expr]:
    """Counts to which rows of frames, which have no slot, add nothing."""
    return {name: pl.when(C("slot").is_not_null()).then(count).otherwise(0) for name, count in counts.items()}


def _values(turns: pl.LazyFrame, stats: Mapping[str, pl.Expr], by: Sequence[str]) -> pl.LazyFrame:
    """The groups of each turn, its dialogue's number, and each statistic; one that is undefined adds nothing."""
    keys = dict.fromkeys(["number", *by])
    return turns.select(*keys, *(stat.fill_null(0).fill_nan(0).alias(_STAT + name) for name, stat in stats.items()))


def _sum(
    turns: pl.DataFrame, by: Sequence[str], moments: Collection[tuple[str, str]] = ()
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """The queries of the columns of `Sums.table`, in which ratios are summed as whole numbers of parts, and of limits.

    The table has a column `_MOST` for each count: the largest absolute value of its sums in dialogues. The limits have
    a column `_MOST` and a column `_LEAST` for each ratio.
    """
    stats = {name: dtype for name, dtype in turns.schema.items() if name.startswith(_STAT)}
    ratios = [name for name, dtype in stats.items() if dtype.is_float()]
    counts = [name for name in stats if name not in ratios]
    dialogues = (
        turns.lazy()
        .with_columns(in_parts(C(ratios).cast(pl.Float64).clip(0, 1)), C(counts).cast(pl.Int64))
        .group_by(list(dict.fromkeys([*by, "number"])))
        .agg(C([*stats]).sum(), turns=pl.len().cast(pl.Int64))
    )
    factor = {name: in_steps(C(name)) if name in ratios else C(name) for name in stats}
    sums = [
        C("turns", *stats).sum(),
        pl.len().cast(pl.Int64).alias("dialogues"),
        *((factor[_STAT + a] * factor[_STAT + b]).cast(pl.Int128).sum().alias(moment_name((a, b))) for a, b in moments),
        C(counts).abs().max().name.prefix(_MOST),
    ]
    table = dialogues.group_by(by).agg(sums) if by else dialogues.select(sums)
    limits = [C(ratios).min().name.prefix(_LEAST), C(ratios).max().name.prefix(_MOST)]
    if _STAT + ERRORS in stats:
        limits.append(C(_STAT + ERRORS).max().alias(_ERRORS))
    named = table.with_columns(C(name).cast(pl.String) for name in by if name in _NAMES)
    return named, turns.lazy().select(limits)


def _check(limits: pl.DataFrame, sums: pl.DataFrame) -> None:
    """Refuse statistics whose sums would be inexact: ratios outside 0 to 1, and counts whose squares would overflow."""
    ratios = limits.to_dict(as_series=False)
    ratios.pop(_ERRORS, None)
    for name, (extreme,) in ratios.items():
        if extreme is not None and not 0 <= extreme <= 1:
            raise UsageError(
                f"statistic {name.partition(_STAT)[2]!r} is {extreme:g} in a turn, and a float must be a ratio from "
                "0 to 1",
                hint="make it a whole number (Int64), or divide it by the largest value it can have",
            )
    for column in sums.select(cs.starts_with(_MOST)):
        if (most := column.to_numpy().max(initial=0)) >= _SUM_LIMIT:
            stat = column.name.partition(_STAT)[2]
            raise UsageError(
                f"statistic {stat!r} adds up to {int(most):,} in a dialogue, too much to sum exactly",
                hint="divide it by the largest value it can have in a turn, so that it is a ratio",
            )


def _add_up(parts: Sequence[pl.DataFrame], by: Sequence[str]) -> pl.DataFrame:
    """The sums of all parts."""
    if len(parts) == 1:
        return parts[0]
    rows = pl.concat(parts)
    return rows.group_by(by).agg(pl.all().sum()) if by else rows.sum()


def _pad(
    listed: pl.DataFrame,
    all_turns: pl.DataFrame,
    stats: Mapping[str, pl.Expr],
    by: Sequence[str],
    counts: Collection[str],
) -> pl.DataFrame:
    """Sums per slot over all turns: turns before the first that lists the slot are added as empty turns.

    `listed` has the sums from that turn on, `all_turns` the number of all turns and dialogues.
    """
    listed = listed.drop("dialogues").rename({"turns": "listed"})
    columns = {name: [EMPTY_TURN.get(name, 0)] for name in (*TURNS.columns, *counts)}
    empty = pl.DataFrame(columns, schema_overrides={"error_age": pl.UInt16})
    added = pl.col("turns") - pl.col("listed").fill_null(0)
    padded = []
    for name, stat in stats.items():
        of_empty = in_parts(stat) if listed.schema["stat:" + name] == pl.Int128 else stat
        sums = pl.col("stat:" + name).fill_null(0)
        padded.append((sums + added * empty.select(of_empty.sum()).to_series()).alias("stat:" + name))
    slots = listed.select(name for name in by if name in _NAMES).unique()
    return slots.join(all_turns, how="cross").join(listed, on=list(by), how="left").with_columns(padded)
