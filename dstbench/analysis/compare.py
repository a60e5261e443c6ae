"""Whether one run is better than another: intervals and tests over whole dialogues (see `dstbench help statistics`).

All runs and metrics share the draws. A difference counts as not tested, whatever its p, if its smallest possible
adjusted p is above 1 − level: with few resamples for many differences, and if runs differ in few dialogues.
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
from dstbench.arrays import Floats
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import UsageError, check_known, did_you_mean, number_of, warn
from dstbench.metrics import Metric, parse_all, stats_of
from dstbench.runs.align import over_common_turns
from dstbench.runs.open import Data, Reading, parts_to_open, short_names
from dstbench.schema import analysis as schema
from dstbench.schema.record import Record
from dstbench.scoring.validation import open_under
from dstbench.stats import Randomisation, Spread, influences, smallest_detectable, spread, spread_over_seeds
from dstbench.stats.adjust import ADJUSTMENTS, adjust_defined, at_most, max_t, resamples_needed, smallest_p
from dstbench.stats.differences import tally
from dstbench.stats.normal import check_level, two_sided
from dstbench.typing import Adjustment

if TYPE_CHECKING:
    Models = Mapping[str, Sequence[int]]
    Row = dict[str, Any]
    from dstbench.stats import Null


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
        models: Runs of one model (its seeds), by name or pattern: t5=t5_*. In Python, a mapping from models to lists of
            such names, or a text of them with commas. A run of no model is one of its own. None: runs are compared.
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
    chosen = parse_all(DEFAULT if metrics is None else metrics)
    names = [name for name, _ in parts_to_open(data, **reading)]
    if len(names) < 2:
        raise UsageError("compare needs at least two runs", hint="`dstbench score` scores one")
    seeds = None if models is None else seeds_of(models, names)
    baseline_index = None if baseline is None else index_of(baseline, data, names, seeds)
    runs = over_common_turns(open_under(convention, data, **reading))
    paired = pair_up(runs, chosen, convention)
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
    means, differences = list[dict[str, Any]](), list[dict[str, Any]]()
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
    about = {"dialogues": paired.sums.shape[1], "test": _BETWEEN_RUNS if models is None else _BETWEEN_MODELS}
    about |= {"adjustment": design.adjust, "baseline": None if baseline is None else names[baseline]}
    leaderboard = Leaderboard(
        scores=schema.STANDINGS.of(scores),
        models=schema.MODELS.of(means),
        differences=schema.RUN_DIFFERENCES.of(differences),
        design=schema.DESIGN.of([vars(design) | about]),
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
        used = sums[:, :, [self.paired.statistics.index(name) for name in stats_of(self.metric)]]
        differing = [int((used[a] != used[b]).any(axis=1).sum()) for a, b in pairs]
        null = cache(lambda pair, times: draw(times).null(self.score, *pairs[pair], differing[pair]))
        times = [1] * len(pairs)
        while True:  # more swaps of some pairs can make others close to the level, as all are adjusted together
            nulls = [null(pair, of) for pair, of in enumerate(times)]
            verdicts = judge(nulls, design.adjust, design.level)
            close = [pair for pair, verdict in enumerate(verdicts) if verdict["may_flip"] and times[pair] < _MORE]
            if not close:
                break
            for pair in range(len(pairs)) if design.adjust == "max-t" else close:  # it needs the same swaps for all
                times[pair] = _MORE
        of_dialogues = self.score(sums.reshape(-1, sums.shape[2])).reshape(sums.shape[:2])
        rows = []
        for (a, b), own, discordant, verdict in zip(pairs, nulls, differing, verdicts, strict=True):
            se = spread(self.influences[a] - self.influences[b]).se
            limits = detectable = None
            if verdict.get("significant") is not None and se > 0:
                strictest = strictest_level(nulls, verdict["m"], design.adjust, design.level)
                detectable, limits = smallest_detectable(se, strictest), own.limits(se, sums.shape[1], design.level)
            row: Row = {"difference": float(self.values[a] - self.values[b]), **tally(of_dialogues[a], of_dialogues[b])}
            row |= {"discordant": discordant, "detectable": detectable}
            rows.append(row | verdict | _with_ends(se, limits))
        return rows

    def models(self, pairs: Sequence[tuple[int, int]], models: Sequence[Sequence[int]]) -> list[Row]:
        """The differences of models' mean scores: intervals and p by Student's t, which need no resamples."""
        means, design = [float(self.values[list(seeds)].mean()) for seeds in models], self.design
        spreads = [
            None if min(len(models[a]), len(models[b])) < FEWEST_SEEDS
            else self._spread_of((1, models[a]), (-1, models[b]))
            for a, b in pairs
        ]  # fmt: skip
        differences = [means[a] - means[b] for a, b in pairs]
        p = np.array([np.nan if of is None else of.p(size) for of, size in zip(spreads, differences, strict=True)])
        about: Row = {"may_flip": False, "adjustment": design.adjust, "m": int((~np.isnan(p)).sum())}
        strictest = strictest_level([], about["m"], design.adjust, design.level) if about["m"] else 0.0
        adjusted, rows = adjust_defined(p, design.adjust), list[dict[str, Any]]()
        for difference, of, own, of_all in zip(differences, spreads, p.tolist(), adjusted.tolist(), strict=True):
            rows.append({"difference": difference, "p": own, "p_adjusted": of_all, "significant": None, **about})
            if of is not None and not np.isnan(own):
                detectable = smallest_detectable(of.se, strictest, of.df)
                tested = {"significant": bool(at_most(of_all, 1 - design.level)), "detectable": detectable}
                rows[-1] |= tested | _with_ends(of.se, of.limits(difference, design.level))
        return rows


def _with_ends(se: float, limits: tuple[float, float] | None) -> Row:
    """The standard error and interval; None if undefined, or a standard error of 0: all dialogues are alike."""
    low, high = limits or (None, None)
    return {"se": se if se > 0 else None, "low": low, "high": high}


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
            what = f"{name!r} is the name of a model, and of a run that is in no model"
            raise UsageError(what, hint="give the model another name")
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


#: Models with fewer seeds are not tested.
FEWEST_SEEDS: Final = 3
# So many standard errors of a p beyond the level, another seed gives the other verdict in less than one in 1,000 cases.
_SAFE: Final = 4
# A line of text names at most this many pairs.
_MOST_PAIRS: Final = 5


def judge(nulls: Sequence[Null], adjust: Adjustment, level: float) -> list[dict[str, Any]]:
    """For each of a metric's differences of runs, the columns `p` to `may_flip` of `RUN_DIFFERENCES`."""
    about: Row = {"may_flip": False, "adjustment": adjust, "m": sum(not np.isnan(null.observed) for null in nulls)}
    rows = [{"resamples": len(null.resampled), **about} for null in nulls]
    places = [place for place, null in enumerate(nulls) if not np.isnan(null.observed)]
    nulls = [nulls[place] for place in places]
    if not nulls:
        return rows
    alpha, adjusting = 1 - level, ADJUSTMENTS[adjust]
    p, bounds = (np.array(column) for column in zip(*((null.p(), null.bound) for null in nulls), strict=True))
    resamples = np.array([len(null.resampled) for null in nulls])
    own_smallest = smallest_p(bounds, resamples)
    smallest = adjusting(own_smallest)

    def reach(p: Floats) -> Floats:
        return np.asarray(_SAFE * np.sqrt(p * (1 - p) / resamples))

    low, high = np.clip(p - reach(p), bounds, 1), np.clip(p + reach(p), bounds, 1)
    adjusted, lowest, highest = (adjusting(each) for each in (p, low, high))
    if adjust == "max-t":
        observed, tolerances = ([getattr(null, name) for null in nulls] for name in ("observed", "tolerance"))
        by_largest = max_t(observed, np.stack([null.resampled for null in nulls], axis=1), tolerances)
        adjusted = np.maximum(by_largest, p)  # p may have a bound, below which no adjusted p is
        lowest = np.maximum(adjusted - reach(adjusted), low)
        highest = np.minimum(adjusted + reach(adjusted), 1)
    testable = at_most(smallest, alpha)
    may_flip = at_most(own_smallest, alpha) & at_most(low, alpha) & ~at_most(high, alpha)
    verdicts = {
        "p": p,
        "p_adjusted": adjusted,
        "significant": np.where(testable, at_most(adjusted, alpha), np.full(len(p), None)).tolist(),
        "p_smallest": smallest,
        "resamples_needed": resamples_needed(bounds, alpha, adjusting),
        "may_flip": may_flip | (testable & at_most(lowest, alpha) & ~at_most(highest, alpha)),
    }
    for place, verdict in zip(places, pl.DataFrame(verdicts).iter_rows(named=True), strict=True):
        rows[place] |= verdict
    return rows


