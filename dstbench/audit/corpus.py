"""A dataset laid out for the search for missing annotations: states, utterances and where values are said.

The dialogues that are judged come first; those that only show how gold annotates, the evidence, follow. Without a file
of evidence, the dialogues that are judged are each other's evidence; no dialogue is its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from dstbench.audit.inputs import Dialogues
from dstbench.audit.mentions import CANONICAL, Vocabulary, find_mentions, utterances
from dstbench.audit.rules import NOTHING
from dstbench.conventions.convention import Convention
from dstbench.conventions.normalise import alternatives, is_dontcare
from dstbench.conventions.slots import domain_of
from dstbench.schema.core import BETWEEN

_KEY: Final = ["is_data", "dialogue", "turn"]
_CELL: Final = ["row", "slot"]


@dataclass(frozen=True)
class Corpus:
    """A dataset laid out for the search; it stays the same while annotations are added.

    Slots, values and words that are compared repeatedly are Categorical.

    Attributes:
        turns: (row: UInt32, dialogue, turn, is_data: Boolean, whether it is judged, is_evidence: Boolean, whether it is
            evidence for other dialogues, talk: UInt32, the number of the dialogue, id: UInt32, the same for a dialogue
            and a copy of it in the evidence). Sorted: the judged ones first, by dialogue and turn. Rows are numbered in
            this order, with one number left out between dialogues, so that successive rows are of one dialogue.
        cells: (row, slot, value), the values of gold's states as written, without those that mean absent.
        forms: (slot, written, value, n: UInt32), each value as written and the canonical form of each of its
            alternatives; n: cells of the evidence that have it.
        domains: (slot, domain).
        spelled: (slot, written, value), how a canonical value is written if it is added; String.
        texts: As `mentions.utterances` returns them.
        mentions: As `mentions.find_mentions` returns them, with `domain`, `one` and `other`, `is_evidence` and `id`,
            and whether it `is_repeated`: its dialogue has another mention of the slot by the speaker with the same
            `one` or `other`; only of domains that gold ever has in the dialogue.
    """

    turns: pl.DataFrame
    cells: pl.DataFrame
    forms: pl.DataFrame
    domains: pl.DataFrame
    spelled: pl.DataFrame
    texts: pl.DataFrame
    mentions: pl.DataFrame

    @property
    def data_turns(self) -> pl.DataFrame:
        """(row, dialogue, turn) of the dialogues that are judged."""
        return self.turns.filter("is_data").select("row", "dialogue", "turn")


def lay_out(
    data: Dialogues, vocabulary: Vocabulary, evidence: Dialogues | None = None, *, over_dontcare: str = NOTHING
) -> Corpus:
    """A dataset (and what is `evidence` for it) laid out; dontcare counts as no value of slots like `over_dontcare`."""
    turns, cells, said = (_joined(data, evidence, name) for name in ("turns", "cells", "said"))
    turns = turns.sort(pl.col("is_data").not_(), "dialogue", "turn").with_row_index("row", offset=1).with_columns(
        is_evidence=pl.lit(True) if evidence is None else ~pl.col("is_data"),
        talk=pl.struct("is_data", "dialogue").rle_id(),
        id=pl.col("dialogue").rank("dense").cast(pl.UInt32),
    )  # fmt: skip
    turns = turns.with_columns(pl.col("row") + pl.col("talk"))
    dontcare = [value for value in cells["value"].unique() if is_dontcare(value)]
    is_absent = pl.col("value").is_in(Convention().absent)
    is_absent |= pl.col("value").is_in(dontcare) & pl.col("slot").str.contains(over_dontcare)
    cells = cells.join(turns, on=_KEY).filter(~is_absent).sort(_CELL)
    slots = pl.Series("slot", sorted({*cells["slot"], *vocabulary.patterns["slot"]}), dtype=pl.String)
    domains = slots.to_frame().with_columns(domain=pl.Series([domain_of(slot) for slot in slots], dtype=pl.String))
    counts = cells.group_by("slot", "value").agg(n=pl.col("is_evidence").sum()).sort("slot", "value")
    forms = [
        (slot, value, canonical, n)
        for slot, value, n in counts.iter_rows()
        for canonical in dict.fromkeys(alternatives(CANONICAL(slot, value)))
    ]
    names = dict.fromkeys(("slot", "written", "value"), pl.String)
    of_gold = pl.DataFrame(forms, schema={**names, "n": pl.UInt32}, orient="row")
    searched = [(slot, value, canonical, 0) for (slot, canonical), value in vocabulary.spelled.items()]
    spelled = pl.concat([of_gold.filter(pl.col("n") > 0), pl.DataFrame(searched, schema=of_gold.schema, orient="row")])
    single = spelled.filter(~pl.col("written").str.contains(BETWEEN, literal=True))
    spelled = single.sort("n", "written", descending=[True, False]).unique(
        ["slot", "value"], keep="first", maintain_order=True
    )
    texts = utterances(turns.join(said, on=_KEY, how="left", maintain_order="left").select("row", "system", "user"))
    return Corpus(
        turns=turns,
        cells=cells.select("row", _codes("slot", "value")),
        forms=pl.concat([of_gold, spelled])
        .unique(["slot", "written", "value"], keep="first", maintain_order=True)
        .with_columns(_codes("slot", "written", "value")),
        domains=domains.select(_codes("slot", "domain")),
        spelled=spelled.drop("n"),
        texts=texts,
        mentions=pl.DataFrame(),
    )


def with_lists(corpus: Corpus, proposed: pl.DataFrame) -> Corpus:
    """The corpus with the forms of the lists of values (``a|b``, canonical) among the proposed values."""
    lists = proposed.filter(pl.col("value").str.contains(BETWEEN, literal=True)).select("slot", "value").unique()
    if lists.is_empty():
        return corpus
    parts = lists.with_columns(part=pl.col("value").str.split(BETWEEN)).explode("part")
    parts = parts.join(corpus.spelled.rename({"value": "part"}), on=["slot", "part"], maintain_order="left")
    spelled = parts.group_by("slot", "value").agg(pl.col("written").str.join(BETWEEN))
    forms = parts.select("slot", "value", "part").join(spelled, on=["slot", "value"], maintain_order="left")
    forms = forms.select(_codes("slot", "written"), pl.col("part").cast(pl.Categorical).alias("value"), n=pl.lit(0))
    spelled = pl.concat([corpus.spelled, spelled.select(corpus.spelled.columns)])
    forms = pl.concat([corpus.forms, forms.cast({"n": pl.UInt32})])
    # Forms stay in order: the first form of a list is the value in the state. Lists in gold already have their forms.
    return replace(
        corpus,
        spelled=spelled.unique(["slot", "value"], keep="first", maintain_order=True),
        forms=forms.unique(["slot", "written", "value"], keep="first", maintain_order=True),
    )


def with_previous(states: pl.DataFrame) -> pl.DataFrame:
    """Entries of states (row, slot, value, …) with the value that the turn before `was`; sorted by slot and row."""
    states = states.sort(pl.col("slot").to_physical(), "row")
    slot, row = pl.col("slot"), pl.col("row")
    was_there = (slot == slot.shift(1)) & (row == row.shift(1) + 1)
    return states.with_columns(was=pl.when(was_there).then(pl.col("value").shift(1)))


def look_up(
    rows: pl.DataFrame, frame: pl.DataFrame, on: list[str] | None = None, *, nulls_equal: bool = False
) -> pl.DataFrame:
    """The rows with the columns of a frame that has one row per key (None: the columns that both have)."""
    keys = [name for name in frame.columns if name in rows.columns] if on is None else on
    found = rows.select(keys).join(frame, on=keys, how="left", nulls_equal=nulls_equal, maintain_order="left")
    return rows.hstack(found.drop(keys))


def with_mentions(corpus: Corpus, vocabulary: Vocabulary, slots: list[str]) -> Corpus:
    """The corpus with the mentions of these slots, and of slots that share words with them, as these are compared."""
    mentions = find_mentions(corpus.texts if slots else corpus.texts.clear(), vocabulary)
    mentions = mentions.filter(pl.col("slot").is_in(slots).any().over("mention"))
    mentions = mentions.join(corpus.domains.cast(pl.String), on="slot")
    mentions = mentions.join(corpus.turns.select("row", "talk", "id", "is_evidence"), on="row")
    active = corpus.cells.join(corpus.domains, on="slot").join(corpus.turns, on="row")
    active = active.select("talk", pl.col("domain").cast(pl.String)).unique()
    mentions = _with_cues(mentions.join(active, on=["talk", "domain"], how="semi").drop("talk"), corpus.texts)
    return replace(corpus, mentions=mentions.with_columns(_codes("speaker", "slot", "value", "domain", "one", "other")))


def _joined(data: Dialogues, evidence: Dialogues | None, name: str) -> pl.DataFrame:
    """A table of the dialogues that are judged, and of those that are only evidence."""
    parts: list[pl.DataFrame] = [
        getattr(part, name).with_columns(is_data=pl.lit(part is data)) for part in (data, evidence) if part is not None
    ]
    return pl.concat(parts, how="diagonal_relaxed")


def _with_cues(mentions: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """The mentions with the cues that their speaker has (`CUES`), as `one` and `other`."""
    reply = texts.filter(speaker="user").select("row", reply=pl.col("words").list.first())
    offers = mentions.group_by("row", "speaker", "slot").agg(offers=pl.col("value").n_unique())
    is_user = pl.col("speaker") == "user"
    offer = pl.when(pl.col("offers") > 1).then(pl.lit("several")).otherwise(pl.lit("single"))
    mentions = look_up(look_up(mentions, reply), offers)
    one, other = pl.when(is_user).then("before").otherwise("reply"), pl.when(is_user).then("after").otherwise(offer)
    mentions = mentions.with_columns(one=one, other=other).drop("before", "after", "reply", "offers")
    alike = (pl.len().over("id", "slot", "speaker", cue) for cue in ("one", "other"))
    mentions = mentions.with_columns(is_repeated=pl.max_horizontal(alike) > 1)
    return mentions.sort("mention", "slot", "value")


def _codes(*names: str) -> pl.Expr:
    return pl.col(names).cast(pl.Categorical)
