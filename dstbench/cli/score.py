"""Commands that score: score, compare, pairs, sweep, check, signature."""

import warnings
from pathlib import Path
from typing import Annotated, get_args

import typer

from dstbench.cli.app import app
from dstbench.cli.options import (
    Asked,
    Choices,
    Drawing,
    FormatOption,
    Metrics,
    Output,
    named_values,
    takes_convention,
    takes_drawing,
    takes_runs,
)
from dstbench.cli.output import (
    as_text,
    emit,
    progress,
    reporting,
    tell_written,
)
from dstbench.typing import Adjustment, TableFormat


@app.command(epilog="Example: dstbench score predictions.json --profile trade")
@takes_convention
@takes_runs
def score(
    *,
    metrics: Metrics = None,
    by: Annotated[
        str, typer.Option(help="Group by run, domain, slot, dialogue, turn, length, seen; comma-separated.")
    ] = "run",
    asked: Asked,
    form: FormatOption = "text",
    output: Output = None,
    convention: Choices,
) -> None:
    """Score runs: JGA, SA, RSA, AGA, F1, FGA, GCA, TLA, or the metrics you name."""
    with reporting(), progress("scoring"):
        asked.spare(output)
        import dstbench.scoring.score
        from dstbench.errors import DstbenchWarning
        from dstbench.rendering.tables import render_scores

        rows = dstbench.scoring.score.score(
            asked.paths,
            metrics=",".join(metrics) if metrics else None,
            by=by,
            profile=convention(),
            **asked.how,
        )
        text = render_scores(rows, form)
        promised = output and {".tex": "latex"}.get(output.suffix, output.suffix[1:])
        if promised != form and promised in get_args(TableFormat):
            warnings.warn(
                f"{output} holds {form}; --format {promised} writes {promised}", DstbenchWarning, stacklevel=1
            )
    emit(text, output)


@app.command(epilog="Example: dstbench compare a.json b.json c.json --baseline a -m jga,gca")
@takes_convention
@takes_runs
@takes_drawing
def compare(
    *,
    metrics: Metrics = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="RUN", help="Compare every other run (or model) to this one only.")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=RUNS", help="Runs of one model (its seeds), by name or pattern; t5=t5_*. Repeat."),
    ] = None,
    resamples: Annotated[int, typer.Option(min=1, help="Number of bootstrap and randomisation resamples.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the draws.")] = 0,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals; tests use 1 - level.")] = 0.95,
    adjust: Annotated[
        Adjustment, typer.Option(help="How p-values are adjusted for the number of differences.")
    ] = "holm",
    drawing: Drawing,
    asked: Asked,
    form: FormatOption = "text",
    output: Output = None,
    convention: Choices,
) -> None:
    """Compare runs over the same gold: scores and differences with intervals, and tests, by dialogues."""
    with reporting(), progress("scoring"):
        asked.spare(output)
        drawing.check()
        import dstbench.analysis.compare
        from dstbench.rendering.charts import leaderboard_charts
        from dstbench.rendering.compare import render_leaderboard

        found = dstbench.analysis.compare.compare(
            asked.paths,
            metrics=",".join(metrics) if metrics else None,
            models=named_values("--model", model, "model and its runs", "t5=t5_seed1,t5_seed2"),
            baseline=baseline,
            resamples=resamples,
            seed=seed,
            level=level,
            adjust=adjust,
            profile=convention(),
            **asked.how,
        )
        text = render_leaderboard(found, form)
        written = drawing.write(leaderboard_charts(found))
    emit(text, output)
    tell_written(written)


@app.command(epilog="Example: dstbench pairs predictions.json --profile qian2021")
@takes_convention
@takes_runs
def pairs(
    *,
    asked: Asked,
    form: FormatOption = "text",
    output: Output = None,
    convention: Choices,
) -> None:
    """List the pairs of values that only fuzzy matching or a label map accepts, and how often."""
    with reporting(), progress("comparing"):
        asked.spare(output)
        import polars as pl

        from dstbench.analysis.fuzzy_pairs import fuzzy_pairs
        from dstbench.rendering.tables import render_rows

        found = fuzzy_pairs(
            asked.paths,
            profile=convention(),
            **asked.how,
        )
        if form in ("text", "md"):  # a space at the end is to be seen
            found = found.with_columns(pl.format("'{}'", name).alias(name) for name in ("gold", "pred"))
        text = render_rows(found, "pairs", form)
    emit(text, output)


@app.command(epilog="Example: dstbench sweep predictions.json --label-map multiwoz21.json")
@takes_runs
def sweep(
    *,
    metrics: Metrics = None,
    profiles: Annotated[str | None, typer.Option(help="The profiles, comma-separated; default: all that suit.")] = None,
    labels: Annotated[Path | None, typer.Option("--label-map", help="Label map for trippy.")] = None,
    typos: Annotated[Path | None, typer.Option(help="Typo table for normalisers.")] = None,
    asked: Asked,
    form: FormatOption = "text",
    output: Output = None,
) -> None:
    """Score the same predictions under every profile that suits them: how much the convention matters."""
    with reporting(), progress("sweeping"):
        asked.spare(output)
        import dstbench.analysis.sweep
        from dstbench.rendering.tables import render_sweep

        rows = dstbench.analysis.sweep.sweep(
            asked.paths,
            metrics=",".join(metrics) if metrics else "jga",
            profiles=[part.strip() for part in profiles.split(",")] if profiles else None,
            labels=as_text(labels),
            typos=as_text(typos),
            **asked.how,
        )
        text = render_sweep(rows, form)
    emit(text, output)


@app.command(epilog="Example: dstbench check predictions.json --ontology ontology.json")
@takes_convention
@takes_runs
def check(
    *,
    ontology: Annotated[Path | None, typer.Option(help="JSON {slot: [values]}; gold's values if not given.")] = None,
    asked: Asked,
    form: FormatOption = "text",
    output: Output = None,
    convention: Choices,
) -> None:
    """Check runs before their scores are believed: floors, coverage, slots, values, cumulative states."""
    with reporting(), progress("checking"):
        asked.spare(output)
        import dstbench.analysis.check
        from dstbench.rendering.tables import render_rows

        rows = dstbench.analysis.check.check(
            asked.paths,
            profile=convention(),
            ontology=as_text(ontology),
            **asked.how,
        )
        text = render_rows(rows, "checks", form)
    emit(text, output)


@app.command(epilog="Example: dstbench signature 'jga|profile:trade@faithful.1|…' 'jga|profile:verbatim.1|…'")
def signature(
    texts: Annotated[list[str], typer.Argument(metavar="SIGNATURE...", help="One to explain, or two to compare.")],
) -> None:
    """Say in words what a signature means, or how two of them differ."""
    with reporting():
        from dstbench.errors import UsageError
        from dstbench.io.escape import plain_text
        from dstbench.signature import differences, doubts, explain

        if len(texts) > 2:
            raise UsageError(f"{len(texts)} signatures", hint="give one to explain, or two to compare")
        if len(texts) == 1:
            lines = explain(texts[0])
        else:
            notes = dict.fromkeys(f"note: {doubt}" for text in texts for doubt in doubts(text))
            lines = [*(differences(*texts) or ["no difference: scores with them are comparable"]), *notes]
        text = "".join(f"{plain_text(line)}\n" for line in lines)
    emit(text, None)
