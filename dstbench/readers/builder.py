"""Builds `States` from what a reader finds in a file, turn by turn.

Each distinct name of a slot or dialogue is made canonical and checked once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from dstbench.conventions.slots import canonical_dialogue, canonical_slot, spelled_with_book
from dstbench.errors import DstbenchError
from dstbench.readers.frames import IS_FRAME, is_frame
from dstbench.readers.states import Side, States, in_order, only_turns
from dstbench.schema.core import MAX_TURN

_CELLS: Final = {"at": pl.UInt32, "slot": pl.String, "value": pl.String}
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

    def state(self, at: int, state: State) -> None:
        """Add a state {slot: value} or [(slot, value)]; None in a list is a piece of text that is no slot and value."""
        self.present.append(at)
        if isinstance(state, Mapping):
            self.slot.extend(state)
            self.value.extend(state.values())
            self.sizes.append(len(state))
            return
        pairs = [pair for pair in state if pair is not None]
        self.lost += len(state) - len(pairs)
        self.slot.extend([slot for slot, _ in pairs])
        self.value.extend([value for _, value in pairs])
        self.sizes.append(len(pairs))

    flat = cells = state  # as formats from packages call it


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
            numbers = pl.Series(self._turns).cast(pl.UInt16, strict=False)
        except (TypeError, OverflowError):  # an integer larger than any that Polars has
            numbers = pl.Series([str(turn) for turn in self._turns]).cast(pl.UInt16, strict=False)
        wrong = numbers.is_null().arg_max() if numbers.null_count() else None
        if wrong is not None:
            raise self._turn_error(f"the turn is not a number from 0 to {MAX_TURN}", wrong, "number user turns from 0")
        names = pl.Series("name", self._dialogues, dtype=pl.String).to_frame()
        canonical = names.unique().with_columns(dialogue=canonical_dialogue(pl.col("name")))
        dialogues = names.join(canonical, on="name", how="left", maintain_order="left")["dialogue"]
        table = pl.DataFrame({"dialogue": dialogues, "turn": numbers})
        repeated = table.select(pl.struct(pl.all()).is_first_distinct().not_().arg_true()).to_series()
        if len(repeated):
            what = f"{len(repeated):,} duplicate turns" if len(repeated) > 1 else "the same turn twice"
            raise self._turn_error(what, repeated[0], "keep one state per dialogue and turn")
        return table

    def _turn_error(self, what: str, at: int, hint: str) -> DstbenchError:
        dialogue, turn = self._dialogues[at], self._turns[at]
        return DstbenchError(what, file=self._source, dialogue=dialogue, turn=turn, hint=hint)

    def build(self) -> States:
        """The collected states.

        Raises:
            DstbenchError: There is no turn, or a turn is not a number or is there twice.
        """
        turns = self.turns()
        if lost := self.gold.lost + self.pred.lost:
            self.note(f"{lost:,} pieces of text that are not a slot and its value, left out")
        gold = self.side("gold", turns) if self.gold.present else None
        pred = self.side("pred", turns) if self.pred.present else None
        aliases = _by_dialogue(self.aliases, alias=pl.String)
        states = States(
            self._source,
            self._format,
            gold,
            pred,
            notes=self.notes,
            either=self.either,
            places=_by_dialogue(self.places, file=pl.String, position=pl.UInt32),
            splits=_by_dialogue(self.splits.items(), split=pl.String),
            aliases=None if aliases is None else aliases.with_columns(canonical_dialogue(pl.col("alias"))),
            domains=_by_dialogue(self.domains.items(), domain=pl.String),
            only=self.only,
            instead=self.instead,
        )
        return replace(states, pred=None, complete=partial(in_order, states)) if self.are_in_order else states

    def side(self, name: str, turns: pl.DataFrame) -> Side:
        """One side of these states, gold or pred, with canonical slots; `turns` are all of the file, canonical."""
        side: SideBuilder = getattr(self, name)
        at = np.repeat(np.array(side.present, dtype=np.uint32), side.sizes)
        try:
            cells = pl.DataFrame({"at": at, "slot": side.slot, "value": side.value}, _CELLS)
        except (TypeError, UnicodeEncodeError):
            cells = None
        if cells is None or sum(cells.null_count().row(0)):
            raise self._no_text(turns, at, side)
        if self._omits:
            cells = cells.filter(~pl.col("value").is_in([*self._omits]))
        cells = cells.with_columns(pl.col("slot", "value").cast(pl.Categorical))
        spelled = cells["slot"].unique(maintain_order=True).cast(pl.String)
        names = [*map(canonical_slot, spelled)]
        cells = cells.with_columns(pl.col("slot").replace_strict(spelled, names, return_dtype=pl.Categorical))
        cells = self._without_repeated(name, turns, cells)
        frames = None
        if self.has_frames or any(map(is_frame, names)):
            cells, frames = cells.filter(~IS_FRAME), cells.filter(IS_FRAME)
        whole = Side(turns, cells, frames, spelled_with_book(spelled.to_list()))
        if len(side.present) == turns.height:
            return whole
        return only_turns(whole, pl.int_range(turns.height, eager=True).is_in(side.present))

    def _no_text(self, turns: pl.DataFrame, at: Iterable[Any], side: SideBuilder) -> DstbenchError:
        """The error for the first slot or value that is not a string, or has half a character."""
        cells = zip(at, side.slot, side.value, strict=True)
        row, slot, value = next(cell for cell in cells if not (_is_text(cell[1]) and _is_text(cell[2])))
        dialogue, turn = turns.row(int(row))
        what = f"expected a string, found {value if _is_text(slot) else slot}"
        return DstbenchError(what, file=self._source, dialogue=dialogue, turn=turn, slot=str(slot))

    def _without_repeated(self, name: str, turns: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
        """The cells without repetitions: of a slot that a state lists twice, the last value is kept."""
        key = pl.struct("at", "slot")
        if not cells.select(key.is_duplicated().any()).item():
            return cells
        clash = cells.filter(key.is_duplicated()).unique(maintain_order=True).filter(key.is_duplicated())
        clash = clash.sort("at", maintain_order=True)
        if clash.height:
            at, slot, _ = clash.row(0)
            self.note(
                f"{clash.n_unique(['at', 'slot'])} {name} states list a slot twice with different values; "
                f"the last is kept (first: dialogue {turns['dialogue'][at]}, turn {turns['turn'][at]}, slot {slot})"
            )
        return cells.unique(["at", "slot"], keep="last", maintain_order=True)


def _is_text(text: Any) -> bool:
    return isinstance(text, str) and not re.search("[\ud800-\udfff]", text)


def _by_dialogue(rows: Collection[Any], **columns: type[pl.DataType]) -> pl.DataFrame | None:
    """A table of rows (dialogue, …), with canonical dialogue ids; None if there are no rows."""
    if not rows:
        return None
    table = pl.DataFrame([*rows], schema={"dialogue": pl.String, **columns}, orient="row")
    return table.with_columns(canonical_dialogue(pl.col("dialogue")))
