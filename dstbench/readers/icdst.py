"""Predictions as one JSON list of turns: KAGE-GPT2, ConvLab-3, IC-DST and RefPyDST.

Conventions: each item is a turn with flat or nested cumulative states; items may come in any order. Where every slot
is always there, KAGE's ``none`` and ConvLab's empty string leave one out, and such a value is no value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec
import polars as pl

from dstbench.readers.builder import StatesBuilder, skipped
from dstbench.readers.columns import Columns, Objects, states_of
from dstbench.readers.fga_gca import NestedState
from dstbench.readers.source import Format, Source
from dstbench.readers.states import States, listed
from dstbench.readers.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator


_ALTERED: Final = (
    "its gold may have been altered in favour of the predictions where it had alternatives (a|b); "
    "--gold FILE gives it anew, and shows the turns that an interrupted run has not reached"
)


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


def _kage_columns(found: Tokens) -> Columns | None:
    turns = Objects.of(found)
    named = None if turns is None else turns.strings("example_id")
    if turns is None or named is None:
        return None
    parts = named.words.str.extract_groups("(?s)^(?<dialogue>.+)-(?<turn>[0-9]+)$").struct.unnest()
    gold, pred = turns.flat("bs_ref_dict"), turns.flat("bs_pred_dict")
    if gold is None or pred is None or parts["turn"].null_count():
        return None
    if len(gold.present) != turns.height or len(pred.present) != turns.height:
        return None
    number = parts["turn"].gather(pl.Series(named.code))
    return Columns(named.renamed(parts["dialogue"].to_list()), number, gold.without("none"), pred.without("none"))


def _convlab_columns(found: Tokens) -> Columns | None:
    turns = Objects.of(found)
    if turns is None:
        return None
    dialogue, utterance = turns.strings("dialogue_id"), turns.integers("utt_idx")
    gold, pred = turns.nested("state"), turns.nested("state", under="predictions")
    if dialogue is None or utterance is None or gold is None or pred is None:
        return None
    if len(gold.present) != turns.height or len(pred.present) != turns.height:
        return None
    return Columns(dialogue, utterance // 2, gold.without(""), pred.without(""))


def _icdst_columns(found: Tokens) -> Columns | None:
    turns = Objects.of(found)
    if turns is None:
        return None
    dialogue, turn = turns.strings("ID"), turns.integers("turn_id")
    gold, pred = turns.flat("slot_values"), turns.flat("pred")
    if dialogue is None or turn is None or gold is None or pred is None or len(gold.present) != turns.height:
        return None
    return Columns(dialogue, turn, gold, pred if len(pred.present) else None)


def sniff_kage(source: Source) -> bool:
    """Whether turns hold ``bs_pred_dict``."""
    return _sniff(source, "bs_pred_dict")


def read_kage(source: Source) -> States:
    """Read KAGE's ``test_results.json``; the turn stands after the last hyphen of ``example_id``."""
    if (quick := states_of(source, KAGE.name, _kage_columns)) is not None:
        lost = _unparsed(skipped(quick.gold.turns)) if quick.gold else []
        return replace(quick, notes=(*(f"{source.name}: {note}" for note in lost), *quick.notes))
    states = StatesBuilder(source.name, KAGE.name)
    for turn in _turns(source, KAGE, "example_id", None):
        at = states.turn(*source.dialogue_and_turn(turn.example_id, "-", "the example_id"))
        states.pred.flat(at, listed(turn.bs_pred_dict, ("none",)))
        states.gold.flat(at, listed(turn.bs_ref_dict, ("none",)))
    for note in _unparsed(states.skipped()):
        states.note(note)
    return states.build()


def _unparsed(turns: int) -> list[str]:
    """What is to be said of turns that are not there."""
    if not turns:
        return []
    return [
        f"{turns:,} turns between others are not in the file; KAGE leaves out those that it could not parse and "
        "counts them as wrong: --gold FILE --missing wrong does too"
    ]


def sniff_convlab(source: Source) -> bool:
    """Whether turns hold ``predictions`` beside ``state``."""
    return _sniff(source, "predictions", "state", "utt_idx")


def read_convlab(source: Source) -> States:
    """Read ConvLab-3's ``predictions.json``."""
    if (quick := states_of(source, CONVLAB.name, _convlab_columns)) is not None:
        return quick
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
    if (quick := states_of(source, ICDST.name, _icdst_columns)) is not None:
        return replace(quick, notes=(f"{source.name}: {_ALTERED}", *quick.notes)) if quick.pred else quick
    states = StatesBuilder(source.name, ICDST.name)
    for turn in _turns(source, ICDST, "ID", "turn_id"):
        at = states.turn(turn.ID, turn.turn_id)
        states.gold.flat(at, turn.slot_values)
        if turn.pred is not msgspec.UNSET:
            states.pred.flat(at, turn.pred)
    if states.pred.present:
        states.note(_ALTERED)
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
