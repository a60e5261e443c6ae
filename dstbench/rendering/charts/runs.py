"""The forms that charts have, in Altair (intervals, squares, lines and bars), and the charts of runs.

Names differ in colour (for every kind of colour vision, after Okabe & Ito 2008), and in shape, dash or depth, for print
without colour. Shares are shown in percent, metrics by the names that papers give them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import altair as alt
import polars as pl

from dstbench.analysis.traits import ROOT
from dstbench.errors import UsageError
from dstbench.metrics import parse
from dstbench.metrics.base import divide, exact_sum
from dstbench.metrics.registry import name_of
from dstbench.rendering.of_runs import best_first
from dstbench.rendering.views import IS_COUNT
from dstbench.schema.core import SCORES
from dstbench.scoring.error_classes import TIMING
from dstbench.stats.normal import wilson

if TYPE_CHECKING:
    from dstbench.analysis.compare import Leaderboard
    from dstbench.analysis.compare_metrics import MetricComparison
    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.diagnose import Diagnosis
    from dstbench.analysis.reconcile import Reconciliation
    from dstbench.analysis.sensitivity import Sensitivity
    from dstbench.analysis.traits import Traits

#: A chart of one panel or of several.
Chart = alt.LayerChart | alt.FacetChart
Encoding = dict[str, Any]

#: The colours of runs (or metrics); the page replaces each by its own for light and dark screens.
COLOURS: Final = ("#0072b2", "#d55e00", "#00795a", "#a8487f", "#8a6a00", "#2a8ac0", "#333333", "#7d5fb2")
#: The colours of kinds of errors, and their order.
KINDS: Final = {"missed": COLOURS[5], "wrong": COLOURS[1], "over": COLOURS[4], "no-prediction": COLOURS[6]}
#: The colour of everything that is not a run: text, reference lines.
INK: Final = "#000000"
#: Labels break after so many characters, so that none is cut: seeds often differ at the end of their names.
LABEL: Final = 24
_SLOPING: Final = 44
# What tells names apart besides colour. The number of dashes and that of colours have no common divisor, so 56 lines
# differ in colour or dash; stacked bars beside each other differ in depth.
_DASHES: Final = [[1, 0], [5, 2], [2, 2], [7, 2, 2, 2], [1, 1], [9, 3], [4, 1, 1, 1, 1, 1]]
_DEPTHS: Final = [1, 0.45, 0.8, 0.3, 0.65, 0.15]
_FEW: Final = 0.01  # a turn or length that a smaller share of dialogues has is not drawn
# The opacity of the faintest and the darkest square; black text can be read on both.
FAINT: Final = 0.03
DARK: Final = 0.7
_POINT: Final = {"filled": True, "opacity": 1, "tooltip": True}


def chart(
    title: str,
    rows: pl.DataFrame,
    *layers: alt.Chart,
    panel: str = "",
    own: str = "",
    height: alt.Step | int | None = None,
    least: int | None = None,
    wide: bool = False,
    below: str = "",
) -> Chart:
    """Layers over rows, with a panel per name of a column that has several."""
    whole: Any = alt.layer(*layers, data=rows_of(rows))
    if height is not None:
        whole = whole.properties(height=height)
    if panel and rows[panel].n_unique() > 1:
        own_scale: dict[str, Any] = {own: "independent"}
        header = alt.Header(labelExpr=in_lines())
        whole = whole.facet(alt.Facet(f"{panel}:N", sort=unique(rows[panel]), title=None, header=header), columns=1)
        whole = whole.resolve_scale(**own_scale) if own else whole
    needs: dict[str, Any] = {key: value for key, value in (("least", least), ("wide", wide), ("below", below)) if value}
    found: Chart = whole.properties(title=title, usermeta=needs)
    return found


def rows_of(rows: pl.DataFrame) -> alt.Data:
    """Rows as data inside a chart."""
    return alt.Data(values=rows.to_dicts())  # type: ignore[no-untyped-call]


def in_lines(length: int = LABEL) -> str:
    """The expression of a label in lines of at most so many characters, which break after a mark if they can."""
    parts = rf"(.{{1,{length}}}$|.{{1,{length - 1}}}[-_\/ :]|.{{1,{length}}})"
    return (
        rf"length(datum.label) <= {length} ? datum.label : split(trim(replace(datum.label, /{parts}/g, '$1\n')), '\n')"
    )


def named(channel: type[Any], column: str, names: list[str], **options: Any) -> Any:
    """A channel of names, in this order."""
    return channel(f"{column}:N", **{"sort": names, "title": None, "scale": alt.Scale(domain=names), **options})


def named_axis(channel: type[Any], column: str, names: list[str], title: str | None = None, **axis: Any) -> Any:
    """An axis of names; long names take several lines (see `row_step`), vertically centred, or stand at an angle."""
    if axis.get("labelAngle"):
        lines = 1 + max(map(len, names), default=0) // _SLOPING
        looks = {"labelExpr": in_lines(_SLOPING), "labelLimit": 0, "labelPadding": 4 * lines - 2}
    else:
        tests = {f"length(datum.label) > {most}": -4 * lines for lines, most in ((2, 2 * LABEL), (1, LABEL))}
        offset = {"condition": [{"test": test, "value": value} for test, value in tests.items()], "value": 0}
        looks = {"labelExpr": in_lines(), "labelOffset": offset}
    return named(channel, column, names, title=title, axis=alt.Axis(**{**looks, "labelOverlap": False, **axis}))


def row_step(names: list[str], step: int = 12) -> alt.Step:
    """The height of a row of a named axis: that of its labels' lines."""
    lines = max((1 if len(text) <= LABEL else 1 + len(text) // (LABEL - 4) for text in names), default=1)
    return alt.Step(max(step, 8 * lines + 4))


def share(channel: type[Any], column: str, title: str | None, ticks: int = 5, **options: Any) -> Any:
    """A channel of shares, which is shown in percent."""
    return channel(f"{column}:Q", title=title, axis=alt.Axis(format="~%", tickCount=ticks), **options)


def whole_number(channel: type[Any], column: str, title: str, ends: list[int], ticks: int = 5, **axis: Any) -> Any:
    """A channel of whole numbers, of which no tick is between two: Vega-Lite drops `tickMinStep`."""
    span = max(ends, default=0) - min(ends, default=0)
    return channel(f"{column}:Q", title=title, axis=alt.Axis(tickCount=max(1, min(ticks, span)), **axis))


def apart(column: str, names: list[str], *channels: str, legend: bool = True) -> Encoding:
    """The channels that tell the names of a column apart: colour, and others; with a legend if there are several."""
    shown = {"legend": alt.Legend(labelExpr=in_lines()) if legend and len(names) > 1 else None}
    colours = [KINDS[kind] for kind in names] if set(names) <= KINDS.keys() else alt.Undefined
    found = {"color": named(alt.Color, column, names, scale=alt.Scale(domain=names, range=colours), **shown)}
    if "shape" in channels:
        found["shape"] = named(alt.Shape, column, names, **shown)
    if "dash" in channels:  # its legend would dash the others' symbols
        dashes = alt.Scale(domain=names, range=_DASHES)
        found["strokeDash"] = named(alt.StrokeDash, column, names, scale=dashes, legend=None)
    if "depth" in channels:
        depths = alt.Scale(domain=names, range=_DEPTHS)
        found["fillOpacity"] = named(alt.FillOpacity, column, names, scale=depths, **shown)
    return found


def points(**options: Any) -> Any:
    """Points, of which the mouse shows the row."""
    return alt.Chart().mark_point(**{**_POINT, **options})


def squares(
    title: str, rows: pl.DataFrame, axes: list[Any], shade: str, domain: list[float], *, text: str, minus: str = "",
    **content: Any,
) -> Chart:  # fmt: skip
    """Squares with texts, which can be read on each."""
    depths = alt.Scale(domain=domain, range=[DARK, FAINT, DARK][: len(domain)])
    colour = alt.when(minus or "true").then(alt.value(COLOURS[1])).otherwise(alt.value(COLOURS[0]))
    depth = alt.FillOpacity(f"{shade}:Q", scale=depths, legend=None)
    rect = alt.Chart().mark_rect(tooltip=True).encode(*axes, depth, color=colour)
    texts = alt.Chart().mark_text().transform_calculate(text=text).encode(*axes, alt.Text("text:N"))
    return chart(title, rows, rect, texts, **content)


def lines(title: str, rows: pl.DataFrame, x: Any, y: Any, by: str, *more: alt.Chart, **content: Any) -> Chart:
    """Lines with points, one per name of the column `by`, over or below what else there is."""
    names = unique(rows[by])
    line = alt.Chart().mark_line().encode(x, y, **apart(by, names, "dash"))
    return chart(title, rows, *more, line, points().encode(x, y, **apart(by, names, "shape")), **content)


def bars(
    title: str, rows: pl.DataFrame, x: Any, y: Any, by: str = "", *, stacked: bool = False, **content: Any
) -> Chart:
    """Horizontal bars; those of the names in the column `by` are stacked, or below each other."""
    names = unique(rows[by]) if by else []
    looks = apart(by, names, "depth") if by else {"color": alt.value(COLOURS[0])}
    if len(names) > 1 and not stacked:
        looks["yOffset"] = named(alt.YOffset, by, names)
        content["height"] = alt.Step(3.7)  # of one bar: 30 slots of ten runs fit on a page
    return chart(title, rows, alt.Chart().mark_bar(tooltip=True).encode(x, y, **looks), **content)


def of_enough(rows: pl.DataFrame, by: str) -> pl.DataFrame:
    """Rows of the turns or lengths that more than hardly any dialogues have."""
    n = pl.col("dialogues").max()
    return rows.filter(n.over(by) >= _FEW * n)


def unique(column: pl.Series) -> list[str]:
    """The texts of a column, each once, in order."""
    return column.unique(maintain_order=True).to_list()


def with_names(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Rows whose columns of metrics and traits (default: `metric`) have the names of papers in place of notations."""
    columns = columns or ("metric",)
    notations = {text for column in columns for text in rows[column].unique()}
    names = {text: name_of(text) for text in notations}
    return rows.with_columns(pl.col(columns).replace_strict(names, default=None, return_dtype=pl.String))


# The metric of slots that a heat map shows, if it is among the scores; otherwise the first one.
_OF_SLOTS: Final = "f1:avg=micro"
# The counts of a slot's turns in which gold has it.
_IN_GOLD: Final = ("correct", "wrong", "missed")
# Groups along which scores are drawn as lines, with the titles of the axis; other groups are rows of a heat map.
_ALONG: Final = {"turn": "Turn", "length": "Turns of the dialogue", "n_gold": "Gold slots in the turn"}
_CELL: Final = 16  # points of a paper that the cell of a matrix with a number needs
_BESIDE: Final = 36  # if the names of columns have more characters in all, they stand at an angle
_MANY_RUNS: Final = 5  # more runs beside each other need the width of a page
# The least distance of two labels at the ends of lines, as a share of the axis, and the end of an axis with labels.
_LABEL: Final = 0.065
_WITH_LABELS: Final = 1.35


def score_charts(scores: pl.DataFrame) -> dict[str, Chart]:
    """The figure of scores: points with standard errors, lines, or a heat map, depending on how they are grouped."""
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
    """The figures of metrics: how they order runs and are swayed, how far they spread runs, how alike orders are."""
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
    # Each label is at its value, or above the one before it.
    steps = pl.int_range(pl.len()).over("kind") * ((high - low) * _LABEL)
    ends = last.sort("loss", maintain_order=True).with_columns(
        at=(pl.col("loss") - steps).cum_max().over("kind") + steps
    )
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
    """Scores and what is drawn around them, the best first, as in tables, a panel per metric; shares in percent."""
    order = best_first(rows, rows["metric"].item(0))[by].to_list()
    shown, unit = with_names(rows.sort(pl.col(by).cast(pl.Enum(order)), maintain_order=True)), "~%"
    if rows.select(IS_COUNT.any()).item():  # the axes of all panels have one format
        shown, unit = shown.with_columns(pl.col("value", "low", "high") * (1 + 99 * ~IS_COUNT)), ""
        shown = shown.with_columns(pl.when(IS_COUNT).then("metric").otherwise(pl.col("metric") + " (%)"))
    names, metrics = unique(shown[by]), unique(shown["metric"])
    x: dict[str, Any] = {"scale": alt.Scale(zero=False, nice=False, padding=4)}
    x |= {"axis": alt.Axis(tickCount=3, format=unit), "title": metrics[0] if len(metrics) == 1 else None}
    y = named_axis(alt.Y, by, names)
    rule = alt.Chart().mark_rule().encode(alt.X("low:Q", **x), alt.X2("high:Q"), y)
    point = points(color=COLOURS[0], size=20).encode(alt.X("value:Q", **x), y)
    table = shown.select(by, "metric", "value", "low", "high")
    return chart(f"Scores and their {what}", table, rule, point, panel="metric", own="x", height=row_step(names))


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
    from dstbench.analysis.rankings import spread_of  # not before: it needs the modules of statistics

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


def diagnosis_charts(diagnosis: Diagnosis) -> dict[str, Chart]:
    """The figures of a diagnosis: those of Kim et al. 2022, JGA by turn and by length, kinds of errors, and timing."""
    return {
        "first_failures": _first_failures(diagnosis.first_failures),
        "gold_slots": _gold_slots(diagnosis.gold_slots),
        "by_turn": jga_line(diagnosis.by_turn, "turn", "Turn"),
        "by_length": jga_line(diagnosis.by_length, "length", "Turns of the dialogue"),
        "errors": _kinds_of_errors(diagnosis.errors),
        "timing": _timing(diagnosis.timing),
    }


def trait_charts(traits: Traits) -> dict[str, Chart]:
    """The figures of traits: scores by tail orientation, by non-uniformity, and by both (Aksu & Chen 2024, Fig 1)."""
    of_shares = traits.bins.filter(pl.col("metric").is_in(traits.signatures.filter(~IS_COUNT)["metric"].to_list()))
    if of_shares.is_empty() and traits.bins.height:
        raise UsageError("there is no figure of counts by traits", hint="-m fga,gca")
    charts = {
        str(trait): _along_trait(traits.dialogues, bins)
        for (trait,), bins in of_shares.group_by("trait", maintain_order=True)
    }
    if len(charts) > 1:
        charts["traits"] = _both_traits(traits.dialogues, of_shares)
    return charts


def jga_line(rows: pl.DataFrame, by: str, title: str) -> Chart:
    """JGA by turn or by length, from `Diagnosis.by_turn` or `Diagnosis.by_length`; n is the number of dialogues.

    JGA by turn has intervals: a turn is one of each dialogue. Turns and lengths of hardly any dialogues are left out.
    """
    shown = of_enough(rows, by).select("run", by, "value", "turns", "dialogues")
    n = dict(shown.group_by(by).agg(pl.col("dialogues").max()).sort(by).iter_rows())
    ends = pl.DataFrame(
        [wilson(value, dialogues) for value, dialogues in shown.select("value", "dialogues").iter_rows()],
        schema={"low": pl.Float64, "high": pl.Float64}, orient="row",
    )  # fmt: skip
    label = f"[datum.label, 'n=' + {n}[datum.value]]"
    x = whole_number(alt.X, by, title, [*n], grid=False, labelExpr=label)
    y: dict[str, Any] = {"title": "JGA", "scale": alt.Scale(domain=[0, 1])}
    band = alt.Chart().mark_area(opacity=0.15, aria=False)
    band = band.encode(x, share(alt.Y, "low", **y), alt.Y2("high:Q"), **apart("run", unique(rows["run"])))
    below = [band] if by == "turn" else []
    return lines(f"JGA by {by}", shown.hstack(ends), x, share(alt.Y, "value", **y), "run", *below)


def _gold_slots(rows: pl.DataFrame) -> Chart:
    """The largest number of gold slots in a dialogue (Kim et al. 2022, Fig 2); of the same gold, once for all runs."""
    runs = rows.partition_by("run", include_key=False, maintain_order=True)
    if all(run.equals(runs[0]) for run in runs):
        rows = rows.filter(pl.col("run") == pl.col("run").first())
    x = alt.X("n_gold_max:O", title="Largest number of gold slots in a turn", axis=alt.Axis(labelAngle=0))
    y = whole_number(alt.Y, "dialogues", "Dialogues", [0, *rows["dialogues"]], 3)
    form = lines if rows["run"].n_unique() > 1 else bars
    return form("How many slots dialogues have", rows, x, y, "run")


def _first_failures(rows: pl.DataFrame) -> Chart:
    """When failing dialogues first fail (Kim et al. 2022, Fig 1): bars, with a part for those that are right again."""
    parts = {"right again later": pl.col("recovered"), "never again": pl.col("dialogues") - pl.col("recovered")}
    split = rows.select("run", "low", "high", "dialogues", **parts).unpivot(
        on=list(parts), index=["run", "low", "high", "dialogues"], variable_name="then", value_name="n"
    )
    axis = alt.Axis(format="~%", values=[0, 0.2, 0.4, 0.6, 0.8, 1])
    title = "First wrong turn, as a share of the dialogue"
    x = alt.X("low:Q", bin=alt.BinParams(binned=True, step=0.1), title=title, axis=axis)
    y = whole_number(alt.Y, "n", "Dialogues", [0, *rows["dialogues"]], 3).stack("zero")
    bar = alt.Chart().mark_bar(tooltip=True).encode(x, alt.X2("high:Q"), y, **apart("then", [*parts], "depth"))
    return chart("Where dialogues first fail", split, bar, panel="run")


def _kinds_of_errors(rows: pl.DataFrame) -> Chart:
    """How many slots of turns are in each class of errors, from `Diagnosis.errors`, a panel per run."""
    errors = rows.filter(pl.col("kind") != "correct").select("run", "class", "kind", "n")
    shown = errors.filter(pl.col("n") > 0)
    classes = [text for text in unique(errors["class"]) if text in set(shown["class"])]
    x = whole_number(alt.X, "n", "Slots of turns", [0, *shown["n"]], 3, format="~s")
    y = named_axis(alt.Y, "class", classes)
    bar = alt.Chart().mark_bar(tooltip=True).encode(x, y, **apart("kind", unique(shown["kind"])))
    return chart("Kinds of errors", shown, bar, panel="run", height=row_step(classes))


def _timing(rows: pl.DataFrame) -> Chart:
    """The shares of missed slots that are late and of over-predicted ones that are early, from `Diagnosis.timing`."""
    shown = pl.concat([
        rows.select("run", timing=pl.lit(f"{timed}, of {name_of(kind).lower()}"), share=f"{timed}_share", slots=kind)
        for kind, timed in TIMING.items()
    ])  # fmt: skip
    runs = unique(rows["run"])
    x = share(alt.X, "share", "Share of these slots of turns", 3, scale=alt.Scale(zero=True))
    y = named_axis(alt.Y, "run", runs)
    return bars("Errors of timing", shown, x, y, panel="timing", height=row_step(runs))


def _along_trait(dialogues: pl.DataFrame, bins: pl.DataFrame) -> Chart:
    """The distribution of dialogues' scores in each bin of one trait: mean and quartiles, a panel per run.

    The more dialogues are in a bin, the larger is its point.
    """
    trait, metrics = bins["trait"].item(0), unique(bins["metric"])
    rows = _binned(dialogues, bins, trait)
    long = rows.unpivot(on=metrics, index=["run", "low", "high"], variable_name="metric").drop_nulls("value")
    value = pl.col("value")
    spread = long.group_by("run", "metric", "low", "high", maintain_order=True).agg(
        lower=value.quantile(0.25, "linear"), upper=value.quantile(0.75, "linear"), dialogues=pl.len()
    )
    means = bins.select("run", "metric", "low", "high", mean="value")
    shown = with_names(means.join(spread, on=["run", "metric", "low", "high"], maintain_order="left"))
    shown = shown.with_columns(middle=(pl.col("low") + pl.col("high")) / 2)
    # All of a bin, as the only tick of an axis without an extent is called 0.
    domain = alt.Undefined if shown.is_empty() else [shown["low"].min(), shown["high"].max()]
    x = alt.X("middle:Q", title=name_of(trait), axis=alt.Axis(grid=False, tickCount=4), scale=_scale(trait, domain))
    y: dict[str, Any] = {"title": "Mean and quartiles", "scale": alt.Scale(zero=True)}
    looks = apart("metric", unique(shown["metric"]), "shape")
    dashes = apart("metric", unique(shown["metric"]), "dash")
    band = alt.Chart().mark_area(opacity=0.18)
    band = band.encode(x, share(alt.Y, "lower", **y), alt.Y2("upper:Q"), color=looks["color"])
    line = alt.Chart().mark_line().encode(x, share(alt.Y, "mean", **y), **dashes)
    sizes = sorted(shown["dialogues"].to_list())
    legend = alt.Legend(values=sorted({*sizes[:1], *sizes[-1:]}))
    size = alt.Size("dialogues:Q", scale=alt.Scale(range=[4, 60]), title="Dialogues in a bin", legend=legend)
    dots = points().encode(x, share(alt.Y, "mean", **y), size, **looks)
    return chart(f"Scores by {name_of(trait).lower()}", shown, band, line, dots, panel="run")


def _both_traits(dialogues: pl.DataFrame, bins: pl.DataFrame) -> Chart:
    """Mean scores of all runs' dialogues by both traits, darker where higher, a panel per metric."""
    metrics = unique(bins["metric"])
    rows, axes = dialogues, []
    for channel, second, ((trait,), of_trait) in zip(
        (alt.X, alt.Y), (alt.X2, alt.Y2), bins.group_by("trait", maintain_order=True), strict=True
    ):
        low, high = f"{trait}_low", f"{trait}_high"
        rows = _binned(rows, of_trait, str(trait)).rename({"low": low, "high": high})
        axis = alt.Axis(tickCount=4, grid=False)
        binned = channel(f"{low}:Q", bin="binned", title=name_of(str(trait)), scale=_scale(str(trait)), axis=axis)
        axes += [binned, second(f"{high}:Q")]
    edges = [f"{trait}_{end}" for trait in unique(bins["trait"]) for end in ("low", "high")]
    long = rows.unpivot(on=metrics, index=edges, variable_name="metric").drop_nulls("value")
    means = long.group_by("metric", *edges).agg(mean=divide(exact_sum(pl.col("value")), pl.len()), dialogues=pl.len())
    order = pl.col("metric").cast(pl.Enum(metrics))
    shown = with_names(means.sort(order, *edges))
    legend = alt.Legend(format="%", values=[0.2, 1])
    scale = alt.Scale(domain=[0, 1], range=[0.05, 1])
    depth = alt.Opacity("mean:Q", scale=scale, title="Mean score", legend=legend)
    rect = alt.Chart().mark_rect(color=COLOURS[0], tooltip=True).encode(*axes, depth)
    return chart("Scores by both traits", shown, rect, panel="metric")


def _scale(trait: str, domain: Any = alt.Undefined) -> alt.Scale:
    """The scale on which a trait's bins are equally wide."""
    return alt.Scale(type="sqrt" if trait in ROOT else "linear", domain=domain)


def _binned(dialogues: pl.DataFrame, bins: pl.DataFrame, trait: str) -> pl.DataFrame:
    """Dialogues in which the trait is defined, with the ends of its bin."""
    edges = bins.select("low", "high").unique().sort("low")
    of = dialogues.drop_nulls(trait).sort(trait)
    return of.join_asof(edges, left_on=trait, right_on="low", strategy="backward")
