"""Audits as text, Markdown, CSV or JSON; shares in percent in text and Markdown, fractions elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from dstbench.report.tables import render_frames, render_page, render_rows, share_text

if TYPE_CHECKING:
    from dstbench.audit import Inconsistency
    from dstbench.options import TableFormat


def render_inconsistency(found: Inconsistency, form: TableFormat) -> str:
    """What is missing in a dataset; text and Markdown show one example per slot, the others all."""
    if form in ("json", "csv"):
        return render_frames(found, form)
    by = found.shares.pivot(on="speaker", on_columns=["user", "system"], index="slot", values=["share", "rate"])
    rates = found.rates.join(by, on="slot", how="left", maintain_order="left").select(
        "slot",
        pl.col("annotated").cast(pl.String),
        pl.col("missing").cast(pl.String),
        share_text(pl.col("rate"), "% missing"),
        share_text(pl.col("rate_user"), "% user's"),
        share_text(pl.col("rate_system"), "% system's"),
        share_text(pl.col("share_system"), "% by system"),
        pl.col("late").cast(pl.String),
        share_text(pl.col("dialogue_rate"), "% dialogues"),
    )
    best = found.proposals.sort("slot", "share", "mentions", descending=[False, True, True], maintain_order=True)
    examples = best.unique("slot", keep="first", maintain_order=True).select(
        "dialogue",
        pl.col("turn").cast(pl.String),
        pl.format("{} = {}", "slot", "value").alias("missing"),
        pl.col("speaker").alias("said by"),
        "place",
        pl.format("{} of {}", "annotated", "mentions").alias("elsewhere"),
    )
    sections = [
        (
            "By slot: annotated, and missing, where the value is said; % missing: of both, of what the user says, of "
            "what\nonly the system says; % by system: of the missing; late: gold has it later; % of dialogues",
            rates,
        )
    ]
    if examples.height:
        title = "Of each slot the best supported one: what counts as such a place, and how many are annotated elsewhere"
        sections.append((title, examples))
    return render_page(sections, [_told(found.summary.row(0, named=True))], form)


def _told(summary: dict[str, int]) -> str:
    s = summary
    lists = "; --log FILE lists them all" if s["missing"] else ""
    return (
        f"{s['missing']:,} annotations missing ({s['user']:,} said by the user, {s['system']:,} by the system only; "
        f"{s['late']:,} come late):\nin {s['dialogues_changed']:,} of {s['dialogues']:,} dialogues "
        f"({100 * s['dialogues_changed'] / s['dialogues']:.1f} %), {s['turns_changed']:,} of {s['turns']:,} turns "
        f"({100 * s['turns_changed'] / s['turns']:.1f} %){lists}"
    )


def render_review(rows: pl.DataFrame, form: TableFormat) -> str:
    """The measures of a reviewed correction."""
    if form in ("json", "csv"):
        return render_rows(rows, "review", form)
    shown = rows.select("measure", *(share_text(pl.col(name), name) for name in ("value", "low", "high")))
    right, wrong, missed, dialogues = rows.select("right", "wrong", "missed", "dialogues").row(0)
    told = (
        f"in percent, with 95 % intervals, estimated for the whole dataset from {dialogues:,} dialogues: "
        f"{right:,} additions right, {wrong:,} wrong, {missed:,} missed"
    )
    return render_page([("Review of the correction", shown)], [told], form)
