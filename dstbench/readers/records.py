"""Records of turns under any keys: what most trackers of language models write, and frames and lists in memory.

Conventions: a record is a turn, with the dialogue's id, the turn's number, and a gold or a predicted state or both,
cumulative. Records may be nested in objects and lists, under any keys (`record_keys`); `record_reading` numbers the
turns, and `state_cells` reads the states. A key may hold dialogue and turn together, ``MUL0484.json-3``. Without turn
numbers, turns are counted in the order of a dialogue's records. A record may also be one slot of a turn (``slot``, with
its gold and predicted value): then the turn has the slots of all its records; or a whole dialogue, with a list of
states for each side. Records that nothing names are gold's turns, in its order. A side that is null in every record is
missing. A state whose key does not name its side may be gold or predicted: in a file named as ``--gold`` it is gold.

In CSV, the first line names the columns, fields may be quoted as in RFC 4180, and states are written as JSON or as
Python prints them. An empty field is null. A column without a name is ignored: pandas writes row numbers in one.

Notes say which keys were used, what was read loosely, and if slots vanish so often that states may be of single turns.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final, TypeAlias

import polars as pl

from dstbench.conventions.slots import KNOWN_SLOTS, canonical_slot
from dstbench.errors import DstbenchError, first_repeated
from dstbench.io import parquet
from dstbench.io.tables import separator_of
from dstbench.readers.format import Format, Source, States, StatesBuilder
from dstbench.readers.key_names import GOLD, PREDICTIONS, named, says_its_side
from dstbench.readers.options import Keys, is_long
from dstbench.readers.record_keys import (
    FLAG,
    LIST,
    Fields,
    KeysError,
    Path,
    find_path,
    has_states,
    hold_states,
    is_record,
    line_for,
    turn_number,
    with_inner,
)
from dstbench.readers.record_reading import Records, collect, guessed, is_multiwoz, spoken
from dstbench.readers.shapes import in_words
from dstbench.readers.source import values
from dstbench.readers.state_cells import could_be_state, lists_slots
from dstbench.readers.states import noting_vanishing_slots
from dstbench.readers.walk import Broken, Turn, Walker
from dstbench.typing import Unreadable

# The levels of a document at which keys are looked for, and the records that are looked at to see what a file is.
_DEEP: Final = 6
_SAMPLE: Final = 20
#: The hint for a line with too few or too many fields.
CUT_OFF: Final = "is the file cut off, or a tab in a text?"
# Bytes of a CSV file in which its header and the first records are.
_BEGINNING: Final = 1 << 18
#: Decoded JSON in which records are sought, each with its place.
Documents: TypeAlias = list[tuple[str, Any]]


def _is_csv(source: Source) -> bool:
    return source.kind in ("text", "tsv") and not source.raw.startswith(parquet.MAGIC)


def _documents(source: Source, *, sample: bool = False) -> Documents:
    """A file's one document, its lines, the rows of its frame, or its CSV; or the first of these."""
    most = _SAMPLE if sample else None
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
    ways = (find_path(document, is_one, source.keys) for _, document in documents[:_SAMPLE])
    return next((way for way in ways if way is not None), None)


def _walked(source: Source, documents: Documents, path: Path) -> Iterator[Turn]:
    """The records in documents, at the end of the path."""
    walker = Walker(source, is_guess=True)
    source.outside = tuple(id_.key for step in path for id_ in step.ids if id_.key)
    for place, document in documents:
        for turn in walker.walk(document, path, place):
            yield turn._replace(content=with_inner(turn.content, source.keys)) if source.keys else turn


def _turns_of(source: Source, documents: Documents | None = None) -> list[Turn]:
    """The records in a file, or in documents."""
    path: Path | None = () if documents is None and _is_csv(source) else None
    documents = _documents(source) if documents is None else documents
    path = _path(source, documents) if path is None else path
    if path is None:  # reading says what is wrong
        path = LIST if documents and isinstance(documents[0][1], list) else ()
    try:
        return [*_walked(source, documents, path)]
    except Broken as error:
        raise error.in_file(source, names_turn=False) from None


def _sniff(source: Source) -> bool:
    documents = _documents(source, sample=True)
    path = () if _is_csv(source) else _path(source, documents)
    if path is None or (source.raw.startswith(parquet.MAGIC) and is_long([*documents[0][1]], source.keys)):
        return False
    rows: list[Turn] = []
    with suppress(Broken):  # reading says what is wrong
        rows.extend(islice(_walked(source, documents, path), _SAMPLE))
    rows = [row for row in rows if isinstance(row.content, Mapping) and len(row.content) > 1 - bool(path)]
    try:
        # One object without ids is no record, but may be of both sides.
        is_sequence = len(rows) > 1 and all(step.kind == "list" for step in path)
        return bool(rows) and (not guessed(source, rows).have_no_ids or is_sequence)
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
            [turn.content for turn in islice(_walked(trial, documents, way), _SAMPLE)] for way in (path, path[:inner])
        )
        line, trial.keys = line_for(records, around if inner else ()) or (None, None)
        if trial.keys is not None:
            path = _path(trial, documents) or path
            rows = [*islice(_walked(trial, documents, path), _SAMPLE)]
            collect(trial, StatesBuilder(trial.name, FORMAT.name), rows)
            return line if _sniff(trial) else None
    except (DstbenchError, KeysError, Broken, AttributeError, TypeError):  # of a layout that is none of records'
        return None
    return line


