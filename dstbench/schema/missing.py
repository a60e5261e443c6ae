"""Columns and types of the tables of missing annotations."""

from __future__ import annotations

from typing import Final

from dstbench.schema.core import LONG, SLOT, Table, count, flag, number, text, turn

_SPEAKER: Final = text("Who says the value: user, or system (in the utterance before the turn).")

PROPOSALS: Final = Table(
    "proposals",
    "One row per annotation that is missing, and the evidence for it. Sorted by (dialogue, turn, slot).",
    **LONG.only("dialogue", "turn"),
    slot=SLOT,
    value=text("The value, as gold mostly spells it in this slot (else as the ontology does)."),
    turns=count("Turns whose state it is missing from: from this one on, until gold says otherwise."),
    speaker=_SPEAKER,
    said=text("The words that say it, as they stand in the utterance."),
    start=count("Their first character in the utterance, from 0."),
    end=count("The character after their last."),
    utterance=text("The whole utterance."),
    rule=text(
        "Why the value belongs to the state: name, fact, feature, kind, cue or wish (see `dstbench help audits`), or "
        "similar, as it is annotated in similar places."
    ),
    entity=text("The place under discussion (a hotel's name); null: none.", nullable=True),
    fact=text("The value that the place has in the database; null: none.", nullable=True),
    refused=flag(
        "Whether the user asks for another place, or wants what the one that the system offers has not; null: by "
        "similar places.",
        nullable=True,
    ),
    place=text(
        "What similar places in the corpus have in common, beside slot and speaker. Slots of places: the rule. Others: "
        "when else the domain is annotated (now, between, before, next, earlier), the value, the words before and "
        "after it (user), the first word of the reply and whether it is the only offer (system). A hyphen: no word."
    ),
    annotated=count("Similar places elsewhere in which gold annotates the slot with the value that is said."),
    mentions=count("Similar places elsewhere in which gold could annotate it."),
    share=number("annotated / mentions."),
    later=text("The slot's next value in gold's states of this dialogue; null: it has none.", nullable=True),
    round=count("The round in which it is found, from 1; what earlier rounds found is evidence in later ones."),
)

RATES: Final = Table(
    "inconsistency rates",
    "One row per slot: how often it is not annotated where similar places are (Qian et al. 2021). Sorted by slot.",
    slot=SLOT,
    annotated=count("Times that gold sets the slot to a value that is said in the turn."),
    missing=count("Times that such an annotation is missing."),
    rate=number("missing / (annotated + missing); null: neither.", nullable=True),
    late=count("Of the missing: gold has the same value later in the dialogue."),
)

MODIFIED: Final = Table(
    "modified dialogues",
    "One row per (split, domain, slot): in how many dialogues an annotation is missing (Qian et al. 2021, Table 1). "
    "Sorted by split as they are given, domain and slot; null last.",
    split=text("The split; null: all dialogues. Only where there are several.", nullable=True),
    domain=text("The domain; null: all domains.", nullable=True),
    slot=text("domain-slot, any that gold has in any split; null: all slots of the domain.", nullable=True),
    dialogues=count("Dialogues in which an annotation is missing."),
    of_dialogues=count("Dialogues whose gold has the domain (all domains: dialogues)."),
    share=number("dialogues / of_dialogues; null: no dialogue has the domain.", nullable=True),
)

SHARES: Final = Table(
    "shares of speakers",
    "One row per (slot, speaker): whose values are not annotated (Qian et al. 2021, Fig 4). A value that both say in "
    "the turn is the user's.",
    slot=SLOT,
    speaker=_SPEAKER,
    **RATES.only("annotated", "missing", "rate"),
    share=number("Share of the slot's missing annotations; null: there are none.", nullable=True),
)

#: The two dialogues of a pair, and what their columns of `PAIRS` begin with.
OF_PAIR: Final = {
    "missing": "The dialogue in which the annotation is missing",
    "annotated": "The dialogue in which gold annotates it",
}

PAIRS: Final = Table(
    "pairs of places",
    "One row per slot with missing annotations: two dialogues in which the same speaker says a value of it, for the "
    "same rule; one is annotated (Qian et al. 2021, Figs 1 and 10). If possible they say the same value; of these, the "
    "two that have the most words in common. The slot that lacks most annotations first.",
    slot=SLOT,
    missing=count("The slot's missing annotations."),
    speaker=_SPEAKER,
    rule=text("As in proposals."),
    common=number("Share of the words of either turn (user and system) that both turns have."),
    **{
        f"{which}_{name}": column
        for which, dialogue in OF_PAIR.items()
        for name, column in {
            "dialogue": text(f"{dialogue}."),
            "turn": turn("The turn in which the value is said."),
            "system": text("What the system says before it; null: nothing.", nullable=True),
            "user": text("What the user says in it; null: nothing.", nullable=True),
            "value": text("The value that is said, as `proposals` spells it."),
            "start": count("The first character, in the speaker's utterance, of the words that say it, from 0."),
            "end": count("The character after their last."),
            "gold": text("Gold's value of the slot, as written; null: none.", nullable=True),
        }.items()
    },
)

