"""Audits of what is said in a dataset as text, Markdown, LaTeX, CSV or JSON; see `audit`."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.audit.sheet import marked
from dstbench.errors import number_of
from dstbench.rendering.tables import (
    UNDEFINED,
    OwnLines,
    Page,
    paper_table,
    renderer,
    share_text,
    side_by_side,
    signature_lines,
    texts,
    three_decimals,
)
from dstbench.schema.missing import OF_PAIR

if TYPE_CHECKING:
    from dstbench.audit import (
        Agreement,
        Contradictions,
        Inconsistency,
        Memorisation,
        Replacement,
        Review,
    )

# How many refused values are shown.
_SHOWN: Final = 20


def inconsistency_page(inconsistency: Inconsistency, *, pairs: int = 3) -> Page:
    """What is missing in a dataset: in how many dialogues, of which slots, said by whom, and pairs that show it.

    Args:
        inconsistency: What `dstbench.audit.inconsistency` returned.
        pairs: Of how many slots a pair is shown; those with the most missing annotations.
    """
    s = inconsistency.summary.row(0, named=True)
    slots = OwnLines(
        "By slot: annotated, and missing, where the value is said; late: gold has it later in the dialogue\n"
        "%: missing of both, of the user's, of those that only the system says; by system: % of the missing"
    )
    rates = _rates(inconsistency)
    if not s["missing"]:
        nothing = [f"no annotation is missing in {number_of(s['dialogues'], 'dialogue')}"]
        return Page([(slots, rates)] if rates.height else [], nothing, "inconsistency")
    where = " and ".join(
        f"{s[f'{name}_changed']:,} of {s[name]:,} {name} ({100 * s[f'{name}_changed'] / s[name]:.1f} %)"
        for name in ("dialogues", "turns")
    )
    who = f"said by the user {s['user']:,}, by the system only {s['system']:,}; {s['late']:,} come late"
    sections = [
        (
            OwnLines(
                f"Annotations are missing in {where}\n"
                "Dialogues that lack one (% of those with the domain); slots that lack none are left out"
            ),
            _modified(inconsistency.modified),
        ),
        (OwnLines(f"Annotations missing: {s['missing']:,}; {who}\n{slots}"), rates.filter(pl.col("missing") != "0")),
        *_pairs(inconsistency.pairs.head(pairs)),
    ]
    below = ["--log FILE lists each mention that gold could annotate, and why it is missing or not"]
    if (slots_with_pairs := inconsistency.pairs.height) > pairs:
        below.append(f"--pairs {slots_with_pairs} shows a pair of every slot that has one")
    paper = [paper_table(*sections[0], "inconsistency")]
    return Page(sections, below, paper=paper)


render_inconsistency = renderer(inconsistency_page)


def _modified(modified: pl.DataFrame) -> pl.DataFrame:
    """Dialogues by slot, domain and in all, a column per split (Qian et al. 2021, Table 1)."""
    key = ["domain", "slot"]
    share = pl.format("{} ({})", "dialogues", (100 * pl.col("share")).round(1)).fill_null(UNDEFINED)
    shown = modified.filter(pl.col("dialogues").sum().over(key) > 0)
    splits = shown["split"].unique(maintain_order=True).to_list()
    whole = "dialogues" if len(splits) == 1 else "all" if "all" not in splits else "all splits"
    columns = [
        shown.filter(pl.col("split").eq_missing(pl.lit(split))).select(*key, share.alias(f"{split or whole} (%)"))
        for split in splits
    ]
    table = reduce(lambda one, other: one.hstack(other.drop(key)), columns)
    return table.select(pl.coalesce("slot", "domain", pl.lit("total")).alias("slot"), pl.exclude(key))


def _rates(inconsistency: Inconsistency) -> pl.DataFrame:
    """How often each slot is annotated and not, by who says its value (Qian et al. 2021, Fig 4)."""
    by_speaker = inconsistency.shares.pivot(
        on="speaker", on_columns=["user", "system"], index="slot", values=["share", "rate"]
    )
    return side_by_side([inconsistency.rates, by_speaker], on="slot").select(
        "slot",
        *texts("annotated", "missing"),
        share_text("rate", "%"),
        share_text("rate_user", "user's"),
        share_text("rate_system", "system's"),
        share_text("share_system", "by system"),
        *texts("late"),
    )


def pair_texts(pairs: pl.DataFrame) -> pl.DataFrame:
    """Pairs (`PAIRS`) as texts.

    Returns:
        (slot, missing_turn, missing_lines: list, annotated_turn, annotated_lines: list): which turns they are, and what
        is said and what gold has in each.
    """
    sides: dict[str, pl.Expr] = {}
    for which in OF_PAIR:
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


def _pairs(pairs: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """A title and a table per pair: two turns side by side."""
    return [
        (f"Alike in what is said, one annotated and one not: {slot}", pl.DataFrame({one: lines, other: others}))
        for slot, one, lines, other, others in pair_texts(pairs).iter_rows()
    ]


def review_page(review: Review) -> Page:
    """The measures of a reviewed correction, and how much of the sample is right."""
    ends = [share_text("low"), share_text("high")]
    estimates = review.measures.select(
        "unit", "measure", share_text("value", "% estimate"), *ends, share_text("in_sample", "% in sample")
    )
    additions = review.additions.select(
        pl.col("slot").fill_null("all"), *texts("additions", "right", "wrong"), share_text("share", "% right"), *ends
    )
    dialogues = review.dialogues.select(
        "group",
        *texts("dialogues", "right", "wrong"),
        share_text("share", "% right"),
        *texts("complete"),
        share_text(pl.col("complete") / pl.col("dialogues"), "% complete"),
    ).fill_null(UNDEFINED)
    of = " and ".join(f"{n:,} {group}" for group, n in review.dialogues.select("group", "of").iter_rows())
    intervals = "low, high: 95 % intervals"
    of_sample = "in sample: each dialogue counts once, as in Table 3 of Qian et al. 2021"
    of_group = [
        "changed: right if all additions are; unchanged: right if no annotation is missing",
        "complete: right, and no annotation is missing",
    ]
    unsaid = _without_recall(review.measures, "`missed` is filled in for no dialogue")
    sections = {
        f"Estimated for the whole dataset ({of} dialogues)": (estimates, [intervals, of_sample, *unsaid]),
        "In the sample: additions": (additions, [intervals]),
        "In the sample: dialogues": (dialogues, of_group),
    }
    return Page(
        [(title, table) for title, (table, _) in sections.items() if table.height],
        [*unsaid, intervals, of_sample, *of_group],
        paper=[paper_table(title, table, "review", lines) for title, (table, lines) in list(sections.items())[:1]],
    )


render_review = renderer(review_page)


def _without_recall(measures: pl.DataFrame, why: str) -> list[str]:
    """A line that says why there is no recall, if that is for want of answers."""
    return [f"recall and f1 are undefined: {why}"] if measures["missed"].has_nulls() else []


def agreement_page(agreement: Agreement) -> Page:
    """The measures of a correction by each of its readers, and how much these agree."""
    names = {"cohen": "Cohen's kappa", "fleiss": "Fleiss' kappa"}
    measures = agreement.measures.select(
        "reader", "measure", *map(share_text, ("value", "low", "high")), *texts("right", "wrong", "missed")
    ).fill_null(UNDEFINED)
    agreed = agreement.agreement.select(
        "question",
        *texts("rows", "left_out"),
        share_text("observed", "% agree"),
        pl.col("statistic").replace(names),
        *(three_decimals(name) for name in ("kappa", "low", "high")),
    )
    below = [
        "measures in percent, with 95 % intervals, estimated for the whole dataset from "
        f"{number_of(agreement.measures['dialogues'].item(0), 'dialogue')}",
        *_without_recall(agreement.measures, "no dialogue has `missed` of all readers"),
        "rows: answered by all readers; left_out: left empty by one or more; % agree: of pairs of readers",
        "intervals of kappa: 95 %, by a bootstrap over dialogues",
    ]
    titles = ["Review of the correction, by reader", "Agreement of the readers"]
    sections = list(zip(titles, [measures, agreed], strict=True))
    return Page(sections, below, paper=[paper_table(*section, "agreement", below) for section in sections])


render_agreement = renderer(agreement_page)


def replacement_page(replacement: Replacement, *, kept: bool = False) -> Page:
    """What has been replaced, by slot, and the first values that were not, by reason.

    Args:
        replacement: What `dstbench.audit.replace` returned.
        kept: Whether dialogues with refused values were kept as they were.
    """
    by_slot = replacement.replaced.group_by("slot").agg(
        pl.col("dialogue", "value", "new").n_unique().cast(pl.String), pl.col("states").sum().cast(pl.String)
    )
    counted = by_slot.sort("slot").rename({"dialogue": "dialogues", "value": "values"})
    sections = [("Replaced by slot: dialogues, distinct values before and after, states of turns", counted)]
    below = ["only states and utterances are changed: dialogue acts, spans and goals are as before"]
    is_said = pl.col("reason") != "not said"
    unsaid, ordinary = replacement.refused.filter(~is_said), replacement.refused.filter(is_said)
    what = "Kept as they were" if kept else "Left out"
    dialogues = f"{unsaid['dialogue'].n_unique():,} dialogues with a value that nobody says"
    counts = ordinary.group_by("slot", "value").agg(pl.col("dialogue").n_unique(), pl.col("said", "annotated").first())
    refused = {
        f"{what}: {dialogues} word for word; turn: the first with that value": unsaid.select(
            *texts("dialogue", "turn", "slot", "value")
        ),
        "Not replaced, as they are ordinary words; said, annotated: in dialogues of training and data": counts.sort(
            "slot", "value"
        ).select(*texts("slot", "value", "said", "annotated", dialogues="dialogue")),
    }
    sections += [(title, rows.head(_SHOWN)) for title, rows in refused.items() if rows.height]
    if more := sum(max(0, rows.height - _SHOWN) for rows in refused.values()):
        below.insert(0, f"{more:,} more such values: --manifest FILE lists all")
    return Page(sections, below, "replacement")


render_replacement = renderer(replacement_page)


def memorisation_page(memorisation: Memorisation) -> Page:
    """What has been predicted and not said."""
    runs, slots, examples = memorisation.runs, memorisation.slots, memorisation.examples
    run = ["run"] if runs["run"].n_unique() > 1 else []
    counted = [*texts("n", "searched", "ungrounded"), share_text("rate", "% ungrounded")]
    in_train, frequent = [], []
    below = [
        "n: slots of turns; searched: without yes, no, dontcare; ungrounded: said by neither user nor system so far"
    ]
    if runs["in_train"].is_not_null().any():
        in_train, frequent = texts("in_train"), [pl.col("frequent").fill_null(UNDEFINED)]
        counted += [*texts("in_train", "is_frequent"), share_text("share", "% frequent")]
        below.append("in_train: of these, values that training has in the slot; is_frequent: its value in most turns")
    where = [*texts("turns", "dialogues"), *in_train, *texts("dialogue", "turn"), pl.col("gold").fill_null(UNDEFINED)]
    sections = {
        "Predicted values that are wrong or over-predicted, and those that nobody has said": runs.select(
            *run, "kind", *counted
        ),
        "By slot, where there are any": slots.filter(pl.col("ungrounded") > 0).select(
            *run, "slot", "kind", *counted, *frequent
        ),
        "The most frequent of them, and where each is first": examples.select(*run, "slot", "kind", "value", *where),
    }
    signatures = signature_lines(runs.select("run", "signature", metric="kind"))
    return Page(
        [(title, table) for title, table in sections.items() if table.height], [*below, *signatures], "memorisation"
    )


render_memorisation = renderer(memorisation_page)


def contradictions_page(contradictions: Contradictions, *, top: int = 20) -> Page:
    """Gold values that contradict the database or were never said, by slot and the first `top` of each kind."""
    slots, values = contradictions.slots, contradictions.values
    doubtful = slots.filter((pl.col("contradicting").fill_null(0) > 0) | (pl.col("unsaid") > 0))
    compared = [*texts("checked", differ="contradicting"), share_text("rate_contradicting", "% differ")]
    below = [
        "differ: of those checked, whose entity is in the database, another value than it has there",
        "unsaid: of those searched, without yes, no, dontcare, said in no spelling up to that turn; so is a paraphrase",
    ]
    if slots["checked"].null_count() == slots.height:
        compared = []
        below[0] = "--database FOLDER compares values with the entity that gold names"
    searched = [*texts("searched", "unsaid"), share_text("rate_unsaid", "% unsaid")]
    sections = {
        "Gold values that are doubtful, counted once per dialogue": doubtful.select("slot", *compared, *searched)
    }
    where = texts("dialogue", "turn", "turns")
    titles = {"database": "Values that contradict the database", "unsaid": "Values that nobody has said"}
    for kind, title in titles.items():
        rows = values.filter(kind=kind)
        entity = [pl.col("name"), pl.col("database")] if kind == "database" else []
        first = f", the first {top} of {rows.height:,}" if rows.height > top else ""
        sections[title + first] = rows.head(top).select("slot", "value", *entity, *where)
    return Page([(title, table) for title, table in sections.items() if table.height], below, "contradictions")


render_contradictions = renderer(contradictions_page)
