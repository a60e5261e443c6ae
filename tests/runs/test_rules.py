"""The rules of the long table: what breaks one is refused, by the first rule and row; all else is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dstbench.errors import DstbenchError
from dstbench.runs.rules import check_long
from dstbench.schema.core import LONG


class Row(NamedTuple):
    dialogue: str  # "": null
    slot: str | None
    turn: int  # -1: null
    gold: str | None
    pred: str | None


FRAME: Final = "Hotels_1-#frame"
ROWS: Final = st.builds(
    Row,
    st.sampled_from("AB"),
    st.sampled_from([None, "hotel-area", "hotel-name", FRAME]),
    st.integers(0, 3),
    st.sampled_from([None, "x"]),
    st.sampled_from([None, "x"]),
)


def lasting(rows: list[Row]) -> list[Row]:
    """Rows that keep the rules: each slot lasts from its first row on, and earlier turns have a row without a slot."""
    turns = {dialogue: sorted({row.turn for row in rows if row.dialogue == dialogue}) for dialogue in "AB"}
    begin = {(row.dialogue, row.slot): row for row in sorted(rows, key=lambda row: -row.turn)}
    slots = [row for row in begin.values() if row.slot]
    lasts = [row._replace(turn=turn) for row in slots for turn in turns[row.dialogue] if turn >= row.turn]
    first = {
        d: min((row.turn for row in slots if row[:2] != (d, FRAME) and row.dialogue == d), default=9) for d in "AB"
    }
    bare = [Row(d, None, turn, None, None) for d in "AB" for turn in turns[d] if turn < first[d]]
    return lasts + bare


def broken(rows: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    """By plain loops: each rule, and the rows that break it."""

    def those(breaks: Callable[[int, Row], bool]) -> list[Row]:
        return [row for at, row in enumerate(rows) if breaks(at, row)]

    def of(row: Row) -> list[Row]:
        return [other for other in rows if other.dialogue == row.dialogue]

    def same(at: int, other: int) -> bool:
        return 0 <= other < len(rows) and rows[at][:2] == rows[other][:2]

    def between(at: int, row: Row) -> bool:
        return any(rows[at - 1].turn < other.turn < row.turn for other in of(row))

    def has_slots(row: Row) -> bool:
        return any(r.slot not in (None, FRAME) and r.turn <= row.turn for r in of(row))

    yield "a dialogue without an id", those(lambda _, row: not row.dialogue)
    yield "a turn that is not a number from 0 to 65535", those(lambda _, row: row.turn < 0)
    yield "the same slot twice in one turn", those(lambda at, row: same(at, at - 1) and rows[at - 1].turn == row.turn)
    yield "a gold value without a slot", those(lambda _, row: row.slot is None and row.gold is not None)
    yield (
        "a slot that ends before its dialogue does",
        those(lambda at, row: bool(row.slot) and not same(at, at + 1) and row.turn < max(r.turn for r in of(row))),
    )
    yield (
        "a slot without a row in a turn between others",
        those(lambda at, row: bool(row.slot) and same(at, at - 1) and between(at, row)),
    )
    yield (
        "a row without a slot in a turn that has slots",
        those(lambda _, row: row.slot is None and row.pred is None and has_slots(row)),
    )


@given(st.lists(ROWS, min_size=1, max_size=8), st.booleans(), st.data())
@settings(max_examples=300)
def test_rules_by_plain_loops(rows: list[Row], last: bool, data: st.DataObject) -> None:
    if last:
        rows = lasting(rows)
        for at in data.draw(st.sets(st.integers(1, len(rows) - 1), max_size=1)) if len(rows) > 1 else ():
            rows[at : at + 1] = data.draw(st.lists(ROWS, max_size=1))
    lacking = data.draw(st.sampled_from([rows[0], rows[0], rows[0]._replace(turn=-1), rows[0]._replace(dialogue="")]))
    rows = sorted([lacking, *rows[1:]], key=lambda row: (row.dialogue, row.slot or "", row.turn))
    columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in rows] for name in Row._fields}
    columns["turn"] = [None if turn < 0 else turn for turn in columns["turn"]]
    columns["dialogue"] = [dialogue or None for dialogue in columns["dialogue"]]
    table = pl.DataFrame({name: pl.Series(columns[name], dtype=dtype) for name, dtype in LONG.schema.items()})
    wanted = next(((rule, which) for rule, which in broken(rows) if which), None)
    if wanted is None:
        turns, dialogues = {(row.dialogue, row.turn) for row in rows}, {row.dialogue for row in rows}
        assert check_long(table, source="x") == {"turns": len(turns), "dialogues": len(dialogues)}
        return
    rule, which = wanted
    with pytest.raises(DstbenchError) as refused:
        check_long(table, source="x")
    first = which[0]
    assert str(refused.value) == str(
        DstbenchError(
            f"not a long table: {rule}, in {len(which)} row{'s' * (len(which) > 1)}, the first of them",
            file="x", dialogue=first.dialogue or None, turn=None if first.turn < 0 else first.turn, slot=first.slot,
            hint="`dstbench convert` and dstbench.to_long write tables that keep the rules",
        )
    )  # fmt: skip
