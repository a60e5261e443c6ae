"""States that are written out as text: ``hotel-area = north; hotel-stars = 4``, and spans ``[hotel] area north``.

Conventions: each line has a slot and its value; a text of one line is split at semicolons, or if there are none at
bars, or else at commas. ``=`` or ``:`` stands before the value, or a hyphen after a known slot. Slots name their
domain. Every part must be of this form, so that no value is cut in two or runs on into the next slot. Other texts are
no states: in ``hotel area north, hotel stars 4`` nothing says where a slot ends. Spans are PPTOD's (`pptod`).
"""

from __future__ import annotations

import re
from typing import Final

from dstbench.conventions.slots import KNOWN_SLOTS, canonical_slot, split_pair
from dstbench.readers.builder import Pairs, split_span, split_triple

_JSON: Final = ("{", "[[", "[{", '["', "['", "[(")
_SPAN: Final = re.compile(r"\[[a-z]+\](\s|$)")
# Written so that a run of spaces is scanned once only: from its start, or from the sign before it.
_SEPARATORS: Final = (re.compile(r"(?:[;,|]|(?<!\s))\s*\n"), re.compile(";"), re.compile(r"\|"), re.compile(","))
_BETWEEN: Final = re.compile(r"[;,|\n]")
_BULLET: Final = re.compile(r"[-*•]\s+|\d+\.\s+")
_ENTRY: Final = re.compile(r"([^\W\d](?:[^=:]*\w)?)\s*[=:]\s*(.*)", re.DOTALL)
# A slot of an unknown dataset; a second hyphen would begin its value.
_SLOT: Final = re.compile(r"[\w.]+-[\w. ]*\w")
# What shows that another slot's value follows.
_FURTHER: Final = re.compile(r"=|[^\W\d]\s*:(?!//)")


def written_out(text: str) -> Pairs | str:
    """The slots and values of a text; or the part of it that is not of the form.

    >>> written_out("hotel-area = north; hotel-book day = friday"), written_out("train-leaveat: 09:15")
    ([('hotel-area', 'north'), ('hotel-book day', 'friday')], [('train-leaveat', '09:15')])
    >>> written_out("hotel area north, hotel stars 4"), written_out("hotel-area = north, cheap")
    ('hotel area north', 'cheap')
    """
    text = text.strip()
    if text.startswith(_JSON):  # most texts; what follows takes longer than to decode them
        return text
    if _SPAN.match(text):
        pairs = split_span(text)
        return text if None in pairs else [pair for pair in pairs if pair is not None and pair[1] != "not mentioned"]
    separator = next((separator for separator in _SEPARATORS if separator.search(text)), _SEPARATORS[-1])
    entries: Pairs = []
    for part in filter(None, map(str.strip, separator.split(text))):
        if (entry := _entry(_BULLET.sub("", part, count=1) if _BULLET.match(part) else part)) is None:
            return part
        entries.append(entry)
    return entries or text


def seems_written_out(text: str) -> bool:
    """Whether a text is written out, or at least a part of it begins with a known slot, in any form.

    >>> seems_written_out("hotel area north, hotel stars 4"), seems_written_out("The hotel is in the north.")
    (True, False)
    """
    parts = map(str.strip, _BETWEEN.split(text))
    return any(_begins_with_slot(part) for part in parts) or not isinstance(written_out(text), str)


def _begins_with_slot(text: str) -> bool:
    pairs = [split_triple(text), split_pair(text)]
    if (match := _ENTRY.fullmatch(text)) is not None:
        pairs.append((canonical_slot(match[1]), match[2]))
    return any(pair is not None and pair[0] in KNOWN_SLOTS for pair in pairs)


def _entry(text: str) -> tuple[str, str] | None:
    """The slot and value of a part of a text; None: it is not of the form."""
    match = _ENTRY.fullmatch(text)
    if match is not None and canonical_slot(match[1]) in KNOWN_SLOTS:
        entry = match[1], match[2]
    elif (pair := split_pair(text)) is not None and pair[0] in KNOWN_SLOTS:
        entry = pair
    elif match is not None and _SLOT.fullmatch(match[1]):
        entry = match[1], match[2]
    else:
        return None
    return None if _FURTHER.search(entry[1]) or has_further_slots(entry[1]) else entry


def has_further_slots(value: str) -> bool:
    """Whether a value runs on into the next slots.

    >>> has_further_slots("north, hotel-stars-4"), has_further_slots("the nook, by the river")
    (True, False)
    """
    _, *others = _BETWEEN.split(value)
    return any(_begins_with_slot(part.strip()) for part in others)
