"""The charts of runs: which rows of a result each shows, and how. Metrics have the names that papers give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.analysis.traits import ROOT
from dstbench.errors import UsageError
from dstbench.metrics import parse
from dstbench.metrics.base import divide, exact_sum
from dstbench.metrics.registry import name_of
from dstbench.rendering.charts.chart import INK, Axis, Chart, Mark, bars, chart, lines, long, squares, unique
from dstbench.rendering.of_runs import best_first, named_in_short, profiles_alike
from dstbench.rendering.views import IS_COUNT, with_names
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

# The metric of slots that a heat map shows, if it is among the scores; otherwise the first one.
_OF_SLOTS: Final = "f1:avg=micro"
# Groups along which scores are drawn as lines, with the titles of the axis; other groups are rows of a heat map.
_ALONG: Final = {"turn": "Turn", "length": "Turns of the dialogue", "n_gold": "Gold slots in the turn"}
_FITTED: Final = {"zero": False, "nice": False, "padding": 4}  # an axis that begins and ends at the data
_FIFTHS: Final = {"values": [0, 0.2, 0.4, 0.6, 0.8, 1]}
_FOUR_TICKS: Final = {"tickCount": 4, "grid": False, "format": ",~f"}
_SLOPING: Final = {"labelAngle": -60}
_WHOLE: Final = {"domain": [0, 1]}
_FREE: Final = {"zero": False}
_MEAN: Final = exact_sum(pl.col("value")) / pl.len()


def score_charts(scores: pl.DataFrame) -> dict[str, Chart]:
    """The figure of scores: points with standard errors, lines, or a heat map, depending on how they are grouped."""
    by = [column for column in scores.columns if column not in (*SCORES.columns, "exact")]
    shares = scores.filter(~IS_COUNT)
    if by == ["dialogue"] or len(by) > 1 or shares.is_empty():
        what = " and ".join(by) if by and shares.height else "run, of counts alone,"
        raise UsageError(f"there is no figure of scores by {what}", hint="--by run, domain, slot, turn or length")
    if not by:
        value, se = pl.col("value"), pl.col("se")
        return {"scores": _intervals(shares.with_columns(low=value - se, high=value + se), "run", "standard errors")}
    # A heat map takes all scores: counts say what gold has.
    return {"scores": scores_along(shares, by[0]) if by[0] in _ALONG else heat_map(scores, by[0])}


def leaderboard_charts(leaderboard: Leaderboard) -> dict[str, Chart]:
    """Intervals of scores, differences of pairs (row minus column), and how far metrics spread runs apart."""
    charts = {"scores": _intervals(leaderboard.scores, "run", "intervals")}
    if leaderboard.models.height:
        charts["models"] = _intervals(leaderboard.models, "model", "intervals of models' means")
    differences = leaderboard.differences.with_columns(
        pl.col("difference") * pl.when(IS_COUNT).then(1).otherwise(100), pl.col("metric").alias("notation")
    )
    of_metrics = with_names(differences).partition_by("notation", maintain_order=True)
    for rows in of_metrics:
        metric, largest = rows["metric"].item(0), rows.select(pl.col("difference").abs().max()).item() or 1
        suffix = "".join(letter if letter.isalnum() else "-" for letter in rows["notation"].item(0))
        unit = "" if rows.select(IS_COUNT.any()).item() else ", in points"
        charts["differences" if len(of_metrics) == 1 else f"differences_{suffix}"] = squares(
            f"Differences in {metric}{unit}: row minus column; * significant",
            rows.select("metric", "run", "other", "difference", "low", "high", "p_adjusted", "significant"),
            (Axis("other", axis=_SLOPING), Axis("run")), "difference", [-largest, 0, largest],
            text="datum.difference === null ? '-' : format(datum.difference, '.1f') + (datum.significant ? '*' : '')",
            below=f"{metric}: row minus column{unit}; * significant",
        )  # fmt: skip
    return charts | _spread(leaderboard.scores)


def correlation_charts(correlations: Correlations) -> dict[str, Chart]:
    """The figure of correlations: a matrix per run, all runs pooled first (Kim et al. 2022, Figs 3 and A1)."""
    from dstbench.analysis.correlate import POOLED  # not before: it needs the modules of statistics

    rows = correlations.matrix.sort(pl.col("run") != POOLED, maintain_order=True)
    return {"correlations": _matrices(rows, "r", "Correlations")}


def metric_charts(compared: MetricComparison) -> dict[str, Chart]:
    """The figures of metrics: how far they spread runs, how alike orders are, how they order runs and are swayed."""
    charts = _spread(compared.scores)
    if compared.agreement.height:
        rows = compared.agreement.with_columns(run=pl.lit(""), n="runs")
        charts["orders"] = _matrices(rows, "tau", "Kendall's tau of the orders of metrics")
    what, low, high = "Pairs that halves order alike", 1 - pl.col("high"), 1 - pl.col("low")
    orders = compared.reliability.select("metric", value=1 - pl.col("swap_rate"), low=low, high=high)
    if compared.validity.height:
        what = f"Soft accuracy along {compared.validity['along'][0]}"
        orders = compared.validity.filter(measure="soft_accuracy").select("metric", "value", "low", "high")
    swayed = compared.dependence.filter(trait="to_mean")
    swayed = swayed.select("metric", r="partial", r_low="partial_low", r_high="partial_high")
    shown = with_names(orders.join(swayed, on="metric", maintain_order="left").drop_nulls())
    if shown.height > 1:
        x = Axis("r", "r with when mistakes happen, given their number",
                 scale={"nice": False, "padding": 4}, axis={"format": ",~f"})  # fmt: skip
        y, thin = Axis("value", what, scale=_FITTED), {"size": 1, "stroke": None, "tooltip": False}
        across = Mark("rule", x._replace(column="r_low", to="r_high"), y, "metric")
        up = Mark("bar", x, y._replace(column="low", to="high"), "metric", thin, is_apart=False)
        title = "Which metric to trust: how well it orders runs, and what sways it"
        charts["judged"] = chart(title, shown, across, up, Mark("point", x, y, "metric"))
    if not charts:
        raise UsageError("there is no figure of one run, or of one count", hint="give two runs or more, and a share")
    return charts


def sweep_charts(rows: pl.DataFrame) -> dict[str, Chart]:
    """The first metric of each run under each profile; profiles under which all scores are the same share a row."""
    metric, form = name_of(rows["metric"].item(0)), {"format": ",~f"} if rows.select(IS_COUNT.any()).item() else {}
    rows = rows.filter(pl.col("metric") == pl.col("metric").first()).drop_nulls("value")
    shown, number = named_in_short(profiles_alike(rows, [])), rows["profile"].n_unique()
    order = shown.group_by("profile").agg(mean=_MEAN).sort("mean", "profile", descending=[True, False])
    y = Axis("profile", names=order["profile"].to_list(), axis={"grid": True})
    mark = Mark("point", Axis("value", metric, scale=_FREE, axis=form), y, "run", {"size": 18})
    title = f"{metric} of the same predictions under {number} conventions"
    # The name of a run in a legend needs so many points of a paper.
    return {"conventions": chart(title, shown, mark, least=40 * rows["run"].n_unique())}


def reconciliation_charts(result: Reconciliation) -> dict[str, Chart]:
    """The figure of a reconciliation: from the score here, a choice at a time, to the published one."""
    label = pl.when(step=0).then(pl.lit("here")).otherwise("choice").alias("label")
    steps = result.steps.select("step", "metric", "value", label)
    last = result.steps.filter(pl.col("step") == pl.col("step").max())
    published = last.select(pl.col("step") + 1, "metric", pl.col("value") - pl.col("off"), label=pl.lit("published"))
    before = pl.col("value").shift(1).over("metric").fill_null(pl.col("value")).alias("before")
    rows = with_names(pl.concat([steps, published]).drop_nulls("value").with_columns(before)).drop("step")
    form = {"format": ",~f"} if any(parse(metric).is_count for metric in steps["metric"]) else {}
    x, y = Axis("value", _only(rows["metric"]), scale=_FREE, axis=form), Axis("label", axis={"grid": True})
    marks = Mark("bar", x._replace(to="before"), y, options={"height": 3}), Mark("point", x, y, options={"color": INK})
    title = "From the score here to the published one, a choice at a time"
    return {"steps": chart(title, rows, *marks, panel="metric", own="x")}


def sensitivity_charts(sensitivity: Sensitivity) -> dict[str, Chart]:
    """Mean loss by position, a panel per kind of error, a line per metric with its name at its end."""
    loss, end = pl.col("loss"), pl.col("middle") == pl.col("middle").max().over("kind", "metric")
    middle = (pl.col("start") + pl.col("end")) / 2
    shown = with_names(sensitivity.costs.drop_nulls("loss").with_columns(middle=middle))
    low, high = min(0, *shown["loss"], 0), 1.05 * max(0.01, *shown["loss"], 0)
    # Each name is at its line's end, or so far above the name below it that both can be read.
    apart = pl.int_range(pl.len()) * (high - low) * 0.065
    place = ((loss - apart).cum_max() + apart).over("kind").alias("at")
    places = shown.filter(end).sort("loss", maintain_order=True).select("kind", "metric", "middle", place)
    shown = shown.join(places, on=["kind", "metric", "middle"], how="left", maintain_order="left")
    title = "When the error happens: t/(n − 1)"  # noqa: RUF001 # a minus
    x = Axis("middle", title, scale={"domain": [0, 1.35], "nice": False}, axis={**_FIFTHS, "grid": False})
    y = Axis("loss", "Loss", scale={"domain": [low, high], "nice": False})
    looks, text = {"align": "left", "dx": 5, "dy": -3, "aria": False}, {"field": "metric", "type": "nominal"}
    names = Mark("text", x, y._replace(column="at"), "metric", looks, {"text": text})
    heading = "What one error costs, by when it happens" + (" (a sample)" if sensitivity.is_sample else "")
    return {"sensitivity": lines(heading, shown, x, y, "metric", names, panel="kind")}


def heat_map(rows: pl.DataFrame, by: str) -> Chart:
    """Scores of groups that gold has as squares, darker where lower, worst first: of several runs one metric each."""
    in_gold = rows.filter(pl.col("metric").is_in(["correct", "wrong", "missed"]), pl.col("value") > 0)[by].unique()
    shares = rows.filter(~IS_COUNT)
    if len(in_gold):  # slots that only predictions have cannot be predicted well
        shares = shares.filter(pl.col(by).is_in(in_gold.implode()))
    metrics, column = unique(shares["metric"]), "run" if rows["run"].n_unique() > 1 else "metric"
    judged = _OF_SLOTS if _OF_SLOTS in metrics else metrics[0]
    of_judged = shares.filter(pl.col("metric") == judged)
    groups = of_judged.drop_nulls("value").group_by(by).agg(_MEAN).sort("value", by)[by].to_list()
    shown = of_judged if column == "run" else shares
    shown = with_names(shown.filter(pl.col(by).is_in(groups)).drop_nulls("value"))
    short = {metric: metric.partition(" (")[0] for metric in unique(shown["metric"])}
    if len(set(short.values())) == len(short):  # otherwise metrics differ in parameters alone
        shown = shown.with_columns(pl.col("metric").replace(short))
    names, bare = unique(shown[column]), {"domain": False, "ticks": False}
    angle = 0 if len(names) * max(map(len, names), default=0) <= 36 else -60  # longer names would not fit
    what = name_of(judged).partition(" (")[0] if column == "run" else "Scores"
    return squares(
        f"{what} by {by}, worst first", shown.select("run", by, "metric", "value", "turns"),
        (Axis(column, axis={"orient": "top", "labelAngle": angle, **bare}), Axis(by, names=groups, axis=bare)),
        "value", [0, 1], text="format(100 * datum.value, '.0f')",
    )  # fmt: skip


def scores_along(rows: pl.DataFrame, by: str) -> Chart:
    """Scores by turn, by length or by the number of gold slots; several metrics are lines in a panel per run."""
    shown = with_names(_of_enough(rows, by)).select("run", by, "metric", "value", "turns")
    one, is_count = _only(shown["metric"]), rows.select(IS_COUNT.any()).item()
    y = Axis("value", one or "Score", scale={} if is_count else _WHOLE, axis={"format": ",~f"} if is_count else {})
    title = f"{one or 'Scores'} by {by.replace('_', ' ')}"
    x = Axis(by, _ALONG[by], axis={"grid": False})
    return lines(title, shown, x, y, "run" if one else "metric", panel="" if one else "run")


def along_charts(scores: pl.DataFrame, along: str) -> dict[str, Chart]:
    """Scores along a number of the runs, and how far each is from GCA, as few-shot figures of Aksu & Chen 2024."""
    shares = with_names(scores.filter(~IS_COUNT).drop_nulls("value"))
    means = shares.group_by("metric", number=along, maintain_order=True).agg(pl.col("value").mean(), runs=pl.len())
    if means.is_empty():
        raise UsageError("there is no figure of counts along a number", hint="-m jga,fga,gca")
    gca = means.filter(metric="GCA").select("number", gca="value")
    apart_from = means.join(gca, on="number").filter(pl.col("metric") != "GCA")
    apart_from = apart_from.with_columns(value=(pl.col("gca") - pl.col("value")).abs()).drop("gca")
    panels = {"Score": means, "|GCA − X|": apart_from}  # noqa: RUF001 # a minus
    shown = pl.concat([rows.with_columns(what=pl.lit(what)) for what, rows in panels.items()])
    x = Axis("number", along, scale=_FREE, axis={"grid": False, "format": ",~f"})
    y = Axis("value", "Score" if gca.is_empty() else None, scale=_FREE)
    return {"along": lines(f"Scores along {along}", shown, x, y, "metric", panel="what", own="y")}


def diagnosis_charts(diagnosis: Diagnosis) -> dict[str, Chart]:
    """The figures of a diagnosis: those of Kim et al. 2022, JGA by turn and by length, kinds of errors, and timing."""
    few_ticks = {"tickCount": 3}
    failures = long(diagnosis.first_failures, {
        "right again later": pl.col("recovered"), "never again": pl.col("dialogues") - pl.col("recovered"),
    }, "then", "n")  # fmt: skip
    binned = {"bin": {"binned": True, "step": 0.1}}
    first = Axis("low", "First wrong turn, as a share of the dialogue", "high", axis=_FIFTHS, channel=binned)
    stacked = Axis("n", "Dialogues", axis=few_ticks, channel={"stack": "zero"})
    slots = diagnosis.gold_slots
    runs = slots.partition_by("run", include_key=False, maintain_order=True)
    if all(run.equals(runs[0]) for run in runs):  # of the same gold: once for all runs
        slots = slots.filter(pl.col("run") == pl.col("run").first())
    form, ordinal = lines if slots["run"].n_unique() > 1 else bars, {"type": "ordinal"}
    largest = Axis("n_gold_max", "Largest number of gold slots in a turn", axis={"labelAngle": 0}, channel=ordinal)
    errors = diagnosis.errors.filter(pl.col("kind") != "correct", pl.col("n").sum().over("class") > 0)
    classes, n = unique(errors["class"]), Axis("n", "Slots of turns", axis={"tickCount": 3, "format": "~s"})
    timed = {f"{timed}, of {name_of(kind).lower()}": pl.col(f"{timed}_share") for kind, timed in TIMING.items()}
    of_these = Axis("share", "Share of these slots of turns", scale={"zero": True}, axis=few_ticks)
    return {
        "first_failures": chart("Where dialogues first fail", failures, Mark("bar", first, stacked, "then"),
                                panel="run"),
        "gold_slots": form("How many slots dialogues have", slots, largest,
                           Axis("dialogues", "Dialogues", axis=few_ticks), "run"),
        "by_turn": jga_line(diagnosis.by_turn, "turn"),
        "by_length": jga_line(diagnosis.by_length, "length"),
        "errors": bars("Kinds of errors", errors.filter(pl.col("n") > 0), n, Axis("class", names=classes), "kind",
                       panel="run"),
        "timing": bars("Errors of timing", long(diagnosis.timing, timed, "timing", "share"), of_these, Axis("run"),
                       panel="timing"),
    }  # fmt: skip


def trait_charts(traits: Traits) -> dict[str, Chart]:
    """Scores by each trait: mean and quartiles of its bins, and means by both (Aksu & Chen 2024, Fig 1)."""
    of_shares = traits.bins.filter(pl.col("metric").is_in(traits.signatures.filter(~IS_COUNT)["metric"].to_list()))
    if of_shares.is_empty() and traits.bins.height:
        raise UsageError("there is no figure of counts by traits", hint="-m fga,gca")
    charts, axes, metrics, both = dict[str, Chart](), list[Axis](), unique(of_shares["metric"]), traits.dialogues
    keys, value = ["run", "metric", "low", "high"], pl.col("value")
    for trait, bins in of_shares.group_by("trait", maintain_order=True):
        name, scale = str(trait[0]), {"type": "sqrt" if trait[0] in ROOT else "linear"}  # all bins are equally wide
        edges = bins.select("low", "high").unique().sort("low")
        defined = (dialogues.drop_nulls(name).sort(name) for dialogues in (traits.dialogues, both))
        alone, both = (rows.join_asof(edges, left_on=name, right_on="low", strategy="backward") for rows in defined)
        rows = alone.unpivot(metrics, index=["run", "low", "high"], variable_name="metric")
        spread = rows.drop_nulls("value").group_by(keys, maintain_order=True).agg(
            lower=value.quantile(0.25, "linear"), upper=value.quantile(0.75, "linear"), dialogues=pl.len()
        )  # fmt: skip
        shown = with_names(bins.select(*keys, mean="value").join(spread, on=keys, maintain_order="left"))
        shown = shown.with_columns(middle=(pl.col("low") + pl.col("high")) / 2)
        # All of a bin, as the only tick of an axis without an extent is called 0.
        domain = {} if shown.is_empty() else {"domain": [shown["low"].min(), shown["high"].max()]}
        x = Axis("middle", name_of(name), scale={**scale, **domain}, axis=_FOUR_TICKS)
        y, sizes = Axis("mean", "Mean and quartiles", scale={"zero": True}), sorted(shown["dialogues"].to_list())
        size = {"field": "dialogues", "type": "quantitative", "scale": {"range": [4, 60]},
                "title": "Dialogues in a bin", "legend": {"values": sorted({*sizes[:1], *sizes[-1:]})}}  # fmt: skip
        area = Mark("area", x, y._replace(column="lower", to="upper"), "metric", {"opacity": 0.18})
        marks = area, Mark("line", x, y, "metric"), Mark("point", x, y, "metric", channels={"size": size})
        charts[name] = chart(f"Scores by {name_of(name).lower()}", shown, *marks, panel="run")
        ends = {"low": f"{name}_low", "high": f"{name}_high"}
        both = both.rename(ends)
        axes.append(Axis(ends["low"], name_of(name), ends["high"], (), scale, _FOUR_TICKS, {"bin": "binned"}))
    if len(charts) > 1:
        edge_names = [end for axis in axes for end in (axis.column, axis.to)]
        scores = both.unpivot(metrics, index=edge_names, variable_name="metric").drop_nulls("value")
        means = scores.group_by("metric", *edge_names).agg(mean=divide(exact_sum(value), pl.len()), dialogues=pl.len())
        shown = with_names(means.sort(pl.col("metric").cast(pl.Enum(metrics)), *edge_names))
        depth = {"field": "mean", "type": "quantitative", "scale": {"domain": [0, 1], "range": [0.05, 1]},
                 "title": "Mean score", "legend": {"format": "%", "values": [0.2, 1]}}  # fmt: skip
        mark = Mark("rect", axes[0], axes[1], channels={"opacity": depth})
        charts["traits"] = chart("Scores by both traits", shown, mark, panel="metric")
    return charts


def jga_line(rows: pl.DataFrame, by: str) -> Chart:
    """JGA by turn, with intervals, as a turn is one of each dialogue, or by length; n is the number of dialogues."""
    shown = _of_enough(rows, by).select("run", by, "value", "turns", "dialogues")
    n = dict(shown.group_by(by).agg(pl.col("dialogues").max()).sort(by).iter_rows())
    ends = [wilson(value, dialogues) for value, dialogues in shown.select("value", "dialogues").iter_rows()]
    shown = shown.hstack(pl.DataFrame(ends, schema={"low": pl.Float64, "high": pl.Float64}, orient="row"))
    labels = {"grid": False, "labelExpr": f"[datum.label, 'n=' + {n}[datum.value]]"}
    x, y = Axis(by, _ALONG[by], axis=labels), Axis("value", "JGA", scale=_WHOLE)
    band = Mark("area", x, y._replace(column="low", to="high"), "run", {"opacity": 0.15, "aria": False})
    return lines(f"JGA by {by}", shown, x, y, "run", *([band] if by == "turn" else []))


def _only(column: pl.Series) -> str | None:
    """The only text of a column; None if it has several."""
    return unique(column)[0] if column.n_unique() == 1 else None


def _of_enough(rows: pl.DataFrame, by: str) -> pl.DataFrame:
    """Rows without the turns or lengths that less than one dialogue in a hundred has."""
    n = pl.col("dialogues").max()
    return rows.filter(n.over(by) >= 0.01 * n)


def _intervals(rows: pl.DataFrame, by: str, what: str) -> Chart:
    """Scores and what is drawn around them, the best first, as in tables, a panel per metric; shares in percent."""
    shown, form = with_names(best_first(rows, by)), "~%"
    if rows.select(IS_COUNT.any()).item():  # the axes of all panels have one format
        shown, form = shown.with_columns(pl.col("value", "low", "high") * (1 + 99 * ~IS_COUNT)), ",~f"
        shown = shown.with_columns(pl.when(IS_COUNT).then("metric").otherwise(pl.col("metric") + " (%)"))
    x = Axis("value", _only(shown["metric"]), scale=_FITTED, axis={"tickCount": 3, "format": form})
    rule, point = (
        Mark("rule", x._replace(column="low", to="high"), Axis(by)),
        Mark("point", x, Axis(by), "", {"size": 20}),
    )
    table = shown.select(by, "metric", "value", "low", "high")
    return chart(f"Scores and their {what}", table, rule, point, panel="metric", own="x")


def _spread(scores: pl.DataFrame) -> dict[str, Chart]:
    """Mean and standard deviation of several runs' scores, by metric, on one axis (Kim et al. 2022, Fig 4)."""
    from dstbench.analysis.rankings import spread_of  # not before: it needs the modules of statistics

    shares = scores.filter(~IS_COUNT).drop_nulls("value")
    if shares["run"].n_unique() < 2:
        return {}
    mean, sd, y = pl.col("mean"), pl.col("sd"), Axis("metric")
    rows = with_names(spread_of(shares)).with_columns(low=mean - sd, high=mean + sd)
    x, of_runs = Axis("mean", "Mean ± SD; a mark per run", scale=_WHOLE), with_names(shares)
    marks = (
        Mark("rule", x._replace(column="low", to="high"), y),
        Mark("point", x, y, options={"color": INK, "size": 20}),
        Mark("tick", x._replace(column="value"), y, options={"thickness": 0.5, "size": 6},
             rows=of_runs.select("run", "metric", "value")),
    )  # fmt: skip
    return {"spread": chart("Mean and standard deviation of the runs' scores", rows, *marks)}


def _matrices(rows: pl.DataFrame, value: str, title: str) -> Chart:
    """Correlations (the column `value`) as squares, a panel per run, in both halves; below zero in another colour."""
    rows = with_names(rows, "first", "second")
    both = pl.concat([rows, rows.rename({"first": "second", "second": "first"}).select(rows.columns)])
    names = unique(pl.concat([rows["first"], rows["second"]]))
    return squares(
        title, both.select("run", "first", "second", value, "low", "high", "n"),
        (Axis("first", names=names, axis=_SLOPING), Axis("second", names=names)), value, [-1, 0, 1], panel="run",
        text=f"datum.{value} === null ? '-' : replace(format(datum.{value}, '.2f'), '0.', '.')",
    )  # fmt: skip
