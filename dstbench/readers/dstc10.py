"""DSTC10's second track: predictions, and the ``labels.json`` that they follow.

Conventions: items name no turn; they are joined with the gold file's turns in order, of which there must be exactly as
many. States are cumulative. An empty list leaves a slot out; several values are joined by ``|``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

import msgspec

from dstbench.readers.builder import StatesBuilder
from dstbench.readers.source import Format, Source, values
from dstbench.readers.states import States, in_order
from dstbench.schema.core import BETWEEN


class Dstc10Domain(msgspec.Struct):
    """A domain's slots in DSTC10, track 2: alternatives of each."""

    semi: dict[str, list[str]] = {}
    book: dict[str, list[str]] = {}


def sniff(source: Source) -> bool:
    """Whether items hold domains with ``semi`` or ``book``."""
    return (
        source.kind == "json"
        and isinstance(source.sample, list)
        and any(
            isinstance(part, dict) and part and part.keys() <= {"semi", "book"} for part in values(source.sample, 2)
        )
    )


def read(source: Source) -> States:
    """Read predictions, or the ``labels.json`` that they follow; each item stands for a dialogue's only turn."""
    items: list[dict[str, Dstc10Domain]] = source.convert(
        source.json, FORMAT.shape, ("dialogue", "slot", "slot", "slot"), hint=FORMAT.hint
    )
    states = StatesBuilder(source.name, FORMAT.name)
    for number, item in enumerate(items):
        at = states.turn(str(number), 0)
        semi = [(f"{d}-{slot}", BETWEEN.join(v)) for d, part in item.items() for slot, v in part.semi.items() if v]
        book = [(f"{d}-book {slot}", BETWEEN.join(v)) for d, part in item.items() for slot, v in part.book.items() if v]
        states.pred.cells(at, semi + book)
    items_read = states.build()
    return replace(items_read, gold=items_read.pred, pred=None, complete=partial(in_order, items_read))


FORMAT: Final = Format(
    name="dstc10",
    title="DSTC10 track 2, predictions and labels.json; need --gold, in its order",
    holds=("pred",),
    example='[{"hotel": {"semi": {"area": ["north"]}, "book": {"people": ["3"]}}}]',
    shape=list[dict[str, Dstc10Domain]],
    sniff=sniff,
    read=read,
)
