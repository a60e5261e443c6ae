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
from dstbench.readers.record_keys import (
    FLAG,
    OWN,
    USUAL,
    Fields,
    KeysError,
    Samples,
    guess,
    ids,
    keys_for,
    line_for,
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


def is_multiwoz(name: str) -> bool:
    """Whether an id is one of MultiWOZ's dialogues, in any spelling."""
    return _OWN.match(name.upper().removesuffix(".JSON")) is not None


def is_multiwoz_flag(name: str) -> bool:
    """Whether an id is one of MultiWOZ's dialogues, with a turn behind it."""
    return (match := FLAG.fullmatch(name)) is not None and is_multiwoz(match[1])


def collect(source: Source, states: StatesBuilder, rows: Sequence[Turn]) -> Fields | None:
    """Check records, and add their turns and states."""
    if not rows:
        return None
    records = _Records(source, *_chosen(source, rows))
    records.add(states)
    return records.fields


def spoken(source: Source, rows: Sequence[Turn]) -> Iterator[Said]:
    """What was said in each turn of the records (see `Format.said`)."""
    if not rows:
        return
    records = _Records(source, *_chosen(source, rows, need_states=False))
    keys = [
        (source.keys and getattr(source.keys, field)) or next(iter(records.samples.named(names)), None)
        for field, names in (("system", key_names.SYSTEM), ("user", key_names.USER))
    ]
    seen = set()
    for row, turn in zip(records.rows, records.turns(), strict=True):
        if records.fields.slot is None or turn not in seen:  # in rows of one slot each, a turn has several
            seen.add(turn)
            system, user = (row.content.get(key) if key is not None else None for key in keys)
            yield *turn, system if isinstance(system, str) else None, user if isinstance(user, str) else None


def turns_of_ids(source: Source, names: Iterable[str]) -> list[tuple[str, int]]:
    """The dialogues and turns of ids that are the keys of states."""
    rows = [Turn(name, None, {}, None, place=f"{name!r}: ") for name in names]
    records = _Records(source, rows, Samples(()), Fields(None, None, None, None))
    turns = records.turns()
    if records.note:
        what = "one state, where the states of a dialogue must be, as the key does not end in the turn"
        raise source.misshapen(what, dialogue=rows[0].dialogue)
    return turns


class _Records:
    """Records whose keys are known."""

    def __init__(self, source: Source, rows: Sequence[Turn], samples: Samples, fields: Fields) -> None:
        self._source, self.rows, self.samples, self.fields = source, rows, samples, fields
        self._cells = StateCells(source.unreadable)
        self._sides: dict[str, str] = {}
        # Which key gives a field (None: the objects around the records do), and whether turns are counted.
        self._told: list[tuple[str | None, str]] = [(fields.dialogue, "dialogue")]
        self._doubt: DstbenchError | None = None
        self.note = ""

    def add(self, states: StatesBuilder) -> None:
        """Add all turns and states, and the notes."""
        fields = self.fields
        for side, key in (("gold", fields.gold), ("pred", fields.pred)):
            if key is None:
                continue
            cells = (row.content.get(key) for row in self.rows)
            if fields.slot is None and all(says_nothing(c) if isinstance(c, str) else is_missing(c) for c in cells):
                states.note(f"{key} is null in every record, and so is ignored")
            else:
                self._sides[side] = key
        self._check_keys()
        states.either = fields.either
        if "pred" not in self._sides and fields.others:
            states.instead = f"--keys pred={fields.others[0]} takes that as the prediction"
        if fields.slot is None:
            self._add_turns(states)
        else:
            self._add_slots(states, fields.slot)
        for note in (self.note, self._keys_used(), self._cells.note()):
            if note:
                states.note(note)

    def _where(self, row: Turn) -> dict[str, Any]:
        """The dialogue and turn of a record, as written in it, for messages."""
        fields = (("dialogue", self.fields.dialogue, row.dialogue), ("turn", self.fields.turn, row.number))
        of_row = {name: row.content.get(key, around) for name, key, around in fields}
        return {name: value for name, value in of_row.items() if isinstance(value, (str, int, float))}

    def _misfit(self, row: Turn, key: str, error: Misfit, *, is_gold: bool) -> DstbenchError:
        """The error for what is under a key of a record, and is none of its states or values."""
        return no_state(self._source, error, f"{row.place}{key}: ", is_gold=is_gold, **self._where(row))

    def _add_turns(self, states: StatesBuilder) -> None:
        either = self.fields.either
        for row, turn in zip(self.rows, self.turns(), strict=True):
            at = states.turn(*turn)
            for side, key in [*self._sides.items()][: 1 if either else 2]:
                if key not in row.content:
                    continue
                of = (states.gold, states.pred) if either else (getattr(states, side),)
                is_gold = side == "gold" and not either
                try:
                    self._cells.add_from(of, at, row.content[key], is_gold=is_gold)
                except Misfit as error:
                    raise self._misfit(row, key, error, is_gold=is_gold) from None

    def _add_slots(self, states: StatesBuilder, slot_key: str) -> None:
        """Add turns from records that are one slot each."""
        turns: dict[tuple[str, int], dict[str, Pairs]] = {}
        unpredicted = set()
        for row, turn in zip(self.rows, self.turns(), strict=True):
            listed = turns.setdefault(turn, {side: [] for side in self._sides})
            slot, domain = row.content.get(slot_key), row.content.get(self.fields.domain or "")
            for side, key in self._sides.items():
                value = without_numpy(row.content.get(key))
                if is_missing(value):
                    continue
                if not isinstance(slot, str):
                    if side == "gold":
                        what = f"{row.place}a gold value without a slot"
                        raise self._source.misshapen(what, **self._where(row))
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

    def _check_keys(self) -> None:
        """Raise an error for a record that lacks both sides, or that has a misspelt key in place of one."""
        fields = self.fields
        known = {
            *vars(OWN).values(), *self._sides.values(), fields.dialogue, fields.turn, fields.slot, fields.domain
        }  # fmt: skip
        for shape, (first, *_) in self.samples.shapes.items():
            present_sides = [side for side, key in self._sides.items() if key in shape]
            unknown = [key for key in shape if isinstance(key, str) and key not in known and meaning(key) is None]
            what = hint = None
            if not present_sides:
                names = [*dict.fromkeys([*self._sides.values(), "gold", "pred"])]
                what = f"neither {names[0]} nor {names[1]}; unknown keys: {', '.join(sorted(unknown)[:12]) or 'none'}"
                hint = similar(unknown, names) or self._source.hint
            elif not self.fields.either and len(present_sides) == 1:
                side = "pred" if present_sides == ["gold"] else "gold"
                names = [self._sides[side]] if side in self._sides else [*USUAL[side]]
                usual = {key for other in self.samples.shapes if names[0] in other for key in other}
                wrong = [key for key in unknown if key not in usual and self.samples.holds_states(key, surely=False)]
                if hint := similar(wrong, names):
                    what = f"no {names[0]}; unknown keys: {', '.join(wrong)}"
            if what:
                row = next(row for row in self.rows if row.content is first)
                raise self._source.error(f"{row.place}{what}", hint, **self._where(row))

    def _keys_used(self) -> str | None:
        """Which keys were used; None: dstbench's own, or those that the user gives, and no others could be meant."""
        fields = self.fields
        sides = [(fields.gold, "states")] if fields.either else [(key, side) for side, key in self._sides.items()]
        told = [*self._told, (fields.slot, "slot"), (fields.domain, "domain"), *sides]
        given = vars(self._source.keys).values() if self._source.keys else ()
        keys = [(key, word) for key, word in told if key is not None]
        plain_keys = {key for key, word in keys if vars(OWN).get(word) == key or folded(key) == word}
        is_named = fields.dialogue is None and self.rows[0].dialogue == self._source.dialogue
        groups = [*dict.fromkeys(row.dialogue for row in self.rows)] if fields.dialogue is not None else []
        groups = [] if any(map(str.isdecimal, "".join(map(str, groups)))) else groups  # they are ids
        cells = (row.content.get(key) for row in self.rows for key in fields.no_states)
        texts = (text for cell in cells if cell is not None and (text := str(cell).strip()))
        no_state = next((f", such as {shortened(repr(text), 60)}" for text in texts), "")
        further = [
            f"{' and '.join(word for key, word in self._told if key is None)} from the objects around the records"
            if None in dict(self._told) and not is_named else "",
            "dialogue from the file's name" if is_named else "",
            f"records under {', '.join(map(str, groups))} are read together" if 1 < len(groups) <= _GROUPS else "",
            f"not used: {', '.join(fields.others)}" if fields.others else "",
            f"no states in {', '.join(fields.no_states)}{no_state}" if fields.no_states else "",
        ]  # fmt: skip
        if all(key in plain_keys or key in given for key, _ in keys) and not any(further):
            return None
        used = ", ".join(key if key in plain_keys else f"{key} as {word}" for key, word in keys)
        return "; ".join(filter(None, [f"keys used: {used}", *further]))

    # --- turns -----------------------------------------------------------------------------------------------------

    def turns(self) -> list[tuple[str, int]]:
        """Dialogue and turn of each record."""
        key = self.fields.turn
        if key is not None and key == self.fields.dialogue:
            self._told = [(key, "dialogue and turn")]
            return self._split(key)
        if key is not None or all(row.number is not None for row in self.rows):
            self._told.append((key, "turn"))
            return [(self._dialogue(row), self._turn(row)) for row in self.rows]
        return self._from_ids(ids(self.samples)) or self._counted()

    def _from_ids(self, keys: Sequence[str]) -> list[tuple[str, int]] | None:
        """Dialogue and turn of each record, by ids that end in the turn; None: there are none, or the user says so."""
        own, given = self.fields.dialogue, self._source.keys
        if own is not None and given is not None and own == given.dialogue:
            return None
        for key in (own, *(key for key in keys if key != own)):
            if (turns := self._flags(key)) is not None:
                self._told = [(key, "dialogue and turn")] if key == own else [*self._told, (key, "turn")]
                return turns
        if self._doubt is not None:
            raise self._doubt
        return None

    def _counted(self) -> list[tuple[str, int]]:
        """Dialogue and turn of each record, by their order."""
        if self.fields.slot is not None:
            raise self._source.error("rows of one slot each, and no key says of which turn", "--keys turn=KEY names it")
        numbers = defaultdict[str, Iterator[int]](count)
        turns = [(name, next(numbers[name])) for name in map(self._dialogue, self.rows)]
        if len(numbers) == len(turns) and any(map(self._may_be_turns, self.rows)):
            what = "one record per dialogue, with lists of texts that are one state or the states of several turns"
            hint = "give each record a key turn if they are one state, each turn a list if several"
            raise self._source.error(what, hint)
        sizes = f"{number_of(len(turns), 'record')} of {number_of(len(numbers), 'dialogue')}"
        self.note = f"no turn numbers: the {sizes} are counted in their order"
        return turns

    def _texts(self, key: str | None) -> list[Any]:
        """The ids under a key; None: those of the objects around the records."""
        return [row.dialogue if key is None else row.content.get(key) for row in self.rows]

    def _flags(self, key: str | None) -> list[tuple[str, int]] | None:
        """Dialogue and turn of each record, if the ids under a key end in the turn; None: they do not.

        MultiWOZ's ids are complete without the number after them, so that it is a turn, be there gaps: partial runs
        have such ids. Other ids may be numbered themselves, such as SGD's ``1_00000``: after these there must be a turn
        number in every record, unpadded, which counts the turns of several dialogues, of each from 0 or 1. If it does
        not, or is padded to a turn's few digits, either reading may be wrong (`_doubt`).
        """
        own, is_long = self.fields.dialogue, self.fields.slot is not None
        texts = self._texts(key)
        if 2 * sum(isinstance(text, str) and FLAG.fullmatch(text) is not None for text in texts) <= len(texts):
            return None
        if not is_long and 2 * len(set(map(str, texts))) <= len(texts):
            return None  # several records of a dialogue, in their order
        turns = self._split(key)
        if key != own:  # an id of the record: of the same dialogues, or only numbered
            names = {(self._dialogue(row), name) for row, (name, _) in zip(self.rows, turns, strict=True)}
            if not len({name for name, _ in names}) == len({name for _, name in names}) == len(names):
                return None
            turns = [(self._dialogue(row), turn) for row, (_, turn) in zip(self.rows, turns, strict=True)]
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
        cells = (row.content.get(key) for key in (self.fields.gold, self.fields.pred) if key is not None)
        return any(
            isinstance(cell, list)
            and len(cell) > 1
            and all(isinstance(item, str) and _WRITTEN_OUT.search(item) for item in cell)
            for cell in cells
        )

    def _split(self, key: str | None) -> list[tuple[str, int]]:
        """Dialogue and turn of each record, by the ids under a key."""
        turns = []
        for row, text in zip(self.rows, self._texts(key), strict=True):
            match = FLAG.fullmatch(text) if isinstance(text, str) else None
            if match is None:
                what = f"{row.place}{key or 'the key'} {text!r} has no turn at its end, unlike others"
                raise self._source.error(what, "others are of the form <dialogue>-<turn>")
            turns.append((match[1], int(match[2])))
        return turns

    def _dialogue(self, row: Turn) -> str:
        key = self.fields.dialogue
        dialogue = without_numpy(row.dialogue if key is None else row.content.get(key))
        if isinstance(dialogue, float) and dialogue.is_integer():
            dialogue = int(dialogue)
        if isinstance(dialogue, bool) or not isinstance(dialogue, (str, int)):
            what = f"no {key or 'id of the dialogue'}" if dialogue is None else f"{key}: {named(dialogue)} is not an id"
            raise self._source.misshapen(f"{row.place}{what} here", **self._where(row))
        return str(dialogue)

    def _turn(self, row: Turn) -> int:
        key = self.fields.turn
        value = row.number if key is None else row.content.get(key)
        if (number := turn_number(value)) is None:
            place = self._where(row)
            if value is None:
                raise self._source.misshapen(f"{row.place}no {key} here", **place)
            what = f"{row.place}{key or 'the key'}: the turn is not a number"
            raise self._source.error(what, "--keys turn=KEY chooses another key", **{**place, "turn": str(value)})
        return number
