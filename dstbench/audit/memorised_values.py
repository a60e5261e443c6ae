"""Predicted values that nobody has said: what a tracker has learnt by heart (Qian et al. 2021, Figs 5 and 9).

Conventions: of the slots of turns that a convention counts as wrong or over-predicted, those whose value tells
something of its slot are looked for (not yes, no, dontcare, the empty string); such a value is *ungrounded* if neither
user nor system has said it up to the turn, in any spelling (see `search`), neither as it is nor as the convention
normalises it. A value that is predicted turn after turn counts in each. Whether it is memorised is not to be seen; that
the training set has it, and most often of all the slot's values, is.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Unpack

import numpy as np
import polars as pl

from dstbench.audit.donors import gold_cells
from dstbench.audit.mentions import squeezed
from dstbench.audit.search import find_values
from dstbench.conventions.normalise import alternatives, normaliser, tells_slot
from dstbench.conventions.profiles import as_convention
from dstbench.errors import DstbenchError, DstbenchWarning, UsageError
from dstbench.metrics import parse
from dstbench.readers.contexts import contexts
from dstbench.runs.codes import ABSENT, codes
from dstbench.runs.layout import lay_out
from dstbench.schema.audit_words import MEMORISED, MEMORISED_RUNS, UNGROUNDED
from dstbench.schema.core import BETWEEN, CONTEXTS
from dstbench.scoring.compare_values import comparison
from dstbench.scoring.error_classes import scored_places
from dstbench.scoring.partitions import over_partitions
from dstbench.scoring.scope import open_under
from dstbench.scoring.score import score_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from dstbench.conventions.convention import Convention
    from dstbench.runs.open import Data, Reading
    from dstbench.runs.run import Run

_VALUE: Final = ["slot", "kind", "pred"]
_KINDS: Final = ("wrong", "over")


@dataclass(frozen=True)
class Memorisation:
    """What runs predict though it has not been said.

    Attributes:
        runs: Schema `schema.audit_words.MEMORISED_RUNS`: one row per run and kind.
        slots: Schema `schema.audit_words.MEMORISED`: one row per run, slot and kind.
        examples: Schema `schema.audit_words.UNGROUNDED`: the ungrounded values of each run, the most frequent first.
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
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        context: What is said: files or folders that hold it, or what `contexts` gave.
        train: The training set's gold states, to tell which values it has and which most often (over turns); None:
            that is not looked at.
        most: How many ungrounded values to list per run.
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
        raise UsageError(f"most={most} is no number of values", hint="20")
    convention = as_convention(profile)
    said = _said(context)
    known = _training(train)
    tables = []
    for run in open_under(convention, data, **reading):
        signatures, _ = score_run(run, [parse(kind) for kind in _KINDS], [], convention)
        counts = _counted(run, convention, said).join(known, on=["slot", "key"], how="left", maintain_order="left")
        counts = counts.with_columns(run=pl.lit(run.name))
        if train is not None:
            counts = counts.with_columns(pl.col("in_train").fill_null(0), pl.col("is_frequent").fill_null(False))
        counted = ["n", "searched", "ungrounded", *(["in_train", "is_frequent"] if train is not None else [])]
        whole = _whole(counts, signatures).with_columns(pl.col(counted).fill_null(0))
        tables.append((whole, _by_slot(counts, known), _examples(counts, most)))
    return Memorisation(*(pl.concat(parts) for parts in zip(*tables, strict=True)))


def _said(context: pl.DataFrame | str | PathLike[str] | Sequence[str | PathLike[str]]) -> pl.DataFrame:
    """(dialogue, turn, text): a row per utterance."""
    if isinstance(context, pl.DataFrame):
        if missing := [name for name in CONTEXTS.columns if name not in context.columns]:
            raise UsageError(f"contexts without the column {', '.join(missing)}", hint="dstbench.contexts gives them")
        table = CONTEXTS.conform(context)
    else:
        table = contexts(context)
    texts = table.unpivot(["system", "user"], index=["dialogue", "turn"], value_name="text").drop("variable")
    return texts.with_columns(pl.col("text").str.replace_all(" -", "-", literal=True))  # TRADE's "moderate -ly"


