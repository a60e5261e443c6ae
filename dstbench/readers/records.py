"""Records of turns under any keys: what most trackers of language models write, and frames and lists in memory.

Conventions: a record is a turn, with the dialogue's id, the turn's number, and a gold or a predicted state or both,
cumulative. Records may be nested in objects and lists, under any keys; `state_cells` reads the states.
A key may hold dialogue and turn together, ``MUL0484.json-3``. Without turn numbers, turns are counted in the order of a
dialogue's records. A record may also be one slot of a turn (``slot``, with its gold and predicted value): then the turn
has the slots of all its records; or a whole dialogue, with a list of states for each side. Records that nothing names
are gold's turns, in its order. A side that is null in every record is missing. A state whose key does not name its side
may be gold or predicted: in a file named as ``--gold`` it is gold.

A key of a usual name (`key_names`) is taken if the values under it may be states. If two keys have equal claims, or
none has any, `KeysError` says which keys there are, and gives the ``--keys`` that work.

In CSV, the first line names the columns, fields may be quoted as in RFC 4180, and states are written as JSON or as
Python prints them. An empty field is null. A column without a name is ignored: pandas writes row numbers in one.

Notes say which keys were used, what was read loosely, and if slots vanish so often that states may be of single turns.
"""

from __future__ import annotations

import csv
import io
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import count, islice
from typing import Any, Final, TypeAlias

import polars as pl

from dstbench.conventions.slots import KNOWN_SLOTS, canonical_slot
from dstbench.errors import DstbenchError, did_you_mean, first_repeated, number_of
from dstbench.io import parquet
from dstbench.io.tables import separator_of
from dstbench.readers import key_names
from dstbench.readers.format import Format, Said, Source, States, StatesBuilder
from dstbench.readers.key_names import DIALOGUE, TURN, cumulative, folded, named, says_its_side, turn_in
from dstbench.readers.options import Keys, is_long
from dstbench.readers.source import Misfit, clipped, in_words, is_multiwoz, objects
from dstbench.readers.state_cells import (
    DOMAINS,
    StateCells,
    could_be_state,
    is_missing,
    lists_slots,
    no_state,
    says_nothing,
    states_in,
    without_numpy,
)
from dstbench.readers.states import noting_vanishing_slots
from dstbench.readers.walk import Broken, Id, Step, Turn, Walker
from dstbench.typing import Unreadable

# The records, items, or values under a key that are looked at to see what they are; and for that, how many are enough.
_SAMPLE: Final = 200
_ENOUGH: Final = 20
# The levels of a document at which keys are looked for, and the deepest nesting of records.
_DEEP: Final = 5
_DEEPEST: Final = 4
# Bytes of a CSV file in which its header and the first records are.
_BEGINNING: Final = 1 << 18
# Keys that a message lists.
_LISTED: Final = 12
# If records are in so few groups without a digit in their names, a note names these; others are dialogues.
_GROUPS: Final = 6
#: The hint for a line with too few or too many fields.
CUT_OFF: Final = "is the file cut off, or a tab in a text?"
#: Decoded JSON in which records are sought, each with its place.
Documents: TypeAlias = list[tuple[str, Any]]
#: The values under each key, in a sample of the records.
Columns: TypeAlias = dict[str, list[Any]]
Path: TypeAlias = tuple[Step, ...]
#: The path to records in a list that nothing names.
LIST: Final[Path] = (Step("list", or_object=True),)
# A text with a slot and its value, which may be a whole state.
_WRITTEN_OUT: Final = re.compile(r"[=:]")
# An id that ends in the turn, or a pair, as Python prints it.
_FLAG: Final = re.compile(
    r"(?!turn[-_ ]?[0-9]*$)(?=\('.*\)$|.*[0-9]$)(?:\(')?(.+?)(?:', |[-_])(?:turn[-_]?)?([0-9]{1,9})\)?", re.I | re.S
)
# What is numbered in ids such as test-17 or dialogue_3 are dialogues; so it is in SGD's ids, 1_00000.
_NUMBERED: Final = re.compile(
    r"(?:^|[-_. ])(?:train|dev|valid|val|validation|test|dialogue|dialog|dial|conversation|conv|session)$", re.I
)
_PADDED: Final = re.compile(r"(?<![0-9])0[0-9]+$")
_LONG: Final = 4  # digits
# Sides' own names, which are believed whatever is under them.
_OWN: Final = ("gold", "pred")
_WORDS: Final = {"gold": "the gold state", "pred": "the prediction", "either": "the state"}


# --- keys -------------------------------------------------------------------------------------------------------------


