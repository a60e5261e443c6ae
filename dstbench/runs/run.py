"""A run: one model on one dataset, its rows in memory or in a Parquet file that is read when they are wanted.

Conventions: rows are read piece by piece, and again by whoever needs them; so a file that is another by then is an
error, and never some rows of one and some of the other.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from zlib import crc32

import polars as pl

from dstbench.errors import DstbenchError, UsageError

#: What reading a Parquet file may end in; a panic is no `Exception`, as Polars means to end the process with it.
UNREADABLE: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
# With it a Parquet file begins.
_MAGIC: Final = b"PAR1"


class Stamp(NamedTuple):
    """What a file is known by on one machine."""

    device: int
    number: int
    size: int
    changed: int


@dataclass(frozen=True)
class Run:
    """One model on one dataset.

    Attributes:
        name: What tables call it.
        table: The long table, schema `LONG`, sorted.
        meta: What was read and how: ``schema_version``, ``run``, ``files``, ``format``, ``gold`` (its file; null: it
            was inside), ``missing``, ``coverage`` (counts of turns and dialogues); where gold has frames, ``frames``
            (what they say: `frames.count_frames`).
        cuts: Row numbers at which the table may be cut, as a dialogue begins there; 0 and the number of rows too.
        derive: What makes another run's rows of each partition's, such as those of a baseline; None: nothing.
        path: The Parquet file, from the root of the file system, that `table` is read from; None: it is in memory.
        stamp: What that file was known by when it was opened.
        checksums: Of the rows between one cut and the next: the byte of the file at which they end, and the CRC-32 of
            their bytes, as a damaged page may be decoded all the same, to other rows; None: the file has none.
        fingerprint: That of gold as written, over all turns; None: to be found out.
    """

    name: str
    table: pl.LazyFrame
    meta: Mapping[str, Any]
    cuts: tuple[int, ...]
    derive: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    path: str | None = None
    stamp: Stamp | None = None
    checksums: Sequence[Sequence[int]] | None = None
    fingerprint: int | None = None

    def part(self, start: int, rows: int) -> pl.DataFrame:
        """So many rows from one cut to another, seen to be as they were written.

        Args:
            start: The first row, one of `cuts`.
            rows: How many, up to another of `cuts`.

        Returns:
            Schema `LONG`, sorted.

        Raises:
            DstbenchError: They cannot be read, or are damaged; or the file is not the one that was opened.
        """
        table = self.read(self.table.slice(start, rows))
        if self.path is not None and self.checksums is not None:
            first, last = (bisect_left(self.cuts, row) for row in (start, start + rows))
            begin = self.checksums[first - 1][0] if first else len(_MAGIC)
            wanted = [list(pair) for pair in self.checksums[first:last]]
            try:
                found = checksums(self.path, [end for end, _ in wanted], begin)
            except OSError as error:
                raise unreadable(self.path, error) from None
            if found != wanted:
                raise unreadable(self.name, ValueError("its bytes are not those that were written"))
        return table

    def need_states(self, what: str) -> None:
        """See that the run has states, and not only marks of which slots are right.

        Args:
            what: What is made of states, in the plural.

        Raises:
            UsageError: It has none.
        """
        if only := self.meta.get("only"):
            raise UsageError(
                f"{self.name}: it holds no states, and {what} cannot be had from it",
                hint=f"`dstbench score` with -m {','.join(only)}",
            )

    def read(self, table: pl.LazyFrame | None = None) -> pl.DataFrame:
        """The rows, or what is asked of them.

        Args:
            table: A query over `Run.table`; None: all rows.

        Returns:
            Schema `LONG`, sorted; or what the query selects.

        Raises:
            DstbenchError: They cannot be read, or the file is not the one that was opened.
        """
        if table is None:
            return self.part(0, self.cuts[-1])
        self.check()  # before, as a file that has shrunk lets Polars panic
        try:
            return collect(table, self.name)
        finally:
            self.check()

    def check(self) -> None:
        """See that the file that the rows come from is as it was when it was opened; rows in memory always are.

        Raises:
            DstbenchError: It is another by now, or gone.
        """
        if self.path is None or self.stamp is None:
            return
        try:
            now = stamp_of(self.path)
        except OSError as error:
            raise unreadable(self.path, error) from None
        if now != self.stamp:
            raise DstbenchError(
                "the file was replaced or changed while it was read",
                file=self.path,
                hint="run it again when nothing writes the file any more",
            ) from None


def checksums(path: str | os.PathLike[str], ends: Sequence[int], begin: int = len(_MAGIC)) -> list[list[int]]:
    """Of parts of a file, one behind the other: where each ends, and the CRC-32 of its bytes."""
    found = []
    with open(path, "rb") as file:
        file.seek(begin)
        for end in ends:
            found.append([end, crc32(file.read(end - begin))])
            begin = end
    return found


def stamp_of(path: str | os.PathLike[str]) -> Stamp:
    """What a file is known by."""
    found = os.stat(path)
    return Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def collect(table: pl.LazyFrame, source: str) -> pl.DataFrame:
    """Read a table; `source` names it if that fails."""
    try:
        return table.collect()
    except UNREADABLE as error:
        raise unreadable(source, error) from None


def unreadable(source: str, error: BaseException) -> DstbenchError:
    """What is said of a Parquet file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return DstbenchError("no such file any more", file=source, hint="it was there when it was opened")
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, OSError) and error.errno:
        return DstbenchError(f"cannot be read: {os.strerror(error.errno)}", file=source, hint="may you read it?")
    return DstbenchError(f"a damaged Parquet file: {reason}", file=source, hint="write it again (dstbench convert)")
