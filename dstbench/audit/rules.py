"""The rules by which `discussion` judges what is said: words and patterns, in a file per language (`rules.json`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias, get_args

import msgspec
import polars as pl

from dstbench.conventions.files import read_json
from dstbench.errors import DstbenchError
from dstbench.typing import Preset

#: A pattern that nothing matches.
NOTHING: Final = "^\\b$"
#: A word in a text; a time of the day is one.
WORD: Final = r"\d{1,2}:\d{2}\b|\w+"
#: A regular expression.
Pattern: TypeAlias = str

#: Names of rules, and of their conditions: what is said, who says it, and others (`discussion.conditions`).
Rule: TypeAlias = Literal["name", "fact", "feature", "kind", "cue", "wish"]
Condition: TypeAlias = Literal[
    "a name", "a value", "a feature", "a kind", "in a name", "a cue",
    "by the user", "by the system", "by either",
    "the only name", "the only value", "the place is named", "an offer that stands", "not refused",
    "the row agrees", "confirmed", "not contradicted", "needs no row", "every place has it",
    "of the place", "of no other place", "of all places", "of the domain", "of the topic", "no trip",
    "in no other slot", "set in no other", "a kind is asked for", "no kind that users ask for", "a stated kind",
    "indefinite", "yes", "not denied", "not asked", "no question",
]  # fmt: skip


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words and patterns (regular expressions over text in lower case) of one language, and switches."""

    # by precedence, the ways in which each rule holds: what is said, who says it, and the other conditions
    rules: dict[Rule, list[Annotated[list[Condition], msgspec.Meta(min_length=2)]]]
    sentence_end: Pattern  # where a sentence ends, or a part of it that says something else ("but")
    refusal: Pattern  # the user asks for another place
    withdrawal: Pattern  # the system asks whether it should look for another place
    declined: Pattern  # the user says no to that
    negation: Pattern  # a sentence denies something
    excluded: Pattern  # the words before a value that is not meant ("not a")
    request: Pattern  # the user asks for information
    query: Pattern  # the user asks whether a place has a value
    offer: Pattern  # the system asks whether the user wants something
    every: Pattern  # a statement is about all places
    names: Pattern  # slots that hold the name of a place
    types: Pattern  # slots that hold the kind of a place
    bookings: Pattern  # slots that say something of a booking and nothing of the place
    domains: dict[str, Pattern]  # the beginning of a domain's name, with the words that are about the domain
    travel: list[str]  # domains whose sentences name a place only as the origin or goal of a trip
    definite: list[str]  # words before a kind of place that refer to a place already named
    streets: list[str]  # words after a name that make it the name of a street
    address: Pattern  # the words before a value that is part of an address
    no_names: list[str]  # names, in gold or the database, that are common words
    name_endings: list[str]  # words at the end of names that people leave out
    said_as: dict[str, dict[str, list[str]]]  # by slot and value, other words that say the value
    features: list[str]  # slots with the values yes and no, whose words only name the feature
    kinds: dict[str, Pattern]  # slots of a kind of place, with the phrases that ask for one
    stated_kinds: Pattern  # kinds of places that are added if the system says them
    cues: dict[str, Pattern]  # slots whose values follow words that tell the slot ("from"), with these words
    articles: Pattern  # words at the beginning of a name that make no difference
    small_words: Pattern  # words that do not tell one value from another; `s` is that of a genitive, split off
    joining_words: list[str]  # words that belong to the next one, or join two: invented names are not cut beside them
    numbers: dict[str, str]  # numbers that may be written out, and their digits
    phrases: dict[str, str]  # phrases that people use for others
    plurals: list[tuple[str, str]]  # endings of plurals, and what is in their place in the singular
    # patterns of an `hour`, perhaps with `minute` and `half` of the day; the minute without one; the hours to add
    clocks: list[tuple[str, str, int]]
    named_times: dict[str, str]  # words for a time of the day
    slots: Pattern = ""  # the slots of which values are added
    of_user: Pattern = ""  # slots of which values that the user says are added
    lists: Pattern = NOTHING  # slots of which several values are added, as alternatives
    # slots of which values are added even if gold has dontcare, or the user does not mind
    over_dontcare: Pattern = NOTHING
    refused: bool = False  # whether offers that the user refuses are added
    unconfirmed: Pattern = NOTHING  # slots of which values are added even if the database does not confirm them
    spoken: Pattern = NOTHING  # slots of which values are added only where the utterance has words of the domain
    early: Pattern = NOTHING  # slots of which values are added even before gold annotates the domain


def read_rules(path: str | PathLike[str] | None = None) -> Rules:
    """The rules in a JSON file, or of a preset (`typing.Preset`); those for English in place of what is left out."""
    folder, is_ours = Path(__file__).parent, path is None or path in get_args(Preset)
    source = str(folder / f"{path or 'rules'}.json" if is_ours else path)
    document = {**read_json(str(folder / "rules.json"), dict), **read_json(source, dict)}
    try:
        rules = msgspec.convert(document, Rules)
        # Compiling all patterns takes longer than reading them; for the rules that come with dstbench, tests do it.
        fault = None if is_ours else next(_faults(rules), None)
    except msgspec.ValidationError as error:
        fault = f"no rules: {error}"
    if fault is not None:
        raise DstbenchError(fault, file=source, hint="dstbench/audit/rules.json is an example")
    return rules


def _faults(rules: Rules) -> Iterator[str]:
    """Faults of rules that have the right types."""
    for name in (name for name, kind in Rules.__annotations__.items() if "Pattern" in str(kind)):
        value = getattr(rules, name)
        for pattern in (*value, *value.values()) if isinstance(value, dict) else [value]:
            try:
                pl.select(pl.lit("").str.contains(pattern))
            except pl.exceptions.ComputeError:
                yield f"`{name}` is not a valid regular expression: {pattern}"
    for domain in (domain for domain in rules.travel if domain not in rules.domains):
        yield f"`domains` does not say what is said of `{domain}`, which is in `travel`"
    for slot, by_value in rules.said_as.items():
        for words in (words for listed in by_value.values() for words in listed if not re.search(WORD, words)):
            yield f"`said_as` of {slot} has {words!r}, not a word"


#: The rules for English.
english: Final = cache(read_rules)
