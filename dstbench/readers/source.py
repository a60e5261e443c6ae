"""One input file: its bytes, its decoded JSON, and errors that say where in it something is wrong."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import chain, islice
from types import NoneType
from typing import Any, Final, Literal, Self, TypeAlias, TypeVar, get_args, get_origin

import msgspec

from dstbench.conventions.slots import OWN_ID
from dstbench.errors import DstbenchError, first_repeated
from dstbench.io.files import File
from dstbench.readers.key_names import DIALOGUE_ONLY, folded
from dstbench.readers.options import Keys
from dstbench.typing import Unreadable

T = TypeVar("T")
Kind = Literal["json", "jsonl", "tsv", "text"]
# Files that describe others.
_NOTE: Final = re.compile(r"readme|licen[cs]e|changelog|.*\.(md|rst|pdf)$", re.IGNORECASE)
_SAMPLE: Final = 200  # entries of a document; no format needs more to be recognised
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])
# The attributes that keep the content, in various forms.
_DECODED: Final = frozenset({"raw", "text", "sample", "json", "kind", "around"})
_SEPARATOR: Final = re.compile(r"\s*[\[,]\s*")
_NOT_JSON: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Source(File):
    """A file, read once and decoded once.

    Attributes:
        hint: The hint of errors about the file's shape: what a file of its format looks like.
        keys: The keys of records of turns that the user gives; None: by their usual names.
        unreadable: What to do with predicted states that are none.
        outside: The keys of ids in objects around its records, once these have been found.
        split: The split that its folder or its name says; None: none.
        inside: The keys from the file's JSON object to the document that is read instead of it.
        beside: The other keys of the objects on the way there, which are not read.
    """

    hint: str | None = None
    keys: Keys | None = None
    unreadable: Unreadable = "error"
    outside: tuple[str, ...] = ()
    split: str | None = None
    inside: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    @classmethod
    def of(cls, file: File) -> Source:
        """A source of the same file, with what was already read of it, because a pipe cannot be opened twice."""
        source = cls(file.path)
        source.__dict__ |= file.__dict__
        return source

    def files(self) -> list[Self]:
        """The files in a folder, as `File.files`; one that holds nothing but an archive and notes is that archive."""
        files = super().files()
        data = [file for file in files if not _NOTE.match(file.path.name)]
        if len(data) == 1 and data[0].is_folder and data[0].foreign is None:
            files = data[0].files()
        for file in files:
            file.keys, file.unreadable = self.keys, self.unreadable
        return files

    def forget(self) -> None:
        """Free the content in all its forms; it is read again when it is next used."""
        for name in _DECODED - {"kind"}:
            self.__dict__.pop(name, None)

    # --- content ------------------------------------------------------------------------------------------------------

    @cached_property
    def raw(self) -> bytes:
        """The content without a byte order mark: that of the file, or of its part `inside`."""
        data = self.read()
        if not data or data.isspace():
            raise self.error("the file is empty", "did the run that wrote it finish?")
        for key in self.inside:
            data = bytes(_MEMBERS.decode(data)[key])
        return data

    def beginning(self, size: int) -> bytes:
        """The first bytes of the content; the rest is not read."""
        return self.raw[:size] if "raw" in self.__dict__ or self.inside else self.content(size)

    def items(self, *keep: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """(``item N: ``, object) of a JSON list, with only the keys that begin with one of `keep`."""
        if not self.raw[:1024].lstrip().startswith(b"["):
            raise self.misshapen("not a JSON list")
        try:
            items = _ITEMS.decode(self.raw)
        except _NOT_JSON as error:
            raise self.broken(error, self._broken_item) from None
        for number, item in enumerate(items):
            place = f"item {number}: "
            fields = self._decode(bytes(item), place)
            if not isinstance(fields, dict):
                raise self.misshapen(f"{place}expected an object")
            yield place, {key: value for key, value in fields.items() if key.startswith(keep)}

    @property
    def _broken_item(self) -> str:
        """Which object of a JSON list is broken, or what follows it."""
        decoder, text, number, at = json.JSONDecoder(), self.raw.decode(errors="replace"), 0, 0
        with suppress(ValueError, RecursionError):
            while separator := _SEPARATOR.match(text, at):
                at = decoder.raw_decode(text, separator.end())[1]
                number += 1
            number -= 1
        return f"item {number}: "

    @cached_property
    def kind(self) -> Kind:
        """What the content looks like; the file's name does not matter.

        A file whose first line is a whole object is JSON Lines if more lines follow, or if it has a ``dialogue_id``.
        """
        text = self.raw.lstrip()
        if text.startswith(b"# Dialogue ID\t"):
            return "tsv"
        if not text.startswith(b"{"):
            return "json" if text.startswith(b"[") else "text"
        first, _, others = text.partition(b"\n")
        if not others or others.isspace():
            return "jsonl" if "dialogue_id" in self.sample else "json"
        try:
            msgspec.json.decode(first)
        except _NOT_JSON:
            return "json"
        return "jsonl"

    @cached_property
    def text(self) -> str:
        """The bytes as UTF-8 text."""
        try:
            return self.raw.decode()
        except UnicodeDecodeError as error:
            line = self.raw.count(b"\n", 0, error.start) + 1
            what = f"not UTF-8: byte 0x{self.raw[error.start]:02x} in line {line}"
            raise self.error(what, "save the file as UTF-8 (iconv -f LATIN1 -t UTF-8)") from None

    @cached_property
    def json(self) -> Any:
        """The decoded JSON document.

        Raises:
            DstbenchError: It is broken, truncated, not UTF-8, too deeply nested, or an object has a key twice
                (the second would silently replace the first).
        """
        return self._decode(self.raw)

    @cached_property
    def sample(self) -> Any:
        """The JSON document with its first entries only, enough to recognise a format."""
        if isinstance(self.json, dict):
            return dict(islice(self.json.items(), _SAMPLE))
        return self.json[:_SAMPLE] if isinstance(self.json, list) else self.json

    def first_line(self, *keys: str) -> dict[str, Any] | None:
        """The first of the JSON Lines, if it is an object with these keys, for sniffing."""
        if self.kind not in ("jsonl", "json"):
            return None
        item = next(self.whole_lines())[1]
        return item if isinstance(item, dict) and item.keys() >= {*keys} else None

    def json_lines(self) -> Iterator[tuple[str, Any]]:
        """(``line N: ``, decoded value) of every line that is not blank, one by one: sniffing takes only the first."""
        for number, line in enumerate(io.BytesIO(self.raw), start=1):
            if line.strip():
                yield f"line {number}: ", self._decode(line, f"line {number}: ")

    def whole_lines(self) -> Iterator[tuple[str, Any]]:
        """The same; a JSON document counts as the only line."""
        if self.kind not in ("jsonl", "json"):
            raise self.misshapen("not JSON Lines")
        return self.json_lines() if self.kind == "jsonl" else iter([("line 1: ", self.json)])

    def _decode(self, data: bytes, place: str = "") -> Any:
        try:
            document = msgspec.json.decode(data)
            # A key that decoding lost, because it is there twice, took its quotation marks with it: the document has
            # fewer than the text, unless the text escapes some. The slow decoder decides.
            parts = [[*document], *document.values()] if isinstance(document, dict) else document
            encoded = map(msgspec.json.encode, parts if isinstance(parts, list) else [parts])  # one by one: memory
            has_escapes = b"\\" in data and rb"\u0022" in data
            if has_escapes or data.count(b'"') != sum(part.count(b'"') for part in encoded):
                json.loads(data, object_pairs_hook=self.refuse_repeated_keys)
            return document
        except _NOT_JSON as error:
            if isinstance(error, UnicodeDecodeError):
                self.text  # noqa: B018 (raises, with the position in the file)
            raise self.broken(error, place) from None

    def refuse_repeated_keys(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """An object of these keys and values; for ``json.loads``, as msgspec does not show repeated keys."""
        document = dict(pairs)
        if len(document) != len(pairs):
            again = first_repeated([key for key, _ in pairs])
            hint = "the same dialogue, turn or slot is there twice; keep one"
            raise self.error(f"the key {again!r} twice in one object", hint)
        return document

    # --- wrappers -----------------------------------------------------------------------------------------------------

    @cached_property
    def around(self) -> tuple[str, ...]:
        """The keys of a JSON object under which dialogues may be, and which are not themselves ids of dialogues."""
        if self.kind != "json" or not self.raw[: 1 << 10].lstrip().startswith(b"{"):
            return ()
        inner = ((key, item) for key, item in self.sample.items() if isinstance(item, (dict, list)) and item)
        return tuple(
            key for key, item in islice(inner, _MOST)
            if (not any(map(str.isdecimal, key)) and not _AROUND.isdisjoint(folded(key).split("_")))
            or ((name := dialogue_in(item)) and not key.lower().startswith(name.lower().removesuffix(".json")))
        )  # fmt: skip

    def parts(self) -> list[Self]:
        """A source for the content under each key of a wrapper (see `around`); `inside` has the key."""
        parts = []
        for key in self.around:
            part = type(self)(self.path)
            part.__dict__ |= {name: self.__dict__[name] for name in self.__dict__.keys() - _DECODED}
            part.inside, part.beside = (*self.inside, key), (*self.beside, *(name for name in self.json if name != key))
            part.raw = bytes(_MEMBERS.decode(self.raw)[key])
            parts.append(part)
        return parts

    # --- ids and errors -----------------------------------------------------------------------------------------------

    @property
    def dialogue(self) -> str | None:
        """The dialogue that the file is named after, if its name is an id of MultiWOZ; None: it is not."""
        return self.title if is_multiwoz(self.title) else None

    def convert(self, document: Any, shape: type[T], *levels: str | None, place: str = "", **where: Any) -> T:
        """Convert decoded JSON to a type, in msgspec's sense; a `DstbenchError` says what has another type, and where.

        Args:
            document: The decoded JSON.
            shape: The type.
            levels: What each level of keys is: ``dialogue``, ``turn``, ``slot`` (several are joined by a hyphen), or
                None for one that need not be named.
            place: Where in the file the document is, to start the message with.
            **where: The dialogue and turn, where they are already known.
        """
        try:
            return msgspec.convert(document, shape)
        except msgspec.ValidationError as error:
            path, value, reason = first_misfit(document, shape, str(error))
            for level, key in zip(levels, path, strict=False):
                if level is not None:
                    where[level] = f"{where[level]}-{key}" if level == "slot" and level in where else str(key)
            raise self.misshapen(f"{place}{reason}, found {clipped(repr(value))}", **where) from None

    def misshapen(self, what: str, **where: Any) -> DstbenchError:
        """An error about the file's shape, with the format's example as a hint."""
        return self.error(what, self.hint, **where)

    def broken(self, error: Exception, place: str = "") -> DstbenchError:
        """The error for JSON that cannot be decoded, at a place to start the message with."""
        reason = str(error).removeprefix("JSON is malformed: ")
        if "truncated" in reason:
            return self.error(f"{place}the JSON ends too early", "the file is cut off; write it again")
        if isinstance(error, RecursionError):
            return self.error(f"{place}the JSON is nested too deeply")
        return self.error(f"{place}broken JSON: {reason}")


def is_multiwoz(name: str) -> bool:
    """Whether an id is one of MultiWOZ's dialogues, in any spelling."""
    return re.match(OWN_ID, name.upper().removesuffix(".JSON")) is not None


