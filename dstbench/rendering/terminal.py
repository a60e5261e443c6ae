"""The terminal that a text is laid out for: how wide it is, and whether it shows colours."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple, TextIO

_NARROWEST: Final = 40  # in a narrower terminal, lines are this long


class Screen(NamedTuple):
    """What a text is laid out for."""

    width: int | None = None  # columns of the terminal; None: no terminal, lines may be as long as necessary
    coloured: bool = False  # whether it shows colours, and the user has not switched them off
    everything: bool = False  # whether all tables, rows and columns are shown; otherwise what matters first
    signature: bool = False  # whether whole signatures are shown even then
    label: str | None = None  # LaTeX's label of the table; None: by the result


_SCREEN: Final[ContextVar[Screen]] = ContextVar("screen", default=Screen())  # noqa: B039 # it cannot change
screen: Final = _SCREEN.get


@contextmanager
def laid_out_for(page: Screen) -> Iterator[None]:
    """Lay texts out for this screen within this block."""
    before = _SCREEN.set(page)
    try:
        yield
    finally:
        _SCREEN.reset(before)


def screen_of(stream: TextIO) -> Screen:
    """The terminal that a stream writes to, if it does."""
    if not stream.isatty():
        return Screen()
    try:
        width = int(os.environ.get("COLUMNS") or os.get_terminal_size(stream.fileno()).columns)
    except (OSError, ValueError):
        width = 0
    coloured = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(max(_NARROWEST, width or 80), coloured)


class _Lines(textwrap.TextWrapper):
    """Breaks lines at spaces, and signatures after their parts."""

    wordsep_simple_re = re.compile(r"(\s+|(?<=[|+,]))")


def wrapped(line: str, width: int | None, indent: str = "  ") -> str:
    """The line, broken into several if it is longer than `width`; the later ones are indented."""
    if width is None or len(line) <= width:
        return line
    return _Lines(width, subsequent_indent=indent, break_on_hyphens=False).fill(line)