def keys_in(source: Source) -> list[str]:
    """The keys of the first objects in a file, each once, or its columns; none if there is only one column."""
    documents = [document for _, document in _documents(source, sample=True)]
    objects = [value for depth in range(_DEEP) for value in values(documents, depth) if isinstance(value, dict)]
    keys = [*dict.fromkeys(key for value in objects for key in value)]
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
    fields = collect(source, builder, _turns_of(source, documents))
    states = noting_vanishing_slots(builder.build())
    return replace(states, format="jsonl") if fields is not None and fields.are_own else states


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


# --- formats ----------------------------------------------------------------------------------------------------------


def _read(source: Source, states: StatesBuilder) -> None:
    collect(source, states, _turns_of(source))


FORMAT: Final = Format(
    name="records",
    title="records of turns under any keys, as JSON, JSON Lines or Parquet",
    example='[{"dial_id": "MUL9901", "turn_id": 0, "ground_truth": {"hotel-area": "north"}, "predicted": {}}]',
    sniff=lambda source: not _is_csv(source) and _sniff(source),
    reader=_read,
    said=lambda source: spoken(source, _turns_of(source)),
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


# Dialogues of a list that are looked at.
_DIALOGUES: Final = 200


def are_lists(data: Any) -> bool:
    """Whether data are lists of states, one list per dialogue.

    >>> are_lists([[{"hotel-area": "north"}, {}], []]), are_lists([["hotel-area-north"]])
    (True, False)
    """
    return (
        isinstance(data, (list, tuple))
        and any(data)
        and all(isinstance(item, (list, tuple)) and could_be_state(item) is not True for item in data)
        and not any(could_be_state(state) is False for item in data for state in item)
        and find_path([*data[:_DIALOGUES]], is_record) is None
    )


def _by_side(document: Any) -> dict[str, Any]:
    """What is under the key of each side, if an object has both; else the whole, of either side."""
    keys = [*document] if isinstance(document, dict) else []
    gold, pred = (named(keys, names) for names in (GOLD[0] + GOLD[1], PREDICTIONS))
    if len(gold) == len(pred) == 1 and isinstance(document[gold[0]], dict) and isinstance(document[pred[0]], dict):
        return {"gold": document[gold[0]], "pred": document[pred[0]]}
    return {"either": document}


def _are_states(document: Any) -> bool:
    """Whether there is one state under each key, instead of those of several turns."""
    if not isinstance(document, dict):
        return False
    for key, cell in document.items():
        has_turns = isinstance(cell, dict) and any(turn_number(inner) is not None for inner in cell)
        is_one = isinstance(cell, list) or (FLAG.fullmatch(key) is not None and not has_turns)
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
    rows: dict[tuple[Any, Any], Turn] = {}
    for side, of_side in _by_side(document).items():
        for turn in _turns_of_side(source, of_side):
            row = rows.setdefault((turn.dialogue, turn.number), turn._replace(content={}))
            row.content[side] = turn.content
    states.are_in_order = isinstance(document, list)
    sides = [side for side in ("gold", "pred") if any(side in row.content for row in rows.values())]
    fields = Fields(gold="gold", pred="pred") if sides else Fields(gold="either", pred="either")
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
        flag = FLAG.fullmatch(key) if isinstance(key, str) else None
        what = None
        if are_states:
            yield Turn(key, None, cell)
        elif flag is not None and is_multiwoz(flag[1]) and not is_sample:
            what = "the key ends in a turn, and has the states of several turns"
        elif lists_slots(cell) and not is_sample:
            what = "a list of slots, which is one state, where the states of a dialogue must be"
        elif not isinstance(cell, (list, dict)):
            what = f"{in_words(cell)}, where the states of a dialogue must be"
        else:
            turns = cell.items() if isinstance(cell, dict) else enumerate(cell)
            yield from (Turn(str(key), number, state) for number, state in turns)
        if what:
            raise source.misshapen(what, dialogue=str(key))


STATE_LISTS: Final = Format(
    name="state-lists",
    title="lists of states per dialogue (gold_states.json); as predictions, they need --gold",
    example='{"mul9901": [{"hotel": {"area": "north"}}, {"hotel": {"area": "north", "stars": "4"}}]}',
    sniff=_sniff_lists,
    reader=_read_lists,
    finish=noting_vanishing_slots,
    loose=True,
)
