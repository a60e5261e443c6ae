"""The chapters of a report, in the order of interest: sentences, figures, and the tables that commands print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.analysis.associations import POOLED
from dstbench.metrics.registry import REGISTRY
from dstbench.rendering.charts.dialogues import diagnosis_charts, trait_charts
from dstbench.rendering.charts.runs import (
    correlation_charts,
    heat_map,
    leaderboard_charts,
    scores_along,
    sweep_charts,
)
from dstbench.rendering.compare import leaderboard_page, standings_table
from dstbench.rendering.diagnose import diagnosis_page, traits_page
from dstbench.rendering.report_page import Block, Chapter
from dstbench.rendering.scores import wide
from dstbench.rendering.tables import UNDEFINED, pivoted, share_text, signature_lines, texts, value_text
from dstbench.schema.names import name_of

if TYPE_CHECKING:
    from dstbench.analysis.compare import Leaderboard
    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.diagnose import Diagnosis
    from dstbench.analysis.traits import Traits

# What is no metric, and stands in tables.
_WORDS: Final = {
    "Missed": "a slot that gold has and the prediction lacks",
    "Wrong": "a slot with another value than gold's",
    "Over-predicted": "a slot that only the prediction has",
    "Fresh, stale": "the value is new in this turn; it is carried over from the turn before",
    "First failure": "the first wrong turn of a dialogue whose last turn is wrong, as a share of its turns",
    "Tail orientation": "how late in a dialogue its mistakes are, 0 to 1 (Aksu & Chen 2024)",
    "Non-uniformity": "how unevenly the mistakes are spread over the turns (Aksu & Chen 2024)",
    "Convention": "how values are cleaned, compared and counted; a profile is a convention of a paper or a repository",
}


def scores_chapter(leaderboard: Leaderboard) -> Chapter:
    """Scores with intervals, and which runs are significantly better than which others."""
    page = leaderboard_page(leaderboard)
    metrics = leaderboard.scores["metric"].unique(maintain_order=True).to_list()
    lead, better = f"In percent, with {_level(leaderboard)} intervals.", []
    order = _ranked(leaderboard.scores, "run", metrics[0])
    compared = leaderboard.models if leaderboard.models.height else leaderboard.scores
    name = "model" if leaderboard.models.height else "run"
    if leaderboard.differences.height:
        lead += f" Better than: the places of {name}s that are significantly worse in {name_of(metrics[0])}."
        better = [_better_than(_ranked(compared, name, metrics[0]), leaderboard, metrics[0])]
    standings = _standings(leaderboard.scores, "run", order, [] if leaderboard.models.height else better)
    blocks = [Block("Scores", standings, badged=True, paper=standings_table(leaderboard))]
    if leaderboard.models.height:
        models = _standings(leaderboard.models, "model", _ranked(compared, name, metrics[0]), better)
        blocks.append(Block("Models: means over their runs", models))
    charts = leaderboard_charts(leaderboard)
    blocks.append(Block("Scores and intervals", chart=charts["scores"], folded=True))
    drawn = iter(chart for key, chart in charts.items() if key.startswith("differences"))
    for title, table in page.sections:
        if title.startswith("Differences"):
            metric = title.removeprefix("Differences in ")
            blocks.append(Block(f"Differences in {name_of(metric)}", table, next(drawn), folded=True))
    return Chapter("scores", "Scores", lead, blocks, page.below)


def slots_chapter(by_domain: pl.DataFrame, by_slot: pl.DataFrame) -> Chapter:
    """Scores per domain and per slot."""
    lead = (
        "The stronger the colour, the lower the score. By domain: states are restricted to the domain, and only turns "
        "with a gold slot of it count. By slot: all turns count, and a slot in neither gold nor prediction is right."
    )
    blocks = [
        Block("Domains", chart=heat_map(by_domain, "domain")),
        Block("Slots", chart=heat_map(by_slot, "slot")),
        Block("Scores by domain, in percent", wide(by_domain), folded=True),
        Block("Scores by slot, in percent; counts as they are", wide(by_slot), folded=True),
    ]
    signatures = signature_lines(pl.concat([by_domain, by_slot], how="diagonal"))
    return Chapter("slots", "Domains and slots", lead, blocks, signatures)


def errors_chapter(diagnosis: Diagnosis) -> Chapter:
    """Kinds of errors."""
    runs, *_, classes, timing, domains, slots, timing_by_slot = diagnosis_page(diagnosis).sections
    lead = "Each slot that gold or the prediction has in a turn is in one class; an error counts in each turn it lasts."
    blocks = [
        Block("Kinds of errors", chart=diagnosis_charts(diagnosis)["errors"]),
        Block(*runs, folded=True),
        *(Block(*section, folded=True) for section in (classes, timing, domains, slots, timing_by_slot)),
    ]
    return Chapter("errors", "Errors", lead, blocks)


def conventions_chapter(rows: pl.DataFrame) -> Chapter:
    """The same predictions under every profile that suits them."""
    metric = rows["metric"].item(0)
    lead = f"{name_of(metric)} of the same predictions, counted as different papers and repositories do."
    shares = pivoted(rows, "run", "profile", "value")
    table = shares.select("profile", *(share_text(run) for run in shares.columns[1:]))
    title = f"{name_of(metric)} under each profile, in percent"
    blocks = [Block("Conventions", chart=sweep_charts(rows)["conventions"]), Block(title, table, folded=True)]
    return Chapter("conventions", "Conventions", lead, blocks)


def papers_chapter(
    leaderboard: Leaderboard, diagnosis: Diagnosis, by_turn: pl.DataFrame, traits: Traits, correlations: Correlations
) -> Chapter:
    """The figures of Kim et al. 2022 and Aksu & Chen 2024 for these runs, folded."""
    contrasted = traits.bins["metric"].unique(maintain_order=True).to_list()[:2]  # FGA and GCA, as in the paper
    _, failures, slots, turns, lengths, *_ = diagnosis_page(diagnosis).sections
    charts = {
        **leaderboard_charts(leaderboard),
        **diagnosis_charts(diagnosis),
        **trait_charts(replace(traits, bins=traits.bins.filter(pl.col("metric").is_in(contrasted)))),
        **correlation_charts(correlations),
    }
    blocks = [Block(title, table, charts[key], folded=True) for key, (title, table) in (
        ("first_failures", failures), ("gold_slots", slots), ("by_turn", turns), ("by_length", lengths),
    )]  # fmt: skip
    blocks.append(Block("Scores by turn, run by run", wide(by_turn), scores_along(by_turn, "turn"), folded=True))
    matrix, r = correlations.matrix, pl.col("r").round(3).cast(pl.String).fill_null(UNDEFINED)
    pairs = matrix.select("run", "first", "second", r, *texts("n"))
    title = "Correlations of metrics over turns (Kim et al. 2022, Figs 3 and A1); for intervals, see dstbench correlate"
    blocks.append(Block(title, pairs, charts["correlations"], folded=True))
    if "spread" in charts:
        title = "Mean and standard deviation of the runs' scores (Kim et al. 2022, Fig 4)"
        blocks.append(Block(title, chart=charts["spread"], folded=True))
    sections = traits_page(traits).sections
    for number, trait in enumerate(traits.bins["trait"].unique(maintain_order=True)):
        title, table = sections[number]
        title = f"{title.replace(trait, name_of(trait).lower())} (Aksu & Chen 2024, Fig 1)"
        blocks.append(Block(title, table, charts[trait], folded=True))
    if "traits" in charts:
        title = "Mean scores by both traits (Aksu & Chen 2024, Fig 1c)"
        blocks.append(Block(title, chart=charts["traits"], folded=True))
    runs = traits.correlations["run"]
    blocks += [
        Block(title, table, folded=True)
        for title, table in sections[traits.bins["trait"].n_unique() :]
        if runs.n_unique() == 1 or title.startswith((f"{POOLED}:", "Differences"))
    ]
    signatures = signature_lines(
        pl.concat([correlations.signatures, traits.signatures], how="diagonal").unique(maintain_order=True)
    )
    lead = "The figures of Kim et al. 2022 and of Aksu & Chen 2024 for these runs."
    return Chapter("papers", "Figures of the papers", lead, blocks, signatures)


def glossary(metrics: Sequence[str]) -> dict[str, str]:
    """The metrics of a report and the words of its tables, each with what it means."""
    meanings = {}
    for metric in metrics:
        cls = REGISTRY.get(metric.partition(":")[0])
        if cls is not None:
            meanings[name_of(metric)] = f"{cls.title} ({metric}); {cls.source}"
    return meanings | _WORDS


def _ranked(scores: pl.DataFrame, name: str, metric: str) -> list[str]:
    first = scores.filter(metric=metric).sort("value", descending=True, nulls_last=True, maintain_order=True)
    return first[name].to_list()


def _standings(scores: pl.DataFrame, name: str, order: list[str], better: list[pl.Series]) -> pl.DataFrame:
    """A row per run, with its place, and a column per metric: value and interval; a single run has a row per metric."""
    cells = scores.with_columns(
        cell=pl.format("{} ({} to {})", *(value_text(column) for column in ("value", "low", "high")))
    )
    cells = cells.with_columns(
        pl.when(pl.col("low").is_null()).then(value_text("value")).otherwise("cell").alias("cell"),
        metric=pl.col("metric").replace({metric: name_of(metric) for metric in scores["metric"].unique()}),
    )
    if len(order) == 1:
        return cells.select("metric", pl.col("cell").alias(order[0]))
    table = pivoted(cells, "metric", name, "cell")
    place = pl.col(name).replace_strict(order, range(1, len(order) + 1), return_dtype=pl.Int64)
    ranked = table.with_columns(place=place).sort("place")
    return ranked.select(name, pl.col("place").cast(pl.String), *better, pl.exclude(name, "place"))


def _better_than(order: list[str], leaderboard: Leaderboard, metric: str) -> pl.Series:
    """For each run, the places of the runs that are significantly worse."""
    beaten: dict[str, list[int]] = {run: [] for run in order}
    significant = leaderboard.differences.filter(pl.col("significant").fill_null(False), metric=metric)
    for run, other, difference in significant.select("run", "other", "difference").iter_rows():
        better, worse = (run, other) if difference > 0 else (other, run)
        beaten[better].append(order.index(worse) + 1)
    return pl.Series("better than", [_spans(sorted(places)) or UNDEFINED for places in beaten.values()])


def _spans(places: list[int]) -> str:
    """Sorted numbers as text, with consecutive ones as spans: 2, 4–7."""
    starts = [place for place in places if place - 1 not in places]
    ends = [place for place in places if place + 1 not in places]
    return ", ".join(f"{a}" if a == b else f"{a}\N{EN DASH}{b}" for a, b in zip(starts, ends, strict=True))


def _level(leaderboard: Leaderboard) -> str:
    return f"{100 * leaderboard.design['level'].item(0):g} %"
