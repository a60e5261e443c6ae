"""Random draws: dialogues with replacement, and dialogues in which two runs are swapped.

The unit is the dialogue, never the turn: a tracker's errors persist, so the turns of a dialogue are not independent.

A resample is a row of counts, one per dialogue; its sums are this row times the sums per dialogue. All sums are
multiples of a power of two, small enough for every partial sum to be a double without rounding. So the matrix product
has the same bits in any order of addition, on any number of threads. Rows are drawn one after another from one stream
per random seed, and the number of rows that are drawn at a time does not change them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from math import frexp
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dstbench.arrays import Floats, Integers
from dstbench.errors import UsageError

#: From sums (B × k) to scores (B); NaN where undefined.
Score: TypeAlias = Callable[[Floats], Floats]

_LOG: Final = logging.getLogger(__name__)
# Bytes of a block of draws; while it is drawn, three arrays of this size exist, which fit the processor's cache.
_BLOCK: Final = 2**21
# A double holds all integers of up to this many bits.
_BITS: Final = 53
# The numbers of a seed's streams: one for each thing that is drawn.
_DIALOGUES, _SWAPS, _ORDERS = range(3)


def as_exact_floats(sums: ArrayLike) -> Floats:
    """Sums as doubles that resampling can add up without rounding.

    Sums of counts are returned as they are. Sums of ratios can have too many digits (down to 2⁻⁶²). Then each statistic
    is rounded to multiples of a power of two; with D dialogues, this changes sums by less than D · 2⁻⁵¹ of the largest
    sum (2·10⁻¹¹ for 50,000 dialogues).

    Args:
        sums: Runs × dialogues × statistics.

    Returns:
        The sums in the same shape.

    Raises:
        UsageError: The sums have another shape, there are fewer than two dialogues, or a sum is undefined.

    >>> as_exact_floats([[[3.0, 2.0**62 + 2**20], [5.0, 2.0**60]]]).tolist() == [[[3, 2**62 + 2**20], [5, 2**60]]]
    True
    """
    exact = _shaped(sums)
    unit = _unit(exact, spare=1)
    return np.rint(exact / unit) * unit


def checked(sums: ArrayLike) -> Floats:
    """The sums, if they can be added up without rounding."""
    exact = _shaped(sums)
    parts = exact / _unit(exact)
    if (parts != np.rint(parts)).any():
        raise UsageError("the sums cannot be added up without rounding", hint="pass them through as_exact_floats")
    return exact


def _shaped(sums: ArrayLike) -> Floats:
    array = np.asarray(sums, np.float64)
    if array.ndim != 3 or array.shape[1] < 2:
        raise UsageError(
            f"sums of shape {array.shape} cannot be resampled",
            hint="runs by dialogues by statistics, with at least two dialogues",
        )
    if not np.isfinite(array).all():
        raise UsageError("an undefined sum cannot be resampled", hint="where a score is undefined, its sums are 0")
    return array


def _unit(sums: Floats, spare: int = 0) -> Floats:
    """For each statistic, a power of two: a sum of its multiples over all dialogues is an exact double."""
    bounds = np.abs(sums).max(axis=(0, 1), initial=0) * sums.shape[1]
    return np.array([2.0 ** (max(frexp(bound)[1] - _BITS + spare, -1022)) for bound in bounds])


def weights(dialogues: int, resamples: int, seed: int = 0) -> Iterator[Floats]:
    """Draw as many dialogues as there are, with replacement, for each resample; count how often each is drawn.

    Args:
        dialogues: The number of dialogues.
        resamples: The number of resamples.
        seed: Random seed; 0 or more.

    Yields:
        Blocks of counts, resamples × dialogues; each row adds up to `dialogues`.

    Raises:
        UsageError: There is no dialogue or no resample, or the seed is negative.

    >>> [block.sum(axis=1).tolist() for block in weights(5, 3)]
    [[5.0, 5.0, 5.0]]
    """
    rng = _stream(seed, _DIALOGUES)
    for rows in _blocks(dialogues, resamples):
        drawn = rng.integers(dialogues, size=(rows, dialogues))
        drawn += np.arange(0, rows * dialogues, dialogues)[:, np.newaxis]
        yield np.bincount(drawn.ravel(), minlength=rows * dialogues).reshape(rows, dialogues).astype(np.float64)


def swaps(dialogues: int, resamples: int, seed: int = 0) -> Iterator[Floats]:
    """Toss a coin for each dialogue in each resample, which decides whether the dialogue is swapped.

    Args:
        dialogues: The number of dialogues.
        resamples: The number of resamples.
        seed: Random seed; 0 or more.

    Yields:
        Blocks of 1 (swapped) and 0, resamples × dialogues.

    Raises:
        UsageError: There is no dialogue or no resample, or the seed is negative.

    >>> {float(coin) for block in swaps(5, 30) for coin in block.ravel()} == {0.0, 1.0}
    True
    """
    rng = _stream(seed, _SWAPS)
    for rows in _blocks(dialogues, resamples):
        drawn = rng.integers(2**64, size=(rows, -(-dialogues // 64)), dtype=np.uint64)
        bits = np.unpackbits(drawn.astype("<u8").view(np.uint8), axis=1, count=dialogues)
        yield bits.astype(np.float64)


def shuffles(dialogues: int, draws: int, seed: int = 0) -> Iterator[Integers]:
    """Put the dialogues in a random order in each draw, so that the first n of it are a random sample of n.

    Yields:
        Blocks of each dialogue's place in the order, from 0: draws × dialogues.
    """
    rng = _stream(seed, _ORDERS)
    for rows in _blocks(dialogues, draws):
        places = np.tile(np.arange(dialogues), (rows, 1))
        yield rng.permuted(places, axis=1, out=places)


def multiply(blocks: Iterable[Floats], sums: Floats, resamples: int) -> Floats:
    """Blocks of draws times the sums: resamples × runs × statistics."""
    runs, dialogues, statistics = sums.shape
    columns = np.ascontiguousarray(sums.transpose(1, 0, 2)).reshape(dialogues, runs * statistics)
    totals, at = np.empty((resamples, runs * statistics)), 0
    for block in blocks:
        np.matmul(block, columns, out=totals[at : at + len(block)])
        at += len(block)
    return totals.reshape(resamples, runs, statistics)


def scores_of(score: Score, totals: Floats) -> Floats:
    """The scores of sums, whose last axis are statistics; a score that divides by 0 is NaN, without NumPy's warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scores: Floats = score(totals.reshape(-1, totals.shape[-1])).reshape(totals.shape[:-1])
    return scores


def _blocks(dialogues: int, resamples: int) -> Iterator[int]:
    if dialogues < 1 or resamples < 1:
        raise UsageError(f"{resamples} resamples of {dialogues} dialogues cannot be drawn", hint="at least one of each")
    rows = max(1, _BLOCK // (8 * dialogues))
    for start in range(0, resamples, rows):
        _LOG.info("resampling %s dialogues", f"{dialogues:,}", extra={"done": start, "of": resamples})
        yield min(rows, resamples - start)


def _stream(seed: int, which: int) -> np.random.Generator:
    if seed < 0:
        raise UsageError(f"seed {seed} is negative", hint="0 or more")
    return np.random.default_rng([seed, which])
