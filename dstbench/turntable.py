"""Long table to turn table: integer counts per turn, from which every metric is made.

The only module that looks at the previous row. The long table is sorted by (dialogue, slot, turn), so a slot's
previous turn is the row before, and no window function is needed. States seldom change from one turn to the next:
what a turn adds is worked out on the rows that changed only, added up by place (a turn's number among all turns, which
takes no hashing), and the sizes of states are running sums of their changes.

Conventions of the counts: g and p are the values under the convention (null: not in the state); g⁻ and p⁻ those of
the same slot one turn earlier (null at the slot's first row).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

import numpy as np
import polars as pl

from dstbench.conventions import Convention, match
from dstbench.errors import UsageError
from dstbench.options import View
from dstbench.schema import TURNS
from dstbench.slots import domain_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray

# Columns that are the size of something in the state: a turn has what the turn before had, and what changed.
_SIZES: Final = ("n_gold", "n_pred", "n_correct", "n_union")
# Columns that count what happened in the turn.
_EVENTS: Final = (
    "n_fresh_errors",
    "gca_correct", "gca_wrong", "gca_missed", "gca_over",
    "gca_paper_correct", "gca_paper_wrong", "gca_paper_missed", "gca_paper_over",
)  # fmt: skip
# Columns that follow from others of the turn table.
_DERIVED: Final = {"local_error": ("n_correct", "n_union", "n_fresh_errors"), "error_age": ("local_error",)}


def to_turns(
    long: pl.DataFrame | pl.LazyFrame,
    convention: Convention | None = None,
    *,
    view: View | None = None,
    columns: Collection[str] | None = None,
) -> pl.DataFrame:
    """Count what metrics need, per turn.

    Args:
        long: A long table, sorted by (dialogue, slot, turn).
        convention: What values mean; None: ``verbatim``.
        view: Restrict states to each ``domain`` or each ``slot`` in turn, and give one row per turn and domain (slot)
            from the first turn in which gold or prediction lists it.
        columns: The counts that are wanted, to save the work of the others; None: all.

    Returns:
        The turn table (schema `TURNS`; a view has its column after `turn`), sorted by dialogue, view, turn.
    """
    if view is not None and view not in get_args(View):
        raise UsageError(f"view={view!r} is none of {', '.join(get_args(View))}")
    wanted = [name for name in TURNS.columns if columns is None or name in columns]
    counted = _needs(wanted)

    rows = long.lazy()
    if view:
        rows = rows.filter(pl.col("slot").is_not_null())
    if view == "domain":
        rows = rows.with_columns(domain=over_distinct(pl.col("slot"), domain_of))
    keys = ["dialogue", *([view] if view else [])]
    rows = rows.with_columns(starts=_changes(*keys))  # a row that starts a group: a dialogue, or a slot (domain) in it
    rows = rows.with_columns(first=pl.col("starts") | _changes("slot"))
    table = rows.with_columns(changed=pl.col("first") | _changes("gold", "pred")).collect()

    place, offsets, sizes = _places(table["starts"].to_numpy(), table["turn"].to_numpy())
    total = int(sizes.sum())
    is_turn = np.zeros(total, dtype=np.bool_)
    is_turn[place] = True

    changes = table.lazy().filter("changed").pipe(_what_changed, convention or Convention())
    events = changes.select(name for name in counted if name in _SIZES or name in _EVENTS).collect()
    changed_place = place[table["changed"].to_numpy()]
    found = {}
    for name in events.columns:
        sums = np.bincount(changed_place, weights=events[name].to_numpy(), minlength=total)
        counts = _running(sums, offsets, sizes) if name in _SIZES else sums
        found[name] = counts[is_turn].astype(np.uint32)

    group = np.repeat(np.arange(len(sizes)), sizes)[is_turn]
    turn = (np.flatnonzero(is_turn) - offsets[group]).astype(np.uint16)
    names = table.filter("starts").select(keys)
    turns = names.select(pl.all().gather(group)).with_columns(pl.Series("turn", turn))
    turns = turns.with_columns(pl.Series(name, counts) for name, counts in found.items())
    if "local_error" in counted:
        first = pl.Series(np.diff(group, prepend=-1) != 0)
        turns = turns.with_columns(_local_error(first))
    if "error_age" in counted:
        turns = turns.with_columns(_error_age())
    return turns.select("dialogue", "turn", *keys[1:], *(name for name in wanted if name not in ("dialogue", "turn")))


def over_distinct(column: pl.Expr, function: Callable[[str], str]) -> pl.Expr:
    """Apply a function of strings to a dictionary column, once per distinct value."""

    def apply(series: pl.Series) -> pl.Series:
        distinct = series.unique().drop_nulls()
        return series.replace_strict(
            distinct,
            pl.Series([function(v) for v in distinct.cast(pl.String)], dtype=pl.String),
            default=None,
        ).cast(pl.Categorical)

    return column.map_batches(apply, return_dtype=pl.Categorical(), is_elementwise=True)


def _needs(columns: list[str]) -> set[str]:
    """The columns and those that they follow from."""
    needed = set(columns)
    for name in reversed(_DERIVED):
        if name in needed:
            needed.update(_DERIVED[name])
    return needed


def _changes(*names: str) -> pl.Expr:
    """Whether a row differs from the row before in any of the columns; true at the first row."""
    return pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in names) | (
        pl.int_range(pl.len()) == 0
    )


def _places(
    starts: NDArray[np.bool_], turn: NDArray[np.uint16]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """A place for every turn of every group: of each row; and of each group the first one and how many.

    A group has the places 0 … last turn, also for turns that are not there. A group's last row is in its last turn,
    as a slot has a row up to the dialogue's last turn.
    """
    first_row = np.flatnonzero(starts)
    rows = np.diff(first_row, append=len(starts))
    sizes = turn[first_row + rows - 1].astype(np.int64) + 1
    offsets = np.cumsum(sizes) - sizes
    return np.repeat(offsets, rows) + turn, offsets, sizes


def _running(changes: NDArray[np.float64], offsets: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Running sums of changes that start anew in every group; exact, as they are sums of small integers."""
    running = np.cumsum(changes)
    return running - np.repeat(running[offsets] - changes[offsets], sizes)


