"""What is asked of any bytes that a reader is given: states that hold together, or one message that refuses them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl

#: The longest that one input may take.
SECONDS = 10


def _lines(text: str) -> list[Any]:
    try:
        return [_document(text)]
    except ValueError:
        return [json.loads(line) for line in text.removeprefix("\ufeff").split("\n") if line.strip()]


def _document(text: str) -> Any:
    return json.loads(text.removeprefix("\ufeff"))


def _nested(text: str) -> int:
    return sum(len(turns) for turns in _document(text).values())


def _listed(text: str) -> int:
    return len(_document(text))


def _own(text: str) -> int:
    return _listed(text) if text.lstrip("\ufeff \t\r\n").startswith("[") else len(_lines(text))


def _placed(text: str) -> int:
    parts = [line.split("|||") for line in text.split("\n") if line.strip()]
    return len({(part[0].strip(), part[1], int(part[2]) // 2) for part in parts})


def _spoken(text: str) -> int:
    """Turns of the user, in dialogues that hold both speakers'."""
    document = _document(text)
    dialogues = document.values() if isinstance(document, dict) else document
    return sum(turn["speaker"].lower() == "user" for dialogue in dialogues for turn in dialogue["turns"])


def _table(text: str) -> int:
    return sum(1 for line in text.split("\n") if line.strip("\r") and not line.startswith("#"))


#: How many turns a file holds, counted in the plainest way: a reader that says another number has lost some. A format
#: that is not here is not checked for that.
TURNS: dict[str, Callable[[str], int]] = {
    "jsonl": _own,
    "gtpr": _nested,
    "trade": _nested,
    "fga-trippy": _nested,
    "t5dst": lambda text: sum(len(dialogue["turns"]) for dialogue in _document(text).values()),
    "som": _listed,
    "star": _listed,
    "ldst": _placed,
    "simpletod": lambda text: sum(len(d["target_turn_belief"]) for d in _document(text).values()),
    "parlai": lambda text: sum(len(line["dialog"]) for line in _lines(text)),
    "checkdst": lambda text: len(_lines(text)),
    "pptod": _nested,
    "fnctod": _nested,
    "kage": _listed,
    "convlab": _listed,
    "icdst": _listed,
    "trippy": _listed,
    "mwzeval": lambda text: sum("state" in turn for turns in _document(text).values() for turn in turns),
    "savn": lambda text: sum(len(turns) for turns in _document(text)["predictions"].values()),
    "dstc10": _listed,
    "star-tsv": _table,
    "sumbt-tsv": _table,
    "trade-gold": lambda text: sum(len(dialogue["dialogue"]) for dialogue in _document(text)),
    "t5dst-gold": lambda text: sum(len(dialogue["turns"]) for dialogue in _document(text)),
    "simpletod-gold": lambda text: sum(len(dialogue["bstate"]) for dialogue in _document(text).values()),
    "multiwoz": lambda text: sum(len(dialogue["log"]) // 2 for dialogue in _document(text).values()),
    "sgd": _spoken,
    "convlab-gold": _spoken,
    "woz": lambda text: sum(len(dialogue["dialogue"]) for dialogue in _document(text)),
    "glad": lambda text: sum(len(d.get("turns", d.get("dialogue"))) for d in _document(text)["dialogues"]),
    "woz-tsv": _table,
    "simulated": lambda text: sum(len(dialogue["turns"]) for dialogue in _document(text)),
    "risawoz": lambda text: sum(len(dialogue["dialogue"]) for dialogue in _document(text)),
    "dstc2-gold": lambda text: len(_document(text)["turns"]),
    "dstc2": lambda text: sum(len(session["turns"]) for session in _document(text)["sessions"]),
    "state-lists": _nested,
}
#: Formats of which no value is put together from pieces or comes from gold, so that each, or each of its alternatives,
#: stands in the file as it is.
VERBATIM = frozenset(TURNS) - {
    "trippy", "pptod", "fnctod", "dstc10", "ldst", "fga-trippy",
    "multiwoz", "sgd",  # lists are joined
}  # fmt: skip


def examine(content: bytes, form: str | None = None) -> str:
    """Read these bytes, as `form` or as what they look like; returns the format, or what was refused.

    Raises:
        AssertionError: The states do not hold together.
        Exception: Any but `DstbenchError` is a fault, too.
    """
    from dstbench.errors import DstbenchError
    from dstbench.readers import Source, read
    from dstbench.readers.records import from_memory
    from dstbench.runs.align import to_long
    from tests.corpora import EXAMPLE

    source = Source("any")
    source.__dict__["raw"] = content.removeprefix(b"\xef\xbb\xbf") or b" "
    text = content.decode(errors="replace")  # what TripPy's reader passes over may be anything
    try:
        states = read(source, form)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if states.complete is None:
                is_whole(states, text)
                if states.pred is not None and states.gold is not None:
                    to_long(states, states if states.either else None, missing="wrong")
            else:
                place = pl.DataFrame({"dialogue": ["MUL7001"], "file": ["dialogues_001.json"], "position": [0]})
                gold = replace(from_memory(EXAMPLE, "example"), places=place.cast({"position": pl.UInt32}))
                is_whole(states.complete(gold), text)
    except DstbenchError as error:
        return f"refused: {error.what}"
    return states.format


def holds_together(states: Any) -> None:
    """Every cell belongs to a turn, and no turn or slot is there twice."""
    from dstbench.readers.states import sides_of

    assert sides_of(states), "there is neither gold nor prediction"
    for side in sides_of(states):
        at = side.cells["at"]
        for rule, is_kept in {
            "the columns of turns are dialogue (String) and turn (UInt16)": side.turns.schema
            == {"dialogue": pl.String, "turn": pl.UInt16},
            "there is a turn": side.turns.height > 0,
            "no turn lacks its dialogue or number": not any(column.null_count() for column in side.turns),
            "no turn is there twice": not side.turns.is_duplicated().any(),
            "the columns of cells are at, slot and value": side.cells.columns == ["at", "slot", "value"],
            "no cell lacks anything": not any(column.null_count() for column in side.cells),
            "each cell is of a turn": at.filter(at >= side.turns.height).is_empty(),
            "no slot is twice in a turn": not side.cells.select("at", "slot").is_duplicated().any(),
        }.items():
            assert is_kept, f"not so: {rule}"


def is_whole(states: Any, text: str) -> None:
    """The states hold together, and nothing of `text` is lost or made up."""
    holds_together(states)
    sides = [side for side in (states.gold, states.pred) if side is not None]
    turns = len({turn for side in sides for turn in side.turns.iter_rows()})
    if states.format in TURNS:
        assert turns == TURNS[states.format](text), f"{turns} turns"
    if states.format in VERBATIM:
        there = text if "tsv" in states.format else "\0".join(_strings(text))
        for side in sides:
            for value in {*side.cells["value"].to_list()}:
                parts = [value] if value in there else value.split("|")
                assert all(part in there for part in parts), f"{value!r} is in no string"


def _strings(text: str) -> list[str]:
    """Every string in JSON, or in JSON Lines, and every number and boolean as it is written; 4.0 is 4."""
    waiting = _lines(text)
    found: list[str] = []
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, (int, float)):
            found.append(json.dumps(item).removesuffix(".0"))
    return found