SUMMARY: Final = Table(
    "inconsistency",
    "One row: how much of a dataset has annotations that are missing.",
    dialogues=count("Dialogues."),
    dialogues_changed=count("Dialogues in which an annotation is missing."),
    turns=count("Turns."),
    turns_changed=count("Turns whose state lacks one."),
    missing=count("Missing annotations."),
    user=count("Of these: said by the user."),
    system=count("Of these: said by the system only."),
    late=count("Of these: gold has the same value later in the dialogue."),
    rounds=count("Rounds until no missing annotation was found."),
)

CANDIDATES: Final = Table(
    "candidates",
    "One row per mention of a value that gold could annotate in its turn: it sets the slot to the value there, to "
    "another one, or has none. With all that is asked of it, and what came of it. Sorted by (dialogue, turn, slot).",
    **PROPOSALS.only("dialogue", "turn", "slot", "value", "speaker", "said", "start", "end", "utterance"),
    decision=text(
        "added; annotated: gold sets the value here; other: gold sets another value; no rule: it belongs to the state "
        "by no rule; seldom: gold annotates too few similar places; held: what is added here or before has the slot; "
        "left out: the same words mean another slot, the talk is of another domain, the rules leave the slot out, or "
        "gold has another kind of place later."
    ),
    gold=text("Gold's value of the slot in this turn, as written; null: none.", nullable=True),
    rule=text("As in proposals; null: by none.", nullable=True),
    **PROPOSALS.only("entity", "fact", "refused", "place"),
    annotated=count("Similar places elsewhere that gold annotates; null: there is no evidence.", nullable=True),
    mentions=count("Similar places elsewhere; null: there is no evidence.", nullable=True),
    share=number("annotated / mentions; null: there is no evidence.", nullable=True),
    rarely=flag("Whether these words are hardly ever annotated; null: by rules.", nullable=True),
    **{
        name: flag(f"{means}; null: by similar places.", nullable=True)
        for name, means in {
            "by_name": "The user names this place, or the system offers it alone and the user does not refuse it",
            "by_fact": "It is a value of the place that the system says and the database confirms (no row: is_beside)",
            "by_feature": "It says that the place, or each, has a feature or has not, or the user wishes for it",
            "by_kind": "It is the kind of place that the user asks for, or that the name says",
            "by_cue": "It stands after words that tell the slot",
            "by_wish": "The user says it of the domain that is talked about",
            "names_place": "The words are a name",
            "is_offered": "This place is the only one that the system names (one of several, if the rules take lists), "
            "and the user neither refuses it nor names one",
            "has_row": "The place under discussion has a row in the database",
            "is_beside": "The name of the place under discussion stands in the same sentence",
            "each_has_it": "The system names several places, and each has the value in the database",
            "system_names_place": "The system names the place under discussion in this turn",
            "is_topic": "The domain is the last that was spoken of, after the user's words",
            "was_topic": "The domain is the last that was spoken of, before the user's words",
            "elsewhere": "The system names places of other domains",
            "of_domain": "The utterance has words of the domain",
            "of_other": "The utterance has words of another domain",
            "of_travel": "The sentence is about how to get there",
            "of_all": "The sentence is about all places",
            "vague": "The sentence is about almost all or some of them",
            "denied": "The sentence denies something",
            "asked": "The user asks for information, or the system asks what the user wants",
            "queried": "The user asks whether a place has the value",
            "indifferent": "The user does not mind",
            "asks_kind": "The sentence asks for a kind of place",
            "is_held": "Gold has the value in another slot of the domain",
            "definite": "The words before it mean a place that was named (the church)",
            "in_name": "The words stand within a name",
        }.items()
    },
    values=count("Values of the slot that the speaker says in this turn; null: by similar places.", nullable=True),
    user_names=count("Places of the domain that the user names in this turn; null: by similar places.", nullable=True),
    system_names=count("The same of the system.", nullable=True),
    turns=count("As in proposals; null: not added.", nullable=True),
    later=text("As in proposals; null: none, or not added.", nullable=True),
    round=count("As in proposals; null: not added.", nullable=True),
    taken_by=text("The only slot that gold sets to this value in this turn; null: none, or several.", nullable=True),
)
