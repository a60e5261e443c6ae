"""Columns and types of the tables of audits: of states, of what is said, and of missing annotations."""

from __future__ import annotations

from typing import Final

from dstbench.schema.analysis import MODELS
from dstbench.schema.core import LONG, SCORES, SLOT, OpenTable, Table, interval
from dstbench.schema.kinds import category, count, decimal, flag, r, score, share, text, turn

BIAS: Final = Table(
    "entity bias: A row per (split, counting, slot): how even values are. 1: equally frequent; 0: one value.",
    split=text("Name of the dataset, or of its split."),
    counting=text("Counted in: every turn with it (cumulative), turns that set it (update), last states (final)."),
    slot=SLOT,
    n=count("How often values are counted."),
    values=count("Distinct values, R."),
    h1_h0=r("H1/H0: Shannon entropy divided by log R; null: R is 1."),
    hinf_h0=r("H∞/H0: min-entropy (of the most frequent value) divided by log R; null likewise."),
    most_frequent=text("The most frequent value."),
    share=share("Its share of n."),
)

VALUES: Final = Table(
    "values: A row per (split, counting, slot, value), the most frequent first.",
    **BIAS.only("split", "counting", "slot"),
    value=text("The value, under the convention."),
    n=count("How often it is counted."),
    share=share("Its share of the slot's values."),
    rank=count("From 1, the most frequent; equally frequent values are in alphabetical order."),
    in_train=flag("Whether a state of the training set has it; null: no training set."),
)

OVERLAP: Final = Table(
    "overlap: A row per (split except training, counting, slot): how much of the slot's values the training set has.",
    **BIAS.only("split"),
    train=text("Name of the training set."),
    **BIAS.only("counting", "slot", "values"),
    values_seen=count("Of these: in a state of the training set."),
    **BIAS.only("n"),
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
    "versions: One row: two versions of a dataset as a whole. All turns that both have are counted.",
    before=text("Name of the earlier version."),
    after=text("Name of the later one."),
    dialogues_before=count("Dialogues that only the earlier version has."),
    dialogues_after=count("Dialogues that only the later version has."),
    turns_before=count("Turns that only the earlier version has."),
    turns_after=count("Turns that only the later version has."),
    **{**_COMPARED, "dialogues": count("Dialogues of both versions."), "turns": count("Turns of both versions.")},
)

DIFFERENT_DOMAINS: Final = Table(
    "differences of domains: A row per domain: how much of it differs between two versions of a dataset.",
    domain=text("The domain."),
    **_COMPARED,
)

DIFFERENT_SLOTS: Final = Table(
    "differences of slots: A row per slot: how much of its domain differs in it between two versions.",
    slot=SLOT,
    **_COMPARED,
)

DIFFERENT_SPLITS: Final = Table(
    "differences of splits: A row per split, (split, domain) and (split, domain, slot), if there are several splits.",
    split=text("Name of the split."),
    domain=text("The domain; null: all turns of the split."),
    slot=text("The slot; null: the whole domain, or the whole split."),
    **_COMPARED,
)

CHANGES: Final = Table(
    "changes: A row per (slot, value before, value after, kind), the most frequent first.",
    **LONG.only("slot"),
    before=category("Value in the earlier version, verbatim; null: not in the state."),
    after=category("Value in the later version, likewise.", nullable=True),
    kind=text(f"One of {', '.join(KINDS)}."),
    turns=count("Turns with this change."),
    dialogues=count("Dialogues with such a turn."),
)

CELLS: Final = Table(
    "changed cells: A row per (dialogue, turn, slot) in which two versions of a dataset differ. Sorted by these.",
    **LONG.only("dialogue", "turn", "slot"),
    **CHANGES.only("before", "after", "kind"),
)

VERSION_RUNS: Final = OpenTable(
    "scores of runs on versions: A row per (version, run, metric); if it is fuzzy, `exact` has the exact score.",
    version=text("Name of the version of the dataset."),
    **MODELS.only("model"),
    **SCORES.columns,
)

