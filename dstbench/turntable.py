"""Long table to turn table: integer counts per turn, from which every metric is made.

With `taxonomy`, the only module that looks at the previous row's values. States seldom change from one turn to the
next: what a turn adds is worked out on the rows that changed only and added up by place (see `layout`), and the sizes
of states are running sums of their changes.

It works on codes in NumPy arrays, as partitions are small and a query engine's start costs more than their sums.

Conventions of the counts: g and p are the values under the convention (`ABSENT`: not in the state); g⁻ and p⁻ those
of the same slot one turn earlier (`ABSENT` at the slot's first row). "Changed" means that something of the row before
did, in the file or under the convention.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args

import numpy as np
import polars as pl

from dstbench import fingerprint
from dstbench.comparison import ABSENT, Compared, comparison
from dstbench.conventions import Convention
from dstbench.errors import UsageError
from dstbench.layout import Layout, lay_out, row_changes
from dstbench.options import View
from dstbench.schema import TURNS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray

    Flags: TypeAlias = NDArray[np.bool_]
    Codes: TypeAlias = NDArray[np.uint32]
    Numbers: TypeAlias = NDArray[np.integer[Any]]

# Columns that are the size of something in the state: a turn has what the turn before had, and what changed.
_LASTING: Final = ("n_gold", "n_pred", "n_correct", "n_union", "n_charged_again")
_NAMES: Final = ("dialogue", "turn", "number", "turn_hash")
_EXTRA: Final = ("number", "turn_hash", "gold_hash")
# Columns that follow from others of the turn table, and the columns they need.
_DERIVED: Final = {"error_age": ("local_error",), "local_error": ("n_correct", "n_union", "n_fresh_errors")}


def to_turns(
    long: pl.DataFrame | Layout,
    convention: Convention | None = None,
    *,
    view: View | None = None,
    columns: Collection[str] | None = None,
) -> pl.DataFrame:
    """Count what metrics need, per turn.

    Args:
        long: A long table, sorted by (dialogue, slot, turn), of whole dialogues; or its layout in this view, which
            several calls may share.
        convention: What values mean; None: ``verbatim``.
        view: Restrict states to each ``domain`` or each ``slot`` in turn, and give one row per turn and domain (slot)
            from the first turn in which gold or prediction lists it.
        columns: The columns that are wanted, to save the work of the others; None: all. Three more are there when
            they are asked for: ``number`` (UInt32), the dialogue's place in `long`; ``turn_hash`` and ``gold_hash``
            (UInt64), the parts of the fingerprint that say that the turn is there, and what changed in its gold.

    Returns:
        The turn table (schema `TURNS`; a view has its column after `turn`), sorted by dialogue, view, turn.
    """
    if view is not None and view not in get_args(View):
        raise UsageError(f"view={view!r} is none of {', '.join(get_args(View))}")
    every = ["dialogue", "turn", *([view] if view else []), *list(TURNS.columns)[2:]]
    wanted = every if columns is None else [name for name in [*every, *_EXTRA] if name in columns]
    needed = _needs(wanted)
    rows = long if isinstance(long, Layout) else lay_out(long, view)
    found: dict[str, Any] = {"turn": rows.turns()}
    if needed - {*_NAMES, view}:  # more than which turns there are
        changes = find_changes(rows, convention or Convention())
        found |= _counts(rows, changes, needed)
        if "local_error" in needed:
            found |= _flexible(found, begins=row_changes(rows.group))
        if needed & {"soft_correct", "soft_joint"}:
            found |= _soft(rows, changes)
        if "gold_hash" in needed:
            found["gold_hash"] = _gold_hash(rows, changes)

    row = rows.first_row[rows.group]
    if "dialogue" in wanted:
        found["dialogue"] = rows.long["dialogue"].gather(row)
    if view is not None and rows.part is not None:
        found[view] = rows.part.gather(row)
    if "turn_hash" in wanted:
        found["turn_hash"] = fingerprint.of_turns(rows.dialogue_hash[row], found["turn"])
    if "number" in wanted:
        found["number"] = rows.number[row]
    return pl.DataFrame({name: found[name] for name in wanted})


def _needs(columns: list[str]) -> set[str]:
    """The columns and those that they follow from."""
    needed = set(columns)
    for name, sources in _DERIVED.items():
        if name in needed:
            needed.update(sources)
    return needed


@dataclass(frozen=True)
class Changes:
    """The rows at which something of a slot changed; between them, every row is like the one that changed last.

    Attributes:
        convention: What values mean.
        row: The rows' numbers.
        of_row: Of every row: the number, among these, of the one that it is like.
        place: The places of the rows' turns.
        first: Where a slot's rows begin.
        slot: Codes of the slots.
        compared: Values under the convention.
    """

    convention: Convention
    row: Numbers
    of_row: Callable[[], Numbers]
    place: Numbers
    first: Flags
    slot: Codes
    compared: Compared


def find_changes(rows: Layout, convention: Convention) -> Changes:
    """What changed under a convention; a fuzzy one and its exact one have all in common but what matches."""
    exact = convention.exact()
    known = rows.kept.get(exact)
    if known is None:
        known = rows.kept[exact] = _look_for_changes(rows, exact)
    if convention == exact:
        return known
    values = known.compared
    ok = comparison(convention).match(known.slot, values.gold, values.pred)
    return replace(known, convention=convention, compared=replace(values, ok=ok))


def _look_for_changes(rows: Layout, convention: Convention) -> Changes:
    differs, free = rows.differs, None
    if convention.over == "gold-domains":
        free = _free(rows, convention)
        differs = differs | row_changes(free)
    row = np.flatnonzero(differs)
    slot = rows.slot[row]
    compared = comparison(convention).compare(slot, rows.gold[row], rows.pred[row])
    if free is not None:
        compared.ignore(free[row])
    return Changes(convention, row, lambda: np.cumsum(differs) - 1, rows.place[row], rows.first[row], slot, compared)


def _counts(rows: Layout, changes: Changes, needed: set[str]) -> dict[str, NDArray[np.uint32]]:
    """Counts per turn: sums by place of what changed, and for what lasts their running sums."""
    events, found = _what_changed(changes), {}
    passing = np.flatnonzero(rows.bare[changes.row])  # what changes in a bare row, does so for its turn only
    for name in needed & events.keys():
        grown = events[name]()
        if grown is None:
            found[name] = np.zeros(len(rows.group), np.uint32)
            continue
        counts = np.bincount(changes.place, weights=grown, minlength=rows.total)
        if name in _LASTING:
            passed = np.bincount(changes.place[passing], weights=grown[passing], minlength=rows.total)
            counts = rows.running(counts - passed) + passed if len(passing) else rows.running(counts)
        found[name] = counts[rows.is_turn].astype(np.uint32)
    return found


def _free(rows: Layout, convention: Convention) -> Flags:
    """Rows of slots in whose domain gold's state of the turn has nothing: what is predicted there counts nothing.

    This is the one rule by which a row depends on other rows of its turn, and may change when they do.
    """
    at = np.flatnonzero(rows.differs)
    nothing = np.full(len(at), ABSENT, np.uint32)
    there = comparison(convention).compare(rows.slot[at], rows.gold[at], nothing).gold != ABSENT
    key = rows.domain_place
    has_gold = np.zeros(int(key.max(initial=0)) + 1, dtype=np.bool_)
    has_gold[key[there[np.cumsum(rows.differs) - 1]]] = True
    free: Flags = ~has_gold[key] & ~rows.bare
    return free


def _soft(rows: Layout, changes: Changes) -> dict[str, Any]:
    """The sum and the product, per turn, of how near each slot's prediction is to gold; slots of one side are 0."""
    g, p = changes.compared.gold, changes.compared.pred
    both = (g != ABSENT) & (p != ABSENT)
    near = ((g == ABSENT) & (p == ABSENT)).astype(np.float64)
    near[both] = comparison(changes.convention).similarity(changes.slot[both], g[both], p[both])
    of_row = changes.of_row()
    # Sums and products go in the order of rows, so that their last bits are the same on any number of threads.
    correct = np.bincount(rows.place, weights=np.where(both, near, 0.0)[of_row], minlength=rows.total)
    unequal = np.flatnonzero((near != 1)[of_row])
    joint = np.ones(rows.total)
    np.multiply.at(joint, rows.place[unequal], near[of_row[unequal]])
    return {"soft_correct": correct[rows.is_turn], "soft_joint": joint[rows.is_turn]}


