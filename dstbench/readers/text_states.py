"""States that models write as text, one triple or span after another: what SimpleTOD, ParlAI and PPTOD share.

Conventions: text that is no slot and value (generated text may be anything) is left out, counted and reported.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from dstbench.conventions.slots import KNOWN_SLOTS, canonical_slot
from dstbench.readers.builder import StatesBuilder
from dstbench.readers.source import Format, Source
from dstbench.readers.states import States

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

#: How these files say that a slot is not in the state.
LEAVES_OUT: Final = ("not mentioned",)
Pairs = list[tuple[str, str]]


@lru_cache(maxsize=65_536)
def split_triple(triple: str) -> tuple[str, str] | None:
    """Slot and value of ``domain slot value``; the slot is one word, or two that make a known one.

    >>> split_triple("hotel book day friday"), split_triple("taxi leaveat 09:15"), split_triple("hotel")
    (('hotel-book day', 'friday'), ('taxi-leaveat', '09:15'), None)
    """
    for words in (2, 1):
        parts = triple.strip().split(" ", words + 1)
        slot = canonical_slot(f"{parts[0]}-{' '.join(parts[1 : words + 1])}")
        if len(parts) == words + 2 and (slot in KNOWN_SLOTS or words == 1):
            return slot, parts[-1]
    return None


class TextStates:
    """Adds text states to a builder, and keeps count of what was no slot and value."""

    def __init__(self, source: Source, form: Format, leaves_out: Collection[str] = LEAVES_OUT) -> None:
        self.states = StatesBuilder(source.name, form.name)
        self._leaves_out = leaves_out
        self._lost = 0

    def triples(self, at: int, side: Any, triples: Iterable[str]) -> None:
        """List the slots of a turn, of which each is written ``domain slot value``."""
        found = [(triple, split_triple(triple)) for triple in triples if triple.strip()]
        self._lost += sum(pair is None for _, pair in found)
        side.cells(at, [pair for _, pair in found if pair is not None and pair[1] not in self._leaves_out])

    def pairs(self, at: int, side: Any, pairs: Pairs, lost: int) -> None:
        """List the slots and values of a turn, beside which `lost` pieces of its text were no slot and value."""
        self._lost += lost
        side.cells(at, [pair for pair in pairs if pair[1] not in self._leaves_out])

    def build(self) -> States:
        """The states, with a note on what was left out."""
        if self._lost:
            self.states.note(f"{self._lost:,} pieces of text that are no slot and value, left out")
        return self.states.build()


def lines(source: Source, form: Format, shape: Any = None) -> Iterable[tuple[str, Any]]:
    """(``line N``, what stands there) of every line; `shape` is its type, if it is not the format's."""
    if source.kind not in ("jsonl", "json"):
        raise source.error("not JSON Lines", form.hint)
    for place, item in source.json_lines() if source.kind == "jsonl" else [("line 1", source.json)]:
        yield place, source.convert(item, shape or form.shape, (), place=f"{place}: ", hint=form.hint)


def sniff_lines(source: Source, *keys: str) -> bool:
    """Whether the first line is an object that has the keys."""
    if source.kind not in ("jsonl", "json"):
        return False
    item = next(source.json_lines())[1] if source.kind == "jsonl" else source.sample
    return isinstance(item, dict) and item.keys() >= {*keys}