VERSION_MODELS: Final = Table(
    "scores of models on versions: A row per (version, model, metric): mean scores over a model's runs (seeds).",
    **VERSION_RUNS.only("version", "model"),
    **SCORES.only("metric", "unit"),
    **MODELS.only("runs", "value", "sd"),
    exact=score("The same with exact matching; null: the convention matches exactly anyway."),
    exact_sd=score("Its standard deviation, likewise.", nullable=True),
    **SCORES.only("dialogues"),
)

VERSION_SLOTS: Final = Table(
    "error turns on versions: A row per (version, model, slot): in how many turns it is wrong, mean over seeds.",
    **VERSION_RUNS.only("version", "model"),
    slot=SLOT,
    **MODELS.only("runs"),
    error_turns=decimal("Mean number of turns in which the slot is wrong."),
    sd=decimal("Standard deviation (n - 1) of that number; null: a single run."),
    share=share("Mean of their share in all turns."),
    exact=decimal("As error_turns, with exact matching; null: the convention matches exactly anyway."),
    turns=decimal("Mean number of all turns."),
)

# --- what is said -----------------------------------------------------------------------------------------------------

SHEET: Final = Table(
    "review sheet: A row per dialogue to review, followed by one per annotation that was added to it. Readers fill in "
    "`right` for additions and `missed` for dialogues.",
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
    missed=text("To be filled in for a dialogue: how many annotations are still missing.", nullable=True),
    transcript=text("For a dialogue: what is said in each turn, and what gold sets there (added: +).", nullable=True),
    group=text("changed or unchanged: whether the correction added anything to the dialogue."),
    of=count("Dialogues of the group in the whole dataset."),
)

REVIEW: Final = Table(
    "review: A row per measure of a correction: of its additions, and of dialogues (Qian et al. 2021, Table 3). A "
    "changed dialogue is right if all of its additions are; an unchanged one is missed if it lacks an annotation.",
    unit=text("additions or dialogues: what is counted."),
    measure=text("precision, recall or f1."),
    value=share("The measure's estimate for the whole dataset; null: undefined."),
    **interval(share, "Lower end of the estimate's 95 % interval; null: undefined."),
    in_sample=share("The measure in the sample itself, unweighted, as in that paper; null: undefined."),
    right=count("Additions (dialogues) of the sample that are right."),
    wrong=count("Additions (dialogues) of the sample that are wrong."),
    missed=count("Annotations that are still missing in the sample (dialogues that are missed); null: not filled in."),
    dialogues=count("Dialogues of the sample."),
)

REVIEWED_ADDITIONS: Final = Table(
    "reviewed additions: One row for all additions of the sample, and one per slot, sorted: how many are right.",
    slot=text("domain-slot; null: all."),
    additions=count("Additions of the sample."),
    right=count("Of these: right."),
    wrong=count("Of these: wrong."),
    share=share("right / additions."),
    low=share("Lower end of its 95 % interval (Wilson's, adjusted because additions of one dialogue are alike)."),
    high=share("Upper end."),
)

REVIEWED_DIALOGUES: Final = Table(
    "reviewed dialogues: A row per group of the sample: how many are right (Qian et al. 2021, Table 3).",
    **SHEET.only("group", "of"),
    dialogues=count("Dialogues of the group in the sample."),
    right=count("Of these: all additions are right, or, if unchanged, no annotation is missing; null: not filled in."),
    wrong=count("Of these: the others; null: not filled in."),
    share=share("right / dialogues; null: not filled in."),
    complete=count("Of the right ones: no annotation is missing; null: not filled in."),
)

READER: Final = Table(
    "readers: A row per (reader, measure): each reader's review of additions, over the rows that all have filled in.",
    reader=text("The reader: the name of the sheet, without its ending."),
    **REVIEW.only("measure", "value", "low", "high", "right", "wrong", "missed", "dialogues"),
)

