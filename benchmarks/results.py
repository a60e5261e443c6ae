"""What benchmarks measured, kept: as Parquet, and as a Vega-Lite chart beside it, with its data inside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dstbench.io.atomic import replacing

if TYPE_CHECKING:
    import argparse

    import polars as pl


def can_keep(parser: argparse.ArgumentParser) -> None:
    """Give a benchmark the option that says where to keep what it measures."""
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="folder for the measurements and their chart")


def keep(folder: Path | None, name: str, measured: pl.DataFrame, drawn: pl.DataFrame, **chart: Any) -> None:
    """Write measurements to NAME.parquet and a chart to NAME.vl.json, and say so.

    Args:
        folder: Where to; None: nowhere.
        name: That of the benchmark.
        measured: One row per measurement.
        drawn: What the chart draws: these, or what follows from them.
        chart: The rest of its specification.
    """
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    head = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "data": {"values": drawn.to_dicts()}}
    table, picture = folder / f"{name}.parquet", folder / f"{name}.vl.json"
    with replacing(table) as part:
        measured.write_parquet(part)
    with replacing(picture) as part:
        part.write_text(json.dumps({**head, **chart}, indent=1), encoding="utf-8")
    print(f"wrote {table} and {picture}")
