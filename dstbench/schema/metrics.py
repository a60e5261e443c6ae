"""Columns and types of the tables that say how surely metrics order runs, and how they order runs of a known order."""

from __future__ import annotations

from typing import Final

from dstbench.schema.core import SCORES, Table, count, decimal, interval, number, p, r, share, text
from dstbench.schema.judging import ERROR_COSTS, ERROR_KINDS, POSITION_BIAS

_INTERVAL: Final = {
    **interval(r, "Lower end of its interval over dialogues, one-sided at an end of the scale; null: undefined."),
    "level": number("Confidence level of the interval."),
}

KNOWN_ORDER: Final = Table(
    "known order",
    "One row per run: the number along which runs are ordered.",
    run=text("Name of the run."),
    along=text("What the number is."),
    number=number("The number; higher is taken to be better."),
)

VALIDITY: Final = Table(
    "agreement with the known order",
    "One row per (metric, measure): how a metric orders runs whose order is known.",
    **SCORES.only("metric"),
    along=text("What the runs are ordered along."),
    measure=text(
        "tau: Kendall's tau-b; somers_d: Somers' d over pairs with an order; accuracy: the share of these that the "
        "metric orders so (Kocmi et al. 2021); soft_accuracy: the same, each pair counted by how surely: 1 less the "
        "one-sided p of the order (Thompson et al. 2024)."
    ),
    runs=count("Runs that have a score."),
    pairs=count("Pairs of runs that have an order and scores."),
    value=r("The measure; null: undefined.", nullable=True),
    **_INTERVAL,
)

RELIABILITY: Final = Table(
    "reliability of metrics",
    "One row per metric: how alike two random halves of the dialogues order the runs (Buckley & Voorhees 2000).",
    **SCORES.only("metric"),
    pairs=count("Pairs of runs that have scores."),
    swap_rate=share(
        "Share of pairs that the halves order otherwise, mean over halves; ties count half.", nullable=True
    ),
    **_INTERVAL,
    tau_halves=decimal("Kendall's tau-b of the two halves' orders, mean over halves; null: undefined.", nullable=True),
    tau_full=decimal(
        "The same for two test sets of as many dialogues as there are, by Spearman and Brown's formula; null: "
        "undefined, or the halves do not agree.",
        nullable=True,
    ),
    halves=count("Number of random halves."),
)

SAMPLE_SIZES: Final = Table(
    "orders by number of dialogues",
    "One row per (metric, number of dialogues): how well so many dialogues stand for all.",
    **SCORES.only("metric"),
    dialogues=count("Dialogues in a random sample."),
    alike=share("Share of pairs of runs that a sample orders as all dialogues do, mean over samples; ties count half."),
)

CONTESTS: Final = Table(
    "metrics compared",
    "One row per (measure, pair of metrics): which is better, and whether that may be chance.",
    measure=text("soft_accuracy, swap_rate, or power: the share of pairs of runs with p at most 1 - level."),
    first=text("A metric."),
    second=text("Another one."),
    difference=r("The measure of the first minus that of the second; null: undefined.", nullable=True),
    **_INTERVAL,
    p=p("Two-sided p of the difference, by resampling dialogues; null: undefined.", nullable=True),
    p_adjusted=p("p adjusted by Holm for the pairs of metrics in this measure.", nullable=True),
)

_WAY: Final = {
    "way": text("put in: errors are put into the run's right values; mended: the run's errors are mended, and the loss "
                "is what it gains.")
}  # fmt: skip
OWN_ERROR_COSTS: Final = Table(
    "costs of errors in a run",
    f"As `{ERROR_COSTS.title}`, in a run's own predictions: one row per (way, kind, metric, bin).",
    **_WAY,
    **ERROR_COSTS.columns,
)

OWN_POSITION_BIAS: Final = Table(
    "position bias in a run",
    f"As `{POSITION_BIAS.title}`, in a run's own predictions: one row per (way, kind, metric).",
    **_WAY,
    **POSITION_BIAS.columns,
)

OWN_ERROR_KINDS: Final = Table(
    "errors in a run",
    f"As `{ERROR_KINDS.title}`, in a run's own predictions: one row per (way, kind).",
    **_WAY,
    **ERROR_KINDS.columns,
)
