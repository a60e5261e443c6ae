"""What tells that an annotation is missing: how gold treats such places elsewhere in the corpus.

A value of a slot is said in a turn. It could be annotated there if its domain is active (another slot of the domain is
in the state, or the domain's annotation changes in the next turn), and the slot was not in the state of the turn
before, or is no longer, having had another value. *Such a place* is told by the slot and the speaker (of the system:
the utterance before the user's turn), and by what is alike in enough places of the following, the most particular
combination first (`PARTS`):

- `focus`, when else the domain's annotation changes: of other slots in this turn (``now``), in the turns before and
  after it (``between``), in only one of these (``before``, ``next``), or only ``earlier``;
- the value itself;
- of the user's, the word before and the word after it; of the system's, the first word of the user's reply, and whether
  the value is the only one of the slot that is offered.

A place counts as annotated if the state of the turn has the value. A value that is not is missing if such places
elsewhere are annotated more often than not, unless the same words are what says another slot that gold sets to it in
this turn. Words that are hardly ever annotated where they could be (`RARELY`) are no value of the slot, whatever the
ontology says, such as a restaurant called `south`. So nothing is known of slots here, and no rule is written by hand;
the corpus is its own witness.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.audit.mentions import CANONICAL, Vocabulary, find_mentions, utterances
from dstbench.conventions.convention import Convention
from dstbench.conventions.normalise import alternatives
from dstbench.conventions.slots import domain_of
from dstbench.schema.core import BETWEEN

if TYPE_CHECKING:
    from dstbench.readers.states import Side

_KEY: Final = ["dialogue", "turn"]
_CELL: Final = ["row", "slot"]
#: What may be alike in such places, beside slot and speaker: the most particular first.
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
#: Words that are annotated less often than this, of all the places where this speaker says them, are no value.
RARELY: Final = 0.1
#: What `one` and `other` are called, by speaker.
CUES: Final = {"user": ("before", "after"), "system": ("reply", "offer")}


@dataclass(frozen=True)
class Corpus:
    """A dataset laid out for the search; nothing in it changes while annotations are added.

    Slots, values and words that are compared time and again are Categorical.

    Attributes:
        turns: (row: UInt32, dialogue, turn, last: Boolean, whether the dialogue ends), sorted.
        cells: (row, slot, value), the values of gold's states as written, without those that mean absent.
        forms: (slot, value, canonical), each value as written and each of its alternatives' canonical form.
        domains: (slot, domain).
        spelled: (slot, canonical, value), how a value that is added is written; String.
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
    """Lay out a dataset.

    Args:
        gold: Its states.
        said: Its utterances, schema `schema.CONTEXTS`.
        vocabulary: The values to search for.
    """
    turns = gold.turns.with_row_index("at").sort(_KEY).with_row_index("row")
    turns = turns.with_columns(last=pl.col("dialogue").shift(-1).ne_missing(pl.col("dialogue")))
    cells = (
        gold.cells.join(turns.select("at", "row"), on="at")
        .select("row", pl.col("slot", "value").cast(pl.String))
        .filter(~pl.col("value").is_in(Convention().absent))
        .sort(_CELL)
    )
    slots = pl.Series("slot", sorted({*cells["slot"], *vocabulary.patterns["slot"]}), dtype=pl.String)
    domains = pl.DataFrame(
        {"slot": slots, "domain": [domain_of(slot) for slot in slots]}, schema_overrides={"domain": pl.String}
    )
    written = cells.group_by("slot", "value").len().sort("slot", "value")
    rows = [
        (slot, value, part, n)
        for slot, value, n in written.iter_rows()
        for part in dict.fromkeys(alternatives(CANONICAL(slot, value)))
    ]
    schema = {"slot": pl.String, "value": pl.String, "canonical": pl.String, "n": pl.UInt32}
    known = pl.DataFrame(rows, schema=schema, orient="row")
    offered = pl.DataFrame(
        [(slot, value, canonical, 0) for (slot, canonical), value in vocabulary.spelled.items()],
        schema=schema,
        orient="row",
    )
    single = pl.concat([known, offered]).filter(~pl.col("value").str.contains(BETWEEN, literal=True))
    spelled = single.sort("n", "value", descending=[True, False]).unique(
        ["slot", "canonical"], keep="first", maintain_order=True
    )
    texts = utterances(turns.join(said, on=_KEY, how="left", maintain_order="left").select("row", "system", "user"))
    rows_of = turns.select("row", "dialogue")
    active = cells.join(domains, on="slot").join(rows_of, on="row").select("dialogue", "domain").unique()
    mentions = find_mentions(texts, vocabulary).join(domains, on="slot").join(rows_of, on="row")
    mentions = mentions.join(active, on=["dialogue", "domain"], how="semi").drop("dialogue")
    return Corpus(
        turns=turns.select("row", *_KEY, "last"),
        cells=cells.select("row", _codes("slot", "value")),
        forms=pl.concat([known, spelled])
        .unique(["slot", "value", "canonical"], maintain_order=True)
        .select(_codes("slot", "value", "canonical")),
        domains=domains.select(_codes("slot", "domain")),
        spelled=spelled.select("slot", "canonical", "value"),
        texts=texts,
        mentions=_with_cues(mentions, texts).with_columns(_codes("speaker", "slot", "value", "domain", "one", "other")),
    )


