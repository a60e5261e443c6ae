"""Reads records of turns whose place in the file is known: finds their keys, numbers turns, and adds their states.

Turns are numbered by a key, by ids that end in the turn, or by the order of the records. Errors say where: the record's
place, its dialogue and turn, the key and the slot.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import Any, Final

from dstbench.conventions.slots import OWN_ID
from dstbench.errors import number_of
from dstbench.readers import key_names
from dstbench.readers.format import Said
from dstbench.readers.key_names import cumulative, folded, named
from dstbench.readers.options import Keys
from dstbench.readers.record_keys import FLAG, Fields, KeysError, guess, line_for, turn_number
from dstbench.readers.shapes import Misfit, clipped, in_words
from dstbench.readers.source import Source
from dstbench.readers.state_cells import (
    StateCells,
    is_missing,
    lists_slots,
    no_state,
    says_nothing,
    states_in,
    without_numpy,
)
from dstbench.readers.states import StatesBuilder
from dstbench.readers.walk import Turn

# If records are in so few groups without a digit in their names, a note names these; others are dialogues.
_GROUPS: Final = 6
_OWN: Final = re.compile(OWN_ID)
# A text with a slot and its value, which may be a whole state.
_WRITTEN_OUT: Final = re.compile(r"[=:]")
# What is numbered in ids such as test-17 or dialogue_3 are dialogues; so it is in SGD's ids, 1_00000.
_NUMBERED: Final = re.compile(
    r"(?:^|[-_. ])(?:train|dev|valid|val|validation|test|dialogue|dialog|dial|conversation|conv|session)$",
    re.IGNORECASE,
)
_PADDED: Final = re.compile(r"(?<![0-9])0[0-9]+$")
_LONG: Final = 4  # digits


def collect(source: Source, states: StatesBuilder, rows: Sequence[Turn]) -> Fields | None:
    """Check records, and add their turns and states."""
    if not rows:
        return None
    records = _opened(source, rows)
    records.add(states)
    return records.fields


def spoken(source: Source, rows: Sequence[Turn]) -> Iterator[Said]:
    """What was said in each turn of the records (see `Format.said`)."""
    if not rows:
        return
    records = _opened(source, rows, need_states=False)
    if records.have_no_ids:
        return
    names = [*records.rows[0].content]
    keys = [
        (source.keys and getattr(source.keys, field)) or next(iter(named(names, usual)), None)
        for field, usual in (("system", key_names.SYSTEM), ("user", key_names.USER))
    ]
    contents = {turn: row.content for row, turn in zip(records.rows[::-1], records.turns[::-1], strict=True)}
    for turn in dict.fromkeys(records.turns):  # in rows of one slot each, a turn has several
        system, user = (text if isinstance(text := contents[turn].get(key), str) else None for key in keys)
        yield *turn, system, user


def is_multiwoz(name: str) -> bool:
    """Whether an id is one of MultiWOZ's dialogues, in any spelling."""
    return _OWN.match(name.upper().removesuffix(".JSON")) is not None


def _opened(source: Source, rows: Sequence[Turn], *, need_states: bool = True) -> Records:
    for row in rows:
        if not isinstance(row.content, Mapping):
            raise source.misshapen(f"{row.place}expected an object, found {clipped(str(row.content))}")
    try:
        return guessed(source, rows, need_states=need_states)
    except KeysError as error:
        raise source.error(error.what, error.hint) from None


def guessed(source: Source, rows: Sequence[Turn], *, need_states: bool = True) -> Records:
    """The records of single turns, and their keys. A `KeysError`: these do not say what they hold."""
    if rows[0].dialogue is None and (name := source.dialogue) is not None:  # a key of the records may say otherwise
        rows = [row._replace(dialogue=name) for row in rows]
    names_dialogue, contents = rows[0].dialogue is not None, [row.content for row in rows]
    fields = guess(contents, source.keys, source.outside, names_dialogue=names_dialogue, need_states=need_states)
    turns = _divided(rows, fields)
    return Records(source, _of_one_speaker(turns, fields), fields, are_divided=turns is not rows)


def _divided(rows: Sequence[Turn], fields: Fields) -> Sequence[Turn]:
    """The records, with each that is a whole dialogue, with a list of states per side, divided into its turns."""
    sides = [*dict.fromkeys(key for key in (fields.gold, fields.pred) if key is not None)]
    cells = [cell for row in rows for key in sides if (cell := row.content.get(key)) is not None]
    is_one = fields.turn is not None or fields.slot is not None or any(row.number is not None for row in rows)
    if is_one or not any(map(states_in, cells)):
        return rows
    if any(states_in(cell, surely=False) is None and not lists_slots(cell) for cell in cells):
        return rows  # reading says what is wrong
    return [turn for row in rows for turn in _turns(row, sides)]


