"""TRADE's ``all_prediction_TRADE.json`` and its descendants' (Wu et al. 2019).

Conventions: one list of ``domain-slot-value`` per turn and side, cumulative; a slot that is not in the state is not
listed. TRADE's gold may list a literal ``none``, which is kept as written. Turns count user turns from 0.
"""

from __future__ import annotations

from typing import Final

from dstbench.readers.builder import StatesBuilder
from dstbench.readers.columns import Columns, by_key, states_of
from dstbench.readers.source import Format, Source, values
from dstbench.readers.states import States
from dstbench.readers.tokens import Tokens

SHAPE: Final = dict[str, dict[str, dict[str, list[str]]]]
_PREDICTED: Final = "pred_bs_"


def _is_turn(turn: object) -> bool:
    return isinstance(turn, dict) and any(key.startswith(_PREDICTED) for key in turn)


def sniff(source: Source) -> bool:
    """Whether turns hold a key that starts with ``pred_bs_``."""
    return source.kind == "json" and any(map(_is_turn, values(source.sample, 2)))


def _columns(found: Tokens) -> Columns | None:
    return by_key(found, gold="turn_belief".__eq__, pred=lambda key: key.startswith(_PREDICTED), states=Tokens.pairs)


def read(source: Source) -> States:
    """Read the file; descendants name the predicted list ``pred_bs_`` and something else than ``ptr``."""
    if (quick := states_of(source, FORMAT.name, _columns)) is not None:
        return quick
    dialogues: dict[str, dict[str, dict[str, list[str]]]] = source.convert(
        source.json, SHAPE, ("dialogue", "turn"), hint=FORMAT.hint
    )
    states = StatesBuilder(source.name, FORMAT.name)
    for dialogue, turns in dialogues.items():
        for turn, state in turns.items():
            at = states.turn(dialogue, turn)
            predicted = [key for key in state if key.startswith(_PREDICTED)]
            if "turn_belief" not in state or len(predicted) != 1:
                raise source.error(
                    f"a turn needs turn_belief and one {_PREDICTED}* list, found {', '.join(state) or 'nothing'}",
                    dialogue=dialogue,
                    turn=turn,
                )
            states.gold.pairs(at, state["turn_belief"])
            states.pred.pairs(at, state[predicted[0]])
    return states.build()


FORMAT: Final = Format(
    name="trade",
    title="TRADE (all_prediction_TRADE.json) and descendants",
    holds=("gold", "pred"),
    example='{"MUL9901.json": {"0": {"turn_belief": ["hotel-area-north"], "pred_bs_ptr": ["hotel-area-north"]}}}',
    shape=SHAPE,
    sniff=sniff,
    read=read,
)
