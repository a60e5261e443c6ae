"""Records of turns under any keys: what most trackers of language models write, and frames and lists in memory.

Conventions: a record is a turn, with the dialogue's id, the turn's number, and a gold or a predicted state or both,
cumulative. Records may be nested in any way: `{"summary": …, "details": […]}`, a list of dialogues that hold their
turns, an object of dialogues by id, of turns by number, or of records by `<dialogue>-<turn>`. The path to them is found
in the first ones, and `walk` follows it; `record_keys` finds their keys,
`record_reading` numbers the turns, and `state_cells` reads the states. A key may hold dialogue and turn together,
``MUL0484.json-3``. Without turn numbers, turns are counted in the order of a dialogue's records. A record may also be
one slot of a turn (``slot``, with its gold and predicted value): then the turn has the slots of all its records. A side
that is null in every record is missing. A state whose key does not name its side may be gold or predicted: in a file
named as ``--gold`` it is gold.

In CSV, the first line names the columns, fields may be quoted as in RFC 4180, and states are written as JSON or as
Python prints them. An empty field is null. A column without a name is ignored: pandas writes row numbers in one.

A line of a batch (OpenAI's, or Anthropic's message batches) is the record ``{"custom_id": …, "output": its text}``; a
failed request gives no record, so its turn has no prediction. A line of lm-eval's ``samples_*.jsonl`` is the record of
its ``doc``, with ``target`` and, as ``output``, its filtered answer.

Notes say which keys were used, what was read loosely, and if slots vanish so often that states may be of single turns.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final

import polars as pl

from dstbench.errors import first_repeated
from dstbench.io import parquet
from dstbench.io.tables import separators
from dstbench.readers.format import Format, Source, States, StatesBuilder
from dstbench.readers.key_names import DIALOGUE, TURN, folded, says_its_side, turn_in
from dstbench.readers.options import Keys, is_long
from dstbench.readers.record_keys import KeysError, by_turn, guess, is_record, keys_for, line_for, with_inner
from dstbench.readers.record_reading import collect, spoken
from dstbench.readers.states import noting_vanishing_slots
from dstbench.readers.tsv import CUT_OFF
from dstbench.readers.walk import Broken, Id, Step, Turn, Walker
from dstbench.readers.wrappers import values
from dstbench.typing import Unreadable

# The levels of a document at which keys are looked for.
_DEEP: Final = 5
# Records that are looked at to see what a file is, and characters of a text file in which its header and they are.
_SAMPLE: Final = 20
_BEGINNING: Final = 1 << 18
# The keys that lead to the text of an answer, and the deepest nesting of such keys and lists.
_AROUND: Final = ("body", "choices", "message", "output", "content", "text")
_DEPTH: Final = 8
# No layout nests records deeper.
_NESTED: Final = 4
# A list, or an object, of records that nothing names.
_LIST: Final = (Step("list", or_object=True),)
# What stands for the record of a request that failed.
_FAILED: Final = object()


def _turns_of(source: Source, documents: Iterable[tuple[str, Any]] | None = None) -> list[Turn]:
    """The records in a file, or in documents."""
    try:
        return [*_walked(source, _documents(source) if documents is None else documents)]
    except Broken as error:
        raise source.misshapen(str(error)) from None


def _documents(source: Source, *, sample: bool = False) -> Iterator[tuple[str, Any]]:
    """The documents in which records are sought, with their places: a file's one, its lines, or a frame's rows."""
    if source.raw.startswith(parquet.MAGIC):
        frame = parquet.read(source, source.raw)
        yield from _frame_rows(frame.head(_SAMPLE) if sample else frame)
    elif source.kind == "jsonl":
        lines = islice(source.json_lines(), _SAMPLE) if sample else source.whole_lines()
        records = [(place, record) for place, item in lines if (record := _opened(item)) is not _FAILED]
        yield from records if len(records) > 1 else ((place, _of_columns(item, source.keys)) for place, item in records)
    elif source.kind == "json":
        document = source.sample if sample else source.json
        if isinstance(document, list):
            document = _all_opened(document)
        yield "", _of_columns(document, source.keys)
    elif not sample:
        raise source.misshapen("neither JSON nor Parquet")


def _of_columns(document: Any, keys: Keys | None) -> Any:
    """The records in an object of columns, as pandas writes a frame; other documents are unchanged."""
    if not isinstance(document, dict) or len(document) < 2:
        return document
    names, rows = document.get("columns"), document.get("data")
    if isinstance(names, list) and isinstance(rows, list):
        is_whole = rows and all(isinstance(row, list) and len(row) == len(names) for row in rows)
        return [dict(zip(names, row, strict=True)) for row in rows] if is_whole else document
    is_named = (keys and keys.dialogue in document) or any(folded(name) in DIALOGUE for name in document)
    if not is_named or not any(says_its_side(name) for name in document) or not next(iter(document.values())):
        return document
    columns = [
        [*cells.values()] if isinstance(cells, dict) and [*cells] == [*map(str, range(len(cells)))] else cells
        for cells in document.values()
    ]
    if not all(isinstance(cells, list) for cells in columns) or len({*map(len, columns)}) != 1:
        return document
    return [dict(zip(document, row, strict=True)) for row in zip(*columns, strict=True)]


def _walked(source: Source, documents: Iterable[tuple[str, Any]]) -> Iterator[Turn]:
    """The records in documents, by the path in the first ones."""
    documents = [*documents]
    path = _path(documents, source.keys)
    if path is None:
        path = _LIST if documents and isinstance(documents[0][1], list) else ()
    walker = Walker(source, tells_places=True)
    source.outside = tuple(id_.key for step in path for id_ in step.ids if id_.key)
    for place, document in documents:
        for turn in walker.walk(document, path, place):
            yield turn._replace(content=with_inner(turn.content, source.keys)) if source.keys else turn


def _path(documents: Sequence[tuple[str, Any]], keys: Keys | None) -> tuple[Step, ...] | None:
    ways = (find_path(document, partial(is_record, given=keys), keys) for _, document in documents[:_SAMPLE])
    return next((way for way in ways if way is not None), None)


def _frame_rows(frame: pl.DataFrame) -> Iterator[tuple[str, Any]]:
    """The rows of a frame as records, with their places; what a struct has only as other rows have it is left out."""
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    for number, record in enumerate(frame.iter_rows(named=True)):
        for name in nested:
            record[name] = _without_nulls(record[name])
        yield f"row {number}: ", record


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _sniff(source: Source) -> bool:
    documents = [*_documents(source, sample=True)]
    if documents and source.raw.startswith(parquet.MAGIC) and is_long([*documents[0][1]], source.keys):
        return False
    path = _path(documents, source.keys)
    if path is None:
        return False
    rows: list[Turn] = []
    with suppress(Broken):  # reading says what is wrong
        rows.extend(row for row in islice(_walked(source, documents), _SAMPLE) if isinstance(row.content, Mapping))
    if not rows:
        return False
    try:
        guess(source, by_turn(rows, source.keys))
    except KeysError as error:  # likewise
        is_list = path == _LIST or source.kind == "jsonl" or error.compete
        return is_list and any(says_its_side(str(key)) for row in rows for key in row.content)
    return True


def line_that_works(source: Source) -> str | None:
    """The option with the keys by which a file can be read as records; None: nothing in it looks like states."""
    documents: list[tuple[str, Any]] = [*_documents(source, sample=True)]
    if names := _columns(source):
        _, (_, *lines) = next(_heads(source))
        documents = [("", dict(zip(names, fields, strict=False))) for fields in lines]
    keys = keys_for([document for _, document in documents])
    if keys is None:
        return None
    trial = Source(source.path)
    trial.keys, trial.split = keys, source.split
    try:
        guess(trial, by_turn([*islice(_walked(trial, documents), _SAMPLE)], keys))
    except (KeysError, Broken, AttributeError, TypeError):  # of a layout that is none of records'
        return None
    return line_for(keys)


def keys_in(source: Source) -> list[str]:
    """The keys of the first objects in a file, each once, or its columns; none if there is only one column."""
    if source.raw.startswith(parquet.MAGIC):
        return parquet.read(source, source.raw).columns
    if source.kind not in ("json", "jsonl"):
        return _columns(source)
    sample = source.sample if source.kind == "json" else [item for _, item in islice(source.json_lines(), _SAMPLE)]
    objects = [value for depth in range(_DEEP) for value in values(sample, depth) if isinstance(value, dict)]
    return [*dict.fromkeys(key for value in objects for key in value)]


def have_states(frame: pl.DataFrame, keys: Keys | None = None) -> bool:
    """Whether the first rows of a frame are records of turns: whether any has a state."""
    return any(is_record(record, keys) for _, record in _frame_rows(frame))


def from_memory(
    records: Iterable[Any], name: str, keys: Keys | None = None, unreadable: Unreadable = "error"
) -> States:
    """States given as Python objects; `name` stands for a file name in messages."""
    source, builder = Source(name), StatesBuilder(name, FORMAT.name)
    source.keys, source.unreadable, source.hint = keys, unreadable, FORMAT.hint
    documents = _frame_rows(records) if isinstance(records, pl.DataFrame) else [("", _all_opened(records))]
    fields = collect(source, builder, _turns_of(source, documents))
    states = noting_vanishing_slots(builder.build())
    return replace(states, format="jsonl") if fields is not None and fields.are_own else states


# --- the path to the records ------------------------------------------------------------------------------------------


def find_path(
    document: Any, is_one: Callable[[Mapping[str, Any]], bool], given: Keys | None = None
) -> tuple[Step, ...] | None:
    """The path to the records in decoded JSON, or in its beginning; None: there seem to be none."""
    found = _steps_to(document, is_one, given or Keys())
    return None if found is None else _naming(found)


def _steps_to(
    document: Any, is_one: Callable[[Mapping[str, Any]], bool], given: Keys, depth: int = 0
) -> list[tuple[Step, Any]] | None:
    """The steps, each with the first key of the list or object that it leads through."""
    if depth > _NESTED or not document:
        return None
    if isinstance(document, list):
        for item in document[:_SAMPLE]:
            if (way := _steps_to(item, is_one, given, depth + 1)) is not None:
                return [(*_LIST, 0), *way]
    if not isinstance(document, Mapping) or is_one(document):
        return [] if isinstance(document, Mapping) else None
    inner = [(key, value) for key, value in document.items() if isinstance(value, (list, Mapping)) and value]
    if given.turns in document:
        inner = [(given.turns, document[given.turns])]
        is_one, given, depth = lambda _: True, replace(given, turns=None), 0
    ways = {key: way for key, v in inner[:_SAMPLE] if (way := _steps_to(v, is_one, given, depth + 1)) is not None}
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


# --- answers of language models ---------------------------------------------------------------------------------------


def _all_opened(items: Iterable[Any]) -> list[Any]:
    return [record for item in items if (record := _opened(item)) is not _FAILED]


def _opened(item: Any) -> Any:
    """The record in an item of a file, with the answer as `output`; `_FAILED`: no answer. Other items are unchanged.

    >>> _opened({"custom_id": "SNG1-0", "response": {"body": {"choices": [{"message": {"content": "{}"}}]}}})
    {'custom_id': 'SNG1-0', 'output': '{}'}
    >>> _opened({"doc": {"id": "SNG1-0"}, "target": "{}", "filtered_resps": ["{}"], "jga": 1.0})
    {'id': 'SNG1-0', 'target': '{}', 'output': '{}'}
    """
    if not isinstance(item, Mapping):
        return item
    if "custom_id" in item and ("response" in item or "result" in item):
        text = _text(item.get("response") or item.get("result"))
        return _FAILED if text is None else {"custom_id": item["custom_id"], "output": text}
    if isinstance(doc := item.get("doc"), Mapping) and "filtered_resps" in item:
        return {**doc, "target": item.get("target"), "output": _text(item["filtered_resps"])}
    return item


def _text(answer: Any, depth: int = 0) -> str | None:
    """The text inside an answer's nested objects and lists; None: there is none."""
    if isinstance(answer, str) or depth > _DEPTH:
        return answer if isinstance(answer, str) else None
    parts = answer if isinstance(answer, list) else []
    if isinstance(answer, Mapping):
        parts = [answer[key] for key in _AROUND if key in answer]
    return next((text for part in parts if (text := _text(part, depth + 1)) is not None), None)


