"""Runs: long tables on disk and in memory, written, opened and scanned.

A run is one model on one dataset: one long table. It comes from a Parquet file that dstbench wrote, from a native
prediction file, from a frame, or from states in memory; whatever it comes from, it leaves here as a `Run`.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict

import polars as pl

from dstbench.errors import DstbenchError, DstbenchWarning, UsageError
from dstbench.io.files import File
from dstbench.readers.frames import IS_FRAME, count_frames
from dstbench.readers.states import States, merge_states, only_split
from dstbench.runs.align import Aligned, check_missing, from_long, report_unknown_slots, to_long
from dstbench.runs.frames import states_only
from dstbench.runs.parquet import fits, read_footer, write_groups
from dstbench.runs.rules import check_long, conform_long
from dstbench.runs.run import UNREADABLE, Run, collect, stamp_of, unreadable
from dstbench.schema.core import SCHEMA_VERSION

if TYPE_CHECKING:
    from dstbench.typing import Missing

#: What dstbench takes for data: a path, several paths (one run each), a frame (Polars, or anything with
#: ``__arrow_c_stream__``) with the long table's columns, a list of states, opened runs, or a mapping from run name to
#: any of these.
Data: TypeAlias = Any

_LOG: Final = logging.getLogger(__name__)
# Rows after which a row group ends, at the next dialogue. Each has dictionaries of its own, which cost a tenth of the
# whole in groups of 65,536; larger ones than this are decoded no faster, and a partition that is scored is one group.
_ROW_GROUP: Final = 393_216
_SORTED: Final = ("dialogue", "slot", "turn")


def write_long(run: Run, path: str | PathLike[str]) -> None:
    """Write a run as Parquet: sorted, zstd, row groups that end at dialogue boundaries, `Run.meta` in the footer.

    The same run gives the same bytes. The file appears under its name when it is complete, or not at all.

    Args:
        run: The run.
        path: The file to write.

    Raises:
        DstbenchError: The file cannot be written.
    """
    _LOG.info("writing %s (%s rows)", path, f"{run.cuts[-1]:,}")
    table = run.read()
    write_groups(path, (table.slice(start, end - start) for start, end in pairwise(run.cuts)), run.meta, run.cuts)


class Reading(TypedDict, total=False):
    """How data are read: keywords that functions with `data` take and hand on to `open_runs`, which explains them."""

    gold: Data | None
    format: str | None
    names: Sequence[str] | None
    missing: Missing | None
    split: str | None


def open_runs(
    data: Data,
    *,
    gold: Data | None = None,
    format: str | None = None,  # noqa: A002 (the field's word)
    names: Sequence[str] | None = None,
    missing: Missing | None = "error",
    split: str | None = None,
) -> list[Run]:
    """Runs from whatever the user has.

    Args:
        data: See `Data`.
        gold: Gold states, where they are not inside the data or shall be replaced: the same kinds, one run's worth.
        format: Native format of the files; None: find out by content.
        names: Names of the runs, in order; None: the files' (or folders') names without ending, with parent folders
            where they collide.
        missing: What to do with gold turns that have no prediction: ``error`` (None is the same), ``wrong``,
            ``empty``, ``intersect``.
        split: The split to score, where gold has several; None: the one in which there are predictions.

    Returns:
        The runs, in the order of the data.

    Raises:
        DstbenchError: Something cannot be read; the message says what, where and what to do.
    """
    missing = missing or "error"
    check_missing(missing)
    parts = named_parts(data)
    if not parts:
        raise UsageError("no run to open", hint="give at least one file, table or list of states")
    if names is not None:
        if len(names) != len(parts):
            raise UsageError(f"{len(names)} names for {len(parts)} runs", hint="one name for each run, in their order")
        parts = list(zip(names, (item for _, item in parts), strict=True))
    repeated = {name for name, _ in parts if [n for n, _ in parts].count(name) > 1}
    if repeated:
        raise UsageError(f"two runs are called {sorted(repeated)[0]!r}", hint="give each a name of its own")
    for _, item in parts:  # before the first of them takes its time
        if isinstance(item, (str, PathLike)):
            File(str(item)).check()
    gold_states = None if gold is None else open_gold(gold, split)
    return [_open(name, item, gold_states, format, missing, split=split) for name, item in parts]


def read_run(
    name: str,
    files: Sequence[str | PathLike[str]],
    *,
    gold: Data | None = None,
    format: str | None = None,  # noqa: A002
    missing: Missing = "error",
    split: str | None = None,
) -> Run:
    """One run from one file, or from several native ones, such as the shards of a dataset.

    Args:
        name: Name of the run.
        files: Native files, or one long table.
        gold: Gold states, where they are not inside.
        format: Native format of the files; None: find out.
        missing: What to do with gold turns that have no prediction.
        split: The split to score, where gold has several.
    """
    gold_states = None if gold is None else open_gold(gold, split)
    if len(files) == 1:
        return _open(name, files[0], gold_states, format, missing, split=split)
    states = merge_states([_read(File(str(path)), format) for path in files])
    states = of_split(states, split, gold_states)
    return _aligned(name, states, gold_states, missing, files=[str(path) for path in files])


def open_gold(gold: Data, split: str | None = None) -> States:
    """The states of whatever holds the gold (of one split of it): a path, a frame, or states in memory.

    Raises:
        DstbenchError: It cannot be read, or it is more than one run's worth.
    """
    parts = named_parts(gold)
    if len(parts) != 1:
        raise UsageError(f"gold comes from one place, not from {len(parts)}")
    name, item = parts[0]
    if isinstance(item, (str, PathLike)):
        file = File(str(item))
        if not file.is_parquet:
            states = _read(file, split=split)
            for note in states.notes:
                warnings.warn(note, DstbenchWarning, stacklevel=2)
            return states
        states = from_long(_parquet(name, file).read(), file.name)
    elif _is_frame(item):
        states = from_long(_foreign(name, _only(item), name).table.collect(), name)
    else:
        states = _from_memory(item, "gold")
    return states if split is None else only_split(states, split)


def scan(
    data: Data,
    *,
    gold: Data | None = None,
    format: str | None = None,  # noqa: A002
    names: Sequence[str] | None = None,
    missing: Missing = "error",
    split: str | None = None,
) -> pl.LazyFrame:
    """Scan runs as one long table with a `run` column in front.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these (see `open_runs`).
        gold: Gold states, where they are not inside.
        format: Native format; None: find out.
        names: Names of the runs.
        missing: What to do with gold turns that have no prediction.
        split: The split to score, where gold has several.

    Returns:
        (run: String, dialogue, turn, slot, gold, pred), sorted by run as given, dialogue, slot, turn.

    Raises:
        DstbenchError: Data cannot be used.

    >>> scan([{"dialogue_id": "D1", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {}}]).collect().row(0)
    ('states', 'D1', 0, 'hotel-area', 'north', None)
    """
    runs = open_runs(data, gold=gold, format=format, names=names, missing=missing, split=split)
    return pl.concat([run.table.select(pl.lit(run.name).alias("run"), pl.all()) for run in runs])


def named_parts(data: Data) -> list[tuple[str, Any]]:
    """(name, one run's or one dataset's data) for each of those in `data`."""
    if isinstance(data, Mapping):
        return [(str(name), item) for name, item in data.items()]
    if isinstance(data, (str, PathLike)):
        data = [data]
    if _is_frame(data):
        return _frames(data)
    if isinstance(data, Sequence) and data and all(isinstance(item, (str, PathLike)) for item in data):
        return _named([Path(item) for item in data])
    if isinstance(data, Sequence) and data and all(isinstance(item, Run) for item in data):
        return [(run.name, run) for run in data]
    return [("states", data)]


def _named(paths: list[Path]) -> list[tuple[str, Path]]:
    """Each path with its title, and as many parent folders as it takes to tell them apart."""
    parts = [[*path.absolute().parts[:-1], File(path).title] for path in paths]
    for depth in range(1, max(map(len, parts))):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            break
    return list(zip(names, paths, strict=True))


def _is_frame(data: Any) -> bool:
    return isinstance(data, pl.LazyFrame) or hasattr(data, "__arrow_c_stream__")


def _frames(data: Any) -> list[tuple[str, pl.LazyFrame]]:
    frame = (pl.DataFrame(data) if not isinstance(data, (pl.DataFrame, pl.LazyFrame)) else data).lazy()
    if "run" not in frame.collect_schema():
        return [("table", frame)]
    runs = frame.select(pl.col("run").cast(pl.String).unique(maintain_order=True)).collect().to_series()
    return [(run, frame.filter(pl.col("run").cast(pl.String) == run)) for run in runs]


def _only(frame: Any) -> pl.LazyFrame:
    runs = _frames(frame)
    if len(runs) != 1:
        raise UsageError(f"a frame with {len(runs)} runs where one is meant", hint="filter it by its column run")
    return runs[0][1]


def _open(name: str, item: Any, gold: States | None, form: str | None, missing: Missing, *, split: str | None) -> Run:
    if isinstance(item, (str, PathLike)):
        file = File(str(item))
        if not file.is_parquet:
            return _aligned(name, of_split(_read(file, form), split, gold), gold, missing)
        if form is not None:
            raise file.error(f"a Parquet file, not one of format {form}", "omit --from: it is a long table")
        run = _parquet(name, file)
    elif isinstance(item, Run):
        run = replace(item, name=name)
    elif _is_frame(item):
        run = _foreign(name, _only(item), name)
    else:
        return _aligned(name, of_split(_from_memory(item, name), split, gold), gold, missing)
    if split is not None and gold is None:
        raise UsageError(f"{name}: a long table knows no splits", hint="omit --split, or give --gold")
    before = run.meta["missing"]
    if gold is not None:
        # What was scored as empty is there as empty turns: the signature must go on to say so.
        again = _aligned(name, from_long(run.read(), name), gold, missing)
        return replace(again, meta={**again.meta, "missing": f"{before}+{missing}"}) if before == "empty" else again
    if missing not in ("error", before):
        warnings.warn(
            f"{name}: --missing {missing} changes nothing; it is a long table, made with --missing {before}",
            DstbenchWarning,
            stacklevel=2,
        )
    return run


def of_split(states: States, split: str | None, gold: States | None) -> States:
    """A run's states of one split; where gold, of that split already, is beside them, they need not know of splits."""
    return states if split is None or (gold is not None and states.splits is None) else only_split(states, split)


