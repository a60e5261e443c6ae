"""Columns and types of the audits' tables, as `dstbench.schema` has them for all others."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.schema import LONG, SCORES, Column, Table

_TEXT, _COUNT, _NUMBER = pl.String(), pl.UInt32(), pl.Float64()
_SLOT: Final = Column(_TEXT, "domain-slot.")

REPLACED: Final = Table(
    "replacements",
    "One row per (dialogue, slot, old value): what an entity-replaced test set has in its place. "
    "Sorted by (dialogue, slot, value).",
    {
        "dialogue": LONG.columns["dialogue"],
        "slot": _SLOT,
        "value": Column(_TEXT, "The old value, as the states have it."),
        "new": Column(_TEXT, "The new one."),
        "states": Column(_COUNT, "Turns in whose state it was replaced."),
        "mentions": Column(_COUNT, "Times that it was replaced in what is said in the dialogue, for all its slots."),
    },
)

REFUSED: Final = Table(
    "refused replacements",
    "One row per (dialogue, slot, value): what a state has and nobody has said by then, so that its dialogue is left "
    "out of an entity-replaced test set, or kept as it was. Sorted by (dialogue, slot, value).",
    {
        "dialogue": LONG.columns["dialogue"],
        "turn": Column(pl.UInt16(), "The first turn whose state has the value."),
        "slot": _SLOT,
        "value": Column(_TEXT, "The value."),
    },
)

_COUNTS: Final = {
    "kind": Column(_TEXT, "wrong: gold has another value; over: gold does not have the slot."),
    "n": Column(_COUNT, "Slots of turns of this kind, as the metric of that name counts them."),
    "searched": Column(_COUNT, "Of these: those whose value can be looked for in what is said."),
    "ungrounded": Column(_COUNT, "Of these: those whose value neither user nor system has said so far."),
    "rate": Column(_NUMBER, "ungrounded / searched; null: nothing to look for.", nullable=True),
    "in_train": Column(_COUNT, "Of the ungrounded: values that the training set has in the slot.", nullable=True),
    "is_frequent": Column(_COUNT, "Of the ungrounded: the value that it has there in most turns.", nullable=True),
    "share": Column(_NUMBER, "is_frequent / ungrounded; null: no training set, or none ungrounded.", nullable=True),
}

MEMORISED_RUNS: Final = Table(
    "memorised values",
    "One row per (run, kind): predicted values that are not right, and of these, those that nobody has said.",
    {"run": SCORES.columns["run"], **_COUNTS, "signature": SCORES.columns["signature"]},
)

MEMORISED: Final = Table(
    "memorised values by slot",
    "One row per (run, slot, kind) that occurs: the same by slot. Sorted by (run as given, slot), wrong before over.",
    {
        "run": SCORES.columns["run"],
        "slot": _SLOT,
        **_COUNTS,
        "frequent": Column(_TEXT, "The training set's value of the slot in most turns; null: unknown.", nullable=True),
    },
)

UNGROUNDED: Final = Table(
    "ungrounded values",
    "One row per (run, slot, kind, value): the predicted values that nobody has said, the most frequent first.",
    {
        "run": SCORES.columns["run"],
        "place": Column(_COUNT, "From 1, the most frequent."),
        "slot": _SLOT,
        "kind": _COUNTS["kind"],
        "value": Column(_TEXT, "The predicted value, as it is written."),
        "turns": Column(_COUNT, "Turns in which it is predicted, wrong and ungrounded."),
        "dialogues": Column(_COUNT, "Dialogues of these."),
        "in_train": Column(_COUNT, "Turns of the training set that have it in the slot; null: unknown.", nullable=True),
        "is_frequent": Column(pl.Boolean(), "Whether it is the one in most of them; null: unknown.", nullable=True),
        "dialogue": LONG.columns["dialogue"],
        "turn": Column(pl.UInt16(), "The first such turn of that dialogue, which is the first of the run."),
        "gold": Column(_TEXT, "Gold's value there; null: not in the state.", nullable=True),
    },
)

#: The audits' tables, by name.
TABLES: Final = {
    "audit_replaced": REPLACED,
    "audit_refused": REFUSED,
    "audit_memorisation_runs": MEMORISED_RUNS,
    "audit_memorisation": MEMORISED,
    "audit_ungrounded": UNGROUNDED,
}
