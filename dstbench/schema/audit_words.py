"""Columns and types of the tables of audits that look at what is said."""

from __future__ import annotations

from typing import Final

from dstbench.schema.core import LONG, SCORES, SLOT, Table, count, flag, r, share, text, turn

SHEET: Final = Table(
    "review sheet",
    "One row per dialogue to review, followed by one per annotation that was added to it. Readers fill in `right` for "
    "additions and `missed` for dialogues; the columns after each hold what they need to decide.",
    row=text("dialogue or addition."),
    **LONG.only("dialogue"),
    turn=turn("Turn of the addition.", nullable=True),
    slot=text("Its slot.", nullable=True),
    value=text("Its value.", nullable=True),
    right=text("To be filled in for an addition: yes or no.", nullable=True),
    evidence=text("Why it was added, in words.", nullable=True),
    before=text("What system and user say in the turn before; null: there is none."),
    exchange=text("What they say in its turn; the words that say the value are between >> and <<.", nullable=True),
    after=text("What they say in the turn after; null: there is none."),
    state=text("Gold's state in its turn, the slot's domain first; (empty) if it has no slot.", nullable=True),
    missed=text(
        "To be filled in for a dialogue: how many annotations are still missing. If it is filled in for no "
        "dialogue, recall is undefined.",
        nullable=True,
    ),
    transcript=text(
        "For a dialogue: what is said in each turn, and what gold sets or removes there (added: +).", nullable=True
    ),
    group=text("changed or unchanged: whether the correction added anything to the dialogue."),
    of=count("Dialogues of the group in the whole dataset."),
)

REVIEW: Final = Table(
    "review",
    "One row per measure of a correction: of its additions, and of dialogues (Qian et al. 2021, Table 3). A "
    "changed dialogue is right if all of its additions are right, else wrong; an unchanged one is missed if it lacks "
    "an annotation.",
    unit=text("additions or dialogues: what is counted."),
    measure=text("precision, recall or f1."),
    value=share("The measure's estimate for the whole dataset; null: undefined."),
    low=share("Lower end of the estimate's 95 % interval; null: undefined."),
    high=share("Upper end.", nullable=True),
    in_sample=share("The measure in the sample itself, unweighted, as in that paper; null: undefined."),
    right=count("Additions (dialogues) of the sample that are right."),
    wrong=count("Additions (dialogues) of the sample that are wrong."),
    missed=count("Annotations that are still missing in the sample (dialogues that are missed); null: not filled in."),
    dialogues=count("Dialogues of the sample."),
)

REVIEWED_ADDITIONS: Final = Table(
    "reviewed additions",
    "One row for all additions of the sample, and one per slot, sorted: how many are right.",
    slot=text("domain-slot; null: all."),
    additions=count("Additions of the sample."),
    right=count("Of these: right."),
    wrong=count("Of these: wrong."),
    share=share("right / additions."),
    low=share("Lower end of its 95 % interval (Wilson's, adjusted because additions of one dialogue are alike)."),
    high=share("Upper end."),
)

REVIEWED_DIALOGUES: Final = Table(
    "reviewed dialogues",
    "One row per group of dialogues of the sample, changed ones first: how many are right (Qian et al. 2021, Table 3).",
    group=text("changed or unchanged: whether the correction added anything to the dialogue."),
    of=count("Dialogues of the group in the whole dataset."),
    dialogues=count("Dialogues of the group in the sample."),
    right=count("Of these: all additions are right, or, if unchanged, no annotation is missing; null: not filled in."),
    wrong=count("Of these: the others; null: not filled in."),
    share=share("right / dialogues; null: not filled in."),
    complete=count("Of the right ones: no annotation is missing; null: not filled in."),
)

READER: Final = Table(
    "readers",
    "One row per (reader, measure): the review of additions by each of several readers, over the rows that all of them "
    "have filled in.",
    reader=text("The reader: the name of the sheet, without its ending."),
    **REVIEW.only("measure", "value", "low", "high", "right", "wrong", "missed", "dialogues"),
)

AGREEMENT: Final = Table(
    "agreement",
    "One row per question of the sheet: how much its readers agree.",
    question=text("right: whether an addition is right; missed: how many annotations a dialogue lacks."),
    statistic=text("cohen: Cohen's kappa, of two readers; fleiss: Fleiss' kappa, of more."),
    readers=count("Readers."),
    rows=count("Rows that all readers have filled in."),
    left_out=count("Rows that at least one reader has left empty."),
    observed=share("Share of pairs of readers with the same answer, over these rows; null: no rows."),
    kappa=r("The same beyond chance; null: undefined, as there are no rows or all answers are equal."),
    low=r("Lower end of its 95 % interval, by a bootstrap over dialogues; null: undefined."),
    high=r("Upper end.", nullable=True),
)

