"""Loads one run's data, of any kind: a native file, a Parquet file, a frame, or states in memory.

A long table becomes a `Run`; native files and states in memory become `States`, which gold may complete. Gold in a
folder of several splits is `SplitGold`: a run is scored on the only split that has dialogues of its predictions; or, as
ids may repeat (in SGD, most of the test set's are in the training set, too), on the only one that has all turns of the
predictions, or that has all of them and no other turns of their dialogues.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeGuard

import polars as pl

from dstbench.errors import DstbenchError, UsageError, warn
from dstbench.io import parquet
from dstbench.io.files import File, path_text
from dstbench.readers.folder import SPLITS, may_be_read, split_files
from dstbench.readers.frames import IS_FRAME, count_frames
from dstbench.readers.key_names import DIALOGUE, SLOT, folded
from dstbench.readers.options import AS_USUAL, ReadOptions, is_long
from dstbench.readers.states import States, error_in, merge_states, warn_of_notes
from dstbench.runs.align import from_long
from dstbench.runs.rules import check_long, conform_long, with_canonical_names
from dstbench.runs.run import Run, collect, fitting_footer, in_memory, stamp_of
from dstbench.runs.slot_names import report_gaps, report_slots
from dstbench.schema.core import SCHEMA_VERSION
from dstbench.tables import collect as collect_query

#: The column of a table of several runs.
_RUN: Final = "run"
_RUNS: Final = pl.col(_RUN).cast(pl.String)
# Rows of a frame that are looked at to tell what it holds.
_SAMPLE: Final = 20


class RunIn(NamedTuple):
    """One of the runs in a Parquet file with a column `run`."""

    path: Path
    run: str


def is_path(item: object) -> TypeGuard[str | PathLike[str]]:
    """Whether an item of data is a path."""
    return isinstance(item, (str, PathLike))


def are_shards(item: object) -> TypeGuard[Sequence[PathLike[str]]]:
    """Whether an item of data is several `Path`s, of one run; texts may be states as well."""
    return isinstance(item, (list, tuple)) and len(item) > 0 and all(isinstance(path, PathLike) for path in item)


def named_parts(data: Any, options: ReadOptions = AS_USUAL) -> list[tuple[str, Any]]:
    """(name, data) of each run or dataset in `data`; `options` say how it is read."""
    if isinstance(data, Mapping):
        from dstbench.readers.memory import is_document  # loads many modules, which long tables do not need

        items = list(data.values())
        is_one = not any(isinstance(item, States) or are_shards(item) for item in items) and is_document(data, options)
        return [("states", data)] if is_one else [(str(name), item) for name, item in data.items()]
    if is_path(data):
        data = [data]
    if isinstance(data, Run):
        return [(data.name, data)]
    if _is_frame(data):
        return _named_frames(data)
    if isinstance(data, Sequence) and data and all(map(is_path, data)):
        return _named_paths([Path(item) for item in data])
    if isinstance(data, Sequence) and data and all(isinstance(item, Run) for item in data):
        return [(run.name, run) for run in data]
    return [("states", data)]


def _named_paths(paths: list[Path]) -> list[tuple[str, Path | RunIn]]:
    """Each path with its title, preceded by as many parent folders as tell the paths apart."""
    parts = [[*map(path_text, path.absolute().parts[:-1]), File(path).title] for path in paths]
    for depth in range(1, max(map(len, parts))):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            break
    runs: list[list[str] | None] = []
    for path in paths:
        runs.append(None)
        if os.path.isfile(path) and (file := File(path)).is_parquet:
            with suppress(DstbenchError), parquet.reading(file.name):  # what is wrong with it, reading it will say
                runs[-1] = _runs_of(parquet.scan(file).table)
    counts = Counter(run for of_file in runs for run in of_file or ())
    counts.update(name for name, of_file in zip(names, runs, strict=True) if of_file is None)
    named: list[tuple[str, Path | RunIn]] = []
    for name, path, of_file in zip(names, paths, runs, strict=True):
        if of_file is None:
            named.append((name, path))
        named += [(f"{name}/{run}" if counts[run] > 1 else run, RunIn(path, run)) for run in of_file or ()]
    return named


def _runs_of(frame: pl.LazyFrame) -> list[str] | None:
    """The runs in a column `run`, in their order; None: there is no such column."""
    if _RUN not in frame.collect_schema():
        return None
    return collect_query(frame.select(_RUNS.unique(maintain_order=True))).to_series().to_list()


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
    frame = (pl.DataFrame(data) if not isinstance(data, (pl.DataFrame, pl.LazyFrame)) else data).lazy()
    names = _runs_of(frame)
    return [("table", frame)] if names is None else [(run, frame.filter(_RUNS.eq(run))) for run in names]


def load(name: str, item: Any, options: ReadOptions = AS_USUAL, split: str | None = None) -> Run | States:
    """One run's data (see `open.Data`): the run, if they are a long table; else the states, of `split` (None: all)."""
    if isinstance(item, Run):  # the same run if the name is, so that what it keeps is used again
        return item if item.name == name else replace(item, name=name)
    if isinstance(item, States):
        return item
    if are_shards(item):
        if len(item) > 1:  # a note names what is in none of the files, and turns are renumbered once
            as_written = replace(options, slots=None, dialogues=None, turns_from=None, turn_step=None)
            return renamed(merge_states([read_file(File(str(path)), as_written) for path in item]), options)
        item = item[0]
    if is_path(item):
        file = File(str(item))
        return _parquet(name, file, options, split) if file.is_parquet else read_file(file, options, split)
    source = name
    if isinstance(item, RunIn):
        file = File(item.path)
        source = f"{file.name}, run {item.run}"
        with parquet.reading(file.name):
            item = parquet.scan(file).table.filter(_RUNS.eq(item.run))
    if _is_frame(item):
        frames = _named_frames(item)
        if len(frames) != 1:
            raise UsageError(
                f"a frame with {len(frames)} runs, where there must be one", hint="filter it by its column run"
            )
        item = frames[0][1]
    if isinstance(item, pl.LazyFrame):
        if _is_long(item, options):
            return _checked(name, item, source, options)
        item = collect(item.select(pl.exclude(_RUN)), source)
    from dstbench.readers.memory import read_document
    from dstbench.readers.records import from_memory

    if isinstance(item, (Mapping, list, tuple)) and (states := read_document(item, source, options)) is not None:
        return renamed(states, options)
    if not isinstance(item, (pl.DataFrame, Iterable)) or isinstance(item, (bytes, Mapping)):
        hint = "give a path, a frame, or a list of states; see dstbench.scan"
        raise UsageError(f"cannot read data from an object of type {type(item).__name__}", hint=hint)
    return renamed(from_memory(item, source, options.keys, options.unreadable), options)


