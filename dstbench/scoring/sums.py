"""Summed statistics of a run, per group: the step from rows to what a score is made of.

Partitions are counted one by one and their sums added up, so that parts agree with the whole exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from dstbench.conventions.slots import are_multiwoz, domain_of
from dstbench.errors import UsageError
from dstbench.metrics.exact_sums import from_halves, from_parts, halves, in_parts, in_steps
from dstbench.runs.codes import PerCode, codes, distinct, to_strings
from dstbench.runs.gold import gold_slots
from dstbench.runs.layout import Layout, lay_out, over_distinct, row_changes
from dstbench.schema.core import BETWEEN, LENGTH, SEEN, TURNS
from dstbench.scoring.partitions import over_partitions
from dstbench.scoring.requirements import check_frames, check_services
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
    from dstbench.conventions.files import Schema
    from dstbench.runs.run import Run
    from dstbench.typing import View

    # One row per group; without groups, plain numbers: a frame of one row is slow to make.
    Totals: TypeAlias = pl.DataFrame | dict[str, int]

_NAMES: Final = ("slot", "domain", SEEN)
# Whether a value lists alternatives.
_LISTS: Final = PerCode(lambda values: values.str.contains(BETWEEN, literal=True).to_numpy(), absent=False)
# A ratio's sums are in two columns, called by these and its name, until all are added up.
_HALVES: Final = ("higher:", "lower:")
# The statistics of `Spelling`: turns that are right, and those that are wrong by spelling alone.
_RIGHT: Final = "spelling: right"
_SPELLED: Final = "spelling: wrong by it"
# Whole numbers that a dialogue adds up to are below this, so that the product of two of them is exact.
_LARGEST: Final = 2**31


@dataclass(frozen=True)
class _Scored:
    """The turns of a partition that are scored.

    Attributes:
        fingerprint: Their part of the fingerprint; 0: not asked for.
        turns: How many they are.
        dialogues: In how many dialogues.
        most: See `Sums`.
    """

    fingerprint: int
    turns: int
    dialogues: int
    most: Mapping[str, int]


class _Part(NamedTuple):
    """What a partition sums up to; see `Sums`."""

    tables: list[Totals]  # under the convention and, where it is fuzzy, with exact matching
    everywhere: Totals | None  # over all turns, where slots are padded to them
    gold_slots: frozenset[str]
    is_multiwoz: bool
    scored: _Scored
    alternatives: str | None


@dataclass(frozen=True)
class Spelling:
    """How many turns are right, and how many are wrong by spelling alone.

    Attributes:
        turns: How many are scored.
        right: How many of them are right.
        wrong: How many of them are wrong, but would not be if gold and prediction were spelled alike.
    """

    turns: int
    right: int
    wrong: int


@dataclass(frozen=True)
class Sums:
    """What a run sums up to.

    Attributes:
        table: One row per group: the `by` columns, ``stat:<name>`` for each statistic, `turns`, `dialogues`, and
            ``moment:('<one>', '<other>')`` for each moment that is asked for.
        exact: The same with exact matching, where the convention is fuzzy; else None.
        gold_slots: The slots that have a value in gold; none, where they are not asked for.
        is_multiwoz: Whether the dialogues are MultiWOZ's, likewise.
        most: The largest value in a turn of each statistic of which it is asked for.
        spelling: What spelling costs; None: not asked for.
        fingerprint: That of gold under the convention, over the turns that are scored.
        turns: How many turns these are.
        dialogues: In how many dialogues.
        alternatives: A gold value with alternatives, where they are compared as written; else None.
    """

    table: pl.DataFrame
    exact: pl.DataFrame | None
    gold_slots: frozenset[str]
    is_multiwoz: bool
    most: Mapping[str, int]
    spelling: Spelling | None
    fingerprint: int
    turns: int
    dialogues: int
    alternatives: str | None


def sum_up(
    run: Run,
    stats: Mapping[str, pl.Expr],
    by: Sequence[str],
    convention: Convention,
    moments: Collection[tuple[str, str]] = (),
    *,
    named: bool = True,
    most: Collection[str] = (),
    spelling: bool = False,
) -> Sums:
    """Sum statistics of the turn table over a run.

    Args:
        run: The run.
        stats: Expressions over the turn table, by name: whole numbers, or ratios from 0 to 1.
        by: Columns to group by: those of the turn table, ``domain``, ``slot``, ``length``.
        convention: What values mean and which turns count.
        moments: Pairs of statistics whose products, dialogue by dialogue, are summed too, ratios in units of
            `metrics.exact_sums.STEP`; for standard errors. There are none by slot or by dialogue.
        named: Whether `Sums.gold_slots` are asked for.
        most: The statistics whose largest value in a turn is asked for: whole numbers.
        spelling: Whether `Sums.spelling` is asked for; there is no such number in a view.
    """
    if _has_no_moments(by):
        moments = ()
    if spelling:
        stats = {**stats, **_turns_by_spelling()}
    clash = [name for name in by if name.startswith("n_")]
    if "slot" in by and clash:
        raise UsageError(f"scores by slot cannot be grouped by {clash[0]} as well")
    check_frames(run, stats, by, convention)
    conventions = [convention, convention.exact()] if convention.is_fuzzy else [convention]
    outer = [name for name in by if name not in _NAMES]
    view = _view(by, convention)
    of_turns = replace(convention, unit="turn")  # a slot's table is over turns, also where the unit is the frame
    gold = _known_fingerprint(run, convention, view)
    frames = "frames" in run.meta and counts_frames(convention, view)

    def part(table: pl.DataFrame) -> _Part:
        layouts = {one: lay_out(table, one, frames=frames and one is not None) for one in {None, view}}
        sums, scored = _sums(layouts, stats, by, convention, hashed=gold is None, moments=moments, most=most)
        tables = [sums, *(_sums(layouts, stats, by, one, hashed=False)[0] for one in conventions[1:])]
        everywhere = _sums(layouts, {}, outer, of_turns, hashed=False)[0] if "slot" in by else None
        rows = layouts[None]
        check_services(rows, convention)
        slots = gold_slots(rows) if named else frozenset()
        is_multiwoz = named and are_multiwoz(rows.dialogue)
        return _Part(tables, everywhere, slots, is_multiwoz, scored, _alternatives(rows, convention))

    parts = over_partitions(run, part, frames=frames)
    tables = [_add_up(found, by) for found in zip(*(part.tables for part in parts), strict=True)]
    if "slot" in by:
        everywhere = _add_up([part.everywhere for part in parts if part.everywhere is not None], outer)
        tables = [_pad(table, everywhere, stats, by) for table in tables]
    ratios = [name for name, dtype in tables[0].schema.items() if name.startswith("stat:") and dtype == pl.Int128]
    tables = [table.with_columns(from_parts(pl.col(name)) for name in ratios) for table in tables]
    counts = None
    if spelling:
        names = [f"stat:{_RIGHT}", f"stat:{_SPELLED}"]
        counts = Spelling(*tables[0].select(pl.col("turns", *names).sum()).row(0))
        tables = [table.drop(names) for table in tables]
    return Sums(
        table=tables[0],
        exact=tables[1] if len(tables) > 1 else None,
        gold_slots=frozenset(slot for part in parts for slot in part.gold_slots),
        is_multiwoz=all(part.is_multiwoz for part in parts),
        most={name: max(part.scored.most.get(name, 0) for part in parts) for name in most},
        spelling=counts,
        fingerprint=sum(part.scored.fingerprint for part in parts) % 2**64 if gold is None else gold,
        turns=sum(part.scored.turns for part in parts),
        dialogues=sum(part.scored.dialogues for part in parts),
        alternatives=next((part.alternatives for part in parts if part.alternatives), None),
    )


def _sums(
    layouts: Mapping[View | None, Layout],
    stats: Mapping[str, pl.Expr],
    by: Sequence[str],
    convention: Convention,
    *,
    hashed: bool = True,
    moments: Collection[tuple[str, str]] = (),
    most: Collection[str] = (),
) -> tuple[Totals, _Scored]:
    """The sums over one partition, of the turns in which a group has rows; and which turns are scored."""
    needed = _columns(stats, by, convention)
    view = _view(by, convention)
    of_gold = {"gold_hash"} if hashed else set()
    columns = {*TURN, *({"turn_hash"} if hashed else ()), *(needed | of_gold if view is None else ())}
    columns |= columns_of_scored(convention)
    whole = to_turns(layouts[None], convention, columns=columns)
    gold = counted = scored = scored_turns(whole, convention)
    if view is not None:
        columns = {*needed, *of_gold, view, "n_gold", "n_pred", "is_frame"}
        gold = counted = listed = to_turns(layouts[view], convention, view=view, columns=columns)
        if scored.height < whole.height:
            gold = counted = listed.join(scored.select(TURN), on=TURN, how="semi", maintain_order="left")
        if view == "domain" and layouts[view].frames is not None:
            counted = turns_of_frames(counted, convention)
        elif view == "domain":
            counted = turns_of_domains(counted, listed, scored, convention)
        if view == "slot" and "domain" in by:
            counted = counted.with_columns(over_distinct(counted["slot"], domain_of).alias("domain"))
        if convention.seen is not None and SEEN in by:
            counted = counted.with_columns(over_distinct(counted[view], _seen_in(convention.seen)).alias(SEEN))
    if LENGTH in by:
        lengths = whole.group_by("number").len(LENGTH)
        counted = counted.join(lengths, on="number", how="left", maintain_order="left")
    grouped = _total(counted, stats, by, moments)
    parts = [scored["turn_hash"], gold["gold_hash"]] if hashed else []
    fingerprint = sum(int(np.add.reduce(part.to_numpy(), dtype=np.uint64)) for part in parts)
    dialogues = int(row_changes(scored["number"].to_numpy()).sum())
    largest = counted.select(stats[name].max().fill_null(0).alias(name) for name in most).row(0) if most else ()
    return grouped, _Scored(fingerprint, scored.height, dialogues, dict(zip(most, largest, strict=True)))


def _columns(stats: Mapping[str, pl.Expr], by: Sequence[str], convention: Convention) -> set[str]:
    """The columns of the turn table that are needed."""
    of_stats = {name for stat in stats.values() for name in stat.meta.root_names()}
    return {*TURN, *by, *of_stats, *columns_of_scored(convention)}


def _known_fingerprint(run: Run, convention: Convention, view: View | None) -> int | None:
    """The fingerprint of gold, where it is that of gold as written, over all turns, and the run's file says it."""
    is_it = convention.takes_gold_as_written and convention.turns == "all" and view is None and run.derive is None
    return run.fingerprint if is_it else None


