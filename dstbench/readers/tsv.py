"""Gold states as TSV: what STAR's and SUMBT's preprocessed MultiWOZ share.

Conventions: one line per turn, cumulative, one column per tracked slot after the text columns. As every slot has a
column, ``none`` is how these files leave a slot out, and such a cell is no value; ``do not care`` is kept as written.
No quoting. Lines that start with ``#`` are comments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import polars as pl

from dstbench.readers.builder import Listed, Words, assemble, checked_turns
from dstbench.readers.source import Format, Source
from dstbench.readers.states import States

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dstbench.readers.source import Said

LEAVES_OUT: Final = "none"
KEYS: Final = "# Dialogue ID", "Turn Index"


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
    return lines.select(*KEYS, "System Response", "User Utterance").iter_rows()


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
