"""Copies of dialogues with one error more, or one less, and the scores of these copies.

The prediction that is copied is gold, or a run's own. In a run's own, errors are put into changes that it has right in
their turn (and for ``dropped``, in the next one), and only its right values are replaced.

A *change* of gold is a turn that gives a slot a value that it did not have in the turn before, under the convention.
Each copy has one change predicted wrongly, in one of these ways (`KINDS`):

- ``missed``: the slot is absent as long as gold keeps the value.
- ``wrong``: the slot has another value as long as gold keeps this one: of the slot's ten most frequent values in gold,
  the first that the dialogue's gold never gives to the slot, however it is spelled.
- ``late``: in the turn of the change, the slot is as it was in the turn before. (So a value that gold has in this turn
  only is never predicted.)
- ``dropped``: the value is right in the turn of the change, and absent from the next turn on as long as gold keeps it.
- ``over``: from the turn of the change to the end of the dialogue, the prediction has one slot more: of the slots of
  the changed slot's domain, the most frequent that has no value in the dialogue's gold, with its most frequent value.
- ``swap``: as long as gold keeps the value, the prediction has it in that other slot in place of its own.

Errors that a run has are *mended*, each in a copy: a value that comes a turn late (``late``) has its turn, and one
that is absent (``missed``), another (``wrong``) or right at first only (``dropped``) is right as long as gold keeps it;
a value where gold has none (``over``) is absent from there on as long as gold has none.

Frequencies are numbers of turns in all of gold, and ties are in alphabetical order. A change has no error of a kind if
there is no such value, slot or turn, or if it would not be an error under the convention (an old value that matches the
new one).

The copies of a partition are one long table, whose dialogues are the copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from dstbench.arrays import Floats
from dstbench.conventions.convention import Convention
from dstbench.metrics import Metric
from dstbench.readers.frames import IS_FRAME
from dstbench.runs.run import Run
from dstbench.scoring.partitions import over_partitions
from dstbench.scoring.rows import with_domains
from dstbench.scoring.sums import scores, sum_up
from dstbench.scoring.values import with_judgements

# How many of a slot's most frequent values may become a wrong value.
_CANDIDATES: Final = 10
# About how many rows of gold are copied at once, and about how many rows of copies are scored at once: more rows would
# take a gigabyte of memory; with fewer, starting to score would take longer than scoring.
_GOLD_ROWS: Final = 65_536
_ROWS: Final = 196_608


class Usual(NamedTuple):
    """The most frequent values and slots of gold."""

    values: pl.DataFrame  # (slot, value, rank): of each slot the `_CANDIDATES` most frequent values
    slots: pl.DataFrame  # (domain, other, usual, rank): of each domain its slots, and the most frequent value of each


def usual_values(run: Run, convention: Convention) -> Usual:
    """The most frequent values and slots of a run's gold, of those that the convention scores."""

    def count(table: pl.DataFrame) -> pl.DataFrame:
        return table.drop_nulls(["slot", "gold"]).group_by("slot", "gold").agg(n=pl.len())

    pairs = pl.concat(over_partitions(run, count)).group_by("slot", value="gold").agg(pl.col("n").sum())
    pairs = pairs.filter(_is_in_state(pairs, "slot", "value", convention))
    pairs = pairs.with_columns(pl.col("n").sum().over("slot").alias("of_slot"))
    pairs = pairs.sort("n", "slot", "value", descending=[True, False, False])
    values = pairs.select("slot", "value", pl.int_range(pl.len()).over("slot").alias("rank"))
    slots = pairs.unique("slot", keep="first", maintain_order=True).sort("of_slot", "slot", descending=[True, False])
    by_domain = with_domains(slots.lazy()).select("domain", other="slot", usual="value", rank=pl.int_range(pl.len()))
    return Usual(values.filter(pl.col("rank") < _CANDIDATES), by_domain.collect())


def _judged(rows: pl.DataFrame, slot: str, gold: str, pred: str, convention: Convention) -> pl.DataFrame:
    """What a convention says of rows (`values.Judgement`), of which these columns have slot, gold and prediction."""
    cells = rows.lazy().select(slot=slot, gold=gold, pred=pred)
    return with_judgements(cells, convention).collect()


