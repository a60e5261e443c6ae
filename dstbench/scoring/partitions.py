"""Dialogue-aligned partitions: what a metric sums over a part of a run adds up to what it sums over the whole.

Memory is bounded by a few partitions, and reading one overlaps with counting another. Who works on them is an engine's
to decide: threads of this process, unless another is chosen.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import numpy as np
import polars as pl

from dstbench.errors import DstbenchError
from dstbench.runs.frames import states_only
from dstbench.runs.rules import unsorted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dstbench.runs.run import Run

T = TypeVar("T")

# Rows of a partition, at least: its columns fit a processor's cache, and the cost of starting it is small beside it.
_ROWS: Final = 393_216
# Bytes up to which glibc keeps what is freed, once a block of this size has been; else it asks the system for every
# array anew, which costs a quarter of the time. As large as it lets itself be taught.
_KEPT: Final = 2**25 - 2**13


class Engine(Protocol):
    """Applies a function to every partition of a run, wherever that is; the results are in the partitions' order."""

    def __call__(self, run: Run, function: Callable[[pl.DataFrame], T]) -> list[T]: ...  # noqa: D102 (see above)


_CHOSEN: Final[ContextVar[Engine | None]] = ContextVar("engine", default=None)


@contextmanager
def worked_on_by(engine: Engine | None) -> Iterator[None]:
    """Partitions are an engine's work in this block, and in this thread; None: that of threads of this process."""
    before = _CHOSEN.set(engine)
    try:
        yield
    finally:
        _CHOSEN.reset(before)


def partitions(run: Run, rows: int = _ROWS) -> list[tuple[int, int]]:
    """Cut a run where dialogues begin.

    Args:
        run: The run.
        rows: Rows that a partition has at least, but for the last.

    Returns:
        Parts of the long table, in order: the first row of each, and how many it has.
    """
    parts, start = [], 0
    for cut in run.cuts[1:]:
        if cut - start >= rows or cut == run.cuts[-1]:
            parts.append((start, cut - start))
            start = cut
    return parts


def over_partitions(run: Run, function: Callable[[pl.DataFrame], T], *, frames: bool = False) -> list[T]:
    """Apply a function to every partition; the results are in the partitions' order.

    Args:
        run: The run.
        function: What is applied. It may be called in several threads, or in other processes, and so holds on to
            nothing but what can be pickled, and returns such a thing: strings or dictionary columns, never codes.
        frames: Whether it is given the rows of frames, too.

    Raises:
        DstbenchError: Partitions cannot be read, or a dialogue stands in two of them.
    """
    name, has_more = run.name, "frames" in run.meta and not frames

    def of_part(table: pl.DataFrame) -> tuple[list[str | None], T]:
        try:
            result = function(states_only(table) if has_more else table)
        except DstbenchError as error:
            raise error.in_file(name) from None
        return [] if table.is_empty() else table["dialogue"][[0, -1]].to_list(), result

    engine = _CHOSEN.get()
    found = _in_threads(run, of_part) if engine is None else engine(run, of_part)
    for (*_, end), (begin, *_) in pairwise(ends for ends, _ in found if ends):
        if end is None or begin is None or end >= begin:  # within a part, whoever lays it out looks
            raise unsorted(name)
    return [result for _, result in found]


def _in_threads(run: Run, function: Callable[[pl.DataFrame], T]) -> list[T]:
    """A few partitions at a time."""
    parts = partitions(run)
    np.empty(_KEPT, np.uint8)

    def apply(part: tuple[int, int]) -> T:
        table = run.part(*part)
        return function(table if run.derive is None else run.derive(table))

    if len(parts) == 1:
        return [apply(parts[0])]
    # One more than there are cores, so that one reads while the others count.
    with ThreadPoolExecutor(min(len(parts), pl.thread_pool_size() + 1)) as pool:
        return list(pool.map(apply, parts))
