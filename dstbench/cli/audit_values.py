"""Commands that audit the values of a dataset, and the values that trackers have memorised."""

from pathlib import Path
from typing import Annotated

import typer

import dstbench
from dstbench.cli.audit import SplitOption, audits
from dstbench.cli.command import Result, command
from dstbench.cli.options import ConventionChoices, Drawing, Runs, Table, TableOutput, named_values
from dstbench.cli.output import as_path, as_text

Dataset = Annotated[
    Path, typer.Argument(metavar="DATA", help="The dataset: a file or folder with states and utterances.")
]


@command(audits, doing="searching", example="audit contradictions test.tsv --database db")
def contradictions(
    data: Dataset,
    *,
    database: Annotated[
        Path | None,
        typer.Option(help="Folder of hotel_db.json, …: compare values with the entity that gold names in the state."),
    ] = None,
    split: SplitOption = None,
    top: Annotated[int, typer.Option(min=1, help="Number of values of each kind that text shows.")] = 20,
    table: TableOutput,
) -> str:
    """Find doubtful gold values. They contradict the database, or nobody has said them."""
    from dstbench.rendering.tables import render

    doubtful = dstbench.audit.contradictions(as_path(data), database=as_text(database), split=split)
    return render(doubtful, table.form, top=top)


@command(
    audits,
    doing="replacing",
    example="audit replace test.tsv -o unseen.tsv --train train.tsv.gz --manifest new.csv",
)
def replace(
    data: Dataset,
    output: Annotated[Path, typer.Option("-o", "--output", help="The dataset to write, in the same format.")],
    train: Annotated[Path, typer.Option(help="The training set; no new value is one of its values.")],
    donors: Annotated[
        Path | None,
        typer.Option(
            help="New values: JSON {slot: [values]}, or a dataset with these slots; default: they are built from "
            "the words of the training set's names."
        ),
    ] = None,
    invent: Annotated[
        bool, typer.Option("--invent", help="Build new values from the words of the donors' names.")
    ] = False,
    mapping: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="SLOT=SLOT",
            help="A slot, and the donors' slot whose values it gets: restaurant-name=Restaurants_2-restaurant_name. "
            "Repeatable.",
        ),
    ] = None,
    slots: Annotated[
        str | None,
        typer.Option(help="The slots, comma-separated; default: name, departure and destination of all domains."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the choice of new values.")] = 0,
    keep: Annotated[bool, typer.Option("--keep", help="Keep dialogues whose values nobody says, unchanged.")] = False,
    manifest: Annotated[
        Path | None, typer.Option(help="Also list every replacement in this file (.csv or .json).")
    ] = None,
    *,
    table: Table,
) -> Result:
    """Write a test set with names and places unseen in training."""
    from dstbench.errors import UsageError

    if manifest is not None and manifest.suffix not in (".csv", ".json"):
        raise UsageError(f"{manifest}: a manifest is written as CSV or JSON", hint=f"--manifest {manifest.stem}.csv")
    from dstbench.io.atomic import replacing
    from dstbench.rendering.tables import render

    maps = named_values("--map", mapping, "slot and its donors' slot", "hotel-name=Hotels_4-place_name")
    replacement = dstbench.audit.replace(
        as_path(data),
        output,
        train=as_path(train),
        donors=as_text(donors),
        invent=invent,
        mapping={slot: others.split(",") for slot, others in (maps or {}).items()},
        slots=[slot.strip() for slot in slots.split(",")] if slots else None,
        seed=seed,
        keep_unfound=keep,
    )
    if manifest is not None:
        with replacing(manifest) as part:
            listed = render(replacement, "csv" if manifest.suffix == ".csv" else "json", kept=keep)
            part.write_text(listed, encoding="utf-8")
    return Result(render(replacement, table.form, kept=keep), [output, *([manifest] if manifest else [])])


@command(
    audits,
    doing="searching",
    example="audit memorisation predictions.json --context test.tsv --train train.tsv.gz",
)
def memorisation(
    *,
    context: Annotated[list[Path], typer.Option(help="File or folder with the utterances; repeatable.")],
    train: Annotated[Path | None, typer.Option(help="Training set, to count the values that are in it.")] = None,
    most: Annotated[int, typer.Option(min=0, help="Number of values to list per run.")] = 20,
    runs: Runs,
    drawing: Drawing,
    table: TableOutput,
    choices: ConventionChoices,
) -> Result:
    """Count wrong values that nobody has said. Trackers may have memorised them."""
    from dstbench.rendering.charts.audits import memorisation_charts
    from dstbench.rendering.tables import render

    memorised = dstbench.audit.memorisation(
        runs.paths,
        context=[as_path(path) for path in context],
        train=as_text(train),
        most=most,
        profile=choices.convention(),
        **runs.reading,
    )
    return Result(render(memorised, table.form), drawing.write(memorisation_charts, memorised))
