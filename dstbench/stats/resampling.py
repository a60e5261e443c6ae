"""Resampling of dialogues: the bootstrap, and approximate randomisation, of any score that is a function of sums.

A resample is a row of counts, one per dialogue; its sums are this row times the sums per dialogue. All sums are
multiples of a power of two, small enough for every partial sum to be a double without rounding, so the matrix product
has the same bits in any order of addition, on any number of threads. All runs and metrics share the same draws, so
differences are paired.

The bootstrap leaves out resamples in which the score is undefined. Approximate randomisation swaps the predictions of
two runs in each dialogue by the toss of a coin, and counts the resamples that differ at least as much as observed; ties
count, and so do resamples in which a score is undefined.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import floor, frexp, inf, sqrt
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dstbench.arrays import Floats, Integers
from dstbench.errors import UsageError
from dstbench.schema.record import Shown
from dstbench.stats.differences import TIE
from dstbench.stats.normal import check_level

#: From sums (B × k) to scores (B); NaN where undefined.
Score: TypeAlias = Callable[[Floats], Floats]

_LOG: Final = logging.getLogger(__name__)
_BLOCK: Final = 2**21  # bytes of a block of draws, of which three fit the processor's cache
_BITS: Final = 53  # a double holds all integers of up to this many
# Intervals leave out the resamples in which the score is undefined. If these are a larger part, `limits` gives None.
_MOST_UNDEFINED: Final = 0.05
# The numbers of a seed's streams: one for each thing that is drawn.
_DIALOGUES, _SWAPS, _ORDERS = range(3)


def as_exact_floats(sums: ArrayLike) -> Floats:
    """Sums as doubles that resampling can add up without rounding.

    Sums of counts are returned as they are. Sums of ratios, which can have too many digits (down to 2⁻⁶²), are rounded
    to multiples of a power of two; with D dialogues, this changes sums by less than D · 2⁻⁵¹ of the largest sum.

    Args:
        sums: Runs × dialogues × statistics.

    Returns:
        The sums in the same shape.
    """
    exact, unit = _with_units(sums, spare=1)
    return np.rint(exact / unit) * unit


def checked(sums: ArrayLike) -> Floats:
    """The sums, if they can be added up without rounding."""
    exact, unit = _with_units(sums)
    parts = exact / unit
    if (parts != np.rint(parts)).any():
        raise UsageError("the sums cannot be added up without rounding", hint="pass them through as_exact_floats")
    return exact


def _with_units(sums: ArrayLike, spare: int = 0) -> tuple[Floats, Floats]:
    """The sums; and for each statistic, a power of two whose multiples add up, over all dialogues, to exact doubles."""
    array = np.asarray(sums, np.float64)
    if array.ndim != 3 or array.shape[1] < 2:
        raise UsageError(
            f"sums of shape {array.shape} cannot be resampled",
            hint="runs by dialogues by statistics, with at least two dialogues",
        )
    if not np.isfinite(array).all():
        raise UsageError("an undefined sum cannot be resampled", hint="where a score is undefined, its sums are 0")
    bounds = np.abs(array).max(axis=(0, 1), initial=0) * array.shape[1]
    return array, np.array([2.0 ** (max(frexp(bound)[1] - _BITS + spare, -1022)) for bound in bounds])


def weights(dialogues: int, resamples: int, seed: int = 0) -> Iterator[Floats]:
    """How often each dialogue is drawn, with replacement, in each resample: blocks of resamples × dialogues."""
    rng = _stream(seed, _DIALOGUES)
    for rows in _blocks(dialogues, resamples):
        drawn = rng.integers(dialogues, size=(rows, dialogues))
        drawn += np.arange(0, rows * dialogues, dialogues)[:, np.newaxis]
        yield np.bincount(drawn.ravel(), minlength=rows * dialogues).reshape(rows, dialogues).astype(np.float64)


def swaps(dialogues: int, resamples: int, seed: int = 0) -> Iterator[Floats]:
    """Whether each dialogue is swapped in each resample, by a coin: blocks of 1 and 0, resamples × dialogues."""
    rng = _stream(seed, _SWAPS)
    for rows in _blocks(dialogues, resamples):
        drawn = rng.integers(2**64, size=(rows, -(-dialogues // 64)), dtype=np.uint64)
        bits = np.unpackbits(drawn.astype("<u8").view(np.uint8), axis=1, count=dialogues)
        yield bits.astype(np.float64)


def shuffles(dialogues: int, draws: int, seed: int = 0) -> Iterator[Integers]:
    """A random order of the dialogues in each draw: blocks of each dialogue's place in it, draws × dialogues."""
    rng = _stream(seed, _ORDERS)
    for rows in _blocks(dialogues, draws):
        places = np.tile(np.arange(dialogues), (rows, 1))
        yield rng.permuted(places, axis=1, out=places)


