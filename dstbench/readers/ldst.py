"""Predictions that name their turns by place alone: ConvLab-3's raw output, DSTC10, LDST.

Conventions: they say something only beside a gold file, whose order they follow. ConvLab's lines and DSTC10's items
are joined with gold's turns in order, of which there must be exactly as many; LDST's lines name the dataset's file and
the dialogue's place in it, for which gold must be that dataset, or the dialogue's id. States are cumulative. LDST has
a line for every slot, so that ``NONE``, ``not mentioned`` and an empty list leave a slot out, and such a value is no
value. Several values are joined by ``|``.
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
from dstbench.readers.source import Format, Source, values
from dstbench.readers.states import States, in_order
from dstbench.readers.text_states import Pairs, lines, sniff_lines
from dstbench.schema.core import BETWEEN

if TYPE_CHECKING:
    from collections.abc import Iterator


class ConvlabLine(msgspec.Struct):
    """One line of ConvLab-3's sequence-to-sequence output: a turn's gold and predicted state as text."""

    state_seq: str
    predictions: str


class Dstc10Domain(msgspec.Struct):
    """A domain's slots in DSTC10, track 2: alternatives of each."""

    semi: dict[str, list[str]] = {}
    book: dict[str, list[str]] = {}


class LdstLine(msgspec.Struct):
    """The parts of a line of LDST (Feng et al. 2023), between ``|||``."""

    file: str
    dialogue: str
    turn: str
    frame: str
    domain: str
    slot: str
    value: str


_BAR: Final = "|||"
_LEAVES_OUT: Final = ("NONE", "not mentioned")


def split_state(state: str) -> tuple[Pairs, int]:
    """Slots and values of ``[domain]([slot][value],[slot][value]);[domain](…)``, and the number of other pieces.

    >>> split_state("[hotel]([area][north],[price range][cheap]);[train]([leave at][09:15])")
    ([('hotel-area', 'north'), ('hotel-price range', 'cheap'), ('train-leave at', '09:15')], 0)
    >>> split_state("no state")
    ([], 1)
    """
    pairs: Pairs = []
    lost = 0
    for part in state.strip().removeprefix("[").removesuffix(")").split(");["):
        domain, found, slots = part.partition("](")
        if not found:
            lost += part != ""
            continue
        for piece in slots.removeprefix("[").removesuffix("]").split("],["):
            slot, found, value = piece.partition("][")
            if found:
                pairs.append((f"{domain}-{slot}", value))
            else:
                lost += piece != ""
    return pairs, lost


def sniff_convlab(source: Source) -> bool:
    """Whether lines hold ``state_seq`` and ``predictions``."""
    return sniff_lines(source, "state_seq", "predictions")


def read_convlab(source: Source) -> States:
    """Read ``test_generated_predictions.json``; its own gold only shows whether the order is that of the gold file."""
    states = StatesBuilder(source.name, CONVLAB_RAW.name)
    lost = 0
    for number, (_, line) in enumerate(lines(source, CONVLAB_RAW)):
        at = states.turn(str(number), 0)
        for side, text in ((states.pred, line.predictions), (states.gold, line.state_seq)):
            pairs, other = split_state(text)
            side.cells(at, pairs)
            lost += other
    if lost:
        states.note(f"{lost:,} pieces of text that are no slot and value, left out")
    raw = states.build()
    return replace(raw, gold=None, pred=None, complete=partial(_in_proven_order, raw))


def _in_proven_order(raw: States, gold: States) -> States:
    states = in_order(raw, gold)
    if raw.gold is None or gold.gold is None:
        return states
    own, other = (side.cells.select("at", pl.col("slot").cast(pl.String)) for side in (raw.gold, gold.gold))
    differ = pl.concat([own.join(other, on=["at", "slot"], how="anti"), other.join(own, on=["at", "slot"], how="anti")])
    if not differ.height:
        return states
    note = (
        f"{raw.source}: in {differ['at'].n_unique():,} of {gold.gold.turns.height:,} turns its own gold lists other "
        f"slots than {gold.source}; where that is most of them, the order is another"
    )
    return replace(states, notes=(*states.notes, note))


def sniff_dstc10(source: Source) -> bool:
    """Whether items hold domains with ``semi`` or ``book``."""
    return (
        source.kind == "json"
        and isinstance(source.sample, list)
        and any(
            isinstance(part, dict) and part and part.keys() <= {"semi", "book"} for part in values(source.sample, 2)
        )
    )


