"""The rounds of the search for missing annotations (what a round adds is gold for the next), and what they find.

In domains without names, which no rule judges, an annotation is missing on request if gold annotates most *similar*
mentions in other dialogues. A mention could be annotated if its domain is active (another slot of the domain is in the
state, or the domain's annotation changes in the next turn), and the slot was not in the state of the turn before, or
had another value there and is no longer in the state. Mentions are similar if they share slot, speaker, the `cue` (the
word before what the user says; the first word of the reply to what the system says), and, if there are enough, the
`focus`: when else the domain's annotation changes. Words that are hardly ever annotated where they could be (`RARELY`),
such as a restaurant called `south`, are no value of the slot, whatever the ontology says.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.audit.corpus import RARELY, Corpus, Places, elsewhere, first_of, look_up, with_changes
from dstbench.audit.discussion import SUPPORT, judge_places, propose_places
from dstbench.audit.rules import Rules
from dstbench.audit.search import find_mentions
from dstbench.conventions.normalise import DONTCARE
from dstbench.schema.audit import CANDIDATES
from dstbench.schema.core import BETWEEN

_CELL: Final = ["row", "slot"]
_ROWS: Final = pl.int_ranges("row", "until", dtype=pl.UInt32)


def search(
    corpus: Corpus, places: Places | None, rules: Rules, *, compared: pl.DataFrame, support: int, at_least: float
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The mentions that the first round judges, by rules or `compared` with similar ones, and what all rounds add."""
    cells, rounds, first = corpus.cells, list[pl.DataFrame](), pl.DataFrame()
    while not rounds or rounds[-1].height:
        state = with_changes(cells)
        judged = judge(compared, state if compared.height else state.clear(), support)
        proposed = propose(judged, at_least)
        judged = judged.filter("is_compared")
        if places is not None:
            by_rule = judge_places(corpus, state, places, rules)
            proposed = pl.concat([propose_places(by_rule, rules), proposed], how="diagonal_relaxed")
            judged = pl.concat([by_rule, judged], how="diagonal_relaxed")
        proposed = proposed.unique(_CELL, keep="first", maintain_order=True)
        proposed = _with_duration(proposed.filter(pl.col("slot").str.contains(rules.slots)), corpus, cells)
        first = first if rounds else judged
        rounds.append(proposed.with_columns(round=pl.lit(len(rounds) + 1)))
        added = proposed.select("slot", "domain", "written", every=pl.col("value").str.split(BETWEEN), row=_ROWS)
        added = added.explode("row").with_columns(value=pl.col("every").list.first())
        cells = pl.concat([cells, added.select(cells.columns)])
    later = corpus.cells.join(corpus.data_turns, on="row").select("dialogue", "slot", "row", later="written")
    return first, _followed(pl.concat(rounds, how="diagonal_relaxed"), later).drop("dialogue")


def _with_duration(proposed: pl.DataFrame, corpus: Corpus, cells: pl.DataFrame) -> pl.DataFrame:
    """The annotations found, as `written` and `until` which row they hold; without those that others already imply."""
    turns = corpus.data_turns.with_columns(stop=pl.col("row").max().over("dialogue") + 1)
    proposed = proposed.join(turns, on="row").with_row_index("proposal")
    parts = proposed.select("proposal", "slot", pl.col("value").str.split(BETWEEN)).explode("value")
    parts = parts.join(corpus.spelled, on=["slot", "value"], maintain_order="left")
    parts = parts.group_by("proposal").agg(pl.col("written").str.join(BETWEEN))
    following = cells.join(turns, on="row").select("dialogue", "slot", "row", next="row", then="value")
    proposed = _followed(proposed.join(parts, on="proposal").drop("proposal"), following)
    # A user who says "a hotel", and later gets a guest house annotated, meant any place to stay.
    is_other = (pl.col("then") != pl.col("value")) & (pl.col("then") != DONTCARE)
    is_any_kind = (pl.col("rule") == "kind") & pl.col("fact").is_null() & is_other.fill_null(False)
    proposed = proposed.filter(~is_any_kind).with_columns(until=pl.min_horizontal("stop", "next"))
    # Between two values of gold, an added value holds until the next added one; the same value again is implied.
    gap, written = pl.struct("dialogue", "slot", "until"), pl.col("written")
    is_implied = (gap == gap.shift(1)) & (written == written.shift(1))
    proposed = proposed.sort("dialogue", "slot", "row").filter(~is_implied.fill_null(False))
    replaced_at = pl.when(gap == gap.shift(-1)).then(pl.col("row").shift(-1))
    return proposed.with_columns(until=pl.coalesce(replaced_at, "until")).drop("stop", "next", "then", "turn")


