"""IC-DST's and RefPyDST's ``running_log.json`` (Hu et al. 2022; King & Flanigan 2023), and the gold file beside it.

Conventions: one JSON list of turns with flat cumulative states; items may come in any order. Gold files have no
``pred``. Models write the values, so they are read as in `state_cells`. A note says that a log's gold is doubtful: if
gold is ``a|b`` and the prediction is one of the two, the authors' scorer replaces gold by the prediction.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Final

import msgspec

from dstbench.readers.format import Format, Said, SideBuilder, Source, States, StatesBuilder
from dstbench.readers.key_names import name_sides
from dstbench.readers.shapes import AS_TEXT
from dstbench.readers.state_cells import StateCells
from dstbench.readers.states import with_note


class IcdstTurn(msgspec.Struct):
    """One turn of IC-DST (Hu et al. 2022) or RefPyDST (King & Flanigan 2023)."""

    ID: str
    turn_id: int
    slot_values: Annotated[dict[str, Any], AS_TEXT]
    pred: Annotated[dict[str, Any], AS_TEXT] | msgspec.UnsetType = msgspec.UNSET


class _SpokenTexts(msgspec.Struct):
    """All that was said up to a turn."""

    sys: list[str] = []
    usr: list[str] = []


class _SpokenTurn(msgspec.Struct):
    ID: str
    turn_id: int
    dialog: _SpokenTexts = msgspec.field(default_factory=_SpokenTexts)


def _sniff(source: Source) -> bool:
    """Whether turns have these keys and no other prediction; turns whose states are lists or texts are `records`."""
    return any(
        turn.keys() >= {"ID", "turn_id", "slot_values"}
        and ("pred" in turn or not name_sides(turn, "pred"))
        and not any(isinstance(turn.get(key), (list, str)) for key in ("slot_values", "pred"))
        for turn in source.objects_at(1, list)
    )


def _read(source: Source, states: StatesBuilder) -> None:
    cells = StateCells()
    turns = [
        (turn.ID, turn.turn_id, turn.slot_values, turn.pred)
        for turn in source.objects(IcdstTurn, "ID", None, "slot", turn="turn_id")
    ]
    states.add(cells.turns(source, turns), SideBuilder.state)
    if note := cells.note():
        states.note(note)


def _doubt_gold(states: States) -> States:
    if states.pred is None:
        return states
    return with_note(
        states,
        "its gold may have been altered in favour of the predictions where it had alternatives (a|b); "
        "--gold FILE replaces it, and shows which turns an interrupted run has not reached",
    )


def _said(source: Source) -> Iterator[Said]:
    for turn in source.objects(_SpokenTurn, "ID"):
        system, user = ((texts[-1] if texts else None) for texts in (turn.dialog.sys, turn.dialog.usr))
        yield turn.ID, turn.turn_id, system, user


FORMAT: Final = Format(
    name="icdst",
    title="IC-DST, RefPyDST (running_log.json; gold mw2x_100p_test.json)",
    example='[{"ID": "MUL9901.json", "turn_id": 0, "slot_values": {"hotel-area": "north"}, "pred": {}}]',
    shape=list[IcdstTurn],
    sniff=_sniff,
    reader=_read,
    finish=_doubt_gold,
    said=_said,
)
