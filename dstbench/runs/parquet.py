"""Long tables as Parquet files; the footer holds a run's metadata, which are checked before use.

Conventions: a file holds one run. Beside the schema, its footer has ``dstbench`` (`runs.Run.meta`), ``dstbench.cuts``
(`Run.cuts`), ``dstbench.crc32`` (`Run.checksums`) and ``dstbench.gold`` (`Run.fingerprint`), each as JSON.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from dstbench.errors import DstbenchError
from dstbench.io.atomic import replacing
from dstbench.io.files import utf8_path
from dstbench.readers.frames import COUNTS
from dstbench.runs.gold import gold_fingerprint
from dstbench.runs.run import checksums
from dstbench.schema.core import LONG

_METADATA: Final = "dstbench"
_CUTS: Final = "dstbench.cuts"
_CHECKSUMS: Final = "dstbench.crc32"
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
    """Write a run whose rows are in memory; `meta` and `cuts` are those of the `Run`."""
    write_groups(path, (table.slice(start, end - start) for start, end in pairwise(cuts)), meta, cuts)


def write_groups(
    path: str | PathLike[str],
    groups: Iterable[pl.DataFrame],
    meta: Mapping[str, Any],
    cuts: tuple[int, ...],
    fingerprint: int | None = None,
) -> None:
    """Write a run group by group, each a row group of the file.

    `meta`, `cuts` and `fingerprint` are those of the `Run`; a fingerprint that is None is computed.
    """
    import pyarrow as pa  # 0.2 s, and only writing needs it
    import pyarrow.parquet as pq

    keys = {_METADATA: json.dumps(dict(meta), ensure_ascii=False, sort_keys=True), _CUTS: json.dumps(cuts)}
    schema = LONG.schema.to_frame().to_arrow().schema
    schema = schema.with_metadata({**(schema.metadata or {}), **keys})
    # Uncompressed, files are 1.8 times as large, with LZ4 1.3 times, and scored in 0.9 to 1 of the time. Checksums of
    # pages take a thousandth of a file and no time that shows; they are for other readers, ours are in the footer.
    with (
        replacing(Path(path)) as temporary,
        pa.OSFile(os.fsencode(temporary), "wb") as file,  # closed even if closing the writer fails
        pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=True, write_page_checksum=True) as writer,
    ):
        ends, of_groups = [], 0
        for group in groups:
            if fingerprint is None:
                try:
                    of_groups += gold_fingerprint(group)
                except DstbenchError as error:  # its turns cannot be laid out
                    raise error.in_file(str(path)) from None
            # As one chunk, because a row group can hold only one dictionary: the values of a second chunk would be
            # written without any, and decoded at half the speed.
            writer.write_table(group.rechunk().to_arrow(), row_group_size=max(group.height, 1))
            ends.append(file.tell())
        gold = (of_groups if fingerprint is None else fingerprint) % 2**64
        sums = {_CHECKSUMS: json.dumps(checksums(temporary, ends)), _GOLD: json.dumps(f"{gold:016x}")}
        writer.add_key_value_metadata(sums)


def read_footer(path: Path) -> Footer:
    """The footer of a Parquet file.

    Raises:
        PolarsError: The file cannot be read.
        ForeignError: dstbench did not write the file.
    """
    metadata = pl.read_parquet_metadata(utf8_path(path))
    try:
        return Footer(
            dict(json.loads(metadata[_METADATA])),
            tuple(json.loads(metadata[_CUTS])),
            json.loads(metadata.get(_CHECKSUMS, "null")),
            json.loads(metadata.get(_GOLD, "null")),
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
        and isinstance(only, list)
        and all(isinstance(metric, str) for metric in only)
        and _are_counts(cuts)
        and len(cuts) > 1
        and (cuts[0], cuts[-1]) == (0, height)
        and _ascend(cuts)
        and (sums is None or (_are_checksums(sums, len(cuts) - 1) and _ascend([*(end for end, _ in sums), size])))
        and (gold is None or _matches("[0-9a-f]{16}", gold))
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
