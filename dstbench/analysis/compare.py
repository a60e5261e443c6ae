"""Whether one run is better than another: intervals and tests that resample whole dialogues.

Conventions: dialogues are resampled, never turns, because a tracker's errors persist from turn to turn. All runs and
metrics share the same draws, so differences are paired; a seed gives the same bits on every machine. p-values are
adjusted for the differences of one metric, because each metric is read as a leaderboard of its own.

The bootstrap gives standard errors and intervals; approximate randomisation gives the p of two runs. If models with
several runs (seeds) are named, models are compared, not runs, and seeds are resampled as well as dialogues: that one
seed beats another says little about their models.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, Unpack, get_args

import numpy as np
import polars as pl

from dstbench import stats
from dstbench.analysis.paired import Paired, pair_up
from dstbench.analysis.verdicts import judge, untestable
from dstbench.arrays import Floats
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import UsageError, did_you_mean, warn
from dstbench.metrics import Metric, parse_all, stats_of
from dstbench.runs.common import over_common_turns
from dstbench.runs.open import Data, Reading, parts_to_open
from dstbench.schema.analysis import DESIGN, MODELS, RUN_DIFFERENCES, STANDINGS
from dstbench.schema.core import Table
from dstbench.schema.record import Record
from dstbench.scoring.scope import open_under
from dstbench.stats import Bootstrap, Estimate, Null, Replicates
from dstbench.stats.differences import TIE
from dstbench.stats.normal import check_level
from dstbench.stats.resampling import Score
from dstbench.typing import Adjustment

if TYPE_CHECKING:
    Models = Mapping[str, Sequence[int]]
    Row = dict[str, Any]

#: The default is one metric: among many, one that favours a run is easily found.
DEFAULT: Final = "jga"
_BETWEEN_RUNS: Final = "approximate randomisation of dialogues"
_BETWEEN_MODELS: Final = "bootstrap of seeds and dialogues"


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
        if self.adjust not in get_args(Adjustment):
            adjustments = get_args(Adjustment)
            raise UsageError(
                f"there is no adjustment {self.adjust!r}",
                hint=did_you_mean(str(self.adjust), adjustments) or f"one of {', '.join(adjustments)}",
            )


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
        baseline: The run (its name, or its path as in `data`), or the model, that all others are compared to; None:
            all pairs, in the order of the data.
        resamples: Number of bootstrap resamples, and of randomisations.
        seed: Random seed.
        level: Confidence level of the intervals; a difference is significant if its adjusted p is at most 1 − level. A
            warning says if no p can be so small, with so few resamples or so few dialogues that differ.
        adjust: How p-values are adjusted for the number of differences of one metric.
        profile: The convention, or its name.
        **reading: `gold`, `format`, `names`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Raises:
        DstbenchError: Data cannot be used; there is only one run; runs do not have the same turns and gold; a metric,
            run, model, adjustment or profile is unknown.

    >>> from dstbench.demo import synthetic
    >>> leaderboard = compare(synthetic(50), resamples=500)
    >>> leaderboard.differences.select("run", "other", pl.col("difference").round(2), "significant").row(0)
    ('careful', 'forgetful', 0.22, True)
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
    paired: Paired,
    design: Design,
    *,
    models: Models | None = None,
    baseline: int | None = None,
    bootstrap: Bootstrap | None = None,
) -> Leaderboard:
    """Compare paired runs; see `compare`.

    Args:
        paired: The runs.
        design: How they are compared.
        models: Model name to the indices of its runs; None: runs are compared.
        baseline: The index of the run (or model) that the others are compared to; None: all pairs.
        bootstrap: The design's resamples of the runs' sums, if they are drawn already.
    """
    names = list(paired.runs if models is None else models)
    pairs = [(b, a) if a == baseline else (a, b) for a, b in combinations(range(len(names)), 2)]
    pairs = [pair for pair in pairs if baseline is None or pair[1] == baseline]
    bootstrap = bootstrap or stats.Bootstrap.draw(paired.sums, design.resamples, design.seed)
    randomisation = stats.Randomisation.draw(paired.sums, design.resamples, design.seed) if models is None else None
    scores = paired.scores.to_dicts()  # run by run, each with all metrics
    means: list[Row] = []
    differences: list[Row] = []
    for number, metric in enumerate(paired.metrics):
        of_metric, score = {"metric": str(metric), "unit": metric.unit}, paired.score(metric)
        replicates = of_runs = bootstrap.replicates(score)
        for row, of_run in zip(scores[number :: len(paired.metrics)], of_runs, strict=True):
            row.update(_interval(of_run.estimate(design.level)))
        if models is not None:
            replicates = _over_seeds(bootstrap, score, models, paired.runs)
            for (model, runs), of_model in zip(models.items(), replicates, strict=True):
                seeds = {"runs": len(runs), "sd": _sd([of_runs[run].observed for run in runs])}
                estimate = of_model.estimate(design.level)
                means.append({**of_metric, "model": model, "value": estimate.value, **seeds, **_interval(estimate)})
        of_dialogues = score(paired.sums.reshape(-1, len(paired.statistics))).reshape(paired.sums.shape[:2])
        nulls: list[Null] = []
        rows: list[Row] = []
        for a, b in pairs:
            difference = replicates[a] - replicates[b]
            estimate = difference.estimate(design.level)
            dialogue_counts = _count_dialogues(paired, metric, of_dialogues, a, b) if randomisation else {}
            if randomisation:
                nulls.append(randomisation.null(score, a, b, dialogue_counts["discordant"]))
            else:
                nulls.append(_centred(difference))
            pair = {
                "run": names[a],
                "other": names[b],
                "difference": estimate.value,
                **_interval(estimate),
                **dialogue_counts,
            }
            rows.append({**of_metric, **pair, "detectable": stats.smallest_detectable(estimate.se)})
        verdicts = judge(nulls, design.adjust, design.level)
        differences += [{**row, **verdict} for row, verdict in zip(rows, verdicts, strict=True)]
    design_row = {
        "dialogues": paired.sums.shape[1],
        "resamples": design.resamples,
        "seed": design.seed,
        "level": design.level,
        "test": _BETWEEN_RUNS if models is None else _BETWEEN_MODELS,
        "adjustment": design.adjust,
        "baseline": None if baseline is None else names[baseline],
    }
    leaderboard = Leaderboard(
        scores=_frame(scores, STANDINGS),
        models=_frame(means, MODELS),
        differences=_frame(differences, RUN_DIFFERENCES),
        design=_frame([design_row], DESIGN),
    )
    for line in untestable(leaderboard.differences, design.resamples, design.level):
        warn(line)
    return leaderboard


def _over_seeds(bootstrap: Bootstrap, score: Score, models: Models, runs: Sequence[str]) -> list[Replicates]:
    """The replicates of each model, drawn in the order of the models' and runs' names, not in the order of the data."""
    order = sorted(models)
    replicates = bootstrap.over_seeds(score, [sorted(models[model], key=runs.__getitem__) for model in order])
    return [replicates[order.index(model)] for model in models]


def _centred(difference: Replicates) -> Null:
    """The resampled differences, shifted so that their mean is 0, as it is under the null hypothesis."""
    resampled = difference.resampled
    defined = resampled[~np.isnan(resampled)]
    return Null(difference.observed, resampled - (defined.mean() if len(defined) else 0.0), TIE * difference.scale)


def _count_dialogues(paired: Paired, metric: Metric, scores: Floats, first: int, second: int) -> Row:
    """The numbers of dialogues that the first run wins, ties or loses, that have no score, and whose sums differ.

    Args:
        paired: The runs.
        metric: The metric.
        scores: Its scores, runs × dialogues.
        first: Index of the first run.
        second: Index of the second run.
    """
    counts = stats.tally(scores[first], scores[second])
    own, (one, other) = [paired.statistics.index(name) for name in stats_of(metric)], paired.sums[[first, second]]
    return {
        "wins": counts.wins,
        "ties": counts.ties,
        "losses": counts.losses,
        "unscored": counts.undefined,
        "discordant": int((one[:, own] != other[:, own]).any(axis=1).sum()),
    }


def _interval(estimate: Estimate) -> Row:
    bca_low, bca_high = estimate.bca or (None, None)
    return {
        "se": estimate.se,
        "low": estimate.percentile[0],
        "high": estimate.percentile[1],
        "bca_low": bca_low,
        "bca_high": bca_high,
        "undefined": estimate.undefined,
    }


def _sd(scores: Sequence[float]) -> float | None:
    return float(np.std(scores, ddof=1)) if len(scores) > 1 else None


def _frame(rows: Sequence[Row], table: Table) -> pl.DataFrame:
    """Rows as a frame with the columns of the table; null for a value that a row lacks, and for NaN."""
    return pl.DataFrame(rows, schema=table.schema).fill_nan(None)


# --- runs and models by name -----------------------------------------------------------------------------------------


def seeds_of(models: Mapping[str, str | Sequence[str]], names: Sequence[str]) -> dict[str, list[int]]:
    """Indices of each model's runs (seeds); a run that no model names is a model of its own.

    Args:
        models: Model name to its runs, as names or patterns, in a list or comma-separated.
        names: The runs.

    Raises:
        UsageError: No run has such a name, or a run would belong to two models.
    """
    seeds: dict[str, list[int]] = {}
    owner: dict[int, str] = {}
    for model, patterns in models.items():
        for run in runs_called(patterns, names, f"model {model!r}"):
            if owner.setdefault(run, model) != model:
                raise UsageError(f"run {names[run]!r} is given to two models, {owner[run]!r} and {model!r}")
        seeds[model] = [run for run in range(len(names)) if owner.get(run) == model]
        if not seeds[model]:
            raise UsageError(f"model {model!r} has no run", hint="name its runs, or a pattern of their names")
    for run, name in enumerate(names):
        if run not in owner:
            if name in models:
                raise UsageError(
                    f"{name!r} is the name of a model, and of a run that is in no model",
                    hint="give the model another name",
                )
            seeds[name] = [run]
    return seeds


def runs_called(patterns: str | Sequence[str], names: Sequence[str], what: str) -> list[int]:
    """Indices of the runs with these names, or with names that fit these patterns.

    Args:
        patterns: Names and patterns, in a list or comma-separated.
        names: The names of all runs.
        what: What the runs are named for, for messages.

    Raises:
        UsageError: No run has such a name.
    """
    runs: list[int] = []
    for pattern in [part.strip() for part in patterns.split(",")] if isinstance(patterns, str) else patterns:
        matching = [i for i, name in enumerate(names) if name == pattern or fnmatchcase(name, pattern)]
        if not matching:
            raise UsageError(f"{what}: no run is called {pattern!r}", hint=_hint(pattern, names))
        runs += matching
    return runs


def index_of(baseline: str, data: Data, names: Sequence[str], seeds: Models | None) -> int:
    """Index of the run or model with this name, or of the run with this path."""
    compared = list(names if seeds is None else seeds)
    if baseline in compared:
        return compared.index(baseline)
    paths = [str(item) for item in data] if isinstance(data, Sequence) else []
    name = names[paths.index(baseline)] if baseline in paths else baseline
    if name in compared:
        return compared.index(name)
    if name in names:
        of = next(model for model, runs in (seeds or {}).items() if names.index(name) in runs)
        raise UsageError(
            f"models are compared, and {name!r} is a run of model {of!r}", hint=f"name {of!r} as the baseline"
        )
    raise UsageError(f"no {'run' if seeds is None else 'model'} is called {baseline!r}", hint=_hint(baseline, compared))


def _hint(name: str, names: Sequence[str]) -> str:
    return did_you_mean(name, names) or f"there are {', '.join(names)}"
