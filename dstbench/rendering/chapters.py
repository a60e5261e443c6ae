"""The page of a report, and the same as Markdown: chapters in the order of interest, of sentences, figures and tables.

The page is one HTML file, which shows its tables and figures without its script, and the dialogues with it. It requests
nothing from the network: its content security policy forbids that, and allows one script and one style by their hashes.
No text of a user becomes markup: the template escapes it here, and in the browser the script only sets text, as the
policy (trusted types) requires.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from dstbench._version import __version__
from dstbench.analysis.associations import POOLED
from dstbench.analysis.check import GOLD, badges
from dstbench.analysis.rankings import spread_of
from dstbench.errors import number_of
from dstbench.metrics.registry import find_metric, name_of, sign_of
from dstbench.rendering.html import json_text, markup, rendered
from dstbench.rendering.latex import PaperTable, latex_page
from dstbench.rendering.of_runs import beaten, best_first, sizes_of
from dstbench.rendering.tables import draw, escape_lines, layout_of, signature_lines
from dstbench.rendering.text_tables import UNDEFINED
from dstbench.rendering.views import IS_COUNT, OwnLines, pivoted, text_of
from dstbench.signature import parse

if TYPE_CHECKING:
    from dstbench.analysis.compare import Leaderboard
    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.sensitivity import Sensitivity
    from dstbench.analysis.traits import Traits
    from dstbench.rendering.charts.chart import Chart
    from dstbench.rendering.report import Report

    Charts = Mapping[str, Chart]
    Sections = Sequence[tuple[str, pl.DataFrame]]

#: The default title, in place of which a page says what it compares.
TITLE: Final = "Dialogue state tracking: report"
_NAMED: Final = 7  # the default title names so many runs
_LONGEST_TABLE: Final = 40  # tables with more rows are folded
# The order of chapters: what matters most comes first.
_ORDER: Final = ("scores", "slots", "errors", "dialogues", "conventions", "metrics", "papers", "notes", "glossary")
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


class Block(NamedTuple):
    """A figure, a table of texts, or a figure with the table of its numbers; perhaps with warnings beside runs."""

    title: str
    table: pl.DataFrame | None = None
    chart: Chart | None = None
    folded: bool = True
    badged: bool = False
    paper: PaperTable | None = None


class Chapter(NamedTuple):
    """A part of a report: its name in links, what it shows in a sentence or two, its blocks, and lines below them."""

    name: str
    title: str
    lead: str
    blocks: list[Block]
    below: Sequence[str] = ()


class Front(NamedTuple):
    """What a report begins and ends with; findings have the name of the chapter that has their evidence."""

    title: str
    note: str
    facts: Sequence[str]
    findings: Sequence[tuple[str, str]]
    badges: Mapping[str, Sequence[tuple[str, str]]]
    notes: Sequence[str]
    glossary: Mapping[str, str]


def front_of(page: Report) -> Front:
    """The title, facts, findings, and the metrics and words of the tables, each with what it means."""
    scores = page.leaderboard.scores
    names = best_first(scores, scores["metric"].item(0))["run"].to_list()
    gold = page.checks.filter(check=GOLD)["found"].to_list()  # of each run; they may spell it in several ways
    facts = [
        number_of(len(names), "run"),
        sizes_of(scores),
        *({f"gold: {text}" for text in gold} if len(gold) == len(names) and len(set(gold)) == 1 else ()),
        f"profile {parse(scores['signature'].item(0)).settings['profile']}",
        f"dstbench {__version__}",
    ]
    warned = {run: [(short, text) for _, short, text in of_run] for run, of_run in badges(page.checks).items()}
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    compared = f"{', '.join(names[:_NAMED])}{more}: dialogue state tracking{' compared' * (len(names) > 1)}"
    named = ((metric, find_metric(metric.partition(":")[0])) for metric in scores["metric"].unique(maintain_order=True))
    meanings = {name_of(metric): f"{cls.title} ({metric}); {cls.source}" for metric, cls in named if cls}
    return Front(
        compared if page.title == TITLE else page.title,
        page.note,
        facts,
        [(finding.text, finding.chapter) for finding in page.findings],
        warned,
        page.notes,
        meanings | _WORDS,
    )


def chapters_of(page: Report) -> list[Chapter]:
    """Its parts, without the dialogues, which come before the conventions."""
    charts, diagnosed = page.charts, layout_of(page.diagnosis).sections
    return [
        scores_chapter(page.leaderboard, charts),
        slots_chapter(page.by_domain, page.by_slot, charts),
        errors_chapter(diagnosed, charts),
        conventions_chapter(page.sweep, charts),
        *metrics_chapters(page.costs, page.leaderboard.scores, charts),
        papers_chapter(diagnosed, page.by_turn, page.traits, page.correlations, charts),
    ]


def scores_chapter(leaderboard: Leaderboard, charts: Charts) -> Chapter:
    """Scores with intervals, and which runs are significantly better than which others."""
    pairs = layout_of(leaderboard, pairs=True)
    metrics = leaderboard.scores["metric"].unique(maintain_order=True).to_list()
    lead = f"{_unit(leaderboard.scores).capitalize()}, with {100 * leaderboard.design['level'].item(0):g} % intervals."
    of_models, noun = (True, "models") if leaderboard.models.height else (False, "runs")
    differences = leaderboard.differences.filter(metric=metrics[0])
    if differences.height and sign_of(metrics[0]):
        lead += f" Beats significantly: the numbers of {noun}, in {name_of(metrics[0])}."
    standings = _standings(leaderboard.scores, "run", None if of_models else differences)
    blocks = [Block("Scores", standings, folded=False, badged=True, paper=layout_of(leaderboard).for_paper[0])]
    if of_models:
        means = _standings(leaderboard.models, "model", differences)
        blocks.append(Block("Models: means over their runs", means, folded=False))
    blocks.append(Block("Scores and intervals", chart=charts["scores"]))
    difference_charts = (chart for key, chart in charts.items() if key.startswith("differences"))
    of_metrics = leaderboard.differences["metric"].unique(maintain_order=True)
    for metric, (_, table), chart in zip(of_metrics, pairs.sections, difference_charts, strict=True):
        blocks.append(Block(f"Differences in {name_of(metric)}", table, chart))
    return Chapter("scores", "Scores", lead, blocks, pairs.below)


def slots_chapter(by_domain: pl.DataFrame, by_slot: pl.DataFrame, charts: Charts) -> Chapter:
    """Scores per domain and per slot."""
    lead = (
        "The stronger the colour, the lower the score. By domain: states are restricted to the domain, and only turns "
        "with a gold slot of it count. By slot: all turns count, and a slot in neither gold nor prediction is right."
    )
    blocks = [
        *([Block("Domains", chart=charts["domains"], folded=False)] if "domains" in charts else []),
        *([Block(charts["slots"].title, chart=charts["slots"])] if "slots" in charts else []),
        Block(f"Scores by domain, {_unit(by_domain)}", _wide(by_domain)),
        Block(f"Scores by slot, {_unit(by_slot)}", _wide(by_slot)),
    ]
    signatures = signature_lines(pl.concat([by_domain, by_slot], how="diagonal"))
    return Chapter("slots", "Domains and slots", lead, blocks, signatures)


def errors_chapter(diagnosed: Sections, charts: Charts) -> Chapter:
    """Kinds of errors; `diagnosed` has the tables of `diagnosis_page`."""
    runs, *_, classes, timing, domains, slots, timing_by_slot = diagnosed
    lead = "Each slot that gold or the prediction has in a turn is in one class; an error counts in each turn it lasts."
    tables = (Block(*section) for section in (runs, classes, domains, slots, timing_by_slot))
    blocks = [Block("Kinds of errors", chart=charts["errors"], folded=False), Block(*timing, charts["timing"]), *tables]
    return Chapter("errors", "Errors", lead, blocks)


def conventions_chapter(rows: pl.DataFrame, charts: Charts) -> Chapter:
    """The same predictions under every profile that suits them."""
    metric = rows["metric"].item(0)
    lead = f"{name_of(metric)} of the same predictions, counted as different papers and repositories do."
    table = pivoted(rows.with_columns(value=text_of("{value:score}")), "run", "profile", "value").fill_null(UNDEFINED)
    title = f"{name_of(metric)} under each profile, {_unit(rows)}"
    blocks = [Block("Conventions", chart=charts["conventions"], folded=False), Block(title, table)]
    return Chapter("conventions", "Conventions", lead, blocks)


def metrics_chapters(costs: Sensitivity | None, scores: pl.DataFrame, charts: Charts) -> list[Chapter]:
    """What errors cost under each metric, and how far metrics spread the runs; no chapter where neither is known."""
    blocks, lead, below = [], [], list[str]()
    if costs is not None:
        page = layout_of(costs)
        lead += ["What one error costs under each metric, by when it happens."]
        lead += [f"{sentence}." for sentence in page.findings]
        blocks.append(Block("What one error costs", chart=charts["sensitivity"], folded=False))
        blocks += [Block(title, table) for title, table in page.sections]
        below = page.below
    if "spread" in charts:
        lead.append("How far each metric spreads the runs (Kim et al. 2022, Fig 4).")
        columns = ("mean", "sd", "lowest", "highest", "range")
        shown = (text_of(f"{{{column}:share}}").alias(column) for column in columns)
        table = spread_of(scores.filter(~IS_COUNT).drop_nulls("value")).select("metric", *shown)
        blocks.append(Block("Spread of the runs, in percent", table, charts["spread"], folded=False))
    return [Chapter("metrics", "Metrics", " ".join(lead), blocks, below)] if blocks else []


def papers_chapter(
    diagnosed: Sections, by_turn: pl.DataFrame, traits: Traits, correlations: Correlations, charts: Charts
) -> Chapter:
    """The figures of Kim et al. 2022 and Aksu & Chen 2024 for these runs, folded."""
    contrasted = traits.bins["metric"].unique(maintain_order=True).to_list()[:2]  # FGA and GCA, as in the paper
    _, failures, slots, turns, lengths, *_ = diagnosed
    from dstbench.rendering.charts.runs import trait_charts  # Altair: only where something is drawn

    of_traits = trait_charts(replace(traits, bins=traits.bins.filter(pl.col("metric").is_in(contrasted))))
    blocks = [Block(title, table, charts[key]) for key, (title, table) in (
        ("first_failures", failures), ("gold_slots", slots), ("by_turn", turns), ("by_length", lengths),
    )]  # fmt: skip
    blocks.append(Block("Scores by turn, run by run", _wide(by_turn), charts["scores_by_turn"]))
    matrix, r = correlations.matrix, text_of("{r:r}").alias("r")
    pairs = matrix.select("run", "first", "second", r, pl.col("n").cast(pl.String))
    title = "Correlations of metrics over turns (Kim et al. 2022, Figs 3 and A1); for intervals, see dstbench correlate"
    blocks.append(Block(title, pairs, charts["correlations"]))
    names, sections = traits.bins["trait"].unique(maintain_order=True).to_list(), layout_of(traits).sections
    for trait, (title, table) in zip(names, sections, strict=False):
        title_of_figure = f"{title.replace(trait, name_of(trait).lower())} (Aksu & Chen 2024, Fig 1)"
        blocks.append(Block(title_of_figure, table, of_traits[trait]))
    if "traits" in of_traits:
        title = "Mean scores by both traits (Aksu & Chen 2024, Fig 1c)"
        blocks.append(Block(title, chart=of_traits["traits"]))
    runs = traits.correlations["run"]
    blocks += [
        Block(title, table)
        for title, table in sections[len(names) :]
        if runs.n_unique() == 1 or title.startswith((f"{POOLED}:", "Differences"))
    ]
    signatures = signature_lines(
        pl.concat([correlations.signatures, traits.signatures], how="diagonal").unique(maintain_order=True)
    )
    lead = "The figures of Kim et al. 2022 and of Aksu & Chen 2024 for these runs."
    return Chapter("papers", "Figures of the papers", lead, blocks, signatures)


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


# --- formats ----------------------------------------------------------------------------------------------------------


def render_markdown(page: Report) -> str:
    """The findings and the chapters' tables as Markdown."""
    front = front_of(page)
    parts = [f"# {escape_lines([front.title], 'md')}", escape_lines([OwnLines(front.note)], "md") if front.note else ""]
    parts.append("".join(f"- {escape_lines([text], 'md')}" for text, _ in front.findings))
    for chapter in chapters_of(page):
        parts.append(f"## {chapter.title}\n\n{chapter.lead}\n")
        parts += [
            f"### {escape_lines([block.title], 'md')}\n{draw(block.table, 'md')}"
            for block in chapter.blocks
            if block.table is not None
        ]
        parts.append(escape_lines(chapter.below, "md"))
    if front.notes:
        parts.append("## Notes\n\n" + "".join(f"- {escape_lines([note], 'md')}" for note in front.notes))
    return "\n".join(part for part in parts if part)


