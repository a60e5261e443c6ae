"""How much is missing: the missing annotations that the search has found by slot, split and speaker; and examples."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.audit.corpus import Corpus
from dstbench.audit.inputs import Dialogues
from dstbench.conventions.convention import Convention
from dstbench.conventions.slots import domain_of
from dstbench.schema.audit import MODIFIED, OF_PAIR, PAIRS, RATES, SHARES, SUMMARY
from dstbench.schema.core import BETWEEN

_CELL: Final = ["dialogue", "turn", "slot"]
_SPOKEN_SLOT: Final = ["slot", "speaker"]
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
    changed = additions(proposals, dialogues.turns)
    return SUMMARY.conform(
        proposals.select(
            dialogues=pl.lit(dialogues.turns["dialogue"].n_unique()),
            dialogues_changed=pl.col("dialogue").n_unique(),
            turns=pl.lit(dialogues.turns.height),
            turns_changed=pl.lit(changed.n_unique(["dialogue", "turn"])),
            missing=pl.len(),
            user=(pl.col("speaker") == "user").sum(),
            system=(pl.col("speaker") == "system").sum(),
            late=_IS_LATE.sum(),
            rounds=pl.col("round").max().fill_null(0),
        )
    )


def count_modified(data: Dialogues, proposals: pl.DataFrame) -> pl.DataFrame:
    """In how many dialogues annotations are missing, schema `MODIFIED`."""
    group = ["split", "domain", "slot"]
    dialogues = data.turns.select("dialogue").unique()
    parts = dialogues.with_columns(split=pl.lit(None, pl.String))
    if data.splits is not None:
        parts = pl.concat([data.splits, parts.cast({"split": data.splits.schema["split"]})])
    cells = data.cells.filter(~pl.col("value").is_in(Convention().absent))
    missing = _with_totals(proposals)
    has = pl.concat([missing, _with_totals(cells), dialogues], how="diagonal").unique()
    # The whole is, for a slot and its domain, the dialogues that have the domain; for all domains, every dialogue.
    of = has.filter(pl.col("slot").is_null()).join(parts, on="dialogue")
    of = of.group_by("split", "domain").agg(of_dialogues=pl.len())
    modified = missing.join(parts, on="dialogue").group_by(group).agg(dialogues=pl.len())
    rows = parts.select("split").unique().join(has.select("domain", "slot").unique(), how="cross")
    for counts, keys in ((of, group[:2]), (modified, group)):
        rows = rows.join(counts, on=keys, how="left", nulls_equal=True)
    rows = rows.with_columns(pl.col("dialogues", "of_dialogues").fill_null(0)).sort(group, nulls_last=True)
    share = pl.when(pl.col("of_dialogues") > 0).then(pl.col("dialogues") / pl.col("of_dialogues"))
    return MODIFIED.conform(rows.with_columns(share=share))


def _with_totals(rows: pl.DataFrame) -> pl.DataFrame:
    """Distinct (dialogue, domain, slot), and such rows for each domain (slot: null) and for all (both null)."""
    domains = {slot: domain_of(slot) for slot in rows["slot"].unique()}
    rows = rows.select(
        "dialogue", pl.col("slot").replace_strict(domains, return_dtype=pl.String).alias("domain"), "slot"
    )
    null = pl.lit(None, pl.String)
    return pl.concat([rows, rows.with_columns(slot=null), rows.with_columns(slot=null, domain=null)]).unique()


def annotated_mentions(candidates: pl.DataFrame) -> pl.DataFrame:
    """The candidates that gold annotates and a rule explains; of a value that both say in the turn, the user's."""
    annotated = candidates.filter(pl.col("rule").is_not_null(), decision="annotated")
    is_user = pl.col("speaker") == "user"
    return annotated.select(*_PLACE, *_SAID, "end").filter(is_user | ~is_user.any().over(_CELL))