def _followed(rows: pl.DataFrame, following: pl.DataFrame) -> pl.DataFrame:
    """Rows with the next one of their dialogue and slot in another table."""
    return rows.sort("row").join_asof(
        following.sort("row"), on="row", by=["dialogue", "slot"],
        strategy="forward", allow_exact_matches=False, check_sortedness=False,
    )  # fmt: skip


# --- similar places --------------------------------------------------------------------------------------------------


def mentions_like(corpus: Corpus, searched: pl.DataFrame, slots: list[str]) -> pl.DataFrame:
    """The mentions of slots, in dialogues with their domain, and of others in the same words; with their cues."""
    mentions = find_mentions(corpus.texts if slots else corpus.texts.clear(), searched, corpus.turns)
    mentions = mentions.filter(pl.col("slot").is_in(slots).any().over("mention"))
    active = corpus.cells.join(corpus.turns, on="row").select("talk", "domain").unique()
    mentions = mentions.join(active, on=["talk", "domain"], how="semi").drop("talk")
    mentions = look_up(mentions, corpus.texts.filter(speaker="user").select("row", reply=pl.col("words").list.first()))
    cue = pl.when(speaker="user").then("before").otherwise("reply")
    return mentions.with_columns(cue=cue, is_compared=pl.col("slot").is_in(slots)).sort("mention", "slot", "value")


def judge(mentions: pl.DataFrame, state: pl.DataFrame, support: int) -> pl.DataFrame:
    """The mentions (`mentions_like`) that are set (`is_set`) or `could` be in this state (`with_changes`).

    Of similar ones elsewhere, how many are `annotated` of all the `others` (null: fewer than `support`).
    """
    per_domain = state.group_by("row", "domain").agg(has=pl.len(), n_changed=pl.col("changed").sum())
    active = per_domain.filter(pl.col("n_changed") > 0).select("row", "domain")
    judged, before, after = mentions, pl.col("row") + 1, pl.col("row") - 1
    for frame in (
        state.select("row", "slot", "changed", "every", now="value"),
        state.select("slot", before, was="every"),
        per_domain,
        active.with_columns(after, coming=True),
        active.with_columns(before, gone=True),
    ):
        judged = look_up(judged, frame)
    flags, counts = pl.col("changed", "coming", "gone"), pl.col("has", "n_changed")
    judged = judged.with_columns(flags.fill_null(False), counts.fill_null(0))
    value, is_unset = pl.col("value"), pl.col("now").is_null()
    focuses = {
        "now": pl.col("n_changed") > pl.col("changed").cast(pl.UInt32),
        "between": pl.col("gone") & pl.col("coming"),
        "before": pl.col("gone"),
        "next": pl.col("coming"),
        "earlier": pl.col("has") > (~is_unset).cast(pl.UInt32),
    }
    is_free = pl.col("was").is_null() | (is_unset & ~pl.col("was").list.contains(value))
    judged = judged.with_columns(
        focus=first_of(focuses), is_annotated=pl.col("every").list.contains(value).fill_null(False)
    ).with_columns(
        is_set=pl.col("is_annotated") & pl.col("changed"), could=is_free & pl.col("focus").is_not_null()
    )  # fmt: skip
    could = judged.filter("could")
    counted = {"annotated": pl.col("is_evidence") & pl.col("is_annotated"), "others": pl.col("is_evidence")}
    annotated, n = (is_counted.sum().over("slot", "speaker", "value") for is_counted in counted.values())
    which = pl.when(speaker="user").then(pl.lit("before")).otherwise(pl.lit("reply"))
    word = pl.format("{}={}", which, pl.col("cue").fill_null("-"))
    levels = [
        elsewhere(could, ["slot", "speaker", "cue", *focus], counted).hstack(could.select(place=place))
        for focus, place in ((["focus"], pl.format("when={} {}", "focus", word)), ([], word))
    ]
    evidence = {
        name: pl.coalesce(pl.when(counts["others"] >= support).then(counts[name]) for counts in levels)
        for name in ("annotated", "others", "place")
    }
    could = could.with_columns(rarely=(n > support) & (annotated / n < RARELY), **evidence)
    judged = pl.concat([could, judged.filter("is_set", ~pl.col("could"))], how="diagonal")
    return judged.with_columns(
        share=pl.col("annotated") / pl.col("others"), rule=pl.lit("similar"), fact=pl.lit(None, pl.String)
    )


