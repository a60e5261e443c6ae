"""Documents: files that are open for changes, and the places of each turn's state and texts in them.

Conventions: a document is the decoded file, and only what is edited in it changes. Callers use canonical names of
slots; the file keeps its own spelling. A slot that is new in a turn is spelled as in other turns of the file; a slot
that is new in the file is spelled as is usual in its format. A slot is removed as the format leaves slots out: by a
literal such as ``none``, or by dropping its key. Other annotations (dialogue acts, spans, goals) stay as they are,
except the ``turn_label`` of TRADE's and WOZ 2.0's files, which repeats the changes of the state.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import msgspec

from dstbench.conventions.slots import domain_of
from dstbench.readers.format import Said
from dstbench.readers.source import Source

#: The place of a value or a text: a list or an object, and the index or key in it.
Place: TypeAlias = tuple[Any, Any]
#: A slot of a state: its canonical name, its place, and its spelling, from which `Document.make` makes other places.
Cell: TypeAlias = tuple[str, Place, Any]


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
    #: The format's spellings that differ from the canonical ones, for slots that the file does not have.
    usual: ClassVar[Mapping[str, str]] = {}

    def __init__(self, source: Source) -> None:
        self.source = source
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


def said_in(
    document: Callable[[Source], Document], check: Callable[[Source], object]
) -> Callable[[Source], Iterator[Said]]:
    """The `Format.said` of a format whose files can be opened as documents.

    Args:
        document: Opens a source.
        check: Raises a `DstbenchError` if the texts of a source, or the objects around them, have the wrong type.
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
    """The turns of a dialogue that lists both speakers' turns as objects with an ``utterance``.

    Args:
        dialogue: The dialogue, as the file spells it.
        turns: Its objects.
        user: Whether an object is the user's.
    """
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

    #: The key in a dialogue that holds its name; empty: the file is an object {name: dialogue}.
    name: ClassVar[str] = ""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.content = source.json

    def title(self, dialogue: Any) -> str:
        """The name of a dialogue of a list."""
        return str(dialogue[self.name])

    def dialogues(self) -> Iterator[tuple[str, Any]]:
        """(name, dialogue), in the order of the file."""
        if self.name:  # even if the file is an object of dialogues
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
        return laid_out_as(self.source.raw, self.content)


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
