"""What a metric is: statistics that add up exactly, and a score computed from their sums.

So a metric works per turn, dialogue, slot, domain, run, or any other group, and the sums over parts agree exactly with
the whole, in any order and on any number of threads.

Users' own metrics are subclasses of `Metric`. The names of their statistics never clash with those of other metrics
(`stats_of`), and their signatures name their package and its version. Where the counts of the turn table do not do,
they may have counts of their own, of rows (`Metric.counts`). `check_own` refuses a metric that has the name of a
built-in one, or counts or statistics that cannot be summed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from typing import Any, ClassVar, Final, Literal

import polars as pl

from dstbench.conventions.slots import SlotTotal
from dstbench.errors import UsageError
from dstbench.plugins import fault_of, origin_of
from dstbench.schema.core import ROWS, TURNS
from dstbench.schema.kinds import Column
from dstbench.schema.record import Shown
from dstbench.typing import ScoreUnit

_PACKAGE: Final = __name__.partition(".")[0]
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Metric(Shown):
    """A metric and its parameters.

    Subclasses are frozen dataclasses whose fields are the parameters; they define `stats` and `score`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    #: What tables and figures of papers call it; none: its name.
    label: ClassVar[str] = ""
    #: 1: higher scores are better; -1: lower ones; None: unknown, so that tables mark none as the best.
    direction: ClassVar[Literal[1, -1] | None] = None
    #: Whether the value is a share (shown in percent) or a count.
    is_count: ClassVar[bool] = False

    def counts(self) -> dict[str, pl.Expr]:
        """Counts of its own, if those of the turn table do not do: expressions over judged rows (`schema.core.ROWS`).

        Each says what a row adds to the count of its turn (or turn and domain, turn and slot): a number or a Boolean;
        null adds nothing. `run` and `is_scored` are not known yet; all else that `dstbench.rows` shows is. A row may
        depend on other rows of its dialogue: `before` is the slot's turn before, ``.over("dialogue", "turn")`` is the
        turn. They add up per turn, and only turns that are scored count.

        Returns:
            Name to expression; `stats` may use the names beside the columns of the turn table.
        """
        return {}

    def stats(self) -> dict[str, pl.Expr]:
        """The statistics: expressions over the turn table (and `counts`), each computed from a turn's own row.

        Each is a whole number (integer or Boolean), or a ratio from 0 to 1 (float). Null means undefined and adds
        nothing. If built-in metrics share a statistic, it has the same name in all of them and is summed only once.

        Returns:
            Name to expression.
        """
        raise NotImplementedError

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        """The value (Float64), computed from the sums of `stats`; null where undefined.

        Args:
            sums: For the name of each statistic, an expression of its sum.
        """
        raise NotImplementedError

    def expr(self) -> pl.Expr:
        """The metric as an aggregation over rows of a turn table, for your own ``group_by(...).agg(...)``.

        If it has `counts` of its own, the turn table must have them: ``dstbench.turns(data, counts=metric.counts())``.

        >>> from dstbench import parse
        >>> turns = pl.DataFrame({"turn": [0, 0, 1], "n_correct": [1, 1, 1], "n_union": [1, 2, 2]})
        >>> turns.group_by("turn", maintain_order=True).agg(parse("jga").expr())["jga"].to_list()
        [0.5, 0.0]
        """
        return self.score({name: exact_sum(stat) for name, stat in self.stats().items()}).alias(str(self))

    @property
    def needs_total(self) -> bool:
        """Whether a parameter depends on the number of slots in the dataset."""
        return type(self).resolve is not Metric.resolve

    def resolve(self, total: SlotTotal) -> Metric:
        """The metric with every parameter filled in that depends on the number of slots in the dataset.

        Args:
            total: The number of slots, and what was counted.
        """
        return self

    @property
    def unit(self) -> ScoreUnit:
        """Whether the value is a ``share``, which tables show in percent, or a ``count``."""
        return "count" if self.is_count else "share"

    def settings(self) -> str:
        """The metric's part of a signature: its name and all parameters, including defaults.

        If the metric is not built in, its package and the version follow, or its module with a hash of the source.
        """
        parameters = ",".join(f"{f.name}={getattr(self, f.name)}" for f in fields(self))
        settings = f"{self.name}({parameters})" if parameters else self.name
        return settings if is_built_in(self) else f"{settings}@{origin_of(type(self))}"

    def __str__(self) -> str:
        changed = (f for f in fields(self) if getattr(self, f.name) != f.default)
        return ":".join([self.name, *(f"{f.name}={getattr(self, f.name)}" for f in changed)])


