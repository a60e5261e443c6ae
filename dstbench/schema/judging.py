"""Columns and types of the tables that judge metrics: side by side over runs, and by what one error costs."""

from __future__ import annotations

from typing import Final

from dstbench.schema.core import (
    SCORES,
    Table,
    count,
    decimal,
    flag,
    interval,
    large,
    number,
    r,
    ratio,
    score,
    share,
    text,
)

# --- metrics side by side ---------------------------------------------------------------------------------------------

SPREAD: Final = Table(
    "spread of metrics",
    "One row per metric: how far it spreads the runs (Kim et al. 2022, Fig 4).",
    **SCORES.only("metric", "unit"),
    runs=count("Number of runs that have a score."),
    mean=score("Mean of their scores; null: no run has one."),
    sd=score("Standard deviation over the runs (n - 1); null: fewer than two have a score."),
    lowest=score("The lowest score; null as `mean`.", nullable=True),
    highest=score("The highest score; null as `mean`.", nullable=True),
    range=score("highest minus lowest; null as `sd`.", nullable=True),
    se=score("Mean standard error of a run's score, over dialogues; null: unknown."),
    signal_to_noise=ratio(
        "sd divided by the mean standard error of two runs' paired difference, over the root of 2; null: one of them "
        "is unknown, or the error is 0."
    ),
)

POWER: Final = Table(
    "discriminative power",
    "One row per metric: how many pairs of runs a test of its differences tells apart (Sakai 2006).",
    **SCORES.only("metric", "unit"),
    pairs=count("Pairs of runs that have a p."),
    apart=count("Of these: p is at most 1 - level."),
    apart_adjusted=count("Of these: p adjusted for their number is at most 1 - level."),
    untestable=count("Of these: too few resamples, or dialogues that differ, for the adjusted p to be so small."),
    power=share(
        "apart / pairs; null: no pair, or too few resamples, or dialogues that differ, for any p to be so small."
    ),
    low=share("Lower end of the interval of `power` over dialogues; null: undefined.", nullable=True),
    high=share("Upper end, likewise. At an end of the scale the interval is one-sided.", nullable=True),
    power_adjusted=share("apart_adjusted / pairs; likewise with adjusted p.", nullable=True),
    adjustment=text("How p is adjusted."),
    median_detectable=score(
        "The difference that the test finds in 80 % of cases (`detectable` of the differences), median over the pairs; "
        "null: undefined."
    ),
)

RANK_AGREEMENT: Final = Table(
    "agreement of orders",
    "One row per pair of metrics: how similarly they rank the runs.",
    first=text("A metric."),
    second=text("Another one."),
    runs=count("Number of runs that both have a score for."),
    tau=decimal("Kendall's tau-b; null: one of them ties all runs."),
    **interval(
        decimal,
        "Lower end of its percentile interval, by resampling dialogues, corrected for the noise in orders; null: tau "
        "is null, none are drawn, tau is undefined in more than 5 % of the resamples, or their orders are too unlike "
        "the observed ones (the two metrics' mean tau with these, multiplied, is below .6).",
    ),
    undefined=count("Resamples left out because tau is undefined in them; null: none are drawn."),
    reversed=count("Pairs of runs that they rank in opposite orders."),
    reversed_surely=count("Of these: significant, by adjusted p, in both metrics; null: not tested."),
    level=number("Confidence level of the interval; null: there is none."),
)

REVERSALS: Final = Table(
    "reversed pairs",
    "One row per (pair of metrics, pair of runs that they rank in opposite orders).",
    **RANK_AGREEMENT.only("first", "second"),
    run=text("The run that is better by `first`."),
    other=text("The run that is better by `second`."),
    difference_first=score("Score of run minus score of other, by `first`."),
    difference_second=score("The same by `second`."),
    significant=flag("Both differences are significant, by adjusted p; null: not tested.", nullable=True),
)

DEPENDENCE: Final = Table(
    "dependence on traits",
    "One row per (metric, trait): Pearson's correlation over the dialogues of all runs.",
    **SCORES.only("metric"),
    trait=text("A column of the dialogues' table: turns, n_gold_max, to_mean, nu_paper."),
    r=decimal("Their correlation; null: one of them does not vary."),
    n=count("Dialogues of runs in which both are defined: a dialogue counts once for each run."),
    **interval(
        decimal,
        "Lower end of its interval over dialogues (jackknife: each left out in turn in all runs); null: r is null, "
        "fewer than 4 dialogues have both, or one of them varies in one dialogue only.",
    ),
    partial=decimal(
        "Their correlation given the dialogue's numbers of mistakes and turns (those that the trait is not); null: one "
        "of them does not vary then."
    ),
    **interval(decimal, "Lower end of its interval over dialogues, likewise; null: undefined.", "partial_"),
    level=number("Confidence level of the interval."),
)

# --- what one error costs ---------------------------------------------------------------------------------------------

_OF_KIND: Final = {"kind": text("Kind of error: missed, wrong, late, dropped, over or swap."), **SCORES.only("metric")}
_OVER_DIALOGUES: Final = {
    "low": share("Lower end of its confidence interval over dialogues; null: undefined."),
    "high": share("Upper end, likewise.", nullable=True),
    "level": number("Confidence level of the interval."),
    "errors": count("Number of errors that it is computed over."),
    "dialogues": count("Dialogues that have them."),
}

ERROR_COSTS: Final = Table(
    "costs of errors",
    "One row per (kind, metric, bin): what one error costs, by the position t/(n - 1) of its change of gold.",
    **_OF_KIND,
    bin=count("Number of the bin, from 0."),
    start=share("Lower end of the bin: the position is more than this (in the first bin, at least this)."),
    end=share("Upper end of the bin: the position is at most this."),
    loss=share("Mean of the score of gold less the score with the error, by dialogue; null: no error."),
    **_OVER_DIALOGUES,
)

POSITION_BIAS: Final = Table(
    "position bias",
    "One row per (kind, metric): how much more an error costs in the last turn than in the first of the same dialogue.",
    **_OF_KIND,
    loss=share("Mean loss at all positions; null: no error."),
    bias=share("Slope of the loss on the position, within dialogues; null: no dialogue has errors in two turns."),
    relative=r("bias / loss; null: either is, or the loss is 0."),
    blind=share("The share of errors that change nothing; null: no error."),
    **_OVER_DIALOGUES,
    undefined=count("Errors left out because the score is undefined."),
)

ERROR_KINDS: Final = Table(
    "errors that were made",
    "One row per kind of error.",
    kind=_OF_KIND["kind"],
    changes=count("Changes of gold."),
    single=count("Of these: in dialogues of one turn, which are left out."),
    possible=count("Of the others: those that can have such an error."),
    sample=count("Number that was to be drawn in each dialogue; null: all."),
    seed=large("Random seed of the draws; null: all."),
    errors=count("Of these: those that were drawn, or all."),
)