def _training(train: Data | None) -> pl.DataFrame:
    """(slot, key: the value squeezed, frequent: its most frequent spelling, in_train: turns, is_frequent: of all)."""
    if train is None:
        columns = {"slot": pl.String, "key": pl.String, "frequent": pl.String, "in_train": pl.UInt32}
        return pl.DataFrame(schema={**columns, "is_frequent": pl.Boolean})
    counts = gold_cells(train).group_by("slot", pl.col("value").str.split(BETWEEN)).agg(turns=pl.len())
    counts = counts.explode("value").group_by("slot", "value").agg(pl.col("turns").sum())
    telling = [value for value in counts["value"].unique() if tells_slot(value)]
    ordered = counts.filter(pl.col("value").is_in(telling)).sort("turns", "value", descending=[True, False])
    keys = (
        ordered.with_columns(key=squeezed(pl.col("value")))
        .group_by("slot", "key", maintain_order=True)
        .agg(frequent=pl.col("value").first(), in_train=pl.col("turns").sum().cast(pl.UInt32))
    )
    most = keys.sort("in_train", "key", descending=[True, False]).group_by("slot").agg(pl.col("key").first())
    top = most.with_columns(is_frequent=pl.lit(True))
    return keys.join(top, on=["slot", "key"], how="left").with_columns(pl.col("is_frequent").fill_null(False))


def _counted(run: Run, convention: Convention, said: pl.DataFrame) -> pl.DataFrame:
    """How often each wrong or over-predicted value stands, could be looked for, and is not to be found.

    Returns:
        (slot, kind, pred, key, n, searched, ungrounded, dialogues; dialogue, turn, gold: where it is ungrounded first).
    """
    spoken_turns = said.select("dialogue", "turn").unique().with_columns(is_there=pl.lit(True))

    def part(table: pl.DataFrame) -> pl.DataFrame:
        rows = lay_out(table)
        compared = comparison(convention).compare(rows.slot, codes(table["gold"]), codes(table["pred"]))
        scored, _ = scored_places(rows, convention)
        at = np.flatnonzero((compared.pred != ABSENT) & ~compared.ok & ~rows.bare & scored[rows.row_place])
        is_over = pl.lit(pl.Series(compared.gold[at] == ABSENT))
        kind = pl.when(is_over).then(pl.lit("over")).otherwise(pl.lit("wrong"))
        found = table[at].with_columns(pl.col("slot", "gold", "pred").cast(pl.String), kind=kind)
        looked_for = _looked_for(found, convention)
        heard = _first_heard(found, looked_for, said, convention)
        asked = looked_for.select("slot", "pred").unique().with_columns(is_asked=pl.lit(True))
        found = found.join(asked, on=["slot", "pred"], how="left", maintain_order="left")
        found = found.join(heard, on=["dialogue", "slot", "pred"], how="left", maintain_order="left")
        found = found.join(spoken_turns, on=["dialogue", "turn"], how="left", maintain_order="left")
        is_lost = pl.col("is_there").is_null()
        searched = ~is_lost & pl.col("is_asked").is_not_null()
        ungrounded = searched & (pl.col("heard").is_null() | (pl.col("heard") > pl.col("turn")))
        found = found.with_columns(is_lost=is_lost, searched=searched, ungrounded=ungrounded)
        return found.group_by(_VALUE).agg(
            n=pl.len(),
            lost=pl.col("is_lost").sum(),
            searched=pl.col("searched").sum(),
            ungrounded=pl.col("ungrounded").sum(),
            dialogues=pl.col("dialogue").filter("ungrounded").n_unique(),
            first=pl.struct("dialogue", "turn", "gold").filter("ungrounded").first(),
        )

    parts = pl.concat(over_partitions(run, part)).group_by(_VALUE, maintain_order=True)
    counts = parts.agg(
        pl.col("n", "lost", "searched", "ungrounded", "dialogues").sum(), pl.col("first").drop_nulls().first()
    )
    lost, total = counts.select(pl.col("lost", "n").sum()).row(0)
    if lost:
        what = f"{run.name}: {lost:,} of {total:,} wrong values stand in turns that the contexts do not have"
        if lost == total:
            raise DstbenchError(what, hint="--context names files in which the run's dialogues are spoken")
        warnings.warn(f"{what}; they are not looked for", DstbenchWarning, stacklevel=2)
    return counts.with_columns(key=squeezed(pl.col("pred"))).drop("lost").unnest("first").sort(_VALUE)


