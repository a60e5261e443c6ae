"""The turn table: the counts per turn from which every metric is computed, by summing what each row adds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, get_args

import polars as pl

from dstbench.conventions.convention import SLOT_KINDS, Convention
from dstbench.conventions.slots import domain_of
from dstbench.errors import UsageError
from dstbench.metrics.base import summable
from dstbench.schema.core import SEEN, TURNS
from dstbench.scoring.rows import COUNTS, SPELLED, lay_out
from dstbench.scoring.values import C
from dstbench.tables import collect
from dstbench.typing import View

#: The columns that identify a turn in a table of several dialogues.
TURN: Final = ("number", "turn")
#: The values, where not 0, of a turn whose states are both empty.
EMPTY_TURN: Final[Mapping[str, Any]] = {"local_error": False, "error_age": None, "soft_joint": 1.0}
# For each sum of similarities of changes: the counts of the changes that are compared.
_SOFT_CHANGES: Final = {f"soft_{name}_correct": (f"{name}_correct", f"{name}_wrong") for name in ("gca", "gca_paper")}


def to_turns(
    long: pl.DataFrame,
    convention: Convention | None = None,
    *,
    view: View | None = None,
    columns: Collection[str] | None = None,
    counts: Mapping[str, pl.Expr] | None = None,
) -> pl.DataFrame:
    """Count what metrics need, per turn.

    Args:
        long: A long table, sorted by (dialogue, slot, turn), of whole dialogues.
        convention: The convention; None: ``verbatim``.
        view: Restrict states to each ``domain`` or each ``slot``, and give one row per turn and domain (slot), from the
            first turn in which gold or prediction lists it. None: whole states.
        columns: The columns to compute; None: all of `TURNS`, and `counts`.
        counts: Further columns: expressions over judged rows, which are summed per turn (see `dstbench.turns`).

    Returns:
        The turn table (schema `TURNS`; a view has its column after `turn`), sorted by dialogue, view, turn.

    Raises:
        DstbenchError: The table is not sorted or lacks part of a dialogue, or there is no such view.
    """
    if view is not None and view not in get_args(View):
        raise UsageError(f"view={view!r} is none of {', '.join(get_args(View))}")
    convention = convention or Convention()
    rows = lay_out(long).with_counts(convention)
    wanted = ["dialogue", "turn", *([view] if view else []), *list(TURNS.columns)[2:], *(counts or {})]
    table = turn_table(rows, view, summable(counts or {}))
    return collect(table.select(wanted if columns is None else list(columns)))


def turn_table(
    rows: pl.LazyFrame, view: View | None = None, counts: Mapping[str, pl.Expr] | None = None
) -> pl.LazyFrame:
    """Counts per turn, or per turn and domain (slot), of what `Rows.with_counts` returned.

    In a view, a dialogue's turns are those from the first in which gold or prediction lists the domain (slot). The
    columns are number (UInt32, the dialogue's number in the table, from 1), the view's, a slot's `domain`, those of
    `schema.TURNS`, n_dropped, n_ignored, n_spelling (slots that are wrong by spelling only), and `counts` (further
    expressions over the rows, which are summed); sorted by dialogue, view, turn.
    """
    counts = counts or {}
    # Before grouping, as some expressions are slow in groups. Within a group, rows keep their order, so sums and
    # products of floats have the same bits on any number of threads.
    credit = C("credit").fill_null(0.0)
    # A row's similarity of p to g, 0 where only one of them is in the state: of the state, and of what has changed.
    similarity = pl.when("n_union").then(credit).otherwise(1.0)
    of_changes = {
        name: pl.when(C(right) | C(wrong)).then(similarity).otherwise(0.0)
        for name, (right, wrong) in _SOFT_CHANGES.items()
    }
    rows = rows.with_columns(soft_correct=credit, soft_joint=similarity, **of_changes, **counts, n_spelling=SPELLED)
    if view is not None:
        rows = rows.drop_nulls(view)
    group = ["number", *([view] if view else [])]
    table = rows.group_by("key", *group[1:]).agg(
        C("dialogue", *(["domain"] if view == "slot" else [])).first(),
        C(COUNTS).sum().cast(pl.UInt32),
        C("soft_correct").sum(),
        C("soft_joint").product(),
        C(*_SOFT_CHANGES).sum(),
        **{name: C(name).sum() for name in counts},
        n_spelling=C("n_spelling").sum().cast(pl.UInt32),
    )
    turn = (C("key") % 2**16).cast(pl.UInt16)
    turns = table.with_columns(number=(C("key") // 2**16).cast(pl.UInt32), turn=turn)
    turns = turns.sort(*(group if view else ()), "key").drop("key")
    # FGA: a wrong turn is a local error, or only carries an old one.
    begins = pl.any_horizontal(C(group).ne_missing(C(group).shift(1)))
    wrong = C("n_correct") != C("n_union")
    local = wrong & (begins | ~wrong.shift(1, fill_value=False) | (C("n_fresh_errors") > 0))
    age = C("turn") - pl.when("local_error").then("turn").forward_fill()
    return turns.with_columns(local_error=local).with_columns(error_age=pl.when(wrong & ~C("local_error")).then(age))


def scored_turns(turns: pl.LazyFrame, convention: Convention) -> pl.LazyFrame:
    """The turns that the convention scores; if it drops turns, without those whose gold values are all dropped."""
    if convention.drops_turns:
        turns = turns.filter((C("n_gold") > 0) | (C("n_dropped") == 0))
    if convention.turns == "last":
        return turns.filter(C("number") != C("number").shift(-1, fill_value=0))
    return turns if convention.turns == "all" else turns.filter(C(f"n_{convention.turns}") > 0)


def with_is_scored(rows: pl.LazyFrame, convention: Convention) -> pl.LazyFrame:
    """Rows of `Rows.with_counts` with `is_scored`, whether the convention scores the turn."""
    if convention.turns == "all" and not convention.drops_turns:
        return rows.with_columns(is_scored=pl.lit(value=True))
    scored = scored_turns(turn_table(rows), convention).select(*TURN, is_scored=pl.lit(value=True))
    joined = rows.join(scored, on=TURN, how="left", maintain_order="left")
    return joined.with_columns(C("is_scored").fill_null(value=False))


def view_of(by: Sequence[str], convention: Convention) -> tuple[View | None, bool]:
    """The view whose turns are grouped, and whether gold's frames count in it."""
    if "slot" in by:
        return "slot", False
    if "domain" in by or convention.unit == "frame":
        return "domain", convention.domain_turns == "frames"
    return None, False


def counted_turns(
    scored: pl.LazyFrame, in_view: pl.LazyFrame, view: View, convention: Convention, *, frames: bool
) -> pl.LazyFrame:
    """The rows of a view (`in_view`) that are summed: those of scored turns that count for their domain (slot).

    `scored` has the scored turns without a view. `in_view` has a domain's turns from the first that lists it, scored or
    not, so it shows which domains a dialogue has. `frames`: whether its rows have gold's frames; then each must have
    one.
    """
    counted, in_gold = in_view.join(scored.select(TURN), on=TURN, how="semi", maintain_order="left"), C("n_gold") > 0
    if view == "domain" and frames:
        counted = counted.filter(C("is_frame") > 0)
        if convention.slots in SLOT_KINDS and convention.scope is not None:  # only services that have such a slot
            services = sorted({domain_of(slot) for slot in convention.scope})
            counted = counted.filter(C("domain").cast(pl.String).is_in(services))
    elif view == "domain" and convention.domain_turns == "dialogue":
        domains, keys = in_view.filter(in_gold).select("number", "domain").unique(), [*TURN, "domain"]
        turns = scored.select(*TURN, "dialogue").join(domains, on="number", maintain_order="left")
        counted = turns.join(counted.drop("dialogue"), on=keys, how="left", maintain_order="left")
        names = [name for name in counted.collect_schema() if name not in ("dialogue", "error_age", *keys)]
        counted = counted.with_columns(C(name).fill_null(EMPTY_TURN.get(name, 0)) for name in names)
    elif view == "domain":
        counted = counted.filter(in_gold | (C("n_pred") > 0) if convention.domain_turns == "either" else in_gold)
    if convention.seen is not None:
        seen = C("domain").cast(pl.String).is_in(sorted(convention.seen.services))
        counted = counted.with_columns(pl.when(seen).then(pl.lit("seen")).otherwise(pl.lit("unseen")).alias(SEEN))
    return counted
