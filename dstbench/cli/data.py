"""Commands that write tables of data, and lists: convert, contexts, demo, ls."""

import warnings
from pathlib import Path
from typing import Annotated, Final

import typer

import dstbench
from dstbench.cli.app import app
from dstbench.cli.command import Result, command
from dstbench.cli.options import From, HowToRead, Table
from dstbench.cli.output import as_path, as_text, require_parquet
from dstbench.errors import UsageError, number_of
from dstbench.typing import Listing

# The demo writes no report on more dialogues: such a sample is for measuring time.
_MOST_REPORTED: Final = 5_000


@command(app, doing="converting", example="convert preds.json --gold test.tsv --missing wrong -o model.parquet")
def convert(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Prediction files of one run.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The long table to write (.parquet).")],
    name: Annotated[
        str | None, typer.Option(help="Name of the run; default: the first file's name without its ending.")
    ] = None,
    *,
    how: HowToRead,
) -> Result:
    """Convert prediction files to one long table (Parquet).

    Several files are read one after the other, and are one run. The table is written whole, or not at all.

    The table is compressed by Zstandard: without compression it would be 1.8 times as large, and scored no faster. It
    has checksums, which are verified whenever it is scored.
    """
    require_parquet(output, "a long table")
    from dstbench.readers import Source
    from dstbench.readers.options import Keys, ReadOptions
    from dstbench.runs.open import names_of, read_run, write_long

    reading = how.reading
    maps = names_of(reading["slot_map"], reading["id_map"])
    run = read_run(
        name or Source(files[0]).title,
        [as_path(path) for path in files],
        gold=as_text(how.gold),
        options=ReadOptions(how.from_format, Keys.of(reading["keys"]), *maps, how.turns_from, how.turn_step),
        missing=how.missing or "error",
        split=how.split,
    )
    write_long(run, output)
    return Result(summary=_written(output, run.meta["coverage"]["dialogues"], run.meta["coverage"]["turns"]))


def _written(output: Path, dialogues: int, turns: int) -> str:
    return f"{output}: {number_of(dialogues, 'dialogue')}, {number_of(turns, 'turn')}"


@command(app, doing="reading", example="contexts gold.json -o said.parquet")
def contexts(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files or folders that hold utterances.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The table to write (.parquet).")],
    from_format: From = None,
    split: Annotated[str | None, typer.Option(help="train, dev or test, if there are several splits.")] = None,
) -> Result:
    """Write the utterances of each turn, as a table (Parquet). It can be joined to a long table."""
    require_parquet(output, "a table of contexts")
    from dstbench.io.parquet import write
    from dstbench.readers.contexts import contexts as read_contexts

    table = read_contexts([as_path(path) for path in files], split, format=from_format)
    write(output, table.schema, [table])
    return Result(summary=_written(output, table["dialogue"].n_unique(), table.height))


@command(app, doing="scoring", example="demo --dialogues 1000 -o sample")
def demo(
    dialogues: Annotated[int, typer.Option(min=1, help="Number of invented dialogues.")] = 200,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write the report and the sample to this folder."),
    ] = None,
    *,
    table: Table,
) -> Result:
    """Score a bundled sample and write a report on it. The sample has three invented trackers and papers' examples."""
    from dstbench.demo import synthetic, worked_scores, write_sample
    from dstbench.io.atomic import replacing
    from dstbench.rendering.tables import render, render_rows

    corpus = synthetic(dialogues)
    written = write_sample(corpus, output) if output else []
    text = render({"scores": dstbench.score(corpus)}, table.form)
    if table.form == "text":
        text = (
            f"Three invented trackers on {number_of(dialogues, 'invented dialogue')}\n\n{text}\n"
            "Worked dialogues: the scores that the papers print, and dstbench's\n\n"
            f"{render_rows(worked_scores(), 'worked', 'text')}\n"
            "Your own run: dstbench score predictions.json\n"
        )
    if 1 < dialogues <= _MOST_REPORTED:  # there are no intervals over a single dialogue
        page = (output or Path()) / "dstbench-demo.html"
        with replacing(page) as part, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the report has the warnings as its notes
            part.write_text(dstbench.report(corpus).to_html(), encoding="utf-8")
        written.append(page)
    return Result(text, written)


@command(app, doing="reading", example="ls formats")
def ls(
    what: Annotated[
        Listing | None, typer.Argument(metavar="[WHAT]", help="What to list; without it, what can be listed.")
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Only these; a profile may also be a file of choices (.toml)."),
    ] = None,
    *,
    expressions: Annotated[
        bool,
        typer.Option(
            "--expressions",
            help="Metrics as queries: what a turn adds (n_...: numbers of slots), and the value of sums (sa: T=30).",
        ),
    ] = False,
    table: Table,
) -> str:
    """List formats, public gold sets, matchers, metrics, profiles, slots or steps."""
    from dstbench.cli import listing
    from dstbench.rendering.tables import render_rows

    if expressions and what != "metrics":
        raise UsageError("--expressions is for metrics", hint="dstbench ls metrics --expressions")
    if what is not None:
        rows = listing.expressions() if expressions else listing.LISTINGS[what]()
        return render_rows(listing.only(rows, what, names) if names else rows, what, table.form)
    text = render_rows(listing.listings(), "listings", table.form)
    return f"{text.rstrip()}\n\n`dstbench ls metrics` lists the metrics\n" if table.form == "text" else text
