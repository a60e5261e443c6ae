"""Commands that audit the states of a dataset: audit bias, diff, scores."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dstbench.cli.app import app
from dstbench.cli.options import (
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
)
from dstbench.cli.output import as_path, emit, progress, reporting, spare_inputs, tell_written

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
    least: Annotated[int, typer.Option(min=1, help="Leave out values that are counted less often.")] = 1,
    top: Annotated[int, typer.Option(min=1, help="How many values text and figures show per slot.")] = 5,
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
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The later one.")],
    *,
    name: Annotated[list[str] | None, typer.Option(help="What the two are called, in order; give both.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many changes text shows.")] = 20,
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
