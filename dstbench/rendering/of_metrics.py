"""How judgements of metrics are shown: metrics side by side, and what errors cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.errors import number_of
from dstbench.metrics.registry import sign_of
from dstbench.rendering import sentences
from dstbench.rendering.of_analyses import square
from dstbench.rendering.of_scores import units_of
from dstbench.rendering.tables import signature_lines
from dstbench.rendering.views import Layout, View, percent
from dstbench.schema.analysis import (
    DEPENDENCE,
    ERROR_COSTS,
    POSITION_BIAS,
    POWER,
    RANK_AGREEMENT,
    RELIABILITY,
    SAMPLE_SIZES,
    SPREAD,
    VALIDITY,
)
from dstbench.schema.core import Table

if TYPE_CHECKING:
    from dstbench.analysis.compare_metrics import MetricComparison
    from dstbench.analysis.sensitivity import Sensitivity

_MOST_METRICS: Final = 10
_MEASURES: Final = {"somers_d": "Somers' d", "soft_accuracy": "soft accuracy"}


def metrics(compared: MetricComparison) -> Layout:
    """Spread and pairs told apart, a matrix of tau, the metrics whose orders agree least, and correlations."""
    runs, pairs = compared.scores["run"].n_unique(), sentences.pairs_of_all(compared)
    spread = _spread(compared, pairs)
    title = f"Metrics over {number_of(runs, 'run')}" + (f", {number_of(pairs, 'pair')}" if pairs else "")
    judged, spread = _orders(compared), spread._replace(title=title)
    views = [*judged, spread]
    if compared.agreement.height:
        title = "Kendall's tau of two metrics' orders; above the diagonal the pairs of runs that they reverse"
        turned = pl.when(pl.col("tau").is_not_null()).then("reversed")
        taus = compared.agreement.with_columns(reversed=turned)
        views += [
            View(title, square(taus, RANK_AGREEMENT, "{tau}", "{reversed}", "metric")),
            *_least_alike(compared),
        ]
    if compared.dependence.height:
        title = (
            f"Correlations of dialogues' scores with traits, and {percent(compared.dependence['level'][0])} intervals"
        )
        given = compared.dependence.drop("r", "low", "high").rename(
            {"partial": "r", "partial_low": "low", "partial_high": "high"}
        )
        same = "The same given the dialogue's numbers of mistakes and turns"
        for heading, rows in ((title, compared.dependence), (same, given)):
            views.append(View(heading, rows, DEPENDENCE, ["metric"], {"{}": "{r} [{low}, {high}]"}, "trait"))
    about, signatures = _about_spread(compared), signature_lines(compared.scores.drop_nulls("signature"))
    notes = [*about, *_about_orders(compared)]
    caption = f"Metrics over {number_of(runs, 'run')} (%): mean and standard deviation over runs, and range."
    if "apart" in spread.cells:
        caption += f" Apart: {f'of {pairs:,} ' if pairs else ''}pairs of runs, those that the metric tells apart."
    apart_or_noise = {
        title: text for title, text in spread.cells.items()
        if title not in ("runs", "mean", "sd", "lowest", "highest", "range")
    }  # fmt: skip
    cells = {"mean": "{mean} ±{sd}", "range": "{range}", **apart_or_noise}
    heads = {name: name.capitalize() for name in cells if name != "sd/se"}
    paper = spread._replace(cells=cells, caption=caption, heads=heads)
    findings = [*sentences.which_metric(compared), *sentences.metrics_apart(compared)]
    parts = {"agreement of orders": compared.agreement.height, "correlations with traits": compared.dependence.height}
    rest = ", ".join([*(words for words, rows in parts.items() if rows), "how all was computed"])
    short = {name: text for name, text in spread.cells.items() if name not in ("lowest", "highest")}
    first = [spread._replace(cells=short)] if compared.reliability.is_empty() else [_in_short(compared, spread)]
    return Layout(
        views, about[:1], findings, "compare-metrics", [paper], [*about, *signatures], first, notes[1:], signatures,
        rest,
    )  # fmt: skip


def _in_short(compared: MetricComparison, spread: View) -> View:
    """A row per metric: how it orders runs of a known order, how reliably, and what it tells apart."""
    rows, cells = spread.rows.join(compared.reliability.select("metric", "swap_rate"), on="metric"), dict[str, str]()
    if compared.validity.height:
        tau = compared.validity.filter(measure="tau").select("metric", "value", "low", "high")
        soft = compared.validity.filter(measure="soft_accuracy").select("metric", soft="value")
        rows = rows.join(tau, on="metric", maintain_order="left").join(soft, on="metric", maintain_order="left")
        along = compared.validity["along"][0]
        cells = {f"tau along {along}": "{value:r} [{low:r}, {high:r}]", "soft accuracy": "{soft:share}"}
    cells |= {"swap rate": "{swap_rate:share}"} | ({} if cells else {"mean": "{mean}", "sd": "{sd}"})
    cells |= {name: text for name, text in spread.cells.items() if name in ("sd/se", "apart")}
    return spread._replace(rows=rows, cells=cells)


def _orders(compared: MetricComparison) -> list[View]:
    """How metrics order runs of a known order, and how reliably they order runs."""
    views = []
    if compared.validity.height:
        along, level = compared.validity["along"][0], percent(compared.validity["level"][0])
        title = f"Agreement with the order along {along}, and {level} intervals"
        rows = compared.validity.with_columns(pl.col("measure").replace(_MEASURES))
        views.append(View(title, rows, VALIDITY, ["metric"], {"{}": "{value} [{low}, {high}]"}, "measure"))
    if compared.reliability.height:
        level = percent(compared.reliability["level"][0])
        title = f"Reliability: pairs of runs that random halves of dialogues order otherwise (%), and {level} intervals"
        cells = {"swap rate": "{swap_rate} [{low:share}, {high:share}]", "tau of halves": "{tau_halves}"}
        views.append(View(title, compared.reliability, RELIABILITY, ["metric"], {**cells, "tau of all": "{tau_full}"}))
    if compared.sizes.height:
        title = "Pairs of runs that so many dialogues, drawn at random, order as all do (%)"
        views.append(View(title, compared.sizes, SAMPLE_SIZES, ["metric"], {"{}": "{alike}"}, "dialogues"))
    return views


def _spread(compared: MetricComparison, pairs: int | None) -> View:
    """A row per metric: spread, signal to noise, and the pairs that it tells apart."""
    cells = {name: f"{{{name}}}" for name in ("mean", "sd", "lowest", "highest", "range")}
    if compared.spread["runs"].n_unique() > 1:  # else the title has their number
        cells = {"runs": "{runs}", **cells}
    if compared.spread["signal_to_noise"].count():
        cells["sd/se"] = "{signal_to_noise}"
    rows, adjustment = compared.spread, "none"
    if compared.power["pairs"].sum():
        apart = (pl.when(pl.col(name.replace("apart", "power")).is_not_null()).then(name).alias(name)
                 for name in ("apart", "apart_adjusted"))  # fmt: skip
        power = compared.power.select("metric", "pairs", *apart, "median_detectable")
        rows = rows.join(power, on="metric", how="left", maintain_order="left")
        adjustment = compared.power["adjustment"][0]
        cells |= {} if pairs else {"pairs": "{pairs}"}
        cells |= {"apart": "{apart}"} | ({} if adjustment == "none" else {adjustment: "{apart_adjusted}"})
        cells["detectable"] = "{median_detectable}"
    table = Table("", "", **{**POWER.columns, **SPREAD.columns})
    return View("", rows, table, ["metric"], cells)


def _least_alike(compared: MetricComparison) -> list[View]:
    """The pairs of metrics that reverse pairs of runs, those that agree least first."""
    rows = compared.agreement.filter(pl.col("reversed") > 0).sort("tau", nulls_last=True, maintain_order=True)
    if rows.is_empty():
        return []
    shown = rows.head(_MOST_METRICS)
    pairs = [sentences.reversed_pairs(compared, *both) for both in shown.select("first", "second").iter_rows()]
    level = rows["level"][0]
    turned = "reversed: better by the first/better by the second"
    shown = shown.with_columns(pl.Series(turned, pairs, pl.String), metrics=pl.format("{}, {}", "first", "second"))
    cells = {
        "tau": "{tau}",
        **({} if level is None else {percent(level): "{low} to {high}"}),
        turned: "{turned}",
    }
    of = f", {_MOST_METRICS} of {rows.height}" if rows.height > _MOST_METRICS else ""
    title = f"Metrics that reverse pairs of runs, the least alike first{of}"
    return [View(title, shown.rename({turned: "turned"}), RANK_AGREEMENT, ["metrics"], cells)]


def _about_spread(compared: MetricComparison) -> list[str]:
    """How spread and the pairs told apart were computed."""
    lines = [units_of(compared.scores), "sd, range: over runs"]
    if compared.design.is_empty():
        return lines
    design, power = compared.design.row(0, named=True), compared.power
    if compared.spread["signal_to_noise"].count():
        lines.append("sd/se: sd over runs divided by the mean standard error of a paired difference over the root of 2")
    if power["pairs"].sum():
        alpha, is_adjusted = f"{1 - design['level']:.4g}", design["adjustment"] != "none"
        lines.append(f"apart: pairs of runs with p at most {alpha}; p: two-sided, {design['test']}")
        if is_adjusted:
            lines.append(f"{design['adjustment']}: the same with p adjusted for the number of pairs")
        if power["untestable"].sum():
            names = power.filter(pl.col("untestable") > 0).select(pl.format("{} ({})", "metric", "untestable"))
            p, pairs = "adjusted p" if is_adjusted else "p", ", ".join(names.to_series())
            lines.append(f"pairs whose {p} cannot reach {alpha} (resamples, dialogues): {pairs}")
        test = "adjusted test" if is_adjusted else "test"
        lines.append(f"detectable: the difference that the {test} detects with 80 % power, median over the pairs")
    return [*lines, f"{design['resamples']:,} resamples of dialogues, seed {design['seed']}"]


def _about_orders(compared: MetricComparison) -> list[str]:
    """How the agreement of orders and the correlations were computed."""
    lines = []
    if compared.agreement.height:
        errors = [metric for metric in compared.spread["metric"] if sign_of(metric) == -1]
        lowest = f"; by {', '.join(errors)}, the lowest" if errors else ""
        lines.append(f"orders: from the best run to the worst: the highest score first{lowest}")
    if compared.dependence.height:
        lines.append("correlations: Pearson's, over all runs' dialogues; for intervals, each is left out in all runs")
    if compared.validity.height:
        lines.append("accuracy: pairs that have an order and are ordered so; soft: 1 less the one-sided p of this")
    if compared.reliability.height:
        halves = f"{compared.reliability['halves'][0]:,}"
        lines.append(f"reliability: {halves} random halves; tau of all: between test sets as large (Spearman-Brown)")
    if compared.design.height:
        lines.append(
            "other intervals: by resampling dialogues, tau's corrected for noise; none where few pairs are decided"
        )
    if compared.contests.height:
        lines.append("two metrics differ: p by resampling dialogues, adjusted by Holm for the pairs of metrics")
    return lines


# --- costs of errors --------------------------------------------------------------------------------------------------


_COSTS: Final = Table("", "", **{**POSITION_BIAS.columns, **ERROR_COSTS.columns})
# Where errors are, by their way.
_PLACES: Final = {"put in": "put into the run's own right values", "mended": "mended in the run (a gain)"}


def sensitivity(sensitivity: Sensitivity) -> Layout:
    """A table per kind of error that was made: mean loss of each metric by position, and its position bias."""
    level = percent(sensitivity.bias["level"].item(0))
    own = [frame.partition_by("way", as_dict=True, maintain_order=True) for frame in (
        sensitivity.own_costs, sensitivity.own_bias, sensitivity.own_errors)]  # fmt: skip
    costs, biases, errors = own
    views = [_losses(costs[way,], biases[way,], errors[way,], level, _PLACES[way]) for (way,) in costs]
    seen = biases.get(("put in",), sensitivity.bias).filter(pl.col("errors") > 0)
    title = "Blind spots: errors that change nothing (%)" + (", of those put into the run" if views else "")
    blind = View(title, seen, POSITION_BIAS, ["metric"], {"{}": "{blind}"}, "kind")
    losses = _losses(sensitivity.costs, sensitivity.bias, sensitivity.errors, level)
    first = views[0] if views else losses
    what = "What one error put into the run's own right values costs" if views else "What one error costs"
    caption = f"{what}, in points, by the position of the change in its dialogue, and the position bias "
    paper = first._replace(
        beside={"bias": "{bias} [{low}, {high}]"},
        caption=f"{caption}with its {level} interval.",
        heads={"metric": "", "bias": "Position bias"},
    )
    drawn = sensitivity.errors.row(0, named=True)
    notes = [
        "loss in points, by the position t/(n - 1) of the change in a dialogue of n turns",
        "bias: how many points more an error costs in the last turn than in the first turn of the same",
        "dialogue (slope); losses by position are means over dialogues that differ in length, too",
        "relative: the bias divided by the mean loss; intervals over dialogues",
        f"{number_of(drawn['changes'], 'change')} of gold; "
        f"{number_of(max(sensitivity.bias['dialogues'].to_list()), 'dialogue')}",
    ]
    if sensitivity.is_sample:
        at_most = f"at most {drawn['sample']} errors of each kind in a dialogue, seed {drawn['seed']}"
        notes.append(f"estimated from a sample: {at_most}")
    title = f"{what}, in points, on average over {number_of(drawn['changes'], 'change')} of gold"
    title = f"{what}, in points, on average" if views else title
    first_bias = biases.get(("put in",), sensitivity.bias)
    means = View(title, first_bias, POSITION_BIAS, ["metric"], {"{}": "{loss}"}, "kind")
    return Layout(
        [*views, losses, blind], (), sentences.costs(sensitivity), "sensitivity", [paper], None, [means], notes,
        signature_lines(sensitivity.signatures), "costs by position, position bias with intervals, blind spots",
    )  # fmt: skip


def _losses(costs: pl.DataFrame, bias: pl.DataFrame, errors: pl.DataFrame, level: str, place: str = "") -> View:
    """A table per kind of error: mean loss of each metric by position, its position bias."""
    titles = {}
    for kind, number, possible in errors.filter(pl.col("errors") > 0).select("kind", "errors", "possible").iter_rows():
        drawn = f"drawn of {possible:,} " if number < possible else ""
        titles[kind] = f"{kind}: {place or sentences.ERRORS[kind]}; {number:,} {drawn}errors"
    of_metric = bias.select("kind", "metric", "bias", "low", "high", "relative")
    rows = costs.drop("low", "high").join(of_metric, on=["kind", "metric"], how="left", maintain_order="left")
    rows = rows.filter(pl.col("kind").is_in(titles.keys())).with_columns(
        title=pl.col("kind").replace_strict(titles, return_dtype=pl.String), bin=sentences.BIN
    )
    beside = {"bias": "{bias}", f"{level} interval": "{low} to {high}", "relative": "{relative}"}
    return View("{}", rows, _COSTS, ["metric"], {"{}": "{loss}"}, "bin", beside, "title")
