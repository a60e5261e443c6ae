"""Granular change accuracy (Aksu & Chen 2024).

GCA is computed from summed counts of changes, never as a mean over turns. It is undefined without any change, and 0
without a correct one. The released code (which gives the published numbers) counts a slot that both sides drop in one
turn as correct and as missed, so gold with deletions scores below 1 against itself; by the printed formula it scores 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import polars as pl

from dstbench.errors import UsageError
from dstbench.metrics.base import Metric, count

_PREFIX: Final = {"released": "gca", "paper": "gca_paper"}


@dataclass(frozen=True)
class GCA(Metric):
    """Granular change accuracy: the weighted harmonic mean of precision and recall of changed values and labels.

    Attributes:
        alpha: Weight of values against labels; the paper's "10:1" is 10/11.
        counting: ``released`` (the authors' code, which gives the published numbers) or ``paper`` (Algorithm 1).
    """

    alpha: float = 10 / 11
    counting: Literal["released", "paper"] = "released"

    name = "gca"
    title = "granular change accuracy"
    source = "Aksu & Chen 2024"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", float(self.alpha))
        if not 0 <= self.alpha <= 1:
            raise UsageError(f"metric 'gca': alpha is {self.alpha}, not a number from 0 to 1")

    def _names(self) -> list[str]:
        return [f"{_PREFIX[self.counting]}_{kind}" for kind in ("correct", "wrong", "missed", "over")]

    def stats(self) -> dict[str, pl.Expr]:
        return {name: count(name) for name in self._names()}

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        correct, wrong, missed, over = (sums[name].cast(pl.Float64) for name in self._names())
        labelled = correct + wrong
        pred, gold = labelled + over, labelled + missed
        # P·α/VP + G·α/VR + P·(1−α)/LP + G·(1−α)/LR, with VP = C/P and so on.
        squares = pred * pred + gold * gold
        cost = self.alpha * squares / correct + (1 - self.alpha) * squares / labelled
        score = pl.when(correct > 0).then((pred + gold) / cost).otherwise(0.0)
        return pl.when(pred + gold > 0).then(score)
