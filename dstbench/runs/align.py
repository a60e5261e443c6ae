"""States to the long table: gold and prediction side by side, exploded, sorted."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Final, get_args

import polars as pl

from dstbench.conventions.slots import KNOWN_SLOTS
from dstbench.errors import DstbenchError, DstbenchWarning, UsageError, shortened
from dstbench.readers.frames import IS_FRAME, count_frames
from dstbench.readers.states import Side, States, only_split, only_turns, same_turns
from dstbench.runs.spread import spread, spread_frames
from dstbench.typing import Missing

_KEY: Final = ["dialogue", "turn"]
# Letters of a slot that may be a slip of one that is known.
_LONGEST: Final = 100


class MissingTurnsError(DstbenchError):
    """Gold turns have no prediction, and nothing has been said of what to do then."""


@dataclass(frozen=True)
class Aligned:
    """A long table in memory and what became of the input's turns.

    Attributes:
        table: The long table, schema `LONG`, sorted.
        coverage: Counts of turns and dialogues: scored, missing from the predictions, extra in them.
        left_out: Dialogues of both sides of which no turn is in the table (``intersect``).
        frames: What gold's frames and the predicted ones say (`frames.count_frames`); None: gold has none.
    """

    table: pl.DataFrame
    coverage: dict[str, Any]
    left_out: tuple[str, ...] = ()
    frames: dict[str, int] | None = None


def to_long(
    states: States, gold: States | None = None, *, missing: Missing = "error", is_part: bool = False
) -> Aligned:
    """Align predictions with gold and lay them out as a long table.

    Args:
        states: The predictions (and their gold, where `gold` is not given).
        gold: Where the gold comes from; its own predictions, if any, are not looked at.
        missing: A gold turn without a prediction is an ``error``, counts as ``wrong`` (in every metric that scores
            turns, also where its gold state is empty), is scored as an ``empty`` state, or is left out
            (``intersect``).
        is_part: Whether the predictions are one of several files of a run: gold's dialogues that are not in it are
            left to the others (and in the end to `unpredicted`).

    Returns:
        The long table. Predicted turns that gold does not know are left out, with a warning.

    Raises:
        DstbenchError: A side is missing, turns are missing under ``error``, or nothing matches at all.
    """
    check_missing(missing)
    gold = split_of_predictions(states, gold, say=not is_part)
    states = _completed(states, gold)
    for note in states.notes:
        _warn(note)
    gold_side, pred_side = _sides(states, gold)
    if is_part:
        there = gold_side.turns["dialogue"].is_in(pred_side.turns["dialogue"].unique().implode())
        gold_side = only_turns(gold_side, there)
    elif not same_turns(gold_side, pred_side) and gold_side.turns.join(pred_side.turns, on=_KEY, how="semi").is_empty():
        raise DstbenchError(
            "no turn is in both gold and predictions "
            f"(gold has {gold_side.turns.row(0)}, the predictions {pred_side.turns.row(0)})",
            file=states.source,
            hint="is this the same split, and are dialogue ids spelled alike?",
        )
    return _lay_out(states.source, gold_side, pred_side, missing, embedded=gold is None)


def unpredicted(source: str, gold: States, dialogues: pl.Series, *, missing: Missing) -> Aligned:
    """What `to_long` makes of gold's dialogues that no file of a run has.

    Args:
        source: What the files are called together.
        gold: The gold states, of one split.
        dialogues: The dialogues that the files have.
        missing: What to do with gold turns that have no prediction.
    """
    side = _gold_of(gold)
    absent = only_turns(side, ~side.turns["dialogue"].is_in(dialogues.implode()))
    nothing = Side(side.turns.clear(), side.cells.clear())
    return _lay_out(source, absent, nothing, missing, embedded=False)


def _lay_out(source: str, gold: Side, pred: Side, missing: Missing, *, embedded: bool) -> Aligned:
    spine, coverage = _spine(source, gold, pred, missing, embedded=embedded)
    table = spread(source, spine, gold, pred)
    report_unknown_slots(source, table)
    left_out: tuple[str, ...] = ()
    if missing == "intersect":
        both = gold.turns.join(pred.turns, on="dialogue", how="semi")["dialogue"]
        left_out = tuple(both.filter(~both.is_in(spine["dialogue"].implode())).unique().sort())
    if gold.frames is None:
        return Aligned(table, coverage, left_out)
    frames = spread_frames(source, spine, gold, pred)
    table = pl.concat([table, frames]).sort("dialogue", "slot", "turn")
    return Aligned(table, coverage, left_out, count_frames(frames["gold"], frames["pred"]))


def check_missing(missing: str) -> None:
    """Refuse a policy for missing turns that there is not.

    Raises:
        UsageError: `missing` is none of `typing.Missing`.
    """
    if missing not in get_args(Missing):
        raise UsageError(f"missing={missing!r} is none of {', '.join(get_args(Missing))}")


def from_long(table: pl.DataFrame, source: str) -> States:
    """A long table's states: the way back, to read gold or predictions out of a file that dstbench wrote."""
    turns = table.select(_KEY).unique().sort(_KEY)
    unpredicted = table.filter(pl.col("slot").is_null() & pl.col("pred").is_not_null())
    sides = {}
    for name, there in (("gold", turns), ("pred", turns.join(unpredicted, on=_KEY, how="anti", maintain_order="left"))):
        listed = table.filter(pl.col(name).is_not_null() & pl.col("slot").is_not_null())
        at = listed.join(there.with_row_index("at"), on=_KEY, maintain_order="left")
        cells = at.select("at", "slot", value=name)
        frames = cells.filter(IS_FRAME)
        sides[name] = Side(there, cells.filter(~IS_FRAME), frames if frames.height else None)
    return States(source, "long table", sides["gold"], sides["pred"])


