"""Values that datasets know and say, and those that replace them: given, of a dataset, or invented; none is known.

Invented names are built from words of real ones: from ``acorn guest house`` and ``worth lodge`` comes ``acorn lodge``.
A dialogue says a value if the value's words stand in an utterance, whole, with or without an
article, and not within a longer value: ``express by holiday inn`` does not say ``holiday inn``.

A value is an *ordinary word* if at least `LEAST` dialogues say it in lower case but never have it in their states, and
these are more than `SHARE` of all dialogues that say it in lower case: 172 dialogues of MultiWOZ 2.1 say ``ask``,
mostly as in ``may I ask``, and in 26 of them it is annotated, as a restaurant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from os import PathLike, fspath
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from dstbench.audit.inputs import gold_cells, spoken_texts
from dstbench.audit.rules import english
from dstbench.audit.search import bare_words, in_words, longest_first, padded, squeezed
from dstbench.conventions.files import read_json
from dstbench.conventions.normalise import is_text
from dstbench.conventions.slots import canonical_slot, domain_of
from dstbench.errors import DstbenchError, check_known, warn
from dstbench.readers import Source, sniff
from dstbench.schema.core import BETWEEN

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


# --- new values -------------------------------------------------------------------------------------------------------


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
