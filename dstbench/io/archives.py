"""Packed files: gzip, bzip2, zstd and zip, read as streams, never unpacked to disk.

Conventions: the first bytes tell the type of a file. A zip's members are named by their paths inside it; hidden ones
(and the ``__MACOSX`` that some programs add) are ignored. Archives may come from strangers, so the size of what is
unpacked is limited.
"""

from __future__ import annotations

import bz2
import gzip
import io
import os
import re
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

from dstbench.errors import DstbenchError, UsageError, first_repeated
from dstbench.io.limits import MB, Fail, check_ratio, check_unpacked

#: How a zip starts: with a member, or, if it has none, with its table of contents.
ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_DAMAGES: Final = (EOFError, OSError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile)


def damaged(kind: str, error: Exception, fail: Fail) -> DstbenchError:
    """The error about an archive that cannot be unpacked."""
    if isinstance(error, EOFError) or "Truncated" in str(error):  # the message of pyarrow
        return fail(f"a {kind} file that ends too early", "it is cut off; copy it again")
    return fail(f"a damaged {kind} file: {str(error) or type(error).__name__}", "copy it again, or pack it anew")


def _by_arrow(codec: str) -> Callable[[IO[bytes]], Any]:
    """What unpacks a stream by PyArrow, which, unlike `bz2.open`, refuses whatever follows it and is no stream."""

    def unpack(packed: IO[bytes]) -> Any:
        import pyarrow as pa  # only here, as it takes long to import

        return pa.CompressedInputStream(pa.PythonFile(packed, "r"), codec)

    return unpack


# How each type of packed file begins: its name, and what unpacks it.
_UNPACKERS: Final[dict[bytes, tuple[str, Callable[[IO[bytes]], Any]]]] = {
    b"\x1f\x8b": ("gzip", lambda packed: gzip.GzipFile(fileobj=packed)),
    b"BZh": ("bzip2", _by_arrow("bz2")),
    b"\x28\xb5\x2f\xfd": ("zstd", _by_arrow("zstd")),
}
_PACKERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    ".gz": lambda content: gzip.compress(content, mtime=0),
    ".bz2": bz2.compress,
}
#: The endings of names of packed files, without those of zip.
ENDINGS: Final = (*_PACKERS, ".zst")


def content(opening: Callable[[], Any], kind: str, size: int, fail: Fail, most: int | None = None) -> bytes:
    """What is in a file, or its `most` first bytes, unpacked if it is packed by anything but zip.

    `opening` opens it as it is on disk or in an archive of a `kind` (``zip``, or none), where it has this `size`.
    """
    pieces, length = list[bytes](), 0
    try:
        with opening() as stream:
            packed = io.BufferedReader(stream)
            beginning = packed.peek(4)
            unpacker = next((how for mark, how in _UNPACKERS.items() if beginning.startswith(mark)), None)
            if unpacker is None:  # the sizes of what is in a zip are checked when it is opened
                return packed.read(most)
            kind, unpacked = unpacker[0], unpacker[1](packed)
            while piece := unpacked.read(MB if most is None else min(MB, most - length)):
                pieces.append(piece)
                length += len(piece)
                check_unpacked(length, fail)
                check_ratio(length, size, fail)
    except _DAMAGES as error:
        is_of_disk = isinstance(error, OSError) and error.errno  # else it is of the content
        if isinstance(error, DstbenchError) or not kind or is_of_disk:
            raise
        raise damaged(kind, error, fail) from None
    return b"".join(pieces)


def unpacked_name(name: str) -> str:
    """The name of a file without the ending of a packing: ``test.json`` of ``test.json.gz``."""
    return os.path.splitext(name)[0] if name.endswith(ENDINGS) else name


def packed_as(name: str, content: bytes) -> bytes:
    """The content of a file of this name, packed if the name says so; some packings are only read, and are refused."""
    ending = os.path.splitext(name)[1]
    if ending in (".zst", ".zip", ".xz"):
        raise UsageError(f"{name}: {ending} is not written", hint=f"one of {', '.join(_PACKERS)}, or no packing")
    return _PACKERS[ending](content) if ending in _PACKERS else content


def open_archive(path: Path, fail: Fail) -> zipfile.ZipFile:
    """Open a zip, and check that it is not too large, and that no member leads out of it or is there twice."""
    try:
        archive = zipfile.ZipFile(path)
    except _DAMAGES as error:
        raise damaged("zip", error, fail) from None
    names = archive.namelist()
    for name in names:
        if not name:
            raise fail("a damaged zip file: a member without a name", "copy it again, or pack it anew")
        if re.match(r"[/\\]|[A-Za-z]:", name) or ".." in re.split(r"[/\\]", name):
            raise fail(f"a zip whose member {name!r} would lie outside of it", "such an archive is not to be trusted")
    if again := first_repeated(names):
        raise fail(f"a zip with the member {again!r} twice", "pack it again")
    # `zipfile` reads no more of a member than the size that is stated.
    size = sum(member.file_size for member in archive.infolist())
    check_unpacked(size, fail)
    check_ratio(size, os.path.getsize(path), fail)
    return archive
