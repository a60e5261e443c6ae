"""Functions of strings over columns: each is called once per distinct combination of strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import polars as pl

from dstbench.tables import collect

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
