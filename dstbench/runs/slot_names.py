"""What is reported of slots that MultiWOZ or gold lacks."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

import polars as pl

from dstbench.conventions.slots import KNOWN_SLOTS, domain_of
from dstbench.errors import DstbenchError, first_of, is_or_are, number_of, shortened, warn
from dstbench.readers.frames import IS_FRAME
from dstbench.schema.core import NOTHING
from dstbench.tables import collect

C: Final = pl.col
_LONGEST: Final = 100  # characters of a slot that messages show, and that are compared
_MANY: Final = 5  # a note is given if at least one in so many predicted values is of a slot that gold never has
# If all are spelled as MultiWOZ's, so that the names are not in doubt, a run with fewer values is not refused: they are
# errors of the tracker.
_LEAST: Final = 25
_MAPPED: Final = 40  # names in a map of slots in a message
_ALIKE: Final = 0.6  # from this likeness on, two names may be of one slot


def report_slots(source: str, table: pl.DataFrame, *, refuse: bool = True) -> None:
    """Warn of names that MultiWOZ does not have, and refuse predictions none of whose slots gold has."""
    has_value = pl.all_horizontal(C("pred") != pl.lit(nothing) for nothing in NOTHING)
    rows = table.lazy().drop_nulls("slot").with_columns(values=has_value)
    counts = rows.group_by("slot").agg(C("gold", "pred").count(), C("values").sum())
    slots = collect(counts.with_columns(C("slot").cast(pl.String)).sort("slot"))
    services = {domain_of(slot) for slot in slots.filter(IS_FRAME)["slot"]}  # of frames, which gold has
    slots = slots.filter(~IS_FRAME)
    of_service = C("slot").str.extract("^([^-]*)-").is_in(services).fill_null(value=False)
    others = slots.filter((C("values") > 0) & (C("gold") == 0) & ~of_service)
    if others.height:
        _report_other_slots(source, slots, others, refuse=refuse)
    unknown = slots.filter(~C("slot").is_in(list(KNOWN_SLOTS)))
    count, what = unknown.height, "that MultiWOZ does not have, kept as written"
    if count == slots.height > 0:
        warn(f"of {number_of(count, 'slot')}, none is MultiWOZ's; names are kept as written", file=source)
    elif count:
        shown = []
        for name, gold, pred, _ in unknown.sort(-C("gold").cast(pl.Int64) - C("pred"), "slot").head(5).iter_rows():
            near = _nearest(name, sorted(KNOWN_SLOTS))
            hint = f"; near: {near}" if near else ""
            shown.append(f"{shortened(name, _LONGEST)} ({gold} in gold, {pred} predicted{hint})")
        more = f" and {count - 5} more" if count > 5 else ""
        listed = f"{number_of(count, 'slot')} {what}: {', '.join(shown)}{more}"
        warn(listed, file=source, kind=f"slots {what}", count=count)


def _report_other_slots(source: str, slots: pl.DataFrame, others: pl.DataFrame, *, refuse: bool) -> None:
    """Refuse predictions none of whose slots gold has; warn if that is so of many predicted values.

    The tables have (slot, and the number of turns: gold, whose gold lists it; values, in which it is predicted to have
    a value); gold never has `others`.
    """
    of_gold = slots.filter(C("gold") > 0).sort("gold", "slot", descending=[True, False])["slot"].to_list()
    total, of_others = int(slots["values"].sum()), int(others["values"].sum())
    if not of_gold or of_others * _MANY < max(total, 1):
        return
    names = others.sort("values", "slot", descending=[True, False])["slot"].to_list()
    theirs, golds = (first_of([shortened(name, _LONGEST) for name in each], 3) for each in (names, of_gold))
    both = f"{theirs} in the predictions, {golds} in gold"
    # Slots of MultiWOZ that gold lacks are spelled alike: a few such values are errors of the tracker.
    spelled_alike = not KNOWN_SLOTS.isdisjoint(of_gold) and KNOWN_SLOTS.issuperset(names)
    if of_others == total and refuse and not (spelled_alike and of_others < _LEAST):
        names_of: dict[str, str] = {}
        for name in names[:_MAPPED]:
            if other := _nearest(name, [slot for slot in of_gold if slot not in names_of.values()]):
                names_of[name] = other
        what = f"of {number_of(len(names), 'predicted slot')}, gold has none: {both}"
        hint = "if they are the same slots, --slot-map slots.json, a file of such pairs (check each):"
        pairs = json.dumps(names_of or {"yours": "gold's"}, ensure_ascii=False)
        raise DstbenchError(what, file=source, hint=[hint, pairs])
    remedy = "" if spelled_alike else "; if they are the same slots, --slot-map FILE says which"
    what = "of slots that gold never has, counted as wrong"
    text = f"{of_others:,} of {total:,} predicted values {is_or_are(of_others)} {what}: {both}{remedy}"
    warn(text, file=source, kind=f"predicted values are {what}", count=of_others, when="before")


def _nearest(name: str, of_gold: Sequence[str]) -> str | None:
    """The slot of gold whose name is most similar, with or without its domain, whatever case and signs; None: none."""

    def spellings(slot: str) -> list[str]:
        """The letters of a slot, with its domain and without: spellings differ in case, and in signs between words."""
        both = slot, slot.partition("-")[2] or slot
        return [re.sub(r"[\W_]+", "", text).casefold()[:_LONGEST] for text in both]

    alike = {
        slot: max(SequenceMatcher(None, *pair).ratio() for pair in zip(spellings(name), spellings(slot), strict=True))
        for slot in of_gold
    }
    best = max(alike, key=alike.__getitem__, default=None)
    return best if best is not None and alike[best] >= _ALIKE else None
