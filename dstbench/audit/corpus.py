"""A dataset laid out for the search for missing annotations: its states and utterances, and the places they are about.

The dialogues that are judged come first; those that only show how gold annotates, the evidence, follow. Without a file
of evidence, the dialogues that are judged are each other's evidence; no dialogue is its own.

A domain has places (hotels, say) if gold has a slot for their names. A database gives more names, and the attributes of
each place; without one, the places are those that gold names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

import polars as pl

from dstbench.audit.inputs import Dialogues, agreed_facts, database_facts
from dstbench.audit.rules import Rules
from dstbench.audit.search import CANONICAL, DOMAIN, as_pattern, canonical, find_mentions, utterances, vocabulary
from dstbench.conventions.normalise import DONTCARE
from dstbench.schema.core import BETWEEN

#: Words are no value if a smaller share of the mentions of them is annotated.
RARELY: Final = 0.1
#: Names that are at least so similar (`difflib`) are spellings of one name.
ALIKE: Final = 0.88


@dataclass(frozen=True)
class Corpus:
    """A dataset laid out for the search; it stays the same while annotations are added."""

    # (row, dialogue, turn, is_data: whether it is judged, is_evidence: whether it is evidence for other dialogues,
    # talk: the number of the dialogue, id: the same for a dialogue and a copy of it in the evidence). Sorted: the
    # judged ones first, by dialogue and turn. Rows are numbered in this order, with one number left out between
    # dialogues, so that successive rows are of one dialogue.
    turns: pl.DataFrame
    # (row, slot, domain, written, every: the canonical alternatives, value: the first of these), gold's states,
    # without values that mean absent
    cells: pl.DataFrame
    forms: pl.DataFrame  # (slot, value, n), each canonical alternative, and in how many cells of the evidence it is
    spelled: pl.DataFrame  # (slot, value, written), how a canonical value is written if it is added
    begun: pl.DataFrame  # (talk, domain, row), the first row in which gold annotates the domain, be it with dontcare
    texts: pl.DataFrame  # as `search.utterances` returns them

    @property
    def data_turns(self) -> pl.DataFrame:
        """(row, dialogue, turn) of the dialogues that are judged."""
        return self.turns.filter("is_data").select("row", "dialogue", "turn")


def lay_out(data: Dialogues, searched: pl.DataFrame, evidence: Dialogues | None, over_dontcare: str) -> Corpus:
    """A dataset (and its `evidence`) laid out for a search; dontcare is no value of slots like `over_dontcare`."""
    parts = [(data, True), *([] if evidence is None else [(evidence, False)])]
    tables = (
        [getattr(part, name).with_columns(is_data=is_data) for part, is_data in parts]
        for name in ("turns", "cells", "said")
    )
    turns, cells, said = (pl.concat(table, how="diagonal_relaxed") for table in tables)
    key = ["is_data", "dialogue", "turn"]
    turns = turns.sort(pl.col("is_data").not_(), "dialogue", "turn").with_row_index("row", offset=1).with_columns(
        is_evidence=pl.lit(True) if evidence is None else ~pl.col("is_data"),
        talk=pl.struct("is_data", "dialogue").rle_id(),
        id=pl.col("dialogue").rank("dense").cast(pl.UInt32),
    )  # fmt: skip
    turns = turns.with_columns(pl.col("row") + pl.col("talk"))
    cells = cells.join(turns, on=key).with_columns(domain=DOMAIN).rename({"value": "written"})
    counts = cells.group_by("slot", "written").agg(n=pl.col("is_evidence").sum()).sort("slot", "written")
    every = canonical(counts["slot"], counts["written"]).str.split(BETWEEN).list.unique(maintain_order=True)
    is_open = (pl.col("every").list.join(BETWEEN) == DONTCARE) & pl.col("slot").str.contains(over_dontcare)
    counts = counts.with_columns(every=every).filter(~is_open)
    forms = counts.select("slot", "written", "n", value="every").explode("value")
    spelled = pl.concat([
        forms.filter(pl.col("n") > 0, ~pl.col("written").str.contains(BETWEEN, literal=True)),
        searched.select("slot", "written", "value", n=pl.lit(0, pl.UInt32)).select(forms.columns),
    ]).sort("n", "written", descending=[True, False])  # fmt: skip
    set_cells = cells.join(counts, on=["slot", "written"]).sort("row", "slot")
    return Corpus(
        turns=turns,
        cells=set_cells.select("row", "slot", "domain", "written", "every", value=pl.col("every").list.first()),
        forms=forms.group_by("slot", "value").agg(pl.col("n").sum()).sort("slot", "value"),
        spelled=spelled.unique(["slot", "value"], keep="first", maintain_order=True).drop("n"),
        begun=cells.group_by("talk", "domain").agg(pl.col("row").min()),
        texts=utterances(turns.join(said, on=key, how="left", maintain_order="left").select("row", "system", "user")),
    )


def with_changes(cells: pl.DataFrame) -> pl.DataFrame:
    """States (as `Corpus.cells`) with whether each value has `changed` since the turn before."""
    cells = cells.sort(pl.col("slot").cast(pl.Categorical).to_physical(), "row")
    slot, row, value = pl.col("slot"), pl.col("row"), pl.col("value")
    is_same = (slot == slot.shift(1)) & (row == row.shift(1) + 1) & (value == value.shift(1))
    return cells.with_columns(changed=~is_same.fill_null(False))


def first_of(conditions: Mapping[str, pl.Expr]) -> pl.Expr:
    """The name of the first condition that holds; null: none does."""
    return pl.coalesce(pl.when(holds).then(pl.lit(name)) for name, holds in conditions.items())


def look_up(rows: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with the columns of a frame that has one row per key, the columns that both have."""
    keys = [name for name in frame.columns if name in rows.columns]
    found = rows.select(keys).join(frame, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return rows.hstack(found.drop(keys))


def elsewhere(mentions: pl.DataFrame, key: list[str], counted: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """For each mention: how many mentions with the same key, in other dialogues (by `id`), count."""
    # Only sums, without arithmetic, so that Polars groups the mentions once per key and not once per sum.
    every, own = (
        mentions.select(is_counted.sum().over(by).alias(name) for name, is_counted in counted.items())
        for by in (key, [*key, "id"])
    )
    return every.select(pl.col(name) - own[name] for name in counted)


# --- places -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Places:
    """The places that a database has, or gold names, and what is said of them."""

    slots: list[str]  # those that the rules judge
    name_slots: pl.DataFrame  # (domain, slot), the slots of names
    facts: pl.DataFrame  # (domain, entity, slot, fact), the attributes of entities, canonical
    # (domain, name, entity, is_part, value), each canonical name of an entity, whether it is one word of the whole name
    # only, and the value that is added for it
    names: pl.DataFrame
    mentions: pl.DataFrame  # as `_with_sentences` returns them
    refusals: pl.DataFrame  # (row, domain), turns in which another place is asked for


def lay_out_places(corpus: Corpus, folder: str | None, rules: Rules) -> Places | None:
    """Find places, their attributes and the words of the rules in a corpus; None: gold names no places."""
    slot, value, is_cued = pl.col("slot"), pl.col("value"), pl.col("slot").is_in(list(rules.cues))
    of_gold = pl.concat([corpus.forms.filter(pl.col("n") > 0), corpus.spelled], how="diagonal")
    of_gold = of_gold.select("slot", "value").unique()
    domains = of_gold.select("slot", domain=DOMAIN).unique().sort("slot")
    name_slots = domains.filter(slot.str.contains(rules.names)).unique("domain", keep="first")
    of_places = domains.join(name_slots, on="domain", how="semi").filter(~slot.str.contains(rules.bookings))
    rows = database_facts(folder, of_places["slot"].to_list())
    rows = rows.join(name_slots.select("domain", name_slot="slot"), on="domain")
    entities = rows.select("domain", "entity").unique(maintain_order=True)
    facts = agreed_facts(rows.filter(slot != pl.col("name_slot"))).select("domain", "entity", "slot", "fact")
    if folder is not None:  # places of other domains are not judged
        name_slots = name_slots.join(entities, on="domain", how="semi")
        of_places = of_places.filter(slot.is_in([*facts["slot"], *name_slots["slot"]]))
    slots = pl.concat([of_places, domains.filter(is_cued)])["slot"].unique(maintain_order=True)
    if slots.is_empty():
        return None
    no_names = {CANONICAL("", word) for word in rules.no_names}
    values = pl.concat([of_gold, facts.select("slot", value="fact")]).unique().filter(slot.is_in(slots.implode()))
    values = values.filter(value != DONTCARE, ~(is_cued & value.is_in(list(no_names))))
    of_names = values.join(name_slots, on="slot").join(corpus.forms, on=["slot", "value"], how="left")
    # Names that gold has as values of other slots by a slip: the database's, and those that are names more often.
    n, is_name = pl.col("n"), slot.is_in(name_slots["slot"].implode())
    more_often = n.filter(is_name).sum() > n.filter(~is_name).sum()
    named = corpus.forms.group_by("value").agg(more_often).filter("n")["value"]
    slips = {*entities["entity"], *named} - {*facts["fact"]}
    searched = values.join(name_slots, on="slot", how="anti").filter(
        ~slot.is_in([*rules.features, *rules.kinds]),
        ~value.str.contains(r"^\d+$"),  # a number alone does not tell its slot; the rules have the words beside it
        is_cued | ~value.is_in(list(slips)),
    )
    names = _names(entities, of_names, no_names | {*searched.filter(~is_cued)["value"]}, rules)
    said_as = [
        (as_pattern(text), slot, CANONICAL(slot, value))
        for slot in {*slots} & {*values["slot"]}
        for value, listed in rules.said_as.get(slot, {}).items()
        for text in listed
    ]
    spoken = names.join(name_slots, on="domain").select("slot", value="name")
    listed = pl.concat([searched.select("slot", "value"), spoken])
    patterns = vocabulary(dict(listed.group_by("slot").agg("value").iter_rows())).drop("written")
    patterns = pl.concat([patterns, pl.DataFrame(said_as, patterns.schema, orient="row")])
    mentions = find_mentions(corpus.texts, patterns, corpus.turns)
    mentions = mentions.with_columns(names_place=is_name, is_kind=slot.is_in(list(rules.kinds)))
    mentions = _with_sentences(mentions, corpus, rules)
    return Places(slots.to_list(), name_slots, facts, names, mentions, _refusals(corpus, rules))


# --- names ------------------------------------------------------------------------------------------------------------


def _names(entities: pl.DataFrame, of_gold: pl.DataFrame, common: set[str], rules: Rules) -> pl.DataFrame:
    """`Places.names`: the names of the database and of gold, and short forms and words that mean one entity only."""
    ending = re.compile(rf"^(.{{4,}}?) (?:{'|'.join(map(re.escape, rules.name_endings))})$")
    small = common | {word for ending in rules.name_endings for word in ending.split()}

    def forms(name: str) -> list[str]:
        return [name, *(short[1] for short in [ending.match(name)] if short)]

    known = entities.rows()
    entity_of = _of_one(((domain, form), name) for domain, name in known for form in {*forms(name)} - common)
    entity_of |= {(domain, name): name for domain, name in known if name not in common}
    # Sorted: of names that are alike without signs, the same one is taken in every run.
    alike = {(domain, _bare(name, rules)): entity for (domain, name), entity in sorted(entity_of.items())}
    for domain, value in of_gold.select("domain", "value").iter_rows():
        if value not in common and len(value) > 3 and (domain, value) not in entity_of:  # misspells one, or is its own
            others = [bare for other, bare in alike if other == domain]
            close = (get_close_matches(_bare(text, rules), others, n=1, cutoff=ALIKE) for text in forms(value))
            entity_of[domain, value] = next((alike[domain, first] for first, *_ in filter(None, close)), value)
    words = _of_one(((domain, word), name) for domain, name in known for word in {*name.split()} - small)
    parts = {key: which for key, which in words.items() if len(key[1]) > 4 and key not in entity_of}
    rows = [(*key, which, key in parts) for key, which in {**entity_of, **parts}.items()]
    schema = {**dict.fromkeys(("domain", "name", "entity"), pl.String), "is_part": pl.Boolean}
    names = pl.DataFrame(rows, schema=schema, orient="row")
    names = names.join(of_gold.select("domain", "n", name="value"), on=["domain", "name"], how="left")
    # What is added for an entity is the one of its names that gold has most often.
    names = names.sort(
        pl.col("n").fill_null(0), pl.col("name") == pl.col("entity"), "name", descending=[True, True, False]
    )
    return names.with_columns(value=pl.col("name").first().over("domain", "entity")).drop("n").sort("domain", "name")


def _of_one(pairs: Iterable[tuple[tuple[str, str], str]]) -> dict[tuple[str, str], str]:
    """The (domain, words) that are of one entity only, and this entity."""
    entities: dict[tuple[str, str], set[str]] = {}
    for key, entity in pairs:
        entities.setdefault(key, set()).add(entity)
    return {key: min(which) for key, which in entities.items() if len(which) == 1}


def _bare(name: str, rules: Rules) -> str:
    """A name without signs, spaces and the s of genitives and plurals: the same for all its spellings."""
    words = re.sub(r"[\W_]+", " ", re.sub(r"['\u2019 ]?s\b", "", name))
    for phrase, meant in rules.phrases.items():
        words = re.sub(rf"\b{phrase}\b", meant, words)
    return words.replace(" ", "")


# --- sentences --------------------------------------------------------------------------------------------------------


def _sentences(text: pl.Expr, rules: Rules) -> pl.Expr:
    return text.str.to_lowercase().str.replace_all(rules.sentence_end, "${0}\n").str.split("\n")


def _with_sentences(mentions: pl.DataFrame, corpus: Corpus, rules: Rules) -> pl.DataFrame:
    """`Places.mentions`, of `search.find_mentions`."""
    text, sentence, is_user = pl.col("text"), pl.col("sentence"), pl.col("speaker") == "user"
    mentions = mentions.join(corpus.texts.select("row", "speaker", "text"), on=["row", "speaker"])
    head = text.str.head("start")
    mentions = mentions.with_columns(begun=_sentences(head, rules).list.last())
    tail = _sentences(text.str.slice("start"), rules).list.first()
    mentions = mentions.with_columns(sentence=pl.col("begun") + tail)
    before, slot = pl.col("begun").str.strip_chars_end(), pl.col("slot")
    mentions = mentions.filter(
        slot.is_in(rules.features) | ~before.str.contains(rules.excluded),
        ~pl.col("after").is_in(rules.streets).fill_null(False),
        # For some slots, a value counts only after certain words.
        ~slot.is_in(list(rules.cues)) | _contain(before, rules.cues),
    )
    asks = pl.when(is_user).then(sentence.str.contains(rules.request)).otherwise(sentence.str.contains(r"\?"))
    return mentions.select(
        "mention", "row", "speaker", "slot", "value", "names_place", "is_kind", "start", "end",
        "domain", "id", "is_evidence",
        sentence=head.str.to_lowercase().str.count_matches(rules.sentence_end),
        words=text.str.slice("start", pl.col("end") - pl.col("start")),
        in_address=pl.col("begun").str.contains(rules.address),
        queried=sentence.str.contains(rules.query),
        denied=sentence.str.contains(rules.negation),
        asked=asks & (is_user | pl.col("begun").str.contains(rules.offer)),
        of_all=sentence.str.contains(rules.every),
        of_travel=pl.any_horizontal(False, *(sentence.str.contains(rules.domains[domain]) for domain in rules.travel)),
        of_domain=_says_domain(text, rules, own=True),
        of_other=_says_domain(sentence, rules, own=False),
        definite=slot.str.contains(rules.types) & pl.col("before").is_in(rules.definite).fill_null(False),
        asks_kind=_contain(sentence, rules.kinds),
    )  # fmt: skip


def _contain(text: pl.Expr, patterns: Mapping[str, str]) -> pl.Expr:
    """Whether a text has the pattern of the row's slot."""
    rows = ((pl.col("slot") == slot, pattern) for slot, pattern in patterns.items())
    has = (is_slot & pl.when(is_slot).then(text).str.contains(pattern) for is_slot, pattern in rows)
    return pl.any_horizontal(False, *has)


def _says_domain(text: pl.Expr, rules: Rules, *, own: bool) -> pl.Expr:
    """Whether a text has words of the row's own domain, or (not `own`) of another one (`Rules.domains`)."""
    name, lower = pl.col("domain").str.to_lowercase(), text.str.to_lowercase()
    says = (
        (name.str.starts_with(domain) == own) & lower.str.contains(words) for domain, words in rules.domains.items()
    )
    return pl.any_horizontal(False, *says)


def _refusals(corpus: Corpus, rules: Rules) -> pl.DataFrame:
    """`Places.refusals`; a refusal in a sentence about another domain only is not one."""
    sentence, is_user, text = pl.col("sentence"), pl.col("speaker") == "user", pl.col("text")
    declined = corpus.texts.filter(is_user, text.str.to_lowercase().str.contains(rules.declined))["row"]
    is_withdrawn = sentence.str.contains(rules.withdrawal) & ~pl.col("row").is_in(declined.implode())
    sentences = corpus.texts.select("row", "speaker", sentence=_sentences(text, rules)).explode("sentence")
    sentences = sentences.filter((is_user & sentence.str.contains(rules.refusal)) | (~is_user & is_withdrawn))
    sentences = sentences.join(corpus.cells.select("domain").unique(), how="cross")
    own, other = (_says_domain(sentence, rules, own=own) for own in (True, False))
    return sentences.filter(own | ~other).select("row", "domain").unique()
