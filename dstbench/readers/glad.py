"""GLAD's copy of WOZ 2.0 (Zhong et al. 2018), gold only.

Conventions: those of `woz`. The file is an object with a list ``dialogues``, in which some keys have other names than
as published, and what the user says is a list of words; dialogues as published are read, too. The turn's predictions
(``pred``) that GLAD writes into the file are not read: its evaluation respells gold before it compares the two.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from dstbench.readers import woz
from dstbench.readers.format import Format, Said, Source, StatesBuilder
from dstbench.readers.trade import SpokenDialogue, TradeEntry
from dstbench.readers.wrappers import values

#: GLAD's keys, and those of the published file.
_KEYS: Final = {"dialogue_id": "dialogue_idx", "turns": "dialogue", "turn_id": "turn_idx"}


class GladTurn(msgspec.Struct):
    """One turn; what the user says is a list of words."""

    turn_id: int
    belief_state: list[TradeEntry]
    transcript: list[str] = []
    system_transcript: str = ""


class GladDialogue(msgspec.Struct):
    """One dialogue."""

    dialogue_id: int
    turns: list[GladTurn]


class GladFile(msgspec.Struct):
    """The file."""

    dialogues: list[GladDialogue]


def _sniff(source: Source) -> bool:
    if source.kind != "json" or not isinstance(source.sample, dict):
        return False
    return any(
        isinstance(turn, dict) and "belief_state" in turn
        for dialogue in values(source.sample.get("dialogues"), 1)
        if isinstance(dialogue, dict) and isinstance(dialogue.get("dialogue_id", dialogue.get("dialogue_idx")), int)
        for turn in values(dialogue.get("turns", dialogue.get("dialogue")), 1)
    )


def _as_published(items: list[Any]) -> list[Any]:
    """Dialogues or turns with the keys and texts that they have in the published file."""
    renamed = [{_KEYS.get(k, k): v for k, v in item.items()} if isinstance(item, dict) else item for item in items]
    for item in renamed:
        if isinstance(item, dict) and isinstance(turns := item.get("dialogue"), list):
            item["dialogue"] = _as_published(turns)
        elif isinstance(item, dict) and isinstance(words := item.get("transcript"), list):
            item["transcript"] = " ".join(map(str, words))
    return renamed


def _dialogues(source: Source) -> Any:
    document = source.json if source.kind == "json" else None
    if not isinstance(document, dict) or not isinstance(document.get("dialogues"), list):
        raise source.misshapen("no JSON object with a list `dialogues`")
    return _as_published(document["dialogues"])


def _read(source: Source, states: StatesBuilder) -> None:
    woz.read_dialogues(source, states, _dialogues(source))


def _said(source: Source) -> Iterator[Said]:
    for dialogue in source.objects(SpokenDialogue, "dialogue_idx", None, "turn", items=_dialogues(source)):
        for turn in dialogue.dialogue:
            yield str(dialogue.dialogue_idx), turn.turn_idx, turn.system_transcript, turn.transcript


FORMAT: Final = Format(
    name="glad",
    title='GLAD\'s copy of WOZ 2.0 ({"dialogues": …}), gold',
    holds=("gold",),
    example=(
        '{"dialogues": [{"dialogue_id": 9901, "turns": [{"turn_id": 0, "transcript": [], "belief_state": '
        '[{"slots": [["price range", "cheap"]], "act": "inform"}]}]}]}'
    ),
    shape=GladFile,
    sniff=_sniff,
    reader=_read,
    said=_said,
)
