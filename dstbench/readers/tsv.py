"""Lines of fields separated by tabs: what STAR's (Ye et al. 2021) and SUMBT's (Lee et al. 2019) preprocessed MultiWOZ.

Conventions: gold only; one line per turn, cumulative, one column per tracked slot after the text columns. As every
slot has a column, ``none`` says that a slot is not in the state; ``do not care`` is kept as written. No quoting. Lines
that start with ``#`` are comments.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, ClassVar, Final

import msgspec
import polars as pl

from dstbench.conventions.slots import canonical_slot, domain_of
from dstbench.readers.builder import StatesBuilder
from dstbench.readers.document import Document, DocumentTurn
from dstbench.readers.format import Format, Said
from dstbench.readers.notations import Cell, Place
from dstbench.readers.source import Source

OMITTED: Final = "none"
#: The hint for a line with too few or too many fields.
CUT_OFF: Final = "is the file cut off, or a tab in a text?"
DIALOGUE: Final = "# Dialogue ID"
TURN: Final = "Turn Index"
SYSTEM: Final = "System Response"
USER: Final = "User Utterance"


def sniff(line: type[msgspec.Struct]) -> Callable[[Source], bool]:
    """The `Format.sniff` of files whose first columns are the fields of `line`."""
    header = "\t".join(_names(line)).encode()
    return lambda source: source.kind == "tsv" and source.raw.lstrip().startswith(header)


def table(line: type[msgspec.Struct]) -> Callable[[Source], tuple[pl.DataFrame, list[str]]]:
    """A function from a file to its lines, as a column of strings per column, and the names of those that are slots."""

    def read_table(source: Source) -> tuple[pl.DataFrame, list[str]]:
        if source.kind != "tsv":
            raise source.misshapen(f"no header line that starts with `{DIALOGUE}`")
        header, _, body = source.text.lstrip().partition("\n")
        columns = header.rstrip("\r").split("\t")
        slots = [name for name in columns if "-" in name]
        named = [name for name in columns if name]
        if not slots or TURN not in columns or len(set(named)) < len(named):
            raise source.misshapen("the header lacks slots or the turn index, or names a column twice")
        if other := [name for name in named if name not in slots and name not in _names(line)]:
            raise source.misshapen(f"the header has columns that are not slots: {', '.join(other)}")
        width = columns.index(slots[-1]) + 1
        if "" in columns[:width]:
            raise source.misshapen(f"column {columns.index('') + 1} of the header has no name")
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
            raise source.error(f"line {number} has {fields} fields, the header {len(columns)}", CUT_OFF)
        beyond = lines.filter(pl.col("line").str.strip_chars_end("\t").str.count_matches("\t", literal=True) >= width)
        if beyond.height:
            raise source.error(f"line {beyond['number'][0]} has a value in a column without a name", CUT_OFF)
        cells = pl.col("line").str.split_exact("\t", width - 1).struct.rename_fields(columns[:width])
        return lines.select(cells).unnest("line"), slots

    return read_table


def reader(line: type[msgspec.Struct]) -> Callable[[Source, StatesBuilder], None]:
    """The `Format.reader` of files whose first columns are the fields of `line`."""

    def read(source: Source, states: StatesBuilder) -> None:
        lines, slots = table(line)(source)
        # A slot at a time: most cells are empty, and all at once would take most of the memory of reading.
        rows = lines.with_row_index("at")
        cells = (rows.select("at", slot=pl.lit(slot), value=slot).filter(pl.col("value") != OMITTED) for slot in slots)
        states.lines(lines[DIALOGUE], lines[TURN], pl.concat(cells))

    return read


def said(line: type[msgspec.Struct]) -> Callable[[Source], Iterator[Said]]:
    """The `Format.said` of files whose first columns are the fields of `line`."""

    def read_said(source: Source) -> Iterator[Said]:
        lines, _ = table(line)(source)
        speakers = (pl.col(name) if name in lines.columns else pl.lit(None, pl.String) for name in (SYSTEM, USER))
        yield from lines.select(DIALOGUE, TURN, *speakers).iter_rows()

    return read_said


def _names(line: type[msgspec.Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(line)]


class LinesDocument(Document):
    """Lines of fields, of which the first is the dialogue's name."""

    absent = OMITTED

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        #: Index of the column of the turn's number.
        self.number = 1
        #: Index of the column of each speaker's utterances.
        self.speakers: Mapping[str, int] = {}
        #: (canonical slot, index of its column) of each slot.
        self.columns: list[tuple[str, int]] = []
        # (fields, line end) of each line; one that is not a turn has no fields and is kept as a line end.
        self.lines: list[tuple[list[str], str]] = []
        for line in self.body(source.text).split("\n"):
            text = line.rstrip("\r")
            is_turn = bool(text) and not text.startswith("#")
            self.lines.append((text.split("\t"), line[len(text) :]) if is_turn else ([], line))

    def body(self, text: str) -> str:
        """The text without its header; sets `number`, `speakers` and `columns`."""
        raise NotImplementedError

    def turns(self) -> Iterator[DocumentTurn]:
        for fields, _ in self.lines:
            if fields:
                texts = {speaker: (fields, column) for speaker, column in self.speakers.items()}
                yield DocumentTurn(fields[0], fields[self.number], fields, texts)

    def cells(self, state: Any) -> Iterator[Cell]:
        yield from ((slot, (state, column), None) for slot, column in self.columns)

    def drop(self, dialogues: Collection[str]) -> None:
        self.lines = [line for line in self.lines if not line[0] or line[0][0] not in dialogues]

    def dump(self) -> bytes:
        for text in (field for fields, _ in self.lines for field in fields if re.search(r"[\t\r\n]", field)):
            raise self.source.error(f"{text!r} has a tab or a line break, which these files cannot hold")
        return "\n".join("\t".join(fields) + end for fields, end in self.lines).encode()