REPLACED: Final = Table(
    "replacements",
    "One row per (dialogue, slot, old value): the new value in an entity-replaced test set. "
    "Sorted by (dialogue, slot, value).",
    **LONG.only("dialogue"),
    slot=SLOT,
    value=text("The old value, as the states have it."),
    new=text("The new value."),
    states=count("Turns in whose state it was replaced."),
    mentions=count("Times it was replaced in the dialogue's utterances, counted over all its slots."),
)

REFUSED: Final = Table(
    "refused replacements",
    "One row per (dialogue, slot, value): a value that is not replaced in an entity-replaced test set, and why. "
    "Sorted by (dialogue, slot, value).",
    **LONG.only("dialogue"),
    turn=turn("The first turn whose state has the value."),
    slot=SLOT,
    value=text("The value."),
    reason=text(
        "not said: nobody has said it by then; its dialogue is left out, or kept unchanged. ordinary word: it (or one "
        "of its alternatives) is mostly said in another sense, and is not replaced."
    ),
    said=count("Dialogues of the data and the training set that say it; null: not an ordinary word."),
    annotated=count("Of these: those whose states have it; null: not an ordinary word."),
)

_COUNTS: Final = {
    "kind": text("wrong: gold has another value; over: gold does not have the slot."),
    "n": count("(turn, slot) pairs of this kind, counted as by the metric of that name."),
    "searched": count("Of these: those whose value can be searched for in the utterances."),
    "ungrounded": count("Of these: those whose value neither user nor system has said so far."),
    "rate": share("ungrounded / searched; null: nothing was searched for."),
    "in_train": count("Of the ungrounded: those whose value the training set has in the slot.", nullable=True),
    "is_frequent": count("Of the ungrounded: those with the training set's most frequent value.", nullable=True),
    "share": share("is_frequent / ungrounded; null: no training set, or none ungrounded."),
}

MEMORISED_RUNS: Final = Table(
    "memorised values",
    "One row per (run, kind): predicted values that are not right, and how many of them nobody has said.",
    **SCORES.only("run"),
    **_COUNTS,
    **SCORES.only("signature"),
)

MEMORISED: Final = Table(
    "memorised values by slot",
    "One row per (run, slot, kind) that occurs: the same by slot. Sorted by (run as given, slot), wrong before over.",
    **SCORES.only("run"),
    slot=SLOT,
    **_COUNTS,
    frequent=text("The training set's most frequent value of the slot; null: unknown."),
)

UNGROUNDED: Final = Table(
    "ungrounded values",
    "One row per (run, slot, kind, value): the predicted values that nobody has said, the most frequent first.",
    **SCORES.only("run"),
    place=count("From 1, the most frequent."),
    slot=SLOT,
    kind=_COUNTS["kind"],
    value=text("The predicted value, as it is written."),
    turns=count("Turns in which it is predicted, wrong and ungrounded."),
    dialogues=count("Dialogues with such a turn."),
    in_train=count("Turns of the training set that have it in the slot; null: unknown."),
    is_frequent=flag("Whether it is the training set's most frequent value of the slot; null: unknown."),
    **LONG.only("dialogue"),
    turn=turn("The first such turn of that dialogue, which is the first of the run."),
    gold=text("Gold's value there; null: not in the state."),
)

DOUBTFUL_SLOTS: Final = Table(
    "doubtful gold values by slot",
    "One row per slot: how many of gold's values contradict the database or were never said (Qian et al. 2021, "
    "section 7). A value counts once per dialogue and entity named beside it. Sorted by slot.",
    slot=SLOT,
    checked=count("Values of dialogues whose entity is in the database; null: no database."),
    contradicting=count("Of these: the database has another value.", nullable=True),
    rate_contradicting=share("contradicting / checked; null: nothing was checked."),
    searched=count("Values of dialogues that can be searched for in the utterances."),
    unsaid=count("Of these: neither user nor system says them up to the first turn whose state has them."),
    rate_unsaid=share("unsaid / searched; null: nothing was searched for."),
)

DOUBTFUL: Final = Table(
    "doubtful gold values",
    "One row per gold value that contradicts the database or was never said. Sorted by (slot, dialogue, turn).",
    slot=SLOT,
    kind=text("database: the entity named in the state has another value there; unsaid: nobody has said it."),
    **LONG.only("dialogue"),
    turn=turn("The first turn whose state has it."),
    value=text("Gold's value."),
    turns=count("Turns whose state has it."),
    name=text("The entity that gold names in that turn; null: unsaid."),
    database=text("The database's value; null: unsaid."),
)
