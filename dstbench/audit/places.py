"""Evidence that an annotation is missing: what is said of the place under discussion, checked against a database.

For each domain that has places (a database of entities with names), the *place under discussion* of a turn is the one
that gold names in the state, else the one that the user names, else the only one that the system offers and the user
does not refuse; until another is named. A mention of a value belongs to the state by one of these rules:

- ``name``: the user names the place, or the system offers it alone and the user does not refuse it;
- ``fact``: the system says a value of the place under discussion, and the place's row in the database has it;
- ``feature``: the system says that the place has something (parking), or has not, as its row does; or that all places
  have it; or the user wishes for it;
- ``kind``: the user asks for a kind of place ("a hotel", "guest houses"), or its name says it, and the row agrees;
- ``wish``: the user says one value of the domain that is being talked about, and no row contradicts it.

The database only confirms what is said; nothing is taken from it. Of similar places (the same slot, speaker and rule),
gold must annotate some elsewhere in the corpus. Words and patterns are data (`rules.json`), one set per language.
(Qian et al. 2021, section 3.)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import polars as pl

from dstbench.audit.corpus import Corpus
from dstbench.audit.evidence import RARELY, elsewhere
from dstbench.audit.inputs import database_facts
from dstbench.audit.mentions import CANONICAL, WORD, Vocabulary, find_mentions, spans, squeezed
from dstbench.audit.rules import Rules
from dstbench.conventions.normalise import is_dontcare, spellings

_CELL: Final = ["row", "slot"]
_OF_DOMAIN: Final = ["row", "domain"]
_SENTENCE_END: Final = r"[.!?]+"
#: So many similar places elsewhere must be annotated.
SUPPORT: Final = 3


@dataclass(frozen=True)
class Places:
    """The places that a dataset's database has, and what is said of them.

    Attributes:
        slots: The slots that the rules judge.
        name_slots: (domain, slot), the slots of names.
        facts: (domain, entity, slot, fact), the attributes of entities, canonical.
        names: (domain, name, entity, value), each canonical name of an entity, and the name that is added for it: the
            one that gold has most often.
        mentions: What `mentions.find_mentions` gives, with `domain`, `words`, and what the rules say of the sentence.
        refusals: (row, domain), turns in which the user asks for another place.
    """

    slots: list[str]
    name_slots: pl.DataFrame
    facts: pl.DataFrame
    names: pl.DataFrame
    mentions: pl.DataFrame
    refusals: pl.DataFrame


def lay_out_places(corpus: Corpus, folder: str | None, rules: Rules) -> Places | None:
    """Find places, their attributes and the words of the rules in a corpus; None: gold names no places.

    Args:
        corpus: The corpus.
        folder: The database of the places; None: they are those that gold names, and nothing is known of them.
        rules: The rules.
    """
    forms = corpus.forms.filter(pl.col("n") > 0).select(pl.col("slot", "value").cast(pl.String))
    of_gold = pl.concat([forms, corpus.spelled.select("slot", "value")]).unique()
    domains = corpus.domains.cast(pl.String).join(of_gold, on="slot", how="semi").sort("slot")
    name_slots = domains.filter(pl.col("slot").str.contains(rules.names)).unique("domain", keep="first")
    slots = domains.join(name_slots, on="domain", how="semi").filter(~pl.col("slot").str.contains(rules.bookings))[
        "slot"
    ]
    rows = pl.DataFrame() if folder is None else database_facts(folder, slots.to_list())
    entities, facts = _entities(rows, name_slots)
    if folder is not None:  # the places of other domains are not judged
        name_slots = name_slots.filter(pl.col("domain").is_in(entities["domain"].implode()))
        slots = slots.filter(slots.is_in({*facts["slot"], *name_slots["slot"]}))
    if slots.is_empty():
        return None
    is_name = slots.is_in(name_slots["slot"].implode())
    values: dict[str, set[str]] = {slot: set() for slot in slots}
    for slot, value in (*of_gold.iter_rows(), *facts.select("slot", "fact").iter_rows()):
        if slot in values and not is_dontcare(value):
            values[slot].add(value)
    searched = {
        # A number alone does not tell its slot; the rules have the words beside it.
        slot: {value for value in values[slot] if not value.isdigit()}
        for slot in slots.filter(~is_name)
        if slot not in (*rules.features, *rules.kinds)
    }
    common = {CANONICAL("", word) for word in rules.no_names} | {
        value for listed in searched.values() for value in listed
    }
    names = _with_spelling(_names(entities, values, name_slots, common, rules), name_slots, corpus)
    patterns = [
        (pattern, slot, name)
        for slot, name in names.join(name_slots, on="domain").select("slot", "name").iter_rows()
        for pattern in sorted(_patterns(slot, name))
    ]
    patterns += [
        (_pattern(words), slot, CANONICAL(slot, value))
        for slot, by_value in rules.said_as.items()
        if slot in values
        for value, listed in by_value.items()
        for words in listed
    ]
    of_values = Vocabulary.of(searched).patterns
    every = pl.concat([of_values, pl.DataFrame(patterns, schema=of_values.schema, orient="row")])
    mentions = find_mentions(corpus.texts, Vocabulary(every.unique(maintain_order=True), {}))
    mentions = mentions.with_columns(is_name=pl.col("slot").is_in(name_slots["slot"].implode()))
    mentions = _with_sentences(spans(mentions, corpus.texts), corpus, rules)
    refusals = _refusals(corpus, rules, name_slots["domain"].to_list())
    return Places(slots.to_list(), name_slots, facts, names, mentions, refusals)


def _entities(rows: pl.DataFrame, name_slots: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The (domain, entity) of a database's rows (`inputs.database_facts`), and `Places.facts`."""
    schema = {"domain": pl.String, "entity": pl.String}
    if rows.is_empty():
        return pl.DataFrame(schema=schema), pl.DataFrame(schema={**schema, "slot": pl.String, "fact": pl.String})
    rows = rows.join(name_slots.rename({"slot": "name_slot"}), on="domain", maintain_order="left")
    rows = rows.with_columns(
        entity=_canonical(rows["name_slot"], rows["name"]), fact=_canonical(rows["slot"], rows["fact"])
    )
    facts = rows.filter(pl.col("slot") != pl.col("name_slot")).select("domain", "entity", "slot", "fact").unique()
    # Of entities with one name, only what they agree in.
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
    meant: dict[tuple[str, str], set[str]] = {}
    for domain, name in entities.iter_rows():
        forms = {name, name.removeprefix("the ")}
        forms |= {short[1] for form in forms if (short := endings.match(form))}
        for form in forms - common:
            meant.setdefault((domain, form), set()).add(name)
    entity_of = {key: min(which) for key, which in meant.items() if len(which) == 1}
    entity_of |= {(domain, name): name for domain, name in entities.iter_rows() if name not in common}
    alike = {(domain, _bare(name)): entity for (domain, name), entity in entity_of.items()}
    for domain, slot in name_slots.sort("domain").select("domain", "slot").iter_rows():
        for value in sorted(values[slot] - common):
            if len(value) > 3:
                entity_of.setdefault((domain, value), alike.get((domain, _bare(value)), value))
                alike.setdefault((domain, _bare(value)), entity_of[domain, value])
    rows = [(domain, name, entity) for (domain, name), entity in sorted(entity_of.items())]
    return pl.DataFrame(rows, schema=dict.fromkeys(("domain", "name", "entity"), pl.String), orient="row")


