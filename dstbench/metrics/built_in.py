"""The built-in metrics: names, what a turn adds to their statistics, and how the value follows from the sums.

A turn whose states are both empty is right (JGA 1, SA 1), has RSA 0 and F1 1, and does not count in AGA, unless a
parameter says otherwise. *Soft* metrics count a value by its similarity to gold's, as the convention's matcher gives
it, whatever its threshold (exact matching: 1 or 0); a slot of only one side has similarity 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

import polars as pl

from dstbench.conventions.slots import SlotTotal
from dstbench.errors import UsageError
from dstbench.metrics.base import Metric, TurnMean, count, divide, gold_turns, turns

_KIM: Final = "Kim et al. 2022, eq."
_GCA: Final = "Aksu & Chen 2024"
_FGA: Final = "Dey et al. 2022"
_SGD_PAPER: Final = "Rastogi et al. 2020"
_SGD: Final = f"{_SGD_PAPER}, official evaluation"
_SOFT: Final = f"with similarities as in {_SGD_PAPER}"
_QIAN: Final = "Qian et al. 2021"
_RIGHT: Final = pl.col("n_correct") == pl.col("n_union")
_EMPTY_TURNS: Final = (pl.col("n_union") == 0).cast(pl.Int64)
#: The name of the statistic of slot accuracy that counts errors.
ERRORS: Final = "errors"
_MOST_SLOTS: Final = 1_000_000  # so that T times the turns stays an exact integer


class _BuiltIn(Metric):
    """A metric whose names are given where its class is declared."""

    #: What a turn adds to the sum that the value follows from.
    in_turn: ClassVar[pl.Expr]
    direction = 1

    def __init_subclass__(cls, **names: Any) -> None:
        for attribute, value in names.items():
            setattr(cls, attribute, value)


class _Mean(_BuiltIn, TurnMean):
    """A mean of `in_turn` over turns, or over those with a gold slot.

    Its statistic is called as the metric, unless metrics share it (`shared`).
    """

    shared: ClassVar[str | None] = None
    over_gold: ClassVar[bool] = False

    def stats(self) -> dict[str, pl.Expr]:
        number = {"gold_turns": gold_turns()} if self.over_gold else {"turns": turns()}
        return {self.shared or self.name: self.in_turn, **number}


class JGA(_Mean, name="jga", label="JGA", title="joint goal accuracy", source=f"{_KIM} 1"):
    """The share of turns whose states are equal."""

    shared, in_turn = "right", _RIGHT.cast(pl.Int64)


@dataclass(frozen=True)
class SA(_BuiltIn, name="sa", label="SA", title="slot accuracy", source=f"{_KIM} 2; Wu et al. 2019"):
    """The share of the T predefined slots that are right; a turn with more than T errors scores below 0.

    Attributes:
        T: Number of predefined slots; None: that of the dataset (`slots.slot_total`).
    """

    T: int | None = field(default=None, metadata={"shown": "of the dataset"})

    def __post_init__(self) -> None:
        least = 0 if isinstance(self, _ResolvedSA) else 1
        if self.T is not None and not least <= self.T <= _MOST_SLOTS:
            raise UsageError(f"metric 'sa': T is {self.T}, not a number of slots from 1 to {_MOST_SLOTS:,}")

    def stats(self) -> dict[str, pl.Expr]:
        return {ERRORS: count("n_union") - count("n_correct") + count("n_charged_again"), "turns": turns()}

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
class RSA(_BuiltIn, name="rsa", label="RSA", title="relative slot accuracy", source=f"{_KIM} 3"):
    """Right slots among those in gold or prediction.

    Attributes:
        empty: The score of two empty states: ``0`` (Kim et al.) or ``1``; or ``skip``: they are left out (ConvLab-3).
    """

    empty: Literal["0", "1", "skip"] = "0"

    in_turn = pl.col("n_correct")

    def stats(self) -> dict[str, pl.Expr]:
        slots = count("n_union") + count("n_charged_again")
        return {self.name: divide(self.in_turn, slots), "turns": turns(), "empty_turns": _EMPTY_TURNS}

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        if self.empty == "skip":
            return divide(sums[self.name], sums["turns"] - sums["empty_turns"])
        if self.empty == "1":
            return divide(sums[self.name] + sums["empty_turns"], sums["turns"])
        return divide(sums[self.name], sums["turns"])


class _SoftRSA(
    RSA, name="soft-rsa", label="Soft RSA", title="relative slot accuracy of similarities", source=f"{_KIM} 3, {_SOFT}"
):
    in_turn = pl.col("soft_correct")


@dataclass(frozen=True)
class AGA(_BuiltIn, name="aga", label="AGA", title="average goal accuracy", source=f"{_SGD_PAPER}; {_GCA}, eq. 1"):
    """Right slots among gold's, over turns with a gold slot.

    Attributes:
        empty: Turns without a gold slot are left out (``skip``), or score 1 if nothing is predicted, else 0 (``1``).
    """

    empty: Literal["skip", "1"] = "skip"

    in_turn = divide(pl.col("n_correct"), pl.col("n_gold"))

    def stats(self) -> dict[str, pl.Expr]:
        return {"aga": self.in_turn, "gold_turns": gold_turns(), "turns": turns(), "empty_turns": _EMPTY_TURNS}

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        if self.empty == "1":
            return divide(sums["aga"] + sums["empty_turns"], sums["turns"])
        return divide(sums["aga"], sums["gold_turns"])


class _IAGA(
    _Mean, name="iaga", label="IAGA", title="intersection over union of pairs, over AGA's turns",
    source=f"{_GCA}, released code",
):  # fmt: skip
    """As in the GCA authors' code, a wrong value is two pairs."""

    over_gold = True
    in_turn = divide(pl.col("n_correct"), pl.col("n_gold") + pl.col("n_pred") - pl.col("n_correct"))


