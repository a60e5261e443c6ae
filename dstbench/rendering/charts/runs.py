"""The charts of runs: which rows of a result each shows, and how. Metrics have the names that papers give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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
# The counts of a slot's turns in which gold has it.
_IN_GOLD: Final = ("correct", "wrong", "missed")
# Groups along which scores are drawn as lines, with the titles of the axis; other groups are rows of a heat map.
_ALONG: Final = {"turn": "Turn", "length": "Turns of the dialogue", "n_gold": "Gold slots in the turn"}
_FEW: Final = 0.01  # a turn or length that a smaller share of dialogues has is not drawn
_BESIDE: Final = 36  # if the names of columns have more characters in all, they stand at an angle
_OF_A_RUN: Final = 40  # points of a paper that the name of a run in a legend needs
_FITTED: Final = {"zero": False, "nice": False, "padding": 4}  # an axis that begins and ends at the data
_FIFTHS: Final = {"values": [0, 0.2, 0.4, 0.6, 0.8, 1]}
_SLOPING: Final = {"labelAngle": -60}
_WHOLE: Final = {"domain": [0, 1]}
# The least distance of two names at the ends of lines, as a share of the axis; the end of an axis with such names.
_BETWEEN_NAMES: Final = 0.065
_WITH_NAMES: Final = 1.35


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
    if by[0] in _ALONG:
        return {"scores": scores_along(shares, by[0])}
    return {"scores": heat_map(scores, by[0])}  # counts say what gold has


def leaderboard_charts(leaderboard: Leaderboard) -> dict[str, Chart]:
    """The figures of a comparison: intervals of scores, differences, and how far metrics spread runs apart."""
    charts = {"scores": _intervals(leaderboard.scores, "run", "intervals")}
    if leaderboard.models.height:
        charts["models"] = _intervals(leaderboard.models, "model", "intervals of models' means")
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
    charts |= _reliability(compared)
    if not charts:
        raise UsageError("there is no figure of one run, or of one count", hint="give two runs or more, and a share")
    return charts


def sweep_charts(rows: pl.DataFrame) -> dict[str, Chart]:
    """The figure of a sweep: the first metric of each run under each profile, from `dstbench.sweep`.

    Profiles under which all runs have the same scores share a row, the one with the highest mean first.
    """
    metric, is_count = rows["metric"].item(0), rows.select(IS_COUNT.any()).item()
    rows = rows.filter(pl.col("metric") == metric).drop_nulls("value")
    shown = named_in_short(profiles_alike(rows, []))
    order = shown.group_by("profile").agg(mean=exact_sum(pl.col("value")) / pl.len())
    order = order.sort("mean", "profile", descending=[True, False])
    x = Axis("value", name_of(metric), scale={"zero": False}, axis={"format": ""} if is_count else {})
    y = Axis("profile", names=order["profile"].to_list(), axis={"grid": True})
    title = f"{name_of(metric)} of the same predictions under {rows['profile'].n_unique()} conventions"
    least = _OF_A_RUN * rows["run"].n_unique()
    return {"conventions": chart(title, shown, Mark("point", x, y, "run", {"size": 18}), least=least)}


def reconciliation_charts(result: Reconciliation) -> dict[str, Chart]:
    """The figure of a reconciliation: from the score here, a choice at a time, to the published one."""
    label = pl.when(step=0).then(pl.lit("here")).otherwise("choice").alias("label")
    steps = result.steps.select("step", "metric", "value", label)
    last = result.steps.filter(pl.col("step") == pl.col("step").max())
    published = last.select(pl.col("step") + 1, "metric", pl.col("value") - pl.col("off"), label=pl.lit("published"))
    before = pl.col("value").shift(1).over("metric").fill_null(pl.col("value")).alias("before")
    rows = with_names(pl.concat([steps, published]).drop_nulls("value").with_columns(before)).drop("step")
    form = {"format": ""} if any(parse(metric).is_count for metric in steps["metric"]) else {}
    x, y = Axis("value", _only(rows["metric"]), scale={"zero": False}, axis=form), Axis("label", axis={"grid": True})
    marks = Mark("bar", x._replace(to="before"), y, options={"height": 3}), Mark("point", x, y, options={"color": INK})
    title = "From the score here to the published one, a choice at a time"
    return {"steps": chart(title, rows, *marks, panel="metric", own="x")}


def sensitivity_charts(sensitivity: Sensitivity) -> dict[str, Chart]:
    """Mean loss by position, a panel per kind of error, a line per metric with its name at its end."""
    middle, loss = (pl.col("start") + pl.col("end")) / 2, pl.col("loss")
    shown = with_names(sensitivity.costs.drop_nulls("loss").with_columns(middle=middle))
    low, high = min(0, *shown["loss"], 0), 1.05 * max(0.01, *shown["loss"], 0)
    # Each name is at its line's end, or so far above the name below it that both can be read.
    ends = shown.filter(pl.col("middle") == pl.col("middle").max().over("kind", "metric"))
    ends = ends.sort("loss", maintain_order=True)
    apart = pl.int_range(pl.len()) * (high - low) * _BETWEEN_NAMES
    places = ends.select("kind", "metric", "middle", at=((loss - apart).cum_max() + apart).over("kind"))
    shown = shown.join(places, on=["kind", "metric", "middle"], how="left", maintain_order="left")
    title = "When the error happens: t/(n − 1)"  # noqa: RUF001 # a minus
    x = Axis("middle", title, scale={"domain": [0, _WITH_NAMES], "nice": False}, axis={**_FIFTHS, "grid": False})
    y = Axis("loss", "Loss", scale={"domain": [low, high], "nice": False})
    looks, text = {"align": "left", "dx": 5, "dy": -3, "aria": False}, {"field": "metric", "type": "nominal"}
    names = Mark("text", x, y._replace(column="at"), "metric", looks, {"text": text})
    heading = "What one error costs, by when it happens" + (" (a sample)" if sensitivity.is_sample else "")
    return {"sensitivity": lines(heading, shown, x, y, "metric", names, panel="kind")}


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
    names = unique(shown[column])
    angle = 0 if len(names) * max(map(len, names), default=0) <= _BESIDE else -60
    bare = {"domain": False, "ticks": False}
    what = name_of(judged).partition(" (")[0] if column == "run" else "Scores"
    return squares(
        f"{what} by {by}, worst first", shown.select("run", by, "metric", "value", "turns"),
        (Axis(column, axis={"orient": "top", "labelAngle": angle, **bare}), Axis(by, names=groups, axis=bare)),
        "value", [0, 1], text="format(100 * datum.value, '.0f')",
    )  # fmt: skip


def scores_along(rows: pl.DataFrame, by: str) -> Chart:
    """Scores by turn, by length or by the number of gold slots; several metrics are lines in a panel per run."""
    shown = with_names(_of_enough(rows, by)).select("run", by, "metric", "value", "turns")
    one = _only(shown["metric"])
    is_count = rows.select(IS_COUNT.any()).item()
    y = Axis("value", one or "Score", scale={} if is_count else _WHOLE, axis={"format": ""} if is_count else {})
    title = f"{one or 'Scores'} by {by.replace('_', ' ')}"
    return lines(title, shown, _across(by), y, "run" if one else "metric", panel="" if one else "run")


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
    x = Axis("number", along, scale={"zero": False}, axis={"grid": False, "format": ""})
    y = Axis("value", "Score" if gca.is_empty() else None, scale={"zero": False})
    return {"along": lines(f"Scores along {along}", shown, x, y, "metric", panel="what", own="y")}


def diagnosis_charts(diagnosis: Diagnosis) -> dict[str, Chart]:
    """The figures of a diagnosis: those of Kim et al. 2022, JGA by turn and by length, kinds of errors, and timing."""
    return {
        "first_failures": _first_failures(diagnosis.first_failures),
        "gold_slots": _gold_slots(diagnosis.gold_slots),
        "by_turn": jga_line(diagnosis.by_turn, "turn"),
        "by_length": jga_line(diagnosis.by_length, "length"),
        "errors": _kinds_of_errors(diagnosis.errors),
        "timing": _timing(diagnosis.timing),
    }


def trait_charts(traits: Traits) -> dict[str, Chart]:
    """The figures of traits: scores by tail orientation, by non-uniformity, and by both (Aksu & Chen 2024, Fig 1)."""
    of_shares = traits.bins.filter(pl.col("metric").is_in(traits.signatures.filter(~IS_COUNT)["metric"].to_list()))
    if of_shares.is_empty() and traits.bins.height:
        raise UsageError("there is no figure of counts by traits", hint="-m fga,gca")
    of_traits = of_shares.partition_by("trait", maintain_order=True, as_dict=True)
    charts = {str(trait): _along_trait(traits.dialogues, bins) for (trait,), bins in of_traits.items()}
    if len(charts) > 1:
        charts["traits"] = _both_traits(traits.dialogues, of_shares)
    return charts


def jga_line(rows: pl.DataFrame, by: str) -> Chart:
    """JGA by turn or by length, from `Diagnosis.by_turn` or `Diagnosis.by_length`; n is the number of dialogues.

    JGA by turn has intervals: a turn is one of each dialogue. Turns and lengths of hardly any dialogues are left out.
    """
    shown = _of_enough(rows, by).select("run", by, "value", "turns", "dialogues")
    n = dict(shown.group_by(by).agg(pl.col("dialogues").max()).sort(by).iter_rows())
    ends = [wilson(value, dialogues) for value, dialogues in shown.select("value", "dialogues").iter_rows()]
    shown = shown.hstack(pl.DataFrame(ends, schema={"low": pl.Float64, "high": pl.Float64}, orient="row"))
    x, y = _across(by, labelExpr=f"[datum.label, 'n=' + {n}[datum.value]]"), Axis("value", "JGA", scale=_WHOLE)
    band = Mark("area", x, y._replace(column="low", to="high"), "run", {"opacity": 0.15, "aria": False})
    return lines(f"JGA by {by}", shown, x, y, "run", *([band] if by == "turn" else []))


def _only(column: pl.Series) -> str | None:
    """The only text of a column; None if it has several."""
    texts = unique(column)
    return texts[0] if len(texts) == 1 else None


def _of_enough(rows: pl.DataFrame, by: str) -> pl.DataFrame:
    """Rows of the turns or lengths that more than hardly any dialogues have."""
    n = pl.col("dialogues").max()
    return rows.filter(n.over(by) >= _FEW * n)


def _across(by: str, **axis: Any) -> Axis:
    """The axis of turns, of lengths or of numbers of gold slots."""
    return Axis(by, _ALONG[by], axis={"grid": False, **axis})


def _intervals(rows: pl.DataFrame, by: str, what: str) -> Chart:
    """Scores and what is drawn around them, the best first, as in tables, a panel per metric; shares in percent."""
    order = best_first(rows, rows["metric"].item(0))[by].to_list()
    shown, form = with_names(rows.sort(pl.col(by).cast(pl.Enum(order)), maintain_order=True)), "~%"
    if rows.select(IS_COUNT.any()).item():  # the axes of all panels have one format
        shown, form = shown.with_columns(pl.col("value", "low", "high") * (1 + 99 * ~IS_COUNT)), ""
        shown = shown.with_columns(pl.when(IS_COUNT).then("metric").otherwise(pl.col("metric") + " (%)"))
    x = Axis("value", _only(shown["metric"]), scale=_FITTED, axis={"tickCount": 3, "format": form})
    rule, point = (
        Mark("rule", x._replace(column="low", to="high"), Axis(by)),
        Mark("point", x, Axis(by), "", {"size": 20}),
    )
    table = shown.select(by, "metric", "value", "low", "high")
    return chart(f"Scores and their {what}", table, rule, point, panel="metric", own="x")


def _differences(rows: pl.DataFrame) -> Chart:
    """Differences of pairs in one metric in points, row minus column, as a triangle of squares; * is significant."""
    rows = with_names(rows).with_columns(pl.col("difference") * pl.when(IS_COUNT).then(1).otherwise(100))
    rows = rows.select("metric", "run", "other", "difference", "low", "high", "p_adjusted", "significant")
    metric, largest = rows["metric"].item(0), rows.select(pl.col("difference").abs().max()).item() or 1
    return squares(
        f"Differences in {metric}, in points: row minus column; * significant", rows,
        (Axis("other", axis=_SLOPING), Axis("run")), "difference", [-largest, 0, largest],
        text="datum.difference === null ? '-' : format(datum.difference, '.1f') + (datum.significant ? '*' : '')",
        below=f"{metric}: row minus column, in points; * significant",
    )  # fmt: skip


def _spread(scores: pl.DataFrame) -> dict[str, Chart]:
    """Mean and standard deviation of several runs' scores, by metric, on one axis (Kim et al. 2022, Fig 4)."""
    from dstbench.analysis.rankings import spread_of  # not before: it needs the modules of statistics

    shares = scores.filter(~IS_COUNT).drop_nulls("value")
    if shares["run"].n_unique() < 2:
        return {}
    mean, sd, y = pl.col("mean"), pl.col("sd"), Axis("metric")
    rows = with_names(spread_of(shares)).with_columns(low=mean - sd, high=mean + sd)
    x = Axis("mean", "Mean ± SD; a mark per run", scale=_WHOLE)
    of_runs = with_names(shares).select("run", "metric", "value")
    marks = (
        Mark("rule", x._replace(column="low", to="high"), y),
        Mark("point", x, y, options={"color": INK, "size": 20}),
        Mark("tick", x._replace(column="value"), y, options={"thickness": 0.5, "size": 6}, rows=of_runs),
    )
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