def _gold_hash(rows: Layout, changes: Changes) -> NDArray[np.uint64]:
    """Each turn's part of the fingerprint that says what changed in gold."""
    gold = changes.compared.gold
    new = np.flatnonzero(gold != before(gold, changes.first, ABSENT))
    row = changes.row[new]
    hashed = fingerprint.of_cells(
        fingerprint.of_turns(rows.dialogue_hash[row], rows.turn[row]),
        fingerprint.of_codes(changes.slot[new]),
        fingerprint.of_codes(gold[new]),
    )
    sums = np.zeros(rows.total, np.uint64)
    np.add.at(sums, changes.place[new], hashed)
    return sums[rows.is_turn]


def _what_changed(changes: Changes) -> dict[str, Callable[[], NDArray[Any] | None]]:
    """What a changed row adds to its turn: to the sizes of states, and to the counts of events.

    Returns:
        Column name to a function that gives the numbers (None: all 0): what nobody asks for is not computed.
    """
    compared, first, convention = changes.compared, changes.first, changes.convention
    g, p, ok = compared.gold, compared.pred, compared.ok
    g_is, p_is = g != ABSENT, p != ABSENT
    g_new, p_new = g != before(g, first, ABSENT), p != before(p, first, ABSENT)
    g_set, p_set = g_new & g_is, p_new & p_is

    def grown(flags: Flags) -> NDArray[np.int8]:
        return flags.view(np.int8) - before(flags, first, False).view(np.int8)

    def released() -> dict[str, NDArray[np.uint8]]:
        if not cache:
            cache.update(_gca_released(compared, (g_new, p_new), first))
        return cache

    def charged_again() -> NDArray[np.int8] | None:
        if convention.wrong_costs == "once":
            return None
        return grown(comparison(convention).charged_again(changes.slot, g, p, ok))

    cache: dict[str, NDArray[np.uint8]] = {}
    return {
        "n_gold": lambda: grown(g_is),
        "n_pred": lambda: grown(p_is),
        "n_correct": lambda: grown(ok),
        "n_union": lambda: grown(g_is | p_is),
        "n_charged_again": charged_again,
        "n_fresh_errors": lambda: (g_set | p_set) & ~ok,
        "gca_correct": lambda: released()["correct"],
        "gca_wrong": lambda: released()["wrong"],
        "gca_missed": lambda: released()["missed"],
        "gca_over": lambda: released()["over"],
        "gca_paper_correct": lambda: (g_set | p_set) & ok,
        "gca_paper_wrong": lambda: (g_set | p_set) & g_is & p_is & ~ok,
        "gca_paper_missed": lambda: g_set & ~p_is,
        "gca_paper_over": lambda: p_set & ~g_is,
    }


