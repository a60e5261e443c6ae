"""Approximate randomisation over dialogues: would two runs differ as much if their predictions were swapped by chance?

In each resample, a coin decides for each dialogue whether the predictions of the two runs are swapped in it. All pairs
of runs and all metrics share the coins, so their resamples can be used together (`adjust.max_t`). With R resamples,
p = (1 + c) / (R + 1), where c is the number of resamples with a difference at least as large as the observed one. Ties
count, and so do resamples in which a score is undefined. If few dialogues differ, p is never below the smallest that
all their possible swaps could give (`attainable.smallest_p_of_swaps`).

The interval of the difference is the test turned round, so that it excludes 0 exactly if p is at most 1 − level. Swaps
keep Σ d² of the dialogues' differences d, so each size c of a resampled difference is a size of Student's t,
c / √((d̄² + (D − 1)·se² − c²) / (D − 1)), and the larger the one, the larger the other. The interval reaches as many
standard errors as the largest t that is not significant.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from dstbench.arrays import Floats
from dstbench.schema.record import Shown
from dstbench.stats.attainable import smallest_p_of_swaps
from dstbench.stats.differences import TIE
from dstbench.stats.normal import check_level
from dstbench.stats.resampling import Score, checked, multiply, scores_of, swaps

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


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
        """Two-sided p; NaN where the difference is undefined."""
        if np.isnan(self.observed):
            return float("nan")
        less = np.abs(self.resampled) < abs(self.observed) - self.tolerance
        return max(float((1 + np.sum(~less)) / (1 + len(less))), self.bound)

    def limits(self, se: float, dialogues: int, level: float = 0.95) -> tuple[float, float] | None:
        """The interval of the difference, which excludes 0 exactly if p is at most 1 − level.

        Args:
            se: The standard error of the difference.
            dialogues: How many dialogues it is over.
            level: Confidence level of the interval.

        Returns:
            Its lower and upper end. None if it has no end, as no difference would be significant with so few resamples,
            or dialogues that differ; or if the standard error is 0 or undefined.
        """
        check_level(level)
        largest = self._largest(1 - level)
        variance = (self.observed**2 - largest**2) / (dialogues - 1) + se**2
        if not (se > 0 and variance > 0):
            return None
        reach = se * largest / sqrt(variance)
        return self.observed - reach, self.observed + reach

    def _largest(self, alpha: float) -> float:
        """The size that a difference must exceed to be significant at a level."""
        # A significant difference is among so many that are at least as large, with itself.
        extreme = min(floor(alpha * (1 + TIE) * (1 + len(self.resampled))), len(self.resampled))
        if extreme < 1 or self.bound > alpha * (1 + TIE):
            return inf
        sizes = np.where(np.isnan(self.resampled), inf, np.abs(self.resampled))
        return float(np.partition(sizes, -extreme)[-extreme]) + self.tolerance


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
            sums: Runs × dialogues × statistics, as `resampling.as_exact_floats` gives them.
            resamples: How many times.
            seed: Random seed; the same seed gives the same bits on every machine.

        Raises:
            UsageError: The sums have another shape, or cannot be added up without rounding.
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
        bound = 0.0 if discordant is None else smallest_p_of_swaps(discordant)
        return Null(float(one - other), resampled, TIE * float(max(abs(one), abs(other))), bound)
