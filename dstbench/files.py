"""Writing files so that a reader never meets half of one."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dstbench.errors import DstbenchError

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
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.replace(target)
    except OSError as error:
        raise DstbenchError(
            f"cannot be written: {error.strerror or error}",
            file=str(path),
            hint="is the folder there, and writable?",
        ) from None
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: str | Path) -> Iterator[Path]:
    """A temporary folder beside `path` that takes its name when the block ends well, and is removed when it does not.

    Raises:
        DstbenchError: There is something of that name that is not an empty folder, or it cannot be written.
    """
    target = Path(os.path.realpath(path))
    if os.path.exists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise DstbenchError("is there already", file=str(path), hint="name a folder that is new, or empty")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.mkdir()
        yield part
        part.replace(target)
    except OSError as error:
        raise DstbenchError(
            f"cannot be written: {error.strerror or error}",
            file=str(path),
            hint="is the folder above it there, and writable?",
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
