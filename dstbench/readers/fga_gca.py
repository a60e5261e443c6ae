"""The result files of FGA (Dey et al. 2022) and GCA (Aksu & Chen 2024): ``gt``/``pr`` JSON, and TripPy's marks.

Conventions: one state per turn and side, nested by domain, cumulative; a slot that is not in the state is missing,
and a literal ``none`` is kept as written. Turns are user turns, numbered from 0.

FGA's result file of TripPy has no states, only marks: whether each slot is right (1) or wrong (0), in an order that the
file does not give. A wrong slot is read as a slot with a wrong value, a right one is not listed. This gives JGA, FGA,
and slot accuracy over all slots of the file; other metrics are meaningless. The authors' script counts every change of
the set of wrong slots as a new error, even if a slot was only corrected, because marks do not show what else has
changed. Therefore the value of a wrong slot stands for the whole set, so that it is new whenever the set changes.
"""

from typing import Final

from dstbench.readers.format import Format, Source, StatesBuilder

_MARKS: Final = dict[str, dict[str, list[int]]]


def _sniff_marks(source: Source) -> bool:
    turns = source.values(2, dict)
    return bool(turns) and all(isinstance(turn, list) and turn and set(map(repr, turn)) <= {"0", "1"} for turn in turns)


def _read_marks(source: Source, states: StatesBuilder) -> None:
    dialogues = source.whole(_MARKS, "dialogue", "turn")
    width = len(next((marks for turns in dialogues.values() for marks in turns.values()), []))
    for dialogue, turns in dialogues.items():
        for turn, marks in turns.items():
            if len(marks) != width or not {*marks} <= {0, 1}:
                what = f"not {width} marks of 0 and 1, as in the first turn"
                raise source.misshapen(what, dialogue=dialogue, turn=turn)
            at = states.turn(dialogue, turn)
            wrong = [str(number) for number, mark in enumerate(marks, 1) if not mark]
            slots = [f"slot-{number}" for number in wrong]
            states.gold.flat(at, dict.fromkeys(slots, "right"))
            states.pred.flat(at, dict.fromkeys(slots, f"wrong:{','.join(wrong)}"))
    states.only = ("jga", f"sa:T={width}", "fga")
    states.note(
        f"it says which of {width} slots are right, but has no values: only jga, sa:T={width} and fga can be computed"
    )


MARKS: Final = Format(
    name="fga-trippy",
    title="FGA's result file of TripPy: which slots are right, no states; JGA, SA and FGA only",
    example='{"MUL9901.json": {"0": [1, 1, 1], "1": [1, 0, 1]}}',
    shape=_MARKS,
    sniff=_sniff_marks,
    reader=_read_marks,
)
