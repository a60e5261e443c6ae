"""Which keys of records hold the dialogue, the turn, and the gold and the predicted state.

A key of a usual name (`key_names`) is taken if the values under it may be states. If two keys have equal claims, or
none has any, `KeysError` says which keys there are, and gives the ``--keys`` that work.
"""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, TypeAlias

from dstbench.errors import did_you_mean
from dstbench.readers import key_names
from dstbench.readers.key_names import DIALOGUE, TURN, cumulative, folded, named, says_its_side, turn_in
from dstbench.readers.options import Keys
from dstbench.readers.state_cells import DOMAINS, could_be_state, is_missing, states_in, without_numpy
from dstbench.readers.walk import Id, Step

#: The values under each key, in a sample of the records.
Columns: TypeAlias = dict[str, list[Any]]
# An id that ends in the turn.
_FLAG: Final = re.compile(  # or a pair, as Python prints it
    r"(?!turn[-_ ]?[0-9]*$)(?=\('.*\)$|.*[0-9]$)(?:\(')?(.+?)(?:', |[-_])(?:turn[-_]?)?([0-9]{1,9})\)?",
    re.IGNORECASE | re.DOTALL,
)
# Values of a key that are looked at, and those of them that are not empty; and keys that a message lists.
_SAMPLE: Final = 200
_ENOUGH: Final = 20
_LISTED: Final = 12
# Sides' own names, which are believed whatever is under them.
_OWN: Final = ("gold", "pred")
_WORDS: Final = {"gold": "the gold state", "pred": "the prediction", "either": "the state"}


class KeysError(Exception):
    """The keys of records do not say what they hold; they `compete` if there are several for a field."""

    def __init__(self, what: str, hint: str, *, compete: bool = False) -> None:
        super().__init__(what)
        self.what, self.hint, self.compete = what, hint, compete


@dataclass(frozen=True)
class Fields:
    """The keys of each field, and `unused` ones that also hold states; None: records do not have it.

    With the key of a slot, a record is one slot of a turn, and the sides are the slot's values.
    """

    dialogue: str | None = None
    turn: str | None = None
    gold: str | None = None
    pred: str | None = None
    slot: str | None = None
    domain: str | None = None
    unused: tuple[str, ...] = ()

    @property
    def either(self) -> bool:
        """Whether the state may be gold or predicted, because its key does not say which."""
        return self.gold is not None and self.gold == self.pred


def is_record(record: Mapping[str, Any], given: Keys | None = None) -> bool:
    """Whether an object alone, without others beside it, looks like the record of a turn, or of a whole dialogue."""
    given = given or Keys()
    if given.turns is not None:
        return False  # the path ends below that key
    record = with_inner(record, given)
    if given.gold in record or given.pred in record:
        return True
    looks = {key: _looks(record[key]) for key in named(record, key_names.STATES)}
    if True in looks.values():
        return True
    # Empty states, and the values of one slot, look like anything: other keys must tell.
    may_be_one = None in looks.values() or (
        bool(looks) and any(isinstance(record[key], str) for key in named(record, key_names.SLOT))
    )
    return may_be_one and (bool(named(record, DIALOGUE + TURN)) or len(looks) > 1 or any(map(says_its_side, looks)))


def has_states(record: Mapping[str, Any], least: int = 1) -> bool:
    """Whether at least so many values in an object, under keys of any name, look like states."""
    values = [value for key, value in with_dots(record).items() if turn_in(key) is None]
    return sum(could_be_state(value) is True for value in values) >= least


def with_inner(record: Any, given: Keys) -> Any:
    """A record in which what the user's keys with a dot lead to (``meta.gold``) is under these keys."""
    paths = [path for path in vars(given).values() if isinstance(path, str) and "." in path]
    flat = with_dots(record, always=True) if paths and isinstance(record, Mapping) else {}
    return {**record, **{path: flat[path] for path in paths if path in flat}} if flat else record


