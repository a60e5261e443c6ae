"""Replaces the entities of a test set by others that no model can have seen in training (Qian et al. 2021, §4).

Conventions: an *entity* is what a value names in one dialogue. Spellings that differ only in case, spaces and signs
name the same entity, and so do the alternatives of a value (``a|b``). Every entity of a chosen slot gets one new name
in the whole dialogue: in all its slots, and in what user and system say. Where values overlap, the longest is replaced
(not ``cambridge`` in ``cambridge belfry``, if that is a value of any dialogue). Words that misspell a name (``ashely
hotel``) are replaced with it. Numbers, times, days, yes and no, and dontcare are no names and stay, in states and
texts, and so do *ordinary words*, in all dialogues. Any other value must have been said by the time a state first has
it; else its dialogue is omitted, or kept unchanged.

A value is an ordinary word if at least `LEAST` dialogues say it in lower case but never have it in their states, and
these are more than `SHARE` of all dialogues that say it in lower case: 172 dialogues of MultiWOZ 2.1 say ``ask``,
mostly as in ``may I ask``, and in 26 of them it is annotated, as a restaurant.

New names are given, of a dataset, or invented: from ``acorn guest house`` and ``worth lodge`` comes ``acorn lodge``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from os import PathLike, fspath
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from dstbench.audit.corpus import ALIKE
from dstbench.audit.inputs import gold_cells, spoken_texts
from dstbench.audit.rules import english
from dstbench.audit.search import bare_words, in_words, longest_first, padded, squeezed
from dstbench.conventions.files import read_json
from dstbench.conventions.normalise import is_text
from dstbench.conventions.slots import canonical_slot, domain_of
from dstbench.errors import DstbenchError, UsageError, check_known, number_of, warn
from dstbench.readers import Source, sniff
from dstbench.schema.audit import REFUSED, REPLACED
from dstbench.schema.core import BETWEEN
from dstbench.schema.record import Record
from dstbench.writers.rewrite import rewrite, spoken

LEAST: Final = 10
SHARE: Final = 0.75
#: Where new values come from: {slot: values}, a JSON file of these, a dataset, or None: they are invented.
Donors: TypeAlias = "Mapping[str, Sequence[str]] | str | PathLike[str] | None"
#: An example of a file of donors.
FORM: Final = '{"hotel-name": ["The Gable", "Quill House"]}'
# The most names that are invented for a slot.
_INVENTED_PER_SLOT: Final = 1000
# Other words for departure and destination, in SGD and elsewhere.
_FROM: Final = ("departure", "origin", "origincity", "originstation", "from", "fromcity", "fromlocation", "fromstation")
_TO: Final = ("destination", "destinationcity", "destinationstation", "to", "tocity", "tolocation", "tostation")
# The slots that are replaced by default: names and places.
_DEFAULT_SLOTS: Final = r"(^|[-_ ])(name|departure|destination)$"
_ENTITY: Final = ["dialogue", "entity"]
# Misspelt are names of at least so many letters; their spellings have at most so many words.
_LEAST_LETTERS: Final = 6
_MOST_WORDS: Final = 6
# The regular expression around patterns: upper or lower case, from the beginning of a word to the end of one.
_WHOLE: Final = r"(?i)\b(?:{})\b"
# Between the letters of a word there may be an apostrophe, a hyphen or a space, and any signs between words. Not all
# signs that Unicode knows: compiling these takes longer than the search.
_IN_WORD: Final = "['\u2019 -]?"
_SIGNS: Final = r"\s!-/:-@\[-`{-~\u2018-\u201e\u2013\u2014"


@dataclass(frozen=True)
class Replacement(Record):
    """What has been replaced, and what could not be, as frames (schemas in `dstbench.schema.audit`).

    Attributes:
        replaced: The manifest: one row per dialogue, slot and old value, schema `REPLACED`.
        refused: The values that are not replaced: those that nobody has said, whose dialogues are omitted (or kept
            unchanged), and ordinary words; schema `REFUSED`.
    """

    replaced: pl.DataFrame
    refused: pl.DataFrame


def replace(
    data: str | PathLike[str],
    out: str | PathLike[str],
    *,
    train: str | PathLike[str],
    donors: Donors = None,
    invent: bool = False,
    mapping: Mapping[str, str | Sequence[str]] | None = None,
    slots: Sequence[str] | None = None,
    seed: int = 0,
    keep_unfound: bool = False,
) -> Replacement:
    """Write a dataset again, with the values of some slots replaced by values that are not in the training set.

    States and utterances change; dialogue acts, spans and goals in the file do not.

    Args:
        data: The dataset: a file or folder with gold states and utterances. Its format is one that `rewrite` can write.
        out: The dataset to write, in the same format.
        train: The training set; no new value is one of its values. Nor is it said in it.
        donors: New values: JSON {slot: [values]}, or a dataset with these slots; None: they are built from the
            words of the training set's names. In Python, also a mapping.
        invent: Build new values from the words of the donors' names. Otherwise they are used as they are.
        mapping: A slot, and the donors' slot whose values it gets: restaurant-name=Restaurants_2-restaurant_name. In
            Python, a mapping; a slot may get the values of several.
        slots: The slots whose values are replaced; None: those called name, departure or destination.
        seed: Random seed of the choice of new values. The same seed gives the same bytes.
        keep_unfound: Keep dialogues whose values nobody says, unchanged. By default they are omitted.

    Returns:
        What was replaced, and what was refused.

    Raises:
        DstbenchError: A file cannot be used, or there are too few donors that are new.
        UsageError: The data, or the donors, do not have one of the slots.
    """
    texts, seen, cells = spoken(data), read_content(train), gold_cells(data)
    datasets = (seen, Content(cells, texts.select("dialogue", "text")))
    slots_of_data, chosen = cells["slot"].unique().sort(), sorted({canonical_slot(slot) for slot in slots or ()})
    check_known(chosen, slots_of_data.to_list(), "the data have no slot {!r}")
    chosen = chosen or [slot for slot in slots_of_data if re.search(_DEFAULT_SLOTS, slot)]
    if not chosen:
        raise UsageError("no slot is called name, departure or destination", hint="say which: --slots SLOT,SLOT")
    sources = {
        canonical_slot(slot): [others] if isinstance(others, str) else others
        for slot, others in (mapping or {}).items()
    }
    check_known(sources, chosen, "{!r} is not among the slots that are replaced")
    ordinary = ordinary_words(datasets)
    names = _names(cells, chosen, ordinary)
    pieces = _pieces(texts, names, datasets)
    mentions = pieces.drop_nulls("entity").group_by(_ENTITY).agg(mentions=pl.len(), first_said=pl.col("turn").min())
    refused = _refused(cells.filter(pl.col("slot").is_in(chosen)), names, mentions, ordinary)
    not_said = refused.filter(reason="not said").select("dialogue").unique()
    entities = names.drop_nulls("slot").join(not_said, on="dialogue", how="anti").select(*_ENTITY, "slot").unique()
    if entities.is_empty():
        what = f"no dialogue is left with a value to replace in {', '.join(chosen)}"
        reasons = refused.group_by("reason").len().sort("reason").iter_rows()
        counts = ", ".join(f"{n:,} {reason}" for reason, n in reasons)
        hint = f"values that stay: {counts}" if counts else "--slots names others"
        raise DstbenchError(what, file=str(data), hint=hint)
    wanted = entities["slot"].unique().sort().to_list()
    values = candidates = donor_values(donors, wanted, seed, train=seen, invent=invent, mapping=sources)
    for content in datasets:
        values = unseen(values, content)
    if lacking := [slot for slot in wanted if slot not in values["slot"]]:
        n = candidates.filter(pl.col("slot").is_in(lacking)).height
        what = f"of {number_of(n, 'donor value')}, none is new" if n else "no donor values"
        if donors is None or invent:
            what = "the words of the known names are too few to invent new ones"
        source = train if donors is None else donors
        raise DstbenchError(
            f"{what} for {', '.join(lacking)}",
            file=str(source) if isinstance(source, (str, PathLike)) else None,
            hint="name other slots (--slots), slots of the donors (--map SLOT=SLOT), or other donors (--donors): "
            f"a dataset, or a JSON file of values: {FORM}",
        )
    new_names = _assign(entities.sort(_ENTITY), values, seed)
    changed = cells.join(_renamed(names, new_names), on=["dialogue", "value"], maintain_order="left")
    rewrite(
        data,
        out,
        states=changed.select("dialogue", "turn", "slot", value="new"),
        said=_retold(pieces, new_names),
        without=[] if keep_unfound else not_said["dialogue"].to_list(),
    )
    manifest = changed.group_by("dialogue", "slot", "value", "new", "entity").agg(states=pl.len())
    manifest = manifest.join(mentions, on=_ENTITY, how="left").with_columns(pl.col("mentions").fill_null(0))
    return Replacement(REPLACED.conform(manifest).sort("dialogue", "slot", "value"), refused)


def _names(cells: pl.DataFrame, chosen: list[str], ordinary: pl.DataFrame) -> pl.DataFrame:
    """(dialogue, value, name, key, pattern, entity, slot): the alternatives of each dialogue's values, in their order.

    `key` (the name squeezed) and `pattern` are null if it is no name, `entity` also if it is an ordinary word; `slot`
    is the chosen one whose donors the entity gets, null if there is none.
    """
    names = cells.select("dialogue", "value").unique(maintain_order=True)
    names = names.with_columns(name=pl.col("value").str.split(BETWEEN)).explode("name")
    distinct = names.select(pl.col("name").unique()).with_columns(key=squeezed(pl.col("name")))
    patterns = [_pattern(name) if is_text(name) and key else None for name, key in distinct.iter_rows()]
    distinct = distinct.with_columns(pattern=pl.Series(patterns, dtype=pl.String)).drop_nulls("pattern")
    is_ordinary = value_key(pl.col("name")).is_in(ordinary["key"].implode())
    merged = names.join(distinct, on="name", how="left", maintain_order="left").with_columns(
        entity=pl.when(~is_ordinary).then("key")
    )
    # All alternatives of a value get the smallest key, then all names with the same key, until nothing changes:
    # from a|b and b|c, all of a, b and c become the entity a.
    in_value = pl.when(pl.col("entity").is_not_null()).then(pl.col("entity").min().over("dialogue", "value"))
    while not merged.equals(names):
        names, merged = (
            merged,
            merged.with_columns(entity=in_value).with_columns(pl.col("entity").min().over("dialogue", "key")),
        )
    wanted = cells.filter(pl.col("slot").is_in(chosen)).select("dialogue", "value", "slot").unique()
    wanted = wanted.join(names.drop_nulls("entity"), on=["dialogue", "value"])
    slots = wanted.group_by(_ENTITY).agg(pl.col("slot").min())
    return names.join(slots, on=_ENTITY, how="left", maintain_order="left")


def _pattern(value: str) -> str:
    """A regular expression of a value in texts, to be put into `_WHOLE`.

    >>> college = _WHOLE.format(_pattern("saint johns college"))
    >>> [bool(re.search(college, text)) for text in ("Saint John's", "Saint John's College")]
    [False, True]
    """
    parts = re.split(r"([\W_]+)", re.sub(r"^[\W_]+|[\W_]+$", "", value))  # words, with signs between
    return "".join(
        f"[{_SIGNS}{''.join(sign for sign in part if not sign.isascii())}]*" if at % 2 else _IN_WORD.join(part)
        for at, part in enumerate(parts)
    )


def _pieces(texts: pl.DataFrame, names: pl.DataFrame, datasets: Sequence[Content]) -> pl.DataFrame:
    """(row, dialogue, turn, speaker, before, said, entity): texts with names, cut after each mention of the longest.

    Of dialogues with a chosen entity. `entity` is null if the mention `said` is of another value of the datasets, or an
    ordinary word; the last piece of each text has no mention.
    """
    spelled = names.drop_nulls("pattern").filter(pl.col("slot").is_not_null().any().over("dialogue"))
    longer = longer_values(spelled.select("dialogue", "name").unique(), texts, datasets)
    longer = longer.with_columns(
        key=squeezed(pl.col("name")), pattern=pl.Series(map(_pattern, longer["name"]), dtype=pl.String)
    )
    spelled = spelled.select("dialogue", "key", "pattern", "entity", bare=value_key(pl.col("name")))
    spelled = pl.concat([spelled, longer.drop("name")], how="diagonal")
    texts = texts.with_row_index("row")
    pieces = _cut(texts, spelled)
    misspelt = _misspelt(pieces, spelled, datasets)
    spelled = pl.concat([spelled, misspelt], how="diagonal")
    is_again = pl.col("dialogue").is_in(misspelt["dialogue"].implode())
    again = _cut(texts.filter(is_again), spelled.filter(is_again))
    pieces = pl.concat([pieces.filter(~is_again), again]).filter(pl.col("said").list.len() > 0).sort("row")
    no_mention = pl.lit([None], pl.List(pl.String))
    pieces = pieces.with_columns(pl.col("said").list.concat(no_mention)).explode("before", "said")
    pieces = pieces.with_columns(key=squeezed(pl.col("said")))
    entities = spelled.select("dialogue", "key", "entity").unique()
    return pieces.join(entities, on=["dialogue", "key"], how="left", maintain_order="left").drop("key")


def _cut(texts: pl.DataFrame, spelled: pl.DataFrame) -> pl.DataFrame:
    """Texts, as lists: what stands `before` each of the dialogue's names, and the names `said`."""
    longest_first = -pl.col("key").str.len_chars().cast(pl.Int64)
    patterns = spelled.select("dialogue", "key", "pattern").unique().sort("dialogue", longest_first, "key", "pattern")
    whole = pl.format(_WHOLE, pl.col("pattern").str.join("|"))
    patterns = patterns.group_by("dialogue", maintain_order=True).agg(pattern=whole)
    text, any_name = pl.col("text"), pl.col("pattern")
    cut = texts.join(patterns, on="dialogue", maintain_order="left")
    cut = cut.with_columns(before=text.str.split(any_name, literal=False), said=text.str.extract_all(any_name))
    return cut.drop("text", "pattern")


