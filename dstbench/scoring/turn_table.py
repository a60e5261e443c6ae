"""Long table to turn table: integer counts per turn, from which every metric is made.

States seldom change from one turn to the next: what a turn adds is worked out on the rows that changed only
(`scoring.changes`) and added up by place (`runs.layout`), and the sizes of states are running sums of their changes.

It works on codes in NumPy arrays, as partitions are small and a query engine's start costs more than their sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

import numpy as np
import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.errors import UsageError
from dstbench.readers.frames import requested_f1, same_intent
from dstbench.runs.codes import ABSENT, to_column
from dstbench.runs.gold import gold_hashes
from dstbench.runs.layout import Layout, before, lay_out, row_changes
from dstbench.schema.core import TURNS
from dstbench.scoring.changes import find_changes, spelling_errors
from dstbench.scoring.compare_values import comparison
from dstbench.scoring.events import gca_released, local_errors, set_slot_events, since
from dstbench.typing import View

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from dstbench.arrays import Flags, Integers, Numbers
    from dstbench.scoring.changes import Changes


#: Columns about gold's frames: whether gold has the frame; whether the active intent is right; F1 of requested slots.
FRAMES: Final = ("is_frame", "right_intent", "requested_f1")
# Columns that are the size of something in the state: a turn has what the turn before had, and what changed.
_LASTING: Final = ("n_gold", "n_pred", "n_correct", "n_union", "n_charged_again", "n_dropped", "n_spelling")
_NAMES: Final = ("dialogue", "turn", "number", "turn_hash")
_EXTRA: Final = ("number", "turn_hash", "gold_hash", "n_dropped", "n_spelling", *FRAMES)
# Columns that depend on the row before, and of these on whether a slot has ever been listed.
_OF_RELEASED: Final = frozenset({"gca_correct", "gca_wrong", "gca_missed", "gca_over"})
_OF_EVENTS: Final = frozenset(
    {"n_fresh_errors", "gca_paper_correct", "gca_paper_wrong", "gca_paper_missed", "gca_paper_over", *_OF_RELEASED}
)
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
        columns: The columns that are wanted, to save the work of the others; None: all. More are there when
            they are asked for: ``number`` (UInt32), the dialogue's place in `long`; ``turn_hash`` and ``gold_hash``
            (UInt64), the parts of the fingerprint that say that the turn is there, and what changed in its gold;
            ``n_dropped`` (UInt32), gold's values that are dropped as their slots are not scored; ``n_spelling``
            (UInt32), wrong slots whose values differ by spelling only; and those of `FRAMES`.

    Returns:
        The turn table (schema `TURNS`; a view has its column after `turn`), sorted by dialogue, view, turn.

    Raises:
        DstbenchError: The table is not sorted, or not of whole dialogues; or there is no such view.
    """
    if view is not None and view not in get_args(View):
        raise UsageError(f"view={view!r} is none of {', '.join(get_args(View))}")
    every = ["dialogue", "turn", *([view] if view else []), *list(TURNS.columns)[2:]]
    wanted = every if columns is None else [name for name in [*every, *_EXTRA] if name in columns]
    needed = _needs(wanted)
    rows = long if isinstance(long, Layout) else lay_out(long, view, frames=counts_frames(convention, view))
    found: dict[str, Any] = {"turn": rows.of_turns(rows.number_of_place).astype(np.uint16)}
    if needed.intersection(FRAMES):
        found |= _of_frames(rows)
    if needed - {*_NAMES, *FRAMES, view}:  # more than which turns there are
        changes = find_changes(rows, convention or Convention())
        found |= _counts(rows, changes, needed)
        if "local_error" in needed:
            found |= local_errors(found, begins=row_changes(rows.group))
        if needed & {"soft_correct", "soft_joint"}:
            found |= _soft(rows, changes)
        if "gold_hash" in needed:
            found["gold_hash"] = gold_hashes(rows, changes.place, changes.first, changes.slot, changes.compared.gold)

    if "dialogue" in wanted:
        found["dialogue"] = rows.dialogue.gather(rows.number[rows.group] - 1)
    if view is not None and rows.part is not None:
        found[view] = rows.part.gather(rows.first_row[rows.group])
    if "turn_hash" in wanted:
        found["turn_hash"] = rows.of_turns(rows.hash_of_place)
    if "number" in wanted:
        found["number"] = rows.number[rows.group]
    return pl.DataFrame({name: found[name] for name in wanted})