AGREEMENT: Final = Table(
    "agreement: A row per question of the sheet: how much its readers agree.",
    question=text("right: whether an addition is right; missed: how many annotations a dialogue lacks."),
    statistic=text("cohen: Cohen's kappa, of two readers; fleiss: Fleiss' kappa, of more."),
    readers=count("Readers."),
    rows=count("Rows that all readers have filled in."),
    left_out=count("Rows that at least one reader has left empty."),
    observed=share("Share of pairs of readers with the same answer, over these rows; null: no rows."),
    kappa=r("The same beyond chance; null: undefined, as there are no rows or all answers are equal."),
    **interval(r, "Lower end of its 95 % interval, by a bootstrap over dialogues; null: undefined."),
)

REPLACED: Final = Table(
    "replacements: A row per (dialogue, slot, old value), sorted by these: the new value in a replaced test set.",
    **LONG.only("dialogue"),
    slot=SLOT,
    value=text("The old value, as the states have it."),
    new=text("The new value."),
    states=count("Turns in whose state it was replaced."),
    mentions=count("Times it was replaced in the dialogue's utterances, counted over all its slots."),
)

REFUSED: Final = Table(
    "refused replacements: A row per (dialogue, slot, value), sorted by these: a value that is not replaced, and why.",
    **LONG.only("dialogue"),
    turn=turn("The first turn whose state has the value."),
    slot=SLOT,
    value=text("The value."),
    reason=text("not said: nobody has said it by then; ordinary word: it is mostly said in another sense."),
    said=count("Dialogues of the data and the training set that say it; null: not an ordinary word."),
    annotated=count("Of these: those whose states have it; null: not an ordinary word."),
)

MEMORISED_RUNS: Final = Table(
    "memorised values: A row per (run, kind): predicted values that are wrong, and how many nobody has said.",
    **SCORES.only("run"),
    kind=text("wrong: gold has another value; over: gold does not have the slot."),
    n=count("(turn, slot) pairs of this kind, counted as by the metric of that name."),
    searched=count("Of these: those whose value can be searched for in the utterances."),
    ungrounded=count("Of these: those whose value neither user nor system has said so far."),
    rate=share("ungrounded / searched; null: nothing was searched for."),
    in_train=count("Of the ungrounded: those whose value the training set has in the slot.", nullable=True),
    is_frequent=count("Of the ungrounded: those with the training set's most frequent value.", nullable=True),
    share=share("is_frequent / ungrounded; null: no training set, or none ungrounded."),
    **SCORES.only("signature"),
)

MEMORISED: Final = Table(
    "memorised values by slot: A row per (run, slot, kind), sorted: the same by slot, wrong before over.",
    **SCORES.only("run"),
    slot=SLOT,
    **MEMORISED_RUNS.only("kind", "n", "searched", "ungrounded", "rate", "in_train", "is_frequent", "share"),
    frequent=text("The training set's most frequent value of the slot; null: unknown."),
)

UNGROUNDED: Final = Table(
    "ungrounded values: A row per (run, slot, kind, value): predicted values nobody said, the most frequent first.",
    **SCORES.only("run"),
    place=count("From 1, the most frequent."),
    **MEMORISED.only("slot", "kind"),
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
    "doubtful gold values by slot: A row per slot, sorted: gold's values that contradict the database or were never "
    "said, once per dialogue and entity (Qian et al. 2021, section 7).",
    slot=SLOT,
    checked=count("Values of dialogues whose entity is in the database; null: no database."),
    contradicting=count("Of these: the database has another value.", nullable=True),
    rate_contradicting=share("contradicting / checked; null: nothing was checked."),
    searched=count("Values of dialogues that can be searched for in the utterances."),
    unsaid=count("Of these: neither user nor system says them up to the first turn whose state has them."),
    rate_unsaid=share("unsaid / searched; null: nothing was searched for."),
)

DOUBTFUL: Final = Table(
    "doubtful gold values: A row per value that contradicts the database or was never said, sorted.",
    slot=SLOT,
    kind=text("database: the entity named in the state has another value there; unsaid: nobody has said it."),
    **LONG.only("dialogue"),
    turn=turn("The first turn whose state has it."),
    value=text("Gold's value."),
    turns=count("Turns whose state has it."),
    name=text("The entity that gold names in that turn; null: unsaid."),
    database=text("The database's value; null: unsaid."),
)

