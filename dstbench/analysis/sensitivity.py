"""What one error costs under each metric, by kind of error and by when it happens.

Conventions: gold is scored against itself, and against copies of its dialogues that have one error each (`one_error`).
The *loss* of an error is the dialogue's score of gold less that of the copy. The position of a change in turn t of n
(from 0) is t/(n - 1), so dialogues of a single turn have none. A metric's *position bias* is the slope of the loss on
the position within dialogues: how much more an error costs in the last turn than in the first of a dialogue, and 0 if
it costs the same at any time. (A slope over all errors would not be 0 even then, because late and early changes are in
different dialogues, of different lengths.) Intervals of means and slopes take dialogues as clusters, because errors of
one dialogue are not independent (`stats.clusters`).

A sample draws k of the N errors of a kind that a dialogue can have. It estimates the figures of all errors: each drawn
error counts N/k times in means, so that dialogues with many changes count as much as without a sample, and a dialogue's
sums of squares and products in slopes, of k - 1 degrees of freedom, count (N - 1)/(k - 1) times. The intervals hold the
uncertainty of the draws too.
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
    base_rows,
    copies_of,
    gold_rows,
    in_pieces,
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
from dstbench.schema.record import Record
from dstbench.scoring.partitions import partitions
from dstbench.scoring.scope import check_gold_scope
from dstbench.scoring.score import choose_metrics, score_run
from dstbench.scoring.sums import resolve
from dstbench.stats.clusters import ClusterRatio, Interval, sums_of_mean, sums_of_slope
from dstbench.stats.normal import check_level

_LOG: Final = logging.getLogger(__name__)
# Bins are called by whole percents.
_MOST_BINS: Final = 100
# Why no change of gold has an error of a kind.
_NEVER: Final = {
    "missed": "gold sets no slot",
    "wrong": "gold has no other value of the slot",
    "late": "the value of the turn before matches",
    "dropped": "gold keeps no value for two turns",
    "over": "the domain has no slot that the dialogue lacks",
    "swap": "the domain has no slot that the dialogue lacks and that can have the value",
}


@dataclass(frozen=True)
class Sensitivity(Record):
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

    @property
    def is_sample(self) -> bool:
        """Whether some errors were not drawn, so that all figures are estimates."""
        return bool((self.errors["errors"] < self.errors["possible"]).any())


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
        kinds: Kinds of errors: missed, wrong, late, dropped, over, swap; None: all.
        bins: Number of equal parts of a dialogue. Mean losses are given in each; at most 100.
        sample: Number of errors of each kind to draw in each dialogue; None: all.
        seed: Random seed of the draws.
        level: Confidence level of the intervals.
        profile: The convention, or its name.
        split: The split to take, if gold has several; None: all.

    Raises:
        DstbenchError: Data cannot be used; gold has no change in a dialogue of several turns, or none that can have an
            error of these kinds; or a metric, kind or profile is unknown.

    >>> north, stars = {"hotel-area": "north"}, {"hotel-stars": "4"}
    >>> states = [north, north, north, north | stars]
    >>> gold = [{"dialogue_id": name, "turn": n, "gold": state} for name in "AB" for n, state in enumerate(states)]
    >>> sensitivity(gold, metrics="jga,tla", kinds="missed").bias.select("kind", "metric", "loss", "bias").rows()
    [('missed', 'jga', 0.625, -0.75), ('missed', 'tla', 0.25, 0.0)]
    """
    chosen_kinds = _kinds(kinds)
    if not 1 <= bins <= _MOST_BINS:
        raise UsageError(f"bins={bins} is not a number from 1 to {_MOST_BINS}")
    if sample is not None and sample < 1:
        raise UsageError(f"sample={sample} is not at least 1")
    check_level(level)
    convention = as_convention(profile)
    requested = None if metrics is None else parse_all(metrics)
    run = gold_run(data, split)
    run.need_states("errors")
    # How a run's missing turns were treated when it was read does not concern gold, and must not be in signatures.
    run = replace(run, derive=_predicts_gold, meta={**run.meta, "missing": "error"})
    check_gold_scope(run, convention)
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
        for gold in in_pieces(gold_rows(run.part(*part), convention)):
            changes = totals.with_position(gold)
            if changes.height:
                changes = with_errors(changes, gold, usual, convention)
                copies = totals.draw(copies_of(changes, chosen_kinds), sample, generator.random(changes.height))
                totals.add(copies, score_copies(base_rows(gold, changes), copies, run, chosen, convention))
    _LOG.info("scoring copies of %s", run.name, extra={"done": len(parts), "of": len(parts)})
    totals.check(run.name)
    by_dialogue = pl.col("signature").str.replace("|by:run|", "|by:dialogue|", literal=True)
    return Sensitivity(
        ERROR_COSTS.conform(totals.costs(level)),
        POSITION_BIAS.conform(totals.position_bias(level)),
        ERROR_KINDS.conform(totals.errors().with_columns(sample=pl.lit(sample), seed=pl.lit(sample and seed))),
        rows.select("run", "metric", "unit", by_dialogue),
    )