def _misspelt(cut: pl.DataFrame, spelled: pl.DataFrame, datasets: Sequence[Content]) -> pl.DataFrame:
    """(dialogue, key, pattern, entity) of words that misspell the name of an entity (`Ashely Hotel`).

    They are at least `ALIKE` to the name without its article, and have a word that fewer than 1 % of dialogues say.
    """
    from rapidfuzz import process
    from rapidfuzz.distance import Indel

    said, text = pl.concat([content.texts for content in datasets]), bare_words(pl.col("text")).str.split(" ")
    words = said.select("dialogue", word=text).explode("word").unique().group_by("word").len()
    rare = words.filter(pl.col("len") < max(LEAST, 0.01 * said["dialogue"].n_unique()))["word"]
    names = spelled.drop_nulls("entity").filter(pl.col("bare").str.len_chars() >= _LEAST_LETTERS)
    names = names.select("dialogue", "bare", "entity").unique()
    rest = (
        cut.select("dialogue", "before").explode("before").join(names, on="dialogue", how="semi").with_row_index("at")
    )
    rest = rest.select("dialogue", "at", word=bare_words(pl.col("before")).str.split(" ")).explode("word")
    rest = rest.with_columns(is_rare=pl.col("word").is_in(rare.implode()))
    phrases = [
        rest.select(
            "dialogue",
            phrase=pl.concat_str((pl.col("word").shift(-step) for step in range(size)), separator=" "),
            has_rare=pl.any_horizontal(pl.col("is_rare").shift(-step) for step in range(size)),
            is_whole=pl.col("at") == pl.col("at").shift(1 - size),
        ).filter("has_rare", "is_whole")
        for size in range(1, _MOST_WORDS + 1)
    ]
    spoken = pl.concat(phrases).select("dialogue", "phrase").unique().join(names, on="dialogue")
    spoken = spoken.with_columns(key=pl.col("phrase").str.replace_all(" ", "", literal=True))
    sizes = pl.col("key", "bare").str.len_chars()
    spoken = spoken.filter(2 * pl.min_horizontal(sizes) >= ALIKE * pl.sum_horizontal(sizes))
    likeness = process.cpdist(spoken["bare"], spoken["key"], scorer=Indel.normalized_similarity, score_cutoff=ALIKE)
    spoken = spoken.with_columns(likeness=pl.Series(likeness)).filter(pl.col("likeness") > 0)
    spoken = spoken.sort("likeness", "phrase", descending=[True, False])
    kept: dict[tuple[str, ...], list[str]] = {}  # by name; no phrase is part of another one
    found = []
    for dialogue, bare, entity, phrase in spoken.select("dialogue", "bare", "entity", "phrase").iter_rows():
        others = kept.setdefault((dialogue, bare, entity), [])
        if not any(f" {phrase} " in f" {other} " or f" {other} " in f" {phrase} " for other in others):
            others.append(phrase)
            found.append((dialogue, phrase.replace(" ", ""), _pattern(phrase), entity))
    schema = dict.fromkeys(("dialogue", "key", "pattern", "entity"), pl.String)
    return pl.DataFrame(found, schema, orient="row").unique()


