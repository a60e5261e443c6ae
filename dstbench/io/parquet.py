"""Parquet files: written with checksums of all bytes, and checked before Polars reads them.

Polars verifies no checksum, and allocates as much memory as a damaged count asks for. So no other module of dstbench
opens a Parquet file. A file that dstbench wrote is as it was written, or refused. Files of other programs are decoded
once by PyArrow, which verifies the checksums of pages that have one. What large files, and all of other programs,
declare is held against the `limits`.

Conventions: the footer of a file that dstbench wrote has ``dstbench.crc32``, `checksums` of the row groups as JSON, and
``dstbench.seal``: the size of the file, and the CRC-32 of the footer and all that follows, with zeros in place of the
seal. If the size differs, another program has rewritten the file and kept these texts.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple
from zlib import crc32

import polars as pl

from dstbench.errors import DstbenchError
from dstbench.io.atomic import replacing
from dstbench.io.files import File
from dstbench.io.limits import FREE_BYTES, RATIO, UNPACKED

#: The first and the last bytes of a Parquet file.
MAGIC: Final = b"PAR1"
#: The exceptions of a Parquet file that cannot be read; Polars' panics do not derive from `Exception`.
UNREADABLE: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
#: The key of `checksums` in a footer.
CHECKSUMS: Final = "dstbench.crc32"
# The seal as Thrift writes it: its key, then a text of 24 hexadecimal digits.
_SEAL: Final = "dstbench.seal"
_SEALED: Final = re.compile(re.escape(_SEAL.encode()) + rb"\x18\x18([0-9a-f]{16})([0-9a-f]{8})")
_UNSEALED: Final = "0" * 24
_MB: Final = 1_000_000
# Bytes of a value in memory, besides those of its page: a text takes as many even if it is in a dictionary.
_WIDTH: Final = 16


class Scanned(NamedTuple):
    """A Parquet file's rows (whose checksums are not verified yet if dstbench wrote it), and its footer's texts."""

    table: pl.LazyFrame
    texts: Mapping[str, str]


def scan(file: File) -> Scanned:
    """Scan a Parquet file after the check of its footer and, if another program wrote it, of its pages."""
    with reading(file.name):
        path = file.utf8_path
        with file.path.open("rb") as stream:
            _check(file.name, stream, at_once=False)
        return Scanned(pl.scan_parquet(path, glob=False), pl.read_parquet_metadata(path))


def read(file: File, content: bytes | None = None) -> pl.DataFrame:
    """The table in a Parquet file, or in its content that has been read, after the check of all its bytes."""
    with reading(file.name), file.path.open("rb") if content is None else io.BytesIO(content) as stream:
        if _check(file.name, stream):
            stream.seek(0)  # Polars reads a stream in memory from where it is
            sums = json.loads(pl.read_parquet_metadata(stream)[CHECKSUMS])
            if checksums(stream, [end for end, _ in sums]) != sums:
                raise damaged("its bytes are not those that were written")
        stream.seek(0)
        return pl.read_parquet(stream)


@contextmanager
def reading(source: str) -> Iterator[None]:
    """Turn what is raised if a Parquet file cannot be read into a `DstbenchError` about `source`."""
    try:
        with interruptible():
            yield
    except FileNotFoundError:
        raise DstbenchError("no such file any more", file=source, hint="it was there when it was opened") from None
    except UNREADABLE as error:
        if isinstance(error, OSError) and error.errno:
            what, hint = f"cannot be read: {os.strerror(error.errno)}", "may you read it?"
        else:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            what, hint = f"a damaged Parquet file: {reason}", "write or copy it again"
        raise DstbenchError(what, file=source, hint=hint) from None


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn a panic or an error of Polars that stands for an interrupt into a `KeyboardInterrupt`.

    Polars stops a query on an interrupt by a panic without a text, which PyO3 reports as below; others have a text.
    """
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        if str(error) == "panic from Rust code" or str(error).startswith(("KeyboardInterrupt", "SystemExit")):
            raise KeyboardInterrupt from None
        raise


def checksums(stream: BinaryIO, ends: Sequence[int], begin: int = len(MAGIC)) -> list[list[int]]:
    """For consecutive sections of a file, of which the first starts at `begin`: each one's end, and its CRC-32."""
    sums = []
    stream.seek(begin)
    for end in ends:
        sums.append([end, crc32(stream.read(end - begin))])
        begin = end
    return sums


