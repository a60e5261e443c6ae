"""Opens the user's data as runs, scans runs, and writes them.

A run is one model on one dataset: one long table. It may come from a Parquet file that dstbench wrote, a native
prediction file, a frame, or states in memory; this module makes a `Run` of each.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from os.path import realpath
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, Unpack

import polars as pl

from dstbench.errors import UsageError, first_repeated, warn
from dstbench.io.files import File, path_text
from dstbench.readers.options import AS_USUAL, Keys, ReadOptions
from dstbench.readers.states import States, only_split, warn_of_notes
from dstbench.runs.align import check_missing, from_long, gold_of, to_long
from dstbench.runs.load import SplitGold, are_shards, is_path, load, named_parts, renamed, split_gold
from dstbench.runs.run import Run, in_memory, write_table
from dstbench.schema.core import SCHEMA_VERSION
from dstbench.typing import Missing, Unreadable

if TYPE_CHECKING:
    from dstbench.readers import Format
    from dstbench.readers.renaming import NameMap

#: The data that dstbench accepts: a path, several paths (one run each), a frame (Polars, or anything with
#: ``__arrow_c_stream__``) with the long table's columns, a list of states, opened runs, or a mapping from run name to
#: any of these, or to several native files (a list of `Path`s) that are one run, such as shards.
Data: TypeAlias = Any


_LOG: Final = logging.getLogger(__name__)


def write_long(run: Run, path: str | PathLike[str]) -> None:
    """Write a run as Parquet: sorted, zstd, row groups that end at dialogue boundaries, `Run.meta` in the footer.

    The same run gives the same bytes. The file appears under its name when it is complete, or not at all.

    Args:
        run: The run.
        path: The file to write.

    Raises:
        DstbenchError: The file cannot be written.
        UsageError: It is not a run.
    """
    if not isinstance(run, Run):
        hint = "one of those that `dstbench.open_runs` returns: write_long(open_runs(data)[0], path)"
        raise UsageError(f"a run is written, not an object of type {type(run).__name__}", hint=hint)
    _LOG.info("writing %s (%s rows)", path, f"{run.cuts[-1]:,}")
    write_table(path, run.read(), run.meta, run.cuts)


class Reading(TypedDict, total=False):
    """Keyword arguments that functions pass on to `open_runs`, which describes them."""

    gold: Data | None
    format: str | Format | None
    names: Sequence[str] | None
    missing: Missing | None
    split: str | None
    keys: Mapping[str, str] | None
    slot_map: NameMap | None
    id_map: NameMap | None
    turns_from: int | None
    turn_step: int | None
    unreadable: Unreadable | None


def open_runs(
    data: Data,
    *,
    gold: Data | None = None,
    format: str | Format | None = None,  # noqa: A002 (the field's word)
    names: Sequence[str] | None = None,
    missing: Missing | None = "error",
    split: str | None = None,
    keys: Mapping[str, str] | None = None,
    slot_map: NameMap | None = None,
    id_map: NameMap | None = None,
    turns_from: int | None = None,
    turn_step: int | None = None,
    unreadable: Unreadable | None = None,
) -> list[Run]:
    """Open any kind of data as runs.

    Args:
        data: See `Data`.
        gold: Gold states, any kind of `Data` with one run, which replace any in the data; None: they are in the data.
        format: Native format of the files, or its name; None: detect it by content.
        names: Names of the runs, in order; None: the names of the files or folders without endings, preceded by as many
            parent folders as tell them apart.
        missing: What to do with gold turns that have no prediction: ``error`` (None is the same), ``wrong``,
            ``empty``, ``intersect``.
        split: The split to score, if gold has several; None: the one that has predictions.
        keys: The keys of records of turns whose names dstbench does not know: ``{"id": "flag", "pred": "predict"}``.
            The fields are ``id``, ``turn``, ``gold``, ``pred``, ``system``, ``user``, and ``turns`` (of a dialogue).
            A dot leads into an object of a record: ``meta.gold``.
        slot_map: Other names for your own slots: a mapping ``{"your slot": "its other name"}``, or a file of it (JSON,
            or two columns of CSV or TSV). It is applied to predictions and gold; signatures have its hash.
        id_map: Likewise, gold's ids for your own dialogue ids. Gold from a file of its own keeps its ids.
        turns_from: The number that the data give to the turn that is gold's turn 0, such as 1; signatures have it. If
            it is given, be it 0, turns are taken to be numbered as you say; else, numbers that fit gold's only when
            they are shifted or divided are an error.
        turn_step: Likewise, the difference of the numbers of consecutive turns, such as 2 for 0, 2, 4.
        unreadable: What to do with a predicted state that is none, such as JSON that is cut off: ``error`` (None is the
            same), take it as ``empty``, or count its turn as ``wrong``; signatures have it, and a note counts them.

    Returns:
        The runs, in the order of the data.

    Raises:
        DstbenchError: The data cannot be read; the message says what is wrong, where, and what to do.
    """
    missing = missing or "error"
    parts = parts_to_open(
        data, format=format, names=names, missing=missing, keys=keys, turn_step=turn_step, unreadable=unreadable
    )
    slots = dialogues = None
    if slot_map is not None or id_map is not None:
        from dstbench.readers.renaming import Names

        slots, dialogues = Names.read(slot_map, "slot"), Names.read(id_map, "dialogue")
    options = ReadOptions(format, Keys.of(keys), slots, dialogues, turns_from, turn_step, unreadable or "error")
    items = [item for _, item in parts]
    for item in items:  # check all before reading the first, which may take a while
        for path in item if are_shards(item) else [item]:
            if is_path(path):
                File(str(path)).check()
    if isinstance(gold, (list, tuple)):
        from dstbench.readers.memory import check_parallel

        for item in items:
            check_parallel(item, gold)
    golds = None if gold is None else split_gold(gold, split, options) or open_gold(gold, split, options)
    runs = []
    for number, (name, item) in enumerate(parts):
        _LOG.info("reading %s", name, extra={"done": number, "of": len(parts)})
        runs.append(_open(name, item, golds, options, missing, split=split))
    _LOG.info("%d of %d runs have been read", len(parts), len(parts), extra={"done": len(parts), "of": len(parts)})
    return runs


def parts_to_open(data: Data, **reading: Unpack[Reading]) -> list[tuple[str, Any]]:
    """The name and the data of each run that `open_runs` opens, checked as far as possible without reading a file."""
    options = ReadOptions(
        reading.get("format"),
        Keys.of(reading.get("keys")),
        turn_step=reading.get("turn_step"),
        unreadable=reading.get("unreadable") or "error",
    )
    options.check()
    check_missing(reading.get("missing") or "error")
    parts = named_parts(data, options)
    if not parts:
        raise UsageError("no run to open", hint="give at least one file, table or list of states")
    if (names := reading.get("names")) is not None:
        if len(names) != len(parts):
            raise UsageError(f"{len(names)} names for {len(parts)} runs", hint="one name for each run, in their order")
        parts = list(zip(names, (item for _, item in parts), strict=True))
    if repeated := first_repeated(name for name, _ in parts):
        same = [str(item) for name, item in parts if name == repeated and isinstance(item, (str, PathLike))]
        if names is None and len(set(map(realpath, same))) == 1:
            raise UsageError(f"{same[0]} is given twice", hint="give it once, or give each a name of its own")
        raise UsageError(f"two runs are called {repeated!r}", hint="give each a name of its own")
    return parts


def open_gold(gold: Data, split: str | None = None, options: ReadOptions = AS_USUAL) -> States:
    """The states of the data that hold gold: any kind of `Data` with one run; only those of a split, if one is named.

    Of the options, those are used that apply to gold, too (`ReadOptions.for_gold`).
    """
    options = options.for_gold()
    parts = named_parts(gold, options)
    if len(parts) != 1:
        raise UsageError(f"gold comes from one place, not from {len(parts)}", hint="give one file, frame or list")
    name, item = parts[0]
    if isinstance(item, States):
        return item
    loaded = load("gold" if name == "states" else name, item, options, split)
    if isinstance(loaded, States):
        warn_of_notes(loaded)
        if is_path(item):  # they are already of that split
            return loaded
    else:
        source = str(item) if is_path(item) else name
        loaded = renamed(from_long(loaded.read(), source, loaded.meta.get("with_book")), options)
    return loaded if split is None else only_split(loaded, split)


def gold_run(data: Data, split: str | None = None) -> Run:
    """Gold as a run, whose predictions do not matter. A Parquet file is not read yet, as it may be large."""
    parts = named_parts(data)
    if len(parts) == 1:
        name, item = parts[0]
        if isinstance(item, Run) or (is_path(item) and File(str(item)).is_parquet):
            return open_runs({name: item}, split=split)[0]
    states = open_gold(data, split)
    itself = replace(
        states,
        pred=gold_of(states, "give the file that has the gold states"),
        either=False,
        complete=None,
        only=None,
        notes=(),
    )
    return open_runs({parts[0][0]: itself})[0]


def scan(data: Data, **reading: Unpack[Reading]) -> pl.LazyFrame:
    """Scan runs as one long table with a `run` column in front.

    Args:
        data: A path, several paths, a frame, states, or a mapping from run name to any of these (see `open_runs`).
        **reading: `gold`, `format`, `names`, `missing` (default: ``error``), `split`, …: see `open_runs`.

    Returns:
        (run: String, dialogue, turn, slot, gold, pred), sorted by run as given, dialogue, slot, turn.

    Raises:
        DstbenchError: Data cannot be used.

    >>> scan([{"dialogue_id": "D1", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {}}]).collect().row(0)
    ('states', 'D1', 0, 'hotel-area', 'north', None)
    """
    runs = open_runs(data, **reading)
    for run in runs:
        run.check()
    return pl.concat([run.table.select(pl.lit(run.name).alias("run"), pl.all()) for run in runs])


def _open(
    name: str, item: Any, gold: States | SplitGold | None, options: ReadOptions, missing: Missing, *, split: str | None
) -> Run:
    """One run; from states, aligned with gold (None: that of the states)."""
    loaded = load(name, item, options)
    if isinstance(loaded, States):
        # Without splits, states are of the only one that gold has, if gold is given.
        if split is not None and (gold is None or loaded.splits is not None):
            loaded = only_split(loaded, split)
        is_several = are_shards(item) and len(item) > 1
        files = [path_text(path) for path in item] if is_several else [loaded.source]
        return _aligned(name, loaded, gold, options, missing, files=files)
    if options.changes_states and gold is None:
        raise UsageError(
            f"{name}: a long table keeps its names and turn numbers",
            hint="give the option to `dstbench convert`, with the native files, or name the gold file: --gold FILE",
        )
    if split is not None and gold is None:
        raise UsageError(f"{name}: a long table has no splits", hint="omit --split, or give --gold")
    before = loaded.meta["missing"]
    if gold is not None:
        states = renamed(from_long(loaded.read(), name, loaded.meta.get("with_book")), options)
        run = _aligned(name, states, gold, options, missing, files=[name])
        # Turns that were scored as empty are now turns with an empty state: the signature must still say so.
        return replace(run, meta={**run.meta, "missing": f"{before}+{missing}"}) if before == "empty" else run
    if missing not in ("error", before):
        warn(f"--missing {missing} changes nothing; it is a long table, made with --missing {before}", file=name)
    return loaded


def _aligned(
    name: str,
    states: States,
    gold: States | SplitGold | None,
    options: ReadOptions,
    missing: Missing,
    *,
    files: Sequence[str],
) -> Run:
    """The run of these states, aligned with gold, in memory; `files` is what was read."""
    gold = gold.of(states) if isinstance(gold, SplitGold) else gold
    aligned = to_long(states, gold, missing=missing)
    without_book = {
        side: {slot: is_with for slot, is_with in slots.items() if not is_with}
        for side, slots in aligned.with_book.items()
    }
    if_any = {
        "only": list(states.only or ()),
        "with_book": {side: slots for side, slots in without_book.items() if slots},
        "frames": dict(aligned.frames or {}),
    }
    meta = {
        "schema_version": SCHEMA_VERSION if if_any["frames"] else 1,
        "run": name,
        "files": files,
        "format": states.format,
        "gold": gold and gold.source,
        "missing": missing,
        "coverage": aligned.coverage,
        **options.signed,
        **{key: value for key, value in if_any.items() if value},
    }
    return in_memory(name, aligned.table, meta)
