"""Columns and types of the tables of analyses: dialogues, errors, traits, correlations, comparisons, single turns."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.schema.core import LONG, SCORES, TURNS, Column, Table

_TEXT, _DICTIONARY, _COUNT, _NUMBER = pl.String(), pl.Categorical(), pl.UInt32(), pl.Float64()
_LARGE: Final = pl.UInt64()
_RUN: Final = SCORES.columns["run"]

DIALOGUES: Final = Table(
    "dialogues",
    "One row per (run, dialogue): when it fails, how much is in it, where its mistakes are. Turns are those that the "
    "convention scores, numbered from 0 without gaps. Beside these there is a column per metric. "
    "Sorted by (run, dialogue).",
    {
        "run": _RUN,
        "dialogue": LONG.columns["dialogue"],
        "turns": Column(_COUNT, "Turns, n."),
        "wrong_turns": Column(_COUNT, "Turns with JGA 0."),
        "ends_wrong": Column(pl.Boolean(), "Whether the last turn has JGA 0."),
        "first_wrong": Column(_COUNT, "The first turn with JGA 0; null: there is none.", nullable=True),
        "first_failure": Column(_NUMBER, "first_wrong / n, where the last turn has JGA 0; else null.", nullable=True),
        "first_failure_bin": Column(_COUNT, "The tenth in which it lies, from 0 to 9; likewise.", nullable=True),
        "recovered": Column(pl.Boolean(), "Whether a turn after the first failure has JGA 1; likewise.", nullable=True),
        "n_gold_max": Column(_COUNT, "The largest number of gold slots in a turn."),
        "mistakes": Column(_COUNT, "Wrong, missed and over-predicted changes, as the GCA authors' code counts them."),
        "to_mean": Column(
            _NUMBER, "Tail orientation: mean place of mistakes, 0 to 1; null: no mistake.", nullable=True
        ),
        "to_sum": Column(_NUMBER, "The same, as the paper's formula is printed; null: no mistake.", nullable=True),
        "to_released": Column(_NUMBER, "The same, as the authors' code has it; 0: no mistake."),
        "nu_paper": Column(_NUMBER, "Non-uniformity: sum of squared differences of mistakes per turn to their mean."),
        "nu_released": Column(_NUMBER, "The same, absolute differences by the mean; null: no mistake.", nullable=True),
    },
    is_open=True,
)

FAILURES: Final = Table(
    "runs",
    "One row per run: how many dialogues fail, and how many have few gold slots.",
    {
        "run": _RUN,
        "turns": SCORES.columns["turns"],
        "dialogues": SCORES.columns["dialogues"],
        "failing": Column(_COUNT, "Dialogues whose last turn has JGA 0."),
        "recovered": Column(_COUNT, "Of these: with a turn of JGA 1 after the first failure."),
        "few_slots": Column(_COUNT, "k: what is few."),
        "with_few_slots": Column(_COUNT, "Dialogues with fewer than k gold slots in each of their turns."),
        "share_with_few_slots": Column(_NUMBER, "Their share; null: no dialogue.", nullable=True),
        "signature": SCORES.columns["signature"],
    },
)

FIRST_FAILURES: Final = Table(
    "first failures",
    "One row per (run, tenth of the dialogue): of the dialogues whose last turn has JGA 0, when JGA is 0 first.",
    {
        "run": _RUN,
        "bin": Column(_COUNT, "Number of the tenth, from 0."),
        "low": Column(_NUMBER, "first_wrong / n is at least this,"),
        "high": Column(_NUMBER, "and less than this."),
        "dialogues": Column(_COUNT, "Dialogues that first fail there."),
        "recovered": Column(_COUNT, "Of these: with a turn of JGA 1 after the first failure."),
    },
)

GOLD_SLOTS: Final = Table(
    "gold slots",
    "One row per (run, largest number of gold slots in a dialogue's turns).",
    {
        "run": _RUN,
        "n_gold_max": DIALOGUES.columns["n_gold_max"],
        "dialogues": Column(_COUNT, "Dialogues."),
        "share": Column(_NUMBER, "Their share of the run's."),
    },
)

ERRORS: Final = Table(
    "error classes",
    "One row per (run, class), or per (run, domain or slot, class): every slot of every scored turn that gold or "
    "prediction has is in exactly one class. By domain and by slot there is such a column after `run`; it is null for "
    "turns without a prediction (--missing wrong).",
    {
        "run": _RUN,
        "class": Column(_TEXT, "The class, by the precedence of dstbench.scoring.error_classes.CLASSES."),
        "kind": Column(_TEXT, "What it adds up to: correct, missed, wrong or over."),
        "n": Column(_LARGE, "How many slots of turns are in it."),
        "of_gold": Column(_NUMBER, "n / gold; null for over.", nullable=True),
        "of_predicted": Column(_NUMBER, "n / predicted (the precision view); null for missed.", nullable=True),
        "of_inactive": Column(_NUMBER, "n / inactive (the specificity view); null but for over.", nullable=True),
        "gold": Column(_LARGE, "Slots of turns that gold has."),
        "predicted": Column(_LARGE, "Slots of turns that the prediction has."),
        "inactive": Column(_LARGE, "Slots of turns that gold does not have; of the slots that either side ever has."),
    },
    is_open=True,
)

TRAIT_BINS: Final = Table(
    "trait bins",
    "One row per (run, trait, bin, metric): mean scores of the dialogues whose trait lies in the bin.",
    {
        "run": _RUN,
        "trait": Column(_TEXT, "The column of the dialogues' table: to_mean, nu_paper, …"),
        "bin": Column(_COUNT, "Number of the bin, from 0."),
        "low": Column(_NUMBER, "The trait is at least this,"),
        "high": Column(_NUMBER, "and less than this (in the last bin, not more)."),
        "metric": SCORES.columns["metric"],
        "value": Column(_NUMBER, "Mean of the dialogues' scores; null: none has one.", nullable=True),
        "dialogues": Column(_COUNT, "Dialogues in the bin that have a score."),
    },
)

DISAGREEMENTS: Final = Table(
    "disagreements",
    "One row per (run, metric that is higher, place): the dialogues on which two metrics differ most.",
    {
        "run": _RUN,
        "higher": Column(_TEXT, "The metric that gives the dialogue the higher score."),
        "lower": Column(_TEXT, "The other one."),
        "place": Column(_COUNT, "From 1, the strongest disagreement."),
        "dialogue": LONG.columns["dialogue"],
        "high": Column(_NUMBER, "The score by `higher`."),
        "low": Column(_NUMBER, "The score by `lower`."),
        "difference": Column(_NUMBER, "high less low."),
        "turns": DIALOGUES.columns["turns"],
        "mistakes": DIALOGUES.columns["mistakes"],
    },
)

_ROWS: Final = Column(
    _TEXT,
    "Which dialogues (turns) are taken: pairwise (those in which both columns are defined), complete (all columns), or "
    "released (as the authors of GCA took them: dstbench.analysis.traits).",
)

CORRELATIONS: Final = Table(
    "correlations",
    "One row per (run, pair of columns): Pearson correlations. Where there are several runs, the run `pooled` is all "
    "of them, one below the other.",
    {
        "run": Column(_TEXT, "Name of the run, or pooled."),
        "rows": _ROWS,
        "first": Column(_TEXT, "A metric in dstbench's notation, or a column of the dialogues' (turns') table."),
        "second": Column(_TEXT, "Another one."),
        "r": Column(_NUMBER, "Their correlation; null: one of them does not vary.", nullable=True),
        "n": Column(_COUNT, "Dialogues (turns) that it is of."),
        "low": Column(_NUMBER, "Its interval by Fisher's z; null: r is null, or n below 4.", nullable=True),
        "high": Column(_NUMBER, "As said.", nullable=True),
        "level": Column(_NUMBER, "Confidence level of the interval."),
    },
)

CORRELATION_DIFFERENCES: Final = Table(
    "differences of correlations",
    "One row per (run, two correlations), over the dialogues in which all of their columns are defined; or per (two "
    "runs, correlation). Null: they cannot be compared.",
    {
        "run": Column(_TEXT, "The run of the first correlation, or pooled."),
        "other_run": Column(_TEXT, "That of the second; the same but between runs."),
        "first": Column(_TEXT, "The columns of the first correlation, with a comma between."),
        "second": Column(_TEXT, "Those of the second."),
        "rows": _ROWS,
        "kind": Column(_TEXT, "overlapping (a column is shared), nonoverlapping, or independent (other dialogues)."),
        "r_first": Column(_NUMBER, "The first correlation.", nullable=True),
        "r_second": Column(_NUMBER, "The second.", nullable=True),
        "difference": Column(_NUMBER, "The first less the second.", nullable=True),
        "low": Column(_NUMBER, "Its interval (Zou 2007).", nullable=True),
        "high": Column(_NUMBER, "As said.", nullable=True),
        "n_first": Column(_COUNT, "Dialogues that the first is of."),
        "n_second": Column(_COUNT, "Dialogues that the second is of: the same ones but where they are independent."),
        "level": Column(_NUMBER, "Confidence level of the interval."),
    },
)

CORRELATION_TESTS: Final = Table(
    "tests of differences of correlations",
    "One row per (difference, test).",
    {
        **{name: CORRELATION_DIFFERENCES.columns[name] for name in ("run", "other_run", "first", "second")},
        "test": Column(_TEXT, "The test, by cocor's name."),
        "statistic": Column(_NUMBER, "Its statistic."),
        "df": Column(_COUNT, "Degrees of freedom of its t distribution; null: it is normal.", nullable=True),
        "p": Column(_NUMBER, "Two-sided p."),
        "low": Column(_NUMBER, "The test's own interval, of the difference of Fisher's z; null: none.", nullable=True),
        "high": Column(_NUMBER, "As said.", nullable=True),
        "level": CORRELATION_DIFFERENCES.columns["level"],
    },
)

# --- comparisons of runs ---------------------------------------------------------------------------------------------

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

RUN_DIFFERENCES: Final = Table(
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

# --- single turns and slots ------------------------------------------------------------------------------------------

SLOT_CLASSES: Final = Table(
    "slot classes",
    "One row per (run, dialogue, turn, slot) of the turns that are scored: every slot that gold or prediction has "
    "under the convention, and its class. Sorted as the long table.",
    {
        "run": SCORES.columns["run"],
        "dialogue": LONG.columns["dialogue"],
        "turn": LONG.columns["turn"],
        "domain": Column(_DICTIONARY, "The slot's domain; null for the mark of a turn without a prediction.", True),
        "slot": Column(_DICTIONARY, "domain-slot; likewise.", nullable=True),
        "gold": LONG.columns["gold"],
        "pred": LONG.columns["pred"],
        "kind": Column(_DICTIONARY, "correct, missed, wrong or over."),
        "class": Column(_DICTIONARY, "The class, by the precedence of dstbench.scoring.error_classes.CLASSES."),
        "carried": Column(pl.Boolean(), "Whether both values are those of the dialogue's turn before, in the file."),
    },
)

CHANGES: Final = Table(
    "changes of state",
    "One row per (run, dialogue, turn): changes of state, counted as the GCA authors' code does.",
    {
        "run": SCORES.columns["run"],
        "dialogue": LONG.columns["dialogue"],
        "turn": LONG.columns["turn"],
        **{name: TURNS.columns[f"gca_{name}"] for name in ("correct", "wrong", "missed", "over")},
    },
)

TURN_SCORES: Final = Table(
    "scores of turns",
    "One row per (run, dialogue, turn, metric), and per (run, dialogue, metric).",
    {
        "run": SCORES.columns["run"],
        "dialogue": LONG.columns["dialogue"],
        "turn": Column(pl.UInt16(), "0-based index of the user turn; null: the whole dialogue.", nullable=True),
        "metric": SCORES.columns["metric"],
        "value": SCORES.columns["value"],
    },
)

#: By the name of their schema's file.
TABLES: Final = {
    "dialogues": DIALOGUES,
    "runs": FAILURES,
    "first_failures": FIRST_FAILURES,
    "gold_slots": GOLD_SLOTS,
    "errors": ERRORS,
    "trait_bins": TRAIT_BINS,
    "disagreements": DISAGREEMENTS,
    "correlations": CORRELATIONS,
    "differences": CORRELATION_DIFFERENCES,
    "correlation_tests": CORRELATION_TESTS,
    "standings": STANDINGS,
    "models": MODELS,
    "run_differences": RUN_DIFFERENCES,
    "design": DESIGN,
    "slot_classes": SLOT_CLASSES,
    "changes": CHANGES,
    "turn_scores": TURN_SCORES,
}
