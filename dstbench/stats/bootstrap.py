"""Bootstrap over dialogues: standard errors, intervals and differences of any score that is a function of sums.

All runs and all metrics share the same draws, so differences are paired. A resample in which the score is undefined is
left out and counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from dstbench.arrays import Floats
from dstbench.schema.record import Shown
from dstbench.stats.differences import TIE
from dstbench.stats.normal import check_level
from dstbench.stats.resampling import Score, checked, multiply, scores_of, weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


# Intervals leave out the resamples in which the score is undefined. If these are a larger part, `limits` gives None.
_MOST_UNDEFINED: Final = 0.05


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
    """A score over all dialogues, and in each resample.

    Replicates of the same `Bootstrap` share their draws, so their difference is paired.

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
        """The percentile interval, unless the score is too often undefined.

        Args:
            level: Confidence level of the interval.

        Returns:
            Its lower and upper end; None if the score is undefined, or is so in more than 5 % of the resamples.
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
            sums: Runs × dialogues × statistics, as `resampling.as_exact_floats` gives them.
            resamples: How many times.
            seed: Random seed; the same seed gives the same bits on every machine.

        Raises:
            UsageError: The sums have another shape, or cannot be added up without rounding.
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
