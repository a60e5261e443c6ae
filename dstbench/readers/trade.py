"""TRADE's ``all_prediction_TRADE.json`` and its descendants', and TRADE's preprocessed MultiWOZ (Wu et al. 2019).

Conventions: the prediction file has a list of ``domain-slot-value`` per turn and side; the predicted list is called
``pred_bs_ptr`` by TRADE, ``pred_bs_…`` by others. The gold file is a JSON list of dialogues with utterances and
slot-value pairs per turn. States are cumulative; a slot that is not in the state is not listed. TRADE's gold may list a
literal ``none``, which is kept as written. Turns are user turns, numbered from 0.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from dstbench.conventions.slots import canonical_slot
from dstbench.readers.document import Cell, DocumentTurn, JsonDocument, Place, said_in
from dstbench.readers.format import Format, Pairs, PairsState, SideBuilder, Source, StatesBuilder
from dstbench.readers.key_names import name_sides
from dstbench.readers.shapes import check
from dstbench.readers.wrappers import values

_SHAPE: Final = dict[str, dict[str, dict[str, PairsState]]]
_PREDICTED: Final = "pred_bs_"


class TradeEntry(msgspec.Struct):
    """An entry of a belief state: its slot-value pairs (one, in practice) and whether the user informs or asks."""

    slots: list[tuple[str, str]]
    act: Literal["inform", "request"]


class TradeTurn(msgspec.Struct):
    """One turn of TRADE's file."""

    turn_idx: int
    belief_state: list[TradeEntry]


class TradeDialogue(msgspec.Struct):
    """One dialogue of TRADE's file."""

    dialogue_idx: str
    dialogue: list[TradeTurn]


class SpokenTurn(msgspec.Struct):
    """What is said in a turn of TRADE's file, or WOZ 2.0's."""

    turn_idx: int
    transcript: str = ""
    system_transcript: str = ""


class SpokenDialogue(msgspec.Struct):
    """What is said in a dialogue of these."""

    dialogue_idx: str | int
    dialogue: list[SpokenTurn]


def _is_predicted(key: str) -> bool:
    return key.startswith(_PREDICTED)


def _sniff(source: Source) -> bool:
    turns = [turn for dialogue in source.objects_at(1, dict) for turn in dialogue.values() if isinstance(turn, dict)]
    return any(_is_predicted(key) for turn in turns for key in turn)


def _turns(source: Source, unread: list[Any]) -> Iterator[tuple[str, str, Any, Any]]:
    """(dialogue, turn, gold, pred) of every turn; `unread` takes what it has beside these."""
    key = ""  # of the predicted list
    for dialogue, turns in source.whole(_SHAPE, "dialogue", "turn").items():
        for turn, state in turns.items():
            if len(state) != 2 or key not in state or "turn_belief" not in state:  # unlike the turn before
                keys = list(filter(_is_predicted, state))
                if "turn_belief" not in state or len(keys) != 1:
                    what = f"a turn needs turn_belief and one {_PREDICTED}* list, found {', '.join(state) or 'nothing'}"
                    raise source.error(what, dialogue=dialogue, turn=turn)
                key = keys[0]
                unread += [pairs for other, pairs in state.items() if other not in ("turn_belief", key)]
            yield dialogue, turn, state["turn_belief"], state[key]


def _read(source: Source, states: StatesBuilder) -> None:
    unread: list[Any] = []
    states.add(_turns(source, unread), SideBuilder.pairs)
    check(unread, list[str])


def informed(state: list[TradeEntry]) -> Pairs:
    """The slots and values that the user informs; what the user asks for, such as a phone number, is not a slot."""
    return [pair for entry in state if entry.act == "inform" for pair in entry.slots]


def sniff_gold(source: Source, id_type: type) -> bool:
    """Whether dialogues have a ``dialogue_idx`` (text in TRADE's files, a number in WOZ 2.0's) and a ``dialogue``.

    If its turns have predictions, it is not the dataset, but records that somebody made of it.
    """
    dialogues = [dialogue for dialogue in source.objects_at(1, list) if "dialogue" in dialogue]
    turns = [turn for dialogue in dialogues for turn in values(dialogue["dialogue"], 1) if isinstance(turn, dict)]
    of_type = any(isinstance(dialogue.get("dialogue_idx"), id_type) for dialogue in dialogues)
    return of_type and not any(name_sides(turn, "pred") for turn in turns)


