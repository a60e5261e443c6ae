"""Predictions in the format of MultiWOZ_Evaluation, mwzeval (Nekvinda & Dušek 2021).

Conventions: per dialogue (lower-case id) a list of turns in order, each with the response and, if the system tracks
states, the cumulative ``state`` nested by domain. No gold inside. A turn without ``state`` has no prediction, which is
not the same as an empty state.
"""

from typing import Final

import msgspec

from dstbench.readers.format import Format, NestedState, Source, StatesBuilder


class Turn(msgspec.Struct):
    """One system turn."""

    state: NestedState | msgspec.UnsetType = msgspec.UNSET


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
    for dialogue, turns in dialogues.items():
        for number, turn in enumerate(turns):
            at = states.turn(dialogue, number)
            if turn.state is not msgspec.UNSET:
                states.pred.nested(at, turn.state)
    if not states.pred.present and dialogues:
        hint = "systems without a state tracker cannot be scored"
        raise source.error("no turn has a state: the file holds responses only", hint)


FORMAT: Final = Format(
    name="mwzeval",
    title="MultiWOZ_Evaluation (mwzeval) predictions; need --gold",
    holds=("pred",),
    example='{"mul9901": [{"response": "…", "state": {"hotel": {"area": "north"}}}]}',
    shape=_SHAPE,
    sniff=_sniff,
    reader=_read,
)
