"""From states to a long table: which turns and slots of gold and predictions meet, and what is reported about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Final

import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.errors import DstbenchError, all_of, number_of, warn
from dstbench.io.limits import FREE, SPREAD
from dstbench.readers.frames import IS_FRAME, count_frames
from dstbench.readers.options import ReadOptions
from dstbench.readers.renaming import with_domains
from dstbench.readers.states import UNREADABLE, Side, States, only_split, warn_of_notes
from dstbench.runs.run import Run, in_memory
from dstbench.runs.slot_names import report_slots
from dstbench.runs.turn_numbers import check_numbering, report_gaps
from dstbench.schema.core import LONG
from dstbench.schema.record import Record
from dstbench.tables import collect, collect_all
from dstbench.typing import Missing

C: Final = pl.col
_KEY: Final = ["dialogue", "turn"]


@dataclass(frozen=True)
class Aligned(Record):
    """A long table in memory, and counts of the input's turns.

    Attributes:
        table: The long table, schema `LONG`, sorted.
        coverage: Counts of turns and dialogues: scored, missing from the predictions, extra in them.
        frames: Counts of gold's and predicted frames (`readers.frames.count_frames`); None: gold has no frames.
        with_book: As `Run.meta` has it: booking slots that are spelled without ``book``, by ``gold`` and ``pred``.
    """

    table: pl.DataFrame
    coverage: dict[str, Any]
    frames: dict[str, int] | None = None
    with_book: Mapping[str, Mapping[str, bool | None]] = field(default_factory=dict)


def to_long(states: States, gold: States | None = None, *, missing: Missing = "error") -> Aligned:
    """Align predictions with gold and lay them out as a long table.

    Args:
        states: The predictions, and their gold if `gold` is None.
        gold: The gold states; predictions in them are ignored. None: gold is in `states`.
        missing: A gold turn without a prediction is an ``error``, counts as ``wrong`` (in every metric that scores
            turns, even if its gold state is empty), is scored as an ``empty`` state, or is left out (``intersect``).

    Returns:
        The long table. Predicted turns that gold does not have are left out, with a warning.

    Raises:
        DstbenchError: A side is missing, turns are missing under ``error``, no turn is in both sides, or the sides
            number turns differently (unless `States.numbered`).
    """
    ReadOptions(missing=missing)  # raises if there is no such way
    source = states.source
    if gold is not None and states.pred is not None:
        states = replace(states, pred=_by_golds_names(source, states.pred, gold))
        if gold.splits is not None and gold.splits["split"].n_unique() > 1:
            splits = gold.splits["split"].unique(maintain_order=True)
            gold = of_split(states, {split: only_split(gold, split) for split in splits}) or gold
    if states.complete is not None:
        if gold is None:
            what = f"its predictions can be read only with the gold states ({states.format})"
            raise DstbenchError(what, file=source, hint="name the file that has them: --gold FILE")
        gold_of(gold)  # raises if it has no gold
        states = states.complete(gold)
    if gold is not None and gold.domains is not None:
        states = with_domains(states, gold)
    warn_of_notes(states)
    gold_side, pred_side = _sides(states, gold)
    spine, coverage = _spine(states, gold_side, pred_side, missing, embedded=gold is None)
    table = spread(source, spine, gold_side.cells, pred_side.cells)
    frames = None
    if gold_side.frames is not None:
        predicted = gold_side.frames.clear() if pred_side.frames is None else pred_side.frames
        of_frames = spread(source, spine.with_columns(predicted=True), gold_side.frames, predicted).drop_nulls("slot")
        frames = count_frames(of_frames["gold"], of_frames["pred"])
        table = pl.concat([table, of_frames]).sort("dialogue", "slot", "turn")
    if states.only is None:  # else what says which slots are right does not name them
        report_slots(source, table, refuse=not states.in_training)
    without_book = {
        name: {slot: is_with for slot, is_with in side.with_book.items() if not is_with}
        for name, side in (("gold", gold_side), ("pred", pred_side))
    }
    return Aligned(table, coverage, frames, {name: slots for name, slots in without_book.items() if slots})


def from_long(
    table: pl.DataFrame, source: str, with_book: Mapping[str, Mapping[str, bool | None]] | None = None
) -> States:
    """The states in a long table: the inverse of `to_long`; `with_book` as in `Aligned`."""
    turns = table.select(_KEY).unique().sort(_KEY)
    has_slot = C("slot").is_not_null()
    unpredicted_turns = table.filter(~has_slot & C("pred").is_not_null())
    predicted_turns = turns.join(unpredicted_turns, on=_KEY, how="anti", maintain_order="left")
    sides = {}
    for name, side_turns in (("gold", turns), ("pred", predicted_turns)):
        listed = table.filter(C(name).is_not_null() & has_slot)
        cells = listed.join(side_turns.with_row_index("at"), on=_KEY, maintain_order="left")
        cells = cells.select("at", "slot", value=name)
        frames = cells.filter(IS_FRAME)
        spelled = (with_book or {}).get(name, {})
        sides[name] = Side(side_turns, cells.filter(~IS_FRAME), frames if frames.height else None, spelled)
    return States(source, "long table", sides["gold"], sides["pred"])


def gold_of(states: States, hint: str = "--gold takes the file that has the gold states") -> Side:
    """The gold side; it must be there."""
    if states.gold is None:
        raise DstbenchError(f"no gold inside ({states.format})", file=states.source, hint=hint)
    return states.gold


def usable_aliases(gold: States) -> pl.DataFrame | None:
    """The other names of gold's dialogues, without those that several dialogues have, or that are another's id."""
    if gold.aliases is None or gold.gold is None:
        return None
    names = gold.gold.turns["dialogue"].unique().implode()
    return gold.aliases.filter(~C("alias").is_duplicated() & ~C("alias").is_in(names))


def _by_golds_names(source: str, pred: Side, gold: States) -> Side:
    """The predictions, with gold's id for each dialogue that they call by another of its names."""
    aliases = usable_aliases(gold)
    if aliases is None:
        return pred
    joined = pred.turns.join(aliases, left_on="dialogue", right_on="alias", how="left", maintain_order="left")
    renamed = joined.drop_nulls("dialogue_right")
    if renamed.is_empty():
        return pred
    turns = joined.select(pl.coalesce("dialogue_right", "dialogue").alias("dialogue"), "turn")
    for twice in turns.filter(pl.struct(_KEY).is_duplicated()).head(1).iter_rows(named=True):
        raise DstbenchError("the same turn twice, under two names of the dialogue", file=source, **twice)
    alias, _, name = renamed.row(0)
    number = number_of(renamed["dialogue"].n_unique(), "dialogue")
    warn(f"{number} found under other ids in {gold.source}: {alias} is {name} there", file=source)
    return replace(pred, turns=turns)