def _total(
    counted: pl.DataFrame, stats: Mapping[str, pl.Expr], by: Sequence[str], pairs: Collection[tuple[str, str]]
) -> Totals:
    """Turns added up per group; where moments are asked for, dialogue by dialogue first."""
    values = counted.select_seq(**stats)  # partitions are what threads share
    keys = counted.select_seq(*by, "number")
    # Most turns stand beside others of their dialogue and group: little is left to group by hashing.
    changes = [row_changes(_plain(column)) for column in keys if column.name != "dialogue"]
    starts = np.flatnonzero(np.logical_or.reduce(changes))
    ends = np.append(starts[1:], counted.height)[: len(starts)] - 1
    sums = {"turns": np.diff(ends, prepend=-1)}
    for name, column in zip(stats, values, strict=True):
        if column.dtype.is_float():
            ratios = _defined_ratios(name, column)
            sums |= {half + name: _of_runs(part, ends) for half, part in zip(_HALVES, halves(ratios), strict=True)}
        else:
            counts = sums["stat:" + name] = _of_runs(column.cast(pl.Int64).fill_null(0).to_numpy(), ends)
            if np.abs(counts).max(initial=0) >= _LARGEST:
                raise UsageError(
                    f"statistic {name!r} adds up to {np.abs(counts).max():,} in a dialogue, too much to sum exactly",
                    hint="divide it by the largest that it can be in a turn, and it is a ratio",
                )
    if not by:
        moments = {name: int(one @ other) for name, one, other in _factors(sums, pairs)}
        return {name: int(column.sum()) for name, column in sums.items()} | {"dialogues": len(ends)} | moments
    table = keys[starts].with_columns(**sums)
    if pairs:
        table = table.group_by(keys.columns).agg(pl.all().sum())
        factors = _factors({name: table[name].to_numpy() for name in sums}, pairs)
        table = table.with_columns(pl.Series(name, one * other) for name, one, other in factors)
    dialogues = pl.col("number").n_unique().cast(pl.Int64).alias("dialogues")
    totals = table.group_by(by).agg(pl.exclude(keys.columns).sum(), dialogues)
    return totals.with_columns(pl.col(name).cast(pl.String) for name in by if name in _NAMES)