def _refused(cells: pl.DataFrame, names: pl.DataFrame, mentions: pl.DataFrame, ordinary: pl.DataFrame) -> pl.DataFrame:
    """The values in cells that are not said by the time a state first has them, or are ordinary words: `REFUSED`."""
    value = ["dialogue", "value"]
    wanted = cells.group_by("dialogue", "slot", "value").agg(pl.col("turn").min())
    entities = names.drop_nulls("entity").select(*value, "entity").unique().join(mentions, on=_ENTITY, how="left")
    in_time = (pl.col("first_said") <= pl.col("turn")).fill_null(False)
    words = names.filter(pl.col("key").is_not_null(), pl.col("entity").is_null())
    words = words.select(*value, key=value_key(pl.col("name"))).join(ordinary, on="key").unique(value, keep="first")
    refused = [
        wanted.join(entities, on=value).filter(~in_time).with_columns(reason=pl.lit("not said")).drop("mentions"),
        wanted.join(words, on=value).with_columns(reason=pl.lit("ordinary word")),
    ]
    return REFUSED.conform(pl.concat(refused, how="diagonal")).sort("dialogue", "slot", "value")


def _assign(entities: pl.DataFrame, donors: pl.DataFrame, seed: int) -> pl.DataFrame:
    """(dialogue, entity, donor): each entity's new name; no two entities of a dialogue have the same.

    Each entity asks for a random donor of its slot. In every round, entities whose donor is taken ask for the next.
    """
    donors = donors.with_columns(place=pl.int_range(pl.len()).over("slot"), key=squeezed(pl.col("donor")))
    start = np.random.default_rng(seed).integers(2**31, size=entities.height)
    waiting = entities.with_columns(start=start).join(donors.group_by("slot").agg(size=pl.len()), on="slot")
    waiting = waiting.sort(_ENTITY)
    names = pl.DataFrame(schema=dict.fromkeys((*_ENTITY, "donor", "key"), pl.String))
    for step in range(donors.height):
        requests = waiting.with_columns(place=(pl.col("start") + step) % pl.col("size"))
        requests = requests.join(donors, on=["slot", "place"], maintain_order="left")
        free = requests.join(names, on=["dialogue", "key"], how="anti", maintain_order="left")
        granted = free.unique(["dialogue", "key"], keep="first", maintain_order=True).select(names.columns)
        names = pl.concat([names, granted])
        waiting = waiting.join(granted, on=_ENTITY, how="anti", maintain_order="left")
        if waiting.is_empty():
            return names.drop("key")
    dialogue, _, slot, _, size = waiting.row(0)
    raise DstbenchError(f"too few new values: {size}", dialogue=dialogue, slot=slot, hint="give more donors")


