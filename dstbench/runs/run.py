"""A run: one model on one dataset, with its rows in memory or in a Parquet file that is read when they are needed.

Conventions: rows are read part by part, perhaps several times. If the file changes in between, that is an error, so no
result mixes rows of the old file with rows of the new one. A file holds one run: besides the schema, its footer has
``dstbench`` (`Run.meta`), ``dstbench.cuts`` and ``dstbench.gold`` (`Run.fingerprint`), each as JSON. `io.parquet`
checks its bytes when it is opened.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import Any, Final, NamedTuple

import polars as pl

from dstbench.errors import DstbenchError, UsageError
from dstbench.io import parquet
from dstbench.io.files import File
from dstbench.io.parquet import reading
from dstbench.readers.frames import COUNTS
from dstbench.runs.gold import gold_fingerprint
from dstbench.schema.core import LONG, SCHEMA_VERSION
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
    def kept(self) -> dict[bool, Any]:
        """What scoring keeps of a small run (`scoring.partitions`); copies begin without it."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "kept"}  # codes hold in one process only

    def part(self, start: int, rows: int) -> pl.DataFrame:
        """The rows from one cut to another.

        Args:
            start: The first row, one of `cuts`.
            rows: Number of rows, up to another of `cuts`.

        Returns:
            Schema `LONG`, sorted.

        Raises:
            DstbenchError: The rows cannot be read, or the file has changed since it was opened.
        """
        return self._collected(self.table.slice(start, rows))

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
        return self._collected(self.table if table is None else table)

    def _collected(self, table: pl.LazyFrame) -> pl.DataFrame:
        """The result of a query over the rows, if the file is the same before and after it."""
        self.check()
        try:
            return collect(table, self.name)
        finally:
            self.check()

    def check(self) -> None:
        """Check that the file, if the rows come from one, is the same as when it was opened.

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


_METADATA: Final = "dstbench"
_CUTS: Final = "dstbench.cuts"
_GOLD: Final = "dstbench.gold"


def write_table(path: str | PathLike[str], table: pl.DataFrame, meta: Mapping[str, Any], cuts: tuple[int, ...]) -> None:
    """Write a run whose rows are in memory, group by group; `meta` and `cuts` are those of the `Run`."""
    fingerprints = []

    def fingerprinted(group: pl.DataFrame) -> pl.DataFrame:
        fingerprints.append(gold_fingerprint(group))
        return group

    def gold() -> dict[str, str]:
        return {_GOLD: json.dumps(f"{sum(fingerprints) % 2**64:016x}")}

    texts = {_METADATA: json.dumps(dict(meta), ensure_ascii=False, sort_keys=True), _CUTS: json.dumps(cuts)}
    groups = (table.slice(start, end - start) for start, end in pairwise(cuts))
    parquet.write(path, LONG.schema, map(fingerprinted, groups), texts, gold)


class Footer(NamedTuple):
    """What a file's footer says of the run."""

    meta: dict[str, Any]
    cuts: tuple[int, ...]
    fingerprint: str | None


def fitting_footer(file: File, texts: Mapping[str, str], *, height: int) -> Footer | None:
    """The footer of a Parquet file of `height` rows, from the texts in it."""
    try:
        footer = Footer(
            dict(json.loads(texts[_METADATA])),
            tuple(json.loads(texts[_CUTS])),
            json.loads(texts.get(_GOLD, "null")),
        )
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    version = footer.meta.get("schema_version", SCHEMA_VERSION)
    if version not in range(1, SCHEMA_VERSION + 1):
        raise file.error(
            f"its long table has schema version {version}; this dstbench reads up to {SCHEMA_VERSION}",
            "it needs a newer dstbench; or convert it again with this one",
        )
    try:
        return footer if _fits(footer, height=height) else None
    except (AttributeError, KeyError, TypeError, ValueError):  # anyone may have edited it
        return None


def _fits(footer: Footer, *, height: int) -> bool:
    """Whether dstbench could have written this footer for a file of `height` rows."""
    meta, cuts, gold = footer
    coverage, frames, only = meta["coverage"], meta.get("frames", {}), meta.get("only", [])
    counts = [*coverage.values(), *frames.values(), *cuts]
    return (
        all(type(number) is int and number >= 0 for number in counts)
        and (cuts[:1], cuts[-1:]) == ((0,), (height,))
        and len(cuts) > 1
        and all(low < high for low, high in pairwise(cuts))
        and {"turns", "dialogues"} <= coverage.keys()
        and frames.keys() in (set(), {*COUNTS})
        and re.fullmatch(r"[a-z]+(\+[a-z]+)*", meta["missing"]) is not None
        and {"gold", "pred"} >= (spellings := meta.get("with_book", {})).keys()
        and not any(with_book for slots in spellings.values() for with_book in slots.values())
        and isinstance(only, list)
        and all(isinstance(metric, str) for metric in only)
        and (gold is None or re.fullmatch("[0-9a-f]{16}", gold) is not None)
    )