def propose(judged: pl.DataFrame, at_least: float) -> pl.DataFrame:
    """The mentions (`judge`) that ought to be annotated, the one to take first of each turn and slot.

    The same words are for one slot only, and for none if two have the same share.
    """
    # Of the words for what gold sets in this turn, those whose similar places are annotated most often: they are not
    # proposed for other slots.
    share = pl.col("share")
    set_here = judged.filter("is_set").with_columns(share.fill_null(-1.0))
    taken = set_here.filter(share == share.max().over("row", "slot"))
    missing = judged.filter("could", ~pl.col("rarely"), pl.col("now").is_null(), share >= at_least)
    missing = missing.join(taken, on="mention", how="anti")
    missing = missing.filter(share == share.max().over("mention")).unique("mention", keep="none").filter("is_compared")
    return missing.sort("row", "slot", pl.col("speaker") == "system", -share, -pl.col("start").cast(pl.Int64))


# --- what the rounds find ---------------------------------------------------------------------------------------------


def list_candidates(first: pl.DataFrame, added: pl.DataFrame, corpus: Corpus, at_least: float) -> pl.DataFrame:
    """The mentions that the first round judges, replaced by what the rounds add, if they do; schema `CANDIDATES`."""
    judged = first.join(added, on=[*_CELL, "speaker", "value"], how="anti")
    judged = pl.concat([judged, added.with_columns(is_added=True)], how="diagonal_relaxed")
    covered = added.select("slot", row=_ROWS).explode("row").unique().with_columns(is_covered=True)
    judged = judged.join(covered, on=_CELL, how="left").sort(*_CELL, "speaker", "start", "value")
    judged = with_words(judged, corpus)
    # The rules compare canonical values; the log has them as gold writes them.
    spelled = corpus.spelled.rename({"written": "spelling"})
    for frame, keys in ((spelled, ["slot", "value"]), (corpus.cells.select(*_CELL, as_written="written"), _CELL)):
        judged = judged.join(frame, on=keys, how="left", maintain_order="left")
    is_frequent = ~pl.col("rarely") & (pl.col("share") >= at_least)
    is_enough = pl.when(pl.col("rule") == "similar").then(is_frequent).otherwise(pl.col("annotated") >= SUPPORT)
    decisions = {
        "added": pl.col("is_added"),
        "annotated": pl.col("is_set"),
        "other": pl.col("now").is_not_null(),
        "no rule": pl.col("rule").is_null(),
        "seldom": ~is_enough.fill_null(False),
        "held": pl.col("is_covered"),
        "left out": pl.lit(True),
    }
    value = pl.coalesce("written", "spelling", "value")
    return CANDIDATES.conform(judged.with_columns(decision=first_of(decisions), value=value, gold="as_written"))


def with_words(mentions: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """Mentions of the dialogues that are judged, with the words that say them, and with all columns of the log."""
    texts = corpus.texts.select("row", "speaker", utterance="text")
    spoken = mentions.join(texts, on=["row", "speaker"], how="left", maintain_order="left")
    spoken = spoken.join(corpus.data_turns, on="row", how="inner", maintain_order="left")
    said = pl.col("utterance").str.slice("start", pl.col("end") - pl.col("start"))
    spoken = spoken.with_columns(said=said, turns=pl.col("until") - pl.col("row"), mentions="others")
    return pl.concat([CANDIDATES.schema.to_frame(), spoken], how="diagonal_relaxed")