def _defined_ratios(name: str, column: pl.Series) -> Floats:
    """The ratios of a statistic, 0 where it is undefined; others than from 0 to 1 cannot be summed exactly."""
    ratios = column.cast(pl.Float64).fill_null(0).fill_nan(0).to_numpy()
    outside = (ratios < 0) | (ratios > 1)
    if outside.any():
        raise UsageError(
            f"statistic {name!r} is {ratios[outside][0]:g} in a turn, and a float must be a ratio from 0 to 1",
            hint="make it a whole number (Int64), or divide it by the largest it can be",
        )
    return ratios


def _of_runs(column: Integers, ends: Integers) -> Integers:
    """The sums of runs of rows that end with these."""
    return np.diff(np.cumsum(column)[ends], prepend=0)


def _plain(column: pl.Series) -> NDArray[Any]:
    """A column that NumPy compares: numbers as they are, dictionary columns as codes."""
    return codes(column) if column.dtype == pl.Categorical else column.to_numpy()


def _factors(
    sums: Mapping[str, Integers], moments: Collection[tuple[str, str]]
) -> Iterator[tuple[str, Integers, Integers]]:
    """What moments are summed products of: dialogues' sums, of ratios rounded.

    A partition of 2¹⁹ rows has sums below 2³¹ steps, and sums of products below 2⁶².
    """
    known = {
        name: sums["stat:" + name] if "stat:" + name in sums else in_steps(*(sums[half + name] for half in _HALVES))
        for name in dict.fromkeys(name for pair in moments for name in pair)
    }
    for one, other in moments:
        yield f"moment:{(one, other)}", known[one], known[other]


