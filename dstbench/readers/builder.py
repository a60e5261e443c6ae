"""States from what a reader finds in a file: turn by turn, or all turns at once as columns.

Names are made canonical and checked once per distinct name, and from then on codes stand for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dstbench.conventions.slots import canonical_dialogue, canonical_slot, split_pair
from dstbench.errors import DstbenchError
from dstbench.readers.frames import IS_FRAME, are_frames
from dstbench.readers.states import Side, States
from dstbench.schema.core import MAX_TURN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Words:
    """Strings, each distinct one once.

    Attributes:
        code: Which word each string is.
        words: The words, by code; String, or a dictionary column.
    """

    code: Codes
    words: pl.Series

    @staticmethod
    def of(strings: pl.Series) -> Words:
        """The words of a String column, in the order in which they first come."""
        # Not the dictionary that all columns share: what it has once seen makes codes larger for all.
        codes = strings.cast(pl.Categorical(pl.Categories.random())).to_physical()
        first = codes.arg_unique().sort()
        distinct = codes.gather(first).to_numpy()
        rank = np.zeros(int(distinct.max(initial=0)) + 1, dtype=np.uint32)
        rank[distinct] = np.arange(len(distinct), dtype=np.uint32)
        return Words(rank[codes.to_numpy()], strings.gather(first))

    def only(self, at: Codes | slice) -> Words:
        """The strings at these places, without the words of others; the order of the words is kept."""
        code = self.code[at]
        there = np.zeros(len(self.words), dtype=np.bool_)
        there[code] = True
        return Words((np.cumsum(there, dtype=np.int32) - 1).take(code), self.words.filter(pl.Series(there)))

    def renamed(self, names: Sequence[str]) -> Words:
        """With other words, of which several may be one."""
        new = Words.of(pl.Series(names, dtype=pl.String))
        return Words(new.code[self.code], new.words)

    def strings(self) -> pl.Series:
        """The strings, written out."""
        return self.words.gather(pl.Series(self.code))

    def column(self) -> pl.Series:
        """The strings as a dictionary column."""
        return self.words.cast(pl.Categorical).gather(pl.Series(self.code.astype(np.uint32, copy=False)))


@dataclass(frozen=True)
class Listed:
    """What one side lists, one entry per listed slot.

    Attributes:
        present: The rows of the turns that have this side, ascending.
        at: The row of the turn.
        slot: The slot's name, as it is written; None: the values are pairs ``domain-slot-value``.
        value: The value.
    """

    present: Codes
    at: Codes
    slot: Words | None
    value: Words

    def without(self, *values: str) -> Listed:
        """What is left if these values, of which a format that names every slot makes none, are no values."""
        is_none = np.array([word in values for word in self.value.words], dtype=np.bool_)
        kept = np.flatnonzero(~is_none[self.value.code])
        return Listed(self.present, self.at[kept], self.slot and self.slot.only(kept), self.value.only(kept))


def are_distinct(groups: Codes, codes: Codes, most: int) -> bool:
    """Whether no code, of so many, is twice in a group; groups are numbers from 0, in any order."""
    key = groups.astype(np.int64) * max(most, 1) + codes
    places = (int(groups.max()) + 1) * most if len(groups) else 0
    if places > 32 * len(key):  # many codes, each in few groups: a table of all that could be would be large
        key.sort()
        return bool((key[1:] != key[:-1]).all())
    there = np.zeros(places, dtype=np.bool_)
    there[key] = True
    return int(np.count_nonzero(there)) == len(key)


class _SideBuilder:
    """Growing columns of one side."""

    def __init__(self) -> None:
        self.present: list[int] = []
        self.sizes: list[int] = []
        self.slot: list[str] = []
        self.value: list[str] = []

    def flat(self, at: int, state: Mapping[str, str]) -> None:
        """Take a state of the form {slot: value}."""
        self.present.append(at)
        self.sizes.append(len(state))
        self.slot.extend(state)
        self.value.extend(state.values())

    def nested(self, at: int, state: Mapping[str, Mapping[str, str]]) -> None:
        """Take a state of the form {domain: {slot: value}}."""
        self.present.append(at)
        self.sizes.append(sum(map(len, state.values())))
        for domain, slots in state.items():
            self.slot.extend([f"{domain}-{slot}" for slot in slots])
            self.value.extend(slots.values())

    def cells(self, at: int, state: Sequence[tuple[str, str]]) -> None:
        """Take a state of the form [(slot, value)]; one that lists a slot twice is reported when it is built."""
        self.present.append(at)
        self.sizes.append(len(state))
        self.slot.extend([slot for slot, _ in state])
        self.value.extend([value for _, value in state])

    def pairs(self, at: int, state: Sequence[str]) -> None:
        """Take a state of the form [``domain-slot-value``]; they are split when the table is built."""
        self.present.append(at)
        self.sizes.append(len(state))
        self.value.extend(state)

    def all_pairs(self, states: Sequence[Sequence[str]]) -> None:
        """Take such a state for each turn, of a file whose turns all have one."""
        self.present.extend(range(len(states)))
        self.sizes.extend(map(len, states))
        self.value.extend(chain.from_iterable(states))

    def listed(self) -> Listed | None:
        """The columns; None if no turn has this side."""
        if not self.present:
            return None
        present = np.array(self.present)
        slot, value = (pl.Series(strings, dtype=pl.String) for strings in (self.slot, self.value))
        return Listed(
            present,
            np.repeat(present, self.sizes),
            Words.of(slot) if self.slot or not self.value else None,
            Words.of(value),
        )


class StatesBuilder:
    """Collects the turns of a file one by one; `build` makes the columns canonical and checks them.

    Args:
        source: Name of the file, for messages.
        format: Name of its format.
    """

    def __init__(self, source: str, format: str) -> None:  # noqa: A002 (the field's word)
        self._source, self._format = source, format
        self._dialogues: list[str] = []
        self._turns: list[int] | list[str] = []
        self._notes: list[str] = []
        self._places: list[tuple[str, str, int]] = []
        self.gold, self.pred = _SideBuilder(), _SideBuilder()
        self.splits: dict[str, str] = {}
        self.either = False
        self.has_frames = False

    def turn(self, dialogue: str, turn: int | str) -> int:
        """Open a turn; returns the row number under which its states are added."""
        self._dialogues.append(dialogue)
        self._turns.append(turn)  # type: ignore[arg-type] # a format spells all its turns in one way
        return len(self._dialogues) - 1

    def place(self, dialogue: str, file: str, position: int) -> None:
        """Say at which place of which file a dialogue stands."""
        self._places.append((dialogue, file, position))

    def note(self, text: str) -> None:
        """Add what a reader of the numbers should know of this file."""
        self._notes.append(f"{self._source}: {text}")

    def skipped(self) -> int:
        """How many turns are not there, though later ones of their dialogue are: losses that a file shows by itself."""
        return skipped(self.turns())

    def build(self) -> States:
        """The collected states.

        Raises:
            DstbenchError: No turn at all, a turn that is no number, the same turn twice, or a pair that is not
                of the form ``domain-slot-value``.
        """
        turns = self.turns()
        states = assemble(self._source, self._format, turns, self.gold.listed(), self.pred.listed())
        gold, pred = (
            replace(side, frames=side.cells.clear()) if side and side.frames is None and self.has_frames else side
            for side in (states.gold, states.pred)
        )
        return States(
            self._source,
            self._format,
            gold,
            pred,
            notes=(*self._notes, *states.notes),
            either=self.either,
            places=_by_dialogue(self._places, {"file": pl.String, "position": pl.UInt32}),
            splits=_by_dialogue(list(self.splits.items()), {"split": pl.String}),
        )

    def turns(self) -> pl.DataFrame:
        """The turns, canonical and checked: (dialogue: String, turn: UInt16), in the order in which they came."""
        if not self._dialogues:
            raise DstbenchError("no dialogue in the file", file=self._source)
        try:
            numbers = pl.Series(self._turns)
        except (TypeError, OverflowError):  # an integer beyond any that Polars has
            numbers = pl.Series([str(turn) for turn in self._turns])
        return checked_turns(self._source, Words.of(pl.Series(self._dialogues, dtype=pl.String)), numbers)


def skipped(turns: pl.DataFrame) -> int:
    """How many turns are not among these, though later ones of their dialogue are."""
    dialogues = turns.group_by("dialogue").agg(last=pl.col("turn").max().cast(pl.Int64), there=pl.len())
    return int(dialogues.select((pl.col("last") + 1 - pl.col("there")).sum()).item())


def checked_turns(source: str, dialogues: Words, numbers: pl.Series) -> pl.DataFrame:
    """A file's turns, canonical: (dialogue: String, turn: UInt16), in the order in which they came.

    Args:
        source: Name of the file, for messages.
        dialogues: Each turn's dialogue.
        numbers: Each turn's number, or a string that spells it.

    Raises:
        DstbenchError: A turn that is no number, or the same turn twice.
    """

    def fail(what: str, at: int, hint: str) -> DstbenchError:
        dialogue = dialogues.words[int(dialogues.code[at])]
        return DstbenchError(what, file=source, dialogue=dialogue, turn=numbers[at], hint=hint)

    turns = numbers.cast(pl.UInt16, strict=False)
    if turns.null_count():
        at = int(turns.is_null().arg_max() or 0)
        raise fail(f"the turn is not a number from 0 to {MAX_TURN}", at, "number user turns from 0")
    names = pl.DataFrame({"dialogue": dialogues.words}).select(canonical_dialogue(pl.col("dialogue"))).to_series()
    known = dialogues.renamed(names.to_list())
    key = pl.Series(known.code.astype(np.int64) * (MAX_TURN + 1) + turns.to_numpy())
    repeated = key.is_first_distinct().not_().arg_true()
    if len(repeated):
        more = f", and {len(repeated) - 1} more" if len(repeated) > 1 else ""
        raise fail(f"the same turn twice{more}", repeated[0], "keep one state per dialogue and turn")
    return pl.DataFrame({"dialogue": known.strings(), "turn": turns})


def assemble(
    source: str,
    format: str,  # noqa: A002 (the field's word)
    turns: pl.DataFrame,
    gold: Listed | None,
    pred: Listed | None,
) -> States:
    """States of these turns and sides.

    Args:
        source: Name of the file, for messages.
        format: Name of its format.
        turns: What `checked_turns` gives.
        gold: The gold side; None: there is none.
        pred: The predicted side, likewise.

    Raises:
        DstbenchError: A pair that is not of the form ``domain-slot-value``.
    """
    notes: list[str] = []
    gold_side, pred_side = (
        None if listed is None else _side(source, name, turns, listed, notes)
        for name, listed in (("gold", gold), ("pred", pred))
    )
    return States(source, format, gold_side, pred_side, notes=tuple(notes))


def _side(source: str, name: str, turns: pl.DataFrame, listed: Listed, notes: list[str]) -> Side:
    slot, value = (listed.slot, listed.value) if listed.slot is not None else _split(source, turns, listed)
    slot = slot.renamed([canonical_slot(word) for word in slot.words])
    cells = pl.DataFrame({"at": listed.at.astype(np.uint32), "slot": slot.column(), "value": value.column()})
    if not are_distinct(listed.at, slot.code, len(slot.words)):
        cells = _without_repeated(source, name, turns, cells, notes)
    if len(listed.present) < turns.height:
        row = np.zeros(turns.height, dtype=np.uint32)
        row[listed.present] = np.arange(len(listed.present))
        turns = turns.select(pl.all().gather(pl.Series(listed.present)))
        cells = cells.with_columns(at=pl.Series(row[cells["at"].to_numpy()]))
    if are_frames(slot.words.cast(pl.String)).any():
        return Side(turns, cells.filter(~IS_FRAME), cells.filter(IS_FRAME))
    return Side(turns, cells)


def _without_repeated(
    source: str, name: str, turns: pl.DataFrame, cells: pl.DataFrame, notes: list[str]
) -> pl.DataFrame:
    """The cells of states that list a slot twice: the last is kept."""
    twice = cells.select(pl.struct("at", "slot").is_duplicated()).to_series()
    clash = cells.filter(twice).unique().filter(pl.struct("at", "slot").is_duplicated()).sort("at")
    if clash.height:
        at, slot, _ = clash.row(0)
        notes.append(
            f"{source}: {clash.n_unique(['at', 'slot'])} {name} states list a slot twice with different values; "
            f"the last is kept (first: dialogue {turns['dialogue'][at]}, turn {turns['turn'][at]}, slot {slot})"
        )
    return cells.unique(["at", "slot"], keep="last", maintain_order=True)


def _split(source: str, turns: pl.DataFrame, listed: Listed) -> tuple[Words, Words]:
    """Slots and values of ``domain-slot-value`` pairs, each distinct one split once."""
    code = listed.value.code

    def parts() -> Iterator[tuple[str, str]]:
        for number, pair in enumerate(listed.value.words):
            if (found := split_pair(pair)) is None:
                dialogue, turn = turns.row(int(listed.at[np.flatnonzero(code == number)[0]]))
                what = f"{pair!r} is not of the form domain-slot-value"
                raise DstbenchError(what, file=source, dialogue=dialogue, turn=turn)
            yield found

    slots, values = zip(*parts(), strict=True) if len(listed.value.words) else ((), ())
    pairs = Words(code, listed.value.words)
    return pairs.renamed(slots), pairs.renamed(values)


def _by_dialogue(rows: list[Any], columns: dict[str, type[pl.DataType]]) -> pl.DataFrame | None:
    """Rows that begin with a dialogue, whose id is made canonical; None if there are none."""
    if not rows:
        return None
    table = pl.DataFrame(rows, schema={"dialogue": pl.String, **columns}, orient="row")
    return table.with_columns(canonical_dialogue(pl.col("dialogue")))
