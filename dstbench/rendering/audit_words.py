"""Audits of what is said in a dataset as text, Markdown, CSV or JSON.

JSON and CSV are as for diagnoses: all rows of all frames, fractions. Text and Markdown are what one looks at first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.rendering.tables import plain, render_frames, render_page, render_rows, share_text, signature_lines

if TYPE_CHECKING:
    from dstbench.audit import Inconsistency, Memorisation, Replacement
    from dstbench.typing import TableFormat

#: Refused values that are shown.
_SHOWN: Final = 20


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


def render_replacement(found: Replacement, form: TableFormat, *, kept: bool) -> str:
    """What has been replaced, and what refused, in one of the formats.

    Args:
        found: What `dstbench.audit.replace` gave.
        form: Text and Markdown count by slot and show the first of what was refused.
        kept: Whether dialogues with refused values were kept as they were.
    """
    if form in ("json", "csv"):
        return render_frames(found, form)
    by_slot = found.replaced.group_by("slot", maintain_order=True).agg(
        dialogues=pl.col("dialogue").n_unique(),
        values=pl.col("value").n_unique(),
        new=pl.col("new").n_unique(),
        states=pl.col("states").sum(),
    )
    counted = by_slot.sort("slot").select("slot", *plain("dialogues", "values", "new", "states"))
    sections = [("Replaced by slot: dialogues, distinct values before and after, states of turns", counted)]
    below = ["what a file has beside states and words (dialogue acts, spans, goals) is as it was"]
    if found.refused.height:
        dialogues = found.refused["dialogue"].n_unique()
        what = (
            f"{'kept as they were' if kept else 'left out'}: {dialogues:,} dialogues with a value that nobody has said"
        )
        shown = found.refused.head(_SHOWN).select("dialogue", *plain("turn"), "slot", "value")
        sections.append((f"{what[0].upper()}{what[1:]}, word for word, by the turn that first has it", shown))
        if found.refused.height > _SHOWN:
            below.insert(0, f"{found.refused.height - _SHOWN:,} more such values: --manifest FILE lists all")
    return render_page(sections, below, form)


def render_memorisation(found: Memorisation, form: TableFormat) -> str:
    """What has been predicted and not said, in one of the formats."""
    if form in ("json", "csv"):
        return render_frames(found, form)
    run = ["run"] if found.runs["run"].n_unique() > 1 else []
    with_train = found.runs["in_train"].is_not_null().any()
    train = [*plain("in_train", "is_frequent"), share_text(pl.col("share"), "% frequent")] if with_train else []
    counts = [*plain("n", "searched", "ungrounded"), share_text(pl.col("rate"), "% ungrounded"), *train]
    frequent = [pl.col("frequent").fill_null("-")] if with_train else []
    by_slot = found.slots.filter(pl.col("ungrounded") > 0)
    values = [*plain("turns", "dialogues"), *(plain("in_train") if with_train else [])]
    sections = [
        (
            "Predicted values that are wrong or over-predicted, and those that nobody has said",
            found.runs.select(*run, "kind", *counts),
        ),
        ("By slot, where there are any", by_slot.select(*run, "slot", "kind", *counts, *frequent)),
        (
            "The most frequent of them, and where each is first",
            found.examples.select(
                *run, "slot", "kind", "value", *values, "dialogue", *plain("turn"), pl.col("gold").fill_null("-")
            ),
        ),
    ]
    told = [
        "n: slots of turns; searched: without yes, no, dontcare; ungrounded: said by neither user nor system so far"
    ]
    if with_train:
        told += ["in_train: of these, values that training has in the slot; is_frequent: its value in most turns"]
    scores = found.runs.select("run", "signature", metric="kind")
    return render_page([section for section in sections if section[1].height], [*told, *signature_lines(scores)], form)
