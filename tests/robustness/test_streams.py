"""Standard streams of all kinds, under all commands: what is printed is whole, or an error says that it is not."""

from __future__ import annotations

import io
import json
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import pytest

import dstbench.cli
from tests import commands
from tests.interface import LEAVES, line, path_options
from tests.once import compute_once
from tests.planted import consistent

resource = pytest.importorskip("resource", reason="no limits of processes here")

Buffering: TypeAlias = Literal["none", "line", "block"]
Way: TypeAlias = tuple[str, str, Buffering]
#: Texts of arguments that are no paths, and options that make a command quick or let it print.
TEXTS = {
    "target": "50",
    "sql": "SELECT * FROM dialogues",
    "signatures": "jga|profile:verbatim.1|v:0.1.0",
    "topic": "metrics",
}
OPTIONS = {
    "demo": ["--dialogues", "1"], "ls": ["formats"], "help": ["formats"], "report": ["-m", "jga", "--format", "latex"],
    "compare": ["b.jsonl"], "compare-metrics": ["a.jsonl", "b.jsonl"], "pairs": ["--match", "levenshtein"],
    "audit replace": ["--donors", "names.json", "--slots", "hotel-name"],
}  # fmt: skip
QUICK = {"resamples": "50"}
OUTPUTS = {"convert": "x.parquet", "contexts": "x.parquet", "audit replace": "x.jsonl"}
#: Commands that write files and print nothing, or read what only another command writes.
SILENT = {"convert", "contexts", "audit review"}


@contextmanager
def streams(out: IO[bytes] | None, err: IO[bytes] | None, buffering: Buffering) -> Iterator[None]:
    """Standard output and standard error as Python opens them on these files; None: closed."""

    def opened(file: IO[bytes] | None) -> Any:
        if file is None:
            return None
        raw = io.FileIO(file.fileno(), "w", closefd=False)
        buffer: Any = raw if buffering == "none" else io.BufferedWriter(raw)
        return io.TextIOWrapper(buffer, "utf-8", line_buffering=buffering == "line", write_through=buffering == "none")

    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = opened(out), opened(err)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.close()
        sys.stdout, sys.stderr = before


def call(words: list[str], *, out: IO[bytes] | None, err: IO[bytes] | None, buffering: Buffering = "block") -> int:
    """The command as a process runs it, in this one; its exit code."""
    signals = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    with pytest.MonkeyPatch.context() as patch, streams(out, err, buffering):
        patch.setattr(sys, "argv", ["dstbench", *words])
        patch.setattr(dstbench.cli, "app", commands._APP)
        try:
            dstbench.cli.main()
        except SystemExit as ended:
            return int(ended.code or 0)
        finally:
            for number, handler in signals.items():
                signal.signal(number, handler)
    return 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file that is a run, gold and a dataset."""
    folder = tmp_path_factory.mktemp("streams")
    states = [{**state, "pred": dict(list(state["gold"].items())[1:])} for state in consistent(3, seed=1)]
    for name in ("a", "b"):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(state)}\n" for state in states))
    (folder / "names.json").write_text(json.dumps({"hotel-name": ["The Gable", "Quill House", "Umber Court"]}))
    return folder


def words_of(name: str, file: str = "a.jsonl") -> list[str]:
    """A command line that prints something, about this file."""
    required = {option.name for option in LEAVES[name].params if option.required}
    paths = {option.name: OUTPUTS.get(name, "-") if option.is_output else file for option in path_options(name)}
    texts = {name: text for name, text in {**paths, **TEXTS}.items() if name in required}
    quick = {option.name for option in LEAVES[name].params} & {*QUICK}
    return [*line(name, **texts), *OPTIONS.get(name, []), *(w for n in quick for w in (f"--{n}", QUICK[n]))]


_ROOM = 80  # bytes for the message on standard error
#: What standard output and standard error are, in turn: a file with too little room, ``/dev/full``, or closed.
WAYS: list[Way] = [
    ("short", "file", "line"), ("short", "file", "block"), ("full", "file", "none"), ("full", "full", "line"),
    ("closed", "file", "block"), ("closed", "closed", "block"), ("file", "full", "none"), ("file", "closed", "line"),
    ("file", "full", "block"),
]  # fmt: skip


@pytest.mark.again
@pytest.mark.parametrize(
    ("name", "way"),
    [
        pytest.param(name, way, marks=[] if at // len(WAYS) == 1 else [pytest.mark.options])
        for at, (name, way) in enumerate(zip(LEAVES, cycle(WAYS), strict=False))
    ],
)
def test_what_is_printed_is_whole_or_an_error(
    name: str, way: Way, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard error changes nothing about it."""
    compute_once(monkeypatch.setattr)
    monkeypatch.chdir(folder)
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    words = words_of(name)
    code, text, notes = done(words, "file", "file", "block")
    assert (code, name) == (0, name) or name == "audit review", notes
    assert text or name in SILENT, notes
    ways: list[Way] = [("short", "file", "none"), way]
    for out, err, buffering in ways if text else ():
        ended, printed, said = done(words, out, err, buffering, room=len(text) // 2)
        is_lost = _loses(out, text)
        assert ended == is_lost, (out, err, buffering, said)
        assert printed == text or out != "file"
        assert not (is_lost and err == "file") or re.search(b"cannot (print|be written): ", said), said
        assert b"Traceback" not in said


def _loses(out: str, text: bytes) -> bool:
    return out == "full" or (out == "short" and len(text) > _ROOM)


def done(words: list[str], out: str, err: str, buffering: Buffering, room: int = 0) -> tuple[int, bytes, bytes]:
    """A command with these streams: its exit code, and what is in the files ``out`` and ``err``."""
    for name in ("out", "err"):
        Path(name).write_bytes(b"")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    with ExitStack() as stack:
        files = [
            None if kind == "closed" else stack.enter_context(open("/dev/full" if kind == "full" else name, "wb"))
            for name, kind in (("out", out), ("err", err))
        ]
        if out == "short":
            resource.setrlimit(resource.RLIMIT_FSIZE, (max(room, _ROOM), usual[1]))
        try:
            code = call(words, out=files[0], err=files[1], buffering=buffering)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    return code, Path("out").read_bytes(), Path("err").read_bytes()
