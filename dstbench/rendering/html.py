"""HTML from the templates of Jinja2 beside this module, with escaping on (of HTML): no text of a user becomes markup.

Invisible characters that change how others are read (control characters, marks of the direction of writing) are shown
as their escapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dstbench.errors import visible

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
