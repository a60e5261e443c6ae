"""ConvLab-3's predictions, its raw output and its unified datasets (Zhu et al. 2023).

Conventions: states are cumulative and nested by domain; the empty string is how these files leave a slot out, and such
a value is no value.

Predictions (``predictions.json``) are one JSON list of user turns, in any order, whose number counts system turns too.

Raw output (``test_generated_predictions.json``) has states as text, and lines name no turn: they are joined with the
gold file's turns in order, of which there must be exactly as many.

Unified datasets (``dialogues.json``), whatever the dataset, hold gold states: alternatives are joined by ``|`` already,
dialogues are known by their ``original_id`` where they have one, as in the predictions, and ``data_split`` says of
which split a dialogue is.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec
import polars as pl

from dstbench.conventions.slots import canonical_slot, domain_of
from dstbench.readers.builder import StatesBuilder
from dstbench.readers.columns import Columns, Objects, states_of
from dstbench.readers.document import Cell, DocumentTurn, JsonDocument, Place, exchanges
from dstbench.readers.fga_gca import NestedState
from dstbench.readers.folder import SPLITS
from dstbench.readers.sgd import Spoken, SpokenDialogue, user_turns
from dstbench.readers.source import Format, Source, values
from dstbench.readers.states import States, in_order, listed
from dstbench.readers.text_states import Pairs, lines, sniff_lines
from dstbench.readers.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dstbench.readers.source import Said

USER: Final = "user"


class ConvlabPrediction(msgspec.Struct):
    """What ConvLab-3 predicts for a turn."""

    state: NestedState


class ConvlabTurn(msgspec.Struct):
    """One user turn of ConvLab-3 (Zhu et al. 2023); `utt_idx` counts system turns too."""

    dialogue_id: str
    utt_idx: int
    state: NestedState
    predictions: ConvlabPrediction


class ConvlabLine(msgspec.Struct):
    """One line of ConvLab-3's sequence-to-sequence output: a turn's gold and predicted state as text."""

    state_seq: str
    predictions: str


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


class SpokenTurn(msgspec.Struct):
    """A user turn of ConvLab-3's predictions, and what was said before."""

    dialogue_id: str
    utt_idx: int
    utterance: str = ""
    context: list[Spoken] = []


