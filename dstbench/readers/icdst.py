"""IC-DST's and RefPyDST's ``running_log.json`` (Hu et al. 2022; King & Flanigan 2023), and the gold file beside it.

Conventions: one JSON list of turns with flat cumulative states; items may come in any order. Gold files have no
``pred``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from dstbench.readers.builder import StatesBuilder
from dstbench.readers.columns import Columns, Objects, states_of
from dstbench.readers.source import Format, Source
from dstbench.readers.states import States
from dstbench.readers.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dstbench.readers.source import Said

_ALTERED: Final = (
    "its gold may have been altered in favour of the predictions where it had alternatives (a|b); "
    "--gold FILE gives it anew, and shows the turns that an interrupted run has not reached"
)


class IcdstTurn(msgspec.Struct):
    """One turn of IC-DST (Hu et al. 2022) or RefPyDST (King & Flanigan 2023)."""

    ID: str
    turn_id: int
    slot_values: dict[str, str]
    pred: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


class SpokenTexts(msgspec.Struct):
    """All that was said up to a turn."""

    sys: list[str] = []
    usr: list[str] = []


class SpokenTurn(msgspec.Struct):
    """A turn of IC-DST."""

    ID: str
    turn_id: int
    dialog: SpokenTexts = msgspec.field(default_factory=SpokenTexts)


def _columns(found: Tokens) -> Columns | None:
    turns = Objects.of(found)
    if turns is None:
        return None
    dialogue, turn = turns.strings("ID"), turns.integers("turn_id")
    gold, pred = turns.flat("slot_values"), turns.flat("pred")
    if dialogue is None or turn is None or gold is None or pred is None or len(gold.present) != turns.height:
        return None
    return Columns(dialogue, turn, gold, pred if len(pred.present) else None)


def sniff(source: Source) -> bool:
    """Whether turns hold ``ID``, ``turn_id`` and ``slot_values``."""
    return source.lists("ID", "turn_id", "slot_values")


def read(source: Source) -> States:
    """Read ``running_log.json``, or the gold file of the same form that has no ``pred``.

    The log's gold is reported as doubtful: where gold was ``a|b`` and the prediction one of them, the authors' scorer
    has put the prediction in its place.
    """
    if (quick := states_of(source, FORMAT.name, _columns)) is not None:
        return replace(quick, notes=(f"{source.name}: {_ALTERED}", *quick.notes)) if quick.pred else quick
    states = StatesBuilder(source.name, FORMAT.name)
    for turn in source.objects(IcdstTurn, "ID", (None, "slot"), turn="turn_id", of="turns", hint=FORMAT.hint):
        at = states.turn(turn.ID, turn.turn_id)
        states.gold.flat(at, turn.slot_values)
        if turn.pred is not msgspec.UNSET:
            states.pred.flat(at, turn.pred)
    if states.pred.present:
        states.note(_ALTERED)
    return states.build()


def said(source: Source) -> Iterator[Said]:
    """What was said in each turn."""
    for turn in source.objects(SpokenTurn, "ID", (), hint=FORMAT.hint):
        system, user = ((texts[-1] if texts else None) for texts in (turn.dialog.sys, turn.dialog.usr))
        yield turn.ID, turn.turn_id, system, user


FORMAT: Final = Format(
    name="icdst",
    title="IC-DST, RefPyDST (running_log.json; gold mw2x_100p_test.json)",
    holds=("gold", "pred"),
    example='[{"ID": "MUL9901.json", "turn_id": 0, "slot_values": {"hotel-area": "north"}, "pred": {}}]',
    shape=list[IcdstTurn],
    sniff=sniff,
    read=read,
    said=said,
)
