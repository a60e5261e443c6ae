"""Functions of strings over columns of codes: called once per distinct combination, looked up from then on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dstbench.runs.codes import to_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from dstbench.arrays import Codes, Integers, Numbers

# Numbers below this are ranked in an array with a place for each; larger ones are sorted.
_PLACES: Final = 2**20
# Results that are kept (some 200 bytes each); a larger memory of them is forgotten at once.
_MOST: Final = 2**21


class Lookup:
    """A function of strings with its results so far; safe to use from several threads.

    Args:
        function: From combinations of strings (None for `ABSENT`) to their results, in the same order.
        dtype: The results' type.

    >>> from dstbench.runs.codes import to_codes
    >>> lengths = Lookup(lambda pairs: [len(slot) + len(value) for slot, value in pairs], np.int64)
    >>> lengths.of(to_codes(["area", "stars", "area"]), to_codes(["north", "4", "north"]))
    array([9, 6, 9])
    """

    def __init__(self, function: Callable[[list[tuple[Any, ...]]], Iterable[Any]], dtype: type) -> None:
        self._function, self._dtype = function, dtype
        self._results: dict[tuple[int, ...], Any] = {}

    def of(self, *columns: Codes) -> NDArray[Any]:
        """The result for each row of columns of codes."""
        combination, size = _rank(columns[0])
        for column in columns[1:]:
            rank, distinct = _rank(column)
            combination, size = _rank(combination * distinct + rank)
        example = np.empty(size, np.int64)  # of each combination: one row that has it
        example[combination] = np.arange(len(combination))
        keys = list(zip(*(column[example].tolist() for column in columns), strict=True))
        results = list(map(self._results.get, keys))
        if None in results:
            new = [key for key, result in zip(keys, results, strict=True) if result is None]
            strings = (to_column(codes).to_list() for codes in np.array(new, np.uint32).T)
            learnt = dict(zip(new, self._function(list(zip(*strings, strict=True))), strict=True))
            if len(self._results) + len(learnt) > _MOST:
                self._results = {}
            self._results.update(learnt)
            results = [learnt[key] if result is None else result for key, result in zip(keys, results, strict=True)]
        return np.array(results, self._dtype)[combination]


def _rank(numbers: Numbers) -> tuple[Integers, int]:
    """The rank of each number among the distinct ones, from 0, and how many distinct ones there are.

    >>> _rank(np.array([7, 3, 7]))
    (array([1, 0, 1]), 2)
    """
    most = int(numbers.max(initial=0))
    if most >= _PLACES:
        distinct, rank = np.unique(numbers, return_inverse=True)
        return rank, len(distinct)
    occurs = np.zeros(most + 1, np.bool_)
    occurs[numbers] = True
    rank_of = np.cumsum(occurs) - 1
    return rank_of[numbers], int(occurs.sum())
