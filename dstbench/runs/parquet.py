"""Long tables as Parquet files: written with what is known of them in the footer, which is not believed blindly.

Conventions: a file is one run's. Its footer has, beside the schema, ``dstbench`` (`runs.Run.meta`),
``dstbench.cuts`` (`Run.cuts`), ``dstbench.crc32`` (`Run.checksums`) and ``dstbench.gold`` (`Run.fingerprint`).
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl

from dstbench.errors import DstbenchError
from dstbench.io.atomic import replacing
from dstbench.readers.frames import COUNTS
from dstbench.runs.gold import gold_fingerprint
from dstbench.runs.run import checksums
from dstbench.schema.core import LONG

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

_METADATA: Final = "dstbench"
_CUTS: Final = "dstbench.cuts"
_CHECKSUMS: Final = "dstbench.crc32"
_GOLD: Final = "dstbench.gold"


class Footer(NamedTuple):
    """What a file's footer says of its run, as JSON has it: it may be anything."""

    meta: dict[str, Any]
    cuts: tuple[Any, ...]
    checksums: Any
    fingerprint: Any


def write_groups(
    path: str | PathLike[str],
    groups: Iterable[pl.DataFrame],
    meta: Mapping[str, Any],
    cuts: tuple[int, ...],
    fingerprint: int | None = None,
) -> None:
    """Write a run whose rows come group by group, each a row group of the file.

    `meta`, `cuts` and `fingerprint` are the `Run`'s; without the last, it is worked out.
    """
    import pyarrow as pa  # 0.2 s, and only writing needs it
    import pyarrow.parquet as pq

    keys = {_METADATA: json.dumps(dict(meta), ensure_ascii=False, sort_keys=True), _CUTS: json.dumps(cuts)}
    schema = LONG.schema.to_frame().to_arrow().schema
    schema = schema.with_metadata({**(schema.metadata or {}), **keys})
    with (
        replacing(Path(path)) as part,
        pa.OSFile(str(part), "wb") as file,  # which is closed even if the writer cannot be
        pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=True, write_page_checksum=True) as writer,
    ):
        ends, found = [], 0
        for group in groups:
            if fingerprint is None:
                try:
                    found += gold_fingerprint(group)
                except DstbenchError as error:  # its turns cannot be laid out
                    raise error.in_file(str(path)) from None
            # One chunk, thus one dictionary: where a second begins within a row group, its values are written
            # without any, and are decoded at half the speed.
            writer.write_table(group.rechunk().to_arrow(), row_group_size=max(group.height, 1))
            ends.append(file.tell())
        sums, gold = checksums(part, ends), (found if fingerprint is None else fingerprint) % 2**64
        writer.add_key_value_metadata({_CHECKSUMS: json.dumps(sums), _GOLD: json.dumps(f"{gold:016x}")})


def written_meta(path: Path) -> dict[str, Any]:
    """The `Run.meta` in a file that `write_groups` wrote; a `KeyError` or `ValueError` if it did not."""
    return dict(json.loads(pl.read_parquet_metadata(path)[_METADATA]))


def written_fingerprint(path: Path) -> int | None:
    """The `Run.fingerprint` in a file that `write_groups` wrote; None if it did before there were any."""
    gold = json.loads(pl.read_parquet_metadata(path).get(_GOLD, "null"))
    return None if gold is None else int(gold, 16)


def read_footer(path: Path) -> Footer | None:
    """What a file's footer says of its run; None if it lacks what all that dstbench wrote have.

    Raises:
        PolarsError: The file cannot be read.
    """
    metadata = pl.read_parquet_metadata(path)
    try:
        return Footer(
            dict(json.loads(metadata[_METADATA])),
            tuple(json.loads(metadata[_CUTS])),
            json.loads(metadata.get(_CHECKSUMS, "null")),
            json.loads(metadata.get(_GOLD, "null")),
        )
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def fits(footer: Footer, *, height: int, size: int) -> bool:
    """Whether a footer says what one that dstbench wrote can say of so many rows, in a file of so many bytes."""
    meta, cuts, sums, gold = footer
    coverage, only, frames = meta.get("coverage"), meta.get("only", []), meta.get("frames", {})
    return (
        isinstance(meta.get("missing"), str)
        and re.fullmatch(r"[a-z]+(\+[a-z]+)*", meta["missing"]) is not None
        and isinstance(coverage, dict)
        and coverage.keys() >= {"turns", "dialogues"}
        and all(type(count) is int and count >= 0 for count in coverage.values())
        and isinstance(frames, dict)
        and (not frames or frames.keys() == {*COUNTS})
        and all(type(count) is int and count >= 0 for count in frames.values())
        and isinstance(only, list)
        and all(isinstance(metric, str) for metric in only)
        and all(type(cut) is int for cut in cuts)
        and cuts[:1] == (0,)
        and cuts[-1:] == (height,)
        and all(start < end for start, end in pairwise(cuts))
        and len(cuts) > 1
        and (sums is None or _are_checksums(sums, len(cuts) - 1, size))
        and (gold is None or (isinstance(gold, str) and re.fullmatch("[0-9a-f]{16}", gold) is not None))
    )


def _are_checksums(sums: Any, groups: int, size: int) -> bool:
    return (
        isinstance(sums, list)
        and len(sums) == groups
        and all(
            isinstance(pair, list) and len(pair) == 2 and all(type(n) is int and n >= 0 for n in pair) for pair in sums
        )
        and all(start < end for (start, _), (end, _) in pairwise([*sums, [size, 0]]))
    )
