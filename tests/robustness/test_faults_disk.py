"""Places that cannot be written to: one message, what was there before is there still, and nothing else is."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dstbench
from tests.faults import call, there, write_inputs
from tests.once import compute_once
from tests.paths import ROOT

pytestmark = pytest.mark.kill

resource = pytest.importorskip("resource", reason="no limits of processes here")

#: Commands, and the file in the folder `out` that they cannot write.
WRITERS = {
    "convert": (["convert", "one.jsonl", "-o", "out/x.parquet"], "out/x.parquet"),
    "contexts": (["contexts", "gold.json", "-o", "out/x.parquet"], "out/x.parquet"),
    "score": (["score", "one.jsonl", "--by", "dialogue", "-o", "out/x.txt"], "out/x.txt"),
    "query": (["query", "SELECT * FROM long", "one.jsonl", "-o", "out/x.txt"], "out/x.txt"),
    "sweep": (
        ["sweep", "one.jsonl", "--profiles", "verbatim,trade", "--format", "json", "-o", "out/x.json"],
        "out/x.json",
    ),
    "apply": (["audit", "inconsistency", "gold.json", "--support", "2", "--apply", "-o", "out/x.json"], "out/x.json"),
    "log": (["audit", "inconsistency", "gold.json", "--support", "2", "--log", "out/x.csv"], "out/x.csv"),
    "review": (["audit", "inconsistency", "gold.json", "--support", "2", "--review", "out/x.csv"], "out/x.csv"),
    "report": (["report", "small.jsonl", "-m", "jga", "--most", "1", "-o", "out/x.html"], "out/x.html"),
    "charts": (["audit", "bias", "gold.json", "--charts", "out"], "out/bias.vl.json"),
    "demo": (["demo", "--dialogues", "30", "-o", "out"], "out/careful.parquet"),
}


@pytest.fixture(scope="module", autouse=True)
def computed() -> Iterator[None]:
    """What is computed of the same files is computed once: here it is about where it is written."""
    with pytest.MonkeyPatch.context() as patch:
        compute_once(patch.setattr)
        yield


@pytest.fixture
def written(here: Path) -> Path:
    """The files that are read, and the folder that is written to."""
    write_inputs()
    out = here / "out"
    out.mkdir()
    return out


def refused(command: str, reason: int, capsys: pytest.CaptureFixture[str]) -> None:
    """The command fails for this reason, names the file, says what to do, and leaves everything as it was."""
    words, target = WRITERS[command]
    before = there()
    assert call(words) == 1
    err = capsys.readouterr().err.splitlines()
    assert err[-2] == f"error: {target}: cannot be written: {os.strerror(reason)}", err
    assert err[-1].startswith("hint: "), err
    assert there() == before


@pytest.mark.parametrize("command", WRITERS)
def test_a_disk_that_becomes_full_in_mid_file(command: str, written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As files may not be larger than so many bytes."""
    Path(WRITERS[command][1]).touch()
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, usual[1]))
    try:
        refused(command, errno.EFBIG, capsys)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def obey_permissions() -> None:
    """Be an ordinary user: the superuser may read and write everything."""
    system = ctypes.CDLL(None, use_errno=True)
    for capability in (1, 2):  # to write, and to read, what one may not
        system.prctl(24, capability)


#: Runs commands one after the other, and prints their exit codes, and what they say.
_SCRIPT = """
import json, sys
root, *lines = sys.argv[1:]
sys.path.append(root)
from tests.commands import run
print(json.dumps([run(*line.split()) for line in lines]))
"""


def test_what_may_not_be_read_or_written(written: Path) -> None:
    """By a process that obeys permissions."""
    dstbench.write_long(dstbench.open_runs("one.jsonl")[0], "one.parquet")
    (written / "old.parquet").touch()
    may_not_be_read = {
        "score one.jsonl": "one.jsonl",
        "score one.parquet": "one.parquet",
        "score two.jsonl --gold gold.json": "gold.json",
        "convert two.jsonl one.jsonl -o new.parquet": "one.jsonl",
    }
    may_not_be_written = {
        "convert two.jsonl -o out/old.parquet": "out/old.parquet",
        "score two.jsonl -o out/new.txt": "out/new.txt",
    }
    written.chmod(0o555)
    for name in ("one.jsonl", "one.parquet", "gold.json"):
        Path(name).chmod(0)
    try:
        probe = subprocess.run(["cat", "one.jsonl"], capture_output=True, check=False, preexec_fn=obey_permissions)  # noqa: S607
        if probe.returncode == 0:
            pytest.skip("this user may read everything")
        before = there()
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", _SCRIPT, str(ROOT), *may_not_be_read, *may_not_be_written],
            capture_output=True, text=True, check=True, preexec_fn=obey_permissions,
        )  # fmt: skip
        said = iter(json.loads(done.stdout))
        for file in may_not_be_read.values():
            code, _, err = next(said)
            assert (code, err.splitlines()[0]) == (1, f"error: {file}: cannot be read: Permission denied")
        for file in may_not_be_written.values():
            code, _, err = next(said)
            hint = "hint: is the folder there, and writable?"
            assert (code, err) == (1, f"error: {file}: cannot be written: Permission denied\n{hint}\n")
        assert there() == before
    finally:
        written.chmod(0o755)