class KeysError(Exception):
    """The keys of records do not say what they hold; they `compete` if there are several for a field."""

    def __init__(self, what: str, hint: str, *, compete: bool = False) -> None:
        super().__init__(what)
        self.what, self.hint, self.compete = what, hint, compete


@dataclass(frozen=True)
class Fields(Keys):
    """The keys of each field, and `unused` ones that also hold states; None: records do not have it.

    With the key of a slot, a record is one slot of a turn, and the sides are the slot's values.
    """

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
    said = [next(iter(named(columns, names)), None) for names in (key_names.SYSTEM, key_names.USER)]
    texts = given.system or said[0], given.user or said[1]
    fields = Fields(dialogue, given.turn or _turn(columns, free), gold, pred, *texts)
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
        for item in document[:_ENOUGH]:
            if (below := _steps_to(item, is_one, given, depth + 1)) is not None:
                return [(LIST[0], 0), *below]
    if not isinstance(document, Mapping) or is_one(document):
        return [] if isinstance(document, Mapping) else None
    inner = [(key, value) for key, value in document.items() if isinstance(value, (list, Mapping)) and value]
    is_given = given.turns in document
    if is_given:  # records are what is below the key that the user gives
        inner = [(given.turns, document[given.turns])]
        is_one, given, depth = lambda _: True, replace(given, turns=None), 0
    ways = {key: way for key, v in inner[:_ENOUGH] if (way := _steps_to(v, is_one, given, depth + 1)) is not None}
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


# --- documents --------------------------------------------------------------------------------------------------------


def _is_csv(source: Source) -> bool:
    return source.kind in ("text", "tsv") and not source.raw.startswith(parquet.MAGIC)


def _documents(source: Source, *, sample: bool = False) -> Documents:
    """A file's one document, its lines, the rows of its frame, or its CSV; or the first of these."""
    most = _ENOUGH if sample else None
    if source.raw.startswith(parquet.MAGIC):
        return _frame_rows(parquet.read(source, source.raw)[:most])
    if source.kind == "json":
        return [("", _of_columns(source.sample if sample else source.json))]
    if source.kind == "jsonl":
        lines = [*islice(source.json_lines() if sample else source.whole_lines(), most)]
        return lines if len(lines) > 1 else [(place, _of_columns(line)) for place, line in lines]
    if not sample:
        return [*_csv_lines(source)][1:]
    records: Documents = []
    with suppress(DstbenchError):  # in a broken line, which reading will say
        records.extend(islice(_csv_lines(source, beginning=True), most))
    return records


def _of_columns(document: Any) -> Any:
    """The records in an object of columns, as pandas writes a frame to JSON; other documents are unchanged."""
    if not isinstance(document, dict) or not any(map(says_its_side, document)):
        return document
    columns = [
        [*cells.values()] if isinstance(cells, dict) and [*cells] == [*map(str, range(len(cells)))] else cells
        for cells in document.values()
    ]
    if not all(isinstance(cells, list) for cells in columns) or len({*map(len, columns)}) != 1:
        return document
    return [dict(zip(document, row, strict=True)) for row in zip(*columns, strict=True)]


def _frame_rows(frame: pl.DataFrame) -> Documents:
    """The rows of a frame as records; what a struct has only because other rows have it is left out."""
    nested = {name for name, dtype in frame.schema.items() if dtype.is_nested()}
    return [
        (f"row {number}: ", {name: _without_nulls(cell) if name in nested else cell for name, cell in record.items()})
        for number, record in enumerate(frame.iter_rows(named=True))
    ]


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _path(
    source: Source, documents: Documents, is_one: Callable[[Mapping[str, Any]], bool] | None = None
) -> Path | None:
    """The path to the records, whose keys the user may give, in the first of these documents that shows one."""
    is_one = is_one or partial(is_record, given=source.keys)
    ways = (find_path(document, is_one, source.keys) for _, document in documents[:_ENOUGH])
    return next((way for way in ways if way is not None), None)


def _walked(source: Source, documents: Documents, path: Path) -> Iterator[Turn]:
    """The records in documents, at the end of the path."""
    walker = Walker(source, is_guess=True)
    source.outside = tuple(id_.key for step in path for id_ in step.ids if id_.key)
    for place, document in documents:
        for turn in walker.walk(document, path, place):
            yield turn._replace(content=with_inner(turn.content, source.keys)) if source.keys else turn


