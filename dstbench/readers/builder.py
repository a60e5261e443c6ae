"""Builds `States` from what a reader finds in a file, turn by turn, or all turns at once as columns.

Each distinct name of a slot or dialogue is made canonical and checked once; after that, codes stand for names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias

import msgspec
import numpy as np
import polars as pl

from dstbench.conventions.slots import KNOWN_SLOTS, canonical_dialogue, canonical_slot, spelled_with_book, split_pair
from dstbench.errors import DstbenchError
from dstbench.readers.frames import IS_FRAME, is_frame
from dstbench.readers.shapes import Unusual
from dstbench.readers.state_texts import split_flat, split_nested, split_pairs
from dstbench.readers.states import Side, States
from dstbench.readers.words import Columns, Listed, Words, are_distinct
from dstbench.schema.core import MAX_TURN

#: A state as slots and values.
Pairs: TypeAlias = list[tuple[str, str]]


@lru_cache(maxsize=65_536)
def split_triple(triple: str) -> tuple[str, str] | None:
    """Slot and value of ``domain slot value``; the slot is one word, or two that make a known one.

    >>> split_triple("hotel book day friday"), split_triple("taxi leaveat 09:15"), split_triple("hotel")
    (('hotel-book day', 'friday'), ('taxi-leaveat', '09:15'), None)
    """
    for words in (2, 1):
        parts = triple.strip().split(" ", words + 1)
        slot = canonical_slot(f"{parts[0]}-{' '.join(parts[1 : words + 1])}")
        if len(parts) == words + 2 and (slot in KNOWN_SLOTS or words == 1):
            return slot, parts[-1]
    return None


class SideBuilder:
    """Collects the states of one side; `at` is the row of a state's turn, as `StatesBuilder.turn` returns it."""

    def __init__(self) -> None:
        self.present: list[int] = []
        self.sizes: list[int] = []
        self.slot: list[str] = []
        self.value: list[str] = []
        #: If states are added in parts (`parted`): the numbers of their parts, state by state; None: they are not.
        self.taken: list[int] | None = None
        #: Likewise, the number of parts of each state.
        self.counts: list[int] = []
        #: The method that adds a state; states that are texts (see `shapes`) are of the same form.
        self.kind: Callable[[SideBuilder, int, Any], None] = SideBuilder.flat
        self.texts: list[msgspec.Raw] = []
        #: Makes a slot's name from its domain and its name in a nested state.
        self.join: Callable[[str, str], str] = "{}-{}".format
        #: Number of pieces of generated text that were not a slot and its value.
        self.lost = 0

    def all(self, first: int, states: list[Any]) -> None:
        """Add the states of the turns from row `first` on; ``msgspec.UNSET``: the turn has none."""
        rows: Sequence[int] = range(first, first + len(states))
        types = set(map(type, states))
        if msgspec.UnsetType in types:
            rows = [row for row, state in zip(rows, states, strict=True) if state is not msgspec.UNSET]
            states = [state for state in states if state is not msgspec.UNSET]
        if msgspec.Raw in types:
            self.present += rows
            self.texts += states
            return
        for row, state in zip(rows, states, strict=True):
            self.kind(self, row, state)

    def flat(self, at: int, state: Mapping[str, str]) -> None:
        """Add a state {slot: value}."""
        self.present.append(at)
        self.part(state, state.values())

    def nested(self, at: int, state: Mapping[str, Mapping[str, str]]) -> None:
        """Add a state {domain: {slot: value}}."""
        self.present.append(at)
        self.sizes.append(sum(map(len, state.values())))
        for domain, slots in state.items():
            self.slot.extend([f"{domain}-{slot}" for slot in slots])
            self.value.extend(slots.values())

    def cells(self, at: int, state: Sequence[tuple[str, str]], lost: int = 0) -> None:
        """Add a state [(slot, value)]; `lost` other pieces of its text were not a slot and its value."""
        self.present.append(at)
        self.part([slot for slot, _ in state], [value for _, value in state])
        self.lost += lost

    def state(self, at: int, state: Mapping[str, str] | Sequence[tuple[str, str]]) -> None:
        """Add a state {slot: value} or [(slot, value)]."""
        if isinstance(state, Mapping):
            self.flat(at, state)
        else:
            self.cells(at, state)

    def triples(self, at: int, triples: Iterable[str]) -> None:
        """Add a state [``domain slot value``]; generated text that is not of this form is counted as lost."""
        pairs = [split_triple(triple) for triple in triples if triple.strip()]
        self.cells(at, [pair for pair in pairs if pair is not None], pairs.count(None))

    def pairs(self, at: int, state: Sequence[str]) -> None:
        """Add a state [``domain-slot-value``]; the pairs are split when the table is built."""
        self.present.append(at)
        self.sizes.append(len(state))
        self.value.extend(state)

    def parted(self, at: int, numbers: Sequence[int]) -> None:
        """Add a state that consists of parts, by their numbers; `part` may add these before or after."""
        self.present.append(at)
        self.counts.append(len(numbers))
        self.taken = [] if self.taken is None else self.taken
        self.taken.extend(numbers)

    def with_values(self, values: list[str]) -> SideBuilder:
        """The same states with their values replaced by these, in order."""
        side = SideBuilder()
        side.__dict__ |= {**self.__dict__, "value": values}
        return side

    def part(self, slots: Collection[str], values: Iterable[str]) -> None:
        """Add a part, which many states may share; the first has the number 0."""
        self.sizes.append(len(slots))
        self.slot.extend(slots)
        self.value.extend(values)

    def listed(self) -> Listed:
        """The collected states as columns.

        Raises:
            Unusual: There are states that are texts and cannot be split, or others beside them.
        """
        present = np.array(self.present, dtype=np.int64)
        if not self.texts:
            slot, value = (Words.of(pl.Series(strings, dtype=pl.String)) for strings in (self.slot, self.value))
            if self.taken is None:
                return Listed(
                    present, np.repeat(present, self.sizes), None if self.kind is SideBuilder.pairs else slot, value
                )
            sizes, taken = np.array(self.sizes, dtype=np.int64), np.array(self.taken, dtype=np.int64)
            size, first = sizes[taken], (np.cumsum(sizes) - sizes)[taken]
            cell = np.arange(size.sum()) + np.repeat(first - (np.cumsum(size) - size), size)
            at = np.repeat(np.repeat(present, self.counts), size)
            return Listed(present, at, slot.only(cell), value.only(cell))
        if self.sizes:
            raise Unusual
        if self.kind is SideBuilder.pairs:
            row, value = split_pairs(self.texts)
            return Listed(present, present[row], None, value)
        if self.kind is SideBuilder.nested:
            row, domain, slot, value = split_nested(self.texts)
            return Listed(present, present[row], slot.under(domain, self.join), value)
        row, slot, value = split_flat(self.texts)
        return Listed(present, present[row], slot, value)


