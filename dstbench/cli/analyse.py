"""Commands that analyse runs: diagnose, traits, correlate, show, query."""

from pathlib import Path
from typing import Annotated

import typer

import dstbench
from dstbench.cli.app import app
from dstbench.cli.command import Result, command
from dstbench.cli.options import (
    ConventionChoices,
    Drawing,
    HowToRead,
    Level,
    Metrics,
    Runs,
    TableOutput,
    named_values,
)
from dstbench.cli.output import as_path, as_text
from dstbench.typing import NonUniformity, Per, Protocol, TailOrientation


@command(app, doing="diagnosing", example="diagnose predictions.json --charts figures")
def diagnose(
    *,
    few: Annotated[int, typer.Option(min=0, help="Count the dialogues with fewer gold slots than this number.")] = 12,
    everything: Annotated[bool, typer.Option("--all", help="Show all tables in text too.")] = False,
    drawing: Drawing,
    runs: Runs,
    table: TableOutput,
    choices: ConventionChoices,
) -> Result:
    """Find out where runs fail. Shows first failures, gold slots, JGA by turn and length, errors by kind and timing."""
    from dstbench.rendering.charts.dialogues import diagnosis_charts
    from dstbench.rendering.tables import render

    diagnosis = dstbench.diagnose(runs.paths, few=few, profile=choices.convention(), **runs.reading)
    text = render(diagnosis, table.form, everything=everything or table.form != "text")
    return Result(text, drawing.write(diagnosis_charts, diagnosis))


@command(app, doing="scoring", example="traits predictions.json --disagree fga gca")
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
        typer.Option(help="Correlate over all dialogues, or as the authors of GCA did (FGA at 0.75, pooled)."),
    ] = "plain",
    level: Level = 0.95,
    disagree: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="List the dialogues on which these metrics differ most."),
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Number of dialogues to list in each direction.")] = 20,
    drawing: Drawing,
    runs: Runs,
    table: TableOutput,
    choices: ConventionChoices,
) -> Result:
    """Show how scores depend on where in dialogues mistakes are. Uses tail orientation and non-uniformity."""
    from dstbench.rendering.charts.dialogues import trait_charts
    from dstbench.rendering.tables import render

    of_dialogues = dstbench.traits(
        runs.paths,
        metrics=metrics,
        to=to,
        nu=nu,
        protocol=protocol,
        level=level,
        disagree=disagree,
        most=most,
        profile=choices.convention(),
        **runs.reading,
    )
    return Result(render(of_dialogues, table.form), drawing.write(trait_charts, of_dialogues))


@command(app, doing="scoring", example="correlate predictions.json -m jga,fga,gca --versus jga,fga,gca")
def correlate(
    *,
    metrics: Annotated[
        list[str] | None,
        typer.Option("-m", "--metrics", help="Metrics, and traits such as turns, n_gold_max, to_mean, nu_paper."),
    ] = None,
    per: Annotated[
        Per | None, typer.Option(help="Correlate the scores of dialogues (the default), or of turns.")
    ] = None,
    versus: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B,C[,D]", help="Compare r(A, B) with r(A, C), or r(A, B) with r(C, D); repeatable."),
    ] = None,
    between_runs: Annotated[
        bool, typer.Option("--between-runs", help="Compare each correlation of one run with that of another.")
    ] = False,
    ratings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="People's ratings: CSV or Parquet with the columns dialogue, rating[, turn][, run]."
        ),
    ] = None,
    test: Annotated[
        str | None, typer.Option(metavar="NAME", help="A classical test of differences, by its name in cocor, or all.")
    ] = None,
    level: Level = 0.95,
    drawing: Drawing,
    runs: Runs,
    table: TableOutput,
    choices: ConventionChoices,
) -> Result:
    """Correlate metrics, traits and ratings, and compare correlations."""
    from dstbench.rendering.charts.runs import correlation_charts
    from dstbench.rendering.tables import render

    correlations = dstbench.correlate(
        runs.paths,
        metrics=metrics,
        per=per,
        differences=versus or [],
        between_runs=between_runs,
        ratings=as_text(ratings),
        test=test,
        level=level,
        profile=choices.convention(),
        **runs.reading,
    )
    return Result(render(correlations, table.form), drawing.write(correlation_charts, correlations))


# --- one dialogue, and queries ----------------------------------------------------------------------------------------


@command(app, doing="reading", example="show predictions.json PMUL4648 --against other.json")
def show(
    *,
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A prediction file, packed or not, or a long table (.parquet).")
    ],
    dialogue: Annotated[
        str | None,
        typer.Argument(metavar="[DIALOGUE]", help="The dialogue's id; without it, the worst dialogues are listed."),
    ] = None,
    against: Annotated[Path | None, typer.Option(metavar="RUN", help="Another run to show beside it.")] = None,
    context: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with the utterances: the dataset, or a table that `contexts` wrote."),
    ] = None,
    metrics: Metrics = None,
    most: Annotated[int, typer.Option(min=1, help="Number of dialogues that are listed.")] = 10,
    how: HowToRead,
    table: TableOutput,
    choices: ConventionChoices,
) -> str:
    """Show one dialogue turn by turn. Shows utterances, gold and predicted slots, scores and changes of state.

    Without DIALOGUE it lists the dialogues with the lowest scores, or (--against) those in which two runs differ most.
    """
    from dstbench.analysis.show import walk_through, worst_dialogues
    from dstbench.rendering.tables import render

    paths = [as_path(path) for path in (run, against) if path is not None]
    if dialogue is None:
        worst = worst_dialogues(paths, most=most, metrics=metrics, profile=choices.convention(), **how.reading)
        return render(worst, table.form)
    walkthrough = walk_through(
        paths,
        dialogue,
        context=as_text(context),
        metrics=metrics,
        profile=choices.convention(),
        **how.reading,
    )
    return render(walkthrough, table.form)


@command(app, doing="querying", isolated=True, example="query \"SELECT slot, count(*) AS n FROM classes WHERE kind = 'wrong' GROUP BY slot ORDER BY n DESC\" predictions.json")  # fmt: skip  # noqa: E501
def query(
    *,
    sql: Annotated[
        str, typer.Argument(metavar="SQL", help="A query over the tables long, classes, turns, dialogues, scores.")
    ],
    metrics: Metrics = None,
    everything: Annotated[bool, typer.Option("--all", help="Show all rows in text too.")] = False,
    tables: Annotated[
        list[str] | None,
        typer.Option("--table", metavar="NAME=FILE", help="A table of your own to query: Parquet or CSV. Repeatable."),
    ] = None,
    runs: Runs,
    table: TableOutput,
    choices: ConventionChoices,
) -> str:
    """Query runs in SQL. The tables are long, classes, turns, dialogues and scores, and those of --table."""
    from dstbench.rendering.tables import render_answer

    own = named_values("--table", tables, "table and its file", "said=said.parquet", once=True) or {}
    rows = dstbench.query(sql, runs.paths, metrics=metrics, profile=choices.convention(), tables=own, **runs.reading)
    return render_answer(rows, table.form, everything=everything)
