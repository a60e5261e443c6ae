"""Builds `States` from what a reader finds in a file, turn by turn.

Each distinct name of a slot or dialogue is made canonical and checked once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from dstbench.arrays import Numbers
from dstbench.conventions.slots import canonical_dialogue, canonical_slot, spelled_with_book
from dstbench.errors import DstbenchError
from dstbench.readers.frames import IS_FRAME, is_frame
from dstbench.readers.states import Side, States, in_order
from dstbench.schema.core import MAX_TURN

#: A state as slots and values.
Pairs: TypeAlias = list[tuple[str, str]]
#: A state as {slot: value}, or as slots and values, with None for pieces of text that are none.
State: TypeAlias = Mapping[str, str] | Sequence[tuple[str, str] | None]


class SideBuilder:
    """Collects the states of one side; `at` is the row of a state's turn, as `StatesBuilder.turn` returns it."""

    def __init__(self) -> None:
        self.present: list[int] = []
        self.sizes: list[int] = []
        self.slot: list[str] = []
        self.value: list[str] = []
        #: Number of pieces of generated text that were not a slot and its value.
        self.lost = 0

    def flat(self, at: int, state: Mapping[str, str]) -> None:
        """Add a state {slot: value}."""
        self._add(at, state, state.values())

    def cells(self, at: int, state: Sequence[tuple[str, str] | None]) -> None:
        """Add a state [(slot, value)]; None stands for a piece of its text that was not a slot and its value."""
        pairs = [pair for pair in state if pair is not None]
        self.lost += len(state) - len(pairs)
        self._add(at, [slot for slot, _ in pairs], [value for _, value in pairs])

    def state(self, at: int, state: State) -> None:
        """Add a state {slot: value} or [(slot, value)]."""
        if isinstance(state, Mapping):
            self.flat(at, state)
        else:
            self.cells(at, state)

    def _add(self, at: int, slots: Collection[str], values: Iterable[str]) -> None:
        self.present.append(at)
        self.sizes.append(len(slots))
        self.slot.extend(slots)
        self.value.extend(values)


