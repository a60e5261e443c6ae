"""Frames: the active intent and the requested slots that a file in SGD's layout has per service and turn.

Conventions: a frame is a cell of the slot ``<service>-#frame``, which is in no state. Its value is the active intent,
then the requested slots, each preceded by a bar. Without ``active_intent`` the value begins with a bar or is empty;
without ``requested_slots`` it has no bar. The cell shows that there is a frame even if none of the service's slots is
in the state. Without its rows of frames, a long table is the same as one of a format that has no frames.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import polars as pl

from dstbench.schema.core import BETWEEN

#: The counts that `count_frames` returns.
COUNTS: Final = ("gold", "gold_intent", "gold_requested", "pred", "pred_intent", "pred_requested")
#: What a service's name is followed by in the slot of its frames.
FRAME: Final = "-#frame"
#: Whether a row of a long table is a frame's.
IS_FRAME: Final = pl.col("slot").cast(pl.String).str.ends_with(FRAME).fill_null(False)


def frame_value(intent: str | None, requested: Sequence[str] | None) -> str:
    """The value of a frame's cell."""
    return (intent or "") + ("" if requested is None else BETWEEN + BETWEEN.join(requested))


def count_frames(gold: pl.Series, pred: pl.Series) -> dict[str, int]:
    """Count gold's frames, those of them that are predicted, and those that have an intent or requested slots."""
    pairs = pl.DataFrame({"gold": gold, "pred": pred}).drop_nulls("gold").cast(pl.String)
    counts: dict[str, pl.Expr] = {}
    for side in ("gold", "pred"):
        value = pl.col(side)
        counts |= {
            side: value.is_not_null(),
            f"{side}_intent": ~value.str.contains(rf"^(\{BETWEEN}|$)"),
            f"{side}_requested": value.str.contains(BETWEEN, literal=True),
        }
    totals = pairs.select(flag.sum().cast(pl.Int64).alias(name) for name, flag in counts.items())
    return totals.row(0, named=True)


def all_say(counts: dict[str, Any], what: str) -> bool:
    """Whether gold and predictions have frames, and all of these have an intent (a list of requested slots)."""
    return all(counts[side] > 0 and counts[f"{side}_{what}"] == counts[side] for side in ("gold", "pred"))


def same_intent(gold: str, pred: str) -> bool:
    """Whether two frames' active intents are the same."""
    return gold.partition(BETWEEN)[0] == pred.partition(BETWEEN)[0]


def requested_f1(gold: str, pred: str | None) -> float:
    """F1 of the requested slots of two frames, as in SGD's evaluation: 1 if neither requests any."""
    wanted, predicted = _requested(gold), _requested(pred or "")
    sizes = wanted.total() + predicted.total()
    return 2 * (wanted & predicted).total() / sizes if sizes else 1.0


def _requested(value: str) -> Counter[str]:
    names: Iterable[str] = value.split(BETWEEN)[1:]
    return Counter(name for name in names if name)
