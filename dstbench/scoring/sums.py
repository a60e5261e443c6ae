"""From turn tables to the sums of a run, per group, and from these to scores with their standard errors.

Each part of a run is summed by itself. All sums are whole numbers, so the sums of parts add up exactly to the run's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any, Final

import numpy as np
import polars as pl
import polars.selectors as cs

from dstbench.arrays import Floats
from dstbench.conventions.convention import Convention
from dstbench.conventions.slots import are_multiwoz, slot_total
from dstbench.errors import DstbenchError, UsageError
from dstbench.metrics import Metric, counts_and_stats, score_of, stats_of
from dstbench.metrics.base import PARTS_OF_STEP, STEP, from_parts, in_parts
from dstbench.metrics.built_in import ERRORS
from dstbench.readers.frames import all_say
from dstbench.runs.gold import gold_slots
from dstbench.runs.run import Run
from dstbench.schema.core import BETWEEN, LENGTH, SEEN, TURNS
from dstbench.scoring.partitions import Part, over_parts
from dstbench.scoring.turns import EMPTY_TURN, TURN, view_of
from dstbench.scoring.values import C
from dstbench.tables import collect, collect_all

# Groups that turns have only in a view; they are dictionary columns until turns are summed.
_NAMES: Final = ("slot", "domain", SEEN)
# A statistic's sum in a dialogue must be below this, so that the product of two such sums is exact.
_SUM_LIMIT: Final = 2**31
_STAT, _MOMENT = "stat:", "moment:"


@dataclass(frozen=True)
class Sums:
    """The sums of a run.

    The table has one row per group, with the `by` columns, ``stat:<name>`` for each statistic, `turns`, `dialogues`,
    and a column ``moment:<pair>`` for each requested pair of statistics.
    """

    metrics: Sequence[Metric]  # those asked for; parameters that depend on the slots in gold have their values
    table: pl.DataFrame
    fingerprint: int  # of gold under the convention, over the scored turns
    turns: int  # number of scored turns
    dialogues: int  # number of dialogues with a scored turn
    most_errors: int  # the most slot errors in one turn; 0 if slot accuracy is not scored
    gold_slots: frozenset[str]  # the slots that have a value in gold; empty if no metric needs them
    alternatives: str | None  # with `errors`: a gold value that lists alternatives but is compared as one string

    def total(self, stat: str) -> int | None:
        """The sum of a statistic over all groups; None: it was not requested."""
        column = _STAT + stat
        return int(self.table[column].sum()) if column in self.table.columns else None


def sum_up(
    run: Run,
    metrics: Sequence[Metric],
    by: Sequence[str],
    convention: Convention,
    *,
    more: Mapping[str, pl.Expr] | None = None,
    errors: bool = False,
    signed: bool = True,
) -> Sums:
    """Sum the statistics of metrics, and `more`, over a run; `signed`: whether to find `Sums.fingerprint`.

    `errors`: also the products of two statistics' sums in each dialogue; not by slot, as turns are padded after they
    are summed, nor by dialogue, as a single one has no spread.
    """
    counts, stats = counts_and_stats(metrics)
    stats |= more or {}
    _check_request(run, stats, by, convention)
    view, frames = view_of(by, convention)
    frames = frames and "frames" in run.meta
    has_moments = errors and "slot" not in by and "dialogue" not in by
    of_errors = [metric for metric in metrics if has_moments and not metric.is_count]
    moments = list(
        dict.fromkeys(pair for metric in of_errors for pair in combinations_with_replacement(stats_of(metric), 2))
    )
    needs_slots = any(metric.needs_total for metric in metrics)
    takes_all_gold = convention.takes_gold_as_written and convention.turns == "all" and view is None
    fingerprint = (run.fingerprint if takes_all_gold and run.derive is None else None) if signed else 0
    turn_groups = [name for name in by if name not in _NAMES]
    of_turns = list(dict.fromkeys([*TURN, *turn_groups]))

    def sum_part(part: Part) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
        if convention.schema is not None and convention.slot_set is None:
            services = set(part.rows().cells.drop_nulls("gold")["domain"].cast(pl.String))
            if lacking := sorted(services - convention.schema.services):  # their frames would be left out in silence
                what = f"the schema has no service {lacking[0]}, which gold has"
                raise DstbenchError(what, hint="--schema takes the schema.json of the scored split")
        alternatives = None
        whole, scored, counted = part.turns(convention, view, counts, frames=frames)
        if LENGTH in by:
            lengths = whole.group_by("number").agg(pl.len().cast(pl.UInt32).alias(LENGTH))
            scored, counted = (turns.join(lengths, on="number", maintain_order="left") for turns in (scored, counted))
        keys = list(dict.fromkeys(["number", *by])) if view else of_turns
        # A statistic that is undefined adds nothing.
        values = counted.select(*keys, *(s.fill_null(0).fill_nan(0).alias(_STAT + name) for name, s in stats.items()))
        turns, *others = collect_all([values, *([scored.select(of_turns)] if view else [])])
        of_scored = others[0] if view else turns
        sums = {
            "sizes": pl.DataFrame({"turns": of_scored.height, "dialogues": of_scored["number"].n_unique()}),
            "table": _sum(turns, by, moments),
        }
        if errors and convention.multi == "literal":
            texts = part.rows().cells["gold"].unique().cast(pl.String)
            alternatives = texts.filter(texts.str.contains(BETWEEN, literal=True)).min()  # the first by the alphabet
        if view == "slot":
            sums["all_turns"] = _sum(of_scored.select("number", *turn_groups), turn_groups)
        return sums, {
            "fingerprint": part.fingerprint(convention, of_scored) if fingerprint is None else 0,
            "most_errors": turns[_STAT + ERRORS].max() or 0 if ERRORS in stats else 0,
            "gold_slots": gold_slots(part.rows().cells) if needs_slots else frozenset(),
            "is_multiwoz": needs_slots and are_multiwoz(part.long["dialogue"].unique()),
            "alternatives": alternatives,
        }

    parts = over_parts(run, sum_part)
    facts = {name: [of_part[name] for _, of_part in parts] for name in parts[0][1]}
    added = {name: pl.concat([tables[name] for tables, _ in parts]) for name in parts[0][0]}
    if len(parts) > 1:
        groups = {"table": by, "all_turns": turn_groups}
        added = {
            name: rows.group_by(groups[name]).agg(pl.all().sum()) if groups.get(name) else rows.sum()
            for name, rows in added.items()
        }
    table = _pad(added["table"], added["all_turns"], stats, by, counts) if view == "slot" else added["table"]
    turns, dialogues = added["sizes"].row(0)
    slots = frozenset[str]().union(*facts["gold_slots"])
    if needs_slots:
        total = slot_total(
            slots if convention.scope is None or convention.outside == "scored" else (),
            is_multiwoz=all(facts["is_multiwoz"]),
            scope=convention.scope,
            name=convention.scope_name,
        )
        metrics = [metric.resolve(total) if metric.needs_total else metric for metric in metrics]
    return Sums(
        metrics,
        table.with_columns(from_parts(cs.starts_with(_STAT) & cs.by_dtype(pl.Int128))),
        sum(facts["fingerprint"]) % 2**64 if fingerprint is None else fingerprint,
        turns,
        dialogues,
        most_errors=max(facts["most_errors"]),
        gold_slots=slots,
        alternatives=next(filter(None, facts["alternatives"]), None),
    )


def _sum(turns: pl.DataFrame, by: Sequence[str], moments: Collection[tuple[str, str]] = ()) -> pl.DataFrame:
    """The columns of `Sums.table`; refuses ratios outside 0 to 1, and counts whose squares would overflow."""
    stats = [name for name in turns.columns if name.startswith(_STAT)]
    ratios = [name for name in stats if turns.schema[name].is_float()]
    counts = [name for name in stats if name not in ratios]
    outside = turns.lazy().select(C(name).filter((C(name) < 0) | (C(name) > 1)).first() for name in ratios)
    for name, (value,) in collect(outside).to_dict(as_series=False).items():
        if value is not None:
            raise UsageError(
                f"statistic {name.removeprefix(_STAT)!r} is {value:g} in a turn; a float must be a ratio from 0 to 1",
                hint="make it a whole number (Int64), or divide it by the largest value it can have",
            )
    dialogues = collect(
        turns.lazy()
        .with_columns(in_parts(C(ratios).cast(pl.Float64).clip(0, 1)), C(counts).cast(pl.Int64))
        .group_by(list(dict.fromkeys([*by, "number"])))
        .agg(C(stats).sum(), turns=pl.len().cast(pl.Int64))
    )
    for name, (most,) in dialogues.select(C(counts).abs().max()).to_dict(as_series=False).items():
        if (most or 0) >= _SUM_LIMIT:
            raise UsageError(
                f"statistic {name.removeprefix(_STAT)!r} adds up to {most:,} in a dialogue, too much to sum exactly",
                hint="divide it by the largest value it can have in a turn, so that it is a ratio",
            )
    step = pl.lit(PARTS_OF_STEP, pl.Int128)  # ties are rounded up
    factor = {name: ((C(name) + step // 2) // step).cast(pl.Int64) if name in ratios else C(name) for name in stats}
    sums = [
        C("turns", *stats).sum(),
        pl.len().cast(pl.Int64).alias("dialogues"),
        *((factor[_STAT + a] * factor[_STAT + b]).cast(pl.Int128).sum().alias(f"{_MOMENT}{a, b}") for a, b in moments),
    ]
    table = dialogues.lazy().group_by(by).agg(sums) if by else dialogues.lazy().select(sums)
    return collect(table.with_columns(C(name).cast(pl.String) for name in by if name in _NAMES))


def _pad(
    listed: pl.DataFrame,
    all_turns: pl.DataFrame,
    stats: Mapping[str, pl.Expr],
    by: Sequence[str],
    counts: Collection[str],
) -> pl.DataFrame:
    """Sums per slot over all turns: turns before the first that lists the slot are added as empty turns."""
    listed = listed.drop("dialogues").rename({"turns": "listed"})
    columns = {name: [EMPTY_TURN.get(name, 0)] for name in (*TURNS.columns, *counts)}
    empty = pl.DataFrame(columns, schema_overrides={"error_age": pl.UInt16})
    added = C("turns") - C("listed").fill_null(0)
    padded = []
    for name, stat in stats.items():
        of_empty = in_parts(stat) if listed.schema[_STAT + name] == pl.Int128 else stat
        of_listed = C(_STAT + name).fill_null(0)
        padded.append((of_listed + added * empty.select(of_empty.sum()).to_series()).alias(_STAT + name))
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


# The step of a central difference, relative to the sum that is moved; its error and that of rounding are about 10⁻¹⁰.
_STEP: Final = 2.0**-17
# A variance that is smaller than this share of its summed terms counts as none: the gradient is no more precise.
_NEGLIGIBLE: Final = 1e-9
# If the error is a smaller part than this of the score, dialogues are alike but for rounding.
_ALIKE: Final = 1e-9


def scores_and_errors(metrics: Sequence[Metric], sums: pl.DataFrame) -> tuple[pl.DataFrame, Floats]:
    """The scores of metrics (see `scores`), and their standard errors (groups × metrics), from `Sums.table`.

    A score is a smooth function of sums over dialogues, and does not change when all sums double. So its standard error
    over D dialogues is that of Σ g·s_d, with s_d the sums of dialogue d and g the score's gradient at all sums:
    √(D/(D−1) · Σ (g·s_d)²), which needs only the sums and their second moments. (Of a ratio of two sums it is the
    sandwich estimate for clusters, `stats.linearised_se`.) An error is NaN for counts, for undefined scores, for a
    single dialogue, where all dialogues are alike, and without moments.
    """
    floats = sums.select_seq(cs.starts_with(_STAT, _MOMENT).cast(pl.Float64))  # all in one query
    numbers = dict(zip(floats.columns, floats.to_numpy().T, strict=True))
    has_moments = any(name.startswith(_MOMENT) for name in numbers)
    names = list(dict.fromkeys(name for metric in metrics for name in stats_of(metric)))
    stats = [f"stat:{name}" for name in names]
    whole = np.stack([numbers[name] for name in stats], axis=1)
    schema = sums.schema
    units = np.array([STEP if schema[name] == pl.Float64 else 1 for name in stats])
    steps = np.maximum(np.abs(whole), units) * _STEP
    rows = whole
    if has_moments:
        # Below the groups' own sums: the same with each statistic in turn moved up, then with each moved down.
        # Axes of `moves`: direction, moved statistic, group, statistic.
        moves = np.array([1, -1])[:, None, None, None] * np.eye(len(names))[:, None, :] * steps
        rows = np.concatenate([whole, (whole + moves).reshape(-1, len(names))])
    # The array as a table, in a fifth of the time that `pl.DataFrame` takes, which makes each column by itself.
    moved = scores(metrics, pl.Series(rows).arr.to_struct(stats).struct.unnest())
    values = moved.head(sums.height)
    errors = np.full((sums.height, len(metrics)), np.nan)
    if has_moments:
        dialogues = sums["dialogues"].to_numpy().astype(np.float64)
        magnitudes = np.abs(values.to_numpy())  # NaN where undefined, and so not below any error
        up, down = moved.slice(sums.height).to_numpy().T.reshape(len(metrics), 2, len(names), -1).swapaxes(0, 1)
        gradients = (up - down) / (2 * steps.T) * units[:, None]
        for number, metric in enumerate(metrics):
            if not metric.is_count:
                gradient = dict(zip(names, gradients[number], strict=True))
                terms = [
                    gradient[one] * gradient[other] * numbers[f"{_MOMENT}{one, other}"] * (1 if one == other else 2)
                    for one, other in combinations_with_replacement(stats_of(metric), 2)
                ]
                variance = np.sum(terms, axis=0)
                variance[~(variance >= _NEGLIGIBLE * np.sum(np.abs(terms), axis=0))] = 0
                own = np.sqrt(variance * dialogues / np.maximum(dialogues - 1, 1))
                is_known = (dialogues > 1) & (own > _ALIKE * magnitudes[:, number])
                errors[:, number] = np.where(is_known, own, np.nan)
    return values, errors


def scores(metrics: Sequence[Metric], sums: pl.DataFrame) -> pl.DataFrame:
    """The scores of metrics from columns ``stat:<name>``: a column (Float64) per metric, named by its position."""
    return sums.select_seq(_score(metric).alias(str(number)) for number, metric in enumerate(metrics))


@lru_cache(maxsize=256)
def _score(metric: Metric) -> pl.Expr:
    """A metric's score from columns ``stat:<name>`` (cached, as expressions are slow to make)."""
    return score_of(metric, {name: pl.col(f"stat:{name}") for name in stats_of(metric)})
