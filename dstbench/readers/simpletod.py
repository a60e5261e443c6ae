"""SimpleTOD's generated states and its preprocessed MultiWOZ (Hosseini-Asl et al. 2020).

Conventions: cumulative states. The file of generated states has triples ``hotel book day friday`` for both sides. The
preprocessed dataset is a dictionary of dialogues with utterances, and a list of domain, slot and value per turn. ``not
mentioned`` says that a slot is not in the state; a literal ``none``, as in some annotations of 2.1, is kept as written.
Turns are user turns, numbered from 0.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, Final

import msgspec

from dstbench.conventions.slots import canonical_slot, domain_of
from dstbench.readers.document import Cell, DocumentTurn, JsonDocument, Place, said_in
from dstbench.readers.format import Format, Source, StatesBuilder

_OMITTED: Final = "not mentioned"


class SimpletodDialogue(msgspec.Struct):
    """One dialogue of SimpleTOD (Hosseini-Asl et al. 2020): a list of triples per turn."""

    target_turn_belief: list[list[str]]
    generated_turn_belief: list[list[str]]


class GoldDialogue(msgspec.Struct):
    """One dialogue of SimpleTOD's file: per turn, a list of domain, slot and value."""

    bstate: list[list[tuple[str, str, str]]]


class _SpokenDialogue(msgspec.Struct):
    usr: list[str]
    sys: list[str]


def _read(source: Source, states: StatesBuilder) -> None:
    """Read generated states; a note says if, by the file's name, the model was given the gold states."""
    if "oracleBelief" in source.path.name:
        states.note("its name says oracleBelief: the model was given the gold states")
    for dialogue, content in source.whole(dict[str, SimpletodDialogue], "dialogue", None, "turn").items():
        turns = content.target_turn_belief, content.generated_turn_belief
        if len(turns[0]) != len(turns[1]):
            what = f"{len(turns[0])} gold turns and {len(turns[1])} generated ones"
            raise source.error(what, "write it again", dialogue=dialogue)
        for number, (gold, pred) in enumerate(zip(*turns, strict=True)):
            at = states.turn(dialogue, number)
            states.gold.triples(at, gold)
            states.pred.triples(at, pred)


def _read_gold(source: Source, states: StatesBuilder) -> None:
    for dialogue, content in source.whole(dict[str, GoldDialogue], "dialogue", None, "turn").items():
        for number, turn in enumerate(content.bstate):
            cells = [(f"{domain}-{slot}", value) for domain, slot, value in turn]
            states.gold.cells(states.turn(dialogue, number), cells)


class _Document(JsonDocument):
    absent = _OMITTED
    usual: ClassVar = {"leaveat": "leaveAt", "arriveby": "arriveBy"}

    def turns(self) -> Iterator[DocumentTurn]:
        for name, dialogue in self.dialogues():
            users, systems, states = (
                texts if isinstance(texts := dialogue.get(key), list) else [] for key in ("usr", "sys", "bstate")
            )
            for number in range(max(len(users), len(states)) + 1):
                texts = {"system": (systems, number - 1)} if 0 < number <= len(systems) else {}
                if number < len(users):
                    texts["user"] = (users, number)
                yield DocumentTurn(name, number, states[number] if number < len(states) else None, texts)

    def cells(self, state: Any) -> Iterator[Cell]:
        for triple in state:
            yield canonical_slot(f"{triple[0]}-{triple[1]}"), (triple, 2), triple[:2]

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        domain, name = spelling or (domain_of(slot), self.usual_name(slot))
        state.append([domain, name, None])
        return state[-1], 2


FORMAT: Final = Format(
    name="simpletod",
    title="SimpleTOD (<exp>_test_context[history=full_history]_nocarry.json)",
    example=(
        '{"MUL9901.json": {"target_turn_belief": [["hotel area north"]], '
        '"generated_turn_belief": [["hotel area north", "hotel name not mentioned"]]}}'
    ),
    shape=dict[str, SimpletodDialogue],
    sniff=lambda source: any("generated_turn_belief" in dialogue for dialogue in source.objects_at(1)),
    reader=_read,
    omits=(_OMITTED,),
)
GOLD: Final = Format(
    name="simpletod-gold",
    title="SimpleTOD's preprocessed MultiWOZ (<split>_dials_lexicalized.json), gold",
    holds=("gold",),
    example='{"MUL9901.json": {"usr": ["…"], "sys": ["…"], "bstate": [[["hotel", "area", "north"]]]}}',
    shape=dict[str, GoldDialogue],
    sniff=lambda source: any("bstate" in dialogue for dialogue in source.objects_at(1)),
    reader=_read_gold,
    omits=(_OMITTED,),
    said=said_in(_Document, lambda source: source.whole(dict[str, _SpokenDialogue], "dialogue", None, "turn")),
    document=_Document,
)
