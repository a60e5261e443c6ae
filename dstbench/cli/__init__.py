"""The command line: the only package that prints or exits.

stdout is data, stderr is notes and progress. Exit 0: done; 1: the data cannot be used; 2: wrong usage.
"""

from __future__ import annotations

import io
import sys

from dstbench.cli import (  # noqa: F401 (they add their commands, in the order of --help)
    data,
    dialogues,
    questions,
    reports,
    scores,
)
from dstbench.cli.app import app


def main() -> None:
    """Entry point of the ``dstbench`` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter shows its code instead
            stream.reconfigure(errors="backslashreplace")
    app()
