"""The papers' figures as Vega-Lite specifications: plain dictionaries with their data inside.

Any Vega-Lite renderer draws them; `figures` does so for papers. Runs differ in colour (Okabe & Ito 2008, for every
kind of colour vision, without their yellow), and in shape and dash, for print without colour. The figures of the page
are drawn by `svg`, with the colours of page.css, which also suit dark screens.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dstbench.audit.entity_bias import frequent_values, slot_order
from dstbench.audit.version_diff import split_rows
from dstbench.rendering.audit_words import pair_texts
from dstbench.schema.audit import KINDS
from dstbench.typing import SlotOrder

if TYPE_CHECKING:
    from dstbench.analysis.compare import Leaderboard
    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.diagnose import Diagnosis
    from dstbench.analysis.traits import Traits
    from dstbench.audit import Bias, Differences, Inconsistency, Memorisation, VersionScores

Chart = dict[str, Any]

_COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
# Lines of text are wrapped to so many characters.
_LINE: Final = 66
_DASHES: Final = ([1, 0], [5, 2], [2, 2], [7, 2, 2, 2], [1, 1], [9, 3], [4, 1, 1, 1, 1, 1])
# How each kind of mark looks, and which channels tell runs apart beside colour.
_LOOKS: Final[dict[str, tuple[Chart, list[str]]]] = {
    "bar": ({}, []),
    "line": ({"point": True}, ["shape", "strokeDash"]),
    "point": ({"filled": True}, ["shape"]),
}


# The name above a panel, in lines of at most 12 characters.
_IN_LINES: Final = r"split(trim(replace(datum.label, /(.{1,11}[-_\/ ]|.{1,12})/g, '$1\n')), '\n')"


# --- the charts of each kind of result, by name -----------------------------------------------------------------------


def diagnosis_charts(diagnosis: Diagnosis) -> dict[str, Chart]:
    """The figures of a diagnosis: those of Kim et al. 2022, JGA by turn and by length, and kinds of errors."""
    return {
        "first_failures": _first_failures(diagnosis.first_failures),
        "gold_slots": gold_slots(diagnosis.gold_slots),
        "by_turn": jga_line(diagnosis.by_turn, "turn", "turn"),
        "by_length": jga_line(diagnosis.by_length, "length", "turns of the dialogue"),
        "errors": _kinds_of_errors(diagnosis.errors),
    }


def trait_charts(traits: Traits) -> dict[str, Chart]:
    """A figure per trait: mean scores by tail orientation and by non-uniformity (Aksu & Chen 2024, Fig 1)."""
    return {str(trait): _binned(bins) for (trait,), bins in traits.bins.group_by("trait", maintain_order=True)}


def correlation_charts(correlations: Correlations) -> dict[str, Chart]:
    """The figure of correlations: a matrix per run (Kim et al. 2022, Figs 3 and A1)."""
    return {"correlations": _heat_map(correlations.matrix)}


def leaderboard_charts(leaderboard: Leaderboard) -> dict[str, Chart]:
    """The figures of a comparison: intervals of scores (of models, if any are named) and of differences."""
    charts = {"scores": _intervals(leaderboard.scores, "run", "value", "Scores")}
    if leaderboard.models.height:
        charts["models"] = _intervals(leaderboard.models, "model", "value", "Mean scores of models")
    if leaderboard.differences.height:
        named = leaderboard.differences.with_columns(pair=pl.format("{} less {}", "run", "other"))
        charts["differences"] = _intervals(named, "pair", "difference", "Differences", zero=True)
    return charts


def bias_charts(bias: Bias, top: int, sort: SlotOrder = "slot") -> dict[str, Chart]:
    """The figures of entity bias: H1/H0 and H∞/H0 per slot, and the `top` most frequent values of each slot.

    The latter, for train-destination, is Fig 2 of Qian et al. 2021. See `frequent_values` and `slot_order`.
    """
    scale: Chart = {"scale": {"domain": [0, 1]}}
    order = slot_order(bias, sort)
    measures = bias.slots.unpivot(
        on=["h1_h0", "hinf_h0"], index=["split", "counting", "slot"], variable_name="measure", value_name="value"
    )
    per_slot = {
        "x": _number("value", title=None, **scale),
        "y": _name("slot", sort=order, title=None),
        **_panels("column", "measure", measures, labelExpr="datum.value == 'h1_h0' ? 'H1/H0' : 'H∞/H0'"),
        **_panels("row", "counting", measures),
    }
    frequent = frequent_values(bias, top).sort(pl.col("slot").cast(pl.Enum(order)), maintain_order=True)
    per_value = {
        "x": _percent("share", title="share of the slot's values"),
        "y": _name("value", sort=None, title=None),
        **_panels("row", "slot", frequent, labelOrient="top", labelAnchor="start"),
    }
    values = _bars("Most frequent values", frequent, per_value, by="split")
    return {
        "bias": _chart("How evenly values are distributed", "point", measures, per_slot, by="split"),
        "values": {**values, "resolve": {"scale": {"y": "independent"}}},
    }


def difference_charts(differences: Differences) -> dict[str, Chart]:
    """The figure of two versions: in which share of the turns each slot differs, by kind, a panel per split."""
    rows = split_rows(differences)
    of = rows.filter(pl.col("domain").is_null(), pl.col("slot").is_null()).select("split", of="turns")
    cells = rows.unpivot(on=sorted(KINDS), index=["split", "slot"], variable_name="kind", value_name="cells")
    cells = cells.filter(pl.col("slot").is_not_null(), pl.col("cells") > 0).join(of, on="split", maintain_order="left")
    shares = cells.with_columns(pl.col("kind").str.replace("_", " "), share=pl.col("cells") / pl.col("of"))
    return {"differences": _slot_bars("Slots that differ", shares, "share of turns", by="kind", column="split")}


def inconsistency_charts(inconsistency: Inconsistency, pairs: int) -> dict[str, Chart]:
    """The figures of missing annotations: in which share of each split's dialogues, who says them, and so many pairs.

    The first is Table 1 of Qian et al. 2021 as bars, the second is their Fig 4, the third is like their Figs 1 and 10.
    """
    slots = inconsistency.modified.filter(pl.col("slot").is_not_null())
    slots = slots.filter(pl.col("dialogues").sum().over("slot") > 0)
    if slots["split"].is_not_null().any():
        slots = slots.drop_nulls("split")
    slots = slots.with_columns(pl.col("split").fill_null("all")).drop_nulls("share")
    speakers = inconsistency.shares.drop_nulls("share").sort("slot", "speaker")  # as the bars are stacked
    speakers = speakers.with_columns(by=pl.format("said by the {}", "speaker"))
    title = "share of dialogues with the domain"
    charts = {
        "modified": _slot_bars("Dialogues that lack annotations", slots, title, by="split", stacked=False),
        "speakers": _slot_bars("Who says what is not annotated", speakers, "share of missing annotations", by="by"),
    }
    shown = pair_texts(inconsistency.pairs.head(pairs))
    return {**charts, "pairs": _side_by_side(shown)} if shown.height else charts


def version_charts(scored: VersionScores) -> dict[str, Chart]:
    """The figure of scores on versions: in which share of the turns each slot is wrong, a panel per model."""
    shown = scored.slots.select("version", "model", "slot", "error_turns", "share")
    return {
        "error_turns": _slot_bars(
            "Turns in which a slot is wrong", shown, "share of turns", by="version", column="model", stacked=False
        )
    }


def memorisation_charts(memorisation: Memorisation) -> dict[str, Chart]:
    """The figure of memorised values: how many of a slot's wrong values nobody has said, a panel per run."""
    turns = {"in training": pl.col("in_train"), "not in training": pl.col("ungrounded") - pl.col("in_train")}
    if memorisation.runs["in_train"].is_null().all():
        turns = {"unknown": pl.col("ungrounded")}
    sums = memorisation.slots.group_by("run", "slot", maintain_order=True).agg(
        pl.col("searched").sum(), **{value: n.sum() for value, n in turns.items()}
    )
    values = sums.unpivot(on=list(turns), index=["run", "slot", "searched"], variable_name="value", value_name="turns")
    shown = values.filter(pl.col("turns") > 0).with_columns(share=pl.col("turns") / pl.col("searched"))
    title = "share of wrong values that nobody has said"
    return {"memorised": _slot_bars("Values that nobody has said", shown, title, by="value", column="run")}


