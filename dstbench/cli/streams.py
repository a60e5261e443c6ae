"""The standard streams, as commands write to them."""

from __future__ import annotations

import io
import os
import sys
from typing import Any


class Unfailing(io.FileIO):
    """A file that drops what cannot be written: for standard error, as there is no place left to report it."""

    def write(self, data: Any) -> int:
        """Write what there is room for."""
        try:
            return super().write(data) or 0
        except OSError:
            return len(data)


def open_streams() -> None:
    """Open the standard streams again, with a buffer, so that an incomplete write to standard output is an error.

    Without a buffer (``PYTHONUNBUFFERED``), Python writes as much as there is room for, and silently drops the rest.
    """
    kinds: dict[str, type[io.FileIO] | None] = {"stdin": None, "stdout": io.FileIO, "stderr": Unfailing}
    for name, kind in kinds.items():
        stream = getattr(sys, name)
        if stream is None:  # closed: the next file that is opened would take its number
            setattr(sys, name, open(os.devnull, "w" if kind else "r", encoding="utf-8"))  # noqa: SIM115
        elif kind and isinstance(stream, io.TextIOWrapper):
            setattr(sys, name, reopened(stream, kind(stream.fileno(), "w", closefd=False)))


def reopened(stream: Any, file: io.FileIO) -> io.TextIOWrapper:
    """A stream like another, to a file; letters that the terminal cannot show are printed as escapes."""
    buffer = io.BufferedWriter(file)
    return io.TextIOWrapper(buffer, stream.encoding, "backslashreplace", line_buffering=stream.line_buffering)
