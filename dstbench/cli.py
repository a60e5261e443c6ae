"""The command line: the only module that prints or exits.

stdout is data, stderr is notes and progress. Exit 0: done; 1: the data cannot be used; 2: wrong usage.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from dstbench.options import DomainTurns, Listing, Missing, TableFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

# Everything that computes is imported inside the commands, so that --help answers at once.

app = typer.Typer(
    name="dstbench",
    help="Evaluate dialogue state tracking: every published metric, from any model's own prediction file.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help comes in half the time
    context_settings={"help_option_names": ["-h", "--help"]},
)

Runs = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN...", help="Prediction files, packed or not, folders of them, or long tables (.parquet)."
    ),
]
Gold = Annotated[Path | None, typer.Option(help="File or folder with the gold states, where they are not inside.")]
From = Annotated[
    str | None, typer.Option("--from", metavar="FORMAT", help="Native format; found by content if not given.")
]
MissingOption = Annotated[
    Missing,
    typer.Option(help="Gold turns without a prediction: an error, wrong, an empty state, or left out."),
]
Split = Annotated[
    str | None,
    typer.Option(help="train, dev or test, where gold has several; the one with predictions if not given."),
]
FormatOption = Annotated[TableFormat, typer.Option("--format", help="How to print the table.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write to this file, not to the terminal.")]


def main() -> None:
    """Entry point of the ``dstbench`` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter shows its code instead
            stream.reconfigure(errors="backslashreplace")
    app()


@app.command(epilog="Example: dstbench score predictions.json")
def score(
    runs: Runs,
    metrics: Annotated[
        list[str] | None, typer.Option("-m", "--metrics", help="Such as jga,fga:lam=0.25; see `ls metrics`.")
    ] = None,
    by: Annotated[
        str, typer.Option(help="Group by run, domain, slot, dialogue, turn, length; several with commas.")
    ] = "run",
    profile: Annotated[str, typer.Option(help="Convention of values; see `ls profiles`.")] = "verbatim",
    domain_turns: Annotated[
        DomainTurns | None,
        typer.Option(help="Turns that count for a domain: gold has a slot of it, or either side has."),
    ] = None,
    gold: Gold = None,
    from_format: From = None,
    name: Annotated[list[str] | None, typer.Option(help="Name of a run, in order; repeat for several.")] = None,
    missing: MissingOption = "error",
    split: Split = None,
    form: FormatOption = "text",
    output: Output = None,
) -> None:
    """Score runs: JGA, SA, RSA, AGA, F1, FGA, GCA, TLA, or the metrics you name."""
    with _reporting(), _progress("scoring"):
        _spare_inputs(output, [*runs, *([gold] if gold else [])])
        from dataclasses import replace

        import dstbench.conventions
        import dstbench.scoring
        from dstbench.errors import DstbenchWarning
        from dstbench.report.tables import render_scores

        convention = dstbench.conventions.profile(profile)
        if domain_turns is not None:
            convention = replace(convention, domain_turns=domain_turns)
        rows = dstbench.scoring.score(
            [_path(run) for run in runs],
            metrics=",".join(metrics) if metrics else None,
            by=by,
            profile=convention,
            gold=gold and _path(gold),
            format=from_format,
            names=name or None,
            missing=missing,
            split=split,
        )
        text = render_scores(rows, form)
        if output is not None and (suffix := output.suffix[1:]) != form and suffix in get_args(TableFormat):
            warnings.warn(f"{output} holds {form}; --format {suffix} writes {suffix}", DstbenchWarning, stacklevel=1)
    _emit(text, output)


@app.command(epilog="Example: dstbench convert preds.json --gold test.tsv --missing wrong -o model.parquet")
def convert(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Native files; several are one run.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The long table to write (.parquet).")],
    gold: Gold = None,
    from_format: From = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the run; the first file's, without ending, if not given.")
    ] = None,
    missing: MissingOption = "error",
    split: Split = None,
) -> None:
    """Convert native prediction files to one long table (Parquet)."""
    with _reporting(), _progress("converting"):
        _spare_inputs(output, [*files, *([gold] if gold else [])])
        _wants_parquet(output, "a long table")
        from dstbench.longtable import read_run, write_long
        from dstbench.readers import Source

        run = read_run(
            name or Source(files[0]).title,
            [_path(path) for path in files],
            gold=gold and _path(gold),
            format=from_format,
            missing=missing,
            split=split,
        )
        write_long(run, output)
        coverage = run.meta["coverage"]
    typer.echo(f"{output}: {coverage['dialogues']:,} dialogues, {coverage['turns']:,} turns", err=True)


