"""dstbench's own format: one JSON object per line and turn, for models whose code writes no predictions.

Conventions: ``dialogue_id`` and ``turn`` (user turns from 0) name the turn; ``gold`` and ``pred`` are cumulative
states ``{"hotel-area": "north"}``. A slot that is not in the state is left out. A line may lack ``gold`` (then
``--gold`` gives it) or ``pred`` (then the turn has no prediction). ``system`` and ``user`` are utterances: that of the
system before the user's turn, and the user's. A JSON list of such objects, or a list in memory, is read alike.
"""

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
import numpy as np

from dstbench.errors import did_you_mean
from dstbench.readers.columns import Columns, Objects, Tokens, Unusual
from dstbench.readers.format import Format, Said, Source, States, StatesBuilder
from dstbench.readers.jsonl_document import TurnsDocument

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


class _SpokenTurn(msgspec.Struct):
    dialogue_id: str
    turn: int
    system: str | None = None
    user: str | None = None


def _sniff(source: Source) -> bool:
    if source.kind == "jsonl":
        return source.first_line_has("dialogue_id")
    return any("dialogue_id" in item and "turn" in item for item in source.objects_at(1, list))


def _layout(file: Tokens) -> Columns:
    turns = Objects.of(file)
    turns.expect_strings("system", "user")
    gold, pred = (turns.flat(side, in_all=False) for side in ("gold", "pred"))
    has_state = np.zeros(turns.height, dtype=np.bool_)
    has_state[gold.present] = has_state[pred.present] = True
    if not has_state.all() or not {*turns.field.words} <= _KEYS:
        raise Unusual
    return Columns(turns.strings("dialogue_id"), turns.integers("turn"), gold, pred)


def _items(source: Source) -> Iterator[tuple[str, Any]]:
    """(``line N: `` or ``item N: ``, unchecked value) of every turn."""
    if source.kind == "jsonl":
        return source.json_lines()
    if source.kind == "json" and isinstance(source.json, list):
        return _numbered(source.json)
    raise source.error("neither JSON Lines nor a JSON list of turns", _HINT)


def _numbered(items: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    return ((f"item {number}: ", item) for number, item in enumerate(items))


def from_memory(states: Iterable[Any], name: str) -> States:
    """States given as Python objects with the keys of a line; `name` stands for a file name in messages."""
    source, builder = Source(name), StatesBuilder(name, FORMAT.name)
    _collect(source, builder, _numbered(map(_with_plain_turn, states)))
    return builder.build()


def _with_plain_turn(item: Any) -> Any:
    """An item whose turn may be a NumPy integer, as it comes out of a training loop."""
    if isinstance(item, Mapping) and not isinstance(item.get("turn"), int) and hasattr(item.get("turn"), "__index__"):
        return {**item, "turn": operator.index(item["turn"])}
    return item


def _collect(source: Source, states: StatesBuilder, items: Iterable[tuple[str, Any]]) -> None:
    """Check items as `_items` gives them, and add their turns and states."""
    source.hint = _HINT
    unknown: dict[str, None] = {}
    for place, item in items:
        where = {"dialogue": item.get("dialogue_id"), "turn": item.get("turn")} if isinstance(item, dict) else {}
        turn = source.convert(item, Turn, None, "slot", place=place, **where)
        unknown.update(dict.fromkeys(item.keys() - _KEYS))
        if turn.gold is msgspec.UNSET and turn.pred is msgspec.UNSET:
            keys = ", ".join(sorted(map(str, item.keys() - _KEYS))) or "none"
            what = f"{place}neither gold nor pred; unknown keys: {keys}"
            raise source.error(what, _suggestions(unknown) or _HINT, **where)
        at = states.turn(turn.dialogue_id, turn.turn)
        if turn.gold is not msgspec.UNSET:
            states.gold.flat(at, turn.gold)
        if turn.pred is not msgspec.UNSET:
            states.pred.flat(at, turn.pred)
    if (suggestions := _suggestions(unknown)) and not (states.gold.present and states.pred.present):
        states.note(f"unknown keys; {suggestions}")


def _suggestions(unknown: Iterable[str]) -> str:
    """Which of our keys the unknown ones may be meant to be."""
    return " ".join(f"{key!r}: {hint}" for key in sorted(unknown) if (hint := did_you_mean(key, _KEYS)))


def _said(source: Source) -> Iterator[Said]:
    for place, item in _items(source):
        turn = source.convert(item, _SpokenTurn, place=place)
        yield turn.dialogue_id, turn.turn, turn.system, turn.user


FORMAT: Final = Format(
    name="jsonl",
    title="dstbench's own: one JSON object per line and turn",
    example='{"dialogue_id": "MUL9901", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "north"}}',
    shape=Turn,
    sniff=_sniff,
    reader=lambda source, states: _collect(source, states, _items(source)),
    layout=_layout,
    said=_said,
    document=TurnsDocument,
)
