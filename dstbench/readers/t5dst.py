"""T5DST's and TransferQA's ``<prefix>_prediction.json`` (Lin et al. 2021).

Conventions: per dialogue a ``domain`` (the first of its goal; not used) and its ``turns``, each with the gold
(``turn_belief``) and the predicted (``pred_belief``) state as ``domain-slot-value``, cumulative. An empty generation
is an empty value (``hotel-area-``), a literal ``none`` may stand in gold; both are kept as written.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dstbench.readers.builder import StatesBuilder
from dstbench.readers.columns import Columns, by_key, states_of
from dstbench.readers.source import Format, Source, values
from dstbench.readers.states import States
from dstbench.readers.tokens import Tokens


class Turn(msgspec.Struct):
    """One turn: gold and predicted pairs."""

    turn_belief: list[str]
    pred_belief: list[str]


class Dialogue(msgspec.Struct):
    """One dialogue; turns are keyed by their number."""

    turns: dict[str, Turn]


SHAPE: Final = dict[str, Dialogue]


def sniff(source: Source) -> bool:
    """Whether dialogues hold ``turns`` whose turns hold ``pred_belief``."""
    return source.kind == "json" and any(
        isinstance(dialogue, dict) and any(isinstance(t, dict) and "pred_belief" in t for t in values(dialogue, 2))
        for dialogue in values(source.sample)
    )


def _columns(found: Tokens) -> Columns | None:
    gold, pred = "turn_belief".__eq__, "pred_belief".__eq__
    return by_key(found, gold=gold, pred=pred, states=Tokens.pairs, under="turns")


def read(source: Source) -> States:
    """Read the file."""
    if (quick := states_of(source, FORMAT.name, _columns)) is not None:
        return quick
    dialogues: dict[str, Dialogue] = source.convert(source.json, SHAPE, ("dialogue", None, "turn"), hint=FORMAT.hint)
    states = StatesBuilder(source.name, FORMAT.name)
    for dialogue, content in dialogues.items():
        for turn, state in content.turns.items():
            at = states.turn(dialogue, turn)
            states.gold.pairs(at, state.turn_belief)
            states.pred.pairs(at, state.pred_belief)
    return states.build()


FORMAT: Final = Format(
    name="t5dst",
    title="T5DST, TransferQA (<prefix>_prediction.json)",
    holds=("gold", "pred"),
    example=(
        '{"MUL9901.json": {"domain": "hotel", "turns": '
        '{"0": {"turn_belief": ["hotel-area-north"], "pred_belief": ["hotel-area-north"]}}}}'
    ),
    shape=SHAPE,
    sniff=sniff,
    read=read,
)
