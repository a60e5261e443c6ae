"""One input file: its bytes, its JSON, and where in it something is wrong."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from types import UnionType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, TypeAlias, TypeVar, get_args, get_origin

import msgspec

from dstbench.errors import first_repeated
from dstbench.io.files import File
from dstbench.readers.json_stream import items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dstbench.errors import DstbenchError
    from dstbench.readers.document import Document
    from dstbench.readers.states import States

T = TypeVar("T")
#: Dialogue and turn as the file spells them, what the system said before, what the user said.
Said: TypeAlias = "tuple[str, int | str, str | None, str | None]"
Kind = Literal["json", "jsonl", "tsv", "text"]
_ANYTHING: Final = re.compile(rb"\S")
# As many entries of a document as any format is known by.
_SAMPLE: Final = 200


class Source(File):
    """A file, read once and decoded once."""

    @classmethod
    def of(cls, file: File) -> Source:
        """The same file, with what is known of it by now: a pipe cannot be opened twice."""
        source = cls(file.path)
        source.__dict__ |= file.__dict__
        return source

    def forget(self) -> None:
        """Let go of the content, in whatever form; it is read anew if it is asked for again."""
        for name in ("raw", "text", "entries", "sample", "json"):
            self.__dict__.pop(name, None)

    @cached_property
    def raw(self) -> bytes:
        """The file's content, without a byte order mark."""
        data = self.read()
        if not data or data.isspace():
            raise self.error("the file is empty", "did the run that wrote it finish?")
        return data

    def stream(self) -> BinaryIO:
        """The content, to be read piece by piece."""
        return io.BytesIO(self.raw) if "raw" in self.__dict__ else self.open()

    def beginning(self, size: int) -> bytes:
        """The first bytes of the content; the rest is not read."""
        with self.stream() as stream:
            return stream.read(size)

    def items(self, *keep: str, hint: str | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
        """(``item N: ``, object) of a JSON list, one by one, in bounded memory; see `stream.items`."""
        return items(self, keep, hint)

    @cached_property
    def kind(self) -> Kind:
        """What the bytes look like; the file's name is never asked."""
        text = self.raw.lstrip()  # no copy, where nothing is to be taken away
        if text.startswith(b"# Dialogue ID\t"):
            return "tsv"
        if not text.startswith((b"{", b"[")):
            return "text"
        if not text.startswith(b"{"):
            return "json"
        end = text.find(b"\n")
        if end < 0 or not _ANYTHING.search(text, end):
            return "jsonl" if "dialogue_id" in self.entries else "json"
        try:
            msgspec.json.decode(text[:end])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return "json"
        return "jsonl"

    @cached_property
    def text(self) -> str:
        """The bytes as UTF-8 text."""
        try:
            return self.raw.decode()
        except UnicodeDecodeError as error:
            raise self._not_utf8(error.start) from None

    @cached_property
    def entries(self) -> Any:
        """The JSON document, of which an object's or list's entries are not decoded yet (``msgspec.Raw``).

        Raises:
            DstbenchError: As `json`, but a key that is there twice is not seen.
        """
        if "json" in self.__dict__:
            return self.json
        try:
            return msgspec.json.decode(self.raw, type=dict[str, msgspec.Raw] | list[msgspec.Raw])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # the other says what is wrong, if it is
            return self.json

    @cached_property
    def sample(self) -> Any:
        """The JSON document, of whose entries only the first are there: enough to know a format by."""
        entries = self.entries
        try:
            if isinstance(entries, dict):
                return {key: _decoded(entry) for key, entry in islice(entries.items(), _SAMPLE)}
            return [_decoded(entry) for entry in entries[:_SAMPLE]] if isinstance(entries, list) else entries
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self.json

    @cached_property
    def json(self) -> Any:
        """The decoded JSON document.

        Raises:
            DstbenchError: It is broken, truncated, not UTF-8, too deeply nested, or an object has a key twice
                (the second would silently replace the first).
        """
        return self._decode(self.raw)

    @property
    def first_objects(self) -> list[dict[str, Any]]:
        """The first objects of a JSON list, for sniffing; none if the file is anything else."""
        there = self.kind == "json" and isinstance(self.sample, list)
        return [item for item in values(self.sample) if isinstance(item, dict)] if there else []

    def lists(self, *keys: str) -> bool:
        """Whether it is a JSON list of objects that have these keys, for sniffing."""
        return any(item.keys() >= {*keys} for item in self.first_objects)

    def dialogue_and_turn(self, key: str, separator: str, what: str = "the key") -> tuple[str, str]:
        """The parts of a key such as ``MUL0484.json_3`` or ``mul0484-3``: the turn follows the last separator."""
        dialogue, found, turn = key.rpartition(separator)
        if not (found and dialogue and turn.isdecimal()):
            raise self.error(f"{what} {key!r} is not of the form <dialogue>{separator}<turn>")
        return dialogue, turn

    def json_lines(self) -> Iterator[tuple[str, Any]]:
        """(``line N``, decoded value) of every line that is not blank, one by one: sniffing takes only the first."""
        for number, line in enumerate(io.BytesIO(self.raw), start=1):
            if line.strip():
                yield f"line {number}", self._decode(line, f"line {number}: ")

    def objects(
        self,
        shape: Any,
        dialogue: str,
        levels: tuple[str | None, ...],
        items: Any = None,
        *,
        turn: str | None = None,
        of: str = "dialogues",
        hint: str,
    ) -> Iterator[Any]:
        """The objects of a JSON list, checked one by one; each is a dialogue, or a turn.

        Args:
            shape: The type of one of them.
            dialogue: The key under which the dialogue's id stands, for messages.
            levels: What each level of keys in an object is (see `convert`).
            items: The objects; None: those of the file.
            turn: The key under which the turn's number stands, for messages; None: there is none.
            of: What they are, for messages: ``dialogues`` or ``turns``.
            hint: What the user can do.
        """
        if items is None:
            items = self.json if self.kind == "json" else None
        if not isinstance(items, list):
            raise self.error(f"not a JSON list of {of}", hint)
        for number, item in enumerate(items):
            keys = {"dialogue": dialogue} if turn is None else {"dialogue": dialogue, "turn": turn}
            where = {what: item.get(key) for what, key in keys.items()} if isinstance(item, dict) else {}
            yield self.convert(item, shape, levels, place=f"item {number}: ", hint=hint, **where)

    def convert(
        self,
        document: Any,
        shape: Any,
        levels: tuple[str | None, ...],
        *,
        place: str = "",
        hint: str | None = None,
        **where: Any,
    ) -> Any:
        """Check a decoded document against a type, strictly.

        Args:
            document: What `json` gave.
            shape: A type, in msgspec's sense.
            levels: What each level of keys is: ``dialogue``, ``turn``, ``slot`` (several are joined by a hyphen), or
                None for one that need not be said.
            place: Where in the file the document is, to start the message with.
            hint: What the user can do.
            **where: The dialogue and turn, where they are already known.

        Raises:
            DstbenchError: Something has another type; the message says what and where.
        """
        try:
            return msgspec.convert(document, shape)
        except msgspec.ValidationError as error:
            path, value, reason = _locate(document, shape, str(error))
            for level, key in zip(levels, path, strict=False):
                if level is not None:
                    where[level] = f"{where[level]}-{key}" if level in where else str(key)
            shown = repr(value) if isinstance(value, str) else str(value)
            shown = shown if len(shown) <= 60 else shown[:57] + "..."
            raise self.error(f"{place}{reason}, found {shown}", hint, **where) from None

    def _decode(self, data: bytes, place: str = "") -> Any:
        try:
            document = msgspec.json.decode(data)
            # A key that was lost makes the document shorter than its text. Escapes and numbers may be spelled in
            # more ways than one, so a difference is a suspicion, and the slow decoder decides.
            if len(msgspec.json.format(data, indent=-1)) != len(msgspec.json.encode(document)):
                json.loads(data, object_pairs_hook=self.refuse_repeated_keys)
            return document
        except UnicodeDecodeError:
            self.text  # noqa: B018 (raises, with the position in the file)
            raise self.error(f"{place}not UTF-8") from None
        except (msgspec.DecodeError, RecursionError) as error:
            raise self.malformed(error, place) from None

    def malformed(self, error: Exception | str, place: str = "", before: int = 0) -> DstbenchError:
        """What a JSON decoder said, in words; the bytes it counts begin `before` bytes into the file."""
        reason = str(error).removeprefix("JSON is malformed: ")
        if "truncated" in reason:
            return self.error(f"{place}the JSON ends too early", "the file is cut off; write it again")
        if isinstance(error, RecursionError):
            return self.error(f"{place}the JSON is nested too deeply")
        if isinstance(error, UnicodeDecodeError):
            return self.error(f"{place}not UTF-8")
        reason = re.sub(r"(?<=\(byte )\d+", lambda byte: str(int(byte[0]) + before), reason)
        return self.error(f"{place}broken JSON: {reason}")

    def _not_utf8(self, position: int) -> DstbenchError:
        line = self.raw.count(b"\n", 0, position) + 1
        return self.error(
            f"not UTF-8: byte 0x{self.raw[position]:02x} in line {line}",
            "save the file as UTF-8 (iconv -f LATIN1 -t UTF-8)",
        )

    def refuse_repeated_keys(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """An object of these keys and values; for ``json.loads``, which alone shows a key that is there twice."""
        document = dict(pairs)
        if len(document) != len(pairs):
            again = first_repeated([key for key, _ in pairs])
            raise self.error(
                f"the key {again!r} twice in one object",
                "the same dialogue, turn or slot is there twice; keep one",
            )
        return document


def _decoded(entry: Any) -> Any:
    return msgspec.json.decode(entry) if isinstance(entry, msgspec.Raw) else entry


def _locate(value: Any, shape: Any, reason: str, path: tuple[Any, ...] = ()) -> tuple[tuple[Any, ...], Any, str]:
    """The innermost place at which `value` is not of type `shape`: its keys, the value there, and why."""
    if get_origin(shape) is UnionType:  # an optional field
        shape = next(kind for kind in get_args(shape) if kind is not msgspec.UnsetType)
    children: list[tuple[Any, Any, Any]] = []
    if get_origin(shape) is dict and isinstance(value, dict):
        children = [(key, item, get_args(shape)[1]) for key, item in value.items()]
    elif get_origin(shape) is list and isinstance(value, list):
        children = [(i, item, get_args(shape)[0]) for i, item in enumerate(value)]
    elif get_origin(shape) is tuple and isinstance(value, list) and len(value) == len(get_args(shape)):
        children = list(zip(range(len(value)), value, get_args(shape), strict=True))
    elif isinstance(shape, type) and issubclass(shape, msgspec.Struct) and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(shape)}
        children = [(name, value[name], kind) for name, kind in fields.items() if name in value]
    for key, item, kind in children:
        try:
            msgspec.convert(item, kind)
        except msgspec.ValidationError as error:
            return _locate(item, kind, str(error), (*path, key))
    reason = reason.partition(" - at ")[0].partition(", got ")[0]
    if reason.startswith("Object missing required field"):
        reason = f"no {reason.rpartition(' ')[2]} here"
    names = {
        "str": "a string",
        "object": "an object",
        "array": "a list",
        "str | array": "a string or a list",
        "array` of length": "a list of length",
        "int": "an integer",
    }
    for kind, spoken in names.items():
        reason = reason.replace(f"Expected `{kind}`", f"expected {spoken}")
    return path, value, reason.replace("`", "")


@dataclass(frozen=True)
class Format:
    """A native file format.

    Attributes:
        name: What ``--from`` calls it.
        title: Who writes it.
        holds: Which sides it can hold: ``gold``, ``pred``, or both.
        example: A few characters that show the shape.
        shape: The type of the decoded file (for JSON Lines and TSV: of one line).
        sniff: Whether a source looks like this format.
        read: Reads a source.
        sharded: Whether several files of a folder are parts of one run.
        said: What was said in each turn of a source; None: the format does not hold it. What the system said is what
            stands before the user's turn; where it said nothing, or the file does not know, it is empty or None. Only
            what is asked for is looked at: states are the business of `read`.
        document: Opens a source, which `read` (and `said`) have checked, for changes; None: it cannot be written again.
    """

    name: str
    title: str
    holds: tuple[str, ...]
    example: str
    shape: Any
    sniff: Callable[[Source], bool]
    read: Callable[[Source], States]
    sharded: bool = False
    said: Callable[[Source], Iterator[Said]] | None = None
    document: Callable[[Source], Document] | None = None

    @property
    def hint(self) -> str:
        """What to say where a file of this format is malformed."""
        return f"a {self.name} file looks like {self.example}"


def values(document: Any, depth: int = 1, most: int = 20) -> list[Any]:
    """Some of the values `depth` levels down in a JSON document: what sniffing looks at."""
    level = [document]
    for _ in range(depth):
        below: list[Any] = []
        for item in level:
            inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
            below.extend(value for value, _ in zip(inner, range(most), strict=False))
            if len(below) >= most:
                break
        level = below[:most]
    return level
