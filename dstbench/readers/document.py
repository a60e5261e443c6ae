"""Documents: files that are open for changes.

Conventions: a document is the decoded file, and only what is edited in it changes. Callers use canonical names of
slots; the file keeps its own spelling. A slot that is new in a turn is spelled as in other turns of the file, and by
its canonical name if the file has it nowhere. A slot is removed as the format leaves slots out: by a
literal such as ``none``, or by dropping its key. Other annotations (dialogue acts, spans, goals) stay as they are,
except the ``turn_label`` of TRADE's and WOZ 2.0's files, which repeats the changes of the state.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

import msgspec

from dstbench.readers.notations import Cell, Place
from dstbench.readers.source import Source
from dstbench.readers.walk import Turn


class Document:
    """A decoded file; each subclass knows the layout of a format, or of several."""

    #: The value of a slot that is not in the state; None: such a slot is not listed.
    absent: ClassVar[str | None] = None

    def __init__(self, source: Source) -> None:
        self.source = source

    def turns(self) -> Iterator[Turn]:
        """The turns with the places of their utterances; one without content is what the system says at the end."""
        raise NotImplementedError

    def drop(self, dialogues: Collection[str]) -> None:
        """Leave out the dialogues of these names, spelled as in the file."""
        raise NotImplementedError

    def dump(self) -> bytes:
        """The file's new content, laid out as the old one is."""
        raise NotImplementedError

    def cells(self, turn: Turn) -> Iterator[Cell]:
        """The slots of a turn's state."""
        raise NotImplementedError

    def make(self, turn: Turn, slot: str, spelling: Any) -> Place:
        """The place for a slot that a turn's state does not have (see `Notation.make`)."""
        raise NotImplementedError

    def put(self, place: Place, value: str | None) -> None:
        """Write a value, or leave the slot out."""
        holder, key = place
        if value is None and self.absent is None:
            del holder[key]
        else:
            holder[key] = self.absent if value is None else value

    def edit(self, turn: Turn, changes: Mapping[str, str | None]) -> None:
        """Set slots of a turn's state, by canonical names; None removes a slot."""
        places: dict[str, list[Place]] = {}
        for slot, place, _ in self.cells(turn):
            places.setdefault(slot, []).append(place)
        for slot, value in changes.items():
            if slot not in places and value is not None:
                places[slot] = [self.make(turn, slot, self._spellings.get(slot))]
            for place in places.get(slot, ()):
                self.put(place, value)

    @cached_property
    def _spellings(self) -> dict[str, Any]:
        """The first spelling of each slot of the file, as `cells` gives it."""
        spellings: dict[str, Any] = {}
        for turn in self.turns():
            for slot, _, spelling in self.cells(turn) if turn.content is not None else ():
                spellings.setdefault(slot, spelling)
        return spellings


def laid_out_as(raw: bytes, content: Any) -> bytes:
    """JSON with the indentation, spaces, escapes and last newline of a file, `raw`."""
    indent = re.match(rb"\s*[\[{]\r?\n([ \t]+)", raw)
    spaced = re.search(rb'"\s*:( ?)', raw[: 1 << 16])
    width = len(indent[1]) if indent else 0 if spaced and spaced[1] else -1
    data = msgspec.json.format(msgspec.json.encode(content), indent=width)
    if raw.isascii():
        data = re.sub(r"[^\x00-\x7f]", _escaped, data.decode()).encode()
    return data + (b"\n" if raw.endswith(b"\n") else b"")


def _escaped(letter: re.Match[str]) -> str:
    units = letter[0].encode("utf-16-be")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