def of_split(states: States, golds: Mapping[str, States]) -> States | None:
    """The gold of the split that predictions are of, named by a warning; None: none has a dialogue of theirs."""
    source = next(iter(golds.values())).source
    if states.pred is None:
        what = f"only gold tells which dialogues it has ({states.format}), and {source} has several splits"
        raise DstbenchError(what, file=states.source, hint=f"choose one: --split {next(iter(golds))}")
    predicted, fits = states.pred.turns, dict[str, int]()
    for split, gold in golds.items():
        turns = gold_of(gold).turns
        of_dialogues = turns.join(predicted, on="dialogue", how="semi").height
        is_whole = predicted.join(turns, on=_KEY, how="semi").height == predicted.height
        fits[split] = (of_dialogues > 0) + is_whole + (is_whole and of_dialogues == predicted.height)
    # Ids may repeat: in SGD, most of the test set's are in the training set, too.
    reasons = ("in which it has dialogues", "that has all its turns", "in which its dialogues have no other turns")
    for fit, reason in enumerate(reasons, 1):
        candidates = sorted(split for split, own in fits.items() if own >= fit)
        if len(candidates) == 1:
            warn(f"scored on the split {candidates[0]}, the only one of {source} {reason}", file=states.source)
            return golds[candidates[0]]
    if not any(fits.values()):
        return None
    candidates = sorted(split for split, own in fits.items() if own == max(fits.values()))
    what = f"predictions in the splits {', '.join(candidates)} of {source}"
    raise DstbenchError(what, file=states.source, hint=f"choose one: --split {candidates[-1]}")


