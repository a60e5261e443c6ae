"""T5DST's and TransferQA's ``<prefix>_prediction.json``, and T5DST's preprocessed MultiWOZ (Lin et al. 2021).

Conventions: predictions have per dialogue a ``domain`` (the first of its goal; not used) and its ``turns``, each with
the gold (``turn_belief``) and the predicted (``pred_belief``) state as ``domain-slot-value``, cumulative. An empty
generation is an empty value (``hotel-area-``), a literal ``none`` may stand in gold; both are kept as written.

Gold is one JSON list of dialogues with flat cumulative states, and what was said; turns count user turns from 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from dstbench.conventions.slots import canonical_slot
from dstbench.readers.builder import StatesBuilder
from dstbench.readers.columns import Columns, by_key, states_of
from dstbench.readers.document import Cell, DocumentTurn, JsonDocument, Place
from dstbench.readers.source import Format, Source, values
from dstbench.readers.states import States
from dstbench.readers.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dstbench.readers.source import Said


class Turn(msgspec.Struct):
    """One turn: gold and predicted pairs."""

    turn_belief: list[str]
    pred_belief: list[str]


class Dialogue(msgspec.Struct):
    """One dialogue; turns are keyed by their number."""

    turns: dict[str, Turn]


SHAPE: Final = dict[str, Dialogue]


class T5State(msgspec.Struct):
    """A state of T5DST's file."""

    slot_values: dict[str, str]


class T5Turn(msgspec.Struct):
    """One turn of T5DST's file; its place in the list is its number."""

    state: T5State


class T5Dialogue(msgspec.Struct):
    """One dialogue of T5DST's file."""

    dial_id: str
    turns: list[T5Turn]


class SpokenTurn(msgspec.Struct):
    """A turn of T5DST's file."""

    user: str = ""
    system: str = ""


class SpokenDialogue(msgspec.Struct):
    """A dialogue of T5DST's file."""

    dial_id: str
    turns: list[SpokenTurn]


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


def sniff_gold(source: Source) -> bool:
    """Whether dialogues have a ``dial_id`` and ``turns``."""
    return any(isinstance(d.get("dial_id"), str) and "turns" in d for d in source.first_objects)


def read_gold(source: Source) -> States:
    """Read the preprocessed MultiWOZ."""
    states = StatesBuilder(source.name, GOLD.name)
    levels = (None, "turn", None, None, "slot")
    for dialogue in source.objects(T5Dialogue, "dial_id", levels, hint=GOLD.hint):
        for number, turn in enumerate(dialogue.turns):
            states.gold.flat(states.turn(dialogue.dial_id, number), turn.state.slot_values)
    return states.build()


def said(source: Source) -> Iterator[Said]:
    """What was said in each turn of the preprocessed MultiWOZ."""
    for dialogue in source.objects(SpokenDialogue, "dial_id", (None, "turn"), hint=GOLD.hint):
        for number, turn in enumerate(dialogue.turns):
            yield dialogue.dial_id, number, turn.system if number else None, turn.user  # at first it says "none"


class _Document(JsonDocument):
    name = "dial_id"

    def turns(self) -> Iterator[DocumentTurn]:
        for name, dialogue in self.dialogues():
            for number, turn in enumerate(dialogue["turns"]):
                texts = {"user": (turn, "user")} | ({"system": (turn, "system")} if number else {})  # at first "none"
                yield DocumentTurn(name, number, turn["state"]["slot_values"], texts)

    def cells(self, state: Any) -> Iterator[Cell]:
        yield from ((canonical_slot(slot), (state, slot), slot) for slot in state)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        return state, spelling or slot


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
GOLD: Final = Format(
    name="t5dst-gold",
    title="T5DST's preprocessed MultiWOZ (<split>_dials.json), gold",
    holds=("gold",),
    example='[{"dial_id": "MUL9901.json", "turns": [{"state": {"slot_values": {"hotel-area": "north"}}}]}]',
    shape=list[T5Dialogue],
    sniff=sniff_gold,
    read=read_gold,
    said=said,
    document=_Document,
)
