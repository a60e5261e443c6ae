"""Partitions of a run, cut where dialogues begin, so that sums over partitions add up to those over the run.

Only a few partitions are in memory at a time, and one is read while others are counted. An engine applies a function to
all partitions: the threads of this process by default, or a cluster (`scoring.engines`). Small runs keep their
partitions for the next function, because commands go through the same runs many times.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from threading import Lock
from typing import Any, Final, Protocol, TypeVar
from weakref import WeakSet

import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.conventions.slots import are_multiwoz
from dstbench.errors import DstbenchError
from dstbench.readers.frames import IS_FRAME
from dstbench.runs.gold import gold_slots
from dstbench.runs.rules import check_sorted, unsorted
from dstbench.runs.run import Kept, Run
from dstbench.schema.core import BETWEEN
from dstbench.scoring.events import with_events
from dstbench.scoring.turns import with_frames
from dstbench.scoring.values import judged, with_domains, with_spelling

T = TypeVar("T")

_LOG: Final = logging.getLogger(__name__)

# The fewest rows of any partition except the last: its columns fit the processor's cache, and counting it takes much
# longer than starting it.
_ROWS: Final = 393_216
# The most rows that all runs of the process keep in memory together.
_KEPT_ROWS: Final = 2**20
# The most conventions under which a partition keeps its rows.
_MOST_JUDGED: Final = 4
_KEEPING: Final[WeakSet[Kept]] = WeakSet()
_LOCK: Final = Lock()


@dataclass(frozen=True)
class Part:
    """A part of a run: the rows of whole dialogues, and what has been computed of them."""

    table: pl.DataFrame  # schema `LONG`
    ends: list[str | None]  # the first and the last dialogue
    _judged: dict[Any, pl.DataFrame] = field(default_factory=dict)

    def rows(
        self, convention: Convention, *, spelling: bool = False, frames: bool = False
    ) -> pl.LazyFrame:
        """The rows under a convention, with what each adds to counts (`events.with_events`).

        Args:
            convention: The convention.
            spelling: Whether to add the column `spelling` (`values.with_spelling`).
            frames: Whether rows of gold's frames count (`turns.with_frames`); otherwise they are left out.
        """
        return with_events(self.judged(convention, spelling=spelling, frames=frames), convention)

    def judged(
        self, convention: Convention, *, spelling: bool = False, frames: bool = False
    ) -> pl.LazyFrame:
        """The rows under a convention, before events (`values.judged`); kept for the next function that asks."""
        key = convention, spelling, frames
        kept = self._judged.get(key)
        if kept is None:
            rows = judged(with_frames(with_domains(self.table.lazy())) if frames else self.states.lazy(), convention)
            kept = (with_spelling(rows, convention) if spelling else rows).collect()
            if len(self._judged) >= _MOST_JUDGED:  # a part may be asked for under ever new conventions
                self._judged.clear()
            self._judged[key] = kept
        return kept.lazy()

    @cached_property
    def states(self) -> pl.DataFrame:
        """The rows with their `domain`, without those of frames."""
        return with_domains(self.table.lazy().filter(~IS_FRAME)).collect()

    @cached_property
    def gold_slots(self) -> frozenset[str]:
        """The slots that have a value in gold."""
        return gold_slots(self.states)

    @cached_property
    def is_multiwoz(self) -> bool:
        """Whether the dialogues are MultiWOZ's."""
        return are_multiwoz(self.table["dialogue"].unique())

    @cached_property
    def alternatives(self) -> str | None:
        """The first gold value, in alphabetical order, that lists alternatives; None: there is none."""
        values = self.states.select(pl.col("gold").unique().cast(pl.String))
        return values.filter(pl.col("gold").str.contains(BETWEEN, literal=True))["gold"].min()  # type: ignore[return-value]


class Engine(Protocol):
    """Applies a function to every partition of a run; the results are in the partitions' order."""

    def __call__(self, run: Run, function: Callable[[pl.DataFrame], T]) -> list[T]: ...  # noqa: D102 (see above)


