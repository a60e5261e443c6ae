"""Which keys of records of turns hold the dialogue, the turn, and the gold and the predicted state.

The keys' names decide (`key_names`); where they leave it open, the values in a sample of records do. A cumulative state
is preferred to that of one turn. If two keys have equal claims, `KeysError` names both.

A record may be a whole dialogue, with a list of states, one per turn: ``{"dialogue_id": …, "gold_states": [{…}, {…}],
"states": {"0": {…}, "1": {…}}}``. Each becomes a record per turn. The lists of a dialogue have the same turns; other
lists of that length, such as those of utterances, are divided, too. A record with a turn number is a record of that
turn, whatever lists of states it has.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeAlias

from dstbench.errors import did_you_mean
from dstbench.readers.key_names import DIALOGUE, DOMAIN, SLOT, TURN, Meaning, Side, folded, meaning, turn_in
from dstbench.readers.options import Keys
from dstbench.readers.source import Source
from dstbench.readers.state_cells import could_be_state, is_missing, lists_slots, states_in, without_numpy
from dstbench.readers.walk import Turn

#: dstbench's own keys.
OWN: Final = Keys("dialogue_id", "turn", "gold", "pred", "system", "user")
_IDS: Final = frozenset(DIALOGUE + TURN)
#: What people may have meant to call a side.
USUAL: Final = {
    "gold": ("gold", "ground_truth", "gold_state"), "pred": ("pred", "prediction", "predicted", "pred_state"),
}  # fmt: skip
#: An id that ends in the turn.
FLAG: Final = re.compile(r"(?!turn[-_ ]?[0-9]*$)(.+?)[-_](?:turn[-_]?)?([0-9]{1,9})", re.IGNORECASE | re.DOTALL)
# Number of records with the same keys whose values are looked at.
_SAMPLE: Final = 200
# Objects of a group that are looked at, and the levels of a document.
_FEW: Final = 20
_DEEP: Final = 6
# What no id is longer than.
_LONGEST: Final = 40
# The values under each key of objects in the same place of several lists or objects.
_Columns: TypeAlias = Mapping[str, list[Any]]
_WORDS: Final = {"gold": "the gold state", "pred": "the prediction", "either": "the state"}


class KeysError(Exception):
    """The keys of records do not say what they hold; they `compete` if there are several for a field."""

    def __init__(self, what: str, hint: str, *, compete: bool = False) -> None:
        super().__init__(what)
        self.what, self.hint, self.compete = what, hint, compete


@dataclass(frozen=True)
class Fields:
    """The keys of each field, and others that hold states, or do not but are named so; None: records do not have it.

    With the key of a slot, a record is one slot of a turn, and the sides are the slot's values.
    """

    dialogue: str | None
    turn: str | None
    gold: str | None
    pred: str | None
    slot: str | None = None
    domain: str | None = None
    others: tuple[str, ...] = ()
    no_states: tuple[str, ...] = ()

    @property
    def either(self) -> bool:
        """Whether the state may be gold or predicted, because its key does not say which."""
        return self.gold is not None and self.gold == self.pred

    @property
    def are_own(self) -> bool:
        """Whether the keys are dstbench's own."""
        names = ("dialogue", "turn", "gold", "pred")
        return self.slot is None and all(getattr(self, name) in (None, getattr(OWN, name)) for name in names)


class Samples:
    """The values under each key, in a sample of the records."""

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self.shapes: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
        for record in records:
            of_shape = self.shapes.setdefault(tuple(record), [])
            if len(of_shape) < _SAMPLE:
                of_shape.append(record)
        self.values: dict[str, list[Any]] = {}
        for shape, of_shape in self.shapes.items():
            for key in shape:
                self.values.setdefault(key, []).extend([record[key] for record in of_shape])
        self._looks = {key: [*map(could_be_state, values)] for key, values in self.values.items()}

    def holds_states(self, key: str, *, surely: bool) -> bool:
        """Whether most values under a key look like states; unless `surely`, all may be empty."""
        yes, no = self._looks[key].count(True), self._looks[key].count(False)
        return yes > no or (not surely and yes == no == 0)

    def mostly(self, kind: Callable[[Any], bool], key: str, *, or_null: bool = False) -> bool:
        """Whether most values under a key are of a kind, nulls aside, or also if all are null."""
        values = [value for value in self.values[key] if not is_missing(value)]
        return 2 * sum(map(kind, values)) > len(values) or (or_null and not values)

    def named(self, names: Sequence[str]) -> list[str]:
        """The keys that have these names, in the order of the names."""
        keys = {folded(key): key for key in reversed(self.values) if isinstance(key, str)}
        return [keys[name] for name in names if name in keys]