def _in_case_of(old: str, new: str) -> pl.Expr:
    """The new name, in lower case if the old one is, else with capitals; the old one if there is no new one."""
    old_name, new_name = pl.col(old), pl.col(new)
    lower = new_name.str.to_lowercase()
    capitals = pl.when(new_name == lower).then(new_name.str.to_titlecase()).otherwise(new_name)
    return pl.coalesce(pl.when(old_name == old_name.str.to_lowercase()).then(lower).otherwise(capitals), old_name)


def _renamed(names: pl.DataFrame, new_names: pl.DataFrame) -> pl.DataFrame:
    """(dialogue, value, entity, new) of the values that get a new name; alternatives of one entity become one."""
    names = names.join(new_names, on=_ENTITY, how="left", maintain_order="left")
    has_donor, is_first = pl.col("donor").is_not_null(), pl.struct("dialogue", "value", "entity").is_first_distinct()
    names = names.filter(is_first | ~has_donor, has_donor.any().over("dialogue", "value"))
    new = _in_case_of("name", "donor").str.join(BETWEEN)
    values = names.group_by("dialogue", "value", maintain_order=True)
    return values.agg(pl.col("entity").drop_nulls().first(), new=new)


def _retold(pieces: pl.DataFrame, new_names: pl.DataFrame) -> pl.DataFrame:
    """(dialogue, turn, speaker, text) of the texts that change."""
    named = pieces.join(new_names, on=_ENTITY, how="left", maintain_order="left")
    named = named.filter(pl.col("donor").is_not_null().any().over("row"))
    piece = pl.col("before") + _in_case_of("said", "donor").fill_null("")
    texts = named.group_by("row", "dialogue", "turn", "speaker", maintain_order=True).agg(text=piece.str.join(""))
    return texts.drop("row")


