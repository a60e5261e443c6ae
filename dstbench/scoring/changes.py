"""The rows of a long table at which a slot's state changes under a convention, with their values compared.

Conventions: g and p are the values under the convention (`ABSENT`: not in the state). A row is *changed* if it differs
from the row before, in the file or under the convention, or skips a turn.
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
    """The changed rows; the rows after one of them, up to the next, are identical to it."""

    convention: Convention
    row: Numbers  # their row numbers
    place: Numbers  # the places of their turns
    after: Numbers  # index of the first place after each row's run of identical rows
    first: Flags  # whether each is its slot's first row
    slot: Codes
    compared: Compared  # their values under the convention

    def of_rows(self, column: NDArray[Any], rows: int) -> NDArray[Any]:
        """Spread a column of the changed rows over all rows, of which there are `rows`."""
        return np.repeat(column, np.diff(self.row, append=rows))


def find_changes(rows: Layout, convention: Convention) -> Changes:
    """The changed rows under a convention; a fuzzy one and its exact one differ only in which values match."""
    exact = convention.exact()
    if exact not in rows.cache:
        rows.cache[exact] = _find_exact_changes(rows, exact)
    changes: Changes = rows.cache[exact]
    if convention == exact:
        return changes
    values = changes.compared
    ok = comparison(convention).match(changes.slot, values.gold, values.pred)
    return replace(changes, convention=convention, compared=replace(values, ok=ok))


def _find_exact_changes(rows: Layout, convention: Convention) -> Changes:
    if convention.over != "gold-domains":
        slot, gold, pred = rows.cells
        compared = comparison(convention).compare(slot, gold, pred)
        return Changes(convention, rows.changed, rows.place, rows.after, rows.first[rows.changed], slot, compared)
    ignored = _outside_gold_domains(rows, convention)
    row = np.union1d(rows.changed, np.flatnonzero(row_changes(ignored)))
    slot, place = rows.slot[row], rows.row_place[row]
    compared = comparison(convention).compare(slot, rows.gold[row], rows.pred[row])
    compared.pred[ignored[row]] = ABSENT
    compared.pred_listed[ignored[row]] = False
    return Changes(convention, row, place, place + np.diff(row, append=len(rows.turn)), rows.first[row], slot, compared)


def _outside_gold_domains(rows: Layout, convention: Convention) -> Flags:
    """Whether each row's slot is of a domain of which gold's state has nothing in this turn.

    This is the only rule by which a row depends on other rows of its turn, and may change when they do.
    """
    nothing = np.full(len(rows.changed), ABSENT, np.uint32)
    slot, gold, _ = rows.cells
    in_gold = comparison(convention).compare(slot, gold, nothing).gold != ABSENT
    key = rows.domain_place
    has_gold = np.zeros(int(key.max(initial=0)) + 1, dtype=np.bool_)
    has_gold[key[np.repeat(in_gold, np.diff(rows.changed, append=len(key)))]] = True
    outside: Flags = ~has_gold[key] & ~rows.bare
    return outside


def spelling_errors(rows: Layout, changes: Changes) -> Flags:
    """Whether changed rows are wrong, but would not be if gold and prediction were spelled alike."""
    g, p, row = changes.compared.gold, changes.compared.pred, changes.row
    wrong = np.flatnonzero(((g != ABSENT) | (p != ABSENT)) & ~changes.compared.ok & ~rows.bare[row])
    at = row[wrong]
    alike = comparison(changes.convention.loosened()).compare(rows.slot[at], rows.gold[at], rows.pred[at])
    errors = np.zeros(len(row), np.bool_)
    errors[wrong] = alike.ok | ((alike.gold == ABSENT) & (alike.pred == ABSENT))
    return errors
