"""Tables that users write, such as ratings or the scores in a paper: keys, and one number for each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, Final

import polars as pl

from dstbench.conventions.slots import canonical_dialogue
from dstbench.errors import DstbenchError, UsageError, check_known
from dstbench.io.files import File
from dstbench.io.tables import FileTable, read_table
from dstbench.metrics import Metric
from dstbench.metrics.registry import says_all, split
from dstbench.schema.core import MAX_TURN, SCORES

# The types of columns that are allowed in addition to numbers.
_SIMPLE: Final = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Null)
# What Polars adds to the name of a second column of the same name.
_SECOND: Final = "_duplicated_0"
# A number in a name, and what it is multiplied by. No letter stands directly after it, nor before it, but for the word
# that orders the runs ("share10"): "t5" and "v2.1b" have none.
_NUMBER: Final = r"(\d+(?:\.\d+)?)(%|[kMB](?![A-Za-z0-9]))?(?![A-Za-z0-9]|\.\d)"
_ANY: Final = re.compile(r"(?<![A-Za-z0-9.])" + _NUMBER)
_TIMES: Final = {"": 1.0, "%": 0.01, "k": 1e3, "M": 1e6, "B": 1e9}


def read_user_table(
    table: Any, what: str, keys: Sequence[str], number: str, more_keys: Sequence[str] = ()
) -> tuple[str, pl.DataFrame]:
    """The name of a user's table, and its rows: `at` (what messages call a row), keys (each set once), number."""
    name, rows = _read_texts(table, what, (*keys, number), more_keys)
    rows = rows.filter(pl.col(number) != "")
    own = [column for column in rows.columns if column not in ("at", number)]
    numbers = {column: pl.col(column).cast(pl.Float64, strict=False) for column in (*own, number)}
    faults = {column: ("empty", pl.col(column) != "") for column in own}
    faults[number] = "not a number", numbers[number].is_finite()
    if "turn" in own:
        turn = numbers["turn"]
        is_turn = turn.is_between(0, MAX_TURN) & (turn == turn.floor())
        faults["turn"] = f"not a whole number from 0 to {MAX_TURN}", is_turn
    for column, (fault, is_right) in faults.items():
        for row in rows.filter(~is_right.fill_null(value=False)).iter_rows(named=True):
            raise DstbenchError(
                f"{row['at']}: the {column} {row[column]!r} is {fault}",
                file=name,
                dialogue=row.get("dialogue") or None,
                hint=f"leave the cell empty if there is no {number}" if column == number else None,
            )
    rows = rows.with_columns(
        numbers[number],
        *(numbers[column].cast(pl.Int64) for column in own if column == "turn"),
        *(canonical_dialogue(pl.col(column)) for column in own if column == "dialogue"),
    )
    for row in rows.group_by(own, maintain_order=True).agg("at").filter(pl.col("at").list.len() > 1).to_dicts():
        one, other, *_ = row.pop("at")
        place = {column: row.pop(column) for column in ("dialogue", "turn") if column in row}
        of = f" for {', '.join(row.values())}" if row else ""
        lacking = " or ".join(column for column in more_keys if column not in own)
        hint = f"keep one {number}" + (f"; a column {lacking} tells them apart" if lacking else "")
        raise DstbenchError(f"two {what}{of}, in {one} and {other}", file=name, **place, hint=hint)
    if rows.is_empty():
        raise DstbenchError(f"no {number} in it", file=name)
    return name, rows


