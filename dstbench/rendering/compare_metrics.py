"""Metrics side by side, as text, Markdown, LaTeX, CSV or JSON.

Text, Markdown and LaTeX show shares in percent. Text and Markdown begin with the conclusion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.errors import number_of
from dstbench.metrics.registry import name_of, sign_of
from dstbench.rendering.latex import PaperTable, cell
from dstbench.rendering.tables import (
    UNDEFINED,
    Page,
    interval_text,
    pivoted,
    renderer,
    side_by_side,
    signature_lines,
    texts,
    value_text,
)

if TYPE_CHECKING:
    from dstbench.analysis.compare_metrics import MetricComparison

# Text names at most so many pairs of runs in a line, and lists so many pairs of metrics.
_MOST_RUNS: Final = 3
_MOST_METRICS: Final = 10


def metrics_page(compared: MetricComparison) -> Page:
    """Spread and pairs told apart, a matrix of tau, the metrics whose orders agree least, and correlations."""
    runs = compared.scores["run"].n_unique()
    pairs = _pairs_of_all(compared)
    title = f"Metrics over {number_of(runs, 'run')}" + (f", {number_of(pairs, 'pair')}" if pairs else "")
    sections = [(title, _spread(compared))]
    if compared.agreement.height:
        title = "Kendall's tau of two metrics' orders; above the diagonal the pairs of runs that they reverse"
        sections += [(title, _taus(compared)), *_least_alike(compared)]
    if compared.dependence.height:
        level = _percent(compared.dependence["level"][0])
        sections.append(
            (f"Correlations of dialogues' scores with traits, and {level} intervals", _dependence(compared))
        )
    about, signatures = _about_spread(compared), signature_lines(compared.scores.drop_nulls("signature"))
    below = [*about, *_about_others(compared), *signatures]
    return Page(sections, below, paper=[_paper_table(compared, [*about, *signatures])])


def finding(compared: MetricComparison) -> list[str]:
    """Which metrics tell most and fewest pairs of runs apart, and whose orders agree least; empty for one run."""
    orders = compared.agreement.drop_nulls("tau").sort("tau", maintain_order=True)
    return _power_in_words(compared) + _orders_in_words(compared, orders)


render_metrics = renderer(metrics_page, finding)


def _power_in_words(compared: MetricComparison) -> list[str]:
    """The metrics that tell the largest and the smallest share of pairs apart."""
    ranked = compared.power.drop_nulls("power_adjusted").sort("power_adjusted", descending=True, maintain_order=True)
    if ranked.is_empty():
        is_tested = compared.power["pairs"].sum() > 0
        return (
            ["no pair of runs can be told apart: too few resamples, or too few dialogues differ"] if is_tested else []
        )
    design = compared.design.row(0, named=True)
    adjusted = "" if design["adjustment"] == "none" else f", adjusted by {design['adjustment']}"
    parts = ranked.group_by("apart_adjusted", "pairs", maintain_order=True).agg("metric").rows()
    apart, pairs, metrics = parts[0]
    verb = "tells" if len(metrics) == 1 else "tell"
    if len(parts) == 1:
        line = f"{', '.join(metrics)} {verb} {apart} of {number_of(pairs, 'pair')} of runs apart"
    else:
        fewest, of, others = parts[-1]
        line = f"{', '.join(metrics)} {verb} most pairs of runs apart, {apart} of {pairs}; "
        line += f"{', '.join(others)} fewest, {fewest} of {of}"
    return [f"{line} (at {_percent(1 - design['level'])}{adjusted})"]


def _orders_in_words(compared: MetricComparison, orders: pl.DataFrame) -> list[str]:
    """The two metrics whose orders agree least, and the pairs of runs that they reverse.

    Args:
        compared: What `dstbench.compare_metrics` returned.
        orders: Its `agreement`, where tau is defined, the lowest tau first.
    """
    if orders.is_empty():
        return []
    least = orders.row(0, named=True)
    limits = "" if least["low"] is None else f" ({least['low']:.2f} to {least['high']:.2f})"
    if least["tau"] == 1:
        which = "all metrics" if compared.agreement["tau"].null_count() == 0 else "all metrics that have one"
        return [f"the orders of {which} agree: tau 1.00"]
    names, tau = f"{least['first']} and {least['second']}", f"tau {least['tau']:.2f}{limits}"
    if orders["reversed"].sum() == 0:
        return [f"no two metrics reverse a pair of runs; {names} agree least: {tau}"]
    line = f"the orders of {names} agree least: {tau}" if orders.height > 1 else f"the orders of {names}: {tau}"
    return [line, f"they reverse {_pairs(compared, least['first'], least['second'])}"] if least["reversed"] else [line]


def _pairs(compared: MetricComparison, first: str, second: str) -> str:
    """The names of the pairs of runs that two metrics reverse, those with the largest differences first."""
    rows = compared.reversals.filter(first=first, second=second)
    size = pl.min_horizontal(pl.col("difference_first").abs(), pl.col("difference_second").abs())
    named = rows.sort(size, descending=True, maintain_order=True).head(_MOST_RUNS)
    more = f" and {rows.height - _MOST_RUNS} more" if rows.height > _MOST_RUNS else ""
    return ", ".join(f"{run}/{other}" for run, other in named.select("run", "other").iter_rows()) + more


# --- tables -----------------------------------------------------------------------------------------------------------


def _spread(compared: MetricComparison) -> pl.DataFrame:
    """A row per metric: spread, signal to noise, and the pairs that it tells apart."""
    values = (value_text(name) for name in ("mean", "sd", "lowest", "highest", "range"))
    noise = pl.col("signal_to_noise").map_elements(lambda ratio: f"{ratio:.1f}", pl.String).fill_null(UNDEFINED)
    shown = compared.spread.select("metric", *texts("runs"), *values, noise.alias("sd/se"))
    if compared.spread["signal_to_noise"].count() == 0:
        shown = shown.drop("sd/se")
    if compared.spread["runs"].n_unique() == 1:  # the title has their number
        shown = shown.drop("runs")
    if compared.power["pairs"].sum() == 0:
        return shown
    adjusted = {} if compared.power["adjustment"][0] == "none" else {compared.power["adjustment"][0]: "apart_adjusted"}
    columns = {"apart": "apart", **adjusted}
    apart = [
        pl.when(pl.col(name.replace("apart", "power")).is_not_null())
        .then(pl.col(name).cast(pl.String))
        .otherwise(pl.lit(UNDEFINED))
        .alias(title)
        for title, name in columns.items()
    ]
    pairs = [] if _pairs_of_all(compared) else texts("pairs")
    power = compared.power.select("metric", *pairs, *apart, value_text("median_detectable").alias("detectable"))
    return side_by_side([shown, power], on="metric")


def _pairs_of_all(compared: MetricComparison) -> int | None:
    """The number of pairs of runs that are tested, if it is the same by all metrics; None if there is none."""
    pairs = compared.power["pairs"].unique()
    return pairs.item() or None if len(pairs) == 1 else None


def _taus(compared: MetricComparison) -> pl.DataFrame:
    """A square table: tau of two metrics below the diagonal, above it the number of reversed pairs."""
    names = compared.spread["metric"].to_list()
    turned = pl.when(pl.col("tau").is_null()).then(pl.lit(UNDEFINED)).otherwise(pl.col("reversed").cast(pl.String))
    cells: dict[tuple[str, str], str] = {}  # by row and column
    for first, second, tau, n in compared.agreement.select("first", "second", _two_decimals("tau"), turned).iter_rows():
        cells |= {(second, first): tau, (first, second): n}
    return pl.DataFrame(
        {"metric": names} | {column: [cells.get((row, column), "") for row in names] for column in names}
    )


def _least_alike(compared: MetricComparison) -> list[tuple[str, pl.DataFrame]]:
    """The pairs of metrics that reverse pairs of runs, those that agree least first."""
    rows = compared.agreement.filter(pl.col("reversed") > 0).sort("tau", nulls_last=True, maintain_order=True)
    if rows.is_empty():
        return []
    shown = rows.head(_MOST_METRICS)
    pairs = [_pairs(compared, first, second) for first, second in shown.select("first", "second").iter_rows()]
    level = rows["level"][0]
    limits = [] if level is None else [interval_text(_two_decimals).alias(_percent(level))]
    table = shown.select(
        pl.format("{}, {}", "first", "second").alias("metrics"), _two_decimals("tau"), *limits,
        pl.Series("reversed: better by the first/better by the second", pairs, pl.String),
    )  # fmt: skip
    of = f", {_MOST_METRICS} of {rows.height}" if rows.height > _MOST_METRICS else ""
    return [(f"Metrics that reverse pairs of runs, the least alike first{of}", table)]


def _dependence(compared: MetricComparison) -> pl.DataFrame:
    """A row per metric, a column per trait: r and its interval."""
    limits = pl.format("{} [{}, {}]", *(_two_decimals(name) for name in ("r", "low", "high")))
    text = pl.when(pl.col("low").is_null()).then(_two_decimals("r")).otherwise(limits)
    return pivoted(compared.dependence.with_columns(text=text), "trait", "metric", "text")


def _two_decimals(name: str) -> pl.Expr:
    """A column as texts with two decimals; a dash if undefined."""
    return pl.col(name).map_elements(lambda value: f"{round(value, 2) + 0.0:.2f}", pl.String).fill_null(UNDEFINED)


def _about_spread(compared: MetricComparison) -> list[str]:
    """How spread and the pairs told apart were computed."""
    lines = ["scores in percent, counts as they are; sd, range: over runs"]
    if compared.design.is_empty():
        return lines
    design, power = compared.design.row(0, named=True), compared.power
    if compared.spread["signal_to_noise"].count():
        lines.append("sd/se: sd over runs divided by the mean standard error of a run")
    if power["pairs"].sum():
        alpha = f"{1 - design['level']:.4g}"
        lines.append(f"apart: pairs of runs with p at most {alpha}; p: two-sided, {design['test']}")
        if design["adjustment"] != "none":
            lines.append(f"{design['adjustment']}: the same with p adjusted for the number of pairs")
        if power["untestable"].sum():
            names = power.filter(pl.col("untestable") > 0).select(pl.format("{} ({})", "metric", "untestable"))
            adjusted = "adjusted p" if design["adjustment"] != "none" else "p"
            pairs = ", ".join(names.to_series())
            lines.append(f"pairs whose {adjusted} cannot reach {alpha} (resamples, dialogues): {pairs}")
        test = "test" if design["adjustment"] == "none" else "adjusted test"
        lines.append(f"detectable: the difference that the {test} detects with 80 % power, median over the pairs")
    return [*lines, f"{design['resamples']:,} resamples of dialogues, seed {design['seed']}"]


def _about_others(compared: MetricComparison) -> list[str]:
    """How the agreement of orders and the correlations were computed."""
    lines = []
    if compared.agreement.height:
        errors = [metric for metric in compared.spread["metric"] if sign_of(metric) == -1]
        lowest = f"; by {', '.join(errors)}, the lowest" if errors else ""
        lines.append(f"orders: from the best run to the worst: the highest score first{lowest}")
    if compared.dependence.height:
        lines.append("correlations: Pearson's, over all runs' dialogues; for intervals, each is left out in all runs")
    if compared.design.height:
        lines.append("other intervals: bootstrap percentiles")
    return lines


def _paper_table(compared: MetricComparison, notes: list[str]) -> PaperTable:
    """A row per metric: mean with its standard deviation over runs, range, and the pairs told apart."""
    deviation = pl.when(pl.col("sd").is_null()).then(pl.lit("")).otherwise(pl.format("±{}", value_text("sd")))
    mean = compared.spread.select(
        "metric", cell(value_text("mean"), "mean", small=deviation), value_text("range").alias("range")
    )
    others = _spread(compared).drop("mean", "sd", "lowest", "highest", "range", "runs", strict=False)
    names = {metric: name_of(metric) for metric in mean["metric"]}
    table = side_by_side([mean, others], on="metric").with_columns(pl.col("metric").replace(names))
    runs = compared.scores["run"].n_unique()
    caption = f"Metrics over {number_of(runs, 'run')} (%): mean and standard deviation over runs, and range."
    if "apart" in table.columns:
        pairs = _pairs_of_all(compared)
        caption += f" Apart: {f'of {pairs:,} ' if pairs else ''}pairs of runs, those that the metric tells apart."
    heads = {name: name.capitalize() for name in table.columns} | {"sd/se": "sd/se"}
    return PaperTable(table, caption, "tab:compare-metrics", notes, (), heads)


def _percent(share: float) -> str:
    return f"{round(100 * share, 9):g} %"
