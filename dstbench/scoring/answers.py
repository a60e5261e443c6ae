"""Functions of strings over columns: each is called once per distinct combination of strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import polars as pl

C: Final = pl.col
#: The most combinations whose answers are remembered, at some 300 bytes each.
MOST_REMEMBERED: Final = 2**20


def with_answers(
    rows: pl.LazyFrame, function: Callable[..., Any], arguments: Sequence[str], answers: Mapping[str, pl.DataType]
) -> pl.LazyFrame:
    """Rows with what a function of strings says of them; it is called once per distinct combination of arguments.

    Args:
        rows: The rows.
        function: From the values of these columns (strings; None for null) to a tuple of answers.
        arguments: The columns.
        answers: The names and types of the new columns.
    """
    return Answers(function, arguments, answers).join_to(rows)


class Answers:
    """What a function of strings says of combinations of them, each of which it is asked once.

    Args:
        function: From the values of some columns (strings; None for null) to a tuple of answers.
        arguments: The columns.
        types: The names and types of the answers.
    """

    def __init__(
        self, function: Callable[..., Any], arguments: Sequence[str], types: Mapping[str, pl.DataType]
    ) -> None:
        self._function, self._arguments, self._types = function, list(arguments), dict(types)
        self._known: pl.DataFrame | None = None

    def join_to(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Rows with the answers for their arguments."""
        table = rows.collect()
        distinct = table.select(self._arguments).unique()
        answered = distinct.hstack(self.of(distinct)).lazy()
        return table.lazy().join(answered, on=self._arguments, how="left", nulls_equal=True, maintain_order="left")

    def of(self, distinct: pl.DataFrame) -> pl.DataFrame:
        """The answers for rows with distinct arguments, in their order."""
        asked = distinct[self._arguments]
        known = self._known  # another thread may replace it
        if known is None:
            known = self._remembered(asked)
        answered = self._join(asked, known)
        if answered["is_known"].null_count():
            new = asked.filter(answered["is_known"].is_null())
            known = self._remembered(new, known if known.height + new.height <= MOST_REMEMBERED else None)
            answered = self._join(asked, known)
            if answered["is_known"].null_count():  # what was known has just been forgotten
                answered = self._join(asked, self._remembered(asked))
        return answered[list(self._types)]

    def _join(self, asked: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
        return asked.join(known, on=self._arguments, how="left", nulls_equal=True, maintain_order="left")

    def _remembered(self, asked: pl.DataFrame, known: pl.DataFrame | None = None) -> pl.DataFrame:
        """The known answers, and those for new arguments."""
        texts = asked.with_columns(C(pl.Categorical).cast(pl.String)).iter_rows()
        answered = [self._function(*row) for row in texts]
        answers = (
            pl.Series(name, [answer[at] for answer in answered], dtype)
            for at, (name, dtype) in enumerate(self._types.items())
        )
        new = asked.with_columns(*answers, is_known=pl.lit(value=True))
        self._known = new if known is None else pl.concat([known, new])
        return self._known
