"""Notations: the ways in which files write a state.

Conventions: a notation reads a state whose type has been checked. Those that can be written again know the place of
each value: the list or object that holds it, and the index or key in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, ClassVar, Final, Literal, TypeAlias

import msgspec

from dstbench.conventions.slots import KNOWN_SLOTS, domain_of, split_pair
from dstbench.readers.builder import Pairs, State, split_span, split_triple
from dstbench.readers.frames import frame_slot, frame_value
from dstbench.readers.state_text import Misfit
from dstbench.schema.core import BETWEEN

#: The place of a value or a text: a list or an object, and the index or key in it.
Place: TypeAlias = tuple[Any, Any]
#: A slot of a state: its name, its place, and its spelling, from which `Notation.make` makes other places.
Cell: TypeAlias = tuple[str, Place, Any]


_split_pair = lru_cache(maxsize=65_536)(split_pair)


class Notation:
    """How a state is written.

    Attributes:
        shape: The type of a state, in msgspec's sense.
        levels: What each level of keys in a state is: ``slot`` (several are joined by a hyphen), or None.
        usual: Spellings of slots that differ from the canonical ones, for slots that a file does not have.
        skipped: Names that are no slots.
    """

    shape: Any = None
    levels: tuple[str | None, ...] = ()

    def __init__(self, usual: Mapping[str, str] | None = None, skipped: str | None = None) -> None:
        self.usual, self.skipped = usual or {}, skipped

    def check(self, state: Any) -> None:
        """Raise `Misfit` if a state is not written like this."""
        try:
            msgspec.convert(state, self.shape)
        except msgspec.ValidationError as error:
            raise Misfit(str(error)) from None

    def pairs(self, state: Any) -> State:
        """Slots and values, and None for pieces of text that are none; a `Misfit`: something in it is none."""
        return [(slot, holder[key]) for slot, (holder, key), _ in self.cells(state)]

    def cells(self, state: Any) -> Iterator[Cell]:
        """The slots of a state, with the places of their values."""
        raise NotImplementedError

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        """The place for a slot that a state does not have.

        Args:
            state: The state.
            slot: The canonical name.
            spelling: The slot's spelling elsewhere in the file, as `cells` gives it; None: the file does not have it.
        """
        raise NotImplementedError

    def put(self, place: Place, value: str | None, absent: str | None) -> None:
        """Write a value, or leave the slot out: by the value `absent`, or, if that is None, by dropping its key."""
        holder, key = place
        if value is None and absent is None:
            del holder[key]
        else:
            holder[key] = absent if value is None else value

    def usual_name(self, slot: str) -> str:
        """The usual spelling of the slot's name, without its domain."""
        name = slot.removeprefix(f"{domain_of(slot)}-")
        return self.usual.get(name, name)


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


class Nested(Notation):
    """``{"hotel": {"area": "north"}}``."""

    shape: Any = dict[str, dict[str, str]]
    levels = ("slot", "slot")

    def pairs(self, state: Any) -> State:
        return [(f"{domain}-{slot}", value) for domain, slots in state.items() for slot, value in slots.items()]

    def cells(self, state: Any) -> Iterator[Cell]:
        for domain, slots in state.items():
            yield from ((f"{domain}-{slot}", (slots, slot), (domain, slot)) for slot in slots if slot != self.skipped)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        domain, name = spelling or (domain_of(slot), self.usual_name(slot))
        return state.setdefault(domain, {self.skipped: []} if self.skipped else {}), name


class NestedLists(Nested):
    """``{"hotel": {"area": ["north", "east"], "name": ""}}``; the values of a list are alternatives."""

    shape = dict[str, dict[str, str | list[str]]]

    def pairs(self, state: Any) -> State:
        values = ((slot, holder[key]) for slot, (holder, key), _ in self.cells(state))
        return [(slot, value if isinstance(value, str) else BETWEEN.join(value)) for slot, value in values]


class HyphenPairs(Notation):
    """``["hotel-area-north"]``."""

    shape = list[str]

    def pairs(self, state: Any) -> State:
        pairs = [*map(_split_pair, state)]
        if None in pairs:
            raise Misfit(f"{state[pairs.index(None)]!r} is not of the form domain-slot-value")
        return pairs


