"""Scores of what SGD's frames say beside their slots (Rastogi et al. 2020): active intents and requested slots.

Conventions: means over all frames of gold; a frame that is not predicted has a wrong intent, and requests nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from dstbench.metrics.base import Metric, count, divide, mean, turns


@dataclass(frozen=True)
class Intent(Metric):
    """Active intent accuracy: the share of frames whose active intent is right."""

    name = "intent"
    title = "active intent accuracy, over frames"
    source = "Rastogi et al. 2020, official evaluation"

    def stats(self) -> dict[str, pl.Expr]:
        return {self.name: count("right_intent"), "turns": turns()}

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        return divide(sums[self.name], sums["turns"])


@dataclass(frozen=True)
class RequestedF1(Metric):
    """The mean over frames of the F1 of requested slots; a frame that requests none on either side has 1."""

    name = "requested-f1"
    title = "F1 of requested slots, over frames"
    source = "Rastogi et al. 2020, official evaluation"

    def stats(self) -> dict[str, pl.Expr]:
        return {self.name: pl.col("requested_f1"), "turns": turns()}

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        return mean(sums[self.name], sums["turns"])
