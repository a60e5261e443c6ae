"""Files whose structure is damaged: an answer that differs is right, or refused, or a note says what is wrong.

Types are swapped; keys renamed, cased and repeated; values emptied and nested. A value of a state that is still in the
file, and in no state any more, is lost: then there has to be an error, or a note.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final, NamedTuple

import polars as pl
import pytest

from dstbench.errors import DstbenchError
from dstbench.readers import Source, read
from dstbench.readers.records import from_memory
from dstbench.readers.states import Side, States
from dstbench.schema.core import BETWEEN
from tests import formats
from tests.corpora import EXAMPLE
from tests.damage import at_path, paths

pytestmark = pytest.mark.fuzz

ALL = formats.WITH_BOTH | formats.ONLY_PRED | formats.ONLY_GOLD | formats.RESTAURANT | formats.MARKS
#: Files damaged per format; by hand, 2,500 of each were tried (``DAMAGED_FILES=2500``).
FILES: Final = int(os.environ.get("DAMAGED_FILES", "40"))
#: What separates the cells of formats that are tables.
_SEPARATORS: Final = {
    "csv": ",",
    "csv (slots)": ";",
    "ldst": "|||",
    "star-tsv": "\t",
    "sumbt-tsv": "\t",
    "woz-tsv": "\t",
}
#: Places whose damage means something else, by the format's definition: without the best goal, or with other scores,
#: other values are best; a row with another turn is of that turn, which may have its value already.
_MEANT: Final = {
    "dstc2": r"goal-labels-joint$|goal-labels / [a-z]+ / [a-z]+$|score$",
    "csv (slots)": r"\d / 1$",
    "ldst": r"\d / 2$",
}
_WAYS: Final = ("type", "renamed", "cased", "repeated", "emptied", "nested", "unnested", "spelled")
_AGAIN: Final = "§again§"  # stands for a key that is repeated


class Answer(NamedTuple):
    """What is read: of gold and of the predictions, the values of each turn's state, and the notes."""

    states: dict[str, dict[tuple[str, int], Counter[str]]]
    notes: frozenset[str]


def answer(content: bytes, form: str | None) -> Answer | None:
    """What is read from these bytes; None: they are refused."""
    source = Source("any")
    source.__dict__["raw"] = content or b" "
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            states = read(source, form)
            if states.complete is not None:
                states = states.complete(_gold())
        except DstbenchError:
            return None
    notes = {*states.notes, *(str(warning.message) for warning in caught)}
    sides = {name: side for name in ("gold", "pred") if (side := getattr(states, name)) is not None}
    return Answer({name: _values(side) for name, side in sides.items()}, frozenset(notes))


def _values(side: Side) -> dict[tuple[str, int], Counter[str]]:
    values: dict[tuple[str, int], Counter[str]] = {turn: Counter() for turn in side.turns.iter_rows()}
    turns = [*values]
    for at, value in zip(side.cells["at"], side.cells["value"].to_list(), strict=True):
        values[turns[at]].update(value.split(BETWEEN))
    return values


@cache
def _gold() -> States:
    place = pl.DataFrame({"dialogue": ["MUL7001"], "file": ["dialogues_001.json"], "position": [0]})
    return replace(from_memory(EXAMPLE, "example"), places=place.cast({"position": pl.UInt32}))


def texts(document: Any) -> Iterator[str]:
    """All strings, numbers and keys in JSON, as texts."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield key
            yield from texts(value)
    elif isinstance(document, list):
        for item in document:
            yield from texts(item)
    elif document is not None:
        yield document if isinstance(document, str) else json.dumps(document)


def decoded(name: str) -> list[Any]:
    """The documents of a format's example; of a table, its rows."""
    text = ALL[name]()
    separator = _SEPARATORS.get(name)
    if separator is None:
        try:
            return [json.loads(text)]
        except ValueError:
            return [json.loads(line) for line in text.splitlines()]
    rows = csv.reader(io.StringIO(text), delimiter=separator) if "csv" in name else None
    return [*rows] if rows else [line.split(separator) for line in text.splitlines()]


def encoded(name: str, documents: Sequence[Any]) -> bytes:
    """A file of these documents, in which a key that is marked is there twice."""
    separator = _SEPARATORS.get(name)
    if separator is None:
        return "\n".join(map(json.dumps, documents)).replace(json.dumps(_AGAIN)[1:-1], "").encode()
    rows = [list(map(str, row)) if isinstance(row, list) else [str(row)] for row in documents]
    if "csv" not in name:
        return "".join(separator.join(row) + "\n" for row in rows).encode()
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator).writerows(rows)
    return stream.getvalue().encode()