def _columns(found: Tokens) -> Columns | None:
    turns = Objects.of(found)
    if turns is None:
        return None
    dialogue, utterance = turns.strings("dialogue_id"), turns.integers("utt_idx")
    gold, pred = turns.nested("state"), turns.nested("state", under="predictions")
    if dialogue is None or utterance is None or gold is None or pred is None:
        return None
    if len(gold.present) != turns.height or len(pred.present) != turns.height:
        return None
    return Columns(dialogue, utterance // 2, gold.without(""), pred.without(""))


def sniff(source: Source) -> bool:
    """Whether turns hold ``predictions`` beside ``state``."""
    return source.lists("predictions", "state", "utt_idx")


def read(source: Source) -> States:
    """Read ConvLab-3's ``predictions.json``."""
    if (quick := states_of(source, FORMAT.name, _columns)) is not None:
        return quick
    states = StatesBuilder(source.name, FORMAT.name)
    for turn in source.objects(
        ConvlabTurn, "dialogue_id", (None, "slot", "slot"), turn="utt_idx", of="turns", hint=FORMAT.hint
    ):
        at = states.turn(turn.dialogue_id, turn.utt_idx // 2)
        for side, state in ((states.pred, turn.predictions.state), (states.gold, turn.state)):
            side.nested(at, {domain: listed(slots, ("",)) for domain, slots in state.items()})
    return states.build()


def said(source: Source) -> Iterator[Said]:
    """What was said in each turn of the predictions."""
    for turn in source.objects(SpokenTurn, "dialogue_id", (), hint=FORMAT.hint):
        before = turn.context[-1] if turn.context else None
        system = before.utterance if before is not None and before.speaker == "system" else None
        yield turn.dialogue_id, turn.utt_idx // 2, system, turn.utterance


def split_state(state: str) -> tuple[Pairs, int]:
    """Slots and values of ``[domain]([slot][value],[slot][value]);[domain](…)``, and the number of other pieces.

    >>> split_state("[hotel]([area][north],[price range][cheap]);[train]([leave at][09:15])")
    ([('hotel-area', 'north'), ('hotel-price range', 'cheap'), ('train-leave at', '09:15')], 0)
    >>> split_state("no state")
    ([], 1)
    """
    pairs: Pairs = []
    lost = 0
    for part in state.strip().removeprefix("[").removesuffix(")").split(");["):
        domain, found, slots = part.partition("](")
        if not found:
            lost += part != ""
            continue
        for piece in slots.removeprefix("[").removesuffix("]").split("],["):
            slot, found, value = piece.partition("][")
            if found:
                pairs.append((f"{domain}-{slot}", value))
            else:
                lost += piece != ""
    return pairs, lost


def sniff_raw(source: Source) -> bool:
    """Whether lines hold ``state_seq`` and ``predictions``."""
    return sniff_lines(source, "state_seq", "predictions")


def read_raw(source: Source) -> States:
    """Read ``test_generated_predictions.json``; its own gold only shows whether the order is that of the gold file."""
    states = StatesBuilder(source.name, RAW.name)
    lost = 0
    for number, (_, line) in enumerate(lines(source, RAW)):
        at = states.turn(str(number), 0)
        for side, text in ((states.pred, line.predictions), (states.gold, line.state_seq)):
            pairs, other = split_state(text)
            side.cells(at, pairs)
            lost += other
    if lost:
        states.note(f"{lost:,} pieces of text that are no slot and value, left out")
    raw = states.build()
    return replace(raw, gold=None, pred=None, complete=partial(_in_proven_order, raw))


def _in_proven_order(raw: States, gold: States) -> States:
    states = in_order(raw, gold)
    if raw.gold is None or gold.gold is None:
        return states
    own, other = (side.cells.select("at", pl.col("slot").cast(pl.String)) for side in (raw.gold, gold.gold))
    differ = pl.concat([own.join(other, on=["at", "slot"], how="anti"), other.join(own, on=["at", "slot"], how="anti")])
    if not differ.height:
        return states
    note = (
        f"{raw.source}: in {differ['at'].n_unique():,} of {gold.gold.turns.height:,} turns its own gold lists other "
        f"slots than {gold.source}; where that is most of them, the order is another"
    )
    return replace(states, notes=(*states.notes, note))


def sniff_gold(source: Source) -> bool:
    """Whether dialogues have turns with ``speaker`` and ``utt_idx``."""
    turns = (turn for dialogue in source.first_objects for turn in values(dialogue.get("turns")))
    return any(isinstance(turn, dict) and turn.keys() >= {"speaker", "utt_idx"} for turn in turns)


def read_gold(source: Source) -> States:
    """Read a unified dataset."""
    states = StatesBuilder(source.name, GOLD.name)
    levels = (None, "turn", None, "slot", "slot")
    for dialogue in source.objects(Dialogue, "dialogue_id", levels, hint=GOLD.hint):
        name = dialogue.dialogue_id if dialogue.original_id is msgspec.UNSET else dialogue.original_id
        if dialogue.data_split is not msgspec.UNSET:
            states.splits[name] = SPLITS.get(dialogue.data_split, dialogue.data_split)
        users = (turn for turn in dialogue.turns if turn.speaker == USER)
        for number, turn in enumerate(users):
            if turn.state is msgspec.UNSET:
                raise source.error("a user turn without a state", GOLD.hint, dialogue=name, turn=number)
            state = {domain: listed(slots, ("",)) for domain, slots in turn.state.items()}
            states.gold.nested(states.turn(name, number), state)
    return states.build()


def said_gold(source: Source) -> Iterator[Said]:
    """What was said in each turn of a unified dataset."""
    for dialogue in source.objects(SpokenDialogue, "dialogue_id", (None, "turn"), hint=GOLD.hint):
        name = dialogue.dialogue_id if dialogue.original_id is msgspec.UNSET else dialogue.original_id
        for number, system, user in user_turns(dialogue.turns):
            yield name, number, system, user


class _Document(JsonDocument):
    name = "dialogue_id"
    absent = ""
    usual: ClassVar = {"leaveat": "leave at", "arriveby": "arrive by", "pricerange": "price range"}

    def title(self, dialogue: Any) -> str:
        return str(dialogue.get("original_id", dialogue[self.name]))

    def turns(self) -> Iterator[DocumentTurn]:
        for name, dialogue in self.dialogues():
            for number, user, system in exchanges(dialogue["turns"], lambda turn: bool(turn["speaker"] == "user")):
                texts = {"user": (user, "utterance"), "system": (system, "utterance")}
                there = {speaker: place for speaker, place in texts.items() if place[0] is not None}
                yield DocumentTurn(name, number, user and user["state"], there)

    def cells(self, state: Any) -> Iterator[Cell]:
        for domain, slots in state.items():
            for slot in slots:
                yield canonical_slot(f"{domain}-{slot}"), (slots, slot), (domain, slot)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        domain, name = spelling or (domain_of(slot), self._usual(slot))
        return state.setdefault(domain, {}), name


FORMAT: Final = Format(
    name="convlab",
    title="ConvLab-3 (predictions.json)",
    holds=("gold", "pred"),
    example=(
        '[{"dialogue_id": "MUL9901.json", "utt_idx": 0, "state": {"hotel": {"area": "north", "name": ""}}, '
        '"predictions": {"state": {"hotel": {"area": "north"}}}}]'
    ),
    shape=list[ConvlabTurn],
    sniff=sniff,
    read=read,
    said=said,
)
RAW: Final = Format(
    name="convlab-raw",
    title="ConvLab-3's raw output (test_generated_predictions.json); needs --gold, in its order",
    holds=("pred",),
    example='{"state_seq": "[hotel]([area][north])", "predictions": "[hotel]([area][north])"}',
    shape=ConvlabLine,
    sniff=sniff_raw,
    read=read_raw,
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
    sniff=sniff_gold,
    read=read_gold,
    said=said_gold,
    document=_Document,
)
