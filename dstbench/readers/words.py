"""A file's strings as codes, and its turns and states as columns of such strings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from dstbench.arrays import Numbers

_FEW_NAMES: Final = 1 << 20
# Below so many strings, a Python dictionary takes a tenth to half of the time that calls of Polars and NumPy do.
_FEW_STRINGS: Final = 1 << 9


@dataclass(frozen=True)
class Words:
    """Strings, each distinct one stored once.

    Attributes:
        code: For each string: which word it is.
        words: The distinct strings, by code; String, or a dictionary column.
    """

    code: Numbers
    words: pl.Series

    @staticmethod
    def of(strings: pl.Series) -> Words:
        """The words of a String column, in the order in which they first come."""
        if len(strings) < _FEW_STRINGS:
            numbers: dict[str, int] = {}
            code = np.array([numbers.setdefault(string, len(numbers)) for string in strings.to_list()], dtype=np.uint32)
            return Words(code, pl.Series(strings.name, list(numbers), dtype=pl.String))
        # A dictionary of its own, because words in the shared one would make the codes of all other columns larger.
        codes = strings.cast(pl.Categorical(pl.Categories.random())).to_physical().to_numpy()
        first = np.full(int(codes.max(initial=0)) + 1, len(codes))  # for each code: where it comes first
        np.minimum.at(first, codes, np.arange(len(codes)))
        order = np.argsort(first)[: np.count_nonzero(first < len(codes))]
        rank = np.zeros(len(first), dtype=np.uint32)
        rank[order] = np.arange(len(order), dtype=np.uint32)
        return Words(rank[codes], strings[first[order]])

    @staticmethod
    def named(code: Numbers, names: Sequence[str | None]) -> Words:
        """The strings of these codes, given each code's name; codes may share a name; None: no string has this code."""
        codes = {name: number for number, name in enumerate(dict.fromkeys(name for name in names if name is not None))}
        new = np.array([0 if name is None else codes[name] for name in names], dtype=np.uint32)
        return Words(new.take(code), pl.Series(list(codes), dtype=pl.String))

    def only(self, at: Numbers | slice) -> Words:
        """The strings at these indices, with only the words that occur in them, in the same order."""
        code = self.code[at]
        is_used = np.zeros(len(self.words), dtype=np.bool_)
        is_used[code] = True
        return Words((np.cumsum(is_used, dtype=np.int32) - 1).take(code), self.words.filter(pl.Series(is_used)))

    def under(self, domains: Words, join: Callable[[str, str], str]) -> Words:
        """The strings as names of slots in these domains.

        Args:
            domains: The domain of each.
            join: Makes a name from a domain and a slot.
        """
        width = len(self.words)
        code: Numbers = domains.code.astype(np.int64) * width + self.code
        if len(domains.words) * width <= _FEW_NAMES:  # a lookup table takes a tenth of the time of sorting
            is_used = np.bincount(code, minlength=1) > 0
            pairs, code = np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[code]
        else:
            pairs, code = np.unique(code, return_inverse=True)
        at = np.divmod(pairs, width)
        parts = [words[part] for words, part in zip((domains.words, self.words), at, strict=True)]
        names = Words.of(pl.Series([join(*pair) for pair in zip(*parts, strict=True)], dtype=pl.String))
        return Words(names.code[code], names.words)

    def strings(self) -> pl.Series:
        """The strings as a String column."""
        return self.words[self.code.astype(np.uint32, copy=False)]

    def column(self) -> pl.Series:
        """The strings as a dictionary column."""
        return self.words.cast(pl.Categorical)[self.code.astype(np.uint32, copy=False)]


@dataclass(frozen=True)
class Listed:
    """The states of one side: an entry per listed slot. Turns are known by their rows.

    Attributes:
        present: The turns that have this side, ascending.
        at: For each entry: its turn.
        slot: For each entry: the slot, as it is written; None: the values are pairs ``domain-slot-value``.
        value: For each entry: the value.
    """

    present: Numbers
    at: Numbers
    slot: Words | None
    value: Words

    def without(self, values: Collection[str]) -> Listed:
        """The states without entries that have one of these values."""
        is_dropped = np.array([word in values for word in self.value.words], dtype=np.bool_)
        if not is_dropped.any():
            return self
        kept = np.flatnonzero(~is_dropped[self.value.code])
        return Listed(self.present, self.at[kept], self.slot and self.slot.only(kept), self.value.only(kept))


@dataclass(frozen=True)
class Columns:
    """A file's turns as columns: each one's dialogue and number (or a string that spells it), and both sides."""

    dialogue: Words
    turn: pl.Series
    gold: Listed | None
    pred: Listed | None


def are_distinct(groups: Numbers, codes: Numbers, most: int) -> bool:
    """Whether no code is twice in a group; codes are below `most`, groups are numbered from 0, in any order."""
    key = groups.astype(np.int64) * max(most, 1) + codes
    keys = (int(groups.max()) + 1) * most if len(groups) else 0
    if keys > 32 * len(key):  # many codes, each in few groups: a flag per possible key would take too much memory
        key.sort()
        return bool((key[1:] != key[:-1]).all())
    is_used = np.zeros(keys, dtype=np.bool_)
    is_used[key] = True
    return int(np.count_nonzero(is_used)) == len(key)
