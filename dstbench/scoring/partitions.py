"""Partitions of a run, cut where dialogues begin, so that sums over partitions add up to those over the run.

Only a few partitions are in memory at a time, and one is read while others are counted. An engine applies a function to
all partitions: the threads of this process by default, or a cluster (`engine`). Small runs keep their
partition for the next function, because commands go through the same runs many times.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, get_args

import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.errors import DstbenchError, UsageError, check_known
from dstbench.readers.frames import IS_FRAME
from dstbench.runs.gold import CELL_HASH, TURN_HASH
from dstbench.runs.run import Run
from dstbench.scoring.rows import IS_NEW, Rows, lay_out
from dstbench.scoring.turns import counted_turns, scored_turns, turn_table
from dstbench.scoring.values import C
from dstbench.tables import collect
from dstbench.typing import EngineName, View

T = TypeVar("T")

_LOG: Final = logging.getLogger(__name__)
# A run of at most this many rows keeps its part for the next function.
_KEPT_ROWS: Final = 2**18


class Turns(NamedTuple):
    """Turn tables of a part."""

    whole: pl.LazyFrame  # all turns
    scored: pl.LazyFrame  # those that the convention scores
    counted: pl.LazyFrame  # the rows to sum: the scored turns, or in a view those rows that count


@dataclass(frozen=True)
class Part:
    """A part of a run: the rows of whole dialogues (schema `LONG`), and what has been computed of them."""

    long: pl.DataFrame
    has_frames: bool  # whether some rows describe frames
    _rows: dict[bool, Rows] = field(default_factory=dict)

    @cached_property
    def table(self) -> pl.DataFrame:
        """The rows that do not describe frames."""
        return self.long.filter(~IS_FRAME) if self.has_frames else self.long

    def rows(self, *, frames: bool = False) -> Rows:
        """The rows, prepared for expressions; `frames`: with those of gold's frames."""
        if frames not in self._rows:
            self._rows[frames] = lay_out(self.table if self.has_frames and not frames else self.long, frames=frames)
        return self._rows[frames]

    def turns(
        self,
        convention: Convention,
        view: View | None = None,
        counts: Mapping[str, pl.Expr] | None = None,
        *,
        frames: bool = False,
    ) -> Turns:
        """The turns of whole states and, in a view, of their parts; `counts`: what is summed besides (`turn_table`)."""
        whole = turn_table(self.rows().with_counts(convention), counts=counts)
        scored = scored_turns(whole, convention)
        if view is None:
            return Turns(whole, scored, scored)
        if frames:  # their rows have no slot, and add nothing to counts of slots
            of_slots = {
                name: pl.when(C("slot").is_not_null()).then(one).otherwise(0) for name, one in (counts or {}).items()
            }
            counts = {name: C(name) for name in ("is_frame", "right_intent", "requested_f1")} | of_slots
        in_view = turn_table(self.rows(frames=frames).with_counts(convention), view, counts)
        return Turns(whole, scored, counted_turns(scored, in_view, view, convention, frames=frames))

    def fingerprint(self, convention: Convention, scored: pl.DataFrame) -> int:
        """The fingerprint (`runs.gold`) of gold under the convention, over its scored turns (`number`, `turn`)."""
        counted = self.turn_hashes.join(scored, on=["number", "turn"], how="semi")
        changes = self.rows().judged(convention).filter(IS_NEW["g"]).join(counted.lazy(), on=["number", "turn"])
        cells = collect(changes.with_columns(gold="g").select(hash=CELL_HASH))
        return int(pl.concat([counted["hash"], cells["hash"]]).sum())

    @cached_property
    def turn_hashes(self) -> pl.DataFrame:
        """(number, turn, hash: `runs.gold.TURN_HASH`)."""
        turns = self.rows().table.lazy().select("number", "turn", "dialogue").unique(["number", "turn"])
        return collect(turns.select("number", "turn", hash=TURN_HASH))


#: Applies a function to every partition of a run; the results are in the partitions' order.
Engine: TypeAlias = Callable[[Run, Callable[[pl.DataFrame], Any]], list[Any]]
_ENGINE: Final[ContextVar[Engine | None]] = ContextVar("engine", default=None)


