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

import polars as pl

from dstbench.errors import number_of, warn
from dstbench.readers.states import Side
from dstbench.schema.core import BETWEEN, NOTHING
from dstbench.tables import collect, collect_all

C: Final = pl.col
# Numberings that people use: the number of gold's turn 0, and the step. Besides, the least number may be gold's least.
_USUAL: Final = ((1, 1), (-1, 1), (0, 2), (1, 2), (2, 2))
# Where not more turns meet, so many more states that have a value must agree, besides three for each that no longer
# does: so a tracker that is a turn late now and then does not look like one that counts from 1.
_CLEAR: Final = 2


class Numbering(NamedTuple):
    """Another numbering of predicted turns, beside the one that they have."""

    first: int  # number of the turn that is gold's turn 0
    step: int  # difference of the numbers of consecutive turns
    met: tuple[int, int]  # predicted turns that meet a turn of gold, as they are numbered and under this numbering
    agreeing: tuple[int, int]  # likewise, states that agree with gold's
    fits_better: bool  # whether more turns meet and more states agree; or as many meet, and clearly more states agree

    @property
    def option(self) -> str:
        """The options that say so."""
        step = f"--turn-step {self.step}" if self.step > 1 else ""
        first = f"--turns-from {self.first}" if self.first or not step else ""
        return f"{first} {step}".strip()


def find_numbering(gold: Side, pred: Side) -> Numbering | None:
    """The numbering under which most states agree, of those under which at least as many turns meet; None: no other."""
    golds = _states(gold)
    preds = _states(pred).join(golds, on="dialogue", how="semi", maintain_order="left")
    if preds.is_empty():
        return None
    meets = C("of_gold").is_not_null()
    agrees = (C("of_gold") == C("state")).fill_null(value=False)

    def meeting(first: int, step: int) -> pl.LazyFrame:
        """The predicted turns, in their order, with the state of the gold turn that each meets; null: it meets none."""
        turn = pl.when((C("turn") - first) % step == 0).then((C("turn") - first) // step)
        numbered, of_gold = preds.lazy().with_columns(turn), golds.lazy().rename({"state": "of_gold"})
        return numbered.join(of_gold, on=["dialogue", "turn"], how="left", maintain_order="left")

    now = collect(meeting(0, 1).select(meets=meets, agrees=agrees))
    met, agreeing = int(now["meets"].sum()), int(now["agrees"].sum())
    preds = preds.with_columns(agreed=now["agrees"])
    least, of_gold = (int(turns["turn"].min()) for turns in (preds, golds))  # type: ignore[arg-type] # there are turns
    others = sorted({*_USUAL, (least - of_gold, 1), (least - 2 * of_gold, 2)} - {(0, 1)})
    wanted = {
        "met": meets,
        "agreeing": agrees,
        "gained": agrees & ~C("agreed") & (C("state") != 0),
        "lost": C("agreed") & ~agrees,
    }
    flags = [flag.sum().alias(name) for name, flag in wanted.items()]
    counts = [table.row(0) for table in collect_all([meeting(*other).select(flags) for other in others])]
    possible = [(other, count) for other, count in zip(others, counts, strict=True) if count[0] >= met]
    if not possible:
        return None
    (first, step), (then_met, then_agreeing, gained, lost) = max(possible, key=lambda each: each[1][1])
    fits_better = gained >= (1 + lost if then_met > met else _CLEAR + 3 * lost)
    return Numbering(first, step, (met, then_met), (agreeing, then_agreeing), fits_better)


def report_gaps(source: str, turns: pl.DataFrame) -> None:
    """Warn about dialogues whose turn numbers (dialogue, turn, sorted) do not start at 0 or skip numbers."""
    expected = pl.when(C("dialogue") == C("dialogue").shift(1)).then(C("turn").cast(pl.Int64).shift(1) + 1).otherwise(0)
    gap = turns.filter(C("turn") != expected)
    if gap.height:
        dialogues = gap["dialogue"].n_unique()
        warn(
            f"turn numbers have gaps in {number_of(dialogues, 'dialogue')} "
            f"(first: dialogue {gap['dialogue'][0]} before turn {gap['turn'][0]}); "
            "the turns that are there are scored",
            file=source,
            kind="dialogues whose turn numbers have gaps; the turns that are there are scored",
            count=dialogues,
        )


def _states(side: Side) -> pl.DataFrame:
    """A side's turns, each with a hash of its state: (dialogue, turn: Int64, state: UInt64, 0 for an empty state)."""
    meant = C("value").cast(pl.String).str.split(BETWEEN).list.first().str.strip_chars().str.to_lowercase()
    values = side.cells.lazy().select(C("value").unique()).with_columns(meant=meant)
    cells = side.cells.lazy().join(values.filter(~C("meant").is_in(NOTHING)), on="value")
    states = cells.group_by("at").agg(state=pl.struct("slot", "meant").hash().sum())
    turns = side.turns.lazy().with_row_index("at").join(states, on="at", how="left", maintain_order="left")
    return collect(turns.select("dialogue", C("turn").cast(pl.Int64), C("state").fill_null(0)))
