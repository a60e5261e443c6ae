"""Notations: the ways in which files write a state.

Conventions: a notation that can be written again knows the place of each value: the list or object that holds it, and
the index or key in it. A value that is a list has alternatives, which are joined by a bar; an empty list says that the
slot is not in the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from types import NoneType
from typing import Any, ClassVar, Final, TypeAlias

from dstbench.conventions.slots import KNOWN_SLOTS, canonical_slot, split_pair
from dstbench.readers.frames import FRAME, frame_value
from dstbench.readers.source import Kinds, Misfit, clipped, typed
from dstbench.readers.states import State
from dstbench.schema.core import BETWEEN

#: The place of a value or a text: a list or an object, and the index or key in it.
Place: TypeAlias = tuple[Any, Any]
#: A slot of a state: its name, its place, and its spelling, from which `Notation.make` makes other places.
Cell: TypeAlias = tuple[str, Place, Any]


class Notation:
    """How a state is written; `values` are the types of its values."""

    is_writable = True

    def __init__(self, values: Kinds = str) -> None:
        self._values = values

    def pairs(self, state: Any) -> State:
        """The slots and values of a state, and None for pieces of text that are none; a `Misfit` says what is wrong."""
        try:
            cells = [(slot, self.text(slot, holder[key])) for slot, (holder, key), _ in self.cells(state)]
        except KeyError as error:
            raise Misfit(f"no {error.args[0]} here") from None
        return [(slot, text) for slot, text in cells if text is not None]

    def text(self, slot: str, value: Any) -> str | None:
        """A slot's value, or its alternatives, as one text; None: the slot is not in the state."""
        if isinstance(typed(value, self._values, slot), str):
            return str(value)
        return BETWEEN.join(typed(item, str, slot) for item in value) if value else None

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

    def pairs(self, state: Any) -> State:
        flat: dict[str, str] = typed(state, dict)
        return flat if {*map(type, flat.values())} <= {str} else super().pairs(state)

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

    results: ClassVar = "selectedResults"

    def cells(self, state: Any) -> Iterator[Cell]:
        for domain, slots in typed(state, dict).items():
            for slot in typed(slots, dict, domain):
                if slot != self.results:
                    yield f"{domain}-{slot}", (slots, slot), (domain, slot)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        domain, name = spelling or slot.partition("-")[::2]
        has_results = any(self.results in slots for slots in state.values())
        return state.setdefault(domain, {self.results: []} if has_results else {}), name


class Lists(Notation):
    """``[["hotel", "area", "north"]]``."""

    def cells(self, state: Any) -> Iterator[Cell]:
        for triple in typed(state, list):
            if len(typed(triple, list)) != 3:
                raise Misfit(f"expected a list of length 3, found {clipped(str(triple))}")
            yield f"{typed(triple[0], str)}-{typed(triple[1], str)}", (triple, 2), triple[:2]

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        state.append([*(spelling or slot.partition("-")[::2]), None])
        return state[-1], 2


class Acts(Notation):
    """``[{"slots": [["hotel-area", "north"]], "act": "inform"}]``; what the user asks for is no slot."""

    def cells(self, state: Any) -> Iterator[Cell]:
        for entry in typed(state, list):
            act, pairs = typed(entry, dict)["act"], typed(entry["slots"], list)
            if act not in ("inform", "request"):
                raise Misfit(f"expected inform or request, found {act!r}")
            for pair in pairs:
                if len(typed(pair, list)) != 2:
                    raise Misfit(f"expected a list of length 2, found {clipped(str(pair))}")
                if act == "inform":
                    yield typed(pair[0], str), (pair, 1), pair[0]

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        state.append({"slots": [[spelling or slot, None]], "act": "inform"})
        return state[-1]["slots"][0], 1

    def tidy(self, state: Any) -> None:
        for entry in state:
            entry["slots"] = [pair for pair in entry["slots"] if pair[1] is not None]
        state[:] = [entry for entry in state if entry["slots"]]


class Objects(Notation):
    """``[{"slot": "movie", "value": "the pine cone"}]``."""

    def cells(self, state: Any) -> Iterator[Cell]:
        for entry in typed(state, list):
            slot = typed(typed(entry, dict)["slot"], str)
            yield slot, (entry, "value"), slot

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        state.append({"slot": spelling or slot})
        return state[-1], "value"

    def tidy(self, state: Any) -> None:
        state[:] = [entry for entry in state if "value" in entry]


class SemiBook(Notation):
    """``{"hotel": {"semi": {"area": "north"}, "book": {"day": "friday", "booked": []}}}``."""

    def cells(self, state: Any) -> Iterator[Cell]:
        for domain, parts in typed(state, dict).items():
            for part, slots in typed(parts, dict, domain).items():
                if part not in ("semi", "book"):
                    raise Misfit(f"unexpected key {part} here", domain)
                prefix = f"{domain}-book " if part == "book" else f"{domain}-"
                for slot in typed(slots, dict, domain):
                    if slot != "booked":
                        yield prefix + slot, (slots, slot), (domain, part, slot)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        if spelling is None:
            domain, _, name = slot.partition("-")
            spelling = domain, "book" if name.startswith("book ") else "semi", name.removeprefix("book ")
        domain, part, name = spelling
        parts = state.setdefault(domain, {"book": {"booked": []}, "semi": {}})
        return parts.setdefault(part, {}), name


