"""Predicted values that nobody has said, which a tracker may have memorised (Qian et al. 2021, Figs 5 and 9).

Conventions: wrong and over-predicted values are searched for in the dialogue, except those that could be said of any
slot: yes, no, dontcare and the empty string. A value is *ungrounded* if neither user nor system has said it up to the
turn, in any spelling (see `search`), as it is predicted or as the convention normalises it. A value that is predicted
turn after turn counts in each turn. Whether a value is memorised cannot be observed, but whether the training set has
it can, and whether it is the slot's most frequent value there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Final, Unpack

import polars as pl

from dstbench.audit.corpus import look_up
from dstbench.audit.inputs import gold_cells, spoken_texts
from dstbench.audit.search import squeezed, with_unsaid
from dstbench.conventions.convention import Convention
from dstbench.conventions.normalise import tells_slot
from dstbench.conventions.profiles import as_convention
from dstbench.errors import DstbenchError, UsageError, warn
from dstbench.metrics import parse
from dstbench.metrics.base import divide
from dstbench.runs.open import Data, Reading, parts_to_open
from dstbench.runs.run import Run
from dstbench.schema.audit import MEMORISED, MEMORISED_RUNS, UNGROUNDED
from dstbench.schema.core import BETWEEN
from dstbench.schema.record import Record
from dstbench.scoring.partitions import Part, over_parts
from dstbench.scoring.score import score_run
from dstbench.scoring.turns import TURN
from dstbench.scoring.validation import open_under

_VALUE: Final = ["slot", "kind", "pred"]


@dataclass(frozen=True)
class Memorisation(Record):
    """The values that runs predict although nobody has said them, as frames (schemas in `dstbench.schema.audit`).

    Attributes:
        runs: One row per run and kind, schema `MEMORISED_RUNS`.
        slots: One row per run, slot and kind, schema `MEMORISED`.
        examples: The ungrounded values of each run, the most frequent first, schema `UNGROUNDED`.
    """

    runs: pl.DataFrame
    slots: pl.DataFrame
    examples: pl.DataFrame


def memorisation(
    data: Data,
    *,
    context: pl.DataFrame | str | PathLike[str] | Sequence[str | PathLike[str]],
    train: Data | None = None,
    most: int = 20,
    profile: str | Convention = "verbatim",
    **reading: Unpack[Reading],
) -> Memorisation:
    """Count wrong and over-predicted values that occur nowhere in the dialogue so far.

    Args:
        data: A path, several paths, a frame, states, or a mapping from run name to any of these.
        context: File or folder with the utterances. In Python, also several, or what `contexts` returns.
        train: Training set, to count the values that are in it. Its gold states also tell which value is most
            frequent (over turns). None: the columns about it are null.
        most: Number of values to list per run.
        profile: The convention that says what is wrong, or its name.
        **reading: `gold`, `format`, `names`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Raises:
        DstbenchError: Data cannot be used, or turns of a run are not in the contexts.

    >>> state = {"train-destination": "cambridge", "train-book people": "2"}
    >>> said = pl.DataFrame({"dialogue": ["D"], "turn": [0], "system": [None], "user": ["A train for two."]})
    >>> found = memorisation([{"dialogue_id": "D", "turn": 0, "gold": {}, "pred": state}], context=said)
    >>> found.slots.select("slot", "kind", "searched", "ungrounded").rows()
    [('train-book people', 'over', 1, 0), ('train-destination', 'over', 1, 1)]
    """
    if most < 0:
        raise UsageError(f"most={most} is not a number of values", hint="20")
    convention = as_convention(profile)
    parts_to_open(data, **reading)
    said = spoken_texts(context)
    opened = open_under(convention, data, **reading)
    counts = pl.concat(_count_values(run, convention, said).with_columns(run=pl.lit(run.name)) for run in opened)
    train_values = _train_values(train)
    counts = counts.join(train_values, on=["slot", "key"], how="left", maintain_order="left")
    summed = ["n", "searched", "ungrounded"]
    if train is not None:
        counts = counts.with_columns(pl.col("in_train").fill_null(0), pl.col("is_frequent").fill_null(False))
        summed += ["in_train", "is_frequent"]
    kinds = pl.concat(score_run(run, [parse("wrong"), parse("over")], [], convention)[0] for run in opened)
    kinds = kinds.select("run", "signature", kind="metric")
    runs = kinds.join(_sum_counts(counts, ["run", "kind"]), on=["run", "kind"], how="left", maintain_order="left")
    frequent = train_values.filter("is_frequent").select("slot", "frequent")
    slots = _sum_counts(counts, ["run", "slot", "kind"]).join(frequent, on="slot", how="left")
    in_order = pl.col("run").cast(pl.Enum([run.name for run in opened]))
    by_frequency = -pl.col("ungrounded").cast(pl.Int64)
    examples = counts.filter(pl.col("ungrounded") > 0).sort(in_order, by_frequency, *_VALUE)
    place = pl.int_range(1, pl.len() + 1).over("run")
    examples = examples.with_columns(place=place, value="pred", turns="ungrounded").filter(pl.col("place") <= most)
    return Memorisation(
        MEMORISED_RUNS.conform(runs.with_columns(pl.col(summed).fill_null(0))),
        MEMORISED.conform(slots.sort(in_order, "slot", pl.col("kind") == "over")),
        UNGROUNDED.conform(examples),
    )


def _train_values(train: Data | None) -> pl.DataFrame:
    """(slot, key, frequent, in_train, is_frequent): the training set's values that tell their slot, by squeezed `key`.

    In how many turns it is in any spelling, the most frequent one of these, and whether no value of the slot has more.
    """
    cells = pl.DataFrame(schema={"slot": pl.String, "value": pl.String}) if train is None else gold_cells(train)
    counts = cells.group_by("slot", pl.col("value").str.split(BETWEEN)).agg(turns=pl.len())
    counts = counts.explode("value").group_by("slot", "value").agg(pl.col("turns").sum())
    telling = [value for value in counts["value"].unique() if tells_slot(value)]
    return (
        counts.filter(pl.col("value").is_in(telling))
        .sort("turns", "value", descending=[True, False])
        .group_by("slot", key=squeezed(pl.col("value")), maintain_order=True)
        .agg(frequent=pl.col("value").first(), in_train=pl.col("turns").sum().cast(pl.UInt32))
        .sort("in_train", "key", descending=[True, False])
        .with_columns(is_frequent=pl.col("slot").is_first_distinct())
    )


def _count_values(run: Run, convention: Convention, said: pl.DataFrame) -> pl.DataFrame:
    """(*`_VALUE`, key, n, searched, ungrounded, dialogues, dialogue, turn, gold) of wrong and over-predicted values."""

    def wrong_values(part: Part) -> pl.DataFrame:
        scored = part.turns(convention).scored.select(TURN)
        wrong = part.rows().with_counts(convention).filter(pl.col("p").is_not_null() & ~pl.col("ok")).drop_nulls("slot")
        kind = pl.when(pl.col("g").is_null()).then(pl.lit("over")).otherwise(pl.lit("wrong"))
        texts = pl.col("slot", "gold", "pred").cast(pl.String)
        wrong = wrong.join(scored, on=TURN, how="semi", maintain_order="left")
        return wrong.select("dialogue", "turn", texts, kind=kind).rename({"pred": "value"}).collect()

    rows = with_unsaid(pl.concat(over_parts(run, wrong_values)), said, convention)
    rows = rows.rename({"value": "pred", "unsaid": "ungrounded"})
    rows = look_up(rows, said.select("dialogue", "turn").unique().with_columns(has_context=True))
    searched = rows.drop_nulls("has_context")
    if without_context := rows.height - searched.height:
        what = f"{without_context:,} of {rows.height:,} wrong values are in turns that the contexts do not have"
        if searched.is_empty():
            hint = "give --context the files with the utterances of these dialogues"
            raise DstbenchError(f"{run.name}: {what}", hint=hint)
        kind = "wrong values in turns that the contexts do not have, not searched for"
        warn(f"{what}; they are not searched for", run=run.name, kind=kind, count=without_context, when="before")
    is_known, is_ungrounded = pl.col("has_context").is_not_null(), pl.col("ungrounded") & pl.col("has_context")
    counts = rows.group_by(_VALUE).agg(
        n=pl.len(),
        searched=(pl.col("searched") & is_known).sum(),
        ungrounded=is_ungrounded.sum(),
        dialogues=pl.col("dialogue").filter(is_ungrounded).n_unique(),
        first=pl.struct("dialogue", "turn", "gold").filter(is_ungrounded).first(),
    )
    return counts.with_columns(key=squeezed(pl.col("pred"))).unnest("first").sort(_VALUE)


def _sum_counts(counts: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Sums and rates per group; `in_train` and `is_frequent` are null without a training set."""
    ungrounded, in_train, is_frequent = pl.col("ungrounded"), pl.col("in_train"), pl.col("is_frequent")
    has_train = in_train.is_not_null().any()
    sums = counts.group_by(by, maintain_order=True).agg(
        pl.col("n", "searched", "ungrounded").sum(),
        in_train=pl.when(has_train).then(ungrounded.filter(in_train > 0).sum()),
        is_frequent=pl.when(has_train).then(ungrounded.filter(is_frequent).sum()),
    )
    return sums.with_columns(rate=divide(ungrounded, pl.col("searched")), share=divide(is_frequent, ungrounded))
