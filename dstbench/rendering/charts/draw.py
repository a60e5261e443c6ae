"""Charts drawn by vl-convert, without a browser and without a network: for the page of a report, and for papers.

Both have the same layout and type size. In papers, a figure is as wide as a column of ACL's style (219 pt), or as its
page (455 pt); in a report, it is half as large again, and takes its colours and its font from the page.
"""

from __future__ import annotations

import re
from typing import Any, Final
from xml.etree import ElementTree as Xml

import vl_convert
from markupsafe import Markup

from dstbench.errors import visible
from dstbench.rendering.charts.chart import COLOURS, IN_LEGEND, INK, LABEL, Chart, cut
from dstbench.rendering.html import markup
from dstbench.typing import FigureFormat

Spec = dict[str, Any]

# Widths in points (1/72 inch): of a figure, of a wide one, and of the same on the page of a report.
_WIDTH: Final = 219
_WIDE: Final = 455
_ON_PAGE: Final = {_WIDTH: 340, _WIDE: 620}
_PAGE_SCALE: Final = 1.5
_MANY_PANELS: Final = 3  # so many panels make a figure wide
_NARROWEST: Final = 40  # the least width of a plot
_SPACING: Final = 12
_LETTER: Final = 4.2  # the width of a character above a panel
# About how much room labels take in points: an axis of names or a symbol with a name, plus each character; or an axis
# of numbers.
_OF_NAMES: Final = 9
_OF_SYMBOL: Final = 20
_OF_CHARACTER: Final = 3.4
_OF_NUMBERS: Final = 34
_DOTS_PER_INCH: Final = 300
_VEGA_LITE: Final = "6.1"
# The opening tag of an SVG up to its width, its width and its height.
_SIZE: Final = re.compile(r'(<svg [^>]*?width=")([0-9.]+)" height="([0-9.]+)"')
_TEXT: Final[Spec] = {"labelFontSize": 7, "titleFontSize": 8, "titleFontWeight": "normal", "labelColor": INK}
_CONFIG: Final[Spec] = {
    "font": "Helvetica, Arial, sans-serif",
    "padding": 2,
    "view": {"continuousHeight": 120, "step": 12, "stroke": None},
    "axis": {
        **_TEXT, "titleColor": INK, "labelLimit": 120, "labelFlush": False, "tickSize": 3, "tickWidth": 0.5,
        "tickColor": "#888888", "domainColor": "#888888", "domainWidth": 0.5, "gridColor": "#dddddd", "gridWidth": 0.5,
    },
    "axisX": {"labelOverlap": True},
    "facet": {"spacing": {"column": _SPACING, "row": 4}},
    "header": {**_TEXT, "labelFontSize": 8, "labelLimit": 0, "labelPadding": 4},
    "legend": {
        **_TEXT, "titleColor": INK, "labelLimit": 120, "orient": "top", "offset": 4,
        "layout": {"top": {"direction": "vertical"}}, "symbolSize": 30, "symbolStrokeWidth": 1, "symbolOpacity": 1,
    },
    "title": {"orient": "bottom", "anchor": "middle", "fontSize": 8, "fontWeight": "normal", "color": INK, "offset": 6},
    "line": {"strokeWidth": 1},
    "point": {"size": 14},
    "rule": {"color": INK},
    "text": {"fontSize": 6.5, "color": INK},
}  # fmt: skip


def draw_figure(chart: Chart, form: FigureFormat, width: float | None = None) -> bytes:
    """A chart as the content of a file."""
    spec = specification(chart)
    width = width or (_WIDE if is_wide(spec) else _WIDTH)
    svg = _drawn({**spec, "background": "white"}, width, 1, "pt" if form == "svg" else "")
    if form == "pdf":
        return vl_convert.svg_to_pdf(svg)
    if form == "png":
        return vl_convert.svg_to_png(svg, ppi=_DOTS_PER_INCH)
    return svg.encode()


def draw_on_page(chart: Chart) -> Markup:
    """A chart as an element of a page, without colours of its own: these are variables (`LIGHT`)."""
    spec = specification(chart)
    svg = _drawn({**spec, "background": None}, _ON_PAGE[_WIDE if is_wide(spec) else _WIDTH], _PAGE_SCALE)
    root = Xml.fromstring(svg)  # noqa: S314 # our own drawing
    _clean(root)
    root.attrib |= {"role": "img", "aria-label": str(spec["title"])}
    return markup(Xml.tostring(root, encoding="unicode"))


def specification(chart: Chart) -> Spec:
    """A chart as Vega-Lite, in our colours."""
    return {**chart.to_dict(validate=False), "config": {"range": {"category": list(COLOURS)}}}


def is_wide(spec: Spec) -> bool:
    """Whether a paper with two columns has a chart across both."""
    panels = len(spec["facet"]["sort"]) if "facet" in spec else 1
    return panels >= _MANY_PANELS or panels * spec["usermeta"]["least"] > _WIDTH


