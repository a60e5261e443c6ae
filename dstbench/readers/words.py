"""A file's strings as codes, and what a file says as columns of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Words:
    """Strings, each distinct one stored once.

    Attributes:
        code: Which word each string is.
        words: The words, by code; String, or a dictionary column.
    """

    code: Codes
    words: pl.Series

    @staticmethod
    def of(strings: pl.Series) -> Words:
        """The words of a String column, in the order in which they first come."""
        # Not the dictionary that all columns share, as what it has once seen makes codes larger for all.
        codes = strings.cast(pl.Categorical(pl.Categories.random())).to_physical()
        first = codes.arg_unique().sort()
        distinct = codes.gather(first).to_numpy()
        rank = np.zeros(int(distinct.max(initial=0)) + 1, dtype=np.uint32)
        rank[distinct] = np.arange(len(distinct), dtype=np.uint32)
        return Words(rank[codes.to_numpy()], strings.gather(first))

    def only(self, at: Codes | slice) -> Words:
        """The strings at these places, without the words of others; the order of the words is kept."""
        code = self.code[at]
        is_used = np.zeros(len(self.words), dtype=np.bool_)
        is_used[code] = True
        return Words((np.cumsum(is_used, dtype=np.int32) - 1).take(code), self.words.filter(pl.Series(is_used)))

    def renamed(self, names: Sequence[str]) -> Words:
        """With other words, of which several may be equal."""
        new = Words.of(pl.Series(names, dtype=pl.String))
        return Words(new.code[self.code], new.words)

    def strings(self) -> pl.Series:
        """The strings as a String column."""
        return self.words.gather(pl.Series(self.code))

    def column(self) -> pl.Series:
        """The strings as a dictionary column."""
        return self.words.cast(pl.Categorical).gather(pl.Series(self.code.astype(np.uint32, copy=False)))


@dataclass(frozen=True)
class Listed:
    """What one side lists, one entry per listed slot.

    Attributes:
        present: The rows of the turns that have this side, ascending.
        at: The row of the turn.
        slot: The slot's name, as it is written; None: the values are pairs ``domain-slot-value``.
        value: The value.
    """

    present: Codes
    at: Codes
    slot: Words | None
    value: Words

    def without(self, values: Collection[str]) -> Listed:
        """Without the entries of these values."""
        is_none = np.array([word in values for word in self.value.words], dtype=np.bool_)
        if not is_none.any():
            return self
        kept = np.flatnonzero(~is_none[self.value.code])
        return Listed(self.present, self.at[kept], self.slot and self.slot.only(kept), self.value.only(kept))


@dataclass(frozen=True)
class Columns:
    """What a file says, as columns: each turn's dialogue and number (or a string that spells it), and both sides."""

    dialogue: Words
    turn: pl.Series
    gold: Listed | None
    pred: Listed | None


def are_distinct(groups: Codes, codes: Codes, most: int) -> bool:
    """Whether no code, of `most` codes, is twice in a group; groups are numbers from 0, in any order."""
    key = groups.astype(np.int64) * max(most, 1) + codes
    places = (int(groups.max()) + 1) * most if len(groups) else 0
    if places > 32 * len(key):  # many codes, each in few groups: a flag per possible key would take too much memory
        key.sort()
        return bool((key[1:] != key[:-1]).all())
    is_used = np.zeros(places, dtype=np.bool_)
    is_used[key] = True
    return int(np.count_nonzero(is_used)) == len(key)
