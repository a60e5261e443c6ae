"""Long tables as Parquet files; the footer holds a run's metadata, which are checked before use.

Conventions: a file holds one run. Besides the schema, its footer has ``dstbench`` (`runs.Run.meta`), ``dstbench.cuts``
(`Run.cuts`), ``dstbench.crc32`` (`Run.checksums`) and ``dstbench.gold`` (`Run.fingerprint`), each as JSON. Its bytes
are checked by `io.parquet`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from os import PathLike
from typing import Any, Final, NamedTuple

import polars as pl

from dstbench.io import parquet
from dstbench.io.files import File
from dstbench.readers.frames import COUNTS
from dstbench.runs.gold import gold_fingerprint
from dstbench.schema.core import LONG, SCHEMA_VERSION

_METADATA: Final = "dstbench"
_CUTS: Final = "dstbench.cuts"
_GOLD: Final = "dstbench.gold"


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


class Footer(NamedTuple):
    """What a file's footer says of the run."""

    meta: dict[str, Any]
    cuts: tuple[int, ...]
    checksums: list[list[int]] | None
    fingerprint: str | None


def fitting_footer(file: File, texts: Mapping[str, str], *, height: int, size: int) -> Footer | None:
    """The footer of a Parquet file of `height` rows and `size` bytes, from the texts in it."""
    try:
        footer = Footer(
            dict(json.loads(texts[_METADATA])),
            tuple(json.loads(texts[_CUTS])),
            json.loads(texts.get(parquet.CHECKSUMS, "null")),
            json.loads(texts.get(_GOLD, "null")),
        )
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    version = footer.meta.get("schema_version", SCHEMA_VERSION)
    if version not in range(1, SCHEMA_VERSION + 1):
        raise file.error(
            f"its long table has schema version {version}; this dstbench reads up to {SCHEMA_VERSION}",
            "it needs a newer dstbench; or convert it again with this one",
        )
    try:
        return footer if _fits(footer, height=height, size=size) else None
    except (AttributeError, KeyError, TypeError, ValueError):  # anyone may have edited it
        return None


def _fits(footer: Footer, *, height: int, size: int) -> bool:
    """Whether dstbench could have written this footer for a file of `height` rows and `size` bytes."""
    meta, cuts, sums, gold = footer
    coverage, frames, only = meta["coverage"], meta.get("frames", {}), meta.get("only", [])
    ends = [] if sums is None else [*(end for end, _ in sums), size]
    counts = [*coverage.values(), *frames.values(), *cuts, *(number for pair in sums or () for number in pair)]
    return (
        all(type(number) is int and number >= 0 for number in counts)
        and (cuts[:1], cuts[-1:]) == ((0,), (height,))
        and len(cuts) > 1
        and all(low < high for each in (cuts, ends) for low, high in pairwise(each))
        and (sums is None or len(sums) == len(cuts) - 1)
        and {"turns", "dialogues"} <= coverage.keys()
        and frames.keys() in (set(), {*COUNTS})
        and re.fullmatch(r"[a-z]+(\+[a-z]+)*", meta["missing"]) is not None
        and {"gold", "pred"} >= (spellings := meta.get("with_book", {})).keys()
        and not any(with_book for slots in spellings.values() for with_book in slots.values())
        and isinstance(only, list)
        and all(isinstance(metric, str) for metric in only)
        and (gold is None or re.fullmatch("[0-9a-f]{16}", gold) is not None)
    )
