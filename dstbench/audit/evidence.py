"""Evidence that an annotation is missing: how gold treats similar places elsewhere in the corpus.

A value of a slot is said in a turn. It could be annotated there if its domain is active (another slot of the domain is
in the state, or the domain's annotation changes in the next turn), and the slot was not in the state of the turn
before, or no longer is, having had another value. Places are similar if they have the same slot and speaker (the
system's utterance is the one before the user's turn) and share some of these, the most particular combination that
occurs often enough (`PARTS`):

- `focus`, when else the domain's annotation changes: of other slots in this turn (``now``), in the turns before and
  after it (``between``), in only one of these (``before``, ``next``), or only ``earlier``;
- the value itself;
- if the user says it, the word before and the word after it; if the system does, the first word of the user's reply,
  and whether the system offers this value of the slot only.

A place counts as annotated if the state of the turn has the value. Where it has not, an annotation is missing if
similar places are annotated more often than not, unless the same words say another slot that gold sets to this value in
this turn. Words that are hardly ever annotated where they could be (`RARELY`), such as a restaurant called `south`, are
no value of the slot, whatever the ontology says. All of this is learnt from the corpus; there are no rules for slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from dstbench.audit.mentions import CANONICAL, Vocabulary, find_mentions, utterances
from dstbench.conventions.convention import Convention
from dstbench.conventions.normalise import alternatives
from dstbench.conventions.slots import domain_of
from dstbench.readers.states import Side
from dstbench.schema.core import BETWEEN

_KEY: Final = ["dialogue", "turn"]
_CELL: Final = ["row", "slot"]
#: What similar places share besides slot and speaker: the most particular first.
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
#: Words are no value if this speaker's mentions of them are annotated less often than this.
RARELY: Final = 0.1
#: What `one` and `other` are called, by speaker.
CUES: Final = {"user": ("before", "after"), "system": ("reply", "offer")}


@dataclass(frozen=True)
class Corpus:
    """A dataset laid out for the search; it stays the same while annotations are added.

    Slots, values and words that are compared repeatedly are Categorical.

    Attributes:
        turns: (row: UInt32, dialogue, turn, last: Boolean, whether the dialogue ends), sorted.
        cells: (row, slot, value), the values of gold's states as written, without those that mean absent.
        forms: (slot, written, value), each value as written and the canonical form of each of its alternatives.
        domains: (slot, domain).
        spelled: (slot, written, value), how a canonical value that is added is written; String.
        texts: What `mentions.utterances` gives.
        mentions: What `mentions.find_mentions` gives, with `domain`, `one` and `other`; only of domains that gold ever
            has in the dialogue.
    """

    turns: pl.DataFrame
    cells: pl.DataFrame
    forms: pl.DataFrame
    domains: pl.DataFrame
    spelled: pl.DataFrame
    texts: pl.DataFrame
    mentions: pl.DataFrame


def lay_out(gold: Side, said: pl.DataFrame, vocabulary: Vocabulary) -> Corpus:
    """Find the vocabulary in a dataset's utterances (schema `CONTEXTS`), and lay out its gold states."""
    turns = gold.turns.with_row_index("at").sort(_KEY).with_row_index("row")
    turns = turns.with_columns(last=pl.col("dialogue").shift(-1).ne_missing(pl.col("dialogue")))
    cells = (
        gold.cells.join(turns, on="at")
        .select("row", "dialogue", pl.col("slot", "value").cast(pl.String))
        .filter(~pl.col("value").is_in(Convention().absent))
        .sort(_CELL)
    )
    slots = pl.Series("slot", sorted({*cells["slot"], *vocabulary.patterns["slot"]}), dtype=pl.String)
    domains = slots.to_frame().with_columns(domain=pl.Series([domain_of(slot) for slot in slots], dtype=pl.String))
    forms = [
        (slot, value, canonical, n)
        for slot, value, n in cells.group_by("slot", "value").len().sort("slot", "value").iter_rows()
        for canonical in dict.fromkeys(alternatives(CANONICAL(slot, value)))
    ]
    forms += [(slot, value, canonical, 0) for (slot, canonical), value in vocabulary.spelled.items()]
    names = dict.fromkeys(("slot", "written", "value"), pl.String)
    of_gold = pl.DataFrame(forms, schema={**names, "n": pl.UInt32}, orient="row")
    single = of_gold.filter(~pl.col("written").str.contains(BETWEEN, literal=True))
    spelled = single.sort("n", "written", descending=[True, False]).unique(
        ["slot", "value"], keep="first", maintain_order=True
    )
    texts = utterances(turns.join(said, on=_KEY, how="left", maintain_order="left").select("row", "system", "user"))
    active = cells.join(domains, on="slot").select("dialogue", "domain").unique()
    mentions = find_mentions(texts, vocabulary).join(domains, on="slot").join(turns.select("row", "dialogue"), on="row")
    mentions = mentions.join(active, on=["dialogue", "domain"], how="semi").drop("dialogue")
    return Corpus(
        turns=turns.select("row", *_KEY, "last"),
        cells=cells.select("row", _codes("slot", "value")),
        forms=pl.concat([of_gold.filter(pl.col("n") > 0), spelled])
        .unique(["slot", "written", "value"], maintain_order=True)
        .select(_codes("slot", "written", "value")),
        domains=domains.select(_codes("slot", "domain")),
        spelled=spelled.drop("n"),
        texts=texts,
        mentions=_with_cues(mentions, texts).with_columns(_codes("speaker", "slot", "value", "domain", "one", "other")),
    )