def multiply(blocks: Iterable[Floats], sums: Floats, resamples: int) -> Floats:
    """Blocks of draws times the sums: resamples × runs × statistics."""
    runs, dialogues, statistics = sums.shape
    columns = np.ascontiguousarray(sums.transpose(1, 0, 2)).reshape(dialogues, runs * statistics)
    totals, at = np.empty((resamples, runs * statistics)), 0
    for block in blocks:
        np.matmul(block, columns, out=totals[at : at + len(block)])
        at += len(block)
    return totals.reshape(resamples, runs, statistics)


def scores_of(score: Score, totals: Floats) -> Floats:
    """The scores of sums, whose last axis are statistics; a score that divides by 0 is NaN, without NumPy's warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scores: Floats = score(totals.reshape(-1, totals.shape[-1])).reshape(totals.shape[:-1])
    return scores


def _blocks(dialogues: int, resamples: int) -> Iterator[int]:
    if dialogues < 1 or resamples < 1:
        raise UsageError(f"{resamples} resamples of {dialogues} dialogues cannot be drawn", hint="at least one of each")
    rows = max(1, _BLOCK // (8 * dialogues))
    for start in range(0, resamples, rows):
        _LOG.info("resampling %s dialogues", f"{dialogues:,}", extra={"done": start, "of": resamples})
        yield min(rows, resamples - start)


def _stream(seed: int, which: int) -> np.random.Generator:
    if seed < 0:
        raise UsageError(f"seed {seed} is negative", hint="0 or more")
    return np.random.default_rng([seed, which])


@dataclass(frozen=True)
class Estimate(Shown):
    """A score (or a difference of scores) and its uncertainty.

    Attributes:
        value: The score of all dialogues; NaN where undefined.
        se: Standard error: the standard deviation over the resamples.
        percentile: The interval between quantiles of the resamples.
        level: Confidence level of the interval.
        undefined: How many resamples are left out because the score is undefined in them.
    """

    value: float
    se: float
    percentile: tuple[float, float]
    level: float
    undefined: int


@dataclass(frozen=True)
class Replicates(Shown):
    """A score over all dialogues, and in each resample; the difference of two from one `Bootstrap` is paired.

    Attributes:
        observed: The score over all dialogues; NaN where undefined.
        resampled: The score in each resample.
        scale: The score's size, or the larger size of two that were subtracted; ties are relative to it.
    """

    observed: float
    resampled: Floats
    scale: float

    def __sub__(self, other: Replicates) -> Replicates:
        return Replicates(
            observed=self.observed - other.observed,
            resampled=self.resampled - other.resampled,
            scale=max(self.scale, other.scale),
        )

    @cached_property
    def _defined(self) -> Floats:
        return self.resampled[~np.isnan(self.resampled)]

    def estimate(self, level: float = 0.95) -> Estimate:
        """Standard error and interval.

        Args:
            level: Confidence level of the interval.
        """
        check_level(level)
        defined = self._defined
        undefined = len(self.resampled) - len(defined)
        if np.isnan(self.observed) or not len(defined):
            return Estimate(self.observed, np.nan, (np.nan, np.nan), level, undefined)
        low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
        se = float(np.std(defined, ddof=1)) if len(defined) > 1 else np.nan
        return Estimate(self.observed, se, (float(low), float(high)), level, undefined)

    def limits(self, level: float = 0.95) -> tuple[float, float] | None:
        """The percentile interval, unless the score is undefined, also in more than 5 % of the resamples.

        Args:
            level: Confidence level of the interval.

        Returns:
            Its lower and upper end; or None.
        """
        estimate = self.estimate(level)
        if np.isnan(estimate.percentile[0]) or estimate.undefined > _MOST_UNDEFINED * len(self.resampled):
            return None
        return estimate.percentile

    def p(self) -> float:
        """Two-sided p of the hypothesis that the score (a difference δ) is 0.

        p = (1 + #{|δ* − mean δ*| ≥ |δ|}) / (B + 1), over the B resamples in which the difference δ* is defined; ties
        (`TIE`) count.
        """
        defined = self._defined
        if np.isnan(self.observed) or not len(defined):
            return float("nan")
        far = np.abs(defined - defined.mean()) >= abs(self.observed) - TIE * self.scale
        return float((1 + np.sum(far)) / (1 + len(defined)))


@dataclass(frozen=True)
class Bootstrap(Shown):
    """Sums of runs over the same dialogues: over all of them, and over each resample.

    Attributes:
        whole: Runs × statistics.
        resampled: Resamples × runs × statistics.

    >>> right_and_all = [[[1, 2], [2, 2], [0, 3]], [[2, 2], [2, 2], [1, 3]]]
    >>> one, other = Bootstrap.draw(right_and_all, resamples=1000).replicates(lambda sums: sums[:, 0] / sums[:, 1])
    >>> round((other - one).estimate().value, 3), (other - one).p() < 0.5
    (0.286, True)
    """

    whole: Floats
    resampled: Floats

    @classmethod
    def draw(cls, sums: ArrayLike, resamples: int = 10_000, seed: int = 0) -> Bootstrap:
        """Resample dialogues.

        Args:
            sums: Runs × dialogues × statistics, as `as_exact_floats` gives them.
            resamples: How many times.
            seed: Random seed; the same seed gives the same bits on every machine.
        """
        exact = checked(sums)
        return cls(exact.sum(axis=1), multiply(weights(exact.shape[1], resamples, seed), exact, resamples))

    def replicates(self, score: Score) -> list[Replicates]:
        """A metric's replicates, per run.

        Args:
            score: From sums (B × statistics) to scores (B); NaN where undefined.

        Returns:
            One per run, in their order.
        """
        observed, resampled = scores_of(score, self.whole), scores_of(score, self.resampled)
        return [Replicates(float(value), resampled[:, run], abs(float(value))) for run, value in enumerate(observed)]


@dataclass(frozen=True)
class Null(Shown):
    """A difference of two scores, and its values when dialogues are swapped by chance.

    Attributes:
        observed: The first score minus the second; NaN where undefined.
        resampled: The same in each resample.
        tolerance: A resample that falls short of `observed` by no more than this counts as a tie.
        bound: The smallest p that any number of resamples can give.
    """

    observed: float
    resampled: Floats
    tolerance: float
    bound: float = 0.0

    def p(self) -> float:
        """Two-sided p: (1 + #{|δ*| ≥ |δ|}) / (R + 1), at least `bound`; NaN where the difference is undefined."""
        if np.isnan(self.observed):
            return float("nan")
        less = np.abs(self.resampled) < abs(self.observed) - self.tolerance
        return max(float((1 + np.sum(~less)) / (1 + len(less))), self.bound)

    def limits(self, se: float, dialogues: int, level: float = 0.95) -> tuple[float, float] | None:
        """The interval of the difference, which excludes 0 exactly if p is at most 1 − level: the test turned round.

        Swaps keep Σ d² of the dialogues' differences d, so each size c of a resampled difference is a size of
        Student's t, c / √((d̄² + (D − 1)·se² − c²) / (D − 1)), and the interval reaches as many standard errors as the
        largest t that is not significant.

        Args:
            se: The standard error of the difference.
            dialogues: How many dialogues it is over.
            level: Confidence level of the interval.

        Returns:
            Its lower and upper end. None if it has no end, as no difference would be significant with so few resamples,
            or dialogues that differ; or if the standard error is 0 or undefined.
        """
        check_level(level)
        alpha = (1 - level) * (1 + TIE)
        # A significant difference is among so many that are at least as large, with itself.
        extreme = min(floor(alpha * (1 + len(self.resampled))), len(self.resampled))
        largest = inf  # the size that a difference must exceed to be significant
        if extreme >= 1 and self.bound <= alpha:
            sizes = np.where(np.isnan(self.resampled), inf, np.abs(self.resampled))
            largest = float(np.partition(sizes, -extreme)[-extreme]) + self.tolerance
        variance = (self.observed**2 - largest**2) / (dialogues - 1) + se**2
        if not (se > 0 and variance > 0):
            return None
        reach = se * largest / sqrt(variance)
        return self.observed - reach, self.observed + reach


@dataclass(frozen=True)
class Randomisation(Shown):
    """Sums of runs over the same dialogues: over all of them, and over the dialogues that each resample swaps.

    Attributes:
        whole: Runs × statistics.
        swapped: Resamples × runs × statistics.

    >>> right_and_all = [[[1, 2], [2, 2], [0, 3]], [[2, 2], [2, 2], [1, 3]]]
    >>> coins = Randomisation.draw(right_and_all, resamples=999)
    >>> 0.4 < coins.null(lambda sums: sums[:, 0] / sums[:, 1], 0, 1).p() < 0.6  # 2 of 4 swaps differ as much
    True
    """

    whole: Floats
    swapped: Floats

    @classmethod
    def draw(cls, sums: ArrayLike, resamples: int = 10_000, seed: int = 0) -> Randomisation:
        """Swap dialogues.

        Args:
            sums: Runs × dialogues × statistics, as `as_exact_floats` gives them.
            resamples: How many times.
            seed: Random seed; the same seed gives the same bits on every machine.
        """
        exact = checked(sums)
        return cls(exact.sum(axis=1), multiply(swaps(exact.shape[1], resamples, seed), exact, resamples))

    def null(self, score: Score, first: int, second: int, discordant: int | None = None) -> Null:
        """The difference of two runs in a metric, and its resamples.

        Args:
            score: From sums (B × statistics) to scores (B); NaN where undefined.
            first: The index of one run.
            second: The index of the run whose score is subtracted.
            discordant: In how many dialogues the statistics of the two runs differ; None: unknown.
        """
        gained = self.swapped[:, second] - self.swapped[:, first]  # what swaps add to the first run's sums, exactly
        whole = self.whole[[first, second]]
        scores = scores_of(score, np.concatenate([whole, whole[0] + gained, whole[1] - gained]))
        (one, other), resampled = scores[:2], np.subtract(*np.split(scores[2:], 2))
        # Of the 2ᵏ ways to swap k dialogues, two (none, all) give a difference as large as the observed one.
        bound = 0.0 if discordant is None else min(1.0, 2.0 ** (1 - discordant))
        return Null(float(one - other), resampled, TIE * float(max(abs(one), abs(other))), bound)
