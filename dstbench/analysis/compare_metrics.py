"""Metrics side by side: which orders runs rightly and surely, how far each spreads runs, whether their orders agree.

Conventions: dialogues are resampled, never turns, and all metrics share the draws. Pairs of runs are tested as
`compare` tests them. A correlation with a trait is over the dialogues of all runs; for its interval, each dialogue is
left out in turn in all runs, because the runs of one dialogue are alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, Unpack

import numpy as np
import polars as pl

from dstbench.analysis.compare import Design, Leaderboard, resample
from dstbench.analysis.correlate import (
    CONTROLS,
    POOLED,
    Rows,
    given,
    limits_of,
    warn_of_gaps,
    warn_of_no_interval,
)
from dstbench.analysis.dialogue_sums import pair_up
from dstbench.analysis.dialogue_traits import per_dialogue
from dstbench.analysis.rankings import (
    Judged,
    OfPairs,
    Ranking,
    compare_orders,
    contests,
    of_pairs,
    reliability,
    spread_of,
    validity,
)
from dstbench.analysis.user_tables import numbers_along, read_score_table
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import UsageError, warn
from dstbench.metrics import Metric, parse_all
from dstbench.runs.align import over_common_turns
from dstbench.runs.open import Data, Reading, parts_to_open
from dstbench.runs.run import Run
from dstbench.schema import analysis as schema
from dstbench.schema.record import Record
from dstbench.scoring.score import choose_metrics
from dstbench.scoring.validation import open_under
from dstbench.stats import Bootstrap, pearson
from dstbench.stats.differences import TIE
from dstbench.stats.resampling import scores_of
from dstbench.typing import Adjustment

#: The traits of dialogues: length, gold slots, tail orientation, non-uniformity.
TRAITS: Final = ("turns", "n_gold_max", "to_mean", "nu_paper")
# The tables that a table of scores does not allow.
_OF_DIALOGUES: Final = {
    "validity": schema.VALIDITY, "reliability": schema.RELIABILITY, "sizes": schema.SAMPLE_SIZES,
    "contests": schema.CONTESTS, "power": schema.POWER, "dependence": schema.DEPENDENCE, "order": schema.KNOWN_ORDER,
    "design": schema.DESIGN,
}  # fmt: skip


@dataclass(frozen=True)
class MetricComparison(Record):
    """Metrics side by side, as frames (schemas in `dstbench.schema.analysis`).

    Attributes:
        validity: Per metric, how it orders runs whose order is known; empty if none is.
        reliability: Per metric, how alike random halves of the dialogues order the runs.
        sizes: Per metric and number of dialogues, how many pairs a sample of so many orders as all dialogues do.
        contests: Per measure and two metrics, which is better, and whether that may be chance.
        spread: Per metric, mean and standard deviation over the runs, range, and signal to noise.
        power: Per metric, the pairs of runs that it tells apart, and the difference that it needs.
        agreement: Per pair of metrics, Kendall's tau-b of their orders of the runs.
        reversals: The pairs of runs that two metrics put in opposite orders.
        dependence: Per metric and trait of dialogues, their correlation.
        scores: (run, metric, unit, value, se, signature): what all this is computed from.
        order: The known order of the runs.
        design: How runs were compared, as `compare` has it.
    """

    validity: pl.DataFrame
    reliability: pl.DataFrame
    sizes: pl.DataFrame
    contests: pl.DataFrame
    spread: pl.DataFrame
    power: pl.DataFrame
    agreement: pl.DataFrame
    reversals: pl.DataFrame
    dependence: pl.DataFrame
    scores: pl.DataFrame
    order: pl.DataFrame
    design: pl.DataFrame


def compare_metrics(
    data: Data | None = None,
    *,
    table: Any = None,
    metrics: str | Iterable[str | Metric] | None = None,
    along: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    adjust: Adjustment = "holm",
    profile: str | Convention = "verbatim",
    **reading: Unpack[Reading],
) -> MetricComparison:
    """Compare metrics over the same runs: which of them orders runs rightly, how surely, and where they differ.

    Args:
        data: Several paths, a frame with a column `run`, or a mapping from run name to data.
        table: In place of runs: scores, CSV or Parquet with model, metric, value. In Python, also a frame. A metric may
            have any name; values are shares. Such a table gives spread and orders, without intervals.
        metrics: Metrics in dstbench's notation, or those of the table; None: the default metrics, or all of the table.
        along: What the runs have a known order along, such as share, of training data; more of it is better. It is a
            number in their names (right after this word, or the only one in which they differ), or that of share=FILE,
            a table with the columns run and share. None: no order.
        resamples: Number of bootstrap and randomisation resamples.
        seed: Random seed of the intervals and tests.
        level: Confidence level of the intervals; tests use 1 - level. Two runs are told apart if p is at most 1 −
            level.
        adjust: How p-values are adjusted for the number of differences of a metric.
        profile: The convention, or its name.
        **reading: `gold`, `format`, `names`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Raises:
        DstbenchError: Data or the table cannot be used; runs do not have the same turns and gold; a metric, adjustment
            or profile is unknown.

    Source: Sakai 2006 (discriminative power); Kim et al. 2022, Fig 4 (spread); Buckley & Voorhees 2000 (swap rate);
        Kocmi et al. 2021, Thompson et al. 2024 (pairwise accuracy).

    >>> from dstbench.demo import synthetic
    >>> compared = compare_metrics(synthetic(120), metrics="jga,sa", resamples=500)
    >>> compared.power.select("metric", "pairs", "apart").rows(), compared.agreement["tau"].to_list()
    ([('jga', 3, 2), ('sa', 3, 2)], [1.0])
    """
    design = Design(resamples, seed, level, adjust)
    if (data is None) == (table is None):
        raise UsageError("metrics are compared over runs or over a table of scores", hint="give one of the two")
    convention = as_convention(profile)
    if table is not None:
        of_runs = [name for name, value in ({"along": along} | reading).items() if value is not None]
        of_runs += ["the convention"] if convention != as_convention("verbatim") else []
        if of_runs:
            what = "a table of scores does not change with how runs are read and scored"
            raise UsageError(what, hint=f"omit {', '.join(of_runs)}, or give runs in its place")
        return _of_table(read_score_table(table, metrics))
    requested = None if metrics is None else parse_all(metrics)
    numbers: dict[str, float] = {}
    if along is not None:  # before any file is read
        along, numbers = numbers_along(along, [name for name, _ in parts_to_open(data, **reading)])
        if len(set(numbers.values())) == 1 < len(numbers):
            raise UsageError(f"all runs have the same {along}, so they have no order along it")
    runs = over_common_turns(open_under(convention, data, **reading))
    paired = pair_up(runs, choose_metrics(requested, runs, convention), convention)
    known_order = schema.KNOWN_ORDER.of([(run, along, number) for run, number in numbers.items()])
    bootstrap = Bootstrap.draw(paired.sums, resamples, seed)
    leaderboard = resample(paired, design)
    scores, differences = leaderboard.scores, leaderboard.differences
    _warn_of_scores(scores, "scores and correlations with traits")
    resampled = {str(metric): scores_of(paired.score(metric), bootstrap.resampled) for metric in paired.metrics}
    values = {name: scores.filter(metric=name)["value"].cast(pl.Float64).fill_null(np.nan) for name in resampled}
    rankings = {name: Ranking(values[name].to_numpy(), drawn, name) for name, drawn in resampled.items()}
    pairs = {str(metric): of_pairs(paired, metric, bootstrap) for metric in paired.metrics}
    validities, valid = validity(rankings, pairs, differences, known_order, level)
    halves, sizes, reliable = reliability(paired, pairs, resamples, seed, level)
    power, apart = _power(leaderboard, pairs, level)
    agreement, reversals = compare_orders(scores, resampled, level, differences)
    of_measures = {"soft_accuracy": valid, "swap_rate": reliable, "power": apart}
    paired_error = differences.group_by("metric").agg(pl.col("se").mean() / 2**0.5).drop_nulls()
    return MetricComparison(
        validity=validities,
        reliability=halves,
        sizes=sizes,
        contests=pl.concat([contests(measure, shares, level) for measure, shares in of_measures.items()]),
        spread=spread_of(scores, dict(paired_error.iter_rows())),
        power=power,
        agreement=agreement,
        reversals=reversals,
        dependence=_dependence(runs, paired.metrics, convention, level),
        scores=scores.select("run", "metric", "unit", "value", "se", "signature"),
        order=known_order,
        design=leaderboard.design,
    )


def _of_table(scores: pl.DataFrame) -> MetricComparison:
    """The comparison of metrics that scores alone allow: spread and orders."""
    if scores["run"].n_unique() > 1:
        warn(
            "a table of scores has no dialogues: it gives spread and orders, but no intervals and tests", when="before"
        )
    _warn_of_scores(scores, "scores")
    agreement, reversals = compare_orders(scores)
    tables = {name: table.empty() for name, table in _OF_DIALOGUES.items()}
    return MetricComparison(
        spread=spread_of(scores),
        agreement=agreement,
        reversals=reversals,
        scores=scores.with_columns(signature=pl.lit(None, pl.String)),
        **tables,
    )


def _power(
    leaderboard: Leaderboard, of_pairs: Mapping[str, OfPairs], level: float
) -> tuple[pl.DataFrame, dict[str, Judged]]:
    """The pairs that each metric tells apart, as rows of `schema.analysis.POWER`, and their share where tested."""
    alpha, significant = (1 - level) * (1 + TIE), pl.col("significant")
    least = pl.max_horizontal(1 / (1 + pl.col("resamples")), pl.lit(2.0) ** (1 - pl.col("discordant").cast(pl.Int64)))
    counts = leaderboard.differences.drop_nulls("p").group_by("metric").agg(
        pairs=pl.len(),
        apart=(pl.col("p") <= alpha).sum(),
        testable=(least <= alpha).sum(),
        apart_adjusted=significant.sum(),
        untestable=significant.is_null().sum(),
        median_detectable=pl.col("detectable").median(),
    )  # fmt: skip
    every = leaderboard.scores.select("metric", "unit").unique(maintain_order=True)
    numbers = pl.col("pairs", "apart", "testable", "apart_adjusted", "untestable").fill_null(0)
    rows = every.join(counts, on="metric", how="left", maintain_order="left").with_columns(numbers)
    rows = rows.with_columns(
        power=pl.when(pl.col("testable") > 0).then(pl.col("apart") / pl.col("pairs")),
        power_adjusted=pl.when(pl.col("untestable") < pl.col("pairs")).then(pl.col("apart_adjusted") / pl.col("pairs")),
        adjustment=pl.lit(leaderboard.design["adjustment"].item()),
    )
    defined = rows.select("metric", "power").drop_nulls().iter_rows()
    judged = {metric: of_pairs[metric].power(power, level) for metric, power in defined}
    limits = [judged[metric].limits(level) if metric in judged else (None, None) for metric in rows["metric"]]
    ends = pl.DataFrame(limits, schema={"low": pl.Float64, "high": pl.Float64}, orient="row")
    return schema.POWER.conform(rows.hstack(ends)), judged


def _dependence(runs: Sequence[Run], metrics: Sequence[Metric], convention: Convention, level: float) -> pl.DataFrame:
    """Correlations of scores with traits over the dialogues of all runs, as rows of `schema.analysis.DEPENDENCE`."""
    if without := [run.name for run in runs if run.meta.get("only")]:
        warn(f"{', '.join(without)}: no states, so dialogues have no traits to correlate scores with", when="before")
        return schema.DEPENDENCE.empty()
    names = [str(metric) for metric in metrics]
    every = pl.concat([per_dialogue(run, metrics, convention)[0] for run in runs])
    rows = Rows.of(POOLED, every, [*names, *TRAITS, *CONTROLS[:1]])
    rows_of_pairs = []
    for metric, trait in product(names, TRAITS):
        columns = [rows.columns[name] for name in (metric, trait)]
        left = given(rows, (metric, trait), CONTROLS)
        (r, n), (partial, _) = pearson(*columns), pearson(*left.columns.values())
        limits = [*limits_of(rows, metric, trait, level), partial, *limits_of(left, metric, trait, level)]
        rows_of_pairs.append((metric, trait, r, n, *limits, level))
    if constant := [name for name in (*names, *TRAITS) if len({*rows.columns[name][rows.defined(name)]}) == 1]:
        warn(f"the same in all dialogues that have it, so nothing correlates with it: {', '.join(constant)}")
    warn_of_gaps(None, {name: rows.columns[name] for name in names}, "dialogues of all runs")
    dependence = schema.DEPENDENCE.of(rows_of_pairs)
    warn_of_no_interval(dependence.select("r", "low", run=None, first="metric", second="trait"))
    return dependence


def _warn_of_scores(scores: pl.DataFrame, of_one_run: str) -> None:
    """Warn if there are few runs, or if a metric is undefined or the same for all runs."""
    runs = scores["run"].n_unique()
    if runs == 1:
        what = "one run has no spread, and no pair to tell apart or to order"
        warn(f"{what}: there are only its {of_one_run}", when="before")
        return
    if runs == 2 and scores["metric"].n_unique() > 1:
        warn("two runs have two orders only, so each tau is 1 or -1; orders of five runs or more say more")
    for (metric,), rows in scores.group_by("metric", maintain_order=True):
        lacking, left = rows.filter(pl.col("value").is_null())["run"].to_list(), rows.drop_nulls("value")
        of = f"its spread and orders are over the other {left.height}" if left.height else "it has no spread or order"
        if lacking:
            warn(f"{metric} is undefined for {', '.join(lacking)}: {of}", when="before")
        if left.height > 1 and left["value"].n_unique() == 1:
            warn(f"{metric} gives all runs the same score, so they have no order by it, and there is no tau")
