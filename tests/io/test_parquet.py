"""Parquet files that are damaged, or declare what they do not hold: the same table, or refused before it is read."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dstbench
from dstbench.demo import synthetic
from dstbench.io import parquet
from dstbench.io.files import File
from dstbench.runs.open import open_runs
from dstbench.schema.core import CONTEXTS

pytestmark = pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")


def bits(content: bytes, step: int) -> Iterator[bytes]:
    """The content with one bit flipped; a step that is odd meets all places of a byte."""
    for at in range(0, len(content) * 8, step):
        yield content[: at // 8] + bytes([content[at // 8] ^ 1 << at % 8]) + content[at // 8 + 1 :]


def read_as_before_or_refused(path: str, step: int, use: Callable[[str], Any]) -> None:
    content, wanted, refused = Path(path).read_bytes(), use(path), 0
    for number, changed in enumerate(bits(content, step)):
        Path(path).write_bytes(changed)
        try:
            assert use(path) == wanted, f"flip {number}"
        except dstbench.DstbenchError:
            refused += 1
    assert refused > 0.9 * number > 0  # all but flips in the seal's size and name


def test_a_flipped_bit_of_a_long_table_changes_no_score(here: Path) -> None:
    for name in ("x.parquet", "other.parquet"):
        dstbench.write_long(open_runs(synthetic(3, trackers=["eager"]))[0], name)
    ways = {
        53: lambda path: dstbench.score(path, metrics="jga,f1", by="dialogue").rows(),
        211: lambda path: dstbench.query("SELECT dialogue, turn, slot, gold, pred FROM long", path).rows(),
        503: lambda path: dstbench.scan(path).collect().rows(),
        1511: lambda path: dstbench.check(path).rows(),
        1009: lambda path: dstbench.score("other.parquet", gold=path, metrics="jga").rows(),
    }
    content = Path("x.parquet").read_bytes()
    for step, use in ways.items():
        Path("x.parquet").write_bytes(content)
        read_as_before_or_refused("x.parquet", step, use)


def test_a_flipped_bit_of_a_table_of_contexts_changes_no_text(here: Path) -> None:
    rows = [(f"D{n // 3}", n % 3, f"system {n}" if n % 3 else None, f"user {n}") for n in range(12)]
    table = pl.DataFrame(rows, schema=CONTEXTS.schema, orient="row")
    parquet.write("x.parquet", table.schema, [table])
    assert dstbench.contexts("x.parquet").equals(table)
    read_as_before_or_refused("x.parquet", 13, lambda path: dstbench.contexts(path).rows())


def packed(table: pa.Table, **how: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream, **how)
    return stream.getvalue()


ROWS = pa.table(
    {
        "text": [f"value {n % 7}" for n in range(60)],
        "number": pa.array(range(60), pa.int64()),
        "lists": [["a"] * (n % 3) for n in range(60)],
        "structs": [{"a": n, "b": {"c": None if n % 2 else "x"}} for n in range(60)],
        "bytes": pa.array([b"four"] * 60, pa.binary(4)),
        "empty": pa.nulls(60, pa.string()),
    }
)
WAYS: dict[str, dict[str, Any]] = {
    "as usual": {},
    "no dictionary": {"use_dictionary": False, "compression": "none"},
    "pages of version 2": {"data_page_version": "2.0", "compression": "gzip"},
    "many groups and pages": {"row_group_size": 25, "data_page_size": 1, "write_batch_size": 5},
    "deltas": {
        "use_dictionary": False,
        "column_encoding": {"text": "DELTA_BYTE_ARRAY", "number": "DELTA_BINARY_PACKED"},
    },
    "no statistics": {"write_statistics": False, "write_page_index": True},
}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("sums", [False, True])
def test_tables_of_other_programs_are_read_as_polars_reads_them(how: str, sums: bool, here: Path) -> None:
    content = packed(ROWS, **WAYS[how], write_page_checksum=sums)
    Path("x.parquet").write_bytes(content)
    wanted = pl.read_parquet("x.parquet")
    assert parquet.read(File("x.parquet")).equals(wanted)
    assert parquet.read(File("x.parquet"), content).equals(wanted)
    table, height, _ = parquet.scan(File("x.parquet"))
    assert (table.collect().equals(wanted), height) == (True, 60)


def test_what_unpacks_to_much_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """One long text in a dictionary, which is a few bytes when packed; and many rows without a value."""
    text = packed(pa.table({"text": ["x" * 3_000_000] * 5}), compression="zstd")
    rows = packed(pa.table({"text": pa.nulls(1_000_000, pa.string())}))
    assert (len(text), len(rows)) < (10_000, 10_000)
    assert parquet.read(File("x"), text).height == 5
    assert parquet.read(File("x"), rows).height == 1_000_000
    monkeypatch.setattr(parquet, "FREE_BYTES", 1_000_000)
    with pytest.raises(
        dstbench.DstbenchError, match=r"^x: more than 200 times its packed size when unpacked\nhint: .*RATIO"
    ):
        parquet.read(File("x"), text)
    monkeypatch.setenv("DSTBENCH_MAX_UNPACKED", "15")
    with pytest.raises(dstbench.DstbenchError, match=r"^x: more than 15 MB when unpacked\nhint: .*UNPACKED"):
        parquet.read(File("x"), rows)


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
