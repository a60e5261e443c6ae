"""Pairs of dialogues alike in what is said, one annotated and one not (Qian et al. 2021, Figs 1 and 10)."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.audit.corpus import Corpus
from dstbench.audit.missing_tables import annotated_mentions
from dstbench.conventions.convention import Convention
from dstbench.schema.core import BETWEEN
from dstbench.schema.missing import OF_PAIR, PAIRS

_PLACE: Final = ["slot", "speaker", "rule"]
_ALIKE: Final = [*_PLACE, "same"]
_SAID: Final = ["dialogue", "turn", "value", "start"]
#: So many mentions of a kind are compared, those of the turns with the fewest words: all pairs would be too many, and
#: short ones are easy to read.
_COMPARED: Final = 8


def find_pairs(corpus: Corpus, gold: pl.DataFrame, candidates: pl.DataFrame) -> pl.DataFrame:
    """The most similar pair of each slot that has a missing and an annotated mention in such places, schema `PAIRS`.

    Args:
        corpus: The corpus.
        gold: (dialogue, turn, slot, value) of gold's states, as written.
        candidates: Mentions that could be annotated, schema `CANDIDATES`.
    """
    missing = candidates.select(*_PLACE, *_SAID, "end", "decision").filter(decision="added")
    annotated = annotated_mentions(candidates)
    gold = gold.filter(~pl.col("value").is_in(Convention().absent)).rename({"value": "gold"})
    one, other = (
        _shortest(mentions, which, corpus, gold) for which, mentions in zip(OF_PAIR, (missing, annotated), strict=True)
    )
    pairs = one.join(other, on=_ALIKE).filter(pl.col("missing_dialogue") != pl.col("annotated_dialogue"))
    words = pl.col("missing_words"), pl.col("annotated_words")
    both, either = words[0].list.set_intersection(words[1]), words[0].list.set_union(words[1])
    pairs = pairs.with_columns(common=both.list.len() / either.list.len())
    ties = [f"{which}_{name}" for which in OF_PAIR for name in _SAID]
    counts = missing.group_by(_PLACE).agg(in_place=pl.len()).with_columns(missing=pl.col("in_place").sum().over("slot"))
    order: tuple[pl.Expr | str, ...] = (
        pl.col("same") == "",
        pl.col("annotated_gold").str.contains(BETWEEN, literal=True),
        -pl.col("in_place").cast(pl.Int64),
        *_PLACE,
        -pl.col("common"),
    )
    pairs = pairs.join(counts, on=_PLACE).sort("slot", *order, *ties)
    best = pairs.unique("slot", keep="first", maintain_order=True)
    return PAIRS.conform(best.sort("missing", "slot", descending=[True, False]))


def _shortest(mentions: pl.DataFrame, which: str, corpus: Corpus, gold: pl.DataFrame) -> pl.DataFrame:
    """The mentions of the turns with the fewest words, with what `PAIRS` has of each turn.

    Each stands among those that say the `same` value, and, where that is the empty text, among those that say any.
    """
    lengths = corpus.texts.select("row", length=pl.col("words").list.len()).group_by("row").agg(pl.col("length").sum())
    rows = corpus.data_turns.join(lengths, on="row")
    mentions = mentions.select(*_PLACE, *_SAID, "end").join(rows, on=["dialogue", "turn"])
    mentions = pl.concat(mentions.with_columns(same=same) for same in (pl.col("value"), pl.lit("")))
    mentions = mentions.sort("length", *_SAID).group_by(_ALIKE, maintain_order=True).head(_COMPARED)
    mentions = mentions.join(_turns(corpus, mentions["row"]), on="row", maintain_order="left")
    mentions = mentions.join(gold, on=["dialogue", "turn", "slot"], how="left", maintain_order="left")
    columns = ["dialogue", "turn", "system", "user", "value", "start", "end", "gold", "words"]
    return mentions.select(*_ALIKE, *(pl.col(name).alias(f"{which}_{name}") for name in columns))


def _turns(corpus: Corpus, rows: pl.Series) -> pl.DataFrame:
    """(row, system, user, words: the distinct words of both) of some turns."""
    text, speaker = pl.col("text"), pl.col("speaker")
    return corpus.texts.filter(pl.col("row").is_in(rows.unique().implode())).group_by("row").agg(
        *(text.filter(speaker == who).first().alias(who) for who in ("system", "user")),
        words=pl.col("words").list.explode().drop_nulls().unique(),
    )  # fmt: skip
