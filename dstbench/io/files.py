"""Files to read: a file, packed or not, a pipe, a file in a zip, and the files of a folder."""

from __future__ import annotations

import io
import logging
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, Self

from dstbench.errors import DstbenchError
from dstbench.io import archives
from dstbench.io.atomic import note
from dstbench.io.foreign import LOOKED_AT, Foreign, by_content, by_members, url
from dstbench.io.limits import MB, UNPACKED, check_unpacked

_BOM: Final = b"\xef\xbb\xbf"
_LOG: Final = logging.getLogger(__name__)  # the command line shows it as progress


def path_text(path: str | os.PathLike[str]) -> str:
    """A path as a string that a column or JSON can hold: bytes that are not UTF-8 are escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode()


class File:
    """A file, packed or not, or inside a zip; or a folder, or a zip of several files, which is like a folder."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = path_text(path)
        self._begins = b""  # its first bytes, once `_place` has opened it

    def error(self, what: str, hint: str | None = None, **where: Any) -> DstbenchError:
        """A `DstbenchError` about this file."""
        return DstbenchError(what, file=self.name, hint=hint, **where)

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
        with self._reading(), outer.open("rb") as file:
            note(file.fileno())
            self._begins = file.read(4)
        if not self._begins.startswith(archives.ZIP):
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
        if not (self.is_pipe or self.is_parquet) and self.foreign is not None:
            raise self.error(*self.foreign)

    @cached_property
    def foreign(self) -> Foreign | None:
        """The kind of file that this is, if no data are read from that kind, such as a pickle; None: it may be data."""
        place, is_file = self._place, os.path.isfile(self.path)  # a zip itself, not a path into it
        if isinstance(place, zipfile.Path) and is_file and (kind := by_members(place.root.namelist())):
            return kind
        return None if self.is_folder else by_content(self.content(LOOKED_AT))

    @property
    def is_folder(self) -> bool:
        """Whether this is a folder, or a zip (or a folder in one) with several files."""
        return self._place.is_dir() if isinstance(self._place, zipfile.Path) else os.path.isdir(self._place)

    @property
    def is_pipe(self) -> bool:
        """Whether this exists but is neither a file nor a folder, so it can be read only once."""
        return os.path.exists(self.path) and not os.path.isfile(self.path) and not os.path.isdir(self.path)

    @cached_property
    def is_parquet(self) -> bool:
        """Whether the file starts as Parquet does."""
        if isinstance(self._place, zipfile.Path) or os.path.isdir(self._place):
            return False
        return (self._begins or self.content(4)) == b"PAR1"

    # --- its content --------------------------------------------------------------------------------------------------

    def content(self, most: int | None = None) -> bytes:
        """What is in the file, or in its `most` first bytes, unpacked and without a byte order mark."""
        place, kind = self._place, ""
        opening: Callable[[], Any]
        with self._reading():
            if isinstance(place, zipfile.Path):
                if place.is_dir():
                    first = self._path_of(next(self._files_in(place)))
                    raise self.error("a zip of several files", f"name one of them: {first}")
                entry = place.root.getinfo(place.at)
                if entry.flag_bits & 1:
                    raise self.error("an encrypted zip", "unpack it with its password and give what was inside")
                opening, kind, size = partial(place.root.open, entry), "zip", entry.compress_size
            elif os.path.isfile(place) or not self.is_pipe:
                opening, size = partial(place.open, "rb", buffering=0), os.path.getsize(place)
            else:
                opening, size = partial(io.BytesIO, self._piped), len(self._piped)
            return archives.content(opening, kind, size, self.error, most).removeprefix(_BOM)

    def read(self) -> bytes:
        """The whole content; a `DstbenchError` if it is of a kind that holds no data (`foreign`)."""
        _LOG.info("reading %s", self.name)
        if self.foreign is not None:
            raise self.error(*self.foreign)
        return self.content()

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
        with self._reading():
            places: list[Path | zipfile.Path] = sorted([*folder.iterdir()], key=lambda place: place.name)
        for place in places:
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
            content = file.read(UNPACKED.value * MB + 1)
        check_unpacked(len(content), self.error, "from a pipe or device")
        return content

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn an `OSError` into a `DstbenchError` about this file."""
        try:
            yield
        except FileNotFoundError:
            if address := url(self.name):
                name = re.sub("(?<!file):/(?!/)", "://", self.name, count=1)  # a path has one slash for two
                raise DstbenchError(address.what, file=name, hint=address.hint) from None
            near = sorted(path.name for path in self.path.parent.glob(f"*{self.path.suffix}"))[:5]
            raise self.error("no such file", f"in that folder: {', '.join(near)}" if near else None) from None
        except IsADirectoryError:
            raise self.error("a folder, not a file", "name the files in it") from None
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror}") from None
        except ValueError as error:
            if isinstance(error, DstbenchError) or "\0" not in str(self.path):
                raise
            raise self.error("no such file: a file name cannot contain the character NUL") from None