def counts_frames(convention: Convention | None, view: View | None) -> bool:
    """Whether gold's frames count in a view under a convention."""
    return convention is not None and convention.domain_turns == "frames" and view == "domain"


def _of_frames(rows: Layout) -> dict[str, NDArray[Any]]:
    """What is known of gold's frames; 0 of turns in which gold has no frame of the domain."""
    is_frame = np.zeros(rows.total, np.bool_)
    right, requested = np.zeros(rows.total, np.bool_), np.zeros(rows.total)
    if rows.frames is not None:
        place, (_, gold, pred) = rows.row_place[rows.frames.row], rows.frames
        pairs, of_frame = np.unique(gold.astype(np.uint64) << np.uint64(32) | pred, return_inverse=True)
        golds, preds = (to_column(half.astype(np.uint32)).to_list() for half in (pairs >> np.uint64(32), pairs))
        said = [(gold, pred) for gold, pred in zip(golds, preds, strict=True)]
        is_frame[place] = True
        right[place] = np.array([p is not None and same_intent(g, p) for g, p in said], np.bool_)[of_frame]
        of_pair = np.array([requested_f1(*pair) for pair in said], np.float64)
        requested[place] = np.where(rows.pred[rows.frames.row] == ABSENT, of_pair[of_frame], 0)  # marked: 0
    return dict(zip(FRAMES, map(rows.of_turns, (is_frame, right, requested)), strict=True))


def _needs(columns: Collection[str]) -> set[str]:
    """The columns and those that they follow from."""
    needed = set(columns)
    for name, sources in _DERIVED.items():
        if name in needed:
            needed.update(sources)
    return needed


def _counts(rows: Layout, changes: Changes, needed: set[str]) -> dict[str, Numbers]:
    """Counts per turn: sums by place of what changed, and for what lasts their running sums.

    What a row adds to them depends on a few flags, so it is looked up in a table of all cases of these flags; and as
    many counts as fit into a number of 64 bits are added up at once, as its digits. Here three rows of a turn add to
    two counts, `n_gold` and `n_pred`: two have gold and prediction, the third a prediction only.

    >>> rows = np.array([[1, 1], [1, 1], [0, 1]], np.uint32)
    >>> rows.view(np.int64).sum(axis=0).view(np.uint32)
    array([2, 3], dtype=uint32)

    No digit overflows, as a turn has at most `_most` rows.
    """
    flags = _what_changed(rows, changes, needed)
    case = np.zeros(len(changes.row), np.uint16)
    for bit, flag in enumerate(flags.values()):
        case |= flag.view(np.uint8).astype(np.uint16) << bit
    cases = np.arange(2 ** len(flags), dtype=np.uint16)
    kinds = _count(**{name: (cases >> bit & 1).astype(np.bool_) for bit, name in enumerate(flags)})
    digit = next(kind for kind in (np.uint8, np.uint16, np.uint32) if _most(rows) <= np.iinfo(kind).max)
    at_once = 8 // digit(0).nbytes
    found: dict[str, Numbers] = {}
    for lasts in (True, False):
        names = [name for name in kinds if name in needed and (name in _LASTING) == lasts]
        for some in (names[start : start + at_once] for start in range(0, len(names), at_once)):
            digits = np.zeros((len(cases), at_once), digit)
            for column, name in enumerate(some):
                digits[:, column] = kinds[name]
            adds = digits.view(np.int64)[:, 0].take(case)
            sums = _sizes(rows, changes, adds) if lasts else _by_place(rows, changes.place, adds)
            columns = rows.of_turns(sums).view(digit).reshape(-1, at_once)
            for column, name in enumerate(some):
                found[name] = columns[:, column].astype(np.uint32)
    return found


