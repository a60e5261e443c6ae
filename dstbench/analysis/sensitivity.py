"""What one error costs under each metric, by kind of error and by when it happens.

Conventions: gold is scored against itself, and against copies of its dialogues that have one error each (`one_error`).
The *loss* of an error is the dialogue's score of gold less that of the copy. The position of a change in turn t of n
(from 0) is t/(n - 1), so dialogues of a single turn have none. Means and slopes are over errors, and their intervals
over dialogues, as errors of one dialogue are alike (`stats.clusters`). A metric's *position bias* is the slope of the
loss on the position: how much more an error costs in the last turn than in the first; 0 if it costs the same at any
time.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from dstbench.analysis.one_error import (
    KINDS,
    Base,
    copies_of,
    gold_rows,
    score_copies,
    usual_values,
    with_errors,
)
from dstbench.arrays import Floats
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import DstbenchError, UsageError, check_known, warn
from dstbench.metrics import Metric, parse_all
from dstbench.metrics.registry import says_all
from dstbench.runs.gold_run import gold_run
from dstbench.runs.open import Data
from dstbench.schema.judging import ERROR_COSTS, ERROR_KINDS, POSITION_BIAS
from dstbench.scoring.partitions import partitions
from dstbench.scoring.scope import check_scope
from dstbench.scoring.score import choose_metrics, score_run
from dstbench.scoring.sums import resolve
from dstbench.stats.clusters import ClusterSums, Interval
from dstbench.stats.normal import check_level

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sensitivity:
    """What errors cost, as frames (schemas in `dstbench.schema.judging`).

    Attributes:
        costs: A row per kind of error, metric and bin of positions.
        bias: A row per kind of error and metric: the mean loss, and the position bias.
        errors: A row per kind: for how many changes of gold there is such an error.
        signatures: (run, metric, unit, signature) of the scores.
    """

    costs: pl.DataFrame
    bias: pl.DataFrame
    errors: pl.DataFrame
    signatures: pl.DataFrame


def sensitivity(
    data: Data,
    *,
    metrics: str | Iterable[str | Metric] | None = None,
    kinds: str | Sequence[str] | None = None,
    bins: int = 5,
    sample: int | None = None,
    seed: int = 0,
    level: float = 0.95,
    profile: str | Convention = "verbatim",
    split: str | None = None,
) -> Sensitivity:
    """What one error costs under each metric, by kind of error and by when it happens.

    For every change of gold and each kind of error, a copy of the dialogue is scored whose prediction is gold but for
    this error. `dstbench.analysis.one_error` says what each kind is, and how its values and slots are chosen.

    Args:
        data: Gold: a path, a frame, or states; predictions in it are ignored.
        metrics: Metrics in dstbench's notation; None: those of the profile.
        kinds: Kinds of errors, of ``missed``, ``wrong``, ``late``, ``dropped``, ``over``, ``swap``; None: all.
        bins: Number of equal parts of a dialogue in which mean losses are given.
        sample: Number of changes that are drawn in each dialogue; None: all changes are taken.
        seed: Random seed of the draws.
        level: Confidence level of the intervals.
        profile: The convention, or its name.
        split: The split to take, if gold has several; None: all.

    Raises:
        DstbenchError: Data cannot be used; gold has no change in a dialogue of several turns; or a metric, kind or
            profile is unknown.

    >>> north, stars = {"hotel-area": "north"}, {"hotel-stars": "4"}
    >>> gold = [{"dialogue_id": "D", "turn": n, "gold": north | stars if n == 3 else north} for n in range(4)]
    >>> sensitivity(gold, metrics="jga,tla", kinds="missed").bias.select("kind", "metric", "loss", "bias").rows()
    [('missed', 'jga', 0.625, -0.75), ('missed', 'tla', 0.25, 0.0)]
    """
    chosen_kinds = _kinds(kinds)
    for name, number in (("bins", bins), ("sample", sample)):
        if number is not None and number < 1:
            raise UsageError(f"{name}={number} is not at least 1")
    check_level(level)
    convention = as_convention(profile)
    requested = None if metrics is None else parse_all(metrics)
    run = gold_run(data, split)
    run.need_states("errors")
    run = replace(run, derive=_predicts_gold)
    check_scope(run, convention)
    chosen = [metric for metric in choose_metrics(requested, [run], convention) if not metric.is_count]
    if requested is not None and len(chosen) < len(requested) and not says_all(metrics):
        counts = ", ".join(str(metric) for metric in requested if metric.is_count)
        raise UsageError(f"{counts}: a count of errors, which has no loss", hint="metrics that are scores: -m jga,fga")
    rows, sums = score_run(run, chosen, (), convention)
    chosen = resolve(chosen, [sums], convention)
    totals = _Totals(chosen_kinds, [str(metric) for metric in chosen], bins)
    usual, generator = usual_values(run, convention), np.random.default_rng(seed)
    parts = partitions(run)
    for done, part in enumerate(parts):
        _LOG.info("scoring copies of %s", run.name, extra={"done": done, "of": len(parts)})
        gold = gold_rows(run.part(*part), convention)
        changes = totals.changes_to_err_in(gold, sample, generator)
        if changes.height:
            changes = with_errors(changes, gold, usual, convention)
            copies = copies_of(changes, chosen_kinds)
            totals.add(copies, score_copies(Base.of(gold, changes), copies, run, chosen, convention))
    _LOG.info("scoring copies of %s", run.name, extra={"done": len(parts), "of": len(parts)})
    totals.check(run.name)
    by_dialogue = pl.col("signature").str.replace("|by:run|", "|by:dialogue|", literal=True)
    return Sensitivity(
        ERROR_COSTS.conform(pl.DataFrame(totals.costs(level)).fill_nan(None)),
        POSITION_BIAS.conform(totals.bias(level)),
        ERROR_KINDS.conform(totals.errors().with_columns(sample=pl.lit(sample), seed=pl.lit(sample and seed))),
        rows.select("run", "metric", "unit", by_dialogue),
    )


def _kinds(kinds: str | Sequence[str] | None) -> list[str]:
    """The kinds, in the order of `KINDS`."""
    names = list(KINDS) if kinds is None else kinds.split(",") if isinstance(kinds, str) else list(kinds)
    names = [name.strip() for part in names for name in part.split(",")]
    check_known(names, KINDS, "there is no kind of error {!r}")
    return [kind for kind in KINDS if kind in names]


def _predicts_gold(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col("gold").alias("pred"))


class _Totals:
    """What partitions add to the tables of a result."""

    def __init__(self, kinds: Sequence[str], metrics: Sequence[str], bins: int) -> None:
        self.kinds, self.metrics, self.bins = kinds, metrics, bins
        # A sum per kind, metric and bin; the bin None is the whole.
        self.sums: defaultdict[tuple[str, str, int | None], ClusterSums] = defaultdict(ClusterSums)
        self.made = dict.fromkeys(kinds, 0)
        self.undefined: defaultdict[tuple[str, str], int] = defaultdict(int)
        self.changes = self.in_single_turns = self.drawn = 0

    def changes_to_err_in(self, rows: pl.DataFrame, sample: int | None, generator: np.random.Generator) -> pl.DataFrame:
        """Count the changes of a partition's gold, and draw from those that have a position."""
        changes = rows.filter("is_change")
        changes = changes.with_columns(pl.Series("drawn", generator.random(changes.height)))
        several = changes.filter(pl.col("turns") > 1)
        self.changes += changes.height
        self.in_single_turns += changes.height - several.height
        if sample is not None:
            several = several.filter(pl.col("drawn").rank("ordinal").over("number") <= sample)
        self.drawn += several.height
        return several.drop("drawn")

    def add(self, copies: pl.DataFrame, scored: Floats) -> None:
        """Add the losses of copies; those without an error come first."""
        is_gold = copies["kind"].is_null().to_numpy()
        number, place, turns = (copies[name].to_numpy() for name in ("number", "place", "turns"))
        of_gold = np.full((int(number.max()) + 1, scored.shape[1]), np.nan)
        of_gold[number[is_gold]] = scored[is_gold]
        losses = of_gold[number] - scored
        position = place / (turns - 1)
        bin_of = np.maximum((place * self.bins - 1) // (turns - 1), 0)
        for kind in self.kinds:
            of_kind = (copies["kind"] == kind).fill_null(value=False).to_numpy()
            self.made[kind] += int(of_kind.sum())
            for metric, column in zip(self.metrics, losses.T, strict=True):
                is_defined = of_kind & ~np.isnan(column)
                self.undefined[kind, metric] += int((of_kind & np.isnan(column)).sum())
                for bin_or_all in (None, *range(self.bins)):
                    taken = is_defined if bin_or_all is None else is_defined & (bin_of == bin_or_all)
                    sums = self.sums[kind, metric, bin_or_all]
                    if taken.any():
                        sums.add(number[taken], position[taken], column[taken])

    def check(self, name: str) -> None:
        """Refuse gold without a position to compare, and warn of what is left out."""
        if not self.changes:
            raise DstbenchError("gold sets no slot that the convention scores, so there is no error to make", file=name)
        if not self.drawn:
            raise DstbenchError(
                "each dialogue has one turn, so no error is earlier or later than another",
                file=name,
                hint="gold needs dialogues of several turns",
            )
        if self.in_single_turns:
            share = f"{self.in_single_turns:,} of {self.changes:,} changes of gold"
            warn(f"{share} are in dialogues of one turn, which have no position, and are left out", run=name)
        if never := [kind for kind in self.kinds if not self.made[kind]]:
            warn(f"no change of gold can have the error {', '.join(never)}: gold has no other value or slot", run=name)
        for metric in self.metrics:
            undefined = sum(self.undefined[kind, metric] for kind in self.kinds)
            if undefined:
                of = f"{undefined:,} of {sum(self.made.values()):,} errors"
                warn(f"{metric} is undefined with {of}, which its means leave out", run=name)
        if all(np.isnan(sums.slope().value) for (_, _, part), sums in self.sums.items() if part is None):
            warn("all changes of gold are at the same position, so there is no position bias", run=name)

    def costs(self, level: float) -> list[dict[str, object]]:
        """The rows of `ERROR_COSTS`."""
        return [
            {
                "kind": kind, "metric": metric, "bin": at, "start": at / self.bins, "end": (at + 1) / self.bins,
                **_named(sums.mean(level), "loss"), "level": level, "errors": sums.units, "dialogues": sums.clusters,
            }
            for kind, metric in self._pairs()
            for at in range(self.bins)
            for sums in (self.sums[kind, metric, at],)
        ]  # fmt: skip

    def bias(self, level: float) -> pl.DataFrame:
        """The columns of `POSITION_BIAS`."""
        rows = [
            {
                "kind": kind, "metric": metric, "loss": sums.mean(level).value, **_named(sums.slope(level), "bias"),
                "level": level, "errors": sums.units, "dialogues": sums.clusters,
                "undefined": self.undefined[kind, metric],
            }
            for kind, metric in self._pairs()
            for sums in (self.sums[kind, metric, None],)
        ]  # fmt: skip
        table = pl.DataFrame(rows).fill_nan(None)
        return table.with_columns(relative=pl.when(pl.col("loss") != 0).then(pl.col("bias") / pl.col("loss")))

    def errors(self) -> pl.DataFrame:
        """The columns of `ERROR_KINDS`, but for `sample` and `seed`."""
        counts = {"changes": self.changes, "single": self.in_single_turns, "drawn": self.drawn}
        return pl.DataFrame([{"kind": kind, **counts, "errors": self.made[kind]} for kind in self.kinds])

    def _pairs(self) -> Iterator[tuple[str, str]]:
        return ((kind, metric) for kind in self.kinds for metric in self.metrics)


def _named(interval: Interval, name: str) -> dict[str, float]:
    return {name: interval.value, "low": interval.low, "high": interval.high}