def strictest_level(nulls: Sequence[Null], m: int, adjust: Adjustment, level: float) -> float:
    """The level that one of m differences meets if no other is significant: the strictest of its test."""
    alpha = 1 - level
    if adjust == "max-t":
        drawn = np.abs(np.stack([null.resampled for null in nulls], axis=1))
        scale = np.sqrt((drawn**2).mean(axis=0))
        scale[scale == 0] = 1  # no resample differs from 0
        return two_sided(float(np.quantile((drawn / scale).max(axis=1), level)))
    few = alpha / m**2  # so small that its adjusted p is below 1
    return alpha * few / float(ADJUSTMENTS[adjust](np.append(few, np.ones(m - 1)))[0])


def doubts(differences: pl.DataFrame, resamples: int, level: float) -> list[str]:
    """Lines about differences that cannot be significant, and about verdicts that another seed may turn round."""
    alpha = f"{1 - level:g}"
    metrics_of: dict[str, list[str]] = {}
    for (metric,), rows in differences.drop_nulls("p").group_by("metric", maintain_order=True):
        p = "p" if rows["adjustment"][0] == "none" else "adjusted p"
        needed = pl.col("resamples_needed")
        later, never = (rows.filter(pl.col("significant").is_null(), of) for of in (needed > 0, needed.is_null()))
        clauses = []
        if later.height:
            no = f"no {p} of {pairs_text(later)}" if later.height < rows.height else f"no {p}"
            clauses.append(
                f"with {resamples:,} resamples and {number_of(rows.height, 'difference')} {no} can reach {alpha}; "
                f"--resamples {max(later['resamples_needed'])} or more can"
            )
        if never.height:
            no = f"with any number of resamples no {p} can reach {alpha} where so few dialogues differ"
            clauses.append(f"{no}: {pairs_text(never, 'discordant')}")
        for clause in clauses:
            metrics_of.setdefault(clause, []).append(str(metric))
    if (close := differences.filter("may_flip")).height:
        drawn, metrics = max(close["resamples"]), close["metric"].unique(maintain_order=True).to_list()
        which = pairs_text(close) if len(metrics) == 1 else number_of(close.height, "difference")
        clause = f"p is so close to {alpha} that another --seed may give the other verdict, even with {drawn:,}"
        metrics_of[f"{clause} resamples: {which}; `compare --resamples {10 * drawn}` says more"] = metrics
    return [f"{', '.join(metrics)}: {clause}" for clause, metrics in metrics_of.items()]


def pairs_text(rows: pl.DataFrame, beside: str | None = None) -> str:
    """The names of pairs of runs, or of the first pairs if there are many; perhaps with a number beside each."""
    texts = pl.format(
        "{} and {}" if beside is None else "{} and {} ({})", "run", "other", *([beside] if beside else [])
    )
    more = f", and {rows.height - _MOST_PAIRS} more" if rows.height > _MOST_PAIRS else ""
    return "; ".join(rows.head(_MOST_PAIRS).select(texts).to_series()) + more
