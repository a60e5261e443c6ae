"""Atomic writes: a file appears when it is complete, or not at all; and no output destroys an input.

Conventions: a file is written beside its target under a hidden name of its own, ``.<name>.<random>.part``, and then
renamed. It is removed if the writer fails or is interrupted; only a writer that is killed leaves it behind.

Files are told apart by device and inode, which sees through links, other spellings of a path, and file systems that
ignore case. `refuse_overwriting` compares paths before anything is read. Inputs that no path shows (a link in a folder,
a file that another file names, one that a reader looks for beside its input) are noticed when they would be replaced.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from dstbench.errors import DstbenchError, UsageError

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# The files that have been read, and those that have been written, for each `guarding_inputs` that is entered.
_seen: Final[list[tuple[set[tuple[int, int]], set[tuple[int, int]]]]] = []


@contextmanager
def guarding_inputs() -> Iterator[None]:
    """While the block runs, no file that it has read (through `io.files.File`) or has written can be replaced."""
    _seen.append((set(), set()))
    try:
        yield
    finally:
        _seen.pop()


def note(descriptor: int, *, written: bool = False) -> None:
    """Note that an open file is read, or has been written."""
    if _seen:
        stat = os.fstat(descriptor)
        _seen[-1][written].add((stat.st_dev, stat.st_ino))


def refuse_overwriting(inputs: Iterable[str | Path], files: Sequence[str | Path]) -> None:
    """Refuse files to write that are an input, or lie in a folder (or are an archive) that is one, or are the same.

    Inputs that do not exist are ignored; a dataset's folder may be written, too.
    """
    read = set()
    for path in inputs:
        place = next(filter(os.path.exists, (Path(path), *Path(path).parents)))
        if place == Path(path) or os.path.isfile(place):  # an archive, which the path leads into
            read.add(_identity(place))
    for file in files:
        real = Path(os.path.realpath(file))
        if any(_identity(place) in read - {None} for place in (file, real, *real.parents)):
            raise _overwritten(file)
    if len({os.path.realpath(file).casefold() for file in files}) < len(files):
        raise _repeated()


def _repeated() -> UsageError:
    return UsageError("two output files have the same name", hint="give each a name of its own")


def _overwritten(path: str | Path) -> UsageError:
    return UsageError(f"{path} is read and would be overwritten", hint="write the output somewhere else")


def _identity(path: str | Path) -> tuple[int, int] | None:
    """What identifies a file or a folder; None: nothing is there, or it is neither (a terminal, a pipe)."""
    with suppress(OSError, ValueError):
        stat = os.stat(path)
        return (stat.st_dev, stat.st_ino) if os.path.isfile(path) or os.path.isdir(path) else None
    return None


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary file beside `path` that replaces it if the block succeeds, and is removed if it fails."""
    read, written = _seen[-1] if _seen else (set(), set())
    if (identity := _identity(path)) in written:
        raise _repeated()
    if identity in read:
        raise _overwritten(path)
    if os.path.exists(path) and not os.path.isfile(path):
        raise DstbenchError("not a file that can be replaced", file=str(path), hint="name a file, or use > or |")
    with _temporary(path) as temporary:
        temporary.touch()
        yield temporary
        with temporary.open("rb") as complete:
            os.fsync(complete.fileno())
            note(complete.fileno(), written=True)


@contextmanager
def replacing_folder(path: str | Path) -> Iterator[Path]:
    """A temporary folder beside `path` that is renamed to it if the block succeeds, and is removed if it fails."""
    if os.path.exists(path) and (not os.path.isdir(path) or os.listdir(path)):
        raise DstbenchError("is there already", file=str(path), hint="name a folder that is new, or empty")
    with _temporary(path) as temporary:
        temporary.mkdir()
        yield temporary


@contextmanager
def _temporary(path: str | Path) -> Iterator[Path]:
    target = Path(os.path.realpath(path))  # a link stays, and the file it points to is replaced
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        yield temporary
        temporary.replace(target)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        hint = "is the folder there, and writable?"
        if error.errno in _FULL:
            hint = "make room, or name a file elsewhere; the old file, if any, is unchanged"
        raise DstbenchError(f"cannot be written: {reason}", file=str(path), hint=hint) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(OSError):  # it was a folder, or nothing is there, or its folder is none
            temporary.unlink()
