"""A JSON text as columns: its strings, how deep each stands and what follows, without a Python object for any of them.

To decode a file into objects and then walk over them takes several times as long as to parse it. Text between two
strings is structure only, and machines write few different ones; so it is enough to know the distinct ones, and depth,
keys and values are sums and comparisons of small numbers.

Conventions: the text is valid JSON already. What is rare is not read here but said to be so (None): the reader then
goes the way of objects, which reads anything and knows what to say of what it cannot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import polars as pl

from dstbench.readers.builder import Listed, Words, are_distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.integer[Any]]
    Flags = NDArray[np.bool_]


class Kind(IntEnum):
    """What a string is: a key, by what it leads to, or a value."""

    TO_STRING = 0
    TO_OBJECT = 1
    TO_LIST = 2
    TO_EMPTY_OBJECT = 3
    TO_EMPTY_LIST = 4
    TO_SCALAR = 5  # a number, true, false, null
    VALUE = 6  # of a key
    ITEM = 7  # of a list


_IS_KEY: Final = Kind.VALUE  # kinds below are keys
_OPENS: Final = {"{": Kind.TO_OBJECT, "[": Kind.TO_LIST, "{}": Kind.TO_EMPTY_OBJECT, "[]": Kind.TO_EMPTY_LIST}
# More different structures than this are no structure: numbers in lists, say.
_MOST_GAPS: Final = 4096
_MOST_NAMES: Final = 2**16
_SPACE: Final = re.compile(r"[ \t\r]+")
_INTO: Final = re.compile(r":([{\[]*)")
_AFTER: Final = re.compile(
    r"(?::(?P<value>\{\}|\[\]|[^{}\[\],:\n]+))?(?P<close>[}\]]*)(?P<next>[,\n]?)(?P<open>[{\[]*)"
)
_BEFORE: Final = re.compile(r"[{\[]+")
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_NONE: Final = -(2**63)


@dataclass(frozen=True)
class _Gap:
    """What stands between two strings: `value` is what it holds itself, if not a string; `low` and `net` are depths."""

    kind: Kind
    low: int
    net: int
    line: bool
    value: str | None = None

    @staticmethod
    def of(text: str, *, lines: bool) -> _Gap | None:
        """Understand it; None if that takes more. Only in lines does the end of one mean anything."""
        text = re.sub(r"\n+", "\n" if lines else "", _SPACE.sub("", text))
        if into := _INTO.fullmatch(text):
            return _Gap(_OPENS.get(into[1][:1], Kind.TO_STRING), 0, len(into[1]), line=False)
        after = _AFTER.fullmatch(text)
        if after is None or (after["open"] and not after["next"]):
            return None
        if after["next"] == "\n" and after["open"] not in ("{", ""):
            return None
        value, low = after["value"], -len(after["close"])
        kind = Kind.ITEM if value is None else _OPENS.get(value, Kind.TO_SCALAR)
        return _Gap(kind, low, low + len(after["open"]), line=after["next"] == "\n", value=value)


@dataclass(frozen=True)
class Tokens:
    """The strings of a JSON text, in order; arrays have one entry per string.

    Attributes:
        words: The strings.
        kind: What each is, a `Kind`.
        depth: In how many objects and lists it stands.
        low: The smallest depth since the string before.
        gap: What follows, as its number among `gaps`.
        gaps: What can follow: of each, the scalar in it, or None.
        lines: Whether the text is JSON Lines.
    """

    words: Words
    kind: NDArray[np.uint8]
    depth: NDArray[np.int16]
    low: NDArray[np.int16]
    gap: Numbers
    gaps: list[str | None]
    lines: bool
    _keys: dict[int, Numbers] = field(default_factory=dict)

    def key(self, depth: int) -> Numbers:
        """Of each string: which key of this depth it stands under, or is; −1 if that is none."""
        if depth not in self._keys:
            wide = len(self.kind) > 2**30
            at: Numbers = np.arange(0, 2 * len(self.kind), 2, dtype=np.int64 if wide else np.int32)
            is_key = (self.depth == depth) & (self.kind < _IS_KEY)
            at[~(is_key | (self.low < depth))] = 0
            at += is_key  # odd: a key; even: what was above has ended
            np.maximum.accumulate(at, out=at)
            self._keys[depth] = np.where(at & 1, at >> 1, -1)
        return self._keys[depth]

    def integers(self, at: Numbers) -> NDArray[np.int64] | None:
        """The integers to which these keys lead; None if one leads to something else."""
        number = np.array([int(gap) if gap and _INTEGER.fullmatch(gap) else _NONE for gap in self.gaps], np.int64)
        found = number[self.gap[at]]
        return None if (found == _NONE).any() else found

    def word(self, name: str) -> int:
        """The code of a word; −1 if it does not occur."""
        at = self.words.words.index_of(name)
        return -1 if at is None else at

    def shapes(self, among: Numbers | Flags | None = None) -> set[tuple[int, Kind]]:
        """Which kinds of strings there are at which depth, of all or of some."""
        depth, kind = (self.depth, self.kind) if among is None else (self.depth[among], self.kind[among])
        counts = np.bincount(depth * len(Kind) + kind)
        return {(int(found) // len(Kind), Kind(int(found) % len(Kind))) for found in np.flatnonzero(counts)}

    def has_repeated_keys(self) -> bool:
        """Whether an object has a key twice."""
        for depth in range(1, int(self.depth.max()) + 1):
            at = np.flatnonzero((self.depth == depth) & (self.kind < _IS_KEY))
            holder = np.cumsum(self.low[at] < depth, dtype=np.int32)  # an object's first string is its first key
            names = self.words.only(at)
            if not are_distinct(holder, names.code, len(names.words)):
                return True
        return False

    def flat(self, row: Numbers, above: Numbers, depth: int) -> Listed | None:
        """States of the form {slot: value}.

        Args:
            row: Of each string: the turn in which it stands.
            above: Which strings are the keys that lead to the states.
            depth: That of the slots.

        Returns:
            None if anything is not of that form.
        """
        inside = self._inside(above, depth, Kind.TO_OBJECT, Kind.TO_EMPTY_OBJECT)
        if inside is None or not self.shapes(inside) <= {(depth, Kind.TO_STRING), (depth, Kind.VALUE)}:
            return None
        slot = inside[self.kind[inside] == Kind.TO_STRING]
        return Listed(row[above], row[slot], self.words.only(slot), self.words.only(slot + 1))

    def nested(self, row: Numbers, above: Numbers, depth: int) -> Listed | None:
        """States of the form {domain: {slot: value}}; `depth` is that of the domains (see `flat`)."""
        inside = self._inside(above, depth, Kind.TO_OBJECT, Kind.TO_EMPTY_OBJECT)
        if inside is None or not self.shapes(inside) <= {
            (depth, Kind.TO_OBJECT), (depth, Kind.TO_EMPTY_OBJECT), (depth + 1, Kind.TO_STRING), (depth + 1, Kind.VALUE)
        }:  # fmt: skip
            return None
        slot = inside[self.kind[inside] == Kind.TO_STRING]
        domains, slots = self.words.only(self.key(depth)[slot]), self.words.only(slot)
        if len(domains.words) * len(slots.words) > _MOST_NAMES:
            return None
        names = [f"{domain}-{name}" for domain in domains.words for name in slots.words]
        name = Words(domains.code * len(slots.words) + slots.code, pl.Series(names, dtype=pl.String))
        return Listed(row[above], row[slot], name, self.words.only(slot + 1))

    def pairs(self, row: Numbers, above: Numbers, depth: int) -> Listed | None:
        """States of the form [``domain-slot-value``]; `depth` is that of the pairs (see `flat`)."""
        pair = self._inside(above, depth, Kind.TO_LIST, Kind.TO_EMPTY_LIST)
        if pair is None or not self.shapes(pair) <= {(depth, Kind.ITEM)}:
            return None
        return Listed(row[above], row[pair], None, self.words.only(pair))

    def _inside(self, above: Numbers, depth: int, *leads_to: Kind) -> Numbers | None:
        """The strings, at this depth or below, under these keys; None if one of these leads to something else."""
        if not np.isin(self.kind[above], leads_to).all():
            return None
        is_above = np.zeros(len(self.kind) + 1, dtype=np.bool_)  # and one for what stands under no key
        is_above[above] = True
        return np.flatnonzero((self.depth >= depth) & is_above[self.key(depth - 1)])


def tokens(data: bytes, *, lines: bool = False) -> Tokens | None:
    """The strings of a JSON text.

    Args:
        data: Valid JSON, or valid JSON Lines.
        lines: Which of both; every line is an object.

    Returns:
        None if there is no string, an object has a key twice, bytes are no UTF-8, or a list holds anything but strings
        and objects or lists of them.
    """
    if not _is_utf8(data):
        return None
    escapes = b"\\" in data
    if escapes:  # so that every quotation mark begins or ends a string
        data = data.replace(rb"\\", rb"\u005c").replace(rb"\"", rb"\u0022")
    marks = np.flatnonzero(np.frombuffer(data, np.uint8) == ord('"'))
    if not len(marks):
        return None
    pieces = _pieces(data, marks)
    strings, between = (pieces.only(slice(first, None, 2)) for first in (0, 1))
    gaps = [_Gap.of(gap, lines=lines) for gap in between.words] if len(between.words) <= _MOST_GAPS else [None]
    begin = _BEFORE.fullmatch("".join(data[: marks[0]].decode().split()))
    words = _unescaped(strings) if escapes else strings
    if begin is None or (lines and begin[0] != "{") or words is None or None in gaps:
        return None
    return _tokens(words, [gap for gap in gaps if gap], between.code, len(begin[0]), lines=lines)


def _tokens(words: Words, gaps: list[_Gap], code: Numbers, begin: int, *, lines: bool) -> Tokens | None:
    kind = np.array([gap.kind for gap in gaps], np.uint8).take(code)
    low, net = (np.array([getattr(gap, name) for gap in gaps], np.int16).take(code) for name in ("low", "net"))
    kind[1:][(kind[1:] == Kind.ITEM) & (kind[:-1] == Kind.TO_STRING)] = Kind.VALUE
    depth = np.empty_like(net)
    depth[0], depth[1:] = begin, net[:-1]
    np.cumsum(depth, out=depth)
    behind = depth + low  # the smallest depth until the next string
    if lines:
        ends = np.array([gap.line for gap in gaps]).take(code)
        if ((behind[:-1] == 0) != ends[:-1]).any():
            return None
    before = np.empty_like(behind)
    before[0], before[1:] = 0, behind[:-1]
    found = Tokens(words, kind, depth, before, code, [gap.value for gap in gaps], lines)
    return None if found.has_repeated_keys() else found


def _pieces(data: bytes, marks: Numbers) -> Words:
    """What is between each mark and the next: by turns the strings and what stands between them."""
    import pyarrow as pa  # 0.2 s, and only large files need it

    small = len(data) < 2**31
    offsets = np.empty(len(marks) + 1, np.int32 if small else np.int64)
    offsets[:-1], offsets[-1] = marks, len(data)
    array = pa.StringArray if small else pa.LargeStringArray
    pieces = array.from_buffers(len(marks), pa.py_buffer(offsets), pa.py_buffer(data)).dictionary_encode()
    words = pl.Series(pieces.dictionary, dtype=pl.String).str.slice(1)  # without the mark
    return Words(pieces.indices.to_numpy(), words)


def _unescaped(strings: Words) -> Words | None:
    """Strings as they are meant; None if one holds what no JSON string may."""
    try:
        meant = [msgspec.json.decode(f'"{word}"') if "\\" in word else word for word in strings.words]
    except msgspec.DecodeError:
        return None
    return strings.renamed(meant)


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
