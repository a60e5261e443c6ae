"""Commands around the data: convert, contexts, demo, ls."""

import io
import warnings
from pathlib import Path
from typing import Annotated, Final

import typer

import dstbench
from dstbench.cli.app import app
from dstbench.cli.command import Result, command
from dstbench.cli.options import FormatOption, From, Gold, MissingOption, Split
from dstbench.cli.output import as_path, as_text, wants_parquet
from dstbench.typing import Listing

# A sample of more dialogues is one to measure with, and no report is written on it.
_MOST_REPORTED: Final = 5_000


@command(app, doing="converting", example="convert preds.json --gold test.tsv --missing wrong -o model.parquet")
def convert(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Native files; several are one run.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The long table to write (.parquet).")],
    gold: Gold = None,
    from_format: From = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the run; the first file's, without ending, if not given.")
    ] = None,
    missing: MissingOption = None,
    split: Split = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of worker processes that read files; default: one per processor, fewer for little input.",
        ),
    ] = None,
) -> Result:
    """Convert native prediction files to one long table (Parquet).

    Of several files, those that are finished are kept if it is interrupted, and not read again the next time.
    """
    wants_parquet(output, "a long table")
    from dstbench.readers import Source
    from dstbench.runs.convert import convert as convert_files

    done = convert_files(
        name or Source(files[0]).title,
        [as_path(path) for path in files],
        output,
        gold=as_text(gold),
        format=from_format,
        missing=missing or "error",
        split=split,
        jobs=jobs,
    )
    kept = f" ({done.kept} of {done.files} files were ready from before)" if done.kept else ""
    dialogues, turns = done.coverage["dialogues"], done.coverage["turns"]
    return Result(summary=f"{output}: {dialogues:,} dialogues, {turns:,} turns{kept}")


@command(app, doing="reading", example="contexts gold.json -o said.parquet")
def contexts(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files or folders that hold utterances.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The table to write (.parquet).")],
    from_format: From = None,
    split: Annotated[str | None, typer.Option(help="train, dev or test, where there are several.")] = None,
) -> Result:
    """Write what user and system say in each turn (Parquet), to join to a long table."""
    wants_parquet(output, "a table of contexts")
    from dstbench.io.atomic import replacing
    from dstbench.readers.contexts import contexts as read_contexts

    table = read_contexts([as_path(path) for path in files], split, format=from_format)
    content = io.BytesIO()  # not the file itself: of a full disk, Polars says that the Parquet file is damaged
    table.write_parquet(content)
    with replacing(output) as part:
        part.write_bytes(content.getvalue())
    return Result(summary=f"{output}: {table['dialogue'].n_unique():,} dialogues, {table.height:,} turns")


@command(app, doing="scoring", example="demo --dialogues 1000 -o sample")
def demo(
    dialogues: Annotated[int, typer.Option(min=1, help="Size of the invented corpus.")] = 200,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write the report to this folder, and the sample too."),
    ] = None,
    form: FormatOption = "text",
) -> Result:
    """Score a bundled sample, three invented trackers and the papers' worked dialogues, and write a report on it."""
    from dstbench.demo import synthetic, worked_scores, write_sample
    from dstbench.io.atomic import replacing
    from dstbench.rendering.scores import render_scores
    from dstbench.rendering.tables import render_rows

    corpus = synthetic(dialogues)
    written = write_sample(corpus, output) if output else []
    text = render_scores(dstbench.score(corpus), form)
    if form == "text":
        text = (
            f"Three invented trackers on {dialogues:,} invented dialogues\n\n{text}\n"
            "The papers' worked dialogues: what they print, what dstbench gives\n\n"
            f"{render_rows(worked_scores(), 'worked', 'text')}\n"
            "Your own run: dstbench score predictions.json\n"
        )
    if 1 < dialogues <= _MOST_REPORTED:  # a single one has no intervals
        page = (output or Path()) / "dstbench-demo.html"
        with replacing(page) as part, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the report says what it leaves out
            part.write_text(dstbench.report(corpus).to_html(), encoding="utf-8")
        written.append(page)
    return Result(text, written)


@command(app, doing="reading", example="ls formats")
def ls(what: Annotated[Listing, typer.Argument(help="What to list.")], form: FormatOption = "text") -> str:
    """List formats, matchers, metrics, profiles, slots, or steps of normalisers."""
    from dstbench.cli.listing import LISTINGS
    from dstbench.rendering.tables import render_rows

    return render_rows(LISTINGS[what](), what, form)
