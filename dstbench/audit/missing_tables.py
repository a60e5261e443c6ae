"""How much is missing: the missing annotations that the search has found by slot, split and speaker; and examples."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.audit.corpus import Corpus
from dstbench.audit.inputs import Dialogues
from dstbench.audit.mentions import DOMAIN
from dstbench.conventions.convention import Convention
from dstbench.metrics.base import divide
from dstbench.schema.audit import MODIFIED, OF_PAIR, PAIRS, RATES, SHARES, SUMMARY
from dstbench.schema.core import BETWEEN

_CELL: Final = ["dialogue", "turn", "slot"]
_IS_LATE: Final = (pl.col("later") == pl.col("value")).fill_null(False)
# What both mentions of a pair share, and what `PAIRS` has of each.
_PLACE: Final = ["slot", "speaker", "rule"]
_SAID: Final = ["dialogue", "turn", "value", "start"]
#: The most mentions of a kind that are compared: those in the turns with the fewest words, because all pairs would be
#: too many, and short turns are easy to read.
_COMPARED: Final = 8


def additions(proposals: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """The states' new entries.

    Args:
        proposals: Missing annotations, schema `PROPOSALS`.
        turns: (dialogue, turn), the dataset's turns.

    Returns:
        (dialogue, turn, slot, value), one row per turn whose state gets the slot, sorted.
    """
    rows = turns.select("dialogue", "turn").sort("dialogue", "turn").with_row_index("row")
    first = proposals.join(rows, on=["dialogue", "turn"], how="left", maintain_order="left")
    entries = first.select("slot", "value", row=pl.int_ranges("row", pl.col("row") + pl.col("turns"), dtype=pl.UInt32))
    return entries.explode("row").join(rows, on="row").select(*_CELL, "value").sort(_CELL)


def summarise(dialogues: Dialogues, proposals: pl.DataFrame) -> pl.DataFrame:
    """How much is missing in all, schema `SUMMARY`."""
    turns, speaker = dialogues.turns, pl.col("speaker")
    summary = proposals.select(
        dialogues=pl.lit(turns["dialogue"].n_unique()),
        dialogues_changed=pl.col("dialogue").n_unique(),
        turns=pl.lit(turns.height),
        turns_changed=pl.lit(additions(proposals, turns).n_unique(["dialogue", "turn"])),
        missing=pl.len(),
        user=(speaker == "user").sum(),
        system=(speaker == "system").sum(),
        late=_IS_LATE.sum(),
        rounds=pl.col("round").max().fill_null(0),
    )
    return SUMMARY.conform(summary)


def count_modified(data: Dialogues, proposals: pl.DataFrame) -> pl.DataFrame:
    """In how many dialogues annotations are missing, schema `MODIFIED`."""
    group = ["split", "domain", "slot"]
    dialogues = data.turns.select("dialogue").unique()
    parts = dialogues.with_columns(split=pl.lit(None, pl.String))
    if data.splits is not None:
        parts = pl.concat([data.splits, parts.cast({"split": data.splits.schema["split"]})])
    missing = _with_totals(proposals)
    cells = _with_totals(data.cells.filter(~pl.col("value").is_in(Convention().absent)))
    has = pl.concat([missing, cells, dialogues], how="diagonal").unique()
    # The whole is, for a slot and its domain, the dialogues that have the domain; for all domains, every dialogue.
    of = has.filter(pl.col("slot").is_null()).join(parts, on="dialogue")
    of = of.group_by("split", "domain").agg(of_dialogues=pl.len())
    modified = missing.join(parts, on="dialogue").group_by(group).agg(dialogues=pl.len())
    rows = parts.select("split").unique().join(has.select("domain", "slot").unique(), how="cross")
    for counts, keys in ((of, group[:2]), (modified, group)):
        rows = rows.join(counts, on=keys, how="left", nulls_equal=True)
    rows = rows.with_columns(pl.col("dialogues", "of_dialogues").fill_null(0)).sort(group, nulls_last=True)
    return MODIFIED.conform(rows.with_columns(share=divide(pl.col("dialogues"), pl.col("of_dialogues"))))


def _with_totals(rows: pl.DataFrame) -> pl.DataFrame:
    """Distinct (dialogue, domain, slot), and such rows for each domain (slot: null) and for all (both null)."""
    rows, null = rows.select("dialogue", domain=DOMAIN, slot="slot"), pl.lit(None, pl.String)
    return pl.concat([rows, rows.with_columns(slot=null), rows.with_columns(slot=null, domain=null)]).unique()


def annotated_mentions(candidates: pl.DataFrame) -> pl.DataFrame:
    """The candidates that gold annotates and a rule explains; of a value that both say in the turn, the user's."""
    annotated = candidates.filter(pl.col("rule").is_not_null(), decision="annotated")
    is_user = pl.col("speaker") == "user"
    return annotated.select(*_PLACE, *_SAID, "end").filter(is_user | ~is_user.any().over(_CELL))


