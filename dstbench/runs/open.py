"""Opens whatever the user has as runs, scans runs, and writes them.

A run is one model on one dataset: one long table. It may come from a Parquet file that dstbench wrote, a native
prediction file, a frame, or states in memory; this module makes a `Run` of each.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeAlias, TypedDict

import polars as pl

from dstbench.errors import DstbenchError, UsageError, first_repeated, warn
from dstbench.io.files import File
from dstbench.readers.frames import IS_FRAME, count_frames
from dstbench.readers.states import States, merge_states, only_split, warn_of_notes
from dstbench.runs.align import check_missing, from_long, report_unknown_slots, to_long
from dstbench.runs.frames import states_only
from dstbench.runs.parquet import ForeignError, fits, read_footer, write_table
from dstbench.runs.rules import check_long, conform_long
from dstbench.runs.run import UNREADABLE, Run, collect, run_meta, stamp_of, unreadable
from dstbench.schema.core import SCHEMA_VERSION
from dstbench.typing import Missing

#: The data that dstbench accepts: a path, several paths (one run each), a frame (Polars, or anything with
#: ``__arrow_c_stream__``) with the long table's columns, a list of states, opened runs, or a mapping from run name to
#: any of these.
Data: TypeAlias = Any

_LOG: Final = logging.getLogger(__name__)
# A row group ends at the first dialogue boundary after this many rows. Each group has its own dictionaries (with groups
# of 65,536 rows, a tenth of the file); larger groups do not decode faster, and scoring reads one group at a time.
_ROW_GROUP: Final = 393_216


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
    write_table(path, run.read(), run.meta, run.cuts)


class Reading(TypedDict, total=False):
    """How data are read: keywords that functions pass on to `open_runs`, which describes them."""

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
        gold: Gold states that replace those in the data, or that the data lack: any kind of `Data` with one run; None:
            they are in the data.
        format: Native format of the files; None: detect it by content.
        names: Names of the runs, in order; None: names of the files or folders without ending, with as many parent
            folders as tell them apart.
        missing: What to do with gold turns that have no prediction: ``error`` (None is the same), ``wrong``,
            ``empty``, ``intersect``.
        split: The split to score, if gold has several; None: the one that has predictions.

    Returns:
        The runs, in the order of the data.

    Raises:
        DstbenchError: The data cannot be read; the message says what is wrong, where, and what to do.
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
    if repeated := first_repeated(name for name, _ in parts):
        raise UsageError(f"two runs are called {repeated!r}", hint="give each a name of its own")
    for _, item in parts:  # check all before reading the first, which may take long
        if isinstance(item, (str, PathLike)):
            File(str(item)).check()
    gold_states = None if gold is None else open_gold(gold, split)
    runs = []
    for number, (name, item) in enumerate(parts):
        _LOG.info("reading %s", name, extra={"done": number, "of": len(parts)})
        runs.append(_open(name, item, gold_states, format, missing, split=split))
    _LOG.info("%d runs have been read", len(parts), extra={"done": len(parts), "of": len(parts)})
    return runs


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
        gold: Gold states, as in `open_runs`.
        format: Native format of the files; None: detect it.
        missing: What to do with gold turns that have no prediction.
        split: The split to score, if gold has several.
    """
    gold_states = None if gold is None else open_gold(gold, split)
    if len(files) == 1:
        return _open(name, files[0], gold_states, format, missing, split=split)
    states = merge_states([_read(File(str(path)), format) for path in files])
    states = of_split(states, split, gold_states)
    return _aligned(name, states, gold_states, missing, files=[str(path) for path in files])


