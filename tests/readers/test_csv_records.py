"""CSV of turns and of slots: separators, quotes, empty fields, and lines that are broken."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from tests.corpora import States, corpora
from tests.records import notes_of, quiet, table_of


def _written(rows: list[dict[str, Any]], separator: str, **how: Any) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, [*dict.fromkeys(key for row in rows for key in row)], delimiter=separator, **how)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@quiet
@given(states=corpora(), separator=st.sampled_from(",;\t"), apart=st.booleans(), quoting=st.booleans())
def test_lines_of_slots_give_the_same_table(
    states: States, separator: str, apart: bool, quoting: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A turn without slots has a line without a slot; an empty field is no value."""
    states = [{**s, **{side: {k: v for k, v in s[side].items() if v} for side in ("gold", "pred")}} for s in states]
    rows = []
    for s in states:
        for slot in sorted(s["gold"] | s["pred"]) or [""]:
            domain, _, name = slot.partition("-")
            where = {"domain": domain, "slot": name} if apart else {"slot": slot}
            values = {"gold": s["gold"].get(slot), "pred": s["pred"].get(slot)}
            rows.append({"dialogue": s["dialogue_id"], "turn": s["turn"], **where, **values, "note": 'a "quote"\n; , '})
    path = tmp_path_factory.mktemp("csv") / "any"
    text = _written(rows, separator, quoting=csv.QUOTE_ALL if quoting else csv.QUOTE_MINIMAL)
    path.write_text(f"sep={separator}\n" * apart + text, "utf-8-sig")
    assert table_of(path).equals(table_of(states))


@quiet
def test_what_pandas_writes_is_read(here: Path) -> None:
    """A first column without a name, whole numbers as 3.0, a long field, and what Python prints of a state."""
    Path("p.csv").write_text(
        ",dial_id,turn,gold,pred,text\n0,MUL1,0.0,{'hotel-area': 'north'},"
        f"\"{{'hotel-area': None, 'hotel-stars': 4}}\",{'x' * 300_000}\n1,MUL1,1.0,{{'hotel-area': 'north'}},{{}},\n"
    )
    assert table_of("p.csv").rows() == [
        ("MUL1", 0, "hotel-area", "north", None), ("MUL1", 1, "hotel-area", "north", None),
        ("MUL1", 0, "hotel-stars", None, "4"), ("MUL1", 1, "hotel-stars", None, None),
    ]  # fmt: skip


def test_rows_of_slots_may_be_json_as_well(here: Path) -> None:
    rows = [
        {"dialogue_id": "MUL1", "turn_id": 0, "slot": "hotel-area", "gold": "north", "pred": ["north", "east"]},
        {"dialogue_id": "MUL1", "turn_id": 0, "slot": "hotel-stars", "gold": 4, "pred": None},
    ]
    Path("p.json").write_text(json.dumps(rows))
    notes = notes_of("p.json")
    assert notes == [
        "keys used: dialogue_id, turn_id as turn, slot, gold, pred",
        "1 number taken as text",
        "1 list of several values taken as alternatives",
    ]
    with pytest.warns(dstbench.DstbenchWarning):
        assert table_of("p.json").select("slot", "gold", "pred").rows() == [
            ("hotel-area", "north", "north|east"),
            ("hotel-stars", "4", None),
        ]


def test_columns_of_the_users(here: Path) -> None:
    Path("p.csv").write_text("a;b;c;d\nMUL1;0;{'hotel-area': 'north'};{}\n")
    with pytest.raises(dstbench.DstbenchError, match="no known format"):
        dstbench.read("p.csv")
    with pytest.raises(dstbench.DstbenchError, match=r"neither gold nor pred; .*\nhint: `keys` id=a,turn=b"):
        dstbench.read("p.csv", "csv")
    keys = {"id": "a", "turn": "b", "gold": "c", "pred": "d"}
    assert table_of("p.csv", keys=keys).rows() == [("MUL1", 0, "hotel-area", "north", None)]