def is_record(record: Mapping[str, Any], given: Keys | None = None) -> bool:
    """Whether an object alone, without others beside it, looks like the record of a turn."""
    if given is not None and given.turns is not None:
        return False  # the path ends below that key
    if given is not None and any(key in record or _reached(record, key) for key in (given.gold, given.pred) if key):
        return True
    beside = any(isinstance(key, str) and folded(key) in _IDS for key in record)
    for key, value in record.items():
        if isinstance(key, str) and (said := meaning(key)) is not None:
            looks = could_be_state(value)
            if (beside or said.rank < 4) and (several := states_in(value)) is not None:
                looks = not any(isinstance(state, Mapping) and is_record(state) for state in several.values())
            if looks or (looks is None and (said.rank == 0 or beside)):
                return True
            beside = beside or looks is None  # two empty states are more than one
    return False


def _reached(record: Mapping[str, Any], key: str) -> dict[str, Any]:
    """What a key with a dot leads to in a record, ``meta.gold``, under this key; nothing if it leads nowhere."""
    outer, _, inner = key.partition(".")
    above = record.get(outer)
    return {key: above[inner]} if inner and isinstance(above, Mapping) and inner in above else {}


def with_inner(record: Any, given: Keys) -> Any:
    """A record in which what the keys of the user's with a dot lead to is under these keys."""
    keys = [key for key in vars(given).values() if isinstance(key, str)] if isinstance(record, Mapping) else []
    found = {key: value for outer in keys for key, value in _reached(record, outer).items()}
    return {**record, **found} if found else record


def guess(source: Source, rows: Sequence[Turn], *, need_states: bool = True) -> tuple[Sequence[Turn], Samples, Fields]:
    """The records of single turns, samples of them, and the keys of each field."""
    rows = _by_turn(rows, source.keys or Keys())
    samples = Samples(row.content for row in rows)
    is_named = bool(rows and rows[0].dialogue is not None) or source.dialogue is not None
    return rows, samples, _choose(samples, source.keys, source.outside, is_named=is_named, need_states=need_states)


def _choose(
    samples: Samples, given: Keys | None, outside: Collection[str], *, is_named: bool, need_states: bool
) -> Fields:
    """The keys of each field; `is_named`: what is outside of the records names their dialogue."""
    given = present(samples.values, given or Keys(), outside)
    taken = [given.dialogue, given.turn, given.gold, given.pred, given.system, given.user]
    slots = [
        key for key in samples.named(SLOT)
        if key not in taken and samples.mostly(lambda value: isinstance(value, str), key, or_null=True)
    ]  # fmt: skip
    meanings = {
        key: said for key in samples.values
        if isinstance(key, str) and key not in taken + slots and (said := meaning(key)) is not None
    }  # fmt: skip
    holding = [key for key in meanings if samples.holds_states(key, surely=True)]
    states = {key: said for key, said in meanings.items() if key in holding or _is_believed(samples, key, said)}
    by_user = [key for key in (given.gold, given.pred) if key and samples.holds_states(key, surely=True)]
    is_long = bool(slots) and not holding and not by_user
    if is_long:
        states = {key: said for key, said in meanings.items() if said.rank not in (2, 3)}
    gold, pred = _sides(states, given)
    if gold is None and pred is None and need_states:
        raise _without_states(samples, states)
    dialogues = [key for key in samples.named(DIALOGUE) if key not in (*taken, gold, pred)]
    dialogues += [key for key in samples.named(TURN) if key not in taken and samples.mostly(_is_flag, key)]
    dialogue = given.dialogue or _first(samples, _is_id, dialogues)
    if dialogue is None and not is_named:
        raise KeysError(f"no key for the dialogue ({_listed(samples.values)})", "--keys id=KEY names it")
    domains = samples.named(DOMAIN) if is_long else []
    # Keys whose names do not say that they hold states are told only if a side has no key.
    every = [key for key in samples.values if isinstance(key, str) and samples.holds_states(key, surely=True)]
    others = [] if is_long else every if None in (gold, pred) else holding
    return Fields(
        dialogue,
        given.turn or _turn(samples, taken),
        gold,
        pred,
        slots[0] if is_long else None,
        domains[0] if domains else None,
        tuple(key for key in others if key not in (gold, pred, *taken)),
        tuple(
            key for key, said in meanings.items()
            if key not in states and said.rank < 2 and {"gold": gold, "pred": pred}.get(said.side, key) is None
        ),
    )  # fmt: skip


