"""Files to read: a file, packed or not, a pipe, a file in a zip, and the files of a folder."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Final, Self, TypeVar

from dstbench.errors import DstbenchError
from dstbench.io import archives
from dstbench.io.atomic import note
from dstbench.io.foreign import LOOKED_AT, Foreign, by_content, by_members, url
from dstbench.io.limits import UNPACKED

T = TypeVar("T")

_BOM: Final = b"\xef\xbb\xbf"
_MB: Final = 1_000_000
_LOG: Final = logging.getLogger(__name__)  # the command line shows it as progress


def path_text(path: str | os.PathLike[str]) -> str:
    r"""A path as a string that a column or JSON can hold: bytes that are not UTF-8 are escaped.

    >>> print(path_text("caf\udce9.json"), path_text("café.json"))
    caf\udce9.json café.json
    """
    return str(path).encode("utf-8", "backslashreplace").decode()


class File:
    """A file, packed or not, or inside a zip; or a folder, or a zip of several files, which is like a folder."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = path_text(path)

    def error(self, what: str, hint: str | None = None, **where: Any) -> DstbenchError:
        """A `DstbenchError` about this file."""
        return DstbenchError(what, file=self.name, hint=hint, **where)

    @property
    def utf8_path(self) -> str:
        """The path for libraries that open files only by names in UTF-8: absolute, or else from the working directory.

        The working directory may change before the file is read.
        """
        for text in (str(self.path.absolute()), os.path.relpath(self.path)):
            if path_text(text) == text:
                return text
        raise self.error("the path of a Parquet file must be UTF-8", "rename it, or work in its folder")

    def check(self) -> None:
        """Raise a `DstbenchError` if this cannot be opened, or is of a kind that holds no data (`foreign`)."""
        if not self.is_pipe:
            self._refuse(self.foreign)

    @cached_property
    def foreign(self) -> Foreign | None:
        """The kind of file that this is, if no data are read from that kind, such as a pickle; None: it may be data."""
        if self._archive and not self._place[1] and (kind := by_members(self._archive.namelist())):
            return kind
        if self.is_folder:
            return None
        with self.open() as stream:
            return by_content(self._guarded(lambda: stream.read(LOOKED_AT)))

    def _refuse(self, kind: Foreign | None) -> None:
        if kind is not None:
            raise self.error(*kind)

    @property
    def title(self) -> str:
        """The name without folders and endings; the default name of a run."""
        path = self.path.absolute()
        if os.path.isdir(self.path):  # not Path.is_dir, which raises if permission is denied
            return path_text(path.resolve().name)
        return path_text(path.with_suffix("").stem if path.suffix in (*archives.ENDINGS, ".zip") else path.stem)

    @property
    def is_folder(self) -> bool:
        """Whether this is a folder, or a zip (or a folder in one) with several files."""
        members, inside = self._members, self._place[1]
        return os.path.isdir(self.path) or len(members) > 1 or (bool(inside) and members not in ([], [inside]))

    def files(self) -> list[Self]:
        """The files in a folder and its subfolders, sorted, without hidden ones."""
        if self._archive is None:
            paths = sorted(path.relative_to(self.path) for path in self._walk())
            return [type(self)(self.path / path) for path in paths if not archives.is_hidden(path.as_posix())]
        files = [type(self)(self._place[0] / member) for member in self._members]
        for file, member in zip(files, self._members, strict=True):  # share the zip's table of contents
            file.__dict__ |= {"_archive": self._archive, "_members": [member]}
        return files

    def sibling(self, *names: str) -> Self | None:
        """The first file of these names that exists in the same folder or zip; None: none does."""
        for name in names:
            file = type(self)(self.path.with_name(name))
            if os.path.isfile(file.path) or file._members == [file._place[1]]:
                return file
        return None

    def open(self) -> BinaryIO:
        """The content as a stream of bytes, unpacked and without a byte order mark."""
        if self._archive is not None:
            stream, size = self._member(self._archive)
        else:
            stream = self._disk()
            size = len(self._piped) if self.is_pipe else os.fstat(stream.fileno()).st_size
        try:
            content = self._guarded(lambda: archives.unpacked(stream, size, self.error))
            if content.peek(len(_BOM)).startswith(_BOM):
                content.read(len(_BOM))
        except DstbenchError:
            stream.close()
            raise
        return content

    @cached_property
    def _mark(self) -> bytes:
        """The first four bytes on disk."""
        with self._disk() as file:
            return self._guarded(lambda: file.read(4))

    def read(self) -> bytes:
        """The whole content."""
        with self.open() as stream:
            # Without a size, `read` copies all bytes once more.
            size = -1 if self.is_pipe else self._guarded(self._place[0].stat).st_size
            if size >= 0:
                _LOG.info("reading %s (%.1f MB)", self.name, size / 1e6)
            content = self._guarded(lambda: stream.read(size))
            self._refuse(by_content(content))
            return content + self._guarded(stream.read)

    @cached_property
    def is_parquet(self) -> bool:
        """Whether the file starts as Parquet does."""
        return not self.is_folder and self._mark == b"PAR1"

    @cached_property
    def _place(self) -> tuple[Path, str]:
        """The file on disk, and the path inside it, which is empty unless the path leads into a zip."""
        for outer in (self.path, *self.path.parents):
            if os.path.isfile(outer):
                return outer, "" if outer == self.path else self.path.relative_to(outer).as_posix()
            if os.path.exists(outer):
                break
        return self.path, ""

    @cached_property
    def _archive(self) -> archives.Archive | None:
        """The zip that this is, or is in; None: neither."""
        disk, inside = self._place
        if not os.path.isfile(disk):
            return None
        if not self._mark.startswith(archives.ZIP):
            if inside:
                raise self.error(f"no such file: {disk} is not a zip")
            return None
        return archives.open_archive(disk, self.error)

    @cached_property
    def _members(self) -> list[str]:
        """The files in the zip at or below the path inside of it."""
        return archives.members(self._archive, self._place[1]) if self._archive else []

    def _member(self, archive: archives.Archive) -> tuple[io.BufferedReader, int]:
        """The content and the packed size of the zip's only file, or of the one that the path leads to."""
        if not self._members:
            raise self.error("no such file in the zip" if self._place[1] else "a zip without a file")
        name = self._members[0]
        if self.is_folder:
            self._refuse(by_members(self._members))
            raise self.error("a zip of several files", f"name one of them: {self._place[0] / name}")
        return archives.open_member(archive, name, self.error), archive.getinfo(name).compress_size

    @property
    def is_pipe(self) -> bool:
        """Whether this exists but is neither a file nor a folder, so it can be read only once."""
        return os.path.exists(self.path) and not os.path.isfile(self.path) and not os.path.isdir(self.path)

    @cached_property
    def _piped(self) -> bytes:
        """A pipe's or a device's content, up to the limit of packed files."""
        most, pieces, size = UNPACKED.value * _MB, [], 0
        with self.path.open("rb") as file:
            while piece := file.read(_MB):
                pieces.append(piece)
                size += len(piece)
                if size > most:
                    what = f"more than {UNPACKED.value:,} MB from a pipe or device"
                    raise self.error(what, f"if that is right, set {UNPACKED.variable} to more MB")
        return b"".join(pieces)

    def _disk(self) -> io.BufferedReader:
        """The file on disk or the pipe, still packed."""
        if self.is_pipe:
            content = io.BytesIO(self._guarded(lambda: self._piped))
            return io.BufferedReader(content)
        file = self._guarded(lambda: self._place[0].open("rb"))
        note(file.fileno())
        return file

    def _walk(self) -> Iterator[Path]:
        """The paths of all files in the folder and its subfolders, hidden ones included."""
        seen = {os.path.realpath(self.path)}
        for folder, folders, names in os.walk(self.path, onerror=self._not_walked, followlinks=True):
            new = {name: os.path.realpath(Path(folder, name)) for name in folders}
            folders[:] = [name for name in folders if new[name] not in seen]  # links may form a circle
            seen.update(new.values())
            paths = (
                Path(folder, name) for name in names
            )  # pipes, which may never end, are skipped; broken links stay, to be reported
            yield from (path for path in paths if os.path.isfile(path) or not os.path.exists(path))

    def _not_walked(self, error: OSError) -> None:
        raise self.error(f"cannot be read: {error.strerror} ({error.filename})")

    def _guarded(self, act: Callable[[], T]) -> T:
        """The result of `act`; an `OSError` becomes a `DstbenchError` about this file."""
        try:
            return act()
        except FileNotFoundError:
            self._refuse(url(self.name))
            near = sorted(p.name for p in self.path.parent.glob(f"*{self.path.suffix}"))[:5]
            hint = f"in that folder: {', '.join(near)}" if near else None
            raise self.error("no such file", hint) from None
        except IsADirectoryError:
            raise self.error("a folder, not a file", "name the files in it") from None
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror}") from None
        except ValueError:
            if "\0" not in str(self.path):
                raise
            raise self.error("no such file: a file name cannot contain the character NUL") from None
