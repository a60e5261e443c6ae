"""Evidence that an annotation is missing: how gold treats similar places elsewhere in the corpus.

A place is a mention: a value of a slot that is said in a turn. It could be annotated there if its domain is active
(another slot of the domain is in the state, or the domain's annotation changes in the next turn), and the slot was not
in the state of the turn before, or had another value there and is no longer in the state. Places are similar if they
have the same slot and speaker (the system's utterance is the one before the user's turn), the same `cue`, and, if
this occurs often enough, the same `focus`:

- `focus`, when the domain's annotation changes otherwise: for other slots in this turn (``now``), in the turns before
  and after it (``between``), in only one of these (``before``, ``next``), or only ``earlier``;
- `cue`, the word before it, if the user says it, or the first word of the user's reply, if the system does.

A place counts as annotated if the state of the turn has the value. If it has not, an annotation is missing if at least
half of similar places (or another share) are annotated, unless the same words are those of another slot that gold sets
to this value in this turn. Words that are hardly ever annotated where they could be (`RARELY`), such as a restaurant
called `south`, are no value of the slot, whatever the ontology says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from dstbench.audit.corpus import Corpus, first_of, look_up
from dstbench.audit.mentions import find_mentions

#: Words are no value if a smaller share of the speaker's mentions of them is annotated.
RARELY: Final = 0.1
# What similar places share besides slot and speaker, the more specific combination first.
_PARTS: Final = (("focus", "cue"), ("cue",))


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

    With the slot's value `now`, the `place` that similar ones share, the `share` of these `others` elsewhere that is
    `annotated` (null: they are fewer than `support`), and whether the words are `rarely` annotated.
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
    judged = judged.with_columns(
        pl.col("changed", "coming", "gone").fill_null(False), pl.col("has", "n_changed").fill_null(0)
    )
    value, is_unset, cue = pl.col("value"), pl.col("now").is_null(), pl.col("cue").fill_null("-")
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
    word = pl.format("{}={}", pl.when(speaker="user").then(pl.lit("before")).otherwise(pl.lit("reply")), cue)
    levels = [
        elsewhere(could, ["slot", "speaker", *parts], counted).hstack(could.select(place=place))
        for parts, place in zip(_PARTS, (pl.format("when={} {}", "focus", word), word), strict=True)
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
    """The mentions (`judge`) that ought to be annotated, at most one per turn and slot, sorted by these.

    Of their similar mentions at least this share is annotated. The same words are proposed for one slot only, and for
    none if two have the same share. Of several values of a slot, the user's go before the system's, then those with the
    higher share, then the last one said.
    """
    # Of the words for what gold sets in this turn, those whose similar places are annotated most often: they are not
    # proposed for other slots.
    share = pl.col("share")
    set_here = judged.filter("is_set").with_columns(share.fill_null(-1.0))
    taken = set_here.filter(share == share.max().over("row", "slot"))
    missing = judged.filter("could", ~pl.col("rarely"), pl.col("now").is_null(), share >= at_least)
    missing = missing.join(taken, on="mention", how="anti")
    missing = missing.filter(share == share.max().over("mention")).unique("mention", keep="none").filter("is_compared")
    missing = missing.sort("row", "slot", pl.col("speaker") == "system", -share, -pl.col("start").cast(pl.Int64))
    return missing.unique(["row", "slot"], keep="first", maintain_order=True)


def elsewhere(mentions: pl.DataFrame, key: list[str], counted: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """For each mention: how many mentions with the same key, in other dialogues (by `id`), count."""
    # Only sums, without arithmetic, so that Polars groups the mentions once per key and not once per sum.
    every, own = (
        mentions.select(is_counted.sum().over(by).alias(name) for name, is_counted in counted.items())
        for by in (key, [*key, "id"])
    )
    return every.select(pl.col(name) - own[name] for name in counted)
