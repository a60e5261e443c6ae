"""The command line: the only package that prints or exits.

Results go to stdout, notes and progress to stderr. Exit codes: 0, done; 1, the data cannot be used; 2, wrong usage; 130
or 143 (128 plus the signal's number), interrupted or terminated.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

from dstbench.cli.app import app
from dstbench.cli.output import discard_output

# Each module adds its commands to `app`; --help lists them in this order.
for _module in ("score", "analyse", "judging", "sensitivity", "report", "data", "help", "audit", "audit_values"):
    import_module(f"dstbench.cli.{_module}")


class _Unfailing(io.FileIO):
    """What cannot be written is dropped: as standard error, there is no place left to say so."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError:
            return len(data)


def _open_streams() -> None:
    """Open the standard streams again, with a buffer: what standard output has no room for is an error.

    Without a buffer (``PYTHONUNBUFFERED``), Python writes as much as there is room for, and says nothing of the rest.
    """
    kinds: dict[str, type[io.FileIO] | None] = {"stdin": None, "stdout": io.FileIO, "stderr": _Unfailing}
    for name, kind in kinds.items():
        stream = getattr(sys, name)
        if stream is None:  # closed: the next file that is opened would take its number
            setattr(sys, name, open(os.devnull, "w" if kind else "r", encoding="utf-8"))  # noqa: SIM115
        elif kind and isinstance(stream, io.TextIOWrapper):
            file = io.BufferedWriter(kind(stream.fileno(), "w", closefd=False))
            # Letters that the terminal cannot show are printed as escapes.
            text = io.TextIOWrapper(file, stream.encoding, "backslashreplace", line_buffering=stream.line_buffering)
            setattr(sys, name, text)


def main() -> None:
    """Entry point of the ``dstbench`` command."""
    _open_streams()
    for name in ("SIGTERM", "SIGHUP"):  # they too raise an exception, as an interrupt does, so that files are tidied up
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        app()
    except OSError as error:  # one that no other place has turned into a message of its own
        discard_output()
        about = f"{error.filename}: " if error.filename else ""
        with suppress(OSError):
            sys.stderr.write(f"error: {about}{error.strerror or error}\n")
            sys.stderr.flush()
        sys.exit(1)
