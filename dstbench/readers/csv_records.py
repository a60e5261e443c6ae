"""Records of turns, or of slots, as lines of fields: CSV with commas, semicolons or tabs.

Conventions: those of `records`; the first line names the columns, fields may be quoted as in RFC 4180, states are
written as JSON or as Python prints them. An empty field is null. A column without a name is ignored: pandas writes row
numbers in one.
"""

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from dstbench.errors import first_repeated
from dstbench.io.tables import separators
from dstbench.readers.format import Format, Said, Source, StatesBuilder
from dstbench.readers.record_keys import KeysError, Samples, choose
from dstbench.readers.record_reading import collect, spoken
from dstbench.readers.states import noting_vanishing_slots
from dstbench.readers.tsv import CUT_OFF
from dstbench.readers.walk import Turn

# Characters of the file's beginning in which its header and some lines are.
_BEGINNING: Final = 1 << 18
_SAMPLE: Final = 20


def _rows(source: Source, separator: str) -> Iterator[Turn]:
    """The lines as records."""
    _, content = separators(source.raw)
    lines = _lines(source.text[len(source.raw) - len(content) :], separator)  # Excel's first line is ASCII
    names: list[str] | None = None
    before = number = 1 if content is source.raw else 2
    try:
        for fields in lines:
            place, number = f"line {number}: ", lines.line_num + before
            if not any(fields):
                continue
            if names is None:
                names = [name.strip() for name in fields]
                if again := first_repeated(filter(None, names)):
                    raise source.misshapen(f"{place}the header names the column {again!r} twice")
            elif len(fields) != len(names):
                what = f"{place}{len(fields)} fields, where the header has {len(names)}"
                raise source.error(what, CUT_OFF.replace("a tab", "a separator without quotes"))
            else:
                record = {name: field or None for name, field in zip(names, fields, strict=True) if name}
                yield Turn(None, None, record, record, place=place)
    except csv.Error as error:
        raise source.error(f"line {number}: broken CSV: {error}", CUT_OFF) from None


def _lines(text: str, separator: str) -> Any:
    csv.field_size_limit(1 << 30)  # the history of a dialogue may be long
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)


def columns_of(source: Source) -> list[str]:
    """The names in the first line of a text file, split at the most frequent separator; empty if there is only one."""
    if source.kind not in ("text", "tsv"):
        return []
    (separator, *_), beginning = separators(source.raw[:_BEGINNING])
    names: list[str] = []
    with suppress(csv.Error):
        names.extend(next(_lines(beginning.decode(errors="replace"), separator), []))
    return [name.strip() for name in names] if len(names) > 1 else []


def sample_of(source: Source) -> list[tuple[str, Any]] | None:
    """The first lines of a text file as records, by the most frequent separator; None: it is no such file."""
    names = columns_of(source)
    if not names:
        return None
    (separator, *_), beginning = separators(source.raw[:_BEGINNING])
    lines = _lines(beginning.decode(errors="replace"), separator)
    with suppress(csv.Error):
        return [("", dict(zip(names, fields, strict=False))) for fields in islice(lines, 1, _SAMPLE)]
    return None


def _separator(source: Source) -> str | None:
    """The separator whose columns can be read as records; None: there is none."""
    if source.kind not in ("text", "tsv"):
        return None
    possible, beginning = separators(source.raw[:_BEGINNING])
    for separator in possible:
        fields: list[list[str]] = []
        with suppress(csv.Error):  # a field may go on after the beginning
            fields.extend(islice(filter(any, _lines(beginning.decode(errors="replace"), separator)), _SAMPLE))
        if not fields:
            continue
        names, *rest = fields
        samples = [line for line in rest if len(line) == len(names)] or [[""] * len(names)]
        records = [{name.strip(): field or None for name, field in zip(names, line, strict=True)} for line in samples]
        with suppress(KeysError):
            choose(Samples(records), source.keys, named_outside=source.dialogue is not None)
            return separator
    return None


def _all_rows(source: Source) -> list[Turn]:
    separator = _separator(source)
    if separator is None:
        what = "no header with columns for the dialogue and for a state"
        raise source.error(what, "--keys id=COLUMN,gold=COLUMN,pred=COLUMN names them")
    return list(_rows(source, separator))


def _read(source: Source, states: StatesBuilder) -> None:
    collect(source, states, _all_rows(source))


def _said(source: Source) -> Iterator[Said]:
    return spoken(source, _all_rows(source))


FORMAT: Final = Format(
    name="csv",
    title="CSV of turns, their states as JSON, or of slots (dialogue,turn,slot,gold,pred)",
    example="dialogue,turn,slot,gold,pred⏎MUL9901,0,hotel-area,north,north",
    shape=dict[str, Any],
    sniff=lambda source: _separator(source) is not None,
    reader=_read,
    finish=noting_vanishing_slots,
    loose=True,
    free_keys=True,
    said=_said,
)
