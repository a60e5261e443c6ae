"""Numbers the turns of records: by a key of the turn, by ids that end in the turn, or by the order of the records."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from dstbench.conventions.slots import OWN_ID
from dstbench.errors import DstbenchError
from dstbench.readers.record_keys import FLAG, OWN, Fields, Samples, ids, turn_number
from dstbench.readers.source import Source
from dstbench.readers.state_cells import without_numpy
from dstbench.readers.state_text import named
from dstbench.readers.walk import Turn

_OWN: Final = re.compile(OWN_ID)
# A text with a slot and its value, which may be a whole state.
_WRITTEN_OUT: Final = re.compile(r"[=:]")
# No turn is written with so many digits.
_LONG_NUMBER: Final = re.compile(r"[0-9]{4}$")
# What is numbered in ids such as test-17 or dialogue_3 are dialogues.
_NUMBERED: Final = re.compile(
    r"(?:^|[-_. ])(?:train|dev|valid|val|validation|test|dialogue|dialog|dial|conversation|conv|session)$",
    re.IGNORECASE,
)


def is_multiwoz(name: str) -> bool:
    """Whether an id is one of MultiWOZ's dialogues, in any spelling."""
    return _OWN.match(name.upper().removesuffix(".JSON")) is not None


def is_multiwoz_flag(name: str) -> bool:
    """Whether an id is one of MultiWOZ's dialogues, with a turn behind it."""
    return (match := FLAG.fullmatch(name)) is not None and is_multiwoz(match[1])


def turns_of_ids(source: Source, names: Iterable[str]) -> list[tuple[str, int]]:
    """The dialogues and turns of ids that are the keys of states.

    Raises:
        DstbenchError: They do not end in the turn.
    """
    rows = [Turn(name, None, {}, None, place=f"{name!r}: ") for name in names]
    turns = Turns(source, rows, Fields(None, None, None, None), Samples(()))
    if rows and turns.note is not None:
        what = "one state, where the states of a dialogue must be, as the key does not end in the turn"
        raise source.misshapen(what, dialogue=rows[0].dialogue)
    return turns.of_rows


