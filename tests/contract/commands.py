"""Commands, run in this process through the door that the console script takes."""

from __future__ import annotations

import inspect
import io
import os
import signal
import sys
import warnings
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final, NamedTuple

import polars as pl
import pytest
import typer.main

import dstbench
from dstbench import audit

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


#: Typer makes the options of all commands, once: each time takes three times as long as a small command.
_COMMANDS: Final = cache(typer.main.get_command)


def run(*words: str, columns: int | None = None) -> Said:
    """Run `dstbench WORDS`.

    Args:
        words: The words of the command line.
        columns: The width of the terminal that the command writes to; None: it writes to a file.
    """
    signals = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    with pytest.MonkeyPatch.context() as patch:
        out, err = (_Terminal() if columns else io.StringIO()), io.StringIO()
        patch.setattr(sys, "argv", ["contract", *words])  # not `dstbench`, which would know this one command only
        patch.setattr(typer.main, "get_command", _COMMANDS)
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        patch.setenv("COLUMNS", str(columns or 400))
        patch.setenv("NO_COLOR", "1")
        code = 0
        try:
            _MAIN()
        except SystemExit as ended:
            code = int(ended.code or 0)
    for number, handler in signals.items():
        signal.signal(number, handler)
    return Said(code, out.getvalue(), err.getvalue())


Kept = dict[tuple[Callable[..., Any], str], tuple[Any, list[tuple[Any, ...]]]]
#: Functions of data that write it, or open it for others.
_NOT_SHOWN: Final = ("open_runs", "scan", "replace", "review_sheet")


def compute_once(set_attribute: Callable[[Any, str, Any], None]) -> None:
    """Make each function that a command shows compute once, for tests of how one result is shown in several ways."""
    kept: Kept = {}
    for place in (dstbench, audit):
        for name in place.__all__:
            function = getattr(place, name)
            taken = inspect.signature(function).parameters if inspect.isfunction(function) else {}
            if name not in _NOT_SHOWN and {"data", "after", "sheet"} & taken.keys():
                set_attribute(import_module(function.__module__), name, once(function, kept))


def once(compute: Callable[..., Any], kept: Kept) -> Callable[..., Any]:
    """A function that keeps what it returns and warns of, and returns and warns of it again when it is asked again."""

    @wraps(compute)
    def get(*args: Any, **options: Any) -> Any:
        with pl.Config(tbl_width_chars=100):  # otherwise frames are printed as wide as the terminal
            key = compute, repr((os.getcwd(), args, options))
        if key in kept:
            result, warned = kept[key]
            for warning in warned:
                warnings.showwarning(*warning)
            return result
        tell, warned = warnings.showwarning, []

        def keep(*warning: Any) -> None:
            warned.append(warning)
            tell(*warning)

        warnings.showwarning = keep  # type: ignore[assignment] # whatever arguments it has
        try:
            kept[key] = compute(*args, **options), warned
        finally:
            warnings.showwarning = tell
        return kept[key][0]

    return get
