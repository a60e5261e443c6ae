"""Columns and types of the tables of a comparison of runs; those of all others are in `schema`."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.schema import SCORES, Column, Table

_TEXT, _COUNT, _NUMBER = pl.String(), pl.UInt32(), pl.Float64()
_METRIC: Final = {name: SCORES.columns[name] for name in ("metric", "unit")}
# What resampling says of a value or a difference.
_RESAMPLED: Final = {
    "se": Column(_NUMBER, "Standard deviation over the bootstrap's resamples; null: undefined.", nullable=True),
    "low": Column(_NUMBER, "Lower end of its percentile interval; null: undefined.", nullable=True),
    "high": Column(_NUMBER, "Upper end, likewise.", nullable=True),
    "undefined": Column(_COUNT, "Resamples that are left out of these, as it is undefined there."),
}
_BCA: Final = {
    "bca_low": Column(
        _NUMBER, "Lower end of the interval corrected for bias and acceleration; null: undefined.", nullable=True
    ),
    "bca_high": Column(_NUMBER, "Upper end, likewise.", nullable=True),
}

STANDINGS: Final = Table(
    "standings",
    "One row per (run, metric): scores, and how sure they are.",
    {
        **{name: SCORES.columns[name] for name in ("run", "metric", "unit", "value")},
        **_RESAMPLED,
        **_BCA,
        **{name: SCORES.columns[name] for name in ("turns", "dialogues", "signature")},
    },
)

MODELS: Final = Table(
    "models",
    "One row per (metric, model): mean scores over a model's runs (seeds), and how sure they are.",
    {
        **_METRIC,
        "model": Column(_TEXT, "Name of the model; of a run that no model names, that of the run."),
        "runs": Column(_COUNT, "How many runs it has."),
        "value": Column(_NUMBER, "Mean of its runs' scores; null: one of them is undefined.", nullable=True),
        "sd": Column(_NUMBER, "Their standard deviation (n - 1); null: a single run, or as above.", nullable=True),
        **_RESAMPLED,
    },
)

DIFFERENCES: Final = Table(
    "differences of runs",
    "One row per (metric, pair of runs, or of models if such were named): how far apart, and could it be chance?",
    {
        **_METRIC,
        "run": Column(_TEXT, "Name of the run, or of the model."),
        "other": Column(_TEXT, "Name of the other; of the baseline, if there is one."),
        "difference": Column(_NUMBER, "Value of run less value of other; null: undefined.", nullable=True),
        **_RESAMPLED,
        **_BCA,
        "p": Column(_NUMBER, "Two-sided p that there is no difference; null: undefined.", nullable=True),
        "p_adjusted": Column(_NUMBER, "The same, adjusted for m.", nullable=True),
        "adjustment": Column(_TEXT, "How: holm, hochberg, bh, by, bonferroni, max-t, none."),
        "m": Column(_COUNT, "How many differences of the metric have a p."),
        "p_smallest": Column(
            _NUMBER,
            "The smallest p_adjusted that so many resamples of these runs can give; null: undefined.",
            nullable=True,
        ),
        "resamples_needed": Column(
            pl.UInt64(),
            "The fewest resamples with which p_adjusted can be at most 1 - level; null: no number is enough, or it is "
            "undefined.",
            nullable=True,
        ),
        "significant": Column(
            pl.Boolean(),
            "Whether p_adjusted is at most 1 - level; null: undefined, or p_smallest is above it: nothing was tested.",
            nullable=True,
        ),
        "wins": Column(_COUNT, "Dialogues in which run scores higher; null between models.", nullable=True),
        "ties": Column(_COUNT, "Dialogues in which both score the same; likewise.", nullable=True),
        "losses": Column(_COUNT, "Dialogues in which other scores higher; likewise.", nullable=True),
        "unscored": Column(_COUNT, "Dialogues in which either has no score; likewise.", nullable=True),
        "discordant": Column(
            _COUNT,
            "Dialogues whose counts for the metric differ: those that a swap changes; likewise.",
            nullable=True,
        ),
        "detectable": Column(
            _NUMBER, "2.8 se: what one test at 5 % finds in 80 of 100 cases; null: undefined.", nullable=True
        ),
    },
)

DESIGN: Final = Table(
    "design",
    "One row: how the comparison was made.",
    {
        "dialogues": Column(_COUNT, "Dialogues that are resampled."),
        "resamples": Column(_COUNT, "How often, and how often runs are swapped."),
        "seed": Column(pl.UInt64(), "What the draws come from."),
        "level": Column(_NUMBER, "Level of the intervals; 1 - level is that of the tests."),
        "test": Column(_TEXT, "Approximate randomisation of dialogues, or bootstrap of seeds and dialogues."),
        "adjustment": Column(_TEXT, "How p are adjusted for the number of differences of a metric."),
        "baseline": Column(_TEXT, "What all others are compared to; null: all pairs.", nullable=True),
    },
)

#: By the name of their schema's file.
TABLES: Final = {
    "standings": STANDINGS,
    "models": MODELS,
    "run_differences": DIFFERENCES,
    "design": DESIGN,
}
