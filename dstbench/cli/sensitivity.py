"""The command that asks what one error costs under each metric."""

from pathlib import Path
from typing import Annotated

import typer

import dstbench
from dstbench.cli.app import app
from dstbench.cli.command import Result, command
from dstbench.cli.options import ConventionChoices, Drawing, Level, Metrics, TableOutput
from dstbench.cli.output import as_path


@command(app, doing="scoring copies", example="sensitivity test.tsv -m jga,fga,gca --kinds missed,late")
def sensitivity(
    *,
    gold: Annotated[
        Path, typer.Argument(metavar="GOLD", help="A file or folder with gold states, or a long table (.parquet).")
    ],
    metrics: Metrics = None,
    kinds: Annotated[
        list[str] | None, typer.Option(help="Kinds of errors: missed, wrong, late, dropped, over, swap; default: all.")
    ] = None,
    bins: Annotated[int, typer.Option(min=1, max=100, help="Number of equal parts of a dialogue.")] = 5,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Number of errors of each kind to draw in each dialogue; default: all.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the draws.")] = 0,
    level: Level = 0.95,
    split: Annotated[str | None, typer.Option(help="train, dev or test, if gold has several splits.")] = None,
    drawing: Drawing,
    table: TableOutput,
    choices: ConventionChoices,
) -> Result:
    """Show what one error costs under each metric, by kind of error and by when it happens. Needs gold only."""
    from dstbench.rendering.charts.runs import sensitivity_charts
    from dstbench.rendering.sensitivity import render_sensitivity

    costs = dstbench.sensitivity(
        as_path(gold),
        metrics=metrics,
        kinds=kinds,
        bins=bins,
        sample=sample,
        seed=seed,
        level=level,
        profile=choices.convention(),
        split=split,
    )
    return Result(render_sensitivity(costs, table.form), drawing.write(sensitivity_charts, costs))
