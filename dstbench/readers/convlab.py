"""ConvLab-3's predictions, its raw output and its unified datasets (Zhu et al. 2023).

Conventions: states are cumulative and nested by domain; the empty string says that a slot is not in the state.

Predictions (``predictions.json``) are one JSON list of user turns, in any order; ``utt_idx`` counts system turns, too.

Raw output (``test_generated_predictions.json``) has states as text, and its lines do not name turns: they are matched
with the gold file's turns in order, so there must be exactly as many. The gold in it is used only to check that order.

Unified datasets (``dialogues.json``) hold gold states. Alternatives are already joined by ``|``. The id of a dialogue
is its ``original_id``, which may be a number, if all dialogues have one and no two the same, and otherwise its
``dialogue_id``; predictions may use either. ``data_split`` is its split.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final, Literal

import msgspec
import polars as pl

from dstbench.conventions.slots import canonical_slot, domain_of
from dstbench.readers.document import Cell, DocumentTurn, JsonDocument, Place, exchanges, said_in
from dstbench.readers.folder import SPLITS
from dstbench.readers.format import Format, NestedState, Pairs, Said, SideBuilder, Source, States, StatesBuilder
from dstbench.readers.sgd import Spoken, SpokenDialogue
from dstbench.readers.shapes import check
from dstbench.readers.states import in_order
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


class ConvlabLine(msgspec.Struct):
    """One line of ConvLab-3's sequence-to-sequence output: a turn's gold and predicted state as text."""

    state_seq: str
    predictions: str


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


def split_state(state: str) -> tuple[Pairs, int]:
    """Slots and values of ``[domain]([slot][value],[slot][value]);[domain](…)``, and the number of pieces lost.

    >>> split_state("[hotel]([area][north],[price range][cheap]);[train]([leave at][09:15])")
    ([('hotel-area', 'north'), ('hotel-price range', 'cheap'), ('train-leave at', '09:15')], 0)
    >>> split_state("no state")
    ([], 1)
    """
    pairs: Pairs = []
    lost = 0
    for part in state.strip().removeprefix("[").removesuffix(")").split(");["):
        domain, opens, slots = part.partition("](")
        if not opens:
            lost += part != ""
            continue
        for piece in slots.removeprefix("[").removesuffix("]").split("],["):
            slot, between, value = piece.partition("][")
            if between:
                pairs.append((f"{domain}-{slot}", value))
            else:
                lost += piece != ""
    return pairs, lost


def _read_raw(source: Source, states: StatesBuilder) -> None:
    for number, (_, line) in enumerate(source.lines(ConvlabLine)):
        at = states.turn(str(number), 0)
        states.pred.cells(at, *split_state(line.predictions))
        states.gold.cells(at, *split_state(line.state_seq))


def _in_checked_order(raw: States, gold: States) -> States:
    """Raw output joined with gold's turns; a note says where its own gold lists other slots than gold does."""
    states = in_order(raw, gold)
    if raw.gold is None or gold.gold is None:
        return states
    own, other = (side.cells.select("at", pl.col("slot").cast(pl.String)) for side in (raw.gold, gold.gold))
    differ = pl.concat([own.join(other, on=["at", "slot"], how="anti"), other.join(own, on=["at", "slot"], how="anti")])
    if not differ.height:
        return states
    note = (
        f"{raw.source}: in {differ['at'].n_unique():,} of {gold.gold.turns.height:,} turns its own gold lists other "
        f"slots than {gold.source}; if these are most turns, the files are in different orders"
    )
    return replace(states, notes=(*states.notes, note))


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
RAW: Final = Format(
    name="convlab-raw",
    title="ConvLab-3's raw output (test_generated_predictions.json); needs --gold, in its order",
    holds=("pred",),
    example='{"state_seq": "[hotel]([area][north])", "predictions": "[hotel]([area][north])"}',
    shape=ConvlabLine,
    sniff=lambda source: source.first_line_has("state_seq", "predictions"),
    reader=_read_raw,
    finish=lambda raw: replace(raw, gold=None, pred=None, complete=partial(_in_checked_order, raw)),
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