class TurnMean(Metric):
    """A mean over turns: the sum of the first statistic divided by that of the second, which is 1 per counted turn."""

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        total, number = (sums[name] for name in self.stats())
        return divide(total, number)


def is_built_in(metric: Metric) -> bool:
    """Whether a metric's class is part of dstbench."""
    return type(metric).__module__.partition(".")[0] == _PACKAGE


@lru_cache(maxsize=256)
def stats_of(metric: Metric) -> dict[str, pl.Expr]:
    """A metric's statistics by unique names (cached, as expressions are slow to make)."""
    return {_qualified(metric, name): stat for name, stat in metric.stats().items()}


def counts_and_stats(metrics: Iterable[Metric]) -> tuple[dict[str, pl.Expr], dict[str, pl.Expr]]:
    """What is summed for metrics: their own counts (`summable`), and their statistics (`stats_of`)."""
    counts: dict[str, pl.Expr] = {}
    stats: dict[str, pl.Expr] = {}
    for metric in metrics:
        for name, count in ({} if is_built_in(metric) else summable(metric.counts())).items():
            if not counts.setdefault(name, count).meta.eq(count):
                raise UsageError(
                    f"metric {metric}: another metric has another count {name!r}", hint="rename one of them"
                )
        stats |= stats_of(metric)
    return counts, stats


def score_of(metric: Metric, sums: Mapping[str, pl.Expr]) -> pl.Expr:
    """A metric's value (Float64), computed from the sums of its statistics, which are named as by `stats_of`."""
    return metric.score({name: sums[_qualified(metric, name)] for name in metric.stats()}).cast(pl.Float64)


def check_own(metric: Metric, built_in: Collection[str]) -> None:
    """Refuse a user's own metric whose name is invalid or taken, or whose statistics cannot be summed."""
    if is_built_in(metric):
        return
    place, name = f"metric {type(metric).__module__}.{type(metric).__qualname__}", getattr(metric, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        hint = 'letters, digits and hyphens: name = "my-metric"'
        raise UsageError(f"{place}: its name is {name!r}", hint=hint)
    if name in built_in:
        hint = f'a name of its own: name = "my-{name}"'
        raise UsageError(f"{place}: {name!r} is the name of a built-in metric", hint=hint)
    try:
        hash(metric)
    except TypeError:
        raise UsageError(f"{place} cannot be hashed", hint="make it a @dataclass(frozen=True)") from None
    counts, stats = (called(getattr(metric, part), f"{place}: {part}() fails") for part in ("counts", "stats"))
    for part, given in (("counts", counts), ("stats", stats)):
        if not isinstance(given, dict):
            raise UsageError(f"{place}: {part}() gives {given!r}, not a dictionary from names to expressions")
    check_counts(counts, f"{place}: ")
    example = _example(TURNS.columns, 6)
    if counts:
        example = example.with_columns(_example_rows().select(**summable(counts)).head(example.height))
    alone = "each turn by itself: it aggregates, looks at other rows or is a literal"
    hint = "dstbench sums it itself; to count turns, use dstbench.metrics.base.turns()"
    for stat, expression in stats.items():
        _check_expression(f"{place}: statistic {stat!r}", expression, [*example.iter_slices(1)], alone, hint)
    if not metric.needs_total:
        ones = dict.fromkeys(stats, pl.lit(1.0))
        called(lambda: pl.select(metric.score(ones).cast(pl.Float64)), f"{place}: score() fails")


def check_counts(counts: Mapping[str, pl.Expr], place: str = "") -> None:
    """Refuse counts (expressions over judged rows) whose names are taken, or that cannot be summed."""
    parts = _example_rows().partition_by("dialogue", maintain_order=True)
    alone = "each row and its dialogue alone: it aggregates, looks at other dialogues or is a literal"
    hint = 'dstbench sums it itself; dstbench.metrics.base.before("ok") is the slot\'s turn before'
    for name, expression in counts.items():
        if name in TURNS.columns or name in ROWS.columns:
            raise UsageError(f"{place}count {name!r} has the name of a column", hint=f"a name of its own: my_{name}")
        _check_expression(f"{place}count {name!r}", expression, parts, alone, hint)


def _check_expression(what: str, expression: Any, parts: Sequence[pl.DataFrame], alone: str, hint: str) -> None:
    """Refuse what is no expression of a number, or differs if it is computed part by part of an example."""
    if not isinstance(expression, pl.Expr):
        raise UsageError(f"{what} is {expression!r}, not an expression")
    try:
        values = pl.concat(parts).select(value=expression)["value"]
        by_part = [part.select(value=expression)["value"] for part in parts]
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0].partition("; valid columns")[0]
        raise UsageError(
            f"{what} cannot be computed: {reason}", hint=f"there are {', '.join(parts[0].columns)}"
        ) from None
    if not values.dtype.is_numeric() and values.dtype != pl.Boolean:
        raise UsageError(f"{what} is {values.dtype}, not a number", hint="a number or a Boolean")
    if not values.equals(pl.concat(by_part), null_equal=True):
        raise UsageError(f"{what} is not a value of {alone}", hint=hint)


