"""DSTC10's second track: predictions, and the ``labels.json`` that they follow.

Conventions: items do not name turns; they are matched with the gold file's turns in order, so there must be exactly as
many. States are cumulative. An empty list says that a slot is not in the state; several values are joined by ``|``.
"""

from dataclasses import replace
from functools import partial
from typing import Final

import msgspec

from dstbench.readers.format import Format, Source, StatesBuilder
from dstbench.readers.states import in_order
from dstbench.schema.core import BETWEEN


class Dstc10Domain(msgspec.Struct, forbid_unknown_fields=True):
    """A domain's slots in DSTC10, track 2: alternatives of each."""

    semi: dict[str, list[str]] = {}
    book: dict[str, list[str]] = {}


_SHAPE: Final = list[dict[str, Dstc10Domain]]


def _read(source: Source, states: StatesBuilder) -> None:
    """Read the items, each as a dialogue of one turn, until `in_order` gives them their turns."""
    for number, item in enumerate(source.whole(_SHAPE, "dialogue", "slot", "slot", "slot")):
        semi = [(f"{d}-{slot}", BETWEEN.join(v)) for d, part in item.items() for slot, v in part.semi.items() if v]
        book = [(f"{d}-book {slot}", BETWEEN.join(v)) for d, part in item.items() for slot, v in part.book.items() if v]
        states.pred.cells(states.turn(str(number), 0), semi + book)


FORMAT: Final = Format(
    name="dstc10",
    title="DSTC10 track 2, predictions and labels.json; need --gold, in its order",
    holds=("pred",),
    example='[{"hotel": {"semi": {"area": ["north"]}, "book": {"people": ["3"]}}}]',
    shape=_SHAPE,
    sniff=lambda source: any(part and part.keys() <= {"semi", "book"} for part in source.objects_at(2, list)),
    reader=_read,
    finish=lambda items: replace(items, gold=items.pred, pred=None, complete=partial(in_order, items)),
)
