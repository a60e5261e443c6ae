"""Charts of scores: of runs, of their differences and correlations, and under several conventions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.errors import UsageError
from dstbench.metrics.exact_sums import exact_sum
from dstbench.metrics.registry import name_of
from dstbench.rendering.charts.grammar import (
    COLOURS,
    INK,
    Chart,
    Spec,
    chart,
    ends,
    in_panels,
    integer,
    name,
    named_axis,
    number,
    percent,
    row_step,
    specification,
    unique,
    with_names,
)
from dstbench.rendering.views import IS_COUNT, pivoted
from dstbench.schema.core import SCORES

if TYPE_CHECKING:
    from dstbench.analysis.compare import Leaderboard
    from dstbench.analysis.compare_metrics import MetricComparison
    from dstbench.analysis.correlate import Correlations

# The metric of slots that a heat map shows, if it is among the scores; otherwise the first one.
_OF_SLOTS: Final = "f1:avg=micro"
# The counts of a slot's turns in which gold has it.
_IN_GOLD: Final = ("correct", "wrong", "missed")
# Groups along which scores are drawn as lines, with the titles of the axis; other groups are rows of a heat map.
_ALONG: Final = {"turn": "Turn", "length": "Turns of the dialogue", "n_gold": "Gold slots in the turn"}
# Points of a paper that the cell of a matrix with a number needs, and the least distance of two labels, of which about
# a fifth is lost where the axis ends at ticks beyond the values.
_CELL: Final = 16
_LABEL: Final = 9
_HEIGHT: Final = 130
# The opacity of the faintest and the darkest square; black text can be read on both.
_FAINT: Final = 0.03
_DARK: Final = 0.7
# If the names of columns have more characters in all, they stand at an angle.
_BESIDE: Final = 36
# More runs beside each other need the width of a page.
_MANY_RUNS: Final = 5


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
        limits = (pl.col("value") + sign * pl.col("se") for sign in (-1, 1))
        rows = shares.with_columns(low=next(limits), high=next(limits))
        return {"scores": _intervals(rows, "run", "Scores with their standard errors")}
    if by[0] in _ALONG:
        return {"scores": scores_along(shares, by[0])}
    return {"scores": heat_map(scores, by[0])}  # counts say what gold has


def leaderboard_charts(leaderboard: Leaderboard) -> dict[str, Chart]:
    """The figures of a comparison: intervals of scores, differences, and how far metrics spread runs apart."""
    charts = {"scores": _intervals(leaderboard.scores, "run", "Scores with their intervals")}
    if leaderboard.models.height:
        charts["models"] = _intervals(leaderboard.models, "model", "Mean scores of models with their intervals")
    of_metrics = leaderboard.differences.partition_by("metric", maintain_order=True)
    for rows in of_metrics:
        metric = "".join(letter if letter.isalnum() else "-" for letter in rows["metric"].item(0))
        charts[f"differences_{metric}" if len(of_metrics) > 1 else "differences"] = _differences(rows)
    shares = leaderboard.scores.filter(~IS_COUNT)
    if shares["run"].n_unique() > 1:
        charts["spread"] = _spread(shares)
    return charts


def correlation_charts(correlations: Correlations) -> dict[str, Chart]:
    """The figure of correlations: a matrix per run, all runs pooled first (Kim et al. 2022, Figs 3 and A1)."""
    from dstbench.analysis.associations import POOLED  # not before: it needs the modules of statistics

    rows = correlations.matrix.sort(pl.col("run") != POOLED, maintain_order=True)
    return {"correlations": _matrices(with_names(rows, "first", "second"))}


def metric_charts(compared: MetricComparison) -> dict[str, Chart]:
    """The figures of metrics side by side: how far they spread runs, and how alike their orders are.

    Raises:
        UsageError: There is one run, or one metric, a count.
    """
    charts, shares = {}, compared.scores.filter(~IS_COUNT)
    if shares["run"].n_unique() > 1:
        charts["spread"] = _spread(shares)
    if compared.agreement.height:
        rows = with_names(compared.agreement, "first", "second").with_columns(run=pl.lit(""), n="runs")
        charts["orders"] = _matrices(rows, "tau", "Kendall's tau of the orders of metrics")
    if not charts:
        raise UsageError("there is no figure of one run, or of one count", hint="give two runs or more, and a share")
    return charts


def sweep_charts(rows: pl.DataFrame) -> dict[str, Chart]:
    """The figure of a sweep: the first metric of each run under each profile, from `dstbench.sweep`."""
    metric = rows["metric"].item(0)
    return {"conventions": _slopes(with_names(rows.filter(pl.col("metric") == metric)))}


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
    runs, metrics = unique(rows["run"]), unique(shares["metric"])
    judged = _OF_SLOTS if _OF_SLOTS in metrics else metrics[0]
    order = shares.filter(pl.col("metric") == judged).drop_nulls("value")
    order = order.group_by(by).agg(exact_sum(pl.col("value")) / pl.len()).sort("value", by)
    groups = order[by].to_list()
    what = f"by {by}, worst first"
    if len(runs) > 1:
        shares = shares.filter(pl.col("metric") == judged)
        what = f"{name_of(judged).partition(' (')[0]} {what}"
    else:
        what = f"Scores {what}"
    shown = with_names(shares.filter(pl.col(by).is_in(groups))).drop_nulls("value")
    short = {metric: metric.partition(" (")[0] for metric in unique(shown["metric"])}
    if len(set(short.values())) < len(short):  # metrics that differ in parameters alone
        short = {}
    shown = shown.select("run", by, pl.col("metric").replace(short), "value", "turns")
    column = "run" if len(runs) > 1 else "metric"
    columns = unique(shown[column])
    fit_beside = len(columns) * max(map(len, columns), default=0) <= _BESIDE
    top = {"orient": "top", "labelAngle": 0 if fit_beside else -60, "domain": False, "ticks": False}
    axes = {"x": named_axis(column, columns, **top), "y": named_axis(by, groups, domain=False, ticks=False)}
    shade = number("value", scale={"domain": [0, 1], "range": [_DARK, _FAINT]})
    text = "format(100 * datum.value, '.0f')"
    height, is_wide = row_step(groups), len(columns) > _MANY_RUNS
    return _squares(what, shown, axes, shade, text=text, minus="true", height=height, wide=is_wide)


def scores_along(rows: pl.DataFrame, by: str) -> Chart:
    """Scores by turn, by length or by the number of gold slots; several metrics are lines in a panel per run."""
    shown = with_names(rows).select("run", by, "metric", "value", "turns")
    metrics = unique(shown["metric"])
    x = integer(by, _ALONG[by], *ends(rows[by]), grid=False)
    y = number("value") if rows.select(IS_COUNT.any()).item() else percent("value", scale={"domain": [0, 1]})
    if len(metrics) == 1:
        return chart(f"{metrics[0]} by {by}", "line", shown, {"x": x, "y": {**y, "title": metrics[0]}})
    axes = {"x": x, "y": {**y, "title": "Score"}}
    whole = chart(f"Scores by {by.replace('_', ' ')}", "line", shown, axes, by="metric")
    return in_panels(whole, "run", unique(shown["run"]))


def _intervals(rows: pl.DataFrame, by: str, title: str) -> Chart:
    """A forest plot: a point and its interval per row, a panel per metric."""
    named, ticks = with_names(rows), {"format": "~%"}
    if rows.select(IS_COUNT.any()).item():  # the axes of all panels have one format
        named, ticks = named.with_columns(pl.col("value", "low", "high") * (1 + 99 * ~IS_COUNT)), {}
        named = named.with_columns(pl.when(IS_COUNT).then("metric").otherwise(pl.col("metric") + " (%)"))
    shown = named.select(by, "metric", "value", "low", "high")
    metrics, names = unique(shown["metric"]), unique(shown[by])
    scale: Spec = {"zero": False, "nice": False, "padding": 4}
    x = {"title": None, "scale": scale, "axis": {"tickCount": 3, **ticks}}
    y = named_axis(by, names)
    layers: list[Spec] = [
        {"mark": "rule", "encoding": {"y": y, "x": number("low", **x), "x2": {"field": "high"}}},
        {
            "mark": {"type": "point", "filled": True, "opacity": 1, "color": COLOURS[0], "size": 20, "tooltip": True},
            "encoding": {"y": y, "x": number("value", **x)},
        },
    ]
    whole = specification(title, shown, layer=layers, height=row_step(names))
    return in_panels(whole, "metric", metrics, x="independent")


def _differences(rows: pl.DataFrame) -> Chart:
    """The differences of pairs in one metric in points, row less column, as a triangle of squares; * is significant."""
    rows = with_names(rows).with_columns(pl.col("difference") * pl.when(IS_COUNT).then(1).otherwise(100))
    rows = rows.select("metric", "run", "other", "difference", "low", "high", "p_adjusted", "significant")
    runs, others = unique(rows["run"]), unique(rows["other"])
    text = "datum.difference === null ? '-' : format(datum.difference, '.1f') + (datum.significant ? '*' : '')"
    largest = rows.select(pl.col("difference").abs().max()).item() or 1
    shade = number("difference", scale={"domain": [-largest, 0, largest], "range": [_DARK, _FAINT, _DARK]})
    axes = {"x": named_axis("other", others, labelAngle=-60), "y": named_axis("run", runs)}
    title = f"Differences in {rows['metric'].item(0)}, in points: row less column; * significant"
    height, is_wide = row_step(runs), len(others) > _MANY_RUNS
    return _squares(title, rows, axes, shade, text=text, minus="datum.difference < 0", height=height, wide=is_wide)


def _spread(scores: pl.DataFrame) -> Chart:
    """Mean and standard deviation of the runs' scores, by metric, on one axis (Kim et al. 2022, Fig 4)."""
    from dstbench.analysis.orders import spread_of  # not before: it needs the modules of statistics

    shares = scores.drop_nulls("value")
    spread = with_names(spread_of(shares)).with_columns(
        low=pl.col("mean") - pl.col("sd"), high=pl.col("mean") + pl.col("sd")
    )
    shares = with_names(shares).select("run", "metric", "value")
    metrics = unique(shares["metric"])
    y = named_axis("metric", metrics)
    scale: Spec = {"scale": {"domain": [0, 1]}, "title": "Mean ± standard deviation; a mark per run"}
    tick = {"type": "tick", "thickness": 0.5, "size": 6, "color": COLOURS[0], "tooltip": True}
    point = {"type": "point", "filled": True, "opacity": 1, "color": INK, "size": 20, "tooltip": True}
    return specification(
        "Mean and standard deviation of the runs' scores", spread, height=row_step(metrics),
        layer=[
            {"mark": "rule", "encoding": {"y": y, "x": percent("low", **scale), "x2": {"field": "high"}}},
            {"mark": point, "encoding": {"y": y, "x": percent("mean", **scale)}},
            {
                "data": {"values": shares.to_dicts()},
                "mark": tick,
                "encoding": {"y": y, "x": percent("value", **scale)},
            },
        ],
    )  # fmt: skip


