"""Granular change accuracy (Aksu & Chen 2024).

GCA and its four parts are computed from summed counts of changes, never as a mean over turns. GCA is undefined if
nothing changes, and 0 if no change is correct; a part is undefined where its denominator is 0. The released code (which
gives the published numbers) counts a slot that both sides drop in the same turn as correct and as missed, so gold with
deletions scores below 1 against itself; by the printed formula it scores 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

import polars as pl

from dstbench.errors import UsageError
from dstbench.metrics.base import Metric, count, divide

#: How changes are counted: by the authors' code, which gives the published numbers, or by Algorithm 1.
Counting = Literal["released", "paper"]
#: For each way of counting, how the names of its columns in the turn table begin.
PREFIX: Final[Mapping[Counting, str]] = {"released": "gca", "paper": "gca_paper"}


@dataclass(frozen=True)
class GCA(Metric):
    """Granular change accuracy: the weighted harmonic mean of precision and recall of changed values and labels.

    Attributes:
        alpha: Weight of values against labels; the paper's "10:1" is 10/11.
        counting: ``released`` (the authors' code, which gives the published numbers) or ``paper`` (Algorithm 1).
    """

    alpha: float = 10 / 11
    counting: Counting = "released"

    name = "gca"
    label = "GCA"
    direction = 1
    title = "granular change accuracy"
    source = "Aksu & Chen 2024"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", float(self.alpha))
        if not 0 <= self.alpha <= 1:
            raise UsageError(f"metric 'gca': alpha is {self.alpha}, not a number from 0 to 1")

    def stats(self) -> dict[str, pl.Expr]:
        return _counts(self.counting)

    def correct(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        """C, computed from the sums."""
        return sums[f"{PREFIX[self.counting]}_correct"].cast(pl.Float64)

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        names = list(_counts(self.counting))
        all_correct, wrong, missed, over = (sums[name].cast(pl.Float64) for name in names)
        correct, labelled = self.correct(sums), all_correct + wrong
        pred, gold = labelled + over, labelled + missed
        # P·α/VP + G·α/VR + P·(1−α)/LP + G·(1−α)/LR, with VP = C/P and so on.
        squares = pred * pred + gold * gold
        cost = self.alpha * squares / correct + (1 - self.alpha) * squares / labelled
        # Rounding may take a perfect score past 1.
        score = pl.when(correct > 0).then(((pred + gold) / cost).clip(upper_bound=1.0)).otherwise(0.0)
        return pl.when(pred + gold > 0).then(score)


@dataclass(frozen=True)
class _Part(Metric):
    """Correct changes (of values or of labels) among those of one side.

    Attributes:
        counting: As of `GCA`.
    """

    counting: Counting = "released"

    direction = 1
    source = "Aksu & Chen 2024"
    #: The kinds of changes that are right, and the kind that only this side has.
    right: ClassVar[tuple[str, ...]]
    alone: ClassVar[str]

    def stats(self) -> dict[str, pl.Expr]:
        return _counts(self.counting, "correct", "wrong", self.alone)

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        right = pl.sum_horizontal(sums[name] for name in _counts(self.counting, *self.right))
        return divide(right, pl.sum_horizontal(sums[name] for name in self.stats()))


@dataclass(frozen=True)
class ValuePrecision(_Part):
    """VP: the share of predicted changes that have gold's value, C / (C + W + O)."""

    name = "gca-vp"
    label = "Value precision"
    title = "predicted changes with gold's value"
    right, alone = ("correct",), "over"


@dataclass(frozen=True)
class ValueRecall(_Part):
    """VR: the share of gold's changes that are predicted with their value, C / (C + W + M)."""

    name = "gca-vr"
    label = "Value recall"
    title = "changes of gold that are predicted with their value"
    right, alone = ("correct",), "missed"


@dataclass(frozen=True)
class LabelPrecision(_Part):
    """LP: the share of predicted changes whose slot gold changes, whatever the value, (C + W) / (C + W + O)."""

    name = "gca-lp"
    label = "Label precision"
    title = "predicted changes of slots that gold changes"
    right, alone = ("correct", "wrong"), "over"


@dataclass(frozen=True)
class LabelRecall(_Part):
    """LR: the share of gold's changes whose slot is predicted, whatever the value, (C + W) / (C + W + M)."""

    name = "gca-lr"
    label = "Label recall"
    title = "changes of gold whose slots are predicted"
    right, alone = ("correct", "wrong"), "missed"


def _counts(counting: Counting, *kinds: str) -> dict[str, pl.Expr]:
    """Counts of changes, by their columns in the turn table; all four of them if none is named."""
    names = [f"{PREFIX[counting]}_{kind}" for kind in kinds or ("correct", "wrong", "missed", "over")]
    return {name: count(name) for name in names}
