"""Opens the user's data, of any kind, as runs: native files, Parquet files, frames, and states in memory.

A run is one model on one dataset: one long table. A file or frame that is a long table becomes a `Run` as it is. All
else becomes `States`, which are aligned with gold (`align`).
"""

from __future__ import annotations

import json
import logging
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, pairwise, takewhile
from os import PathLike
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypedDict, TypeGuard, Unpack

import polars as pl

from dstbench.errors import DstbenchError, DstbenchWarning, UsageError, first_repeated, number_of, warn
from dstbench.io import parquet
from dstbench.io.files import File, path_text
from dstbench.readers.folder import split_files
from dstbench.readers.frames import IS_FRAME, count_frames
from dstbench.readers.options import AS_USUAL, Keys, ReadOptions, is_long
from dstbench.readers.states import Side, States, merge_states, only_split, warn_of_notes
from dstbench.runs.align import from_long, gold_of, of_split, to_long
from dstbench.runs.gold import gold_fingerprint
from dstbench.runs.rules import check_long, conform_long, with_canonical_names
from dstbench.runs.run import CUTS, GOLD, METADATA, Run, in_memory, open_table
from dstbench.runs.slot_names import report_slots
from dstbench.runs.turn_numbers import report_gaps
from dstbench.schema.core import LONG, SCHEMA_VERSION
from dstbench.tables import collect
from dstbench.typing import Missing, Unreadable

if TYPE_CHECKING:  # readers import many modules, which long tables do not need
    from dstbench.readers import Format
    from dstbench.readers.renaming import NameMap

#: The data that dstbench accepts: a path, several paths (one run each), a frame (Polars, or anything with
#: ``__arrow_c_stream__``) with the long table's columns, a list of states, opened runs, or a mapping from run name to
#: any of these, or to several native files (a list of `Path`s) that are one run, such as shards.
Data: TypeAlias = Any

_LOG: Final = logging.getLogger(__name__)
#: What a path may be.
PATH: Final = (str, PathLike)
#: The column of a table of several runs.
_RUN: Final = "run"
_RUNS: Final = pl.col(_RUN).cast(pl.String)
# Rows of a frame that are looked at to tell what it holds.
_SAMPLE: Final = 20
#: The order in which splits are looked at: predictions are most often of the test set.
_SPLITS: Final[Sequence[str]] = ("test", "dev", "train")


