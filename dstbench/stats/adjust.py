"""p-values ("p") of several hypotheses, adjusted for the number of hypotheses.

Compare adjusted p with the significance level directly. Bonferroni's and Holm's adjustments bound the probability of
even one false rejection under any dependence (Holm's is never weaker), Hochberg's under positive dependence. Benjamini
& Hochberg's bounds the expected share of false rejections under positive dependence, Benjamini & Yekutieli's under any.
`max_t` bounds the same probability as Holm's, and has more power because it uses the dependence between hypotheses; it
needs resamples that all hypotheses share.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import TYPE_CHECKING

import numpy as np

from dstbench.arrays import Floats
from dstbench.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _documented(adjust: Callable[[ArrayLike], Floats]) -> Callable[[ArrayLike], Floats]:
    """Add the sections to a docstring that are the same for all adjustments."""
    adjust.__doc__ = f"""{cleandoc(adjust.__doc__ or "")}

Args:
    p: Numbers from 0 to 1, one per hypothesis.

Returns:
    The adjusted p, at most 1, in the same order.

Raises:
    UsageError: A p is not a number from 0 to 1.
"""
    return adjust


@_documented
def bonferroni(p: ArrayLike) -> Floats:
    """Multiply each p by the number of hypotheses.

    >>> bonferroni([0.01, 0.04, 0.5]).tolist()
    [0.03, 0.12, 1.0]
    """
    return _step_down(p, np.full_like)


@_documented
def holm(p: ArrayLike) -> Floats:
    """From the smallest p up, multiply each by the number of hypotheses that are left (Holm 1979).

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    return _step_down(p, lambda rank, number: number + 1 - rank)


@_documented
def hochberg(p: ArrayLike) -> Floats:
    """As `holm`, but from the largest p down (Hochberg 1988).

    >>> hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    return _step_up(p, lambda rank, number: number + 1 - rank)


@_documented
def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Multiply each p by the number of hypotheses and divide it by its rank (Benjamini & Hochberg 1995).

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    return _step_up(p, lambda rank, number: number / rank)


@_documented
def benjamini_yekutieli(p: ArrayLike) -> Floats:
    """As `benjamini_hochberg`, times 1 + 1/2 + … + 1/m for m hypotheses (Benjamini & Yekutieli 2001)."""
    return _step_up(p, lambda rank, number: number / rank * np.sum(1 / rank))


def max_t(observed: ArrayLike, resampled: ArrayLike, tolerance: ArrayLike = 0.0) -> Floats:
    """Adjusted p from resamples that all hypotheses share (Westfall & Young 1993, step-down).

    Each statistic is divided by its root mean square over the resamples, so that no metric dominates. Then, from the
    largest observed statistic down, each is compared, in every resample, with the largest of itself and those after it.

    Args:
        observed: m statistics, each 0 if nothing differs.
        resampled: B × m: the same statistics in B resamples in which differences are due to chance. NaN counts as
            extreme.
        tolerance: A resampled statistic that falls short of the observed one by no more than this counts as a tie; one
            number, or m.

    Returns:
        m adjusted p, in the order of `observed`.

    Raises:
        UsageError: The shapes do not fit, or an observed statistic is undefined.

    >>> max_t([3.0, 1.0], [[1, 1], [-1, 1], [1, -1], [-1, -1]]).tolist()
    [0.2, 1.0]
    """
    sizes, drawn = np.abs(np.asarray(observed, np.float64)), np.abs(np.asarray(resampled, np.float64))
    if sizes.ndim != 1 or drawn.ndim != 2 or drawn.shape[1] != len(sizes):
        raise UsageError(f"statistics of shape {sizes.shape} have no resamples of shape {drawn.shape}")
    if np.isnan(sizes).any():
        raise UsageError("an undefined statistic has no p", hint="leave it out")
    if not len(sizes):
        return sizes
    undefined = np.isnan(drawn)
    scale = np.sqrt(np.sum(np.where(undefined, 0, drawn) ** 2, axis=0) / np.maximum((~undefined).sum(axis=0), 1))
    scale[scale == 0] = 1  # no resample differs from 0
    tied = (sizes - tolerance) / scale  # the least size with which a resampled statistic counts as as large
    extreme = np.where(undefined, np.inf, drawn / scale)
    order = np.argsort(-sizes / scale)
    # In each resample, for each hypothesis, the largest among it and all after it: [3, 1, 2] -> [3, 2, 2].
    largest = np.maximum.accumulate(extreme[:, order][:, ::-1], axis=1)[:, ::-1]
    reached = (largest >= tied[order]).sum(axis=0)
    adjusted = np.empty(len(sizes))
    adjusted[order] = np.maximum.accumulate((1 + reached) / (1 + len(drawn)))
    return adjusted


def _step_down(p: ArrayLike, factors: Callable[[Floats, int], Floats]) -> Floats:
    """Multiply the p by factors; then raise each to the product of any smaller p, if that is larger."""
    return _adjusted(p, factors, np.maximum.accumulate)


def _step_up(p: ArrayLike, factors: Callable[[Floats, int], Floats]) -> Floats:
    """Multiply the p by factors; then lower each to the product of any larger p, if that is smaller."""
    return _adjusted(p, factors, lambda products: np.minimum.accumulate(products[::-1])[::-1])


def _adjusted(p: ArrayLike, factors: Callable[[Floats, int], Floats], monotone: Callable[[Floats], Floats]) -> Floats:
    """Sort the p, multiply them by factors (from their ranks and number), make them monotone, restore their order."""
    values = np.asarray(p, np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise UsageError("p are a list of numbers from 0 to 1", hint="leave undefined ones out")
    order = np.argsort(values)
    products = values[order] * factors(np.arange(1.0, len(values) + 1), len(values))
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(monotone(products), 1)
    return adjusted
