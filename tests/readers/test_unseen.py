"""Layouts in the habits of public repositories: they are read as they are, or by the line that the error prints."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dstbench
from tests.records import quiet, table_of

State = dict[str, str]
TURNS: list[tuple[str, int, State, State]] = [
    ("MUL0012", 0, {"hotel-area": "north"}, {"hotel-area": "north"}),
    ("MUL0012", 1, {"hotel-area": "north", "hotel-stars": "4"}, {"hotel-area": "north", "hotel-stars": "3"}),
    ("PMUL4415", 0, {"train-day": "friday"}, {}),
    ("PMUL4415", 1, {"train-day": "friday", "train-leaveat": "09:15"}, {"train-day": "friday"}),
]


def _nested(state: State) -> dict[str, State]:
    domains: dict[str, State] = {}
    for slot, value in state.items():
        domain, _, name = slot.partition("-")
        domains.setdefault(domain, {})[name] = value
    return domains


def _lines(items: list[Any]) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


def _by_dialogue(write: Callable[[int, State, State], Any]) -> dict[str, list[Any]]:
    lists: dict[str, list[Any]] = {}
    for name, turn, gold, pred in TURNS:
        lists.setdefault(name, []).append(write(turn, gold, pred))
    return lists


def _pandas() -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["", "dialog", "turn_num", "history", "gt_state", "model_state"])
    for number, (name, turn, gold, pred) in enumerate(TURNS):
        writer.writerow([number, name, float(turn), "[user] hi, [sys] ok", gold, pred])
    return text.getvalue()


#: Text or document of each.
LAYOUTS: dict[str, Any] = {
    "a chat model's answers as JSON Lines": _lines([
        {"sample_id": f"{name}.json-{turn}", "messages": [{"role": "user", "content": "hi"}], "gold_state": gold,
         "response": f"Here is the state.\n```json\n{json.dumps(_nested(pred))}\n```"}
        for name, turn, gold, pred in TURNS
    ]),
    "a dataset of the Hub with states as text": _lines([
        {"dialogue_id": name, "turn_idx": turn, "input": "x", "label": json.dumps(gold), "prediction": json.dumps(pred)}
        for name, turn, gold, pred in TURNS
    ]),
    "a frame that pandas wrote as CSV": _pandas(),
    "a frame that pandas wrote as JSON": {
        column: {str(number): row[at] for number, row in enumerate(TURNS)}
        for at, column in enumerate(("dialogue_id", "turn_id", "gold", "pred"))
    },
    "columns": {
        "ids": [f"{name}-{turn}" for name, turn, *_ in TURNS], "golds": [gold for *_, gold, _ in TURNS],
        "preds": [pred for *_, pred in TURNS],
    },
    "dialogues with lists of pairs": [
        {"dial_id": name, "golds": [gold for gold, _ in sides], "preds": [pred for _, pred in sides]}
        for name, sides in _by_dialogue(lambda _, gold, pred: (
            [f"{slot}-{value}" for slot, value in gold.items()], [f"{slot}-{value}" for slot, value in pred.items()]
        )).items()
    ],
    "a table of slots": "dialogue_id\tturn_id\tslot\ttrue_value\tpred_value\n" + "".join(
        f"{name}\t{turn}\t{slot}\t{gold[slot]}\t{pred.get(slot, '')}\n"
        for name, turn, gold, pred in TURNS for slot in gold
    ),
    "words of their own": [
        {"conv": name, "step": turn, "oracle": gold, "tracker_out": pred} for name, turn, gold, pred in TURNS
    ],
    "words of their own, in dialogues": {"run": "x", "items": [
        {"conv": name, "exchanges": exchanges}
        for name, exchanges in _by_dialogue(lambda turn, gold, pred: {"n": turn, "oracle": gold, "ours": pred}).items()
    ]},
    "what is known apart from what is predicted": [
        {"metadata": {"dialogue_id": name, "turn": turn, "gold": gold}, "prediction": pred}
        for name, turn, gold, pred in TURNS
    ],
    "words of their own, as CSV": "conv;step;oracle;ours\n" + "".join(
        f"{name};{turn};{gold};{pred}\n" for name, turn, gold, pred in TURNS
    ),
    "function calls": [
        {"dialogue_id": name, "turn": turn, "gold": _nested(gold),
         "pred": [{"name": domain, "arguments": slots} for domain, slots in _nested(pred).items()]}
        for name, turn, gold, pred in TURNS
    ],
}  # fmt: skip
WANTED = [{"dialogue_id": name, "turn": turn, "gold": gold, "pred": pred} for name, turn, gold, pred in TURNS]
LINE = re.compile(r"--keys ([^ ;]+) (?:may be what it needs|takes that)")


@quiet
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_read_as_it_is_or_by_the_line_that_the_error_prints(name: str, here: Path) -> None:
    layout = LAYOUTS[name]
    Path("run").write_text(layout if isinstance(layout, str) else json.dumps(layout))
    said = ""
    try:
        table = table_of("run")
    except dstbench.DstbenchError as error:
        said = error.args[0]
    if said:
        line = LINE.search(said)
        assert line is not None, said
        table = table_of("run", keys=dict(pair.split("=") for pair in line[1].split(",")))
    assert table.equals(table_of(WANTED))


@quiet
def test_keys_say_where_turns_are(here: Path) -> None:
    dialogues = [
        {"conv": name, "turn_details": turns}
        for name, turns in _by_dialogue(lambda _, gold, pred: {"truth_st": gold, "ours": pred}).items()
    ]
    Path("run").write_text(json.dumps({"runs": {"first": dialogues}}))
    keys = {"id": "conv", "turns": "turn_details", "gold": "truth_st", "pred": "ours"}
    assert table_of("run", keys=keys).equals(table_of(WANTED))
    with pytest.raises(dstbench.DstbenchError, match="no object has the key 'turn_detail'"):
        table_of("run", keys={**keys, "turns": "turn_detail"})