def _looked_for(found: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """(slot, pred, value): what of each predicted value is looked for, as it is and as the convention normalises it."""
    normalise = normaliser(convention.pred_steps, convention.typos)
    distinct = found.select("slot", "pred").unique(maintain_order=True)
    parts = [
        [part for part in (*alternatives(pred), *alternatives(normalise(slot, pred))) if tells_slot(part)]
        for slot, pred in distinct.iter_rows()
    ]
    values = distinct.with_columns(pl.Series("value", parts, dtype=pl.List(pl.String))).explode("value").drop_nulls()
    return values.filter(pl.col("value").str.contains(r"[^\W_]")).unique()


def _first_heard(
    found: pl.DataFrame, looked_for: pl.DataFrame, said: pl.DataFrame, convention: Convention
) -> pl.DataFrame:
    """(dialogue, slot, pred, heard: the first turn in which somebody says the value), if anybody does."""
    texts = said.drop_nulls().join(found.select("dialogue").unique(), on="dialogue", how="semi")
    texts = texts.with_row_index("row")
    values = looked_for["value"].unique()
    hits = find_values(texts["text"], values, convention.typos).select(
        pl.col("text").alias("row"), value=pl.lit(values).gather(pl.col("value"))
    )
    first = hits.join(texts, on="row").group_by("dialogue", "value").agg(heard=pl.col("turn").min())
    wanted = found.select("dialogue", "slot", "pred").unique().join(looked_for, on=["slot", "pred"])
    heard = wanted.join(first, on=["dialogue", "value"])
    return heard.group_by("dialogue", "slot", "pred").agg(pl.col("heard").min())


def _summed(counts: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    ungrounded = pl.col("ungrounded")
    sums = counts.group_by(by, maintain_order=True).agg(
        pl.col("n", "searched").sum(),
        ungrounded=ungrounded.sum(),
        in_train=pl.when(pl.col("in_train").is_not_null().any()).then(ungrounded.filter(pl.col("in_train") > 0).sum()),
        is_frequent=pl.when(pl.col("is_frequent").is_not_null().any()).then(ungrounded.filter("is_frequent").sum()),
    )
    return sums.with_columns(
        rate=pl.when(pl.col("searched") > 0).then(ungrounded / pl.col("searched")),
        share=pl.when(ungrounded > 0).then(pl.col("is_frequent") / ungrounded),
    )


def _whole(counts: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """One run's row per kind, with nulls for one that never occurs."""
    kinds = scores.select("run", "signature", kind="metric")
    return MEMORISED_RUNS.conform(kinds.join(_summed(counts, ["kind"]), on="kind", how="left", maintain_order="left"))


def _by_slot(counts: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    frequent = known.filter("is_frequent").select("slot", "frequent")
    sums = _summed(counts, ["run", "slot", "kind"]).join(frequent, on="slot", how="left")
    return MEMORISED.conform(sums.sort("run", "slot", pl.col("kind") == "over"))


def _examples(counts: pl.DataFrame, most: int) -> pl.DataFrame:
    """The ungrounded values, the most frequent first."""
    found = counts.filter(pl.col("ungrounded") > 0).sort("ungrounded", *_VALUE, descending=[True, *[False] * 3])
    found = found.head(most).with_row_index("place", offset=1)
    return UNGROUNDED.conform(found.with_columns(value="pred", turns="ungrounded"))
