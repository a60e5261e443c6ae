"""The judged rows of runs, as one lazy table: what a convention makes of every slot in every turn."""

from __future__ import annotations

from functools import partial
from typing import Unpack

import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.runs.open import Data, Reading
from dstbench.runs.run import Run
from dstbench.schema.core import ROWS
from dstbench.scoring.partitions import each_part
from dstbench.scoring.turns import with_is_scored
from dstbench.scoring.validation import open_under


def rows(data: Data, *, profile: str | Convention = "verbatim", **reading: Unpack[Reading]) -> pl.LazyFrame:
    """The rows of one or many runs, judged under a convention, for questions in Polars (``dstbench help questions``).

    The table is lazy: it is made when a query is collected, and only the columns that the query needs.

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
    # `defer` computes only the columns and rows that a query needs of a lazy frame, too.
    return pl.concat([pl.defer(partial(_of_run, run, convention), schema=ROWS.schema) for run in runs])  # type: ignore[arg-type]


def _of_run(run: Run, convention: Convention) -> pl.LazyFrame:
    rows = pl.concat([with_is_scored(part.rows().with_counts(convention), convention) for part in each_part(run)])
    columns = [pl.col(name).cast(column.dtype) for name, column in ROWS.columns.items()]
    return rows.with_columns(run=pl.lit(run.name)).select(columns)