def _has_no_moments(by: Sequence[str]) -> bool:
    """By slot, turns are padded after they are added up; a single dialogue has no spread."""
    return "slot" in by or "dialogue" in by


def _view(by: Sequence[str], convention: Convention) -> View | None:
    if "slot" in by:
        return "slot"
    return "domain" if "domain" in by or convention.unit == "frame" else None


def _turns_by_spelling() -> dict[str, pl.Expr]:
    """1 per turn that is right, and 1 per turn that is wrong and all of whose wrong slots differ by spelling only."""
    wrong = pl.col("n_union") - pl.col("n_correct")
    return {
        _RIGHT: (wrong == 0).cast(pl.Int64),
        _SPELLED: ((wrong > 0) & (wrong == pl.col("n_spelling"))).cast(pl.Int64),
    }


def _seen_in(schema: Schema) -> Callable[[str], str]:
    """Whether a slot or domain is of one of these services, in a word."""
    return lambda name: "seen" if domain_of(name) in schema.services else "unseen"


def _alternatives(rows: Layout, convention: Convention) -> str | None:
    """A gold value that lists alternatives, where the convention takes it for one string."""
    if convention.multi != "literal":
        return None
    gold = rows.cells[1]
    return min(to_strings(distinct(gold[_LISTS.of(gold)])), default=None) if _LISTS.up_to(gold).any() else None


def _add_up(parts: Sequence[Totals], by: Sequence[str]) -> pl.DataFrame:
    """Partitions' sums as the whole's: whole numbers, so that their order does not matter; of ratios in parts."""
    frames = [part for part in parts if isinstance(part, pl.DataFrame)]
    rows = [part for part in parts if isinstance(part, dict)]
    if frames:
        whole = pl.concat(frames).with_columns(pl.col("^moment:.*$").cast(pl.Int128)).group_by(by).agg(pl.all().sum())
    else:
        wide = dict.fromkeys((name for name in rows[0] if name.startswith("moment:")), pl.Int128)
        whole = pl.DataFrame({name: [sum(row[name] for row in rows)] for name in rows[0]}, schema_overrides=wide)
    ratios = [name.removeprefix(_HALVES[0]) for name in whole.columns if name.startswith(_HALVES[0])]
    joined = [from_halves(*(pl.col(half + name) for half in _HALVES)).alias("stat:" + name) for name in ratios]
    return whole.with_columns(joined).drop(half + name for half in _HALVES for name in ratios)


def _pad(
    listed: pl.DataFrame, everywhere: pl.DataFrame, stats: Mapping[str, pl.Expr], by: Sequence[str]
) -> pl.DataFrame:
    """Sums per slot over *all* turns: one in which the slot has no row yet adds what an empty turn adds."""
    listed = listed.drop("dialogues").rename({"turns": "listed"})
    empty = pl.DataFrame(
        {name: [EMPTY_TURN.get(name, 0)] for name in TURNS.columns}, schema_overrides={"error_age": pl.UInt16}
    )
    silent = pl.col("turns") - pl.col("listed").fill_null(0)
    padded = []
    for name, stat in stats.items():
        whole = in_parts(stat) if listed.schema["stat:" + name] == pl.Int128 else stat
        column = pl.col("stat:" + name).fill_null(0)
        padded.append((column + silent * empty.select(whole.sum()).to_series()).alias("stat:" + name))
    slots = listed.select(name for name in by if name in _NAMES).unique()
    return slots.join(everywhere, how="cross").join(listed, on=list(by), how="left").with_columns(padded)
