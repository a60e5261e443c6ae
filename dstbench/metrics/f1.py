"""Precision, recall and F1 of slot-value pairs.

By default as in TRADE: two empty states score 1, a single empty state scores 0, and a wrong value counts as a
superfluous pair and as a missing one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from dstbench.metrics.base import Metric, count, divide, turns


@dataclass(frozen=True)
class PairMetric(Metric):
    """A ratio of right pairs.

    Attributes:
        avg: ``macro``: the mean over turns (TRADE, SOM-DST); ``micro``: computed from summed counts.
        empty: The score of two empty states: ``1`` (TRADE), or ``0`` (RefPyDST, mwzeval).
        wrong: Whether a wrong value is both a missing and a superfluous pair (``both``), or only a missing one
            (``missed``; RefPyDST).
    """

    direction = 1

    avg: Literal["macro", "micro"] = "macro"
    empty: Literal["1", "0"] = "1"
    wrong: Literal["both", "missed"] = "both"

    source = "Wu et al. 2019 (TRADE), compute_prf"

    def _ratio(self, correct: pl.Expr, gold: pl.Expr, pred: pl.Expr) -> pl.Expr:
        """The ratio, computed from counts of one turn or from sums of counts."""
        raise NotImplementedError

    def _counts(self) -> dict[str, pl.Expr]:
        if self.wrong == "missed":  # predicted pairs, except those with a wrong value
            pred = {"n_correct_or_over": count("n_union") + count("n_correct") - count("n_gold")}
        else:
            pred = {"n_pred": count("n_pred")}
        return {"n_correct": count("n_correct"), "n_gold": count("n_gold"), **pred}

    def stats(self) -> dict[str, pl.Expr]:
        counts = self._counts()
        if self.avg == "micro":
            return counts
        return {self._turn_value: self._ratio(*counts.values()), "turns": turns()}

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        if self.avg == "micro":
            return self._ratio(*(sums[name] for name in self._counts()))
        return divide(sums[self._turn_value], sums["turns"])

    @property
    def is_accuracy_of_a_slot(self) -> bool:
        """Whether this is a slot's accuracy when computed by slot, where each side has at most one pair per turn."""
        return self.avg == "macro" and self.empty == "1"

    @property
    def _turn_value(self) -> str:
        return f"{self.name}[{self.empty},{self.wrong}]"

    def _empties(self, ratio: pl.Expr, gold: pl.Expr, pred: pl.Expr) -> pl.Expr:
        both = pl.when((gold == 0) & (pred == 0)).then(float(self.empty))
        return both.when((gold == 0) | (pred == 0)).then(0.0).otherwise(ratio)


@dataclass(frozen=True)
class F1(PairMetric):
    """F1 of pairs: 2·correct / (gold + predicted)."""

    name = "f1"
    label = "F1"
    title = "F1 of slot-value pairs"

    def _ratio(self, correct: pl.Expr, gold: pl.Expr, pred: pl.Expr) -> pl.Expr:
        return divide(2 * correct, gold + pred, empty=float(self.empty))


@dataclass(frozen=True)
class Precision(PairMetric):
    """Precision of pairs: correct / predicted."""

    name = "precision"
    label = "Precision"
    title = "precision of slot-value pairs"

    def _ratio(self, correct: pl.Expr, gold: pl.Expr, pred: pl.Expr) -> pl.Expr:
        return self._empties(correct / pred, gold, pred)


@dataclass(frozen=True)
class Recall(PairMetric):
    """Recall of pairs: correct / gold."""

    name = "recall"
    label = "Recall"
    title = "recall of slot-value pairs"

    def _ratio(self, correct: pl.Expr, gold: pl.Expr, pred: pl.Expr) -> pl.Expr:
        return self._empties(correct / gold, gold, pred)
