"""Tables as text.

A table that is wider than the terminal is made narrower: long texts are wrapped, then the titles of numbers. If that is
not enough, a table of few rows goes on in further parts below; of a longer one, the last columns are left out, and a
line says how many. Where there is no terminal, all columns are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest
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
# Characters up to this one take one column of a terminal each; the width of others is looked up in Rich.
_LAST_NARROW: Final = "\u02ff"
#: The text for an undefined number.
UNDEFINED: Final = "-"
#: Letters and digits, and how text raises them.
RAISED: Final = str.maketrans("abcdefghijklmnoprstuvwxyz0123456789", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ⁰¹²³⁴⁵⁶⁷⁸⁹")
# Numbers, raised letters beside them or not, numbers with their share in percent, standard error or interval, and
# undefined ones.
_SMALL: Final = r"(?: *\([0-9.]+\)| *± [0-9.]+)?(?: +\[[-0-9., ]+\])?"
_NUMERIC: Final = rf"^(?:[-0-9.]*[{''.join(map(chr, RAISED.values()))},]*{_SMALL}|{UNDEFINED})$"
# Longer texts in a cell are wrapped; numbers never are.
_WIDEST_CELL: Final = 60
# Where there is no terminal, shorter texts are wrapped too if the table is wider than this and can be as narrow; but no
# word is broken, and no text so short.
_WIDEST_TABLE: Final = 100
_SHORT_TEXT: Final = 24
# In a terminal, no text so short is wrapped (an interval is not), and no word so short is broken.
_SHORTEST_TEXT: Final = 16
_LONGEST_WORD: Final = 24
# No title of numbers so short is wrapped.
_NARROW_TITLE: Final = 10
# The spaces between columns.
_GAP: Final = 3
# A table of at most so many rows has several parts if it is too wide, each of at most so many columns.
_FEW_ROWS: Final = 12
_MOST_COLUMNS: Final = 12


class _Column(NamedTuple):
    """A column to draw."""

    title: str
    cells: list[str]
    styles: Sequence[str]  # of the cells; empty: all are plain
    is_number: bool  # whether all cells are numbers
    full: int  # the width without line breaks
    least: int  # the width of the longest word (a number is a word) or part of the title


def _column(cells: pl.Series, styles: Sequence[str]) -> _Column:
    title, texts, is_number = plain_text(cells.name), [plain_text(text) for text in cells], is_numeric(cells)
    words = texts if is_number else [word for text in texts for word in text.split()]
    parts = [part.rstrip() for part in _parts(title)] if is_number else title.split()
    full, least = (max(map(_width, lines), default=1) for lines in ([title, *texts], [*parts, *words]))
    return _Column(title, texts, styles, is_number, full, least)


def is_numeric(texts: pl.Series) -> bool:
    """Whether all texts are numbers, perhaps with a share, or dashes."""
    return texts.str.contains(_NUMERIC).all()


def text_table(table: pl.DataFrame, styles: Styles = NO_STYLES, *, indent: int = 0) -> str:
    """A table of texts, laid out for the terminal (see `terminal.screen`)."""
    columns = [_column(cells, styles.get(cells.name, ())) for cells in table]
    page = screen()
    width = _WIDEST_TABLE if page.width is None else page.width - indent
    widths = _fitting(columns, width)
    if page.width is None and widths is None:
        widths = [column.full if column.is_number else min(column.full, _WIDEST_CELL) for column in columns]
    if widths is not None:
        return _draw(columns, widths) + "\n"
    has_parts = page.everything or table.height <= _FEW_ROWS
    keys, rest = _keys(columns, width)
    parts = []
    while rest:
        most = _MOST_COLUMNS - len(keys) if has_parts else len(rest)
        sizes = range(min(most, len(rest)), 1, -1)
        size = next((n for n in sizes if _fitting([*keys, *rest[:n]], width)), 1)
        part, rest = [*keys, *rest[:size]], rest[size:]
        folded = max(1, (width + 1) // len(part) - _GAP)  # any columns fit, though words and numbers are broken
        parts.append(_draw(part, _fitting(part, width) or [min(column.full, folded) for column in part]))
        if not has_parts:
            break
    more = f"{len(rest)} more column{'s' if len(rest) > 1 else ''}: --all\n" if rest else ""
    return "\n".join(parts) + more + "\n"


# --- widths -----------------------------------------------------------------------------------------------------------


def _width(text: str) -> int:
    if max(text, default="") <= _LAST_NARROW:
        return len(text)
    from rich.cells import cell_len  # here, as few tables need it

    return cell_len(text)


def _parts(title: str) -> list[str]:
    """The parts of a title that may stand on lines of their own."""
    return re.findall(r"[^ :_.-]*[ :_.-]?", title)


def _fitting(columns: Sequence[_Column], width: int) -> list[int] | None:
    """Widths for a page or a terminal, with texts as long as possible; None if the columns do not fit."""
    on_page = screen().width is None
    full = [column.full for column in columns]
    narrow = [min(column.full, max(_NARROW_TITLE, column.least)) for column in columns]
    for numbers in (full,) if on_page else (full, narrow):
        for longest in range(_WIDEST_CELL, (_SHORT_TEXT if on_page else _SHORTEST_TEXT) - 1, -1):
            texts = (max(longest, column.least if on_page else min(column.least, _LONGEST_WORD)) for column in columns)
            widths = [
                number if column.is_number else min(column.full, text)
                for column, number, text in zip(columns, numbers, texts, strict=True)
            ]
            if sum(widths) + _GAP * len(widths) - 1 <= width:
                return widths
    return None


def _keys(columns: list[_Column], width: int) -> tuple[list[_Column], list[_Column]]:
    """The first columns, as many as identify the rows, to be repeated in every part; and the others."""
    rows = range(len(columns[0].cells))
    for n in range(1, len(columns)):
        is_key = len({tuple(column.cells[row] for column in columns[:n]) for row in rows}) == len(rows)
        if is_key and _fitting(columns[: n + 1], width):
            return columns[:n], columns[n:]
    return columns[:1], columns[1:] or columns[:0]


# --- drawing ----------------------------------------------------------------------------------------------------------


def _draw(columns: Sequence[_Column], widths: Sequence[int]) -> str:
    """The titles, aligned at the bottom, a line below them, and the rows, whose cells are aligned at the top."""
    titles, cells, full = [], [], []
    for column, most in zip(columns, widths, strict=True):
        is_broken = column.is_number and _width(column.title) > most
        title = _filled(_parts(column.title), most) if is_broken else [column.title]
        width = min(most, max(1, *map(_width, [*title, *column.cells])))
        styled = zip(column.cells, column.styles or [""] * len(column.cells), strict=True)
        titles.append([_padded(column, line, width) for part in title for line in _lines(part, width)])
        cells.append([[_padded(column, line, width, style) for line in _lines(text, width)] for text, style in styled])
        full.append(width)
    above = [*_joined([title[::-1] for title in titles], full)][::-1]
    rows = chain.from_iterable(_joined(row, full) for row in zip(*cells, strict=True))
    rule = "-" * (sum(full) + _GAP * (len(full) - 1))
    return "".join(f" {line}".rstrip() + "\n" for line in [*above, rule, *rows] if line.strip())


def _joined(cells: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    """The lines of cells that stand side by side."""
    for parts in zip_longest(*cells):
        yield (" " * _GAP).join(part or " " * width for part, width in zip(parts, widths, strict=True))


def _padded(column: _Column, line: str, width: int, style: str = "") -> str:
    space = " " * (width - _width(line))
    padded = space + line if column.is_number else line + space
    if not (style and screen().coloured):
        return padded
    return f"\x1b[{';'.join(_CODES[part] for part in style.split())}m{padded}\x1b[0m"


def _lines(text: str, width: int) -> list[str]:
    """The text in lines, broken between words."""
    return [text] if _width(text) <= width else _filled(re.findall(r"\s*\S+\s*", text), width)


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
    return [line for line in map(str.rstrip, lines) if line]
