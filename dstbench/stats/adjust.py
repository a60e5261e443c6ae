"""p-values ("p") of several hypotheses, adjusted for the number of hypotheses; to be compared with the level directly.

Bonferroni's and Holm's adjustments bound the probability of even one false rejection under any dependence, Hochberg's
under positive dependence. Benjamini & Hochberg's bounds the expected share of false rejections under positive
dependence, Benjamini & Yekutieli's under any. `max_t` bounds what Holm's does, with more power.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from functools import cache
from inspect import cleandoc
from typing import TYPE_CHECKING, Final

import numpy as np

from dstbench.arrays import Flags, Floats
from dstbench.errors import UsageError
from dstbench.stats.differences import TIE

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
    return _adjusted(p, np.full_like)


@_documented
def holm(p: ArrayLike) -> Floats:
    """From the smallest p up, multiply each by the number of hypotheses that are left (Holm 1979).

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    return _adjusted(p, lambda rank, number: number + 1 - rank)


@_documented
def hochberg(p: ArrayLike) -> Floats:
    """As `holm`, but from the largest p down (Hochberg 1988).

    >>> hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    return _adjusted(p, lambda rank, number: number + 1 - rank, up=True)


@_documented
def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Multiply each p by the number of hypotheses and divide it by its rank (Benjamini & Hochberg 1995)."""
    return _adjusted(p, lambda rank, number: number / rank, up=True)


@_documented
def benjamini_yekutieli(p: ArrayLike) -> Floats:
    """As `benjamini_hochberg`, times 1 + 1/2 + … + 1/m for m hypotheses (Benjamini & Yekutieli 2001)."""
    return _adjusted(p, lambda rank, number: number / rank * np.sum(1 / rank), up=True)


def max_t(observed: ArrayLike, resampled: ArrayLike, tolerance: ArrayLike = 0.0) -> Floats:
    """Adjusted p from resamples that all hypotheses share (Westfall & Young 1993, step-down).

    Each statistic is divided by its root mean square over the resamples, so that no metric dominates. Then, from the
    largest observed statistic down, each is compared, in every resample, with the largest of itself and those after it.

    Args:
        observed: m statistics, each 0 if nothing differs.
        resampled: B × m: the same in B resamples in which differences are due to chance. NaN counts as extreme.
        tolerance: A resampled statistic that falls short of the observed one by no more is a tie; a number, or m.

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


def _adjusted(p: ArrayLike, factors: Callable[[Floats, int], Floats], *, up: bool = False) -> Floats:
    """Multiply p, from the smallest, by factors of rank and number; make them monotone (`up`: from the largest)."""
    values = np.asarray(p, np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise UsageError("p are a list of numbers from 0 to 1", hint="leave undefined ones out")
    order = np.argsort(values)
    products = values[order] * factors(np.arange(1.0, len(values) + 1), len(values))
    monotone = np.minimum.accumulate(products[::-1])[::-1] if up else np.maximum.accumulate(products)
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(monotone, 1)
    return adjusted


#: The adjustments by their names; the smallest p of `max_t` is that of a single difference, if no resample reaches it.
ADJUSTMENTS: Final[Mapping[str, Callable[[Floats], Floats]]] = {
    "holm": holm, "hochberg": hochberg, "bh": benjamini_hochberg, "by": benjamini_yekutieli, "bonferroni": bonferroni,
    "max-t": lambda p: p, "none": lambda p: p,
}  # fmt: skip


def adjust_defined(p: Floats, adjustment: str) -> Floats:
    """Adjusted p; NaN where p is undefined."""
    adjusted, defined = np.full(len(p), np.nan), ~np.isnan(p)
    adjusted[defined] = ADJUSTMENTS[adjustment](p[defined])
    return adjusted


def smallest_p(bounds: ArrayLike, resamples: ArrayLike) -> Floats:
    """The smallest p with so many resamples, of hypotheses of which no number can give less than their bounds."""
    smallest: Floats = np.maximum(1 / (1 + np.asarray(resamples, np.float64)), np.asarray(bounds, np.float64))
    return smallest


def at_most(p: ArrayLike, alpha: float) -> Flags:
    """Whether p are at most alpha, whatever the last bits: 6 · (1 / 120) is at most 0.05. NaN is not."""
    reached: Flags = np.asarray(p, np.float64) <= alpha * (1 + TIE)
    return reached


def resamples_needed(bounds: ArrayLike, alpha: float, adjust: Callable[[Floats], Floats]) -> list[int | None]:
    """The fewest resamples with which the adjusted p of each hypothesis can reach a level; None: no number will."""
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
