"""Tables that users give: CSV as programs and spreadsheets write it, or Parquet.

Conventions: the separator is a comma, a semicolon or a tab, whichever is most frequent in the head. If it is not a
comma, numbers may have a decimal comma, because spreadsheets write both together. A byte order mark, and Excel's line
``sep=;``, are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from io import BytesIO
from typing import Final, NamedTuple

import polars as pl

from dstbench.io import parquet
from dstbench.io.files import File
from dstbench.io.parquet import reason_of

_SEPARATORS: Final = ",;\t"
_QUOTED: Final = re.compile(rb'"[^"]*"')
_SEPARATOR_LINE: Final = re.compile(rb"\"?sep=(.)\"?\r?\n", re.IGNORECASE)
# Not those with leading zeros, which may be ids.
_NUMBERS: Final = {pl.Int64(): r"^-?(0|[1-9]\d{0,17})$", pl.Float64(): r"^-?(0|[1-9]\d*)(\.\d+)?$"}
_ANY_NUMBER: Final = r"^-?(0|[1-9]\d*)([.,]\d+)?$"
_DECIMAL_COMMA: Final = r"^(\s*[-+]?\d*),(\d+\s*)$"
_DECIMAL_POINT: Final = r"^\s*[-+]?\d*\.\d+\s*$"


class FileTable(NamedTuple):
    """A table from a file (all columns of CSV are texts); what messages call its rows, and the number of the first."""

    rows: pl.DataFrame
    place: str
    first: int


def read_table(
    file: File, *, columns: Collection[str] | None = None, numbers: Collection[str] | None = ()
) -> FileTable:
    """Read a table.

    Those of the `columns` of interest (None: all) must not be repeated. In those of `numbers` (None: all that hold only
    numbers), decimal commas become points.
    """
    if file.is_parquet:
        return FileTable(parquet.read(file), "row", 1)
    rows, separator, content = _csv(file, titles=True)
    for column in rows.columns if columns is None else columns:
        if f"{column}_duplicated_0" in rows.columns:  # what Polars appends to the name of a repeated column
            raise file.error(f"two columns {column}", "give each column a name of its own")
    if separator != ",":
        names = _hold_only(rows, _ANY_NUMBER) if numbers is None else numbers
        rows = rows.with_columns(_with_points(file, rows[name]) for name in rows.columns if name.strip() in names)
    has_line_of_excel = _SEPARATOR_LINE.match(content) is not None
    if content.rstrip(b"\r\n").count(b"\n") == rows.height + has_line_of_excel:  # no text has several lines
        return FileTable(rows, "line", 2 + has_line_of_excel)
    return FileTable(rows, "row", 1)


def read_pairs(file: File, hint: str) -> list[tuple[str, str]]:
    """The rows of a table of two columns of texts without titles."""
    rows, _, _ = _csv(file, titles=False)
    if rows.width != 2:
        raise file.error(f"{rows.width} column{'s' * (rows.width != 1)}, not two", hint)
    for number, (one, other) in enumerate(pairs := rows.fill_null("").rows(), start=1):
        if not (one.strip() and other.strip()):
            raise file.error(f"row {number} has an empty cell ({one}, {other})", hint)
    return [(one, other) for one, other in pairs]


def read_typed(file: File) -> pl.DataFrame:
    """A table in which numbers are numbers, if all texts of a column are written as numbers are."""
    rows = read_table(file, numbers=None).rows
    for dtype, form in _NUMBERS.items():
        rows = rows.with_columns(rows[name].cast(dtype) for name in _hold_only(rows, form))
    return rows


def separator_of(content: bytes) -> tuple[str, bytes]:
    """The likeliest separator of a CSV file, and its content without Excel's line about it."""
    if line := _SEPARATOR_LINE.match(content):
        return line[1].decode(), content[line.end() :]
    first = _QUOTED.sub(b"", content.partition(b"\n")[0])
    return max(_SEPARATORS, key=lambda sign: first.count(sign.encode())), content


def _csv(file: File, *, titles: bool) -> tuple[pl.DataFrame, str, bytes]:
    """The rows of a CSV file, all of texts; their separator; and the whole content."""
    whole = file.read()
    if whole.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise file.error("it is in UTF-16", "save it as CSV in UTF-8")
    separator, content = separator_of(whole)
    try:
        rows = pl.read_csv(BytesIO(content), infer_schema=False, separator=separator, has_header=titles)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        what, hint = f"not a CSV file: {reason_of(error)}", "save the table as CSV, in UTF-8, or as Parquet"
        raise file.error(what, hint) from None
    return rows, separator, whole


def _hold_only(rows: pl.DataFrame, form: str) -> list[str]:
    """The columns of texts that have a value, and only values of this form."""
    texts = [column for column in rows if column.dtype == pl.String and column.null_count() < len(column)]
    return [column.name for column in texts if column.str.contains(form).all()]


def _with_points(file: File, texts: pl.Series) -> pl.Series:
    """A column of numbers with decimal points for commas."""
    comma, point = (texts.filter(texts.str.contains(form)) for form in (_DECIMAL_COMMA, _DECIMAL_POINT))
    if len(comma) and len(point):
        what = f"numbers with decimal commas and with points, such as {comma[0]!r} and {point[0]!r}"
        raise file.error(f"column {texts.name}: {what}", "write all of them in one way")
    return texts.str.replace(_DECIMAL_COMMA, "${1}.${2}")