# --- wrappers ---------------------------------------------------------------------------------------------------------


# Words in the names of objects and lists that hold dialogues, turns or states, unless there is a digit beside them.
_AROUND: Final = frozenset({
    "data", "dataset", "details", "dialogues", "dialogs", "dials", "conversations", "sessions", "records", "samples",
    "examples", "instances", "items", "entries", "results", "result", "predictions", "prediction", "preds", "outputs",
    "output", "responses", "generations", "states", "evaluation", "train", "dev", "val", "validation", "test",
})  # fmt: skip
# The most keys of a wrapper that are looked at.
_MOST: Final = 20
_NESTED: Final = (Mapping, list)


def dialogue_in(content: Any, names: Collection[str] = DIALOGUE_ONLY) -> str | None:
    """The first dialogue that decoded JSON, or objects a level or two below, name; None: none."""
    for item in objects(content, 2):
        for name, text in item.items():
            word = folded(name) if isinstance(name, str) else None
            if word in DIALOGUE_ONLY or (word in names and isinstance(text, str)):
                return str(text)
    return None


def objects(document: Any, depth: int, most: int = 20) -> Iterator[Mapping[Any, Any]]:
    """Some of the objects on each of the first levels of decoded JSON, from level 0 to `depth`."""
    level = [document]
    for _ in range(depth + 1):
        yield from (item for item in level if isinstance(item, Mapping))
        below = (item.values() if isinstance(item, Mapping) else item for item in level if isinstance(item, _NESTED))
        level = [*islice(chain.from_iterable(islice(items, most) for items in below), most)]