def _reliability(compared: MetricComparison) -> dict[str, Chart]:
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
    x = Axis("r", "r with when mistakes happen, given their number", scale={"nice": False, "padding": 4},
             axis={"format": ""})  # fmt: skip
    y = Axis("value", what, scale=_FITTED)
    across = Mark("rule", x._replace(column="r_low", to="r_high"), y, "metric")
    thin: dict[str, Any] = {"size": 1, "stroke": None, "tooltip": False}
    up = Mark("bar", x, y._replace(column="low", to="high"), "metric", thin, is_apart=False)
    title = "Which metric to trust: how well it orders runs, and what sways it"
    return {"judged": chart(title, shown, across, up, Mark("point", x, y, "metric"))}


def _gold_slots(rows: pl.DataFrame) -> Chart:
    """The largest number of gold slots in a dialogue (Kim et al. 2022, Fig 2); of the same gold, once for all runs."""
    runs = rows.partition_by("run", include_key=False, maintain_order=True)
    if all(run.equals(runs[0]) for run in runs):
        rows = rows.filter(pl.col("run") == pl.col("run").first())
    x = Axis("n_gold_max", "Largest number of gold slots in a turn", axis={"labelAngle": 0},
             channel={"type": "ordinal"})  # fmt: skip
    form = lines if rows["run"].n_unique() > 1 else bars
    return form("How many slots dialogues have", rows, x, Axis("dialogues", "Dialogues", axis={"tickCount": 3}), "run")