_ENGINE: Final[ContextVar[Engine | None]] = ContextVar("engine", default=None)


@contextmanager
def worked_on_by(engine: Engine | None) -> Iterator[None]:
    """Use an engine within this block and this thread; None: threads of this process."""
    before = _ENGINE.set(engine)
    try:
        yield
    finally:
        _ENGINE.reset(before)


def partitions(run: Run, rows: int = _ROWS) -> list[tuple[int, int]]:
    """The partitions of a run, in order: the first row of each, and its number of rows."""
    parts, start = [], 0
    for cut in run.cuts[1:]:
        if cut - start >= rows or cut == run.cuts[-1]:
            parts.append((start, cut - start))
            start = cut
    return parts


def over_partitions(run: Run, function: Callable[[pl.DataFrame], T], *, frames: bool = False) -> list[T]:
    """Apply a function to the rows of every partition; see `over_parts`."""
    return over_parts(run, lambda part: function(part.table), frames=frames)


def over_parts(run: Run, function: Callable[[Part], T], *, frames: bool = False) -> list[T]:
    """Apply a function to every partition; the results are in the partitions' order.

    The function may be called in several threads, or in other processes. So whatever it refers to or returns must keep
    its meaning when it is pickled: strings or dictionary columns, never codes.

    Args:
        run: The run.
        function: The function; it must not change the partition, which the next function may get too.
        frames: Whether the function gets the rows that describe frames, too.

    Raises:
        DstbenchError: Partitions cannot be read, or a dialogue is in two of them.
    """
    # What is pickled must not refer to the run, which is large.
    name, derive, omits_frames = run.name, run.derive, "frames" in run.meta and not frames

    def make(table: pl.DataFrame) -> Part:
        table = table if derive is None else derive(table)
        check_sorted(table)
        ends = [table["dialogue"][0], table["dialogue"][-1]] if table.height else []
        return Part(table.filter(~IS_FRAME) if omits_frames else table, ends)

    def apply(get: Callable[[], Part]) -> tuple[list[str | None], T]:
        try:
            part = get()
            return part.ends, function(part)
        except DstbenchError as error:
            raise error.in_file(name) from None

    engine = _ENGINE.get()
    if engine is not None:
        results = engine(run, lambda table: apply(lambda: make(table)))
    else:
        results = _in_threads(run, lambda start, rows: apply(lambda: _kept(run, (start, rows, omits_frames), make)))
    for (_, last), (first, _) in pairwise(ends for ends, _ in results if ends):
        if last is None or first is None or last >= first:  # `check_sorted` checks the order within a partition
            raise unsorted(name)
    return [result for _, result in results]


def gold_slots_of(run: Run) -> frozenset[str]:
    """The slots that have a value in a run's gold."""
    return frozenset().union(*over_parts(run, lambda part: part.gold_slots))


def _kept(run: Run, key: tuple[int, int, bool], make: Callable[[pl.DataFrame], Part]) -> Part:
    """The partition of a run with this first row and number of rows (`key`); made if the run has not kept it."""
    kept: Part | None = run.kept.parts.get(key)
    if kept is not None:
        run.check()
        return kept
    start, rows, _ = key
    part = make(run.part(start, rows))
    if run.cuts[-1] <= _KEPT_ROWS:
        with _LOCK:
            if rows + sum(size for others in _KEEPING for _, size, _ in others.parts) <= _KEPT_ROWS:
                run.kept.parts[key] = part
                _KEEPING.add(run.kept)
    return part


def _in_threads(run: Run, function: Callable[[int, int], T]) -> list[T]:
    parts = partitions(run)
    if len(parts) == 1:
        return [function(*parts[0])]
    # One thread more than there are cores, so that one can read while the others count.
    with ThreadPoolExecutor(min(len(parts), pl.thread_pool_size() + 1)) as pool:
        results = []
        for result in pool.map(lambda part: function(*part), parts):
            results.append(result)
            _LOG.info("scoring %s", run.name, extra={"done": len(results), "of": len(parts)})
        return results
