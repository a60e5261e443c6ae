"""Parquet files: written with checksums, and checked before Polars reads them.

Polars trusts what a file declares: it allocates as much memory as a damaged count asks for, ends the process if there
is not so much, and verifies no checksum. So no other module of dstbench opens a Parquet file. What a file declares is
checked against its bytes and against the `limits`; for a file that dstbench wrote, the checksums of its footer, pages
and row groups are verified.

Conventions: besides the schema, the footer of a file that dstbench wrote has ``dstbench.crc32``, `checksums` of the row
groups as JSON, and ``dstbench.seal``: the size of the file, and the CRC-32 of the footer and all that follows, with
zeros in place of the seal. If the size differs, another program has rewritten the file and kept these texts. The
numbers of fields are those of Apache Parquet's definition in Thrift.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple
from zlib import crc32

import polars as pl

from dstbench.errors import DstbenchError
from dstbench.io.atomic import replacing
from dstbench.io.files import File
from dstbench.io.limits import FREE_BYTES, RATIO, UNPACKED
from dstbench.io.thrift import struct

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
_HINT: Final = "write or copy it again"
_MB: Final = 1_000_000
# Bytes of a value in memory, besides those of its page: a text takes as many even if it is in a dictionary.
_WIDTH: Final = 16
_DEEPEST: Final = 100  # levels of a column
# Types of pages, and which field of a page header describes a page of each type.
_DICTIONARY, _DATA_V2 = 2, 3
_FIELD: Final = {0: 5, _DICTIONARY: 7, _DATA_V2: 8}
# The exceptions that malformed or unexpected Thrift leads to.
_MALFORMED: Final = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


class _DamageError(ValueError):
    """Something in a file does not fit the rest."""


class Scanned(NamedTuple):
    """A Parquet file of which only the footer and the headers of pages have been read.

    Attributes:
        table: Its rows; checksums of row groups are not verified.
        height: The number of its rows.
        texts: The texts in its footer, by key.
    """

    table: pl.LazyFrame
    height: int
    texts: Mapping[str, str]


def scan(file: File) -> Scanned:
    """Scan a Parquet file after the check of all that it declares.

    Raises:
        DstbenchError: The file is damaged, or beyond a limit.
    """
    with reading(file.name):
        with file.path.open("rb") as stream:
            height, texts = _check(stream, file.error, at_once=False)
        return Scanned(pl.scan_parquet(file.utf8_path, glob=False), height, texts)


def has_column(file: File, name: str) -> bool:
    """Whether a Parquet file has a column of this name; False if it cannot be read, which reading it will say."""
    try:
        with file.path.open("rb") as stream:
            _, footer = _footer(stream, stream.seek(0, os.SEEK_END))
            return any(element.get(4) == name.encode() for element in struct(footer)[0][2][1:])
    except (OSError, *_MALFORMED):
        return False


def read(file: File, content: bytes | None = None) -> pl.DataFrame:
    """The table in a Parquet file, after the check of all that it declares.

    Args:
        file: The file, which messages name.
        content: The file's content, if it has been read already.

    Raises:
        DstbenchError: The file is damaged, or beyond a limit.
    """
    with reading(file.name), file.path.open("rb") if content is None else io.BytesIO(content) as stream:
        _check(stream, file.error, at_once=True)
        stream.seek(0)
        return pl.read_parquet(stream)


@contextmanager
def reading(source: str) -> Iterator[None]:
    """Turn what is raised if a Parquet file cannot be read into a `DstbenchError` about `source`."""
    try:
        with interruptible():
            yield
    except UNREADABLE as error:
        raise unreadable(source, error) from None


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


def unreadable(source: str, error: BaseException) -> DstbenchError:
    """The error for a Parquet file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return DstbenchError("no such file any more", file=source, hint="it was there when it was opened")
    if isinstance(error, OSError) and error.errno:
        return DstbenchError(f"cannot be read: {os.strerror(error.errno)}", file=source, hint="may you read it?")
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return DstbenchError(f"a damaged Parquet file: {reason}", file=source, hint=_HINT)


def checksums(path: str | os.PathLike[str], ends: Sequence[int], begin: int = len(MAGIC)) -> list[list[int]]:
    """For consecutive sections of a file, of which the first starts at `begin`: each one's end, and its CRC-32."""
    with open(path, "rb") as file:
        return _checksums(file, ends, begin)


def _checksums(stream: BinaryIO, ends: Sequence[int], begin: int = len(MAGIC)) -> list[list[int]]:
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

    Args:
        path: The file; it appears when it is complete.
        schema: The schema of all parts.
        groups: The parts.
        texts: Texts of the footer, by key, which PyArrow keeps if it reads the table and writes it again.
        last_texts: Returns further texts, which PyArrow does not keep; called when all parts are written.
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
            sums = json.dumps(checksums(temporary, ends))
            writer.add_key_value_metadata({**last_texts(), CHECKSUMS: sums, _SEAL: _UNSEALED})
        _seal(temporary)


