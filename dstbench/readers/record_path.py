"""Where the records of turns are in decoded JSON: the path to them, which is found in the first ones.

`walk` follows the path. Records may be in lists and objects of any kind: ``{"summary": …, "details": [record, …]}``,
``[{"dialogue_id": …, "turns": [record, …]}]``, ``{dialogue: {turn: record}}``, ``{"<dialogue>-<turn>": record}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from dstbench.readers.key_names import DIALOGUE, TURN, folded, meaning, turn_in
from dstbench.readers.options import Keys
from dstbench.readers.state_cells import could_be_state, states_in
from dstbench.readers.walk import Id, Step

Path: TypeAlias = tuple[Step, ...]
#: The path to records in a list that nothing names.
LIST: Final[Path] = (Step("list", or_object=True),)
# Items of a list or an object that are looked at, and the deepest nesting of records.
_SAMPLE: Final = 20
_DEEPEST: Final = 4
_IDS: Final = frozenset(DIALOGUE + TURN)


def is_record(record: Mapping[str, Any], given: Keys | None = None) -> bool:
    """Whether an object alone, without others beside it, looks like the record of a turn, or of a whole dialogue."""
    if given is not None and given.turns is not None:
        return False  # the path ends below that key
    if given is not None and any(key in with_inner(record, given) for key in (given.gold, given.pred) if key):
        return True
    has_id = any(isinstance(key, str) and folded(key) in _IDS for key in record)
    for key, value in record.items():
        of_key = meaning(key) if isinstance(key, str) else None
        if of_key is None:
            continue
        looks = could_be_state(value)
        if (has_id or of_key.rank < 4) and (several := states_in(value)) is not None:
            looks = not any(isinstance(state, Mapping) and is_record(state) for state in several.values())
        if looks or (looks is None and (of_key.rank == 0 or has_id)):
            return True
        has_id = has_id or looks is None  # two empty states are more than one
    return False


def has_states(record: Mapping[str, Any], least: int = 1) -> bool:
    """Whether at least so many values in an object, under keys of any name, look like states."""
    values = [value for key, value in with_dots(record).items() if turn_in(key) is None]
    return sum(could_be_state(value) is True for value in values) >= least


def with_inner(record: Any, given: Keys) -> Any:
    """A record in which what the user's keys with a dot lead to (``meta.gold``) is under these keys."""
    inner: dict[str, Any] = {}
    for path in vars(given).values():
        outer, dot, name = path.partition(".") if isinstance(path, str) else ("", "", "")
        above = record.get(outer) if dot and isinstance(record, Mapping) else None
        if isinstance(above, Mapping) and name in above:
            inner[path] = above[name]
    return {**record, **inner} if inner else record


def with_dots(record: Mapping[Any, Any]) -> dict[str, Any]:
    """A record in which what is in an object under a key is also under both keys, joined by a dot."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        is_object = isinstance(value, Mapping) and not could_be_state(value)
        flat |= {str(key): value, **({f"{key}.{name}": inner for name, inner in value.items()} if is_object else {})}
    return flat


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