# --- missing annotations ----------------------------------------------------------------------------------------------

PROPOSALS: Final = Table(
    "proposals: A row per missing annotation, with the evidence for it. Sorted by (dialogue, turn, slot).",
    **LONG.only("dialogue", "turn"),
    slot=SLOT,
    value=text("The value, spelled as gold mostly does in this slot (if gold never has it, as the ontology does)."),
    turns=count("Number of turns whose state lacks it: from this one to the last before gold has a value of the slot."),
    speaker=text("Who says the value: user, or system (in the utterance before the turn)."),
    said=text("The words that say it, as in the utterance."),
    start=count("Their first character in the utterance, from 0."),
    end=count("The character after their last."),
    utterance=text("The whole utterance."),
    rule=text("Why it belongs to the state: name, fact, feature, kind, cue, wish, or similar (`help audits`)."),
    entity=text("The place under discussion (a hotel's name); null: none."),
    fact=text("The value that the place has in the database; null: none."),
    refused=flag("Whether the user asks for another place; null: judged by similar places alone."),
    place=text(
        "What similar places share: the rule (slot=any: of any slot); or the word before the value, or the reply's "
        "first, and when other slots are annotated (now, between, before, next, earlier); null: no rule applies."
    ),
    annotated=count("Similar places in other dialogues in which gold annotates the slot with the value said there."),
    mentions=count("Similar places in other dialogues in which gold could annotate it."),
    share=share("annotated / mentions."),
    later=text("The slot's next value in gold's states of this dialogue; null: it has none."),
    round=count("The round of the search that found it, from 1; what earlier rounds found is evidence in later ones."),
)

RATES: Final = Table(
    "inconsistency rates: A row per slot: how often it is not annotated, though similar places are (Qian et al. 2021).",
    slot=SLOT,
    annotated=count("Times that gold sets the slot to a value that is said in the turn."),
    missing=count("Times that such an annotation is missing."),
    rate=share("missing / (annotated + missing); null: neither."),
    late=count("Of the missing: gold has the same value later in the dialogue."),
)

MODIFIED: Final = Table(
    "modified dialogues: A row per (split, domain, slot), sorted: dialogues that lack an annotation (Table 1).",
    split=text("The split; null: all dialogues. Splits have rows of their own only if there are several."),
    domain=text("The domain; null: all domains."),
    slot=text("domain-slot, any that gold has in any split; null: all slots of the domain."),
    dialogues=count("Dialogues in which an annotation is missing."),
    of_dialogues=count("Dialogues whose gold has the domain (all domains: dialogues)."),
    share=share("dialogues / of_dialogues; null: no dialogue has the domain."),
)

SHARES: Final = Table(
    "shares of speakers: A row per (slot, speaker): how often annotations of what this one says are missing (Fig 4).",
    slot=SLOT,
    **PROPOSALS.only("speaker"),
    **RATES.only("annotated", "missing", "rate"),
    share=share("Share of the slot's missing annotations; null: there are none."),
)

#: The two dialogues of a pair, and what their columns of `PAIRS` begin with.
OF_PAIR: Final = {
    "missing": "The dialogue in which the annotation is missing",
    "annotated": "The dialogue in which gold annotates it",
}

PAIRS: Final = Table(
    "pairs of places: A row per slot with missing annotations, those with most first: two dialogues in which the same "
    "speaker says a value, and gold annotates it in one only (Qian et al. 2021, Figs 1 and 10).",
    slot=SLOT,
    missing=count("The slot's missing annotations."),
    **PROPOSALS.only("speaker"),
    rule=text("As in proposals."),
    common=share("Share of the words of either turn (user and system) that both turns have."),
    **{
        f"{which}_{name}": column
        for which, dialogue in OF_PAIR.items()
        for name, column in {
            "dialogue": text(f"{dialogue}."),
            "turn": turn("The turn in which the value is said."),
            "system": text("What the system says before it; null: nothing."),
            "user": text("What the user says in it; null: nothing."),
            "value": text("The value that is said, as `proposals` spells it."),
            "start": count("The first character, in the speaker's utterance, of the words that say it, from 0."),
            "end": count("The character after their last."),
            "gold": text("Gold's value of the slot, as written; null: none."),
        }.items()
    },
)

