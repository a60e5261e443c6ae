"""The papers' figures as Vega-Lite specifications: plain dictionaries with their data inside.

Any Vega-Lite renderer draws them; none is needed here. Runs are told apart by colour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

if TYPE_CHECKING:
    from dstbench.correlating import Correlations
    from dstbench.diagnosis import Diagnosis
    from dstbench.significance import Leaderboard
    from dstbench.tendencies import Traits

Chart = dict[str, Any]

_VEGA_LITE: Final = "https://vega.github.io/schema/vega-lite/v5.json"


def diagnosis_charts(found: Diagnosis) -> dict[str, Chart]:
    """The figures of a diagnosis, by name: those of Kim et al. 2022, and JGA by turn and by length."""
    return {
        "first_failures": first_failures(found.first_failures),
        "gold_slots": gold_slots(found.gold_slots),
        "by_turn": jga_line(found.by_turn, "turn", "turn"),
        "by_length": jga_line(found.by_length, "length", "turns of the dialogue"),
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


def intervals(rows: pl.DataFrame, name: str, value: str, title: str, *, zero: bool = False) -> Chart:
    """A forest plot: a point and its interval per row, a panel per metric; with `zero`, a line where that is."""
    x = {"type": "quantitative", "title": value, "scale": {"zero": zero}}
    y = {"field": name, "type": "nominal", "sort": None, "title": None}
    layers: list[Chart] = [
        {"mark": "rule", "encoding": {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}}},
        {"mark": {"type": "point", "filled": True, "tooltip": True}, "encoding": {"y": y, "x": {"field": value, **x}}},
    ]
    if zero:
        layers.insert(0, {"mark": {"type": "rule", "strokeDash": [4, 4]}, "encoding": {"x": {"datum": 0}}})
    return {
        "$schema": _VEGA_LITE,
        "title": title,
        "data": {"values": rows.drop("signature", strict=False).to_dicts()},
        "facet": {"row": {"field": "metric", "type": "nominal", "sort": None, "title": None}},
        "spec": {"layer": layers},
        "resolve": {"scale": {"x": "independent"}},
    }


def correlation_charts(found: Correlations) -> dict[str, Chart]:
    """The figure of correlations: a matrix per run (Kim et al. 2022, Figs 3 and A1)."""
    return {"correlations": heat_map(found.matrix)}


def first_failures(rows: pl.DataFrame) -> Chart:
    """When failing dialogues first fail (Kim et al. 2022, Fig 1), from `Diagnosis.first_failures`."""
    x = {"field": "low", "bin": {"binned": True, "step": 0.1}, "title": "first wrong turn, as a share of the dialogue"}
    y = {"field": "dialogues", "type": "quantitative", "stack": None, "title": "dialogues"}
    return _chart("Where dialogues first fail", "bar", rows, {"x": x, "x2": {"field": "high"}, "y": y})


def gold_slots(rows: pl.DataFrame) -> Chart:
    """The largest number of gold slots in a dialogue (Kim et al. 2022, Fig 2), from `Diagnosis.gold_slots`."""
    x = {"field": "n_gold_max", "type": "ordinal", "title": "largest number of gold slots in a turn"}
    y = {"field": "dialogues", "type": "quantitative", "stack": None, "title": "dialogues"}
    return _chart("How many slots dialogues have", "bar", rows, {"x": x, "y": y})


def jga_line(rows: pl.DataFrame, by: str, title: str) -> Chart:
    """JGA by turn or by length, from `Diagnosis.by_turn` or `Diagnosis.by_length`."""
    x = {"field": by, "type": "quantitative", "title": title}
    y = {"field": "value", "type": "quantitative", "scale": {"domain": [0, 1]}, "title": "JGA"}
    shown = rows.select("run", by, "value", "turns", "dialogues")
    return _chart(f"Joint goal accuracy by {by}", "line", shown, {"x": x, "y": y})


def binned(rows: pl.DataFrame) -> Chart:
    """Mean scores by bins of one trait, from `Traits.bins`: a dashed line per metric."""
    trait = rows["trait"].item(0)
    middles = rows.with_columns(middle=(pl.col("low") + pl.col("high")) / 2)
    x = {"field": "middle", "type": "quantitative", "title": trait}
    y = {"field": "value", "type": "quantitative", "title": "mean of dialogues' scores"}
    dash = {"field": "metric", "type": "nominal"}
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
        "title": "Correlations",
        "data": {"values": pl.concat([rows, other_half]).to_dicts()},
        "facet": {"field": "run", "type": "nominal", "sort": None, "title": None},
        "columns": 2,
        "spec": {"width": 320, "height": 320, "encoding": {"x": x, "y": y}, "layer": [squares, numbers]},
    }


def _r(**look: Any) -> dict[str, Any]:
    return {"field": "r", "type": "quantitative", **look}


def _chart(title: str, mark: str, rows: pl.DataFrame, encoding: dict[str, Any]) -> Chart:
    look = {"type": "bar", "opacity": 0.6} if mark == "bar" else {"type": "line", "point": True}
    return {
        "$schema": _VEGA_LITE,
        "title": title,
        "data": {"values": rows.to_dicts()},
        "mark": {**look, "tooltip": True},
        "encoding": {**encoding, "color": {"field": "run", "type": "nominal"}},
    }
