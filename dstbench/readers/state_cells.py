"""Reads the state in a cell, in any of the ways that people write states, as slots and values.

A state may be flat, ``{"hotel-area": "north"}``, or nested by domain, ``{"hotel": {"area": "north"}}``; a list of
``[slot, value]``, of ``[domain, slot, value]``, of ``{"slot": …, "value": …}`` or of ``"hotel-area-north"``; the text
of any of these, as JSON or as Python prints it; a span of PPTOD's, ``[hotel] area north stars 4``; or null, which is an
empty state.

Conventions: a value is a string. Numbers and booleans are taken as JSON writes them, but 4.0 as 4, because pandas
writes whole numbers like that if other values of the column are missing; null, NaN and ``[]`` say that the slot is not
in the state; the elements of a list are alternatives, joined by a bar; a list of one is its value. What is read loosely
is counted for a note. Anything else raises `Misfit`.
"""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeAlias

import msgspec

from dstbench.conventions.slots import KNOWN_SLOTS, canonical_slot, split_pair
from dstbench.errors import DstbenchError, number_of
from dstbench.readers.key_names import DIALOGUE_ONLY, TURN, named, says_its_side, turn_in
from dstbench.readers.notations import split_span, split_triple
from dstbench.readers.source import Misfit, Repeated, Source, clipped, in_words
from dstbench.readers.states import UNREADABLE, Pairs, SideBuilder
from dstbench.schema.core import BETWEEN
from dstbench.typing import Unreadable

#: A state: slots and values, in which a slot may come twice if they are pairs.
State: TypeAlias = dict[str, str] | Pairs

#: What a state may look like, for hints.
SHAPES: Final = 'a state is {"hotel-area": "north"}, {"hotel": {"area": "north"}}, or [["hotel-area", "north"]]'
# What to do about predicted states that are none, for hints.
_UNREADABLE_HINT: Final = "--unreadable wrong counts such a state as wrong, --unreadable empty takes it as empty"
# Unreadable states that a note shows.
_SHOWN: Final = 3
# Where raw MultiWOZ puts the slots of a domain; `booked` is what was booked, and no slot.
_PARTS: Final = {"semi": "", "book": "book "}
_BOOKED: Final = "booked"
#: The domains of MultiWOZ.
DOMAINS: Final = frozenset(slot.partition("-")[0] for slot in KNOWN_SLOTS)
_SEPARATORS: Final = ("-", "_", ".", " ")
# What stands between slots in a text.
_BETWEEN_SLOTS: Final = re.compile(r"[;,|\n]\s*")
_TEXT: Final = {str}
_SPAN: Final = re.compile(r"\[[a-z]+\](\s|$)")
# From this number on, floats are no longer exact.
_LARGE: Final = 1 << 53
# Types of pandas's nulls.
_MISSING: Final = ("NAType", "NaTType")
# What is read loosely, and how it is taken.
_LOOSE: Final = {
    "number": ("number", "taken as text"),
    "boolean": ("boolean", "taken as true and false"),
    "absent": ("value", "null or [] taken as not in the state"),
    "one": ("list", "of one value taken as the value"),
    "several": ("list", "of several values taken as alternatives"),
    "state": ("null state", "taken as empty"),
    "found": ("state", "in a text read without the words around"),
    "booked": ("item", "of what was booked left out"),
}