def judge(corpus: Corpus, cells: pl.DataFrame, *, support: int) -> pl.DataFrame:
    """How gold treats each mention, and similar places elsewhere.

    `cells` are `Corpus.cells` with those that have been added; `support` similar places are enough evidence.

    Returns:
        The mentions with their `now` (value of the slot in the turn's state, null: none), `is_annotated` (that is the
        one said), `is_set` (and set in this turn), `could` (it could be annotated here), `focus`, `level` (which of
        `PARTS`), and `annotated` of `others` places elsewhere; the last three null where there is no evidence; and
        whether the words are `rarely` annotated at all.
    """
    not_last = corpus.turns.filter(~pl.col("last")).select("row")

    def in_next_turn(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.join(not_last, on="row", how="semi").with_columns(pl.col("row") + 1)

    was = in_next_turn(cells).rename({"value": "was"})
    states = cells.join(was, on=_CELL, how="left").join(corpus.domains, on="slot")
    is_change = pl.col("value").ne_missing(pl.col("was"))
    per_domain = states.group_by("row", "domain").agg(has=pl.len(), changed=is_change.sum())
    changed = per_domain.filter(pl.col("changed") > 0).select("row", "domain")
    coming = changed.with_columns(pl.col("row") - 1, coming=True).join(not_last, on="row", how="semi")
    gone = in_next_turn(changed).with_columns(gone=True)
    forms = cells.rename({"value": "written"}).join(corpus.forms, on=["slot", "written"])
    annotated = forms.select(*_CELL, "value", is_annotated=True).unique()
    had = in_next_turn(annotated).rename({"is_annotated": "had"})
    status = corpus.mentions
    for frame in (was, cells.rename({"value": "now"}), annotated, had, per_domain, coming, gone):
        keys = [name for name in frame.columns if name in (*_CELL, "value", "domain")]
        status = status.join(frame, on=keys, how="left")
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
    return _weigh(status.drop("domain", "was", "had", "has", "changed", "coming", "gone"), support)


def propose(judged: pl.DataFrame, *, at_least: float) -> pl.DataFrame:
    """The mentions that ought to be annotated, at most one per turn and slot.

    Returns:
        The judged mentions for which at least this `share` of similar places is annotated, sorted by (row, slot).
        The same words say one slot only, and none if they say two equally well. Of several values of a slot the user's
        goes before the system's, then the one with the higher share, then the last.
    """
    share = pl.col("share")
    judged = judged.with_columns(share=pl.col("annotated") / pl.col("others"))
    # The words that say what gold sets in this turn: where such places are annotated most often. They say nothing else.
    set_here = judged.filter("is_set").with_columns(share.fill_null(-1.0))
    taken = set_here.filter(share == share.max().over("row", "slot"))
    missing = judged.filter("could", ~pl.col("rarely"), pl.col("now").is_null(), share >= at_least)
    missing = missing.with_columns(pl.col(pl.Categorical).cast(pl.String)).join(taken, on="mention", how="anti")
    missing = missing.filter(share == share.max().over("mention")).unique("mention", keep="none")
    order = ["row", "slot", pl.col("speaker") == "system", "share", "first"]
    return missing.sort(order, descending=[False] * 3 + [True] * 2).unique(_CELL, keep="first", maintain_order=True)


def _with_cues(mentions: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """The mentions with the cues that their speaker has (`CUES`), as `one` and `other`."""
    reply = texts.filter(speaker="user").select("row", reply=pl.col("words").list.first())
    offers = mentions.group_by("row", "speaker", "slot").agg(offers=pl.col("value").n_unique())
    is_user = pl.col("speaker") == "user"
    offer = pl.when(pl.col("offers") > 1).then(pl.lit("several")).otherwise(pl.lit("single"))
    mentions = mentions.join(reply, on="row", how="left").join(offers, on=["row", "speaker", "slot"], how="left")
    one, other = pl.when(is_user).then("before").otherwise("reply"), pl.when(is_user).then("after").otherwise(offer)
    mentions = mentions.with_columns(one=one, other=other).drop("before", "after", "reply", "offers")
    return mentions.sort("mention", "slot", "value")


def _weigh(status: pl.DataFrame, support: int) -> pl.DataFrame:
    """Add `level`, `annotated`, `others` and `rarely` to the mentions that could be annotated."""
    is_annotated, n = pl.col("is_annotated"), pl.len()
    levels = []
    for level, parts in enumerate(PARTS):
        key = ["slot", "speaker", *parts]
        others, annotated = n.over(key) - 1, is_annotated.sum().over(key) - is_annotated.cast(pl.UInt32)
        counts = pl.struct(level=pl.lit(level, pl.UInt8), annotated=annotated, others=others)
        levels.append(pl.when(others >= support).then(counts))
    words = ["slot", "speaker", "value"]
    rarely = (n.over(words) > support) & (is_annotated.mean().over(words) < RARELY)
    could = status.filter("could").with_columns(pl.coalesce(levels).alias("found"), rarely=rarely)
    return pl.concat([could.unnest("found"), status.filter(~pl.col("could"))], how="diagonal")


def _codes(*names: str) -> pl.Expr:
    return pl.col(names).cast(pl.Categorical)
