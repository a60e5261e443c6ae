"""Partitions of a run, cut where dialogues begin, so that sums over partitions add up to those over the run.

Only a few partitions are in memory at a time, and one is read while others are counted. An engine applies a function to
all of them: threads of this process by default, or a cluster (`scoring.engines`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Final, Protocol, TypeVar

import numpy as np
import polars as pl

from dstbench.errors import DstbenchError
from dstbench.runs.frames import states_only
from dstbench.runs.rules import unsorted
from dstbench.runs.run import Run

T = TypeVar("T")

_LOG: Final = logging.getLogger(__name__)

# The fewest rows of any partition except the last: its columns fit the processor's cache, and counting it takes much
# longer than starting it.
_ROWS: Final = 393_216
# Bytes of an array that is freed before any work. glibc reuses freed blocks only up to the size of the largest that was
# freed so far (at most this); it requests larger blocks from the system each time, which takes a quarter of all time.
_REUSED_BLOCK: Final = 2**25 - 2**13


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
    """Apply a function to every partition; the results are in the partitions' order.

    The function may be called in several threads, or in other processes. So all that it refers to or returns must keep
    its meaning when it is pickled: strings or dictionary columns, never codes.

    Args:
        run: The run.
        function: What is applied.
        frames: Whether the function gets the rows that describe frames, too.

    Raises:
        DstbenchError: Partitions cannot be read, or a dialogue is in two of them.
    """
    # `of_partition` may be pickled, so it must not refer to the run, which is large.
    name, derive, omits_frames = run.name, run.derive, "frames" in run.meta and not frames

    def of_partition(table: pl.DataFrame) -> tuple[list[str | None], T]:
        try:
            table = table if derive is None else derive(table)
            result = function(states_only(table) if omits_frames else table)
        except DstbenchError as error:
            raise error.in_file(name) from None
        return table["dialogue"].gather([0, -1]).to_list() if table.height else [], result

    engine = _ENGINE.get() or _in_threads
    results = engine(run, of_partition)
    for (_, last), (first, _) in pairwise(ends for ends, _ in results if ends):
        if last is None or first is None or last >= first:  # `lay_out` checks the order within a partition
            raise unsorted(name)
    return [result for _, result in results]


def _in_threads(run: Run, function: Callable[[pl.DataFrame], T]) -> list[T]:
    parts = partitions(run)
    np.empty(_REUSED_BLOCK, np.uint8)  # and freed at once
    if len(parts) == 1:
        return [function(run.part(*parts[0]))]
    # One thread more than there are cores, so that one can read while the others count.
    with ThreadPoolExecutor(min(len(parts), pl.thread_pool_size() + 1)) as pool:
        results = []
        for result in pool.map(lambda part: function(run.part(*part)), parts):
            results.append(result)
            _LOG.info("scoring %s", run.name, extra={"done": len(results), "of": len(parts)})
        return results
