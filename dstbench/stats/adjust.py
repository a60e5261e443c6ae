"""p of several hypotheses, adjusted for their number.

Conventions: compare adjusted p with the level directly. Bonferroni's and Holm's bound the chance of even one false
rejection under any dependence (Holm's is never weaker), Hochberg's under positive dependence. Benjamini & Hochberg's
bound the share of false rejections, Benjamini & Yekutieli's under any dependence. `max_t` bounds the same chance as
Holm's, and is sharper as it uses the dependence: it needs resamples that all hypotheses share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dstbench.arrays import Floats
from dstbench.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _documented(adjust: Callable[[ArrayLike], Floats]) -> Callable[[ArrayLike], Floats]:
    """Add to a docstring what is the same of all adjustments."""
    adjust.__doc__ = f"""{adjust.__doc__}

    Args:
        p: Numbers from 0 to 1.

    Returns:
        As many adjusted p, at most 1, in the same order.

    Raises:
        UsageError: One is no number from 0 to 1.
    """
    return adjust


@_documented
def bonferroni(p: ArrayLike) -> Floats:
    """Each p times their number.

    >>> bonferroni([0.01, 0.04, 0.5]).tolist()
    [0.03, 0.12, 1.0]
    """
    return _step_down(p, np.full_like)


@_documented
def holm(p: ArrayLike) -> Floats:
    """From the smallest up, each p times the number of those that are left (Holm 1979).

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    return _step_down(p, lambda rank, number: number + 1 - rank)


@_documented
def hochberg(p: ArrayLike) -> Floats:
    """As Holm's, but from the largest down (Hochberg 1988).

    >>> hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    return _step_up(p, lambda rank, number: number + 1 - rank)


@_documented
def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Each p times their number over its rank (Benjamini & Hochberg 1995).

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    return _step_up(p, lambda rank, number: number / rank)


@_documented
def benjamini_yekutieli(p: ArrayLike) -> Floats:
    """As Benjamini & Hochberg's, times 1 + 1/2 + … + 1/m (Benjamini & Yekutieli 2001)."""
    return _step_up(p, lambda rank, number: number / rank * np.sum(1 / rank))


def max_t(observed: ArrayLike, resampled: ArrayLike, tolerance: ArrayLike = 0.0) -> Floats:
    """Adjusted p from resamples that all hypotheses share (Westfall & Young 1993, step-down).

    Each statistic is divided by its root mean square over the resamples, so that no metric dominates. From the largest
    down, each is then compared, resample by resample, with the largest of itself and those after it.

    Args:
        observed: m statistics that are 0 where nothing differs.
        resampled: B × m: the same from B resamples in which nothing differs but by chance. NaN counts as extreme.
        tolerance: A resampled statistic that falls short by no more than this is a tie; one number, or m.

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
    scale[scale == 0] = 1  # no resample differs from 0
    tied = (given - tolerance) / scale
    extreme = np.where(undefined, np.inf, drawn / scale)
    order = np.argsort(-given / scale)
    # Of each resample, the largest among a hypothesis and all after it: [3, 1, 2] -> [3, 2, 2].
    largest = np.maximum.accumulate(extreme[:, order][:, ::-1], axis=1)[:, ::-1]
    reached = (largest >= tied[order]).sum(axis=0)
    adjusted = np.empty(len(given))
    adjusted[order] = np.maximum.accumulate((1 + reached) / (1 + len(drawn)))
    return adjusted


def _step_down(p: ArrayLike, factors: Callable[[Floats, int], Floats]) -> Floats:
    """The p times their factors, none below that of a smaller p."""
    return _adjusted(p, factors, np.maximum.accumulate)


def _step_up(p: ArrayLike, factors: Callable[[Floats, int], Floats]) -> Floats:
    """The p times their factors, none above that of a larger p."""
    return _adjusted(p, factors, lambda products: np.minimum.accumulate(products[::-1])[::-1])


def _adjusted(p: ArrayLike, factors: Callable[[Floats, int], Floats], monotone: Callable[[Floats], Floats]) -> Floats:
    """The p in increasing order, times their factors (of their ranks and number), and put back in their places."""
    values = np.asarray(p, np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise UsageError("p are a list of numbers from 0 to 1", hint="leave undefined ones out")
    order = np.argsort(values)
    products = values[order] * factors(np.arange(1.0, len(values) + 1), len(values))
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(monotone(products), 1)
    return adjusted