def judge(corpus: Corpus, cells: pl.DataFrame, *, support: int) -> pl.DataFrame:
    """How gold treats each mention, and such places elsewhere.

    Args:
        corpus: The dataset.
        cells: Its annotations, as `Corpus.cells`, with those that have been added.
        support: In how many places elsewhere something must be alike to count as evidence.

    Returns:
        The mentions with their `now` (value of the slot in the turn's state, null: none), `is_annotated` (it is the one
        said), `is_set` (and set in this turn), `could` (it could be annotated here), `focus`, `level` (which of
        `PARTS`), and `annotated` of `others` places elsewhere; the last three null where there is no evidence; and
        whether the words are `rarely` annotated at all.
    """
    turns = corpus.turns
    following = turns.filter(~pl.col("last")).select("row")
    was = cells.join(following, on="row", how="semi").select(pl.col("row") + 1, "slot", was="value")
    states = cells.join(was, on=_CELL, how="left").join(corpus.domains, on="slot")
    per_domain = states.group_by("row", "domain").agg(
        has=pl.len(), changed=pl.col("value").ne_missing(pl.col("was")).sum()
    )
    changed = per_domain.filter(pl.col("changed") > 0).select("row", "domain")
    coming = changed.with_columns(pl.col("row") - 1, coming=True).join(following, on="row", how="semi")
    gone = changed.join(following, on="row", how="semi").with_columns(pl.col("row") + 1, gone=True)
    annotated = cells.join(corpus.forms, on=["slot", "value"]).select(*_CELL, value="canonical").unique()
    had = annotated.join(following, on="row", how="semi").with_columns(pl.col("row") + 1, had=True)
    status = (
        corpus.mentions.join(was, on=_CELL, how="left")
        .join(cells.rename({"value": "now"}), on=_CELL, how="left")
        .join(annotated.with_columns(is_annotated=True), on=[*_CELL, "value"], how="left")
        .join(had, on=[*_CELL, "value"], how="left")
        .join(per_domain, on=["row", "domain"], how="left")
        .join(coming, on=["row", "domain"], how="left")
        .join(gone, on=["row", "domain"], how="left")
        .with_columns(
            pl.col("is_annotated", "had", "coming", "gone").fill_null(False), pl.col("has", "changed").fill_null(0)
        )
    )
    own, is_own_change = (
        pl.col("now").is_not_null(),
        pl.col("now").is_not_null() & pl.col("now").ne_missing(pl.col("was")),
    )
    focus = (
        pl.when(pl.col("changed") > is_own_change.cast(pl.UInt32))
        .then(pl.lit("now"))
        .when(pl.col("gone") & pl.col("coming"))
        .then(pl.lit("between"))
        .when("gone")
        .then(pl.lit("before"))
        .when("coming")
        .then(pl.lit("next"))
        .when(pl.col("has") > own.cast(pl.UInt32))
        .then(pl.lit("earlier"))
    )
    status = status.with_columns(
        is_set=pl.col("is_annotated") & is_own_change, focus=focus.cast(pl.Categorical)
    ).with_columns(
        could=(pl.col("was").is_null() | (pl.col("now").is_null() & ~pl.col("had"))) & pl.col("focus").is_not_null()
    )
    return _weigh(status.drop("domain", "was", "had", "has", "changed", "coming", "gone"), support)


