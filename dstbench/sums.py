"""Summed statistics of a run, per group: the step from rows to what a score is made of.

Partitions are counted one by one and their sums added up, so that parts agree with the whole exactly. Which turns and
frames count is decided here, by the convention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import polars as pl

from dstbench.comparison import distinct, to_strings
from dstbench.errors import UsageError
from dstbench.layout import Layout, lay_out, over_distinct
from dstbench.partition import over_partitions
from dstbench.schema import TURNS
from dstbench.slots import domain_of
from dstbench.spelling import BETWEEN
from dstbench.turntable import to_turns

if TYPE_CHECKING:
    from dstbench.conventions import Convention
    from dstbench.longtable import Run
    from dstbench.options import View

#: The group that is a dialogue's number of turns.
LENGTH: Final = "length"
_NAMES: Final = ("slot", "domain")
_TURN: Final = ("number", "turn")
# What a turn counts in which neither state has anything.
_EMPTY: Final[Mapping[str, Any]] = {"local_error": False, "error_age": None, "soft_joint": 1.0}


@dataclass(frozen=True)
class _Scored:
    """The turns of a partition that are scored: their part of the fingerprint (0: not asked for), and how many."""

    fingerprint: int
    turns: int
    dialogues: int


#: A partition's sums under each convention, and over all slots; its slots; which turns are scored; an alternative.
_Part: TypeAlias = tuple[list[pl.DataFrame], pl.DataFrame | None, frozenset[str], _Scored, str | None]


@dataclass(frozen=True)
class Sums:
    """What a run sums up to.

    Attributes:
        table: One row per group: the `by` columns, ``stat:<name>`` for each statistic, `turns`, `dialogues`.
        exact: The same with exact matching, where the convention is fuzzy; else None.
        slots: The slots that gold or prediction lists.
        fingerprint: That of gold under the convention, over the turns that are scored.
        turns: How many turns these are.
        dialogues: In how many dialogues.
        alternatives: A gold value with alternatives, where they are compared as written; else None.
    """

    table: pl.DataFrame
    exact: pl.DataFrame | None
    slots: frozenset[str]
    fingerprint: int
    turns: int
    dialogues: int
    alternatives: str | None


def sum_up(run: Run, stats: Mapping[str, pl.Expr], by: Sequence[str], convention: Convention) -> Sums:
    """Sum statistics of the turn table over a run.

    Args:
        run: The run.
        stats: Integer expressions over the turn table, by name.
        by: Columns to group by: those of the turn table, ``domain``, ``slot``, ``length``.
        convention: What values mean and which turns count.
    """
    clash = [name for name in by if name.startswith("n_")]
    if "slot" in by and clash:
        raise UsageError(f"scores by slot cannot be grouped by {clash[0]} as well")
    conventions = [convention, convention.exact()] if convention.is_fuzzy else [convention]
    outer = [name for name in by if name not in _NAMES]

    view = _view(by, convention)

    def part(
        table: pl.DataFrame,
    ) -> tuple[list[pl.DataFrame], pl.DataFrame | None, frozenset[str], _Scored, str | None]:
        layouts = {one: lay_out(table, one) for one in {None, view}}
        sums, hashed = _sums(layouts, stats, by, convention)
        found = [sums, *(_sums(layouts, stats, by, one, hashed=False)[0] for one in conventions[1:])]
        # A slot's table is over turns, also where the unit is the frame.
        turns = replace(convention, unit="turn")
        everywhere = _sums(layouts, {}, outer, turns, hashed=False)[0] if "slot" in by else None
        slots = frozenset(to_strings(distinct(layouts[None].slot)))
        return found, everywhere, slots, hashed, _alternatives(layouts[None], convention)

    parts = over_partitions(run, part)
    tables = [_add_up([found[n] for found, *_ in parts], by) for n in range(len(conventions))]
    if "slot" in by:
        everywhere = _add_up([table for _, table, *_ in parts if table is not None], outer)
        tables = [_pad(table, everywhere, stats, by) for table in tables]
    return Sums(
        table=tables[0],
        exact=tables[1] if len(tables) > 1 else None,
        slots=frozenset(slot for _, _, slots, *_ in parts for slot in slots),
        fingerprint=sum(scored.fingerprint for *_, scored, _ in parts) % 2**64,
        turns=sum(scored.turns for *_, scored, _ in parts),
        dialogues=sum(scored.dialogues for *_, scored, _ in parts),
        alternatives=next((value for *_, value in parts if value), None),
    )


def _sums(
    layouts: Mapping[View | None, Layout],
    stats: Mapping[str, pl.Expr],
    by: Sequence[str],
    convention: Convention,
    *,
    hashed: bool = True,
) -> tuple[pl.DataFrame, _Scored]:
    """The sums over one partition, of the turns in which a group has rows; and which turns are scored."""
    needed = {*_TURN, *by}
    needed |= {name for stat in stats.values() for name in stat.meta.root_names()}
    view = _view(by, convention)
    of_gold = {"gold_hash"} if hashed else set()
    columns = {*_TURN, *({"turn_hash"} if hashed else ()), *(needed | of_gold if view is None else ())}
    if convention.turns in ("gold", "pred"):
        columns |= {"n_gold", "n_pred"}
    whole = to_turns(layouts[None], convention, columns=columns)
    counted = scored = scored_turns(whole, convention)
    gold = scored
    if view is not None:
        columns = {*needed, *of_gold, view, "n_gold", "n_pred"}
        gold = counted = to_turns(layouts[view], convention, view=view, columns=columns)
        if scored.height < whole.height:
            gold = gold.join(scored.select(_TURN), on=_TURN, how="semi")
        if view == "domain":
            counted = _of_domains(counted, whole, convention)
        if scored.height < whole.height:
            counted = counted.join(scored.select(_TURN), on=_TURN, how="semi", maintain_order="left")
        if view == "slot" and "domain" in by:
            counted = counted.with_columns(over_distinct(counted["slot"], domain_of).alias("domain"))
    if LENGTH in by:
        lengths = whole.group_by("number").len(LENGTH)
        counted = counted.join(lengths, on="number", how="left", maintain_order="left")
    totals = [
        *(stat.sum().alias(f"stat:{name}") for name, stat in stats.items()),
        pl.len().cast(pl.Int64).alias("turns"),
        pl.col("number").n_unique().cast(pl.Int64).alias("dialogues"),
    ]
    grouped = counted.group_by(by).agg(totals) if by else counted.select(totals)
    parts = [scored["turn_hash"], gold["gold_hash"]] if hashed else []
    fingerprint = sum(int(np.add.reduce(part.to_numpy(), dtype=np.uint64)) for part in parts)
    turns = _Scored(fingerprint, scored.height, scored["number"].n_unique())
    return grouped.with_columns(pl.col(name).cast(pl.String) for name in by if name in _NAMES), turns


def _view(by: Sequence[str], convention: Convention) -> View | None:
    if "slot" in by:
        return "slot"
    return "domain" if "domain" in by or convention.unit == "frame" else None


def scored_turns(whole: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """The turns that the convention scores."""
    match convention.turns:
        case "gold":
            return whole.filter(pl.col("n_gold") > 0)
        case "pred":
            return whole.filter(pl.col("n_pred") > 0)
        case "last":
            return whole.filter(pl.col("number") != pl.col("number").shift(-1, fill_value=0))
        case _:
            return whole


def _of_domains(counted: pl.DataFrame, whole: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """The turns that count for a domain."""
    in_gold, in_pred = pl.col("n_gold") > 0, pl.col("n_pred") > 0
    if convention.domain_turns != "dialogue":
        return counted.filter(in_gold if convention.domain_turns == "gold" else in_gold | in_pred)
    domains = counted.filter(in_gold).select("number", "domain").unique()
    turns = whole.select(_TURN).join(domains, on="number", maintain_order="left")
    listed = counted.drop("dialogue", strict=False)
    found = turns.join(listed, on=[*_TURN, "domain"], how="left", maintain_order="left")
    if "dialogue" in counted.columns:
        found = found.join(counted.select("number", "dialogue").unique(), on="number", maintain_order="left")
    return found.with_columns(
        pl.col(name).fill_null(_EMPTY.get(name, 0))
        for name in found.columns
        if name in TURNS.columns and name not in ("dialogue", "turn", "error_age")
    )


def _alternatives(rows: Layout, convention: Convention) -> str | None:
    """A gold value that lists alternatives, where the convention takes it for one string."""
    if convention.multi != "literal":
        return None
    return min((value for value in to_strings(distinct(rows.gold)) if BETWEEN in value), default=None)


def _add_up(parts: Sequence[pl.DataFrame], by: Sequence[str]) -> pl.DataFrame:
    """Partitions' sums as the whole's: integers, so that their order does not matter."""
    whole = pl.concat(parts)
    return whole.group_by(by).agg(pl.all().sum()) if by else whole.sum()


def _pad(
    listed: pl.DataFrame, everywhere: pl.DataFrame, stats: Mapping[str, pl.Expr], by: Sequence[str]
) -> pl.DataFrame:
    """Sums per slot over *all* turns: one in which the slot has no row yet adds what an empty turn adds."""
    listed = listed.drop("dialogues").rename({"turns": "listed"})
    empty = pl.DataFrame(
        {name: [_EMPTY.get(name, 0)] for name in TURNS.columns}, schema_overrides={"error_age": pl.UInt16}
    )
    silent = pl.col("turns") - pl.col("listed").fill_null(0)
    padded = [
        (pl.col(f"stat:{name}").fill_null(0) + silent * empty.select(stat.sum()).to_series()).alias(f"stat:{name}")
        for name, stat in stats.items()
    ]
    slots = listed.select(name for name in by if name in _NAMES).unique()
    return slots.join(everywhere, how="cross").join(listed, on=list(by), how="left").with_columns(padded)
