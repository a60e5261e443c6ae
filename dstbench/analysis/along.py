"""The number of each run along which runs are ordered, such as the share of the training data that its model saw.

Conventions: the number is read from the runs' names (``t5_0.05``, ``t5-220M``, ``bert_10%``), or from a table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import polars as pl

from dstbench.analysis.user_tables import read_user_table
from dstbench.errors import DstbenchError, UsageError
from dstbench.schema.core import SCORES

# A number in a name, and what it is multiplied by; not one that letters stand directly before or after: "t5", "v2.1b".
_NUMBER: Final = re.compile(r"(?<![A-Za-z0-9.])(\d+(?:\.\d+)?)(%|[kMB](?![A-Za-z0-9]))?(?![A-Za-z0-9]|\.\d)")
_TIMES: Final = {"": 1.0, "%": 0.01, "k": 1e3, "M": 1e6, "B": 1e9}


def numbers_along(along: str, runs: Sequence[str]) -> tuple[str, dict[str, float]]:
    """What the number is called, and the number of each run: from their names, or from a table (``share=FILE``)."""
    along, _, file = along.partition("=")
    if along in (*SCORES.columns, "exact", ""):
        raise UsageError(f"--along {along!r} has no name for a column of its own", hint="--along share")
    return along, _of_table(along, runs, file) if file else _of_names(along, runs)


def _of_names(along: str, runs: Sequence[str]) -> dict[str, float]:
    hint = f"a table with the columns run and {along}: --along {along}=FILE.csv"
    after = re.compile(rf"(?<![a-z]){re.escape(along)}[-_= ]*(?=\d)", re.IGNORECASE)
    matches = {run: list(_NUMBER.finditer(run)) for run in runs}
    ends = {run: [match.end() for match in after.finditer(run)] for run in runs}
    named = {run: [match for match in matches[run] if match.start() in ends[run]] for run in runs}
    if all(len(of_run) == 1 for of_run in named.values()):
        return {run: _value(of_run[0]) for run, of_run in named.items()}
    values = {run: [_value(match) for match in of_run] for run, of_run in matches.items()}
    if lacking := [run for run in runs if not values[run]]:
        raise UsageError(f"the name {lacking[0]!r} has no number to order runs along {along!r}", hint=hint)
    columns = list(zip(*values.values(), strict=False))
    differing = [column for column in columns if len(set(column)) > 1]
    if len({len(of_run) for of_run in values.values()}) > 1 or len(differing) != 1:
        what = "differ in no number" if not differing else "do not differ in one number only"
        raise UsageError(f"the runs' names {what}, so none orders them along {along!r}", hint=hint)
    return dict(zip(values, differing[0], strict=True))


def _value(match: re.Match[str]) -> float:
    return float(match[1]) * _TIMES[match[2] or ""]


def _of_table(along: str, runs: Sequence[str], file: str) -> dict[str, float]:
    name, rows = read_user_table(file, "numbers", ("run", along), numbers=(along,))
    found = rows.with_columns(pl.col(along).cast(pl.Float64, strict=False).alias("number"))
    for row in found.filter(~pl.col("number").is_finite().fill_null(value=False)).iter_rows(named=True):
        raise DstbenchError(f"{row['at']}: the {along} {row[along]!r} of {row['run']} is not a number", file=name)
    of_run = dict(found.select("run", "number").iter_rows())
    if len(of_run) < found.height:
        twice = found.filter(pl.col("run").is_duplicated())["run"][0]
        raise DstbenchError(f"two numbers for {twice}", file=name, hint="give one")
    if lacking := [run for run in runs if run not in of_run]:
        raise DstbenchError(f"no {along} for {', '.join(lacking)}", file=name, hint="a row for each run")
    return {run: of_run[run] for run in runs}