def _matrices(rows: pl.DataFrame, value: str = "r", title: str = "Correlations") -> Chart:
    """Correlations (the column `value`) as squares, a panel per run, in both halves; below zero in another colour."""
    both = pl.concat([rows, rows.rename({"first": "second", "second": "first"}).select(rows.columns)])
    names = unique(pl.concat([rows["first"], rows["second"]]))
    axes = {"x": named_axis("first", names, labelAngle=-60), "y": named_axis("second", names)}
    shown = both.select("run", "first", "second", value, "low", "high", "n")
    shade = number(value, scale={"domain": [-1, 0, 1], "range": [_DARK, _FAINT, _DARK]})
    text = f"datum.{value} === null ? '-' : replace(format(datum.{value}, '.2f'), '0.', '.')"
    height, least = row_step(names), _CELL * len(names)
    minus = f"datum.{value} < 0"
    whole = _squares(title, shown, axes, shade, text=text, minus=minus, height=height, least=least)
    return in_panels(whole, "run", unique(rows["run"]))


def _squares(
    title: str,
    rows: pl.DataFrame,
    axes: Spec,
    shade: Spec,
    *,
    text: str,
    minus: str,
    height: Spec,
    least: int | None = None,
    wide: bool = False,
) -> Chart:
    """Squares with texts, which can be read on each.

    Args:
        title: What they show.
        rows: A row per square.
        axes: Their places.
        shade: The channel of how dark they are, `_FAINT` to `_DARK`.
        text: The expression of their texts.
        minus: An expression: where it holds, squares are orange, elsewhere blue.
        height: The height of a row.
        least: See `specification`.
        wide: Likewise.
    """
    colour = {"condition": {"test": minus, "value": COLOURS[1]}, "value": COLOURS[0]}
    looks = {"fillOpacity": {**shade, "legend": None}, "color": colour}
    layers = [
        {"mark": {"type": "rect", "tooltip": True}, "encoding": looks},
        {
            "mark": "text",
            "transform": [{"calculate": text, "as": "text"}],
            "encoding": {"text": {"field": "text", "type": "nominal"}},
        },
    ]
    return specification(title, rows, encoding=axes, layer=layers, height=height, least=least, wide=wide)


