"""Gold states in the unified format of ConvLab-3 (Zhu et al. 2023), whatever the dataset: ``dialogues.json``.

Conventions: a user turn has the whole state, nested by domain; the empty string is how these files leave a slot out,
and such a value is no value. Alternatives are joined by ``|`` already. Dialogues are known by their ``original_id``
where they have one, as in ConvLab-3's predictions. ``data_split`` says of which split a dialogue is.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dstbench.readers.builder import StatesBuilder
from dstbench.readers.fga_gca import NestedState
from dstbench.readers.folder import SPLITS
from dstbench.readers.source import Format, Source, values
from dstbench.readers.states import States, listed

USER: Final = "user"


class Turn(msgspec.Struct):
    """A turn of either speaker; the user's have a state."""

    speaker: str
    state: NestedState | msgspec.UnsetType = msgspec.UNSET


class Dialogue(msgspec.Struct):
    """One dialogue."""

    dialogue_id: str
    turns: list[Turn]
    original_id: str | msgspec.UnsetType = msgspec.UNSET
    data_split: str | msgspec.UnsetType = msgspec.UNSET


def sniff(source: Source) -> bool:
    """Whether dialogues have turns with ``speaker`` and ``utt_idx``."""
    turns = (turn for dialogue in source.first_objects for turn in values(dialogue.get("turns")))
    return any(isinstance(turn, dict) and turn.keys() >= {"speaker", "utt_idx"} for turn in turns)


def read(source: Source) -> States:
    """Read the file."""
    states = StatesBuilder(source.name, FORMAT.name)
    levels = (None, "turn", None, "slot", "slot")
    for dialogue in source.objects(Dialogue, "dialogue_id", levels, hint=FORMAT.hint):
        name = dialogue.dialogue_id if dialogue.original_id is msgspec.UNSET else dialogue.original_id
        if dialogue.data_split is not msgspec.UNSET:
            states.splits[name] = SPLITS.get(dialogue.data_split, dialogue.data_split)
        users = (turn for turn in dialogue.turns if turn.speaker == USER)
        for number, turn in enumerate(users):
            if turn.state is msgspec.UNSET:
                raise source.error("a user turn without a state", FORMAT.hint, dialogue=name, turn=number)
            state = {domain: listed(slots, ("",)) for domain, slots in turn.state.items()}
            states.gold.nested(states.turn(name, number), state)
    return states.build()


FORMAT: Final = Format(
    name="convlab-gold",
    title="ConvLab-3's unified datasets (data.json, dialogues.json), gold",
    holds=("gold",),
    example=(
        '[{"dialogue_id": "multiwoz21-test-0", "original_id": "MUL9901.json", "data_split": "test", "turns": '
        '[{"speaker": "user", "utt_idx": 0, "state": {"hotel": {"area": "north", "name": ""}}}]}]'
    ),
    shape=list[Dialogue],
    sniff=sniff,
    read=read,
)