def with_dots(record: Mapping[Any, Any], *, always: bool = False) -> dict[str, Any]:
    """A record in which what is in an object under a key is under both keys, joined by a dot, unless it is a state."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        is_object = isinstance(value, Mapping) and (always or not (could_be_state(value) or DOMAINS & value.keys()))
        flat |= {str(key): value, **({f"{key}.{name}": inner for name, inner in value.items()} if is_object else {})}
    return flat


def columns_of(records: Iterable[Mapping[str, Any]]) -> Columns:
    """The first values under each key."""
    columns = defaultdict[Any, list[Any]](list)
    for record in records:
        for key, value in record.items():
            if len(columns[key]) < _SAMPLE:
                columns[key].append(value)
    return columns


def guess(
    records: Sequence[Mapping[str, Any]],
    keys: Keys | None = None,
    outside: Collection[str] = (),
    *,
    names_dialogue: bool = False,
    need_states: bool = True,
) -> Fields:
    """The keys of each field; `names_dialogue`: objects around say which it is."""
    columns = columns_of(records)
    given = present(columns, keys or Keys(), outside)
    taken = {given.dialogue, given.turn, given.gold, given.pred, given.system, given.user}
    free = [key for key in columns if isinstance(key, str) and key not in taken]
    are_texts = {key: all(isinstance(cell, str) or is_missing(cell) for cell in columns[key]) for key in free}
    slot = next((key for key in named(free, key_names.SLOT) if are_texts[key]), None)
    utterances = {slot, *named(free, key_names.SYSTEM + key_names.USER)}
    looks = {key: hold_states(column) for key, column in columns.items() if key not in utterances}
    holding = {key for key, look in looks.items() if look}
    is_long = slot is not None and not holding & {*named(free, key_names.STATES), given.gold, given.pred}

    def key_of(side: str, *levels: Sequence[str]) -> str | None:
        """The one key of a side that may hold states, which has one of the first of these names that a key has."""
        may_hold = [key for key in free if is_long or key in _OWN or looks.get(key) is not False]
        for names in levels:
            claims = [key for key in may_hold if folded(key) in names]
            if len(claims) > 1:
                lines = " or ".join(f"--keys {of}={claims[0]}" for of in (_OWN if side == "either" else [side]))
                what = f"{len(claims)} keys could be {_WORDS[side]}: {', '.join(claims)}"
                raise KeysError(what, f"{lines} chooses that one", compete=True)
            if claims:
                return claims[0]
        return None

    gold = given.gold or key_of("gold", *key_names.GOLD)
    pred = given.pred or key_of("pred", *key_names.PRED)
    is_beside = given.gold is None and pred is None and says_its_side(gold)  # beside `gold_states`: the predicted one
    either = key_of("either", key_names.EITHER) if gold is None or is_beside else None
    if need_states and not (gold or pred or either):
        others = _listed(key for key in free if folded(key) not in DIALOGUE + TURN)
        line, given = line_for(records[:_LISTED], names_dialogue=names_dialogue) or ("", Keys())
        is_whole = given.dialogue is not None or names_dialogue
        hint = line if line and is_whole else "--keys gold=KEY,pred=KEY names them"
        raise KeysError(f"neither gold nor pred; unknown keys: {others}", hint)
    # A plain name is believed if no other key is of its side, so that reading says what is wrong.
    pred = pred or next(iter(named(free, key_names.PRED[0])), either)
    gold = gold or either or next(iter(named(free, key_names.GOLD[0])), None)
    rest = [key for key in free if key not in (gold, pred)]
    dialogue = given.dialogue or _first(columns, _may_be_id, named(rest, DIALOGUE))
    dialogue = dialogue or next((key for key in named(rest, TURN) if _mostly(flag_in, columns[key])), None)
    fields = Fields(dialogue, given.turn or _turn(columns, free), gold, pred)
    if dialogue is None and not names_dialogue:
        line, given = line_for(records[:_LISTED]) or ("", Keys())
        if given.dialogue is not None or fields.turn is not None or is_long or not holding & {gold, pred}:
            hint = line if given.dialogue is not None else "--keys id=KEY names it"
            raise KeysError(f"no key for the dialogue (there are: {_listed(columns)})", hint)
    if is_long:
        return replace(fields, slot=slot, domain=next(iter(named(free, key_names.DOMAIN)), None))
    unused = (key for key in columns if key in holding and key not in (*taken, dialogue, gold, pred))
    return replace(fields, unused=tuple(unused))


def present(columns: Collection[Any], given: Keys, outside: Collection[str] = ()) -> Keys:
    """The keys that the user gives, without optional ones that no record has."""
    fields = ("dialogue", "turn", "gold", "pred", "system", "user")
    absent = {field: key for field in fields if (key := getattr(given, field)) is not None and key not in columns}
    for field, key in absent.items():
        if not given.optional and key not in outside:
            hint = did_you_mean(key, map(str, columns)) or f"there are: {_listed(columns)}"
            raise KeysError(f"no record has the key {key!r} (keys: {field}={key})", hint)
    return Keys(**{**vars(given), **dict.fromkeys(absent)})


def line_for(
    records: Iterable[Mapping[str, Any]], around: Sequence[Mapping[str, Any]] = (), *, names_dialogue: bool = False
) -> tuple[str, Keys] | None:
    """The option, and its keys, that records under unknown keys seem to need; None: nothing in them looks like states.

    Which of two states is gold, the user knows; here, it is the first. The dialogue's id may be in the objects `around`
    the records, or be known (`names_dialogue`).
    """
    columns = columns_of(map(with_dots, records))
    states = [key for key, column in columns.items() if turn_in(str(key)) is None and hold_states(column)]
    states = cumulative(states) or states
    if not states:
        return None

    def of_names(keys: Iterable[str], names: Sequence[str]) -> str | None:
        last_parts = {folded(key.rpartition(".")[2]): key for key in reversed([*keys])}
        return next((last_parts[name] for name in names if name in last_parts), None)

    def first(columns: Columns, names: Sequence[str], kind: Callable[[Any], Any], *taken: str | None) -> str | None:
        keys = [key for key, column in columns.items() if key not in taken and _mostly(kind, column)]
        return of_names(keys, names) or next(iter(keys), None)

    gold, pred = (of_names(states, names[0] + names[1]) for names in (key_names.GOLD, key_names.PRED))
    rest = [key for key in states if key not in (gold, pred)]
    if gold is None and rest and len(states) > 1:
        gold = rest.pop(0)
    if pred is None and rest:
        pred = rest.pop(0)
    turn = first(columns, TURN, turn_number, gold, pred)
    dialogue = None if names_dialogue else first(columns, DIALOGUE, _is_name, gold, pred, turn)
    if turn is None and dialogue is not None and _mostly(flag_in, columns[dialogue]):
        turn = dialogue
    if dialogue is None and len(around) > 1:
        dialogue = first(columns_of(around), DIALOGUE, _is_name)
    given = {"id": dialogue, "turn": turn, "gold": gold, "pred": pred}
    line = "--keys " + ",".join(f"{field}={key}" for field, key in given.items() if key is not None)
    return f"{line} may be what it needs", Keys(dialogue, turn, gold, pred)


def flag_in(value: Any) -> tuple[str, int] | None:
    """The dialogue and the turn in an id that ends in the turn; None: it is no such id."""
    match = _FLAG.fullmatch(value) if isinstance(value, str) else None
    return None if match is None else (match[1], int(match[2]))


def turn_number(value: Any) -> int | None:
    """A turn's number, which may be written as text or as 3.0; None: it is none."""
    value = without_numpy(value)
    if isinstance(value, str):
        text = value.strip().removesuffix(".0")
        is_negative = text.startswith("-") and text[1:].isdecimal() and len(text) < 20
        return int(text) if is_negative else turn_in(text)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return operator.index(value) if hasattr(value, "__index__") and not isinstance(value, bool) else None


