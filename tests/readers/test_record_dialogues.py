"""Records of whole dialogues, with a list of states per side: they are read as records of their turns are."""

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
from tests.records import notes_of, quiet, table_of


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


def test_what_is_said_of_them() -> None:
    records = [{"dialogue_id": "SNG1", "gold_states": [N, N], "states": [N, {}]}]
    assert notes_of(records) == [
        "keys used: dialogue_id, gold_states as gold, states as pred; turn from the objects around the records"
    ]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"gold": [N, N], "pred": [N]}, r"gold and pred do not have the same turns \(2 and 1 states\)"),
        ({"gold": {"0": N}, "pred": {"1": N}}, r"gold and pred do not have the same turns \(1 and 1 states\)"),
        (
            {"gold": [N], "pred": [{"hotel": {"area": {"x": 1}}}]},
            "an object, where a value must be .*turn 0, slot hotel",
        ),
    ],
)
@quiet
def test_lists_that_do_not_fit_are_refused(record: dict[str, Any], said: str) -> None:
    with pytest.raises(dstbench.DstbenchError, match=said):
        dstbench.scan([{"dialogue_id": "SNG2", "gold": [N], "pred": [N]}, {"dialogue_id": "SNG1", **record}])


def test_a_record_with_a_turn_is_one_turn() -> None:
    with pytest.raises(dstbench.DstbenchError, match="item 0: pred: an object, where a slot with its value must be"):
        dstbench.scan([{"dialogue_id": "SNG1", "turn": 0, "gold": N, "pred": [N, N]}])


@quiet
def test_a_wrapper_of_both_sides(here: Path) -> None:
    for gold, pred in (("gold", "pred"), ("references", "predictions"), ("labels", "outputs")):
        Path("p.json").write_text(json.dumps({gold: {"sng1": [N, N]}, pred: {"sng1": [N, {}]}, "jga": 0.5}))
        assert dstbench.score("p.json", metrics="jga").value("jga") == 0.5
