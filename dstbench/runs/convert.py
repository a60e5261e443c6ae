"""Many files to one long table: in parts, in parallel processes, and from where it was if it is interrupted.

Each file becomes a part, a long table of its own in a hidden folder beside the output. A part says in its footer of
which file (its size and time of change) and with which settings it was made; one that still fits is not made again.
The parts are then put together dialogue by dialogue and the folder is removed. So there are never more than as many
files in memory as there are processes, and of the parts a row group each.

Conventions: what is said of the files is said in their order, whichever was ready first. Where a dialogue is in several
files (or may be: its file lacks some of gold's turns, and nothing is said of missing ones), no file can be laid
out by itself: then all are read at once, in memory.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

import dstbench
from dstbench.errors import DstbenchError, DstbenchWarning
from dstbench.io.atomic import sharing
from dstbench.readers import Source, find_files, read
from dstbench.readers.folder import split_of
from dstbench.readers.states import Side, States, in_split
from dstbench.runs.align import MissingTurnsError, split_of_predictions, to_long, unpredicted
from dstbench.runs.open import cuts_at, of_split, open_gold, read_run, run_meta, write_long
from dstbench.runs.parquet import write_groups, written_fingerprint, written_meta
from dstbench.schema.core import LONG, SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from multiprocessing.process import BaseProcess

    from dstbench.typing import Missing

_LOG: Final = logging.getLogger(__name__)
# Rows of a part's row group: of each part, one is in memory while they are put together.
_GROUP: Final = 16_384
_REST: Final = "rest.parquet"
# Bytes of input from which one more process is worth its start.
_PER_PROCESS: Final = 1 << 26


@dataclass(frozen=True)
class Reading:
    """How the files of a run are read.

    Attributes:
        gold: Path of the gold states; None: they are inside.
        missing: What to do with gold turns that have no prediction.
        split: The split to keep; None: all.
    """

    gold: str | None
    missing: Missing
    split: str | None


@dataclass(frozen=True)
class Piece:
    """One file of a run.

    Attributes:
        path: Where it is.
        format: Its format; None: find out.
        split: The split that its folder is called after.
        part: Where its part is, or will be.
    """

    path: str
    format: str | None
    split: str | None
    part: Path


@dataclass(frozen=True)
class Converted:
    """What became of a run's files.

    Attributes:
        coverage: Counts of turns and dialogues (see `align.Aligned`).
        files: How many files there are.
        kept: Of how many the part was there from before.
    """

    coverage: Mapping[str, int]
    files: int
    kept: int


def convert(
    name: str,
    files: Sequence[str],
    output: Path,
    *,
    gold: str | None = None,
    format: str | None = None,  # noqa: A002 (the field's word)
    missing: Missing = "error",
    split: str | None = None,
    jobs: int | None = None,
) -> Converted:
    """Write the long table of one run.

    Args:
        name: Name of the run.
        files: Its files or folders.
        output: The Parquet file to write.
        gold: Gold states, where they are not inside.
        format: Native format of the files; None: find out.
        missing: What to do with gold turns that have no prediction.
        split: The split to keep, where there are several.
        jobs: How many processes read files, at most one per file; None: one per processor, fewer for little input.

    Raises:
        DstbenchError: A file cannot be used. Finished parts are kept, and used when it is tried again.
    """
    folder = output.with_name(f".{output.name}.parts")
    pieces = list(_pieces(files, format, split, folder))
    in_parts = len(pieces) > 1 and not any(Source(path).is_pipe for path in (*files, *filter(None, [gold])))
    with sharing(folder, output) if in_parts or os.path.exists(folder) else nullcontext():
        if in_parts:
            try:
                return _in_parts(name, files, output, pieces=pieces, reading=Reading(gold, missing, split), jobs=jobs)
            except _DividedError:
                _LOG.info("a dialogue is in several files: reading all at once")
        run = read_run(name, files, gold=gold, format=format, missing=missing, split=split)
        write_long(run, output)
        return Converted(run.meta["coverage"], len(pieces), 0)


class _DividedError(Exception):
    """A dialogue is, or may be, in several files."""


def _in_parts(
    name: str, files: Sequence[str], output: Path, *, pieces: Sequence[Piece], reading: Reading, jobs: int | None
) -> Converted:
    try:
        if reading.gold is not None:
            _gold_states(reading.gold, reading.split)  # says what there is to say, before the first file takes its time
        kept = [piece for piece in pieces if _fits(piece, reading)]
        _make([piece for piece in pieces if piece not in kept], reading, jobs)
        coverage = _put_together(name, files, output, pieces, reading)
    except MissingTurnsError:  # by itself, but others may have them
        raise _DividedError from None
    except DstbenchError as error:
        if error.file is None or Path(error.file).parent != pieces[0].part.parent:
            raise
        raise DstbenchError(error.what, file=str(output), hint=error.hint) from None  # a part is no user's concern
    finally:
        _gold_states.cache_clear()
    return Converted(coverage, len(pieces), len(kept))


def _pieces(files: Sequence[str], form: str | None, split: str | None, folder: Path) -> Iterator[Piece]:
    """The files, those in folders too."""
    for path in files:
        source = Source(path)
        source.check()
        if source.is_folder:
            for file, found in find_files(source, form, split):
                yield Piece(file.name, found.name, split_of(source, file), _part_of(folder, file.name))
        else:
            yield Piece(path, form, None, _part_of(folder, path))


def _part_of(folder: Path, path: str) -> Path:
    return folder / f"{blake2b(os.path.abspath(path).encode(), digest_size=12).hexdigest()}.parquet"


# --- parts ---------------------------------------------------------------------------------------------------------


@cache
def _gold_states(gold: str, split: str | None) -> States:
    return open_gold(gold, split)


def _made_of(piece: Piece, reading: Reading) -> dict[str, Any]:
    """All that a part depends on, as JSON has it."""
    made_of = {
        "version": dstbench.__version__,
        "schema_version": SCHEMA_VERSION,
        "file": Source(piece.path).stamps(),
        "gold": reading.gold and Source(reading.gold).stamps(),
        **{key: value for key, value in asdict(piece).items() if key in ("format", "split")},
        **{key: value for key, value in asdict(reading).items() if key != "gold"},
    }
    return dict(json.loads(json.dumps(made_of)))


def _fits(piece: Piece, reading: Reading) -> bool:
    """Whether the part is there, whole, and made of the file as it is now, with these settings."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        meta = written_meta(piece.part)
        pq.read_table(piece.part, page_checksum_verification=True)
    except (OSError, pa.ArrowException, pl.exceptions.PolarsError, KeyError, ValueError):
        return False
    return bool(meta.get("made_of") == _made_of(piece, reading))