@dataclass(frozen=True)
class PairMetric(_BuiltIn, source="Wu et al. 2019 (TRADE), compute_prf"):
    """A ratio of right pairs. By default as in TRADE: a wrong value is a superfluous pair and a missing one.

    Attributes:
        avg: ``macro``: the mean over turns (TRADE, SOM-DST); ``micro``: computed from summed counts.
        empty: The score of two empty states: ``1`` (TRADE), or ``0`` (RefPyDST, mwzeval); that of a single one is 0.
        wrong: Whether a wrong value is both a missing and a superfluous pair (``both``), or only a missing one
            (``missed``; RefPyDST).
    """

    avg: Literal["macro", "micro"] = "macro"
    empty: Literal["1", "0"] = "1"
    wrong: Literal["both", "missed"] = "both"

    def _ratio(self, correct: pl.Expr, gold: pl.Expr, pred: pl.Expr) -> pl.Expr:
        """The ratio, computed from counts of one turn or from sums of counts."""
        both = pl.when((gold == 0) & (pred == 0)).then(float(self.empty))
        return both.when((gold == 0) | (pred == 0)).then(0.0).otherwise(correct / (gold if self.of_gold else pred))

    of_gold: ClassVar[bool] = False

    def _counts(self) -> dict[str, pl.Expr]:
        pred = {"n_pred": count("n_pred")}
        if self.wrong == "missed":  # predicted pairs, except those with a wrong value
            pred = {"n_correct_or_over": count("n_union") + count("n_correct") - count("n_gold")}
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
    def _turn_value(self) -> str:
        return f"{self.name}[{self.empty},{self.wrong}]"


class F1(PairMetric, name="f1", label="F1", title="F1 of slot-value pairs"):
    """F1 of pairs: 2·correct / (gold + predicted)."""

    def _ratio(self, correct: pl.Expr, gold: pl.Expr, pred: pl.Expr) -> pl.Expr:
        return divide(2 * correct, gold + pred, empty=float(self.empty))


class _Precision(PairMetric, name="precision", label="Precision", title="precision of slot-value pairs"):
    pass


class _Recall(PairMetric, name="recall", label="Recall", title="recall of slot-value pairs"):
    of_gold = True


