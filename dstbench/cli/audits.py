"""Commands that audit a dataset: audit replace, audit memorisation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dstbench.cli.app import app
from dstbench.cli.options import (
    Asked,
    Choices,
    FormatOption,
    Output,
    takes_convention,
    takes_runs,
)
from dstbench.cli.output import as_path, as_text, emit, progress, reporting, spare_inputs, tell_written

audits = typer.Typer(
    name="audit",
    help="Audit a dataset: what in it distorts scores, measured and mended.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(audits)


@audits.command(epilog="Example: dstbench audit replace test.tsv -o unseen.tsv --train train.tsv.gz --manifest new.csv")
def replace(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The dataset: states and what is said.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The dataset to write, in the same format.")],
    train: Annotated[Path, typer.Option(help="The training set, whose values no new value may be.")],
    donors: Annotated[
        Path | None,
        typer.Option(help="New values: JSON {slot: [values]}, or a dataset with like-named slots; else invented."),
    ] = None,
    slots: Annotated[
        str | None, typer.Option(help="The slots, with commas; those called name, departure, destination if not given.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the choice among the donors.")] = 0,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep dialogues whose values have not been said, as they were.")
    ] = False,
    manifest: Annotated[
        Path | None, typer.Option(help="Also list every replacement in this file (.csv or .json).")
    ] = None,
    form: FormatOption = "text",
) -> None:
    """Write a test set whose names and places no model has seen in training."""
    with reporting(), progress("replacing"):
        from dstbench.errors import UsageError

        spare_inputs(output, [data, train, *([donors] if donors else [])])
        listed: Any = manifest and manifest.suffix[1:]
        if manifest is not None and listed not in ("csv", "json"):
            raise UsageError(
                f"{manifest}: a manifest is written as CSV or JSON", hint=f"--manifest {manifest.stem}.csv"
            )
        from dstbench.audit import replace as replaced
        from dstbench.report.audits import render_replacement

        found = replaced(
            as_path(data),
            output,
            train=as_path(train),
            donors=as_text(donors),
            slots=[slot.strip() for slot in slots.split(",")] if slots else None,
            seed=seed,
            keep_unfound=keep,
        )
        text = render_replacement(found, form, kept=keep)
    if manifest is not None:
        emit(render_replacement(found, listed, kept=keep), manifest)
    emit(text, None)
    tell_written([output, *([manifest] if manifest else [])])


@audits.command(epilog="Example: dstbench audit memorisation predictions.json --context test.tsv --train train.tsv.gz")
@takes_convention
@takes_runs
def memorisation(
    *,
    context: Annotated[list[Path], typer.Option(help="File or folder that holds what is said; repeat for several.")],
    train: Annotated[Path | None, typer.Option(help="Training set, to tell which values it has.")] = None,
    most: Annotated[int, typer.Option(min=0, help="How many values to list per run.")] = 20,
    asked: Asked,
    form: FormatOption = "text",
    output: Output = None,
    convention: Choices,
) -> None:
    """Count wrong predicted values that nobody has said: what trackers have learnt by heart."""
    with reporting(), progress("searching"):
        asked.spare(output)
        spare_inputs(output, [*context, *([train] if train else [])])
        from dstbench.audit import memorisation as memorised
        from dstbench.report.audits import render_memorisation

        found = memorised(
            asked.paths,
            context=[as_path(path) for path in context],
            train=train and as_path(train),
            most=most,
            profile=convention(),
            **asked.how,
        )
        text = render_memorisation(found, form)
    emit(text, output)
