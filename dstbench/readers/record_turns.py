"""Numbers the turns of records: by a key of the turn, by ids that end in the turn, or by the order of the records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from dstbench.readers.record_keys import FLAG, OWN, Fields, Samples, ids, turn_number
from dstbench.readers.record_layout import Row
from dstbench.readers.source import Source
from dstbench.readers.state_cells import without_numpy
from dstbench.readers.state_text import named


def where(row: Row, fields: Fields | None = None) -> dict[str, Any]:
    """The dialogue and turn of a record as they stand there, for messages."""
    dialogue, turn = (OWN.dialogue, OWN.turn) if fields is None else (fields.dialogue, fields.turn)
    of_row = {"dialogue": row.record.get(dialogue, row.dialogue), "turn": row.record.get(turn, row.turn)}
    return {name: value for name, value in of_row.items() if isinstance(value, (str, int, float))}


class Turns:
    """The dialogue and turn of every record.

    Args:
        source: Their file.
        rows: The records.
        fields: Their keys.
        samples: Some of them.

    Attributes:
        of_rows: Dialogue and turn of each record.
        note: What to say of turns that no record numbers; None: nothing.
        told: The keys that were taken, each with what it holds; None: objects around the records say it.
    """

    def __init__(self, source: Source, rows: Sequence[Row], fields: Fields, samples: Samples) -> None:
        self._source, self._rows, self._fields = source, rows, fields
        self.note: str | None = None
        self.told: list[tuple[str | None, str]] = [(fields.dialogue, "dialogue")]
        if fields.turn is not None or all(row.turn is not None for row in rows):
            self.told.append((fields.turn, "turn"))
            self.of_rows = [(self._dialogue(row), self._turn(row)) for row in rows]
            return
        by_user = source.keys is not None and source.keys.dialogue is not None
        for key in [fields.dialogue] if by_user or fields.dialogue is None else ids(samples):
            if (flags := self._flags(key)) is not None:
                self.told = [(key, "dialogue and turn")]
                self.of_rows = flags
                return
        counts: Counter[str] = Counter()
        self.of_rows = []
        for row in rows:
            name = self._dialogue(row)
            self.of_rows.append((name, counts[name]))
            counts[name] += 1
        records, dialogues = (
            f"{n:,} {word}{'s'[: n != 1]}" for n, word in ((len(rows), "record"), (len(counts), "dialogue"))
        )
        self.note = f"no turn numbers: the {records} of {dialogues} are counted in their order"

    def _flags(self, key: str | None) -> list[tuple[str, int]] | None:
        """Dialogues and turns, if the ids under a key have both; None: they have not."""
        texts = [row.dialogue if key is None else row.record.get(key) for row in self._rows]
        matches = [FLAG.fullmatch(text) if isinstance(text, str) else None for text in texts]
        if 2 * sum(match is not None for match in matches) <= len(texts) or len(set(map(str, texts))) < len(texts):
            return None
        flags = []
        for row, text, match in zip(self._rows, texts, matches, strict=True):
            if match is None:
                what = f"{row.place}{key or 'the key'} {text!r} has no turn at its end, unlike others"
                raise self._source.error(what, "others are of the form <dialogue>-<turn>")
            flags.append((match[1], int(match[2])))
        return flags

    def _dialogue(self, row: Row) -> str:
        key = self._fields.dialogue
        dialogue = without_numpy(row.dialogue if key is None else row.record.get(key))
        if isinstance(dialogue, float) and dialogue.is_integer():
            dialogue = int(dialogue)
        if isinstance(dialogue, bool) or not isinstance(dialogue, (str, int)):
            what = f"no {key or 'id of the dialogue'}" if dialogue is None else f"{key}: {named(dialogue)} is no id"
            raise self._source.misshapen(f"{row.place}{what} here", **where(row, self._fields))
        return str(dialogue)

    def _turn(self, row: Row) -> int:
        key = self._fields.turn
        value = row.turn if key is None else row.record.get(key)
        if (number := turn_number(value)) is None:
            place = where(row, self._fields)
            if value is None:
                raise self._source.misshapen(f"{row.place}no {key} here", **place)
            what, hint = f"{row.place}{key or 'the key'}: the turn is not a number", "--keys turn=KEY takes another key"
            raise self._source.error(what, hint, **{**place, "turn": str(value)})
        return number
