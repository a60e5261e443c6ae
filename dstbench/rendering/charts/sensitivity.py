"""The chart of what one error costs, by when it happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.rendering.charts.grammar import Chart, Spec, chart, in_panels, number, percent, unique, with_names

if TYPE_CHECKING:
    from dstbench.analysis.sensitivity import Sensitivity

# Room for any label of the vertical axis, in points: all panels of a column stand above its horizontal axis.
_LABELS: Final = 24


def sensitivity_charts(sensitivity: Sensitivity) -> dict[str, Chart]:
    """Mean loss by position, a panel per kind of error, a line per metric."""
    shown = with_names(sensitivity.costs.drop_nulls("loss"))
    shown = shown.with_columns(middle=(pl.col("start") + pl.col("end")) / 2)
    axis: Spec = {"format": "~%", "values": [0, 0.2, 0.4, 0.6, 0.8, 1], "grid": False}
    x = number("middle", title="When the error happens: t/(n − 1)", scale={"domain": [0, 1]})  # noqa: RUF001 # a minus
    y = percent("loss", title="Loss", scale={"zero": True})
    y["axis"]["minExtent"] = _LABELS
    encoding = {"x": {**x, "axis": axis}, "y": y}
    title = "What one error costs, by when it happens" + (" (a sample)" if sensitivity.is_sample else "")
    whole = chart(title, "line", shown, encoding, by="metric")
    return {"sensitivity": in_panels(whole, "kind", unique(shown["kind"]), y="independent")}
