"""The command line: the only package that prints or exits.

stdout is data, stderr is notes and progress. Exit 0: done; 1: the data cannot be used; 2: wrong usage.
"""

from __future__ import annotations

import io
import sys

# They add their commands, in the order of --help.
from dstbench.cli import data, dialogues, questions, reports, scores  # noqa: F401
from dstbench.cli.app import app


def main() -> None:
    """Entry point of the ``dstbench`` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter shows its code instead
            stream.reconfigure(errors="backslashreplace")
    app()
