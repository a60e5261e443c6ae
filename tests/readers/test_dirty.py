"""Real logs are dirty: states that are none, prose around states, turns without states, archives in folders."""

from __future__ import annotations

import json
import random
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import dstbench
from dstbench.readers.state_cells import found_in
from tests import formats
from tests.corpora import EXAMPLE
from tests.damage import damaged
from tests.records import notes_of, quiet, table_of

NORTH = {"hotel-area": "north"}
CUT = '{"hotel-area": "nor'


def _records(*preds: Any) -> list[dict[str, Any]]:
    return [{"dialogue_id": "SNG1", "turn": turn, "gold": NORTH, "pred": pred} for turn, pred in enumerate(preds)]


def test_a_bad_state_is_an_error_whose_hint_says_what_to_do() -> None:
    with pytest.raises(dstbench.DstbenchError, match=r"item 1: pred: .*SNG1, turn 1.*\nhint: .*`unreadable` wrong"):
        dstbench.scan(_records(NORTH, CUT))


@pytest.mark.parametrize(
    ("how", "jga", "said"), [("empty", 0.25, "taken as empty"), ("wrong", 0.25, "counted as wrong")]
)
def test_bad_states_are_taken_as_the_user_says(how: Any, jga: float, said: str) -> None:
    records = _records(NORTH, CUT, "I do not know.", {"hotel": {"area": {"x": 1}}})
    with pytest.warns(dstbench.DstbenchWarning, match="3 predicted states that cannot be read") as caught:
        scores = dstbench.score(records, metrics="jga", unreadable=how)
    assert said in str(caught[0].message)
    assert all(text in str(caught[0].message) for text in ("nor", "I do not know", "{'hotel'"))
    assert scores.value("jga") == 0.25
    assert f"|unreadable:{how}|" in scores["signature"].item()


@quiet
@pytest.mark.parametrize("missing", ["error", "wrong", "empty", "intersect"])
def test_a_state_that_counts_as_wrong_is_wrong_even_where_gold_is_empty(missing: Any) -> None:
    records = [{"dialogue_id": "SNG1", "turn": turn, "gold": {}, "pred": pred} for turn, pred in enumerate(({}, CUT))]
    choices: dict[Any, float] = {"wrong": 0.5, "empty": 1.0}
    for how, jga in choices.items():
        assert dstbench.score(records, metrics="jga", missing=missing, unreadable=how).value("jga") == jga


@quiet
def test_gold_must_be_readable() -> None:
    for how in ("empty", "wrong"):
        with pytest.raises(dstbench.DstbenchError, match="item 0: gold: the text"):
            dstbench.scan([{"dialogue_id": "SNG1", "turn": 0, "gold": CUT, "pred": NORTH}], unreadable=how)


@quiet
@pytest.mark.parametrize("name", ["trade", "t5dst", "gtpr", "kage", "convlab", "icdst"])
def test_formats_with_fixed_notations_have_bad_states_too(name: str, here: Path) -> None:
    """Whatever stands in the place of the last prediction."""
    document = json.loads(formats.WITH_BOTH[name]())
    key = {"trade": "pred_bs_ptr", "t5dst": "pred_belief", "gtpr": "pr", "kage": "bs_pred_dict", "icdst": "pred"}
    turns: list[Any] = []

    def find(node: Any) -> None:
        for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            find(inner)
        if isinstance(node, dict) and key.get(name, "predictions") in node:
            turns.append(node)

    find(document)
    turns[-1][key.get(name, "predictions")] = {"state": 7} if name == "convlab" else 7
    Path("p.json").write_text(json.dumps(document))
    with pytest.raises(dstbench.DstbenchError):
        dstbench.score("p.json", metrics="jga", format=name)
    wrong = dstbench.score("p.json", metrics="jga", format=name, unreadable="wrong")
    assert wrong["turns"].item() == len(turns)
    turns[-1]["turn_belief" if name in ("trade", "t5dst") else
              {"gtpr": "gt", "kage": "bs_ref_dict", "convlab": "state", "icdst": "slot_values"}[name]] = 7  # fmt: skip
    Path("p.json").write_text(json.dumps(document))
    with pytest.raises(dstbench.DstbenchError, match="found 7"):
        dstbench.score("p.json", metrics="jga", format=name, unreadable="wrong")