def propose(judged: pl.DataFrame, *, at_least: float) -> pl.DataFrame:
    """The mentions that ought to be annotated, at most one per turn and slot.

    Args:
        judged: What `judge` gives.
        at_least: The share of such places elsewhere that are annotated.

    Returns:
        Rows of `judged` with their `share`, sorted by (row, slot). The same words say one slot only, and none if they
        say two equally well; of several values of a slot the user's goes before the system's, then the one with the
        higher share, then the last.
    """
    share = (pl.col("annotated") / pl.col("others")).alias("share")
    shares = judged.with_columns(share)
    # What gold sets in this turn has been said somewhere: where such places have it most often. These words are taken.
    set_here = shares.filter("is_set").with_columns(pl.col("share").fill_null(-1.0))
    taken = set_here.filter(pl.col("share") == pl.col("share").max().over("row", "slot"))
    missing = shares.filter("could", ~pl.col("rarely"), pl.col("now").is_null(), pl.col("share") >= at_least)
    missing = missing.with_columns(pl.col(pl.Categorical).cast(pl.String))
    return (
        missing.join(taken, on="mention", how="anti")
        .filter(pl.col("share") == pl.col("share").max().over("mention"))
        .unique("mention", keep="none")
        .sort("row", "slot", pl.col("speaker") == "system", "share", "first", descending=[False] * 3 + [True] * 2)
        .unique(_CELL, keep="first", maintain_order=True)
    )


def _with_cues(mentions: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """The mentions with what may be alike in their places, as `one` and `other`."""
    reply = texts.filter(speaker="user").select("row", reply=pl.col("words").list.first())
    offers = mentions.group_by("row", "speaker", "slot").agg(offers=pl.col("value").n_unique())
    is_user = pl.col("speaker") == "user"
    offer = pl.when(pl.col("offers") > 1).then(pl.lit("several")).otherwise(pl.lit("single"))
    return (
        mentions.join(reply, on="row", how="left")
        .join(offers, on=["row", "speaker", "slot"], how="left")
        .with_columns(
            one=pl.when(is_user).then("before").otherwise("reply"),
            other=pl.when(is_user).then("after").otherwise(offer),
        )
        .drop("before", "after", "reply", "offers")
        .sort("mention", "slot", "value")
    )


def _weigh(status: pl.DataFrame, support: int) -> pl.DataFrame:
    """Add `level`, `annotated` and `others` to the mentions that could be annotated."""
    could = status.filter("could")
    for level, parts in enumerate(PARTS):
        key = ["slot", "speaker", *parts]
        places = could.group_by(key).agg(
            pl.lit(level, pl.UInt8).alias(f"level{level}"),
            pl.col("is_annotated").sum().alias(f"annotated{level}"),
            (pl.len() - 1).alias(f"others{level}"),
        )
        enough = places.filter(pl.col(f"others{level}") >= max(support, 1))
        could = could.join(enough, on=key, how="left", nulls_equal=True)
    found = [
        pl.coalesce(f"{name}{level}" for level in range(len(PARTS))).alias(name)
        for name in ("level", "annotated", "others")
    ]
    here = pl.col("is_annotated").cast(pl.UInt32)
    words = ["slot", "speaker", "value"]
    weighed = could.select(
        "mention",
        "slot",
        "value",
        *found,
        here=here,
        rarely=(pl.len().over(words) > support) & (pl.col("is_annotated").mean().over(words) < RARELY),
    ).with_columns(pl.col("annotated") - pl.col("here"))
    return status.join(weighed.drop("here"), on=["mention", "slot", "value"], how="left")


def _codes(*names: str) -> pl.Expr:
    return pl.col(names).cast(pl.Categorical)
