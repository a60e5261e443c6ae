"""Atomic writes: a file appears when it is complete, or not at all.

Conventions: a file is written beside its target under a hidden name of its own, ``.<name>.<random>.part``, and then
renamed. It is removed if the writer fails or is interrupted; only a writer that is killed leaves it behind.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dstbench.errors import DstbenchError
from dstbench.io.overwriting import note, refuse_replacing

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary file beside `path` that replaces it if the block succeeds, and is removed if it fails.

    Raises:
        DstbenchError: The folder does not exist or cannot be written to, or the disk is full.
        UsageError: A command that is running has read the file (`overwriting.guarding_inputs`).
    """
    refuse_replacing(path)
    if os.path.exists(path) and not os.path.isfile(path):
        raise DstbenchError("not a file that can be replaced", file=str(path), hint="name a file, or use > or |")
    with _temporary(path) as temporary:
        temporary.touch()
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
            note(written.fileno(), written=True)


@contextmanager
def replacing_folder(path: str | Path) -> Iterator[Path]:
    """A temporary folder beside `path` that is renamed to it if the block succeeds, and is removed if it fails.

    Raises:
        DstbenchError: `path` exists and is not an empty folder, or it cannot be written.
    """
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
        raise cannot_write(path, error) from None
    finally:
        if os.path.isdir(temporary):
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            with suppress(OSError):  # nothing is there, or its folder is none
                temporary.unlink()


def cannot_write(path: str | Path, error: OSError) -> DstbenchError:
    """The error for a file that cannot be written: why, and what to do about it."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    hint = "is the folder there, and writable?"
    if error.errno in _FULL:
        hint = "make room, or name a file elsewhere; the old file, if any, is unchanged"
    return DstbenchError(f"cannot be written: {reason}", file=str(path), hint=hint)