# --- where decoded JSON is not of a type ------------------------------------------------------------------------------


# The names of types in msgspec's messages and in ours.
_TYPES: Final = {
    "str": "a string", "object": "an object", "array": "a list", "str | array": "a string or a list",
    "array` of length": "a list of length", "int": "an integer",
}  # fmt: skip


def clipped(text: str) -> str:
    """A text of at most 60 characters: a longer one's beginning."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def first_misfit(value: Any, shape: Any, reason: str, path: tuple[Any, ...] = ()) -> tuple[tuple[Any, ...], Any, str]:
    """The innermost place at which `value` is not of type `shape`: its keys, the value there, and why."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    kind = get_args(shape)[-1] if get_origin(shape) in (dict, list) else Any
    for key, item in items:
        try:
            msgspec.convert(item, kind)
        except msgspec.ValidationError as error:
            return first_misfit(item, kind, str(error), (*path, key))
    reason = reason.partition(" - at ")[0].partition(", got ")[0]
    for kind, name in _TYPES.items():
        reason = reason.replace(f"Expected `{kind}`", f"expected {name}")
    return path, value, reason.replace("`", "")


class Misfit(Exception):  # noqa: N818 (readers turn it into an error that says where)
    """A cell that is no state, or a value that is none.

    Args:
        what: What is wrong.
        slot: The slot at which it is wrong.
    """

    def __init__(self, what: str, slot: str | None = None) -> None:
        super().__init__(what)
        self.what, self.slot = what, slot


class Repeated(list[tuple[str, Any]]):
    """The keys and values of an object that has a key twice."""


def in_words(value: Any) -> str:
    """A value of the wrong type, in a few words."""
    if isinstance(value, (Mapping, Repeated)):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    shown = repr(value) if isinstance(value, (str, int, float)) else type(value).__name__
    return clipped(shown)


Kinds: TypeAlias = type | tuple[type, ...]

_CALLED: Final[dict[Kinds, str]] = {
    dict: "an object", (dict, NoneType): "an object", list: "a list", str: "a string", int: "an integer",
    (str, list): "a string or a list", (int, float): "a number",
}  # fmt: skip


def typed(value: Any, kind: Kinds, slot: str | None = None) -> Any:
    """A value of a type of JSON. A `Misfit`: it has another one."""
    if not isinstance(value, kind) or (type(value) is bool and kind is not bool):
        shown = repr(value) if isinstance(value, str) else str(value)
        raise Misfit(f"expected {_CALLED[kind]}, found {clipped(shown)}", slot)
    return value
