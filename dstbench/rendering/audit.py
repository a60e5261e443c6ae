"""Audits of a dataset as text, Markdown, LaTeX, CSV or JSON.

Text, Markdown and LaTeX show shares in percent, and of long tables the beginning; JSON and CSV have all rows and
columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.audit.entity_bias import frequent_values, slot_order
from dstbench.audit.version_diff import split_rows
from dstbench.metrics.registry import name_of
from dstbench.rendering.latex import PaperTable
from dstbench.rendering.tables import (
    IS_COUNT,
    UNDEFINED,
    Page,
    paper_table,
    renderer,
    share_text,
    side_by_side,
    signature_lines,
    texts,
    three_decimals,
    value_text,
)
from dstbench.schema.audit import KINDS
from dstbench.typing import SlotOrder

if TYPE_CHECKING:
    from dstbench.audit import (
        Bias,
        Differences,
        VersionScores,
    )

# The ways of counting values: a short name of each, and in which turns a value counts.
_SHORT: Final = {"cumulative": "cum", "update": "upd", "final": "fin"}
_COUNTED_IN: Final = {
    "cumulative": "in every turn whose state holds it",
    "update": "in the turns in which it is set",
    "final": "in each dialogue's last state",
}


# --- entity bias ------------------------------------------------------------------------------------------------------


def bias_page(bias: Bias, *, top: int = 5, sort: SlotOrder = "slot") -> Page:
    """How evenly values are distributed, the `top` most frequent ones per slot, and what training has of the others.

    Args:
        bias: What `dstbench.audit.bias` returned.
        top: How many values per slot, see `frequent_values`.
        sort: The order of the slots, see `slot_order`.
    """
    countings = bias.slots["counting"].unique(maintain_order=True).to_list()
    if not countings:
        return Page([], ["no state has a slot"])
    first = countings[0]
    order = slot_order(bias, sort)
    rule = ": those with the largest share in any split" if bias.slots["split"].n_unique() > 1 else ""
    below = ["H1, H∞: H1/H0 and H∞/H0, with H0 = log R; R: distinct values; %: share of the most frequent value"]
    below += [f"{_SHORT[name]}, {name}: a value counts {_COUNTED_IN[name]}" for name in countings]
    sections = [
        (
            "How evenly values are distributed: 1, all are equally frequent; 0, there is only one",
            _evenness(bias, countings, order),
        ),
        (f"Most frequent values, {first}{rule}", _frequent(bias, top, order)),
    ]
    below += ["n: how often a value is counted (0: never, or less often than --least); of: any value of its slot"]
    overlap = bias.overlap.filter(counting=first)
    if overlap.height:
        train = overlap["train"].item(0)
        sections.append((f"Values of other splits that are in {train} too, {first}", _overlap(bias, overlap, order)))
        below += seen_in_training(bias)
    elif bias.slots["split"].n_unique() > 1:
        below.append("no split is called train: --train NAME names the one to compare the others with")
    return Page(sections, below, "bias")


render_bias = renderer(bias_page)


def _frequent(bias: Bias, top: int, order: list[str]) -> pl.DataFrame:
    """A row per slot and value, the splits side by side."""
    rows = frequent_values(bias, top).sort(pl.col("slot").cast(pl.Enum(order)), maintain_order=True)
    splits = rows["split"].unique(maintain_order=True).to_list()
    columns = [
        rows.filter(split=split).select(
            "slot", "value", *texts(**{f"{name}n": "n", f"{name}of": "of"}), share_text("share", f"{name}%")
        )
        for split in splits
        for name in [f"{split} " if len(splits) > 1 else ""]
    ]
    return side_by_side(columns, on=["slot", "value"])


def _evenness(bias: Bias, countings: list[str], order: list[str]) -> pl.DataFrame:
    """A row per slot and split, the countings side by side; R and the most frequent value are of the first."""
    shown = {"H1": three_decimals("h1_h0"), "H∞": three_decimals("hinf_h0"), "%": share_text("share")}
    columns = [
        text.filter(pl.col("counting") == counting).first().fill_null(UNDEFINED).alias(f"{title} {_SHORT[counting]}")
        for title, text in shown.items()
        for counting in countings
    ]
    rows = bias.slots.group_by("slot", "split", maintain_order=True).agg(
        pl.col("values").first().cast(pl.String).alias("R"),
        *columns,
        pl.col("most_frequent").first().alias("most frequent"),
    )
    return _by_slot(bias, rows, order)


def _overlap(bias: Bias, overlap: pl.DataFrame, order: list[str]) -> pl.DataFrame:
    return _by_slot(bias, overlap, order).select(
        "slot",
        "split",
        *texts("values", seen="values_seen"),
        share_text("share_values_seen", "% seen"),
        *texts("n"),
        share_text("share_n_seen", "% of n"),
        pl.col("train_most_frequent").fill_null(UNDEFINED).alias("most frequent in train"),
        share_text("train_share", "% there"),
        share_text("share", "% here"),
    )


def seen_in_training(bias: Bias) -> list[str]:
    """A line per split: how much of all its values, by the first way of counting, the training set has."""
    overlap = bias.overlap.filter(pl.col("counting") == pl.col("counting").first())
    if overlap.is_empty():
        return []
    train = overlap["train"].item(0)
    sums = overlap.group_by("split", maintain_order=True).agg(pl.col("values", "values_seen", "n", "n_seen").sum())
    return [
        f"{split}: {train} has {seen:,} of {values:,} values of slots ({100 * seen / values:.2f} %); these are "
        f"{100 * n_seen / n:.2f} % of n, the number of times that values are counted"
        for split, values, seen, n, n_seen in sums.iter_rows()
    ]


def _by_slot(bias: Bias, rows: pl.DataFrame, order: list[str]) -> pl.DataFrame:
    """The rows with the slots in this order, the splits of a slot below each other; one split needs no column."""
    splits = bias.slots["split"].unique(maintain_order=True).to_list()
    ordered = rows.sort(pl.col("slot").cast(pl.Enum(order)), pl.col("split").cast(pl.Enum(splits)), maintain_order=True)
    return ordered if len(splits) > 1 else ordered.drop("split")


# --- versions of a dataset --------------------------------------------------------------------------------------------


def differences_page(differences: Differences, *, top: int = 20) -> Page:
    """The differences between two versions, by domain and slot, and the `top` most frequent changes."""
    versions = differences.versions
    before, after = versions.select("before", "after").row(0)
    sizes = pl.concat(
        versions.select(
            pl.lit(unit).alias(""),
            *texts(**{"in both": unit, f"only in {before}": f"{unit}_before", f"only in {after}": f"{unit}_after"}),
            *texts(differ=f"changed_{unit}"),
            share_text(f"share_{unit}", "%"),
        )
        for unit in ("dialogues", "turns")
    )
    sections = [(f"From {before} to {after}", sizes)]
    if differences.changes.height:
        everything = versions.with_columns(domain=pl.lit("all"))
        domains = pl.concat([_changed(differences.domains, "domain"), _changed(everything, "domain")])
        changes = differences.changes.head(top).select(
            *(text.fill_null(UNDEFINED) for text in texts("slot", "before", "after")),
            pl.col("kind").str.replace("_", " "),
            *texts("turns", "dialogues"),
        )
        sections += [
            (
                "By domain: dialogues and turns with it, and those that differ in it; changed slots of turns by kind",
                domains,
            ),
            ("By slot: the same, of dialogues and turns with its domain", _changed(differences.slots, "slot")),
            *_splits_side_by_side(differences),
            (f"Most frequent changes, {changes.height} of {differences.changes.height:,}", changes),
        ]
    below = "shares in percent; kinds: see `dstbench audit diff --help`; --format csv or json lists every change"
    return Page(sections, [below], paper=[paper_table(*sections[:2][-1], "diff", ["shares in percent"])])


render_differences = renderer(differences_page)


def _changed(rows: pl.DataFrame, by: str) -> pl.DataFrame:
    return rows.select(
        by,
        *texts("dialogues", differ="changed_dialogues"),
        share_text("share_dialogues", "%"),
        *texts("turns", **{"differ ": "changed_turns"}),
        share_text("share_turns", "% "),
        *texts(**{kind.removeprefix("moved_"): kind for kind in KINDS}),
    )


def _splits_side_by_side(differences: Differences) -> list[tuple[str, pl.DataFrame]]:
    """How many dialogues and turns differ in each domain and slot, a column per split and one of the whole."""
    if differences.splits.is_empty():
        return []
    rows = split_rows(differences).with_columns(name=pl.coalesce("slot", "domain", pl.lit("all")))
    names = rows.filter(split="all").select("name").sort(pl.col("name") == "all", "name")
    sections = []
    for unit in ("dialogues", "turns"):
        columns = [names]
        for (split,), cells in rows.group_by("split", maintain_order=True):
            differ = texts(**{str(split): f"changed_{unit}"})
            columns.append(cells.select("name", *differ, share_text(f"share_{unit}", f"{split} %")))
        table = side_by_side(columns, on="name").with_columns(pl.all().fill_null(UNDEFINED))
        sections.append((f"{unit.capitalize()} that differ, of those with the domain, by split", table))
    return sections


def version_scores_page(scored: VersionScores) -> Page:
    """Scores with the versions side by side, and the turns in which each slot is wrong."""
    with_exact = scored.models["exact"].is_not_null().any()
    sections = []
    for (metric,), rows in scored.models.group_by("metric", maintain_order=True):
        several = ": mean ± standard deviation over runs" if rows["runs"].max() != 1 else ""
        sections.append((f"{metric}{several}", _over_versions(rows, with_exact=with_exact)))
    for (model,), rows in scored.slots.group_by("model", maintain_order=True):
        sections.append((f"{model}: turns in which a slot is wrong, and their share", _error_turns(rows)))
    units = "values in percent, counts as they are; n: dialogues, the same on every version"
    if with_exact:
        units += "; exact: with exact matching, in addition to the convention's"
    turns = scored.runs.select("version", "turns").unique(maintain_order=True)
    if turns["turns"].n_unique() > 1:
        sizes = ", ".join(f"{version} {n:,}" for version, n in turns.iter_rows())
        units += f"; turns of these dialogues, which versions divide differently: {sizes}"
    named = scored.runs.with_columns(run=pl.format("{} on {}", "run", "version"))
    below = [units, *signature_lines(named)]
    return Page(sections, below, paper=[_paper_scores(scored, below, with_exact=with_exact)])


render_version_scores = renderer(version_scores_page)


def _paper_scores(scored: VersionScores, notes: list[str], *, with_exact: bool) -> PaperTable:
    """All metrics in one table, each a group."""
    metrics = scored.models.group_by("metric", maintain_order=True)
    tables = {name_of(str(metric)): _over_versions(rows, with_exact=with_exact) for (metric,), rows in metrics}
    titles = [title for title, table in tables.items() for _ in range(table.height)]
    several = ": mean ± standard deviation over runs" if scored.models["runs"].max() != 1 else ""
    of = f"{next(iter(tables))} on" if len(tables) == 1 else "Scores on"
    caption = f"{of} versions of the dataset{several}."
    return PaperTable(pl.concat(tables.values()), caption, "tab:versions", notes, titles if len(tables) > 1 else ())


def _over_versions(rows: pl.DataFrame, *, with_exact: bool) -> pl.DataFrame:
    """A row per model; per version, its mean and standard deviation, and perhaps those with exact matching."""
    runs = pl.col("runs").cast(pl.String).unique(maintain_order=True).str.join(", ")  # where versions have not the same
    columns = [rows.group_by("model", maintain_order=True).agg(runs)]
    for (version, n), cells in rows.group_by("version", "dialogues", maintain_order=True):
        exact = [_mean_text("exact", "exact_sd").alias(f"{version} exact")] if with_exact else []
        columns.append(cells.select("model", _mean_text("value", "sd").alias(f"{version} (n={n})"), *exact))
    return side_by_side(columns, on="model").with_columns(pl.all().fill_null(UNDEFINED))


def _error_turns(rows: pl.DataFrame) -> pl.DataFrame:
    """A row per slot, and per version its error turns and their share."""
    columns = [rows.select("slot").unique().sort("slot")]
    for (version,), cells in rows.group_by("version", maintain_order=True):
        turns = _mean_text("error_turns", "sd", is_count=True).alias(str(version))
        columns.append(cells.select("slot", turns, share_text("share", f"% of {version}")))
    return side_by_side(columns, on="slot").with_columns(pl.all().fill_null(UNDEFINED))


def _mean_text(mean: str, sd: str, *, is_count: bool | pl.Expr = IS_COUNT) -> pl.Expr:
    """A mean, with its standard deviation where there is one: shares in percent, counts as they are."""
    shown, deviation = (value_text(name, is_count=is_count) for name in (mean, sd))
    return pl.when(pl.col(sd).is_null()).then(shown).otherwise(pl.format("{} ± {}", shown, deviation))