def hold_states(column: list[Any]) -> bool | None:
    """Whether most values look like states, or like the states of a dialogue's turns; None: all are empty."""
    looks = [*islice((look for look in map(_looks, column) if look is not None), _ENOUGH)]
    return 2 * sum(looks) > len(looks) if looks else None


def _looks(cell: Any) -> bool | None:
    """Whether a cell looks like a state, or like the states of a dialogue's turns; None: it is empty."""
    if (several := states_in(cell)) is None:
        return could_be_state(cell)
    return not any(isinstance(state, Mapping) and is_record(state) for state in several.values())


def _turn(columns: Columns, free: Collection[str]) -> str | None:
    """The key of the turn's number; None: there is none."""
    keys = [key for key in named(free, TURN) if not _mostly(flag_in, columns[key])]
    numbers = [key for key in keys if _mostly(turn_number, columns[key])]
    if any(columns[key] != columns[numbers[0]] for key in numbers[1:]):
        what = f"{len(numbers)} keys could be the turn: {', '.join(numbers)}"
        raise KeysError(what, f"--keys turn={numbers[0]} chooses that one")
    return _first(columns, turn_number, keys)


def _first(columns: Columns, kind: Callable[[Any], Any], keys: Sequence[str]) -> str | None:
    """The first key most of whose values are of a kind; else the first key, so that reading it says what is wrong."""
    return next((key for key in keys if _mostly(kind, columns[key])), keys[0] if keys else None)


def _mostly(kind: Callable[[Any], Any], column: list[Any]) -> bool:
    """Whether most values, nulls aside, are of a kind: whether a function says neither None nor False of them."""
    kinds = [kind(value) for value in column if not is_missing(value)]
    return 2 * sum(found is not None and found is not False for found in kinds) > len(kinds)


def _may_be_id(value: Any) -> bool:
    """Whether a value may be an id, rather than an utterance."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number or (isinstance(value, str) and "\n" not in value and len(value.split()) <= 3)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value.split()) == 1


def _listed(keys: Iterable[Any]) -> str:
    return ", ".join(map(str, islice(keys, _LISTED))) or "none"


# --- where records are ------------------------------------------------------------------------------------------------


Path: TypeAlias = tuple[Step, ...]
#: The path to records in a list that nothing names.
LIST: Final[Path] = (Step("list", or_object=True),)
# Items of a list or an object that are looked at, and the deepest nesting of records.
_ITEMS: Final = 20
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
        for item in document[:_ITEMS]:
            if (below := _steps_to(item, is_one, given, depth + 1)) is not None:
                return [(LIST[0], 0), *below]
    if not isinstance(document, Mapping) or is_one(document):
        return [] if isinstance(document, Mapping) else None
    inner = [(key, value) for key, value in document.items() if isinstance(value, (list, Mapping)) and value]
    is_given = given.turns in document
    if is_given:  # records are what is below the key that the user gives
        inner = [(given.turns, document[given.turns])]
        is_one, given, depth = lambda _: True, replace(given, turns=None), 0
    ways = {key: way for key, v in inner[:_ITEMS] if (way := _steps_to(v, is_one, given, depth + 1)) is not None}
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
