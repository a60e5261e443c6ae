"""Parquet files that are damaged, or declare what they do not hold: the same table, or refused before it is read."""

from __future__ import annotations

import gc
import io
import random
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dstbench
from dstbench.demo import synthetic
from dstbench.io import limits, parquet
from dstbench.io.files import File
from dstbench.runs.open import open_runs

pytestmark = pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")


def test_no_byte_or_bit_of_a_long_table_is_read_otherwise(here: Path) -> None:
    """Some 100 of all bytes and 100 of the footer, set to another value or with one bit flipped."""
    dstbench.write_long(open_runs(synthetic(30, trackers=["eager"]))[0], "x.parquet")
    content, rng = Path("x.parquet").read_bytes(), random.Random(1)  # noqa: S311 (no cryptography)
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    rows = open_runs("x.parquet")[0].read().rows()
    for number in range(200):
        at = rng.randrange(footer if number % 2 else 0, len(content))
        byte = rng.choice([content[at] ^ 1 << rng.randrange(8), rng.randrange(256)])
        Path("x.parquet").write_bytes(content[:at] + bytes([byte]) + content[at + 1 :])
        try:
            assert open_runs("x.parquet")[0].read().rows() == rows, (at, byte)
        except dstbench.DstbenchError as error:
            assert "a damaged Parquet file" in str(error), (at, byte)  # noqa: PT017 (or no error at all)


def test_a_page_with_another_checksum_is_refused_whoever_wrote_it(here: Path) -> None:
    states = [{"dialogue": f"D{at}", "turn": 0, "slot": "hotel-area", "gold": "a", "pred": "b" * at} for at in range(9)]
    content = packed(pa.Table.from_pylist(states), compression="none", write_page_checksum=True, write_statistics=False)
    at = content.index(b"bbbbbbbb")
    for byte in (b"b", b"c"):
        Path("x.parquet").write_bytes(content[:at] + byte + content[at + 1 :])
        if byte == b"b":
            assert dstbench.score("x.parquet", metrics="jga")["turns"].item() == 9
            continue
        with pytest.raises(dstbench.DstbenchError, match=r"^x\.parquet: a damaged Parquet file: .*CRC"):
            dstbench.score("x.parquet", metrics="jga")


def packed(table: pa.Table, **how: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream, **how)
    return stream.getvalue()


def test_what_unpacks_to_much_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """One long text in a dictionary, which is a few bytes when packed; and many rows without a value."""
    text = packed(pa.table({"text": ["x" * 3_000_000] * 5}), compression="zstd")
    rows = packed(pa.table({"text": pa.nulls(1_000_000, pa.string())}))
    assert (len(text), len(rows)) < (10_000, 10_000)
    assert parquet.read(File("x"), text).height == 5
    assert parquet.read(File("x"), rows).height == 1_000_000
    monkeypatch.setattr(limits, "FREE_BYTES", 1_000_000)
    with pytest.raises(
        dstbench.DstbenchError, match=r"^x: more than 200 times its packed size when unpacked\nhint: .*RATIO"
    ):
        parquet.read(File("x"), text)
    monkeypatch.setenv("DSTBENCH_MAX_UNPACKED", "15")
    with pytest.raises(dstbench.DstbenchError, match=r"^x: more than 15 MB when unpacked\nhint: .*UNPACKED"):
        parquet.read(File("x"), rows)


def test_a_seal_lifts_no_limit(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pl.DataFrame({"gold": pl.Series([None] * 1_000_000, dtype=pl.String)})
    parquet.write("x.parquet", table.schema, [table])
    assert parquet.scan(File("x.parquet")).is_sealed
    monkeypatch.setenv("DSTBENCH_MAX_UNPACKED", "15")
    for use in (parquet.read, parquet.scan):
        with pytest.raises(
            dstbench.DstbenchError, match=r"^x\.parquet: more than 15 MB when unpacked\nhint: .*UNPACKED"
        ):
            use(File("x.parquet"))


@pytest.mark.parametrize(
    "raised",
    [
        pl.exceptions.PanicException("panic from Rust code"),
        pl.exceptions.ComputeError("KeyboardInterrupt: "),
        pl.exceptions.ComputeError("SystemExit: 143"),
        KeyboardInterrupt(),
    ],
)
def test_an_interrupt_in_a_query_is_no_damaged_file(raised: BaseException) -> None:
    with pytest.raises(KeyboardInterrupt), parquet.reading("run.parquet"):
        raise raised
    with pytest.raises(dstbench.DstbenchError, match="a damaged Parquet file: called"), parquet.reading("run.parquet"):
        raise pl.exceptions.PanicException("called `Option::unwrap()` on a `None` value")


def test_an_interrupt_while_closing_says_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyArrow would close its writer once more when it is collected, whose file is closed by then."""
    complaints: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)

    close = pq.ParquetWriter.close

    def interrupted(writer: pq.ParquetWriter) -> None:
        monkeypatch.setattr(pq.ParquetWriter, "close", close)
        raise KeyboardInterrupt

    monkeypatch.setattr(pq.ParquetWriter, "close", interrupted)
    table = pl.DataFrame({"a": [1, 2]})
    with pytest.raises(KeyboardInterrupt):
        parquet.write("a.parquet", table.schema, [table])
    gc.collect()
    assert not complaints
    assert not [*here.iterdir()]