def _first_failures(rows: pl.DataFrame) -> Chart:
    """When failing dialogues first fail (Kim et al. 2022, Fig 1): bars, with a part for those that are right again."""
    parts = {"right again later": pl.col("recovered"), "never again": pl.col("dialogues") - pl.col("recovered")}
    binned = {"bin": {"binned": True, "step": 0.1}}
    x = Axis("low", "First wrong turn, as a share of the dialogue", "high", axis=_FIFTHS, channel=binned)
    y = Axis("n", "Dialogues", axis={"tickCount": 3}, channel={"stack": "zero"})
    shown = long(rows, parts, "then", "n")
    return chart("Where dialogues first fail", shown, Mark("bar", x, y, "then"), panel="run")


def _kinds_of_errors(rows: pl.DataFrame) -> Chart:
    """How many slots of turns are in each class of errors, from `Diagnosis.errors`, a panel per run."""
    shown = rows.filter(pl.col("kind") != "correct", pl.col("n").sum().over("class") > 0)
    classes = unique(shown["class"])
    x = Axis("n", "Slots of turns", axis={"tickCount": 3, "format": "~s"})
    return bars("Kinds of errors", shown.filter(pl.col("n") > 0), x, Axis("class", names=classes), "kind", panel="run")


def _timing(rows: pl.DataFrame) -> Chart:
    """The shares of missed slots that are late and of over-predicted ones that are early, from `Diagnosis.timing`."""
    shares = {f"{timed}, of {name_of(kind).lower()}": pl.col(f"{timed}_share") for kind, timed in TIMING.items()}
    x = Axis("share", "Share of these slots of turns", scale={"zero": True}, axis={"tickCount": 3})
    return bars("Errors of timing", long(rows, shares, "timing", "share"), x, Axis("run"), panel="timing")


