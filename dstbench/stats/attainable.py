"""The smallest p that a resampling test can give, known before anything is drawn.

With B resamples, p = (1 + c) / (B + 1) is at least 1 / (B + 1). If two runs differ in k dialogues, swapping them there
gives at most 2ᵏ differences, of which two (nothing swapped, everything swapped) are as large as the observed one. So p
is at least 2 / 2ᵏ, however many swaps are drawn. An adjustment for several hypotheses never gives a smaller p a larger
adjusted p. So the smallest adjusted p are found by adjusting the smallest p.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dstbench.arrays import Flags, Floats
from dstbench.stats.differences import TIE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def smallest_p_of_swaps(discordant: int) -> float:
    """The smallest two-sided p of a randomisation test of two runs that differ in `discordant` dialogues.

    >>> smallest_p_of_swaps(0), smallest_p_of_swaps(3), smallest_p_of_swaps(6)
    (1.0, 0.25, 0.03125)
    """
    return float(min(1.0, 2.0 ** (1 - discordant)))


def smallest_p(bounds: ArrayLike, resamples: ArrayLike) -> Floats:
    """The smallest p that resampling can give.

    Args:
        bounds: For each hypothesis, the smallest p that any number of resamples can give; 0 if there is no such bound.
        resamples: How many resamples are drawn, for all hypotheses or for each.

    Returns:
        The smallest p with that many resamples, in the order of the bounds.

    >>> smallest_p([0, 0.25], 99).tolist()
    [0.01, 0.25]
    """
    smallest: Floats = np.maximum(1 / (1 + np.asarray(resamples, np.float64)), np.asarray(bounds, np.float64))
    return smallest


def at_most(p: ArrayLike, alpha: float) -> Flags:
    """Whether p are at most alpha, up to rounding: 6 · (1 / 120) is at most 0.05, whatever its last bits. NaN is not.

    >>> at_most([0.1 + 0.2, 0.31], 0.3).tolist()
    [True, False]
    """
    reached: Flags = np.asarray(p, np.float64) <= alpha * (1 + TIE)
    return reached


def resamples_needed(bounds: ArrayLike, alpha: float, adjust: Callable[[Floats], Floats]) -> list[int | None]:
    """The fewest resamples with which the adjusted p of each hypothesis can reach a level.

    Args:
        bounds: For each hypothesis, the smallest p with any number of resamples; 0 if there is no such bound.
        alpha: The significance level, above 0.
        adjust: From p to adjusted p; a smaller p must not have a larger adjusted p.

    Returns:
        The numbers of resamples, in the order of the bounds; None where no number is enough.

    >>> from dstbench.stats import holm
    >>> resamples_needed([0, 0, 0, 0, 0, 0], 0.05, holm)
    [119, 119, 119, 119, 119, 119]
    >>> resamples_needed([0, 0.25], 0.05, holm)
    [39, None]
    """
    least = np.asarray(bounds, np.float64)

    @cache  # the searches for most hypotheses try the same numbers
    def reached(resamples: int) -> Flags:
        return at_most(adjust(smallest_p(least, resamples)), alpha)

    def fewest(hypothesis: int) -> int:
        enough = 1
        while not reached(enough)[hypothesis]:
            enough *= 2
        candidates = range(enough // 2 + 1, enough + 1)  # half of it is too few
        return candidates[bisect_left(candidates, True, key=lambda resamples: bool(reached(resamples)[hypothesis]))]

    ever = at_most(adjust(least), alpha)
    return [fewest(hypothesis) if ever[hypothesis] else None for hypothesis in range(len(least))]
