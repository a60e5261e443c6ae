"""SimpleTOD's generated states and its preprocessed MultiWOZ (Hosseini-Asl et al. 2020).

Conventions: cumulative states. Predictions are triples ``hotel book day friday`` of both sides; gold is a dictionary
of dialogues, each with a list of domain, slot and value per turn, and what was said. ``not mentioned`` is how these
files leave a slot out, and such a value is no value; a literal ``none`` that survives in the 2.1 annotation is kept as
written. Turns count user turns from 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from dstbench.conventions.slots import canonical_slot, domain_of
from dstbench.readers.builder import StatesBuilder
from dstbench.readers.document import Cell, DocumentTurn, JsonDocument, Place
from dstbench.readers.source import Format, Source, values
from dstbench.readers.states import States
from dstbench.readers.text_states import LEAVES_OUT, TextStates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dstbench.readers.source import Said


class SimpletodDialogue(msgspec.Struct):
    """One dialogue of SimpleTOD (Hosseini-Asl et al. 2020): a list of triples per turn."""

    target_turn_belief: list[list[str]]
    generated_turn_belief: list[list[str]]


class GoldDialogue(msgspec.Struct):
    """One dialogue of SimpleTOD's file: per turn, a list of domain, slot and value."""

    bstate: list[list[tuple[str, str, str]]]


GoldDialogue.__name__ = "SimpletodDialogue"  # as data_schemas call it


class SpokenDialogue(msgspec.Struct):
    """A dialogue of SimpleTOD's file."""

    usr: list[str]
    sys: list[str]


def sniff(source: Source) -> bool:
    """Whether dialogues hold ``generated_turn_belief``."""
    return source.kind == "json" and any(
        isinstance(dialogue, dict) and "generated_turn_belief" in dialogue for dialogue in values(source.sample)
    )


def read(source: Source) -> States:
    """Read SimpleTOD's file; a run that was fed gold states, as its name says, is reported."""
    dialogues: dict[str, SimpletodDialogue] = source.convert(
        source.json, FORMAT.shape, ("dialogue", None, "turn"), hint=FORMAT.hint
    )
    texts = TextStates(source, FORMAT)
    if "oracleBelief" in source.path.name:
        texts.states.note("its name says oracleBelief: the model was given the gold states")
    for dialogue, content in dialogues.items():
        turns = content.target_turn_belief, content.generated_turn_belief
        if len(turns[0]) != len(turns[1]):
            raise source.error(
                f"{len(turns[0])} gold turns and {len(turns[1])} generated ones", "write it again", dialogue=dialogue
            )
        for number, (gold, pred) in enumerate(zip(*turns, strict=True)):
            at = texts.states.turn(dialogue, number)
            texts.triples(at, texts.states.gold, gold)
            texts.triples(at, texts.states.pred, pred)
    return texts.build()


def sniff_gold(source: Source) -> bool:
    """Whether dialogues hold ``bstate``."""
    return source.kind == "json" and any(isinstance(d, dict) and "bstate" in d for d in values(source.sample))


def read_gold(source: Source) -> States:
    """Read the preprocessed MultiWOZ."""
    dialogues: dict[str, GoldDialogue] = source.convert(
        source.json, GOLD.shape, ("dialogue", None, "turn"), hint=GOLD.hint
    )
    states = StatesBuilder(source.name, GOLD.name)
    for dialogue, content in dialogues.items():
        for number, turn in enumerate(content.bstate):
            cells = [(f"{domain}-{slot}", value) for domain, slot, value in turn if value not in LEAVES_OUT]
            states.gold.cells(states.turn(dialogue, number), cells)
    return states.build()


def said(source: Source) -> Iterator[Said]:
    """What was said in each turn of the preprocessed MultiWOZ."""
    dialogues: dict[str, SpokenDialogue] = source.convert(
        source.json, dict[str, SpokenDialogue], ("dialogue", None, "turn"), hint=GOLD.hint
    )
    for dialogue, content in dialogues.items():
        for number, user in enumerate(content.usr):
            yield dialogue, number, content.sys[number - 1] if 0 < number <= len(content.sys) else None, user


class _Document(JsonDocument):
    absent = "not mentioned"
    usual: ClassVar = {"leaveat": "leaveAt", "arriveby": "arriveBy"}

    def turns(self) -> Iterator[DocumentTurn]:
        for name, dialogue in self.dialogues():
            said = [texts if isinstance(texts := dialogue.get(key), list) else [] for key in ("usr", "sys")]
            (users, systems), states = said, dialogue["bstate"]
            for number in range(len(states) + 1):
                texts = {"user": (users, number)} if number < len(users) else {}
                if 0 < number <= len(systems):
                    texts["system"] = (systems, number - 1)
                yield DocumentTurn(name, number, states[number] if number < len(states) else None, texts)

    def cells(self, state: Any) -> Iterator[Cell]:
        for triple in state:
            yield canonical_slot(f"{triple[0]}-{triple[1]}"), (triple, 2), triple[:2]

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        domain, name = spelling or (domain_of(slot), self._usual(slot))
        state.append([domain, name, None])
        return state[-1], 2


FORMAT: Final = Format(
    name="simpletod",
    title="SimpleTOD (<exp>_test_context[history=full_history]_nocarry.json)",
    holds=("gold", "pred"),
    example=(
        '{"MUL9901.json": {"target_turn_belief": [["hotel area north"]], '
        '"generated_turn_belief": [["hotel area north", "hotel name not mentioned"]]}}'
    ),
    shape=dict[str, SimpletodDialogue],
    sniff=sniff,
    read=read,
)
GOLD: Final = Format(
    name="simpletod-gold",
    title="SimpleTOD's preprocessed MultiWOZ (<split>_dials_lexicalized.json), gold",
    holds=("gold",),
    example='{"MUL9901.json": {"usr": ["…"], "sys": ["…"], "bstate": [[["hotel", "area", "north"]]]}}',
    shape=dict[str, GoldDialogue],
    sniff=sniff_gold,
    read=read_gold,
    said=said,
    document=_Document,
)
