"""What each row adds to the counts of its turn: expressions over judged rows (`scoring.values`).

Rows are sorted by (dialogue, slot, turn), so a slot's turn before is the row before. A *change* is a row whose value
differs from the row before, on one side; a slot is *listed* where the file has it, even with a value that means "not in
the state", and *seen* from then on.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.scoring.rows import C, Rows
from dstbench.scoring.values import judged

_KINDS: Final = ("correct", "wrong", "missed", "over")
#: What a row may add to the count of this name, 0 or 1.
COUNTS: Final = (
    *("n_gold", "n_pred", "n_correct", "n_union", "n_charged_again", "n_fresh_errors"),
    *(f"gca_{kind}" for kind in _KINDS),
    *(f"gca_paper_{kind}" for kind in _KINDS),
    *("n_dropped", "n_ignored"),
)


def with_events(laid_out: Rows, convention: Convention) -> pl.LazyFrame:
    """Rows of whole dialogues, judged, with `g_new`, `p_new` (see `is_new`), and `COUNTS`, each a Boolean."""
    rows = judged(laid_out, convention)
    for side in "gp":
        is_listed = C(f"{side}_listed")
        rows = rows.with_columns(
            C(side).is_not_null().alias(f"{side}_is"),
            is_new(side).alias(f"{side}_new"),
            pl.when(is_listed | C("first")).then(is_listed).forward_fill().alias(f"{side}_seen"),
        )
    rows = rows.with_columns(
        equal=C("ok") | ~(C("g_is") | C("p_is")),
        **{f"{side}_set": C(f"{side}_new") & C(f"{side}_is") for side in "gp"},
        **{
            f"{side}_change": C(f"{side}_seen") & (C(f"{side}_new") | C("first") | ~C(f"{side}_seen").shift(1))
            for side in "gp"
        },
    )
    is_set = C("g_set") | C("p_set")
    return rows.with_columns(
        n_gold="g_is",
        n_pred="p_is",
        n_correct="ok",
        n_union=C("g_is") | C("p_is"),
        n_charged_again=_charged_again(convention),
        n_fresh_errors=is_set & ~C("ok"),
        n_dropped="dropped",
        n_ignored="ignored",
        **_released(),
        gca_paper_correct=is_set & C("ok"),
        gca_paper_wrong=is_set & C("g_is") & C("p_is") & ~C("ok"),
        gca_paper_missed=C("g_set") & ~C("p_is"),
        gca_paper_over=C("p_set") & ~C("g_is"),
    ).drop("g_is", "p_is", "g_seen", "p_seen", "equal", "g_set", "p_set", "g_change", "p_change")


def is_new(side: str) -> pl.Expr:
    """Whether a judged row's value, of column `g` or `p`, differs from that of the row before."""
    return pl.when("first").then(C(side).is_not_null()).otherwise(C(side).ne_missing(C(side).shift(1)))


def _released() -> dict[str, pl.Expr]:
    """GCA's C, W, M, O as the authors' code counts them.

    A slot that was listed and now is absent has the value "none". A slot that is listed for the first time counts as a
    change, even with a value that means "not in the state". If both gold and prediction change, these are two events,
    but the prediction's is not counted as C (or W) if gold's was: a row adds at most 1 to each count.
    """
    g_is, p_is, equal = C("g_is"), C("p_is"), C("equal")
    g_change, p_change, g_seen, p_seen = C("g_change"), C("p_change"), C("g_seen"), C("p_seen")
    g_correct = g_change & pl.when(p_seen).then(equal).otherwise(~g_is)
    g_wrong = g_change & p_seen & ~equal & g_is
    g_missed = g_change & ~p_seen & g_is
    g_over = g_change & p_seen & ~equal & ~g_is
    p_correct = p_change & pl.when(g_seen).then(equal & ~g_correct).otherwise(~p_is)
    p_wrong = p_change & g_seen & p_is & ~equal & ~g_wrong
    p_missed = p_change & g_seen & ~p_is & ~(equal & ~g_correct)
    p_over = p_change & ~g_seen & p_is
    return {
        "gca_correct": g_correct | p_correct,
        "gca_wrong": g_wrong | p_wrong,
        "gca_missed": g_missed | p_missed,
        "gca_over": g_over | p_over,
    }


def _charged_again(convention: Convention) -> pl.Expr:
    """Whether slot accuracy counts a wrong value as two errors."""
    wrong = C("g_is") & C("p_is") & ~C("ok")
    if convention.wrong_costs == "once":
        return pl.lit(value=False)
    if convention.wrong_costs == "twice":
        return wrong
    # Scripts that split ``slot-value`` at the last hyphen take two values for values of different slots.
    before_hyphen = (C(side).cast(pl.String).str.extract(r"(?s)^(.*)-").fill_null("") for side in ("g", "p"))
    one, other = before_hyphen
    return wrong & (one != other).fill_null(value=False)
