"""Long tables as Parquet files; the footer holds a run's metadata, which are checked before use.

Conventions: a file holds one run. Besides the schema, its footer has ``dstbench`` (`runs.Run.meta`), ``dstbench.cuts``
(`Run.cuts`), ``dstbench.crc32`` (`Run.checksums`) and ``dstbench.gold`` (`Run.fingerprint`), each as JSON. Its bytes
are checked by `io.parquet`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from os import PathLike
from typing import Any, Final, NamedTuple

import polars as pl

from dstbench.io import parquet
from dstbench.readers.frames import COUNTS
from dstbench.runs.gold import gold_fingerprint
from dstbench.schema.core import LONG

_METADATA: Final = "dstbench"
_CUTS: Final = "dstbench.cuts"
_GOLD: Final = "dstbench.gold"


class Footer(NamedTuple):
    """A file's footer as decoded JSON; anyone may have edited it, so `fits` checks the values."""

    meta: dict[str, Any]
    cuts: tuple[Any, ...]
    checksums: Any
    fingerprint: Any


class ForeignError(Exception):
    """The footer is not one that dstbench writes."""


def write_table(path: str | PathLike[str], table: pl.DataFrame, meta: Mapping[str, Any], cuts: tuple[int, ...]) -> None:
    """Write a run whose rows are in memory, group by group; `meta` and `cuts` are those of the `Run`."""
    fingerprints = []

    def fingerprinted(group: pl.DataFrame) -> pl.DataFrame:
        fingerprints.append(gold_fingerprint(group))
        return group

    def gold() -> dict[str, str]:
        return {_GOLD: json.dumps(f"{sum(fingerprints) % 2**64:016x}")}

    texts = {_METADATA: json.dumps(dict(meta), ensure_ascii=False, sort_keys=True), _CUTS: json.dumps(cuts)}
    groups = (table.slice(start, end - start) for start, end in pairwise(cuts))
    parquet.write(path, LONG.schema, map(fingerprinted, groups), texts, gold)


def read_footer(texts: Mapping[str, str]) -> Footer:
    """The footer of a Parquet file, from the texts in it; a `ForeignError` if dstbench did not write the file."""
    try:
        return Footer(
            dict(json.loads(texts[_METADATA])),
            tuple(json.loads(texts[_CUTS])),
            json.loads(texts.get(parquet.CHECKSUMS, "null")),
            json.loads(texts.get(_GOLD, "null")),
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ForeignError from error


def fits(footer: Footer, *, height: int, size: int) -> bool:
    """Whether dstbench could have written this footer for a file of `height` rows and `size` bytes."""
    meta, cuts, sums, gold = footer
    coverage, frames, only = meta.get("coverage"), meta.get("frames", {}), meta.get("only", [])
    return (
        _matches(r"[a-z]+(\+[a-z]+)*", meta.get("missing"))
        and isinstance(coverage, dict)
        and coverage.keys() >= {"turns", "dialogues"}
        and _are_counts(coverage.values())
        and isinstance(frames, dict)
        and frames.keys() in (set(), {*COUNTS})
        and _are_counts(frames.values())
        and _are_spellings(meta.get("with_book", {}))
        and isinstance(only, list)
        and all(isinstance(metric, str) for metric in only)
        and _are_counts(cuts)
        and len(cuts) > 1
        and (cuts[0], cuts[-1]) == (0, height)
        and _ascend(cuts)
        and (sums is None or (_are_checksums(sums, len(cuts) - 1) and _ascend([*(end for end, _ in sums), size])))
        and (gold is None or _matches("[0-9a-f]{16}", gold))
    )


def _are_spellings(sides: Any) -> bool:
    return isinstance(sides, dict) and all(
        side in ("gold", "pred") and isinstance(slots, dict) and not any(slots.values())
        for side, slots in sides.items()
    )


def _matches(pattern: str, text: Any) -> bool:
    return isinstance(text, str) and re.fullmatch(pattern, text) is not None


def _are_counts(numbers: Iterable[Any]) -> bool:
    return all(type(number) is int and number >= 0 for number in numbers)


def _ascend(numbers: Iterable[int]) -> bool:
    return all(low < high for low, high in pairwise(numbers))


def _are_checksums(sums: Any, groups: int) -> bool:
    are_pairs = isinstance(sums, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in sums)
    return are_pairs and len(sums) == groups and all(map(_are_counts, sums))
