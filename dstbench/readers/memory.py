"""Decoded JSON in memory: it is read as the file that it is from would be.

Conventions: a list of dstbench's own records, or of records under any keys, is read by `records.from_memory`; any other
document by its format. A list may also be of the objects of JSON Lines. Lists of states, one list per dialogue, are
dialogues named by their place, ``0``, ``1``, …: gold and predictions are then two parallel lists.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from dstbench.errors import DstbenchError, UsageError, number_of
from dstbench.readers import lines, records
from dstbench.readers.format import Format, Source
from dstbench.readers.key_names import DIALOGUE, DIALOGUE_ONLY, folded
from dstbench.readers.options import AS_USUAL, ReadOptions
from dstbench.readers.record_keys import FLAG
from dstbench.readers.record_reading import is_multiwoz
from dstbench.readers.registry import find_format, sniff
from dstbench.readers.source import values
from dstbench.readers.states import States, noting_doubts

# Objects of a list that are looked at.
_SAMPLE: Final = 200
_NOT_JSON: Final = (TypeError, UnicodeEncodeError, OverflowError, RecursionError)
# Texts that are paths, and not, for example, the name of a model.
_ENDINGS: Final = (".json", ".jsonl", ".csv", ".tsv", ".parquet", ".txt", ".gz", ".zip")
_RECORDS: Final = (lines.JSONL, records.CSV, records.FORMAT)


class Document(Source):
    """Decoded JSON, or JSON Lines, under a name that is no path."""

    def __init__(self, name: str, raw: bytes = b"", options: ReadOptions = AS_USUAL) -> None:
        super().__init__(name)
        self.raw, self.keys, self.unreadable = raw, options.keys, options.unreadable

    @property
    def is_folder(self) -> bool:
        return False

    def sibling(self, *names: str) -> None:
        return None

    def form(self, name: str | Format | None) -> Format | None:
        """Its format; None: it is of no known one, or not of the one that the user names."""
        form = sniff(self) if name is None else find_format(self, name)
        return form if name is None or (form is not None and form.sniff(self)) else None


def is_document(data: Mapping[Any, Any], options: ReadOptions) -> bool:
    """Whether a mapping is one document, rather than data by the name of their run."""
    if all(_is_run(str(name), item) for name, item in data.items()):
        return False
    try:
        return Document("states", msgspec.json.encode(data), options).form(options.format) is not None
    except (*_NOT_JSON, DstbenchError):  # or several parts of it are data
        return False


def read_document(data: Any, name: str, options: ReadOptions) -> States | None:
    """The states of a document; None: it is a list of records, or of objects that JSON does not have."""
    try:
        if records.are_lists(data):
            data = {str(number): states for number, states in enumerate(data)}
            return records.STATE_LISTS.read(Document(name, msgspec.json.encode(data), options))
        if isinstance(data, Mapping):
            source = Document(name, msgspec.json.encode(data), options)
            return noting_doubts(find_format(source, options.format).read(source))
        for encode in (msgspec.json.encode, _json_lines):
            form = Document(name, encode(data[:_SAMPLE]), options).form(options.format)
            if form is not None and form not in _RECORDS:
                return noting_doubts(form.read(Document(name, encode(data), options)))
    except _NOT_JSON:
        pass
    return None


def check_parallel(predicted: Any, gold: Any) -> None:
    """Raise a `UsageError` if there are more predictions than gold, or other dialogues, in two parallel lists."""
    if not (records.are_lists(predicted) and records.are_lists(gold)):
        return
    if len(predicted) != len(gold):
        what = f"predicted states of {number_of(len(predicted), 'dialogue')}, and gold states of {len(gold):,}"
        raise UsageError(what, hint="parallel lists have the same dialogues, in the same order")
    for number, (of_pred, of_gold) in enumerate(zip(predicted, gold, strict=True)):
        if len(of_pred) > len(of_gold):
            what = f"{number_of(len(of_pred), 'predicted state')}, and {len(of_gold):,} of gold"
            hint = "parallel lists have the same turns, in the same order"
            raise DstbenchError(what, dialogue=str(number), hint=hint)


def _is_run(name: str, item: Any) -> bool:
    """Whether an item of a mapping is a run: a path or a frame, or a list that names dialogues other than `name`."""
    if isinstance(item, str):
        return os.path.exists(item) or item.lower().endswith(_ENDINGS)
    if not isinstance(item, (list, tuple)):
        return not isinstance(item, (Mapping, int, float, type(None)))
    for inner in (*values(item, 1), *values(item, 2)):
        for key, text in inner.items() if isinstance(inner, Mapping) else ():
            word = folded(key) if isinstance(key, str) else None
            if word in DIALOGUE_ONLY or (word in DIALOGUE and isinstance(text, str)):
                return _dialogue(name) != _dialogue(str(text))
    return False


def _dialogue(name: str) -> str:
    bare = match[1] if (match := FLAG.fullmatch(name)) else name
    return bare.upper().removesuffix(".JSON") if is_multiwoz(bare) else bare


def _json_lines(data: Any) -> bytes:
    return b"\n".join(map(msgspec.json.encode, data))
