"""Gold alone: its slots, and the fingerprint of its values.

Two datasets have the same fingerprint only if they have the same turns and the same gold. It is the sum, modulo 2⁶⁴, of
one hash per turn and one per change of a gold value *under a convention*. So it does not depend on the order of rows,
on where a table is cut, or on the predictions. The hash function is defined here, so that fingerprints are the same
with any version of any library.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from dstbench.arrays import Hashes
from dstbench.readers.frames import IS_FRAME
from dstbench.schema.core import NOTHING
from dstbench.tables import collect

C: Final = pl.col
_PRIME: Final = 0x100000001B3
_ODD: Final = pl.lit(0x9E3779B97F4A7C15, pl.UInt64)
# The hash of a value that is not in the state.
_ABSENT: Final = pl.lit(1, pl.UInt64)
#: Gold's values, without those that mean "not in the state" in most files.
AS_WRITTEN: Final = pl.when(pl.all_horizontal(C("gold") != pl.lit(literal) for literal in NOTHING)).then("gold")


def gold_slots(long: pl.DataFrame) -> frozenset[str]:
    """The slots of some rows that have a value in gold other than those that mean "not in the state" in most files."""
    slots = long.lazy().filter(~IS_FRAME, AS_WRITTEN.is_not_null()).select(C("slot").unique().cast(pl.String))
    return frozenset(collect(slots)["slot"])


def gold_fingerprint(long: pl.DataFrame) -> int:
    """The fingerprint of a long table's gold as written, over all turns."""
    rows, key = long.lazy().filter(~IS_FRAME).with_columns(gold=AS_WRITTEN), ["dialogue", "turn"]
    same_slot = (C("dialogue") == C("dialogue").shift(1)) & (C("slot") == C("slot").shift(1))
    changes = rows.filter(C("gold").ne_missing(pl.when(same_slot).then(C("gold").shift(1))))
    turns = collect(rows.select(key).unique().with_columns(hash=TURN_HASH))
    cells = collect(changes.join(turns.lazy(), on=key).select(hash=CELL_HASH))
    return int(pl.concat([turns["hash"], cells["hash"]]).sum() or 0)


def _hashes(strings: Sequence[str]) -> Hashes:
    """A hash per string: a polynomial over its UTF-8 bytes, mixed."""
    texts = [string.encode() for string in strings]
    data = np.frombuffer(b"".join(texts), np.uint8)
    length = np.fromiter(map(len, texts), np.int64, len(texts))
    start = np.cumsum(length) - length
    position = np.arange(len(data)) - np.repeat(start, length)
    powers = np.cumprod(np.full(int(length.max(initial=0)) + 1, _PRIME, np.uint64))  # overflows on purpose
    terms = np.concatenate([(data + np.uint64(1)) * powers[position], np.zeros(1, np.uint64)])
    return _mixed(np.where(length > 0, np.add.reduceat(terms, start), np.uint64(0)))


def _mixed(x: Hashes) -> Hashes:
    """The finaliser of SplitMix64; products overflow on purpose."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _string_hash(column: str) -> pl.Expr:
    """A hash (UInt64) per string of a column, computed once per distinct one; null for null."""

    def hashes(strings: pl.Series) -> pl.Series:
        distinct = strings.unique().drop_nulls()
        of_distinct = pl.DataFrame({"string": distinct, "hash": _hashes(distinct.to_list())})
        return strings.to_frame("string").join(of_distinct, on="string", how="left", maintain_order="left")["hash"]

    return C(column).map_batches(hashes, return_dtype=pl.UInt64, is_elementwise=True)


def _mix(numbers: pl.Expr) -> pl.Expr:
    """Spread a difference in any bit over all bits; there are no nulls."""
    # Not an expression, because each step needs the step before twice, and Polars would compute it that often.
    return numbers.map_batches(
        lambda column: pl.Series(_mixed(column.to_numpy())), return_dtype=pl.UInt64, is_elementwise=True
    )


#: A hash (UInt64) per turn, from `dialogue` and `turn`.
TURN_HASH: Final = _mix(_string_hash("dialogue") + C("turn").cast(pl.UInt64) * _ODD)
#: A hash (UInt64) per value that gold gets in a turn: of `hash`, its turn's hash, its `slot` and the value, `gold`.
CELL_HASH: Final = _mix(C("hash") + _string_hash("slot") * _ODD ^ _string_hash("gold").fill_null(_ABSENT))