# --- what datasets say ------------------------------------------------------------------------------------------------


class Content(NamedTuple):
    """A dataset's gold states (dialogue, turn, slot, value) and utterances (dialogue, text); empty if it has none."""

    cells: pl.DataFrame
    texts: pl.DataFrame


def read_content(path: str | PathLike[str]) -> Content:
    """The content of a dataset; warns if it holds no utterances."""
    cells = gold_cells(path)
    try:
        texts = spoken_texts(path).drop_nulls().select("dialogue", "text")
    except DstbenchError as error:
        warn(f"{error.what}: only its states are searched for values", when="before")
        texts = pl.DataFrame(schema={"dialogue": pl.String, "text": pl.String})
    return Content(cells, texts)


def value_key(text: pl.Expr) -> pl.Expr:
    """The key that a value's spellings share: its letters and digits, without an article at the beginning."""
    return squeezed(_without_article(text))


def ordinary_words(datasets: Sequence[Content]) -> pl.DataFrame:
    """(key: `value_key`, said, annotated) of the values that are ordinary words, and in how many of all dialogues."""
    spellings = _spellings(datasets)
    counted = []
    for cells, texts in datasets:
        annotated = cells.select("dialogue", pl.col("value").str.split(BETWEEN)).explode("value")
        annotated = annotated.select("dialogue", key=value_key(pl.col("value")), annotated=True).unique()
        said = _said(texts.select("dialogue", words=in_words(pl.col("text"))), spellings).drop("words").unique()
        counted.append(said.join(annotated, on=["dialogue", "key"], how="left"))
    counts = pl.concat(counted).group_by("key").agg(said=pl.len(), annotated=pl.col("annotated").count())
    elsewhere = pl.col("said") - pl.col("annotated")
    return counts.filter(elsewhere >= LEAST, elsewhere > SHARE * pl.col("said")).sort("key")