def _is_long(frame: pl.LazyFrame, options: ReadOptions) -> bool:
    """Whether a frame is a long table, or seems meant as one, rather than records, whose keys the user may give."""
    columns = frame.collect_schema().names()
    if is_long(columns, options.keys):
        return True
    if options.keys is not None and not options.keys.optional:
        return False
    names = {folded(name) for name in columns}
    if not names.isdisjoint(SLOT) and not names.isdisjoint(DIALOGUE):  # a row per slot, under other names
        return False
    from dstbench.readers.records import have_states  # loads many modules, which long tables do not need

    return not have_states(collect_query(frame.head(_SAMPLE)), options.keys)


def read_file(file: File, options: ReadOptions, split: str | None = None) -> States:
    """The states of a native file or folder."""
    from dstbench.readers import Source, read  # loads many modules, which long tables do not need

    return renamed(read(Source.of(file), options.format, split, options.keys, options.unreadable), options)


def renamed(states: States, options: ReadOptions) -> States:
    """States renamed and renumbered as the options say, with notes on names of the maps that the states do not have."""
    if not options.changes_states:
        return states
    from dstbench.readers.renaming import rename, renumber, with_notes_on

    if options.turns_from is not None or options.turn_step is not None:
        states = renumber(states, options.turns_from or 0, options.turn_step or 1)
    under_other_names, unused = rename(states, options.slots, options.dialogues)
    return replace(under_other_names, notes=with_notes_on(states, unused).notes)


def _parquet(name: str, file: File, options: ReadOptions, split: str | None) -> Run | States:
    """The run in a Parquet file: scanned as it is if dstbench wrote the file, otherwise sorted and checked."""
    if options.format == "records":
        return read_file(file, options, split)
    if options.format is not None:
        what = f"a Parquet file, not one of format {options.format}"
        raise file.error(what, "omit --from: it is a long table")
    path = file.utf8_path
    with parquet.reading(file.name):
        stamp = stamp_of(path)
        table, texts, is_sealed = parquet.scan(file)
        if len(_runs_of(table) or ()) > 1:
            raise file.error("a table of several runs, where there must be one", "filter it by its column run")
        if not _is_long(table, options):
            return read_file(file, options, split)
        height = table.select(pl.len()).collect().item()
    conformed = conform_long(table, source=file.name)
    footer = fitting_footer(file, texts, height=height)
    if footer is None:  # another program wrote it, or edited it later
        return _checked(name, parquet.read(file).lazy(), file.name, options)
    meta, cuts, gold = footer
    fingerprint = int(gold, 16) if gold is not None and is_sealed else None  # unsealed, the rows may be others
    return Run(name, conformed, meta, cuts, path=path, stamp=stamp, fingerprint=fingerprint)


