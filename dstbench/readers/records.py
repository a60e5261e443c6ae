"""Records of turns under any keys: what most trackers of language models write, and frames and lists in memory.

Conventions: a record is a turn, with the dialogue's id, the turn's number, and a gold or a predicted state or both,
cumulative. `record_path` finds the path to the records, which `walk` follows; `record_keys` finds their keys,
`record_turns` numbers the turns, and `state_cells` reads the states. A key may hold dialogue and turn together,
``MUL0484.json-3``. Without turn numbers, turns are counted in the order of a dialogue's records. A record may also be
one slot of a turn (``slot``, with its gold and predicted value): then the turn has the slots of all its records. A side
that is null in every record is missing. A state whose key does not name its side may be gold or predicted: in a file
named as ``--gold`` it is gold.

Notes say which keys were used, what was read loosely, and if slots vanish so often that states may be of single turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final

import polars as pl

from dstbench.io import parquet
from dstbench.readers.format import Format, Said, Source, States, StatesBuilder
from dstbench.readers.key_names import DIALOGUE, folded, says_its_side
from dstbench.readers.options import Keys, is_long
from dstbench.readers.record_answers import FAILED, opened
from dstbench.readers.record_dialogues import by_turn
from dstbench.readers.record_hints import keys_for, line_for
from dstbench.readers.record_keys import KeysError, Samples, choose, is_record, with_inner
from dstbench.readers.record_path import LIST, find_path
from dstbench.readers.record_reading import collect, spoken
from dstbench.readers.states import noting_vanishing_slots
from dstbench.readers.walk import Broken, Step, Turn, Walker
from dstbench.readers.wrappers import values
from dstbench.typing import Unreadable

# The levels of a document at which keys are looked for.
_DEEP: Final = 5
# Records that are looked at to see what a file is.
_SAMPLE: Final = 20


def turns_of(source: Source) -> list[Turn]:
    """The records in a file.

    Raises:
        DstbenchError: The file is of another kind, or records are nested in different ways.
    """
    try:
        return [*_walked(source, _documents(source))]
    except Broken as error:
        raise source.misshapen(str(error)) from None


def _documents(source: Source, *, sample: bool = False) -> Iterator[tuple[str, Any]]:
    """The documents in which records are sought, each with its place: a file's one, its lines, or the rows of a frame.

    Args:
        source: The file.
        sample: Whether the first ones suffice.
    """
    if source.raw.startswith(parquet.MAGIC):
        frame = parquet.read(source, source.raw)
        yield from frame_rows(frame.head(_SAMPLE) if sample else frame)
    elif source.kind == "jsonl":
        lines = islice(source.json_lines(), _SAMPLE) if sample else source.whole_lines()
        records = [(place, record) for place, item in lines if (record := opened(item)) is not FAILED]
        yield from records if len(records) > 1 else ((place, _of_columns(item, source.keys)) for place, item in records)
    elif source.kind == "json":
        document = source.sample if sample else source.json
        if isinstance(document, list):
            document = [record for item in document if (record := opened(item)) is not FAILED]
        yield "", _of_columns(document, source.keys)
    elif not sample:
        raise source.misshapen("neither JSON nor Parquet")


def _of_columns(document: Any, keys: Keys | None) -> Any:
    """The records in an object of columns, as pandas writes a frame; other documents are unchanged."""
    if not isinstance(document, dict) or len(document) < 2:
        return document
    if {"columns", "data"} <= document.keys() and isinstance(names := document["columns"], list):
        rows = document["data"] if isinstance(document["data"], list) else []
        is_whole = all(isinstance(row, list) and len(row) == len(names) for row in rows)
        return [dict(zip(names, row, strict=True)) for row in rows] if is_whole and rows else document
    is_named = (keys and keys.dialogue in document) or any(folded(name) in DIALOGUE for name in document)
    if not is_named or not any(says_its_side(name) for name in document) or not next(iter(document.values())):
        return document
    columns = {
        name: [*cells.values()] if isinstance(cells, dict) and [*cells] == [*map(str, range(len(cells)))] else cells
        for name, cells in document.items()
    }
    if not all(isinstance(cells, list) for cells in columns.values()) or len({*map(len, columns.values())}) != 1:
        return document
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _walked(source: Source, documents: Iterable[tuple[str, Any]]) -> Iterator[Turn]:
    """The records in documents, by the path in the first ones."""
    documents = [*documents]
    path = _path(documents, source.keys)
    if path is None:
        path = LIST if documents and isinstance(documents[0][1], list) else ()
    walker = Walker(source, tells_places=True)
    source.outside = tuple(id_.key for step in path for id_ in step.ids if id_.key)
    for place, document in documents:
        for turn in walker.walk(document, path, (None, None, None, place)):
            yield turn._replace(content=with_inner(turn.content, source.keys)) if source.keys else turn


def _path(documents: Sequence[tuple[str, Any]], keys: Keys | None) -> tuple[Step, ...] | None:
    ways = (find_path(document, partial(is_record, given=keys), keys) for _, document in documents[:_SAMPLE])
    return next((way for way in ways if way is not None), None)


def frame_rows(frame: pl.DataFrame) -> Iterator[tuple[str, Any]]:
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
        turns = by_turn(rows, source.keys)
        choose(
            Samples(row.content for row in turns),
            source.keys,
            source.outside,
            named_outside=(rows[0].dialogue or source.dialogue) is not None,
        )
    except KeysError as error:  # likewise
        is_list = path == LIST or source.kind == "jsonl" or error.compete
        return is_list and any(says_its_side(str(key)) for row in rows for key in row.content)
    return True


def line_that_works(source: Source, sample: Iterable[tuple[str, Any]] | None = None) -> str | None:
    """The option with the keys by which a file can be read as records; None: nothing in it looks like states.

    Args:
        source: The file.
        sample: Its first documents; None: those of JSON.
    """
    documents = [*(_documents(source, sample=True) if sample is None else sample)]
    keys = keys_for([document for _, document in documents])
    if keys is None:
        return None
    trial = Source(source.path)
    trial.keys, trial.split = keys, source.split
    try:
        rows = by_turn([*islice(_walked(trial, documents), _SAMPLE)], keys)
        named_outside = bool(rows and rows[0].dialogue) or source.dialogue is not None
        choose(Samples(row.content for row in rows), keys, trial.outside, named_outside=named_outside)
    except (KeysError, Broken, AttributeError, TypeError):  # of a layout that is none of records'
        return None
    return line_for(keys)


def keys_in(source: Source) -> list[str]:
    """The keys of the first objects in a file, each once; none in files of lines of text."""
    if source.raw.startswith(parquet.MAGIC):
        return parquet.read(source, source.raw).columns
    if source.kind == "jsonl":
        sample: Any = [item for _, item in islice(source.json_lines(), _SAMPLE)]
    else:
        sample = source.sample if source.kind == "json" else None
    objects = [value for depth in range(_DEEP) for value in values(sample, depth) if isinstance(value, dict)]
    return [*dict.fromkeys(key for value in objects for key in value)]


def have_states(frame: pl.DataFrame, keys: Keys | None = None) -> bool:
    """Whether the first rows of a frame are records of turns: whether any has a state."""
    return any(is_record(record, keys) for _, record in frame_rows(frame))


def from_memory(
    records: Iterable[Any], name: str, keys: Keys | None = None, unreadable: Unreadable = "error"
) -> States:
    """States given as Python objects; `name` stands for a file name in messages.

    Args:
        records: Records as in a file, or a frame of them.
        name: What messages call them.
        keys: The keys that the user gives.
        unreadable: What to do with predicted states that are none.

    Returns:
        Their states; the format is that of lines with the same keys.
    """
    source, builder = Source(name), StatesBuilder(name, FORMAT.name)
    source.keys, source.unreadable, source.hint = keys, unreadable, FORMAT.hint
    if isinstance(records, pl.DataFrame):
        documents = [*frame_rows(records)]
    else:
        documents = [("", [record for item in records if (record := opened(item)) is not FAILED])]
    try:
        rows = [*_walked(source, documents)]
    except Broken as error:
        raise source.misshapen(str(error)) from None
    fields = collect(source, builder, rows)
    states = noting_vanishing_slots(builder.build())
    return replace(states, format="jsonl") if fields is not None and fields.are_own else states


def read(source: Source, states: StatesBuilder) -> None:
    """Add the records of a file."""
    collect(source, states, turns_of(source))


def said(source: Source) -> Iterator[Said]:
    """What was said in the records of a file."""
    return spoken(source, turns_of(source))


FORMAT: Final = Format(
    name="records",
    title="records of turns under any keys, as JSON, JSON Lines or Parquet",
    example='[{"dial_id": "MUL9901", "turn_id": 0, "ground_truth": {"hotel-area": "north"}, "predicted": {}}]',
    shape=list[dict[str, Any]],
    sniff=_sniff,
    reader=read,
    finish=noting_vanishing_slots,
    free_keys=True,
    loose=True,
    said=said,
)
