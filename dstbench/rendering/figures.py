"""Charts drawn as files for papers: SVG, PDF or PNG, by vl-convert, without a browser and without a network.

They are as wide as a column of text (3.3 inches), with letters of 7 and 8 points, and have no title: that is for the
caption to say.
"""

from __future__ import annotations

import copy
import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from dstbench.errors import DstbenchError

if TYPE_CHECKING:
    from dstbench.rendering.charts import Chart
    from dstbench.typing import FigureFormat

# Points, of which 72 are an inch.
_WIDTH: Final = 238
# Less than this holds nothing, whatever the labels beside it.
_LEAST: Final = 60
_DOTS_PER_INCH: Final = 300
_VEGA_LITE: Final = "5.20"
_CONFIG: Final[dict[str, Any]] = {
    "font": "Helvetica, Arial, sans-serif",
    "background": "white",
    "padding": 2,
    "view": {"continuousHeight": 120, "step": 12, "stroke": None},
    "axis": {"labelFontSize": 7, "titleFontSize": 8, "titleFontWeight": "normal", "labelLimit": 90, "tickSize": 3},
    "axisX": {"labelOverlap": True},
    "facet": {"spacing": 8},
    "header": {"labelFontSize": 8, "titleFontSize": 8},
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
    """Say it before the work is done if figures cannot be drawn.

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
        chart: What `charts` gives.
        form: ``svg``, ``pdf``, or ``png`` with 300 dots per inch.

    Raises:
        DstbenchError: vl-convert is not installed.
    """
    check_drawing()
    import vl_convert

    offline: Any = {"vl_version": _VEGA_LITE, "allowed_base_urls": []}
    fitted = _fit(chart, _WIDTH)
    # What stands beside the plot (labels, legends) is known when it is drawn.
    beside = _width(vl_convert.vegalite_to_svg(fitted, **offline)) - _WIDTH
    fitted = _fit(chart, max(_LEAST, _WIDTH - beside))
    if form == "pdf":
        return vl_convert.vegalite_to_pdf(fitted, **offline)
    if form == "png":
        return vl_convert.vegalite_to_png(fitted, ppi=_DOTS_PER_INCH, **offline)
    svg = vl_convert.vegalite_to_svg(fitted, **offline)
    return re.sub(r'(<svg [^>]*?width="[0-9.]+)(" height="[0-9.]+)"', r'\1pt\2pt"', svg, count=1).encode()


def _fit(chart: Chart, width: float) -> Chart:
    """The chart in the look of a paper, with a plot of this width."""
    fitted = copy.deepcopy(chart)
    fitted.pop("title", None)
    fitted["config"] = {**_CONFIG, **fitted.get("config", {})}
    plot = fitted
    if "facet" in fitted:
        plot = fitted["spec"]
        fitted |= {"columns": 1} if "columns" in fitted else {}
    if plot.get("height") == plot.get("width", 0):  # a square remains one
        plot["height"] = width
    plot["width"] = width
    return fitted


def _width(svg: str) -> float:
    found = re.search(r'<svg [^>]*?width="([0-9.]+)"', svg)
    return float(found[1]) if found else _WIDTH
