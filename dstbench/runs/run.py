"""A run: one model on one dataset, with its rows in memory or in a Parquet file that is read when they are needed.

Conventions: rows are read part by part, perhaps several times. If the file changes in between, that is an error, so no
result mixes rows of the old file with rows of the new one. A file holds one run: besides the schema, its footer has
``dstbench`` (`Run.meta`), ``dstbench.cuts`` and ``dstbench.gold`` (`Run.fingerprint`), each as JSON. `io.parquet`
checks its bytes when it is opened.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from dstbench.errors import DstbenchError, UsageError
from dstbench.io import parquet
from dstbench.io.files import File
from dstbench.io.parquet import Stamp, reading, stamp_of
from dstbench.readers.frames import COUNTS
from dstbench.runs.rules import check_long, conform_long
from dstbench.schema.core import SCHEMA_VERSION
from dstbench.schema.record import Record
from dstbench.tables import collect

# A row group ends at the first dialogue boundary after this many rows. Each group has its own dictionaries (with groups
# of 65,536 rows, a tenth of the file); larger groups do not decode faster, and scoring reads one group at a time.
_ROW_GROUP: Final = 393_216


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
    # What scoring keeps of a small run (`scoring.partitions`); copies begin without it.
    kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "kept": {}}  # codes hold in one process only

    def need_states(self, what: str) -> None:
        """Refuse a run that holds only marks of which slots are right, and no states.

        Args:
            what: What is computed from states, in the plural.

        Raises:
            UsageError: The run has no states.
        """
        if only := self.meta.get("only"):
            fault = f"{self.name}: it holds no states, and {what} cannot be computed from it"
            raise UsageError(fault, hint=f"`dstbench score` with -m {','.join(only)}")

    def read(self, table: pl.LazyFrame | None = None) -> pl.DataFrame:
        """The rows, or the result of a query.

        Args:
            table: A query over `Run.table`; None: all rows.

        Returns:
            Schema `LONG`, sorted; or what the query selects.

        Raises:
            DstbenchError: The rows cannot be read or are damaged, or the file has changed since it was opened.
        """
        self.check()
        try:
            with reading(self.name):
                return collect(self.table if table is None else table)
        finally:
            self.check()

    def part(self, start: int, rows: int) -> pl.DataFrame:
        """The rows from one cut to another; see `read`.

        Args:
            start: The first row, one of `cuts`.
            rows: Number of rows, up to another of `cuts`.

        Returns:
            Schema `LONG`, sorted.
        """
        return self.read(self.table.slice(start, rows))

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
            hint = "run it again when nothing writes the file any more"
            raise DstbenchError("the file was replaced or changed while it was read", file=self.path, hint=hint)


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
    """The run in a Parquet file that dstbench wrote, whose rows are not read yet; None: another program wrote it.

    Of a file that was edited, or that an early version wrote, the rows are read and checked.
    """
    path, stamp, table, texts, is_sealed = parquet.scan(file)
    try:
        meta, cuts, gold = json.loads(texts[METADATA]), json.loads(texts[CUTS]), json.loads(texts.get(GOLD, '"0"'))
        version = meta.get("schema_version", SCHEMA_VERSION)
        is_known = version in range(1, SCHEMA_VERSION + 1)
        if is_known and not (
            isinstance(meta["missing"], str)
            and meta.get("frames", {}).keys() in (set(), {*COUNTS})
            and all(type(number) is int and number >= 0 for number in meta["coverage"].values())
        ):
            return None
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):  # anyone may have edited these texts
        return None
    if not is_known:
        raise file.error(
            f"its long table has schema version {version}; this dstbench reads up to {SCHEMA_VERSION}",
            "it needs a newer dstbench; or convert it again with this one",
        )
    if is_sealed:
        return Run(name, table, meta, tuple(cuts), path=path, stamp=stamp, fingerprint=int(gold, 16) or None)
    with reading(file.name):
        rows = collect(conform_long(table, source=file.name))
    sizes = check_long(rows, source=file.name)
    return in_memory(name, rows, {**meta, "coverage": {**meta["coverage"], **sizes}})
