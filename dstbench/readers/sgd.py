"""The layout of SGD (Rastogi et al. 2020) and of MultiWOZ 2.2 (Zang et al. 2020): ``dialogues_001.json`` and so on.

Conventions: a dialogue's turns are the user's and the system's; a user turn has a frame per service with its state,
cumulative. A service that has no frame in a turn is not in that turn's state: the official evaluation does not score
it there. A slot is called ``<service>-<slot>`` unless its name has the domain in it (``hotel-bookday``); case is kept.
Values are lists: in gold, of what is equally right (joined by ``|``); of a prediction, the official evaluation reads
the first element, and so does this reader. An empty list is no value. Which frames a turn has, also those without a
value, is kept, with their intents and requested slots.

Gold and predictions have the same shape, so both sides are read: a file given as ``--gold`` is gold, any other is
predictions. Files may be a list of dialogues, or a dictionary of them by id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from dstbench.conventions.slots import KNOWN_SLOTS, canonical_slot
from dstbench.readers.builder import StatesBuilder
from dstbench.readers.document import Cell, DocumentTurn, JsonDocument, Place, exchanges
from dstbench.readers.frames import frame_slot, frame_value
from dstbench.readers.source import Format, Source, values
from dstbench.readers.states import States
from dstbench.schema.core import BETWEEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dstbench.readers.source import Said

USER: Final = "USER"


class State(msgspec.Struct):
    """The state of a service."""

    slot_values: dict[str, list[str]]
    active_intent: str | None = None
    requested_slots: list[str] | None = None


class Frame(msgspec.Struct):
    """What a turn says of a service; only user turns have a state."""

    service: str
    state: State | msgspec.UnsetType = msgspec.UNSET


class Turn(msgspec.Struct):
    """A turn of either speaker."""

    speaker: str
    frames: list[Frame]


class Dialogue(msgspec.Struct):
    """One dialogue."""

    dialogue_id: str
    turns: list[Turn]


class Spoken(msgspec.Struct):
    """A turn of either speaker."""

    speaker: str
    utterance: str = ""


class SpokenDialogue(msgspec.Struct):
    """A dialogue of SGD's or ConvLab-3's."""

    dialogue_id: str
    turns: list[Spoken]
    original_id: str | msgspec.UnsetType = msgspec.UNSET


def is_dialogue(dialogue: Any) -> bool:
    """Whether a JSON value has turns with ``speaker`` and ``frames``."""
    return (
        isinstance(dialogue, dict)
        and "dialogue_id" in dialogue
        and isinstance(turns := dialogue.get("turns"), list)
        and any(isinstance(turn, dict) and turn.keys() >= {"speaker", "frames"} for turn in turns[:4])
    )


def sniff(source: Source) -> bool:
    """Whether dialogues have turns with ``speaker`` and ``frames``."""
    return source.kind == "json" and any(map(is_dialogue, values(source.sample)))


def read(source: Source) -> States:
    """Read the file."""
    states = StatesBuilder(source.name, FORMAT.name)
    states.either = states.has_frames = True
    for position, dialogue in enumerate(dialogues_of(source, Dialogue)):
        states.place(dialogue.dialogue_id, source.path.name.removesuffix(".gz"), position)
        users = (turn for turn in dialogue.turns if turn.speaker.upper() == USER)
        for number, turn in enumerate(users):
            at = states.turn(dialogue.dialogue_id, number)
            cells = [
                (slot if "-" in slot else f"{frame.service}-{slot}", value)
                for frame in turn.frames
                if frame.state is not msgspec.UNSET
                for slot, value in frame.state.slot_values.items()
                if value
            ]
            frames = [
                (frame_slot(frame.service), frame_value(frame.state.active_intent, frame.state.requested_slots))
                for frame in turn.frames
                if frame.state is not msgspec.UNSET
            ]
            states.gold.cells(at, [*((slot, BETWEEN.join(value)) for slot, value in cells), *frames])
            states.pred.cells(at, [*((slot, value[0]) for slot, value in cells), *frames])
    return states.build()


def dialogues_of(source: Source, shape: Any) -> Iterator[Any]:
    """The dialogues, checked, in the order of the file."""
    by_id = source.kind == "json" and isinstance(source.json, dict)
    items = list(source.json.values()) if by_id else None
    levels = (None, "turn", None, None, None, None, "slot")
    return source.objects(shape, "dialogue_id", levels, items, hint=FORMAT.hint)


def user_turns(turns: Iterable[Spoken]) -> Iterator[tuple[int, str | None, str]]:
    """(number, what the system said before, what the user said) of each user turn."""
    for number, user, system in exchanges(turns, lambda turn: bool(turn.speaker.upper() == USER)):
        if user is not None:
            yield number, system and system.utterance, user.utterance


def said(source: Source) -> Iterator[Said]:
    """What was said in each turn."""
    for dialogue in dialogues_of(source, SpokenDialogue):
        for number, system, user in user_turns(dialogue.turns):
            yield dialogue.dialogue_id, number, system, user


class _Document(JsonDocument):
    name = "dialogue_id"

    def turns(self) -> Iterator[DocumentTurn]:
        for name, dialogue in self.dialogues():
            spoken = exchanges(dialogue["turns"], lambda turn: bool(turn["speaker"].upper() == USER))
            for number, user, system in spoken:
                texts = {"user": (user, "utterance"), "system": (system, "utterance")}
                there = {speaker: place for speaker, place in texts.items() if place[0] is not None}
                yield DocumentTurn(name, number, user and user["frames"], there)

    def cells(self, state: Any) -> Iterator[Cell]:
        for frame in state:
            values = frame.get("state", {}).get("slot_values", {})
            for slot in values:
                name = slot if "-" in slot else f"{frame['service']}-{slot}"
                yield canonical_slot(name), (values, slot), (frame["service"], slot)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        if spelling is None:
            service, _, name = slot.partition("-")
            is_prefixed = slot in KNOWN_SLOTS or "-" in name  # MultiWOZ 2.2's, or a name that would be cut
            spelling = service, slot.replace(" ", "") if is_prefixed else name
        service, name = spelling
        frame = next((frame for frame in state if frame["service"] == service), None)
        if frame is None:
            frame = {"service": service, "slots": []}
            state.append(frame)
        empty = {"active_intent": "NONE", "requested_slots": [], "slot_values": {}}
        return frame.setdefault("state", empty)["slot_values"], name

    def put(self, place: Place, value: str | None) -> None:
        super().put(place, value)
        if value is not None:
            place[0][place[1]] = value.split(BETWEEN)


FORMAT: Final = Format(
    name="sgd",
    title="SGD, MultiWOZ 2.2: the dataset, or predictions in its layout (as --gold: gold)",
    holds=("gold", "pred"),
    example=(
        '[{"dialogue_id": "1_00000", "turns": [{"speaker": "USER", "frames": [{"service": "Hotels_1", "state": '
        '{"slot_values": {"destination": ["Palo Alto"]}}}]}]}]'
    ),
    shape=list[Dialogue] | dict[str, Dialogue],
    sniff=sniff,
    read=read,
    sharded=True,
    said=said,
    document=_Document,
)
