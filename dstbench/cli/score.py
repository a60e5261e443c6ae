"""Commands that score: score, compare, pairs, sweep, check, signature."""

import re
from pathlib import Path
from typing import Annotated

import typer

import dstbench
from dstbench.cli.app import app
from dstbench.cli.command import Result, command
from dstbench.cli.options import (
    Adjust,
    Baseline,
    ConventionChoices,
    Drawing,
    Metrics,
    Models,
    Resamples,
    Runs,
    Seed,
    TableOutput,
    TestLevel,
    named_values,
)
from dstbench.cli.output import as_text


@command(app, doing="scoring", example="score predictions.json --profile trade")
def score(
    *,
    metrics: Metrics = None,
    by: Annotated[
        str, typer.Option(help="Group by run, domain, slot, dialogue, turn, length, n_gold, seen; comma-separated.")
    ] = "run",
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TITLE=RUNS",
            help="Runs to show as a group, by name or pattern: 'Open vocabulary=trade,som*'. Repeatable.",
        ),
    ] = None,
    drawing: Drawing,
    runs: Runs,
    table: TableOutput,
    choices: ConventionChoices,
) -> Result:
    """Score runs: JGA, SA, RSA, AGA, F1, FGA, GCA, TLA or others."""
    from dstbench.rendering.charts.runs import score_charts
    from dstbench.rendering.of_scores import titles_of
    from dstbench.rendering.tables import render
    from dstbench.runs.gold_sets import gold_lines
    from dstbench.runs.open import parts_to_open
    from dstbench.scoring.score import open_and_score

    if groups := named_values("--group", group, "group and its runs", "'Open vocabulary=trade,som*'"):
        titles_of(groups, [name for name, _ in parts_to_open(runs.paths, **runs.reading)], by.split(","))
    opened, rows = open_and_score(runs.paths, metrics=metrics, by=by, profile=choices.convention(), **runs.reading)
    gold = [] if table.form in ("json", "csv") else gold_lines(opened)
    return Result(render({"scores": rows}, table.form, groups=groups, gold=gold), drawing.write(score_charts, rows))


@command(app, doing="scoring", example="compare a.json b.json c.json --baseline a -m jga,gca")
def compare(
    *,
    metrics: Metrics = None,
    baseline: Baseline = None,
    model: Models = None,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    level: TestLevel = 0.95,
    adjust: Adjust = "holm",
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Show the differences of pairs only: in LaTeX, a table of their own.")
    ] = False,
    drawing: Drawing,
    runs: Runs,
    table: TableOutput,
    choices: ConventionChoices,
) -> Result:
    """Test which runs are better than others over the same gold. Gives scores and differences with intervals, and p."""
    from dstbench.rendering.charts.runs import leaderboard_charts
    from dstbench.rendering.tables import render

    leaderboard = dstbench.compare(
        runs.paths,
        metrics=metrics,
        models=named_values("--model", model, "model and its runs", "t5=t5_seed1,t5_seed2"),
        baseline=baseline,
        resamples=resamples,
        seed=seed,
        level=level,
        adjust=adjust,
        profile=choices.convention(),
        **runs.reading,
    )
    text = render(leaderboard, table.form, pairs=pairs)
    return Result(text, drawing.write(leaderboard_charts, leaderboard))


class _ValueChoices(ConventionChoices):
    """Choices that concern values and when two of them match."""

    offered = ("dontcare", "none", "typos", "gold_steps", "pred_steps", "multi", "match", "fuzzy", "labels", "schema")


@command(app, doing="comparing", example="pairs predictions.json --profile qian2021")
def pairs(*, runs: Runs, table: TableOutput, choices: _ValueChoices) -> str:
    """List values that only fuzzy matching or a label map accepts."""
    import polars as pl

    from dstbench.rendering.tables import render_rows

    rows = dstbench.fuzzy_pairs(runs.paths, profile=choices.convention(), **runs.reading)
    if table.form in ("text", "md"):  # so that a space at the end can be seen
        rows = rows.with_columns(pl.format("'{}'", name).alias(name) for name in ("gold", "pred"))
    return render_rows(rows, "pairs", table.form)


@command(app, doing="sweeping", example="sweep predictions.json --label-map multiwoz21.json")
def sweep(
    *,
    metrics: Metrics = None,
    profiles: Annotated[str | None, typer.Option(help="The profiles, comma-separated; default: all that suit.")] = None,
    labels: Annotated[Path | None, typer.Option("--label-map", help="Label map for the profile trippy.")] = None,
    typos: Annotated[Path | None, typer.Option(help="Typo table for the profiles that correct typos.")] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="SCORES",
            help="Published scores, 24.0 or jga=24.0,sa=91.2: say which profiles agree with all of them.",
        ),
    ] = None,
    drawing: Drawing,
    runs: Runs,
    table: TableOutput,
) -> Result:
    """Score the same predictions under every profile. This shows how much the convention matters."""
    from dstbench.rendering.charts.runs import sweep_charts
    from dstbench.rendering.tables import render

    rows = dstbench.sweep(
        runs.paths,
        metrics=metrics or "jga",
        profiles=[part.strip() for part in profiles.split(",")] if profiles else None,
        labels=as_text(labels),
        typos=as_text(typos),
        target=target,
        **runs.reading,
    )
    return Result(render({"sweep": rows}, table.form), drawing.write(sweep_charts, rows))


@command(app, doing="checking", example="check predictions.json --ontology ontology.json")
def check(
    *,
    ontology: Annotated[Path | None, typer.Option(help="JSON {slot: [values]}; default: gold's values.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Explain all outcomes in text too, if there are several runs.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if a check fails, for scripts.")] = False,
    runs: Runs,
    table: TableOutput,
    choices: ConventionChoices,
) -> Result:
    """Check runs before you believe their scores. Looks at floors, coverage, slots, values and cumulative states."""
    from dstbench.rendering.sentences import failed
    from dstbench.rendering.tables import render

    rows = dstbench.check(runs.paths, profile=choices.convention(), ontology=as_text(ontology), **runs.reading)
    text, failures = render({"checks": rows.drop("short", "n", "jga")}, table.form, everything=everything), failed(rows)
    return Result(text, summary=failures, code=1 if strict and failures else 0)


@command(app, doing="reading", example="signature 'jga|profile:trade@faithful.1|…' 'jga|profile:verbatim.1|…'")
def signature(
    texts: Annotated[list[str], typer.Argument(metavar="SIGNATURE...", help="One to explain, or two to compare.")],
) -> str:
    """Explain a signature, or say how two signatures differ."""
    from dstbench.errors import UsageError
    from dstbench.io.escape import plain_text
    from dstbench.signature import differences, doubts, explain

    texts = [re.sub(r"\s*\n\s*", "", text) for text in texts]  # as narrow terminals show them
    if len(texts) > 2:
        raise UsageError(f"{len(texts)} signatures", hint="give one to explain, or two to compare")
    if len(texts) == 1:
        lines = explain(texts[0])
    else:
        notes = dict.fromkeys(f"note: {doubt}" for text in texts for doubt in doubts(text))
        lines = [*(differences(*texts) or ["no difference: scores with them are comparable"]), *notes]
    return "".join(f"{plain_text(line)}\n" for line in lines)
