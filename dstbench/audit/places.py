"""The places that a corpus is about (hotels, say): their names and attributes, and the mentions of these.

A domain has places if gold has a slot for their names. A database gives more names, and the attributes of each place;
without one, the places are those that gold names. Words and patterns are data (`rules.json`), one file per language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

import polars as pl

from dstbench.audit.corpus import Corpus, look_up
from dstbench.audit.inputs import database_facts
from dstbench.audit.mentions import CANONICAL, WORD, Vocabulary, find_mentions, spans
from dstbench.audit.rules import Rules
from dstbench.conventions.normalise import is_dontcare, spellings

_OF_DOMAIN: Final = ["row", "domain"]
#: Names that are at least so similar (`difflib`) are spellings of one name.
ALIKE: Final = 0.88


@dataclass(frozen=True)
class Places:
    """The places that a database has, or gold names, and what is said of them.

    Attributes:
        slots: The slots that the rules judge.
        domains: All domains that gold has, sorted.
        name_slots: (domain, slot), the slots of names.
        facts: (domain, entity, slot, fact), the attributes of entities, canonical.
        names: (domain, name, entity, value), each canonical name of an entity, and the value that is added for it.
        mentions: As `mentions.find_mentions` returns them, with `domain`, `words`, and what the rules say of the
            sentence and the utterance; `sentence` is its number in the utterance.
        refusals: (row, domain), turns in which the user asks for another place.
    """

    slots: list[str]
    domains: list[str]
    name_slots: pl.DataFrame
    facts: pl.DataFrame
    names: pl.DataFrame
    mentions: pl.DataFrame
    refusals: pl.DataFrame


def lay_out_places(corpus: Corpus, folder: str | None, rules: Rules) -> Places | None:
    """Find places, their attributes and the words of the rules in a corpus; None: gold names no places."""
    forms = corpus.forms.filter(pl.col("n") > 0).select("slot", "value")
    of_gold = pl.concat([forms, corpus.spelled.select("slot", "value")]).unique()
    domains = corpus.domains.join(of_gold, on="slot", how="semi").sort("slot")
    name_slots = domains.filter(pl.col("slot").str.contains(rules.names)).unique("domain", keep="first")
    slots = domains.join(name_slots, on="domain", how="semi").filter(~pl.col("slot").str.contains(rules.bookings))[
        "slot"
    ]
    cued = domains.filter(pl.col("slot").is_in(list(rules.cues)))
    entities, facts = _entities(database_facts(folder, slots.to_list()), name_slots)
    if folder is not None:  # places of other domains are not judged
        name_slots = name_slots.filter(pl.col("domain").is_in(entities["domain"].implode()))
        slots = slots.filter(slots.is_in({*facts["slot"], *name_slots["slot"]}))
    slots = pl.concat([slots, cued["slot"]]).unique(maintain_order=True)
    if slots.is_empty():
        return None
    is_name = slots.is_in(name_slots["slot"].implode())
    no_names = {CANONICAL("", word) for word in rules.no_names}
    values: dict[str, set[str]] = {slot: set() for slot in slots}
    for slot, value in (*of_gold.iter_rows(), *facts.select("slot", "fact").iter_rows()):
        if slot in values and not is_dontcare(value) and not (slot in rules.cues and value in no_names):
            values[slot].add(value)
    searched = {
        # A number alone does not tell its slot; the rules have the words beside it.
        slot: {value for value in values[slot] if not value.isdigit()}
        for slot in slots.filter(~is_name)
        if slot not in (*rules.features, *rules.kinds)
    }
    slips = _names_as_values(corpus, {*entities["entity"]} - {*facts["fact"]}, {*facts["fact"]}, name_slots)
    searched = {slot: listed if slot in rules.cues else listed - slips for slot, listed in searched.items()}
    common = no_names | {value for slot, listed in searched.items() for value in listed if slot not in rules.cues}
    names = _with_spelling(_names(entities, values, name_slots, common, rules), name_slots, corpus)
    named = names.join(name_slots, on="domain").select("slot", "name")
    said_as = {slot: by_value for slot, by_value in rules.said_as.items() if slot in values}
    mentions = find_mentions(corpus.texts, _vocabulary(searched, named, said_as))
    mentions = mentions.with_columns(
        names_place=pl.col("slot").is_in(name_slots["slot"].implode()), is_kind=pl.col("slot").is_in(list(rules.kinds))
    )
    mentions = _with_sentences(spans(mentions, corpus.texts), corpus, rules)
    discussed = domains["domain"].unique().sort().to_list()
    return Places(
        slots=slots.to_list(),
        domains=discussed,
        name_slots=name_slots,
        facts=facts,
        names=names,
        mentions=mentions,
        refusals=_refusals(corpus, rules, discussed),
    )


def _names_as_values(corpus: Corpus, of_database: set[str], facts: set[str], name_slots: pl.DataFrame) -> set[str]:
    """Names that gold has as values of other slots by a slip: the database's, and those that are names more often."""
    n, is_name = pl.col("n"), pl.col("slot").is_in(name_slots["slot"].implode())
    counts = corpus.forms.group_by("value").agg(of_names=n.filter(is_name).sum(), of_others=n.filter(~is_name).sum())
    return of_database | {*counts.filter(pl.col("of_names") > pl.col("of_others"))["value"]} - facts


