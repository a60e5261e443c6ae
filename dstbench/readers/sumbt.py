"""SUMBT's preprocessed MultiWOZ (Lee et al. 2019).

Conventions: those of `tsv`. Gold only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from dstbench.readers import tsv
from dstbench.readers.source import Format, Source
from dstbench.readers.states import States

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dstbench.readers.source import Said


class SumbtLine(msgspec.Struct):
    """A line's first columns, as strings; one column per slot follows."""

    dialogue: str = msgspec.field(name=tsv.KEYS[0])
    turn: str = msgspec.field(name=tsv.KEYS[1])
    user: str = msgspec.field(name="User Utterance")
    system: str = msgspec.field(name="System Response")


def sniff(source: Source) -> bool:
    """Whether the first columns are SUMBT's."""
    return tsv.sniff(source, SumbtLine)


def read(source: Source) -> States:
    """Read the file."""
    return tsv.read(source, FORMAT)


def said(source: Source) -> Iterator[Said]:
    """What was said in each turn."""
    return tsv.said(source, FORMAT)


class _Document(tsv.TsvDocument):
    usual: ClassVar = {"leaveat": "leave at", "arriveby": "arrive by", "pricerange": "price range"}


FORMAT: Final = Format(
    name="sumbt-tsv",
    title="SUMBT's preprocessed MultiWOZ, gold",
    holds=("gold",),
    example="# Dialogue ID⇥Turn Index⇥User Utterance⇥System Response⇥attraction-area⇥…",
    shape=SumbtLine,
    sniff=sniff,
    read=read,
    said=said,
    document=_Document,
)
