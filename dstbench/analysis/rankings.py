"""What the scores of several runs say about metrics: how far each spreads the runs, and how alike their orders are.

Conventions: an order goes from the best run to the worst: the highest score first, or, where a metric counts errors,
the lowest. Two scores tie if they differ by no more than rounding (`stats.differences.TIE`). Two orders are compared
over the runs that both metrics have a score for.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from dstbench.arrays import Floats
from dstbench.metrics.registry import sign_of
from dstbench.schema.analysis import RANK_AGREEMENT, REVERSALS, SPREAD
from dstbench.stats.differences import TIE

_VALUE: Final = pl.col("value")
# Orders that resamples agree with less than this on average have no interval.
_LEAST_STABLE: Final = 0.6


def spread_of(scores: pl.DataFrame, paired_error: Mapping[str, float] | None = None) -> pl.DataFrame:
    """How far each metric spreads runs, as rows of `schema.judging.SPREAD` (Kim et al. 2022, Fig 4).

    `scores` has a row per run and metric (null: undefined); `paired_error`, if known, for each metric the mean
    standard error of two runs' paired difference, over √2.
    """
    # Sorted, so that the order of the runs does not change the last bits of sums.
    value, se = (pl.col(name).drop_nulls().sort() for name in ("value", "se"))
    rows = scores.group_by("metric", "unit", maintain_order=True).agg(
        runs=_VALUE.count(), mean=value.mean(), sd=value.std(), lowest=value.first(), highest=value.last(), se=se.mean()
    )
    several = pl.col("runs") > 1
    error = pl.col("metric").replace_strict(paired_error or {}, default=None, return_dtype=pl.Float64)
    shown = rows.with_columns(
        range=pl.when(several).then(pl.col("highest") - pl.col("lowest")),
        signal_to_noise=pl.when(error > 0).then(pl.col("sd") / error),
    )
    return SPREAD.conform(shown)


class Orders(NamedTuple):
    """How alike the orders of metrics are (rows of `RANK_AGREEMENT`), and the pairs that they reverse (`REVERSALS`)."""

    agreement: pl.DataFrame
    reversals: pl.DataFrame


def compare_orders(
    scores: pl.DataFrame,
    resampled: Mapping[str, Floats] | None = None,
    level: float = 0.95,
    differences: pl.DataFrame | None = None,
) -> Orders:
    """Kendall's tau-b of the orders of runs by each two metrics, and the pairs of runs that they order differently.

    Args:
        scores: (run, metric, value); null: undefined.
        resampled: Metric to its scores in each resample, resamples × runs, the runs in the order of `scores`; NaN:
            undefined. A resample in which one of the compared runs has no score is left out. None: no intervals.
        level: Confidence level of the intervals.
        differences: The runs' differences, with their tests (`schema.analysis.RUN_DIFFERENCES`); None: not tested.

    Source: Kendall 1945 (Biometrika 33:239).
    """
    runs, metrics = (scores[name].unique(maintain_order=True).to_list() for name in ("run", "metric"))
    value_of = {(run, metric): value for run, metric, value in scores.select("run", "metric", "value").iter_rows()}
    values = {name: np.array([value_of.get((run, name)) for run in runs], np.float64) for name in metrics}
    pairs = list(combinations(range(len(runs)), 2))
    observed = {metric: signs(merit(metric, of_runs)) for metric, of_runs in values.items()}
    resampled_signs = {metric: signs(merit(metric, of_runs)) for metric, of_runs in (resampled or {}).items()}
    agreement: list[dict[str, Any]] = []
    reversals: list[dict[str, Any]] = []
    for names in combinations(metrics, 2) if pairs else ():
        scored = ~(np.isnan(values[names[0]]) | np.isnan(values[names[1]]))
        of_scored = np.array([scored[one] and scored[other] for one, other in pairs])
        first, second = (observed[name][of_scored] for name in names)
        row = {"first": names[0], "second": names[1], "runs": int(scored.sum()), "tau": float(tau_b(first, second))}
        if resampled is not None:
            taus = tau_b(*(resampled_signs[name][:, of_scored] for name in names))
            taus[np.isnan([resampled[name][:, scored] for name in names]).any(axis=(0, 2))] = np.nan
            stable = np.prod([stability(observed[name][of_scored], resampled_signs[name][:, of_scored])
                              for name in names])  # fmt: skip
            low, high = limits_of_order(taus, float(stable), level)
            row |= {"low": low, "high": high, "undefined": int(np.isnan(taus).sum())}
        reversed_pairs = np.flatnonzero(of_scored)[first * second < 0].tolist()
        agreement.append({**row, "reversed": len(reversed_pairs), "level": None if resampled is None else level})
        for at in reversed_pairs:
            better, worse = pairs[at][:: int(observed[names[0]][at])]
            gap, other_gap = (float(values[name][better] - values[name][worse]) for name in names)
            pair = {"first": names[0], "second": names[1], "run": runs[better], "other": runs[worse]}
            reversals.append({**pair, "difference_first": gap, "difference_second": other_gap})
    rows = pl.DataFrame(reversals, schema={**REVERSALS.schema})
    if differences is not None and rows.height:
        # Whether a pair differs significantly, by adjusted p, in both metrics; null: one could not be tested.
        turned = differences.rename({"run": "other", "other": "run"})
        verdicts = pl.concat([of.select("metric", "run", "other", "significant") for of in (differences, turned)])
        rows = rows.drop("significant")
        for side in ("first", "second"):
            of_side = verdicts.rename({"metric": side, "significant": f"is_{side}"})
            rows = rows.join(of_side, on=[side, "run", "other"], how="left", maintain_order="left")
        rows = REVERSALS.conform(rows.with_columns(significant=pl.col("is_first") & pl.col("is_second")))
    counts = rows.group_by("first", "second").agg(pl.col("significant").sum().alias("reversed_surely"))
    table = pl.DataFrame(agreement, schema=RANK_AGREEMENT.schema).drop("reversed_surely").fill_nan(None)
    table = table.join(counts, on=["first", "second"], how="left", maintain_order="left")
    surely = pl.lit(None) if differences is None else pl.col("reversed_surely").fill_null(0)
    return Orders(RANK_AGREEMENT.conform(table.with_columns(reversed_surely=surely)), rows)


def signs(scores: Floats) -> Any:
    """For each pair of runs (the last axis) 1 if the first is higher, -1 if the second is, 0: a tie, or undefined."""
    first, second = np.triu_indices(scores.shape[-1], 1)
    one, other = scores[..., first], scores[..., second]
    gap = one - other
    is_apart = np.abs(gap) > TIE * np.maximum(np.abs(one), np.abs(other))  # not if undefined
    return np.where(is_apart, np.sign(gap), 0).astype(np.int8)


def tau_b(first: Any, second: Any) -> Floats:
    """Kendall's tau-b of two orders (… × pairs, as `signs` gives them); NaN if one of them ties all runs."""
    untied = np.count_nonzero(first, axis=-1) * np.count_nonzero(second, axis=-1)
    with np.errstate(invalid="ignore"):  # 0 / 0
        taus: Floats = np.asarray((first * second).sum(axis=-1, dtype=np.int64) / np.sqrt(untied))
    return taus


