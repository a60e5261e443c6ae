"""Atomic writes: a file appears when it is complete, or not at all; and no output destroys an input.

Conventions: a file is written beside its target under a hidden name of its own, ``.<name>.<random>.part``, and then
renamed. It is removed if the writer fails or is interrupted; only a writer that is killed leaves it behind.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISREG
from typing import Final

from dstbench.errors import DstbenchError, UsageError

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# The files (`_identity`) that were read, with False, or written, with True, in each `guarding_inputs` entered.
_guards: Final[list[dict[object, bool]]] = []


@contextmanager
def guarding_inputs() -> Iterator[None]:
    """While the block runs, no file that it has read (through `io.files.File`) or has written can be replaced."""
    _guards.append({})
    try:
        yield
    finally:
        _guards.pop()


def note(path: str | Path | int, *, written: bool = False) -> None:
    """Note that a file (or an open one, by its descriptor) is read, or has been written."""
    if _guards:
        _guards[-1][_identity(path)] = written


def refuse_overwriting(inputs: Iterable[str | Path], outputs: Iterable[str | Path]) -> None:
    """Refuse an output that is an input or another output, before anything is computed.

    What no path shows, such as a link in a folder that is read, is noticed when it would be replaced.
    """
    taken = dict.fromkeys(map(_identity, inputs), False)
    for output in outputs:
        _refuse_taken(output, taken)
        taken[_identity(output)] = True


def refuse_without_folder(outputs: Iterable[Path], made: Collection[Path | None] = ()) -> None:
    """Refuse files whose folders are not there, or cannot be written in, before anything is computed.

    Folders that will be `made` are no fault; nor is a path without an ending, which may be such a folder.
    """
    for output in outputs:
        folder = output.parent
        if output.suffix and folder not in made and not os.access(folder, os.W_OK):
            raise _unwritable(output, OSError(errno.EACCES if folder.exists() else errno.ENOENT, ""))


def _identity(path: str | Path | int) -> object:
    """What is equal for all paths that lead to one file, also through links; a terminal or a pipe equals none."""
    try:
        found = os.stat(path)
        return (found.st_dev, found.st_ino) if S_ISREG(found.st_mode) else object()
    except (OSError, ValueError):
        return os.path.realpath(str(path).replace("\0", ""))


def _refuse_taken(path: str | Path, taken: Mapping[object, bool]) -> None:
    is_written = taken.get(_identity(path))
    if is_written:
        raise UsageError("two output files have the same name", hint="give each a name of its own")
    if is_written is False:
        raise UsageError(f"{path} is read and would be overwritten", hint="write the output somewhere else")


@contextmanager
def replacing(path: str | Path, *, is_folder: bool = False) -> Iterator[Path]:
    """A temporary file (or folder) beside `path` that replaces it if the block succeeds, and is removed if it fails."""
    if is_folder and os.path.exists(path) and (not os.path.isdir(path) or os.listdir(path)):
        raise DstbenchError("is there already", file=str(path), hint="name a folder that is new, or empty")
    if not is_folder and os.path.exists(path) and not os.path.isfile(path):
        raise DstbenchError("not a file that can be replaced", file=str(path), hint="name a file, or use > or |")
    _refuse_taken(path, _guards[-1] if _guards else {})
    target = Path(os.path.realpath(path))  # a link stays, and the file it points to is replaced
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        temporary.mkdir() if is_folder else temporary.touch()
        yield temporary
        if not is_folder:
            with temporary.open("rb") as complete:
                os.fsync(complete.fileno())
        temporary.replace(target)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(OSError):  # it was a folder, or nothing is there, or its folder is none
            temporary.unlink()
    note(path, written=True)


def _unwritable(path: str | Path, error: OSError) -> DstbenchError:
    what = f"cannot be written: {os.strerror(error.errno) if error.errno else error}"
    is_full = error.errno in _FULL
    hint = "make room, or name a file elsewhere" if is_full else "is the folder there, and writable?"
    return DstbenchError(what, file=str(path), hint=hint)


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file, or replace it."""
    with replacing(path) as part:
        part.write_bytes(content)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, if there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DstbenchError(f"cannot be made: {error.strerror}", file=str(folder), hint="name a folder") from None
