"""Rare situations: odd files, notes, sentences, refusals, options together, boundaries and forms for Python only.

Each has small files of its own and a command line, or a call of a public function; what is said is recorded in
`recorded/rare.txt`. A situation in which a fault was found is not here before the fault is mended.
"""

from __future__ import annotations

import copy
import gzip
import json
import os
import re
import shlex
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable, ItemsView, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
import pytest

import dstbench
from dstbench import audit, stats
from dstbench.metrics.base import turns as turns_of
from tests.contract import recorded, small_corpus
from tests.contract.commands import run
from tests.contract.test_refusals import OF_OTHERS


class Situation(NamedTuple):
    """What is asked, and the files that are there then."""

    ask: str | Callable[[], Any]
    files: dict[str, str]


def on(ask: str | Callable[[], Any], **files: str) -> Situation:
    """A situation; `a_json` is a file `a.json`, `b__a_json` one in a folder `b`."""
    return Situation(ask, {".".join(key.replace("__", "/").rsplit("_", 1)): text for key, text in files.items()})


def score(*records: Any, options: str = "-m jga") -> Situation:
    """Records, or texts in their place, in a file of JSON Lines that is scored."""
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    return Situation(f"score odd.jsonl {options}", {"odd.jsonl": "\n".join(lines)})


def whole(document: Any, options: str = "-m jga") -> Situation:
    """A document of JSON, or its text, that is scored; gold may be `one.jsonl`."""
    text = document if isinstance(document, str) else json.dumps(document)
    return Situation(f"score p.json {options}", {"p.json": text})


def turn(pred: Any, gold: Any = None, number: Any = 0, dialogue: Any = "D1", **more: Any) -> dict[str, Any]:
    """The record of a turn."""
    return {"dialogue_id": dialogue, "turn": number, "gold": NORTH if gold is None else gold, "pred": pred, **more}


def _state(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split(";") if pair)


def turns(text: str) -> str:
    """JSON Lines of turns: `dialogue turn gold > pred, …`; without `>`, there is no prediction."""
    lines = []
    for part in text.split(", "):
        said, arrow, pred = part.partition(" >")
        dialogue, number, *gold = said.split(" ", 2)
        record = {"dialogue_id": dialogue, "turn": int(number), "gold": _state("".join(gold))}
        lines.append(json.dumps(record | ({"pred": _state(pred.strip())} if arrow else {})))
    return "\n".join(lines)


def said(*rows: tuple[str, int, str, dict[str, str]]) -> str:
    """JSON Lines of turns with what the user says and gold."""
    return "\n".join(
        json.dumps({"dialogue_id": dialogue, "turn": number, "gold": gold, "user": user, "system": ""})
        for dialogue, number, user, gold in rows
    )


NORTH: Final = {"hotel-area": "north"}
TWO_SLOTS: Final = {"hotel-area": "north", "hotel-stars": "4"}
#: Two turns in memory: one right, one without a prediction of the slot.
STATES: Final = [turn(NORTH), turn({}, number=1)]
LONG: Final = pl.DataFrame(
    {"dialogue": ["D", "D"], "turn": [0, 1], "slot": ["hotel-area"] * 2, "gold": ["north"] * 2, "pred": ["north", None]}
)
#: Files that are there if a command line names them.
SHARED: Final = {
    "one.jsonl": turns("D1 0 hotel-area=north > hotel-area=south, D1 1 hotel-area=north > hotel-area=north"),
    "two.jsonl": turns(
        "D1 0 hotel-area=north > hotel-area=north, D1 1 hotel-area=north;hotel-stars=4 > hotel-area=north, "
        "D2 0 train-day=monday > train-day=friday, D2 1 train-day=monday > train-day=monday"
    ),
    "rival.jsonl": turns(
        "D1 0 hotel-area=north > hotel-area=east, D1 1 hotel-area=north;hotel-stars=4 > "
        "hotel-area=north;hotel-stars=4, D2 0 train-day=monday > train-day=monday, "
        "D2 1 train-day=monday > train-day=monday"
    ),
    "gold.jsonl": turns("D1 0 hotel-area=north, D1 1 hotel-area=north;hotel-stars=4, D2 0 train-day=monday"),
    "said.jsonl": said(
        ("D1", 0, "a hotel in the north", NORTH),
        ("D1", 1, "the sea lodge", NORTH | {"hotel-name": "sea lodge"}),
        ("D2", 0, "a hotel in the south", {}),
    ),
    "train.jsonl": said(*((name, 0, name, {"hotel-name": name}) for name in ("red inn", "old mill"))),
}
TWO, RIVAL = SHARED["two.jsonl"], SHARED["rival.jsonl"]
TSV: Final = "# Dialogue ID\tTurn Index\tUser Utterance\tSystem Response\thotel-area"
NULL: Final = '{{"dialogue_id": "D1", "turn": 0, "gold": {}, "pred": {}}}'
LDST: Final = "dialogues_001.json|||{}|||{}|||4|||hotel|||area|||{}"
SGD: Final = json.dumps([{
    "dialogue_id": "A", "turns": [{"speaker": "USER", "utterance": "u", "frames": [
        {"service": "hotel", "state": {"slot_values": {"hotel-area": ["north"]}}}]}]}])  # fmt: skip
MARKS: Final = {"D1.json": {"0": [1, 1, 0], "1": [1, 1, 1]}}
SIGNATURE: Final = "jga|profile:verbatim.1|missing:error|by:run|gold:2c5dccb1|d:2|t:4|v:0.1.0"
ROW: Final = """[[format]]
name = "mine"
path = "[dialogue=dial] turns [turn]"
gold = "state:flat"
pred = "guess:flat"
"""
ROWS_FILE: Final = json.dumps([{"dial": "D1", "turns": [{"state": NORTH, "guess": NORTH}]}])
SHEET: Final = "row,group,of,dialogue,turn,slot,value,right,missed\n"
FILLED: Final = SHEET + "\n".join((
    "dialogue,changed,4,D1,,,,,0", "addition,changed,4,D1,0,hotel-area,north,yes,",
    "dialogue,changed,4,D2,,,,,1", "addition,changed,4,D2,0,hotel-area,north,no,",
    "dialogue,unchanged,6,D3,,,,,0", "dialogue,unchanged,6,D4,,,,,1"))  # fmt: skip
DATASETS: Final = {
    "g.jsonl": said(("D1", 0, "u", NORTH), ("D2", 0, "v", {})),
    "g.tsv": f"{TSV}\nD1\t0\tu\t\tnorth\nD2\t0\tv\t\tnone\n",
    "g.json": json.dumps([
        {"dialogue_idx": name, "dialogue": [{"turn_idx": 0, "transcript": "u", "system_transcript": "",
         "belief_state": [{"slots": [*pairs], "act": "inform"}] if pairs else [], "turn_label": pairs}]}
        for name, pairs in (("D1", [["hotel-area", "north"]]), ("D2", []))]),
    "data.json": json.dumps({
        name: {"log": [{"text": "u", "metadata": {}},
                       {"text": "s", "metadata": {"hotel": {"semi": {"area": area}, "book": {"booked": []}}}}]}
        for name, area in (("D1", "north"), ("D2", "not mentioned"))}),
}  # fmt: skip
#: Runs of three models, of which the new one is right in most turns.
SEEDS: Final = {
    f"{model}{run}.jsonl": "\n".join(json.dumps(turn(NORTH if (d * run + n) % of else {}, NORTH, n, f"D{d}"))
                                    for d in range(20) for n in range(2))
    for model, of in (("old", 3), ("new", 19), ("mid", 7)) for run in (1, 2, 3)}  # fmt: skip
MODELS: Final = "--model old=old* --model new=new* --model mid=mid*"
EDIT: Final = {"dialogue": ["D1"], "turn": [0], "slot": ["hotel-area"], "value": ["south"]}


def unified(*rows: tuple[str, str, str]) -> str:
    """A dataset in ConvLab-3's layout: ids, original ids, splits."""
    said = [{"speaker": "user", "utt_idx": 0, "state": {"hotel": {"area": "north"}}}]
    keys = ("dialogue_id", "original_id", "data_split")
    return json.dumps([{**dict(zip(keys, row, strict=True)), "turns": said} for row in rows])


def rewritten(name: str, **edits: Any) -> Situation:
    """A dataset that is written again with edits."""

    def call() -> str:
        Path("out").mkdir()
        edited: dict[str, Any] = {
            key: pl.DataFrame(value) if isinstance(value, dict) else value for key, value in edits.items()
        }
        audit.rewrite(name, f"out/{name}", **edited)
        return Path(f"out/{name}").read_text("utf-8")

    return Situation(call, {name: DATASETS[name]})


def own(**parts: Any) -> Situation:
    """A score under a metric of the user's, of which some parts are odd."""

    class Own(dstbench.Metric):
        name = parts.get("name", "mine")

        def stats(self) -> Any:
            right = parts.get("right", pl.col("n_correct"))
            return right() if callable(right) else {"right": right, "turns": turns_of()}

        def counts(self) -> Any:
            return parts.get("counts", {})

        def score(self, sums: Any) -> Any:
            return sums[parts.get("of", "right")] / sums["turns"]

        def __str__(self) -> str:
            return str(self.name)

    Own.__module__, Own.__qualname__ = "mine", "Own"
    return on(lambda: dstbench.score(STATES, metrics=[Own()]).to_dict())


def evaluated(*calls: tuple[Any, ...], **options: Any) -> Situation:
    """Calls of an evaluator's methods, one after the other; the last one's result."""
    gold = [
        {"dialogue_id": name, "turn": number, "gold": NORTH} for name, number in (("D", 0), ("D", 1), ("MUL0002", 0))
    ]

    def call() -> Any:
        evaluator, result = dstbench.Evaluator(gold, **{"metrics": "jga"} | options), None
        for name, *arguments in calls:
            result = getattr(evaluator, name)(*arguments)
        return getattr(result, "totals", result)

    return on(call)


