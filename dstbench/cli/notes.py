"""Warnings as notes: a line for each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dstbench.errors import DstbenchWarning

# A line has the counts of at most this many files.
_NAMED: Final = 3


def folded(warnings: Iterable[DstbenchWarning]) -> list[str]:
    """A line for each kind of warning, in the order in which the kinds first occur; a single one is not changed.

    >>> from dstbench.errors import DstbenchWarning
    >>> extra = [(2, "one/a.json"), (5, "one/b.json")]
    >>> folded(DstbenchWarning(f"{n} extra turns", file=file, kind="extra turns", count=n) for n, file in extra)
    ['2 files: extra turns: 5 in b.json, 2 in a.json (--verbose lists them)']
    """
    kinds: dict[str, dict[str, DstbenchWarning]] = {}
    for warning in warnings:
        kinds.setdefault(warning.kind, {}).setdefault(warning.args[0], warning)
    return [_line(list(of_kind.values())) for of_kind in kinds.values()]


def _line(warnings: list[DstbenchWarning]) -> str:
    first, *others = warnings
    if not others:
        return str(first.args[0])
    counts: Counter[str] = Counter()
    for warning in warnings:
        counts[warning.file or warning.run or ""] += warning.count or 1
    noun = "files" if first.file else "runs"
    places = f"{len(counts):,} {noun}: " if len(counts) > 1 else f"{next(iter(counts))}: ".removeprefix(": ")
    same = all(warning.text == first.text for warning in others)
    if first.count is None:
        what = first.text if same else f"{first.kind}, {len(warnings):,} times"
    elif len(set(counts.values())) > 1:
        what = f"{first.kind}: {_in_words(counts)}"
    elif same and first.count == 1:
        what = first.text
    else:
        count = f"{counts.most_common(1)[0][1]:,}"
        what = f"{count} {first.kind}" if same or len(counts) == 1 else f"{first.kind}: {count} in each"
    return f"{places}{what} (--verbose lists them)"


def _in_words(counts: Counter[str]) -> str:
    """The largest counts with their files, and the sum of the others."""
    names = {place: place.rpartition("/")[2] for place in counts}
    if len(set(names.values())) < len(names):  # files of one name in several folders
        names = {place: place for place in counts}
    shown = [f"{count:,} in {names[place]}" for place, count in counts.most_common(_NAMED)]
    rest = counts.total() - sum(count for _, count in counts.most_common(_NAMED))
    return ", ".join([*shown, *([f"{rest:,} in {len(counts) - _NAMED:,} more"] if len(counts) > _NAMED else [])])
