"""States that models write as text: SimpleTOD, ParlAI (DST-BART) and CheckDST, PPTOD and FnCTOD.

Conventions: cumulative states, as triples ``hotel book day friday`` or as spans ``[hotel] day friday area north``.
``not mentioned`` (in FnCTOD's also ``not present``) is how these files leave a slot out, and is no value; a literal
``none`` and ``dontcare`` are kept as written. Text that is no slot and value (generated text may be anything) is left
out, counted and reported. A value that contains a separator (a comma in ParlAI's, a slot's name in a span) reads as
two, as it does upstream.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dstbench.conventions.slots import KNOWN_SLOTS, canonical_slot
from dstbench.readers.builder import StatesBuilder
from dstbench.readers.source import Format, Source, values
from dstbench.readers.states import States

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_LEAVES_OUT: Final = ("not mentioned",)
_FNCTOD_LEAVES_OUT: Final = (*_LEAVES_OUT, "not present")
Pairs = list[tuple[str, str]]


class SimpletodDialogue(msgspec.Struct):
    """One dialogue of SimpleTOD (Hosseini-Asl et al. 2020): a list of triples per turn."""

    target_turn_belief: list[list[str]]
    generated_turn_belief: list[list[str]]


class ParlaiTeacher(msgspec.Struct):
    """What ParlAI's teacher says: the turn and its gold, whose key depends on the split."""

    dial_id: str
    turn_num: int
    eval_labels: list[str] | msgspec.UnsetType = msgspec.UNSET
    labels: list[str] | msgspec.UnsetType = msgspec.UNSET


class ParlaiModel(msgspec.Struct):
    """What the model answers: the predicted state."""

    text: str


class ParlaiLine(msgspec.Struct):
    """One line of a ParlAI world log: an episode of one exchange."""

    dialog: list[tuple[ParlaiTeacher, ParlaiModel]]


class CheckdstLine(msgspec.Struct):
    """One line of CheckDST's predictions (Cho et al. 2022)."""

    dial_id: str
    gold: str
    pred: str


class SpanTurn(msgspec.Struct):
    """One turn of PPTOD (Su et al. 2022)."""

    bspn: str
    bspn_gen: str


class FnctodTurn(SpanTurn):
    """One turn of FnCTOD (Li et al. 2024); one that the run has not reached has no generated dictionary."""

    bspn_dict_gen: Any = msgspec.UNSET


@lru_cache(maxsize=65_536)
def split_triple(triple: str) -> tuple[str, str] | None:
    """Slot and value of ``domain slot value``; the slot is one word, or two that make a known one.

    >>> split_triple("hotel book day friday"), split_triple("taxi leaveat 09:15"), split_triple("hotel")
    (('hotel-book day', 'friday'), ('taxi-leaveat', '09:15'), None)
    """
    for words in (2, 1):
        parts = triple.strip().split(" ", words + 1)
        slot = canonical_slot(f"{parts[0]}-{' '.join(parts[1 : words + 1])}")
        if len(parts) == words + 2 and (slot in KNOWN_SLOTS or words == 1):
            return slot, parts[-1]
    return None


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


class _Texts:
    """Adds text states to a builder, and keeps count of what was no slot and value."""

    def __init__(self, source: Source, form: Format) -> None:
        self.states = StatesBuilder(source.name, form.name)
        self._leaves_out = _FNCTOD_LEAVES_OUT if form is FNCTOD else _LEAVES_OUT
        self._lost = 0

    def triples(self, at: int, side: Any, triples: Iterable[str]) -> None:
        found = [(triple, split_triple(triple)) for triple in triples if triple.strip()]
        self._lost += sum(pair is None for _, pair in found)
        side.cells(at, [pair for _, pair in found if pair is not None and pair[1] not in self._leaves_out])

    def span(self, at: int, side: Any, span: str) -> None:
        pairs, lost = split_span(span)
        self._lost += lost
        side.cells(at, [pair for pair in pairs if pair[1] not in self._leaves_out])

    def build(self) -> States:
        if self._lost:
            self.states.note(f"{self._lost:,} pieces of text that are no slot and value, left out")
        return self.states.build()


