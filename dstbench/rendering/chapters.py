"""The page of a report, and the same as Markdown: chapters of sentences, figures and tables.

The page is one HTML file that requests nothing from the network, and in which no text of a user becomes markup: the
template escapes it, and its content security policy allows one script and one style, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl

from dstbench._version import __version__
from dstbench.analysis.check import GOLD, badges
from dstbench.analysis.correlate import POOLED
from dstbench.analysis.rankings import spread_of
from dstbench.errors import first_of, number_of, percent
from dstbench.metrics.registry import find_metric, name_of, sign_of
from dstbench.rendering.html import json_text, markup, rendered
from dstbench.rendering.latex import PaperTable, latex_page
from dstbench.rendering.of_runs import beaten, best_first, sizes_of, units_of
from dstbench.rendering.tables import draw, escape_lines, layout_of, signature_lines
from dstbench.rendering.text_tables import UNDEFINED
from dstbench.rendering.views import IS_COUNT, OwnLines, View, plain, text_of, with_names
from dstbench.schema import analysis as schema
from dstbench.signature import parse

if TYPE_CHECKING:
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


class Block(NamedTuple):
    """A figure, a table of texts, or both; perhaps with warnings beside runs and drawn intervals."""

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


def _table(title: str, rows: pl.DataFrame, *view: Any, chart: Chart | None = None, **block: Any) -> Block:
    """The block of a `View`."""
    ((_, table, _),) = View("", rows, *view).parts()
    return Block(title, table, chart, **block)


def chapters_of(page: Report) -> list[Chapter]:
    """Its parts, without the dialogues, which come before the conventions."""
    charts, metric = page.charts, name_of(page.sweep["metric"].item(0))
    diagnosed = [next(view.parts())[:2] for view in layout_of(page.diagnosis).views]
    runs, *of_papers, classes, timing, domains, slots, timing_by_slot = diagnosed
    heat_maps = [_figure(charts[key], folded=key != "domains") for key in ("domains", "slots") if key in charts]
    profiles = f"{metric} under each profile, {_unit(page.sweep)}"
    return [chapter for chapter in (
        _scores(page, charts),
        Chapter(
            "slots", "Domains and slots",
            "The stronger the colour, the lower the score. By domain: states are restricted to the domain, and only "
            "turns with a gold slot of it count. By slot: all turns count, and a slot in neither gold nor prediction "
            "is right.",
            [*heat_maps, *_wide(f"Scores by domain, {_unit(page.by_domain)}", page.by_domain),
             *_wide(f"Scores by slot, {_unit(page.by_slot)}", page.by_slot)],
            signature_lines(pl.concat([page.by_domain, page.by_slot], how="diagonal")),
        ),
        Chapter(
            "errors", "Errors",
            "Each slot that gold or prediction has in a turn is in one class; an error counts in each turn it lasts.",
            [_figure(charts["errors"], folded=False), Block(*timing, charts["timing"]),
             *(Block(*section) for section in (runs, classes, domains, slots, timing_by_slot))],
        ),
        Chapter(
            "conventions", "Conventions",
            f"{metric} of the same predictions, counted as different papers and repositories do.",
            [_figure(charts["conventions"], folded=False),
             _table(profiles, page.sweep, schema.SWEEP, ["profile"], {"{}": "{value}"}, "run")],
        ),
        _metrics(page, charts), _papers(page, of_papers, charts),
    ) if chapter.blocks]  # fmt: skip


def _figure(chart: Chart, *, folded: bool = True) -> Block:
    """A chart without a table."""
    return Block(chart.title, chart=chart, folded=folded)


def _scores(page: Report, charts: Charts) -> Chapter:
    """Scores with intervals, and which runs are significantly better than which others."""
    board, pairs = page.leaderboard, layout_of(page.leaderboard, pairs=True)
    first, of_models = board.scores["metric"][0], board.models.height > 0
    differences = board.differences.filter(metric=first)
    lead = f"{_unit(board.scores).capitalize()}, with {percent(board.design['level'].item())} intervals."
    if differences.height and sign_of(first):
        noun = "models" if of_models else "runs"
        lead += f" Beats significantly: the numbers of {noun}, in {name_of(first)}."
    paper = layout_of(board).for_paper[0]
    of_runs = differences.clear() if of_models else differences
    blocks = [_standings("Scores", board.scores, "run", of_runs, paper=paper)]
    if of_models:
        blocks.append(_standings("Models: means over their runs", board.models, "model", differences))
    blocks.append(_figure(charts["scores"]))
    of_pairs = [chart for key, chart in charts.items() if key.startswith("differences")]
    metrics = board.differences["metric"].unique(maintain_order=True)
    blocks += [Block(f"Differences in {name_of(metric)}", table, chart)
               for metric, (_, table), chart in zip(metrics, pairs.sections, of_pairs, strict=True)]  # fmt: skip
    return Chapter("scores", "Scores", lead, blocks, pairs.below)


def _metrics(page: Report, charts: Charts) -> Chapter:
    """What errors cost under each metric, and how far metrics spread the runs; no block where neither is known."""
    blocks, lead, below = list[Block](), list[str](), list[str]()
    if page.costs is not None:
        costs = layout_of(page.costs)
        lead += ["What one error costs under each metric, by when it happens.", *(f"{it}." for it in costs.findings)]
        blocks = [_figure(charts["sensitivity"], folded=False), *(Block(*section) for section in costs.sections)]
        below = costs.below
    if "spread" in charts:
        lead.append("How far each metric spreads the runs (Kim et al. 2022, Fig 4).")
        spread = spread_of(page.leaderboard.scores.filter(~IS_COUNT).drop_nulls("value"))
        cells = plain("mean", "sd", "lowest", "highest", "range")
        blocks.append(_table("Spread of the runs, in percent", spread, schema.SPREAD, ["metric"], cells,
                             chart=charts["spread"], folded=False))  # fmt: skip
    return Chapter("metrics", "Metrics", " ".join(lead), blocks, below)


def _papers(page: Report, diagnosed: Sections, charts: Charts) -> Chapter:
    """The figures of Kim et al. 2022 and Aksu & Chen 2024 for these runs, folded."""
    from dstbench.rendering.charts.runs import trait_charts  # Altair: only where something is drawn

    of_bins = page.traits.bins
    contrasted = of_bins["metric"].unique(maintain_order=True).to_list()[:2]  # FGA and GCA, as in the paper
    of_traits = trait_charts(replace(page.traits, bins=of_bins.filter(pl.col("metric").is_in(contrasted))))
    traits, sections = of_bins["trait"].unique(maintain_order=True).to_list(), layout_of(page.traits).sections
    is_single, both = page.traits.correlations["run"].n_unique() == 1, of_traits.get("traits")
    figures = zip(("first_failures", "gold_slots", "by_turn", "by_length"), diagnosed, strict=True)
    title = "Correlations of metrics over turns (Kim et al. 2022, Figs 3 and A1); for intervals, see dstbench correlate"
    blocks = [
        *(Block(*section, charts[key]) for key, section in figures),
        *_wide("Scores by turn, run by run", page.by_turn, charts["scores_by_turn"]),
        _table(title, page.correlations.matrix, schema.CORRELATIONS, ["run", "first", "second"], plain("r", "n"),
               chart=charts["correlations"]),
        *(Block(f"{title.replace(trait, name_of(trait).lower())} (Aksu & Chen 2024, Fig 1)", table, of_traits[trait])
          for trait, (title, table) in zip(traits, sections, strict=False)),
        *([Block("Mean scores by both traits (Aksu & Chen 2024, Fig 1c)", chart=both)] if both else []),
        *(Block(title, table) for title, table in sections[len(traits) :]
          if is_single or title.startswith((f"{POOLED}:", "Differences"))),
    ]  # fmt: skip
    signatures = pl.concat([page.correlations.signatures, page.traits.signatures], how="diagonal")
    lead = "The figures of Kim et al. 2022 and of Aksu & Chen 2024 for these runs."
    return Chapter(
        "papers", "Figures of the papers", lead, blocks, signature_lines(signatures.unique(maintain_order=True))
    )


def _unit(rows: pl.DataFrame) -> str:
    """The unit of scores, in words."""
    return units_of(rows).replace("scores in %", "in percent")


def _standings(title: str, scores: pl.DataFrame, name: str, differences: pl.DataFrame, **block: Any) -> Block:
    """A row per run, numbered, with values and intervals in a column per metric; of one run, a row per metric."""
    runs = best_first(scores, name).select(pl.col(name).unique(maintain_order=True)).with_row_index("no.", offset=1)
    interval = (
        pl.when(pl.col("low").is_not_null()).then(text_of(" ({low:score} to {high:score})")).otherwise(pl.lit(""))
    )
    rows, cells = with_names(scores.with_columns(cell=text_of("{value:score}") + interval)), {"{}": "{cell}"}
    if runs.height == 1:
        return _table(title, rows, schema.STANDINGS, ["metric"], cells, name, folded=False, badged=True, **block)
    keys = [name, "no."]
    if differences.height and sign_of(scores["metric"][0]):
        worse = dict(beaten(differences, runs.rename({name: "run"})).select("run", "no.").iter_rows())
        runs = runs.with_columns(pl.Series("beats significantly", [_spans(worse.get(run, [])) for run in runs[name]]))
        keys.append("beats significantly")
    rows = runs.join(rows, on=name, maintain_order="left_right")
    return _table(title, rows, schema.STANDINGS, keys, cells, "metric", folded=False, badged=True, **block)


def _spans(places: list[int]) -> str:
    """Sorted numbers as text, with consecutive ones as spans: 2, 4–7; a dash for none."""
    starts = [place for place in places if place - 1 not in places]
    ends = [place for place in places if place + 1 not in places]
    spans = (f"{a}" if a == b else f"{a}\N{EN DASH}{b}" for a, b in zip(starts, ends, strict=True))
    return ", ".join(spans) or UNDEFINED


def _wide(title: str, scores: pl.DataFrame, chart: Chart | None = None) -> list[Block]:
    """Scores with a column per metric, if there are any."""
    return [Block(title, table, chart) for _, table in layout_of({"scores": scores}).sections]


def render_markdown(page: Report) -> str:
    """The findings and the chapters' tables as Markdown."""
    parts = [f"# {escape_lines([_title(page)], 'md')}", escape_lines([OwnLines(page.note)], "md") if page.note else ""]
    parts.append("".join(f"- {escape_lines([finding.text], 'md')}" for finding in page.findings))
    for chapter in chapters_of(page):
        parts.append(f"## {chapter.title}\n\n{chapter.lead}\n")
        parts += [f"### {escape_lines([block.title], 'md')}\n{draw(block.table, 'md')}"
                  for block in chapter.blocks if block.table is not None]  # fmt: skip
        parts.append(escape_lines(chapter.below, "md"))
    if page.notes:
        parts.append("## Notes\n\n" + "".join(f"- {escape_lines([note], 'md')}" for note in page.notes))
    return "\n".join(part for part in parts if part)