class Triples(Notation):
    """``["hotel area north"]``; generated text that is not of this form is left out."""

    shape: Any = list[str]

    def pairs(self, state: Any) -> State:
        return [split_triple(triple) for triple in state if triple.strip()]


class Commas(Triples):
    """``hotel area north, hotel stars 4``, which may be between ``<bs>`` and ``</bs>``."""

    shape = str

    def pairs(self, state: Any) -> State:
        return super().pairs(state.strip().removeprefix("<bs>").removesuffix("</bs>").split(","))


class Span(Notation):
    """``[hotel] area north stars 4 [train] leave 09:15``."""

    shape = str

    def pairs(self, state: Any) -> State:
        return split_span(state)


class Lists(Notation):
    """``[["hotel", "area", "north"]]``."""

    shape = list[tuple[str, str, str]]

    def cells(self, state: Any) -> Iterator[Cell]:
        yield from ((f"{triple[0]}-{triple[1]}", (triple, 2), triple[:2]) for triple in state)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        domain, name = spelling or (domain_of(slot), self.usual_name(slot))
        state.append([domain, name, None])
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
        pair = [spelling or self.usual.get(slot, slot), None]
        state.append({"slots": [pair], "act": "inform"})
        return pair, 1

    def put(self, place: Place, value: str | None, absent: str | None) -> None:
        place[0][place[1]] = value  # None is removed after all edits


class SlotValue(msgspec.Struct):
    """A slot and its value."""

    slot: str
    value: str


class Objects(Notation):
    """``[{"slot": "movie", "value": "the pine cone"}]``."""

    shape = list[SlotValue]

    def pairs(self, state: Any) -> State:
        return [(entry["slot"], entry["value"]) for entry in state]

    def cells(self, state: Any) -> Iterator[Cell]:
        yield from ((entry["slot"], (state, entry), entry["slot"]) for entry in state)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        return state, {"slot": spelling or self.usual.get(slot, slot)}

    def put(self, place: Place, value: str | None, absent: str | None) -> None:
        entries, entry = place
        rest = [other for other in entries if other is not entry]
        if value is None:
            entries[:] = rest
        else:
            entry["value"] = value
            if len(rest) == len(entries):  # it is new
                entries.append(entry)


class Parts(msgspec.Struct, forbid_unknown_fields=True):
    """A domain's slots, each with a value or its alternatives; for ``booked``, with a list of bookings."""

    semi: dict[str, str | list[Any]] = {}
    book: dict[str, str | list[Any]] = {}


class SemiBook(Notation):
    """``{"hotel": {"semi": {"area": "north"}, "book": {"day": "friday", "booked": []}}}``."""

    shape: Any = dict[str, Parts]
    levels: tuple[str | None, ...] = ("slot", None, "slot")

    def pairs(self, state: Any) -> State:
        pairs: Pairs = []
        for domain, parts in state.items():
            for part, slots in parts.items():
                prefix = f"{domain}-" if part == "semi" else f"{domain}-book "
                for slot, value in slots.items():
                    if type(value) is str:
                        if value and slot != self.skipped:
                            pairs.append((prefix + slot, value))
                    elif slot != self.skipped:
                        if not all(isinstance(item, str) for item in value):
                            raise Misfit(f"expected a list of strings, found {value}", prefix + slot)
                        if value:
                            pairs.append((prefix + slot, BETWEEN.join(value)))
        return pairs

    def cells(self, state: Any) -> Iterator[Cell]:
        for domain, parts in state.items():
            for part, prefix in (("semi", ""), ("book", "book ")):
                for slot in parts.get(part, ()):
                    if slot != self.skipped:
                        yield f"{domain}-{prefix}{slot}", (parts[part], slot), (domain, part, slot)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        if spelling is None:
            name = self.usual_name(slot)
            part = "book" if name.startswith("book ") else "semi"
            spelling = domain_of(slot), part, name.removeprefix("book ")
        domain, part, name = spelling
        parts = state.setdefault(domain, {"book": {self.skipped: []}, "semi": {}})
        return parts.setdefault(part, {}), name

    def put(self, place: Place, value: str | None, absent: str | None) -> None:
        holder, key = place
        if isinstance(holder.get(key), list):
            holder[key] = [] if value is None else value.split(BETWEEN)
        else:
            super().put(place, value, absent)