def called(function: Callable[[], Any], what: str) -> Any:
    """The result of a user's own function; an error that begins with `what` if it raises any exception."""
    try:
        return function()
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"{what}: {fault_of(error)}") from error


def _qualified(metric: Metric, stat: str) -> str:
    return stat if is_built_in(metric) else f"{metric.settings()}:{stat}"


def summable(counts: Mapping[str, pl.Expr]) -> dict[str, pl.Expr]:
    """Counts (`check_counts`) as Int64 or Float64, in which what is undefined is 0."""
    dtypes = _example_rows().select(**counts).schema
    return {
        name: count.cast(pl.Float64).fill_null(0).fill_nan(0)
        if dtypes[name].is_float()
        else count.cast(pl.Int64).fill_null(0)
        for name, count in counts.items()
    }


@cache
def _example_rows() -> pl.DataFrame:
    """Judged rows of two dialogues, of two slots each, to try counts on."""
    rows = _example({name: column for name, column in ROWS.columns.items() if name not in ("run", "is_scored")}, 8)
    at = pl.int_range(8)
    dialogue = pl.when(at < 4).then(pl.lit("D1")).otherwise(pl.lit("D2")).cast(rows["dialogue"].dtype)
    return rows.with_columns(dialogue=dialogue, first=at % 2 == 0)


def _example(columns: Mapping[str, Column], height: int) -> pl.DataFrame:
    """A table in which each column has different values, and nulls if it may have any."""
    row, series = pl.int_range(1, height + 1), []
    for position, (name, column) in enumerate(columns.items(), 1):
        number = pl.when((row % 3 != 0) | (not column.nullable)).then(row * position % 7 + row)
        values = {
            pl.Boolean: (row + position // 2) % 2 == 0,
            pl.String: pl.format("D{}", row),
            pl.Categorical: pl.format("D{}", row),
            pl.Float64: row / 10,
        }
        series.append(values.get(column.dtype.base_type(), number).cast(column.dtype).alias(name))
    return pl.select(series)


def before(of_row: str | pl.Expr) -> pl.Expr:
    """What a column or expression over judged rows is in the slot's turn before; null in the slot's first row.

    >>> rows = pl.DataFrame({"first": [True, False, True], "ok": [False, True, True]})
    >>> rows.select(before("ok"))["ok"].to_list()
    [None, False, None]
    """
    column = pl.col(of_row) if isinstance(of_row, str) else of_row
    return pl.when(~pl.col("first")).then(column.shift(1))


def turns() -> pl.Expr:
    """1 per turn."""
    return pl.col("n_union").is_not_null().cast(pl.Int64)  # always true; a literal would give a single row


def gold_turns() -> pl.Expr:
    """1 for a turn with a gold slot, else 0."""
    return (pl.col("n_gold") > 0).cast(pl.Int64)


def count(name: str) -> pl.Expr:
    """A count of the turn table, as an integer wide enough to be summed."""
    return pl.col(name).cast(pl.Int64)


def divide(numerator: pl.Expr, denominator: pl.Expr, *, empty: float | None = None) -> pl.Expr:
    """A ratio of counts; where the denominator is 0, `empty` (None: undefined, null)."""
    return pl.when(denominator > 0).then(numerator / denominator).otherwise(empty)


_BITS: Final = 62
#: A dialogue's sum of ratios is rounded to a multiple of this before it is multiplied, so that no sum of products
#: overflows; standard errors keep at least five digits.
STEP: Final = 2.0**-12
#: So many parts are one of `STEP`.
PARTS_OF_STEP: Final = int(STEP * 2**_BITS)


def in_parts(ratio: pl.Expr) -> pl.Expr:
    """Ratios (or whole numbers) as numbers of parts (Int128), which hold sums up to 2⁶⁵."""
    return (ratio * 2.0**_BITS).cast(pl.Int128)


def from_parts(parts: pl.Expr) -> pl.Expr:
    """The number (Float64) nearest to a number of parts."""
    return parts.cast(pl.Float64) / 2.0**_BITS


def exact_sum(numbers: pl.Expr) -> pl.Expr:
    """The sum (Float64) of ratios or of whole numbers, as an aggregation; null adds nothing."""
    return from_parts(in_parts(numbers).sum())
