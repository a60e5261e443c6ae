"""dstbench's own format: one JSON object per line and turn, for models whose code writes no predictions.

Conventions: ``dialogue_id`` and ``turn`` (user turns from 0) name the turn; ``gold`` and ``pred`` are cumulative
states ``{"hotel-area": "north"}``. A slot that is not in the state is left out. A line may lack ``gold`` (then
``--gold`` gives it) or ``pred`` (then the turn has no prediction). ``system`` and ``user`` are utterances: that of the
system before the user's turn, and the user's. A JSON list of such objects is read alike. Files that are written in
another way, with other keys or values, are read as `records`, and what was read loosely is said.
"""

from typing import Final

import msgspec
import numpy as np

from dstbench.readers import records
from dstbench.readers.columns import Columns, Objects, Tokens, Unusual
from dstbench.readers.format import Format, Source
from dstbench.readers.jsonl_document import TurnsDocument
from dstbench.readers.states import noting_vanishing_slots

State = dict[str, str]


class Turn(msgspec.Struct):
    """One turn."""

    dialogue_id: str
    turn: int
    gold: State | msgspec.UnsetType = msgspec.UNSET
    pred: State | msgspec.UnsetType = msgspec.UNSET
    system: str | msgspec.UnsetType = msgspec.UNSET
    user: str | msgspec.UnsetType = msgspec.UNSET


_KEYS: Final = frozenset(Turn.__struct_fields__)


def _sniff(source: Source) -> bool:
    if source.kind == "jsonl":
        return source.first_line_has("dialogue_id")
    return any("dialogue_id" in item and "turn" in item for item in source.objects_at(1, list))


def _layout(file: Tokens) -> Columns:
    turns = Objects.of(file)
    turns.expect_strings("system", "user")
    gold, pred = (turns.flat(side, in_all=False) for side in ("gold", "pred"))
    has_state = np.zeros(turns.height, dtype=np.bool_)
    has_state[gold.present] = has_state[pred.present] = True
    if not has_state.all() or not {*turns.field.words} <= _KEYS:
        raise Unusual
    return Columns(turns.strings("dialogue_id"), turns.integers("turn"), gold, pred)


FORMAT: Final = Format(
    name="jsonl",
    title="dstbench's own: one JSON object per line and turn",
    example='{"dialogue_id": "MUL9901", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "north"}}',
    shape=Turn,
    sniff=_sniff,
    reader=records.read,
    layout=_layout,
    finish=noting_vanishing_slots,
    free_keys=True,
    said=records.said,
    document=TurnsDocument,
)
