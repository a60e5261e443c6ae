"""Columns and types of the tables of audits that look at states (`audit_words` has those that look at what is said)."""

from __future__ import annotations

from typing import Final

from dstbench.schema.analysis import MODELS
from dstbench.schema.core import (
    LONG,
    SCORES,
    SLOT,
    OpenTable,
    Table,
    category,
    count,
    decimal,
    flag,
    r,
    score,
    share,
    text,
)

_SPLIT: Final = text("Name of the dataset, or of its split.")
_COUNTED: Final = {
    "counting": text(
        "When a value counts: in every turn whose state has it (cumulative), in turns that set it (update), or in "
        "each dialogue's last state (final)."
    ),
    "slot": SLOT,
}
_N: Final = count("How often values are counted.")
_VALUES: Final = count("Distinct values, R.")

BIAS: Final = Table(
    "entity bias",
    "One row per (split, counting, slot): how evenly the slot's values are distributed. 1: all values are equally "
    "frequent; 0: there is only one.",
    split=_SPLIT,
    **_COUNTED,
    n=_N,
    values=_VALUES,
    h1_h0=r("H1/H0: Shannon entropy divided by log R; null: R is 1."),
    hinf_h0=r("H∞/H0: min-entropy (of the most frequent value) divided by log R; null likewise."),
    most_frequent=text("The most frequent value."),
    share=share("Its share of n."),
)

VALUES: Final = Table(
    "values",
    "One row per (split, counting, slot, value), the most frequent first.",
    split=_SPLIT,
    **_COUNTED,
    value=text("The value, under the convention."),
    n=count("How often it is counted."),
    share=share("Its share of the slot's values."),
    rank=count("From 1, the most frequent; equally frequent values are in alphabetical order."),
    in_train=flag("Whether a state of the training set has it; null: no training set."),
)

OVERLAP: Final = Table(
    "overlap",
    "One row per (split except training, counting, slot): how much of the slot's values the training set has.",
    split=_SPLIT,
    train=text("Name of the training set."),
    **_COUNTED,
    values=_VALUES,
    values_seen=count("Of these: in a state of the training set."),
    n=_N,
    n_seen=count("Of n: those of values that the training set has."),
    share_values_seen=share("values_seen / values."),
    share_n_seen=share("n_seen / n."),
    train_most_frequent=text("The training set's most frequent value of the slot; null: it has none."),
    train_share=share("Its share there; likewise.", nullable=True),
    share=share("Its share here; likewise.", nullable=True),
)

_CELLS: Final = {
    "added": count("(turn, slot) pairs that only the later version has."),
    "removed": count("(turn, slot) pairs that only the earlier version has."),
    "changed": count("(turn, slot) pairs that have another value."),
    "respelled": count("(turn, slot) pairs that have the same value, spelled in another way."),
    "moved_earlier": count("(turn, slot) pairs whose new value the earlier version sets in a later turn."),
    "moved_later": count("(turn, slot) pairs whose old value the later version sets in a later turn."),
}
#: The kinds of differences; `audit.version_diff` says which one a changed cell is.
KINDS: Final = tuple(_CELLS)
_COMPARED: Final = {
    "dialogues": count("Dialogues of both versions in which either has the slot's domain."),
    "changed_dialogues": count("Of these: with a difference."),
    "share_dialogues": share("Their share; null: there is none."),
    "turns": count("Turns of both versions in whose state either has the slot's domain."),
    "changed_turns": count("Of these: with a difference."),
    "share_turns": share("Their share; null: there is none."),
    **_CELLS,
}

DIFFERENT: Final = Table(
    "versions",
    "One row: two versions of a dataset as a whole. All turns that both have are counted.",
    before=text("Name of the earlier version."),
    after=text("Name of the later one."),
    dialogues_before=count("Dialogues that only the earlier version has."),
    dialogues_after=count("Dialogues that only the later version has."),
    turns_before=count("Turns that only the earlier version has."),
    turns_after=count("Turns that only the later version has."),
    **{
        **_COMPARED,
        "dialogues": count("Dialogues of both versions."),
        "turns": count("Turns of both versions."),
    },
)

DIFFERENT_DOMAINS: Final = Table(
    "differences of domains",
    "One row per domain: how much of it differs between two versions of a dataset.",
    domain=text("The domain."),
    **_COMPARED,
)

DIFFERENT_SLOTS: Final = Table(
    "differences of slots",
    "One row per slot: how much of its domain differs in this slot between two versions of a dataset.",
    slot=SLOT,
    **_COMPARED,
)

DIFFERENT_SPLITS: Final = Table(
    "differences of splits",
    "One row per split, per (split, domain) and per (split, domain, slot): how much of it differs between two versions "
    "of a dataset. No rows if the versions do not have several splits.",
    split=text("Name of the split."),
    domain=text("The domain; null: all turns of the split."),
    slot=text("The slot; null: the whole domain, or the whole split."),
    **_COMPARED,
)

_CHANGE: Final = {
    "before": category("Value in the earlier version, verbatim; null: not in the state."),
    "after": category("Value in the later version, likewise.", nullable=True),
    "kind": text(f"One of {', '.join(KINDS)}."),
}

CHANGES: Final = Table(
    "changes",
    "One row per (slot, value before, value after, kind), the most frequent first.",
    **LONG.only("slot"),
    **_CHANGE,
    turns=count("Turns with this change."),
    dialogues=count("Dialogues with such a turn."),
)

CELLS: Final = Table(
    "changed cells",
    "One row per (dialogue, turn, slot) in which two versions of a dataset differ. Sorted by these.",
    **LONG.only("dialogue", "turn", "slot"),
    **_CHANGE,
)

_MODEL: Final = {"version": text("Name of the version of the dataset."), **MODELS.only("model")}

VERSION_RUNS: Final = OpenTable(
    "scores of runs on versions",
    "One row per (version, run, metric): a score, as from `dstbench score`. If the convention matches fuzzily, "
    "the column `exact` has the value with exact matching.",
    **_MODEL,
    **SCORES.columns,
)

VERSION_MODELS: Final = Table(
    "scores of models on versions",
    "One row per (version, model, metric): mean scores over a model's runs (seeds).",
    **_MODEL,
    **SCORES.only("metric", "unit"),
    **MODELS.only("runs", "value", "sd"),
    exact=score("The same with exact matching; null: the convention matches exactly anyway."),
    exact_sd=score("Its standard deviation, likewise.", nullable=True),
    **SCORES.only("dialogues"),
)

VERSION_SLOTS: Final = Table(
    "error turns on versions",
    "One row per (version, model, slot): in how many turns the slot is wrong, mean over a model's runs (seeds).",
    **_MODEL,
    slot=SLOT,
    **MODELS.only("runs"),
    error_turns=decimal("Mean number of turns in which the slot is wrong."),
    sd=decimal("Standard deviation (n - 1) of that number; null: a single run."),
    share=share("Mean of their share in all turns."),
    exact=decimal("As error_turns, with exact matching; null: the convention matches exactly anyway."),
    turns=decimal("Mean number of all turns."),
)
