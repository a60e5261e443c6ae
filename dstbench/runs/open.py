"""Opens the user's data as runs, scans runs, and writes them.

A run is one model on one dataset: one long table. It may come from a Parquet file that dstbench wrote, a native
prediction file, a frame, or states in memory; this module makes a `Run` of each.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, Unpack

import polars as pl

from dstbench.errors import UsageError, first_repeated, warn
from dstbench.io.files import File, path_text
from dstbench.readers.options import AS_USUAL, Keys, ReadOptions
from dstbench.readers.states import States, merge_states, only_split, warn_of_notes
from dstbench.runs.align import check_missing, from_long, to_long
from dstbench.runs.load import load, named_parts, read_file, renamed
from dstbench.runs.parquet import write_table
from dstbench.runs.run import Run, in_memory, run_meta
from dstbench.runs.splits import SplitGold, split_gold
from dstbench.typing import Missing, Unreadable

if TYPE_CHECKING:
    from dstbench.readers import Format
    from dstbench.readers.renaming import NameMap, Names

#: The data that dstbench accepts: a path, several paths (one run each), a frame (Polars, or anything with
#: ``__arrow_c_stream__``) with the long table's columns, a list of states, opened runs, or a mapping from run name to
#: any of these.
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
    parts = parts_to_open(data, format=format, names=names, missing=missing, keys=keys, turn_step=turn_step,
                          unreadable=unreadable)  # fmt: skip
    maps = names_of(slot_map, id_map)
    options = ReadOptions(format, Keys.of(keys), *maps, turns_from, turn_step, unreadable or "error")
    for _, item in parts:  # check all before reading the first, which may take a while
        if isinstance(item, (str, PathLike)):
            File(str(item)).check()
    if isinstance(gold, (list, tuple)):
        from dstbench.readers.memory import check_parallel

        for _, item in parts:
            check_parallel(item, gold)
    gold_states = None if gold is None else split_gold(gold, split, options) or open_gold(gold, split, options)
    runs = []
    for number, (name, item) in enumerate(parts):
        _LOG.info("reading %s", name, extra={"done": number, "of": len(parts)})
        runs.append(_open(name, item, gold_states, options, missing, split=split))
    _LOG.info("%d of %d runs have been read", len(parts), len(parts), extra={"done": len(parts), "of": len(parts)})
    return runs


def names_of(slot_map: NameMap | None, id_map: NameMap | None) -> tuple[Names | None, Names | None]:
    """The maps of slots and of dialogues that a user gives; see `open_runs`."""
    if slot_map is None and id_map is None:
        return None, None
    from dstbench.readers.renaming import Names

    return Names.read(slot_map, "slot"), Names.read(id_map, "dialogue")


def parts_to_open(data: Data, **reading: Unpack[Reading]) -> list[tuple[str, Any]]:
    """The name and the data of each run that `open_runs` opens, checked as far as possible without reading a file.

    Args:
        data: See `Data`.
        **reading: As `open_runs`.

    Raises:
        UsageError: There is no run; there are too few, too many or repeated names; or a format or a field of `keys` is
            unknown; or a step is below 1.
    """
    step = reading.get("turn_step")
    unreadable = reading.get("unreadable") or "error"
    options = ReadOptions(reading.get("format"), Keys.of(reading.get("keys")), turn_step=step, unreadable=unreadable)
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
        raise UsageError(f"two runs are called {repeated!r}", hint="give each a name of its own")
    return parts


def read_run(
    name: str,
    files: Sequence[str | PathLike[str]],
    *,
    gold: Data | None = None,
    options: ReadOptions = AS_USUAL,
    missing: Missing = "error",
    split: str | None = None,
) -> Run:
    """One run from one file, or from several native ones, such as the shards of a dataset.

    Args:
        name: Name of the run.
        files: Native files, or one long table.
        gold: Gold states, as in `open_runs`.
        options: How the files are read.
        missing: What to do with gold turns that have no prediction.
        split: The split to score, if gold has several.
    """
    options.check()
    for path in files if gold is None else [*files, gold]:  # all, before reading the first, which may take a while
        if isinstance(path, (str, PathLike)):
            File(str(path)).check()
    gold_states = None if gold is None else split_gold(gold, split, options) or open_gold(gold, split, options)
    if len(files) == 1:
        return _open(name, files[0], gold_states, options, missing, split=split)
    # A note names what is in none of the files, and turns are renumbered once.
    as_written = replace(options, slots=None, dialogues=None, turns_from=None, turn_step=None)
    states = renamed(merge_states([read_file(File(str(path)), as_written) for path in files]), options)
    states = of_split(states, split, gold_states)
    return aligned_run(name, states, gold_states, missing, options, files=[path_text(path) for path in files])


def open_gold(gold: Data, split: str | None = None, options: ReadOptions = AS_USUAL) -> States:
    """The states of the data that hold gold: a path, a frame, or states in memory.

    Args:
        gold: Any kind of `Data` with one run.
        split: The split to keep; None: all.
        options: How the runs are read; what applies to gold, too, is used (`ReadOptions.for_gold`).

    Raises:
        DstbenchError: It cannot be read, or it has several runs.
    """
    parts = named_parts(gold, options.for_gold())
    if len(parts) != 1:
        raise UsageError(f"gold comes from one place, not from {len(parts)}")
    name, item = parts[0]
    loaded = load("gold" if name == "states" else name, item, options.for_gold(), split)
    if isinstance(loaded, States):
        warn_of_notes(loaded)
    if isinstance(item, (str, PathLike)):
        if isinstance(loaded, States):  # they are already of that split
            return loaded
        name = str(item)
    if isinstance(loaded, Run):
        loaded = renamed(from_long(loaded.read(), name, loaded.meta.get("with_book")), options.for_gold())
    return loaded if split is None else only_split(loaded, split)


def scan(
    data: Data,
    *,
    gold: Data | None = None,
    format: str | Format | None = None,  # noqa: A002
    names: Sequence[str] | None = None,
    missing: Missing = "error",
    split: str | None = None,
    keys: Mapping[str, str] | None = None,
    slot_map: NameMap | None = None,
    id_map: NameMap | None = None,
    turns_from: int | None = None,
    turn_step: int | None = None,
    unreadable: Unreadable | None = None,
) -> pl.LazyFrame:
    """Scan runs as one long table with a `run` column in front.

    Args:
        data: A path, several paths, a frame, states, or a mapping from run name to any of these (see `open_runs`).
        gold: Gold states, as in `open_runs`.
        format: Native format; None: detect it.
        names: Names of the runs.
        missing: What to do with gold turns that have no prediction.
        split: The split to score, if gold has several.
        keys: The keys of records of turns, as in `open_runs`.
        slot_map: Other names of slots, as in `open_runs`.
        id_map: Gold's ids of dialogues, as in `open_runs`.
        turns_from: The number of the first turn, as in `open_runs`.
        turn_step: The step of turn numbers, as in `open_runs`.
        unreadable: What to do with predicted states that are none, as in `open_runs`.

    Returns:
        (run: String, dialogue, turn, slot, gold, pred), sorted by run as given, dialogue, slot, turn.

    Raises:
        DstbenchError: Data cannot be used.

    >>> scan([{"dialogue_id": "D1", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {}}]).collect().row(0)
    ('states', 'D1', 0, 'hotel-area', 'north', None)
    """
    runs = open_runs(
        data,
        gold=gold,
        format=format,
        names=names,
        missing=missing,
        split=split,
        keys=keys,
        slot_map=slot_map,
        id_map=id_map,
        turns_from=turns_from,
        turn_step=turn_step,
        unreadable=unreadable,
    )
    for run in runs:
        run.check(0, run.cuts[-1])
    return pl.concat([run.table.select(pl.lit(run.name).alias("run"), pl.all()) for run in runs])


def _open(
    name: str, item: Any, gold: States | SplitGold | None, options: ReadOptions, missing: Missing, *, split: str | None
) -> Run:
    run = load(name, item, options)
    if isinstance(run, States):
        return aligned_run(name, of_split(run, split, gold), gold, missing, options)
    if options.changes_states and gold is None:
        raise UsageError(
            f"{name}: a long table keeps its names and turn numbers",
            hint="give the option to `dstbench convert`, with the native files, or name the gold file: --gold FILE",
        )
    if split is not None and gold is None:
        raise UsageError(f"{name}: a long table has no splits", hint="omit --split, or give --gold")
    before = run.meta["missing"]
    if gold is not None:
        long = from_long(run.read(), name, run.meta.get("with_book"))
        run = aligned_run(name, renamed(long, options), gold, missing, options)
        # Turns that were scored as empty are now turns with an empty state: the signature must still say so.
        return replace(run, meta={**run.meta, "missing": f"{before}+{missing}"}) if before == "empty" else run
    if missing not in ("error", before):
        warn(f"--missing {missing} changes nothing; it is a long table, made with --missing {before}", file=name)
    return run


def of_split(states: States, split: str | None, gold: States | SplitGold | None) -> States:
    """A run's states of one split; states without splits are kept if gold is given, which has only that split."""
    return states if split is None or (gold is not None and states.splits is None) else only_split(states, split)


def aligned_run(
    name: str,
    states: States,
    gold: States | SplitGold | None,
    missing: Missing,
    options: ReadOptions = AS_USUAL,
    *,
    files: Sequence[str] | None = None,
) -> Run:
    """The run of these states, aligned with gold (None: that of the states), in memory; `files` is what was read."""
    gold = gold.of(states) if isinstance(gold, SplitGold) else gold
    aligned = to_long(states, gold, missing=missing)
    meta = run_meta(
        name,
        aligned.frames,
        files=list(files or [states.source]),
        format=states.format,
        gold=gold and gold.source,
        missing=missing,
        coverage=aligned.coverage,
        **options.signed,
        **({"only": list(states.only)} if states.only else {}),
        with_book=aligned.with_book,
    )
    return in_memory(name, aligned.table, meta)


def only_dialogues(run: Run, dialogues: pl.Series) -> Run:
    """A run with only these of its dialogues, in memory."""
    table = run.read(run.table.filter(pl.col("dialogue").is_in(dialogues.implode())))
    return replace(in_memory(run.name, table, run.meta), derive=run.derive)
