"""Splits states that were left as JSON texts into slots and values, all states of one side of a file at once.

A piece is a string of a state, or a slot and its value, with the punctuation that follows. States have few distinct
pieces, so each is checked once: if its punctuation is that of such states, its position says what each string is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from dstbench.arrays import Numbers
from dstbench.readers.shapes import Unusual
from dstbench.readers.words import Words, are_distinct

#: What follows a string, within a state or at its end; there may be empty states before the next one.
_FLAT: Final = re.compile(r",|\}(?:,\{\})*(?:,\{|\])")
_NESTED: Final = re.compile(r"[:,]|:\{|(?::\{)?\},|(?::\{)?\}\}(?:,\{\})*(?:,\{|\])")
_PAIRS: Final = re.compile(r",|\](?:,\[\])*(?:,\[|\])")
_SPACE: Final = re.compile(r"[ \t\r\n]+")
# From so many bytes on, PyArrow saves more time (it finds distinct pieces in a third) than importing it takes.
_PYARROW_PAYS: Final = 1 << 21


def split_flat(texts: Sequence[msgspec.Raw]) -> tuple[Numbers, Words, Words]:
    """The slots and values of states {slot: value}.

    Args:
        texts: The states; at least one.

    Returns:
        For each slot: the index of its state, the slot, and the value.

    Raises:
        Unusual: One of them is not of this form, or has a slot twice. The other functions raise it likewise.
    """
    row, code, (slots, colons, values, _) = _pieces_of(texts, 2, _FLAT, "}", ",{")
    if {*colons} - {":"}:
        raise Unusual
    slot, value = _words(code, slots), _words(code, values)
    if not are_distinct(row, slot.code, len(slot.words)):
        raise Unusual
    return row, slot, value


def split_nested(texts: Sequence[msgspec.Raw]) -> tuple[Numbers, Words, Words, Words]:
    """The slots of states {domain: {slot: value}}: for each, its state's index, domain, slot, and value."""
    row, code, (strings, gaps) = _pieces_of(texts, 1, _NESTED, "}}", ",{")
    kinds = [gap[:2] if gap[0] == ":" else "" for gap in gaps]  # ":{" follows a domain, ":" a slot
    is_domain = np.array([kind == ":{" for kind in kinds], np.bool_)[code]
    should_be = np.ones(len(code), np.bool_)
    should_be[1:] = np.array(["}" in gap for gap in gaps], np.bool_)[code[:-1]]
    if (is_domain != should_be).any():
        raise Unusual
    at = np.flatnonzero(np.array([kind == ":" for kind in kinds], np.bool_)[code])
    domain, slot, value = (
        _words(code[places], [string if kind == wanted else None for string, kind in zip(strings, kinds, strict=True)])
        for places, wanted in ((is_domain, ":{"), (at, ":"), (at + 1, ""))
    )
    part = np.cumsum(is_domain)[at] - 1
    for group, words in ((row[is_domain], domain), (part, slot)):
        if not are_distinct(group, words.code, len(words.words)):
            raise Unusual
    return row[at], domain.only(part), slot, value


def split_pairs(texts: Sequence[msgspec.Raw]) -> tuple[Numbers, Words]:
    """The pairs of states [``domain-slot-value``]: for each, the index of its state, and the pair."""
    row, code, (pairs, _) = _pieces_of(texts, 1, _PAIRS, "]", ",[")
    return row, _words(code, pairs)


def _pieces_of(
    texts: Sequence[msgspec.Raw], strings: int, gap: re.Pattern[str], end: str, start: str
) -> tuple[Numbers, Numbers, list[Sequence[str]]]:
    """Pieces of `strings` strings: the state and the code of each, and the parts of the distinct pieces, by code.

    A piece ends with a `gap`, in which a state may `end` and others `start`. Strings are still escaped.
    """
    data = msgspec.json.encode(texts)
    if b"\\" in data:  # so that every quotation mark begins or ends a string
        data = data.replace(rb"\\", rb"\u005c").replace(rb"\"", rb"\u0022")
    before, code, distinct = _pieces(data, 2 * strings)
    columns: list[Sequence[str]] = [*zip(*distinct, strict=True)] or [()] * (2 * strings)
    for at in range(1, 2 * strings, 2):
        gaps = {text: _SPACE.sub("", text) for text in columns[at]}
        columns[at] = [gaps[text] for text in columns[at]]
    first = f"{end},{_SPACE.sub('', before)[1:]}"  # as if a state came before
    if not all(map(gap.fullmatch, {first, *columns[-1]})):
        raise Unusual
    row: Numbers = np.full(len(code), first.count(start) - 1, np.int32)
    row[1:] += np.cumsum(np.array([gap.count(start) for gap in columns[-1]], np.int32)[code[:-1]], dtype=np.int32)
    return row, code, columns


def _pieces(data: bytes, width: int) -> tuple[str, Numbers, list[Sequence[str]]]:
    """A text split at quotation marks: its first part, the codes of pieces of `width` parts, the distinct pieces."""
    try:
        if len(data) < _PYARROW_PAYS:
            before, *parts = data.decode().split('"')
            numbers: dict[Sequence[str], int] = {}
            columns = (parts[at::width] for at in range(width))
            code = [numbers.setdefault(piece, len(numbers)) for piece in zip(*columns, strict=True)]
            return before, np.array(code, np.int32), [*numbers]
        data.isascii() or data.decode()
    except ValueError:  # it is not UTF-8, or a piece is not complete
        raise Unusual from None
    import pyarrow as pa

    marks = np.flatnonzero(np.frombuffer(data, np.uint8) == ord('"'))
    if len(marks) % width:
        raise Unusual
    is_short = len(data) < 2**31
    offsets = np.append(marks[::width], len(data)).astype(np.int32 if is_short else np.int64)
    array = pa.StringArray if is_short else pa.LargeStringArray
    pieces = array.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data)).dictionary_encode()
    distinct = [piece.split('"')[1:] for piece in pieces.dictionary.to_pylist()]
    return data[: offsets[0]].decode(), pieces.indices.to_numpy(), distinct


def _words(code: Numbers, strings: Sequence[str | None]) -> Words:
    """The words of these codes, whose strings are escaped as in JSON; see `Words.named`."""
    try:
        names = [msgspec.json.decode(f'"{text}"') if text is not None and "\\" in text else text for text in strings]
    except msgspec.DecodeError:
        raise Unusual from None
    return Words.named(code, names)
