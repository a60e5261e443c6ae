"""Predictions in the format of MultiWOZ_Evaluation, mwzeval (Nekvinda & Dušek 2021).

Conventions: per dialogue (lower-case id) a list of turns in order, each with the response and, if the system tracks
states, the cumulative ``state`` nested by domain; values are read as `state_cells` does. No gold inside. A turn without
``state`` has no prediction, which is not the same as an empty state.
"""

from typing import Any, Final

import msgspec

from dstbench.readers.format import Format, Source, StatesBuilder
from dstbench.readers.state_cells import SHAPES, StateCells
from dstbench.readers.state_text import Misfit


class Turn(msgspec.Struct):
    """One system turn."""

    state: dict[str, dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET


_SHAPE: Final = dict[str, list[Turn]]


def _sniff(source: Source) -> bool:
    """Whether dialogues are lists of turns with ``response`` or ``state``, and without FnCTOD's ``bspn_gen``."""
    return any(
        isinstance(dialogue, list)
        and any(isinstance(turn, dict) and turn.keys() & {"response", "state"} for turn in dialogue[:20])
        and not any(isinstance(turn, dict) and "bspn_gen" in turn for turn in dialogue[:20])
        for dialogue in source.values(1, dict)
    )


def _read(source: Source, states: StatesBuilder) -> None:
    dialogues = source.whole(_SHAPE, "dialogue", "turn", None, "slot", "slot")
    cells = StateCells()
    for dialogue, turns in dialogues.items():
        for number, turn in enumerate(turns):
            at = states.turn(dialogue, number)
            if turn.state is msgspec.UNSET:
                continue
            try:
                states.pred.state(at, cells.read(turn.state))
            except Misfit as error:
                raise source.error(error.what, SHAPES, dialogue=dialogue, turn=number, slot=error.slot) from None
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
