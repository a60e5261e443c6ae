"""Values that are said about the place under discussion and so belong to the state (Qian et al. 2021, section 3).

For each domain that has places (hotels, say), the *place under discussion* of a turn is the one that gold names in the
state, else the one that the user names, else the only one that the system offers and the user does not refuse. It stays
so until another is named. The file of rules says when a mention of a value belongs to the state (`Rules.rules`; in
words: `dstbench help audits`). The database only confirms what is said; nothing is taken from it. What the system says
of a slot is not added after the user has said that the slot does not matter. Gold must also annotate some mentions with
the same slot, speaker and rule in other dialogues of the corpus.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from dstbench.audit.corpus import RARELY, Corpus, Places, elsewhere, look_up
from dstbench.audit.rules import Condition, Rules
from dstbench.audit.search import squeezed
from dstbench.conventions.normalise import DONTCARE
from dstbench.schema.core import BETWEEN

_CELL: Final = ["row", "slot"]
_OF_DOMAIN: Final = ["row", "domain"]
# Whether gold has the value that is said, alone or among alternatives.
_IS_NOW: Final = pl.col("every").list.contains(pl.col("value")).fill_null(False)
#: Least number of similar places in other dialogues that gold must annotate.
SUPPORT: Final = 3
#: A single word of a name stands for it if gold has the name in at least this share of the turns that say the word.
MOSTLY: Final = 0.5


def _discuss(corpus: Corpus, state: pl.DataFrame, places: Places, rules: Rules) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What the turns are about in this state (`corpus.with_changes`): the mentions of names, and the turns.

    A turn has, of each domain of the dialogue, the `place` under discussion, the `next_place` that gold names, how many
    places `user_names` and `system_names`, the only one `offered` and not `refused`; whether the domain `has_begun`
    (gold annotates it up to the next turn), is the last one spoken of after the user's utterance (`is_topic`) and
    before it (`was_topic`), and whether the system names places of other domains (`elsewhere`).
    """
    annotated = state.join(places.name_slots, on=["domain", "slot"]).select(*_OF_DOMAIN, name="value")
    annotated = annotated.join(places.names, on=["domain", "name"]).select(*_OF_DOMAIN, annotated="entity")
    names, entity, group = _names_in(annotated, places), pl.col("entity"), ["talk", "domain"]
    begun = pl.concat([corpus.begun, state.join(corpus.turns, on="row").select(*group, "row")])
    begun = begun.group_by(group).agg(begin=pl.col("row").min())
    turns = corpus.turns.select("row", "talk").join(begun, on="talk").sort("talk", "domain", "row")
    by_user, by_system = (entity.filter(pl.col("speaker") == who) for who in ("user", "system"))
    said = names.group_by(_OF_DOMAIN).agg(
        user_names=by_user.n_unique(), user_only=by_user.first(),
        system_names=by_system.n_unique(), system_only=by_system.first(), system_all=by_system,
    )  # fmt: skip
    changed = state.filter("changed").select(_OF_DOMAIN).unique()
    wishes = places.mentions.filter(~pl.any_horizontal("names_place", "is_kind", "queried"), speaker="user")
    wishes = wishes.select(_OF_DOMAIN).unique()
    marks = {"changed": changed, "wishes": wishes, "refused": places.refusals}
    for frame in (annotated, said, *(rows.with_columns(pl.lit(True).alias(name)) for name, rows in marks.items())):
        turns = look_up(turns, frame)
    user_names, system_names = (pl.col(f"{who}_names").fill_null(0) for who in ("user", "system"))
    turns = look_up(turns, _contradicted(turns, state, places, rules).with_columns(contradicted=True))
    # A user who names the place that the system offers asks for no other one.
    takes_up = (user_names == 1) & pl.col("system_all").list.contains(pl.col("user_only"))
    asks_for_other = pl.col("refused").fill_null(False) & ~takes_up.fill_null(False)
    # An offer was not taken if the user only says what it should have, and gold has another place next.
    turns = turns.with_columns(next_place=pl.col("annotated").shift(-1).backward_fill().over(group))
    is_other_taken = (system_names == 1) & (user_names == 0) & (pl.col("next_place") != pl.col("system_only"))
    is_passed_over = is_other_taken & pl.col("wishes") & pl.col("annotated").is_null()
    is_refused = asks_for_other | pl.col("contradicted").fill_null(False) | is_passed_over.fill_null(False)
    turns = turns.with_columns(user_names, system_names, refused=is_refused)
    is_refused = pl.col("refused") & (not rules.refused)
    offered = pl.when((system_names == 1) & ~is_refused).then("system_only")
    named = pl.coalesce("annotated", pl.when(user_names == 1).then("user_only"), offered)
    is_open = named.is_null() & ((system_names > 0) | is_refused)  # several offered, or none wanted
    spoken_of = pl.col("changed").fill_null(False) | (user_names > 0) | (system_names > 0)
    turns = look_up(turns, _last_words(corpus, turns.filter(spoken_of), names, rules))
    # Of two domains that a turn is about, the topic is the one that was named last.
    last = pl.max_horizontal("system_last", pl.col("user_last") + 0.5)
    by_system, by_either = (pl.col("row") + at.fill_null(0) for at in (pl.col("system_last"), last))
    turns = turns.with_columns(
        offered=offered,
        place=pl.when(is_open).then(pl.lit("")).otherwise(named).forward_fill().over(group),
        topic=pl.when(spoken_of).then(by_either).forward_fill().over(group),
    )
    before = pl.when(system_names > 0).then(by_system).otherwise(pl.col("topic").shift(1).over(group))
    turns = turns.with_columns(before=before).select(
        *_OF_DOMAIN, "talk", "next_place", "offered", "refused", "user_names", "system_names",
        has_begun=pl.col("begin") <= pl.col("row") + 1,
        place=pl.when(pl.col("place") != "").then("place"),
        system_names_place=pl.col("system_all").list.contains(pl.col("place")).fill_null(False),
        is_topic=(pl.col("topic") == pl.col("topic").max().over("row")).fill_null(False),
        was_topic=(pl.col("before") == pl.col("before").max().over("row")).fill_null(False),
        elsewhere=(system_names > 0).sum().over("row") > (system_names > 0).cast(pl.UInt32),
    )  # fmt: skip
    return names, turns


