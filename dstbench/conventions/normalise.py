"""Normalisers, which bring values to one spelling, and the named steps of which they consist.

A step takes a slot's name and one alternative of its value, and returns the alternative's new spelling; a value that it
does not know is returned as is. The tables here are small and our own, except those of the module `mwzeval`; a user's
table (`Table`) comes before ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from dstbench.conventions import mwzeval
from dstbench.conventions.files import Table
from dstbench.schema.core import BETWEEN

#: The one spelling of "I don't care".
DONTCARE: Final = "dontcare"
#: Steps that bring values to one spelling: if two values differ even after these, they differ in more than spelling.
LOOSE: Final = ("case", "space", "tokens", "typos", "dontcare", "times", "booleans")

_DONTCARES: Final = frozenset(
    {DONTCARE, "dont care", "don't care", "do not care", "do n't care", "do nt care", "does not care"}
)
#: Whole values that the step ``typos`` corrects.
TYPOS: Final = {
    "center": "centre", "guesthouse": "guest house", "guesthouses": "guest house", "moderately": "moderate",
    "moderately priced": "moderate", "cheaply": "cheap", "swimmingpool": "swimming pool", "night club": "nightclub",
    "concerthall": "concert hall", "theater": "theatre", "archaelogy": "archaeology", "free parking": "free",
    "free internet": "free", "any": DONTCARE,
}  # fmt: skip
# The values that TRADE and its successors correct in gold, by slot; "none" replaces those that are none of the slot's.
_LABELS: Final = {
    "hotel-internet": {"free": "yes"},
    "hotel-type": {"bed and breakfast": "none", "bed and breakfasts": "none"},
    **{f"{domain}-area": {"no": "north"} for domain in ("attraction", "hotel", "restaurant")},
    **{slot: {"no": "none"} for slot in ("hotel-book day", "restaurant-book day", "train-day")},
}
_BOOLEAN_SLOTS: Final = frozenset({"hotel-internet", "hotel-parking"})
_BOOLEANS: Final = {"free": "yes", "true": "yes", "false": "no"}
_HOTEL_TYPES: Final = {"true": "hotel", "false": "guest house"}
_WORDS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
#: Numbers that may be written out, and their digits.
NUMBERS: Final = {word: str(number) for number, word in enumerate(_WORDS)}
_YES_NO: Final = frozenset({"yes", "no", "true", "false", "free", "none"})
_DAYS: Final = frozenset({"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"})
_TIME: Final = re.compile(
    r"(\d{1,2}) ?[:.] ?(\d{2})(?::\d{2})? ?([ap]) ?\.?m?\.?|(\d{1,2}) ?: ?(\d{2})|(\d{1,2}) ?([ap])\.?m\.?"
)
_BARE_TIME: Final = re.compile(r"(\d{2})(\d{2})")
_TIME_SLOT: Final = re.compile(r"leave ?at|arrive ?by|time$")


def is_dontcare(value: str) -> bool:
    """Whether a value is one of the spellings of "I don't care"."""
    return value.strip().lower() in _DONTCARES


def is_text(value: str) -> bool:
    """Whether a value may be compared fuzzily: it is not empty, a number, a time, a day, a yes or no, or a dontcare."""
    bare = value.strip().lower()
    is_number = bare in NUMBERS or bare.replace(".", "", 1).replace(",", "").lstrip("£$-").isdecimal()
    return tells_slot(value) and not (is_number or bare in _DAYS or _TIME.fullmatch(bare))


def tells_slot(value: str) -> bool:
    """Whether a value can tell which slot it was meant for: it is not empty, a yes or no, or a dontcare."""
    bare = value.strip().lower()
    return bool(bare) and bare not in _YES_NO and bare not in _DONTCARES


def alternatives(value: str) -> list[str]:
    """The alternatives that a value lists; a value that lists none is its only alternative."""
    return value.split(BETWEEN)


def spellings(slot: str, value: str) -> list[str]:
    """The ways to write a canonical value in text: itself, and what the steps typos, numbers and times change to it.

    The s of a genitive may stand apart, as in tokenised text.
    """
    texts = [value, *(wrong for wrong, right in TYPOS.items() if right == value)]
    texts += [word for word, digit in NUMBERS.items() if digit == value]
    if clock := re.fullmatch(r"(\d\d):(\d\d)", value):
        hour, half = int(clock[1]), "pm" if int(clock[1]) >= 12 else "am"
        twelve = (hour - 1) % 12 + 1
        minutes = [f":{clock[2]}", ""] if clock[2] == "00" else [f":{clock[2]}"]
        texts += [f"{hour}:{clock[2]}"] if hour < 10 else []
        texts += [f"{twelve}{minute}{space}{half}" for minute in minutes for space in (" ", "")]
        texts += [f"{clock[1]}{clock[2]}"] if _TIME_SLOT.search(slot) else []
    texts += [f"{value[: s.start()]} s{value[s.end() :]}" for s in re.finditer(r"(?<=\w\w)s\b", value)]
    return list(dict.fromkeys(texts))


def normaliser(steps: Iterable[str], table: Table | None = None) -> Callable[[str, str], str]:
    """The function (slot, value) → value that applies the steps in order to each alternative."""
    typos = TYPOS | (table.rights if table else {})

    def correct(_: str, value: str) -> str:
        return typos.get(value, value)

    chosen = [correct if name == "typos" else STEPS[name].function for name in steps]

    def normalise(slot: str, value: str) -> str:
        if BETWEEN not in value:  # most values, so this path is kept short
            for step in chosen:
                value = step(slot, value)
            return value
        parts = alternatives(value)
        if "first" in steps:
            parts = parts[:1]
        for step in chosen:
            parts = [step(slot, part) for part in parts]
        return BETWEEN.join(dict.fromkeys(parts))

    return normalise


# --- the steps -----------------------------------------------------------------------------------------------------


def _time(slot: str, value: str) -> str:
    if _TIME_SLOT.search(slot) and (bare := _BARE_TIME.fullmatch(value)):
        return f"{bare[1]}:{bare[2]}"
    clock = _TIME.fullmatch(value)
    if clock is None:
        return value
    hour, minute = int(clock[1] or clock[4] or clock[6]), clock[2] or clock[5] or "00"
    if half := clock[3] or clock[7]:
        hour = hour % 12 + (12 if half == "p" else 0)
    return f"{hour:02}:{minute}"


def _boolean(slot: str, value: str) -> str:
    if slot == "hotel-type":
        return _HOTEL_TYPES.get(value, value)
    return _BOOLEANS.get(value, value) if slot in _BOOLEAN_SLOTS else value


def _tokens(_: str, value: str) -> str:
    return " ".join(token for token in re.split(r"(\W)", value) if token.strip())


class Step(NamedTuple):
    """A step: what it does, in words, and its function (slot, alternative) → alternative."""

    meaning: str
    function: Callable[[str, str], str]


#: The steps by name. `normaliser` itself drops alternatives for ``first``, and adds the user's table to ``typos``.
STEPS: Final[dict[str, Step]] = {
    "first": Step("the first alternative only", lambda _, value: value),
    "case": Step("lower case", lambda _, value: value.lower()),
    "space": Step("one space between words, none around", lambda _, value: " ".join(value.split())),
    "no-space": Step("no spaces at all", lambda _, value: "".join(value.split())),
    "hyphens": Step("hyphens to spaces", lambda _, value: value.replace("-", " ")),
    "tokens": Step("words and signs apart, one space between (saint john's = saint john ' s)", _tokens),
    "articles": Step("without a leading `the`", lambda _, value: value.removeprefix("the ")),
    "dontcare": Step(
        "every spelling of dontcare to `dontcare`", lambda _, value: DONTCARE if is_dontcare(value) else value
    ),
    "typos": Step(
        "corrects whole values: the user's table (--typos FILE), then "
        + ", ".join(f"{wrong} → {right}" for wrong, right in TYPOS.items()),
        lambda _, value: TYPOS.get(value, value),
    ),
    "labels": Step(
        "corrects values by slot: "
        + ", ".join(f"{slot} {old} → {new}" for slot, table in _LABELS.items() for old, new in table.items()),
        lambda slot, value: _LABELS.get(slot, {}).get(value, value),
    ),
    "times": Step("times of the day to HH:MM (9:15, 0915, 9:15 am)", _time),
    "numbers": Step("zero … nine to digits", lambda _, value: NUMBERS.get(value, value)),
    "mwzeval": Step(
        "as MultiWOZ_Evaluation: variants of names, foods and types; times of arriving and leaving to HH:MM",
        mwzeval.normalise,
    ),
    "mwzeval-book-times": Step("times of booking to HH:MM, as MultiWOZ_Evaluation", mwzeval.normalise_book_time),
    "booleans": Step("free, true, false to yes and no (parking, internet); true and false to a hotel's type", _boolean),
}
