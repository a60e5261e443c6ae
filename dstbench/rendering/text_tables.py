"""Tables as text.

A table that is wider than the terminal is made narrower: long texts are wrapped, then titles of numbers, then standard
errors and intervals go below their numbers. If that is not enough, the last columns are left out, and a line says how
many; where everything is to be shown, each row becomes a list of its cells. Where there is no terminal, all columns are
shown side by side.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

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
_SMALL: Final = r"(?: *\([0-9.]+\)| *± [0-9.]+)?(?: +\[[-0-9., ]+\])?"
_NUMERIC: Final = rf"^(?:[-0-9.]*[{''.join(map(chr, RAISED.values()))},]*{_SMALL}|{UNDEFINED})$"
_WIDEST_TEXT: Final = 60  # longer texts in a cell are wrapped; numbers never are
_WIDEST_TABLE: Final = 100  # where there is no terminal, texts are wrapped if the table is wider than this
_SHORTEST_TEXT: Final = 24  # no text so short is wrapped; in a terminal, none that is as short as an interval
_INTERVAL: Final = 16
_LONGEST_WORD: Final = 24  # in a terminal, longer words may be broken
_NARROW_TITLE: Final = 10  # no title of numbers so short is wrapped
_GAP: Final = "   "  # between columns
_LAST_NARROW: Final = "\u02ff"  # wider characters come after it; their width is looked up in Rich


class _Column(NamedTuple):
    """A column to draw: its title and cells, and whether all cells are numbers."""

    title: str
    cells: list[str]
    styles: Sequence[str]
    is_number: bool


def is_numeric(texts: pl.Series) -> bool:
    """Whether all texts are numbers, perhaps with a share, or dashes."""
    return texts.str.contains(_NUMERIC).all()


def text_table(table: pl.DataFrame, styles: Styles = NO_STYLES) -> str:
    """A table of texts, laid out for the terminal (see `terminal.screen`)."""
    page, columns = screen(), []
    for cells in table:
        texts = [plain_text(text) for text in cells]
        columns.append(_Column(plain_text(cells.name), texts, styles.get(cells.name, ()), is_numeric(cells)))
    if page.width is None:
        widths = _fitting(columns, _WIDEST_TABLE)
        return _side_by_side(columns, widths or [math.inf if c.is_number else _WIDEST_TEXT for c in columns]) + "\n"
    shown = len(columns)
    while (widths := _fitting(columns[:shown], page.width)) is None and not page.everything:
        shown -= 1
    if widths is None:
        return "".join(f"{_one_below_the_other(columns, row, page.width)}\n" for row in range(table.height))
    left_out = len(columns) - shown
    more = f"{left_out} more column{'s' if left_out > 1 else ''}: --all\n" if left_out else ""
    return _side_by_side(columns[:shown], widths) + more + "\n"


# --- widths -----------------------------------------------------------------------------------------------------------


def _width(text: str) -> int:
    if max(text, default="") <= _LAST_NARROW:
        return len(text)
    from rich.cells import cell_len  # here, as few tables need it

    return cell_len(text)


def _longest(texts: Sequence[str]) -> int:
    return max(map(_width, texts), default=1)


def _title_parts(title: str) -> list[str]:
    """The parts of a title that may stand on lines of their own."""
    return re.findall(r"[^ :_.-]*[ :_.-]?", title)


def _number_parts(number: str) -> list[str]:
    """A number, and what may stand below it: its standard error or interval."""
    return re.split(r" +(?=[±\[])", number)


def _fitting(columns: Sequence[_Column], width: int) -> list[int] | None:
    """Widths with which the columns fit, with texts as long as possible; None if they do not fit."""
    on_page = screen().width is None
    whole = [_longest([column.title, *column.cells]) for column in columns]
    titled = [max(_longest(c.cells), _longest(_title_parts(c.title)), _NARROW_TITLE) for c in columns]
    folded = [
        max(_longest([part for cell in c.cells for part in _number_parts(cell)]), _longest(_title_parts(c.title)))
        for c in columns
    ]
    words = [_longest([word for text in (c.title, *c.cells) for word in text.split()]) for c in columns]
    for numbers in (whole,) if on_page else (whole, titled, folded):
        for longest in range(_WIDEST_TEXT, (_SHORTEST_TEXT if on_page else _INTERVAL) - 1, -1):
            widths = [
                min(full, number if column.is_number else max(longest, word if on_page else min(word, _LONGEST_WORD)))
                for column, full, number, word in zip(columns, whole, numbers, words, strict=True)
            ]
            if sum(widths) + len(_GAP) * len(widths) - 2 <= width:
                return widths
    return None


# --- drawing ----------------------------------------------------------------------------------------------------------


def _side_by_side(columns: Sequence[_Column], widths: Sequence[float]) -> str:
    """The titles, aligned at the bottom, a line below them, and the rows, whose cells are aligned at the top."""
    titles, cells, full = [], [], []
    for column, most in zip(columns, widths, strict=True):
        title = _filled(_title_parts(column.title) if column.is_number else _words(column.title), most)
        lines = [_cell_lines(column, cell, most) for cell in column.cells]
        width = max(1, _longest(title), *(_longest(of_cell) for of_cell in lines))
        styles = column.styles or [""] * len(lines)
        titles.append([_padded(line, width, column) for line in title][::-1])
        cells.append(
            [
                [_padded(line, width, column, style) for line in of_cell]
                for of_cell, style in zip(lines, styles, strict=True)
            ]
        )
        full.append(width)
    above = [*_joined(titles, full)][::-1]
    rows = (line for row in zip(*cells, strict=True) for line in _joined(row, full))
    rule = "-" * len(_GAP.join(" " * width for width in full))
    return "".join(f" {line}".rstrip() + "\n" for line in [*above, rule, *rows] if line.strip())


def _one_below_the_other(columns: Sequence[_Column], row: int, width: int) -> str:
    """The cells of a row, each beside its title; the titles take at most half of the width."""
    most = min(_longest([column.title for column in columns]), width // 2)
    drawn = list[str]()
    for column in columns:
        style = column.styles[row] if column.styles else ""
        title = [line + " " * (most - _width(line)) for line in _filled(_words(column.title), most)]
        value = [_styled(line, style) for line in _filled(_words(column.cells[row]), width - most - 4)]
        drawn += _joined([title, value], [most, 0])
    return "".join(f" {line}".rstrip() + "\n" for line in drawn)


def _cell_lines(column: _Column, cell: str, width: float) -> list[str]:
    if _width(cell) <= width:
        return [cell]
    return _number_parts(cell) if column.is_number else _filled(_words(cell), width)


def _joined(cells: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    """The lines of cells that stand side by side, already padded."""
    for parts in zip_longest(*cells):
        padded = (" " * width if part is None else part for part, width in zip(parts, widths, strict=True))
        yield _GAP.join(padded)


def _padded(line: str, width: int, column: _Column, style: str = "") -> str:
    space = " " * (width - _width(line))
    return _styled(space + line if column.is_number else line + space, style)


def _styled(text: str, style: str) -> str:
    if not (style and screen().coloured):
        return text
    return f"\x1b[{';'.join(_CODES[part] for part in style.split())}m{text}\x1b[0m"


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+\s*", text) or [text]


def _filled(parts: Sequence[str], width: float) -> list[str]:
    """Lines that are as long as possible; only a part that is longer than a line is broken."""
    lines = [""]
    for part in parts:
        if _width((lines[-1] + part).rstrip()) <= width:
            lines[-1] += part
        elif _width(part.rstrip()) <= width:
            lines.append(part)
        else:
            from rich.cells import chop_cells

            lines += chop_cells(part, int(width))
    return [line.rstrip() for line in lines if line.strip()] or [""]
