"""Commands that audit the states of a dataset: audit bias, diff, scores."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from dstbench.cli.app import app
from dstbench.cli.options import (
    Asked,
    Choices,
    Drawing,
    FormatOption,
    From,
    Metrics,
    MissingOption,
    Output,
    Split,
    named_values,
    takes_convention,
    takes_drawing,
    takes_runs,
)
from dstbench.cli.output import as_path, as_text, emit, progress, reporting, spare_inputs, tell_written

audits = typer.Typer(
    name="audit",
    help="Audit a dataset: what in it distorts every score, measured and mended.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(audits)

# What a convention does to gold values, and when two of them match.
_VALUES = ("dontcare", "none", "typos", "gold_steps", "slots")
_MATCHES = (*_VALUES, "multi", "match", "fuzzy", "labels", "schema")

_OfSplit = Annotated[str | None, typer.Option("--split", help="train, dev or test, where the data have several.")]


@audits.command(epilog="Example: dstbench audit bias train.tsv test.tsv --slot train-destination --top 13")
@partial(takes_convention, only=_VALUES)
@takes_drawing
def bias(
    data: Annotated[
        list[Path],
        typer.Argument(metavar="DATA...", help="Datasets that have gold states, or one per split: train.tsv test.tsv."),
    ],
    *,
    slot: Annotated[list[str] | None, typer.Option(help="Only this slot. Repeat for several.")] = None,
    counting: Annotated[
        str | None,
        typer.Option(
            help="A value counts in every turn whose state holds it (cumulative), in those in which it is set "
            "(update), or in the last state (final); several with commas, all three if not given."
        ),
    ] = None,
    train: Annotated[
        str | None, typer.Option(metavar="NAME", help="The split that others are compared to; train if not given.")
    ] = None,
    least: Annotated[int, typer.Option(min=1, help="Omit values that are counted less often.")] = 1,
    top: Annotated[int, typer.Option(min=1, help="Number of values per slot that text and figures show.")] = 5,
    split: _OfSplit = None,
    drawing: Drawing,
    form: FormatOption = "text",
    output: Output = None,
    convention: Choices,
) -> None:
    """Measure entity bias: how unevenly values are distributed, and what of a test set training has seen."""
    with reporting(), progress("counting"):
        spare_inputs(output, data)
        drawing.check()
        from dstbench import audit
        from dstbench.rendering.audit import render_bias
        from dstbench.rendering.charts import bias_charts

        found = audit.bias(
            [as_path(path) for path in data],
            slots=slot or None,
            counting=counting,
            train=train,
            least=least,
            profile=convention(),
            split=split,
        )
        text = render_bias(found, form, top=top)
        written = drawing.write(bias_charts(found, top))
    emit(text, output)
    tell_written(written)


@audits.command(epilog="Example: dstbench audit diff multiwoz20/test.tsv multiwoz21/test.tsv --profile star")
@partial(takes_convention, only=_MATCHES)
def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The earlier version of a dataset.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The later version.")],
    *,
    name: Annotated[list[str] | None, typer.Option(help="Names of the two versions, in order.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of changes that text shows.")] = 20,
    split: _OfSplit = None,
    form: FormatOption = "text",
    output: Output = None,
    convention: Choices,
) -> None:
    """Compare two versions of a dataset, cell by cell.

    Each slot of a turn that differs is of one kind: respelled (one value but for its spelling); moved earlier (the
    later version has the value that the earlier one has next, in a later turn) or moved later; added, removed; or
    changed.
    """
    with reporting(), progress("comparing"):
        spare_inputs(output, [before, after])
        from dstbench import audit
        from dstbench.rendering.audit import render_differences

        found = audit.diff(as_path(before), as_path(after), profile=convention(), names=name or None, split=split)
        text = render_differences(found, form, top=top)
    emit(text, output)


@audits.command(
    epilog="Example: dstbench audit scores t5_*.json --version 2.0=old.tsv --version 2.1=new.tsv --model 't5=t5_*'"
)
@partial(takes_convention, default="qian2021")
def scores(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Prediction files, or long tables.")],
    *,
    version: Annotated[
        list[str],
        typer.Option(metavar="NAME=GOLD", help="A version of the dataset: its name, and the file of its gold. Repeat."),
    ],
    metrics: Metrics = None,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=RUNS", help="Runs of one model (its seeds), by name or pattern; t5=t5_*. Repeat."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="VERSION=RUNS", help="Runs, likewise, that were made on this version only. Repeat."),
    ] = None,
    from_format: From = None,
    missing: MissingOption = None,
    split: Split = None,
    form: FormatOption = "text",
    output: Output = None,
    convention: Choices,
) -> None:
    """Score runs on several versions of their dataset: exact beside fuzzy, mean and spread over seeds, error turns."""
    with reporting(), progress("scoring"):
        from dstbench import audit
        from dstbench.rendering.audit import render_version_scores

        golds = named_values("--version", version, "version and its gold", "2.1=gold.tsv", once=True) or {}
        versions = {name: as_path(Path(gold)) for name, gold in golds.items()}
        spare_inputs(output, [*runs, *map(Path, versions.values())])
        found = audit.scores(
            [as_path(run) for run in runs],
            versions,
            metrics=",".join(metrics) if metrics else None,
            models=named_values("--model", model, "model and its runs", "t5=t5_seed1,t5_seed2"),
            only=named_values("--only", only, "version and its runs", "2.1=t5_seed1"),
            profile=convention(),
            format=from_format,
            missing=missing,
            split=split,
        )
        text = render_version_scores(found, form)
    emit(text, output)


# --- what is said in a dataset ----------------------------------------------------------------------------------------

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
    support: Annotated[int, typer.Option(min=1, help="Number of places elsewhere that count as evidence.")] = 10,
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
    sample: Annotated[int, typer.Option(min=1, help="Number of changed and of unchanged dialogues in the sheet.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the choice of dialogues.")] = 0,
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
        from dstbench.rendering.audit import render_inconsistency

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
        from dstbench.rendering.audit import render_review

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
        str | None, typer.Option(help="The slots, comma-separated; default: those called name, departure, destination.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the choice of new values.")] = 0,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep dialogues whose values have not been said, unchanged.")
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
        from dstbench.rendering.audit import render_replacement

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
    most: Annotated[int, typer.Option(min=0, help="Number of values to list per run.")] = 20,
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
        from dstbench.rendering.audit import render_memorisation

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
