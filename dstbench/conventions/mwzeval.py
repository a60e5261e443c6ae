"""The values that MultiWOZ_Evaluation (Nekvinda & Dušek 2021, "mwzeval") takes for one another, and how it reads times.

These are facts about that program, which its scores depend on, so they are kept as they are: ``brazilian`` is
``portuguese``, and ``5 pm`` is ``17:00``, but so is ``12 pm`` ``24:00``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final


def _by_variant(variants: Mapping[str, Iterable[str]]) -> dict[str, str]:
    return {variant: value for value, of_value in variants.items() for variant in of_value}


# Of slots that name a place: each name with its variants.
_NAMES: Final = _by_variant({
    "acorn guest house": ("acorn house",),
    "arbury lodge guesthouse": ("arbury guesthouse and lodge", "arbury guesthouse"),
    "bridge guest house": ("bridge house",), "broughton house gallery": ("broughton gallery",),
    "cafe jello gallery": ("cafe jello museum",), "caffe uno": ("caffee uno", "cafe uno"),
    "cambridge university botanic gardens": (
        "cambridge botanic gardens", "the botanical gardens at cambridge university",
    ),
    "christ's college": ("christ college", "christs"), "city center north b and b": ("city center b and b",),
    "cityroomz": ("cityrooms",), "express by holiday inn cambridge": ("holiday inn exlpress, cambridge",),
    "hotel du vin and bistro": ("hotel du vin bistro",), "huntingdon marriott hotel": ("huntingdon hotel",),
    "junction theatre": ("the junction",), "limehouse": ("lime house",), "nandos": ("nando's",),
    "nandos city centre": ("nandos in the city centre",), "parkside swimming pool": ("parkside pools",),
    "restaurant one seven": ("restaurant 1 7", "restaurant 17"),
    "restaurant two two": ("restaurant called two two", "restaurant 2 two", "restaurant two 2", "restaurant 2 2"),
    "rosas bed and breakfast": ("rosa's",), "scudamores punting co": ("scudamores punt co",),
    "the river bar steakhouse and grill": ("the river bar and grill",), "trinity college": ("trinity street college",),
    "university arms hotel": ("university hotel",), "whale of a time": ("whale of time",),
    "whipple museum of the history of science": ("history of science museum",),
})  # fmt: skip
# Of food.
_FOODS: Final = _by_variant({
    "asian": ("asian or oriental",), "australian": ("australasian",), "british": ("english", "brutish", "bristish"),
    "european": ("europeon",), "gastropub": ("gastropod",), "italian": ("intalian", "italain"),
    "mediterranean": ("eriterean",), "north american": ("modern american", "americas"),
    "portuguese": ("brazilian", "portugese"), "seafood": ("sea food",),
})  # fmt: skip
# Of types, of which capital letters are kept.
_TYPES: Final = {
    "guest house": "guesthouse", "mutliple sports": "multiple sports", "night club": "nightclub",
    "swimming pool": "swimmingpool",
}  # fmt: skip
# Of times.
_TIMES: Final = {
    "six fourty five": "06:45", "seven o'clock tomorrow evening": "07:00", "morning": "08:00", "eight thirty": "08:30",
    "lunch": "12:00", "noon": "12:00", "mid-day": "12:00", "around lunch time": "12:00", "afternoon": "13:00",
    "one thirty p.m.": "13:30", "three forty five p.m": "15:45",
}  # fmt: skip
# Of times, by how they begin.
_TIME_BEGINS: Final = {"one o'clock p.m": "13:00", "ten o'clock a.m": "10:00"}


def normalise(slot: str, value: str) -> str:
    """One alternative of a slot's value, as MultiWOZ_Evaluation writes it."""
    match slot.partition("-")[2]:
        case "name" | "departure" | "destination":
            name = value.strip().lower().replace(" & ", " and ").replace("&", " and ").replace(" '", "'")
            return _NAMES.get(name, name)
        case "food":
            food = value.strip().lower()
            return _FOODS.get(food, food)
        case "type":
            return _TYPES.get(value, value)
        case "arriveby" | "leaveat":
            return _time(value)
        case _:
            return value


def normalise_book_time(slot: str, value: str) -> str:
    """One alternative of a booked time, which MultiWOZ_Evaluation reads as a time if the slot is called `time`."""
    return _time(value) if slot.endswith("-book time") else value


def _time(value: str) -> str:
    time = value.strip().lower()
    if time in _TIMES:
        return _TIMES[time]
    for beginning, meant in _TIME_BEGINS.items():
        if time.startswith(beginning):
            return meant
    time = _without_words(time)
    for ending in ("am", "a.m."):
        if time.endswith(ending):
            time = time.removesuffix(ending).strip()
    if time.endswith(("pm", "p.m.")):
        time = re.sub(r"(?:pm|p\.m\.)$", "", time).strip()
        if clock := re.fullmatch(r"(\d{1,9}) *(?::([^:]*))?", time):
            return f"{int(clock[1]) + 12}:{'00' if clock[2] is None else clock[2]}"
    if not time:
        return "00:00"
    if time[-1] in ".,?":
        time = time[:-1]
    if time.isdigit():
        return f"{time[:2]}:{time[2:]}" if len(time) == 4 else f"{time.zfill(2)}:00"
    if ":" in time:
        time = time.replace(" ", "")
    return f"0{time}" if len(time) == 4 and time[1] == ":" else time


def _without_words(time: str) -> str:
    """A time without `by` (and the character after it), `after` or `afer` before it."""
    if time.startswith("by"):
        time = time[3:]
    for word in ("after", "afer"):
        if time.startswith(word):
            time = time.removeprefix(word).strip()
    return time