def longer_values(names: pl.DataFrame, texts: pl.DataFrame, datasets: Sequence[Content]) -> pl.DataFrame:
    """(dialogue, name): values of any dataset that a dialogue says, and that contain one of the dialogue's names."""
    names = names.with_columns(key=value_key(pl.col("name")), short=_without_article(pl.col("name")))
    said = _said(texts.select("dialogue", words=bare_words(pl.col("text"))), _spellings(datasets)).unique()
    pairs = said.join(names, on=["dialogue", "key"], how="anti").join(names, on="dialogue")
    whole, part = (pl.format(" {} ", name) for name in ("words", "short"))
    return pairs.filter(whole.str.contains(part, literal=True)).select("dialogue", name="words").unique()


def _without_article(text: pl.Expr) -> pl.Expr:
    return bare_words(text).str.replace(rf"^(?:{english().articles}) (.+)", "${1}")


def _spellings(datasets: Sequence[Content]) -> pl.Expr:
    """The padded words of all values, with and without an article."""
    value = pl.col("value")
    values = pl.concat([cells.select(value.str.split(BETWEEN)) for cells, _ in datasets]).explode("value").unique()
    words = pl.concat([values.select(bare_words(value)), values.select(_without_article(value))]).unique()
    return longest_first(words.filter(value != "").select(padded(value))["value"])


