"""Packed files: gzip, bzip2, xz, zstd and zip, read as streams, never unpacked to disk.

Conventions: the first bytes tell the type of a file. A zip's members are named by their paths inside it; hidden ones
(and the ``__MACOSX`` that some programs add) are ignored. Archives may come from strangers: the size of what is
unpacked is limited, and counted while reading, because the sizes that an archive states may be false.
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
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

from dstbench.errors import DstbenchError, UsageError, first_repeated
from dstbench.io.limits import FREE_BYTES, RATIO, UNPACKED

#: How a zip starts: with a member, or, if it has none, with its table of contents.
ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")

_MB: Final = 10**6

_DAMAGES: Final = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile)
# Bytes of an xz file's dictionary, far above those of `xz -9`.
_DICTIONARY: Final = 512 * _MB
_READ: Final = 1 << 16


class Archive(zipfile.ZipFile):
    """A zip that counts the bytes unpacked of each member, because many small members may also exhaust memory."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.packed, self.unpacked = os.path.getsize(path), Counter[str]()


class _Limited(io.RawIOBase):
    """Unpacked bytes, up to the limits of `packed` ones; closing it closes the file that is `below`, but no archive."""

    def __init__(
        self, stream: Any, below: IO[bytes] | Archive, *, packed: int, kind: str, fail: Callable[..., DstbenchError]
    ) -> None:
        self._stream, self._below, self._packed, self._kind, self._fail = stream, below, packed, kind, fail
        self._name, self._read, self._unpacked = "", 0, Counter[str]()
        if isinstance(below, Archive):
            self._name, self._unpacked = stream.name, below.unpacked
        self._most, self._ratio = UNPACKED.value * _MB, RATIO.value  # last, when it can be closed: they may be invalid

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._stream.read(len(buffer))
        except (*_DAMAGES, OSError) as error:
            if isinstance(error, OSError) and error.errno:  # an error of the disk, not of the content
                raise
            raise damaged(self._kind, error, self._fail) from None
        self._read += len(data)
        self._unpacked[self._name] = max(self._read, self._unpacked[self._name])  # unpacking it again adds nothing
        total = self._unpacked.total()
        if total > self._most:
            what = f"more than {self._most // _MB:,} MB when unpacked"
            raise self._fail(what, f"if that is right, set {UNPACKED.variable} to more MB")
        if total > max(FREE_BYTES, self._ratio * self._packed):
            raise self._fail(f"more than {self._ratio} times its packed size when unpacked", RATIO.hint)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        if not isinstance(self._below, Archive):
            self._below.close()
        super().close()


class _Streams(io.RawIOBase):
    """The unpacked bytes of compressed streams, one after another.

    `bz2.open` and `lzma.open` ignore what follows a stream if it is no stream, and so may lose half of a file.
    """

    def __init__(self, below: IO[bytes], decompressor: Callable[[], Any]) -> None:
        self._below, self._new = below, decompressor
        self._stream, self._ahead = decompressor(), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while True:
            if self._stream.eof:
                ahead = self._stream.unused_data.lstrip(b"\0")  # xz files may end with zeros
                while not ahead:
                    if not (packed := self._below.read(_READ)):
                        return 0
                    ahead = packed.lstrip(b"\0")
                self._stream, self._ahead = self._new(), ahead
            packed = b""
            if self._stream.needs_input:
                packed, self._ahead = self._ahead or self._below.read(_READ), b""
                if not packed:
                    raise EOFError
            if data := self._stream.decompress(packed, len(buffer)):
                buffer[: len(data)] = data
                return len(data)


def _xz() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(memlimit=_DICTIONARY)


def _zstd(stream: io.BufferedReader) -> Any:
    import pyarrow as pa  # only here, as it takes long to import

    return pa.CompressedInputStream(pa.PythonFile(stream, "r"), "zstd")


# How each type of packed file begins: its name, and what unpacks it.
_UNPACKERS: Final[dict[bytes, tuple[str, Callable[[io.BufferedReader], Any]]]] = {
    b"\x1f\x8b": ("gzip", lambda stream: gzip.GzipFile(fileobj=stream)),
    b"BZh": ("bzip2", lambda stream: io.BufferedReader(_Streams(stream, bz2.BZ2Decompressor))),
    b"\xfd7zXZ\0": ("xz", lambda stream: io.BufferedReader(_Streams(stream, _xz))),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd),
}
_PACKERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    ".gz": lambda content: gzip.compress(content, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
#: The endings of names of packed files, without those of zip.
ENDINGS: Final = (*_PACKERS, ".zst")


def unpacked(stream: io.BufferedReader, packed: int, fail: Callable[..., DstbenchError]) -> io.BufferedReader:
    """The unpacked stream of a file of `packed` bytes, if it is packed by anything but zip; else the stream itself."""
    beginning = stream.peek(6)
    for mark, (kind, unpack) in _UNPACKERS.items():
        if beginning.startswith(mark):
            return io.BufferedReader(_Limited(unpack(stream), stream, packed=packed, kind=kind, fail=fail), _MB)
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


def open_archive(path: Path, fail: Callable[..., DstbenchError]) -> Archive:
    """Open a zip, and check that no member's path leads out of it and no member is there twice."""
    try:
        archive = Archive(path)
    except (*_DAMAGES, NotImplementedError, ValueError, OSError) as error:
        raise damaged("zip", error, fail) from None
    names = archive.namelist()
    if not all(names):
        raise fail("a damaged zip file: a member without a name", "copy it again, or pack it anew")
    for name in names:
        if re.match(r"[/\\]|[A-Za-z]:", name) or ".." in re.split(r"[/\\]", name):
            raise fail(f"a zip whose member {name!r} would lie outside of it", "such an archive is not to be trusted")
    if again := first_repeated(names):
        raise fail(f"a zip with the member {again!r} twice", "pack it again")
    return archive


def members(archive: Archive, inside: str) -> list[str]:
    """The files of an archive at or below a path, sorted, without hidden ones."""
    prefix = f"{inside}/" if inside else ""
    return sorted(
        info.filename
        for info in archive.infolist()
        if not info.is_dir()
        and (info.filename == inside or (info.filename.startswith(prefix) and not is_hidden(info.filename)))
    )


def is_hidden(path: str) -> bool:
    """Whether a file or one of its folders is hidden."""
    return any(part.startswith(".") or part == "__MACOSX" for part in path.split("/"))


def open_member(archive: Archive, name: str, fail: Callable[..., DstbenchError]) -> io.BufferedReader:
    """The content of one member."""
    info = archive.getinfo(name)
    if info.flag_bits & 1:
        raise fail("an encrypted zip", "unpack it with its password and give what was inside")
    try:
        stream = archive.open(info)
    except (*_DAMAGES, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        raise damaged("zip", error, fail) from None
    return io.BufferedReader(_Limited(stream, archive, packed=archive.packed, kind="zip", fail=fail), _MB)


def damaged(kind: str, error: Exception, fail: Callable[..., DstbenchError]) -> DstbenchError:
    """The error for an archive that cannot be unpacked."""
    if isinstance(error, EOFError) or "Truncated" in str(error):  # the message of pyarrow
        return fail(f"a {kind} file that ends too early", "it is cut off; copy it again")
    return fail(f"a damaged {kind} file: {str(error) or type(error).__name__}", "copy it again, or pack it anew")
