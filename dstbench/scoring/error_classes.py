"""Classes of errors: every slot that gold or prediction has in a turn gets one class (see `dstbench help diagnosis`).

A class depends on the slot's values in this turn and in the turn before, under the convention. A slot gets the first of
`CLASSES` that applies; classes that name a cause come before those that only say how old an error is: *fresh* if gold's
value or the predicted one has changed, else *stale*. The classes of a kind add up to the turn table's counts:
``correct`` to n_correct, ``missed`` to n_union − n_pred, ``over`` and ``no-prediction`` (the mark of a turn without a
prediction) together to n_union − n_gold, ``wrong`` to the rest of n_union. Errors of timing are counted in addition
(as in dialogue MUL2270 of the appendix of Kim et al. 2022).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.conventions.normalise import tells_slot
from dstbench.conventions.slots import domain_of
from dstbench.metrics.base import before
from dstbench.runs.run import Run
from dstbench.scoring.partitions import Part, over_parts
from dstbench.scoring.rows import lay_out
from dstbench.scoring.turns import TURN, with_is_scored
from dstbench.scoring.values import C, with_answers, with_matches
from dstbench.tables import collect

_G, _P, _IS_NEW = C("g").is_not_null(), C("p").is_not_null(), C("g_new") | C("p_new")


#: For each class, in order of precedence: its kind, and its condition on a row of `classify`.
CLASSES: Final[Mapping[str, tuple[str, pl.Expr]]] = {
    "correct": ("correct", C("ok")),
    "no-prediction": ("no-prediction", C("slot").is_null() & _P),
    "missed-fresh": ("missed", _G & ~_P & C("g_new")),  # gold has set or changed the slot in this turn
    "dropped": ("missed", _G & ~_P & C("ok_old")),  # the turn before had it right, and gold has kept it
    "missed-stale": ("missed", _G & ~_P),  # an old gold value that was missed or wrong already
    "not-updated": ("wrong", _G & C("old")),  # gold has changed, and its value of the turn before is predicted
    "wrong-swap-slot": ("wrong", _G & C("in_domain")),  # gold has the value in another slot of the domain, in this turn
    "wrong-swap-domain": ("wrong", _G & C("in_turn")),  # gold has it in a slot of another domain
    "wrong-fresh": ("wrong", _G & _IS_NEW),  # gold's value or the predicted one is new
    "wrong-stale": ("wrong", _G),  # both values are those of the turn before
    "not-deleted": ("over", _P & C("g_old").is_not_null()),  # gold had the slot in the turn before
    "over-swap-slot": ("over", _P & C("in_domain")),
    "over-swap-domain": ("over", _P & C("in_turn")),
    "over-fresh": ("over", _P & _IS_NEW),  # the predicted value is new
    "over-stale": ("over", _P),
}
_CLASS: Final = pl.Enum(list(CLASSES))
# The kinds of slots that gold has, and of those that the prediction has.
_IN_GOLD: Final = ("correct", "missed", "wrong")
_PREDICTED: Final = ("correct", "wrong", "over")


def count_classes(run: Run, convention: Convention) -> tuple[pl.DataFrame, int]:
    """How often each slot is in each class, over the scored turns; and the number of these turns."""

    def count(part: Part) -> tuple[pl.DataFrame, int]:
        rows = classify(with_is_scored(part.rows().with_counts(convention), convention), convention)
        counted = with_timing(rows, convention).filter("is_scored").drop_nulls("class")
        sizes = {"n": pl.len().cast(pl.Int64), "timed": C("timed").sum().cast(pl.Int64)}
        turns = collect(part.turns(convention).scored.select(pl.len())).item()
        return collect(counted.group_by("slot", "class").agg(**sizes)), turns

    parts = over_parts(run, count)
    counts = pl.concat([counted for counted, _ in parts]).group_by("slot", "class").agg(C("n", "timed").sum())
    named = counts.with_columns(C("slot", "class").cast(pl.String)).with_columns(kind=_kind())
    return named.select("slot", "class", "kind", "n", "timed"), sum(turns for _, turns in parts)


def list_classes(table: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """The class of every slot that gold or prediction has, in the long table's order (`SLOT_CLASSES` without `run`)."""
    rows = classify(with_is_scored(lay_out(table).with_counts(convention), convention), convention)
    same = ~C("first") & pl.all_horizontal(C(side).eq_missing(C(side).shift(1)) for side in ("gold", "pred"))
    listed = rows.with_columns(carried=same).filter("is_scored").drop_nulls("class")
    columns = ("dialogue", "turn", "domain", "slot", "gold", "pred", "kind", "class", "carried")
    names = C("class").cast(pl.String).cast(pl.Categorical)
    return collect(listed.with_columns(names, kind=_kind().cast(pl.Categorical)).select(columns))


def _kind() -> pl.Expr:
    return C("class").cast(pl.String).replace_strict({name: kind for name, (kind, _) in CLASSES.items()})


