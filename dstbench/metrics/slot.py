"""Precision, recall and F1 of slot-value pairs.

Conventions (TRADE's): both states empty is 1; one of them empty is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from dstbench.metrics.base import Metric, count, divide, exact, mean, turns


@dataclass(frozen=True)
class _PairMetric(Metric):
    """A ratio of right pairs: per turn, averaged (``macro``), or from summed counts (``micro``).

    Attributes:
        avg: ``macro`` (TRADE, SOM-DST) or ``micro``.
    """

    avg: Literal["macro", "micro"] = "macro"

    source = "Wu et al. 2019 (TRADE), compute_prf"

    def _ratio(self, correct: pl.Expr, gold: pl.Expr, pred: pl.Expr) -> pl.Expr:
        """The ratio from counts, whether of one turn or summed."""
        raise NotImplementedError

    def stats(self) -> dict[str, pl.Expr]:
        if self.avg == "micro":
            return {name: count(name) for name in ("n_correct", "n_gold", "n_pred")}
        ratio = self._ratio(*(pl.col(name).cast(pl.Int64) for name in ("n_correct", "n_gold", "n_pred")))
        return {self.name: exact(ratio), "turns": turns()}

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        if self.avg == "micro":
            return self._ratio(sums["n_correct"], sums["n_gold"], sums["n_pred"])
        return mean(sums[self.name], sums["turns"])


def _empties(ratio: pl.Expr, gold: pl.Expr, pred: pl.Expr) -> pl.Expr:
    return pl.when((gold == 0) & (pred == 0)).then(1.0).when((gold == 0) | (pred == 0)).then(0.0).otherwise(ratio)


@dataclass(frozen=True)
class F1(_PairMetric):
    """F1 of pairs: 2·correct / (gold + predicted)."""

    name = "f1"
    title = "F1 of slot-value pairs"

    def _ratio(self, correct: pl.Expr, gold: pl.Expr, pred: pl.Expr) -> pl.Expr:
        return divide(2 * correct, gold + pred, empty=1.0)


@dataclass(frozen=True)
class Precision(_PairMetric):
    """Precision of pairs: correct / predicted."""

    name = "precision"
    title = "precision of slot-value pairs"

    def _ratio(self, correct: pl.Expr, gold: pl.Expr, pred: pl.Expr) -> pl.Expr:
        return _empties(correct / pred, gold, pred)


@dataclass(frozen=True)
class Recall(_PairMetric):
    """Recall of pairs: correct / gold."""

    name = "recall"
    title = "recall of slot-value pairs"

    def _ratio(self, correct: pl.Expr, gold: pl.Expr, pred: pl.Expr) -> pl.Expr:
        return _empties(correct / gold, gold, pred)
