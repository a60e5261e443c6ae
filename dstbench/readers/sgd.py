"""The layout of SGD (Rastogi et al. 2020) and of MultiWOZ 2.2 (Zang et al. 2020): ``dialogues_001.json`` and so on.

Conventions: a dialogue has user and system turns; a user turn has a frame per service, with a cumulative state. A
service without a frame in a turn is not in that turn's state, as the official evaluation does not score it there. A
slot is called ``<service>-<slot>`` unless its name contains the domain (``hotel-bookday``); case is kept. A value is a
list: gold's elements are alternatives (joined by ``|``), and of a prediction's, only the first is read, as in the
official evaluation. An empty list is no value. Each frame is kept with its intent and requested slots, even if it has
no value.

Gold and predictions have the same shape, so both sides are read: a file named as ``--gold`` is gold, any other is
predictions. A file is a list of dialogues, or a dictionary of them by id.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from dstbench.conventions.slots import KNOWN_SLOTS, canonical_slot
from dstbench.io import archives
from dstbench.readers.document import Cell, DocumentTurn, JsonDocument, Place, exchanges, said_in
from dstbench.readers.format import Format, StatesBuilder
from dstbench.readers.frames import frame_slot, frame_value
from dstbench.readers.shapes import AS_TEXT, check, parts_of, text_of
from dstbench.readers.source import Source, T
from dstbench.schema.core import BETWEEN

_USER: Final = "USER"
_USERS: Final = frozenset({"USER", "User", "user"})
_Speaker: TypeAlias = Literal["USER", "SYSTEM", "User", "System", "user", "system"]


class State(msgspec.Struct):
    """The state of a service."""

    slot_values: dict[str, list[str]]
    active_intent: str | None = None
    requested_slots: list[str] | None = None


class Frame(msgspec.Struct):
    """A service in a turn; only user turns have a state."""

    service: str
    state: Annotated[State, AS_TEXT] | msgspec.UnsetType = msgspec.UNSET


class Turn(msgspec.Struct):
    """A turn of either speaker."""

    speaker: _Speaker
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
    original_id: str | int | None = None


def _sniff(source: Source) -> bool:
    return any(
        "dialogue_id" in dialogue
        and isinstance(turns := dialogue.get("turns"), list)
        and any(isinstance(turn, dict) and turn.keys() >= {"speaker", "frames"} for turn in turns[:4])
        for dialogue in source.objects_at(1)
    )


def _read(source: Source, states: StatesBuilder) -> None:
    states.either = states.has_frames = True
    file = archives.unpacked_name(source.path.name)
    numbered: defaultdict[tuple[str, bytes], int] = defaultdict(count().__next__)  # distinct frames
    others: list[Any] = []
    for position, dialogue in enumerate(_dialogues(source, Dialogue)):
        states.places.append((dialogue.dialogue_id, file, position))
        number = 0
        for turn in dialogue.turns:
            contents = [frame.state for frame in turn.frames]
            if turn.speaker not in _USERS:
                others += contents
                continue
            if msgspec.UNSET in contents:
                what = "a user turn whose frame has no state"
                raise source.misshapen(what, dialogue=dialogue.dialogue_id, turn=number)
            numbers = [numbered[frame.service, text_of(frame.state)] for frame in turn.frames]
            states.gold.parted(states.turn(dialogue.dialogue_id, number), numbers)
            number += 1
    check((state for state in others if state is not msgspec.UNSET), State)
    firsts: list[str] = []
    for (service, _), state in zip(numbered, parts_of([text for _, text in numbered], State), strict=True):
        slots = [slot if "-" in slot else f"{service}-{slot}" for slot, value in state.slot_values.items() if value]
        values = [value for value in state.slot_values.values() if value]
        frame = frame_value(state.active_intent, state.requested_slots)
        slots.append(frame_slot(service))
        states.gold.part(slots, [*map(BETWEEN.join, values), frame])
        firsts += [*(value[0] for value in values), frame]
    states.pred = states.gold.with_values(firsts)


def _dialogues(source: Source, shape: type[T]) -> Iterator[T]:
    dialogues: Any = source.typed(list[shape] | dict[str, shape])  # type: ignore[valid-type,arg-type] # made at run time
    if dialogues is not None:
        return iter(dialogues.values() if isinstance(dialogues, dict) else dialogues)
    by_id = source.kind == "json" and isinstance(source.json, dict)
    items = list(source.json.values()) if by_id else None
    return source.objects(shape, "dialogue_id", None, "turn", None, None, None, None, "slot", items=items)


class _SizedTurn(msgspec.Struct):
    speaker: str


class _SizedDialogue(msgspec.Struct):
    dialogue_id: str
    turns: list[_SizedTurn]


def _outline(source: Source) -> Iterator[tuple[str, int]]:
    content: Any = msgspec.json.decode(source.raw, type=list[_SizedDialogue] | dict[str, _SizedDialogue])
    for dialogue in content.values() if isinstance(content, dict) else content:
        yield dialogue.dialogue_id, sum(turn.speaker.upper() == _USER for turn in dialogue.turns)


class _Document(JsonDocument):
    name = "dialogue_id"

    def turns(self) -> Iterator[DocumentTurn]:
        for name, dialogue in self.dialogues():
            yield from exchanges(name, dialogue["turns"], lambda turn: bool(turn["speaker"].upper() == _USER))

    def cells(self, state: Any) -> Iterator[Cell]:
        for frame in state["frames"]:
            values = frame.get("state", {}).get("slot_values", {})
            for slot in values:
                name = slot if "-" in slot else f"{frame['service']}-{slot}"
                yield canonical_slot(name), (values, slot), (frame["service"], slot)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        if spelling is None:
            service, _, name = slot.partition("-")
            is_prefixed = slot in KNOWN_SLOTS or "-" in name  # else a hyphen in the name would end the service
            spelling = service, slot.replace(" ", "") if is_prefixed else name
        service, name = spelling
        frame = next((frame for frame in state["frames"] if frame["service"] == service), None)
        if frame is None:
            frame = {"service": service, "slots": []}
            state["frames"].append(frame)
        empty = {"active_intent": "NONE", "requested_slots": [], "slot_values": {}}
        return frame.setdefault("state", empty)["slot_values"], name

    def put(self, place: Place, value: str | None) -> None:
        super().put(place, value)
        if value is not None:
            place[0][place[1]] = value.split(BETWEEN)


FORMAT: Final = Format(
    name="sgd",
    title="SGD, MultiWOZ 2.2: the dataset, or predictions in its layout (as --gold: gold)",
    example=(
        '[{"dialogue_id": "1_00000", "turns": [{"speaker": "USER", "frames": [{"service": "Hotels_1", "state": '
        '{"slot_values": {"destination": ["Palo Alto"]}}}]}]}]'
    ),
    shape=list[Dialogue] | dict[str, Dialogue],
    sniff=_sniff,
    reader=_read,
    sharded=True,
    outline=_outline,
    said=said_in(_Document, lambda source: [*_dialogues(source, SpokenDialogue)]),
    document=_Document,
)
