"""Every format's example, damaged in every way: read to states that hold together, or refused in one message.

`fuzz_readers` does the same for hours, guided by coverage, and this does under ``HYPOTHESIS_PROFILE=long``. What either
has found, or might have, is kept in ``corpus/``, each file called after its format and what is wrong with it.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from dstbench.readers import FORMATS
from dstbench.readers.states import Side, States
from dstbench.testing.damage import at_path, damaged, paths
from tests import formats
from tests.fuzz_readers import SECONDS, TURNS, examine
from tests.paths import ROOT

CORPUS = ROOT / "tests" / "corpus"
ALL = formats.WITH_BOTH | formats.ONLY_PRED | formats.ONLY_GOLD | formats.RESTAURANT | formats.MARKS


def _examined(content: bytes, form: str | None) -> str:
    start = time.perf_counter()
    found = examine(content, form)
    assert time.perf_counter() - start < SECONDS
    return found


@st.composite
def damages(draw: st.DrawFn, name: str) -> bytes:
    """The example with bytes changed or cut, or a place of its JSON."""
    return damaged(ALL[name]().encode(), lambda options: draw(st.sampled_from(options)))


@pytest.mark.parametrize("name", ALL)
@given(data=st.data())
def test_a_damaged_file_is_read_as_a_whole_or_refused(name: str, data: st.DataObject) -> None:
    content = data.draw(damages(name))
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
    (folder / "file").write_bytes(data.draw(damages(name)))
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
    if form in ("star-tsv", "sumbt-tsv", "woz-tsv", "ldst", "csv"):
        for tiring in TIRING:
            _examined((text[: len(text) // 2] + tiring * 20_000 + text[len(text) // 2 :]).encode(), form)
        return
    try:
        document = json.loads(text)
    except ValueError:
        document = json.loads(text.splitlines()[0])
    places = [path for path in paths(document) if path and isinstance(at_path(document, path), str)]
    for number, tiring in enumerate(TIRING if places else []):  # one format has but numbers
        path = places[number % len(places)]
        holder = at_path(document, path[:-1])
        kept, holder[path[-1]] = holder[path[-1]], tiring * 20_000
        _examined(json.dumps(document).encode(), form)
        holder[path[-1]] = kept


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
