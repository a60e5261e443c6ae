"""Belief states as readers return them: which turns there are, and what gold and prediction list in each.

As a state may be empty, turns have a table of their own, apart from the cells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from dstbench.conventions.slots import canonical_dialogue, canonical_slot, merged_spellings
from dstbench.errors import DstbenchError, first_of, number_of, shortened, warn
from dstbench.readers.frames import FRAME, IS_FRAME
from dstbench.schema.core import MAX_TURN
from dstbench.schema.record import Record

#: The slot of a predicted state that cannot be read, and counts as wrong (`align.to_long` takes it out).
UNREADABLE: Final = "\N{REPLACEMENT CHARACTER}-unreadable"
# Least number of turns of a file for a note on vanishing slots, and of a dialogue for one on empty states.
_FEW, _FEW_OF_DIALOGUE = 50, 7
# What slots and values do not look like, but states and lists: {"area": "north"}, or [hotel] area north.
_SEEMING_STATES: Final = {"slot": r"^\s*[\[{]", "value": r"^\s*(\{.*\}\s*$|\[.*\])"}
_KEY: Final = ["dialogue", "turn"]
# What follows a note: the place of the first of what it counts.
_FIRST: Final = re.compile(r" \(first: .*\)")


@dataclass(frozen=True)
class Side:
    """One side (gold or prediction) of a file."""

    turns: pl.DataFrame  # (dialogue: String, turn: UInt16) of every turn with this side, canonical ids, in file order
    cells: pl.DataFrame  # (at: UInt32 row of `turns`, slot: Categorical, value: Categorical) of every listed slot
    frames: pl.DataFrame | None = None  # as `cells`, for frames (see `frames`), which are in no state
    # For booking slots, whether the file spells them with ``book``; None: in both ways; others: with it.
    with_book: Mapping[str, bool | None] = field(default_factory=dict)

    @cached_property
    def sorted_turns(self) -> pl.DataFrame:
        """The turns in the long table's order: (at: row of `turns`, dialogue, turn)."""
        return self.turns.with_row_index("at").sort("dialogue", "turn")


