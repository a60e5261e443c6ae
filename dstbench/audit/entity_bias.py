"""Entity bias: how unevenly a slot's values are distributed, and how much of a test set training has seen.

Conventions: the convention decides what counts as a value. Under most, `none` and the empty string do not; dontcare and
``a|b`` are values like any other unless it drops dontcare or takes the first alternative. If turn numbers have a gap,
the turn before is the one before the gap.

With r_i the relative frequencies of a slot's R values, H1/H0 = Σ r_i log_R(1/r_i) and H∞/H0 = log_R(1/max r) (Qian et
al. 2021, Table 2; they print max_i log_R(1/r_i), but their numbers are those of the most frequent value). R counts even
the rarest values, including annotators' slips; `least` omits rare values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, get_args

import numpy as np
import polars as pl

from dstbench.audit.corpus import with_changes
from dstbench.audit.inputs import gold_of, open_golds, split_names, under
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.conventions.slots import canonical_slot
from dstbench.errors import UsageError, check_known
from dstbench.readers.states import Side, only_split
from dstbench.runs.open import Data
from dstbench.schema.audit import BIAS, OVERLAP, VALUES
from dstbench.schema.record import Record
from dstbench.typing import Counting

COUNTINGS: Final[tuple[str, ...]] = get_args(Counting)
_GROUP: Final = ["split", "counting", "slot"]


@dataclass(frozen=True)
class Bias(Record):
    """The distribution of a dataset's values, as frames (schemas in `dstbench.schema.audit`).

    Attributes:
        slots: Per slot: how many values, H1/H0, H∞/H0, the most frequent value.
        values: Per slot and value: how often, its share and rank, whether the training set has it.
        overlap: Per slot: how much of a split the training set has; empty without a training set.
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
        data: Datasets with gold states, or one per split: train.tsv test.tsv. In Python, also a frame, states, or a
            mapping from the name of each split to its dataset. A single dataset that knows its splits is divided.
        slots: Only this slot, in any spelling; None: all.
        counting: A value counts in every turn whose state holds it (``cumulative``), in those in which it is set
            (``update``), or in the last state (``final``); comma-separated; None: all three.
        train: The split that others are compared to; None: the one called ``train`` or ``…/train``, if there is one.
        least: Omit values that are counted less often. The count is that in a split, slot and counting; a value of
            the training set counts as seen even where it is omitted.
        profile: The convention, or its name: it decides what gold values mean.
        split: Read only this split; None: all.

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
    chosen = COUNTINGS if counting is None else counting.split(",") if isinstance(counting, str) else counting
    countings = list(dict.fromkeys(name.strip() for name in chosen))
    check_known(countings, COUNTINGS, "there is no counting {!r}")
    if not countings:
        raise UsageError("no counting to count by", hint="omit it to count in all three ways")
    if least < 1:
        raise UsageError(f"least={least} omits nothing", hint="1 or more")
    golds = open_golds(data, split)
    if len(golds) == 1:
        (states,) = golds.values()
        golds = {name: only_split(states, name) for name in split_names(states)} or golds
    names = list(golds)
    if train is None:
        train = next((name for name in names if name.rpartition("/")[2] == "train"), None)
    else:
        check_known([train], names, "no split is called {!r}", f"there are {', '.join(names)}")
    by_split = {name: _count(gold_of(states), convention) for name, states in golds.items()}
    counts = pl.concat(table.with_columns(split=pl.lit(name)) for name, table in by_split.items())
    if slots is not None:
        wanted = [canonical_slot(slot) for slot in ([slots] if isinstance(slots, str) else slots)]
        check_known(wanted, counts["slot"].unique().to_list(), "no state has the slot {!r}", "see `ls slots`")
        counts = counts.filter(pl.col("slot").is_in(wanted))
    values = _rank_values(counts, countings, train, least, names)
    return Bias(_measure_entropy(values), values, _measure_overlap(values, train))