def _is_in_state(rows: pl.DataFrame, slot: str, value: str, convention: Convention) -> pl.Series:
    """For each row: whether a slot has this value in the state, as gold and as a prediction."""
    both = pl.col("g").is_not_null() & pl.col("p").is_not_null()
    return _judged(rows, slot, value, value, convention).select(both).to_series()


# --- changes of gold --------------------------------------------------------------------------------------------------


def gold_rows(table: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """The gold rows of a partition.

    Returns:
        (number: the dialogue's, from 0; turn; place: the turn's number in the dialogue, from 0; turns: the dialogue's
        number of turns; slot; gold; pred; old: pred in the row before; value: gold under the convention; predicted:
        whether pred has a value; ok, ok_next: whether it is gold's, here and in the next row; all_ok: and as long as
        gold keeps the value; is_change; next: the first place after a change at which the slot has another value, or
        the number of turns; is_over: the first row of values that gold has not; over_next: the place after the last).
    """
    turn = table.select("dialogue", "turn").unique().sort("dialogue", "turn")
    turn = turn.with_columns(place=pl.int_range(pl.len()).over("dialogue"), turns=pl.len().over("dialogue"))
    rows = table.select("dialogue", "turn", "slot", "gold", "pred")
    rows = rows.join(turn, on=["dialogue", "turn"], how="left", maintain_order="left")
    value = _judged(rows, "slot", "gold", "gold", convention)["g"]
    judged = _judged(rows, "slot", "gold", "pred", convention).select("ok", predicted=pl.col("p").is_not_null())
    rows = rows.with_columns(judged.with_columns(pl.col("ok").fill_null(value=False)))
    begins, row = pl.col("dialogue").ne_missing(pl.col("dialogue").shift(1)), pl.int_range(pl.len())
    rows = rows.with_columns(
        value=pl.when(~IS_FRAME).then(value),
        number=pl.col("dialogue").rle_id().cast(pl.Int64),
        first=begins | pl.col("slot").ne_missing(pl.col("slot").shift(1)),
    )
    extra = pl.col("predicted") & pl.col("value").is_null() & pl.col("slot").is_not_null() & ~IS_FRAME
    starts = pl.col("first") | pl.col("value").ne_missing(pl.col("value").shift(1))
    rows = rows.with_columns(starts=starts, extra=extra).with_columns(
        over=pl.col("first") | pl.col("extra").ne_missing(pl.col("extra").shift(1)), span=pl.col("starts").cum_sum()
    )

    def lasts(begins: str) -> pl.Expr:  # a slot has a row in every turn from its first one on
        next_start = pl.when(begins).then(row).shift(-1).backward_fill().fill_null(pl.len())
        return pl.when(begins).then(next_start - row).otherwise(0)

    place = pl.col("place").cast(pl.Int64)
    return rows.select(
        "number",
        "turn",
        pl.col("place", "turns").cast(pl.Int64),
        "slot",
        "gold",
        "pred",
        pl.when(~pl.col("first")).then(pl.col("pred").shift(1)).alias("old"),
        "value",
        "predicted",
        "ok",
        pl.col("ok").shift(-1, fill_value=False).alias("ok_next"),
        pl.col("ok").all().over("span").alias("all_ok"),
        (place + lasts("starts")).alias("next"),
        (pl.col("starts") & pl.col("value").is_not_null()).alias("is_change"),
        (pl.col("over") & pl.col("extra")).alias("is_over"),
        (place + lasts("over")).alias("over_next"),
    )


def in_pieces(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Gold rows (`gold_rows`), cut where dialogues begin."""
    begins = pl.col("number").ne_missing(pl.col("number").shift(1))
    first_row = pl.when(begins).then(pl.int_range(pl.len())).forward_fill()
    pieces = rows.with_columns(piece=first_row // _GOLD_ROWS)
    return iter(pieces.partition_by("piece", maintain_order=True, include_key=False))


def with_errors(changes: pl.DataFrame, rows: pl.DataFrame, usual: Usual, convention: Convention) -> pl.DataFrame:
    """Changes of gold with the values and slots that their errors need; null where there is no such value or slot.

    Returns:
        The changes, and (wrong: a wrong value; other: another slot of the domain; usual: its value; swaps: whether the
        value can stand in it; is_late: whether the old value is not the new one).
    """
    changes = with_domains(changes.lazy()).collect().with_row_index("change")
    options = changes.select("change", "number", "slot", "gold").join(usual.values, on="slot", maintain_order="left")
    compared = _judged(options, "slot", "gold", "value", convention)
    options = options.with_columns(meaning=_judged(options, "slot", "value", "value", convention)["g"])
    options = options.filter(~compared["ok"] & compared["p"].is_not_null())
    used = rows.drop_nulls("value").select("number", "slot", meaning="value").unique()
    options = options.join(used, on=["number", "slot", "meaning"], how="anti").sort("change", "rank")
    wrong = options.unique("change", keep="first", maintain_order=True).select("change", wrong="value")

    in_state = rows.filter(pl.col("value").is_not_null() | pl.col("predicted"))
    in_state = in_state.select("number", other="slot").unique()
    others = changes.select("number", "domain").unique(maintain_order=True).join(usual.slots, on="domain")
    others = others.join(in_state, on=["number", "other"], how="anti").sort("number", "domain", "rank")
    others = others.unique(["number", "domain"], keep="first", maintain_order=True).drop("rank")

    changes = changes.join(wrong, on="change", how="left", maintain_order="left")
    changes = changes.join(others, on=["number", "domain"], how="left", maintain_order="left")
    return changes.with_columns(
        is_late=~_judged(changes, "slot", "gold", "old", convention)["ok"],
        swaps=pl.col("other").is_not_null() & _is_in_state(changes, "other", "gold", convention),
    )


# --- copies -----------------------------------------------------------------------------------------------------------

_NOTHING: Final = pl.lit(None, pl.Categorical)
_OK, _AFTER, _IS_CHANGE = pl.col("ok"), pl.col("place") + 1, pl.col("is_change")


class _Error(NamedTuple):
    """A kind of error: which changes can have it, where it begins and ends, and what is predicted there."""

    possible: pl.Expr
    start: pl.Expr = pl.col("place")
    end: pl.Expr = pl.col("next")
    slot: str = "slot"
    value: str | None = None  # None: the slot is absent
    other: str | None = None  # perhaps another slot, with its value
    other_value: str | None = None


# The errors that are put in.
_PUT_IN: Final[Mapping[str, _Error]] = {
    "missed": _Error(_OK),
    "wrong": _Error(_OK & pl.col("wrong").is_not_null(), value="wrong"),
    "late": _Error(_OK & pl.col("is_late"), end=_AFTER, value="old"),
    "dropped": _Error(_OK & pl.col("ok_next") & (pl.col("next") > _AFTER), start=_AFTER),
    "over": _Error(pl.col("other").is_not_null(), end=pl.col("turns"), slot="other", value="usual"),
    "swap": _Error(_OK & pl.col("swaps"), other="other", other_value="gold"),
}
# The errors that a run has, and what mends them.
_IS_LATE: Final = pl.col("ok_next") & (pl.col("next") > _AFTER)
_LACKS: Final = _IS_CHANGE & ~_OK & ~_IS_LATE
_MENDED: Final[Mapping[str, _Error]] = {
    "missed": _Error(_LACKS & ~pl.col("predicted"), value="gold"),
    "wrong": _Error(_LACKS & pl.col("predicted"), value="gold"),
    "late": _Error(_IS_CHANGE & ~_OK & _IS_LATE, end=_AFTER, value="gold"),
    "dropped": _Error(_IS_CHANGE & _OK & ~pl.col("all_ok"), start=_AFTER, value="gold"),
    "over": _Error(pl.col("is_over"), end=pl.col("over_next")),
}
#: The kinds of errors, in the order in which they are shown.
KINDS: Final = tuple(_PUT_IN)


def copies_of(changes: pl.DataFrame, kinds: Sequence[str], *, mended: bool = False) -> pl.DataFrame:
    """A copy per change and kind, after one copy without an error (kind: null) per dialogue; or per mended error.

    Returns:
        (kind, change, number, place, turns, start, end, slot_a, value_a, slot_b, value_b): between the places `start`
        and `end`, the first slot has the first value, the second (null: none) the second.
    """
    errors, nowhere = _MENDED if mended else _PUT_IN, pl.lit(0, pl.Int64)
    tables = [_copied(changes.unique("number", maintain_order=True), None, _Error(pl.lit(True), nowhere, nowhere))]
    tables += [_copied(changes, kind, errors[kind]) for kind in kinds if kind in errors]
    return pl.concat(tables)


def _copied(changes: pl.DataFrame, kind: str | None, error: _Error) -> pl.DataFrame:
    columns = {"slot_a": error.slot, "value_a": error.value, "slot_b": error.other, "value_b": error.other_value}
    return changes.filter(error.possible).select(
        pl.lit(kind, pl.String).alias("kind"),
        *("change", "number", "place", "turns"),
        start=error.start,
        end=error.end,
        **{title: _NOTHING if name is None else pl.col(name) for title, name in columns.items()},
    )


def base_rows(rows: pl.DataFrame, changes: pl.DataFrame, *, mended: bool = False) -> pl.DataFrame:
    """The rows that copies repeat: those of gold, and one in each turn of a dialogue per slot that an error adds to it.

    Returns:
        (number, turn, place, slot, gold, pred, may_change: not a wrong value if an error is put in, not a right one if
        errors are mended; is_added), sorted by (number, slot, turn).
    """
    may_change = ~pl.col("ok") if mended else pl.col("ok") | pl.col("value").is_null()
    columns = ("number", "turn", "place", "slot", "gold", "pred")
    kept = rows.select(*columns, may_change=may_change, is_added=pl.lit(value=False))
    if "other" not in changes.columns:
        return kept
    others = changes.drop_nulls("other").select("number", slot="other").unique()
    turns = rows.select("number", "turn", "place").unique()
    added = others.join(turns, on="number").join(kept, on=["number", "slot", "place"], how="anti")
    nothing = (_NOTHING.alias(name) for name in ("gold", "pred"))
    flags = (pl.lit(value=True).alias(name) for name in ("may_change", "is_added"))
    added = added.select("number", "turn", "place", "slot", *nothing, *flags)
    return pl.concat([kept, added]).sort("number", "slot", "turn")


def _table(base: pl.DataFrame, copies: pl.DataFrame) -> pl.DataFrame:
    """The long table of copies, whose dialogues are called by their numbers in `copies`."""
    spans = copies.select("number", "start", "end", "slot_a", "value_a", "slot_b", "value_b")
    named = spans.with_columns(dialogue=pl.int_range(pl.len()).cast(pl.String).str.zfill(10))
    rows = named.lazy().join(base.lazy(), on="number", maintain_order="left_right")
    has_begun = pl.col("place") >= pl.col("start")
    is_inside = has_begun & (pl.col("place") < pl.col("end")) & pl.col("may_change")
    is_a, is_b = (pl.col("slot") == pl.col(name) for name in ("slot_a", "slot_b"))
    pred = pl.when(is_b & is_inside).then("value_b").when(is_a & is_inside).then("value_a").otherwise("pred")
    is_of_error = pl.any_horizontal(is_a, is_b).fill_null(value=False) & has_begun
    kept = rows.filter(~pl.col("is_added") | is_of_error)
    return kept.select("dialogue", pl.col("turn").cast(pl.UInt16), "slot", "gold", pred.alias("pred")).collect()


def score_copies(
    base: pl.DataFrame, copies: pl.DataFrame, run: Run, metrics: Sequence[Metric], convention: Convention
) -> Floats:
    """The scores of copies of a run's dialogues: copies × metrics; NaN where undefined.

    `base` is what `base_rows` returned.
    """

    def of_part(part: pl.DataFrame) -> Floats:
        table = _table(base, part)
        copied = Run(run.name, table.lazy(), run.meta, (0, table.height))
        sums = sum_up(copied, metrics, ["dialogue"], convention, signed=False).table
        scored = np.full((part.height, len(metrics)), np.nan)
        scored[sums["dialogue"].cast(pl.Int64).to_numpy()] = scores(metrics, sums).fill_null(np.nan).to_numpy()
        return scored

    size = base.group_by("number").agg(rows=pl.len())
    rows_so_far = copies.join(size, on="number", how="left", maintain_order="left")["rows"].cum_sum().to_numpy()
    cuts = np.unique([*np.searchsorted(rows_so_far, np.arange(0, rows_so_far[-1], _ROWS)), copies.height])
    parts = [copies.slice(start, size) for start, size in zip(cuts[:-1], np.diff(cuts), strict=True)]
    with ThreadPoolExecutor(min(len(parts), pl.thread_pool_size() + 1)) as pool:
        return np.concatenate(list(pool.map(of_part, parts)))
