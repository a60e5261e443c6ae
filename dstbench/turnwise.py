"""Columns and types of the tables of single turns and slots; those of all others are in `schema` and `standings`."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.schema import LONG, SCORES, TURNS, Column, Table

_DICTIONARY: Final = pl.Categorical()

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
        "class": Column(_DICTIONARY, "The class, by the precedence of dstbench.taxonomy.CLASSES."),
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
    "slot_classes": SLOT_CLASSES,
    "changes": CHANGES,
    "turn_scores": TURN_SCORES,
}
