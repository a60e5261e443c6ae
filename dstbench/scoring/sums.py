"""From turn tables to the sums of a run, per group, from which scores are computed.

Each part of a run is summed by itself. All sums are whole numbers, so the sums of parts add up exactly to the run's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
import polars.selectors as cs

from dstbench.conventions.convention import Convention
from dstbench.conventions.slots import slot_total
from dstbench.errors import DstbenchError, UsageError
from dstbench.metrics import Metric
from dstbench.metrics.built_in import ERRORS
from dstbench.metrics.exact_sums import from_parts, in_parts, in_steps
from dstbench.readers.frames import all_say
from dstbench.runs.run import Run
from dstbench.schema.core import LENGTH, SEEN, TURNS
from dstbench.scoring.answers import C
from dstbench.scoring.partitions import Part, over_parts
from dstbench.scoring.turns import EMPTY_TURN, TURN, counts_frames, view_of, with_lengths
from dstbench.tables import collect, collect_all

# Groups that turns have only in a view; they are dictionary columns until turns are summed.
_NAMES: Final = ("slot", "domain", SEEN)
# A statistic's sum in a dialogue must be below this, so that the product of two such sums is exact.
_SUM_LIMIT: Final = 2**31
_STAT: Final = "stat:"
# Columns of extremes: of errors in a turn, of a ratio in a turn, and of a count's sum in a dialogue.
_ERRORS: Final = "errors"
_LEAST, _MOST = "least:", "most:"


@dataclass(frozen=True)
class Sums:
    """The sums of a run.

    The table has one row per group, with the `by` columns, ``stat:<name>`` for each statistic, `turns`, `dialogues`,
    and a column `moment_name` for each requested pair of statistics.
    """

    table: pl.DataFrame
    fingerprint: int  # of gold under the convention, over the scored turns
    turns: int  # number of scored turns
    dialogues: int  # number of dialogues with a scored turn
    most_errors: int  # the most slot errors in one turn; 0 if slot accuracy is not scored
    gold_slots: frozenset[str]  # the slots that have a value in gold; empty if not requested
    is_multiwoz: bool  # whether the dialogues are MultiWOZ's; False if not requested
    alternatives: str | None  # a gold value that lists alternatives but is compared as one string; None: there is none

    def total(self, stat: str) -> int | None:
        """The sum of a statistic over all groups; None: it was not requested."""
        column = _STAT + stat
        return int(self.table[column].sum()) if column in self.table.columns else None


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
) -> Sums:
    """Sum statistics of the turn table over a run.

    `stats` are expressions over the turn table and `counts` (metrics' own): whole numbers, or ratios from 0 to 1.
    `moments` are pairs of them, the products of whose sums in each dialogue are summed too (ratios in units of
    `metrics.exact_sums.STEP`): not by slot, as turns are padded after they are summed, nor by dialogue, as a single one
    has no spread. `signed` and `with_slots`: whether to find `Sums.fingerprint`, and the slots and ids of gold.
    """
    _check_request(run, stats, by, convention)
    view = view_of(by, convention)
    moments = () if "slot" in by or "dialogue" in by else moments
    takes_all_gold = convention.takes_gold_as_written and convention.turns == "all" and view is None
    fingerprint = (run.fingerprint if takes_all_gold and run.derive is None else None) if signed else 0
    frames = "frames" in run.meta and counts_frames(convention, view)
    turn_groups = [name for name in by if name not in _NAMES]

    def sum_part(part: Part) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
        _check_services(part, convention)
        whole, scored, counted = part.counted(convention, view, counts, frames=frames)
        if LENGTH in by:
            scored, counted = with_lengths(scored, whole), with_lengths(counted, whole)
        of_turn = list(dict.fromkeys([*TURN, *turn_groups]))
        keys = list(dict.fromkeys(["number", *by])) if view else of_turn
        # A statistic that is undefined adds nothing.
        values = counted.select(*keys, *(s.fill_null(0).fill_nan(0).alias(_STAT + name) for name, s in stats.items()))
        turns, *others = collect_all([values, *([scored.select(of_turn)] if view else [])])
        of_scored = others[0] if view else turns
        ratios = C([name for name, dtype in turns.schema.items() if name.startswith(_STAT) and dtype.is_float()])
        extremes = [ratios.min().name.prefix(_LEAST), ratios.max().name.prefix(_MOST)]
        if ERRORS in stats:
            extremes.append(C(_STAT + ERRORS).max().alias(_ERRORS))
        queries = {
            "sizes": of_scored.lazy().select(turns=pl.len(), dialogues=C("number").n_unique()),
            "limits": turns.lazy().select(extremes),
            "table": _sum(turns, by, moments),
        }
        if view == "slot":
            queries["all_turns"] = _sum(of_scored.select("number", *turn_groups), turn_groups)
        sums = dict(zip(queries, collect_all(queries.values()), strict=True))
        limits = sums.pop("limits")
        _check(limits, sums["table"])
        return sums, {
            "fingerprint": part.fingerprint(convention, of_scored) if fingerprint is None else 0,
            "most_errors": (limits[_ERRORS].item() or 0) if ERRORS in stats else 0,
            "gold_slots": part.gold_slots if with_slots else frozenset(),
            "is_multiwoz": with_slots and part.is_multiwoz,
            "alternatives": part.alternatives if convention.multi == "literal" else None,
        }

    results = over_parts(run, sum_part, frames=frames)
    facts = {name: [of_part[name] for _, of_part in results] for name in results[0][1]}

    def added(name: str, by: Sequence[str] = ()) -> pl.DataFrame:
        tables = [tables[name] for tables, _ in results]
        if len(tables) == 1:
            return tables[0]
        rows = pl.concat(tables)
        return rows.group_by(by).agg(pl.all().sum()) if by else rows.sum()

    table = added("table", by)
    if view == "slot":
        table = _pad(table, added("all_turns", turn_groups), stats, by, counts or {})
    turns, dialogues = added("sizes").row(0)
    in_numbers = from_parts(cs.starts_with(_STAT) & cs.by_dtype(pl.Int128))
    return Sums(
        collect(table.lazy().with_columns(in_numbers).select(~cs.starts_with(_MOST))),
        sum(facts["fingerprint"]) % 2**64 if fingerprint is None else fingerprint,
        turns,
        dialogues,
        most_errors=max(facts["most_errors"]),
        gold_slots=frozenset().union(*facts["gold_slots"]),
        is_multiwoz=all(facts["is_multiwoz"]),
        alternatives=next(filter(None, facts["alternatives"]), None),
    )


def _sum(turns: pl.DataFrame, by: Sequence[str], moments: Collection[tuple[str, str]] = ()) -> pl.LazyFrame:
    """The columns of `Sums.table`, in which ratios are summed as whole numbers of parts.

    There is a column `_MOST` for each count: the largest absolute value of its sums in dialogues.
    """
    stats = [name for name in turns.columns if name.startswith(_STAT)]
    ratios = [name for name in stats if turns.schema[name].is_float()]
    counts = [name for name in stats if name not in ratios]
    dialogues = (
        turns.lazy()
        .with_columns(in_parts(C(ratios).cast(pl.Float64).clip(0, 1)), C(counts).cast(pl.Int64))
        .group_by(list(dict.fromkeys([*by, "number"])))
        .agg(C(stats).sum(), turns=pl.len().cast(pl.Int64))
    )
    factor = {name: in_steps(C(name)) if name in ratios else C(name) for name in stats}
    sums = [
        C("turns", *stats).sum(),
        pl.len().cast(pl.Int64).alias("dialogues"),
        *((factor[_STAT + a] * factor[_STAT + b]).cast(pl.Int128).sum().alias(moment_name((a, b))) for a, b in moments),
        C(counts).abs().max().name.prefix(_MOST),
    ]
    table = dialogues.group_by(by).agg(sums) if by else dialogues.select(sums)
    return table.with_columns(C(name).cast(pl.String) for name in by if name in _NAMES)


def _check(limits: pl.DataFrame, sums: pl.DataFrame) -> None:
    """Refuse statistics whose sums would be inexact: ratios outside 0 to 1, and counts whose squares would overflow."""
    for name, (extreme,) in limits.select(cs.exclude(_ERRORS)).to_dict(as_series=False).items():
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


def _check_request(run: Run, stats: Mapping[str, pl.Expr], by: Sequence[str], convention: Convention) -> None:
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


def _check_services(part: Part, convention: Convention) -> None:
    """Refuse a schema that lacks a service of gold, whose frames would be left out in silence."""
    if convention.schema is None or convention.slot_set is not None:
        return
    services = part.laid_out().cells.drop_nulls("gold")["domain"].unique().cast(pl.String)
    if lacking := sorted(set(services) - convention.schema.services):
        raise DstbenchError(
            f"the schema has no service {lacking[0]}, which gold has",
            hint="--schema takes the schema.json of the scored split",
        )
