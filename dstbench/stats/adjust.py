"""p of several hypotheses, adjusted for their number.

Conventions: adjusted p are compared with the level as they stand, and are in the order of those given. Bonferroni and
Holm hold for any dependence (Holm is never weaker), Hochberg for positive dependence; these bound the chance of one
false rejection. Benjamini's bound the share of false ones among the rejected, Yekutieli's for any dependence. `max_t`
bounds what Holm does and uses the dependence, as all hypotheses were resampled together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dstbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dstbench.arrays import Floats


def bonferroni(p: ArrayLike) -> Floats:
    """Each times their number.

    Args:
        p: Numbers from 0 to 1.

    Returns:
        As many adjusted p, at most 1, in the same order.

    Raises:
        UsageError: One is no number from 0 to 1.

    >>> bonferroni([0.01, 0.04, 0.5]).tolist()
    [0.03, 0.12, 1.0]
    """
    given = _checked(p)
    return np.minimum(given * len(given), 1)


def holm(p: ArrayLike) -> Floats:
    """From the smallest up, each times the number of those that are left (Holm 1979).

    Args:
        p: Numbers from 0 to 1.

    Returns:
        As many adjusted p, at most 1, in the same order.

    Raises:
        UsageError: One is no number from 0 to 1.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = _checked(p)
    return _step(given, _ranks(given)[::-1], _up)


def hochberg(p: ArrayLike) -> Floats:
    """As Holm, from the largest down (Hochberg 1988).

    Args:
        p: Numbers from 0 to 1.

    Returns:
        As many adjusted p, at most 1, in the same order.

    Raises:
        UsageError: One is no number from 0 to 1.

    >>> hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    given = _checked(p)
    return _step(given, _ranks(given)[::-1], _down)


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Each times their number over its rank (Benjamini & Hochberg 1995).

    Args:
        p: Numbers from 0 to 1.

    Returns:
        As many adjusted p, at most 1, in the same order.

    Raises:
        UsageError: One is no number from 0 to 1.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    given = _checked(p)
    return _step(given, len(given) / _ranks(given), _down)


def benjamini_yekutieli(p: ArrayLike) -> Floats:
    """As Benjamini & Hochberg, times 1 + 1/2 + … + 1/m (Benjamini & Yekutieli 2001).

    Args:
        p: Numbers from 0 to 1.

    Returns:
        As many adjusted p, at most 1, in the same order.

    Raises:
        UsageError: One is no number from 0 to 1.
    """
    given = _checked(p)
    ranks = _ranks(given)
    return _step(given, len(given) / ranks * np.sum(1 / ranks), _down)


def max_t(observed: ArrayLike, resampled: ArrayLike, tolerance: ArrayLike = 0.0) -> Floats:
    """Adjusted p from resamples that all hypotheses share (Westfall & Young 1993, step-down).

    Each statistic is divided by its root mean square over the resamples, so that no metric drowns another. From the
    largest down, each is then compared with the largest of those not yet passed, in the same resample.

    Args:
        observed: m statistics that are 0 where nothing differs.
        resampled: B × m: the same under the hypothesis that nothing differs, from one and the same resamples. NaN
            counts as extreme.
        tolerance: By how much, at most, a resampled statistic may fall short and still be a tie; one, or m.

    Returns:
        m adjusted p, in the order of `observed`.

    Raises:
        UsageError: The shapes do not fit, or an observed statistic is undefined.

    >>> max_t([3.0, 1.0], [[1, 1], [-1, 1], [1, -1], [-1, -1]]).tolist()
    [0.2, 1.0]
    """
    given, drawn = np.abs(np.asarray(observed, np.float64)), np.abs(np.asarray(resampled, np.float64))
    if given.ndim != 1 or drawn.ndim != 2 or drawn.shape[1] != len(given):
        raise UsageError(f"statistics of shape {given.shape} have no resamples of shape {drawn.shape}")
    if np.isnan(given).any():
        raise UsageError("an undefined statistic has no p", hint="leave it out")
    if not len(given):
        return given
    undefined = np.isnan(drawn)
    scale = np.sqrt(np.sum(np.where(undefined, 0, drawn) ** 2, axis=0) / np.maximum((~undefined).sum(axis=0), 1))
    scale[scale == 0] = 1  # no resample differs: neither does what is observed, or nothing is as extreme
    tied = (given - tolerance) / scale
    extreme = np.where(undefined, np.inf, drawn / scale)
    order = np.argsort(-given / scale)
    # The largest among a hypothesis and all after it.
    largest = np.maximum.accumulate(extreme[:, order][:, ::-1], axis=1)[:, ::-1]
    reached = (largest >= tied[order]).sum(axis=0)
    adjusted = np.empty(len(given))
    adjusted[order] = np.maximum.accumulate((1 + reached) / (1 + len(drawn)))
    return adjusted


def _checked(p: ArrayLike) -> Floats:
    given = np.asarray(p, np.float64)
    if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
        raise UsageError("p are a list of numbers from 0 to 1", hint="leave undefined ones out")
    return given


def _ranks(given: Floats) -> Floats:
    return np.arange(1.0, len(given) + 1)


def _up(products: Floats) -> Floats:
    """The largest of each and those before it."""
    return np.maximum.accumulate(products)


def _down(products: Floats) -> Floats:
    """The smallest of each and those after it."""
    return np.minimum.accumulate(products[::-1])[::-1]


def _step(given: Floats, factors: Floats, ordered: Callable[[Floats], Floats]) -> Floats:
    """The p, from the smallest to the largest, times their factors, put in order and back in their places."""
    order = np.argsort(given)
    adjusted = np.empty(len(given))
    adjusted[order] = np.minimum(ordered(given[order] * factors), 1)
    return adjusted
