"""Partitions of a run, cut where dialogues begin, so that sums over partitions add up to those over the run.

Only a few partitions are in memory at a time, and one is read while others are counted. An engine applies a function to
all partitions: the threads of this process by default, or a cluster (`scoring.engines`). Small runs keep their
partitions and layouts for the next function, because commands go through the same runs many times.
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
from typing import Final, Protocol, TypeVar
from weakref import WeakSet

import numpy as np
import polars as pl

from dstbench.conventions.slots import are_multiwoz
from dstbench.errors import DstbenchError
from dstbench.runs.frames import states_only
from dstbench.runs.gold import gold_slots
from dstbench.runs.layout import Layout, lay_out, unsorted
from dstbench.runs.run import Kept, Run
from dstbench.typing import View

T = TypeVar("T")

_LOG: Final = logging.getLogger(__name__)

# The fewest rows of any partition except the last: its columns fit the processor's cache, and counting it takes much
# longer than starting it.
_ROWS: Final = 393_216
# Bytes of an array that is allocated and freed before any work. glibc reuses freed blocks only up to the size of the
# largest block freed so far (at most this); it requests larger ones from the system each time, a quarter of all time.
_REUSED_BLOCK: Final = 2**25 - 2**13
# The most rows that all runs of the process keep in memory together.
_KEPT_ROWS: Final = 2**20
_KEEPING: Final[WeakSet[Kept]] = WeakSet()
_LOCK: Final = Lock()


@dataclass(frozen=True)
class Part:
    """A partition: its rows, schema `LONG`, and their layouts, each of which is made once."""

    table: pl.DataFrame
    ends: list[str | None]  # the first and the last dialogue
    _layouts: dict[tuple[View | None, bool], Layout] = field(default_factory=dict)

    def layout(self, view: View | None = None, *, frames: bool = False) -> Layout:
        """The layout of the rows (`runs.layout.lay_out`), which nobody may change."""
        key = view, frames
        if key not in self._layouts:
            self._layouts[key] = lay_out(self.table, view, frames=frames)
        return self._layouts[key]

    @cached_property
    def gold_slots(self) -> frozenset[str]:
        """The slots that have a value in gold."""
        return gold_slots(self.layout())

    @cached_property
    def is_multiwoz(self) -> bool:
        """Whether the dialogues are MultiWOZ's."""
        return are_multiwoz(self.layout().dialogue)


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
    """Apply a function to the rows of every partition; see `over_layouts`."""
    return over_layouts(run, lambda part: function(part.table), frames=frames)


def over_layouts(run: Run, function: Callable[[Part], T], *, frames: bool = False) -> list[T]:
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
        ends = [table["dialogue"][0], table["dialogue"][-1]] if table.height else []
        return Part(states_only(table) if omits_frames else table, ends)

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
        if last is None or first is None or last >= first:  # `lay_out` checks the order within a partition
            raise unsorted(name)
    return [result for _, result in results]


def gold_slots_of(run: Run) -> frozenset[str]:
    """The slots that have a value in a run's gold."""
    return frozenset().union(*over_layouts(run, lambda part: part.gold_slots))


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
    np.empty(_REUSED_BLOCK, np.uint8)  # and freed at once
    if len(parts) == 1:
        return [function(*parts[0])]
    # One thread more than there are cores, so that one can read while the others count.
    with ThreadPoolExecutor(min(len(parts), pl.thread_pool_size() + 1)) as pool:
        results = []
        for result in pool.map(lambda part: function(*part), parts):
            results.append(result)
            _LOG.info("scoring %s", run.name, extra={"done": len(results), "of": len(parts)})
        return results
