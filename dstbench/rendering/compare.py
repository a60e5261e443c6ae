"""A comparison of runs as text, Markdown, LaTeX, CSV or JSON.

Text, Markdown and LaTeX show shares and their differences in percent, the higher run of a pair first, and name the
differences that are significant (``*``; ``-`` where that could not be tested); JSON and CSV have all columns, as
fractions, in the order of the runs.
"""

from __future__ import annotations

from math import floor, log10
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dstbench.analysis.verdicts import pairs_text, untestable
from dstbench.rendering.tables import IS_COUNT, Page, render_frames, render_page, signature_lines, value_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dstbench.analysis.compare import Leaderboard
    from dstbench.typing import TableFormat

    Design = Mapping[str, Any]

_SIDES: Final = ("run", "other")
_DIFFERENCES: Final = "Differences in"
# Of fewer seeds, too little is known.
_FEW: Final = 5


def render_leaderboard(found: Leaderboard, form: TableFormat) -> str:
    """A comparison in one of the formats."""
    if form in ("json", "csv"):
        return render_frames(found, form)
    sections, below = leaderboard_page(found)
    return render_page(sections, below, form, _captions(found, [title for title, _ in sections]))


def leaderboard_page(found: Leaderboard) -> Page:
    """Its tables, each with its title, and what is to be said below them."""
    design = found.design.row(0, named=True)
    metrics = found.scores["metric"].unique(maintain_order=True).to_list()
    between = found.models.rename({"model": "run"}) if found.models.height else found.scores
    sections = [(f"Scores and {_percent(design['level'])} intervals", _standings(found.scores, metrics, design))]
    if found.models.height:
        title = (
            f"Models: mean and standard deviation over n runs, and {_percent(design['level'])} intervals of the mean"
        )
        models = found.models.rename({"model": "run"})
        sections.append((title, _standings(models, metrics, design).rename({"run": "model"})))
    verdicts = []
    for metric in metrics:
        rows = found.differences.filter(metric=metric)
        if rows.height:
            ordered = _in_order(rows, between.filter(metric=metric), design)
            sections.append((f"{_DIFFERENCES} {metric}", _pairs(ordered, design)))
            verdicts.append(_verdict(ordered, metric, design))
    below = [*verdicts, *_untestable(found, design), *_about(found, design), *_about_tests(found, design)]
    return sections, [*below, *signature_lines(found.scores)]


def _standings(rows: pl.DataFrame, metrics: list[str], design: Design) -> pl.DataFrame:
    """A row per run, the highest in the first metric first; per metric its value and interval."""
    first = rows.filter(metric=metrics[0]).sort("value", descending=True, nulls_last=True, maintain_order=True)
    table = first.select("run", *([pl.col("runs").cast(pl.String).alias("n")] if "runs" in rows.columns else []))
    for metric in metrics:
        shown = rows.filter(metric=metric).select(
            "run",
            value_text("value", is_count=IS_COUNT).alias(metric),
            *([value_text("sd", is_count=IS_COUNT).alias(f"sd of {metric}")] if "sd" in rows.columns else []),
            _interval().alias(f"{_percent(design['level'])} of {metric}"),
        )
        table = table.join(shown, on="run", how="left", maintain_order="left")
    return table


def _in_order(rows: pl.DataFrame, standings: pl.DataFrame, design: Design) -> pl.DataFrame:
    """Pairs with the higher run first, from the highest run down; those with a baseline as they are, by difference."""
    if design["baseline"] is not None:
        return rows.sort("difference", descending=True, nulls_last=True, maintain_order=True)
    names = standings.sort("value", descending=True, nulls_last=True, maintain_order=True)["run"].to_list()
    place = {side: pl.col(side).replace_strict(names, range(len(names)), return_dtype=pl.Int64) for side in _SIDES}
    turned = place["run"] > place["other"]

    def either(as_it_is: str, otherwise: pl.Expr) -> pl.Expr:
        return pl.when(turned).then(otherwise).otherwise(pl.col(as_it_is)).alias(as_it_is)

    return rows.with_columns(
        either("run", pl.col("other")),
        either("other", pl.col("run")),
        either("difference", -pl.col("difference")),
        either("low", -pl.col("high")),
        either("high", -pl.col("low")),
        either("wins", pl.col("losses")),
        either("losses", pl.col("wins")),
    ).sort(place["run"], place["other"])