def render_html(page: Report, *, dialogues: bool = True) -> str:
    """A report as an HTML document, perhaps without its dialogues."""
    from dstbench.rendering.charts.draw import LIGHT, draw_on_page  # Altair: only where something is drawn

    front, chapters = front_of(page), {chapter.name: chapter for chapter in chapters_of(page)}
    titles = {name: chapter.title for name, chapter in chapters.items()} | {"glossary": "Glossary"}
    titles |= ({"dialogues": "Dialogues"} if dialogues else {}) | ({"notes": "Notes"} if front.notes else {})
    content = page.explorer.content
    names = {name: name_of(name) for name in (*content["metrics"], *content["traits"])}
    style, script = f"{LIGHT}\n{_file('page.css')}", _file("page.js", *(["dialogues.js"] if dialogues else []))
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        f"trusted-types 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    )
    return rendered(
        "page.html",
        front=front,
        chapters=chapters,
        titles={name: titles[name] for name in _ORDER if name in titles},
        dialogues=page.explorer.title,
        data=json_text({**content, "names": names} if dialogues else None),
        policy=markup(policy),
        style=markup(style),
        script=markup(script),
        drawn=draw_on_page,
        latex=lambda block: latex_page([block.paper or PaperTable(block.table, f"{block.title}.", "tab:report")]),
        longest_table=_LONGEST_TABLE,
    )


@cache
def _file(*names: str) -> str:
    return "\n".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in names)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
