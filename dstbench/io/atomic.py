"""Atomic writes: a file appears when it is complete, or not at all; and no output destroys an input.

Conventions: a file is written beside its target under a hidden name of its own, ``.<name>.<random>.part``, and then
renamed. It is removed if the writer fails or is interrupted; only a writer that is killed leaves it behind.
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
# Device and inode of the files that were read, and of those that were written, in each `guarding_inputs` entered.
_guards: Final[list[tuple[set[tuple[int, int]], set[tuple[int, int]]]]] = []


@contextmanager
def guarding_inputs() -> Iterator[None]:
    """While the block runs, no file that it has read (through `io.files.File`) or has written can be replaced."""
    _guards.append((set(), set()))
    try:
        yield
    finally:
        _guards.pop()


def note(descriptor: int, *, written: bool = False) -> None:
    """Note that an open file is read, or has been written."""
    if _guards:
        stat = os.fstat(descriptor)
        _guards[-1][written].add((stat.st_dev, stat.st_ino))


def refuse_overwriting(inputs: Iterable[str | Path], outputs: Sequence[str | Path]) -> None:
    """Refuse an output that is an input or another output, before anything is computed.

    What no path shows, such as a link in a folder that is read, is noticed when it would be replaced.
    """
    for number, output in enumerate(outputs):
        if any(_is_same_file(output, path) for path in inputs):
            raise _overwritten(output)
        if any(_is_same_file(output, other) for other in outputs[:number]):
            raise _repeated()


def _is_same_file(one: str | Path, other: str | Path) -> bool:
    """Whether two paths lead to one file (a terminal or a pipe is none), also through links."""
    with suppress(OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(other) or (
            os.path.isfile(one) and os.path.samefile(one, other)
        )
    return False


def _repeated() -> UsageError:
    return UsageError("two output files have the same name", hint="give each a name of its own")


def _overwritten(path: str | Path) -> UsageError:
    return UsageError(f"{path} is read and would be overwritten", hint="write the output somewhere else")


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary file beside `path` that replaces it if the block succeeds, and is removed if it fails."""
    if os.path.exists(path):
        if not os.path.isfile(path):
            raise DstbenchError("not a file that can be replaced", file=str(path), hint="name a file, or use > or |")
        read, written = _guards[-1] if _guards else (set(), set())
        stat = os.stat(path)
        if (stat.st_dev, stat.st_ino) in written:
            raise _repeated()
        if (stat.st_dev, stat.st_ino) in read:
            raise _overwritten(path)
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
        what = f"cannot be written: {os.strerror(error.errno) if error.errno else error}"
        is_full = error.errno in _FULL
        hint = "make room, or name a file elsewhere" if is_full else "is the folder there, and writable?"
        raise DstbenchError(what, file=str(path), hint=hint) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(OSError):  # it was a folder, or nothing is there, or its folder is none
            temporary.unlink()
