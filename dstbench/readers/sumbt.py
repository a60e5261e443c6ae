"""SUMBT's preprocessed MultiWOZ (Lee et al. 2019), gold only. Conventions: those of `tsv`."""

from typing import ClassVar, Final

import msgspec

from dstbench.readers import tsv
from dstbench.readers.format import Format


class SumbtLine(msgspec.Struct):
    """A line's first columns, as strings; one column per slot follows."""

    dialogue: str = msgspec.field(name=tsv.DIALOGUE)
    turn: str = msgspec.field(name=tsv.TURN)
    user: str = msgspec.field(name=tsv.USER)
    system: str = msgspec.field(name=tsv.SYSTEM)


class _Document(tsv.TsvDocument):
    usual: ClassVar = {"leaveat": "leave at", "arriveby": "arrive by", "pricerange": "price range"}


FORMAT: Final = Format(
    name="sumbt-tsv",
    title="SUMBT's preprocessed MultiWOZ, gold",
    holds=("gold",),
    example="# Dialogue ID⇥Turn Index⇥User Utterance⇥System Response⇥attraction-area⇥…",
    shape=SumbtLine,
    sniff=tsv.sniff(SumbtLine),
    reader=tsv.reader(SumbtLine),
    said=tsv.said(SumbtLine),
    document=_Document,
)
