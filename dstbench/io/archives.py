"""Packed files: gzip and zip, read as streams, never unpacked to disk.

Conventions: what a file is, its first bytes say. A zip's members are named by their paths inside; hidden ones (and the
``__MACOSX`` that some archivers add) are no data. Archives come from strangers: how much is unpacked is limited, and
counted while reading, as the sizes that an archive states of itself may be false.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, Final

from dstbench.errors import first_repeated
from dstbench.io.limits import RATIO, UNPACKED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dstbench.errors import DstbenchError

GZIP: Final = b"\x1f\x8b"
#: How a zip starts: with a member, or, if it has none, with its table of contents.
ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")

_MB: Final = 10**6
# The ratio is not looked at before: real files of many equal keys are packed to a hundredth.
_FREE: Final = 64 * _MB

_DAMAGES: Final = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile)


class Archive(zipfile.ZipFile):
    """A zip that knows how much of it has been unpacked: many small members make a large trap, too.

    Attributes:
        packed: Its size in bytes.
        unpacked: Bytes unpacked of all members, each counted once however often it is read.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.packed, self.unpacked = os.path.getsize(path), 0
        self._members: dict[str, int] = {}

    def already(self, name: str) -> int:
        """Bytes unpacked of this member."""
        return self._members.get(name, 0)

    def count(self, name: str, done: int) -> None:
        """Say how many bytes of a member have been unpacked."""
        self.unpacked += max(0, done - self.already(name))
        self._members[name] = max(done, self.already(name))


class _Guarded(io.RawIOBase):
    """An unpacking stream that counts, and that says what is wrong with the archive."""

    def __init__(
        self,
        stream: IO[bytes] | gzip.GzipFile,
        packed: int,
        what: str,
        fail: Callable[..., DstbenchError],
        archive: Archive | None = None,
    ) -> None:
        self._stream, self._packed, self._what, self._fail, self._archive = stream, packed, what, fail, archive
        self._done = 0
        self._most, self._ratio = UNPACKED.value * _MB, RATIO.value
        self._before = archive.unpacked - archive.already(stream.name or "") if archive else 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._stream.read(len(buffer))
        except _DAMAGES as error:
            raise damaged(self._what, error, self._fail) from None
        self._done += len(data)
        done = self._before + self._done
        if done > self._most:
            raise self._fail(
                f"more than {self._most // _MB:,} MB when unpacked",
                f"if that is right, set {UNPACKED.variable} to more MB",
            )
        if done > max(_FREE, self._ratio * self._packed):
            raise self._fail(f"more than {self._ratio} times its packed size when unpacked", RATIO.hint)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if self._archive is not None:
            self._archive.count(self._stream.name or "", self._done)
        self._stream.close()
        super().close()


def unpacked(stream: io.BufferedReader, packed: int, fail: Callable[..., DstbenchError]) -> io.BufferedReader:
    """The stream as it is, or what is in it if it is gzip.

    Args:
        stream: The file, at its start.
        packed: Its size in bytes.
        fail: Makes an error about the file.
    """
    if not stream.peek(2).startswith(GZIP):
        return stream
    # GzipFile does not close a stream that it was given.
    return io.BufferedReader(_Guarded(_Gunzip(fileobj=stream), packed, "gzip", fail), _MB)


class _Gunzip(gzip.GzipFile):
    """A GzipFile that closes what it reads from."""

    def __init__(self, fileobj: io.BufferedReader) -> None:
        super().__init__(fileobj=fileobj, mode="rb")
        self._inner = fileobj

    def close(self) -> None:
        super().close()
        self._inner.close()


def open_archive(path: Path, fail: Callable[..., DstbenchError]) -> Archive:
    """A zip, checked: no member lies outside of it, none is there twice."""
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
    """The files of an archive that lie at or below a path, sorted, without hidden ones."""
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
    return io.BufferedReader(_Guarded(stream, archive.packed, "zip", fail, archive), _MB)


def damaged(what: str, error: Exception, fail: Callable[..., DstbenchError]) -> DstbenchError:
    """The error for an archive that cannot be unpacked."""
    if isinstance(error, EOFError):
        return fail(f"a {what} file that ends too early", "it is cut off; copy it again")
    return fail(f"a damaged {what} file: {str(error) or type(error).__name__}", "copy it again, or pack it anew")