@pytest.mark.again
@quiet
@pytest.mark.parametrize("name", [*formats.WITH_BOTH, *formats.ONLY_PRED])
def test_damaged_files_are_read_or_refused_whatever_the_choice(name: str, here: Path) -> None:
    rng = random.Random(name)  # noqa: S311 (not for secrets)
    data = (formats.WITH_BOTH | formats.ONLY_PRED)[name]().encode()
    for number in range(16):
        Path("p.json").write_bytes(damaged(data, rng.choice))
        with suppress(dstbench.DstbenchError):
            dstbench.read("p.json", None if "(" in name else name, unreadable="empty" if number % 2 else "wrong")


def test_a_word_that_is_no_choice_is_refused() -> None:
    with pytest.raises(dstbench.DstbenchError, match="'ignore' is none of error, empty, wrong"):
        dstbench.scan(_records(NORTH), unreadable="ignore")  # type: ignore[arg-type] # what is tested


PROSE = [
    "Sure! The state is:\n```json\n{}\n```\nLet me know if I can help.",
    "<think>The user wants {{north}}.</think>\n{}",
    "Answer: {} (that is all)",
]


@quiet
@pytest.mark.parametrize("text", PROSE)
@pytest.mark.parametrize("write", [json.dumps, str])
def test_json_in_prose_is_found(text: str, write: Any) -> None:
    records = _records(text.format(write(NORTH)), write(NORTH))
    assert table_of(_records(NORTH, NORTH)).equals(table_of(records))
    assert notes_of(records) == ["1 state in a text read without the words around"]


@pytest.mark.parametrize(
    "text", ["<think>{'hotel-area': 'north'}", "{'a': 'b'} or {'a': 'c'}", "{", "} {", "the {north}"]
)
def test_what_is_not_the_answer_is_not_found(text: str) -> None:
    assert found_in(text) is None


@quiet
def test_turns_of_one_speaker_may_lack_states(here: Path) -> None:
    """As in KLUE's data."""
    user, system = {"role": "user", "text": "…", "state": ["hotel-area-north"]}, {"role": "sys", "text": "…"}
    Path("klue.json").write_text(json.dumps([{"guid": "wos-v1_dev_00003", "dialogue": [user, system] * 2}]))
    states = dstbench.read("klue.json")
    assert states.gold is not None
    assert states.gold.turns.rows() == [("wos-v1_dev_00003", 0), ("wos-v1_dev_00003", 1)]
    both = [{"guid": "a", "dialogue": [user, {"role": "user", "text": "…"}]}]
    Path("p.json").write_text(json.dumps(both))
    with pytest.raises(dstbench.DstbenchError, match="item 1: neither state"):
        dstbench.read("p.json")


@quiet
def test_lists_of_bookings_are_no_slots() -> None:
    records = [{**turn, "pred": {**turn["pred"], "taxi-booked": [{"phone": "1"}]}} for turn in EXAMPLE]
    assert table_of(EXAMPLE).equals(table_of(records))
    assert notes_of(records) == ["2 items of what was booked left out"]


def test_a_predicted_state_that_is_null_is_empty(here: Path) -> None:
    turns = [
        {"ID": "MUL1.json", "turn_id": turn, "slot_values": NORTH, "pred": pred}
        for turn, pred in ((0, NORTH), (1, None))
    ]
    Path("p.json").write_text(json.dumps(turns))
    assert dstbench.read("p.json").format == "icdst"
    assert any("1 null state taken as empty" in note for note in notes_of("p.json"))


@quiet
def test_a_folder_with_an_archive_is_that_archive(here: Path) -> None:
    Path("run").mkdir()
    Path("run/README.md").write_text("Our predictions.")
    with zipfile.ZipFile("run/all.zip", "w") as archive:
        for number, turn in enumerate(EXAMPLE):
            archive.writestr(f"all/part-{number}.json", json.dumps([turn]))
    assert table_of("run").equals(table_of(EXAMPLE))


