"""Results as notebooks show them: the conclusions, then the tables, the first one open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, Final

import polars as pl

from dstbench.errors import shortened
from dstbench.readers.states import Side
from dstbench.rendering.html import rendered
from dstbench.rendering.tables import LAYOUTS, layout_of
from dstbench.rendering.text_tables import UNDEFINED

# The rows of a table that are shown.
_MOST_ROWS: Final = 25
# How many of a table that is shown as it is, such as a long table.
_FEW_ROWS: Final = 10
# Characters of a cell or of an attribute's value.
_LONGEST: Final = 200


def as_html(record: Any) -> str:
    """A record as an element for a notebook."""
    if type(record).__name__ not in LAYOUTS:
        return _shown(*_as_it_is(record))
    layout = layout_of(record)
    return _shown(layout.findings, layout.sections, [line for line in layout.below if line not in layout.findings])


def _shown(finding: Sequence[str], sections: Sequence[tuple[str, pl.DataFrame]], below: Sequence[str]) -> str:
    """Sentences, tables of texts, of which all but the first are folded, and lines on how they were computed."""
    tables = []
    for title, rows in sections:
        more = f" (the first {_MOST_ROWS} of {rows.height:,})" if rows.height > _MOST_ROWS else ""
        tables.append((title, title + more, rows.head(_MOST_ROWS).with_columns(pl.all().fill_null(UNDEFINED))))
    return rendered("notebook.html", finding=finding, tables=tables, below=below)


def _as_it_is(record: Any) -> tuple[list[str], list[tuple[str, pl.DataFrame]], list[str]]:
    """Any other record: its small attributes in a table, and the beginnings of its frames."""
    frames = []
    values: list[tuple[str, str]] = []
    for name, value in _attributes(record):
        if isinstance(value, pl.DataFrame):
            texts = value.head(_FEW_ROWS).select(pl.all().cast(pl.String))
            more = ", the first of them" if value.height > _FEW_ROWS else ""
            frames.append((f"{name}: {value.height:,} rows{more}", texts))
        elif value is not None:
            shown = f"rows of {', '.join(value.collect_schema())}" if isinstance(value, pl.LazyFrame) else str(value)
            values.append((name, shortened(shown, _LONGEST)))
    listed = pl.DataFrame(values, schema={"attribute": pl.String, "value": pl.String}, orient="row")
    return [], [(type(record).__name__, listed), *frames], []


def _attributes(record: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of a record by name, and those of records in it: ``gold.turns``."""
    for name in getattr(record, "_fields", None) or [field.name for field in fields(record)]:
        value = getattr(record, name)
        if isinstance(value, Side):
            yield from ((f"{name}.{inner}", of_side) for inner, of_side in _attributes(value))
        else:
            yield name, value