# --- charts -----------------------------------------------------------------------------------------------------------


def _first_failures(rows: pl.DataFrame) -> Chart:
    """When failing dialogues first fail (Kim et al. 2022, Fig 1), from `Diagnosis.first_failures`."""
    title, x_title = "Where dialogues first fail", "first wrong turn, as a share of the dialogue"
    y = _number("dialogues", title="dialogues")
    if rows["run"].n_unique() > 1:
        return _chart(title, "line", with_middles(rows), {"x": _number("middle", title=x_title), "y": y})
    x = {"field": "low", "bin": {"binned": True, "step": 0.1}, "title": x_title}
    return _chart(title, "bar", rows, {"x": x, "x2": {"field": "high"}, "y": y})


def gold_slots(rows: pl.DataFrame) -> Chart:
    """The largest number of gold slots in a dialogue (Kim et al. 2022, Fig 2), from `Diagnosis.gold_slots`."""
    if same_gold(rows):
        rows = rows.filter(pl.col("run") == pl.col("run").first())
    x = {"field": "n_gold_max", "type": "ordinal", "title": "largest number of gold slots in a turn"}
    mark = "bar" if rows["run"].n_unique() == 1 else "line"
    return _chart("How many slots dialogues have", mark, rows, {"x": x, "y": _number("dialogues", title="dialogues")})


