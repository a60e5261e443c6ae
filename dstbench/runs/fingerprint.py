"""Fingerprints of gold: two datasets have the same fingerprint only if they have the same turns and the same gold.

Conventions: a fingerprint is the sum, modulo 2⁶⁴, of one hash per turn and one per change of a gold value *under a
convention*. So it does not depend on the order of rows, on where a table is cut, or on the predictions. The hash
function is defined here, so that fingerprints are the same with any version of any library.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dstbench.arrays import Codes, Hashes
from dstbench.runs.codes import PerCode

_PRIME: Final = 0x100000001B3
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)


def of_strings(strings: pl.Series) -> Hashes:
    """A hash per string: a polynomial over its UTF-8 bytes, mixed."""
    data = np.frombuffer(strings.str.join().item().encode(), np.uint8)
    length = strings.str.len_bytes().to_numpy().astype(np.int64)
    start = np.cumsum(length) - length
    position = np.arange(len(data)) - np.repeat(start, length)
    powers = np.cumprod(np.full(int(length.max(initial=0)) + 1, _PRIME, np.uint64))  # overflows on purpose
    terms = np.concatenate([(data + np.uint64(1)) * powers[position], np.zeros(1, np.uint64)])
    sums = np.where(length > 0, np.add.reduceat(terms, start), np.uint64(0))
    return _mix(sums)


def of_codes(codes: Codes) -> Hashes:
    """A hash per dictionary code: that of its string; `ABSENT` has one, too."""
    return _HASHES.of(codes)


def of_turns(dialogue: Hashes, turn: NDArray[Any]) -> Hashes:
    """A hash per turn, from its dialogue's hash and its number."""
    return _mix(dialogue + turn.astype(np.uint64) * _ODD)


def of_cells(turn: Hashes, slot: Hashes, value: Hashes) -> Hashes:
    """A hash per cell, from the hashes of its turn, slot and value."""
    return _mix(turn + slot * _ODD ^ value)


def _mix(x: Hashes) -> Hashes:
    """Spread a difference in any bit over all bits (the finaliser of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


_HASHES: Final = PerCode(of_strings, np.uint64(1))
