"""Atomic writes: a file appears when it is complete, and the leftovers of killed writers are removed later.

Conventions: a file is written beside its target under a hidden name, ``.<name>.<random>.part``, and is locked while its
writer lives. The next writer of that target removes such files if no process locks them. (The system releases a lock
when its process ends, however it ends. A process id in the name would not do: it may be used again, or be of another
machine.)
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dstbench.errors import DstbenchError, warn
from dstbench.io.overwriting import PART, PARTS, note_written, refuse_replacing

try:
    import fcntl
except ImportError:  # Windows has no such locks: what killed writers leave is not removed
    fcntl = None  # type: ignore[assignment]


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path` that replaces it if the block succeeds, and is removed if it fails.

    Raises:
        DstbenchError: The folder does not exist or cannot be written to, or the disk is full.
        UsageError: A command that is running has read the file (`overwriting.guarding_inputs`).
    """
    refuse_replacing(path)
    target = Path(os.path.realpath(path))  # a link stays, and the file it points to is replaced
    if os.path.exists(target) and not os.path.isfile(target):
        raise DstbenchError("not a file that can be replaced", file=str(path), hint="name a file, or use > or |")
    with _replacing(path, target, Path.touch) as temporary:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
            note_written(written.fileno())


@contextmanager
def replacing_folder(path: str | Path) -> Iterator[Path]:
    """A temporary folder beside `path` that is renamed to it if the block succeeds, and is removed if it fails.

    Raises:
        DstbenchError: `path` exists and is not an empty folder, or it cannot be written.
    """
    target = Path(os.path.realpath(path))
    if os.path.exists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise DstbenchError("is there already", file=str(path), hint="name a folder that is new, or empty")
    with _replacing(path, target, Path.mkdir) as temporary:
        yield temporary


@contextmanager
def _replacing(path: str | Path, target: Path, create: Callable[[Path], None]) -> Iterator[Path]:
    """A new hidden name beside the target, created and locked for the block, then renamed to the target."""
    _remove_abandoned(target.parent, re.escape(target.name))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        create(temporary)
        with _locked(temporary):
            yield temporary
            temporary.replace(target)
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        _remove(temporary)


def parts_of(path: Path) -> Path:
    """The hidden folder for the parts from which `path` is put together."""
    return path.with_name(f".{path.name}.{PARTS}")


@contextmanager
def sharing(folder: Path, path: str | Path) -> Iterator[None]:
    """Work in a folder, made if it does not exist, to write `path`; other processes wait, with a warning.

    The folder is removed if the block succeeds; if it fails, finished files in it are kept.

    Raises:
        DstbenchError: The folder cannot be made.
    """
    is_ours, waits = False, False
    while not is_ours:  # after waiting, the folder has been removed and is made again
        try:
            try:
                folder.mkdir(exist_ok=True)
            except OSError as error:
                raise cannot_write(path, error) from None
            with _locked(folder, wait=waits) as locked:
                is_ours = locked is not False
                if is_ours:
                    yield
                    shutil.rmtree(folder, ignore_errors=True)
        finally:
            _tidy(folder)
        if not (is_ours or waits):
            warn("another process is writing it; waiting until it is done", file=str(path), when="now")
            waits = True


def cannot_write(path: str | Path, error: OSError) -> DstbenchError:
    """The error for a file that cannot be written: why, and what to do about it."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    hint = "is the folder there, and writable?"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        hint = "make room, or name a file elsewhere; the old file, if any, is unchanged"
    return DstbenchError(f"cannot be written: {reason}", file=str(path), hint=hint)


def _tidy(folder: Path) -> None:
    """Remove unfinished files from the folder, and the folder if it is then empty, unless a process works in it."""
    with _locked(folder) as is_ours, suppress(OSError):
        if is_ours is not False:
            _remove_abandoned(folder, ".*")
            folder.rmdir()


def _remove_abandoned(folder: Path, name: str) -> None:
    """Remove the files that killed writers of a target have left in a folder; `name` is a pattern of the target."""
    left = re.compile(rf"\.{name}\.{PART}")
    with suppress(OSError):  # a missing folder is reported when it is written to; another process may remove files
        for path in map(folder.joinpath, filter(left.fullmatch, os.listdir(folder))):
            with _locked(path) as is_ours:
                if is_ours:
                    _remove(path)


def _remove(path: Path) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


@contextmanager
def _locked(path: Path, *, wait: bool = False) -> Iterator[bool | None]:
    """Lock a file or folder for the block. True: locked; False: locked by another, or gone; None: no locks here."""
    if fcntl is None:
        yield None
        return
    file, is_ours = None, None
    try:
        file = os.open(path, os.O_RDONLY)
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = os.path.samestat(os.fstat(file), os.stat(path))
    except (BlockingIOError, FileNotFoundError):
        is_ours = False
    except OSError:
        pass
    try:
        yield is_ours
    finally:
        if file is not None:
            os.close(file)
