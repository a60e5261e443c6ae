"""From a long table to a turn table: the counts per turn from which every metric is computed.

States seldom change from one turn to the next, so only changed rows (`scoring.changes`) are read. What each changed row
adds to a count is summed by place (`runs.layout`); the size of a state is a running sum of its changes. All of this
works on NumPy arrays of codes: partitions are small, and a Polars query would take longer to start than such a sum.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final, get_args

import numpy as np
import polars as pl

from dstbench.arrays import Flags, Numbers
from dstbench.conventions.convention import Convention
from dstbench.errors import UsageError
from dstbench.readers.frames import requested_f1, same_intent
from dstbench.runs.codes import ABSENT
from dstbench.runs.gold import gold_hashes
from dstbench.runs.layout import Layout, before, lay_out, row_changes
from dstbench.schema.core import TURNS
from dstbench.scoring.changes import Changes, find_changes, gca_released, set_slot_events, since, spelling_errors
from dstbench.scoring.compare_values import Lookup, comparison
from dstbench.typing import View

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Columns about gold's frames: whether gold has the frame; whether the active intent is right; F1 of requested slots.
_FRAMES: Final = ("is_frame", "right_intent", "requested_f1")
# Counts of slots in a state: a turn has the count of the turn before, plus what changed.
_LASTING: Final = (
    "n_gold",
    "n_pred",
    "n_correct",
    "n_union",
    "n_charged_again",
    "n_dropped",
    "n_ignored",
    "n_spelling",
)
_EXTRA: Final = ("number", "turn_hash", "gold_hash", "n_dropped", "n_ignored", "n_spelling", *_FRAMES)
# Columns that depend on whether a slot has been listed so far, and on the slot's row before.
_GCA_RELEASED: Final = frozenset({"gca_correct", "gca_wrong", "gca_missed", "gca_over"})
# All columns that depend on the slot's row before.
_OF_EVENTS: Final = frozenset(
    {"n_fresh_errors", "gca_paper_correct", "gca_paper_wrong", "gca_paper_missed", "gca_paper_over", *_GCA_RELEASED}
)
# All columns that are counts of slots.
_COUNTS: Final = {*_LASTING, *_OF_EVENTS}
# For each sum of similarities of changes: the counts of the changes that are compared.
_SOFT_CHANGES: Final = {
    f"soft_{prefix}_correct": (f"{prefix}_correct", f"{prefix}_wrong") for prefix in ("gca", "gca_paper")
}
# Columns that are computed from other columns, with these; each precedes the columns that it is computed from.
_DERIVED: Final = {"error_age": ("local_error",), "local_error": ("n_correct", "n_union", "n_fresh_errors")}
# Functions of a frame in gold and in the prediction: whether the intents agree, and F1 of the requested slots.
_SAME_INTENT: Final = Lookup(lambda gold, pred: pred is not None and same_intent(gold, pred), np.bool_)
_REQUESTED_F1: Final = Lookup(requested_f1, np.float64)


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
        convention: The convention; None: ``verbatim``.
        view: Restrict states to each ``domain`` or each ``slot``, and give one row per turn and domain (slot), from the
            first turn in which gold or prediction lists it. None: whole states.
        columns: The columns to compute, those of `TURNS` or any of these: ``number`` (UInt32), the dialogue's number in
            `long`, from 1; ``turn_hash`` and ``gold_hash`` (UInt64), the turn's shares of the fingerprint, for the turn
            itself and for what changed in its gold; ``n_dropped`` (UInt32), gold values that are dropped because their
            slots are not scored; ``n_ignored`` (UInt32), predicted values that are not scored in a scored turn;
            ``n_spelling`` (UInt32), wrong slots whose values differ by spelling only; ``is_frame``, ``right_intent``,
            ``requested_f1``, about gold's frames. None: all of `TURNS`.

    Returns:
        The turn table (schema `TURNS`; a view has its column after `turn`), sorted by dialogue, view, turn.

    Raises:
        DstbenchError: The table is not sorted or lacks part of a dialogue, or there is no such view.
    """
    if view is not None and view not in get_args(View):
        raise UsageError(f"view={view!r} is none of {', '.join(get_args(View))}")
    of_schema = ["dialogue", "turn", *([view] if view else []), *list(TURNS.columns)[2:]]
    wanted = of_schema if columns is None else [name for name in [*of_schema, *_EXTRA] if name in columns]
    needed = set(wanted)
    for name, sources in _DERIVED.items():
        if name in needed:
            needed.update(sources)
    rows = long if isinstance(long, Layout) else lay_out(long, view, frames=counts_frames(convention, view))
    turns: dict[str, Any] = {"turn": rows.of_turns(rows.number_of_place).astype(np.uint16)}
    if needed.intersection(_FRAMES):
        turns |= _compare_frames(rows)
    if needed - {"dialogue", "turn", "number", "turn_hash", *_FRAMES, view}:  # something of the states
        changes = find_changes(rows, convention or Convention())
        turns |= _count(rows, changes, needed)
        if "local_error" in needed:
            turns |= _local_errors(turns, begins=row_changes(rows.group))
        if needed & {"soft_correct", "soft_joint", *_SOFT_CHANGES}:
            turns |= _similarities(rows, changes, needed)
        if "gold_hash" in needed:
            turns["gold_hash"] = gold_hashes(rows, changes.place, changes.first, changes.slot, changes.compared.gold)
    if "dialogue" in wanted:
        turns["dialogue"] = rows.dialogue.gather(rows.number[rows.group] - 1)
    if view is not None and rows.part is not None:
        turns[view] = rows.part.gather(rows.first_row[rows.group])
    if "turn_hash" in wanted:
        turns["turn_hash"] = rows.of_turns(rows.hash_of_place)
    if "number" in wanted:
        turns["number"] = rows.number[rows.group]
    return pl.DataFrame({name: turns[name] for name in wanted})