def render_html(page: Report, *, dialogues: bool = True) -> str:
    """A report as an HTML document, perhaps without its dialogues."""
    from dstbench.rendering.charts.draw import LIGHT, draw_on_page  # Altair: only where something is drawn

    chapters = {chapter.name: chapter for chapter in chapters_of(page)}
    titles = {name: chapter.title for name, chapter in chapters.items()} | {"glossary": "Glossary"}
    titles |= ({"dialogues": "Dialogues"} if dialogues else {}) | ({"notes": "Notes"} if page.notes else {})
    content, scores = page.explorer.content, page.leaderboard.scores
    classes = {metric: find_metric(metric.partition(":")[0]) for metric in scores["metric"].unique(maintain_order=True)}
    meanings = {name_of(metric): f"{kind.title} ({metric}); {kind.source}" for metric, kind in classes.items() if kind}
    style, script = f"{LIGHT}\n{_file('page.css')}", "\n".join(map(_file, ["page.js", "dialogues.js"][: 1 + dialogues]))
    gold = page.checks.filter(check=GOLD)["found"].to_list()  # of each run; they may spell it in several ways
    is_one = len(gold) == len(content["runs"]) and len({*gold}) == 1
    return rendered(
        "page.html",
        page=page,
        content=content,
        title=_title(page),
        facts=[
            number_of(len(content["runs"]), "run"), sizes_of(scores), *([f"gold: {gold[0]}"] if is_one else []),
            f"profile {parse(scores['signature'].item(0)).settings['profile']}", f"dstbench {__version__}",
        ],
        meanings=meanings,
        badges={run: [badge[1:] for badge in of_run] for run, of_run in badges(page.checks).items()},
        chapters=chapters,
        titles={name: titles[name] for name in _ORDER if name in titles},
        data=json_text({**content, "names": {name: name_of(name) for name in (*content["metrics"], *content["traits"])}}
                       if dialogues else None),
        policy=markup(
            "default-src 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
            f"trusted-types 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
        ),
        style=markup(style),
        script=markup(script),
        drawn=draw_on_page,
        latex=lambda block: latex_page([block.paper or PaperTable(block.table, f"{block.title}.", "tab:report")]),
        longest_table=_LONGEST_TABLE,
    )  # fmt: skip


def _title(page: Report) -> str:
    """The author's title, or what the page compares."""
    if page.title != TITLE:
        return page.title
    names = page.explorer.content["runs"]
    return f"{first_of(names, _NAMED)}: dialogue state tracking{' compared' * (len(names) > 1)}"


def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
