"""Notations: the ways in which files write a state.

Conventions: a notation that can be written again knows the place of each value: the list or object that holds it, and
the index or key in it. A value that is a list has alternatives, which are joined by a bar; an empty list says that the
slot is not in the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, ClassVar, Final, Literal, TypeAlias

import msgspec

from dstbench.conventions.slots import KNOWN_SLOTS, canonical_slot, split_pair
from dstbench.readers.builder import State
from dstbench.readers.frames import frame_slot, frame_value
from dstbench.readers.shapes import clipped, first_misfit
from dstbench.readers.state_text import Misfit
from dstbench.schema.core import BETWEEN

#: The place of a value or a text: a list or an object, and the index or key in it.
Place: TypeAlias = tuple[Any, Any]
#: A slot of a state: its name, its place, and its spelling, from which `Notation.make` makes other places.
Cell: TypeAlias = tuple[str, Place, Any]


class Notation:
    """How a state is written."""

    shape: Any = None  # the type of a state, in msgspec's sense
    levels: ClassVar[tuple[str | None, ...]] = ()  # which levels of its keys make a ``slot``, joined by a hyphen
    is_writable = True

    def __init__(self, shape: Any = None) -> None:
        self.shape = shape or self.shape

    def check(self, state: Any) -> None:
        """Raise a `Misfit`, with the slot, if a state is not of the type."""
        try:
            msgspec.convert(state, self.shape)
        except msgspec.ValidationError as error:
            path, value, reason = first_misfit(state, self.shape, str(error))
            slot = "-".join(str(key) for level, key in zip(self.levels, path, strict=False) if level)
            shown = repr(value) if isinstance(value, str) else str(value)
            raise Misfit(f"{reason}, found {clipped(shown)}", slot or None) from None

    def pairs(self, state: Any) -> State:
        """The slots and values of a state of the right type, and None for pieces of text that are none."""
        cells = self.cells(state)
        return [(slot, self.text(slot, holder[key])) for slot, (holder, key), _ in cells if holder[key] != []]

    def text(self, slot: str, value: Any) -> str:
        """A slot's value, or its alternatives, as one text."""
        if isinstance(value, str):
            return value
        if not all(isinstance(item, str) for item in value):
            raise Misfit(f"expected a list of strings, found {value}", slot)
        return BETWEEN.join(value)

    def cells(self, state: Any) -> Iterator[Cell]:
        """The slots of a state, with the places of their values."""
        raise NotImplementedError

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        """The place for a slot, by its canonical name, that a state does not have.

        `spelling` is the slot's elsewhere in the file, as `cells` gives it; None: the file does not have it.
        """
        raise NotImplementedError

    def put(self, place: Place, value: str | None, absent: str | None) -> None:
        """Write a value, or leave the slot out: by the value `absent`, or, if that is None, altogether."""
        holder, key = place
        if value is None and absent is None and isinstance(holder, dict):
            del holder[key]
        elif isinstance(holder, dict) and isinstance(holder.get(key), list):
            holder[key] = [] if value is None else value.split(BETWEEN)
        else:
            holder[key] = absent if value is None else value

    def tidy(self, state: Any) -> None:
        """Remove from a state that was edited what `put` has emptied."""


class Flat(Notation):
    """``{"hotel-area": "north"}``."""

    shape = dict[str, str]
    levels = ("slot",)

    def pairs(self, state: Any) -> State:
        flat: dict[str, str] = state
        return flat

    def cells(self, state: Any) -> Iterator[Cell]:
        yield from ((slot, (state, slot), slot) for slot in state)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        return state, spelling or slot


class Columns(Flat):
    """The same, beside other keys, which have no hyphen."""

    def cells(self, state: Any) -> Iterator[Cell]:
        yield from (cell for cell in super().cells(state) if "-" in cell[0])


class Nested(Notation):
    """``{"hotel": {"area": "north"}}``; in CrossWOZ, results of the search stand beside a domain's slots."""

    shape: Any = dict[str, dict[str, str]]
    levels = ("slot", "slot")
    results: ClassVar = "selectedResults"

    def cells(self, state: Any) -> Iterator[Cell]:
        for domain, slots in state.items():
            yield from ((f"{domain}-{slot}", (slots, slot), (domain, slot)) for slot in slots if slot != self.results)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        domain, name = spelling or slot.partition("-")[::2]
        has_results = any(self.results in slots for slots in state.values())
        return state.setdefault(domain, {self.results: []} if has_results else {}), name


