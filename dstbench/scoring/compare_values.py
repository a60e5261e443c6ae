"""A convention at work: verbatim codes to values that can be compared, and whether they match.

Dictionary codes are worked on, never strings: what a value becomes is found once per distinct (slot, value), whether
two values match once per distinct (slot, gold, prediction), and looked up from then on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dstbench.conventions.normalise import alternatives, is_dontcare, normaliser
from dstbench.runs.codes import ABSENT, to_codes, to_strings

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dstbench.arrays import Codes, Flags, Floats, Integers
    from dstbench.conventions.convention import Convention


_UNKNOWN: Final = 2**32 - 2  # not looked up yet
# Places of a table of slots and values (4 bytes each): hundreds of slots with as many values as there are anywhere.
_PLACES: Final = 2**26
# Distinct values that one table of values per slot may hold (4 bytes each).
_DENSE: Final = 2**25


@dataclass(frozen=True)
class Compared:
    """Rows of a long table under a convention; all arrays are of the rows' length.

    Attributes:
        gold: Codes of gold values; `ABSENT` where the slot is not in the state.
        pred: The same of the prediction.
        ok: Whether gold matches prediction: both are in the state, and the matcher accepts them.
        gold_listed: Whether gold lists the slot at all, be it with what means absent.
        pred_listed: The same of the prediction.
        dropped: Whether gold has a value that is dropped, as the slot is outside the slot set; None: none is.
    """

    gold: Codes
    pred: Codes
    ok: Flags
    gold_listed: Flags
    pred_listed: Flags
    dropped: Flags | None = None

    def ignore(self, rows: Flags) -> None:
        """Take what is predicted in these rows, of which gold has nothing, out of the state as if never listed."""
        self.pred[rows] = ABSENT
        self.pred_listed[rows] = False


class Comparison:
    """A convention with all that it has looked up so far; safe to use from several threads."""

    def __init__(self, convention: Convention) -> None:
        self.convention = convention
        c = convention
        keeps_dontcare = c.dontcare in ("keep", "skip")
        self._gold = _Values(
            c, c.gold_steps, none=c.none in ("drop", "drop-gold"), dontcare=keeps_dontcare or c.dontcare == "drop-pred"
        )
        self._pred = _Values(
            c, c.pred_steps, none=c.none in ("drop", "drop-pred"), dontcare=keeps_dontcare or c.dontcare == "drop-gold"
        )
        self._scope = None if c.scope is None else np.sort(to_codes(sorted(c.scope)))
        matcher = c.matcher
        self._accepts = _Pairs(matcher.accepts, np.bool_)
        self._nearness = _Pairs(matcher.similarity, np.float64)
        self._again = _Pairs(lambda _, gold, pred: _hyphened(gold) != _hyphened(pred), np.bool_)
        self._dontcare = _Values(c, c.gold_steps, none=False, dontcare=False)

    def compare(self, slot: Codes, gold: Codes, pred: Codes) -> Compared:
        """Values under the convention, of rows of a long table given as codes.

        A row without a slot (the mark of a turn without a prediction) is a false prediction under any convention.
        """
        c = self.convention
        g, p = self._gold.of(slot, gold), self._pred.of(slot, pred)
        bare = slot == ABSENT
        np.copyto(p, pred, where=bare)
        listed, dropped = (gold != ABSENT, pred != ABSENT), None
        if self._scope is not None:
            inside = np.isin(slot, self._scope) | bare
            if c.outside == "scored":
                inside |= g != ABSENT
            else:
                dropped = ~inside & (g != ABSENT)
            g[~inside] = p[~inside] = ABSENT
            listed = listed[0] & inside, listed[1] & inside
        if c.dontcare == "skip":
            skipped = (self._dontcare.of(slot, gold) == ABSENT) & (gold != ABSENT)
            g[skipped] = p[skipped] = ABSENT
        if c.over == "free":
            p[(g == ABSENT) & ~bare] = ABSENT
        return Compared(g, p, self.match(slot, g, p), *listed, dropped)

    def match(self, slot: Codes, g: Codes, p: Codes) -> Flags:
        """Whether gold matches prediction: both are in the state, and equal or accepted."""
        ok: Flags = (g == p) & (g != ABSENT)
        if self.convention.is_fuzzy or self.convention.multi != "literal":
            differ = np.flatnonzero((g != p) & (g != ABSENT) & (p != ABSENT))
            ok[differ] = self._accepts.of(slot[differ], g[differ], p[differ])
        return ok

    def similarity(self, slot: Codes, g: Codes, p: Codes) -> Floats:
        """How near prediction is to gold, both in the state: from 0 to 1."""
        near = np.ones(len(g))
        differ = np.flatnonzero(g != p)
        near[differ] = self._nearness.of(slot[differ], g[differ], p[differ])
        return near

    def charged_again(self, slot: Codes, g: Codes, p: Codes, ok: Flags) -> Flags:
        """Wrong values that slot accuracy counts twice."""
        wrong: Flags = (g != ABSENT) & (p != ABSENT) & ~ok
        if self.convention.wrong_costs == "hyphen":
            at = np.flatnonzero(wrong)
            wrong[at] = self._again.of(slot[at], g[at], p[at])
        return wrong


@lru_cache(maxsize=64)
def comparison(convention: Convention) -> Comparison:
    """The comparison of a convention, with what earlier calls have looked up."""
    return Comparison(convention)


def _hyphened(value: str) -> str:
    """What a script that splits at the last hyphen takes for a part of the slot's name."""
    return value.rpartition("-")[0]


