"""Files that cannot be used get one error, with what is wrong and where; what is odd in others is noted."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests import formats
from tests.contract import recorded, small_corpus
from tests.contract.commands import run
from tests.contract.test_refusals import OF_OTHERS


def _gtpr(**turn: Any) -> str:
    return json.dumps({"MUL1.json": {"0": {"gt": {}, "pr": {}}, "1": {"gt": {}, "pr": {}} | turn}})


def _line(**turn: Any) -> str:
    return json.dumps({"dialogue_id": "MUL1", "turn": 0, "gold": {}, "pred": {}} | turn) + "\n"


def _trippy(changed: dict[str, Any]) -> str:
    turns = [{"guid": ["test", "MUL1", turn], "slot_prediction_x": "a", "slot_groundtruth_x": "a"} for turn in "01"]
    return json.dumps([turns[0], turns[1] | changed])


def _record(turn: int = 0, /, **keys: Any) -> str:
    return json.dumps([{"dialogue_id": "MUL1", "turn": turn, **keys}])


_NESTED = {"hotel": {"area": "north"}}


def _lists(gold: Any, pred: Any) -> str:
    right = {"dialogue_id": "SNG2", "gold": [_NESTED], "pred": [_NESTED]}
    return json.dumps([right, {"dialogue_id": "SNG1", "gold": gold, "pred": pred}])


NORTH, SOUTH = {"hotel-area": "north"}, {"hotel-area": "south"}
_TURN: Final = _trippy({})[1:].partition("}")[0] + "}"
HEADER: Final = "dialogue_id,turn,gold,pred\n"
#: Commands, and for each what must be said (parts are separated by ` & `) of which contents of the broken file.
BROKEN: Final[dict[str, list[tuple[str, str | bytes]]]] = {
    "score broken.json": [
        ("the file is empty", ""),
        ("the JSON ends too early & hint: the file is cut off", formats.gtpr()[:-40]),
        ("broken JSON & byte", formats.gtpr().replace(":", ";", 1)),
        ("broken JSON: trailing characters", formats.gtpr() + " and more"),
        ("not UTF-8 & 0xe9", b'{"MUL1.json": {"0": {"gt": {"hotel": {"name": "caf\xe9"}}, "pr": {}}}}'),
        ("not UTF-8 & line 2", formats.star_tsv().encode().replace(b'cheap hotel', b'\xff')),
        ("nested too deeply", "[" * 100000 + "]" * 100000),
        ("no known format: an empty JSON object", "{}"),
        ("no known format & JGA 54.2 & --from", "JGA 54.2\n"),
        ("wrong slots only & turn 0 & hint: & preds_full",
         json.dumps({f"{formats.ID}.json_{turn}": cells for turn, cells in
                     enumerate([{}, {"hotel-area": {"pred": "east", "gt": "west"}}])})),
        ("only with the gold states (dstc10)", formats.dstc10()),
        ("expected a list & dialogue 1, slot train-destination", formats.dstc10().replace('["ely"]', '"ely"')),
        ("line 4: the value 'west' & turn 0", formats.ldst().replace("['west']", "west", 1)),
        ("line 31: the turn is not a number & turn two", formats.ldst().replace("|||2|||", "|||two|||", 1)),
        ("30 values for 31 slots & turn 0", formats.savn().replace('["', '["hotel-x", "', 1)),
        ("TripPy's configuration, not its predictions & hint: & pred_res.*.json & --label-map",
         json.dumps({"dataset_name": "x", "class_types": ["none"], "slots": [], "label_maps": {}})),
        ("packed ( & hint: unpack it first", gzip.compress(gzip.compress(b'{}'))),
        ("no known format: a JSON object with the keys version, a", json.dumps({"version": 2, "a": "b"})),
        ("no known format: JSON Lines whose objects have the key a", '{"a": 1}\n{"a": 2}\n'),
        ("expected an object & dialogue MUL1.json, turn 1", _gtpr(pr=["hotel-area-north"])),
        ("expected an object & found [1, 2] & dialogue B", json.dumps({"A": {"0": {"gt": {}, "pr": {}}}, "B": [1, 2]})),
        ("expected a string, found 4 & dialogue MUL1.json, turn 0, slot hotel-stars",
         json.dumps([{"dial_id": "MUL1.json", "turns": [{"state": {"slot_values": {"hotel-stars": 4}}}]}])),
        ("no gt here & dialogue MUL1.json, turn 1",
         json.dumps({"MUL1.json": {"0": {"gt": {}, "pr": {}}, "1": {"pr": {}}}})),
        ("no gold inside (jsonl) & --gold", json.dumps({"dialogue_id": "D", "turn": 0, "pred": {}})),
        ("neither gold nor pred; unknown keys: perdiction & --keys gold=KEY,pred=KEY",  # misspelt
         json.dumps({"dialogue_id": "D", "turn": 0, "perdiction": {}})),  # misspelt
        ("line 1: gold: an object, where a value must be & dialogue MUL1, turn 0, slot hotel-stars",
         _line(gold={"hotel": {"stars": {"4": "5"}}})),
        ("line 1: turn: the turn is not a number & turn first", _line(turn="first")),
        ("the same turn twice & dialogue MUL1, turn 0", _line(dialogue_id="mul1.json") + _line()),
        ("the key '0' twice", '{"MUL1.json": {"0": {"gt": {}, "pr": {}}, "0": {"gt": {}, "pr": {}}}}'),
        ("the turn is not a number & dialogue MUL1.json, turn first",
         json.dumps({"MUL1.json": {"first": {"gt": {}, "pr": {}}}})),
        ("the turn is not a number from 0 & turn 1000000", _line() + _line(turn=10 ** 20)),
        ("names a column twice", formats.star_tsv().replace("hotel-area", "hotel-name", 1)),
        ("it looks like UTF-16, where UTF-8 text is expected", formats.gtpr().encode("utf-16")),
        ("no generated_turn_belief here & dialogue D, turn 0",
         json.dumps({"D": {"target_turn_belief": [[]], "generated_turn_belief": []}})),
        ("line 1: no turn_num here", formats.parlai().replace('"turn_num"', '"turn"', 1)),
        ("line 2: the dial_id 'mul7001' is not", formats.checkdst().replace("mul7001-1", "mul7001")),
        ("line 1: 2 gold states, where there must be one & dialogue mul7001.json, turn 0",
         formats.parlai().replace('"eval_labels": [', '"eval_labels": ["", ')),
        ("expected an object, found 'west' & dialogue MUL7001.json, turn 0, slot hotel-area",
         re.sub('("hotel-area": )[{][^}]*[}]', '\\1"west"', formats.star(), count=1)),
        ("the header has columns that are not slots: hotel area",
         formats.star_tsv().replace("hotel-area", "hotel area", 1)),
        ("'MUL7001.json' is not of the form", formats.star().replace("json_1", "json")),
        ("the turn is not a number from 0 to 65535 & turn 65536", json.dumps({"D_0": [[], []], "D_65536": [[], []]})),
        ("'hotel' is not of the form & dialogue D, turn 0", json.dumps({"D_0": [["hotel"], []]})),
        ("expected a list with an item 1 & dialogue D, turn 1", json.dumps({"D_0": [[], []], "D_1": [[]]})),
        ("one pred_bs_* list & dialogue D, turn 1",
         json.dumps({"D": {"0": {"turn_belief": [], "pred_bs_ptr": []}, "1": {"turn_belief": []}}})),
        ("data of format gtpr under several keys: dev, test",
         json.dumps({split: {"MUL1": {"0": {"gt": {}, "pr": {}}}} for split in ("dev", "test")})),
        ("the key 'jga' twice", f'{{"data": {formats.gtpr()}, "jga": 1, "jga": 2}}'),
        ("the key 'data' twice", f'{{"data": {formats.gtpr()}, "d\\u0061ta": {formats.som()}}}'),
        ("gold and pred do not have the same turns (2 and 1 states)", _lists([_NESTED] * 2, [_NESTED])),
        ("gold and pred do not have the same turns (1 and 1 states)", _lists({"0": _NESTED}, {"1": _NESTED})),
        ("an object, where a value must be & turn 0, slot hotel", _lists([_NESTED], [{"hotel": {"area": {"x": 1}}}])),
        ("no turn has a state", json.dumps({"mul1": [{"response": "hello"}]})),
        ("line 3 has & fields & cut off", formats.star_tsv()[:-60]),
    ],
    "score broken.json --from records": [
        ("2 keys could be the prediction: pred, predicted & hint: --keys pred=pred",
         _record(gold={}, pred=NORTH, predicted=SOUTH)),
        ("2 keys could be the gold state: ground_truth, gold_state & hint: --keys gold=ground_truth",
         _record(ground_truth=NORTH, gold_state=SOUTH, pred={})),
        ("no gold inside & hint: --keys gold=gold_m21 takes that", _record(gold_m21=NORTH, gold_m24=SOUTH, pred={})),
        ("2 keys could be the state: state, belief_state & --keys gold=state or --keys pred=state",
         _record(state=NORTH, belief_state=NORTH)),
        ("2 keys could be the turn: turn, turn_id", _record(1, turn_id=2, gold=NORTH, pred={})),
        ("neither gold nor pred; unknown keys: gold_turn_label, pred_turn_label & id=dialogue_id,turn=turn",
         _record(gold_turn_label=NORTH, pred_turn_label=NORTH)),
        ("neither gold nor pred; unknown & gold=glod,pred=perd", _record(glod=NORTH, perd=NORTH)),  # misspelt
        ("neither gold nor pred; unknown keys: ours & turn=turn,pred=ours may be", _record(ours=NORTH)),
        ("holds gold but no predictions & pred=perd takes that", _record(gold=NORTH, perd=NORTH)),  # misspelt
        ("pred: a function call, where a state must be",
         _record(gold=NORTH, pred={"name": "find_hotel", "arguments": {"area": "north"}})),
        ("no key for the dialogue (there are: turn, gold, pred) & hint: --keys id=KEY",
         json.dumps([{"turn": 0, "gold": NORTH, "pred": NORTH}])),
        ("no key for the dialogue & id=conv,turn=turn,gold=gold,pred=pred may be",
         json.dumps([{"conv": "MUL1", "turn": 0, "gold": NORTH, "pred": NORTH}])),
        ("item 0: no dialogue_id here", _record(gold={}, dialogue_id=None)),
        ("item 0: dialogue_id: a list is not an id", _record(gold={}, dialogue_id=[1])),
        ("item 0: turn: the turn is not a number & MUL1, turn the first & --keys turn=KEY",
         _record(gold={}, turn="the first")),
        ("item 0: gold: the text '{hotel-area: north}' is neither JSON nor",
         _record(gold="{hotel-area: north}", pred={})),
        ("item 0: pred: an object, where a value must be & turn 0, slot hotel-area & hint: a state is",
         _record(gold=NORTH, pred={"hotel": {"area": {"x": {}}}})),
    ],
    "score broken.csv": [
        ("line 2: 3 fields, where the header has 4", HEADER + "MUL1,0,{}\n"),
        ("line 2: 5 fields, where the header has 4", HEADER + "MUL1,0,{},{},x\n"),
        ("line 3: broken CSV", HEADER + 'MUL1,0,{},{}\nMUL1,1,"{},{}\n'),
        ("line 4: pred: the text 'nothing'", f"sep=,\n{HEADER}MUL1,0,{{}},{{}}\nMUL1,1,{{}},nothing\n"),
        ("names the column 'gold' twice", "dialogue_id,turn,gold,gold,pred\nMUL1,0,{},{},{}\n"),
        ("line 2: pred: the text 'nothing'", HEADER + "MUL1,0,{},nothing\n"),
        ("line 4: pred: the text 'no idea' is neither JSON", HEADER + 'MUL1,0,{},"{\n}"\nMUL1,1,{},no idea\n'),
        ("line 2: no turn here", HEADER + "MUL1,,{},{}\nMUL1,0,{},{}\n"),
        ("no dialogue in the file", HEADER),
        ("line 2: turn: the turn is not a number", HEADER + "MUL1,first,{},{}\n"),
        ("no known format", "a,b\n1,2\n"),
        ("1 gold turn without a prediction & dialogue MUL1, turn 1 & --missing wrong",
         "dialogue,turn,slot,gold,pred\nMUL1,0,hotel-area,north,north\nMUL1,1,hotel-area,north,\nMUL1,1,,,none\n"),
        ("line 2: a gold value without a slot", "dialogue,turn,slot,gold,pred\nMUL1,0,,north,\nMUL1,0,hotel-area,x,\n"),
    ],
    "correlate keen.jsonl --ratings broken.csv": [
        ("no column dialogue (its columns: dialog, rating)", "dialog,rating\nA,1\n"),
        ("no column rating", "dialogue,score\nA,1\n"),
        ("not a CSV file", ""),
        ("not a CSV file", "dialogue,rating\nA,1,2\n"),
        ("two columns rating", "dialogue,rating,rating\nA,1,2\n"),
        ("no rating in it", "dialogue,rating\n"),
        ("no rating in it", "dialogue,rating\nA,\n"),
        ("line 4: the rating 'good' is not a number (dialogue B)", "dialogue,rating\nA,1\n\nB,good\n"),
        ("line 2: the rating 'inf' is not a number", "dialogue,rating\nA,inf\n"),
        ("line 3: the rating '2,5' is not a number", 'dialogue,rating\nA,1\nB,"2,5"\n'),
        ("numbers with decimal commas and with points, such as '2,5' and '1.5'", "dialogue;rating\nA;1.5\nB;2,5\n"),
        ("line 2: the rating '1.234,5' is not a number", "dialogue;rating\nA;1.234,5\n"),
        ("row 2: the rating 'x' is not a number", 'note,dialogue,rating\n"a\nb",A,1\n,B,x\n'),
        ("line 2: the dialogue '' is empty", "dialogue,rating\n,1\n"),
        ("line 3: the run '' is empty", "run,dialogue,rating\na,A,1\n,A,1\n"),
        ("line 2: the turn '1.5' is not a whole number from 0 to 65535", "dialogue,turn,rating\nA,1.5,1\n"),
        ("line 2: the turn '-1' is not a whole number", "dialogue,turn,rating\nA,-1,1\n"),
        ("two ratings, in line 2 and line 4 (dialogue MUL0484)", "dialogue,rating\nmul0484.json,1\nA,1\nMUL0484,2\n"),
        ("two ratings, in line 2 and line 3 (dialogue A, turn 2)", "dialogue\trating\tturn\nA\t1\t2\nA\t1\t2\n"),
    ],
    "compare-metrics --table broken.csv": [
        ("line 2 has a value above 1 (a, JGA, 52.9)", "model,metric,value\na,JGA,52.9\n"),
        ("line 3: the value 'high' is not a number", "model,metric,value\na,JGA,.5\nb,JGA,high\n"),
        ("not a number", "model,metric,value\na,JGA,nan\n"),
        ("two scores for a, JGA, in line 2 and line 3", "model,metric,value\na,JGA,.5\na,JGA,.6\n"),
        ("line 2: the model '' is empty", "model,metric,value\n,JGA,.5\n"),
        ("no column model", "run,metric,value\na,JGA,.5\n"),
        ("no value in it", "model,metric,value\n"),
        ("not a CSV file", ""),
        ("not a CSV file", "model,metric,value\na,JGA,.5,7\n"),
        ("two columns value", "model,metric,value,value\na,JGA,.5,.6\n"),
        ("two columns value", "model,metric,value, value\na,JGA,.5,.6\n"),
    ],
    "score keen.jsonl --slot-map broken.csv": [
        ("'price' stands both for 'hotel-name' and for 'hotel-area'", "price,hotel-name\nprice,hotel-area\n"),
        ("'b' is both one of your slots and the other name of one", "a,b\nb,c\n"),
        ("3 columns, not two", "a,b,c\n"),
        ("1 column, not two", "a\n"),
        ("row 2 has an empty cell", "a,b\nc,\n"),
        ("the other name of 'a' is not a string", '{"a": ["b"]}'),
        ("not a JSON object", '["a"]'),
        ("not a CSV file", ""),
        ("a web page", "<html>"),
    ],
    "score broken.json --from state-lists": [
        ("the turn is not a number (dialogue mul1, turn a)", '{"mul1": {"a": {}}}'),
        ("3, where the states of a dialogue must be (dialogue mul1)", '{"mul1": 3}'),
        ("an object, where a value must be (dialogue mul1, turn 0, slot hotel-area",
         '{"mul1": [{"hotel-area": {"x": {}}}]}'),
        ("no JSON object of dialogues", "[]"),
        ("no dialogue in the file", "{}"),
    ],
    "score keen.jsonl --gold broken.json": [
        ("dialogue MUL7001.json, turn 0, slot hotel-area",
         formats.crosswoz().replace('{"area": "west"', '{"area": 3', 1)),
        ("dialogue MUL7001.json, turn 0, slot hotel-area",
         formats.risawoz().replace('"hotel-area": "west"', '"hotel-area": 3', 1)),
        ("dialogue 7001, turn 0", formats.simulated().replace('"value": "cheap"', '"value": 3', 1)),
        ("dialogue 7001, turn 0", formats.glad().replace('[["price range", "cheap"]]', '[["price range", 3]]', 1)),
    ],
    "score broken.json --from trippy": [  # which is read object by object
        ("not a JSON list", '{"slot_prediction_x": 1}'),
        ("item 1: expected an object", f'[{_TURN}, "x"]'),
        ("item 0: broken JSON: expected ',' or ']'", f"[{_TURN} {_TURN}]"),
        ("item 1: broken JSON", f"[{_TURN},]"),
        ("broken JSON: trailing characters", f"[{_TURN}] and more"),
        ("item 1: broken JSON: expected ':'", f'[{_TURN}, {_TURN[:-1]}, "b" 2}}]'),
        ("the key 'slot_prediction_x' twice", f'[{_TURN[:-1]}, "slot_prediction_x": "b"}}]'),
        ("not UTF-8: byte 0xff in line 1", f"[{_TURN}]".encode().replace(b'"a"', b'"\xff"', 1)),
        ("nested too deeply", f"[{_TURN[:-1]}, \"slot_prediction_y\": {'[' * 100_000}{']' * 100_000}}}]"),
        *(("the JSON ends too early", f"[{_TURN}, {_TURN}]"[:-cut]) for cut in (1, 2, 3, 20, 60, 100)),
        ("item 1: the guid & is not of the form", _trippy({"guid": ["test", "MUL1"]})),
        ("item 1: the guid & is not of the form", _trippy({"guid": ["test", "MUL1", "one"]})),
        ("item 1: expected a list, found 'test-MUL1-1'", _trippy({"guid": "test-MUL1-1"})),
        ("item 1: expected a string, found 3 (dialogue MUL1, turn 1, slot slot_pred",
         _trippy({"slot_prediction_x": 3})),
        ("item 1: not both & of y (dialogue MUL1, turn 1)", _trippy({"slot_prediction_y": "a"})),
    ],
}  # fmt: skip


def _few(text: str) -> str:
    return text.replace("-1", "-4").replace('"turn_num": 1', '"turn_num": 4')


def _good(wrong: int) -> str:
    turns: dict[str, Any] = {f"MUL{n}_0": [["hotel-area-east", "hotel-stars-4"]] * 2 for n in range(100)}
    return json.dumps(turns | {f"MUL{n}_0": [[], ["hotel-area-east"]] for n in range(wrong)})


#: What must be said of which contents, though they are scored; each has JGA .5 or what is written behind it.
NOTED: Final[list[tuple[str, str]]] = [
    ("nothing", formats.parlai().replace("eval_labels", "labels")),  # as where it was trained
    ("its gold may have been altered", formats.icdst()),
    ("2 pieces of text other than a slot and its value, left out",
     formats.simpletod().replace('"hotel name not mentioned"', '"<|endoftext|>", "hotel"')),
    ("was this run given the gold states?", _good(1)),  # .99
    ("nothing", _good(2)),  # .98
    ("3 turns & KAGE leaves out those", _few(formats.kage())),
    ("3 turns & sample of 3,000 validation", _few(formats.parlai())),
    ("1 turn & has the run finished?", json.dumps({"mul1": [{"bspn": "", "bspn_gen": "", "bspn_dict_gen": {}},
                                                           {"bspn": "", "bspn_gen": ""}]})),  # 1
    ("1 slot listed twice in a predicted state & slot hotel-area",
     json.dumps({"D_0": [["hotel-area-east", "hotel-area-west"], ["hotel-area-west"]]})),  # 1, as the last is kept
    ("2 predicted values had marks of tokens", formats.trippy()),
    # Records, of which all are right.
    ("nothing", _record(gold=NORTH, pred=NORTH, utterance="hi", history=["x"])),
    ("keys used: ID as dialogue, turn_idx as turn, gt as gold, predicted as pred",
     json.dumps([{"ID": "MUL1", "turn_idx": 0, "gt": NORTH, "predicted": NORTH}])),
    ("ground_truth as gold, predict as pred; not used: ground_truth_m24, predict_turn_label",
     _record(ground_truth=NORTH, ground_truth_m24=SOUTH, predict=NORTH, predict_turn_label={"hotel-area": "x"})),
    ("keys used: dialogue_id, turn, gold, pred; not used: state", _record(gold=NORTH, pred=NORTH, state=SOUTH)),
    ("keys used: dialogue_id, turn, state as gold, pred", _record(state=NORTH, pred=NORTH)),
    ("keys used: flag as dialogue and turn, gold, pred",
     json.dumps([{"flag": "MUL1.json-0", "gold": NORTH, "pred": NORTH}])),
    ("keys used: dialogue_id as dialogue and turn, gold, pred",
     json.dumps([{"dialogue_id": "MUL1_turn_0", "gold": NORTH, "pred": NORTH}])),
    ("keys used: gold, pred; dialogue and turn from the objects around the records",
     json.dumps([{"dialogue_id": "MUL1", "turns": [{"gold": NORTH, "pred": NORTH}]}])),
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("broken")
    small_corpus.write(home)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        yield home


@pytest.mark.parametrize(
    ("command", "at"), [(command, at) for command, contents in BROKEN.items() for at in range(len(contents))]
)
def test_a_broken_file_gets_one_message_that_says_where(command: str, at: int) -> None:
    said, content = BROKEN[command][at]
    (file,) = re.findall(r"broken\.\w+", command)
    Path(file).write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, err = run(*shlex.split(command))
    assert (code in (1, 2), out) == (True, "")
    (error,) = (line for line in err.splitlines() if line.startswith("error: "))
    assert file in error
    for part in said.split(" & "):
        assert part in err
    if not any(text in err for text in OF_OTHERS):
        again = sum(before == said for before, _ in BROKEN[command][:at])
        recorded.check("refusals", f"dstbench {command} # {said}{' again' * again}", err)


@pytest.mark.parametrize("at", range(len(NOTED)))
def test_what_is_odd_in_a_file_is_noted_beside_its_scores(at: int) -> None:
    said, content = NOTED[at]
    Path("noted.json").write_text(content, encoding="utf-8")
    code, out, err = run("score", "noted.json", "-m", "jga")
    assert code == 0, err
    assert ("note: " not in err) if said == "nothing" else all(part in err for part in said.split(" & "))
    again = sum(before == said for before, _ in NOTED[:at])
    recorded.check("screens", f"dstbench score noted.json # {said}{' again' * again}", out + err)