def _sniff(source: Source) -> bool:
    documents = _documents(source, sample=True)
    path = () if _is_csv(source) else _path(source, documents)
    if path is None or (source.raw.startswith(parquet.MAGIC) and is_long([*documents[0][1]], source.keys)):
        return False
    rows: list[Turn] = []
    with suppress(Broken):  # reading says what is wrong
        rows.extend(islice(_walked(source, documents, path), _ENOUGH))
    rows = [row for row in rows if isinstance(row.content, Mapping) and len(row.content) > 1 - bool(path)]
    try:
        # One object without ids is no record, but may be of both sides.
        is_sequence = len(rows) > 1 and all(step.kind == "list" for step in path)
        return bool(rows) and (not Records.of(source, rows).have_no_ids or is_sequence)
    except KeysError as error:  # likewise
        is_list = path == LIST or source.kind == "jsonl" or error.compete
        return is_list and any(says_its_side(str(key)) for row in rows for key in row.content)


def line_that_works(source: Source) -> str | None:
    """The option with the keys by which a file can be read as records; None: nothing in it looks like states."""
    documents = _documents(source, sample=True)[_is_csv(source) :]  # without the header
    trial = Source(source.path)
    trial.split = source.split
    path = next((way for least in (2, 1) if (way := _path(trial, documents, partial(has_states, least=least)))), ())
    inner = max((at for at, step in enumerate(path) if step.kind == "key"), default=0)
    try:
        records, around = (
            [turn.content for turn in islice(_walked(trial, documents, way), _ENOUGH)] for way in (path, path[:inner])
        )
        line, trial.keys = line_for(records, around if inner else ()) or (None, None)
        if trial.keys is not None and (opened := _opened(trial, documents)) is not None:
            opened.add(StatesBuilder(trial.name, FORMAT.name))
        return line if trial.keys is not None and _sniff(trial) else None
    except (DstbenchError, KeysError, Broken, AttributeError, TypeError):  # of a layout that is none of records'
        return None


def keys_in(source: Source) -> list[str]:
    """The keys of the first objects in a file, each once, or its columns; none if there is only one column."""
    documents = [document for _, document in _documents(source, sample=True)]
    keys = [*dict.fromkeys(key for value in objects(documents, _DEEP) for key in value)]
    return keys if len(keys) > 1 else []


def have_states(frame: pl.DataFrame, keys: Keys | None = None) -> bool:
    """Whether the first rows of a frame are records of turns: whether any has a state."""
    return any(is_record(record, keys) for _, record in _frame_rows(frame))


def from_memory(
    records: Iterable[Any], name: str, keys: Keys | None = None, unreadable: Unreadable = "error"
) -> States:
    """States given as Python objects; `name` stands for a file name in messages."""
    source, builder = Source(name), StatesBuilder(name, FORMAT.name)
    source.keys, source.unreadable, source.hint = keys, unreadable, FORMAT.hint
    documents = _frame_rows(records) if isinstance(records, pl.DataFrame) else [("", [*records])]
    if (read := _opened(source, documents)) is not None:
        read.add(builder)
    states = noting_vanishing_slots(builder.build())
    own = {"dialogue": "dialogue_id", "turn": "turn", "gold": "gold", "pred": "pred", "slot": ""}
    are_own = read is not None and all(getattr(read.fields, field) in (None, key) for field, key in own.items())
    return replace(states, format="jsonl") if are_own else states


# --- CSV --------------------------------------------------------------------------------------------------------------


def _csv_lines(source: Source, *, beginning: bool = False) -> Iterator[tuple[str, Any]]:
    """The header as a record of nulls, and the lines below it as records, with their places."""
    csv.field_size_limit(1 << 30)  # the history of a dialogue may be long
    separator, content = separator_of(source.raw)
    start = len(source.raw) - len(content)  # behind Excel's first line, which is ASCII
    text = content[:_BEGINNING].decode(errors="replace") if beginning else source.text[start:]
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    names: list[str] | None = None
    before = number = 2 if start else 1
    try:
        for fields in lines:
            place, number = f"line {number}: ", lines.line_num + before
            if not any(fields):
                continue
            if names is None:
                names = [name.strip() for name in fields]
                yield place, dict.fromkeys(filter(None, names))
                if again := first_repeated(filter(None, names)):
                    raise source.misshapen(f"{place}the header names the column {again!r} twice")
            elif len(fields) != len(names):
                what = f"{place}{len(fields)} fields, where the header has {len(names)}"
                raise source.error(what, CUT_OFF.replace("a tab", "a separator without quotes"))
            else:
                yield place, {name: field or None for name, field in zip(names, fields, strict=True) if name}
    except csv.Error as error:
        raise source.error(f"line {number}: broken CSV: {error}", CUT_OFF) from None


