"""The rows of a long table, prepared for expressions: what depends on their order, and their distinct combinations."""

from __future__ import annotations

from typing import Final, NamedTuple

import polars as pl

from dstbench.conventions.slots import domain_of
from dstbench.readers.frames import IS_FRAME, requested_f1, same_intent
from dstbench.scoring.answers import C, with_answers

#: What a convention looks at in a row.
CELL: Final = ("slot", "gold", "pred")


class Rows(NamedTuple):
    """Rows of whole dialogues.

    Attributes:
        table: The columns of `LONG`; `domain`; `number`, the dialogue's number in the table, from 1; `key`, the turn's
            number, ascending over the table; `first`, whether a row is its slot's first in the dialogue; `cell`, the
            index in `cells` of what the row holds.
        cells: The distinct combinations of slot, gold and prediction.
    """

    table: pl.DataFrame
    cells: pl.DataFrame


def lay_out(long: pl.DataFrame, *, frames: bool = False) -> Rows:
    """Prepare the rows of a long table.

    Args:
        long: A long table, sorted by (dialogue, slot, turn), of whole dialogues.
        frames: Whether gold's frames count (`with_frames`); otherwise their rows are left out.
    """
    rows = with_domains(long.lazy())
    rows = with_frames(rows) if frames else rows.filter(~IS_FRAME)
    number = C("dialogue").rle_id() + 1
    first = C("dialogue").ne_missing(C("dialogue").shift(1)) | C("slot").ne_missing(C("slot").shift(1))
    table = rows.with_columns(
        number=number,
        key=number.cast(pl.UInt64) * 2**16 + C("turn"),  # grouping by one integer is faster than by two columns
        first=first | C("slot").is_null(),
    ).collect()
    cells = table.select(CELL).unique(maintain_order=True).with_row_index("cell")
    return Rows(table.join(cells, on=CELL, how="left", nulls_equal=True, maintain_order="left"), cells)


def with_domains(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rows with the domain of their slot, as a dictionary column; null where there is no slot."""

    def domain(slot: str | None) -> tuple[str | None]:
        return (None if slot is None else domain_of(slot),)

    return with_answers(rows, domain, ("slot",), {"domain": pl.Categorical()})


def with_frames(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rows of a long table, with their `domain`, in which rows of gold's frames count as rows without a slot.

    A turn without a prediction is marked in each of its frames. Columns are added that say of a row of a frame what is
    right in it: `right_intent` (Boolean), and `requested_f1`; both are null in other rows.
    """
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
