"""Records of turns under any keys: what most trackers of language models write, and frames and lists in memory.

Conventions: a record is a turn, with the dialogue's id, the turn's number, and a gold or a predicted state or both,
cumulative. `record_layout` finds the records, `record_keys` their keys, `record_turns` numbers the turns, and
`state_cells` reads the states. A key may hold dialogue and turn together, ``MUL0484.json-3``. Without turn numbers,
turns are counted in the order of a dialogue's records. A record may also be one slot of a turn (``slot``, with its gold
and predicted value): then the turn has the slots of all its records. A side that is null in every record is missing. A
state whose key does not name its side may be gold or predicted: in a file named as ``--gold`` it is gold.

Notes say which keys were used, what was read loosely, and if slots vanish so often that states may be of single turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final

import polars as pl

from dstbench.io import parquet
from dstbench.readers.format import Format, Said, Source, States, StatesBuilder
from dstbench.readers.key_names import says_its_side
from dstbench.readers.options import Keys, is_long
from dstbench.readers.record_answers import FAILED, opened
from dstbench.readers.record_dialogues import by_turn
from dstbench.readers.record_keys import KeysError, Samples, choose, is_record
from dstbench.readers.record_layout import Broken, Row, find_steps, walk
from dstbench.readers.record_reading import collect, spoken
from dstbench.readers.states import noting_vanishing_slots
from dstbench.readers.wrappers import values

# The levels of a document at which keys are looked for.
_DEEP: Final = 5
# Records that are looked at to see what a file is.
_SAMPLE: Final = 20


def rows_of(source: Source) -> list[Row]:
    """The records in a file.

    Raises:
        DstbenchError: The file is of another kind, or records are nested in different ways.
    """
    try:
        return list(_rows(source))
    except Broken as error:
        raise source.misshapen(str(error)) from None


def _rows(source: Source) -> Iterator[Row]:
    if source.raw.startswith(parquet.MAGIC):
        yield from frame_rows(parquet.read(source, source.raw))
    elif source.kind == "jsonl":
        lines = [(place, record) for place, item in source.whole_lines() if (record := opened(item)) is not FAILED]
        ways = (find_steps(item, partial(is_record, given=source.keys)) for _, item in lines[:_SAMPLE])
        steps = next((way for way in ways if way is not None), ())
        for place, item in lines:
            yield from walk(item, steps, place)
    elif source.kind == "json":
        yield from _rows_in(source.json, source.keys)
    else:
        raise source.misshapen("neither JSON nor Parquet")


def _rows_in(document: Any, keys: Keys | None) -> Iterator[Row]:
    if isinstance(document, list):
        document = [record for item in document if (record := opened(item)) is not FAILED]
    steps = find_steps(document, partial(is_record, given=keys))
    return walk(document, steps if steps is not None else (None,) * isinstance(document, list))


def frame_rows(frame: pl.DataFrame) -> Iterator[Row]:
    """The rows of a frame as records; what a struct has only because other rows have it is left out."""
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    for number, record in enumerate(frame.iter_rows(named=True)):
        for name in nested:
            record[name] = _without_nulls(record[name])
        yield Row(f"row {number}: ", record)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _sniff(source: Source) -> bool:
    if source.raw.startswith(parquet.MAGIC):
        head = parquet.read(source, source.raw).head(_SAMPLE)
        if is_long(head.columns, source.keys):
            return False
        sample: Any = [row.record for row in frame_rows(head)]
    elif source.kind == "jsonl":
        lines = (opened(item) for _, item in islice(source.json_lines(), _SAMPLE))
        sample = next((record for record in lines if record is not FAILED), None)
    else:
        sample = source.sample if source.kind == "json" else None
        if isinstance(sample, list):
            sample = [record for item in sample if (record := opened(item)) is not FAILED]
    steps = find_steps(sample, partial(is_record, given=source.keys))
    if steps is None:
        return False
    rows: list[Row] = []
    with suppress(Broken):  # reading says what is wrong
        rows.extend(row for row in islice(walk(sample, steps), _SAMPLE) if isinstance(row.record, Mapping))
    if not rows:
        return False
    try:
        turns = by_turn(rows, source.keys)
        choose(
            Samples(row.record for row in turns),
            source.keys,
            named_outside=(rows[0].dialogue or source.dialogue) is not None,
        )
    except KeysError:  # likewise
        is_list = steps == (None,) or source.kind == "jsonl"
        return is_list and any(says_its_side(str(key)) for row in rows for key in row.record)
    return True


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
    return any(is_record(row.record, keys) for row in frame_rows(frame))


def from_memory(records: Iterable[Any], name: str, keys: Keys | None = None) -> States:
    """States given as Python objects; `name` stands for a file name in messages.

    Args:
        records: Records as in a file, or a frame of them.
        name: What messages call them.
        keys: The keys that the user gives.

    Returns:
        Their states; the format is that of lines with the same keys.
    """
    source, builder = Source(name), StatesBuilder(name, FORMAT.name)
    source.keys, source.hint = keys, FORMAT.hint
    try:
        rows = list(frame_rows(records) if isinstance(records, pl.DataFrame) else _rows_in(list(records), keys))
    except Broken as error:
        raise source.misshapen(str(error)) from None
    fields = collect(source, builder, rows)
    states = noting_vanishing_slots(builder.build())
    return replace(states, format="jsonl") if fields is not None and fields.are_own else states


def read(source: Source, states: StatesBuilder) -> None:
    """Add the records of a file."""
    collect(source, states, rows_of(source))


def said(source: Source) -> Iterator[Said]:
    """What was said in the records of a file."""
    return spoken(source, rows_of(source))


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
