"""What tells that an annotation is missing: how gold treats such places elsewhere in the corpus.

A value of a slot is said in a turn. It could be annotated there if the slot was not in the state of the turn before and
its domain is active: another slot of the domain is in the state, or the domain's annotation changes in the next turn.
*Such a place* is told by

- the slot and the speaker (of the system: the utterance before the user's turn),
- `focus`, when the annotation of the domain's other slots last changed: in this turn (``now``), in the ``next``, in
  the one ``before``, or ``earlier`` (the first of these that holds),
- and of the following what is alike in enough places, the most particular combination first (`PARTS`): the value
  itself; of the user's, the word before and the word after it; of the system's, the first word of the user's reply,
  and whether the value is the only one of the slot that is offered.

A place counts as annotated if the state of the turn has the value. A value that is not is missing if such places
elsewhere are annotated more often than not, and the same words do not tell another slot better that gold sets to it in
this turn. Words that are hardly ever annotated where they could be (`RARELY`) are no value of the slot, whatever the
ontology says, such as a restaurant called `south`. So nothing is known of slots here, and no rule is written by hand;
the corpus is its own witness.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.audit.mentions import CANONICAL, Vocabulary, find_mentions, utterances
from dstbench.conventions import Convention
from dstbench.schema import BETWEEN
from dstbench.spelling import alternatives

if TYPE_CHECKING:
    from dstbench.states import Side

_KEY: Final = ["dialogue", "turn"]
_CELL: Final = ["row", "slot"]
#: What may be alike in such places, beside slot, speaker and focus: the most particular first.
PARTS: Final[tuple[tuple[str, ...], ...]] = (
    ("value", "one", "other"),
    ("one", "other"),
    ("value", "one"),
    ("value", "other"),
    ("one",),
    ("other",),
    ("value",),
    (),
)
#: Words that are annotated less often than this, of all the places where this speaker says them, are no value.
RARELY: Final = 0.1
#: What `one` and `other` are called, by speaker.
CUES: Final = {"user": ("before", "after"), "system": ("reply", "offer")}


@dataclass(frozen=True)
class Corpus:
    """A dataset laid out for the search; nothing in it changes while annotations are added.

    Attributes:
        turns: (row: UInt32, dialogue, turn, last: Boolean, whether the dialogue ends), sorted.
        cells: (row, slot, value), the values of gold's states as written, without those that mean absent.
        forms: (slot, value, canonical), each value as written and each of its alternatives' canonical form.
        spelled: (slot, canonical, value), how a value that is added is written.
        texts: What `mentions.utterances` gives.
        mentions: What `mentions.find_mentions` gives, with `one` and `other`.
    """

    turns: pl.DataFrame
    cells: pl.DataFrame
    forms: pl.DataFrame
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
    return Corpus(
        turns=turns.select("row", *_KEY, "last"),
        cells=cells,
        forms=pl.concat([known, spelled]).select("slot", "value", "canonical").unique(maintain_order=True),
        spelled=spelled.select("slot", "canonical", "value"),
        texts=texts,
        mentions=_with_cues(find_mentions(texts, vocabulary), texts),
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
    states = cells.join(was, on=_CELL, how="left").with_columns(domain=_domain())
    per_domain = states.group_by("row", "domain").agg(
        has=pl.len(), changed=pl.col("value").ne_missing(pl.col("was")).sum()
    )
    changed = per_domain.filter(pl.col("changed") > 0).select("row", "domain")
    coming = changed.with_columns(pl.col("row") - 1, coming=True).join(following, on="row", how="semi")
    gone = changed.join(following, on="row", how="semi").with_columns(pl.col("row") + 1, gone=True)
    annotated = cells.join(corpus.forms, on=["slot", "value"]).select(*_CELL, value="canonical", is_annotated=True)
    status = (
        corpus.mentions.with_columns(domain=_domain())
        .join(was, on=_CELL, how="left")
        .join(cells.rename({"value": "now"}), on=_CELL, how="left")
        .join(annotated.unique(), on=[*_CELL, "value"], how="left")
        .join(per_domain, on=["row", "domain"], how="left")
        .join(coming, on=["row", "domain"], how="left")
        .join(gone, on=["row", "domain"], how="left")
        .with_columns(pl.col("is_annotated", "coming", "gone").fill_null(False), pl.col("has", "changed").fill_null(0))
    )
    own, is_own_change = pl.col("now").is_not_null(), pl.col("now").is_not_null() & pl.col("now").ne_missing("was")
    focus = (
        pl.when(pl.col("changed") > is_own_change.cast(pl.UInt32))
        .then(pl.lit("now"))
        .when("coming")
        .then(pl.lit("next"))
        .when("gone")
        .then(pl.lit("before"))
        .when(pl.col("has") > own.cast(pl.UInt32))
        .then(pl.lit("earlier"))
    )
    status = status.with_columns(is_set=pl.col("is_annotated") & is_own_change, focus=focus).with_columns(
        could=pl.col("was").is_null() & pl.col("focus").is_not_null()
    )
    return _weigh(status.drop("domain", "was", "has", "changed", "coming", "gone"), support)


def propose(judged: pl.DataFrame, *, at_least: float) -> pl.DataFrame:
    """The mentions that ought to be annotated, at most one per turn and slot.

    Args:
        judged: What `judge` gives.
        at_least: The share of such places elsewhere that are annotated.

    Returns:
        Rows of `judged` with their `share`, sorted by (row, slot). The same words tell one slot only; of several values
        of a slot the user's goes before the system's, then the one with the higher share, then the last.
    """
    share = (pl.col("annotated") / pl.col("others")).alias("share")
    shares = judged.with_columns(share)
    # Words that tell a slot which gold sets here are explained by it; where that is no such place, fully.
    explained = shares.filter("is_set").group_by("mention").agg(told=pl.col("share").fill_null(1.0).max())
    missing = shares.filter("could", ~pl.col("rarely"), pl.col("now").is_null(), pl.col("share") >= at_least)
    return (
        missing.join(explained, on="mention", how="left")
        .filter(pl.col("told").is_null() | (pl.col("share") > pl.col("told")))
        .sort("mention", "share", "slot", descending=[False, True, False])
        .unique("mention", keep="first", maintain_order=True)
        .sort("row", "slot", pl.col("speaker") == "system", "share", "first", descending=[False] * 3 + [True] * 2)
        .unique(_CELL, keep="first", maintain_order=True)
        .drop("told")
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
        key = ["slot", "speaker", "focus", *parts]
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


def _domain() -> pl.Expr:
    return pl.col("slot").str.split("-").list.first()
