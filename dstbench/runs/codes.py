"""Dictionary codes: the numbers by which Polars stores the strings of dictionary columns, as NumPy arrays.

Conventions: codes are those of Polars' global dictionary: equal strings have equal codes in all columns and tables of a
process, but not in another process.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dstbench.arrays import Codes

# Polars drops the dictionary, and its codes, when no column uses it any more; this column keeps it alive.
_KEPT: Final = pl.Series([""], dtype=pl.Categorical)
#: The code of null: a slot or value that is not in a state.
ABSENT: Final = 2**32 - 1


def codes(column: pl.Series) -> Codes:
    """The codes of a dictionary column; `ABSENT` for null."""
    return all_codes(column.to_frame())[0]


def all_codes(columns: pl.DataFrame) -> list[Codes]:
    """The codes of several dictionary columns, in one query, as starting a query costs more than its work."""
    return [column.to_numpy() for column in columns.select_seq(pl.all().to_physical().fill_null(ABSENT))]


def to_codes(strings: list[str]) -> Codes:
    """The codes of strings."""
    return codes(pl.Series(strings, dtype=pl.Categorical))


def to_column(column: Codes) -> pl.Series:
    """The codes as a dictionary column; null for `ABSENT`."""
    numbers = pl.Series(column, dtype=pl.UInt32)
    return numbers.set(numbers == ABSENT, None).cat.to(pl.Categorical)


def to_strings(column: Codes) -> list[str]:
    """The strings of codes, of which none is `ABSENT`."""
    strings: list[str] = to_column(column).cast(pl.String).to_list()
    return strings


def distinct(column: Codes) -> Codes:
    """The distinct codes of a column, ascending, without `ABSENT`."""
    # Codes are small numbers, so counting is faster than sorting; `ABSENT` + 1 is 0.
    return np.flatnonzero(np.bincount(column + np.uint32(1))[1:]).astype(np.uint32)


class PerCode:
    """Results of a function of strings, computed once per code of the process; safe in several threads.

    Args:
        function: Takes strings (String), returns an array of their length.
        absent: The result for `ABSENT`.
    """

    def __init__(self, function: Callable[[pl.Series], NDArray[Any]], absent: Any) -> None:
        self._function = function
        self._results: NDArray[Any] = np.array([absent])  # for all codes so far; the last is for `ABSENT`
        self._lock = Lock()

    def of(self, column: Codes) -> NDArray[Any]:
        """The results for these codes."""
        return self.up_to(column).take(column, mode="clip")

    def up_to(self, column: Codes) -> NDArray[Any]:
        """The results for all codes up to the largest of these, or beyond; the last is for `ABSENT`."""
        largest = int((column + np.uint32(1)).max(initial=0)) - 1  # `ABSENT` becomes 0, then −1
        results = self._results
        if largest < len(results) - 1:
            return results
        with self._lock:
            results = self._results  # another thread may have added to them
            new = np.arange(len(results) - 1, largest + 1, dtype=np.uint32)
            if len(new):
                added = self._function(pl.Series(to_strings(new), dtype=pl.String))
                self._results = np.concatenate([results[:-1], added, results[-1:]])
            return self._results
