"""Packed files: gzip, bzip2, xz, zstd and zip, read as streams, never unpacked to disk.

Conventions: the first bytes tell the type of a file. A zip's members are named by their paths inside it; hidden ones
(and the ``__MACOSX`` that some programs add) are ignored. Archives may come from strangers, so the size of what is
unpacked is limited.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Final

from dstbench.errors import DstbenchError, UsageError, first_repeated
from dstbench.io.limits import FREE_BYTES, RATIO, UNPACKED

#: How a zip starts: with a member, or, if it has none, with its table of contents.
ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_MB: Final = 10**6
_DAMAGES: Final = (EOFError, OSError, ValueError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
_DICTIONARY: Final = 512 * _MB  # bytes of an xz file's dictionary, far above those of `xz -9`
_READ: Final = 4096  # packed bytes, which unpack to at most 200 MB

#: Makes the error about the file: what is wrong with it, and a hint.
Fail = Callable[[str, str], DstbenchError]


class _Stream(io.RawIOBase):
    """Pieces of bytes as a stream; closing it closes the file that is `below`."""

    def __init__(self, pieces: Iterator[bytes], below: IO[bytes]) -> None:
        self._pieces, self._below, self._left = pieces, below, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size

    def close(self) -> None:
        self._below.close()
        super().close()


def _limited(pieces: Iterator[bytes], kind: str, packed: int, fail: Fail) -> Iterator[bytes]:
    """The same pieces, up to the limits of a file of `packed` bytes; an error says how the file is damaged."""
    size = 0
    try:
        for piece in pieces:
            size += len(piece)
            check_size(size, packed, fail)
            yield piece
    except DstbenchError:
        raise
    except _DAMAGES as error:
        if isinstance(error, OSError) and error.errno:  # an error of the disk, not of the content
            raise
        raise damaged(kind, error, fail) from None


def check_size(unpacked: int, packed: int, fail: Fail) -> None:
    """Refuse a size beyond the limits."""
    if unpacked > UNPACKED.value * _MB:
        hint = f"if that is right, set {UNPACKED.variable} to more MB"
        raise fail(f"more than {UNPACKED.value:,} MB when unpacked", hint)
    if unpacked > max(FREE_BYTES, RATIO.value * packed):
        raise fail(f"more than {RATIO.value} times its packed size when unpacked", RATIO.hint)


def damaged(kind: str, error: Exception, fail: Fail) -> DstbenchError:
    """The error about an archive that cannot be unpacked."""
    if isinstance(error, EOFError) or "Truncated" in str(error):  # the message of pyarrow
        return fail(f"a {kind} file that ends too early", "it is cut off; copy it again")
    return fail(f"a damaged {kind} file: {str(error) or type(error).__name__}", "copy it again, or pack it anew")


def _decompressed(decompressor: Callable[[], Any]) -> Callable[[IO[bytes]], Iterator[bytes]]:
    """What unpacks compressed streams, one after another.

    `bz2.open` and `lzma.open` ignore what follows a stream if it is no stream, and so may lose half of a file.
    """

    def unpack(packed: IO[bytes]) -> Iterator[bytes]:
        stream = None
        while data := packed.read(_READ):
            while data:
                if stream is None:
                    if not (data := data.lstrip(b"\0")):  # xz files may end with zeros
                        break
                    stream = decompressor()
                yield stream.decompress(data)
                data = stream.unused_data
                stream = None if stream.eof else stream
        if stream is not None:
            raise EOFError

    return unpack


def _zstd(packed: IO[bytes]) -> Iterator[bytes]:
    import pyarrow as pa  # only here, as it takes long to import

    stream = pa.CompressedInputStream(pa.PythonFile(packed, "r"), "zstd")
    return iter(lambda: stream.read(_MB), b"")


# How each type of packed file begins: its name, and what unpacks it.
_UNPACKERS: Final[dict[bytes, tuple[str, Callable[[IO[bytes]], Iterator[bytes]]]]] = {
    b"\x1f\x8b": ("gzip", _decompressed(lambda: zlib.decompressobj(wbits=31))),
    b"BZh": ("bzip2", _decompressed(bz2.BZ2Decompressor)),
    b"\xfd7zXZ\0": ("xz", _decompressed(lambda: lzma.LZMADecompressor(memlimit=_DICTIONARY))),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd),
}
_PACKERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    ".gz": lambda content: gzip.compress(content, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
#: The endings of names of packed files, without those of zip.
ENDINGS: Final = (*_PACKERS, ".zst")


def unpacked(stream: io.BufferedReader, size: int, fail: Fail) -> io.BufferedReader:
    """The unpacked stream of a file of this size, if it is packed by anything but zip; else the stream itself."""
    beginning = stream.peek(6)
    for mark, (kind, unpack) in _UNPACKERS.items():
        if beginning.startswith(mark):
            return io.BufferedReader(_Stream(_limited(unpack(stream), kind, size, fail), stream), _MB)
    return stream


def unpacked_name(name: str) -> str:
    """The name of a file without the ending of a packing: ``test.json`` of ``test.json.gz``."""
    return os.path.splitext(name)[0] if name.endswith(ENDINGS) else name


def packed_as(name: str, content: bytes) -> bytes:
    """The content of a file of this name, packed if the name says so; some packings are only read, and are refused."""
    ending = os.path.splitext(name)[1]
    if ending in (".zst", ".zip"):
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
    check_size(sum(member.file_size for member in archive.infolist()), os.path.getsize(path), fail)
    return archive


def open_member(place: zipfile.Path, fail: Fail) -> io.BufferedReader:
    """The content of a file in a zip."""
    archive = place.root
    if archive.getinfo(place.at).flag_bits & 1:
        raise fail("an encrypted zip", "unpack it with its password and give what was inside")
    try:
        stream = archive.open(place.at)
    except _DAMAGES as error:
        raise damaged("zip", error, fail) from None
    pieces = _limited(iter(lambda: stream.read(_MB), b""), "zip", os.path.getsize(str(archive.filename)), fail)
    return io.BufferedReader(_Stream(pieces, stream), _MB)