@quiet
def test_keys_of_gold_that_compete_are_named_wherever_they_are(here: Path) -> None:
    turn = {"gold_state": NORTH, "ground_truth": NORTH, "pred": NORTH}
    Path("p.json").write_text(json.dumps({"results": [{"dialogue_id": "SNG1", "turns": [turn]}]}))
    with pytest.raises(dstbench.DstbenchError, match=r"gold_state, ground_truth\nhint: `keys` gold=gold_state"):
        dstbench.scan("p.json")
    assert table_of("p.json", keys={"gold": "gold_state"}).height == 1


@quiet
def test_lists_of_lists_are_of_golds_dialogues_in_order(here: Path) -> None:
    gold = [{"dialogue_id": name, "turn": turn, "gold": NORTH} for name in ("SNG2", "SNG1") for turn in (0, 1)]
    south = {"hotel-area": "south"}
    Path("p.json").write_text(json.dumps([[NORTH, NORTH], [south, NORTH]]))
    table = table_of("p.json", gold=gold)
    assert table.filter(pred="south").select("dialogue", "turn").rows() == [("SNG1", 0)]
    Path("p.json").write_text(json.dumps([[NORTH], [south, NORTH, NORTH]]))
    with pytest.raises(dstbench.DstbenchError, match=r"list 0 has 1 state, and that dialogue of .* 2 turns"):
        dstbench.scan("p.json", gold=gold)


@pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")
def test_records_without_ids_are_golds_turns_in_order(here: Path) -> None:
    gold = [{"dialogue_id": name, "turn": turn, "gold": NORTH} for name in ("SNG2", "SNG1") for turn in (0, 1)]
    south = {"hotel-area": "south"}
    records = [{"label": NORTH, "predict": pred} for pred in (NORTH, NORTH, south, NORTH)]
    Path("p.json").write_text(json.dumps(records))
    table = table_of("p.json", gold=gold)
    assert table.filter(pred="south").select("dialogue", "turn").rows() == [("SNG1", 0)]
    with pytest.raises(dstbench.DstbenchError, match=r"can be read only with the gold states(.|\n)*`gold` FILE"):
        dstbench.scan("p.json")
    with pytest.raises(dstbench.DstbenchError, match="no gold inside"):
        dstbench.scan([row | {"pred": {}} for row in gold], gold="p.json")
    Path("p.json").write_text(json.dumps([{**record, "label": {"taxi-leaveat": "09:15"}} for record in records]))
    with pytest.raises(dstbench.DstbenchError, match=r"in 0 of 4 turns(.|\n)*the same order"):
        dstbench.scan("p.json", gold=gold)


@pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")
@pytest.mark.parametrize(
    "state",
    [
        "hotel-area=north; hotel-stars=4",
        "hotel area = north | hotel stars = 4",
        "hotel-area: north\nhotel-stars: 4",
        {"hotel": [{"name": "area", "value": "north"}, {"name": "stars", "value": "4"}]},
    ],
)
def test_states_as_models_and_people_write_them(here: Path, state: object) -> None:
    Path("p.json").write_text(
        json.dumps({"('MUL1', 0)": {"gold": state, "pred": state}, "('MUL1', 1)": {"gold": state, "pred": "none"}})
    )
    found = table_of("p.json").select("turn", "slot", "gold", "pred").rows()
    both = [(0, "hotel-area", "north", "north"), (0, "hotel-stars", "4", "4")]
    assert sorted(found) == [*both, (1, "hotel-area", "north", None), (1, "hotel-stars", "4", None)]


def test_where_states_lie_deeper_the_error_has_the_line_that_works(here: Path) -> None:
    turn = {"dialogue_id": "MUL1", "turn": 0, "gold": {"by": {"hotel": [{"name": "area", "value": "north"}]}}}
    Path("p.json").write_text(json.dumps([turn | {"pred": {"by": {"hotel": [{"name": "area", "value": "south"}]}}}]))
    with pytest.raises(dstbench.DstbenchError, match=r"gold=gold.by,pred=pred.by may be what it needs"):
        dstbench.scan("p.json")
    assert table_of("p.json", keys={"gold": "gold.by", "pred": "pred.by"}).select("gold", "pred").rows() == [
        ("north", "south")
    ]