def _along_trait(dialogues: pl.DataFrame, bins: pl.DataFrame) -> Chart:
    """The distribution of dialogues' scores in each bin of one trait: mean and quartiles, a panel per run.

    The more dialogues are in a bin, the larger is its point.
    """
    trait, keys = bins["trait"].item(0), ["run", "metric", "low", "high"]
    rows = _binned(dialogues, bins, trait).unpivot(
        on=unique(bins["metric"]), index=["run", "low", "high"], variable_name="metric"
    )
    value = pl.col("value")
    spread = rows.drop_nulls("value").group_by(keys, maintain_order=True).agg(
        lower=value.quantile(0.25, "linear"), upper=value.quantile(0.75, "linear"), dialogues=pl.len()
    )  # fmt: skip
    shown = with_names(bins.select(*keys, mean="value").join(spread, on=keys, maintain_order="left"))
    shown = shown.with_columns(middle=(pl.col("low") + pl.col("high")) / 2)
    # All of a bin, as the only tick of an axis without an extent is called 0.
    domain = {} if shown.is_empty() else {"domain": [shown["low"].min(), shown["high"].max()]}
    x = Axis("middle", name_of(trait), scale={**_scale(trait), **domain}, axis=_FOUR_TICKS)
    y = Axis("mean", "Mean and quartiles", scale={"zero": True})
    sizes = sorted(shown["dialogues"].to_list())
    size = {"field": "dialogues", "type": "quantitative", "scale": {"range": [4, 60]}, "title": "Dialogues in a bin",
            "legend": {"values": sorted({*sizes[:1], *sizes[-1:]})}}  # fmt: skip
    marks = (
        Mark("area", x, y._replace(column="lower", to="upper"), "metric", {"opacity": 0.18}),
        Mark("line", x, y, "metric"),
        Mark("point", x, y, "metric", channels={"size": size}),
    )
    return chart(f"Scores by {name_of(trait).lower()}", shown, *marks, panel="run")


