"""The restaurant datasets: WOZ 2.0 (Wen et al. 2017; Mrkšić et al. 2017) and DSTC2 (Henderson et al. 2014).

Conventions: one domain, so slots have no domain in these files and are given one: ``food`` is ``restaurant-food``.
Cumulative goals only: what the user asks for (a phone number) is no slot. WOZ 2.0's dialogues are numbers; its values
are kept as written, also misspelled ones that SUMBT's copy mends. DSTC2 has one ``label.json`` per call, in a folder
of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from dstbench.readers.builder import StatesBuilder
from dstbench.readers.simpletod import TradeEntry, informed
from dstbench.readers.source import Format, Source
from dstbench.readers.states import States

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


class LabelTurn(msgspec.Struct):
    """One turn of a DSTC2 call."""

    turn: int = msgspec.field(name="turn-index")
    goals: dict[str, str] = msgspec.field(name="goal-labels")


class LabelCall(msgspec.Struct):
    """One DSTC2 call."""

    session: str = msgspec.field(name="session-id")
    turns: list[LabelTurn]


class Hypothesis(msgspec.Struct):
    """A whole goal and how sure the tracker is of it."""

    score: float
    slots: dict[str, str]


class TrackerTurn(msgspec.Struct):
    """What a tracker believes after one turn."""

    goals: dict[str, dict[str, float]] = msgspec.field(name="goal-labels")
    joint: list[Hypothesis] = msgspec.field(name="goal-labels-joint", default_factory=list)

    def best(self) -> dict[str, str]:
        """The best whole goal; without one, each slot's best value if it beats the rest, which is for no value."""
        if self.joint:
            return max(self.joint, key=lambda hypothesis: hypothesis.score).slots
        best = {slot: max(shares, key=shares.__getitem__) for slot, shares in self.goals.items() if shares}
        return {
            slot: value for slot, value in best.items() if self.goals[slot][value] > 1 - sum(self.goals[slot].values())
        }


class TrackerCall(msgspec.Struct):
    """One call."""

    session: str = msgspec.field(name="session-id")
    turns: list[TrackerTurn]


class TrackerOutput(msgspec.Struct):
    """What a DSTC2 tracker writes."""

    sessions: list[TrackerCall]


def _named(state: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(f"{_DOMAIN}-{slot}", value) for slot, value in state]


def sniff_woz(source: Source) -> bool:
    """Whether dialogues have a ``dialogue_idx`` that is a number, and a ``dialogue``."""
    return any(isinstance(d.get("dialogue_idx"), int) and "dialogue" in d for d in source.first_objects)


def read_woz(source: Source) -> States:
    """Read WOZ 2.0."""
    states = StatesBuilder(source.name, WOZ.name)
    for dialogue in source.objects(WozDialogue, "dialogue_idx", (None, "turn"), hint=WOZ.hint):
        for turn in dialogue.dialogue:
            at = states.turn(str(dialogue.dialogue_idx), turn.turn_idx)
            states.gold.cells(at, _named(informed(turn.belief_state)))
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
        states.gold.cells(states.turn(dialogue, turn), _named(cells))
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


def _whole(source: Source) -> dict[str, Any]:
    """The one object that the file is; empty if it is none."""
    return source.sample if source.kind == "json" and isinstance(source.sample, dict) else {}


def sniff_labels(source: Source) -> bool:
    """Whether the file has a ``session-id`` and turns with ``goal-labels``."""
    turns = _whole(source).get("turns")
    return (
        "session-id" in _whole(source)
        and isinstance(turns, list)
        and any(isinstance(t, dict) and "goal-labels" in t for t in turns[:4])
    )


def read_labels(source: Source) -> States:
    """Read the labels of one call."""
    call: LabelCall = source.convert(source.json, LabelCall, (None, "turn", None, "slot"), hint=LABELS.hint)
    states = StatesBuilder(source.name, LABELS.name)
    for turn in call.turns:
        states.gold.cells(states.turn(call.session, turn.turn), _named(turn.goals.items()))
    return states.build()


def sniff_tracker(source: Source) -> bool:
    """Whether the file has ``sessions``."""
    return isinstance(_whole(source).get("sessions"), list)


def read_tracker(source: Source) -> States:
    """Read a tracker's output: of each distribution the best."""
    sessions = _whole(source).get("sessions")
    states = StatesBuilder(source.name, TRACKER.name)
    for call in source.objects(TrackerCall, "session-id", (None, "turn", None, "slot"), sessions, hint=TRACKER.hint):
        for number, turn in enumerate(call.turns):
            states.pred.cells(states.turn(call.session, number), _named(turn.best().items()))
    return states.build()


WOZ: Final = Format(
    name="woz",
    title="WOZ 2.0 (woz_<split>_en.json), gold",
    holds=("gold",),
    example=(
        '[{"dialogue_idx": 9901, "dialogue": [{"turn_idx": 0, "belief_state": '
        '[{"slots": [["price range", "cheap"]], "act": "inform"}]}]}]'
    ),
    shape=list[WozDialogue],
    sniff=sniff_woz,
    read=read_woz,
)
TSV: Final = Format(
    name="woz-tsv",
    title="SUMBT's copy of WOZ 2.0, gold",
    holds=("gold",),
    example="9901⇥0⇥cheap food⇥⇥none⇥none⇥cheap",
    shape=WozLine,
    sniff=sniff_tsv,
    read=read_tsv,
)
LABELS: Final = Format(
    name="dstc2-gold",
    title="DSTC2 (label.json of each call), gold",
    holds=("gold",),
    example='{"session-id": "voip-1", "turns": [{"turn-index": 0, "goal-labels": {"pricerange": "cheap"}}]}',
    shape=LabelCall,
    sniff=sniff_labels,
    read=read_labels,
    sharded=True,
)
TRACKER: Final = Format(
    name="dstc2",
    title="DSTC2 trackers; need --gold",
    holds=("pred",),
    example=(
        '{"sessions": [{"session-id": "voip-1", "turns": [{"goal-labels": {"pricerange": {"cheap": 0.9}}, '
        '"goal-labels-joint": [{"score": 0.9, "slots": {"pricerange": "cheap"}}]}]}]}'
    ),
    shape=TrackerOutput,
    sniff=sniff_tracker,
    read=read_tracker,
)
