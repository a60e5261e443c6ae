"""Reads records of turns once it is known where they are: finds their keys, numbers turns, and adds their states.

Turns are numbered by a key, by ids that end in the turn, or by the order of the records. Errors say where: the record's
place, its dialogue and turn, the key and the slot.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final

from dstbench.conventions.slots import OWN_ID
from dstbench.errors import DstbenchError, number_of, shortened
from dstbench.readers import key_names
from dstbench.readers.builder import Pairs, StatesBuilder
from dstbench.readers.format import Said
from dstbench.readers.key_names import folded, meaning
from dstbench.readers.record_hints import keys_for, line_for
from dstbench.readers.record_keys import (
    FLAG,
    OWN,
    USUAL,
    Fields,
    KeysError,
    Samples,
    guess,
    ids,
    similar,
    turn_number,
)
from dstbench.readers.shapes import clipped
from dstbench.readers.source import Source
from dstbench.readers.state_cells import StateCells, is_missing, joined, no_state, without_numpy
from dstbench.readers.state_text import Misfit, named, says_nothing
from dstbench.readers.walk import Turn

# Records that are looked at for a hint.
_SAMPLE: Final = 20
# If records are in so few groups, a note names these; more groups are dialogues.
_GROUPS: Final = 6
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


def _chosen(
    source: Source, rows: Sequence[Turn], *, need_states: bool = True
) -> tuple[Sequence[Turn], Samples, Fields]:
    """The records of turns, samples of them, and their keys."""
    for row in rows:
        if not isinstance(row.content, Mapping):
            raise source.misshapen(f"{row.place}expected an object, found {clipped(str(row.content))}")
    try:
        rows, samples, fields = guess(source, rows, need_states=need_states)
    except KeysError as error:
        keys = None if error.compete else keys_for([[row.content for row in rows[:_SAMPLE]]])
        is_whole = keys is not None and (keys.dialogue is not None or rows[0].dialogue is not None)
        hint = f"{line_for(keys)} may be what it needs" if keys and is_whole and "KEY" in error.hint else error.hint
        raise source.error(error.what, hint) from None
    if (told := _of_one_speaker(rows, samples, fields)) is not rows:
        rows, samples = told, Samples(row.content for row in told)
    if fields.dialogue is None and rows[0].dialogue is None:
        rows = [row._replace(dialogue=source.dialogue) for row in rows]
    return rows, samples, fields


def _of_one_speaker(rows: Sequence[Turn], samples: Samples, fields: Fields) -> Sequence[Turn]:
    """The records of the speaker whose turns have states, counted anew in each dialogue; all, if both's have."""
    speakers = samples.named(key_names.SPEAKER)
    sides = {fields.gold, fields.pred} - {None}
    if not speakers or not sides:
        return rows
    having, lacking = set[str](), set[str]()
    for row in rows:
        speaker = str(row.content.get(speakers[0]))
        (lacking if all(is_missing(row.content.get(side)) for side in sides) else having).add(speaker)
    if not having or not lacking - having:
        return rows
    told = [row for row in rows if str(row.content.get(speakers[0])) in having]
    if fields.turn is not None or any(row.number is None for row in told):
        return told
    numbers = defaultdict[Any, Iterator[int]](count)
    return [row._replace(number=next(numbers[row.dialogue])) for row in told]


def collect(source: Source, states: StatesBuilder, rows: Sequence[Turn]) -> Fields | None:
    """Check records, and add their turns and states."""
    if not rows:
        return None
    rows, samples, fields = _chosen(source, rows)
    _Reading(source, rows, samples, fields).add(states)
    return fields


def spoken(source: Source, rows: Sequence[Turn]) -> Iterator[Said]:
    """What was said in each turn of the records (see `Format.said`)."""
    if not rows:
        return
    rows, samples, fields = _chosen(source, rows, need_states=False)
    given = source.keys
    keys = [
        (given and getattr(given, field)) or next(iter(samples.named(names)), None)
        for field, names in (("system", key_names.SYSTEM), ("user", key_names.USER))
    ]
    seen = set()
    for row, turn in zip(rows, Turns(source, rows, fields, samples).of_rows, strict=True):
        if fields.slot is None or turn not in seen:  # in rows of one slot each, a turn has several
            seen.add(turn)
            system, user = (row.content.get(key) if key is not None else None for key in keys)
            yield *turn, system if isinstance(system, str) else None, user if isinstance(user, str) else None


