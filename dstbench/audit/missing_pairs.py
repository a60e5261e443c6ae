"""Pairs of dialogues alike in what is said, one annotated and one not (Qian et al. 2021, Figs 1 and 10)."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.audit.corpus import Corpus
from dstbench.conventions.convention import Convention
from dstbench.schema.audit import OF_PAIR, PAIRS
from dstbench.schema.core import BETWEEN

_PLACE: Final = ["slot", "speaker", "rule"]
_ALIKE: Final = [*_PLACE, "same"]
_SAID: Final = ["dialogue", "turn", "value", "start"]
#: The most mentions of a kind that are compared: those in the turns with the fewest words, because all pairs would be
#: too many, and short turns are easy to read.
_COMPARED: Final = 8


def find_pairs(corpus: Corpus, gold: pl.DataFrame, candidates: pl.DataFrame, annotated: pl.DataFrame) -> pl.DataFrame:
    """The most similar pair of each slot that has a missing and an annotated mention in such places, schema `PAIRS`."""
    missing = candidates.filter(decision="added")
    annotated = annotated.join(missing, on=_PLACE, how="semi")
    gold = gold.filter(~pl.col("value").is_in(Convention().absent)).rename({"value": "gold"})
    one, other = (
        _shortest(mentions, which, corpus, gold) for which, mentions in zip(OF_PAIR, (missing, annotated), strict=True)
    )
    pairs = one.join(other, on=_ALIKE).filter(pl.col("missing_dialogue") != pl.col("annotated_dialogue"))
    counts = missing.group_by(_PLACE).agg(in_place=pl.len()).with_columns(missing=pl.col("in_place").sum().over("slot"))
    # The words of all pairs would take much memory, so only pairs that are otherwise tied are compared by words.
    pairs = pairs.join(counts, on=_PLACE).with_columns(
        of_any=pl.col("same") == "", lists=pl.col("annotated_gold").str.contains(BETWEEN, literal=True)
    )
    often = pl.col("in_place").cast(pl.Int64)
    best = pairs.sort("slot", "of_any", "lists", -often, *_PLACE).unique("slot", keep="first", maintain_order=True)
    pairs = pairs.join(best, on=["of_any", "lists", *_PLACE], how="semi", nulls_equal=True)
    for which in OF_PAIR:
        said = _turns(corpus, pairs[f"{which}_row"]).select(pl.all().name.prefix(f"{which}_"))
        pairs = pairs.join(said, on=f"{which}_row")
    words = pl.col("missing_words"), pl.col("annotated_words")
    both, either = words[0].list.set_intersection(words[1]), words[0].list.set_union(words[1])
    pairs = pairs.with_columns(common=both.list.len() / either.list.len())
    ties = [f"{which}_{name}" for which in OF_PAIR for name in _SAID]
    pairs = pairs.sort("slot", -pl.col("common"), *ties).unique("slot", keep="first", maintain_order=True)
    return PAIRS.conform(pairs.sort("missing", "slot", descending=[True, False]))


def _shortest(mentions: pl.DataFrame, which: str, corpus: Corpus, gold: pl.DataFrame) -> pl.DataFrame:
    """The mentions of the turns with the fewest words, with what `PAIRS` has of each, and its `row`.

    Each is there twice: with its value as `same`, and with the empty text, which matches mentions of any value.
    """
    lengths = corpus.texts.select("row", length=pl.col("words").list.len()).group_by("row").agg(pl.col("length").sum())
    rows = corpus.data_turns.join(lengths, on="row")
    mentions = mentions.select(*_PLACE, *_SAID, "end").join(rows, on=["dialogue", "turn"]).sort("length", *_SAID)
    mentions = pl.concat(
        mentions.with_columns(same=same).group_by(_ALIKE, maintain_order=True).head(_COMPARED)
        for same in (pl.col("value"), pl.lit(""))
    )
    cell = ["dialogue", "turn", "slot"]
    mentions = mentions.join(gold.join(mentions, on=cell, how="semi"), on=cell, how="left")
    return mentions.select(*_ALIKE, *(pl.col(name).alias(f"{which}_{name}") for name in (*_SAID, "end", "gold", "row")))


def _turns(corpus: Corpus, rows: pl.Series) -> pl.DataFrame:
    """(row, system, user, words: the distinct words of both) of some turns."""
    text, speaker = pl.col("text"), pl.col("speaker")
    return corpus.texts.filter(pl.col("row").is_in(rows.unique().implode())).group_by("row").agg(
        *(text.filter(speaker == who).first().alias(who) for who in ("system", "user")),
        words=pl.col("words").list.explode().drop_nulls().unique(),
    )  # fmt: skip
