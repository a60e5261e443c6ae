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

#: Gaps within a state and between states, which a line break parts; there may be empty states between two.
_FLAT: Final = re.compile(r"[:,]|\}\n(?:\{\}\n)*\{")
_PAIRS: Final = re.compile(r",|\]\n(?:\[\]\n)*\[")
# Bytes from which on PyArrow, which finds distinct strings in a fourth of the time, saves more than importing it takes.
_PYARROW_PAYS: Final = 1 << 22


def split_flat(texts: Sequence[msgspec.Raw]) -> tuple[Numbers, Words, Words]:
    """The slots and values of states {slot: value}.

    Args:
        texts: The states, without space between tokens; at least one.

    Returns:
        For each slot: the index of its state, the slot, and the value.

    Raises:
        Unusual: One of them is not of this form, or has a slot twice. `split_pairs` raises it likewise.
    """
    row, pieces = _pieces_of(texts, _FLAT, b"{}")
    row, slot, value = row[::2], *(_unescaped(pieces.only(slice(first, None, 4))) for first in (1, 3))
    if not are_distinct(row, slot.code, len(slot.words)):
        raise Unusual
    return row, slot, value


def split_pairs(texts: Sequence[msgspec.Raw]) -> tuple[Numbers, Words]:
    """The pairs of states [``domain-slot-value``]: for each, the index of its state, and the pair; see `split_flat`."""
    row, pieces = _pieces_of(texts, _PAIRS, b"[]")
    return row, _unescaped(pieces.only(slice(1, None, 2)))


def _pieces_of(texts: Sequence[msgspec.Raw], gap: re.Pattern[str], ends: bytes) -> tuple[Numbers, Words]:
    """For each string of the states, the index of its state; and gaps and strings, with their escapes, in turn."""
    data = b"\n".join((ends[1:], *texts, ends[:1]))  # so that gaps at both ends are as those between states
    if b"\\" in data:  # so that every quotation mark begins or ends a string
        data = data.replace(rb"\\", rb"\u005c").replace(rb"\"", rb"\u0022")
    pieces = _pieces(data)
    gaps = pieces.only(slice(0, None, 2))
    if not all(map(gap.fullmatch, gaps.words)):
        raise Unusual
    breaks = np.array([word.count("\n") for word in gaps.words], np.int32)
    row = np.cumsum(breaks[gaps.code[:-1]], dtype=np.int32)
    row -= 1
    return row, pieces


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