def _completed(states: States, gold: States | None) -> States:
    """The states with their predictions whole, where that takes gold."""
    if states.complete is None:
        return states
    if gold is None:
        raise DstbenchError(
            f"its predictions say something only beside the gold states ({states.format})",
            file=states.source,
            hint="name the file that has them: --gold FILE",
        )
    _gold_of(gold)
    return states.complete(gold)


def _gold_of(gold: States) -> Side:
    if gold.gold is None:
        raise DstbenchError(
            f"no gold inside ({gold.format})", file=gold.source, hint="--gold takes the file that has the gold states"
        )
    return gold.gold


def split_of_predictions(states: States, gold: States | None, *, say: bool = True) -> States | None:
    """The gold of the one split in which there are predictions, where gold has several; `say` which, if so.

    Raises:
        DstbenchError: There are predictions in several; nothing says which of them is meant.
    """
    if gold is None or gold.splits is None or states.pred is None or gold.splits["split"].n_unique() == 1:
        return gold
    there = gold.splits.join(states.pred.turns, on="dialogue", how="semi")["split"].unique().sort()
    if len(there) > 1:
        raise DstbenchError(
            f"predictions in the splits {', '.join(there)} of {gold.source}",
            file=states.source,
            hint=f"choose one: --split {there[-1]}",
        )
    if there.is_empty():  # nothing is in both; that is said where they are laid beside each other
        return gold
    if say:
        _warn(
            f"{states.source}: scored on the split {there[0]}, the only one of {gold.source} in which it has dialogues"
        )
    return only_split(gold, there[0])


def _sides(states: States, gold: States | None) -> tuple[Side, Side]:
    if states.pred is None:
        raise DstbenchError(
            f"the file holds gold but no predictions ({states.format})",
            file=states.source,
            hint="name the prediction file, and this one as --gold",
        )
    if gold is None:
        if states.gold is None or states.either:
            raise DstbenchError(
                f"no gold inside ({states.format})",
                file=states.source,
                hint="name the file that has it: --gold FILE",
            )
        return states.gold, states.pred
    gold_side = _gold_of(gold)
    if states.gold is not None and not states.either:
        _warn(f"{states.source}: its own gold is not used, but that of {gold.source}")
    if states.either and states.gold is not None:
        several = int((states.gold.cells["value"] != states.pred.cells["value"]).sum())
        if several:
            _warn(f"{states.source}: {_number(several, 'prediction')} with several values, of which the first is taken")
    return gold_side, states.pred