def _read_texts(table: Any, what: str, needed: Sequence[str], others: Sequence[str]) -> tuple[str, pl.DataFrame]:
    """The columns of a table that are needed, and of others those that it has, as texts; empty: no value."""
    is_path = isinstance(table, (str, PathLike))
    name = str(table) if is_path else what
    if is_path:
        rows, place, first = read_table(File(name), columns=(), numbers=("turn", needed[-1]))
    elif isinstance(table, pl.LazyFrame) or hasattr(table, "__arrow_c_stream__"):
        rows, place, first = FileTable(
            table.collect() if isinstance(table, pl.LazyFrame) else pl.DataFrame(table), "row", 1
        )
    else:
        raise UsageError(f"{type(table).__name__} holds no {what}", hint="give a path or a frame")
    columns = [column.removesuffix(_SECOND).strip() for column in rows.columns]
    for column in (*others, *needed):
        if columns.count(column) > 1:
            raise DstbenchError(f"two columns {column}", file=name, hint="give each column a name of its own")
    rows = rows.rename({column: column.strip() for column in rows.columns if column.strip() in (*needed, *others)})
    if missing := [column for column in needed if column not in rows.columns]:
        may_have = f", and, if there are any, {' and '.join(others)}" if others else ""
        raise DstbenchError(
            f"no column {' and no column '.join(missing)} (its columns: {', '.join(rows.columns) or 'none'})",
            file=name,
            hint=f"{what} have the columns {', '.join(needed[:-1])} and {needed[-1]}{may_have}",
        )
    texts = []
    for column in [column for column in (*others, *needed) if column in rows.columns]:
        dtype, value = rows.schema[column], pl.col(column)
        if not (dtype.is_numeric() or isinstance(dtype, _SIMPLE)):
            raise DstbenchError(f"column {column} is {dtype}, neither texts nor numbers", file=name)
        value = value.cast(pl.Int8) if dtype == pl.Boolean else value.fill_nan(None) if dtype.is_float() else value
        texts.append(value.cast(pl.String).str.strip_chars().fill_null(""))
    at = pl.format(f"{place} {{}}", pl.int_range(first, pl.len() + first)).alias("at")
    return name, rows.select(at, *texts)


def read_score_table(table: Any, metrics: str | Iterable[str | Metric] | None = None) -> pl.DataFrame:
    """The scores of a table, as (run, metric, unit, value, se): every run with every metric; `se` is null."""
    name, rows = read_user_table(table, "scores", ("model", "metric"), "value")
    for at, *cells in rows.filter(pl.col("value") > 1).rows():
        what = f"{at} has a value above 1 ({', '.join(map(str, cells))})"
        raise DstbenchError(what, file=name, hint="values are shares: divide percents by 100")
    models, table_metrics = (rows.select(pl.col(column).unique(maintain_order=True)) for column in ("model", "metric"))
    if metrics is not None and not says_all(metrics):
        chosen = [str(metric) for metric in split(metrics)]
        check_known(chosen, table_metrics["metric"], "the table has no metric {!r}")
        table_metrics = pl.DataFrame({"metric": list(dict.fromkeys(chosen))})
    every = table_metrics.join(models, how="cross")
    scores = every.join(rows, on=["model", "metric"], how="left", maintain_order="left")
    return scores.select(
        pl.col("model").alias("run"), "metric", "value", unit=pl.lit("share"), se=pl.lit(None, pl.Float64)
    )


def numbers_along(along: str, runs: Sequence[str]) -> tuple[str, dict[str, float]]:
    """What orders runs, and each run's number: in its name (``t5_0.05``), or in a table (``share=FILE``)."""
    along, _, file = along.partition("=")
    if along in (*SCORES.columns, "exact", ""):
        raise UsageError(f"--along {along!r} has no name for a column of its own", hint="--along share")
    if not file:
        return along, _of_names(along, runs)
    name, rows = read_user_table(file, "numbers", ("run",), along)
    of_run = dict(rows.select("run", along).iter_rows())
    if lacking := [run for run in runs if run not in of_run]:
        raise DstbenchError(f"no {along} for {', '.join(lacking)}", file=name, hint="a row for each run")
    return along, {run: of_run[run] for run in runs}


def _of_names(along: str, runs: Sequence[str]) -> dict[str, float]:
    after_the_word = re.compile(rf"(?i:(?<![a-z]){re.escape(along)}[-_= ]*){_NUMBER}")
    named = {run: [*after_the_word.finditer(run)] for run in runs}
    if all(len(of_run) == 1 for of_run in named.values()):
        return {run: _value(match) for run, (match,) in named.items()}
    values = {run: [_value(match) for match in _ANY.finditer(run)] for run in runs}
    differing = [column for column in zip(*values.values(), strict=False) if len(set(column)) > 1]
    if len({len(of_run) for of_run in values.values()}) > 1 or len(differing) != 1:
        hint = f"a table with the columns run and {along}: --along {along}=FILE.csv"
        what = f"the runs' names do not differ in one number only ({', '.join(runs[:2])}, …)"
        raise UsageError(f"{what}, so none orders them along {along!r}", hint=hint)
    return dict(zip(values, differing[0], strict=True))


def _value(match: re.Match[str]) -> float:
    return float(match[1]) * _TIMES[match[2] or ""]
