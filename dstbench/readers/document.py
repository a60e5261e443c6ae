"""Documents: files that are open for changes, and the places of each turn's state and texts in them.

Conventions: a document is the decoded file, and only what is edited in it changes. Callers use canonical names of
slots; the file keeps its own spelling. A slot that is new in a turn is spelled as in other turns of the file; a slot
that is new in the file is spelled as is usual in its format. A slot is removed as the format leaves slots out: by a
literal such as ``none``, or by dropping its key. Other annotations (dialogue acts, spans, goals) stay as they are,
except the ``turn_label`` of TRADE's and WOZ 2.0's files, which repeats the changes of the state.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from dstbench.conventions.slots import domain_of
from dstbench.readers.notations import Cell, Place
from dstbench.readers.source import Source


@dataclass(frozen=True)
class DocumentTurn:
    """A user turn of a document, or the system's last turn if no user turn follows it.

    Attributes:
        dialogue: Its dialogue, as the file spells it.
        number: Its number, as the file spells it.
        state: The object that holds its state, for `Document.cells`; None: the user says nothing, so there is no state.
        texts: The places of the utterances of the ``user``, and of the ``system`` before the user.
    """

    dialogue: str
    number: int | str
    state: Any = None
    texts: Mapping[str, Place] = field(default_factory=dict)

    def text(self, speaker: str) -> Any:
        """What a speaker says; None: nothing."""
        holder, key = self.texts.get(speaker, ({}, None))
        return holder.get(key) if isinstance(holder, dict) else holder[key]


class Document:
    """A decoded file; each subclass knows the layout of a format, or of several."""

    #: The value of a slot that is not in the state; None: such a slot is not listed.
    absent: ClassVar[str | None] = None

    def __init__(self, source: Source) -> None:
        self.source = source
        #: The format's spellings that differ from the canonical ones, for slots that the file does not have.
        self.usual: Mapping[str, str] = {}
        self._spellings: dict[str, Any] | None = None

    def turns(self) -> Iterator[DocumentTurn]:
        """The turns, dialogue by dialogue."""
        raise NotImplementedError

    def drop(self, dialogues: Collection[str]) -> None:
        """Leave out the dialogues of these names, spelled as in the file."""
        raise NotImplementedError

    def dump(self) -> bytes:
        """The file's new content, laid out as the old one is."""
        raise NotImplementedError

    def cells(self, state: Any) -> Iterator[Cell]:
        """The slots of a state."""
        raise NotImplementedError

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        """The place for a slot that a state does not have.

        Args:
            state: The state.
            slot: The canonical name.
            spelling: The slot's spelling elsewhere in the file, as `cells` gives it; None: the file does not have it.
        """
        raise NotImplementedError

    def put(self, place: Place, value: str | None) -> None:
        """Write a value, or leave the slot out."""
        holder, key = place
        if value is None and self.absent is None:
            del holder[key]
        else:
            holder[key] = self.absent if value is None else value

    def edit(self, turn: DocumentTurn, changes: Mapping[str, str | None]) -> None:
        """Set slots of a turn's state, by canonical names; None removes a slot."""
        places: dict[str, list[Place]] = {}
        for slot, place, _ in self.cells(turn.state):
            places.setdefault(slot, []).append(place)
        for slot, value in changes.items():
            if slot not in places and value is not None:
                places[slot] = [self.make(turn.state, slot, self._spelling(slot))]
            for place in places.get(slot, ()):
                self.put(place, value)

    def _spelling(self, slot: str) -> Any:
        """The first spelling of a slot in the file; None: the file does not have it."""
        if self._spellings is None:
            self._spellings = {}
            for turn in self.turns():
                for name, _, spelling in self.cells(turn.state) if turn.state is not None else ():
                    self._spellings.setdefault(name, spelling)
        return self._spellings.get(slot)

    def usual_name(self, slot: str) -> str:
        """The usual spelling of the slot's name, without its domain."""
        name = slot.removeprefix(f"{domain_of(slot)}-")
        return self.usual.get(name, name)


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
