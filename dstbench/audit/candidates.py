"""The mentions that gold could annotate, and those of them that are missing, with their evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from dstbench.audit.corpus import Corpus
from dstbench.audit.discussion import SUPPORT
from dstbench.audit.evidence import CUES, PARTS
from dstbench.audit.mentions import spans
from dstbench.schema.missing import CANDIDATES, PROPOSALS

_ROWS: Final = 2**15
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
    """What the first round judges, and in its place what the rounds add; schema `CANDIDATES`."""
    is_similar = pl.col("rule").eq_missing(pl.lit("similar"))
    key = ["row", "slot", "speaker", "value", "is_similar"]
    judged = pl.concat(
        [frame.with_columns(pl.col(pl.Categorical).cast(pl.String)) for frame in first], how="diagonal_relaxed"
    ).with_columns(is_similar=is_similar)
    if rounds:
        added = pl.concat(rounds, how="diagonal_relaxed").with_columns(is_similar=is_similar, is_added=True)
        judged = pl.concat([judged.join(added, on=key, how="anti"), added], how="diagonal_relaxed")
        covered = added.select("slot", row=pl.int_ranges("row", "until", dtype=pl.UInt32)).explode("row").unique()
        judged = judged.join(covered.with_columns(is_covered=True), on=["row", "slot"], how="left")
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
    turns = pl.col("until") - pl.col("row")
    judged = judged.with_columns(decision=decision, share=share, turns=turns)
    # Rows are numbered by dialogue and turn.
    judged = judged.sort("row", "slot", "speaker", "first", "value", "is_similar")
    # The rules compare canonical values; the log has them as gold writes them.
    spelled = corpus.spelled.rename({"written": "spelling"})
    gold = corpus.cells.select("row", pl.col("slot").cast(pl.String), gold=pl.col("value").cast(pl.String))
    # A part at a time takes less memory.
    parts = [CANDIDATES.schema.to_frame()]
    for part in judged.iter_slices(_ROWS):
        worded = _with_words(part, corpus)
        for frame, same in ((spelled, ["slot", "value"]), (gold, ["row", "slot"])):
            worded = worded.join(frame, on=same, how="left", maintain_order="left")
        worded = worded.with_columns(value=pl.coalesce("written", "spelling", "value"))
        parts.append(CANDIDATES.conform(_with_nulls(worded, CANDIDATES.schema)))
    return pl.concat(parts)


def _with_nulls(table: pl.DataFrame, types: Mapping[str, pl.DataType | type[pl.DataType]]) -> pl.DataFrame:
    """A table that also has these columns: null, if there were no rounds or no rules."""
    absent = (name for name in types if name not in table.columns)
    return table.with_columns(pl.lit(None, types[name]).alias(name) for name in absent)


def _with_words(mentions: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """Mentions of the dialogues that are judged, with the words that say them and what similar places share."""
    spoken = spans(mentions.drop("start", "end", strict=False), corpus.texts).rename({"text": "utterance"})
    spoken = spoken.join(corpus.data_turns, on="row", how="inner", maintain_order="left")
    shared = spoken.select(_SHARED).unique().with_columns(place=_place())
    return spoken.join(shared, on=_SHARED, how="left", nulls_equal=True, maintain_order="left").with_columns(
        said=pl.col("utterance").str.slice(pl.col("start"), pl.col("end") - pl.col("start")), mentions="others"
    )


def _place() -> pl.Expr:
    """What such mentions share with similar ones, in words."""
    places = [pl.when(pl.col("rule") != "similar").then(pl.format("rule={}", "rule"))]
    for speaker, (one, other) in CUES.items():
        names = {"focus": "when", "value": "value", "one": one, "other": other}
        for level, parts in enumerate(PARTS):
            words = [pl.format(f"{names[part]}={{}}", pl.col(part).fill_null("-")) for part in parts]
            is_such = (pl.col("rule") == "similar") & (pl.col("speaker") == speaker) & (pl.col("level") == level)
            places.append(pl.when(is_such).then(pl.concat_str(words, separator=" ")))
    return pl.coalesce(places)