class PartsOfLists(msgspec.Struct, forbid_unknown_fields=True):
    """A domain's slots in DSTC10, track 2: alternatives of each."""

    semi: dict[str, list[str]] = {}
    book: dict[str, list[str]] = {}


class SemiBookLists(SemiBook):
    """``{"hotel": {"semi": {"area": ["north"]}, "book": {"people": ["3"]}}}``."""

    shape = dict[str, PartsOfLists]
    levels = ("slot", "slot", "slot")


class Values(msgspec.Struct):
    """A slot's predicted and gold value."""

    pred: str
    gt: str


class SideBySide(Notation):
    """``{"hotel-area": {"pred": "north", "gt": "north"}}``, both sides of each slot together."""

    shape = dict[str, Values | str]
    levels = ("slot",)
    text: ClassVar = "utter"  # the key of the utterance, beside those of slots

    def __init__(self, side: str) -> None:
        super().__init__()
        self._side = side

    def pairs(self, state: Any) -> State:
        pairs = [(slot, values[self._side]) for slot, values in state.items() if type(values) is dict]
        if odd := [slot for slot, values in state.items() if type(values) is not dict and slot != self.text]:
            raise Misfit("expected an object with pred and gt, found a string", min(odd))
        return pairs


class Written(Notation):
    """As people and models write them (see `state_cells`), which is read loosely."""

    shape: Any = dict[str, Any]
    levels = ("slot", "slot")

    def __init__(self, shape: Any = None) -> None:
        super().__init__()
        self.shape = shape or self.shape


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

    def __init__(self, *, only_first: bool) -> None:
        super().__init__()
        self._only_first = only_first

    def pairs(self, state: Any) -> State:
        pairs: Pairs = []
        for frame in state:
            if "state" not in frame:
                raise Misfit("a user turn whose frame has no state")
            service, content = frame["service"], frame["state"]
            for slot, values in content["slot_values"].items():
                if values:
                    name = slot if "-" in slot else f"{service}-{slot}"
                    pairs.append((name, values[0] if self._only_first else BETWEEN.join(values)))
            value = frame_value(content.get("active_intent"), content.get("requested_slots"))
            pairs.append((frame_slot(service), value))
        return pairs

    def cells(self, state: Any) -> Iterator[Cell]:
        for frame in state:
            values = frame.get("state", {}).get("slot_values", {})
            for slot in values:
                name = slot if "-" in slot else f"{frame['service']}-{slot}"
                yield name, (values, slot), (frame["service"], slot)

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
        return frame.setdefault("state", empty)["slot_values"], name

    def put(self, place: Place, value: str | None, absent: str | None) -> None:
        super().put(place, value, absent)
        if value is not None:
            place[0][place[1]] = value.split(BETWEEN)


_TWO_WORDS: Final = {"leaveat": "leave at", "arriveby": "arrive by", "pricerange": "price range"}
_CAMEL: Final = {"leaveat": "leaveAt", "arriveby": "arriveBy"}

#: The notations, by their names in rows.
NOTATIONS: Final[dict[str, Notation]] = {
    "flat": Flat(),
    "nested": Nested(_TWO_WORDS),
    "nested lists": NestedLists(skipped="selectedResults"),
    "pairs": HyphenPairs(),
    "triples": Triples(),
    "commas": Commas(),
    "span": Span(),
    "lists": Lists(_CAMEL),
    "acts": Acts({"pricerange": "price range"}),
    "objects": Objects({"pricerange": "price_range"}),
    "semi/book": SemiBook(_CAMEL, "booked"),
    "semi/book lists": SemiBookLists(),
    "gt": SideBySide("gt"),
    "pred": SideBySide("pred"),
    "written": Written(),
    "written or null": Written(dict[str, Any] | None),
    "written nested or null": Written(dict[str, dict[str, Any]] | None),
    "frames": Frames(only_first=False),
    "first of frames": Frames(only_first=True),
}
