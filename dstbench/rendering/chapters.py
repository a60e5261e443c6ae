"""The chapters of a report: introductory sentences, the tables that commands print, and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from dstbench.rendering.charts import same_gold, with_middles
from dstbench.rendering.compare import leaderboard_page
from dstbench.rendering.diagnose import diagnosis_page, traits_page
from dstbench.rendering.report_page import Block, Chapter
from dstbench.rendering.scores import sweep_page, wide
from dstbench.rendering.svg import heat_maps, histograms, intervals, lines, ranked
from dstbench.rendering.tables import UNDEFINED, signature_lines, texts, value_text

if TYPE_CHECKING:
    from dstbench.analysis.compare import Leaderboard
    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.diagnose import Diagnosis
    from dstbench.analysis.traits import Traits


def leaderboard_chapter(leaderboard: Leaderboard) -> Chapter:
    """Scores with intervals, and which runs are significantly better than which others."""
    page = leaderboard_page(leaderboard)
    (title, standings), *others = page.sections
    metrics = leaderboard.scores["metric"].unique(maintain_order=True).to_list()
    lead, better = "Each run's scores with their intervals.", []
    if leaderboard.differences.height:
        lead += (
            f" Runs are ordered by {metrics[0]}; better than places: the places of runs that are significantly worse."
        )
        better = [_better_than(standings["run"].to_list(), leaderboard, metrics[0])]
    places = pl.int_range(1, pl.len() + 1).cast(pl.String).alias("place")
    # Value and interval in one cell, which breaks between the two, not in the interval.
    columns = zip(standings.columns[1::2], standings.columns[2::2], strict=True)
    scores = [
        pl.format("{} ({})", value, pl.col(interval).str.replace_all(" ", "\N{NO-BREAK SPACE}")).alias(value)
        for value, interval in columns
    ]
    numbers = leaderboard.scores.select("run", "metric", *map(value_text, ("value", "low", "high")))
    blocks = [
        Block(title, standings.select(places, "run", *better, *scores)),
        Block("Scores and intervals, by metric", numbers, intervals(leaderboard.scores)),
        *(Block(name, table, folded=number > 0) for number, (name, table) in enumerate(others)),
    ]
    return Chapter("scores", "Leaderboard", lead, blocks, page.below)


def _better_than(order: list[str], leaderboard: Leaderboard, metric: str) -> pl.Series:
    """For each run, the places of the runs that are significantly worse."""
    beaten: dict[str, list[int]] = {run: [] for run in order}
    significant = leaderboard.differences.filter(pl.col("significant").fill_null(False), metric=metric)
    for run, other, difference in significant.select("run", "other", "difference").iter_rows():
        better, worse = (run, other) if difference > 0 else (other, run)
        beaten[better].append(order.index(worse) + 1)
    cells = [", ".join(map(str, sorted(places))) or UNDEFINED for places in beaten.values()]
    return pl.Series("better than places", cells)


def parts_chapter(by_domain: pl.DataFrame, by_slot: pl.DataFrame) -> Chapter:
    """Scores per domain and per slot."""
    lead = (
        "By domain: states are restricted to the domain, and only turns with a gold slot of it count. By slot: all "
        "turns count, and a slot in neither gold nor prediction is correct."
    )
    blocks = [
        Block("Scores by domain, in percent", wide(by_domain)),
        Block("Scores by slot, in percent; counts as they are", wide(by_slot)),
    ]
    signatures = signature_lines(pl.concat([by_domain, by_slot], how="diagonal"))
    return Chapter("parts", "Domains and slots", lead, blocks, signatures)


def diagnosis_chapters(diagnosis: Diagnosis, by_turn: pl.DataFrame) -> list[Chapter]:
    """Where runs fail, and how: Kim et al. 2022, Figs 1 and 2, scores by turn, and kinds of errors."""
    page = diagnosis_page(diagnosis)
    runs, failures, slots, turns, lengths, classes, *groups = page.sections
    first_failures = histograms(
        diagnosis.first_failures, "low", 0.1, "first wrong turn, as a share of the dialogue", "recovered"
    )
    gold = diagnosis.gold_slots
    if same_gold(gold):
        gold = gold.filter(run=gold["run"][0]).with_columns(run=pl.lit("gold"))
    wrong = diagnosis.errors.filter((pl.col("kind") != "correct") & (pl.col("n") > 0))
    places = [
        Block(*runs),
        Block(*failures, first_failures, lead="Darker: dialogues that are right again in between."),
        Block(*slots, histograms(gold, "n_gold_max", 1, "gold slots")),
        Block(*turns, lines(diagnosis.by_turn, "turn", "run", "turn")),
        Block(*lengths, lines(diagnosis.by_length, "length", "run", "turns of the dialogue")),
        Block("Scores by turn, run by run", wide(by_turn), lines(by_turn, "turn", "metric", "turn", panels="run")),
    ]
    kinds = [Block(*classes, ranked(wrong, "class", "n", "kind")), *(Block(*section) for section in groups)]
    where = "A dialogue fails if its last turn is wrong. Errors persist, so the first wrong turn matters most."
    how = (
        "Each slot that gold or the prediction has in a turn is in one class. Fresh: the value is new in this turn; "
        "stale: it is carried over from the turn before."
    )
    return [
        Chapter("failures", "Where runs fail", where, places, page.below),
        Chapter("errors", "Kinds of errors", how, kinds),
    ]


def traits_chapter(traits: Traits) -> Chapter:
    """Mean scores by tail orientation and non-uniformity: Aksu & Chen 2024, Fig 1."""
    page = traits_page(traits)
    blocks: list[Block] = []
    bins_of_traits = with_middles(traits.bins).with_columns(pl.col("middle").round(4))
    for (trait,), bins in bins_of_traits.group_by("trait", maintain_order=True):
        title, table = page.sections[len(blocks)]
        figure = lines(bins, "middle", "metric", str(trait), panels="run")
        blocks.append(Block(f"{title} (Aksu & Chen 2024, Fig 1)", table, figure))
    blocks += [Block(title, table, folded=True) for title, table in page.sections[len(blocks) :]]
    lead = (
        "Tail orientation (to_mean): how late in a dialogue its mistakes are. Non-uniformity (nu_paper): how unevenly "
        "they are spread. A metric that correlates with either rewards something else than good tracking."
    )
    return Chapter("traits", "Traits of dialogues", lead, blocks, page.below)


def correlations_chapter(correlations: Correlations) -> Chapter:
    """Correlations over turns: Kim et al. 2022, Figs 3 and A1."""
    matrix, r = correlations.matrix, pl.col("r").round(3).cast(pl.String).fill_null(UNDEFINED)
    table = matrix.select("run", "first", "second", r, *texts("n"))
    title = "Correlations of metrics over turns (Kim et al. 2022, Figs 3 and A1)"
    lead = "Pearson's r. Turns of a dialogue are not independent: for intervals, see `dstbench correlate`."
    signatures = signature_lines(correlations.signatures)
    return Chapter("correlations", "Correlations", lead, [Block(title, table, heat_maps(matrix))], signatures)


def sweep_chapter(rows: pl.DataFrame) -> Chapter:
    """The same predictions under every profile that suits them."""
    lead = "The same predictions, scored as different repositories do: lines differ only in the convention."
    return Chapter("conventions", "Conventions", lead, [Block(*section) for section in sweep_page(rows).sections])