def _parquet(name: str, file: File) -> Run:
    """A Parquet file: one that dstbench wrote is taken at its word, any other is sorted and checked."""
    path = str(file.path.absolute())  # whoever reads it later may be somewhere else
    try:
        stamp = stamp_of(path)
        table = pl.scan_parquet(path, glob=False)
        footer = read_footer(file.path)
        conformed = conform_long(table, source=file.name)
    except UNREADABLE as error:
        raise unreadable(file.name, error) from None
    if footer is None:  # not ours, or edited since
        return _foreign(name, table, file.name)
    version = footer.meta.get("schema_version", SCHEMA_VERSION)
    if version not in range(1, SCHEMA_VERSION + 1):
        raise file.error(
            f"its long table has schema version {version}; this dstbench reads up to {SCHEMA_VERSION}",
            "it needs a newer dstbench; or convert it again with this one",
        )
    height = collect(table.select(pl.len()), file.name).item()
    if not fits(footer, height=height, size=stamp.size):  # edited since
        return _foreign(name, table, file.name)
    meta, cuts, sums, gold = footer
    fingerprint = None if gold is None or sums is None else int(gold, 16)  # as sums say that it is of these rows
    return Run(name, conformed, meta, cuts, path=path, stamp=stamp, checksums=sums, fingerprint=fingerprint)


