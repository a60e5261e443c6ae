"""Commands that audit a dataset: one each for what `dstbench.audit` does."""

from pathlib import Path
from typing import Annotated

import typer

import dstbench
from dstbench.cli.app import app
from dstbench.cli.command import Result, command
from dstbench.cli.options import (
    ConventionChoices,
    Drawing,
    From,
    Metrics,
    MissingOption,
    Models,
    Split,
    Table,
    TableOutput,
    listed_names,
    named_values,
)
from dstbench.cli.output import as_path, as_text
from dstbench.typing import Preset, SlotOrder

audits = typer.Typer(
    name="audit",
    help="Audit a dataset: measure and mend what distorts scores.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(audits)


class _GoldChoices(ConventionChoices):
    """Choices of a convention that concern gold values alone."""

    offered = ("dontcare", "none", "typos", "gold_steps")


class _MatchChoices(ConventionChoices):
    """Choices that concern gold values and when two of them match."""

    offered = (*_GoldChoices.offered, "multi", "match", "fuzzy", "labels", "schema")


class _FuzzyChoices(ConventionChoices):
    """All choices; the default profile matches fuzzily."""

    default = "qian2021"


_OfSplit = Annotated[str | None, typer.Option("--split", help="train, dev or test, if there are several.")]


@command(audits, doing="counting", example="audit bias train.tsv test.tsv --slot train-destination --top 13")
def bias(
    data: Annotated[
        list[Path],
        typer.Argument(metavar="DATA...", help="Datasets with gold states, or one per split: train.tsv test.tsv."),
    ],
    *,
    slot: Annotated[list[str] | None, typer.Option(help="Only this slot; repeatable.")] = None,
    counting: Annotated[
        str | None,
        typer.Option(
            help="A value counts in every turn whose state holds it (cumulative), in those in which it is set "
            "(update), or in the last state (final); comma-separated; default: all three."
        ),
    ] = None,
    train: Annotated[
        str | None, typer.Option(metavar="NAME", help="The split that others are compared to; default: train.")
    ] = None,
    least: Annotated[int, typer.Option(min=1, help="Omit values that are counted less often.")] = 1,
    top: Annotated[int, typer.Option(min=1, help="Number of values per slot that text and figures show.")] = 5,
    sort: Annotated[
        SlotOrder, typer.Option(help="Slots by name, the least even values first, or the most frequent slot first.")
    ] = "slot",
    split: _OfSplit = None,
    drawing: Drawing,
    table: TableOutput,
    choices: _GoldChoices,
) -> Result:
    """Measure entity bias. Shows how unevenly values are distributed, and which test values training has."""
    from dstbench.rendering.charts.audits import bias_charts
    from dstbench.rendering.tables import render

    distributions = dstbench.audit.bias(
        [as_path(path) for path in data],
        slots=slot,
        counting=counting,
        train=train,
        least=least,
        profile=choices.convention(),
        split=split,
    )
    return Result(
        render(distributions, table.form, top=top, sort=sort), drawing.write(bias_charts, distributions, top, sort)
    )


@command(audits, doing="comparing", example="audit diff multiwoz20/test.tsv multiwoz21/test.tsv --profile star")
def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The earlier version of a dataset.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The later version.")],
    *,
    name: Annotated[
        list[str] | None, typer.Option(help="Names of the two versions, in order: 2.0,2.1, or one option for each.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of changes that text shows.")] = 20,
    split: _OfSplit = None,
    drawing: Drawing,
    table: TableOutput,
    choices: _MatchChoices,
) -> Result:
    """Compare two versions of a dataset, cell by cell.

    Each slot of a turn that differs is of one kind: respelled (the same value in another spelling); moved earlier (the
    later version already has the value that the earlier version has in a later turn) or moved later; added; removed;
    or changed.
    """
    from dstbench.rendering.charts.audits import difference_charts
    from dstbench.rendering.tables import render

    differences = dstbench.audit.diff(
        as_path(before), as_path(after), profile=choices.convention(), names=listed_names(name, 2), split=split
    )
    return Result(render(differences, table.form, top=top), drawing.write(difference_charts, differences))


@command(
    audits,
    doing="scoring",
    example="audit scores t5_*.json --version 2.0=old.tsv --version 2.1=new.tsv --model 't5=t5_*'",
)
def scores(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Prediction files, or long tables.")],
    *,
    version: Annotated[
        list[str],
        typer.Option(metavar="NAME=GOLD", help="A version of the dataset: its name and its gold file. Repeatable."),
    ],
    metrics: Metrics = None,
    model: Models = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VERSION=RUNS", help="Runs, by name or pattern, that were made on this version only. Repeatable."
        ),
    ] = None,
    from_format: From = None,
    missing: MissingOption = None,
    split: Split = None,
    drawing: Drawing,
    table: TableOutput,
    choices: _FuzzyChoices,
) -> Result:
    """Score runs on several versions of their dataset. Gives exact and fuzzy scores, spread over seeds, error turns."""
    from dstbench.rendering.charts.audits import version_charts
    from dstbench.rendering.tables import render

    golds = named_values("--version", version, "version and its gold", "2.1=gold.tsv", once=True) or {}
    versions = {name: as_path(Path(gold)) for name, gold in golds.items()}
    version_scores = dstbench.audit.scores(
        [as_path(run) for run in runs],
        versions,
        metrics=metrics,
        models=named_values("--model", model, "model and its runs", "t5=t5_seed1,t5_seed2"),
        only=named_values("--only", only, "version and its runs", "2.1=t5_seed1"),
        profile=choices.convention(),
        format=from_format,
        missing=missing,
        split=split,
    )
    return Result(render(version_scores, table.form), drawing.write(version_charts, version_scores))