@dataclass(frozen=True)
class FGA(_Mean, name="fga", label="FGA", title="flexible goal accuracy", source=_FGA):
    """A turn that only carries an old error scores 1 − exp(−λ·age); the age is the difference of turn numbers.

    Attributes:
        lam: λ; published for 0.25, 0.5, 0.75 and 1.
    """

    lam: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", float(self.lam))  # 1 and 1.0 are one parameter, and print alike
        if not 0 <= self.lam < float("inf"):
            raise UsageError(f"metric 'fga': lam is {self.lam}, not a number from 0")

    def stats(self) -> dict[str, pl.Expr]:
        credit = 1 - (-self.lam * pl.col("error_age").cast(pl.Float64)).exp()
        value = pl.when(_RIGHT).then(1.0).when("local_error").then(0.0).otherwise(credit)
        return {f"fga[{self.lam}]": value, "turns": turns()}


class _TLA(_Mean, name="tla", label="TLA", title="turn-level accuracy", source=_FGA):
    """The share of turns that make no error of their own ("turn match")."""

    shared, in_turn = "turns_without_local_error", (~pl.col("local_error")).cast(pl.Int64)


#: How changes are counted: by the authors' code, which gives the published numbers, or by Algorithm 1.
Counting = Literal["released", "paper"]


def _changes(counting: Counting, *kinds: str) -> dict[str, pl.Expr]:
    """Counts of changes, by their columns in the turn table."""
    return {name: count(name) for name in (f"{_prefix(counting)}_{kind}" for kind in kinds)}


def _prefix(counting: Counting) -> str:
    return "gca" if counting == "released" else "gca_paper"


