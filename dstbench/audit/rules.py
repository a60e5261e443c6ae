"""The rules by which `places` judges what is said: words and patterns, in a file per language (`rules.json`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias, get_args

import msgspec
import polars as pl

from dstbench.audit.mentions import WORD
from dstbench.conventions.files import read_json
from dstbench.errors import DstbenchError
from dstbench.typing import Preset

#: A pattern that nothing matches.
NOTHING: Final = "^\\b$"
#: A regular expression.
Pattern: TypeAlias = str
_HINT: Final = "dstbench/audit/rules.json is an example"


#: Names of rules, and of their conditions: what is said, who says it, and others (`judging`).
Rule: TypeAlias = Literal["name", "fact", "feature", "kind", "cue", "wish"]
Condition: TypeAlias = Literal[
    "a name", "a value", "a feature", "a kind", "in a name", "a cue",
    "by the user", "by the system", "by either",
    "the only name", "the only value", "the place is named", "an offer that stands", "not refused",
    "the row agrees", "confirmed", "not contradicted", "needs no row", "every place has it",
    "it matters", "of the place", "of no other place", "of all places", "of the domain", "of the topic", "no trip",
    "in no other slot", "set in no other", "a kind is asked for", "no kind that users ask for", "a stated kind",
    "indefinite", "yes", "not denied", "not asked", "no question",
]  # fmt: skip


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words and patterns (regular expressions over text in lower case) of one language.

    Attributes:
        rules: By precedence, the ways in which each rule holds: what is said, who says it, and the other conditions.
        sentence_end: Where a sentence ends, or a part of it that says something else ("but").
        refusal: The user asks for another place.
        negation: A sentence denies something.
        excluded: The words before a value that is not meant.
        request: The user asks for information.
        indifference: The user says that something does not matter.
        preference: The system asks what the user prefers.
        no_preference: The user's answer begins so if there is no preference.
        asked_as: By slot (a pattern), the words that ask about it.
        query: The user asks whether a place has a value.
        offer: The system asks whether the user wants something.
        every: A statement is about all places.
        names: Slots that hold the name of a place.
        types: Slots that hold the kind of a place.
        bookings: Slots that say something of a booking and nothing of the place.
        domains: The beginning of a domain's name, with the words that are about the domain.
        travel: Domains whose sentences name a place only as the origin or goal of a trip.
        definite: Words before a kind of place that refer to a place already named.
        streets: Words after a name that make it the name of a street.
        address: The words before a value that is part of an address.
        no_names: Names, in gold or the database, that are common words.
        name_endings: Words at the end of names that people leave out.
        said_as: By slot and value, other words that say the value.
        features: Slots with the values yes and no, whose words only name the feature.
        kinds: Slots of a kind of place, with the phrases that ask for one.
        stated_kinds: Kinds of places that are added if the system says them.
        cues: Slots whose values follow words that tell the slot ("from"), with these words.
        articles: Words at the beginning of a name that make no difference.
        small_words: Words that do not tell one value from another; `s` is that of a genitive, split off.
        joining_words: Words that belong to the next one, or join two: invented names are not cut beside them.
        numbers: Numbers that may be written out, and their digits.
        phrases: Phrases that people use for others.
        plurals: Endings of plurals, and what is in their place in the singular.
        clocks: Patterns of an `hour`, perhaps with `minute` and `half` of the day; the minute if there is none; the
            hours to add.
        named_times: Words for a time of the day.
        slots: The slots of which values are added.
        of_user: Slots of which values that the user says are added.
        lists: Slots of which several values are added, as alternatives.
        over_dontcare: Slots of which values are added even if gold has dontcare.
        refused: Whether offers that the user refuses are added.
        unconfirmed: Slots of which values are added even if the database does not confirm them.
        spoken: Slots of which values are added only where the utterance has words of the domain.
        early: Slots of which values are added even before gold annotates the domain.
    """

    rules: dict[Rule, list[Annotated[list[Condition], msgspec.Meta(min_length=2)]]]
    sentence_end: Pattern
    refusal: Pattern
    negation: Pattern
    excluded: Pattern
    request: Pattern
    indifference: Pattern
    preference: Pattern
    no_preference: Pattern
    asked_as: dict[Pattern, Pattern]
    query: Pattern
    offer: Pattern
    every: Pattern
    names: Pattern
    types: Pattern
    bookings: Pattern
    domains: dict[str, Pattern]
    travel: list[str]
    streets: list[str]
    address: Pattern
    definite: list[str]
    no_names: list[str]
    name_endings: list[str]
    said_as: dict[str, dict[str, list[str]]]
    features: list[str]
    kinds: dict[str, Pattern]
    stated_kinds: Pattern
    cues: dict[str, Pattern]
    articles: Pattern
    small_words: Pattern
    joining_words: list[str]
    numbers: dict[str, str]
    phrases: dict[str, str]
    plurals: list[tuple[str, str]]
    clocks: list[tuple[str, str, int]]
    named_times: dict[str, str]
    slots: Pattern = ""
    of_user: Pattern = ""
    lists: Pattern = NOTHING
    over_dontcare: Pattern = NOTHING
    refused: bool = False
    unconfirmed: Pattern = NOTHING
    spoken: Pattern = NOTHING
    early: Pattern = NOTHING


@cache
def english() -> Rules:
    """The rules for English."""
    return read_rules()


def read_rules(path: str | PathLike[str] | None = None) -> Rules:
    """The rules in a JSON file, or of a preset by its name (`typing.Preset`); None: those for English.

    Rules that a file leaves out are those for English.

    Raises:
        DstbenchError: The file cannot be read, or has an unknown rule, a pattern that is not valid, words without a
            letter or digit, or no pattern for a domain of `travel`.
    """
    folder = Path(__file__).parent
    english, is_ours = str(folder / "rules.json"), path is None or path in get_args(Preset)
    source = english if path is None else str(folder / f"{path}.json" if is_ours else path)
    document = {**read_json(english, dict), **read_json(source, dict)}
    try:
        rules = msgspec.convert(document, Rules)
    except msgspec.ValidationError as error:
        raise DstbenchError(f"no rules: {error}", file=source, hint=_HINT) from None
    # Compiling all patterns takes longer than reading them; for the rules that come with dstbench, tests do it.
    if not is_ours and (fault := next(_faults(rules), None)) is not None:
        raise DstbenchError(fault, file=source, hint=_HINT)
    return rules


def _faults(rules: Rules) -> Iterator[str]:
    """Faults of rules that have the right types."""
    for name in (name for name, kind in Rules.__annotations__.items() if "Pattern" in str(kind)):
        value = getattr(rules, name)
        for pattern in value.values() if isinstance(value, dict) else [value]:
            try:
                pl.select(pl.lit("").str.contains(pattern))
            except pl.exceptions.ComputeError:
                yield f"`{name}` is not a valid regular expression: {pattern}"
    yield from (
        f"`domains` does not say what is said of `{domain}`, which is in `travel`"
        for domain in rules.travel
        if domain not in rules.domains
    )
    yield from (
        f"`said_as` of {slot} has {words!r}, not a word"
        for slot, by_value in rules.said_as.items()
        for listed in by_value.values()
        for words in listed
        if not re.search(WORD, words)
    )
