"""Commands that look at dialogues: diagnose, traits."""

from __future__ import annotations

from typing import Annotated

import typer

from dstbench.cli.app import app
from dstbench.cli.options import (
    Asked,
    Charts,
    Choices,
    FormatOption,
    Metrics,
    Output,
    takes_convention,
    takes_runs,
)
from dstbench.cli.output import (
    emit,
    progress,
    reporting,
    tell_written,
    write_charts,
)
from dstbench.options import NonUniformity, TailOrientation


@app.command(epilog="Example: dstbench diagnose predictions.json --charts figures")
@takes_convention
@takes_runs
def diagnose(
    *,
    few: Annotated[int, typer.Option(min=0, help="Dialogues with fewer gold slots than this have few.")] = 12,
    charts: Charts = None,
    asked: Asked,
    form: FormatOption = "text",
    output: Output = None,
    convention: Choices,
) -> None:
    """Find out where runs fail: first failures, gold slots, JGA by turn and length, kinds of errors."""
    with reporting(), progress("diagnosing"):
        asked.spare(output)
        import dstbench.diagnosis
        from dstbench.report.charts import diagnosis_charts
        from dstbench.report.diagnoses import render_diagnosis

        found = dstbench.diagnosis.diagnose(
            asked.paths,
            few=few,
            profile=convention(),
            **asked.how,
        )
        text = render_diagnosis(found, form)
        written = write_charts(diagnosis_charts(found), charts)
    emit(text, output)
    tell_written(written)


@app.command(epilog="Example: dstbench traits predictions.json --disagree fga gca")
@takes_convention
@takes_runs
def traits(
    *,
    metrics: Metrics = None,
    to: Annotated[TailOrientation, typer.Option(help="Which tail orientation is binned.")] = "mean",
    nu: Annotated[NonUniformity, typer.Option(help="Which non-uniformity is binned.")] = "paper",
    disagree: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="List the dialogues on which these metrics differ most."),
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="How many of them, in each direction.")] = 20,
    charts: Charts = None,
    asked: Asked,
    form: FormatOption = "text",
    output: Output = None,
    convention: Choices,
) -> None:
    """Show where in dialogues mistakes are, and what that does to scores: tail orientation, non-uniformity."""
    with reporting(), progress("scoring"):
        asked.spare(output)
        import dstbench.tendencies
        from dstbench.report.charts import trait_charts
        from dstbench.report.diagnoses import render_traits

        found = dstbench.tendencies.traits(
            asked.paths,
            metrics=",".join(metrics) if metrics else "fga,gca",
            to=to,
            nu=nu,
            disagree=disagree,
            most=most,
            profile=convention(),
            **asked.how,
        )
        text = render_traits(found, form)
        written = write_charts(trait_charts(found), charts)
    emit(text, output)
    tell_written(written)
