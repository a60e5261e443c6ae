"""Lines of fields separated by tabs: what STAR's (Ye et al. 2021) and SUMBT's (Lee et al. 2019) preprocessed MultiWOZ.

Conventions: gold only; one line per turn, cumulative, one column per tracked slot after the text columns. As every
slot has a column, ``none`` says that a slot is not in the state; ``do not care`` is kept as written. No quoting. Lines
that start with ``#`` are comments. SUMBT's copy of WOZ 2.0 (Wen et al. 2017) has no header line, and its slots have no
domain.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from dstbench.conventions.slots import domain_of
from dstbench.readers.builder import StatesBuilder
from dstbench.readers.document import LinesDocument
from dstbench.readers.format import Format, Said
from dstbench.readers.rows import Row
from dstbench.readers.source import Source

OMITTED: Final = "none"
#: The hint for a line with too few or too many fields.
CUT_OFF: Final = "is the file cut off, or a tab in a text?"
DIALOGUE, TURN, SYSTEM, USER = "# Dialogue ID", "Turn Index", "System Response", "User Utterance"
# Keys of the columns that are no slots, in lines as objects.
_KEYS: Final = {DIALOGUE: "dialogue", TURN: "turn", SYSTEM: "system", USER: "user", "Last Turn": "last"}


@dataclass(frozen=True)
class _Table:
    """The columns of a format.

    Attributes:
        texts: Its first columns, before those of slots.
        slots: The slots, if files have no header that names them; they are of one domain, which files do not name.
    """

    texts: tuple[str, ...]
    slots: tuple[str, ...] = ()

    def sniff(self, source: Source) -> bool:
        first = source.raw.lstrip().partition(b"\n")[0].decode(errors="replace").rstrip("\r")
        if not self.slots:
            return source.kind == "tsv" and first.startswith("\t".join(self.texts))
        fields = first.removesuffix("\t").split("\t")
        return source.kind == "text" and len(fields) == len(self.texts + self.slots) and fields[1].isdecimal()

    def columns(self, source: Source) -> tuple[list[str], str]:
        """The columns, and the lines below the header, if there is one."""
        if self.slots:
            return [*self.texts, *self.slots, ""], source.text
        header, _, body = source.text.lstrip().partition("\n")
        return header.rstrip("\r").split("\t"), body

    def read_table(self, source: Source) -> tuple[pl.DataFrame, list[str]]:
        """The lines, as a column of strings per column, and the names of those that are slots."""
        columns, body = self.columns(source)
        slots = [name for name in columns if "-" in name]
        if not self.slots:
            self._check_header(source, columns, slots)
        width, line, fields = columns.index(slots[-1]) + 1, pl.col("line"), pl.col("line").str.split("\t")
        lines = pl.DataFrame({"line": body.split("\n")}).with_columns(line.str.strip_chars_end("\r"))
        lines = lines.with_row_index("number", offset=1 + (not self.slots))
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

    def decode(self, source: Source) -> list[dict[str, str]]:
        """The lines as objects."""
        columns, body = self.columns(source)
        width = max(at for at, name in enumerate(columns, 1) if "-" in name)
        keys = [_KEYS.get(name, name) for name in columns[:width]]
        lines = [line.rstrip("\r") for line in body.split("\n") if line.strip() and not line.startswith("#")]
        return [dict(zip(keys, line.split("\t"), strict=False)) for line in lines]

    def format(self, name: str, title: str, example: str) -> Format:
        row = Row(
            name=name, title=title, example=example, path="[dialogue=dialogue,turn=turn:any]", gold=":columns",
            absent=OMITTED, said=("system", "user"), decode=self.decode, document=TsvDocument,
        )  # fmt: skip
        return replace(row.format(), sniff=self.sniff, reader=self.read, said=self.said)


class TsvDocument(LinesDocument):
    """Lines of fields, which may be below a header; a new slot is a new column, behind the others."""

    def __init__(self, source: Source, row: Row) -> None:
        super().__init__(source, row)
        self._columns = [*self.items[0]]
        self._new: list[str] = []

    def is_item(self, line: bytes) -> bool:
        return bool(line.strip()) and not line.startswith(b"#")

    def written(self, line: bytes, item: Any) -> bytes:
        width, fields = len(self._columns), [item.get(name, OMITTED) for name in (*self._columns, *self._new)]
        for text in fields:
            if re.search(r"[\t\r\n]", text):
                raise self.source.error(f"{text!r} has a tab or a line break, which these files cannot hold")
        return b"\t".join([*map(str.encode, fields), *line.split(b"\t")[width:]])

    def dump(self) -> bytes:
        self._new = [*dict.fromkeys(name for item in self.items for name in item if name not in self._columns)]
        lines = super().dump()
        if not self._new:
            return lines
        if not lines.lstrip().startswith(b"#"):
            raise self.source.error("no column for this slot, and no header to add one to", slot=self._new[0])
        head, end, body = lines.partition(b"\n")
        return (
            self.written(
                head,
                dict(zip(self._columns, head.decode().split("\t"), strict=False)) | {name: name for name in self._new},
            )
            + end
            + body
        )


_STAR: Final = (DIALOGUE, TURN, "Last Turn", SYSTEM, USER)
_SUMBT: Final = (DIALOGUE, TURN, USER, SYSTEM)
FORMATS: Final = (
    _Table(_STAR).format(
        "star-tsv",
        "STAR's preprocessed MultiWOZ, gold",
        "# Dialogue ID⇥Turn Index⇥Last Turn⇥System Response⇥User Utterance⇥attraction-area⇥…",
    ),
    _Table(_SUMBT).format(
        "sumbt-tsv",
        "SUMBT's preprocessed MultiWOZ, gold",
        "# Dialogue ID⇥Turn Index⇥User Utterance⇥System Response⇥attraction-area⇥…",
    ),
    _Table(_SUMBT, ("restaurant-area", "restaurant-food", "restaurant-pricerange")).format(
        "woz-tsv", "SUMBT's copy of WOZ 2.0, gold", "9901⇥0⇥cheap food⇥⇥none⇥none⇥cheap"
    ),
)
