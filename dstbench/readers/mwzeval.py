"""Predictions in the format of MultiWOZ_Evaluation, mwzeval (Nekvinda & Dušek 2021).

Conventions: per dialogue (lower-case id) a list of turns in order, each with the response and, for systems that track
a state, the ``state`` nested by domain, cumulative. No gold inside. A turn without ``state`` has no prediction, which
is not the same as an empty one.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dstbench.readers.builder import StatesBuilder
from dstbench.readers.fga_gca import NestedState
from dstbench.readers.source import Format, Source, values
from dstbench.readers.states import States


class Turn(msgspec.Struct):
    """One system turn."""

    state: NestedState | msgspec.UnsetType = msgspec.UNSET


SHAPE: Final = dict[str, list[Turn]]


def sniff(source: Source) -> bool:
    """Whether dialogues are lists of turns with ``response`` or ``state``."""
    return source.kind == "json" and any(
        isinstance(dialogue, list)
        and any(isinstance(turn, dict) and turn.keys() & {"response", "state"} for turn in dialogue[:20])
        and not any(isinstance(turn, dict) and "bspn_gen" in turn for turn in dialogue[:20])  # FnCTOD's
        for dialogue in values(source.sample)
        if isinstance(source.sample, dict)
    )


def read(source: Source) -> States:
    """Read the file."""
    dialogues: dict[str, list[Turn]] = source.convert(
        source.json,
        SHAPE,
        ("dialogue", "turn", None, "slot", "slot"),
        hint=FORMAT.hint,
    )
    states = StatesBuilder(source.name, FORMAT.name)
    for dialogue, turns in dialogues.items():
        for number, turn in enumerate(turns):
            at = states.turn(dialogue, number)
            if turn.state is not msgspec.UNSET:
                states.pred.nested(at, turn.state)
    if not states.pred.present and dialogues:
        raise source.error(
            "no turn has a state: the file holds responses only",
            "systems without a state tracker cannot be scored",
        )
    return states.build()


FORMAT: Final = Format(
    name="mwzeval",
    title="MultiWOZ_Evaluation (mwzeval) predictions; need --gold",
    holds=("pred",),
    example='{"mul9901": [{"response": "…", "state": {"hotel": {"area": "north"}}}]}',
    shape=SHAPE,
    sniff=sniff,
    read=read,
)
