"""Columns and types of the tables of audits that look at states; those of words are in `word_tables`."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.schema.analysis import MODELS
from dstbench.schema.audit_words import TABLES as OF_WORDS
from dstbench.schema.core import LONG, SCORES, Column, Table

_TEXT, _DICTIONARY, _COUNT, _NUMBER = pl.String(), pl.Categorical(), pl.UInt32(), pl.Float64()
_SPLIT: Final = Column(_TEXT, "Name of the dataset, or of its split.")
_COUNTING: Final = Column(
    _TEXT,
    "When a value counts: in every turn whose state holds it (cumulative), in those in which it is set (update), or in "
    "each dialogue's last state (final).",
)
_SLOT: Final = Column(_TEXT, "domain-slot.")
_N: Final = Column(_COUNT, "How often values are counted.")
_VALUES: Final = Column(_COUNT, "Distinct values, R.")

BIAS: Final = Table(
    "entity bias",
    "One row per (split, counting, slot): how evenly the slot's values are distributed. 1: all are as frequent, 0: "
    "there is one only.",
    {
        "split": _SPLIT,
        "counting": _COUNTING,
        "slot": _SLOT,
        "n": _N,
        "values": _VALUES,
        "h1_h0": Column(_NUMBER, "H1/H0, Shannon entropy by log R; null: R is 1.", nullable=True),
        "hinf_h0": Column(_NUMBER, "H∞/H0, min-entropy (of the most frequent value) by log R; likewise.", True),
        "most_frequent": Column(_TEXT, "The most frequent value."),
        "share": Column(_NUMBER, "Its share of n."),
    },
)

VALUES: Final = Table(
    "values",
    "One row per (split, counting, slot, value), the most frequent first.",
    {
        "split": _SPLIT,
        "counting": _COUNTING,
        "slot": _SLOT,
        "value": Column(_TEXT, "The value, under the convention."),
        "n": Column(_COUNT, "How often it is counted."),
        "share": Column(_NUMBER, "Its share of the slot's values."),
        "rank": Column(_COUNT, "From 1, the most frequent; of values as frequent, in the alphabet's order."),
        "in_train": Column(
            pl.Boolean(), "Whether a state of the training set has it; null: no training set.", nullable=True
        ),
    },
)

OVERLAP: Final = Table(
    "overlap",
    "One row per (split but training, counting, slot): how much of it the training set has.",
    {
        "split": _SPLIT,
        "train": Column(_TEXT, "Name of the training set."),
        "counting": _COUNTING,
        "slot": _SLOT,
        "values": _VALUES,
        "values_seen": Column(_COUNT, "Of these: in a state of the training set."),
        "n": _N,
        "n_seen": Column(_COUNT, "Of these: of values that the training set has."),
        "share_values_seen": Column(_NUMBER, "values_seen / values."),
        "share_n_seen": Column(_NUMBER, "n_seen / n."),
        "train_most_frequent": Column(
            _TEXT, "The training set's most frequent value of the slot; null: it has none.", nullable=True
        ),
        "train_share": Column(_NUMBER, "Its share there; likewise.", nullable=True),
        "share": Column(_NUMBER, "Its share here; likewise.", nullable=True),
    },
)

_CELLS: Final = {
    "added": Column(_COUNT, "Slots of turns that only the later version has."),
    "removed": Column(_COUNT, "That only the earlier version has."),
    "changed": Column(_COUNT, "That have another value."),
    "respelled": Column(_COUNT, "That have the same value, spelled in another way."),
    "moved_earlier": Column(_COUNT, "That have a value which the earlier version sets in a later turn."),
    "moved_later": Column(_COUNT, "That have had a value which the later version sets in a later turn."),
}
#: The kinds of differences; which is a cell's, `versions` says.
KINDS: Final = tuple(_CELLS)
_COMPARED: Final = {
    "dialogues": Column(_COUNT, "Dialogues of both versions in which either has the slot's domain."),
    "changed_dialogues": Column(_COUNT, "Of these: with a difference."),
    "share_dialogues": Column(_NUMBER, "Their share; null: there is none.", nullable=True),
    "turns": Column(_COUNT, "Turns of both versions in whose state either has the slot's domain."),
    "changed_turns": Column(_COUNT, "Of these: with a difference."),
    "share_turns": Column(_NUMBER, "Their share; null: there is none.", nullable=True),
    **_CELLS,
}

DIFFERENT: Final = Table(
    "versions",
    "One row: two versions of a dataset as a whole. Of turns that both have, all are counted.",
    {
        "before": Column(_TEXT, "Name of the earlier version."),
        "after": Column(_TEXT, "Name of the later one."),
        "dialogues_before": Column(_COUNT, "Dialogues that only the earlier version has."),
        "dialogues_after": Column(_COUNT, "That only the later one has."),
        "turns_before": Column(_COUNT, "Turns that only the earlier version has."),
        "turns_after": Column(_COUNT, "That only the later one has."),
        **_COMPARED,
        "dialogues": Column(_COUNT, "Dialogues of both versions."),
        "turns": Column(_COUNT, "Turns of both versions."),
    },
)

DIFFERENT_DOMAINS: Final = Table(
    "differences of domains",
    "One row per domain: in how much of it two versions of a dataset differ.",
    {"domain": Column(_TEXT, "The domain."), **_COMPARED},
)

DIFFERENT_SLOTS: Final = Table(
    "differences of slots",
    "One row per slot: in how much of its domain two versions of a dataset differ in it.",
    {"slot": _SLOT, **_COMPARED},
)

_KIND: Final = Column(_TEXT, f"One of {', '.join(KINDS)}.")
_BEFORE: Final = Column(_DICTIONARY, "Value in the earlier version, verbatim; null: not in the state.", nullable=True)
_AFTER: Final = Column(_DICTIONARY, "Value in the later version, likewise.", nullable=True)

CHANGES: Final = Table(
    "changes",
    "One row per (slot, value before, value after, kind), the most frequent first.",
    {
        "slot": LONG.columns["slot"],
        "before": _BEFORE,
        "after": _AFTER,
        "kind": _KIND,
        "turns": Column(_COUNT, "Turns with it."),
        "dialogues": Column(_COUNT, "Dialogues with such a turn."),
    },
)

CELLS: Final = Table(
    "changed cells",
    "One row per (dialogue, turn, slot) in which two versions of a dataset differ. Sorted so.",
    {
        "dialogue": LONG.columns["dialogue"],
        "turn": LONG.columns["turn"],
        "slot": LONG.columns["slot"],
        "before": _BEFORE,
        "after": _AFTER,
        "kind": _KIND,
    },
)

_VERSION: Final = Column(_TEXT, "Name of the version of the dataset.")
_MODEL: Final = MODELS.columns["model"]
_RUNS: Final = MODELS.columns["runs"]

VERSION_RUNS: Final = Table(
    "scores of runs on versions",
    "One row per (version, run, metric): a score, as `dstbench score` gives it. Where the convention matches fuzzily, "
    "there is the value with exact matching too, as `exact`.",
    {"version": _VERSION, "model": _MODEL, **SCORES.columns},
    is_open=True,
)

VERSION_MODELS: Final = Table(
    "scores of models on versions",
    "One row per (version, model, metric): mean scores over a model's runs (seeds).",
    {
        "version": _VERSION,
        "model": _MODEL,
        "metric": SCORES.columns["metric"],
        "unit": SCORES.columns["unit"],
        "runs": _RUNS,
        "value": MODELS.columns["value"],
        "sd": MODELS.columns["sd"],
        "exact": Column(_NUMBER, "The same with exact matching; null: the convention matches so anyway.", True),
        "exact_sd": Column(_NUMBER, "Its standard deviation, likewise.", nullable=True),
        "dialogues": SCORES.columns["dialogues"],
    },
)

VERSION_SLOTS: Final = Table(
    "error turns on versions",
    "One row per (version, model, slot): in how many turns the slot is wrong, mean over a model's runs (seeds).",
    {
        "version": _VERSION,
        "model": _MODEL,
        "slot": _SLOT,
        "runs": _RUNS,
        "error_turns": Column(_NUMBER, "Mean number of turns in which the slot is wrong."),
        "sd": Column(_NUMBER, "Standard deviation (n - 1) of that number; null: a single run.", nullable=True),
        "share": Column(_NUMBER, "Mean share of these of all turns."),
        "exact": Column(_NUMBER, "As error_turns, with exact matching; null: the convention matches so anyway.", True),
        "turns": Column(_NUMBER, "Mean number of all turns."),
    },
)

#: By the name of their schema's file.
TABLES: Final = {
    "audit_bias": BIAS,
    "audit_values": VALUES,
    "audit_overlap": OVERLAP,
    "audit_versions": DIFFERENT,
    "audit_domains": DIFFERENT_DOMAINS,
    "audit_slots": DIFFERENT_SLOTS,
    "audit_changes": CHANGES,
    "audit_cells": CELLS,
    "audit_scored_runs": VERSION_RUNS,
    "audit_scored_models": VERSION_MODELS,
    "audit_error_turns": VERSION_SLOTS,
    **OF_WORDS,
}