@dataclass(frozen=True)
class States(Record):
    """The states in one file, or in several files that are one run or dataset.

    Attributes:
        source: Name of the file, for messages.
        format: Name of the native format.
        gold: The gold side; None if the file holds no gold.
        pred: The predicted side; None if the file holds no predictions.
        notes: What users of the scores should know (a slot is listed twice, …), one sentence each.
        either: Whether the file may be gold or predictions: then both sides are set, and the one that is used depends
            on whether the user named the file as gold.
        places: (dialogue: String, file: String name without folders, position: UInt32 in that file), for predictions
            that name dialogues by their place in a dataset; None: there are none for files of this format.
        splits: (dialogue: String, split: String ``train``, ``dev`` or ``test``), one row per dialogue; None: unknown.
        complete: Takes the gold states and returns these states with a predicted side, if the file alone does not say
            what is predicted; None: it does.
        only: The metrics, in dstbench's notation, that can be computed, if the file holds less than states; None: all.
        aliases: (dialogue: String, alias: String), other names of dialogues, by which predictions may call them; None:
            there are none.
        domains: (dialogue: String, domain: String), if the reader puts this domain before each slot of the dialogue, as
            the file has none; None: it does not.
        numbered: Whether the user says how turns are numbered.
        instead: What the user may say of a file without predictions, or without gold, for hints.
        in_training: Whether a training loop added the states: doubts about their turns and slots do not stop it.
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
    aliases: pl.DataFrame | None = None
    domains: pl.DataFrame | None = None
    numbered: bool = False
    instead: str = ""
    in_training: bool = False


def sides_of(states: States) -> list[Side]:
    """Gold and predictions, those of them that the file has."""
    return [side for side in (states.gold, states.pred) if side is not None]


def with_sides(states: States, change: Callable[[Side], Side], **others: Any) -> States:
    """The states with gold and predictions changed by a function."""
    gold, pred = (side and change(side) for side in (states.gold, states.pred))
    return replace(states, gold=gold, pred=pred, **others)


def canonical_ids(names: Collection[str]) -> list[str]:
    """The canonical ids of dialogues."""
    table = pl.DataFrame({"name": [*names]}, schema={"name": pl.String})
    return table.select(canonical_dialogue(pl.col("name"))).to_series().to_list()


def error_in(states: States, what: str, hint: str | None = None, **where: Any) -> DstbenchError:
    """A `DstbenchError` about the file of these states."""
    return DstbenchError(what, file=states.source, hint=hint, **where)


# --- notes ------------------------------------------------------------------------------------------------------------


def with_note(states: States, text: str) -> States:
    """The states with a note before the others."""
    return replace(states, notes=(f"{states.source}: {text}", *states.notes))


def warn_of_notes(states: States) -> None:
    """Issue the notes of the states as warnings."""
    for note in states.notes:
        text = note.removeprefix(f"{states.source}: ")
        kind, count = _kind(text)
        warn(text, file=states.source if text != note else None, kind=kind, count=count)


def _kind(note: str) -> tuple[str, int | None]:
    """What a note shares with notes of its kind on other files, and the number that it begins with."""
    number, text = re.fullmatch(r"(?:(\d[\d,]*) (?!of \d))?(.*)", _FIRST.sub("", note), re.DOTALL).groups()  # type: ignore[union-attr] # it matches any text
    return (_plural(text), int(number.replace(",", ""))) if number else (text, None)


def _plural(text: str) -> str:
    """A text that begins with a noun, with the noun in its plural."""
    return re.sub(r"^((?:(?:gold|null|predicted|system|user) )?\w+?)s?\b", r"\1s", text)


def _notes_of(parts: Sequence[States], source: str) -> tuple[str, ...]:
    """The notes of several files: one for each kind, with the sum of their numbers and the place of the first."""
    kinds: dict[str, list[tuple[str, int | None]]] = {}
    for part in parts:
        for note in part.notes:
            kind, count = _kind(note.removeprefix(f"{part.source}: "))
            kinds.setdefault(kind, []).append((note, count))
    notes = []
    for kind, ((first, counted), *others) in kinds.items():
        total = "" if counted is None else f"{counted + sum(count or 0 for _, count in others):,} "
        place = "".join(_FIRST.findall(first))
        whole = f"{source}: {total}{kind}{place} (in {len(others) + 1:,} of {len(parts):,} files)"
        notes.append(whole if others else first)
    return tuple(notes)


def noting_gaps(cause: str) -> Callable[[States], States]:
    """A `Format.finish` that notes how many turns are missing before later turns of their dialogues."""

    def finish(states: States) -> States:
        turns = pl.concat([side.turns for side in sides_of(states)]).unique()
        dialogues = turns.group_by("dialogue").agg(gaps=pl.col("turn").max().cast(pl.Int64) + 1 - pl.len())
        gaps = int(dialogues["gaps"].sum())
        return with_note(states, f"{number_of(gaps, 'turn')} between others not in the file{cause}") if gaps else states

    return finish


def noting_vanishing_slots(states: States) -> States:
    """A `Format.finish` that notes if most states lack slots of the turn before, as states of single turns do."""
    side = states.gold or states.pred
    if side is None or side.turns.height < _FEW or not len(side.cells):
        return states
    is_same = pl.col("dialogue") == pl.col("dialogue").shift(-1)
    later = side.sorted_turns.select("at", later=pl.when(is_same).then(pl.col("at").shift(-1)))
    slots = side.cells.select("at", "slot")
    before = slots.join(later, on="at").drop_nulls("later")
    gone = before.join(slots, left_on=["later", "slot"], right_on=["at", "slot"], how="anti")
    listed, lost = before["at"].n_unique(), gone["at"].n_unique()
    if listed < _FEW or 2 * lost <= listed:
        return states
    what = "gold" if side is states.gold else "predicted"
    return with_note(
        states,
        f"{lost:,} of {listed:,} {what} states lose slots by the next turn: if they are states of single turns, "
        "give cumulative ones; they are scored as they are",
    )


def noting_doubts(states: States) -> States:
    """The states with notes on what is probably a mistake in the file; it is read as it is.

    Noted are slots or values that look like states or lists; and long dialogues most of whose states are empty, not
    only those before the first value, if they are at least a hundredth of the dialogues and the file has values.
    """
    if (complete := states.complete) is not None:
        return replace(states, complete=lambda gold: noting_doubts(complete(gold)))
    notes = []
    for side in [] if states.only else [states.gold, states.pred][: 1 if states.either else None]:
        if side is None:
            continue
        what = "gold" if side is states.gold else "predicted"
        listed, empty, size = side.cells["at"].unique(), pl.col("empty"), pl.len()
        turns = side.sorted_turns.select("dialogue", empty=pl.col("at").is_in(listed.implode()).not_())
        vanishes = (empty & ~empty.shift(1, fill_value=True)).any()
        is_doubted = (size >= _FEW_OF_DIALOGUE) & (2 * empty.sum() > size) & (vanishes | empty.all())
        dialogues = turns.group_by("dialogue", maintain_order=True).agg(is_doubted=is_doubted)
        doubted = dialogues.filter("is_doubted")["dialogue"]
        if len(listed) and len(doubted) and len(dialogues) <= 100 * len(doubted):
            notes.append(
                f"more than half of the {what} states of {len(doubted):,} of {len(dialogues):,} dialogues are "
                f"empty, such as those of {doubted[0]}"
            )
        columns = ((side.cells[name].unique().cast(pl.String), like) for name, like in _SEEMING_STATES.items())
        texts = pl.concat([texts.filter(texts.str.contains(like)).alias("") for texts, like in columns]).sort()
        if len(texts):
            notes.append(
                f"{number_of(len(texts), f'{what} text')} (slot or value) like a state or list, such as "
                f"{shortened(texts[0], 60)}; taken as written"
            )
    return replace(states, notes=(*states.notes, *(f"{states.source}: {note}" for note in notes)))


# --- several files ----------------------------------------------------------------------------------------------------


def merge_states(parts: Sequence[States], source: str | None = None) -> States:
    """The states of several files as those of one run, which messages call `source`."""
    if len(parts) == 1:
        return parts[0]
    source = source or first_of([part.source for part in parts], 1)
    if any(part.complete for part in parts):

        def complete(gold: States) -> States:
            return merge_states([part.complete(gold) if part.complete else part for part in parts], source)

        return replace(parts[0], source=source, complete=complete)
    merged: dict[str, Any] = {}
    for name in ("places", "splits", "aliases", "domains"):
        tables = [table for part in parts if (table := getattr(part, name)) is not None]
        merged[name] = pl.concat(tables) if tables else None
    splits = [] if merged["splits"] is None else merged["splits"]["split"].unique().sort()
    hint = "files of one run have every turn once; if they are several runs, name each"
    if len(splits) > 1:
        hint = f"ids repeat across its splits; choose one: --split {splits[-1]}"
    for name in ("gold", "pred"):
        having = [part for part in parts if getattr(part, name) is not None]
        if having and len(having) < len(parts):
            without = next(part for part in parts if getattr(part, name) is None)
            raise error_in(without, f"no {name} inside, unlike in {having[0].source}")
        merged[name] = _concat([getattr(part, name) for part in having], source, hint) if having else None
    notes, either = _notes_of(parts, source), any(part.either for part in parts)
    return States(source, parts[0].format, **merged, notes=notes, either=either, only=parts[0].only)


def _concat(sides: list[Side], source: str, hint: str) -> Side:
    turns = pl.concat([side.turns for side in sides])
    twice = turns.filter(pl.struct(_KEY).is_duplicated())
    if twice.height:
        dialogue, turn = twice.row(0)
        raise DstbenchError("the same turn in two files", file=source, dialogue=dialogue, turn=turn, hint=hint)
    offset, cells, frames = 0, [], []
    for side in sides:
        shifted = pl.col("at") + pl.lit(offset, pl.UInt32)
        cells.append(side.cells.with_columns(shifted))
        if side.frames is not None:
            frames.append(side.frames.with_columns(shifted))
        offset += side.turns.height
    # If only some files have frames, the frames of the other files' turns are unknown.
    all_frames = pl.concat(frames) if len(frames) == len(sides) else None
    spellings = (spelling for side in sides for spelling in side.with_book.items())
    return Side(turns, pl.concat(cells), all_frames, merged_spellings(spellings))


def in_order(states: States, gold: States) -> States:
    """Predictions without ids, joined with gold's turns in the order of the gold file."""
    if states.pred is None or gold.gold is None:
        raise error_in(states, f"no {'gold' if states.pred else 'predictions'} inside")
    if states.pred.turns.height != gold.gold.turns.height:
        option = " (--split)" if gold.splits is not None else ""
        raise error_in(
            states,
            f"{number_of(states.pred.turns.height, 'predicted turn')} for {gold.gold.turns.height:,} in {gold.source}",
            f"they have no ids and are joined in order, so there must be as many: is it the same split{option}?",
        )
    sizes, of_gold = (side.turns["dialogue"].rle().struct.field("len") for side in (states.pred, gold.gold))
    if sizes.max() != 1 and not sizes.equals(of_gold):
        at = next((at for at, (size, other) in enumerate(zip(sizes, of_gold, strict=False)) if size != other), 0)
        own, other = number_of(sizes[at], "state"), number_of(of_gold[at], "turn")
        what = f"list {at} has {own}, and that dialogue of {gold.source} {other}"
        raise error_in(states, what, "lists without ids are joined with gold's dialogues in its order")
    if states.gold is not None and not states.either and states.gold.turns.height == gold.gold.turns.height:
        slots = pl.col("slot").cast(pl.String).sort()
        listed = [side.cells.group_by("at").agg(slots) for side in (states.gold, gold.gold)]
        alike = listed[0].join(listed[1], on=["at", "slot"], how="semi").height
        if 2 * alike < max(table.height for table in listed):
            what = f"its own gold has the slots of {gold.source} in {alike:,} of {listed[0].height:,} turns with any"
            raise error_in(states, what, "they are joined in order: are these the same turns, in the same order?")
    notes = states.notes
    if sizes.max() == of_gold.max() == 1 < len(sizes):
        what = f"each turn of {gold.source} is a dialogue of its own"
        notes += (f"{states.source}: {what}, so FGA, GCA, TLA and ± are those of single turns",)
    pred = replace(states.pred, turns=gold.gold.turns)
    return replace(states, gold=None, pred=pred, notes=notes, complete=None)


