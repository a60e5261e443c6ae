"""Numbers of turns: refuses predictions that number them differently than gold, and reports gaps."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.errors import DstbenchError, number_of, warn
from dstbench.readers.states import Side
from dstbench.schema.core import BETWEEN, NOTHING
from dstbench.tables import collect, collect_all

C: Final = pl.col
# Numberings that people use: the number of gold's turn 0, and the step. Besides, the least number may be gold's least.
_USUAL: Final = ((1, 1), (-1, 1), (0, 2), (1, 2), (2, 2))
# Where not more turns meet, so many more states that have a value must agree, besides three for each that no longer
# does: so a tracker that is a turn late now and then does not look like one that counts from 1.
_CLEAR: Final = 2


def check_numbering(source: str, gold: Side, pred: Side) -> str:
    """Refuse predictions that fit gold better under another numbering of turns; else a hint at one that may be meant.

    That is the numbering under which most states agree, of those under which at least as many turns meet. It fits
    better if more turns meet and more states agree; or as many meet, and clearly more states agree.
    """
    golds = _states(gold)
    preds = _states(pred).join(golds, on="dialogue", how="semi", maintain_order="left")
    if preds.is_empty():
        return ""
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
    gained, lost = agrees & ~C("agreed") & (C("state") != 0), C("agreed") & ~agrees
    flags = [flag.sum().alias(str(number)) for number, flag in enumerate((meets, agrees, gained, lost))]
    counts = [table.row(0) for table in collect_all([meeting(*other).select(flags) for other in others])]
    possible = [(other, count) for other, count in zip(others, counts, strict=True) if count[0] >= met]
    if not possible:
        return ""
    (first, step), (then_met, then_agreeing, gains, losses) = max(possible, key=lambda each: each[1][1])
    option = f"--turns-from {first}" * (first != 0 or step == 1) + f" --turn-step {step}" * (step > 1)
    option = option.strip()
    if gains >= (1 + losses if then_met > met else _CLEAR + 3 * losses):
        predicted = number_of(pred.turns.height, "predicted turn")
        as_they_are = f"of {predicted}, {met:,} are in gold, {agreeing:,} of them with the same state"
        then = f"{option} makes that {then_met:,} and {then_agreeing:,}"
        what = f"turns are numbered differently than gold's: {as_they_are}; {then}"
        hint = f"{option} renumbers them; --turns-from 0 takes them as they are numbered"
        raise DstbenchError(what, file=source, hint=hint)
    return f"if turns are numbered differently than gold's, {option} renumbers them; " if met < then_met else ""


def _states(side: Side) -> pl.DataFrame:
    """A side's turns, each with a hash of its state: (dialogue, turn: Int64, state: UInt64, 0 for an empty state)."""
    # A value may be spelled in several ways: case, and all but the first of several alternatives, are left aside.
    meant = C("value").cast(pl.String).str.split(BETWEEN).list.first().str.strip_chars().str.to_lowercase()
    values = side.cells.lazy().select(C("value").unique()).with_columns(meant=meant)
    cells = side.cells.lazy().join(values.filter(~C("meant").is_in(NOTHING)), on="value")
    states = cells.group_by("at").agg(state=pl.struct("slot", "meant").hash().sum())
    turns = side.turns.lazy().with_row_index("at").join(states, on="at", how="left", maintain_order="left")
    return collect(turns.select("dialogue", C("turn").cast(pl.Int64), C("state").fill_null(0)))


def report_gaps(source: str, turns: pl.DataFrame) -> None:
    """Warn about dialogues whose turn numbers (dialogue, turn, sorted) do not start at 0 or skip numbers."""
    expected = pl.when(C("dialogue") == C("dialogue").shift(1)).then(C("turn").cast(pl.Int64).shift(1) + 1).otherwise(0)
    gap = turns.filter(C("turn") != expected)
    if gap.height:
        dialogues, so = gap["dialogue"].n_unique(), "the turns that are there are scored"
        first = f"first: dialogue {gap['dialogue'][0]} before turn {gap['turn'][0]}"
        text = f"turn numbers have gaps in {number_of(dialogues, 'dialogue')} ({first}); {so}"
        warn(text, file=source, kind=f"dialogues whose turn numbers have gaps; {so}", count=dialogues)
