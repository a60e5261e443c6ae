"""Parquet files: written with a checksum of the whole file, and checked before Polars reads them.

Polars verifies no checksum, and allocates as much memory as a damaged count asks for. So no other module of dstbench
reads rows of a Parquet file. A file that dstbench wrote is as it was written, or refused. Files of other programs are
decoded once by PyArrow, which verifies the checksums of pages that have one. What files declare is held against the
`limits`.

Conventions: the footer of a file that dstbench wrote has the seal, ``dstbench.file``: the size of the file, and its
CRC-32 with zeros in place of the seal. If the size differs, another program has rewritten the file and kept the seal.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias
from zlib import crc32

import polars as pl

from dstbench.errors import DstbenchError
from dstbench.io.atomic import replacing
from dstbench.io.files import File, path_text
from dstbench.io.limits import MB, UNPACKED, Fail, check_ratio, check_unpacked

#: The first and the last bytes of a Parquet file.
MAGIC: Final = b"PAR1"
#: The exceptions of a Parquet file that cannot be read; Polars' panics do not derive from `Exception`.
UNREADABLE: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
_SEAL: Final = "dstbench.file"
# The seal as Thrift writes it: its key, then a text of 24 hexadecimal digits.
_BEGIN: Final = _SEAL.encode() + b"\x18\x18"
_SEALED: Final = re.compile(re.escape(_BEGIN) + rb"([0-9a-f]{16})([0-9a-f]{8})")
_UNSEALED: Final = b"0" * 24
_WIDTH: Final = 16  # bytes of a value in memory, besides those of its page


#: What identifies one state of a file on one machine: device, inode, size, and time of its last change in ns.
Stamp: TypeAlias = tuple[int, int, int, int]


class Scanned(NamedTuple):
    """A Parquet file's absolute path and stamp, rows, and footer's texts, and whether it is as dstbench wrote it."""

    path: str
    stamp: Stamp
    table: pl.LazyFrame
    texts: Mapping[str, str]
    is_sealed: bool


def stamp_of(path: str | int) -> Stamp:
    """The stamp of a file (or of an open one, by its descriptor) as it is now."""
    stat = os.stat(path)
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def scan(file: File) -> Scanned:
    """Scan a Parquet file after the check of all its bytes."""
    with reading(file.name), file.path.open("rb") as stream:
        path = str(file.path.absolute())
        if path_text(path) != path:
            raise file.error("the path of a Parquet file must be UTF-8", "rename it, or its folder")
        if not os.fstat(stream.fileno()).st_size:
            raise damaged("it is empty")
        stamp = stamp_of(stream.fileno())
        is_sealed = _check(file.error, mmap(stream.fileno(), 0, access=ACCESS_READ), path)
        return Scanned(path, stamp, pl.scan_parquet(path, glob=False), pl.read_parquet_metadata(path), is_sealed)


def read(file: File, content: bytes | None = None) -> pl.DataFrame:
    """The table in a Parquet file, or in its content that has been read, after the check of all its bytes."""
    with reading(file.name):
        content = file.path.read_bytes() if content is None else content
        _check(file.error, content, content)
        return pl.read_parquet(content)


@contextmanager
def reading(source: str) -> Iterator[None]:
    """Turn what is raised if a Parquet file cannot be read into a `DstbenchError` about `source`."""
    try:
        yield
    except FileNotFoundError:
        raise DstbenchError("no such file any more", file=source, hint="it was there when it was opened") from None
    except UNREADABLE as error:
        if isinstance(error, OSError) and error.errno:
            what, hint = f"cannot be read: {os.strerror(error.errno)}", "may you read it?"
        else:
            what, hint = f"a damaged Parquet file: {reason_of(error)}", "write or copy it again"
        raise DstbenchError(what, file=source, hint=hint) from None


def reason_of(error: BaseException) -> str:
    """The first line of what Polars raised; a `KeyboardInterrupt` is raised if that stands for an interrupt."""
    text = str(error)
    # On an interrupt, Polars panics without a text, which PyO3 reports so; other panics have a text.
    if text == "panic from Rust code" or text.startswith(("KeyboardInterrupt", "SystemExit")):
        raise KeyboardInterrupt from None
    return text.splitlines()[0] if text else type(error).__name__


def write(
    path: str | os.PathLike[str],
    schema: pl.Schema,
    groups: Iterable[pl.DataFrame],
    texts: Mapping[str, str] | None = None,
) -> None:
    """Write a table with texts in its footer and a seal, each part of it a row group of the file."""
    import pyarrow as pa  # takes 0.2 s, and only writing needs it
    import pyarrow.parquet as pq

    columns = schema.to_frame().to_arrow().schema
    columns = columns.with_metadata({**(columns.metadata or {}), **(texts or {})})
    with replacing(Path(path)) as temporary:
        with pa.OSFile(os.fsencode(temporary), "wb") as file:
            # Uncompressed, files are 1.8 times as large, and scored no faster. Pages have checksums for other readers.
            writer = pq.ParquetWriter(file, columns, compression="zstd", use_dictionary=True, write_page_checksum=True)
            try:
                for group in groups:
                    # As one chunk, because a row group can hold only one dictionary: the values of a second chunk
                    # would be written without any, and decoded at half the speed.
                    writer.write_table(group.rechunk().to_arrow(), row_group_size=max(group.height, 1))
                writer.add_key_value_metadata({_SEAL: _UNSEALED.decode()})
                writer.close()
            finally:
                writer.is_open = False  # else it is closed once more when it is collected, and complains
        with temporary.open("r+b") as sealed, mmap(sealed.fileno(), 0) as content:
            if (begin := content.rfind(_BEGIN + _UNSEALED)) >= 0:  # else it is a file without a seal
                seal = f"{len(content):016x}{crc32(content):08x}".encode()
                content[begin + len(_BEGIN) : begin + len(_BEGIN) + len(seal)] = seal


def damaged(reason: str) -> pl.exceptions.ComputeError:
    """What Polars raises for a file that is damaged, which `reading` makes an error about the file."""
    return pl.exceptions.ComputeError(reason)


def _check(fail: Fail, content: mmap | bytes, source: str | bytes) -> bool:
    """Hold what a file declares against the limits; verify its seal, or else decode all pages.

    The rows will be read all at once, or from a path row group by row group. Returns whether it has a seal of its size.
    """
    size = len(content)
    footer = size - 8 - int.from_bytes(content[-8:-4], "little")
    if content[-4:] != MAGIC or footer < len(MAGIC):
        raise damaged("it does not end as a Parquet file does")
    seal = _SEALED.search(content, footer)
    is_sealed = seal is not None and int(seal[1], 16) == size
    if seal and is_sealed:
        with memoryview(content) as view, view[: seal.start(1)] as before, view[seal.end() :] as after:
            if crc32(after, crc32(_UNSEALED, crc32(before))) != int(seal[2], 16):
                raise damaged("its bytes are not those that were written")
        table = pl.scan_parquet(source, glob=False)
        width = _WIDTH * len(table.collect_schema())
        if width * table.select(pl.len()).collect().item() <= UNPACKED.value * MB / 2:
            return True
    import pyarrow as pa  # takes 0.2 s, and small files that dstbench wrote do without
    import pyarrow.parquet as pq

    try:
        pages = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
        groups = [pages.metadata.row_group(number) for number in range(pages.metadata.num_row_groups)]
        check_ratio(sum(group.total_byte_size for group in groups), size, fail)
        in_memory = [group.total_byte_size + _WIDTH * group.num_rows * group.num_columns for group in groups]
        all_at_once = not is_sealed or source is content
        check_unpacked(sum(in_memory) if all_at_once else max(in_memory, default=0), fail)
        if not is_sealed:
            # As dictionaries, because a long text in one would be copied into every row.
            texts = [column.path for column in pages.schema if column.physical_type == "BYTE_ARRAY"]
            pages = pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts, page_checksum_verification=True)
            for _ in pages.iter_batches():
                pass
    except (pa.ArrowException, OSError, IndexError, OverflowError) as error:
        raise damaged(str(error) or type(error).__name__) from None
    return is_sealed
