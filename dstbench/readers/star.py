"""STAR's and ASSIST's full predictions, ``preds_full_<n>.json`` (Ye et al. 2021, 2022).

Conventions: one key ``<dialogue>_<turn>`` per turn; per slot the predicted (``pred``) and the gold (``gt``) value,
cumulative. Every slot is always there, so ``none`` is how these files leave one out, and such a value is no value;
``do not care``, ``true`` and ``false`` are kept as written. STAR counts turns anew where it skipped some.

What STAR writes while it trains, ``preds_<n>.json``, holds wrong slots only and is refused: its other slots are in no
file.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dstbench.readers.source import Format, Source, values
from dstbench.states import States, StatesBuilder, listed


class Cell(msgspec.Struct):
    """A slot's predicted and gold value."""

    pred: str
    gt: str


#: ``utter``, the text, stands among the slots.
SHAPE: Final = dict[str, dict[str, Cell | str]]
_LEAVES_OUT: Final = ("none",)


def sniff(source: Source) -> bool:
    """Whether slots of turns hold ``pred`` and ``gt``."""
    return source.kind == "json" and any(
        isinstance(cell, dict) and cell.keys() == {"pred", "gt"} for cell in values(source.json, 2, most=200)
    )


def read(source: Source) -> States:
    """Read the file."""
    turns: dict[str, dict[str, Cell | str]] = source.convert(source.json, SHAPE, ("dialogue", "slot"), hint=FORMAT.hint)
    states = StatesBuilder(source.name, FORMAT.name)
    slots: frozenset[str] = frozenset()
    for key, content in turns.items():
        dialogue, turn = source.dialogue_and_turn(key, "_")
        cells = {slot: cell for slot, cell in content.items() if isinstance(cell, Cell)}
        slots = slots or frozenset(cells)
        if cells.keys() != slots or not slots:
            raise source.error(
                "not every slot is in every turn: these are wrong slots only, written while training",
                "give the file that the evaluation writes (pred-evaluation/preds_full_N.json)",
                dialogue=dialogue,
                turn=turn,
            )
        at = states.turn(dialogue, turn)
        states.pred.flat(at, listed({slot: cell.pred for slot, cell in cells.items()}, _LEAVES_OUT))
        states.gold.flat(at, listed({slot: cell.gt for slot, cell in cells.items()}, _LEAVES_OUT))
    return states.build()


FORMAT: Final = Format(
    name="star",
    title="STAR, ASSIST (preds_full_<n>.json)",
    holds=("gold", "pred"),
    example=(
        '{"MUL9901.json_0": {"hotel-area": {"pred": "north", "gt": "north"}, '
        '"hotel-name": {"pred": "none", "gt": "none"}}}'
    ),
    shape=SHAPE,
    sniff=sniff,
    read=read,
)
