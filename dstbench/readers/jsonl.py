"""dstbench's own format: one JSON object per line and turn, for models whose code writes no predictions.

Conventions: ``dialogue_id`` and ``turn`` (user turns from 0) name the turn; ``gold`` and ``pred`` are cumulative states
``{"hotel-area": "north"}``. A slot that is not in the state is left out. A line may lack ``gold`` (then ``--gold``
gives it) or ``pred`` (then the turn has no prediction). ``system`` and ``user`` are utterances: that of the system
before the user's turn, and the user's. A JSON list of such objects is read, too. Files with other keys or values are
read as `records`, with notes on what was read loosely.
"""

from typing import Final

import msgspec

from dstbench.readers import records
from dstbench.readers.format import FlatState, Format, SideBuilder, Source, StatesBuilder
from dstbench.readers.jsonl_document import TurnsDocument
from dstbench.readers.states import noting_vanishing_slots


class Turn(msgspec.Struct):
    """One turn."""

    dialogue_id: str
    turn: int
    gold: FlatState | msgspec.UnsetType = msgspec.UNSET
    pred: FlatState | msgspec.UnsetType = msgspec.UNSET
    system: str | msgspec.UnsetType = msgspec.UNSET
    user: str | msgspec.UnsetType = msgspec.UNSET


def _sniff(source: Source) -> bool:
    if source.kind == "jsonl":
        return source.first_line_has("dialogue_id")
    return any("dialogue_id" in item and "turn" in item for item in source.objects_at(1, list))


def _read(source: Source, states: StatesBuilder) -> None:
    turns = None if source.keys else source.typed(list[Turn], exact=True)
    if turns is None or any(turn.gold is turn.pred for turn in turns):  # not of the type `Turn`, or without a state
        records.read(source, states)
        return
    states.add(((turn.dialogue_id, turn.turn, turn.gold, turn.pred) for turn in turns), SideBuilder.flat)


FORMAT: Final = Format(
    name="jsonl",
    title="dstbench's own: one JSON object per line and turn",
    example='{"dialogue_id": "MUL9901", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "north"}}',
    shape=Turn,
    sniff=_sniff,
    reader=_read,
    finish=noting_vanishing_slots,
    free_keys=True,
    said=records.said,
    document=TurnsDocument,
)
