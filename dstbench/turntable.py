"""Long table to turn table: integer counts per turn, from which every metric is made.

The only module that looks at the previous row. The long table is sorted by (dialogue, slot, turn), so a slot's
previous turn is the row before, and no window function is needed. States seldom change from one turn to the next:
what a turn adds is worked out on the rows that changed only, added up by place (a turn's number among all turns, which
takes no hashing), and the sizes of states are running sums of their changes.

It works on codes in NumPy arrays, as partitions are small and a query engine's start costs more than their sums.

Conventions of the counts: g and p are the values under the convention (`ABSENT`: not in the state); g⁻ and p⁻ those
of the same slot one turn earlier (`ABSENT` at the slot's first row).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args

import numpy as np
import polars as pl

from dstbench.conventions import ABSENT, Convention, codes, match
from dstbench.errors import DstbenchError, UsageError
from dstbench.options import View
from dstbench.schema import TURNS
from dstbench.slots import domain_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray

    Flags: TypeAlias = NDArray[np.bool_]
    Codes: TypeAlias = NDArray[np.uint32]
    Numbers: TypeAlias = NDArray[np.integer[Any]]

# Columns that are the size of something in the state: a turn has what the turn before had, and what changed.
_SIZES: Final = ("n_gold", "n_pred", "n_correct", "n_union")
# Columns that follow from others of the turn table, and the columns they need.
_DERIVED: Final = {"error_age": ("local_error",), "local_error": ("n_correct", "n_union", "n_fresh_errors")}


def to_turns(
    long: pl.DataFrame,
    convention: Convention | None = None,
    *,
    view: View | None = None,
    columns: Collection[str] | None = None,
) -> pl.DataFrame:
    """Count what metrics need, per turn.

    Args:
        long: A long table, sorted by (dialogue, slot, turn), of whole dialogues.
        convention: What values mean; None: ``verbatim``.
        view: Restrict states to each ``domain`` or each ``slot`` in turn, and give one row per turn and domain (slot)
            from the first turn in which gold or prediction lists it.
        columns: The columns that are wanted, to save the work of the others; None: all. ``number`` (UInt32), the
            dialogue's place in `long`, is there when it is asked for.

    Returns:
        The turn table (schema `TURNS`; a view has its column after `turn`), sorted by dialogue, view, turn.
    """
    if view is not None and view not in get_args(View):
        raise UsageError(f"view={view!r} is none of {', '.join(get_args(View))}")
    every = ["dialogue", "turn", *([view] if view else []), *list(TURNS.columns)[2:]]
    wanted = every if columns is None else [name for name in [*every, "number"] if name in columns]
    needed = _needs(wanted)
    if view:
        long = long.filter(pl.col("slot").is_not_null())

    # A group is a dialogue, or a slot (domain) in it; `starts` are the rows with which groups begin.
    dialogue_starts, slot = _changes(long["dialogue"]), codes(long["slot"])
    starts = dialogue_starts
    bare = slot == ABSENT  # rows without a slot stand each for itself: what is predicted there does not last
    first = starts | bare | _changes(slot)
    part = None if view is None else long["slot"] if view == "slot" else over_distinct(long["slot"], domain_of)
    if part is not None:
        starts = starts | _changes(codes(part))
    turn = long["turn"].to_numpy()
    first_row = np.flatnonzero(starts)
    place, base, offset, size = _places(first_row, turn)
    if ((turn[1:] <= turn[:-1]) & ~first[1:]).any() or (len(place) and int(place.max()) >= size.sum()):
        raise DstbenchError(
            "the long table is not sorted by dialogue, slot and turn, or a slot ends early",
            hint="convert the run again, or sort it and drop its metadata",
        )

    gold, pred = codes(long["gold"]), codes(long["pred"])
    changed = np.flatnonzero(first | _changes(gold) | _changes(pred))
    events = _what_changed(gold[changed], pred[changed], first[changed], convention or Convention())
    at, total = place[changed], int(size.sum())

    is_turn = np.zeros(total, dtype=np.bool_)
    is_turn[place] = True
    group = np.repeat(np.arange(len(size)), size)[is_turn]
    found: dict[str, Any] = {"turn": (np.flatnonzero(is_turn) - offset[group] + base[group]).astype(np.uint16)}
    lasting, passing = np.flatnonzero(~bare[changed]), np.flatnonzero(bare[changed])
    for name in needed & events.keys():
        changes = events[name]()
        if name in _SIZES:
            sums = np.bincount(at[lasting], weights=changes[lasting], minlength=total)
            counts = _running(sums, offset, size)
            np.add.at(counts, at[passing], changes[passing])
        else:
            counts = np.bincount(at, weights=changes, minlength=total)
        found[name] = counts[is_turn].astype(np.uint32)
    if "local_error" in needed:
        found |= _flexible(found, begins=_changes(group))

    row = first_row[group]
    if "dialogue" in wanted:
        found["dialogue"] = long["dialogue"].gather(row)
    if view is not None and part is not None:
        found[view] = part.gather(row)
    if "number" in wanted:
        found["number"] = np.cumsum(dialogue_starts, dtype=np.uint32)[row]
    return pl.DataFrame({name: found[name] for name in wanted})


def over_distinct(column: pl.Series, function: Callable[[str], str]) -> pl.Series:
    """Apply a function of strings to a dictionary column, once per distinct value."""
    distinct = column.unique().drop_nulls()
    results = pl.Series([function(value) for value in distinct.cast(pl.String)], dtype=pl.String)
    return column.replace_strict(distinct, results.cast(pl.Categorical), default=None)


def _needs(columns: list[str]) -> set[str]:
    """The columns and those that they follow from."""
    needed = set(columns)
    for name, sources in _DERIVED.items():
        if name in needed:
            needed.update(sources)
    return needed


def _changes(column: pl.Series | Numbers) -> Flags:
    """Whether a row differs from the row before; true at the first row."""
    changed = np.ones(len(column), dtype=np.bool_)
    if isinstance(column, pl.Series):
        column = column.rechunk()
        changed[1:] = (column[1:] != column[:-1]).to_numpy()
    else:
        changed[1:] = column[1:] != column[:-1]
    return changed


def _places(first_row: Numbers, turn: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """A place for every turn of every group.

    A group has places for its turns first … last, also for those that are not there. Its last row is in its last turn,
    as a slot has a row up to the dialogue's last turn.

    Returns:
        The place of each row; and of each group the first turn, the first place, and the number of places.
    """
    rows = np.diff(first_row, append=len(turn))
    base = np.minimum.reduceat(turn, first_row).astype(np.int64) if len(turn) else first_row
    size = turn[first_row + rows - 1] - base + 1
    offset = np.cumsum(size) - size
    return np.repeat(offset - base, rows) + turn, base, offset, size


def _running(changes: Any, offset: Numbers, size: Numbers) -> Any:
    """Running sums of changes that start anew in every group; exact, as they are sums of small integers."""
    running = np.cumsum(changes)
    return running - np.repeat(running[offset] - changes[offset], size)


def _what_changed(
    gold: Codes, pred: Codes, first: Flags, convention: Convention
) -> dict[str, Callable[[], NDArray[Any]]]:
    """What a changed row adds to its turn: to the sizes of states, and to the counts of events.

    Args:
        gold: Codes of the verbatim values of the changed rows; the row before is the slot's latest change.
        pred: The same of the prediction.
        first: Where a slot's rows begin.
        convention: What values mean.

    Returns:
        Column name to a function that gives the numbers: what nobody asks for is not computed.
    """
    g, p = convention.values(gold), convention.values(pred)
    g_is, p_is, ok = g != ABSENT, p != ABSENT, match(g, p)
    g_new, p_new = g != _before(g, first, ABSENT), p != _before(p, first, ABSENT)
    g_set, p_set = g_new & g_is, p_new & p_is

    def grown(flags: Flags) -> NDArray[np.int8]:
        return flags.view(np.int8) - _before(flags, first, False).view(np.int8)

    def released() -> dict[str, NDArray[np.uint8]]:
        if not cache:
            cache.update(_gca_released(g, p, ok, (gold != ABSENT, pred != ABSENT), (g_new, p_new), first))
        return cache

    cache: dict[str, NDArray[np.uint8]] = {}
    return {
        "n_gold": lambda: grown(g_is),
        "n_pred": lambda: grown(p_is),
        "n_correct": lambda: grown(ok),
        "n_union": lambda: grown(g_is | p_is),
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


def _before(column: NDArray[Any], first: Flags, at_first: Any) -> NDArray[Any]:
    """The same slot's value in the row before; `at_first` where there is none."""
    before = np.empty_like(column)
    before[1:] = column[:-1]
    before[first] = at_first
    return before


