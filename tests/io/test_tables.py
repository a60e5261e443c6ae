"""Tables of users: the same rows in every dialect of CSV that programs and spreadsheets write."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.io.files import File
from dstbench.io.tables import read_table

TEXTS = st.text(st.sampled_from('ab,;\t" \né.=1'), min_size=1, max_size=6).filter(lambda text: text.strip() == text)
ROWS = st.lists(st.tuples(TEXTS, st.integers(-99, 99), st.integers(0, 9)), min_size=1, max_size=4)


@given(rows=ROWS, separator=st.sampled_from(",;\t"), comma=st.booleans(), bom=st.booleans(), says=st.booleans())
def test_every_dialect_has_the_same_rows(
    rows: list[tuple[str, int, int]],
    separator: str,
    comma: bool,
    bom: bool,
    says: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Separators, byte order marks, decimal commas, line ends, and Excel's first line."""
    point = "," if comma and separator != "," else "."
    numbers = [f"{whole}{point}{part}" for _, whole, part in rows]
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator)
    writer.writerows([("name", "value"), *zip((name for name, *_ in rows), numbers, strict=True)])
    path = tmp_path_factory.mktemp("table") / "t.csv"
    content = f"sep={separator}\r\n" * says + text.getvalue()
    path.write_bytes(b"\xef\xbb\xbf" * bom + content.encode())
    table = read_table(File(path), numbers=["value"]).rows
    assert table.columns == ["name", "value"]
    wanted = [(name, float(f"{whole}.{part}")) for name, whole, part in rows]
    assert table.with_columns(pl.col("value").cast(pl.Float64)).rows() == wanted


def test_an_encoding_that_is_not_read_is_named(here: Path) -> None:
    Path("t.csv").write_text("model,metric,value\na,jga,0.5\n", encoding="utf-16")
    with pytest.raises(dstbench.DstbenchError, match=r"t\.csv: it is in UTF-16\nhint: save it as CSV in UTF-8"):
        dstbench.compare_metrics(table="t.csv")
