"""The mentions that gold could annotate, and the missing ones among them, with their evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from dstbench.audit.corpus import Corpus
from dstbench.audit.discussion import SUPPORT
from dstbench.audit.evidence import CUES, PARTS
from dstbench.audit.mentions import spans
from dstbench.schema.audit import CANDIDATES, PROPOSALS

_ROWS: Final = 2**13
_SHARED: Final = ["rule", "speaker", "level", "focus", "value", "one", "other"]


def list_proposals(rounds: list[pl.DataFrame], corpus: Corpus) -> pl.DataFrame:
    """What all rounds add, schema `PROPOSALS`."""
    if not rounds:
        return PROPOSALS.schema.to_frame()
    added = _with_words(pl.concat(rounds, how="diagonal_relaxed"), corpus)
    added = added.with_columns(value="written", turns=pl.col("until") - pl.col("row"))
    return PROPOSALS.conform(added).sort("dialogue", "turn", "slot")


def list_candidates(
    first: list[pl.DataFrame], rounds: list[pl.DataFrame], corpus: Corpus, at_least: float
) -> pl.DataFrame:
    """The mentions that the first round judges, replaced by what the rounds add, if they do; schema `CANDIDATES`."""
    row = pl.col("row")
    added = [frame.with_columns(is_added=True) for frame in rounds]
    covered = [frame.select("slot", row=pl.int_ranges("row", "until", dtype=pl.UInt32)) for frame in rounds]
    covered = [pl.concat(covered).explode("row").unique().with_columns(is_covered=True)] if covered else []
    # The rules compare canonical values; the log has them as gold writes them.
    spelled = corpus.spelled.rename({"written": "spelling"})
    parts = [CANDIDATES.schema.to_frame()]
    # A part at a time takes less memory. Rows are numbered by dialogue and turn.
    for rows in corpus.data_turns.iter_slices(_ROWS):
        is_here = row.is_between(rows["row"][0], rows["row"][-1])
        judged, now, held = (
            [frame.filter(is_here).with_columns(pl.col(pl.Categorical).cast(pl.String)) for frame in frames]
            for frames in (first, added, covered)
        )
        decided = _decided(judged, now, held, at_least).sort("row", "slot", "speaker", "first", "value", "is_similar")
        worded = _with_words(decided, corpus).join(spelled, on=["slot", "value"], how="left", maintain_order="left")
        gold = corpus.cells.filter(is_here).select(
            row, pl.col("slot").cast(pl.String), gold=pl.col("value").cast(pl.String)
        )
        worded = worded.join(gold, on=["row", "slot"], how="left", maintain_order="left")
        worded = worded.with_columns(value=pl.coalesce("written", "spelling", "value"))
        parts.append(CANDIDATES.conform(_with_nulls(worded, CANDIDATES.schema)))
    return pl.concat(parts)


def _decided(
    first: list[pl.DataFrame], added: list[pl.DataFrame], covered: list[pl.DataFrame], at_least: float
) -> pl.DataFrame:
    """The mentions that the first round judges, replaced by additions, with the `decision` and its reasons."""
    is_similar = pl.col("rule").eq_missing(pl.lit("similar"))
    key = ["row", "slot", "speaker", "value", "is_similar"]
    judged = pl.concat(first, how="diagonal_relaxed").with_columns(is_similar=is_similar)
    if added:
        new = pl.concat(added, how="diagonal_relaxed").with_columns(is_similar=is_similar)
        judged = pl.concat([judged.join(new, on=key, how="anti"), new], how="diagonal_relaxed")
    for rows in covered:
        judged = judged.join(rows, on=["row", "slot"], how="left")
    nulls = {"is_added": pl.Boolean, "is_covered": pl.Boolean, "written": pl.String, "until": pl.UInt32}
    judged = _with_nulls(judged, nulls)
    share = pl.col("annotated") / pl.col("others")
    is_enough = pl.when("is_similar").then(~pl.col("rarely") & (share >= at_least)).otherwise(
        pl.col("annotated") >= SUPPORT
    )  # fmt: skip
    decision = (
        pl.when("is_added").then(pl.lit("added"))
        .when("is_set").then(pl.lit("annotated"))
        .when(pl.col("now").is_not_null()).then(pl.lit("other"))
        .when(pl.col("rule").is_null()).then(pl.lit("no rule"))
        .when(~is_enough.fill_null(False)).then(pl.lit("seldom"))
        .when("is_covered").then(pl.lit("held"))
        .otherwise(pl.lit("left out"))
    )  # fmt: skip
    return judged.with_columns(decision=decision, share=share, turns=pl.col("until") - pl.col("row"))


def _with_nulls(table: pl.DataFrame, types: Mapping[str, pl.DataType | type[pl.DataType]]) -> pl.DataFrame:
    """A table that has these columns, too: those that it lacks, without rounds or rules, are null."""
    absent = (name for name in types if name not in table.columns)
    return table.with_columns(pl.lit(None, types[name]).alias(name) for name in absent)


def _with_words(mentions: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """Mentions of the dialogues that are judged, with the words that say them and what similar ones share."""
    spoken = spans(mentions.drop("start", "end", strict=False), corpus.texts).rename({"text": "utterance"})
    spoken = spoken.join(corpus.data_turns, on="row", how="inner", maintain_order="left")
    shared = spoken.select(_SHARED).unique().with_columns(place=_place())
    return spoken.join(shared, on=_SHARED, how="left", nulls_equal=True, maintain_order="left").with_columns(
        said=pl.col("utterance").str.slice(pl.col("start"), pl.col("end") - pl.col("start")), mentions="others"
    )


def _place() -> pl.Expr:
    """What each mention shares with similar ones, in words."""
    of_any_slot = pl.when(pl.col("level") == 1).then(pl.lit(" slot=any")).otherwise(pl.lit(""))
    places = [pl.when(pl.col("rule") != "similar").then(pl.format("rule={}{}", "rule", of_any_slot))]
    for speaker, (one, other) in CUES.items():
        names = {"focus": "when", "value": "value", "one": one, "other": other}
        for level, parts in enumerate(PARTS):
            words = [pl.format(f"{names[part]}={{}}", pl.col(part).fill_null("-")) for part in parts]
            is_of_level = (pl.col("rule") == "similar") & (pl.col("speaker") == speaker) & (pl.col("level") == level)
            places.append(pl.when(is_of_level).then(pl.concat_str(words, separator=" ")))
    return pl.coalesce(places)
