"""HTML from the templates of Jinja2 beside this module, with escaping on (of HTML): no text of a user becomes markup.

Invisible characters that change how others are read (control characters, marks of the direction of writing) are shown
as their escapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dstbench.errors import shortened, visible
from dstbench.readers.states import Side
from dstbench.rendering.tables import LAYOUTS, layout_of
from dstbench.rendering.text_tables import UNDEFINED

if TYPE_CHECKING:
    import polars as pl
    from jinja2 import Environment
    from markupsafe import Markup

# White space that is not escaped; page.js keeps the same characters.
_KEPT: Final = "\t\n"
# The most badges beside a name; the others are counted.
_BADGES: Final = 1
_NUMBER: Final = re.compile(r"[-+]?[\d.,]+(?: \([-\d.,]+ to [-\d.,]+\))?|-|")
_INTERVAL: Final = re.compile(r"(\S+) \((\S+) to (\S+)\)")
# The width of a drawn interval, and what is left empty at its ends.
_WIDE: Final = 60
_EDGE: Final = 3


def rendered(template: str, **content: Any) -> str:
    """A template, filled in."""
    return _environment().get_template(template).render(content)


def markup(text: str) -> Markup:
    """Text that is markup already: our own drawings, styles and scripts."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704


def json_text(content: Any) -> Markup:
    r"""A JSON document to put into a ``<script>``: nothing in it ends the element or begins a comment.

    >>> print(json_text({"a": "</script><!--"}))
    {"a":"\u003c/script\u003e\u003c!--"}
    """
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return markup(text)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
    from markupsafe import Markup

    def shown(value: Any) -> Any:
        return visible(value, _KEPT) if isinstance(value, str) and not isinstance(value, Markup) else value

    folder = FileSystemLoader(Path(__file__).with_name("templates"))
    environment = Environment(
        loader=folder,
        autoescape=select_autoescape(),
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (_looks_of, _marks_of, _parts_of, _scales_of):
        environment.globals[function.__name__[1:]] = function
    return environment


def _looks_of(texts: pl.DataFrame) -> list[bool]:
    """Whether each column has numbers alone."""
    return [all(map(_NUMBER.fullmatch, texts[name])) for name in texts.columns]


def _marks_of(badges: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The first badges, and how many more there are."""
    shown, rest = [*badges][:_BADGES], [*badges][_BADGES:]
    return shown + ([(f"+{len(rest)}", "\n".join(f"{short}: {long}" for short, long in rest))] if rest else [])


def _parts_of(text: str) -> tuple[str, str, str]:
    """A text; a value and the ends of its interval."""
    found = _INTERVAL.fullmatch(text)
    return (found[1], found[2], found[3]) if found else (text, "", "")


def _scales_of(texts: pl.DataFrame) -> dict[int, Callable[[str], float]]:
    """For the columns that have intervals, by number from the first after the heads: where a number is drawn."""
    scales: dict[int, Callable[[str], float]] = {}
    for place, name in enumerate(texts.columns[1:], 1):
        ends = [float(end.replace(",", "")) for text in texts[name] for end in _parts_of(text)[1:] if end]
        if ends and max(ends) > min(ends):
            low, factor = min(ends), (_WIDE - 2 * _EDGE) / (max(ends) - min(ends))
            scales[place] = lambda text, low=low, factor=factor: round(  # type: ignore[misc]
                _EDGE + factor * (float(text.replace(",", "")) - low), 1
            )
    return scales


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