def merged(**options: Any) -> Situation:
    """Two evaluators, of which the second has these options, put together."""
    gold = [{"dialogue_id": "D", "turn": number, "gold": NORTH} for number in range(2)]

    def call() -> Any:
        one, other = (dstbench.Evaluator(**{"gold": gold, "metrics": "jga"} | more) for more in ({}, options))
        one.add("D", 0, NORTH)
        other.add("D", 1, {})
        one.merge(other)
        return one.compute()

    return on(call)


def scored(data: Any, **options: Any) -> Situation:
    """Data in memory, scored by JGA if no other metric is named."""
    return on(lambda: dstbench.score(data, **{"metrics": "jga"} | options).to_dict())


def asked(function: Callable[..., Any], *arguments: Any, **options: Any) -> Situation:
    """A call of a public function."""
    return on(lambda: function(*arguments, **options))


def in_notebook(ask: Callable[[], Any]) -> Situation:
    """What a notebook shows of a result."""
    return on(lambda: recorded.text_of(ask()._repr_html_()))


def value_of(by: str, metric: str, group: dict[str, Any]) -> Any:
    """One of the scores of the turns in memory."""
    return dstbench.score(STATES, metrics="jga,f1", by=by).value(metric, **group)


def zipped(**files: str) -> Situation:
    """A zip that is scored."""

    def call() -> str:
        with zipfile.ZipFile("x.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return "".join(run("score", "x.zip", "-m", "jga")[1:])

    return on(call)


def tabled(frame: pl.DataFrame) -> Situation:
    """A Parquet file, not written by dstbench, that is scored."""
    return on(lambda: (frame.write_parquet("x.parquet"), "".join(run("score", "x.parquet", "-m", "jga")[1:]))[1])


def of_bytes(name: str, content: bytes) -> Situation:
    """A file that is no text, scored."""
    return on(lambda: (Path(name).write_bytes(content), "".join(run("score", name, "-m", "jga")[1:]))[1])


def lines24(form: str) -> str:
    """A line for each dialogue of the small corpus: its number, two ratings, and a mark of the last two."""
    return "".join(form.format(n, n * 7 % 5, n * 3 % 5, "_" * (n > 21)) for n in range(24))


def each(cases: dict[str, Any]) -> ItemsView[str, Any]:
    """Names, each with what is particular."""
    return cases.items()


def paper(runs: str, **files: str) -> Situation:
    """The methods text of a paper."""
    return on(f"report {runs} --paper -o paper && cat paper/methods.tex", **files)


def alike(*models: tuple[str, Sequence[int]]) -> dict[str, str]:
    """Three runs of each model, with as many wrong dialogues: one each, and those that are named."""
    return {
        f"{model}{run}.jsonl": turns(
            ", ".join(f"D{d} 0 hotel-area=a > {'' if d in (run, *wrong) else 'hotel-area=a'}" for d in range(4))
        )
        for model, wrong in models
        for run in range(3)
    }


def agreed(*sheets: str) -> Situation:
    """Filled sheets, reviewed together."""
    names = [f"reader{number}.csv" for number in range(1, len(sheets) + 1)]
    return Situation(f"audit review {' '.join(names)}", dict(zip(names, sheets, strict=True)))


SITUATIONS: Final[dict[str, Situation]] = {
    # --- Records: their keys, ids and turns
    **{f"a record whose {key} is null": score(turn(NORTH), turn({}) | {key: None}) for key in ("dialogue_id", "turn")},
    "records under two keys": whole({"old": [turn(NORTH)], "new": [turn({}, dialogue="D2")]}),
    "JSON that is nested too deeply": whole("[" * 10**5),
    "keys that say nothing": score({"dialogue_id": "D1", "turn": 0, "alpha": NORTH, "beta": NORTH}),
    "two keys of predictions": score(turn(NORTH, prediction=NORTH)),
    "two keys of turns": score(turn({}, turn_id=3), turn({}, number=1, turn_id=4)),
    "ids and turns with a point": score(turn(NORTH, dialogue=3.0, number=0.0), turn({}, dialogue=3.0, number=1.0)),
    "a turn that is a half": score(turn(NORTH, number=0.5)),
    "predictions that are all null": score(NULL.format("{}", "null")),
    "gold that is all null": score(NULL.format("null", "{}")),
    **{f"turn {n}": score(turn(NORTH, number=n)) for n in (-1, 65535, 65536, 10**23)},
    "no turn numbers, a dialogue": score(*({"dialogue_id": "D1", "gold": NORTH, "pred": pred} for pred in (NORTH, {}))),
    "ids that do not count turns": score(*({"id": f"x-{n}", "gold": NORTH, "pred": NORTH} for n in (1, 3))),
    "ids that end in turns": score(*({"id": name, "gold": NORTH, "pred": NORTH} for name in ("x-0", "x-1", "y-0"))),
    "other numbers of states": score({"dialogue_id": "D1", "gold": [NORTH, NORTH], "pred": [NORTH]}),
    "rows of slots without turns": on("score odd.csv", odd_csv="dialogue_id,slot,gold,pred\nD1,hotel-area,a,a\n"),
    "a record whose id is true": score(turn(NORTH, dialogue=True)),
    "records of dialogues, with lists of states": score(*(
        {"dialogue_id": name, "gold": [NORTH, NORTH], "pred": [NORTH, {}]} for name in ("D1", "D2"))),
    **{f"no records, {name}": whole(document) for name, document in {
        "numbers": {"foo": {"bar": 1, "baz": 2}}, "states and a number": {"D1": [{"hotel": {"area": "north"}}, {}],
        "D2": 3}}.items()},
    "two keys for either side": score({"dialogue_id": "D1", "turn": 0, "state": NORTH, "belief_state": NORTH}),
    # --- States: their forms, and what is noted of them
    "a value 2**53 - 1": score(turn({"hotel-stars": 2**53 - 1}, {"hotel-stars": str(2**53 - 1)})),
    "a value 2**53": score(turn({"hotel-stars": 2**53}, {"hotel-stars": str(2**53)})),
    "a value that is an object": score(turn({"hotel-area": {"x": {"y": "z"}}})),
    "a state that is null": score(turn(None), turn(NORTH, number=1)),
    "a function call": score(turn({"name": "find_hotel", "arguments": {"area": "north"}})),
    "a function call per domain": score(turn([{"name": "hotel", "arguments": {"area": "north"}}])),
    "a state in the words of a text": score(turn('The state is: {"hotel-area": "north"} as asked.')),
    **{f"unreadable states, {how}": score(turn("hm"), turn('hm {["a"]} .', number=1), turn(NORTH, number=2),
        options=f"-m jga,f1 --unreadable {how}") for how in ("error", "empty", "wrong")},
    **{f"a state as {name}": score(turn(pred, TWO_SLOTS)) for name, pred in {
        "text with =": "hotel-area=north, hotel-stars=4", "text with :": "hotel-area: north; hotel-stars: 4",
        "text in words": "hotel area north, hotel stars 4", "pairs": [["hotel-area", "north"], ["hotel-stars", "4"]],
        "triples": [["hotel", "area", "north"], ["hotel", "stars", "4"]],
        "TRADE's slots": [{"slots": [["hotel-area", "north"]], "act": "inform"},
        {"slots": [["hotel-stars", "4"]], "act": "request"}],
        "objects": [{"domain": "hotel", "slot": "area", "value": "north"}],
        "odd objects": [{"domain": "hotel", "x": "y"}],}.items()},
    "a slot that is a number": scored([turn({3: "x"})]),
    "lists written as text, of two runs": on("score a.jsonl b.jsonl -m jga",
        a_jsonl=json.dumps(turn({"hotel-area": "['north']"})), b_jsonl=json.dumps(turn({"hotel-area": "['east']"}))),
    # --- Options of reading
    "a slot map with a number for a name": on("score one.jsonl --slot-map m.json", m_json='{"hotel-area": 3}'),
    "a field that keys do not have": scored(STATES, keys={"golden": "gold"}),
    **{f"--keys {keys}": on(f"score one.jsonl --keys {keys}") for keys in (
        "pred=", "pred=a,pred=b", "id=a,dialogue=b", "gold=a,pred=a")},
    "a map with a number": scored(STATES, slot_map={"a": 3}),
    **{f"a slot map, {name}": on("score one.jsonl --slot-map map.csv", map_csv=text) for name, text in {
        "two meanings": "hotel-area,hotel-zone\nhotel-area,hotel-place\n", "one column": "hotel-area\n",
        "three columns": "hotel-area,hotel-zone,x\n", "an empty cell": "hotel-area,\n",}.items()},
    "a slot map of gold, too": on("score p.jsonl --gold g.jsonl --slot-map map.csv", map_csv="hotel-zone,hotel-area\n",
        p_jsonl=turns("D1 0 > hotel-zone=north"), g_jsonl=turns("D1 0 hotel-zone=north")),
    "a slot map that joins two slots": on("score two.jsonl --slot-map map.csv", map_csv="hotel-area,hotel-stars\n"),
    "keys, format, unreadable and missing together": on(
        "score p.jsonl --gold two.jsonl --from records --unreadable wrong --missing wrong -m jga --keys pred=out",
        p_jsonl=json.dumps({"dialogue_id": "D1", "turn": 0, "out": "hm"})),
    **{f"turns {name}": on(f"score p.jsonl --gold two.jsonl -m jga {options}",
    p_jsonl=turns(f"D1 {a} > hotel-area=north, D1 {b} > , D2 {a} > , D2 {b} > ")) for name, a, b, options in (
        ("from 1", 1, 2, ""), ("from 1, as said", 1, 2, "--turns-from 1"), ("in steps", 0, 2, ""),
        ("in steps, as said", 0, 2, "--turn-step 2"), ("from 1 in steps", 1, 3, "--turns-from 1 --turn-step 2"),
        ("below the first", 1, 2, "--turns-from 2"), ("from 7", 7, 8, ""), ("between steps", 0, 1, "--turn-step 2"))},
    **{f"the gold of {gold} for {runs}": on(f"score {runs} --gold {gold} -m jga --missing intersect")
       for runs, gold in (("two.jsonl", "two.jsonl"), ("two.jsonl rival.jsonl", "gold.jsonl"))},
    # --- Formats
    "SAVN's dump with too few values": whole({"slots": ["hotel-area", "hotel-name", "hotel-stars"], "predictions": {
        "D1": {"0": ["north", "none"]}}}, "--gold one.jsonl"),
    "a guid with a number": whole([{"guid": ["test", 3, "0"], "slot_prediction_a-b": "c"}], "--from trippy"),
    "responses without states": whole({"d1": [{"response": "a"}]}, "--gold one.jsonl"),
    **{f"SUMBT's lines, {name}": on("score one.jsonl -m jga --gold g.tsv", g_tsv=text) for name, text in {
        "as they are": f"{TSV}\nD1\t0\ta\tb\tnorth\n\nD1\t1\ta\tb\tnorth\n", "one cut off": f"{TSV}\nD1\t0\ta\tb\n",
        "a column twice": f"{TSV}\thotel-area\nD1\t0\ta\tb\tn\tn\n", "none": f"{TSV}\n",
        "an odd column": f"{TSV}\tmood\thotel-stars\nD1\t0\ta\tb\tnorth\tx\t4\n",}.items()},
    **{f"LDST's lines, {name}": on("score p.txt -m jga --gold one.jsonl", p_txt=text) for name, text in {
        "a value without brackets": LDST.format(0, 0, "north"), "no turn": LDST.format(0, "x", "['north']"),
        "too few parts": LDST.format(0, 0, "['north']") + "\na|||b", "by place": LDST.format(0, 0, "['north']"),
        "by ids": LDST.format("D1", 0, "['north']") + "\n" + LDST.format("D1", 2, "['south', 'north']"),}.items()},
    "STAR's wrong slots only": whole({"D1_0": {"hotel-area": {"pred": "north", "gt": "south"}}}, ""),
    **{f"TRADE's turns, {name}": whole({"D1.json": of}, options) for name, of, options in (
        ("a number", {"0": {"turn_belief": [3], "pred_bs_ptr": []}}, ""),
        ("a text without slot", {"0": {"turn_belief": ["hotel-area-north"], "pred_bs_ptr": ["north"]}}, ""),
        ("the same, as wrong", {"0": {"turn_belief": ["hotel-area-north"], "pred_bs_ptr": ["north"]}},
        "-m jga --unreadable wrong"),
        ("no prediction", {"0": {"turn_belief": [], "pred_bs_ptr": []}, "1": {"turn_belief": []}}, ""))},
    "predictions without ids": whole([{"hotel": {"semi": {"area": [of]}, "book": {}}} for of in ("north", "east")],
        "--gold one.jsonl -m jga"),
    **{f"TripPy's file, {name}": whole(of, "--from trippy") for name, of in {
        "one side": [{"guid": ["test", "D1", "0"], "slot_prediction_hotel-area": "north"}],
        "a short guid": [{"guid": ["test", "0"], "slot_prediction_a-b": "c", "slot_groundtruth_a-b": "c"}],
        "no guid": [{"slot_prediction_hotel-area": "a", "slot_groundtruth_hotel-area": "a"}],
        "no list": {"a": 1}}.items()},
    "MultiWOZ's turns without metadata": on("score p.jsonl -m jga --gold data.json",
        p_jsonl=turns("MUL0001 0 > , MUL0001 1 > "),
        data_json=json.dumps({"MUL0001.json": {"log": [{"metadata": {}}] * 4}})),
    **{f"no known format, {name}": whole(of, "") for name, of in {
        "objects in a list": [{"bar": 1, "baz": 2}], "numbers": [1, 2], "an empty list": [], "an empty object": {},
        "lines": '{"bar": 1, "baz": 2}\n{"bar": 2, "baz": 3}', "an empty dialogue": {"D1": {}, "D2": {}}}.items()},
    "a key of turns": whole({"D1": {"dialogue": [{"gold": NORTH, "pred": {}}]}}, "-m jga --keys turns=dialogue"),
    "one state in a dialogue's place": whole({"D1": [["hotel-area", "north"]]}, "--gold one.jsonl"),
    "marks without slots": whole(MARKS),
    "no turn of gold": on("score p.jsonl --gold gold.jsonl", p_jsonl=turns("D9 0 > hotel-area=north")),
    # --- Splits and other names of dialogues
    **{f"a unified dataset, {name}": on(f"score p.jsonl -m jga --gold data.json {options}", p_jsonl=turns(pred),
    data_json=unified(("c-1", "X1", "test"), ("c-2", "X2", other))) for name, pred, other, options in (
        ("by original ids", "X1 0 > hotel-area=north, X2 0 > ", "test", ""),
        ("by both ids", "X1 0 > hotel-area=north, c-1 0 > ", "test", ""),
        ("of one split", "c-1 0 > hotel-area=north", "train", ""),
        ("of two splits", "c-1 0 > hotel-area=north, c-2 0 > ", "train", ""),
        ("of the split named", "c-1 0 > hotel-area=north, c-2 0 > ", "train", "--split test"),
        ("of no such split", "c-1 0 > hotel-area=north", "train", "--split dev"))},
    # --- Folders, several files and long tables
    "a URL": on("score http:/example.org/p.json"),
    "numbers in two files": on("convert a.jsonl b.jsonl -o x.parquet", **{f"{name}_jsonl": "\n".join(
        json.dumps(turn({"hotel-stars": 4}, {"hotel-stars": "4"}, n, name)) for n in range(2)) for name in "ab"}),
    **{f"a zip of {name}": zipped(**files) for name, files in each({
        "a file": {"a.jsonl": TWO}, "parts": {"p_0.jsonl": TWO, "p_1.jsonl": TWO.replace('"D', '"E')}, "nothing": {},
        "arrays": {"a.npy": "x"}, "two runs": {"a.jsonl": TWO, "b.jsonl": RIVAL}})},
    **{f"a Parquet file of {name}": tabled(frame) for name, frame in each({
        "a long table": LONG, "two runs": pl.concat(LONG.with_columns(run=pl.lit(r)) for r in "ab"),
        "records": pl.DataFrame(STATES), "numbers": pl.DataFrame({"a": [1]})})},
    **{f"a folder of {name}": Situation("score run -m jga",
    {f"run/{key}": text for key, text in files.items()}) for name, files in {
        "parts": {"p_0.jsonl": TWO, "p_1.jsonl": TWO.replace('"D', '"E')},
        "one part twice": {"p_0.jsonl": TWO, "p_1.jsonl": TWO}, "two runs": {"a.jsonl": TWO, "b.jsonl": RIVAL},
        "ten runs": {f"{c}.jsonl": TWO for c in "abcdefghij"},
        "a part and a damaged one": {"p_0.jsonl": TWO, "p_1.jsonl": "hello there"},
        "notes": {"a.txt": "x", "b.md": "y"},
        "a run, a note and a hidden file": {"a.jsonl": TWO, ".b.jsonl": "x", "README.md": "text"}}.items()},
    "a run in two files under a profile": on("convert a.jsonl b.jsonl -o x.parquet && score x.parquet --profile star",
        a_jsonl=TWO, b_jsonl=RIVAL.replace('"D', '"E')),
    "a turn in two files": on("convert a.jsonl b.jsonl -o x.parquet", a_jsonl=TWO, b_jsonl=TWO),
    **{f"a long table and {options}": on(f"convert two.jsonl -o x.parquet && score x.parquet {options}",
    m_json='{"hotel-area": "hotel-zone"}') for options in (
        "--missing empty -m jga", "--slot-map m.json", "--gold rival.jsonl -m jga", "--from trade",
        "--from records -m jga", "--split test")},
    "contexts, written and shown": on("contexts p.jsonl -o c.parquet && show p.jsonl --context c.parquet D1",
        p_jsonl=json.dumps(turn({}, {}, user="hello", system="x"))),
    # --- Data in memory
    "rows under a convention": on(lambda: dstbench.rows(
        [turn(NORTH, number=n) for n in range(3)], profile=dstbench.profile("verbatim", turns="last")).collect()),
    "scores by domain of whole dialogues": on(lambda: dstbench.score(
        STATES, metrics="jga", by="domain", profile=dstbench.profile("verbatim", domain_turns="dialogue"))),
    "runs with other gold": on("score one.jsonl two.jsonl -m jga,sa"),
    **{f"a score of {name}": asked(value_of, by, of, group) for name, by, of, group in (
        ("JGA", "run", "jga", {}), ("no such metric", "run", "gac", {}), ("a turn", "turn", "jga", {"turn": 1}),
        ("no turn", "turn", "jga", {}), ("no such turn", "turn", "jga", {"turn": 2}),
        ("a column misspelled", "run", "jga", {"domian": "hotel"}))},  # misspelt
    "scores of two runs": scored({"a": STATES, "b": [turn(NORTH), turn(NORTH, number=1)]}, metrics="jga,f1"),
    **{f"a long table in memory, {name}": scored(table) for name, table in {
        "as it is": LONG, "lazy": LONG.lazy(), "of two runs": pl.concat(LONG.with_columns(run=pl.lit(r)) for r in "ab"),
        "no predictions": LONG.drop("pred"), "no turns": LONG.drop("turn", "pred"), "empty": LONG.clear(),
        "turns as text": LONG.with_columns(pl.col("turn").cast(pl.String)), "each row twice": pl.concat([LONG, LONG]),
        "predictions as numbers": LONG.with_columns(pred=pl.lit(3)),
        "no ids": LONG.with_columns(dialogue=pl.lit(None, pl.String)),
        "a slot in two spellings": pl.concat([LONG.with_columns(slot=pl.lit("hotel-Area")), LONG]),
        "a slot in another spelling": LONG.with_columns(slot=pl.lit("hotel-Area")),
        "an id in two spellings": pl.concat(LONG.with_columns(dialogue=pl.lit(i)) for i in ("MUL0001.json", "mul0001")),
        "gold without a slot": LONG.with_columns(slot=pl.lit(None, pl.String)),
        "records": pl.DataFrame(STATES)}.items()},
    "a long table in memory, of a split": scored(LONG, split="test"),
    **{f"parallel lists, {name}": scored(data, gold=[[NORTH, {}]]) for name, data in {
        "as many": [[NORTH, NORTH]], "another dialogue": [[NORTH, NORTH], [NORTH]], "another turn": [[NORTH] * 3],
        "two runs": {"a": [[NORTH, {}]], "b": [[{}, {}]]}}.items()},
    **{f"data that are {name}": scored(data) for name, data in {"numbers": [1, 2], "bytes": b"abc",
        "nothing": []}.items()},
    "turns of states in memory": asked(dstbench.turns, STATES),
    # --- An evaluator in training
    "training, scores": evaluated(("add_batch", ["D", "D", "MUL0002"], [0, 1, 0], [NORTH, {}, NORTH]), ("scores",)),
    "training, all turns": evaluated(("add", "D", 0, NORTH),
        ("add_batch", ["D", "mul0002.json"], np.array([1, 0]), [{}, {}]), ("compute",)),
    **{f"training, turns missing: {how}": evaluated(("add", "D", 0, NORTH), ("compute",),
        missing=how) for how in ("error", "wrong", "empty", "intersect", "none")},
    "training, two states": evaluated(("add", "D", 0, NORTH), ("add", "D", 0, {"hotel-area": "south"})),
    "training, three other states": evaluated(*(("add_batch", ["D", "D", "MUL0002"], [0, 1, 0],
        [state] * 3) for state in (NORTH, {}))),
    **{f"training, {name}": evaluated(("add", dialogue, number, NORTH)) for name, dialogue, number in (
        ("an unknown dialogue", "zzz", 0), ("a dialogue misspelled", "MUL002", 0), ("a turn too late", "D", 2),
        ("a turn 0.0", "D", 0.0), ("a turn 1.5", "D", 1.5), ("an id that is a number", 3, 0))},
    "training, no epoch before": evaluated(("diff",)),
    "training, a first epoch": evaluated(("add", "D", 0, NORTH), ("diff",)),
    "training, what an epoch broke": evaluated(("add", "D", 0, NORTH), ("reset",), ("add", "D", 0, {}), ("diff",),
                                               missing="wrong"),
    **{f"training, put together: {name}": merged(**of) for name, of in each({
        "alike": {}, "other metrics": {"metrics": "f1"}, "other conventions": {"missing": "wrong"},
        "other gold": {"gold": [turn(NORTH, dialogue="D")]}})},
    "training, no gold": on(lambda: dstbench.Evaluator([{"dialogue_id": "D", "turn": 0, "pred": NORTH}])),
    # --- Metrics
    **{f"-m {name}": on(f"score two.jsonl -m {name}") for name in (
        "fga:lam=-1", "fga:lam=0", "gca:alpha=1.1", "gca:alpha=1", "gca:alpha=0", "f1:empty=2", "sa:T=1",
        "jga:empty=skip", "rsa:empty=skip", "rsa:empty=1", "aga:empty=1", "f1:wrong=missed", "f1:avg=micro",
        "slot-accuracy", "'joint goal accuracy'", "JGAA", "lam=1", "intent", "requested-f1")},
    "a metric of the user's": own(),
    "a metric of the user's, an odd name": own(name="my metric"),
    "a metric of the user's, a name taken": own(name="jga"),
    "a metric of the user's, a number": own(right=3),
    "a metric of the user's, a sum": own(right=pl.col("n_correct").sum()),
    "a metric of the user's, a count called as a column": own(counts={"ok": pl.col("ok")}),
    "a metric of the user's, a count that is a sum": own(counts={"all_ok": pl.col("ok").sum()}),
    "domains in all turns of their dialogues": on("score two.jsonl -m jga --by domain --domain-turns dialogue"),
    # --- Conventions
    **{f"a profile's file, {name}": on("score two.jsonl --profile mine.toml", mine_toml=text) for name, text in {
        "a choice misspelled": 'dontcar = "drop"', "no such choice": 'zzz = "drop"',
        "two values": 'gold-steps = "case"\ngold_steps = "case"', "a number for a file": "schema = 3",
        "a value misspelled": 'dontcare = "dropp"', "no such value": 'dontcare = "zzzz"',
        "a number for a value": "dontcare = 3", "metrics": 'metrics = ["jga", "f1"]',
        "a metric misspelled": 'metrics = ["jgaa"]', "a number for a matcher": "match = 3",
        "slots of one domain": 'slots = "multiwoz-hotel"\nmetrics = "jga"',
        "a step misspelled": 'gold-steps = ["case", "spacee"]', "a base misspelled": 'base = "verbatimm"'}.items()},
    **{f"score with {options}": on(f"score two.jsonl -m jga {options}") for options in (
        "--profile kim2022@fixed", "--slots categorical", "--slots hotel", "--match levenshtein:least=1.1",
        "--match levenshtein:least=1", "--match levenshtein:least=0", "--match levenshtein:over=1",
        "--by domain --domain-turns either", "--domain-turns frames --unit frame", "--by slot --turns last",
        "--by domain,turn --turns last", "--by seen", "--by slot -m f1",
        "--along share --group A=two", "--along share --by slot", "--along run", "--along share")},
    "slots of another dataset": on("score p.jsonl --slots multiwoz-30", p_jsonl=turns("D1 0 x-y=1 > , D1 1 x-z=2 > ")),
    "a profile whose steps are a number": on("score two.jsonl --profile p.toml", p_toml="gold-steps = 3\n"),
    # --- Comparisons
    "compare models of three runs": Situation(
        f"compare {' '.join(SEEDS)} -m jga {MODELS}", SEEDS),
    "compare turns with a prediction": on("compare two.jsonl p.jsonl --turns pred", p_jsonl=RIVAL.replace(
        '{"train-day": "monday"}}', "{}}", 1)),
    **{f"compare with {name}": asked(dstbench.compare, {"a": STATES, "b": STATES}, **of) for name, of in each({
        "0 resamples": {"resamples": 0}, "seed -1": {"seed": -1}, "adjustment holms": {"adjust": "holms"},
        "no metric": {"metrics": []}, "one dialogue": {}})},
    **{f"compare {options}": on(f"compare two.jsonl rival.jsonl --resamples 20 {options}") for options in (
        "--level 0", "--level 0.5", "--level 1", "--model m=", "--model m=two --model n=two,rival", "--model rival=two",
        "--model m=two --model n=rival", "--profile fga2022", "--adjust max-t -m jga,f1")},
    "compare what is undefined": on("compare a.jsonl b.jsonl -m gca", a_jsonl=turns("D1 0 > , D2 0 > "),
        b_jsonl=turns("D1 0 > , D2 0 > ")),
    **{f"models of runs that score the same, {name}": Situation(
    f"compare {' '.join(files)} -m jga --model a=a* --model b=b* --all", files) for name, files in {
        "right or wrong": alike(("a", ()), ("b", range(4))), "in other dialogues": alike(("a", ()), ("b", (3,)))
    }.items()},
    "metrics of which one is undefined": on("compare-metrics a.jsonl b.jsonl -m jga,aga --resamples 20",
        a_jsonl=turns("D1 0 > , D2 0 > "), b_jsonl=turns("D1 0 > hotel-area=a, D2 0 > ")),
    **{f"along {name}": Situation(f"score {' '.join(files)} -m jga --along share", files) for name, files in {
        "shares": {"t5_0.05.jsonl": TWO, "t5_0.5.jsonl": RIVAL}, "percent": {"m-5%.jsonl": TWO, "m-50%.jsonl": RIVAL},
        "thousands": {"m-1k.jsonl": TWO, "m-2k.jsonl": RIVAL},
        "the number called so": {"m-1-share-10.jsonl": TWO, "m-2-share-20.jsonl": RIVAL},
        "two numbers": {"m-1-10.jsonl": TWO, "m-2-20.jsonl": RIVAL}}.items()},
    **{f"numbers of runs, {name}": on("score two.jsonl rival.jsonl -m jga --along share=n.csv",
    n_csv=text) for name, text in {
        "as they are": "run,share\nrival,10\ntwo,5\n", "one lacks": "run,share\ntwo,5\n", "none": "run,share\n",
        "one twice": "run,share\ntwo,5\ntwo,6\nrival,10\n", "a column twice": "run,share,share\ntwo,5,6\nrival,5,6\n",
        "commas": "run;share\ntwo;0,5\nrival;1,5\n", "commas and points": "run;share\ntwo;0,5\nrival;1.5\n",
        "not a number": "run,share\ntwo,nan\nrival,10\n", "semicolons": "run,share,n\ntwo,5,;;;;;\nrival,6,;;\n",
        "Excel's line": "sep=;\nrun;share\ntwo;5\nrival;10\n"}.items()},
    "metrics of one run": on("compare-metrics two.jsonl -m jga,f1 --resamples 20"),
    "metrics of two runs": on("compare-metrics two.jsonl rival.jsonl -m jga,f1 --resamples 20"),
    "metrics of which one is a count": on("compare-metrics two.jsonl rival.jsonl -m jga,missed --resamples 20 --all"),
    "metrics of runs and a table": on("compare-metrics two.jsonl --table t.csv",
        t_csv="model,metric,value\na,jga,0.5\n"),
    **{f"a table of scores, {name}": on(f"compare-metrics --table t.csv {options}",
    t_csv=f"model,metric,value\n{text}") for name, text, options in (
        ("two metrics", "a,jga,0.5\nb,jga,0.6\na,f1,0.5\nb,f1,0.7\n", ""), ("1", "a,jga,1\nb,jga,0.6\n", ""),
        ("above 1", "a,jga,1.0001\nb,jga,0.6\n", ""),
        ("one lacks", "a,jga,0.5\nb,jga,0.6\nc,jga,0.7\na,f1,0.5\nb,f1,0.4\n", ""),
        ("one twice", "a,jga,0.5\na,jga,0.6\n", ""), ("along", "a,jga,0.5\nb,jga,0.6\n", "--along share"),
        ("a profile", "a,jga,0.5\nb,jga,0.6\n", "--profile trade"))},
    # --- Correlations
    **{f"the test {test}": on(f"correlate keen.jsonl -m jga,fga,gca --versus jga,fga,gca --test {test}")
        for test in ("all", "hotelling1940", "silver2004", "zou2007")},
    "two negative correlations": on("correlate hasty.jsonl -m jga,mistakes,over --versus jga,mistakes,over"),
    "a test of other correlations": on("correlate keen.jsonl hasty.jsonl -m jga,fga --between-runs --test fisher1925"),
    **{f"correlate {options}": on(f"correlate keen.jsonl {options}") for options in (
        "-m jga,fga,gca --versus jga,fga,gca --test all --per turn", "-m jga,fga --between-runs", "-m jga",
        "-m jga,turnz", "-m jga,zzzzz", "-m jga,fga --versus jga,fga", "-m jga,fga --versus jga,jga,gca",
        "-m jga,turns,n_gold_max", "-m jga,fga --versus jga,fga,fga,jga", "-m jga,fga --versus jga,fga,gca,f1,sa")},
    **{f"a metric undefined in {name}": on(f"correlate a.jsonl -m {metrics}",
    a_jsonl="\n".join(turns(f"A{i} 0 {'hotel-area=a' if i < n else ''} > {'hotel-area=a' if i % 2 else ''}")
    for i in range(6))) for name, n, metrics in (
        ("most dialogues", 2, "jga,aga"), ("all dialogues", 0, "jga,aga,f1"))},
    **{f"ratings {name}": on(f"correlate keen.jsonl -m jga,f1 --ratings r.csv {options}", r_csv=f"dialogue,{text}\n")
       for name, text, options in (
        ("of dialogues, asked of turns", "rating\nD00,1", "--per turn"), ("of others", "rating\nX1,1\nX2,3", ""),
        ("of turn 65536", "turn,rating\nD00,65536,1", ""), ("of two dialogues", "rating\nD00,1\nD01,3", ""),
        ("of system turns", "turn,rating\nD00,4,2\nD00,6,3", ""), ("the same", "rating" + lines24("\nD{:02},3"), ""),
        ("of a dialogue twice", "rating\nD00,1\nD00,3", ""), ("of a turn twice", "turn,rating\nD00,0,1\nD00,0,3", ""),
        ("of turns", "turn,rating" + lines24("\nD{0:02},0,{1}\nD{0:02},1,{2}"), ""),
        ("of misspelled dialogues", "rating" + lines24("\nD{3}{0:02},{1}"), ""),
        ("of runs not here", "run,rating" + lines24("\nD{0:02},keen{3},{1}"), ""))},
    # --- Sensitivity, sweeps, reconciliation, traits, diagnosis
    **{f"sensitivity, {name}": asked(dstbench.sensitivity, STATES, **of) for name, of in each({
        "no kind": {"kinds": []}, "0 bins": {"bins": 0}, "101 bins": {"bins": 101},
        "no sample": {"sample": 0}})},
    **{f"sweep {options}": on(f"sweep two.jsonl --profiles verbatim,trade,star {options}") for options in (
        "-m ''", "-m jga,wrong", "-m jga --target 50%", "--target 0.5", "-m jga --target wrong=1", "--target wrong=1.5",
        "-m jga --target 100", "--target 100.1", "--target 101%", "--target jga=50,jga=60",
        "--target jga=50.0,sa=91.2")},
    **{f"reconcile with {most} choices": asked(dstbench.reconcile, 50, STATES, most=most) for most in (0, 5)},
    **{f"traits, {name} x": asked(dstbench.traits, STATES, **{name: "x"}) for name in ("protocol", "to", "nu")},
    "diagnose a run that is right": on("diagnose p.jsonl", p_jsonl=turns("D1 0 hotel-area=a > hotel-area=a, D2 0 > ")),
    "diagnose what gold lacks": on("diagnose p.jsonl", p_jsonl=turns("D1 0 > hotel-area=north, D2 0 > ")),
    # --- Checks, dialogues, changes, queries
    "check with a number for values": on("check two.jsonl --ontology o.json", o_json='{"hotel-area": 3}'),
    **{f"check {n} predictions that are empty": on("check p.jsonl", p_jsonl=turns(", ".join(
        f"D{at} 0 >, D{at} 1 hotel-area=a >" for at in range(n)))) for n in (1, 5)},
    "changes in both ways are read before more in one way": on("diff a.jsonl b.jsonl --resamples 20 --most 1", **{
        f"{run}_jsonl": turns(", ".join(
            f"D{dialogue} {at} hotel-area=a > hotel-area={'a' if is_right else 'b'}"
            for dialogue, of_turns in enumerate(rights) for at, is_right in enumerate(of_turns)))
        for run, rights in (("a", ([1] * 5, [1, 1, 1, 1, 0, 0])), ("b", ([0] * 5, [0, 0, 0, 0, 1, 1])))}),
    "nothing changed": on("diff two.jsonl b.jsonl --resamples 20", b_jsonl=TWO),
    "check states that forget": on("check p.jsonl --strict",
        p_jsonl=turns("D1 0 hotel-area=north > , D1 1 hotel-area=north > hotel-area=north, D1 2 hotel-area=north > ")),
    **{f"query {sql}": on(f'query "{sql}" two.jsonl') for sql in (
        "", "DROP TABLE long", "delete from long", "SELECT * FROM read_csv('x.csv')", "SHOW TABLES",
        "SELECT count(*) AS n FROM long", "SELECT slot FROM long WHERE slot = 'x'")},
    "a query of turns under a convention": on("query 'SELECT n_correct, n_gold FROM turns' p.jsonl --profile star",
        p_jsonl=turns("D1 0 hotel-area=centre;hotel-name=a b > hotel-area=center;hotel-name=a c")),
    "names in other letters under a profile with partial credit": on("score p.jsonl --profile sgd -m jga,soft-aga",
        p_jsonl=turns("D1 0 hotel-name=Fat Duck > hotel-name=fat duck")),
    **{f"query a table called {name}": on(f'query "SELECT 1 AS n" two.jsonl --table {name}=t.csv',
        t_csv="a,b\n1,2\n") for name in ("long", "3x")},
    # --- Signatures
    **{f"a signature with {new}": on(f"signature '{SIGNATURE.replace(old, new)}'") for old, new in (
        ("|v:", "|turns:last|v:"),
        ("missing:error", "missing:wrong+empty"), ("missing:error", "missing:wrng"), ("verbatim.1", "verbatim.9"),
        ("verbatim.1", "mine#44136fa3|dontcare:drop"), ("verbatim.1", "mine#44136fa3+|dontcare:drop"),
        ("verbatim.1", "verbatimm.1"), ("verbatim.1", "mylab.1@mypackage-1.0"), ("jga|", "mine@mypackage-1.0|"),
        ("jga|", "jgaa|"), ("jga|", "fga(lam=-1)|"), ("|missing", "|dontcare:dropp|missing"),
        ("|missing", "|schema:x|missing"), ("|missing", "|dontcre:drop|missing"),
        ("jga|", "jga+f1+gca(alpha=0.5,counting=paper)|"))},
    "a signature beside one with a further setting":
        on(f"signature '{SIGNATURE}' '{SIGNATURE.replace('|v:', '|turns-from:1|v:')}'"),
    # --- Lists and help
    **{words: on(words) for words in (
        "help", "ls", "ls gold", "ls slots multiwoz-30", "ls matchers", "ls matchers contain", "ls steps first",
        "ls profiles star trade", "ls profiles starr", "ls metrics jga --expressions", "ls formats --expressions")},
    # --- Audits
    "no contradictions": on("audit contradictions said.jsonl", said_jsonl=said(("D1", 0, "in the north", NORTH))),
    "missing annotations, a schema": on("audit inconsistency said.jsonl --ontology s.json", s_json=json.dumps([
        {"service_name": "hotel", "slots": [{"name": "hotel-area", "possible_values": ["north", "south"]}]}])),
    "a folder again": on(lambda: audit.rewrite("set", "out", without=["D1"]), set__a_jsonl=DATASETS["g.jsonl"]),
    "missing annotations, no names": on("audit inconsistency a.jsonl",
        a_jsonl=said(("D1", 0, "a train on monday", {"train-day": "monday"}), ("D2", 0, "a train on friday", {}))),
    **{f"missing annotations, evidence {name}": on("audit inconsistency said.jsonl --evidence e.jsonl",
    e_jsonl=said(("E", 0, "x", state))) for name, state in {
        "of nothing": {}, "of another domain": {"train-day": "monday"}}.items()},
    **{f"missing annotations, {name}": asked(audit.inconsistency, STATES, **of) for name, of in {
        "in memory": {}, "a share of 0": {"at_least": 0}, "no support": {"support": 0}}.items()},
    "replace a name": on("audit replace said.jsonl -o r.jsonl --train train.jsonl --donors d.json && cat r.jsonl",
        d_json='{"hotel-name": ["blue barn", "low tide"]}'),
    **{f"replace, {name}": on(f"audit replace {data} -o r.jsonl --train train.jsonl --donors d.json", d_json=donors,
    n_jsonl=said(("D1", 0, "any", {"hotel-name": "x y"}))) for name, data, donors in (
        ("no donors", "said.jsonl", '{"train-day": ["x"]}'),
        ("no new donors", "said.jsonl", '{"hotel-name": ["red inn", "old mill"]}'),
        ("no name that is said", "n.jsonl", '{"hotel-name": ["blue barn"]}'))},
    **{f"filled sheets, {name}": agreed(*sheets) for name, *sheets in (
        ("one", FILLED), ("two", FILLED, FILLED.replace("no,", "yes,")),
        ("three", FILLED, FILLED, FILLED.replace(",1", ",0")), ("an odd answer", FILLED.replace("no,", "perhaps,")),
        ("two with other rows", FILLED, FILLED.replace("D4", "D5")),
        ("two, a row less", FILLED, FILLED.rpartition("\n")[0]),
        ("two, one half empty", FILLED, FILLED.replace("no,", ",")))},
    **{f"{name} again, {what}": rewritten(name, **edits) for name in DATASETS for what, edits in each({
        "a value": {"states": EDIT}, "a new slot": {"states": EDIT | {"slot": ["hotel-stars"]}},
        "no value": {"states": EDIT | {"value": pl.Series([None], dtype=pl.String)}},
        "without a dialogue": {"without": ["D1"]}})},
    **{f"lines again, {what}": rewritten("g.jsonl", **edits) for what, edits in each({
        "no such dialogue": {"states": EDIT | {"dialogue": ["D9"]}}, "no such turn": {"states": EDIT | {"turn": [7]}},
        "two without a place": {"states": pl.concat([pl.DataFrame(EDIT | {"dialogue": [f"X{n}"]}) for n in (9, 8)])},
        "without any dialogue": {"without": ["D1", "D2"]}, "without no such dialogue": {"without": ["D9"]},
        "what is said": {"said": {"dialogue": ["D1"], "turn": [0], "speaker": ["user"], "text": ["hi"]}}})},
    # --- One of what is mostly several, and two of what is mostly more
    "one record without a turn": score({"dialogue_id": "D1", "gold": NORTH, "pred": NORTH}),
    **{f"one turn: {name}": on(f"score p.jsonl -m jga {options}", p_jsonl=turns(text)) for name, text, options in (
        ("one slot of another dataset", "D1 0 x-y=1 > x-y=1", ""),
        ("one predicted slot, which gold lacks", "D1 0 hotel-area=a > x-y=1", ""),
        ("one of two values of a slot that gold lacks", "D1 0 hotel-area=a > hotel-area=a;x-y=1", ""),
        ("one value that is not scored", "D1 0 hotel-area=a > hotel-area=a, D1 1 > ", "--turns last"),
        ("one predicted twice", "D1 0 hotel-area=a > hotel-area=b", "--gold gold.jsonl --missing wrong"),
        ("all but one predicted", "D1 0 > , D1 1 > ", "--gold gold.jsonl --missing wrong"),
        ("all but one predicted, an error", "D1 0 > , D1 1 > ", "--gold gold.jsonl"))},
    "one slot twice in a state": score(turn([["hotel-area", "north"], ["hotel-area", "south"]])),
    "one text like a state": score(turn({"hotel-area": '{"x": "y"}'})),
    **{f"numbers in files: {name}": on("convert a.jsonl b.jsonl -o x.parquet", **{f"{file}_jsonl": "\n".join(
        json.dumps(turn({"hotel-stars": 4, "hotel-area": ["a"]}, NORTH, n, file)) for n in range(count))
        for file, count in counts.items()}) for name, counts in each({
        "one in each": {"a": 1, "b": 1}, "one, then two": {"a": 1, "b": 2}, "two, then one": {"a": 2, "b": 1}})},
    "SAVN's dump with one value": whole({"slots": ["hotel-area", "hotel-name"], "predictions": {
        "D1": {"0": ["north"]}}}, "--gold one.jsonl"),
    "one prediction without an id": whole([{"hotel": {"semi": {"area": ["north"]}, "book": {}}}], "--gold one.jsonl"),
    "one value with marks of tokens": whole([{"guid": ["test", "D1", "0"],
        "slot_prediction_hotel-area": "\u00a7\u00a7 north", "slot_groundtruth_hotel-area": "north"}]),
    "one of MultiWOZ's turns without metadata": on("score p.jsonl -m jga --gold data.json",
        p_jsonl=turns("MUL0001 0 > "), data_json=json.dumps({"MUL0001.json": {"log": [{"metadata": {}}] * 2}})),
    "one dialogue in both runs": on("correlate a.jsonl b.jsonl -m jga,f1 --between-runs",
        a_jsonl=turns("D1 0 > , D2 0 > "), b_jsonl=turns("D2 0 > , D3 0 > ")),
    **{f"{runs} under {profiles}": on(f"sweep {runs} --profiles {profiles} -m jga") for runs, profiles in (
        ("two.jsonl", "verbatim"), ("two.jsonl", "verbatim,trade"), ("two.jsonl rival.jsonl", "verbatim"),
        ("two.jsonl rival.jsonl", "verbatim,trade"))},
    "two runs with turns in both": on("compare two.jsonl p.jsonl -m jga --gold gold.jsonl --missing intersect",
        p_jsonl=turns("D1 0 > hotel-area=north")),
    "checks of two runs": on("check two.jsonl rival.jsonl"),
    "one of two changes of gold without a position": on(
        "sensitivity p.jsonl -m jga", p_jsonl=turns("D1 0 hotel-area=a > , D2 0 > , D2 1 hotel-area=a > ")),
    **{f"ratings: {name}": on("correlate p.jsonl -m jga,f1 --ratings r.csv", r_csv=text, p_jsonl=turns(
        "D1 0 hotel-area=a > , D2 0 hotel-area=a > hotel-area=a, D3 0 > ")) for name, text in {
        "one after the last turn": "dialogue,turn,rating\nD1,2,1\nD2,0,2\nD3,0,2",
        "one of another dialogue": "dialogue,rating\nD1,1\nD2,2\nD3,3\nD4,2",
        "one of another run": "run,dialogue,rating\np,D1,1\np,D2,2\np,D3,3\nq,D1,1"}.items()},
    "training, two other states": evaluated(("add_batch", ["D", "D"], [0, 1], [NORTH, NORTH]),
        ("add_batch", ["D", "D"], [0, 1], [{}, {}])),
    "training, a batch of one dialogue": evaluated(("add_batch", ["D"], [0, 1], [NORTH])),
    "one dialogue with more turns": on("audit diff a.jsonl b.jsonl",
        a_jsonl=said(("D1", 0, "u", NORTH)), b_jsonl=said(("D1", 0, "u", NORTH), ("D1", 1, "v", {}))),
    "replace, one donor that is not new": on("audit replace said.jsonl -o r.jsonl --train train.jsonl --donors d.json",
        d_json='{"hotel-name": ["red inn"]}'),
    "a long table with one wrong row": scored(pl.concat([LONG, LONG[:1].with_columns(slot=pl.lit(None, pl.String))])),
    "no known format, an object of one key": whole([{"bar": 1}], ""),
    "three runs, two of them the first": on("compare two.jsonl b.jsonl rival.jsonl -m jga --resamples 20",
        b_jsonl=RIVAL),
    "one choice that can be tried": on("reconcile 100 p.jsonl --most 1",
        p_jsonl=turns("D1 0 hotel-area=a > hotel-area=b|a")),
    # --- What is refused, and what is said of results that are rare
    **{f"{function.__name__} with {of}": asked(function, STATES, **of)
       for function, of in (
        (dstbench.diagnose, {"few": -1}), (dstbench.report, {"most": 0}), (dstbench.turns, {"view": "x"}),
        (dstbench.score, {"metrics": (3,)}), (dstbench.correlate, {"ratings": 3}), (audit.bias, {"counting": ()}),
        (audit.bias, {"least": 0}), (audit.scores, {"versions": {}}),
        (audit.memorisation, {"context": "x", "most": -1}))},
    "contexts that are none": asked(audit.memorisation, STATES, context=pl.DataFrame({"turn": [1]})),
    "changes of no dialogue": asked(dstbench.diff, STATES, STATES, most=0),
    "a query that is too long": asked(dstbench.query, "SELECT 1" + " " * 100_000, STATES),
    "no run at all": scored({}),
    "a run that is a path": asked(dstbench.write_long, "x.jsonl", "x.parquet"),
    **{f"a sheet of {name}": asked(audit.agreement, paths) for name, paths in each({
        "one reader": ["a.csv"], "readers of one name": ["a/x.csv", "b/x.csv"]})},
    "filled sheets, two without a row": agreed(SHEET, SHEET),
    "filled sheets, what is missed by nobody": agreed(*[re.sub(r",[01]$", ",", FILLED, flags=re.MULTILINE)] * 2),
    "a review sheet of no dialogue": on(lambda: audit.review_sheet(
        "said.jsonl", audit.inconsistency("said.jsonl"), sample=0), said_jsonl=SHARED["said.jsonl"]),
    "versions of which one has no run": asked(
        audit.scores, {"r": STATES}, {"a": STATES, "b": STATES}, only={"a": "r"}),
    "scores of groups that are called alike": scored(
        {"a/b": [turn(NORTH, dialogue="c")], "a": [turn(NORTH, dialogue="b/c")]}, by="dialogue"),
    "training, a dataset with two splits": on(lambda: dstbench.Evaluator("data.json"),
        data_json=unified(("c-1", "X1", "test"), ("c-2", "X2", "train"))),
    **{f"training, a state as {name}": evaluated(("add", "D", 0, state), ("compute",), missing="wrong")
       for name, state in {"text": "hotel-area=north", "a list": [["hotel-area", "north"]], "numbers": [1, 2]}.items()},
    **{f"{call} with {options}": on(f"{call} two.jsonl {options}", m_json='{"a": 3}', l_json='{"label_maps": 3}',
        o_json='{"x-y": ["a"]}', t_json='{"hotel-area": "north"}', s_json='[{"a": 1}]', f_json=json.dumps([
        {"service_name": "taxi", "slots": [{"name": "x", "is_categorical": True}]}])) for call, options in (
        ("check", "--ontology o.json"), ("check", "--ontology t.json"), ("score", "--label-map m.json"),
        ("score", "--label-map l.json"), ("score", "--schema s.json"), ("score", "--unit frame --schema f.json"),
        ("score", "--match exact:least=1"), ("score", "--by slot,n_gold"), ("score", "--by seen --seen f.json"),
        ("score", "-m missed --charts out"), ("score", "--by slot,turn --charts out"))},
    "values that are too long to compare": score(
        turn({"hotel-area": "a" * 999}, {"hotel-area": "b" * 999}), options="-m jga --match levenshtein:least=0.9"),
    **{f"{command} undefined everywhere": on(command, p_jsonl=turns("D1 0 > , D2 0 > ")) for command in (
        "sweep p.jsonl -m gca --profiles verbatim,trade", "sweep p.jsonl --profiles verbatim,trade --target gca=50",
        "reconcile gca=50 p.jsonl", "traits p.jsonl -m jga,aga")},
    "a score that is reached without any choice": on("reconcile 50 p.jsonl --gold g.jsonl --missing wrong --most 1",
        p_jsonl=turns("D1 0 > a-b=c"), g_jsonl=turns("D1 0 a-b=c, D2 0 a-b=c")),
    "who is first depends on the profile": on("sweep a.jsonl b.jsonl --profiles verbatim,trade,star -m jga",
        **{f"{run}_jsonl": turns(", ".join(f"D{d} 0 hotel-area=centre > hotel-area={value}"
        for d, value in enumerate(values))) for run, values in (("a", ["center"] * 2), ("b", ["centre", "x"]))}),
    **{f"three runs and a baseline, in {form}": on(
        f"compare keen.jsonl steady.jsonl hasty.jsonl -m jga --format {form} --resamples 200 --baseline steady "
        "--adjust max-t") for form in ("text", "latex")},
    "models cannot be compared by max-t": Situation(f"compare {' '.join(SEEDS)} {MODELS} --adjust max-t", SEEDS),
    "runs without a turn in both": on("compare a.jsonl b.jsonl --gold gold.jsonl --missing intersect",
        a_jsonl=turns("D1 0 > "), b_jsonl=turns("D2 0 > ")),
    "records of which two have no gold": score(turn(NORTH), *(
        {"dialogue_id": "D1", "turn": n, "pred": NORTH} for n in (1, 2))),
    "times as another program reads them": on("score p.jsonl --profile mwzeval@faithful -m jga --by dialogue",
        p_jsonl=turns(", ".join(f"D{at} 0 train-leaveat={time} > train-leaveat={text}"
        for at, (text, time) in enumerate((
        ("noon", "12:00"), ("by", "00:00"), ("by 5 pm", "17:00"), ("after 9", "09:00"), ("9:15.", "09:15"),
        ("1430", "14:30"), ("one o'clock p.m. sharp", "13:00"), ("5 : 10 a.m.", "05:10")))))),
    "a dataset without a slot": on("audit bias p.jsonl", p_jsonl=turns("D1 0 , D2 0 ")),
    "a dataset without a frequent value": on("audit bias p.jsonl",
        p_jsonl=turns("D1 0 hotel-area=a, D2 0 hotel-area=b, D3 0 hotel-area=c")),
    "versions without a turn in both": on("audit diff p.jsonl q.jsonl", p_jsonl=turns("D1 0 "), q_jsonl=turns("D9 0 ")),
    "versions with splits": on("audit diff data.json later.json --all", data_json=unified(
        ("c-1", "X1", "test"), ("c-2", "X2", "train")), later_json=unified(
        ("c-1", "X1", "test"), ("c-2", "X2", "train")).replace("north", "south", 1)),
    "wrong values of which some have no context": on("audit memorisation p.jsonl --context said.jsonl",
        p_jsonl=turns("D1 0 hotel-area=a > hotel-area=b, D9 0 hotel-area=a > hotel-area=c")),
    **{f"audit inconsistency said.jsonl {options}": on(f"audit inconsistency said.jsonl {options}", r_json="{}",
        o_json='["x"]', hotel_db_json='["x"]') for options in (
        "--as qian2021 --rules r.json", "--apply", "--apply -o x.jsonl train.jsonl", "--database o.json",
        "--database hotel_db.json")},
    **{f"replace {options}": on(f"audit replace {data} -o r.jsonl --train train.jsonl {options}",
        t_jsonl=said(("D1", 0, "on monday", {"train-day": "monday"})), d_json='{"hotel-name": "x"}',
        m_jsonl=said(*((f"D{n}", 0, "any", {"hotel-name": f"x {n}"}) for n in range(23)),
                     ("E", 0, "the sea lodge", {"hotel-name": "sea lodge"})), e_json='{"hotel-name": ["blue barn"]}')
       for data, options in (
        ("t.jsonl", "--seed 1"), ("said.jsonl", "--invent"), ("said.jsonl", "--donors d.json"),
        ("m.jsonl", "--donors e.json"), ("said.jsonl", "--donors t.jsonl"),
        ("said.jsonl", "--donors d.json --manifest m.txt"))},
    **{f"an edit {name}": rewritten(file, **edits) for name, file, edits in (
        ("without a value", "g.jsonl", {"states": {key: of for key, of in EDIT.items() if key != "value"}}),
        ("and another", "g.jsonl", {"states": pl.concat([pl.DataFrame(EDIT), pl.DataFrame(EDIT | {"value": ["x"]})])}),
        ("of nothing but a tab", "g.tsv", {"states": EDIT | {"value": ["a\tb"]}}),
        ("that would be read otherwise", "data.json", {"states": EDIT | {"value": ["not mentioned"]}}))},
    **{f"a file that is written again, {name}": on(lambda: audit.rewrite("p.json", "x.json", states=pl.DataFrame(EDIT)),
                                                   p_json=text) for name, text in (
        ("no gold", json.dumps({"dialogue_id": "D1", "turn": 0, "pred": NORTH})),
        ("not so as it is", json.dumps([{"guid": ["test", "D1", "0"], "slot_prediction_hotel-area": "north",
                                        "slot_groundtruth_hotel-area": "north"}])),
        ("under a key", f'{{"old": {DATASETS["g.json"]}}}'))},
    "a folder again, without any dialogue": on(lambda: audit.rewrite("set", "out", without=["D1", "D2"]),
                                               set__a_jsonl=DATASETS["g.jsonl"]),
    **{f"a signature, {name}": on(f"signature '{text}'") for name, text in each({
        "cut off": "jga|profile:verbatim.1|by", "a key twice": "jga|profile:verbatim.1|by:run|by:run",
        "no metric": "profile:verbatim.1|by:run", "no profile": "jga|by:run",
        "a format of a package": SIGNATURE.replace("|v:", "|format:mine@nopackage-1.0|v:"),
        "not a number": SIGNATURE.replace("|d:2", "|d:x")})},
    "three signatures": on("signature a b c"),
    "ratings of another": on("correlate keen.jsonl -m jga --ratings r.csv", r_csv="run,dialogue,rating\nold,D00,1\n"),
    **{f"a file {name}": of_bytes(name, content) for name, content in each({
        "x.parquet": b"", "x.zip": b"PK\x03\x04 and no more", "x.json.gz": b"\x1f\x8b\x08 and no more",
        "x.jsonl.gz": gzip.compress(TWO.encode())[:-12], "lines.csv": b"dialogue_id,turn,gold,pred\n\nD1,0,{},{}\n"})},
    **{f"ids and turns, {name}": score(*({"id": text, "gold": NORTH, "pred": NORTH} for text in texts))
       for name, texts in each({"one without": ["x-0", "x-1", "y"], "as often as not": ["x-0", "x-0", "y-0", "y-0"]})},
    **{f"{function.__name__} of {name}": asked(function, *of) for function, name, of in (
        (stats.max_t, "another shape", ([1.0], [[1, 2]])), (stats.max_t, "what is undefined", ([np.nan], [[1]])),
        (stats.max_t, "nothing", ([], np.zeros((1, 0)))), (stats.wilson, "a share of 2", (2, 10)),
        (stats.spearman, "two lengths", ([1, 2], [1])), (stats.jackknifed_correlation, "two lengths", ([1, 2], [1])))},
    "ls steps labels typos": on("ls steps labels typos"),
    **{f"a state of {name}": score(turn(state)) for name, state in each({"words": ["north"], "numbers": [3]})},
    **{f"a metric of the user's, {name}": own(right=right) for name, right in each({
        "no ratio": pl.col("n_correct") * 1.5, "too much": pl.col("n_correct") * 10**12})},
    "scores in LaTeX, by version": on("audit scores one.jsonl --version a=one.jsonl --version b=two.jsonl -m jga "
                                      "--profile verbatim --missing intersect --format latex"),
    **{f"a model of two runs on two versions, {name}": on(
        "audit scores p.jsonl q.jsonl --version a=g.jsonl --version b=h.jsonl --model m=p,q -m jga --profile verbatim "
        "--missing intersect", g_jsonl=turns(g), h_jsonl=turns(h), q_jsonl=turns("D1 0 > hotel-area=b, D2 0 > "),
        p_jsonl=turns("D1 0 > hotel-area=a;hotel-stars=4, D2 0 > ")) for name, g, h in (
        ("which differ", "D1 0 hotel-area=a, D2 0 ", "D1 0 hotel-area=b, D2 0 "),
        ("of other dialogues", "D1 0 hotel-area=a", "D2 0 "))},
    "runs in the order of a number": on(
        "score two.jsonl rival.jsonl -m jga --along size=n.csv --format csv", n_csv="run,size\ntwo,10\nrival,5\n"),
    "a bias in LaTeX": on("audit bias gold.jsonl --format latex"),
    "a file whose ending is in capitals": on("score two.jsonl -m jga -o x.JSON && cat x.JSON"),
    "ratings of few dialogues": on("correlate p.jsonl -m jga,f1 --ratings r.csv --format csv",
        r_csv="dialogue,rating\nD1,1\nD2,2\nD3,3", p_jsonl=turns(
        "D1 0 hotel-area=a > , D2 0 hotel-area=a > hotel-area=a, D3 0 hotel-area=a > hotel-area=b")),
    "an error that is copied": on(lambda: copy.copy(dstbench.DstbenchError("what", file="x", hint="how"))),
    "modules that are there at once": on(lambda: [dstbench.__getattr__(name) for name in ("audit", "stats")] and "yes"),
    **{f"correlations of which {name} is 2": asked(stats.compare_overlapping, **{
        "r_jk": 0, "r_jh": 0, "r_kh": 0, "n": 9} | {name: 2}) for name in ("r_jk", "r_jh", "r_kh")},
    **{f"{words} of what is undefined": on(words, a_jsonl=turns("D1 0 hotel-area=a > hotel-area=a"),
        b_jsonl=turns("D1 0 > "), c_jsonl=turns("D2 0 > ")) for words in (
        "sweep a.jsonl b.jsonl -m aga --profiles verbatim,trade",
        "sweep b.jsonl c.jsonl -m aga --profiles verbatim,trade")},
    "a score that several choices reach": on(
        "reconcile 100 p.jsonl --most 1", p_jsonl=turns("D1 0 a-b=dontcare > , D1 1 > ")),
    "wrong values without any context": on("audit memorisation p.jsonl --context said.jsonl",
        p_jsonl=turns("D9 0 hotel-area=a > hotel-area=c")),
    **{f"predictions that gold completes, {options}": on(f"score p.json --gold one.jsonl -m jga {options}",
        p_json=json.dumps([{"hotel": {"semi": {"area": [area]}, "book": {}}} for area in ("north", "east")]),
        m_csv="0,D1\n") for options in ("--turns-from 1", "--id-map m.csv")},
    "predictions and gold without ids": on("score p.json --gold g.json -m jga", **dict.fromkeys(
        ("p_json", "g_json"), json.dumps([{"hotel": {"semi": {"area": ["north"]}, "book": {}}}, {}]))),
    "SAVN's slot twice": whole({"slots": ["a-b"] * 2, "predictions": {"D1": {"0": ["a", "b"]}}}, "--gold one.jsonl"),
    **{f"a state with {name}": score(turn(state, TWO_SLOTS)) for name, state in each({
        "bookings": {"hotel": {"book": {"stars": "4"}, "area": "north"}}, "domains": {"hotel": {"hotel-area": "north"}},
        "Python's words": "{'hotel-area': ['north', nan], 'hotel-stars': null}"})},
    **{f"a value in memory that is {name}": scored([turn({"hotel-area": value})]) for name, value in each({
        "half a character": "\ud800", "bytes": b"x", "a set": {"x"}})},
    "resamples of what is undefined": on(lambda: [
        stats.Replicates(np.nan, np.ones(3), 1.0).estimate(), stats.Replicates(np.nan, np.ones(3), 1.0).limits(),
        stats.Replicates(np.nan, np.ones(3), 1.0).p(), stats.Replicates(1.0, np.array([0.0, 1, 2]), 1.0).limits(),
        stats.Null(np.nan, np.ones(3), 0.0).p(), stats.Null(1.0, np.zeros(3), 0.0).limits(0.0, 3)]),
    "a long table in a notebook": in_notebook(lambda: audit.bias(
        [turn({}, {f"hotel-s{n}": "x" for n in range(27)}, dialogue=name) for name in "ab"])),
    "a demo of one dialogue": on("demo --dialogues 1 -o out"),
    # --- Statistics of plain numbers
    **{f"p adjusted by {adjust.__name__}": asked(adjust, [0.01, 0.04, 0.03]) for adjust in (
        stats.bonferroni, stats.hochberg, stats.benjamini_hochberg, stats.benjamini_yekutieli)},
    "p adjusted by max_t": asked(stats.max_t, [3.0, 1.0], [[1, 1], [-1, 1], [1, -1], [-1, -1]]),
    **{f"p {ps} adjusted": asked(stats.holm, ps) for ps in ([0.5, 1.1], [-0.1], [], [0, 1])},
    **{f"kappa of {name}": asked(stats.kappa, table, resamples=20) for name, table in each({
        "no readers": [1, 2], "no items": np.zeros((0, 2)), "two readers": [[1, 1], [1, 0], [0, 0], [0, 0]],
        "three readers": [[1, 1, 1], [1, 0, 1], [0, 0, 0], [0, 0, 0]], "one answer": [[1, 1], [1, 1]]})},
    **{f"correlations {r} of {n} and 0.5 of 100": asked(stats.compare_independent, r, n, 0.5, 100)
       for r, n in ((0.4, 4), (0.4, 3), (1, 10))},
    "correlations that cannot be": asked(stats.compare_overlapping, 0.9, 0.9, -0.9, 30),
    # --- Notebooks
    "a comparison in a notebook": in_notebook(lambda: dstbench.compare({
        "a": [*STATES, turn(NORTH, dialogue="E")], "b": [*STATES, turn({}, dialogue="E")]}, resamples=20)),
    "a convention in a notebook": in_notebook(lambda: dstbench.profile("star")),
    # --- Papers, and modules of the user's: later
    "a paper of models": paper(f"{' '.join(SEEDS)} -m jga,f1 {MODELS}", **{
        name.replace(".", "_"): text for name, text in SEEDS.items()}),
    "a paper, a profile": paper("keen.jsonl steady.jsonl -m jga --profile trade"),
    **{f"a paper, p adjusted by {how}": paper(f"keen.jsonl steady.jsonl hasty.jsonl -m jga,fga --adjust {how}")
       for how in ("holm", "hochberg", "bonferroni", "bh", "by", "max-t", "none")},
    "a paper of two runs and one metric": paper("keen.jsonl steady.jsonl -m jga"),
    **{f"a paper, turns missing: {how}": paper(f"p.jsonl --gold two.jsonl -m jga,f1 --missing {how}", p_jsonl=turns(
        "D1 0 > hotel-area=north, D2 0 > train-day=monday")) for how in ("wrong", "empty", "intersect")},
    **{f"a format of rows, {name}": on("alone score m.json -m jga --rows rows.toml", m_json=ROWS_FILE,
                                         rows_toml=ROW.replace(a, b)) for name, a, b in (
        ("as it is", "", ""), ("a word misspelled", "gold =", "golden ="), ("no name", 'name = "mine"\n', ""),
        ("no state", 'gold = "state:flat"\npred = "guess:flat"\n', ""), ("an odd name", "mine", "My Format"),
        ("a notation misspelled", "state:flat", "state:flatt"), ("a number", 'gold = "state:flat"', "gold = 3"))},
}  # fmt: skip
LATER: Final = ("a paper", "a format of rows")


def _said_by(command: str) -> str:
    """What a command says; `cat FILE` is what it wrote, `alone` runs what a process keeps in a process of its own."""
    first, *words = shlex.split(command)
    if first == "cat":
        return Path(words[0]).read_text("utf-8")
    if first == "alone":
        made = subprocess.run(  # noqa: S603 (our own command line)
            [sys.executable, "-m", "dstbench", *words],
            capture_output=True,
            encoding="utf-8",
            check=False,
            env=os.environ | {"COLUMNS": "400", "NO_COLOR": "1"},
        )
        code, out, err = made.returncode, made.stdout, made.stderr
    else:
        code, out, err = run(first, *words)
    assert "Traceback" not in err, err
    return f"{out}{err}" + (f"exit code {code}\n" if code else "")


def _called(ask: Callable[[], Any]) -> str:
    """What a call returns, warns of or is refused with."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = ask()
        except dstbench.DstbenchError as error:
            result = f"{type(error).__name__}: {error}"
    assert {warning.filename for warning in warned} <= {__file__}, "a warning has the place of its call"
    if isinstance(result, pl.DataFrame):
        result = "\n".join(recorded.columns({"result": result.to_dicts()}))
    text = "\n".join([*(f"warning: {warning.message}" for warning in warned), str(result)])
    return re.sub(r"\d+\.\d{7,}", lambda number: f"{float(number[0]):.6f}", text)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The small corpus, whose files are there if a command line names them."""
    home = tmp_path_factory.mktemp("corpus")
    small_corpus.write(home)
    return {path.name: path.read_text("utf-8") for path in home.iterdir()}


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.again) if name.startswith(LATER) else name for name in SITUATIONS
])  # fmt: skip
@pytest.mark.usefixtures("undrawn")
def test_what_is_said_in_a_rare_situation_is_as_recorded(name: str, here: Path, corpus: dict[str, str]) -> None:
    ask, files = SITUATIONS[name]
    if isinstance(ask, str):
        words = ask.replace("=", " ").split()
        files = {key: text for key, text in (corpus | SHARED).items() if key in words} | files
    for key, text in files.items():
        (here / key).parent.mkdir(parents=True, exist_ok=True)
        (here / key).write_text(text, encoding="utf-8")
    text = _called(ask) if callable(ask) else "".join(map(_said_by, ask.split(" && ")))
    text = text.replace(dstbench.__version__, "V")
    assert not any(words in text for words in OF_OTHERS)
    assert str(here) not in text
    recorded.check("rare", name, text)


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_a_run_has_the_same_scores_in_any_parts(here: Path, corpus: dict[str, str]) -> None:
    """As runs of more than some hundred thousand rows are scored part by part."""
    (here / "keen.jsonl").write_text(corpus["keen.jsonl"], encoding="utf-8")
    (whole,) = dstbench.open_runs("keen.jsonl")
    starts = (whole.read()["dialogue"].rle_id().diff() == 1).arg_true().to_list()
    in_parts = replace(whole, cuts=(0, *starts[7::8], whole.cuts[-1]))
    for by in ("run", "slot", "domain", "n_gold"):
        scores = [dstbench.score(of, metrics=None if by == "slot" else "all", by=by) for of in (whole, in_parts)]
        assert scores[0].equals(scores[1])
