"""The simulated dialogues sim-M and sim-R (Shah et al. 2018), gold only.

Conventions: a turn has what the system said before, what the user says, and the cumulative state after it, a list of
slots and values; a slot that is not in the state is not listed. Turns are numbered from 0. Slots have no domain in
these files and get it here, as in TripPy's predictions: ``restaurant`` or ``movie``, by the slots of the dialogue that
only one of the two datasets has, or else by what the user intends.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, Final

import msgspec

from dstbench.conventions.slots import canonical_slot
from dstbench.readers.document import Cell, DocumentTurn, JsonDocument, Place, said_in
from dstbench.readers.format import Format, Source, StatesBuilder

#: Slots and intents that only one of the datasets has, and its domain.
_DOMAINS: Final = {
    name: domain
    for domain, names in {
        "movie": ("movie", "theatre_name", "num_tickets", "BUY_MOVIE_TICKETS"),
        "restaurant": (
            "restaurant_name", "category", "location", "meal", "num_people", "price_range", "rating",
            "FIND_RESTAURANT", "RESERVE_RESTAURANT",
        ),
    }.items()
    for name in names
}  # fmt: skip


class SlotValue(msgspec.Struct):
    """A slot and its value."""

    slot: str
    value: str


class Turn(msgspec.Struct):
    """A user turn."""

    dialogue_state: list[SlotValue]
    user_intents: list[str] = []


class Dialogue(msgspec.Struct):
    """One dialogue."""

    dialogue_id: str
    turns: list[Turn]


class _Utterance(msgspec.Struct):
    text: str


class _SpokenTurn(Turn):  # the document takes the states for granted, too
    user_utterance: _Utterance | msgspec.UnsetType = msgspec.UNSET
    system_utterance: _Utterance | msgspec.UnsetType = msgspec.UNSET


class _SpokenDialogue(msgspec.Struct):
    dialogue_id: str
    turns: list[_SpokenTurn]


def _domain(turns: list[Turn]) -> str:
    """The domain of a dialogue and a hyphen, to stand before its slots; empty if nothing shows it."""
    slots = (cell.slot for turn in turns for cell in turn.dialogue_state)
    intents = (intent for turn in turns for intent in turn.user_intents)
    return next((f"{_DOMAINS[name]}-" for names in (slots, intents) for name in names if name in _DOMAINS), "")


def _sniff(source: Source) -> bool:
    return any(
        isinstance(turns := dialogue.get("turns"), list)
        and any(isinstance(turn, dict) and isinstance(turn.get("dialogue_state"), list) for turn in turns[:4])
        for dialogue in source.objects_at(1, list)
    )


def _read(source: Source, states: StatesBuilder) -> None:
    for dialogue in source.objects(Dialogue, "dialogue_id", None, "turn"):
        domain = _domain(dialogue.turns)
        if domain:
            states.domains[dialogue.dialogue_id] = domain.removesuffix("-")
        for number, turn in enumerate(dialogue.turns):
            cells = [(domain + cell.slot, cell.value) for cell in turn.dialogue_state]
            states.gold.cells(states.turn(dialogue.dialogue_id, number), cells)


class _Document(JsonDocument):
    name = "dialogue_id"
    usual: ClassVar = {"pricerange": "price_range"}

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        # Found before any edit, which may remove the slots that show it.
        self._domains = {name: _domain(msgspec.convert(item, Dialogue).turns) for name, item in self.dialogues()}

    def turns(self) -> Iterator[DocumentTurn]:
        for name, dialogue in self.dialogues():
            for number, turn in enumerate(dialogue["turns"]):
                texts = {
                    speaker: (turn[f"{speaker}_utterance"], "text")
                    for speaker in ("system", "user")
                    if f"{speaker}_utterance" in turn
                }
                yield DocumentTurn(name, number, (turn["dialogue_state"], self._domains[name]), texts)

    def cells(self, state: Any) -> Iterator[Cell]:
        entries, domain = state
        for entry in entries:
            yield canonical_slot(domain + entry["slot"]), (entries, entry), entry["slot"]

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        return state[0], {"slot": spelling or self.usual_name(slot)}

    def put(self, place: Place, value: str | None) -> None:
        entries, entry = place
        rest = [other for other in entries if other is not entry]
        if value is None:
            entries[:] = rest
        else:
            entry["value"] = value
            if len(rest) == len(entries):  # it is new
                entries.append(entry)


FORMAT: Final = Format(
    name="simulated",
    title="sim-M and sim-R (train.json, dev.json, test.json), gold",
    holds=("gold",),
    example=(
        '[{"dialogue_id": "movies_00009901", "turns": [{"user_utterance": {"text": ""}, "dialogue_state": '
        '[{"slot": "movie", "value": "the pine cone"}]}]}]'
    ),
    shape=list[Dialogue],
    sniff=_sniff,
    reader=_read,
    said=said_in(_Document, lambda source: [*source.objects(_SpokenDialogue, "dialogue_id", None, "turn")]),
    document=_Document,
)
