"""The changed rows of a long table under a convention: their values, whether these match, and what happens there.

A row is *changed* if it differs from the row before, in the file or under the convention, or if it skips a turn. In
this module, g and p are the values of gold and prediction under the convention (`ABSENT`: not in the state).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dstbench.arrays import Codes, Flags, Numbers
from dstbench.conventions.convention import Convention
from dstbench.runs.codes import ABSENT
from dstbench.runs.layout import Layout, row_changes
from dstbench.scoring.compare_values import Compared, comparison

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The most conventions whose changed rows a layout keeps.
_MOST_CACHED: Final = 4


@dataclass(frozen=True)
class Changes:
    """The changed rows, one array element each; the rows between two of them are identical to the first of the two."""

    convention: Convention
    row: Numbers  # index of the row in the long table
    place: Numbers  # the place of its turn
    after: Numbers  # the first place after its run of identical rows
    first: Flags  # whether it is its slot's first row
    slot: Codes
    compared: Compared  # its values under the convention
    counts: dict[str, Numbers] = field(default_factory=dict, init=False)  # per turn, by column: those needed so far

    def of_rows(self, column: NDArray[Any], rows: int) -> NDArray[Any]:
        """A column of the changed rows, repeated for all rows of the long table (`rows`: how many)."""
        return np.repeat(column, np.diff(self.row, append=rows))


def find_changes(rows: Layout, convention: Convention) -> Changes:
    """The changed rows under a convention; cached in the layout."""
    changes: Changes | None = rows.cache.get(convention)
    if changes is None:
        changes = _find_changes(rows, convention)
        if len(rows.cache) >= _MOST_CACHED:  # a layout may be kept, and asked for under ever new conventions
            rows.cache.clear()
        rows.cache[convention] = changes
    return changes


def _find_changes(rows: Layout, convention: Convention) -> Changes:
    if convention.is_fuzzy:  # it differs from its exact variant only in which values match
        exact = find_changes(rows, convention.exact())
        values = exact.compared
        ok = comparison(convention).match(exact.slot, values.gold, values.pred)
        return replace(exact, convention=convention, compared=replace(values, ok=ok))
    if convention.over != "gold-domains":
        slot, gold, pred = rows.cells
        compared = comparison(convention).compare(slot, gold, pred)
        return Changes(convention, rows.changed, rows.place, rows.after, rows.first[rows.changed], slot, compared)
    ignored = _outside_gold_domains(rows, convention)
    row = np.union1d(rows.changed, np.flatnonzero(row_changes(ignored)))
    slot, place = rows.slot[row], rows.row_place[row]
    compared = comparison(convention).compare(slot, rows.gold[row], rows.pred[row])
    compared.ignored[ignored[row] & (compared.pred != ABSENT)] = True
    compared.pred[ignored[row]] = ABSENT
    compared.pred_listed[ignored[row]] = False
    return Changes(convention, row, place, place + np.diff(row, append=len(rows.turn)), rows.first[row], slot, compared)


def _outside_gold_domains(rows: Layout, convention: Convention) -> Flags:
    """For each row: whether gold's state has no slot of the row's domain in this turn.

    By this rule alone, a row depends on other rows of its turn, and so changes when they do.
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
    """For each changed row: whether it is wrong, but would be right if gold and prediction were spelled alike."""
    g, p, row = changes.compared.gold, changes.compared.pred, changes.row
    wrong = np.flatnonzero(((g != ABSENT) | (p != ABSENT)) & ~changes.compared.ok & ~rows.bare[row])
    at = row[wrong]
    alike = comparison(changes.convention.loosened()).compare(rows.slot[at], rows.gold[at], rows.pred[at])
    errors = np.zeros(len(row), np.bool_)
    errors[wrong] = alike.ok | ((alike.gold == ABSENT) & (alike.pred == ABSENT))
    return errors


# --- events of GCA and FGA, from flags of changed rows ----------------------------------------------------------------
# For gold (g) and prediction (p): ``is``: the slot has a value; ``new``: the value differs from that of the turn
# before; ``seen``: the slot has been listed in this turn or before. ``ok``: gold and prediction match.


def set_slot_events(g_is: Flags, p_is: Flags, ok: Flags, g_new: Flags, p_new: Flags) -> dict[str, Flags]:
    """Slots that are set or changed: FGA's fresh errors; GCA's C, W, M, O as in Algorithm 1 of its paper."""
    g_set, p_set = g_new & g_is, p_new & p_is
    return {
        "n_fresh_errors": (g_set | p_set) & ~ok,
        "gca_paper_correct": (g_set | p_set) & ok,
        "gca_paper_wrong": (g_set | p_set) & g_is & p_is & ~ok,
        "gca_paper_missed": g_set & ~p_is,
        "gca_paper_over": p_set & ~g_is,
    }


def gca_released(
    no_g: Flags,
    no_p: Flags,
    ok: Flags,
    *,
    g_new: Flags,
    p_new: Flags,
    g_seen: Flags,
    p_seen: Flags,
    g_seen_before: Flags,
    p_seen_before: Flags,
) -> dict[str, Flags]:
    """GCA's C, W, M, O as the authors' code counts them; `no_g` and `no_p`: the slot has no value.

    A slot that was listed and now is absent has the value "none". A slot that is listed for the first time counts as a
    change, even with a value that means "not in the state". If both gold and prediction change, these are two events,
    but the prediction's is not counted as C (or W) if gold's was: a row adds at most 1 to each count.
    """
    g_change = g_seen & (g_new | ~g_seen_before)
    p_change = p_seen & (p_new | ~p_seen_before)
    equal = ok | (no_g & no_p)

    g_correct = g_change & np.where(p_seen, equal, no_g)
    g_missed = g_change & ~p_seen & ~no_g
    g_over = g_change & p_seen & ~equal & no_g
    g_wrong = g_change & p_seen & ~equal & ~no_g

    again = p_change & g_seen  # the prediction changed on a slot that gold knows
    p_over = p_change & ~g_seen & ~no_p
    p_correct = p_change & np.where(g_seen, equal & ~g_correct, no_p)
    p_missed = again & no_p & ~(equal & ~g_correct)
    p_wrong = again & ~no_p & ~equal & ~g_wrong
    return {
        "gca_correct": g_correct | p_correct,
        "gca_wrong": g_wrong | p_wrong,
        "gca_missed": g_missed | p_missed,
        "gca_over": g_over | p_over,
    }


def since(flags: Flags, first: Flags) -> Flags:
    """For each changed row: whether the flag is set in it or in an earlier row of its slot.

    `first` says whether a row is the first of its slot.

    >>> since(np.array([False, True, False, False, False]), first=np.array([True, False, False, False, True]))
    array([False,  True,  True,  True, False])
    """
    open_rows = np.flatnonzero(~(flags | first))  # few; each takes its result from the row before
    begins = row_changes(open_rows - np.arange(len(open_rows)))  # neighbours take it from the row before the first
    source = (open_rows[begins] - 1)[np.cumsum(begins) - 1]
    has_been = flags.copy()
    has_been[open_rows] = flags[source]
    return has_been
