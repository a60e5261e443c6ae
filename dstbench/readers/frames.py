"""Frames: what a file in SGD's layout says of a service in a turn, beside the service's slots.

Conventions: a turn's frame of a service is a cell of the slot ``<service>-#frame``, which is no slot of the state. Its
value is the frame's active intent and then its requested slots, with bars between and before them; a frame without
``active_intent`` begins with a bar or is empty, and one without ``requested_slots`` has no bar. So gold's value says
that gold has the frame, also where no slot of it is in the state. Without the rows of such cells, a long table is what
it would be if nothing were known of frames.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import polars as pl

from dstbench.schema.core import BETWEEN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags: TypeAlias = NDArray[np.bool_]
#: What is counted of frames: see `count_frames`.
COUNTS: Final = ("gold", "gold_intent", "gold_requested", "pred", "pred_intent", "pred_requested")
_SLOT: Final = "-#frame"
#: Whether a row of a long table is a frame's.
IS_FRAME: Final = pl.col("slot").cast(pl.String).str.ends_with(_SLOT).fill_null(False)


def frame_slot(service: str) -> str:
    """The name under which a service's frames stand among its slots."""
    return f"{service}{_SLOT}"


def frame_value(intent: str | None, requested: Sequence[str] | None) -> str:
    """What a frame says beside its slots; None: the file does not say it.

    >>> frame_value("FindHotels", []), frame_value("FindHotels", None), frame_value(None, ["price", "city"])
    ('FindHotels|', 'FindHotels', '|price|city')
    """
    return (intent or "") + ("" if requested is None else BETWEEN + BETWEEN.join(requested))


def are_frames(slots: pl.Series) -> Flags:
    """Which of these names of slots (String) are frames'."""
    flags: Flags = slots.str.ends_with(_SLOT).fill_null(False).to_numpy()
    return flags


def count_frames(gold: pl.Series, pred: pl.Series) -> dict[str, int]:
    """How many frames gold has, how many of these are predicted, and which of these say what.

    Args:
        gold: What gold's frames say; null where gold has no frame.
        pred: What the predicted ones of the same turns and services say; null where none is.

    Returns:
        ``gold`` and ``pred``; of each, ``<side>_intent`` and ``<side>_requested``: how many say that. Counts of parts
        of a run add up.
    """
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
    """Whether all frames of gold and all predicted ones, of which there are some, say their intent (requested slots).

    Args:
        counts: What `count_frames` gives.
        what: ``intent`` or ``requested``.
    """
    return all(counts[side] > 0 and counts[f"{side}_{what}"] == counts[side] for side in ("gold", "pred"))


def same_intent(gold: str, pred: str) -> bool:
    """Whether two frames' active intents are the same.

    >>> same_intent("FindHotels|price", "FindHotels|"), same_intent("FindHotels|", "NONE|")
    (True, False)
    """
    return gold.partition(BETWEEN)[0] == pred.partition(BETWEEN)[0]


def requested_f1(gold: str, pred: str | None) -> float:
    """F1 of the requested slots of two frames, as SGD's evaluation has it: 1 where neither requests any.

    Args:
        gold: What gold's frame says.
        pred: What the predicted one says; None: there is none.

    >>> requested_f1("NONE|price|city", "NONE|price"), requested_f1("NONE|", "NONE|"), requested_f1("NONE|", "NONE|a")
    (0.6666666666666666, 1.0, 0.0)
    """
    wanted, predicted = _requested(gold), _requested(pred or "")
    sizes = wanted.total() + predicted.total()
    return 2 * (wanted & predicted).total() / sizes if sizes else 1.0


def _requested(value: str) -> Counter[str]:
    names: Iterable[str] = value.split(BETWEEN)[1:]
    return Counter(name for name in names if name)
