"""The rows of a long table at which a slot's state changes under a convention, with their values compared.

Conventions: g and p are the values under the convention (`ABSENT`: not in the state). "Changed" means that something of
the row before did, in the file or under the convention, or that the turn is not the one after.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dstbench.runs.codes import ABSENT
from dstbench.runs.layout import row_changes
from dstbench.scoring.compare_values import Compared, comparison

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstbench.arrays import Codes, Flags, Numbers
    from dstbench.conventions.convention import Convention
    from dstbench.runs.layout import Layout


@dataclass(frozen=True)
class Changes:
    """The rows at which something of a slot changed; the rows after one of them, up to the next, are identical to it.

    Attributes:
        convention: What values mean.
        row: The rows' numbers.
        place: The places of the rows' turns.
        after: Index of the first place after each row's run of identical rows.
        first: Where a slot's rows begin.
        slot: Codes of the slots.
        compared: Values under the convention.
    """

    convention: Convention
    row: Numbers
    place: Numbers
    after: Numbers
    first: Flags
    slot: Codes
    compared: Compared

    def of_rows(self, column: NDArray[Any], rows: int) -> NDArray[Any]:
        """A column of the changed rows as a column of all so many rows: each has what its changed row has."""
        return np.repeat(column, np.diff(self.row, append=rows))


def find_changes(rows: Layout, convention: Convention) -> Changes:
    """What changed under a convention; a fuzzy one and its exact one differ only in which values match."""
    exact = convention.exact()
    changes = rows.cache.get(exact)
    if changes is None:
        changes = rows.cache[exact] = _look_for_changes(rows, exact)
    if convention == exact:
        return changes
    values = changes.compared
    ok = comparison(convention).match(changes.slot, values.gold, values.pred)
    return replace(changes, convention=convention, compared=replace(values, ok=ok))


def _look_for_changes(rows: Layout, convention: Convention) -> Changes:
    """What changed under a convention that is not fuzzy."""
    row, place, after, free = rows.changed, rows.place, rows.after, None
    cells = rows.cells
    if convention.over == "gold-domains":
        free = _free(rows, convention)
        row = np.union1d(row, np.flatnonzero(row_changes(free)))
        place = rows.row_place[row]
        after = place + np.diff(row, append=len(rows.turn))
        cells = rows.slot[row], rows.gold[row], rows.pred[row]
    slot = cells[0]
    compared = comparison(convention).compare(*cells)
    if free is not None:
        compared.ignore(free[row])
    return Changes(convention, row, place, after, rows.first[row], slot, compared)


def _free(rows: Layout, convention: Convention) -> Flags:
    """Rows of slots in whose domain gold's state of the turn has nothing: what is predicted there counts nothing.

    This is the one rule by which a row depends on other rows of its turn, and may change when they do.
    """
    at = rows.changed
    nothing = np.full(len(at), ABSENT, np.uint32)
    there = comparison(convention).compare(rows.slot[at], rows.gold[at], nothing).gold != ABSENT
    key = rows.domain_place
    has_gold = np.zeros(int(key.max(initial=0)) + 1, dtype=np.bool_)
    has_gold[key[np.repeat(there, np.diff(at, append=len(key)))]] = True
    free: Flags = ~has_gold[key] & ~rows.bare
    return free


def spelling_errors(rows: Layout, changes: Changes) -> Flags:
    """Whether changed rows are wrong, but would not be if gold and prediction were spelled alike."""
    g, p, row = changes.compared.gold, changes.compared.pred, changes.row
    wrong = np.flatnonzero(((g != ABSENT) | (p != ABSENT)) & ~changes.compared.ok & ~rows.bare[row])
    at = row[wrong]
    alike = comparison(changes.convention.loosened()).compare(rows.slot[at], rows.gold[at], rows.pred[at])
    errors = np.zeros(len(row), np.bool_)
    errors[wrong] = alike.ok | ((alike.gold == ABSENT) & (alike.pred == ABSENT))
    return errors
