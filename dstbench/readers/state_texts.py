"""States that are left as JSON texts, split into slots and values, all those of a side of a file at once.

Between the strings of a state there is only structure (a "gap"), and states have few distinct gaps. If each is one that
the kind of state has, then each string is what its place says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import polars as pl

from dstbench.arrays import Numbers
from dstbench.readers.shapes import Unusual
from dstbench.readers.words import Words, are_distinct

#: What stands between states; no JSON text has it.
_BREAK: Final = "\0"
#: Gaps within a state and between states; there may be empty states between two.
_FLAT: Final = re.compile(r"[:,]|\}\0(?:\{\}\0)*\{")
_NESTED: Final = re.compile(r"[:,]|:\{|(?::\{)?\},|(?::\{)?\}\}\0(?:\{\}\0)*\{")
_PAIRS: Final = re.compile(r",|\]\0(?:\[\]\0)*\[")
# Bytes from which on PyArrow, which finds distinct strings in a fourth of the time, saves more than importing it takes.
_PYARROW_PAYS: Final = 1 << 22


def split_flat(texts: Sequence[msgspec.Raw]) -> tuple[Numbers, Words, Words]:
    """The slots and values of states {slot: value}.

    Args:
        texts: The states; at least one.

    Returns:
        For each slot: the index of its state, the slot, and the value.

    Raises:
        Unusual: One of them is not of this form, or has a slot twice. The other functions raise it likewise.
    """
    row, _, pieces = _pieces_of(texts, _FLAT, "}", "{")
    row, slot, value = row[::2], *(_unescaped(pieces.only(slice(first, None, 4))) for first in (1, 3))
    if not are_distinct(row, slot.code, len(slot.words)):
        raise Unusual
    return row, slot, value


def split_nested(texts: Sequence[msgspec.Raw]) -> tuple[Numbers, Words, Words, Words]:
    """The slots of states {domain: {slot: value}}: for each, its state's index, domain, slot, and value."""
    row, gaps, pieces = _pieces_of(texts, _NESTED, "}}", "{")
    before, behind = gaps.code[:-1], gaps.code[1:]
    is_domain = np.array(["}" in gap for gap in gaps.words], np.bool_)[before]
    has_slots = np.array([gap.startswith(":{") for gap in gaps.words], np.bool_)[behind]
    if (is_domain != has_slots).any():
        raise Unusual
    strings = pieces.code[1::2]
    domain = _unescaped(Words(strings[is_domain], pieces.words))
    cells = np.flatnonzero(~is_domain)
    slot, value = (_unescaped(pieces.only(2 * cells[first::2] + 1)) for first in (0, 1))
    part = np.cumsum(is_domain)[cells[::2]] - 1
    for group, words in ((row[is_domain], domain), (part, slot)):
        if not are_distinct(group, words.code, len(words.words)):
            raise Unusual
    return row[cells[::2]], domain.only(part), slot, value


def split_pairs(texts: Sequence[msgspec.Raw]) -> tuple[Numbers, Words]:
    """The pairs of states [``domain-slot-value``]: for each, the index of its state, and the pair."""
    row, _, pieces = _pieces_of(texts, _PAIRS, "]", "[")
    return row, _unescaped(pieces.only(slice(1, None, 2)))


def _pieces_of(
    texts: Sequence[msgspec.Raw], gap: re.Pattern[str], end: str, start: str
) -> tuple[Numbers, Words, Words]:
    """Of each string in the states, its state's index; the gaps, without space; gaps and strings, escaped, in turn."""
    data = _BREAK.encode().join((end.encode(), *texts, start.encode()))  # gaps at both ends are as those between states
    if b"\\" in data:  # so that every quotation mark begins or ends a string
        data = data.replace(rb"\\", rb"\u005c").replace(rb"\"", rb"\u0022")
    pieces = _pieces(data)
    gaps = pieces.only(slice(0, None, 2))
    gaps = Words(gaps.code, gaps.words.str.replace_all(r"[ \t\r\n]", ""))
    if not all(map(gap.fullmatch, gaps.words)):
        raise Unusual
    breaks = np.array([word.count(_BREAK) for word in gaps.words], np.int32)
    row = np.cumsum(breaks[gaps.code[:-1]], dtype=np.int32)
    row -= 1
    return row, gaps, pieces


def _pieces(data: bytes) -> Words:
    """What stands before, between and behind the quotation marks of a text."""
    try:
        if len(data) < _PYARROW_PAYS:
            return Words.of(pl.Series(data.decode().split('"')))
        data.isascii() or data.decode()
    except UnicodeDecodeError:
        raise Unusual from None
    import pyarrow as pa

    marks = np.flatnonzero(np.frombuffer(data, np.uint8) == ord('"'))
    offsets = np.empty(len(marks) + 2, np.int32 if len(data) < 2**31 else np.int64)
    offsets[0], offsets[1:-1], offsets[-1] = 0, marks, len(data)
    array = pa.StringArray if len(data) < 2**31 else pa.LargeStringArray
    pieces = array.from_buffers(len(marks) + 1, pa.py_buffer(offsets), pa.py_buffer(data)).dictionary_encode()
    words = pl.Series(pieces.dictionary, dtype=pl.String).str.strip_prefix('"')
    return Words(pieces.indices.to_numpy(), words)


def _unescaped(words: Words) -> Words:
    """The strings with their escapes decoded."""
    written = words.words.to_list()
    if not any("\\" in word for word in written):
        return words
    try:
        return words.renamed([msgspec.json.decode(f'"{word}"') if "\\" in word else word for word in written])
    except msgspec.DecodeError:
        raise Unusual from None