@dataclass
class StateCells:
    """Reads cells, and counts what it takes loosely; predicted states that are none, it takes as `_mode` says."""

    _mode: Unreadable = "error"
    _loose: Counter[str] = field(default_factory=Counter)
    _unreadable: list[Any] = field(default_factory=list)

    def add_from(self, sides: Sequence[SideBuilder], at: int, cell: Any, *, is_gold: bool) -> None:
        """Add the state in a cell to sides. A `Misfit`: it is none, and gold, or the user wants an error."""
        try:
            state = self.read(cell)
        except Misfit:
            if is_gold or self._mode == "error":
                raise
            self.take_unreadable(sides[-1], at, cell)
            return
        for side in sides:
            side.state(at, state)

    def take_unreadable(self, side: SideBuilder, at: int, cell: Any) -> None:
        """Take a predicted state that is none as the user says."""
        self._unreadable.append(cell)
        side.state(at, [(UNREADABLE, self._mode)] if self._mode == "wrong" else [])

    def notes(self) -> list[str]:
        """What was read loosely."""
        counts = []
        if number := len(self._unreadable):
            taken = "counted as wrong" if self._mode == "wrong" else "taken as empty"
            shown = ", ".join(clipped(repr(cell)) for cell in self._unreadable[:_SHOWN])
            counts.append(f"{number_of(number, 'predicted state')} that cannot be read {taken}, such as {shown}")
        loose = ((self._loose[kind], *words) for kind, words in _LOOSE.items())
        return counts + [f"{number_of(number, noun)} {treatment}" for number, noun, treatment in loose if number]

    def read(self, cell: Any) -> State:
        """The state in a cell. A `Misfit`: it is none."""
        if not isinstance(cell, dict):
            cell = without_numpy(cell)
            if is_missing(cell):
                self._loose["state"] += 1
                return {}
            if isinstance(cell, str):
                cell = self._parsed(cell)
        if isinstance(cell, dict):  # most cells are flat or nested, with nothing to read loosely
            if _are_texts(cell):
                return cell
            if all(type(slots) is dict and _are_texts(slots) for slots in cell.values()):
                return [(joined(domain, slot), text) for domain, slots in cell.items() for slot, text in slots.items()]
        pairs: Pairs = []
        for slot, value in _entries(cell):
            are_objects = isinstance(value, list) and all(isinstance(item, Mapping) for item in value)
            if slot.endswith(f"-{_PARTS['book']}{_BOOKED}") or (slot.endswith(_BOOKED) and are_objects):
                self._loose["booked"] += 1
            elif isinstance(value, (Mapping, Repeated)):
                raise Misfit("an object, where a value must be", slot)
            elif (text := self.value(value, slot)) is not None:
                pairs.append((slot, text))
        return pairs

    def value(self, value: Any, slot: str) -> str | None:
        """A value as text; None: the slot is not in the state."""
        values = without_numpy(value)
        if not isinstance(values, (list, tuple)):
            return self._scalar(values, slot)
        distinct = dict.fromkeys(text for value in values if (text := self._scalar(value, slot)) is not None)
        if not values:
            self._loose["absent"] += 1
        elif distinct:
            self._loose["one" if len(values) == 1 else "several"] += 1
        return BETWEEN.join(distinct) if distinct else None

    def _scalar(self, value: Any, slot: str) -> str | None:
        if isinstance(value, str):
            return value
        if is_missing(value):
            self._loose["absent"] += 1
            return None
        if isinstance(value, bool):
            self._loose["boolean"] += 1
            return "true" if value else "false"
        if isinstance(value, (int, float)) and abs(value) < _LARGE:
            self._loose["number"] += 1
            return str(int(value)) if value == int(value) else repr(value)
        raise Misfit(f"{in_words(value)}, where a value must be", slot)

    def _parsed(self, text: str) -> Any:
        if _SPAN.match(text.strip()) and None not in (pairs := split_span(text)):
            return [pair for pair in pairs if pair is not None and pair[1] != "not mentioned"]
        try:
            return parsed(text)
        except Misfit:
            if (slots := written_out(text)) is not None:
                return slots
            if (state := found_in(text)) is None:
                raise
            self._loose["found"] += 1
            return state


def _entries(state: Any) -> Iterator[tuple[str, Any]]:
    """The slots of a state, with their values as they are written. A `Misfit`: it is none."""
    if isinstance(state, (Mapping, Repeated)):
        if isinstance(state, Mapping) and state.keys() == {"name", "arguments"}:
            raise Misfit("a function call, where a state must be")
        for key, value in _items(state, None):
            if not isinstance(value, (Mapping, Repeated)):
                yield from _of_objects(key, value) or [(key, value)]
                continue
            for slot, inner in _items(value, key):
                if isinstance(inner, (Mapping, Repeated)) and slot in _PARTS:
                    yield from ((joined(key, f"{_PARTS[slot]}{name}"), value) for name, value in _items(inner, key))
                else:
                    yield joined(key, slot), inner
    elif isinstance(state, (list, tuple)):
        for element in state:
            if (entries := _slots_of(element)) is None:
                is_text = isinstance(element, str)
                what = "is not of the form domain-slot-value" if is_text else ", where a slot with its value must be"
                raise Misfit(f"{element!r} {what}" if is_text else f"{in_words(element)}{what}")
            yield from entries
    elif state is not None:
        raise Misfit(f"{in_words(state)}, where a state must be")


def _of_objects(domain: str, value: Any) -> Pairs:
    """The slots and values of a domain in ``[{"name": "area", "value": "north"}]``; empty: it is no such list."""
    items = value if isinstance(value, (list, tuple)) else ()
    slots = [_slots_of(item) if isinstance(item, Mapping) else None for item in items]
    return [] if None in slots else [(joined(domain, slot), inner) for pairs in slots for slot, inner in pairs or ()]


def _items(state: Mapping[Any, Any] | Repeated, domain: str | None) -> Iterator[tuple[str, Any]]:
    for key, value in state if isinstance(state, Repeated) else state.items():
        if not isinstance(key, str):
            raise Misfit(f"the slot {key!r} is not a string", domain)
        yield key, value


