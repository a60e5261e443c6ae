"""The line with which records under unknown keys can be read: ``--keys id=conv,turn=step,gold=oracle,pred=ours``.

It is found by what is under the keys: states, ids and small numbers. Which of two states is gold, the user knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias

from dstbench.readers.key_names import DIALOGUE, TURN, folded, meaning
from dstbench.readers.options import Keys
from dstbench.readers.record_keys import turn_number
from dstbench.readers.state_cells import could_be_state, is_missing

# Objects of a group that are looked at, and the levels of a document.
_SAMPLE: Final = 20
_DEEP: Final = 6
# What no id is longer than.
_LONGEST: Final = 40


#: The values under each key of objects in the same place of several lists or objects.
_Columns: TypeAlias = Mapping[str, list[Any]]


def keys_for(documents: Sequence[Any]) -> Keys | None:
    """The keys under which decoded documents seem to hold turns; None: nothing in them looks like states."""
    groups = [(states, *group) for group in _groups(documents, {}, 0) if (states := _states(group[0]))]
    if not groups:
        return None
    states, columns, above = max(groups, key=lambda group: len(group[0]))
    sides: dict[str, str] = {}
    for key in states:
        if (said := meaning(key.rpartition(".")[2])) is not None and said.side != "either":
            sides.setdefault(said.side, key)
    rest = [key for key in states if key not in sides.values()]
    for side in ("gold", "pred")[len(states) == 1 :]:
        if side not in sides and rest:
            sides[side] = rest.pop(0)
    turn = _first(columns, TURN, _are_numbers, [*sides.values()])
    dialogue = _first(columns, DIALOGUE, _are_ids, [*sides.values(), turn]) or _first(above, DIALOGUE, _are_ids, [])
    return Keys(dialogue, turn, sides.get("gold"), sides.get("pred"))


def line_for(keys: Keys) -> str:
    """The option that gives these keys."""
    given = {"id": keys.dialogue, "turn": keys.turn, "gold": keys.gold, "pred": keys.pred}
    return "--keys " + ",".join(f"{field}={key}" for field, key in given.items() if key is not None)


def _groups(nodes: Sequence[Any], above: _Columns, depth: int) -> Iterator[tuple[_Columns, _Columns]]:
    """The objects at and below some nodes, by their place, and the values in the objects above them."""
    objects = [node for node in islice(nodes, _SAMPLE) if isinstance(node, Mapping)]
    lists = [node for node in islice(nodes, _SAMPLE) if isinstance(node, list)]
    if depth > _DEEP:
        return
    if lists:
        yield from _groups([item for node in lists for item in islice(node, _SAMPLE)], above, depth + 1)
    columns = _columns(objects)
    if columns:
        yield columns, above
    inner = {key: [v for v in values if isinstance(v, (Mapping, list))] for key, values in columns.items() if values}
    are_ids = len(columns) > 1 and len({*map(_shape, inner.values())}) == 1 and all(inner.values())
    for below in [[v for values in inner.values() for v in values]] if are_ids else inner.values():
        if below:
            yield from _groups(below, columns | {key: of for key, of in above.items() if key not in columns}, depth + 1)


def _shape(values: list[Any]) -> Any:
    """What objects under a key have in common with those under others, if keys are ids."""
    first = values[0] if values else None
    return tuple(first) if isinstance(first, Mapping) else type(first)


def _columns(objects: Iterable[Mapping[Any, Any]]) -> dict[str, list[Any]]:
    """The values under each key; those in an object under a key have both keys, joined by a dot."""
    columns: dict[str, list[Any]] = {}
    for item in objects:
        for key, value in item.items():
            columns.setdefault(str(key), []).append(value)
            if isinstance(value, Mapping) and not could_be_state(value):
                for inner, deeper in value.items():
                    columns.setdefault(f"{key}.{inner}", []).append(deeper)
    return columns


def _states(columns: _Columns) -> list[str]:
    """The keys under which are states."""
    looks = {key: [*map(could_be_state, values)] for key, values in columns.items() if turn_number(key) is None}
    return [key for key, of_key in looks.items() if True in of_key and of_key.count(False) < of_key.count(True)]


def _first(
    columns: _Columns, names: Sequence[str], kind: Callable[[list[Any]], bool], taken: Sequence[str | None]
) -> str | None:
    """The first key of these names, else the first whose values are of a kind."""
    keys = [key for key, values in columns.items() if key not in taken and kind(values)]
    named = {folded(key.rpartition(".")[2]): key for key in reversed(keys)}
    return next((named[name] for name in names if name in named), keys[0] if keys else None)


def _are_numbers(values: list[Any]) -> bool:
    return bool(values) and all((number := turn_number(value)) is not None and 0 <= number < 1000 for value in values)


def _are_ids(values: list[Any]) -> bool:
    texts = [value for value in values if not is_missing(value)]
    are_words = (isinstance(text, str) and len(text.split()) == 1 and "{" not in text for text in texts)
    return bool(texts) and all(are_words) and max(map(len, texts)) < _LONGEST
