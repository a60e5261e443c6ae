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


def _line(name: str, meaning: str, *columns: str) -> type[msgspec.Struct]:
    """The type of a line's columns, which are strings."""
    fields = [(f"column{at}", str, msgspec.field(name=column)) for at, column in enumerate(columns)]
    return msgspec.defstruct(name, fields, namespace={"__doc__": meaning})


@dataclass(frozen=True)
class _Table:
    """The columns of a format.

    Attributes:
        texts: Its first columns, before those of slots.
        slots: The slots, if files have no header that names them; they are of one domain, which files do not name.
        usual: Spellings of slots that differ from the canonical ones.
    """

    texts: tuple[str, ...]
    slots: tuple[str, ...] = ()
    usual: Mapping[str, str] = field(default_factory=dict)

    def sniff(self, source: Source) -> bool:
        first = source.raw.lstrip().partition(b"\n")[0].decode(errors="replace").rstrip("\r")
        if not self.slots:
            return source.kind == "tsv" and first.startswith("\t".join(self.texts))
        fields = first.removesuffix("\t").split("\t")
        return source.kind == "text" and len(fields) == len(self.texts + self.slots) and fields[1].isdecimal()

    def split(self, text: str) -> tuple[str, str]:
        """The header line, if there is one, and the lines below it."""
        header, end, body = text.lstrip().partition("\n") if not self.slots else ("", "", text)
        return header + end, body

    def read_table(self, source: Source) -> tuple[pl.DataFrame, list[str]]:
        """The lines, as a column of strings per column, and the names of those that are slots."""
        header, body = self.split(source.text)
        columns = header.rstrip("\r\n").split("\t") if header else [*self.texts, *self.slots, ""]
        slots = [name for name in columns if "-" in name]
        if not self.slots:
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
        if not slots or not {*self.texts} <= {*names} or len({*names}) < len(names):
            raise source.misshapen(f"the header lacks slots or one of {', '.join(self.texts)}, or names a column twice")
        every = dict.fromkeys(columns[: columns.index(slots[-1])] + names)
        if others := [name for name in every if name not in (*slots, *self.texts)]:
            shown = ", ".join(name or "one without a name" for name in others)
            raise source.misshapen(f"the header has columns that are not slots: {shown}")

    def read(self, source: Source, states: StatesBuilder) -> None:
        lines, slots = self.read_table(source)
        if self.slots:
            states.domains = dict.fromkeys(lines[DIALOGUE], domain_of(slots[0]))
        cells = lines.with_row_index("at").unpivot(slots, index="at", variable_name="slot")
        states.lines(lines[DIALOGUE], lines[TURN], cells.filter(pl.col("value") != OMITTED))

    def said(self, source: Source) -> Iterator[Said]:
        lines, _ = self.read_table(source)
        yield from lines.select(DIALOGUE, TURN, SYSTEM, USER).iter_rows()

    def format(self, line: type[msgspec.Struct], name: str, title: str, example: str) -> Format:
        return Format(
            name=name,
            title=title,
            holds=("gold",),
            example=example,
            shape=line,
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
        columns = self._header or [*table.texts, *table.slots]
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


_STAR: Final = (DIALOGUE, TURN, "Last Turn", SYSTEM, USER)
_SUMBT: Final = (DIALOGUE, TURN, USER, SYSTEM)
_IN_SUMBT: Final = {"leaveat": "leave at", "arriveby": "arrive by", "pricerange": "price range"}
_WOZ: Final = ("dialogue", "turn", "user", "system", "area", "food", "pricerange")
_BELOW: Final = "A line's first columns, as strings; one column per slot follows."
FORMATS: Final = (
    _Table(_STAR).format(
        _line("StarLine", _BELOW, *_STAR),
        "star-tsv",
        "STAR's preprocessed MultiWOZ, gold",
        "# Dialogue ID⇥Turn Index⇥Last Turn⇥System Response⇥User Utterance⇥attraction-area⇥…",
    ),
    _Table(_SUMBT, usual=_IN_SUMBT).format(
        _line("SumbtLine", _BELOW, *_SUMBT),
        "sumbt-tsv",
        "SUMBT's preprocessed MultiWOZ, gold",
        "# Dialogue ID⇥Turn Index⇥User Utterance⇥System Response⇥attraction-area⇥…",
    ),
    _Table(_SUMBT, ("restaurant-area", "restaurant-food", "restaurant-pricerange")).format(
        _line("WozLine", "A line of SUMBT's copy of WOZ 2.0, as strings.", *_WOZ),
        "woz-tsv",
        "SUMBT's copy of WOZ 2.0, gold",
        "9901⇥0⇥cheap food⇥⇥none⇥none⇥cheap",
    ),
)
