"""What is reported about the names of slots: those that MultiWOZ does not have, and predicted ones that gold lacks."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from difflib import get_close_matches
from typing import Final, NamedTuple

import polars as pl

from dstbench.conventions.slots import KNOWN_SLOTS, domain_of
from dstbench.errors import DstbenchError, number_of, shortened, warn
from dstbench.readers.frames import IS_FRAME
from dstbench.schema.core import NOTHING
from dstbench.tables import collect

# Characters of a slot that messages show; a longer name is no misspelling of a known slot.
_LONGEST: Final = 100
# A note is given if at least one in so many predicted values is of a slot that gold never has.
_MANY: Final = 5
# If all are spelled as MultiWOZ's, so that the names are not in doubt, a run with fewer values is not refused: they are
# errors of the tracker.
_LEAST: Final = 25
_SHOWN: Final = 3  # names of gold in a message
_MAPPED: Final = 40  # names in a map of slots in a message


class _Slot(NamedTuple):
    """How often a slot is in a long table's states: numbers of turns."""

    name: str
    gold: int  # whose gold state lists it
    pred: int  # whose predicted state lists it
    values: int  # of these, in which it is predicted to have a value


def report_slots(source: str, table: pl.DataFrame, *, refuse: bool = True) -> None:
    """Warn of names that MultiWOZ does not have, and refuse predictions none of whose slots gold has."""
    rows = table.lazy().drop_nulls("slot")
    rows = rows.with_columns(values=pl.all_horizontal(pl.col("pred") != pl.lit(nothing) for nothing in NOTHING))
    counts = rows.group_by("slot").agg(pl.col("gold", "pred").count(), pl.col("values").sum())
    of_slots = collect(counts.with_columns(pl.col("slot").cast(pl.String)).sort("slot"))
    services = {domain_of(slot) for slot in of_slots.filter(IS_FRAME)["slot"]}
    slots = [_Slot(*row) for row in of_slots.filter(~IS_FRAME).iter_rows()]
    _report_other_slots(source, slots, services, refuse=refuse)
    _report_unknown_slots(source, slots)


def _report_unknown_slots(source: str, slots: list[_Slot]) -> None:
    """Warn about slots that MultiWOZ does not have, with known ones of similar spelling."""
    unknown = [slot for slot in slots if slot.name not in KNOWN_SLOTS]
    if not unknown:  # the usual case
        return
    if len(unknown) == len(slots):
        warn(f"none of the {number_of(len(slots), 'slot')} is MultiWOZ's; their names are kept as written", file=source)
        return
    unknown.sort(key=lambda slot: (-slot.gold - slot.pred, slot.name))
    shown = []
    for name, gold, pred, *_ in unknown[:5]:
        near = get_close_matches(name, sorted(KNOWN_SLOTS), n=2) if len(name) <= _LONGEST else []
        hint = f"; near: {', '.join(near)}" if near else ""
        shown.append(f"{shortened(name, _LONGEST)} ({gold} in gold, {pred} predicted{hint})")
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    warn(
        f"{number_of(len(unknown), 'slot')} that MultiWOZ does not have, kept as written: {', '.join(shown)}{more}",
        file=source,
        kind="slots that MultiWOZ does not have, kept as written",
        count=len(unknown),
    )


def _report_other_slots(source: str, slots: list[_Slot], services: Collection[str], *, refuse: bool) -> None:
    """Refuse predictions none of whose slots gold has; warn if that is so of many predicted values."""
    in_gold = sorted((slot for slot in slots if slot.gold), key=lambda slot: -slot.gold)
    of_gold = [slot.name for slot in in_gold]
    others = [slot for slot in slots if slot.values and not slot.gold and not _is_of(slot.name, services)]
    others.sort(key=lambda slot: -slot.values)
    total, of_others = (sum(slot.values for slot in some) for some in (slots, others))
    if not of_gold or of_others * _MANY < max(total, 1):
        return
    names = [slot.name for slot in others]
    both = f"{_listed(names)} in the predictions, {_listed(of_gold)} in gold"
    # Slots of MultiWOZ that gold lacks are spelled alike: a few such values are errors of the tracker.
    spelled_alike = not KNOWN_SLOTS.isdisjoint(of_gold) and KNOWN_SLOTS.issuperset(names)
    if of_others == total and refuse and not (spelled_alike and of_others < _LEAST):
        raise DstbenchError(
            f"gold has none of the {number_of(len(names), 'predicted slot')}: {both}",
            file=source,
            hint=_map_lines(names, of_gold),
        )
    remedy = "" if spelled_alike else "; if they are the same slots, --slot-map FILE says which"
    what = "predicted values are of slots that gold never has, and count as wrong"
    warn(f"{of_others:,} of {total:,} {what}: {both}{remedy}", file=source, kind=what, count=of_others, when="before")


def _is_of(slot: str, services: Collection[str]) -> bool:
    return "-" in slot and domain_of(slot) in services


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(shortened(name, _LONGEST) for name in names[:_SHOWN]) + more


def _map_lines(names: list[str], of_gold: list[str]) -> list[str]:
    """The hint at a map of slots, with a map from the predicted names to the most similar ones of gold, as JSON."""
    content: dict[str, str] = {}
    for name in names[:_MAPPED]:
        if other := _nearest(name, [slot for slot in of_gold if slot not in content.values()]):
            content[name] = other
    pairs = [json.dumps({own: other}, ensure_ascii=False)[1:-1] for own, other in content.items()] or [
        '"yours": "gold\'s"'
    ]
    lines = [", ".join(pairs[start : start + 4]) for start in range(0, len(pairs), 4)]
    hint = "if they are the same slots, --slot-map slots.json, a file of such pairs (check each):"
    return [hint, *(",\n".join(["{" + lines[0], *lines[1:]]) + "}").split("\n")]


def _nearest(name: str, of_gold: list[str]) -> str | None:
    """The slot of gold that has this name in another spelling, or with another domain or none; else a similar one."""
    for spelled in (_letters, lambda slot: _letters(slot.partition("-")[2] or slot)):
        if same := [other for other in of_gold if spelled(name) == spelled(other)]:
            return same[0]
    return next(iter(get_close_matches(name[:_LONGEST], of_gold, n=1)), None)


def _letters(name: str) -> str:
    """A name without what spellings differ in: case, and characters between words."""
    return re.sub(r"[\W_]+", "", name).casefold()
