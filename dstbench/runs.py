"""A run: one model on one dataset, its rows in memory or in a Parquet file that is read when they are wanted.

Conventions: rows are read piece by piece, and again by whoever needs them; so a file that is another by then is an
error, and never some rows of one and some of the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import polars as pl

from dstbench.errors import DstbenchError

#: What reading a Parquet file may end in; a panic is no `Exception`, as Polars means to end the process with it.
UNREADABLE: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
#: What a file is known by on one machine: device, number, size, time of change.
Stamp: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True)
class Run:
    """One model on one dataset.

    Attributes:
        name: What tables call it.
        table: The long table, schema `LONG`, sorted.
        meta: What was read and how: ``schema_version``, ``run``, ``files``, ``format``, ``gold`` (its file; null: it
            was inside), ``missing``, ``coverage`` (counts of turns and dialogues).
        cuts: Row numbers at which the table may be cut, as a dialogue begins there; 0 and the number of rows too.
        derive: What makes another run's rows of each partition's, such as those of a baseline; None: nothing.
        path: The Parquet file, from the root of the file system, that `table` is read from; None: it is in memory.
        stamp: What that file was known by when it was opened.
    """

    name: str
    table: pl.LazyFrame
    meta: Mapping[str, Any]
    cuts: tuple[int, ...]
    derive: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    path: str | None = None
    stamp: Stamp | None = None

    def read(self, table: pl.LazyFrame | None = None) -> pl.DataFrame:
        """The rows, or what is asked of them.

        Args:
            table: A query over `Run.table`; None: all rows.

        Returns:
            Schema `LONG`, sorted; or what the query selects.

        Raises:
            DstbenchError: They cannot be read, or the file is not the one that was opened.
        """
        self.check()  # before, as a file that has shrunk lets Polars panic
        try:
            return collect(self.table if table is None else table, self.name)
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


def stamp_of(path: str | os.PathLike[str]) -> Stamp:
    """What a file is known by."""
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


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
