"""Dictionary codes: numbers in place of the strings of dictionary columns, to be worked on as arrays.

Conventions: codes are those of Polars' global dictionary, so that equal strings have equal codes in all columns and
tables of a process; they mean nothing in another one.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dstbench.arrays import Codes


# The dictionary is forgotten with the last column that uses it, and codes with it: this one keeps it.
_KEPT: Final = pl.Series([""], dtype=pl.Categorical)
#: The code of what is not in a state.
ABSENT: Final = 2**32 - 1


def codes(column: pl.Series) -> Codes:
    """The codes of a dictionary column; `ABSENT` for null. Equal strings have equal codes in all columns."""
    return all_codes(column.to_frame())[0]


def all_codes(columns: pl.DataFrame) -> list[Codes]:
    """The codes of dictionary columns: at once, as asking costs more than the answer."""
    physical = columns.select_seq(pl.all().to_physical().fill_null(ABSENT))
    return [column.to_numpy() for column in physical]


def to_codes(strings: list[str]) -> Codes:
    """The codes of strings."""
    return codes(pl.Series(strings, dtype=pl.Categorical))


def to_column(column: Codes) -> pl.Series:
    """The dictionary column of codes; null for `ABSENT`."""
    numbers = pl.Series(column, dtype=pl.UInt32)
    return numbers.set(numbers == ABSENT, None).cat.to(pl.Categorical)


def to_strings(column: Codes) -> list[str]:
    """The strings of codes, none of them `ABSENT`."""
    strings: list[str] = to_column(column).cast(pl.String).to_list()
    return strings


def distinct(column: Codes) -> Codes:
    """The distinct codes of a column but `ABSENT`, ascending; codes are small numbers, so that nothing is sorted."""
    return np.flatnonzero(np.bincount(column + np.uint32(1))[1:]).astype(np.uint32)  # `ABSENT` becomes 0


class PerCode:
    """What a function gives for each code's string, asked once per code of the process; safe in several threads.

    Args:
        function: From strings (String) to an array of their length.
        absent: What `ABSENT` has.
    """

    def __init__(self, function: Callable[[pl.Series], NDArray[Any]], absent: Any) -> None:
        self._function = function
        self._found: NDArray[Any] = np.array([absent])  # of all codes so far, and at the end of `ABSENT`
        self._lock = Lock()

    def of(self, column: Codes) -> NDArray[Any]:
        """What is known of these codes."""
        return self.up_to(column).take(column, mode="clip")

    def up_to(self, column: Codes) -> NDArray[Any]:
        """What is known of all codes, at least up to the largest of these; and at the end of `ABSENT`."""
        most = int((column + np.uint32(1)).max(initial=0)) - 1  # `ABSENT` becomes 0, then −1
        found = self._found
        return found if most < len(found) - 1 else self._learn(most)

    def _learn(self, most: int) -> NDArray[Any]:
        with self._lock:
            found = self._found
            new = np.arange(len(found) - 1, most + 1, dtype=np.uint32)
            if len(new):
                learnt = self._function(pl.Series(to_strings(new), dtype=pl.String))
                self._found = np.concatenate([found[:-1], learnt, found[-1:]])
            return self._found