def _kinds(kinds: str | Sequence[str] | None) -> list[str]:
    """The kinds, in the order of `KINDS`."""
    names = list(KINDS) if kinds is None else kinds.split(",") if isinstance(kinds, str) else list(kinds)
    names = [name.strip() for part in names for name in part.split(",")]
    if not names:
        raise UsageError("no kind of error is asked for", hint=f"some of {', '.join(KINDS)}; None: all")
    check_known(names, KINDS, "there is no kind of error {!r}")
    return [kind for kind in KINDS if kind in names]


def _predicts_gold(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col("gold").alias("pred"))


class _Totals:
    """The sums over partitions from which the tables of a result are made."""

    def __init__(self, kinds: Sequence[str], metrics: Sequence[str], bins: int) -> None:
        self.kinds, self.metrics, self.bins = kinds, metrics, bins
        # A mean per kind, metric and bin, where the bin None is the whole; a slope per kind and metric.
        self.loss: defaultdict[tuple[str, str, int | None], ClusterRatio] = defaultdict(ClusterRatio)
        self.bias: defaultdict[tuple[str, str], ClusterRatio] = defaultdict(ClusterRatio)
        self.losses: defaultdict[tuple[str, str, int | None], int] = defaultdict(int)  # how many each mean is of
        self.possible = dict.fromkeys(kinds, 0)
        self.made = dict.fromkeys(kinds, 0)
        self.undefined: defaultdict[tuple[str, str], int] = defaultdict(int)
        self.changes = self.in_single_turns = 0

    def with_position(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Count the changes of gold, and return those that have a position."""
        changes = rows.filter("is_change")
        several = changes.filter(pl.col("turns") > 1)
        self.changes += changes.height
        self.in_single_turns += changes.height - several.height
        return several

    def draw(self, copies: pl.DataFrame, sample: int | None, order: Floats) -> pl.DataFrame:
        """Draw from the copies of each kind and dialogue.

        Args:
            copies: What `copies_of` returned.
            sample: How many of each kind and dialogue; None: all.
            order: A random number for each change: the smallest are drawn.

        Returns:
            The drawn copies with the columns (of: the number of copies from which they were drawn; drawn: how many).
        """
        number = pl.col("order").rank("ordinal").over("kind", "number")
        drawn = copies.with_columns(
            pl.Series("order", order[copies["change"].to_numpy()]), of=pl.len().over("kind", "number").cast(pl.Int64)
        ).with_columns(drawn=pl.col("of") if sample is None else pl.min_horizontal("of", sample))
        for kind, possible in copies.drop_nulls("kind").group_by("kind").len().iter_rows():
            self.possible[kind] += possible
        return drawn.filter(number <= pl.col("drawn")).drop("order")

    def add(self, copies: pl.DataFrame, scored: Floats) -> None:
        """Add the losses of copies, those without an error included."""
        is_gold = copies["kind"].is_null().to_numpy()
        number, place, turns, of, drawn = (
            copies[name].to_numpy() for name in ("number", "place", "turns", "of", "drawn")
        )
        weight, weight_of_slope = of / drawn, (of - 1) / np.maximum(drawn - 1, 1)
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
                self.bias[kind, metric].add(
                    *sums_of_slope(
                        number[is_defined], position[is_defined], column[is_defined], weight_of_slope[is_defined]
                    )
                )
                for bin_or_all in (None, *range(self.bins)):
                    taken = is_defined if bin_or_all is None else is_defined & (bin_of == bin_or_all)
                    self.losses[kind, metric, bin_or_all] += int(taken.sum())
                    self.loss[kind, metric, bin_or_all].add(*sums_of_mean(number[taken], column[taken], weight[taken]))

    def check(self, name: str) -> None:
        """Refuse gold in which no error can be made, and warn of what is left out."""
        if not self.changes:
            raise DstbenchError("gold sets no slot that the convention scores, so there is no error to make", file=name)
        if self.changes == self.in_single_turns:
            raise DstbenchError(
                "each dialogue has one turn, so no error is earlier or later than another",
                file=name,
                hint="gold needs dialogues of several turns",
            )
        never = [f"{kind} ({_NEVER[kind]})" for kind in self.kinds if not self.made[kind]]
        none_of = f"no change of gold can have the error {', '.join(never)}"
        if len(never) == len(self.kinds):
            raise DstbenchError(none_of, file=name, hint="other kinds of errors")
        if self.in_single_turns:
            share = f"{self.in_single_turns:,} of {self.changes:,} changes of gold"
            warn(f"{share} are in dialogues of one turn, which have no position, and are left out", run=name)
        if never:
            warn(none_of, run=name)
        for metric in self.metrics:
            undefined = sum(self.undefined[kind, metric] for kind in self.kinds)
            if undefined:
                of = f"{undefined:,} of {sum(self.made.values()):,} errors"
                warn(f"{metric} is undefined with {of}, which its means leave out", run=name)
        if not any(slope.clusters for slope in self.bias.values()):
            errors = "errors" if self.made == self.possible else "drawn errors"
            warn(f"no dialogue has {errors} in two turns, so there is no position bias", run=name)
        elif all(mean.clusters < 2 for mean in self.loss.values()):
            warn("all errors are in one dialogue, so there are no intervals over dialogues", run=name)

    def costs(self, level: float) -> pl.DataFrame:
        """The columns of `ERROR_COSTS`."""
        rows = [
            {
                "kind": kind, "metric": metric, "bin": at, "start": at / self.bins, "end": (at + 1) / self.bins,
                **_named(mean.interval(level), "loss"), "level": level,
                "errors": self.losses[kind, metric, at], "dialogues": mean.clusters,
            }
            for kind, metric in self._pairs()
            for at in range(self.bins)
            for mean in (self.loss[kind, metric, at],)
        ]  # fmt: skip
        return pl.DataFrame(rows).fill_nan(None)

    def position_bias(self, level: float) -> pl.DataFrame:
        """The columns of `POSITION_BIAS`."""
        rows = [
            {
                "kind": kind, "metric": metric, "loss": mean.interval(level).value,
                **_named(self.bias[kind, metric].interval(level), "bias"), "level": level,
                "errors": self.losses[kind, metric, None], "dialogues": mean.clusters,
                "undefined": self.undefined[kind, metric],
            }
            for kind, metric in self._pairs()
            for mean in (self.loss[kind, metric, None],)
        ]  # fmt: skip
        table = pl.DataFrame(rows).fill_nan(None)
        return table.with_columns(relative=pl.when(pl.col("loss") != 0).then(pl.col("bias") / pl.col("loss")))

    def errors(self) -> pl.DataFrame:
        """The columns of `ERROR_KINDS`, but for `sample` and `seed`."""
        counts = {"changes": self.changes, "single": self.in_single_turns}
        made = ({"kind": kind, "possible": self.possible[kind], "errors": self.made[kind]} for kind in self.kinds)
        return pl.DataFrame([of_kind | counts for of_kind in made])

    def _pairs(self) -> Iterator[tuple[str, str]]:
        return ((kind, metric) for kind in self.kinds for metric in self.metrics)


def _named(interval: Interval, name: str) -> dict[str, float]:
    return {name: interval.value, "low": interval.low, "high": interval.high}
