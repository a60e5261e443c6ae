"""Files to read: a file, packed or not, a pipe, a file in a zip, and the files of a folder."""

from __future__ import annotations

import io
import logging
import os
import zipfile
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self, TypeVar

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
    """A path as a string that a column or JSON can hold: bytes that are not UTF-8 are escaped."""
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
        """The absolute path, for libraries that open files only by names in UTF-8."""
        path = str(self.path.absolute())
        if path_text(path) != path:
            raise self.error("the path of a Parquet file must be UTF-8", "rename it, or its folder")
        return path

    @property
    def title(self) -> str:
        """The name without folders and endings; the default name of a run."""
        path = self.path.absolute()
        if os.path.isdir(self.path):  # not Path.is_dir, which raises if permission is denied
            return path_text(path.resolve().name)
        return path_text(path.with_suffix("").stem if path.suffix in (*archives.ENDINGS, ".zip") else path.stem)

    @cached_property
    def _place(self) -> Path | zipfile.Path:
        """What is read: the path itself, or a place in the zip that it is or leads into; a zip's only file."""
        outer = next((path for path in (self.path, *self.path.parents) if os.path.exists(path)), self.path)
        if not os.path.isfile(outer):
            return self.path
        with self._guarded(lambda: outer.open("rb")) as file:
            note(file.fileno())
            if not self._guarded(lambda: file.read(4)).startswith(archives.ZIP):
                if outer != self.path:
                    raise self.error(f"no such file: {outer} is not a zip")
                return self.path
        root = zipfile.Path(archives.open_archive(outer, self.error))
        place = root.joinpath(*self.path.relative_to(outer).parts)
        if place.at and not place.exists():
            raise self.error("no such file in the zip")
        files = [place] if place.is_file() else list(self._files_in(place))
        if not files:
            raise self.error("a zip without a file")
        return files[0] if len(files) == 1 else place

    # --- what kind of file it is --------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise a `DstbenchError` if this cannot be opened, or is of a kind that holds no data (`foreign`)."""
        if not (self.is_pipe or self.is_parquet):
            self._refuse(self.foreign)

    @cached_property
    def foreign(self) -> Foreign | None:
        """The kind of file that this is, if no data are read from that kind, such as a pickle; None: it may be data."""
        names = self._place.root.namelist() if isinstance(self._place, zipfile.Path) else []
        if os.path.isfile(self.path) and (kind := by_members(names)):  # the zip itself, not a path into it
            return kind
        if self.is_folder:
            return None
        with self.open() as stream:
            return by_content(self._guarded(lambda: stream.read(LOOKED_AT)))

    def _refuse(self, kind: Foreign | None) -> None:
        if kind is not None:
            raise self.error(*kind)

    @property
    def is_folder(self) -> bool:
        """Whether this is a folder, or a zip (or a folder in one) with several files."""
        return self._guarded(self._place.is_dir)

    @property
    def is_pipe(self) -> bool:
        """Whether this exists but is neither a file nor a folder, so it can be read only once."""
        return os.path.exists(self.path) and not os.path.isfile(self.path) and not os.path.isdir(self.path)

    @cached_property
    def is_parquet(self) -> bool:
        """Whether the file starts as Parquet does."""
        if isinstance(self._place, zipfile.Path) or self.is_folder:
            return False
        with self._disk(self._place) as file:
            return self._guarded(lambda: file.read(4)) == b"PAR1"

    # --- its content --------------------------------------------------------------------------------------------------

    def open(self) -> io.BufferedReader:
        """The content as a stream of bytes, unpacked and without a byte order mark."""
        place = self._place
        if isinstance(place, zipfile.Path):
            if place.is_dir():
                self._refuse(self.foreign)
                first = next(self._files_in(place))
                raise self.error("a zip of several files", f"name one of them: {self._path_of(first)}")
            stream, size = archives.open_member(place, self.error), place.root.getinfo(place.at).compress_size
        else:
            stream = self._disk(place)
            size = len(self._piped) if self.is_pipe else os.fstat(stream.fileno()).st_size
        try:
            content = self._guarded(lambda: archives.unpacked(stream, size, self.error))
            if self._guarded(lambda: content.peek(len(_BOM))).startswith(_BOM):
                content.read(len(_BOM))
        except DstbenchError:
            stream.close()
            raise
        return content

    def read(self) -> bytes:
        """The whole content."""
        _LOG.info("reading %s", self.name)
        with self.open() as stream:
            self._refuse(by_content(self._guarded(lambda: stream.peek(LOOKED_AT))))
            return self._guarded(stream.read)

    def files(self) -> list[Self]:
        """The files in a folder and its subfolders, sorted, without hidden ones."""
        files = []
        for place in self._files_in(self._place):
            files.append(type(self)(self._path_of(place)))
            if isinstance(place, zipfile.Path):  # files in a zip share its table of contents
                files[-1].__dict__["_place"] = place
        return files

    def sibling(self, *names: str) -> Self | None:
        """The first file of these names that exists in the same folder or zip; None: none does."""
        for file in (type(self)(self.path.with_name(name)) for name in names):
            with suppress(DstbenchError):
                if file._place.is_file():
                    return file
        return None

    def _path_of(self, place: Path | zipfile.Path) -> Path:
        """The path by which users name a place."""
        return place if isinstance(place, Path) else Path(str(place.root.filename), place.at)

    def _files_in(
        self, folder: Path | zipfile.Path, *, seen: AbstractSet[str] = frozenset()
    ) -> Iterator[Path | zipfile.Path]:
        """The files in a folder and its subfolders, in order, without hidden ones; `seen` are the folders around it."""
        seen = {*seen, os.path.realpath(str(folder))}
        for place in sorted(self._guarded(lambda: [*folder.iterdir()]), key=lambda place: place.name):
            if place.name.startswith(".") or place.name == "__MACOSX":
                continue
            if place.is_dir():
                if os.path.realpath(str(place)) not in seen:  # links may form a circle
                    yield from self._files_in(place, seen=seen)
            elif place.is_file() or not place.exists():  # no pipes; a broken link is reported when it is read
                yield place

    @cached_property
    def _piped(self) -> bytes:
        """A pipe's or a device's content, up to the limit of packed files."""
        with self.path.open("rb") as file:
            content = file.read(UNPACKED.value * _MB + 1)
        if len(content) > UNPACKED.value * _MB:
            hint = f"if that is right, set {UNPACKED.variable} to more MB"
            raise self.error(f"more than {UNPACKED.value:,} MB from a pipe or device", hint)
        return content

    def _disk(self, path: Path) -> io.BufferedReader:
        """The file on disk or the pipe, still packed."""
        if self.is_pipe:
            content = io.BytesIO(self._guarded(lambda: self._piped))
            return io.BufferedReader(content)
        file = self._guarded(lambda: path.open("rb"))
        note(file.fileno())
        return file

    def _guarded(self, act: Callable[[], T]) -> T:
        """The result of `act`; an `OSError` becomes a `DstbenchError` about this file."""
        try:
            return act()
        except FileNotFoundError:
            self._refuse(url(self.name))
            near = sorted(path.name for path in self.path.parent.glob(f"*{self.path.suffix}"))[:5]
            raise self.error("no such file", f"in that folder: {', '.join(near)}" if near else None) from None
        except IsADirectoryError:
            raise self.error("a folder, not a file", "name the files in it") from None
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror}") from None
        except ValueError:
            if "\0" not in str(self.path):
                raise
            raise self.error("no such file: a file name cannot contain the character NUL") from None