# --- from records to states -------------------------------------------------------------------------------------------


def _read(source: Source, states: StatesBuilder) -> None:
    if (records := _opened(source)) is not None:
        records.add(states)


def spoken(source: Source) -> Iterator[Said]:
    """What was said in each turn of the records (see `Format.said`)."""
    records = _opened(source, need_states=False)
    if records is None or records.have_no_ids:
        return
    keys = records.fields.system, records.fields.user
    contents = {turn: row.content for row, turn in zip(records.rows[::-1], records.turns[::-1], strict=True)}
    for turn in dict.fromkeys(records.turns):  # in rows of one slot each, a turn has several
        system, user = (text if isinstance(text := contents[turn].get(key), str) else None for key in keys)
        yield *turn, system, user


def _opened(source: Source, documents: Documents | None = None, *, need_states: bool = True) -> Records | None:
    """The records in a file, or in documents, checked; None: there are none."""
    path: Path | None = () if documents is None and _is_csv(source) else None
    documents = _documents(source) if documents is None else documents
    path = _path(source, documents) if path is None else path
    if path is None:  # reading says what is wrong
        path = LIST if documents and isinstance(documents[0][1], list) else ()
    try:
        rows = [*_walked(source, documents, path)]
        for row in rows:
            if not isinstance(row.content, Mapping):
                raise source.misshapen(f"{row.place}expected an object, found {clipped(str(row.content))}")
        return Records.of(source, rows, need_states=need_states) if rows else None
    except Broken as error:
        raise error.in_file(source, names_turn=False) from None
    except KeysError as error:
        raise source.error(error.what, error.hint) from None


def _divided(rows: Sequence[Turn], fields: Fields) -> Sequence[Turn]:
    """The records, with each that is a whole dialogue, with a list of states per side, divided into its turns."""
    sides = [*dict.fromkeys(key for key in (fields.gold, fields.pred) if key is not None)]
    cells = [cell for row in rows for key in sides if (cell := row.content.get(key)) is not None]
    is_one = fields.turn is not None or fields.slot is not None or any(row.number is not None for row in rows)
    if is_one or not any(map(states_in, cells)):
        return rows
    if any(states_in(cell, surely=False) is None and not lists_slots(cell) for cell in cells):
        return rows  # reading says what is wrong
    return [turn for row in rows for turn in _turns(row, sides)]


def _turns(row: Turn, sides: Sequence[str]) -> Iterator[Turn]:
    """A record per turn of a record that is a whole dialogue; lists of utterances are divided, too."""
    lists = {key: cell for key in sides if (cell := row.content.get(key)) is not None}
    if key := next((key for key, cell in lists.items() if lists_slots(cell)), None):
        what = f"{row.place}{key} is a list of slots, which is one state, where others are lists of states"
        raise KeysError(what, "a list of turns is a list of such lists, or of objects")
    states = {key: states_in(cell, surely=False) or {} for key, cell in lists.items()}
    turns = next(iter(states.values()), {})
    if any(of_side.keys() != turns.keys() for of_side in states.values()):
        sizes = " and ".join(str(len(of_side)) for of_side in states.values())
        what = f"{row.place}{' and '.join(states)} do not have the same turns ({sizes} states)"
        raise KeysError(what, "a dialogue needs as many gold states as predicted ones")
    for at, turn in enumerate(turns):
        items = row.content.items()
        content = {key: cell[at] if isinstance(cell, list) and len(cell) == len(turns) else cell for key, cell in items}
        content |= {key: of_side[turn] for key, of_side in states.items()}
        yield row._replace(place=f"{row.place}turn {turn}: ", content=content, number=turn)


def _of_one_speaker(rows: Sequence[Turn], fields: Fields) -> Sequence[Turn]:
    """The records of the speaker whose turns have states, counted anew in each dialogue; all, if both's have."""
    sides = {fields.gold, fields.pred} - {None}
    key = next(iter(named([*rows[0].content], key_names.SPEAKER)), None)
    if key is None or not sides:
        return rows
    having = {str(r.content.get(key)) for r in rows if not all(is_missing(r.content.get(side)) for side in sides)}
    kept = [row for row in rows if str(row.content.get(key)) in having]
    if not having or len(kept) == len(rows):
        return rows
    if fields.turn is not None or any(row.number is None for row in kept):
        return kept
    numbers = defaultdict[Any, Iterator[int]](count)
    return [row._replace(number=next(numbers[row.dialogue])) for row in kept]


