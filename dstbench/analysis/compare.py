"""Whether one run is better than another: intervals and tests over whole dialogues.

Conventions: the unit is the dialogue, never the turn, as a tracker's errors persist from turn to turn. All runs and
metrics share the draws; a seed gives the same bits on every machine. p-values are adjusted for the differences of one
metric, because each metric is read as a leaderboard of its own.

Standard errors are linearised, as those of `score`. A share's interval is Wilson's with the effective number of
independent units, so it is honest at 0 and 100 % too. One test gives both p and interval of a difference, so that the
interval excludes 0 exactly if p is at most 1 − level: of two runs, approximate randomisation. If models with several
runs (seeds) are named, models are compared, not runs, since that one seed beats another says little about their models:
by Welch's t over the seeds, with the variance of dialogues. A model needs three seeds for that.

Where p is within Monte Carlo error of the level, ten times as many resamples are drawn; if it still is, the result says
that another seed may give the other verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, Unpack, get_args

import numpy as np
import polars as pl

from dstbench.analysis.dialogue_sums import Paired, pair_up
from dstbench.analysis.significance import FEWEST_SEEDS, doubts, judge, judge_models, strictest_level
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import UsageError, check_known, did_you_mean, warn
from dstbench.metrics import Metric, parse_all, stats_of
from dstbench.runs.align import over_common_turns
from dstbench.runs.open import Data, Reading, parts_to_open, short_names
from dstbench.schema import analysis as schema
from dstbench.schema.record import Record
from dstbench.scoring.scope import open_under
from dstbench.stats import (
    Null,
    Randomisation,
    Spread,
    influences,
    smallest_detectable,
    spread,
    spread_over_seeds,
    tally,
)
from dstbench.stats.normal import check_level
from dstbench.typing import Adjustment

if TYPE_CHECKING:
    Models = Mapping[str, Sequence[int]]
    Row = dict[str, Any]

#: The default is one metric: among many, one that favours a run is easily found.
DEFAULT: Final = "jga"
_BETWEEN_RUNS: Final = "approximate randomisation of dialogues"
_BETWEEN_MODELS: Final = "Welch's t over seeds, with the variance of dialogues"
# So many times as many resamples are drawn where a verdict may hang on the seed.
_MORE: Final = 10


@dataclass(frozen=True)
class Leaderboard(Record):
    """A comparison of runs, as frames (schemas in `dstbench.schema.analysis`).

    Attributes:
        scores: The runs' scores, with intervals.
        models: The models' mean scores, with intervals; empty if no models were named.
        differences: Pairs of runs, or of models if any were named: differences, with intervals and p.
        design: How the runs were compared: resamples, seed, level, test, adjustment.
    """

    scores: pl.DataFrame
    models: pl.DataFrame
    differences: pl.DataFrame
    design: pl.DataFrame


@dataclass(frozen=True)
class Design:
    """How runs are compared; see `compare`."""

    resamples: int = 10_000
    seed: int = 0
    level: float = 0.95
    adjust: Adjustment = "holm"

    def __post_init__(self) -> None:
        check_level(self.level)
        if self.resamples < 1:
            raise UsageError(f"{self.resamples} resamples are too few", hint="10000 are usual")
        if self.seed < 0:
            raise UsageError(f"seed {self.seed} is negative", hint="0 or more")
        check_known([str(self.adjust)], get_args(Adjustment), "there is no adjustment {!r}")


def compare(
    data: Data,
    *,
    metrics: str | Iterable[str | Metric] | None = None,
    models: Mapping[str, str | Sequence[str]] | None = None,
    baseline: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    adjust: Adjustment = "holm",
    profile: str | Convention = "verbatim",
    **reading: Unpack[Reading],
) -> Leaderboard:
    """Compare runs over one gold: scores with intervals, and every difference with its interval and p.

    Args:
        data: Several paths, a frame with a column `run`, or a mapping from run name to data.
        metrics: Metrics in dstbench's notation; None: JGA.
        models: Model name to its runs (seeds), as names or patterns (``t5_*``), in a list or comma-separated. A run
            that no model names stands for itself. None: runs are compared, not models.
        baseline: Compare every other run (or model) to this one only. It is named, or given by its path as in
            `data`; None: all pairs, in the order of the data.
        resamples: Number of bootstrap and randomisation resamples. There are ten times as many random swaps where p
            is close to 1 − level.
        seed: Random seed of the intervals and tests.
        level: Confidence level of the intervals; tests use 1 - level. A difference is significant if its adjusted p
            is at most 1 − level. A warning says if no p can be so small, with so few resamples or so few dialogues
            that differ, and if another seed may give the other verdict.
        adjust: How p-values are adjusted for the number of differences of a metric.
        profile: The convention, or its name.
        **reading: `gold`, `format`, `names`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Raises:
        DstbenchError: Data cannot be used; there is only one run; runs do not have the same turns and gold; a metric,
            run, model, adjustment or profile is unknown.

    >>> from dstbench.demo import synthetic
    >>> leaderboard = compare(synthetic(120), resamples=500)
    >>> leaderboard.differences.select("run", "other", pl.col("difference").round(2), "significant").row(0)
    ('careful', 'forgetful', 0.19, True)
    """
    design = Design(resamples, seed, level, adjust)
    convention = as_convention(profile)
    chosen = None if metrics is None else parse_all(metrics)
    if chosen == []:
        raise UsageError("no metric to compare", hint=f"omit -m to compute {DEFAULT}")
    names = [name for name, _ in parts_to_open(data, **reading)]
    if len(names) < 2:
        raise UsageError("compare needs at least two runs", hint="`dstbench score` scores one")
    seeds = None if models is None else seeds_of(models, names)
    baseline_index = None if baseline is None else index_of(baseline, data, names, seeds)
    runs = over_common_turns(open_under(convention, data, **reading))
    paired = pair_up(runs, chosen or parse_all(DEFAULT), convention)
    return resample(paired, design, models=seeds, baseline=baseline_index)


def resample(
    paired: Paired, design: Design, *, models: Models | None = None, baseline: int | None = None
) -> Leaderboard:
    """Compare paired runs; see `compare`."""
    if models is not None and design.adjust == "max-t":
        raise UsageError("max-t needs resamples, and models are compared without any", hint="--adjust holm")
    names = list(paired.runs if models is None else models)
    pairs = [(b, a) if a == baseline else (a, b) for a, b in combinations(range(len(names)), 2)]
    pairs = [pair for pair in pairs if baseline is None or pair[1] == baseline]
    # All metrics share them, as most of the time is for drawing.
    draw = cache(lambda times: Randomisation.draw(paired.sums, times * design.resamples, design.seed))
    scores = paired.scores.to_dicts()  # run by run, each with all metrics
    means: list[Row] = []
    differences: list[Row] = []
    for number, metric in enumerate(paired.metrics):
        of_metric = {"metric": str(metric), "unit": metric.unit}
        of_runs = scores[number :: len(paired.metrics)]
        own = _Compared(metric, paired, [row["value"] for row in of_runs], design)
        for run, row in enumerate(of_runs):
            row.update(own.interval(row["value"], spread(own.influences[run])))
        if models is not None:
            means += [{**of_metric, "model": name, **own.of_model(seeds)} for name, seeds in models.items()]
        rows = own.runs(pairs, draw) if models is None else own.models(pairs, list(models.values()))
        for (a, b), row in zip(pairs, rows, strict=True):
            differences.append({**of_metric, "run": names[a], "other": names[b], **row})
    design_row = {
        **vars(design),
        "dialogues": paired.sums.shape[1],
        "test": _BETWEEN_RUNS if models is None else _BETWEEN_MODELS,
        "adjustment": design.adjust,
        "baseline": None if baseline is None else names[baseline],
    }
    leaderboard = Leaderboard(
        scores=schema.STANDINGS.of(scores),
        models=schema.MODELS.of(means),
        differences=schema.RUN_DIFFERENCES.of(differences),
        design=schema.DESIGN.of([design_row]),
    )
    few = ", ".join(name for name, runs in (models or {}).items() if len(runs) < FEWEST_SEEDS)
    if few and pairs:
        warn(f"not tested: models with fewer than {FEWEST_SEEDS} seeds, whose spread is unknown: {few}", when="before")
    for line in doubts(leaderboard.differences, design.resamples, design.level):
        warn(line)
    return leaderboard


class _Compared:
    """A metric of paired runs: scores, intervals, and differences with their tests, as columns of tables."""

    def __init__(self, metric: Metric, paired: Paired, values: Sequence[float | None], design: Design) -> None:
        self.metric, self.paired, self.design = metric, paired, design
        self.values, self.score = np.array(values, np.float64), paired.score(metric)
        self.influences = influences(self.score, paired.sums)  # of each dialogue on each run's score

    def interval(self, value: float | None, of: Spread) -> Row:
        """The standard error and the interval of a score, or of a mean of scores."""
        limits = None
        if value is not None and self.metric.is_count:
            limits = of.limits_of_count(value, self.design.level)
        elif value is not None:
            limits = of.limits_of_share(value, self.influences.shape[1], self.design.level)
        return _with_ends(of.se, limits)

    def of_model(self, seeds: Sequence[int]) -> Row:
        """The mean score of a model's seeds, their deviation, and the mean's interval: with one seed, that seed's."""
        own, several = self.values[list(seeds)], len(seeds) > 1
        mean = None if np.isnan(own).any() else float(own.mean())
        of_mean = self._spread_of((1, seeds)) if several else spread(self.influences[seeds[0]])
        deviation = float(own.std(ddof=1)) if several else None
        return {"runs": len(seeds), "value": mean, "sd": deviation, **self.interval(mean, of_mean)}

    def _spread_of(self, *models: tuple[int, Sequence[int]]) -> Spread:
        """The standard error of the sum of models' mean scores, each with its sign."""
        signed = [sign * self.influences[list(seeds)] for sign, seeds in models]
        return spread_over_seeds([self.values[list(seeds)] for _, seeds in models], signed)

    def runs(self, pairs: Sequence[tuple[int, int]], draw: Callable[[int], Randomisation]) -> list[Row]:
        """The differences of runs, by as many times the usual number of random swaps as `draw` is asked for."""
        design, sums = self.design, self.paired.sums
        of_dialogues = self.score(sums.reshape(-1, sums.shape[2])).reshape(sums.shape[:2])
        nulls, differing, verdicts = self._tested(pairs, draw)
        rows = []
        for (a, b), null, discordant, verdict in zip(pairs, nulls, differing, verdicts, strict=True):
            se = spread(self.influences[a] - self.influences[b]).se
            limits = detectable = None
            if verdict.get("significant") is not None and se > 0:
                strictest = strictest_level(nulls, verdict["m"], design.adjust, design.level)
                detectable = smallest_detectable(se, strictest)
                limits = null.limits(se, sums.shape[1], design.level)
            counts = vars(tally(of_dialogues[a], of_dialogues[b]))
            row = {**counts, "unscored": counts["undefined"], "discordant": discordant, "detectable": detectable}
            difference = float(self.values[a] - self.values[b])
            rows.append({"difference": difference, **row, **verdict, **_with_ends(se, limits)})
        return rows

    def _tested(
        self, pairs: Sequence[tuple[int, int]], draw: Callable[[int], Randomisation]
    ) -> tuple[list[Null], list[int], list[Row]]:
        """Differences under random swaps (more where a verdict may flip), dialogues in which runs differ, verdicts."""
        design, paired = self.design, self.paired
        sums = paired.sums[:, :, [paired.statistics.index(name) for name in stats_of(self.metric)]]
        differing = [int((sums[a] != sums[b]).any(axis=1).sum()) for a, b in pairs]
        nulls = [draw(1).null(self.score, a, b, number) for (a, b), number in zip(pairs, differing, strict=True)]
        verdicts = judge(nulls, design.adjust, design.level)
        redrawn: set[int] = set()
        # More swaps of some pairs can make others close to the level, as all are adjusted together.
        while close := {pair for pair, verdict in enumerate(verdicts) if verdict["may_flip"]} - redrawn:
            if design.adjust == "max-t":  # it needs the same swaps for all
                close = set(range(len(pairs)))
            for pair in close:
                nulls[pair] = draw(_MORE).null(self.score, *pairs[pair], differing[pair])
            redrawn |= close
            verdicts = judge(nulls, design.adjust, design.level)
        return nulls, differing, verdicts

    def models(self, pairs: Sequence[tuple[int, int]], models: Sequence[Sequence[int]]) -> list[Row]:
        """The differences of models' mean scores: intervals and p by Student's t."""
        means, design = np.array([self.values[list(seeds)].mean() for seeds in models]), self.design
        differences = [float(means[a] - means[b]) for a, b in pairs]
        spreads = [
            None if min(len(models[a]), len(models[b])) < FEWEST_SEEDS
            else self._spread_of((1, models[a]), (-1, models[b]))
            for a, b in pairs
        ]  # fmt: skip
        rows = judge_models(spreads, np.array(differences), design.adjust, design.level)
        for difference, of, row in zip(differences, spreads, rows, strict=True):
            row["difference"] = difference
            if of is not None and row["significant"] is not None:
                strictest = strictest_level([], row["m"], design.adjust, design.level)
                row["detectable"] = smallest_detectable(of.se, strictest, of.df)
                row.update(_with_ends(of.se, of.limits(difference, design.level)))
        return rows


