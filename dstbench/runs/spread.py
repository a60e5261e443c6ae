"""Gold and prediction side by side: one row per slot and turn, from the slot's first turn to the dialogue's last.

For example, in a dialogue of three turns, gold lists `hotel-area` from turn 1 on, and the prediction lists two slots in
turn 2:

>>> turns = pl.DataFrame({"dialogue": ["D1", "D1", "D1"], "turn": [0, 1, 2]}, schema_overrides={"turn": pl.UInt16})
>>> types = {"at": pl.UInt32, "slot": pl.Categorical, "value": pl.Categorical}
>>> gold = {"at": [1, 2], "slot": ["hotel-area", "hotel-area"], "value": ["north", "north"]}
>>> pred = {"at": [2, 2], "slot": ["hotel-area", "hotel-stars"], "value": ["north", "4"]}
>>> sides = [Side(turns, pl.DataFrame(cells, schema=types)) for cells in (gold, pred)]
>>> spine = turns.with_row_index("at").with_columns(predicted=True)
>>> for row in spread("example", spine, *sides).rows():
...     print(*row)
D1 0 None None None
D1 1 hotel-area north None
D1 2 hotel-area north north
D1 2 hotel-stars None 4
"""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.errors import DstbenchError
from dstbench.io.limits import FREE, SPREAD
from dstbench.readers.states import Side, same_turns
from dstbench.schema.core import LONG
from dstbench.tables import collect, collect_all

C: Final = pl.col
# A slot in a turn, as one integer, by which joins take a third of the time.
_KEY: Final = (C("place").cast(pl.UInt64) * 2**32 + C("slot").to_physical()).alias("key")
# The value that marks a turn without a prediction: another in each turn, so that no error is carried over.
_MARK: Final = pl.format("no prediction for turn {}", "turn").cast(pl.Categorical)


def spread(source: str, spine: pl.DataFrame, gold: Side, pred: Side) -> pl.DataFrame:
    """The long table of both sides.

    Args:
        source: Name of the file, for messages.
        spine: The turns to score, sorted: (at: their row in gold's turns, dialogue, turn, predicted: whether there is
            a prediction).
        gold: The gold side; cells of turns that the spine lacks are left out.
        pred: The predicted side, likewise.

    Returns:
        Schema `LONG`, sorted; a turn without a prediction has a row without a slot that says so.

    Raises:
        DstbenchError: There would be far more rows than turns and listed slots (`limits.SPREAD`).
    """
    turns = spine.with_row_index("place").lazy().with_columns(number=C("dialogue").rle_id())
    of_pred = turns
    if not same_turns(gold, pred):
        of_pred = turns.drop("at").join(pred.turns.with_row_index("at").lazy(), on=["dialogue", "turn"])
    sides = ((gold, turns), (pred, of_pred))
    cells = [side.cells.lazy().join(its.select("at", "place", "number"), on="at") for side, its in sides]
    spined, golds, preds = collect_all([turns, *cells])
    turns = spined.lazy()

    # A slot has a row from the first turn that lists it; before a dialogue's first slot, and where there is no
    # prediction, a turn has a row without a slot.
    listed = pl.concat([golds, preds])
    ends = turns.group_by("number").agg(end=C("place").max() + 1)
    slots = collect(listed.lazy().group_by("number", "slot").agg(start=C("place").min()).join(ends, on="number")).lazy()
    first = slots.group_by("number").agg(C("start").min())
    bare = turns.join(first, on="number", how="left", maintain_order="left")
    bare = bare.filter(~C("predicted") | (C("place") < C("start")).fill_null(value=True))
    rows_of_slots = slots.select((C("end") - C("start")).cast(pl.Int64).sum())
    sized, without = collect_all([rows_of_slots, bare.select("number", "place")])
    total = int(sized.item()) + without.height
    if total > max(FREE, SPREAD.value * (listed.height + spine.height)):
        raise DstbenchError(
            f"{total:,} rows for {spine.height:,} turns that list {listed.height:,} slots is above the limit of "
            f"{SPREAD.value} rows each",
            file=source,
            hint=SPREAD.hint,
        )

    places = pl.int_ranges("start", "end", dtype=pl.UInt32)
    nothing = without.lazy().group_by("number").agg("place").with_columns(slot=pl.lit(None, pl.Categorical))
    groups = pl.concat([nothing.select("number", "slot", "place"), slots.select("number", "slot", place=places)])
    rows = groups.sort("number", "slot", nulls_last=False).select("slot", "place").explode("place")
    rows = rows.with_columns(
        _KEY, *(pl.lit(spined[name]).gather("place") for name in ("dialogue", "turn", "predicted"))
    )
    for name, side in (("gold", golds), ("pred", preds)):
        values = side.lazy().select(_KEY, C("value").alias(name))
        rows = rows.join(values, on="key", how="left", maintain_order="left")
    mark = pl.when(C("slot").is_null() & ~C("predicted")).then(_MARK).otherwise("pred")
    return collect(rows.with_columns(pred=mark).select(*LONG.columns))


def spread_frames(source: str, spine: pl.DataFrame, gold: Side, pred: Side) -> pl.DataFrame:
    """The rows of both sides' frames, laid out like those of slots, to be merged with the rows of `spread`."""
    nothing = gold.cells.clear()
    sides = (Side(side.turns, nothing if side.frames is None else side.frames) for side in (gold, pred))
    return spread(source, spine.with_columns(predicted=True), *sides).drop_nulls("slot")
