"""Bootstrap over dialogues: standard errors, intervals and differences of any score that is a function of sums.

Conventions: all runs are resampled by the same draws, so that differences are paired; the draws are made once and
serve every metric. A resample in which the score is undefined is left out and counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dstbench.errors import UsageError
from dstbench.stats.differences import TIE
from dstbench.stats.normal import below, check_level, quantile
from dstbench.stats.resampling import checked, draw_seeds, multiply, scores_of, weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dstbench.arrays import Floats
    from dstbench.stats.resampling import Score


@dataclass(frozen=True)
class Estimate:
    """A score (or a difference of scores) and how sure it is.

    Attributes:
        value: That of the whole; NaN where undefined.
        se: Standard deviation over the resamples.
        percentile: The interval from quantiles of the resamples.
        bca: The same, corrected for bias and acceleration (Efron 1987); None where that is undefined: all resamples
            lie on one side, the score is undefined without some dialogue, or seeds are resampled as well.
        level: That of the intervals.
        undefined: Resamples that are left out, as the score is undefined there.
    """

    value: float
    se: float
    percentile: tuple[float, float]
    bca: tuple[float, float] | None
    level: float
    undefined: int


@dataclass(frozen=True)
class Replicates:
    """A score of the whole, of each resample, and without each dialogue.

    Those that come from one `Bootstrap` have the same draws: their difference is paired.

    Attributes:
        observed: That of the whole; NaN where undefined.
        resampled: Those of the resamples.
        left_out: Those without each dialogue; None where seeds are resampled as well.
        scale: The largest of the scores that it is a difference of: what counts as equal is measured by it.
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
            level: Of the intervals.
        """
        check_level(level)
        found = self._defined
        undefined = len(self.resampled) - len(found)
        if np.isnan(self.observed) or not len(found):
            nothing = (np.nan, np.nan)
            return Estimate(self.observed, np.nan, nothing, None, level, undefined)
        tails = np.array([(1 - level) / 2, (1 + level) / 2])
        se = float(np.std(found, ddof=1)) if len(found) > 1 else np.nan
        return Estimate(self.observed, se, _limits(found, tails), self._bca(tails), level, undefined)

    def _bca(self, tails: Floats) -> tuple[float, float] | None:
        if self.left_out is None or np.isnan(self.left_out).any():
            return None
        found, room = self._defined, TIE * self.scale
        # Ties count by half, or the interval of a score with few values would be pushed to one side.
        short, tied = np.mean(found < self.observed - room), np.mean(np.abs(found - self.observed) <= room)
        bias = quantile(short + tied / 2)
        if not np.isfinite(bias):
            return None
        deviations = self.left_out.mean() - self.left_out
        spread = float(np.sum(deviations**2)) ** 1.5
        acceleration = float(np.sum(deviations**3)) / (6 * spread) if spread > 0 else 0.0
        shifted = bias + quantile(tails)
        room_left = 1 - acceleration * shifted
        if (room_left <= 0).any():
            return None
        return _limits(found, below(bias + shifted / room_left))

    def p(self) -> float:
        """Two-sided p that the score (a difference) is 0: how often resamples stray from their mean as far as it is.

        (1 + #{|δ* − mean δ*| ≥ |δ|}) / (B + 1), of the resamples in which it is defined; ties count, up to `TIE`.
        """
        found = self._defined
        if np.isnan(self.observed) or not len(found):
            return float("nan")
        far = np.abs(found - found.mean()) >= abs(self.observed) - TIE * self.scale
        return float((1 + np.sum(far)) / (1 + len(found)))


@dataclass(frozen=True)
class Bootstrap:
    """Sums of runs over the same dialogues: of the whole, of each resample, and without each dialogue.

    Attributes:
        whole: Runs × statistics.
        resampled: Resamples × runs × statistics.
        left_out: Dialogues × runs × statistics.
        seed: What the draws come from.

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
            resamples: How often.
            seed: One seed gives the same bits anywhere.

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
        """A metric's replicates per model, whose score is the mean over its runs (seeds), with seeds resampled too.

        Seeds are drawn with replacement for each model by itself, one less than there are (see `draw_seeds`), dialogues
        for all together. Of a model with a single run, nothing is known of what another seed would give: its interval
        is that of the run.

        Args:
            score: The metric.
            models: Per model, which runs are its seeds.

        Returns:
            One per model, in their order; without `Replicates.left_out`.

        Raises:
            UsageError: A model has no run.
        """
        observed, resampled = scores_of(score, self.whole), scores_of(score, self.resampled)
        found = []
        for model, runs in enumerate(models):
            if not runs:
                raise UsageError(f"model {model} has no run")
            drawn = draw_seeds(len(runs), len(resampled), self.seed, model)
            # A seed that is not drawn does not make the mean undefined.
            parts = np.where(drawn > 0, drawn * resampled[:, list(runs)], 0.0)
            value = float(observed[list(runs)].mean())
            found.append(Replicates(value, parts.sum(axis=1), None, abs(value)))
        return found


def _limits(found: Floats, tails: Floats) -> tuple[float, float]:
    lo, hi = np.quantile(found, tails)
    return float(lo), float(hi)