def stability(observed: Any, resampled: Any) -> float:
    """The mean tau-b of resampled orders with the observed one (… × pairs, as `signs` gives them); NaN if undefined."""
    taus = tau_b(resampled, observed)
    return float(np.nanmean(taus)) if not np.isnan(taus).all() else np.nan


def limits_of_order(
    resampled: Floats, stable: float, level: float, least: float = -1
) -> tuple[float, float] | tuple[None, None]:
    """The percentile interval of a measure of orders from `least` to 1, corrected for what noise makes of orders.

    Orders of noisy scores agree less than the true ones, and those of resamples once more: about as much less as they
    agree with the observed order (`stability`; of two noisy orders, the product). So the ends are moved away from the
    middle of the scale by this factor. If it is below .6, most pairs are undecided, and there is no interval.
    """
    if not stable >= _LEAST_STABLE or np.isnan(resampled).mean() > 1 - level:
        return None, None
    defined, middle = resampled[~np.isnan(resampled)], (1 + least) / 2
    ends = (float(end) - middle for end in np.quantile(defined, [(1 - level) / 2, (1 + level) / 2]))
    low, high = ends
    return max(least, middle + min(low, low / stable)), min(1.0, middle + max(high, high / stable))


def merit(metric: str, scores: Floats) -> Floats:
    """Scores that are higher for better runs."""
    return -scores if sign_of(metric) == -1 else scores
