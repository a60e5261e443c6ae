"""dstbench's own format: one JSON object per line and turn, for every model that writes nothing itself.

Conventions: ``dialogue_id`` and ``turn`` (user turns from 0) name the turn; ``gold`` and ``pred`` are cumulative
states ``{"hotel-area": "north"}``. A slot that is not in the state is left out. A line may lack ``gold`` (then
``--gold`` gives it) or ``pred`` (then the turn has no prediction). ``system`` and ``user`` are what was said: the
system turn before the user turn, and the user turn. The same objects in one JSON list, or in memory, are the same.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from dstbench.errors import did_you_mean
from dstbench.readers.builder import StatesBuilder
from dstbench.readers.columns import Columns, Objects, states_of
from dstbench.readers.source import Format, Source
from dstbench.readers.states import States
from dstbench.readers.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dstbench.readers.source import Said

State = dict[str, str]


class Turn(msgspec.Struct):
    """One turn."""

    dialogue_id: str
    turn: int
    gold: State | msgspec.UnsetType = msgspec.UNSET
    pred: State | msgspec.UnsetType = msgspec.UNSET
    system: str | msgspec.UnsetType = msgspec.UNSET
    user: str | msgspec.UnsetType = msgspec.UNSET


_KEYS: Final = frozenset(Turn.__struct_fields__)
_HINT: Final = 'a line is {"dialogue_id": "MUL1", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {…}}'


class SpokenTurn(msgspec.Struct):
    """What was said in a turn, and before."""

    dialogue_id: str
    turn: int
    system: str | None = None
    user: str | None = None


def sniff(source: Source) -> bool:
    """Whether lines (or list items) have a ``dialogue_id`` and a ``turn``."""
    if source.kind == "jsonl":
        _, item = next(source.json_lines())
        return isinstance(item, dict) and "dialogue_id" in item
    return any("dialogue_id" in item and "turn" in item for item in source.first_objects)


def _columns(found: Tokens) -> Columns | None:
    turns = Objects.of(found)
    if turns is None or not {*turns.field.words} <= _KEYS:
        return None
    dialogue, turn = turns.strings("dialogue_id"), turns.integers("turn")
    gold, pred = turns.flat("gold"), turns.flat("pred")
    if dialogue is None or turn is None or gold is None or pred is None:
        return None
    has_state = np.zeros(turns.height, dtype=np.bool_)
    has_state[gold.present] = has_state[pred.present] = True
    if not has_state.all() or not turns.are_strings("system", "user"):
        return None
    return Columns(dialogue, turn, *(side if len(side.present) else None for side in (gold, pred)))


def read(source: Source) -> States:
    """Read the file."""
    if (quick := states_of(source, FORMAT.name, _columns)) is not None:
        return quick
    return _collect(source, items(source))


def items(source: Source) -> Iterator[tuple[str, Any]]:
    """(its place in words, what stands there) of every turn, unchecked."""
    if source.kind == "jsonl":
        return source.json_lines()
    if source.kind == "json" and isinstance(source.json, list):
        return _numbered(source.json)
    raise source.error("neither JSON Lines nor a JSON list of turns", _HINT)


def from_memory(states: Iterable[Any], name: str) -> States:
    """States given as Python objects with the keys of a line; `name` stands for a file name in messages."""
    return _collect(Source(name), _numbered(map(_plain, states)))


def _numbered(items: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    return ((f"item {number}", item) for number, item in enumerate(items))


def _plain(item: Any) -> Any:
    """An item whose turn may be a NumPy integer, as it comes out of a training loop."""
    if isinstance(item, Mapping) and not isinstance(item.get("turn"), int) and hasattr(item.get("turn"), "__index__"):
        return {**item, "turn": operator.index(item["turn"])}
    return item


def _collect(source: Source, items: Iterable[tuple[str, Any]]) -> States:
    states = StatesBuilder(source.name, FORMAT.name)
    unknown: dict[str, None] = {}
    for place, item in items:
        known = {"dialogue": item.get("dialogue_id"), "turn": item.get("turn")} if isinstance(item, dict) else {}
        turn: Turn = source.convert(item, Turn, (None, "slot"), place=f"{place}: ", hint=_HINT, **known)
        unknown.update(dict.fromkeys(item.keys() - _KEYS))
        if turn.gold is msgspec.UNSET and turn.pred is msgspec.UNSET:
            found = ", ".join(sorted(map(str, item.keys() - _KEYS))) or "none"
            raise source.error(
                f"{place}: neither gold nor pred; unknown keys: {found}", _near(unknown) or _HINT, **known
            )
        at = states.turn(turn.dialogue_id, turn.turn)
        if turn.gold is not msgspec.UNSET:
            states.gold.flat(at, turn.gold)
        if turn.pred is not msgspec.UNSET:
            states.pred.flat(at, turn.pred)
    built = states.build()
    if (near := _near(unknown)) and (built.gold is None or built.pred is None):
        return replace(built, notes=(*built.notes, f"{source.name}: unknown keys; {near}"))
    return built


def _near(unknown: Iterable[str]) -> str:
    """Which of our keys the unknown ones may be meant to be."""
    return " ".join(f"{key!r}: {hint}" for key in sorted(unknown) if (hint := did_you_mean(key, _KEYS)))


def said(source: Source) -> Iterator[Said]:
    """What was said in each turn."""
    for place, item in items(source):
        turn: SpokenTurn = source.convert(item, SpokenTurn, (), place=f"{place}: ", hint=FORMAT.hint)
        yield turn.dialogue_id, turn.turn, turn.system, turn.user


FORMAT: Final = Format(
    name="jsonl",
    title="dstbench's own: one JSON object per line and turn",
    holds=("gold", "pred"),
    example='{"dialogue_id": "MUL9901", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "north"}}',
    shape=Turn,
    sniff=sniff,
    read=read,
    said=said,
)
