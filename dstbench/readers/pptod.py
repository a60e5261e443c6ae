"""PPTOD's states (Su et al. 2022), and FnCTOD's in the same notation (Li et al. 2024).

Conventions: cumulative states as spans ``[hotel] day friday area north``. ``not mentioned`` (in FnCTOD's also ``not
present``) is how these files leave a slot out, and is no value; a literal ``none`` and ``dontcare`` are kept as
written. A value that contains a slot's name reads as two, as it does upstream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from dstbench.conventions.slots import canonical_slot
from dstbench.readers.source import Format, Source, values
from dstbench.readers.states import States
from dstbench.readers.text_states import LEAVES_OUT, Pairs, TextStates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_FNCTOD_LEAVES_OUT: Final = (*LEAVES_OUT, "not present")
_SPAN_SLOTS: Final = frozenset(
    [
        "area",
        "arrive",
        "day",
        "department",
        "departure",
        "destination",
        "food",
        "internet",
        "leave",
        "name",
        "parking",
        "people",
        "pricerange",
        "stars",
        "stay",
        "time",
        "type",
    ]
)


class SpanTurn(msgspec.Struct):
    """One turn of PPTOD (Su et al. 2022)."""

    bspn: str
    bspn_gen: str


class FnctodTurn(SpanTurn):
    """One turn of FnCTOD (Li et al. 2024); one that the run has not reached has no generated dictionary."""

    bspn_dict_gen: Any = msgspec.UNSET


def split_span(span: str) -> tuple[Pairs, int]:
    """Slots and values of ``[domain] slot value slot value [domain] …``, and the number of words that belong nowhere.

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


def _sniff_span(kind: type) -> Callable[[Source], bool]:
    def sniff(source: Source) -> bool:
        return (
            source.kind == "json"
            and any(isinstance(dialogue, kind) for dialogue in values(source.sample))
            and isinstance(source.sample, dict)
            and any(isinstance(turn, dict) and "bspn_gen" in turn for turn in values(source.sample, 2))
        )

    return sniff


def read(source: Source) -> States:
    """Read PPTOD's file: turns keyed by their number.

    Its authors' code loses the last turn of the last dialogue, which only a gold file shows.
    """
    dialogues: dict[str, dict[str, SpanTurn]] = source.convert(
        source.json, FORMAT.shape, ("dialogue", "turn"), hint=FORMAT.hint
    )
    return _add_spans(TextStates(source, FORMAT), {d: list(turns.items()) for d, turns in dialogues.items()})


def read_fnctod(source: Source) -> States:
    """Read FnCTOD's file: turns in order."""
    dialogues: dict[str, list[FnctodTurn]] = source.convert(
        source.json, FNCTOD.shape, ("dialogue", "turn"), hint=FNCTOD.hint
    )
    numbered = {d: [(str(n), turn) for n, turn in enumerate(turns)] for d, turns in dialogues.items()}
    open_turns = sum(not t.bspn_gen and t.bspn_dict_gen is msgspec.UNSET for turns in dialogues.values() for t in turns)
    texts = TextStates(source, FNCTOD, _FNCTOD_LEAVES_OUT)
    if open_turns:
        texts.states.note(
            f"{open_turns:,} turns have no generated state and no bspn_dict_gen, and are scored as empty: "
            "has the run finished?"
        )
    return _add_spans(texts, numbered)


def _add_spans(texts: TextStates, dialogues: Mapping[str, Sequence[tuple[str, SpanTurn]]]) -> States:
    for dialogue, turns in dialogues.items():
        for number, turn in turns:
            at = texts.states.turn(dialogue, number)
            texts.pairs(at, texts.states.gold, *split_span(turn.bspn))
            texts.pairs(at, texts.states.pred, *split_span(turn.bspn_gen))
    return texts.build()


FORMAT: Final = Format(
    name="pptod",
    title="PPTOD (test_joint_accuracy_<x>.json)",
    holds=("gold", "pred"),
    example='{"mul9901": {"0": {"bspn": "[hotel] area north", "bspn_gen": "[hotel] area north"}}}',
    shape=dict[str, dict[str, SpanTurn]],
    sniff=_sniff_span(dict),
    read=read,
)
FNCTOD: Final = Format(
    name="fnctod",
    title="FnCTOD (test…-<model>.json)",
    holds=("gold", "pred"),
    example='{"mul9901": [{"bspn": "[hotel] area north", "bspn_gen": "[hotel] area north"}]}',
    shape=dict[str, list[FnctodTurn]],
    sniff=_sniff_span(list),
    read=read_fnctod,
)
