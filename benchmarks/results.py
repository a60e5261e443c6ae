"""Keeps what benchmarks measured: as Parquet, and as a Vega-Lite chart with its data inside."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dstbench.io.atomic import replacing

if TYPE_CHECKING:
    import argparse

    import polars as pl


def doing(what: str) -> None:
    """Say on stderr what is being done: a benchmark takes minutes."""
    print(f"… {what}", file=sys.stderr, flush=True)


def can_keep(parser: argparse.ArgumentParser) -> None:
    """Give a benchmark the option of a folder in which to keep its measurements."""
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="folder for the measurements and their chart")


def keep(folder: Path | None, name: str, measured: pl.DataFrame, drawn: pl.DataFrame, **chart: Any) -> None:
    """Write measurements to NAME.parquet and a chart to NAME.vl.json, and say so.

    Args:
        folder: The folder; None: nothing is written.
        name: Name of the benchmark.
        measured: One row per measurement.
        drawn: The data of the chart: the measurements, or values computed from them.
        chart: The rest of the chart's specification.
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