def _with_spelling(names: pl.DataFrame, name_slots: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """Names with the `value` that is added: the name of the entity that gold has most often."""
    used = corpus.forms.cast({"slot": pl.String, "value": pl.String}).join(name_slots, on="slot")
    used = used.group_by("domain", name="value").agg(pl.col("n").sum())
    counted = names.join(used, on=["domain", "name"], how="left").with_columns(pl.col("n").fill_null(0))
    best = counted.sort("n", pl.col("name") == pl.col("entity"), "name", descending=[True, True, False])
    best = best.unique(["domain", "entity"], keep="first", maintain_order=True)
    return names.join(best.select("domain", "entity", value="name"), on=["domain", "entity"])


def _bare(name: str) -> str:
    """A name without signs, spaces and the s of genitives and plurals, in which its spellings are equal."""
    whole = re.sub(r"\bb (?:and|&) b\b", "bed and breakfast", name)
    return re.sub(r"[\W_]", "", re.sub(r"['\u2019 ]?s\b", "", whole))


def _patterns(slot: str, value: str) -> set[str]:
    """Patterns of the spellings of a value; tokenisers split genitives off (``rosa s``)."""
    texts = {value, *spellings(slot, value)}
    texts |= {re.sub(r"(\w{3,})s\b", r"\1 s", text, count=1) for text in texts}
    return {_pattern(text) for text in texts}


def _pattern(text: str) -> str:
    """Words as `Vocabulary.patterns` has them."""
    return f" {'  '.join(re.findall(WORD, text.lower()))} "


def _sentences(text: pl.Expr) -> pl.Expr:
    return text.str.to_lowercase().str.replace_all(_SENTENCE_END, "${0}\n").str.split("\n")


def _with_sentences(mentions: pl.DataFrame, corpus: Corpus, rules: Rules) -> pl.DataFrame:
    """Mentions with the number of the `sentence` that they stand in, and what the rules say of it."""
    text, sentence, is_user = pl.col("text"), pl.col("sentence"), pl.col("speaker") == "user"
    number = text.str.head("start").str.count_matches(_SENTENCE_END)
    mentions = mentions.join(corpus.domains.cast(pl.String), on="slot").join(
        corpus.turns.select("row", "id", "is_evidence"), on="row"
    )
    mentions = mentions.with_columns(number=number, sentence=_sentences(text).list.get(number, null_on_oob=True))
    before = _sentences(text.str.head("start")).list.last()
    asks_kind = ((pl.col("slot") == slot) & sentence.str.contains(pattern) for slot, pattern in rules.kinds.items())
    travel = (sentence.str.contains(rules.domains[domain]) for domain in rules.travel)
    mentions = mentions.filter(
        ~(pl.col("is_name") & pl.col("after").is_in(rules.streets).fill_null(False))
    ).with_columns(
        queried=sentence.str.contains(rules.query),
        words=text.str.slice("start", pl.col("end") - pl.col("start")),
        denied=sentence.str.contains(rules.negation),
        asked=pl.when(is_user)
        .then(sentence.str.contains(rules.request))
        .otherwise(sentence.str.contains(r"\?") & before.str.contains(rules.offer)),
        indifferent=sentence.str.contains(rules.indifference),
        vague=sentence.str.contains(rules.vagueness),
        of_all=sentence.str.contains(rules.every),
        asks_kind=pl.any_horizontal(pl.lit(False), *asks_kind),
        of_travel=pl.any_horizontal(pl.lit(False), *travel),
        of_domain=_says_domain(text.str.to_lowercase(), rules, own=True),
        of_other=_says_domain(text.str.to_lowercase(), rules, own=False),
    )
    return mentions.drop("text", "sentence", "before", "after").rename({"number": "sentence"})


def _says_domain(text: pl.Expr, rules: Rules, *, own: bool) -> pl.Expr:
    """Whether a text has words of the row's own domain, or of another one."""
    is_own = {domain: pl.col("domain").str.to_lowercase().str.starts_with(domain) for domain in rules.domains}
    hits = [(is_own[domain] == own) & text.str.contains(pattern) for domain, pattern in rules.domains.items()]
    return pl.any_horizontal(pl.lit(False), *hits)


def _refusals(corpus: Corpus, rules: Rules, domains: list[str]) -> pl.DataFrame:
    """`Places.refusals`; a refusal in a sentence about another domain only is not one."""
    sentences = (
        corpus.texts.filter(speaker="user").select("row", sentence=_sentences(pl.col("text"))).explode("sentence")
    )
    sentences = sentences.filter(pl.col("sentence").str.contains(rules.refusal))
    sentences = sentences.join(pl.DataFrame({"domain": domains}, schema={"domain": pl.String}), how="cross")
    own, other = (_says_domain(pl.col("sentence"), rules, own=own) for own in (True, False))
    return sentences.filter(own | ~other).select(_OF_DOMAIN).unique()


def judge_places(corpus: Corpus, cells: pl.DataFrame, places: Places, rules: Rules) -> pl.DataFrame:
    """Whether each mention belongs to the state by a rule, and how gold treats similar ones elsewhere.

    Returns:
        Mentions with `rule` (null: none), `place` (the one under discussion) and `fact` (what the database says of it);
        `now` (gold's value of the slot, null: none) and `is_set` (to the value said, in this turn); and, of mentions
        elsewhere with the same slot, speaker and rule, `annotated` of `others`.
    """
    state = _state(corpus, cells)
    of_name = places.names.select("domain", "entity", added="value", value="name")
    names = places.mentions.filter("is_name").join(of_name, on=["domain", "value"])
    gold_names = state.join(places.name_slots, on=["domain", "slot"]).select(*_OF_DOMAIN, name="value")
    gold_names = gold_names.join(places.names, on=["domain", "name"]).select(*_OF_DOMAIN, annotated="entity")
    names = _without_common(names, gold_names)
    turns = _discussed(corpus, state, names, gold_names, places)
    said = pl.concat(
        [
            places.mentions.filter(~pl.col("is_name")),
            names.with_columns(value="added").drop("added"),
            _kinds_in_names(names, places),
        ],
        how="diagonal",
    )
    is_feature = pl.col("slot").is_in(rules.features)
    said = said.join(turns, on=_OF_DOMAIN).with_columns(
        value=pl.when(is_feature & pl.col("denied")).then(pl.lit("no")).otherwise("value")
    )
    said = said.join(places.facts.rename({"entity": "place"}), on=["domain", "place", "slot"], how="left")
    beside = names.select(*_OF_DOMAIN, "speaker", "sentence", place="entity", names_place=True).unique()
    said = said.join(beside, on=[*_OF_DOMAIN, "speaker", "sentence", "place"], how="left")
    said = said.with_columns(
        values=pl.col("value").n_unique().over("row", "speaker", "slot"),
    )
    rows = places.facts.select("domain", place="entity", has_rows=True).unique()
    said = said.join(rows, on=["domain", "place"], how="left").with_columns(pl.col("has_rows").fill_null(False))
    said = said.join(state.select(*_CELL, now="value", changed="changed"), on=_CELL, how="left")
    taken = state.filter("changed").select("row", "value", taken_by="slot").unique(["row", "value"], keep="none")
    said = said.join(taken, on=["row", "value"], how="left").with_columns(rule=_rule(rules, is_feature))
    is_set = ((pl.col("now") == pl.col("value")) & pl.col("changed")).fill_null(False)
    said = said.with_columns(is_set=is_set).sort(pl.col("rule").is_null(), "mention", "slot")
    said = said.unique(["row", "slot", "speaker", "value"], keep="first", maintain_order=True)
    # Where the state had the value before, there was nothing to annotate.
    could = pl.col("is_set") | pl.col("now").is_null()
    return said.with_columns(
        annotated=elsewhere(pl.col("is_evidence") & pl.col("is_set"), ["slot", "speaker", "rule"]),
        others=elsewhere(pl.col("is_evidence") & could, ["slot", "speaker", "rule"]),
    )


def propose_places(judged: pl.DataFrame) -> pl.DataFrame:
    """The mentions that ought to be annotated, one per turn and slot; what the user says goes first."""
    missing = judged.filter(pl.col("rule").is_not_null(), pl.col("now").is_null(), pl.col("annotated") >= SUPPORT)
    missing = missing.with_columns(share=pl.col("annotated") / pl.col("others"))
    order = ["row", "slot", pl.col("speaker") == "system", "mention"]
    missing = missing.sort(order).unique(_CELL, keep="first", maintain_order=True)
    return missing.drop("entity").rename({"place": "entity"})


def _state(corpus: Corpus, cells: pl.DataFrame) -> pl.DataFrame:
    """(row, slot, domain, value: canonical, changed: since the turn before) of gold's states."""
    forms = corpus.forms.select(pl.col("slot", "written", "value").cast(pl.String))
    forms = forms.unique(["slot", "written"], keep="first", maintain_order=True)
    state = cells.select("row", pl.col("slot").cast(pl.String), written=pl.col("value").cast(pl.String))
    state = state.join(forms, on=["slot", "written"]).select(*_CELL, "value")
    not_last = corpus.turns.filter(~pl.col("last")).select("row")
    was = state.join(not_last, on="row", how="semi").select(pl.col("row") + 1, "slot", was="value")
    return (
        state.join(was, on=_CELL, how="left")
        .join(corpus.domains.cast(pl.String), on="slot")
        .select(
            *_CELL,
            "value",
            "domain",
            changed=pl.col("value").ne_missing(pl.col("was")),
        )
    )


def _without_common(names: pl.DataFrame, gold_names: pl.DataFrame) -> pl.DataFrame:
    """Mentions of names but for those whose words hardly ever mean the place in gold (a restaurant called `ask`)."""
    is_meant = (pl.col("annotated") == pl.col("entity")).fill_null(False)
    words = ["slot", "value"]
    n, meant = (counted.sum().over(words) for counted in (pl.col("is_evidence"), pl.col("is_evidence") & is_meant))
    usual = (n <= 2 * SUPPORT) | (meant >= RARELY * n)
    return names.join(gold_names, on=_OF_DOMAIN, how="left").filter(usual).drop("annotated")


def _kinds_in_names(names: pl.DataFrame, places: Places) -> pl.DataFrame:
    """Mentions of kinds of places within names (``clare college``), where the place is of that kind."""
    facts = places.facts.filter(pl.col("slot").str.ends_with("-type"))
    kinds = names.drop("value", "added", "slot").join(facts.rename({"fact": "value"}), on=["domain", "entity"])
    says_kind = squeezed(pl.col("words")).str.contains(squeezed(pl.col("value")), literal=True)
    return kinds.filter(says_kind).with_columns(in_name=pl.lit(True), is_name=pl.lit(False))


def _discussed(
    corpus: Corpus, state: pl.DataFrame, names: pl.DataFrame, gold_names: pl.DataFrame, places: Places
) -> pl.DataFrame:
    """What is discussed in each turn and domain whose annotation has begun, or begins in the next turn.

    Returns:
        (row, domain, place: under discussion, `user_names` and `system_names`: how many places they name, offered: the
        only place that the system names and the user does not refuse, system_names_place: whether the place under
        discussion is among those that the system names, is_topic and was_topic: whether the domain is the
        last one that was annotated or spoken of, with the user's words and before them, elsewhere: whether the system
        names places of another domain).
    """
    domains = places.name_slots.select("domain").sort("domain")
    begun = state.join(corpus.turns, on="row").group_by("talk", "domain").agg(begin=pl.col("row").min())
    turns = corpus.turns.select("row", "talk").join(domains, how="cross")
    turns = turns.join(begun, on=["talk", "domain"]).sort("talk", "domain", "row")
    entity = pl.col("entity")
    by_speaker = names.group_by(*_OF_DOMAIN, "speaker").agg(n=entity.n_unique(), only=entity.first(), all=entity)
    for frame in (
        gold_names,
        *(
            by_speaker.filter(speaker=who).select(*_OF_DOMAIN, pl.col("n", "only", "all").name.prefix(f"{who}_"))
            for who in ("user", "system")
        ),
        state.filter("changed").select(_OF_DOMAIN).unique().with_columns(changed=True),
        places.refusals.with_columns(refused=True),
    ):
        turns = turns.join(frame, on=_OF_DOMAIN, how="left", maintain_order="left")
    turns = turns.with_columns(pl.col("changed", "refused").fill_null(False), pl.col("user_n", "system_n").fill_null(0))
    offered = pl.when((pl.col("system_n") == 1) & ~pl.col("refused")).then("system_only")
    named = pl.coalesce("annotated", pl.when(pl.col("user_n") == 1).then("user_only"), offered)
    is_open = named.is_null() & ((pl.col("system_n") > 0) | pl.col("refused"))  # several offered, or none wanted
    spoken_of = pl.col("changed") | (pl.col("user_n") > 0) | (pl.col("system_n") > 0)
    group = ["talk", "domain"]
    turns = turns.with_columns(
        offered=offered,
        place=pl.when(is_open).then(pl.lit("")).otherwise(named).forward_fill().over(group),
        spoken_of=pl.when(spoken_of).then("row").forward_fill().over(group),
    )
    before = pl.when(pl.col("system_n") > 0).then("row").otherwise(pl.col("spoken_of").shift(1).over(group))
    turns = turns.with_columns(before=before)
    return turns.filter(pl.col("begin") <= pl.col("row") + 1).select(
        *_OF_DOMAIN,
        "offered",
        place=pl.when(pl.col("place") != "").then("place"),
        system_names_place=pl.col("system_all").list.contains(pl.col("place")).fill_null(False),
        user_names="user_n",
        system_names="system_n",
        is_topic=(pl.col("spoken_of") == pl.col("spoken_of").max().over("row")).fill_null(False),
        was_topic=(pl.col("before") == pl.col("before").max().over("row")).fill_null(False),
        elsewhere=(pl.col("system_n") > 0).sum().over("row") > (pl.col("system_n") > 0).cast(pl.UInt32),
    )


def _rule(rules: Rules, is_feature: pl.Expr) -> pl.Expr:
    """The rule by which a mention belongs to the state; null: by none. See the module's docstring."""
    by_user, by_system = pl.col("speaker") == "user", pl.col("speaker") == "system"
    agrees, differs = ((pl.col("fact") == pl.col("value")) == same for same in (True, False))
    agrees, differs = agrees.fill_null(False), differs.fill_null(False)
    # Without a database, the place's name must stand in the same sentence.
    confirmed = pl.when("has_rows").then(agrees).otherwise(pl.col("names_place").fill_null(False))
    in_name, is_kind = pl.col("in_name").fill_null(False), pl.col("slot").is_in(list(rules.kinds))
    is_value = ~pl.col("is_name") & ~is_feature & ~is_kind & ~in_name & (pl.col("values") == 1)
    is_offer = (pl.col("offered") == pl.col("entity")) & (pl.col("user_names") == 0)
    is_named = (by_user & (pl.col("user_names") == 1)) | (by_system & is_offer).fill_null(False)
    of_domain = pl.col("of_domain") | ~pl.col("of_other")
    of_place = pl.col("system_names_place") | (
        (pl.col("system_names") == 0) & pl.col("was_topic") & ~pl.col("elsewhere") & of_domain
    )
    has_all = pl.col("of_all") & (pl.col("value") == "yes") & ~differs
    is_other = (pl.col("system_names") > 0) & ~pl.col("system_names_place")
    stated = by_system & ~pl.col("asked") & ((confirmed & ~is_other) | has_all)
    wished = by_user & (pl.col("value") == "yes") & ~pl.col("asked") & ~pl.col("indifferent") & ~differs
    asked_for = is_kind & ~in_name & by_user & (pl.col("values") == 1) & ~pl.col("of_travel")
    is_free = pl.col("taken_by").is_null() | (pl.col("taken_by") == pl.col("slot"))
    conditions = {
        "name": pl.col("is_name") & is_named,
        "fact": is_value & by_system & confirmed & of_place,
        "feature": is_feature & ~pl.col("vague") & (stated | wished),
        "kind": (in_name & is_named & agrees & (by_user | ~is_kind))
        | (asked_for & pl.when("asks_kind").then(~differs).otherwise(agrees)),
        "wish": is_value
        & by_user
        & pl.col("is_topic")
        & ~pl.col("denied")
        & ~pl.col("queried")
        & ~differs
        & is_free
        & of_domain,
    }
    return pl.coalesce(pl.when(condition).then(pl.lit(rule)) for rule, condition in conditions.items())