def _make(pieces: Sequence[Piece], reading: Reading, jobs: int | None) -> None:
    """Make the parts of these files; the first file of which none can be made is reported, the others' are kept."""
    if jobs is None:
        size = sum(size for piece in pieces for _, size, _ in Source(piece.path).stamps())
        jobs = min(_processors(), size // _PER_PROCESS)
    jobs = min(jobs, len(pieces))
    if jobs <= 1:
        for number, piece in enumerate(pieces, 1):
            _LOG.info("%s (file %s of %s)", piece.path, number, len(pieces))
            _make_part(piece, reading)
        return
    failed: dict[str, DstbenchError] = {}
    with ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (max(1, _processors() // jobs),)) as pool:
        making = {pool.submit(_make_part, piece, reading): piece for piece in pieces}
        try:
            for number, future in enumerate(as_completed(making), 1):
                _LOG.info("%s of %s files are read", number, len(pieces))
                if not future.cancelled() and (error := future.exception()) is not None:
                    if isinstance(error, BrokenProcessPool):
                        raise DstbenchError(
                            "a process that reads files was ended from outside, perhaps for want of memory",
                            hint="what is finished is kept: try again, with fewer at a time (--jobs 1)",
                        )
                    if not isinstance(error, DstbenchError):
                        raise error
                    failed[making[future].path] = error
                    pool.shutdown(wait=False, cancel_futures=True)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    for piece in pieces:
        if piece.path in failed:
            raise failed[piece.path]


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _begin(threads: int) -> None:
    """What a process that reads files does first: it shares the processors, and does not outlive the one that asked."""
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    threading.Thread(target=_end_with, args=(parent_process(),), daemon=True).start()
    signal.signal(signal.SIGINT, lambda *_: os._exit(1))


def _end_with(parent: BaseProcess | None) -> None:
    if parent is not None:
        parent.join()
        os._exit(1)


def _make_part(piece: Piece, reading: Reading) -> None:
    """Read one file and write its part, with all that was said of it."""
    made_of = _made_of(piece, reading)  # as it was before it was read
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DstbenchWarning)
        gold = None if reading.gold is None else _gold_states(reading.gold, reading.split)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", DstbenchWarning)
        states = read(Source(piece.path), piece.format)
        if piece.split is not None and states.splits is None:
            states = in_split(states, piece.split)
        states = of_split(states, reading.split, gold)
        aligned = to_long(states, gold, missing=reading.missing, is_part=True)
    meta = run_meta(
        piece.path,
        aligned.frames,
        format=states.format,
        missing=reading.missing,
        coverage=aligned.coverage,
        left_out=aligned.left_out,
        only=states.only,
        said=[str(warning.message) for warning in said if issubclass(warning.category, DstbenchWarning)],
        made_of=made_of,
    )
    _write(aligned.table, piece.part, meta)


def _write(table: pl.DataFrame, path: Path, meta: Mapping[str, Any]) -> None:
    begins = table.select(pl.arg_where(pl.col("dialogue") != pl.col("dialogue").shift(1))).to_series()
    cuts = cuts_at(begins, table.height, _GROUP)
    write_groups(path, (table.slice(start, end - start) for start, end in pairwise(cuts)), meta, cuts)


# --- the whole -----------------------------------------------------------------------------------------------------


class _Part:
    """A part's rows, from its first to its last, a row group at a time."""

    def __init__(self, path: Path) -> None:
        self._path, self._next, self._rows = path, 0, LONG.schema.to_frame()
        self.fingerprint = written_fingerprint(path)

    def dialogues(self) -> pl.DataFrame:
        """(dialogue: String, rows: UInt32), in the order of the rows."""
        runs = pl.read_parquet(self._path, columns=["dialogue"]).to_series().rle().struct.unnest()
        return runs.select(dialogue="value", rows="len")

    def take(self, rows: int) -> pl.DataFrame:
        """The next rows."""
        import pyarrow.parquet as pq

        taken = [self._rows]
        height = self._rows.height
        while height < rows:
            with pq.ParquetFile(self._path) as file:  # not left open: there may be more parts than open files
                taken.append(pl.DataFrame(file.read_row_group(self._next)))
            self._next += 1
            height += taken[-1].height
        whole = pl.concat(taken)
        self._rows = whole.slice(rows)
        return whole.head(rows)


def _put_together(
    name: str, files: Sequence[str], output: Path, pieces: Sequence[Piece], reading: Reading
) -> dict[str, int]:
    """Write the parts as one long table; returns its coverage."""
    source = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    metas = [written_meta(piece.part) for piece in pieces]
    parts = [_Part(piece.part) for piece in pieces]
    index = _index(parts)
    coverages = [meta["coverage"] for meta in metas]
    absent = 0 if reading.missing == "intersect" else sum(counts["missing_turns"] for counts in coverages)
    frames = [meta["frames"] for meta in metas if "frames" in meta]
    is_mixed = 0 < len(frames) < len(metas)  # which frames there are is known of some turns only
    if is_mixed or index["dialogue"].is_duplicated().any() or sum(counts["turns"] for counts in coverages) == absent:
        raise _DividedError  # or no turn is in both gold and predictions
    for meta in metas:
        for text in meta["said"]:
            warnings.warn(text, DstbenchWarning, stacklevel=2)
    gold = None
    if reading.gold is not None:
        gold = _gold_states(reading.gold, reading.split)
        known = Side(index.select("dialogue", turn=pl.lit(0, pl.UInt16)), LONG.schema.to_frame())
        of_run = split_of_predictions(States(source, "", None, known), gold)
        left_out = pl.Series([dialogue for meta in metas for dialogue in meta["left_out"]], dtype=pl.String)
        there = pl.concat([index["dialogue"], left_out])
        rest = unpredicted(source, of_run or gold, there, missing=reading.missing)
        coverages.append(rest.coverage)
        frames += [rest.frames] if rest.frames else []
        path = pieces[0].part.with_name(_REST)
        _write(rest.table, path, {})
        parts.append(_Part(path))
        index = _index(parts)
    coverage = {key: sum(counts[key] for counts in coverages) for key in coverages[0]}
    meta = run_meta(
        name,
        {key: sum(counts[key] for counts in frames) for key in frames[0]} if frames else None,
        files=list(files),
        format=metas[0]["format"],
        gold=gold and gold.source,
        missing=reading.missing,
        coverage=coverage,
        **({"only": metas[0]["only"]} if metas[0]["only"] else {}),
    )
    index = index.sort("dialogue").with_columns(end=pl.col("rows").cum_sum())
    begins = index["end"] - index["rows"]
    cuts = cuts_at(begins.slice(1), int(index["rows"].sum()))
    _LOG.info("writing %s (%s rows)", output, f"{cuts[-1]:,}")
    said = [part.fingerprint for part in parts if part.fingerprint is not None]
    fingerprint = sum(said) if len(said) == len(parts) else None  # it depends neither on order nor on cuts
    write_groups(output, _merged(parts, index, begins, cuts), meta, cuts, fingerprint)
    return coverage


def _index(parts: Sequence[_Part]) -> pl.DataFrame:
    """(dialogue, rows, part: number of its part) of all parts."""
    return pl.concat([part.dialogues().with_columns(part=pl.lit(number)) for number, part in enumerate(parts)])


def _merged(
    parts: Sequence[_Part], index: pl.DataFrame, begins: pl.Series, cuts: tuple[int, ...]
) -> Iterator[pl.DataFrame]:
    """The rows of all parts in the order of `index`, cut at `cuts`."""
    for start, end in pairwise(cuts):
        wanted = index.filter((begins >= start) & (begins < end)).group_by("part", maintain_order=True)
        taken = [parts[number].take(rows) for number, rows in wanted.agg(pl.col("rows").sum()).iter_rows()]
        yield taken[0] if len(taken) == 1 else pl.concat(taken).sort("dialogue", maintain_order=True)