def _where(row: Turn) -> dict[str, Any]:
    """The dialogue and turn of a record, as written, for messages."""
    ids = {"dialogue": row.dialogue, "turn": row.number}
    return {name: value for name, value in ids.items() if type(value) in (str, int, float)}


@dataclass
class Records:
    """Records of single turns, with their ids as written; messages name their keys if these are the file's own."""

    source: Source
    rows: Sequence[Turn]
    fields: Fields
    are_named: bool = True
    are_divided: bool = False  # each was a whole dialogue, with the states of its turns
    groups: tuple[str, ...] = ()  # the keys of the objects that they are in, although they name their dialogues
    ends_in_turn: bool = False  # the ids do
    counted: str = ""  # the note on turns that are counted in their order; empty: they are numbered

    @classmethod
    def of(cls, source: Source, rows: Sequence[Turn], *, need_states: bool = True) -> Records:
        """The records of single turns, and their keys. A `KeysError`: these do not say what they hold."""
        if rows[0].dialogue is None and (name := source.dialogue) is not None:  # a key of the records may say otherwise
            rows = [row._replace(dialogue=name) for row in rows]
        names_dialogue, contents = rows[0].dialogue is not None, [row.content for row in rows]
        fields = guess(contents, source.keys, source.outside, names_dialogue=names_dialogue, need_states=need_states)
        divided = _divided(rows, fields)
        turns, groups = _of_one_speaker(divided, fields), tuple[str, ...]()
        if fields.dialogue is not None:
            groups = tuple(dict.fromkeys(str(row.dialogue) for row in turns))
            turns = [row._replace(dialogue=row.content.get(fields.dialogue)) for row in turns]
        if fields.turn is not None:
            turns = [row._replace(number=row.content.get(fields.turn)) for row in turns]
        return cls(source, turns, fields, are_divided=divided is not rows, groups=groups)

    def add(self, states: StatesBuilder) -> None:
        """Add all turns and states, and the notes."""
        fields, cells, sides = self.fields, StateCells(self.source.unreadable), dict[str, str]()
        for side, key in (("gold", fields.gold), ("pred", fields.pred)):
            column = [row.content.get(key) for row in self.rows] if key is not None else []
            is_null = all(says_nothing(cell) if isinstance(cell, str) else is_missing(cell) for cell in column)
            if key is not None and is_null and fields.slot is None:
                states.note(f"{key} is null in every record, and so is ignored")
            elif key is not None:
                sides[side] = key
        states.either = fields.either
        if len(sides) < 2 and (others := cumulative(fields.unused)):
            side, what = ("pred", "the prediction") if "pred" not in sides else ("gold", "gold")
            states.instead = f"--keys {side}={others[0]} takes that as {what}"
        for row, turn in zip(self.rows, self.turns, strict=True) if fields.slot is None else self._joined(sides):
            at = states.turn(*turn)
            if not any(key in row.content for key in sides.values()) and fields.slot is None:
                names = " nor ".join([*dict.fromkeys([*sides.values(), "gold", "pred"])][:2])
                others = sorted(str(key) for key in row.content if key not in (fields.dialogue, fields.turn))[:12]
                raise self._error(row, f"neither {names}; unknown keys: {', '.join(others) or 'none'}")
            for side, key in [*sides.items()][: 1 if fields.either else 2]:
                if key not in row.content:
                    continue
                of = (states.gold, states.pred) if fields.either else (getattr(states, side),)
                is_gold = side == "gold" and not fields.either
                try:
                    cells.add_from(of, at, row.content[key], is_gold=is_gold)
                except Misfit as error:
                    place = f"{row.place}{key}: " if self.are_named else row.place
                    where = {"is_gold": is_gold, "line": self._other_keys(), **_where(row)}
                    raise no_state(self.source, error, place, **where) from None
        if self.have_no_ids:
            states.are_in_order = states.are_turns = True
            states.note(f"no ids: its {number_of(len(self.rows), 'record')} are taken for gold's turns in their order")
        for note in (self.counted, self._keys_used(sides) if self.are_named else "", *cells.notes()):
            if note:
                states.note(note)

    def _other_keys(self) -> str:
        """The option with the keys under which there seem to be states, if they are not those that were used."""
        line, keys = line_for([row.content for row in self.rows[:_GROUPS]], names_dialogue=True) or ("", Keys())
        sides = [(getattr(keys, side), key) for side in ("gold", "pred") if (key := getattr(self.fields, side))]
        return line if all(other is not None and other.startswith(f"{key}.") for other, key in sides) else ""

    def _error(self, row: Turn, what: str) -> DstbenchError:
        return self.source.misshapen(f"{row.place}{what}", **_where(row))

    def _joined(self, sides: Mapping[str, str]) -> list[tuple[Turn, tuple[str, int]]]:
        """A record for each turn, from those of one slot each."""
        fields, joined, unpredicted = self.fields, dict[tuple[str, int], Turn](), set()
        for row, turn in zip(self.rows, self.turns, strict=True):
            empty = Turn(*turn, {key: [] for key in sides.values()}, place=row.place)
            content = joined.setdefault(turn, empty).content
            slot, domain = row.content.get(fields.slot), row.content.get(fields.domain)
            for side, key in sides.items():
                if is_missing(value := row.content.get(key)):
                    continue
                if isinstance(slot, str):
                    content[key].append({"domain": domain, "slot": slot, "value": value})
                elif side == "gold":
                    raise self._error(row, "a gold value without a slot")
                else:
                    unpredicted.add(turn)  # as a long table marks such a turn
        for turn in unpredicted:
            del joined[turn].content[sides["pred"]]
        return [(row, turn) for turn, row in joined.items()]

    def _keys_used(self, sides: Mapping[str, str]) -> str:
        """Which keys were used; empty: dstbench's own, or those that the user gives, and no others could be meant."""
        fields, ids = self.fields, [(self.fields.dialogue, "dialogue"), (self.fields.turn, "turn")]
        if self.ends_in_turn:
            ids = [(fields.dialogue, "dialogue and turn")]
        around = [
            word for key, word in ids if key is None and not (word == "turn" and (self.are_divided or self.counted))
        ]
        words = [(fields.gold, "states")] if fields.either else [(key, side) for side, key in sides.items()]
        used = [*ids, (fields.slot, "slot"), (fields.domain, "domain"), *words]
        keys = [(key, word) for key, word in used if key is not None]
        usual = {key for key, word in keys if folded(key) == word or (key, word) == ("dialogue_id", "dialogue")}
        further = []
        if around and not self.have_no_ids:
            further.append(f"{' and '.join(around)} from the objects around the records")
        if self.are_divided:
            further.append("turn from a state's place among its dialogue's")
        if 1 < len(self.groups) <= _GROUPS and not any(map(str.isdecimal, "".join(self.groups))):
            further.append(f"records under {', '.join(self.groups)} are read together")
        if fields.unused:
            further.append(f"not used: {', '.join(fields.unused)}")
        given = vars(self.source.keys).values() if self.source.keys else ()
        if not further and all(key in usual or key in given for key, _ in keys):
            return ""
        names = ", ".join(key if key in usual else f"{key} as {word}" for key, word in keys)
        return "; ".join([f"keys used: {names}", *further])

    # --- turns -----------------------------------------------------------------------------------------------------

    @cached_property
    def turns(self) -> list[tuple[str, int]]:
        """Dialogue and turn of each record."""
        fields, given, rows = self.fields, self.source.keys, self.rows
        if self.have_no_ids:
            return [(str(number), 0) for number in range(len(rows))]
        is_split = fields.turn is not None and fields.turn == fields.dialogue
        if not is_split and (fields.turn is not None or all(row.number is not None for row in rows)):
            return [(self._dialogue(row), self._turn(row)) for row in rows]
        is_whole = given is not None and given.dialogue is not None  # as the user says
        self.ends_in_turn = is_split or (not is_whole and self._end_in_turns())
        if self.ends_in_turn:
            return self._split()
        if fields.slot is not None:
            raise self.source.error("rows of one slot each, and no key says of which turn", "--keys turn=KEY names it")
        numbers = defaultdict[str, Iterator[int]](count)
        turns = [(name, next(numbers[name])) for name in map(self._dialogue, rows)]
        cells = [row.content.get(key) for row in rows for key in {fields.gold, fields.pred} - {None}]
        lists = [cell for cell in cells if isinstance(cell, list) and len(cell) > 1]
        are_texts = (all(isinstance(item, str) and _WRITTEN_OUT.search(item) for item in cell) for cell in lists)
        if len(numbers) == len(turns) and any(are_texts):
            what = "one record per dialogue, with lists of texts that are one state or the states of several turns"
            hint = "give each record a key turn if they are one state, each turn a list if several"
            raise self.source.error(what, hint)
        sizes = f"{number_of(len(turns), 'record')} of {number_of(len(numbers), 'dialogue')}"
        self.counted = f"no turn numbers: {sizes}, counted in their order"
        return turns

    @property
    def have_no_ids(self) -> bool:
        """Whether nothing names the dialogues, so that only the order of gold's turns tells whose states these are."""
        return self.fields.dialogue is None and all(row.dialogue is None for row in self.rows)

    def _end_in_turns(self) -> bool:
        """Whether the dialogues' ids end in the turn.

        MultiWOZ's ids are complete without the number after them, so that it is a turn, be there gaps: partial runs
        have such ids. Other ids may be numbered themselves, such as SGD's ``1_00000``: after these there must be a turn
        number in every record, unpadded, which counts the turns of several dialogues, of each from 0 or 1. If it does
        not, or is padded to a turn's few digits, either reading may be wrong, which is an error.
        """
        texts, is_long = [row.dialogue for row in self.rows], self.fields.slot is not None
        if 2 * sum(flag_in(text) is not None for text in texts) <= len(texts):
            return False
        if not is_long and 2 * len(set(map(str, texts))) <= len(texts):
            return False  # several records of a dialogue, in their order
        numbers = defaultdict[str, set[int]](set)
        for name, turn in self._split():
            numbers[name].add(turn)
        if all(map(is_multiwoz, numbers)):
            return True
        padded = [match[0] for text in texts if (match := _PADDED.search(text)) is not None]
        if any(map(_NUMBERED.search, numbers)) or any(len(digits) >= _LONG for digits in padded):
            return False
        are_counted = all(len(of) - 1 == max(of) - min(of) and min(of) < 2 for of in numbers.values())
        is_once = is_long or len({*texts}) == len(texts)
        if are_counted and is_once and not padded and len(numbers) > 1:
            return True
        key = self.fields.dialogue
        why = "they are padded" if padded else "they do not count each of several dialogues' turns"
        what = f"ids such as {texts[0]!r} may end in the turn, or be numbered themselves, as {why}"
        hint = f"--keys id={key} if they are whole, --keys id={key},turn={key} if they end in the turn"
        raise self.source.error(what, hint if key else "give each record a key turn")

    def _split(self) -> list[tuple[str, int]]:
        """Dialogue and turn of each record, by ids that end in the turn."""
        turns = [flag_in(row.dialogue) for row in self.rows]
        if None in turns:
            row = self.rows[turns.index(None)]
            what = f"{self.fields.dialogue or 'the key'} {row.dialogue!r} has no turn at its end, unlike others"
            raise self.source.error(f"{row.place}{what}", "others are of the form <dialogue>-<turn>")
        return [*filter(None, turns)]

    def _dialogue(self, row: Turn) -> str:
        key, dialogue = self.fields.dialogue, without_numpy(row.dialogue)
        if isinstance(dialogue, float) and dialogue.is_integer():
            dialogue = int(dialogue)
        if isinstance(dialogue, bool) or not isinstance(dialogue, (str, int)):
            what = f"{key}: {in_words(dialogue)} is not an id" if dialogue is not None else f"no {key or 'dialogue id'}"
            raise self._error(row, f"{what} here")
        return str(dialogue)

    def _turn(self, row: Turn) -> int:
        key = self.fields.turn
        if (number := turn_number(row.number)) is not None:
            return number
        if row.number is None:
            raise self._error(row, f"no {key} here")
        what = f"{row.place}{key or 'the key'}: the turn is not a number"
        where = _where(row) | {"turn": str(row.number)}
        raise self.source.error(what, "--keys turn=KEY chooses another key", **where)


