"""Commands of `dstbench` in a terminal of a given width, which the operating system makes."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.paths import ROOT

# Runs commands one after the other in one process, each at several widths; after each, writes a line to both streams.
# What one of them has computed is only shown anew by others, or at another width.
_SCRIPT = """
import fcntl, json, struct, sys, termios
sys.argv[0], commands, widths, root = "tests", *json.loads(sys.argv[1])
sys.path.append(root)
import typer.main
import dstbench.cli
from dstbench.cli import output
from dstbench.cli.app import app
from tests.once import compute_once
compute_once(setattr)

class AtOnce:
    def __init__(self, _, show):
        self.start = show

    def cancel(self):
        pass

output.Timer = AtOnce
run = typer.main.get_command(app)
for words in commands:
    for width in widths:
        for stream in (sys.stdout, sys.stderr):
            fcntl.ioctl(stream, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        try:
            code = run.main(words, standalone_mode=False)
        except SystemExit as ended:
            code = ended.code
        for stream in (sys.stdout, sys.stderr):
            print(f"\\n=== {code or 0}", file=stream, flush=True)
"""


class Shown(NamedTuple):
    """What a terminal got: the exit code, and standard output and error as they are."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of standard output, without colours."""
        return plain(self.out).split("\n")


def plain(text: str) -> str:
    """Text as a terminal shows it, without colours; what overwrites a line is on a line of its own."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n").replace("\r", "\n")


def in_terminal(commands: Sequence[Sequence[str]], width: int, folder: Path, **env: str) -> list[Shown]:
    """Run commands in a terminal of this width; their standard output and error are read apart."""
    return in_terminals(commands, [width], folder, **env)[width]


def in_terminals(
    commands: Sequence[Sequence[str]], widths: Sequence[int], folder: Path, **env: str
) -> dict[int, list[Shown]]:
    """What commands show at each of these widths of a terminal; each computes once."""
    import json
    import pty

    pairs = [pty.openpty() for _ in range(2)]
    unset = ("COLUMNS", "LINES", "NO_COLOR", "TERM")
    process = subprocess.Popen(  # noqa: S603 (our own command)
        [sys.executable, "-c", _SCRIPT, json.dumps([commands, widths, str(ROOT)])],
        stdin=subprocess.DEVNULL,
        stdout=pairs[0][1],
        stderr=pairs[1][1],
        cwd=folder,
        env={**{key: text for key, text in os.environ.items() if key not in unset}, "TERM": "xterm-256color", **env},
    )
    for _, theirs in pairs:
        os.close(theirs)
    got = {ours: b"" for ours, _ in pairs}
    open_ones = set(got)
    while open_ones:
        for ours in select.select(list(open_ones), [], [])[0]:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # Linux says so at the end
                part = b""
            got[ours] += part
            if not part:
                open_ones.discard(ours)
                os.close(ours)
    assert process.wait() == 0, got[pairs[1][0]].decode()
    parts = [re.split(r"\r?\n=== (\d+)\r?\n", got[ours].decode()) for ours, _ in pairs]
    out, err = (part[:-1:2] for part in parts)
    shown = [Shown(int(code), *streams) for code, *streams in zip(parts[0][1::2], out, err, strict=True)]
    return {width: shown[at :: len(widths)] for at, width in enumerate(widths)}