def before(column: NDArray[Any], first: Flags, at_first: Any) -> NDArray[Any]:
    """The same slot's value in the row before; `at_first` where there is none."""
    earlier = np.empty_like(column)
    earlier[1:] = column[:-1]
    earlier[first] = at_first
    return earlier


def _gca_released(compared: Compared, new: tuple[Flags, Flags], first: Flags) -> dict[str, NDArray[np.uint8]]:
    """C, W, M, O as the authors' code counts them (SPEC §2, `released`).

    A slot that was listed and now is absent has the value "none", and a slot listed for the first time is a change,
    also if it is listed with what means absent. Gold's change and the prediction's change in the same cell are two
    events, of which the second is not counted as C (W) if the first was.
    """
    g, p, ok = compared.gold, compared.pred, compared.ok
    row = np.arange(len(first))
    start = np.maximum.accumulate(np.where(first, row, 0))
    listed = (compared.gold_listed, compared.pred_listed)
    g_seen, p_seen = (np.maximum.accumulate(np.where(side, row, -1)) >= start for side in listed)
    g_change = g_seen & (new[0] | ~before(g_seen, first, False))
    p_change = p_seen & (new[1] | ~before(p_seen, first, False))
    no_g, no_p = g == ABSENT, p == ABSENT
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
        "correct": np.add(g_correct, p_correct, dtype=np.uint8),
        "wrong": np.add(g_wrong, p_wrong, dtype=np.uint8),
        "missed": np.add(g_missed, p_missed, dtype=np.uint8),
        "over": np.add(g_over, p_over, dtype=np.uint8),
    }


def _flexible(counts: dict[str, Any], begins: Flags) -> dict[str, Any]:
    """FGA's view of turns: `local_error`, and `error_age` of wrong turns that only carry an old error.

    A wrong turn is a local error if it is the group's first, follows a right one, or has a new wrong pair. A wrong
    turn that is none follows a wrong one, and the first wrong turn of a group is one: the latest local error before a
    turn is never another group's.
    """
    wrong = counts["n_correct"] != counts["n_union"]
    local = wrong & (begins | ~before(wrong, begins, False) | (counts["n_fresh_errors"] > 0))
    latest = np.maximum.accumulate(np.where(local, np.arange(len(local)), 0))
    age = pl.Series(counts["turn"] - counts["turn"][latest])
    nothing = pl.Series([None], dtype=age.dtype)
    return {"local_error": local, "error_age": age.zip_with(pl.Series(wrong & ~local), nothing)}