def jga_line(rows: pl.DataFrame, by: str, title: str) -> Chart:
    """JGA by turn or by length, from `Diagnosis.by_turn` or `Diagnosis.by_length`."""
    axes = {"x": _number(by, title=title), "y": _number("value", scale={"domain": [0, 1]}, title="JGA")}
    shown = rows.select("run", by, "value", "turns", "dialogues")
    return _chart(f"Joint goal accuracy by {by}", "line", shown, axes)


def scores_by_turn(rows: pl.DataFrame) -> Chart:
    """Scores of several metrics by turn, from `score(…, by="turn")`, a panel per run."""
    axes = {"x": _number("turn"), "y": _number("value", scale={"domain": [0, 1]}, title="score")}
    shown = rows.select("run", "turn", "metric", "value", "turns")
    return _panel_per_run(_chart("Scores by turn", "line", shown, axes, by="metric"))


def _kinds_of_errors(rows: pl.DataFrame) -> Chart:
    """How many slots of turns are in each class of errors, from `Diagnosis.errors`, a panel per run."""
    errors = rows.filter(pl.col("kind") != "correct").select("run", "class", "kind", "n")
    shown = errors.filter(pl.col("n") > 0)
    classes = [name for name in errors["class"].unique(maintain_order=True) if name in set(shown["class"])]
    axes = {"x": _number("n", title="slots of turns"), "y": _name("class", sort=classes, title=None)}
    return _panel_per_run(_chart("Kinds of errors", "bar", shown, axes, by="kind"))


def _binned(rows: pl.DataFrame) -> Chart:
    """Mean scores by bins of one trait, from `Traits.bins`: dashes tell metrics apart, colours and shapes runs."""
    trait = rows["trait"].item(0)
    dashes = {"domain": rows["metric"].unique(maintain_order=True).to_list(), "range": list(_DASHES)}
    encoding = {
        "x": _number("middle", title=trait),
        "y": _number("value", title="mean of dialogues' scores"),
        "strokeDash": _name("metric", scale=dashes, title=None),
    }
    return _chart(f"Scores by {trait}", "line", with_middles(rows), encoding)


