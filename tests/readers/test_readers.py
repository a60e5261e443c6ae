"""Every native format, found by content and read to the same states; and what is said of files that are broken."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dstbench
from dstbench.readers import Source, find_format, read
from tests import formats
from tests.corpora import EXAMPLE

ALL = formats.WITH_BOTH | formats.ONLY_PRED | formats.ONLY_GOLD | formats.RESTAURANT | formats.MARKS


def test_values_are_kept_verbatim(here: Path) -> None:
    values = ["none", "", "  spaced ", "Ünïcode", "a-b-c", '"quoted"', "a|b", "tab\tinside"]
    states = [{"dialogue_id": "D", "turn": t, "gold": {"hotel-name": v}, "pred": {}} for t, v in enumerate(values)]
    assert dstbench.scan(states).collect()["gold"].to_list() == values
    Path("som.json").write_text(json.dumps({f"D_{t}": [[], [f"hotel-name-{v}"]] for t, v in enumerate(values)}))
    assert dstbench.scan("som.json").collect()["gold"].to_list() == values


@pytest.mark.parametrize("word", ["", "not mentioned", "未提及", "未提到", "没有提到"])
@pytest.mark.parametrize("is_list", [False, True])
def test_raw_multiwoz_leaves_a_slot_out_in_english_and_chinese(word: str, is_list: bool, here: Path) -> None:
    """Every slot stands in every turn; a perfect prediction is perfect however those that are absent are spelled."""
    document = json.loads(formats.multiwoz())
    absent = [word] if is_list else word
    for turn in next(iter(document.values()))["log"][1::2]:
        for parts in turn["metadata"].values():
            for part in (parts["semi"], parts["book"]):
                part |= {slot: absent for slot, value in part.items() if value in ("", "not mentioned")}
    Path("data.json").write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    run = [{"dialogue_id": t["dialogue_id"], "turn": t["turn"], "pred": t["gold"]} for t in EXAMPLE]
    rows = dstbench.score(run, gold="data.json", metrics="jga,aga,f1:avg=micro")
    assert rows["value"].to_list() == [1.0, 1.0, 1.0]
    held = dstbench.scan(run, gold="data.json").collect()
    assert held.filter(held["gold"] != held["pred"]).is_empty()


@pytest.mark.parametrize("form", [formats.star_tsv, formats.sumbt_tsv])
def test_a_tsv_may_end_in_a_turn_without_its_last_slots(form: Callable[[], str], here: Path) -> None:
    """Its columns are read one after the other, so that the last value is not of the last turn."""
    head, first, *_ = form().splitlines()
    names, fields = head.split("\t"), first.split("\t")
    slots = [number for number, name in enumerate(names) if "-" in name]
    lines = [head]
    for turn in range(40):
        listed = slots if turn < 39 else slots[:1]
        texts = [
            "north" if number in listed else "none" if number in slots else fields[number]
            for number in range(len(fields))
        ]
        lines.append("\t".join([fields[0], str(turn), *texts[2:]]))
    Path("gold.tsv").write_text("\n".join([*lines, ""]))
    gold = read(Source("gold.tsv")).gold
    assert gold is not None
    assert gold.turns.height == 40
    assert gold.cells.height == 39 * len(slots) + 1


def test_gold_that_may_have_been_altered_is_said_so(here: Path) -> None:
    Path("running_log.json").write_text(formats.icdst())
    with pytest.warns(dstbench.DstbenchWarning, match=r"running_log\.json: its gold may have been altered"):
        dstbench.score("running_log.json")


def test_generated_text_that_is_no_state_is_counted(here: Path) -> None:
    text = formats.simpletod().replace('"hotel name not mentioned"', '"<|endoftext|>", "hotel"')
    Path("p.json").write_text(text)
    with pytest.warns(
        dstbench.DstbenchWarning, match=r"p\.json: 2 pieces of text that are not a slot and its value, left out"
    ):
        assert dstbench.score("p.json", metrics="jga")["value"].item() == 0.5


def test_a_run_that_is_too_good_is_said_so(here: Path) -> None:
    turns = {f"MUL{n}_0": [["hotel-area-east", "hotel-stars-4"], ["hotel-stars-4", "hotel-area-east"]]
             for n in range(100)}  # fmt: skip
    for wrong, said in ((1, True), (2, False)):
        turns |= {f"MUL{n}_0": [[], ["hotel-area-east"]] for n in range(wrong)}
        Path("p.json").write_text(json.dumps(turns))
        assert any("was this run given the gold states?" in note for note in read("p.json").notes) == said
    Path("few.json").write_text(json.dumps({"MUL1_0": [[], []]}))
    assert not read("few.json").notes


@pytest.mark.parametrize(
    ("name", "said"), [("kage", "3 turns .*KAGE leaves out those"), ("parlai", "3 turns .*sample of 3,000 validation")]
)
def test_lost_turns_are_said_with_their_likely_cause(name: str, said: str, here: Path) -> None:
    text = formats.WITH_BOTH[name]()
    Path("p.json").write_text(text.replace("-1", "-4").replace('"turn_num": 1', '"turn_num": 4'))
    with pytest.warns(dstbench.DstbenchWarning) as caught:
        dstbench.score("p.json")
    assert re.search(said, "\n".join(str(warning.message) for warning in caught))


def test_turns_that_fnctod_has_not_reached_are_counted(here: Path) -> None:
    turns = [{"bspn": "", "bspn_gen": "", "bspn_dict_gen": {}}, {"bspn": "", "bspn_gen": ""}]
    Path("p.json").write_text(json.dumps({"mul1": turns}))
    found = next(note for note in read("p.json").notes if "has the run finished?" in note)
    assert found.startswith("p.json: 1 turn")


def test_a_slot_that_is_not_present_is_no_value_of_fnctods(here: Path) -> None:
    for name, values in (("fnctod", ["yes"]), ("pptod", ["not present", "yes"])):
        text = json.dumps({"bspn": "", "bspn_gen": "[hotel] name not present parking yes stars not mentioned"})
        Path("p.json").write_text('{"mul1": ' + (f"[{text}]" if name == "fnctod" else f'{{"0": {text}}}') + "}")
        states = read("p.json")
        assert states.format == name
        assert states.pred is not None
        assert states.pred.cells["value"].cast(str).to_list() == values


def test_parlais_gold_stands_under_labels_where_it_was_trained(here: Path) -> None:
    Path("p.jsonl").write_text(formats.parlai().replace("eval_labels", "labels"))
    assert dstbench.score("p.jsonl", metrics="jga")["value"].item() == 0.5


def test_a_byte_order_mark_is_no_content(here: Path) -> None:
    Path("p.json").write_bytes(b"\xef\xbb\xbf" + formats.gtpr().encode())
    assert dstbench.score("p.json", metrics="jga")["value"].item() == 0.5


def test_a_slot_listed_twice_with_two_values_is_reported(here: Path) -> None:
    Path("p.json").write_text(json.dumps({"D_0": [["hotel-area-east", "hotel-area-west"], ["hotel-area-west"]]}))
    with pytest.warns(dstbench.DstbenchWarning, match=r"p\.json: 1 pred states list a slot twice .* slot hotel-area"):
        rows = dstbench.score("p.json", metrics="jga")
    assert rows["value"].item() == 1  # the last is kept


def test_only_empty_lines_and_comments_of_a_tsv_are_passed_over(here: Path) -> None:
    for name in ("woz-tsv", "star-tsv"):
        Path("gold.tsv").write_text(ALL[name]() + "# a comment\n\r\n\n")
        found = read("gold.tsv").gold
        assert found is not None
        assert found.turns.height == 2
        Path("gold.tsv").write_text(ALL[name]() + "\t" * 6 + "\n")
        with pytest.raises(dstbench.DstbenchError, match=r"gold\.tsv"):
            read("gold.tsv")


def test_several_files_are_one_run(here: Path) -> None:
    first, second = EXAMPLE
    Path("a.jsonl").write_text(json.dumps(first))
    Path("b.jsonl").write_text(json.dumps(second))
    (run,) = dstbench.open_runs({"both": [Path("a.jsonl"), Path("b.jsonl")]})
    assert run.meta["files"] == ["a.jsonl", "b.jsonl"]
    assert run.table.collect().equals(dstbench.scan(EXAMPLE).drop("run").collect())
    with pytest.raises(dstbench.DstbenchError, match="the same turn in two files"):
        dstbench.open_runs({"twice": [Path("a.jsonl"), Path("a.jsonl")]})


def _gtpr(**turn: Any) -> str:
    return json.dumps({"MUL1.json": {"0": {"gt": {}, "pr": {}}, "1": {"gt": {}, "pr": {}} | turn}})


def _line(**turn: Any) -> str:
    return json.dumps({"dialogue_id": "MUL1", "turn": 0, "gold": {}, "pred": {}} | turn) + "\n"


#: A broken file's content, and what must be said of it.
BROKEN: dict[str, tuple[str | bytes, list[str]]] = {
    "empty": ("", ["the file is empty"]),
    "cut off": (formats.gtpr()[:-40], ["the JSON ends too early", "hint: the file is cut off"]),
    "broken JSON": (formats.gtpr().replace(":", ";", 1), ["broken JSON", "byte"]),
    "trailing text": (formats.gtpr() + " and more", ["broken JSON: trailing characters"]),
    "no text": (b'{"MUL1.json": {"0": {"gt": {"hotel": {"name": "caf\xe9"}}, "pr": {}}}}', ["not UTF-8", "0xe9"]),
    "no text in TSV": (formats.star_tsv().encode().replace(b"cheap hotel", b"\xff"), ["not UTF-8", "line 2"]),
    "deep": ("[" * 100_000 + "]" * 100_000, ["nested too deeply"]),
    "no dialogue": ("{}", ["no known format: an empty JSON object"]),
    "plain text": ("JGA 54.2\n", ["no known format", "JGA 54.2", "`format`"]),
    "wrong slots only": (
        json.dumps(
            {f"{formats.ID}.json_0": {}, f"{formats.ID}.json_1": {"hotel-area": {"pred": "east", "gt": "west"}}}
        ),
        ["wrong slots only", "turn 0", "hint: ", "preds_full"],
    ),
    "labels without predictions": (formats.dstc10(), ["only with the gold states (dstc10)"]),
    "a DSTC10 value": (
        formats.dstc10().replace('["ely"]', '"ely"'),
        ["expected a list", "dialogue 1, slot train-destination"],
    ),
    "an LDST value": (formats.ldst().replace("['west']", "west", 1), ["line 4: the value 'west'", "turn 0"]),
    "an LDST turn": (
        formats.ldst().replace("|||2|||", "|||two|||", 1),
        ["line 31: the turn is not a number", "turn two"],
    ),
    "other slots in a dump": (formats.savn().replace('["', '["hotel-x", "', 1), ["30 values for 31 slots", "turn 0"]),
    "TripPy's configuration": (
        json.dumps({"dataset_name": "x", "class_types": ["none"], "slots": [], "label_maps": {}}),
        ["TripPy's configuration, not its predictions", "hint: ", "pred_res.*.json", "`labels`"],
    ),
    "packed twice": (gzip.compress(gzip.compress(b"{}")), ["packed (", "hint: unpack it first"]),
    "other objects": (
        json.dumps({"version": 2, "a": "b"}),
        ["no known format: a JSON object with the keys version, a"],
    ),
    "other lines": ('{"a": 1}\n{"a": 2}\n', ["no known format: JSON Lines whose objects have the keys a"]),
    "a list for an object": (_gtpr(pr=["hotel-area-north"]), ["expected an object", "dialogue MUL1.json, turn 1"]),
    "a list for a dialogue": (
        json.dumps({"A": {"0": {"gt": {}, "pr": {}}}, "B": [1, 2]}),
        ["expected an object", "found [1, 2]", "dialogue B"],
    ),
    "a number for a value": (
        json.dumps([{"dial_id": "MUL1.json", "turns": [{"state": {"slot_values": {"hotel-stars": 4}}}]}]),
        ["expected a string, found 4", "dialogue MUL1.json, turn 0, slot hotel-stars"],
    ),
    "no gold in a turn": (
        json.dumps({"MUL1.json": {"0": {"gt": {}, "pr": {}}, "1": {"pr": {}}}}),
        ["no gt here", "dialogue MUL1.json, turn 1"],
    ),
    "no gold at all": (json.dumps({"dialogue_id": "D", "turn": 0, "pred": {}}), ["no gold inside (jsonl)", "`gold`"]),
    "neither": (
        json.dumps({"dialogue_id": "D", "turn": 0, "perdiction": {}}),  # misspelt
        ["neither gold nor pred; unknown keys: perdiction", "`keys` gold=KEY,pred=KEY"],  # misspelt
    ),
    "a line's value": (
        _line(gold={"hotel": {"stars": {"4": "5"}}}),
        ["line 1: gold: an object, where a value must be", "dialogue MUL1, turn 0, slot hotel-stars"],
    ),
    "a line's turn": (_line(turn="first"), ["line 1: turn: the turn is not a number", "turn first"]),
    "the same turn under two spellings": (
        _line(dialogue_id="mul1.json") + _line(),
        ["the same turn twice", "dialogue MUL1, turn 0"],
    ),
    "the same turn in one object": (
        '{"MUL1.json": {"0": {"gt": {}, "pr": {}}, "0": {"gt": {}, "pr": {}}}}',
        ["the key '0' twice"],
    ),
    "a turn that is no number": (
        json.dumps({"MUL1.json": {"first": {"gt": {}, "pr": {}}}}),
        ["the turn is not a number", "dialogue MUL1.json, turn first"],
    ),
    "a turn beyond any integer": (_line() + _line(turn=10**20), ["the turn is not a number from 0", "turn 1000000"]),
    "a TSV with a column twice": (formats.star_tsv().replace("hotel-area", "hotel-name", 1), ["names a column twice"]),
    "UTF-16": (formats.gtpr().encode("utf-16"), ["it looks like UTF-16, where UTF-8 text is expected"]),
    "other turns in a SimpleTOD dialogue": (
        json.dumps({"D": {"target_turn_belief": [[]], "generated_turn_belief": []}}),
        ["no generated_turn_belief here", "dialogue D, turn 0"],
    ),
    "a ParlAI line without its turn": (
        formats.parlai().replace('"turn_num"', '"turn"', 1),
        ["line 1: no turn_num here"],
    ),
    "a CheckDST id": (formats.checkdst().replace("mul7001-1", "mul7001"), ["line 2: the dial_id 'mul7001' is not"]),
    "two gold states": (
        formats.parlai().replace('"eval_labels": [', '"eval_labels": ["", '),
        ["line 1: 2 gold states, where there must be one", "dialogue mul7001.json, turn 0"],
    ),
    "a STAR slot": (
        re.sub(r'("hotel-area": )[{][^}]*[}]', r'\1"west"', formats.star(), count=1),
        ["expected an object, found 'west'", "dialogue MUL7001.json, turn 0, slot hotel-area"],
    ),
    "a TSV column that is no slot": (
        formats.star_tsv().replace("hotel-area", "hotel area", 1),
        ["the header has columns that are not slots: hotel area"],
    ),
    "a STAR key": (formats.star().replace("json_1", "json"), ["'MUL7001.json' is not of the form"]),
    "a turn too large": (
        json.dumps({"D_0": [[], []], "D_65536": [[], []]}),
        ["the turn is not a number from 0 to 65535", "turn 65536"],
    ),
    "a pair that is none": (json.dumps({"D_0": [["hotel"], []]}), ["'hotel' is not of the form", "dialogue D, turn 0"]),
    "one list of two": (
        json.dumps({"D_0": [[], []], "D_1": [[]]}),
        ["expected a list with an item 1", "dialogue D, turn 1"],
    ),
    "no predicted list": (
        json.dumps({"D": {"0": {"turn_belief": [], "pred_bs_ptr": []}, "1": {"turn_belief": []}}}),
        ["one pred_bs_* list", "dialogue D, turn 1"],
    ),
    "responses only": (json.dumps({"mul1": [{"response": "hello"}]}), ["no turn has a state"]),
    "a ragged TSV": (formats.star_tsv()[:-60], ["line 3 has", "fields", "cut off"]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_gets_one_message_that_says_where(name: str, here: Path) -> None:
    content, said = BROKEN[name]
    Path("p.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(dstbench.DstbenchError) as caught:
        dstbench.score("p.json")
    message = str(caught.value)
    assert message.startswith("p.json: ")
    for part in said:
        assert part in message


def test_escapes_are_no_repeated_keys(here: Path) -> None:
    """The quick check for lost keys may suspect a file that only spells things otherwise; it must not be refused."""
    Path("p.json").write_text('{"MUL1.json": {"0": {"gt": {"hotel": {"name": "caf\\u00e9"}}, "pr": {}, "x": 1.0}}}')
    assert dstbench.score("p.json", metrics="jga")["value"].item() == 0


def test_a_missing_file(here: Path) -> None:
    Path("near.json").write_text(formats.gtpr())
    with pytest.raises(dstbench.DstbenchError, match=r"no such file\nhint: in that folder: near\.json"):
        dstbench.score("neer.json")


def test_a_name_that_no_file_can_have(here: Path) -> None:
    with pytest.raises(dstbench.DstbenchError, match="x: cannot be read: File name too long"):
        dstbench.score("x" * 300)


def test_an_unknown_format_is_a_usage_error() -> None:
    with pytest.raises(dstbench.UsageError, match="there is no format 'gtp'\nhint: did you mean gtpr"):
        find_format(Source("any"), "gtp")


@pytest.mark.filterwarnings("ignore:.*is MultiWOZ's:dstbench.errors.DstbenchWarning")
def test_marks_of_right_slots_give_what_can_be_had(here: Path) -> None:
    Path("trippy_result.json").write_text(formats.fga_trippy())
    with pytest.warns(dstbench.DstbenchWarning, match=r"only jga, sa:T=30 and fga can be computed"):
        rows = dstbench.score("trippy_result.json")
    assert dict(zip(rows["metric"], rows["value"], strict=True)) == {"jga": 0.5, "sa:T=30": 59 / 60, "fga": 0.5}
    for metric in ("aga", "sa", "gca"):
        with (
            pytest.warns(dstbench.DstbenchWarning),
            pytest.raises(dstbench.UsageError, match=rf"{metric} cannot be computed from it\nhint: -m jga,sa:T=30,fga"),
        ):
            dstbench.score("trippy_result.json", metrics=f"jga,{metric}")
    with pytest.warns(dstbench.DstbenchWarning):
        dstbench.write_long(dstbench.open_runs("trippy_result.json")[0], "run.parquet")
    assert dstbench.score("run.parquet")["value"].to_list() == [0.5, 59 / 60, 0.5]  # the table knows it, too
    Path("trippy_result.json").write_text('{"D": {"0": [1, 1], "1": [1]}}')
    with pytest.raises(dstbench.DstbenchError, match="not 2 marks of 0 and 1"):
        dstbench.score("trippy_result.json")
