"""Long tables as Parquet files: written with what is known of them in the footer, which is not believed blindly.

Conventions: a file is one run's. Its footer has, beside the schema, ``dstbench`` (`longtable.Run.meta`),
``dstbench.cuts`` (`Run.cuts`) and ``dstbench.crc32`` (of all that is before the footer).
"""

from __future__ import annotations

import json
import os
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import polars as pl

from dstbench.errors import DstbenchError
from dstbench.files import replacing
from dstbench.schema import LONG

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

# A panic is no Exception: Polars means to end the process where it meets what it thought impossible.
UNREADABLE: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
_METADATA: Final = "dstbench"
_CUTS: Final = "dstbench.cuts"
_CHECKSUM: Final = "dstbench.crc32"
_BLOCK: Final = 1 << 22


def write_groups(
    path: str | PathLike[str], groups: Iterable[pl.DataFrame], meta: Mapping[str, Any], cuts: tuple[int, ...]
) -> None:
    """Write a run whose rows come group by group, each a row group of the file; `meta` and `cuts` are the `Run`'s."""
    import pyarrow.parquet as pq  # 0.2 s, and only writing needs it

    keys = {_METADATA: json.dumps(dict(meta), ensure_ascii=False, sort_keys=True), _CUTS: json.dumps(cuts)}
    schema = LONG.schema.to_frame().to_arrow().schema
    with (
        replacing(Path(path)) as part,
        part.open("wb") as file,
        pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=True, write_page_checksum=True) as writer,
    ):
        for group in groups:
            # One chunk, thus one dictionary: where a second begins within a row group, its values are written
            # without any, and are decoded at half the speed.
            writer.write_table(group.rechunk().to_arrow(), row_group_size=max(group.height, 1))

        file.flush()
        writer.add_key_value_metadata({**keys, _CHECKSUM: _checksum(part, file.tell())})


def written_meta(path: Path) -> dict[str, Any]:
    """The `Run.meta` in a file that `write_groups` wrote; a `KeyError` or `ValueError` if it did not."""
    return dict(json.loads(pl.read_parquet_metadata(path)[_METADATA]))


def read_footer(path: Path, source: str) -> tuple[dict[str, Any], tuple[Any, ...]] | None:
    """`Run.meta` and `Run.cuts` as a file's footer has them; None if it has none, or they are of other rows.

    Raises:
        DstbenchError: The rows are damaged.
        PolarsError: The file cannot be read.
    """
    metadata = pl.read_parquet_metadata(path)
    try:
        found = dict(json.loads(metadata[_METADATA])), tuple(json.loads(metadata[_CUTS]))
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    if (written := metadata.get(_CHECKSUM)) is not None:
        with path.open("rb") as file:
            file.seek(-8, os.SEEK_END)
            before = file.tell() - int.from_bytes(file.read(4), "little")
        if written != _checksum(path, before):
            _look_for_damage(path, source)
            return None
    return found


def _look_for_damage(path: Path, source: str) -> None:
    """Check each page of a file against its own checksum, if it has one: who edits a file leaves none, or a new one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for number in range(file.num_row_groups):
                file.read_row_group(number)
    except (OSError, pa.ArrowException) as error:
        raise damaged(source, error) from None


def fits(meta: Mapping[str, Any], cuts: tuple[Any, ...], height: int) -> bool:
    """Whether a footer says what one that dstbench wrote can say of so many rows."""
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
    )


def collect(table: pl.LazyFrame, source: str) -> pl.DataFrame:
    """Read a table; `source` names it if that fails."""
    try:
        return table.collect()
    except UNREADABLE as error:
        raise damaged(source, error) from None


def damaged(source: str, error: BaseException | str) -> DstbenchError:
    """The error for a file that cannot be read, or is not as it was written."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return DstbenchError(f"a damaged Parquet file: {reason}", file=source, hint="write it again (dstbench convert)")


def _checksum(path: Path, left: int) -> str:
    """That of a file's first bytes: a damaged page may be decoded all the same, to other rows."""
    found = 0
    with path.open("rb") as file:
        while left > 0 and (block := file.read(min(left, _BLOCK))):
            found, left = crc32(block, found), left - len(block)
    return f"{found:08x}"
