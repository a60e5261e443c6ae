"""Belief states as readers hand them on: which turns there are, and what gold and prediction list in each.

A state may be empty, so the turns are kept apart from the cells: a turn is never known by its slots alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from dstbench.errors import DstbenchError
from dstbench.schema import MAX_TURN
from dstbench.slots import canonical_dialogue, canonical_slot, split_pair

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

SideName = Literal["gold", "pred"]


@dataclass(frozen=True)
class Side:
    """One side (gold or prediction) of a file.

    Attributes:
        turns: (dialogue: String, turn: UInt16), one row per turn that has this side, canonical ids, in file order.
        cells: (at: UInt32 row of `turns`, slot: Categorical, value: Categorical); one row per listed slot.
    """

    turns: pl.DataFrame
    cells: pl.DataFrame


@dataclass(frozen=True)
class States:
    """What one file (or several that are one run) says.

    Attributes:
        source: Name of the file, for messages.
        format: Name of the native format.
        gold: The gold side; None if the file holds no gold.
        pred: The predicted side; None if the file holds no predictions.
        notes: What a reader of the numbers should know (a slot listed twice, …), one sentence each.
        either: Whether the file does not say if it is gold or predictions: both sides are there, and the one that is
            meant is known by how the file was given.
        places: (dialogue: String, file: String name without folders, position: UInt32 in that file), where predictions
            may name dialogues by their place; None if they never do.
        splits: (dialogue: String, split: String ``train``, ``dev`` or ``test``), one row per dialogue; None if that is
            not known.
        complete: Where the predictions are whole only beside gold, what makes them so: it takes the gold states and
            gives the states with a predicted side. None if they are whole.
        only: The metrics that mean something, in dstbench's notation, where the file holds less than states; None: all.
    """

    source: str
    format: str
    gold: Side | None
    pred: Side | None
    notes: tuple[str, ...] = ()
    either: bool = False
    places: pl.DataFrame | None = None
    splits: pl.DataFrame | None = None
    complete: Callable[[States], States] | None = None
    only: tuple[str, ...] | None = None


def listed(state: Mapping[str, str], leaves_out: Collection[str]) -> dict[str, str]:
    """A state without the values with which its format, that always names every slot, leaves one out."""
    return {slot: value for slot, value in state.items() if value not in leaves_out}


class _SideBuilder:
    """Growing columns of one side."""

    def __init__(self) -> None:
        self.present: list[int] = []
        self.at: list[int] = []
        self.slot: list[str] = []
        self.value: list[str] = []

    def flat(self, at: int, state: Mapping[str, str]) -> None:
        """Take a state of the form {slot: value}."""
        self.present.append(at)
        self.at.extend([at] * len(state))
        self.slot.extend(state.keys())
        self.value.extend(state.values())

    def nested(self, at: int, state: Mapping[str, Mapping[str, str]]) -> None:
        """Take a state of the form {domain: {slot: value}}."""
        self.present.append(at)
        for domain, slots in state.items():
            self.at.extend([at] * len(slots))
            self.slot.extend([f"{domain}-{slot}" for slot in slots])
            self.value.extend(slots.values())

    def cells(self, at: int, state: Sequence[tuple[str, str]]) -> None:
        """Take a state of the form [(slot, value)]; one that lists a slot twice is reported when it is built."""
        self.present.append(at)
        self.at.extend([at] * len(state))
        self.slot.extend([slot for slot, _ in state])
        self.value.extend([value for _, value in state])

    def pairs(self, at: int, state: Sequence[str]) -> None:
        """Take a state of the form [``domain-slot-value``]; they are split when the table is built."""
        self.present.append(at)
        self.at.extend([at] * len(state))
        self.value.extend(state)


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
        dialogues = self.turns().group_by("dialogue").agg(last=pl.col("turn").max().cast(pl.Int64), there=pl.len())
        return int(dialogues.select((pl.col("last") + 1 - pl.col("there")).sum()).item())

    def build(self) -> States:
        """The collected states.

        Raises:
            DstbenchError: No turn at all, a turn that is no number, the same turn twice, or a pair that is not
                of the form ``domain-slot-value``.
        """
        turns = self.turns()
        notes = [*self._notes]
        gold, pred = (
            self._side(name, builder, turns, notes) if builder.present else None
            for name, builder in (("gold", self.gold), ("pred", self.pred))
        )
        return States(
            self._source,
            self._format,
            gold,
            pred,
            notes=tuple(notes),
            either=self.either,
            places=_by_dialogue(self._places, {"file": pl.String, "position": pl.UInt32}),
            splits=_by_dialogue(list(self.splits.items()), {"split": pl.String}),
        )

    def _fail(self, what: str, at: int, hint: str | None = None) -> DstbenchError:
        return DstbenchError(what, file=self._source, dialogue=self._dialogues[at], turn=self._turns[at], hint=hint)

    def turns(self) -> pl.DataFrame:
        """The turns, canonical and checked: (dialogue: String, turn: UInt16), in the order in which they came."""
        if not self._dialogues:
            raise DstbenchError("no dialogue in the file", file=self._source)
        try:
            numbers = pl.Series(self._turns)
        except (TypeError, OverflowError):  # an integer beyond any that Polars has
            numbers = pl.Series([str(turn) for turn in self._turns])
        turns = pl.DataFrame({"dialogue": self._dialogues, "turn": numbers}).with_columns(
            canonical_dialogue(pl.col("dialogue")), number=pl.col("turn").cast(pl.UInt16, strict=False)
        )
        bad = turns["number"].is_null().arg_max()
        if bad is not None and turns["number"][bad] is None:
            raise self._fail(f"the turn is not a number from 0 to {MAX_TURN}", bad, "number user turns from 0")
        turns = turns.select("dialogue", turn="number")
        repeated = turns.select(pl.struct("dialogue", "turn").is_first_distinct().not_()).to_series().arg_true()
        if len(repeated):
            more = f", and {len(repeated) - 1} more" if len(repeated) > 1 else ""
            raise self._fail(f"the same turn twice{more}", repeated[0], "keep one state per dialogue and turn")
        return turns

    def _side(self, name: str, builder: _SideBuilder, turns: pl.DataFrame, notes: list[str]) -> Side:
        if builder.slot:
            cells = pl.DataFrame(
                [builder.at, builder.slot, builder.value],
                schema={"at": pl.UInt32, "slot": pl.String, "value": pl.String},
            )
            spelling = cells.select(pl.col("slot").unique())
            names = [canonical_slot(slot) for slot in spelling["slot"]]
            cells = cells.with_columns(pl.col("slot").replace_strict(spelling["slot"], names, return_dtype=pl.String))
        else:
            cells = self._split(pl.DataFrame([builder.at, builder.value], schema={"at": pl.UInt32, "pair": pl.String}))
        cells = cells.cast({"slot": pl.Categorical, "value": pl.Categorical})
        twice = cells.select(pl.struct("at", "slot").is_duplicated())["at"]
        if twice.any():
            kept = cells.unique(["at", "slot"], keep="last", maintain_order=True)
            clash = cells.filter(twice).unique().filter(pl.struct("at", "slot").is_duplicated()).sort("at")
            if clash.height:
                at, slot, _ = clash.row(0)
                notes.append(
                    f"{self._source}: {clash.n_unique(['at', 'slot'])} {name} states list a slot twice with different "
                    f"values; the last is kept (first: dialogue {turns['dialogue'][at]}, "
                    f"turn {turns['turn'][at]}, slot {slot})"
                )
            cells = kept
        if len(builder.present) == turns.height:
            return Side(turns, cells)
        rows = pl.DataFrame({"old": builder.present}, schema={"old": pl.UInt32}).with_row_index("at")
        return Side(
            turns.select(pl.all().gather(rows["old"])),
            cells.join(rows, left_on="at", right_on="old", maintain_order="left").select(
                pl.col("at_right").alias("at"), "slot", "value"
            ),
        )

    def _split(self, cells: pl.DataFrame) -> pl.DataFrame:
        """Split ``domain-slot-value`` pairs, each distinct one once."""
        pairs = cells["pair"].unique(maintain_order=True)
        split = [split_pair(pair) for pair in pairs]
        for pair, parts in zip(pairs, split, strict=True):
            if parts is None:
                at = cells.filter(pl.col("pair") == pair)["at"][0]
                raise self._fail(f"{pair!r} is not of the form domain-slot-value", at)
        table = pl.DataFrame(
            {"pair": pairs, "slot": [p and p[0] for p in split], "value": [p and p[1] for p in split]},
            schema={"pair": pl.String, "slot": pl.String, "value": pl.String},
        )
        return cells.join(table, on="pair", how="left", maintain_order="left").select("at", "slot", "value")


def _by_dialogue(rows: list[Any], columns: dict[str, type[pl.DataType]]) -> pl.DataFrame | None:
    """Rows that begin with a dialogue, whose id is made canonical; None if there are none."""
    if not rows:
        return None
    table = pl.DataFrame(rows, schema={"dialogue": pl.String, **columns}, orient="row")
    return table.with_columns(canonical_dialogue(pl.col("dialogue")))


def merge_states(parts: Sequence[States], source: str | None = None) -> States:
    """Several files' states as one run's; `source` is what they are called together.

    Raises:
        DstbenchError: A turn is in two of them, or some have gold (or predictions) and others have not.
    """
    if len(parts) == 1:
        return parts[0]
    source = source or f"{parts[0].source} and {len(parts) - 1} more"
    if any(part.complete for part in parts):
        return replace(
            parts[0],
            source=source,
            complete=lambda gold: merge_states(
                [part.complete(gold) if part.complete else part for part in parts], source
            ),
        )
    notes = tuple(note for part in parts for note in part.notes)
    sides: dict[str, Side | None] = {}
    for name in ("gold", "pred"):
        given = [(part, side) for part in parts if (side := getattr(part, name)) is not None]
        if given and len(given) < len(parts):
            without = next(part for part in parts if getattr(part, name) is None)
            raise DstbenchError(f"no {name} inside, unlike in {given[0][0].source}", file=without.source)
        sides[name] = _concat([side for _, side in given], source) if given else None
    either = any(part.either for part in parts)
    tables = {}
    for name in ("places", "splits"):
        known = [table for part in parts if (table := getattr(part, name)) is not None]
        tables[name] = pl.concat(known) if known else None
    return States(source, parts[0].format, sides["gold"], sides["pred"], notes, either, **tables, only=parts[0].only)


def in_order(states: States, gold: States) -> States:
    """Predictions without ids as those of gold's turns, in the order of its file.

    Raises:
        DstbenchError: There are more or fewer of them.
    """
    if states.pred is None or gold.gold is None:
        raise DstbenchError(f"no {'gold' if states.pred else 'predictions'} inside", file=states.source)
    if states.pred.turns.height != gold.gold.turns.height:
        raise DstbenchError(
            f"{states.pred.turns.height:,} predicted turns for {gold.gold.turns.height:,} in {gold.source}",
            file=states.source,
            hint="they have no ids and are joined in order, so there must be as many: is it the same split"
            + (" (--split)?" if gold.splits is not None else "?"),
        )
    return replace(states, gold=None, pred=Side(gold.gold.turns, states.pred.cells), complete=None)


def in_split(states: States, split: str) -> States:
    """The states, all of them of one split."""
    turns = pl.concat([side.turns for side in (states.gold, states.pred) if side is not None])
    return replace(states, splits=turns.select("dialogue").unique().with_columns(split=pl.lit(split)))


def only_split(states: States, split: str) -> States:
    """The dialogues of one split.

    Raises:
        DstbenchError: The file does not say which dialogues these are, or there are none.
    """
    if states.splits is None:
        raise DstbenchError(
            "it does not say which dialogue is of which split",
            file=states.source,
            hint="leave --split away, or give the file of that split",
        )
    kept = states.splits.filter(pl.col("split") == split)
    gold, pred = (side and _only(side, kept) for side in (states.gold, states.pred))
    if not any(side is not None and side.turns.height for side in (gold, pred)):
        known = sorted(states.splits["split"].unique())
        raise DstbenchError(
            f"no dialogue of the split {split!r}", file=states.source, hint=f"there are: {', '.join(known)}"
        )
    places = states.places
    places = places if places is None else places.join(kept, on="dialogue", how="semi", maintain_order="left")
    return replace(states, gold=gold, pred=pred, places=places, splits=kept)


def _only(side: Side, dialogues: pl.DataFrame) -> Side:
    kept = side.turns.with_row_index("old").join(dialogues, on="dialogue", how="semi", maintain_order="left")
    place = kept.select("old").with_row_index("new")
    cells = side.cells.join(place, left_on="at", right_on="old", maintain_order="left")
    return Side(kept.drop("old"), cells.select(pl.col("new").alias("at"), "slot", "value"))


def _concat(sides: list[Side], source: str) -> Side:
    turns = pl.concat([side.turns for side in sides])
    twice = turns.filter(pl.struct("dialogue", "turn").is_duplicated())
    if twice.height:
        dialogue, turn = twice.row(0)
        raise DstbenchError("the same turn in two files", file=source, dialogue=dialogue, turn=turn)
    offset, cells = 0, []
    for side in sides:
        cells.append(side.cells.with_columns(pl.col("at") + pl.lit(offset, pl.UInt32)))
        offset += side.turns.height
    return Side(turns, pl.concat(cells))
