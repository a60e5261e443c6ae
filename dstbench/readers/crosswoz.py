"""CrossWOZ as it was published (Zhu et al. 2020): ``train.json``, ``val.json`` and ``test.json``, gold only.

Conventions: the state after a user's message is the ``sys_state_init`` of the system's message that follows it: the
constraints as the user gave them. (``sys_state``, beside it, is what the system then searched for; it may drop some.)
Every slot is always there: the empty string says that it is not in the state. ``selectedResults`` is no slot. Turns are
the user's messages, numbered from 0. Several values in a list are joined by ``|``.
"""

from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from dstbench.conventions.slots import canonical_slot, domain_of
from dstbench.readers.document import Cell, DocumentTurn, JsonDocument, Place, said_in
from dstbench.readers.format import Format, Source, StatesBuilder
from dstbench.schema.core import BETWEEN

_USER: Final = "usr"
_STATE: Final = "sys_state_init"
_RESULTS: Final = "selectedResults"


class Message(msgspec.Struct):
    """A message of the user, or of the system; the system's have a state."""

    role: Literal["usr", "sys"]
    sys_state_init: dict[str, dict[str, str | list[str]]] | msgspec.UnsetType = msgspec.UNSET


class Dialogue(msgspec.Struct):
    """One dialogue."""

    messages: list[Message]


class _Messages(msgspec.Struct):
    """A dialogue whose messages are not checked yet."""

    messages: list[Any]


class _SpokenMessage(msgspec.Struct):
    role: str
    content: str = ""


class _SpokenDialogue(msgspec.Struct):
    messages: list[_SpokenMessage]


def _sniff(source: Source) -> bool:
    return any(
        isinstance(messages := dialogue.get("messages"), list)
        and any(isinstance(message, dict) and _STATE in message for message in messages[:4])
        for dialogue in source.objects_at(1, dict)
    )


def _read(source: Source, states: StatesBuilder) -> None:
    unanswered = 0
    for dialogue, content in source.whole(dict[str, _Messages], "dialogue").items():
        number = -1
        is_open = False  # whether the user has spoken and the system has not answered
        for item in content.messages:
            message = source.convert(item, Message, None, "slot", "slot", dialogue=dialogue, turn=max(number, 0))
            if message.role == _USER:
                unanswered += is_open
                number, is_open = number + 1, True
            elif is_open:
                is_open = False
                if message.sys_state_init is msgspec.UNSET:
                    what = f"the system's message has no {_STATE}"
                    raise source.misshapen(what, dialogue=dialogue, turn=number)
                cells = [
                    (f"{domain}-{slot}", value if isinstance(value, str) else BETWEEN.join(value))
                    for domain, slots in message.sys_state_init.items()
                    for slot, value in slots.items()
                    if slot != _RESULTS
                ]
                states.gold.cells(states.turn(dialogue, number), cells)
        unanswered += is_open
    if unanswered:
        states.note(f"{unanswered:,} user messages without an answer of the system, which has the state; left out")


class _Document(JsonDocument):
    absent = ""

    def turns(self) -> Iterator[DocumentTurn]:
        for name, dialogue in self.dialogues():
            number, texts = 0, dict[str, Place]()
            for message in dialogue["messages"]:
                if message["role"] == _USER:
                    number += "user" in texts  # the user spoke before, too, and had no answer
                    texts = {**texts, "user": (message, "content")}
                elif "user" in texts:
                    yield DocumentTurn(name, number, message, texts)
                    number, texts = number + 1, {"system": (message, "content")}
            if texts:
                yield DocumentTurn(name, number, None, texts)

    def cells(self, state: Any) -> Iterator[Cell]:
        for domain, slots in state[_STATE].items():
            for slot in slots:
                if slot != _RESULTS:
                    yield canonical_slot(f"{domain}-{slot}"), (slots, slot), (domain, slot)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        domain, name = spelling or (domain_of(slot), self.usual_name(slot))
        return state[_STATE].setdefault(domain, {_RESULTS: []}), name


FORMAT: Final = Format(
    name="crosswoz",
    title="CrossWOZ (train.json, val.json, test.json), gold",
    holds=("gold",),
    example=(
        '{"9901": {"messages": [{"role": "usr", "content": ""}, {"role": "sys", "content": "", '
        '"sys_state_init": {"酒店": {"名称": "", "评分": "4.5分以上", "selectedResults": []}}}]}}'
    ),
    shape=dict[str, Dialogue],
    sniff=_sniff,
    reader=_read,
    omits=("",),
    said=said_in(_Document, lambda source: source.whole(dict[str, _SpokenDialogue], "dialogue")),
    document=_Document,
)
