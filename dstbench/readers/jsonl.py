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
from dstbench.readers.format import Format, Source, StatesBuilder
from dstbench.readers.jsonl_document import TurnsDocument
from dstbench.readers.states import noting_vanishing_slots


class Turn(msgspec.Struct):
    """One turn."""

    dialogue_id: str
    turn: int
    gold: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    pred: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    system: str | msgspec.UnsetType = msgspec.UNSET
    user: str | msgspec.UnsetType = msgspec.UNSET


class _Exact(Turn, forbid_unknown_fields=True):
    """A turn without other keys."""


def _sniff(source: Source) -> bool:
    if source.kind == "jsonl":
        return source.first_line_has("dialogue_id")
    return any("dialogue_id" in item and "turn" in item for item in source.objects_at(1, list))


def _read(source: Source, states: StatesBuilder) -> None:
    try:
        items = source.json if source.kind == "json" else [item for _, item in source.whole_lines()]
        turns = msgspec.convert(items if isinstance(items, list) else [items], list[_Exact])
    except msgspec.ValidationError:
        turns = []
    if source.keys or not turns or any(turn.gold is turn.pred for turn in turns):  # other keys, or no state
        records.FORMAT.reader(source, states)
        return
    for turn in turns:
        at = states.turn(turn.dialogue_id, turn.turn)
        for side, state in ((states.gold, turn.gold), (states.pred, turn.pred)):
            if state is not msgspec.UNSET:
                side.flat(at, state)


FORMAT: Final = Format(
    name="jsonl",
    title="dstbench's own: one JSON object per line and turn",
    example='{"dialogue_id": "MUL9901", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "north"}}',
    shape=Turn,
    sniff=_sniff,
    reader=_read,
    finish=noting_vanishing_slots,
    free_keys=True,
    said=records.FORMAT.said,
    document=TurnsDocument,
)
