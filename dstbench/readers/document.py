"""Documents: files that are open for changes.

Conventions: a document is the decoded file, and only what is edited in it changes. Callers use canonical names of
slots; the file keeps its own spelling. A slot that is new in a turn is spelled as in other turns of the file, and by
its canonical name if the file has it nowhere. A slot is removed as the format leaves slots out: by a
literal such as ``none``, or by dropping its key. Other annotations (dialogue acts, spans, goals) stay as they are,
except the ``turn_label`` of TRADE's and WOZ 2.0's files, which repeats the changes of the state.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from dstbench.conventions.slots import canonical_slot
from dstbench.readers.notations import Cell, Place
from dstbench.readers.source import Source
from dstbench.readers.state_text import Misfit
from dstbench.readers.walk import Turn

if TYPE_CHECKING:
    from dstbench.readers.rows import Row


class Document:
    """A file that a row describes, open for changes."""

    def __init__(self, source: Source, row: Row) -> None:
        self.source, self.row, self._gold = source, row, row.sides["gold"]
        self.content = self.items = row.decode(source)
        self.domains = row.domains(self.turns())  # before any edit, which may remove the slots that show them
        for turn in self.turns():
            try:
                if turn.content is not None:
                    self._gold.notation.pairs(self._gold.find(turn.content))
            except Misfit as error:
                where = {"dialogue": turn.dialogue, "turn": turn.number, "slot": error.slot}
                raise source.misshapen(f"{turn.place}it cannot be edited: {error.what}", **where) from None

    def turns(self) -> Iterator[Turn]:
        """The turns with the places of their utterances; those without content have no state."""
        for turn in self.row.turns_with_texts(self.source, self.content):
            lacks = turn.content is not None and self._gold.find(turn.content) is msgspec.UNSET
            yield turn._replace(content=None) if lacks else turn

    def drop(self, dialogues: Collection[str]) -> None:
        """Leave out the dialogues of these names, spelled as in the file."""
        walker, step, top = self.row.walker(self.source), self.row.steps[0], Turn(None, None, self.content)

        def is_kept(key: Any, item: Any) -> bool:
            return walker.below(step, key, item, top).dialogue not in dialogues

        if isinstance(self.content, dict):
            self.content = {key: item for key, item in self.content.items() if is_kept(key, item)}
        else:
            self.content = [item for key, item in enumerate(self.content) if is_kept(key, item)]

    def dump(self) -> bytes:
        """The file's new content, laid out as the old one is."""
        return laid_out_as(self.source.raw, self.content)

    def cells(self, turn: Turn) -> Iterator[Cell]:
        """The slots of a turn's state, by canonical names."""
        domain = self.domains.get(turn.dialogue, "")
        for slot, place, spelling in self._gold.notation.cells(self._gold.find(turn.content)):
            yield canonical_slot(f"{domain}{slot}"), place, spelling

    def edit(self, turn: Turn, changes: Mapping[str, str | None]) -> None:
        """Set slots of a turn's state, by canonical names; None removes a slot."""
        notation, state = self._gold.notation, self._gold.find(turn.content)
        places: dict[str, list[Place]] = {}
        for slot, place, _ in self.cells(turn):
            places.setdefault(slot, []).append(place)
        for slot, value in changes.items():
            if slot not in places and value is not None:
                name = slot.removeprefix(self.domains.get(turn.dialogue, ""))
                places[slot] = [notation.make(state, name, self._spellings.get(slot))]
            for place in places.get(slot, ()):
                notation.put(place, value, self.row.absent)
        notation.tidy(state)

    @cached_property
    def _spellings(self) -> dict[str, Any]:
        """The first spelling of each slot of the file, as `cells` gives it."""
        spellings: dict[str, Any] = {}
        for turn in self.turns():
            for slot, _, spelling in self.cells(turn) if turn.content is not None else ():
                spellings.setdefault(slot, spelling)
        return spellings


class LinesDocument(Document):
    """A file of lines, of which those that are not edited stay as they are."""

    def is_item(self, line: bytes) -> bool:
        """Whether a line is a turn."""
        return bool(line.strip())

    def written(self, line: bytes, item: Any) -> bytes:
        """The line for a turn, which was this one."""
        return line if msgspec.json.decode(line) == item else laid_out_as(line, item)

    def dump(self) -> bytes:
        lines, items, kept = [], iter(self.items), {*map(id, self.content)}
        for line in io.BytesIO(self.source.raw):
            text = line.rstrip(b"\r\n")
            item = next(items) if self.is_item(text) else None
            if item is None or id(item) in kept:
                lines.append(line if item is None else self.written(text, item) + line[len(text) :])
        return b"".join(lines)


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
