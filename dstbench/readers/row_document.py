"""Files that rows describe, open for changes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from dstbench.conventions.slots import canonical_slot
from dstbench.readers.document import Document, DocumentTurn, laid_out_as
from dstbench.readers.notations import Cell, Place
from dstbench.readers.source import Source
from dstbench.readers.walk import START

if TYPE_CHECKING:
    from dstbench.readers.rows import Row


class RowDocument(Document):
    """A file that a row describes, open for changes."""

    def __init__(self, source: Source, row: Row) -> None:
        super().__init__(source)
        self._row, self.content = row, source.json
        self._side, self._notation = row.sides["gold"], row.sides["gold"].notation
        turns = row.turns(source, self.content)
        # Found before any edit, which may remove the slots that show it.
        self.domains = {turn.dialogue: row.domain_of(turn.around) for turn in turns} if row.domain else {}

    def turns(self) -> Iterator[DocumentTurn]:
        return self._row.document_turns(self.source, self.content)

    def cells(self, state: Any) -> Iterator[Cell]:
        domain = self.domains.get(state.dialogue, "")
        for slot, place, spelling in self._notation.cells(self._side.find(state.content)):
            yield canonical_slot(f"{domain}{slot}"), place, spelling

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        name = slot.removeprefix(self.domains.get(state.dialogue, ""))
        return self._notation.make(self._side.find(state.content), name, spelling)

    def put(self, place: Place, value: str | None) -> None:
        self._notation.put(place, value, self._row.absent)

    def drop(self, dialogues: Collection[str]) -> None:
        walker, step = self._row.walker(self.source, self.content), self._row.steps[0]

        def is_kept(key: Any, item: Any) -> bool:
            return walker.at(step, key, item, START)[0] not in dialogues

        if isinstance(self.content, dict):
            self.content = {key: item for key, item in self.content.items() if is_kept(key, item)}
        else:
            self.content = [item for key, item in enumerate(self.content) if is_kept(key, item)]

    def dump(self) -> bytes:
        return laid_out_as(self.source.raw, self.content)
