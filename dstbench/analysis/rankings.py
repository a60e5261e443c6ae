"""What scores of runs say about metrics: how far each spreads the runs, how alike their orders are, and how sure.

Orders go from the best run to the worst, over the runs that both metrics have a score for; two scores tie if they
differ by no more than rounding (`stats.differences.TIE`). What a metric says of a pair of runs is their difference in
standard errors of the paired difference (z). Shares of pairs are means of functions of z, whose standard deviation is
that of resamples of dialogues; intervals and tests of two metrics' difference are by the normal distribution, over
shared resamples.

The share of pairs that are told apart (power) varies the more, the more pairs are close to the level. So its interval
has the shares that it would have on average if all true differences were so many times the observed ones, for all
multiples under which it is not among the 2.5 % lowest or highest shares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from dstbench.analysis.correlate import with_holm
from dstbench.analysis.dialogue_sums import Paired
from dstbench.arrays import Floats
from dstbench.metrics import Metric
from dstbench.metrics.registry import sign_of
from dstbench.schema import analysis as schema
from dstbench.stats import Bootstrap, influences
from dstbench.stats.differences import TIE
from dstbench.stats.normal import critical, two_sided
from dstbench.stats.resampling import multiply, scores_of, shuffles

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
    return schema.SPREAD.conform(shown)


class Ranking:
    """Scores of runs, higher for better ones, NaN where undefined, the same in resamples, and the pairs they order."""

    def __init__(self, scores: Floats, resampled: Floats | None = None, metric: str = "") -> None:
        self.scores = merit(metric, scores)
        self.resampled = self.scores[np.newaxis] if resampled is None else merit(metric, resampled)
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
        own, others = (stability(of.signs[pairs], of.drawn[:, pairs]) for of in (self, other))
        low, high = limits_of_order(taus, own * others, level)
        tau, undefined = float(tau_b(self.signs[pairs], other.signs[pairs])), int(np.isnan(taus).sum())
        return {"runs": int(runs.sum()), "tau": tau, "low": low, "high": high, "undefined": undefined}


def compare_orders(
    scores: pl.DataFrame,
    resampled: Mapping[str, Floats] | None = None,
    level: float = 0.95,
    differences: pl.DataFrame | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Kendall's tau-b (1945) of each two metrics' orders (`RANK_AGREEMENT`), and the pairs reversed (`REVERSALS`)."""
    table = scores.pivot(on="metric", index="run", values="value").fill_null(np.nan)
    runs, (_, *metrics) = table["run"].to_list(), table.columns
    rankings = [Ranking(table[name].to_numpy(), (resampled or {}).get(name), name) for name in metrics]
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
    rows, alike = schema.REVERSALS.of(reversals), schema.RANK_AGREEMENT.of(agreement)
    if differences is None:
        return alike, rows
    # A reversal is significant if both metrics' differences are; null: one could not be tested.
    turned = differences.rename({"run": "other", "other": "run"})
    verdicts = pl.concat([of.select("metric", "run", "other", "significant") for of in (differences, turned)])
    for side in ("first", "second"):
        of_side = verdicts.rename({"metric": side, "significant": f"is_{side}"})
        rows = rows.join(of_side, on=[side, "run", "other"], how="left", maintain_order="left")
    rows = schema.REVERSALS.conform(rows.with_columns(significant=pl.col("is_first") & pl.col("is_second")))
    counts = rows.group_by("first", "second").agg(reversed_surely=pl.col("significant").sum())
    alike = alike.drop("reversed_surely").join(counts, on=["first", "second"], how="left", maintain_order="left")
    return schema.RANK_AGREEMENT.conform(alike.with_columns(pl.col("reversed_surely").fill_null(0))), rows


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


# Numbers of dialogues at which orders are compared with that of all dialogues.
_SIZES: Final = (25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000)
# The largest number of random halves.
_HALVES: Final = 1_000
# The multiples of the observed differences that true ones are taken to be for power's interval, and its resamples.
_MULTIPLES: Final = np.append(np.arange(0, 2.01, 0.05), (2.5, 3, 4, 6, 10, 100))
_POWER_RESAMPLES: Final = 1_000


