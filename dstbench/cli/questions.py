"""Commands that answer a user's own questions: show, query."""

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
    FormatOption,
    From,
    Gold,
    Metrics,
    MissingOption,
    Output,
    Split,
    takes_convention,
    takes_runs,
)
from dstbench.cli.output import as_text, emit, progress, reporting, spare_inputs

# Lines of what was said are not wider than this.
_WIDEST = 120


@app.command(epilog="Example: dstbench show predictions.json PMUL4648 --against other.json")
@takes_convention
def show(
    *,
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A prediction file, packed or not, or a long table (.parquet).")
    ],
    dialogue: Annotated[str, typer.Argument(metavar="DIALOGUE", help="Its id.")],
    against: Annotated[Path | None, typer.Option(metavar="RUN", help="Another run, to be shown beside it.")] = None,
    context: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What was said: the dataset, or what `contexts` wrote.")
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