@dataclass(frozen=True)
class GCA(_BuiltIn, name="gca", label="GCA", title="granular change accuracy", source=_GCA):
    """The weighted harmonic mean of precision and recall of changed values and labels.

    It is undefined if nothing changes, and 0 if no change is correct. The released code counts a slot that both sides
    drop in the same turn as correct and as missed, so gold with deletions scores below 1 against itself; by the printed
    formula it scores 1.

    Attributes:
        alpha: Weight of values against labels; the paper's "10:1" is 10/11.
        counting: ``released`` (the authors' code, which gives the published numbers) or ``paper`` (Algorithm 1).
    """

    alpha: float = 10 / 11
    counting: Counting = "released"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", float(self.alpha))
        if not 0 <= self.alpha <= 1:
            raise UsageError(f"metric 'gca': alpha is {self.alpha}, not a number from 0 to 1")

    def stats(self) -> dict[str, pl.Expr]:
        return _changes(self.counting, "correct", "wrong", "missed", "over")

    def correct(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        """C, computed from the sums."""
        return sums[f"{_prefix(self.counting)}_correct"].cast(pl.Float64)

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        all_correct, wrong, missed, over = (sums[name].cast(pl.Float64) for name in GCA.stats(self))
        correct, labelled = self.correct(sums), all_correct + wrong
        pred, gold = labelled + over, labelled + missed
        # P·α/VP + G·α/VR + P·(1−α)/LP + G·(1−α)/LR, with VP = C/P and so on.
        squares = pred * pred + gold * gold
        cost = self.alpha * squares / correct + (1 - self.alpha) * squares / labelled
        # Rounding may take a perfect score past 1.
        score = pl.when(correct > 0).then(((pred + gold) / cost).clip(upper_bound=1.0)).otherwise(0.0)
        return pl.when(pred + gold > 0).then(score)


class _SoftGCA(
    GCA, name="soft-gca", label="Soft GCA", title="granular change accuracy of similarities", source=f"{_GCA}, {_SOFT}"
):
    """A change with two values adds its similarity to C and the rest to W; labels count as in GCA."""

    def stats(self) -> dict[str, pl.Expr]:
        # A sum of similarities may exceed 1, so its whole number and what is left are summed separately, both exactly.
        name = f"soft_{_prefix(self.counting)}_correct"
        column = pl.col(name).cast(pl.Float64)
        whole = column.floor()
        return {**super().stats(), f"{name}_whole": whole.cast(pl.Int64), f"{name}_part": column - whole}

    def correct(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        name = f"soft_{_prefix(self.counting)}_correct"
        return sums[f"{name}_whole"].cast(pl.Float64) + sums[f"{name}_part"]


@dataclass(frozen=True)
class _Part(_BuiltIn, source=_GCA):
    """Correct changes (of values or of labels) among those of one side; undefined if there are none.

    Attributes:
        counting: As of `GCA`.
    """

    counting: Counting = "released"

    #: The kinds of changes that are right, and the kind that only this side has.
    right: ClassVar[tuple[str, ...]]
    alone: ClassVar[str]

    def stats(self) -> dict[str, pl.Expr]:
        return _changes(self.counting, "correct", "wrong", self.alone)

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        right = pl.sum_horizontal(sums[name] for name in _changes(self.counting, *self.right))
        return divide(right, pl.sum_horizontal(sums[name] for name in self.stats()))


class _ValuePrecision(_Part, name="gca-vp", label="Value precision", title="predicted changes with gold's value"):
    right, alone = ("correct",), "over"  # C / (C + W + O)


class _ValueRecall(
    _Part, name="gca-vr", label="Value recall", title="changes of gold that are predicted with their value"
):
    right, alone = ("correct",), "missed"  # C / (C + W + M)


class _LabelPrecision(
    _Part, name="gca-lp", label="Label precision", title="predicted changes of slots that gold changes"
):
    right, alone = ("correct", "wrong"), "over"  # (C + W) / (C + W + O), whatever the values


class _LabelRecall(_Part, name="gca-lr", label="Label recall", title="changes of gold whose slots are predicted"):
    right, alone = ("correct", "wrong"), "missed"  # (C + W) / (C + W + M)


class _SoftJGA(_Mean, name="soft-jga", label="Soft JGA", title="joint goal accuracy of similarities", source=_SGD):
    in_turn = pl.col("soft_joint")  # the product of similarities over the slots of both states


class _SoftAGA(_Mean, name="soft-aga", label="Soft AGA", title="average goal accuracy of similarities", source=_SGD):
    over_gold, in_turn = True, divide(pl.col("soft_correct"), pl.col("n_gold"))


class _Intent(_Mean, name="intent", label="Intent accuracy", title="active intent accuracy, over frames", source=_SGD):
    in_turn = count("right_intent")


class _RequestedF1(
    _Mean, name="requested-f1", label="Requested slots F1", title="F1 of requested slots, over frames", source=_SGD
):
    in_turn = pl.col("requested_f1")  # 1 for a frame that requests none on either side


class _Count(_BuiltIn, source="counts of the turn table"):
    is_count = True

    def stats(self) -> dict[str, pl.Expr]:
        return {self.name: self.in_turn}

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        return sums[self.name].cast(pl.Float64)


class _Correct(_Count, name="correct", label="Correct slots", title="slots with the right value"):
    in_turn = count("n_correct")


class _Wrong(_Count, name="wrong", label="Wrong slots", title="slots with a wrong value", direction=-1):
    in_turn = count("n_gold") + count("n_pred") - count("n_union") - count("n_correct")


class _Missed(_Count, name="missed", label="Missed slots", title="slots that the prediction misses", direction=-1):
    in_turn = count("n_union") - count("n_pred")


class _Over(
    _Count, name="over", label="Over-predicted slots", title="slots that only the prediction has", direction=-1
):
    in_turn = count("n_union") - count("n_gold")


class _ErrorTurns(
    _Count, name="error-turns", label="Error turns", title="turns with an error", source=_QIAN, direction=-1
):
    in_turn = (pl.col("n_correct") != pl.col("n_union")).cast(pl.Int64)  # of the slot, in a per-slot table


#: The metrics by name, in the order in which they are listed.
REGISTRY: Final[dict[str, type[Metric]]] = {
    metric.name: metric
    for metric in (
        JGA, SA, RSA, AGA, F1, FGA, GCA, _TLA, _Precision, _Recall, _IAGA, _SoftJGA, _SoftAGA, _SoftRSA, _SoftGCA,
        _ValuePrecision, _ValueRecall, _LabelPrecision, _LabelRecall, _Intent, _RequestedF1,
        _Correct, _Wrong, _Missed, _Over, _ErrorTurns,
    )
}  # fmt: skip