class _Reading:
    """Records whose keys are known."""

    def __init__(self, source: Source, rows: Sequence[Turn], samples: Samples, fields: Fields) -> None:
        self._source, self._rows, self._fields, self._cells = source, rows, fields, StateCells(source.unreadable)
        self._notes: list[str] = []
        self._is_named = fields.dialogue is None and rows[0].dialogue == source.dialogue
        self._sides = {
            side: key for side, key in (("gold", fields.gold), ("pred", fields.pred))
            if key is not None and (fields.slot is not None or self._is_there(key))
        }  # fmt: skip
        self._check_keys(samples)
        self._turns = Turns(source, rows, fields, samples)

    def add(self, states: StatesBuilder) -> None:
        """Add all turns and states, and the notes."""
        states.either = self._fields.either
        if "pred" not in self._sides and self._fields.others:
            states.instead = f"--keys pred={self._fields.others[0]} takes that as the prediction"
        if self._fields.slot is None:
            self._add_turns(states)
        else:
            self._add_slots(states, self._fields.slot)
        for note in (*self._notes, self._turns.note, self._keys_used(), self._cells.note()):
            if note:
                states.note(note)

    def _add_turns(self, states: StatesBuilder) -> None:
        for row, turn in zip(self._rows, self._turns.of_rows, strict=True):
            at = states.turn(*turn)
            for side, key in [*self._sides.items()][: 1 if states.either else 2]:
                if key not in row.content:
                    continue
                of = (states.gold, states.pred) if states.either else (getattr(states, side),)
                is_gold = side == "gold" and not states.either
                try:
                    self._cells.add_from(of, at, row.content[key], is_gold=is_gold)
                except Misfit as error:
                    raise self._misfit(row, key, error, is_gold=is_gold) from None

    def _misfit(self, row: Turn, key: str, error: Misfit, *, is_gold: bool) -> DstbenchError:
        """The error for what is under a key of a record, and is none of its states or values."""
        return no_state(self._source, error, f"{row.place}{key}: ", is_gold=is_gold, **where(row, self._fields))

    def _add_slots(self, states: StatesBuilder, slot_key: str) -> None:
        """Add turns from records that are one slot each."""
        turns: dict[tuple[str, int], dict[str, Pairs]] = {}
        unpredicted = set()
        for row, turn in zip(self._rows, self._turns.of_rows, strict=True):
            listed = turns.setdefault(turn, {side: [] for side in self._sides})
            slot, domain = row.content.get(slot_key), row.content.get(self._fields.domain or "")
            for side, key in self._sides.items():
                value = without_numpy(row.content.get(key))
                if is_missing(value):
                    continue
                if not isinstance(slot, str):
                    if side == "gold":
                        what = f"{row.place}a gold value without a slot"
                        raise self._source.misshapen(what, **where(row, self._fields))
                    unpredicted.add(turn)  # as a long table marks such a turn
                    continue
                name = joined(domain, slot) if isinstance(domain, str) and domain else slot
                try:
                    text = self._cells.value(value, name)
                except Misfit as error:
                    raise self._misfit(row, key, error, is_gold=True) from None
                if text is not None:
                    listed[side].append((name, text))
        for turn, of_sides in turns.items():
            at = states.turn(*turn)
            for side, pairs in of_sides.items():
                if side == "gold" or turn not in unpredicted:
                    getattr(states, side).cells(at, pairs)

    def _is_there(self, key: str) -> bool:
        """Whether a side has a state in any record."""
        for cell in (row.content.get(key) for row in self._rows):
            if not (says_nothing(cell) if isinstance(cell, str) else is_missing(cell)):
                return True
        self._notes.append(f"{key} is null in every record, and so is ignored")
        return False

    def _check_keys(self, samples: Samples) -> None:
        """Raise an error for a record that lacks both sides, or that has a misspelt key in place of one."""
        for shape, (first, *_) in samples.shapes.items():
            present_sides = [side for side, key in self._sides.items() if key in shape]
            unknown = [key for key in shape if isinstance(key, str) and self._is_unknown(key)]
            what = hint = None
            if not present_sides:
                names = [*dict.fromkeys([*self._sides.values(), "gold", "pred"])]
                what = f"neither {names[0]} nor {names[1]}; unknown keys: {', '.join(sorted(unknown)[:12]) or 'none'}"
                hint = similar(unknown, names) or self._source.hint
            elif not self._fields.either and len(present_sides) == 1:
                side = "pred" if present_sides == ["gold"] else "gold"
                names = [self._sides[side]] if side in self._sides else [*USUAL[side]]
                usual = {key for other in samples.shapes if names[0] in other for key in other}
                wrong = [key for key in unknown if key not in usual and samples.holds_states(key, surely=False)]
                if hint := similar(wrong, names):
                    what = f"no {names[0]}; unknown keys: {', '.join(wrong)}"
            if what:
                row = next(row for row in self._rows if row.content is first)
                raise self._source.error(f"{row.place}{what}", hint, **where(row, self._fields))

    def _is_unknown(self, key: str) -> bool:
        fields = self._fields
        return meaning(key) is None and key not in {
            *vars(OWN).values(), *self._sides.values(), fields.dialogue, fields.turn, fields.slot, fields.domain
        }  # fmt: skip

    def _keys_used(self) -> str | None:
        """Which keys were used; None: dstbench's own, or those that the user gives, and no others could be meant."""
        fields = self._fields
        sides = [(fields.gold, "states")] if fields.either else [(key, side) for side, key in self._sides.items()]
        told = [*self._turns.told, (fields.slot, "slot"), (fields.domain, "domain"), *sides]
        given = vars(self._source.keys).values() if self._source.keys else ()
        keys = [(key, word) for key, word in told if key is not None]
        plain_keys = {key for key, word in keys if vars(OWN).get(word) == key or folded(key) == word}
        groups = [*dict.fromkeys(row.dialogue for row in self._rows)] if fields.dialogue is not None else []
        groups = [] if any(map(str.isdecimal, "".join(map(str, groups)))) else groups  # they are ids
        cells = (row.content.get(key) for row in self._rows for key in fields.no_states)
        texts = (text for cell in cells if cell is not None and (text := str(cell).strip()))
        no_state = next((f", such as {shortened(repr(text), 60)}" for text in texts), "")
        further = [
            f"{' and '.join(word for key, word in self._turns.told if key is None)} from the objects around the records"
            if None in dict(self._turns.told) and not self._is_named else "",
            "dialogue from the file's name" if self._is_named else "",
            f"records under {', '.join(map(str, groups))} are read together" if 1 < len(groups) <= _GROUPS else "",
            f"not used: {', '.join(fields.others)}" if fields.others else "",
            f"no states in {', '.join(fields.no_states)}{no_state}" if fields.no_states else "",
        ]  # fmt: skip
        if all(key in plain_keys or key in given for key, _ in keys) and not any(further):
            return None
        used = ", ".join(key if key in plain_keys else f"{key} as {word}" for key, word in keys)
        return "; ".join(filter(None, [f"keys used: {used}", *further]))


