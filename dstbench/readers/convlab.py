"""ConvLab-3's predictions and its unified datasets (Zhu et al. 2023).

Conventions: states are cumulative and nested by domain; the empty string says that a slot is not in the state.

Predictions (``predictions.json``) are one JSON list of user turns, in any order; ``utt_idx`` counts system turns, too.

Unified datasets (``dialogues.json``) hold gold states. Alternatives are already joined by ``|``. The id of a dialogue
is its ``original_id``, which may be a number, if all dialogues have one and no two the same, and otherwise its
``dialogue_id``; predictions may use either. ``data_split`` is its split.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final, Literal

import msgspec

from dstbench.conventions.slots import canonical_slot, domain_of
from dstbench.readers.document import Cell, DocumentTurn, JsonDocument, Place, exchanges, said_in
from dstbench.readers.folder import SPLITS
from dstbench.readers.format import Format, NestedState, Said, SideBuilder, Source, StatesBuilder
from dstbench.readers.sgd import Spoken, SpokenDialogue
from dstbench.readers.shapes import check
from dstbench.readers.wrappers import values

_USER: Final = "user"


class ConvlabPrediction(msgspec.Struct):
    """What ConvLab-3 predicts for a turn."""

    state: NestedState


class ConvlabTurn(msgspec.Struct):
    """One user turn of ConvLab-3 (Zhu et al. 2023); `utt_idx` counts system turns too."""

    dialogue_id: str | int
    utt_idx: int
    state: NestedState
    predictions: ConvlabPrediction


class Turn(msgspec.Struct):
    """A turn of either speaker; the user's have a state."""

    speaker: Literal["user", "system"]
    state: NestedState | msgspec.UnsetType = msgspec.UNSET


class Dialogue(msgspec.Struct):
    """One dialogue."""

    dialogue_id: str
    turns: list[Turn]
    original_id: str | int | None = None
    data_split: str | msgspec.UnsetType = msgspec.UNSET


class _SpokenTurn(msgspec.Struct):
    """A user turn of the predictions, and what was said before."""

    dialogue_id: str | int
    utt_idx: int
    utterance: str = ""
    context: list[Spoken] = []


def _read(source: Source, states: StatesBuilder) -> None:
    turns = (
        (str(turn.dialogue_id), turn.utt_idx // 2, turn.state, turn.predictions.state)
        for turn in source.objects(ConvlabTurn, "dialogue_id", None, "slot", "slot", turn="utt_idx")
    )
    states.add(turns, SideBuilder.nested)


def _said(source: Source) -> Iterator[Said]:
    for turn in source.objects(_SpokenTurn, "dialogue_id"):
        before = turn.context[-1] if turn.context else None
        system = before.utterance if before is not None and before.speaker == "system" else None
        yield str(turn.dialogue_id), turn.utt_idx // 2, system, turn.utterance


def _sniff_gold(source: Source) -> bool:
    turns = (turn for dialogue in source.objects_at(1, list) for turn in values(dialogue.get("turns"), 1))
    return any(isinstance(turn, dict) and turn.keys() >= {"speaker", "utt_idx"} for turn in turns)


def _have_original_ids(originals: Sequence[Any]) -> bool:
    """Whether every dialogue has an original id (None: it has none) and no two have the same."""
    return None not in originals and len(set(map(str, originals))) == len(originals)


def _read_gold(source: Source, states: StatesBuilder) -> None:
    dialogues = [*source.objects(Dialogue, "dialogue_id", None, "turn", None, "slot", "slot")]
    turns: list[tuple[str, int, Any, Any]] = []
    unread: list[Any] = []
    by_original = _have_original_ids([dialogue.original_id for dialogue in dialogues])
    for dialogue in dialogues:
        name, other = dialogue.dialogue_id, dialogue.original_id
        if other is not None:
            name, other = (str(other), name) if by_original else (name, str(other))
            states.aliases.append((name, other))
        if dialogue.data_split is not msgspec.UNSET:
            states.splits[name] = SPLITS.get(dialogue.data_split, dialogue.data_split)
        unread += [turn.state for turn in dialogue.turns if turn.speaker != _USER and turn.state is not msgspec.UNSET]
        of_users = [turn.state for turn in dialogue.turns if turn.speaker == _USER]
        if msgspec.UNSET in of_users:
            raise source.misshapen("a user turn without a state", dialogue=name, turn=of_users.index(msgspec.UNSET))
        turns += [(name, number, state, msgspec.UNSET) for number, state in enumerate(of_users)]
    states.add(turns, SideBuilder.nested)
    check(unread, dict[str, dict[str, str]])


class _Document(JsonDocument):
    name = "dialogue_id"
    absent = ""
    usual: ClassVar = {"leaveat": "leave at", "arriveby": "arrive by", "pricerange": "price range"}

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._by_original = _have_original_ids([item.get("original_id") for item in self.content])

    def title(self, dialogue: Any) -> str:
        return str(dialogue["original_id" if self._by_original else self.name])

    def turns(self) -> Iterator[DocumentTurn]:
        for name, dialogue in self.dialogues():
            yield from exchanges(name, dialogue["turns"], lambda turn: bool(turn["speaker"] == _USER))

    def cells(self, state: Any) -> Iterator[Cell]:
        for domain, slots in state["state"].items():
            for slot in slots:
                yield canonical_slot(f"{domain}-{slot}"), (slots, slot), (domain, slot)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        domain, name = spelling or (domain_of(slot), self.usual_name(slot))
        return state["state"].setdefault(domain, {}), name


FORMAT: Final = Format(
    name="convlab",
    title="ConvLab-3 (predictions.json)",
    example=(
        '[{"dialogue_id": "MUL9901.json", "utt_idx": 0, "state": {"hotel": {"area": "north", "name": ""}}, '
        '"predictions": {"state": {"hotel": {"area": "north"}}}}]'
    ),
    shape=list[ConvlabTurn],
    sniff=lambda source: any(turn.keys() >= {"predictions", "state", "utt_idx"} for turn in source.objects_at(1, list)),
    reader=_read,
    omits=("",),
    said=_said,
)
GOLD: Final = Format(
    name="convlab-gold",
    title="ConvLab-3's unified datasets (data.json, dialogues.json), gold",
    holds=("gold",),
    example=(
        '[{"dialogue_id": "multiwoz21-test-0", "original_id": "MUL9901.json", "data_split": "test", "turns": '
        '[{"speaker": "user", "utt_idx": 0, "state": {"hotel": {"area": "north", "name": ""}}}]}]'
    ),
    shape=list[Dialogue],
    sniff=_sniff_gold,
    reader=_read_gold,
    omits=("",),
    said=said_in(_Document, lambda source: [*source.objects(SpokenDialogue, "dialogue_id", None, "turn")]),
    document=_Document,
)
