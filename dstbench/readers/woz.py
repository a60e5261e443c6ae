"""WOZ 2.0 (Wen et al. 2017; Mrkšić et al. 2017), as it was published and as SUMBT's copy.

Conventions: one domain, so slots have no domain in these files and are given one: ``food`` is ``restaurant-food``.
Cumulative goals only: what the user asks for (a phone number) is no slot. Dialogues are numbers; values are kept as
written, also misspelled ones that SUMBT's copy mends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from dstbench.readers.builder import StatesBuilder
from dstbench.readers.document import Place
from dstbench.readers.source import Format, Source
from dstbench.readers.states import States
from dstbench.readers.trade import Document, TradeEntry, informed, said
from dstbench.readers.tsv import LinesDocument

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dstbench.readers.source import Said

_DOMAIN: Final = "restaurant"
# SUMBT's copy of WOZ 2.0 has no header line.
COLUMNS: Final = ("dialogue", "turn", "user", "system", "area", "food", "pricerange")
_LEAVES_OUT: Final = "none"


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


def with_domain(state: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Slots and values, with the one domain before each slot."""
    return [(f"{_DOMAIN}-{slot}", value) for slot, value in state]


def sniff(source: Source) -> bool:
    """Whether dialogues have a ``dialogue_idx`` that is a number, and a ``dialogue``."""
    return any(isinstance(d.get("dialogue_idx"), int) and "dialogue" in d for d in source.first_objects)


def read(source: Source) -> States:
    """Read WOZ 2.0."""
    states = StatesBuilder(source.name, FORMAT.name)
    for dialogue in source.objects(WozDialogue, "dialogue_idx", (None, "turn"), hint=FORMAT.hint):
        for turn in dialogue.dialogue:
            at = states.turn(str(dialogue.dialogue_idx), turn.turn_idx)
            states.gold.cells(at, with_domain(informed(turn.belief_state)))
    return states.build()


def _line(line: str) -> list[str]:
    """A line's columns; those of other files by SUMBT end with a tab."""
    columns = line.rstrip("\r").split("\t")
    return columns[:-1] if len(columns) > len(COLUMNS) and not columns[-1] else columns


def sniff_tsv(source: Source) -> bool:
    """Whether the first line has seven columns, the second of which is a number."""
    first = _line(source.raw.lstrip().split(b"\n", 1)[0].decode(errors="replace")) if source.kind == "text" else []
    return len(first) == len(COLUMNS) and first[1].isdecimal()


def read_tsv(source: Source) -> States:
    """Read SUMBT's copy of WOZ 2.0."""
    states = StatesBuilder(source.name, TSV.name)
    for dialogue, turn, _, _, *found in lines(source):
        cells = [cell for cell in zip(COLUMNS[4:], found, strict=True) if cell[1] != _LEAVES_OUT]
        states.gold.cells(states.turn(dialogue, turn), with_domain(cells))
    return states.build()


def lines(source: Source) -> Iterator[list[str]]:
    """The columns of every line of SUMBT's copy."""
    for number, line in enumerate(source.text.split("\n"), start=1):
        columns = _line(line)
        if columns == [""] or line.startswith("#"):
            continue
        if len(columns) != len(COLUMNS):
            raise source.error(
                f"line {number} has {len(columns)} fields, not {len(COLUMNS)}",
                "is the file cut off, or a tab in a text?",
            )
        yield columns


def said_tsv(source: Source) -> Iterator[Said]:
    """What was said in each turn of SUMBT's copy."""
    for dialogue, turn, user, system, *_ in lines(source):
        yield dialogue, turn, system, user


class _Document(Document):
    domain = "restaurant-"
    usual: ClassVar = {"pricerange": "price range"}


class _Lines(LinesDocument):
    def body(self, text: str) -> str:
        self.speakers = {"user": 2, "system": 3}
        self.columns = [(f"restaurant-{name}", column) for column, name in enumerate(COLUMNS) if column >= 4]
        return text

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        """There is none: these files have no header."""
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
    sniff=sniff,
    read=read,
    said=said,
    document=_Document,
)
TSV: Final = Format(
    name="woz-tsv",
    title="SUMBT's copy of WOZ 2.0, gold",
    holds=("gold",),
    example="9901⇥0⇥cheap food⇥⇥none⇥none⇥cheap",
    shape=WozLine,
    sniff=sniff_tsv,
    read=read_tsv,
    said=said_tsv,
    document=_Lines,
)
