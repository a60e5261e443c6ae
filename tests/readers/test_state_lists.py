"""States in lists per dialogue: as gold, as predictions, and in records of whole dialogues."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
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


@pytest.mark.filterwarnings("ignore:.*gold never has:dstbench.errors.DstbenchWarning")
def test_values_that_are_no_strings_do_not_refuse_a_file_of_responses(here: Path) -> None:
    turns = [
        {"response": "…", "state": {"hotel": {"area": ["north", "east"], "stars": 4}}},
        {"response": "…", "state": {"hotel": {"area": "north", "parking": True, "name": None}}},
    ]
    Path("p.json").write_text(json.dumps({"mul1": turns}))
    gold = [{"dialogue_id": "MUL1", "turn": turn, "gold": {"hotel-area": "north"}} for turn in (0, 1)]
    assert notes_of("p.json", gold=gold)[:4] == [
        "1 number taken as text",
        "1 boolean taken as true and false",
        "1 value null or [] taken as not in the state",
        "1 list of several values taken as alternatives",
    ]
    with pytest.warns(dstbench.DstbenchWarning):
        assert table_of("p.json", gold=gold).filter(turn=0)["pred"].to_list() == ["north|east", "4"]
    turns[1]["state"]["hotel"]["name"] = {"x": "y"}  # type: ignore[index]
    Path("p.json").write_text(json.dumps({"mul1": turns}))
    with pytest.raises(dstbench.DstbenchError, match=r"where a value must be \(dialogue mul1, turn 1, slot hotel"):
        dstbench.read("p.json")


# --- records of whole dialogues, with a list of states per side ----------------------------------------------------


@pytest.mark.again
@quiet
@settings(max_examples=12)
@given(states=corpora(), data=st.data())
def test_lists_of_states_give_the_table_of_their_turns(
    states: States, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    writers: list[Callable[[dict[str, str]], Any]] = [
        nested,
        dict,
        json.dumps,
        lambda s: [[*item] for item in s.items()],
    ]
    write = data.draw(st.sampled_from(writers))
    gold, pred = data.draw(st.sampled_from([("gold", "pred"), ("gold_states", "states"), ("labels", "predictions")]))
    numbered, outside = data.draw(st.booleans()), data.draw(st.booleans())
    by_dialogue: dict[str, dict[str, dict[str, Any]]] = {}
    for s in states:
        sides = by_dialogue.setdefault(s["dialogue_id"], {gold: {}, pred: {}})
        for side, key in (("gold", gold), ("pred", pred)):
            sides[key][str(s["turn"])] = write(s[side])
    assume(all(any(s[side] for s in states) for side in ("gold", "pred")))  # else nothing shows that they are states
    dialogues = {
        name: {key: turns if numbered else [*turns.values()] for key, turns in sides.items()}
        for name, sides in by_dialogue.items()
    }
    document = dialogues if outside else [{"dialogue_id": name, **sides} for name, sides in dialogues.items()]
    path = tmp_path_factory.mktemp("lists") / "any.json"
    path.write_text(json.dumps(document))
    assert table_of(path).equals(table_of(states))
    path.write_text(json.dumps({"config": {"model": "x"}, "results": document}))
    assert table_of(path).equals(table_of(states))


N: dict[str, Any] = {"hotel": {"area": "north"}}


def test_other_lists_are_divided_as_well(here: Path) -> None:
    Path("p.json").write_text(
        json.dumps([{"id": "SNG1", "user": ["a", "b"], "system": ["", "c"], "gold": [N, N], "pred": [N, {}]}])
    )
    assert dstbench.contexts("p.json").rows() == [("SNG1", 0, None, "a"), ("SNG1", 1, "c", "b")]


@quiet
def test_a_wrapper_of_both_sides(here: Path) -> None:
    for gold, pred in (("gold", "pred"), ("references", "predictions"), ("labels", "outputs")):
        Path("p.json").write_text(json.dumps({gold: {"sng1": [N, N]}, pred: {"sng1": [N, {}]}, "jga": 0.5}))
        assert dstbench.score("p.json", metrics="jga").value("jga") == 0.5
