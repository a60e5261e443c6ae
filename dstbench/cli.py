"""The command line: the only module that prints or exits.

stdout is data, stderr is notes and progress. Exit 0: done; 1: the data cannot be used; 2: wrong usage.
"""

from __future__ import annotations

import functools
import inspect
import io
import os
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

import typer

from dstbench.options import (
    DomainTurns,
    Dontcare,
    Fuzzy,
    Listing,
    Missing,
    Multi,
    NoneRule,
    NonUniformity,
    Over,
    TableFormat,
    TailOrientation,
    Turns,
    Unit,
    WrongCosts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dstbench.conventions import Convention

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
    Missing | None,
    typer.Option(
        help="Gold turns without a prediction: an error (default of most profiles), wrong, empty, or left out."
    ),
]
Metrics = Annotated[
    list[str] | None, typer.Option("-m", "--metrics", help="Such as jga,fga:lam=0.25; see `ls metrics`.")
]
Names = Annotated[list[str] | None, typer.Option("--name", help="Name of a run, in order; repeat for several.")]
Split = Annotated[
    str | None,
    typer.Option(help="train, dev or test, where gold has several; the one with predictions if not given."),
]
Charts = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Also write the figures to this folder, as Vega-Lite.")
]
FormatOption = Annotated[TableFormat, typer.Option("--format", help="How to print the table.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write to this file, not to the terminal.")]


#: The convention that the options ask for, to be made where errors are reported.
Choices: TypeAlias = "Callable[[], Convention]"
_CONVENTION = "Convention"  # the panel of these options in --help
#: The single choices that can be made beside ``--profile``, by the convention's field.
_CHOICES: dict[str, tuple[Any, str, str]] = {
    "dontcare": (Dontcare, "dontcare", "A value, dropped on both sides or one, or its slot skipped."),
    "none": (NoneRule, "none", "On which sides `none` and the empty string are taken out."),
    "multi": (Multi, "multi", "Alternatives (a|b): one string, first, any, overlap, all."),
    "match": (str, "match", "exact, levenshtein, partial, token-sort, contain; levenshtein:above=0.9."),
    "fuzzy": (Fuzzy, "fuzzy", "Match fuzzily text only, or numbers and times too."),
    "labels": (Path, "label-map", "JSON: variants accepted for a gold value; TripPy's configuration will do."),
    "typos": (Path, "typos", "JSON: right spellings with their variants, for the step `typos`."),
    "gold_steps": (str, "gold-steps", "Normaliser of gold values; see `ls steps`; - for none."),
    "pred_steps": (str, "pred-steps", "Normaliser of predicted values."),
    "exact_slots": (Path, "schema", "schema.json whose categorical slots are matched exactly."),
    "slots": (str, "slots", "Score the slots of this set only; see `ls slots`."),
    "over": (Over, "over", "Predicted slots that gold lacks: errors, free, or free outside gold's domains."),
    "wrong_costs": (WrongCosts, "wrong-costs", "Slots that a wrong value is in SA and RSA."),
    "turns": (Turns, "turns", "Score all turns, those with a gold (predicted) state, or each dialogue's last."),
    "unit": (Unit, "unit", "A score is a mean over turns, or over their domains (frames)."),
    "domain_turns": (DomainTurns, "domain-turns", "Turns that count for a domain."),
}