def _count(gold: Side, convention: Convention) -> pl.DataFrame:
    """(slot, value: String; cumulative, update, final: UInt32): how often each value is counted."""
    turns = gold.sorted_turns.with_row_index("row")
    turns = turns.select(  # rows of two dialogues do not follow each other
        "at",
        row=pl.col("row") + pl.col("dialogue").rle_id(),
        is_last=pl.col("dialogue").ne_missing(pl.col("dialogue").shift(-1)),
    )
    held = gold.cells.with_columns(value=under(convention, gold.cells["slot"], gold.cells["value"]))
    held = with_changes(held.drop_nulls("value").join(turns, on="at"))
    counts = held.group_by("slot", "value").agg(
        cumulative=pl.len(), update=pl.col("changed").sum(), final=pl.col("is_last").sum()
    )
    return counts.cast({"slot": pl.String, "value": pl.String, **dict.fromkeys(COUNTINGS, pl.UInt32)})


def _rank_values(
    counts: pl.DataFrame, countings: list[str], train: str | None, least: int, splits: list[str]
) -> pl.DataFrame:
    """`VALUES`, sorted by split and counting in their given order, then by slot, frequency and value."""
    seen = counts.filter(pl.col("split").eq_missing(pl.lit(train))).select("slot", "value", in_train=True)
    counts = counts.join(seen, on=["slot", "value"], how="left")
    if train is not None:
        counts = counts.with_columns(pl.col("in_train").fill_null(False))
    index = ["split", "slot", "value", "in_train"]
    rows = counts.unpivot(on=countings, index=index, variable_name="counting", value_name="n")
    group = pl.col("split").cast(pl.Enum(splits)), pl.col("counting").cast(pl.Enum(countings)), pl.col("slot")
    rows = rows.filter(pl.col("n") >= least).sort(*group, "n", "value", descending=[False] * 3 + [True, False])
    share, rank = pl.col("n") / pl.col("n").sum().over(_GROUP), pl.int_range(1, pl.len() + 1).over(_GROUP)
    return VALUES.conform(rows.with_columns(share=share, rank=rank))


def _measure_entropy(values: pl.DataFrame) -> pl.DataFrame:
    """`BIAS` of `VALUES`; entropy of n_i counts that sum to n: Σ n_i/n · log(n/n_i) = log n − Σ n_i log n_i / n."""
    slots = values.group_by(_GROUP, maintain_order=True).agg(
        n=pl.col("n").sum(),
        values=pl.len(),
        most_frequent=pl.col("value").first(),
        share=pl.col("share").first(),
        n_most_frequent=pl.col("n").first(),
    )
    # Summed by NumPy in the order of the rows: float sums of several threads differ in their last bits each time.
    n = values["n"].to_numpy().astype(np.float64)
    sums = np.add.reduceat(n * np.log(n), np.flatnonzero(values["rank"] == 1))
    total, most, distinct = (slots[name].to_numpy().astype(np.float64) for name in ("n", "n_most_frequent", "values"))
    log_values = np.log(np.where(distinct > 1, distinct, np.nan))  # NaN: undefined
    h1 = np.minimum((np.log(total) - sums / total) / log_values, 1)  # rounding can give more than 1
    hinf = (np.log(total) - np.log(most)) / log_values
    slots = slots.with_columns(pl.Series("h1_h0", h1), pl.Series("hinf_h0", hinf))
    return BIAS.conform(slots.with_columns(pl.col("h1_h0", "hinf_h0").fill_nan(None)))


def _measure_overlap(values: pl.DataFrame, train: str | None) -> pl.DataFrame:
    """`OVERLAP` of `VALUES`."""
    if train is None:
        return OVERLAP.schema.to_frame()
    most_frequent = values.filter((pl.col("split") == train) & (pl.col("rank") == 1)).select(
        "counting", "slot", train_most_frequent="value", train_share="share"
    )
    seen, train_share = pl.col("in_train"), pl.col("train_share").first()
    is_most_frequent = pl.col("value") == pl.col("train_most_frequent")
    others = values.filter(pl.col("split") != train)
    others = others.join(most_frequent, on=["counting", "slot"], how="left", maintain_order="left")
    overlap = others.group_by(_GROUP, maintain_order=True).agg(
        pl.col("train_most_frequent").first(),
        train_share,
        values=pl.len(),
        values_seen=seen.sum(),
        n=pl.col("n").sum(),
        n_seen=pl.col("n").filter(seen).sum(),
        share=pl.when(train_share.is_not_null()).then(pl.col("share").filter(is_most_frequent).sum()),
    )
    shares = {f"share_{total}_seen": pl.col(f"{total}_seen") / pl.col(total) for total in ("values", "n")}
    return OVERLAP.conform(overlap.with_columns(train=pl.lit(train), **shares))
