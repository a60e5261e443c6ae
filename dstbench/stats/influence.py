"""Standard errors, intervals and p of scores, correlations and models' mean scores, from each dialogue's influence.

The influence of a dialogue on a score is g·s_d, less its mean over dialogues, times √(D/(D−1)), where s_d are the
dialogue's sums and g is the score's gradient at the sums of all D dialogues. That on a correlation is how much lower it
is without the dialogue (`jackknife`). The squares of influences add up to the variance (the sandwich estimate). Where
few dialogues make most of it, that estimate is itself uncertain; so it has few degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from dstbench.arrays import Floats
from dstbench.errors import UsageError
from dstbench.schema.record import Shown
from dstbench.stats.differences import TIE
from dstbench.stats.normal import check_level, critical, two_sided, wilson
from dstbench.stats.resampling import Score, scores_of

# The step of a central difference, relative to the sum that is moved.
_STEP: Final = 2.0**-17
# A sum of squares that is a smaller part than this of its terms' is a rounding error of the gradient.
_NEGLIGIBLE: Final = 1e-16


@dataclass(frozen=True)
class Spread(Shown):
    """A standard error, and how well it is known.

    Interval and p are one inference: by Student's t, of which a skewed estimate has Hall's monotone transformation
    (1992). So an interval holds 0 if and only if p is above 1 − level.

    Attributes:
        se: The standard error; NaN: undefined; 0: no dialogue differs from the others, so nothing is known of it.
        df: Its degrees of freedom.
        skew: The skewness of what it is the standard error of, as an estimate; 0: intervals are symmetric.
    """

    se: float
    df: float
    skew: float = 0.0

    def p(self, difference: float) -> float:
        """Two-sided p of the hypothesis that a difference with this standard error is 0; NaN if that is 0 or undefined.

        Args:
            difference: The difference.
        """
        if not self.se > 0:
            return float("nan")
        t = difference / self.se
        return two_sided(t + self.skew * t**2 / 3 + self.skew**2 * t**3 / 27 + self.skew / 6, self.df)

    def limits(self, value: float, level: float) -> tuple[float, float] | None:
        """The interval of a value with this standard error.

        Args:
            value: The value.
            level: Confidence level of the interval.

        Returns:
            Its lower and upper end; None if the standard error is 0 or undefined.
        """
        check_level(level)
        if not self.se > 0:
            return None
        reach = critical(level, self.df)
        return value - self.se * self._unskewed(reach), value - self.se * self._unskewed(-reach)

    def _unskewed(self, t: float) -> float:
        """The number of standard errors that the transformation in `p` takes to t."""
        further = t - self.skew / 6
        root = float(np.cbrt(1 + self.skew * further))
        return 3 * further / (root**2 + root + 1)  # 3 (root − 1) / skew, without its rounding error near 0

    def limits_of_count(self, count: float, level: float) -> tuple[float, float] | None:
        """The interval of a count: as of a share of very many.

        Args:
            count: The count; if it is not above 0, its interval is `limits`.
            level: Confidence level of the interval.

        Returns:
            Its lower and upper end; None if the standard error is 0 or undefined.
        """
        if not count > 0:
            return self.limits(count, level)
        check_level(level)
        if not self.se > 0:
            return None
        shift = (critical(level, self.df) * self.se) ** 2 / (2 * count)
        reach = sqrt(shift**2 + 2 * shift * count)
        return count + shift - reach, count + shift + reach

    def limits_of_share(self, share: float, dialogues: int, level: float) -> tuple[float, float] | None:
        """The interval of a share, honest near 0 and 1: Wilson's, with the effective number of independent units.

        Args:
            share: The share; if it is below 0 or above 1, as slot accuracy can be, its interval is `limits`.
            dialogues: How many dialogues it is over. If all are alike, each counts as one unit.
            level: Confidence level of the interval.

        Returns:
            Its lower and upper end; None if it or its standard error is undefined.
        """
        if np.isnan(self.se) or np.isnan(share):
            return None
        if not self.se:
            return wilson(share, dialogues, level=level, df=dialogues - 1) if 0 <= share <= 1 else None
        if not 0 < share < 1:
            return self.limits(share, level)
        return wilson(share, share * (1 - share) / self.se**2, level=level, df=self.df)


def influences(score: Score, sums: Floats) -> Floats:
    """What each dialogue adds to the deviation of each run's score, linearised.

    Args:
        score: From sums (B × statistics) to scores (B); NaN where undefined.
        sums: Runs × dialogues × statistics.

    Returns:
        Runs × dialogues, which add up to 0 for each run, and whose squares add up to the variance of its score; NaN for
        a run whose score is undefined.

    >>> right_and_all = np.array([[[1.0, 2], [2, 2], [0, 3]]])
    >>> round(spread(influences(lambda sums: sums[:, 0] / sums[:, 1], right_and_all)[0]).se, 4)
    0.302
    """
    whole = sums.sum(axis=1)
    steps = np.maximum(np.abs(whole), 1) * _STEP
    moves = np.eye(sums.shape[2])[:, np.newaxis] * steps  # one statistic at a time × runs × statistics
    up, down = scores_of(score, whole + moves), scores_of(score, whole - moves)
    gradient = np.where(np.isfinite(up - down), (up - down) / (2 * steps.T), np.nan)
    parts = sums * gradient.T[:, np.newaxis]
    of_dialogues: Floats = parts.sum(axis=2)
    of_dialogues -= of_dialogues.mean(axis=1, keepdims=True)
    squares, terms, value = (of_dialogues**2).sum(axis=1), (parts**2).sum(axis=(1, 2)), scores_of(score, whole)
    of_dialogues[(squares <= _NEGLIGIBLE * terms) | (squares <= (TIE * value) ** 2)] = 0
    of_dialogues[np.isnan(value)] = np.nan
    of_dialogues *= sqrt(sums.shape[1] / max(1, sums.shape[1] - 1))
    return of_dialogues


def spread(of_dialogues: Floats, *, skewed: bool = False) -> Spread:
    """The standard error of a score, or of a difference of scores or correlations, from its influences.

    Its degrees of freedom are those of the normal distribution's variance with the same spread: 2D/(κ − 1), at most
    D − 1, with κ the influences' kurtosis (Satterthwaite 1946). A skewed estimate has (D − 1)/κ, about half as many, as
    the few dialogues that decide its variance decide its skewness too; that is shrunk by one part in df + 1.

    Args:
        of_dialogues: The influence of each dialogue; of a difference, those on one value less those on the other.
        skewed: Whether the estimate has a skewness, for which its interval must allow. A share has none: Wilson's
            interval is right near 0 and 1.
    """
    size, squares = len(of_dialogues), of_dialogues**2
    total = float(squares.sum())
    if not total > 0:
        return Spread(total, size - 1)
    flatness = float((squares**2).sum()) / total**2  # κ/D; 1 over how many dialogues make the variance
    if skewed:
        df = (1 - 1 / size) / flatness
        return Spread(sqrt(total), df, float((of_dialogues**3).sum()) / total**1.5 * df / (df + 1))
    excess = flatness - 1 / size
    return Spread(sqrt(total), min(size - 1, 2 / excess) if excess > 0 else size - 1)


def spread_over_seeds(scores: Sequence[Floats], of_dialogues: Sequence[Floats]) -> Spread:
    """The standard error of a model's mean over its seeds, or of a difference of such means, on dialogues as these.

    The variance between seeds is that of Welch's t test (1947). To it comes the part of the dialogues' variance that
    all seeds of a model share: that of their mean influence, less what differences between seeds add to it (0 if that
    is more). Both together are the variance over seeds and dialogues, each drawn anew.

    Args:
        scores: For each model, the scores of its seeds; two or more.
        of_dialogues: For each model, their influences, seeds × dialogues; of a model that is subtracted, negative.

    Raises:
        UsageError: A model has fewer than two seeds.

    >>> seeds = np.array([[0.5, 0.6, 0.7], [0.4, 0.5, 0.6]])
    >>> both = spread_over_seeds(seeds, np.zeros((2, 3, 10)))  # no dialogue differs from the others: Welch's
    >>> round(both.se, 4), round(both.df, 4), round(both.p(0.1), 4)
    (0.0816, 4.0, 0.2879)
    """
    if min(map(len, scores)) < 2:
        raise UsageError("the spread of a single seed is unknown", hint="two seeds or more")
    of_seeds = [float(own.var(ddof=1)) / len(own) for own in scores]
    differing = sum(float(own.var(axis=0, ddof=1).sum()) / len(own) for own in of_dialogues)
    together = spread(np.sum([own.mean(axis=0) for own in of_dialogues], axis=0))
    shared = max(0.0, together.se**2 - differing) if together.se > 0 else together.se
    variance = sum(of_seeds) + shared
    if not variance > 0:
        return Spread(variance, 1)
    squares = [part**2 / (len(own) - 1) for part, own in zip(of_seeds, scores, strict=True)]
    return Spread(sqrt(variance), variance**2 / (sum(squares) + shared**2 / together.df))
