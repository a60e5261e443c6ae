"""What is reported of slots that MultiWOZ or gold lacks, and of turns that are numbered differently than gold's."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple

import polars as pl

from dstbench.conventions.slots import KNOWN_SLOTS, domain_of
from dstbench.errors import DstbenchError, number_of, shortened, warn
from dstbench.readers.frames import IS_FRAME
from dstbench.readers.states import Side
from dstbench.schema.core import BETWEEN, NOTHING
from dstbench.tables import collect, collect_all

C: Final = pl.col
# Characters of a slot that messages show; a longer name is no misspelling of a known slot.
_LONGEST: Final = 100
# A note is given if at least one in so many predicted values is of a slot that gold never has.
_MANY: Final = 5
# If all are spelled as MultiWOZ's, so that the names are not in doubt, a run with fewer values is not refused: they are
# errors of the tracker.
_LEAST: Final = 25
_MAPPED: Final = 40  # names in a map of slots in a message


def report_slots(source: str, table: pl.DataFrame, *, refuse: bool = True) -> None:
    """Warn of names that MultiWOZ does not have, and refuse predictions none of whose slots gold has."""
    has_value = pl.all_horizontal(C("pred") != pl.lit(nothing) for nothing in NOTHING)
    rows = table.lazy().drop_nulls("slot").with_columns(values=has_value)
    counts = rows.group_by("slot").agg(C("gold", "pred").count(), C("values").sum())
    slots = collect(counts.with_columns(C("slot").cast(pl.String)).sort("slot"))
    services = {domain_of(slot) for slot in slots.filter(IS_FRAME)["slot"]}
    slots = slots.filter(~IS_FRAME)
    _report_other_slots(source, slots, services, refuse=refuse)
    unknown = slots.filter(~C("slot").is_in(list(KNOWN_SLOTS)))
    if unknown.height == slots.height > 0:
        warn(
            f"none of the {number_of(slots.height, 'slot')} is MultiWOZ's; their names are kept as written", file=source
        )
    elif unknown.height:
        shown = []
        for name, gold, pred, _ in unknown.sort(-C("gold").cast(pl.Int64) - C("pred"), "slot").head(5).iter_rows():
            near = get_close_matches(name, sorted(KNOWN_SLOTS), n=2) if len(name) <= _LONGEST else []
            hint = f"; near: {', '.join(near)}" if near else ""
            shown.append(f"{shortened(name, _LONGEST)} ({gold} in gold, {pred} predicted{hint})")
        more = f" and {unknown.height - 5} more" if unknown.height > 5 else ""
        what = "that MultiWOZ does not have, kept as written"
        warn(
            f"{number_of(unknown.height, 'slot')} {what}: {', '.join(shown)}{more}",
            file=source,
            kind=f"slots {what}",
            count=unknown.height,
        )


def _report_other_slots(source: str, slots: pl.DataFrame, services: Collection[str], *, refuse: bool) -> None:
    """Refuse predictions none of whose slots gold has; warn if that is so of many predicted values.

    `slots` has (slot, and the number of turns: gold, whose gold lists it; values, in which it is predicted to have a
    value). The slots of `services` are those of frames, which gold has.
    """
    of_gold = slots.filter(C("gold") > 0).sort("gold", "slot", descending=[True, False])["slot"].to_list()
    others = slots.filter(
        (C("values") > 0)
        & (C("gold") == 0)
        & ~C("slot").str.extract("^([^-]*)-").is_in(services).fill_null(value=False)
    )
    total, of_others = int(slots["values"].sum()), int(others["values"].sum())
    if not of_gold or of_others * _MANY < max(total, 1):
        return
    names = others.sort("values", "slot", descending=[True, False])["slot"].to_list()
    both = f"{_listed(names)} in the predictions, {_listed(of_gold)} in gold"
    # Slots of MultiWOZ that gold lacks are spelled alike: a few such values are errors of the tracker.
    spelled_alike = not KNOWN_SLOTS.isdisjoint(of_gold) and KNOWN_SLOTS.issuperset(names)
    if of_others == total and refuse and not (spelled_alike and of_others < _LEAST):
        names_of: dict[str, str] = {}
        for name in names[:_MAPPED]:
            if other := _nearest(name, [slot for slot in of_gold if slot not in names_of.values()]):
                names_of[name] = other
        raise DstbenchError(
            f"gold has none of the {number_of(len(names), 'predicted slot')}: {both}",
            file=source,
            hint=[
                "if they are the same slots, --slot-map slots.json, a file of such pairs (check each):",
                json.dumps(names_of or {"yours": "gold's"}, ensure_ascii=False),
            ],
        )
    remedy = "" if spelled_alike else "; if they are the same slots, --slot-map FILE says which"
    what = "predicted values are of slots that gold never has, and count as wrong"
    warn(f"{of_others:,} of {total:,} {what}: {both}{remedy}", file=source, kind=what, count=of_others, when="before")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return ", ".join(shortened(name, _LONGEST) for name in names[:3]) + more


def _nearest(name: str, of_gold: Sequence[str]) -> str | None:
    """The slot of gold that has this name in another spelling, or with another domain or none; else a similar one."""

    def letters(name: str) -> str:  # without what spellings differ in: case, and characters between words
        return re.sub(r"[\W_]+", "", name).casefold()

    def without_domain(slot: str) -> str:
        return letters(slot.partition("-")[2] or slot)

    for spelled in (letters, without_domain):
        if same := [other for other in of_gold if spelled(name) == spelled(other)]:
            return same[0]
    return next(iter(get_close_matches(name[:_LONGEST], of_gold, n=1)), None)


# Numberings that people use: the number of gold's turn 0, and the step. Besides, the least number may be gold's least.
_USUAL: Final = ((1, 1), (-1, 1), (0, 2), (1, 2), (2, 2))
# Where not more turns meet, so many more states that have a value must agree, besides three for each that no longer
# does: so a tracker that is a turn late now and then does not look like one that counts from 1.
_CLEAR: Final = 2


class Numbering(NamedTuple):
    """Another numbering of predicted turns, beside the one that they have."""

    first: int  # number of the turn that is gold's turn 0
    step: int  # difference of the numbers of consecutive turns
    met: tuple[int, int]  # predicted turns that meet a turn of gold, as they are numbered and under this numbering
    agreeing: tuple[int, int]  # likewise, states that agree with gold's
    fits_better: bool  # whether more turns meet and more states agree; or as many meet, and clearly more states agree

    @property
    def option(self) -> str:
        """The options that say so."""
        step = f"--turn-step {self.step}" if self.step > 1 else ""
        first = f"--turns-from {self.first}" if self.first or not step else ""
        return f"{first} {step}".strip()


def find_numbering(gold: Side, pred: Side) -> Numbering | None:
    """The numbering under which most states agree, of those under which at least as many turns meet; None: no other.

    At least one side has turns that the other lacks. As a value may be spelled in several ways, case and all but the
    first of several alternatives are left aside.

    >>> turns = pl.DataFrame({"dialogue": ["D"] * 3, "turn": [0, 1, 2]}, schema_overrides={"turn": pl.UInt16})
    >>> cells = {"at": [0, 1, 2], "slot": ["hotel-area"] * 3, "value": ["north", "south", "west"]}
    >>> types = {"at": pl.UInt32, "slot": pl.Categorical, "value": pl.Categorical}
    >>> gold = Side(turns, pl.DataFrame(cells, schema=types))
    >>> found = find_numbering(gold, Side(turns.with_columns(pl.col("turn") + 1), gold.cells))
    >>> found.first, found.step, found.met, found.agreeing, found.fits_better
    (1, 1, (2, 3), (0, 3), True)
    """
    golds = _states(gold)
    preds = _states(pred).join(golds, on="dialogue", how="semi", maintain_order="left")
    if preds.is_empty():
        return None
    meets = C("of_gold").is_not_null()
    agrees = (C("of_gold") == C("state")).fill_null(value=False)

    def meeting(first: int, step: int) -> pl.LazyFrame:
        """The predicted turns, in their order, with the state of the gold turn that each meets; null: it meets none."""
        turn = pl.when((C("turn") - first) % step == 0).then((C("turn") - first) // step)
        numbered, of_gold = preds.lazy().with_columns(turn), golds.lazy().rename({"state": "of_gold"})
        return numbered.join(of_gold, on=["dialogue", "turn"], how="left", maintain_order="left")

    now = collect(meeting(0, 1).select(meets=meets, agrees=agrees))
    met, agreeing = int(now["meets"].sum()), int(now["agrees"].sum())
    preds = preds.with_columns(agreed=now["agrees"])
    least, of_gold = (int(turns["turn"].min()) for turns in (preds, golds))  # type: ignore[arg-type] # there are turns
    others = sorted({*_USUAL, (least - of_gold, 1), (least - 2 * of_gold, 2)} - {(0, 1)})
    wanted = {
        "met": meets,
        "agreeing": agrees,
        "gained": agrees & ~C("agreed") & (C("state") != 0),
        "lost": C("agreed") & ~agrees,
    }
    flags = [flag.sum().alias(name) for name, flag in wanted.items()]
    counts = [table.row(0) for table in collect_all([meeting(*other).select(flags) for other in others])]
    possible = [(other, count) for other, count in zip(others, counts, strict=True) if count[0] >= met]
    if not possible:
        return None
    (first, step), (then_met, then_agreeing, gained, lost) = max(possible, key=lambda each: each[1][1])
    fits_better = gained >= (1 + lost if then_met > met else _CLEAR + 3 * lost)
    return Numbering(first, step, (met, then_met), (agreeing, then_agreeing), fits_better)


def report_gaps(source: str, turns: pl.DataFrame) -> None:
    """Warn about dialogues whose turn numbers (dialogue, turn, sorted) do not start at 0 or skip numbers."""
    expected = pl.when(C("dialogue") == C("dialogue").shift(1)).then(C("turn").cast(pl.Int64).shift(1) + 1).otherwise(0)
    gap = turns.filter(C("turn") != expected)
    if gap.height:
        dialogues = gap["dialogue"].n_unique()
        warn(
            f"turn numbers have gaps in {number_of(dialogues, 'dialogue')} "
            f"(first: dialogue {gap['dialogue'][0]} before turn {gap['turn'][0]}); "
            "the turns that are there are scored",
            file=source,
            kind="dialogues whose turn numbers have gaps; the turns that are there are scored",
            count=dialogues,
        )


def _states(side: Side) -> pl.DataFrame:
    """A side's turns, each with a hash of its state: (dialogue, turn: Int64, state: UInt64, 0 for an empty state)."""
    meant = C("value").cast(pl.String).str.split(BETWEEN).list.first().str.strip_chars().str.to_lowercase()
    values = side.cells.lazy().select(C("value").unique()).with_columns(meant=meant)
    cells = side.cells.lazy().join(values.filter(~C("meant").is_in(NOTHING)), on="value")
    states = cells.group_by("at").agg(state=pl.struct("slot", "meant").hash().sum())
    turns = side.turns.lazy().with_row_index("at").join(states, on="at", how="left", maintain_order="left")
    return collect(turns.select("dialogue", C("turn").cast(pl.Int64), C("state").fill_null(0)))
