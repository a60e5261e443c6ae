"""Long table to kinds of errors: one class for every slot of every turn that gold or prediction has.

Conventions: a class looks at a slot's values in this turn and in the one before, under the convention, and the first
of `CLASSES` that applies is the slot's, so that each has one. Those that name a cause come before those that only say
how old an error is. The classes of a kind add up to the turn table's counts: ``correct`` to n_correct, ``missed`` to
n_union − n_pred, ``over`` to n_union − n_gold, ``wrong`` to the rest of n_union.

What a cause does not explain is *fresh* if gold's value or the predicted one is another than in the turn before, and
else *stale*, carried over. A cause is seen in the turn in which it acts: a value that is not updated is not-updated
where gold changes, and wrong-stale from then on. Swapped values may have come up by chance; those that tell nothing of
their slot (yes, no, dontcare) are never taken for swapped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dstbench.conventions.normalise import tells_slot
from dstbench.conventions.slots import domain_of
from dstbench.runs.codes import ABSENT, to_column, to_strings
from dstbench.runs.frames import states_only
from dstbench.runs.layout import Layout, before, lay_out, over_distinct
from dstbench.scoring.changes import find_changes
from dstbench.scoring.compare_values import comparison
from dstbench.scoring.partitions import over_partitions
from dstbench.scoring.scored_turns import columns_of_scored, scored_turns
from dstbench.scoring.turn_table import to_turns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dstbench.arrays import Codes, Flags, Hashes
    from dstbench.conventions.convention import Convention
    from dstbench.runs.run import Run


#: Class to its kind and its condition, in the order of precedence.
CLASSES: Final[Mapping[str, tuple[str, str]]] = {
    "correct": ("correct", "gold matches prediction"),
    "no-prediction": ("over", "the mark of a turn without a prediction (--missing wrong), which is of no slot"),
    "missed-fresh": ("missed", "gold has set or changed the slot in this turn"),
    "dropped": ("missed", "the turn before had it right, and gold has kept it"),
    "missed-stale": ("missed", "an old gold value that was missed or wrong already"),
    "not-updated": ("wrong", "gold has changed, and its value of the turn before is predicted"),
    "wrong-swap-slot": ("wrong", "gold has the predicted value in another slot of the domain, in this turn"),
    "wrong-swap-domain": ("wrong", "gold has the predicted value in a slot of another domain, in this turn"),
    "wrong-fresh": ("wrong", "gold's value or the predicted one is new"),
    "wrong-stale": ("wrong", "both values are those of the turn before"),
    "not-deleted": ("over", "gold had the slot in the turn before"),
    "over-swap-slot": ("over", "gold has the predicted value in another slot of the domain, in this turn"),
    "over-swap-domain": ("over", "gold has the predicted value in a slot of another domain, in this turn"),
    "over-fresh": ("over", "the predicted value is new"),
    "over-stale": ("over", "the predicted value is that of the turn before"),
}
_NUMBER: Final = {name: number for number, name in enumerate(CLASSES)}
_NOTHING: Final = len(CLASSES)  # the slot is in neither state


def count_classes(run: Run, convention: Convention) -> tuple[pl.DataFrame, int]:
    """How often each slot is in each class, over the turns that the convention scores.

    Args:
        run: The run.
        convention: What values mean and which turns count; the unit is the turn.

    Returns:
        (slot: String, null for ``no-prediction``; class: String; n: Int64), what never occurs left out, in no
        particular order; and the number of turns.
    """

    def part(table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
        rows = lay_out(table)
        found, (scored, turns) = classify(rows, convention), scored_places(rows, convention)
        at = np.flatnonzero((found != _NOTHING) & scored[rows.row_place])
        counted = pl.DataFrame({"slot": to_column(rows.slot[at]), "number": found[at]})
        return counted.group_by("slot", "number").agg(n=pl.len().cast(pl.Int64)), turns

    parts = over_partitions(run, part)
    names = pl.DataFrame(
        {"number": list(_NUMBER.values()), "class": list(_NUMBER)}, schema_overrides={"number": pl.UInt8}
    )
    whole = pl.concat([counted for counted, _ in parts]).group_by("slot", "number").agg(pl.col("n").sum())
    named = whole.join(names, on="number").select(pl.col("slot").cast(pl.String), "class", "n")
    return named, sum(turns for _, turns in parts)


def list_classes(table: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """The class of every slot that gold or prediction has, turn by turn.

    Args:
        table: A long table, sorted, of whole dialogues.
        convention: What values mean, and which turns count.

    Returns:
        The columns of `schema.analysis.SLOT_CLASSES` but `run`, in the order of the long table.
    """
    table = states_only(table)
    rows = lay_out(table)
    found = classify(rows, convention)
    at = np.flatnonzero((found != _NOTHING) & scored_places(rows, convention)[0][rows.row_place])
    names, kinds = list(CLASSES), [kind for kind, _ in CLASSES.values()]
    number = pl.Series(found[at], dtype=pl.UInt32)
    return table[at].select(
        "dialogue",
        "turn",
        over_distinct(table["slot"], domain_of).gather(at).alias("domain"),
        "slot",
        "gold",
        "pred",
        pl.Series("kind", kinds, pl.Categorical).gather(number),
        pl.Series("class", names, pl.Categorical).gather(number),
        pl.Series("carried", ~rows.differs[at]),
    )


def classify(rows: Layout, convention: Convention) -> NDArray[np.uint8]:
    """The class of every row of a long table, as its number in `CLASSES`; one more where neither state has the slot."""
    changes = find_changes(rows, convention)
    compared = changes.compared
    gold, pred, ok = (changes.of_rows(c, len(rows.turn)) for c in (compared.gold, compared.pred, compared.ok))
    there = (gold != ABSENT) | (pred != ABSENT)
    found = np.where(there, _NUMBER["correct"], _NOTHING).astype(np.uint8)

    at = np.flatnonzero(there & ~ok)
    slot, g, p = rows.slot[at], gold[at], pred[at]
    g_old, p_old = (before(column, rows.first)[at] for column in (gold, pred))
    was_right = before(ok, rows.first)[at]
    no_g, no_p = g == ABSENT, p == ABSENT
    in_slot, in_domain = _swapped(rows, gold, pred, at)
    is_new = (g != g_old) | (p != p_old)
    conditions = {
        "no-prediction": rows.bare[at],
        "missed-fresh": no_p & (g != g_old),
        "dropped": no_p & was_right,
        "missed-stale": no_p,
        "not-updated": ~no_g & comparison(convention).match(slot, g_old, p),
        "wrong-swap-slot": ~no_g & in_slot,
        "wrong-swap-domain": ~no_g & in_domain,
        "wrong-fresh": ~no_g & is_new,
        "wrong-stale": ~no_g,
        "not-deleted": g_old != ABSENT,
        "over-swap-slot": in_slot,
        "over-swap-domain": in_domain,
        "over-fresh": is_new,
    }
    numbers = [np.uint8(_NUMBER[name]) for name in conditions]
    found[at] = np.select(list(conditions.values()), numbers, np.uint8(_NUMBER["over-stale"]))
    return found


def _swapped(rows: Layout, gold: Codes, pred: Codes, at: NDArray[Any]) -> tuple[Flags, Flags]:
    """Whether gold has what is predicted in wrong rows elsewhere in their turn: in their domain, and in any."""
    p = pred[at]
    values, number = np.unique(p, return_inverse=True)
    known = values[values != ABSENT]
    telling = np.zeros(len(values), dtype=np.bool_)
    telling[: len(known)] = [tells_slot(value) for value in to_strings(known)]  # `ABSENT` is the last code
    asked = np.flatnonzero(telling[number])

    def among(place: NDArray[Any]) -> Flags:
        # A row's own gold value is another than what it wrongly predicts: a match is always another slot's.
        found = np.zeros(len(at), dtype=np.bool_)
        wanted = np.zeros(int(place.max(initial=0)) + 1, dtype=np.bool_)
        wanted[place[at[asked]]] = True
        listed = np.flatnonzero(wanted[place] & (gold != ABSENT))
        found[asked] = np.isin(_cell(place[at[asked]], p[asked]), _cell(place[listed], gold[listed]))
        return found

    return among(rows.domain_place), among(rows.turn_place)


def _cell(place: NDArray[Any], value: Codes) -> Hashes:
    """One number per place and value."""
    cell: Hashes = place.astype(np.uint64) << np.uint64(32) | value
    return cell


def scored_places(rows: Layout, convention: Convention) -> tuple[Flags, int]:
    """Of each place of a layout: whether its turn is one that the convention scores; and how many turns are."""
    turns = to_turns(rows, convention, columns={"number", "turn", *columns_of_scored(convention)})
    kept = scored_turns(turns.with_columns(place=np.flatnonzero(rows.is_turn)), convention)["place"]
    scored = np.zeros(rows.total, dtype=np.bool_)
    scored[kept.to_numpy()] = True
    return scored, kept.len()


def rate_classes(counts: pl.DataFrame, turns: int, by: str | None = None) -> pl.DataFrame:
    """Counts of classes with their rates, for the whole run, per ``domain`` or per ``slot``.

    Args:
        counts: What `count_classes` gives.
        turns: The number of turns, likewise.
        by: What to group by; None: the run.

    Returns:
        The columns of `schema.analysis.ERRORS` but `run`, with a column `by` in front; every class of every group, in
        the order of `CLASSES`.
    """
    domains = [None if slot is None else domain_of(slot) for slot in counts["slot"]]
    listed = counts.with_columns(pl.Series("domain", domains, pl.String))
    groups = listed.select(pl.lit("").alias("group") if by is None else pl.col(by).alias("group"), "slot", "class", "n")
    size = pl.col("slot").drop_nulls().n_unique().cast(pl.Int64).alias("slots")
    slots = groups.group_by("group").agg(size) if by else groups.select(pl.lit("").alias("group"), size)
    kinds = pl.DataFrame(
        [(number, name, kind) for number, (name, (kind, _)) in enumerate(CLASSES.items())],
        schema={"order": pl.Int64, "class": pl.String, "kind": pl.String},
        orient="row",
    )
    summed = groups.group_by("group", "class").agg(pl.col("n").sum())
    grid = slots.join(kinds, how="cross").join(summed, on=["group", "class"], how="left", nulls_equal=True)
    kind, n = pl.col("kind"), pl.col("n")
    sizes = grid.with_columns(n.fill_null(0)).with_columns(
        gold=n.filter(kind != "over").sum().over("group"), pred=n.filter(kind != "missed").sum().over("group")
    )
    inactive = turns * pl.col("slots") - pl.col("gold")

    def rate(of: pl.Expr, *kinds: str) -> pl.Expr:
        return pl.when(kind.is_in(kinds) & (of > 0)).then(n / of)

    return sizes.sort("group", "order", nulls_last=True).select(
        *([pl.col("group").alias(by)] if by else []),
        "class",
        "kind",
        n.cast(pl.UInt64),
        rate(pl.col("gold"), "correct", "missed", "wrong").alias("of_gold"),
        rate(pl.col("pred"), "correct", "wrong", "over").alias("of_predicted"),
        rate(inactive, "over").alias("of_inactive"),
        pl.col("gold").cast(pl.UInt64),
        pl.col("pred").cast(pl.UInt64).alias("predicted"),
        inactive.cast(pl.UInt64).alias("inactive"),
    )