def ids(samples: Samples) -> list[str]:
    """The keys that may be ids of dialogues, or of turns, in order of preference."""
    return [key for key in samples.named(DIALOGUE + TURN) if samples.mostly(_is_id, key)]


def _first(samples: Samples, kind: Callable[[Any], bool], keys: Sequence[str]) -> str | None:
    """The first key most of whose values are of a kind; else the first key, so that reading it says what is wrong."""
    return next((key for key in keys if samples.mostly(kind, key)), keys[0] if keys else None)


def _is_believed(samples: Samples, key: str, said: Meaning) -> bool:
    """Whether a key's name suffices to say that it holds states: they may be empty, or objects of another form."""
    if key in (OWN.gold, OWN.pred) or (
        said.rank == 0 and samples.mostly(lambda value: isinstance(value, Mapping), key)
    ):
        return True
    return said.rank not in (2, 3) and samples.holds_states(key, surely=False)


def _listed(names: Iterable[Any]) -> str:
    """The first keys of records, for hints."""
    return f"there are: {', '.join(map(str, islice(names, 12)))}"


def present(names: Collection[Any], given: Keys, outside: Collection[str] = ()) -> Keys:
    """The keys that the user gives, without optional ones that no record has."""
    absent: dict[str, None] = {}
    for field in ("dialogue", "turn", "gold", "pred", "system", "user"):
        key = getattr(given, field)
        if key is not None and key not in names:
            if not given.optional and key not in outside:
                hint = did_you_mean(key, map(str, names)) or _listed(names)
                raise KeysError(f"no record has the key {key!r} (keys: {field}={key})", hint)
            absent[field] = None
    return Keys(**{**vars(given), **absent})


def _sides(states: Mapping[str, Meaning], given: Keys) -> tuple[str | None, str | None]:
    """The keys of the gold and of the predicted state; one key for both if its name does not say which."""
    gold, pred = (
        getattr(given, side) or _best({key: said for key, said in states.items() if said.side == side})
        for side in ("gold", "pred")
    )
    if gold is None and not given.gold:
        either = _best({key: said for key, said in states.items() if said.side == "either"})
        return either, pred or either
    if (
        pred is None and gold is not None and gold in states and states[gold].rank == 0
    ):  # beside `gold_states`, `states` are predicted
        return gold, _best({key: said for key, said in states.items() if said.side == "either"})
    return gold, pred


def _best(states: Mapping[str, Meaning]) -> str | None:
    """The key of a side whose name says it most clearly; None: there is none."""
    cumulative = {key: said for key, said in states.items() if said.span == "cumulative"}
    rank = min((said.rank for said in cumulative.values()), default=None)
    best = [key for key, said in cumulative.items() if said.rank == rank]
    if len(best) > 1:
        side: Side = cumulative[best[0]].side
        option = "gold or pred" if side == "either" else side
        what = f"{len(best)} keys could be {_WORDS[side]}: {', '.join(best)}"
        raise KeysError(what, f"--keys {option}={best[0]} chooses that one", compete=True)
    return best[0] if best else None


