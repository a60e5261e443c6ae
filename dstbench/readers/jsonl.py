"""dstbench's own format: one JSON object per line and turn, for models whose code writes no predictions.

Conventions: ``dialogue_id`` and ``turn`` (user turns from 0) name the turn; ``gold`` and ``pred`` are cumulative states
``{"hotel-area": "north"}``. A slot that is not in the state is left out. A line may lack ``gold`` (then ``--gold``
gives it) or ``pred`` (then the turn has no prediction). ``system`` and ``user`` are utterances: that of the system
before the user's turn, and the user's. A JSON list of such objects is read, too. Files with other keys or values are
read as `records`, with notes on what was read loosely.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from typing import Any, Final

import msgspec

from dstbench.conventions.slots import canonical_slot
from dstbench.readers import records
from dstbench.readers.document import Document, laid_out_as
from dstbench.readers.format import Format, Source, StatesBuilder
from dstbench.readers.notations import Cell, Place
from dstbench.readers.states import noting_vanishing_slots
from dstbench.readers.walk import Turn as DocumentTurn


class _Editable(msgspec.Struct):
    dialogue_id: str
    turn: int
    gold: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


class Turn(_Editable):
    """One turn."""

    pred: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    system: str | msgspec.UnsetType = msgspec.UNSET
    user: str | msgspec.UnsetType = msgspec.UNSET


def _sniff(source: Source) -> bool:
    if source.kind == "jsonl":
        return source.first_line("dialogue_id") is not None
    items = source.sample if source.kind == "json" and isinstance(source.sample, list) else []
    return any({"dialogue_id", "turn"} <= item.keys() for item in items if isinstance(item, dict))


def _read(source: Source, states: StatesBuilder) -> None:
    if source.kind not in ("json", "jsonl"):
        raise source.misshapen("not JSON Lines")
    records.FORMAT.reader(source, states)


class TurnsDocument(Document):
    """The turns of a file, of which gold and utterances can be edited; a line without an edit stays as it is."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._is_list = source.kind == "json" and isinstance(source.json, list)
        # A file of one line may be JSON, too.
        self._turns = source.json if self._is_list else [item for _, item in source.json_lines()]
        self._dropped: Collection[str] = ()
        for number, turn in enumerate(self._turns, not self._is_list):
            try:
                msgspec.convert(turn, _Editable)
            except msgspec.ValidationError:
                place = f"{'item' if self._is_list else 'line'} {number}"
                what = f"{place}: it cannot be edited: it lacks a dialogue_id, a turn or a flat gold state of strings"
                hint = "write it with the keys dialogue_id, turn, gold; `dstbench help own-data`"
                raise source.error(what, hint) from None

    def turns(self) -> Iterator[DocumentTurn]:
        for turn in self._turns:
            texts = {speaker: (turn, speaker) for speaker in ("user", "system") if speaker in turn}
            yield DocumentTurn(turn["dialogue_id"], turn["turn"], turn.get("gold"), texts=texts)

    def drop(self, dialogues: Collection[str]) -> None:
        self._dropped = dialogues

    def cells(self, turn: DocumentTurn) -> Iterator[Cell]:
        for slot in turn.content:
            yield canonical_slot(slot), (turn.content, slot), slot

    def make(self, turn: DocumentTurn, slot: str, spelling: Any) -> Place:
        return turn.content, spelling or slot

    def dump(self) -> bytes:
        if self._is_list:
            kept = [turn for turn in self._turns if turn["dialogue_id"] not in self._dropped]
            return laid_out_as(self.source.raw, kept)
        lines, turns = [], iter(self._turns)
        for line in io.BytesIO(self.source.raw):
            content = line.rstrip(b"\r\n")
            turn = next(turns) if content.strip() else None
            if turn is None or msgspec.json.decode(content) == turn:
                lines.append(line)
            else:
                lines.append(laid_out_as(content, turn) + line[len(content) :])
            if turn is not None and turn["dialogue_id"] in self._dropped:
                lines.pop()
        return b"".join(lines)


FORMAT: Final = Format(
    name="jsonl",
    title="dstbench's own: one JSON object per line and turn",
    example='{"dialogue_id": "MUL9901", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "north"}}',
    shape=Turn,
    sniff=_sniff,
    reader=_read,
    finish=noting_vanishing_slots,
    free_keys=True,
    said=records.FORMAT.said,
    document=TurnsDocument,
)