def _spine(
    source: str, gold: Side, pred: Side, missing: Missing, *, embedded: bool
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The turns to score, sorted: (at: row in gold's turns, dialogue, turn, predicted: bool); and the coverage."""
    spine = gold.turns.with_row_index("at")
    if same_turns(gold, pred):
        spine, extra = spine.with_columns(predicted=True).sort(_KEY), pred.turns.clear()
    else:
        spine = spine.join(pred.turns.with_columns(predicted=True), on=_KEY, how="left", maintain_order="left")
        spine = spine.with_columns(pl.col("predicted").fill_null(False)).sort(_KEY)
        extra = pred.turns.join(gold.turns, on=_KEY, how="anti", maintain_order="left")
    absent = spine.filter(~pl.col("predicted"))
    coverage = {
        "missing_turns": absent.height,
        "missing_dialogues": _new_dialogues(absent, pred),
        "extra_turns": extra.height,
        "extra_dialogues": _new_dialogues(extra, gold),
    }
    if extra.height and embedded:
        dialogue, turn = extra.row(0)
        raise DstbenchError(
            f"{_number(extra.height, 'turn')} without gold, the first of them",
            file=source,
            dialogue=dialogue,
            turn=turn,
            hint="give every turn a gold state (an empty one is {}), or name a gold file: --gold FILE",
        )
    if extra.height:
        _warn(
            f"{source}: {_number(extra.height, 'predicted turn')} in "
            f"{_number(extra['dialogue'].n_unique(), 'dialogue')} without gold, left out "
            f"(first: dialogue {extra['dialogue'][0]}, turn {extra['turn'][0]})"
        )
    if absent.height:
        dialogue, turn = absent.select(_KEY).row(0)
        what = (
            f"{_number(absent.height, 'gold turn')} without a prediction "
            f"({_number(coverage['missing_dialogues'], 'whole dialogue')}), the first of them"
        )
        if missing == "error":
            raise MissingTurnsError(
                what,
                file=source,
                dialogue=dialogue,
                turn=turn,
                hint=_numbering(gold, pred)
                or "--missing wrong counts them as wrong, --missing empty scores them as empty states, "
                "--missing intersect leaves them out",
            )
        became = {"wrong": "counted as wrong", "empty": "scored as empty", "intersect": "left out"}[missing]
        _warn(f"{source}: {what} dialogue {dialogue}, turn {turn}; {became} (--missing {missing})")
    if missing == "intersect":
        spine = spine.filter("predicted")
    elif missing == "empty":
        spine = spine.with_columns(predicted=True)
    _report_gaps(source, spine)
    coverage = {"turns": spine.height, "dialogues": spine["dialogue"].n_unique(), **coverage}
    return spine, coverage


def _numbering(gold: Side, pred: Side) -> str | None:
    """What to say if the predictions number their turns in another way than gold does."""
    turns, wanted = pred.turns["turn"], gold.turns["turn"]
    if wanted.min() == 0 and turns.min() == 1:
        return "the predicted turns start at 1; number user turns from 0"
    if len(turns) > 1 and (turns % 2).n_unique() == 1 and (wanted % 2).n_unique() == 2:
        return "the predicted turns are numbered in twos; count user turns only: 0, 1, 2"
    return None


def _report_gaps(source: str, spine: pl.DataFrame) -> None:
    gap = spine.filter(
        (pl.col("turn") != pl.col("turn").shift(1) + 1) & (pl.col("dialogue") == pl.col("dialogue").shift(1))
        | (pl.col("turn") != 0) & (pl.col("dialogue") != pl.col("dialogue").shift(1)).fill_null(True)
    )
    if gap.height:
        _warn(
            f"{source}: turn numbers have gaps in {_number(gap['dialogue'].n_unique(), 'dialogue')} "
            f"(first: dialogue {gap['dialogue'][0]} before turn {gap['turn'][0]}); "
            "the turns that are there are scored"
        )


def report_unknown_slots(source: str, table: pl.DataFrame) -> None:
    """Say which slots are not MultiWOZ's, how often they occur and what they may be meant to be."""
    counts = (
        table.lazy()
        .filter(pl.col("slot").is_not_null())
        .group_by("slot")
        .agg(pl.col("gold", "pred").count())
        .with_columns(pl.col("slot").cast(pl.String))
        .sort(pl.col("gold") + pl.col("pred"), "slot", descending=[True, False])
        .collect()
    )
    unknown = counts.filter(~pl.col("slot").is_in(KNOWN_SLOTS))
    if unknown.is_empty():
        return
    if unknown.height == counts.height:
        _warn(f"{source}: none of the {_number(counts.height, 'slot')} is MultiWOZ's; their names are kept as written")
        return
    from difflib import get_close_matches

    said = []
    for slot, n_gold, n_pred in unknown.head(5).iter_rows():
        near = get_close_matches(slot, sorted(KNOWN_SLOTS), n=2) if len(slot) <= _LONGEST else []
        named = shortened(slot, _LONGEST)
        said.append(f"{named} ({n_gold} in gold, {n_pred} predicted{'; near: ' + ', '.join(near) if near else ''})")
    more = f" and {unknown.height - 5} more" if unknown.height > 5 else ""
    _warn(
        f"{source}: {_number(unknown.height, 'slot')} that MultiWOZ does not have, kept as written: "
        f"{', '.join(said)}{more}"
    )


def _new_dialogues(turns: pl.DataFrame, other: Side) -> int:
    """How many dialogues of `turns` the other side does not know at all."""
    return turns.select(pl.col("dialogue").unique()).join(other.turns, on="dialogue", how="anti").height


def _number(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _warn(message: str) -> None:
    warnings.warn(message, DstbenchWarning, stacklevel=2)
