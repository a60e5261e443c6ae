"""Queries that would take the machine, or the process, with them: each is refused, or ends at a limit, in a message."""

# ruff: noqa: S608 (queries that only read)

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
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
