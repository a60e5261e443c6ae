"""No output destroys an input: what is to be written is compared with what is read.

Conventions: files are told apart by device and inode, which sees through links, other spellings of a path, and file
systems that ignore case. `refuse_overwriting` compares paths before anything is read. Inputs that no path shows (a link
in a folder, a file that another file names, one that a reader looks for beside its input) are noticed when they would
be replaced: see `guarding_inputs`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from dstbench.errors import UsageError

Identity: TypeAlias = tuple[int, int]

# The files that have been read, and those that have been written, for each `guarding_inputs` that is entered.
_seen: Final[list[tuple[set[Identity], set[Identity]]]] = []


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


def refuse_replacing(path: str | Path) -> None:
    """Refuse to replace a file that has been read, or written, since `guarding_inputs` was entered.

    Raises:
        UsageError: It has been read or written.
    """
    read, written = _seen[-1] if _seen else (set(), set())
    if _identity(path) in written:
        raise _repeated()
    if _identity(path) in read:
        raise _overwritten(path)


def refuse_overwriting(inputs: Iterable[str | Path], files: Sequence[str | Path]) -> None:
    """Refuse outputs that are an input, or lie in a folder that is one.

    Args:
        inputs: Files and folders that are read, and paths that lead into archives; what does not exist is ignored.
        files: Files (or a dataset's folder) to write, whether they exist or not.

    Raises:
        UsageError: There is such an output, or two files are the same.
    """
    read = set()
    for path in inputs:
        place = next(filter(os.path.exists, (Path(path), *Path(path).parents)))
        if place == Path(path) or os.path.isfile(place):  # an archive, which the path leads into
            read.add(_identity(place))
    read.discard(None)
    for file in files:
        real = Path(os.path.realpath(file))
        if any(_identity(place) in read for place in (file, real, *real.parents)):
            raise _overwritten(file)
    if len({os.path.realpath(file).casefold() for file in files}) < len(files):
        raise _repeated()


def _repeated() -> UsageError:
    return UsageError("two output files have the same name", hint="give each a name of its own")


def _overwritten(path: str | Path) -> UsageError:
    return UsageError(f"{path} is read and would be overwritten", hint="write the output somewhere else")


def _identity(path: str | Path) -> Identity | None:
    """What identifies a file or a folder; None: nothing is there, or it is neither (a terminal, a pipe)."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return (stat.st_dev, stat.st_ino) if os.path.isfile(path) or os.path.isdir(path) else None
