"""LDST's ``test_LLM_result.txt`` (Feng et al. 2023).

Conventions: one line per turn and slot. It names a dialogue by its id, or by its file and its place in that file; then
gold must be the dataset that has this file. States are cumulative. As every slot has a line, ``NONE``, ``not
mentioned`` and an empty list say that one is not in the state. Several values are joined by ``|``.
"""

import ast
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final

import polars as pl

from dstbench.readers.format import Format, Pairs, Source, States, StatesBuilder
from dstbench.readers.states import error_in
from dstbench.schema.core import BETWEEN

#: The separator of a line's parts.
_BAR: Final = "|||"


_PARTS: Final = 7


@lru_cache(maxsize=65_536)
def literal(text: str) -> tuple[str, ...] | None:
    """The strings of a list that Python printed; None: the text is not such a list. Nothing is ever evaluated.

    >>> literal("['north']"), literal("north")
    (('north',), None)
    """
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return tuple(value) if isinstance(value, list) and all(isinstance(item, str) for item in value) else None


def _sniff(source: Source) -> bool:
    first = source.raw.lstrip().partition(b"\n")[0]
    return source.kind == "text" and first.count(_BAR.encode()) >= _PARTS - 1


def _read(source: Source, states: StatesBuilder) -> None:
    if source.kind != "text":
        raise source.misshapen(f"no lines with {_BAR}")
    turns: dict[tuple[str, str, int], Pairs] = {}
    for number, text in enumerate(source.text.split("\n"), start=1):
        parts = text.strip().split(_BAR, _PARTS - 1)
        if parts == [""]:
            continue
        if len(parts) != _PARTS:
            raise source.misshapen(f"line {number} has {len(parts)} parts between {_BAR}")
        file, dialogue, turn, _, domain, slot, value = parts
        where = {"dialogue": dialogue, "turn": turn[:20]}
        values = literal(value.strip())
        if values is None:
            raise source.misshapen(f"line {number}: the value {value[:40]!r} is not a list of strings", **where)
        if not (turn.isdecimal() and len(turn) < 10):
            raise source.misshapen(f"line {number}: the turn is not a number", **where)
        at = (file, dialogue, int(turn) // 2)  # both speakers' turns are counted
        turns.setdefault(at, []).append((f"{domain}-{slot}", BETWEEN.join(values)))
    are_places = all(dialogue.isdecimal() for _, dialogue, _ in turns)
    for (file, dialogue, turn_number), pairs in turns.items():
        name = f"{file}{_BAR}{dialogue}" if are_places else dialogue
        states.pred.cells(states.turn(name, turn_number), pairs)


def _needing_gold(lines: States) -> States:
    """The lines as they are, or, if they name places, as predictions that need gold to find the dialogues."""
    if lines.pred is None or not lines.pred.turns["dialogue"].str.contains(_BAR, literal=True).all():
        return lines
    return replace(lines, pred=None, complete=partial(_by_place, lines))


def _by_place(lines: States, gold: States) -> States:
    """The states with the ids of the dialogues at the places that the lines name."""
    if gold.places is None or lines.pred is None:
        what = f"it names dialogues by their place in a dataset's files, and {gold.source} is no such dataset"
        raise error_in(lines, what, "give the dataset itself as --gold: the folder with dialogues_001.json …")
    twice = gold.places.filter(pl.struct("file", "position").is_duplicated())
    if twice.height:
        what = f"it names dialogues by their place in a file, and {gold.source} has several files {twice['file'][0]}"
        raise error_in(lines, what, "choose the split: --split test, or the folder of that split as --gold")
    place = pl.col("dialogue").str.split_exact(_BAR, 1).struct
    file = place.field("field_0").str.split("/").list.last().alias("file")
    position = place.field("field_1").cast(pl.UInt32, strict=False).alias("position")
    turns = lines.pred.turns.select("turn", file, position)
    turns = turns.join(gold.places, on=["file", "position"], how="left", maintain_order="left")
    unknown = turns.filter(pl.col("dialogue").is_null())
    if unknown.height:
        name, at = unknown.select("file", "position").row(0)
        raise error_in(
            lines, f"{gold.source} has no dialogue at place {at} of {name}", "is it the same dataset and split?"
        )
    return replace(lines, pred=replace(lines.pred, turns=turns.select("dialogue", "turn")), complete=None)


FORMAT: Final = Format(
    name="ldst",
    title="LDST (test_LLM_result.txt); needs the dataset as --gold",
    holds=("pred",),
    example="dialogues_001.json|||0|||0|||4|||hotel|||area|||['north']",
    sniff=_sniff,
    reader=_read,
    omits=("", "NONE", "not mentioned"),
    finish=_needing_gold,
)