def lines(source: Source, form: Format, shape: Any = None) -> Iterable[tuple[str, Any]]:
    """(``line N``, what stands there) of every line; `shape` is its type, if it is not the format's."""
    if source.kind not in ("jsonl", "json"):
        raise source.error("not JSON Lines", form.hint)
    for place, item in source.json_lines() if source.kind == "jsonl" else [("line 1", source.json)]:
        yield place, source.convert(item, shape or form.shape, (), place=f"{place}: ", hint=form.hint)


def sniff_lines(source: Source, *keys: str) -> bool:
    """Whether the first line is an object that has the keys."""
    if source.kind not in ("jsonl", "json"):
        return False
    item = next(source.json_lines())[1] if source.kind == "jsonl" else source.sample
    return isinstance(item, dict) and item.keys() >= {*keys}


def sniff_simpletod(source: Source) -> bool:
    """Whether dialogues hold ``generated_turn_belief``."""
    return source.kind == "json" and any(
        isinstance(dialogue, dict) and "generated_turn_belief" in dialogue for dialogue in values(source.sample)
    )


def read_simpletod(source: Source) -> States:
    """Read SimpleTOD's file; a run that was fed gold states, as its name says, is reported."""
    dialogues: dict[str, SimpletodDialogue] = source.convert(
        source.json, SIMPLETOD.shape, ("dialogue", None, "turn"), hint=SIMPLETOD.hint
    )
    texts = _Texts(source, SIMPLETOD)
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


def sniff_parlai(source: Source) -> bool:
    """Whether lines hold ``dialog``."""
    return sniff_lines(source, "dialog")


def read_parlai(source: Source) -> States:
    """Read a ParlAI world log of the task ``multiwoz_dst``."""
    texts = _Texts(source, PARLAI)
    for place, line in lines(source, PARLAI):
        for teacher, model in line.dialog:
            gold = teacher.labels if teacher.eval_labels is msgspec.UNSET else teacher.eval_labels
            if gold is msgspec.UNSET or len(gold) != 1:
                found = "no" if gold is msgspec.UNSET else len(gold)
                raise source.error(
                    f"{place}: {found} gold states where one is meant (eval_labels, or labels)",
                    PARLAI.hint,
                    dialogue=teacher.dial_id,
                    turn=teacher.turn_num,
                )
            at = texts.states.turn(teacher.dial_id, teacher.turn_num)
            texts.triples(at, texts.states.gold, _unwrap(gold[0]))
            texts.triples(at, texts.states.pred, _unwrap(model.text))
    if skipped := texts.states.skipped():
        texts.states.note(
            f"{skipped:,} turns between others are not in the file: is it the sample of 3,000 validation turns that "
            "ParlAI evaluates unless told otherwise?"
        )
    return texts.build()


def _unwrap(state: str) -> list[str]:
    """The triples of a comma-separated state, without ``<bs>`` and ``</bs>`` around it."""
    return state.strip().removeprefix("<bs>").removesuffix("</bs>").split(",")


def sniff_checkdst(source: Source) -> bool:
    """Whether lines hold ``dial_id``, ``gold`` and ``pred``."""
    return sniff_lines(source, "dial_id", "gold", "pred")


def read_checkdst(source: Source) -> States:
    """Read CheckDST's predictions; the turn stands after the last hyphen of ``dial_id``."""
    texts = _Texts(source, CHECKDST)
    for place, line in lines(source, CHECKDST):
        at = texts.states.turn(*source.dialogue_and_turn(line.dial_id, "-", f"{place}: the dial_id"))
        texts.triples(at, texts.states.gold, _unwrap(line.gold))
        texts.triples(at, texts.states.pred, _unwrap(line.pred))
    return texts.build()


