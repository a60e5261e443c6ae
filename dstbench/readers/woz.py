"""WOZ 2.0 (Wen et al. 2017; Mrkšić et al. 2017), as it was published, and SUMBT's copy of it.

Conventions: slots have no domain in these files, as there is only one, and get it here: ``food`` is
``restaurant-food``. Goals are cumulative; what the user asks for (a phone number) is not a slot. Dialogues are numbers.
Values are kept as written, even misspelled ones that SUMBT's copy corrects. The conventions of that copy are those of
`tsv`, but it has no header line.
"""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final

import msgspec

from dstbench.readers.document import Place, said_in
from dstbench.readers.format import Format, Pairs, Source, StatesBuilder
from dstbench.readers.trade import Document, TradeEntry, check_texts, informed, sniff_gold
from dstbench.readers.tsv import CUT_OFF, OMITTED, LinesDocument

#: The domain of all slots.
DOMAIN: Final = "restaurant"
_DOMAIN: Final = f"{DOMAIN}-"


class WozTurn(msgspec.Struct):
    """One turn of WOZ 2.0."""

    turn_idx: int
    belief_state: list[TradeEntry]


class WozDialogue(msgspec.Struct):
    """One dialogue of WOZ 2.0."""

    dialogue_idx: int
    dialogue: list[WozTurn]


class WozLine(msgspec.Struct):
    """A line of SUMBT's copy of WOZ 2.0, as strings."""

    dialogue: str
    turn: str
    user: str
    system: str
    area: str
    food: str
    pricerange: str


_COLUMNS: Final = WozLine.__struct_fields__
_SLOTS: Final = _COLUMNS[4:]


def with_domain(state: Iterable[tuple[str, str]]) -> Pairs:
    """Slots and values, with the domain put before each slot."""
    return [(f"{_DOMAIN}{slot}", value) for slot, value in state]


def read_dialogues(source: Source, states: StatesBuilder, items: Any = None) -> None:
    """Add the turns of a list of dialogues; None: of the list that the file is."""
    for dialogue in source.objects(WozDialogue, "dialogue_idx", None, "turn", items=items):
        states.domains[str(dialogue.dialogue_idx)] = DOMAIN
        for turn in dialogue.dialogue:
            at = states.turn(str(dialogue.dialogue_idx), turn.turn_idx)
            states.gold.cells(at, with_domain(informed(turn.belief_state)))


def _fields(line: str) -> list[str]:
    """A line's fields, without the empty one after a tab at the end, as in other files by SUMBT."""
    fields = line.rstrip("\r").split("\t")
    return fields[:-1] if len(fields) > len(_COLUMNS) and not fields[-1] else fields


def _sniff_tsv(source: Source) -> bool:
    first = _fields(source.raw.lstrip().split(b"\n", 1)[0].decode(errors="replace")) if source.kind == "text" else []
    return len(first) == len(_COLUMNS) and first[1].isdecimal()


def _lines(source: Source) -> Iterator[list[str]]:
    for number, line in enumerate(source.text.split("\n"), start=1):
        fields = _fields(line)
        if fields == [""] or line.startswith("#"):
            continue
        if len(fields) != len(_COLUMNS):
            raise source.error(f"line {number} has {len(fields)} fields, not {len(_COLUMNS)}", CUT_OFF)
        yield fields


def _read_tsv(source: Source, states: StatesBuilder) -> None:
    for dialogue, turn, _, _, *values in _lines(source):
        states.domains[dialogue] = DOMAIN
        states.gold.cells(states.turn(dialogue, turn), with_domain(zip(_SLOTS, values, strict=True)))


class _Document(Document):
    domain = _DOMAIN
    usual: ClassVar = {"pricerange": "price range"}


class _Lines(LinesDocument):
    def body(self, text: str) -> str:
        self.speakers = {"user": 2, "system": 3}
        self.columns = [(f"{_DOMAIN}{name}", column) for column, name in enumerate(_SLOTS, start=4)]
        return text

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        raise self.source.error("no column for this slot, and no header to add one to", slot=slot)


FORMAT: Final = Format(
    name="woz",
    title="WOZ 2.0 (woz_<split>_en.json), gold",
    holds=("gold",),
    example=(
        '[{"dialogue_idx": 9901, "dialogue": [{"turn_idx": 0, "belief_state": '
        '[{"slots": [["price range", "cheap"]], "act": "inform"}]}]}]'
    ),
    shape=list[WozDialogue],
    sniff=lambda source: sniff_gold(source, int),
    reader=read_dialogues,
    said=said_in(_Document, check_texts),
    document=_Document,
)
TSV: Final = Format(
    name="woz-tsv",
    title="SUMBT's copy of WOZ 2.0, gold",
    holds=("gold",),
    example="9901⇥0⇥cheap food⇥⇥none⇥none⇥cheap",
    shape=WozLine,
    sniff=_sniff_tsv,
    reader=_read_tsv,
    omits=(OMITTED,),
    said=said_in(_Lines, lambda source: [*_lines(source)]),
    document=_Lines,
)
