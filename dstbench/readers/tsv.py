"""Lines of fields separated by tabs: what STAR's (Ye et al. 2021) and SUMBT's (Lee et al. 2019) preprocessed MultiWOZ.

Conventions: gold only; one line per turn, cumulative, one column per tracked slot after the text columns. As every
slot has a column, ``none`` says that a slot is not in the state; ``do not care`` is kept as written. No quoting. Lines
that start with ``#`` are comments. SUMBT's copy of WOZ 2.0 (Wen et al. 2017) has no header line, and its slots have no
domain.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import polars as pl

from dstbench.conventions.slots import canonical_slot, domain_of
from dstbench.readers.builder import StatesBuilder
from dstbench.readers.document import Document
from dstbench.readers.format import Format, Said
from dstbench.readers.notations import Cell, Place
from dstbench.readers.source import Source
from dstbench.readers.walk import Turn

OMITTED: Final = "none"
#: The hint for a line with too few or too many fields.
CUT_OFF: Final = "is the file cut off, or a tab in a text?"
DIALOGUE, TURN, SYSTEM, USER = "# Dialogue ID", "Turn Index", "System Response", "User Utterance"


class StarLine(msgspec.Struct):
    """A line's first columns, as strings; one column per slot follows."""

    dialogue: str = msgspec.field(name=DIALOGUE)
    turn: str = msgspec.field(name=TURN)
    last: str = msgspec.field(name="Last Turn")
    system: str = msgspec.field(name=SYSTEM)
    user: str = msgspec.field(name=USER)


class SumbtLine(msgspec.Struct):
    """A line's first columns, as strings; one column per slot follows."""

    dialogue: str = msgspec.field(name=DIALOGUE)
    turn: str = msgspec.field(name=TURN)
    user: str = msgspec.field(name=USER)
    system: str = msgspec.field(name=SYSTEM)


class WozLine(msgspec.Struct):
    """A line of SUMBT's copy of WOZ 2.0, as strings."""

    dialogue: str
    turn: str
    user: str
    system: str
    area: str
    food: str
    pricerange: str


@dataclass(frozen=True)
class _Table:
    """The columns of a format.

    Attributes:
        line: Its first columns.
        columns: All columns, if files have no header that names them.
        usual: Spellings of slots that differ from the canonical ones.
    """

    line: type[msgspec.Struct]
    columns: tuple[str, ...] = ()
    usual: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return [column.encode_name for column in msgspec.structs.fields(self.line)]

    def sniff(self, source: Source) -> bool:
        first = source.raw.lstrip().partition(b"\n")[0].decode(errors="replace")
        if not self.columns:
            return source.kind == "tsv" and first.startswith("\t".join(self.names))
        fields = first.rstrip("\r").split("\t")
        is_as_wide = len(fields) == len(self.columns) or fields[len(self.columns) :] == [""]
        return source.kind == "text" and is_as_wide and fields[1].isdecimal()

    def split(self, text: str) -> tuple[str, str]:
        """The header line, if there is one, and the lines below it."""
        header, end, body = text.lstrip().partition("\n") if not self.columns else ("", "", text)
        return header + end, body

    def read_table(self, source: Source) -> tuple[pl.DataFrame, list[str]]:
        """The lines, as a column of strings per column, and the names of those that are slots."""
        header, body = self.split(source.text)
        columns = header.rstrip("\r\n").split("\t") if header else [*self.columns, ""]
        slots = [name for name in columns if "-" in name]
        if not self.columns:
            self._check_header(source, columns, slots)
        width, line, fields = columns.index(slots[-1]) + 1, pl.col("line"), pl.col("line").str.split("\t")
        lines = pl.DataFrame({"line": body.split("\n")}).with_columns(line.str.strip_chars_end("\r"))
        lines = lines.with_row_index("number", offset=1 + bool(header))
        lines = lines.filter(line != "", ~line.str.starts_with("#"))
        if lines.is_empty():
            raise source.error("no dialogue in the file")
        are_whole = fields.list.len().is_between(width, len(columns)) & (fields.list.slice(width).list.join("") == "")
        if (broken := lines.filter(~are_whole).head(1)).height:
            number, size = broken.select("number", fields.list.len()).row(0)
            raise source.error(f"line {number} has {size} fields, where {width} have a name", CUT_OFF)
        cells = line.str.split_exact("\t", width - 1).struct.rename_fields(columns[:width])
        return lines.select(cells).unnest("line"), slots

    def _check_header(self, source: Source, columns: list[str], slots: list[str]) -> None:
        if source.kind != "tsv":
            raise source.misshapen(f"no header line that starts with `{DIALOGUE}`")
        names = [name for name in columns if name]
        if not slots or TURN not in columns or len(set(names)) < len(names):
            raise source.misshapen("the header lacks slots or the turn index, or names a column twice")
        if other := [name for name in names if name not in slots and name not in self.names]:
            raise source.misshapen(f"the header has columns that are not slots: {', '.join(other)}")
        if "" in (before := columns[: columns.index(slots[-1])]):
            raise source.misshapen(f"column {before.index('') + 1} of the header has no name")

    def read(self, source: Source, states: StatesBuilder) -> None:
        lines, slots = self.read_table(source)
        if self.columns:
            states.domains = dict.fromkeys(lines[DIALOGUE], domain_of(slots[0]))
        # A slot at a time: most cells are empty, and all at once would take most of the memory of reading.
        rows = lines.with_row_index("at")
        cells = (rows.select("at", slot=pl.lit(slot), value=slot).filter(pl.col("value") != OMITTED) for slot in slots)
        states.lines(lines[DIALOGUE], lines[TURN], pl.concat(cells))

    def said(self, source: Source) -> Iterator[Said]:
        lines, _ = self.read_table(source)
        speakers = (pl.col(name) if name in lines.columns else pl.lit(None, pl.String) for name in (SYSTEM, USER))
        yield from lines.select(DIALOGUE, TURN, *speakers).iter_rows()

    def format(self, name: str, title: str, example: str) -> Format:
        return Format(
            name=name,
            title=title,
            holds=("gold",),
            example=example,
            shape=self.line,
            sniff=self.sniff,
            reader=self.read,
            said=self.said,
            document=lambda source: TsvDocument(source, self),
        )


