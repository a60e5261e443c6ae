"""A JSON text as columns: its strings, how deep each stands and what follows, without a Python object for any of them.

Decoding a file into objects and then walking over them takes several times as long as parsing it. Between two strings
there is only structure (a "gap"), and a file has few distinct gaps; so each distinct gap is parsed once, and depths,
keys and values are sums and comparisons of small numbers.

    {"D": {"0": {"slot": "value"}}}     strings  D          0          slot       value
                                        depth    1          2          3          3
                                        kind     TO_OBJECT  TO_OBJECT  TO_STRING  VALUE

The text must be valid JSON. Anything rare in it raises `Unusual`: the file is then decoded into objects, which works
for any file and can say what is wrong in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from dstbench.arrays import Flags, Numbers
from dstbench.readers.words import Listed, Words, are_distinct


class Unusual(Exception):  # noqa: N818 (no error: the file is read in another way)
    """The file has something that cannot be read as columns."""


class Kind(IntEnum):
    """What a string is: a key (by what it leads to), a value, or an item of a list."""

    TO_STRING = 0
    TO_OBJECT = 1
    TO_LIST = 2
    TO_EMPTY_OBJECT = 3
    TO_EMPTY_LIST = 4
    TO_SCALAR = 5  # a number, true, false, null
    VALUE = 6  # that a key leads to
    ITEM = 7  # of a list


_IS_KEY: Final = Kind.VALUE  # kinds below are keys
_OPENS: Final = {"{": Kind.TO_OBJECT, "[": Kind.TO_LIST, "{}": Kind.TO_EMPTY_OBJECT, "[]": Kind.TO_EMPTY_LIST}
_MOST_GAPS: Final = 4096  # more distinct gaps mean that they hold data, such as numbers in lists
_MOST_NAMES: Final = 2**16
_SPACE: Final = re.compile(r"[ \t\r]+")
_INTO: Final = re.compile(r":([{\[]*)")
_AFTER: Final = re.compile(
    r"(?::(?P<value>\{\}|\[\]|[^{}\[\],:\n]+))?(?P<close>[}\]]*)(?P<next>[,\n]?)(?P<open>[{\[]*)"
)
_BEFORE: Final = re.compile(r"[{\[]+")
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_NONE: Final = -(2**63)
# Bytes from which on PyArrow, which finds distinct strings in a fourth of the time, saves more than importing it takes.
_PYARROW_PAYS: Final = 1 << 23


@dataclass(frozen=True)
class _Gap:
    """What stands between two strings.

    Attributes:
        kind: What the string before it is, as far as the gap shows it.
        low: The smallest depth in it, relative to its beginning.
        net: The depth at its end, relative to its beginning.
        line: Whether a line of JSON Lines ends in it.
        value: The scalar in it, if there is one.
    """

    kind: Kind
    low: int
    net: int
    line: bool
    value: str | None = None

    @staticmethod
    def of(text: str, *, lines: bool) -> _Gap:
        """Parse a gap; the end of a line matters only in JSON Lines."""
        text = re.sub(r"\n+", "\n" if lines else "", _SPACE.sub("", text))
        if into := _INTO.fullmatch(text):
            return _Gap(_OPENS.get(into[1][:1], Kind.TO_STRING), 0, len(into[1]), line=False)
        after = _AFTER.fullmatch(text)
        if after is None or (after["open"] and not after["next"]):
            raise Unusual
        if after["next"] == "\n" and after["open"] not in ("{", ""):
            raise Unusual
        value, low = after["value"], -len(after["close"])
        kind = Kind.ITEM if value is None else _OPENS.get(value, Kind.TO_SCALAR)
        return _Gap(kind, low, low + len(after["open"]), line=after["next"] == "\n", value=value)


@dataclass(frozen=True)
class Tokens:
    """The strings of a JSON text, in order; arrays have one entry per string.

    Attributes:
        words: The strings.
        kind: For each string: its `Kind`.
        depth: For each string: the number of objects and lists around it.
        low: For each string: the smallest depth since the string before.
        gap: For each string: the gap that follows, as an index into `gaps`.
        gaps: The scalar in each distinct gap, or None.
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
        """For each string: the index of the key at this depth that leads to it, or that it is; −1: there is none."""
        if depth not in self._keys:
            wide = len(self.kind) > 2**30
            at: Numbers = np.arange(0, 2 * len(self.kind), 2, dtype=np.int64 if wide else np.int32)
            is_key = (self.depth == depth) & (self.kind < _IS_KEY)
            at[~(is_key | (self.low < depth))] = 0
            at += is_key  # odd: a key; even: what was above has ended
            np.maximum.accumulate(at, out=at)
            self._keys[depth] = np.where(at & 1, at >> 1, -1)
        return self._keys[depth]

    def integers(self, at: Numbers) -> NDArray[np.int64]:
        """The integers to which these keys lead."""
        number = np.array([int(gap) if gap and _INTEGER.fullmatch(gap) else _NONE for gap in self.gaps], np.int64)
        integers = number[self.gap[at]]
        if (integers == _NONE).any():
            raise Unusual
        return integers

    def word(self, name: str) -> int:
        """The code of a word; −1 if it does not occur."""
        code = self.words.words.index_of(name)
        return -1 if code is None else code

    def shapes(self, among: Numbers | Flags | None = None) -> set[tuple[int, Kind]]:
        """The pairs of depth and kind that occur among all strings, or among some."""
        depth, kind = (self.depth, self.kind) if among is None else (self.depth[among], self.kind[among])
        counts = np.bincount(depth * len(Kind) + kind)
        return {(int(key) // len(Kind), Kind(int(key) % len(Kind))) for key in np.flatnonzero(counts)}

    def has_repeated_keys(self) -> bool:
        """Whether an object has a key twice."""
        for depth in range(1, int(self.depth.max()) + 1):
            at = np.flatnonzero((self.depth == depth) & (self.kind < _IS_KEY))
            holder = np.cumsum(self.low[at] < depth, dtype=np.int32)  # an object's first string is its first key
            names = self.words.only(at)
            if not are_distinct(holder, names.code, len(names.words)):
                return True
        return False

    def flat(self, row: Numbers, above: Numbers, depth: int) -> Listed:
        """States of the form {slot: value}.

        Args:
            row: For each string: the row of its turn.
            above: Indices of the keys that lead to the states.
            depth: Depth of the slots.

        Raises:
            Unusual: A state is not of this form. `nested` and `pairs` raise it likewise.
        """
        inside = self._inside(above, depth, Kind.TO_OBJECT, Kind.TO_EMPTY_OBJECT)
        self._expect(inside, {(depth, Kind.TO_STRING), (depth, Kind.VALUE)})
        slot = inside[self.kind[inside] == Kind.TO_STRING]
        return Listed(row[above], row[slot], self.words.only(slot), self.words.only(slot + 1))

    def nested(self, row: Numbers, above: Numbers, depth: int) -> Listed:
        """States of the form {domain: {slot: value}}; see `flat`, but `depth` is that of the domains."""
        inside = self._inside(above, depth, Kind.TO_OBJECT, Kind.TO_EMPTY_OBJECT)
        domain = {(depth, Kind.TO_OBJECT), (depth, Kind.TO_EMPTY_OBJECT)}
        self._expect(inside, domain | {(depth + 1, Kind.TO_STRING), (depth + 1, Kind.VALUE)})
        slot = inside[self.kind[inside] == Kind.TO_STRING]
        domains, slots = self.words.only(self.key(depth)[slot]), self.words.only(slot)
        if len(domains.words) * len(slots.words) > _MOST_NAMES:
            raise Unusual
        names = [f"{domain}-{name}" for domain in domains.words for name in slots.words]
        name = Words(domains.code * len(slots.words) + slots.code, pl.Series(names, dtype=pl.String))
        return Listed(row[above], row[slot], name, self.words.only(slot + 1))

    def pairs(self, row: Numbers, above: Numbers, depth: int) -> Listed:
        """States of the form [``domain-slot-value``]; see `flat`, but `depth` is that of the pairs."""
        pair = self._inside(above, depth, Kind.TO_LIST, Kind.TO_EMPTY_LIST)
        self._expect(pair, {(depth, Kind.ITEM)})
        return Listed(row[above], row[pair], None, self.words.only(pair))

    def _inside(self, above: Numbers, depth: int, *leads_to: Kind) -> Numbers:
        """The strings at this depth or deeper to which these keys lead; each key must be of one of these kinds."""
        if not np.isin(self.kind[above], leads_to).all():
            raise Unusual
        is_above = np.zeros(len(self.kind) + 1, dtype=np.bool_)  # the last one is for what stands under no key (−1)
        is_above[above] = True
        return np.flatnonzero((self.depth >= depth) & is_above[self.key(depth - 1)])

    def _expect(self, among: Numbers, shapes: set[tuple[int, Kind]]) -> None:
        """Raise `Unusual` if these strings have other depths and kinds."""
        if not self.shapes(among) <= shapes:
            raise Unusual


def tokens(data: bytes, *, lines: bool = False) -> Tokens:
    """The strings of a JSON text.

    Args:
        data: Valid JSON, or valid JSON Lines.
        lines: Whether it is JSON Lines, of which every line is an object.

    Raises:
        Unusual: There is no string, an object has a key twice, the text is not UTF-8, or a list holds anything but
            strings, objects and lists.
    """
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            raise Unusual from None
    has_escapes = b"\\" in data
    if has_escapes:  # so that every quotation mark begins or ends a string
        data = data.replace(rb"\\", rb"\u005c").replace(rb"\"", rb"\u0022")
    marks = np.flatnonzero(np.frombuffer(data, np.uint8) == ord('"'))
    if not len(marks):
        raise Unusual
    pieces = _pieces(data, marks)
    strings, between = (pieces.only(slice(first, None, 2)) for first in (0, 1))
    begin = _BEFORE.fullmatch("".join(data[: marks[0]].decode().split()))
    if len(between.words) > _MOST_GAPS or begin is None or (lines and begin[0] != "{"):
        raise Unusual
    gaps = [_Gap.of(gap, lines=lines) for gap in between.words]
    words = _unescaped(strings) if has_escapes else strings
    return _tokens(words, gaps, between.code, len(begin[0]), lines=lines)


def _tokens(words: Words, gaps: list[_Gap], code: Numbers, begin: int, *, lines: bool) -> Tokens:
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
            raise Unusual
    before = np.empty_like(behind)
    before[0], before[1:] = 0, behind[:-1]
    tokens = Tokens(words, kind, depth, before, code, [gap.value for gap in gaps], lines)
    if tokens.has_repeated_keys():
        raise Unusual
    return tokens


def _pieces(data: bytes, marks: Numbers) -> Words:
    """The texts between each quotation mark and the next: strings and gaps alternate."""
    if len(data) < _PYARROW_PAYS:
        return Words.of(pl.Series([data.decode()]).str.split('"').explode().slice(1))
    import pyarrow as pa

    small = len(data) < 2**31
    offsets = np.empty(len(marks) + 1, np.int32 if small else np.int64)
    offsets[:-1], offsets[-1] = marks, len(data)
    array = pa.StringArray if small else pa.LargeStringArray
    pieces = array.from_buffers(len(marks), pa.py_buffer(offsets), pa.py_buffer(data)).dictionary_encode()
    words = pl.Series(pieces.dictionary, dtype=pl.String).str.slice(1)  # without the mark
    return Words(pieces.indices.to_numpy(), words)


def _unescaped(strings: Words) -> Words:
    """The strings with their escapes decoded."""
    try:
        return strings.renamed([msgspec.json.decode(f'"{word}"') if "\\" in word else word for word in strings.words])
    except msgspec.DecodeError:
        raise Unusual from None
