"""Documents that are open for changes: where in a file each turn's state and texts stand.

Conventions: a document is the file as it was decoded, and only what is edited in it changes. Slots are asked for by
their canonical names and keep the file's spelling; a slot that a turn does not have is spelled as elsewhere in the
file, and one that the file never has as usual in its format. A slot that is removed is left out in the format's way (a
literal, or not there at all). What else is annotated (dialogue acts, spans, goals) stays as it is, but for the
``turn_label`` of TRADE's and WOZ 2.0's files, which repeats what changes in the state.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import msgspec

from dstbench.conventions.slots import domain_of
from dstbench.readers.format import Said
from dstbench.readers.source import Source

#: Where a value or a text stands: a list or an object, and the index or key in it.
Place: TypeAlias = tuple[Any, Any]
#: A slot of a state: its canonical name, its place, and what `Document.make` takes to make such a place elsewhere.
Cell: TypeAlias = tuple[str, Place, Any]


@dataclass(frozen=True)
class DocumentTurn:
    """A user turn of a document, or what the system says last.

    Attributes:
        dialogue: Its dialogue, as the file spells it.
        number: Its number, as the file spells it.
        state: What holds its state, for `Document.cells`; None: it has no state, as the user says nothing in it.
        texts: The places of what is said: by the ``user``, and by the ``system`` before.
    """

    dialogue: str
    number: int | str
    state: Any = None
    texts: Mapping[str, Place] = field(default_factory=dict)

    def text(self, speaker: str) -> Any:
        """What a speaker says; None if there is nothing."""
        holder, key = self.texts.get(speaker, ({}, None))
        return holder.get(key) if isinstance(holder, dict) else holder[key]


class Document:
    """A decoded file; one subclass per shape of formats."""

    #: What stands in place of a slot that is left out; None: nothing.
    absent: ClassVar[str | None] = None
    #: Spellings of slots that differ from the canonical ones, for slots that the file does not have.
    usual: ClassVar[Mapping[str, str]] = {}

    def __init__(self, source: Source) -> None:
        self.source = source
        self._spellings: dict[str, Any] | None = None

    def turns(self) -> Iterator[DocumentTurn]:
        """The turns, dialogue by dialogue; states are not looked at."""
        raise NotImplementedError

    def drop(self, dialogues: Collection[str]) -> None:
        """Leave dialogues out, by the names that the file has for them."""
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
            spelling: What `cells` gave for the slot elsewhere in the file; None: the file does not have it.
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


def said_in(
    document: Callable[[Source], Document], check: Callable[[Source], object]
) -> Callable[[Source], Iterator[Said]]:
    """The `Format.said` of a format that has documents.

    Args:
        document: The kind of document.
        check: Raises a `DstbenchError` if the texts of a source, or what leads to them, are not of the right type.
    """

    def said(source: Source) -> Iterator[Said]:
        check(source)
        for turn in document(source).turns():
            if turn.state is not None:
                yield turn.dialogue, turn.number, turn.text("system"), turn.text("user")

    return said


def exchanges(
    dialogue: str, turns: Iterable[dict[str, Any]], user: Callable[[dict[str, Any]], bool]
) -> Iterator[DocumentTurn]:
    """The turns of a dialogue in which both speakers' turns are objects with an ``utterance``; `user`: whose is one."""
    number, texts = 0, dict[str, Place]()
    for turn in turns:
        if user(turn):
            yield DocumentTurn(dialogue, number, turn, texts | {"user": (turn, "utterance")})
            number, texts = number + 1, {}
        else:
            texts = {"system": (turn, "utterance")}
    if texts:
        yield DocumentTurn(dialogue, number, None, texts)


class JsonDocument(Document):
    """A JSON list of dialogues, or an object of them by name."""

    #: The key of a dialogue's name, where dialogues stand in a list.
    name: ClassVar[str] = ""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.content = source.json

    def title(self, dialogue: Any) -> str:
        """The name of a dialogue of a list."""
        return str(dialogue[self.name])

    def dialogues(self) -> Iterator[tuple[str, Any]]:
        """(name, dialogue), in the order of the file."""
        if self.name:  # even if the keys of an object are names too
            items = self.content.values() if isinstance(self.content, dict) else self.content
            yield from ((self.title(item), item) for item in items)
        else:
            yield from self.content.items()

    def drop(self, dialogues: Collection[str]) -> None:
        kept = [name not in dialogues for name, _ in self.dialogues()]
        if isinstance(self.content, dict):
            self.content = {key: item for (key, item), keep in zip(self.content.items(), kept, strict=True) if keep}
        else:
            self.content = [item for item, keep in zip(self.content, kept, strict=True) if keep]

    def dump(self) -> bytes:
        """JSON with the file's indentation, spaces, escapes and last newline."""
        raw = self.source.raw
        indent = re.match(rb"\s*[\[{]\r?\n([ \t]+)", raw)
        spaced = re.search(rb'"\s*:( ?)', raw[: 1 << 16])
        width = len(indent[1]) if indent else 0 if spaced and spaced[1] else -1
        data = msgspec.json.format(msgspec.json.encode(self.content), indent=width)
        if raw.isascii():
            data = re.sub(r"[^\x00-\x7f]", _escaped, data.decode()).encode()
        return data + (b"\n" if raw.endswith(b"\n") else b"")


def _escaped(letter: re.Match[str]) -> str:
    units = letter[0].encode("utf-16-be")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
