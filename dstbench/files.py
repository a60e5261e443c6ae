"""Writing files so that a reader never meets half of one."""

from __future__ import annotations

import os
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