def _checked(name: str, frame: pl.LazyFrame, source: str, options: ReadOptions) -> Run | States:
    """A run from any table with the long table's columns, which is made canonical, sorted and checked."""
    table = with_canonical_names(collect(conform_long(frame, source=source), source), source=source)
    table = table.sort("dialogue", "slot", "turn")
    coverage = check_long(table, source=source)
    if options.changes_states:
        return renamed(from_long(table, source), options)
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


if TYPE_CHECKING:  # readers import many modules, which long tables do not need
    from dstbench.readers import Format, Source

_KEY: Final = ["dialogue", "turn"]
#: The order in which splits are looked at: predictions are most often of the test set.
_ORDER: Final = ("test", "dev", "train")


# How a split may have predictions, and what is said of it where it is the only one that does.
_OVERLAPS: Final = {
    "some": "in which it has dialogues",
    "whole": "that has all its turns",
    "exact": "in which its dialogues have no other turns",
}


class SplitGold:
    """Gold in a folder of several splits, whose `files` are of at least two; `options` say how runs are read."""

    def __init__(self, folder: Source, files: list[Source], options: ReadOptions) -> None:
        self.source = folder.name
        self._folder = folder
        self._options = options.for_gold()
        self._files = {split: [file for file in files if file.split == split] for split in _ORDER}
        self._files = {split: files for split, files in self._files.items() if files}
        self.splits = list(self._files)
        self._states: dict[str, States] = {}

    def of(self, states: States) -> States:
        """The gold states of the split that has these predictions."""
        if states.pred is None:
            what = f"only gold tells which dialogues it has ({states.format}), and {self.source} has several splits"
            raise error_in(states, what, f"choose one: --split {next(iter(self._files))}")
        split = self._split_of(states.source, states.pred.turns)
        if split not in self._states:
            from dstbench.readers import read

            self._states[split] = renamed(read(self._folder, split=split, keys=self._options.keys), self._options)
            warn_of_notes(self._states[split])
        return self._states[split]

    def _split_of(self, source: str, predicted: pl.DataFrame) -> str:
        """The split of predictions that have these turns, in the file `source`."""
        dialogues = predicted.select(pl.col("dialogue").unique())
        of_kind: dict[str, list[str]] = {kind: [] for kind in _OVERLAPS}
        for split in self._files:
            has, lacks, more = 0, 0, 0
            for turns in self._turns(split):
                of_dialogues = turns.join(dialogues, on="dialogue", how="semi")
                of_file = predicted.join(turns.select(pl.col("dialogue").unique()), on="dialogue", how="semi")
                shared = of_file.join(of_dialogues, on=_KEY, how="semi").height
                has, lacks = has + of_file.height, lacks + of_file.height - shared
                more += of_dialogues.height - shared
                if lacks and of_kind["whole"]:  # another split has all turns
                    break
            is_whole = not lacks and has == predicted.height
            for kind, is_of_kind in zip(_OVERLAPS, (has, is_whole, is_whole and not more), strict=True):
                of_kind[kind] += [split] if is_of_kind else []
        for kind, reason in _OVERLAPS.items():  # the first kind that only one split is of
            if len(of_kind[kind]) == 1:
                (split,) = of_kind[kind]
                warn(f"scored on the split {split}, the only one of {self.source} {reason}", file=source)
                return split
        if some := sorted(of_kind["exact"] or of_kind["whole"] or of_kind["some"]):
            what = f"predictions in the splits {', '.join(some)} of {self.source}"
            raise DstbenchError(what, file=source, hint=f"choose one: --split {some[-1]}")
        return next(iter(self._files))  # then alignment says that no turn is in both sides

    def _turns(self, split: str) -> Iterator[pl.DataFrame]:
        """The turns (dialogue, turn) of each data file of a split."""
        from dstbench.readers import sniff

        form: Format | None = None
        for file in self._files[split]:
            if not may_be_read(file):
                continue
            turns = None if form is None else form.outlined(file)
            if turns is None and (sniffed := sniff(file)) is not None:
                form = sniffed
                turns = form.turns(file)
            file.forget()
            if turns is not None:
                yield turns


def split_gold(gold: Any, split: str | None = None, options: ReadOptions = AS_USUAL) -> SplitGold | None:
    """Gold of several splits; None: it is not in a folder of several splits, or one of them is chosen (`split`)."""
    parts = named_parts(gold)
    if split is not None or len(parts) != 1 or not isinstance(parts[0][1], (str, PathLike)):
        return None
    from dstbench.readers import Source

    folder = Source(fspath(parts[0][1]))
    if not folder.is_folder:
        return None
    files, _ = split_files(folder)
    for file in files:
        file.keys = options.for_gold().keys
    splits = {file.split for file in files} & set(SPLITS.values())
    return SplitGold(folder, files, options) if len(splits) > 1 else None
