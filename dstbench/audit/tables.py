"""Columns and types of the audits' tables."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.schema import LONG, Column, Table

_TEXT, _COUNT, _SHARE = pl.String(), pl.UInt32(), pl.Float64()
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
        "share": Column(_SHARE, "annotated / mentions."),
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
        "rate": Column(_SHARE, "missing / (annotated + missing); null: neither.", nullable=True),
        "late": Column(_COUNT, "Of the missing: gold has the same value later in the dialogue."),
        "dialogues": Column(_COUNT, "Dialogues in which one is missing."),
        "of_dialogues": Column(_COUNT, "Dialogues whose gold has the slot's domain."),
        "dialogue_rate": Column(_SHARE, "dialogues / of_dialogues."),
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
        "share": Column(_SHARE, "Of the slot's missing annotations; null: there are none.", nullable=True),
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
        "value": Column(_SHARE, "The estimate; null: undefined.", nullable=True),
        "low": Column(_SHARE, "Lower end of its 95 % interval; null: undefined.", nullable=True),
        "high": Column(_SHARE, "Upper end.", nullable=True),
        "right": Column(_COUNT, "Additions of the sample that are right."),
        "wrong": Column(_COUNT, "Additions of the sample that are wrong."),
        "missed": Column(_COUNT, "Annotations of the sample that are still missing."),
        "dialogues": Column(_COUNT, "Dialogues of the sample."),
    },
)

#: The audits' tables, as `schema.TABLES`: those that are printed or written.
TABLES: Final = {
    "proposals": PROPOSALS,
    "inconsistency_rates": RATES,
    "inconsistency_shares": SHARES,
    "inconsistency": SUMMARY,
    "review_sheet": SHEET,
    "review": REVIEW,
}
