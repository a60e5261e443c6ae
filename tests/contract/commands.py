"""Commands, run in this process through the door that the console script takes."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import entry_points
from typing import NamedTuple

import pytest
import typer.main

#: What `dstbench` starts.
_MAIN = next(iter(entry_points(group="console_scripts", name="dstbench"))).load()


class Said(NamedTuple):
    """What a command says: its exit code, standard output and standard error."""

    code: int
    out: str
    err: str


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@contextmanager
def door() -> Iterator[None]:
    """Within this block, `run` takes a fourth of the time: Typer makes the options of all commands once."""
    signals = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield
    for number, handler in signals.items():
        signal.signal(number, handler)


def run(*words: str, columns: int | None = None) -> Said:
    """Run `dstbench WORDS`.

    Args:
        words: The words of the command line.
        columns: The width of the terminal that the command writes to; None: it writes to a file.
    """
    with pytest.MonkeyPatch.context() as patch:
        out, err = (_Terminal() if columns else io.StringIO()), io.StringIO()
        patch.setattr(sys, "argv", ["contract", *words])  # not `dstbench`, which would know this one command only
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        patch.setenv("COLUMNS", str(columns or 400))
        patch.setenv("NO_COLOR", "1")
        code = 0
        try:
            _MAIN()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Said(code, out.getvalue(), err.getvalue())
