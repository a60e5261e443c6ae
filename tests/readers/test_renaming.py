"""Own names of slots and dialogues: with a map, scores are those of files that have the other names."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.errors import DstbenchWarning
from dstbench.readers.renaming import Names
from dstbench.signature import doubts, explain
from tests.commands import run
from tests.corpora import FEW, LARGE, SLOTS, States, corpora

METRICS = "jga,sa:T=30,rsa,f1,fga,gca"
OWN = {f"mine{number}": slot for number, slot in enumerate(SLOTS)}


def renamed(states: States, slots: dict[str, str], dialogues: dict[str, str]) -> States:
    """The states under own names; the maps are from other to own names."""
    return [
        {
            "dialogue_id": dialogues.get(state["dialogue_id"], state["dialogue_id"]),
            "turn": state["turn"],
            **{
                side: {slots.get(slot, slot): value for slot, value in state[side].items()}
                for side in ("gold", "pred")
                if side in state
            },
        }
        for state in states
    ]


def scored(states: Any, **reading: Any) -> list[tuple[Any, ...]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DstbenchWarning)
        rows = dstbench.score(states, metrics=METRICS, **reading)
    return rows.select("metric", "value", "se", "turns", "dialogues").rows()


@FEW
@given(
    states=corpora(LARGE),
    own_slots=st.sets(st.sampled_from(sorted(OWN))),
    own_ids=st.permutations(range(LARGE)),
    gold_beside=st.booleans(),
    gold_has_own=st.booleans(),
)
def test_with_maps_scores_are_those_of_the_other_names(
    states: States, own_slots: set[str], own_ids: list[int], gold_beside: bool, gold_has_own: bool
) -> None:
    slot_map = {own: OWN[own] for own in own_slots}
    id_map = {f"MUL{own}": f"MUL{other}" for other, own in enumerate(own_ids)}  # own ids are gold's, of other dialogues
    to_own_slots, to_own_ids = ({other: own for own, other in names.items()} for names in (slot_map, id_map))
    own = renamed(states, to_own_slots, to_own_ids)
    reading: dict[str, Any] = {"slot_map": slot_map, "id_map": id_map}
    wanted = scored(states)
    if gold_beside:
        own = [{key: value for key, value in state.items() if key != "gold"} for state in own]
        gold = [{key: value for key, value in state.items() if key != "pred"} for state in states]
        reading["gold"] = renamed(gold, to_own_slots if gold_has_own else {}, {})
    assert scored(own, **reading) == wanted


@pytest.fixture
def model(here: Path) -> str:
    lines = [
        {"dialogue_id": f"d{n}", "turn": 0, "gold": {"price": "cheap"}, "pred": {"price": "cheap", "other": "x"}}
        for n in range(2)
    ]
    Path("model.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return "model.jsonl"


MAP = {"price": "hotel-semi-pricerange", "othre": "hotel-name"}  # misspelt


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
@pytest.mark.parametrize(
    "text",
    [
        json.dumps(MAP),
        "price,hotel-pricerange\nothre,hotel-name\n",
        "price;hotel-pricerange\r\nothre;hotel-name\r\n",
        "\ufeffothre\thotel-name\nprice\t hotel-pricerange\n",
    ],
)
def test_files_of_maps(text: str, model: str) -> None:
    Path("map").write_text(text, encoding="utf-8")
    code, out, err = run("score", model, "--slot-map", "map", "-m", "jga", "--signature")
    assert code == 0
    said = "slots of the slot map that it does not have: othre"  # misspelt
    assert f"note: model.jsonl: {said}" in err
    digest = str(Names.read(MAP, "slot"))
    assert f"|missing:error|slot-map:{digest}|by:run|" in out
    signature = out.splitlines()[-1]
    assert doubts(signature) == []
    assert f"the other names of slots (slot-map): {digest}" in explain(signature)
    (opened,) = dstbench.open_runs(model, slot_map="map")[:1]
    assert opened.meta["slot_map"] == digest
    assert opened.read()["slot"].unique().sort().to_list() == ["hotel-pricerange", "other"]


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_two_slots_of_one_name(here: Path) -> None:
    state = {"dialogue_id": "D", "turn": 0, "gold": {"hotel-name": "a"}, "pred": {"mine": "a", "hotel-name": "a"}}
    assert dstbench.score([state], metrics="jga", slot_map={"mine": "hotel-name"})["value"].item() == 1
    state["pred"] = {"mine": "a", "hotel-name": "b"}
    with pytest.raises(
        dstbench.DstbenchError, match="two values, 'a' and 'b': `slot_map` gives the name to mine"
    ) as told:
        dstbench.score([state], metrics="jga", slot_map={"mine": "hotel-name"})
    assert "(dialogue D, turn 0, slot hotel-name)" in str(told.value)


def test_two_dialogues_of_one_id(here: Path) -> None:
    states = [{"dialogue_id": name, "turn": 0, "gold": {}, "pred": {}} for name in "ab"]
    with pytest.raises(dstbench.DstbenchError, match=r"two dialogues get this id .*\(dialogue C, turn 0\)"):
        dstbench.open_runs(states, id_map={"a": "C", "b": "C"})
    parts = [{**states[0]}, {**states[1], "turn": 1}]  # two parts of one dialogue
    assert dstbench.turns(parts, id_map={"a": "C", "b": "C"})["turn"].to_list() == [0, 1]


def test_a_long_table_keeps_its_names(model: str) -> None:
    Path("map.json").write_text(json.dumps({"price": "hotel-pricerange"}))
    assert run("convert", model, "-o", "long.parquet", "--slot-map", "map.json", "--id-map", "map.json")[0] == 0
    (of_file,) = dstbench.open_runs("long.parquet")
    assert {"slot_map", "id_map"} <= of_file.meta.keys()
    assert "|slot-map:#" in run("score", "long.parquet")[1]
    code, _, err = run("score", "long.parquet", "--slot-map", "map.json")
    assert code == 2
    assert "long: a long table keeps its names and turn numbers\nhint: give the option to `dstbench convert`" in err


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_files_that_are_converted_together(here: Path) -> None:
    for number, slot in enumerate(("mine", "yours")):
        state = {"dialogue_id": f"own{number}", "turn": 0, "gold": {slot: "a"}, "pred": {slot: "a"}}
        Path(f"{number}.jsonl").write_text(json.dumps(state) + "\n")
    Path("slots.csv").write_text("mine,hotel-name\nyours,hotel-area\nnobody's,hotel-stars\n")
    Path("ids.csv").write_text("own0,MUL0001\nown1,MUL0002\nown2,MUL0003\n")
    maps = ("--slot-map", "slots.csv", "--id-map", "ids.csv")
    code, _, err = run("convert", "0.jsonl", "1.jsonl", "-o", "long.parquet", *maps)
    assert code == 0
    table = dstbench.scan("long.parquet").collect()
    assert table.select("dialogue", "slot").rows() == [("MUL0001", "hotel-name"), ("MUL0002", "hotel-area")]
    assert [line for line in err.splitlines() if "does not have" in line] == [
        "note: 0.jsonl and 1 more: dialogues of the id map that it does not have: own2",
        "note: 0.jsonl and 1 more: slots of the slot map that it does not have: nobody's",
    ]
    with_other_map = ("--slot-map", "slots.csv", "--id-map", "slots.csv")
    assert run("convert", "0.jsonl", "1.jsonl", "-o", "long.parquet", *with_other_map)[0] == 0
    assert dstbench.scan("long.parquet").collect()["dialogue"].to_list() == ["own0", "own1"]


def test_names_in_a_list(model: str) -> None:
    Path("b.jsonl").write_text(Path(model).read_text())
    for words in (("--name", "one,two"), ("--name", "one", "--name", "two"), ("--name", " one , two")):
        rows = json.loads(run("score", model, "b.jsonl", "-m", "jga", "--format", "json", *words)[1])["scores"]
        assert [row["run"] for row in rows] == ["one", "two"]
    rows = json.loads(
        run("score", model, "b.jsonl", "-m", "jga", "--format", "json", "--name", "a,b", "--name", "c")[1]
    )
    assert [row["run"] for row in rows["scores"]] == ["a,b", "c"]
    rows = json.loads(run("score", model, "-m", "jga", "--format", "json", "--name", "a,b")[1])
    assert rows["scores"][0]["run"] == "a,b"
    code, _, err = run("score", model, "b.jsonl", "--name", "one,two,three")
    assert (code, "3 names for 2 runs" in err) == (2, True)
