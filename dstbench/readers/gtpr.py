"""``gt``/``pr`` JSON: the result files of FGA (Dey et al. 2022) and GCA (Aksu & Chen 2024).

Conventions: one state per turn and side, nested by domain, cumulative; a slot that is not in the state is missing,
and a literal ``none`` is kept as written. Turns count user turns from 0.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dstbench.readers.source import Format, Source, values
from dstbench.states import States, StatesBuilder

NestedState = dict[str, dict[str, str]]


class Turn(msgspec.Struct):
    """One turn: the gold (``gt``) and the predicted (``pr``) state."""

    gt: NestedState
    pr: NestedState


SHAPE: Final = dict[str, dict[str, Turn]]


def sniff(source: Source) -> bool:
    """Whether turns hold ``gt`` or ``pr`` (and no ``pred``, as STAR's slots do)."""
    return source.kind == "json" and any(
        isinstance(turn, dict) and turn.keys() & {"gt", "pr"} and "pred" not in turn for turn in values(source.json, 2)
    )


def read(source: Source) -> States:
    """Read the file."""
    dialogues: dict[str, dict[str, Turn]] = source.convert(
        source.json, SHAPE, ("dialogue", "turn", None, "slot", "slot"), hint=FORMAT.hint
    )
    states = StatesBuilder(source.name, FORMAT.name)
    for dialogue, turns in dialogues.items():
        for turn, state in turns.items():
            at = states.turn(dialogue, turn)
            states.gold.nested(at, state.gt)
            states.pred.nested(at, state.pr)
    return states.build()


FORMAT: Final = Format(
    name="gtpr",
    title="FGA and GCA result files",
    holds=("gold", "pred"),
    example='{"MUL9901.json": {"0": {"gt": {"hotel": {"area": "north"}}, "pr": {"hotel": {"area": "north"}}}}}',
    shape=SHAPE,
    sniff=sniff,
    read=read,
)
