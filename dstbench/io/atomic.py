"""Writing files so that a reader never meets half of one, and nothing stays behind of a writer that was killed.

Conventions: what is being written lies beside its target under a hidden name, ``.<name>.<random>.part``, and is locked
as long as its writer lives; so whoever writes that name next knows what was left behind, and removes it. (A lock ends
with its process, whatever ended that; a process's number may be anybody's by then, or one of another machine.)
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dstbench.errors import DstbenchError, DstbenchWarning

try:
    import fcntl
except ImportError:  # Windows has no such locks: what is left behind stays there
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well, and is removed when it does not.

    Raises:
        DstbenchError: The folder does not exist or cannot be written to, or the disk is full.
    """
    target = Path(os.path.realpath(path))  # a link stays, and what it points to is replaced
    if os.path.exists(target) and not os.path.isfile(target):
        raise DstbenchError("not a file that can be replaced", file=str(path), hint="name a file, or use > or |")
    try:
        with _part_of(target) as part:
            part.touch()
            with _locked(part):
                yield part
                with part.open("rb") as written:
                    os.fsync(written.fileno())
                part.replace(target)
    except OSError as error:
        raise cannot_write(path, error) from None


@contextmanager
def replacing_folder(path: str | Path) -> Iterator[Path]:
    """A temporary folder beside `path` that takes its name when the block ends well, and is removed when it does not.

    Raises:
        DstbenchError: There is something of that name that is not an empty folder, or it cannot be written.
    """
    target = Path(os.path.realpath(path))
    if os.path.exists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise DstbenchError("is there already", file=str(path), hint="name a folder that is new, or empty")
    try:
        with _part_of(target) as part:
            part.mkdir()
            with _locked(part):
                yield part
                part.replace(target)
    except OSError as error:
        raise cannot_write(path, error) from None


@contextmanager
def sharing(folder: Path, path: str | Path) -> Iterator[None]:
    """A folder, made if need be, in which one process at a time works to write `path`; the others are told, and wait.

    It is removed when the block ends well; when it does not, what is finished in it is kept.

    Raises:
        DstbenchError: It cannot be made.
    """
    is_ours, waits = False, False
    while not is_ours:  # who has waited finds it removed
        try:
            _make(folder, path)
            with _locked(folder, wait=waits) as locked:
                is_ours = locked is not False
                if is_ours:
                    yield
                    shutil.rmtree(folder, ignore_errors=True)
        finally:
            _tidy(folder)
        if not (is_ours or waits):
            warnings.warn(f"{path}: another process is writing it; waiting until it is done", DstbenchWarning, 3)
            waits = True


def cannot_write(path: str | Path, error: OSError) -> DstbenchError:
    """What is said of a file that cannot be written, with what can be done about it."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    hint = "is the folder there, and writable?"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        hint = "make room, or name a file elsewhere; what was there before is as it was"
    return DstbenchError(f"cannot be written: {reason}", file=str(path), hint=hint)


@contextmanager
def _part_of(target: Path) -> Iterator[Path]:
    """A new hidden name beside the target; what killed writers of this target have left is removed, and what has it."""
    _sweep(target.parent, re.escape(target.name))
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        yield part
    finally:
        _remove(part)


def _make(folder: Path, path: str | Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from None


def _tidy(folder: Path) -> None:
    """Remove what is not finished in a folder that nobody works in, and the folder if nothing is left in it."""
    with _locked(folder) as is_ours, suppress(OSError):
        if is_ours is not False:
            _sweep(folder, ".*")
            folder.rmdir()


def _sweep(folder: Path, name: str) -> None:
    """Remove what killed writers of targets of this name (a pattern) have left in a folder."""
    left = re.compile(rf"\.{name}\.[0-9a-f]{{16}}\.part")
    with suppress(OSError):  # a folder that is not there is told when it is written to, or may be removed already
        for part in map(folder.joinpath, filter(left.fullmatch, os.listdir(folder))):
            with _locked(part) as is_ours:
                if is_ours:
                    _remove(part)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


@contextmanager
def _locked(path: Path, *, wait: bool = False) -> Iterator[bool | None]:
    """Lock a file or folder for the block; True: it is ours, False: another's, or gone, None: here are no locks."""
    if fcntl is None:
        yield None
        return
    file = None
    try:
        file = os.open(path, os.O_RDONLY)
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours: bool | None = os.path.samestat(os.fstat(file), os.stat(path))
    except (BlockingIOError, FileNotFoundError):
        is_ours = False
    except OSError:
        is_ours = None
    try:
        yield is_ours
    finally:
        if file is not None:
            os.close(file)