# --- CSV --------------------------------------------------------------------------------------------------------------


def _lines(text: str, separator: str) -> Any:
    csv.field_size_limit(1 << 30)  # the history of a dialogue may be long
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)


def _heads(source: Source) -> Iterator[tuple[str, list[list[str]]]]:
    """The first lines of a text file as each separator divides them, the most frequent one first."""
    if source.kind not in ("text", "tsv"):
        return
    possible, beginning = separators(source.raw[:_BEGINNING])
    for separator in possible:
        fields: list[list[str]] = []
        with suppress(csv.Error):  # a field may go on after the beginning
            fields.extend(islice(filter(any, _lines(beginning.decode(errors="replace"), separator)), _SAMPLE))
        if fields:
            yield separator, fields


def _columns(source: Source) -> list[str]:
    """The names in the first line of a text file, split at the most frequent separator; empty if there is only one."""
    names = next((names for _, (names, *_) in _heads(source)), [])
    return [name.strip() for name in names] if len(names) > 1 else []


def _separator(source: Source) -> str | None:
    """The separator whose columns can be read as records; None: there is none."""
    for separator, (names, *lines) in _heads(source):
        samples = [line for line in lines if len(line) == len(names)] or [[""] * len(names)]
        records = [{name.strip(): field or None for name, field in zip(names, line, strict=True)} for line in samples]
        with suppress(KeysError):
            guess(source, [Turn(None, None, record, record) for record in records])
            return separator
    return None


