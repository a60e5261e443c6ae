"""Functions of strings over columns: each is called once per distinct combination of strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import polars as pl

from dstbench.tables import collect

C: Final = pl.col
#: The most combinations whose answers are remembered, at some 300 bytes each.
MOST_REMEMBERED: Final = 2**20


def with_answers(
    rows: pl.LazyFrame, function: Callable[..., Any], arguments: Sequence[str], answers: Mapping[str, pl.DataType]
) -> pl.LazyFrame:
    """Rows with what a function of the strings in some columns (`arguments`) says of them; see `Answers`."""
    return Answers(function, arguments, answers).join_to(rows)


class Answers:
    """What a function of strings says of combinations of them; it is asked of each once.

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
        table = collect(rows)
        distinct = collect(table.lazy().select(self._arguments).unique())
        answered = distinct.hstack(self.of(distinct)).lazy()
        return table.lazy().join(answered, on=self._arguments, how="left", nulls_equal=True, maintain_order="left")

    def of(self, distinct: pl.DataFrame) -> pl.DataFrame:
        """The answers for rows with distinct arguments, in their order."""
        asked, names = distinct[self._arguments], list(self._types)
        known = self._known  # another thread may replace it
        if known is not None:
            answered = self._join(asked, known)
            is_new = answered["is_known"].is_null()
            if not is_new.any():
                return answered[names]
            new = asked.filter(is_new)
            if known.height + new.height <= MOST_REMEMBERED:
                self._known = known = pl.concat([known, self._ask(new)])
                return self._join(asked, known)[names]
        self._known = answered = self._ask(asked)
        return answered[names]

    def _join(self, asked: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
        return asked.join(known, on=self._arguments, how="left", nulls_equal=True, maintain_order="left")

    def _ask(self, asked: pl.DataFrame) -> pl.DataFrame:
        """The arguments with the function's answers."""
        answered = [self._function(*row) for row in asked.iter_rows()]
        answers = [
            pl.Series(name, [answer[at] for answer in answered], dtype)
            for at, (name, dtype) in enumerate(self._types.items())
        ]
        return asked.hstack([*answers, pl.Series("is_known", [True] * asked.height)])
