"""Columns of tables: makers of each kind, for example ``share("Its share; null: no turn.")``, which may be null."""

from __future__ import annotations

import re
from functools import partial
from typing import Final, Literal, NamedTuple, TypeAlias

import polars as pl

#: What the values of a column are, from which every renderer knows how to write them.
Kind: TypeAlias = Literal["text", "flag", "count", "number", "decimal", "share", "score", "r", "ratio", "p"]
_NULL: Final = re.compile(r"\b[Nn]ull(:| likewise)")


class Column(NamedTuple):
    """A column: its Polars type, the kind of its values, what it means, whether it may be null, its title in tables."""

    dtype: pl.DataType
    kind: Kind
    meaning: str
    nullable: bool
    label: str = ""


def _column(dtype: pl.DataType, kind: Kind, meaning: str, *, nullable: bool | None = None, label: str = "") -> Column:
    """A column; one whose meaning says ``null: why`` or ``null likewise`` may be null, whatever is not said."""
    return Column(dtype, kind, meaning, bool(_NULL.search(meaning)) if nullable is None else nullable, label)


# `large` is for counts that may exceed 32 bits, `decimal` for means of counts, `score` for shares or counts, as the
# row's `unit` says; `r` for correlations and what is like them.
text, category = (partial(_column, dtype(), "text") for dtype in (pl.String, pl.Categorical))
flag = partial(_column, pl.Boolean(), "flag")
turn, count, large = (partial(_column, dtype(), "count") for dtype in (pl.UInt16, pl.UInt32, pl.UInt64))
_FLOATS: Final[tuple[Kind, ...]] = ("number", "decimal", "share", "score", "r", "ratio", "p")
number, decimal, share, score, r, ratio, p = (partial(_column, pl.Float64(), kind) for kind in _FLOATS)