def _intervals(rows: pl.DataFrame, name: str, value: str, title: str, *, zero: bool = False) -> Chart:
    """A forest plot: a point and its interval per row, a panel per metric; with `zero`, a line at 0."""
    x: Chart = {"title": None, "scale": {"zero": zero}, "axis": {"tickCount": 4}}
    y = _name(name, sort=None, title=None)
    point = {"type": "point", "filled": True, "opacity": 1, "color": _COLOURS[0], "tooltip": True}
    layers: list[Chart] = [
        {"mark": "rule", "encoding": {"y": y, "x": _number("low", **x), "x2": {"field": "high"}}},
        {"mark": point, "encoding": {"y": y, "x": _number(value, **x)}},
    ]
    panel: Chart = {"layer": layers}
    if zero:
        y["axis"] = {"labelExpr": "split(replace(datum.label, ' less ', '\\nless '), '\\n')"}  # in two lines
        panel["height"] = {"step": 24}
        layers.insert(0, {"mark": {"type": "rule", "strokeDash": [4, 4]}, "encoding": {"x": {"datum": 0}}})
    metrics = rows["metric"].unique(maintain_order=True).to_list()
    facet = {"row": _name("metric", sort=metrics, title=None)}
    independent = {"scale": {"x": "independent"}}
    return _specification(title, rows.drop("signature", strict=False), facet=facet, spec=panel, resolve=independent)


def _heat_map(rows: pl.DataFrame) -> Chart:
    """Correlations as squares, a panel per run, from `Correlations.matrix`; both halves are drawn."""
    both = pl.concat([rows, rows.rename({"first": "second", "second": "first"}).select(rows.columns)])
    names = pl.concat([rows["first"], rows["second"]]).unique(maintain_order=True).to_list()
    axes = {axis: _name(side, sort=names, title=None) for axis, side in (("x", "first"), ("y", "second"))}
    colour = _number("r", scale={"domain": [-1, 1], "scheme": "redblue"})
    text_colour = {"condition": {"test": "abs(datum.r) > 0.6", "value": "white"}, "value": "black"}
    layers = [
        {"mark": {"type": "rect", "tooltip": True}, "encoding": {"color": colour}},
        {"mark": "text", "encoding": {"text": _number("r", format=".2f"), "color": text_colour}},
    ]
    panel = {"width": 320, "height": 320, "encoding": axes, "layer": layers}
    return _specification("Correlations", both, facet=_name("run", sort=None, title=None), columns=2, spec=panel)


# --- what they share --------------------------------------------------------------------------------------------------


def same_gold(rows: pl.DataFrame) -> bool:
    """Whether all runs have the same distribution of gold slots, as runs over one gold do: then it is drawn once."""
    runs = rows.partition_by("run", include_key=False, maintain_order=True)
    return all(run.equals(runs[0]) for run in runs)


