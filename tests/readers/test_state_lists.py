"""States in lists per dialogue, as gold and as predictions, and its bigger sister, with responses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dstbench
from tests.corpora import States, corpora
from tests.formats import _nested as nested
from tests.formats import _pairs as pairs
from tests.records import notes_of, quiet, table_of


def _lists(states: States, side: str, write: Any, *, numbered: bool) -> str:
    found: dict[str, Any] = {}
    for s in states:
        found.setdefault(s["dialogue_id"].lower(), {})[str(s["turn"])] = write(s[side])
    return json.dumps(found if numbered else {name: list(turns.values()) for name, turns in found.items()})


@quiet
@given(states=corpora(), data=st.data())
def test_any_states_survive_as_lists(
    states: States, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assume(any(s["gold"] for s in states))  # else nothing shows the format
    folder = tmp_path_factory.mktemp("lists")
    writers = st.sampled_from([nested, dict, pairs, lambda state: [list(item) for item in state.items()], json.dumps])
    for side in ("gold", "pred"):
        write, numbered = data.draw(writers), data.draw(st.booleans())
        (folder / side).write_text(_lists(states, side, write, numbered=numbered))
    table = table_of({"run": folder / "pred"}, gold=folder / "gold", format="state-lists")
    assert table.equals(table_of(states))


def test_without_gold_they_are_no_run(here: Path) -> None:
    Path("p.json").write_text('{"mul1": [{"hotel": {"area": "north"}}]}')
    with pytest.raises(dstbench.DstbenchError, match=r"no gold inside \(state-lists\)"):
        dstbench.score("p.json")
    assert dstbench.score("p.json", gold="p.json", metrics="jga")["value"].item() == 1


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"mul1": {"a": {}}}, "the turn is not a number (dialogue mul1, turn a)"),
        ({"mul1": 3}, "3, where the states of a dialogue must be (dialogue mul1)"),
        (
            {"mul1": [{"hotel-area": {"x": {}}}]},
            "an object, where a value must be (dialogue mul1, turn 0, slot hotel-area",
        ),
        ([], "no JSON object of dialogues"),
        ({}, "no dialogue in the file"),
    ],
)
def test_what_is_none_is_refused_with_its_place(document: Any, said: str, here: Path) -> None:
    Path("p.json").write_text(json.dumps(document))
    with pytest.raises(dstbench.DstbenchError) as caught:
        dstbench.read("p.json", "state-lists")
    assert said in str(caught.value)


@pytest.mark.filterwarnings("ignore:.*gold never has:dstbench.errors.DstbenchWarning")
def test_values_that_are_no_strings_do_not_refuse_a_file_of_responses(here: Path) -> None:
    turns = [
        {"response": "…", "state": {"hotel": {"area": ["north", "east"], "stars": 4}}},
        {"response": "…", "state": {"hotel": {"area": "north", "parking": True, "name": None}}},
    ]
    Path("p.json").write_text(json.dumps({"mul1": turns}))
    gold = [{"dialogue_id": "MUL1", "turn": turn, "gold": {"hotel-area": "north"}} for turn in (0, 1)]
    assert notes_of("p.json", gold=gold)[0] == (
        "1 number taken as text; 1 boolean taken as true and false; "
        "1 value that is null or [] taken as not in the state; 1 list of several values taken as alternatives"
    )
    with pytest.warns(dstbench.DstbenchWarning):
        assert table_of("p.json", gold=gold).filter(turn=0)["pred"].to_list() == ["north|east", "4"]
    turns[1]["state"]["hotel"]["name"] = {"x": "y"}  # type: ignore[index]
    Path("p.json").write_text(json.dumps({"mul1": turns}))
    with pytest.raises(dstbench.DstbenchError, match=r"where a value must be \(dialogue mul1, turn 1, slot hotel"):
        dstbench.read("p.json")