# --- turns ------------------------------------------------------------------------------------------------------------


def is_multiwoz(name: str) -> bool:
    """Whether an id is one of MultiWOZ's dialogues, in any spelling."""
    return _OWN.match(name.upper().removesuffix(".JSON")) is not None


def is_multiwoz_flag(name: str) -> bool:
    """Whether an id is one of MultiWOZ's dialogues, with a turn behind it."""
    return (match := FLAG.fullmatch(name)) is not None and is_multiwoz(match[1])


def turns_of_ids(source: Source, names: Iterable[str]) -> list[tuple[str, int]]:
    """The dialogues and turns of ids that are the keys of states."""
    rows = [Turn(name, None, {}, None, place=f"{name!r}: ") for name in names]
    turns = Turns(source, rows, Fields(None, None, None, None), Samples(()))
    if turns.note:
        what = "one state, where the states of a dialogue must be, as the key does not end in the turn"
        raise source.misshapen(what, dialogue=rows[0].dialogue)
    return turns.of_rows


def where(row: Turn, fields: Fields | None = None) -> dict[str, Any]:
    """The dialogue and turn of a record, as written in it, for messages."""
    dialogue, turn = (OWN.dialogue, OWN.turn) if fields is None else (fields.dialogue, fields.turn)
    of_row = {"dialogue": row.content.get(dialogue, row.dialogue), "turn": row.content.get(turn, row.number)}
    return {name: value for name, value in of_row.items() if isinstance(value, (str, int, float))}


