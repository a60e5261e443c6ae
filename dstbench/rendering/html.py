"""HTML and SVG of which no part can come from a user: every string that is not `Markup` is text, and is escaped.

Conventions: characters that no eye sees and that change how others are read (controls, marks that turn the direction
of writing) are shown as their escapes.
"""

from __future__ import annotations

import json
import re
from html import escape
from typing import TYPE_CHECKING, Any, Final

from dstbench.io.escape import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

# What is seen as space; page.js has the same, and what else is shown as its escape.
_KEPT: Final = "\t\n"
_VOID: Final = frozenset({"meta", "input", "br"})
_NUMBER: Final = re.compile(r"[-+]?[\d.,]+|-|")


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | float | bool | None) -> Markup:
    """An element.

    Args:
        name: Its name.
        children: Text, which is escaped, and markup.
        attributes: By name, with ``_`` for a hyphen (one at the end is dropped: ``class_``). None and False: no such
            attribute; True: one without a value.

    >>> element("td", "<script>", class_="n", title='" onclick="')
    '<td class="n" title="&quot; onclick=&quot;">&lt;script&gt;</td>'
    """
    given = "".join(
        _attribute(key, value) for key, value in attributes.items() if value is not None and value is not False
    )
    opened = f"<{name}{given}>"
    return Markup(opened if name in _VOID else f"{opened}{join(children)}</{name}>")


def join(parts: Iterable[str]) -> Markup:
    """Text, which is escaped, and markup, one after the other."""
    return Markup(
        "".join(part if isinstance(part, Markup) else escape(visible(part, _KEPT), quote=False) for part in parts)
    )


def json_text(content: Any) -> Markup:
    r"""A JSON document that can stand in a ``<script>``: nothing in it ends the element, or begins a comment.

    >>> print(json_text({"a": "</script><!--"}))
    {"a":"\u003c/script\u003e\u003c!--"}
    """
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def table(texts: pl.DataFrame, caption: str, *, name: str | None = None) -> Markup:
    """A table of texts: a caption, a header per column, and the first column as headers of rows.

    Args:
        texts: All columns are strings.
        caption: What it is.
        name: The element's id.
    """
    numeric = [all(_NUMBER.fullmatch(text) for text in texts[column]) for column in texts.columns]
    head = [
        element("th", title, scope="col", class_=_number(is_number))
        for title, is_number in zip(texts.columns, numeric, strict=True)
    ]
    rows = [
        element(
            "tr",
            element("th", first, scope="row"),
            *(
                element("td", text, class_=_number(is_number))
                for text, is_number in zip(rest, numeric[1:], strict=True)
            ),
        )
        for first, *rest in texts.iter_rows()
    ]
    inner = element(
        "table", element("caption", caption), element("thead", element("tr", *head)), element("tbody", *rows), id=name
    )
    return element("div", inner, class_="wide", tabindex="0", role="region", aria_label=caption)


def _number(is_number: bool) -> str | None:
    return "n" if is_number else None


def _attribute(key: str, value: str | float | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f" {name}" if value is True else f' {name}="{escape(visible(text, _KEPT))}"'
