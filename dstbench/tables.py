"""How queries are run: by Polars' engine in memory.

Tables here are parts of a run, for which the engine that Polars would choose takes up to half as long again.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl


def collect(query: pl.LazyFrame) -> pl.DataFrame:
    """The result of a query."""
    return query.collect(engine="in-memory")


def collect_all(queries: Iterable[pl.LazyFrame]) -> list[pl.DataFrame]:
    """The results of several queries, which compute once what they share."""
    return pl.collect_all(queries, engine="in-memory")
