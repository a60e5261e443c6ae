"""What benchmarks measured, kept: as Parquet, and as a Vega-Lite chart beside it, with its data inside."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from dstbench.files import replacing


def keep(rows: pl.DataFrame, output: Path | None, *, x: str, y: str, colour: str | None = None) -> None:
    """Write measurements to OUTPUT.parquet and a chart of them to OUTPUT.vl.json, and say so.

    Args:
        rows: One row per measurement.
        output: Where to, without an ending; None: nowhere.
        x: The column along which they are drawn: numbers on a logarithmic axis as a line, names as bars.
        y: What was measured.
        colour: What tells lines or bars apart.
    """
    if output is None:
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    numeric = rows.schema[x].is_numeric()
    along = {"type": "quantitative", "scale": {"type": "log"}} if numeric else {"type": "nominal", "sort": None}
    encoding = {"x": {"field": x, **along}, "y": {"field": y, "type": "quantitative", "aggregate": "median"}}
    if colour:
        encoding["color"] = {"field": colour, "type": "nominal"}
        encoding |= {} if numeric else {"xOffset": {"field": colour}}
    chart = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": f"{y} by {x}",
        "data": {"values": rows.to_dicts()},
        "mark": {"type": "line", "point": True, "tooltip": True} if numeric else {"type": "bar", "tooltip": True},
        "encoding": encoding,
    }
    table, picture = output.with_name(f"{output.name}.parquet"), output.with_name(f"{output.name}.vl.json")
    with replacing(table) as part:
        rows.write_parquet(part)
    with replacing(picture) as part:
        part.write_text(json.dumps(chart, indent=1), encoding="utf-8")
    print(f"wrote {table} and {picture}")
