"""How missing annotations, and reviews of corrections, are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from dstbench.audit.sheet import marked
from dstbench.errors import number_of
from dstbench.rendering.of_audits import filled, plain
from dstbench.rendering.text_tables import UNDEFINED
from dstbench.rendering.views import Layout, OwnLines, View
from dstbench.schema import audit

if TYPE_CHECKING:
    from dstbench.audit import Agreement, Inconsistency, Review


def inconsistency(inconsistency: Inconsistency, *, pairs: int = 3) -> Layout:
    """What is missing in a dataset: in how many dialogues, of which slots, said by whom, and pairs that show it.

    Args:
        inconsistency: What `dstbench.audit.inconsistency` returned.
        pairs: For how many slots a pair is shown: those with the most missing annotations.
    """
    s = inconsistency.summary.row(0, named=True)
    legend = (
        "By slot: annotated, and missing, where the value is said; late: gold has it later in the dialogue\n"
        "%: share missing; user's, system's: where the user, or only the system, says the value\n"
        "by system: share of the missing that only the system says"
    )
    rates = inconsistency.rates
    for speaker in ("user", "system"):
        said = inconsistency.shares.filter(speaker=speaker).select(
            "slot", pl.col("rate", "share").name.suffix(f"_{speaker}")
        )
        rates = rates.join(said, on="slot", how="left", maintain_order="left")
    shares = {"%": "{rate}", "user's": "{rate_user:share}", "system's": "{rate_system:share}"}
    shares["by system"] = "{share_system:share}"
    cells = {**plain("annotated", "missing"), **shares, "late": "{late}"}
    of_slots = View(OwnLines(legend), rates, audit.RATES, ["slot"], cells)
    if not s["missing"]:
        nothing = f"no annotation is missing in {number_of(s['dialogues'], 'dialogue')}"
        return Layout(filled([of_slots]), [nothing], (), "inconsistency")
    where = " and ".join(
        f"{s[f'{name}_changed']:,} of {s[name]:,} {name} ({100 * s[f'{name}_changed'] / s[name]:.1f} %)"
        for name in ("dialogues", "turns")
    )
    who = f"said by the user {s['user']:,}, by the system only {s['system']:,}; {s['late']:,} come late"
    title = (
        f"Annotations are missing in {where}\n"
        "Dialogues that lack one (% of those with the domain); slots that lack none are left out"
    )
    views = [
        View(OwnLines(title), _modified(inconsistency.modified), audit.MODIFIED, ["slot"],
             {"{} (%)": "{dialogues} ({percent:text})"}, "split"),
        of_slots._replace(title=OwnLines(f"Annotations missing: {s['missing']:,}; {who}\n{legend}"),
                          rows=rates.filter(pl.col("missing") > 0)),
        *(
            View(f"Alike in what is said, one annotated and one not: {slot}", pl.DataFrame({one: lines, other: others}))
            for slot, one, lines, other, others in pair_texts(inconsistency.pairs.head(pairs)).iter_rows()
        ),
    ]  # fmt: skip
    below = ["--log FILE lists each mention that gold could annotate, and why it is missing or not"]
    if (slots_with_pairs := inconsistency.pairs.height) > pairs:
        below.append(f"--pairs {slots_with_pairs} shows a pair of every slot that has one")
    return Layout(views, below, (), "inconsistency", (), [])


def _modified(modified: pl.DataFrame) -> pl.DataFrame:
    """Dialogues by slot, domain and in all, by split (Qian et al. 2021, Table 1)."""
    shown = modified.filter(pl.col("dialogues").sum().over("domain", "slot") > 0)
    splits = shown["split"].unique()
    whole = "dialogues" if len(splits) == 1 else "all" if "all" not in splits else "all splits"
    return shown.with_columns(
        split=pl.col("split").fill_null(whole), slot=pl.coalesce("slot", "domain", pl.lit("total")),
        percent=(100 * pl.col("share")).round(1),
    )  # fmt: skip


def pair_texts(pairs: pl.DataFrame) -> pl.DataFrame:
    """Pairs (`PAIRS`) as texts.

    Returns:
        (slot, missing_turn, missing_lines: list, annotated_turn, annotated_lines: list): which turns they are, and what
        is said and what gold has in each.
    """
    sides: dict[str, pl.Expr] = {}
    for which in audit.OF_PAIR:
        dialogue, turn, start, end, gold = (
            pl.col(f"{which}_{name}") for name in ("dialogue", "turn", "start", "end", "gold")
        )
        lines = []
        for who in ("system", "user"):
            said = pl.col(f"{which}_{who}")
            said = pl.when(speaker=who).then(marked(said, start, end)).otherwise(said)
            lines.append(pl.format(f"{who}: {{}}", said.fill_null(UNDEFINED)))
        lines.append(pl.coalesce(pl.format("gold: {} = {}", "slot", gold), pl.lit("gold: nothing")))
        sides |= {f"{which}_turn": pl.format("{}, turn {}", dialogue, turn), f"{which}_lines": pl.concat_list(lines)}
    return pairs.select("slot", **sides)


def review(review: Review) -> Layout:
    """The measures of a reviewed correction, and how much of the sample is right."""
    ends = {"low": "{low}", "high": "{high}"}
    of = " and ".join(f"{n:,} {group}" for group, n in review.dialogues.select("group", "of").iter_rows())
    complete = pl.col("complete") / pl.col("dialogues")
    views = filled([
        View(f"Estimated for the whole dataset ({of} dialogues)", review.measures, audit.REVIEW,
             ["unit", "measure"], {"% estimate": "{value}", **ends, "% in sample": "{in_sample}"}),
        View("In the sample: additions", review.additions.with_columns(pl.col("slot").fill_null("all")),
             audit.REVIEWED_ADDITIONS, ["slot"],
             {**plain("additions", "right", "wrong"), "% right": "{share}", **ends}),
        View("In the sample: dialogues", review.dialogues.with_columns(complete_share=complete),
             audit.REVIEWED_DIALOGUES, ["group"],
             {**plain("dialogues", "right", "wrong"), "% right": "{share}", "complete": "{complete}",
              "% complete": "{complete_share:share}"}),
    ])  # fmt: skip
    unsaid = _without_recall(review.measures, "`missed` is filled in for no dialogue")
    intervals = "low, high: 95 % intervals"
    of_sample = "in sample: each dialogue counts once, as in Table 3 of Qian et al. 2021"
    of_group = [
        "changed: right if all additions are; unchanged: right if no annotation is missing",
        "complete: right, and no annotation is missing",
    ]
    notes = [*unsaid, intervals, of_sample, *of_group]
    return Layout(views, notes, (), "review", (), [intervals, of_sample, *unsaid])


def _without_recall(measures: pl.DataFrame, why: str) -> list[str]:
    """A line that says why there is no recall, if answers are missing."""
    return [f"recall and f1 are undefined: {why}"] if measures["missed"].has_nulls() else []


def agreement(agreement: Agreement) -> Layout:
    """The measures of a correction according to each of its readers, and how much the readers agree."""
    names = {"cohen": "Cohen's kappa", "fleiss": "Fleiss' kappa"}
    agreed = agreement.agreement.with_columns(pl.col("statistic").replace(names))
    cells = {**plain("rows", "left_out"), "% agree": "{observed}", **plain("statistic", "kappa", "low", "high")}
    views = [
        View("Review of the correction, by reader", agreement.measures, audit.READER, ["reader", "measure"],
             plain("value", "low", "high", "right", "wrong", "missed")),
        View("Agreement of the readers", agreed, audit.AGREEMENT, ["question"], cells),
    ]  # fmt: skip
    notes = [
        "measures in percent, with 95 % intervals, estimated for the whole dataset from "
        f"{number_of(agreement.measures['dialogues'].item(0), 'dialogue')}",
        *_without_recall(agreement.measures, "no dialogue has `missed` of all readers"),
        "rows: answered by all readers; left_out: left empty by one or more; % agree: of pairs of readers",
        "intervals of kappa: 95 %, by a bootstrap over dialogues",
    ]
    return Layout(views, notes, (), "agreement", views)
