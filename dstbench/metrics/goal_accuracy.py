"""Metrics of the whole state: JGA, SA, RSA (Kim et al. 2022), AGA, IAGA.

By default, a turn whose states are both empty is right (JGA 1, SA 1), has RSA 0, and does not count in AGA.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal

import polars as pl

from dstbench.conventions.slots import SlotTotal
from dstbench.errors import UsageError
from dstbench.metrics.base import Metric, TurnMean, count, divide, gold_turns, turns

#: The name of the statistic of slot accuracy that counts errors.
ERRORS: Final = "errors"
_MOST_SLOTS: Final = 1_000_000  # so that T times the turns stays an exact integer


@dataclass(frozen=True)
class JGA(TurnMean):
    """Joint goal accuracy: the share of turns whose states are equal (Kim et al. 2022, eq. 1)."""

    name = "jga"
    label = "JGA"
    direction = 1
    title = "joint goal accuracy"
    source = "Kim et al. 2022, eq. 1"

    def stats(self) -> dict[str, pl.Expr]:
        return {"right": (pl.col("n_correct") == pl.col("n_union")).cast(pl.Int64), "turns": turns()}


@dataclass(frozen=True)
class SA(Metric):
    """Slot accuracy: the share of the T predefined slots that are right (Kim et al. 2022, eq. 2; TRADE).

    A turn with more than T errors scores below 0; a tracker that invents slots can have such turns.

    Attributes:
        T: Number of predefined slots; None: that of the dataset (`slots.slot_total`).
    """

    T: int | None = field(default=None, metadata={"shown": "of the dataset"})

    name = "sa"
    label = "SA"
    direction = 1
    title = "slot accuracy"
    source = "Kim et al. 2022, eq. 2; Wu et al. 2019"

    def __post_init__(self) -> None:
        least = 0 if isinstance(self, _ResolvedSA) else 1
        if self.T is not None and not least <= self.T <= _MOST_SLOTS:
            raise UsageError(f"metric 'sa': T is {self.T}, not a number of slots from 1 to {_MOST_SLOTS:,}")

    def stats(self) -> dict[str, pl.Expr]:
        errors = count("n_union") - count("n_correct") + count("n_charged_again")
        return {ERRORS: errors, "turns": turns()}

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        if self.T is None:
            raise UsageError("slot accuracy needs the number of slots", hint='parse("sa:T=30")')
        slots = self.T * sums["turns"]
        return divide(slots - sums[ERRORS], slots)

    def resolve(self, total: SlotTotal) -> Metric:
        return _ResolvedSA(T=total.size, slots=total.source) if self.T is None else self


@dataclass(frozen=True)
class _ResolvedSA(SA):
    """SA with the dataset's T; the signature says which slots T counts. Undefined if gold has no slot."""

    slots: str = ""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class RSA(Metric):
    """Relative slot accuracy: right slots among those in gold or prediction (Kim et al. 2022, eq. 3).

    Attributes:
        empty: The score of two empty states: ``0`` (Kim et al.) or ``1``; or ``skip``: they are left out (ConvLab-3).
    """

    empty: Literal["0", "1", "skip"] = "0"

    name = "rsa"
    label = "RSA"
    direction = 1
    title = "relative slot accuracy"
    source = "Kim et al. 2022, eq. 3"
    #: The column of the turn table that says how many of a turn's slots are right.
    right: ClassVar[str] = "n_correct"

    def stats(self) -> dict[str, pl.Expr]:
        slots = count("n_union") + count("n_charged_again")
        return {self.name: divide(pl.col(self.right), slots), "turns": turns(), "empty_turns": _empty_turns()}

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        if self.empty == "skip":
            return divide(sums[self.name], sums["turns"] - sums["empty_turns"])
        if self.empty == "1":
            return divide(sums[self.name] + sums["empty_turns"], sums["turns"])
        return divide(sums[self.name], sums["turns"])


@dataclass(frozen=True)
class AGA(Metric):
    """Average goal accuracy: right slots among gold's, over turns with a gold slot (SGD; Aksu & Chen 2024, eq. 1).

    Attributes:
        empty: Turns without a gold slot are left out (``skip``), or score 1 if nothing is predicted, else 0 (``1``).
    """

    empty: Literal["skip", "1"] = "skip"

    name = "aga"
    label = "AGA"
    direction = 1
    title = "average goal accuracy"
    source = "Rastogi et al. 2020; Aksu & Chen 2024, eq. 1"

    def stats(self) -> dict[str, pl.Expr]:
        return {
            "aga": divide(pl.col("n_correct"), pl.col("n_gold")),
            "gold_turns": gold_turns(),
            "turns": turns(),
            "empty_turns": _empty_turns(),
        }

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        if self.empty == "1":
            return divide(sums["aga"] + sums["empty_turns"], sums["turns"])
        return divide(sums["aga"], sums["gold_turns"])


@dataclass(frozen=True)
class IAGA(TurnMean):
    """Right pairs among the pairs of gold or prediction, as a mean over turns with a gold slot.

    As in the code of the GCA authors, a wrong value counts as two pairs.
    """

    name = "iaga"
    label = "IAGA"
    direction = 1
    title = "intersection over union of pairs, over AGA's turns"
    source = "Aksu & Chen 2024, released code"

    def stats(self) -> dict[str, pl.Expr]:
        pairs = pl.col("n_gold") + pl.col("n_pred") - pl.col("n_correct")
        return {"iaga": divide(pl.col("n_correct"), pairs), "gold_turns": gold_turns()}


def _empty_turns() -> pl.Expr:
    """1 for a turn whose states are both empty, else 0."""
    return (pl.col("n_union") == 0).cast(pl.Int64)