def _sides(states: States, gold: States | None) -> tuple[Side, Side]:
    """The gold and the predicted side to compare; gold is that of `gold`, if given."""
    instead = f"{states.instead}; or " if states.instead else ""
    if states.pred is None:
        hint = "name the prediction file, and this one as --gold"
        if gold is not None:
            hint = f"if the two are swapped: {gold.source} --gold {states.source}"
        what = f"the file holds gold but no predictions ({states.format})"
        raise DstbenchError(what, file=states.source, hint=instead + hint)
    own_gold = None if states.either else states.gold
    if gold is None:
        hint = f"{instead}name the file that has it: --gold FILE"
        return gold_of(replace(states, gold=own_gold), hint), states.pred
    gold_side = gold_of(gold)
    if own_gold is not None:
        own, other = (side.cells.sort("at", "slot") for side in (own_gold, gold_side))
        if not (own_gold.turns.equals(gold_side.turns) and own.equals(other)):
            warn(f"own gold is not used, but that of {gold.source}", file=states.source)
    elif states.gold is not None:
        several = int((states.gold.cells["value"] != states.pred.cells["value"]).sum())
        if several:
            rest = "with several values, of which the first is taken"
            what = f"{number_of(several, 'prediction')} {rest}"
            warn(what, file=states.source, kind=f"predictions {rest}", count=several, when="before")
    return gold_side, states.pred