def open_gold(gold: Data, split: str | None = None) -> States:
    """The states of the data that hold gold: a path, a frame, or states in memory.

    Args:
        gold: Any kind of `Data` with one run.
        split: The split to keep; None: all.

    Raises:
        DstbenchError: It cannot be read, or it has several runs.
    """
    parts = named_parts(gold)
    if len(parts) != 1:
        raise UsageError(f"gold comes from one place, not from {len(parts)}")
    name, item = parts[0]
    loaded = _load("gold" if name == "states" else name, item, split=split)
    if isinstance(item, (str, PathLike)):
        if isinstance(loaded, States):  # they are already of that split
            warn_of_notes(loaded)
            return loaded
        name = str(item)
    states = from_long(loaded.read(), name) if isinstance(loaded, Run) else loaded
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
        gold: Gold states, as in `open_runs`.
        format: Native format; None: detect it.
        names: Names of the runs.
        missing: What to do with gold turns that have no prediction.
        split: The split to score, if gold has several.

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
    """(name, data) of each run or dataset in `data`."""
    if isinstance(data, Mapping):
        return [(str(name), item) for name, item in data.items()]
    if isinstance(data, (str, PathLike)):
        data = [data]
    if _is_frame(data):
        return _named_frames(data)
    if isinstance(data, Sequence) and data and all(isinstance(item, (str, PathLike)) for item in data):
        return _named_paths([Path(item) for item in data])
    if isinstance(data, Sequence) and data and all(isinstance(item, Run) for item in data):
        return [(run.name, run) for run in data]
    return [("states", data)]


def _named_paths(paths: list[Path]) -> list[tuple[str, Path]]:
    """Each path with its title, preceded by as many parent folders as tell the paths apart."""
    parts = [[*path.absolute().parts[:-1], File(path).title] for path in paths]
    for depth in range(1, max(map(len, parts))):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            break
    return list(zip(names, paths, strict=True))


def _is_frame(data: Any) -> bool:
    return isinstance(data, pl.LazyFrame) or hasattr(data, "__arrow_c_stream__")


def _named_frames(data: Any) -> list[tuple[str, pl.LazyFrame]]:
    """The frame of each run in a column `run`; without one, the whole frame is the run `table`."""
    frame = (pl.DataFrame(data) if not isinstance(data, (pl.DataFrame, pl.LazyFrame)) else data).lazy()
    if "run" not in frame.collect_schema():
        return [("table", frame)]
    names = frame.select(pl.col("run").cast(pl.String).unique(maintain_order=True)).collect().to_series()
    return [(name, frame.filter(pl.col("run").cast(pl.String) == name)) for name in names]


def _load(name: str, item: Any, form: str | None = None, split: str | None = None) -> Run | States:
    """The run, if the data are a long table; else the states."""
    if isinstance(item, (str, PathLike)):
        file = File(str(item))
        if not file.is_parquet:
            return _read(file, form, split)
        if form is not None:
            raise file.error(f"a Parquet file, not one of format {form}", "omit --from: it is a long table")
        return _parquet(name, file)
    if isinstance(item, Run):
        return replace(item, name=name)
    if _is_frame(item):
        frames = _named_frames(item)
        if len(frames) != 1:
            raise UsageError(
                f"a frame with {len(frames)} runs, where there must be one", hint="filter it by its column run"
            )
        return _checked(name, frames[0][1], name)
    if not isinstance(item, Sequence) or isinstance(item, (str, bytes)):
        hint = "give a path, a frame, or a list of states; see dstbench.scan"
        raise UsageError(f"{type(item).__name__} is no data", hint=hint)
    from dstbench.readers.jsonl import from_memory

    return from_memory(item, name)


def _read(file: File, form: str | None, split: str | None = None) -> States:
    from dstbench.readers import Source, read  # loads many modules, which long tables do not need

    return read(Source.of(file), form, split)


def _open(name: str, item: Any, gold: States | None, form: str | None, missing: Missing, *, split: str | None) -> Run:
    run = _load(name, item, form)
    if isinstance(run, States):
        return _aligned(name, of_split(run, split, gold), gold, missing)
    if split is not None and gold is None:
        raise UsageError(f"{name}: a long table has no splits", hint="omit --split, or give --gold")
    before = run.meta["missing"]
    if gold is not None:
        run = _aligned(name, from_long(run.read(), name), gold, missing)
        # Turns that were scored as empty are now turns with an empty state: the signature must still say so.
        return replace(run, meta={**run.meta, "missing": f"{before}+{missing}"}) if before == "empty" else run
    if missing not in ("error", before):
        warn(f"--missing {missing} changes nothing; it is a long table, made with --missing {before}", file=name)
    return run


def of_split(states: States, split: str | None, gold: States | None) -> States:
    """A run's states of one split; states without splits are kept if gold is given, as it has only that split."""
    return states if split is None or (gold is not None and states.splits is None) else only_split(states, split)


