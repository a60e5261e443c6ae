"""Entity bias: how unevenly a slot's values are distributed, and how much of a test set training has seen.

Conventions: what a value is, and that `none` and the empty string are none, is the convention's; dontcare and ``a|b``
are values like any other unless it drops the one and takes the first alternative of the other. Only turns that the
dataset has are looked at: where turn numbers have gaps, the turn before is the one before the gap.

With r_i the relative frequencies of a slot's R values, H1/H0 = Σ r_i log_R(1/r_i) and H∞/H0 = log_R(1/max r) (Qian et
al. 2021, Table 2; they print max_i log_R(1/r_i), but their numbers are of the most frequent value). R depends on the
rarest of values, slips of annotators among them: `least` leaves those out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, get_args

import numpy as np
import polars as pl

from dstbench.audit.golds import by_split, gold_of, open_golds, under
from dstbench.conventions.profiles import as_convention
from dstbench.conventions.slots import canonical_slot
from dstbench.errors import UsageError, did_you_mean
from dstbench.schema.audit import BIAS, OVERLAP, VALUES
from dstbench.typing import Counting

if TYPE_CHECKING:
    from dstbench.conventions.convention import Convention
    from dstbench.readers.states import Side
    from dstbench.runs.open import Data

COUNTINGS: Final[tuple[str, ...]] = get_args(Counting)
#: What a split is called that others are compared to unless told otherwise.
_TRAIN: Final = "train"
_OF: Final = ["split", "counting", "slot"]


@dataclass(frozen=True)
class Bias:
    """The distribution of a dataset's values, as frames (schemas in `dstbench.schema.audit`).

    Attributes:
        slots: Per slot: how many values, H1/H0, H∞/H0, the most frequent value.
        values: Per slot and value: how often, its share and rank, whether training has it.
        overlap: Per slot: how much of a split the training set has; empty if there is no training set.
    """

    slots: pl.DataFrame
    values: pl.DataFrame
    overlap: pl.DataFrame


def bias(
    data: Data,
    *,
    slots: str | Sequence[str] | None = None,
    counting: str | Sequence[str] | None = None,
    train: str | None = None,
    least: int = 1,
    profile: str | Convention = "verbatim",
    split: str | None = None,
) -> Bias:
    """Measure how unevenly the values of a dataset's slots are distributed.

    Args:
        data: A dataset (a path, a frame, states), several paths, or a mapping from name to dataset: what a set is
            called is its split. One dataset that knows its splits is taken apart into these.
        slots: The slots, in any spelling; None: all.
        counting: When a value counts: ``cumulative``, ``update``, ``final``, or several with commas or in a list; None:
            all three, side by side.
        train: The split that is the training set; None: the one called ``train``, or ``…/train``, if there is one.
        least: Values that are counted less often in a split, slot and counting are left out there; they do make a
            value one that training has seen.
        profile: The convention, or its name; of it, what gold values mean.
        split: The only split that is looked at.

    Raises:
        DstbenchError: Data cannot be used; a slot, split or counting is unknown.

    >>> turns = [{"dialogue_id": "D", "turn": 0, "gold": {"train-destination": "ely"}},
    ...          {"dialogue_id": "D", "turn": 1, "gold": {"train-destination": "ely"}},
    ...          {"dialogue_id": "E", "turn": 0, "gold": {"train-destination": "norwich"}}]
    >>> bias(turns, counting="cumulative").slots.select("n", "values", pl.col("h1_h0").round(3), "most_frequent").row(0)
    (3, 2, 0.918, 'ely')
    >>> bias(turns, counting="final").slots["h1_h0"].item()
    1.0
    """
    convention = as_convention(profile)
    countings = _countings(counting)
    if least < 1:
        raise UsageError(f"least={least} leaves nothing out", hint="1 or more")
    golds = open_golds(data, split)
    if len(golds) == 1:
        golds = by_split(next(iter(golds.values()))) or golds
    trained = _train(train, list(golds))
    counted = pl.concat(
        [
            _count(gold_of(states), convention).select(pl.lit(name).alias("split"), pl.all())
            for name, states in golds.items()
        ]
    )
    counted = _of_slots(counted, slots)
    values = _values(counted, countings, trained, least, list(golds))
    measured = _measure(values)
    return Bias(measured, values, _overlap(values, trained))


def _countings(given: str | Sequence[str] | None) -> list[str]:
    if given is None:
        return list(COUNTINGS)
    chosen = [part.strip() for part in given.split(",")] if isinstance(given, str) else list(given)
    for name in chosen:
        if name not in COUNTINGS:
            hint = did_you_mean(name, COUNTINGS) or f"one of {', '.join(COUNTINGS)}"
            raise UsageError(f"there is no counting {name!r}", hint=hint)
    if not chosen:
        raise UsageError("no counting to count by", hint="omit it to count in all three ways")
    return list(dict.fromkeys(chosen))


def _train(given: str | None, names: list[str]) -> str | None:
    """The name of the training set, if there is one."""
    if given is None:
        return next((name for name in names if name.rpartition("/")[2] == _TRAIN), None)
    if given not in names:
        hint = did_you_mean(given, names) or f"there are {', '.join(names)}"
        raise UsageError(f"no split is called {given!r}", hint=hint)
    return given


def _of_slots(counted: pl.DataFrame, slots: str | Sequence[str] | None) -> pl.DataFrame:
    if slots is None:
        return counted
    wanted = [canonical_slot(slot) for slot in ([slots] if isinstance(slots, str) else slots)]
    known = counted["slot"].unique().to_list()
    for slot in wanted:
        if slot not in known:
            raise UsageError(f"no state has the slot {slot!r}", hint=did_you_mean(slot, known) or "see `ls slots`")
    return counted.filter(pl.col("slot").is_in(wanted))


def _count(side: Side, convention: Convention) -> pl.DataFrame:
    """How often each value is held, set, and held at the end: (slot, value: String, one column per counting)."""
    turns = (
        side.turns.with_row_index("old")
        .sort("dialogue", "turn")
        .with_row_index("at")
        .select(
            "old",
            "at",
            begins=pl.col("dialogue").ne_missing(pl.col("dialogue").shift(1)),
            ends=pl.col("dialogue").ne_missing(pl.col("dialogue").shift(-1)),
        )
    )
    held = (
        side.cells.with_columns(value=under(convention, side.cells["slot"], side.cells["value"]))
        .filter(pl.col("value").is_not_null())
        .join(turns, left_on="at", right_on="old")
        .select(pl.col("at_right").alias("at"), "slot", "value", "begins", "ends")
        .sort(pl.col("slot").to_physical(), "at")
    )
    kept = (
        (pl.col("slot") == pl.col("slot").shift(1))
        & (pl.col("at") == pl.col("at").shift(1) + 1)
        & ~pl.col("begins")
        & (pl.col("value") == pl.col("value").shift(1))
    )
    counts = held.group_by("slot", "value").agg(
        cumulative=pl.len(),
        update=kept.fill_null(False).not_().sum(),
        final=pl.col("ends").sum(),
    )
    return counts.with_columns(pl.col("slot", "value").cast(pl.String), pl.col(COUNTINGS).cast(pl.UInt32))


def _values(
    counted: pl.DataFrame, countings: list[str], train: str | None, least: int, splits: list[str]
) -> pl.DataFrame:
    """`VALUES`, sorted by split and counting as given, slot, frequency, value."""
    seen = counted.filter(pl.col("split").eq_missing(pl.lit(train))).select("slot", "value", in_train=True)
    known = counted.join(seen, on=["slot", "value"], how="left")
    if train is not None:
        known = known.with_columns(pl.col("in_train").fill_null(False))
    long = known.unpivot(
        on=list(countings), index=["split", "slot", "value", "in_train"], variable_name="counting", value_name="n"
    ).filter(pl.col("n") >= least)
    ordered = long.sort(
        pl.col("split").cast(pl.Enum(splits)),
        pl.col("counting").cast(pl.Enum(countings)),
        "slot",
        "n",
        "value",
        descending=[False, False, False, True, False],
    )
    ranked = ordered.with_columns(
        share=pl.col("n") / pl.col("n").sum().over(_OF), rank=pl.int_range(1, pl.len() + 1, dtype=pl.UInt32).over(_OF)
    )
    return VALUES.conform(ranked)


def _measure(values: pl.DataFrame) -> pl.DataFrame:
    """`BIAS` of `VALUES`."""
    slots = values.group_by(_OF, maintain_order=True).agg(
        n=pl.col("n").sum(),
        values=pl.len(),
        most_frequent=pl.col("value").first(),
        share=pl.col("share").first(),
        most=pl.col("n").first(),
    )
    # Added up in NumPy, in the order of the rows: floats that threads add up have other bits each time.
    n = values["n"].to_numpy().astype(np.float64)
    starts = values.select(pl.arg_where(pl.col("rank") == 1)).to_series().to_numpy()
    spread = np.add.reduceat(n * np.log(n), starts) if len(n) else n
    total, most, distinct = (slots[name].to_numpy().astype(np.float64) for name in ("n", "most", "values"))
    with np.errstate(divide="ignore", invalid="ignore"):
        h1 = np.minimum((np.log(total) - spread / total) / np.log(distinct), 1)  # of equal ones, but for rounding
        hinf = (np.log(total) - np.log(most)) / np.log(distinct)
    several = distinct > 1
    measured = slots.with_columns(
        h1_h0=pl.Series(np.where(several, h1, np.nan)).fill_nan(None),
        hinf_h0=pl.Series(np.where(several, hinf, np.nan)).fill_nan(None),
    )
    return BIAS.conform(measured)


def _overlap(values: pl.DataFrame, train: str | None) -> pl.DataFrame:
    """`OVERLAP` of `VALUES`."""
    if train is None:
        return OVERLAP.schema.to_frame()
    most = values.filter((pl.col("split") == train) & (pl.col("rank") == 1)).select(
        "counting", "slot", train_most_frequent="value", train_share="share"
    )
    others = values.filter(pl.col("split") != train).join(
        most, on=["counting", "slot"], how="left", maintain_order="left"
    )
    there = pl.col("in_train")
    is_most = pl.col("value") == pl.col("train_most_frequent")
    found = (
        others.group_by(_OF, maintain_order=True)
        .agg(
            values=pl.len(),
            values_seen=there.sum(),
            n=pl.col("n").sum(),
            n_seen=pl.col("n").filter(there).sum(),
            train_most_frequent=pl.col("train_most_frequent").first(),
            train_share=pl.col("train_share").first(),
            share=pl.when(pl.col("train_share").first().is_not_null()).then(pl.col("share").filter(is_most).sum()),
        )
        .with_columns(
            train=pl.lit(train),
            share_values_seen=pl.col("values_seen") / pl.col("values"),
            share_n_seen=pl.col("n_seen") / pl.col("n"),
        )
    )
    return OVERLAP.conform(found)