class Frames(Notation):
    """``[{"service": "Hotels_1", "state": {"slot_values": {"destination": ["Palo Alto"]}}}]``."""

    def pairs(self, state: Any) -> State:
        pairs = [*super().pairs(state)]
        for frame in state:
            if "state" not in frame:
                raise Misfit("a user turn whose frame has no state")
            intent, requested = (frame["state"].get(key) for key in ("active_intent", "requested_slots"))
            names = None if requested is None else [typed(name, str) for name in typed(requested, list)]
            value = frame_value(None if intent is None else typed(intent, str), names)
            pairs.append((frame["service"] + FRAME, value))
        return pairs

    def cells(self, state: Any) -> Iterator[Cell]:
        for frame in typed(state, list):
            service = typed(typed(frame, dict)["service"], str)
            values = typed(typed(frame["state"], dict)["slot_values"], dict) if "state" in frame else {}
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

    def text(self, slot: str, value: Any) -> str | None:
        texts = super().text(slot, value)
        return None if texts is None else str(value[0])


class Text(Notation):
    """What a function makes slots and values of; most often a text, or a list of `items`, such as texts."""

    is_writable = False

    def __init__(self, kind: Kinds, divided: Callable[[Any], State], items: type | None = None) -> None:
        super().__init__(kind)
        self._divided, self._items = divided, items

    def pairs(self, state: Any) -> State:
        if self._items is not None:
            for item in typed(state, self._values):
                typed(item, self._items)
        try:
            return self._divided(typed(state, self._values))
        except KeyError as error:
            raise Misfit(f"no {error.args[0]} here") from None


class Loose(Text):
    """As people and models write states, which `state_cells` reads; a function checks what they must have in common."""


def _of_side(side: str) -> Callable[[Any], State]:
    """A side of ``{"hotel-area": {"pred": "north", "gt": "north"}, "utter": "…"}``."""

    def pairs(state: dict[str, Any]) -> State:
        cells = [(slot, typed(values, dict, slot)) for slot, values in state.items() if slot != "utter"]
        return [(slot, typed(values.get(side), str, slot)) for slot, values in cells]

    return pairs


_split_pair = lru_cache(maxsize=65_536)(split_pair)


def _hyphens(state: list[str]) -> State:
    """``["hotel-area-north"]``."""
    pairs = [*map(_split_pair, state)]
    if None in pairs:
        raise Misfit(f"{state[pairs.index(None)]!r} is not of the form domain-slot-value")
    return pairs


@lru_cache(maxsize=65_536)
def split_triple(triple: str) -> tuple[str, str] | None:
    """Slot and value of ``domain slot value``; the slot is one word, or two that make a known one."""
    for words in (2, 1):
        parts = triple.strip().split(" ", words + 1)
        slot = canonical_slot(f"{parts[0]}-{' '.join(parts[1 : words + 1])}")
        if len(parts) == words + 2 and (slot in KNOWN_SLOTS or words == 1):
            return slot, parts[-1]
    return None


def _triples(state: list[str]) -> State:
    """``["hotel area north"]``; generated text that is not of this form is left out."""
    return [split_triple(triple) for triple in state if triple.strip()]


def _labels(exchange: list[dict[str, Any]]) -> State:
    """The gold in ``[{"eval_labels": ["hotel area north, hotel stars 4"]}, …]``, an exchange with ParlAI's teacher."""
    gold = typed(exchange[0].get("eval_labels") or exchange[0].get("labels") or [], list)
    if len(gold) != 1:
        raise Misfit(f"{len(gold) or 'no'} gold states, where there must be one (eval_labels, or labels)")
    return _commas(typed(gold[0], str))


def _commas(state: str) -> State:
    """``hotel area north, hotel stars 4``, which may be between ``<bs>`` and ``</bs>``."""
    return _triples(state.strip().removeprefix("<bs>").removesuffix("</bs>").split(","))


_SPAN_SLOTS: Final = frozenset((
    "area", "arrive", "day", "department", "departure", "destination", "food", "internet", "leave", "name", "parking",
    "people", "pricerange", "stars", "stay", "time", "type",
))  # fmt: skip


def split_span(span: str) -> list[tuple[str, str] | None]:
    """Slots and values of ``[domain] slot value slot value [domain] …``, and None for each word lost."""
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


def _best(turn: dict[str, Any]) -> State:
    """The best joint goal; without one, each slot's best value, if its score exceeds what is left for no value."""
    shares = typed(turn["goal-labels"], dict)
    for scores in shares.values():
        for score in typed(scores, dict).values():
            typed(score, (int, float))
    if joint := typed(turn.get("goal-labels-joint", []), list):
        best = max(joint, key=lambda goal: typed(typed(goal, dict)["score"], (int, float)))
        return Flat().pairs(best["slots"])
    values = {slot: max(scores, key=scores.__getitem__) for slot, scores in shares.items() if scores}
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
    "nested lists": Nested((str, list)),
    "pairs": Text(list, _hyphens, str),
    "triples": Text(list, _triples, str),
    "commas": Text(str, _commas),
    "labels": Text(list, _labels, dict),
    "span": Text(str, split_span),
    "lists": Lists(),
    "acts": Acts(),
    "objects": Objects(),
    "semi/book": SemiBook((str, list)),
    "semi/book lists": SemiBook(list),
    "best goals": Text(dict, _best),
    "marks": Text(list, _right, int),
    "marks of wrong": Text(list, _wrong, int),
    "gt": Text(dict, _of_side("gt")),
    "pred": Text(dict, _of_side("pred")),
    "written": Loose(dict, dict),
    "written or null": Loose((dict, NoneType), lambda state: state or {}),
    "written nested or null": Loose(
        (dict, NoneType), lambda state: {domain: typed(slots, dict, domain) for domain, slots in (state or {}).items()}
    ),
    "frames": Frames(list),
    "first of frames": FirstOfFrames(list),
}