def write(
    path: str | os.PathLike[str],
    schema: pl.Schema,
    groups: Iterable[pl.DataFrame],
    texts: Mapping[str, str] | None = None,
    last_texts: Callable[[], Mapping[str, str]] = dict,
) -> None:
    """Write a table, each part of it a row group of the file, with checksums of all bytes.

    PyArrow keeps the `texts` of the footer if it reads the table and writes it again, and does not keep `last_texts`,
    which are asked for when all parts are written.
    """
    import pyarrow as pa  # takes 0.2 s, and only writing needs it
    import pyarrow.parquet as pq

    class Writer(pq.ParquetWriter):  # type: ignore[misc]  # PyArrow has no types
        def __del__(self) -> None:
            """Close nothing: where an interrupt meets `close`, the file is closed first, and PyArrow would complain."""

    columns = schema.to_frame().to_arrow().schema
    columns = columns.with_metadata({**(columns.metadata or {}), **(texts or {})})
    # Uncompressed, files are 1.8 times as large, with LZ4 1.3 times, and scored in 0.9 to 1 of the time. Checksums of
    # pages take a thousandth of a file and no time that shows; they are for other readers, ours are in the footer.
    with replacing(Path(path)) as temporary:
        with (
            pa.OSFile(os.fsencode(temporary), "wb") as file,  # closed even if closing the writer fails
            Writer(file, columns, compression="zstd", use_dictionary=True, write_page_checksum=True) as writer,
        ):
            ends = []
            for group in groups:
                # As one chunk, because a row group can hold only one dictionary: the values of a second chunk would be
                # written without any, and decoded at half the speed.
                writer.write_table(group.rechunk().to_arrow(), row_group_size=max(group.height, 1))
                ends.append(file.tell())
            with temporary.open("rb") as written:
                sums = json.dumps(checksums(written, ends))
            writer.add_key_value_metadata({**last_texts(), CHECKSUMS: sums, _SEAL: _UNSEALED})
        _seal(temporary)


def _seal(path: Path) -> None:
    """Replace the zeros of the seal in a footer that is complete."""
    with path.open("r+b") as file:
        footer = _footer(file)
        seal = _SEALED.search(footer)
        size = file.seek(0, os.SEEK_END)
        file.seek(size - len(footer) + (seal.start(1) if seal else 0))
        file.write(f"{size:016x}{crc32(footer):08x}".encode())


def damaged(reason: str) -> pl.exceptions.ComputeError:
    """What Polars raises for a file that is damaged, which `reading` makes an error about the file."""
    return pl.exceptions.ComputeError(reason)


def _footer(stream: BinaryIO) -> bytes:
    """The bytes of a file's footer, and all that follows."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - 8))
    length, end = int.from_bytes(stream.read(4), "little") + 8, stream.read(4)
    if end != MAGIC or length + len(MAGIC) > size:
        raise damaged("it does not end as a Parquet file does")
    stream.seek(size - length)
    return stream.read(length)


def _check(name: str, stream: BinaryIO, *, at_once: bool = True) -> bool:
    """Hold what a file declares against the limits; verify a seal, or else decode all pages.

    The rows are read `at_once`, or row group by row group. Returns whether it has a seal of its size: then its footer
    is the one that dstbench wrote, or an error is raised.
    """
    footer = _footer(stream)
    size = stream.tell()
    seal = _SEALED.search(footer)
    is_sealed = seal is not None and int(seal[1], 16) == size
    stream.seek(0)
    if is_sealed and seal:
        unsealed = footer[: seal.start(1)] + _UNSEALED.encode() + footer[seal.end(2) :]
        if crc32(unsealed) != int(seal[2], 16):
            raise damaged("its footer is not the one that was written")
        rows = pl.scan_parquet(stream).select(pl.len()).collect().item()
        stream.seek(0)
        if rows * len(pl.read_parquet_schema(stream)) * _WIDTH <= UNPACKED.value * _MB / 2:
            return True
        stream.seek(0)
    import pyarrow as pa  # takes 0.2 s, and small files that dstbench wrote do without
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(stream)
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        unpacked = sum(group.total_byte_size for group in groups)
        if unpacked > max(FREE_BYTES, RATIO.value * size):
            what = f"more than {RATIO.value} times its packed size when unpacked"
            raise DstbenchError(what, file=name, hint=RATIO.hint)
        in_memory = [group.total_byte_size + _WIDTH * group.num_rows * group.num_columns for group in groups]
        if (max(in_memory, default=0) if is_sealed and not at_once else sum(in_memory)) > UNPACKED.value * _MB:
            raise DstbenchError(f"more than {UNPACKED.value:,} MB when unpacked", file=name, hint=UNPACKED.hint)
        if not is_sealed:
            # As dictionaries, because a long text in one would be copied into every row.
            columns = [metadata.schema.column(number) for number in range(metadata.num_columns)]
            texts = sorted(column.path for column in columns if column.physical_type == "BYTE_ARRAY")
            stream.seek(0)
            pages = pq.ParquetFile(stream, metadata=metadata, read_dictionary=texts, page_checksum_verification=True)
            for _ in pages.iter_batches():
                pass
    except (pa.ArrowException, OSError, IndexError, OverflowError) as error:
        raise damaged(str(error) or type(error).__name__) from None
    return is_sealed
