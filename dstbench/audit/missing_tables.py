"""How much is missing: counts of the missing annotations that the search has found, by slot, split and speaker."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.audit.inputs import Dialogues
from dstbench.conventions.convention import Convention
from dstbench.conventions.slots import domain_of
from dstbench.schema.audit import MODIFIED, RATES, SHARES, SUMMARY

_SPOKEN_SLOT: Final = ["slot", "speaker"]
_IS_LATE: Final = (pl.col("later") == pl.col("value")).fill_null(False)


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
    entries = entries.explode("row").join(rows, on="row")
    return entries.select("dialogue", "turn", "slot", "value").sort("dialogue", "turn", "slot")


def summarise(dialogues: Dialogues, proposals: pl.DataFrame) -> pl.DataFrame:
    """How much is missing in all, schema `SUMMARY`."""
    turns = dialogues.turns
    changed = additions(proposals, turns)
    return SUMMARY.conform(
        proposals.select(
            dialogues=pl.lit(turns["dialogue"].n_unique()),
            dialogues_changed=pl.col("dialogue").n_unique(),
            turns=pl.lit(turns.height),
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
    whole = dialogues.with_columns(split=pl.lit(None, pl.String))
    splits = data.splits
    parts = whole if splits is None else pl.concat([splits, whole.cast({"split": splits.schema["split"]})])
    cells = data.cells.filter(~pl.col("value").is_in(Convention().absent))
    missing = _with_domains(proposals)
    has = pl.concat([_with_totals(missing), _with_totals(_with_domains(cells)), dialogues], how="diagonal").unique()
    # The whole is, for a slot and its domain, the dialogues that have the domain; for all domains, every dialogue.
    of = has.filter(pl.col("slot").is_null()).join(parts, on="dialogue")
    of = of.group_by("split", "domain").agg(of_dialogues=pl.len())
    modified = _with_totals(missing).join(parts, on="dialogue").group_by(group).agg(dialogues=pl.len())
    rows = parts.select("split").unique().join(has.select("domain", "slot").unique(), how="cross")
    rows = rows.join(of, on=["split", "domain"], how="left", nulls_equal=True)
    rows = rows.join(modified, on=group, how="left", nulls_equal=True)
    rows = rows.with_columns(pl.col("dialogues", "of_dialogues").fill_null(0)).sort(group, nulls_last=True)
    share = pl.when(pl.col("of_dialogues") > 0).then(pl.col("dialogues") / pl.col("of_dialogues"))
    return MODIFIED.conform(rows.with_columns(share=share))


def _with_domains(rows: pl.DataFrame) -> pl.DataFrame:
    """Distinct (dialogue, domain, slot)."""
    domains = {slot: domain_of(slot) for slot in rows["slot"].unique()}
    domain = pl.col("slot").replace_strict(domains, return_dtype=pl.String)
    return rows.select("dialogue", "slot").unique().with_columns(domain=domain)


def _with_totals(rows: pl.DataFrame) -> pl.DataFrame:
    """Distinct (dialogue, domain, slot), and such rows for each domain (slot: null) and for all (both null)."""
    null = pl.lit(None, pl.String)
    totals = (rows, rows.with_columns(slot=null), rows.with_columns(slot=null, domain=null))
    return pl.concat(table.select("dialogue", "domain", "slot") for table in totals).unique()


def count_by_speaker(annotated: pl.DataFrame, proposals: pl.DataFrame) -> pl.DataFrame:
    """How often each slot is annotated, and not, by who says the value, schema `SHARES`."""
    annotated = annotated.unique(["dialogue", "turn", "slot"])
    counts = pl.concat([
        annotated.select(*_SPOKEN_SLOT, annotated=1, missing=0),
        proposals.select(*_SPOKEN_SLOT, annotated=0, missing=1),
    ])  # fmt: skip
    every = counts.select(pl.col("slot").unique()).join(pl.DataFrame({"speaker": ["user", "system"]}), how="cross")
    counts = counts.group_by(_SPOKEN_SLOT).agg(pl.col("annotated", "missing").sum())
    counts = every.join(counts, on=_SPOKEN_SLOT, how="left").with_columns(pl.col("annotated", "missing").fill_null(0))
    whole = pl.col("missing").sum().over("slot")
    counts = counts.with_columns(rate=_rate(), share=pl.when(whole > 0).then(pl.col("missing") / whole))
    return SHARES.conform(counts).sort("slot", pl.col("speaker") == "system")


def annotated_mentions(candidates: pl.DataFrame) -> pl.DataFrame:
    """The candidates that gold annotates and a rule explains; of a value that both say in the turn, the user's."""
    columns = ["dialogue", "turn", "slot", "value", "speaker", "start", "end", "decision", "rule"]
    annotated = candidates.select(columns).filter(pl.col("rule").is_not_null(), decision="annotated")
    is_user = pl.col("speaker") == "user"
    return annotated.filter(is_user | ~is_user.any().over("dialogue", "turn", "slot"))


def count_by_slot(shares: pl.DataFrame, proposals: pl.DataFrame) -> pl.DataFrame:
    """How often each slot is annotated, and not, schema `RATES`."""
    late = proposals.group_by("slot").agg(late=_IS_LATE.sum())
    rates = shares.group_by("slot").agg(pl.col("annotated", "missing").sum()).join(late, on="slot", how="left")
    return RATES.conform(rates.with_columns(pl.col("late").fill_null(0), rate=_rate())).sort("slot")


def _rate() -> pl.Expr:
    total = pl.col("annotated") + pl.col("missing")
    return pl.when(total > 0).then(pl.col("missing") / total)
