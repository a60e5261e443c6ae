"""Every format's example, damaged in every way: read to states that hold together, or refused in one message.

For a minute, or for hours under ``HYPOTHESIS_PROFILE=long``. What was found, or might be, is kept in ``corpus/``,
each file called after its format and what is wrong with it.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from itertools import chain, cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import dstbench
from tests import formats
from tests.damage import at_path, damaged, paths
from tests.fuzz_readers import SECONDS, examine
from tests.paths import ROOT

pytestmark = pytest.mark.fuzz

CORPUS = ROOT / "tests" / "corpus"
ALL = formats.WITH_BOTH | formats.ONLY_PRED | formats.ONLY_GOLD | formats.RESTAURANT | formats.MARKS


def _examined(content: bytes, form: str | None) -> str:
    start = time.perf_counter()
    found = examine(content, form)
    assert time.perf_counter() - start < SECONDS
    return found


EXAMPLES = (settings.default or settings()).max_examples
SEEDS = st.integers(0, 2**64 - 1)


def damages(name: str, seed: int, count: int = 4) -> Iterator[bytes]:
    """The example with bytes changed or cut, or a place of its JSON, in several ways.

    To let Hypothesis draw each of them would take half as long as to read it, and more would be the same, or no JSON.
    """
    content, rng = ALL[name]().encode(), random.Random(f"{name} {seed}")  # noqa: S311 (not for secrets)
    for _ in range(count):
        changed = damaged(content, rng.choice)
        note(repr(changed))  # the last that is noted is the one that failed
        yield changed


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=EXAMPLES // 5)
@given(seed=SEEDS)
def test_a_damaged_file_is_read_as_a_whole_or_refused(name: str, seed: int) -> None:
    for number, content in enumerate(damages(name, seed)):
        _examined(content, [None, name.partition(" ")[0]][(seed + number) % 2])


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("document", [None, 9, "x", [], {}, [9], [[]], {"a": None}], ids=json.dumps)
def test_another_document_is_read_as_a_whole_or_refused(name: str, document: Any) -> None:
    """Which damage at random seldom makes of a file."""
    for form in (None, name.partition(" ")[0]):
        _examined(json.dumps(document).encode(), form)


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_what_is_kept_is_read_as_a_whole_or_refused(path: Path) -> None:
    name = path.name.partition(" ")[0]
    _examined(path.read_bytes(), None)  # it may well look like another format
    found = _examined(path.read_bytes(), name)
    assert found == name or found.startswith("refused: ")


@pytest.mark.parametrize("name", formats.WITH_BOTH)
@settings(max_examples=max(EXAMPLES // 12, 1))
@given(seed=SEEDS)
@pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")
def test_what_is_read_is_written_read_again_and_scored_alike(
    name: str, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("again")
    for content in damages(name, seed, count=3):
        (folder / "file").write_bytes(content)
        try:
            run = dstbench.open_runs(folder / "file", missing="wrong")[0]
        except dstbench.DstbenchError:
            continue
        dstbench.write_long(run, folder / "file.parquet")
        again = dstbench.open_runs(folder / "file.parquet")[0]
        assert again.table.collect().equals(run.table.collect())
        assert (again.meta, again.cuts) == (run.meta, run.cuts)
        told = [dstbench.score([one], metrics="jga,f1,fga,gca").drop("run") for one in (run, again)]
        assert told[0].equals(told[1])


#: What made readers slow, or might: much of what they look for, and nothing else. The last ones are what JSON escapes:
#: their files may be read in another way.
TIRING = [
    ["-", " ", "][", "|||", "[hotel] "],
    ["hotel-", "hotel book day ", "{", ", ", "a|"],
    ["\\", '"', "\n", "\t", "\0", "é"],
]


@pytest.mark.parametrize("name", ALL)
def test_long_strings_take_no_long_time(name: str) -> None:
    """In the place of the example's strings: what takes the square of the length is found.

    Several stand in one file, in one place each; if it is refused for one of them, each stands in a file of its own.
    """
    text = ALL[name]()
    form = name.partition(" ")[0]
    if form in ("star-tsv", "sumbt-tsv", "woz-tsv", "ldst", "csv"):
        for tiring in chain(*TIRING):
            _examined((text[: len(text) // 2] + tiring * 20_000 + text[len(text) // 2 :]).encode(), form)
        return
    try:
        document = json.loads(text)
    except ValueError:
        document = json.loads(text.splitlines()[0])
    places = [path for path in paths(document) if path and isinstance(at_path(document, path), str)]
    in_turn = cycle(places)
    for group in TIRING if places else []:  # one format has but numbers
        placed = [(next(in_turn), tiring * 20_000) for tiring in group]
        for at in range(0, len(placed), len(places)):
            several = placed[at : at + len(places)]
            if _examined(_replaced(document, several), form).startswith("refused: ") and len(several) > 1:
                for one in several:
                    _examined(_replaced(document, [one]), form)


def _replaced(document: Any, strings: list[tuple[tuple[Any, ...], str]]) -> bytes:
    """JSON with these strings at these paths."""
    document = json.loads(json.dumps(document))
    for (*above, key), text in strings:
        at_path(document, above)[key] = text
    return json.dumps(document).encode()