def over_parts(run: Run, function: Callable[[Part], T]) -> list[T]:
    """Apply a function to every partition; the results are in the partitions' order.

    The function may be called in several threads, or in other processes, and must not change the partition. Whatever it
    refers to or returns must keep its meaning when it is pickled: strings or dictionary columns, never codes.
    """
    if (engine := _ENGINE.get()) is not None:
        return engine(run, partial(_on_rows, function, run.name, run.derive, "frames" in run.meta))
    results = []
    # One thread more than there are cores, so that one can read while the others count.
    threads = min(len(run.cuts) - 1, pl.thread_pool_size() + 1)
    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        try:
            for result in (pool.map if pool else map)(lambda place: function(_part(run, *place)), pairwise(run.cuts)):
                results.append(result)
                if pool:
                    _LOG.info("scoring %s", run.name, extra={"done": len(results), "of": len(run.cuts) - 1})
        except DstbenchError as error:
            raise error.in_file(run.name) from None
    return results


def each_part(run: Run) -> Iterator[Part]:
    """The parts of a run, one after the other as they are needed, in this thread."""
    return (_part(run, start, end) for start, end in pairwise(run.cuts))


def _part(run: Run, start: int, end: int) -> Part:
    """The partition of a run from one cut to the next; that of a small run, which has only one, is made once."""
    if "part" in run.kept:
        run.check()
        kept: Part = run.kept["part"]
        return kept
    rows = run.read(run.table.slice(start, end - start))
    part = Part(rows if run.derive is None else run.derive(rows), "frames" in run.meta)
    if run.cuts[-1] <= _KEPT_ROWS and (start, end) == (0, run.cuts[-1]):
        run.kept["part"] = part
    return part


def _on_rows(
    function: Callable[[Part], T], name: str, derive: Callable[..., pl.DataFrame] | None, has_frames: bool, rows: Any
) -> T:
    """What a function says of rows of a run; it is pickled, and so does not take the run itself, which is large."""
    try:
        return function(Part(rows if derive is None else derive(rows), has_frames))
    except DstbenchError as error:
        raise error.in_file(name) from None


def count_rows(
    run: Run,
    rows_of: Callable[[Part], pl.LazyFrame],
    keys: Sequence[str],
    **sums: pl.Expr,
) -> pl.DataFrame:
    """Sums over rows of all parts, by some columns, which become strings."""
    parts = over_parts(run, lambda part: collect(rows_of(part).group_by(keys).agg(**sums)))
    return pl.concat(parts).group_by(keys).agg(C(list(sums)).sum()).with_columns(C(keys).cast(pl.String))


@contextmanager
def engine(name: EngineName = "local", *, address: str | None = None) -> Iterator[None]:
    """Choose the engine for every function that scores, compares or diagnoses runs within this block and this thread.

    Both engines give the same results, bit for bit.

    Args:
        name: ``local``, the threads of this process; or ``ray``, a Ray cluster (``pip install 'dstbench[ray]'``).
            Ray's workers read long tables themselves, from storage that all machines share; the rows of other runs are
            sent to them.
        address: ``host:port`` of the cluster; or ``auto``, the cluster that runs on this machine or that RAY_ADDRESS
            names. None: the cluster that this process has joined already; if there is none, a cluster is started on
            this machine, with all its CPUs, and stopped at the end of the block.

    Raises:
        UsageError: There is no such engine, or an address is given for ``local``.
        DstbenchError: Ray is not installed. (A cluster that cannot be joined is an error when it is first needed.)

    >>> import dstbench
    >>> states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "north"}}]
    >>> with engine("local"):
    ...     dstbench.score(states, metrics="jga")["value"].item()
    1.0
    """
    check_known([name], get_args(EngineName), "there is no engine {!r}")
    if name == "local" and address is not None:
        raise UsageError("the local engine has no address", hint="--engine ray")
    with ExitStack() as stack:
        cluster: Engine | None = None
        if name == "ray":
            from dstbench.scoring.ray import Cluster

            cluster = stack.enter_context(closing(Cluster(address)))
        before = _ENGINE.set(cluster)
        try:
            yield
        finally:
            _ENGINE.reset(before)