class _Values:
    """What verbatim values become, by slot."""

    def __init__(self, convention: Convention, steps: tuple[str, ...], *, none: bool, dontcare: bool) -> None:
        self._absent = frozenset(convention.absent) if none else frozenset()
        self._keeps_dontcare = dontcare
        self._normalise = normaliser(steps, convention.typos) if steps else None
        self._is_plain = not steps and dontcare
        self._literals = to_codes(sorted(self._absent))
        self._lock = Lock()
        # Of a slot's code: its row in the table; of row and value: what becomes of it.
        # One attribute, so that another thread never sees a row and a table of two ages.
        self._tables = np.full(64, -1, np.int64), np.full((8, 1024), _UNKNOWN, np.uint32)

    def of(self, slot: Codes, verbatim: Codes) -> Codes:
        """The values' codes under the convention, as a new array."""
        if self._is_plain:  # what is absent does not depend on the slot
            values = verbatim.copy()
            for literal in self._literals:
                np.copyto(values, ABSENT, where=verbatim == literal)
            return values
        found = np.full(len(verbatim), ABSENT, np.uint32)
        at = np.flatnonzero((verbatim != ABSENT) & (slot != ABSENT))
        if not len(at):
            return found
        slot, verbatim = slot[at], verbatim[at]
        tables = self._reserve(int(slot.max()), slot, int(verbatim.max()))
        if tables is None:
            pairs, of_pair = np.unique(slot.astype(np.uint64) << np.uint64(32) | verbatim, return_inverse=True)
            becomes = self._become_all((pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32))
            found[at] = becomes[of_pair]
            return found
        row, table = tables
        values = table[row[slot], verbatim]
        unknown = np.flatnonzero(values == _UNKNOWN)
        if len(unknown):
            self._learn(row, table, slot[unknown], verbatim[unknown])
            values = table[row[slot], verbatim]
        found[at] = values
        return found

    def _reserve(self, most: int, slot: Codes, value: int) -> tuple[Integers, Codes] | None:
        """Tables in which every given slot and value has a place; None where so many slots and values have none."""
        row, table = self._tables
        if most < len(row) and value < table.shape[1] and (row[slot] >= 0).all():
            return row, table
        with self._lock:
            row, table = self._tables
            if most >= len(row):
                row = np.concatenate([row, np.full(most + 64 - len(row), -1, np.int64)])
            new = np.unique(slot[row[slot] < 0])
            row = row.copy()
            row[new] = np.arange(len(new)) + row.max() + 1
            height, width = int(row.max()) + 1, value + 1
            if max(table.shape[0], height) * max(table.shape[1], width) > _PLACES:
                return None
            if height > table.shape[0] or width > table.shape[1]:
                grown = np.full(
                    (max(table.shape[0], height), max(table.shape[1], min(2 * width, width + 65_536))),
                    _UNKNOWN,
                    np.uint32,
                )
                grown[: table.shape[0], : table.shape[1]] = table
                table = grown
            self._tables = row, table
        return row, table

    def _learn(self, row: Integers, table: Codes, slot: Codes, verbatim: Codes) -> None:
        pairs = np.unique(np.stack([slot, verbatim]), axis=1)
        table[row[pairs[0]], pairs[1]] = self._become_all(*pairs)

    def _become_all(self, slot: Codes, verbatim: Codes) -> Codes:
        values = [self._become(*pair) for pair in zip(to_strings(slot), to_strings(verbatim), strict=True)]
        there = [value for value in values if value is not None]
        becomes = np.full(len(values), ABSENT, np.uint32)
        becomes[[value is not None for value in values]] = to_codes(there)
        return becomes

    def _become(self, slot: str, value: str) -> str | None:
        if self._normalise is not None:
            value = self._normalise(slot, value)
        if value in self._absent or (not self._keeps_dontcare and any(map(is_dontcare, alternatives(value)))):
            return None
        return value


class _Pairs:
    """What a function of (slot, gold, prediction) gives, asked once per distinct triple."""

    def __init__(self, function: Callable[[str, str, str], Any], dtype: type) -> None:
        self._function, self._dtype = function, dtype
        self._known: dict[tuple[int, int, int], Any] = {}

    def of(self, slot: Codes, gold: Codes, pred: Codes) -> NDArray[Any]:
        """The function's value for each triple of codes."""
        if not len(slot):
            return np.zeros(0, self._dtype)
        # One number per (gold, pred), and one per that and slot: sorting numbers is far faster than sorting triples.
        _, of_pair = np.unique(gold.astype(np.uint64) << np.uint64(32) | pred, return_inverse=True)
        _, first, of_triple = np.unique(
            slot.astype(np.uint64) << np.uint64(32) | of_pair.astype(np.uint64), return_index=True, return_inverse=True
        )
        keys = list(zip(*(column[first].tolist() for column in (slot, gold, pred)), strict=True))
        new = [i for i, key in enumerate(keys) if key not in self._known]
        if new:
            columns = np.array([keys[i] for i in new], np.uint32).T
            for i, strings in zip(new, zip(*map(to_strings, columns), strict=True), strict=True):
                self._known[keys[i]] = self._function(*strings)
        return np.array([self._known[key] for key in keys], self._dtype)[of_triple]
