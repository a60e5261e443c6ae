"""The objects of a JSON list one by one, in memory that does not grow with the file."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dstbench.readers.source import Source

_CHUNK: Final = 1 << 22
# Entries whose text fits into the processor's cache, and the bytes that fit.
_BLOCK, _CACHED = 1 << 8, 1 << 18
_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_BEHIND: Final = re.compile(r"trailing characters \(byte (\d+)\)")  # the decoder counts bytes from 1
# What precedes an entry of an object or a list.
_ENTRY: Final = re.compile(rb'\s*[{\[,]\s*(?:("(?:[^"\\]++|\\.)*+")\s*:\s*)?', re.DOTALL)
_RAW: Final = msgspec.json.Decoder(msgspec.Raw)
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Window:
    """The part of a stream that is in memory.

    Attributes:
        data: The bytes in memory.
        at: Index of the next byte in `data`.
        passed: Number of bytes of the content before `data`.
    """

    def __init__(self, source: Source, file: BinaryIO) -> None:
        self._source, self._file = source, file
        self.data, self.at, self.passed = b"", 0, 0

    def more(self) -> bool:
        """Drop the bytes before `at` and read on; returns whether there was something to read."""
        rest = len(self.data) - self.at
        try:
            chunk = self._file.read(max(_CHUNK, rest))  # twice as much each time, for an object larger than a chunk
        except OSError as error:
            raise self._source.error(f"cannot be read: {error.strerror}") from None
        self.data, self.passed, self.at = self.data[self.at :] + chunk, self.passed + self.at, 0
        return bool(chunk)

    def peek(self) -> bytes:
        """The next byte that is not a space; empty at the end."""
        while True:
            space = _SPACE.match(self.data, self.at)
            self.at = space.end() if space else self.at
            if self.at < len(self.data) or not self.more():
                return self.data[self.at : self.at + 1]


def items(source: Source, keep: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a top-level JSON list, with only some of their keys."""
    with source.stream() as file:
        window = _Window(source, file)
        if window.peek() != b"[":
            raise source.misshapen("not a JSON list")
        window.at += 1
        number, mark = 0, window.peek()
        while mark != b"]":
            place = f"item {number}: "
            if mark not in (b"{", b""):
                raise source.misshapen(f"{place}expected an object")
            try:
                yield place, _kept(source, window, keep)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise source.broken(error, place, window.passed + window.at) from None
            mark = window.peek()
            if mark == b",":
                window.at += 1
                number, mark = number + 1, window.peek()
                if mark == b"]":
                    raise source.broken("trailing comma in array", place)
            elif mark != b"]":
                raise source.broken("expected ',' or ']'" if mark else "truncated", place)
        window.at += 1
        if window.peek():
            raise source.broken("trailing characters")


def first_entries(data: bytes, most: int) -> Any:
    """The first entries of a JSON object or list, decoded; what follows them is not looked at."""
    entries: list[tuple[bytes | None, Any]] = []
    view, at = memoryview(data), 0
    while len(entries) < most and (start := _ENTRY.match(data, at)):
        entry = view[start.end() :]
        try:
            _RAW.decode(entry)
        except msgspec.DecodeError as error:
            if behind := _BEHIND.search(str(error)):
                entry = entry[: int(behind[1]) - 1]
        entries.append((start[1], msgspec.json.decode(entry)))
        at = start.end() + len(entry)
    keys = [key for key, _ in entries if key]
    is_object = data[: data.find(b"{") + 1].lstrip() == b"{"
    if len(keys) != len(entries) * is_object:
        raise msgspec.DecodeError("keys of a list, or entries of an object without keys")
    if is_object:
        return dict(zip(map(msgspec.json.decode, keys), (entry for _, entry in entries), strict=True))
    return [entry for _, entry in entries]


def may_repeat_keys(data: bytes, document: Any) -> bool:
    """Whether decoding may have lost a key of an object, because it is there twice or the object's type lacks it.

    A lost key takes its quotation marks with it. So the document, written again, has fewer of them than the text,
    unless the text escapes some.
    """
    if b"\\" in data and rb"\u0022" in data:  # searching for a single byte first is twenty times as fast
        return True
    return _quotes(data) != _quotes_of(document)


def _quotes_of(document: Any) -> int:
    """The number of quotation marks in a decoded document as JSON, which is made a block at a time."""
    if isinstance(document, dict):
        return _quotes_of([*document]) + _quotes_of([*document.values()])
    parts = document if isinstance(document, list) else [document]
    blocks = (parts[start : start + _BLOCK] for start in range(0, len(parts), _BLOCK))
    return sum(map(_quotes, map(msgspec.json.encode, blocks)))


def _quotes(data: bytes) -> int:
    view = np.frombuffer(data, np.uint8)
    return sum(int(np.count_nonzero(view[at : at + _CACHED] == ord('"'))) for at in range(0, len(view), _CACHED))


def _kept(source: Source, window: _Window, keep: tuple[str, ...]) -> dict[str, Any]:
    """The kept part of the object that begins here; the window moves past it."""
    fields, end = _object(window)
    kept = {key: msgspec.json.decode(value) for key, value in fields.items() if key.startswith(keep)}
    text = window.data[window.at : end]
    # A repeated key is in `kept` once but in the text twice. The text may contain it for other reasons, or spell it
    # with escapes, so the slow decoder decides.
    if sum(text.count(f'"{start}'.encode()) for start in keep) != len(kept) or b"\\u" in text:
        json.loads(text, object_pairs_hook=source.refuse_repeated_keys)
    window.at = end
    return kept


def _object(window: _Window) -> tuple[dict[str, msgspec.Raw], int]:
    """The fields of the object that begins here, undecoded, and where it ends."""
    while True:
        end = window.data.find(b"}", window.at) + 1
        if end:  # the first brace ends a flat object; if the object is not flat, this text is not valid JSON
            with suppress(msgspec.DecodeError):
                return _FIELDS.decode(memoryview(window.data)[window.at : end]), end
        rest = memoryview(window.data)[window.at :]
        try:
            fields = _FIELDS.decode(rest)
        except msgspec.DecodeError as error:
            if behind := _BEHIND.search(str(error)):
                end = int(behind[1]) - 1
                return _FIELDS.decode(rest[:end]), window.at + end
            # If a number is cut off, the decoder complains about the last byte.
            cut = "truncated" in str(error) or str(error).endswith(f"(byte {len(rest)})")
            if not (cut and window.more()):
                raise
        else:
            return fields, len(window.data)
