"""Whatever ends a writer: there is the old file or the new one, whole; only a kill leaves a hidden file behind."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import pytest

import dstbench
from dstbench.demo import synthetic
from tests.commands import run
from tests.faults import COMMANDS, Undisturbed, disturbed, moments, there, undisturbed, write_inputs

resource = pytest.importorskip("resource", reason="no limits of processes here")
Usual: TypeAlias = Callable[[str], tuple[Undisturbed, dict[str, bytes]]]
pytestmark = pytest.mark.kill


def is_whole(found: dict[str, bytes], before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Every file that is not hidden is as it was before, or as it is in the end."""
    for name in {*found, *before}:
        if not any(part.startswith(".") for part in Path(name).parts) and not name.endswith("/"):
            assert found.get(name) in (before.get(name), after.get(name)), name


def named(found: dict[str, bytes]) -> dict[str, bytes]:
    """The files without those that a killed writer leaves, which are hidden and have a name of their own."""
    return {
        name: content for name, content in found.items() if not re.search(r"(^|/)\.[^/]+\.[0-9a-f]{16}\.part$", name)
    }


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Usual:
    """What a command does that is left alone, and all files thereafter."""

    @cache
    def done(command: str) -> tuple[Undisturbed, dict[str, bytes]]:
        with contextlib.chdir(tmp_path_factory.mktemp(command)):
            write_inputs()
            found = undisturbed(COMMANDS[command][0])
            assert {*found.files} == {*COMMANDS[command][1]}
            return found, there()

    return done


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", COMMANDS)
def test_ended_at_any_moment(command: str, number: signal.Signals, usual: Usual, here: Path) -> None:
    """The same command then writes all as if nothing had been."""
    write_inputs()
    words, outputs = COMMANDS[command]
    alone, after = usual(command)
    for moment in chain(*moments(f"{command} {number}", alone)):
        for name in outputs:
            Path(name).write_text("what was there before")
        before = there()
        code, err = disturbed(words, number, moment)
        found = there()
        is_whole(found, before, after)
        if number == signal.SIGKILL:
            assert code in (-number, 0)
        else:
            assert "Traceback" not in err, moment
            assert "ignored" not in err, moment
            assert code in (128 + number, -number, 0), (moment, err)  # Python, at its end, no more handles signals
            assert {*found} == {*before}, moment
        assert run(*words.split())[0] == 0
        assert named(there()) == after, moment


def test_a_closed_stdout(here: Path) -> None:
    """One that nobody reads any more, or that never was there, is no error; one that is full is."""
    write_inputs()
    ways = {
        "score one.jsonl --by dialogue,turn | head -n 1": (0, ""),
        "score one.jsonl >&-": (0, ""),
        "score one.jsonl >&- 2>&-": (0, ""),
        "--help > /dev/full": (1, "error: No space left on device\n"),  # Linux has it, which CI runs on
    }
    for words, outcome in ways.items():
        line = f"set -o pipefail; {sys.executable} -m dstbench {words}"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)  # noqa: S603, S607
        assert (done.returncode, done.stderr) == outcome


#: Commands, and the file in the folder `out` that they cannot write.
WRITERS = {
    "convert one.jsonl -o out/x.parquet": "out/x.parquet",
    "contexts gold.json -o out/x.parquet": "out/x.parquet",
    "score one.jsonl --by dialogue -o out/x.txt": "out/x.txt",
    "audit inconsistency gold.json --support 2 --apply -o out/x.json": "out/x.json",
    "audit inconsistency gold.json --support 2 --log out/x.csv": "out/x.csv",
    "report one.jsonl -m jga --most 1 -o out/x.html": "out/x.html",
    "audit bias gold.json --charts out": "out/bias.vl.json",
    "demo --dialogues 30 -o out": "out/careful.parquet",
}


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("words", WRITERS)
def test_a_disk_that_becomes_full_in_mid_file(words: str, here: Path) -> None:
    """As files may not be larger than so many bytes: one message, and what was there before is there still."""
    write_inputs()
    target = Path(WRITERS[words])
    target.parent.mkdir()
    target.touch()
    before, usual = there(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, usual[1]))
    try:
        code, _, err = run(*words.split())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert (code, err.splitlines()[-2]) == (1, f"error: {target}: cannot be written: {os.strerror(errno.EFBIG)}"), err
    assert err.splitlines()[-1].startswith("hint: ")
    assert there() == before


def _overwritten() -> None:
    """As `cp` does it: the same file, its content another."""
    Path("run.parquet").write_bytes(Path("other.parquet").read_bytes())


_CHANGED = "the file was replaced or changed while it was read"
CHANGES: dict[str, tuple[Callable[[], None], str]] = {
    "vanished": (lambda: os.remove("run.parquet"), "no such file any more"),
    "replaced": (lambda: os.replace("other.parquet", "run.parquet"), _CHANGED),
    "overwritten": (_overwritten, _CHANGED),
    "cut off": (lambda: os.truncate("run.parquet", 3000), _CHANGED),
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_long_table_that_is_another_when_it_is_scored(how: str, here: Path) -> None:
    change, said = CHANGES[how]
    for name, tracker in (("run", "careful"), ("other", "forgetful")):
        dstbench.write_long(dstbench.open_runs(synthetic(300, trackers=[tracker]))[0], f"{name}.parquet")
    runs = dstbench.open_runs("run.parquet")
    change()
    uses: list[Callable[[], object]] = [
        lambda: dstbench.score(runs), lambda: dstbench.diagnose(runs), lambda: dstbench.sweep(runs),
        lambda: dstbench.query("SELECT count(*) FROM long", runs), lambda: dstbench.write_long(runs[0], "copy.parquet"),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(dstbench.DstbenchError, match=f"{here}/run.parquet: {said}.*\nhint: "):
            use()
    assert not Path("copy.parquet").exists()