def counts_frames(convention: Convention | None, view: View | None) -> bool:
    """Whether gold's frames count in a view under a convention."""
    return convention is not None and convention.domain_turns == "frames" and view == "domain"


def _compare_frames(rows: Layout) -> dict[str, NDArray[Any]]:
    """The columns `_FRAMES`; 0 or False where gold has no frame of the domain in the turn."""
    is_frame, same = np.zeros(rows.total, np.bool_), np.zeros(rows.total, np.bool_)
    requested = np.zeros(rows.total)
    if rows.frames is not None:
        row, gold, pred = rows.frames
        place, is_marked = rows.row_place[row], rows.pred[row] != ABSENT
        is_frame[place] = True
        same[place] = _SAME_INTENT.of(gold, pred)
        requested[place] = np.where(is_marked, 0, _REQUESTED_F1.of(gold, pred))
    return dict(zip(_FRAMES, map(rows.of_turns, (is_frame, same, requested)), strict=True))


def _count(rows: Layout, changes: Changes, needed: set[str]) -> dict[str, Numbers]:
    """The needed counts per turn, which `changes` keeps for the next call."""
    names = needed & _COUNTS
    if missing := names - changes.counts.keys():
        changes.counts.update(_count_turns(rows, changes, missing))
    return {name: changes.counts[name] for name in names}


def _count_turns(rows: Layout, changes: Changes, needed: set[str]) -> dict[str, Numbers]:
    """The needed counts per turn: what changed rows add, summed by place.

    What a row adds depends on a few flags only, so it is looked up in a table of all combinations ("cases") of them.
    As many counts as fit into 64 bits are summed at once, as the digits of one number. Here three rows of a turn add to
    two counts, `n_gold` and `n_pred`: two rows have gold and prediction, the third has a prediction only.

    >>> rows = np.array([[1, 1], [1, 1], [0, 1]], np.uint32)
    >>> rows.view(np.int64).sum(axis=0).view(np.uint32)
    array([2, 3], dtype=uint32)

    No digit overflows: a count is at most the number of rows of its group.
    """
    flags = _flags(rows, changes, needed)
    case_of_row = np.zeros(len(changes.row), np.uint16)
    for bit, flag in enumerate(flags.values()):
        case_of_row |= flag.view(np.uint8).astype(np.uint16) << bit
    cases = np.arange(2 ** len(flags), dtype=np.uint16)
    adds_in_case = _adds(**{name: (cases >> bit & 1).astype(np.bool_) for bit, name in enumerate(flags)})
    most = np.diff(rows.first_row, append=len(rows.turn)).max(initial=1)
    digit = next(dtype for dtype in (np.uint8, np.uint16, np.uint32) if most <= np.iinfo(dtype).max)
    at_once = 8 // digit(0).nbytes
    counts: dict[str, Numbers] = {}
    for lasts in (True, False):
        names = [name for name in adds_in_case if name in needed and (name in _LASTING) == lasts]
        for batch in (names[start : start + at_once] for start in range(0, len(names), at_once)):
            digits = np.zeros((len(cases), at_once), digit)
            for column, name in enumerate(batch):
                digits[:, column] = adds_in_case[name]
            adds = digits.view(np.int64)[:, 0].take(case_of_row)
            sums = np.zeros(rows.total + 1, np.int64)
            np.add.at(sums, changes.place, adds)  # far slower if the two arrays are of different types
            if lasts:  # a row counts from its place to the end of its run of identical rows
                np.subtract.at(sums, changes.after, adds)
                np.cumsum(sums, out=sums)
            columns = rows.of_turns(sums[:-1]).view(digit).reshape(-1, at_once)
            for column, name in enumerate(batch):
                counts[name] = columns[:, column].astype(np.uint32)
    return counts


