"""Audits of a dataset as text, Markdown, CSV or JSON.

Text and Markdown show shares in percent, and of long tables the beginning; JSON and CSV have all rows and columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.rendering.tables import (
    IS_COUNT,
    plain,
    render_frames,
    render_page,
    render_rows,
    share_text,
    signature_lines,
    value_text,
)
from dstbench.schema.audit import KINDS

if TYPE_CHECKING:
    from dstbench.audit import Bias, Differences, Inconsistency, Memorisation, Replacement, VersionScores
    from dstbench.typing import TableFormat

_SHORT: Final = {"cumulative": "cum", "update": "upd", "final": "fin"}
_MEANING: Final = {
    "cumulative": "in every turn whose state holds it",
    "update": "in the turns in which it is set",
    "final": "in each dialogue's last state",
}
_MEASURES: Final = {"H1": "h1_h0", "H∞": "hinf_h0"}


def render_bias(found: Bias, form: TableFormat, *, top: int) -> str:
    """Entity bias in one of the formats; text and Markdown list the `top` most frequent values per slot."""
    if form in ("json", "csv"):
        return render_frames(found, form)
    countings = found.slots["counting"].unique(maintain_order=True).to_list()
    if not countings:
        return "no state has a slot\n"
    first = countings[0]
    sections = [
        (
            "How evenly values are distributed: 1, all are as frequent; 0, there is one only",
            _evenness(found, countings),
        ),
        (f"Most frequent values, {first}: percent of the slot's", _most_frequent(found, first, top)),
    ]
    told = [f"{_SHORT[name]}, {name}: a value counts {_MEANING[name]}" for name in countings]
    overlap = found.overlap.filter(counting=first)
    if overlap.height:
        train = overlap["train"].item(0)
        sections.append((f"What {train} has of other splits, {first}", _overlap(found, overlap)))
        told += _seen(overlap, train)
    elif found.slots["split"].n_unique() > 1:
        told.append("none of the splits is called train: --train NAME says of which of them the others' values are")
    told.insert(0, "H1, H∞: H1/H0 and H∞/H0, with H0 = log R; R: distinct values; %: share of the most frequent value")
    return render_page(sections, told, form)


def _evenness(found: Bias, countings: list[str]) -> pl.DataFrame:
    """A row per slot and split, the countings side by side; R and the most frequent value are of the first."""
    columns = [
        pl.when(pl.col("counting") == counting).then(pl.col(column)).max().alias(f"{measure} {_SHORT[counting]}")
        for measure, column in (*_MEASURES.items(), ("%", "share"))
        for counting in countings
    ]
    wide = found.slots.group_by("slot", "split", maintain_order=True).agg(
        pl.col("values").first(), pl.col("most_frequent").first(), *columns
    )
    numbers = [name for name in wide.columns if name[:2] in ("H1", "H∞")]
    shares = [name for name in wide.columns if name[:1] == "%"]
    return _by_slot(found, wide).select(
        "slot",
        *_split(found),
        pl.col("values").cast(pl.String).alias("R"),
        *(_decimals(name) for name in numbers),
        *(share_text(pl.col(name), name) for name in shares),
        pl.col("most_frequent").alias("most frequent"),
    )


def _most_frequent(found: Bias, counting: str, top: int) -> pl.DataFrame:
    shown = found.values.filter((pl.col("counting") == counting) & (pl.col("rank") <= top))
    named = shown.with_columns(told=pl.format("{} {}", "value", share_text(pl.col("share"), "share")))
    lists = named.group_by("slot", "split", maintain_order=True).agg(pl.col("told").str.join(", ").alias("values"))
    return _by_slot(found, lists).select("slot", *_split(found), "values")


def _overlap(found: Bias, overlap: pl.DataFrame) -> pl.DataFrame:
    return _by_slot(found, overlap).select(
        "slot",
        "split",
        *_plain("values"),
        pl.col("values_seen").cast(pl.String).alias("seen"),
        share_text(pl.col("share_values_seen"), "% seen"),
        pl.col("n").cast(pl.String).alias("n"),
        share_text(pl.col("share_n_seen"), "% of n"),
        pl.col("train_most_frequent").fill_null("-").alias("most frequent in train"),
        share_text(pl.col("train_share"), "% there"),
        share_text(pl.col("share"), "% here"),
    )


def _seen(overlap: pl.DataFrame, train: str) -> list[str]:
    """A line per split: how much of all its values the training set has."""
    sums = overlap.group_by("split", maintain_order=True).agg(pl.col("values", "values_seen", "n", "n_seen").sum())
    return [
        f"{split}: {train} has {seen:,} of {values:,} values of slots ({100 * seen / values:.2f} %), with "
        f"{100 * n_seen / n:.2f} % of n, the times that they are counted"
        for split, values, seen, n, n_seen in sums.iter_rows()
    ]


def _by_slot(found: Bias, rows: pl.DataFrame) -> pl.DataFrame:
    """The splits of a slot below each other."""
    splits = found.slots["split"].unique(maintain_order=True).to_list()
    return rows.sort("slot", pl.col("split").cast(pl.Enum(splits)), maintain_order=True)


def _split(found: Bias) -> list[str]:
    """The column of splits, if there are several."""
    return ["split"] if found.slots["split"].n_unique() > 1 else []


def render_differences(found: Differences, form: TableFormat, *, top: int) -> str:
    """Differences of two versions in one of the formats; text and Markdown list the `top` most frequent changes."""
    if form in ("json", "csv"):
        return render_frames(found, form)
    whole = found.versions.row(0, named=True)
    before, after = whole["before"], whole["after"]
    sizes = pl.concat(
        found.versions.select(
            pl.lit(what).alias(""),
            pl.col(what).alias("in both"),
            pl.col(f"{what}_before").alias(f"only in {before}"),
            pl.col(f"{what}_after").alias(f"only in {after}"),
            pl.col(f"changed_{what}").alias("differ"),
            share_text(pl.col(f"share_{what}"), "%"),
        )
        for what in ("dialogues", "turns")
    ).select(pl.all().cast(pl.String))
    everything = found.versions.with_columns(domain=pl.lit("all"))
    domains = pl.concat([_compared(found.domains, "domain"), _compared(everything, "domain")])
    sections = [(f"From {before} to {after}", sizes)]
    if found.changes.height:
        texts = (pl.col(name).cast(pl.String) for name in ("slot", "before", "after"))
        changes = found.changes.head(top).select(
            *(text.fill_null("-") for text in texts),
            pl.col("kind").str.replace("_", " "),
            *_plain("turns", "dialogues"),
        )
        sections += [
            ("By domain: dialogues and turns that have it, and differ in it; slots of turns by kind", domains),
            ("By slot: dialogues and turns that have its domain, likewise", _compared(found.slots, "slot")),
            (f"Most frequent changes, {changes.height} of {found.changes.height:,}", changes),
        ]
    below = [
        "shares in percent; kinds: see `dstbench audit diff --help`; --format csv or json lists every change",
    ]
    return render_page(sections, below, form)


def _compared(rows: pl.DataFrame, by: str) -> pl.DataFrame:
    return rows.select(
        by,
        *_plain("dialogues"),
        pl.col("changed_dialogues").cast(pl.String).alias("differ"),
        share_text(pl.col("share_dialogues"), "%"),
        *_plain("turns"),
        pl.col("changed_turns").cast(pl.String).alias("differ "),
        share_text(pl.col("share_turns"), "% "),
        *(pl.col(kind).cast(pl.String).alias(kind.removeprefix("moved_")) for kind in KINDS),
    )


def render_version_scores(found: VersionScores, form: TableFormat) -> str:
    """Scores over versions in one of the formats; text and Markdown have the versions side by side."""
    if form in ("json", "csv"):
        return render_frames(found, form)
    fuzzily = found.models["exact"].is_not_null().any()
    sections = []
    for metric in found.models["metric"].unique(maintain_order=True):
        rows = found.models.filter(metric=metric)
        several = ": mean ± standard deviation over runs" if rows["runs"].max() != 1 else ""
        sections.append((f"{metric}{several}", _over_versions(rows, fuzzily=fuzzily)))
    for model in found.slots["model"].unique(maintain_order=True):
        rows = found.slots.filter(model=model).sort("slot", maintain_order=True)
        sections.append((f"{model}: turns in which a slot is wrong, and their share", _error_turns(rows)))
    told = "values in percent, counts as they are; n: dialogues, the same on every version"
    told += "; exact: with exact matching, beside that of the convention" if fuzzily else ""
    turns = found.runs.select("version", "turns").unique(maintain_order=True)
    if turns["turns"].n_unique() > 1:
        numbers = ", ".join(f"{version} {n:,}" for version, n in turns.iter_rows())
        told += f"; turns of these dialogues, which versions divide differently: {numbers}"
    named = found.runs.with_columns(run=pl.format("{} on {}", "run", "version"))
    return render_page(sections, [told, *signature_lines(named)], form)


def _over_versions(rows: pl.DataFrame, *, fuzzily: bool) -> pl.DataFrame:
    """A row per model, and per version its mean and standard deviation, those of exact matching beside."""
    shown = rows.select(
        "model",
        "version",
        _plain("runs")[0],
        pl.format("{} (n={})", "version", "dialogues").alias("column"),
        _spread("value", "sd", is_count=IS_COUNT).alias("value"),
        _spread("exact", "exact_sd", is_count=IS_COUNT).alias("exact"),
    )
    numbers = pl.col("runs").unique(maintain_order=True).str.join(", ")  # of several, in the order of versions
    table = shown.group_by("model", maintain_order=True).agg(numbers)
    for version, column in shown.select("version", "column").unique(maintain_order=True).iter_rows():
        names = {"value": column, **({"exact": f"{version} exact"} if fuzzily else {})}
        cells = shown.filter(version=version, column=column).select(
            "model", *(pl.col(old).alias(new) for old, new in names.items())
        )
        table = table.join(cells, on="model", how="left", maintain_order="left")
    return table.with_columns(pl.all().fill_null("-"))


def _error_turns(rows: pl.DataFrame) -> pl.DataFrame:
    """A row per slot, and per version its error turns and their share."""
    table = rows.select("slot").unique(maintain_order=True)
    for version in rows["version"].unique(maintain_order=True):
        cells = rows.filter(version=version).select(
            "slot",
            _spread("error_turns", "sd", is_count=True).alias(version),
            share_text(pl.col("share"), f"% of {version}"),
        )
        table = table.join(cells, on="slot", how="left", maintain_order="left")
    return table.with_columns(pl.all().fill_null("-"))


def _spread(value: str, sd: str, *, is_count: bool | pl.Expr) -> pl.Expr:
    """A mean, with its standard deviation where there is one: shares in percent, counts as they are."""
    mean, deviation = (value_text(name, is_count=is_count) for name in (value, sd))
    return pl.when(pl.col(sd).is_null()).then(mean).otherwise(pl.format("{} ± {}", mean, deviation))


def _decimals(name: str) -> pl.Expr:
    """Three decimals, as Qian et al. print; a dash where undefined."""
    text = pl.format("{}", pl.col(name).round(3)).str.pad_end(5, "0")
    return pl.when(pl.col(name).is_null()).then(pl.lit("-")).otherwise(text).alias(name)


def _plain(*names: str) -> list[pl.Expr]:
    return [pl.col(name).cast(pl.String) for name in names]


# --- what is said in a dataset ----------------------------------------------------------------------------------------

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
