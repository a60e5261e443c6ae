"""What a report is made of: chapters of tables and figures, from the records of the functions that compute them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from dstbench.rendering.compare import leaderboard_page
from dstbench.rendering.diagnose import correlations_page, diagnosis_page, traits_page
from dstbench.rendering.page import Block, Chapter
from dstbench.rendering.svg import heat_maps, histograms, intervals, lines, ranked
from dstbench.rendering.tables import IS_COUNT, signature_lines, sweep_page, value_text, wide

if TYPE_CHECKING:
    from dstbench.analysis.compare import Leaderboard
    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.diagnose import Diagnosis
    from dstbench.analysis.traits import Traits


def leaderboard_chapter(found: Leaderboard) -> Chapter:
    """Scores with intervals, and which are significantly better than which."""
    ((title, standings), *others), below = leaderboard_page(found)
    metrics = found.scores["metric"].unique(maintain_order=True).to_list()
    lead = "Each run's scores, with their intervals. "
    marks = []
    if found.differences.height:
        lead += f"The order, and which runs are significantly better than which, is by {metrics[0]}."
        marks = [_better_than(standings["run"].to_list(), found, metrics[0])]
    places = pl.int_range(1, pl.len() + 1).cast(pl.String).alias("place")
    # A cell breaks before its interval, not in it.
    limits = [pl.nth(2 * number + 2).str.replace_all(" ", "\N{NO-BREAK SPACE}") for number in range(len(metrics))]
    scores = [pl.format("{} ({})", metric, limit).alias(metric) for metric, limit in zip(metrics, limits, strict=True)]
    numbers = found.scores.select(
        "run", "metric", *(value_text(name, is_count=IS_COUNT) for name in ("value", "low", "high"))
    )
    blocks = [
        Block(title, standings.select(places, "run", *marks, *scores)),
        Block("Scores and intervals, by metric", numbers, intervals(found.scores)),
        *(Block(name, table, folded=number > 0) for number, (name, table) in enumerate(others)),
    ]
    return Chapter("scores", "Leaderboard", lead, blocks, below)


def _better_than(order: list[str], found: Leaderboard, metric: str) -> pl.Series:
    """Of each run: the places of those that it is significantly better than."""
    beaten: dict[str, list[int]] = {run: [] for run in order}
    known = found.differences.filter(pl.col("significant").fill_null(False), metric=metric)
    for run, other, difference in known.select("run", "other", "difference").iter_rows():
        better, worse = (run, other) if difference > 0 else (other, run)
        beaten[better].append(order.index(worse) + 1)
    return pl.Series("better than places", [", ".join(map(str, sorted(places))) or "-" for places in beaten.values()])


def parts_chapter(by_domain: pl.DataFrame, by_slot: pl.DataFrame) -> Chapter:
    """Scores per domain and per slot."""
    blocks = [
        Block("Scores by domain, in percent", wide(by_domain)),
        Block("Scores by slot, in percent; counts as they are", wide(by_slot)),
    ]
    lead = (
        "By domain, states are restricted to the domain, and the turns count whose gold has a slot of it. By slot all "
        "turns count, and a slot that neither side has is right."
    )
    return Chapter(
        "parts", "Domains and slots", lead, blocks, signature_lines(pl.concat([by_domain, by_slot], how="diagonal"))
    )


def diagnosis_chapters(found: Diagnosis, by_turn: pl.DataFrame) -> list[Chapter]:
    """Where runs fail, and how: Kim et al. 2022, Figs 1 and 2, scores by turn, and kinds of errors."""
    tables, below = diagnosis_page(found)
    runs, failures, slots, turns, lengths, *errors = (Block(title, table) for title, table in tables)
    first = histograms(found.first_failures, "low", 0.1, "first wrong turn, as a share of the dialogue", "recovered")
    gold = found.gold_slots
    same = gold.group_by("run", maintain_order=True).agg(pl.struct("n_gold_max", "dialogues"))
    if same.select(pl.exclude("run")).to_series().n_unique() == 1:  # all runs have one gold
        gold = gold.filter(run=gold["run"][0]).with_columns(run=pl.lit("gold"))
    numbers = "turns of the dialogue"
    places = [
        runs,
        Block("First wrong turn of dialogues that fail (Kim et al. 2022, Fig 1)", failures.table, first,
              lead="Darker: those that are right again in between."),
        Block("Largest number of gold slots in a turn (Kim et al. 2022, Fig 2)", slots.table,
              histograms(gold, "n_gold_max", 1, "gold slots")),
        Block("JGA by turn", turns.table, lines(found.by_turn, "turn", "run", "turn")),
        Block("JGA by number of turns", lengths.table, lines(found.by_length, "length", "run", numbers)),
        Block("Scores by turn, run by run", wide(by_turn), lines(by_turn, "turn", "metric", "turn", panels="run")),
    ]  # fmt: skip
    lead = "A dialogue fails if its last turn is wrong; errors persist, so that when it first goes wrong says most."
    kinds = (
        "Every slot of every turn that gold or prediction has is in one class. Fresh: a value is new in this turn; "
        "stale: carried over from the turn before."
    )
    wrong = found.errors.filter((pl.col("kind") != "correct") & (pl.col("n") > 0))
    errors[0] = replace(errors[0], figure=ranked(wrong, "class", "n", "kind"))
    return [
        Chapter("failures", "Where runs fail", lead, places, below),
        Chapter("errors", "Kinds of errors", kinds, errors),
    ]


def traits_chapter(found: Traits) -> Chapter:
    """Mean scores by tail orientation and non-uniformity: Aksu & Chen 2024, Fig 1."""
    tables, below = traits_page(found)
    bins = found.bins.with_columns(middle=((pl.col("low") + pl.col("high")) / 2).round(4))
    blocks: list[Block] = []
    for trait in bins["trait"].unique(maintain_order=True):
        title, texts = tables[len(blocks)]
        figure = lines(bins.filter(trait=trait), "middle", "metric", trait, panels="run")
        blocks.append(Block(f"{title} (Aksu & Chen 2024, Fig 1)", texts, figure))
    blocks += [Block(title, texts, folded=True) for title, texts in tables[len(blocks) :]]
    lead = (
        "Tail orientation (to_mean): how late in a dialogue its mistakes are. Non-uniformity (nu_paper): how unevenly "
        "they spread. A metric that goes with either rewards what is no quality of a tracker."
    )
    return Chapter("traits", "Traits of dialogues", lead, blocks, below)


def correlations_chapter(found: Correlations) -> Chapter:
    """Correlations over turns: Kim et al. 2022, Figs 3 and A1."""
    columns = ("run", "first", "second", "r", "n")
    texts = found.matrix.select(
        pl.col(name).round(3).cast(pl.String).fill_null("-") if name == "r" else pl.col(name).cast(pl.String)
        for name in columns
    )
    title = "Correlations of metrics over turns (Kim et al. 2022, Figs 3 and A1)"
    lead = (
        "Pearson's r. Turns of one dialogue are alike, so that no intervals are given here; see `dstbench correlate`."
    )
    below = correlations_page(found)[1]
    return Chapter(
        "correlations",
        "Correlations",
        lead,
        [Block(title, texts, heat_maps(found.matrix))],
        [line for line in below if line.startswith("signature")],
    )


def sweep_chapter(rows: pl.DataFrame) -> Chapter:
    """The same predictions under every convention that suits them."""
    lead = (
        "The same predictions, scored as other repositories score: what differs between lines is the convention alone."
    )
    return Chapter("conventions", "Conventions", lead, [Block(told, texts) for told, texts in sweep_page(rows)[0]])