class Lists(Notation):
    """``[["hotel", "area", "north"]]``."""

    shape = list[tuple[str, str, str]]

    def cells(self, state: Any) -> Iterator[Cell]:
        yield from ((f"{triple[0]}-{triple[1]}", (triple, 2), triple[:2]) for triple in state)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        state.append([*(spelling or slot.partition("-")[::2]), None])
        return state[-1], 2


class Entry(msgspec.Struct):
    """An entry of a belief state: its slots and values, and whether the user informs or asks."""

    slots: list[tuple[str, str]]
    act: Literal["inform", "request"]


class Acts(Notation):
    """``[{"slots": [["hotel-area", "north"]], "act": "inform"}]``; what the user asks for is no slot."""

    shape = list[Entry]

    def cells(self, state: Any) -> Iterator[Cell]:
        for entry in state:
            yield from ((pair[0], (pair, 1), pair[0]) for pair in entry["slots"] if entry["act"] == "inform")

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        state.append({"slots": [[spelling or slot, None]], "act": "inform"})
        return state[-1]["slots"][0], 1

    def tidy(self, state: Any) -> None:
        for entry in state:
            entry["slots"] = [pair for pair in entry["slots"] if pair[1] is not None]
        state[:] = [entry for entry in state if entry["slots"]]


class SlotValue(msgspec.Struct):
    """A slot and its value."""

    slot: str
    value: str


class Objects(Notation):
    """``[{"slot": "movie", "value": "the pine cone"}]``."""

    shape = list[SlotValue]

    def cells(self, state: Any) -> Iterator[Cell]:
        yield from ((entry["slot"], (entry, "value"), entry["slot"]) for entry in state)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        state.append({"slot": spelling or slot})
        return state[-1], "value"

    def tidy(self, state: Any) -> None:
        state[:] = [entry for entry in state if "value" in entry]


class Parts(msgspec.Struct, forbid_unknown_fields=True):
    """A domain's slots, each with a value or its alternatives; for ``booked``, with a list of bookings."""

    semi: dict[str, str | list[Any]] = {}
    book: dict[str, str | list[Any]] = {}


class PartsOfLists(msgspec.Struct, forbid_unknown_fields=True):
    """A domain's slots in DSTC10, track 2: alternatives of each."""

    semi: dict[str, list[str]] = {}
    book: dict[str, list[str]] = {}


class SemiBook(Notation):
    """``{"hotel": {"semi": {"area": "north"}, "book": {"day": "friday", "booked": []}}}``."""

    shape: Any = dict[str, Parts]
    levels = ("slot", None, "slot")

    def cells(self, state: Any) -> Iterator[Cell]:
        for domain, parts in state.items():
            for part, slots in parts.items():
                prefix = f"{domain}-book " if part == "book" else f"{domain}-"
                yield from ((prefix + s, (slots, s), (domain, part, s)) for s in slots if s != "booked")

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        if spelling is None:
            domain, _, name = slot.partition("-")
            spelling = domain, "book" if name.startswith("book ") else "semi", name.removeprefix("book ")
        domain, part, name = spelling
        parts = state.setdefault(domain, {"book": {"booked": []}, "semi": {}})
        return parts.setdefault(part, {}), name


class FrameState(msgspec.Struct):
    """The state of a service."""

    slot_values: dict[str, list[str]]
    active_intent: str | None = None
    requested_slots: list[str] | None = None


class Frame(msgspec.Struct):
    """A service in a turn; only user turns have a state."""

    service: str
    state: FrameState | msgspec.UnsetType = msgspec.UNSET


