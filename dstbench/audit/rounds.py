"""The rounds of the search for missing annotations (what a round adds is gold for the next), and what they find."""

from __future__ import annotations

from typing import Final, NamedTuple

import polars as pl

from dstbench.audit.corpus import Corpus, with_changes
from dstbench.audit.discussion import SUPPORT, discuss, judge_places, propose_places
from dstbench.audit.evidence import CUES, PARTS, judge, propose
from dstbench.audit.places import Places
from dstbench.audit.rules import Rules
from dstbench.conventions.normalise import is_dontcare
from dstbench.schema.audit import CANDIDATES, PROPOSALS
from dstbench.schema.core import BETWEEN

_CELL: Final = ["row", "slot"]


class Method(NamedTuple):
    """How missing annotations are found: by rules, and among the mentions that are `compared` by similar places."""

    places: Places | None
    rules: Rules
    compared: pl.DataFrame
    support: int
    at_least: float

    def judge(self, corpus: Corpus, cells: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The mentions with their evidence, and the missing ones among them, if gold had these `cells`."""
        state = with_changes(cells)
        similar = judge(self.compared, state if self.compared.height else state.clear(), self.support)
        proposed = propose(similar, self.at_least)
        similar = similar.filter("is_compared")
        if self.places is not None:
            by_rule = judge_places(discuss(corpus, state, self.places, self.rules), self.places, self.rules)
            proposed = pl.concat([propose_places(by_rule, self.rules), proposed], how="diagonal_relaxed")
            similar = pl.concat([by_rule, similar], how="diagonal_relaxed")
        proposed = proposed.unique(_CELL, keep="first", maintain_order=True)
        return similar, proposed.filter(pl.col("slot").str.contains(self.rules.slots))


def search(corpus: Corpus, method: Method) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Search until nothing is found; the mentions with their evidence in the first round, and what all rounds add."""
    cells, rounds, first = corpus.cells, list[pl.DataFrame](), pl.DataFrame()
    while not rounds or rounds[-1].height:
        judged, proposed = method.judge(corpus, cells)
        first = judged if not rounds else first
        proposed = _with_duration(proposed, corpus, cells)
        rounds.append(proposed.with_columns(round=pl.lit(len(rounds) + 1)))
        added = proposed.select("slot", "domain", "written", every=pl.col("value").str.split(BETWEEN), row=_rows())
        added = added.explode("row").with_columns(value=pl.col("every").list.first())
        cells = pl.concat([cells, added.select(cells.columns)])
    later = corpus.cells.join(corpus.data_turns, on="row").select("dialogue", "slot", "row", later="written")
    return first, _followed(pl.concat(rounds, how="diagonal_relaxed"), later).drop("dialogue")


def _rows() -> pl.Expr:
    return pl.int_ranges("row", "until", dtype=pl.UInt32)


def _with_duration(proposed: pl.DataFrame, corpus: Corpus, cells: pl.DataFrame) -> pl.DataFrame:
    """The annotations found, as `written` and `until` which row they hold; without those that others already imply."""
    turns = corpus.data_turns.with_columns(stop=pl.col("row").max().over("dialogue") + 1)
    proposed = proposed.join(turns, on="row").with_row_index("proposal")
    parts = proposed.select("proposal", "slot", pl.col("value").str.split(BETWEEN)).explode("value")
    parts = parts.join(corpus.spelled, on=["slot", "value"], maintain_order="left")
    parts = parts.group_by("proposal").agg(pl.col("written").str.join(BETWEEN))
    proposed = proposed.join(parts, on="proposal").drop("proposal")
    following = cells.join(turns, on="row").select("dialogue", "slot", "row", next="row", then="value")
    proposed = _followed(proposed, following)
    # A user who says "a hotel", and later gets a guest house annotated, meant any place to stay.
    dontcare = [value for value in proposed["then"].drop_nulls().unique() if is_dontcare(value)]
    is_other = (pl.col("then") != pl.col("value")) & ~pl.col("then").is_in(dontcare)
    is_any_kind = (pl.col("rule") == "kind") & pl.col("fact").is_null() & is_other.fill_null(False)
    proposed = proposed.filter(~is_any_kind)
    proposed = proposed.with_columns(until=pl.min_horizontal("stop", "next")).sort("dialogue", "slot", "row")
    # Between two values of gold, an added value holds until the next added one; the same value again is implied.
    gap = pl.struct("dialogue", "slot", "until")
    is_implied = (gap == gap.shift(1)) & (pl.col("written") == pl.col("written").shift(1))
    proposed = proposed.filter(~is_implied.fill_null(False))
    replaced_at = pl.when(gap == gap.shift(-1)).then(pl.col("row").shift(-1))
    return proposed.with_columns(until=pl.coalesce(replaced_at, "until")).drop("stop", "next", "then", "turn")


def _followed(rows: pl.DataFrame, following: pl.DataFrame) -> pl.DataFrame:
    """Rows with the next one of their dialogue and slot in another table."""
    return rows.sort("row").join_asof(
        following.sort("row"), on="row", by=["dialogue", "slot"],
        strategy="forward", allow_exact_matches=False, check_sortedness=False,
    )  # fmt: skip


# --- what the rounds find ---------------------------------------------------------------------------------------------


def list_proposals(added: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """What all rounds add, schema `PROPOSALS`."""
    worded = _with_words(added, corpus).with_columns(value="written", turns=pl.col("until") - pl.col("row"))
    worded = pl.concat([PROPOSALS.schema.to_frame(), worded], how="diagonal_relaxed")
    return PROPOSALS.conform(worded).sort("dialogue", "turn", "slot")


def list_candidates(first: pl.DataFrame, added: pl.DataFrame, corpus: Corpus, at_least: float) -> pl.DataFrame:
    """The mentions that the first round judges, replaced by what the rounds add, if they do; schema `CANDIDATES`."""
    is_similar, share = pl.col("rule").eq_missing(pl.lit("similar")), pl.col("annotated") / pl.col("others")
    judged, new = (table.with_columns(is_similar=is_similar) for table in (first, added))
    judged = judged.join(new, on=[*_CELL, "speaker", "value", "is_similar"], how="anti")
    judged = pl.concat([judged, new.with_columns(is_added=True)], how="diagonal_relaxed")
    covered = added.select("slot", row=_rows()).explode("row").unique().with_columns(is_covered=True)
    judged = judged.join(covered, on=_CELL, how="left")
    if "rarely" not in judged.columns:
        judged = judged.with_columns(rarely=False)
    is_frequent = ~pl.col("rarely") & (share >= at_least)
    is_enough = pl.when("is_similar").then(is_frequent).otherwise(pl.col("annotated") >= SUPPORT)
    decisions = {
        "added": pl.col("is_added"),
        "annotated": pl.col("is_set"),
        "other": pl.col("now").is_not_null(),
        "no rule": pl.col("rule").is_null(),
        "seldom": ~is_enough.fill_null(False),
        "held": pl.col("is_covered"),
        "left out": pl.lit(True),
    }
    decision = pl.coalesce(pl.when(holds).then(pl.lit(name)) for name, holds in decisions.items())
    judged = judged.with_columns(decision=decision, share=share, turns=pl.col("until") - pl.col("row"))
    worded = _with_words(judged.sort(*_CELL, "speaker", "start", "value", "is_similar"), corpus)
    # The rules compare canonical values; the log has them as gold writes them.
    spelled = corpus.spelled.rename({"written": "spelling"})
    for frame, keys in ((spelled, ["slot", "value"]), (corpus.cells.select(*_CELL, gold="written"), _CELL)):
        worded = worded.join(frame, on=keys, how="left", maintain_order="left")
    worded = worded.with_columns(value=pl.coalesce("written", "spelling", "value"))
    return CANDIDATES.conform(pl.concat([CANDIDATES.schema.to_frame(), worded], how="diagonal_relaxed"))


def _with_words(mentions: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """Mentions of the dialogues that are judged, with the words that say them and what similar ones share."""
    texts = corpus.texts.select("row", "speaker", utterance="text")
    spoken = mentions.join(texts, on=["row", "speaker"], how="left", maintain_order="left")
    spoken = spoken.join(corpus.data_turns, on="row", how="inner", maintain_order="left")
    of_any_slot = pl.when(pl.col("level") == 1).then(pl.lit(" slot=any")).otherwise(pl.lit(""))
    places = [pl.when(pl.col("rule") != "similar").then(pl.format("rule={}{}", "rule", of_any_slot))]
    for speaker, cue in CUES.items() if "cue" in spoken.columns else ():
        names = {"focus": "when", "cue": cue}
        for level, parts in enumerate(PARTS):
            words = [pl.format(f"{names[part]}={{}}", pl.col(part).fill_null("-")) for part in parts]
            is_of_level = (pl.col("rule") == "similar") & (pl.col("speaker") == speaker) & (pl.col("level") == level)
            places.append(pl.when(is_of_level).then(pl.concat_str(words, separator=" ")))
    said = pl.col("utterance").str.slice(pl.col("start"), pl.col("end") - pl.col("start"))
    return spoken.with_columns(place=pl.coalesce(places), said=said, mentions="others")