def _takes_convention(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command ``--profile`` and an option per choice; it gets them as `convention`, a function to call."""

    @functools.wraps(command)
    def with_choices(*, profile: str, **given: object) -> None:
        choices = {name: given.pop(name) for name in _CHOICES}

        def convention() -> Convention:
            from dstbench.profiles import profile as named

            return named(profile, **{k: str(v) if isinstance(v, Path) else v for k, v in choices.items()})

        command(convention=convention, **given)

    options = {
        name: Annotated[kind | None, typer.Option(f"--{flag}", help=text, rich_help_panel=_CONVENTION)]
        for name, (kind, flag, text) in _CHOICES.items()
    }
    own = inspect.signature(command, eval_str=True)
    named = Annotated[str, typer.Option(help="Convention of values; see `ls profiles`.", rich_help_panel=_CONVENTION)]
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [p.replace(kind=keyword) for name, p in own.parameters.items() if name != "convention"]
    parameters.append(inspect.Parameter("profile", keyword, default="verbatim", annotation=named))
    parameters += [inspect.Parameter(name, keyword, default=None, annotation=o) for name, o in options.items()]
    with_choices.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined] # Typer reads it
    with_choices.__annotations__ = {p.name: p.annotation for p in parameters}
    return with_choices


def main() -> None:
    """Entry point of the ``dstbench`` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter shows its code instead
            stream.reconfigure(errors="backslashreplace")
    app()


@app.command(epilog="Example: dstbench score predictions.json --profile trade")
@_takes_convention
def score(
    convention: Choices,
    runs: Runs,
    metrics: Metrics = None,
    by: Annotated[
        str, typer.Option(help="Group by run, domain, slot, dialogue, turn, length; several with commas.")
    ] = "run",
    gold: Gold = None,
    from_format: From = None,
    name: Names = None,
    missing: MissingOption = None,
    split: Split = None,
    form: FormatOption = "text",
    output: Output = None,
) -> None:
    """Score runs: JGA, SA, RSA, AGA, F1, FGA, GCA, TLA, or the metrics you name."""
    with _reporting(), _progress("scoring"):
        _spare_inputs(output, [*runs, *([gold] if gold else [])])
        import dstbench.scoring
        from dstbench.errors import DstbenchWarning
        from dstbench.report.tables import render_scores

        rows = dstbench.scoring.score(
            [_path(run) for run in runs],
            metrics=",".join(metrics) if metrics else None,
            by=by,
            profile=convention(),
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


@app.command(epilog="Example: dstbench pairs predictions.json --profile qian2021")
@_takes_convention
def pairs(
    convention: Choices,
    runs: Runs,
    gold: Gold = None,
    from_format: From = None,
    name: Names = None,
    missing: MissingOption = None,
    split: Split = None,
    form: FormatOption = "text",
    output: Output = None,
) -> None:
    """List the pairs of values that only fuzzy matching or a label map accepts, and how often."""
    with _reporting(), _progress("comparing"):
        _spare_inputs(output, [*runs, *([gold] if gold else [])])
        import polars as pl

        from dstbench.pairs import fuzzy_pairs
        from dstbench.report.tables import render_rows

        found = fuzzy_pairs(
            [_path(run) for run in runs],
            profile=convention(),
            gold=gold and _path(gold),
            format=from_format,
            names=name or None,
            missing=missing,
            split=split,
        )
        if form in ("text", "md"):  # a space at the end is to be seen
            found = found.with_columns(pl.format("'{}'", name).alias(name) for name in ("gold", "pred"))
        text = render_rows(found, "pairs", form)
    _emit(text, output)


@app.command(epilog="Example: dstbench sweep predictions.json --label-map multiwoz21.json")
def sweep(
    runs: Runs,
    metrics: Metrics = None,
    profiles: Annotated[str | None, typer.Option(help="The profiles, with commas; all if not given.")] = None,
    labels: Annotated[Path | None, typer.Option("--label-map", help="Label map for trippy.")] = None,
    typos: Annotated[Path | None, typer.Option(help="Typo table for normalisers.")] = None,
    gold: Gold = None,
    from_format: From = None,
    name: Names = None,
    missing: MissingOption = None,
    split: Split = None,
    form: FormatOption = "text",
    output: Output = None,
) -> None:
    """Score the same predictions under every profile that suits them: how much the convention matters."""
    with _reporting(), _progress("sweeping"):
        _spare_inputs(output, [*runs, *([gold] if gold else [])])
        import dstbench.sweeps
        from dstbench.report.tables import render_sweep

        rows = dstbench.sweeps.sweep(
            [_path(run) for run in runs],
            metrics=",".join(metrics) if metrics else "jga",
            profiles=[part.strip() for part in profiles.split(",")] if profiles else None,
            labels=_text(labels),
            typos=_text(typos),
            gold=gold and _path(gold),
            format=from_format,
            names=name or None,
            missing=missing or "error",
            split=split,
        )
        text = render_sweep(rows, form)
    _emit(text, output)


@app.command(epilog="Example: dstbench check predictions.json --ontology ontology.json")
@_takes_convention
def check(
    convention: Choices,
    runs: Runs,
    ontology: Annotated[Path | None, typer.Option(help="JSON {slot: [values]}; gold's values if not given.")] = None,
    gold: Gold = None,
    from_format: From = None,
    name: Names = None,
    missing: MissingOption = None,
    split: Split = None,
    form: FormatOption = "text",
    output: Output = None,
) -> None:
    """Check runs before their scores are believed: floors, coverage, slots, values, cumulative states."""
    with _reporting(), _progress("checking"):
        _spare_inputs(output, [*runs, *([gold] if gold else [])])
        import dstbench.checks
        from dstbench.report.tables import render_rows

        rows = dstbench.checks.check(
            [_path(run) for run in runs],
            profile=convention(),
            ontology=_text(ontology),
            gold=gold and _path(gold),
            format=from_format,
            names=name or None,
            missing=missing,
            split=split,
        )
        text = render_rows(rows, "checks", form)
    _emit(text, output)


@app.command(epilog="Example: dstbench diagnose predictions.json --charts figures")
@_takes_convention
def diagnose(
    convention: Choices,
    runs: Runs,
    few: Annotated[int, typer.Option(min=0, help="Dialogues with fewer gold slots than this have few.")] = 12,
    charts: Charts = None,
    gold: Gold = None,
    from_format: From = None,
    name: Names = None,
    missing: MissingOption = None,
    split: Split = None,
    form: FormatOption = "text",
    output: Output = None,
) -> None:
    """Find out where runs fail: first failures, gold slots, JGA by turn and length, kinds of errors."""
    with _reporting(), _progress("diagnosing"):
        _spare_inputs(output, [*runs, *([gold] if gold else [])])
        import dstbench.diagnosis
        from dstbench.report.charts import diagnosis_charts
        from dstbench.report.diagnoses import render_diagnosis

        found = dstbench.diagnosis.diagnose(
            [_path(run) for run in runs],
            few=few,
            profile=convention(),
            gold=gold and _path(gold),
            format=from_format,
            names=name or None,
            missing=missing,
            split=split,
        )
        text = render_diagnosis(found, form)
        written = _write_charts(diagnosis_charts(found), charts)
    _emit(text, output)
    _tell_written(written)


@app.command(epilog="Example: dstbench traits predictions.json --disagree fga gca")
@_takes_convention
def traits(
    convention: Choices,
    runs: Runs,
    metrics: Metrics = None,
    to: Annotated[TailOrientation, typer.Option(help="Which tail orientation is binned.")] = "mean",
    nu: Annotated[NonUniformity, typer.Option(help="Which non-uniformity is binned.")] = "paper",
    disagree: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="List the dialogues on which these metrics differ most."),
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="How many of them, in each direction.")] = 20,
    charts: Charts = None,
    gold: Gold = None,
    from_format: From = None,
    name: Names = None,
    missing: MissingOption = None,
    split: Split = None,
    form: FormatOption = "text",
    output: Output = None,
) -> None:
    """Show where in dialogues mistakes are, and what that does to scores: tail orientation, non-uniformity."""
    with _reporting(), _progress("scoring"):
        _spare_inputs(output, [*runs, *([gold] if gold else [])])
        import dstbench.tendencies
        from dstbench.report.charts import trait_charts
        from dstbench.report.diagnoses import render_traits

        found = dstbench.tendencies.traits(
            [_path(run) for run in runs],
            metrics=",".join(metrics) if metrics else "fga,gca",
            to=to,
            nu=nu,
            disagree=disagree,
            most=most,
            profile=convention(),
            gold=gold and _path(gold),
            format=from_format,
            names=name or None,
            missing=missing,
            split=split,
        )
        text = render_traits(found, form)
        written = _write_charts(trait_charts(found), charts)
    _emit(text, output)
    _tell_written(written)


