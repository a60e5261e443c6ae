"""Writes many files as one long table: part by part, in parallel, continuing where an interrupted call stopped.

Each file becomes a part: a long table of its own in a hidden folder beside the output. A part's footer says from which
file (its size and modification time) and with which settings it was made; a part that is still valid is not made again.
Then the parts are merged dialogue by dialogue, and the folder is removed. So memory holds at most one file per process,
and then one row group per part.

Conventions: warnings come in the order of the files, whichever is ready first. If a dialogue is in several files, the
files cannot be laid out one by one, and all are read at once, in memory. The same is done if a file lacks some of
gold's turns where missing turns are an error, because another file may have them, and if gold is in a folder of several
splits of which none is chosen, because all predictions together tell the split.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final

import polars as pl

from dstbench._version import __version__
from dstbench.errors import DstbenchError, DstbenchWarning, warn
from dstbench.io import parquet
from dstbench.io.atomic import parts_of, sharing
from dstbench.io.files import File, path_text
from dstbench.plugins import in_use, use
from dstbench.readers import Format, Source, find_files, read
from dstbench.readers.options import AS_USUAL, ReadOptions
from dstbench.readers.registry import PLUGINS as FOREIGN
from dstbench.readers.renaming import Unused, rename, with_notes_on
from dstbench.readers.states import States, in_split, name_of_all, warn_of_notes
from dstbench.runs.align import OtherTurnsError, to_long, unpredicted
from dstbench.runs.load import renumbered
from dstbench.runs.open import of_split, open_gold, read_run, write_long
from dstbench.runs.parquet import ForeignError, read_footer, write_groups, write_table
from dstbench.runs.run import cuts_at, cuts_of, run_meta
from dstbench.runs.slot_names import COLUMNS, report_other_slots, slot_counts
from dstbench.runs.splits import split_gold
from dstbench.schema.core import SCHEMA_VERSION
from dstbench.typing import Missing

_LOG: Final = logging.getLogger(__name__)
# Rows of a part's row group: while parts are merged, one row group of each is in memory.
_GROUP: Final = 16_384
# Bytes of input for which another process is worth its start.
_PER_PROCESS: Final = 1 << 26


@dataclass(frozen=True)
class _Piece:
    """One file of a run, where its part is written, and how it is read (see `convert`)."""

    path: str
    part: Path
    options: ReadOptions
    folder_split: str | None  # the split that its folder or its name says
    gold: str | None
    missing: Missing
    split: str | None


@dataclass(frozen=True)
class Converted:
    """The outcome of `convert`."""

    coverage: Mapping[str, int]  # counts of turns and dialogues (see `align.Aligned`)
    files: int  # number of files
    kept: int  # number of files whose parts were already valid


def convert(
    name: str,
    files: Sequence[str],
    output: Path,
    *,
    gold: str | None = None,
    options: ReadOptions = AS_USUAL,
    missing: Missing = "error",
    split: str | None = None,
    jobs: int | None = None,
) -> Converted:
    """Write the long table of one run.

    Args:
        name: Name of the run.
        files: Its files or folders.
        output: The Parquet file to write.
        gold: The file of the gold states; None: they are in `files`.
        options: How the files are read.
        missing: What to do with gold turns that have no prediction.
        split: The split to keep, if there are several; None: all.
        jobs: Number of processes that read files, at most one per file; None: one per processor, fewer if the input is
            small.

    Raises:
        DstbenchError: A file cannot be used. Finished parts are kept for the next call.
    """
    options.check()
    folder = parts_of(output)
    pieces = list(_pieces(files, folder, options, gold=gold, missing=missing, split=split))
    has_pipe = any(Source(path).is_pipe for path in (*files, *filter(None, [gold])))
    in_parts = len(pieces) > 1 and not has_pipe and (gold is None or split_gold(gold, split) is None)
    with sharing(folder, output) if in_parts or os.path.exists(folder) else nullcontext():
        if in_parts:
            try:
                if gold is not None:
                    _gold_states(
                        gold, split, options.for_gold()
                    )  # first, so that an error in it is not raised only after files are read
                unfinished = [piece for piece in pieces if not _is_made(piece)]
                _make_parts(unfinished, jobs)
                coverage = _merge_parts(name, files, output, pieces)
                return Converted(coverage, len(pieces), len(pieces) - len(unfinished))
            except (_DividedError, OtherTurnsError):  # turns that one file lacks may be in another
                _LOG.info("the files cannot be laid out one by one: reading all at once")
            except DstbenchError as error:
                if error.file is None or Path(error.file).parent != folder:
                    raise
                raise DstbenchError(error.what, file=str(output), hint=error.hint) from None  # parts are hidden
            finally:
                _gold_states.cache_clear()
        run = read_run(name, files, gold=gold, options=options, missing=missing, split=split)
        write_long(run, output)
        return Converted(run.meta["coverage"], len(pieces), 0)


class _DividedError(Exception):
    """The parts cannot be merged: all files have to be read at once."""


def _pieces(
    files: Sequence[str], folder: Path, options: ReadOptions, *, gold: str | None, missing: Missing, split: str | None
) -> Iterator[_Piece]:
    """The files of a run, with those in folders."""
    for name in files:
        source = Source(name)
        source.keys = options.keys
        source.check()
        named_files: list[tuple[str, str | Format | None, str | None]] = [(name, options.format, None)]
        if source.is_folder:
            folder_files = find_files(source, options.format, split)
            named_files = [(str(file.path), form.name, file.split) for file, form in folder_files]
        for path, form_name, folder_split in named_files:
            file_options = replace(options, format=form_name)
            hashed = blake2b(os.fsencode(os.path.abspath(path)), digest_size=12).hexdigest()
            yield _Piece(path, folder / f"{hashed}.parquet", file_options, folder_split, gold, missing, split)


@cache
def _gold_states(gold: str, split: str | None, options: ReadOptions) -> States:
    return open_gold(gold, split, options)


def _made_of(piece: _Piece) -> list[Any]:
    """Everything that a part depends on, as in a footer: decoded from JSON."""
    stamps = Source(piece.path).stamps(), piece.gold and Source(piece.gold).stamps()
    readers = [__version__, *FOREIGN.origins()]
    made_of = [*readers, SCHEMA_VERSION, *stamps, asdict(piece.options), piece.missing, piece.split]
    return list(json.loads(json.dumps(made_of)))


def _is_made(piece: _Piece) -> bool:
    """Whether an undamaged part exists that was made from the file as it is now, with these settings."""
    try:
        meta, _, sums, _ = read_footer(parquet.scan(File(piece.part)).texts)
        is_whole = parquet.checksums(piece.part, [end for end, _ in sums]) == sums
    except (OSError, ForeignError, TypeError, ValueError):
        return False
    return is_whole and bool(meta.get("made_of") == _made_of(piece))


def _make_parts(pieces: Sequence[_Piece], jobs: int | None) -> None:
    """Make the parts of these files; if several fail, the error of the first one in their order is raised."""
    if jobs is None:
        size = sum(size for piece in pieces for _, size, _ in Source(piece.path).stamps())
        jobs = min(_processors(), size // _PER_PROCESS)
    jobs = min(jobs, len(pieces))
    if jobs <= 1:
        for number, piece in enumerate(pieces, 1):
            _LOG.info(
                "%s (file %s of %s)", piece.path, number, len(pieces), extra={"done": number - 1, "of": len(pieces)}
            )
            _make_part(piece)
        return
    try:
        set_up = (max(1, _processors() // jobs), in_use())
        with ProcessPoolExecutor(jobs, get_context("spawn"), _set_up_worker, set_up) as pool:
            try:
                futures = [pool.submit(_make_part, piece) for piece in pieces]
                for number, future in enumerate(as_completed(futures), 1):
                    _LOG.info(
                        "%s of %s files have been read", number, len(pieces), extra={"done": number, "of": len(pieces)}
                    )
                    if not future.cancelled() and future.exception() is not None:
                        pool.shutdown(wait=False, cancel_futures=True)
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
        for future in futures:
            if not future.cancelled():
                future.result()
    except BrokenProcessPool:
        raise DstbenchError(
            "a process that reads files was killed, perhaps because memory ran out",
            hint="finished files are kept: try again with fewer at a time (--jobs 1)",
        ) from None


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _set_up_worker(threads: int, modules: Sequence[str]) -> None:
    """Give a worker process its threads and the user's modules; make it exit with its parent or when interrupted."""
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    use(modules)
    threading.Thread(target=_exit_with, args=(parent_process(),), daemon=True).start()
    signal.signal(signal.SIGINT, lambda *_: os._exit(1))