def _names_in(annotated: pl.DataFrame, places: Places) -> pl.DataFrame:
    """Mentions of names, with `entity` and name `added`; not of words that hardly ever mean the place (`ask`)."""
    of_name = places.names.select("domain", "entity", "is_part", added="value", value="name")
    names = places.mentions.filter("names_place", ~(pl.col("of_travel") & (pl.col("speaker") == "user")))
    names = names.join(of_name, on=["domain", "value"]).join(annotated, on=_OF_DOMAIN, how="left")
    is_meant, is_evidence = (pl.col("annotated") == pl.col("entity")).fill_null(False), pl.col("is_evidence")
    n, meant = (counted.sum().over("slot", "value") for counted in (is_evidence, is_evidence & is_meant))
    is_known_part = pl.col("is_part") & (meant >= SUPPORT) & (meant >= MOSTLY * n)
    is_name = ~pl.col("is_part") & ((n <= 2 * SUPPORT) | (meant >= RARELY * n))
    return names.filter(is_known_part | is_name).drop("annotated")


def _last_words(corpus: Corpus, turns: pl.DataFrame, names: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """(row, domain, user_last, system_last): where each last names a domain or its place, if a row has several."""
    shared, text = turns.filter(pl.len().over("row") > 1).select(_OF_DOMAIN), pl.col("text")
    rest = (
        pl.when(pl.col("domain").str.to_lowercase().str.starts_with(domain)).then(
            text.str.extract(rf"(?s)^.*(?:{words})(.*)$").str.len_chars()
        )
        for domain, words in rules.domains.items()
    )
    texts = shared.join(corpus.texts.select("row", "speaker", text.str.to_lowercase()), on="row")
    ends = texts.select(*_OF_DOMAIN, "speaker", at=text.str.len_chars() - pl.coalesce(*rest, pl.lit(None, pl.UInt32)))
    starts = names.select(*_OF_DOMAIN, "speaker", at=pl.col("start").cast(pl.UInt32)).join(shared, on=_OF_DOMAIN)
    at = (pl.col("at").filter(pl.col("speaker") == who).max().alias(f"{who}_last") for who in ("user", "system"))
    last = pl.concat([ends, starts]).group_by(_OF_DOMAIN).agg(at)
    return last.with_columns(pl.col("user_last", "system_last").clip(upper_bound=9_999) / 20_000)


def _contradicted(turns: pl.DataFrame, state: pl.DataFrame, places: Places, rules: Rules) -> pl.DataFrame:
    """(row, domain) where gold sets, or the user says, a value that the only place offered does not have."""
    offers = turns.filter(pl.col("system_names") == 1).select(*_OF_DOMAIN, entity="system_only")
    facts = offers.join(places.facts, on=["domain", "entity"]).drop("entity")
    # Of a place without a row, what the system says of it is known.
    stated = places.mentions.filter(~pl.any_horizontal("names_place", "asked", "denied", "is_kind"), speaker="system")
    stated = stated.join(offers.join(places.facts, on=["domain", "entity"], how="anti"), on=_OF_DOMAIN, how="semi")
    stated = stated.filter(pl.col("value").n_unique().over(*_CELL) == 1)
    facts = pl.concat([facts, stated.select(*_OF_DOMAIN, "slot", fact="value").unique()], how="diagonal_relaxed")
    of_user = places.mentions.filter(speaker="user")
    is_question = pl.col("queried") | (pl.col("asked") & pl.col("slot").is_in(rules.features))
    wishes = of_user.filter(
        ~(is_question | pl.any_horizontal("names_place", "denied", "is_kind", "of_travel", "definite")),
        pl.col("of_domain") | ~pl.col("of_other"),
    )
    is_set = pl.col("changed") & (pl.col("value") != DONTCARE)
    set_elsewhere = state.filter(is_set).select("row", "value", other="domain")
    wishes = wishes.select(*_OF_DOMAIN, "slot", "value").join(set_elsewhere, on=["row", "value"], how="left")
    wishes = wishes.filter(pl.col("other").is_null() | (pl.col("other") == pl.col("domain")))
    # A user who asks whether the place has a value has not refused the place.
    questions = of_user.group_by(*_CELL, "value").agg(is_question=is_question.all()).filter("is_question")
    new = state.filter(is_set).join(questions, on=[*_CELL, "value"], how="anti")
    wanted = pl.concat([frame.select(*_OF_DOMAIN, "slot", "value") for frame in (new, wishes)])
    wanted = wanted.join(facts, on=[*_OF_DOMAIN, "slot"])
    differs = (pl.col("value") != pl.col("fact")).all().over(*_OF_DOMAIN, "slot")
    return wanted.filter(differs).select(_OF_DOMAIN).unique()


# --- the rules --------------------------------------------------------------------------------------------------------


def judge_places(corpus: Corpus, state: pl.DataFrame, places: Places, rules: Rules) -> pl.DataFrame:
    """The mentions that gold could annotate, with what the rules ask for, and the first `rule` that holds (null: none).

    Also gold's value `now`, whether it `is_set` to the value said in this turn, and how many of the `others` that are
    alike in slot, speaker and rule are `annotated`: of all slots, if gold annotates some of this one, but too few.
    """
    said = _with_facts(*_discuss(corpus, state, places, rules), state, places, rules)
    holds = said.select(**conditions(rules))
    cases = holds.unique()  # few combinations occur
    columns = {"rule": pl.String, "failed": pl.String, **{f"by_{rule}": pl.Boolean for rule in rules.rules}}
    verdicts = pl.DataFrame([_judge(case, rules) for case in cases.iter_rows(named=True)], columns, orient="row")
    said = said.hstack(look_up(holds, cases.hstack(verdicts)).select(verdicts.columns))
    said = said.with_columns(is_set=_IS_NOW & pl.col("changed"))
    said = said.sort(pl.col("rule").is_null(), "mention", "slot", "value")
    said = said.unique(["row", "slot", "speaker", "value"], keep="first", maintain_order=True)
    # If the state already had the value, there was nothing to annotate.
    said = said.filter(pl.col("is_set") | pl.col("now").is_null())
    is_evidence = pl.col("is_evidence")
    counts = {"annotated": is_evidence & pl.col("is_set"), "others": is_evidence}
    own, pooled = (elsewhere(said, [*slot, "speaker", "rule"], counts) for slot in (["slot"], []))
    is_pooled = own["annotated"].is_between(1, SUPPORT - 1)
    chosen = {name: own[name].zip_with(~is_pooled, pooled[name]) for name in counts}
    of_any_slot = pl.when(is_pooled).then(pl.lit(" slot=any")).otherwise(pl.lit(""))
    said = said.with_columns(**chosen, entity="place", place=pl.format("rule={}{}", "rule", of_any_slot))
    return said.with_columns(share=pl.col("annotated") / pl.col("others"))


def _judge(holds: Mapping[str, bool], rules: Rules) -> tuple[str | bool | None, ...]:
    """The first rule that holds; if none does, the nearest with its conditions that fail; whether each rule holds."""
    ways = [(rule, way) for rule, ways in rules.rules.items() for way in ways if holds[way[0]] and holds[way[1]]]
    failed = [(rule, [name for name in way if not holds[name]]) for rule, way in ways]
    holding = [rule for rule, fails in failed if not fails]
    nearest, fails = min(failed, key=lambda way: len(way[1]), default=("", []))
    of_nearest = f"{nearest}: {', '.join(fails)}" if fails else None
    return next(iter(holding), None), of_nearest, *(rule in holding for rule in rules.rules)


def propose_places(judged: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """The mentions that ought to be annotated, the user's first; if the rules add lists, with all that is said."""
    missing = judged.filter(pl.col("rule").is_not_null(), pl.col("now").is_null(), pl.col("annotated") >= SUPPORT)
    missing = missing.sort("row", "slot", pl.col("speaker") == "system", "mention", "value")
    values = pl.col("value").unique(maintain_order=True).over(*_CELL, "speaker", mapping_strategy="join")
    takes_lists = pl.col("slot").str.contains(rules.lists)
    return missing.with_columns(value=pl.when(takes_lists).then(values.list.join(BETWEEN)).otherwise("value"))


def _with_facts(
    names: pl.DataFrame, turns: pl.DataFrame, state: pl.DataFrame, places: Places, rules: Rules
) -> pl.DataFrame:
    """The mentions that the rules judge, with what is discussed in their turn, and what is known of slot and value."""
    facts, slot, is_own = places.facts, pl.col("slot"), pl.col("of_domain")
    kinds = facts.filter(slot.str.contains(rules.types)).rename({"fact": "value"})
    kinds = names.drop("value", "added", "slot").join(kinds, on=["domain", "entity"])
    says_kind = squeezed(pl.col("words")).str.contains(squeezed(pl.col("value")), literal=True)
    parts = [
        places.mentions.filter(~pl.col("names_place")),
        names.drop("value").rename({"added": "value"}),
        kinds.filter(says_kind).with_columns(in_name=True, names_place=False),
    ]
    said = pl.concat(parts, how="diagonal").join(turns, on=_OF_DOMAIN)
    is_early = slot.str.contains(rules.early) & (is_own | ~slot.str.contains(rules.spoken))
    is_denied = slot.is_in(rules.features) & pl.col("denied")
    said = said.filter(pl.col("has_begun") | is_early)
    said = said.with_columns(value=pl.when(is_denied).then(pl.lit("no")).otherwise("value"))
    beside = names.select(*_OF_DOMAIN, "speaker", "sentence", place="entity", is_beside=True).unique()
    offers = names.filter(speaker="system").select(*_OF_DOMAIN, "entity").unique()
    offers = offers.join(turns.filter(pl.col("system_names") > 1).select(*_OF_DOMAIN, "system_names"), on=_OF_DOMAIN)
    each = offers.join(facts.rename({"fact": "value"}), on=["domain", "entity"])
    each = each.group_by(*_OF_DOMAIN, "slot", "value").agg(each_has_it=pl.len() == pl.col("system_names").first())
    for frame in (
        facts.rename({"entity": "place"}),
        facts.select("domain", place="entity", has_row=True).unique(),
        beside,
        state.select(*_CELL, "every", "changed", now="value"),
        each,
        state.filter("changed").select("row", "value", taken_by="slot").unique(["row", "value"], keep="none"),
        state.group_by(*_OF_DOMAIN, "value").agg(holders=pl.len()),
    ):
        said = look_up(said, frame)
    several = slot.str.contains(rules.lists) & (pl.col("system_names") > 1)
    stands = ~pl.col("refused") | rules.refused
    is_offer = (pl.col("offered") == pl.col("entity")) | (several & stands)
    return said.with_columns(
        pl.col("in_name", "has_row", "is_beside", "each_has_it", "changed").fill_null(False),
        values=pl.col("value").n_unique().over("row", "speaker", "slot"),
        is_held=pl.col("holders").fill_null(0) > _IS_NOW.cast(pl.UInt32),
        is_offered=(is_offer & (pl.col("user_names") == 0)).fill_null(False),
    )


def conditions(rules: Rules) -> dict[Condition, pl.Expr]:
    """The conditions of rules (`rules.Condition`), of mentions as `judge_places` has them."""
    is_feature = pl.col("slot").is_in(rules.features)
    is_kind, is_cued = (pl.col("slot").is_in(list(listed)) for listed in (rules.kinds, rules.cues))
    needs_none = pl.col("slot").str.contains(rules.unconfirmed)
    takes_lists = pl.col("slot").str.contains(rules.lists)
    agrees = (pl.col("fact") == pl.col("value")).fill_null(False)
    of_domain = pl.col("of_domain") | ~pl.col("of_other")
    beside = pl.col("is_beside") & ~pl.col("in_address")
    names_none = pl.col("system_names") == 0
    of_place = names_none & pl.col("was_topic") & ~pl.col("elsewhere") & of_domain
    of_place &= pl.col("of_domain") | ~pl.col("slot").str.contains(rules.spoken)
    return {
        "a name": pl.col("names_place"),
        "a value": ~pl.any_horizontal("names_place", is_feature, is_kind, is_cued, "in_name"),
        "a feature": is_feature,
        "a kind": is_kind & ~pl.col("in_name"),
        "in a name": pl.col("in_name"),
        "a cue": is_cued,
        "by the user": (pl.col("speaker") == "user") & pl.col("slot").str.contains(rules.of_user),
        "by the system": pl.col("speaker") == "system",
        "by either": pl.lit(True),
        "the only name": takes_lists | (pl.col("user_names") == 1),
        "the only value": takes_lists | (pl.col("values") == 1),
        "the place is named": pl.col("system_names_place"),
        "an offer that stands": pl.col("is_offered"),
        "not refused": ~pl.col("refused") | rules.refused,
        "the row agrees": agrees,
        "confirmed": pl.when("has_row").then(agrees).otherwise(beside) | needs_none,
        "not contradicted": agrees | pl.col("fact").is_null() | needs_none,
        "needs no row": needs_none,
        "every place has it": pl.col("each_has_it"),
        "of the place": pl.col("system_names_place") | of_place,
        "of no other place": names_none | pl.col("system_names_place"),
        "of all places": pl.col("of_all"),
        "of the domain": of_domain,
        "of the topic": pl.col("is_topic") | (pl.col("of_domain") & ~pl.col("of_other")),
        "no trip": ~pl.col("of_travel"),
        "in no other slot": ~pl.col("is_held"),
        "set in no other": pl.col("taken_by").is_null() | (pl.col("taken_by") == pl.col("slot")),
        "a kind is asked for": pl.col("asks_kind"),
        "no kind that users ask for": ~is_kind,
        "a stated kind": pl.col("value").str.contains(rules.stated_kinds),
        "indefinite": ~pl.col("definite"),
        "yes": pl.col("value") == "yes",
        "not denied": ~pl.col("denied"),
        "not asked": ~pl.col("asked"),
        "no question": ~pl.col("queried"),
    }
