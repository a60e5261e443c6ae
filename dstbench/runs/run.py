"""A run: one model on one dataset, with its rows in memory or in a Parquet file that is read when they are needed.

Conventions: rows are read part by part, perhaps several times. If the file changes in between, that is an error, so no
result mixes rows of the old file with rows of the new one.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

import polars as pl

from dstbench.errors import DstbenchError, UsageError
from dstbench.io.parquet import MAGIC, checksums, damaged, reading
from dstbench.schema.record import Record
from dstbench.tables import collect as collect_query

# A row group ends at the first dialogue boundary after this many rows. Each group has its own dictionaries (with groups
# of 65,536 rows, a tenth of the file); larger groups do not decode faster, and scoring reads one group at a time.
_ROW_GROUP: Final = 393_216


class Stamp(NamedTuple):
    """What identifies one state of a file on one machine; `changed` is its modification time in ns."""

    device: int
    inode: int
    size: int
    changed: int


class Kept:
    """Parts of a run that are kept in memory to be used again, by their place (`scoring.partitions`).

    A copy has none, because codes hold in one process only.
    """

    def __init__(self) -> None:
        self.parts: dict[tuple[int, int, bool], Any] = {}

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()


@dataclass(frozen=True)
class Run(Record):
    """One model on one dataset.

    Attributes:
        name: What tables call it.
        table: The long table, schema `LONG`, sorted.
        meta: What was read and how: ``schema_version``, ``run``, ``files``, ``format``, ``gold`` (its file; null: it
            was inside), ``missing``, ``coverage`` (counts of turns and dialogues); if gold has frames, their counts as
            ``frames`` (`readers.frames.count_frames`); if there are no states, ``only`` (`States.only`); if a file
            spells booking slots without ``book``, ``with_book``: for ``gold`` and ``pred``, these slots with false, or
            with null if it spells them in both ways.
        cuts: Row numbers at which the table may be cut because a dialogue begins there; also 0 and the number of rows.
        derive: Makes another run's rows, such as those of a baseline, from the rows of each partition; None: the rows
            are used as they are.
        path: Absolute path of the Parquet file that `table` is read from; None: it is in memory.
        stamp: The stamp of that file when it was opened.
        checksums: For the rows between each cut and the next: the offset in the file at which they end, and the CRC-32
            of their bytes (because a damaged page may still decode, to other rows); None: the file has none.
        fingerprint: Fingerprint of gold as written, over all turns; None: not computed yet.
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

    @cached_property
    def kept(self) -> Kept:
        """The parts of the run that are kept; a run made from this one (`dataclasses.replace`) begins without any."""
        return Kept()

    def part(self, start: int, rows: int) -> pl.DataFrame:
        """The rows from one cut to another, checked against their checksums.

        Args:
            start: The first row, one of `cuts`.
            rows: Number of rows, up to another of `cuts`.

        Returns:
            Schema `LONG`, sorted.

        Raises:
            DstbenchError: The rows cannot be read or are damaged, or the file has changed since it was opened.
        """
        return self._collected(self.table.slice(start, rows), start, start + rows)

    def need_states(self, what: str) -> None:
        """Refuse a run that holds only marks of which slots are right, and no states.

        Args:
            what: What is computed from states, in the plural.

        Raises:
            UsageError: The run has no states.
        """
        if only := self.meta.get("only"):
            raise UsageError(
                f"{self.name}: it holds no states, and {what} cannot be computed from it",
                hint=f"`dstbench score` with -m {','.join(only)}",
            )

    def read(self, table: pl.LazyFrame | None = None) -> pl.DataFrame:
        """The rows, or the result of a query.

        Args:
            table: A query over `Run.table`; None: all rows.

        Returns:
            Schema `LONG`, sorted; or what the query selects.

        Raises:
            DstbenchError: The rows cannot be read, or the file has changed since it was opened.
        """
        if table is None:
            return self.part(0, self.cuts[-1])
        return self._collected(table, 0, self.cuts[-1])

    def _collected(self, table: pl.LazyFrame, start: int, end: int) -> pl.DataFrame:
        """The result of a query over the rows from one cut to another, which are checked first."""
        self.check(start, end)
        try:
            return collect(table, self.name)
        finally:
            self.check()

    def check(self, start: int = 0, end: int = 0) -> None:
        """Check that the file, if the rows come from one, is the same as when it was opened.

        Args:
            start: One of `cuts`: the first of the rows whose checksums are checked, too.
            end: Likewise, the row after the last of them.

        Raises:
            DstbenchError: The file has changed, or is gone, or the rows are damaged.
        """
        if self.path is None or self.stamp is None:
            return
        with reading(self.path):
            now = stamp_of(self.path)
        if now != self.stamp:
            raise DstbenchError(
                "the file was replaced or changed while it was read",
                file=self.path,
                hint="run it again when nothing writes the file any more",
            ) from None
        if self.checksums is None or start == end:
            return
        first, last = (bisect_left(self.cuts, row) for row in (start, end))
        begin = self.checksums[first - 1][0] if first else len(MAGIC)
        ends, sums = zip(*self.checksums[first:last], strict=True)
        with reading(self.name):
            if _sums(self.path, self.stamp, begin, ends) != sums:
                raise damaged("its bytes are not those that were written")


@lru_cache(maxsize=1 << 12)
def _sums(path: str, stamp: Stamp, begin: int, ends: tuple[int, ...]) -> tuple[int, ...]:
    """The CRC-32 of consecutive sections of a file; they are computed once for each stamp of it."""
    with reading(path), open(path, "rb") as file:
        return tuple(crc for _, crc in checksums(file, ends, begin))


def stamp_of(path: str | os.PathLike[str]) -> Stamp:
    """The stamp of a file as it is now."""
    stat = os.stat(path)
    return Stamp(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


def collect(table: pl.LazyFrame, source: str) -> pl.DataFrame:
    """Collect a query; if that fails, the error names `source`."""
    with reading(source):
        return collect_query(table)


def in_memory(name: str, table: pl.DataFrame, meta: Mapping[str, Any]) -> Run:
    """A run whose rows are in memory; `meta` is `Run.meta`.

    It may be cut at its ends, and after each row group where a dialogue begins.
    """
    cuts = [0]
    if table.height > _ROW_GROUP:
        begins = table.select(pl.arg_where(pl.col("dialogue") != pl.col("dialogue").shift(1))).to_series()
        while (at := begins.search_sorted(cuts[-1] + _ROW_GROUP)) < len(begins):
            cuts.append(int(begins[int(at)]))
    return Run(name, table.lazy(), meta, (*cuts, table.height))