class Judged(NamedTuple):
    """A share of pairs of runs under one metric, and the same in resamples of dialogues."""

    value: float
    resampled: Floats  # of power a row for each of `_MULTIPLES`

    def limits(self, level: float) -> tuple[float | None, float | None]:
        """The interval by the normal distribution; one-sided where it would pass an end of the scale."""
        if self.resampled.ndim > 1:  # the mean shares of the multiples under which the share is not too low or high
            means = self.resampled.mean(axis=1)
            ties = np.isclose(self.resampled, self.value)
            below = ((self.resampled < self.value) & ~ties).mean(axis=1) + ties.mean(axis=1) / 2
            possible = means[np.minimum(below, 1 - below) > (1 - level) / 2]
            return (float(possible.min()), float(possible.max())) if len(possible) else (None, None)
        se = float(np.std(self.resampled, ddof=1)) if len(self.resampled) > 1 else 0.0
        if np.isnan(self.value) or not se > 0:
            return None, None
        reach, one_sided = critical(level) * se, critical(2 * level - 1) * se if level > 0.5 else 0.0
        if self.value - reach < 0:
            return 0.0, min(1.0, self.value + one_sided)
        if self.value + reach > 1:
            return self.value - one_sided, 1.0
        return self.value - reach, self.value + reach

    def around(self, truth: float) -> Floats:
        """Values in resamples, if this is the true one."""
        if self.resampled.ndim == 1:
            return self.resampled
        nearest: Floats = self.resampled[np.abs(self.resampled.mean(axis=1) - truth).argmin()]
        return nearest


class OfPairs(NamedTuple):
    """The differences of pairs of runs by one metric, in standard errors; positive: the first is better."""

    z: Floats  # pairs; NaN: a score is undefined
    resampled: Floats  # resamples × pairs

    def share(self, of: Callable[[Floats], Floats], value: float | None = None) -> Judged:
        """The mean of a function of z over the pairs that have one; its value may be known otherwise."""
        z = self.z[~np.isnan(self.z)]
        if not len(z):
            return Judged(np.nan, np.zeros(0))
        # By chance, observed z² are larger than true ones by 1 on average, and those of resamples once more.
        size = float(np.mean(z[np.isfinite(z)] ** 2)) if np.isfinite(z).any() else np.inf
        shrunk = self._around((1 - 1 / size) ** 0.5 if size > 1 else 0.0)
        return Judged(float(of(z).mean()) if value is None else value, of(shrunk).mean(axis=1))

    def power(self, value: float, level: float) -> Judged:
        """The share of pairs that are told apart at a level; of all of them, its value is known."""
        few = self._replace(resampled=self.resampled[:_POWER_RESAMPLES])
        reach = critical(level)
        return Judged(value, np.stack([(np.abs(few._around(times)) > reach).mean(axis=1) for times in _MULTIPLES]))

    def _around(self, times: float) -> Floats:
        """Resamples (× pairs that have z) if the true differences are so many times the observed ones."""
        defined = ~np.isnan(self.z)
        z = np.where(np.isfinite(self.z), self.z, 0)[defined]
        return self.resampled[:, defined] + (times - 1) * z


def of_pairs(paired: Paired, metric: Metric, bootstrap: Bootstrap) -> OfPairs:
    """The differences of all pairs of runs, in the order of `itertools.combinations`."""
    score = paired.score(metric)
    of_dialogues = influences(score, paired.sums)
    first, second = np.triu_indices(len(paired.runs), 1)
    se = np.sqrt(((of_dialogues[first] - of_dialogues[second]) ** 2).sum(axis=1))

    def z(scores: Floats) -> Floats:
        gaps = merit(str(metric), scores[..., first] - scores[..., second])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(gaps == 0, 0.0, gaps / se))

    return OfPairs(z(scores_of(score, bootstrap.whole)), np.nan_to_num(z(scores_of(score, bootstrap.resampled))))


def swap_share(z: Floats) -> Floats:
    """How often two random halves of the dialogues order a pair with this z otherwise."""
    return 2 * _normal(-np.abs(z))


