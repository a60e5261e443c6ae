"""Error injection: copies of dialogues with one error more, or one less, and what each error costs.

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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.metrics import Metric
from dstbench.readers.frames import IS_FRAME
from dstbench.runs.run import Run
from dstbench.scoring.partitions import each_part, over_parts
from dstbench.scoring.rows import DOMAIN
from dstbench.scoring.sums import scores, sum_up
from dstbench.scoring.values import with_judgements

# How many of a slot's most frequent values may become a wrong value.
_CANDIDATES: Final = 10
# About how many rows of copies are scored at once: more would take a gigabyte of memory.
_ROWS: Final = 196_608
_NOTHING: Final = pl.lit(None, pl.Categorical)


class _Error(NamedTuple):
    """A kind of error: which changes can have it, where it begins and ends, and what is predicted there."""

    possible: pl.Expr
    start: pl.Expr = pl.col("place")
    end: pl.Expr = pl.col("next")
    slot: str = "slot"
    value: str | None = None  # None: the slot is absent
    other: str | None = None  # perhaps another slot, with its value
    other_value: str | None = None


_OK, _AFTER = pl.col("ok"), pl.col("place") + 1
_PUT_IN: Final[Mapping[str, _Error]] = {
    "missed": _Error(_OK),
    "wrong": _Error(_OK & pl.col("wrong").is_not_null(), value="wrong"),
    "late": _Error(_OK & pl.col("is_late"), end=_AFTER, value="old"),
    "dropped": _Error(_OK & pl.col("ok_next") & (pl.col("next") > _AFTER), start=_AFTER),
    "over": _Error(pl.col("other").is_not_null(), end=pl.col("turns"), slot="other", value="usual"),
    "swap": _Error(_OK & pl.col("swaps"), other="other", other_value="gold"),
}
# The errors that a run has, and what mends them.
_COMES_LATE: Final = pl.col("ok_next") & (pl.col("next") > _AFTER)
_LACKS: Final = pl.col("is_change") & ~_OK & ~_COMES_LATE
_MENDED: Final[Mapping[str, _Error]] = {
    "missed": _Error(_LACKS & ~pl.col("predicted"), value="gold"),
    "wrong": _Error(_LACKS & pl.col("predicted"), value="gold"),
    "late": _Error(pl.col("is_change") & ~_OK & _COMES_LATE, end=_AFTER, value="gold"),
    "dropped": _Error(pl.col("is_change") & _OK & ~pl.col("all_ok"), start=_AFTER, value="gold"),
    "over": _Error(pl.col("is_over"), end=pl.col("over_next")),
    "swap": _Error(pl.lit(value=False)),
}
#: The kinds of errors, in the order in which they are shown.
KINDS: Final = tuple(_PUT_IN)


# A table of errors has: kind; dialogue, and its number, from 0; slot; place: the turn's number in the dialogue, from 0;
# next: the first place after a change of gold at which the slot has another value; turns: of the dialogue; of, drawn:
# from how many errors of this kind and dialogue how many were drawn.
_ABOUT: Final = ("kind", "dialogue", "number", "slot", "place", "next", "turns", "of", "drawn")


def inject(
    run: Run,
    metrics: Sequence[Metric],
    kinds: Sequence[str],
    convention: Convention,
    *,
    mended: bool = False,
    sample: int | None = None,
    seed: int = 0,
) -> tuple[pl.DataFrame, int, int]:
    """Each (drawn) error that is put into a run or mended, with what it costs or gains by each metric (null: unknown).

    Also the number of changes of gold, and of those in dialogues of one turn, which have no position.
    """
    frequent, of_run = _frequent_in_gold(run, convention), _scores(run, metrics, convention)
    generator, errors = np.random.default_rng(seed), list[pl.DataFrame]()
    changes = single = dialogues = 0
    for part in each_part(run):
        rows = _with_changes(part.long, convention)
        rows = rows.with_columns(pl.col("number") + dialogues)
        dialogues += rows["number"].n_unique()
        of_gold = rows.filter("is_change")
        changes += of_gold.height
        single += of_gold.filter(turns=1).height
        changed = rows.filter(pl.col("is_change") | (pl.lit(mended) & pl.col("is_over")), pl.col("turns") > 1)
        if not mended:
            changed = _with_errors(changed, rows, *frequent, convention)
        changed = changed.with_columns(order=generator.random(changed.height))
        copies = _copies(changed, kinds, _MENDED if mended else _PUT_IN, sample)
        of_copies = _scores_of_copies(_repeated_rows(rows, changed, mended=mended), copies, run, metrics, convention)
        both = copies.join(of_run, on="dialogue", how="left", maintain_order="left")
        both = both.join(of_copies, on="copy", how="left", maintain_order="left", suffix=" of copy")
        sign = -1 if mended else 1
        losses = {name: (pl.col(name) - pl.col(f"{name} of copy")) * sign for name in map(str, metrics)}
        errors.append(both.select(*_ABOUT, **losses))
    return pl.concat(errors), changes, single


def _scores(run: Run, metrics: Sequence[Metric], convention: Convention) -> pl.DataFrame:
    """The scores of a run's dialogues: a column per metric."""
    sums = sum_up(run, metrics, ["dialogue"], convention, signed=False).table
    names = {str(number): str(metric) for number, metric in enumerate(metrics)}
    return scores(metrics, sums).rename(names).with_columns(sums["dialogue"].cast(pl.String))


