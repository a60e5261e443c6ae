"""HTML and SVG elements. Every string that is not `Markup` is escaped, so that no text of a user becomes markup.

Invisible characters that change how others are read (control characters, marks of the direction of writing) are shown
as their escapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from dstbench.errors import visible

if TYPE_CHECKING:
    import polars as pl

# White space that is not escaped; page.js keeps the same characters.
_KEPT: Final = "\t\n"
# The most badges beside a name; the others are counted.
_BADGES: Final = 2
_VOID: Final = frozenset({"meta", "input", "br"})
_NUMBER: Final = re.compile(r"[-+]?[\d.,]+(?: \([-\d.,]+ to [-\d.,]+\))?|-|")


class Markup(str):
    """A string that is markup, and is not escaped."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | float | bool | None) -> Markup:
    """An element.

    Args:
        name: Its name.
        children: Text, which is escaped, and markup.
        attributes: Values by name, with ``_`` for a hyphen (an underscore at the end is dropped: ``class_``). None and
            False leave the attribute out; True writes it without a value.

    >>> element("td", "<script>", class_="n", title='" onclick="')
    '<td class="n" title="&quot; onclick=&quot;">&lt;script&gt;</td>'
    """
    shown = "".join(_attribute(key, value) for key, value in attributes.items())
    return Markup(f"<{name}{shown}>" if name in _VOID else f"<{name}{shown}>{join(children)}</{name}>")


def join(parts: Iterable[str]) -> Markup:
    """Concatenate text, which is escaped, and markup."""
    return Markup(
        "".join(part if isinstance(part, Markup) else escape(visible(part, _KEPT), quote=False) for part in parts)
    )


def json_text(content: Any) -> Markup:
    r"""A JSON document to put into a ``<script>``: nothing in it ends the element or begins a comment.

    >>> print(json_text({"a": "</script><!--"}))
    {"a":"\u003c/script\u003e\u003c!--"}
    """
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def table(
    texts: pl.DataFrame,
    caption: str,
    meanings: Mapping[str, str] | None = None,
    badges: Mapping[str, Sequence[tuple[str, str]]] | None = None,
) -> Markup:
    """A table of texts with a caption; its first column has the headers of the rows.

    Args:
        texts: The texts; of values with intervals, the intervals are small.
        caption: What the table shows.
        meanings: The meanings of column titles, shown when the mouse is over them.
        badges: Warnings beside the headers of rows: short texts, each with a long one that the mouse shows.
    """
    meanings, badges = meanings or {}, badges or {}
    looks = ["n" if all(map(_NUMBER.fullmatch, texts[name])) else None for name in texts.columns]
    head = [
        element("th", name, scope="col", class_=look, title=meanings.get(name))
        for name, look in zip(texts.columns, looks, strict=True)
    ]
    rows = [
        element(
            "tr",
            element("th", first, *_badges(badges.get(first, ())), scope="row"),
            *(
                element("td", *_cell(text), class_=None if look else "t")
                for text, look in zip(rest, looks[1:], strict=True)
            ),
        )
        for first, *rest in texts.iter_rows()
    ]
    inner = [element("caption", caption), element("thead", element("tr", *head)), element("tbody", *rows)]
    return element(
        "div",
        element("table", *inner, class_="numbers"),
        class_="wide",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def _badges(badges: Sequence[tuple[str, str]]) -> list[Markup]:
    """The first badges, and how many more there are."""
    shown, rest = badges[:_BADGES], badges[_BADGES:]
    more = [(f"+{len(rest)}", "\n".join(f"{short}: {long}" for short, long in rest))] if rest else []
    return [Markup(" " + element("span", short, class_="badge", title=long)) for short, long in [*shown, *more]]


def _cell(text: str) -> list[str]:
    """A text; of a value with its interval, the interval is small."""
    value, bracket, interval = text.partition(" (")
    if not bracket or " to " not in interval:
        return [text]
    low, _, high = interval.rstrip(")").partition(" to ")
    return [value, element("small", f" {low}\N{EN DASH}{high}")]


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f" {name}" if value is True else f' {name}="{escape(visible(text, _KEPT))}"'
