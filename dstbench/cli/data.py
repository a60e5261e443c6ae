"""Commands around the data: convert, contexts, demo, ls."""

import io
import warnings
from pathlib import Path
from typing import Annotated, Final

import typer

from dstbench.cli.app import app
from dstbench.cli.options import (
    FormatOption,
    From,
    Gold,
    MissingOption,
    Split,
)
from dstbench.cli.output import (
    as_path,
    emit,
    progress,
    reporting,
    say,
    spare_inputs,
    tell_written,
    wants_parquet,
)
from dstbench.typing import Listing

# A sample of more dialogues is one to measure with, and no report is written on it.
_MOST_REPORTED: Final = 5_000


@app.command(epilog="Example: dstbench convert preds.json --gold test.tsv --missing wrong -o model.parquet")
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
) -> None:
    """Convert native prediction files to one long table (Parquet).

    Of several files, those that are finished are kept if it is interrupted, and not read again the next time.
    """
    with reporting(), progress("converting"):
        spare_inputs(output, [*files, *([gold] if gold else [])])
        wants_parquet(output, "a long table")
        from dstbench.readers import Source
        from dstbench.runs.convert import convert as convert_files

        done = convert_files(
            name or Source(files[0]).title,
            [as_path(path) for path in files],
            output,
            gold=None if gold is None else as_path(gold),
            format=from_format,
            missing=missing or "error",
            split=split,
            jobs=jobs,
        )
    kept = f" ({done.kept} of {done.files} files were ready from before)" if done.kept else ""
    dialogues, turns = done.coverage["dialogues"], done.coverage["turns"]
    say(f"{output}: {dialogues:,} dialogues, {turns:,} turns{kept}")


@app.command(epilog="Example: dstbench contexts gold.json -o said.parquet")
def contexts(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files or folders that hold utterances.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The table to write (.parquet).")],
    from_format: From = None,
    split: Annotated[str | None, typer.Option(help="train, dev or test, where there are several.")] = None,
) -> None:
    """Write what user and system say in each turn (Parquet), to join to a long table."""
    with reporting(), progress("reading"):
        spare_inputs(output, files)
        wants_parquet(output, "a table of contexts")
        from dstbench.io.atomic import replacing
        from dstbench.readers.contexts import contexts as read_contexts

        table = read_contexts([as_path(path) for path in files], split, format=from_format)
        content = io.BytesIO()  # not the file itself: of a full disk, Polars says that the Parquet file is damaged
        table.write_parquet(content)
        with replacing(output) as part:
            part.write_bytes(content.getvalue())
    say(f"{output}: {table['dialogue'].n_unique():,} dialogues, {table.height:,} turns")


@app.command(epilog="Example: dstbench demo --dialogues 1000 -o sample")
def demo(
    dialogues: Annotated[int, typer.Option(min=1, help="Size of the invented corpus.")] = 200,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write the report to this folder, and the sample too."),
    ] = None,
    form: FormatOption = "text",
) -> None:
    """Score a bundled sample, three invented trackers and the papers' worked dialogues, and write a report on it."""
    with reporting(), progress("scoring"):
        from dstbench.demo import synthetic, worked_scores, write_sample
        from dstbench.io.atomic import replacing
        from dstbench.rendering.report import report
        from dstbench.rendering.tables import render_rows, render_scores
        from dstbench.scoring.score import score as score_runs

        corpus = synthetic(dialogues)
        written = write_sample(corpus, output) if output else []
        text = render_scores(score_runs(corpus), form)
        if form == "text":
            text = (
                f"Three invented trackers on {dialogues:,} invented dialogues\n\n{text}\n"
                "The papers' worked dialogues: what they print, what dstbench gives\n\n"
                f"{render_rows(worked_scores(), 'worked', 'text')}\n"
                "Your own run: dstbench score predictions.json\n"
            )
    emit(text, None)
    with reporting(), progress("writing a report"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is left out of a sample is no news; the report says it
        page = (output or Path()) / "dstbench-demo.html"
        if 1 < dialogues <= _MOST_REPORTED:  # a single one has no intervals
            with replacing(page) as part:
                part.write_text(report(corpus).to_html(), encoding="utf-8")
            written.append(page)
    tell_written(written)


@app.command(epilog="Example: dstbench ls formats")
def ls(what: Annotated[Listing, typer.Argument(help="What to list.")], form: FormatOption = "text") -> None:
    """List formats, matchers, metrics, profiles, slots, or steps of normalisers."""
    with reporting():
        from dstbench.cli.listing import LISTINGS
        from dstbench.rendering.tables import render_rows

        text = render_rows(LISTINGS[what](), what, form)
    emit(text, None)
