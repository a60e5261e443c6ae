"""Reads records of turns once it is known where they are: finds their keys, and adds their turns and states.

Errors say where: the record's place, its dialogue and turn, the key and the slot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

from dstbench.errors import shortened
from dstbench.readers import key_names
from dstbench.readers.builder import Pairs, StatesBuilder
from dstbench.readers.format import Said
from dstbench.readers.key_names import folded, meaning
from dstbench.readers.record_hints import keys_for, line_for
from dstbench.readers.record_keys import OWN, USUAL, Fields, KeysError, Samples, guess, similar
from dstbench.readers.record_turns import Turns, where
from dstbench.readers.shapes import clipped
from dstbench.readers.source import Source
from dstbench.readers.state_cells import SHAPES, StateCells, is_missing, joined, without_numpy
from dstbench.readers.state_text import Misfit, says_nothing
from dstbench.readers.walk import Turn

# Records that are looked at for a hint.
_SAMPLE: Final = 20
# If records are in so few groups, a note names these; more groups are dialogues.
_GROUPS: Final = 6


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
    counts = Counter[Any]()
    numbered = []
    for row in told:
        numbered.append(row._replace(number=counts[row.dialogue]))
        counts[row.dialogue] += 1
    return numbered


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
        sides = {"gold": fields.gold, "pred": fields.pred}
        self._sides = {
            side: key for side, key in sides.items()
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
                if key in row.content:
                    of = (states.gold, states.pred) if states.either else (getattr(states, side),)
                    is_gold = side == "gold" and not states.either
                    place = f"{row.place}{key}: "
                    self._cells.add_from(self._source, of, at, row.content[key], place, is_gold=is_gold,
                                    **where(row, self._fields))  # fmt: skip

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
                    self._refuse(row, key, error)
                if text is not None:
                    listed[side].append((name, text))
        for turn, of_sides in turns.items():
            at = states.turn(*turn)
            for side, pairs in of_sides.items():
                if side == "gold" or turn not in unpredicted:
                    getattr(states, side).cells(at, pairs)

    def _refuse(self, row: Turn, key: str, error: Misfit) -> NoReturn:
        slot = {} if error.slot is None else {"slot": error.slot}
        what = f"{row.place}{key}: {error.what}"
        raise self._source.error(what, SHAPES, **where(row, self._fields), **slot) from None

    def _is_there(self, key: str) -> bool:
        """Whether a side has a state in any record."""
        if any(key in row.content and not _is_blank(row.content[key]) for row in self._rows):
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

    def _text_of(self, *keys: str) -> str:
        """The first text under keys whose values are no states, for a note."""
        texts = (str(cell).strip() for row in self._rows for key in keys if (cell := row.content.get(key)) is not None)
        return next((f", such as {shortened(repr(text), 60)}" for text in texts if text), "")

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
        further = [
            f"{' and '.join(word for key, word in self._turns.told if key is None)} from the objects around the records"
            if None in dict(self._turns.told) and not self._is_named else "",
            "dialogue from the file's name" if self._is_named else "",
            f"records under {', '.join(map(str, groups))} are read together" if 1 < len(groups) <= _GROUPS else "",
            f"not used: {', '.join(fields.others)}" if fields.others else "",
            f"no states in {', '.join(fields.no_states)}{self._text_of(*fields.no_states)}" if fields.no_states else "",
        ]  # fmt: skip
        if all(key in plain_keys or key in given for key, _ in keys) and not any(further):
            return None
        used = ", ".join(key if key in plain_keys else f"{key} as {word}" for key, word in keys)
        return "; ".join(filter(None, [f"keys used: {used}", *further]))


def _is_blank(cell: Any) -> bool:
    return says_nothing(cell) if isinstance(cell, str) else is_missing(cell)
