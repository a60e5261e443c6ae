"""dstbench's own files, open for changes: JSON Lines, or a JSON list, of turns.

Conventions: only gold and utterances are edited. Predictions and other keys stay, and a line without an edit stays the
same to the byte.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from typing import Any, Final

import msgspec

from dstbench.conventions.slots import canonical_slot
from dstbench.readers.document import Document, DocumentTurn, laid_out_as
from dstbench.readers.notations import Cell, Place
from dstbench.readers.source import Source

_SPEAKERS: Final = ("user", "system")


class _Turn(msgspec.Struct):
    """The part of a turn that can be edited."""

    dialogue_id: str
    turn: int
    gold: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


class TurnsDocument(Document):
    """Turns, one by one, in the order of the file."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._is_list = source.kind == "json" and isinstance(source.json, list)
        # Each turn; in JSON Lines, with its line. A file of one line may be JSON, too.
        self._turns = source.json if self._is_list else [item for _, item in source.json_lines()]
        self._lines = [] if self._is_list else _lines(source.raw)
        self._before = [msgspec.json.encode(turn) for turn in self._turns]
        self._is_kept = [True] * len(self._turns)
        for number, turn in enumerate(self._turns):
            if not _is_own(turn):
                place = f"{'item' if self._is_list else 'line'} {number + (not self._is_list)}"
                what = f"{place}: it cannot be edited: it lacks a dialogue_id, a turn or a flat gold state of strings"
                raise source.error(what, "write it with the keys dialogue_id, turn, gold; `dstbench help own-data`")

    def turns(self) -> Iterator[DocumentTurn]:
        for turn in self._turns:
            texts = {speaker: (turn, speaker) for speaker in _SPEAKERS if speaker in turn}
            yield DocumentTurn(turn["dialogue_id"], turn["turn"], turn.get("gold"), texts)

    def drop(self, dialogues: Collection[str]) -> None:
        self._is_kept = [turn["dialogue_id"] not in dialogues for turn in self._turns]

    def cells(self, state: Any) -> Iterator[Cell]:
        for slot in state:
            yield canonical_slot(slot), (state, slot), slot

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        return state, spelling or slot

    def dump(self) -> bytes:
        kept = [number for number, is_kept in enumerate(self._is_kept) if is_kept]
        if self._is_list:
            return laid_out_as(self.source.raw, [self._turns[number] for number in kept])
        return b"".join(self._line(number) for number in kept)

    def _line(self, number: int) -> bytes:
        line = self._lines[number]
        if msgspec.json.encode(self._turns[number]) == self._before[number]:
            return line
        content = line.rstrip(b"\r\n")
        return laid_out_as(content, self._turns[number]) + line[len(content) :]


def _is_own(turn: Any) -> bool:
    """Whether a turn has dstbench's own keys and values; `records` reads others as well."""
    try:
        msgspec.convert(turn, _Turn)
    except msgspec.ValidationError:
        return False
    return True


def _lines(raw: bytes) -> list[bytes]:
    """The lines that hold a turn, with the empty ones that follow."""
    lines: list[bytes] = []
    for line in io.BytesIO(raw):
        if line.strip() or not lines:
            lines.append(line)
        else:
            lines[-1] += line
    return lines
