"""Gold alone: its slots, and the fingerprint of its values, of all dialogues together and of each."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

from dstbench.arrays import Codes, Flags, Hashes, Numbers
from dstbench.runs import fingerprint
from dstbench.runs.codes import ABSENT, distinct, to_codes, to_strings
from dstbench.runs.layout import Layout, before, lay_out, row_changes
from dstbench.schema.core import NOTHING


def gold_hashes(rows: Layout, place: Numbers, first: Flags, slot: Codes, gold: Codes) -> Hashes:
    """For each turn: its part of the fingerprint, the sum of one hash per gold value that changes in it.

    Args:
        rows: The layout.
        place: The places of some rows; every other row is equal to the last of these rows before it.
        first: Whether each of these rows is its slot's first.
        slot: Codes of their slots.
        gold: Codes of their gold values, `ABSENT` where gold has none.
    """
    new = np.flatnonzero(gold != before(gold, first))
    hashes = fingerprint.of_cells(
        rows.hash_of_place[place[new]], fingerprint.of_codes(slot[new]), fingerprint.of_codes(gold[new])
    )
    sums = np.zeros(rows.total, np.uint64)
    np.add.at(sums, place[new], hashes)
    return rows.of_turns(sums)


def gold_slots(rows: Layout) -> frozenset[str]:
    """The slots that have a value in gold other than those that mean "not in the state" in most files."""
    slot, gold, _ = rows.cells
    return frozenset(to_strings(distinct(slot[~np.isin(gold, _absent())])))


def gold_fingerprint(long: pl.DataFrame) -> int:
    """The fingerprint of a long table's gold as written, over all turns (see `fingerprint`)."""
    return int(np.add.reduce(_hashes_of_turns(lay_out(long)), dtype=np.uint64))


def gold_by_dialogue(long: pl.DataFrame) -> pl.DataFrame:
    """The fingerprint of each dialogue's gold as written; their sum, modulo 2⁶⁴, is `gold_fingerprint`.

    Returns:
        (dialogue: String, turns: Int64, fingerprint: UInt64), in the order of the table.
    """
    rows = lay_out(long)
    first = np.flatnonzero(row_changes(rows.group))
    hashes = np.add.reduceat(_hashes_of_turns(rows), first)
    return pl.DataFrame({"dialogue": rows.dialogue, "turns": np.bincount(rows.group), "fingerprint": hashes})


def _hashes_of_turns(rows: Layout) -> Hashes:
    """For each turn: its part of the fingerprint of gold as written."""
    slot, gold, _ = rows.cells
    gold = np.where(np.isin(gold, _absent()), np.uint32(ABSENT), gold)  # a copy, as others have the layout too
    changes = gold_hashes(rows, rows.place, rows.first[rows.changed], slot, gold)
    hashes: Hashes = rows.of_turns(rows.hash_of_place) + changes
    return hashes


@cache  # codes of the process
def _absent() -> Codes:
    """The codes of null and of the values that mean "not in the state" in most files."""
    return np.append(to_codes(list(NOTHING)), np.uint32(ABSENT))
