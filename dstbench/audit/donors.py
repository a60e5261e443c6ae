"""Values to put in the place of others: from a table, from a dataset, or invented; none that has been seen."""

from __future__ import annotations

import re
import warnings
from os import PathLike, fspath
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import polars as pl

from dstbench.audit.mentions import spaced, squeezed
from dstbench.conventions.files import read_json
from dstbench.conventions.normalise import is_text
from dstbench.conventions.slots import canonical_slot, domain_of
from dstbench.errors import DstbenchError, DstbenchWarning
from dstbench.readers import Source, sniff
from dstbench.readers.contexts import contexts
from dstbench.runs.open import open_gold
from dstbench.schema.core import BETWEEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dstbench.runs.open import Data

#: Where new values come from: {slot: values}, a JSON file of these, a dataset, or None: they are invented.
Donors: TypeAlias = "Mapping[str, Sequence[str]] | str | PathLike[str] | None"
#: How many values are invented for a slot.
_INVENTED: Final = 500
_CONSONANTS: Final = "bdfghklmnprstvz"
_VOWELS: Final = "aeiou"
# What SGD and others call places that one leaves from, and goes to.
_FROM: Final = ("departure", "origin", "origincity", "originstation", "from", "fromcity", "fromlocation", "fromstation")
_TO: Final = ("destination", "destinationcity", "destinationstation", "to", "tocity", "tolocation", "tostation")
#: What a file of donors looks like.
FORM: Final = '{"hotel-name": ["The Gable", "Quill House"]}'


def gold_cells(data: Data) -> pl.DataFrame:
    """(dialogue, turn, slot, value) of a dataset's gold states, as strings; sorted."""
    states = open_gold(data)
    if states.gold is None:
        raise DstbenchError(f"no gold inside ({states.format})", file=states.source)
    table = states.gold.cells.join(states.gold.turns.with_row_index("at"), on="at")
    return table.select("dialogue", "turn", pl.col("slot", "value").cast(pl.String)).sort("dialogue", "turn", "slot")


def values_of(data: Data) -> pl.DataFrame:
    """(slot, value) of a dataset's gold states: the distinct alternatives."""
    pairs = gold_cells(data).select("slot", pl.col("value").str.split(BETWEEN)).unique()
    return pairs.explode("value").unique().sort("slot", "value")


def donor_values(donors: Donors, slots: Sequence[str], seed: int) -> pl.DataFrame:
    """Values for slots that are to be replaced.

    Args:
        donors: A mapping (or JSON file) of slots to values; a dataset, whose like-named slots give theirs: a hotel's
            ``name`` is any ``…name`` of a service that begins with ``hotel``, or ``hotel_name``; a ``departure`` is
            also an ``origin``, a ``from_location`` and so on. None: invented ones.
        slots: The slots, canonical.
        seed: Of the invented ones.

    Returns:
        (slot, donor), distinct; a slot may have none. Numbers, times and the like are left out, and what no file could
        hold.

    Raises:
        DstbenchError: The file is neither a dataset nor such a table.
    """
    if donors is None:
        return _invented(slots, seed)
    if isinstance(donors, (str, PathLike)):
        table = _from_path(fspath(donors), slots)
    else:
        table = _from_mapping(donors, "donors")
    donor = pl.col("donor").str.strip_chars()
    table = table.filter(pl.col("slot").is_in(slots)).with_columns(donor).unique().sort("slot", "donor")
    fit = [is_text(value) and not re.search(r"^\W*$|[|\t\r\n]", value) for value in table["donor"]]
    return table.filter(pl.Series(fit, dtype=pl.Boolean))


def unseen(table: pl.DataFrame, path: str | PathLike[str]) -> pl.DataFrame:
    """The donors that are no value of a dataset and are not said in it, whatever their case, spaces and signs.

    Args:
        table: (slot, donor).
        path: The dataset. If its format holds no utterances, only its states are asked, with a warning.
    """
    known = values_of(path).select(key=squeezed(pl.col("value"))).unique()
    table = table.with_columns(key=squeezed(pl.col("donor")), words=spaced(pl.col("donor")))
    table = table.join(known, on="key", how="anti", maintain_order="left")
    try:
        said = contexts(path)
    except DstbenchError as error:
        warnings.warn(f"{error.what}: only its states are asked for values", DstbenchWarning, stacklevel=2)
        return table.drop("key", "words")
    texts = pl.concat([said["system"], said["user"]]).alias("text").drop_nulls().unique().to_frame()
    words = table["words"].unique().implode()
    found = texts.select(spaced(pl.col("text")).str.extract_many(pl.lit(words), overlapping=True))
    heard = found.explode("text").drop_nulls().unique()
    return table.join(heard, left_on="words", right_on="text", how="anti", maintain_order="left").drop("key", "words")


def _from_path(path: str, slots: Sequence[str]) -> pl.DataFrame:
    source = Source(path)
    source.check()
    if source.is_folder or sniff(source) is not None or source.is_parquet:
        return _like_named(values_of(path), slots)
    return _from_mapping(read_json(path, dict), path)


def _from_mapping(donors: Mapping[str, Sequence[str]], name: str) -> pl.DataFrame:
    for slot, values in donors.items():
        if isinstance(values, str) or not all(isinstance(value, str) for value in values):
            raise DstbenchError("the donor values are no list of strings", file=name, slot=slot, hint=FORM)
    rows = [(canonical_slot(slot), value) for slot, values in donors.items() for value in values]
    return pl.DataFrame(rows, schema={"slot": pl.String, "donor": pl.String}, orient="row")


def _like_named(values: pl.DataFrame, slots: Sequence[str]) -> pl.DataFrame:
    """The values of the slots that are named like those that are asked for."""
    pairs = [(slot, other) for slot in slots for other in values["slot"].unique().sort() if is_like(slot, other)]
    like = pl.DataFrame(pairs, schema={"slot": pl.String, "other": pl.String}, orient="row")
    return like.join(values, left_on="other", right_on="slot").select("slot", donor="value")


def is_like(slot: str, other: str) -> bool:
    """Whether the values of another dataset's slot may stand for a slot's.

    >>> [is_like("hotel-name", s) for s in ("Hotels_4-place_name", "Travel_1-hotel_name", "Music_1-song_name")]
    [True, True, False]
    >>> is_like("taxi-departure", "Buses_1-from_location"), is_like("train-destination", "RideSharing_1-destination")
    (True, True)
    """
    domain, service = domain_of(slot), domain_of(other)
    name, given = _compact(slot.removeprefix(domain)), _compact(other.removeprefix(service))
    if given in (name, f"{_compact(domain)}{name}"):
        return True
    if name == "name":
        return given.endswith(name) and service.lower().startswith(domain.lower())
    return any(name == names[0] and given in names for names in (_FROM, _TO))


def _compact(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


def _invented(slots: Sequence[str], seed: int) -> pl.DataFrame:
    """Names that mean nothing: of two words for a ``name``, of one for any other slot."""
    random = np.random.default_rng(seed)
    syllables = [consonant + vowel for consonant in _CONSONANTS for vowel in _VOWELS]
    tables = []
    for slot in slots:
        drawn = random.integers(len(syllables), size=(_INVENTED, 2 if slot.endswith("name") else 1, 3))
        names = [" ".join("".join(syllables[i] for i in word).capitalize() for word in words) for words in drawn]
        tables.append(pl.DataFrame({"slot": slot, "donor": names}).unique(maintain_order=True))
    return pl.concat(tables)