def where(row: Turn, fields: Fields | None = None) -> dict[str, Any]:
    """The dialogue and turn of a record, as written in it, for messages."""
    dialogue, turn = (OWN.dialogue, OWN.turn) if fields is None else (fields.dialogue, fields.turn)
    of_row = {"dialogue": row.content.get(dialogue, row.dialogue), "turn": row.content.get(turn, row.number)}
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
        note: A note on how turns without numbers were counted; None: they have numbers.
        told: (key, field) of each field; the key is None if objects around the records have the field.
    """

    def __init__(self, source: Source, rows: Sequence[Turn], fields: Fields, samples: Samples) -> None:
        self._source, self._rows, self._fields = source, rows, fields
        self.note: str | None = None
        self.told: list[tuple[str | None, str]] = [(fields.dialogue, "dialogue")]
        self._doubt: DstbenchError | None = None
        if fields.turn is not None and fields.turn == fields.dialogue:
            self.told = [(fields.turn, "dialogue and turn")]
            self.of_rows = list(zip(*self._split(fields.turn, self._texts(fields.turn)), strict=True))
            return
        if fields.turn is not None or all(row.number is not None for row in rows):
            self.told.append((fields.turn, "turn"))
            self.of_rows = [(self._dialogue(row), self._turn(row)) for row in rows]
            return
        by_user = fields.dialogue is not None and source.keys is not None and fields.dialogue == source.keys.dialogue
        further = [key for key in ids(samples) if key != fields.dialogue]
        for key in [] if by_user else [fields.dialogue, *further]:
            if (flags := self._flags(key)) is not None:
                names, turns = flags
                is_id = key == fields.dialogue
                self.told = [(key, "dialogue and turn")] if is_id else [*self.told, (key, "turn")]
                self.of_rows = list(zip(names, turns, strict=True))
                return
        if self._doubt is not None:
            raise self._doubt
        if fields.slot is not None:
            raise source.error("rows of one slot each, and no key says of which turn", "--keys turn=KEY names it")
        counts: Counter[str] = Counter()
        self.of_rows = []
        for row in rows:
            name = self._dialogue(row)
            self.of_rows.append((name, counts[name]))
            counts[name] += 1
        if len(counts) == len(rows) and any(map(self._may_be_turns, rows)):
            what = "one record per dialogue, with lists of texts that are one state or the states of several turns"
            raise source.error(what, "give each record a key turn if they are one state, each turn a list if several")
        records, dialogues = (
            f"{n:,} {word}{'s'[: n != 1]}" for n, word in ((len(rows), "record"), (len(counts), "dialogue"))
        )
        self.note = f"no turn numbers: the {records} of {dialogues} are counted in their order"

    def _texts(self, key: str | None) -> list[Any]:
        """The ids under a key; None: those of the objects around the records."""
        return [row.dialogue if key is None else row.content.get(key) for row in self._rows]

    def _flags(self, key: str | None) -> tuple[list[str], list[int]] | None:
        """The dialogues and the turns of the records, if the ids under a key end in the turn; None: they do not.

        MultiWOZ's ids are complete without the number after them, so that it is a turn, be there gaps: partial runs
        have such ids. Other ids may be numbered themselves, such as SGD's ``1_00000``: after these there must be a turn
        number in every record, unpadded, which counts the turns of several dialogues, of each from 0 or 1. If it does
        not, or is padded to a turn's few digits, either reading may be wrong (`_doubt`).
        """
        texts = self._texts(key)
        if 2 * sum(isinstance(text, str) and FLAG.fullmatch(text) is not None for text in texts) <= len(texts):
            return None
        if self._fields.slot is None and 2 * len(set(map(str, texts))) <= len(texts):
            return None  # several records of a dialogue, in their order
        names, turns = self._split(key, texts)
        if key != self._fields.dialogue:  # an id of the record: of the same dialogues, or only numbered
            own = [self._dialogue(row) for row in self._rows]
            if not len(set(own)) == len(set(names)) == len({*zip(own, names, strict=True)}):
                return None
            names = own
        if all(map(is_multiwoz, names)):
            return names, turns
        padded = [text for text, turn in zip(texts, turns, strict=True) if text[-1 - len(str(turn))] == "0"]
        if any(_NUMBERED.search(name) for name in names) or any(_LONG_NUMBER.search(text) for text in padded):
            return None
        of_dialogue: dict[str, set[int]] = {}
        for name, turn in zip(names, turns, strict=True):
            of_dialogue.setdefault(name, set()).add(turn)
        are_counted = all(len(seen) - 1 == max(seen) - min(seen) and min(seen) < 2 for seen in of_dialogue.values())
        # One name before all numbers is that of one dialogue, or begins the ids of several.
        tells = not padded and (key != self._fields.dialogue or len(of_dialogue) > 1)
        if tells and are_counted and (self._fields.slot is not None or len({*texts}) == len(texts)):
            return names, turns
        if key == self._fields.dialogue:
            why = "they are padded" if padded else "they do not count each of several dialogues' turns"
            what = f"ids such as {texts[0]!r} may end in the turn, or be numbered themselves, as {why}"
            hint = f"--keys id={key} if they are whole, --keys id={key},turn={key} if they end in the turn"
            self._doubt = self._source.error(what, hint if key else "give each record a key turn")
        return None

    def _may_be_turns(self, row: Turn) -> bool:
        """Whether a record has a list of ``slot = value``, each of which may be a slot of a state, or a whole state."""
        cells = (row.content.get(key) for key in (self._fields.gold, self._fields.pred) if key is not None)
        return any(
            isinstance(cell, list)
            and len(cell) > 1
            and all(isinstance(item, str) and _WRITTEN_OUT.search(item) for item in cell)
            for cell in cells
        )

    def _split(self, key: str | None, texts: Sequence[Any]) -> tuple[list[str], list[int]]:
        """The dialogues and turns in ids that end in the turn."""
        names, turns = [], []
        for row, text in zip(self._rows, texts, strict=True):
            match = FLAG.fullmatch(text) if isinstance(text, str) else None
            if match is None:
                what = f"{row.place}{key or 'the key'} {text!r} has no turn at its end, unlike others"
                raise self._source.error(what, "others are of the form <dialogue>-<turn>")
            names.append(match[1])
            turns.append(int(match[2]))
        return names, turns

    def _dialogue(self, row: Turn) -> str:
        key = self._fields.dialogue
        dialogue = without_numpy(row.dialogue if key is None else row.content.get(key))
        if isinstance(dialogue, float) and dialogue.is_integer():
            dialogue = int(dialogue)
        if isinstance(dialogue, bool) or not isinstance(dialogue, (str, int)):
            what = f"no {key or 'id of the dialogue'}" if dialogue is None else f"{key}: {named(dialogue)} is not an id"
            raise self._source.misshapen(f"{row.place}{what} here", **where(row, self._fields))
        return str(dialogue)

    def _turn(self, row: Turn) -> int:
        key = self._fields.turn
        value = row.number if key is None else row.content.get(key)
        if (number := turn_number(value)) is None:
            place = where(row, self._fields)
            if value is None:
                raise self._source.misshapen(f"{row.place}no {key} here", **place)
            what, hint = (
                f"{row.place}{key or 'the key'}: the turn is not a number",
                "--keys turn=KEY chooses another key",
            )
            raise self._source.error(what, hint, **{**place, "turn": str(value)})
        return number
