"""The rows of frames in a long table (`readers.frames`), found by their slots' codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dstbench.readers.frames import are_frames
from dstbench.runs.codes import PerCode, codes

if TYPE_CHECKING:
    import polars as pl

    from dstbench.arrays import Codes, Flags


_OF_CODES: Final = PerCode(are_frames, absent=False)


def rows_of_frames(slot: Codes) -> Flags | None:
    """Which rows with these codes of slots are frames'; None: none of them."""
    if not _OF_CODES.up_to(slot).any():  # in no table of this process
        return None
    flags = _OF_CODES.of(slot)
    return flags if flags.any() else None


def states_only(table: pl.DataFrame) -> pl.DataFrame:
    """A long table without the rows of frames."""
    flags = rows_of_frames(codes(table["slot"])) if "slot" in table.columns else None
    return table if flags is None else table.filter(~flags)