class TsvDocument(LinesDocument):
    """Lines of fields below a header that names the columns."""

    def body(self, text: str) -> str:
        head, _, body = text.lstrip().partition("\n")
        self._header = head.rstrip("\r").split("\t")
        self._header_end = head[len(head.rstrip("\r")) :] + "\n"
        self.number = self._header.index(TURN)
        columns = {"system": SYSTEM, "user": USER}.items()
        self.speakers = {speaker: self._header.index(name) for speaker, name in columns if name in self._header}
        self.columns = [(canonical_slot(name), column) for column, name in enumerate(self._header) if "-" in name]
        return body

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        column = self.columns[-1][1] + 1
        self.columns.append((slot, column))
        self._header.insert(column, f"{domain_of(slot)}-{self.usual_name(slot)}")
        for fields, _ in self.lines:
            if fields:
                fields.insert(column, OMITTED)
        return state, column

    def dump(self) -> bytes:
        return ("\t".join(self._header) + self._header_end).encode() + super().dump()


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


class _SumbtDocument(TsvDocument):
    usual: ClassVar = {"leaveat": "leave at", "arriveby": "arrive by", "pricerange": "price range"}


# --- SUMBT's copy of WOZ 2.0 (Wen et al. 2017), which has no header line, and whose slots have no domain ------------

_DOMAIN: Final = "restaurant"


class WozLine(msgspec.Struct):
    """A line of SUMBT's copy of WOZ 2.0, as strings."""

    dialogue: str
    turn: str
    user: str
    system: str
    area: str
    food: str
    pricerange: str


_COLUMNS: Final = WozLine.__struct_fields__
_SLOTS: Final = _COLUMNS[4:]


def _fields(line: str) -> list[str]:
    """A line's fields, without the empty one after a tab at the end, as in other files by SUMBT."""
    fields = line.rstrip("\r").split("\t")
    return fields[:-1] if len(fields) > len(_COLUMNS) and not fields[-1] else fields


def _sniff_tsv(source: Source) -> bool:
    first = _fields(source.raw.lstrip().split(b"\n", 1)[0].decode(errors="replace")) if source.kind == "text" else []
    return len(first) == len(_COLUMNS) and first[1].isdecimal()


def _lines(source: Source) -> Iterator[list[str]]:
    for number, line in enumerate(source.text.split("\n"), start=1):
        fields = _fields(line)
        if fields == [""] or line.startswith("#"):
            continue
        if len(fields) != len(_COLUMNS):
            raise source.error(f"line {number} has {len(fields)} fields, not {len(_COLUMNS)}", CUT_OFF)
        yield fields


def _read_tsv(source: Source, states: StatesBuilder) -> None:
    for dialogue, turn, _, _, *values in _lines(source):
        states.domains[dialogue] = _DOMAIN
        cells = [(f"{_DOMAIN}-{slot}", value) for slot, value in zip(_SLOTS, values, strict=True)]
        states.gold.cells(states.turn(dialogue, turn), cells)


class _Lines(LinesDocument):
    def body(self, text: str) -> str:
        self.speakers = {"user": 2, "system": 3}
        self.columns = [(f"{_DOMAIN}-{name}", column) for column, name in enumerate(_SLOTS, start=4)]
        return text

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        raise self.source.error("no column for this slot, and no header to add one to", slot=slot)


def _said_in_woz(source: Source) -> Iterator[Said]:
    for dialogue, turn, user, system, *_ in _lines(source):
        yield dialogue, turn, system, user


FORMATS: Final = (
    Format(
        name="star-tsv",
        title="STAR's preprocessed MultiWOZ, gold",
        holds=("gold",),
        example="# Dialogue ID⇥Turn Index⇥Last Turn⇥System Response⇥User Utterance⇥attraction-area⇥…",
        shape=StarLine,
        sniff=sniff(StarLine),
        reader=reader(StarLine),
        said=said(StarLine),
        document=TsvDocument,
    ),
    Format(
        name="sumbt-tsv",
        title="SUMBT's preprocessed MultiWOZ, gold",
        holds=("gold",),
        example="# Dialogue ID⇥Turn Index⇥User Utterance⇥System Response⇥attraction-area⇥…",
        shape=SumbtLine,
        sniff=sniff(SumbtLine),
        reader=reader(SumbtLine),
        said=said(SumbtLine),
        document=_SumbtDocument,
    ),
    Format(
        name="woz-tsv",
        title="SUMBT's copy of WOZ 2.0, gold",
        holds=("gold",),
        example="9901⇥0⇥cheap food⇥⇥none⇥none⇥cheap",
        shape=WozLine,
        sniff=_sniff_tsv,
        reader=_read_tsv,
        omits=(OMITTED,),
        said=_said_in_woz,
        document=_Lines,
    ),
)