def _pairs(rows: pl.DataFrame, design: Design) -> pl.DataFrame:
    """A row per pair; between models without what is counted in dialogues."""
    digits = max(4, floor(log10(design["resamples"])))
    counted = [] if rows["wins"].null_count() == rows.height else ["wins", "losses", "discordant"]
    p = {"p": "p"} if design["adjustment"] == "none" else {"p": "p", "p_adjusted": f"p {design['adjustment']}"}
    return rows.select(
        *_SIDES,
        value_text("difference", is_count=IS_COUNT),
        _interval().alias(_percent(design["level"])),
        *(
            pl.Series(title, ["-" if value is None else f"{value:.{digits}f}" for value in rows[name]], pl.String)
            for name, title in p.items()
        ),
        pl.when("significant")
        .then(pl.lit("*"))
        .when(pl.col("significant").is_null())
        .then(pl.lit("-"))
        .otherwise(pl.lit(""))
        .alias("*"),
        *(pl.col(name).cast(pl.String) for name in counted),
        value_text("detectable", is_count=IS_COUNT),
    )


def _verdict(rows: pl.DataFrame, metric: str, design: Design) -> str:
    """Which differences are significant, or which are not, whichever are fewer, of those that could be tested."""
    at = f"at {_percent(1 - design['level'])}"
    tested = rows.drop_nulls("significant")
    found, others = tested.filter("significant"), tested.filter(~pl.col("significant"))
    that = "" if tested.height == rows.height else " that can be tested"
    if not tested.height:
        return f"{metric}: no difference {'can be tested ' + at if rows['p'].count() else 'is defined'}"
    if not found.height:
        return f"{metric}: no difference{that} is significant {at}"
    if not others.height:
        return f"{metric}: every difference{that} is significant {at}" + (f": {pairs_text(found)}" if that else "")
    named, but = (found, "") if found.height <= others.height else (others, "all but ")
    told = f"{metric}: {found.height} of {tested.height} differences{that} are significant {at}"
    return f"{told}: {but}{pairs_text(named)}"


def _untestable(found: Leaderboard, design: Design) -> list[str]:
    return untestable(found.differences, design["resamples"], design["level"])


def _captions(found: Leaderboard, titles: list[str]) -> dict[str, list[str]]:
    """What LaTeX says of each table: tests only of those that show any."""
    design = found.design.row(0, named=True)
    about, signed = _about(found, design), signature_lines(found.scores)
    tests = [*_untestable(found, design), *_about_tests(found, design)]
    return {title: [*about, *(tests if title.startswith(_DIFFERENCES) else []), *signed] for title in titles}


def _about(found: Leaderboard, design: Design) -> list[str]:
    """How scores and intervals were made, so that it can be done again."""
    turns, dialogues = found.scores.select("turns", "dialogues").row(0)
    unit = "frames" if "|unit:frame|" in found.scores["signature"][0] else "turns"
    lines = [
        f"values in percent, counts as they are; {turns:,} {unit}, {dialogues:,} dialogues",
        f"intervals: percentiles of {design['resamples']:,} bootstrap resamples of "
        f"{'seeds and ' if found.models.height else ''}dialogues, seed {design['seed']} (BCa: --format json)",
    ]
    if min(found.models["runs"], default=_FEW) < _FEW:
        lines.append(f"models of fewer than {_FEW} runs: how far seeds spread is hardly known; of one run, not at all")
    return lines


def _about_tests(found: Leaderboard, design: Design) -> list[str]:
    """What p and the counts beside them are."""
    if found.differences.is_empty():
        return []
    m = found.differences["m"].unique().sort().to_list()
    lines = [f"p: two-sided, {design['test']}, {design['resamples']:,} resamples"]
    if design["adjustment"] != "none":
        lines.append(f"p {design['adjustment']}: adjusted for the differences of a metric, m = {_range(m)}")
    if not found.models.height:
        lines.append("wins, losses: dialogues that run scores higher, lower in; discordant: that differ in its counts")
    return [*lines, "detectable: 2.8 standard errors, what one test at 5 % finds in 80 of 100 cases"]


def _range(numbers: list[int]) -> str:
    return " to ".join(str(number) for number in dict.fromkeys([numbers[0], numbers[-1]]))


def _percent(share: float) -> str:
    return f"{round(100 * share, 9):g} %"


def _interval() -> pl.Expr:
    text = pl.format("{} to {}", *(value_text(end, is_count=IS_COUNT) for end in ("low", "high")))
    return pl.when(pl.col("low").is_null()).then(pl.lit("-")).otherwise(text)