def _sizes(rows: Layout, changes: Changes, there: Integers) -> Integers:
    """The sizes of states, by place: each changed row adds `there` from its place on, until its identical rows end."""
    sums = np.zeros(rows.total + 1, np.int64)
    np.add.at(sums, changes.place, there)
    np.subtract.at(sums, changes.after, there)
    return np.cumsum(sums)[:-1]


def _by_place(rows: Layout, place: Numbers, numbers: Integers) -> Integers:
    """Whole numbers added up by place."""
    sums = np.zeros(rows.total, np.int64)
    np.add.at(sums, place, numbers)  # of one type: others are far slower
    return sums


def _most(rows: Layout) -> int:
    """The most that a count of a turn can be: one for each row of its group."""
    return int(np.diff(rows.first_row, append=len(rows.turn)).max(initial=1))


def _soft(rows: Layout, changes: Changes) -> dict[str, Any]:
    """The sum and the product, per turn, of how near each slot's prediction is to gold; slots of one side are 0."""
    g, p = changes.compared.gold, changes.compared.pred
    both = (g != ABSENT) & (p != ABSENT)
    near = ((g == ABSENT) & (p == ABSENT)).astype(np.float64)
    near[both] = comparison(changes.convention).similarity(changes.slot[both], g[both], p[both])
    # Sums and products go in the order of rows, so that their last bits are the same on any number of threads.
    of_rows, place = changes.of_rows(near, len(rows.turn)), rows.row_place
    in_both = changes.of_rows(both, len(rows.turn))
    correct = np.bincount(place, weights=np.where(in_both, of_rows, 0.0), minlength=rows.total)
    unequal = np.flatnonzero(of_rows != 1)
    joint = np.ones(rows.total)
    np.multiply.at(joint, place[unequal], of_rows[unequal])
    return {"soft_correct": rows.of_turns(correct), "soft_joint": rows.of_turns(joint)}


def _what_changed(rows: Layout, changes: Changes, needed: set[str]) -> dict[str, Flags]:
    """What the counts that are needed depend on: flags of each changed row, by name."""
    compared, first, convention = changes.compared, changes.first, changes.convention
    g, p = compared.gold, compared.pred
    flags = {"g_is": g != ABSENT, "p_is": p != ABSENT, "ok": compared.ok}
    if needed & _OF_EVENTS:
        flags |= {"g_new": g != before(g, first), "p_new": p != before(p, first)}
    if needed & _OF_RELEASED:
        seen = {"g_seen": since(compared.gold_listed, first), "p_seen": since(compared.pred_listed, first)}
        flags |= seen | {f"{name}_before": before(flag, first) for name, flag in seen.items()}
    if "n_charged_again" in needed and convention.wrong_costs != "once":
        flags["again"] = comparison(convention).charged_again(changes.slot, g, p, compared.ok)
    if "n_dropped" in needed and compared.dropped is not None:
        flags["dropped"] = compared.dropped
    if "n_spelling" in needed:
        flags["spelling"] = spelling_errors(rows, changes)
    return flags


def _count(
    g_is: Flags,
    p_is: Flags,
    ok: Flags,
    *,
    again: Flags | None = None,
    dropped: Flags | None = None,
    spelling: Flags | None = None,
    **changed: Flags,
) -> dict[str, Flags]:
    """By column: whether a row of such flags is in the states whose size is counted, or is an event of the kind."""
    kinds = {
        "n_gold": g_is,
        "n_pred": p_is,
        "n_correct": ok,
        "n_union": g_is | p_is,
        "n_charged_again": np.zeros_like(ok) if again is None else again,
        "n_dropped": np.zeros_like(ok) if dropped is None else dropped,
        "n_spelling": np.zeros_like(ok) if spelling is None else spelling,
    }
    if changed:
        kinds |= set_slot_events(g_is, p_is, ok, changed["g_new"], changed["p_new"])
    if "g_seen" in changed:
        kinds |= gca_released(~g_is, ~p_is, ok, **changed)
    return kinds