class StatesBuilder:
    """Collects the turns of a file one by one; `build` makes the columns canonical and checks them.

    Args:
        source: Name of the file, for messages.
        format: Name of its format.
        omits: Values that say that a slot is not in the state.

    Attributes:
        gold: The gold side.
        pred: The predicted side.
        places: (dialogue, file, position) of each dialogue; for `States`, as are `splits`, `either` and `only`.
        aliases: (dialogue, its other name), for `States`.
        domains: Each dialogue's domain, likewise.
        has_frames: Whether the format has frames, even if no turn of this file has one.
    """

    def __init__(self, source: str, format: str, omits: Collection[str] = ()) -> None:  # noqa: A002 (the field's word)
        self._source, self._format, self._omits = source, format, omits
        self._dialogues: list[str] = []
        self._turns: list[int] | list[str] = []
        self._notes: list[str] = []
        self.gold, self.pred = SideBuilder(), SideBuilder()
        self._columns: Columns | None = None
        self.places: list[tuple[str, str, int]] = []
        self.splits: dict[str, str] = {}
        self.aliases: list[tuple[str, str]] = []
        self.domains: dict[str, str] = {}
        self.either = self.has_frames = False
        self.only: tuple[str, ...] | None = None

    def turn(self, dialogue: str, turn: int | str) -> int:
        """Open a turn; returns its row, under which its states are added."""
        self._dialogues.append(dialogue)
        self._turns.append(turn)  # type: ignore[arg-type] # a format spells all its turns in one way
        return len(self._dialogues) - 1

    def add(
        self, turns: Iterable[tuple[str, int | str, Any, Any]], kind: Callable[[SideBuilder, int, Any], None]
    ) -> None:
        """Add turns with their states.

        Args:
            turns: (dialogue, turn, gold, pred); ``msgspec.UNSET``: the turn does not have this side.
            kind: The method of `SideBuilder` that adds such a state; it is not called for states that are texts.
        """
        self.gold.kind = self.pred.kind = kind
        flat = [*chain.from_iterable(turns)]
        first = len(self._dialogues)
        self._dialogues += flat[::4]
        self._turns += flat[1::4]
        self.gold.all(first, flat[2::4])
        self.pred.all(first, flat[3::4])

    def take(self, columns: Columns) -> None:
        """Set all turns and their states at once, instead of opening turns one by one."""
        self._columns = columns

    def note(self, text: str) -> None:
        """Add a note on this file (see `States.notes`)."""
        self._notes.append(text)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes so far, as `States.notes` has them."""
        return tuple(f"{self._source}: {note}" for note in self._notes)

    def turns(self) -> pl.DataFrame:
        """The opened turns, canonical and checked: (dialogue: String, turn: UInt16), in the order of the file."""
        if not self._dialogues:
            raise DstbenchError("no dialogue in the file", file=self._source)
        try:
            numbers = pl.Series(self._turns)
        except (TypeError, OverflowError):  # an integer larger than any that Polars has
            numbers = pl.Series([str(turn) for turn in self._turns])
        return checked_turns(self._source, Words.of(pl.Series(self._dialogues, dtype=pl.String)), numbers)

    def build(self) -> States:
        """The collected states.

        Raises:
            DstbenchError: There is no turn, a turn is not a number or is there twice, or a pair is not of the form
                ``domain-slot-value``.
        """
        columns = self._columns
        if columns is None:
            turns, sides = self.turns(), {"gold": self.gold.listed(), "pred": self.pred.listed()}
        else:
            turns = checked_turns(self._source, columns.dialogue, columns.turn)
            sides = {name: side for name in ("gold", "pred") if (side := getattr(columns, name)) is not None}
        if lost := self.gold.lost + self.pred.lost:
            self.note(f"{lost:,} pieces of text that are not a slot and its value, left out")
        built = {
            name: self.side(name, turns, side.without(self._omits)) for name, side in sides.items() if len(side.present)
        }
        aliases = _by_dialogue(self.aliases, {"alias": pl.String})
        return States(
            self._source,
            self._format,
            built.get("gold"),
            built.get("pred"),
            notes=self.notes,
            either=self.either,
            places=_by_dialogue(self.places, {"file": pl.String, "position": pl.UInt32}),
            splits=_by_dialogue(list(self.splits.items()), {"split": pl.String}),
            aliases=aliases if aliases is None else aliases.with_columns(canonical_dialogue(pl.col("alias"))),
            domains=_by_dialogue(list(self.domains.items()), {"domain": pl.String}),
            only=self.only,
        )

    def side(self, name: str, turns: pl.DataFrame, listed: Listed) -> Side:
        """One side of these states, with canonical slots.

        Args:
            name: What notes call it: gold or pred.
            turns: All turns of the file, canonical.
            listed: The slots that the side lists in these turns.
        """
        slot, value = (listed.slot, listed.value) if listed.slot is not None else self._split(turns, listed)
        names, with_book = [canonical_slot(word) for word in slot.words], spelled_with_book(slot.words)
        slot = Words.named(slot.code, names)
        cells = pl.DataFrame({"at": listed.at.astype(np.uint32), "slot": slot.column(), "value": value.column()})
        if not are_distinct(listed.at, slot.code, len(slot.words)):
            cells = self._without_repeated(name, turns, cells)
        if len(listed.present) < turns.height:
            row = np.zeros(turns.height, dtype=np.uint32)
            row[listed.present] = np.arange(len(listed.present))
            turns = turns.select(pl.all().gather(pl.Series(listed.present)))
            cells = cells.with_columns(at=pl.Series(row[cells["at"].to_numpy()]))
        if self.has_frames or any(map(is_frame, names)):
            return Side(turns, cells.filter(~IS_FRAME), cells.filter(IS_FRAME), with_book)
        return Side(turns, cells, with_book=with_book)

    def _without_repeated(self, name: str, turns: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
        """The cells without repetitions: of a slot that a state lists twice, the last value is kept."""
        twice = cells.select(pl.struct("at", "slot").is_duplicated()).to_series()
        clash = cells.filter(twice).unique(maintain_order=True).filter(pl.struct("at", "slot").is_duplicated())
        clash = clash.sort("at", maintain_order=True)
        if clash.height:
            at, slot, _ = clash.row(0)
            self.note(
                f"{clash.n_unique(['at', 'slot'])} {name} states list a slot twice with different values; "
                f"the last is kept (first: dialogue {turns['dialogue'][at]}, turn {turns['turn'][at]}, slot {slot})"
            )
        return cells.unique(["at", "slot"], keep="last", maintain_order=True)

    def _split(self, turns: pl.DataFrame, listed: Listed) -> tuple[Words, Words]:
        """Slots and values of ``domain-slot-value`` pairs; each distinct pair is split once."""
        pairs = listed.value
        split = [split_pair(pair) for pair in pairs.words]
        if None in split:
            number = split.index(None)
            dialogue, turn = turns.row(int(listed.at[np.flatnonzero(pairs.code == number)[0]]))
            what = f"{pairs.words[number]!r} is not of the form domain-slot-value"
            raise DstbenchError(what, file=self._source, dialogue=dialogue, turn=turn)
        slots, values = zip(*filter(None, split), strict=True) if split else ((), ())
        return Words.named(pairs.code, slots), Words.named(pairs.code, values)


def checked_turns(source: str, dialogues: Words, numbers: pl.Series) -> pl.DataFrame:
    """A file's turns, canonical: (dialogue: String, turn: UInt16), in the order of the file.

    Args:
        source: Name of the file, for messages.
        dialogues: Each turn's dialogue.
        numbers: Each turn's number, or a string that spells it.

    Raises:
        DstbenchError: A turn is not a number, or is there twice.
    """

    def fail(what: str, at: int, hint: str) -> DstbenchError:
        dialogue = dialogues.words[int(dialogues.code[at])]
        return DstbenchError(what, file=source, dialogue=dialogue, turn=numbers[at], hint=hint)

    turns = numbers.cast(pl.UInt16, strict=False)
    if turns.null_count():
        at = int(turns.is_null().arg_max() or 0)
        raise fail(f"the turn is not a number from 0 to {MAX_TURN}", at, "number user turns from 0")
    names = pl.DataFrame({"dialogue": dialogues.words}).select(canonical_dialogue(pl.col("dialogue"))).to_series()
    canonical = Words.named(dialogues.code, names.to_list())
    key = pl.Series(canonical.code.astype(np.int64) * (MAX_TURN + 1) + turns.to_numpy())
    if key.n_unique() < len(key):
        repeated = key.is_first_distinct().not_().arg_true()
        more = f", and {len(repeated) - 1} more" if len(repeated) > 1 else ""
        raise fail(f"the same turn twice{more}", repeated[0], "keep one state per dialogue and turn")
    return pl.DataFrame({"dialogue": canonical.strings(), "turn": turns})


def _by_dialogue(rows: list[Any], columns: dict[str, type[pl.DataType]]) -> pl.DataFrame | None:
    """A table of rows (dialogue, …), with canonical dialogue ids; None if there are no rows."""
    if not rows:
        return None
    table = pl.DataFrame(rows, schema={"dialogue": pl.String, **columns}, orient="row")
    return table.with_columns(canonical_dialogue(pl.col("dialogue")))
