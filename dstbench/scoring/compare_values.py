"""Values under a convention: what becomes of a value in the file, and whether gold and prediction match.

All of this works on dictionary codes. A function of strings is called once per distinct (slot, value), or per distinct
(slot, gold, prediction) where it says whether two values match; its results are kept (`Lookup`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dstbench.arrays import Codes, Flags, Floats, Integers
from dstbench.conventions.convention import Convention, absent_literals
from dstbench.conventions.normalise import alternatives, is_dontcare, normaliser
from dstbench.runs.codes import ABSENT, codes, to_codes, to_column

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Numbers below this are ranked in an array with an element for each number; larger ones are sorted.
_RANKED_IN_ARRAY: Final = 2**20
# The most results that a `Lookup` keeps, at some 200 bytes each; when there are more, it drops the older ones.
_MOST_RESULTS: Final = 2**21


@dataclass(frozen=True)
class Compared:
    """Rows of a long table under a convention: one element per row in each array."""

    gold: Codes  # `ABSENT` where the slot is not in the state
    pred: Codes
    ok: Flags  # whether gold and prediction match: both are in the state, and the matcher accepts them
    gold_listed: Flags  # whether gold lists the slot at all, even with a value that means "not in the state"
    pred_listed: Flags
    ignored: Flags  # whether a predicted value is not scored: of its slot or domain, or by gold's dontcare
    dropped: Flags | None = None  # whether a gold value is dropped because its slot is not scored; None: no value is


class Comparison:
    """Compares values under a convention, and caches its lookups; several threads may share it."""

    def __init__(self, convention: Convention) -> None:
        self.convention = c = convention
        values = lru_cache(_Values)  # so that sides with the same rules share their lookups
        self._gold = values(c, c.gold_steps, absent_literals(c, "gold"), dontcare=c.dontcare in ("drop", "drop-gold"))
        self._pred = values(c, c.pred_steps, absent_literals(c, "pred"), dontcare=c.dontcare in ("drop", "drop-pred"))
        self._gold_but_dontcare = values(c, c.gold_steps, frozenset(), dontcare=True)
        self._scope = None if c.scope is None else np.sort(to_codes(sorted(c.scope)))
        matcher = c.matcher
        self._accepts = Lookup(matcher.accepts, np.bool_)
        self._similarity = Lookup(matcher.similarity, np.float64)
        self._differ_before_hyphen = Lookup(_differ_before_hyphen, np.bool_)

    def compare(self, slot: Codes, gold: Codes, pred: Codes) -> Compared:
        """The values of rows under the convention; rows are given by their codes.

        A row without a slot marks a turn without a prediction: under any convention it is a wrong prediction.
        """
        c = self.convention
        g, p = self._gold.of(slot, gold), self._pred.of(slot, pred)
        bare = slot == ABSENT
        np.copyto(p, pred, where=bare)
        predicted = p != ABSENT
        gold_listed, pred_listed, dropped = gold != ABSENT, pred != ABSENT, None
        if self._scope is not None:
            inside = np.isin(slot, self._scope) | bare
            if c.outside == "scored":
                inside |= g != ABSENT
            else:
                dropped = ~inside & (g != ABSENT)
            g[~inside] = p[~inside] = ABSENT
            gold_listed &= inside
            pred_listed &= inside
        if c.dontcare == "skip":
            skipped = (self._gold_but_dontcare.of(slot, gold) == ABSENT) & (gold != ABSENT)
            g[skipped] = p[skipped] = ABSENT
        if c.over == "free":
            p[(g == ABSENT) & ~bare] = ABSENT
        ignored = predicted & (p == ABSENT)
        return Compared(g, p, self.match(slot, g, p), gold_listed, pred_listed, ignored, dropped)

    def match(self, slot: Codes, g: Codes, p: Codes) -> Flags:
        """Whether gold matches prediction: both are in the state, and equal or accepted."""
        ok: Flags = (g == p) & (g != ABSENT)
        if self.convention.is_fuzzy or self.convention.multi != "literal":
            differ = np.flatnonzero((g != p) & (g != ABSENT) & (p != ABSENT))
            ok[differ] = self._accepts.of(slot[differ], g[differ], p[differ])
        return ok

    def similarity(self, slot: Codes, g: Codes, p: Codes) -> Floats:
        """Similarity of prediction to gold, from 0 to 1; both are in the state."""
        similarity = np.ones(len(g))
        differ = np.flatnonzero(g != p)
        similarity[differ] = self._similarity.of(slot[differ], g[differ], p[differ])
        return similarity

    def charged_again(self, g: Codes, p: Codes, ok: Flags) -> Flags:
        """Wrong values that slot accuracy counts as two errors."""
        wrong: Flags = (g != ABSENT) & (p != ABSENT) & ~ok
        if self.convention.wrong_costs == "hyphen":
            at = np.flatnonzero(wrong)
            wrong[at] = self._differ_before_hyphen.of(g[at], p[at])
        return wrong


@lru_cache(maxsize=64)
def comparison(convention: Convention) -> Comparison:
    """The comparison under a convention, shared by all calls so that lookups are kept."""
    return Comparison(convention)


def _differ_before_hyphen(gold: str, pred: str) -> bool:
    """Whether scripts that split ``slot-value`` at the last hyphen take two values for values of different slots."""
    return gold.rpartition("-")[0] != pred.rpartition("-")[0]


class _Values:
    """Turns the values of one side, as written, into values under a convention.

    Args:
        convention: The convention.
        steps: The steps that normalise this side.
        absent: The literals that mean "not in the state".
        dontcare: Whether dontcare is dropped.
    """

    def __init__(
        self, convention: Convention, steps: tuple[str, ...], absent: frozenset[str], *, dontcare: bool
    ) -> None:
        normalise = normaliser(steps, convention.typos) if steps else None

        def become(slot: str | None, value: str | None) -> str | None:
            if slot is None or value is None:
                return None
            if normalise is not None:
                value = normalise(slot, value)
            is_dropped = value in absent or (dontcare and any(map(is_dontcare, alternatives(value))))
            return None if is_dropped else value

        self._becomes = Lookup(become, str)
        self._is_verbatim = not steps and not dontcare
        self._absent = to_codes(sorted(absent))

    def of(self, slot: Codes, verbatim: Codes) -> Codes:
        """The codes of the values under the convention, as a new array."""
        if not self._is_verbatim:
            return self._becomes.of(slot, verbatim)
        values = verbatim.copy()
        for literal in self._absent:  # in all slots alike
            np.copyto(values, ABSENT, where=verbatim == literal)
        return values


class Lookup:
    """Applies a function of strings to columns of codes, and caches its results; several threads may share it.

    Args:
        function: From strings (None for `ABSENT`) to a result.
        dtype: The results' type; ``str``: strings or None, which become codes.

    >>> from dstbench.runs.codes import to_codes
    >>> lengths = Lookup(lambda slot, value: len(slot) + len(value), np.int64)
    >>> lengths.of(to_codes(["area", "stars", "area"]), to_codes(["north", "4", "north"]))
    array([9, 6, 9])
    """

    def __init__(self, function: Callable[..., Any], dtype: type) -> None:
        self._function, self._dtype = function, dtype
        self._results: dict[tuple[int, ...], Any] = {}

    def of(self, *columns: Codes) -> NDArray[Any]:
        """For each row of the columns: the function's result."""
        ranks = [_rank((column + np.uint32(1)).astype(np.int64)) for column in columns]  # `ABSENT` becomes 0
        combination, size = ranks[0]
        for rank, distinct in ranks[1:]:
            combination, size = _rank(combination * distinct + rank)
        example = np.empty(size, np.int64)  # for each combination: a row that has it
        example[combination] = np.arange(len(combination))
        keys = list(zip(*(column[example].tolist() for column in columns), strict=True))
        results = list(map(self._results.get, keys))
        if None in results:
            new = [key for key, result in zip(keys, results, strict=True) if result is None]
            strings = to_column(np.array(new, np.uint32).ravel()).to_list()  # all columns in one query, row by row
            values = list(map(self._function, *(strings[at :: len(columns)] for at in range(len(columns)))))
            if self._dtype is str:
                values = codes(pl.Series(values, dtype=pl.Categorical)).tolist()
            new_results = dict(zip(new, values, strict=True))
            if len(self._results) + len(new_results) > _MOST_RESULTS:
                self._results = {}
            self._results.update(new_results)
            results = [
                new_results[key] if result is None else result for key, result in zip(keys, results, strict=True)
            ]
        return np.array(results, np.uint32 if self._dtype is str else self._dtype)[combination]


def _rank(numbers: Integers) -> tuple[Integers, int]:
    """The rank of each number among the distinct ones, from 0, and how many distinct ones there are.

    >>> _rank(np.array([7, 3, 7]))
    (array([1, 0, 1]), 2)
    """
    most = int(numbers.max(initial=0))
    if most >= _RANKED_IN_ARRAY:
        distinct, rank = np.unique(numbers, return_inverse=True)
        return rank, len(distinct)
    occurs = np.zeros(most + 1, np.bool_)
    occurs[numbers] = True
    rank_of = np.cumsum(occurs) - 1
    return rank_of.take(numbers), int(rank_of[-1]) + 1