def count_by_speaker(annotated: pl.DataFrame, proposals: pl.DataFrame) -> pl.DataFrame:
    """How often each slot is annotated, and not, by who says the value, schema `SHARES`."""
    counts = pl.concat([
        annotated.unique(_CELL).select(*_SPOKEN_SLOT, annotated=1, missing=0),
        proposals.select(*_SPOKEN_SLOT, annotated=0, missing=1),
    ])  # fmt: skip
    every = counts.select(pl.col("slot").unique()).join(pl.DataFrame({"speaker": ["user", "system"]}), how="cross")
    counts = counts.group_by(_SPOKEN_SLOT).agg(pl.col("annotated", "missing").sum())
    counts = every.join(counts, on=_SPOKEN_SLOT, how="left").with_columns(pl.col("annotated", "missing").fill_null(0))
    whole = pl.col("missing").sum().over("slot")
    counts = counts.with_columns(rate=_rate(), share=pl.when(whole > 0).then(pl.col("missing") / whole))
    return SHARES.conform(counts).sort("slot", pl.col("speaker") == "system")


def count_by_slot(shares: pl.DataFrame, proposals: pl.DataFrame) -> pl.DataFrame:
    """How often each slot is annotated, and not, schema `RATES`."""
    late = proposals.group_by("slot").agg(late=_IS_LATE.sum())
    rates = shares.group_by("slot").agg(pl.col("annotated", "missing").sum()).join(late, on="slot", how="left")
    return RATES.conform(rates.with_columns(pl.col("late").fill_null(0), rate=_rate())).sort("slot")


def _rate() -> pl.Expr:
    total = pl.col("annotated") + pl.col("missing")
    return pl.when(total > 0).then(pl.col("missing") / total)


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
    counts = counts.with_columns(missing=pl.col("in_place").sum().over("slot"))
    # The words of all pairs would take much memory, so only pairs that are otherwise tied are compared by words.
    pairs = pairs.join(counts, on=_PLACE).with_columns(
        of_any=pl.col("same") == "", lists=pl.col("annotated_gold").str.contains(BETWEEN, literal=True)
    )
    best = pairs.sort("slot", "of_any", "lists", -pl.col("in_place"), *_PLACE).unique(
        "slot", keep="first", maintain_order=True
    )
    pairs = pairs.join(best, on=["of_any", "lists", *_PLACE], how="semi", nulls_equal=True)
    text, speaker = pl.col("text"), pl.col("speaker")
    for which in OF_PAIR:
        said = corpus.texts.rename({"row": f"{which}_row"}).join(pairs, on=f"{which}_row", how="semi")
        said = said.group_by(f"{which}_row").agg(
            *(text.filter(speaker == who).first().alias(f"{which}_{who}") for who in ("system", "user")),
            pl.col("words").list.explode().drop_nulls().unique().alias(f"{which}_words"),
        )
        pairs = pairs.join(said, on=f"{which}_row")
    words, others = pl.col("missing_words").list, pl.col("annotated_words")
    common = words.set_intersection(others).list.len() / words.set_union(others).list.len()
    ties = [f"{which}_{name}" for which in OF_PAIR for name in _SAID]
    pairs = pairs.with_columns(common=common).sort("slot", -pl.col("common"), *ties)
    pairs = pairs.unique("slot", keep="first", maintain_order=True)
    return PAIRS.conform(pairs.sort("missing", "slot", descending=[True, False]))


def _shortest(mentions: pl.DataFrame, which: str, corpus: Corpus, gold: pl.DataFrame) -> pl.DataFrame:
    """The mentions of the turns with the fewest words, with what `PAIRS` has of each, and its `row`.

    Each is there twice: with its value as `same`, and with the empty text, which matches mentions of any value.
    """
    lengths = corpus.texts.select("row", length=pl.col("words").list.len()).group_by("row").agg(pl.col("length").sum())
    rows = corpus.data_turns.join(lengths, on="row")
    mentions = mentions.select(*_PLACE, *_SAID, "end").join(rows, on=["dialogue", "turn"]).sort("length", *_SAID)
    mentions = pl.concat(
        mentions.with_columns(same=same).group_by(*_PLACE, "same", maintain_order=True).head(_COMPARED)
        for same in (pl.col("value"), pl.lit(""))
    )
    mentions = mentions.join(gold, on=_CELL, how="left")
    of_pair = (pl.col(name).alias(f"{which}_{name}") for name in (*_SAID, "end", "gold", "row"))
    return mentions.select(*_PLACE, "same", *of_pair)
