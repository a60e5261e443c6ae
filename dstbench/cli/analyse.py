"""Commands that look at dialogues: diagnose, traits, correlate."""

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from dstbench.cli.app import app
from dstbench.cli.options import (
    Asked,
    Choices,
    Drawing,
    FormatOption,
    From,
    Gold,
    Metrics,
    MissingOption,
    Output,
    Split,
    takes_convention,
    takes_drawing,
    takes_runs,
)
from dstbench.cli.output import (
    as_text,
    emit,
    progress,
    reporting,
    spare_inputs,
    tell_written,
)
from dstbench.typing import NonUniformity, Per, Protocol, TailOrientation

Level = Annotated[float, typer.Option(help="Confidence level of the intervals.")]


@app.command(epilog="Example: dstbench diagnose predictions.json --charts figures")
@takes_convention
@takes_runs
@takes_drawing
def diagnose(
    *,
    few: Annotated[int, typer.Option(min=0, help="Count the dialogues with fewer gold slots than this.")] = 12,
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
        TailOrientation | None, typer.Option(help="Tail orientation to bin and correlate; default: mean.")
    ] = None,
    nu: Annotated[
        NonUniformity | None, typer.Option(help="Non-uniformity to bin and correlate; default: paper.")
    ] = None,
    protocol: Annotated[
        Protocol,
        typer.Option(help="Correlate all dialogues, or those that the authors of GCA took (FGA at 0.75, pooled)."),
    ] = "plain",
    level: Level = 0.95,
    disagree: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="List the dialogues on which these metrics differ most."),
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Number of dialogues to list in each direction.")] = 20,
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


# --- a user's own questions -------------------------------------------------------------------------------------------

# Lines of what was said are not wider than this.
_WIDEST = 120


@app.command(epilog="Example: dstbench show predictions.json PMUL4648 --against other.json")
@takes_convention
def show(
    *,
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A prediction file, packed or not, or a long table (.parquet).")
    ],
    dialogue: Annotated[str, typer.Argument(metavar="DIALOGUE", help="The dialogue's id.")],
    against: Annotated[Path | None, typer.Option(metavar="RUN", help="Another run to show beside it.")] = None,
    context: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The utterances: the dataset, or a table that `contexts` wrote.")
    ] = None,
    metrics: Metrics = None,
    gold: Gold = None,
    from_format: From = None,
    missing: MissingOption = None,
    split: Split = None,
    form: FormatOption = "text",
    output: Output = None,
    convention: Choices,
) -> None:
    """Show one dialogue turn by turn: what was said, gold and predicted slots, scores, changes of state."""
    with reporting(), progress("reading"):
        asked = Asked([run, *([against] if against else [])], gold, from_format, None, missing, split)
        asked.spare(output)
        spare_inputs(output, [context] if context else [])
        from dstbench.analysis.show import walk_through
        from dstbench.rendering.show import render_walkthrough

        found = walk_through(
            asked.paths,
            dialogue,
            context=as_text(context),
            metrics=",".join(metrics) if metrics else None,
            profile=convention(),
            **asked.how,
        )
        width = min(_WIDEST, shutil.get_terminal_size((_WIDEST, 0)).columns)
        text = render_walkthrough(found, form, width=width, colour=output is None and _is_coloured())
    emit(text, output)


@app.command(epilog="Example: dstbench query \"SELECT slot, count(*) AS n FROM classes WHERE kind = 'wrong' GROUP BY slot ORDER BY n DESC\" predictions.json")  # fmt: skip  # noqa: E501
@takes_convention
@takes_runs
def query(
    *,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="A query over long, classes, turns, dialogues, scores.")],
    metrics: Metrics = None,
    asked: Asked,
    form: FormatOption = "text",
    output: Output = None,
    convention: Choices,
) -> None:
    """Ask runs a question in SQL: the tables are long, classes, turns, dialogues and scores."""
    with reporting(), progress("asking"):
        asked.spare(output)
        import dstbench.analysis.query
        from dstbench.rendering.tables import render_answer

        rows = dstbench.analysis.query.query(
            sql,
            asked.paths,
            metrics=",".join(metrics) if metrics else None,
            profile=convention(),
            **asked.how,
        )
        text = render_answer(rows, form)
    emit(text, output)


def _is_coloured() -> bool:
    """Whether standard output is a terminal that shows colours, and nobody minds."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
