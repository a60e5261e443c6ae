"""SQL queries of the tables of runs; a table is computed only if the query names it.

Conventions: integers are signed 64-bit numbers (so ``turn - 1`` of turn 0 is −1), categorical columns are strings, and
undefined scores are null. A query changes nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, Final, Unpack

import polars as pl

from dstbench.analysis.dialogue_traits import per_dialogue
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.conventions.slots import canonical_dialogue, canonical_slot
from dstbench.errors import DstbenchError, UsageError, did_you_mean
from dstbench.io.files import File
from dstbench.io.limits import MEMORY, SECONDS, memory
from dstbench.io.parquet import UNREADABLE, reason_of
from dstbench.io.tables import read_typed
from dstbench.metrics import Metric, parse_all
from dstbench.readers.frames import IS_FRAME
from dstbench.runs.open import Data, Reading, parts_to_open
from dstbench.runs.run import Run
from dstbench.schema.analysis import DIALOGUES, SLOT_CLASSES
from dstbench.schema.core import LONG, SCORES, TURNS
from dstbench.scoring.error_classes import list_classes
from dstbench.scoring.partitions import over_parts
from dstbench.scoring.score import choose_metrics, score_run
from dstbench.scoring.turns import to_turns
from dstbench.scoring.validation import open_under, warn_of_alternatives

Schemas = Mapping[str, pl.Schema]

_OF_RUNS: Final = ("long", "classes", "turns", "dialogues", "scores")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_MOST_CHARACTERS: Final = 100_000  # Polars parses by recursion: far longer queries crash the process
_COMMENT: Final = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_WRITES: Final = ("DROP", "DELETE", "TRUNCATE", "CREATE", "INSERT", "UPDATE", "ALTER")
# A call of a function that reads a file or an address.
_FILE_FUNCTION: Final = re.compile(r"\b((?:read|scan)_\w+)[\"`\s]*(?:\(|--|/\*)", re.IGNORECASE)

# Queries that were cancelled: Polars panics if the place for their rows is gone when they end.
_CANCELLED: Final[list[object]] = []


def query(
    sql: str,
    data: Data,
    *,
    metrics: str | Iterable[str | Metric] | None = None,
    profile: str | Convention = "verbatim",
    tables: Mapping[str, Any] | None = None,
    **reading: Unpack[Reading],
) -> pl.DataFrame:
    """Query runs in SQL (Polars' dialect).

    There are five tables, each with a column `run`: ``long`` (a row per slot and turn, values as written), ``classes``
    (the slots that gold or prediction has, with their class, `schema.analysis.SLOT_CLASSES`), ``turns`` (counts,
    `schema.TURNS`), ``dialogues`` (traits, and a column per metric, `schema.analysis.DIALOGUES`) and ``scores``
    (`schema.SCORES`).

    Args:
        sql: A query over the tables long, classes, turns, dialogues, scores. It reads: SELECT, WITH, EXPLAIN, SHOW
            TABLES.
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        metrics: The metrics of ``dialogues`` and ``scores``; None: those of the profile.
        profile: The convention, or its name, for all tables but ``long``.
        tables: A table of your own to query: Parquet or CSV, by the name that the query gives it. In Python, also a
            frame. Its columns `dialogue` and `slot` are made canonical, so that it can be joined.
        **reading: `gold`, `format`, `names`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Returns:
        The rows that the query selects.

    Raises:
        UsageError: The query cannot be understood; the hint lists tables and columns. Or it is too long.
        DstbenchError: Data cannot be used, or the query takes more time or memory than `io.limits` allows.

    >>> states = [{"dialogue_id": "D1", "turn": 0, "gold": {"hotel-area": "north", "taxi-departure": "pub"},
    ...            "pred": {"hotel-area": "south"}}]
    >>> query("SELECT slot, gold, pred, class FROM classes WHERE kind <> 'correct'", states).rows()
    [('hotel-area', 'north', 'south', 'wrong-fresh'), ('taxi-departure', 'pub', None, 'missed-fresh')]
    """
    convention = as_convention(profile)
    requested = None if metrics is None else parse_all(metrics)
    parts_to_open(data, **reading)
    user_tables = {name: _own_table(name, table) for name, table in (tables or {}).items()}
    user_schemas = {name: table.collect_schema() for name, table in user_tables.items()}
    schemas = _schemas(choose_metrics(requested, [], convention), convention) | user_schemas
    _check(sql)
    _ask(sql, {name: pl.LazyFrame(schema=schema) for name, schema in schemas.items()}, schemas)  # before runs are read
    runs = open_under(convention, data, "tables of slots and values", **reading)
    chosen = choose_metrics(requested, runs, convention)
    schemas = _schemas(chosen, convention)
    of_runs = {name: _table(name, schema, runs, chosen, convention) for name, schema in schemas.items()}
    try:
        for run in runs:
            run.check()
        return _within_limits(_ask(sql, of_runs | user_tables, schemas | user_schemas))
    except UNREADABLE as error:
        raise _fault(sql, error, schemas | user_schemas) from None
    finally:
        for run in runs:
            run.check()


def _schemas(metrics: Sequence[Metric], convention: Convention) -> dict[str, pl.Schema]:
    """The columns of the tables of runs."""
    columns: dict[str, Mapping[str, Any]] = {
        "long": {"run": pl.String(), **LONG.schema},
        "classes": SLOT_CLASSES.schema,
        "turns": {"run": pl.String(), **TURNS.schema},
        "dialogues": {**DIALOGUES.schema, **dict.fromkeys(map(str, metrics), pl.Float64())},
        "scores": {**SCORES.schema, **({"exact": pl.Float64()} if convention.is_fuzzy else {})},
    }
    return {name: pl.Schema({c: _plain(dtype) for c, dtype in table.items()}) for name, table in columns.items()}


def _plain(dtype: pl.DataType) -> pl.DataType:
    if dtype == pl.Categorical:
        return pl.String()
    return pl.Int64() if dtype.is_integer() else dtype


def _own_table(name: str, table: Any) -> pl.LazyFrame:
    """A user's table, with the types that queries know, and canonical dialogues and slots."""
    if not _NAME.fullmatch(name) or name in _OF_RUNS:
        what = "is the name of a table of runs" if name in _OF_RUNS else "cannot be the name of a table"
        raise UsageError(f"{name!r} {what}", hint="--table said=said.parquet")
    rows = read_typed(File(fspath(table))) if isinstance(table, (str, PathLike)) else pl.DataFrame(table)
    rows = rows.cast({column: _plain(dtype) for column, dtype in rows.schema.items()})
    if rows.schema.get("slot") == pl.String:
        slots = rows["slot"].unique().drop_nulls()
        canonical = pl.Series([canonical_slot(slot) for slot in slots], dtype=pl.String)
        rows = rows.with_columns(pl.col("slot").replace(slots, canonical))
    if rows.schema.get("dialogue") == pl.String:
        rows = rows.with_columns(canonical_dialogue(pl.col("dialogue")))
    return rows.lazy()


def _table(
    name: str, schema: pl.Schema, runs: Sequence[Run], metrics: Sequence[Metric], convention: Convention
) -> pl.LazyFrame:
    """A table of all runs, which is computed when the query reads it."""

    def scored(run: Run) -> pl.DataFrame:
        rows, sums = score_run(run, metrics, [], convention)
        warn_of_alternatives(run, sums, convention)
        return rows

    make: Callable[[Run], pl.DataFrame | pl.LazyFrame] = {
        "long": lambda run: run.table.filter(~IS_FRAME),
        "classes": lambda run: pl.concat(over_parts(run, lambda part: list_classes(part.table, convention))),
        "turns": lambda run: pl.concat(over_parts(run, lambda part: to_turns(part.table, convention))),
        "dialogues": lambda run: per_dialogue(run, metrics, convention)[0],
        "scores": scored,
    }[name]

    def of_runs() -> pl.LazyFrame:
        columns = [pl.col(column).cast(dtype) for column, dtype in schema.items()]
        return pl.concat([make(run).lazy().with_columns(run=pl.lit(run.name)).select(columns) for run in runs])

    return of_runs() if name == "long" else pl.defer(lambda: of_runs().collect(), schema=schema)


def _within_limits(answer: pl.LazyFrame) -> pl.DataFrame:
    """The rows of a query, within limits of time and memory: Polars has none, and a cross join may make any number."""
    began, before = time.monotonic(), memory()
    running = answer.collect(background=True)
    while True:
        rows = running.fetch()
        for what, value, limit in (  # checked even if rows have just come: else chance decides what is refused
            ("seconds", time.monotonic() - began, SECONDS),
            ("MB of memory", memory() - before, MEMORY),
        ):
            if value > limit.value:
                running.cancel()  # Polars ends it at its next step, or with the process
                _CANCELLED.append(running)
                hint = f"does each of its joins have a condition? if the query is right, set {limit.variable} to more"
                raise DstbenchError(f"the query takes more than {limit.value:,} {what}", hint=hint)
        if rows is not None:
            return rows
        time.sleep(min(0.05, (time.monotonic() - began) / 20))


def _check(sql: str) -> None:
    """Refuse a query that changes tables or reads files, and one so long that Polars might crash."""
    if len(sql) > _MOST_CHARACTERS:
        hint = f"at most {_MOST_CHARACTERS:,}; put a list of values into a table of its own (--table NAME=FILE)"
        raise UsageError(f"the query has {len(sql):,} characters", hint=hint)
    words = _COMMENT.sub(" ", sql).lstrip(" \t\r\n(").split(maxsplit=1)
    if not words:
        raise UsageError("the query is empty", hint='"SELECT slot, count(*) AS n FROM long GROUP BY slot"')
    if (first := words[0].upper()) in _WRITES:
        what = f"{first} changes tables; a query only reads"
        raise UsageError(what, hint="one of SELECT, WITH, FROM, VALUES, EXPLAIN, SHOW")
    if call := _FILE_FUNCTION.search(sql):
        what = f"{call[1]} reads files, and a query reads tables"
        raise UsageError(what, hint="--table NAME=FILE makes a table of a file")


def _ask(sql: str, tables: Mapping[str, pl.LazyFrame], schemas: Schemas) -> pl.LazyFrame:
    """The query's result as a lazy frame; raises the errors that the columns of the tables show."""
    try:
        answer = pl.SQLContext(tables, register_globals=False, eager=False).execute(sql)
        answer.collect_schema()
    except UNREADABLE as error:
        raise _fault(sql, error, schemas) from None
    return answer


def _fault(sql: str, error: BaseException, schemas: Schemas) -> UsageError:
    """The error for a query that Polars refuses; its hint lists the columns of the tables."""
    message = reason_of(error).partition("; valid columns")[0].removeprefix("sql parser error: ")
    named = [name for name in schemas if re.search(rf"\b(?:FROM|JOIN)\s+{name}\b", sql, re.IGNORECASE)] or [*schemas]
    hints = [f"table {name}: {', '.join(schemas[name])}" for name in named]
    if unknown := re.search(r"column [\"'](.+?)[\"']|relation [\"'](.+?)[\"']", message):
        names = dict.fromkeys(column for name in named for column in schemas[name]) if unknown[1] else schemas
        hints = [*filter(None, [did_you_mean(unknown[1] or unknown[2], names)]), *hints]
    return UsageError(f"the query fails: {message}", hint=hints)