def _exit_with(parent: BaseProcess | None) -> None:
    """Wait until the parent process has ended, and exit."""
    if parent is not None:
        parent.join()
        os._exit(1)


def _make_part(piece: _Piece) -> None:
    """Read one file and write its part; the part's footer keeps the warnings about the file."""
    made_of = _made_of(piece)  # before reading, as the file may change meanwhile
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DstbenchWarning)
        gold = None if piece.gold is None else _gold_states(piece.gold, piece.split, piece.options.for_gold())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DstbenchWarning)
        states = read(Source(piece.path), piece.options.format, keys=piece.options.keys)
        if piece.folder_split is not None and states.splits is None:
            states = in_split(states, piece.folder_split)
        states, unused = rename(renumbered(states, piece.options), piece.options.slots, piece.options.dialogues)
        states = of_split(states, piece.split, gold)
        aligned = to_long(states, gold, missing=piece.missing, is_part=True)
    meta = run_meta(
        path_text(piece.path),
        aligned.frames,
        format=states.format,
        coverage=aligned.coverage,
        left_out=aligned.left_out,
        only=states.only,
        unused=unused,
        slots=slot_counts(aligned.table).rows(),
        warnings=[vars(warning.message) for warning in caught if issubclass(warning.category, DstbenchWarning)],
        made_of=made_of,
    )
    write_table(piece.part, aligned.table, meta, cuts_of(aligned.table, _GROUP))


