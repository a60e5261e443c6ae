"""Dialogue-aligned partitions: sums over the partitions of a run add up to the sums over the whole run.

Memory is bounded by a few partitions, and reading one overlaps with counting another. An engine applies a function to
all of them: threads of this process by default, or a cluster (`scoring.engines`).
"""

from __future__ import annotations

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

# Rows of a partition, at least: its columns fit a processor's cache, and the cost of starting it is small beside it.
_ROWS: Final = 393_216
# glibc keeps freed blocks up to the size of the largest one that was ever freed, but for this limit of its own; larger
# blocks are asked of the system for every array, which costs a quarter of the time.
_KEPT: Final = 2**25 - 2**13


class Engine(Protocol):
    """Applies a function to every partition of a run; the results are in the partitions' order."""

    def __call__(self, run: Run, function: Callable[[pl.DataFrame], T]) -> list[T]: ...  # noqa: D102 (see above)


_ENGINE: Final[ContextVar[Engine | None]] = ContextVar("engine", default=None)


@contextmanager
def worked_on_by(engine: Engine | None) -> Iterator[None]:
    """Use an engine in this block, and in this thread; None: threads of this process."""
    before = _ENGINE.set(engine)
    try:
        yield
    finally:
        _ENGINE.reset(before)


def partitions(run: Run, rows: int = _ROWS) -> list[tuple[int, int]]:
    """Cut a run where dialogues begin: the first row and the number of rows of each partition, in order."""
    parts, start = [], 0
    for cut in run.cuts[1:]:
        if cut - start >= rows or cut == run.cuts[-1]:
            parts.append((start, cut - start))
            start = cut
    return parts


def over_partitions(run: Run, function: Callable[[pl.DataFrame], T], *, frames: bool = False) -> list[T]:
    """Apply a function to every partition, without or with the rows of frames; results are in the partitions' order.

    The function may be called in several threads or other processes, so what it refers to and what it returns must be
    safe to pickle: strings or dictionary columns, never codes.

    Raises:
        DstbenchError: Partitions cannot be read, or a dialogue is in two of them.
    """
    name, derive, omits_frames = run.name, run.derive, "frames" in run.meta and not frames  # a run itself is large

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
        if last is None or first is None or last >= first:  # the order within a partition is checked by its layout
            raise unsorted(name)
    return [result for _, result in results]


def _in_threads(run: Run, function: Callable[[pl.DataFrame], T]) -> list[T]:
    parts = partitions(run)
    np.empty(_KEPT, np.uint8)
    if len(parts) == 1:
        return [function(run.part(*parts[0]))]
    # One thread more than there are cores, so that one reads while the others count.
    with ThreadPoolExecutor(min(len(parts), pl.thread_pool_size() + 1)) as pool:
        return list(pool.map(lambda part: function(run.part(*part)), parts))
