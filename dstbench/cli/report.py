"""Commands that write a report to be sent: report."""

from pathlib import Path
from typing import Annotated

import typer

from dstbench.cli.app import app
from dstbench.cli.options import Asked, Choices, Drawing, Metrics, takes_convention, takes_drawing, takes_runs
from dstbench.cli.output import as_path, emit, progress, reporting, spare_inputs, tell_written
from dstbench.typing import ReportFormat


@app.command(epilog="Example: dstbench report model_a.json model_b.json --context data.json -o report.html")
@takes_convention
@takes_runs
@takes_drawing
def report(
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write; - for stdout.")],
    metrics: Metrics = None,
    context: Annotated[
        list[Path] | None,
        typer.Option(help="File or folder with the utterances; default: the files of gold and runs. Repeat."),
    ] = None,
    most: Annotated[
        int, typer.Option(min=1, help="Number of dialogues on the page; the most telling ones are taken.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the intervals and tests.")] = 0,
    drawing: Drawing,
    asked: Asked,
    form: Annotated[
        ReportFormat,
        typer.Option("--format", help="A page, its tables as Markdown, the main ones as LaTeX, or its rows as JSON."),
    ] = "html",
    convention: Choices,
) -> None:
    """Write all about runs over one gold to a page: scores, tests, failures, errors, conventions, dialogues."""
    with reporting(), progress("scoring"):
        asked.spare(output)
        spare_inputs(output, context or [])
        drawing.check()
        import dstbench.rendering.report
        from dstbench.errors import UsageError

        ending = "tex" if form == "latex" else form
        if output.suffix not in ("", f".{ending}"):
            raise UsageError(f"{output}: the report's format is {form}", hint=f"-o {output.stem}.{ending}")
        found = dstbench.rendering.report.report(
            asked.paths,
            metrics=",".join(metrics) if metrics else None,
            context=[as_path(path) for path in context] if context else None,
            most=most,
            seed=seed,
            profile=convention(),
            **asked.how,
        )
        forms = {"html": found.to_html, "md": found.to_markdown, "latex": found.to_latex, "json": found.to_json}
        text = forms[form]()
        written = drawing.write(found.charts)
    emit(text, output)
    tell_written([*written, *([output] if str(output) != "-" else [])])