def _judged(rows: pl.DataFrame, convention: Convention, slot: str, gold: str, pred: str) -> pl.DataFrame:
    """What a convention says of rows (`values.Judgement`), of which these columns have slot, gold and prediction."""
    return with_judgements(rows.lazy().select(slot=slot, gold=gold, pred=pred), convention).collect()


def _in_state(rows: pl.DataFrame, convention: Convention, slot: str, value: str) -> pl.Series:
    """For each row, what this value of the slot means, if it is in the state as gold and as a prediction."""
    judged = _judged(rows, convention, slot, value, value)
    return judged.select(pl.when(pl.col("p").is_not_null()).then("g")).to_series()


def _frequent_in_gold(run: Run, convention: Convention) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The most frequent values of slots (slot, value, meaning), and slots of domains (domain, other, usual)."""
    pairs = ["slot", "gold"]
    parts = over_parts(run, lambda part: part.table.drop_nulls(pairs).group_by(pairs).agg(n=pl.len()))
    values = pl.concat(parts).group_by("slot", value="gold").agg(pl.col("n").sum())
    values = values.with_columns(meaning=_in_state(values, convention, "slot", "value")).drop_nulls("meaning")
    values = values.with_columns(of_slot=pl.col("n").sum().over("slot"))
    values = values.sort("n", "slot", "value", descending=[True, False, False])
    slots = values.unique("slot", keep="first", maintain_order=True).sort("of_slot", "slot", descending=[True, False])
    slots = slots.select(DOMAIN, other="slot", usual="value")
    return values.filter(pl.int_range(pl.len()).over("slot") < _CANDIDATES).select("slot", "value", "meaning"), slots


def _with_changes(table: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """The rows of a long table, sorted, with what tells which errors they can have.

    `ok_next` and `all_ok`: whether the prediction is right in the next row, and as long as gold keeps the value; `old`:
    the prediction in the turn before; `next`: the place until which gold keeps the value; `is_over`, `over_next`: where
    values that gold has not begin and end.
    """
    turn = table.select("dialogue", "turn").unique().sort("dialogue", "turn").with_columns(
        place=pl.int_range(pl.len()).over("dialogue"), turns=pl.len().over("dialogue").cast(pl.Int64)
    )  # fmt: skip
    rows = table.select("dialogue", "turn", "slot", "gold", "pred").join(
        turn, on=["dialogue", "turn"], how="left", maintain_order="left"
    )
    rows = (
        with_judgements(rows.lazy(), convention)
        .collect()
        .with_columns(
            number=pl.col("dialogue").rle_id().cast(pl.Int64),
            value=pl.when(~IS_FRAME).then("g"),
            predicted=pl.col("p").is_not_null(),
        )
    )
    extra = pl.col("predicted") & pl.col("value").is_null() & pl.col("slot").is_not_null() & ~IS_FRAME
    # A slot has a row in every turn from its first one on, so the rows of a span are of successive turns.
    rows = rows.with_columns(extra=extra).with_columns(
        span=pl.struct("number", "slot", "value").rle_id(), over_span=pl.struct("number", "slot", "extra").rle_id()
    )
    place, begins = pl.col("place"), {span: pl.col(span).is_first_distinct() for span in ("span", "over_span")}
    return rows.with_columns(
        pl.col("dialogue").cast(pl.String),
        old=pl.col("pred").shift(1).over("number", "slot"),
        ok_next=pl.col("ok").shift(-1, fill_value=False),
        all_ok=pl.col("ok").all().over("span"),
        is_change=begins["span"] & pl.col("value").is_not_null(),
        next=place.max().over("span") + 1,
        is_over=begins["over_span"] & pl.col("extra"),
        over_next=place.max().over("over_span") + 1,
    )


def _with_errors(
    changes: pl.DataFrame, rows: pl.DataFrame, values: pl.DataFrame, slots: pl.DataFrame, convention: Convention
) -> pl.DataFrame:
    """Changes of gold with what errors need, null if there is none: `wrong`, `other`, `usual`, `swaps`, `is_late`."""
    changes = changes.with_columns(DOMAIN).with_row_index("change")
    options = changes.select("change", "number", "slot", "gold").join(values, on="slot", maintain_order="left_right")
    options = with_judgements(options.rename({"value": "pred"}).lazy(), convention).collect()
    options = options.filter(~pl.col("ok") & pl.col("p").is_not_null())
    used = rows.drop_nulls("value").select("number", "slot", meaning="value")
    options = options.join(used, on=["number", "slot", "meaning"], how="anti", maintain_order="left")
    wrong = options.unique("change", keep="first", maintain_order=True).select("change", wrong="pred")

    in_state = rows.filter(pl.col("value").is_not_null() | pl.col("predicted")).select("number", other="slot")
    others = changes.select("number", "domain").unique().join(slots, on="domain", maintain_order="left_right")
    others = others.join(in_state, on=["number", "other"], how="anti", maintain_order="left")
    others = others.unique(["number", "domain"], keep="first", maintain_order=True)

    changes = changes.join(wrong, on="change", how="left", maintain_order="left")
    changes = changes.join(others, on=["number", "domain"], how="left", maintain_order="left")
    return changes.with_columns(
        is_late=~_judged(changes, convention, "slot", "gold", "old")["ok"],
        swaps=_in_state(changes, convention, "other", "gold").is_not_null() & changes["other"].is_not_null(),
    )


def _copies(
    changes: pl.DataFrame, kinds: Sequence[str], made: Mapping[str, _Error], sample: int | None
) -> pl.DataFrame:
    """The drawn errors: between `start` and `end`, one or two slots (`slot_b` may be null) have values."""
    about = ("dialogue", "number", "slot", "place", "next", "turns", "order")
    tables = []
    for kind in kinds:
        error = made[kind]
        cells = {"slot_a": error.slot, "value_a": error.value, "slot_b": error.other, "value_b": error.other_value}
        values = {title: _NOTHING if name is None else pl.col(name) for title, name in cells.items()}
        of_kind = changes.filter(error.possible)
        tables.append(of_kind.select(*about, kind=pl.lit(kind), start=error.start, end=error.end, **values))
    of, rank = (each.over("kind", "number") for each in (pl.len().cast(pl.Int64), pl.col("order").rank("ordinal")))
    errors = pl.concat(tables).with_columns(of=of, rank=rank)
    errors = errors.with_columns(drawn=pl.col("of") if sample is None else pl.min_horizontal("of", sample))
    return errors.filter(pl.col("rank") <= pl.col("drawn")).with_row_index("copy")


def _repeated_rows(rows: pl.DataFrame, changes: pl.DataFrame, *, mended: bool) -> pl.DataFrame:
    """The rows that copies repeat, with those of slots that errors add, and whether an error `may_change` them."""
    may_change = ~pl.col("ok") if mended else pl.col("ok") | pl.col("value").is_null()
    kept = rows.select("number", "turn", "place", "slot", "gold", "pred", may_change=may_change)
    if mended:
        return kept
    others = changes.drop_nulls("other").select("number", slot="other").unique()
    added = others.join(rows.select("number", "turn", "place").unique(), on="number")
    added = added.join(kept, on=["number", "slot", "place"], how="anti")
    added = added.with_columns(gold=_NOTHING, pred=_NOTHING, may_change=True).select(kept.columns)
    return pl.concat([kept, added]).sort("number", "slot", "turn")


def _scores_of_copies(
    base: pl.DataFrame, copies: pl.DataFrame, run: Run, metrics: Sequence[Metric], convention: Convention
) -> pl.DataFrame:
    """The scores of copies: (copy, a column per metric); `base` is what `_repeated_rows` gives."""
    size = base.group_by("number").agg(rows=pl.len().cast(pl.Int64))
    sized = copies.join(size, on="number", how="left", maintain_order="left")
    some = sized.with_columns(some=pl.col("rows").cum_sum() // _ROWS).partition_by("some", maintain_order=True)
    is_inside = pl.col("place").is_between("start", "end", closed="left") & pl.col("may_change")
    is_a, is_b = (pl.col("slot") == pl.col(name) for name in ("slot_a", "slot_b"))
    pred = pl.when(is_b & is_inside).then("value_b").when(is_a & is_inside).then("value_a").otherwise("pred")
    scored = [pl.DataFrame(schema={"copy": pl.UInt32, **dict.fromkeys(map(str, metrics), pl.Float64)})]
    for each in some:  # dialogues are called by the numbers of copies
        spans = each.select("number", "start", "end", "slot_a", "value_a", "slot_b", "value_b",
                            dialogue=pl.col("copy").cast(pl.String).str.zfill(10))  # fmt: skip
        rows = spans.lazy().join(base.lazy(), on="number", maintain_order="left_right")
        table = rows.select("dialogue", pl.col("turn").cast(pl.UInt16), "slot", "gold", pred.alias("pred")).collect()
        of_copies = _scores(Run(run.name, table.lazy(), run.meta, (0, table.height)), metrics, convention)
        scored.append(of_copies.select(pl.col("dialogue").cast(pl.UInt32).alias("copy"), pl.exclude("dialogue")))
    return pl.concat(scored)
