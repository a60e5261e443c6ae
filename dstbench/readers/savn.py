"""Dumps of models that predict a value per slot and turn but write no file, such as SAVN (Wang et al. 2020).

Conventions: as for the dump in `dstbench help own-data`: the slots once, and per dialogue and turn a value for each
slot, in the same order, cumulative. Every slot is always there, so ``none`` says that one is not in the state;
``dontcare`` is kept as written. No gold inside.
"""

from typing import Final

import msgspec

from dstbench.readers.format import Format, Source, StatesBuilder


class Dump(msgspec.Struct):
    """The whole file."""

    slots: list[str]
    predictions: dict[str, dict[str, list[str]]]


def _sniff(source: Source) -> bool:
    document = source.sample if source.kind == "json" else None
    return isinstance(document, dict) and document.keys() >= {"slots", "predictions"}


def _read(source: Source, states: StatesBuilder) -> None:
    dump = source.whole(Dump, None, "dialogue", "turn")
    if len(set(dump.slots)) < len(dump.slots):
        raise source.misshapen("a slot is listed twice in slots")
    for dialogue, turns in dump.predictions.items():
        for turn, state in turns.items():
            if len(state) != len(dump.slots):
                what = f"{len(state)} values for {len(dump.slots)} slots"
                raise source.misshapen(what, dialogue=dialogue, turn=turn)
            states.pred.flat(states.turn(dialogue, turn), dict(zip(dump.slots, state, strict=True)))


FORMAT: Final = Format(
    name="savn",
    title="dump of SAVN (see `dstbench help own-data`); needs --gold",
    holds=("pred",),
    example='{"slots": ["hotel-area", "hotel-name"], "predictions": {"MUL9901.json": {"0": ["north", "none"]}}}',
    shape=Dump,
    sniff=_sniff,
    reader=_read,
    omits=("none",),
)
