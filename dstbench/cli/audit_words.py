"""Commands that audit what is said in a dataset: audit inconsistency, review, replace, memorisation."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dstbench.cli.audit import audits
from dstbench.cli.options import (
    Asked,
    Choices,
    FormatOption,
    Output,
    takes_convention,
    takes_runs,
)
from dstbench.cli.output import as_path, as_text, emit, progress, reporting, spare_inputs, tell_written

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
        from dstbench.io.atomic import replacing
        from dstbench.io.escape import csv_text
        from dstbench.rendering.audit_words import render_inconsistency

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
                part.write_text(csv_text(sheet), encoding="utf-8-sig")  # so that spreadsheets take it for UTF-8
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
        from dstbench.rendering.audit_words import render_review

        text = render_review(audit.review(as_path(sheet)), form)
    emit(text, output)


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
        from dstbench.rendering.audit_words import render_replacement

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
        from dstbench.rendering.audit_words import render_memorisation

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