class RunIn(NamedTuple):
    """One of the runs in a Parquet file with a column `run`."""

    path: Path
    run: str


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
    texts = {METADATA: json.dumps(dict(run.meta), ensure_ascii=False, sort_keys=True), CUTS: json.dumps(run.cuts)}
    table = run.read()
    groups = [table[start:end] for start, end in pairwise(run.cuts)]
    texts[GOLD] = json.dumps(f"{sum(map(gold_fingerprint, groups)) % 2**64:016x}")
    parquet.write(path, LONG.schema, groups, texts)


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
        gold: File or folder with the gold states, if runs do not hold them. In Python, any kind of `Data` with one
            run. It replaces gold states in the data.
        format: Format of the files; None: found by content. In Python, also a `Format`.
        names: Names of the runs, in order; None: the names of the files or folders without endings, preceded by as many
            parent folders as tell them apart.
        missing: What to do with gold turns that have no prediction: ``error`` (None is the same), ``wrong``,
            ``empty``, ``intersect``.
        split: The split to score, if gold has several; None: the one that has predictions.
        keys: Keys of turn records with other names: id=flag,gold=truth,pred=output. In Python, a mapping. Fields are
            ``id``, ``turn``, ``gold``, ``pred``, ``system``, ``user``, and ``turns`` (of a dialogue). A dot leads into
            an object of a record: ``meta.gold``.
        slot_map: Your slots and their other names: two columns (CSV, TSV), or JSON. In Python, also a mapping ``{"your
            slot": "its other name"}``. It is applied to predictions and gold; signatures have its hash.
        id_map: Your ids of dialogues and gold's: two columns, or JSON. Likewise. Gold in its own file keeps its ids.
        turns_from: Number of your first turn, where gold's is 0; see `help formats`. Signatures have it. If it is
            given, be it 0, turns are taken to be numbered as you say; else, numbers that fit gold's only when they are
            shifted or divided are an error.
        turn_step: Step of your turn numbers: 2 if they are 0, 2, 4; None: 1. Signatures have it.
        unreadable: Predicted states that are none, such as JSON cut off: an ``error`` (the default), ``empty``, or
            ``wrong``. Then its turn counts as wrong. Signatures have the choice, and a note counts such states.

    Returns:
        The runs, in the order of the data.

    Raises:
        DstbenchError: The data cannot be read; the message says what is wrong, where, and what to do.
    """
    slots = dialogues = None
    if slot_map is not None or id_map is not None:
        from dstbench.readers.renaming import Names

        slots, dialogues = Names.read(slot_map, "slot"), Names.read(id_map, "dialogue")
    of_keys = Keys.of(keys) if keys else None
    options = ReadOptions(
        format, of_keys, slots, dialogues, turns_from, turn_step, unreadable or "error", missing or "error"
    )
    parts = _parts(data, names, options)
    files = [[item] if isinstance(item, PATH) else item if are_shards(item) else () for _, item in parts]
    if sum(map(len, files)) > 1 or gold is not None:
        for path in chain.from_iterable(files):  # all before the first is read, which may take a while
            File(str(path)).check()
    if isinstance(gold, (list, tuple)):
        from dstbench.readers.registry import check_parallel

        for _, item in parts:
            check_parallel(item, gold)
    golds = {} if gold is None else _golds(gold, split, options)
    runs = []
    for number, (name, item) in enumerate(parts):
        _LOG.info("reading %s", name, extra={"done": number, "of": len(parts)})
        run = load(name, item, options)
        if isinstance(run, States) or golds:
            run = _aligned(name, files[number], run, golds, options=options, split=split)
        elif options.changes_states:
            hint = "give the option to `dstbench convert`, with the native files, or name the gold file: --gold FILE"
            raise UsageError(f"{name}: a long table keeps its names and turn numbers", hint=hint)
        elif split is not None:
            raise UsageError(f"{name}: a long table has no splits", hint="omit --split, or give --gold")
        elif options.missing not in ("error", before := run.meta["missing"]):
            what = f"--missing {missing} changes nothing; it is a long table, made with --missing {before}"
            warn(what, file=name)
        runs.append(run)
    _LOG.info("%d of %d runs have been read", len(parts), len(parts), extra={"done": len(parts), "of": len(parts)})
    return runs


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


# --- what there is to open --------------------------------------------------------------------------------------------


def parts_to_open(data: Data, **reading: Unpack[Reading]) -> list[tuple[str, Any]]:
    """The name and the data of each run that `open_runs` opens, checked as far as possible without reading a file."""
    keys = reading.get("keys")
    options = ReadOptions(
        reading.get("format"),
        Keys.of(keys) if keys else None,
        turn_step=reading.get("turn_step"),
        unreadable=reading.get("unreadable") or "error",
        missing=reading.get("missing") or "error",
    )
    return _parts(data, reading.get("names"), options)


def _parts(data: Data, names: Sequence[str] | None, options: ReadOptions) -> list[tuple[str, Any]]:
    """The same, with `names` for the runs in place of their own."""
    parts = named_parts(data, options)
    if not parts:
        raise UsageError("no run to open", hint="give at least one file, table or list of states")
    if names is not None:
        if len(names) != len(parts):
            what = f"{number_of(len(names), 'name')} for {number_of(len(parts), 'run')}"
            raise UsageError(what, hint="one name for each run, in their order")
        parts = list(zip(names, (item for _, item in parts), strict=True))
    if len(parts) > 1 and (repeated := first_repeated(name for name, _ in parts)):
        same = [str(item) for name, item in parts if name == repeated and isinstance(item, PATH)]
        if names is None and len(set(map(realpath, same))) == 1:
            raise UsageError(f"{same[0]} is given twice", hint="give it once, or give each a name of its own")
        raise UsageError(f"two runs are called {repeated!r}", hint="give each a name of its own")
    return parts


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Each name to what tells it apart: without the words with which all of them begin or end.

    >>> short_names(["ratio_0.1_seed_557_prediction", "ratio_1.0_seed_557_prediction"])
    {'ratio_0.1_seed_557_prediction': '0.1', 'ratio_1.0_seed_557_prediction': '1.0'}
    """
    if len(names) < 2:
        return {}
    words = [re.split(r"([/_ -]+)", name) for name in names]  # words and, between them, what divides them
    for _ in range(2):  # from the beginning, then from the end
        same = len([*takewhile(lambda column: len({*column}) == 1, zip(*words, strict=False))])
        same = min(same, min(map(len, words)) - 1) // 2 * 2  # a word with what divides it from the next
        words = [parts[same:][::-1] for parts in words]
    return dict(zip(names, map("".join, words), strict=True))


def are_shards(item: object) -> TypeGuard[Sequence[PathLike[str]]]:
    """Whether an item of data is several `Path`s, of one run; texts may be states as well."""
    return isinstance(item, (list, tuple)) and len(item) > 0 and all(isinstance(path, PathLike) for path in item)


def named_parts(data: Any, options: ReadOptions = AS_USUAL) -> list[tuple[str, Any]]:
    """(name, data) of each run or dataset in `data`; `options` say how it is read."""
    if isinstance(data, Mapping):
        from dstbench.readers.registry import is_document  # loads many modules, which long tables do not need

        items = list(data.values())
        is_one = not any(isinstance(item, States) or are_shards(item) for item in items) and is_document(data, options)
        if is_one:
            return [("states", data)]
        return [(str(name), item[0] if are_shards(item) and len(item) == 1 else item) for name, item in data.items()]
    items = [data] if isinstance(data, (*PATH, Run)) else data
    if isinstance(items, Sequence) and items and all(isinstance(item, Run) for item in items):
        return [(run.name, run) for run in items]
    if not (isinstance(items, Sequence) and items and all(isinstance(item, PATH) for item in items)):
        return _named_frames(data) if _is_frame(data) else [("states", data)]
    paths = [Path(item) for item in items]
    # Each path has its title, preceded by as many parent folders as tell the paths apart.
    folders = [[*map(path_text, path.absolute().parts[:-1]), File(path).title] for path in paths]
    for depth in range(1, max(map(len, folders))):
        names = ["/".join(parts[-depth:]) for parts in folders]
        if len(set(names)) == len(names):
            break
    named: list[tuple[str, str, Path | RunIn]] = []
    for name, path in zip(names, paths, strict=True):
        runs: list[str] = []
        if os.path.isfile(path) and (file := File(path)).is_parquet:
            # What is wrong with it, reading it will say.
            with suppress(DstbenchError), parquet.reading(file.name), path.open("rb") as stream:
                if _RUN in pl.read_parquet_schema(stream):
                    runs = _runs_of(parquet.scan(file).table)
        named += [(run, f"{name}/{run}", RunIn(path, run)) for run in runs] or [(name, name, path)]
    counts = Counter(short for short, *_ in named)
    return [(short if counts[short] == 1 else long, item) for short, long, item in named]


def _runs_of(frame: pl.LazyFrame) -> list[str]:
    """The runs in the column `run`, in their order."""
    return collect(frame.select(_RUNS.unique(maintain_order=True))).to_series().to_list()


def _is_frame(data: Any) -> bool:
    return isinstance(data, pl.LazyFrame) or hasattr(data, "__arrow_c_stream__") or _is_pandas(data)


def _is_pandas(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "to_dict")


def _named_frames(data: Any) -> list[tuple[str, pl.LazyFrame | list[dict[str, Any]]]]:
    """The frame of each run in a column `run`; without one, the whole frame is the run `table`.

    A frame of pandas that is no long table becomes a list of records, because its cells may be any Python objects.
    """
    if _is_pandas(data) and not is_long(data.columns, None):
        runs: dict[str, list[dict[str, Any]]] = {}
        for record in data.to_dict("records"):
            runs.setdefault(str(record.pop("run", "table")), []).append(record)
        return [*runs.items()]
    frame = data if isinstance(data, pl.LazyFrame) else pl.DataFrame(data).lazy()
    if _RUN not in frame.collect_schema():
        return [("table", frame)]
    return [(run, frame.filter(_RUNS.eq(run))) for run in _runs_of(frame)]


# --- one run's data ---------------------------------------------------------------------------------------------------


def load(name: str, item: Any, options: ReadOptions = AS_USUAL, split: str | None = None) -> Run | States:
    """One run's data (see `Data`): the run, if they are a long table; else the states, of `split` (None: all)."""
    if isinstance(item, Run):  # the same run if the name is, so that what it keeps is used again
        return item if item.name == name else replace(item, name=name)
    if isinstance(item, States):
        return item
    loaded: Run | States | None = None
    paths = [item] if isinstance(item, PATH) else item if are_shards(item) else ()
    if isinstance(item, PATH) and (file := File(str(item))).is_parquet and options.format != "records":
        if options.format is not None:
            raise file.error(f"a Parquet file, not one of format {options.format}", "omit --from: it is a long table")
        loaded = open_table(name, file)
        if loaded is None and _is_long(table := parquet.read(file), options):
            loaded = _of_frame(name, table, file.name, options)
    if loaded is None and paths:
        from dstbench.readers.registry import read  # loads many modules, which long tables do not need
        from dstbench.readers.source import Source

        sources = [Source.of(file)] if isinstance(item, PATH) else [Source(str(path)) for path in paths]
        of_split = split if isinstance(item, PATH) else None
        loaded = merge_states(
            [read(one, options.format, of_split, options.keys, options.unreadable) for one in sources]
        )
    elif loaded is None and isinstance(item, RunIn):
        file = File(item.path)
        with parquet.reading(file.name):
            rows = parquet.scan(file).table.filter(_RUNS.eq(item.run))
        loaded = _of_frame(name, rows, f"{file.name}, run {item.run}", options)
    elif loaded is None:
        loaded = _of_frame(name, item, name, options) if _is_frame(item) else _from_memory(item, name, options)
    return renamed(loaded, options) if isinstance(loaded, States) and options.changes_states else loaded


def _of_frame(name: str, frame: Any, source: str, options: ReadOptions) -> Run | States:
    """The run in a frame that is a long table, or the states in one of records."""
    frames = _named_frames(frame)
    if len(frames) != 1:
        what = "a table of several runs, where there must be one"
        raise DstbenchError(what, file=source, hint="filter it by its column run")
    rows = frames[0][1]
    if not isinstance(rows, pl.LazyFrame):
        return _from_memory(rows, source, options)
    if _is_long(rows, options):
        return _checked(name, rows, source, options)
    with parquet.reading(source):
        records = collect(rows.select(pl.exclude(_RUN)))
    return _from_memory(records, source, options)


def _from_memory(item: Any, source: str, options: ReadOptions) -> States:
    """The states in a document, or in records of turns."""
    from dstbench.readers.records import from_memory
    from dstbench.readers.registry import read_document

    if isinstance(item, (Mapping, list, tuple)) and (states := read_document(item, source, options)) is not None:
        return states
    if not isinstance(item, (pl.DataFrame, Iterable)) or isinstance(item, (bytes, Mapping)):
        hint = "give a path, a frame, or a list of states; see dstbench.scan"
        raise UsageError(f"cannot read data from an object of type {type(item).__name__}", hint=hint)
    return from_memory(item, source, options.keys, options.unreadable)


def renamed(states: States, options: ReadOptions) -> States:
    """States renamed and renumbered as the options say."""
    from dstbench.readers.renaming import rename, renumber

    if options.turns_from is not None or options.turn_step is not None:
        states = renumber(states, options.turns_from or 0, options.turn_step or 1)
    return rename(states, options.slots, options.dialogues)


def _is_long(frame: pl.DataFrame | pl.LazyFrame, options: ReadOptions) -> bool:
    """Whether a frame is a long table, or seems meant as one, rather than records, whose keys the user may give."""
    if is_long(frame.collect_schema(), options.keys):
        return True
    if options.keys is not None and not options.keys.optional:
        return False
    from dstbench.readers.records import have_states  # loads many modules, which long tables do not need

    return not have_states(collect(frame.lazy().head(_SAMPLE)), options.keys)


def _checked(name: str, frame: pl.LazyFrame, source: str, options: ReadOptions) -> Run | States:
    """A run from any table with the long table's columns, which is made canonical, sorted and checked."""
    with parquet.reading(source):
        rows = collect(conform_long(frame, source=source))
    table = with_canonical_names(rows, source=source).sort("dialogue", "slot", "turn")
    coverage = check_long(table, source=source)
    if options.changes_states:
        return from_long(table, source)
    report_gaps(source, table.select("dialogue", "turn").unique().sort("dialogue", "turn"))
    report_slots(source, table)
    frames = table.filter(IS_FRAME)
    lacks_prediction = pl.col("slot").is_null() & pl.col("pred").is_not_null()
    meta = {
        "schema_version": SCHEMA_VERSION if frames.height else 1,
        "run": name,
        "files": [source],
        "format": "long table",
        "gold": None,
        "missing": "wrong" if table.select(lacks_prediction.any()).item() else "error",
        "coverage": coverage,
        **({"frames": count_frames(frames["gold"], frames["pred"])} if frames.height else {}),
    }
    return in_memory(name, table, meta)


def _aligned(
    name: str,
    files: Sequence[str | PathLike[str]],
    loaded: Run | States,
    golds: Mapping[str, States],
    *,
    options: ReadOptions,
    split: str | None,
) -> Run:
    """The run of these states (or of the states of a run) in memory, aligned with gold (none: that of the states)."""
    if isinstance(loaded, Run):
        states = renamed(from_long(loaded.read(), name, loaded.meta.get("with_book")), options)
    else:
        # Without splits, states are of the only one that gold has, if gold is given.
        states = only_split(loaded, split) if split and (not golds or loaded.splits is not None) else loaded
    gold = next(iter(golds.values()), None)
    if gold is not None and len(golds) > 1:
        gold = of_split(states, golds) or gold  # if no turn is in any split, alignment says so
        warn_of_notes(gold)
    missing = options.missing
    aligned = to_long(states, gold, missing=missing)
    # Turns that were scored as empty are now turns with an empty state: the signature must still say so.
    was_empty = isinstance(loaded, Run) and loaded.meta["missing"] == "empty"
    if_any = {"only": list(states.only or ()), "with_book": aligned.with_book, "frames": aligned.frames}
    meta = {
        "schema_version": SCHEMA_VERSION if aligned.frames else 1,
        "run": name,
        "files": [path_text(path) for path in files] if len(files) > 1 else [states.source],
        "format": states.format,
        "gold": gold and gold.source,
        "missing": f"empty+{missing}" if was_empty else missing,
        "coverage": aligned.coverage,
        **options.signed,
        **{key: value for key, value in if_any.items() if value},
    }
    return in_memory(name, aligned.table, meta)


# --- gold -------------------------------------------------------------------------------------------------------------


def _golds(gold: Data, split: str | None, options: ReadOptions) -> dict[str, States]:
    """Gold's states: those of each split, if it is a folder of several, whose dialogues may have the same ids."""
    parts, names = named_parts(gold), list[str]()
    if split is None and len(parts) == 1 and isinstance(path := parts[0][1], PATH) and File(str(path)).is_folder:
        from dstbench.readers.source import Source

        found = {file.split for file in split_files(Source(os.fspath(path)))[0]}
        names = [name for name in _SPLITS if name in found]
    if len(names) < 2:
        return {"": open_gold(gold, split, options)}
    golds = dict[str, States]()
    for name in names:
        with warnings.catch_warnings():
            if golds:
                warnings.filterwarnings("ignore", ".*splits in subfolders are left out", DstbenchWarning)
            states = load("gold", path, options.for_gold(), name)
            if isinstance(states, States):
                golds[name] = replace(states, source=str(path))
    return golds


def open_gold(gold: Data, split: str | None = None, options: ReadOptions = AS_USUAL) -> States:
    """The states of the data that hold gold, any kind of `Data` with one run; of a split, if one is named."""
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
        if isinstance(item, PATH):  # they are already of that split
            return loaded
    else:
        source = str(item) if isinstance(item, PATH) else name
        loaded = renamed(from_long(loaded.read(), source, loaded.meta.get("with_book")), options)
    return loaded if split is None else only_split(loaded, split)


def gold_run(data: Data, split: str | None = None) -> Run:
    """Gold as a run, whose predictions do not matter. A Parquet file is not read yet, as it may be large."""
    parts = named_parts(data)
    if len(parts) == 1:
        name, item = parts[0]
        if isinstance(item, Run) or (isinstance(item, PATH) and File(str(item)).is_parquet):
            return open_runs({name: item}, split=split)[0]
    states = open_gold(data, split)
    return open_runs({parts[0][0]: gold_alone(states, gold_of(states, "give the file that has the gold states"))})[0]


def gold_alone(states: States, side: Side) -> States:
    """States whose predictions are their gold, and of which all notes have been given."""
    return replace(states, gold=side, pred=side, either=False, complete=None, only=None, notes=())
