"""Scores, and scores under several profiles, as text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.rendering.latex import latex_page
from dstbench.rendering.tables import (
    IS_COUNT,
    UNDEFINED,
    Page,
    best_in_bold,
    counts,
    draw,
    escape_lines,
    pivoted,
    render_page,
    render_rows,
    share_text,
    signature_lines,
    texts,
)
from dstbench.rendering.text_tables import NO_STYLES
from dstbench.schema.core import SCORES
from dstbench.typing import TableFormat

# The column of scores with exact matching, beside fuzzy ones.
_EXACT: Final = "exact"
# The titles of columns of JGA in tables by slot.
_SLOT_TITLES: Final = {"jga": "accuracy (jga)", f"jga {_EXACT}": f"accuracy (jga) {_EXACT}"}
# The first cell of a row of standard errors.
_ERROR: Final = "±"


def render_scores(scores: pl.DataFrame, form: TableFormat) -> str:
    """Score rows in one of the formats.

    Args:
        scores: What `dstbench.score` returns.
        form: ``json`` (one object, whose `scores` are the rows) and ``csv`` have the rows as they are: shares as
            fractions; null, in CSV empty, if undefined. The other formats have a column per metric, with shares in
            percent; runs are ordered by the first metric, with the standard errors below each, and the signature is
            below the table.
    """
    if form in ("json", "csv"):
        return render_rows(scores, "scores", form)
    table, units = wide(scores), "values in percent, counts as they are"
    if table.select((pl.first() == _ERROR).any()).item():
        units += f"; {_ERROR} one standard error over dialogues"
    sizes = scores.select("turns", "dialogues").unique()
    if sizes.height == 1:  # one line below says it for all rows
        turns, dialogues = sizes.row(0)
        unit = "turns" if "slot" in scores.columns else unit_of(scores)
        table, units = table.drop("turns", "dialogues"), f"{units}; {turns:,} {unit}, {dialogues:,} dialogues"
    below = [units]
    if "slot" in scores.columns:
        below.append("by slot: every scored turn counts; a slot in neither gold nor prediction is correct")
    below += signature_lines(scores)
    if form == "latex":
        by = " and ".join(name for name in _groups(scores) if name != "run")
        return latex_page([(table, [f"Scores by {by}" if by else "Scores", *below])])
    is_value = pl.col("run") != _ERROR
    shares = [name for name in dict.fromkeys(scores.filter(~IS_COUNT)["metric"]) if name in table.columns]
    best = best_in_bold(table.select(pl.when(is_value).then(pl.col(*shares))), shares) if shares else NO_STYLES
    return draw(table, form, best) + ("\n" if form == "md" else "") + escape_lines(below, form)


def unit_of(scores: pl.DataFrame) -> str:
    """What the column `turns` counts: turns or, under profiles that score each domain of a turn, frames."""
    return "frames" if scores["signature"].str.contains("|unit:frame|", literal=True).all() else "turns"


def wide(scores: pl.DataFrame) -> pl.DataFrame:
    """Score rows as a table of texts: a row per run and group, a column per metric."""
    by, sizes = _groups(scores), ["turns", "dialogues"]
    metrics = scores["metric"].unique(maintain_order=True).to_list()
    if _EXACT in scores.columns:
        exact = scores.with_columns(pl.format(f"{{}} {_EXACT}", "metric").alias("metric"), value=pl.col(_EXACT))
        metrics = [name for metric in metrics for name in (metric, f"{metric} {_EXACT}")]
        scores = pl.concat([scores, exact])
    counted = counts(scores)
    table = pivoted(scores, "metric", [*by, *sizes], "value")
    if by == ["run"]:
        table = table.sort(metrics[0], descending=True, nulls_last=True, maintain_order=True)
    shown = table.select(
        *texts(*by), *(_number(metric, is_count=metric in counted) for metric in metrics), *texts(*sizes)
    )
    if "slot" in by:
        shown = shown.rename(_SLOT_TITLES, strict=False)
    return _with_errors(shown, scores) if by == ["run"] and scores["se"].is_not_null().any() else shown


def _groups(scores: pl.DataFrame) -> list[str]:
    """The columns that scores are grouped by, the run first."""
    return [name for name in scores.columns if name not in (*SCORES.columns, _EXACT) or name == "run"]


def _with_errors(shown: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """The table with a second row per run, its standard errors."""
    values = shown.with_row_index("line")
    errors = pivoted(scores.drop_nulls("se"), "metric", "run", "se")
    errors = errors.with_columns(share_text(name) for name in errors.columns[1:])
    below = values.select("line", "run").join(errors, on="run").with_columns(run=pl.lit(_ERROR))
    both = pl.concat([values, below], how="diagonal").sort("line", maintain_order=True).drop("line")
    return both.with_columns(pl.all().fill_null(""))


def render_sweep(rows: pl.DataFrame, form: TableFormat) -> str:
    """A sweep over profiles in one of the formats.

    Args:
        rows: What `dstbench.sweep` returns.
        form: ``json`` and ``csv`` have the rows as they are; the others have a table per run with a column per metric,
            in percent, and say how far the profiles are apart. In text, several runs are side by side.
    """
    if form in ("json", "csv"):
        return render_rows(rows, "sweep", form)
    if form == "latex":
        return render_page(sweep_page(rows), form)
    gap = "\n" if form == "md" else ""
    sections = sweep_page(rows).sections
    if form == "text" and len(sections) > 1:
        lines = [*(title for title, _ in sections), "what changes between profiles: sweep a single run"]
        return _profiles_by_runs(rows) + escape_lines(lines, form)
    return "\n".join(f"{draw(table, form)}{gap}{escape_lines([title], form)}" for title, table in sections)


def _profiles_by_runs(rows: pl.DataFrame) -> str:
    """For each metric, a row per profile and a column per run; profiles with the same scores share a row."""
    tables, counted = [], counts(rows)
    for (metric,), of_metric in rows.group_by("metric", maintain_order=True):
        wide_rows = pivoted(of_metric, "run", "profile", "value")
        runs = wide_rows.columns[1:]
        shown = (
            wide_rows.with_columns(mean=pl.mean_horizontal(runs))
            .group_by(runs, maintain_order=True)
            .agg(pl.col("profile").str.join(", "), pl.col("mean").first())
            .sort("mean", descending=True, nulls_last=True, maintain_order=True)
            .select("profile", *(_number(run, is_count=metric in counted) for run in runs))
        )
        tables.append(f"{metric}\n\n{draw(shown, 'text')}")
    return "".join(tables)


def sweep_page(rows: pl.DataFrame) -> Page:
    """A table per run; its title says how far the profiles are apart."""
    sections, counted = [], counts(rows)
    for (run,), of_run in rows.group_by("run", maintain_order=True):
        table = pivoted(of_run, "metric", ["profile", "changed"], "value")
        first, *others = metrics = table.columns[2:]
        shown = (
            table.select(
                pl.struct(metrics).rle_id().alias("line"),
                "profile",
                "changed",
                *(_number(metric, is_count=metric in counted) for metric in metrics),
            )
            .group_by("line", maintain_order=True)  # consecutive profiles with the same scores share a line
            .agg(pl.col(metrics).first(), pl.col("profile").str.join(", "), pl.col("changed").first())
            .select(first, *others, "profile", pl.col("changed").alias("changed from the line above"))
        )
        title = f"{run}: the same predictions, {first} {_spread(table, first)} by convention alone"
        sections.append((title, shown))
    return Page(sections, [])


def _spread(table: pl.DataFrame, metric: str) -> str:
    """The lowest and the highest score with their profiles; the table is sorted by score, the highest first."""
    defined = table.drop_nulls(metric)
    if defined.is_empty():
        return "undefined under every profile"
    ends = []
    for score in (defined[metric][-1], defined[metric][0]):
        name, *others = defined.filter(pl.col(metric) == score)["profile"]
        ends.append(f"{100 * score:.2f} ({name}{f' and {len(others)} more' if others else ''})")
    gap = 100 * (defined[metric][0] - defined[metric][-1])
    return f"{' to '.join(ends)}: {gap:.2f} points apart"


def _number(metric: str, *, is_count: bool) -> pl.Expr:
    """Scores as texts: shares in percent, counts as whole numbers."""
    return (
        pl.col(metric).cast(pl.Int64).cast(pl.String).fill_null(UNDEFINED) if is_count else share_text(metric, metric)
    )
