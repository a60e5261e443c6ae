"""The objects of a JSON list one by one, in memory that does not grow with the file."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dstbench.readers.source import Source

_CHUNK: Final = 1 << 22
_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_BEHIND: Final = re.compile(r"trailing characters \(byte (\d+)\)")  # the decoder counts bytes from 1
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
    """The objects of a top-level JSON list, with only some of their keys.

    Args:
        source: The file.
        keep: Beginnings of the keys to keep.

    Yields:
        (``item N: ``, the kept keys with their values).

    Raises:
        DstbenchError: The JSON is broken (see `Source.json`), or is not a list of objects.
    """
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


def may_repeat_keys(data: bytes, document: Any) -> bool:
    """Whether an object of a JSON text may have a key twice, of which the decoded document has but the second.

    Without spaces, ``":`` ends each key. It may also stand in a string, after a backslash; then it is as often in the
    document, written again, unless the text spells the quotation mark otherwise.

    Args:
        data: The text.
        document: What msgspec has decoded.
    """
    keys = msgspec.json.format(data, indent=-1).count(b'":')
    return keys != msgspec.json.encode(document).count(b'":') or b"\\u0022" in data


def _kept(source: Source, window: _Window, keep: tuple[str, ...]) -> dict[str, Any]:
    """The kept part of the object that begins here; the window moves on behind it."""
    fields, end = _object(window)
    kept = {key: msgspec.json.decode(value) for key, value in fields.items() if key.startswith(keep)}
    text = window.data[window.at : end]
    # A key that is there twice is in `kept` once but in the text twice. The text may contain it for other reasons, or
    # spell it with escapes, so the slow decoder decides.
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