def read_dstc10(source: Source) -> States:
    """Read predictions, or the ``labels.json`` that they follow; each item stands for a dialogue's only turn."""
    items: list[dict[str, Dstc10Domain]] = source.convert(
        source.json, DSTC10.shape, ("dialogue", "slot", "slot", "slot"), hint=DSTC10.hint
    )
    states = StatesBuilder(source.name, DSTC10.name)
    for number, item in enumerate(items):
        at = states.turn(str(number), 0)
        semi = [(f"{d}-{slot}", BETWEEN.join(v)) for d, part in item.items() for slot, v in part.semi.items() if v]
        book = [(f"{d}-book {slot}", BETWEEN.join(v)) for d, part in item.items() for slot, v in part.book.items() if v]
        states.pred.cells(at, semi + book)
    read = states.build()
    return replace(read, gold=read.pred, pred=None, complete=partial(in_order, read))


def sniff_ldst(source: Source) -> bool:
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


def _ldst_lines(source: Source) -> Iterator[tuple[LdstLine, str, int]]:
    """Every line, its value, and the turn."""
    for number, text in enumerate(source.text.split("\n"), start=1):
        if not text.strip():
            continue
        parts = _parts(text.strip())
        if len(parts) != len(LdstLine.__struct_fields__):
            raise source.error(f"line {number} has {len(parts)} parts between {_BAR}", LDST.hint)
        line = LdstLine(*parts)
        found = literal(line.value.strip())
        if found is None or not (line.turn.isdecimal() and len(line.turn) < 10):
            what = f"the value {line.value[:40]!r} is no list of strings" if found is None else "the turn is no number"
            raise source.error(f"line {number}: {what}", LDST.hint, dialogue=line.dialogue, turn=line.turn[:20])
        yield line, BETWEEN.join(found), int(line.turn) // 2  # both speakers' turns are counted


def read_ldst(source: Source) -> States:
    """Read ``test_LLM_result.txt``: one line per slot."""
    if source.kind != "text":
        raise source.error(f"no lines with {_BAR}", LDST.hint)
    turns: dict[tuple[str, str, int], Pairs] = {}
    for line, value, turn in _ldst_lines(source):
        pairs = turns.setdefault((line.file, line.dialogue, turn), [])
        if value and value not in _LEAVES_OUT:
            pairs.append((f"{line.domain}-{line.slot}", value))
    placed = all(dialogue.isdecimal() for _, dialogue, _ in turns)
    states = StatesBuilder(source.name, LDST.name)
    for (file, dialogue, turn), pairs in turns.items():
        states.pred.cells(states.turn(f"{file}{_BAR}{dialogue}" if placed else dialogue, turn), pairs)
    read = states.build()
    return replace(read, pred=None, complete=partial(_by_place, read)) if placed else read


def _by_place(read: States, gold: States) -> States:
    """The states under the ids of the dialogues that stand where the lines say."""
    if gold.places is None or read.pred is None:
        raise DstbenchError(
            f"it names dialogues by their place in a dataset's files, which {gold.source} is not one of",
            file=read.source,
            hint="give the dataset itself as --gold: the folder with dialogues_001.json …",
        )
    twice = gold.places.filter(pl.struct("file", "position").is_duplicated())
    if twice.height:
        raise DstbenchError(
            f"it names dialogues by their place in a file, and {gold.source} has several files {twice['file'][0]}",
            file=read.source,
            hint="choose the split: --split test, or the folder of that split as --gold",
        )
    place = pl.col("dialogue").str.split_exact(_BAR, 1).struct
    turns = read.pred.turns.select(
        "turn",
        file=place.field("field_0").str.split("/").list.last(),
        position=place.field("field_1").cast(pl.UInt32, strict=False),
    ).join(gold.places, on=["file", "position"], how="left", maintain_order="left")
    unknown = turns.filter(pl.col("dialogue").is_null())
    if unknown.height:
        file, position = unknown.select("file", "position").row(0)
        raise DstbenchError(
            f"{gold.source} has no dialogue at place {position} of {file}",
            file=read.source,
            hint="is it the same dataset and split?",
        )
    return replace(read, pred=replace(read.pred, turns=turns.select("dialogue", "turn")), complete=None)


CONVLAB_RAW: Final = Format(
    name="convlab-raw",
    title="ConvLab-3's raw output (test_generated_predictions.json); needs --gold, in its order",
    holds=("pred",),
    example='{"state_seq": "[hotel]([area][north])", "predictions": "[hotel]([area][north])"}',
    shape=ConvlabLine,
    sniff=sniff_convlab,
    read=read_convlab,
)
DSTC10: Final = Format(
    name="dstc10",
    title="DSTC10 track 2, predictions and labels.json; need --gold, in its order",
    holds=("pred",),
    example='[{"hotel": {"semi": {"area": ["north"]}, "book": {"people": ["3"]}}}]',
    shape=list[dict[str, Dstc10Domain]],
    sniff=sniff_dstc10,
    read=read_dstc10,
)
LDST: Final = Format(
    name="ldst",
    title="LDST (test_LLM_result.txt); needs the dataset as --gold",
    holds=("pred",),
    example="dialogues_001.json|||0|||0|||4|||hotel|||area|||['north']",
    shape=LdstLine,
    sniff=sniff_ldst,
    read=read_ldst,
)