def with_middles(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of bins with the column `middle`."""
    return rows.with_columns(middle=(pl.col("low") + pl.col("high")) / 2)


def _chart(title: str, mark: str, rows: pl.DataFrame, encoding: Chart, by: str = "run") -> Chart:
    """A chart of runs (or what `by` names); a legend names them where there are several."""
    names = rows[by].unique(maintain_order=True).to_list()
    legend: Chart = {"title": None} if len(names) > 1 else {"legend": None}
    look, channels = _LOOKS[mark]
    # Vega-Lite merges the legends of channels with the same domain into one.
    apart: Chart = {channel: _name(by, scale={"domain": names}, **legend) for channel in ("color", *channels)}
    if "strokeDash" in apart:
        apart["strokeDash"]["scale"]["range"] = list(_DASHES)
    mark_definition = {"type": mark, **look, "tooltip": True}
    return _specification(title, rows, mark=mark_definition, encoding={**apart, **encoding})


def _bars(title: str, rows: pl.DataFrame, encoding: Chart, by: str, *, stacked: bool = False) -> Chart:
    """A chart of horizontal bars; those of the names in the column `by` are stacked, or below each other."""
    chart = _chart(title, "bar", rows, encoding, by=by)
    names = chart["encoding"]["color"]["scale"]["domain"]
    if len(names) > 1 and not stacked:
        chart["encoding"]["yOffset"] = _name(by, sort=names)
        chart["height"] = {"step": 5}  # of one bar
    return chart


def _side_by_side(pairs: pl.DataFrame) -> Chart:
    """Pairs of turns (`pair_texts`) as text, in two columns, a panel per slot."""
    rows: list[tuple[str, str, int, str, bool]] = []
    for slot, *turns in pairs.iter_rows():
        texts = [[turns[0], *turns[1]], [turns[2], *turns[3]]]
        # What gold has comes last.
        wrapped = [[(line, text is of[-1]) for text in of for line in textwrap.wrap(text, _LINE)] for of in texts]
        longest = max(map(len, wrapped))
        for side, lines in zip(("not annotated", "annotated"), wrapped, strict=True):
            padded = [*lines, *[("", False)] * (longest - len(lines))]
            rows += [(slot, side, at, *line) for at, line in enumerate(padded)]
    schema = {"slot": pl.String, "side": pl.String, "line": pl.UInt16, "text": pl.String, "gold": pl.Boolean}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    encoding = {
        "x": {"value": 0},
        "y": {"field": "line", "type": "ordinal", "axis": None},
        "text": _name("text"),
        "color": {
            "condition": {"test": "datum.gold", "value": _COLOURS[0]},
            "value": _COLOURS[-1],
        },
        **_panels("column", "side", table),
        "row": _name("slot", sort=pairs["slot"].to_list(), title=None, header={}),
    }
    mark = {"type": "text", "align": "left", "baseline": "middle"}
    chart = _specification("Alike in what is said", table, mark=mark, encoding=encoding)
    return {**chart, "height": {"step": 9}, "resolve": {"scale": {"y": "independent"}}, "usermeta": {"width": "page"}}


def _slot_bars(
    title: str, rows: pl.DataFrame, x_title: str, *, by: str, column: str | None = None, stacked: bool = True
) -> Chart:
    """Bars of the column `share` per slot, the largest first, in a panel per value of `column` beside each other."""
    panel = [] if column is None else [column]
    parts = rows.group_by("slot", *panel, *([] if stacked else [by])).agg(pl.col("share").sum())
    largest = -pl.col("share").round(9)  # sums of the same shares may differ in their last bits
    order = parts.group_by("slot").agg(pl.col("share").max()).sort(largest, "slot")["slot"].to_list()
    panels = {} if column is None else _panels("column", column, rows, titleOrient="bottom", labelExpr=_IN_LINES)
    encoding = {
        "x": _percent("share", 3 if panels else 5, title=None if panels else x_title),
        "y": _name("slot", sort=order, title=None),
    }
    for panel in panels.values():
        panel |= {"title": x_title, "spacing": 18}  # the title once, below all; room for the last label of the axis
    return _bars(title, rows, {**encoding, **panels}, by, stacked=stacked)


def _panel_per_run(chart: Chart) -> Chart:
    """A chart as panels below each other, one per run."""
    panel = {name: chart.pop(name) for name in ("mark", "encoding")}
    return {**chart, "facet": {"row": _name("run", sort=None, title=None)}, "spec": panel}


def _specification(title: str, rows: pl.DataFrame, **content: Any) -> Chart:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "config": {"range": {"category": list(_COLOURS)}},
        "title": title,
        "data": {"values": rows.to_dicts()},
        **content,
    }


def _number(field: str, **options: Any) -> Chart:
    return {"field": field, "type": "quantitative", **options}


def _percent(field: str, ticks: int = 5, **options: Any) -> Chart:
    return _number(field, axis={"format": "%", "tickCount": ticks, "labelFlush": False}, **options)


def _panels(channel: str, field: str, rows: pl.DataFrame, **header: Any) -> Chart:
    """The channel that divides a chart into panels (row or column), in the order of the rows; none for one panel."""
    names = rows[field].unique(maintain_order=True).to_list()
    return {channel: _name(field, sort=names, title=None, header=header)} if len(names) > 1 else {}


def _name(field: str, **options: Any) -> Chart:
    return {"field": field, "type": "nominal", **options}
