"""Charts drawn by vl-convert, without a browser and without a network: for the page of a report, and for papers.

Both have the same layout and type size, at the scale of paper. In papers, a figure is as wide as a column of ACL's
style (219 pt), or as its page (455 pt) if it has three or more panels; it has no title, because papers have captions.
In a report, it is half as large again, and takes its colours and its font from the page.
"""

from __future__ import annotations

import re
from typing import Any, Final
from xml.etree import ElementTree as Xml

import vl_convert
from markupsafe import Markup

from dstbench.errors import visible
from dstbench.rendering.charts.runs import COLOURS, INK, LABEL, Chart, in_lines
from dstbench.rendering.html import markup
from dstbench.typing import FigureFormat

Spec = dict[str, Any]

# Widths in points (1/72 inch): of a figure, of a wide one, and of the same on the page of a report.
_WIDTH: Final = 219
_WIDE: Final = 455
_ON_PAGE: Final = {_WIDTH: 340, _WIDE: 620}
_PAGE_SCALE: Final = 1.5
# The usual least width of a plot in points, the number of panels that make a figure wide, and the absolute least width.
_LEAST: Final = 80
_MANY_PANELS: Final = 3
_NARROWEST: Final = 40
# A drawing may leave this share of its width empty. Plots keep at least this share of their least width if there is
# less room beside the labels than estimated.
_GAP_LEFT: Final = 0.02
_STILL_WIDE: Final = 0.9
_SPACING: Final = 12
# The shortest line of a label above a panel, in characters, and the width of a character in points.
_SHORTEST_LINE: Final = 10
_LETTER: Final = 4.2
# The least room for labels beside each panel, in points.
_OWN_LABELS: Final = 48
# About how much room a vertical axis takes in points: an axis of names, plus each character; or an axis of numbers.
_OF_NAMES: Final = 9
_OF_CHARACTER: Final = 3.4
_OF_NUMBERS: Final = 44
_DOTS_PER_INCH: Final = 300
_VEGA_LITE: Final = "6.1"
# The width and height in the opening tag of an SVG, with the text before each.
_SIZE: Final = re.compile(r'(<svg [^>]*?width=")([0-9.]+)(" height=")([0-9.]+)"')
_CONFIG: Final[Spec] = {
    "font": "Helvetica, Arial, sans-serif",
    "padding": 2,
    "view": {"continuousHeight": 120, "step": 12, "stroke": None},
    "axis": {
        "labelFontSize": 7, "titleFontSize": 8, "titleFontWeight": "normal", "labelLimit": 120, "tickSize": 3,
        "labelColor": INK, "titleColor": INK, "domainColor": "#888888", "tickColor": "#888888",
        "labelFlush": False, "gridColor": "#dddddd", "gridWidth": 0.5, "domainWidth": 0.5, "tickWidth": 0.5,
    },
    "axisX": {"labelOverlap": True},
    "facet": {"spacing": {"column": _SPACING, "row": 4}},
    "header": {
        "labelFontSize": 8, "titleFontSize": 8, "titleFontWeight": "normal", "labelColor": INK, "labelLimit": 0,
        "labelPadding": 4},
    "legend": {
        "orient": "top", "offset": 4, "labelFontSize": 7, "titleFontSize": 8, "titleFontWeight": "normal",
        "labelLimit": 120, "layout": {"top": {"direction": "vertical"}}, "symbolSize": 30,
        "symbolStrokeWidth": 1, "symbolOpacity": 1,
        "labelColor": INK, "titleColor": INK,
    },
    "line": {"strokeWidth": 1},
    "point": {"size": 14},
    "rule": {"color": INK},
    "text": {"fontSize": 6.5, "color": INK},
}  # fmt: skip


_BELOW: Final[Spec] = {
    "orient": "bottom", "anchor": "middle", "fontSize": 8, "fontWeight": "normal", "color": INK, "offset": 2,
}  # fmt: skip