def _with_ends(se: float, limits: tuple[float, float] | None) -> Row:
    """The standard error and interval; None if undefined, or a standard error of 0: all dialogues are alike."""
    low, high = limits or (None, None)
    return {"se": se if se > 0 else None, "low": low, "high": high}


# --- runs and models by name -----------------------------------------------------------------------------------------


def seeds_of(models: Mapping[str, str | Sequence[str]], names: Sequence[str]) -> dict[str, list[int]]:
    """Indices of each model's runs (seeds); a run that no model names is a model of its own."""
    seeds = {model: sorted(set(runs_called(patterns, names, f"model {model!r}"))) for model, patterns in models.items()}
    owner: dict[int, str] = {}
    for model, runs in seeds.items():
        if not runs:
            raise UsageError(f"model {model!r} has no run", hint="name its runs, or a pattern of their names")
        for run in runs:
            if owner.setdefault(run, model) != model:
                raise UsageError(f"run {names[run]!r} is given to two models, {owner[run]!r} and {model!r}")
    for run, name in enumerate(names):
        if run not in owner and seeds.setdefault(name, [run]) != [run]:
            raise UsageError(
                f"{name!r} is the name of a model, and of a run that is in no model",
                hint="give the model another name",
            )
    return seeds


def runs_called(patterns: str | Sequence[str], names: Sequence[str], what: str) -> list[int]:
    """Indices of the runs with these names, whole or short, or with names that fit these patterns."""
    runs, short = list[int](), short_names(names)
    for pattern in [part.strip() for part in patterns.split(",")] if isinstance(patterns, str) else patterns:
        matching = [
            i for i, name in enumerate(names) if pattern in (name, short.get(name)) or fnmatchcase(name, pattern)
        ]
        if not matching:
            raise UsageError(f"{what}: no run is called {pattern!r}", hint=_hint(pattern, names))
        runs += matching
    return runs


def index_of(baseline: str, data: Data, names: Sequence[str], seeds: Models | None) -> int:
    """Index of the run or model with this name, or of the run with this short name or path."""
    compared = list(names if seeds is None else seeds)
    paths = [str(item) for item in data] if isinstance(data, Sequence) else []
    others = dict(zip(paths, names, strict=False)) | {short: name for name, short in short_names(names).items()}
    name = baseline if baseline in compared else others.get(baseline, baseline)
    if name in compared:
        return compared.index(name)
    of = [model for model, runs in (seeds or {}).items() if name in (names[run] for run in runs)]
    hint = f"it is a run of model {of[0]!r}: name {of[0]!r} as the baseline" if of else _hint(baseline, compared)
    raise UsageError(f"no {'run' if seeds is None else 'model'} is called {baseline!r}", hint=hint)


def _hint(name: str, names: Sequence[str]) -> str:
    return did_you_mean(name, names) or f"there are {', '.join(names)}"