def _rows(source: Source) -> Iterator[Turn]:
    """The lines of CSV as records."""
    separator = _separator(source)
    if separator is None:
        what = "no header with columns for the dialogue and for a state"
        raise source.error(what, "--keys id=COLUMN,gold=COLUMN,pred=COLUMN names them")
    _, content = separators(source.raw)
    lines = _lines(source.text[len(source.raw) - len(content) :], separator)  # Excel's first line is ASCII
    names: list[str] | None = None
    before = number = 1 if content is source.raw else 2
    try:
        for fields in lines:
            place, number = f"line {number}: ", lines.line_num + before
            if not any(fields):
                continue
            if names is None:
                names = [name.strip() for name in fields]
                if again := first_repeated(filter(None, names)):
                    raise source.misshapen(f"{place}the header names the column {again!r} twice")
            elif len(fields) != len(names):
                what = f"{place}{len(fields)} fields, where the header has {len(names)}"
                raise source.error(what, CUT_OFF.replace("a tab", "a separator without quotes"))
            else:
                record = {name: field or None for name, field in zip(names, fields, strict=True) if name}
                yield Turn(None, None, record, record, place=place)
    except csv.Error as error:
        raise source.error(f"line {number}: broken CSV: {error}", CUT_OFF) from None


# --- formats ----------------------------------------------------------------------------------------------------------


def _format(turns_of: Callable[[Source], list[Turn]], **words: Any) -> Format:
    """A format of records, which a function finds in a file."""

    def read(source: Source, states: StatesBuilder) -> None:
        collect(source, states, turns_of(source))

    return Format(
        reader=read,
        said=lambda source: spoken(source, turns_of(source)),
        finish=noting_vanishing_slots,
        free_keys=True,
        loose=True,
        **words,
    )


FORMAT: Final = _format(
    _turns_of,
    name="records",
    title="records of turns under any keys, as JSON, JSON Lines or Parquet",
    example='[{"dial_id": "MUL9901", "turn_id": 0, "ground_truth": {"hotel-area": "north"}, "predicted": {}}]',
    shape=list[dict[str, Any]],
    sniff=_sniff,
)
CSV: Final = _format(
    lambda source: [*_rows(source)],
    name="csv",
    title="CSV of turns, their states as JSON, or of slots (dialogue,turn,slot,gold,pred)",
    example="dialogue,turn,slot,gold,pred⏎MUL9901,0,hotel-area,north,north",
    shape=dict[str, Any],
    sniff=lambda source: _separator(source) is not None,
)
