"""Whatever ends a writer: there is the old file or the new one, whole; only a kill leaves a hidden file behind."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import pytest

from dstbench.io.atomic import replacing
from tests.commands import run
from tests.faults import (
    COMMANDS,
    DRAWING,
    MOMENTS,
    Undisturbed,
    begin,
    disturbed,
    moments,
    there,
    undisturbed,
    write_inputs,
)

Usual: TypeAlias = Callable[[str], tuple[Undisturbed, dict[str, bytes]]]
pytestmark = [pytest.mark.kill, pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signals here")]


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


def states(found: dict[str, bytes], after: dict[str, bytes], outputs: list[str]) -> str:
    """Whether the outputs are the old or the new ones."""
    new = sum(found[name] == after[name] for name in outputs)
    return "all old" if new == 0 else "all new" if new == len(outputs) else "some old, some new"


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


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_any_moment(
    command: str, usual: Usual, here: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    if DRAWING:
        request.getfixturevalue("undrawn")
    write_inputs()
    words, outputs = COMMANDS[command]
    alone, after = usual(command)
    kills = Counter[str]()
    for name in outputs:
        Path(name).parent.mkdir(exist_ok=True)
    for moment in chain(*moments(command, alone)):
        for name in outputs:
            Path(name).write_text("what was there before")
        before = there()
        code, _ = disturbed(words, signal.SIGKILL, moment)
        assert code in (-signal.SIGKILL, 0)
        found = there()
        is_whole(found, before, after)
        if command == "report" and not DRAWING:  # figures that are drawn in one process have numbers that go on
            undisturbed(words)
        else:
            run(*words.split())
        assert named(there()) == after, moment
        kills["it was done" if code == 0 else states(found, after, outputs)] += 1
    if MOMENTS > 1:
        with capsys.disabled():
            counts = ", ".join(f"{count} {state}" for state, count in sorted(kills.items()))
            print(f"\n{command}: {kills.total()} times: {counts}")  # noqa: T201


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", COMMANDS)
def test_interrupted_at_any_moment(command: str, number: signal.Signals, usual: Usual, here: Path) -> None:
    write_inputs()
    words, outputs = COMMANDS[command]
    alone, after = usual(command)
    for name in outputs:
        Path(name).parent.mkdir(exist_ok=True)
    works, times = moments(f"{command} {number}", alone)
    # Left alone, the one signal comes at some work on files, the other at some time.
    for moment in [*works, *times] if MOMENTS > 1 else works if number == signal.SIGINT else times:
        for name in outputs:
            Path(name).write_text("what was there before")
        before = there()
        code, err = disturbed(words, number, moment)
        found = there()
        assert "Traceback" not in err, moment
        assert "ignored" not in err, moment
        assert code in (128 + number, -number, 0), (moment, err)  # Python, at its end, no more handles signals
        is_whole(found, before, after)
        assert {*found} == {*before}, moment


@pytest.mark.parametrize("command", ["score {} -o out.json --format json", "convert {} small.jsonl -o out.parquet"])
def test_two_that_write_one_file(command: str, here: Path) -> None:
    """Both end well, one after the other or not, and what they leave is what one of them wrote."""
    write_inputs()
    lines = Path("one.jsonl").read_text().splitlines(keepends=True)
    Path("small.jsonl").write_text("".join(lines[-12:]).replace("D1", "E1"))
    inputs = there()
    wanted = []
    for name in ("one", "two"):
        assert run(*command.format(f"{name}.jsonl").split())[0] == 0
        (new,) = {*there()} - {*inputs}
        wanted.append(Path(new).read_bytes())
        Path(new).unlink()
    for _ in range(MOMENTS):
        both = [begin(command.format(f"{name}.jsonl")) for name in ("one", "two")]
        said = [running.communicate(timeout=120)[1] for running in both]
        assert [running.returncode for running in both] == [0, 0], said
        assert {*there()} == {*inputs, new}
        assert Path(new).read_bytes() in wanted


def test_two_writers_do_not_share_their_hidden_files(here: Path) -> None:
    with replacing("x.txt") as first:
        first.write_text("first")
        with replacing("x.txt") as second:
            second.write_text("second")
            assert {*Path().iterdir()} == {Path(first.name), Path(second.name)}
        assert Path("x.txt").read_text() == "second"
    assert Path("x.txt").read_text() == "first"
    assert {*Path().iterdir()} == {Path("x.txt")}


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
