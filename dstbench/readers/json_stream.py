"""The items of a JSON list one by one, so that a large list is never decoded as a whole; keys that repeat."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dstbench.readers.source import Source

_BEHIND: Final = re.compile(r"trailing characters \(byte (\d+)\)")  # the decoder counts bytes from 1
_EMPTY: Final = re.compile(rb"\s*\[\s*\]\s*")
# What precedes the first and each further item of a list.
_FIRST, _NEXT = re.compile(rb"\s*\["), re.compile(rb"\s*,")
_RAW: Final = msgspec.json.Decoder(msgspec.Raw)
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _undecoded(data: bytes) -> Iterator[memoryview]:
    """The items of a JSON list, undecoded; of a broken list, the last one goes on to its end.

    The decoder says where an item ends: of ``{"a": 1}, {"b": 2}]``, it complains about the characters behind the first.
    """
    view, at = memoryview(data), 0
    while start := (_NEXT if at else _FIRST).match(data, at):
        item = view[start.end() :]
        try:
            _RAW.decode(item)
        except (msgspec.DecodeError, RecursionError) as error:
            if behind := _BEHIND.search(str(error)):
                item = item[: int(behind[1]) - 1]
        yield item
        at = start.end() + len(item)


def items(source: Source, keep: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(``item N: ``, object) of a JSON list; of each object, only the keys that begin with one of `keep`."""
    data = source.raw
    if not _FIRST.match(data):
        raise source.misshapen("not a JSON list")
    place = "item 0: "
    for number, item in enumerate(() if _EMPTY.fullmatch(data) else _undecoded(data)):
        place = f"item {number}: "
        try:
            fields = _FIELDS.decode(item)
            kept = {key: msgspec.json.decode(value) for key, value in fields.items() if key.startswith(keep)}
        except msgspec.ValidationError:
            raise source.misshapen(f"{place}expected an object") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise source.broken(_whole_error(data) or error, place) from None
        text = bytes(item)
        # A repeated key is in `kept` once but in the text twice. The text may contain it for other reasons, or spell it
        # with escapes, so the slow decoder decides.
        if sum(text.count(f'"{start}'.encode()) for start in keep) != len(kept) or b"\\u" in text:
            json.loads(text, object_pairs_hook=source.refuse_repeated_keys)
        yield place, kept
    if (whole_error := _whole_error(data)) is not None:
        raise source.broken(whole_error, place)


def _whole_error(data: bytes) -> Exception | None:
    """What is wrong with JSON, with the position in the whole; None: nothing is."""
    try:
        _RAW.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        return error
    return None


def may_repeat_keys(data: bytes, document: Any) -> bool:
    """Whether decoding may have lost a key of an object, because it is there twice or the object's type lacks it.

    A lost key takes its quotation marks with it. So the document, written again, has fewer of them than the text,
    unless the text escapes some.
    """
    if b"\\" in data and rb"\u0022" in data:
        return True
    parts = [[*document], *document.values()] if isinstance(document, dict) else document
    encoded = map(msgspec.json.encode, parts if isinstance(parts, list) else [parts])  # not all at once: memory
    return data.count(b'"') != sum(part.count(b'"') for part in encoded)
