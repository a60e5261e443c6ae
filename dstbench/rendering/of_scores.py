"""How scores are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from dstbench.analysis.findings import highest
from dstbench.errors import UsageError, number_of
from dstbench.metrics.registry import name_of
from dstbench.rendering.tables import signature_lines
from dstbench.rendering.views import EXACT, IS_COUNT, Layout, View, sign
from dstbench.schema.core import SCORES

# Whether a score has a standard error; it is unknown where all dialogues are alike.
_HAS_ERROR: Final = ~IS_COUNT & pl.col("value").is_not_null() & (pl.col("dialogues") > 1)
# The title of the runs that are in no group.
_NO_GROUP: Final = "other runs"
# What JGA is by slot.
_OF_SLOTS: Final = {"jga": "accuracy (jga)", f"jga {EXACT}": f"accuracy (jga) {EXACT}"}


def scores(
    frames: Mapping[str, pl.DataFrame],
    groups: Mapping[str, str] | None = None,
    gold: Sequence[str] = (),
    along: str | None = None,
) -> Layout:
    """Scores with their standard errors, a column per metric."""
    rows = frames["scores"]
    by = [name for name in rows.columns if name not in (*SCORES.columns, EXACT, along) or name == "run"]
    is_same, of_runs = rows.select("turns", "dialogues").n_unique() == 1, by == ["run"]
    titles = titles_of(groups, rows["run"].unique(maintain_order=True).to_list(), by) if groups else {}
    shown = _in_groups(_with_exact(rows), titles) if of_runs and not along else _with_exact(rows)
    if "slot" in by:
        shown = shown.with_columns(pl.col("metric").replace(_OF_SLOTS))
    sizes = {} if is_same else {"turns": "{turns}", "dialogues": "{dialogues}"}
    cells = {"{}": "{value} ±{se}" if of_runs else "{value}"}
    view = View(
        "",
        shown,
        SCORES,
        [*by, *([along] if along else [])],
        cells,
        "metric",
        sizes,
        best=["metric"] if of_runs else None,
    )
    caption, paper = named(rows), view
    if of_runs:
        if rows["se"].is_not_null().any():
            caption += f"; ± one standard error over dialogues{_about_unknown(rows)}"
    else:
        caption += f" by {' and '.join(by[1:])}"
        paper = view._replace(keys=by[1:])
        if rows["run"].n_unique() > 1:
            paper = paper._replace(split="run")
            if rows["metric"].n_unique() == 1 and EXACT not in rows.columns:
                paper = paper._replace(split=None, wide="run", beside={}, best=by[1:])
    over = f" over {sizes_of(rows)}" if is_same else ""
    caption = f"{named(rows)}{over}{caption.removeprefix(named(rows))}"
    if titles:
        view = view._replace(title="{}", split="group", rest=_NO_GROUP)
        paper = view._replace(underlined=["metric", "group"])
        caption += ". Bold: the best of all; underlined: the best of each group"
    units = units_of(rows)
    if of_runs and rows.select(_HAS_ERROR.any()).item():
        units += f"; ± one standard error over dialogues{_about_unknown(rows)}"
    size = f"; {sizes_of(rows)}" if is_same else ""
    below, signatures = [*_about_parts(rows), *gold], signature_lines(rows)
    paper = paper._replace(caption=f"{caption}.")
    label = "-".join(["score", *by[1:]])
    findings = highest(rows) if of_runs and not titles else []
    notes = [f"{units}{size}", *below]
    return Layout([view], notes, findings, label, [paper], [*below, *signatures], signatures=signatures)


def titles_of(groups: Mapping[str, str], names: Sequence[str], by: Sequence[str]) -> dict[str, str]:
    """The title of each run's group, in the order of the groups."""
    from dstbench.analysis.compare import runs_called  # not before: it needs the modules of statistics

    if list(by) != ["run"]:
        raise UsageError("--group takes scores by run", hint="omit --by")
    titles: dict[str, str] = {}
    for title, patterns in groups.items():
        for run in dict.fromkeys(names[index] for index in runs_called(patterns, names, f"--group {title!r}")):
            if run in titles:
                raise UsageError(f"run {run!r} is in two groups: {titles[run]!r} and {title!r}")
            titles[run] = title
    return titles