def _read_gold(source: Source, states: StatesBuilder) -> None:
    for dialogue in source.objects(TradeDialogue, "dialogue_idx", None, "turn"):
        for turn in dialogue.dialogue:
            states.gold.cells(states.turn(dialogue.dialogue_idx, turn.turn_idx), informed(turn.belief_state))


class Document(JsonDocument):
    """TRADE's file, or WOZ 2.0's, open for changes; a ``turn_label``, which repeats changes of state, follows them."""

    name = "dialogue_idx"
    domain = ""

    def turns(self) -> Iterator[DocumentTurn]:
        for name, dialogue in self.dialogues():
            before: dict[str, Any] = {"belief_state": []}
            for turn in dialogue["dialogue"]:
                texts = {"user": (turn, "transcript"), "system": (turn, "system_transcript")}
                yield DocumentTurn(name, turn["turn_idx"], (turn, before), texts)
                before = turn

    def _slot(self, pair: Any) -> str:
        return canonical_slot(f"{self.domain}{pair[0]}")

    def cells(self, state: Any) -> Iterator[Cell]:
        turn, _ = state
        for entry in turn["belief_state"]:
            for pair in entry["slots"] if entry["act"] == "inform" else ():
                yield self._slot(pair), (pair, 1), pair[0]

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        pair = [spelling or (self.usual_name(slot) if self.domain else slot), None]
        state[0]["belief_state"].append({"slots": [pair], "act": "inform"})
        return pair, 1

    def put(self, place: Place, value: str | None) -> None:
        place[0][place[1]] = value

    def edit(self, turn: DocumentTurn, changes: Mapping[str, str | None]) -> None:
        content, before = turn.state
        had = {name for name, _, _ in self.cells(turn.state)}
        super().edit(turn, changes)
        for entry in content["belief_state"]:
            entry["slots"] = [pair for pair in entry["slots"] if pair[1] is not None]
        content["belief_state"] = [entry for entry in content["belief_state"] if entry["slots"]]
        if _is_pairs(content.get("turn_label")):
            old = {name: place[0][1] for name, place, _ in self.cells((before, None))}
            added = [place[0] for name, place, _ in self.cells(turn.state) if name in changes.keys() - had]
            label = [[pair[0], changes.get(self._slot(pair), pair[1])] for pair in content["turn_label"]]
            label += [[*pair] for pair in added if old.get(self._slot(pair)) != pair[1]]
            content["turn_label"] = [pair for pair in label if pair[1] is not None]


def _is_pairs(label: Any) -> bool:
    return isinstance(label, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in label)


def check_texts(source: Source) -> None:
    """Check the types of the utterances in TRADE's file, or WOZ 2.0's."""
    for _ in source.objects(SpokenDialogue, "dialogue_idx", None, "turn"):
        pass


FORMAT: Final = Format(
    name="trade",
    title="TRADE (all_prediction_TRADE.json) and descendants",
    example='{"MUL9901.json": {"0": {"turn_belief": ["hotel-area-north"], "pred_bs_ptr": ["hotel-area-north"]}}}',
    shape=_SHAPE,
    sniff=_sniff,
    reader=_read,
)
GOLD: Final = Format(
    name="trade-gold",
    title="TRADE's preprocessed MultiWOZ (<split>_dials.json), gold",
    holds=("gold",),
    example=(
        '[{"dialogue_idx": "MUL9901.json", "dialogue": [{"turn_idx": 0, '
        '"belief_state": [{"slots": [["hotel-area", "north"]], "act": "inform"}]}]}]'
    ),
    shape=list[TradeDialogue],
    sniff=lambda source: sniff_gold(source, str),
    reader=_read_gold,
    said=said_in(Document, check_texts),
    document=Document,
)
