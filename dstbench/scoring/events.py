"""Events of the metrics that look at the turn before: C, W, M, O of GCA, and local errors of FGA.

Arguments are flags of changed rows (`scoring.changes`), for gold (g) and prediction (p): ``is``: the slot has a value;
``new``: another one than in the row before, one turn earlier; ``seen``: the slot has been listed so far; ``ok``: they
match.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dstbench.runs.layout import before, row_changes

if TYPE_CHECKING:
    from dstbench.arrays import Flags


def set_slot_events(g_is: Flags, p_is: Flags, ok: Flags, g_new: Flags, p_new: Flags) -> dict[str, Flags]:
    """Slots that are set or changed: fresh errors of FGA; C, W, M, O of GCA as Algorithm 1 of its paper counts them."""
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
    """C, W, M, O of GCA as the authors' code counts them; `no_g` and `no_p`: the slot has no value.

    A slot that was listed and now is absent has the value "none". A slot listed for the first time is a change, even
    with a value that means "not in the state". Where gold and prediction both change, these are two events, but the
    second is not counted as C (W) if the first was: no row is two of one kind.
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
    """Whether a slot has had a flag in this changed row or in an earlier one; `first`: where a slot's rows begin.

    >>> since(np.array([False, True, False, False, False]), first=np.array([True, False, False, False, True]))
    array([False,  True,  True,  True, False])
    """
    open_rows = np.flatnonzero(~(flags | first))  # few: these have what the row before has
    begins = row_changes(open_rows - np.arange(len(open_rows)))  # runs of neighbours have it from the row before them
    source = (open_rows[begins] - 1)[np.cumsum(begins) - 1]
    has_been = flags.copy()
    has_been[open_rows] = flags[source]
    return has_been


def local_errors(counts: dict[str, Any], begins: Flags) -> dict[str, Any]:
    """FGA's view of turns: `local_error`, and `error_age` of wrong turns that only carry an old error.

    A wrong turn is a local error if it is the group's first, follows a right one, or has a new wrong pair. So the first
    wrong turn of a group always is one, and the latest local error before a wrong turn is of its own group.
    """
    wrong = counts["n_correct"] != counts["n_union"]
    local = wrong & (begins | ~before(wrong, begins) | (counts["n_fresh_errors"] > 0))
    at = np.flatnonzero(local)
    latest = np.zeros_like(counts["turn"])
    latest[at[0] if len(at) else len(latest) :] = np.repeat(counts["turn"][at], np.diff(at, append=len(local)))
    age = pl.Series(counts["turn"] - latest)
    nothing = pl.Series([None], dtype=age.dtype)
    return {"local_error": local, "error_age": age.zip_with(pl.Series(wrong & ~local), nothing)}
