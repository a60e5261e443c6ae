"""Atomic writes: a file appears when it is complete, or not at all.

Conventions: a file is written beside its target under a hidden name of its own, ``.<name>.<random>.part``, and then
renamed. It is removed if the writer fails or is interrupted; only a writer that is killed leaves it behind.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dstbench.errors import DstbenchError
from dstbench.io.overwriting import note_written, refuse_replacing


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
    """A new hidden name beside the target, created for the block, then renamed to the target."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        create(temporary)
        yield temporary
        temporary.replace(target)
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        _remove(temporary)


def cannot_write(path: str | Path, error: OSError) -> DstbenchError:
    """The error for a file that cannot be written: why, and what to do about it."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    hint = "is the folder there, and writable?"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        hint = "make room, or name a file elsewhere; the old file, if any, is unchanged"
    return DstbenchError(f"cannot be written: {reason}", file=str(path), hint=hint)


def _remove(path: Path) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
