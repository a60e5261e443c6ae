"""Scores of the same predictions under several profiles, as text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

import polars as pl

from dstbench.metrics.registry import name_of
from dstbench.rendering.latex import PaperTable, cell, is_best, latex_page
from dstbench.rendering.scores import named, number_text, with_texts
from dstbench.rendering.tables import Page, counts, draw, escape_lines, pivoted, render_rows
from dstbench.typing import TableFormat


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
        return latex_page([sweep_table(rows)])
    gap, findings = "\n" if form == "md" else "", escape_lines(_findings(rows), form)
    findings += "\n" if findings else ""
    sections = sweep_page(rows).sections
    if form == "text" and len(sections) > 1:
        lines = [*(title for title, _ in sections), "what changes between profiles: sweep a single run"]
        return findings + _profiles_by_runs(rows) + escape_lines(lines, form)
    tables = (f"{draw(table, form)}{gap}{escape_lines([title], form)}" for title, table in sections)
    return findings + "\n".join(tables)


def _findings(rows: pl.DataFrame) -> list[str]:
    """If there are published scores, a line per run: the profiles that agree with them, or come nearest."""
    if "target" not in rows.columns:
        return []
    lines = []
    for (run,), of_run in rows.group_by("run", maintain_order=True):
        of_targets = of_run.drop_nulls("target")
        targets = of_targets.select("metric", "target").unique(maintain_order=True)
        wanted = " and ".join(f"{metric} {target}" for metric, target in targets.iter_rows())
        profiles = _names(of_targets.filter("agrees_with_all"))
        number, by_chance = of_run["profile"].n_unique(), of_run["by_chance"][0]
        if not profiles:
            each = (f"; {_nearest(of_metric)}" for _, of_metric in of_targets.group_by("metric", maintain_order=True))
            lines.append(f"{run}: no profile agrees with {wanted}{''.join(each)}")
            continue
        bound = "at most " if targets.height > 1 else ""
        chance = f"{bound}{by_chance:.1f} of {number}" if by_chance >= 0.05 else f"fewer than 0.1 of {number}"
        lines.append(f"{run}: agrees with {wanted} under {profiles}; by chance, {chance} profiles would agree")
    return lines


def _names(rows: pl.DataFrame) -> str:
    return ", ".join(rows["profile"].unique(maintain_order=True))


def _nearest(rows: pl.DataFrame) -> str:
    """For one metric: the profiles that agree with its published score, or else those that are nearest to it."""
    metric, target = rows["metric"][0], rows["target"][0]
    defined = rows.drop_nulls("off").sort(pl.col("off").abs(), maintain_order=True)
    if defined.is_empty():
        return f"{metric} is undefined under every profile"
    if agreeing := _names(rows.filter("agrees")):
        return f"{metric} {target} alone: {agreeing}"
    nearest = defined.filter(pl.col("off").abs() == pl.col("off").first().abs())
    value, off, unit = nearest.select("value", "off", "unit").row(0)
    number, distance = (f"{100 * x:.2f}" if unit == "share" else f"{x:,.0f}" for x in (value, abs(off)))
    points = " points" if unit == "share" else ""
    where = "higher" if off > 0 else "lower"
    return f"the nearest is {metric} {number} under {_names(nearest)}, {distance}{points} {where}"


def _profiles_by_runs(rows: pl.DataFrame) -> str:
    """For each metric, a row per profile and a column per run; profiles with the same scores share a row."""
    tables, counted = [], counts(rows)
    for (metric,), of_metric in rows.group_by("metric", maintain_order=True):
        wide_rows = pivoted(of_metric, "run", "profile", "value")
        runs = wide_rows.columns[1:]
        shown = (
            wide_rows.sort(pl.mean_horizontal(runs), descending=True, nulls_last=True, maintain_order=True)
            .group_by(runs, maintain_order=True)
            .agg(pl.col("profile").str.join(", "))
            .select("profile", *(number_text(run, is_count=metric in counted) for run in runs))
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
                *(number_text(metric, is_count=metric in counted) for metric in metrics),
            )
            .group_by("line", maintain_order=True)  # consecutive profiles with the same scores share a line
            .agg(pl.col(metrics).first(), pl.col("profile").str.join(", "), pl.col("changed").first())
            .select(first, *others, "profile", pl.col("changed").alias("changed from the line above"))
        )
        spread = _spread(table, first, is_count=first in counted)
        title = f"{run}: the same predictions, {first} {spread} by convention alone"
        sections.append((title, shown))
    return Page(sections, [])


def _spread(table: pl.DataFrame, metric: str, *, is_count: bool) -> str:
    """The lowest and the highest score with their profiles; the table is sorted by score, the highest first."""
    defined = table.drop_nulls(metric)
    if defined.is_empty():
        return "undefined under every profile"
    ends, unit = [], "apart" if is_count else "points apart"

    def as_text(value: float) -> str:
        return f"{value:,.0f}" if is_count else f"{100 * value:.2f}"

    for score in (defined[metric][-1], defined[metric][0]):
        name, *others = defined.filter(pl.col(metric) == score)["profile"]
        ends.append(f"{as_text(score)} ({name}{f' and {len(others)} more' if others else ''})")
    return f"{' to '.join(ends)}: {as_text(defined[metric][0] - defined[metric][-1])} {unit}"


def sweep_table(rows: pl.DataFrame) -> PaperTable:
    """Scores under each convention, with runs or, of one run, metrics beside each other; the best of a row is bold."""
    published, rows = rows, with_texts(rows)
    several, metrics = rows["run"].n_unique() > 1, rows["metric"].unique(maintain_order=True).to_list()
    beside, groups = ("run", ["metric"]) if several else ("metric", [])
    bold = is_best("profile", "metric") if several else pl.lit(value=False)
    mean = pl.col("value").filter(metric=metrics[0]).mean().over("profile")
    ordered = rows.sort(pl.col("metric").cast(pl.Enum(metrics)), mean, descending=[False, True], maintain_order=True)
    cells = ordered.select(*groups, "profile", beside, cell(pl.col("text"), "cell", bold=bold))
    table = pivoted(cells, beside, [*groups, "profile"], "cell")
    same = [name for name in table.columns if name != "profile"]
    table = table.group_by(same, maintain_order=True).agg(pl.col("profile").str.join(", "))
    caption = f"{named(rows)} of the same predictions under each convention." + " Bold: the best run." * several
    titles = [name_of(metric) for metric in table["metric"]] if several and len(metrics) > 1 else []
    heads = {"profile": "Convention", **({} if several else {name: name_of(name) for name in metrics})}
    return PaperTable(
        table.select("profile", pl.exclude("profile", *groups)),
        caption,
        "tab:sweep",
        _findings(published),
        titles,
        heads,
    )
