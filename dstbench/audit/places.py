"""The places that a corpus is about (hotels, say): their names and attributes, and the mentions of these.

A domain has places if gold has a slot for their names. A database gives more names, and the attributes of each place;
without one, the places are those that gold names. Words and patterns are data (`rules.json`), one file per language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

import polars as pl

from dstbench.audit.corpus import Corpus
from dstbench.audit.inputs import database_facts
from dstbench.audit.mentions import CANONICAL, WORD, Vocabulary, as_pattern, find_mentions, spans
from dstbench.audit.rules import Rules
from dstbench.conventions.normalise import is_dontcare, spellings

#: Names that are at least so similar (`difflib`) are spellings of one name.
ALIKE: Final = 0.88


@dataclass(frozen=True)
class Places:
    """The places that a database has, or gold names, and what is said of them.

    Attributes:
        slots: The slots that the rules judge.
        name_slots: (domain, slot), the slots of names.
        facts: (domain, entity, slot, fact), the attributes of entities, canonical.
        names: (domain, name, entity, is_part, value), each canonical name of an entity, whether it is one word of the
            whole name only, and the value that is added for it.
        mentions: As `mentions.find_mentions` returns them, with `domain`, `words`, and what the rules say of the
            sentence and the utterance; `sentence` is its number in the utterance.
        refusals: (row, domain), turns in which the user asks for another place.
        indifference: (row, slot), turns in which the user says that such slots of some domain do not matter.
    """

    slots: list[str]
    name_slots: pl.DataFrame
    facts: pl.DataFrame
    names: pl.DataFrame
    mentions: pl.DataFrame
    refusals: pl.DataFrame
    indifference: pl.DataFrame


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
    used = {(slot, value): n for slot, value, n in corpus.forms.iter_rows()}
    counts = {
        domain: {value: used.get((slot, value), 0) for value in values[slot]}
        for domain, slot in name_slots.select("domain", "slot").iter_rows()
    }
    names = _names(entities, counts, common, rules)
    patterns = Vocabulary.of(searched).patterns
    spelled = [
        *(
            (text, slot, name)
            for slot, name in names.join(name_slots, on="domain").select("slot", "name").iter_rows()
            for text in _spellings(slot, name)
        ),
        *(
            (text, slot, CANONICAL(slot, value))
            for slot, by_value in rules.said_as.items()
            if slot in values
            for value, listed in by_value.items()
            for text in listed
        ),
    ]
    more = sorted({(as_pattern(text), slot, value) for text, slot, value in spelled})
    patterns = pl.concat([patterns, pl.DataFrame(more, patterns.schema, orient="row")]).unique(maintain_order=True)
    mentions = find_mentions(corpus.texts, patterns)
    mentions = mentions.with_columns(
        names_place=pl.col("slot").is_in(name_slots["slot"].implode()), is_kind=pl.col("slot").is_in(list(rules.kinds))
    )
    mentions = _with_sentences(spans(mentions, corpus.texts), corpus, rules)
    return Places(
        slots=slots.to_list(),
        name_slots=name_slots,
        facts=facts,
        names=names,
        mentions=mentions,
        refusals=_refusals(corpus, rules),
        indifference=_indifference(corpus, slots, rules),
    )


def _names_as_values(corpus: Corpus, of_database: set[str], facts: set[str], name_slots: pl.DataFrame) -> set[str]:
    """Names that gold has as values of other slots by a slip: the database's, and those that are names more often."""
    n, is_name = pl.col("n"), pl.col("slot").is_in(name_slots["slot"].implode())
    counts = corpus.forms.group_by("value").agg(of_names=n.filter(is_name).sum(), of_others=n.filter(~is_name).sum())
    return of_database | {*counts.filter(pl.col("of_names") > pl.col("of_others"))["value"]} - facts


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
    entities: pl.DataFrame, of_gold: Mapping[str, Mapping[str, int]], common: set[str], rules: Rules
) -> pl.DataFrame:
    """`Places.names`: the names of the database and of gold, and short forms and words that mean one entity only."""
    endings = re.compile(rf"^(.{{4,}}?) (?:{'|'.join(map(re.escape, rules.name_endings))})$")

    def forms(name: str) -> list[str]:
        short = endings.match(name)
        return [name, *([short[1]] if short else [])]

    known = entities.rows()
    entity_of = _of_one(((domain, form), name) for domain, name in known for form in {*forms(name)} - common)
    entity_of |= {(domain, name): name for domain, name in known if name not in common}
    # Sorted: of names that are alike without signs, the same one is taken in every run.
    alike = {(domain, _bare(name, rules)): entity for (domain, name), entity in sorted(entity_of.items())}

    def entity(domain: str, name: str) -> str:
        """The entity whose name a name in gold misspells; the name itself if there is none."""
        others = [bare for other, bare in alike if other == domain]
        for cutoff in (1, ALIKE):
            for text in forms(name):
                if close := get_close_matches(_bare(text, rules), others, n=1, cutoff=cutoff):
                    return alike[domain, close[0]]
        return name

    for domain, counts in of_gold.items():
        for value in counts.keys() - common:
            if len(value) > 3 and (domain, value) not in entity_of:
                entity_of[domain, value] = entity(domain, value)
    small = common | {word for ending in rules.name_endings for word in ending.split()}
    words = _of_one(((domain, word), name) for domain, name in known for word in {*name.split()} - small)
    parts = {key: which for key, which in words.items() if len(key[1]) > 4 and key not in entity_of}
    # What is added for an entity is the one of its names that gold has most often.
    rows = [
        (domain, name, which, (domain, name) in parts, of_gold.get(domain, {}).get(name, 0))
        for (domain, name), which in {**entity_of, **parts}.items()
    ]
    schema = {**dict.fromkeys(("domain", "name", "entity"), pl.String), "is_part": pl.Boolean, "n": pl.UInt32}
    names = pl.DataFrame(rows, schema=schema, orient="row")
    names = names.sort("n", pl.col("name") == pl.col("entity"), "name", descending=[True, True, False])
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