# --- formats ----------------------------------------------------------------------------------------------------------


FORMAT: Final = Format(
    name="records",
    title="records of turns under any keys, as JSON, JSON Lines or Parquet",
    example='[{"dial_id": "MUL9901", "turn_id": 0, "ground_truth": {"hotel-area": "north"}, "predicted": {}}]',
    sniff=lambda source: not _is_csv(source) and _sniff(source),
    reader=_read,
    said=spoken,
    finish=noting_vanishing_slots,
    free_keys=True,
    loose=True,
)
CSV: Final = replace(
    FORMAT,
    name="csv",
    title="CSV of turns, their states as JSON, or of slots (dialogue,turn,slot,gold,pred)",
    example="dialogue,turn,slot,gold,pred⏎MUL9901,0,hotel-area,north,north",
    sniff=lambda source: _is_csv(source) and _sniff(source),
)


# --- states in lists --------------------------------------------------------------------------------------------------


def are_lists(data: Any) -> bool:
    """Whether data are lists of states, one list per dialogue."""
    return (
        isinstance(data, (list, tuple))
        and any(data)
        and all(isinstance(item, (list, tuple)) and could_be_state(item) is not True for item in data)
        and not any(could_be_state(state) is False for item in data for state in item)
        and find_path([*data[:_SAMPLE]], is_record) is None
    )


