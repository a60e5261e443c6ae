"""RiSAWOZ (Quan et al. 2020), gold only.

Conventions: a turn has what the user says, the state after it, and what the system answers. States are cumulative
(``inform slot-values``, with keys ``domain-slot``); a slot that is not in the state is not listed. What a turn adds
(``turn_inform``) and what the user asks for (``turn request``) are not read. Values are kept as written, with a blank
between Chinese words.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from dstbench.conventions.slots import canonical_slot
from dstbench.readers.document import Cell, DocumentTurn, JsonDocument, Place, said_in
from dstbench.readers.format import Format, Source, StatesBuilder

_STATE: Final = "inform slot-values"


class State(msgspec.Struct):
    """A turn's state."""

    slots: dict[str, str] = msgspec.field(name=_STATE)


class Turn(msgspec.Struct):
    """What the user says and the system answers."""

    turn_id: int
    belief_state: State


class Dialogue(msgspec.Struct):
    """One dialogue."""

    dialogue_id: str
    dialogue: list[Turn]


class _SpokenTurn(msgspec.Struct):
    turn_id: int
    user_utterance: str = ""
    system_utterance: str = ""


class _SpokenDialogue(msgspec.Struct):
    dialogue_id: str
    dialogue: list[_SpokenTurn]


def _sniff(source: Source) -> bool:
    return any(
        isinstance(turn, dict) and isinstance(state := turn.get("belief_state"), dict) and _STATE in state
        for dialogue in source.objects_at(1, list)
        if isinstance(turns := dialogue.get("dialogue"), list)
        for turn in turns[:1]
    )


def _read(source: Source, states: StatesBuilder) -> None:
    for dialogue in source.objects(Dialogue, "dialogue_id", None, "turn", None, None, "slot"):
        for turn in dialogue.dialogue:
            states.gold.flat(states.turn(dialogue.dialogue_id, turn.turn_id), turn.belief_state.slots)


class _Document(JsonDocument):
    name = "dialogue_id"

    def turns(self) -> Iterator[DocumentTurn]:
        for name, dialogue in self.dialogues():
            number, texts = 0, dict[str, Place]()
            for turn in dialogue["dialogue"]:
                number = turn["turn_id"]
                yield DocumentTurn(name, number, turn, {**texts, "user": (turn, "user_utterance")})
                texts = {"system": (turn, "system_utterance")}
            if texts:
                yield DocumentTurn(name, number + 1, None, texts)

    def cells(self, state: Any) -> Iterator[Cell]:
        slots = state["belief_state"][_STATE]
        for slot in slots:
            yield canonical_slot(slot), (slots, slot), slot

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        return state["belief_state"][_STATE], spelling or slot


FORMAT: Final = Format(
    name="risawoz",
    title="RiSAWOZ, gold",
    holds=("gold",),
    example=(
        '[{"dialogue_id": "hotel_goal_9901", "dialogue": [{"turn_id": 0, "user_utterance": "", "system_utterance": "", '
        '"belief_state": {"inform slot-values": {"酒店-星级": "4"}}}]}]'
    ),
    shape=list[Dialogue],
    sniff=_sniff,
    reader=_read,
    said=said_in(_Document, lambda source: [*source.objects(_SpokenDialogue, "dialogue_id", None, "turn")]),
    document=_Document,
)
