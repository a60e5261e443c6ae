"""Datasets as gold: MultiWOZ, SGD, ConvLab-3's, the restaurant datasets; and their splits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.readers.states import Side
from tests import formats
from tests.corpora import FEW
from tests.io.test_archives import pack_zip, same


def cells(side: Side | None) -> dict[tuple[str, int], dict[str, str]]:
    assert side is not None
    found: dict[tuple[str, int], dict[str, str]] = {turn: {} for turn in side.turns.iter_rows()}
    for at, slot, value in side.cells.iter_rows():
        found[side.turns.row(at)][slot] = value
    return found


def raw(*states: dict[str, Any]) -> dict[str, Any]:
    """A raw MultiWOZ dialogue with these values in its hotel domain: booked ones have a name that starts with book."""
    log: list[dict[str, Any]] = []
    for state in states:
        semi = {slot: value for slot, value in state.items() if not slot.startswith("book ")}
        book = {slot.removeprefix("book "): value for slot, value in state.items() if slot.startswith("book ")}
        hotel = {"semi": semi, "book": {"booked": [{"name": "x"}], **book}}
        log += [{"text": "", "metadata": {}}, {"text": "", "metadata": {"hotel": hotel}}]
    return {"goal": {}, "log": log}


def test_multiwoz_turns_without_a_state_are_counted(here: Path) -> None:
    cut, bare = raw({"area": "north"}), raw({"area": "north"}, {"area": "west"})
    cut["log"].append({"text": "", "metadata": {}})
    bare["log"][3]["metadata"] = {}
    Path("data.json").write_text(json.dumps({"MUL1.json": cut, "MUL2.json": bare}))
    states = dstbench.read("data.json")
    assert states.notes == (
        "data.json: 1 dialogue ending with a user turn, which has no state; left out",
        "data.json: 1 system turn without metadata: the state is read as empty",
    )
    assert cells(states.gold)["MUL2", 1] == {}
    with pytest.warns(dstbench.DstbenchWarning) as caught:
        dstbench.score(predictions("MUL1", "MUL2"), gold="data.json", missing="intersect")
    assert set(states.notes) <= {str(warning.message) for warning in caught}


@pytest.mark.parametrize(
    ("value", "said"), [(4, "expected a string or a list, found 4"), ([4], "expected a string, found 4")]
)
def test_a_multiwoz_value_of_another_type_is_refused(value: object, said: str, here: Path) -> None:
    Path("data.json").write_text(json.dumps({"MUL1.json": raw({}, {"stars": value})}))
    with pytest.raises(dstbench.DstbenchError, match=rf"{said}.*dialogue MUL1.*hotel-stars"):
        dstbench.read("data.json")


def multiwoz_with_splits() -> dict[str, bytes]:
    dialogues = {f"MUL{n}.json": raw({"area": "north"}) for n in range(1, 5)}
    return {
        "MULTIWOZ/data.json": json.dumps(dialogues).encode(),
        "MULTIWOZ/testListFile.json": b"MUL1.json\nMUL2.json\n",
        "MULTIWOZ/valListFile.txt": b"MUL3.json",
    }


def predictions(*dialogues: str) -> list[dict[str, Any]]:
    return [{"dialogue_id": name, "turn": 0, "pred": {"hotel-area": "north"}} for name in dialogues]


@pytest.mark.parametrize("gold", ["MULTIWOZ", "MULTIWOZ/data.json", "m.zip", "m.zip/MULTIWOZ/data.json"])
def test_the_split_with_predictions_is_scored(gold: str, here: Path) -> None:
    Path("MULTIWOZ").mkdir()
    for name, content in multiwoz_with_splits().items():
        Path(name).write_bytes(content)
    Path("m.zip").write_bytes(pack_zip(multiwoz_with_splits()))
    states = dstbench.read(gold)
    assert states.splits is not None
    assert dict(states.splits.iter_rows()) == {"MUL1": "test", "MUL2": "test", "MUL3": "dev", "MUL4": "train"}
    with pytest.warns(dstbench.DstbenchWarning, match="scored on the split test, the only one"):
        row = dstbench.score(predictions("MUL1", "MUL2"), gold=gold, metrics="jga")
    assert row.select("value", "dialogues").row(0) == (1, 2)
    with pytest.warns(dstbench.DstbenchWarning, match="1 gold turn without a prediction"):
        row = dstbench.score(predictions("MUL1"), gold=gold, metrics="jga", split="test", missing="wrong")
    assert row.select("value", "dialogues").row(0) == (0.5, 2)
    both = predictions("MUL1", "MUL2", "MUL3")
    with pytest.raises(dstbench.DstbenchError, match=r"in the splits dev, test of .*\nhint: choose one: `split` test"):
        dstbench.score(both, gold=gold)
    with pytest.warns(dstbench.DstbenchWarning, match="2 predicted turns in 2 dialogues without gold, left out"):
        row = dstbench.score(both, gold=gold, metrics="jga", split="dev")
    assert row.select("value", "dialogues").row(0) == (1, 1)
    with pytest.raises(
        dstbench.DstbenchError, match=r"no dialogue of the split 'trial'\nhint: there are: dev, test, train"
    ):
        dstbench.score(both, gold=gold, split="trial")


def test_a_split_is_asked_of_what_has_none() -> None:
    states = [{**turn, "gold": {}} for turn in predictions("MUL1")]
    with pytest.raises(dstbench.DstbenchError, match="it does not say which dialogue is of which split"):
        dstbench.score(states, split="test")
    table = dstbench.scan(states).collect()
    with pytest.raises(dstbench.DstbenchError, match="a long table has no splits"):
        dstbench.score(table, split="test")
    with pytest.raises(dstbench.DstbenchError, match="it does not say which dialogue is of which split"):
        dstbench.score(states, gold=table, split="test")


def test_convlab_splits_are_called_as_all_are(here: Path) -> None:
    gold = json.loads(formats.convlab_gold())
    gold += [{**gold[0], "original_id": "MUL2.json", "data_split": "validation"}]
    Path("dialogues.json").write_text(json.dumps(gold))
    Path("run.json").write_text(formats.mwzeval())
    states = dstbench.read("dialogues.json")
    assert states.splits is not None
    assert dict(states.splits.iter_rows()) == {"MUL7001": "test", "MUL2": "dev"}
    with pytest.warns(dstbench.DstbenchWarning, match="scored on the split test"):
        assert dstbench.score("run.json", gold="dialogues.json", metrics="jga")["value"].item() == 0.5
    del gold[0]["turns"][2]["state"]
    Path("dialogues.json").write_text(json.dumps(gold))
    with pytest.raises(dstbench.DstbenchError, match=r"no state here \(dialogue MUL7001.json, turn 1\)"):
        dstbench.read("dialogues.json")


def sgd(name: str, *turns: dict[str, dict[str, list[str]]]) -> dict[str, Any]:
    """An SGD dialogue: per user turn, a state per service."""
    said: list[dict[str, Any]] = []
    for turn in turns:
        frames = [{"service": service, "state": {"slot_values": state}} for service, state in turn.items()]
        said += [{"speaker": "USER", "utterance": "", "frames": frames}, {"speaker": "SYSTEM", "frames": []}]
    return {"dialogue_id": name, "services": [], "turns": said}


def test_sgd_speakers_may_be_written_in_lower_case(here: Path) -> None:
    dialogue = json.dumps([sgd("1_00000", {"Hotels_2": {"rooms": ["2"]}})])
    Path("p.json").write_text(dialogue.replace("USER", "user").replace("SYSTEM", "system"))
    assert cells(dstbench.read("p.json").gold) == {("1_00000", 0): {"Hotels_2-rooms": "2"}}


def test_values_beside_the_first_of_a_prediction_are_counted(here: Path) -> None:
    turns = [{"Hotels_2": {"check_in": ["Friday", "this Friday"], "rooms": ["2"], "x": ["a", "b"]}}]
    Path("run.json").write_text(json.dumps([sgd("1_00000", *turns)]))
    Path("gold.json").write_text(json.dumps([sgd("1_00000", {"Hotels_2": {"rooms": ["2"]}})]))
    with pytest.warns(dstbench.DstbenchWarning) as caught:
        dstbench.score("run.json", gold="gold.json")
    said = "run.json: 2 predictions with several values, of which the first is taken"
    assert said in [str(warning.message) for warning in caught]
    assert not dstbench.read("run.json").notes  # as gold it has lost none


def test_sgd_says_where_something_is_wrong(here: Path) -> None:
    dialogue = sgd("1_00000", {"Hotels_2": {"rooms": ["2"]}}, {"Hotels_2": {"rooms": [2]}})  # type: ignore[list-item]
    Path("p.json").write_text(json.dumps([dialogue]))
    where = "dialogue 1_00000, turn 1, slot Hotels_2-rooms"
    with pytest.raises(dstbench.DstbenchError, match=rf"item 0: expected a string, found 2 \({where}\)"):
        dstbench.read("p.json")


values = st.lists(st.sampled_from(["a", "b", "c d"]), max_size=3)
services = st.dictionaries(st.sampled_from(["Hotels_2", "hotel"]), st.dictionaries(st.sampled_from("xy"), values))


@FEW
@given(dialogues=st.lists(st.lists(services, min_size=1, max_size=3), min_size=1, max_size=12), data=st.data())
def test_shards_together_are_one_file(
    dialogues: list[list[Any]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("sgd")
    whole = [sgd(f"1_{number:05}", *turns) for number, turns in enumerate(dialogues)]
    cut = data.draw(st.integers(0, len(whole)))
    shards = [shard for shard in (whole[:cut], whole[cut:]) if shard]
    (folder / "whole.json").write_text(json.dumps(whole))
    (folder / "shards").mkdir()
    packed = {}
    for number, shard in enumerate(shards, start=1):
        packed[f"test/dialogues_{number:03}.json"] = json.dumps(shard).encode()
        (folder / "shards" / f"dialogues_{number:03}.json").write_text(json.dumps(shard))
    (folder / "shards" / "schema.json").write_text(json.dumps([{"service_name": "Hotels_2", "slots": []}]))
    (folder / "shards" / "dialogues_and_metrics.json").write_text(json.dumps(whole))
    (folder / "shards.zip").write_bytes(pack_zip({"schema.json": b"[]", **packed}))
    one = dstbench.read(folder / "whole.json")
    for many in (dstbench.read(folder / "shards"), dstbench.read(folder / "shards.zip")):
        assert same(one, many)
        assert many.either
        assert many.places is not None
        assert many.places["dialogue"].to_list() == [dialogue["dialogue_id"] for dialogue in whole]
        assert many.places["position"].to_list() == [number for shard in shards for number in range(len(shard))]


def test_subfolders_are_splits(here: Path) -> None:
    for number, split in enumerate(("train", "dev", "test")):
        Path("sgd", split).mkdir(parents=True)
        for shard in (1, 2):
            dialogue = sgd(f"{number}_{shard:05}", {"Hotels_2": {"rooms": ["2"]}})
            Path("sgd", split, f"dialogues_{shard:03}.json").write_text(json.dumps([dialogue]))
        Path("sgd", split, "schema.json").write_text("[]")
    with pytest.warns(dstbench.DstbenchWarning) as caught:
        row = dstbench.score("sgd/test", gold="sgd", metrics="jga")
    assert row.select("value", "dialogues").row(0) == (1, 2)
    assert any("scored on the split test, the only one of sgd" in str(warning.message) for warning in caught)
    with pytest.warns(dstbench.DstbenchWarning, match="of 1 slot, none"):
        row = dstbench.score("sgd", gold="sgd", metrics="jga", split="dev")
    assert row["dialogues"].item() == 2
    with pytest.raises(dstbench.DstbenchError, match="in the splits dev, test, train of sgd"):
        dstbench.score("sgd", gold="sgd")
    with pytest.raises(dstbench.DstbenchError, match=r"sgd: no dialogue of the split 'trial'"):
        dstbench.score("sgd", gold="sgd", split="trial")


def test_a_tracker_is_sure_of_no_value(here: Path) -> None:
    turns = [{"goal-labels": {"food": {"thai": 0.4, "irish": 0.3}, "area": {"east": 0.3, "west": 0.6}}}]
    Path("p").write_text(json.dumps({"sessions": [{"session-id": "c", "turns": turns}]}))
    wanted = {("c", 0): {"restaurant-food": "thai", "restaurant-area": "west"}}
    assert cells(dstbench.read("p").pred) == wanted  # 0.4 against 0.3 for none of them
    turns[0]["goal-labels"]["food"]["irish"] = 0.1
    Path("p").write_text(json.dumps({"sessions": [{"session-id": "c", "turns": turns}]}))
    assert cells(dstbench.read("p").pred) == {("c", 0): {"restaurant-area": "west"}}


def test_real_dialogues_of_sgd(data: Path) -> None:
    states = dstbench.read(data / "sgd")
    assert states.gold is not None
    documents = [d for n in (1, 2) for d in json.loads((data / "sgd" / f"dialogues_00{n}.json").read_text())]
    wanted = {}
    for dialogue in documents:
        users = [turn for turn in dialogue["turns"] if turn["speaker"] == "USER"]
        for number, turn in enumerate(users):
            wanted[dialogue["dialogue_id"], number] = {
                f"{frame['service']}-{slot}": "|".join(value)
                for frame in turn["frames"]
                for slot, value in frame["state"]["slot_values"].items()
            }
    assert cells(states.gold) == wanted


def test_original_ids_that_repeat_name_no_dialogue(here: Path) -> None:
    (train,) = json.loads(formats.convlab_gold().replace("MUL7001.json", "0").replace("test", "train"))
    (test,) = json.loads(formats.convlab_gold().replace("MUL7001.json", "0"))
    Path("dialogues.json").write_text(json.dumps([train, test]))
    states = dstbench.read("dialogues.json")
    assert states.gold is not None
    assert states.gold.turns["dialogue"].unique().sort().to_list() == ["multiwoz21-test-0", "multiwoz21-train-0"]
    run: list[dict[str, Any]] = [{"dialogue_id": "0", "turn": turn, "pred": {}} for turn in (0, 1)]
    with pytest.raises(dstbench.DstbenchError, match="no turn is in both gold and predictions"):
        dstbench.score(run, gold="dialogues.json", metrics="jga")
    with pytest.warns(dstbench.DstbenchWarning, match="1 dialogue found under other ids"):
        assert dstbench.score(run, gold="dialogues.json", metrics="jga", split="test")["dialogues"].item() == 1


def test_a_dialogue_under_both_its_ids_is_there_twice(here: Path) -> None:
    Path("dialogues.json").write_text(formats.convlab_gold().replace('"MUL7001.json"', "0"))
    run: list[dict[str, Any]] = [{"dialogue_id": name, "turn": 0, "pred": {}} for name in ("0", "multiwoz21-test-0")]
    with pytest.raises(dstbench.DstbenchError, match=r"twice, under two names of the dialogue \(dialogue 0, turn 0\)"):
        dstbench.score(run, gold="dialogues.json")


@pytest.mark.parametrize("published", [False, True])
def test_glads_dialogues_may_be_as_published(published: bool, here: Path) -> None:
    Path("gold").write_text(formats.glad(as_published=published))
    Path("woz").write_text(formats.woz())
    assert cells(dstbench.read("gold").gold) == cells(dstbench.read("woz").gold)
    assert dstbench.contexts("gold").equals(dstbench.contexts("woz"))


def test_crosswoz_states_are_those_of_the_next_answer(here: Path) -> None:
    def answer(**slots: str | list[str]) -> dict[str, Any]:
        state = {"酒店": {**slots, "selectedResults": ["x"]}, "出租": {"目的地": "", "selectedResults": []}}
        return {"role": "sys", "content": "", "sys_state_init": state, "sys_state": {}}

    user = {"role": "usr", "content": "", "user_state": []}
    messages = [user, answer(名称="", 评分="4.5分以上"), answer(名称="a"), user, user, answer(名称=["b", "c"]), user]
    Path("test.json").write_text(json.dumps({"12": {"messages": messages}}, ensure_ascii=False))
    states = dstbench.read("test.json")
    assert cells(states.gold) == {("12", 0): {"酒店-评分": "4.5分以上"}, ("12", 2): {"酒店-名称": "b|c"}}
    assert states.notes == (
        "test.json: 2 user messages without an answer of the system, which has the state; left out",
    )
    del messages[1]["sys_state_init"]
    Path("test.json").write_text(json.dumps({"12": {"messages": messages}}))
    with pytest.raises(dstbench.DstbenchError, match=r"no sys_state_init here \(dialogue 12, turn 0\)"):
        dstbench.read("test.json")


@pytest.mark.parametrize(
    ("slots", "intents", "wanted"),
    [
        (["movie", "date"], [], ["movie-movie", "movie-date"]),
        (["date", "price_range"], [], ["restaurant-date", "restaurant-pricerange"]),
        (["date"], ["BUY_MOVIE_TICKETS"], ["movie-date"]),
        (["date"], ["RESERVE_RESTAURANT"], ["restaurant-date"]),
        (["date"], [], ["date"]),
    ],
)
def test_simulated_slots_get_the_domain_of_their_dialogue(
    slots: list[str], intents: list[str], wanted: list[str], here: Path
) -> None:
    state = [{"slot": slot, "value": "x"} for slot in slots]
    turns = [{"dialogue_state": [], "user_intents": intents}, {"dialogue_state": state}]
    Path("test.json").write_text(json.dumps([{"dialogue_id": "a", "turns": turns}]))
    assert cells(dstbench.read("test.json").gold) == {("a", 0): {}, ("a", 1): dict.fromkeys(wanted, "x")}