def _vocabulary(
    searched: Mapping[str, set[str]], names: pl.DataFrame, said_as: Mapping[str, Mapping[str, list[str]]]
) -> Vocabulary:
    """The vocabulary of slots' values, of places' (slot, name), and of other words that say a value."""
    patterns = [(pattern, slot, name) for slot, name in names.iter_rows() for pattern in sorted(_patterns(slot, name))]
    patterns += [
        (_pattern(words), slot, CANONICAL(slot, value))
        for slot, by_value in said_as.items()
        for value, listed in by_value.items()
        for words in listed
    ]
    of_values = Vocabulary.of(searched).patterns
    every = pl.concat([of_values, pl.DataFrame(patterns, schema=of_values.schema, orient="row")])
    return Vocabulary(every.unique(maintain_order=True), {})


def _entities(rows: pl.DataFrame, name_slots: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The (domain, entity) of a database's rows (`inputs.database_facts`), and `Places.facts`."""
    rows = rows.join(name_slots.rename({"slot": "name_slot"}), on="domain", maintain_order="left")
    rows = rows.with_columns(
        entity=_canonical(rows["name_slot"], rows["name"]), fact=_canonical(rows["slot"], rows["fact"])
    )
    facts = rows.filter(pl.col("slot") != pl.col("name_slot")).select("domain", "entity", "slot", "fact").unique()
    # Of entities with the same name, only the attributes in which they agree.
    facts = facts.unique(["domain", "entity", "slot"], keep="none").sort("domain", "entity", "slot")
    return rows.select("domain", "entity").unique(maintain_order=True), facts


def _canonical(slots: pl.Series, values: pl.Series) -> pl.Series:
    return pl.Series([CANONICAL(*pair) for pair in zip(slots, values, strict=True)], dtype=pl.String)


def _names(
    entities: pl.DataFrame,
    values: dict[str, set[str]],
    name_slots: pl.DataFrame,
    common: set[str],
    rules: Rules,
) -> pl.DataFrame:
    """(domain, name, entity): the names of the database and of gold, and short forms that mean one entity only."""
    endings = re.compile(rf"^(.{{4,}}?) (?:{'|'.join(map(re.escape, rules.name_endings))})$")
    entities_of_form: dict[tuple[str, str], set[str]] = {}
    for domain, name in entities.iter_rows():
        short = endings.match(name)
        for form in {name, *([short[1]] if short else [])} - common:
            entities_of_form.setdefault((domain, form), set()).add(name)
    entity_of = {key: min(which) for key, which in entities_of_form.items() if len(which) == 1}
    entity_of |= {(domain, name): name for domain, name in entities.iter_rows() if name not in common}
    # Sorted: of names that are alike without signs, the same one is taken in every run.
    alike = {(domain, _bare(name, rules)): entity for (domain, name), entity in sorted(entity_of.items())}
    names_of: dict[str, list[str]] = {}
    for domain, bare in alike:
        names_of.setdefault(domain, []).append(bare)

    def entity(domain: str, name: str) -> str:
        """The entity whose name a name in gold misspells; the name itself if there is none."""
        short = endings.match(name)
        for cutoff in (1, ALIKE):
            for text in (name, short[1] if short else name):
                if close := get_close_matches(_bare(text, rules), names_of.get(domain, ()), n=1, cutoff=cutoff):
                    return alike[domain, close[0]]
        return name

    for domain, slot in name_slots.select("domain", "slot").sort("domain", "slot").iter_rows():
        for value in sorted(values[slot] - common):
            if len(value) > 3:
                entity_of.setdefault((domain, value), entity(domain, value))
                alike.setdefault((domain, _bare(value, rules)), entity_of[domain, value])
    entities_of_word: dict[tuple[str, str], set[str]] = {}
    for domain, name in entities.iter_rows():
        for word in name.split():
            entities_of_word.setdefault((domain, word), set()).add(name)
    small = common | {word for ending in rules.name_endings for word in ending.split()}
    parts = {
        (domain, word): min(which)
        for (domain, word), which in entities_of_word.items()
        if len(which) == 1 and len(word) > 4 and word not in small and (domain, word) not in entity_of
    }
    rows = [(*key, entity, key in parts) for key, entity in sorted({**entity_of, **parts}.items())]
    schema = {**dict.fromkeys(("domain", "name", "entity"), pl.String), "is_part": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _with_spelling(names: pl.DataFrame, name_slots: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """Names with the `value` that is added: the name of the entity that gold has most often."""
    used = corpus.forms.join(name_slots, on="slot")
    used = used.group_by("domain", name="value").agg(pl.col("n").sum())
    counted = names.join(used, on=["domain", "name"], how="left").with_columns(pl.col("n").fill_null(0))
    best = counted.sort("n", pl.col("name") == pl.col("entity"), "name", descending=[True, True, False])
    best = best.unique(["domain", "entity"], keep="first", maintain_order=True)
    return names.join(best.select("domain", "entity", value="name"), on=["domain", "entity"])


def _bare(name: str, rules: Rules) -> str:
    """A name without signs, spaces and the s of genitives and plurals: the same for all its spellings."""
    words = re.sub(r"[\W_]+", " ", re.sub(r"['\u2019 ]?s\b", "", name))
    for phrase, meant in rules.phrases.items():
        words = re.sub(rf"\b{phrase}\b", meant, words)
    return words.replace(" ", "")


def _patterns(slot: str, value: str) -> set[str]:
    """Patterns of the spellings of a value; tokenisers split genitives off (``rosa s``). Signs alone have none."""
    texts = {value, *spellings(slot, value)}
    texts |= {re.sub(r"(\w{3,})s\b", r"\1 s", text, count=1) for text in texts}
    return {_pattern(text) for text in texts if re.search(WORD, text)}


def _pattern(text: str) -> str:
    """Words as `Vocabulary.patterns` has them."""
    return f" {'  '.join(re.findall(WORD, text.lower()))} "


def _sentences(text: pl.Expr, rules: Rules) -> pl.Expr:
    return text.str.to_lowercase().str.replace_all(rules.sentence_end, "${0}\n").str.split("\n")


def with_sentence(mentions: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """Mentions (`mentions.spans`) with the `sentence` that they stand in, and its `number` in the utterance."""
    number = pl.col("text").str.head("start").str.to_lowercase().str.count_matches(rules.sentence_end)
    at = ["row", "speaker"]
    sentences = mentions.select(*at, "text").unique(at).select(*at, sentence=_sentences(pl.col("text"), rules))
    sentences = sentences.with_columns(number=pl.int_ranges(pl.col("sentence").list.len(), dtype=pl.UInt32))
    return look_up(mentions.with_columns(number=number), sentences.explode("sentence", "number"), [*at, "number"])


def _with_sentences(mentions: pl.DataFrame, corpus: Corpus, rules: Rules) -> pl.DataFrame:
    """`Places.mentions`, of mentions with their utterances (`mentions.spans`)."""
    text, sentence, is_user = pl.col("text"), pl.col("sentence"), pl.col("speaker") == "user"
    mentions = mentions.join(corpus.domains, on="slot").join(corpus.turns.select("row", "id", "is_evidence"), on="row")
    is_cued = pl.col("slot").is_in(list(rules.cues))
    # Some rules look at the sentence up to the mention only.
    begun = _sentences(pl.when(is_cued | ~is_user).then(text.str.head("start")), rules).list.last()
    mentions = with_sentence(mentions, rules).with_columns(begun=begun)
    asks_kind = _contain(sentence, rules.kinds)
    cued = _contain(pl.col("begun").str.strip_chars_end(), rules.cues)
    travel = (sentence.str.contains(rules.domains[domain]) for domain in rules.travel)
    # Utterances and sentences are judged once each, not once per mention.
    at = ["row", "speaker"]
    spoken_of = {domain: pl.col(f"says {domain}") for domain in rules.domains}
    says = (says.alias(f"says {domain}") for domain, says in domain_words(text.str.to_lowercase(), rules).items())
    utterances = mentions.select(*at, "text").unique(at).select(*at, *says)
    sentences = (
        mentions.select(*at, "number", "sentence")
        .unique([*at, "number"])
        .select(
            *at,
            "number",
            queried=sentence.str.contains(rules.query),
            denied=sentence.str.contains(rules.negation),
            asked=pl.when(is_user).then(sentence.str.contains(rules.request)).otherwise(sentence.str.contains(r"\?")),
            of_all=sentence.str.contains(rules.every),
            of_travel=pl.any_horizontal(pl.lit(False), *travel),
        )
    )
    # For some slots, a value counts only after certain words.
    mentions = mentions.filter(
        ~pl.col("after").is_in(rules.streets).fill_null(False),
        ~is_cued | cued,
    ).with_columns(
        definite=pl.col("slot").str.contains(rules.types) & pl.col("before").is_in(rules.definite).fill_null(False),
        words=text.str.slice("start", pl.col("end") - pl.col("start")),
        offered=is_user | pl.col("begun").str.contains(rules.offer),
        asks_kind=asks_kind,
    )
    mentions = mentions.drop("text", "sentence", "begun", "before", "after")
    mentions = look_up(look_up(mentions, utterances, at), sentences, [*at, "number"]).with_columns(
        asked=pl.col("asked") & pl.col("offered"),
        of_domain=says_domain(spoken_of, own=True),
        of_other=says_domain(spoken_of, own=False),
    )
    return mentions.drop("offered", *(f"says {domain}" for domain in rules.domains)).rename({"number": "sentence"})


def _contain(text: pl.Expr, patterns: Mapping[str, str]) -> pl.Expr:
    """Whether a text has the pattern of the row's slot."""
    rows = ((pl.col("slot") == slot, pattern) for slot, pattern in patterns.items())
    has = (is_slot & pl.when(is_slot).then(text).str.contains(pattern) for is_slot, pattern in rows)
    return pl.any_horizontal(pl.lit(False), *has)


def domain_words(text: pl.Expr, rules: Rules) -> dict[str, pl.Expr]:
    """Whether a text has words of each of `Rules.domains`."""
    return {domain: text.str.contains(pattern) for domain, pattern in rules.domains.items()}


def says_domain(spoken_of: Mapping[str, pl.Expr], *, own: bool) -> pl.Expr:
    """Whether a text, by its `domain_words`, has words of the row's own domain, or (not `own`) of another one."""
    name = pl.col("domain").str.to_lowercase()
    hits = ((name.str.starts_with(domain) == own) & says for domain, says in spoken_of.items())
    return pl.any_horizontal(pl.lit(False), *hits)


def _refusals(corpus: Corpus, rules: Rules, domains: list[str]) -> pl.DataFrame:
    """`Places.refusals`; a refusal in a sentence about another domain only is not one."""
    of_user = corpus.texts.filter(speaker="user")
    sentences = of_user.select("row", sentence=_sentences(pl.col("text"), rules)).explode("sentence")
    sentences = sentences.filter(pl.col("sentence").str.contains(rules.refusal))
    sentences = sentences.join(pl.DataFrame({"domain": domains}, schema={"domain": pl.String}), how="cross")
    own, other = (says_domain(domain_words(pl.col("sentence"), rules), own=own) for own in (True, False))
    return sentences.filter(own | ~other).select(_OF_DOMAIN).unique()
