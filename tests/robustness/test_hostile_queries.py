"""Queries that would take the machine, or the process, with them: each is refused, or ends at a limit, in a message."""

# ruff: noqa: S608 (queries that only read)

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dstbench
from dstbench.analysis import query

pytestmark = pytest.mark.fuzz

STATES: list[dict[str, Any]] = [
    {"dialogue_id": f"D{dialogue}", "turn": turn, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "south"}}
    for dialogue in range(10)
    for turn in range(10)
]
#: Address space of a command of two threads: more than any query here may need, but one.
ROOM = 1_500_000_000
#: Queries of any length and depth.
SHAPES: dict[str, Callable[[int], str]] = {
    "terms": lambda n: f"SELECT {'+'.join(['turn'] * n)} FROM long",
    "texts": lambda n: f"SELECT {'||'.join(['slot'] * n)} FROM long",
    "conditions": lambda n: f"SELECT turn FROM long WHERE {' OR '.join(['turn=1'] * n)}",
    "negations": lambda n: f"SELECT turn FROM long WHERE {'NOT ' * n}turn=1",
    "signs": lambda n: f"SELECT {'- ' * n}turn FROM long",
    "brackets": lambda n: f"SELECT {'(' * n}turn{')' * n} FROM long",
    "functions": lambda n: f"SELECT {'ABS(' * n}turn{')' * n} FROM long",
    "casts": lambda n: f"SELECT turn{'::int' * n} FROM long",
    "cases": lambda n: f"SELECT CASE {'WHEN turn=1 THEN 1 ' * n} END FROM long",
    "unions": lambda n: f"SELECT turn FROM long{' UNION ALL SELECT turn FROM long' * n}",
    "subqueries": lambda n: f"SELECT turn FROM {'(SELECT turn FROM ' * n}long{') t' * n}",
    "joins": lambda n: f"SELECT a.turn FROM long a {'JOIN long USING (turn) ' * n}",
    "columns": lambda n: f"SELECT {','.join(['turn'] * n)} FROM long",
    "values": lambda n: f"SELECT turn FROM long WHERE turn IN ({','.join(['1'] * n)})",
    "quotes": lambda n: f"SELECT turn FROM long WHERE slot = '{'x+' * n}'",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_query_is_refused_before_it_is_parsed(shape: str) -> None:
    with pytest.raises(dstbench.UsageError, match=r"the query has [\d,]+ (characters|operators|SELECT and JOIN)"):
        dstbench.query(SHAPES[shape](100_000), STATES)


@pytest.mark.parametrize("shape", ["values", "quotes"])
def test_long_lists_and_texts_are_none_the_less_queries(shape: str) -> None:
    assert dstbench.query(SHAPES[shape](10_000), STATES).height == (10 if shape == "values" else 0)


@pytest.mark.parametrize("shape", ["terms", "conditions", "unions"])
def test_a_query_of_many_parts_is_answered(shape: str) -> None:
    assert dstbench.query(SHAPES[shape](40), STATES).height


@pytest.mark.parametrize(("limit", "what"), [("MEMORY", "1 MB of memory"), ("SECONDS", "1 seconds")])
def test_a_query_ends_at_its_limit(limit: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = f"DSTBENCH_MAX_QUERY_{limit}"
    monkeypatch.setenv(variable, "1")
    if limit == "SECONDS":  # by a clock that is fast: what takes a second anywhere is computed for long after the limit
        clock = count(step=1.5)
        monkeypatch.setattr(query, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=time.sleep))
    joins = "long a CROSS JOIN long b CROSS JOIN long c"
    sql = {
        "MEMORY": f"SELECT a.*, b.gold AS also, c.gold AS more FROM {joins}",
        "SECONDS": f"SELECT sum(a.turn * b.turn * c.turn) AS s FROM {joins}",
    }[limit]
    with pytest.raises(dstbench.DstbenchError, match=f"the query takes more than {what}") as raised:
        dstbench.query(sql, STATES)
    assert variable in str(raised.value)
    assert type(raised.value) is dstbench.DstbenchError


@pytest.mark.skipif(sys.platform != "linux", reason="children are found in /proc, and limits set from outside")
@pytest.mark.parametrize(
    ("number", "code", "message"),
    [
        (
            None,
            1,
            "error: the command needs more memory than there is\nhint: does each join in the query have a condition?\n",
        ),
        (signal.SIGTERM, 143, ""),
        (signal.SIGKILL, -signal.SIGKILL, ""),
    ],
)
def test_a_process_that_is_ended_says_why(number: int | None, code: int, message: str, here: Path) -> None:
    """Polars' own words, and what a failed allocation does to its process, are not all that there is to read."""
    Path("run.jsonl").write_text("".join(json.dumps({**STATES[0], "turn": turn}) + "\n" for turn in range(10_000)))
    sql = "SELECT a.*, b.gold AS other FROM long a CROSS JOIN long b"
    process = subprocess.Popen(  # noqa: S603 (our own command)
        [sys.executable, "-m", "dstbench", "query", sql, "run.jsonl"],
        env={**os.environ, "POLARS_MAX_THREADS": "2"},
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    if not number:
        resource.prlimit(process.pid, resource.RLIMIT_AS, (ROOM, ROOM))
    (child,) = wait_for_children(process.pid)
    if number:
        process.send_signal(number)
    assert process.communicate(timeout=60)[1] == message
    assert process.returncode == code
    assert not Path(f"/proc/{child}/cmdline").exists() or not Path(f"/proc/{child}/cmdline").read_bytes()  # a zombie


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_notes_that_find_no_room_change_nothing(here: Path) -> None:
    """In a process of its own, where a query writes to streams that are opened for it."""
    state = {
        **STATES[0],
        "gold": {"hotel-area": "south", "hotel-oddness": "north"},
    }  # which MultiWOZ does not have, as a note says
    Path("run.jsonl").write_text(json.dumps(state) + "\n")
    words = [sys.executable, "-m", "dstbench", "query", "SELECT slot FROM long", "run.jsonl", "--format", "csv"]
    for path in ("notes", "/dev/full"):
        with open(path, "wb") as notes:
            process = subprocess.run(words, stdout=subprocess.PIPE, stderr=notes, check=False)  # noqa: S603 (our own)
            assert (process.returncode, process.stdout.split()) == (0, [b"slot", b"hotel-area", b"hotel-oddness"])
            assert path == "/dev/full" or Path(path).read_bytes().startswith(b"note: ")


def wait_for_children(process: int) -> list[str]:
    """The processes that a process starts, once it has."""
    path = Path(f"/proc/{process}/task/{process}/children")
    while not path.read_text():
        time.sleep(0.01)
    return path.read_text().split()
