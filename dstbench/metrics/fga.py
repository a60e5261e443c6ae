"""Flexible goal accuracy and turn-level accuracy (Dey et al. 2022).

A wrong turn is a *local* error if something new in it is wrong. Otherwise it only carries an old error, whose age is
the difference of the two turn numbers, as the file has them.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from dstbench.errors import UsageError
from dstbench.metrics.base import TurnMean, turns


@dataclass(frozen=True)
class FGA(TurnMean):
    """Flexible goal accuracy: a turn that only carries an old error scores 1 − exp(−λ·age).

    Attributes:
        lam: λ; published for 0.25, 0.5, 0.75 and 1.
    """

    lam: float = 0.5

    name = "fga"
    label = "FGA"
    direction = 1
    title = "flexible goal accuracy"
    source = "Dey et al. 2022"

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", float(self.lam))  # 1 and 1.0 are one parameter, and print alike
        if not 0 <= self.lam < float("inf"):
            raise UsageError(f"metric 'fga': lam is {self.lam}, not a number from 0")

    def stats(self) -> dict[str, pl.Expr]:
        right = pl.col("n_correct") == pl.col("n_union")
        credit = 1 - (-self.lam * pl.col("error_age").cast(pl.Float64)).exp()
        value = pl.when(right).then(1.0).when("local_error").then(0.0).otherwise(credit)
        return {f"fga[{self.lam}]": value, "turns": turns()}


@dataclass(frozen=True)
class TLA(TurnMean):
    """Turn-level accuracy: the share of turns that make no error of their own ("turn match")."""

    name = "tla"
    label = "TLA"
    direction = 1
    title = "turn-level accuracy"
    source = "Dey et al. 2022"

    def stats(self) -> dict[str, pl.Expr]:
        return {"turns_without_local_error": (~pl.col("local_error")).cast(pl.Int64), "turns": turns()}