def _parquet(name: str, file: File) -> Run:
    """The run in a Parquet file: scanned as it is if dstbench wrote the file, otherwise sorted and checked."""
    path = str(file.path.absolute())  # the working folder may change before the file is read
    try:
        stamp = stamp_of(path)
        table = pl.scan_parquet(path, glob=False)
        conformed = conform_long(table, source=file.name)
        footer = read_footer(file.path)
    except UNREADABLE as error:
        raise unreadable(file.name, error) from None
    except ForeignError:
        return _checked(name, table, file.name)
    version = footer.meta.get("schema_version", SCHEMA_VERSION)
    if version not in range(1, SCHEMA_VERSION + 1):
        raise file.error(
            f"its long table has schema version {version}; this dstbench reads up to {SCHEMA_VERSION}",
            "it needs a newer dstbench; or convert it again with this one",
        )
    height = collect(table.select(pl.len()), file.name).item()
    if not fits(footer, height=height, size=stamp.size):  # the table was edited later
        return _checked(name, table, file.name)
    meta, cuts, sums, gold = footer
    fingerprint = None if gold is None or sums is None else int(gold, 16)  # without checksums, the rows may be others
    return Run(name, conformed, meta, cuts, path=path, stamp=stamp, checksums=sums, fingerprint=fingerprint)


def _checked(name: str, frame: pl.LazyFrame, source: str) -> Run:
    """A run from any table with the long table's columns, which is sorted and checked."""
    table = collect(conform_long(frame, source=source).sort("dialogue", "slot", "turn"), source)
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
    of_frames = table.filter(IS_FRAME)
    lacks_prediction = pl.col("slot").is_null() & pl.col("pred").is_not_null()
    meta = run_meta(
        name,
        count_frames(of_frames["gold"], of_frames["pred"]) if of_frames.height else None,
        files=[source],
        format="long table",
        gold=None,
        missing="wrong" if table.select(lacks_prediction.any()).item() else "error",
        coverage={"turns": turns.height, "dialogues": turns["dialogue"].n_unique()},
    )
    return _in_memory(name, table, meta)


def _aligned(
    name: str, states: States, gold: States | None, missing: Missing, *, files: Sequence[str] | None = None
) -> Run:
    aligned = to_long(states, gold, missing=missing)
    meta = run_meta(
        name,
        aligned.frames,
        files=list(files or [states.source]),
        format=states.format,
        gold=gold and gold.source,
        missing=missing,
        coverage=aligned.coverage,
        **({"only": list(states.only)} if states.only else {}),
    )
    return _in_memory(name, aligned.table, meta)


def only_dialogues(run: Run, dialogues: pl.Series) -> Run:
    """A run with only these of its dialogues, in memory."""
    table = run.read(run.table.filter(pl.col("dialogue").is_in(dialogues.implode())))
    return replace(_in_memory(run.name, table, run.meta), derive=run.derive)


def _in_memory(name: str, table: pl.DataFrame, meta: Mapping[str, Any]) -> Run:
    return Run(name, table.lazy(), meta, cuts_of(table))


def cuts_of(table: pl.DataFrame, rows: int | None = None) -> tuple[int, ...]:
    """Where to cut a long table: see `cuts_at`."""
    begins = table.select(pl.arg_where(pl.col("dialogue") != pl.col("dialogue").shift(1))).to_series()
    return cuts_at(begins, table.height, rows)


def cuts_at(begins: pl.Series, height: int, rows: int | None = None) -> tuple[int, ...]:
    """Where to cut a table: at 0, at its end, and, after `rows` rows each time, where the next dialogue begins.

    Args:
        begins: The first row of each dialogue, except the first dialogue.
        height: Number of the table's rows.
        rows: Smallest number of rows between cuts; None: that of a row group.

    >>> cuts_at(pl.Series([3, 5, 8, 9]), 12, rows=4)
    (0, 5, 9, 12)
    """
    cuts = [0]
    while (at := begins.search_sorted(cuts[-1] + (rows or _ROW_GROUP))) < len(begins):
        cuts.append(int(begins[int(at)]))
    return (*cuts, height)