def _foreign(name: str, frame: pl.LazyFrame, source: str) -> Run:
    table = collect(conform_long(frame, source=source).sort(_SORTED), source)
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
    report_unknown_slots(source, states_only(table))
    turns = table.select("dialogue", "turn").unique()
    coverage = {"turns": turns.height, "dialogues": turns["dialogue"].n_unique()}
    of_frames = table.filter(IS_FRAME)
    frames = count_frames(of_frames["gold"], of_frames["pred"]) if of_frames.height else None
    marked = table.select((pl.col("slot").is_null() & pl.col("pred").is_not_null()).any()).item()
    missing = "wrong" if marked else "error"
    return _run(
        name, Aligned(table, coverage, frames=frames), files=[source], format="long table", gold=None, missing=missing
    )


def _read(file: File, form: str | None = None, split: str | None = None) -> States:
    from dstbench.readers import Source, read  # many modules, and a long table needs none of them

    return read(Source.of(file), form, split)


def _from_memory(item: Any, name: str) -> States:
    if not isinstance(item, Sequence) or isinstance(item, (str, bytes)):
        raise UsageError(
            f"{type(item).__name__} is no data",
            hint="give a path, a frame, or a list of states; see dstbench.scan",
        )
    from dstbench.readers.jsonl import from_memory

    return from_memory(item, name)


def _aligned(
    name: str, states: States, gold: States | None, missing: Missing, *, files: Sequence[str] | None = None
) -> Run:
    aligned = to_long(states, gold, missing=missing)
    files = list(files or [states.source])
    only = {"only": list(states.only)} if states.only else {}
    return _run(name, aligned, files=files, format=states.format, gold=gold and gold.source, missing=missing, **only)


def _run(name: str, aligned: Aligned, **read: Any) -> Run:
    meta = run_meta(name, aligned.frames, coverage=aligned.coverage, **read)
    return Run(name, aligned.table.lazy(), meta, _cuts_of(aligned.table))


def _cuts_of(table: pl.DataFrame) -> tuple[int, ...]:
    begins = table.select(pl.arg_where(pl.col("dialogue") != pl.col("dialogue").shift(1))).to_series()
    return cuts_at(begins, table.height)


def only_dialogues(run: Run, dialogues: pl.Series) -> Run:
    """A run cut down to some of its dialogues, in memory."""
    table = run.read(run.table.filter(pl.col("dialogue").is_in(dialogues.implode())))
    return Run(run.name, table.lazy(), run.meta, _cuts_of(table), run.derive)


def run_meta(name: str, frames: Mapping[str, int] | None, **read: Any) -> dict[str, Any]:
    """A run's `Run.meta`: `read` is what was read and how; a table without rows of frames is of version 1."""
    if frames is None:
        return {"schema_version": 1, "run": name, **read}
    return {"schema_version": SCHEMA_VERSION, "run": name, **read, "frames": dict(frames)}


def cuts_at(begins: pl.Series, height: int, rows: int | None = None) -> tuple[int, ...]:
    """Where a table may be cut: at dialogues' beginnings, every so many rows or a little more; 0 and its end too."""
    cuts = [0]
    while (at := begins.search_sorted(cuts[-1] + (rows or _ROW_GROUP))) < len(begins):
        cuts.append(int(begins[int(at)]))
    return (*cuts, height)