# --- splits and turns -------------------------------------------------------------------------------------------------


def in_split(states: States, split: str) -> States:
    """The states with all dialogues assigned to one split; unchanged if only gold tells which dialogues there are."""
    turns = [side.turns.select("dialogue") for side in sides_of(states)]
    return replace(states, splits=pl.concat(turns).unique().with_columns(split=pl.lit(split))) if turns else states


def only_split(states: States, split: str) -> States:
    """The states of one split's dialogues."""
    if states.splits is None:
        hint = "omit --split, or give the file of that split"
        raise error_in(states, "it does not say which dialogue is of which split", hint)
    kept = states.splits.filter(pl.col("split") == split)
    dialogues = kept["dialogue"].implode()
    states_of_split = with_sides(states, lambda side: only_turns(side, side.turns["dialogue"].is_in(dialogues)))
    if not any(side.turns.height for side in sides_of(states_of_split)):
        splits = ", ".join(sorted(states.splits["split"].unique()))
        raise error_in(states, f"no dialogue of the split {split!r}", f"there are: {splits}")
    places, aliases = (
        None if table is None else table.join(kept, on="dialogue", how="semi", maintain_order="left")
        for table in (states.places, states.aliases)
    )
    return replace(states_of_split, places=places, aliases=aliases, splits=kept)


