"""The command that writes a report."""

from pathlib import Path
from typing import Annotated

import typer

import dstbench
from dstbench.cli.app import app
from dstbench.cli.command import Result, command
from dstbench.cli.options import (
    Adjust,
    Baseline,
    ConventionChoices,
    Drawing,
    Metrics,
    Models,
    Runs,
    Seed,
    TestLevel,
    named_values,
    promised,
)
from dstbench.cli.output import as_path
from dstbench.typing import ReportFormat


@command(app, doing="scoring", example="report model_a.json model_b.json --context data.json -o report.html")
def report(
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write; - for stdout.")],
    metrics: Metrics = None,
    context: Annotated[
        list[Path] | None,
        typer.Option(help="File or folder with the utterances; default: the files of gold and runs. Repeatable."),
    ] = None,
    most: Annotated[
        int, typer.Option(min=1, help="Largest number of dialogues on the page; the most telling ones are taken.")
    ] = 1000,
    model: Models = None,
    baseline: Baseline = None,
    seed: Seed = 0,
    level: TestLevel = 0.95,
    adjust: Adjust = "holm",
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    note: Annotated[str, typer.Option(help="A paragraph of your own, below the title.")] = "",
    drawing: Drawing,
    runs: Runs,
    form: Annotated[
        ReportFormat | None,
        typer.Option(
            "--format",
            help="An HTML page, its tables as Markdown, the main tables as LaTeX, or the rows as JSON; "
            "default: by the name of -o (report.md), else HTML.",
        ),
    ] = None,
    choices: ConventionChoices,
) -> Result:
    """Write a report on runs over the same gold. It has the main findings, scores, slots, errors and dialogues."""
    from dstbench.errors import UsageError

    form = form or promised(output, ReportFormat) or "html"
    ending = "tex" if form == "latex" else form
    if output.suffix not in ("", f".{ending}"):
        hint = f"-o {output.stem}.{ending}, or another --format"
        raise UsageError(f"{output}: the report's format is {form}", hint=hint)
    page = dstbench.report(
        runs.paths,
        metrics=metrics,
        context=[as_path(path) for path in context] if context else None,
        most=most,
        models=named_values("--model", model, "model and its runs", "t5=t5_seed1,t5_seed2"),
        baseline=baseline,
        seed=seed,
        level=level,
        adjust=adjust,
        **({} if title is None else {"title": title}),
        note=note,
        profile=choices.convention(),
        **runs.reading,
    )
    renderers = {"html": page.to_html, "md": page.to_markdown, "latex": page.to_latex, "json": page.to_json}
    text = renderers[form]()
    return Result(text, [*drawing.write(lambda: page.charts), *([output] if str(output) != "-" else [])], output=output)
