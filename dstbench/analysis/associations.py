"""Correlations of columns of numbers, and differences between two correlations, as rows.

Conventions: correlations are Pearson's r. A correlation uses the rows in which both of its columns are defined.
Correlations that are compared use the rows in which all of their columns are defined. Pooling runs puts their rows
below each other: a dialogue counts once for each run that has it, so intervals are too narrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from dstbench.arrays import Floats
from dstbench.errors import UsageError
from dstbench.schema.analysis import CORRELATION_DIFFERENCES, CORRELATION_TESTS, CORRELATIONS
from dstbench.stats import (
    Comparison,
    compare_independent,
    compare_nonoverlapping,
    compare_overlapping,
    matrix,
    pearson,
)

Pair: TypeAlias = tuple[str, str]
#: Columns by name, NaN where undefined.
Columns: TypeAlias = "Mapping[str, Floats]"

#: The name that stands for all runs together.
POOLED: Final = "pooled"
#: The tests of each kind of difference, by their names in cocor; the first one is the default.
TESTS: Final[Mapping[str, tuple[str, ...]]] = {
    "overlapping": (
        *("williams1959", "pearson1898", "hotelling1940", "olkin1967", "dunn1969", "hendrickson1970"),
        *("steiger1980", "meng1992", "hittner2003"),
    ),
    "nonoverlapping": ("steiger1980", "pearson1898", "dunn1969", "raghunathan1996", "silver2004"),
    "independent": ("fisher1925",),
}
#: The name that stands for all tests of a kind.
ALL_TESTS: Final = "all"
# Scores and traits are rounded to this many decimals before they are correlated.
_DECIMALS: Final = 12
# Correlations above this are 1, apart from rounding errors.
_EXACT: Final = 1 - 1e-9


def with_pooled(tables: Sequence[tuple[str, pl.DataFrame]], variables: Sequence[str]) -> list[tuple[str, Columns]]:
    """The columns of each run, by its name, and if there are several runs, those of all together, as `POOLED`.

    Raises:
        UsageError: One of several runs is called `POOLED`.
    """
    named = [(name, as_columns(table, variables)) for name, table in tables]
    if len(named) > 1:
        if POOLED in (name for name, _ in named):
            raise UsageError(
                f"a run is called {POOLED!r}, which is the name of all runs together", hint="--name renames it"
            )
        named.append((POOLED, {v: np.concatenate([columns[v] for _, columns in named]) for v in variables}))
    return named


def as_columns(table: pl.DataFrame, variables: Sequence[str]) -> Columns:
    """The numbers in columns of a table, NaN where undefined."""
    # Equal scores that come from different sums can differ in their last bits; rounding removes the difference.
    return {v: table[v].cast(pl.Float64).fill_null(float("nan")).to_numpy().round(_DECIMALS) for v in variables}


def correlations(run: str, columns: Columns, level: float, rows_taken: str = "pairwise") -> pl.DataFrame:
    """The correlation of each pair of columns, as rows of `schema.analysis.CORRELATIONS` (`rows_taken`: its `rows`)."""
    m = matrix(columns, level)
    names = list(columns)
    rows = [
        (run, rows_taken, names[i], names[j], m.r[i, j], int(m.n[i, j]), m.lo[i, j], m.hi[i, j], level)
        for i, j in combinations(range(len(names)), 2)
    ]
    return _frame(rows, CORRELATIONS.schema)


class Compared(NamedTuple):
    """Two correlations and their comparison."""

    runs: Pair
    first: Pair
    second: Pair
    kind: str  # a key of `TESTS`
    r: tuple[float, float]
    n: tuple[int, int]
    comparison: Comparison | None  # None: the correlations cannot be compared
    why_not: str | None  # why they cannot be compared


def compare_pairs(runs: Pair, columns: Sequence[Floats], first: Pair, second: Pair, level: float) -> Compared:
    """Compare two correlations over the rows in which all four columns are defined.

    A column of the first pair that equals one of the second is shared, whatever their names.

    Args:
        runs: The runs of the first and of the second correlation.
        columns: The two columns of the first pair, then those of the second, all of one length; NaN where undefined.
        first: Names of the first pair.
        second: Names of the second pair.
        level: Confidence level of the interval.
    """
    defined = ~np.isnan(columns).any(axis=0)
    j, k, h, m = (column[defined] for column in columns)
    n = len(j)
    (r_first, _), (r_second, _) = pearson(j, k), pearson(h, m)
    orders = (((j, k), (h, m)), ((j, k), (m, h)), ((k, j), (h, m)), ((k, j), (m, h)))
    # The columns beside a shared one, for each shared column.
    unshared = [(one[1], other[1]) for one, other in orders if np.array_equal(one[0], other[0])]
    kind = "overlapping" if unshared else "nonoverlapping"
    comparison: Comparison | None = None
    why_not = _why_not((r_first, r_second), (n, n))
    if not why_not:
        try:
            if unshared:
                comparison = compare_overlapping(r_first, r_second, pearson(*unshared[0])[0], n, level=level)
            else:
                r_jh, r_jm, r_kh, r_km = (pearson(a, b)[0] for a in (j, k) for b in (h, m))
                comparison = compare_nonoverlapping(r_first, r_second, r_jh, r_jm, r_kh, r_km, n, level=level)
        except UsageError:  # it is about the correlations: the level and the number of rows have been checked
            why_not = "one of the columns follows from the others"
    return Compared(runs, first, second, kind, (r_first, r_second), (n, n), comparison, why_not)


def compare_separate_runs(runs: Pair, one: Columns, other: Columns, pair: Pair, level: float) -> Compared:
    """Compare one correlation between two runs that share no dialogue."""
    (r_first, n_first), (r_second, n_second) = (pearson(*(columns[name] for name in pair)) for columns in (one, other))
    r, n = (r_first, r_second), (n_first, n_second)
    why_not = _why_not(r, n)
    comparison = None if why_not else compare_independent(r_first, n_first, r_second, n_second, level=level)
    return Compared(runs, pair, pair, "independent", r, n, comparison, why_not)


def _why_not(r: tuple[float, float], n: tuple[int, int]) -> str | None:
    """Why two correlations cannot be compared, as far as r and n show; None: they can."""
    if min(n) < 4:
        return f"all of their columns are defined in {min(n)} dialogues only, and a correlation needs 4"
    if np.isnan(r).any():
        return "a column does not vary"
    return "two columns correlate perfectly" if max(map(abs, r)) > _EXACT else None


def difference_rows(compared: Iterable[Compared], level: float, rows_taken: str = "complete") -> pl.DataFrame:
    """Differences as rows of `schema.analysis.CORRELATION_DIFFERENCES`; `rows_taken`: see `correlations`."""
    rows = []
    for each in compared:
        difference, zou = (each.comparison.difference, each.comparison.zou) if each.comparison else (None, (None, None))
        rows.append((*_keys(each), rows_taken, each.kind, *each.r, difference, *zou, *each.n, level))
    return _frame(rows, CORRELATION_DIFFERENCES.schema)


def outcome_rows(compared: Iterable[Compared], test: str | None, level: float) -> pl.DataFrame:
    """Tests of differences, as rows of `schema.analysis.CORRELATION_TESTS`.

    Args:
        compared: The differences.
        test: A test's name, `ALL_TESTS`, or None: the default test of the kind of difference.
        level: Confidence level of the intervals that tests have.
    """
    rows = []
    for each in compared:
        default = TESTS[each.kind][0]
        for name in TESTS[each.kind]:
            if each.comparison is None or (test or default) not in (name, ALL_TESTS):
                continue
            outcome = each.comparison.tests[name]
            limits = outcome.interval or (None, None)
            rows.append((*_keys(each), name, outcome.statistic, outcome.df, outcome.p, *limits, level))
    return _frame(rows, CORRELATION_TESTS.schema)


def _keys(compared: Compared) -> tuple[str, ...]:
    """The columns `run`, `other_run`, `first` and `second` of a row."""
    return *compared.runs, ",".join(compared.first), ",".join(compared.second)


def _frame(rows: Sequence[tuple[Any, ...]], schema: pl.Schema) -> pl.DataFrame:
    """Rows as a frame, with null for NaN."""
    return pl.DataFrame(rows, schema=schema, orient="row").fill_nan(None)
