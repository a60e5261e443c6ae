"""The result files of FGA (Dey et al. 2022) and GCA (Aksu & Chen 2024): ``gt``/``pr`` JSON, and TripPy's marks.

Conventions: one state per turn and side, nested by domain, cumulative; a slot that is not in the state is missing,
and a literal ``none`` is kept as written. Turns count user turns from 0.

FGA's result file of TripPy has no states, only whether each of its slots is right (1) or not (0), in an order that it
does not tell. A wrong slot is read as one with a wrong value, a right one is not listed: JGA, slot accuracy over all of
them and FGA come out, and no other metric means anything. The authors' script for this file takes every change of the
set of wrong slots for a new error, also one that only mends a slot, as marks do not say what else has changed. So a
wrong value names the whole set: it is new whenever the set is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec

from dstbench.readers.builder import StatesBuilder
from dstbench.readers.columns import Columns, by_key, states_of
from dstbench.readers.source import Format, Source, values
from dstbench.readers.states import States
from dstbench.readers.tokens import Tokens

NestedState = dict[str, dict[str, str]]


class Turn(msgspec.Struct):
    """One turn: the gold (``gt``) and the predicted (``pr``) state."""

    gt: NestedState
    pr: NestedState


SHAPE: Final = dict[str, dict[str, Turn]]


def sniff(source: Source) -> bool:
    """Whether turns hold ``gt`` or ``pr`` (and no ``pred``, as STAR's slots do)."""
    return source.kind == "json" and any(
        isinstance(turn, dict) and turn.keys() & {"gt", "pr"} and "pred" not in turn
        for turn in values(source.sample, 2)
    )


def _columns(found: Tokens) -> Columns | None:
    return by_key(found, gold="gt".__eq__, pred="pr".__eq__, states=Tokens.nested)


def read(source: Source) -> States:
    """Read the file."""
    if (quick := states_of(source, FORMAT.name, _columns)) is not None:
        return quick
    dialogues: dict[str, dict[str, Turn]] = source.convert(
        source.json, SHAPE, ("dialogue", "turn", None, "slot", "slot"), hint=FORMAT.hint
    )
    states = StatesBuilder(source.name, FORMAT.name)
    for dialogue, turns in dialogues.items():
        for turn, state in turns.items():
            at = states.turn(dialogue, turn)
            states.gold.nested(at, state.gt)
            states.pred.nested(at, state.pr)
    return states.build()


FORMAT: Final = Format(
    name="gtpr",
    title="FGA and GCA result files",
    holds=("gold", "pred"),
    example='{"MUL9901.json": {"0": {"gt": {"hotel": {"area": "north"}}, "pr": {"hotel": {"area": "north"}}}}}',
    shape=SHAPE,
    sniff=sniff,
    read=read,
)


_MARKS: Final = dict[str, dict[str, list[int]]]


def sniff_marks(source: Source) -> bool:
    """Whether turns are lists of 0 and 1."""
    turns = values(source.sample, 2) if source.kind == "json" and isinstance(source.sample, dict) else []
    return bool(turns) and all(isinstance(turn, list) and turn and set(map(repr, turn)) <= {"0", "1"} for turn in turns)


def read_marks(source: Source) -> States:
    """Read the marks of right and wrong slots."""
    dialogues: dict[str, dict[str, list[int]]] = source.convert(
        source.json, _MARKS, ("dialogue", "turn"), hint=MARKS.hint
    )
    states = StatesBuilder(source.name, MARKS.name)
    width = len(next((marks for turns in dialogues.values() for marks in turns.values()), []))
    for dialogue, turns in dialogues.items():
        for turn, marks in turns.items():
            if len(marks) != width or not {*marks} <= {0, 1}:
                what = f"not {width} marks of 0 and 1, as in the first turn"
                raise source.error(what, MARKS.hint, dialogue=dialogue, turn=turn)
            at = states.turn(dialogue, turn)
            wrong = [str(number) for number, mark in enumerate(marks, 1) if not mark]
            slots = [f"slot-{number}" for number in wrong]
            states.gold.flat(at, dict.fromkeys(slots, "right"))
            states.pred.flat(at, dict.fromkeys(slots, f"wrong:{','.join(wrong)}"))
    states.note(
        f"it says which of {width} slots are right, not what they are: only jga, sa:T={width} and fga can be had"
    )
    return replace(states.build(), only=("jga", f"sa:T={width}", "fga"))


MARKS: Final = Format(
    name="fga-trippy",
    title="FGA's result file of TripPy: which slots are right, no states; JGA, SA and FGA only",
    holds=("gold", "pred"),
    example='{"MUL9901.json": {"0": [1, 1, 1], "1": [1, 0, 1]}}',
    shape=_MARKS,
    sniff=sniff_marks,
    read=read_marks,
)
