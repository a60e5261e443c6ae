"""What a metric is: statistics that add up exactly, and a score over their sums.

One and the same metric therefore works per turn, dialogue, slot, domain, run, or anything a user groups by; and parts
agree with the whole exactly, in any order and on any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from dstbench.ratios import exact_sum

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Metric:
    """A metric and its parameters.

    Subclasses are frozen dataclasses whose fields are the parameters; they define `stats` and `score`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    #: Whether the value is a share (shown in percent) or a count.
    is_count: ClassVar[bool] = False

    def stats(self) -> dict[str, pl.Expr]:
        """Expressions over the turn table, by a name that belongs to the definition.

        Each is a whole number (Int64), or a ratio from 0 to 1 (Float64; null: undefined, and adds nothing). Two
        metrics that need the same statistic name it alike, and it is summed once.

        Returns:
            Name to expression.
        """
        raise NotImplementedError

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        """The value (Float64) from the sums of `stats`; null where undefined.

        Args:
            sums: The name of each of `stats` to an expression of its sum.
        """
        raise NotImplementedError

    def expr(self) -> pl.Expr:
        """The metric as an aggregation over turn-table rows, for a user's own ``group_by(...).agg(...)``.

        >>> from dstbench import parse
        >>> turns = pl.DataFrame({"turn": [0, 0, 1], "n_correct": [1, 1, 1], "n_union": [1, 2, 2]})
        >>> turns.group_by("turn", maintain_order=True).agg(parse("jga").expr())["jga"].to_list()
        [0.5, 0.0]
        """
        return self.score({name: exact_sum(stat) for name, stat in self.stats().items()}).alias(str(self))

    @property
    def asks_for_slots(self) -> bool:
        """Whether a parameter depends on the slots that a run has."""
        return type(self).resolve is not Metric.resolve

    def resolve(self, slots: frozenset[str], slot_set: str | None = None) -> Metric:
        """The metric with every parameter filled in that depends on the slots: the run's, or the convention's set.

        Args:
            slots: The slots that gold or prediction of the run ever has.
            slot_set: The name of the convention's slot set; None: it has none.
        """
        return self

    def settings(self) -> str:
        """Name and all parameters, also those at their default: the metric's part of a signature."""
        given = ",".join(f"{f.name}={getattr(self, f.name)}" for f in fields(self))
        return f"{self.name}({given})" if given else self.name

    def __str__(self) -> str:
        given = (f"{f.name}={getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name) != f.default)
        return ":".join([self.name, *given])


@lru_cache(maxsize=256)
def stats_of(metric: Metric) -> dict[str, pl.Expr]:
    """A metric's `stats`; expressions are slow to make, and are asked for again and again."""
    return metric.stats()


# --- pieces that metrics are made of -----------------------------------------------------------------------------


def turns() -> pl.Expr:
    """1 per turn."""
    return pl.col("n_union").is_not_null().cast(pl.Int64)  # never null; a literal would not be one per row


def count(name: str) -> pl.Expr:
    """A count of the turn table, wide enough to add up."""
    return pl.col(name).cast(pl.Int64)


def divide(numerator: pl.Expr, denominator: pl.Expr, *, empty: float | None = None) -> pl.Expr:
    """A ratio of counts; where the denominator is 0, `empty` (None: undefined, null)."""
    return pl.when(denominator > 0).then(numerator / denominator).otherwise(empty)


def mean(total: pl.Expr, number: pl.Expr, *, more: pl.Expr | None = None) -> pl.Expr:
    """The mean of `number` ratios from their sum, and that of `more` ones beside them; null if there is none."""
    return divide(total if more is None else total + more, number)