def _drawn(spec: Spec, width: float, scale: float, unit: str = "") -> str:
    """The drawing of a chart in this width: of panels the width is estimated, so the drawing is scaled to fit."""
    spec = _legible(spec)
    colours = [layer["encoding"].get("color", {}) for layer in spec.get("spec", spec)["layer"]]
    names = [name for colour in colours for name in colour.get("scale", {}).get("domain", ())]
    letters = min(IN_LEGEND, max(map(len, names), default=0))
    columns = max(1, int((width - _OF_NUMBERS) / (_OF_SYMBOL + _OF_CHARACTER * letters)))
    config = {**_CONFIG, "legend": {**_CONFIG["legend"], "columns": columns}, **spec["config"]}
    spec |= {"config": config, "title": spec["usermeta"]["below"]}
    if "facet" in spec:
        _set_out(spec, width)
    else:
        spec |= {"width": width, "autosize": {"type": "fit-x", "contains": "padding"}}
    svg = vl_convert.vegalite_to_svg(spec, vl_version=_VEGA_LITE, allowed_base_urls=[])  # it may fetch nothing
    drawn = _SIZE.search(svg)
    if drawn is None:
        return svg
    height = scale * float(drawn[3]) * width / float(drawn[2])
    return _SIZE.sub(rf'\g<1>{scale * width:g}{unit}" height="{height:.2f}{unit}"', svg, count=1)


def _set_out(spec: Spec, width: float) -> None:
    """Set out the panels of a chart in rows, with one title below them all."""
    panels, least, plot = len(spec["facet"]["sort"]), spec["usermeta"]["least"], spec["spec"]
    has_own_labels = "y" in spec.get("resolve", {}).get("scale", {})
    axis = plot["layer"][0]["encoding"]["y"]
    names, looks = max(map(len, axis.get("sort") or ()), default=0), axis.get("axis") or {}
    beside = _OF_NUMBERS if axis["type"] == "quantitative" else _OF_NAMES + _OF_CHARACTER * min(LABEL, names)
    beside = looks.get("minExtent", beside) if looks else 0  # about how much room the vertical axis takes, in points
    between = _SPACING + (beside if has_own_labels else 0)
    most = max(1, min(panels, int((width - beside + between) / (least + between))))
    columns = -(-panels // -(-panels // most))  # rows of equal length
    plot["width"] = max(_NARROWEST, (width - beside - (columns - 1) * between) / columns)
    spec["columns"] = columns
    if panels % columns:  # no axis below an empty place
        spec.setdefault("resolve", {})["axis"] = {"x": "independent"}
    room = plot["width"] + (beside if has_own_labels else 0)
    length = int(room / _LETTER)  # of a title, which has two lines if it is longer and has a comma
    is_long = f"length(datum.label) > {length} && indexof(datum.label, ', ') > 0"
    title = f"{is_long} ? split(replace(datum.label, ', ', ',\\n'), '\\n') : {cut(length)}"
    spec["facet"]["header"] = {"labelExpr": title}
    if columns > 1:
        axes = [layer["encoding"]["x"] for layer in plot["layer"] if layer["encoding"]["x"].get("title")]
        spec["title"] = " / ".join(dict.fromkeys(axis["title"] for axis in axes))
        for axis in axes:
            axis["title"] = None


def _legible(part: Any) -> Any:
    """A part of a chart with four decimals, without characters such as NUL, which would end the process."""
    if isinstance(part, str):
        return visible(part)
    if isinstance(part, float):
        return round(part, 4)
    if isinstance(part, dict):
        return {_legible(key): _legible(value) for key, value in part.items()}
    return [_legible(value) for value in part] if isinstance(part, list) else part


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
_PERCENT: Final = re.compile(r"\b(\d+\.\d{6})%")  # a share, as screen readers are told it
# The elements that a drawing may have, and their attributes.
_ELEMENTS: Final = frozenset({"svg", "g", "path", "line", "text", "tspan", "rect"})
_ATTRIBUTES: Final = frozenset({
    "width", "height", "viewBox", "transform", "d", "x", "y", "dx", "dy", "x2", "y2", "text-anchor", "font-size",
    "font-weight", "fill", "stroke", "stroke-width", "stroke-dasharray", "fill-opacity", "stroke-opacity", "opacity",
})  # fmt: skip


def _clean(element: Xml.Element) -> None:
    """Keep only what is visible, in the page's colours; labels for screen readers become titles, shown by the mouse."""
    label = element.get("aria-label") if element.get("aria-roledescription") != "axis" and not len(element) else None
    element.attrib = {
        key: _MORE_DECIMALS.sub(r"\1", value) if key in ("d", "transform") else _THEME.get(value, value)
        for key, value in element.items()
        if key in _ATTRIBUTES and not (value == "1" and key.endswith("opacity"))
    }
    element.tag = element.tag.removeprefix(_SVG)  # HTML needs no namespaces
    for child in list(element):
        is_hidden = child.get("display") == "none" or child.get("d") in ("", "M0,0h0v0h0Z")
        _clean(child)
        if is_hidden or child.tag not in _ELEMENTS or (child.tag == "g" and not len(child)):
            element.remove(child)
    if label:
        Xml.SubElement(element, "title").text = _PERCENT.sub(lambda text: f"{float(text[1]):.2f} %", label)
