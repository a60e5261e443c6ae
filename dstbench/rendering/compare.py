"""A comparison of runs as text, Markdown, LaTeX, CSV or JSON.

Text, Markdown and LaTeX show shares and their differences in percent, with the higher run of a pair first. They mark
significant differences with ``*``, and differences that could not be tested with ``-``. JSON and CSV have all columns,
with fractions, in the order of the runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log10
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dstbench.analysis.verdicts import pairs_text, untestable
from dstbench.rendering.scores import unit_of
from dstbench.rendering.tables import (
    UNDEFINED,
    Page,
    best_in_bold,
    counts,
    interval_text,
    renderer,
    side_by_side,
    signature_lines,
    texts,
    value_text,
)

if TYPE_CHECKING:
    from dstbench.analysis.compare import Leaderboard

    Design = Mapping[str, Any]

# With fewer seeds, the spread over seeds is uncertain.
_ENOUGH_SEEDS: Final = 5


def leaderboard_page(leaderboard: Leaderboard) -> Page:
    """Scores with intervals, of runs and of models, and a table of differences per metric."""
    design = leaderboard.design.row(0, named=True)
    metrics = leaderboard.scores["metric"].unique(maintain_order=True).to_list()
    level = _percent(design["level"])
    models = leaderboard.models.rename({"model": "run"})
    standings = _standings(leaderboard.scores, metrics, level)
    sections = [(f"Scores and {level} intervals", standings)]
    shares = [metric for metric in metrics if metric not in counts(leaderboard.scores)]
    styles = {sections[0][0]: best_in_bold(standings, shares)}
    if models.height:
        title = f"Models: mean and standard deviation over n runs, and {level} intervals of the mean"
        sections.append((title, _standings(models, metrics, level).rename({"run": "model"})))
    cannot = untestable(leaderboard.differences, design["resamples"], design["level"])
    scored, tested = _about_scores(leaderboard, design), _about_tests(leaderboard, design)
    signatures = signature_lines(leaderboard.scores)
    captions = {title: [*scored, *signatures] for title, _ in sections}
    verdicts = []
    for metric in metrics:
        differences = leaderboard.differences.filter(metric=metric)
        if differences.height:
            ranked = models if models.height else leaderboard.scores
            ordered = _in_order(differences, ranked.filter(metric=metric), design)
            title = f"Differences in {metric}"
            sections.append((title, _pairs(ordered, design)))
            verdicts.append(_verdict(ordered, metric, design))
            captions[title] = [*scored, *cannot, *tested, *signatures]
    return Page(sections, [*verdicts, *cannot, *scored, *tested, *signatures], captions, styles)


render_leaderboard = renderer(leaderboard_page)


def _standings(rows: pl.DataFrame, metrics: list[str], level: str) -> pl.DataFrame:
    """A row per run, the highest in the first metric first, with the value and interval of each metric."""
    first = rows.filter(metric=metrics[0]).sort("value", descending=True, nulls_last=True, maintain_order=True)
    columns = [first.select("run", *(texts(n="runs") if "runs" in rows.columns else []))]
    for metric in metrics:
        deviation = [value_text("sd").alias(f"sd of {metric}")] if "sd" in rows.columns else []
        interval = interval_text().alias(f"{level} of {metric}")
        of_metric = rows.filter(metric=metric)
        columns.append(of_metric.select("run", value_text("value").alias(metric), *deviation, interval))
    return side_by_side(columns, on="run")


def _in_order(differences: pl.DataFrame, standings: pl.DataFrame, design: Design) -> pl.DataFrame:
    """Pairs with the higher run first, from the highest run down; if there is a baseline, sorted by difference."""
    if design["baseline"] is not None:
        return differences.sort("difference", descending=True, nulls_last=True, maintain_order=True)
    names = standings.sort("value", descending=True, nulls_last=True, maintain_order=True)["run"].to_list()
    run, other = (
        pl.col(side).replace_strict(names, range(len(names)), return_dtype=pl.Int64) for side in ("run", "other")
    )
    swapped = {
        "run": pl.col("other"),
        "other": pl.col("run"),
        "difference": -pl.col("difference"),
        "low": -pl.col("high"),
        "high": -pl.col("low"),
        "wins": pl.col("losses"),
        "losses": pl.col("wins"),
    }
    return differences.with_columns(
        pl.when(run > other).then(value).otherwise(pl.col(name)).alias(name) for name, value in swapped.items()
    ).sort(run, other)


def _pairs(differences: pl.DataFrame, design: Design) -> pl.DataFrame:
    """A row per pair of runs or models; between models, no dialogues are counted."""
    digits = max(4, floor(log10(design["resamples"])))
    counted = [] if differences["wins"].null_count() == differences.height else ["wins", "losses", "discordant"]
    p_columns = {"p": "p"} if design["adjustment"] == "none" else {"p": "p", f"p {design['adjustment']}": "p_adjusted"}
    significant = pl.col("significant").replace_strict({True: "*", False: ""}, default=UNDEFINED)
    return differences.select(
        "run",
        "other",
        value_text("difference"),
        interval_text().alias(_percent(design["level"])),
        *(
            pl.Series(title, [UNDEFINED if p is None else f"{p:.{digits}f}" for p in differences[name]], pl.String)
            for title, name in p_columns.items()
        ),
        significant.alias("*"),
        *texts(*counted),
        value_text("detectable"),
    )


def _verdict(differences: pl.DataFrame, metric: str, design: Design) -> str:
    """Which of the tested differences are significant, or which are not, whichever are fewer."""
    at = f"at {_percent(1 - design['level'])}"
    tested = differences.drop_nulls("significant")
    significant, others = tested.filter("significant"), tested.filter(~pl.col("significant"))
    that = "" if tested.height == differences.height else " that can be tested"
    if tested.is_empty():
        return f"{metric}: no difference {'can be tested ' + at if differences['p'].count() else 'is defined'}"
    if significant.is_empty():
        return f"{metric}: no difference{that} is significant {at}"
    if others.is_empty():
        every = f"{metric}: every difference{that} is significant {at}"
        return f"{every}: {pairs_text(significant)}" if that else every
    share = f"{significant.height} of {tested.height} differences{that} are significant {at}"
    fewer = pairs_text(significant) if significant.height <= others.height else f"all but {pairs_text(others)}"
    return f"{metric}: {share}: {fewer}"


def _about_scores(leaderboard: Leaderboard, design: Design) -> list[str]:
    """How scores and intervals were computed, so that others can repeat it."""
    turns, dialogues = leaderboard.scores.select("turns", "dialogues").row(0)
    of_seeds = "seeds and " if leaderboard.models.height else ""
    lines = [
        f"values in percent, counts as they are; {turns:,} {unit_of(leaderboard.scores)}, {dialogues:,} dialogues",
        f"intervals: percentiles of {design['resamples']:,} bootstrap resamples of {of_seeds}dialogues, "
        f"seed {design['seed']} (BCa: --format json)",
    ]
    if min(leaderboard.models["runs"], default=_ENOUGH_SEEDS) < _ENOUGH_SEEDS:
        few = f"models with fewer than {_ENOUGH_SEEDS} runs"
        lines.append(f"{few}: their spread over seeds is uncertain; with one run, unknown")
    return lines


def _about_tests(leaderboard: Leaderboard, design: Design) -> list[str]:
    """How p was computed, and what the columns beside it are."""
    if leaderboard.differences.is_empty():
        return []
    lines = [f"p: two-sided, {design['test']}, {design['resamples']:,} resamples"]
    if design["adjustment"] != "none":
        numbers = leaderboard.differences["m"].unique().sort().to_list()
        m = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"
        lines.append(f"p {design['adjustment']}: adjusted for the differences of a metric, m = {m}")
    if leaderboard.models.is_empty():
        lines.append("wins, losses: dialogues in which run scores higher, lower; discordant: those whose counts differ")
    return [*lines, "detectable: 2.8 standard errors, a difference that one test at 5 % finds in 80 of 100 cases"]


def _percent(share: float) -> str:
    return f"{round(100 * share, 9):g} %"
