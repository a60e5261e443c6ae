"""Charts of scores: of runs, of differences, of correlations, under several conventions; and of what errors cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import altair as alt
import polars as pl

from dstbench.errors import UsageError
from dstbench.metrics import parse
from dstbench.metrics.base import exact_sum
from dstbench.metrics.registry import name_of
from dstbench.rendering.charts.forms import (
    COLOURS,
    INK,
    Chart,
    apart,
    chart,
    intervals,
    lines,
    named,
    named_axis,
    of_enough,
    points,
    row_step,
    rows_of,
    share,
    squares,
    unique,
    whole_number,
    with_names,
)  # fmt: skip
from dstbench.rendering.of_scores import best_first
from dstbench.rendering.views import IS_COUNT
from dstbench.schema.core import SCORES

if TYPE_CHECKING:
    from dstbench.analysis.compare import Leaderboard
    from dstbench.analysis.compare_metrics import MetricComparison
    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.reconcile import Reconciliation
    from dstbench.analysis.sensitivity import Sensitivity

# The metric of slots that a heat map shows, if it is among the scores; otherwise the first one.
_OF_SLOTS: Final = "f1:avg=micro"
# The counts of a slot's turns in which gold has it.
_IN_GOLD: Final = ("correct", "wrong", "missed")
# Groups along which scores are drawn as lines, with the titles of the axis; other groups are rows of a heat map.
_ALONG: Final = {"turn": "Turn", "length": "Turns of the dialogue", "n_gold": "Gold slots in the turn"}
# Points of a paper that the cell of a matrix with a number needs.
_CELL: Final = 16
# If the names of columns have more characters in all, they stand at an angle.
_BESIDE: Final = 36
# More runs beside each other need the width of a page.
_MANY_RUNS: Final = 5
# The least distance of two labels at the ends of lines, as a share of the axis, and the end of an axis with labels.
_LABEL: Final = 0.065
_WITH_LABELS: Final = 1.35


def score_charts(scores: pl.DataFrame) -> dict[str, Chart]:
    """The figure of scores: points with standard errors, lines, or a heat map, depending on how they are grouped.

    Raises:
        UsageError: The scores are grouped by dialogue or by two things, or all are counts.
    """
    by = [column for column in scores.columns if column not in (*SCORES.columns, "exact")]
    shares = scores.filter(~IS_COUNT)
    if by == ["dialogue"] or len(by) > 1 or shares.is_empty():
        what = " and ".join(by) if by and shares.height else "run, of counts alone,"
        raise UsageError(f"there is no figure of scores by {what}", hint="--by run, domain, slot, turn or length")
    if not by:
        value, se = pl.col("value"), pl.col("se")
        return {"scores": _forest(shares.with_columns(low=value - se, high=value + se), "run", "standard errors")}
    if by[0] in _ALONG:
        return {"scores": scores_along(shares, by[0])}
    return {"scores": heat_map(scores, by[0])}  # counts say what gold has


def leaderboard_charts(leaderboard: Leaderboard) -> dict[str, Chart]:
    """The figures of a comparison: intervals of scores, differences, and how far metrics spread runs apart."""
    charts = {"scores": _forest(leaderboard.scores, "run", "intervals")}
    if leaderboard.models.height:
        charts["models"] = _forest(leaderboard.models, "model", "intervals of models' means")
    of_metrics = leaderboard.differences.partition_by("metric", maintain_order=True)
    for rows in of_metrics:
        metric = "".join(letter if letter.isalnum() else "-" for letter in rows["metric"].item(0))
        charts[f"differences_{metric}" if len(of_metrics) > 1 else "differences"] = _differences(rows)
    return charts | _spread(leaderboard.scores)


def correlation_charts(correlations: Correlations) -> dict[str, Chart]:
    """The figure of correlations: a matrix per run, all runs pooled first (Kim et al. 2022, Figs 3 and A1)."""
    from dstbench.analysis.associations import POOLED  # not before: it needs the modules of statistics

    rows = correlations.matrix.sort(pl.col("run") != POOLED, maintain_order=True)
    return {"correlations": _matrices(rows, "r", "Correlations")}


def metric_charts(compared: MetricComparison) -> dict[str, Chart]:
    """The figures of metrics: how they order runs and are swayed, how far they spread runs, how alike their orders are.

    Raises:
        UsageError: There is one run, or one metric, a count.
    """
    charts = _spread(compared.scores)
    if compared.agreement.height:
        rows = compared.agreement.with_columns(run=pl.lit(""), n="runs")
        charts["orders"] = _matrices(rows, "tau", "Kendall's tau of the orders of metrics")
    charts |= _judged(compared)
    if not charts:
        raise UsageError("there is no figure of one run, or of one count", hint="give two runs or more, and a share")
    return charts


def _judged(compared: MetricComparison) -> dict[str, Chart]:
    """How well each metric orders runs, against how it depends on when mistakes happen; a mark per metric."""
    what, rows = "Pairs that halves order alike", compared.reliability.select(
        "metric", value=1 - pl.col("swap_rate"), low=1 - pl.col("high"), high=1 - pl.col("low")
    )  # fmt: skip
    if compared.validity.height:
        what = f"Soft accuracy along {compared.validity['along'][0]}"
        rows = compared.validity.filter(measure="soft_accuracy").select("metric", "value", "low", "high")
    swayed = compared.dependence.filter(trait="to_mean").select(
        "metric", r="partial", r_low="partial_low", r_high="partial_high"
    )
    shown = with_names(rows.join(swayed, on="metric", maintain_order="left").drop_nulls())
    if shown.height < 2:
        return {}
    looks = apart("metric", unique(shown["metric"]), "shape")
    x = alt.X("r:Q", title="r with when mistakes happen, given their number", scale=alt.Scale(nice=False, padding=4))
    y = share(alt.Y, "value", what, scale=alt.Scale(zero=False, nice=False, padding=4))
    across = alt.Chart().mark_rule().encode(alt.X("r_low:Q"), y, alt.X2("r_high:Q"), color=looks["color"])
    up = alt.Chart().mark_bar(size=1, stroke=None).encode(x, alt.Y("low:Q"), alt.Y2("high:Q"), color=looks["color"])
    title = "Which metric to trust: how well it orders runs, and what sways it"
    return {"judged": chart(title, shown, across, up, points().encode(x, y, **looks))}


def sweep_charts(rows: pl.DataFrame) -> dict[str, Chart]:
    """The figure of a sweep: the first metric of each run under each profile, from `dstbench.sweep`.

    Profiles under which all runs have the same scores share a row, the one with the highest mean first.
    """
    metric, is_count = rows["metric"].item(0), rows.select(IS_COUNT.any()).item()
    rows = rows.filter(pl.col("metric") == metric).drop_nulls("value")
    of_profiles = rows.group_by("profile", maintain_order=True).agg(
        scores=pl.col("value").round(9), mean=exact_sum(pl.col("value")) / pl.len()
    )
    alike = of_profiles.group_by("scores", maintain_order=True).agg("profile", pl.col("mean").first())
    others = pl.col("profile").list.len() - 1
    more = pl.when(others > 0).then(pl.format(" +{}", others)).otherwise(pl.lit(""))
    places = alike.with_columns(profile=pl.col("profile").list.first(), label=pl.col("profile").list.first() + more)
    places = places.sort("mean", "label", descending=[True, False])
    shown = rows.join(places.select("profile", "label"), on="profile").select("run", "label", "value", "profile")
    runs = unique(rows["run"])
    labels, scale = places["label"].to_list(), alt.Scale(zero=False)
    x = alt.X("value:Q", title=name_of(metric), scale=scale, axis=alt.Axis(format="" if is_count else "~%"))
    looks = apart("run", runs, "shape")
    dots = points(size=18).encode(x, named_axis(alt.Y, "label", labels, grid=True), **looks)
    title = f"{name_of(metric)} of the same predictions under {of_profiles.height} conventions"
    return {"conventions": chart(title, shown, dots, height=row_step(labels), wide=len(runs) > _MANY_RUNS)}


def reconciliation_charts(result: Reconciliation) -> dict[str, Chart]:
    """The figure of a reconciliation: from the score here, a choice at a time, to the published one."""
    label = pl.when(step=0).then(pl.lit("here")).otherwise("choice").alias("label")
    steps = result.steps.select("step", "metric", "value", label)
    last = result.steps.filter(pl.col("step") == pl.col("step").max())
    published = last.select(pl.col("step") + 1, "metric", pl.col("value") - pl.col("off"), label=pl.lit("published"))
    before = pl.col("value").shift(1).over("metric").fill_null(pl.col("value")).alias("before")
    rows = with_names(pl.concat([steps, published]).drop_nulls("value").with_columns(before)).drop("step")
    names, metrics = unique(rows["label"]), unique(rows["metric"])
    axis = alt.Axis(format="" if any(parse(metric).is_count for metric in steps["metric"]) else "~%", tickCount=5)
    x = alt.X("value:Q", title=metrics[0] if len(metrics) == 1 else None, axis=axis, scale=alt.Scale(zero=False))
    y = named_axis(alt.Y, "label", names, grid=True)
    marks = alt.Chart().mark_bar(color=COLOURS[0], height=3).encode(x, y, x2="before"), points(color=INK).encode(x, y)
    title = "From the score here to the published one, a choice at a time"
    return {"steps": chart(title, rows, *marks, panel="metric", own="x", height=row_step(names))}


def sensitivity_charts(sensitivity: Sensitivity) -> dict[str, Chart]:
    """Mean loss by position, a panel per kind of error, a line per metric with its name at its end."""
    shown = with_names(sensitivity.costs.drop_nulls("loss"))
    shown = shown.with_columns(middle=(pl.col("start") + pl.col("end")) / 2)
    axis = alt.Axis(format="~%", values=[0, 0.2, 0.4, 0.6, 0.8, 1], grid=False)
    title = "When the error happens: t/(n − 1)"  # noqa: RUF001 # a minus
    x = alt.X("middle:Q", title=title, axis=axis, scale=alt.Scale(domain=[0, _WITH_LABELS], nice=False))
    low, high = min(0, *shown["loss"], 0), 1.05 * max(0.01, *shown["loss"], 0)
    scale, metrics = alt.Scale(domain=[low, high], nice=False), unique(shown["metric"])
    y = share(alt.Y, "loss", "Loss", scale=scale)
    last = shown.filter(pl.col("middle") == pl.col("middle").max().over("kind", "metric"))
    ends = pl.concat([
        rows.with_columns(at=_apart(rows["loss"], (high - low) * _LABEL))
        for rows in last.sort("loss", maintain_order=True).partition_by("kind")
    ]) if last.height else last.with_columns(at="loss")  # fmt: skip
    shown = shown.join(ends.select("kind", "metric", "middle", "at"), on=["kind", "metric", "middle"], how="left")
    looks = apart("metric", metrics, legend=False)
    names = alt.Chart().mark_text(align="left", dx=5, dy=-3, aria=False).transform_filter("datum.at !== null")
    names = names.encode(x, share(alt.Y, "at", "Loss", scale=scale), alt.Text("metric:N"), **looks)
    line = alt.Chart().mark_line().encode(x, y, **apart("metric", metrics, "dash", legend=False))
    dots = points().encode(x, y, **looks, shape=named(alt.Shape, "metric", metrics, legend=None))
    heading = "What one error costs, by when it happens" + (" (a sample)" if sensitivity.is_sample else "")
    return {"sensitivity": chart(heading, shown, line, dots, *([names] if len(metrics) > 1 else []), panel="kind")}


def slot_charts(by_domain: pl.DataFrame, by_slot: pl.DataFrame) -> dict[str, Chart]:
    """The heat maps of a report: of domains, unless all their scores are counts, and of slots."""
    rows = {"domain": by_domain, "slot": by_slot}
    return {f"{by}s": heat_map(scores, by) for by, scores in rows.items() if not scores.select(IS_COUNT.all()).item()}


def heat_map(rows: pl.DataFrame, by: str) -> Chart:
    """Scores of groups (slots, domains) as squares, darker where lower, the worst groups first.

    Several runs have a column each, with their F1 (or, if it is not among the scores, the first metric); a single run
    has a column per metric. A group that no turn of gold has is left out, an undefined score has no square.
    """
    in_gold = rows.filter(pl.col("metric").is_in(_IN_GOLD), pl.col("value") > 0)
    shares = rows.filter(~IS_COUNT)
    if in_gold.height:  # slots that only predictions have cannot be predicted well
        shares = shares.filter(pl.col(by).is_in(in_gold[by].unique().to_list()))
    metrics, column = unique(shares["metric"]), "run" if rows["run"].n_unique() > 1 else "metric"
    judged = _OF_SLOTS if _OF_SLOTS in metrics else metrics[0]
    order = shares.filter(pl.col("metric") == judged).drop_nulls("value")
    groups = order.group_by(by).agg(exact_sum(pl.col("value")) / pl.len()).sort("value", by)[by].to_list()
    if column == "run":
        shares = shares.filter(pl.col("metric") == judged)
    shown = with_names(shares.filter(pl.col(by).is_in(groups)).drop_nulls("value"))
    short = {metric: metric.partition(" (")[0] for metric in unique(shown["metric"])}
    if len(set(short.values())) == len(short):  # otherwise metrics differ in parameters alone
        shown = shown.with_columns(pl.col("metric").replace(short))
    shown = shown.select("run", by, "metric", "value", "turns")
    names = unique(shown[column])
    angle = 0 if len(names) * max(map(len, names), default=0) <= _BESIDE else -60
    axes = [named_axis(alt.X, column, names, orient="top", labelAngle=angle, domain=False, ticks=False),
            named_axis(alt.Y, by, groups, domain=False, ticks=False)]  # fmt: skip
    what = name_of(judged).partition(" (")[0] if column == "run" else "Scores"
    return squares(
        f"{what} by {by}, worst first", shown, axes, "value", [0, 1], text="format(100 * datum.value, '.0f')",
        height=row_step(groups), wide=len(names) > _MANY_RUNS,
    )  # fmt: skip


def scores_along(rows: pl.DataFrame, by: str) -> Chart:
    """Scores by turn, by length or by the number of gold slots; several metrics are lines in a panel per run."""
    rows = of_enough(rows, by)
    shown = with_names(rows).select("run", by, "metric", "value", "turns")
    metrics = unique(shown["metric"])
    one = len(metrics) == 1
    title = metrics[0] if one else "Score"
    y = share(alt.Y, "value", title, scale=alt.Scale(domain=[0, 1]))
    if rows.select(IS_COUNT.any()).item():
        y = alt.Y("value:Q", title=title)
    heading = f"{metrics[0] if one else 'Scores'} by {by.replace('_', ' ')}"
    x = whole_number(alt.X, by, _ALONG[by], rows[by].to_list(), grid=False)
    return lines(heading, shown, x, y, "run" if one else "metric", panel="" if one else "run")


def along_charts(scores: pl.DataFrame, along: str) -> dict[str, Chart]:
    """Scores along a number of the runs, means of runs with the same one; below, how far each metric is from GCA.

    As in the few-shot figures of Aksu & Chen 2024.

    Args:
        scores: Scores of runs, with a column of numbers.
        along: That column.
    """
    shares = with_names(scores.filter(~IS_COUNT).drop_nulls("value"))
    means = shares.group_by("metric", number=along, maintain_order=True).agg(pl.col("value").mean(), runs=pl.len())
    if means.is_empty():
        raise UsageError("there is no figure of counts along a number", hint="-m jga,fga,gca")
    gca = means.filter(metric="GCA").select("number", gca="value")
    apart_from = means.join(gca, on="number").filter(pl.col("metric") != "GCA")
    apart_from = apart_from.with_columns(value=(pl.col("gca") - pl.col("value")).abs()).drop("gca")
    panels = {"Score": means, "|GCA − X|": apart_from}  # noqa: RUF001 # a minus
    shown = pl.concat([rows.with_columns(what=pl.lit(what)) for what, rows in panels.items()])
    x = alt.X("number:Q", title=along, scale=alt.Scale(zero=False), axis=alt.Axis(grid=False))
    y = share(alt.Y, "value", "Score" if gca.is_empty() else None, scale=alt.Scale(zero=False))
    return {"along": lines(f"Scores along {along}", shown, x, y, "metric", panel="what", own="y")}


def _forest(rows: pl.DataFrame, by: str, what: str) -> Chart:
    """Scores and what is drawn around them, the best first, as in tables; with counts among them, shares in percent."""
    order = best_first(rows, rows["metric"].item(0))[by].to_list()
    shown, unit = with_names(rows.sort(pl.col(by).cast(pl.Enum(order)), maintain_order=True)), "~%"
    if rows.select(IS_COUNT.any()).item():  # the axes of all panels have one format
        shown, unit = shown.with_columns(pl.col("value", "low", "high") * (1 + 99 * ~IS_COUNT)), ""
        shown = shown.with_columns(pl.when(IS_COUNT).then("metric").otherwise(pl.col("metric") + " (%)"))
    return intervals(f"Scores and their {what}", shown, by, unit)


def _differences(rows: pl.DataFrame) -> Chart:
    """Differences of pairs in one metric in points, row minus column, as a triangle of squares; * is significant."""
    rows = with_names(rows).with_columns(pl.col("difference") * pl.when(IS_COUNT).then(1).otherwise(100))
    rows = rows.select("metric", "run", "other", "difference", "low", "high", "p_adjusted", "significant")
    runs, others, metric = unique(rows["run"]), unique(rows["other"]), rows["metric"].item(0)
    text = "datum.difference === null ? '-' : format(datum.difference, '.1f') + (datum.significant ? '*' : '')"
    largest = rows.select(pl.col("difference").abs().max()).item() or 1
    axes = [named_axis(alt.X, "other", others, labelAngle=-60), named_axis(alt.Y, "run", runs)]
    reading = f"{metric}: row minus column, in points; * significant"
    return squares(
        f"Differences in {metric}, in points: row minus column; * significant", rows, axes, "difference",
        [-largest, 0, largest], text=text, minus="datum.difference < 0", height=row_step(runs),
        wide=len(others) > _MANY_RUNS, below=reading,
    )  # fmt: skip


def _spread(scores: pl.DataFrame) -> dict[str, Chart]:
    """Mean and standard deviation of several runs' scores, by metric, on one axis (Kim et al. 2022, Fig 4)."""
    from dstbench.analysis.orders import spread_of  # not before: it needs the modules of statistics

    shares = scores.filter(~IS_COUNT).drop_nulls("value")
    if shares["run"].n_unique() < 2:
        return {}
    spread, mean, sd = with_names(spread_of(shares)), pl.col("mean"), pl.col("sd")
    metrics = unique(spread["metric"])
    y, title, scale = named_axis(alt.Y, "metric", metrics), "Mean ± SD; a mark per run", alt.Scale(domain=[0, 1])
    rule = alt.Chart().mark_rule().encode(share(alt.X, "low", title, scale=scale), alt.X2("high:Q"), y)
    dots = points(color=INK, size=20).encode(share(alt.X, "mean", title, scale=scale), y)
    of_runs = rows_of(with_names(shares).select("run", "metric", "value"))
    ticks = alt.Chart(of_runs).mark_tick(thickness=0.5, size=6, color=COLOURS[0], tooltip=True)
    ticks = ticks.encode(share(alt.X, "value", title, scale=scale), y)
    title = "Mean and standard deviation of the runs' scores"
    rows = spread.with_columns(low=mean - sd, high=mean + sd)
    return {"spread": chart(title, rows, rule, dots, ticks, height=row_step(metrics))}


def _matrices(rows: pl.DataFrame, value: str, title: str) -> Chart:
    """Correlations (the column `value`) as squares, a panel per run, in both halves; below zero in another colour."""
    rows = with_names(rows, "first", "second")
    both = pl.concat([rows, rows.rename({"first": "second", "second": "first"}).select(rows.columns)])
    names = unique(pl.concat([rows["first"], rows["second"]]))
    text = f"datum.{value} === null ? '-' : replace(format(datum.{value}, '.2f'), '0.', '.')"
    return squares(
        title, both.select("run", "first", "second", value, "low", "high", "n"),
        [named_axis(alt.X, "first", names, labelAngle=-60), named_axis(alt.Y, "second", names)],
        value, [-1, 0, 1], text=text, minus=f"datum.{value} < 0", panel="run", height=row_step(names),
        least=_CELL * len(names),
    )  # fmt: skip


def _apart(values: pl.Series, least: float) -> pl.Series:
    """Places of labels near increasing values, far enough apart to be read."""
    steps = pl.int_range(len(values), eager=True) * least
    # Each label is at its value, or above the one before it.
    return (values - steps).cum_max() + steps
