"""Classes of errors: every slot that gold or prediction has in a turn gets one class.

A class depends on the slot's values in this turn and in the turn before, under the convention. A slot gets the first of
`CLASSES` that applies; classes that name a cause come before those that only say how old an error is. The classes of a
kind add up to the turn table's counts: ``correct`` to n_correct, ``missed`` to n_union − n_pred, ``over`` and
``no-prediction`` together to n_union − n_gold, ``wrong`` to the rest of n_union. ``no-prediction`` counts turns: its
one class marks a turn without a prediction that counts as wrong, and belongs to no slot.

An error without a known cause is *fresh* if gold's value or the predicted one has changed since the turn before;
otherwise it is *stale*, that is, carried over. A cause is named only in the turn in which it acts: a value that is not
updated is not-updated in the turn in which gold changes, and wrong-stale from then on. Values may look swapped by
chance; values that do not indicate their slot (yes, no, dontcare) are never taken for swapped. Errors of timing are
counted in addition to the classes (`scoring.timing`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from dstbench.arrays import Codes, Flags, Hashes, Integers, Numbers
from dstbench.conventions.convention import Convention
from dstbench.conventions.normalise import tells_slot
from dstbench.conventions.slots import domain_of
from dstbench.runs.codes import ABSENT, distinct, to_column, to_strings
from dstbench.runs.frames import states_only
from dstbench.runs.layout import Layout, before, lay_out, over_distinct
from dstbench.runs.run import Run
from dstbench.scoring.changes import find_changes
from dstbench.scoring.compare_values import comparison
from dstbench.scoring.partitions import Part, over_layouts
from dstbench.scoring.scored_turns import TURN, columns_of_scored, scored_turns
from dstbench.scoring.timing import find_timing
from dstbench.scoring.turn_table import to_turns

if TYPE_CHECKING:
    from numpy.typing import NDArray


#: For each class, in order of precedence: its kind and its condition.
CLASSES: Final[Mapping[str, tuple[str, str]]] = {
    "correct": ("correct", "gold matches prediction"),
    "no-prediction": (
        "no-prediction",
        "the turn has no prediction (--missing wrong); such an error belongs to no slot",
    ),
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
# The kinds of slots that gold has, and of those that the prediction has.
_IN_GOLD: Final = ("correct", "missed", "wrong")
_PREDICTED: Final = ("correct", "wrong", "over")


def count_classes(run: Run, convention: Convention) -> tuple[pl.DataFrame, int]:
    """How often each slot is in each class, over the turns that the convention scores.

    Returns:
        (slot: String, null for ``no-prediction``; class: String; kind: String; n: Int64, above 0; timed: Int64, how
        many of these are late or early), in no particular order; and the number of scored turns.
    """

    def count_partition(part: Part) -> tuple[pl.DataFrame, int]:
        rows = part.layout()
        classes, at, turns = _scored_classes(rows, convention)
        timed = find_timing(rows, convention)[at]
        counted = pl.DataFrame({"slot": to_column(rows.slot[at]), "number": classes, "timed": timed})
        sizes = {"n": pl.len().cast(pl.Int64), "timed": pl.col("timed").sum().cast(pl.Int64)}
        return counted.group_by("slot", "number").agg(**sizes), turns

    parts = over_layouts(run, count_partition)
    counts = pl.concat([counted for counted, _ in parts]).group_by("slot", "number").agg(pl.col("n", "timed").sum())
    names = pl.DataFrame(
        {"number": list(_NUMBER.values()), "class": list(CLASSES), "kind": [kind for kind, _ in CLASSES.values()]},
        schema_overrides={"number": pl.UInt8},
    )
    with_names = counts.join(names, on="number").with_columns(pl.col("slot").cast(pl.String))
    return with_names.select("slot", "class", "kind", "n", "timed"), sum(turns for _, turns in parts)


def list_classes(table: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """The class of every slot that gold or prediction has, turn by turn, in the order of the long table.

    Returns:
        The columns of `schema.analysis.SLOT_CLASSES` but `run`.
    """
    table = states_only(table)
    rows = lay_out(table)
    classes, at, _ = _scored_classes(rows, convention)
    names, kinds = list(CLASSES), [kind for kind, _ in CLASSES.values()]
    return table[at].select(
        "dialogue",
        "turn",
        over_distinct(table["slot"], domain_of).gather(at).alias("domain"),
        "slot",
        "gold",
        "pred",
        pl.Series("kind", kinds, pl.Categorical).gather(classes),
        pl.Series("class", names, pl.Categorical).gather(classes),
        pl.Series("carried", ~rows.differs[at]),
    )


def _scored_classes(rows: Layout, convention: Convention) -> tuple[pl.Series, Integers, int]:
    """The classes of the rows that have one, in scored turns; the indices of these rows; the number of scored turns."""
    classes = classify(rows, convention)
    scored, turns = scored_places(rows, convention)
    at = np.flatnonzero((classes != _NOTHING) & scored[rows.row_place])
    return pl.Series(classes[at]), at, turns


def classify(rows: Layout, convention: Convention) -> NDArray[np.uint8]:
    """The class of every row of a long table, by position in `CLASSES`; `_NOTHING` if neither state has the slot."""
    changes = find_changes(rows, convention)
    compared = changes.compared
    gold, pred, ok = (changes.of_rows(c, len(rows.turn)) for c in (compared.gold, compared.pred, compared.ok))
    in_state = (gold != ABSENT) | (pred != ABSENT)
    classes = np.where(in_state, _NUMBER["correct"], _NOTHING).astype(np.uint8)

    at = np.flatnonzero(in_state & ~ok)
    slot, g, p = rows.slot[at], gold[at], pred[at]
    g_old, p_old, was_right = (before(column, rows.first)[at] for column in (gold, pred, ok))
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
    classes[at] = np.select(list(conditions.values()), numbers, np.uint8(_NUMBER["over-stale"]))
    return classes


def _swapped(rows: Layout, gold: Codes, pred: Codes, at: Integers) -> tuple[Flags, Flags]:
    """For each wrong row: whether gold has the predicted value in another slot of the same turn.

    The first result is about slots of the row's domain, the second about slots of any domain.
    """
    predicted = pred[at]
    values = distinct(predicted)
    telling = np.zeros(int(values.max(initial=0)) + 2, dtype=np.bool_)  # by code; the last is for `ABSENT`
    telling[values] = [tells_slot(value) for value in to_strings(values)]
    is_searched = telling.take(predicted, mode="clip")
    searched, candidates = at[is_searched], np.flatnonzero(telling.take(gold, mode="clip"))

    def swapped_within(place: Numbers) -> Flags:
        # Such a row predicts another value than its own gold value, so any match is with another slot.
        in_place = np.zeros(int(place.max(initial=0)) + 1, dtype=np.bool_)
        in_place[place[searched]] = True
        listed = candidates[in_place[place[candidates]]]

        def keys(row: Integers, value: Codes) -> Hashes:
            return place[row].astype(np.uint64) << np.uint64(32) | value[row]

        swapped = np.zeros(len(at), dtype=np.bool_)
        swapped[is_searched] = np.isin(keys(searched, pred), keys(listed, gold))
        return swapped

    return swapped_within(rows.domain_place), swapped_within(rows.turn_place)


def scored_places(rows: Layout, convention: Convention) -> tuple[Flags, int]:
    """For each place of a layout: whether the convention scores its turn; and the number of scored turns."""
    turns = to_turns(rows, convention, columns={*TURN, *columns_of_scored(convention)})
    places = scored_turns(turns.with_columns(place=np.flatnonzero(rows.is_turn)), convention)["place"]
    scored = np.zeros(rows.total, dtype=np.bool_)
    scored[places.to_numpy()] = True
    return scored, len(places)


def rate_classes(counts: pl.DataFrame, turns: int, by: str | None = None) -> pl.DataFrame:
    """Counts of classes (`count_classes`) with their rates, for the whole run, per ``domain`` or per ``slot``.

    Returns:
        The columns of `schema.analysis.ERRORS` but `run`, with a column `by` in front. Every group has a row for every
        class, in the order of `CLASSES`.
    """
    domains = [None if slot is None else domain_of(slot) for slot in counts["slot"]]
    groups = counts.with_columns(pl.Series("domain", domains, pl.String)).with_columns(
        group=pl.col(by) if by else pl.lit("")
    )
    count = pl.col("slot").drop_nulls().n_unique().cast(pl.Int64).alias("slots")
    slots = groups.group_by("group").agg(count) if by else groups.select(pl.lit("").alias("group"), count)
    classes = pl.DataFrame(
        {"order": range(len(CLASSES)), "class": list(CLASSES), "kind": [kind for kind, _ in CLASSES.values()]}
    )
    summed = groups.group_by("group", "class").agg(pl.col("n").sum())
    grid = slots.join(classes, how="cross").join(summed, on=["group", "class"], how="left", nulls_equal=True)
    kind, n = pl.col("kind"), pl.col("n")
    sizes = grid.with_columns(n.fill_null(0)).with_columns(
        gold=n.filter(kind.is_in(_IN_GOLD)).sum().over("group"),
        pred=n.filter(kind.is_in(_PREDICTED)).sum().over("group"),
    )
    inactive = turns * pl.col("slots") - pl.col("gold")

    def rate(of: pl.Expr, kinds: Sequence[str]) -> pl.Expr:
        return pl.when(kind.is_in(kinds) & (of > 0)).then(n / of)

    return sizes.sort("group", "order", nulls_last=True).select(
        *([pl.col("group").alias(by)] if by else []),
        "class",
        "kind",
        n.cast(pl.UInt64),
        rate(pl.col("gold"), _IN_GOLD).alias("of_gold"),
        rate(pl.col("pred"), _PREDICTED).alias("of_predicted"),
        rate(inactive, ["over"]).alias("of_inactive"),
        pl.col("gold").cast(pl.UInt64),
        pl.col("pred").cast(pl.UInt64).alias("predicted"),
        inactive.cast(pl.UInt64).alias("inactive"),
    )
