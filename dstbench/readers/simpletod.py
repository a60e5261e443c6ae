"""Gold states as models preprocess MultiWOZ: TRADE's, T5DST's and SimpleTOD's files.

Conventions: one JSON list (SimpleTOD: dictionary) of dialogues, cumulative states, no predictions. A literal ``none``
that survives in the 2.1 annotation is kept as written; SimpleTOD's ``not mentioned`` is how it leaves a slot out, and
such a value is no value. Turns count user turns from 0.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dstbench.readers.builder import StatesBuilder
from dstbench.readers.source import Format, Source, values
from dstbench.readers.states import States


class TradeEntry(msgspec.Struct):
    """An entry of a belief state: its slot-value pairs (one, in practice) and whether the user informs or asks."""

    slots: list[tuple[str, str]]
    act: str


class TradeTurn(msgspec.Struct):
    """One turn of TRADE's file."""

    turn_idx: int
    belief_state: list[TradeEntry]


class TradeDialogue(msgspec.Struct):
    """One dialogue of TRADE's file."""

    dialogue_idx: str
    dialogue: list[TradeTurn]


class T5State(msgspec.Struct):
    """A state of T5DST's file."""

    slot_values: dict[str, str]


class T5Turn(msgspec.Struct):
    """One turn of T5DST's file; its place in the list is its number."""

    state: T5State


class T5Dialogue(msgspec.Struct):
    """One dialogue of T5DST's file."""

    dial_id: str
    turns: list[T5Turn]


class SimpletodDialogue(msgspec.Struct):
    """One dialogue of SimpleTOD's file: per turn, a list of domain, slot and value."""

    bstate: list[list[tuple[str, str, str]]]


def informed(state: list[TradeEntry]) -> list[tuple[str, str]]:
    """What the user informs: what is asked for, such as a phone number, is no slot."""
    return [pair for entry in state if entry.act == "inform" for pair in entry.slots]


def _sniff(source: Source, dialogue: str, turns: str) -> bool:
    return any(isinstance(d.get(dialogue), str) and turns in d for d in source.first_objects)


def sniff_trade(source: Source) -> bool:
    """Whether dialogues have a ``dialogue_idx`` and a ``dialogue``."""
    return _sniff(source, "dialogue_idx", "dialogue")


def read_trade(source: Source) -> States:
    """Read TRADE's file."""
    states = StatesBuilder(source.name, TRADE.name)
    for dialogue in source.objects(TradeDialogue, "dialogue_idx", (None, "turn"), hint=TRADE.hint):
        for turn in dialogue.dialogue:
            states.gold.cells(states.turn(dialogue.dialogue_idx, turn.turn_idx), informed(turn.belief_state))
    return states.build()


def sniff_t5(source: Source) -> bool:
    """Whether dialogues have a ``dial_id`` and ``turns``."""
    return _sniff(source, "dial_id", "turns")


def read_t5(source: Source) -> States:
    """Read T5DST's file."""
    states = StatesBuilder(source.name, T5DST.name)
    levels = (None, "turn", None, None, "slot")
    for dialogue in source.objects(T5Dialogue, "dial_id", levels, hint=T5DST.hint):
        for number, turn in enumerate(dialogue.turns):
            states.gold.flat(states.turn(dialogue.dial_id, number), turn.state.slot_values)
    return states.build()


def sniff_simpletod(source: Source) -> bool:
    """Whether dialogues hold ``bstate``."""
    return source.kind == "json" and any(isinstance(d, dict) and "bstate" in d for d in values(source.sample))


def read_simpletod(source: Source) -> States:
    """Read SimpleTOD's file."""
    dialogues: dict[str, SimpletodDialogue] = source.convert(
        source.json, SIMPLETOD.shape, ("dialogue", None, "turn"), hint=SIMPLETOD.hint
    )
    states = StatesBuilder(source.name, SIMPLETOD.name)
    for dialogue, content in dialogues.items():
        for number, turn in enumerate(content.bstate):
            cells = [(f"{domain}-{slot}", value) for domain, slot, value in turn if value != "not mentioned"]
            states.gold.cells(states.turn(dialogue, number), cells)
    return states.build()


TRADE: Final = Format(
    name="trade-gold",
    title="TRADE's preprocessed MultiWOZ (<split>_dials.json), gold",
    holds=("gold",),
    example=(
        '[{"dialogue_idx": "MUL9901.json", "dialogue": [{"turn_idx": 0, '
        '"belief_state": [{"slots": [["hotel-area", "north"]], "act": "inform"}]}]}]'
    ),
    shape=list[TradeDialogue],
    sniff=sniff_trade,
    read=read_trade,
)
T5DST: Final = Format(
    name="t5dst-gold",
    title="T5DST's preprocessed MultiWOZ (<split>_dials.json), gold",
    holds=("gold",),
    example='[{"dial_id": "MUL9901.json", "turns": [{"state": {"slot_values": {"hotel-area": "north"}}}]}]',
    shape=list[T5Dialogue],
    sniff=sniff_t5,
    read=read_t5,
)
SIMPLETOD: Final = Format(
    name="simpletod-gold",
    title="SimpleTOD's preprocessed MultiWOZ (<split>_dials_lexicalized.json), gold",
    holds=("gold",),
    example='{"MUL9901.json": {"usr": ["…"], "sys": ["…"], "bstate": [[["hotel", "area", "north"]]]}}',
    shape=dict[str, SimpletodDialogue],
    sniff=sniff_simpletod,
    read=read_simpletod,
)
