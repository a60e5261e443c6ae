"""The chapters of a report, in the order of interest: sentences, figures, and the tables that commands print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.analysis.associations import POOLED
from dstbench.analysis.orders import spread_of
from dstbench.metrics.registry import find_metric, name_of, sign_of
from dstbench.rendering.of_runs import beaten
from dstbench.rendering.of_scores import best_first
from dstbench.rendering.report_page import Block, Chapter
from dstbench.rendering.tables import layout_of, signature_lines
from dstbench.rendering.text_tables import UNDEFINED
from dstbench.rendering.views import IS_COUNT, pivoted, text_of

if TYPE_CHECKING:
    from dstbench.analysis.compare import Leaderboard
    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.sensitivity import Sensitivity
    from dstbench.analysis.traits import Traits
    from dstbench.rendering.charts.forms import Chart

    Charts = Mapping[str, Chart]
    Sections = Sequence[tuple[str, pl.DataFrame]]

# Words in tables that are not names of metrics.
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


def scores_chapter(leaderboard: Leaderboard, charts: Charts) -> Chapter:
    """Scores with intervals, and which runs are significantly better than which others."""
    pairs = layout_of(leaderboard, pairs=True)
    metrics = leaderboard.scores["metric"].unique(maintain_order=True).to_list()
    lead = f"{_unit(leaderboard.scores).capitalize()}, with {100 * leaderboard.design['level'].item(0):g} % intervals."
    of_models = bool(leaderboard.models.height)
    differences = leaderboard.differences.filter(metric=metrics[0])
    if differences.height and sign_of(metrics[0]):
        noun = "models" if of_models else "runs"
        lead += f" Beats significantly: the numbers of {noun}, in {name_of(metrics[0])}."
    standings = _standings(leaderboard.scores, "run", None if of_models else differences)
    blocks = [Block("Scores", standings, badged=True, paper=layout_of(leaderboard).for_paper[0])]
    if of_models:
        blocks.append(Block("Models: means over their runs", _standings(leaderboard.models, "model", differences)))
    blocks.append(Block("Scores and intervals", chart=charts["scores"], folded=True))
    difference_charts = (chart for key, chart in charts.items() if key.startswith("differences"))
    of_metrics = leaderboard.differences["metric"].unique(maintain_order=True)
    for metric, (_, table), chart in zip(of_metrics, pairs.sections, difference_charts, strict=True):
        blocks.append(Block(f"Differences in {name_of(metric)}", table, chart, folded=True))
    return Chapter("scores", "Scores", lead, blocks, pairs.below)


def slots_chapter(by_domain: pl.DataFrame, by_slot: pl.DataFrame, charts: Charts) -> Chapter:
    """Scores per domain and per slot."""
    lead = (
        "The stronger the colour, the lower the score. By domain: states are restricted to the domain, and only turns "
        "with a gold slot of it count. By slot: all turns count, and a slot in neither gold nor prediction is right."
    )
    blocks = [
        *([Block("Domains", chart=charts["domains"])] if "domains" in charts else []),
        *([Block(charts["slots"].title, chart=charts["slots"], folded=True)] if "slots" in charts else []),
        Block(f"Scores by domain, {_unit(by_domain)}", _wide(by_domain), folded=True),
        Block(f"Scores by slot, {_unit(by_slot)}", _wide(by_slot), folded=True),
    ]
    signatures = signature_lines(pl.concat([by_domain, by_slot], how="diagonal"))
    return Chapter("slots", "Domains and slots", lead, blocks, signatures)


def errors_chapter(diagnosed: Sections, charts: Charts) -> Chapter:
    """Kinds of errors; `diagnosed` has the tables of `diagnosis_page`."""
    runs, *_, classes, timing, domains, slots, timing_by_slot = diagnosed
    lead = "Each slot that gold or the prediction has in a turn is in one class; an error counts in each turn it lasts."
    tables = (Block(*section, folded=True) for section in (runs, classes, domains, slots, timing_by_slot))
    blocks = [Block("Kinds of errors", chart=charts["errors"]), Block(*timing, charts["timing"], folded=True), *tables]
    return Chapter("errors", "Errors", lead, blocks)


def conventions_chapter(rows: pl.DataFrame, charts: Charts) -> Chapter:
    """The same predictions under every profile that suits them."""
    metric = rows["metric"].item(0)
    lead = f"{name_of(metric)} of the same predictions, counted as different papers and repositories do."
    table = pivoted(rows.with_columns(value=text_of("{value:score}")), "run", "profile", "value").fill_null(UNDEFINED)
    title = f"{name_of(metric)} under each profile, {_unit(rows)}"
    blocks = [Block("Conventions", chart=charts["conventions"]), Block(title, table, folded=True)]
    return Chapter("conventions", "Conventions", lead, blocks)


def metrics_chapters(costs: Sensitivity | None, scores: pl.DataFrame, charts: Charts) -> list[Chapter]:
    """What errors cost under each metric, and how far metrics spread the runs; no chapter where neither is known."""
    blocks, lead, below = [], [], list[str]()
    if costs is not None:
        page = layout_of(costs)
        lead += ["What one error costs under each metric, by when it happens."]
        lead += [f"{sentence}." for sentence in page.findings]
        blocks.append(Block("What one error costs", chart=charts["sensitivity"]))
        blocks += [Block(title, table, folded=True) for title, table in page.sections]
        below = page.below
    if "spread" in charts:
        lead.append("How far each metric spreads the runs (Kim et al. 2022, Fig 4).")
        columns = ("mean", "sd", "lowest", "highest", "range")
        shown = (text_of(f"{{{column}:share}}").alias(column) for column in columns)
        table = spread_of(scores.filter(~IS_COUNT).drop_nulls("value")).select("metric", *shown)
        blocks.append(Block("Spread of the runs, in percent", table, charts["spread"]))
    return [Chapter("metrics", "Metrics", " ".join(lead), blocks, below)] if blocks else []


def papers_chapter(
    diagnosed: Sections, by_turn: pl.DataFrame, traits: Traits, correlations: Correlations, charts: Charts
) -> Chapter:
    """The figures of Kim et al. 2022 and Aksu & Chen 2024 for these runs, folded."""
    contrasted = traits.bins["metric"].unique(maintain_order=True).to_list()[:2]  # FGA and GCA, as in the paper
    _, failures, slots, turns, lengths, *_ = diagnosed
    from dstbench.rendering.charts.dialogues import trait_charts  # Altair: only where something is drawn

    of_traits = trait_charts(replace(traits, bins=traits.bins.filter(pl.col("metric").is_in(contrasted))))
    blocks = [Block(title, table, charts[key], folded=True) for key, (title, table) in (
        ("first_failures", failures), ("gold_slots", slots), ("by_turn", turns), ("by_length", lengths),
    )]  # fmt: skip
    blocks.append(Block("Scores by turn, run by run", _wide(by_turn), charts["scores_by_turn"], folded=True))
    matrix, r = correlations.matrix, text_of("{r:r}").alias("r")
    pairs = matrix.select("run", "first", "second", r, pl.col("n").cast(pl.String))
    title = "Correlations of metrics over turns (Kim et al. 2022, Figs 3 and A1); for intervals, see dstbench correlate"
    blocks.append(Block(title, pairs, charts["correlations"], folded=True))
    names, sections = traits.bins["trait"].unique(maintain_order=True).to_list(), layout_of(traits).sections
    for trait, (title, table) in zip(names, sections, strict=False):
        title_of_figure = f"{title.replace(trait, name_of(trait).lower())} (Aksu & Chen 2024, Fig 1)"
        blocks.append(Block(title_of_figure, table, of_traits[trait], folded=True))
    if "traits" in of_traits:
        title = "Mean scores by both traits (Aksu & Chen 2024, Fig 1c)"
        blocks.append(Block(title, chart=of_traits["traits"], folded=True))
    runs = traits.correlations["run"]
    blocks += [
        Block(title, table, folded=True)
        for title, table in sections[len(names) :]
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
        cls = find_metric(metric.partition(":")[0])
        if cls is not None:
            meanings[name_of(metric)] = f"{cls.title} ({metric}); {cls.source}"
    return meanings | _WORDS


def _unit(rows: pl.DataFrame) -> str:
    """The unit of scores, in words."""
    units = {*rows["unit"]}
    if units == {"count"}:
        return "as counts"
    return "in percent, counts as they are" if "count" in units else "in percent"


def _standings(scores: pl.DataFrame, name: str, differences: pl.DataFrame | None) -> pl.DataFrame:
    """A row per run, numbered, with values and intervals in a column per metric; of one run, a row per metric."""
    names = {metric: name_of(metric) for metric in scores["metric"].unique()}
    cells = scores.with_columns(
        pl.col("metric").replace_strict(names, default=None, return_dtype=pl.String),
        cell=pl.when(pl.col("low").is_null())
        .then(text_of("{value:score}"))
        .otherwise(text_of("{value:score} ({low:score} to {high:score})")),
    )
    runs = best_first(scores, scores["metric"][0]).select(run=name)
    if runs.height == 1:
        return pivoted(cells, name, "metric", "cell")
    runs = runs.with_row_index("no.", offset=1)
    table = runs.join(pivoted(cells, "metric", name, "cell").rename({name: "run"}), on="run", maintain_order="left")
    better = []
    if differences is not None and differences.height and sign_of(scores["metric"][0]):
        worse = dict(beaten(differences, runs).select("run", "no.").iter_rows())
        better = [pl.Series("beats significantly", [_spans(worse.get(run, [])) or UNDEFINED for run in runs["run"]])]
    return table.select(pl.col("run").alias(name), pl.col("no.").cast(pl.String), *better, pl.exclude("run", "no."))


def _spans(places: list[int]) -> str:
    """Sorted numbers as text, with consecutive ones as spans: 2, 4–7."""
    starts = [place for place in places if place - 1 not in places]
    ends = [place for place in places if place + 1 not in places]
    return ", ".join(f"{a}" if a == b else f"{a}\N{EN DASH}{b}" for a, b in zip(starts, ends, strict=True))


def _wide(scores: pl.DataFrame) -> pl.DataFrame:
    """Scores with a column per metric."""
    ((_, table),) = layout_of({"scores": scores}).sections
    return table
