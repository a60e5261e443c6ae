"""Counts of right and wrong slots and turns, which explain a score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from dstbench.metrics.base import Metric, count


@dataclass(frozen=True)
class _Count(Metric):
    is_count = True
    source = "counts of the turn table"
    #: The count in one turn.
    in_turn: ClassVar[pl.Expr]

    def stats(self) -> dict[str, pl.Expr]:
        return {self.name: self.in_turn}

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        return sums[self.name].cast(pl.Float64)


@dataclass(frozen=True)
class Correct(_Count):
    """Slots whose value is right."""

    name = "correct"
    label = "Correct slots"
    direction = 1
    title = "slots with the right value"
    in_turn = count("n_correct")


@dataclass(frozen=True)
class Wrong(_Count):
    """Slots in both states whose value is wrong."""

    name = "wrong"
    label = "Wrong slots"
    direction = -1
    title = "slots with a wrong value"
    in_turn = count("n_gold") + count("n_pred") - count("n_union") - count("n_correct")


@dataclass(frozen=True)
class Missed(_Count):
    """Slots in gold only."""

    name = "missed"
    label = "Missed slots"
    direction = -1
    title = "slots that the prediction misses"
    in_turn = count("n_union") - count("n_pred")


@dataclass(frozen=True)
class Over(_Count):
    """Slots in the prediction only."""

    name = "over"
    label = "Over-predicted slots"
    direction = -1
    title = "slots that only the prediction has"
    in_turn = count("n_union") - count("n_gold")


@dataclass(frozen=True)
class ErrorTurns(_Count):
    """Turns whose state (of the slot, in a per-slot table) is wrong (Qian et al. 2021, Figs 3b, 7, 8b)."""

    name = "error-turns"
    label = "Error turns"
    direction = -1
    title = "turns with an error"
    source = "Qian et al. 2021"
    in_turn = (pl.col("n_correct") != pl.col("n_union")).cast(pl.Int64)
