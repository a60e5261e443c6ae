"""Booking slots under the names that files give them, for conventions that compare slots by name."""

from __future__ import annotations

import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.errors import DstbenchError
from dstbench.runs.run import Run, in_memory


def named_under(convention: Convention, run: Run) -> Run:
    """The run with its booking slots as the convention names them (`Convention.booking`): if as written, some are two.

    The prediction of ``hotel-book day`` becomes one of ``hotel-day`` if only gold has ``book`` in its name, and of
    ``hotel-bookday`` if only the predictions have; gold keeps the canonical name. A slot that one side spells in both
    ways is refused.
    """
    if convention.booking == "mapped":
        return run
    with_book = run.meta.get("with_book", {})
    gold, pred = (with_book.get(side, {}) for side in ("gold", "pred"))
    for slot in sorted({*gold, *pred}):
        if None in (gold.get(slot, True), pred.get(slot, True)):
            raise DstbenchError(
                f"{slot} is spelled both with `book` and without, and --booking as-written takes these for two slots",
                file=run.name,
                hint="--booking mapped takes them for one",
            )
    own_names = {
        slot: slot.replace("book ", "" if slot in pred else "book")
        for slot in sorted({*gold, *pred})
        if gold.get(slot, True) != pred.get(slot, True)
    }
    if not own_names:
        return run
    table = run.read()
    slot = pl.col("slot").cast(pl.String)
    to_split = slot.is_in(list(own_names)).fill_null(False)
    rows, nothing = table.filter(to_split), pl.lit(None, pl.Categorical)
    sides = pl.concat(
        [
            rows.with_columns(pred=nothing),
            rows.with_columns(slot.replace(own_names).cast(pl.Categorical), gold=nothing),
        ]
    )
    is_listed = pl.coalesce("gold", "pred").is_not_null().cast(pl.UInt8).cum_max().over("dialogue", "slot") == 1
    split = pl.concat([table.filter(~to_split), sides.filter(is_listed)]).sort("dialogue", "slot", "turn")
    return in_memory(run.name, split, run.meta)