def no_state(
    source: Source, error: Misfit, place: str = "", *, is_gold: bool, line: str = "", **where: Any
) -> DstbenchError:
    """The error for a cell that is no state; `line` may be the option that is needed."""
    hint = "; ".join(filter(None, [line, SHAPES, "" if is_gold else _UNREADABLE_HINT]))
    return source.error(f"{place}{error.what}", hint, **where, **({} if error.slot is None else {"slot": error.slot}))


def without_numpy(value: Any) -> Any:
    """A NumPy value, or an array, as pandas and NumPy make of a list, as Python's own; other values unchanged."""
    return value.tolist() if hasattr(value, "tolist") else value


def is_missing(value: Any) -> bool:
    """Whether a value is null: None, NaN, or what pandas has for these."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in _MISSING


def could_be_state(cell: Any) -> bool | None:
    """Whether a cell can be read as one state, and is no record or list of states; None: it is empty, as one may be."""
    cell = without_numpy(cell)
    is_text, is_list = isinstance(cell, str), isinstance(cell, (list, tuple))
    is_empty = says_nothing(unfenced(cell)) if is_text else (is_list or isinstance(cell, Mapping)) and not cell
    if is_empty or is_missing(cell):
        return None
    if isinstance(cell, Mapping):
        below = [(key, slot) for key, value in cell.items() if isinstance(value, Mapping) for slot in value]
        sides = map(says_its_side, [*filter(cell.get, cell), *(slot for _, slot in below)])
        whole = (isinstance(slot, str) and _is_known(slot) and joined(str(key), slot) != slot for key, slot in below)
        if any(sides) or any(whole) or named(cell, DIALOGUE_ONLY + TURN):
            return False  # a record, which has states, or both sides of a slot
    elif is_list and all(isinstance(item, (list, tuple)) and item and all(map(_is_pair, item)) for item in cell):
        return False
    with suppress(Misfit):
        StateCells().read(cell)
        return True
    return False


def states_in(cell: Any, *, surely: bool = True) -> dict[int, Any] | None:
    """The states, by turn, in a cell that holds those of several turns; None: it does not (or not `surely`)."""
    keys = [*cell] if isinstance(cell, Mapping) else []
    numbers = {turn: key for key in keys if isinstance(key, str) and (turn := turn_in(key)) is not None}
    if numbers and len(numbers) == len(keys):
        turns = {turn: cell[key] for turn, key in numbers.items()}
    elif isinstance(cell, (list, tuple)) and not (could_be_state(cell) if surely else lists_slots(cell)):
        turns = dict(enumerate(cell))
    else:
        return None
    found = not surely
    for state in turns.values() if surely else ():
        if (look := could_be_state(state)) is False:
            return None
        found = found or look is True
    return turns if found else None


def lists_slots(cell: Any) -> bool:
    """Whether a cell is a list of several slots as ``domain-slot-value``, and so is one state, not several."""
    pairs = [split_text(item) if isinstance(item, str) else None for item in cell] if isinstance(cell, list) else []
    return None not in pairs and len({slot for slot, _ in filter(None, pairs)}) > 1


def _is_pair(text: Any) -> bool:
    """Whether a text is ``domain-slot-value``, rather than the name of a slot with hyphens in it."""
    return isinstance(text, str) and split_text(text) is not None and canonical_slot(text) not in KNOWN_SLOTS


@lru_cache(maxsize=65_536)
def joined(domain: str, slot: str) -> str:
    """Domain and slot as one name; the slot's name may already contain the domain."""
    begins = slot[: len(domain)].lower() == domain.lower() and slot[len(domain) :][:1] in _SEPARATORS
    return slot if begins else f"{domain}-{slot}"


@lru_cache(maxsize=65_536)
def split_text(text: str) -> tuple[str, str] | None:
    """Slot and value of ``hotel-area-north``, ``hotel-area=north``, ``hotel-area: north`` or ``hotel area north``.

    A text with several slots is none of these.
    """
    if text[:1] in ("{", "["):
        return None
    pair = split_pair(text)
    for sign in "=:":
        slot, separator, value = text.partition(sign)
        if separator and _is_known(slot.strip()):
            pair = slot.strip(), value.strip()
            break
    if pair is None and (triple := split_triple(text)) is not None and _is_known(triple[0]):
        pair = triple
    if pair is None:
        return None
    others = map(split_text, _BETWEEN_SLOTS.split(pair[1])[1:])
    return None if any(other is not None and _is_known(other[0]) for other in others) else pair


def _are_texts(slots: dict[Any, Any]) -> bool:
    return {*map(type, slots), *map(type, slots.values())} <= _TEXT


def _is_known(slot: str) -> bool:
    return canonical_slot(slot) in KNOWN_SLOTS


