"""Commands of `dstbench`, run by tests: in this process, or as users do, in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import typer.main
from typer.testing import CliRunner

import dstbench.cli  # noqa: F401 (adds its commands)
from dstbench import plugins
from dstbench.cli.app import app
from dstbench.metrics import parse

#: Exit code, standard output, standard error.
Result = tuple[int, str, str]
_WIDTH = {"COLUMNS": "100"}
_APP = typer.main.get_command(app)  # once: making all commands takes 30 ms


def run(*words: str) -> Result:
    """A command in this process, which takes a tenth of the time that another process does."""
    code = 0
    with forgetting_modules(), CliRunner().isolation(env=_WIDTH) as streams:
        try:
            _APP.main(words, prog_name="dstbench")
        except SystemExit as ended:
            code = int(ended.code or 0)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        out, err = (stream.getvalue().decode("utf-8", "replace") for stream in streams[:2])
    return code, out, err


@contextmanager
def forgetting_modules() -> Iterator[None]:
    """The modules that are named with ``--plugins`` are forgotten, as where a process ends."""
    before, path = dict(plugins._MODULES), [*sys.path]
    try:
        yield
    finally:
        for module in [module for name, module in plugins._MODULES.items() if name not in before]:
            sys.modules.pop(module.__name__, None)
            parse.cache_clear()
        plugins._MODULES.clear()
        plugins._MODULES.update(before)
        sys.path[:] = path


def run_apart(*words: str, env: dict[str, str] | None = None) -> Result:
    """A command in a process of its own."""
    done = subprocess.run(  # noqa: S603 (our own command)
        [sys.executable, "-m", "dstbench", *words],
        capture_output=True,
        encoding="utf-8",
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **_WIDTH, **(env or {})},
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def ok(*words: str) -> str:
    """What a command prints that succeeds and has nothing to note."""
    code, out, err = run(*words)
    assert (code, err) == (0, ""), err
    return out


def tables(text: str) -> dict[str, list[list[str]]]:
    """Title to the words of the table below, without its rule."""
    found: dict[str, list[list[str]]] = {}
    parts = [part for part in text.split("\n\n") if part.strip()]
    for title, table in pairwise(parts):
        lines = [line.strip() for line in table.splitlines()]
        if any(line and not set(line) - {"-"} for line in lines):
            found[title.strip()] = [line.split() for line in lines if set(line) - {"-"}]
    return found