class TsvDocument(Document):
    """Lines of fields, which may be below a header."""

    absent = OMITTED

    def __init__(self, source: Source, table: _Table) -> None:
        super().__init__(source)
        self._usual = table.usual
        header, body = table.split(source.text)
        self._header = header.rstrip("\r\n").split("\t") if header else []
        self._header_end = header[len(header.rstrip("\r\n")) :]
        columns = self._header or [*table.columns]
        self._number = columns.index(TURN)
        self._speakers = {
            speaker: columns.index(name) for speaker, name in (("system", SYSTEM), ("user", USER)) if name in columns
        }
        self._columns = [(canonical_slot(name), column) for column, name in enumerate(columns) if "-" in name]
        # (fields, line end) of each line; one that is not a turn has no fields and is kept as a line end.
        self._lines: list[tuple[list[str], str]] = []
        for line in body.split("\n"):
            text = line.rstrip("\r")
            is_turn = text and not text.startswith("#")
            self._lines.append((text.split("\t"), line[len(text) :]) if is_turn else ([], line))

    def turns(self) -> Iterator[Turn]:
        for fields, _ in self._lines:
            if fields:
                texts = {speaker: (fields, column) for speaker, column in self._speakers.items()}
                yield Turn(fields[0], fields[self._number], fields, texts=texts)

    def cells(self, turn: Turn) -> Iterator[Cell]:
        yield from ((slot, (turn.content, column), None) for slot, column in self._columns)

    def make(self, turn: Turn, slot: str, spelling: Any) -> Place:
        if not self._header:
            raise self.source.error("no column for this slot, and no header to add one to", slot=slot)
        column = self._columns[-1][1] + 1
        self._columns.append((slot, column))
        name = slot.removeprefix(f"{domain_of(slot)}-")
        self._header.insert(column, f"{domain_of(slot)}-{self._usual.get(name, name)}")
        for fields, _ in self._lines:
            if fields:
                fields.insert(column, OMITTED)
        return turn.content, column

    def drop(self, dialogues: Collection[str]) -> None:
        self._lines = [line for line in self._lines if not line[0] or line[0][0] not in dialogues]

    def dump(self) -> bytes:
        for text in (text for fields, _ in self._lines for text in fields if re.search(r"[\t\r\n]", text)):
            raise self.source.error(f"{text!r} has a tab or a line break, which these files cannot hold")
        body = "\n".join("\t".join(fields) + end for fields, end in self._lines)
        return ("\t".join(self._header) + self._header_end + body).encode()


_IN_SUMBT: Final = {"leaveat": "leave at", "arriveby": "arrive by", "pricerange": "price range"}
_IN_WOZ: Final = (DIALOGUE, TURN, USER, SYSTEM, "restaurant-area", "restaurant-food", "restaurant-pricerange")
FORMATS: Final = (
    _Table(StarLine).format(
        "star-tsv",
        "STAR's preprocessed MultiWOZ, gold",
        "# Dialogue ID⇥Turn Index⇥Last Turn⇥System Response⇥User Utterance⇥attraction-area⇥…",
    ),
    _Table(SumbtLine, usual=_IN_SUMBT).format(
        "sumbt-tsv",
        "SUMBT's preprocessed MultiWOZ, gold",
        "# Dialogue ID⇥Turn Index⇥User Utterance⇥System Response⇥attraction-area⇥…",
    ),
    _Table(WozLine, _IN_WOZ).format(
        "woz-tsv",
        "SUMBT's copy of WOZ 2.0, gold",
        "9901⇥0⇥cheap food⇥⇥none⇥none⇥cheap",
    ),
)
