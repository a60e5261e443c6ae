"""Long table to turn table: integer counts per turn, from which every metric is made.

The only module that looks at the previous row. As the long table is sorted by (dialogue, slot, turn), a slot's
previous turn is the previous row, "seen before" is a running maximum, and no window function is needed.

Conventions of the counts: g and p are the values under the convention (null: not in the state); g⁻ and p⁻ those of
the same slot one turn earlier (null at the slot's first row).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

import polars as pl

from dstbench.conventions import Convention, match
from dstbench.errors import UsageError
from dstbench.options import View
from dstbench.schema import MAX_TURN, TURNS
from dstbench.slots import domain_of

if TYPE_CHECKING:
    from collections.abc import Callable

_TURNS: Final = MAX_TURN + 1
_FLAGS: Final = (
    "n_gold", "n_pred", "n_correct", "n_union", "n_fresh_errors",
    "gca_correct", "gca_wrong", "gca_missed", "gca_over",
    "gca_paper_correct", "gca_paper_wrong", "gca_paper_missed", "gca_paper_over",
)  # fmt: skip


def to_turns(long: pl.LazyFrame, convention: Convention | None = None, *, view: View | None = None) -> pl.LazyFrame:
    """Count what metrics need, per turn.

    Args:
        long: A long table, sorted by (dialogue, slot, turn).
        convention: What values mean; None: ``verbatim``.
        view: Restrict states to each ``domain`` or each ``slot`` in turn, and give one row per turn and domain (slot)
            from the first turn in which gold or prediction lists it.

    Returns:
        The turn table (schema `TURNS`; a view has its column after `turn`), sorted by dialogue, view, turn. Columns
        that are not used downstream are not computed.
    """
    return count_turns(long, convention or Convention(), view).select(_columns(view))


def count_turns(long: pl.LazyFrame, convention: Convention, view: View | None = None) -> pl.LazyFrame:
    """The turn table as `to_turns` gives it, with `number` (UInt32) beside it: the dialogue's place in the table."""
    if view is not None and view not in get_args(View):
        raise UsageError(f"view={view!r} is none of {', '.join(get_args(View))}")
    rows = _row_flags(long, convention)
    if view:
        rows = rows.filter(pl.col("slot").is_not_null())
    if view == "slot":  # a row of the long table is a row of the view
        turns = rows.with_columns(pl.col(_FLAGS).cast(pl.UInt32))
    else:
        # One integer is a cheaper key than a string and a turn, and sorts as they do.
        key = pl.col("number").cast(pl.UInt64) * _TURNS + pl.col("turn")
        keys = [key.alias("key")]
        if view == "domain":
            keys.append(over_distinct(pl.col("slot"), domain_of).alias("domain"))
        turns = (
            rows.group_by(keys)
            .agg(pl.col("dialogue").first(), pl.col(_FLAGS).sum())
            .with_columns(
                number=(pl.col("key") // _TURNS).cast(pl.UInt32), turn=(pl.col("key") % _TURNS).cast(pl.UInt16)
            )
            .sort(["number", "domain", "turn"] if view else ["key"])
        )
    group = _changes("number", *([view] if view else []))
    return turns.with_columns(_local_error(group)).with_columns(_error_age())


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


def _columns(view: View | None) -> list[str]:
    names = list(TURNS.columns)
    return [*names[:2], *([view] if view else []), *names[2:]]


def _changes(*names: str) -> pl.Expr:
    """Whether a row differs from the row before in any of the columns; true at the first row."""
    return pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in names) | (
        pl.int_range(pl.len()) == 0
    )


def _row_flags(long: pl.LazyFrame, convention: Convention) -> pl.LazyFrame:
    """Per row of the long table: what it adds to its turn's counts."""
    g, p = pl.col("g"), pl.col("p")
    first, row = pl.col("first"), pl.int_range(1, pl.len() + 1, dtype=pl.UInt32)
    rows = long.with_columns(**convention.values(), next_dialogue=_changes("dialogue"))
    rows = rows.with_columns(
        ok=match(g, p),
        number=pl.col("next_dialogue").cum_sum().cast(pl.UInt32),
        first=pl.col("next_dialogue") | _changes("slot"),
    )
    rows = rows.with_columns(start=pl.when(first).then(row).otherwise(0).cum_max())

    def before(name: str) -> pl.Expr:
        return pl.when(~first).then(pl.col(name).shift(1))

    def seen(listed: str) -> pl.Expr:
        latest = pl.when(pl.col(listed)).then(row).otherwise(0).cum_max()
        return latest >= pl.col("start")

    rows = rows.with_columns(
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
    g_set, p_set = pl.col("g_new") & g_is, pl.col("p_new") & p_is
    return rows.select(
        "dialogue",
        "number",
        "slot",
        "turn",
        n_gold=g_is,
        n_pred=p_is,
        n_correct=ok,
        n_union=g_is | p_is,
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
        return pl.sum_horizontal(event.cast(pl.UInt32) for event in events)

    return {
        "gca_correct": count(g_correct, p_correct),
        "gca_wrong": count(g_wrong, p_wrong),
        "gca_missed": count(g_missed, p_missed),
        "gca_over": count(g_over, p_over),
    }


def _local_error(first: pl.Expr) -> pl.Expr:
    """FGA: a wrong turn that is the first, follows a right one, or has a new wrong pair."""
    wrong = pl.col("n_correct") != pl.col("n_union")
    fresh = first | ~wrong.shift(1) | (pl.col("n_fresh_errors") > 0)
    return (wrong & fresh).alias("local_error")


def _error_age() -> pl.Expr:
    """FGA: turns since the latest local error, for a wrong turn that is none itself.

    Such a turn follows a wrong one, and the first wrong turn of a dialogue is local: the fill never leaves a dialogue.
    """
    wrong = pl.col("n_correct") != pl.col("n_union")
    latest = pl.when("local_error").then("turn").forward_fill()
    return pl.when(wrong & ~pl.col("local_error")).then(pl.col("turn") - latest).alias("error_age")