@app.command(epilog="Example: dstbench contexts gold.json -o said.parquet")
def contexts(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files or folders that hold utterances.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The table to write (.parquet).")],
    from_format: From = None,
    split: Annotated[str | None, typer.Option(help="train, dev or test, where there are several.")] = None,
) -> None:
    """Write what user and system say in each turn (Parquet), to join to a long table."""
    with _reporting(), _progress("reading"):
        _spare_inputs(output, files)
        _wants_parquet(output, "a table of contexts")
        from dstbench.context import contexts as read_contexts
        from dstbench.files import replacing

        table = read_contexts([_path(path) for path in files], split, format=from_format)
        with replacing(output) as part:
            table.write_parquet(part)
    typer.echo(f"{output}: {table['dialogue'].n_unique():,} dialogues, {table.height:,} turns", err=True)


@app.command(epilog="Example: dstbench demo --dialogues 1000 -o sample")
def demo(
    dialogues: Annotated[int, typer.Option(min=1, help="Size of the invented corpus.")] = 200,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Also write the sample to this folder."),
    ] = None,
    form: FormatOption = "text",
) -> None:
    """Score a bundled sample: three invented trackers, and the dialogues that the papers work through."""
    with _reporting(), _progress("scoring"):
        from dstbench.demo import synthetic, worked_scores, write_sample
        from dstbench.report.tables import render_rows, render_scores
        from dstbench.scoring import score as score_runs

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
    _emit(text, None)
    for path in written:
        typer.echo(f"wrote {path}", err=True)


@app.command(epilog="Example: dstbench ls formats")
def ls(what: Annotated[Listing, typer.Argument(help="What to list.")], form: FormatOption = "text") -> None:
    """List formats, metrics, profiles or slots."""
    with _reporting():
        from dstbench.listing import LISTINGS
        from dstbench.report.tables import render_rows

        text = render_rows(LISTINGS[what](), what, form)
    _emit(text, None)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        from dstbench import __version__

        typer.echo(__version__)
        raise typer.Exit


@contextmanager
def _reporting() -> Iterator[None]:
    """Notes go to stderr; an error becomes one message and an exit code."""
    from dstbench.errors import DstbenchError, DstbenchWarning, UsageError

    def note(message: Warning | str, *_: object, **__: object) -> None:
        typer.echo(f"note: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", DstbenchWarning)
        warnings.showwarning = note
        try:
            yield
        except DstbenchError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(2 if isinstance(error, UsageError) else 1) from None


@contextmanager
def _progress(doing: str) -> Iterator[None]:
    """A spinner that says what is being done and since when, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    import logging

    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(doing)

        class Show(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                progress.update(task, description=record.getMessage())

        log, shown = logging.getLogger("dstbench"), Show()
        before = log.level
        log.addHandler(shown)
        log.setLevel(logging.INFO)
        try:
            yield
        finally:
            log.removeHandler(shown)
            log.setLevel(before)


def _path(path: Path) -> str:
    return "/dev/stdin" if str(path) == "-" else str(path)


def _wants_parquet(output: Path, what: str) -> None:
    """Refuse a name that says something else than Parquet."""
    from dstbench.errors import UsageError

    if output.suffix != ".parquet":
        raise UsageError(f"{output}: {what} is written as Parquet", hint=f"-o {output.stem}.parquet")


def _spare_inputs(output: Path | None, inputs: list[Path]) -> None:
    """Refuse to write over what is read."""
    from dstbench.errors import UsageError

    if output is not None and output.exists() and any(path.exists() and output.samefile(path) for path in inputs):
        raise UsageError(f"{output} is read and would be written over", hint="name another file after -o")


def _emit(text: str, output: Path | None) -> None:
    """Print, or write to a file; a reader that has seen enough (`| head`) is no error."""
    with _reporting():
        from dstbench.errors import DstbenchError
        from dstbench.files import replacing

        if output is None or str(output) == "-":
            try:
                sys.stdout.write(text)
                sys.stdout.flush()
            except BrokenPipeError:
                raise
            except OSError as error:
                # What could not be written is still in the buffer, and would fail once more when Python ends.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise DstbenchError(f"cannot print: {error.strerror}") from None
            return
        with replacing(output) as part:
            part.write_text(text, encoding="utf-8")
