"""Soft scores: as near as a predicted value is to gold, so much it counts (Rastogi et al. 2020).

Conventions: similarities are those of the convention's matcher, without its threshold (exact: 1 or 0). A slot that only
one side has is 0; both states empty is 1 in the joint score and undefined in the average.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from dstbench.metrics.base import Metric, divide, mean, turns


@dataclass(frozen=True)
class SoftJGA(Metric):
    """The mean over turns of the product of similarities over the slots of both states."""

    name = "soft-jga"
    title = "joint goal accuracy of similarities"
    source = "Rastogi et al. 2020, official evaluation"

    def stats(self) -> dict[str, pl.Expr]:
        return {self.name: pl.col("soft_joint"), "turns": turns()}

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        return mean(sums[self.name], sums["turns"])


@dataclass(frozen=True)
class SoftAGA(Metric):
    """The mean, over turns with a gold slot, of the mean similarity over gold's slots."""

    name = "soft-aga"
    title = "average goal accuracy of similarities"
    source = "Rastogi et al. 2020, official evaluation"

    def stats(self) -> dict[str, pl.Expr]:
        return {
            self.name: divide(pl.col("soft_correct"), pl.col("n_gold")),
            "gold_turns": (pl.col("n_gold") > 0).cast(pl.Int64),
        }

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        return mean(sums[self.name], sums["gold_turns"])
