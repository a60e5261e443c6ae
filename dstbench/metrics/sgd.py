"""Scores of SGD's evaluation: similarities of values, active intents and requested slots (Rastogi et al. 2020).

Similarities are those of the convention's matcher, whatever its threshold (exact matching: 1 or 0). A slot of only one
side has similarity 0. If both states are empty, the joint score is 1 and the average is undefined. Intents and
requested slots are scored over all frames of gold; a frame that is not predicted has a wrong intent and requests
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from dstbench.metrics.base import TurnMean, count, divide, gold_turns, turns


@dataclass(frozen=True)
class _OfSGD(TurnMean):
    direction = 1
    source = "Rastogi et al. 2020, official evaluation"


@dataclass(frozen=True)
class SoftJGA(_OfSGD):
    """The mean over turns of the product of similarities over the slots of both states."""

    name = "soft-jga"
    label = "Soft JGA"
    title = "joint goal accuracy of similarities"

    def stats(self) -> dict[str, pl.Expr]:
        return {self.name: pl.col("soft_joint"), "turns": turns()}


@dataclass(frozen=True)
class SoftAGA(_OfSGD):
    """The mean, over turns with a gold slot, of the mean similarity over gold's slots."""

    name = "soft-aga"
    label = "Soft AGA"
    title = "average goal accuracy of similarities"

    def stats(self) -> dict[str, pl.Expr]:
        return {self.name: divide(pl.col("soft_correct"), pl.col("n_gold")), "gold_turns": gold_turns()}


@dataclass(frozen=True)
class Intent(_OfSGD):
    """Active intent accuracy: the share of frames whose active intent is right."""

    name = "intent"
    label = "Intent accuracy"
    title = "active intent accuracy, over frames"

    def stats(self) -> dict[str, pl.Expr]:
        return {self.name: count("right_intent"), "turns": turns()}


@dataclass(frozen=True)
class RequestedF1(_OfSGD):
    """The mean over frames of the F1 of requested slots; a frame that requests none on either side has 1."""

    name = "requested-f1"
    label = "Requested slots F1"
    title = "F1 of requested slots, over frames"

    def stats(self) -> dict[str, pl.Expr]:
        return {self.name: pl.col("requested_f1"), "turns": turns()}