def _seal(path: Path) -> None:
    """Replace the zeros of the seal in a footer that is complete."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        start, footer = _footer(file, size)
        seal = _SEALED.search(footer)
        file.seek(start + (seal.start(1) if seal else 0))
        file.write(f"{size:016x}{crc32(footer):08x}".encode())


def _footer(stream: BinaryIO, size: int) -> tuple[int, bytes]:
    """Where the footer of a file of `size` bytes begins, and its bytes with all that follows.

    Raises:
        _DamageError: The file does not end with a footer.
    """
    stream.seek(max(0, size - 8))
    length, end = int.from_bytes(stream.read(4), "little") + 8, stream.read(4)
    if end != MAGIC or length + len(MAGIC) > size:
        raise _DamageError("it does not end as a Parquet file does")
    stream.seek(size - length)
    return size - length, stream.read(length)


def _check(stream: BinaryIO, fail: Callable[..., DstbenchError], *, at_once: bool) -> tuple[int, dict[str, str]]:
    """Check a file before Polars reads it; returns the number of its rows, and the texts in its footer, by key.

    Args:
        stream: The file.
        fail: Makes the error about the file.
        at_once: Whether all of it will be in memory at a time, rather than one row group; all checksums are checked.
    """
    size = stream.seek(0, os.SEEK_END)
    try:
        begin, footer = _footer(stream, size)
        seal = _SEALED.search(footer)
        is_sealed = seal is not None and int(seal[1], 16) == size
        if seal and is_sealed:
            unsealed = footer[: seal.start(1)] + _UNSEALED.encode() + footer[seal.end(2) :]
            if crc32(unsealed) != int(seal[2], 16):
                raise _DamageError("its footer is not the one that was written")
        declared, _ = struct(footer)
        leaves = _leaves(declared[2])
        groups = [list(_pages(stream, begin, group, leaves, verify=not is_sealed)) for group in declared[4]]
        if declared[3] != sum(group[3] for group in declared[4]):
            raise _DamageError("its row groups have other numbers of rows than the file")
        texts = {text[1].decode(): text.get(2, b"").decode() for text in declared.get(5, ())}
        if is_sealed and at_once:
            sums = json.loads(texts[CHECKSUMS])
            if _checksums(stream, [end for end, _ in sums]) != sums:
                raise _DamageError("its bytes are not those that were written")
    except _MALFORMED as error:
        reason = str(error) if isinstance(error, _DamageError) else "its footer or a page header is malformed"
        raise fail(f"a damaged Parquet file: {reason}", _HINT) from None
    unpacked = sum(page for group in groups for page, _ in group)
    if unpacked > max(FREE_BYTES, RATIO.value * size):
        raise fail(f"more than {RATIO.value} times its packed size when unpacked", RATIO.hint)
    in_memory = [sum(page + values for page, values in group) for group in groups]
    if max([sum(in_memory)] if at_once else in_memory, default=0) > UNPACKED.value * _MB:
        raise fail(f"more than {UNPACKED.value:,} MB when unpacked", UNPACKED.hint)
    return declared[3], texts


def _pages(
    stream: BinaryIO, end_of_data: int, group: Mapping[int, Any], leaves: Sequence[tuple[int, bool]], *, verify: bool
) -> Iterator[tuple[int, int]]:
    """Check the pages of a row group; for each, the bytes that it has when unpacked and the bytes of its values.

    Args:
        stream: The file.
        end_of_data: Where the footer begins.
        group: The row group, as the footer has it.
        leaves: See `_leaves`.
        verify: Whether to check the checksums of pages that have one.

    Raises:
        _DamageError: Something does not fit; malformed Thrift raises others of `_MALFORMED`.
    """
    for column, (width, is_flat) in zip(group[1], leaves, strict=True):
        chunk, values = column[3], 0
        begin, size = min(offset for offset in (chunk[9], chunk.get(11)) if offset), chunk[7]
        if not (len(MAGIC) <= begin and 0 <= size <= end_of_data - begin):
            raise _DamageError("a column is outside the file")
        stream.seek(begin)
        pages, at = stream.read(size), 0
        while at < size:
            header, start = struct(pages, at)
            kind, unpacked, packed = header[1], header[2], header[3]
            at = start + packed
            if min(unpacked, packed) < 0 or at > size:
                raise _DamageError("a page is outside its column")
            if verify and (crc := header.get(4)) is not None and crc32(pages[start:at]) != crc % 2**32:
                raise _DamageError("a page has another checksum")
            page = header[_FIELD[kind]] if kind in _FIELD else {1: 0}
            count = page[1]
            if count < 0 or (kind == _DICTIONARY and count > 8 * unpacked):  # a truth value takes a bit
                raise _DamageError("a page has another number of values")
            if kind == _DATA_V2 and not (0 <= page[2] <= count and 0 <= page[5] <= packed >= page[6] >= 0):
                raise _DamageError("a page has other numbers of nulls or of bytes of levels")
            values += count if kind != _DICTIONARY else 0
            yield unpacked, count * width
        if values != chunk[5] or (is_flat and values != group[3]):
            raise _DamageError("a column has another number of values")


def _leaves(schema: Sequence[Mapping[int, Any]]) -> list[tuple[int, bool]]:
    """For each column, the bytes of a value in memory, and whether each row has one value of it.

    Raises:
        _DamageError: The schema is not a tree, or too deep.
    """
    leaves, waiting = [], [schema[0].get(5, 0)]  # the children that are still to come, of each level
    for element in schema[1:]:
        while waiting and not waiting[-1]:
            waiting.pop()
        if not 0 < len(waiting) < _DEEPEST:
            raise _DamageError("its schema is not a tree, or too deep")
        waiting[-1] -= 1
        if children := element.get(5):
            waiting.append(children)
        else:
            leaves.append((max(_WIDTH, element.get(2, 0)), len(waiting) == 1 and element.get(3) != 2))
    if any(waiting):
        raise _DamageError("its schema is not a tree, or too deep")
    return leaves
