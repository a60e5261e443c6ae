"""Commands that look at dialogues: diagnose, traits, correlate."""

from typing import Annotated

import typer

from dstbench.cli.app import app
from dstbench.cli.options import (
    Asked,
    Choices,
    Drawing,
    FormatOption,
    Metrics,
    Output,
    takes_convention,
    takes_drawing,
    takes_runs,
)
from dstbench.cli.output import (
    emit,
    progress,
    reporting,
    tell_written,
)
from dstbench.typing import NonUniformity, Per, Protocol, TailOrientation

Level = Annotated[float, typer.Option(help="Confidence level of intervals.")]


@app.command(epilog="Example: dstbench diagnose predictions.json --charts figures")
@takes_convention
@takes_runs
@takes_drawing
def diagnose(
    *,
    few: Annotated[int, typer.Option(min=0, help="Dialogues with fewer gold slots than this have few.")] = 12,
    drawing: Drawing,
    asked: Asked,
    form: FormatOption = "text",
    output: Output = None,
    convention: Choices,
) -> None:
    """Find out where runs fail: first failures, gold slots, JGA by turn and length, kinds of errors."""
    with reporting(), progress("diagnosing"):
        asked.spare(output)
        drawing.check()
        import dstbench.analysis.diagnose
        from dstbench.rendering.charts import diagnosis_charts
        from dstbench.rendering.diagnose import render_diagnosis

        found = dstbench.analysis.diagnose.diagnose(
            asked.paths,
            few=few,
            profile=convention(),
            **asked.how,
        )
        text = render_diagnosis(found, form)
        written = drawing.write(diagnosis_charts(found))
    emit(text, output)
    tell_written(written)


@app.command(epilog="Example: dstbench traits predictions.json --disagree fga gca")
@takes_convention
@takes_runs
@takes_drawing
def traits(
    *,
    metrics: Metrics = None,
    to: Annotated[
        TailOrientation | None, typer.Option(help="Tail orientation that is binned and correlated; mean.")
    ] = None,
    nu: Annotated[
        NonUniformity | None, typer.Option(help="Non-uniformity that is binned and correlated; paper.")
    ] = None,
    protocol: Annotated[
        Protocol, typer.Option(help="Correlate all dialogues, or as the authors of GCA did (FGA at 0.75, pooled).")
    ] = "plain",
    level: Level = 0.95,
    disagree: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="List the dialogues on which these metrics differ most."),
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="How many of them, in each direction.")] = 20,
    drawing: Drawing,
    asked: Asked,
    form: FormatOption = "text",
    output: Output = None,
    convention: Choices,
) -> None:
    """Show where in dialogues mistakes are, and what that does to scores: tail orientation, non-uniformity."""
    with reporting(), progress("scoring"):
        asked.spare(output)
        drawing.check()
        import dstbench.analysis.traits
        from dstbench.rendering.charts import trait_charts
        from dstbench.rendering.diagnose import render_traits

        found = dstbench.analysis.traits.traits(
            asked.paths,
            metrics=",".join(metrics) if metrics else None,
            to=to,
            nu=nu,
            protocol=protocol,
            level=level,
            disagree=disagree,
            most=most,
            profile=convention(),
            **asked.how,
        )
        text = render_traits(found, form)
        written = drawing.write(trait_charts(found))
    emit(text, output)
    tell_written(written)


@app.command(epilog="Example: dstbench correlate predictions.json -m jga,fga,gca --versus jga,fga,gca")
@takes_convention
@takes_runs
@takes_drawing
def correlate(
    *,
    metrics: Annotated[
        list[str] | None,
        typer.Option("-m", "--metrics", help="Metrics, and columns such as turns, n_gold_max, to_mean, nu_paper."),
    ] = None,
    per: Annotated[Per, typer.Option(help="Correlate the scores of dialogues, or of turns.")] = "dialogue",
    versus: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B,C[,D]", help="Compare r(A, B) with r(A, C), or r(A, B) with r(C, D); repeatable."),
    ] = None,
    between_runs: Annotated[
        bool, typer.Option("--between-runs", help="Compare each correlation between runs.")
    ] = False,
    test: Annotated[
        str | None, typer.Option(metavar="NAME", help="The test of a difference, by cocor's name, or all.")
    ] = None,
    level: Level = 0.95,
    drawing: Drawing,
    asked: Asked,
    form: FormatOption = "text",
    output: Output = None,
    convention: Choices,
) -> None:
    """Correlate metrics and traits of dialogues, and compare correlations."""
    with reporting(), progress("scoring"):
        asked.spare(output)
        drawing.check()
        import dstbench.analysis.correlate
        from dstbench.rendering.charts import correlation_charts
        from dstbench.rendering.diagnose import render_correlations

        found = dstbench.analysis.correlate.correlate(
            asked.paths,
            metrics=",".join(metrics) if metrics else None,
            per=per,
            differences=versus or [],
            between_runs=between_runs,
            test=test,
            level=level,
            profile=convention(),
            **asked.how,
        )
        text = render_correlations(found, form)
        written = drawing.write(correlation_charts(found))
    emit(text, output)
    tell_written(written)
