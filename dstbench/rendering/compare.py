"""A comparison of runs as text, Markdown, LaTeX, CSV or JSON.

Text, Markdown and LaTeX show shares and their differences in percent, with the higher run of a pair first. Text and
Markdown mark significant differences with ``*``, and differences that could not be tested with ``-``; LaTeX marks each
score with the letters of the runs that it is significantly better than. JSON and CSV have all columns, with fractions,
in the order of the runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log10
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import polars as pl

from dstbench.analysis.verdicts import FEWEST_SEEDS, doubts, pairs_text
from dstbench.metrics.registry import name_of, sign_of
from dstbench.rendering.latex import PaperTable, cell, is_best
from dstbench.rendering.scores import heads_of, named, sign, sizes_of
from dstbench.rendering.tables import (
    UNDEFINED,
    Page,
    best_in_bold,
    brackets,
    counts,
    interval_text,
    pivoted,
    renderer,
    side_by_side,
    signature_lines,
    texts,
    value_text,
)

if TYPE_CHECKING:
    from dstbench.analysis.compare import Leaderboard

    Design = Mapping[str, Any]


def leaderboard_page(leaderboard: Leaderboard, *, pairs: bool = False) -> Page:
    """Scores with intervals, of runs and of models, and a table of differences per metric.

    Args:
        leaderboard: What `dstbench.compare` returned.
        pairs: Whether to show the differences only.
    """
    design = leaderboard.design.row(0, named=True)
    metrics = leaderboard.scores["metric"].unique(maintain_order=True).to_list()
    level = _percent(design["level"])
    models = leaderboard.models.rename({"model": "run"})
    standings = _standings(leaderboard.scores, metrics, level)
    sections = [(f"Scores and {level} intervals", standings)]
    shares = [metric for metric in metrics if metric not in counts(leaderboard.scores) and sign_of(metric) == 1]
    styles = {sections[0][0]: best_in_bold(standings, shares)}
    if models.height:
        title = f"Models: mean and standard deviation over n runs, and {level} intervals of the mean"
        sections.append((title, _standings(models, metrics, level).rename({"run": "model"})))
    doubt_lines = doubts(leaderboard.differences, design["resamples"], design["level"])
    about_scores = _about_scores(leaderboard, design)
    about_tests = [*_about_tests(leaderboard, design), *_about_columns(leaderboard, design)]
    signatures = signature_lines(leaderboard.scores)
    sections = [] if pairs else sections
    differences = _ordered(leaderboard)
    sections += [(f"Differences in {metric}", _pairs(rows, design)) for metric, rows in differences.items()]
    paper = pairs_table(leaderboard) if pairs and differences else standings_table(leaderboard)
    below = [*verdicts(leaderboard), *doubt_lines, *about_scores, *about_tests, *signatures]
    return Page(sections, below, paper=[paper], styles=styles)


render_leaderboard = renderer(leaderboard_page)


def verdicts(leaderboard: Leaderboard) -> list[str]:
    """For each metric whose differences were tested: which of them are significant."""
    design = leaderboard.design.row(0, named=True)
    return [_verdict(rows, metric, design) for metric, rows in _ordered(leaderboard).items()]


def _ordered(leaderboard: Leaderboard) -> dict[str, pl.DataFrame]:
    """Metric to its differences, those of the higher runs first; only metrics that have any."""
    design = leaderboard.design.row(0, named=True)
    ranked, _ = _compared(leaderboard)
    by_metric = leaderboard.differences.group_by("metric", maintain_order=True)
    return {str(metric): _in_order(rows, ranked.filter(metric=metric), design) for (metric,), rows in by_metric}


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
    digits = max(4, floor(log10(max(differences["resamples"].drop_nulls(), default=1))))
    count_columns = [] if differences["wins"].null_count() == differences.height else ["wins", "losses", "discordant"]
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
        *texts(*count_columns),
        value_text("detectable"),
    )


def _verdict(differences: pl.DataFrame, metric: str, design: Design) -> str:
    """The tested differences that are significant, or those that are not, whichever are fewer."""
    at = f"at {_percent(1 - design['level'])}"
    tested = differences.drop_nulls("significant")
    significant, others = tested.filter("significant"), tested.filter(~pl.col("significant"))
    that = "" if tested.height == differences.height else " that can be tested"
    if tested.is_empty():
        return f"{metric}: no difference {'can be tested ' + at if differences['difference'].count() else 'is defined'}"
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
    lines = [
        f"values in percent, counts as they are; {sizes_of(leaderboard.scores)}",
        "intervals of scores: Wilson's, with the effective number of units (dialogues)",
    ]
    if min(leaderboard.models["runs"], default=FEWEST_SEEDS) < FEWEST_SEEDS:
        lines.append(f"models with fewer than {FEWEST_SEEDS} runs are not tested; one of a single run has its interval")
    return lines


def _about_tests(leaderboard: Leaderboard, design: Design) -> list[str]:
    """How p was computed."""
    if leaderboard.differences.is_empty():
        return []
    of_runs = leaderboard.models.is_empty()
    drawn = max(leaderboard.differences["resamples"].drop_nulls(), default=0)
    more = f" ({drawn:,} where p is close to {_percent(1 - design['level'])})" if drawn > design["resamples"] else ""
    resamples = f", {design['resamples']:,} resamples{more}, seed {design['seed']}" if of_runs else ""
    lines = [
        f"p: two-sided, {design['test']}{resamples}",
        f"intervals of differences: by the same test, so they exclude 0 exactly where p is at most "
        f"{_percent(1 - design['level'])}",
    ]
    if design["adjustment"] != "none":
        numbers = leaderboard.differences["m"].unique().sort().to_list()
        m = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"
        lines.append(f"p {design['adjustment']}: adjusted for the differences of a metric, m = {m}")
    return lines


def _about_columns(leaderboard: Leaderboard, design: Design) -> list[str]:
    """What the columns other than p are."""
    if leaderboard.differences.is_empty():
        return []
    lines = []
    if leaderboard.models.is_empty():
        lines.append("wins, losses: dialogues in which run scores higher, lower; discordant: those whose counts differ")
    return [*lines, f"detectable: the difference that the {_adjusted(design)}test detects with 80 % power"]


def _adjusted(design: Design) -> str:
    return "" if design["adjustment"] == "none" else "adjusted "


def _percent(share: float) -> str:
    return f"{round(100 * share, 9):g} %"


# --- for a paper ------------------------------------------------------------------------------------------------------


def standings_table(leaderboard: Leaderboard) -> PaperTable:
    """Scores as a paper prints them, with the letters of the runs (models) that each is significantly better than.

    The package ranx prints its comparisons in this way. A user's own metric has no marks: its lower scores may be
    better.
    """
    design, differences = leaderboard.design.row(0, named=True), leaderboard.differences
    rows, noun = _compared(leaderboard)
    names = rows.filter(metric=rows["metric"][0]).sort("value", descending=True, nulls_last=True, maintain_order=True)
    letters = ascii_lowercase if names.height <= len(ascii_lowercase) else [f"{n + 1}," for n in range(names.height)]
    lettered = names.select("run", pl.Series("letter", letters[: names.height], pl.String))
    deviation = pl.when(pl.col("sd").is_not_null()).then(pl.format("±{} ", value_text("sd"))).otherwise(pl.lit(""))
    better = beaten(differences, lettered).with_columns(pl.col("letter").list.join(""))
    marked = rows.join(better, on=["metric", "run"], how="left", maintain_order="left")
    marked = marked.with_columns(value_text("value").alias("text"), merit=sign(rows) * pl.col("value"))
    small = pl.concat_str(deviation, brackets()) if "sd" in rows.columns else brackets()
    raised = pl.col("letter").str.strip_chars_end(",")
    shown = cell(pl.col("text"), "cell", small=small, raised=raised, bold=is_best("metric"))
    cells = marked.select("run", "metric", shown)
    table = side_by_side([lettered, pivoted(cells, "metric", "run", "cell")], on="run")
    table = table.select(pl.col("letter").str.strip_chars_end(","), pl.exclude("letter"))
    caption = f"{named(rows)}{_over(leaderboard)}, with {_percent(design['level'])} intervals."
    if differences["significant"].count():
        alpha = _percent(1 - design["level"])
        caption += f" Superscripts: the {noun}s that one is significantly better than (at {alpha})."
        if design["baseline"] is not None:
            (baseline,) = table.filter(run=design["baseline"])["letter"]
            caption += f" Only differences to {noun} {baseline} are tested."
    else:
        table = table.drop("letter")
    heads = {**heads_of(rows), "letter": "", "run": noun.capitalize()}
    return PaperTable(table, f"{caption} Bold: the best.", "tab:compare", _notes(leaderboard), (), heads)


def pairs_table(leaderboard: Leaderboard) -> PaperTable:
    """The differences of pairs as a paper prints them, with p; significant ones have a star."""
    design, rows = leaderboard.design.row(0, named=True), leaderboard.differences
    standings, noun = _compared(leaderboard)
    metrics = rows["metric"].unique(maintain_order=True).to_list()
    ordered = (_in_order(rows.filter(metric=metric), standings.filter(metric=metric), design) for metric in metrics)
    tables = [_pairs(of_metric, design).drop("discordant", "detectable", strict=False) for of_metric in ordered]
    titles = [name_of(metric) for metric, table in zip(metrics, tables, strict=True) for _ in range(table.height)]
    star = f"; *: significant at {_percent(1 - design['level'])}" if rows["significant"].count() else ""
    level = _percent(design["level"])
    caption = f"Differences in {named(rows)} between {noun}s{_over(leaderboard)}, with {level} intervals{star}."
    groups = titles if len(metrics) > 1 else ()
    return PaperTable(pl.concat(tables), caption, "tab:pairs", _notes(leaderboard), groups)


def _compared(leaderboard: Leaderboard) -> tuple[pl.DataFrame, str]:
    """The scores that are compared, and whether they are those of runs or models."""
    if leaderboard.models.is_empty():
        return leaderboard.scores, "run"
    return leaderboard.models.rename({"model": "run"}), "model"


def beaten(differences: pl.DataFrame, marked: pl.DataFrame) -> pl.DataFrame:
    """Per metric and run, the runs that it is significantly better than.

    Args:
        differences: Those of a `Leaderboard`.
        marked: The runs in order, each with its mark (a letter, a place).

    Returns:
        The columns metric, run, and the one of the marks: a list of them, in their order.
    """
    is_better = sign(differences) * pl.col("difference") > 0
    better, worse = (
        pl.when(is_better).then(one).otherwise(other) for one, other in (("run", "other"), ("other", "run"))
    )
    return (
        differences.filter(pl.col("significant").fill_null(value=False), sign(differences).is_not_null())
        .select("metric", run=better, worse=worse)
        .join(marked.with_row_index("index"), left_on="worse", right_on="run")
        .sort("index")
        .group_by("metric", "run", maintain_order=True)
        .agg(pl.exclude("worse", "index"))
    )


def _over(leaderboard: Leaderboard) -> str:
    means = " (means and standard deviations over runs)" if leaderboard.models.height else ""
    return f"{means} over {sizes_of(leaderboard.scores, ' of ')}"


def _notes(leaderboard: Leaderboard) -> list[str]:
    """How scores, intervals and tests were computed."""
    design = leaderboard.design.row(0, named=True)
    doubt_lines = doubts(leaderboard.differences, design["resamples"], design["level"])
    about_scores, about_tests = _about_scores(leaderboard, design)[1:], _about_tests(leaderboard, design)
    return [*doubt_lines, *about_scores, *about_tests, *signature_lines(leaderboard.scores)]
