"""Runs: long tables on disk and in memory, written, opened and scanned.

A run is one model on one dataset: one long table. It comes from a Parquet file that dstbench wrote, from a native
prediction file, from a frame, or from states in memory; whatever it comes from, it leaves here as a `Run`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import polars as pl

from dstbench.align import Aligned, Missing, from_long, to_long
from dstbench.errors import DstbenchError, UsageError
from dstbench.files import replacing
from dstbench.readers import Source, read
from dstbench.readers.jsonl import from_memory
from dstbench.schema import LONG, SCHEMA_VERSION, check_long, conform_long

if TYPE_CHECKING:
    from dstbench.states import States

#: What dstbench takes for data: a path, several paths (one run each), a frame (Polars, or anything with
#: ``__arrow_c_stream__``) with the long table's columns, a list of states, or a mapping from run name to any of these.
Data: TypeAlias = Any

_METADATA: Final = "dstbench"
# Rows after which a row group ends, at the next dialogue: large enough to compress, small enough to be a partition.
_ROW_GROUP: Final = 262_144
_SORTED: Final = ("dialogue", "slot", "turn")


@dataclass(frozen=True)
class Run:
    """One model on one dataset.

    Attributes:
        name: What tables call it.
        table: The long table, schema `LONG`, sorted.
        meta: What was read and how: ``schema_version``, ``run``, ``dataset``, ``files``, ``format``, ``missing``,
            ``coverage`` (counts of turns and dialogues).
    """

    name: str
    table: pl.LazyFrame
    meta: Mapping[str, Any]


def write_long(run: Run, path: str | PathLike[str]) -> None:
    """Write a run as Parquet: sorted, zstd, row groups that end at dialogue boundaries, `Run.meta` in the footer.

    The same run gives the same bytes. The file appears under its name when it is complete, or not at all.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 (0.2 s, and only writing needs it)

    table = run.table.collect()
    starts = table.select(pl.arg_where(pl.col("dialogue") != pl.col("dialogue").shift(1))).to_series().to_list()
    cuts, last = [0], 0
    for start in starts:
        if start - last >= _ROW_GROUP:
            cuts.append(start)
            last = start
    arrow = table.to_arrow()
    meta = {**(arrow.schema.metadata or {}), _METADATA: json.dumps(dict(run.meta), ensure_ascii=False, sort_keys=True)}
    schema = arrow.schema.with_metadata(meta)
    with (
        replacing(Path(path)) as part,
        pq.ParquetWriter(part, schema, compression="zstd", use_dictionary=True) as writer,
    ):
        for start, end in zip(cuts, [*cuts[1:], table.height], strict=True):
            writer.write_table(arrow.slice(start, end - start), row_group_size=max(end - start, 1))


def open_runs(
    data: Data,
    *,
    gold: Data | None = None,
    format: str | None = None,  # noqa: A002 (the field's word)
    names: Sequence[str] | None = None,
    missing: Missing = "error",
) -> list[Run]:
    """Runs from whatever the user has.

    Args:
        data: See `Data`.
        gold: Gold states, where they are not inside the data or shall be replaced: the same kinds, one run's worth.
        format: Native format of the files; None: find out by content.
        names: Names of the runs, in order; None: the files' stems, with parent folders where stems collide.
        missing: What to do with gold turns that have no prediction: ``error``, ``wrong``, ``empty``, ``intersect``.

    Raises:
        DstbenchError: Something cannot be read; the message says what, where and what to do.
    """
    parts = _parts(data)
    if names is not None:
        if len(names) != len(parts):
            raise UsageError(f"{len(names)} names for {len(parts)} runs")
        parts = list(zip(names, (item for _, item in parts), strict=True))
    repeated = {name for name, _ in parts if [n for n, _ in parts].count(name) > 1}
    if repeated:
        raise UsageError(f"two runs are called {sorted(repeated)[0]!r}", hint="give each a name of its own")
    gold_states = None if gold is None else _gold(gold)
    return [_open(name, item, gold_states, format, missing) for name, item in parts]


def merge(files: Sequence[str | PathLike[str]], format: str | None = None) -> States:  # noqa: A002
    """The states of several native files that are one run, such as the shards of a dataset."""
    from dstbench.states import merge_states  # noqa: PLC0415

    return merge_states([read(Source(str(path)), format) for path in files])


def from_states(
    name: str, states: States, gold: States | None = None, *, missing: Missing = "error"
) -> Run:
    """A run from states, aligned with gold."""
    aligned = to_long(states, gold, missing=missing)
    return _run(
        name, aligned, files=[states.source], format=states.format, dataset=gold and gold.source, missing=missing
    )


def scan(
    data: Data,
    *,
    gold: Data | None = None,
    format: str | None = None,  # noqa: A002
    names: Sequence[str] | None = None,
    missing: Missing = "error",
) -> pl.LazyFrame:
    """Scan runs as one long table with a `run` column in front.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these (see `open_runs`).
        gold: Gold states, where they are not inside.
        format: Native format; None: find out.
        names: Names of the runs.
        missing: What to do with gold turns that have no prediction.

    Returns:
        (run: String, dialogue, turn, slot, gold, pred), sorted by run as given, dialogue, slot, turn.

    >>> scan([{"dialogue_id": "D1", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {}}]).collect().row(0)
    ('states', 'D1', 0, 'hotel-area', 'north', None)
    """
    runs = open_runs(data, gold=gold, format=format, names=names, missing=missing)
    return pl.concat([run.table.select(pl.lit(run.name).alias("run"), pl.all()) for run in runs])