def draw_figure(chart: Chart, form: FigureFormat, width: float | None = None) -> bytes:
    """A chart as the content of a file."""
    spec = specification(chart)
    svg = _fit({**spec, "background": "white"}, width or (_WIDE if is_wide(spec) else _WIDTH))
    if form == "pdf":
        return vl_convert.svg_to_pdf(svg)
    if form == "png":
        return vl_convert.svg_to_png(svg, ppi=_DOTS_PER_INCH)
    return _SIZE.sub(r'\1\2pt\3\4pt"', svg, count=1).encode()


def draw_on_page(chart: Chart) -> Markup:
    """A chart as an element of a page, without colours of its own: these are variables (`LIGHT`)."""
    spec = specification(chart)
    svg = _fit({**spec, "background": None}, _ON_PAGE[_WIDE if is_wide(spec) else _WIDTH])
    root = Xml.fromstring(svg)  # noqa: S314 # our own drawing
    _clean(root)
    for side in ("width", "height"):
        root.set(side, f"{_PAGE_SCALE * float(root.get(side, 0)):.0f}")
    root.set("role", "img")
    root.set("aria-label", str(spec["title"]))
    return markup(Xml.tostring(root, encoding="unicode"))


def specification(chart: Chart) -> Spec:
    """A chart as Vega-Lite, in our colours."""
    return {**chart.to_dict(validate=False), "config": {"range": {"category": list(COLOURS)}}}


# --- the layout -------------------------------------------------------------------------------------------------------


def _panels(chart: Spec) -> int:
    """The number of panels that may stand beside each other."""
    return len(chart["facet"]["sort"]) if "facet" in chart else 1


def is_wide(chart: Spec) -> bool:
    """Whether a paper with two columns has it across both."""
    return _panels(chart) >= _MANY_PANELS or "wide" in chart["usermeta"]