def _without_states(samples: Samples, states: Mapping[str, Meaning]) -> KeysError:
    """The error for records in which no key is that of a state."""
    if of_turn := [key for key, said in states.items() if said.span != "cumulative"]:
        what = (
            f"by their keys, the only states are of single turns, and scores need cumulative ones: {', '.join(of_turn)}"
        )
        of_sides = {states[key].side.replace("either", "pred"): key for key in reversed(of_turn)}
        option = ",".join(f"{side}={of_sides[side]}" for side in ("gold", "pred") if side in of_sides)
        return KeysError(what, f"if they are cumulative, --keys {option} reads them")
    keys = [key for key in samples.values if not isinstance(key, str) or folded(key) not in _IDS]
    holding = [key for key in keys if samples.holds_states(key, surely=True)]
    what = f"neither gold nor pred; unknown keys: {', '.join(sorted(map(str, keys))[:12]) or 'none'}"
    if near := similar(keys, [*USUAL["gold"], *USUAL["pred"]]):
        return KeysError(what, near)
    hint = f"--keys pred={holding[0]} chooses that one" if holding else "--keys gold=KEY,pred=KEY names them"
    return KeysError(what, hint)


def similar(keys: Collection[str], names: Sequence[str]) -> str | None:
    """A hint at which of these names the keys may be meant to be; None: none is similar."""
    near = [f"{key!r}: {hint}" for key in sorted(map(str, keys)) if (hint := did_you_mean(key, names))]
    return " ".join(near) or None


def _turn(samples: Samples, taken: Collection[str | None]) -> str | None:
    """The key of the turn's number; None: there is none."""
    keys = [key for key in samples.named(TURN) if key not in taken and not samples.mostly(_is_flag, key)]
    numbers = [key for key in keys if samples.mostly(_is_number, key)]
    if any(samples.values[key] != samples.values[numbers[0]] for key in numbers[1:]):
        what = f"{len(numbers)} keys could be the turn: {', '.join(numbers)}"
        raise KeysError(what, f"--keys turn={numbers[0]} chooses that one")
    return _first(samples, _is_number, keys)


def _is_id(value: Any) -> bool:
    """Whether a value may be an id, rather than an utterance."""
    return (isinstance(value, str) and "\n" not in value and len(value.split()) < 4) or (
        isinstance(value, (int, float)) and not isinstance(value, bool)
    )


def _is_flag(value: Any) -> bool:
    return isinstance(value, str) and FLAG.fullmatch(value) is not None


def _is_number(value: Any) -> bool:
    return turn_number(value) is not None


def turn_number(value: Any) -> int | None:
    """A turn's number, which may be written as text or as 3.0; None: it is none.

    >>> turn_number("3"), turn_number(3.0), turn_number("3rd")
    (3, 3, None)
    """
    value = without_numpy(value)
    if isinstance(value, str):
        text = value.strip().removesuffix(".0")
        if text.startswith("-") and text[1:].isdecimal() and len(text) < 20:
            return int(text)
        return turn_in(text)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    return operator.index(value)


# --- records of whole dialogues ---------------------------------------------------------------------------------------


def _by_turn(rows: Sequence[Turn], given: Keys) -> Sequence[Turn]:
    """The records, with each that is a whole dialogue divided into records of its turns."""
    keys = _keys_of_lists([row.content for row in rows[:_SAMPLE] if isinstance(row.content, dict)], given)
    return [turn for row in rows for turn in _turns(row, keys)] if keys else rows


