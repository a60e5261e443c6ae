"""An invented corpus that is annotated consistently, and a copy from which annotations are taken out at random."""

from __future__ import annotations

from random import Random
from typing import Any

import polars as pl

from dstbench import audit
from dstbench.schema.core import CONTEXTS

States = list[dict[str, Any]]
#: (dialogue, turn, slot, value)
Planted = set[tuple[str, int, str, str]]

AREAS = ("north", "south", "east", "west", "centre")
PRICES = ("cheap", "moderate", "expensive")
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
CITIES = ("cambridge", "ely", "norwich", "leicester", "london kings cross")
FOODS = ("indian", "chinese", "modern european", "italian")
HOTELS = ("alpha milton guest house", "ashley hotel", "lensfield hotel", "cityroomz", "acorn guest house")
RESTAURANTS = ("pizza hut city centre", "curry garden", "la tasca", "golden wok", "the gandhi")
COUNTS = ("1", "2", "3", "4", "5", "6")
TIMES = ("09:15", "10:30", "12:00", "17:45", "19:30")

#: What the invented dataset's ontology lists.
ONTOLOGY: dict[str, tuple[str, ...]] = {
    "hotel-area": AREAS, "hotel-pricerange": PRICES, "hotel-stars": COUNTS, "hotel-name": HOTELS,
    "hotel-book day": DAYS, "hotel-book people": COUNTS, "hotel-book stay": COUNTS,
    "restaurant-area": AREAS, "restaurant-food": FOODS, "restaurant-pricerange": PRICES, "restaurant-name": RESTAURANTS,
    "restaurant-book day": DAYS, "restaurant-book people": COUNTS, "restaurant-book time": TIMES,
    "train-departure": CITIES, "train-destination": CITIES, "train-day": DAYS, "train-leaveat": TIMES,
    "train-arriveby": TIMES, "train-book people": COUNTS,
}  # fmt: skip

_NEED = {
    "hotel": ("i want a {pricerange} hotel in the {area}", "a {stars} star hotel in the {area} , please"),
    "restaurant": ("i would like {food} food in the {area}", "find me a {pricerange} place with {food} food"),
    "train": ("a train from {departure} to {destination} on {day}", "i go to {destination} from {departure} please"),
}
_MORE = {
    "hotel": ("it should have {stars} stars", "and {pricerange} price please"),
    "restaurant": ("in the {area} , please", "something in the {pricerange} price range"),
    "train": ("i leave after {leaveat} on {day}", "arriving by {arriveby}", "on {day} , leaving at {leaveat}"),
}
_BOOK = {
    "hotel": ("book it for {book people} people and {book stay} nights from {book day}",),
    "restaurant": ("a table for {book people} people at {book time} on {book day}",),
    "train": ("book it for {book people} people",),
}
_OFFERS = {"hotel": "name", "restaurant": "name"}


def consistent(dialogues: int, seed: int) -> States:
    """A corpus in which every value is annotated by the same rules: what the user asks for, and what he accepts."""
    random, found = Random(seed), []  # noqa: S311 (no secrets)
    for number in range(dialogues):
        state: dict[str, str] = {}
        turns: States = []
        system: str | None = None
        for domain in random.sample(["hotel", "restaurant", "train"], random.choice([1, 1, 2])):
            for stage in (_NEED, _MORE, _BOOK):
                name, reply = None, ""
                if stage is _BOOK and domain in _OFFERS:
                    system, reply, name = _offer(domain, random)
                said, told = _fill(random.choice(stage[domain]), domain, random)
                if name is not None:
                    told[f"{domain}-name"] = name
                elif reply:
                    said, told = "", {}  # who does not accept, books nothing
                state |= told
                user = f"{reply} {said} ." if reply else f"{said} ."
                turns.append({"system": system, "user": user, "gold": dict(state)})
                system = random.choice(["anything else ?", "which day , and where ?", "i have 12 of them ."])
        found += [{"dialogue_id": f"D{number}", "turn": t, **turn} for t, turn in enumerate(turns)]
    return found


def _fill(phrase: str, domain: str, random: Random) -> tuple[str, dict[str, str]]:
    """What is said, and what it sets."""
    told: dict[str, str] = {}
    for slot, values in ONTOLOGY.items():
        mark = f"{{{slot.partition('-')[2]}}}"
        if slot.startswith(domain) and mark in phrase:
            taken = {told.get("train-departure")}
            told[slot] = random.choice([value for value in values if value not in taken])
            phrase = phrase.replace(mark, told[slot])
    return phrase, told


def _offer(domain: str, random: Random) -> tuple[str, str, str | None]:
    """What the system offers, how the user replies, and the name if he takes it."""
    one, other = random.sample(ONTOLOGY[f"{domain}-name"], 2)
    if random.random() < 0.2:
        return f"there are {one} and {other} .", "what do they cost ?", None
    if random.random() < 0.2:
        return f"how about {one} ?", "no , something else please", None
    return f"how about {one} ?", "yes please ,", one


def take_out(states: States, share: float, seed: int) -> tuple[States, Planted]:
    """A copy without some of the annotations, each from the turn that sets it to where its value ends."""
    random = Random(seed)  # noqa: S311 (no secrets)
    copy = [{**state, "gold": dict(state["gold"])} for state in states]
    gone: Planted = set()
    for place, state in enumerate(states):
        before = states[place - 1]["gold"] if state["turn"] else {}
        for slot, value in state["gold"].items():
            if before.get(slot) == value or random.random() >= share:
                continue
            gone.add((state["dialogue_id"], state["turn"], slot, value))
            for later in copy[place:]:
                if later["dialogue_id"] != state["dialogue_id"] or later["gold"].get(slot) != value:
                    break
                del later["gold"][slot]
    return copy, gone


def memory(states: States) -> list[dict[str, Any]]:
    """The states alone, without what was said."""
    return [{key: state[key] for key in ("dialogue_id", "turn", "gold")} for state in states]


def said(states: States) -> pl.DataFrame:
    """What was said in the turns of states, as `dstbench.contexts` gives it."""
    rows = [(s["dialogue_id"], s["turn"], s.get("system"), s.get("user")) for s in states]
    return pl.DataFrame(rows, schema=CONTEXTS.schema, orient="row").sort("dialogue", "turn")


def find(states: States, **options: Any) -> audit.Inconsistency:
    """The annotations that are missing from states."""
    return audit.inconsistency(memory(states), said=said(states), **{"ontology": ONTOLOGY, **options})
