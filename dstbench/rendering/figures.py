"""Charts drawn as files for papers: SVG, PDF or PNG, by vl-convert, without a browser and without a network.

Figures are as wide as a column of text (3.3 inches), or as a page (7 inches) if they have three or more panels beside
each other, or say so (``usermeta``). They have type of 7 and 8 points, and no title, because papers have captions.
"""

from __future__ import annotations

import copy
import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from dstbench.errors import DstbenchError
from dstbench.typing import FigureFormat

if TYPE_CHECKING:
    from dstbench.rendering.charts import Chart

# The width of a figure, of one with many panels beside each other, and the smallest width of a plot, in points
# (1/72 inch).
_WIDTH: Final = 238
_WIDTH_OF_PAGE: Final = 505
_NARROWEST: Final = 40
_MANY_PANELS: Final = 3
_DOTS_PER_INCH: Final = 300
_VEGA_LITE: Final = "5.20"
# The width and height in the opening tag of an SVG, with the text before each.
_SIZE: Final = re.compile(r'(<svg [^>]*?width=")([0-9.]+)(" height=")([0-9.]+)"')
_CONFIG: Final[dict[str, Any]] = {
    "font": "Helvetica, Arial, sans-serif",
    "background": "white",
    "padding": 2,
    "view": {"continuousHeight": 120, "step": 12, "stroke": None},
    "axis": {"labelFontSize": 7, "titleFontSize": 8, "titleFontWeight": "normal", "labelLimit": 90, "tickSize": 3},
    "axisX": {"labelOverlap": True},
    "facet": {"spacing": 8},
    "header": {"labelFontSize": 8, "titleFontSize": 8, "titleFontWeight": "normal"},
    "legend": {
        "orient": "bottom",
        "columns": 2,
        "labelFontSize": 7,
        "titleFontSize": 8,
        "titleFontWeight": "normal",
        "labelLimit": 86,
        "layout": {"bottom": {"direction": "vertical"}},
        "symbolSize": 30,
        "symbolStrokeWidth": 1,
    },
    "line": {"strokeWidth": 1},
    "point": {"size": 14},
    "text": {"fontSize": 7},
}


def check_drawing() -> None:
    """Check that figures can be drawn; commands do it before they compute.

    Raises:
        DstbenchError: vl-convert is not installed.
    """
    if find_spec("vl_convert") is None:
        raise DstbenchError(
            "figures are drawn by vl-convert, which is not installed", hint="pip install 'dstbench[report]'"
        )


def draw_figure(chart: Chart, form: FigureFormat) -> bytes:
    """A chart as the content of a file.

    Args:
        chart: A specification from `charts`.
        form: ``svg``, ``pdf``, or ``png`` with 300 dots per inch.

    Raises:
        DstbenchError: vl-convert is not installed.
    """
    check_drawing()
    import vl_convert

    options: Any = {"vl_version": _VEGA_LITE, "allowed_base_urls": []}  # it may fetch nothing
    # The first drawing shows how much room the labels and legends beside the plots take; the second makes the plots
    # narrower by as much.
    panels = len(chart.get("encoding", {}).get("column", {}).get("sort", "1"))
    is_wide = panels >= _MANY_PANELS or chart.get("usermeta") == {"width": "page"}
    width = _WIDTH_OF_PAGE if is_wide else _WIDTH
    size = _SIZE.search(vl_convert.vegalite_to_svg(_fit(chart, width), **options))
    beside = float(size[2]) - panels * width if size else 0
    fitted = _fit(chart, max(_NARROWEST, (width - beside) / panels))
    if form == "pdf":
        return vl_convert.vegalite_to_pdf(fitted, **options)
    if form == "png":
        return vl_convert.vegalite_to_png(fitted, ppi=_DOTS_PER_INCH, **options)
    return _SIZE.sub(r'\1\2pt\3\4pt"', vl_convert.vegalite_to_svg(fitted, **options), count=1).encode()


def _fit(chart: Chart, width: float) -> Chart:
    """The chart in the style for papers, with a plot of this width."""
    fitted = copy.deepcopy(chart)
    fitted.pop("title", None)
    fitted["config"] = {**_CONFIG, **fitted.get("config", {})}
    if "columns" in fitted:
        fitted["columns"] = 1
    plot = fitted["spec"] if "facet" in fitted else fitted
    if plot.get("height") == plot.get("width", 0):  # a square plot stays square
        plot["height"] = width
    plot["width"] = width
    return fitted