# --- utterances of a dataset ------------------------------------------------------------------------------------------

SplitOption = Annotated[str | None, typer.Option(help="train, dev or test, if there are several; default: all.")]


@command(
    audits,
    doing="searching",
    example="audit inconsistency data.json --ontology ontology.json --apply -o better.json",
)
def inconsistency(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...", help="A dataset, a file or folder with states and utterances; or one per split."
        ),
    ],
    *,
    ontology: Annotated[
        Path | None, typer.Option(help="Values to search for: JSON {slot: [values]}, or a schema.")
    ] = None,
    database: Annotated[
        Path | None,
        typer.Option(
            help="A folder of hotel_db.json, …: values to search for, and what confirms what is said of a place."
        ),
    ] = None,
    preset: Annotated[
        Preset | None,
        typer.Option("--as", help="Add what the correction of this paper adds; default: precision first."),
    ] = None,
    rules: Annotated[
        Path | None, typer.Option(help="Words and patterns by which values are judged, JSON; default: English.")
    ] = None,
    evidence: Annotated[
        list[Path] | None,
        typer.Option(help="A dataset that shows how gold annotates; repeatable; default: the other dialogues of DATA."),
    ] = None,
    split: SplitOption = None,
    support: Annotated[
        int, typer.Option(min=1, help="Where no rule applies: the fewest similar places that are evidence.")
    ] = 10,
    at_least: Annotated[
        float, typer.Option(min=0, max=1, help="Where no rule applies: the least share of them that gold annotates.")
    ] = 0.5,
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Write the dataset with the missing annotations, in its own format, to -o OUT."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The corrected dataset (--apply), or else the report (x.json: as JSON)."),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            help="Write every value that could be annotated, with its checks, the rule and the outcome (CSV)."
        ),
    ] = None,
    review: Annotated[
        Path | None, typer.Option(help="Write a sheet to judge additions by hand (CSV), for `audit review`.")
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="Number of changed and of unchanged dialogues in the sheet.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the choice of dialogues.")] = 0,
    pairs: Annotated[
        int, typer.Option(min=0, help="Number of slots for which text shows two similar turns, one of them annotated.")
    ] = 3,
    drawing: Drawing,
    table: Table,
) -> Result:
    """Find missing annotations. These are values that are said and not annotated, though they are in similar places."""
    from dstbench.errors import UsageError

    if preset is not None and rules is not None:
        raise UsageError("--as and --rules exclude each other", hint="--as names rules that come with dstbench")
    if apply and output is None:
        raise UsageError("--apply needs a file to write the corrected dataset to", hint="-o OUT")
    if apply and len(data) > 1:
        raise UsageError(
            f"--apply writes one dataset, not {len(data)}",
            hint="correct them one at a time, with the others as --evidence",
        )
    from dstbench.io.atomic import replacing
    from dstbench.io.escape import csv_text
    from dstbench.rendering.charts.audits import inconsistency_charts
    from dstbench.rendering.tables import render
    from dstbench.rendering.terminal import Screen, laid_out_for, screen

    paths = [as_path(path) for path in data]
    missing = dstbench.audit.inconsistency(
        paths,
        ontology=as_text(ontology),
        database=as_text(database),
        split=split,
        support=support,
        at_least=at_least,
        rules=preset or as_text(rules),
        evidence=[as_path(path) for path in evidence] if evidence else None,
    )
    if review is not None:
        sheet = dstbench.audit.review_sheet(paths, missing, split=split, sample=sample, seed=seed)
        with replacing(review) as part:
            part.write_text(csv_text(sheet), encoding="utf-8-sig")  # so that spreadsheets take it for UTF-8
    if apply and output is not None:
        dstbench.audit.correct(paths[0], output, missing)
    if log is not None:
        dstbench.audit.write_log(missing, log)
    written = [path for path in (output if apply else None, log, review) if path is not None]
    written += drawing.write(inconsistency_charts, missing, pairs)
    report = None if apply else output
    form = table.form_of(report)
    with laid_out_for(screen() if report is None else Screen()):
        text = render(missing, form, pairs=pairs)
    return Result(text, written, output=report)


@command(audits, doing="reading", example="audit review filled.csv")
def review(
    sheets: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="The sheet of `audit inconsistency --review`, filled in; or one per reader."
        ),
    ],
    table: TableOutput,
) -> str:
    """Score a correction from filled review sheets. Gives precision, recall and F1 with intervals.

    Fill in `right` (yes or no) of every addition, and `missed` (how many annotations are still missing) of every
    dialogue, or of none: then there is no recall. For the sheets of several readers it also gives their agreement:
    Cohen's kappa of two readers, Fleiss' of more.
    """
    from dstbench.rendering.tables import render

    if len(sheets) == 1:
        return render(dstbench.audit.review(as_path(sheets[0])), table.form)
    return render(dstbench.audit.agreement([as_path(sheet) for sheet in sheets]), table.form)
