"""A dataset laid out for the search for missing annotations: states and utterances.

The dialogues that are judged come first; those that only show how gold annotates, the evidence, follow. Without a file
of evidence, the dialogues that are judged are each other's evidence; no dialogue is its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from dstbench.audit.inputs import Dialogues
from dstbench.audit.search import DOMAIN, canonical, utterances
from dstbench.conventions.convention import Convention
from dstbench.conventions.normalise import is_dontcare
from dstbench.schema.core import BETWEEN

#: Words are no value if a smaller share of the mentions of them is annotated.
RARELY: Final = 0.1


@dataclass(frozen=True)
class Corpus:
    """A dataset laid out for the search; it stays the same while annotations are added."""

    # (row, dialogue, turn, is_data: whether it is judged, is_evidence: whether it is evidence for other dialogues,
    # talk: the number of the dialogue, id: the same for a dialogue and a copy of it in the evidence). Sorted: the
    # judged ones first, by dialogue and turn. Rows are numbered in this order, with one number left out between
    # dialogues, so that successive rows are of one dialogue.
    turns: pl.DataFrame
    # (row, slot, domain, written, every: the canonical alternatives, value: the first of these), gold's states,
    # without values that mean absent
    cells: pl.DataFrame
    forms: pl.DataFrame  # (slot, value, n), each canonical alternative, and in how many cells of the evidence it is
    spelled: pl.DataFrame  # (slot, value, written), how a canonical value is written if it is added
    begun: pl.DataFrame  # (talk, domain, row), the first row in which gold annotates the domain, be it with dontcare
    texts: pl.DataFrame  # as `search.utterances` returns them

    @property
    def data_turns(self) -> pl.DataFrame:
        """(row, dialogue, turn) of the dialogues that are judged."""
        return self.turns.filter("is_data").select("row", "dialogue", "turn")


def lay_out(data: Dialogues, searched: pl.DataFrame, evidence: Dialogues | None, over_dontcare: str) -> Corpus:
    """A dataset (and its `evidence`) laid out for a search of values (`search.vocabulary`).

    Dontcare counts as no value of slots like `over_dontcare`.
    """
    parts = [(data, True), *([] if evidence is None else [(evidence, False)])]
    turns, cells, said = (
        pl.concat(
            [getattr(part, name).with_columns(is_data=is_data) for part, is_data in parts], how="diagonal_relaxed"
        )
        for name in ("turns", "cells", "said")
    )
    key = ["is_data", "dialogue", "turn"]
    turns = turns.sort(pl.col("is_data").not_(), "dialogue", "turn").with_row_index("row", offset=1).with_columns(
        is_evidence=pl.lit(True) if evidence is None else ~pl.col("is_data"),
        talk=pl.struct("is_data", "dialogue").rle_id(),
        id=pl.col("dialogue").rank("dense").cast(pl.UInt32),
    )  # fmt: skip
    turns = turns.with_columns(pl.col("row") + pl.col("talk"))
    is_absent = pl.col("value").is_in(Convention().absent)
    dontcares = [value for value in cells["value"].unique() if is_dontcare(value)]
    cells = cells.filter(~is_absent).join(turns, on=key).with_columns(domain=DOMAIN)
    begun = cells.group_by("talk", "domain").agg(pl.col("row").min())
    is_open = pl.col("value").is_in(dontcares) & pl.col("slot").str.contains(over_dontcare)
    cells = cells.filter(~is_open).rename({"value": "written"})
    counts = cells.group_by("slot", "written").agg(n=pl.col("is_evidence").sum()).sort("slot", "written")
    every = canonical(counts["slot"], counts["written"]).str.split(BETWEEN).list.unique(maintain_order=True)
    counts = counts.with_columns(every=every)
    forms = counts.select("slot", "written", "n", value="every").explode("value")
    spelled = pl.concat([
        forms.filter(pl.col("n") > 0, ~pl.col("written").str.contains(BETWEEN, literal=True)),
        searched.select("slot", "written", "value", n=pl.lit(0, pl.UInt32)).select(forms.columns),
    ]).sort("n", "written", descending=[True, False])  # fmt: skip
    cells = cells.join(counts, on=["slot", "written"]).sort("row", "slot")
    return Corpus(
        turns=turns,
        cells=cells.select("row", "slot", "domain", "written", "every", value=pl.col("every").list.first()),
        forms=forms.group_by("slot", "value").agg(pl.col("n").sum()).sort("slot", "value"),
        spelled=spelled.unique(["slot", "value"], keep="first", maintain_order=True).drop("n"),
        begun=begun,
        texts=utterances(turns.join(said, on=key, how="left", maintain_order="left").select("row", "system", "user")),
    )


def with_changes(cells: pl.DataFrame) -> pl.DataFrame:
    """States (as `Corpus.cells`) with whether each value has `changed` since the turn before."""
    cells = cells.sort(pl.col("slot").cast(pl.Categorical).to_physical(), "row")
    slot, row, value = pl.col("slot"), pl.col("row"), pl.col("value")
    is_same = (slot == slot.shift(1)) & (row == row.shift(1) + 1) & (value == value.shift(1))
    return cells.with_columns(changed=~is_same.fill_null(False))


def first_of(conditions: Mapping[str, pl.Expr]) -> pl.Expr:
    """The name of the first condition that holds; null: none does."""
    return pl.coalesce(pl.when(holds).then(pl.lit(name)) for name, holds in conditions.items())


def look_up(rows: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with the columns of a frame that has one row per key, the columns that both have."""
    keys = [name for name in frame.columns if name in rows.columns]
    found = rows.select(keys).join(frame, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return rows.hstack(found.drop(keys))


def elsewhere(mentions: pl.DataFrame, key: list[str], counted: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """For each mention: how many mentions with the same key, in other dialogues (by `id`), count."""
    # Only sums, without arithmetic, so that Polars groups the mentions once per key and not once per sum.
    every, own = (
        mentions.select(is_counted.sum().over(by).alias(name) for name, is_counted in counted.items())
        for by in (key, [*key, "id"])
    )
    return every.select(pl.col(name) - own[name] for name in counted)
