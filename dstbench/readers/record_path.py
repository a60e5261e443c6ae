"""Where the records of turns are in decoded JSON: the path to them, which is found in the first ones.

`walk` follows the path. Records may be in lists and objects of any kind: ``{"summary": …, "details": [record, …]}``,
``[{"dialogue_id": …, "turns": [record, …]}]``, ``{dialogue: {turn: record}}``, ``{"<dialogue>-<turn>": record}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from dstbench.readers.key_names import DIALOGUE, TURN, folded, turn_in
from dstbench.readers.options import Keys
from dstbench.readers.walk import Id, Step

Path: TypeAlias = tuple[Step, ...]
#: The path to records in a list that nothing names.
LIST: Final[Path] = (Step("list", or_object=True),)
# Items of a list or an object that are looked at, and the deepest nesting of records.
_SAMPLE: Final = 20
_DEEPEST: Final = 4


def find_path(document: Any, is_one: Callable[[Mapping[str, Any]], bool], given: Keys | None = None) -> Path | None:
    """The path to the records in decoded JSON, or in its beginning; None: there seem to be none."""
    steps = _steps_to(document, is_one, given or Keys())
    return None if steps is None else _with_ids(steps)


def _steps_to(
    document: Any, is_one: Callable[[Mapping[str, Any]], bool], given: Keys, depth: int = 0
) -> list[tuple[Step, Any]] | None:
    """The steps, each with the first key of the list or object that it leads through."""
    if depth > _DEEPEST or not document:
        return None
    if isinstance(document, list):
        for item in document[:_SAMPLE]:
            if (below := _steps_to(item, is_one, given, depth + 1)) is not None:
                return [(LIST[0], 0), *below]
    if not isinstance(document, Mapping) or is_one(document):
        return [] if isinstance(document, Mapping) else None
    inner = [(key, value) for key, value in document.items() if isinstance(value, (list, Mapping)) and value]
    is_given = given.turns in document
    if is_given:  # records are what is below the key that the user gives
        inner = [(given.turns, document[given.turns])]
        is_one, given, depth = lambda _: True, replace(given, turns=None), 0
    ways = {key: way for key, v in inner[:_SAMPLE] if (way := _steps_to(v, is_one, given, depth + 1)) is not None}
    if not ways:
        return None
    key, way = next(iter(ways.items()))
    is_id = any(map(str.isdecimal, str(key))) and all(isinstance(v, (list, Mapping)) for v in document.values())
    if len(ways) > 1 or (is_id and not is_given):
        return [(Step("object", or_object=True), key), *way]
    names = {folded(name): name for name, value in document.items() if isinstance(value, (str, int))}
    ids = []
    for of, own, usual in (("dialogue", given.dialogue, DIALOGUE), ("turn", given.turn, TURN)):
        name = own if own in document else next((names[name] for name in usual if name in names), None)
        ids += [] if name is None else [Id(of, name, object)]
    return [*[(Step("dialogue", ids=tuple(ids)), None)] * bool(ids), (Step("key", key), None), *way]


def _with_ids(steps: list[tuple[Step, Any]]) -> Path:
    """The steps, with what the keys and indices of lists and objects say of dialogue and turn.

    ``{"MUL1": [record, record]}`` is an object whose keys are dialogues, and a list whose indices are turns;
    so is ``{"MUL1": {"0": record}}``. In ``{"MUL1-0": record}``, the key is called a dialogue, and divided later. In
    ``[{"id": "MUL1", "turns": [record]}]``, the inner list has turns, as an object above it names the dialogue.
    """
    path = [step for step, _ in steps]
    through = [at for at, step in enumerate(path) if step.kind in ("list", "object")]
    if not through:
        return tuple(path)
    last = through[-1]
    is_list = path[last].kind == "list"
    is_number = is_list or turn_in(str(steps[last][1])) is not None
    objects = [at for at in through if path[at].kind == "object"]
    by_key = {id_.of: at for at, step in enumerate(path) for id_ in step.ids}  # ids under keys of objects
    names: dict[int, str] = {}
    if "dialogue" in by_key:
        if is_number and last > by_key["dialogue"] and by_key.get("turn", -1) < last:
            names = {last: "turn"}
    elif not is_list and not (is_number and len(objects) > 1):
        names = {last: "dialogue"}
    elif above := [at for at in objects if at < last]:
        names = {above[-1]: "dialogue", last: "turn"}
    for at, of in names.items():
        path[at] = replace(path[at], ids=(Id(of),))
    return tuple(path)
