"""T5DST's and TransferQA's ``<prefix>_prediction.json``, and T5DST's preprocessed MultiWOZ (Lin et al. 2021).

Conventions: predictions have per dialogue a ``domain`` (the first of its goal; not used) and its ``turns``, each with
the gold (``turn_belief``) and the predicted (``pred_belief``) state as ``domain-slot-value``, cumulative. If the model
generates nothing, the value is empty (``hotel-area-``); gold may have a literal ``none``. Both are kept as written.

Gold is one JSON list of dialogues with flat cumulative states and utterances; user turns are numbered from 0.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from dstbench.conventions.slots import canonical_slot
from dstbench.readers.document import Cell, DocumentTurn, JsonDocument, Place, said_in
from dstbench.readers.format import FlatState, Format, PairsState, SideBuilder, Source, StatesBuilder
from dstbench.readers.key_names import name_sides
from dstbench.readers.wrappers import values


class Turn(msgspec.Struct):
    """One turn: gold and predicted pairs."""

    turn_belief: PairsState
    pred_belief: PairsState


class Dialogue(msgspec.Struct):
    """One dialogue; turns are keyed by their number."""

    turns: dict[str, Turn]


class T5State(msgspec.Struct):
    """A state of T5DST's file."""

    slot_values: FlatState


class T5Turn(msgspec.Struct):
    """One turn of T5DST's file; its place in the list is its number."""

    state: T5State


class T5Dialogue(msgspec.Struct):
    """One dialogue of T5DST's file."""

    dial_id: str
    turns: list[T5Turn]


class _SpokenTurn(msgspec.Struct):
    user: str = ""
    system: str = ""


class _SpokenDialogue(msgspec.Struct):
    dial_id: str
    turns: list[_SpokenTurn]


def _read(source: Source, states: StatesBuilder) -> None:
    dialogues = source.whole(dict[str, Dialogue], "dialogue", None, "turn")
    turns = (
        (name, number, turn.turn_belief, turn.pred_belief)
        for name, dialogue in dialogues.items()
        for number, turn in dialogue.turns.items()
    )
    states.add(turns, SideBuilder.pairs)


def _read_gold(source: Source, states: StatesBuilder) -> None:
    turns = (
        (dialogue.dial_id, number, turn.state.slot_values, msgspec.UNSET)
        for dialogue in source.objects(T5Dialogue, "dial_id", None, "turn", None, None, "slot")
        for number, turn in enumerate(dialogue.turns)
    )
    states.add(turns, SideBuilder.flat)


def _sniff(source: Source) -> bool:
    dialogues = [turns for d in source.objects_at(1, dict) if isinstance(turns := d.get("turns"), dict)]
    return any("pred_belief" in turn for turns in dialogues for turn in turns.values() if isinstance(turn, dict))


def _sniff_gold(source: Source) -> bool:
    """Whether dialogues have a ``dial_id`` and ``turns``, and the turns no predictions."""
    dialogues = [dialogue for dialogue in source.objects_at(1, list) if dialogue.keys() >= {"dial_id", "turns"}]
    turns = [turn for dialogue in dialogues for turn in values(dialogue["turns"], 1) if isinstance(turn, dict)]
    return bool(dialogues) and not any(name_sides(turn, "pred") for turn in turns)


class _Document(JsonDocument):
    name = "dial_id"

    def turns(self) -> Iterator[DocumentTurn]:
        for name, dialogue in self.dialogues():
            for number, turn in enumerate(dialogue["turns"]):
                texts = {"user": (turn, "user")}
                if number:  # in turn 0, the system's text is "none"
                    texts["system"] = (turn, "system")
                yield DocumentTurn(name, number, turn, texts)

    def cells(self, state: Any) -> Iterator[Cell]:
        values = state["state"]["slot_values"]
        yield from ((canonical_slot(slot), (values, slot), slot) for slot in values)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        return state["state"]["slot_values"], spelling or slot


FORMAT: Final = Format(
    name="t5dst",
    title="T5DST, TransferQA (<prefix>_prediction.json)",
    example=(
        '{"MUL9901.json": {"domain": "hotel", "turns": '
        '{"0": {"turn_belief": ["hotel-area-north"], "pred_belief": ["hotel-area-north"]}}}}'
    ),
    shape=dict[str, Dialogue],
    sniff=_sniff,
    reader=_read,
)
GOLD: Final = Format(
    name="t5dst-gold",
    title="T5DST's preprocessed MultiWOZ (<split>_dials.json), gold",
    holds=("gold",),
    example='[{"dial_id": "MUL9901.json", "turns": [{"state": {"slot_values": {"hotel-area": "north"}}}]}]',
    shape=list[T5Dialogue],
    sniff=_sniff_gold,
    reader=_read_gold,
    said=said_in(_Document, lambda source: [*source.objects(_SpokenDialogue, "dial_id", None, "turn")]),
    document=_Document,
)
