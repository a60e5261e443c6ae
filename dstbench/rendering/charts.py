"""The papers' figures as Vega-Lite specifications: plain dictionaries with their data inside.

Any Vega-Lite renderer draws them; none is needed here. Runs are told apart by colours that do not depend on colour
vision (Okabe & Ito 2008, without their yellow), and by shapes and dashes, as print may have no colour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

if TYPE_CHECKING:
    from dstbench.analysis.compare import Leaderboard
    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.diagnose import Diagnosis
    from dstbench.analysis.traits import Traits
    from dstbench.audit import Bias

Chart = dict[str, Any]

_VEGA_LITE: Final = "https://vega.github.io/schema/vega-lite/v5.json"
_COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
_DASHES: Final = ([1, 0], [5, 2], [2, 2], [7, 2, 2, 2], [1, 1], [9, 3], [4, 1, 1, 1, 1, 1])
_CONFIG: Final = {"range": {"category": list(_COLOURS)}}


def diagnosis_charts(found: Diagnosis) -> dict[str, Chart]:
    """The figures of a diagnosis: those of Kim et al. 2022, JGA by turn and by length, and kinds of errors."""
    return {
        "first_failures": first_failures(found.first_failures),
        "gold_slots": gold_slots(found.gold_slots),
        "by_turn": jga_line(found.by_turn, "turn", "turn"),
        "by_length": jga_line(found.by_length, "length", "turns of the dialogue"),
        "errors": kinds_of_errors(found.errors),
    }


def trait_charts(found: Traits) -> dict[str, Chart]:
    """The figures of traits, by trait: mean scores by tail orientation and non-uniformity (Aksu & Chen 2024, Fig 1)."""
    return {trait: binned(found.bins.filter(trait=trait)) for trait in found.bins["trait"].unique(maintain_order=True)}


def leaderboard_charts(found: Leaderboard) -> dict[str, Chart]:
    """The figures of a comparison, by name: intervals of scores (of models, if such were named) and of differences."""
    charts = {"scores": intervals(found.scores, "run", "value", "Scores")}
    if found.models.height:
        charts["models"] = intervals(found.models, "model", "value", "Mean scores of models")
    if found.differences.height:
        named = found.differences.with_columns(pair=pl.format("{} less {}", "run", "other"))
        charts["differences"] = intervals(named, "pair", "difference", "Differences", zero=True)
    return charts


def bias_charts(found: Bias, top: int) -> dict[str, Chart]:
    """The figures of entity bias, by name: H1/H0 and H∞/H0 per slot, and the `top` most frequent values of each slot.

    The latter, for train-destination, is Fig 2 of Qian et al. 2021.
    """
    share: Chart = {"type": "quantitative", "scale": {"domain": [0, 1]}}
    measures = found.slots.unpivot(
        on=["h1_h0", "hinf_h0"], index=["split", "counting", "slot"], variable_name="measure", value_name="value"
    )
    panels: Chart = {"row": {"field": "counting", "type": "nominal", "sort": None}}
    per_slot: Chart = {
        "x": {"field": "value", "title": None, **share},
        "y": {"field": "slot", "type": "nominal", "title": None},
        "column": {"field": "measure", "type": "nominal"},
        **panels,
    }
    first = found.values.filter((pl.col("rank") <= top) & (pl.col("counting") == pl.col("counting").first()))
    most: Chart = {
        "x": {"field": "share", "title": "share of the slot's values", **share},
        "y": {"field": "value", "type": "nominal", "sort": None, "title": None},
        "yOffset": {"field": "split", "type": "nominal"},
        "row": {"field": "slot", "type": "nominal"},
    }
    values = _chart("Most frequent values", "bar", first, most, by="split")
    return {
        "bias": _chart("How evenly values are distributed", "point", measures, per_slot, by="split"),
        "values": {**values, "resolve": {"scale": {"y": "independent"}}},
    }


def intervals(rows: pl.DataFrame, name: str, value: str, title: str, *, zero: bool = False) -> Chart:
    """A forest plot: a point and its interval per row, a panel per metric; with `zero`, a line where that is."""
    x = {"type": "quantitative", "title": None, "scale": {"zero": zero}, "axis": {"tickCount": 4}}
    y: Chart = {"field": name, "type": "nominal", "sort": None, "title": None}
    point = {"type": "point", "filled": True, "opacity": 1, "color": _COLOURS[0], "tooltip": True}
    layers: list[Chart] = [
        {"mark": "rule", "encoding": {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}}},
        {"mark": point, "encoding": {"y": y, "x": {"field": value, **x}}},
    ]
    spec: Chart = {"layer": layers}
    if zero:
        y["axis"] = {"labelExpr": "split(replace(datum.label, ' less ', '\\nless '), '\\n')"}  # in two lines
        spec["height"] = {"step": 24}
        layers.insert(0, {"mark": {"type": "rule", "strokeDash": [4, 4]}, "encoding": {"x": {"datum": 0}}})
    metrics = rows["metric"].unique(maintain_order=True).to_list()
    return {
        "$schema": _VEGA_LITE,
        "config": _CONFIG,
        "title": title,
        "data": {"values": rows.drop("signature", strict=False).to_dicts()},
        "facet": {"row": {"field": "metric", "type": "nominal", "sort": metrics, "title": None}},
        "spec": spec,
        "resolve": {"scale": {"x": "independent"}},
    }


def correlation_charts(found: Correlations) -> dict[str, Chart]:
    """The figure of correlations: a matrix per run (Kim et al. 2022, Figs 3 and A1)."""
    return {"correlations": heat_map(found.matrix)}


def first_failures(rows: pl.DataFrame) -> Chart:
    """When failing dialogues first fail (Kim et al. 2022, Fig 1), from `Diagnosis.first_failures`."""
    title, about = "Where dialogues first fail", "first wrong turn, as a share of the dialogue"
    y = {"field": "dialogues", "type": "quantitative", "title": "dialogues"}
    if rows["run"].n_unique() == 1:
        x = {"field": "low", "bin": {"binned": True, "step": 0.1}, "title": about}
        return _chart(title, "bar", rows, {"x": x, "x2": {"field": "high"}, "y": y})
    middles = rows.with_columns(middle=(pl.col("low") + pl.col("high")) / 2)
    return _chart(title, "line", middles, {"x": {"field": "middle", "type": "quantitative", "title": about}, "y": y})


def gold_slots(rows: pl.DataFrame) -> Chart:
    """The largest number of gold slots in a dialogue (Kim et al. 2022, Fig 2), from `Diagnosis.gold_slots`.

    Runs over the same gold have one distribution, which is drawn once.
    """
    runs = rows.partition_by("run", include_key=False, maintain_order=True)
    if all(run.equals(runs[0]) for run in runs):
        rows = rows.filter(pl.col("run") == pl.col("run").first())
    x = {"field": "n_gold_max", "type": "ordinal", "title": "largest number of gold slots in a turn"}
    y = {"field": "dialogues", "type": "quantitative", "title": "dialogues"}
    mark = "bar" if rows["run"].n_unique() == 1 else "line"
    return _chart("How many slots dialogues have", mark, rows, {"x": x, "y": y})


def jga_line(rows: pl.DataFrame, by: str, title: str) -> Chart:
    """JGA by turn or by length, from `Diagnosis.by_turn` or `Diagnosis.by_length`."""
    x = {"field": by, "type": "quantitative", "title": title}
    y = {"field": "value", "type": "quantitative", "scale": {"domain": [0, 1]}, "title": "JGA"}
    shown = rows.select("run", by, "value", "turns", "dialogues")
    return _chart(f"Joint goal accuracy by {by}", "line", shown, {"x": x, "y": y})


def scores_by_turn(rows: pl.DataFrame) -> Chart:
    """Scores of several metrics by turn, from `score(…, by="turn")`, a panel per run."""
    x = {"field": "turn", "type": "quantitative"}
    y = {"field": "value", "type": "quantitative", "scale": {"domain": [0, 1]}, "title": "score"}
    shown = rows.select("run", "turn", "metric", "value", "turns")
    return _in_panels(_chart("Scores by turn", "line", shown, {"x": x, "y": y}, by="metric"))


def kinds_of_errors(rows: pl.DataFrame) -> Chart:
    """How many slots of turns are in each class of errors, from `Diagnosis.errors`, a panel per run."""
    wrong = rows.filter(pl.col("kind") != "correct").select("run", "class", "kind", "n")
    shown = wrong.filter(pl.col("n") > 0)
    classes = wrong.filter(pl.col("class").is_in(shown["class"].unique().implode()))["class"]
    x = {"field": "n", "type": "quantitative", "title": "slots of turns"}
    y = {"field": "class", "type": "nominal", "sort": classes.unique(maintain_order=True).to_list(), "title": None}
    return _in_panels(_chart("Kinds of errors", "bar", shown, {"x": x, "y": y}, by="kind"))


def binned(rows: pl.DataFrame) -> Chart:
    """Mean scores by bins of one trait, from `Traits.bins`: dashes tell metrics apart, colours and shapes runs."""
    trait = rows["trait"].item(0)
    middles = rows.with_columns(middle=(pl.col("low") + pl.col("high")) / 2)
    x = {"field": "middle", "type": "quantitative", "title": trait}
    y = {"field": "value", "type": "quantitative", "title": "mean of dialogues' scores"}
    dashes = {"domain": rows["metric"].unique(maintain_order=True).to_list(), "range": list(_DASHES)}
    dash = {"field": "metric", "type": "nominal", "scale": dashes, "title": None}
    return _chart(f"Scores by {trait}", "line", middles, {"x": x, "y": y, "strokeDash": dash})


def heat_map(rows: pl.DataFrame) -> Chart:
    """Correlations as squares, a panel per run, from `Correlations.matrix`; both halves are drawn."""
    other_half = rows.rename({"first": "second", "second": "first"}).select(rows.columns)
    names = pl.concat([rows["first"], rows["second"]]).unique(maintain_order=True).to_list()
    x, y = ({"field": name, "type": "nominal", "sort": names, "title": None} for name in ("first", "second"))
    scale = {"domain": [-1, 1], "scheme": "redblue"}
    squares = {"mark": {"type": "rect", "tooltip": True}, "encoding": {"color": _r(scale=scale)}}
    dark = {"test": "abs(datum.r) > 0.6", "value": "white"}
    numbers = {"mark": "text", "encoding": {"text": _r(format=".2f"), "color": {"condition": dark, "value": "black"}}}
    return {
        "$schema": _VEGA_LITE,
        "config": _CONFIG,
        "title": "Correlations",
        "data": {"values": pl.concat([rows, other_half]).to_dicts()},
        "facet": {"field": "run", "type": "nominal", "sort": None, "title": None},
        "columns": 2,
        "spec": {"width": 320, "height": 320, "encoding": {"x": x, "y": y}, "layer": [squares, numbers]},
    }


def _in_panels(chart: Chart) -> Chart:
    """A chart as one panel per run, below each other."""
    spec = {name: chart.pop(name) for name in ("mark", "encoding")}
    return {**chart, "facet": {"row": {"field": "run", "type": "nominal", "sort": None, "title": None}}, "spec": spec}


def _r(**look: Any) -> dict[str, Any]:
    return {"field": "r", "type": "quantitative", **look}


def _chart(title: str, mark: str, rows: pl.DataFrame, encoding: dict[str, Any], by: str = "run") -> Chart:
    """A chart of runs (or what `by` names); a legend names them where there are several."""
    runs = rows[by].unique(maintain_order=True).to_list()

    def apart(**scale: Any) -> dict[str, Any]:
        # Only legends of the same domain become one.
        legend: dict[str, Any] = {"title": None} if len(runs) > 1 else {"legend": None}
        return {"field": by, "type": "nominal", "scale": {"domain": runs, **scale}, **legend}

    channels = {"color": apart()}
    if mark == "point":
        channels["shape"] = apart()
    if mark == "line":
        channels = {**channels, "shape": apart(), "strokeDash": apart(range=list(_DASHES))}
    looks: dict[str, Chart] = {"bar": {}, "line": {"point": True}, "point": {"filled": True}}
    return {
        "$schema": _VEGA_LITE,
        "config": _CONFIG,
        "title": title,
        "data": {"values": rows.to_dicts()},
        "mark": {"type": mark, **looks[mark], "tooltip": True},
        "encoding": {**channels, **encoding},
    }
