"""The laws of formats: those that are built in keep them, and each is broken by one here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dstbench.readers import FORMATS, Format, Source
from dstbench.readers.format import StatesBuilder
from dstbench.testing import check_format
from tests import formats
from tests.commands import run
from tests.paths import ROOT

ALL = formats.WITH_BOTH | formats.ONLY_PRED | formats.ONLY_GOLD | formats.RESTAURANT | formats.MARKS


@pytest.mark.fuzz
@pytest.mark.parametrize("name", ALL)
def test_every_built_in_format_keeps_them(name: str) -> None:
    check_format(FORMATS[name.partition(" ")[0]], sample=ALL[name](), damages=30)


def read(source: Source, states: StatesBuilder) -> None:
    for place, line in source.json_lines():
        turn = source.convert(line, dict[str, Any], place=place)
        if turn.keys() != {"where", "true", "said"}:
            raise source.misshapen(f"{place}other keys")
        where = source.convert(turn["where"], tuple[str, int], place=place)
        at = states.turn(*where)
        states.gold.flat(at, source.convert(turn["true"], dict[str, str], place=place))
        states.pred.flat(at, source.convert(turn["said"], dict[str, str], place=place))


def is_one(source: Source) -> bool:
    return source.first_line("where", "true", "said") is not None


RIGHT = Format(
    name="right",
    title="this test",
    example='{"where": ["MUL1", 0], "true": {"hotel-area": "north"}, "said": {"hotel-area": "south"}}',
    sniff=is_one,
    reader=read,
)

WHOLE = "it has a name, an example, a sniffer and a reader"
ITS_OWN = "its example is of this format, and of no other"
OTHERS = "no other format's example is of this format"
READ = "its example is read, with the sides that it holds"
DAMAGED = "each of 200 damaged files is read completely or refused with a message"


def hasty(source: Source, states: StatesBuilder) -> None:
    for line in source.text.splitlines():
        turn = json.loads(line)
        states.pred.flat(states.turn(*turn["where"]), turn["said"])


def twice(source: Source, states: StatesBuilder) -> None:
    """Reads otherwise each time."""
    twice.calls += 1  # type: ignore[attr-defined]
    at = states.turn("D", 0)
    states.gold.flat(at, {"hotel-area": str(twice.calls)})  # type: ignore[attr-defined]
    states.pred.flat(at, {})


twice.calls = 0  # type: ignore[attr-defined]

SPOILT: dict[str, tuple[dict[str, Any], set[str], str]] = {
    "nothing": ({}, set(), ""),
    "not recognised": ({"sniff": lambda _: False}, {ITS_OWN}, "`sniff` is false"),
    "greedy": ({"sniff": lambda source: source.kind != "text"}, {OTHERS}, "`sniff` is true of trippy"),
    "another side": ({"holds": ("pred",)}, {READ}, "it holds gold and pred, where the format says pred"),
    "a hasty reader": ({"reader": hasty, "holds": ("pred",)}, {DAMAGED}, "its code fails: "),
    "read otherwise": ({"reader": twice}, {READ}, "a second reading gives other states"),
    "silent": ({"said": lambda _: iter(())}, {READ}, "it has no utterance"),
}  # fmt: skip


@pytest.mark.again
@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_format_breaks_the_laws_that_it_breaks(name: str) -> None:
    attributes, laws, fault = SPOILT[name]
    form = replace(RIGHT, **attributes)
    if not laws:
        check_format(form)
        return
    with pytest.raises(AssertionError, match="breaks laws:") as caught:
        check_format(form)
    assert {law for law in (WHOLE, ITS_OWN, OTHERS, READ, DAMAGED) if law in str(caught.value)} == laws
    assert fault in str(caught.value)


@pytest.mark.again
def test_the_command_says_what_is_broken_and_exits_with_1(here: Path) -> None:
    Path("lab.py").write_text(
        "from dstbench.readers import Format\n"
        "FORMAT = Format(name='lab', title='x', example='{}', sniff=lambda _: True, reader=lambda *_: None)\n"
    )
    Path("empty.py").write_text("")
    ended = {}
    for module in ("lab.py", "empty"):
        command = [sys.executable, "-m", "dstbench.testing", module]
        done = subprocess.run(  # noqa: S603 (our own)
            command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
        ended[module] = (done.returncode, done.stdout, done.stderr)
    code, out, err = ended["lab.py"]
    assert (code, err) == (1, "")
    assert out.startswith("format 'lab' breaks laws:\n  ")
    assert "no other format's example is of this format:\n    `sniff` is true of" in out
    assert ended["empty"] == (2, "", "error: empty: there is no metric and no format in it\n")
    assert run("ls", "formats", "--plugins", "lab.py")[0] == 0
