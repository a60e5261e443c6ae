"""The command line: the only package that prints or exits.

stdout is data, stderr is notes and progress. Exit 0: done; 1: the data cannot be used; 2: wrong usage; 130 or 143 (128
and the signal's number): interrupted or terminated.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module

from dstbench.cli.app import app
from dstbench.cli.output import discard_output

# Each adds its commands, in this order of --help.
for _module in ("score", "analyse", "report", "data", "help", "audit"):
    import_module(f"dstbench.cli.{_module}")


def main() -> None:
    """Entry point of the ``dstbench`` command."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed; else the next file that is opened would be taken for it
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter shows its code instead
            stream.reconfigure(errors="backslashreplace")
    for name in ("SIGTERM", "SIGHUP"):  # an interrupt raises an exception, so that all is tidied up; these do as well
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:  # not under nohup, which ignores one
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        app()
    except OSError as error:  # what was foreseen is said where it happens, with more about it
        discard_output()
        about = f"{error.filename}: " if error.filename else ""
        with suppress(OSError):
            sys.stderr.write(f"error: {about}{error.strerror or error}\n")
            sys.stderr.flush()
        sys.exit(1)
