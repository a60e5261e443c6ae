"""Answers of language models in what programs put around them: they are read as records without it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dstbench
from tests.corpora import EXAMPLE
from tests.formats import _nested as nested
from tests.records import notes_of, quiet, table_of

GOLD = [{key: turn[key] for key in ("dialogue_id", "turn", "gold")} for turn in EXAMPLE]


def _openai(name: str, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    body = {"id": "x", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "message": message}]}
    return {"id": "batch_1", "custom_id": name, "response": {"status_code": 200, "body": body}, "error": None}


def _responses(name: str, text: str) -> dict[str, Any]:
    parts = [
        {"type": "reasoning", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": text}]},
    ]
    return {"custom_id": name, "response": {"status_code": 200, "body": {"id": "x", "output": parts}}, "error": None}


def _anthropic(name: str, text: str) -> dict[str, Any]:
    message = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": text}]}
    return {"custom_id": name, "result": {"type": "succeeded", "message": message}}


def _lm_eval(name: str, text: str) -> dict[str, Any]:
    doc = {"id": name, "prompt": "What is the state?"}
    return {"doc_id": 0, "doc": doc, "target": "{}", "resps": [[text]], "filtered_resps": [text], "jga": 1.0}


@pytest.mark.parametrize("written", [_openai, _responses, _anthropic, _lm_eval])
@pytest.mark.parametrize("ids", ["{}-{}", "{}_{}", "{}.json-turn{}"])
@quiet
def test_answers_are_predictions(written: Callable[[str, str], dict[str, Any]], ids: str, here: Path) -> None:
    states = [json.dumps(turn["pred"]) for turn in EXAMPLE[:1]] + [
        f"```json\n{json.dumps(nested(turn['pred']))}\n```" for turn in EXAMPLE[1:]
    ]
    items = [
        written(ids.format(turn["dialogue_id"], turn["turn"]), state)
        for turn, state in zip(EXAMPLE, states, strict=True)
    ]
    wanted = table_of(EXAMPLE)
    Path("p").write_text("".join(json.dumps(item) + "\n" for item in items))
    assert table_of("p", gold=GOLD).equals(wanted)
    Path("p").write_text(json.dumps(items))
    assert table_of("p", gold=GOLD).equals(wanted)
    assert table_of(iter(items), gold=GOLD).equals(wanted)


@quiet
def test_a_request_that_failed_has_no_prediction(here: Path) -> None:
    one, other = (_openai(f"{turn['dialogue_id']}-{turn['turn']}", json.dumps(turn["pred"])) for turn in EXAMPLE)
    for failed in (
        {"response": None, "error": {"code": "x"}},
        {"response": {"status_code": 500, "body": {"error": {}}}},
    ):
        for items in ([one, {**other, **failed}], [{**one, **failed}, other]):
            Path("p.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
            with pytest.raises(dstbench.DstbenchError, match="1 gold turn without a prediction"):
                dstbench.scan("p.jsonl", gold=GOLD)


def test_what_was_taken_is_told() -> None:
    items = [_openai(f"{turn['dialogue_id']}-{turn['turn']}", json.dumps(turn["pred"])) for turn in EXAMPLE]
    assert notes_of(items, gold=GOLD)[0] == "keys used: custom_id as dialogue and turn, output as pred"


def test_what_is_no_state_is_refused() -> None:
    turn = {"id": "SNG1", "turn": 0, "gold": {"hotel-area": "north"}}
    with pytest.raises(dstbench.DstbenchError, match="output: a function call, where a state must be"):
        dstbench.scan([{**turn, "output": {"name": "find_hotel", "arguments": {"area": "north"}}}])
    with (
        pytest.raises(dstbench.DstbenchError, match="gold but no predictions"),
        pytest.warns(dstbench.DstbenchWarning, match=r"no states in output, such as 'I think: north\.'"),
    ):
        dstbench.scan([{**turn, "output": "I think: north."}])
