"""A run: one model on one dataset, with its rows in memory or in a Parquet file that is read when they are needed.

Conventions: rows are read part by part, perhaps several times. If the file changes in between, that is an error, so no
result mixes rows of the old file with rows of the new one. A file holds one run: besides the schema, its footer has
``dstbench`` (`Run.meta`), ``dstbench.cuts`` and ``dstbench.gold`` (`Run.fingerprint`), each as JSON. `io.parquet`
checks its bytes when it is opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

import polars as pl

from dstbench.errors import DstbenchError, UsageError
from dstbench.io import parquet
from dstbench.io.files import File
from dstbench.io.parquet import reading
from dstbench.readers.frames import COUNTS
from dstbench.runs.rules import check_long, conform_long
from dstbench.schema.core import SCHEMA_VERSION
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
        fingerprint: Fingerprint of gold as written, over all turns; None: not computed yet.
    """

    name: str
    table: pl.LazyFrame
    meta: Mapping[str, Any]
    cuts: tuple[int, ...]
    derive: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    path: str | None = None
    stamp: Stamp | None = None
    fingerprint: int | None = None

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What scoring keeps of a small run (`scoring.partitions`); copies begin without it."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "kept"}  # codes hold in one process only

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
            DstbenchError: The rows cannot be read or are damaged, or the file has changed since it was opened.
        """
        return self._collected(self.table if table is None else table)

    def part(self, start: int, rows: int) -> pl.DataFrame:
        """The rows from one cut to another; see `read`.

        Args:
            start: The first row, one of `cuts`.
            rows: Number of rows, up to another of `cuts`.

        Returns:
            Schema `LONG`, sorted.
        """
        return self._collected(self.table.slice(start, rows))

    def _collected(self, table: pl.LazyFrame) -> pl.DataFrame:
        """The result of a query over the rows, if the file is the same before and after it."""
        self.check()
        try:
            return collect(table, self.name)
        finally:
            self.check()

    def check(self) -> None:
        """Check that the file, if the rows come from one, is the one that was opened.

        Raises:
            DstbenchError: The file has changed, or is gone.
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


def stamp_of(path: str | os.PathLike[str]) -> Stamp:
    """The stamp of a file as it is now."""
    stat = os.stat(path)
    return Stamp(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


def collect(table: pl.LazyFrame, source: str) -> pl.DataFrame:
    """Collect a query; if that fails, the error names `source`."""
    with reading(source):
        return collect_query(table)


def in_memory(name: str, table: pl.DataFrame, meta: Mapping[str, Any]) -> Run:
    """A run whose rows are in memory; `meta` is `Run.meta`."""
    cuts = [0]
    if table.height > _ROW_GROUP:
        begins = table.select(pl.arg_where(pl.col("dialogue") != pl.col("dialogue").shift(1))).to_series()
        while (at := begins.search_sorted(cuts[-1] + _ROW_GROUP)) < len(begins):
            cuts.append(int(begins[int(at)]))
    return Run(name, table.lazy(), meta, (*cuts, table.height))


#: The texts in a file's footer: `Run.meta`, `Run.cuts` and `Run.fingerprint`.
METADATA, CUTS, GOLD = "dstbench", "dstbench.cuts", "dstbench.gold"


def open_table(name: str, file: File) -> Run | None:
    """The run in a Parquet file that dstbench wrote, whose rows are not read yet; None: another program wrote it."""
    path = file.utf8_path
    with reading(file.name):
        stamp = stamp_of(path)
        table, texts, is_sealed = parquet.scan(file)
        height = table.select(pl.len()).collect().item() if CUTS in texts else 0
    try:
        meta, cuts = dict(json.loads(texts[METADATA])), tuple(json.loads(texts[CUTS]))
        gold, version = json.loads(texts.get(GOLD, "null")), meta.get("schema_version", SCHEMA_VERSION)
        # Without a seal, the rows may be others than those that the fingerprint is of.
        fingerprint = int(gold, 16) if gold is not None and is_sealed else None
        is_ours = version not in range(1, SCHEMA_VERSION + 1) or _fits(meta, cuts, height)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):  # anyone may have edited these texts
        is_ours = False
    if not is_ours:
        return None
    if version not in range(1, SCHEMA_VERSION + 1):
        raise file.error(
            f"its long table has schema version {version}; this dstbench reads up to {SCHEMA_VERSION}",
            "it needs a newer dstbench; or convert it again with this one",
        )
    table = conform_long(table, source=file.name)
    if not is_sealed:  # it was edited, or an early version wrote it
        check_long(collect(table, file.name), source=file.name)
    return Run(name, table, meta, cuts, path=path, stamp=stamp, fingerprint=fingerprint)


def _fits(meta: Any, cuts: Any, height: int) -> bool:
    """Whether dstbench could have written these texts for a file of `height` rows."""
    return (
        all(type(number) is int and number >= 0 for number in (*cuts, *meta["coverage"].values()))
        and all(low < high for low, high in pairwise(cuts))
        and (cuts[:1], cuts[-1:]) == ((0,), (height,))
        and len(cuts) > 1
        and {"turns", "dialogues"} <= meta["coverage"].keys()
        and meta.get("frames", {}).keys() in (set(), {*COUNTS})
        and isinstance(meta["missing"], str)
    )