def _by_side(document: Any) -> dict[str, Any]:
    """What is under the key of each side, if an object has both; else the whole, of either side."""
    keys = [*document] if isinstance(document, dict) else []
    gold, pred = (named(keys, names) for names in (key_names.GOLD[0] + key_names.GOLD[1], key_names.PREDICTIONS))
    if len(gold) == len(pred) == 1 and isinstance(document[gold[0]], dict) and isinstance(document[pred[0]], dict):
        return {"gold": document[gold[0]], "pred": document[pred[0]]}
    return {"either": document}


def _are_states(document: Any) -> bool:
    """Whether there is one state under each key, instead of those of several turns."""
    if not isinstance(document, dict):
        return False
    for key, cell in document.items():
        has_turns = isinstance(cell, dict) and any(turn_number(inner) is not None for inner in cell)
        is_one = isinstance(cell, list) or (flag_in(key) is not None and not has_turns)
        if cell and not (is_one and could_be_state(cell)):
            return False
    return any(document.values())


def _sniff_lists(source: Source) -> bool:
    """Whether most turns of the first dialogues look like states, and some of them have slots."""
    document: Any = source.sample if source.kind == "json" else {}
    sides = _by_side(document)
    if (isinstance(document, list) and not are_lists(document)) or ("either" in sides and source.around):
        return False
    try:
        turns = [turn for of_side in sides.values() for turn in _turns_of_side(source, of_side, is_sample=True)]
    except DstbenchError:
        return False
    are_numbered = all(turn.number is None or turn_number(turn.number) is not None for turn in turns)
    are_states = hold_states([turn.content for turn in turns])
    return are_numbered and bool(are_states) and any(_has_slots(turn.content) for turn in turns)


