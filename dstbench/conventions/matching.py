"""Whether a predicted value matches a gold value: matchers of two strings, called once per distinct pair.

A matcher computes a similarity from 0 to 1 and accepts a pair that reaches its threshold. Numbers, times, days,
booleans and dontcare are compared exactly unless `Convention.fuzzy` is ``all``. `Convention.multi` says what ``a|b``
matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Final, NamedTuple

from dstbench.conventions.files import Table
from dstbench.conventions.normalise import alternatives, is_text
from dstbench.errors import DstbenchError, UsageError, check_known, shortened
from dstbench.io.limits import COMPARED
from dstbench.schema.core import BETWEEN
from dstbench.typing import Fuzzy, Multi


@dataclass(frozen=True)
class Matcher:
    """A way to compare two strings: one of `MATCHERS`, and the similarity that they must reach or (`above`) exceed."""

    kind: str = "exact"
    threshold: float = 1.0
    above: bool = False

    @classmethod
    def parse(cls, notation: str) -> Matcher:
        """The matcher that is written ``name``, ``name:least=T`` or ``name:above=T``."""
        kind, *rest = notation.strip().split(":")
        check_known([kind], MATCHERS, "there is no matcher {!r}")
        if not rest:
            return cls(kind, MATCHERS[kind].threshold)
        if kind == "exact":
            raise UsageError(f"match {notation!r}: exact matching has no threshold", hint="exact")
        comparison = re.fullmatch(r"(least|above)=([0-9.e+-]+)", ":".join(rest))
        with suppress(ValueError):
            if comparison and 0 <= float(comparison[2]) <= 1:
                return cls(kind, float(comparison[2]), above=comparison[1] == "above")
        raise UsageError(f"match {notation!r} is not understood", hint=f"{kind}:least=0.9 or {kind}:above=0.9")

    @property
    def is_fuzzy(self) -> bool:
        """Whether it accepts strings that are not equal."""
        return self.kind != "exact"

    def similarity(self, gold: str, pred: str) -> float:
        """The similarity of two strings, from 0 to 1; 1 if they are equal."""
        return 1.0 if gold == pred else MATCHERS[self.kind].similarity(gold, pred)

    def reaches(self, similarity: float) -> bool:
        """Whether a similarity is high enough."""
        return similarity > self.threshold if self.above else similarity >= self.threshold

    def __str__(self) -> str:
        return f"{self.kind}:{'above' if self.above else 'least'}={self.threshold:g}" if self.is_fuzzy else self.kind


class _Kind(NamedTuple):
    """A matcher: its similarity of two strings, its default threshold, and its meaning in words."""

    similarity: Callable[[str, str], float]
    threshold: float
    meaning: str


def _levenshtein(gold: str, pred: str) -> float:
    from rapidfuzz.distance import Levenshtein  # 20 ms, and only fuzzy matching needs it

    return 1 - Levenshtein.distance(gold, pred) / max(len(gold), len(pred), 1)


@lru_cache(2**16)  # several conventions use it, and it takes longer than all other work on a pair of values
def _partial(gold: str, pred: str) -> float:
    from difflib import SequenceMatcher

    from rapidfuzz.distance import Indel

    # FuzzyWuzzy's partial ratio, which differs from RapidFuzz's: for each block that both strings share, the shorter
    # string is compared with the stretch of the longer one at which the block lines up, and the highest similarity
    # counts. Of strings of one length, each in turn is the shorter one, so that their order does not matter.
    shorter, longer = sorted((gold, pred), key=len)
    roles = [(shorter, longer), (longer, shorter)] if len(shorter) == len(longer) else [(shorter, longer)]
    highest = 0.0
    for needle, hay in roles:
        blocks = SequenceMatcher(None, needle, hay, autojunk=False).get_matching_blocks()
        for start in {max(block.b - block.a, 0) for block in blocks}:
            highest = max(highest, Indel.normalized_similarity(needle, hay[start : start + len(needle)]))
    return round(100 * highest) / 100


def _partial_best(gold: str, pred: str) -> float:
    from rapidfuzz.fuzz import partial_ratio

    return round(partial_ratio(gold, pred)) / 100


def _token_sort(gold: str, pred: str) -> float:
    from rapidfuzz.fuzz import token_sort_ratio
    from rapidfuzz.utils import default_process

    return round(token_sort_ratio(gold, pred, processor=default_process)) / 100


def _contained(gold: str, pred: str) -> float:
    longer, shorter = sorted((gold.split(), pred.split()), key=len, reverse=True)
    starts = range(len(longer) - len(shorter) + 1)
    return float(bool(shorter) and any(longer[at : at + len(shorter)] == shorter for at in starts))


#: Matchers by name.
MATCHERS: Final[dict[str, _Kind]] = {
    "exact": _Kind(lambda *_: 0.0, 1.0, "equal strings"),
    "levenshtein": _Kind(_levenshtein, 0.9, "1 - edit distance / length of the longer string (Qian et al. 2021)"),
    "partial": _Kind(
        _partial,
        0.9,
        "indel similarity of the shorter string and a stretch of the longer that begins as a shared block does, in "
        "whole percent (FuzzyWuzzy)",
    ),
    "partial-best": _Kind(
        _partial_best,
        0.9,
        "indel similarity of the shorter string and the most similar stretch of the longer, in whole percent "
        "(RapidFuzz)",
    ),
    "token-sort": _Kind(_token_sort, 0.9, "indel similarity of the sorted words, in whole percent (SGD)"),
    "contain": _Kind(_contained, 1.0, "the words of one string occur side by side in the other (TripPy)"),
}


@dataclass(frozen=True)
class ValueMatcher:
    """The complete rule by which a predicted value of a slot matches a gold value."""

    matcher: Matcher
    multi: Multi
    fuzzy: Fuzzy = "text"
    labels: Table | None = None  # variants that are accepted for a gold value; a gold variant does not accept the value
    exact_slots: frozenset[str] = frozenset()  # never compared fuzzily

    def compare(self, slot: str, gold: str, pred: str) -> tuple[bool, float]:
        """Whether the prediction is right, and the similarity that decides it, from 0 to 1, whatever the threshold."""
        nearness = inf if gold == pred else self._nearness(slot, gold, pred)
        return self.matcher.reaches(nearness), min(max(nearness, 0.0), 1.0)

    def _nearness(self, slot: str, gold: str, pred: str) -> float:
        """The similarity that decides; ∞ if alternatives are equal, -∞ if none are equal or compared fuzzily."""
        golds, preds = self._sides(slot, gold, pred)
        unit = "characters" if self.matcher.is_fuzzy else "alternatives"
        sizes = [sum(map(len, side)) if self.matcher.is_fuzzy else len(side) for side in (golds, preds)]
        if sizes[0] * sizes[1] > COMPARED.value:
            raise DstbenchError(
                f"gold and predicted value, of {sizes[0]:,} and {sizes[1]:,} {unit}, are too long to be compared: "
                f"{shortened(gold, 40)!r} and {shortened(pred, 40)!r}",
                slot=slot,
                hint=COMPARED.hint,
            )
        pairs = [[self._nearness_of_one(slot, one, other) for other in preds] for one in golds]
        nearest = [max(row) for row in pairs]
        if self.multi == "all":  # the least similar value of either side decides
            nearest += [max(column) for column in zip(*pairs, strict=True)]
            return min(nearest)
        return max(nearest, default=-inf)

    def _sides(self, slot: str, gold: str, pred: str) -> tuple[Sequence[str], Sequence[str]]:
        """The gold and the predicted values to compare with each other; both empty if only one side is a list."""
        if self.multi == "literal":
            return ([gold], [pred]) if gold.count(BETWEEN) == pred.count(BETWEEN) else ([], [])
        only_first = self.multi == "first" or (self.multi == "by-kind" and slot in self.exact_slots)
        preds = alternatives(pred) if self.multi in ("overlap", "all") else [pred]
        return alternatives(gold)[: 1 if only_first else None], preds

    def _nearness_of_one(self, slot: str, gold: str, pred: str) -> float:
        if gold == pred or (self.labels is not None and pred in self.labels.content.get(gold, ())):
            return inf
        is_fuzzy = self.matcher.is_fuzzy and slot not in self.exact_slots
        if is_fuzzy and (self.fuzzy == "all" or (is_text(gold) and is_text(pred))):
            return self.matcher.similarity(gold, pred)
        return -inf
