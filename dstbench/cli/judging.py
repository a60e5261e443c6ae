"""Commands that judge metrics: compare-metrics."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import dstbench
from dstbench.cli.app import app
from dstbench.cli.command import Result, command
from dstbench.cli.options import (
    Adjust,
    ConventionChoices,
    Drawing,
    Metrics,
    Resamples,
    Runs,
    Seed,
    TableOutput,
    TestLevel,
)
from dstbench.cli.output import as_text


@dataclass(frozen=True, kw_only=True)
class OptionalRuns(Runs):
    """Runs that another option may stand for."""

    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RUN...]", help="Prediction files, folders of them, or long tables (.parquet)."),
    ] = None  # type: ignore[assignment] # `paths` is not asked for without them


@command(app, "compare-metrics", doing="comparing", example="compare-metrics a.json b.json c.json -m jga,sa,gca")
def compare_metrics(
    *,
    scores: Annotated[
        Path | None,
        typer.Option(
            "--table", metavar="FILE", help="In place of RUN: scores, CSV or Parquet with model, metric, value."
        ),
    ] = None,
    metrics: Metrics = None,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    level: TestLevel = 0.95,
    adjust: Adjust = "holm",
    drawing: Drawing,
    runs: OptionalRuns,
    table: TableOutput,
    choices: ConventionChoices,
) -> Result:
    """Compare metrics over the same runs. Shows spread, pairs told apart, agreement of orders, dependence on traits."""
    from dstbench.rendering.charts.runs import metric_charts
    from dstbench.rendering.tables import render

    compared = dstbench.compare_metrics(
        runs.paths if runs.runs else None,
        table=as_text(scores),
        metrics=metrics,
        resamples=resamples,
        seed=seed,
        level=level,
        adjust=adjust,
        profile=choices.convention(),
        **runs.reading,
    )
    return Result(render(compared, table.form), drawing.write(metric_charts, compared))
