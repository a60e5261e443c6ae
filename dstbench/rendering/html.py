"""HTML from Jinja2's templates, with escaping on; invisible characters that change others are shown as escapes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dstbench.errors import number_of, shortened, visible
from dstbench.readers.states import Side
from dstbench.rendering.tables import LAYOUTS, layout_of
from dstbench.rendering.text_tables import UNDEFINED, is_numeric
from dstbench.rendering.views import Layout

if TYPE_CHECKING:
    import polars as pl
    from jinja2 import Environment
    from markupsafe import Markup

_KEPT: Final = "\t\n"  # white space that is not escaped; page.js keeps the same characters
_INTERVAL: Final = re.compile(r"(\S+) \((\S+) to (\S+)\)")
# What stays on one line: a number with its unit, p with its sign and number.
_WHOLE: Final = re.compile(r"\bp (?:=|&lt;) [\d.]+|\d[\d.,]* %")
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
        loader=folder, autoescape=select_autoescape(), finalize=shown, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    for function in (_parts_of, _scales_of):
        environment.globals[function.__name__[1:]] = function
    environment.filters |= {"is_numeric": is_numeric, "unbroken": _unbroken}
    return environment


def _unbroken(text: str) -> Markup:
    """A sentence as HTML in which no line ends within a number and its unit."""
    from markupsafe import escape

    return markup(_WHOLE.sub(r'<span class="whole">\g<0></span>', str(escape(visible(text, _KEPT)))))


def _parts_of(text: str) -> Sequence[str]:
    """A value and the ends of its interval; these are empty where there is none."""
    interval = _INTERVAL.fullmatch(text)
    return interval.groups() if interval else (text, "", "")


def _scales_of(texts: pl.DataFrame) -> dict[int, Callable[[str], float]]:
    """For the columns that have intervals, by number: where a number is drawn."""

    def place(text: str, low: float, high: float) -> float:
        return round(_EDGE + (float(text.replace(",", "")) - low) / (high - low) * (_WIDE - 2 * _EDGE), 1)

    ends = {at: [float(end.replace(",", "")) for text in column for end in _parts_of(text)[1:] if end]
            for at, column in enumerate(texts.iter_columns()) if at}  # fmt: skip
    return {at: partial(place, low=min(own), high=max(own)) for at, own in ends.items() if len({*own}) > 1}


_MOST_ROWS: Final = 25  # the rows of a table that are shown
_FEW_ROWS: Final = 10  # how many of a table that is shown as it is, such as a long table


def as_html(record: Any) -> str:
    """A record as an element for a notebook: sentences, tables (folded but for the first), and lines below."""
    layout = layout_of(record) if type(record).__name__ in LAYOUTS else Layout([])
    tables = []
    for title, rows in layout.sections or _as_it_is(record):
        more = f" (the first {_MOST_ROWS} of {rows.height:,})" if rows.height > _MOST_ROWS else ""
        tables.append((title, title + more, rows.head(_MOST_ROWS).with_columns(pl.all().fill_null(UNDEFINED))))
    below = [line for line in layout.below if line not in layout.findings]
    return rendered("notebook.html", finding=layout.findings, tables=tables, below=below)


def _as_it_is(record: Any) -> list[tuple[str, pl.DataFrame]]:
    """Any other record: its small attributes in a table, and the beginnings of its frames."""
    frames, values = [], list[tuple[str, str]]()
    for name, value in _attributes(record):
        if isinstance(value, pl.DataFrame):
            texts = value.head(_FEW_ROWS).select(pl.all().cast(pl.String))
            more = ", the first of them" if value.height > _FEW_ROWS else ""
            frames.append((f"{name}: {number_of(value.height, 'row')}{more}", texts))
        elif value is not None:
            shown = f"rows of {', '.join(value.collect_schema())}" if isinstance(value, pl.LazyFrame) else str(value)
            values.append((name, shortened(shown, 200)))
    listed = pl.DataFrame(values, schema={"attribute": pl.String, "value": pl.String}, orient="row")
    return [(type(record).__name__, listed), *frames]


def _attributes(record: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of a record by name, and those of records in it: ``gold.turns``."""
    for name in getattr(record, "_fields", None) or [field.name for field in fields(record)]:
        value = getattr(record, name)
        if isinstance(value, Side):
            yield from ((f"{name}.{inner}", of_side) for inner, of_side in _attributes(value))
        else:
            yield name, value
