"""STAR's and ASSIST's predictions, whole and wrong slots only, and STAR's preprocessed MultiWOZ (Ye et al. 2021, 2022).

Conventions: predictions, ``preds_full_<n>.json``, have one key ``<dialogue>_<turn>`` per turn; per slot the predicted
(``pred``) and the gold (``gt``) value, cumulative. Every slot is always there, so ``none`` is how these files leave one
out, and such a value is no value; ``do not care``, ``true`` and ``false`` are kept as written. STAR counts turns anew
where it skipped some.

What STAR writes while it trains, ``preds_<n>.json``, holds wrong slots only: the prediction is gold with these in
place of its own. The gold values that it lists must be those of the gold file, else it is not the gold of that run.

The preprocessed MultiWOZ is gold only, with the conventions of `tsv`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
import polars as pl

from dstbench.errors import DstbenchError
from dstbench.readers import tsv
from dstbench.readers.builder import StatesBuilder
from dstbench.readers.source import Format, Source, values
from dstbench.readers.states import Side, States

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dstbench.readers.source import Said


class Cell(msgspec.Struct):
    """A slot's predicted and gold value."""

    pred: str
    gt: str


class StarLine(msgspec.Struct):
    """A line's first columns, as strings; one column per slot follows."""

    dialogue: str = msgspec.field(name=tsv.KEYS[0])
    turn: str = msgspec.field(name=tsv.KEYS[1])
    last: str = msgspec.field(name="Last Turn")
    system: str = msgspec.field(name="System Response")
    user: str = msgspec.field(name="User Utterance")


#: The text stands among the slots.
SHAPE: Final = dict[str, dict[str, Cell | str]]
_TEXT: Final = "utter"
_LEAVES_OUT: Final = ("none",)


def _is_cell(cell: object) -> bool:
    return isinstance(cell, dict) and cell.keys() == {"pred", "gt"}


def _has_cells(source: Source) -> bool:
    return (
        source.kind == "json"
        and isinstance(source.sample, dict)
        and any(map(_is_cell, values(source.sample, 2, most=200)))
    )


def _is_partial(turns: dict[str, Any]) -> bool:
    """Whether turns lack slots, or every slot that is there is wrong."""
    states = [turn for turn in turns.values() if isinstance(turn, dict)]
    if len({names - {_TEXT} for names in set(map(frozenset, states))}) > 1:
        return True
    return all(cell["pred"] != cell["gt"] for turn in states for cell in turn.values() if _is_cell(cell))


def sniff(source: Source) -> bool:
    """Whether slots of turns hold ``pred`` and ``gt``, the same slots in every turn."""
    return _has_cells(source) and not _is_partial(source.json)


def sniff_partial(source: Source) -> bool:
    """Whether slots of turns hold ``pred`` and ``gt``, the wrong ones only."""
    return _has_cells(source) and _is_partial(source.json)


def _turns(source: Source, form: Format) -> Iterator[tuple[str, str, dict[str, Cell]]]:
    """Dialogue, turn and the cells of each turn."""
    turns: dict[str, dict[str, Cell | str]] = source.convert(source.json, SHAPE, ("dialogue", "slot"), hint=form.hint)
    for key, content in turns.items():
        dialogue, turn = source.dialogue_and_turn(key, "_")
        cells = {slot: cell for slot, cell in content.items() if isinstance(cell, Cell)}
        if odd := content.keys() - cells.keys() - {_TEXT}:
            raise source.error(
                "expected an object with pred and gt, found a string",
                form.hint,
                dialogue=dialogue,
                turn=turn,
                slot=min(odd),
            )
        yield dialogue, turn, cells


