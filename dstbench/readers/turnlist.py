"""Predictions as one JSON list of turns: KAGE-GPT2, ConvLab-3, IC-DST and RefPyDST.

Conventions: each item is a turn with flat or nested cumulative states; items may come in any order. Where every slot
is always there, KAGE's ``none`` and ConvLab's empty string leave one out, and such a value is no value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec

from dstbench.builder import StatesBuilder
from dstbench.readers.gtpr import NestedState
from dstbench.readers.source import Format, Source
from dstbench.states import States, listed

if TYPE_CHECKING:
    from collections.abc import Iterator


class KageTurn(msgspec.Struct):
    """One turn of KAGE-GPT2 (Lin et al. 2021)."""

    example_id: str
    bs_pred_dict: dict[str, str]
    bs_ref_dict: dict[str, str]


class ConvlabPrediction(msgspec.Struct):
    """What ConvLab-3 predicts for a turn."""

    state: NestedState


class ConvlabTurn(msgspec.Struct):
    """One user turn of ConvLab-3 (Zhu et al. 2023); `utt_idx` counts system turns too."""

    dialogue_id: str
    utt_idx: int
    state: NestedState
    predictions: ConvlabPrediction


class IcdstTurn(msgspec.Struct):
    """One turn of IC-DST (Hu et al. 2022) or RefPyDST (King & Flanigan 2023)."""

    ID: str
    turn_id: int
    slot_values: dict[str, str]
    pred: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


def _sniff(source: Source, *keys: str) -> bool:
    return any(item.keys() >= {*keys} for item in source.first_objects)


def _turns(source: Source, form: Format, dialogue: str, turn: str | None) -> Iterator[Any]:
    """The items, checked; `dialogue` and `turn` are the keys that name them in messages."""
    if source.kind != "json" or not isinstance(source.json, list):
        raise source.error("not a JSON list of turns", form.hint)
    for number, item in enumerate(source.json):
        known = {"dialogue": item.get(dialogue), "turn": turn and item.get(turn)} if isinstance(item, dict) else {}
        levels = (None, "slot", "slot") if form is CONVLAB else (None, "slot")
        yield source.convert(item, get_args(form.shape)[0], levels, place=f"item {number}: ", hint=form.hint, **known)


def sniff_kage(source: Source) -> bool:
    """Whether turns hold ``bs_pred_dict``."""
    return _sniff(source, "bs_pred_dict")


def read_kage(source: Source) -> States:
    """Read KAGE's ``test_results.json``; the turn stands after the last hyphen of ``example_id``."""
    states = StatesBuilder(source.name, KAGE.name)
    for turn in _turns(source, KAGE, "example_id", None):
        at = states.turn(*source.dialogue_and_turn(turn.example_id, "-", "the example_id"))
        states.pred.flat(at, listed(turn.bs_pred_dict, ("none",)))
        states.gold.flat(at, listed(turn.bs_ref_dict, ("none",)))
    if skipped := states.skipped():
        states.note(
            f"{skipped:,} turns between others are not in the file; KAGE leaves out those that it could not parse and "
            "counts them as wrong: --gold FILE --missing wrong does too"
        )
    return states.build()


def sniff_convlab(source: Source) -> bool:
    """Whether turns hold ``predictions`` beside ``state``."""
    return _sniff(source, "predictions", "state", "utt_idx")


def read_convlab(source: Source) -> States:
    """Read ConvLab-3's ``predictions.json``."""
    states = StatesBuilder(source.name, CONVLAB.name)
    for turn in _turns(source, CONVLAB, "dialogue_id", "utt_idx"):
        at = states.turn(turn.dialogue_id, turn.utt_idx // 2)
        for side, state in ((states.pred, turn.predictions.state), (states.gold, turn.state)):
            side.nested(at, {domain: listed(slots, ("",)) for domain, slots in state.items()})
    return states.build()


def sniff_icdst(source: Source) -> bool:
    """Whether turns hold ``ID``, ``turn_id`` and ``slot_values``."""
    return _sniff(source, "ID", "turn_id", "slot_values")


def read_icdst(source: Source) -> States:
    """Read ``running_log.json``, or the gold file of the same form that has no ``pred``.

    The log's gold is reported as doubtful: where gold was ``a|b`` and the prediction one of them, the authors' scorer
    has put the prediction in its place.
    """
    states = StatesBuilder(source.name, ICDST.name)
    for turn in _turns(source, ICDST, "ID", "turn_id"):
        at = states.turn(turn.ID, turn.turn_id)
        states.gold.flat(at, turn.slot_values)
        if turn.pred is not msgspec.UNSET:
            states.pred.flat(at, turn.pred)
    if states.pred.present:
        states.note(
            "its gold may have been altered in favour of the predictions where it had alternatives (a|b); "
            "--gold FILE gives it anew, and shows the turns that an interrupted run has not reached"
        )
    return states.build()


KAGE: Final = Format(
    name="kage",
    title="KAGE-GPT2 (test_results.json)",
    holds=("gold", "pred"),
    example=(
        '[{"example_id": "MUL9901-0", "bs_pred_dict": {"hotel area": "north"}, "bs_ref_dict": {"hotel area": "north"}}]'
    ),
    shape=list[KageTurn],
    sniff=sniff_kage,
    read=read_kage,
)
CONVLAB: Final = Format(
    name="convlab",
    title="ConvLab-3 (predictions.json)",
    holds=("gold", "pred"),
    example=(
        '[{"dialogue_id": "MUL9901.json", "utt_idx": 0, "state": {"hotel": {"area": "north", "name": ""}}, '
        '"predictions": {"state": {"hotel": {"area": "north"}}}}]'
    ),
    shape=list[ConvlabTurn],
    sniff=sniff_convlab,
    read=read_convlab,
)
ICDST: Final = Format(
    name="icdst",
    title="IC-DST, RefPyDST (running_log.json; gold mw2x_100p_test.json)",
    holds=("gold", "pred"),
    example='[{"ID": "MUL9901.json", "turn_id": 0, "slot_values": {"hotel-area": "north"}, "pred": {}}]',
    shape=list[IcdstTurn],
    sniff=sniff_icdst,
    read=read_icdst,
)
