"""When a predicted value matches a gold value: matchers over strings, asked once per distinct pair.

Conventions: a matcher gives a similarity from 0 to 1 and accepts from a threshold on. A fuzzy one is never asked about
numbers, times, days, booleans and dontcare unless it is told so. Alternatives (``a|b``) are told apart here, by one of
the rules of `Convention.multi`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dstbench.conventions.normalise import alternatives, is_text
from dstbench.errors import UsageError, did_you_mean
from dstbench.schema.core import BETWEEN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dstbench.conventions.files import Table
    from dstbench.typing import Fuzzy, Multi


@dataclass(frozen=True)
class Matcher:
    """A way to compare two strings, and from where on they match.

    Attributes:
        kind: A name in `KINDS`.
        threshold: The similarity that must be reached.
        above: Whether it must be exceeded.
    """

    kind: str = "exact"
    threshold: float = 1.0
    above: bool = False

    @classmethod
    def parse(cls, notation: str) -> Matcher:
        """The matcher that ``name``, ``name:least=T`` or ``name:above=T`` names.

        Raises:
            UsageError: There is none of that name, or T is no number from 0 to 1.

        >>> str(Matcher.parse("levenshtein")), Matcher.parse("partial:above=0.95").accepts("2", "12")
        ('levenshtein:least=0.9', True)
        """
        kind, *rest = notation.strip().split(":")
        if kind not in KINDS:
            raise UsageError(
                f"there is no matcher {kind!r}", hint=did_you_mean(kind, KINDS) or f"one of {', '.join(KINDS)}"
            )
        if not rest:
            return cls(kind, KINDS[kind].threshold)
        if kind == "exact":
            raise UsageError(f"match {notation!r}: exact matching has no threshold", hint="exact")
        how, equals, number = rest[0].partition("=")
        try:
            threshold = float(number)
        except ValueError:
            threshold = -1
        if len(rest) > 1 or how not in ("least", "above") or not equals or not 0 <= threshold <= 1:
            raise UsageError(f"match {notation!r} is not understood", hint=f"{kind}:least=0.9 or {kind}:above=0.9")
        return cls(kind, threshold, how == "above")

    @property
    def is_fuzzy(self) -> bool:
        """Whether it accepts strings that are not equal."""
        return self.kind != "exact"

    def similarity(self, gold: str, pred: str) -> float:
        """From 0 to 1; 1 for equal strings."""
        return 1.0 if gold == pred else KINDS[self.kind].similarity(gold, pred)

    def accepts(self, gold: str, pred: str) -> bool:
        """Whether the similarity is high enough; equal strings always match."""
        if gold == pred:
            return True
        found = self.similarity(gold, pred)
        return found > self.threshold if self.above else found >= self.threshold

    def __str__(self) -> str:
        return f"{self.kind}:{'above' if self.above else 'least'}={self.threshold:g}" if self.is_fuzzy else self.kind


@dataclass(frozen=True)
class _Kind:
    similarity: Callable[[str, str], float]
    threshold: float
    meaning: str


def _levenshtein(gold: str, pred: str) -> float:
    from rapidfuzz.distance import Levenshtein  # 20 ms, and only fuzzy matching needs it

    return 1 - Levenshtein.distance(gold, pred) / max(len(gold), len(pred), 1)


def _partial(gold: str, pred: str) -> float:
    from difflib import SequenceMatcher

    from rapidfuzz.distance import Indel

    # Not RapidFuzz's own partial ratio: it, FuzzyWuzzy, and FuzzyWuzzy with its accelerator give three numbers. As
    # FuzzyWuzzy does, stretches are tried that begin where a common block lines up; in whole percent, as the scripts
    # that use it have it. Of two strings of one length each is laid on the other, so that their order does not matter.
    shorter, longer = sorted((gold, pred), key=len)
    roles = [(shorter, longer), (longer, shorter)] if len(shorter) == len(longer) else [(shorter, longer)]
    nearest = 0.0
    for needle, hay in roles:
        blocks = SequenceMatcher(None, needle, hay, autojunk=False).get_matching_blocks()
        for start in {max(block.b - block.a, 0) for block in blocks}:
            nearest = max(nearest, Indel.normalized_similarity(needle, hay[start : start + len(needle)]))
    return round(100 * nearest) / 100


def _token_sort(gold: str, pred: str) -> float:
    from rapidfuzz.fuzz import token_sort_ratio
    from rapidfuzz.utils import default_process

    return round(token_sort_ratio(gold, pred, processor=default_process)) / 100


def _contained(gold: str, pred: str) -> float:
    longer, shorter = sorted((gold.split(), pred.split()), key=len, reverse=True)
    starts = range(len(longer) - len(shorter) + 1)
    return float(bool(shorter) and any(longer[at : at + len(shorter)] == shorter for at in starts))


#: Matchers by name.
KINDS: Final[dict[str, _Kind]] = {
    "exact": _Kind(lambda *_: 0.0, 1.0, "equal strings"),
    "levenshtein": _Kind(_levenshtein, 0.9, "1 - edit distance / length of the longer string (Qian et al. 2021)"),
    "partial": _Kind(
        _partial, 0.9, "indel similarity of the shorter string and the nearest stretch of the longer, in whole percent"
    ),
    "token-sort": _Kind(_token_sort, 0.9, "indel similarity of the sorted words, in whole percent (SGD)"),
    "contain": _Kind(_contained, 1.0, "the words of one stand one after another in the other (TripPy)"),
}


@dataclass(frozen=True)
class ValueMatcher:
    """The whole rule by which a predicted value of a slot matches a gold one.

    Attributes:
        matcher: How two strings are compared.
        multi: What alternatives mean.
        fuzzy: Whether a fuzzy matcher is asked about ``all`` values or about ``text`` only.
        labels: Variants that are accepted for a gold value; not the other way round.
        exact_slots: Slots that are never compared fuzzily.
    """

    matcher: Matcher
    multi: Multi
    fuzzy: Fuzzy = "text"
    labels: Table | None = None
    exact_slots: frozenset[str] = frozenset()

    def accepts(self, slot: str, gold: str, pred: str) -> bool:
        """Whether the prediction counts as right."""
        if gold == pred:
            return True
        if self.multi == "literal":
            return gold.count(BETWEEN) == pred.count(BETWEEN) and self._one(slot, gold, pred)
        golds, preds = self._golds(slot, gold), alternatives(pred)
        if self.multi in ("first", "any", "by-kind"):
            return any(self._one(slot, one, pred) for one in golds)
        if self.multi == "overlap":
            return any(self._one(slot, one, other) for one in golds for other in preds)
        return all(any(self._one(slot, one, other) for other in preds) for one in golds) and all(
            any(self._one(slot, one, other) for one in golds) for other in preds
        )

    def similarity(self, slot: str, gold: str, pred: str) -> float:
        """From 0 to 1: that of the nearest gold alternative, whatever the threshold."""
        if self.accepts(slot, gold, pred) and not self.matcher.is_fuzzy:
            return 1.0
        return max(self._near(slot, one, pred) for one in self._golds(slot, gold))

    def _golds(self, slot: str, gold: str) -> Sequence[str]:
        """The gold values that count."""
        if self.multi == "literal":
            return [gold]
        only_first = self.multi == "first" or (self.multi == "by-kind" and slot in self.exact_slots)
        return alternatives(gold)[: 1 if only_first else None]

    def _near(self, slot: str, gold: str, pred: str) -> float:
        if self._equal(gold, pred):
            return 1.0
        return self.matcher.similarity(gold, pred) if self._asks(slot, gold, pred) else 0.0

    def _one(self, slot: str, gold: str, pred: str) -> bool:
        return self._equal(gold, pred) or (self._asks(slot, gold, pred) and self.matcher.accepts(gold, pred))

    def _equal(self, gold: str, pred: str) -> bool:
        return gold == pred or (self.labels is not None and pred in self.labels.content.get(gold, ()))

    def _asks(self, slot: str, gold: str, pred: str) -> bool:
        """Whether the fuzzy matcher is asked at all."""
        if not self.matcher.is_fuzzy or slot in self.exact_slots:
            return False
        return self.fuzzy == "all" or (is_text(gold) and is_text(pred))