def read(source: Source) -> States:
    """Read the file."""
    states = StatesBuilder(source.name, FORMAT.name)
    slots: frozenset[str] = frozenset()
    for dialogue, turn, cells in _turns(source, FORMAT):
        slots = slots or frozenset(cells)
        if cells.keys() != slots or not slots:
            raise source.error(
                "not every slot is in every turn: these are wrong slots only, written while training",
                "--from star-partial, or the file that the evaluation writes (pred-evaluation/preds_full_N.json)",
                dialogue=dialogue,
                turn=turn,
            )
        at = states.turn(dialogue, turn)
        states.pred.flat(at, {slot: cell.pred for slot, cell in cells.items() if cell.pred not in _LEAVES_OUT})
        states.gold.flat(at, {slot: cell.gt for slot, cell in cells.items() if cell.gt not in _LEAVES_OUT})
    return states.build()


def read_partial(source: Source) -> States:
    """Read a file of wrong slots; the other slots come from gold."""
    states = StatesBuilder(source.name, PARTIAL.name)
    for dialogue, turn, cells in _turns(source, PARTIAL):
        at = states.turn(dialogue, turn)
        states.pred.flat(at, {slot: cell.pred for slot, cell in cells.items()})
        states.gold.flat(at, {slot: cell.gt for slot, cell in cells.items()})
    wrong = states.build()
    return replace(wrong, gold=None, pred=None, complete=partial(_fill, wrong))


def _fill(wrong: States, gold: States) -> States:
    """Gold with the wrong slots in place of its own."""
    if wrong.pred is None or wrong.gold is None or gold.gold is None:
        raise DstbenchError("no turn in the file", file=wrong.source)
    turns = wrong.pred.turns
    both = gold.gold.turns.with_row_index("row").join(turns.with_row_index("at"), on=["dialogue", "turn"])
    right = gold.gold.cells.join(both.select("row", at="at"), left_on="at", right_on="row").select(
        "slot", "value", at="at_right"
    )
    other = (
        wrong.gold.cells.join(both.select("at"), on="at", how="semi")
        .join(right, on=["at", "slot"], how="left", suffix="_gold")
        .cast({"slot": pl.String, "value": pl.String, "value_gold": pl.String})
        .with_columns(pl.col("value_gold").fill_null(_LEAVES_OUT[0]))
        .filter(pl.col("value") != pl.col("value_gold"))
    )
    if other.height:
        at, slot, value, expected = other.sort("at", "slot").select("at", "slot", "value", "value_gold").row(0)
        raise DstbenchError(
            f"{other.height:,} gold values are others than in {gold.source}, first {value!r} for {expected!r}",
            file=wrong.source,
            dialogue=turns["dialogue"][at],
            turn=turns["turn"][at],
            slot=slot,
            hint="give the gold of that run: STAR's own test.tsv",
        )
    cells = right.select("at", "slot", "value").join(wrong.pred.cells, on=["at", "slot"], how="anti")
    listed_wrong = wrong.pred.cells.filter(~pl.col("value").cast(pl.String).is_in(_LEAVES_OUT))
    return replace(wrong, gold=None, pred=Side(turns, pl.concat([cells, listed_wrong])))


def sniff_tsv(source: Source) -> bool:
    """Whether the first columns are STAR's."""
    return tsv.sniff(source, StarLine)


def read_tsv(source: Source) -> States:
    """Read the preprocessed MultiWOZ."""
    return tsv.read(source, TSV)


def said_tsv(source: Source) -> Iterator[Said]:
    """What was said in each turn of the preprocessed MultiWOZ."""
    return tsv.said(source, TSV)


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
PARTIAL: Final = Format(
    name="star-partial",
    title="STAR while it trains (preds_<n>.json), wrong slots only; needs --gold",
    holds=("pred",),
    example='{"MUL9901.json_0": {}, "MUL9901.json_1": {"hotel-area": {"pred": "north", "gt": "east"}}}',
    shape=SHAPE,
    sniff=sniff_partial,
    read=read_partial,
)
TSV: Final = Format(
    name="star-tsv",
    title="STAR's preprocessed MultiWOZ, gold",
    holds=("gold",),
    example="# Dialogue ID⇥Turn Index⇥Last Turn⇥System Response⇥User Utterance⇥attraction-area⇥…",
    shape=StarLine,
    sniff=sniff_tsv,
    read=read_tsv,
    said=said_tsv,
    document=tsv.TsvDocument,
)