def _what_changed(rows: pl.LazyFrame, convention: Convention) -> pl.LazyFrame:
    """What a changed row adds to its turn: to the sizes of states, and to the counts of events.

    Args:
        rows: The changed rows, with `first` where a slot's rows begin. The row before is the slot's latest change.
        convention: What values mean.
    """
    g, p, first = pl.col("g"), pl.col("p"), pl.col("first")
    row = pl.int_range(1, pl.len() + 1, dtype=pl.UInt32)
    rows = rows.with_columns(**convention.values(), start=pl.when(first).then(row).otherwise(0).cum_max())

    def before(name: str) -> pl.Expr:
        return pl.when(~first).then(pl.col(name).shift(1))

    def seen(listed: str) -> pl.Expr:
        latest = pl.when(pl.col(listed)).then(row).otherwise(0).cum_max()
        return latest >= pl.col("start")

    rows = rows.with_columns(
        ok=match(g, p),
        g_new=g.ne_missing(before("g")),
        p_new=p.ne_missing(before("p")),
        gold_seen=seen("gold_listed"),
        pred_seen=seen("pred_listed"),
    )
    # A slot listed for the first time is a change, also if what it is listed with means absent.
    rows = rows.with_columns(
        g_change=pl.col("gold_seen") & (pl.col("g_new") | before("gold_seen").not_().fill_null(True)),
        p_change=pl.col("pred_seen") & (pl.col("p_new") | before("pred_seen").not_().fill_null(True)),
    )
    g_is, p_is, ok = g.is_not_null(), p.is_not_null(), pl.col("ok")
    rows = rows.with_columns(n_gold=g_is, n_pred=p_is, n_correct=ok, n_union=g_is | p_is)
    sizes = {name: pl.col(name).cast(pl.Int8) - before(name).cast(pl.Int8).fill_null(0) for name in _SIZES}
    g_set, p_set = pl.col("g_new") & g_is, pl.col("p_new") & p_is
    return rows.select(
        **sizes,
        n_fresh_errors=(g_set | p_set) & ~ok,
        **_gca_released(),
        gca_paper_correct=(g_set | p_set) & ok,
        gca_paper_wrong=(g_set | p_set) & g_is & p_is & ~ok,
        gca_paper_missed=g_set & ~p_is,
        gca_paper_over=p_set & ~g_is,
    )


def _gca_released() -> dict[str, pl.Expr]:
    """C, W, M, O as the authors' code counts them (SPEC §2, `released`).

    A slot that was listed and now is absent has the value "none"; gold's change and the prediction's change in the
    same cell are two events, of which the second is not counted as C (W) if the first was.
    """
    no_g, no_p = pl.col("g").is_null(), pl.col("p").is_null()
    equal = pl.col("ok") | (no_g & no_p)
    g_change, p_change = pl.col("g_change"), pl.col("p_change")
    g_seen, p_seen = pl.col("gold_seen"), pl.col("pred_seen")

    g_correct = g_change & pl.when(p_seen).then(equal).otherwise(no_g)
    g_missed = g_change & ~p_seen & ~no_g
    g_over = g_change & p_seen & ~equal & no_g
    g_wrong = g_change & p_seen & ~equal & ~no_g

    again = p_change & g_seen  # the prediction changed on a slot that gold knows
    p_over = p_change & ~g_seen & ~no_p
    p_correct = p_change & pl.when(g_seen).then(equal & ~g_correct).otherwise(no_p)
    p_missed = again & no_p & ~(equal & ~g_correct)
    p_wrong = again & ~no_p & ~equal & ~g_wrong

    def count(*events: pl.Expr) -> pl.Expr:
        return pl.sum_horizontal(event.cast(pl.UInt8) for event in events)

    return {
        "gca_correct": count(g_correct, p_correct),
        "gca_wrong": count(g_wrong, p_wrong),
        "gca_missed": count(g_missed, p_missed),
        "gca_over": count(g_over, p_over),
    }


def _local_error(first: pl.Series) -> pl.Expr:
    """FGA: a wrong turn that is the group's first, follows a right one, or has a new wrong pair."""
    wrong = pl.col("n_correct") != pl.col("n_union")
    fresh = first | ~wrong.shift(1) | (pl.col("n_fresh_errors") > 0)
    return (wrong & fresh).alias("local_error")


def _error_age() -> pl.Expr:
    """FGA: turns since the latest local error, for a wrong turn that is none itself.

    Such a turn follows a wrong one, and the first wrong turn of a group is local: the fill never leaves a group.
    """
    wrong = pl.col("n_correct") != pl.col("n_union")
    latest = pl.when("local_error").then("turn").forward_fill()
    return pl.when(wrong & ~pl.col("local_error")).then(pl.col("turn") - latest).alias("error_age")
