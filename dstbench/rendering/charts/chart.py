"""What every chart is declared in: `Axis` and `Mark`; `chart` makes a chart of Altair of marks and rows.

Texts are names in the order of the rows, floats are shares in percent, integers are whole numbers. Names differ in
colour (after Okabe & Ito 2008) and, for print without colour, in shapes, dashes or depth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import altair as alt
import polars as pl

#: A chart of one panel or of several.
Chart = alt.LayerChart | alt.FacetChart
Options = Mapping[str, Any]

#: The colours of runs (or metrics); the page replaces each by its own for light and dark screens.
COLOURS: Final = ("#0072b2", "#d55e00", "#00795a", "#a8487f", "#8a6a00", "#2a8ac0", "#333333", "#7d5fb2")
#: The colours of kinds of errors, and their order.
KINDS: Final = {"missed": COLOURS[5], "wrong": COLOURS[1], "over": COLOURS[4], "no-prediction": COLOURS[6]}
#: The colour of everything that is not a run: text, reference lines.
INK: Final = "#000000"
#: Longer labels are cut in the middle: the names of seeds often differ at their ends.
LABEL: Final = 24
IN_LEGEND: Final = 20
# What tells names apart besides colour. The number of dashes and that of colours have no common divisor, so 56 lines
# differ in colour or dash; stacked bars beside each other differ in depth.
_DASHES: Final = [[1, 0], [5, 2], [2, 2], [7, 2, 2, 2], [1, 1], [9, 3], [4, 1, 1, 1, 1, 1]]
_DEPTHS: Final = [1, 0.45, 0.8, 0.3, 0.65, 0.15]
# The channel besides colour of each kind of mark, and its range.
_APART: Final[Mapping[str, tuple[str, Options]]] = {
    "point": ("shape", {}),
    "line": ("strokeDash", {"range": _DASHES}),
    "bar": ("fillOpacity", {"range": _DEPTHS}),
}
# The options of each kind of mark; of those with a tooltip, the mouse shows the row.
_MARKS: Final[Mapping[str, Options]] = {
    "point": {"filled": True, "opacity": 1, "tooltip": True},
    **{kind: {"tooltip": True} for kind in ("bar", "rect", "tick")},
}
# The opacity of the faintest and the darkest square; black text can be read on both.
_FAINT: Final = 0.03
_DARK: Final = 0.7
# The points of a paper that a square with a number needs in one of several panels, and in a chart without panels.
_CELL: Final = 16
_COLUMN: Final = 40
_NONE: Final[Options] = MappingProxyType({})


class Axis(NamedTuple):
    """An axis: a column, and what does not follow from its type."""

    column: str
    title: str | None = None
    to: str = ""  # the column of the marks' other end
    names: Sequence[str] = ()  # the names, if they are not those of the rows in their order
    scale: Options = _NONE
    axis: Options = _NONE  # such as the number of ticks and their format
    channel: Options = _NONE  # other properties of the channel, as Vega-Lite writes them


class Mark(NamedTuple):
    """Marks of one kind: one per row, or (lines, areas) one per name of the column `by`."""

    kind: str
    x: Axis | None
    y: Axis
    by: str = ""  # the column whose names have colours of their own
    options: Options = _NONE  # of the marks
    channels: Options = _NONE  # further channels, as Vega-Lite writes them
    is_apart: bool = True  # whether names differ in more than their colours
    calculate: str = ""  # the expression of the field `text`
    rows: pl.DataFrame | None = None  # None: those of the chart


def chart(
    title: str,
    rows: pl.DataFrame,
    *marks: Mark,
    panel: str = "",
    own: str = "",
    step: float | None = None,
    least: int = 80,
    below: str = "",
) -> Chart:
    """Marks of rows, from the lowest to the topmost, with a panel per name of the column `panel` if it has several.

    `own` is the axis that is each panel's own, `step` the height of a row (None: that of a label), and `least` the
    least width of a panel in points on paper.
    """
    layers: list[alt.Chart] = []
    is_labelled = any(mark.kind == "text" and mark.by for mark in marks)  # names beside marks need no legend
    for mark in marks:
        own_rows = rows if mark.rows is None else mark.rows
        layer = alt.Chart(alt.Undefined if mark.rows is None else _data(own_rows))
        layer.mark = {"type": mark.kind, **_MARKS.get(mark.kind, {}), **mark.options}
        channels = {way: _on_axis(axis, own_rows, mark.kind) for way, axis in (("x", mark.x), ("y", mark.y)) if axis}
        channels |= {f"{way}2": {"field": axis.to} for way, axis in (("x", mark.x), ("y", mark.y)) if axis and axis.to}
        channels |= {**_colours(mark, own_rows, has_legend=not is_labelled), **mark.channels}
        layer.encoding = alt.FacetedEncoding(**channels)
        layers.append(layer.transform_calculate(text=mark.calculate) if mark.calculate else layer)
    whole: Any = alt.layer(*layers, data=_data(rows))
    if step or rows.schema.get(marks[0].y.column) == pl.String:
        whole = whole.properties(height={"step": step or 12})
    if panel and rows[panel].n_unique() > 1:
        facet = alt.Facet(field=panel, type="nominal", sort=unique(rows[panel]), title=None)
        whole = whole.facet(facet, columns=1)
        whole = whole.resolve_scale(**{own: "independent"}) if own else whole
    finished: Chart = whole.properties(title=title, usermeta={"least": least, "below": below})
    return finished


def squares(
    title: str,
    rows: pl.DataFrame,
    axes: tuple[Axis, Axis],
    shade: str,
    domain: list[float],
    *,
    text: str,
    **content: Any,
) -> Chart:
    """Squares with texts (an expression of Vega) by the column `shade`: darker where lower, or further from zero."""
    depths = {"domain": domain, "range": [_DARK, _FAINT, _DARK][: len(domain)]}
    depth = {"field": shade, "type": "quantitative", "scale": depths, "legend": None}
    colour: Options = {"value": COLOURS[1]}
    if domain[0] < 0:
        colour = {"condition": {"test": f"datum.{shade} < 0", **colour}, "value": COLOURS[0]}
    squares = Mark("rect", *axes, channels={"fillOpacity": depth, "color": colour})
    texts = Mark("text", *axes, channels={"text": {"field": "text", "type": "nominal"}}, calculate=text)
    least = len(axes[0].names or unique(rows[axes[0].column])) * (_CELL if "panel" in content else _COLUMN)
    return chart(title, rows, squares, texts, least=least, **content)


def lines(title: str, rows: pl.DataFrame, x: Axis, y: Axis, by: str, *below: Mark, **content: Any) -> Chart:
    """Lines with points, one per name of the column `by`, over what else there is."""
    return chart(title, rows, *below, Mark("line", x, y, by), Mark("point", x, y, by), **content)


def bars(title: str, rows: pl.DataFrame, x: Axis, y: Axis, by: str = "", *, beside: bool = False,
         **content: Any) -> Chart:  # fmt: skip
    """Horizontal bars; those of the names in the column `by` are stacked, or below each other (`beside`)."""
    channels = {}
    if beside and rows[by].n_unique() > 1:
        channels["yOffset"] = _named(by, unique(rows[by]), {})
        content["step"] = 3.7  # of one bar: 30 slots of ten runs fit on a page
    return chart(title, rows, Mark("bar", x, y, by, channels=channels), **content)


def unique(column: pl.Series) -> list[str]:
    """The texts of a column, each once, in order."""
    return column.unique(maintain_order=True).to_list()


def long(rows: pl.DataFrame, parts: Mapping[str, pl.Expr], name: str, value: str) -> pl.DataFrame:
    """Rows with a row per part: its name is in the column `name`, what it is of the row in the column `value`."""
    return rows.with_columns(**parts).unpivot(list(parts), index=rows.columns, variable_name=name, value_name=value)


def cut(length: int = LABEL) -> str:
    """The expression of a label that is cut in the middle if it has more characters."""
    half = length // 2
    short = f"slice(datum.label, 0, {half - 1}) + '…' + slice(datum.label, -{half})"
    return f"length(datum.label) > {length} ? {short} : datum.label"


def _data(rows: pl.DataFrame) -> alt.Data:
    return alt.Data(values=rows.to_dicts())  # type: ignore[no-untyped-call]


def _colours(mark: Mark, rows: pl.DataFrame, *, has_legend: bool) -> dict[str, Any]:
    """The channels by which names differ: colours, and what else tells them apart."""
    if not mark.by:
        is_plain = mark.kind in ("point", "bar", "rect", "tick") and "color" not in mark.options
        return {"color": {"value": COLOURS[0]}} if is_plain else {}
    names = unique(rows[mark.by])
    legend = {"labelExpr": cut(IN_LEGEND)} if has_legend and len(names) > 1 else None
    if KINDS.keys() >= {*names}:
        return {"color": {**_named(mark.by, names, {"range": [KINDS[name] for name in names]}), "legend": legend}}
    channels = {"color": {**_named(mark.by, names, {}), "legend": legend}}
    if mark.is_apart and mark.kind in _APART:
        channel, scale = _APART[mark.kind]
        # A legend of dashes would dash the symbols of the others.
        channels[channel] = {**_named(mark.by, names, scale), "legend": None if mark.kind == "line" else legend}
    return channels


def _named(column: str, names: Sequence[str], scale: Options) -> dict[str, Any]:
    named = {"field": column, "type": "nominal", "sort": [*names], "title": None}
    return {**named, "scale": {"domain": [*names], **scale}}


def _on_axis(axis: Axis, rows: pl.DataFrame, kind: str) -> dict[str, Any]:
    values = rows[axis.column]
    if values.dtype == pl.String:
        channel = _named(axis.column, axis.names or unique(values), axis.scale)
        looks: dict[str, Any] = {"labelExpr": cut(), "labelOverlap": False, **axis.axis}
    else:
        channel = {"field": axis.column, "type": "quantitative", **({"scale": {**axis.scale}} if axis.scale else {})}
        looks = {"tickCount": 5, **({} if values.dtype.is_integer() else {"format": "~%"}), **axis.axis}
        if values.dtype.is_integer():  # no tick is between two whole numbers; Vega-Lite drops `tickMinStep`
            ends = [*values, 0] if kind == "bar" else [*values]
            looks["tickCount"] = max(1, min(looks["tickCount"], max(ends, default=0) - min(ends, default=0)))
    return {**channel, "title": axis.title, "axis": looks, **axis.channel}
