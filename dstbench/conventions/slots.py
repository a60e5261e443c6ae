"""Canonical names of slots and dialogues, and the named slot sets.

Every repository spells ``hotel-book day`` in its own way. `canonical_slot` knows all these spellings; it returns an
unknown name as is, and its callers report it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

import polars as pl

from dstbench.errors import did_you_mean

# The 30 pairs tracked on MultiWOZ since TRADE, by domain.
_TRACKED: Final[dict[str, tuple[str, ...]]] = {
    "attraction": ("area", "name", "type"),
    "hotel": (
        "area", "book day", "book people", "book stay", "internet",
        "name", "parking", "pricerange", "stars", "type",
    ),
    "restaurant": ("area", "book day", "book people", "book time", "food", "name", "pricerange"),
    "taxi": ("arriveby", "departure", "destination", "leaveat"),
    "train": ("arriveby", "book people", "day", "departure", "destination", "leaveat"),
}  # fmt: skip


def _names(domains: dict[str, tuple[str, ...]]) -> frozenset[str]:
    return frozenset(f"{domain}-{slot}" for domain, slots in domains.items() for slot in slots)


_BUS: Final = {"bus": ("day", "departure", "destination", "leaveat")}
_HOSPITAL: Final = {"hospital": ("department",)}
# DSTC10's second track: no taxi and train; hotels have rooms to book, and neither parking nor internet.
_DSTC10: Final = {
    "attraction": _TRACKED["attraction"],
    "hotel": (*(slot for slot in _TRACKED["hotel"] if slot not in ("internet", "parking")), "book rooms"),
    "restaurant": _TRACKED["restaurant"],
}

#: Slot sets of the whole of MultiWOZ, smallest first: the candidates for T of slot accuracy.
DATASET_SLOTS: Final[dict[str, frozenset[str]]] = {
    "multiwoz-30": _names(_TRACKED),
    "multiwoz-31": _names(_TRACKED | _HOSPITAL),
    "multiwoz-35": _names(_TRACKED | _HOSPITAL | _BUS),
}
#: Every named slot set, including those of one domain, which are used only if a user chooses them.
SLOT_SETS: Final[dict[str, frozenset[str]]] = (
    DATASET_SLOTS
    | {f"multiwoz-{domain}": _names({domain: slots}) for domain, slots in _TRACKED.items()}
    | {"dstc10-19": _names(_DSTC10)}
)
# Slots of MultiWOZ's raw annotation besides the 35.
_RARE: Final = frozenset({"bus-arriveby", "bus-book people", "train-book ticket"})
KNOWN_SLOTS: Final = DATASET_SLOTS["multiwoz-35"] | _RARE
_DOMAINS: Final = frozenset(name.partition("-")[0] for name in KNOWN_SLOTS)

_DOMAIN_PREFIX: Final = re.compile(rf"\[?({'|'.join(sorted(_DOMAINS))})\]?(?:--|[-_. ])", re.IGNORECASE)
_ALIASES: Final = {
    "price": "pricerange",
    "leave": "leaveat",
    "leaveatorafter": "leaveat",
    "arrive": "arriveby",
    "depart": "departure",
    "dest": "destination",
    "accommodationtype": "type",
}
# Booking slots by domain: some formats omit their "book". A train's `people` is a booking slot, its `day` is not.
_BOOKING: Final = {
    "hotel": frozenset({"day", "people", "stay", "time"}),
    "restaurant": frozenset({"day", "people", "stay", "time"}),
    "train": frozenset({"people", "ticket"}),
    "bus": frozenset({"people"}),
}
# No spelling of a known slot is longer.
_LONGEST: Final = 64


@lru_cache(maxsize=65_536)
def canonical_slot(name: str) -> str:
    """A slot's canonical name, ``domain-slot``; a name that is not MultiWOZ's is returned as is.

    Args:
        name: The slot, as a file spells it.

    >>> [canonical_slot(s) for s in ("hotel-semi-pricerange", "train-leaveAt", "hotel day", "train-day", "x-y")]
    ['hotel-pricerange', 'train-leaveat', 'hotel-book day', 'train-day', 'x-y']
    """
    prefix = _DOMAIN_PREFIX.match(name)
    if prefix is None or len(name) > _LONGEST:
        return name
    domain = prefix[1].lower()
    slot = re.sub(r"^semi[- ]", "", name[prefix.end() :].lower())
    key = re.sub(r"[-_ ]", "", slot)
    key = _ALIASES.get(key, key)
    booking = key.removeprefix("book")
    if booking in _BOOKING.get(domain, ()):
        key = f"book {booking}"
    canonical = f"{domain}-{key}"
    return canonical if canonical in KNOWN_SLOTS else name


def merged_spellings(spellings: Iterable[tuple[str, bool | None]]) -> dict[str, bool | None]:
    """Whether each booking slot is spelled with ``book``, of pairs of a slot and whether it is; None: in both ways."""
    merged: dict[str, bool | None] = {}
    for slot, with_book in spellings:
        merged[slot] = with_book if merged.get(slot, with_book) == with_book else None
    return merged


@lru_cache(maxsize=65_536)
def split_pair(pair: str) -> tuple[str, str] | None:
    """Slot and value of ``domain-slot-value``; None if the text has another form.

    The slot is the longest known slot that fits; if none does, the value starts after the second hyphen. The released
    scripts of TRADE, SOM-DST, FGA and GCA split at the last hyphen, which cuts values such as ``guest-house`` apart.
    """
    hyphens = [i for i, letter in enumerate(pair) if letter == "-"]
    for cut in reversed([at for at in hyphens if at <= _LONGEST]):
        slot = canonical_slot(pair[:cut])
        if slot in KNOWN_SLOTS and pair[cut - 1] != "-":  # a value may begin with a hyphen
            return slot, pair[cut + 1 :]
    return (pair[: hyphens[1]], pair[hyphens[1] + 1 :]) if len(hyphens) > 1 else None


class SlotTotal(NamedTuple):
    """T of slot accuracy: the number of slots in a dataset.

    Attributes:
        size: The number.
        source: What was counted: a slot set, a slot set with further slots of gold (``multiwoz-30+2``), or ``gold``.
    """

    size: int
    source: str


def slot_total(
    gold_slots: Iterable[str], *, is_multiwoz: bool, scope: frozenset[str] | None = None, name: str = ""
) -> SlotTotal:
    """T of slot accuracy, which depends on the slots that have a value in gold, never on predictions.

    For MultiWOZ's dialogues, T is the size of its smallest slot set that has all of gold's slots; if there is no such
    set, or for other dialogues, gold's slots are counted. If the convention scores some slots (`scope`, called `name`),
    T is their number plus that of gold's other slots.
    """
    slots = frozenset(gold_slots)
    if scope is not None:
        further = len(slots - scope)
        return SlotTotal(len(scope) + further, f"{name}+{further}" if further else name)
    for set_name, members in DATASET_SLOTS.items() if is_multiwoz else ():
        if slots <= members:
            return SlotTotal(len(members), set_name)
    return SlotTotal(len(slots), "gold")


def domain_of(slot: str) -> str:
    """The domain of a canonical slot name: the part before the first hyphen."""
    return slot.partition("-")[0]


#: The pattern of MultiWOZ's canonical dialogue ids.
OWN_ID: Final = r"^(?:P?MUL|S?SNG|WOZ)[0-9]+$"
# Also those of ConvLab-3.
_MULTIWOZ_ID: Final = rf"{OWN_ID}|^multiwoz2[0-9]-"


def are_multiwoz(dialogues: pl.Series) -> bool:
    """Whether all dialogues are MultiWOZ's, judged by their canonical ids; False if there are none."""
    return bool(len(dialogues)) and dialogues.str.contains(_MULTIWOZ_ID).all()


def canonical_dialogue(dialogue: pl.Expr) -> pl.Expr:
    """Canonical dialogue ids: MultiWOZ's in upper case and without ``.json``, any other as is."""
    bare = dialogue.str.to_uppercase().str.strip_suffix(".JSON")
    return pl.when(bare.str.contains(OWN_ID)).then(bare).otherwise(dialogue)


def hint_at_dialogue(dialogue: str, dialogues: pl.Series) -> str:
    """The hint for an id that does not exist: ids that may be meant, or the first ones."""
    dialogues = dialogues.unique(maintain_order=True)
    count = f"are {len(dialogues):,} dialogues" if len(dialogues) != 1 else "is 1 dialogue"
    return did_you_mean(dialogue, dialogues) or f"there {count}, such as {', '.join(dialogues.head(3))}"
