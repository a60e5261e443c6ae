"""PPTOD's states (Su et al. 2022), and FnCTOD's in the same notation (Li et al. 2024).

Conventions: cumulative states as spans ``[hotel] day friday area north``. ``not mentioned`` (in FnCTOD's also ``not
present``) says that a slot is not in the state; a literal ``none`` and ``dontcare`` are kept as written. A value that
contains the name of a slot is split there, as in the authors' code. PPTOD's code loses the last turn of the last
dialogue; only a gold file shows that it is missing.
"""

from functools import partial
from typing import Any, Final

import msgspec

from dstbench.conventions.slots import canonical_slot
from dstbench.readers.format import Format, Pairs, Source, StatesBuilder

# fmt: off
_SPAN_SLOTS: Final = frozenset((
    "area", "arrive", "day", "department", "departure", "destination", "food", "internet", "leave", "name", "parking",
    "people", "pricerange", "stars", "stay", "time", "type",
))
# fmt: on


class SpanTurn(msgspec.Struct):
    """One turn of PPTOD (Su et al. 2022)."""

    bspn: str
    bspn_gen: str


class FnctodTurn(SpanTurn):
    """One turn of FnCTOD (Li et al. 2024); a turn that the run has not reached has no ``bspn_dict_gen``."""

    bspn_dict_gen: Any = msgspec.UNSET


def split_span(span: str) -> tuple[Pairs, int]:
    """Slots and values of ``[domain] slot value slot value [domain] …``, and the number of words lost.

    >>> split_span("[hotel] area north book day [train] leave 09:15")
    ([('hotel-area', 'north book'), ('hotel-book day', ''), ('train-leaveat', '09:15')], 0)
    >>> split_span("area north [hotel]")
    ([], 2)
    """
    pairs: list[tuple[str, list[str]]] = []
    domain, lost = "", 0
    for word in span.split():
        if word.startswith("[") and word.endswith("]"):
            domain = word[1:-1]
            pairs.append(("", []))
        elif domain and word in _SPAN_SLOTS:
            pairs.append((canonical_slot(f"{domain}-{word}"), []))
        elif pairs and pairs[-1][0]:
            pairs[-1][1].append(word)
        else:
            lost += 1
    return [(slot, " ".join(value)) for slot, value in pairs if slot], lost


def _sniff(source: Source, kind: type) -> bool:
    return any(isinstance(dialogue, kind) for dialogue in source.values(1, dict)) and any(
        "bspn_gen" in turn for turn in source.objects_at(2)
    )


def _add(states: StatesBuilder, dialogue: str, number: int | str, turn: SpanTurn) -> None:
    at = states.turn(dialogue, number)
    states.gold.cells(at, *split_span(turn.bspn))
    states.pred.cells(at, *split_span(turn.bspn_gen))


def _read(source: Source, states: StatesBuilder) -> None:
    for dialogue, turns in source.whole(dict[str, dict[str, SpanTurn]], "dialogue", "turn").items():
        for number, turn in turns.items():
            _add(states, dialogue, number, turn)


def _read_fnctod(source: Source, states: StatesBuilder) -> None:
    unreached = 0
    for dialogue, turns in source.whole(dict[str, list[FnctodTurn]], "dialogue", "turn").items():
        for number, turn in enumerate(turns):
            unreached += not turn.bspn_gen and turn.bspn_dict_gen is msgspec.UNSET
            _add(states, dialogue, number, turn)
    if unreached:
        states.note(
            f"{unreached:,} turns have no generated state and no bspn_dict_gen, and are scored as empty: "
            "has the run finished?"
        )


FORMAT: Final = Format(
    name="pptod",
    title="PPTOD (test_joint_accuracy_<x>.json)",
    example='{"mul9901": {"0": {"bspn": "[hotel] area north", "bspn_gen": "[hotel] area north"}}}',
    shape=dict[str, dict[str, SpanTurn]],
    sniff=partial(_sniff, kind=dict),
    reader=_read,
    omits=("not mentioned",),
)
FNCTOD: Final = Format(
    name="fnctod",
    title="FnCTOD (test…-<model>.json)",
    example='{"mul9901": [{"bspn": "[hotel] area north", "bspn_gen": "[hotel] area north"}]}',
    shape=dict[str, list[FnctodTurn]],
    sniff=partial(_sniff, kind=list),
    reader=_read_fnctod,
    omits=("not mentioned", "not present"),
)
