"""The pairs of values that fuzzy matching accepts and exact matching does not."""

from __future__ import annotations

from typing import Unpack

import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import UsageError
from dstbench.runs.open import Data, Reading
from dstbench.scoring.partitions import Part, count_rows
from dstbench.scoring.validation import open_under
from dstbench.scoring.values import with_matches


def fuzzy_pairs(data: Data, *, profile: str | Convention = "qian2021", **reading: Unpack[Reading]) -> pl.DataFrame:
    """Pairs of gold and predicted values that a convention accepts and exact matching does not.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        profile: A convention that matches fuzzily or has a label map, or its name.
        **reading: `gold`, `format`, `names`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Returns:
        (run, slot, gold, pred, turns): values as they are compared, and the number of turns with the pair; per run, the
        most frequent pair first.

    Raises:
        UsageError: The convention matches exactly.
        DstbenchError: Data cannot be used, or the profile is unknown.

    >>> name = "hotel-name"
    >>> states = [{"dialogue_id": "D", "turn": 0, "gold": {name: "guest house"}, "pred": {name: "guesthouse"}}]
    >>> fuzzy_pairs(states).drop("run").row(0)
    ('hotel-name', 'guest house', 'guesthouse', 1)
    """
    convention = as_convention(profile)
    if not convention.is_fuzzy:
        raise UsageError(
            f"{convention.name} matches exactly: it has no fuzzy pairs",
            hint="name a fuzzy profile (qian2021), a matcher (--match levenshtein) or a label map",
        )

    def accepted(part: Part) -> pl.LazyFrame:
        rows = with_matches(part.rows().judged(convention), convention.exact(), "g", "p", "equal")
        return rows.filter(pl.col("ok") & ~pl.col("equal")).select("slot", gold="g", pred="p")

    pair, tables = ["slot", "gold", "pred"], []
    for run in open_under(convention, data, "pairs of values", **reading):
        pairs = count_rows(run, accepted, pair, turns=pl.len()).sort("turns", *pair, descending=[True, *[False] * 3])
        tables.append(pairs.select(pl.lit(run.name).alias("run"), pl.all()))
    return pl.concat(tables)