def _sniff_span(kind: type) -> Callable[[Source], bool]:
    def sniff(source: Source) -> bool:
        return (
            source.kind == "json"
            and any(isinstance(dialogue, kind) for dialogue in values(source.sample))
            and isinstance(source.sample, dict)
            and any(isinstance(turn, dict) and "bspn_gen" in turn for turn in values(source.sample, 2))
        )

    return sniff


def read_pptod(source: Source) -> States:
    """Read PPTOD's file: turns keyed by their number.

    Its authors' code loses the last turn of the last dialogue, which only a gold file shows.
    """
    dialogues: dict[str, dict[str, SpanTurn]] = source.convert(
        source.json, PPTOD.shape, ("dialogue", "turn"), hint=PPTOD.hint
    )
    return _read_spans(source, PPTOD, {d: list(turns.items()) for d, turns in dialogues.items()})


def read_fnctod(source: Source) -> States:
    """Read FnCTOD's file: turns in order."""
    dialogues: dict[str, list[FnctodTurn]] = source.convert(
        source.json, FNCTOD.shape, ("dialogue", "turn"), hint=FNCTOD.hint
    )
    numbered = {d: [(str(n), turn) for n, turn in enumerate(turns)] for d, turns in dialogues.items()}
    open_turns = sum(not t.bspn_gen and t.bspn_dict_gen is msgspec.UNSET for turns in dialogues.values() for t in turns)
    notes = []
    if open_turns:
        notes.append(
            f"{open_turns:,} turns have no generated state and no bspn_dict_gen, and are scored as empty: "
            "has the run finished?"
        )
    return _read_spans(source, FNCTOD, numbered, notes)


def _read_spans(
    source: Source, form: Format, dialogues: Mapping[str, Sequence[tuple[str, SpanTurn]]], notes: Iterable[str] = ()
) -> States:
    texts = _Texts(source, form)
    for note in notes:
        texts.states.note(note)
    for dialogue, turns in dialogues.items():
        for number, turn in turns:
            at = texts.states.turn(dialogue, number)
            texts.span(at, texts.states.gold, turn.bspn)
            texts.span(at, texts.states.pred, turn.bspn_gen)
    return texts.build()


SIMPLETOD: Final = Format(
    name="simpletod",
    title="SimpleTOD (<exp>_test_context[history=full_history]_nocarry.json)",
    holds=("gold", "pred"),
    example=(
        '{"MUL9901.json": {"target_turn_belief": [["hotel area north"]], '
        '"generated_turn_belief": [["hotel area north", "hotel name not mentioned"]]}}'
    ),
    shape=dict[str, SimpletodDialogue],
    sniff=sniff_simpletod,
    read=read_simpletod,
)
PARLAI: Final = Format(
    name="parlai",
    title="ParlAI world logs of DST-BART (Qian et al. 2021)",
    holds=("gold", "pred"),
    example=(
        '{"dialog": [[{"dial_id": "mul9901.json", "turn_num": 0, "eval_labels": ["hotel area north,"]}, '
        '{"text": "hotel area north,"}]]}'
    ),
    shape=ParlaiLine,
    sniff=sniff_parlai,
    read=read_parlai,
)
CHECKDST: Final = Format(
    name="checkdst",
    title="CheckDST predictions",
    holds=("gold", "pred"),
    example='{"dial_id": "mul9901-0", "gold": "hotel area north,", "pred": "hotel area north,"}',
    shape=CheckdstLine,
    sniff=sniff_checkdst,
    read=read_checkdst,
)
PPTOD: Final = Format(
    name="pptod",
    title="PPTOD (test_joint_accuracy_<x>.json)",
    holds=("gold", "pred"),
    example='{"mul9901": {"0": {"bspn": "[hotel] area north", "bspn_gen": "[hotel] area north"}}}',
    shape=dict[str, dict[str, SpanTurn]],
    sniff=_sniff_span(dict),
    read=read_pptod,
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