class Frames(Notation):
    """``[{"service": "Hotels_1", "state": {"slot_values": {"destination": ["Palo Alto"]}}}]``."""

    shape = list[Frame]
    levels = (None, None, None, "slot")

    def pairs(self, state: Any) -> State:
        pairs: list[tuple[str, str] | None] = []
        for frame in state:
            if "state" not in frame:
                raise Misfit("a user turn whose frame has no state")
            intent, requested = (frame["state"].get(key) for key in ("active_intent", "requested_slots"))
            pairs += [*super().pairs([frame]), (frame_slot(frame["service"]), frame_value(intent, requested))]
        return pairs

    def cells(self, state: Any) -> Iterator[Cell]:
        for frame in state:
            service, values = frame["service"], frame.get("state", {}).get("slot_values", {})
            yield from ((s if "-" in s else f"{service}-{s}", (values, s), (service, s)) for s in values)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        if spelling is None:
            service, _, name = slot.partition("-")
            is_prefixed = slot in KNOWN_SLOTS or "-" in name  # else a hyphen in the name would end the service
            spelling = service, slot.replace(" ", "") if is_prefixed else name
        service, name = spelling
        frame = next((frame for frame in state if frame["service"] == service), None)
        if frame is None:
            frame = {"service": service, "slots": []}
            state.append(frame)
        empty = {"active_intent": "NONE", "requested_slots": [], "slot_values": {}}
        values = frame.setdefault("state", empty)["slot_values"]
        values[name] = []
        return values, name


class FirstOfFrames(Frames):
    """The same, of whose alternatives only the first counts."""

    def text(self, slot: str, value: Any) -> str:
        return str(value[0])


class SideBySide(Notation):
    """``{"hotel-area": {"pred": "north", "gt": "north"}, "utter": "…"}``, both sides of each slot together."""

    class Values(msgspec.Struct):
        """A slot's predicted and gold value."""

        pred: str
        gt: str

    shape = dict[str, Values | str]
    levels = ("slot",)
    is_writable = False

    def __init__(self, side: str) -> None:
        super().__init__()
        self._side = side

    def pairs(self, state: Any) -> State:
        if odd := [slot for slot, values in state.items() if type(values) is str and slot != "utter"]:
            raise Misfit("expected an object with pred and gt, found a string", min(odd))
        return [(slot, values[self._side]) for slot, values in state.items() if slot != "utter"]


class Loose(Notation):
    """As people and models write states, which `state_cells` reads."""

    levels = ("slot", "slot")
    is_writable = False


class Text(Notation):
    """What a function makes slots and values of; most often a text, or a list of texts."""

    is_writable = False

    def __init__(self, shape: Any, divided: Callable[[Any], State]) -> None:
        super().__init__(shape=shape)
        self._divided = divided

    def pairs(self, state: Any) -> State:
        return self._divided(state)


_split_pair = lru_cache(maxsize=65_536)(split_pair)


def _hyphens(state: list[str]) -> State:
    """``["hotel-area-north"]``."""
    pairs = [*map(_split_pair, state)]
    if None in pairs:
        raise Misfit(f"{state[pairs.index(None)]!r} is not of the form domain-slot-value")
    return pairs


@lru_cache(maxsize=65_536)
def split_triple(triple: str) -> tuple[str, str] | None:
    """Slot and value of ``domain slot value``; the slot is one word, or two that make a known one.

    >>> split_triple("hotel book day friday"), split_triple("taxi leaveat 09:15"), split_triple("hotel")
    (('hotel-book day', 'friday'), ('taxi-leaveat', '09:15'), None)
    """
    for words in (2, 1):
        parts = triple.strip().split(" ", words + 1)
        slot = canonical_slot(f"{parts[0]}-{' '.join(parts[1 : words + 1])}")
        if len(parts) == words + 2 and (slot in KNOWN_SLOTS or words == 1):
            return slot, parts[-1]
    return None


def _triples(state: list[str]) -> State:
    """``["hotel area north"]``; generated text that is not of this form is left out."""
    return [split_triple(triple) for triple in state if triple.strip()]


class ParlaiTeacher(msgspec.Struct):
    """What ParlAI's teacher says: the turn, its gold, whose key depends on the split, and what was said up to it."""

    dial_id: str
    turn_num: int
    eval_labels: list[str] | msgspec.UnsetType = msgspec.UNSET
    labels: list[str] | msgspec.UnsetType = msgspec.UNSET
    text: str = ""


class ParlaiModel(msgspec.Struct):
    """What the model answers: the predicted state."""

    text: str


def _labels(exchange: list[dict[str, Any]]) -> State:
    """The gold in ``[{"eval_labels": ["hotel area north, hotel stars 4"]}, …]``, an exchange with ParlAI's teacher."""
    teacher = exchange[0]
    gold = teacher.get("eval_labels") or teacher.get("labels") or []
    if len(gold) != 1:
        raise Misfit(f"{len(gold) or 'no'} gold states, where there must be one (eval_labels, or labels)")
    return _commas(gold[0])