def _slots_of(element: Any) -> list[tuple[str, Any]] | None:
    """The slots and values in an element of a list; None: it has another form."""
    element = without_numpy(element)
    if isinstance(element, str):
        return None if (pair := split_text(element)) is None else [pair]
    if isinstance(element, Mapping):
        if "slots" in element and isinstance(element["slots"], (list, tuple)):  # as TRADE's data have them
            entries = [_slots_of(pair) for pair in element["slots"]] if element.get("act", "inform") == "inform" else []
            return None if None in entries else [entry for several in entries for entry in several or ()]
        if element.keys() == {"name", "arguments"} and element["name"] in DOMAINS:  # a function call per domain
            slots = element["arguments"]
            return [(joined(element["name"], s), v) for s, v in slots.items()] if isinstance(slots, Mapping) else None
        slot = next((element[name] for name in ("slot", "key", "name") if isinstance(element.get(name), str)), None)
        if slot is None or not {"value"} <= element.keys() <= {"domain", "slot", "key", "name", "value", "act"}:
            return None
        domain = element.get("domain")
        return [(joined(domain, slot) if isinstance(domain, str) and domain else slot, element["value"])]
    if isinstance(element, (list, tuple)) and len(element) in (2, 3) and all(isinstance(s, str) for s in element[:-1]):
        if all(_is_pair(text) and _is_known(split_text(text)[0]) for text in element):  # type: ignore[index] # a pair
            return None
        return [(joined(*element[:2]) if len(element) == 3 else element[0], element[-1])]
    return None


# --- texts ------------------------------------------------------------------------------------------------------------


# Texts that mean no state, in lower case.
_NOTHING: Final = frozenset({"", "null", "none", "nan"})
_FENCE: Final = re.compile(r"```\w*\n(.*?)\s*```", re.DOTALL)
# A lone surrogate is a ValueError, and so is msgspec's error from its version 0.20.
_NOT_JSON: Final = (ValueError, msgspec.DecodeError, RecursionError)
# How texts of Python's literals begin that are states.
_LITERAL: Final = ("{", "[", "(", "'", '"')
# Names that are no Python literals, but that JSON has, or Python prints for NaN.
_LITERALS: Final = {"null": None, "nan": None, "NaN": None, "true": True, "false": False}


def parsed(text: str) -> Any:
    """What a text says as JSON, or as Python prints it. A `Misfit`: it is neither."""
    stripped = unfenced(text)
    if says_nothing(stripped):
        return None
    try:
        msgspec.json.decode(stripped.encode())  # stricter than Python's decoder, which accepts half characters
        value = json.loads(stripped, object_pairs_hook=_object)
    except _NOT_JSON:
        try:
            value = _from_python(stripped)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            raise Misfit(f"the text {clipped(stripped)!r} is neither JSON nor a Python literal") from None
    return parsed(value) if isinstance(value, str) and value != text else value


def found_in(text: str) -> Any:
    """The one object in the prose of a language model; None: there is none.

    What a model thinks before it answers is no answer.
    """
    answer = text.rpartition("</think>")[2]
    begin, end = answer.find("{"), answer.rfind("}") + 1
    if not 0 <= begin < end or "<think>" in answer:
        return None
    with suppress(Misfit):
        value = parsed(answer[begin:end])
        return value if isinstance(value, (dict, Repeated)) else None
    return None


def written_out(text: str) -> Pairs | None:
    """The slots and values of a text between semicolons, bars, line breaks or commas; None: some part is none."""
    whole = unfenced(text)
    for sign in ";|\n,":
        parts = [part.strip() for part in whole.split(sign) if part.strip()]
        pairs = [pair for part in parts if (pair := split_text(part)) is not None and _is_known(pair[0])]
        if parts and len(pairs) == len(parts):
            return pairs
    return None


def says_nothing(text: str) -> bool:
    """Whether a text is empty, or a word for null."""
    return text.strip().casefold() in _NOTHING


def unfenced(text: str) -> str:
    """A text without the space around it, or the Markdown fence in which language models put JSON."""
    stripped = text.strip()
    fence = _FENCE.fullmatch(stripped) if stripped.startswith("```") else None
    return fence[1] if fence else stripped


def _from_python(text: str) -> Any:
    if text[:1] not in _LITERAL:
        raise ValueError(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about backslashes before other letters
        return _value_of(ast.parse(text, mode="eval").body)


def _value_of(node: ast.expr) -> Any:
    """The value of a Python literal, in which repeated keys are not lost."""
    if isinstance(node, ast.Dict):
        keys = [ast.literal_eval(key) for key in node.keys if key is not None]  # None: another object is unpacked
        return _object(zip(keys, map(_value_of, node.values), strict=True))
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value_of(element) for element in node.elts]
    if isinstance(node, ast.Name) and node.id in _LITERALS:
        return _LITERALS[node.id]
    return ast.literal_eval(node)


def _object(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any] | Repeated:
    pairs = list(pairs)
    content = dict(pairs)
    return content if len(content) == len(pairs) else Repeated(pairs)
