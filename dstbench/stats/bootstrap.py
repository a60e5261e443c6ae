"""Bootstrap over dialogues: standard errors, intervals and differences of any score that is a function of sums.

All runs and all metrics share the same draws, so differences are paired. A resample in which the score is undefined is
left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from dstbench.arrays import Floats
from dstbench.errors import UsageError
from dstbench.schema.record import Shown
from dstbench.stats.differences import TIE
from dstbench.stats.normal import below, check_level, quantile
from dstbench.stats.resampling import Score, checked, draw_seeds, multiply, scores_of, weights

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
        bca: The same, corrected for bias and acceleration (Efron 1987). None where that is undefined: if all resamples
            lie on one side of the score, if the score is undefined without some dialogue, or if seeds are resampled.
        level: Confidence level of the intervals.
        undefined: How many resamples are left out because the score is undefined in them.
    """

    value: float
    se: float
    percentile: tuple[float, float]
    bca: tuple[float, float] | None
    level: float
    undefined: int


@dataclass(frozen=True)
class Replicates(Shown):
    """A score over all dialogues, in each resample, and without each dialogue.

    Replicates of the same `Bootstrap` share their draws, so their difference is paired.

    Attributes:
        observed: The score over all dialogues; NaN where undefined.
        resampled: The score in each resample.
        left_out: The score without each dialogue; None if seeds are resampled too.
        scale: The score's size, or the larger size of two that were subtracted; ties are relative to it.
    """

    observed: float
    resampled: Floats
    left_out: Floats | None
    scale: float

    def __sub__(self, other: Replicates) -> Replicates:
        both = self.left_out is not None and other.left_out is not None
        return Replicates(
            observed=self.observed - other.observed,
            resampled=self.resampled - other.resampled,
            left_out=self.left_out - other.left_out if both else None,  # type: ignore[operator]
            scale=max(self.scale, other.scale),
        )

    @cached_property
    def _defined(self) -> Floats:
        return self.resampled[~np.isnan(self.resampled)]

    def estimate(self, level: float = 0.95) -> Estimate:
        """Standard error and intervals.

        Args:
            level: Confidence level of the intervals.
        """
        check_level(level)
        defined = self._defined
        undefined = len(self.resampled) - len(defined)
        if np.isnan(self.observed) or not len(defined):
            return Estimate(self.observed, np.nan, (np.nan, np.nan), None, level, undefined)
        tails = np.array([(1 - level) / 2, (1 + level) / 2])
        se = float(np.std(defined, ddof=1)) if len(defined) > 1 else np.nan
        return Estimate(self.observed, se, _quantiles(defined, tails), self._bca(tails), level, undefined)

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

    def _bca(self, tails: Floats) -> tuple[float, float] | None:
        if self.left_out is None or np.isnan(self.left_out).any():
            return None
        defined, tolerance = self._defined, TIE * self.scale
        # Ties count half; otherwise the interval of a score with few distinct values would shift to one side.
        below_observed = np.mean(defined < self.observed - tolerance)
        tied = np.mean(np.abs(defined - self.observed) <= tolerance)
        bias = quantile(float(below_observed + tied / 2))
        if not np.isfinite(bias):
            return None
        deviations = self.left_out.mean() - self.left_out
        spread = float(np.sum(deviations**2)) ** 1.5
        acceleration = float(np.sum(deviations**3)) / (6 * spread) if spread > 0 else 0.0
        shifted = bias + np.array([quantile(tail) for tail in tails])
        denominator = 1 - acceleration * shifted
        if (denominator <= 0).any():
            return None
        return _quantiles(defined, np.array([below(z) for z in bias + shifted / denominator]))

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
    """Sums of runs over the same dialogues: over all of them, over each resample, and over all but each dialogue.

    Attributes:
        whole: Runs × statistics.
        resampled: Resamples × runs × statistics.
        left_out: Dialogues × runs × statistics.
        seed: Random seed of the draws.

    >>> right_and_all = [[[1, 2], [2, 2], [0, 3]], [[2, 2], [2, 2], [1, 3]]]
    >>> one, other = Bootstrap.draw(right_and_all, resamples=1000).replicates(lambda sums: sums[:, 0] / sums[:, 1])
    >>> round((other - one).estimate().value, 3), (other - one).p() < 0.5
    (0.286, True)
    """

    whole: Floats
    resampled: Floats
    left_out: Floats
    seed: int

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
        whole = exact.sum(axis=1)
        return cls(
            whole=whole,
            resampled=multiply(weights(exact.shape[1], resamples, seed), exact, resamples),
            left_out=(whole[:, np.newaxis] - exact).transpose(1, 0, 2),
            seed=seed,
        )

    def replicates(self, score: Score) -> list[Replicates]:
        """A metric's replicates, per run.

        Args:
            score: From sums (B × statistics) to scores (B); NaN where undefined.

        Returns:
            One per run, in their order.
        """
        observed, resampled, left_out = (scores_of(score, s) for s in (self.whole, self.resampled, self.left_out))
        return [
            Replicates(float(value), resampled[:, run], left_out[:, run], abs(float(value)))
            for run, value in enumerate(observed)
        ]

    def over_seeds(self, score: Score, models: Sequence[Sequence[int]]) -> list[Replicates]:
        """A metric's replicates per model, with seeds resampled too; a model's score is the mean over its runs (seeds).

        All models share the drawn dialogues; seeds are drawn for each model by itself (see `draw_seeds`). For a model
        with a single run, nothing is known about other seeds, so its interval is that of the run.

        Args:
            score: The metric, as for `replicates`.
            models: For each model, the indices of its runs.

        Returns:
            One per model, in their order; without `Replicates.left_out`.

        Raises:
            UsageError: A model has no run.
        """
        observed, resampled = scores_of(score, self.whole), scores_of(score, self.resampled)
        replicates = []
        for model, runs in enumerate(models):
            if not runs:
                raise UsageError(f"model {model} has no run")
            shares = draw_seeds(len(runs), len(resampled), self.seed, model)
            # The score of a seed that is not drawn may be undefined.
            parts = np.where(shares > 0, shares * resampled[:, list(runs)], 0.0)
            value = float(observed[list(runs)].mean())
            replicates.append(Replicates(value, parts.sum(axis=1), None, abs(value)))
        return replicates


def _quantiles(scores: Floats, shares: Floats) -> tuple[float, float]:
    low, high = np.quantile(scores, shares)
    return float(low), float(high)