def _flags(rows: Layout, changes: Changes, needed: set[str]) -> dict[str, Flags]:
    """For each changed row: the flags that decide what it adds to the needed counts."""
    compared, first, convention = changes.compared, changes.first, changes.convention
    g, p = compared.gold, compared.pred
    flags = {"g_is": g != ABSENT, "p_is": p != ABSENT, "ok": compared.ok}
    if needed & _OF_EVENTS:
        flags |= {"g_new": g != before(g, first), "p_new": p != before(p, first)}
    if needed & _GCA_RELEASED:
        seen = {"g_seen": since(compared.gold_listed, first), "p_seen": since(compared.pred_listed, first)}
        flags |= seen | {f"{name}_before": before(flag, first) for name, flag in seen.items()}
    if "n_charged_again" in needed and convention.wrong_costs != "once":
        flags["n_charged_again"] = comparison(convention).charged_again(g, p, compared.ok)
    if "n_dropped" in needed and compared.dropped is not None:
        flags["n_dropped"] = compared.dropped
    if "n_ignored" in needed:
        flags["n_ignored"] = compared.ignored
    if "n_spelling" in needed:
        flags["n_spelling"] = spelling_errors(rows, changes)
    return flags


def _adds(g_is: Flags, p_is: Flags, ok: Flags, **others: Flags) -> dict[str, Flags]:
    """For each column: whether rows with these flags (`_flags`) add 1 to it."""
    adds = {"n_gold": g_is, "n_pred": p_is, "n_correct": ok, "n_union": g_is | p_is}
    for name in ("n_charged_again", "n_dropped", "n_ignored", "n_spelling"):
        adds[name] = others.pop(name, np.zeros_like(ok))
    if "g_new" in others:
        adds |= set_slot_events(g_is, p_is, ok, others["g_new"], others["p_new"])
    if "g_seen" in others:
        adds |= gca_released(~g_is, ~p_is, ok, **others)
    return adds


def _local_errors(counts: dict[str, Any], begins: Flags) -> dict[str, Any]:
    """FGA's columns: `local_error`, and `error_age` of the wrong turns that only carry an old error.

    A wrong turn is a local error if it is the group's first turn, follows a right turn, or has a new wrong pair. So the
    first wrong turn of a group is always one, and the latest local error before a wrong turn is in the same group.
    """
    wrong = counts["n_correct"] != counts["n_union"]
    local = wrong & (begins | ~before(wrong, begins) | (counts["n_fresh_errors"] > 0))
    at = np.flatnonzero(local)
    latest = np.zeros_like(counts["turn"])  # for each row: the turn of the latest local error, if there is one
    latest[at[0] if len(at) else len(latest) :] = np.repeat(counts["turn"][at], np.diff(at, append=len(local)))
    age = pl.Series(counts["turn"] - latest)
    nothing = pl.Series([None], dtype=age.dtype)
    return {"local_error": local, "error_age": age.zip_with(pl.Series(wrong & ~local), nothing)}


def _similarities(rows: Layout, changes: Changes, needed: set[str]) -> dict[str, Any]:
    """Sums and products of a turn's similarities, where a slot of one side has similarity 0.

    `soft_correct` and `soft_joint` are of the state; of the changes (`_SOFT_CHANGES`), two absent values are equal.
    """
    g, p = changes.compared.gold, changes.compared.pred
    both = (g != ABSENT) & (p != ABSENT)
    changed = ((g == ABSENT) & (p == ABSENT)).astype(np.float64)
    changed[both] = comparison(changes.convention).similarity(changes.slot[both], g[both], p[both])
    # Floats are added and multiplied in the order of rows, so the result has the same bits on any number of threads.
    similarity = changes.of_rows(changed, len(rows.turn))
    in_both = changes.of_rows(both, len(rows.turn))
    correct = np.bincount(rows.row_place, weights=np.where(in_both, similarity, 0.0), minlength=rows.total)
    unequal = np.flatnonzero(similarity != 1)
    joint = np.ones(rows.total)
    np.multiply.at(joint, rows.row_place[unequal], similarity[unequal])
    columns = {"soft_correct": rows.of_turns(correct), "soft_joint": rows.of_turns(joint)}
    for name in needed & _SOFT_CHANGES.keys():
        # A slot counts at most once as C or W in a turn, so its change has the similarity of its row.
        correct_or_wrong = _SOFT_CHANGES[name]
        adds = _adds(**_flags(rows, changes, set(correct_or_wrong)))
        weights = np.where(np.logical_or(*(adds[count] for count in correct_or_wrong)), changed, 0.0)
        columns[name] = rows.of_turns(np.bincount(changes.place, weights=weights, minlength=rows.total))
    return columns