def _spellings(slot: str, value: str) -> set[str]:
    """The spellings of a value; tokenisers split genitives off (``rosa s``). Signs alone are none."""
    texts = {value, *spellings(slot, value)}
    texts |= {re.sub(r"(\w{3,})s\b", r"\1 s", text, count=1) for text in texts}
    return {text for text in texts if re.search(WORD, text)}


def _sentences(text: pl.Expr, rules: Rules) -> pl.Expr:
    return text.str.to_lowercase().str.replace_all(rules.sentence_end, "${0}\n").str.split("\n")


def _with_sentences(mentions: pl.DataFrame, corpus: Corpus, rules: Rules) -> pl.DataFrame:
    """`Places.mentions`, of mentions with their utterances (`mentions.spans`)."""
    text, sentence, is_user = pl.col("text"), pl.col("sentence"), pl.col("speaker") == "user"
    mentions = mentions.join(corpus.domains, on="slot").join(corpus.turns.select("row", "id", "is_evidence"), on="row")
    head, tail = text.str.head("start"), text.str.slice("start")
    mentions = mentions.with_columns(begun=_sentences(head, rules).list.last())
    mentions = mentions.with_columns(sentence=pl.col("begun") + _sentences(tail, rules).list.first())
    # For some slots, a value counts only after certain words.
    is_cued = pl.col("slot").is_in(list(rules.cues))
    is_feature = pl.col("slot").is_in(rules.features)
    mentions = mentions.filter(
        is_feature | ~pl.col("begun").str.strip_chars_end().str.contains(rules.excluded),
        ~pl.col("after").is_in(rules.streets).fill_null(False),
        ~is_cued | _contain(pl.col("begun").str.strip_chars_end(), rules.cues),
    )
    asks = pl.when(is_user).then(sentence.str.contains(rules.request)).otherwise(sentence.str.contains(r"\?"))
    return mentions.select(
        "mention", "row", "speaker", "first", "count", "slot", "value", "names_place", "is_kind", "start", "end",
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
        of_other=_says_domain(text, rules, own=False),
        definite=pl.col("slot").str.contains(rules.types) & pl.col("before").is_in(rules.definite).fill_null(False),
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
    return pl.any_horizontal(
        False,
        *(
            (name.str.starts_with(domain) == own) & lower.str.contains(pattern)
            for domain, pattern in rules.domains.items()
        ),
    )


def _refusals(corpus: Corpus, rules: Rules) -> pl.DataFrame:
    """`Places.refusals`; a refusal in a sentence about another domain only is not one."""
    sentence = pl.col("sentence")
    sentences = corpus.texts.filter(speaker="user").select("row", sentence=_sentences(pl.col("text"), rules))
    sentences = sentences.explode("sentence").filter(sentence.str.contains(rules.refusal))
    sentences = sentences.join(corpus.domains.select("domain").unique(), how="cross")
    own, other = (_says_domain(sentence, rules, own=own) for own in (True, False))
    return sentences.filter(own | ~other).select("row", "domain").unique()


def _indifference(corpus: Corpus, slots: pl.Series, rules: Rules) -> pl.DataFrame:
    """`Places.indifference`: of slots that the user's sentence names; if it names none, that the system asks about."""
    user, system = (
        corpus.texts.filter(speaker=who).select("row", _sentences(pl.col("text"), rules).alias(who))
        for who in ("user", "system")
    )
    sentence, asked = pl.col("user"), pl.col("system")
    asked_before = (
        system.explode("system").filter(asked.str.contains(rules.preference)).group_by("row").agg(asked.str.join(" "))
    )
    said = user.with_columns(first=sentence.list.first()).explode("user").join(asked_before, on="row", how="left")
    declines = (pl.col("first") == sentence) & sentence.str.contains(rules.no_preference) & asked.is_not_null()
    said = said.filter(sentence.str.contains(rules.indifference) | declines.fill_null(False))
    about_user = pl.any_horizontal(sentence.str.contains(words) for words in rules.asked_as.values())
    texts = said.select("row", text=pl.when(about_user).then(sentence).otherwise(asked))
    found = [
        texts.filter(pl.col("text").str.contains(words))
        .select("row")
        .join(slots.filter(slots.str.contains(slot)).to_frame("slot"), how="cross")
        for slot, words in rules.asked_as.items()
    ]
    return pl.concat(found).unique()