def _said(texts: pl.DataFrame, spellings: pl.Expr) -> pl.DataFrame:
    """(dialogue, words, key) of the values that are said in texts (dialogue, words)."""
    matches = padded(pl.col("words")).str.extract_many(spellings, leftmost=True)
    said = texts.select("dialogue", words=matches).explode("words").drop_nulls()
    return said.with_columns(bare_words(pl.col("words"))).with_columns(key=value_key(pl.col("words")))


# --- new names --------------------------------------------------------------------------------------------------------


def donor_values(
    donors: Donors,
    slots: Sequence[str],
    seed: int,
    *,
    train: Content,
    invent: bool = False,
    mapping: Mapping[str, Sequence[str]] | None = None,
) -> pl.DataFrame:
    """(slot, donor): distinct values for slots that are to be replaced; a slot may have none.

    They are those in the mapping or JSON file {slot: values}, or of similar slots (`is_like`) of a dataset; without
    numbers, times and the like, and values that some format cannot hold. If `invent`, names are built from their words;
    without donors, from those of the training set's values. UsageError: the donors do not have a slot of `mapping`.
    """
    values, is_dataset = (_values_of(train.cells), True) if donors is None else _given(donors)
    known = values["slot"].unique().sort().to_list()
    sources = {
        slot: [slot] if slot in known else [other for other in known if is_dataset and is_like(slot, other)]
        for slot in slots
    }
    for slot, others in (mapping or {}).items():
        sources[slot] = [canonical_slot(other) for other in others]
        source = "the training set has" if donors is None else "the donors have"
        check_known(sources[slot], known, f"{source} no slot {{!r}}")
    pairs = [(slot, other) for slot in slots for other in sources[slot]]
    table = pl.DataFrame(pairs, schema={"slot": pl.String, "other": pl.String}, orient="row")
    table = table.join(values, left_on="other", right_on="slot").with_columns(donor=pl.col("value").str.strip_chars())
    table = table.group_by("slot", "donor").agg(pl.col("dialogues").sum()).sort("slot", "donor")
    usable = [is_text(value) and not re.search(r"^\W*$|[|\t\r\n]", value) for value in table["donor"]]
    table = table.filter(pl.Series(usable, dtype=pl.Boolean))
    return _invented(table, seed) if donors is None or invent else table.drop("dialogues")


def unseen(table: pl.DataFrame, seen: Content) -> pl.DataFrame:
    """The rows (slot, donor) whose donor is neither a value nor said in a dataset, whatever its case and signs."""
    values = _values_of(seen.cells).select(key=squeezed(pl.col("value"))).unique()
    table = table.with_columns(key=squeezed(pl.col("donor")), words=pl.format(" {} ", bare_words(pl.col("donor"))))
    table = table.join(values, on="key", how="anti", maintain_order="left")
    donors = pl.lit(table["words"].unique().implode())
    heard = seen.texts.select(
        words=pl.format(" {} ", bare_words(pl.col("text").unique())).str.extract_many(donors, overlapping=True)
    )
    heard = heard.explode("words").drop_nulls().unique()
    return table.join(heard, on="words", how="anti", maintain_order="left").drop("key", "words")


def _values_of(cells: pl.DataFrame) -> pl.DataFrame:
    """(slot, value, dialogues) of gold states: the distinct alternatives, and in how many dialogues they are."""
    pairs = cells.select("dialogue", "slot", pl.col("value").str.split(BETWEEN)).unique().explode("value")
    return pairs.group_by("slot", "value").agg(dialogues=pl.col("dialogue").n_unique()).sort("slot", "value")