def _in_groups(rows: pl.DataFrame, titles: Mapping[str, str]) -> pl.DataFrame:
    """Rows with their group, in the order of the groups; those of a group by the first metric, the highest first."""
    order = pl.Enum(list(dict.fromkeys(titles.values())))
    group = pl.col("run").replace_strict(titles, default=None, return_dtype=pl.String)
    ordered = by_first_metric(rows.with_columns(group=group))
    return ordered.sort(pl.col("group").cast(order), nulls_last=True, maintain_order=True)


def by_first_metric(rows: pl.DataFrame, of: str = "run") -> pl.DataFrame:
    """Rows of scores by the first metric, the highest first."""
    first = pl.col("value").filter(pl.col("metric") == rows["metric"][0]).first().over(of)
    return rows.sort(first, descending=True, nulls_last=True, maintain_order=True)


def best_first(rows: pl.DataFrame, metric: str) -> pl.DataFrame:
    """The rows of a metric, the best first: the highest, or the lowest of a metric of errors; undefined ones last."""
    of_metric = rows.filter(metric=metric)
    merit = sign(of_metric).fill_null(1) * pl.col("value")
    return of_metric.sort(merit, descending=True, nulls_last=True, maintain_order=True)


def _with_exact(rows: pl.DataFrame) -> pl.DataFrame:
    """Score rows with those of exact matching, without errors, as metrics of their own, each after the fuzzy one."""
    if EXACT not in rows.columns:
        return rows
    metrics = rows["metric"].unique(maintain_order=True).to_list()
    exact = rows.with_columns(pl.format(f"{{}} {EXACT}", "metric").alias("metric"), value=pl.col(EXACT), se=None)
    order = [name for metric in metrics for name in (metric, f"{metric} {EXACT}")]
    return pl.concat([rows, exact]).sort(pl.col("metric").cast(pl.Enum(order)), maintain_order=True)


def _about_unknown(rows: pl.DataFrame) -> str:
    """Why a score has no standard error, where one has none."""
    unknown = rows.filter(_HAS_ERROR, pl.col("se").is_null())["metric"].n_unique()
    return " (without: unknown, as all dialogues are alike)" if unknown else ""


def _about_parts(rows: pl.DataFrame) -> list[str]:
    """Which turns count by slot or by domain."""
    if "slot" in rows.columns:
        return ["by slot: every scored turn counts; a slot in neither gold nor prediction is correct"]
    rule = "|".join(["domain-turns:either", "domain-turns:frames", "unit:frame"])
    if "domain" not in rows.columns or rows["signature"].str.contains(rule).all():
        return []
    return [
        "by domain: a turn counts if gold has a slot of the domain; predictions of the domain in other turns are not "
        "scored (--domain-turns either)"
    ]


def sizes_of(rows: pl.DataFrame, between: str = ", ") -> str:
    """The turns and dialogues of the first row, in words; under profiles that score each domain of a turn, frames."""
    turns, dialogues = rows.select("turns", "dialogues").row(0)
    is_frames = rows["signature"].str.contains("|unit:frame|", literal=True).all() and "slot" not in rows.columns
    return f"{number_of(turns, 'frame' if is_frames else 'turn')}{between}{number_of(dialogues, 'dialogue')}"


def units_of(rows: pl.DataFrame) -> str:
    """The units of a table's numbers, in words."""
    units = {*rows["unit"]}
    return "counts" if units == {"count"} else "scores in %" + ", counts as they are" * ("count" in units)


def named(rows: pl.DataFrame) -> str:
    """What the scores are, with their unit."""
    units = rows["unit"].unique()
    unit = " (shares in %)" if len(units) > 1 else " (%)" if "share" in units else ""
    return f"{name_of(rows['metric'][0]) if rows['metric'].n_unique() == 1 else 'Scores'}{unit}"