def _turns(row: Turn, sides: Sequence[str]) -> Iterator[Turn]:
    """A record per turn of a record that is a whole dialogue; lists of utterances are divided, too."""
    lists = {key: cell for key in sides if (cell := row.content.get(key)) is not None}
    if key := next((key for key, cell in lists.items() if lists_slots(cell)), None):
        what = f"{row.place}{key} is a list of slots, which is one state, where others are lists of states"
        raise KeysError(what, "a list of turns is a list of such lists, or of objects")
    states = {key: states_in(cell, surely=False) or {} for key, cell in lists.items()}
    turns = next(iter(states.values()), {})
    if any(of_side.keys() != turns.keys() for of_side in states.values()):
        sizes = " and ".join(str(len(of_side)) for of_side in states.values())
        what = f"{row.place}{' and '.join(states)} do not have the same turns ({sizes} states)"
        raise KeysError(what, "a dialogue needs as many gold states as predicted ones")
    for at, turn in enumerate(turns):
        content = {
            key: cell[at] if isinstance(cell, list) and len(cell) == len(turns) else cell
            for key, cell in row.content.items()
        }
        content |= {key: of_side[turn] for key, of_side in states.items()}
        yield row._replace(place=f"{row.place}turn {turn}: ", content=content, number=turn)


def _of_one_speaker(rows: Sequence[Turn], fields: Fields) -> Sequence[Turn]:
    """The records of the speaker whose turns have states, counted anew in each dialogue; all, if both's have."""
    sides = {fields.gold, fields.pred} - {None}
    key = next(iter(named([*rows[0].content], key_names.SPEAKER)), None)
    if key is None or not sides:
        return rows
    having = {str(r.content.get(key)) for r in rows if not all(is_missing(r.content.get(side)) for side in sides)}
    kept = [row for row in rows if str(row.content.get(key)) in having]
    if not having or len(kept) == len(rows):
        return rows
    if fields.turn is not None or any(row.number is None for row in kept):
        return kept
    numbers = defaultdict[Any, Iterator[int]](count)
    return [row._replace(number=next(numbers[row.dialogue])) for row in kept]