def _keys_of_lists(records: Sequence[dict[str, Any]], given: Keys) -> list[str]:
    """The keys under which some records have states of several turns, and no record has a single state."""
    cells: dict[str, list[Any]] = {}
    for record in records:
        for key, value in record.items():
            named = isinstance(key, str) and folded(key) in TURN
            if (named or key == given.turn) and turn_number(value) is not None:
                return []
            if key in (given.gold, given.pred) or (isinstance(key, str) and meaning(key) is not None):
                cells.setdefault(key, []).append(value)
    surely = [
        key for key, values in cells.items()
        if any(map(states_in, values)) and all(_could_be_states(cell) or not could_be_state(cell) for cell in values)
    ]  # fmt: skip
    return surely and [key for key, values in cells.items() if key in surely or all(map(_could_be_states, values))]


def _could_be_states(cell: Any) -> bool:
    return cell is None or states_in(cell, surely=False) is not None


def _turns(row: Turn, keys: Sequence[str]) -> Sequence[Turn]:
    """A record per turn, if the record has states of several turns; else the record itself."""
    if not isinstance(row.content, dict):
        return [row]
    for key in keys:
        if lists_slots(row.content.get(key)):
            what = f"{row.place}{key} is a list of slots, which is one state, where others are lists of states"
            raise KeysError(what, "a list of turns is a list of such lists, or of objects")
    lists = {
        key: dict(enumerate(cell)) if isinstance(cell, (list, tuple)) else states_in(cell, surely=False)
        for key in keys if (cell := row.content.get(key)) is not None
    }  # fmt: skip
    (key, states), *others = lists.items() or [("", None)]
    if states is None:
        return [row]
    for other, further in others:
        if further is None or states.keys() != further.keys():
            sizes = f"{len(states)} and {len(further or ())} states"
            what = f"{row.place}{key} and {other} do not have the same turns ({sizes})"
            raise KeysError(what, "a dialogue needs as many gold states as predicted ones")
    rest = {name: cell for name, cell in row.content.items() if name not in lists and meaning(str(name)) is None}
    divided = {name: cell for name, cell in rest.items() if isinstance(cell, list) and len(cell) == len(states)}
    return [
        row._replace(
            place=f"{row.place}turn {turn}: ",
            content={**rest, **{name: cell[number] for name, cell in divided.items()}}
            | {name: of_turn[turn] for name, of_turn in lists.items() if of_turn is not None},
            number=turn,
        )
        for number, turn in enumerate(states)
    ]


# --- the line with which records under unknown keys can be read -------------------------------------------------------
# It is found by what is under the keys: states, ids and small numbers. Which of two states is gold, the user knows.


def keys_for(documents: Sequence[Any]) -> Keys | None:
    """The keys under which decoded documents seem to hold turns; None: nothing in them looks like states."""
    groups = [(states, *group) for group in _groups(documents, {}, 0) if (states := _states_in(group[0]))]
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
    turn = _first_of(columns, TURN, _are_numbers, [*sides.values()])
    dialogue = _first_of(columns, DIALOGUE, _are_ids, [*sides.values(), turn]) or _first_of(
        above, DIALOGUE, _are_ids, []
    )
    return Keys(dialogue, turn, sides.get("gold"), sides.get("pred"))


def line_for(keys: Keys) -> str:
    """The option that gives these keys."""
    given = {"id": keys.dialogue, "turn": keys.turn, "gold": keys.gold, "pred": keys.pred}
    return "--keys " + ",".join(f"{field}={key}" for field, key in given.items() if key is not None)


def _groups(nodes: Sequence[Any], above: _Columns, depth: int) -> Iterator[tuple[_Columns, _Columns]]:
    """The objects at and below some nodes, by their place, and the values in the objects above them."""
    objects = [node for node in islice(nodes, _FEW) if isinstance(node, Mapping)]
    lists = [node for node in islice(nodes, _FEW) if isinstance(node, list)]
    if depth > _DEEP:
        return
    if lists:
        yield from _groups([item for node in lists for item in islice(node, _FEW)], above, depth + 1)
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


def _states_in(columns: _Columns) -> list[str]:
    """The keys under which are states."""
    looks = {key: [*map(could_be_state, values)] for key, values in columns.items() if turn_number(key) is None}
    return [key for key, of_key in looks.items() if True in of_key and of_key.count(False) < of_key.count(True)]


def _first_of(
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