def restructured(documents: Sequence[Any], rng: random.Random) -> tuple[str, list[Any]]:
    """What is done to the documents in one place, or wherever there is the same key; and the documents then."""
    documents = json.loads(json.dumps(documents))
    places = [path for path in paths(documents) if len(path) > 1]
    place = rng.choice(places)
    way, kind = rng.choice(_WAYS), rng.randrange(6)
    everywhere = isinstance(place[-1], str) and rng.random() < 0.5
    alike = [path for path in places if path[-1] == place[-1]] if everywhere else [place]
    for path in sorted(alike, key=len, reverse=True):  # those within others first
        _damage(at_path(documents, path[:-1]), path[-1], way, kind)
    return f"{way} {kind}{' everywhere' * everywhere}: {' / '.join(map(str, place))}", list(documents)


def _damage(holder: Any, key: Any, way: str, kind: int) -> None:
    """Damage what stands at a key of an object, or at an index of a list; each way has six kinds."""
    value = holder[key]
    if way == "type":
        holder[key] = [str(value), [value], {"value": value}, 0, True, None][kind]
    elif way == "emptied":
        holder[key] = ["", [], {}, None, [[]], [{}]][kind]
    elif way == "nested":
        holder[key] = [[value], {"x": value}, {str(key): value}, [[value]], {"": value}, [value, value]][kind]
    elif way == "unnested" and isinstance(value, dict) and isinstance(holder, dict):
        del holder[key]
        holder.update(value)
    elif way == "unnested" and isinstance(value, (dict, list)) and value:
        holder[key] = next(iter(value.values() if isinstance(value, dict) else value))
    elif way == "spelled" and isinstance(value, str):
        holder[key] = [value.upper(), value.lower(), value.title(), f" {value}", f"{value}s", value[:-1]][kind]
    elif isinstance(holder, list):
        holder.insert(key + kind % 2, [value, value, None, "", value, {}][kind])  # what follows is of the next turn
    elif way in ("renamed", "cased", "repeated"):
        other = {
            "renamed": (f"{key}s", f"_{key}", key[:-1], f"{key} ", key.replace("_", "-"), f"x.{key}"),
            "cased": (key.upper(), key.lower(), key.title(), key.capitalize(), key.swapcase(), key.replace("_", "")),
            "repeated": (_AGAIN + key,) * 6,
        }[way][kind]
        items = [*holder.items()]
        at = list(holder).index(key)
        if way == "repeated":
            items.insert(at + kind % 2, (other, ["x", {}, [], None, 7, value][kind]))
        else:
            items[at] = other, value
        holder.clear()
        holder.update(items)


def fault(name: str, seed: int) -> str | None:
    """What is wrong with the answer for a damaged file; None: nothing."""
    before = decoded(name)
    what, after = restructured(before, random.Random(seed))  # noqa: S311 (not for secrets)
    changed = encoded(name, after)
    if changed == encoded(name, before) or (name in _MEANT and re.search(_MEANT[name], what)):
        return None
    form = [None, name.partition(" ")[0]][seed % 2]
    wanted, got = undamaged(name, form), answer(changed, form)
    if got is None or wanted is None:
        return None
    if got.notes - wanted.notes or not got.states.keys() >= wanted.states.keys():
        return None  # a note says so; without a side, there is no score
    there = Counter(texts(after))
    gone = "\0".join((Counter(texts(before)) - there).elements())
    for side, turns in wanted.states.items():
        fewer = sum(turns.values(), Counter()) - sum(got.states[side].values(), Counter())  # not only in another turn
        for turn in turns.keys() & got.states[side].keys():  # turns that one side lacks are named in scores
            for value in fewer & (turns[turn] - got.states[side][turn]):
                if squeezed(value) in squeezed("\0".join(there)) and squeezed(value) not in squeezed(gone):
                    return f"{what}: {side} loses {value!r} in turn {turn}"
    if f'"{_AGAIN}' in json.dumps(after, ensure_ascii=False) and got != wanted:
        return f"{what}: not refused"
    return None


def squeezed(text: str) -> str:
    """A text without spaces, as some formats write values with spaces between their parts."""
    return text.replace(" ", "")


@cache
def undamaged(name: str, form: str | None) -> Answer | None:
    return answer(ALL[name]().encode(), form)


@pytest.mark.parametrize("name", ALL)
def test_an_answer_for_a_damaged_structure_is_right_or_refused_or_noted(name: str) -> None:
    assert undamaged(name, None) is not None
    faults = [said for seed in range(FILES) if (said := fault(name, seed))]
    assert faults == []
