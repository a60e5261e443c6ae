"""Commands that audit a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dstbench.cli.app import app
from dstbench.cli.options import FormatOption, Output
from dstbench.cli.output import as_path, emit, progress, reporting, spare_inputs, tell_written

audits = typer.Typer(
    name="audit",
    help="Audit a dataset: what in its annotation distorts scores, and mending it.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(audits)

Dataset = Annotated[
    Path, typer.Argument(metavar="DATA", help="The dataset: a file or folder with states and utterances.")
]
SplitOption = Annotated[str | None, typer.Option(help="train, dev or test, where there are several; all if not given.")]


@audits.command(
    epilog="Example: dstbench audit inconsistency data.json --ontology ontology.json --apply -o better.json"
)
def inconsistency(
    data: Dataset,
    ontology: Annotated[
        Path | None, typer.Option(help="Values to search for: JSON {slot: [values]}, or a schema.")
    ] = None,
    database: Annotated[
        Path | None,
        typer.Option(help="Values to search for: a folder of hotel_db.json, …; gold's if neither is given."),
    ] = None,
    split: SplitOption = None,
    support: Annotated[
        int, typer.Option(min=1, help="In how many places elsewhere something counts as evidence.")
    ] = 10,
    at_least: Annotated[
        float, typer.Option(min=0, max=1, help="The share of such places that is annotated elsewhere.")
    ] = 0.5,
    apply: Annotated[
        bool, typer.Option("--apply", help="Write the dataset with what is missing, in its own format, to -o OUT.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The corrected dataset (--apply); else where to write the report."),
    ] = None,
    log: Annotated[Path | None, typer.Option(help="Write what is missing, with the evidence for each (CSV).")] = None,
    review: Annotated[Path | None, typer.Option(help="Write a sheet to fill in (CSV), for `audit review`.")] = None,
    sample: Annotated[int, typer.Option(min=1, help="Changed, and unchanged, dialogues in the sheet.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Of the draw of these dialogues.")] = 0,
    form: FormatOption = "text",
) -> None:
    """Find annotations that are missing: values said and not annotated, though in such places elsewhere they are."""
    with reporting(), progress("searching"):
        from dstbench.errors import UsageError

        if apply and output is None:
            raise UsageError("--apply writes a corrected dataset, and nothing says where", hint="-o OUT")
        written = [path for path in (output, log, review) if path is not None]
        for path in written:
            spare_inputs(path, [data, *(given for given in (ontology,) if given is not None)])
        if len({path.absolute() for path in written}) < len(written):
            raise UsageError("two files to write have one name", hint="-o, --log and --review each need their own")
        from dstbench import audit
        from dstbench.files import replacing
        from dstbench.report.audits import render_inconsistency

        found = audit.inconsistency(
            as_path(data),
            ontology=ontology and as_path(ontology),
            database=database and as_path(database),
            split=split,
            support=support,
            at_least=at_least,
        )
        if review is not None:
            sheet = audit.review_sheet(as_path(data), found, split=split, sample=sample, seed=seed)
            with replacing(review) as part:
                sheet.write_csv(part, include_bom=True)  # so that spreadsheets take it for UTF-8
        if apply and output is not None:
            audit.correct(as_path(data), output, found)
        if log is not None:
            audit.write_log(found, log)
        text = render_inconsistency(found, form)
    emit(text, None if apply else output)
    tell_written(written if apply else [path for path in written if path != output])


@audits.command(epilog="Example: dstbench audit review filled.csv")
def review(
    sheet: Annotated[
        Path, typer.Argument(metavar="FILE", help="The sheet of `audit inconsistency --review`, filled in.")
    ],
    form: FormatOption = "text",
    output: Output = None,
) -> None:
    """Say how good a correction is: precision, recall and F1, with intervals, from a filled review sheet."""
    with reporting():
        spare_inputs(output, [sheet])
        from dstbench import audit
        from dstbench.report.audits import render_review

        text = render_review(audit.review(as_path(sheet)), form)
    emit(text, output)