def _gca_released(  # noqa: PLR0917 (columns, all of one length)
    g: Codes, p: Codes, ok: Flags, listed: tuple[Flags, Flags], new: tuple[Flags, Flags], first: Flags
) -> dict[str, NDArray[np.uint8]]:
    """C, W, M, O as the authors' code counts them (SPEC §2, `released`).

    A slot that was listed and now is absent has the value "none", and a slot listed for the first time is a change,
    also if it is listed with what means absent. Gold's change and the prediction's change in the same cell are two
    events, of which the second is not counted as C (W) if the first was.
    """
    row = np.arange(len(first))
    start = np.maximum.accumulate(np.where(first, row, 0))
    g_seen, p_seen = (np.maximum.accumulate(np.where(side, row, -1)) >= start for side in listed)
    g_change = g_seen & (new[0] | ~_before(g_seen, first, False))
    p_change = p_seen & (new[1] | ~_before(p_seen, first, False))
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
    local = wrong & (begins | ~_before(wrong, begins, False) | (counts["n_fresh_errors"] > 0))
    latest = np.maximum.accumulate(np.where(local, np.arange(len(local)), 0))
    age = pl.Series(counts["turn"] - counts["turn"][latest])
    nothing = pl.Series([None], dtype=age.dtype)
    return {"local_error": local, "error_age": age.zip_with(pl.Series(wrong & ~local), nothing)}
