"""Intervals of shares."""

from __future__ import annotations

from math import sqrt

from dstbench.errors import UsageError
from dstbench.stats.normal import critical


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
    centre, half = share + z2 / (2 * n), sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n)))
    return max(0.0, (centre - half) / (1 + z2 / n)), min(1.0, (centre + half) / (1 + z2 / n))
