"""Whether predictions number turns differently than gold: from 1, say, or in twos, as system turns count too.

Conventions: a numbering is the user's number of gold's turn 0, and the step from turn to turn. Under a numbering, a
predicted turn may meet a turn of gold, and the two states may agree. As the same value may be spelled in several ways,
case and all but the first of several alternatives are left aside; a value that means "not in the state" is none.

>>> turns = pl.DataFrame({"dialogue": ["D"] * 3, "turn": [0, 1, 2]}, schema_overrides={"turn": pl.UInt16})
>>> cells = {"at": [0, 1, 2], "slot": ["hotel-area"] * 3, "value": ["north", "south", "west"]}
>>> types = {"at": pl.UInt32, "slot": pl.Categorical, "value": pl.Categorical}
>>> gold = Side(turns, pl.DataFrame(cells, schema=types))
>>> pred = Side(turns.with_columns(pl.col("turn") + 1), gold.cells)
>>> found = find_numbering(gold, pred)
>>> found.first, found.step, found.met, found.agreeing, found.fits_better
(1, 1, (2, 3), (0, 3), True)
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import polars as pl

from dstbench.arrays import Flags, Hashes, Numbers
from dstbench.errors import number_of, warn
from dstbench.readers.states import Side
from dstbench.runs import fingerprint
from dstbench.runs.codes import PerCode, codes
from dstbench.runs.frames import turn_keys
from dstbench.runs.layout import row_changes
from dstbench.schema.core import BETWEEN, MAX_TURN, NOTHING

# Numberings that people use: the number of gold's turn 0, and the step. Besides, the least number may be gold's least.
_USUAL: Final = ((1, 1), (-1, 1), (0, 2), (1, 2), (2, 2))
# Where not more turns meet, so many more states that have a value must agree, besides three for each that no longer
# does: so a tracker that is a turn late now and then does not look like one that counts from 1.
_CLEAR: Final = 2


class Numbering(NamedTuple):
    """Another numbering of predicted turns, beside the one that they have.

    Attributes:
        first: The number of the turn that is gold's turn 0.
        step: The difference of the numbers of consecutive turns.
        met: Number of predicted turns that meet a turn of gold, as they are numbered and under this numbering.
        agreeing: Likewise, number of states that agree with gold's.
        fits_better: Whether more turns meet and more states agree; or as many meet, and clearly more states agree.
    """

    first: int
    step: int
    met: tuple[int, int]
    agreeing: tuple[int, int]
    fits_better: bool

    @property
    def option(self) -> str:
        """The options that say so."""
        step = f"--turn-step {self.step}" if self.step > 1 else ""
        first = f"--turns-from {self.first}" if self.first or not step else ""
        return f"{first} {step}".strip()


def find_numbering(gold: Side, pred: Side) -> Numbering | None:
    """The numbering under which most states agree, of those under which at least as many turns meet.

    Args:
        gold: The gold side.
        pred: The predicted side, some of whose turns gold lacks, or the other way round.

    Returns:
        The numbering; None: under no other one as many turns meet.
    """
    numbers = gold.turns.select(pl.col("dialogue").unique()).with_row_index("number")
    golds, preds = (
        side.turns.with_row_index("at").join(numbers, on="dialogue", maintain_order="left") for side in (gold, pred)
    )
    if preds.is_empty():
        return None
    keys = turn_keys(golds["number"].to_numpy(), golds["turn"].to_numpy())
    order = np.argsort(keys)
    keys = keys[order]
    dialogue, turn = preds["number"].to_numpy().astype(np.int64), preds["turn"].to_numpy().astype(np.int64)

    def meeting(first: int, step: int) -> tuple[Flags, Numbers]:
        """Whether each predicted turn meets a turn of gold, and the index of that turn among the sorted ones."""
        number, rest = np.divmod(turn - first, step)
        key = turn_keys(dialogue, number)
        at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        return (rest == 0) & (number >= 0) & (number <= MAX_TURN) & (keys[at] == key), at

    as_numbered = meeting(0, 1)
    now_met = int(as_numbered[0].sum())
    least, of_gold = int(turn.min()), int(golds["turn"].min())  # type: ignore[arg-type] # there are turns
    others = {*_USUAL, (least - of_gold, 1), (least - 2 * of_gold, 2)} - {(0, 1)}
    possible = [(other, meet) for other in sorted(others) if (meet := meeting(*other))[0].sum() >= now_met]
    if not possible:
        return None
    gold_states, pred_states = _states(gold)[order], _states(pred)[preds["at"].to_numpy()]

    def agreeing(meet: tuple[Flags, Numbers]) -> Flags:
        flags: Flags = meet[0] & (gold_states[meet[1]] == pred_states)
        return flags

    now = agreeing(as_numbered)
    (first, step), (meets, at) = max(possible, key=lambda each: int(agreeing(each[1]).sum()))
    then = agreeing((meets, at))
    met = now_met, int(meets.sum())
    gained, lost = then & ~now, now & ~then
    needed = 1 + lost.sum() if met[1] > met[0] else _CLEAR + 3 * lost.sum()
    fits_better = bool((gained & (pred_states != 0)).sum() >= needed)
    return Numbering(first, step, met, (int(now.sum()), int(then.sum())), fits_better)


def report_gaps(source: str, turns: pl.DataFrame) -> None:
    """Warn about dialogues whose turn numbers do not start at 0 or skip numbers.

    Args:
        source: Name of the file, for messages.
        turns: (dialogue, turn, …), sorted.
    """
    turn = turns["turn"].to_numpy().astype(np.int64)
    expected = np.zeros_like(turn)
    expected[1:] = turn[:-1] + 1
    expected[row_changes(turns["dialogue"])] = 0
    if (turn != expected).any():
        gap = turns.filter(turn != expected)
        dialogues = gap["dialogue"].n_unique()
        warn(
            f"turn numbers have gaps in {number_of(dialogues, 'dialogue')} "
            f"(first: dialogue {gap['dialogue'][0]} before turn {gap['turn'][0]}); "
            "the turns that are there are scored",
            file=source,
            kind="dialogues whose turn numbers have gaps; the turns that are there are scored",
            count=dialogues,
        )


def _states(side: Side) -> Hashes:
    """A hash per turn of a side: the sum of those of its slots and values; 0 for an empty state."""
    value = _VALUES.of(codes(side.cells["value"]))
    cells = fingerprint.of_cells(np.zeros_like(value), fingerprint.of_codes(codes(side.cells["slot"])), value)
    sums = np.zeros(side.turns.height, np.uint64)
    np.add.at(sums, side.cells["at"].to_numpy(), np.where(value == 0, np.uint64(0), cells))
    return sums


def _of_values(values: pl.Series) -> Hashes:
    """A hash per value, the same for all its spellings; 0 for those that mean "not in the state"."""
    values = values.str.split(BETWEEN).list.first().str.strip_chars().str.to_lowercase()
    hashes: Hashes = fingerprint.of_strings(values) | np.uint64(1)
    hashes[values.is_in(NOTHING).to_numpy()] = 0
    return hashes


_VALUES: Final = PerCode(_of_values, np.uint64(0))
