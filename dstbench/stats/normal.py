"""Tails and quantiles of the normal and the t distribution.

Two-sided p are computed from the tail itself, so they stay above 0 where ``1 − cdf`` would be 0. SciPy, which is slow
to import, is needed only for the t distribution.
"""

from __future__ import annotations

import math

from dstbench.errors import UsageError


def two_sided(z: float, df: float | None = None) -> float:
    """The probability of a value that is at least as far from 0 as `z`.

    Args:
        z: The statistic.
        df: Degrees of freedom of a t distribution; None: the normal one.

    >>> f"{two_sided(1.96):.4f} {two_sided(-1.96, df=10):.4f} {two_sided(20):.0e}"
    '0.0500 0.0784 6e-89'
    """
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
    """How many standard errors a confidence interval reaches to either side.

    Args:
        level: Confidence level.
        df: Degrees of freedom of a t distribution; None: the normal one.

    >>> round(critical(0.95), 4), round(critical(0.95, df=10), 4)
    (1.96, 2.2281)
    """
    check_level(level)
    if df is None:
        return quantile((1 + level) / 2)
    from scipy import special

    return float(special.stdtrit(df, (1 + level) / 2))