SUMMARY: Final = Table(
    "inconsistency: One row: in how much of a dataset annotations are missing.",
    dialogues=count("Dialogues."),
    dialogues_changed=count("Dialogues in which an annotation is missing."),
    turns=count("Turns."),
    turns_changed=count("Turns whose state lacks an annotation."),
    missing=count("Missing annotations."),
    user=count("Of these: said by the user."),
    system=count("Of these: said by the system only."),
    late=count("Of these: gold has the same value later in the dialogue."),
    rounds=count("Rounds until no missing annotation was found."),
)

CANDIDATES: Final = Table(
    "candidates: A row per (dialogue, turn, slot) in which a value is said that gold could annotate, with all checks.",
    **PROPOSALS.only("dialogue", "turn", "slot", "value", "speaker", "said", "start", "end", "utterance"),
    decision=text(
        "added; annotated: gold sets the value; other: another value; no rule; seldom: gold annotates too "
        "few similar places; held: another addition sets the slot; left out: the rules leave it out."
    ),
    gold=text("Gold's value of the slot in this turn, as written; null: none."),
    rule=text("As in proposals; null: none applies."),
    failed=text("The nearest rule that does not apply, and which of its conditions do not hold; null: none."),
    **PROPOSALS.only("entity", "fact", "refused", "place"),
    annotated=count("Similar places in other dialogues that gold annotates; null: there is no evidence."),
    mentions=count("Similar places in other dialogues; null: there is no evidence."),
    share=share("annotated / mentions; null: there is no evidence."),
    rarely=flag("Whether these words are hardly ever annotated; null: judged by rules."),
    **{
        name: flag(f"{means}; null: judged by similar places alone.", nullable=True)
        for name, means in {
            "by_name": "The user names this place, or the system offers it alone and the user does not refuse it",
            "by_fact": "It is a value of the place that the system says and the database confirms (no row: is_beside)",
            "by_feature": "It says that the place, or every place, has or lacks a feature, or the user wishes for it",
            "by_kind": "It is the kind of place that the user asks for, or that the name says",
            "by_cue": "It follows words that tell the slot",
            "by_wish": "The user says it about the domain under discussion",
            "names_place": "The words are a name",
            "is_offered": "This place is the only one that the system names (one of several, if the rules take lists), "
            "and the user neither refuses it nor names one",
            "has_row": "The place under discussion has a row in the database",
            "is_beside": "The name of the place under discussion is in the same sentence",
            "each_has_it": "The system names several places, and each has the value in the database",
            "system_names_place": "The system names the place under discussion in this turn",
            "is_topic": "The domain is the last one annotated or spoken of, after the user's utterance",
            "was_topic": "The domain is the last one annotated or spoken of, before the user's utterance",
            "elsewhere": "The system names places of other domains",
            "of_domain": "The utterance has words of the domain",
            "of_other": "The sentence has words of another domain",
            "of_travel": "The sentence is about how to get there",
            "of_all": "The sentence is about all places",
            "denied": "The sentence denies something",
            "asked": "The user asks for information, or the system asks what the user wants",
            "queried": "The user asks whether a place has the value",
            "asks_kind": "The sentence asks for a kind of place",
            "is_held": "Gold has the value in another slot of the domain",
            "definite": "The words before it refer to a place already named (the church)",
            "in_name": "The words are part of a name",
        }.items()
    },
    values=count("Values of the slot that the speaker says in this turn; null: judged by similar places alone."),
    user_names=count("Places of the domain that the user names in this turn; null: judged by similar places alone."),
    system_names=count("The same for the system.", nullable=True),
    turns=count("As in proposals; null: not added."),
    later=text("As in proposals; null: none, or not added."),
    round=count("As in proposals; null: not added."),
    taken_by=text("The only slot that gold sets to this value in this turn; null: none, or several."),
    next_place=text("The place that gold names next, in a later turn; null: none, or judged by similar places alone."),
)
