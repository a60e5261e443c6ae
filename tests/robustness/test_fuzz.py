"""Every format's example, damaged in every way: read to states that hold together, or refused in one message.

`fuzz_readers` does the same for hours, guided by coverage, and this does under ``HYPOTHESIS_PROFILE=long``. What either
has found, or might have, is kept in ``corpus/``, each file called after its format and what is wrong with it.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from dstbench.readers import FORMATS
from dstbench.readers.states import Side, States
from tests import formats
from tests.fuzz_readers import SECONDS, TURNS, examine
from tests.paths import ROOT

CORPUS = ROOT / "tests" / "corpus"
ALL = formats.WITH_BOTH | formats.ONLY_PRED | formats.ONLY_GOLD | formats.RESTAURANT | formats.MARKS
#: Formats that are lines of fields.
NO_JSON = ("star-tsv", "sumbt-tsv", "woz-tsv", "ldst", "csv")
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
    if name.partition(" ")[0] not in NO_JSON and draw(st.booleans()):
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
@given(data=st.data())
def test_a_damaged_file_is_read_as_a_whole_or_refused(name: str, data: st.DataObject) -> None:
    content = data.draw(damaged(name))
    _examined(content, data.draw(st.sampled_from([None, name.partition(" ")[0]])))


@pytest.mark.parametrize("name", ALL)
def test_an_example_itself_is_read(name: str) -> None:
    assert _examined(ALL[name]().encode(), None) == name.partition(" ")[0]


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_what_is_kept_is_read_as_a_whole_or_refused(path: Path) -> None:
    name = path.name.partition(" ")[0]
    _examined(path.read_bytes(), None)  # it may well look like another format
    found = _examined(path.read_bytes(), name)
    assert found == name or found.startswith("refused: ")


@pytest.mark.parametrize("name", formats.WITH_BOTH)
@settings(max_examples=settings.default.max_examples // 4 if settings.default else 15)
@given(data=st.data())
@pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")
def test_what_is_read_is_written_read_again_and_scored_alike(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("again")
    (folder / "file").write_bytes(data.draw(damaged(name)))
    try:
        run = dstbench.open_runs(folder / "file", missing="wrong")[0]
    except dstbench.DstbenchError:
        return
    dstbench.write_long(run, folder / "file.parquet")
    again = dstbench.open_runs(folder / "file.parquet")[0]
    assert again.table.collect().equals(run.table.collect())
    assert (again.meta, again.cuts) == (run.meta, run.cuts)
    told = [dstbench.score([one], metrics="jga,f1,fga,gca").drop("run") for one in (run, again)]
    assert told[0].equals(told[1])


#: What made readers slow, or might: much of what they look for, and nothing else.
TIRING = [
    "-",
    " ",
    "][",
    "|||",
    "[hotel] ",
    "hotel-",
    "hotel book day ",
    "\\",
    '"',
    "{",
    ", ",
    "\n",
    "\t",
    "\0",
    "a|",
    "é",
]


@pytest.mark.parametrize("name", ALL)
def test_long_strings_take_no_long_time(name: str) -> None:
    """In the place of the example's strings, one after the other: what takes the square of the length is found."""
    text = ALL[name]()
    form = name.partition(" ")[0]
    if form in NO_JSON:
        for tiring in TIRING:
            _examined((text[: len(text) // 2] + tiring * 20_000 + text[len(text) // 2 :]).encode(), form)
        return
    try:
        document = json.loads(text)
    except ValueError:
        document = json.loads(text.splitlines()[0])
    paths = [path for path in _paths(document) if path and isinstance(_at(document, path), str)]
    for number, tiring in enumerate(TIRING if paths else []):  # one format has but numbers
        path = paths[number % len(paths)]
        holder = _at(document, path[:-1])
        kept, holder[path[-1]] = holder[path[-1]], tiring * 20_000
        _examined(json.dumps(document).encode(), form)
        holder[path[-1]] = kept


def _at(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


@pytest.mark.parametrize("name", [name for name in ALL if name.partition(" ")[0] in TURNS])
def test_a_reader_that_loses_a_turn_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form = FORMATS[name.partition(" ")[0]]

    def less(states: States) -> States:
        gold, pred = (side and Side(side.turns.head(1), side.cells.filter(at=0)) for side in (states.gold, states.pred))
        return replace(states, gold=gold, pred=pred)

    def lossy(read: States) -> States:
        read = form.finish(read) if form.finish else read
        complete = read.complete
        return replace(read, complete=lambda gold: less(complete(gold))) if complete else less(read)

    monkeypatch.setitem(FORMATS, form.name, replace(form, finish=lossy))
    with pytest.raises(AssertionError, match=r"^1 turns"):
        examine(ALL[name]().encode())
