"""Columns and types of the tables of audits that look at what is said."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.schema.core import LONG, SCORES, Column, Table

_TEXT, _COUNT, _NUMBER = pl.String(), pl.UInt32(), pl.Float64()
_SLOT: Final = Column(_TEXT, "domain-slot.")
_SPEAKER: Final = Column(_TEXT, "Who says the value: user, or system (in the utterance before the turn).")

PROPOSALS: Final = Table(
    "proposals",
    "One row per annotation that is missing, and the evidence for it. Sorted by (dialogue, turn, slot).",
    {
        "dialogue": LONG.columns["dialogue"],
        "turn": LONG.columns["turn"],
        "slot": _SLOT,
        "value": Column(_TEXT, "The value, as gold mostly spells it in this slot (else as the ontology does)."),
        "turns": Column(_COUNT, "Turns whose state it is missing from: from this one on, until gold says otherwise."),
        "speaker": _SPEAKER,
        "said": Column(_TEXT, "The words that say it, as they stand in the utterance."),
        "start": Column(_COUNT, "Their first character in the utterance, from 0."),
        "end": Column(_COUNT, "The character after their last."),
        "utterance": Column(_TEXT, "The whole utterance."),
        "place": Column(
            _TEXT,
            "What is alike in such places: when else the domain is annotated (now, between, before, next, earlier), "
            "the value, the words before and after it (user), the first word of the reply and if it is the only offer "
            "(system). A hyphen: no word.",
        ),
        "annotated": Column(_COUNT, "In so many such places elsewhere gold annotates the slot with the value said,"),
        "mentions": Column(_COUNT, "of so many in which it could."),
        "share": Column(_NUMBER, "annotated / mentions."),
        "later": Column(
            _TEXT, "What gold's state gives the slot next in this dialogue; null: never anything.", nullable=True
        ),
        "round": Column(
            _COUNT, "The round in which it is found, from 1: those of earlier rounds are evidence for later ones."
        ),
    },
)

RATES: Final = Table(
    "inconsistency rates",
    "One row per slot: how often it is not annotated where it is elsewhere (Qian et al. 2021). Sorted by slot.",
    {
        "slot": _SLOT,
        "annotated": Column(_COUNT, "Times that gold sets the slot to a value that is said in the turn."),
        "missing": Column(_COUNT, "Times that such an annotation is missing."),
        "rate": Column(_NUMBER, "missing / (annotated + missing); null: neither.", nullable=True),
        "late": Column(_COUNT, "Of the missing: gold has the same value later in the dialogue."),
        "dialogues": Column(_COUNT, "Dialogues in which one is missing."),
        "of_dialogues": Column(_COUNT, "Dialogues whose gold has the slot's domain."),
        "dialogue_rate": Column(_NUMBER, "dialogues / of_dialogues."),
    },
)

SHARES: Final = Table(
    "shares of speakers",
    "One row per (slot, speaker): whose values are not annotated (Qian et al. 2021, Fig 4). A value that both say in "
    "the turn is the user's.",
    {
        "slot": _SLOT,
        "speaker": _SPEAKER,
        "annotated": RATES.columns["annotated"],
        "missing": RATES.columns["missing"],
        "rate": RATES.columns["rate"],
        "share": Column(_NUMBER, "Of the slot's missing annotations; null: there are none.", nullable=True),
    },
)

SUMMARY: Final = Table(
    "inconsistency",
    "One row: how much of a dataset has annotations that are missing.",
    {
        "dialogues": Column(_COUNT, "Dialogues."),
        "dialogues_changed": Column(_COUNT, "Dialogues in which an annotation is missing."),
        "turns": Column(_COUNT, "Turns."),
        "turns_changed": Column(_COUNT, "Turns whose state lacks one."),
        "missing": Column(_COUNT, "Missing annotations."),
        "user": Column(_COUNT, "Of these: said by the user."),
        "system": Column(_COUNT, "Of these: said by the system only."),
        "late": Column(_COUNT, "Of these: gold has the same value later in the dialogue."),
        "rounds": Column(_COUNT, "Rounds until none was left."),
    },
)

SHEET: Final = Table(
    "review sheet",
    "One row per dialogue that is to be reviewed, and one per annotation that was added to it; the dialogue's row says "
    "what is said in it. Reviewers fill in `right` and `missed`.",
    {
        "row": Column(_TEXT, "dialogue or addition."),
        "group": Column(_TEXT, "changed or unchanged: whether the correction added anything to the dialogue."),
        "of": Column(_COUNT, "Dialogues of the group in the whole dataset."),
        "dialogue": LONG.columns["dialogue"],
        "turn": Column(pl.UInt16(), "Turn of the addition.", nullable=True),
        "slot": Column(_TEXT, "Its slot.", nullable=True),
        "value": Column(_TEXT, "Its value.", nullable=True),
        "text": Column(
            _TEXT, "The whole dialogue with what gold sets in each turn (and +what was added); or the words."
        ),
        "right": Column(_TEXT, "To be filled in for an addition: yes or no.", nullable=True),
        "missed": Column(
            _TEXT, "To be filled in for a dialogue: how many annotations are still missing.", nullable=True
        ),
    },
)

REVIEW: Final = Table(
    "review",
    "One row per measure of a correction, estimated for the whole dataset from a reviewed sample.",
    {
        "measure": Column(_TEXT, "precision, recall or f1."),
        "value": Column(_NUMBER, "The estimate; null: undefined.", nullable=True),
        "low": Column(_NUMBER, "Lower end of its 95 % interval; null: undefined.", nullable=True),
        "high": Column(_NUMBER, "Upper end.", nullable=True),
        "right": Column(_COUNT, "Additions of the sample that are right."),
        "wrong": Column(_COUNT, "Additions of the sample that are wrong."),
        "missed": Column(_COUNT, "Annotations of the sample that are still missing."),
        "dialogues": Column(_COUNT, "Dialogues of the sample."),
    },
)

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

#: By the name of their schema's file.
TABLES: Final = {
    "audit_proposals": PROPOSALS,
    "audit_inconsistency_rates": RATES,
    "audit_inconsistency_shares": SHARES,
    "audit_inconsistency": SUMMARY,
    "audit_review_sheet": SHEET,
    "audit_review": REVIEW,
    "audit_replaced": REPLACED,
    "audit_refused": REFUSED,
    "audit_memorisation_runs": MEMORISED_RUNS,
    "audit_memorisation": MEMORISED,
    "audit_ungrounded": UNGROUNDED,
}
