"""Partitions of a run, cut where dialogues begin, so that sums over partitions add up to those over the run.

Only a few partitions are in memory at a time, and one is read while others are counted. An engine applies a function to
all partitions: the threads of this process by default, or a cluster (`scoring.engines`). Small runs keep their
partitions for the next function, because commands go through the same runs many times.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
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
from dstbench.runs.gold import cell_hash, gold_slots, turn_hash
from dstbench.runs.rules import unsorted
from dstbench.runs.run import Kept, Run
from dstbench.schema.core import BETWEEN
from dstbench.scoring.answers import C
from dstbench.scoring.events import is_new, with_events
from dstbench.scoring.rows import Rows, lay_out
from dstbench.scoring.turns import turn_table
from dstbench.scoring.values import judged, of_cells, spelling_errors
from dstbench.tables import collect

T = TypeVar("T")

_LOG: Final = logging.getLogger(__name__)

# The fewest rows of any partition except the last: its columns fit the processor's cache, and counting it takes much
# longer than starting it.
_ROWS: Final = 393_216
# The most rows that all runs of the process keep in memory together.
_KEPT_ROWS: Final = 2**20
# The most rows of results that a partition keeps.
_MOST_KEPT: Final = 2**22
_KEEPING: Final[WeakSet[Kept]] = WeakSet()
_LOCK: Final = Lock()


@dataclass(frozen=True)
class Part:
    """A part of a run: the rows of whole dialogues, and what has been computed of them."""

    table: pl.DataFrame  # schema `LONG`
    ends: list[str | None]  # the first and the last dialogue
    is_kept: bool = False  # whether further functions will get the same part
    _kept: dict[Hashable, Any] = field(default_factory=dict)
    _asked: set[Hashable] = field(default_factory=set)

    def keep(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` returns; it is made once for as long as the part is kept, so it should be small."""
        if key not in self._kept:
            made = make()
            if self.table.height * len(self._kept) > _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = made
        kept: T = self._kept[key]
        return kept

    def rows(self, convention: Convention, *, frames: bool = False) -> pl.LazyFrame:
        """The rows under a convention, with what each adds to counts (`events.with_events`).

        Args:
            convention: The convention.
            frames: Whether rows of gold's frames count (`rows.with_frames`); otherwise they are left out.
        """
        return with_events(judged(self.laid_out(frames=frames), convention), convention)

    def laid_out(self, *, frames: bool = False) -> Rows:
        """The rows, prepared for expressions."""
        return self.keep(("rows", frames), lambda: lay_out(self.table, frames=frames))

    def turns(
        self, convention: Convention, counts: Mapping[str, pl.Expr] | None = None, *, spelling: bool = False
    ) -> pl.LazyFrame:
        """The turn table, of whole states.

        Args:
            convention: The convention.
            counts: Further columns (see `turns.turn_table`).
            spelling: Whether there is a column `n_spelling`: wrong slots whose values differ by spelling only.
        """

        def count() -> pl.LazyFrame:
            spelled = {"n_spelling": spelling_errors(self.laid_out(), convention)} if spelling else {}
            return turn_table(self.rows(convention), counts={**spelled, **(counts or {})})

        if counts:  # such a table is not kept: two metrics' counts may differ under one name
            return count()
        key = ("turns", convention, spelling)
        if self.is_kept and key in self._asked:
            return self.keep(key, lambda: collect(count())).lazy()
        self._asked.add(key)  # most tables are asked for only once, and then only some of their columns
        return count()

    def fingerprint(self, convention: Convention, scored: pl.DataFrame | None = None) -> int:
        """The fingerprint (`runs.gold`) of gold under the convention, over some turns (`number`, `turn`); None: all."""
        hashes = self.turn_hashes
        if scored is not None and scored.height == hashes.height:
            scored = None
        # Most conventions find the same values in gold.
        values = of_cells(self.laid_out(), convention)["g"].to_physical()
        key = values.to_numpy().tobytes() if scored is None else convention

        def add_up() -> int:
            counted = hashes if scored is None else hashes.join(scored, on=["number", "turn"], how="semi")
            changes = self.gold_changes(convention, counted)
            return int(counted["hash"].sum() + collect(changes.select(C("gold_hash").sum())).item()) % 2**64

        return self.keep(("fingerprint", key), add_up)

    def gold_changes(self, convention: Convention, turns: pl.DataFrame) -> pl.LazyFrame:
        """(number, turn, gold_hash: `runs.gold.cell_hash`) per value that gold gets in some turns of `turn_hashes`."""
        rows = judged(self.laid_out(), convention).filter(is_new("g"))
        changes = rows.join(turns.lazy(), on=["number", "turn"])
        return changes.select("number", "turn", gold_hash=cell_hash("g"))

    @cached_property
    def turn_hashes(self) -> pl.DataFrame:
        """(number, turn, hash: `runs.gold.turn_hash`)."""
        turns = self.states.lazy().select("number", "turn", "dialogue").unique(["number", "turn"])
        return collect(turns.select("number", "turn", hash=turn_hash()))

    @property
    def states(self) -> pl.DataFrame:
        """The rows without those of frames."""
        return self.laid_out().table

    @cached_property
    def gold_slots(self) -> frozenset[str]:
        """The slots that have a value in gold."""
        return gold_slots(self.laid_out().cells)

    @cached_property
    def is_multiwoz(self) -> bool:
        """Whether the dialogues are MultiWOZ's."""
        dialogues = collect(self.states.lazy().select(C("dialogue").filter("first").unique()))
        return are_multiwoz(dialogues["dialogue"])

    @cached_property
    def alternatives(self) -> str | None:
        """The first gold value, in alphabetical order, that lists alternatives; None: there is none."""
        values = self.laid_out().cells.lazy().select(C("gold").unique().cast(pl.String))
        first = collect(values.filter(C("gold").str.contains(BETWEEN, literal=True)).min()).item()
        return None if first is None else str(first)


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
    name, (make, omits_frames) = run.name, _maker(run, frames=frames)

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
    _check_order(name, [ends for ends, _ in results])
    return [result for _, result in results]


def each_part(run: Run) -> Iterator[Part]:
    """The parts of a run, one after the other as they are needed, in this thread; without rows of frames.

    Raises:
        DstbenchError: As of `over_parts`.
    """
    make, omits_frames = _maker(run, frames=False)
    ends: list[list[str | None]] = []
    for start, rows in partitions(run):
        part = _kept(run, (start, rows, omits_frames), make)
        ends.append(part.ends)
        _check_order(run.name, ends)
        yield part


def _maker(run: Run, *, frames: bool) -> tuple[Callable[[pl.DataFrame], Part], bool]:
    """A function that makes parts of rows of a run, which does not refer to it; and whether it omits rows of frames."""
    derive, omits_frames = run.derive, "frames" in run.meta and not frames

    def make(table: pl.DataFrame) -> Part:
        table = table if derive is None else derive(table)
        ends = [table["dialogue"][0], table["dialogue"][-1]] if table.height else []
        return Part(table.filter(~IS_FRAME) if omits_frames else table, ends)

    return make, omits_frames


def _check_order(name: str, ends: Sequence[list[str | None]]) -> None:
    """Refuse partitions, in the order of their rows, that share a dialogue or are not sorted."""
    for (_, last), (first, _) in pairwise(filter(None, ends)):
        if last is None or first is None or last >= first:  # `rows.lay_out` checks the order within a partition
            raise unsorted(name)


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
                part = run.kept.parts[key] = replace(part, is_kept=True)
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
