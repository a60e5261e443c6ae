"""Dumps of models that predict a value per slot and turn but write none, such as SAVN (Wang et al. 2020).

Conventions: ours, as there is no file of theirs (README, *Models that write nothing*): the slots once, and per
dialogue and turn one value for each, in their order, cumulative. Every slot is always there, so ``none`` leaves one
out, and such a value is no value; ``dontcare`` is kept as written. No gold inside.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dstbench.readers.builder import StatesBuilder
from dstbench.readers.source import Format, Source
from dstbench.readers.states import States, listed


class Dump(msgspec.Struct):
    """The whole file."""

    slots: list[str]
    predictions: dict[str, dict[str, list[str]]]


_LEAVES_OUT: Final = ("none",)


def sniff(source: Source) -> bool:
    """Whether there are ``slots`` and ``predictions`` at the top."""
    return (
        source.kind == "json" and isinstance(source.sample, dict) and source.sample.keys() >= {"slots", "predictions"}
    )


def read(source: Source) -> States:
    """Read the dump."""
    dump: Dump = source.convert(source.json, Dump, (None, "dialogue", "turn"), hint=FORMAT.hint)
    states = StatesBuilder(source.name, FORMAT.name)
    if len(set(dump.slots)) < len(dump.slots):
        raise source.error("a slot is listed twice in slots", FORMAT.hint)
    for dialogue, turns in dump.predictions.items():
        for turn, found in turns.items():
            if len(found) != len(dump.slots):
                what = f"{len(found)} values for {len(dump.slots)} slots"
                raise source.error(what, FORMAT.hint, dialogue=dialogue, turn=turn)
            at = states.turn(dialogue, turn)
            states.pred.flat(at, listed(dict(zip(dump.slots, found, strict=True)), _LEAVES_OUT))
    return states.build()


FORMAT: Final = Format(
    name="savn",
    title="dump of SAVN (README says how); needs --gold",
    holds=("pred",),
    example='{"slots": ["hotel-area", "hotel-name"], "predictions": {"MUL9901.json": {"0": ["north", "none"]}}}',
    shape=Dump,
    sniff=sniff,
    read=read,
)