def reliability(
    paired: Paired, pairs: Mapping[str, OfPairs], draws: int, seed: int, level: float
) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, Judged]]:
    """How alike random halves (`RELIABILITY`), and n dialogues and all (`SAMPLE_SIZES`), order pairs; swap rates."""
    dialogues, total, draws = paired.sums.shape[1], paired.sums.sum(axis=1), min(draws, _HALVES)

    def sampled(size: int) -> Floats:
        """The sums of so many dialogues, the first ones of random orders: draws × runs × statistics."""
        first = ((places < size).astype(np.float64) for places in shuffles(dialogues, draws, seed))
        return multiply(first, paired.sums, draws)

    half, samples = sampled(dialogues // 2), {size: sampled(size) for size in _SIZES if size < dialogues}
    rows, sizes, judged = list[dict[str, Any]](), list[dict[str, Any]](), dict[str, Judged]()
    for metric in paired.metrics if len(paired.runs) > 1 else ():
        name, score = str(metric), paired.score(metric)
        is_pair = ~np.isnan(pairs[name].z)  # of the others, a score is undefined
        one, other = (signs(scores_of(score, sums))[:, is_pair] for sums in (half, total - half))
        swaps, tau = _swaps(one, other), tau_b(one, other)
        judged[name] = pairs[name].share(swap_share, swaps)
        low, high = judged[name].limits(level)
        of_halves = float(np.nanmean(tau)) if not np.isnan(tau).all() else np.nan
        rows.append({
            "metric": name, "pairs": int(is_pair.sum()), "swap_rate": swaps,
            "low": low, "high": high, "level": level, "tau_halves": of_halves,
            "tau_full": 2 * of_halves / (1 + of_halves) if of_halves > 0 else np.nan,
            "halves": len(tau),
        })  # fmt: skip
        whole = signs(scores_of(score, total))[is_pair]
        for size, sums in samples.items():
            alike = 1 - _swaps(signs(scores_of(score, sums))[:, is_pair], whole)
            sizes.append({"metric": name, "dialogues": size, "alike": alike})
    return schema.RELIABILITY.of(rows), schema.SAMPLE_SIZES.of(sizes), judged


def _swaps(one: Any, other: Any) -> float:
    """The share of pairs in opposite orders; a pair that is tied in one of them counts half."""
    return float((1 - one.astype(np.float64) * other).mean() / 2) if one.size else np.nan


def validity(
    rankings: Mapping[str, Ranking],
    pairs: Mapping[str, OfPairs],
    differences: pl.DataFrame,
    known_order: pl.DataFrame,
    level: float,
) -> tuple[pl.DataFrame, dict[str, Judged]]:
    """How metrics order runs of a known order (`VALIDITY`), and each one's soft accuracy."""
    order = Ranking(known_order["number"].to_numpy())
    along = known_order["along"].first()
    rows, soft = list[dict[str, Any]](), dict[str, Judged]()
    for metric, ranking in rankings.items() if known_order.height else ():
        p = differences.filter(metric=metric)["p"].fill_null(1).to_numpy()
        ordered = (order.signs != 0) & ~np.isnan(pairs[metric].z)
        in_order, drawn = (of[..., ordered] * order.signs[ordered] for of in (ranking.signs, ranking.drawn))
        one_sided = np.where(in_order < 0, 1 - p[ordered] / 2, p[ordered] / 2)
        z = OfPairs(*(of[..., ordered] * order.signs[ordered] for of in pairs[metric]))
        soft[metric] = z.share(_normal, float(1 - one_sided.mean()) if ordered.any() else None)
        agreement = ranking.agreement(order, level)
        about = {"metric": metric, "along": along, "runs": agreement["runs"], "pairs": int(ordered.sum())}
        both = pairs_among(ranking.among(order))
        stable = stability(ranking.signs[both], ranking.drawn[:, both])
        d, accuracy = (drawn, in_order), (drawn > 0, in_order > 0)
        measures = {
            "tau": (agreement["tau"], agreement["low"], agreement["high"]),
            "somers_d": (_mean(d[1]), *limits_of_order(_mean(d[0]), stable, level)),
            "accuracy": (_mean(accuracy[1]), *limits_of_order(_mean(accuracy[0]), stable, level, 0)),
            "soft_accuracy": (soft[metric].value, *soft[metric].limits(level)),
        }
        for measure, (value, low, high) in measures.items():
            rows.append({**about, "measure": measure, "value": float(value), "low": low, "high": high, "level": level})
    return schema.VALIDITY.of(rows), soft


def _mean(values: Any) -> Any:
    return values.mean(axis=-1) if values.shape[-1] else np.full(values.shape[:-1], np.nan)


def contests(measure: str, judged: Mapping[str, Judged], level: float) -> pl.DataFrame:
    """The difference of each two metrics in a measure, as rows of `schema.analysis.CONTESTS`; p adjusted by Holm."""
    rows: list[dict[str, Any]] = []
    for first, second in combinations(judged, 2):
        one, other = judged[first], judged[second]
        difference = one.value - other.value
        row = {"measure": measure, "first": first, "second": second, "difference": difference, "level": level}
        if len(one.resampled) == len(other.resampled) > 1 and not np.isnan(difference):
            both = (one.value + other.value) / 2
            se = float(np.std(one.around(both) - other.around(both), ddof=1))
            row["p"] = 1.0 if abs(difference) < 1e-12 else None
            if se > 0:
                reach = critical(level) * se
                row |= {"low": difference - reach, "high": difference + reach, "p": two_sided(difference / se, None)}
        rows.append(row)
    return with_holm(schema.CONTESTS.of(rows))


def _normal(z: Floats) -> Floats:
    from scipy.special import ndtr  # not before: it takes time to import

    return np.asarray(ndtr(z))
