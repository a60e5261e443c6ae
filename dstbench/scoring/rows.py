"""The rows of a long table, prepared for expressions: what depends on their order, and their distinct combinations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.readers.frames import IS_FRAME, requested_f1, same_intent
from dstbench.runs.rules import sorting_faults, unsorted
from dstbench.tables import collect, collect_all

C: Final = pl.col


def answers_of(asked: pl.DataFrame, function: Callable[..., Any], types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """What a function of strings (None for null) says of each row: a column per answer, of which it gives a tuple."""
    answers = [function(*row) for row in asked.iter_rows()]
    return pl.DataFrame(
        [pl.Series(name, [answer[at] for answer in answers], dtype) for at, (name, dtype) in enumerate(types.items())]
    )


def with_answers(
    rows: pl.LazyFrame, function: Callable[..., Any], arguments: Sequence[str], answers: Mapping[str, pl.DataType]
) -> pl.LazyFrame:
    """Rows with what a function of the strings in some columns (`arguments`) says of them; see `answers_of`."""
    table = collect(rows)
    distinct = table.select(arguments).unique()
    answered = distinct.hstack(answers_of(distinct, function, answers)).lazy()
    return table.lazy().join(answered, on=arguments, how="left", nulls_equal=True, maintain_order="left")


#: What a convention looks at in a row.
CELL: Final = ("slot", "gold", "pred")


@dataclass(frozen=True)
class Rows:
    """Rows of whole dialogues.

    Attributes:
        table: The columns of `LONG`; `number`, the dialogue's number in the table, from 1; `key`, the turn's number,
            ascending over the table; `first`, whether a row is its slot's first in the dialogue; `cell`, the index in
            `cells` of what the row holds; of frames, what `with_frames` adds.
        cells: The distinct combinations of slot, gold and prediction, with the slot's `domain`.
        of_cells: What conventions say of the cells, by convention (`values.of_cells`).
    """

    table: pl.DataFrame
    cells: pl.DataFrame
    of_cells: dict[Convention, pl.DataFrame] = field(default_factory=dict)


def lay_out(long: pl.DataFrame, *, frames: bool = False) -> Rows:
    """Prepare the rows of a long table, which are of whole dialogues; `frames`: whether gold's frames count."""
    rows = with_frames(with_domains(long.lazy())) if frames else long.lazy()
    columns = rows.collect_schema().names()
    begins = C("dialogue").ne_missing(C("dialogue").shift(1))
    first = begins | C("slot").ne_missing(C("slot").shift(1)) | C("slot").is_null()
    # Most rows repeat the row before them, so only the first of equal neighbours is looked up.
    differs = first | pl.any_horizontal(C(side).ne_missing(C(side).shift(1)) for side in ("gold", "pred"))
    rows = rows.with_columns(begins=begins, first=first, differs=differs)
    heads = rows.filter("differs").select(CELL).with_row_index("at")
    heads = heads.with_columns(earliest=C("at").first().over(CELL)).with_columns(is_new=C("at") == C("earliest"))
    number = C("begins").cum_sum()
    table, of_heads, cells, faults = collect_all(
        [
            rows.select(
                *columns,
                "first",
                number=number,
                key=number.cast(pl.UInt64) * 2**16 + C("turn"),  # one integer to group by, which is faster
                head=C("differs").cum_sum() - 1,
            ),
            heads.select(cell=(C("is_new").cum_sum() - 1).gather("earliest")),
            with_domains(heads.filter("is_new").select(*CELL, is_frame=IS_FRAME)),
            rows.select(**sorting_faults()),
        ]
    )
    if any(faults.row(0)):
        raise unsorted()
    if cells["is_frame"].any():
        return lay_out(long.filter(~IS_FRAME))
    cell = pl.lit(of_heads["cell"]).gather(C("head")).alias("cell")
    return Rows(table.select(pl.exclude("head"), cell), cells.drop("is_frame"))


def with_domains(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rows with the domain of their slot (`slots.domain_of`), as a dictionary column; null where there is no slot."""
    domain = C("slot").cast(pl.String).str.splitn("-", 2).struct[0]
    return rows.with_columns(domain=domain.cast(pl.Categorical))


def with_frames(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rows of a long table, with their `domain`, in which rows of gold's frames count as rows without a slot."""
    mark = C("pred").filter(C("slot").is_null()).drop_nulls().first().over("dialogue", "turn")
    rows = rows.with_columns(is_frame=IS_FRAME, mark=mark)
    in_gold = C("is_frame") & C("gold").is_not_null()
    rows = rows.with_columns(
        frame=pl.when(in_gold).then("gold"), predicted=pl.when(in_gold & C("mark").is_null()).then("pred")
    )

    def compare(gold: str | None, pred: str | None) -> tuple[bool, float] | tuple[None, None]:
        return (
            (None, None) if gold is None else (pred is not None and same_intent(gold, pred), requested_f1(gold, pred))
        )

    rows = with_answers(
        rows, compare, ("frame", "predicted"), {"right_intent": pl.Boolean(), "requested_f1": pl.Float64()}
    )
    return rows.with_columns(
        requested_f1=pl.when(C("mark").is_null()).then("requested_f1").otherwise(C("requested_f1") * 0),
        slot=pl.when(~C("is_frame")).then("slot"),
        gold=pl.when(~C("is_frame")).then("gold"),
        pred=pl.when(~C("is_frame")).then("pred").when(in_gold).then("mark"),
        is_frame=in_gold,
    ).drop("mark", "frame", "predicted")
