r"""Texts of users, escaped so that no terminal, page or spreadsheet takes them for commands.

>>> print(plain_text("a\x1b[2Jb"), latex_text("50 % of a_b"))
a\x1b[2Jb 50 \% of a\_b
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import polars as pl

from dstbench.errors import HIDDEN, UNSEEN, shortened, visible

_LATEX: Final[dict[str, str | int | None]] = {
    **{letter: f"\\{letter}" for letter in "{}$&#_%"},
    **{letter: f"{{{letter}}}" for letter in "[]*"},  # at the start of a row, [ would begin an option of the row break
    "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}",
    '"': r"\char34{}",  # a shorthand in some languages of Babel
    "±": r"\textpm{}", "→": r"$\rightarrow$", "∞": r"$\infty$", "λ": r"$\lambda$",
    "α": r"$\alpha$",  # noqa: RUF001 (a Greek letter)
}  # fmt: skip
# Characters that Markdown takes for markup or links; underscores only at the edge of words, as many slots have some.
_MARKS: Final = re.compile(r"[\\`*\[\]~$]|(?<![^\W_])_|_(?![^\W_])|(?<=:)//|(?<=www)\.", re.IGNORECASE)
_HTML: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_TEXTS: Final = (pl.String, pl.Categorical, pl.Enum)
# Beginnings that spreadsheets take for a formula (the last four are full-width), unless the text is a number.
_FORMULA: Final = r"^[=+\-@\t\n\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}]"
_NUMBER: Final = r"^[-+]?[0-9.,]*(?:[eE][-+]?[0-9]+)?$"
_LIGATURE: Final = re.compile(r"([-,])(?=\1)")  # LaTeX makes two of them a dash or a quotation mark


def plain_text(text: str, most: int = 1000) -> str:
    """The text for one line of a terminal, shortened to `most` characters."""
    return visible(shortened(text, most))


def markdown_text(text: str, most: int = 1000) -> str:
    """The text as Markdown that shows it literally: no markup, no HTML, no link."""
    marked = _MARKS.sub(lambda mark: f"\\{mark[0]}", plain_text(text, most))
    return re.sub(r"[<>]|&(?=#|\w+;)", lambda mark: _HTML[mark[0]], marked)


def json_text(content: object, **how: Any) -> str:
    """One JSON document, indented, with control and invisible characters as JSON escapes."""
    text = json.dumps(content, ensure_ascii=False, **{"indent": 1, **how})
    return UNSEEN.sub(lambda char: char[0] if char[0] == "\n" else f"\\u{ord(char[0]):04x}", text) + "\n"


def csv_text(table: pl.DataFrame) -> str:
    r"""A table as CSV whose texts a spreadsheet does not take for formulas.

    Such texts get an apostrophe in front; numbers stay, even negative ones in columns of texts. Control characters
    become escapes. For the exact texts, use JSON.
    """
    texts = [_inert(table[name].cast(pl.String)) for name, dtype in table.schema.items() if dtype in _TEXTS]
    shown = table.with_columns(texts)
    return shown.rename(dict(zip(shown.columns, _inert(pl.Series(shown.columns)), strict=True))).write_csv()


def _inert(texts: pl.Series) -> pl.Series:
    """Texts without control characters and formulas."""
    hidden = texts.unique().drop_nulls()
    hidden = hidden.filter(hidden.str.contains(f"[{HIDDEN}]"))
    if len(hidden):
        texts = texts.replace(hidden, pl.Series([visible(text, keep="\t\n") for text in hidden], dtype=pl.String))
    is_formula = texts.str.contains(_FORMULA) & ~texts.str.contains(_NUMBER)
    return pl.select(pl.when(is_formula).then("'" + texts).otherwise(texts).alias(texts.name)).to_series()


def latex_text(text: str, most: int = 1000) -> str:
    """The text, shortened to `most` characters, as LaTeX that typesets it literally, in any font encoding."""
    return _LIGATURE.sub(r"\1{}", plain_text(text, most).translate(str.maketrans(_LATEX)))
