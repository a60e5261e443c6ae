"""Which keys of records are taken, what is said of it, and what is said where they do not tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dstbench
from tests.records import notes_of, quiet, table_of


def _record(turn: int = 0, /, **keys: Any) -> dict[str, Any]:
    return {"dialogue_id": "MUL1", "turn": turn, **keys}


NORTH, SOUTH = {"hotel-area": "north"}, {"hotel-area": "south"}


@quiet
def test_keys_that_the_user_gives_are_not_told() -> None:
    keys = {"id": "flag", "turn": "flag", "gold": "ground_truth_m24", "pred": "ours"}
    record = {"flag": "MUL1-0", "ground_truth": SOUTH, "ground_truth_m24": NORTH, "ours": NORTH, "prediction": SOUTH}
    (note,) = notes_of([record], keys=keys)
    assert note.startswith("keys used: flag as dialogue and turn, ground_truth_m24 as gold, ours as pred; not used: ")
    assert table_of([record], keys=keys)["pred"].to_list() == ["north"]
    del record["prediction"], record["ground_truth"]
    assert notes_of([record], keys=keys) == []


@quiet
def test_turns_without_numbers_are_counted_and_this_is_said() -> None:
    records = [{"dialogue_id": d, "gold": NORTH, "pred": {}} for d in ("MUL1", "MUL2", "MUL1")]
    assert table_of(records).select("dialogue", "turn").rows() == [("MUL1", 0), ("MUL1", 1), ("MUL2", 0)]
    assert notes_of(records) == ["no turn numbers: 3 records of 2 dialogues, counted in their order"]


@quiet
def test_records_of_one_dialogue_in_two_groups_are_said(here: Path) -> None:
    groups = {"right": [_record(0, gold=NORTH, pred=NORTH)], "wrong": [_record(1, gold=NORTH, pred=SOUTH)]}
    Path("p.json").write_text(json.dumps(groups))
    assert table_of("p.json").height == 2
    assert notes_of("p.json") == [
        "keys used: dialogue_id, turn, gold, pred; records under right, wrong are read together"
    ]


def test_one_record_among_others_is_refused_with_its_place() -> None:
    good = [_record(turn, gold=NORTH, pred=NORTH) for turn in range(3)]
    for bad, said in (
        (_record(3, domains=[]), r"item 3: neither gold nor pred; unknown keys: domains \(dialogue MUL1, turn 3\)"),
        (_record(3, gold=NORTH, pred="no idea"), r"item 3: pred: the text 'no idea' is neither"),
        ([1], r"item 3: expected an object, found \[1\]"),
    ):
        with pytest.raises(dstbench.DstbenchError, match=said):
            dstbench.scan([*good, bad])


def test_a_side_that_is_null_everywhere_is_not_there() -> None:
    records = [_record(turn, gold=NORTH, pred=None) for turn in range(2)]
    with (
        pytest.raises(dstbench.DstbenchError, match="the file holds gold but no predictions"),
        pytest.warns(dstbench.DstbenchWarning, match="pred is null in every record, and so is ignored"),
    ):
        dstbench.scan(records)


ROW = {"dial": "SNG1", "nr": 0, "truth_state": {"hotel-area": "north"}, "ours": "{}"}
FILES = {
    "a list": json.dumps([ROW]),
    "a wrapper": json.dumps({"meta": {"model": "x"}, "out": [ROW]}),
    "by dialogue": json.dumps({"SNG1": [ROW]}),
    "lines": f"{json.dumps(ROW)}\n{json.dumps(ROW)}\n",
    "CSV": "dial;nr;truth_state;ours\nSNG1;0;{'hotel-area': 'north'};{}\n",
}


@pytest.mark.parametrize("kind", FILES)
@quiet
def test_a_file_of_unknown_keys_that_lacks_a_given_one_says_so(kind: str, here: Path) -> None:
    keys = {"id": "dial", "turn": "nr", "gold": "truth_state", "pred": "ours"}
    Path("p").write_text(FILES[kind])
    for field, key in keys.items():
        wrong = {**keys, field: f"{key}_x"}
        with pytest.raises(dstbench.DstbenchError, match=f"no record has the key '{key}_x' .*\nhint: did you mean"):
            dstbench.scan("p", keys=wrong)
    Path("p").write_text("a line of text\nand another one\n")
    with pytest.raises(dstbench.DstbenchError, match="no known format"):
        dstbench.scan("p", keys=keys)


@quiet
def test_gold_of_its_own_may_have_other_keys() -> None:
    gold = [{"dial_id": "mul1.json", "turn_id": 0, "state": {"hotel": {"area": ["north", "east"]}}}]
    pred = [{"flag": "MUL1-0", "ours": [["hotel-area", "east"]], "ground_truth": SOUTH}]
    table = table_of(pred, gold=gold, keys={"pred": "ours", "gold": "ground_truth"})
    assert table.rows() == [("MUL1", 0, "hotel-area", "north|east", "east")]


def test_states_without_a_side_are_gold_or_predictions(here: Path) -> None:
    for name, state in (("g.jsonl", NORTH), ("p.jsonl", SOUTH)):
        Path(name).write_text(json.dumps(_record(state=state)))
    with pytest.warns(dstbench.DstbenchWarning, match="state as states"):
        assert table_of("p.jsonl", gold="g.jsonl").rows() == [("MUL1", 0, "hotel-area", "north", "south")]
    with (
        pytest.raises(dstbench.DstbenchError, match="no gold inside"),
        pytest.warns(dstbench.DstbenchWarning, match="state as states"),
    ):
        dstbench.scan("p.jsonl")


def test_states_of_single_turns_are_noticed() -> None:
    """They are scored as they are, as nothing can tell whether a tracker forgets."""
    slots = ["hotel-area", "hotel-name", "hotel-stars", "train-day"]
    turns = [_record(turn, gold={slots[turn % 4]: "x"}, pred={}) for turn in range(60)]
    (note,) = notes_of(turns)
    assert note.startswith("59 of 59 gold states lose slots by the next turn: if they are states of single turns")
    grown = [_record(turn, gold=dict.fromkeys(slots[: turn // 16 + 1], "x"), pred={}) for turn in range(60)]
    assert notes_of(grown) == []
    assert notes_of(turns[:40]) == []


def test_a_key_whose_name_promises_states_that_are_not_there_is_read_as_one() -> None:
    records = [_record(turn, gold=NORTH, prediction="I think that it is in the north") for turn in range(3)]
    with pytest.raises(dstbench.DstbenchError, match=r"prediction: the text 'I think .*\nhint: .*`unreadable` wrong"):
        dstbench.scan(records)


@quiet
def test_names_are_exact_and_the_state_of_one_turn_is_never_offered() -> None:
    for key in ("gold_m24", "turn_state", "my_gold", "previous_gold"):
        with pytest.raises(dstbench.DstbenchError, match="no gold inside") as refused:
            dstbench.scan([_record(pred=NORTH, **{key: SOUTH})])
        assert ("gold=" in str(refused.value)) == (key in ("gold_m24", "my_gold")), key
    for key in ("turn_label", "state_update", "pred_delta", "last_pred"):
        with pytest.raises(dstbench.DstbenchError, match="no predictions") as refused:
            dstbench.scan([_record(gold=NORTH, **{key: SOUTH})])
        assert "pred=" not in str(refused.value)


@quiet
def test_a_weaker_name_is_taken_where_there_is_no_plain_one() -> None:
    text = json.dumps(SOUTH)
    assert table_of([_record(gold=NORTH, output=text)])["pred"].to_list() == ["south"]
    assert table_of([_record(gold=NORTH, output=text, pred=NORTH)])["pred"].to_list() == ["north"]
    assert table_of([_record(label=NORTH, response="Hello!", pred=SOUTH)])["pred"].to_list() == ["south"]
    for keys in (("pred", "prediction"), ("Pred", "pred"), ("output", "response")):
        with pytest.raises(dstbench.DstbenchError, match=f"2 keys could be the prediction: {', '.join(keys)}"):
            dstbench.scan([_record(gold=NORTH, **dict.fromkeys(keys, NORTH))])
