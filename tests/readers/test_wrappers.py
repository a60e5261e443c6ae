"""Objects around dialogues: every format in every wrapper is read as without it, or refused; no key is a dialogue."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dstbench
from dstbench.readers.states import States
from tests import formats
from tests.records import notes_of, quiet, table_of

ALL = formats.WITH_BOTH | formats.ONLY_PRED | formats.ONLY_GOLD | formats.RESTAURANT | formats.MARKS
WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "meta and predictions": lambda document: {"meta": {"model": "x"}, "predictions": document},
    "details": lambda document: {"details": document},
    "results": lambda document: {"results": document, "jga": 0.5},
    "data": lambda document: {"version": 1, "data": document},
    "dialogues": lambda document: {"dialogues": document},
    "outputs in outputs": lambda document: {"output": {"dialogs": document}},
}
#: Lines of JSON have no wrapper, except those of records; and records are not sought any deeper.
REFUSED = {"parlai", "records (wrapped)"}


def _content(states: States) -> Any:
    """The turns of each side, and their slots and values."""
    return [
        side and (sorted(side.turns.rows()), sorted((*side.turns.row(at), *cell) for at, *cell in side.cells.rows()))
        for side in (states.gold, states.pred)
    ]


@pytest.mark.again
@pytest.mark.parametrize("name", [name for name in ALL if ALL[name]()[:1] in "[{"])
@quiet
def test_a_file_in_a_wrapper_is_read_as_without_it_or_refused(name: str, here: Path) -> None:
    text = ALL[name]()
    Path("p.json").write_text(text)
    wanted = dstbench.read("p.json")
    is_lines = text[:1] == "{" and len(text.splitlines()) > 1 and text.splitlines()[0][-1:] == "}"
    document = [json.loads(line) for line in text.splitlines()] if is_lines else json.loads(text)
    for wrap in WRAPPERS.values():
        Path("w.json").write_text(json.dumps(wrap(document), indent=1))
        if name in REFUSED:
            with pytest.raises(dstbench.DstbenchError, match="\nhint: "):
                dstbench.read("w.json")
            continue
        states = dstbench.read("w.json")
        assert _content(states) == _content(wanted)
        if states.format == wanted.format != "records":
            assert any("what is under" in note for note in states.notes)
            assert _content(dstbench.read("w.json", wanted.format)) == _content(wanted)


SPANS = {"turn_num": 0, "bspn": "[hotel] area north stars not mentioned", "bspn_gen": "[hotel] area south"}
NORTH = {"hotel": {"area": "north"}}


@pytest.mark.parametrize("key", ["details", "my model", "SNG9"])
@quiet
def test_the_key_of_a_list_is_no_dialogue_if_its_records_name_others(key: str, here: Path) -> None:
    for inner in ([SPANS], {"0": SPANS}):
        Path("p.json").write_text(json.dumps({"SNG1": inner}))
        wanted = table_of("p.json")
        assert wanted["dialogue"].to_list() == ["SNG1"]
    Path("p.json").write_text(json.dumps({key: [{"dial_id": "sng1.json", **SPANS}]}))
    assert table_of("p.json").equals(wanted)
    Path("p.json").write_text(json.dumps({key: {"0": {"gt": NORTH, "pr": {}, "dialogue_id": "SNG1"}}}))
    assert table_of("p.json")["dialogue"].to_list() == ["SNG1"]


def test_what_is_read_and_what_is_not_is_told(here: Path) -> None:
    Path("p.json").write_text(json.dumps({"meta": {}, "test": json.loads(formats.gtpr()), "jga": 1}))
    assert notes_of("p.json") == ["what is under test is read, not what is under meta, jga"]


@pytest.mark.parametrize("end", ["", ",", "}}", '"x": 1}', ', "x": \xff}'])
def test_a_wrapper_that_is_broken_behind_its_data_is_refused(end: str, here: Path) -> None:
    (here / "p.json").write_bytes(f'{{"summary": {{"jga": 0.5}}, "predictions": {formats.som()}{end}'.encode("latin-1"))
    with pytest.raises(dstbench.DstbenchError, match=r"ends too early|broken JSON|not UTF-8"):
        dstbench.open_runs("p.json")
