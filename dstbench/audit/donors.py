"""Values to replace others with: from a table, from a dataset, or invented; none that training has seen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Final, TypeAlias

import numpy as np
import polars as pl

from dstbench.audit.inputs import gold_cells
from dstbench.audit.mentions import spaced, squeezed
from dstbench.conventions.files import read_json
from dstbench.conventions.normalise import is_text
from dstbench.conventions.slots import canonical_slot, domain_of
from dstbench.errors import DstbenchError, warn
from dstbench.readers import Source, sniff
from dstbench.readers.contexts import contexts
from dstbench.runs.open import Data
from dstbench.schema.core import BETWEEN

#: Where new values come from: {slot: values}, a JSON file of these, a dataset, or None: they are invented.
Donors: TypeAlias = "Mapping[str, Sequence[str]] | str | PathLike[str] | None"
#: An example of a file of donors.
FORM: Final = '{"hotel-name": ["The Gable", "Quill House"]}'
_INVENTED_PER_SLOT: Final = 500
_SYLLABLES: Final = [consonant + vowel for consonant in "bdfghklmnprstvz" for vowel in "aeiou"]
# What SGD and others call the place that one leaves, and the place that one goes to.
_FROM: Final = ("departure", "origin", "origincity", "originstation", "from", "fromcity", "fromlocation", "fromstation")
_TO: Final = ("destination", "destinationcity", "destinationstation", "to", "tocity", "tolocation", "tostation")


def donor_values(donors: Donors, slots: Sequence[str], seed: int) -> pl.DataFrame:
    """Values for slots that are to be replaced.

    They are those of the mapping or JSON file {slot: values}, of a dataset's similar slots (`is_like`), or invented.

    Returns:
        (slot, donor), distinct; a slot may have none. Numbers, times and the like are omitted, and values that some
        format cannot hold.
    """
    if donors is None:
        return _invented(slots, seed)
    if not isinstance(donors, (str, PathLike)):
        table = _from_mapping(donors, "donors")
    else:
        source = Source(fspath(donors))
        source.check()
        if source.is_folder or sniff(source) is not None or source.is_parquet:
            table = _from_similar_slots(_values_of(donors), slots)
        else:
            table = _from_mapping(read_json(fspath(donors), dict), fspath(donors))
    table = table.filter(pl.col("slot").is_in(slots)).with_columns(pl.col("donor").str.strip_chars())
    table = table.unique().sort("slot", "donor")
    usable = [is_text(value) and not re.search(r"^\W*$|[|\t\r\n]", value) for value in table["donor"]]
    return table.filter(pl.Series(usable, dtype=pl.Boolean))


def unseen(table: pl.DataFrame, path: str | PathLike[str]) -> pl.DataFrame:
    """The rows (slot, donor) whose donor a dataset neither has as a value nor says, in any case, with any signs.

    If the dataset's format holds no utterances, only its states are searched, with a warning.
    """
    values = _values_of(path).select(key=squeezed(pl.col("value"))).unique()
    table = table.with_columns(key=squeezed(pl.col("donor")), words=spaced(pl.col("donor")))
    table = table.join(values, on="key", how="anti", maintain_order="left")
    try:
        said = contexts(path)
    except DstbenchError as error:
        warn(f"{error.what}: only its states are searched for values")
        return table.drop("key", "words")
    texts = pl.concat([said["system"], said["user"]]).alias("text").drop_nulls().unique().to_frame()
    donors = pl.lit(table["words"].unique().implode())
    heard = texts.select(words=spaced(pl.col("text")).str.extract_many(donors, overlapping=True))
    heard = heard.explode("words").drop_nulls().unique()
    return table.join(heard, on="words", how="anti", maintain_order="left").drop("key", "words")


def _values_of(data: Data) -> pl.DataFrame:
    """(slot, value) of a dataset's gold states: the distinct alternatives."""
    pairs = gold_cells(data).select("slot", pl.col("value").str.split(BETWEEN)).unique()
    return pairs.explode("value").unique().sort("slot", "value")


def _from_mapping(donors: Mapping[str, Sequence[str]], name: str) -> pl.DataFrame:
    for slot, values in donors.items():
        if isinstance(values, str) or not all(isinstance(value, str) for value in values):
            raise DstbenchError("the donor values are not a list of strings", file=name, slot=slot, hint=FORM)
    rows = [(canonical_slot(slot), value) for slot, values in donors.items() for value in values]
    return pl.DataFrame(rows, schema={"slot": pl.String, "donor": pl.String}, orient="row")


def _from_similar_slots(values: pl.DataFrame, slots: Sequence[str]) -> pl.DataFrame:
    pairs = [(slot, other) for slot in slots for other in values["slot"].unique().sort() if is_like(slot, other)]
    similar = pl.DataFrame(pairs, schema={"slot": pl.String, "other": pl.String}, orient="row")
    return similar.join(values, left_on="other", right_on="slot").select("slot", donor="value")


def is_like(slot: str, other: str) -> bool:
    """Whether the values of another dataset's slot may replace a slot's.

    A hotel's ``name`` is like any ``…name`` of a service that begins with ``hotel``, and like ``hotel_name``.

    >>> [is_like("hotel-name", s) for s in ("Hotels_4-place_name", "Travel_1-hotel_name", "Music_1-song_name")]
    [True, True, False]
    >>> is_like("taxi-departure", "Buses_1-from_location"), is_like("train-destination", "RideSharing_1-destination")
    (True, True)
    """
    domain, service = domain_of(slot), domain_of(other)
    name, other_name = _letters(slot.removeprefix(domain)), _letters(other.removeprefix(service))
    if other_name in (name, _letters(domain) + name):
        return True
    if name == "name":
        return other_name.endswith(name) and service.lower().startswith(domain.lower())
    return any(name == names[0] and other_name in names for names in (_FROM, _TO))


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


def _invented(slots: Sequence[str], seed: int) -> pl.DataFrame:
    """Names without meaning, of three syllables a word: two words for a slot called ``name``, one for others."""
    random = np.random.default_rng(seed)
    tables = []
    for slot in slots:
        drawn = random.integers(len(_SYLLABLES), size=(_INVENTED_PER_SLOT, 2 if slot.endswith("name") else 1, 3))
        names = [" ".join("".join(_SYLLABLES[i] for i in word).capitalize() for word in words) for words in drawn]
        tables.append(pl.DataFrame({"slot": slot, "donor": names}).unique(maintain_order=True))
    return pl.concat(tables)