def _commas(state: str) -> State:
    """``hotel area north, hotel stars 4``, which may be between ``<bs>`` and ``</bs>``."""
    return _triples(state.strip().removeprefix("<bs>").removesuffix("</bs>").split(","))


_SPAN_SLOTS: Final = frozenset((
    "area", "arrive", "day", "department", "departure", "destination", "food", "internet", "leave", "name", "parking",
    "people", "pricerange", "stars", "stay", "time", "type",
))  # fmt: skip


def split_span(span: str) -> list[tuple[str, str] | None]:
    """Slots and values of ``[domain] slot value slot value [domain] …``, and None for each word lost.

    >>> split_span("[hotel] area north book day [train] leave 09:15")
    [('hotel-area', 'north book'), ('hotel-book day', ''), ('train-leaveat', '09:15')]
    >>> split_span("area north [hotel]")
    [None, None]
    """
    pairs: list[tuple[str, list[str]]] = []
    domain, lost = "", 0
    for word in span.split():
        if word.startswith("[") and word.endswith("]"):
            domain = word[1:-1]
            pairs.append(("", []))
        elif domain and word in _SPAN_SLOTS:
            pairs.append((canonical_slot(f"{domain}-{word}"), []))
        elif pairs and pairs[-1][0]:
            pairs[-1][1].append(word)
        else:
            lost += 1
    return [*((slot, " ".join(value)) for slot, value in pairs if slot), *[None] * lost]


class Hypothesis(msgspec.Struct):
    """A joint goal and a DSTC2 tracker's score for it."""

    score: float
    slots: dict[str, str]


class Goals(msgspec.Struct):
    """What a DSTC2 tracker believes after a turn: the score of each value, and, if it says so, of joint goals."""

    goals: dict[str, dict[str, float]] = msgspec.field(name="goal-labels")
    joint: list[Hypothesis] = msgspec.field(name="goal-labels-joint", default_factory=list)


def _best(turn: dict[str, Any]) -> State:
    """The best joint goal; without one, each slot's best value, if its score exceeds what is left for no value."""
    if joint := turn.get("goal-labels-joint"):
        best: dict[str, str] = max(joint, key=lambda hypothesis: hypothesis["score"])["slots"]
        return best
    shares = {slot: scores for slot, scores in turn["goal-labels"].items() if scores}
    values = {slot: max(scores, key=scores.__getitem__) for slot, scores in shares.items()}
    return {slot: value for slot, value in values.items() if shares[slot][value] > 1 - sum(shares[slot].values())}


def _right(marks: list[int]) -> State:
    """The gold of ``[1, 0, 1]``, which says whether each slot is right: the slots that are predicted wrongly."""
    return {f"slot-{number}": "right" for number, mark in enumerate(marks, 1) if not mark}


def _wrong(marks: list[int]) -> State:
    """The prediction of the same; its values stand for the set of wrong slots, so are new whenever that changes."""
    wrong = [str(number) for number, mark in enumerate(marks, 1) if not mark]
    return {f"slot-{number}": f"wrong:{','.join(wrong)}" for number in wrong}


#: The notations, by their names in rows.
NOTATIONS: Final[dict[str, Notation]] = {
    "flat": Flat(),
    "columns": Columns(),
    "nested": Nested(),
    "nested lists": Nested(shape=dict[str, dict[str, str | list[str]]]),
    "pairs": Text(list[str], _hyphens),
    "triples": Text(list[str], _triples),
    "commas": Text(str, _commas),
    "labels": Text(tuple[ParlaiTeacher, ParlaiModel], _labels),
    "span": Text(str, split_span),
    "lists": Lists(),
    "acts": Acts(),
    "objects": Objects(),
    "semi/book": SemiBook(),
    "semi/book lists": SemiBook(shape=dict[str, PartsOfLists]),
    "best goals": Text(Goals, _best),
    "marks": Text(list[int], _right),
    "marks of wrong": Text(list[int], _wrong),
    "gt": SideBySide("gt"),
    "pred": SideBySide("pred"),
    "written": Loose(shape=dict[str, Any]),
    "written or null": Loose(shape=dict[str, Any] | None),
    "written nested or null": Loose(shape=dict[str, dict[str, Any]] | None),
    "frames": Frames(),
    "first of frames": FirstOfFrames(),
}
