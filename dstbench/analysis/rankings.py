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
    """How far metrics spread runs (Kim et al. 2022, Fig 4); `paired_error`: the mean one of pairs over √2."""
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


class Ranking:
    """Scores of runs, higher for better ones, NaN where undefined, the same in resamples, and the pairs they order."""

    def __init__(self, scores: Floats, resampled: Floats | None = None) -> None:
        self.scores, self.resampled = scores, scores[np.newaxis] if resampled is None else resampled
        self.signs, self.drawn = signs(self.scores), signs(self.resampled)

    def among(self, other: Ranking) -> Any:
        """The runs that both have a score for."""
        return ~(np.isnan(self.scores) | np.isnan(other.scores))

    def agreement(self, other: Ranking, level: float) -> dict[str, Any]:
        """Kendall's tau-b with another ranking, over the runs that both have a score for, and its interval."""
        runs = self.among(other)
        pairs = pairs_among(runs)
        taus = tau_b(self.drawn[:, pairs], other.drawn[:, pairs])
        lacking = [np.isnan(of.resampled[:, runs]).any(axis=1) for of in (self, other)]
        taus = np.where(lacking[0] | lacking[1], np.nan, taus)
        low, high = limits_of_order(taus, self.stability(pairs) * other.stability(pairs), level)
        tau, undefined = float(tau_b(self.signs[pairs], other.signs[pairs])), int(np.isnan(taus).sum())
        return {"runs": int(runs.sum()), "tau": tau, "low": low, "high": high, "undefined": undefined}

    def stability(self, pairs: Any) -> float:
        """The mean tau-b of resampled orders with the observed one; NaN if undefined."""
        return stability(self.signs[pairs], self.drawn[:, pairs])


def compare_orders(
    scores: pl.DataFrame,
    resampled: Mapping[str, Floats] | None = None,
    level: float = 0.95,
    differences: pl.DataFrame | None = None,
) -> Orders:
    """Kendall's tau-b (1945) of each two metrics' orders of runs, and the pairs of runs that they order differently."""
    table = scores.pivot(on="metric", index="run", values="value").fill_null(np.nan)
    runs, metrics = table["run"].to_list(), table.columns[1:]
    rankings = [ranking_of(name, table[name].to_numpy(), (resampled or {}).get(name)) for name in metrics]
    pairs = list(combinations(range(len(runs)), 2))
    agreement, reversals = list[dict[str, Any]](), list[dict[str, Any]]()
    for (first, one), (second, other) in combinations(zip(metrics, rankings, strict=True), 2) if pairs else ():
        names, reversed_pairs = {"first": first, "second": second}, np.flatnonzero(one.signs * other.signs < 0)
        row = {**names, **one.agreement(other, level), "level": level, "reversed": len(reversed_pairs)}
        unknown = {} if resampled is not None else dict.fromkeys(("low", "high", "undefined", "level"))
        agreement.append(row | unknown)
        for at in reversed_pairs.tolist():
            better, worse = pairs[at][:: int(one.signs[at])]
            gaps = {f"difference_{side}": table[name][better] - table[name][worse] for side, name in names.items()}
            reversals.append({**names, "run": runs[better], "other": runs[worse], **gaps})
    rows = REVERSALS.of(reversals)
    surely = pl.lit(None, pl.Int64)
    if differences is not None:
        rows = _with_significance(rows, differences)
        surely = pl.col("significant").sum()
    counts = rows.group_by("first", "second").agg(surely.alias("reversed_surely"))
    alike = RANK_AGREEMENT.of(agreement).drop("reversed_surely").fill_nan(None)
    alike = alike.join(counts, on=["first", "second"], how="left", maintain_order="left")
    if differences is not None:
        alike = alike.with_columns(pl.col("reversed_surely").fill_null(0))
    return Orders(RANK_AGREEMENT.conform(alike), rows)


def _with_significance(reversals: pl.DataFrame, differences: pl.DataFrame) -> pl.DataFrame:
    """Whether reversed pairs differ significantly, by adjusted p, in both metrics; null: one could not be tested."""
    turned = differences.rename({"run": "other", "other": "run"})
    verdicts = pl.concat([of.select("metric", "run", "other", "significant") for of in (differences, turned)])
    rows = reversals.drop("significant")
    for side in ("first", "second"):
        of_side = verdicts.rename({"metric": side, "significant": f"is_{side}"})
        rows = rows.join(of_side, on=[side, "run", "other"], how="left", maintain_order="left")
    return REVERSALS.conform(rows.with_columns(significant=pl.col("is_first") & pl.col("is_second")))


def ranking_of(metric: str, scores: Floats, resampled: Floats | None = None) -> Ranking:
    """The ranking of runs by a metric."""
    return Ranking(merit(metric, scores), None if resampled is None else merit(metric, resampled))


def merit(metric: str, scores: Floats) -> Floats:
    """Scores that are higher for better runs."""
    return -scores if sign_of(metric) == -1 else scores


def pairs_among(runs: Any) -> Any:
    """For each pair of runs, whether both are chosen."""
    first, second = np.triu_indices(len(runs), 1)
    return runs[first] & runs[second]


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
