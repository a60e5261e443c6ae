"""LDST's ``test_LLM_result.txt`` (Feng et al. 2023).

Conventions: one line per turn and slot, which names the dataset's file and the dialogue's place in it, for which gold
must be that dataset, or the dialogue's id. States are cumulative. As every slot has a line, ``NONE``, ``not
mentioned`` and an empty list leave a slot out, and such a value is no value. Several values are joined by ``|``.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

import msgspec
import polars as pl

from dstbench.errors import DstbenchError
from dstbench.readers.builder import StatesBuilder
from dstbench.readers.source import Format, Source
from dstbench.readers.states import States
from dstbench.readers.text_states import Pairs
from dstbench.schema.core import BETWEEN

if TYPE_CHECKING:
    from collections.abc import Iterator

_BAR: Final = "|||"
_LEAVES_OUT: Final = ("NONE", "not mentioned")


class LdstLine(msgspec.Struct):
    """The parts of a line of LDST (Feng et al. 2023), between ``|||``."""

    file: str
    dialogue: str
    turn: str
    frame: str
    domain: str
    slot: str
    value: str


def sniff(source: Source) -> bool:
    """Whether the first line has the parts between ``|||``."""
    return source.kind == "text" and len(_parts(source.raw.lstrip().partition(b"\n")[0].decode(errors="replace"))) == 7


def _parts(line: str) -> list[str]:
    return line.split(_BAR, len(LdstLine.__struct_fields__) - 1)


@lru_cache(maxsize=65_536)
def literal(text: str) -> tuple[str, ...] | None:
    """The strings of a Python list as it is printed; None if it is none. Nothing is ever evaluated.

    >>> literal("['north']"), literal("north")
    (('north',), None)
    """
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return tuple(found) if isinstance(found, list) and all(isinstance(item, str) for item in found) else None


def _lines(source: Source) -> Iterator[tuple[LdstLine, str, int]]:
    """Every line, its value, and the turn."""
    for number, text in enumerate(source.text.split("\n"), start=1):
        if not text.strip():
            continue
        parts = _parts(text.strip())
        if len(parts) != len(LdstLine.__struct_fields__):
            raise source.error(f"line {number} has {len(parts)} parts between {_BAR}", FORMAT.hint)
        line = LdstLine(*parts)
        found = literal(line.value.strip())
        if found is None or not (line.turn.isdecimal() and len(line.turn) < 10):
            what = f"the value {line.value[:40]!r} is no list of strings" if found is None else "the turn is no number"
            raise source.error(f"line {number}: {what}", FORMAT.hint, dialogue=line.dialogue, turn=line.turn[:20])
        yield line, BETWEEN.join(found), int(line.turn) // 2  # both speakers' turns are counted


def read(source: Source) -> States:
    """Read ``test_LLM_result.txt``: one line per slot."""
    if source.kind != "text":
        raise source.error(f"no lines with {_BAR}", FORMAT.hint)
    turns: dict[tuple[str, str, int], Pairs] = {}
    for line, value, turn in _lines(source):
        pairs = turns.setdefault((line.file, line.dialogue, turn), [])
        if value and value not in _LEAVES_OUT:
            pairs.append((f"{line.domain}-{line.slot}", value))
    placed = all(dialogue.isdecimal() for _, dialogue, _ in turns)
    states = StatesBuilder(source.name, FORMAT.name)
    for (file, dialogue, turn), pairs in turns.items():
        states.pred.cells(states.turn(f"{file}{_BAR}{dialogue}" if placed else dialogue, turn), pairs)
    lines = states.build()
    return replace(lines, pred=None, complete=partial(_by_place, lines)) if placed else lines


def _by_place(lines: States, gold: States) -> States:
    """The states under the ids of the dialogues that stand where the lines say."""
    if gold.places is None or lines.pred is None:
        raise DstbenchError(
            f"it names dialogues by their place in a dataset's files, which {gold.source} is not one of",
            file=lines.source,
            hint="give the dataset itself as --gold: the folder with dialogues_001.json …",
        )
    twice = gold.places.filter(pl.struct("file", "position").is_duplicated())
    if twice.height:
        raise DstbenchError(
            f"it names dialogues by their place in a file, and {gold.source} has several files {twice['file'][0]}",
            file=lines.source,
            hint="choose the split: --split test, or the folder of that split as --gold",
        )
    place = pl.col("dialogue").str.split_exact(_BAR, 1).struct
    turns = lines.pred.turns.select(
        "turn",
        file=place.field("field_0").str.split("/").list.last(),
        position=place.field("field_1").cast(pl.UInt32, strict=False),
    ).join(gold.places, on=["file", "position"], how="left", maintain_order="left")
    unknown = turns.filter(pl.col("dialogue").is_null())
    if unknown.height:
        file, position = unknown.select("file", "position").row(0)
        raise DstbenchError(
            f"{gold.source} has no dialogue at place {position} of {file}",
            file=lines.source,
            hint="is it the same dataset and split?",
        )
    return replace(lines, pred=replace(lines.pred, turns=turns.select("dialogue", "turn")), complete=None)


FORMAT: Final = Format(
    name="ldst",
    title="LDST (test_LLM_result.txt); needs the dataset as --gold",
    holds=("pred",),
    example="dialogues_001.json|||0|||0|||4|||hotel|||area|||['north']",
    shape=LdstLine,
    sniff=sniff,
    read=read,
)