def _given(donors: Mapping[str, Sequence[str]] | str | PathLike[str]) -> tuple[pl.DataFrame, bool]:
    """(slot, value, dialogues) of the values that the user gives, and whether they come from a dataset."""
    if isinstance(donors, (str, PathLike)):
        source = Source(fspath(donors))
        source.check()
        if source.is_folder or sniff(source) is not None or source.is_parquet:
            return _values_of(gold_cells(donors)), True
        name, content = fspath(donors), read_json(fspath(donors), dict)
    else:
        name, content = "donors", donors
    for slot, values in content.items():
        if isinstance(values, str) or not all(isinstance(value, str) for value in values):
            raise DstbenchError("the donor values are not a list of strings", file=name, slot=slot, hint=FORM)
    rows = [(canonical_slot(slot), value, 1) for slot, values in content.items() for value in values]
    schema = {"slot": pl.String, "value": pl.String, "dialogues": pl.UInt32}
    return pl.DataFrame(rows, schema=schema, orient="row"), False


def is_like(slot: str, other: str) -> bool:
    """Whether the values of another dataset's slot may replace a slot's.

    A hotel's ``name`` is like any ``…name`` of a service that begins with ``hotel``, and like ``hotel_name``.

    >>> [is_like("hotel-name", s) for s in ("Hotels_4-place_name", "Travel_1-hotel_name", "Music_1-name")]
    [True, True, False]
    >>> is_like("taxi-departure", "Buses_1-from_location"), is_like("train-destination", "RideSharing_1-destination")
    (True, True)
    """
    domain, service = domain_of(slot), domain_of(other)
    of_domain, name, other_name = (
        re.sub(r"[\W_]", "", words.lower())
        for words in (domain, slot.removeprefix(domain), other.removeprefix(service))
    )
    if name == "name" and service.lower().startswith(domain.lower()):
        return other_name.endswith(name)
    is_same = other_name == of_domain + name or other_name == name != "name"
    return is_same or any(name == names[0] and other_name in names for names in (_FROM, _TO))


def _invented(names: pl.DataFrame, seed: int) -> pl.DataFrame:
    """(slot, donor): names that begin like one name of the slot, and end like another.

    In datasets, names that occur in a single dialogue are often misspelled: they are used only if there are no others.
    """
    random, table = np.random.default_rng(seed), [pl.DataFrame(schema={"slot": pl.String, "donor": pl.String})]
    is_rare = pl.col("dialogues") < pl.min_horizontal(2, pl.col("dialogues").max().over("slot"))
    for (slot,), of_slot in names.filter(~is_rare).group_by("slot", maintain_order=True):
        pairs = list(product(*_parts(of_slot["donor"].to_list())))
        drawn = random.choice(len(pairs), min(len(pairs), _INVENTED_PER_SLOT), replace=False)
        new = [
            pair
            for pair in (pairs[at] for at in drawn)
            if {*pair[0].lower().split()}.isdisjoint(pair[1].lower().split())
        ]
        table.append(pl.DataFrame([(slot, " ".join(pair)) for pair in new], table[0].schema, orient="row"))
    return pl.concat(table).unique(maintain_order=True)


def _parts(names: list[str]) -> tuple[list[str], list[str]]:
    """Beginnings and ends of names: cut before the longest end that two have; if few have one, where they may be cut.

    >>> _parts(["acorn guest house", "old mill guest house", "the red inn", "ivy inn", "Ely"])
    (['acorn', 'ivy', 'old mill', 'the red'], ['guest house', 'inn'])
    >>> _parts(["Acorn guest house", "the old inn", "Ely", "museum of art"])
    (['Acorn', 'Ely', 'museum of art', 'the old'], ['guest house', 'inn'])
    """
    joining, cuts = {*english().joining_words}, dict[str, list[tuple[str, str]]]()
    for name in names:  # the longest end first; not where a word joins two
        words = name.split()
        places = (at for at in range(1, len(words)) if joining.isdisjoint(w.lower() for w in words[at - 1 : at + 1]))
        cuts[name] = [(" ".join(words[:at]), " ".join(words[at:])) for at in places]
    shared = Counter(end.lower() for of_name in cuts.values() for _, end in of_name)
    of_kinds = [pair for of_name in cuts.values() for pair in [p for p in of_name if shared[p[1].lower()] > 1][:1]]
    if len({end for _, end in of_kinds}) < 2:
        of_kinds = [next(iter(of_name), (name, "")) for name, of_name in cuts.items()]
    return sorted({beginning for beginning, _ in of_kinds}), sorted({end for _, end in of_kinds if end})