def only_turns(side: Side, kept: pl.Series) -> Side:
    """The turns for which `kept` is true, and their cells."""
    place = pl.select(pl.when(kept).then(kept.cum_sum() - 1)).to_series().cast(pl.UInt32)

    def of_kept(cells: pl.DataFrame) -> pl.DataFrame:
        return cells.with_columns(place.gather(cells["at"]).alias("at")).drop_nulls("at")

    frames = None if side.frames is None else of_kept(side.frames)
    return replace(side, turns=side.turns.filter(kept), cells=of_kept(side.cells), frames=frames)


# --- building ---------------------------------------------------------------------------------------------------------


_CELLS: Final = {"at": pl.UInt32, "slot": pl.String, "value": pl.String}
#: A state as slots and values.
Pairs: TypeAlias = list[tuple[str, str]]
#: A state as {slot: value}, or as slots and values, with None for pieces of text that are none.
State: TypeAlias = Mapping[str, str] | Sequence[tuple[str, str] | None]


@dataclass
class SideBuilder:
    """Collects the states of one side; `at` is the row of a state's turn, as `StatesBuilder.turn` returns it."""

    present: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    slot: list[str] = field(default_factory=list)
    value: list[str] = field(default_factory=list)
    lost: int = 0  # number of pieces of generated text that were not a slot and its value

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


