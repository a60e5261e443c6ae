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
from typing import Final, NamedTuple, TypeAlias

from dstbench.errors import UsageError

Identity: TypeAlias = tuple[int, int]


class _Seen(NamedTuple):
    """Files that have been read, and those that have been written."""

    read: set[Identity]
    written: set[Identity]


# One for each `guarding_inputs` that is entered.
_seen: Final[list[_Seen]] = []


@contextmanager
def guarding_inputs() -> Iterator[None]:
    """While the block runs, no file that it has read (through `io.files.File`) or has written can be replaced."""
    _seen.append(_Seen(set(), set()))
    try:
        yield
    finally:
        _seen.pop()


def note_read(descriptor: int) -> None:
    """Note that an open file is read."""
    if _seen:
        _seen[-1].read.add(_of(os.fstat(descriptor)))


def note_written(descriptor: int) -> None:
    """Note that an open file has been written."""
    if _seen:
        _seen[-1].written.add(_of(os.fstat(descriptor)))


def refuse_replacing(path: str | Path) -> None:
    """Refuse to replace a file that has been read, or written, since `guarding_inputs` was entered.

    Raises:
        UsageError: It has been read or written.
    """
    own = _identity(path) if _seen else None
    if own is not None and own in _seen[-1].written:
        raise _repeated()
    if own is not None and own in _seen[-1].read:
        raise _overwritten(f"{path} is")


def refuse_overwriting(
    inputs: Iterable[str | Path], files: Sequence[str | Path], folders: Sequence[str | Path] = ()
) -> None:
    """Refuse outputs that are an input, lie inside one (a folder, an archive), or are a folder with one inside.

    Args:
        inputs: Files and folders that are read, and paths that lead into archives; what does not exist is ignored.
        files: Files (or a dataset's folder) to write, whether they exist or not.
        folders: Folders to write files to, whether they exist or not; two may be the same.

    Raises:
        UsageError: There is such an output, or two files are the same.
    """
    places = [place for path in inputs if (place := _on_disk(path)) is not None]
    for output in (*files, *folders) if places else ():
        output_identity, output_parents = _identity(output), _identities(output)
        for place in places:
            input_identity = _identity(place)
            if input_identity == output_identity:
                raise _overwritten(f"{output} is")
            if input_identity in output_parents:
                raise _overwritten(f"{output} lies in {place}, which is")
            if output_identity is not None and output_identity in _identities(place):
                raise _overwritten(f"{output} holds {place}, which is")
    if len({os.path.realpath(file).casefold() for file in files}) < len(files):
        raise _repeated()


def _repeated() -> UsageError:
    return UsageError("two output files have the same name", hint="give each a name of its own")


def _overwritten(what_is: str) -> UsageError:
    return UsageError(f"{what_is} read and would be overwritten", hint="write the output somewhere else")


def _on_disk(path: str | Path) -> Path | None:
    """The file or folder that a path leads to, or the file (an archive) that it leads into; None: nothing is there."""
    existing = next((place for place in (Path(path), *Path(path).parents) if _identity(place) is not None), None)
    return existing if existing == Path(path) or (existing is not None and os.path.isfile(existing)) else None


def _identities(path: str | Path) -> set[Identity | None]:
    """What identifies a path and the folders around it, as it is written and with all links followed."""
    written, real = Path(os.path.abspath(path)), Path(os.path.realpath(path))
    return {_identity(place) for place in (written, *written.parents, real, *real.parents)}


def _identity(path: str | Path) -> Identity | None:
    """What identifies a file or a folder; None: nothing is there, or it is neither (a terminal, a pipe)."""
    try:
        is_one = os.path.isfile(path) or os.path.isdir(path)
        return _of(os.stat(path)) if is_one else None
    except (OSError, ValueError):
        return None


def _of(stat: os.stat_result) -> Identity:
    return stat.st_dev, stat.st_ino
