"""Predictions in the format of MultiWOZ_Evaluation, mwzeval (Nekvinda & Dušek 2021).

Conventions: per dialogue (lower-case id) a list of turns in order, each with the response and, if the system tracks
states, the cumulative ``state`` nested by domain; values are read as `state_cells` does. No gold inside. A turn without
``state`` has no prediction, which is not the same as an empty state.
"""

from typing import Annotated, Any, Final

import msgspec

from dstbench.readers.format import Format, SideBuilder, Source, StatesBuilder
from dstbench.readers.key_names import name_record
from dstbench.readers.shapes import AS_TEXT
from dstbench.readers.state_cells import StateCells, joined


class Turn(msgspec.Struct):
    """One system turn."""

    state: Annotated[dict[str, dict[str, Any]], AS_TEXT] | msgspec.UnsetType = msgspec.UNSET
    response: Any = msgspec.UNSET

    def __post_init__(self) -> None:
        if self.state is msgspec.UNSET and self.response is msgspec.UNSET:
            raise ValueError("a turn with neither `state` nor `response`")


_SHAPE: Final = dict[str, list[Turn]]


def _sniff(source: Source) -> bool:
    """Whether dialogues are lists of turns with ``response`` or ``state``, and without keys of gold or predictions."""
    for dialogue in source.values(1, dict):
        turns = [turn for turn in dialogue[:20] if isinstance(turn, dict)] if isinstance(dialogue, list) else []
        keys = {key for turn in turns for key in turn}
        if keys & {"response", "state"}:
            is_record = name_record(keys - {"response"}) or any(map(_is_flat, turns))
            return "bspn_gen" not in keys and not is_record
    return False


def _is_flat(turn: dict[str, Any]) -> bool:
    """Whether a turn's state has slots where it should have domains."""
    state = turn.get("state")
    return isinstance(state, dict) and any(isinstance(value, str) for value in state.values())


def _read(source: Source, states: StatesBuilder) -> None:
    dialogues = source.whole(_SHAPE, "dialogue", "turn", None, "slot", "slot")
    cells, states.pred.join = StateCells(), joined
    turns = [
        (name, number, msgspec.UNSET, turn.state)
        for name, turns in dialogues.items()
        for number, turn in enumerate(turns)
    ]
    checked = cells.turns(source, turns)
    states.add(checked, SideBuilder.nested if checked is turns else SideBuilder.state)
    if not states.pred.present and dialogues:
        hint = "systems without a state tracker cannot be scored"
        raise source.error("no turn has a state: the file holds responses only", hint)
    if note := cells.note():
        states.note(note)


FORMAT: Final = Format(
    name="mwzeval",
    title="MultiWOZ_Evaluation (mwzeval) predictions; need --gold",
    holds=("pred",),
    example='{"mul9901": [{"response": "…", "state": {"hotel": {"area": "north"}}}]}',
    shape=_SHAPE,
    sniff=_sniff,
    reader=_read,
)