class StatesBuilder:
    """Collects the turns of a file one by one; `build` makes the columns canonical and checks them.

    Args:
        source: Name of the file, for messages.
        format: Name of its format.
        omits: Values that say that a slot is not in the state.

    Attributes:
        gold: The gold side.
        pred: The predicted side.
        places: (dialogue, file, position) of each dialogue; for `States`, as are `splits`, `either`, `only`, `instead`.
        aliases: (dialogue, its other name), for `States`.
        domains: Each dialogue's domain, likewise.
        has_frames: Whether the format has frames, even if no turn of this file has one.
        are_in_order: Whether turns have no ids: they are gold, or predictions for gold's turns in its order.
    """

    def __init__(self, source: str, format: str, omits: Collection[str] = ()) -> None:  # noqa: A002 (the field's word)
        self._source, self._format, self._omits = source, format, omits
        self._dialogues: list[str] = []
        self._turns: list[int] | list[str] = []
        self._notes: list[str] = []
        self.gold, self.pred = SideBuilder(), SideBuilder()
        self.places: list[tuple[str, str, int]] = []
        self.splits: dict[str, str] = {}
        self.aliases: list[tuple[str, str]] = []
        self.domains: dict[str, str] = {}
        self.either = self.has_frames = self.are_in_order = False
        self.only: tuple[str, ...] | None = None
        self.instead = ""

    def turn(self, dialogue: str, turn: int | str) -> int:
        """Open a turn; returns its row, under which its states are added."""
        self._dialogues.append(dialogue)
        self._turns.append(turn)  # type: ignore[arg-type] # a format spells all its turns in one way
        return len(self._dialogues) - 1

    def lines(self, dialogues: Iterable[str], turns: Iterable[str], cells: pl.DataFrame) -> None:
        """Set all turns at once, and gold's slots: (at: row of the turn, slot, value)."""
        self._dialogues, self._turns = [*dialogues], [*turns]
        self.gold.present = [*range(len(self._dialogues))]
        cells = cells.sort("at", maintain_order=True)
        self.gold.sizes = np.bincount(cells["at"].to_numpy(), minlength=len(self._dialogues)).tolist()
        self.gold.slot, self.gold.value = (cells[name].to_list() for name in ("slot", "value"))

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
        return checked_turns(self._source, pl.Series(self._dialogues, dtype=pl.String), numbers)

    def build(self) -> States:
        """The collected states.

        Raises:
            DstbenchError: There is no turn, or a turn is not a number or is there twice.
        """
        turns = self.turns()
        if lost := self.gold.lost + self.pred.lost:
            self.note(f"{lost:,} pieces of text that are not a slot and its value, left out")
        built = {
            name: self.side(name, turns, np.array(side.present), np.array(side.sizes), side.slot, side.value)
            for name, side in (("gold", self.gold), ("pred", self.pred))
            if side.present
        }
        aliases = _by_dialogue(self.aliases, {"alias": pl.String})
        states = States(
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
            instead=self.instead,
        )
        return replace(states, pred=None, complete=partial(in_order, states)) if self.are_in_order else states

    def side(  # noqa: PLR0917 (columns)
        self,
        name: str,
        turns: pl.DataFrame,
        present: Numbers,
        sizes: Numbers,
        slots: Sequence[str],
        values: Sequence[str],
    ) -> Side:
        """One side of these states, with canonical slots.

        Args:
            name: What notes call it: gold or pred.
            turns: All turns of the file, canonical.
            present: The rows of the turns that have this side.
            sizes: The number of slots that each of their states lists.
            slots: These slots, as they are written.
            values: Their values.
        """
        columns = {"slot": slots, "value": values}
        try:
            texts = {key: pl.Series(key, strings, dtype=pl.String) for key, strings in columns.items()}
        except TypeError:
            texts = {}
        if not texts or any(text.null_count() for text in texts.values()):
            raise self._no_text(turns, np.repeat(present, sizes), slots, values)
        cells = pl.DataFrame({"at": np.repeat(present, sizes).astype(np.uint32), **texts})
        if self._omits:
            cells = cells.filter(~pl.col("value").is_in([*self._omits]))
        cells = cells.with_columns(pl.col("slot", "value").cast(pl.Categorical))
        spelled = cells["slot"].unique(maintain_order=True).cast(pl.String)
        names, with_book = [*map(canonical_slot, spelled)], spelled_with_book(spelled.to_list())
        cells = cells.with_columns(pl.col("slot").replace_strict(spelled, names, return_dtype=pl.Categorical))
        key = pl.col("at").cast(pl.UInt64) * (1 << 32) + pl.col("slot").to_physical()
        if cells.select(key.n_unique()).item() < cells.height:
            cells = self._without_repeated(name, turns, cells)
        present = np.sort(present)
        if len(present) < turns.height:
            row = np.zeros(turns.height, dtype=np.uint32)
            row[present] = np.arange(len(present))
            turns = turns.select(pl.all().gather(pl.Series(present)))
            cells = cells.with_columns(at=pl.Series(row[cells["at"].to_numpy()]))
        if self.has_frames or any(map(is_frame, names)):
            return Side(turns, cells.filter(~IS_FRAME), cells.filter(IS_FRAME), with_book)
        return Side(turns, cells, with_book=with_book)

    def _no_text(self, turns: pl.DataFrame, at: Numbers, slots: Sequence[Any], values: Sequence[Any]) -> DstbenchError:
        """The error for the first slot or value that is not a string."""
        row, slot, value = next(
            cell for cell in zip(at, slots, values, strict=True) if not all(isinstance(part, str) for part in cell[1:])
        )
        dialogue, turn = turns.row(int(row))
        what = f"expected a string, found {slot if isinstance(value, str) else value}"
        return DstbenchError(what, file=self._source, dialogue=dialogue, turn=turn, slot=str(slot))

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


def checked_turns(source: str, dialogues: pl.Series, numbers: pl.Series) -> pl.DataFrame:
    """A file's turns, canonical: (dialogue: String, turn: UInt16), in the order of the file."""

    def fail(what: str, at: int, hint: str) -> DstbenchError:
        return DstbenchError(what, file=source, dialogue=dialogues[at], turn=numbers[at], hint=hint)

    turns = numbers.cast(pl.UInt16, strict=False)
    if turns.null_count():
        at = int(turns.is_null().arg_max() or 0)
        raise fail(f"the turn is not a number from 0 to {MAX_TURN}", at, "number user turns from 0")
    names = dialogues.unique().alias("name").to_frame().with_columns(dialogue=canonical_dialogue(pl.col("name")))
    table = pl.DataFrame({"dialogue": dialogues.replace_strict(names["name"], names["dialogue"]), "turn": turns})
    repeated = table.select(pl.struct(pl.all()).is_first_distinct().not_().arg_true()).to_series()
    if len(repeated):
        what = f"{len(repeated):,} duplicate turns" if len(repeated) > 1 else "the same turn twice"
        raise fail(what, repeated[0], "keep one state per dialogue and turn")
    return table


def _by_dialogue(rows: list[Any], columns: dict[str, type[pl.DataType]]) -> pl.DataFrame | None:
    """A table of rows (dialogue, …), with canonical dialogue ids; None if there are no rows."""
    if not rows:
        return None
    table = pl.DataFrame(rows, schema={"dialogue": pl.String, **columns}, orient="row")
    return table.with_columns(canonical_dialogue(pl.col("dialogue")))
