"""Approximate randomisation over dialogues: would two runs differ so much if it were chance which run said what?

Conventions: in each dialogue, all that two runs said is swapped, or nothing is. The same coins serve all pairs of runs
and all metrics, so that their resamples can be used together (`adjust.max_t`). p is (1 + c) / (R + 1), with c the
resamples that differ as much or more, ties included; one in which a score is undefined counts among them. Where few
dialogues differ, p is never below what all their swaps would give (`attainable.smallest_p_of_swaps`), of which those
that are drawn are a sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dstbench.stats.attainable import smallest_p_of_swaps
from dstbench.stats.differences import TIE
from dstbench.stats.resampling import checked, multiply, scores_of, swaps

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dstbench.arrays import Floats
    from dstbench.stats.resampling import Score


@dataclass(frozen=True)
class Null:
    """A difference of two scores, and what it would be by chance.

    Attributes:
        observed: The first less the second; NaN where undefined.
        resampled: The same with dialogues swapped.
        tolerance: By how much, at most, one may fall short of the other and still be a tie.
        bound: What p is at least with any number of resamples.
    """

    observed: float
    resampled: Floats
    tolerance: float
    bound: float = 0.0

    def p(self) -> float:
        """Two-sided; NaN where the difference is undefined."""
        if np.isnan(self.observed):
            return float("nan")
        less = np.abs(self.resampled) < abs(self.observed) - self.tolerance
        return max(float((1 + np.sum(~less)) / (1 + len(less))), self.bound)


@dataclass(frozen=True)
class Randomisation:
    """Sums of runs over the same dialogues: of the whole, and of the dialogues that are swapped.

    Attributes:
        whole: Runs × statistics.
        swapped: Resamples × runs × statistics: the sums of the dialogues that a resample swaps.

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
            resamples: How often.
            seed: One seed gives the same bits anywhere.

        Raises:
            UsageError: The sums have another shape, or cannot be added up without rounding.
        """
        exact = checked(sums)
        return cls(exact.sum(axis=1), multiply(swaps(exact.shape[1], resamples, seed), exact, resamples))

    def null(self, score: Score, first: int, second: int, discordant: int | None = None) -> Null:
        """A metric's difference of two runs, by their numbers, and its resamples.

        Args:
            score: From sums (B × statistics) to scores (B); NaN where undefined.
            first: The number of one run, from 0.
            second: That of the other, whose score is taken from the first's.
            discordant: In how many dialogues the two differ in what the score is of; None: unknown.
        """
        # What one run keeps and what it is given by the other are sums of dialogues: exact again.
        given = self.swapped[:, second] - self.swapped[:, first]
        one, other = (scores_of(score, self.whole[run][np.newaxis])[0] for run in (first, second))
        resampled = scores_of(score, self.whole[first] + given) - scores_of(score, self.whole[second] - given)
        bound = 0.0 if discordant is None else smallest_p_of_swaps(discordant)
        return Null(float(one - other), resampled, TIE * float(max(abs(one), abs(other))), bound)
