"""What makes a frame a long table: its columns, its types, and the rules for its rows."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from dstbench.conventions.slots import canonical_dialogue, canonical_slot
from dstbench.errors import DstbenchError, number_of
from dstbench.readers.frames import IS_FRAME
from dstbench.schema.core import LONG, MAX_TURN

C: Final = pl.col
_STRINGS: Final = (pl.String, pl.Categorical, pl.Enum, pl.Null)


def conform_long(frame: pl.LazyFrame, *, source: str) -> pl.LazyFrame:
    """A frame with the columns, order and types of `LONG`."""
    schema = frame.collect_schema()
    missing = [name for name in LONG.columns if name not in schema]
    if missing:
        what = f"not a long table: no column {', '.join(missing)} (found: {', '.join(schema) or 'none'})"
        hint = "a long table has the columns dialogue, turn, slot, gold, pred; `dstbench convert` writes one"
        raise DstbenchError(what, file=source, hint=hint)
    for name, dtype in schema.items():
        if name in LONG.schema and not (dtype.is_integer() if name == "turn" else isinstance(dtype, _STRINGS)):
            what = f"not a long table: column {name} is {dtype}, not {LONG.schema[name]}"
            raise DstbenchError(what, file=source, hint="see data_schemas/long_table.schema.json")
    # Texts become strings first, as the codes of a dictionary may be of other categories.
    return frame.select(
        C(name)
        if schema[name] == dtype
        else C(name).cast(dtype if name == "turn" else pl.String, strict=False).cast(dtype)
        for name, dtype in LONG.schema.items()
    )


def with_canonical_names(table: pl.DataFrame, *, source: str) -> pl.DataFrame:
    """A table with canonical dialogues and slots (see `conventions.slots`); refuses two that get the same name."""

    def refuse(what: str, spellings: pl.Series, **where: Any) -> DstbenchError:
        both = " and ".join(repr(name) for name in spellings[:2])
        return DstbenchError(f"{both} are the same {what}", file=source, hint="spell each in one way", **where)

    ids = table.select(dialogue=pl.col("dialogue").unique(maintain_order=True))
    ids = ids.with_columns(canonical=canonical_dialogue(pl.col("dialogue")))
    twice = ids.filter(pl.col("canonical").is_duplicated()).sort("canonical", maintain_order=True)
    if twice.height:
        raise refuse("dialogue", twice["dialogue"])
    if not ids["dialogue"].equals(ids["canonical"], null_equal=True):
        table = table.with_columns(canonical_dialogue(pl.col("dialogue")))
    slots = table["slot"].unique().drop_nulls().cast(pl.String)
    names = {name: canonical_slot(name) for name in slots}
    respelled = {name: canonical for name, canonical in names.items() if name != canonical}
    if not respelled:
        return table
    slot = pl.col("slot").cast(pl.String).replace(respelled).cast(pl.Categorical)
    if len({*names.values()}) < len(names):
        key = ["dialogue", "turn", "canonical"]
        clash = table.with_columns(canonical=slot).drop_nulls("slot").filter(pl.struct(key).is_duplicated()).sort(key)
        if clash.height and clash["slot"][0] != clash["slot"][1]:
            raise refuse("slot", clash["slot"], **clash.select("dialogue", "turn").row(0, named=True))
    return table.with_columns(slot)


def check_long(table: pl.DataFrame, *, source: str) -> dict[str, int]:
    """Refuse a table (schema of `LONG`) whose rows break a rule; else, its numbers of turns and dialogues."""
    if table.is_empty():
        raise DstbenchError("no dialogue in the table", file=source)
    key = table.select("dialogue", "slot", "turn")
    if not key.equals(key.sort("dialogue", "slot", "turn")):
        hint = "convert the run again, or sort it and drop its metadata"
        raise DstbenchError("the long table is not sorted by dialogue, slot and turn", file=source, hint=hint)
    frames = table.select(C("slot").unique()).filter(IS_FRAME).to_series()
    number = C("dialogue").rle_id()
    # Not one lazy query, as Polars would take twice the time over it.
    rows = table.with_columns(
        number=number,
        # A turn's place among all turns that the table has: the row before may be one turn before, in the same slot.
        place=(number.cast(pl.UInt64) * (MAX_TURN + 1) + C("turn")).rank("dense").cast(pl.Int64),
        of_state=C("slot").is_not_null() & ~C("slot").is_in(frames.implode()),
        continues=(number == number.shift(1)).fill_null(value=False) & C("slot").eq_missing(C("slot").shift(1)),
    )
    rows = rows.with_columns(
        last=C("place").max().over("number"), first=C("place").filter("of_state").min().over("number")
    )
    has_slot, step = C("slot").is_not_null(), C("place") - C("place").shift(1)
    ends = ~C("continues").shift(-1, fill_value=False)
    rules = {
        "a dialogue without an id": C("dialogue").fill_null("") == "",
        f"a turn that is not a number from 0 to {MAX_TURN}": C("turn").is_null(),
        "the same slot twice in one turn": C("continues") & (step == 0),
        "a gold value without a slot": ~has_slot & C("gold").is_not_null(),
        "a slot that ends before its dialogue does": ends & has_slot & (C("place") != C("last")),
        "a slot without a row in a turn between others": C("continues") & has_slot & (step > 1),
        "a row without a slot in a turn that has slots": (~has_slot & C("pred").is_null() & (C("place") >= C("first"))),
    }
    checked = rows.select("number", "place", *(breaks.alias(rule) for rule, breaks in rules.items()))
    for rule in rules:
        if count := int(checked[rule].sum()):
            first = table.select("dialogue", "turn", "slot").row(int(checked[rule].arg_max() or 0), named=True)
            what = f"not a long table: {rule}, in {number_of(count, 'row')}{', the first of them' * (count > 1)}"
            hint = "`dstbench convert` and dstbench.to_long write tables that keep the rules"
            raise DstbenchError(what, file=source, hint=hint, **first)
    return {"turns": checked["place"].max(), "dialogues": checked["number"][-1] + 1}
