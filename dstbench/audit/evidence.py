"""Evidence that an annotation is missing: how gold treats similar places elsewhere in the corpus.

A place is a mention: a value of a slot that is said in a turn. It could be annotated there if its domain is active
(another slot of the domain is in the state, or the domain's annotation changes in the next turn), and the slot was not
in the state of the turn before, or had another value there and is no longer in the state. Places are similar if they
have the same slot and speaker (the system's utterance is the one before the user's turn) and share some of the
following, in the most specific combination that occurs often enough (`PARTS`):

- `focus`, when the domain's annotation changes otherwise: for other slots in this turn (``now``), in the turns before
  and after it (``between``), in only one of these (``before``, ``next``), or only ``earlier``;
- the value itself;
- if the user says it, the word before and the word after it; if the system does, the first word of the user's reply,
  and whether this is the only value of the slot that the system offers.

A place counts as annotated if the state of the turn has the value. If it has not, an annotation is missing if at least
half of similar places (or another share) are annotated, unless the same words are those of another slot that gold sets
to this value in this turn. Words that are hardly ever annotated where they could be (`RARELY`), such as a restaurant
called `south`, are no value of the slot, whatever the ontology says. All of this is learnt from the corpus; there are
no rules for particular slots.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from dstbench.audit.corpus import Corpus, look_up, with_previous

_CELL: Final = ["row", "slot"]
#: What similar places share besides slot and speaker, the most specific combination first.
PARTS: Final[tuple[tuple[str, ...], ...]] = (
    ("focus", "value", "one", "other"),
    ("focus", "one", "other"),
    ("focus", "value", "one"),
    ("focus", "value", "other"),
    ("focus", "one"),
    ("focus", "other"),
    ("value", "one", "other"),
    ("one", "other"),
)
#: Words are no value if a smaller share of the speaker's mentions of them is annotated.
RARELY: Final = 0.1
#: The names of the cues `one` and `other`, by speaker.
CUES: Final = {"user": ("before", "after"), "system": ("reply", "offer")}


def judge(corpus: Corpus, cells: pl.DataFrame) -> pl.DataFrame:
    """How gold treats each mention; `cells` are `Corpus.cells` with those that have been added.

    Returns:
        The mentions that are or could be annotated, with `now` (the slot's value in the turn's state, null: none),
        `is_annotated` (whether this is the value said), `is_set` (whether it is also set in this turn), `could`
        (whether the mention could be annotated here) and `focus`. They depend on the mention's own dialogue alone.
    """
    states = with_previous(cells).join(corpus.domains, on="slot")
    is_change = pl.col("value").ne_missing(pl.col("was"))
    per_domain = states.group_by("row", "domain").agg(has=pl.len(), changed=is_change.sum())
    changed = per_domain.filter(pl.col("changed") > 0).select("row", "domain")
    forms = corpus.forms.select("slot", "written", "value")
    status = corpus.mentions.with_columns(previous=pl.col("row") - 1, next=pl.col("row") + 1)
    for frame in (
        cells.rename({"value": "now"}),
        cells.rename({"row": "previous", "value": "was"}),
        forms.rename({"written": "now"}).with_columns(is_annotated=True),
        forms.rename({"written": "was"}).with_columns(had=True),
        per_domain,
        changed.rename({"row": "next"}).with_columns(coming=True),
        changed.rename({"row": "previous"}).with_columns(gone=True),
    ):
        status = look_up(status, frame)
    status = status.with_columns(
        pl.col("is_annotated", "had", "coming", "gone").fill_null(False), pl.col("has", "changed").fill_null(0)
    )
    now, was_value = pl.col("now"), pl.col("was")
    is_own_change = now.is_not_null() & now.ne_missing(was_value)
    conditions = {
        "now": pl.col("changed") > is_own_change.cast(pl.UInt32),
        "between": pl.col("gone") & pl.col("coming"),
        "before": pl.col("gone"),
        "next": pl.col("coming"),
        "earlier": pl.col("has") > now.is_not_null().cast(pl.UInt32),
    }
    focus = pl.coalesce(pl.when(condition).then(pl.lit(name)) for name, condition in conditions.items())
    is_free = was_value.is_null() | (now.is_null() & ~pl.col("had"))
    status = status.with_columns(
        is_set=pl.col("is_annotated") & is_own_change,
        focus=focus.cast(pl.Categorical),
        could=is_free & pl.any_horizontal(conditions.values()),
    )
    status = status.drop("domain", "previous", "next", "was", "had", "has", "changed", "coming", "gone")
    return status.filter(pl.col("could") | pl.col("is_set"))


def propose(judged: pl.DataFrame, *, at_least: float) -> pl.DataFrame:
    """The mentions that ought to be annotated, at most one per turn and slot.

    Returns:
        The judged mentions of whose similar places at least this share is annotated, with the `share`, sorted by (row,
        slot). The same words are proposed for one slot only, and for none if two have the same share. Of several values
        of a slot, the user's go before the system's, then those with the higher share, then the last one said.
    """
    share = pl.col("share")
    judged = judged.with_columns(share=pl.col("annotated") / pl.col("others"))
    # Of the words for what gold sets in this turn, those whose similar places are annotated most often: they are not
    # proposed for other slots.
    set_here = judged.filter("is_set").with_columns(share.fill_null(-1.0))
    taken = set_here.filter(share == share.max().over("row", "slot"))
    missing = judged.filter("could", ~pl.col("rarely"), pl.col("now").is_null(), share >= at_least)
    missing = missing.with_columns(pl.col(pl.Categorical).cast(pl.String)).join(taken, on="mention", how="anti")
    missing = missing.filter(share == share.max().over("mention")).unique("mention", keep="none")
    order = ["row", "slot", pl.col("speaker") == "system", "share", "first"]
    return missing.sort(order, descending=[False] * 3 + [True] * 2).unique(_CELL, keep="first", maintain_order=True)


def weigh(judged: pl.DataFrame, *, support: int) -> pl.DataFrame:
    """Mentions (`judge`) with how gold treats similar places elsewhere; at least `support` of them are evidence.

    Returns:
        The mentions with their `level` (the index in `PARTS`), the number of `others` (similar places elsewhere) and of
        `annotated` ones among these, all null if there is no evidence; and whether the words are `rarely` annotated.
    """
    is_mention, is_annotated = pl.col("is_evidence"), pl.col("is_evidence") & pl.col("is_annotated")
    words = ["slot", "speaker", "value"]
    n = is_mention.sum().over(words)
    could = judged.filter("could").sort("is_repeated")
    alone, counted = could.filter(~pl.col("is_repeated")).height, {"annotated": is_annotated, "others": is_mention}
    could = could.with_columns(
        rarely=(n > support) & (is_annotated.sum().over(words) / n < RARELY),
        level=pl.lit(None, pl.UInt8),
        annotated=pl.lit(None, pl.UInt32),
        others=pl.lit(None, pl.UInt32),
    )
    for level, parts in enumerate(PARTS):  # one level after the other, to save memory
        key = ["slot", "speaker", *parts]
        counts = elsewhere(could, key, counted, alone=alone)
        is_next = could["level"].is_null() & (counts["others"] >= support)
        could = could.with_columns(
            pl.when(is_next).then(count).otherwise(count.name).alias(count.name)
            for count in counts.with_columns(level=pl.lit(level, pl.UInt8))
        )
    return pl.concat([could, judged.filter(~pl.col("could"))], how="diagonal")


def elsewhere(
    mentions: pl.DataFrame, key: list[str], counted: Mapping[str, pl.Expr], *, alone: int = 0
) -> pl.DataFrame:
    """For each mention: how many mentions with the same key, in other dialogues (by `id`), count.

    The first `alone` mentions are the only ones of their key in their dialogue.
    """

    def sums(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
        # Only sums, without arithmetic, so that Polars groups the mentions once per key and not once per sum.
        return rows.select(is_counted.sum().over(by).alias(name) for name, is_counted in counted.items())

    only = mentions.head(alone).select(count.cast(pl.UInt32).alias(name) for name, count in counted.items())
    own = pl.concat([only, sums(mentions.slice(alone), [*key, "id"])])
    return sums(mentions, key).select(pl.col(name) - own[name] for name in counted)
