"""Every format's example, damaged in every way: read to states that hold together, or refused in one message.

`fuzz_readers` does the same for hours, guided by coverage.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dstbench.readers import FORMATS, Source
from dstbench.states import Side, States
from tests import formats
from tests.fuzz_readers import SECONDS, TURNS, examine

ALL = formats.WITH_BOTH | formats.ONLY_PRED | formats.ONLY_GOLD | formats.RESTAURANT | formats.MARKS
#: What may stand where something else is meant.
STRANGE: list[Any] = [
    None, True, 0, -1, 65_536, 10**30, 0.5, "", "x", "none", "D_0", "hotel-area", "\ud7ff", "|||", "][", "§§none", [],
    {}, [[]], {"": ""}, ["x", "y"], {"hotel": {"area": "east"}}, [1, 0], {"a": None},
]  # fmt: skip


def _examined(content: bytes, form: str | None) -> str:
    start = time.perf_counter()
    found = examine(content, form)
    assert time.perf_counter() - start < SECONDS
    return found


def _paths(document: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    return [at, *(path for key, value in inner for path in _paths(value, (*at, key)))]


@st.composite
def _swapped(draw: st.DrawFn, document: Any) -> Any:
    """A document with something else, something twice or nothing in one place."""
    document = json.loads(json.dumps(document))
    path = draw(st.sampled_from(_paths(document)))
    if not path:
        return draw(st.sampled_from(STRANGE))
    *above, key = path
    holder = document
    for step in above:
        holder = holder[step]
    way = draw(st.sampled_from(["other", "gone", "renamed"]))
    if way == "other":
        holder[key] = draw(st.sampled_from(STRANGE))
    elif way == "gone":
        del holder[key]
    elif isinstance(holder, dict):
        holder[draw(st.sampled_from(["", "x", "0", "01", "D_7", "hotel-area", "hotel day"]))] = holder.pop(key)
    else:
        holder.append(holder[key])
    return document


@st.composite
def damaged(draw: st.DrawFn, name: str) -> bytes:
    """The example with bytes changed or cut, or a place of its JSON."""
    text = ALL[name]()
    if name not in ("star-tsv", "sumbt-tsv", "woz-tsv", "ldst") and draw(st.booleans()):
        try:
            return json.dumps(draw(_swapped(json.loads(text)))).encode()
        except ValueError:  # JSON Lines
            lines = [json.loads(line) for line in text.splitlines()]
            lines = draw(_swapped(lines).filter(lambda found: isinstance(found, list)))
            return "".join(json.dumps(line) + "\n" for line in lines).encode()
    content = bytearray(text.encode())
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(content)))
        end = min(len(content), at + draw(st.sampled_from([0, 1, 1, 2, 40, len(content)])))
        content[at:end] = draw(
            st.binary(max_size=2) | st.sampled_from([b"{", b"}", b"]", b'"', b"\t", b"\n", b"|||", b"-"])
        )
    return bytes(content)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=80)
@given(data=st.data())
def test_a_damaged_file_is_read_as_a_whole_or_refused(name: str, data: st.DataObject) -> None:
    content = data.draw(damaged(name))
    _examined(content, data.draw(st.sampled_from([None, name.partition(" ")[0]])))


@pytest.mark.parametrize("name", ALL)
def test_an_example_itself_is_read(name: str) -> None:
    assert _examined(ALL[name]().encode(), None) == name.partition(" ")[0]


def test_the_turns_of_every_format_are_counted() -> None:
    assert FORMATS.keys() == TURNS.keys()


@pytest.mark.parametrize("name", ALL)
def test_a_reader_that_loses_a_turn_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form = FORMATS[name.partition(" ")[0]]

    def less(states: States) -> States:
        gold, pred = (side and Side(side.turns.head(1), side.cells.filter(at=0)) for side in (states.gold, states.pred))
        return replace(states, gold=gold, pred=pred)

    def lossy(source: Source) -> States:
        read = form.read(source)
        complete = read.complete
        return replace(read, complete=lambda gold: less(complete(gold))) if complete else less(read)

    monkeypatch.setitem(FORMATS, form.name, replace(form, read=lossy))
    with pytest.raises(AssertionError, match=r"^1 turns"):
        examine(ALL[name]().encode())