def _both_traits(dialogues: pl.DataFrame, bins: pl.DataFrame) -> Chart:
    """Mean scores of all runs' dialogues by both traits, darker where higher, a panel per metric."""
    metrics, traits, rows = unique(bins["metric"]), unique(bins["trait"]), dialogues
    axes, edges = list[Axis](), list[str]()
    for trait in traits:
        low, high = f"{trait}_low", f"{trait}_high"
        rows = _binned(rows, bins.filter(trait=trait), trait).rename({"low": low, "high": high})
        axes.append(Axis(low, name_of(trait), high, (), _scale(trait), _FOUR_TICKS, {"bin": "binned"}))
        edges += [low, high]
    long = rows.unpivot(on=metrics, index=edges, variable_name="metric").drop_nulls("value")
    means = long.group_by("metric", *edges).agg(mean=divide(exact_sum(pl.col("value")), pl.len()), dialogues=pl.len())
    shown = with_names(means.sort(pl.col("metric").cast(pl.Enum(metrics)), *edges))
    legend = {"title": "Mean score", "legend": {"format": "%", "values": [0.2, 1]}}
    depth = {"field": "mean", "type": "quantitative", "scale": {"domain": [0, 1], "range": [0.05, 1]}, **legend}
    mark = Mark("rect", axes[0], axes[1], channels={"opacity": depth})
    return chart("Scores by both traits", shown, mark, panel="metric")


_FOUR_TICKS: Final = {"tickCount": 4, "grid": False, "format": ""}


def _scale(trait: str) -> dict[str, Any]:
    """The scale on which a trait's bins are equally wide."""
    return {"type": "sqrt" if trait in ROOT else "linear"}


def _binned(dialogues: pl.DataFrame, bins: pl.DataFrame, trait: str) -> pl.DataFrame:
    """Dialogues in which the trait is defined, with the ends of its bin."""
    edges = bins.select("low", "high").unique().sort("low")
    defined = dialogues.drop_nulls(trait).sort(trait)
    return defined.join_asof(edges, left_on=trait, right_on="low", strategy="backward")
