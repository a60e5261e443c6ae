"""The judged rows of runs, as one lazy table: what a convention makes of every slot in every turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

import polars as pl
from polars.io.plugins import register_io_source

from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.runs.open import Data, Reading
from dstbench.runs.run import Run
from dstbench.schema.core import ROWS
from dstbench.scoring.partitions import each_part
from dstbench.scoring.scope import open_under
from dstbench.scoring.turns import TURN, scored_turns, turn_table


def rows(data: Data, *, profile: str | Convention = "verbatim", **reading: Unpack[Reading]) -> pl.LazyFrame:
    """The rows of one or many runs, judged under a convention, for questions in Polars (``dstbench help questions``).

    The table is lazy: a large run is judged part by part as a query needs it, and only in the columns that are asked
    for; rows that a query leaves out are not held.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        profile: The convention, or its name.
        **reading: `gold`, `format`, `names`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Returns:
        A row per run, dialogue, slot and turn (`schema.core.ROWS`). A turn in which no slot has been listed yet has a
        row with a null slot; rows that describe frames are left out.

    Raises:
        DstbenchError: Data cannot be used, or a profile is unknown; or, when the table is collected, a file has changed
            since or is damaged.

    >>> states = [{"dialogue_id": "D1", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "south"}}]
    >>> rows(states).filter(~pl.col("ok")).select("slot", "g", "p").collect().rows()
    [('hotel-area', 'north', 'south')]
    """
    convention = as_convention(profile)
    runs = open_under(convention, data, "rows of slots", **reading)
    return pl.concat([_of_run(run, convention) for run in runs])


def _of_run(run: Run, convention: Convention) -> pl.LazyFrame:
    def source(
        columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = list(ROWS.columns) if columns is None else columns
        for part in each_part(run):
            table = part.rows(convention)
            if "is_scored" in wanted:
                table = _with_is_scored(table, convention)
            of_part = table.with_columns(run=pl.lit(run.name)).select(
                pl.col(name).cast(ROWS.columns[name].dtype) for name in wanted
            )
            found = (of_part if limit is None else of_part.head(limit)).collect()
            yield found if predicate is None else found.filter(predicate)
            if limit is not None and (limit := limit - found.height) == 0:
                return

    return register_io_source(source, schema=ROWS.schema, is_pure=True, explain_name=f"rows of {run.name}")


def _with_is_scored(rows: pl.LazyFrame, convention: Convention) -> pl.LazyFrame:
    """Rows with `is_scored`, whether the convention scores the turn."""
    if convention.turns == "all" and not convention.drops_turns:
        return rows.with_columns(is_scored=pl.lit(value=True))
    scored = scored_turns(turn_table(rows), convention).select(*TURN, is_scored=pl.lit(value=True))
    return rows.join(scored, on=TURN, how="left", maintain_order="left").with_columns(
        pl.col("is_scored").fill_null(value=False)
    )
