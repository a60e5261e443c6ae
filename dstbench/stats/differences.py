"""Statistics of dialogues without resampling: standard errors, detectable differences, wins and losses."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Final

import numpy as np

from dstbench.arrays import Floats
from dstbench.errors import UsageError
from dstbench.stats.normal import critical

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: Scores are equal if they differ by no more than this times the larger one, because the same value computed from other
#: sums can differ in its last bits. One turn in a hundred million still makes a difference.
TIE: Final = 1e-9
# A test that a difference passes with 80 % power is one that its upper 80 % of values pass.
_POWER_LEVEL: Final = 2 * 0.8 - 1


def linearised_se(numerators: ArrayLike, denominators: ArrayLike) -> float:
    """The standard error of a ratio of sums over dialogues, linearised (the sandwich estimate for clusters).

    √(D/(D−1) · Σ (s − p·n)²) / Σ n, with p = Σ s / Σ n and D dialogues.

    Args:
        numerators: One per dialogue, such as its number of right turns (s).
        denominators: One per dialogue, such as its number of turns (n).

    Raises:
        UsageError: The numbers of dialogues differ.

    >>> round(linearised_se([1, 2, 0], [2, 2, 3]), 4)  # NaN where the ratio is undefined
    0.302
    """
    upper, lower = np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)
    if upper.ndim != 1 or upper.shape != lower.shape:
        raise UsageError(f"sums of shape {upper.shape} and {lower.shape} make no ratio")
    dialogues, total = len(lower), lower.sum()
    if dialogues < 2 or not total:
        return float("nan")
    residuals = (upper - upper.sum() / total * lower) / total
    return sqrt(dialogues / (dialogues - 1)) * float(np.sqrt(np.sum(residuals**2)))


def jackknife_se(left_out: ArrayLike) -> float:
    """The standard error of any score, from the scores without each dialogue.

    Args:
        left_out: For each dialogue, the score over all others.

    >>> scores = np.array([0.0, 0.5, 1.0, 0.5])
    >>> jackknife_se((scores.sum() - scores) / 3), float(scores.std(ddof=1) / 2)
    (0.204..., 0.204...)
    """
    scores = np.asarray(left_out, np.float64)
    return sqrt((len(scores) - 1) / len(scores) * float(np.sum((scores - scores.mean()) ** 2)))


def smallest_detectable(se: float, alpha: float = 0.05, df: float | None = None) -> float:
    """The difference that a two-sided test detects with 80 % power.

    Args:
        se: The standard error of the difference, in any unit.
        alpha: The level of the test; for one of m hypotheses by Holm's or Bonferroni's method, the level divided by m.
        df: Degrees of freedom of a t test; None: a test by the normal distribution, or by resampling.

    >>> round(smallest_detectable(0.5), 3), round(smallest_detectable(0.5, alpha=0.05 / 3), 3)
    (1.401, 1.618)
    """
    return (critical(1 - alpha, df) + critical(_POWER_LEVEL, df)) * se


def tally(first: Floats, second: Floats) -> dict[str, int]:
    """In how many dialogues the first of two runs is better, equal (up to `TIE`) or worse, or a score is undefined."""
    difference, tolerance = first - second, TIE * np.maximum(np.abs(first), np.abs(second))
    flags = {
        "wins": difference > tolerance, "ties": np.abs(difference) <= tolerance, "losses": -difference > tolerance,
        "unscored": np.isnan(difference),
    }  # fmt: skip
    return {name: int(np.sum(those)) for name, those in flags.items()}
