"""Long tables as Parquet files: written with what is known of them in the footer, which is not believed blindly.

Conventions: a file is one run's. Its footer has, beside the schema, ``dstbench`` (`runs.Run.meta`),
``dstbench.cuts`` (`Run.cuts`) and ``dstbench.crc32`` (`Run.checksums`).
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dstbench.files import replacing
from dstbench.runs import checksums
from dstbench.schema import LONG

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

_METADATA: Final = "dstbench"
_CUTS: Final = "dstbench.cuts"
_CHECKSUMS: Final = "dstbench.crc32"


def write_groups(
    path: str | PathLike[str], groups: Iterable[pl.DataFrame], meta: Mapping[str, Any], cuts: tuple[int, ...]
) -> None:
    """Write a run whose rows come group by group, each a row group of the file; `meta` and `cuts` are the `Run`'s."""
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
        ends = []
        for group in groups:
            # One chunk, thus one dictionary: where a second begins within a row group, its values are written
            # without any, and are decoded at half the speed.
            writer.write_table(group.rechunk().to_arrow(), row_group_size=max(group.height, 1))
            ends.append(file.tell())
        writer.add_key_value_metadata({_CHECKSUMS: json.dumps(checksums(part, ends))})


def written_meta(path: Path) -> dict[str, Any]:
    """The `Run.meta` in a file that `write_groups` wrote; a `KeyError` or `ValueError` if it did not."""
    return dict(json.loads(pl.read_parquet_metadata(path)[_METADATA]))


def read_footer(path: Path) -> tuple[dict[str, Any], tuple[Any, ...], Any] | None:
    """`Run.meta`, `Run.cuts` and `Run.checksums` as a file's footer has them; None if it has not the first two.

    Raises:
        PolarsError: The file cannot be read.
    """
    metadata = pl.read_parquet_metadata(path)
    try:
        return (
            dict(json.loads(metadata[_METADATA])),
            tuple(json.loads(metadata[_CUTS])),
            json.loads(metadata.get(_CHECKSUMS, "null")),
        )
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def fits(meta: Mapping[str, Any], cuts: tuple[Any, ...], sums: Any, *, height: int, size: int) -> bool:
    """Whether a footer says what one that dstbench wrote can say of so many rows, in a file of so many bytes."""
    coverage, only = meta.get("coverage"), meta.get("only", [])
    return (
        isinstance(meta.get("missing"), str)
        and re.fullmatch(r"[a-z]+(\+[a-z]+)*", meta["missing"]) is not None
        and isinstance(coverage, dict)
        and coverage.keys() >= {"turns", "dialogues"}
        and all(type(count) is int and count >= 0 for count in coverage.values())
        and isinstance(only, list)
        and all(isinstance(metric, str) for metric in only)
        and all(type(cut) is int for cut in cuts)
        and cuts[:1] == (0,)
        and cuts[-1:] == (height,)
        and all(start < end for start, end in pairwise(cuts))
        and len(cuts) > 1
        and (sums is None or _are_checksums(sums, len(cuts) - 1, size))
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
