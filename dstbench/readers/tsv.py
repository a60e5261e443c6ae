"""Gold states as TSV: what STAR's and SUMBT's preprocessed MultiWOZ share.

Conventions: one line per turn, cumulative, one column per tracked slot after the text columns. As every slot has a
column, ``none`` is how these files leave a slot out, and such a cell is no value; ``do not care`` is kept as written.
No quoting. Lines that start with ``#`` are comments.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec
import numpy as np
import polars as pl

from dstbench.conventions.slots import canonical_slot, domain_of
from dstbench.readers.builder import Listed, Words, assemble, checked_turns
from dstbench.readers.document import Cell, Document, DocumentTurn, Place
from dstbench.readers.source import Format, Said, Source
from dstbench.readers.states import States

LEAVES_OUT: Final = "none"
KEYS: Final = "# Dialogue ID", "Turn Index"
SPEAKERS: Final = {"system": "System Response", "user": "User Utterance"}


def sniff(source: Source, line: type[msgspec.Struct]) -> bool:
    """Whether the first columns are those of a type of lines."""
    header = "\t".join(field.encode_name for field in msgspec.structs.fields(line))
    return source.kind == "tsv" and source.raw.lstrip().startswith(header.encode())


def table(source: Source, form: Format) -> tuple[pl.DataFrame, list[str]]:
    """A file's lines, a column of strings for each of its own, and which of these are slots."""
    if source.kind != "tsv":
        raise source.error("no header line that starts with `# Dialogue ID`", form.hint)
    header, _, body = source.text.lstrip().partition("\n")
    columns = header.rstrip("\r").split("\t")
    slots = [name for name in columns if "-" in name]
    named = [name for name in columns if name]
    if not slots or KEYS[1] not in columns or len(set(named)) < len(named):
        raise source.error("the header lacks slots or the turn index, or names a column twice", form.hint)
    known = {field.encode_name for field in msgspec.structs.fields(form.shape)}
    if other := [name for name in named if name not in slots and name not in known]:
        raise source.error(f"the header has columns that are no slots: {', '.join(other)}", form.hint)
    width = columns.index(slots[-1]) + 1
    lines = pl.DataFrame({"line": body.split("\n")}).with_columns(pl.col("line").str.strip_chars_end("\r"))
    lines = lines.with_row_index("number", offset=2).filter(
        (pl.col("line") != "") & ~pl.col("line").str.starts_with("#")
    )
    if lines.is_empty():
        raise source.error("no dialogue in the file")
    ragged = lines.select("number", fields=pl.col("line").str.count_matches("\t", literal=True) + 1).filter(
        pl.col("fields").is_between(width, len(columns)).not_()
    )
    if ragged.height:
        number, fields = ragged.row(0)
        raise source.error(
            f"line {number} has {fields} fields, the header {len(columns)}",
            "is the file cut off, or a tab in a text?",
        )
    cells = pl.col("line").str.split_exact("\t", width - 1).struct.rename_fields(columns[:width])
    return lines.select(cells).unnest("line"), slots


def said(source: Source, form: Format) -> Iterator[Said]:
    """What was said in each turn of a file of this format."""
    lines, _ = table(source, form)
    return lines.select(*KEYS, *SPEAKERS.values()).iter_rows()


def read(source: Source, form: Format) -> States:
    """Read a file of this format."""
    lines, slots = table(source, form)
    dialogue, number = lines.select(KEYS)
    turns = checked_turns(source.name, Words.of(dialogue), number)
    cells = (
        lines.select(slots)
        .with_row_index("at")
        .unpivot(index="at", variable_name="slot", value_name="value")
        .filter(pl.col("value") != LEAVES_OUT)
    )
    gold = Listed(np.arange(turns.height), cells["at"].to_numpy(), Words.of(cells["slot"]), Words.of(cells["value"]))
    return assemble(source.name, form.name, turns, gold, None)


class LinesDocument(Document):
    """Lines of fields with tabs between, a column for each slot."""

    absent = LEAVES_OUT

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        #: The column of the turn's number.
        self.number = 1
        #: The column of what each speaker says.
        self.speakers: Mapping[str, int] = {}
        #: (canonical slot, column) of each slot.
        self.columns: list[tuple[str, int]] = []
        # (fields, line end); a line that is no turn has no fields and is kept whole, as its "end".
        self.lines: list[tuple[list[str], str]] = []
        for line in self.body(source.text).split("\n"):
            text = line.rstrip("\r")
            is_turn = bool(text) and not text.startswith("#")
            self.lines.append((text.split("\t"), line[len(text) :]) if is_turn else ([], line))

    def body(self, text: str) -> str:
        """The lines of turns; sets which columns there are."""
        raise NotImplementedError

    def turns(self) -> Iterator[DocumentTurn]:
        for fields, _ in self.lines:
            if fields:
                texts = {speaker: (fields, column) for speaker, column in self.speakers.items()}
                yield DocumentTurn(fields[0], fields[self.number], fields, texts)

    def cells(self, state: Any) -> Iterator[Cell]:
        yield from ((slot, (state, column), None) for slot, column in self.columns)

    def put(self, place: Place, value: str | None) -> None:
        super().put(place, value if value is None else self._field(value))

    def say(self, place: Place, text: str) -> None:
        super().say(place, self._field(text))

    def _field(self, text: str) -> str:
        if re.search(r"[\t\r\n]", text):
            raise self.source.error(f"{text!r} has a tab or a line break, which these files cannot hold")
        return text

    def drop(self, dialogues: Collection[str]) -> None:
        self.lines = [line for line in self.lines if not line[0] or line[0][0] not in dialogues]

    def dump(self) -> bytes:
        return "\n".join("\t".join(fields) + end for fields, end in self.lines).encode()


class TsvDocument(LinesDocument):
    """Such lines below a header that names the columns."""

    def body(self, text: str) -> str:
        head, _, body = text.lstrip().partition("\n")
        self._header = head.rstrip("\r").split("\t")
        self._header_end = head[len(head.rstrip("\r")) :] + "\n"
        self.number = self._header.index(KEYS[1])
        self.speakers = {speaker: self._header.index(name) for speaker, name in SPEAKERS.items()}
        self.columns = [(canonical_slot(name), column) for column, name in enumerate(self._header) if "-" in name]
        return body

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        column = self.columns[-1][1] + 1
        self.columns.append((slot, column))
        self._header.insert(column, f"{domain_of(slot)}-{self._usual(slot)}")
        for fields, _ in self.lines:
            if fields:
                fields.insert(column, LEAVES_OUT)  # in all lines
        return state, column

    def dump(self) -> bytes:
        return ("\t".join(self._header) + self._header_end).encode() + super().dump()
