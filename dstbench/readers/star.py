"""STAR's and ASSIST's predictions, and STAR's preprocessed MultiWOZ (Ye et al. 2021, 2022).

Conventions: predictions, ``preds_full_<n>.json``, have one key ``<dialogue>_<turn>`` per turn; per slot the predicted
(``pred``) and the gold (``gt``) value, cumulative. Every slot is always there, so ``none`` says that a slot is not in
the state; ``do not care``, ``true`` and ``false`` are kept as written. STAR skips some turns and numbers the others
consecutively.

``preds_<n>.json``, which STAR writes during training, holds wrong slots only, and is refused.

The preprocessed MultiWOZ holds gold only, with the conventions of `tsv`.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from dstbench.readers import tsv
from dstbench.readers.format import Format, Source, StatesBuilder


class Cell(msgspec.Struct):
    """A slot's predicted and gold value."""

    pred: str
    gt: str


class StarLine(msgspec.Struct):
    """A line's first columns, as strings; one column per slot follows."""

    dialogue: str = msgspec.field(name=tsv.DIALOGUE)
    turn: str = msgspec.field(name=tsv.TURN)
    last: str = msgspec.field(name="Last Turn")
    system: str = msgspec.field(name=tsv.SYSTEM)
    user: str = msgspec.field(name=tsv.USER)


_SHAPE: Final = dict[str, dict[str, Cell | str]]
_TEXT: Final = "utter"  # the key of the utterance, beside those of slots
_OMITTED: Final = "none"


def _is_cell(cell: object) -> bool:
    return isinstance(cell, dict) and cell.keys() == {"pred", "gt"} and isinstance(cell["gt"], str)


def _sniff(source: Source) -> bool:
    """Whether slots hold ``pred`` and ``gt``."""
    turns = [turn for turn in source.values(1, dict, most=200) if isinstance(turn, dict)]
    return any(_is_cell(cell) for turn in turns for slot, cell in turn.items() if not slot.isdecimal())  # turns


def _turns(source: Source) -> Iterator[tuple[str, str, dict[str, Cell]]]:
    """(dialogue, turn, {slot: its values}) of every turn."""
    for key, content in source.whole(_SHAPE, "dialogue", "slot").items():
        dialogue, turn = source.split_key(key, "_")
        cells = {slot: cell for slot, cell in content.items() if isinstance(cell, Cell)}
        if odd := content.keys() - cells.keys() - {_TEXT}:
            what = "expected an object with pred and gt, found a string"
            raise source.misshapen(what, dialogue=dialogue, turn=turn, slot=min(odd))
        yield dialogue, turn, cells


def _read(source: Source, states: StatesBuilder) -> None:
    turns = [*_turns(source)]
    slots = turns[0][2].keys() if turns else {}
    are_wrong = all(cell.pred != cell.gt for *_, cells in turns for cell in cells.values())
    for dialogue, turn, cells in turns:
        if cells.keys() != slots or not slots or are_wrong:
            what = "not every slot is in every turn: these are wrong slots only, written during training"
            hint = "give the file that the evaluation writes (pred-evaluation/preds_full_N.json)"
            raise source.error(what, hint, dialogue=dialogue, turn=turn)
        at = states.turn(dialogue, turn)
        states.pred.flat(at, {slot: cell.pred for slot, cell in cells.items() if cell.pred != _OMITTED})
        states.gold.flat(at, {slot: cell.gt for slot, cell in cells.items() if cell.gt != _OMITTED})


FORMAT: Final = Format(
    name="star",
    title="STAR, ASSIST (preds_full_<n>.json)",
    example=(
        '{"MUL9901.json_0": {"hotel-area": {"pred": "north", "gt": "north"}, '
        '"hotel-name": {"pred": "none", "gt": "none"}}}'
    ),
    shape=_SHAPE,
    sniff=_sniff,
    reader=_read,
)
TSV: Final = Format(
    name="star-tsv",
    title="STAR's preprocessed MultiWOZ, gold",
    holds=("gold",),
    example="# Dialogue ID⇥Turn Index⇥Last Turn⇥System Response⇥User Utterance⇥attraction-area⇥…",
    shape=StarLine,
    sniff=tsv.sniff(StarLine),
    reader=tsv.reader(StarLine),
    said=tsv.said(StarLine),
    document=tsv.TsvDocument,
)
