"""Tails and quantiles of the normal and the t distribution (for which alone SciPy is loaded); intervals of shares."""

from __future__ import annotations

import math

from dstbench.errors import UsageError


def two_sided(z: float, df: float | None = None) -> float:
    """The probability of a value at least as far from 0 as `z`, from the tail itself; with `df`, of Student's t."""
    if df is None:
        return math.erfc(abs(z) / math.sqrt(2))
    from scipy import special

    return float(2 * special.stdtr(df, -abs(z)))


def quantile(share: float) -> float:
    """The normal quantile of a share; infinite for 0 and 1."""
    from statistics import NormalDist  # it loads modules that few commands need

    return NormalDist().inv_cdf(share) if 0 < share < 1 else math.copysign(math.inf, share - 0.5)


def check_level(level: float) -> None:
    """Refuse a confidence level that is not between 0 and 1."""
    if not 0 < level < 1:
        raise UsageError(f"level {level} is not between 0 and 1", hint="0.95 is a 95 % interval")


def critical(level: float, df: float | None = None) -> float:
    """How many standard errors a confidence interval reaches to either side; with `df`, by a t distribution."""
    check_level(level)
    if df is None:
        return quantile((1 + level) / 2)
    from scipy import special

    return float(special.stdtrit(df, (1 + level) / 2))


def wilson(share: float, n: float, *, level: float = 0.95, df: float | None = None) -> tuple[float, float]:
    """Wilson's score interval of a share, which is valid even if the share is 0 or 1.

    Args:
        share: The observed share.
        n: The sample size, above 0; if units are not independent, the effective one, share·(1−share)/se².
        level: Confidence level.
        df: Degrees of freedom of the standard error that n is computed from; None: so many that they do not matter.

    Returns:
        Its lower and upper end, both from 0 to 1.

    Raises:
        UsageError: The share is not from 0 to 1, or n is not above 0.

    Source: Wilson 1927 (JASA 22:209); with effective numbers Korn & Graubard 1998 (Survey Methodology 24:193).

    >>> [round(end, 4) for end in wilson(0.9, 10)], [round(end, 4) for end in wilson(1.0, 10)]
    ([0.5958, 0.9821], [0.7225, 1.0])
    """
    if not 0 <= share <= 1 or n <= 0:
        raise UsageError(f"a share of {share} among {n} has no interval", hint="a share from 0 to 1 of more than 0")
    z2 = critical(level, df) ** 2
    centre, half = share + z2 / (2 * n), math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n)))
    return max(0.0, (centre - half) / (1 + z2 / n)), min(1.0, (centre + half) / (1 + z2 / n))
