"""What a layout says of gold alone: its slots, and the fingerprint of its values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dstbench.runs import fingerprint
from dstbench.runs.codes import ABSENT, distinct, to_codes, to_strings
from dstbench.runs.layout import before, lay_out
from dstbench.schema.core import NOTHING

if TYPE_CHECKING:
    import polars as pl

    from dstbench.arrays import Codes, Flags, Hashes, Numbers
    from dstbench.runs.layout import Layout


def gold_hashes(rows: Layout, place: Numbers, first: Flags, slot: Codes, gold: Codes) -> Hashes:
    """Of each turn: its part of the fingerprint that says what changed in gold.

    Args:
        rows: Where rows stand.
        place: The places of some rows, such that all others are like the last of these before them.
        first: Of these rows: whether a slot's rows begin with them.
        slot: Codes of their slots.
        gold: Codes of their gold values, `ABSENT` where gold has none.
    """
    new = np.flatnonzero(gold != before(gold, first))
    hashed = fingerprint.of_cells(
        rows.hash_of_place[place[new]], fingerprint.of_codes(slot[new]), fingerprint.of_codes(gold[new])
    )
    sums = np.zeros(rows.total, np.uint64)
    np.add.at(sums, place[new], hashed)
    return rows.of_turns(sums)


def gold_slots(rows: Layout) -> frozenset[str]:
    """The slots that have a value in gold: one that does not mean "not in the state" in most files."""
    slot, gold, _ = rows.cells
    there = gold != ABSENT
    for nothing in to_codes(list(NOTHING)):
        there &= gold != nothing
    return frozenset(to_strings(distinct(slot[there])))


def gold_fingerprint(long: pl.DataFrame) -> int:
    """The fingerprint of a long table's gold as written (`fingerprint`), over all turns."""
    rows = lay_out(long)
    slot, gold, _ = rows.cells
    for nothing in to_codes(list(NOTHING)):
        gold[gold == nothing] = ABSENT
    turns = rows.of_turns(rows.hash_of_place)
    changes = gold_hashes(rows, rows.place, rows.first[rows.changed], slot, gold)
    return sum(int(np.add.reduce(part, dtype=np.uint64)) for part in (turns, changes)) % 2**64