def classify(rows: pl.LazyFrame, convention: Convention) -> pl.LazyFrame:
    """Rows of a part (`partitions.Part.rows`) with their `class` (Enum); null if neither state has the slot."""
    rows = with_matches(
        rows.with_columns(g_old=before("g"), ok_old=before("ok").fill_null(value=False)),
        convention,
        "g_old",
        "p",
        "old",
    )
    rows = _with_swaps(rows)
    which = pl.coalesce(pl.when(condition).then(pl.lit(name, _CLASS)) for name, (_, condition) in CLASSES.items())
    return rows.with_columns(which.alias("class")).drop("g_old", "ok_old", "old", "in_domain", "in_turn")


def _with_swaps(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rows with `in_domain` and `in_turn`: whether gold has the predicted value in another slot of the same turn."""

    # Only wrong rows are asked: they predict another value than their own gold, so any match is with another slot.
    def telling(value: str | None) -> tuple[bool]:
        return (value is not None and tells_slot(value),)

    rows = with_answers(rows, telling, ("g",), {"g_tells": pl.Boolean()})
    in_gold = rows.filter("g_tells").select(*TURN, "domain", p="g", has=pl.lit(value=True))
    for name, keys in (("in_domain", [*TURN, "domain", "p"]), ("in_turn", [*TURN, "p"])):
        has = in_gold.select(*keys, "has").unique().rename({"has": name})
        rows = rows.join(has, on=keys, how="left", maintain_order="left").with_columns(C(name).fill_null(value=False))
    return rows.drop("g_tells")


def rate_classes(counts: pl.DataFrame, turns: int, by: str | None = None) -> pl.DataFrame:
    """Counts of classes with their rates, for the whole run or per ``domain`` or ``slot`` (`ERRORS`)."""
    domains = [None if slot is None else domain_of(slot) for slot in counts["slot"]]
    groups = counts.with_columns(pl.Series("domain", domains, pl.String)).with_columns(
        group=C(by) if by else pl.lit("")
    )
    count = C("slot").drop_nulls().n_unique().cast(pl.Int64).alias("slots")
    slots = groups.group_by("group").agg(count) if by else groups.select(pl.lit("").alias("group"), count)
    classes = pl.DataFrame(
        {"order": range(len(CLASSES)), "class": list(CLASSES), "kind": [kind for kind, _ in CLASSES.values()]}
    )
    summed = groups.group_by("group", "class").agg(C("n").sum())
    grid = slots.join(classes, how="cross").join(summed, on=["group", "class"], how="left", nulls_equal=True)
    kind, n = C("kind"), C("n")
    sizes = grid.with_columns(n.fill_null(0)).with_columns(
        gold=n.filter(kind.is_in(_IN_GOLD)).sum().over("group"),
        pred=n.filter(kind.is_in(_PREDICTED)).sum().over("group"),
    )
    inactive = turns * C("slots") - C("gold")

    def rate(of: pl.Expr, kinds: Sequence[str]) -> pl.Expr:
        return pl.when(kind.is_in(kinds) & (of > 0)).then(n / of)

    return sizes.sort("group", "order", nulls_last=True).select(
        *([C("group").alias(by)] if by else []),
        "class",
        "kind",
        n.cast(pl.UInt64),
        rate(C("gold"), _IN_GOLD).alias("of_gold"),
        rate(C("pred"), _PREDICTED).alias("of_predicted"),
        rate(inactive, ["over"]).alias("of_inactive"),
        C("gold").cast(pl.UInt64),
        C("pred").cast(pl.UInt64).alias("predicted"),
        inactive.cast(pl.UInt64).alias("inactive"),
    )


#: For each kind of error that can be an error of timing: the name of that error.
TIMING: Final = {"missed": "late", "over": "early"}


def with_timing(rows: pl.LazyFrame, convention: Convention) -> pl.LazyFrame:
    """Rows of a part (`partitions.Part.rows`) with a column `timed`: whether the row's error is one of timing."""
    missed, over = C("g").is_not_null() & C("p").is_null(), C("g").is_null() & C("p").is_not_null()
    row, slot = pl.int_range(pl.len()), C("first").cum_sum()
    # Gold keeps a slot's value in a stretch of rows; `next` is gold's next value of the same slot.
    rows = rows.with_columns(stretch=(C("first") | C("g_new")).cum_sum(), row=row, of_slot=slot)
    rows = rows.with_columns(
        last_right=pl.when("ok").then("row").max().over("stretch"),
        next=pl.when(over).then(C("g").backward_fill().over("of_slot")),
    )
    rows = with_matches(rows, convention, "next", "p", "early")
    timed = (missed & (C("row") < C("last_right"))).fill_null(value=False) | C("early")
    return rows.with_columns(timed=timed).drop("stretch", "row", "of_slot", "last_right", "next", "early")


def rate_timing(counts: pl.DataFrame, by: str | None = None) -> pl.DataFrame:
    """How many missed slots are late, and over-predicted ones early, for the whole run or per ``slot`` (`TIMING`)."""
    sums = [
        C(column).filter(C("kind") == kind).sum().cast(pl.UInt64).alias(name)
        for kind, timed in TIMING.items()
        for column, name in (("n", kind), ("timed", timed))
    ]
    table = counts.drop_nulls(by).group_by(by).agg(sums).sort(by) if by else counts.select(sums)
    shares = {f"{timed}_share": pl.when(C(kind) > 0).then(C(timed) / C(kind)) for kind, timed in TIMING.items()}
    return table.with_columns(**shares)