def count_by_speaker(annotated: pl.DataFrame, proposals: pl.DataFrame) -> pl.DataFrame:
    """How often each slot is annotated, and not, by who says the value, schema `SHARES`."""
    key, missing, whole = ["slot", "speaker"], pl.col("missing"), pl.col("annotated") + pl.col("missing")
    counts = pl.concat([
        annotated.unique(_CELL).select(*key, annotated=1, missing=0),
        proposals.select(*key, annotated=0, missing=1),
    ])  # fmt: skip
    every = counts.select(pl.col("slot").unique()).join(pl.DataFrame({"speaker": ["user", "system"]}), how="cross")
    counts = every.join(counts.group_by(key).agg(pl.all().sum()), on=key, how="left").fill_null(0)
    shares = {"rate": divide(missing, whole), "share": divide(missing, missing.sum().over("slot"))}
    return SHARES.conform(counts.with_columns(**shares)).sort("slot", pl.col("speaker") == "system")


def count_by_slot(shares: pl.DataFrame, proposals: pl.DataFrame) -> pl.DataFrame:
    """How often each slot is annotated, and not, schema `RATES`."""
    late = proposals.group_by("slot").agg(late=_IS_LATE.sum())
    rates = shares.group_by("slot").agg(pl.col("annotated", "missing").sum()).join(late, on="slot", how="left")
    rate = divide(pl.col("missing"), pl.col("annotated") + pl.col("missing"))
    return RATES.conform(rates.with_columns(pl.col("late").fill_null(0), rate=rate)).sort("slot")


# --- examples ---------------------------------------------------------------------------------------------------------


def find_pairs(corpus: Corpus, gold: pl.DataFrame, candidates: pl.DataFrame, annotated: pl.DataFrame) -> pl.DataFrame:
    """The most similar pair of each slot that has a missing and an annotated mention in such places, schema `PAIRS`."""
    missing = candidates.filter(decision="added")
    annotated = annotated.join(missing, on=_PLACE, how="semi")
    gold = gold.filter(~pl.col("value").is_in(Convention().absent)).rename({"value": "gold"})
    one, other = (
        _shortest(mentions, which, corpus, gold) for which, mentions in zip(OF_PAIR, (missing, annotated), strict=True)
    )
    pairs = one.join(other, on=[*_PLACE, "same"]).filter(pl.col("missing_dialogue") != pl.col("annotated_dialogue"))
    counts = missing.group_by(_PLACE).agg(in_place=pl.len().cast(pl.Int64))
    pairs = pairs.join(counts.with_columns(missing=pl.col("in_place").sum().over("slot")), on=_PLACE)
    words, others = pl.col("missing_words").list, pl.col("annotated_words")
    common = words.set_intersection(others).list.len() / words.set_union(others).list.len()
    is_list = pl.col("annotated_gold").str.contains(BETWEEN, literal=True)
    ties = [f"{which}_{name}" for which in OF_PAIR for name in _SAID]
    best = pairs.with_columns(common=common).sort(
        "slot", pl.col("same") == "", is_list, -pl.col("in_place"), *_PLACE, -pl.col("common"), *ties
    )
    best = best.unique("slot", keep="first", maintain_order=True)
    return PAIRS.conform(best.sort("missing", "slot", descending=[True, False]))


def _shortest(mentions: pl.DataFrame, which: str, corpus: Corpus, gold: pl.DataFrame) -> pl.DataFrame:
    """The mentions of the turns with the fewest words, with what `PAIRS` has of each, and the turn's words.

    Each is there twice: with its value as `same`, and with the empty text, which matches mentions of any value.
    """
    lengths = corpus.texts.group_by("row").agg(length=pl.col("words").list.len().sum())
    mentions = mentions.select(*_PLACE, *_SAID, "end").join(corpus.data_turns, on=["dialogue", "turn"])
    mentions = mentions.join(lengths, on="row").sort("length", *_SAID)
    mentions = pl.concat(
        mentions.with_columns(same=same).group_by(*_PLACE, "same", maintain_order=True).head(_COMPARED)
        for same in (pl.col("value"), pl.lit(""))
    )
    turns = corpus.texts.join(mentions, on="row", how="semi").group_by("row").agg(
        *(pl.col("text").filter(pl.col("speaker") == who).first().alias(who) for who in ("system", "user")),
        words=pl.col("words").list.explode().drop_nulls().unique(),
    )  # fmt: skip
    of_pair = pl.col(*_SAID, "end", "gold", "system", "user", "words").name.prefix(f"{which}_")
    return mentions.join(gold, on=_CELL, how="left").join(turns, on="row").select(*_PLACE, "same", of_pair)