def _parts(data: Data) -> list[tuple[str, Any]]:
    """(name, one run's data) for each run in `data`."""
    if isinstance(data, Mapping):
        return [(str(name), item) for name, item in data.items()]
    if isinstance(data, (str, PathLike)):
        data = [data]
    if _is_frame(data):
        return _frames(data)
    if isinstance(data, Sequence) and data and all(isinstance(item, (str, PathLike)) for item in data):
        return _named([Path(item) for item in data])
    return [("states", data)]


def _named(paths: list[Path]) -> list[tuple[str, Path]]:
    """Each path with its stem, and as many parent folders as it takes to tell them apart."""
    depth = 1
    while True:
        names = ["/".join([*path.absolute().parts[1:-1][len(path.absolute().parts) - 1 - depth :], path.stem]) for path in paths]
        if len(set(names)) == len(names) or depth >= max(len(path.absolute().parts) for path in paths):
            return list(zip(names, paths, strict=True))
        depth += 1


def _is_frame(data: Any) -> bool:
    return isinstance(data, pl.LazyFrame) or hasattr(data, "__arrow_c_stream__")


def _frames(data: Any) -> list[tuple[str, pl.LazyFrame]]:
    frame = (pl.DataFrame(data) if not isinstance(data, (pl.DataFrame, pl.LazyFrame)) else data).lazy()
    if "run" not in frame.collect_schema():
        return [("table", frame)]
    runs = frame.select(pl.col("run").cast(pl.String).unique(maintain_order=True)).collect().to_series()
    return [(run, frame.filter(pl.col("run").cast(pl.String) == run)) for run in runs]


def _open(name: str, item: Any, gold: States | None, form: str | None, missing: Missing) -> Run:
    if _is_frame(item):
        run = _foreign(name, _frames(item)[0][1], name)
    elif isinstance(item, (str, PathLike)):
        source = Source(str(item))
        if form is not None or source.kind != "parquet":
            return from_states(name, read(source, form), gold, missing=missing)
        run = _parquet(name, source)
    elif isinstance(item, Sequence):
        return from_states(name, from_memory(item, name), gold, missing=missing)
    else:
        raise UsageError(
            f"{type(item).__name__} is no data", hint="give a path, a frame, or a list of states; see dstbench.scan"
        )
    if gold is None:
        return run
    return from_states(name, from_long(run.table.collect(), name), gold, missing=missing)


def _gold(gold: Data) -> States:
    parts = _parts(gold)
    if len(parts) != 1:
        raise UsageError(f"gold comes from one place, not from {len(parts)}")
    name, item = parts[0]
    if isinstance(item, (str, PathLike)) and Source(str(item)).kind != "parquet":
        return read(Source(str(item)))
    if _is_frame(item) or isinstance(item, (str, PathLike)):
        return from_long(_open(name, item, None, None, "error").table.collect(), str(item if isinstance(item, (str, PathLike)) else name))
    return from_memory(item, "gold")


def _parquet(name: str, source: Source) -> Run:
    """A Parquet file: one that dstbench wrote is taken at its word, any other is sorted and checked."""
    try:
        table = pl.scan_parquet(source.path)
        metadata = pl.read_parquet_metadata(source.path)
        conformed = conform_long(table, source=source.name)
    except pl.exceptions.PolarsError as error:
        raise source.error(
            f"a damaged Parquet file: {str(error).splitlines()[0]}", "write it again (dstbench convert)"
        ) from None
    if _METADATA not in metadata:
        return _foreign(name, table, source.name)
    meta = json.loads(metadata[_METADATA])
    version = meta.get("schema_version")
    if version != SCHEMA_VERSION:
        raise source.error(
            f"its long table has schema version {version}; this dstbench reads {SCHEMA_VERSION}", "convert it again"
        )
    return Run(name, conformed, meta)


def _foreign(name: str, frame: pl.LazyFrame, source: str) -> Run:
    table = conform_long(frame, source=source).sort(_SORTED).collect()
    broken = check_long(table.lazy())
    if broken.height:
        rule, rows, dialogue, turn, slot = broken.row(0)
        raise DstbenchError(
            f"not a long table: {rule}, in {rows} rows, the first of them",
            file=source,
            dialogue=dialogue,
            turn=turn,
            slot=slot,
            hint="`dstbench convert` and dstbench.to_long write tables that keep the rules",
        )
    if table.is_empty():
        raise DstbenchError("no dialogue in the table", file=source)
    turns = table.select("dialogue", "turn").unique()
    coverage = {"turns": turns.height, "dialogues": turns["dialogue"].n_unique()}
    return _run(name, Aligned(table, coverage), files=[source], format="long table", dataset=None, missing="error")


def _run(name: str, aligned: Aligned, **read: Any) -> Run:
    meta = {"schema_version": SCHEMA_VERSION, "run": name, **read, "coverage": aligned.coverage}
    return Run(name, aligned.table.lazy(), meta)


assert tuple(LONG.columns)[:1] == _SORTED[:1]  # noqa: S101