def _fit(chart: Spec, width: float) -> str:
    """The drawing of a chart in this width, with as many panels beside each other as there is room for.

    The room that labels take beside the plots is estimated. If the drawing is then too wide, or much too narrow, its
    width shows how much room they need, and the chart is drawn again, up to twice.
    """
    panels, least = _panels(chart), chart["usermeta"].get("least", _LEAST)
    own_labels = "y" in chart.get("resolve", {}).get("scale", {})  # each panel has labels of its own beside it
    beside, columns, svg, excess = _room_beside(chart), panels, "", 0.0
    for least_now in (least, _STILL_WIDE * least, _STILL_WIDE * least):
        between = _SPACING + (beside if own_labels else 0)
        most = max(1, min(columns, int((width - beside + between) / (least_now + between))))
        columns = -(-panels // -(-panels // most))  # rows of equal length
        plot = max(_NARROWEST, (width - beside - (columns - 1) * between) / columns)
        sized, before = _sized(_legible(chart), plot, columns, width), excess
        svg = vl_convert.vegalite_to_svg(sized, vl_version=_VEGA_LITE, allowed_base_urls=[])  # it may fetch nothing
        size = _SIZE.search(svg)
        excess = (float(size[2]) if size else 0.0) - width
        if -_GAP_LEFT * width <= excess <= columns or excess == before:  # a legend may be as wide as before
            break
        beside += excess / (columns if own_labels else 1)
    return svg


def _room_beside(chart: Spec) -> float:
    """About how much room the vertical axis takes, in points."""
    axis = chart.get("spec", chart)["layer"][0]["encoding"]["y"]
    if axis.get("axis", {}) is None:
        return 0
    if axis["type"] == "quantitative":
        return _OF_NUMBERS
    return round(_OF_NAMES + _OF_CHARACTER * min(LABEL, max(map(len, axis["sort"] or [""]))))


def _legible(part: Any) -> Any:
    """A part of a chart with four decimals, and without characters that change how others are read.

    One of these, NUL, would end this process in vl-convert.
    """
    if isinstance(part, str):
        return visible(part)
    if isinstance(part, float):
        return round(part, 4)
    if isinstance(part, dict):
        return {_legible(key): _legible(value) for key, value in part.items()}
    return [_legible(value) for value in part] if isinstance(part, list) else part


def _sized(chart: Spec, width: float, columns: int, whole: float) -> Spec:
    """Give the chart our style, and plots of this width in so many columns; the legend is as wide as the whole."""
    chart["title"] = {"text": chart["usermeta"].get("below", ""), **_BELOW}
    legend = {**_CONFIG["legend"], "columns": max(2, int(whole / 105))}
    chart["config"] = {**_CONFIG, "legend": legend, **chart.get("config", {})}
    if "facet" in chart:
        chart["columns"] = columns
        if len(chart["facet"]["sort"]) % columns:  # no axis below an empty place
            chart.setdefault("resolve", {})["axis"] = {"x": "independent"}
        room = width + (_OWN_LABELS if "y" in chart.get("resolve", {}).get("scale", {}) else 0)
        chart["facet"]["header"] = {"labelExpr": in_lines(max(_SHORTEST_LINE, int(room / _LETTER)))}
    plot = chart.get("spec", chart)
    plot["width"] = width
    axes = [part["encoding"]["x"] for part in plot["layer"] if "title" in part["encoding"]["x"]]
    if columns > 1:  # one title below all panels, in place of one below each column
        chart["title"]["text"] = " / ".join({axis["title"]: 0 for axis in axes if axis["title"]})
        for axis in axes:
            axis["title"] = None
    return chart


# --- the page ---------------------------------------------------------------------------------------------------------

_SVG: Final = "{http://www.w3.org/2000/svg}"
#: The style of a page's light screen: the colours of charts; page.css has those of a dark one.
LIGHT: Final = f":root {{ {' '.join(f'--s{number}: {colour};' for number, colour in enumerate(COLOURS))} }}"
_THEME: Final = {
    INK: "currentColor",
    "black": "currentColor",
    "#888888": "var(--faint)",
    "#dddddd": "var(--line)",
    **{colour: f"var(--s{number})" for number, colour in enumerate(COLOURS)},
}
_MORE_DECIMALS: Final = re.compile(r"(\.\d\d)\d+")
# A share, as screen readers are told it.
_PERCENT: Final = re.compile(r"\b(\d+\.\d{6})%")
# The elements that a drawing may have, and their attributes.
_ELEMENTS: Final = frozenset({"svg", "g", "path", "line", "text", "tspan", "rect"})
_ATTRIBUTES: Final = frozenset({
    "width", "height", "viewBox", "transform", "d", "x", "y", "dx", "dy", "x2", "y2", "text-anchor", "font-size",
    "font-weight", "fill", "stroke", "stroke-width", "stroke-dasharray", "fill-opacity", "stroke-opacity", "opacity",
})  # fmt: skip


def _clean(element: Xml.Element) -> None:
    """Keep only what is visible, in the page's colours; labels for screen readers become titles, shown by the mouse."""
    label = element.get("aria-label") if element.get("aria-roledescription") != "axis" and not len(element) else None
    for key, value in list(element.attrib.items()):
        if key not in _ATTRIBUTES or (key.endswith("opacity") and value == "1"):
            del element.attrib[key]
        elif key in ("fill", "stroke"):
            element.set(key, _THEME.get(value, value))
        elif key in ("d", "transform"):
            element.set(key, _MORE_DECIMALS.sub(r"\1", value))
    element.tag = element.tag.removeprefix(_SVG)  # HTML needs no namespaces
    for child in list(element):
        hidden = child.get("display") == "none" or child.get("d") in ("", "M0,0h0v0h0Z")
        if hidden or child.tag.removeprefix(_SVG) not in _ELEMENTS:
            element.remove(child)
        else:
            _clean(child)
            if child.tag == "g" and not len(child):
                element.remove(child)
    if label:
        Xml.SubElement(element, "title").text = _PERCENT.sub(lambda text: f"{float(text[1]):.2f} %", label)
