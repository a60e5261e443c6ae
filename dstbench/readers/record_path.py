"""The path to the records of turns in a document whose layout nobody declares.

Records may be nested in any way: `{"summary": …, "details": […]}`, a list of dialogues that hold their turns, an object
of dialogues by id, of turns by number, or of records by `<dialogue>-<turn>`. The path is found in the first ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from dstbench.readers.key_names import DIALOGUE, TURN, folded, turn_in
from dstbench.readers.options import Keys
from dstbench.readers.walk import Id, Step

# No layout nests records deeper, and no more entries are looked at on each level.
_DEPTH: Final = 4
_SAMPLE: Final = 20

#: A list, or an object, of records that nothing names.
LIST: Final = (Step("list", or_object=True),)


def find_path(
    document: Any, is_record: Callable[[Mapping[str, Any]], bool], given: Keys | None = None
) -> tuple[Step, ...] | None:
    """The path to the records in decoded JSON, or in its beginning; None: there seem to be none.

    Args:
        document: The JSON.
        is_record: Whether an object is a record.
        given: The keys that the user gives.
    """
    found = _find(document, is_record, given or Keys())
    return None if found is None else _naming(found)


def _find(
    document: Any, is_record: Callable[[Mapping[str, Any]], bool], given: Keys, depth: int = 0
) -> list[tuple[Step, Any]] | None:
    """The steps, each with the first key of the list or object that it leads through."""
    if depth > _DEPTH or not document:
        return None
    if isinstance(document, list):
        for item in document[:_SAMPLE]:
            if (way := _find(item, is_record, given, depth + 1)) is not None:
                return [(*LIST, 0), *way]
    if not isinstance(document, Mapping) or is_record(document):
        return [] if isinstance(document, Mapping) else None
    inner = [(key, value) for key, value in document.items() if isinstance(value, (list, Mapping)) and value]
    if given.turns in document:
        inner = [(given.turns, document[given.turns])]
        is_record, given, depth = _is_any, replace(given, turns=None), 0
    ways = {key: way for key, v in inner[:_SAMPLE] if (way := _find(v, is_record, given, depth + 1)) is not None}
    if not ways:
        return None
    key, way = next(iter(ways.items()))
    is_id = (
        key != given.turns
        and any(map(str.isdecimal, str(key)))
        and all(isinstance(value, (list, Mapping)) for value in document.values())
    )
    if len(ways) > 1 or is_id:
        return [(Step("object", or_object=True), key), *way]
    names = {folded(name): name for name, value in document.items() if isinstance(value, (str, int))}
    own = ((of, user if user in document else next((names[name] for name in every if name in names), None))
           for of, user, every in (("dialogue", given.dialogue, DIALOGUE), ("turn", given.turn, TURN)))  # fmt: skip
    ids = tuple(Id(of, name, object) for of, name in own if name is not None)
    return [*[(Step("dialogue", ids=ids), None)] * bool(ids), (Step("key", key), None), *way]


def _is_any(_: Mapping[str, Any]) -> bool:
    return True


def _naming(found: list[tuple[Step, Any]]) -> tuple[Step, ...]:
    """The steps, with what the keys and indices of lists and objects say of dialogue and turn."""
    path = [step for step, _ in found]
    open_ = [at for at, step in enumerate(path) if step.kind in ("list", "object")]
    if not open_:
        return tuple(path)
    last, key = open_[-1], found[open_[-1]][1]
    is_number = path[last].kind == "list" or turn_in(str(key)) is not None
    known = [at for at, step in enumerate(path) if any(id_.of == "dialogue" for id_ in step.ids)]
    objects = [at for at in open_ if path[at].kind == "object"]
    if known:
        if is_number and last > known[-1] and not any(id_.of == "turn" for step in path[last:] for id_ in step.ids):
            path[last] = replace(path[last], ids=(Id("turn"),))
    elif path[last].kind == "list" or (is_number and len(objects) > 1):
        if above := [at for at in objects if at < last]:
            path[above[-1]] = replace(path[above[-1]], ids=(Id("dialogue"),))
            path[last] = replace(path[last], ids=(Id("turn"),))
    else:
        path[last] = replace(path[last], ids=(Id("dialogue"),))
    return tuple(path)
