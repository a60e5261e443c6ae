"""STAR's and ASSIST's predictions, of all or of wrong slots, and STAR's preprocessed MultiWOZ (Ye et al. 2021, 2022).

Conventions: predictions, ``preds_full_<n>.json``, have one key ``<dialogue>_<turn>`` per turn; per slot the predicted
(``pred``) and the gold (``gt``) value, cumulative. Every slot is always there, so ``none`` says that a slot is not in
the state; ``do not care``, ``true`` and ``false`` are kept as written. STAR skips some turns and numbers the others
consecutively.

``preds_<n>.json``, which STAR writes during training, holds wrong slots only: the other slots of the prediction are
those of gold. The gold values in it must agree with the gold file; if they do not, the run had another gold.

The preprocessed MultiWOZ holds gold only, with the conventions of `tsv`.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

import msgspec
import polars as pl

from dstbench.readers import tsv
from dstbench.readers.format import Format, Source, States, StatesBuilder
from dstbench.readers.states import Side, error_in


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


def _sniff(source: Source, *, wrong_only: bool) -> bool:
    """Whether slots hold ``pred`` and ``gt``, and turns have all slots, or (`wrong_only`) only those that are wrong."""
    turns = [turn for turn in source.values(1, dict, most=200) if isinstance(turn, dict)]
    cells = (cell for turn in turns for slot, cell in turn.items() if not slot.isdecimal())  # numbers are turns
    return any(map(_is_cell, cells)) and _is_partial(source) == wrong_only


def _is_partial(source: Source) -> bool:
    """Whether turns lack slots, or every slot that is there is wrong."""
    turns: Any = source.typed(_SHAPE)
    if turns is None:
        items = ((key, turn.items()) for key, turn in source.json.items() if isinstance(turn, dict))
        turns = {key: {slot: Cell(**cell) if _is_cell(cell) else cell for slot, cell in turn} for key, turn in items}
    if len({names - {_TEXT} for names in set(map(frozenset, turns.values()))}) > 1:
        return True
    return all(cell.pred != cell.gt for turn in turns.values() for cell in turn.values() if isinstance(cell, Cell))


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
    slots: frozenset[str] = frozenset()
    for dialogue, turn, cells in _turns(source):
        slots = slots or frozenset(cells)
        if cells.keys() != slots or not slots:
            what = "not every slot is in every turn: these are wrong slots only, written during training"
            hint = "--from star-partial, or the file that the evaluation writes (pred-evaluation/preds_full_N.json)"
            raise source.error(what, hint, dialogue=dialogue, turn=turn)
        at = states.turn(dialogue, turn)
        states.pred.flat(at, {slot: cell.pred for slot, cell in cells.items() if cell.pred != _OMITTED})
        states.gold.flat(at, {slot: cell.gt for slot, cell in cells.items() if cell.gt != _OMITTED})


def _read_partial(source: Source, states: StatesBuilder) -> None:
    """Read a file of wrong slots; `_fill` adds the other slots from gold."""
    for dialogue, turn, cells in _turns(source):
        at = states.turn(dialogue, turn)
        states.pred.flat(at, {slot: cell.pred for slot, cell in cells.items()})
        states.gold.flat(at, {slot: cell.gt for slot, cell in cells.items()})


def _fill(wrong: States, gold: States) -> States:
    """Predictions: the listed wrong values, and gold's values of all other slots."""
    if wrong.pred is None or wrong.gold is None or gold.gold is None:
        raise error_in(wrong, "no turn in the file")
    turns = wrong.pred.turns
    both = gold.gold.turns.with_row_index("row").join(turns.with_row_index("at"), on=["dialogue", "turn"])
    right = gold.gold.cells.join(both.select("row", "at"), left_on="at", right_on="row").select(
        "slot", "value", at="at_right"
    )
    other = (
        wrong.gold.cells.join(both.select("at"), on="at", how="semi")
        .join(right, on=["at", "slot"], how="left", suffix="_gold")
        .cast({"slot": pl.String, "value": pl.String, "value_gold": pl.String})
        .with_columns(pl.col("value_gold").fill_null(_OMITTED))
        .filter(pl.col("value") != pl.col("value_gold"))
    )
    if other.height:
        at, slot, value, expected = other.sort("at", "slot").select("at", "slot", "value", "value_gold").row(0)
        dialogue, turn = turns.row(at)
        what = f"{other.height:,} gold values differ from {gold.source}, first {value!r} instead of {expected!r}"
        hint = "give the gold of that run: STAR's own test.tsv"
        raise error_in(wrong, what, hint, dialogue=dialogue, turn=turn, slot=slot)
    cells = right.select("at", "slot", "value").join(wrong.pred.cells, on=["at", "slot"], how="anti")
    listed_wrong = wrong.pred.cells.filter(pl.col("value").cast(pl.String) != _OMITTED)
    return replace(wrong, gold=None, pred=Side(turns, pl.concat([cells, listed_wrong])))


FORMAT: Final = Format(
    name="star",
    title="STAR, ASSIST (preds_full_<n>.json)",
    example=(
        '{"MUL9901.json_0": {"hotel-area": {"pred": "north", "gt": "north"}, '
        '"hotel-name": {"pred": "none", "gt": "none"}}}'
    ),
    shape=_SHAPE,
    sniff=partial(_sniff, wrong_only=False),
    reader=_read,
)
PARTIAL: Final = Format(
    name="star-partial",
    title="STAR during training (preds_<n>.json), wrong slots only; needs --gold",
    holds=("pred",),
    example='{"MUL9901.json_0": {}, "MUL9901.json_1": {"hotel-area": {"pred": "north", "gt": "east"}}}',
    shape=_SHAPE,
    sniff=partial(_sniff, wrong_only=True),
    reader=_read_partial,
    finish=lambda wrong: replace(wrong, gold=None, pred=None, complete=partial(_fill, wrong)),
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