class _Part:
    """Reads the rows of a part in order."""

    def __init__(self, path: Path) -> None:
        self.table, _, texts = parquet.scan(File(path))
        footer = read_footer(texts)
        self.meta, self.fingerprint = footer.meta, int(footer.fingerprint, 16)
        self._start = 0

    def take(self, rows: int) -> pl.DataFrame:
        """The next rows, as many as asked for."""
        self._start += rows
        return self.table.slice(self._start - rows, rows).collect()


def _merge_parts(name: str, files: Sequence[str], output: Path, pieces: Sequence[_Piece]) -> dict[str, int]:
    """Write the parts as one long table; returns its coverage."""
    first, parts = pieces[0], [_Part(piece.part) for piece in pieces]
    index = _index(parts)
    coverages = [part.meta["coverage"] for part in parts]
    frames = [part.meta["frames"] for part in parts if "frames" in part.meta]
    scored = sum(counts["turns"] for counts in coverages)
    if first.missing != "intersect":
        scored -= sum(counts["missing_turns"] for counts in coverages)
    # The files are also read at once if no turn is in both sides (then an error), or if only some files have frames.
    if index["dialogue"].is_duplicated().any() or scored == 0 or 0 < len(frames) < len(parts):
        raise _DividedError
    for part in parts:
        for warning in part.meta["warnings"]:
            warn(DstbenchWarning(**warning))
    _warn_of_unused(name_of_all(files), parts)
    only = parts[0].meta["only"]
    counts = [pl.DataFrame(part.meta["slots"], schema=COLUMNS, orient="row") for part in parts]
    gold = None
    if first.gold is not None:
        gold = _gold_states(first.gold, first.split, first.options.for_gold())
        left_out = [dialogue for part in parts for dialogue in part.meta["left_out"]]
        predicted = pl.concat([index["dialogue"], pl.Series(left_out, dtype=pl.String)])
        rest = unpredicted(name_of_all(files), gold, predicted, missing=first.missing)
        coverages.append(rest.coverage)
        frames += [rest.frames] if rest.frames else []
        counts.append(slot_counts(rest.table))
        path = first.part.with_name("rest.parquet")
        write_table(path, rest.table, {}, cuts_of(rest.table, _GROUP))
        parts.append(_Part(path))
        index = _index(parts)
    report_other_slots(name_of_all(files), pl.concat(counts).group_by("slot").sum().sort("slot"))
    coverage = _summed(coverages)
    meta = run_meta(
        name,
        _summed(frames) if frames else None,
        files=list(map(path_text, files)),
        format=parts[0].meta["format"],
        gold=gold and gold.source,
        missing=first.missing,
        coverage=coverage,
        **first.options.signed,
        **({"only": only} if only else {}),
    )
    index = index.sort("dialogue").with_columns(end=pl.col("rows").cum_sum())
    begins = index["end"] - index["rows"]
    cuts = cuts_at(begins.slice(1), int(index["rows"].sum()))
    _LOG.info("writing %s (%s rows)", output, f"{cuts[-1]:,}")
    fingerprint = sum(
        part.fingerprint for part in parts
    )  # a sum over turns, which does not depend on where the table is cut
    write_groups(output, _merged(parts, index, begins, cuts), meta, cuts, fingerprint)
    return coverage


def _warn_of_unused(source: str, parts: Sequence[_Part]) -> None:
    """Warn of names in the maps that no part has."""
    of_parts = [[set(names) for names in part.meta["unused"]] for part in parts]
    unused = Unused(*(set.intersection(*of_kind) for of_kind in zip(*of_parts, strict=True)))
    warn_of_notes(with_notes_on(States(source, "", None, None), unused))


def _summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """The sum of each count over parts."""
    return {key: sum(part[key] for part in counts) for key in counts[0]}


def _index(parts: Sequence[_Part]) -> pl.DataFrame:
    """(dialogue, rows: number of its rows, part: index of its part), part by part."""
    indices = []
    for number, part in enumerate(parts):
        runs = part.table.select("dialogue").collect().to_series().rle().struct.unnest()
        indices.append(runs.select(dialogue="value", rows="len", part=pl.lit(number)))
    return pl.concat(indices)


def _merged(
    parts: Sequence[_Part], index: pl.DataFrame, begins: pl.Series, cuts: tuple[int, ...]
) -> Iterator[pl.DataFrame]:
    """The rows of all parts in the order of `index`, cut at `cuts`; `begins`: the first row of each dialogue."""
    for start, end in pairwise(cuts):
        by_part = index.filter((begins >= start) & (begins < end)).group_by("part", maintain_order=True)
        tables = [parts[number].take(rows) for number, rows in by_part.agg(pl.col("rows").sum()).iter_rows()]
        yield tables[0] if len(tables) == 1 else pl.concat(tables).sort("dialogue", maintain_order=True)