@app.command(epilog="Example: dstbench signature 'jga|profile:trade@faithful.1|…' 'jga|profile:verbatim.1|…'")
def signature(
    texts: Annotated[list[str], typer.Argument(metavar="SIGNATURE...", help="One to explain, or two to compare.")],
) -> None:
    """Say in words what a signature means, or how two of them differ."""
    with _reporting():
        from dstbench.errors import UsageError
        from dstbench.signature import differences, explain

        if len(texts) > 2:
            raise UsageError(f"{len(texts)} signatures", hint="give one to explain, or two to compare")
        if len(texts) == 1:
            lines = explain(texts[0])
        else:
            lines = differences(*texts) or ["no difference: scores with them are comparable"]
    _emit("".join(f"{line}\n" for line in lines), None)


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
            missing=missing or "error",
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
    _tell_written(written)


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


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _wants_parquet(output: Path, what: str) -> None:
    """Refuse a name that says something else than Parquet."""
    from dstbench.errors import UsageError

    if output.suffix != ".parquet":
        raise UsageError(f"{output}: {what} is written as Parquet", hint=f"-o {output.stem}.parquet")


def _write_charts(charts: dict[str, dict[str, Any]], folder: Path | None) -> list[Path]:
    """Write figures to a folder, which is made if need be."""
    from dstbench.errors import DstbenchError
    from dstbench.files import replacing
    from dstbench.report.tables import render_object

    if folder is None:
        return []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DstbenchError(f"cannot be made: {error.strerror}", file=str(folder), hint="name a folder") from None
    paths = []
    for name, chart in charts.items():
        paths.append(folder / f"{name}.vl.json")
        with replacing(paths[-1]) as part:
            part.write_text(render_object(chart), encoding="utf-8")
    return paths


def _tell_written(paths: list[Path]) -> None:
    for path in paths:
        typer.echo(f"wrote {path}", err=True)


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