@dataclass
class StatesBuilder:
    """Collects the turns of a file one by one; `build` makes the columns canonical and checks them.

    `places`, `splits`, `either`, `only`, `instead`, `aliases` and `domains` are as in `States`. `has_frames`: the
    format has frames, even if no turn of this file has one. `are_in_order`: turns have no ids; they are gold, or
    predictions for gold's turns in its order. `are_turns`: not even dialogues are told apart, so they are no gold.
    """

    _source: str
    _format: str
    _omits: Collection[str] = ()
    _dialogues: list[str] = field(default_factory=list)
    _turns: list[Any] = field(default_factory=list)  # numbers, or texts: a format spells all its turns in one way
    notes: tuple[str, ...] = ()  # as `States.notes` has them
    gold: SideBuilder = field(default_factory=SideBuilder)
    pred: SideBuilder = field(default_factory=SideBuilder)
    places: list[tuple[str, str, int]] = field(default_factory=list)
    splits: dict[str, str] = field(default_factory=dict)
    aliases: list[tuple[str, str]] = field(default_factory=list)
    domains: dict[str, str] = field(default_factory=dict)
    either: bool = False
    has_frames: bool = False
    are_in_order: bool = False
    are_turns: bool = False
    only: tuple[str, ...] | None = None
    instead: str = ""

    def turn(self, dialogue: str, turn: int | str) -> int:
        """Open a turn; returns its row, under which its states are added."""
        self._dialogues.append(dialogue)
        self._turns.append(turn)
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
        self.notes += (f"{self._source}: {text}",)

    def turns(self) -> pl.DataFrame:
        """The opened turns, canonical and checked: (dialogue: String, turn: UInt16), in the order of the file."""
        if not self._dialogues:
            raise DstbenchError("no dialogue in the file", file=self._source)
        try:
            numbers = pl.Series(self._turns)
        except (TypeError, OverflowError):  # an integer larger than any that Polars has
            numbers = pl.Series([*map(str, self._turns)])
        numbers = numbers.cast(pl.UInt16, strict=False)
        if numbers.null_count():
            what = f"the turn is not a number from 0 to {MAX_TURN}"
            raise self._turn_error(what, numbers.is_null().arg_max() or 0, "number user turns from 0")
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
            self.note(f"{number_of(lost, 'piece')} of text other than a slot and its value, left out")
        gold = self.side("gold", turns) if self.gold.present else None
        pred = self.side("pred", turns) if self.pred.present else None
        parts: dict[str, Any] = {name: getattr(self, name) for name in ("notes", "either", "only", "instead")}
        for name, rows, columns in (
            ("aliases", self.aliases, {"alias": pl.String}),
            ("places", self.places, {"file": pl.String, "position": pl.UInt32}),
            ("splits", self.splits.items(), {"split": pl.String}),
            ("domains", self.domains.items(), {"domain": pl.String}),
        ):
            if rows:
                table = pl.DataFrame([*rows], schema={"dialogue": pl.String, **columns}, orient="row")
                ids = [column for column in table.columns if column in ("dialogue", "alias")]
                parts[name] = table.with_columns(canonical_dialogue(pl.col(ids)))
        states = States(self._source, self._format, gold, pred, **parts)
        if not self.are_in_order:
            return states
        gold_alone = None if self.are_turns else gold
        return replace(states, gold=gold_alone, pred=None, complete=partial(in_order, states))

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
        place = pl.col("at").cast(pl.UInt64) * 2**32 + pl.col("slot").to_physical()
        if cells.select(place.n_unique()).item() < cells.height:
            cells = self._without_repeated(name, turns, cells)
        frames = None
        if self.has_frames or any(name.endswith(FRAME) for name in names):
            cells, frames = cells.filter(~IS_FRAME), cells.filter(IS_FRAME)
        both = zip(names, spelled, strict=True)
        with_book = merged_spellings((slot, "book" in name.lower()) for slot, name in both if "-book " in slot)
        whole = Side(turns, cells, frames, with_book)
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
        clash = cells.filter(key.is_duplicated()).unique(maintain_order=True).filter(key.is_duplicated())
        clash = clash.sort("at", maintain_order=True)
        if clash.height:
            at, slot, _ = clash.row(0)
            of = f"a {'predicted' if name == 'pred' else name} state"
            self.note(
                f"{number_of(clash.n_unique(['at', 'slot']), 'slot')} listed twice in {of}, with different values; "
                f"the last is kept (first: dialogue {turns['dialogue'][at]}, turn {turns['turn'][at]}, slot {slot})"
            )
        return cells.unique(["at", "slot"], keep="last", maintain_order=True)


def _is_text(text: Any) -> bool:
    return isinstance(text, str) and not re.search("[\ud800-\udfff]", text)