def _spine(
    states: States, gold: Side, pred: Side, missing: Missing, *, embedded: bool
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The turns to score, sorted, and the coverage (`Aligned.coverage`).

    The turns are (at: row in gold's turns, at_pred: row in the predicted turns, dialogue, turn, predicted: whether
    there is a state to score); a state that cannot be read, and so counts as wrong, is as one that is not there.
    `embedded`: gold is in the file of the predictions.
    """
    source = states.source
    if pred.turns is gold.turns:  # both sides are of one file, or the predictions were added to gold's turns
        spine = gold.sorted_turns.with_columns(at_pred="at")
    else:
        turns = pred.turns.with_row_index("at_pred")
        spine = gold.sorted_turns.join(turns, on=_KEY, how="left", maintain_order="left")
    absent = spine.filter(C("at_pred").is_null())
    extra = pred.turns.clear()
    if spine.height - absent.height < pred.turns.height:
        extra = pred.turns.join(gold.turns, on=_KEY, how="anti", maintain_order="left")
    coverage = {
        "missing_turns": absent.height,
        "missing_dialogues": absent.join(pred.turns, on="dialogue", how="anti")["dialogue"].n_unique(),
        "extra_turns": extra.height,
        "extra_dialogues": extra.join(gold.turns, on="dialogue", how="anti")["dialogue"].n_unique(),
    }
    differs = not embedded and not states.numbered and (absent.height or extra.height)
    perhaps = check_numbering(source, gold, pred) if differs else ""
    if absent.height == spine.height:
        of_gold, of_pred = ("dialogue {}, turn {}".format(*side.turns.row(0)) for side in (gold, pred))
        what = f"no turn is in both gold and predictions (gold has {of_gold}; the predictions {of_pred})"
        hint = "is this the same split, and are dialogue ids spelled alike? --id-map FILE says which are meant"
        raise DstbenchError(what, file=source, hint=perhaps + hint)
    if count := extra.height:
        dialogue, turn = extra.row(0)
        if embedded:
            what = f"{number_of(count, 'turn')} without gold{', the first of them' * (count > 1)}"
            hint = "give every turn a gold state (an empty one is {}), or name a gold file: --gold FILE"
            raise DstbenchError(what, file=source, dialogue=dialogue, turn=turn, hint=hint)
        what, dialogues = "without gold, left out", number_of(extra["dialogue"].n_unique(), "dialogue")
        text = f"{number_of(count, 'predicted turn')} in {dialogues} {what} (first: dialogue {dialogue}, turn {turn})"
        warn(text, file=source, kind=f"predicted turns {what}", count=count)
    if count := absent.height:
        dialogue, turn = absent.select(_KEY).row(0)
        dialogues = number_of(coverage["missing_dialogues"], "whole dialogue")
        what = f"{number_of(count, 'gold turn')} without a prediction ({dialogues})"
        which = ", the first of them" * (count > 1)
        if missing == "error":
            ways = "--missing wrong counts them as wrong, --missing empty scores them as empty states, "
            hint = f"{perhaps}{ways}--missing intersect leaves them out"
            raise DstbenchError(what + which, file=source, dialogue=dialogue, turn=turn, hint=hint)
        treatment = {"wrong": "counted as wrong", "empty": "scored as empty", "intersect": "left out"}[missing]
        treated = f"{treatment} (--missing {missing})"
        text, kind = f"{what}{which or ','} dialogue {dialogue}, turn {turn}", "gold turns without a prediction"
        warn(f"{text}; {treated}", file=source, kind=f"{kind}, {treated}", count=count, when="before")
    if missing == "intersect":
        spine = spine.filter(C("at_pred").is_not_null())
    unreadable = pred.cells.filter(C("slot") == UNREADABLE)["at"].implode()
    is_read = ~C("at_pred").is_in(unreadable).fill_null(value=False)
    spine = spine.with_columns(
        at_pred=pl.when(is_read).then("at_pred"),
        predicted=is_read & (C("at_pred").is_not_null() | (missing == "empty")),
    )
    report_gaps(source, spine)
    return spine, {"turns": spine.height, "dialogues": spine["dialogue"].n_unique(), **coverage}


def named_under(convention: Convention, run: Run) -> Run:
    """The run with its booking slots as the convention names them (`Convention.booking`): if as written, some are two.

    The prediction of ``hotel-book day`` becomes one of ``hotel-day`` if only gold has ``book`` in its name, and of
    ``hotel-bookday`` if only the predictions have; gold keeps the canonical name. A slot that one side spells in both
    ways is refused.
    """
    if convention.booking == "mapped":
        return run
    with_book = run.meta.get("with_book", {})
    gold, pred = (with_book.get(side, {}) for side in ("gold", "pred"))
    own_names = {}
    for slot in sorted({*gold, *pred}):
        spellings = gold.get(slot, True), pred.get(slot, True)
        if None in spellings:
            what = f"{slot} is spelled both with `book` and without, and --booking as-written takes these for two slots"
            raise DstbenchError(what, file=run.name, hint="--booking mapped takes them for one")
        if spellings[0] != spellings[1]:
            own_names[slot] = slot.replace("book ", "" if slot in pred else "book")
    if not own_names:
        return run
    table = run.read()
    slot_name = C("slot").cast(pl.String)
    is_split = slot_name.is_in(list(own_names)).fill_null(value=False)
    rows, nothing = table.filter(is_split), pl.lit(None, pl.Categorical)
    renamed = rows.with_columns(slot_name.replace(own_names).cast(pl.Categorical), gold=nothing)
    sides = pl.concat([rows.with_columns(pred=nothing), renamed])
    split = pl.concat([table.filter(~is_split), _from_first_listing(sides)]).sort("dialogue", "slot", "turn")
    return in_memory(run.name, split, run.meta)


def over_common_turns(runs: Sequence[Run]) -> list[Run]:
    """The runs over the turns that all of them have, if one of them was opened so (``intersect``)."""
    if len(runs) < 2 or not any("intersect" in run.meta["missing"] for run in runs):
        return list(runs)
    turns = [run.read(run.table.select(_KEY).unique().sort(_KEY)) for run in runs]
    common = reduce(lambda one, other: one.join(other, on=_KEY, how="semi"), turns)
    if common.is_empty():
        names = ", ".join(run.name for run in runs)
        raise DstbenchError("no turn is in all runs", file=names, hint="are they of one test set?")
    total = pl.concat(turns).unique().height
    if total == common.height:
        return list(runs)
    which = f"turns that {all_of(len(runs), 'run')} have (--missing intersect)"
    warn(f"compared over the {common.height:,} of {total:,} {which}", when="before")
    return [
        _cut_to(run, common) if of_run.height > common.height else run for run, of_run in zip(runs, turns, strict=True)
    ]


def _cut_to(run: Run, turns: pl.DataFrame) -> Run:
    """The run without any other turns, as if neither gold nor prediction had them."""
    table = _from_first_listing(run.read().join(turns, on=_KEY, how="semi", maintain_order="left"))
    bare = turns.join(table.filter(~IS_FRAME), on=_KEY, how="anti")  # all that listed a slot before is cut
    table = pl.concat([table, bare], how="diagonal").sort("dialogue", "slot", "turn")
    sizes = {"turns": turns.height, "dialogues": turns["dialogue"].n_unique()}
    meta = {**run.meta, "coverage": {**run.meta["coverage"], **sizes}}
    if "frames" in meta:
        frames = table.filter(IS_FRAME)
        meta["frames"] = count_frames(frames["gold"], frames["pred"])
    return in_memory(run.name, table, meta)


def _from_first_listing(table: pl.DataFrame) -> pl.DataFrame:
    """The rows of each slot from the first that lists it, and those without a slot."""
    is_listed = pl.coalesce("gold", "pred").is_not_null().cast(pl.UInt8).cum_max().over("dialogue", "slot") == 1
    return table.filter(is_listed | C("slot").is_null())


# A slot in a dialogue, as one integer, by which groups and joins take less time.
_KEY_OF_SLOT: Final = C("number").cast(pl.UInt64) * 2**32 + C("slot").to_physical()
# The value that marks a turn without a prediction: another in each turn, so that no error is carried over.
_MARK: Final = pl.format("no prediction for turn {}", "turn").cast(pl.Categorical)


def spread(source: str, spine: pl.DataFrame, gold: pl.DataFrame, pred: pl.DataFrame) -> pl.DataFrame:
    """The long table of both sides' cells, over the turns of a spine: a row per slot, from the slot's first turn on.

    A turn without a prediction has a row without a slot that says so.
    """
    turns = spine.with_row_index("place").lazy().with_columns(number=C("dialogue").rle_id())
    of_pred = turns.drop("at").rename({"at_pred": "at"}).drop_nulls("at")
    cells = [
        side.lazy().join(its.select("at", "place", "number"), on="at").with_columns(key=_KEY_OF_SLOT)
        for side, its in ((gold, turns), (pred, of_pred))
    ]
    spined, golds, preds = collect_all([turns, *cells])
    turns, listed = spined.lazy(), pl.concat([golds, preds])

    # A slot has a row from the first turn that lists it; before a dialogue's first slot, and where there is no
    # prediction, a turn has a row without a slot.
    ends = turns.group_by("number").agg(end=C("place").max() + 1)
    slots = listed.lazy().group_by("key").agg(C("number", "slot").first(), start=C("place").min())
    slots = slots.join(ends, on="number")
    first = slots.group_by("number").agg(C("start").min())
    bare = turns.join(first, on="number", how="left", maintain_order="left")
    bare = bare.filter(~C("predicted") | (C("place") < C("start")).fill_null(value=True))
    bare = bare.group_by("number").agg(bare="place")
    size = pl.coalesce(C("end") - C("start"), C("bare").list.len()).cast(pl.Int64)
    in_order = pl.concat([bare, slots], how="diagonal").sort("number", "slot", nulls_last=False)
    groups = collect(in_order.with_columns(size=size, base=size.cum_sum() - size - C("start")))
    total = int(groups["size"].sum())
    if total > max(FREE, SPREAD.value * (listed.height + spine.height)):
        listing = f"{spine.height:,} turns that list {listed.height:,} slots"
        what = f"{total:,} rows for {listing} is above the limit of {SPREAD.value} rows each"
        raise DstbenchError(what, file=source, hint=SPREAD.hint)

    places = pl.coalesce("bare", pl.int_ranges("start", "end", dtype=pl.UInt32))
    rows = groups.lazy().select("slot", place=places).explode("place")
    columns = {name: pl.lit(spined[name]).gather("place") for name in ("dialogue", "turn", "predicted")}
    # Each cell's row is counted, not searched for: it is as far from its slot's first row as its turn from the first.
    placed = listed.lazy().join(groups.lazy().select("key", "base"), on="key", how="left", maintain_order="left")
    row_of = collect(placed.select(C("base") + C("place"))).to_series()
    for name, side, own in (("gold", golds, row_of.head(golds.height)), ("pred", preds, row_of.tail(preds.height))):
        cell_of = pl.repeat(None, total, dtype=pl.UInt32, eager=True)
        cell_of = cell_of.scatter(own, pl.int_range(side.height, dtype=pl.UInt32, eager=True))
        columns[name] = pl.lit(side["value"].gather(cell_of))
    mark = pl.when(C("slot").is_null() & ~C("predicted")).then(_MARK).otherwise("pred")
    return collect(rows.with_columns(**columns).with_columns(pred=mark).select(*LONG.columns))
