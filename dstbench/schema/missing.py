"""Columns and types of the tables of missing annotations."""

from __future__ import annotations

from typing import Final

from dstbench.schema.core import LONG, SLOT, Table, count, flag, share, text, turn

_SPEAKER: Final = text("Who says the value: user, or system (in the utterance before the turn).")

PROPOSALS: Final = Table(
    "proposals",
    "One row per missing annotation, with the evidence for it. Sorted by (dialogue, turn, slot).",
    **LONG.only("dialogue", "turn"),
    slot=SLOT,
    value=text("The value, spelled as gold mostly does in this slot (if gold never has it, as the ontology does)."),
    turns=count("Number of turns whose state lacks it: from this one to the last before gold has a value of the slot."),
    speaker=_SPEAKER,
    said=text("The words that say it, as in the utterance."),
    start=count("Their first character in the utterance, from 0."),
    end=count("The character after their last."),
    utterance=text("The whole utterance."),
    rule=text(
        "Why the value belongs to the state: name, fact, feature, kind, cue or wish (see `dstbench help audits`), or "
        "similar (gold annotates it in similar places)."
    ),
    entity=text("The place under discussion (a hotel's name); null: none."),
    fact=text("The value that the place has in the database; null: none."),
    refused=flag(
        "Whether the user asks for another place, or wants something that the place offered does not have; null: "
        "judged by similar places alone."
    ),
    place=text(
        "What similar places in the corpus share besides slot and speaker: the rule (slot=any: not the slot, of which "
        "gold annotates fewer than 3); or, without a rule, the word before the value (user) or the first word of the "
        "reply (system) and, if there are enough, when other slots of the domain are annotated (now, between, before, "
        "next, earlier). A hyphen stands for no word; null: no rule applies.",
        nullable=True,
    ),
    annotated=count("Similar places in other dialogues in which gold annotates the slot with the value said there."),
    mentions=count("Similar places in other dialogues in which gold could annotate it."),
    share=share("annotated / mentions."),
    later=text("The slot's next value in gold's states of this dialogue; null: it has none."),
    round=count("The round of the search that found it, from 1; what earlier rounds found is evidence in later ones."),
)

RATES: Final = Table(
    "inconsistency rates",
    "One row per slot: how often it is not annotated although similar places are (Qian et al. 2021). Sorted by slot.",
    slot=SLOT,
    annotated=count("Times that gold sets the slot to a value that is said in the turn."),
    missing=count("Times that such an annotation is missing."),
    rate=share("missing / (annotated + missing); null: neither."),
    late=count("Of the missing: gold has the same value later in the dialogue."),
)

MODIFIED: Final = Table(
    "modified dialogues",
    "One row per (split, domain, slot): in how many dialogues an annotation is missing (Qian et al. 2021, Table 1). "
    "Sorted by split (in the order given), domain and slot; null last.",
    split=text("The split; null: all dialogues. Splits have rows of their own only if there are several."),
    domain=text("The domain; null: all domains."),
    slot=text("domain-slot, any that gold has in any split; null: all slots of the domain."),
    dialogues=count("Dialogues in which an annotation is missing."),
    of_dialogues=count("Dialogues whose gold has the domain (all domains: dialogues)."),
    share=share("dialogues / of_dialogues; null: no dialogue has the domain."),
)

SHARES: Final = Table(
    "shares of speakers",
    "One row per (slot, speaker): how often annotations of the values that this speaker says are missing (Qian et al. "
    "2021, Fig 4). A value that both say in the turn counts as the user's.",
    slot=SLOT,
    speaker=_SPEAKER,
    **RATES.only("annotated", "missing", "rate"),
    share=share("Share of the slot's missing annotations; null: there are none."),
)

#: The two dialogues of a pair, and what their columns of `PAIRS` begin with.
OF_PAIR: Final = {
    "missing": "The dialogue in which the annotation is missing",
    "annotated": "The dialogue in which gold annotates it",
}

PAIRS: Final = Table(
    "pairs of places",
    "One row per slot with missing annotations: two dialogues in which the same speaker says a value of the slot, and "
    "the same rule applies; gold annotates it in one of them only (Qian et al. 2021, Figs 1 and 10). If possible, both "
    "say the same value; of such pairs, the one with the most words in common. Slots with most missing annotations "
    "first.",
    slot=SLOT,
    missing=count("The slot's missing annotations."),
    speaker=_SPEAKER,
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
    "inconsistency",
    "One row: in how much of a dataset annotations are missing.",
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
    "candidates",
    "One row per mention of a value that gold could annotate in its turn: gold sets the slot to the value there, sets "
    "it to another one, or has none. With everything that the rules check, and the decision. Sorted by (dialogue, "
    "turn, slot).",
    **PROPOSALS.only("dialogue", "turn", "slot", "value", "speaker", "said", "start", "end", "utterance"),
    decision=text(
        "added; annotated: gold sets the value here; other: gold sets another value; no rule: no rule "
        "applies; seldom: gold annotates too few similar places; held: another addition, here or in an earlier turn, "
        "sets the slot; left out: the same words mean another slot, the talk is of another domain, the rules leave the "
        "slot out, or gold has another kind of place later."
    ),
    gold=text("Gold's value of the slot in this turn, as written; null: none."),
    rule=text("As in proposals; null: none applies."),
    failed=text(
        "Where no rule applies: the rule that comes nearest, and its conditions that do not hold (fact: of the place); "
        "null: a rule applies, none is about such words of this speaker, or judged by similar places alone."
    ),
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
            "of_other": "The utterance has words of another domain",
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
)
