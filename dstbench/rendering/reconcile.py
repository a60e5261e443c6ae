"""The way from a published score to ours, as text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.analysis.reconcile import Reconciliation
from dstbench.metrics import parse
from dstbench.rendering.sweep import published_findings
from dstbench.rendering.tables import Page, renderer, share_text, texts

# How many sets of choices, and single choices, are shown.
_MOST: Final = 10
# How many single choices are named where nothing reaches the published scores.
_SUSPECTS: Final = 3


def finding(result: Reconciliation) -> list[str]:
    """What makes the number, as far as it can be told, in two sentences."""
    start, best = result.steps.filter(step=0), result.sets.filter(choices=result.sets["choices"][0])
    wanted, ours = _listed(start, pl.col("target")), _listed(start, _values("value"))
    tried, size = result.tried.row(-1, named=True), best["size"][0]
    chance = (
        f"by chance, {_few(tried['by_chance'] or 0)} of the {tried['sets']:,} {_sets_of(size)} tried would reach it"
    )
    if not best["reaches"][0]:
        nearest = (
            f"the nearest, {_listed(best, _values('value'))}, needs {best['choices'][0]}" if size else "none is nearer"
        )
        lines = [f"{wanted} is not reached from {ours} by any of the choices tried; {nearest}"]
        if suspects := _suspects(result):
            lines.append(f"check first in the code that gave {wanted}: {'; '.join(suspects)}")
    elif not size:
        lines = [f"{wanted} needs no other choice: here it is {ours}"]
    elif tried["reached"] == 1:
        lines = [
            f"{wanted} is reached from {ours} by {best['choices'][0]} and nothing else of as few choices; {chance}"
        ]
    else:
        lines = [
            f"{wanted} is reached from {ours} by {tried['reached']:,} {_sets_of(size)}, such as {best['choices'][0]}, "
            f"so it does not tell which was used; {chance}"
        ]
    return [*lines, *(line.partition(": ")[2] for line in published_findings(result.profiles))]


def _sets_of(size: int) -> str:
    return (
        "sets without choices",
        "single choices",
        "pairs of choices",
        "sets of three choices",
        "sets of four choices",
    )[size]


def _listed(rows: pl.DataFrame, score: pl.Expr) -> str:
    """The metrics of some rows, each with its score."""
    return " and ".join(rows.select(pl.format("{} {}", "metric", score)).to_series())


def _few(expected: float) -> str:
    return f"{expected:.1f}" if expected >= 0.05 else "fewer than 0.1"


def _suspects(result: Reconciliation) -> list[str]:
    """The single choices that bring the first metric nearest to its published score, each with what it gives."""
    ours, off = result.steps.filter(step=0).select("value", "off").row(0)
    metric, published = result.steps["metric"][0], ours - off
    nearer = result.choices.filter(metric=metric).with_columns(off=(pl.col("value") - published).abs())
    nearer = nearer.filter(pl.col("off") < abs(off)).sort("off", maintain_order=True)
    first = nearer.unique("value", keep="first", maintain_order=True).head(_SUSPECTS)
    return first.select(pl.format("{} ({} {})", "choice", "metric", _values("value"))).to_series().to_list()


def _values(column: str, title: str | None = None) -> pl.Expr:
    """Scores, or their changes: shares in percent, counts as they are."""
    is_count = pl.col("metric").map_elements(lambda metric: parse(metric).is_count, pl.Boolean)
    return share_text(pl.when(is_count).then(pl.col(column) / 100).otherwise(pl.col(column)), title or column)


def reconciliation_page(result: Reconciliation) -> Page:
    """The steps, the sets that reach the published scores, and what single choices change."""
    steps = result.steps.select(
        *texts("step", "metric"),
        _values("value"),
        _values("change"),
        _values("off", "from the published score"),
        "choice",
    )
    sections = [("from the score here to the published one, a choice at a time", steps)]
    number = result.sets["choices"].n_unique()
    if number > 1:
        metrics = result.sets["metric"].n_unique()
        reaches = result.sets["reaches"][0]
        title = "sets of choices that reach it" if reaches else "the nearest set of each number of choices"
        more = f", the first {_MOST} of {number:,}" if number > _MOST else ""
        shown = result.sets.head(_MOST * metrics).select(
            *texts("metric"), _values("value"), _values("off", "from the published score"), "choices"
        )
        sections.append((f"{title}{more}", shown))
    moving = result.choices.filter(pl.col("change") != 0)
    if moving.height:
        more = f", the {_MOST} that change most" if moving.height > _MOST else ""
        shown = moving.head(_MOST).select(*texts("metric"), _values("value"), _values("change"), "choice", "meaning")
        sections.append((f"single choices{more}", shown))
    tried = ", ".join(
        f"{sets:,} {_sets_of(size)}"
        for size, sets in result.tried.filter(pl.col("size") > 0).select("size", "sets").iter_rows()
    )
    return Page(sections, [*([f"tried: {tried}"] if tried else []), "scores in %"], "reconcile")


#: A reconciliation in any format (see `tables.renderer`).
render_reconciliation: Final = renderer(reconciliation_page, finding, begins=("text", "md"))