class Turns:
    """The dialogue and turn of every record, by which keys they are (None: objects around tell), and a note on that."""

    def __init__(self, source: Source, rows: Sequence[Turn], fields: Fields, samples: Samples) -> None:
        self._source, self._rows, self._fields = source, rows, fields
        self.note = ""
        self._doubt: DstbenchError | None = None
        self.told: list[tuple[str | None, str]] = [(fields.dialogue, "dialogue")]
        if fields.turn is not None and fields.turn == fields.dialogue:
            self.told = [(fields.turn, "dialogue and turn")]
            self.of_rows = self._split(fields.turn)
        elif fields.turn is not None or all(row.number is not None for row in rows):
            self.told.append((fields.turn, "turn"))
            self.of_rows = [(self._dialogue(row), self._turn(row)) for row in rows]
        else:
            self.of_rows = self._from_ids(ids(samples)) or self._counted()

    def _from_ids(self, keys: Sequence[str]) -> list[tuple[str, int]] | None:
        """Dialogue and turn of each record, by ids that end in the turn; None: there are none, or the user says so."""
        own, given = self._fields.dialogue, self._source.keys
        if own is not None and given is not None and own == given.dialogue:
            return None
        for key in (own, *(key for key in keys if key != own)):
            if (turns := self._flags(key)) is not None:
                self.told = [(key, "dialogue and turn")] if key == own else [*self.told, (key, "turn")]
                return turns
        if self._doubt is not None:
            raise self._doubt
        return None

    def _counted(self) -> list[tuple[str, int]]:
        """Dialogue and turn of each record, by their order."""
        if self._fields.slot is not None:
            raise self._source.error("rows of one slot each, and no key says of which turn", "--keys turn=KEY names it")
        numbers = defaultdict[str, Iterator[int]](count)
        turns = [(name, next(numbers[name])) for name in map(self._dialogue, self._rows)]
        if len(numbers) == len(turns) and any(map(self._may_be_turns, self._rows)):
            what = "one record per dialogue, with lists of texts that are one state or the states of several turns"
            hint = "give each record a key turn if they are one state, each turn a list if several"
            raise self._source.error(what, hint)
        sizes = f"{number_of(len(turns), 'record')} of {number_of(len(numbers), 'dialogue')}"
        self.note = f"no turn numbers: the {sizes} are counted in their order"
        return turns

    def _texts(self, key: str | None) -> list[Any]:
        """The ids under a key; None: those of the objects around the records."""
        return [row.dialogue if key is None else row.content.get(key) for row in self._rows]

    def _flags(self, key: str | None) -> list[tuple[str, int]] | None:
        """Dialogue and turn of each record, if the ids under a key end in the turn; None: they do not.

        MultiWOZ's ids are complete without the number after them, so that it is a turn, be there gaps: partial runs
        have such ids. Other ids may be numbered themselves, such as SGD's ``1_00000``: after these there must be a turn
        number in every record, unpadded, which counts the turns of several dialogues, of each from 0 or 1. If it does
        not, or is padded to a turn's few digits, either reading may be wrong (`_doubt`).
        """
        own, is_long = self._fields.dialogue, self._fields.slot is not None
        texts = self._texts(key)
        if 2 * sum(isinstance(text, str) and FLAG.fullmatch(text) is not None for text in texts) <= len(texts):
            return None
        if not is_long and 2 * len(set(map(str, texts))) <= len(texts):
            return None  # several records of a dialogue, in their order
        turns = self._split(key)
        if key != own:  # an id of the record: of the same dialogues, or only numbered
            names = {(self._dialogue(row), name) for row, (name, _) in zip(self._rows, turns, strict=True)}
            if not len({name for name, _ in names}) == len({name for _, name in names}) == len(names):
                return None
            turns = [(self._dialogue(row), turn) for row, (_, turn) in zip(self._rows, turns, strict=True)]
        of_dialogue: dict[str, set[int]] = {}
        for name, turn in turns:
            of_dialogue.setdefault(name, set()).add(turn)
        if all(map(is_multiwoz, of_dialogue)):
            return turns
        padded = [text for text, (_, turn) in zip(texts, turns, strict=True) if text[-1 - len(str(turn))] == "0"]
        if any(map(_NUMBERED.search, of_dialogue)) or any(_LONG_NUMBER.search(text) for text in padded):
            return None
        are_counted = all(len(seen) - 1 == max(seen) - min(seen) and min(seen) < 2 for seen in of_dialogue.values())
        # One name before all numbers is that of one dialogue, or begins the ids of several.
        tells = not padded and (key != own or len(of_dialogue) > 1)
        if tells and are_counted and (is_long or len({*texts}) == len(texts)):
            return turns
        if key == own:
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

    def _split(self, key: str | None) -> list[tuple[str, int]]:
        """Dialogue and turn of each record, by the ids under a key."""
        turns = []
        for row, text in zip(self._rows, self._texts(key), strict=True):
            match = FLAG.fullmatch(text) if isinstance(text, str) else None
            if match is None:
                what = f"{row.place}{key or 'the key'} {text!r} has no turn at its end, unlike others"
                raise self._source.error(what, "others are of the form <dialogue>-<turn>")
            turns.append((match[1], int(match[2])))
        return turns

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
            what = f"{row.place}{key or 'the key'}: the turn is not a number"
            raise self._source.error(what, "--keys turn=KEY chooses another key", **{**place, "turn": str(value)})
        return number
