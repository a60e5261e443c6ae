"""Belief states as readers hand them on: which turns there are, and what gold and prediction list in each.

A state may be empty, so the turns are kept apart from the cells: a turn is never known by its slots alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from dstbench.errors import DstbenchError


@dataclass(frozen=True)
class Side:
    """One side (gold or prediction) of a file.

    Attributes:
        turns: (dialogue: String, turn: UInt16), one row per turn that has this side, canonical ids, in file order.
        cells: (at: UInt32 row of `turns`, slot: Categorical, value: Categorical); one row per listed slot.
        frames: The same of frames (see `frames`), which are in no state; None: the file has none.
    """

    turns: pl.DataFrame
    cells: pl.DataFrame
    frames: pl.DataFrame | None = None


@dataclass(frozen=True)
class States:
    """What one file (or several that are one run) says.

    Attributes:
        source: Name of the file, for messages.
        format: Name of the native format.
        gold: The gold side; None if the file holds no gold.
        pred: The predicted side; None if the file holds no predictions.
        notes: What a reader of the numbers should know (a slot listed twice, …), one sentence each.
        either: Whether the file may be gold or predictions: then both sides are there, and the way in which the user
            gave the file says which is meant.
        places: (dialogue: String, file: String name without folders, position: UInt32 in that file), where predictions
            may name dialogues by their place; None if they never do.
        splits: (dialogue: String, split: String ``train``, ``dev`` or ``test``), one row per dialogue; None if that is
            not known.
        complete: Where the file alone does not say what is predicted: takes the gold states and returns the states
            with a predicted side. None if the predictions are whole.
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


def sides_of(states: States) -> list[Side]:
    """Gold and predictions, as far as the file has them."""
    return [side for side in (states.gold, states.pred) if side is not None]


def error_in(states: States, what: str, hint: str | None = None, **where: Any) -> DstbenchError:
    """A `DstbenchError` about the file of these states."""
    return DstbenchError(what, file=states.source, hint=hint, **where)


def with_note(states: States, text: str) -> States:
    """The states with a note before the others."""
    return replace(states, notes=(f"{states.source}: {text}", *states.notes))


def noting_gaps(cause: str) -> Callable[[States], States]:
    """A `Format.finish` that notes how many turns are missing though later turns of their dialogue are there."""

    def finish(states: States) -> States:
        turns = pl.concat([side.turns for side in sides_of(states)]).unique()
        dialogues = turns.group_by("dialogue").agg(last=pl.col("turn").max().cast(pl.Int64), there=pl.len())
        gaps = dialogues.select((pl.col("last") + 1 - pl.col("there")).sum()).item()
        return with_note(states, f"{gaps:,} turns between others are not in the file{cause}") if gaps else states

    return finish


def merge_states(parts: Sequence[States], source: str | None = None) -> States:
    """Several files' states as one run's; `source` is what they are called together.

    Raises:
        DstbenchError: A turn is in two of them, or some have gold (or predictions) and others have not.
    """
    if len(parts) == 1:
        return parts[0]
    source = source or f"{parts[0].source} and {len(parts) - 1} more"
    if any(part.complete for part in parts):

        def complete(gold: States) -> States:
            return merge_states([part.complete(gold) if part.complete else part for part in parts], source)

        return replace(parts[0], source=source, complete=complete)
    merged: dict[str, Any] = {}
    for name in ("gold", "pred"):
        having = [part for part in parts if getattr(part, name) is not None]
        if having and len(having) < len(parts):
            without = next(part for part in parts if getattr(part, name) is None)
            raise error_in(without, f"no {name} inside, unlike in {having[0].source}")
        merged[name] = _concat([getattr(part, name) for part in having], source) if having else None
    for name in ("places", "splits"):
        tables = [table for part in parts if (table := getattr(part, name)) is not None]
        merged[name] = pl.concat(tables) if tables else None
    notes = tuple(note for part in parts for note in part.notes)
    either = any(part.either for part in parts)
    return States(source, parts[0].format, **merged, notes=notes, either=either, only=parts[0].only)


def in_order(states: States, gold: States) -> States:
    """Predictions without ids as those of gold's turns, in the order of its file.

    Raises:
        DstbenchError: There are more or fewer of them.
    """
    if states.pred is None or gold.gold is None:
        raise error_in(states, f"no {'gold' if states.pred else 'predictions'} inside")
    if states.pred.turns.height != gold.gold.turns.height:
        option = " (--split)" if gold.splits is not None else ""
        raise error_in(
            states,
            f"{states.pred.turns.height:,} predicted turns for {gold.gold.turns.height:,} in {gold.source}",
            f"they have no ids and are joined in order, so there must be as many: is it the same split{option}?",
        )
    return replace(states, gold=None, pred=replace(states.pred, turns=gold.gold.turns), complete=None)


def in_split(states: States, split: str) -> States:
    """The states, all of them of one split."""
    turns = pl.concat([side.turns for side in sides_of(states)])
    return replace(states, splits=turns.select("dialogue").unique().with_columns(split=pl.lit(split)))


def only_split(states: States, split: str) -> States:
    """The dialogues of one split.

    Raises:
        DstbenchError: The file does not say which dialogues these are, or there are none.
    """
    if states.splits is None:
        hint = "omit --split, or give the file of that split"
        raise error_in(states, "it does not say which dialogue is of which split", hint)
    kept = states.splits.filter(pl.col("split") == split)
    gold, pred = (
        side and only_turns(side, side.turns["dialogue"].is_in(kept["dialogue"].implode()))
        for side in (states.gold, states.pred)
    )
    if not any(side is not None and side.turns.height for side in (gold, pred)):
        splits = ", ".join(sorted(states.splits["split"].unique()))
        raise error_in(states, f"no dialogue of the split {split!r}", f"there are: {splits}")
    places = states.places
    if places is not None:
        places = places.join(kept, on="dialogue", how="semi", maintain_order="left")
    return replace(states, gold=gold, pred=pred, places=places, splits=kept)


def same_turns(gold: Side, pred: Side) -> bool:
    """Whether both sides have the same turns, in the same order."""
    return gold.turns is pred.turns or gold.turns.equals(pred.turns)


def only_turns(side: Side, kept: pl.Series) -> Side:
    """The turns for which `kept` is true, and their cells."""
    place = pl.select(pl.when(kept).then(kept.cum_sum() - 1)).to_series().cast(pl.UInt32)

    def of_kept(cells: pl.DataFrame) -> pl.DataFrame:
        return cells.with_columns(place.gather(cells["at"]).alias("at")).drop_nulls("at")

    frames = None if side.frames is None else of_kept(side.frames)
    return Side(side.turns.filter(kept), of_kept(side.cells), frames)


def _concat(sides: list[Side], source: str) -> Side:
    turns = pl.concat([side.turns for side in sides])
    twice = turns.filter(pl.struct("dialogue", "turn").is_duplicated())
    if twice.height:
        dialogue, turn = twice.row(0)
        raise DstbenchError("the same turn in two files", file=source, dialogue=dialogue, turn=turn)
    offset, cells, frames = 0, [], []
    for side in sides:
        behind = pl.col("at") + pl.lit(offset, pl.UInt32)
        cells.append(side.cells.with_columns(behind))
        if side.frames is not None:
            frames.append(side.frames.with_columns(behind))
        offset += side.turns.height
    # If only some of the files have frames, those of the other files' turns are unknown.
    return Side(turns, pl.concat(cells), pl.concat(frames) if len(frames) == len(sides) else None)
