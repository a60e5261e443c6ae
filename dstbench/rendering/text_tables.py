"""Tables as text, side by side; in a terminal, made narrower until they fit.

Long texts are wrapped, then titles of numbers, then standard errors and intervals go below their numbers; then the last
columns are left out, or (where everything is to be shown) each row becomes a list of its cells.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import Final, TypeAlias

import polars as pl

from dstbench.io.escape import plain_text
from dstbench.rendering.terminal import screen

#: Column to the style of each of its cells, for a terminal with colours.
Styles: TypeAlias = Mapping[str, Sequence[str]]
NO_STYLES: Final[Styles] = MappingProxyType({})
# The code of each part of a style, for terminals.
_CODES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35"}
#: The text for an undefined number.
UNDEFINED: Final = "-"
#: Letters and digits, and how text raises them.
RAISED: Final = str.maketrans("abcdefghijklmnoprstuvwxyz0123456789", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ⁰¹²³⁴⁵⁶⁷⁸⁹")
# Numbers, perhaps with raised letters, and with a share in percent, a standard error or an interval; undefined ones.
_SMALL: Final = r"(?: *\([-0-9.]+(?: to [-0-9.]+)?\)| *± [0-9.]+)?(?: +\[[-0-9., ]+\])?"
_NUMERIC: Final = rf"^(?:[-0-9.]*[{''.join(map(chr, RAISED.values()))},]*{_SMALL}|{UNDEFINED})$"
# Where lines may be broken: texts between words, titles of numbers after marks that are in no number, numbers before
# what is small.
_WORDS: Final = re.compile(r"(?<=\s)(?=\S)")
_MARKS: Final = re.compile(r"(?<=[ :_-])|(?<=\.)(?!\d)")
_BELOW: Final = re.compile(r"(?<= )(?=[±\[])")
_WIDEST_TEXT: Final = 60  # longer texts in a cell are wrapped; numbers never are
_WIDEST_TABLE: Final = 100  # where there is no terminal, texts are wrapped if the table is wider than this
# No text so short is wrapped, and no longer word broken: on a page; in a terminal, where it may be as an interval.
_ON_PAGE: Final = (24, math.inf)
_IN_TERMINAL: Final = (16, 24)
_NARROW_TITLE: Final = 10  # no title of numbers so short is wrapped
_GAP: Final = "   "  # between columns


class _Column:
    """A column to draw, and how wide it may be."""

    def __init__(self, cells: pl.Series, styles: Sequence[str]) -> None:
        self.is_number, texts = is_numeric(cells), [plain_text(cells.name), *map(plain_text, cells)]
        self.styles = ["", *(styles or [""] * len(cells))]
        breaks = [_MARKS, *[_BELOW] * len(cells)] if self.is_number else [_WORDS] * len(texts)
        #: The parts of the title and of each cell that may stand on lines of their own.
        self.parts = [where.split(text) for where, text in zip(breaks, texts, strict=True)]
        title, below = (_longest(part.rstrip() for of_text in parts for part in of_text)
                        for parts in (self.parts[:1], self.parts[1:]))  # fmt: skip
        whole, titled = _longest(texts), max(_longest(texts[1:]), title, _NARROW_TITLE)
        # As it is; of numbers also with the title in lines, and with standard errors below.
        self.widths = (whole, min(whole, titled), min(whole, max(below, title))) if self.is_number else (whole,) * 3
        self.word = _longest(word for text in texts for word in text.split())

    def width(self, level: int, longest: int, longest_word: float) -> int:
        """The width if texts have so many characters in a line, and longer words are broken."""
        if self.is_number:
            return self.widths[level]
        return int(min(self.widths[level], max(longest, min(self.word, longest_word))))


def is_numeric(texts: pl.Series) -> bool:
    """Whether all texts are numbers, perhaps with a share, or dashes."""
    return texts.str.contains(_NUMERIC).all()


def text_table(table: pl.DataFrame, styles: Styles = NO_STYLES) -> str:
    """A table of texts, laid out for the terminal (see `terminal.screen`)."""
    page, columns = screen(), [_Column(cells, styles.get(cells.name, ())) for cells in table]
    if page.width is None:
        widths = _fitting(columns, _WIDEST_TABLE, 1, *_ON_PAGE)
        return _side_by_side(columns, widths or [c.width(0, _WIDEST_TEXT, 0) for c in columns]) + "\n"
    shown = len(columns)
    while (widths := _fitting(columns[:shown], page.width, 3, *_IN_TERMINAL)) is None and not page.everything:
        shown -= 1
    if widths is None:
        return "".join(f"{_one_below_the_other(columns, row, page.width)}\n" for row in range(1, 1 + table.height))
    left_out = len(columns) - shown
    more = f"{left_out} more column{'s' if left_out > 1 else ''}: --all\n" if left_out else ""
    return _side_by_side(columns[:shown], widths) + more + "\n"


def _fitting(columns: Sequence[_Column], width: int, levels: int, shortest: int, word: float) -> list[int] | None:
    """Widths with which the columns fit, with texts as long as possible; None if they do not fit."""
    for level in range(levels):
        for longest in range(_WIDEST_TEXT, shortest - 1, -1):
            widths = [column.width(level, longest, word) for column in columns]
            if sum(widths) + len(_GAP) * (len(widths) - 1) < width:
                return widths
    return None


def _side_by_side(columns: Sequence[_Column], most: Sequence[int]) -> str:
    """The titles, aligned at the bottom, a line below them, and the rows, whose cells are aligned at the top."""
    drawn, widths = [], []
    for column, limit in zip(columns, most, strict=True):
        texts = [_filled(parts, limit) for parts in column.parts]
        widths.append(width := max(1, _longest(line for lines in texts for line in lines)))
        drawn.append([[_padded(line, width, style, right=column.is_number) for line in lines]
                      for lines, style in zip(texts, column.styles, strict=True)])  # fmt: skip
    titles, *rows = zip(*drawn, strict=True)
    above = [*_joined([title[::-1] for title in titles], widths)][::-1]
    rule = "-" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    lines = [*above, rule, *(line for row in rows for line in _joined(row, widths))]
    return "".join(f" {line}".rstrip() + "\n" for line in lines if line.strip())


def _one_below_the_other(columns: Sequence[_Column], row: int, width: int) -> str:
    """The cells of a row, each beside its title; the titles take at most half of the width."""
    most = min(_longest("".join(column.parts[0]) for column in columns), width // 2)
    drawn = list[str]()
    for column in columns:
        title, value = (_WORDS.split("".join(column.parts[at])) for at in (0, row))
        lines = [_padded(line, 0, column.styles[row]) for line in _filled(value, width - most - 4)]
        drawn += _joined([[_padded(line, most) for line in _filled(title, most)], lines], [most, 0])
    return "".join(f" {line}".rstrip() + "\n" for line in drawn)


def _joined(cells: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    """The lines of cells that stand side by side, already padded."""
    for parts in zip_longest(*cells):
        yield _GAP.join(" " * width if part is None else part for part, width in zip(parts, widths, strict=True))


def _padded(line: str, width: int, style: str = "", *, right: bool = False) -> str:
    space = " " * (width - _width(line))
    text = space + line if right else line + space
    is_styled = style and screen().coloured
    return f"\x1b[{';'.join(_CODES[part] for part in style.split())}m{text}\x1b[0m" if is_styled else text


def _filled(parts: Sequence[str], width: int) -> list[str]:
    """Lines that are as long as possible; only a part that is longer than a line is broken."""
    lines = [""]
    for part in parts:
        if _width((lines[-1] + part).rstrip()) <= width:
            lines[-1] += part
        elif _width(part.rstrip()) <= width:
            lines.append(part)
        else:
            from rich.cells import chop_cells

            lines += chop_cells(part, width)
    return [line.rstrip() for line in lines if line.strip()] or [""]


def _longest(texts: Iterator[str] | Sequence[str]) -> int:
    return max(map(_width, texts), default=1)


def _width(text: str) -> int:
    if max(text, default="") <= "\u02ff":  # wider characters come after it
        return len(text)
    from rich.cells import cell_len  # here, as few tables need it

    return cell_len(text)