class Records:
    """Records of single turns, whose keys are known; messages name these if they are the file's own (`are_named`).

    `are_divided`: each was a whole dialogue, with the states of its turns.
    """

    def __init__(
        self, source: Source, rows: Sequence[Turn], fields: Fields, *, are_named: bool = True, are_divided: bool = False
    ) -> None:
        self._source, self.rows, self.fields, self._are_named = source, rows, fields, are_named
        self._are_divided = are_divided
        # Which key gives the dialogue, and which the turn; None: the objects around the records do.
        self._of_ids: list[tuple[str | None, str]] = [(fields.dialogue, "dialogue")]
        #: The note on turns that are counted in their order; empty: they are numbered.
        self.counted = ""

    def add(self, states: StatesBuilder) -> None:
        """Add all turns and states, and the notes."""
        fields, cells, sides = self.fields, StateCells(self._source.unreadable), dict[str, str]()
        for side, key in (("gold", fields.gold), ("pred", fields.pred)):
            column = [row.content.get(key) for row in self.rows] if key is not None else []
            is_null = all(says_nothing(cell) if isinstance(cell, str) else is_missing(cell) for cell in column)
            if key is not None and is_null and fields.slot is None:
                states.note(f"{key} is null in every record, and so is ignored")
            elif key is not None:
                sides[side] = key
        states.either = fields.either
        if len(sides) < 2 and (others := cumulative(fields.unused)):
            side, what = ("pred", "the prediction") if "pred" not in sides else ("gold", "gold")
            states.instead = f"--keys {side}={others[0]} takes that as {what}"
        for row, turn in zip(self.rows, self.turns, strict=True) if fields.slot is None else self._joined(sides):
            at = states.turn(*turn)
            if not any(key in row.content for key in sides.values()) and fields.slot is None:
                names = " nor ".join([*dict.fromkeys([*sides.values(), "gold", "pred"])][:2])
                others = sorted(str(key) for key in row.content if key not in (fields.dialogue, fields.turn))[:12]
                what = f"{row.place}neither {names}; unknown keys: {', '.join(others) or 'none'}"
                raise self._source.misshapen(what, **self._where(row))
            for side, key in [*sides.items()][: 1 if fields.either else 2]:
                if key not in row.content:
                    continue
                of = (states.gold, states.pred) if fields.either else (getattr(states, side),)
                is_gold = side == "gold" and not fields.either
                try:
                    cells.add_from(of, at, row.content[key], is_gold=is_gold)
                except Misfit as error:
                    place = f"{row.place}{key}: " if self._are_named else row.place
                    where = {"is_gold": is_gold, "line": self._other_keys(), **self._where(row)}
                    raise no_state(self._source, error, place, **where) from None
        if self.have_no_ids:
            states.are_in_order = states.are_turns = True
            states.note(f"no ids: its {number_of(len(self.rows), 'record')} are taken for gold's turns in their order")
        for note in (self.counted, self._keys_used(sides) if self._are_named else "", *cells.notes()):
            if note:
                states.note(note)

    def _other_keys(self) -> str:
        """The option with the keys under which there seem to be states, if they are not those that were used."""
        line, keys = line_for([row.content for row in self.rows[:_GROUPS]], names_dialogue=True) or ("", Keys())
        sides = [(getattr(keys, side), key) for side in ("gold", "pred") if (key := getattr(self.fields, side))]
        return line if all(other is not None and other.startswith(f"{key}.") for other, key in sides) else ""

    def _where(self, row: Turn) -> dict[str, Any]:
        """The dialogue and turn of a record, as written in it, for messages."""
        fields = (("dialogue", self.fields.dialogue, row.dialogue), ("turn", self.fields.turn, row.number))
        of_row = {name: row.content.get(key, around) for name, key, around in fields}
        return {name: value for name, value in of_row.items() if type(value) in (str, int, float)}

    def _joined(self, sides: Mapping[str, str]) -> list[tuple[Turn, tuple[str, int]]]:
        """A record for each turn, from those of one slot each."""
        fields, joined, unpredicted = self.fields, dict[tuple[str, int], Turn](), set()
        for row, turn in zip(self.rows, self.turns, strict=True):
            empty = Turn(*turn, {key: [] for key in sides.values()}, place=row.place)
            content = joined.setdefault(turn, empty).content
            slot, domain = row.content.get(fields.slot), row.content.get(fields.domain)
            for side, key in sides.items():
                if is_missing(value := row.content.get(key)):
                    continue
                if isinstance(slot, str):
                    content[key].append({"domain": domain, "slot": slot, "value": value})
                elif side == "gold":
                    raise self._source.misshapen(f"{row.place}a gold value without a slot", **self._where(row))
                else:
                    unpredicted.add(turn)  # as a long table marks such a turn
        for turn in unpredicted:
            del joined[turn].content[sides["pred"]]
        return [(row, turn) for turn, row in joined.items()]

    def _keys_used(self, sides: Mapping[str, str]) -> str:
        """Which keys were used; empty: dstbench's own, or those that the user gives, and no others could be meant."""
        fields = self.fields
        words = [(fields.gold, "states")] if fields.either else [(key, side) for side, key in sides.items()]
        used = [*self._of_ids, (fields.slot, "slot"), (fields.domain, "domain"), *words]
        keys = [(key, word) for key, word in used if key is not None]
        usual = {key for key, word in keys if folded(key) == word or (key, word) == ("dialogue_id", "dialogue")}
        around = [word for key, word in self._of_ids if key is None and not (self._are_divided and word == "turn")]
        groups = [*dict.fromkeys(str(row.dialogue) for row in self.rows)] if fields.dialogue is not None else []
        further = []
        if "dialogue" in around and self.rows[0].dialogue == self._source.dialogue:
            further.append("dialogue from the file's name")
        elif around:
            further.append(f"{' and '.join(around)} from the objects around the records")
        if self._are_divided:
            further.append("turn from a state's place among its dialogue's")
        if 1 < len(groups) <= _GROUPS and not any(map(str.isdecimal, "".join(groups))):
            further.append(f"records under {', '.join(groups)} are read together")
        if fields.unused:
            further.append(f"not used: {', '.join(fields.unused)}")
        given = vars(self._source.keys).values() if self._source.keys else ()
        if not further and all(key in usual or key in given for key, _ in keys):
            return ""
        names = ", ".join(key if key in usual else f"{key} as {word}" for key, word in keys)
        return "; ".join([f"keys used: {names}", *further])

    # --- turns -----------------------------------------------------------------------------------------------------

    @cached_property
    def turns(self) -> list[tuple[str, int]]:
        """Dialogue and turn of each record."""
        fields, given, rows = self.fields, self._source.keys, self.rows
        if self.have_no_ids:
            self._of_ids = []
            return [(str(number), 0) for number in range(len(rows))]
        is_whole = given is not None and given.dialogue is not None  # as the user says
        is_split = fields.turn is not None and fields.turn == fields.dialogue
        if not is_split and (fields.turn is not None or all(row.number is not None for row in rows)):
            self._of_ids.append((fields.turn, "turn"))
            return [(self._dialogue(row), self._turn(row)) for row in rows]
        if is_split or (not is_whole and self._end_in_turns()):
            self._of_ids = [(fields.dialogue, "dialogue and turn")]
            return self._split()
        if fields.slot is not None:
            raise self._source.error("rows of one slot each, and no key says of which turn", "--keys turn=KEY names it")
        numbers = defaultdict[str, Iterator[int]](count)
        turns = [(name, next(numbers[name])) for name in map(self._dialogue, rows)]
        cells = [row.content.get(key) for row in rows for key in {fields.gold, fields.pred} - {None}]
        lists = [cell for cell in cells if isinstance(cell, list) and len(cell) > 1]
        are_texts = (all(isinstance(item, str) and _WRITTEN_OUT.search(item) for item in cell) for cell in lists)
        if len(numbers) == len(turns) and any(are_texts):
            what = "one record per dialogue, with lists of texts that are one state or the states of several turns"
            hint = "give each record a key turn if they are one state, each turn a list if several"
            raise self._source.error(what, hint)
        sizes = f"{number_of(len(turns), 'record')} of {number_of(len(numbers), 'dialogue')}"
        self.counted = f"no turn numbers: {sizes}, counted in their order"
        return turns

    @property
    def have_no_ids(self) -> bool:
        """Whether nothing names the dialogues, so that only the order of gold's turns tells whose states these are."""
        return self.fields.dialogue is None and all(row.dialogue is None for row in self.rows)

    @property
    def _ids(self) -> list[Any]:
        """The dialogues' ids, as they are written; without a key, those of the objects around the records."""
        key = self.fields.dialogue
        return [row.dialogue if key is None else row.content.get(key) for row in self.rows]

    def _end_in_turns(self) -> bool:
        """Whether the dialogues' ids end in the turn.

        MultiWOZ's ids are complete without the number after them, so that it is a turn, be there gaps: partial runs
        have such ids. Other ids may be numbered themselves, such as SGD's ``1_00000``: after these there must be a turn
        number in every record, unpadded, which counts the turns of several dialogues, of each from 0 or 1. If it does
        not, or is padded to a turn's few digits, either reading may be wrong, which is an error.
        """
        texts, is_long = self._ids, self.fields.slot is not None
        if 2 * sum(isinstance(text, str) and FLAG.fullmatch(text) is not None for text in texts) <= len(texts):
            return False
        if not is_long and 2 * len(set(map(str, texts))) <= len(texts):
            return False  # several records of a dialogue, in their order
        numbers = defaultdict[str, set[int]](set)
        for name, turn in self._split():
            numbers[name].add(turn)
        if all(map(is_multiwoz, numbers)):
            return True
        padded = [match[0] for text in texts if (match := _PADDED.search(text)) is not None]
        if any(map(_NUMBERED.search, numbers)) or any(len(digits) >= _LONG for digits in padded):
            return False
        are_counted = all(len(of) - 1 == max(of) - min(of) and min(of) < 2 for of in numbers.values())
        is_once = is_long or len({*texts}) == len(texts)
        if are_counted and is_once and not padded and len(numbers) > 1:
            return True
        key = self.fields.dialogue
        why = "they are padded" if padded else "they do not count each of several dialogues' turns"
        what = f"ids such as {texts[0]!r} may end in the turn, or be numbered themselves, as {why}"
        hint = f"--keys id={key} if they are whole, --keys id={key},turn={key} if they end in the turn"
        raise self._source.error(what, hint if key else "give each record a key turn")

    def _split(self) -> list[tuple[str, int]]:
        """Dialogue and turn of each record, by ids that end in the turn."""
        turns = []
        for row, text in zip(self.rows, self._ids, strict=True):
            match = FLAG.fullmatch(text) if isinstance(text, str) else None
            if match is None:
                what = f"{row.place}{self.fields.dialogue or 'the key'} {text!r} has no turn at its end, unlike others"
                raise self._source.error(what, "others are of the form <dialogue>-<turn>")
            turns.append((match[1], int(match[2])))
        return turns

    def _dialogue(self, row: Turn) -> str:
        key = self.fields.dialogue
        dialogue = without_numpy(row.dialogue if key is None else row.content.get(key))
        if isinstance(dialogue, float) and dialogue.is_integer():
            dialogue = int(dialogue)
        if isinstance(dialogue, bool) or not isinstance(dialogue, (str, int)):
            what = f"{key}: {in_words(dialogue)} is not an id" if dialogue is not None else f"no {key or 'dialogue id'}"
            raise self._source.misshapen(f"{row.place}{what} here", **self._where(row))
        return str(dialogue)

    def _turn(self, row: Turn) -> int:
        key = self.fields.turn
        value = row.number if key is None else row.content.get(key)
        if (number := turn_number(value)) is not None:
            return number
        if value is None:
            raise self._source.misshapen(f"{row.place}no {key} here", **self._where(row))
        what = f"{row.place}{key or 'the key'}: the turn is not a number"
        raise self._source.error(what, "--keys turn=KEY chooses another key", **self._where(row) | {"turn": str(value)})