def _has_slots(state: Any) -> bool:
    """Whether a state is nested, or has slots that look like those of a domain."""
    if not isinstance(state, dict):
        return could_be_state(state) is True
    is_nested = any(isinstance(inner, dict) and inner for inner in state.values())
    slots = [slot for slot, value in state.items() if isinstance(value, (str, list))]
    return is_nested or any("-" in slot or canonical_slot(slot) in KNOWN_SLOTS for slot in slots)


def _read_lists(source: Source, states: StatesBuilder) -> None:
    document: Any = source.json if source.kind in ("json", "jsonl") else None
    if document != {} and not (document and type(document) in (dict, list)):
        raise source.misshapen("no JSON object of dialogues")
    rows, sides = dict[tuple[Any, Any], Turn](), _by_side(document)
    for side, of_side in sides.items():
        for turn in _turns_of_side(source, of_side):
            row = rows.setdefault((turn.dialogue, turn.number), turn._replace(content={}))
            row.content[side] = turn.content
    states.are_in_order = isinstance(document, list)
    fields = Fields(gold=next(iter(sides)), pred=[*sides][-1])  # the same key if there is one, of either side
    records = Records(source, [*rows.values()], fields, are_named=False)
    if rows and records.turns and records.counted:
        what = "one state, where the states of a dialogue must be, as the key does not end in the turn"
        raise source.misshapen(what, dialogue=next(iter(rows.values())).dialogue)
    records.add(states)
    states.either = states.either and not states.are_in_order


def _turns_of_side(source: Source, document: Any, *, is_sample: bool = False) -> Iterator[Turn]:
    """The turns of one side, whose contents are their states; of a sample, it is not said what may be one state."""
    are_states = _are_states(document)
    for key, cell in document.items() if isinstance(document, dict) else enumerate(document):
        flag, what = flag_in(key), "a list of slots, which is one state" if lists_slots(cell) else in_words(cell)
        has_turn = flag is not None and is_multiwoz(flag[0]) and not is_sample
        if are_states:
            yield Turn(key, None, cell)
        elif has_turn or (lists_slots(cell) and not is_sample) or not isinstance(cell, (list, dict)):
            what += " under a key that ends in a turn" if has_turn else ""
            raise source.misshapen(f"{what}, where the states of a dialogue must be", dialogue=str(key))
        else:
            turns = cell.items() if isinstance(cell, dict) else enumerate(cell)
            yield from (Turn(str(key), number, state) for number, state in turns)


STATE_LISTS: Final = Format(
    name="state-lists",
    title="lists of states per dialogue (gold_states.json); as predictions, they need --gold",
    example='{"mul9901": [{"hotel": {"area": "north"}}, {"hotel": {"area": "north", "stars": "4"}}]}',
    sniff=_sniff_lists,
    reader=_read_lists,
    finish=noting_vanishing_slots,
    loose=True,
)