def _slopes(rows: pl.DataFrame) -> Chart:
    """Scores under each convention, a line per run with its name at its end; equal conventions share a place."""
    runs = unique(rows["run"])
    scores = pivoted(rows, "run", "profile", "value")
    values = scores.drop("profile").columns
    same = scores.group_by(pl.struct(pl.col(values).round(9)).alias("scores"), maintain_order=True).agg("profile")
    more = pl.when(pl.col("profile").list.len() > 1).then(pl.format(" +{}", pl.col("profile").list.len() - 1))
    labels = same.with_columns(label=pl.col("profile").list.first() + more.fill_null("")).explode("profile")
    mean = scores.select("profile", mean=pl.mean_horizontal(values))
    places = labels.join(mean, on="profile").group_by("label").agg(pl.col("mean").max())
    order = places.sort("mean", "label", descending=[True, False])["label"].to_list()
    shown = rows.join(labels.select("profile", "label"), on="profile").unique(["run", "label"], maintain_order=True)
    shown = shown.select("run", "label", "value", "profile").drop_nulls("value")
    ends = shown.filter(pl.col("label") == order[-1]).sort("value", "run")
    metric = rows["metric"].item(0)
    ends = ends.with_columns(
        at=_apart(ends["value"], shown.select(pl.col("value").max() - pl.col("value").min()).item() or 0)
    )
    x = named_axis("label", order, labelAngle=-40, grid=True)
    scale = {"zero": False, "nice": True}
    looks = chart("", "line", shown, {})
    y = number if rows.select(IS_COUNT.any()).item() else percent
    line = {**{channel: {**look, "legend": None} for channel, look in looks["encoding"].items()}, "x": x}
    line["y"] = y("value", title=metric, scale=scale)
    # The mouse shows nothing on names: where they stand is not the value.
    text = {"type": "text", "align": "left", "dx": 6, "tooltip": None, "aria": False}
    return specification(
        f"{metric} of the same predictions under {scores.height} conventions", shown, wide=True, height=_HEIGHT,
        layer=[
            {"mark": looks["mark"], "encoding": line},
            {
                "data": {"values": ends.to_dicts()},
                "mark": text,
                "encoding": {
                    "x": x, "y": y("at", title=metric, scale=scale), "text": name("run", runs),
                    "color": line["color"],
                },
            },
        ],
    )  # fmt: skip


def _apart(values: pl.Series, span: float) -> pl.Series:
    """Places of labels near increasing values, far enough apart to be read."""
    least = span * _LABEL / _HEIGHT
    steps = pl.int_range(len(values), eager=True) * least
    # Each label is at its value, or above the one before it.
    return (values - steps).cum_max() + steps
